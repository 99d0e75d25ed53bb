// SPDX-License-Identifier: MIT
/*
 * The code map: which code was executed. An append-only table of modules, blocks and segments.
 *
 * A *module* is a file mapped into the program (or a region of generated code). A *block* is a
 * straight run of instructions: it starts where control arrived and ends with the first instruction
 * that is not HP_FLOW_NONE, or after HP_BLOCK_MAX_INSNS instructions. So a block is determined by
 * its start address and the code there, whichever engine saw it; blocks may overlap (a jump into
 * the middle of a block starts another one with the same end).
 *
 * A *segment* is what an engine reports with one word: one block, a straight run of several blocks,
 * or an unfinished piece of a block ("open": it ends without a control transfer because the
 * engine's translator stopped there). A run is given block by block: each of its segments is the
 * previous segment (its *parent*) plus one block, so every place where a run can be left has an id.
 * Cursors (stream.h) turn segments into blocks; profilers see blocks.
 *
 * Ids are small integers in order of appearance and stay valid for the life of the map. Pointers
 * into the tables are valid until the next segment is added.
 */
#ifndef HOTPATH_CODE_H
#define HOTPATH_CODE_H

#include "hotpath/error.h"
#include "hotpath/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HP_BLOCK_MAX_INSNS 4096
#define HP_SEGMENTS_MAX    (1u << 26) /* segment ids are below this */
#define HP_RUN_MAX         64         /* blocks in a segment */
#define HP_NO_ID           UINT32_MAX

struct hp_module {
    const char *path;     /* file; "[anon]" for code in no file, "[vdso]"; never NULL */
    const char *build_id; /* lower-case hex, "" when there is none */
    uint64_t base;        /* run-time address of the module's offset 0: address = base + offset */
    uint64_t low, high;   /* run-time address range in which it was seen */
};

enum {
    HP_BLOCK_CONDITIONAL = 1 << 0, /* the end may fall through as well as be taken */
    HP_BLOCK_SPLIT = 1 << 1,       /* ended by HP_BLOCK_MAX_INSNS, not by a transfer */
    HP_BLOCK_THUMB = 1 << 2,       /* ARM: Thumb code */
    HP_BLOCK_HANDLER = 1 << 3,     /* starts at the address of an installed signal handler */
};

struct hp_block {
    uint64_t start;  /* address of the first instruction */
    uint64_t last;   /* address of the instruction that ends it: the branch */
    uint64_t end;    /* address after that: where it falls through to */
    uint64_t target; /* of a direct transfer, else 0 */
    uint32_t insns;  /* instructions in it; REP forms count once */
    uint32_t module; /* id; HP_NO_ID never occurs */
    uint32_t code;   /* where its bytes start: see hp_code_bytes() */
    uint8_t flow;    /* enum hp_flow of the last instruction */
    uint8_t flags;   /* HP_BLOCK_* */
    uint16_t reserved;
};

/* Whether a segment is the beginning of a trace: a path that the engine has predicted. */
enum hp_in_trace { HP_TRACE_NOT, HP_TRACE_BEGINNING, HP_TRACE_WHOLE };

/* An engine's description of a segment, given once, before the first word that names it. */
struct hp_segment {
    uint64_t start;
    uint32_t module;      /* id from hp_code_add_module() */
    uint32_t parent;      /* id; not 0: this code follows that segment without a break */
    uint8_t mode;         /* enum hp_isa_mode */
    uint8_t trace;        /* enum hp_in_trace */
    uint32_t size;        /* of its own code, bytes */
    const uint8_t *bytes; /* its own code; copied */
};

struct hp_code; /* opaque; see the accessors */

HP_MUST_CHECK enum hp_err hp_code_new(enum hp_arch arch, struct hp_code **code);
void hp_code_free(struct hp_code *code);

enum hp_arch hp_code_arch(const struct hp_code *code);

/*
 * Adds a module, or finds the one with the same path, build id and base (its range is widened).
 * Strings are copied. `low` and `high` bound where its code may lie.
 */
