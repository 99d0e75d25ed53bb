// SPDX-License-Identifier: MIT
/*
 * The arena: memory shared between the watched processes and hotpath. It holds the code map as
 * engines write it (append-only) and one ring of words per thread.
 *
 * It is one sparse memory file. hotpath creates it, the engine maps it at start-up, and forked
 * children inherit it. All processes of a run write to the same arena, so the same code of the same
 * module is stored once. There are no locks: ids and space are allocated with atomic adds, so a
 * process that is killed at any point does not disturb the others.
 *
 * Rings. A ring is a power of two of chunks of HP_ARENA_CHUNK_WORDS words. The writer fills a chunk
 * with plain stores and publishes it as a whole; the reader hands it back zeroed. When every chunk
 * is full the writer waits (futex): nothing is dropped. Words are never 0 and chunks start out
 * zeroed. If a process dies without notice, its last chunk ends at the first 0 where a word should
 * start.
 *
 * When hotpath stops reading (it is done, or dead: writers check when they wait long) the arena is
 * *detached*: writers continue without writing.
 */
#ifndef HP_ENGINE_ARENA_H
#define HP_ENGINE_ARENA_H

#include "engine/paths.h"
#include "engine/ticks.h"
#include "hotpath/code.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define HP_ARENA_MAGIC   0x616e657261707468u /* "htparena" */
#define HP_ARENA_VERSION 13

#define HP_ARENA_CHUNK_WORDS 32768u /* 128 KiB: a few fit the second-level cache */
#define HP_ARENA_CHUNKS      8u     /* of addresses; usually also of words: 1 MiB per thread */

#define HP_ARENA_WHY   160 /* bytes of a reason */
#define HP_THREAD_NAME 16  /* of the name of a thread, with the 0 */

/* Upper limits. The shape of an arena says how many it has. */
#define HP_ARENA_RINGS    1024u           /* concurrent threads */
#define HP_ARENA_SEGMENTS HP_SEGMENTS_MAX /* different translations over a run */
#define HP_ARENA_RECORDS  (1u << 22)      /* different modules and strings over a run */
#define HP_ARENA_KNOWN    (1u << 23)      /* entries of the table of known code and names */
#define HP_ARENA_STORE    (8ull << 30)    /* bytes of code and names */

/* An empty page follows each chunk. An engine that writes words without a bounds check protects
 * this page and faults there. */
#define HP_ARENA_GUARD        4096u
#define HP_ARENA_CHUNK_STRIDE (HP_ARENA_CHUNK_WORDS * 4u + HP_ARENA_GUARD)

/* Counters: one window per ring, used when the mode is HP_RECORD_COUNT or HP_RECORD_PATHS. */
#define HP_ARENA_COUNTED (1u << 22) /* ids below this can be counted; an upper limit, as above */
#define HP_ARENA_PATHS   (1u << 23) /* the same for paths */

#define HP_ARENA_PREFIXES (1u << 24) /* different prefixes of paths over a run; likewise */

/* Addresses: a second ring per ring, of 64-bit words, used when the mode is HP_RECORD_MEMORY. */
#define HP_ARENA_ADDRESSES      65536u /* in a chunk: 512 KiB */
#define HP_ARENA_ADDRESS_STRIDE (HP_ARENA_ADDRESSES * 8u + HP_ARENA_GUARD)
#define HP_ARENA_ADDRESS_BYTES  (HP_ARENA_CHUNKS * (uint64_t)HP_ARENA_ADDRESS_STRIDE)

/* What an engine records. */
enum hp_record_mode {
    HP_RECORD_STREAM, /* every executed segment, in order */
    HP_RECORD_COUNT,  /* counters of segments; words only for indirect transfers and events */
    HP_RECORD_MEMORY, /* the stream, and every address loaded or stored */
    HP_RECORD_NONE,   /* nothing: measures the engine alone */
    HP_RECORD_PATHS,  /* counters of paths where possible, else the stream: docs/counted-paths.md */
};

/* How the native engine chooses the code that it translates as one unit (--traces). */
enum hp_traces {
    HP_TRACES_NONE,     /* plain segments only */
    HP_TRACES_STATIC,   /* long segments by static rules, from the first execution on */
    HP_TRACES_NET,      /* next executing tail: what runs after a head that has become hot */
    HP_TRACES_PATHS,    /* path profile: the most frequent path from such a head (bit tracing) */
    HP_TRACES_HOTSPOTS, /* NET, but only heads that the reader wishes for: those of hot spots */
};

