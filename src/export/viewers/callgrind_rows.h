// SPDX-License-Identifier: MIT
/* What a callgrind file has lines for, by function: costs of instructions, calls, jumps. */
#ifndef HP_EXPORT_CALLGRIND_ROWS_H
#define HP_EXPORT_CALLGRIND_ROWS_H

#include "base/lists.h"
#include "base/map64.h"
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
        struct hp_cg_jump {
            struct hp_cg_where to;
            uint64_t taken;
            uint64_t executed; /* 0: it is not conditional */
        } jump;
        struct hp_cg_call {
            uint32_t callee;
            uint64_t count, inclusive;
        } call;
    };
};

/* An edge with the blocks it joins and their functions; HP_PROFILE_NONE: not known. */
struct hp_cg_edge {
    uint32_t from, to; /* blocks: one that ends with the branch, one that starts where it leads */
    uint32_t caller, callee;
    uint32_t next_site; /* of the same call */
    uint64_t count;
};

struct hp_cg_code {
    const struct hp_profile *profile;
    struct hp_tables tables;
    uint64_t totals[HP_CG_COLUMNS];
    struct hp_cg_row *rows; /* of a function */
    size_t n_rows, capacity;
    struct hp_cg_row lost; /* in place of one that there is no memory for */
    bool failed;           /* memory ran out: rows are missing */
    /* Where rows come from: */
    struct hp_cg_edge *edges;             /* as in the profile */
    struct hp_lists blocks, insns, jumps; /* by function; edges by the caller */
    struct hp_map64 sites;                /* first edges that call, by caller and callee */
    struct hp_decoder *decoder;
    struct hp_module_code **modules; /* NULL: the file cannot be used */
    size_t budget; /* of instructions to decode: a damaged profile must not take for ever */
};

/* Release it even when this fails. HP_ERR_NOMEM. */
enum hp_err hp_cg_code_init(struct hp_cg_code *code, const struct hp_profile *profile);
void hp_cg_code_fini(struct hp_cg_code *code);

/* The address that an instruction has in its file. */
uint64_t hp_cg_address(const struct hp_cg_code *code, struct hp_place place);

/* Where a function begins; HP_PROFILE_NONE: nowhere. */
struct hp_cg_where hp_cg_function(const struct hp_profile *profile, uint32_t function);

/* Makes the rows of a function (HP_PROFILE_NONE: of what belongs to none), ordered by place and
 * source; costs of one place and source are one row. */
void hp_cg_rows_of(struct hp_cg_code *code, uint32_t function);

#endif
