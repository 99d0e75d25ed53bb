// SPDX-License-Identifier: MIT
/*
 * Inside the translator: what its files share.
 */
#ifndef HP_NATIVE_TRANSLATE_IMPL_H
#define HP_NATIVE_TRANSLATE_IMPL_H

#include "engine/native/inner/cache.h"
#include "engine/native/inner/decode.h"
#include "engine/native/inner/emit.h"
#include "engine/native/inner/rseq.h"

#define NOT_SAVED    0xff
#define MEMORY_INSNS 96 /* in a block, in memory mode: the room for a segment must always do */

/* A constant behind the code, and who reads it. */
struct constant {
    uint8_t *disp;
    uint64_t behind; /* address from which the displacement counts */
    uint64_t value;
};

/* A jump within a section of rseq. */
struct fix {
    uint8_t *disp;
    uint64_t behind;
    uint8_t label;
};

struct work {
    struct hp_self *self;
    struct hp_area *area;
    struct hp_emit e;
    uint64_t limit; /* e.at must stay below */
    uint32_t segment;

    /* The source: of the piece being made. */
    const uint8_t *bytes; /* of the instruction at `pc` */
    uint64_t pc;
    uint64_t high; /* where readable code ends */
    struct hp_x86 insn;
    struct hp_cached_piece *piece; /* NULL when translating again */
    uint32_t module;
    uint64_t unguarded;  /* source from here on could be written while it is read */
    uint64_t guarded[2]; /* of the segment, from and to: source that could be written */
    uint32_t id;         /* of the run before this piece */
    unsigned insns;      /* in this piece so far */
    unsigned pieces;     /* before this one */
    unsigned total;      /* instructions in all */

    struct constant constants[HP_PIECES_MAX + 1];
    unsigned n_constants;

    /* A section of rseq, which has to be one piece. */
    uint32_t section;     /* its number, 0: none */
    uint64_t section_end; /* in the program */
    struct hp_rseq_cs *slot;
    uint64_t slot_start, slot_end;    /* in the translation */
    bool unfit;                       /* it cannot be done */
    struct fix fixes[HP_SECTION_MAX]; /* jumps to labels, and where those are */
    unsigned n_fixes;
    uint64_t label_at[HP_LABELS_MAX];

    /* Calls in the segment: where they return to. */
    uint64_t returns[HP_PIECES_MAX];
    unsigned n_returns;

    /* What is done first, whatever happens: up to a conditional jump. */
    bool head, may_fault;
    uint16_t head_reads, dead;
    bool flags_known, flags_dead;

    /* Memory mode: see translate_memory.c. */
    int addresses;       /* of complete instructions, beyond what HP_AT_ADDRESS says */
    int recorded;        /* of the latest instruction, likewise */
    uint64_t held_until; /* two registers are held for instructions before this; 0: none */
    uint8_t held[2];     /* for an address, and for where it goes */

    /* Translating again. */
    bool again, found;
    bool all_clean; /* `last` holds for every byte up to the next mark */
    uint64_t wanted, marked;
    struct hp_spot *spot, last;
};

/* --- Watching / ------------------------------------------------------------------------------- */

/* From here on the code stands for this state. */
static inline void mark(struct work *w, bool clean, bool rcx_saved, uint8_t first, uint8_t second)
{
    if (!w->again || w->found)
        return;
    if (w->e.at > w->wanted) {
        *w->spot = w->last;
        w->spot->clean = w->last.clean && (w->all_clean || w->marked == w->wanted);
        w->found = true;
        return;
    }
    w->marked = w->e.at;
    w->all_clean = false;
    w->last = (struct hp_spot){.pc = w->pc,
                               .piece = w->pieces,
                               .insns = w->insns,
                               .addresses = w->addresses,
                               .clean = clean,
                               .saved = {first, second},
                               .rcx_saved = rcx_saved};
}

