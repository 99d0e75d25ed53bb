// SPDX-License-Identifier: MIT
/* Which processes are observed, and which are gone. */
#include "engine/live_impl.h"

#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum hp_err hp_live_know_process(struct hp_live *live, pid_t pid)
{
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].pid == pid && !live->processes[i].dead)
            return HP_OK;
    HP_TRY(hp_grow(&live->processes, &live->cap_processes, live->n_processes + 1,
                   sizeof *live->processes));
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    live->processes[live->n_processes++] =
        (struct hp_live_process){.pid = pid, .fd = fd, .dead = fd < 0 && errno == ESRCH};
    return HP_OK;
}

bool hp_live_is_dead(const struct hp_live *live, pid_t pid)
{
    bool known = false;
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].pid == pid) {
            if (!live->processes[i].dead)
                return false;
            known = true;
        }
    return known;
}

void hp_live_look_after(const struct hp_live *live, struct hp_live_process *process)
{
    struct pollfd poll_fd = {.fd = process->fd, .events = POLLIN};
    siginfo_t info = {0};
    if (process->dead)
        return;
    if (process->fd >= 0)
        process->dead = poll(&poll_fd, 1, 0) == 1;
    else if (process->pid == live->first_pid) /* our child: it may be a zombie */
        process->dead =
            waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0;
    else
        process->dead = kill(process->pid, 0) != 0 && errno == ESRCH;
    if (process->dead && process->fd >= 0) {
        close(process->fd);
        process->fd = -1;
    }
}

void hp_live_look_after_all(struct hp_live *live)
{
    for (size_t i = 0; i < live->n_processes; i++)
        hp_live_look_after(live, &live->processes[i]);
}

pid_t hp_live_marked_process(const struct hp_live *live, uint32_t process)
{
    struct flock mark = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)hp_shape_mark(&live->shape, process),
                         .l_len = 1};
    bool marked = process && fcntl(live->fd, F_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;
    return marked && mark.l_pid > 0 ? mark.l_pid : 0;
}
