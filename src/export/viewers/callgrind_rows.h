// SPDX-License-Identifier: MIT
/*
 * What a callgrind file has lines for, function by function: costs of instructions, calls, jumps.
 */
#ifndef HP_EXPORT_CALLGRIND_ROWS_H
#define HP_EXPORT_CALLGRIND_ROWS_H

#include "report/tables.h"
#include "symbols/module_code.h"

enum hp_cg_column {
    HP_CG_IR,
    HP_CG_BC, /* conditional branches */
    HP_CG_BI, /* computed ones and returns */
    HP_CG_TAKEN,
    /* Of a machine in cycles: */
    HP_CG_BCM,
    HP_CG_BIM,
    HP_CG_I1,
    HP_CG_D1,
    HP_CG_L2,
    HP_CG_L3,
    HP_CG_ITLB,
    HP_CG_DTLB,
    HP_CG_CYCLES, /* in HP_CYCLE_PARTS */
    HP_CG_COLUMNS
};

enum hp_cg_kind { HP_CG_COST, HP_CG_JUMP, HP_CG_CALL };

struct hp_cg_source {
    const char *file; /* "": not known */
    uint32_t line;    /* 0: not known */
};

struct hp_cg_row {
    struct hp_place place;
    struct hp_cg_source source;
    enum hp_cg_kind kind;
    union {
        uint64_t cost[HP_CG_COLUMNS];
        struct {
            struct hp_place to;
            struct hp_cg_source source;
            bool conditional;
            uint64_t taken, executed;
        } jump;
        struct {
            uint32_t callee;
            uint64_t count, inclusive;
        } call;
    };
};

/* All zero is none. */
struct hp_cg_rows {
    struct hp_cg_row *rows;
    size_t n, capacity;
};

/* Appends a row, all zero but for where it is, and returns it through `row`, valid until the next
 * one. */
enum hp_err hp_cg_rows_add(struct hp_cg_rows *rows, enum hp_cg_kind kind, struct hp_place place,
                           struct hp_cg_source source, struct hp_cg_row **row);

/* Orders them by place and source, and makes one of costs of the same. */
void hp_cg_rows_join(struct hp_cg_rows *rows);

/* --- Where they come from --------------------------------------------------------------------- */

/* An edge with the blocks it joins; HP_PROFILE_NONE: not known. */
struct hp_cg_edge {
    uint32_t from, to; /* blocks: one that ends with the branch, one that starts where it leads */
    uint64_t count;
};

/* Things of the profile by the function that they belong to. */
struct hp_cg_group {
    uint32_t *items; /* those of a function in the profile's order */
    size_t *first;   /* by function, and then of what belongs to none: where its items begin, up to
                        the next */
};

struct hp_cg_code {
    struct hp_tables *tables;
    uint64_t *counts;         /* of blocks */
    uint32_t *ends;           /* blocks by the place of their last instruction */
    struct hp_cg_edge *edges; /* as in the profile */
    struct hp_cg_group by_blocks, by_insns, by_edges; /* edges by the function of `from` */
    struct hp_decoder *decoder;
    struct hp_module_code **modules; /* NULL: the file cannot be used */
    uint8_t *bytes;                  /* room for the code of a block */
    size_t budget; /* of instructions to decode: a damaged profile must not take for ever */
};

/* Keeps `tables`. HP_ERR_NOMEM. */
enum hp_err hp_cg_code_init(struct hp_cg_code *code, struct hp_tables *tables);
void hp_cg_code_fini(struct hp_cg_code *code);

/* The address that an instruction has in its file. */
uint64_t hp_cg_code_address(const struct hp_cg_code *code, struct hp_place place);

/* Where a place in a block comes from; where that is not known, the file is that of the function.
 * block HP_PROFILE_NONE: nothing is known. */
struct hp_cg_source hp_cg_code_source(const struct hp_cg_code *code, uint32_t block,
                                      uint32_t offset);

/* The items of a function, `*n` of them. */
const uint32_t *hp_cg_items(const struct hp_cg_code *code, const struct hp_cg_group *group,
                            uint32_t function, size_t *n);

/* Adds the costs of a function's instructions: by its blocks and edges, and by the machine.
 * HP_PROFILE_NONE: of what belongs to no function. */
enum hp_err hp_cg_code_costs(struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows);

/* Adds the jumps inside of a function. */
enum hp_err hp_cg_add_jumps(const struct hp_cg_code *code, uint32_t function,
                            struct hp_cg_rows *rows);

/* Adds the calls from a function, at the instructions that call. The profile has them by caller and
 * callee: where there are several instructions, the inclusive cost is shared out by how often each
 * of them called. */
enum hp_err hp_cg_add_calls(const struct hp_cg_code *code, uint32_t function,
                            struct hp_cg_rows *rows);

/* What all costs come to, by the profile's counters alone. */
void hp_cg_code_totals(const struct hp_cg_code *code, uint64_t totals[HP_CG_COLUMNS]);

#endif
