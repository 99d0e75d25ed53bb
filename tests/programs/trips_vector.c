// SPDX-License-Identifier: MIT
/*
 * Loops that the compiler unrolls, by a factor that is said here, or vectorises (-O3): the rounds
 * of the loops that it makes are fewer, the elements are the same. As trips.c.
 */
#define SINGLE __attribute__((noinline, noclone))
#define N      1003

static int a[N], b[N];
static volatile int length = N;

/* Four times as much in a round; what is left over comes before. */
SINGLE void unrolled(int n)
{
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : : "r"(i) : "memory");
}

/* Not at all. */
SINGLE void rolled(int n)
{
#pragma GCC unroll 1
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : : "r"(i) : "memory");
}

SINGLE void vectorised(int *restrict to, const int *restrict from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += from[i];
}

int main(void)
{
    unrolled(length);
    unrolled(length - 3);
    rolled(length);
    vectorised(a, b, length);
    vectorised(a, b, length - 3);
    return a[N - 1];
}
