// SPDX-License-Identifier: MIT
/*
 * The machine model in cycles: an out-of-order or in-order core that runs the retired stream,
 * including what it fetches on wrong paths. docs/pipeline.md has the exact rules.
 *
 * A *program* (hp_program) is the static code, instruction by instruction, each split into
 * micro-operations for one machine; all threads share it. A *pipe* is one core; every thread has
 * one. It is fed blocks in the order of retirement. For every instruction fetched, on the right
 * path or a wrong one, it reports in the order of fetch what became of it and when: a *timing*.
 */
#ifndef HOTPATH_PIPE_H
#define HOTPATH_PIPE_H

#include "hotpath/machine.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- The static code -------------------------------------------------------------------------- */

enum hp_unit_kind {
    HP_UNIT_ALU,
    HP_UNIT_MUL, /* and divide */
    HP_UNIT_FP,
    HP_UNIT_FP_MUL, /* and divide */
    HP_UNIT_VECTOR,
    HP_UNIT_LOAD,
    HP_UNIT_STORE,
    HP_UNIT_BRANCH,
    HP_UNITS
};
const char *hp_unit_name(enum hp_unit_kind unit);

#define HP_UOPS_MAX                                                                                \
    6 /* of an instruction: two loads, one that computes, one that updates addresses, two stores   \
       */

struct hp_uop {
    uint8_t unit;     /* enum hp_unit_kind */
    uint8_t operand;  /* LOAD and STORE: which of the instruction's memory operands */
    uint8_t after;    /* bit i: it needs the result of micro-operation i of the same instruction, i
                         below its own index */
    uint8_t access;   /* HP_ACCESS_* of src/machine/memory.h. LOAD: READ, or 0: a prefetch; STORE:
                         WRITE. In-order cores access an operand that is both read and written once:
                         the LOAD has both, the STORE 0 */
    uint16_t latency; /* not of a LOAD */
    uint16_t busy;    /* cycles for which the unit is occupied: 1, or the latency (divisions) */
    uint32_t size;    /* LOAD and STORE: bytes, at least 1 */
    struct hp_regset reads,
        writes; /* registers read from outside the instruction; registers it produces */
};

enum {
    HP_STATIC_CONDITIONAL = 1 << 0, /* a transfer that may fall through */
    HP_STATIC_BACKWARD = 1 << 1,    /* a direct transfer, to an address at or below its own */
    HP_STATIC_TRANSFER = 1 << 2,    /* any control transfer, system calls and traps excluded */
    HP_STATIC_SERIAL = 1 << 3,      /* runs alone: HP_OP_SYSTEM, HP_OP_ATOMIC */
    HP_STATIC_FP =
        1 << 4, /* has a micro-operation on HP_UNIT_FP, FP_MUL or VECTOR: waits in the fp queue */
};

/* An instruction of the static code. */
struct hp_static {
    uint64_t address, end; /* end: after it */
    uint64_t target;       /* of a direct transfer, else 0 */
    uint32_t uops;         /* index of its first: hp_program_uops() */
    uint32_t block;        /* of the code map; HP_NO_ID: fetched on wrong paths only */
    uint8_t n_uops;
    uint16_t first_mem;             /* memory operands of earlier instructions of the piece */
    uint8_t n_mems;                 /* its own (hp_insn.mems) */
    uint8_t flow, op;               /* enum hp_flow, enum hp_op */
    uint8_t flags;                  /* HP_STATIC_* */
    uint8_t n_loads, n_stores;      /* micro-operations on HP_UNIT_LOAD, HP_UNIT_STORE */
    uint8_t int_writes, vec_writes; /* registers written, the flags not counted */
};

/* A straight run of static instructions: a block of the code map, or one found on a wrong path. */
struct hp_piece {
    uint32_t first, n; /* its instructions: ids first ... first + n - 1 */
    uint32_t block;    /* HP_NO_ID: of a wrong path */
    uint32_t n_mems;
};

struct hp_program;

/* Keeps `machine` and `code`. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_program_new(const struct hp_machine *machine, struct hp_code *code,
                                         struct hp_program **program);
void hp_program_free(struct hp_program *program);

/* The piece of a block of the code map; made on first use. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_program_block(struct hp_program *program, uint32_t block,
                                           uint32_t *piece);

/* Marks the block of a piece as fetched on the right path: from now on wrong paths find it. */
void hp_program_reach(struct hp_program *program, uint32_t piece);

