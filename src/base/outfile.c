// SPDX-License-Identifier: MIT
#include "base/outfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a temporary file beside out->path. */
static bool open_aside(struct hp_outfile *out)
{
    if (asprintf(&out->aside, "%s.XXXXXX", out->path) < 0) {
        out->aside = NULL;
        errno = ENOMEM;
        return false;
    }
    int fd = mkstemp(out->aside);
    if (fd < 0) {
        free(out->aside);
        out->aside = NULL;
        return false;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
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
        opened = (out->file = fopen(out->path, "w")) != NULL;
    else if (opened)
        opened = open_aside(out);
    if (opened)
        return HP_OK;
    int error = errno;
    hp_outfile_abort(out);
    return hp_fail(HP_ERR_IO, "cannot create %s: %s", path, strerror(error));
}

/* Forgets the file without touching it. */
static void forget(struct hp_outfile *out)
{
    free(out->aside);
    free(out->path);
    *out = (struct hp_outfile){0};
}

enum hp_err hp_outfile_commit(struct hp_outfile *out)
{
    enum hp_err err = HP_OK;
    int bad = ferror(out->file);
    if (fclose(out->file) != 0 || bad || (out->aside && rename(out->aside, out->path) != 0))
        err = hp_fail(HP_ERR_IO, "cannot write %s: %s", out->path, strerror(errno));
    out->file = NULL;
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
