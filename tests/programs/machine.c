// SPDX-License-Identifier: MIT
/* An interpreter with a switch, running a program that computes the greatest common divisors. */
#include "rt.h"

enum { LOAD, MOD, MOVE, TEST, ADD, NEXT, HALT };

struct operation {
    u8 code, a, b;
};

/* sum of gcd(i, 360) for i from r5 down to 1 */
static const struct operation program[] = {
    {MOVE, 0, 5}, {LOAD, 1, 180}, {ADD, 1, 1}, /* r0 = i, r1 = 360 */
    {MOVE, 2, 1}, {MOD, 0, 1},    {MOVE, 1, 0}, {MOVE, 0, 2},
    {TEST, 1, 3}, {ADD, 6, 0},    {NEXT, 5, 0}, {HALT, 0, 0},
};

static u64 execute(u64 n)
{
    u64 r[8] = {0, 0, 0, 0, 0, n, 0, 0};
    for (const struct operation *at = program;; at++) {
        switch (at->code) {
        case LOAD: r[at->a] = at->b; break;
        case MOD: r[at->a] %= r[at->b]; break;
        case MOVE: r[at->a] = r[at->b]; break;
        case ADD: r[at->a] += r[at->b]; break;
        case TEST:
            if (r[at->a])
                at = program + at->b - 1;
            break;
        case NEXT:
            if (--r[at->a])
                at = program + at->b - 1;
            break;
        case HALT: return r[6];
        }
    }
}

static u64 gcd(u64 a, u64 b)
{
    return b ? gcd(b, a % b) : a;
}

int main(void)
{
    u64 sum = 0;
    for (u64 i = 1; i <= 500; i++)
        sum += gcd(i, 360);
    rt_print(sum);
    return execute(500) == sum ? 0 : 1;
}
