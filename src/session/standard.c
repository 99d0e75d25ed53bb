// SPDX-License-Identifier: MIT
#include "session/session_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void hp_standard_restore(struct hp_standard *standard)
{
    for (int fd = 0; fd < 3; fd++)
        if (standard->saved[fd] >= 0) {
            dup2(standard->saved[fd], fd);
            close(standard->saved[fd]);
        }
}

/* Puts a file in place of a descriptor. */
static int replace(int fd, const char *path, int *saved)
{
    int flags = fd == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
    int file = open(path, flags | O_CLOEXEC, 0666);
    if (file < 0)
        return errno;
    *saved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = *saved < 0 || dup2(file, fd) < 0 ? errno : 0;
    close(file);
    return error;
}

enum hp_err hp_standard_redirect(const char *input, const char *output,
                                 struct hp_standard *standard)
{
    for (int fd = 0; fd < 3; fd++) {
        const char *path = fd == STDIN_FILENO ? input : output;
        int error = path ? replace(fd, path, &standard->saved[fd]) : 0;
        if (error)
            return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(error));
    }
    return HP_OK;
}
