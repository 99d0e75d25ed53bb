// SPDX-License-Identifier: MIT
/*
 * The arena: memory shared between the watched processes and hotpath. It holds the code map as
 * engines write it (append-only) and one ring of words a thread.
 *
 * It is one sparse memory file, created by hotpath, mapped by the engine at start-up and inherited
 * by forked children, so every process of the run writes into the same one, and the same code of
 * the same module is in it once. No locks: ids and space
 * are taken with atomic adds, so a process that is killed at any point leaves the others
 * undisturbed.
 *
 * Rings. A ring is `n_chunks` chunks of `chunk_words` words. The writer fills a chunk with plain
 * stores and publishes it whole; the reader hands it back zeroed. The writer waits (futex) when
 * every chunk is full: nothing is dropped. Words are never 0 and chunks start out zeroed, so when a
 * process dies without a word the reader finds the end of what it had written in its last chunk:
 * the first 0 where a word should start.
 *
 * When hotpath stops reading (done, or dead: writers look after it when they wait long) the arena
 * is *detached*: writers go on without writing.
 */
#ifndef HP_ENGINE_ARENA_H
#define HP_ENGINE_ARENA_H

#include "hotpath/code.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define HP_ARENA_MAGIC   0x616e657261707468u /* "htparena" */
#define HP_ARENA_VERSION 5

#define HP_ARENA_CHUNK_WORDS 32768u /* 128 KiB: a few fit the second-level cache */
#define HP_ARENA_CHUNKS      8u     /* 1 MiB a thread */

#define HP_ARENA_WHY 160 /* bytes of a reason */

/* At most; an arena has a shape. */
#define HP_ARENA_RINGS    1024u           /* threads at the same time */
#define HP_ARENA_SEGMENTS HP_SEGMENTS_MAX /* different translations over a run */
#define HP_ARENA_RECORDS  (1u << 22)      /* different modules and strings over a run */
#define HP_ARENA_KNOWN    (1u << 23)      /* places of what is there already */
#define HP_ARENA_STORE    (8ull << 30)    /* bytes of code and names */

/* Behind each chunk lies a page that holds nothing: an engine that writes words without a check
 * takes away its access and is stopped there. */
#define HP_ARENA_GUARD        4096u
#define HP_ARENA_CHUNK_STRIDE (HP_ARENA_CHUNK_WORDS * 4u + HP_ARENA_GUARD)

/* Counters: a window a ring, used when the mode is HP_RECORD_COUNT. */
#define HP_ARENA_COUNTED (1u << 22) /* segment ids below this can be counted; at most, as above */

/* Addresses: a second ring a ring, of 64-bit words, used when the mode is HP_RECORD_MEMORY. */
#define HP_ARENA_ADDRESSES      65536u /* in a chunk: 512 KiB */
#define HP_ARENA_ADDRESS_STRIDE (HP_ARENA_ADDRESSES * 8u + HP_ARENA_GUARD)
#define HP_ARENA_ADDRESS_BYTES  (HP_ARENA_CHUNKS * (uint64_t)HP_ARENA_ADDRESS_STRIDE)

/* What an engine records. */
enum hp_record_mode {
    HP_RECORD_STREAM, /* every segment that was run, in order */
    HP_RECORD_COUNT,  /* counters of segments; words only for indirect transfers and events */
    HP_RECORD_MEMORY, /* the stream, and every address that was loaded or stored */
    HP_RECORD_NONE,   /* nothing: the engine alone, to measure it */
};

/*
 * HP_RECORD_COUNT. How often the segment with this id was run to its end and then left by its
 * ending branch's target ([1]: taken, or any direct transfer) or by falling through ([0]).
 * Indirect ends are not counted here: they are two words in the ring, the id of the segment that
 * was left and then the id (of one block) that was entered.
 */
struct hp_counter {
    uint64_t left[2];
};

/* What an engine did, summed over all processes; written with atomic adds. */
struct hp_engine_stats {
    _Atomic uint64_t segments;     /* translated */
    _Atomic uint64_t blocks;       /* in them */
    _Atomic uint64_t instructions; /* in those */
    _Atomic uint64_t links;        /* exits joined to what follows */
    _Atomic uint64_t lookups;      /* entries into the engine to find where to go on */
    _Atomic uint64_t invalidated;  /* segments whose code changed or went away */
    _Atomic uint64_t flushes;      /* of the whole cache */
    _Atomic uint64_t translate_ns; /* time in the translator */
    _Atomic uint64_t cache_bytes;  /* code cache in use, the largest of any process */
    _Atomic uint64_t memory_bytes; /* engine memory, the largest of any process */
    _Atomic uint64_t processes;
    _Atomic uint64_t threads;
    _Atomic uint64_t detached;       /* threads that went on natively */
    _Atomic uint64_t detach_address; /* where the first of them did */
    _Atomic uint32_t detach_reason;  /* string record: why */
};

#define HP_RING_BITS 8
enum hp_ring_state {
    HP_RING_FREE,     /* anyone may claim it */
    HP_RING_CLAIMED,  /* its writer is filling in the header; above HP_RING_BITS, its process */
    HP_RING_ACTIVE,   /* in use */
    HP_RING_FINISHED, /* its writer is done; the reader drains and frees it */
};

