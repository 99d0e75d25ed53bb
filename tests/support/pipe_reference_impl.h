// SPDX-License-Identifier: MIT
/*
 * Internals of the slow pipe: pipe_reference.c feeds it, redirects and retires;
 * pipe_reference_map.c maps; pipe_reference_fetch.c fetches; pipe_reference_issue.c issues and
 * accesses memory. All cycles here are absolute.
 */
#ifndef HP_TEST_PIPE_REFERENCE_IMPL_H
#define HP_TEST_PIPE_REFERENCE_IMPL_H

#include "machine/core_impl.h"
#include "pipe_reference.h"

#define NOT_YET UINT64_MAX

/* An instruction of the right path, as fed. */
struct right {
    uint32_t insn;
    uint32_t piece;      /* HP_NO_ID: not the first of its block */
    uint32_t addresses;  /* where its addresses begin */
    uint8_t n_addresses; /* number of operands whose addresses are known */
    bool taken, known;   /* known: it is a transfer with a known successor */
    bool behind_break;   /* fetched when everything before it has retired */
    uint32_t delay;      /* of a handler that runs before it; 0: it has run */
    bool measured;
    bool asked;                  /* the predictors have been */
    uint64_t next;               /* the address run after it */
    uint32_t cost;               /* for the profiler that the branch queue feeds */
    struct hp_forecast forecast; /* when asked */
};

/* A micro-operation of an instruction in flight. */
struct uop {
    uint32_t entry;          /* its instruction */
    uint32_t what;           /* hp_program_uops() */
    uint32_t waits, n_waits; /* for micro-operations of other instructions: indices into `waits` */
    uint64_t issued, completes;
    uint32_t store; /* a load: micro-operation that forwarded to it, or that it is blocked by;
                       HP_NO_ID: none */
    bool forwarded, blocked; /* by `store` */
    bool after_stores;       /* it was too early before: it waits for all older stores */
};

enum state { FETCHED, MAPPED, RETIRED, ABORTED };

/* A fetched instruction, kept forever. */
struct entry {
    enum state state;
    struct hp_timing
        timing;     /* `fetched`, what is known at fetch, and events; the rest when it leaves */
    uint32_t right; /* HP_NO_ID: of a wrong path */
    uint32_t uops, n_uops;
    uint64_t mapped;
    uint64_t address[HP_INSN_MAX_MEMS];
    bool has_address[HP_INSN_MAX_MEMS];
    bool mispredicted; /* and not redirected yet */
};

/* A line on its way to the L1D. */
struct line {
    uint64_t line, arrives;
    enum hp_source_level from;
};

/* Where a wrong path is. */
struct wrong {
    uint32_t piece, at; /* the next instruction is its at-th; HP_NO_ID: at `address` */
    uint64_t address;   /* 0: unknown */
    bool measured;
    uint64_t *calls; /* return addresses of its calls that have not returned */
    size_t n_calls, cap_calls;
    uint32_t returns; /* entries of the return stack that were used */
};

/* Of an instruction that is being fetched: the lines read for it. */
struct lines {
    bool begun;
    uint64_t next; /* line to be read */
    uint32_t events;
    enum hp_source_level from;
    bool waiting; /* until `arrives`, for next - 1 */
    uint64_t arrives;
};

struct pipe_reference {
    struct hp_program *program;
    struct hp_core *core;
    const struct hp_machine *machine;
    bool no_wrong_path;
    struct hp_pipe_stats stats;
    uint64_t cycle;

    /* Fed. */
    struct right *rights;
    size_t n_rights, cap_rights;
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
    bool at_break, measured;
    uint32_t delay; /* of the handler in front of the next instruction fed */

    /* In flight, and before. */
    struct entry *entries;
    size_t n_entries, cap_entries, oldest; /* oldest: all before it have left */
    struct uop *uops;
    size_t n_uops, cap_uops;
    uint32_t *waits;
    size_t n_waits, cap_waits;
    struct hp_timing *timings;
    size_t n_timings, cap_timings;

    /* Fetch. */
    uint64_t fetch_from; /* cycle */
    size_t next_right;
    bool on_wrong_path;
    struct wrong wrong;
    struct lines lines;
    uint32_t history;
    struct hp_events events; /* ignored */

    /* By static instruction: addresses of its operands when last fetched; 1 + the period in which
     * its load was too early. */
    struct known {
        uint64_t address[HP_INSN_MAX_MEMS];
        bool has_address[HP_INSN_MAX_MEMS];
        uint64_t early;
    } * known;
    size_t cap_known;

    /* Issue and memory. */
    uint64_t *units[HP_UNITS]; /* of each: the cycle from which it is free */
    uint64_t *places;          /* for lines on their way: the cycle from which it is free */
    struct line *line;
    size_t n_lines, cap_lines;
    uint32_t trapped; /* entry of the oldest load that was found too early in the cycle before;
                         HP_NO_ID: none */

    /* The branch queue. */
    int queue;
    uint64_t *profiled; /* cycles in which the profiler is finished with each */
    size_t n_profiled, cap_profiled;
};

static inline const struct hp_static *insn_of(const struct pipe_reference *r, const struct entry *e)
{
    return &hp_program_insns(r->program)[e->timing.insn];
}

static inline uint64_t unit_count(const struct hp_machine *m, unsigned unit)
{
    const uint64_t counts[HP_UNITS] = {m->units.alu,    m->units.mul,    m->units.fp,
                                       m->units.fp_mul, m->units.vector, m->units.load,
                                       m->units.store,  m->units.branch};
    return counts[unit];
}

/* Of the levels below the L1s. */
static inline uint64_t level_latency(const struct hp_machine *m, enum hp_source_level level)
{
    if (level == HP_FROM_L2)
        return m->l2.latency;
    return level == HP_FROM_L3 ? m->l3.latency : m->memory.latency;
}

static inline const struct hp_uop *what_is(const struct pipe_reference *r, const struct uop *u)
{
    return &hp_program_uops(r->program)[u->what];
}

/* Cycle in which it is done; NOT_YET: unknown. */
uint64_t done_in(const struct pipe_reference *r, const struct entry *e);

/* The description of a static instruction. */
struct known *known_of(struct pipe_reference *r, uint32_t insn);

void issue_phase(struct pipe_reference *r);
void map_phase(struct pipe_reference *r);
void fetch_phase(struct pipe_reference *r);

/* Accesses the L1D for an instruction; returns when the data arrive. `waits`: a load that waits for
 * a line on its way. */
uint64_t access_data(struct pipe_reference *r, struct entry *e, uint64_t address, uint32_t size,
                     unsigned access, bool waits);

/* An operand of an instruction is read and written. */
bool is_update(const struct pipe_reference *r, const struct entry *e, unsigned operand);

/* hp_grow() or abort. */
void grow(void *array, size_t *cap, size_t n, size_t size);

#endif