/* Something that happened to the traces of a process, for a time line. */
enum hp_traces_event_kind {
    HP_TRACES_FLUSHED_FULL,  /* the fragment cache was full */
    HP_TRACES_FLUSHED_PHASE, /* the prediction rate jumped: a new phase */
    HP_TRACES_BAILED_OUT,    /* traces do not pay: none are made from here on */
    HP_TRACES_STEERED,       /* a hot spot was detected, and its code can become traces */
};
struct hp_traces_event {
    uint64_t ns;      /* since the process started */
    uint32_t kind;    /* enum hp_traces_event_kind */
    uint32_t process; /* the engine's number for it */
    uint64_t traces;  /* made by the process so far */
    uint64_t bytes;   /* of the traces that were dropped or kept */
};
#define HP_TRACES_EVENTS 1024

/*
 * HP_TRACES_HOTSPOTS. The reader wishes that code at this address becomes the head of a trace, in
 * whatever process. It appends; the engines look for new ones where they enter the cache, and where
 * a chunk of words is full. What they make of it is the rest.
 */
struct hp_arena_wish {
    uint64_t address;
    uint32_t hotspot;               /* which it is for, from 0 */
    uint32_t process;               /* that learned of it first; 0: none has */
    uint64_t ns;                    /* when that was, since the process began */
    _Atomic uint32_t traces, bytes; /* that begin there */
};
#define HP_ARENA_WISHES 8192

/*
 * HP_RECORD_COUNT. How often the segment with this id ran to its end and left through its branch's
 * target ([1]: taken, or any direct transfer) or by falling through ([0]). Indirect ends are not
 * counted here: they are two words in the ring, the id of the segment left and the id (of one
 * block) entered. Some ways out follow from the others, and are not counted (struct hp_derived).
 *
 * No segment has id 0: left[0] of that counter is where the thread arrived last when it was in the
 * engine; 0: nowhere.
 */
struct hp_counter {
    uint64_t left[2];
};

/*
 * HP_RECORD_PATHS. A thread's window is an array of uint64_t: how often it executed the path with
 * this id.
 *
 * A prefix of a path: its blocks from the start on. An id is larger than that of the prefix before.
 */
struct hp_arena_prefix {
    uint32_t before;  /* the prefix without the last block; 0: the path starts with that block */
    uint32_t segment; /* the last block: a segment of exactly one whole block, without a parent */
    uint32_t how;     /* enum hp_prefix_how: how that block was reached */
};

enum hp_prefix_how {
    HP_PREFIX_BRANCHED, /* by the end of the block before, or the path starts here */
    HP_PREFIX_RETURNED, /* the block before ended with a call, which has returned */
};

/* A finished path. */
struct hp_arena_path {
    uint32_t prefix; /* all of its blocks */
    uint32_t taken; /* not 0: the transfer that finished it was taken (as in a batch). A path may be
                       counted in several counters: by 1, 2, ... */
};

/* The functions of a module for rule 7 of docs/paths.md, written by the reader: sorted ranges of
 * offsets in the module that do not overlap. */
struct hp_arena_range {
    uint64_t low, high;
    uint64_t function; /* where the function of these offsets starts */
};
struct hp_arena_functions {
    uint64_t n;
    struct hp_arena_range ranges[];
};

/* In the index of functions, besides 0: they are asked for; they cannot be had. */
#define HP_FUNCTIONS_WANTED  UINT32_MAX
#define HP_FUNCTIONS_NOWHERE (UINT32_MAX - 1)

/* What an engine did, summed over all processes; written with atomic adds. Up to where it lets
 * threads go, the members are those of struct hp_engine_work, in the same order. */
