// SPDX-License-Identifier: MIT
/*
 * Internals of a core in cycles. "Rule n" here and in the .c files refers to docs/pipeline.md.
 *
 * A fetched instruction gets a *position*, counted from 1; a redirect takes positions back. From
 * oldest to youngest: the reorder buffer (head ... mapped), then the fetch queue (mapped ... tail).
 * Positions are places in a ring, and so are their micro-operations: the *key* of one, position * 8
 * + index, is its age.
 *
 * Idle structures are not scanned. The cycle in which a uop completes is known when it is issued.
 * It then wakes the uops that wait for it. A uop whose operands all have a known time goes into a
 * wheel of buckets, one for each cycle. When its cycle comes it is *ready* and goes into the list
 * of its kind of unit, ordered by age. After a cycle in which nothing moved, the pipe skips to the
 * next time at which something can.
 *
 * Aborted uops stay in the wheel. When a key comes up, its uop is checked: is it to be ready in
 * this cycle?
 */
#ifndef HP_MACHINE_PIPE_IMPL_H
#define HP_MACHINE_PIPE_IMPL_H

#include "hotpath/pipe.h"
#include "machine/core_impl.h"

#ifndef HP_CHECKS
#define HP_CHECKS 0
#endif

#define PIPE_NEVER   UINT64_MAX /* a cycle */
#define PIPE_WHEEL   1024       /* buckets */
#define PIPE_PERIOD  16384      /* cycles: rule 9 */
#define PIPE_BATCH   512        /* least timings delivered at a time */
#define PIPE_FEED    256        /* blocks taken in at a time */
#define PIPE_NO_LINK UINT32_MAX

/* --- What is fed ------------------------------------------------------------------------------ */

enum {
    FED_TAKEN = 1 << 0,
    FED_TAIL = 1 << 1,  /* the outcome of its transfer is unknown */
    FED_BREAK = 1 << 2, /* it does not follow from the previous block */
    FED_MEASURED = 1 << 3,
    FED_ADDRESSES = 1 << 4,
    FED_ASKED = 1 << 5, /* its transfer was predicted: `forecast` */
};

struct pipe_fed {
    uint64_t next;      /* the address run after it */
    uint64_t addresses; /* position of its first */
    uint64_t before;    /* instructions fed before it */
    struct hp_forecast forecast;
    uint32_t piece, first; /* first: static id of its first instruction */
    uint32_t n, n_addresses;
    uint16_t cost; /* branch queue */
    uint8_t flags;
    uint32_t delay; /* with FED_BREAK: cycles of a handler, until it has run */
};

/* --- The static code, as it is used ----------------------------------------------------------- */

enum {
    INSN_RIGHT = 1 << 0, /* of the right path; not of static ones */
    INSN_LAST = 1 << 1,  /* the last of its block; likewise */
    INSN_FP = 1 << 2,    /* waits in the fp queue */
    INSN_SERIAL = 1 << 3,
    INSN_BRANCH = 1 << 4, /* has a uop on unit branch */
};

/*
 * Counts of free resources, three in a word, with a guard bit above each. A request is subtracted
 * from all three at once: a count that would become negative borrows from its guard bit, so one
 * subtraction and one test tell whether all three suffice.
 */
enum { HOLDS_PLACES = 0, HOLDS_INTS = 20, HOLDS_VECS = 40 }; /* `holds` */
enum {
    OCCUPIES_INT = 0,
    OCCUPIES_FP = 20,
    OCCUPIES_BUFFER = 40
}; /* `occupies`: queues, reorder buffer */
#define PIPE_ABOVE   ((uint64_t)1 << 19 | (uint64_t)1 << 39 | (uint64_t)1 << 59)
#define PIPE_QUEUES  (((uint64_t)1 << OCCUPIES_BUFFER) - 1)
#define PIPE_ONE(of) ((uint64_t)1 << (of))

