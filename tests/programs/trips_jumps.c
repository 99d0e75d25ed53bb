// SPDX-License-Identifier: MIT
/* Loops that are left, or come back to, by longjmp. As trips.c. */
#include <setjmp.h>

#define SINGLE __attribute__((noinline, noclone))

static jmp_buf env;
static volatile int sink, round_, ten = 10;

SINGLE void leave(int now)
{
    if (now)
        longjmp(env, 1);
    sink++;
}

/* A nest of two loops that is left from the inside by longjmp, in the third row, in round `round_`.
 */
SINGLE void left(int n)
{
    int i = 0;
    do {
        int j = 0;
        do {
            leave(i == 2 && j == n);
        } while (++j < ten);
    } while (++i < ten);
}

/* Runs that three times: the loop around setjmp goes on behind it. */
SINGLE void out(void)
{
    round_ = 0;
    do {
        if (setjmp(env) == 0)
            left(round_);
        sink++;
        round_ = round_ + 1;
    } while (round_ < 3);
}

/* setjmp before the loop: each retry is another execution, and no loop of its own. */
SINGLE void retry(void)
{
    volatile int tries = 0;
    setjmp(env);
    tries = tries + 1;
    volatile int i = 0;
    do {
        sink++;
        i = i + 1;
        if (i == 4 && tries < 6)
            leave(1);
    } while (i < 7);
}

/* setjmp in the loop: a retry is part of the same round. */
SINGLE void inside(void)
{
    volatile int i = 0, tries = 0;
    do {
        setjmp(env);
        sink++;
        tries = tries + 1;
        if (tries % 3)
            leave(1);
        i = i + 1;
    } while (i < 5);
}

int main(void)
{
    out();
    retry();
    inside();
    return 0;
}
