// SPDX-License-Identifier: MIT
#include "base/infile.h"

#include "base/base.h"

#include <errno.h>
#include <unistd.h>

enum hp_err hp_infile_read(int fd, const char *path, size_t size, char **text)
{
    *text = malloc(size + 1);
    if (!*text)
        return hp_fail_nomem();
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, *text + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            free(*text);
            *text = NULL;
            return hp_fail(HP_ERR_IO, "cannot read %s: %s", path,
                           n < 0 ? strerror(errno) : "it has become shorter");
        }
        done += (size_t)n;
    }
    (*text)[size] = 0;
    return HP_OK;
}