/* What an instruction in flight takes from the static one. */
struct pipe_shape {
    uint32_t uops; /* id of the first */
    uint8_t n_uops, n_loads, n_stores;
    uint8_t flags; /* INSN_* */
    uint8_t n_mems;
    uint16_t first_mem;
    uint8_t flow, static_flags; /* of hp_static */
    uint64_t holds;    /* registers and memory queue entries that it holds until it leaves */
    uint64_t occupies; /* a reorder buffer entry likewise, a queue entry until it is issued */
};

struct pipe_static {
    uint64_t line; /* of code, that it begins in */
    struct pipe_shape shape;
    bool crosses; /* ends in the next line */
};

/* Register numbers: general ones, then vector registers. Those read come first. */
#define PIPE_REGS 18
#define PIPE_MANY UINT8_MAX /* n_reads: too many; hp_uop has them */
struct pipe_suop {
    uint8_t unit, operand, after, access;
    uint16_t latency, busy;
    uint32_t size;
    uint8_t n_reads, n_writes;
    uint8_t regs[PIPE_REGS];
};

/* --- What is in flight ------------------------------------------------------------------------ */

struct pipe_insn {
    struct hp_timing *timing;
    struct pipe_shape shape;
    uint64_t done;          /* cycle; PIPE_NEVER: not all of its uops have been issued */
    uint64_t complete;      /* the latest of those issued */
    uint64_t address[2];    /* of its operands */
    uint8_t unissued;       /* of its uops */
    uint8_t unloaded;       /* of those, loads */
    uint8_t last;           /* the uop that completes last, so far */
    uint8_t known;          /* bit i: address[i] is known */
    uint32_t insn;          /* static id */
    uint64_t loaded;        /* the latest completion of its loads */
    uint64_t fed;           /* right path: position of its block */
    uint32_t index;         /* right path: in its block */
    uint32_t stores, loads; /* positions in the store and load queue when it was mapped */
    uint16_t cost;          /* branch queue */
} __attribute__((aligned(64)));

enum { UOP_WAITING, UOP_READY, UOP_ASLEEP, UOP_ISSUED };

struct pipe_uop {
    uint64_t ready;         /* as far as is known; once issued: when it completes */
    uint64_t producer_done; /* when its latest operand completes; initially the cycle after map */
    uint32_t producer;      /* static id of that operand's producer */
    uint32_t producer_at;   /* and position, modulo 2^32 */
    uint32_t waiting;       /* list of uops that wait for it, the youngest first */
    uint16_t pending;       /* results it waits for whose time is unknown */
    uint8_t state, unit;
};

/* A member of a list. */
struct pipe_link {
    uint64_t key;
    uint32_t next;
};

/* The last writer of a register. Below the head: no longer in flight. */
struct pipe_writer {
    uint64_t at;
    uint32_t uop; /* index in flight_uops */
};

/* Of static instructions, by id. */
struct pipe_note {
    uint64_t address[2]; /* addresses of its operands when last on the right path */
    uint32_t period;     /* 1 + the period in which its loads wait for all stores: rule 9 */
    uint8_t known;
};

/* Ready uops of one kind, by age: keys in a ring. */
struct pipe_ready {
    uint64_t *keys;
    uint32_t first, n;
};

/* Divisions hold their units. */
struct pipe_held {
    uint32_t n;
    uint64_t *until; /* the cycle in which each becomes free */
};

/* A right-path store in the reorder buffer. Until its address is known its range is empty. */
struct pipe_store {
    uint64_t first, last;
    uint32_t loads;   /* position in the load queue: loads from there on are younger */
    uint32_t waiting; /* list: loads that wait for it */
    bool issued;
};

/* A load, likewise until it is issued. */
struct pipe_load {
    uint64_t first, last;
    uint64_t at;   /* position of its instruction */
    uint32_t from; /* the store that its value came from: 1 + position in the store queue */
    bool forwarded;
};

/* A line on its way to the L1D. */
struct pipe_line {
    uint64_t line; /* 1 + its number; 0: none */
    uint64_t arrives;
    uint8_t level; /* enum hp_source_level */
};

struct pipe_lines {
    struct pipe_line *table; /* open addressing */
    uint32_t mask, used;
    uint64_t last;    /* when the last of them arrives */
    uint64_t *places; /* heap: when each becomes free, the first on top */
    uint32_t n_places;
};

