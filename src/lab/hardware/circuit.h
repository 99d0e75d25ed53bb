// SPDX-License-Identifier: MIT
/*
 * Size and delay of a circuit by an estimate: docs/lab.md, "Reading hardware-size". A gate is a
 * NAND of two inputs; a level is the delay of one.
 */
#ifndef HP_LAB_HARDWARE_CIRCUIT_H
#define HP_LAB_HARDWARE_CIRCUIT_H

#include <stdint.h>

/* All zero is empty. */
struct hp_circuit {
    uint64_t memory;    /* bits of memory: a word is read and one written in a cycle */
    uint64_t registers; /* bits that can all be read at once */
    double logic;       /* gates */
    double levels;      /* of the longest stage, its registers included */
};

/* Gates of all of it. */
double hp_circuit_gates(const struct hp_circuit *circuit);

/* Bits that numbers below `n` take. */
uint32_t hp_circuit_width(uint64_t n);

/* Each adds the logic of `n` side by side. */
void hp_circuit_equal(struct hp_circuit *circuit, uint64_t n, uint32_t bits);
void hp_circuit_compare(struct hp_circuit *circuit, uint64_t n, uint32_t bits); /* which is less */
void hp_circuit_add(struct hp_circuit *circuit, uint64_t n, uint32_t bits);
void hp_circuit_count(struct hp_circuit *circuit, uint64_t n, uint32_t bits); /* by one */
void hp_circuit_xor(struct hp_circuit *circuit, uint64_t n, uint32_t bits);
void hp_circuit_choose(struct hp_circuit *circuit, uint64_t n, uint32_t bits, uint64_t among);
void hp_circuit_multiply(struct hp_circuit *circuit, uint64_t n, uint32_t a, uint32_t b);
/* The least of `among` numbers. */
void hp_circuit_least(struct hp_circuit *circuit, uint32_t bits, uint64_t among);

/* Levels of one of each. */
double hp_levels_equal(uint32_t bits);
double hp_levels_compare(uint32_t bits);
double hp_levels_add(uint32_t bits);
double hp_levels_choose(uint64_t among);
double hp_levels_multiply(uint32_t a, uint32_t b);
double hp_levels_least(uint32_t bits, uint64_t among);
double hp_levels_memory(uint64_t words); /* to read one */

/* A stage between registers: the circuit is as slow as its slowest. */
void hp_circuit_stage(struct hp_circuit *circuit, double levels);

#endif
