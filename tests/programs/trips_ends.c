// SPDX-License-Identifier: MIT
/* Loops in which the program ends: by exit(), by a signal, by a fault. As trips.c; the argument says how. */
#include <signal.h>
#include <stdlib.h>

#define SINGLE __attribute__((noinline, noclone))

static volatile int sink, ten = 10;
static int *volatile nowhere;

SINGLE void end(char how)
{
    if (how == 'e')
        exit(3);
    if (how == 's')
        raise(SIGKILL);
    if (how == 'f')
        sink = *nowhere;
    sink++;
}

/* Rows of four; the seventh row's third round is the last. */
SINGLE void inner(int row, char how)
{
    int j = 0;
    do {
        end(row == 7 && j == 2 ? how : 'n');
        sink++;
    } while (++j < 4);
}

SINGLE void outer(char how)
{
    int i = 1;
    do {
        inner(i, how);
    } while (++i <= ten);
}

int main(int argc, char **argv)
{
    outer(argc > 1 ? argv[1][0] : 'n');
    return 0;
}
