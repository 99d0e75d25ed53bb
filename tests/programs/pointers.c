// SPDX-License-Identifier: MIT
/* Calls through a table of functions, and a callback called back. */
static volatile int sink;

static void red(int i)
{
    sink += i;
}

static void green(int i)
{
    sink -= i;
}

static void blue(int i)
{
    sink ^= i;
}

static void (*const table[])(int) = {red, green, blue, green};

static void each(int n, void (*callback)(int))
{
    while (n-- > 0)
        callback(n);
}

int main(void)
{
    for (int i = 0; i < 103; i++)
        table[i % 4](i); /* @dispatch */
    each(31, blue);
    return 0;
}
