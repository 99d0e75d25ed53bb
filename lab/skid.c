// SPDX-License-Identifier: MIT
/*
 * The loop of figure 2 of ProfileMe, for the experiment sampling-skid: one load that hits the
 * cache, and hundreds of instructions that do nothing.
 */
#include <stdint.h>
#include <stdlib.h>

#define NOPS_10  "nop; nop; nop; nop; nop; nop; nop; nop; nop; nop;"
#define NOPS_100 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10 NOPS_10

__attribute__((noipa)) void skid(uint64_t *word, uint64_t n)
{
    uint64_t value;
    __asm__ volatile("1: mov (%2), %0;" NOPS_100 NOPS_100 NOPS_100 "sub $1, %1; jnz 1b"
                     : "=&r"(value), "+r"(n)
                     : "r"(word)
                     : "memory", "cc");
}

int main(int argc, char **argv)
{
    static uint64_t word;
    skid(&word, argc > 1 ? strtoull(argv[1], NULL, 10) : 1000);
    return 0;
}