struct hp_ring {
    _Atomic uint32_t state;
    int32_t pid, tid, parent; /* as the writer knows them: in its own namespace */
    uint32_t process;         /* a number of the engine's for its process, 0: none */
    uint32_t serial;          /* of the thread: its id in the stream */
    _Atomic uint32_t
        end_reason; /* enum hp_end_reason; HP_END_KILLED until the writer says otherwise */
    _Atomic uint32_t
        published; /* chunks written, ever; futex of the reader's doorbell is elsewhere */
    _Alignas(64) _Atomic uint32_t consumed; /* chunks handed back, ever; the writer waits on it */
    _Atomic uint32_t writer_waits;
    _Alignas(64) uint32_t pad;
};

/* The ring of addresses that goes with a ring of words. A chunk need not be full. */
#define HP_ADDRESSES_UNKNOWN UINT32_MAX
struct hp_address_ring {
    _Atomic uint32_t published;
    _Atomic uint32_t filled[HP_ARENA_CHUNKS]; /* addresses in a chunk, by its place; of one that is
                                                 being written HP_ADDRESSES_UNKNOWN */
    _Alignas(64) _Atomic uint32_t consumed;
    _Atomic uint32_t writer_waits;
};

/* A segment as an engine writes it, followed by its bytes. */
struct hp_arena_segment {
    uint64_t start;
    uint32_t module; /* record id */
    uint32_t size;
    uint32_t mode;
    uint32_t parent; /* id; not 0: the segment is that one and then, without a break, this code */
};

/* A module or a string, followed by its text (terminated). */
struct hp_arena_record {
    uint64_t base, low, high;
    uint64_t file;   /* hp_arena_file() of a module that is one; 0: none, or it is gone */
    uint32_t length; /* of the text */
    uint32_t is_module;
};

/*
 * How large the parts of an arena are, and where in the file they begin: less where address space
 * is limited. Header and indices, rings and store are mapped as one; windows behind them only where
 * they are needed.
 */
struct hp_arena_shape {
    uint32_t rings;
    uint32_t segments;
    uint32_t counted;
    uint32_t records;
    uint32_t known; /* 0, or a power of two */
    uint32_t pad;
    uint64_t store;
    uint64_t segment_index, known_data;
    uint64_t ring_data, store_data;
    uint64_t size;                        /* of all that up to here */
    uint64_t counter_data, counter_bytes; /* of a ring's window */
    uint64_t address_data;
    uint64_t file_size;
};

/*
 * A process number n is marked by a lock (fcntl) on this byte of the file, behind its end, which
 * its process has as long as it lives: by that the reader can tell which one it is among those that
 * it sees, whatever the process takes itself for.
 */
static inline uint64_t hp_shape_mark(const struct hp_arena_shape *shape, uint32_t process)
{
    return shape->file_size + process;
}

struct hp_arena {
    uint64_t magic;
    uint32_t version;
    struct hp_arena_shape shape;
    uint32_t follow;           /* forked children are observed too */
    uint32_t mode;             /* enum hp_record_mode; the qemu engine only streams */
    uint64_t cache_size;       /* bytes a native process may use for translated code */
    _Atomic uint32_t reader;   /* a robust futex: its thread's id, and a mark when that has died */
    _Atomic uint32_t attached; /* an engine has mapped the arena and runs */
    _Atomic uint32_t detached; /* nobody reads any more */
    _Atomic uint32_t unobserved_threads; /* threads that found no ring */
    _Atomic uint32_t natively;           /* programs that an engine could not start in itself */
    char natively_why[HP_ARENA_WHY];     /* the last of them */

    _Alignas(64) _Atomic uint32_t doorbell; /* counts publications; the reader waits on it */
    _Atomic uint32_t reader_waits;
    _Atomic uint32_t rings_used;  /* rings below this have been claimed at least once */
    _Atomic uint32_t next_thread; /* serial numbers of threads */
    _Atomic uint32_t next_process;
    _Atomic uint32_t rings_freed; /* counts; writers without a ring wait on it */

    _Alignas(64) _Atomic uint32_t next_segment; /* ids start at 1 */
    _Atomic uint32_t next_record;               /* likewise */
    _Atomic uint64_t store_used;

    struct hp_engine_stats stats;
    struct hp_ring rings[HP_ARENA_RINGS];
    struct hp_address_ring address_rings[HP_ARENA_RINGS];
};

/*
 * Where things are in the file. The indices hold positions in the store in units of 8 bytes plus 1,
 * 0: not there. The table of what is known is a cache of ids: processes that run the same code find
 * there what another one has described already.
 */
#define HP_ARENA_RECORD_INDEX (1ull << 20)
#define HP_ARENA_RING_BYTES   (HP_ARENA_CHUNKS * (uint64_t)HP_ARENA_CHUNK_STRIDE)

_Static_assert(sizeof(struct hp_arena) <= HP_ARENA_RECORD_INDEX, "header overlaps the index");