struct hp_engine_stats {
    _Atomic uint64_t segments;     /* translated */
    _Atomic uint64_t blocks;       /* in them */
    _Atomic uint64_t instructions; /* in those */
    _Atomic uint64_t links;        /* exits joined to their successor */
    _Atomic uint64_t lookups;      /* entries into the engine to find the next segment */
    _Atomic uint64_t invalidated;  /* segments whose code changed or was unmapped */
    _Atomic uint64_t flushes;      /* of the whole cache */
    _Atomic uint64_t translate_ns; /* time in the translator */
    _Atomic uint64_t cache_bytes;  /* code cache in use, the largest of any process */
    _Atomic uint64_t memory_bytes; /* engine memory, the largest of any process */
    _Atomic uint64_t processes;
    _Atomic uint64_t threads;
    _Atomic uint64_t detached;          /* threads that continued natively */
    _Atomic uint64_t traces;            /* fragments made from predicted paths */
    _Atomic uint64_t trace_blocks;      /* in them */
    _Atomic uint64_t trace_insns;       /* in those */
    _Atomic uint64_t trace_bytes;       /* of their code */
    _Atomic uint64_t heads;             /* places whose executions were counted */
    _Atomic uint64_t abandoned;         /* traces that were begun and not made */
    _Atomic uint64_t trace_entries;     /* executions of traces; this and the next two: 0 unknown */
    _Atomic uint64_t trace_completions; /* of these, up to the end of the trace */
    _Atomic uint64_t trace_insns_run;   /* instructions executed in traces */
    _Atomic uint64_t waited_ns;         /* time in which threads waited for the reader */
    _Atomic uint64_t detach_address;    /* where the first thread was let go */
    _Atomic uint32_t detach_reason;     /* string record: why */
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
    int32_t pid, tid, parent;               /* as the writer knows them: in its own namespace */
    uint32_t process;                       /* the engine's number for its process, 0: none */
    uint32_t serial;                        /* of the thread: its id in the stream */
    uint32_t command;                       /* string record: the process's command line; 0: none */
    char name[HP_THREAD_NAME];              /* of the thread, as it was last; ends with a 0 */
    _Atomic uint32_t end_reason;            /* enum hp_end_reason; HP_END_KILLED until set */
    _Atomic uint32_t published;             /* chunks ever written */
    _Alignas(64) _Atomic uint32_t consumed; /* chunks ever handed back; the writer waits on it */
    _Atomic uint32_t writer_waits;
    /* The system call that the thread is in: HP_RING_IN_CALL | its number; 0: none. Times are
     * nanoseconds of the monotonic clock, 0: not known. */
    _Alignas(64) _Atomic uint64_t call;
    _Atomic uint64_t call_since;
    _Atomic uint64_t began, ended; /* the thread */
};
#define HP_RING_IN_CALL (UINT64_C(1) << 32)

/* The ring of addresses that goes with a ring of words. A chunk need not be full. */
#define HP_ADDRESSES_UNKNOWN UINT32_MAX
struct hp_address_ring {
    _Atomic uint32_t published;
    _Atomic uint32_t filled[HP_ARENA_CHUNKS]; /* by chunk; HP_ADDRESSES_UNKNOWN: being written */
    _Alignas(64) _Atomic uint32_t consumed;
    _Atomic uint32_t writer_waits;
};

/* A segment as an engine writes it, followed by its bytes and by one that is 1 if it is a whole
 * trace, else 0. */
struct hp_arena_segment {
    uint64_t start;
    uint32_t module; /* record id */
    uint32_t size;
    uint16_t mode;
    uint16_t trace;  /* not 0: it is in a trace that is meant to have so many blocks */
    uint32_t parent; /* id; not 0: the segment is the parent and then, contiguously, this code */
};

/* A module or a string, followed by its text (terminated). */
struct hp_arena_record {
    uint64_t base, low, high;
    uint64_t file;   /* hp_arena_file() if the module is a file; 0: none, or deleted */
    uint32_t length; /* of the text */
    uint32_t is_module;
};

/*
 * The sizes of an arena's parts and where they begin in the file. They are smaller where address
 * space is limited. Header, indices, rings and store are mapped as one; the windows after them only
 * where needed.
 */
struct hp_arena_shape {
    uint32_t rings;
    uint32_t segments;
    uint32_t counted;
    uint32_t records;
    uint32_t known;  /* 0, or a power of two */
    uint32_t chunks; /* in a ring; a power of two */
    uint64_t store;
    uint64_t segment_index, known_data;
    uint32_t prefixes; /* 0 unless paths are counted */
    uint32_t pad2;
    uint64_t prefix_index, path_index; /* positions in the store, by id */
    uint64_t function_index;           /* the same of functions, by the record of the module */
    uint32_t derived; /* ways out that need not be counted; 0 unless segments are counted */
    uint32_t pad3;
    uint64_t derived_data, flow_parents, flow_states; /* of those; of nodes; by segment */
    uint64_t ring_data, store_data;
    uint64_t size;                        /* of everything above */
    uint64_t counter_data, counter_bytes; /* per ring */
    uint64_t address_data;
    uint64_t file_size;
};

/*
 * Process number n holds a lock (fcntl) on this byte, past the end of the file, for as long as it
 * lives. By the lock the reader finds the process among those it can see, whatever pid the process
 * has in its own namespace.
 */
static inline uint64_t hp_shape_mark(const struct hp_arena_shape *shape, uint32_t process)
{
    return shape->file_size + process;
}

