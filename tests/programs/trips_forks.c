// SPDX-License-Identifier: MIT
/* A process that is forked in the third of five rounds: what is known of the child begins inside
 * the loop. As trips.c. */
#include <sys/wait.h>
#include <unistd.h>

#define SINGLE __attribute__((noinline, noclone))

static volatile int sink;

SINGLE pid_t rounds(int n)
{
    pid_t child = 0;
    int i = 0;
    do {
        sink++;
        if (i == 2)
            child = fork();
        sink--;
    } while (++i < n);
    return child;
}

int main(void)
{
    pid_t child = rounds(5);
    return child > 0 && waitpid(child, NULL, 0) != child;
}