/* --- The wrong path --------------------------------------------------------------------------- */

struct pipe_wrong {
    bool on;
    uint64_t at;                /* where it continues when `piece` is none; 0: unknown */
    uint32_t piece, index;      /* HP_NO_ID: to be looked up */
    uint64_t *calls;            /* return addresses of its calls */
    uint32_t n_calls, returned; /* returned: entries of the return stack used */
};

/* The instruction that fetch is at, and what was read for it. */
struct pipe_fetch {
    uint64_t from;      /* the cycle in which fetch resumes */
    uint64_t line;      /* next of its lines to be read, if `begun` */
    uint64_t last_line; /* read last, in cycle `last_cycle` */
    uint64_t last_cycle;
    uint64_t arrived; /* a missing line that arrives in cycle `from`; PIPE_NEVER: none */
    uint32_t events;
    uint8_t code_from;
    bool begun, looked; /* looked: one of its lines was looked up */
};

struct pipe_power;

struct hp_pipe {
    uint64_t now;
    bool in_cycle;       /* all phases of this cycle but fetch have been run */
    bool moved;          /* something happened in this cycle */
    bool measured;       /* state of feeding */
    bool break_next;     /* before the next block fed */
    uint32_t delay_next; /* ... and a handler that takes so long */
    bool fetch_measured; /* of what is fetched now; of wrong paths: as of the transfer before */
    bool last_measured;  /* what was fetched last */
    enum hp_err error;

    /* Tables of the program, reloaded when it grew. */
    const struct hp_static *insns;
    const struct hp_uop *uops;
    struct pipe_static *statics;
    struct pipe_suop *suops;
    struct pipe_note *notes;
    size_t cap_statics, cap_suops, cap_notes;
    uint32_t n_statics, n_suops;

    /* In flight. */
    uint64_t head, mapped, tail;
    uint32_t mask;
    struct pipe_insn *flight;
    struct pipe_uop *flight_uops; /* 8 for each position */
    struct pipe_writer writers[128];
    uint64_t free_to_hold, free_to_occupy; /* as in pipe_shape, with PIPE_ABOVE */
    uint32_t n_serial;                     /* instructions that run alone, in the reorder buffer */

    /* Waiting and ready. */
    struct pipe_link *links;
    size_t cap_links;
    uint32_t n_links, free_link;
    uint64_t *soon; /* keys: ready in the next cycle */
    uint32_t n_soon;
    uint32_t wheel[PIPE_WHEEL];
    uint64_t wheel_bits[PIPE_WHEEL / 64];
    uint32_t far;       /* list: too late for the wheel */
    uint64_t far_first; /* not before this cycle; PIPE_NEVER: empty */
    struct pipe_ready ready[HP_UNITS];
    uint32_t ready_mask;
    uint32_t kinds;    /* bit k: ready[k] is not empty */
    uint64_t *arrived; /* keys: ready since this cycle */
    uint32_t n_arrived;
    uint8_t units[HP_UNITS]; /* units that are not held */
    uint8_t units_n[HP_UNITS];
    uint32_t full; /* bit k: all units are held */
    uint32_t n_held;
    struct pipe_held held[HP_UNITS];
    uint64_t in_order_at; /* key of the next to be issued, in order cores */

    /* Loads and stores of the right path. */
    struct pipe_store *stores;
    struct pipe_load *loads;
    uint32_t stores_head, stores_tail, stores_unissued; /* unissued: the oldest, or the tail */
    uint32_t loads_head, loads_tail, order_mask;
    uint32_t for_all_stores; /* list: loads that wait for all older stores */
    struct pipe_lines lines;

    /* Redirects. */
    uint64_t unresolved;  /* position of the mispredicted transfer; 0: none */
    uint64_t resolved_in; /* cycle; PIPE_NEVER: unknown */
    uint64_t trap_at;     /* position of the load; 0: none */
    uint64_t trap_in;     /* cycle */

