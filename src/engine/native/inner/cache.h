// SPDX-License-Identifier: MIT
/*
 * The code cache: translated segments, their places, and how they are linked. Everything is under
 * the lock; only the translated code itself runs without it.
 *
 * A *segment* is a straight run of blocks with one entry. Each block of it is a *piece*: its source
 * and the stream id of the run up to it. Its *exits* lead to other segments: an exit is a jump (or
 * conditional jump) whose displacement is patched when its target is known.
 *
 * Indirect transfers find segments through *landings* (landings.h).
 *
 * Code lies in *areas*, each within reach (2 GiB) of the program code it was made from. In an area
 * segments grow upwards; small items (exit stubs, landings) grow downwards from the end.
 */
#ifndef HP_NATIVE_CACHE_H
#define HP_NATIVE_CACHE_H

#include "engine/native/inner/emit.h"
#include "engine/native/inner/inner.h"

#define HP_STATIC_MAX  16         /* blocks in a segment that static rules have chosen */
#define HP_PIECES_MAX  HP_RUN_MAX /* in any segment */
#define HP_SECTION_MAX 48         /* in one that must be a single unit (rseq.h) */
#define HP_COLD_CHUNK  4096       /* bytes of small items that are rarely run */

enum hp_seg_kind {
    HP_SEG_PLAIN,
    HP_SEG_TWIN,  /* a copy that leaves through the gates, by which a path is recorded */
    HP_SEG_TRACE, /* a recorded path (traces.h) */
    HP_SEG_NODE,  /* counts paths: its start is a place in the tree of paths (paths.h) */
};

/* The blocks that a segment shall have, by their starts. */
struct hp_run_plan {
    uint64_t starts[HP_PIECES_MAX];
    unsigned n;
};

/* How a segment continues after one of its pieces. */
enum {
    HP_WENT_ON, /* behind it */
    HP_WENT_TO, /* to the target of its branch */
    HP_WENT_BY, /* to the target of an indirect transfer */
};

struct hp_cached_piece {
    uint64_t start;
    uint32_t size;     /* of the source, bytes */
    uint32_t id;       /* in the stream; if nothing is recorded: see hp_cache_keep() */
    uint32_t segment;  /* its segment */
    uint32_t next;     /* next piece of the same page, 0: none */
    uint32_t next_too; /* the same for the second page it touches */
    uint16_t insns;
    uint8_t taken;       /* HP_WENT_...; at the end of the segment 1 */
    uint8_t first;       /* of a run of blocks with ids of its own, within the segment */
    uint32_t prefix;     /* of a node: the path up to it and including it */
    uint16_t end_dead;   /* at its end: registers that may be used, */
    bool end_flags_dead; /* and whether flags may */
    bool end_derived;    /* the way out that is recorded in its own code need not be counted */
    uint8_t last_length; /* of the instruction that ends it; 0: none does */
    bool waits;          /* it ends the segment, with a transfer through a slot that is not bound */
    uint64_t expects;    /* it ends the segment, with a transfer that is expected to go there */
};

struct hp_seg {
    /* What a search needs lies together. */
    uint64_t start;
    uint32_t next_hash;
    uint16_t dead;   /* registers overwritten before they are read */
    bool flags_dead; /* the same for flags */
    uint8_t kind;    /* enum hp_seg_kind */
    uint8_t *code;
    uint8_t *landing; /* NULL: none */
    uint8_t *count;   /* what counts arrivals there; NULL: none */
    uint32_t code_size;
    uint32_t first_piece, n_pieces;
    uint32_t incoming;     /* list of the exits that lead here */
    uint32_t next_landing; /* next segment in the landing chain of the same table entry */
    bool gone;             /* its source changed or was unmapped */
    bool is_head;          /* its executions are counted: traces.h */
    bool on_trial;         /* to find out how often it is reached */
    bool is_cool;          /* not often enough to be counted, for now */
    bool is_recorded;      /* a path from it was recorded */
    uint16_t section;      /* the rseq section it translates; 0: none */
    struct hp_path_node node;
    uint8_t *entrance; /* of a node to which a call returns: before its code */
    uint32_t place;    /* the return place (paths.h) that leads here; 0: none */
    uint32_t function; /* of a node: from which alone jumps may land here; 0: from any */
};

