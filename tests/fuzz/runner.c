// SPDX-License-Identifier: MIT
/*
 * Runs a harness over files, without libFuzzer: HARNESS [-random=N] [-seed=N] FILE-OR-DIRECTORY...
 * With -random each file is also run N times with random changes. An input that takes longer than
 * LIMIT_SECONDS, or memory beyond LIMIT_MEGABYTES, is an error.
 */
#include "support.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_SECONDS   20 /* also on a busy machine, with sanitizers */
#define LIMIT_MEGABYTES 1500
#define SIZE_MAX_INPUT  (1u << 20)

static const char *current = "";
static unsigned long n_random, n_runs;
static uint64_t state = 1;

static void too_long(int signal)
{
    (void)signal;
    static const char text[] = "WRONG: takes too long: ";
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    n += write(STDERR_FILENO, current, strlen(current));
    n += write(STDERR_FILENO, "\n", 1);
    _exit(n < 0 ? 71 : 70);
}

static void run(const uint8_t *data, size_t size)
{
    /* A copy of its own: what is read behind the end is found. */
    uint8_t *copy = malloc(size ? size : 1);
    FUZZ_ASSERT(copy);
    memcpy(copy, data, size);
    alarm(LIMIT_SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
    n_runs++;
}

static uint32_t pick(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)((state >> 33) % n) : 0;
}

static size_t change(uint8_t *data, size_t size)
{
    for (uint32_t changes = 1 + pick(4); changes > 0; changes--) {
        size_t at = pick(size), n = 1 + pick(16);
        n = n < size - at ? n : size - at;
        switch (pick(6)) {
        case 0: data[at] ^= (uint8_t)(1u << pick(8)); break;
        case 1: data[at] = (uint8_t)pick(256); break;
        case 2: memset(data + at, pick(2) ? 0xff : 0, n); break;
        case 3:
            memmove(data + at, data + at + n, size - at - n);
            size -= n;
            break;
        case 4: memmove(data + at, data + pick(size - n + 1), n); break;
        default:
            if (size + n <= SIZE_MAX_INPUT) {
                memmove(data + at + n, data + at, size - at);
                size += n;
            }
        }
        if (size == 0)
            return 0;
    }
    return size;
}

static void run_file(const char *path)
{
    static uint8_t data[SIZE_MAX_INPUT], changed[SIZE_MAX_INPUT + 16];
    FILE *file = fopen(path, "rb");
    if (!file)
        fuzz_wrong("cannot read %s", path);
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    current = path;
    run(data, size);
    for (unsigned long i = 0; i < n_random && size > 0; i++) {
        memcpy(changed, data, size);
        run(changed, change(changed, size));
    }
}

static void run_path(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) {
        run_file(path);
        return;
    }
    struct dirent *entry;
    char name[4096];
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            run_file(name);
        }
    closedir(directory);
}

int main(int argc, char **argv)
{
    signal(SIGALRM, too_long);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "-random=", 8) == 0)
            n_random = strtoul(argv[i] + 8, NULL, 10);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            state = strtoul(argv[i] + 6, NULL, 10);
        else
            run_path(argv[i]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > LIMIT_MEGABYTES * 1024L)
        fuzz_wrong("%ld MB were used", usage.ru_maxrss / 1024);
    dprintf(STDERR_FILENO, "%lu inputs\n", n_runs);
    return 0;
}
