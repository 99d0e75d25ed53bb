// SPDX-License-Identifier: MIT
/*
 * Parts of the loop reference: the shadow stack (loop_reference_stack.c) walks the stream and
 * reports which nodes were run, in the first walk to the graph (loop_reference_graph.c), in the
 * second to the counts (loop_reference.c).
 */
#ifndef HP_TESTS_LOOP_REFERENCE_IMPL_H
#define HP_TESTS_LOOP_REFERENCE_IMPL_H

#include "loop_reference.h"

#include "base/map64.h"

/* --- What is kept of the stream --------------------------------------------------------------- */

struct chunk {
    uint32_t thread;
    bool is_event;
    struct hp_event event;
    size_t first, n; /* n + 1 blocks */
};

/* --- The graph -------------------------------------------------------------------------------- */

struct node {
    uint32_t next;  /* of its chain; HP_NO_ID: none */
    uint32_t own;   /* instructions before that */
    uint64_t order; /* of its first run; UINT64_MAX: never */
    uint32_t function;
    bool root;
    bool normal;   /* an edge that is not exceptional leads to it */
    uint32_t loop; /* the innermost */
    bool header;   /* of that */
};

struct edge {
    uint32_t from, to;
    bool normal; /* else always exceptional */
    bool back;   /* removed: leads to the header of a loop around both */
};

struct loop {
    uint32_t parent, name; /* name: the header it is named by */
    uint32_t depth;
    uint32_t *nodes;
    size_t n_nodes;
    uint32_t n_headers;
};

/* --- Activations ------------------------------------------------------------------------------ */

enum frame_kind { CALLED, JUMPED, BASE, SIGNAL };

/* How an activation reached the block that it runs next. */
enum came {
    CAME_BEGIN,     /* its history begins there */
    CAME_CALLED,    /* by a call that made it */
    CAME_JUMPED,    /* by a jump that made it */
    CAME_WITHIN,    /* by a transfer that made and ended nothing, or by the link of a chain */
    CAME_ALONG,     /* by a jump that made and ended nothing */
    CAME_BACK,      /* something that it called or jumped to returned as expected */
    CAME_EXCEPTION, /* the same, unexpectedly */
};

struct execution {
    uint32_t loop;
    uint64_t iterations;
};

struct activation {
    enum frame_kind kind;
    uint64_t expects;
    uint32_t function;
    uint64_t entered;  /* clock */
    uint32_t last;     /* node it was last in; HP_NO_ID: none yet */
    uint32_t position; /* the same, for membership in loops; used by the counts */
    uint32_t pending;  /* block that it continues with; HP_NO_ID: none */
    enum came came;    /* to that */
    struct execution *executions;
    size_t n_executions, cap_executions;
};

struct walk_thread {
    uint32_t id;
    struct activation *stack;
    size_t n, cap;
    bool fresh;
    uint64_t clock;
    uint32_t *abandoned; /* blocks that were run before signals came and other code was run; their
                            tails will come */
    size_t n_abandoned, cap_abandoned;
    struct hp_map64 edges_seen; /* from << 32 | to, of direct jumps */
    bool *watched;              /* by block: a direct jump that left its function */
};

struct walk;

/* Receives the events of a walk. */
struct listener {
    /* The activation runs `node`, coming from node `from` (HP_NO_ID: none). The clock does not
     * include it yet. */
    void (*run)(struct walk *w, struct walk_thread *t, struct activation *a, uint32_t node,
                uint32_t from, enum came came);
    /* A signal arrives after the block that the activation continues with has been run. */
    void (*interrupt)(struct walk *w, struct walk_thread *t, struct activation *a);
    /* The activation ends; `history`: because the thread's history ends. */
    void (*end)(struct walk *w, struct walk_thread *t, struct activation *a, bool history);
    /* A block was run at a time and in an activation that are no longer known. */
    void (*orphan)(struct walk *w, struct walk_thread *t, uint32_t node);
};

struct walk {
    struct loop_reference *r;
    struct hp_functions *functions;
    const struct listener *listener;
    struct walk_thread *threads;
    size_t n_threads;
    bool *returned_to; /* by block */
    uint32_t *homes;   /* by block returned to: the activation's function, the first time */
};

/* Counts of a loop in a thread. */
struct loop_thread {
    struct hp_ploop_count counts;
    uint64_t active, since; /* activations in it, and since when */
    uint64_t going;         /* activations with an execution */
    uint64_t previous, change;
    uint64_t ended; /* executions */
};

struct loop_reference {
    struct hp_code *code;
    struct hp_functions *functions[2];
    struct chunk *chunks;
    size_t n_chunks, cap_chunks;
    uint32_t *blocks;
    size_t n_blocks, cap_blocks;
    uint32_t n_threads;

    struct node *nodes; /* by block */
    size_t n_nodes;
    uint64_t n_run;
    struct edge *edges;
    size_t n_edges, cap_edges;
    struct hp_map64 edge_of;
    struct hp_map64 shared;  /* functions whose code was run by activations of others */
    struct hp_map64 strayed; /* functions reached by activations of a lost shadow stack */
    struct hp_map64 late;    /* functions whose graph was different for a time */
    struct loop *loops;
    size_t n_loops, cap_loops;

    struct loop_thread *counts; /* thread * n_loops + loop */
    uint64_t *runs;             /* by node, all threads */
    struct loop_result *results;
    struct loop_trips **trips; /* by loop */
    size_t *n_trips, *cap_trips;
    struct hp_map64 *trip_of; /* by loop: value -> trips */
    bool done;
};

void loop_reference_walk(struct loop_reference *r, struct hp_functions *functions,
                         const struct listener *listener);

/* Finds which blocks contain which, before the first walk. */
void loop_reference_chains(struct loop_reference *r);
/* Receives the first walk. */
extern const struct listener loop_reference_edges;
/* After it. */
void loop_reference_find(struct loop_reference *r);
/* Whether a transfer is an edge of the graph. */
bool loop_reference_is_edge(const struct loop_reference *r, uint32_t from, uint32_t to,
                            enum came came);
/* Marks the function of a node as not comparable. */
void loop_reference_stray(struct loop_reference *r, uint32_t node);
/* Whether `node` is in `loop`. */
bool loop_reference_in(const struct loop_reference *r, uint32_t node, uint32_t loop);

void *loop_reference_room(void *array, size_t *cap, size_t need, size_t size);

#endif
