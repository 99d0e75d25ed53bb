// SPDX-License-Identifier: MIT
/* Two levels of inlining into a function of known lines; see the marks. */
#include <stdio.h>

static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
    volatile unsigned y = x * 2654435761u; /* INNER */
    return y ^ x;
}

static inline __attribute__((always_inline)) unsigned middle(unsigned x)
{
    volatile unsigned z = x + 17; /* MIDDLE */
    return inner(z);              /* CALL INNER */
}

__attribute__((noinline)) unsigned outer(unsigned x)
{
    volatile unsigned a = middle(x); /* CALL MIDDLE */
    return a + 1;
}

static __attribute__((noinline)) int hidden(int n)
{
    volatile int m = n;
    return m + 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    printf("%u\n", outer((unsigned)argc));
    puts("done");
    return hidden(argc) == 0;
}