static inline _Atomic uint32_t *hp_shape_segment_index(const struct hp_arena_shape *shape,
                                                       struct hp_arena *arena)
{
    return (_Atomic uint32_t *)(void *)((char *)arena + shape->segment_index);
}

static inline _Atomic uint32_t *hp_arena_segment_index(struct hp_arena *arena)
{
    return hp_shape_segment_index(&arena->shape, arena);
}

static inline _Atomic uint32_t *hp_arena_record_index(struct hp_arena *arena)
{
    return (_Atomic uint32_t *)(void *)((char *)arena + HP_ARENA_RECORD_INDEX);
}

/* The reader has a copy of the shape: whoever is watched can write to the arena's. */
static inline uint32_t *hp_shape_chunk(const struct hp_arena_shape *shape, struct hp_arena *arena,
                                       size_t ring, uint32_t number)
{
    return (uint32_t *)(void *)((char *)arena + shape->ring_data + ring * HP_ARENA_RING_BYTES +
                                (size_t)(number % HP_ARENA_CHUNKS) * HP_ARENA_CHUNK_STRIDE);
}

static inline void *hp_shape_store(const struct hp_arena_shape *shape, struct hp_arena *arena,
                                   uint32_t position)
{
    return (char *)arena + shape->store_data + (uint64_t)(position - 1) * 8;
}

static inline uint32_t *hp_arena_chunk(struct hp_arena *arena, size_t ring, uint32_t number)
{
    return hp_shape_chunk(&arena->shape, arena, ring, number);
}

static inline void *hp_arena_store(struct hp_arena *arena, uint32_t position)
{
    return hp_shape_store(&arena->shape, arena, position);
}

/* --- For engines ------------------------------------------------------------------------------ */

/*
 * A thread's place in the stream. `next` == `end` means: no room, or no ring yet;
 * hp_writer_refill() sorts that out. Zero is a valid beginning. Lives in the engine's thread-local
 * memory.
 */
struct hp_writer {
    uint32_t *next, *end;
    struct hp_ring *ring; /* NULL: none (yet, or unobserved) */
    uint32_t index;       /* of the ring */
    uint32_t serial;      /* of the thread, + 1; 0: it gets one with its ring */
    bool unobserved;      /* words go to a private buffer that nobody reads */
    uint32_t process;     /* as in the ring */
};

/* Maps the arena in `fd`. NULL when it is not one of ours. The descriptor can be closed
 * afterwards. */
struct hp_arena *hp_arena_map(int fd);

/* Makes room for at least one word: claims a ring, publishes the full chunk, waits for the reader.
 * Always succeeds: a writer that may or can not be observed gets memory nobody reads. */
void hp_writer_refill(struct hp_arena *arena, struct hp_writer *writer);

static inline void hp_writer_put(struct hp_arena *arena, struct hp_writer *writer, uint32_t word)
{
    if (__builtin_expect(writer->next == writer->end, 0))
        hp_writer_refill(arena, writer);
    *writer->next++ = word;
}

/* Puts an event word and its payload, unbroken by the end of a chunk. */
void hp_writer_event(struct hp_arena *arena, struct hp_writer *writer, uint32_t word,
                     const uint32_t *payload, int n);

/* The thread is over. The writer is as new afterwards. */
void hp_writer_finish(struct hp_arena *arena, struct hp_writer *writer, uint32_t end_reason);

/*
 * The ring of addresses with this index has `n` in its current chunk (HP_ADDRESSES_UNKNOWN: it is
 * being written). hp_addresses_next() publishes
 * it and waits until the next can be written, which has number `published` then; false when nobody
 * reads any more.
 */
bool hp_addresses_next(struct hp_arena *arena, uint32_t index, uint32_t n);
void hp_addresses_finish(struct hp_arena *arena, uint32_t index, uint32_t n);

/*
 * Around a fork, in the forking thread. Before it the child's number is taken, so that children are
 * numbered in the order in which they were made, not in which they happen to run. In the child the
 * parent's ring is forgotten; with `observe` false the child is not observed.
 */
uint32_t hp_writer_before_fork(struct hp_arena *arena);
void hp_writer_after_fork(struct hp_writer *writer, uint32_t serial, bool observe);

/* Adds a segment, unless it is there already; returns its id, 0 when there is no room. */
uint32_t hp_arena_add_segment(struct hp_arena *arena, const struct hp_arena_segment *segment,
                              const void *bytes);

/* What tells a file from others of the same name, before and after it. Not 0. */
static inline uint64_t hp_arena_file(const struct stat *st)
{
    const uint64_t parts[] = {st->st_dev,
                              st->st_ino,
                              (uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec,
                              (uint64_t)st->st_ctim.tv_sec,
                              (uint64_t)st->st_ctim.tv_nsec};
    uint64_t mark = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        mark = (mark ^ parts[i]) * 0x9e3779b97f4a7c15u;
    return mark | 1;
}

/* Adds a module or string record, likewise. */
uint32_t hp_arena_add_record(struct hp_arena *arena, const struct hp_arena_record *record,
                             const char *text);

#endif
