// SPDX-License-Identifier: MIT
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100 /* to find a free name */

/* --- Opening ---------------------------------------------------------------------------------- */

/* A file without a name in the directory of `path`: if hotpath is killed, nothing is left of it.
 * -1: not supported, or it could not be named later. */
static int open_nameless(const char *path)
{
    char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    int fd = -1;
    if (slash)
        slash[slash == directory] = 0;
    if (directory && access("/proc/self/fd", X_OK) == 0)
        fd = open(slash ? directory : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(directory);
    return fd;
}

/* The fallback: a file beside out->path. */
static int open_named(struct hp_outfile *out)
{
    if (asprintf(&out->aside, "%s.XXXXXX", out->path) < 0) {
        out->aside = NULL;
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(out->aside, O_CLOEXEC);
    if (fd < 0) {
        free(out->aside);
        out->aside = NULL;
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    return fd;
}

static bool open_aside(struct hp_outfile *out)
{
    int fd = open_nameless(out->path);
    out->nameless = fd >= 0;
    if (fd < 0)
        fd = open_named(out);
    if (fd < 0)
        return false;
    out->file = fdopen(fd, "w+");
    if (!out->file)
        close(fd);
    return out->file != NULL;
}

enum hp_err hp_outfile_open(struct hp_outfile *out, const char *path)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    *out = (struct hp_outfile){.path = exists ? realpath(path, NULL) : strdup(path)};
    bool opened = out->path != NULL;
    if (opened && exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        opened = (out->file = fopen(out->path, "we")) != NULL;
    else if (opened)
        opened = open_aside(out);
    if (opened)
        return HP_OK;
    int error = errno;
    hp_outfile_abort(out);
    return hp_fail(HP_ERR_IO, "cannot create %s: %s", path, strerror(error));
}

/* --- Closing ---------------------------------------------------------------------------------- */

/* Forgets the file without touching it. */
static void forget(struct hp_outfile *out)
{
    free(out->aside);
    free(out->path);
    *out = (struct hp_outfile){0};
}

static bool give_name(int fd, const char *name)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* A nameless file cannot replace another: it first gets a name beside it. */
static bool give_name_aside(struct hp_outfile *out)
{
    for (int tries = 0; tries < TRIES; tries++) {
        unsigned number = 0;
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
            number = (unsigned)tries;
        if (asprintf(&out->aside, "%s.%08x", out->path, number) < 0) {
            out->aside = NULL;
            errno = ENOMEM;
            return false;
        }
        if (give_name(fileno(out->file), out->aside))
            return true;
        free(out->aside);
        out->aside = NULL;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* Gives a nameless file its name, or one beside it. */
static bool name_file(struct hp_outfile *out)
{
    struct stat st;
    if (!out->nameless)
        return true;
    if (lstat(out->path, &st) != 0 && give_name(fileno(out->file), out->path))
        return true;
    return give_name_aside(out);
}

enum hp_err hp_outfile_commit(struct hp_outfile *out)
{
    enum hp_err err = HP_OK;
    bool good = fflush(out->file) == 0 && !ferror(out->file) && name_file(out);
    int error = errno;
    if (fclose(out->file) != 0 && good) {
        error = errno;
        good = false;
    }
    out->file = NULL;
    if (good && out->aside && rename(out->aside, out->path) != 0) {
        error = errno;
        good = false;
    }
    if (!good)
        err = hp_fail(HP_ERR_IO, "cannot write %s: %s", out->path, strerror(error));
    if (err != HP_OK)
        hp_outfile_abort(out);
    else
        forget(out);
    return err;
}

void hp_outfile_abort(struct hp_outfile *out)
{
    if (out->file)
        fclose(out->file);
    if (out->aside)
        unlink(out->aside);
    forget(out);
}