struct hp_exit {
    uint64_t target;  /* in the program */
    uint8_t *patch;   /* displacement to patch */
    uint8_t *stub;    /* where it leads while not linked */
    uint32_t segment; /* its segment */
    uint32_t id;      /* of the run up to it */
    uint32_t to;      /* the segment it leads to, 0: none */
    uint32_t next;    /* next exit that leads to the same segment, or waits in the same chain */
    uint16_t piece;   /* by which it is left, in its segment */
    uint8_t taken;
    bool waits;    /* for its target to be translated */
    bool is_back;  /* its branch goes backwards, or it is indirect */
    bool recorded; /* by the segment itself */
    uint8_t head;  /* bytes of its link that count an arrival; 0: none */
    uint8_t *link; /* if they do: the code between it and the segment it leads to */
    /* Of a node. */
    uint8_t indirect;         /* HP_X86_...: the kind of an indirect transfer; 0: none */
    bool pushed;              /* it is a call, and on the shadow stack */
    bool popped;              /* it is a return, which has popped its place and counted */
    uint32_t prefix;          /* that is left; 0: not of a node */
    uint32_t path;            /* that ends here; 0: none does */
    struct hp_path_node node; /* that it leads to */
};

struct hp_area {
    uint8_t *low, *high; /* the whole area, where it is executed */
    int64_t view;        /* offset from there to where it is written */
    uint8_t *code;       /* where the next segment goes */
    uint8_t *small;      /* start of the last small item */
    uint8_t *cold;       /* start of the last one that is rarely run, */
    uint8_t *cold_low;   /* in a chunk of small items that begins here */
    uint8_t *gates;      /* jumps to the gates, which are out of reach */
    uint32_t *segments;  /* its segments, in code order */
    uint32_t n_segments;
};

enum {
    HP_GATE_EXIT,
    HP_GATE_MISS,
    HP_GATE_SYSCALL,
    HP_GATE_FAR,
    HP_GATE_INT80,
    HP_GATE_X87,
    HP_GATE_SLOT,
    HP_GATE_COUNT
};

extern struct hp_area hp_areas[];
extern unsigned hp_n_areas;
extern struct hp_seg *hp_segs;
extern struct hp_exit *hp_exits;
extern struct hp_cached_piece *hp_pieces;

static inline const struct hp_cached_piece *hp_last_piece(uint32_t segment)
{
    return &hp_pieces[hp_segs[segment].first_piece + hp_segs[segment].n_pieces - 1];
}

/* Where the run of blocks that the piece belongs to begins, in the program. */
static inline uint64_t hp_run_start(const struct hp_seg *seg, unsigned piece)
{
    while (piece > 0 && !hp_pieces[seg->first_piece + piece].first)
        piece--;
    return hp_pieces[seg->first_piece + piece].start;
}

void hp_cache_start(void);

/* The segment that starts at `pc`, translated if necessary (`land`: see hp_translate); 0 when there
 * is no code there or (see `*why`) it cannot be translated. */
uint32_t hp_cache_get(struct hp_self *self, uint64_t pc, bool land, const char **why);

/* The same, only if it is already translated: the trace, if there is one. */
uint32_t hp_cache_find(uint64_t pc);
/* The copy of the segment for recording. */
uint32_t hp_cache_find_twin(uint64_t pc);
/* The segment that counts paths from this node on. */
uint32_t hp_cache_find_node(uint64_t pc, const struct hp_path_node *node);

/* Everything that leads to segment `from` leads to `to` from now on, which has the same start. */
void hp_cache_replace(uint32_t from, uint32_t to);
/* Whether arrivals at the segment are counted has changed: its links and its landing do so. */
void hp_cache_recount(uint32_t segment);

/* For the translator: room for `code` bytes of code and `small` bytes of small items in an area
 * that reaches `pc`; NULL when the cache is full (hp_cache_get flushes it). */
struct hp_area *hp_cache_room(uint64_t pc, uint32_t code, uint32_t small);

/* Takes room for a small item that is rarely run, up to HP_COLD_CHUNK: these are among themselves,
 * so that those that are run often lie together. For the translator: there is room. */
uint8_t *hp_cache_cold(struct hp_area *area, uint32_t size);

/* The gate's address within the area, or within that of a place. */
uint8_t *hp_cache_gate(const struct hp_area *area, int gate);
uint8_t *hp_cache_gate_near(const uint8_t *place, int gate);

uint32_t hp_cache_new_segment(void); /* 0: no room; also below */
uint32_t hp_cache_segments(void);    /* how many there are */
uint32_t hp_cache_new_exit(void);
uint32_t hp_cache_new_piece(void);

/* Keeps a piece's source, which may change, for hp_locate(). Returns its number, not 0. If
 * something is recorded, it is in the arena instead, under the piece's id. */
