// SPDX-License-Identifier: MIT
/*
 * Inside the reader of the arena: live.c creates it and has the loop, live_shape.c chooses the size
 * of the arena, live_code.c reads code, live_paths.c what is counted as a path, live_rings.c words,
 * live_data.c addresses and counters, and live_processes.c tracks the processes.
 *
 * The watched processes can write anywhere in the arena at any time: nothing in it is trusted, and
 * checks are made on a copy.
 */
#ifndef HP_ENGINE_LIVE_IMPL_H
#define HP_ENGINE_LIVE_IMPL_H

#include "base/map64.h"
#include "engine/live.h"

#include <linux/futex.h>

#define HP_NO_THREAD UINT32_MAX

struct hp_live_process {
    pid_t pid;
    int fd; /* pidfd; -1: already gone */
    bool dead;
};

/* The reader's view of a ring. */
struct hp_live_reading {
    uint32_t thread;    /* HP_NO_THREAD: the ring is not in use */
    pid_t pid;          /* its process */
    uint32_t chunk;     /* next to read */
    uint32_t addresses; /* next chunk of addresses to read */
    uint32_t claimed;   /* the last state seen of a ring not yet in use, and */
    uint32_t looks;     /* how often it was seen */
};

/* How far the code that running threads have counted is loaded: see hp_live_load_ahead(). */
struct hp_live_ahead {
    uint32_t ring;
    off_t at;            /* in its counters, bytes */
    uint64_t not_before; /* milliseconds */
};

struct hp_live {
    struct hp_arena *arena;
    struct hp_arena_shape shape; /* it and the mode are copies: the arena's are not trusted */
    enum hp_record_mode mode;
    int fd;
    struct hp_segment_source source;
    struct hp_path_source paths;
    struct hp_range_source *ranges; /* NULL: no functions are known */
    uint32_t ranges_answered;       /* requests for functions that were seen */
    struct hp_code *code;
    uint32_t *modules; /* by record id: module id + 1; 0: not loaded yet */
    struct hp_live_process *processes;
    size_t n_processes, cap_processes;
    struct hp_live_reading readings[HP_ARENA_RINGS];
    char *windows[HP_ARENA_RINGS]; /* their rings of addresses, NULL: not mapped */
    char *text;                    /* of the last requested record */
    size_t cap_text;
    uint8_t code_bytes[HP_BLOCK_MAX_INSNS * 16]; /* of the segment being added */
    uint32_t *words;                             /* copy of the chunk being delivered */
    uint64_t *addresses; /* the same for addresses: the originals can change at any time */
    struct hp_live_ahead ahead;
    struct hp_map64 wished; /* address -> 1 */
    uint32_t n_wishes;
    uint64_t wishes_lost; /* there was no room */
    struct hp_map64 ids;  /* thread ids given out */
    uint32_t next_id;     /* above all of them */
    pid_t first_pid;
    bool waits;           /* for children that outlive the program */
    uint32_t n_begun;     /* threads */
    double missing_since; /* threads that were announced have not begun; 0: there are none */
    /* Of the processor's clock: as in arena->ticks; when to tune it, 0: never. */
    uint64_t clock_ticks, clock_ns, tune_after;
    enum hp_err failure; /* of the consumer */
    bool detached, leaves;
    struct robust_list_head robust, *robust_before;
    struct robust_list held; /* the one element of `robust` */
};

/* --- live_shape.c ----------------------------------------------------------------------------- */

/* The shape that the limits of this process allow; the watched processes share these limits. */
/* `lag`: bytes of a ring; 0: as usual. */
enum hp_err hp_live_choose_shape(enum hp_record_mode mode, uint64_t lag,
                                 struct hp_arena_shape *shape);

/* --- live_processes.c ------------------------------------------------------------------------- */

enum hp_err hp_live_know_process(struct hp_live *live, pid_t pid);
bool hp_live_is_dead(const struct hp_live *live, pid_t pid);
void hp_live_look_after(const struct hp_live *live, struct hp_live_process *process);
void hp_live_look_after_all(struct hp_live *live);

/* The pid of the process with this number; 0: it is gone, or was never marked. */
pid_t hp_live_marked_process(const struct hp_live *live, uint32_t process);

/* --- live_rings.c ----------------------------------------------------------------------------- */

void hp_live_wake(_Atomic uint32_t *word);

/* Scans every ring once; true when any had something. */
bool hp_live_read_rings(struct hp_live *live, struct hp_consumer *consumer);

/* Closes the rings of processes that are gone; with `all`, every ring. */
void hp_live_close_rings(struct hp_live *live, struct hp_consumer *consumer, bool all);

/* Frees rings whose writer was killed just after claiming them. */
void hp_live_free_claimed(struct hp_live *live);

/* --- live_code.c ------------------------------------------------------------------------------ */

/* The module of a record, added to the code map if necessary. */
enum hp_err hp_live_load_module(struct hp_live *live, uint32_t record, uint32_t *module);

/* Loads the segment if it is not known, and there is one. */
void hp_live_load_code(struct hp_live *live, uint32_t id);

/* Reads `size` bytes of the store at the position that the index at `place` has for `id`. */
bool hp_live_read_store(struct hp_live *live, uint64_t place, uint32_t limit, uint32_t id, void *to,
                        size_t size);

/* --- live_paths.c ----------------------------------------------------------------------------- */

/* Tells the engine where functions are, as far as it has asked. */
void hp_live_answer(struct hp_live *live);

/* --- live_clock.c ----------------------------------------------------------------------------- */

/* Measures how fast the processor's clock goes, for about a millisecond; and again when the run is
 * ten times as old as the last time: then better. */
void hp_live_start_clock(struct hp_live *live);
void hp_live_tune_clock(struct hp_live *live);

/* --- live_data.c ------------------------------------------------------------------------------ */

/* Reads the published chunks of addresses; true when there were any. */
bool hp_live_read_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

/* Reads the rest of an ended thread's addresses. If it did not say how many it has written, the
 * last chunk is delivered whole: the words say how many of them are valid. */
void hp_live_finish_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

/* Delivers what the ring's thread counted, and clears the window for the next thread. */
void hp_live_take_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

/* Loads some of the code that running threads have counted, which has to be loaded when they end.
 * True: there may be more to load now. */
bool hp_live_load_ahead(struct hp_live *live);

#endif
