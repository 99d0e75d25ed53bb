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
#define MEMORY_INSNS 96 /* in a block, in memory mode: a segment must always fit its room */

/* What code does first: which registers it overwrites before it reads them, as long as it can
 * neither fault nor transfer control, and whether it overwrites all flags before it reads any. */
struct hp_head {
    bool may_fault;
    uint16_t reads, dead;
    bool flags_known, flags_dead;
};

/* Where a way out of a node leads, and the path that ends there (0: none does). */
struct hp_way {
    struct hp_path_node node;
    uint32_t path;
    bool calls; /* it is a call */
};

/* A constant after the code, and its reader. */
struct constant {
    uint8_t *disp;
    uint64_t behind; /* address to which the displacement is relative */
    uint64_t value;
};

/* A jump within an rseq section. */
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
    const struct hp_run_plan *plan; /* NULL: none */

    /* The source of the current piece. */
    const uint8_t *bytes; /* of the instruction at `pc` */
    uint64_t pc;
    uint64_t high; /* where readable code ends */
    struct hp_x86 insn;
    struct hp_cached_piece *piece; /* NULL when retranslating */
    uint32_t module;
    uint64_t unguarded;  /* source from here on is writable while it is read */
    uint64_t guarded[2]; /* of the segment, from and to: writable source */
    uint32_t id;         /* of the run before this piece */
    unsigned insns;      /* in this piece so far */
    unsigned pieces;     /* before this one */
    unsigned entries;    /* of them those that are entries of a PLT */
    unsigned total;      /* instructions in the segment */
    bool noted;          /* the end of this piece has been recorded */
    struct hp_head end;  /* what is known about the code after this piece */

    struct constant constants[2 * HP_PIECES_MAX + 1];
    unsigned n_constants;

    /* An rseq section, which must be translated as a unit. */
    uint32_t section;     /* its number, 0: none */
    uint64_t section_end; /* in the program */
    struct hp_rseq_cs *slot;
    uint64_t slot_start, slot_end;    /* in the translation */
    bool unfit;                       /* it cannot be translated */
    struct fix fixes[HP_SECTION_MAX]; /* jumps to labels, and the labels' places */
    unsigned n_fixes;
    uint64_t label_at[HP_LABELS_MAX];

    /* Return addresses of the calls in the segment. */
    uint64_t returns[HP_PIECES_MAX];
    unsigned n_returns;

    /* A node: see translate_paths.c. */
    struct hp_path_node node;                 /* at which the piece is */
    uint32_t prefix;                          /* the path up to it and including it */
    unsigned round;                           /* of the loop that the segment is */
    struct hp_way way;                        /* of the next exit */
    bool pushed;                              /* its end is a call, which is on the shadow stack */
    struct hp_path_node calls[HP_PIECES_MAX]; /* where `returns` go on */

    /* What runs in any case: up to a conditional jump. */
    bool in_head;
    struct hp_head head;
    struct hp_mapped_place place; /* of the current piece */

    /* Memory mode: see translate_memory.c. */
    int addresses;       /* of complete instructions, beyond HP_AT_ADDRESS */
    int recorded;        /* of the latest instruction, beyond HP_AT_ADDRESS */
    uint64_t held_until; /* two registers are reserved for the instructions before this; 0: none */
    uint8_t held[2];     /* for an address, and for where it is stored */

    /* Retranslation. */
    bool again, found;
    bool all_clean; /* `last` holds for every byte up to the next mark */
    uint64_t wanted, marked;
    struct hp_spot *spot, last;
};

/* --- Watching --------------------------------------------------------------------------------- */

/* From here on the code represents this state. */
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

/* In this string instruction rsi includes the program's GS base: see hp_spot. */
static inline void mark_biased(struct work *w, uint8_t saved)
{
    mark(w, true, false, saved, NOT_SAVED);
    w->last.biased = w->again && !w->found;
}

/* From here to the next mark the code only records, with these registers saved: the thread can be
 * stopped anywhere. */
static inline void mark_recording(struct work *w, uint8_t first, uint8_t second)
{
    mark(w, true, false, first, second);
    w->all_clean = w->again && !w->found;
}

/* --- The source (translate.c) ----------------------------------------------------------------- */

/* Whether an instruction must be left to the processor: it cannot be copied. */
bool hp_work_is_foreign(const struct hp_x86 *insn);

/* Decodes the instruction at `pc`, with its bytes at `bytes`, so that it stays the same until the
 * piece is described. There is at least one byte. */
void hp_work_decode(struct work *w, uint64_t pc, const uint8_t *bytes, struct hp_x86 *insn);

/* Sets the source of the next piece to `pc`. False when there is no code. */
bool hp_work_begin(struct work *w, uint64_t pc);

/* Emits instructions up to the one that ends the block, which is left in w->insn and not emitted.
 * False when no more could be read, or there is no room. */
bool hp_work_straight(struct work *w);

/* The piece is complete: gives it its id in the stream. False when the code map is full. */
bool hp_work_describe(struct work *w, uint64_t end);

/* What both of the places do first, as far as this piece may rely on it (`other` may be the
 * same). */