uint32_t hp_cache_keep(const uint8_t *bytes, uint32_t size);
const uint8_t *hp_cache_kept(uint32_t number);

/* The segment is finished: makes it findable, and links what leads to it and where it leads. */
void hp_cache_publish(uint32_t segment, struct hp_area *area);

struct hp_order;

/* Translates what is ordered, which is not there yet; makes room for it. Otherwise as
 * hp_translate(). */
uint32_t hp_cache_make(struct hp_self *self, const struct hp_order *order, const char **why);

/* The source of a piece. */
const uint8_t *hp_piece_source(const struct hp_cached_piece *piece);

/* Emits an increment of the counter at gs:[at]; `dead` are registers that may be used. */
void hp_emit_count(struct hp_emit *e, uint32_t at, uint16_t dead, bool flags_dead);

/* Emits the recording of the run `id`, which ends here, for translated code; `dead` are registers
 * that may be used. */
void hp_emit_ran(struct hp_emit *e, uint32_t id, bool taken, uint16_t dead, bool flags_dead);

/* Links an exit to the segment it leads to. */
void hp_cache_link(uint32_t exit, uint32_t segment);

/* Room for a small item within reach of `address`; NULL: none. */
uint8_t *hp_cache_small(uint64_t address, uint32_t size);

/* Where the code executed at this place is written. */
uint8_t *hp_cache_writable(uint8_t *code);

/* Makes the jump whose displacement is at `at` lead to `to`. Threads may be executing it: the
 * displacement lies in one cache line. */
void hp_cache_patch(uint8_t *at, const uint8_t *to);

/* Whether an address is in the cache, and in which segment's code; 0: in a stub or landing. */
bool hp_cache_has(uint64_t address);
/* The address in a segment's code that has this lower half; 0: none. */
uint64_t hp_cache_with_low(uint32_t low);
uint32_t hp_cache_segment_at(uint64_t address);

/* Makes all translations of [low, high) unreachable. Returns how many. */
uint32_t hp_cache_invalidate(uint64_t low, uint64_t high);

/* Makes the segment unreachable. Calls `each` for every segment that is reachable. */
void hp_cache_remove(uint32_t segment);
void hp_cache_each(void (*each)(uint32_t segment));

/* Bytes of code and small items in all areas. */
uint64_t hp_cache_used(void);
/* Bytes of the cache's tables. */
uint64_t hp_cache_tables_used(void);

/* Drops everything. All other threads must be out. */
void hp_cache_flush(void);
extern _Atomic uint64_t hp_cache_flushes; /* of this process */

/* Before a fork: makes a copy of the cache for the child, if it would be shared. The child takes
 * the copy before it runs anything from the cache. With the lock held. */
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

/* Prepares writing code that is executed at `place`. */
static inline struct hp_emit hp_area_emit(const struct hp_area *area, uint8_t *place)
{
    return (struct hp_emit){place + area->view, (uint64_t)(uintptr_t)place};
}

/* --- The translator (translate.c) ------------------------------------------------------------- */

/* What is to be translated. */
struct hp_order {
    uint64_t pc;
    enum hp_seg_kind kind;
    bool land;                      /* it gets a landing at once */
    bool on_trial;                  /* of a trace: arrivals at it are counted */
    const struct hp_run_plan *plan; /* of a trace; else NULL: static rules choose its blocks */
    struct hp_path_node node;       /* of a node */
    uint32_t function;              /* of a node with a landing: see hp_seg */
};

/* Translates code. 0: there is no code (`*why` is NULL), or it cannot be translated. */
uint32_t hp_translate(struct hp_self *self, const struct hp_order *order, const char **why);

/* The program state at an address in a segment's code. */
struct hp_spot {
    uint64_t pc;       /* the program's current or next instruction */
    uint32_t piece;    /* 0 ... n_pieces - 1 */
    uint32_t insns;    /* instructions of the piece that are complete */
    int32_t addresses; /* addresses of those, beyond HP_AT_ADDRESS (memory mode) */
    bool clean; /* the instruction has had no effect, and all unsaved registers are the program's */
    uint8_t saved[2]; /* registers whose values are in HP_AT_SCRATCH1, 2; 0xff: none */
    bool rcx_saved;   /* rcx is in HP_AT_RCX */
    bool biased;      /* rsi includes the program's GS base: subtract it */
};
void hp_locate(uint32_t segment, uint64_t address, struct hp_spot *spot);

/* A segment whose last slot was not bound when it was translated is left for `target`. Whether it
 * shall be translated again. */
bool hp_slot_is_over(uint32_t segment, uint64_t target);

#endif