struct hp_arena {
    uint64_t magic;
    uint32_t version;
    struct hp_arena_shape shape;
    uint32_t follow;       /* forked children are observed too */
    uint32_t mode;         /* enum hp_record_mode; the qemu engine only streams */
    uint64_t cache_size;   /* bytes a native process may use for translated code */
    uint32_t traces;       /* enum hp_traces */
    uint32_t traces_after; /* executions of a head before its trace is made */
    uint32_t traces_phase; /* this and the next: as in struct hp_traces_choice */
    uint32_t traces_bail;
    uint32_t traces_leave;      /* where traces do not pay, the program goes on unobserved */
    uint64_t traces_cache;      /* bytes of traces before all are dropped; 0: no limit */
    struct hp_path_rules paths; /* which are counted */
    struct hp_ticks ticks;
    uint32_t calls;            /* system calls are recorded */
    _Atomic uint32_t reader;   /* robust futex: the reader's thread id, marked when it dies */
    _Atomic uint32_t attached; /* an engine has mapped the arena and runs */
    _Atomic uint32_t detached; /* the reader has stopped */
    _Atomic uint32_t unobserved_threads; /* threads that found no ring */
    _Atomic uint32_t natively;           /* programs that could not be started in the engine */
    char natively_why[HP_ARENA_WHY];     /* reason for the last of them */

    _Alignas(64) _Atomic uint32_t doorbell; /* counts publications; the reader waits on it */
    _Atomic uint32_t reader_waits;
    _Atomic uint32_t rings_used;  /* rings below this have been claimed at least once */
    _Atomic uint32_t next_thread; /* next thread serial number */
    _Atomic uint32_t next_process;
    _Atomic uint32_t rings_freed; /* counts; writers without a ring wait on it */

    _Alignas(64) _Atomic uint32_t next_segment; /* ids start at 1 */
    _Atomic uint32_t next_record;               /* likewise */
    _Atomic uint32_t next_prefix;               /* likewise */
    _Atomic uint32_t next_path;                 /* likewise */
    _Atomic uint32_t functions_wanted;          /* counts requests */
    _Atomic uint32_t n_derived;                 /* also those that found no room */
    _Atomic uint64_t store_used;

    struct hp_engine_stats stats;
    _Atomic uint32_t n_traces_events; /* also those that found no room */
    struct hp_traces_event traces_events[HP_TRACES_EVENTS];
    _Atomic uint32_t n_wishes;
    struct hp_arena_wish wishes[HP_ARENA_WISHES];
    struct hp_ring rings[HP_ARENA_RINGS];
    struct hp_address_ring address_rings[HP_ARENA_RINGS];
};

/*
 * The layout of the file. The indices hold positions in the store, in units of 8 bytes plus 1; 0:
 * not there. The table of known entries is a cache of ids: processes that run the same code find
 * there what another one has already stored.
 */
#define HP_ARENA_RECORD_INDEX (1ull << 20)

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

/* An index at this place of the file. */
static inline _Atomic uint32_t *hp_arena_index(struct hp_arena *arena, uint64_t place)
{
    return (_Atomic uint32_t *)(void *)((char *)arena + place);
}

static inline uint64_t hp_shape_ring_bytes(const struct hp_arena_shape *shape)
{
    return shape->chunks * (uint64_t)HP_ARENA_CHUNK_STRIDE;
}

