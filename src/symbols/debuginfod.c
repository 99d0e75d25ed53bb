// SPDX-License-Identifier: MIT
/*
 * The library of elfutils does what is difficult. It is loaded when it is needed, so that hotpath
 * does not depend on it and on all that it needs.
 */
#include "symbols/debuginfod.h"

#include "base/clock.h"
#include "base/debug.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY  "libdebuginfod.so.1"
#define PATIENCE 20 /* seconds without a byte */

/* --- The cache -------------------------------------------------------------------------------- */

static bool put(char path[PATH_MAX], const char *directory, const char *between,
                const char *build_id)
{
    int n = snprintf(path, PATH_MAX, "%s%s/%s/debuginfo", directory, between, build_id);
    return n > 0 && n < PATH_MAX;
}

bool hp_debuginfod_cached(const char *build_id, char path[PATH_MAX])
{
    const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *caches = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (!build_id[0] || strchr(build_id, '/'))
        return false;
    if (own && own[0])
        return put(path, own, "", build_id);
    /* Where old versions had it; it is still used where it is there. */
    if (home && put(path, home, "/.debuginfod_client_cache", build_id) && access(path, R_OK) == 0)
        return true;
    if (caches && caches[0])
        return put(path, caches, "/debuginfod_client", build_id);
    return home && put(path, home, "/.cache/debuginfod_client", build_id);
}

/* --- Servers ---------------------------------------------------------------------------------- */

typedef struct debuginfod_client client;

struct library {
    client *(*begin)(void);
    void (*end)(client *of);
    int (*find)(client *of, const unsigned char *build_id, int length, char **path);
    void (*on_progress)(client *of, int (*progress)(client *of, long so_far, long total));
};

/* What a thread waits for. */
struct request {
    const char *file;
    double limit, since; /* seconds without a byte, and when the last one came */
    long bytes;
    bool late;
};

static __thread struct request *current;
static void (*_Atomic teller)(const struct hp_fetch *fetch);
static _Atomic bool given_up;

void hp_debuginfod_tell(void (*tell)(const struct hp_fetch *fetch))
{
    teller = tell;
}

static void tell(struct hp_fetch fetch)
{
    void (*to)(const struct hp_fetch *) = teller;
    if (to)
        to(&fetch);
}

/* Called every second or more often; not 0: it shall end. Before a server has said how long the
 * file is, `so_far` only counts these calls. */
static int on_progress(client *of, long so_far, long total)
{
    struct request *r = current;
    double now = hp_now();
    (void)of;
    if (total <= 0)
        so_far = 0;
    if (so_far != r->bytes)
        r->since = now;
    r->bytes = so_far;
    r->late = now - r->since > r->limit;
    tell((struct hp_fetch){r->file, (uint64_t)so_far, total > 0 ? (uint64_t)total : 0, NULL});
    return r->late;
}

/* False: it is not installed. */
static bool load(struct library *library)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays */
    if (!handle)
        return false;
    *(void **)&library->begin = dlsym(handle, "debuginfod_begin");
    *(void **)&library->end = dlsym(handle, "debuginfod_end");
    *(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
    *(void **)&library->on_progress = dlsym(handle, "debuginfod_set_progressfn");
    return library->begin && library->end && library->find && library->on_progress;
}

static double patience(void)
{
    const char *said = getenv("DEBUGINFOD_TIMEOUT");
    double seconds = said ? atof(said) : 0;
    return seconds > 0 ? seconds : PATIENCE;
}

static void give_up(const char *file, const char *why)
{
    if (!atomic_exchange(&given_up, true))
        tell((struct hp_fetch){.file = file, .failure = why});
}

/* A descriptor, or what went wrong as a negative errno. */
static int ask(const struct library *library, const char *build_id, const char *file, char **path)
{
    client *asks = library->begin();
    struct request request = {.file = file, .limit = patience(), .since = hp_now()};
    if (!asks)
        return -ENOMEM;
    current = &request;
    library->on_progress(asks, on_progress);
    int fd = library->find(asks, (const unsigned char *)build_id, 0, path);
    library->end(asks);
    current = NULL;
    tell((struct hp_fetch){0});
    return fd < 0 && request.late ? -ETIMEDOUT : fd;
}

