// SPDX-License-Identifier: MIT
#include "base/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum hp_err hp_outfile_open(struct hp_outfile *out, const char *path)
{
    *out = (struct hp_outfile){.path = strdup(path)};
    if (!out->path || asprintf(&out->aside, "%s.XXXXXX", path) < 0) {
        free(out->path);
        *out = (struct hp_outfile){0};
        return hp_fail_nomem();
    }
    int fd = mkstemp(out->aside);
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
        out->file = fdopen(fd, "w+");
    }
    if (!out->file) {
        int error = errno;
        if (fd >= 0) {
            close(fd);
            unlink(out->aside);
        }
        free(out->aside);
        free(out->path);
        *out = (struct hp_outfile){0};
        return hp_fail(HP_ERR_IO, "cannot create %s: %s", path, strerror(error));
    }
    return HP_OK;
}

enum hp_err hp_outfile_commit(struct hp_outfile *out)
{
    enum hp_err err = HP_OK;
    int bad = ferror(out->file);
    if (fclose(out->file) != 0 || bad || rename(out->aside, out->path) != 0)
        err = hp_fail(HP_ERR_IO, "cannot write %s: %s", out->path, strerror(errno));
    out->file = NULL;
    if (err != HP_OK) {
        hp_outfile_abort(out);
        return err;
    }
    free(out->aside);
    free(out->path);
    *out = (struct hp_outfile){0};
    return HP_OK;
}

void hp_outfile_abort(struct hp_outfile *out)
{
    if (out->file)
        fclose(out->file);
    if (out->aside)
        unlink(out->aside);
    free(out->aside);
    free(out->path);
    *out = (struct hp_outfile){0};
}