static inline void mark_clean(struct work *w)
{
    mark(w, true, false, NOT_SAVED, NOT_SAVED);
}

/* The string instruction here has the program's GS base in rsi: see hp_spot. */
static inline void mark_biased(struct work *w, uint8_t saved)
{
    mark(w, true, false, saved, NOT_SAVED);
    w->last.biased = w->again && !w->found;
}

/* From here up to the next mark nothing is done but recording, with these registers saved: the
 * thread can be stopped anywhere. */
static inline void mark_recording(struct work *w, uint8_t first, uint8_t second)
{
    mark(w, true, false, first, second);
    w->all_clean = w->again && !w->found;
}

/* --- The source (translate.c) / --------------------------------------------------------------- */

/* Whether an instruction has to be left to the processor: it cannot be copied. */
bool hp_work_is_foreign(const struct hp_x86 *insn);

/* Decodes the instruction at `pc`, whose bytes are at `bytes`, so that it stays what it is until
 * the piece is described. There is at least one byte. */
void hp_work_decode(struct work *w, uint64_t pc, const uint8_t *bytes, struct hp_x86 *insn);

/* The source of the next piece is at `pc`. False when there is no code. */
bool hp_work_begin(struct work *w, uint64_t pc);

/* Instructions up to one that ends the block, which is left in w->insn and not emitted. False when
 * no more could be read, or there is no more room. */
bool hp_work_straight(struct work *w);

/* The piece is complete: gives it its id in the stream. False when the code map is full. */
bool hp_work_describe(struct work *w, uint64_t end);

/* --- Sections of rseq (translate_section.c) / ------------------------------------------------- */

/* Looks whether a section is at `pc` (then w->section is set). False: there is one that cannot be
 * translated. */
bool hp_section_begin(struct work *w, uint64_t pc, const char **why);

/* Makes the section's pieces; again, for hp_locate(). */
void hp_section_make(struct work *w, const char **why);
void hp_section_again(struct work *w);

/* How far a piece at `pc` may go. */
uint64_t hp_section_stop(const struct work *w, uint64_t pc);

/* Whether w->insn can be in a section: nothing is added to what the program does. */
bool hp_section_takes(const struct work *w);

/* --- Copying (translate_copy.c) / ------------------------------------------------------------- */

/* w->insn, with what depends on its address rewritten. */
void hp_emit_copy(struct work *w);

/* RDGSBASE, WRGSBASE: the program's GS is in the thread's block. */
void hp_emit_gs_base(struct work *w);

/* reg := the address of the memory operand, without its segment. */
void hp_emit_address(struct work *w, unsigned reg);

/* --- Exits (translate_exits.c) / -------------------------------------------------------------- */

/* Jumps to another segment: always, when the condition of w->insn holds (`taken`) or does not, or
 * as LOOP and its like say. `taken` is what the stream counts. */
void hp_exit_jump(struct work *w, uint64_t target, bool taken);
void hp_exit_cond(struct work *w, uint64_t target, bool taken);
void hp_exit_counted(struct work *w, uint64_t target);

/* The program's return address goes to the stack. */
void hp_exit_push_return(struct work *w);

/* Indirect jumps and calls, returns; a return that is expected to go to `expected`, where the
 * segment goes on. */
void hp_exit_indirect(struct work *w);
void hp_exit_return(struct work *w);
void hp_exit_expected_return(struct work *w, uint64_t expected);

/* Into C, for good. */
void hp_exit_gate(struct work *w, int gate, uint64_t target);

/* --- Addresses (translate_memory.c) / --------------------------------------------------------- */

/* w->insn is next: emits what records its addresses, and marks its beginning. */
void hp_memory_insn(struct work *w);

/* The piece ends here or, `with_insn`, with w->insn, which was announced: what was recorded counts,
 * and all registers are the program's again. */
void hp_memory_end(struct work *w, bool with_insn);

/* A new piece begins. */
void hp_memory_begin(struct work *w);

#endif
