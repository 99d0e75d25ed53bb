// SPDX-License-Identifier: MIT
#include "engine/spawn.h"

#include "base/own_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_NUMBER 1023 /* every process may have these, and select() takes them */

/* --- Parts ------------------------------------------------------------------------------------ */

enum hp_err hp_find_part(const char *file, int access_mode, char **path)
{
    char self[4096];
    hp_own_directory(self, sizeof self);
    const char *directories[] = {getenv("HOTPATH_PLUGIN_DIR"), self, self, HP_PART_DIR};
    const char *between[] = {"", "", "/../lib/hotpath", ""};
    for (int i = 0; i < 4; i++) {
        if (!directories[i])
            continue;
        if (asprintf(path, "%s%s/%s", directories[i], between[i], file) < 0)
            return hp_fail_nomem();
        if (access(*path, access_mode) == 0)
            return HP_OK;
        free(*path);
    }
    *path = NULL;
    return hp_fail(HP_ERR_NOTFOUND,
                   "%s is neither beside the hotpath command nor in ../lib/hotpath or " HP_PART_DIR
                   "; set HOTPATH_PLUGIN_DIR to its directory",
                   file);
}

/* --- Descriptors ------------------------------------------------------------------------------ */

static enum hp_err fail_for_want_of_descriptors(void)
{
    return hp_fail(HP_ERR_IO, "too many open files: raise the limit on them (ulimit -n)");
}

enum hp_err hp_spare_descriptors(int *numbers, size_t n)
{
    struct rlimit limit;
    int number = MAX_NUMBER;
    size_t found = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= MAX_NUMBER)
        number = (int)limit.rlim_cur - 1;
    for (; found < n && number >= 0; number--)
        if (fcntl(number, F_GETFD) < 0)
            numbers[found++] = number;
    if (found < n)
        return fail_for_want_of_descriptors();
    return HP_OK;
}

/* --- Starting --------------------------------------------------------------------------------- */

/* In the child: only the remaining steps, and no allocation. Returns when exec failed. */
static void become(const char *path, char *const *argv, char *const *environment,
                   const struct hp_handed *handed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool same = handed[i].fd == handed[i].as;
        if (same ? fcntl(handed[i].fd, F_SETFD, 0) != 0
                 : dup2(handed[i].fd, handed[i].as) != handed[i].as)
            return;
    }
    execve(path, argv, environment);
}

/* The pipe through which the child reports failure. Its ends must not collide with the numbers of
 * the handed descriptors. */
static enum hp_err make_pipe(int fds[2], const struct hp_handed *handed, size_t n)
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        return fail_for_want_of_descriptors();
    for (size_t i = 0; i < n; i++)
        if (handed[i].as == fds[0] || handed[i].as == fds[1]) {
            close(fds[0]);
            close(fds[1]);
            return fail_for_want_of_descriptors();
        }
    return HP_OK;
}

enum hp_err hp_spawn(const char *path, char *const *argv, char *const *environment,
                     const struct hp_handed *handed, size_t n, pid_t *pid)
{
    int fds[2];
    HP_TRY(make_pipe(fds, handed, n));
    /* If SIGCHLD were ignored here, the status of the process could be lost. */
    struct sigaction usual = {.sa_handler = SIG_DFL}, before;
    sigaction(SIGCHLD, &usual, &before);
    *pid = fork();
    if (*pid == 0) {
        if (before.sa_handler == SIG_IGN)
            sigaction(SIGCHLD, &before, NULL);
        become(path, argv, environment, handed, n);
        int error = errno;
        ssize_t ignored = write(fds[1], &error, sizeof error);
        (void)ignored;
        _exit(127);
    }
    int error = errno;
    close(fds[1]);
    ssize_t got = *pid < 0 ? (ssize_t)sizeof error : read(fds[0], &error, sizeof error);
    close(fds[0]);
    if (got != (ssize_t)sizeof error)
        return HP_OK;
    if (*pid > 0)
        waitpid(*pid, NULL, 0);
    return hp_fail(HP_ERR_IO, "cannot start %s: %s", path, strerror(error));
}
