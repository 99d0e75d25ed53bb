// SPDX-License-Identifier: MIT
/* Five children, one after the other, each with its own number of calls; one forks again. */
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

static void work(void)
{
    sink++;
}

static void child(int n)
{
    for (int i = 0; i < n; i++)
        work();
}

static void grandchild(void)
{
    work();
}

int main(void)
{
    work();
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child(100 * (i + 1));
            if (i == 2 && fork() == 0)
                grandchild();
            while (wait(NULL) > 0)
                ;
            _exit(i);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != i)
            return 1;
    }
    return 0;
}
