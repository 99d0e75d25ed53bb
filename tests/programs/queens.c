// SPDX-License-Identifier: MIT
/* The queens that do not attack each other: 92 solutions on a board of 8. */
#include "rt.h"

static int place(u32 columns, u32 left, u32 right)
{
    if (columns == 0xff)
        return 1;
    int solutions = 0;
    u32 free = ~(columns | left | right) & 0xff;
    while (free) {
        u32 queen = free & -free;
        free ^= queen;
        solutions += place(columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return solutions;
}

int main(void)
{
    int solutions = place(0, 0, 0);
    rt_print((u64)solutions);
    return solutions == 92 ? 0 : 1;
}
