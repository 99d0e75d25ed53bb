// SPDX-License-Identifier: MIT
#include "session/session_impl.h"

#include "base/base.h"

#include <fcntl.h>
#include <unistd.h>

void hp_standard_restore(struct hp_standard *standard)
{
    for (int fd = 0; fd < 3; fd++)
        if (standard->saved[fd] >= 0) {
            dup2(standard->saved[fd], fd);
            close(standard->saved[fd]);
        }
}

bool hp_standard_replace(struct hp_standard *standard, int fd, int by)
{
    standard->saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return standard->saved[fd] >= 0 && dup2(by, fd) >= 0;
}

enum hp_err hp_standard_redirect(const char *input, const char *output,
                                 struct hp_standard *standard)
{
    for (int fd = 0; fd < 3; fd++) {
        const char *path = fd == STDIN_FILENO ? input : output;
        int flags = fd == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
        int file = path ? open(path, flags | O_CLOEXEC, 0666) : -1;
        enum hp_err err = HP_OK;
        if (path && (file < 0 || !hp_standard_replace(standard, fd, file)))
            err = hp_fail(HP_ERR_IO, "cannot open %s: %m", path);
        if (file >= 0)
            close(file);
        HP_TRY(err);
    }
    return HP_OK;
}
