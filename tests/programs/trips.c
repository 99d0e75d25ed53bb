// SPDX-License-Identifier: MIT
/*
 * Loops whose executions and iterations are known on paper, whatever the compiler makes of them:
 * each is in a function of its own, goes round by a condition at its end, and has work in it that
 * can be neither moved nor joined (KEEP). tests/e2e/test_loops_trips.py has the numbers.
 */
#define KEEP   __asm__ volatile("" : : : "memory")
#define SINGLE __attribute__((noinline, noclone))

static volatile int sink, ten = 10;

/* Rows of 1, 2, ... n. */
SINGLE void triangle(int n)
{
    int i = 1;
    do {
        int j = 0;
        do {
            KEEP;
        } while (++j < i);
    } while (++i <= n);
}

/* Three deep: 2 x 3 x 4. */
SINGLE void cube(int a, int b, int c)
{
    int i = 0;
    do {
        int j = 0; /* @rows */
        do {
            int k = 0; /* @columns */
            do {
                KEEP;
            } while (++k < c); /* @cells */
        } while (++j < b);     /* @columns_end */
    } while (++i < a);         /* @rows_end */
}

/* Left in the middle of round `stop`. */
SINGLE void early(int stop, int n)
{
    int i = 0;
    do {
        sink++;
        if (i == stop)
            break;
        sink++;
    } while (++i < n);
}

SINGLE void touch(void)
{
    sink++;
}

/* Without a condition of its own. (The call keeps the compiler from turning it round.) */
SINGLE int forever(int n)
{
    int i = 0;
    while (1) {
        touch();
        if (++i == n)
            break;
        sink--;
    }
    return i;
}

/* Two ways back to the header. */
SINGLE void again(int n)
{
    int i = 0;
top:
    sink++;
    i++;
    if (i % 3 == 0) {
        sink++;
        if (i < n)
            goto top;
        return;
    }
    KEEP;
    if (i < n)
        goto top;
}

/* Each activation goes round three times, and is left for the next from its second round. */
SINGLE void dive(int depth)
{
    int i = 0;
    do {
        sink++;
        if (i == 1 && depth > 0)
            dive(depth - 1);
    } while (++i < 3);
    KEEP;
}

/* The recursion of a tree, so that executions of one activation lie between those of another. */
SINGLE void tree(int depth, int fanout)
{
    int i = 0;
    do {
        sink++;
        if (depth > 0)
            tree(depth - 1, fanout);
    } while (++i < fanout);
    KEEP;
}

SINGLE void callee(int n)
{
    int i = 0;
    do {
        sink++;
    } while (++i < n);
}

SINGLE void caller(int n)
{
    int i = 0;
    do {
        callee(5);
        sink++;
    } while (++i < n);
}

/* Two ways in: an odd number begins in the middle. */
SINGLE void irreducible(int n)
{
    int i = 0;
    if (n & 1)
        goto middle;
first:
    sink++;
middle:
    sink--;
    if (++i < n)
        goto first;
}

/* Lengths that repeat: 4 4 4 4 9 9 4. */
SINGLE void repeats(int n)
{
    int i = 0;
    do {
        KEEP;
    } while (++i < n);
}

int main(void)
{
    int n = ten;
    triangle(n);
    cube(2, 3, 4);
    for (int i = 0; i < n; i++)
        early(i, 1000);
    early(1000, 7);
    for (int i = 1; i <= n; i++)
        forever(i * i);
    again(20);
    dive(6);
    tree(4, 2);
    caller(8);
    irreducible(5);
    irreducible(8);
    for (int i = 0; i < 4; i++)
        repeats(4);
    repeats(9);
    repeats(9);
    repeats(4);
    return 0;
}