/* The piece that starts at an address, for a wrong path: the block that was reached there (the
 * latest, where code changed), else the contents of the module's file there; at most HP_PIECE_MAX
 * instructions. HP_NO_ID: unknown (no file, not code, no memory). The result does not depend on how
 * much of the stream has been read ahead. */
#define HP_PIECE_MAX 64
uint32_t hp_program_at(struct hp_program *program, uint64_t address);

const struct hp_piece *hp_program_piece(const struct hp_program *program, uint32_t piece);
/* The whole arrays, valid until the next piece is made. */
const struct hp_static *hp_program_insns(const struct hp_program *program);
const struct hp_uop *hp_program_uops(const struct hp_program *program);
uint32_t hp_program_n_insns(const struct hp_program *program);
const struct hp_machine *hp_program_machine(const struct hp_program *program);
struct hp_code *hp_program_code(const struct hp_program *program);

/* The text of an instruction, always terminated ("(bad)" when unknown). */
void hp_program_text(struct hp_program *program, uint32_t insn, char *text, size_t size);
/* The same as if the instruction were at another address: targets in the text move with it. With
 * its offset in the module as the address, the text is independent of where that was loaded. */
void hp_program_text_at(struct hp_program *program, uint32_t insn, uint64_t address, char *text,
                        size_t size);

/* --- What became of an instruction ------------------------------------------------------------ */

enum {
    HP_TIMING_RETIRED = 1u << 0,
    HP_TIMING_WRONG_PATH = 1u << 1, /* aborted: fetched after a mispredicted branch */
    HP_TIMING_TRAPPED =
        1u << 2, /* aborted: a load that was too early, or a later instruction; fetched again */
    HP_TIMING_MEASURED = 1u << 3, /* fed as measured: hp_pipe_measure() */
    HP_TIMING_WINDOW = 1u << 4,   /* the first one measured after others that were not */
    HP_TIMING_L1I = 1u << 5,      /* misses */
    HP_TIMING_ITLB = 1u << 6,
    HP_TIMING_L1D = 1u << 7,
    HP_TIMING_DTLB = 1u << 8,
    HP_TIMING_TLB2 = 1u << 9,
    HP_TIMING_TAKEN = 1u << 10, /* a transfer that was (on a wrong path: was predicted) taken */
    HP_TIMING_MISPREDICTED = 1u << 11,
    HP_TIMING_BTB = 1u << 12,       /* a direct transfer whose target had to be decoded first */
    HP_TIMING_FORWARDED = 1u << 13, /* a load got its value from a store in flight */
    HP_TIMING_BLOCKED = 1u << 14,   /* a load waited for a store that has part of its value, or
                                       because it was too early before */
    HP_TIMING_MERGED = 1u << 15,    /* a load's line was already on its way */
    /* Mapping was delayed because there was no free ... */
    HP_TIMING_NO_REORDER = 1u << 16,
    HP_TIMING_NO_QUEUE = 1u << 17,
    HP_TIMING_NO_MEMORY_QUEUE = 1u << 18,
    HP_TIMING_NO_REGISTER = 1u << 19,
    HP_TIMING_SERIAL = 1u << 20, /* mapping was delayed by an instruction that runs alone */
    HP_TIMING_UNIT_BUSY =
        1u << 21, /* a micro-operation was ready but not issued: no unit or issue slot */
    HP_TIMING_QUEUE_STALL = 1u << 22, /* the branch queue was full when it could have retired */
};

/* Where data, or an instruction, came from. */
enum hp_source_level {
    HP_FROM_NOWHERE, /* no access */
    HP_FROM_L1,
    HP_FROM_L2,
    HP_FROM_L3,
    HP_FROM_MEMORY,
};

#define HP_NEVER UINT32_MAX

