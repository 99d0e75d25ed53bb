// SPDX-License-Identifier: MIT
/* longjmp out of a recursion of known depth. */
#include <setjmp.h>

static jmp_buf env;
static volatile int sink, round_;

static void landed(void)
{
    sink++;
}

static void never(void)
{
    sink = -1;
}

static void dive(int depth)
{
    if (depth == 0)
        longjmp(env, 1);
    dive(depth - 1);
    never();
}

int main(void)
{
    for (round_ = 0; round_ < 20; round_++)
        if (setjmp(env) == 0)
            dive(round_);
        else
            landed();
    return sink == 20 ? 0 : 1;
}