    /* Fetch. */
    struct pipe_fed *fed;
    uint32_t fed_mask;
    uint64_t fed_head, fed_tail, fed_at; /* at: that fetch is in */
    uint32_t fed_index;
    uint64_t fed_insns; /* in all */
    uint64_t *addresses;
    size_t cap_addresses; /* power of two */
    uint64_t addresses_head, addresses_tail;
    struct pipe_fetch fetch;
    struct pipe_wrong wrong;
    uint32_t history;

    /* The branch queue: when each accepted transfer is finished; a ring of `queue` + 1. */
    uint64_t *queue;
    uint32_t queue_size, queue_first, queue_n;
    uint64_t queue_end;
    bool queue_stalled;

    /* Timings: numbers are assigned up to tail, delivered up to head. */
    struct hp_timing *timings;
    size_t cap_timings; /* power of two */
    uint64_t timings_head, timings_tail;

    /* The machine. */
    uint32_t width, issue, retire, fetch_queue, reorder, memory_queue, int_queue, fp_queue;
    uint32_t int_registers, vec_registers, front, mispredict, code_ports, misses;
    uint32_t level_latency[HP_FROM_MEMORY + 1]; /* of the data side; code has the same from L2 on */
    uint32_t itlb_latency, dtlb_latency, tlb2_latency;
    unsigned code_bits, data_bits, pc_bits;
    bool in_order;
    struct hp_program *program;
    struct hp_core *core;
    struct hp_pipe_config config;
    struct hp_events events; /* of the core's memory, not yet added to its totals */
    struct hp_pipe_stats stats;
    struct pipe_power *power; /* power.h; NULL: not wanted */

    /* With HP_CHECKS. */
    uint64_t check_insn; /* number of the next right-path instruction to retire */
};

/* --- Places ----------------------------------------------------------------------------------- */

static inline struct pipe_insn *insn_at(struct hp_pipe *p, uint64_t position)
{
    return &p->flight[position & p->mask];
}

static inline uint32_t place_of(const struct hp_pipe *p, uint64_t key)
{
    return (uint32_t)key & (p->mask << 3 | 7);
}

static inline struct pipe_uop *uop_at(struct hp_pipe *p, uint64_t key)
{
    return &p->flight_uops[place_of(p, key)];
}

static inline struct pipe_fed *fed_at(struct hp_pipe *p, uint64_t position)
{
    return &p->fed[position & p->fed_mask];
}

static inline uint32_t n_queued(const struct hp_pipe *p)
{
    return (uint32_t)(p->tail - p->mapped);
}

/* A cycle as timings store it. */
static inline uint32_t since(const struct hp_timing *timing, uint64_t cycle)
{
    uint64_t cycles = cycle - timing->fetched;
    return cycles < HP_NEVER ? (uint32_t)cycles : HP_NEVER - 1;
}

/* --- The parts -------------------------------------------------------------------------------- */

/* static.c: the tables of the program may have moved or grown. HP_ERR_NOMEM. */
enum hp_err hp_pipe_refresh(struct hp_pipe *p);

/* feed.c */
enum hp_err hp_pipe_feed(struct hp_pipe *p, const struct hp_batch *batch, const uint16_t *costs,
                         size_t first, size_t n);
enum hp_err hp_pipe_feed_tail(struct hp_pipe *p, const struct hp_event *tail);
/* The last of the oldest block has retired. */
void hp_pipe_block_retired(struct hp_pipe *p);

/* fetch.c: the fetch phase; false: it needs more of the right path first. */
bool hp_pipe_fetch(struct hp_pipe *p);

/* wrong.c: begins a wrong path; returns the next instruction's static id (HP_NO_ID: unknown);
 * advances past a fetched instruction and returns whether it is predicted taken. */
void hp_pipe_wrong_start(struct hp_pipe *p, uint64_t at);
uint32_t hp_pipe_wrong_insn(struct hp_pipe *p);
bool hp_pipe_wrong_next(struct hp_pipe *p, const struct hp_static *s);

/* map.c: the map phase; and restores the writers of registers that instructions aborted from
 * `position` on had written. */
void hp_pipe_map(struct hp_pipe *p);
void hp_pipe_restore_writers(struct hp_pipe *p, uint64_t position);