struct hp_timing {
    uint64_t fetched; /* cycle. The others are cycles after it; HP_NEVER: never reached */
    uint32_t mapped;
    uint32_t ready;    /* operands of the micro-operation issued first */
    uint32_t issued;   /* the first */
    uint32_t done;     /* the last one completed: ready to retire */
    uint32_t left;     /* retired, or aborted */
    uint32_t loaded;   /* its last load completed; HP_NEVER: it does not load */
    uint32_t waited;   /* cycles between issued and done in which none of its micro-operations was
                          executing */
    uint32_t insn;     /* static id: hp_program_insns() */
    uint32_t producer; /* static id of the instruction whose result it waited for longest; HP_NO_ID:
                          none */
    uint32_t history;  /* directions of the last 32 conditional branches before it, as fetched; the
                          latest is bit 0 */
    uint64_t address;  /* its first memory operand's (on a wrong path: as assumed); of an indirect
                          transfer without one: its target; else 0 */
    uint32_t events;   /* HP_TIMING_* */
    uint8_t slot;      /* 0 ... width - 1: place in the cycle's fetch */
    uint8_t data_from, code_from; /* enum hp_source_level: the farthest; code_from: NOWHERE when its
                                     line had been fetched already */
    uint8_t unit; /* enum hp_unit_kind of the micro-operation that completed last; HP_UNITS: it has
                     none */
};

/* --- The core --------------------------------------------------------------------------------- */

struct hp_pipe;

struct hp_pipe_config {
    /* Receives the timings, in the order of fetch, many at a time. NULL: none. */
    void (*timings)(void *context, const struct hp_timing *timings, size_t n);
    void *context;
    /* A profiler fed by a queue (docs/pipeline.md, "The branch queue"); queue < 0: none. */
    int queue;
    /* Receives the events that each fed block, tails included, caused (HP_METRIC_*; POWER_CYCLE in
     * real cycles: docs/machine.md), in the order of feeding, many at a time, after they have
     * retired. NULL: not wanted, which is faster. */
    void (*blocks)(void *context, const uint32_t *blocks, const struct hp_events *events, size_t n);
    bool no_wrong_path; /* after a misprediction nothing is fetched until the redirect */
};

/* Uses the caches and predictors of `core`; hp_core_batch() may use them too while the pipe is
 * empty. Keeps all pointers. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_pipe_new(struct hp_program *program, struct hp_core *core,
                                      const struct hp_pipe_config *config, struct hp_pipe **pipe);
void hp_pipe_free(struct hp_pipe *pipe);

/* Runs the first n blocks of the batch as far as their cycles are determined. The rest is kept and
 * run later, so batch boundaries do not affect the result. `costs`: with a branch queue, cycles
 * that the profiler takes for the branch of blocks[i]; NULL: none. HP_ERR_NOMEM.  */
HP_MUST_CHECK enum hp_err hp_pipe_batch(struct hp_pipe *pipe, const struct hp_batch *batch,
                                        const uint16_t *costs);

/* The block of an HP_EVENT_TAIL. The next block does not follow from it. */
HP_MUST_CHECK enum hp_err hp_pipe_tail(struct hp_pipe *pipe, const struct hp_event *tail);

/* The next block does not follow from the previous one: it is fetched when that has retired. */
HP_MUST_CHECK enum hp_err hp_pipe_break(struct hp_pipe *pipe);

/* The same for an interrupt: the block is fetched so many cycles later, which its handler takes. */
HP_MUST_CHECK enum hp_err hp_pipe_interrupt(struct hp_pipe *pipe, uint32_t cycles);

/* Whether blocks fed from now on are measured; initially they are. */
void hp_pipe_measure(struct hp_pipe *pipe, bool measured);

/* Runs until nothing is in flight, and delivers all timings. Implies hp_pipe_break(). */
HP_MUST_CHECK enum hp_err hp_pipe_drain(struct hp_pipe *pipe);

struct hp_pipe_stats {
    uint64_t cycles;
    uint64_t fetched, retired, aborted, wrong_path,
        trapped;   /* instructions; aborted: the last two */
    uint64_t uops; /* issued */
    uint64_t traps, forwards;
    uint64_t queue_stalls; /* cycles in which the full branch queue stopped retirement */
};
const struct hp_pipe_stats *hp_pipe_stats(const struct hp_pipe *pipe);

/* Events by metric (not HP_METRIC_EXECUTIONS): all of them, and those of aborted instructions,
 * which belong to no block. After hp_pipe_drain(), all is the sum of the blocks' events and
 * aborted. NULL without hp_pipe_config.blocks. */
struct hp_pipe_caused {
    uint64_t all[HP_METRICS], aborted[HP_METRICS];
};
const struct hp_pipe_caused *hp_pipe_caused(const struct hp_pipe *pipe);

#ifdef __cplusplus
}
#endif
#endif
