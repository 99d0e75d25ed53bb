// SPDX-License-Identifier: MIT
/* Recursions with a known number of calls. */
static volatile int sink;

static int fib(int n)
{
    if (n < 2) /* @base */
        return n;
    return fib(n - 1) + fib(n - 2);
}

static int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1; /* @zero */
    if (n == 0)
        return ackermann(m - 1, 1);               /* @one */
    return ackermann(m - 1, ackermann(m, n - 1)); /* @two */
}

static void move(void)
{
    sink++;
}

static void hanoi(int n, int from, int to)
{
    if (n == 0)
        return;
    hanoi(n - 1, from, 6 - from - to);
    move();
    hanoi(n - 1, 6 - from - to, to);
}

static int is_odd(int n);

static int is_even(int n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

static int is_odd(int n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

int main(void)
{
    sink = fib(15);
    sink = ackermann(2, 5);
    hanoi(8, 1, 3);
    sink = is_even(25);
    return 0;
}