HP_MUST_CHECK enum hp_err hp_code_add_module(struct hp_code *code, const struct hp_module *module,
                                             uint32_t *id);
uint32_t hp_code_n_modules(const struct hp_code *code);
const struct hp_module *hp_code_module(const struct hp_code *code, uint32_t id);

/*
 * Defines segment `id` (1 ... HP_SEGMENTS_MAX - 1; any order, but the map takes room for every id
 * below the highest). HP_ERR_INVALID: id out of range or defined before, no such module, no code.
 * HP_ERR_FORMAT: the bytes do not decode to a piece of straight-line code that ends at its first
 * control transfer or earlier; or the parent is not defined, is an open piece, has HP_RUN_MAX
 * blocks already, or cannot lead here (it falls through or has a direct target elsewhere; an
 * indirect transfer or a return leads anywhere).
 */
HP_MUST_CHECK enum hp_err hp_code_add_segment(struct hp_code *code, uint32_t id,
                                              const struct hp_segment *segment);

/* The segment as it was added (bytes point into the map), or HP_ERR_NOTFOUND. */
HP_MUST_CHECK enum hp_err hp_code_segment(const struct hp_code *code, uint32_t id,
                                          struct hp_segment *segment);
/* Whether it is defined. */
bool hp_code_has_segment(const struct hp_code *code, uint32_t id);

/* The block of a segment that is exactly one whole block; HP_NO_ID: it is not, or not defined. */
uint32_t hp_code_segment_block(const struct hp_code *code, uint32_t id);

/* One more than the largest segment id defined. */
uint32_t hp_code_segment_limit(const struct hp_code *code);

uint32_t hp_code_n_blocks(const struct hp_code *code);
const struct hp_block *hp_code_block(const struct hp_code *code, uint32_t id);

/* The block that was the latest with the same start when this one was added, or HP_NO_ID. */
uint32_t hp_code_block_before(const struct hp_code *code, uint32_t id);

/* All blocks, for loops: valid until the next segment or block is added. */
const struct hp_block *hp_code_blocks(const struct hp_code *code);

/*
 * Units: code that is executed, and can be counted, as a whole. Each block is one; so is each
 * segment of several blocks. Ids are in order of appearance.
 */
uint32_t hp_code_n_units(const struct hp_code *code);
uint32_t hp_code_unit_of_block(const struct hp_code *code, uint32_t block);

/* The blocks of a unit: `*n` ids, in order of execution; valid like the tables. */
const uint32_t *hp_code_unit(const struct hp_code *code, uint32_t unit, uint32_t *n);

/* The code of a block: `block->end - block->start` bytes, valid like the tables. */
const uint8_t *hp_code_bytes(const struct hp_code *code, const struct hp_block *block);

/*
 * The instructions of a block, `block->insns` of them, decoded in full on first use and kept. To
 * iterate over executed instructions, iterate over batches and call this for each block. Valid as
 * long as the map. An instruction that does not decode is HP_OP_SYSTEM. HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_code_insns(struct hp_code *code, uint32_t block,
                                        const struct hp_insn **insns);

/* Records a signal handler at `address`: blocks there, present and future, get HP_BLOCK_HANDLER. */
HP_MUST_CHECK enum hp_err hp_code_add_handler(struct hp_code *code, uint64_t address);

/* For who reads the map in another thread: calls prepare(context) before anything that the
 * functions above show changes; but hp_code_insns() can be called only in the thread that changes
 * the map. `prepare` NULL: no longer. false: somebody else has asked for it. */
bool hp_code_before_change(struct hp_code *code, void (*prepare)(void *context), void *context);

/* Which source lines are wanted. Reading debug information can take longer than the run. */
enum hp_line_detail {
    HP_LINES_ALL,       /* of every instruction */
    HP_LINES_FUNCTIONS, /* where functions begin */
    HP_LINES_NONE,
};

#ifdef __cplusplus
}
#endif
#endif
