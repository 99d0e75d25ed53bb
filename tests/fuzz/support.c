// SPDX-License-Identifier: MIT
#include "support.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int hotpath_main(int argc, char **argv);

#define FILES_MAX 8

static char directory[64];
static struct {
    char name[32];
    char path[128];
} files[FILES_MAX];
static size_t n_files;
static FILE *nowhere, *true_stderr;
static struct {
    size_t bytes, lines;
    char start[200];
} said; /* on stderr by a command */

_Noreturn void fuzz_wrong(const char *format, ...)
{
    FILE *out = true_stderr ? true_stderr : stderr;
    va_list args;
    va_start(args, format);
    fputs("WRONG: ", out);
    vfprintf(out, format, args);
    fputc('\n', out);
    va_end(args);
    fflush(out);
    abort();
}

/* --- Files ------------------------------------------------------------------------------------ */

static void remove_files(void)
{
    for (size_t i = 0; i < n_files; i++)
        unlink(files[i].path);
    rmdir(directory);
}

static void make_directory(void)
{
    snprintf(directory, sizeof directory, "/dev/shm/hotpath-fuzz-XXXXXX");
    if (!mkdtemp(directory)) {
        snprintf(directory, sizeof directory, "/tmp/hotpath-fuzz-XXXXXX");
        FUZZ_ASSERT(mkdtemp(directory));
    }
    atexit(remove_files);
}

const char *fuzz_path(const char *name)
{
    if (!*directory)
        make_directory();
    for (size_t i = 0; i < n_files; i++)
        if (strcmp(files[i].name, name) == 0)
            return files[i].path;
    FUZZ_ASSERT(n_files < FILES_MAX);
    snprintf(files[n_files].name, sizeof files->name, "%s", name);
    snprintf(files[n_files].path, sizeof files->path, "%s/%s", directory, name);
    return files[n_files++].path;
}

const char *fuzz_file(const char *name, const void *bytes, size_t size)
{
    const char *path = fuzz_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_ASSERT(fd >= 0);
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        FUZZ_ASSERT(n > 0);
        bytes = (const char *)bytes + n;
        size -= (size_t)n;
    }
    close(fd);
    return path;
}

FILE *fuzz_nowhere(void)
{
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    FUZZ_ASSERT(nowhere);
    return nowhere;
}

/* --- Commands --------------------------------------------------------------------------------- */

static ssize_t hear(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    for (size_t i = 0; i < size; i++, said.bytes++) {
        said.lines += text[i] == '\n';
        if (said.bytes < sizeof said.start - 1)
            said.start[said.bytes] = text[i];
    }
    return (ssize_t)size;
}

static void redirect(void)
{
    if (true_stderr)
        return;
    true_stderr = stderr;
    stdout = fuzz_nowhere();
    stderr = fopencookie(NULL, "w", (cookie_io_functions_t){.write = hear});
    FUZZ_ASSERT(stderr);
    setvbuf(stderr, NULL, _IOLBF, 4096);
}

int fuzz_command(const char *const *words)
{
    char *argv[32] = {(char *)(uintptr_t) "hotpath"};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        FUZZ_ASSERT(argc < 31);
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    redirect();
    memset(&said, 0, sizeof said);
    int status = hotpath_main(argc, argv);
    fflush(stderr);
    fflush(stdout);
    FUZZ_ASSERT(status == 0 || status == 1 || status == 125);
    if (status == 125 &&
        (said.lines != 1 || strncmp(said.start, "hotpath: ", 9) != 0 || said.bytes < 20))
        fuzz_wrong("%s %s: not one line of error: \"%s\"", words[0], words[1], said.start);
    return status;
}

/* --- Inputs ----------------------------------------------------------------------------------- */

uint64_t fuzz_uint(struct fuzz_in *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && in->at < in->end; i++)
        value |= (uint64_t)*in->at++ << (8 * i);
    return value;
}

uint64_t fuzz_odd(struct fuzz_in *in)
{
    static const uint64_t odd[] = {
        0,         1,        2,          0xff,       0xffff,     1u << 16,  1u << 24,   1u << 26,
        INT32_MAX, 1u << 31, UINT32_MAX, 1ull << 32, 1ull << 47, INT64_MAX, 1ull << 63, UINT64_MAX};
    uint8_t how = (uint8_t)fuzz_uint(in, 1);
    if (how < 0xd0)
        return how;
    if (how < 0xe0)
        return odd[how - 0xd0];
    if (how < 0xe8)
        return odd[2 * (how - 0xe0) + 1] - fuzz_uint(in, 1);
    return fuzz_uint(in, 1u << (how & 3));
}

const uint8_t *fuzz_bytes(struct fuzz_in *in, size_t max, size_t *n)
{
    size_t length = (size_t)fuzz_uint(in, max > 255 ? 2 : 1);
    length = length < max ? length : max;
    if (length > (size_t)(in->end - in->at))
        length = (size_t)(in->end - in->at);
    const uint8_t *bytes = in->at;
    in->at += length;
    *n = length;
    return bytes;
}

void fuzz_text(struct fuzz_in *in, char *text, size_t size)
{
    size_t n;
    const uint8_t *bytes = fuzz_bytes(in, size - 1, &n);
    memcpy(text, bytes, n);
    text[n] = '\0';
    text[strlen(text)] = '\0';
}
