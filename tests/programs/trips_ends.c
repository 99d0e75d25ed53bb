// SPDX-License-Identifier: MIT
/* Loops in which the program ends: by exit(), by a signal, by a fault. As trips.c; the argument
 * says how. */
#include <signal.h>
#include <stdlib.h>

#define SINGLE __attribute__((noinline, noclone))

static volatile int sink, ten = 10;
static int *volatile nowhere;

/* In the third round of the seventh row. */
SINGLE void end(char how, int row, int column)
{
    sink++;
    if (row != 7 || column != 2)
        return;
    if (how == 'e')
        exit(3);
    if (how == 's')
        raise(SIGKILL);
    if (how == 'f')
        sink = *nowhere;
}

/* Rows of four. */
SINGLE void inner(int row, char how)
{
    int j = 0;
    do {
        end(how, row, j);
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
