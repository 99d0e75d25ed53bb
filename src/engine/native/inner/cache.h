// SPDX-License-Identifier: MIT
/*
 * The code cache: translated segments, where they are, and how they are joined. All of it under the
 * lock; only translated code itself runs without.
 *
 * A *segment* is a straight run of blocks with one entrance. Each block of it is a *piece*: its
 * source and the stream id of the run up to it. Its *exits* lead to other segments: an exit is a
 * jump (or conditional jump) whose displacement is patched when its target is known.
 *
 * Indirect transfers find segments by *landings* (landings.h).
 *
 * Code lies in *areas*, each within reach (2 GiB) of the program code it was made from. In an area
 * segments grow upwards, everything small (stubs of exits, landings) downwards from the end.
 */
#ifndef HP_NATIVE_CACHE_H
#define HP_NATIVE_CACHE_H

#include "engine/native/inner/emit.h"
#include "engine/native/inner/inner.h"

#define HP_PIECES_MAX  16 /* blocks in a segment */
#define HP_SECTION_MAX 48 /* in one that has to be one piece (rseq.h) */

struct hp_cached_piece {
    uint64_t start;
    uint32_t size;     /* of the source, bytes */
    uint32_t id;       /* in the stream */
    uint32_t segment;  /* it is part of */
    uint32_t next;     /* piece of the same page, 0: none */
    uint32_t next_too; /* likewise for the second page it touches */
    uint16_t insns;
    uint8_t taken; /* how the segment goes on behind it: 1 to the branch's target */
    uint8_t first; /* of a run with an id of its own (in a section of rseq) */
};

struct hp_seg {
    uint64_t start;
    uint8_t *code;
    uint8_t *landing; /* NULL: none */
    uint32_t code_size;
    uint32_t first_piece, n_pieces;
    uint32_t incoming;     /* exits that lead here: a list */
    uint32_t next_landing; /* segment: chain of the same entry */
    uint32_t next_hash;
    uint16_t dead;    /* registers that are overwritten before they are read */
    bool flags_dead;  /* likewise */
    bool gone;        /* its source changed or went away */
    uint16_t section; /* of rseq, which it is the translation of; 0: none */
};

struct hp_exit {
    uint64_t target;  /* in the program */
    uint8_t *patch;   /* displacement to change */
    uint8_t *stub;    /* where it leads when it is not linked */
    uint32_t segment; /* it belongs to */
    uint32_t id;      /* of the run up to it */
    uint32_t to;      /* segment it leads to, 0: none */
    uint32_t next;    /* exit that leads to the same segment */
    uint8_t taken;
};

struct hp_area {
    uint8_t *low, *high; /* all of it, where it is executed */
    int64_t view;        /* from there to where it is written */
    uint8_t *code;       /* next segment */
    uint8_t *small;      /* the last small thing */
    uint8_t *gates;      /* jumps to the gates, for want of reach */
    uint32_t *segments;  /* in it, in the order of their code */
    uint32_t n_segments;
};

enum { HP_GATE_EXIT, HP_GATE_SYSCALL, HP_GATE_FAR, HP_GATE_INT80, HP_GATE_X87, HP_GATE_COUNT };

extern struct hp_area hp_areas[];
extern unsigned hp_n_areas;
extern struct hp_seg *hp_segs;
extern struct hp_exit *hp_exits;
extern struct hp_cached_piece *hp_pieces;

static inline const struct hp_cached_piece *hp_last_piece(uint32_t segment)
{
    return &hp_pieces[hp_segs[segment].first_piece + hp_segs[segment].n_pieces - 1];
}

void hp_cache_start(void);

/* The segment that starts at `pc`, translating it if need be (`land`: see hp_translate); 0 when
 * there is no code there or (see `*why`) it cannot be translated. */
uint32_t hp_cache_get(struct hp_self *self, uint64_t pc, bool land, const char **why);

/* The same, only if it is there. */
uint32_t hp_cache_find(uint64_t pc);

/* For the translator: room for `code` bytes of code and `small` bytes of small things in an area
 * that reaches `pc`; NULL when the cache is full (it is flushed by hp_cache_get). */
