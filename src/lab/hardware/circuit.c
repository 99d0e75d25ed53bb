// SPDX-License-Identifier: MIT
#include "lab/hardware/circuit.h"

/* Gates of a bit, as standard cells have them. */
#define MEMORY   1.5 /* six transistors, and decoders, sense amplifiers */
#define REGISTER 8   /* a flip-flop that keeps its value unless enabled */
#define EQUAL    3   /* an exclusive or, and its part of the tree of ands */
#define COMPARE  5
#define ADD      7
#define COUNT    4
#define XOR      2.5
#define CHOOSE   2.25 /* between two */
#define MULTIPLY 8    /* an and, and a full adder */

#define STAGE 2 /* levels of the registers at its ends */

double hp_circuit_gates(const struct hp_circuit *c)
{
    return (double)c->memory * MEMORY + (double)c->registers * REGISTER + c->logic;
}

uint32_t hp_circuit_width(uint64_t n)
{
    uint32_t bits = 0;
    while (bits < 63 && UINT64_C(1) << bits < n)
        bits++;
    return bits;
}

/* --- Gates ------------------------------------------------------------------------------------ */

static void put(struct hp_circuit *c, uint64_t n, uint64_t bits, double gates)
{
    c->logic += (double)n * (double)bits * gates;
}

void hp_circuit_equal(struct hp_circuit *c, uint64_t n, uint32_t bits)
{
    put(c, n, bits, EQUAL);
}

void hp_circuit_compare(struct hp_circuit *c, uint64_t n, uint32_t bits)
{
    put(c, n, bits, COMPARE);
}

void hp_circuit_add(struct hp_circuit *c, uint64_t n, uint32_t bits)
{
    put(c, n, bits, ADD);
}

void hp_circuit_count(struct hp_circuit *c, uint64_t n, uint32_t bits)
{
    put(c, n, bits, COUNT);
}

void hp_circuit_xor(struct hp_circuit *c, uint64_t n, uint32_t bits)
{
    put(c, n, bits, XOR);
}

void hp_circuit_choose(struct hp_circuit *c, uint64_t n, uint32_t bits, uint64_t among)
{
    put(c, n * (among - 1), bits, CHOOSE);
}

void hp_circuit_multiply(struct hp_circuit *c, uint64_t n, uint32_t a, uint32_t b)
{
    put(c, n, (uint64_t)a * b, MULTIPLY);
}

void hp_circuit_least(struct hp_circuit *c, uint32_t bits, uint64_t among)
{
    hp_circuit_compare(c, among - 1, bits);
    hp_circuit_choose(c, among - 1, bits, 2);
}

/* --- Levels ----------------------------------------------------------------------------------- */

double hp_levels_equal(uint32_t bits)
{
    return 1 + hp_circuit_width(bits);
}

double hp_levels_compare(uint32_t bits)
{
    return 2 + hp_circuit_width(bits);
}

double hp_levels_add(uint32_t bits)
{
    return 3 + hp_circuit_width(bits);
}

double hp_levels_choose(uint64_t among)
{
    return hp_circuit_width(among);
}

/* A tree of full adders, three rows to two in two levels, and the last addition. */
double hp_levels_multiply(uint32_t a, uint32_t b)
{
    double levels = 1;
    for (uint32_t rows = a < b ? a : b; rows > 2; rows = rows / 3 * 2 + rows % 3)
        levels += 2;
    return levels + hp_levels_add(a + b);
}

double hp_levels_least(uint32_t bits, uint64_t among)
{
    return hp_circuit_width(among) * (hp_levels_compare(bits) + hp_levels_choose(2));
}

double hp_levels_memory(uint64_t words)
{
    return 6 + hp_circuit_width(words);
}

void hp_circuit_stage(struct hp_circuit *c, double levels)
{
    if (c->levels < levels + STAGE)
        c->levels = levels + STAGE;
}
