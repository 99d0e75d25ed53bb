// SPDX-License-Identifier: MIT
/*
 * Three loops for the experiment sampling-bottlenecks (figure 7 of ProfileMe): how long their
 * instructions take, and how much else the processor finds to do meanwhile, differ.
 *
 *   chase    each load needs the one before it, and misses: long latencies, nothing else to do
 *   stream   loads that miss too, but do not need each other, and much independent work: long
 *            latencies, well hidden
 *   serial   one chain of multiplications: short latencies, nothing else to do
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (1u << 18) /* 2 MB: more than an L1, less than an L2 of the 21264 */

static uint64_t memory[WORDS];

/* One cycle through all lines, in an order that nobody guesses. Each line is read before it is
 * written: stores alone would be far ahead of the memory, and the first loads of the loops would
 * wait for them all. */
static void link_lines(void)
{
    uint32_t lines = WORDS / 8, line = 0;
    for (uint32_t i = 0; i < lines; i++) {
        uint32_t next = (line * 5 + 12345) % lines;
        memory[line * 8] += next * 8;
        line = next;
    }
}

__attribute__((noipa)) uint64_t chase(uint64_t n)
{
    uint64_t at = 0;
    while (n--)
        at = memory[at];
    return at;
}

__attribute__((noipa)) uint64_t stream(uint64_t n)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, sum = 0, at = 0;
    while (n--) {
        sum += memory[at];
        at = (at + 8 * 37) % WORDS;
        a += n ^ 3;
        b ^= n + 5;
        c += n & 7;
        d ^= n | 9;
        a ^= a >> 3;
        b += b << 1;
        c ^= c >> 5;
        d += d << 2;
    }
    return a + b + c + d + sum;
}

__attribute__((noipa)) uint64_t serial(uint64_t n)
{
    uint64_t x = 3;
    while (n--)
        x = x * (x | 5) + n;
    return x;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10, result = 0;
    link_lines();
    while (rounds--) {
        result += chase(1200);
        result += stream(24000);
        result += serial(3000);
    }
    printf("%llu\n", (unsigned long long)result);
    return 0;
}