struct hp_area *hp_cache_room(uint64_t pc, uint32_t code, uint32_t small);

/* The gate's address within the area. */
uint8_t *hp_cache_gate(const struct hp_area *area, int gate);

uint32_t hp_cache_new_segment(void); /* 0: no room; likewise below */
uint32_t hp_cache_new_exit(void);
uint32_t hp_cache_new_piece(void);

/* The segment is finished: it can be found. */
void hp_cache_publish(uint32_t segment, struct hp_area *area);

/* Joins an exit to the segment it leads to. */
void hp_cache_link(uint32_t exit, uint32_t segment);

/* Room for something small within reach of `address`; NULL: none. */
uint8_t *hp_cache_small(uint64_t address, uint32_t size);

/* Where code at this place is written. */
uint8_t *hp_cache_writable(uint8_t *code);

/* Makes the jump whose displacement is at `at` lead to `to`. Threads may be running there: the
 * displacement lies in one cache line. */
void hp_cache_patch(uint8_t *at, const uint8_t *to);

/* Whether an address is in the cache, and in which segment's code; 0: in a stub or landing. */
bool hp_cache_has(uint64_t address);
/* An address in the code of a segment of which the lower half is this; 0: there is none. */
uint64_t hp_cache_with_low(uint32_t low);
uint32_t hp_cache_segment_at(uint64_t address);

/* Makes all translations of [low, high) unreachable. Returns how many. */
uint32_t hp_cache_invalidate(uint64_t low, uint64_t high);

/* Bytes of code and small things in all areas. */
uint64_t hp_cache_used(void);
/* Bytes of the tables that go with it. */
uint64_t hp_cache_tables_used(void);

/* Forgets everything. All other threads are out. */
void hp_cache_flush(void);
extern _Atomic uint64_t hp_cache_flushes; /* of this process */

/* A process is about to be forked: makes a copy of the cache for it, if it would be shared. The
 * child takes it, and runs nothing from the cache before. With the lock held. */
enum { HP_NO_COPY = -1, HP_COPY_FAILED = -2 };
int hp_cache_copy(void); /* a descriptor, or one of these */
bool hp_cache_take_copy(int fd);

/* --- Memory for code (areas.c) ---------------------------------------------------------------- */

extern bool hp_areas_twice; /* areas are mapped twice, see areas.c */
/* Memory for an area within reach of `pc`; false: none. */
bool hp_area_map(struct hp_area *area, uint64_t pc, uint64_t size);
void hp_area_unmap(struct hp_area *area);
int hp_areas_copy(const struct hp_area *areas, unsigned n);
bool hp_areas_take_copy(const struct hp_area *areas, unsigned n, int fd);

/* Code will be written that is executed at `place`. */
static inline struct hp_emit hp_area_emit(const struct hp_area *area, uint8_t *place)
{
    return (struct hp_emit){place + area->view, (uint64_t)(uintptr_t)place};
}

/* --- The translator (translate.c) ------------------------------------------------------------- */

/* Translates the code at `pc`; with `land` it gets a landing at once. 0: there is no code (`*why`
 * is NULL), or it cannot be translated. */
uint32_t hp_translate(struct hp_self *self, uint64_t pc, bool land, const char **why);

/* What an address in a segment's code stands for. */
struct hp_spot {
    uint64_t pc;       /* of the program's instruction that is being run, or is next */
    uint32_t piece;    /* 0 ... n_pieces - 1 */
    uint32_t insns;    /* of the piece that are complete */
    int32_t addresses; /* of them, beyond what HP_AT_ADDRESS says (memory mode) */
    bool clean;        /* nothing of the instruction was done, and registers are the program's but
                         for those that are saved */
    uint8_t saved[2];  /* registers whose values are in HP_AT_SCRATCH1, 2; 0xff: none */
    bool rcx_saved;    /* rcx is in HP_AT_RCX */
    bool biased;       /* the program's GS base is to be taken from rsi */
};
void hp_locate(uint32_t segment, uint64_t address, struct hp_spot *spot);

#endif
