// SPDX-License-Identifier: MIT
/*
 * What a callgrind file has lines for, function by function: costs of instructions, calls, jumps.
 */
#ifndef HP_EXPORT_CALLGRIND_ROWS_H
#define HP_EXPORT_CALLGRIND_ROWS_H

#include "report/tables.h"

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

/* An instruction, and the source line that it comes from. */
struct hp_cg_where {
    struct hp_place place;
    const char *file; /* "": not known */
    uint32_t line;    /* 0: not known */
};

enum hp_cg_kind { HP_CG_COST, HP_CG_JUMP, HP_CG_CALL };

struct hp_cg_row {
    struct hp_cg_where where;
    enum hp_cg_kind kind;
    union {
        uint64_t cost[HP_CG_COLUMNS];
        struct {
            struct hp_cg_where to;
            uint64_t taken;
            uint64_t executed; /* 0: it is not conditional */
        } jump;
        struct {
            uint32_t callee;
            uint64_t count, inclusive;
        } call;
    };
};

/* All zero is none. When memory runs out, what is added is lost, and `failed` is set. */
struct hp_cg_rows {
    struct hp_cg_row *rows;
    size_t n, capacity;
    bool failed;
    struct hp_cg_row lost;
};

/* Appends a row, all zero but for where it is; it is valid until the next one. */
struct hp_cg_row *hp_cg_add(struct hp_cg_rows *rows, enum hp_cg_kind kind,
                            struct hp_cg_where where);

/* --- Where they come from --------------------------------------------------------------------- */

/* An edge with the blocks it joins and their functions; HP_PROFILE_NONE: not known. */
struct hp_cg_edge {
    uint32_t from, to; /* blocks: one that ends with the branch, one that starts where it leads */
    uint32_t caller, callee;
    uint64_t count;
};

/* Things of the profile, listed by what they belong to. HP_PROFILE_NONE ends a list. */
struct hp_cg_lists {
    uint32_t *first; /* by owner; then of those that have none */
    uint32_t *next;  /* by thing: in the profile's order */
};

struct hp_cg_code {
    const struct hp_profile *profile;
    struct hp_tables tables;
    struct hp_cg_edge *edges;                /* as in the profile */
    struct hp_cg_lists blocks, insns, jumps; /* by function; edges by the caller */
    struct hp_cg_lists sites;                /* edges that call, by call */
    struct hp_decoder *decoder;
    struct hp_module_code **modules; /* NULL: the file cannot be used */
    size_t budget; /* of instructions to decode: a damaged profile must not take for ever */
    uint64_t totals[HP_CG_COLUMNS];
};

/* Release it even when this fails. HP_ERR_NOMEM. */
enum hp_err hp_cg_code_init(struct hp_cg_code *code, const struct hp_profile *profile);
void hp_cg_code_fini(struct hp_cg_code *code);

/* The address that an instruction has in its file. */
uint64_t hp_cg_address(const struct hp_cg_code *code, struct hp_place place);

/* Where a byte of a block is; where its line is not known, the file is that of the function. */
struct hp_cg_where hp_cg_where(const struct hp_cg_code *code, uint32_t block, uint32_t offset);

/* Where a function begins; HP_PROFILE_NONE: nowhere. */
struct hp_cg_where hp_cg_function(const struct hp_profile *profile, uint32_t function);

/* Makes the rows of a function (HP_PROFILE_NONE: of what belongs to none), ordered by place and
 * source; costs of one place and source are one row. */
void hp_cg_rows_of(struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows);

/* --- Jumps and calls (callgrind_calls.c) ------------------------------------------------------ */

/* The call that an edge is; HP_PROFILE_NONE: none. */
uint32_t hp_cg_call_of(const struct hp_cg_code *code, uint32_t edge);

/* Adds the jumps inside of a function. */
void hp_cg_add_jumps(const struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows);

/* Adds the calls from a function, at the instructions that call. The profile has them by caller and
 * callee: where there are several instructions, the inclusive cost is shared out by how often each
 * of them called. */
void hp_cg_add_calls(const struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows);

#endif