/* The reader uses its own copy of the shape: a watched process can overwrite the arena's. */
static inline uint32_t *hp_shape_chunk(const struct hp_arena_shape *shape, struct hp_arena *arena,
                                       size_t ring, uint32_t number)
{
    return (uint32_t *)(void *)((char *)arena + shape->ring_data +
                                ring * hp_shape_ring_bytes(shape) +
                                (size_t)(number & (shape->chunks - 1)) * HP_ARENA_CHUNK_STRIDE);
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
 * A thread's position in the stream. `next` == `end` means no room, or no ring yet: call
 * hp_writer_refill(). Zero is a valid initial value. Lives in the engine's thread-local memory.
 */
struct hp_writer {
    uint32_t *next, *end;
    struct hp_ring *ring; /* NULL: none yet, or unobserved */
    uint32_t index;       /* of the ring */
    uint32_t serial;      /* of the thread, + 1; 0: assigned with its ring */
    bool unobserved;      /* words go to a private buffer that is never read */
    uint32_t process;     /* as in the ring */
};

/* The calling thread has another name. Its ring is opened and closed with the one it has then. */
void hp_writer_note_name(const struct hp_writer *writer);

/* The string record that rings of this process name as its command line from now on. */
void hp_writer_set_command(uint32_t record);

/*
 * Count mode: whether this way out of the segment, from a run that starts at `from` to code at
 * `to`, need not be counted. The answer is always the same. The id must be below shape.counted.
 */
bool hp_arena_derive(struct hp_arena *arena, uint32_t id, bool taken, uint64_t from, uint64_t to);

/*
 * Decides, if that is open, that this way out is counted. Returns whether it need not be counted:
 * as hp_arena_derive() has said before.
 */
bool hp_arena_count(struct hp_arena *arena, uint32_t id, bool taken);

/* Maps the arena in `fd`. NULL when it is not one of ours. The descriptor can be closed
 * afterwards. */
struct hp_arena *hp_arena_map(int fd);

/* Makes room for at least one word: claims a ring, publishes the full chunk, waits for the reader.
 * Always succeeds: a writer that may not or cannot be observed gets memory that is never read. */
void hp_writer_refill(struct hp_arena *arena, struct hp_writer *writer);

static inline void hp_writer_put(struct hp_arena *arena, struct hp_writer *writer, uint32_t word)
{
    if (__builtin_expect(writer->next == writer->end, 0))
        hp_writer_refill(arena, writer);
    *writer->next++ = word;
}

/* Writes an event word and its payload into one chunk. */
void hp_writer_event(struct hp_arena *arena, struct hp_writer *writer, uint32_t word,
                     const uint32_t *payload, int n);

/* Nanoseconds of the monotonic clock, from the kernel. */
uint64_t hp_writer_now(void);

/* A thread makes a system call, at `now` (0: its time will not be known). */
static inline void hp_writer_call(const struct hp_writer *writer, uint32_t number, uint64_t now)
{
    if (!writer->ring)
        return;
    atomic_store_explicit(&writer->ring->call_since, now, memory_order_relaxed);
    atomic_store_explicit(&writer->ring->call, HP_RING_IN_CALL | number, memory_order_relaxed);
}

/* It is over; the call has been recorded. */
static inline void hp_writer_called(const struct hp_writer *writer)
{
    if (writer->ring)
        atomic_store_explicit(&writer->ring->call, 0, memory_order_relaxed);
}

/* The thread has ended. The writer is reset and can be used again. */
void hp_writer_finish(struct hp_arena *arena, struct hp_writer *writer, uint32_t end_reason);

/*
 * The current chunk of the address ring with this index holds `n` addresses (HP_ADDRESSES_UNKNOWN:
 * it is being written). hp_addresses_next() publishes it and waits until the next one, number
 * `published`, can be written; false when nothing reads any more.
 */
bool hp_addresses_next(struct hp_arena *arena, uint32_t index, uint32_t n);
void hp_addresses_finish(struct hp_arena *arena, uint32_t index, uint32_t n);

/*
 * Around a fork, in the forking thread. The child's number is taken before the fork, so children
 * are numbered in the order of their creation, not in the order they happen to run. In the child
 * the parent's ring is dropped; with `observe` false the child is not observed.
 */
uint32_t hp_writer_before_fork(struct hp_arena *arena);
void hp_writer_after_fork(struct hp_writer *writer, uint32_t serial, bool observe);

/* Adds a segment unless it is already there. Returns its id, 0: no room. */
uint32_t hp_arena_add_segment(struct hp_arena *arena, const struct hp_arena_segment *segment,
                              const void *bytes);

/* The segment, with all its parents, is a whole trace. Before it runs. */
void hp_arena_end_trace(struct hp_arena *arena, uint32_t segment);

/* Distinguishes a file from others of the same name, earlier or later. Never 0. */
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

/* Adds a module or string record in the same way. */
uint32_t hp_arena_add_record(struct hp_arena *arena, const struct hp_arena_record *record,
                             const char *text);

/* Likewise a prefix of a path, whose first block is at `start`, and a path. The id of a path is
 * that of its counter. */
uint32_t hp_arena_add_prefix(struct hp_arena *arena, const struct hp_arena_prefix *prefix,
                             uint64_t start);
uint32_t hp_arena_add_path(struct hp_arena *arena, const struct hp_arena_path *path);

/* The address at which the function of `address` starts, which is in the module with this record:
 * as the reader's detectors know it. HP_FUNCTION_NONE; HP_FUNCTION_UNKNOWN: ask again later, the
 * reader looks it up now. */
uint64_t hp_arena_function(struct hp_arena *arena, uint32_t module, uint64_t base,
                           uint64_t address);

#endif
