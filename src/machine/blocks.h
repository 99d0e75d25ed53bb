// SPDX-License-Identifier: MIT
/*
 * What a core needs to know about a block, computed once: its fetches and accesses in program
 * order, how it ends, and the part of its power that does not depend on hits and misses.
 */
#ifndef HP_MACHINE_BLOCKS_H
#define HP_MACHINE_BLOCKS_H

#include "hotpath/code.h"
#include "machine/memory.h"

/* A step of a block. */
struct hp_step_info {
    uint16_t size;  /* of a memory operand, at least 1; 0: the next line is fetched */
    uint16_t cycle; /* which of the block's cycles it is in */
    uint8_t access; /* HP_ACCESS_* */
    uint8_t same;   /* of a fetch: for the same instruction as the previous one */
};

enum {
    HP_INFO_KNOWN = 1 << 0,
    HP_INFO_BRANCH = 1 << 1, /* it ends with a transfer */
    HP_INFO_CONDITIONAL = 1 << 2,
    HP_INFO_BACKWARD = 1 << 3, /* a direct transfer, to an address at or below its own */
};

struct hp_block_info {
    uint64_t first_line;
    uint64_t pc, end; /* as in hp_transfer */
    uint32_t insns;
    uint32_t steps; /* where its steps begin */
    uint16_t n_steps, n_operands;
    uint16_t reads, writes, updates; /* operands that are read; only written; read and written */
    uint8_t flow, flags;
    uint32_t fetch_power_cycle;            /* cycle model */
    uint32_t data_power, data_power_cycle; /* of the operands; analytical, cycle model */
};

struct hp_blocks {
    struct hp_block_info *infos;
    struct hp_step_info *steps;
    size_t cap_infos, cap_steps, n_steps;
    /* What it depends on. */
    unsigned line_bits, width;
    uint32_t fetch_cost, fetch_ports, data_cost, data_ports;
};

/* Low bits of instruction addresses that are always 0: predictors do not see them. */
unsigned hp_pc_bits(enum hp_arch arch);

void hp_blocks_init(struct hp_blocks *blocks, const struct hp_machine *machine,
                    const struct hp_memory *memory);
void hp_blocks_fini(struct hp_blocks *blocks);

/* Analyses the first `n` instructions of a block (all, when it has no more). Its steps are the last
 * in the list; the caller may remove them. HP_ERR_NOMEM. */
enum hp_err hp_blocks_part(struct hp_blocks *blocks, struct hp_code *code, uint32_t block,
                           uint32_t n, struct hp_block_info *info);

/* Analyses a block and keeps the result. HP_ERR_NOMEM. */
enum hp_err hp_blocks_add(struct hp_blocks *blocks, struct hp_code *code, uint32_t block);

#endif
