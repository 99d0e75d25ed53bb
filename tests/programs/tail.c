// SPDX-License-Identifier: MIT
/* Tail calls, direct and through a pointer: built with optimisation, so that they are jumps. */
#define NOIPA __attribute__((noipa))

int is_odd(unsigned n);
int is_even(unsigned n);
int last(int x);
int apply(int (*function)(int), int x);

static volatile int sink;

NOIPA int is_even(unsigned n)
{
    if (n == 0)
        return 1;
    return is_odd(n - 1);
}

NOIPA int is_odd(unsigned n)
{
    if (n == 0)
        return 0;
    return is_even(n - 1);
}

NOIPA int last(int x)
{
    return x + sink;
}

NOIPA int apply(int (*function)(int), int x)
{
    return function(x + 1);
}

NOIPA int main(void)
{
    sink = is_even(1000);
    for (int i = 0; i < 70; i++)
        sink = apply(last, i);
    return 0;
}