/* wait.c: lists. hp_pipe_link(), hp_pipe_unlink() and hp_pipe_schedule() are below. */
uint32_t hp_pipe_new_link(struct hp_pipe *p);
void hp_pipe_unlink_all(struct hp_pipe *p, uint32_t list);
void hp_pipe_put_in_wheel(struct hp_pipe *p, uint64_t key, uint64_t cycle);
/* Makes the uops of this cycle ready. */
void hp_pipe_arrive(struct hp_pipe *p);
/* Makes a waiting uop ready. */
void hp_pipe_make_ready(struct hp_pipe *p, uint64_t key);
/* The same for a list, which is freed. */
void hp_pipe_wake(struct hp_pipe *p, uint32_t list);
/* Removes uops aborted from `position` on from the ready lists, and from lists of uops that were
 * not aborted. */
void hp_pipe_drop_ready(struct hp_pipe *p, uint64_t position);
void hp_pipe_drop_waiting(struct hp_pipe *p, uint64_t position);
/* The first cycle after this in which something becomes ready. */
uint64_t hp_pipe_next_arrival(struct hp_pipe *p);

/* issue.c: the issue phase. */
void hp_pipe_issue(struct hp_pipe *p);
uint64_t hp_pipe_next_free_unit(struct hp_pipe *p);

/* access.c: an operand's access in this cycle, with its events and level; returns when it
 * completes. */
uint64_t hp_pipe_access(struct hp_pipe *p, struct pipe_insn *insn, const struct pipe_suop *uop,
                        bool wait);

/* order.c: rule 9. */
enum order { ORDER_CACHE, ORDER_FORWARD, ORDER_ASLEEP };
void hp_pipe_order_map(struct hp_pipe *p, struct pipe_insn *insn);
enum order hp_pipe_order_load(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn,
                              const struct pipe_suop *uop);
void hp_pipe_order_store(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn,
                         const struct pipe_suop *uop);
void hp_pipe_order_retire(struct hp_pipe *p, const struct pipe_insn *insn);
void hp_pipe_order_abort(struct hp_pipe *p, uint64_t position);

/* retire.c: the retire and the redirect phase. */
void hp_pipe_retire(struct hp_pipe *p);
void hp_pipe_redirect(struct hp_pipe *p);

/* timing.c: reserves room for the timings of a cycle; false: memory ran out. */
bool hp_pipe_timing_room(struct hp_pipe *p);
/* Delivers those that are complete, if there are at least `least` of them. */
void hp_pipe_hand_out(struct hp_pipe *p, uint64_t least);

/* check.c: with HP_CHECKS, checks all invariants at the end of every cycle; a violation ends the
 * process. */
void hp_pipe_check(struct hp_pipe *p);
void hp_pipe_check_issued(struct hp_pipe *p, uint64_t key);
void hp_pipe_check_retired(struct hp_pipe *p, const struct pipe_insn *insn);

/* --- Links and schedules ---------------------------------------------------------------------- */

static inline uint32_t hp_pipe_link(struct hp_pipe *p, uint64_t key, uint32_t next)
{
    uint32_t link = p->free_link;
    if (__builtin_expect(link == PIPE_NO_LINK, 0)) {
        link = hp_pipe_new_link(p);
        if (link == PIPE_NO_LINK)
            return next;
    } else {
        p->free_link = p->links[link].next;
    }
    p->links[link] = (struct pipe_link){.key = key, .next = next};
    return link;
}

/* Frees a list's first member; returns the next. */
static inline uint32_t hp_pipe_unlink(struct hp_pipe *p, uint32_t link)
{
    uint32_t next = p->links[link].next;
    p->links[link].next = p->free_link;
    p->free_link = link;
    return next;
}

/* Schedules a uop that waits only for its cycle, which is after this one. */
static inline void hp_pipe_schedule(struct hp_pipe *p, uint64_t key, uint64_t cycle)
{
    if (cycle == p->now + 1)
        p->soon[p->n_soon++] = key;
    else
        hp_pipe_put_in_wheel(p, key, cycle);
}

#endif
