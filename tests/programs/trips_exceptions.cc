// SPDX-License-Identifier: MIT
/* Exceptions thrown out of loops, and caught inside. As trips.c. */
#define SINGLE __attribute__((noinline, noclone))

static volatile int sink, ten = 10;

SINGLE static void thrower(int now)
{
    if (now)
        throw now;
    sink = sink + 1;
}

/* Thrown out of, in round `stop`. */
SINGLE static void thrown_out(int stop)
{
    int i = 0;
    do {
        thrower(i == stop);
    } while (++i < ten);
}

SINGLE static void outside()
{
    int i = 0;
    do {
        try {
            thrown_out(2 * i);
        } catch (int) {
            sink = sink - 1;
        }
    } while (++i < 8);
}

/* Caught in the loop: every second round. */
SINGLE static void caught_inside(int n)
{
    int i = 0;
    do {
        try {
            thrower(i & 1);
            sink = sink + 2;
        } catch (int) {
            sink = sink - 2;
        }
    } while (++i < n);
}

int main()
{
    outside();
    caught_inside(9);
    return 0;
}