bool hp_debuginfod_fetch(const char *build_id, const char *file, char path[PATH_MAX])
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    char *found = NULL;
    struct library library;
    if (!urls || !urls[0] || !build_id[0] || given_up)
        return false;
    if (!load(&library)) {
        give_up(file, LIBRARY " is not installed");
        return false;
    }
    int fd = ask(&library, build_id, file, &found);
    hp_debug(HP_DEBUG_SYMBOLS, "%s: debuginfod says %s", file, fd < 0 ? strerror(-fd) : found);
    if (fd < 0 && fd != -ENOENT)
        give_up(file, strerror(-fd));
    if (fd >= 0)
        close(fd);
    bool fits = fd >= 0 && found && strlen(found) < PATH_MAX;
    if (fits)
        strcpy(path, found);
    free(found);
    return fits;
}

/* --- Advice ----------------------------------------------------------------------------------- */

#define PACKAGES "/var/lib/dpkg/info"

/* Whether a list of files, a line each, names one. */
static bool lists(const char *list, const char *file)
{
    char *line = NULL;
    size_t room = 0, length = strlen(file);
    bool found = false;
    FILE *in = fopen(list, "re");
    for (ssize_t n; in && !found && (n = getline(&line, &room, in)) > 0;)
        found = (size_t)n == length + 1 && memcmp(line, file, length) == 0;
    free(line);
    if (in)
        fclose(in);
    return found;
}

/* The Debian package that a file is from; false: none. Packages may have it without /usr. */
static bool find_package(const char *file, char *package, size_t size)
{
    const char *short_name = strncmp(file, "/usr/", 5) == 0 ? file + 4 : file;
    DIR *directory = opendir(PACKAGES);
    bool found = false;
    if (!directory)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(directory));) {
        const char *end = strrchr(entry->d_name, '.');
        char list[sizeof PACKAGES + sizeof entry->d_name + 1];
        if (!end || strcmp(end, ".list") != 0)
            continue;
        snprintf(list, sizeof list, PACKAGES "/%s", entry->d_name);
        found = lists(list, file) || lists(list, short_name);
        if (found) { /* "libc6:amd64.list", "perl.list" */
            const char *arch = strchr(entry->d_name, ':');
            snprintf(package, size, "%.*s", (int)((arch ?: end) - entry->d_name), entry->d_name);
        }
    }
    closedir(directory);
    return found;
}

/* The server of this distribution. */
static const char *server(void)
{
    static const char *const known[][2] = {{"ID=debian\n", "https://debuginfod.debian.net"},
                                           {"ID=ubuntu\n", "https://debuginfod.ubuntu.com"},
                                           {"ID=fedora\n", "https://debuginfod.fedoraproject.org"},
                                           {"ID=arch\n", "https://debuginfod.archlinux.org"}};
    const char *found = "https://debuginfod.elfutils.org";
    char line[256];
    FILE *in = fopen("/etc/os-release", "re");
    while (in && fgets(line, sizeof line, in))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(line, known[i][0]) == 0)
                found = known[i][1];
    if (in)
        fclose(in);
    return found;
}

void hp_debuginfod_advice(const char *file, char *text, size_t size)
{
    char package[256], install[300] = "";
    const char *urls = getenv("DEBUGINFOD_URLS");
    bool owned = find_package(file, package, sizeof package);
    bool system = owned || strncmp(file, "/usr/", 5) == 0;
    if (!system) {
        snprintf(text, size,
                 "link it without -s, or put its debug file beside it, and record again");
        return;
    }
    /* Packages of the C library are called in another way. */
    if (owned)
        snprintf(install, sizeof install, "install %s%s", package,
                 strcmp(package, "libc6") == 0 ? "-dbg" : "-dbgsym");
    if (urls && urls[0])
        snprintf(text, size, "%s and record again", owned ? install : "install its debug file");
    else
        snprintf(text, size, "%s%sset DEBUGINFOD_URLS=%s, and record again", install,
                 owned ? " or " : "", server());
}