struct hp_head hp_work_ahead(const struct work *w, uint64_t pc, uint64_t other);

/* Whether the segment should continue with the code at `next`, which follows `w->insn`. */
bool hp_work_goes_on(const struct work *w, uint64_t next);

/* --- Nodes (translate_paths.c) ---------------------------------------------------------------- */

/* The piece, a block, has its id in the stream: gives it its prefix. False: there is no room. */
bool hp_node_describe(struct work *w);

/* The node is one to which a call returns: emits what its return place leads to, before its code.
 */
void hp_node_entrance(struct work *w, uint64_t pc);

/* Whether a block that ends with this kind of instruction can be part of a node. */
bool hp_node_takes(unsigned kind);

/* Emits the transfer that ends a piece; true when the segment continues at `*next`. */
bool hp_node_end(struct work *w, uint64_t *next);

/* --- Sections of rseq (translate_section.c) --------------------------------------------------- */

/* Checks whether a section starts at `pc` (then w->section is set). False: it does, but cannot be
 * translated. */
bool hp_section_begin(struct work *w, uint64_t pc, const char **why);

/* Makes the section's pieces; again, for hp_locate(). */
void hp_section_make(struct work *w, const char **why);
void hp_section_again(struct work *w);

/* How far a piece at `pc` may extend. */
uint64_t hp_section_stop(const struct work *w, uint64_t pc);

/* Whether w->insn is allowed in a section: it is translated without additions. */
bool hp_section_takes(const struct work *w);

/* --- Copying (translate_copy.c) --------------------------------------------------------------- */

/* Emits w->insn, with its address-dependent parts rewritten. */
void hp_emit_copy(struct work *w);

/* RDGSBASE, WRGSBASE: the program's GS is in the thread's block. */
void hp_emit_gs_base(struct work *w);

/* reg := the address of the memory operand, without its segment. */
void hp_emit_address(struct work *w, unsigned reg);

/* --- Exits (translate_exits.c) ---------------------------------------------------------------- */

/* Finds out what may be used at the end of this piece, which leads to one of the two places:
 * w->end.
 */
void hp_exit_learn(struct work *w, uint64_t target, uint64_t other);

/* Parts of indirect transfers: rcx := the operand; RET n drops its n bytes; goes where HP_AT_TARGET
 * says, with rcx saved (`in_rcx`: that is still in rcx); notes the exit in HP_AT_EXIT and returns
 * its number; goes to a gate if the transfer is not as expected. */
void hp_exit_load_target(struct work *w);
void hp_exit_drop(struct work *w);
void hp_exit_lookup(struct work *w, bool in_rcx);
uint32_t hp_exit_set(struct work *w);
void hp_exit_to_gate(struct work *w, int gate);

/* The segment ends with this piece, and all ways out of it lead to one of the two places: records
 * it here if that can be done once for all. */
void hp_exit_record(struct work *w, uint64_t target, uint64_t other);

/* Jumps to another segment: always, when the condition of w->insn holds (`taken`) or not, or as
 * LOOP and its kind say. `taken` is what the stream counts. `last`: no other way out follows. */
void hp_exit_jump(struct work *w, uint64_t target, bool taken);
void hp_exit_last(struct work *w, uint64_t target, bool taken);
void hp_exit_cond(struct work *w, uint64_t target, bool taken);
void hp_exit_counted(struct work *w, uint64_t target);

/* Count mode: counts that the segment goes on at `next`, behind the piece, where a run of blocks
 * with ids of its own begins. */
void hp_exit_break(struct work *w, uint64_t next);

/* Pushes the program's return address. */
void hp_exit_push_return(struct work *w);

/* Indirect jumps and calls, returns; one that is expected to go to `expected`, where the segment
 * continues. */
void hp_exit_indirect(struct work *w);
void hp_exit_return(struct work *w);
void hp_exit_expected(struct work *w, uint64_t expected);

/* The same where the segment does not continue: it is left for `expected` without a look-up. */
void hp_exit_expected_last(struct work *w, uint64_t expected);

/* Its check alone, with w->end known. rcx is saved, and lost. */
void hp_exit_check(struct work *w, uint64_t expected);

/* Leaves for C; does not return. */
void hp_exit_gate(struct work *w, int gate, uint64_t target);

/* --- Slots (translate_slots.c) ---------------------------------------------------------------- */

/* Where w->insn, an indirect jump or call, is expected to go, because it goes through a slot; 0:
 * unknown. If the slot is not bound yet, the piece waits for it. */
uint64_t hp_slot_target(struct work *w);
bool hp_slot_waits(const struct work *w);

/* Whether an entry of a PLT is at `pc`. */
bool hp_slot_is_entry(uint64_t pc);

/* --- Addresses (translate_memory.c) ----------------------------------------------------------- */

/* w->insn is next: emits the recording of its addresses, and marks its start. */
void hp_memory_insn(struct work *w);

/* The piece ends here or, `with_insn`, after w->insn, which was announced: the recorded addresses
 * count, and all registers are the program's again. */
void hp_memory_end(struct work *w, bool with_insn);

/* A new piece begins. */
void hp_memory_begin(struct work *w);

#endif
