// SPDX-License-Identifier: MIT
/*
 * Inside the reader of the arena: live.c makes it and has the loop, live_shape.c decides how large
 * the arena is, live_code.c reads code, live_rings.c words, live_data.c addresses and counters, and
 * live_processes.c looks after the processes.
 *
 * The watched processes can write anywhere in the arena, at any time: nothing in it is trusted, and
 * what is checked is a copy.
 */
#ifndef HP_ENGINE_LIVE_IMPL_H
#define HP_ENGINE_LIVE_IMPL_H

#include "base/map64.h"
#include "engine/live.h"

#include <linux/futex.h>

#define HP_NO_THREAD UINT32_MAX

struct hp_live_process {
    pid_t pid;
    int fd; /* pidfd; -1 when it was gone already */
    bool dead;
};

/* The reader's view of a ring. */
struct hp_live_reading {
    uint32_t thread;    /* HP_NO_THREAD: the ring is not in use */
    pid_t pid;          /* whose it is */
    uint32_t chunk;     /* next to read */
    uint32_t addresses; /* chunk of addresses, likewise */
    uint32_t claimed;   /* the state of a ring that is not in use yet, and */
    uint32_t looks;     /* how often it was seen in it */
};

struct hp_live {
    struct hp_arena *arena;
    struct hp_arena_shape
        shape; /* this and the mode: those in the arena can be written by anybody */
    enum hp_record_mode mode;
    int fd;
    struct hp_segment_source source;
    struct hp_code *code;
    uint32_t *modules; /* by record id: module id + 1; 0 not loaded yet */
    struct hp_live_process *processes;
    size_t n_processes, cap_processes;
    struct hp_live_reading readings[HP_ARENA_RINGS];
    char *windows[HP_ARENA_RINGS]; /* their rings of addresses, NULL: not mapped */
    char *text;                    /* of the record asked for last */
    size_t cap_text;
    uint8_t code_bytes[HP_BLOCK_MAX_INSNS * 16]; /* of the segment that is added */
    uint32_t *words;                             /* what is delivered: a chunk, or */
    uint64_t *addresses; /* of these. The originals can change at any time */
    struct hp_map64 ids; /* of threads, that were given */
    uint32_t next_id;    /* above all of them */
    pid_t first_pid;
    enum hp_err failure; /* of the consumer */
    bool detached;
    struct robust_list_head robust, *robust_before;
    struct robust_list held; /* the one element of `robust` */
};

/* --- live_shape.c ----------------------------------------------------------------------------- */

/* The shape that the limits of this process allow; they are those of the watched ones too. */
enum hp_err hp_live_choose_shape(enum hp_record_mode mode, struct hp_arena_shape *shape);

/* --- live_processes.c ------------------------------------------------------------------------- */

enum hp_err hp_live_know_process(struct hp_live *live, pid_t pid);
bool hp_live_is_dead(const struct hp_live *live, pid_t pid);
void hp_live_look_after(const struct hp_live *live, struct hp_live_process *process);
void hp_live_look_after_all(struct hp_live *live);

/* The process with this number of the engine's; 0: it is gone, or was never marked. */
pid_t hp_live_marked_process(const struct hp_live *live, uint32_t process);

/* --- live_rings.c ----------------------------------------------------------------------------- */

void hp_live_wake(_Atomic uint32_t *word);

/* One look at every ring; true when any had something. */
bool hp_live_read_rings(struct hp_live *live, struct hp_consumer *consumer);

/* Closes the rings of processes that are gone; with `all`, every ring. */
void hp_live_close_rings(struct hp_live *live, struct hp_consumer *consumer, bool all);

/* Frees rings whose writer was killed when it had only just claimed them. */
void hp_live_free_claimed(struct hp_live *live);

/* --- live_data.c ------------------------------------------------------------------------------ */

/* Reads the published chunks of addresses; true when there were any. */
bool hp_live_read_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

/* Those of a thread that is over. When it did not say how many it has written, the last chunk is
 * delivered whole: its words say how many of them mean anything. */
void hp_live_finish_addresses(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

/* Delivers what the ring's thread counted; the window is left empty for the next one. */
void hp_live_take_counters(struct hp_live *live, struct hp_consumer *consumer, uint32_t index);

#endif
