// SPDX-License-Identifier: MIT
/* Nested loops whose counts follow from N and M alone. Names after an at sign mark lines for
 * tests/e2e/test_counts_flow.py. */
#define N 13
#define M 7

static volatile int sink;

static void innermost(int i, int j)
{
    sink += i * j;
}

static void rectangle(void)
{
    for (int i = 0; i < N; i++)     /* @outer */
        for (int j = 0; j < M; j++) /* @inner */
            innermost(i, j);
}

static void triangle(void)
{
    for (int i = 0; i < N; i++)     /* @row */
        for (int j = 0; j < i; j++) /* @column */
            sink ^= j;              /* @cell */
}

static int while_loop(int n)
{
    int steps = 0;
    while (n != 1) {       /* @collatz */
        if (n % 2)         /* @odd */
            n = 3 * n + 1; /* @up */
        else
            n /= 2; /* @down */
        steps++;
    }
    return steps;
}

static int do_loop(int n)
{
    int k = 0;
    do {
        if (k == 5) /* @skip */
            continue;
        sink++;                     /* @kept */
    } while (++k < n && sink >= 0); /* @again */
    return k;
}

int main(void)
{
    rectangle();
    triangle();
    triangle();
    sink = while_loop(27);
    sink = do_loop(9);
    return 0;
}
