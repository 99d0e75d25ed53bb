// SPDX-License-Identifier: MIT
/*
 * The graphs of functions, built while a program runs, and their loops (docs/loops.md, rules 1 to
 * 5).
 *
 * Nodes are the blocks of the code map, by id. The observer of the program reports what was run
 * (hp_loop_graph_run()), which block followed which in one activation (hp_loop_graph_edge()) and
 * where activations begin (hp_loop_graph_root()); after hp_loop_graph_update() the loops are right.
 * All calls are idempotent. For all threads together.
 *
 * The nodes of a function have positions such that each loop is an interval of them, and edges that
 * close no loop go forward. So most new edges obviously change nothing, and most others only the
 * order (order.c); otherwise the function's loops are recomputed. After HP_LOOP_WORK_MAX steps of
 * such work for one function, that happens only when its edges have grown by an eighth; until then,
 * or until hp_loop_graph_settle(), the loops are `late`.
 */
#ifndef HP_PROFILER_LOOP_GRAPH_H
#define HP_PROFILER_LOOP_GRAPH_H

#include "base/map64.h"
#include "hotpath/code.h"
#include "symbols/functions.h"

#include <stdbool.h>

#define HP_LOOP_WORK_MAX (1u << 28)

struct hp_loop_node {
    uint32_t function;  /* index into functions; HP_NO_ID: not run yet */
    uint32_t next;      /* the next node of its chain; HP_NO_ID: it is the last */
    uint32_t last;      /* the last node of its chain; itself if alone */
    uint32_t peer;      /* a ring of blocks whose chains have the same last node */
    uint32_t first;     /* when it was first run; of equals (one chain) the lower start was first */
    uint32_t slot;      /* index in its function's nodes */
    uint32_t out;       /* edges from the block, as index + 1 */
    uint32_t n_normal;  /* edges to it that are not exceptional, including links of chains */
    uint32_t n_foreign; /* links of chains to it from other functions, which make it a root */
    uint32_t position;  /* in its function */
    uint32_t inner;     /* the innermost loop it is in; HP_NO_ID: none */
    uint32_t named;     /* the loop that it names or has named, as id + 1 */
    uint32_t mark;      /* order.c */
    bool orphan;        /* only an artificial root reaches it */
    bool thrown;        /* there are exceptional edges to it */
};

/* What running a block means. `loop` and `more` 0: nothing. */
struct hp_loop_arrival {
    uint32_t loop; /* the loop whose header it is, as id + 1; HP_LOOP_UNSEEN: not run yet */
    uint32_t more; /* the first header after it in its chain, as id + 1 */
    uint32_t via;  /* the node of the chain before that one */
    uint32_t root; /* not 0: it was called, or entered from another function */
};
#define HP_LOOP_UNSEEN UINT32_MAX

struct hp_loop_edge {
    uint32_t to;
    uint32_t next; /* of the same block: index + 1 */
    bool exceptional;
};

/* A loop. Its id stays the same while it is named by the same header. */
struct hp_loop {
    uint32_t header;    /* that names it */
    uint32_t function;  /* index into functions */
    uint32_t parent;    /* HP_NO_ID: none */
    uint32_t low, high; /* positions of its nodes */
    uint64_t begin;     /* hp_loop_position() of the first of them */
    bool irreducible;
    bool alive; /* currently a loop */
};

struct hp_loop_function {
    uint32_t id;     /* HP_NO_ID: unknown */
    uint32_t *nodes; /* those that were run; by slot */
    uint32_t *order; /* the same, by position */
    size_t n_nodes, cap_nodes, cap_order;
    uint32_t *loops; /* alive; outer ones before inner ones */
    size_t n_loops, cap_loops;
    uint32_t n_made;  /* artificial roots */
    uint32_t n_edges; /* when the loops were last computed, and since then */
    uint32_t n_since;
    uint64_t work;
    bool dirty; /* listed for recomputation */
    bool late;  /* its loops are not up to date */
};

struct hp_loop_graph {
    struct hp_code *code;
    struct hp_functions *names;
    struct hp_loop_node *nodes; /* by block */
    struct hp_loop_arrival *arrivals;
    uint64_t *exits; /* by block: hp_loop_position() of the last node of its chain */
    size_t n_nodes, cap_nodes, cap_arrivals, cap_exits;
    struct hp_map64 group_of; /* hash of an end -> the newest block with it */
    uint32_t *group_next;     /* by block: an older one of the same hash */
    size_t cap_group_next;
    struct hp_map64 edge_of[2]; /* from << 32 | to; [1]: exceptional */
    struct hp_loop_edge *edges;
    size_t n_edges, cap_edges;
    struct hp_map64 function_of; /* id -> index */
    struct hp_loop_function *functions;
    size_t n_functions, cap_functions;
    struct hp_loop *loops;
    size_t n_loops, cap_loops;
    uint32_t *dirty;
    size_t n_dirty, cap_dirty;
    uint32_t *marked; /* blocks whose arrival now matters, in the order found, each at least once */
    size_t n_marked, cap_marked;
    uint32_t clock;          /* blocks first run */
    uint64_t version;        /* changes when loops are computed, or an exit changes */
    struct hp_nest *scratch; /* nest.c */
    uint32_t *stack;         /* order.c */
    size_t cap_stack;
    uint32_t marks;
    bool out_of_memory; /* the graph is no longer right */
};

/* Keeps the pointers. */
enum hp_err hp_loop_graph_init(struct hp_loop_graph *graph, struct hp_code *code,
                               struct hp_functions *functions);
void hp_loop_graph_fini(struct hp_loop_graph *graph);

/* Adds nodes for new blocks of the code map; before anything is reported about these blocks. */
void hp_loop_graph_cover(struct hp_loop_graph *graph);

/* The block was run, `running` being the function (id) of the activation. */
void hp_loop_graph_run(struct hp_loop_graph *graph, uint32_t block, uint32_t running);

/* In one activation, `to` followed `from`; both were run. Between different functions it is not an
 * edge. */
void hp_loop_graph_edge(struct hp_loop_graph *graph, uint32_t from, uint32_t to, bool exceptional);

/* The block, which was run, was called, or entered from another function, other than by returning
 * to a frame. */
void hp_loop_graph_root(struct hp_loop_graph *graph, uint32_t block);

/* Computes the loops that may have changed. */
void hp_loop_graph_update(struct hp_loop_graph *graph);

/* Also computes what was postponed. */
void hp_loop_graph_settle(struct hp_loop_graph *graph);

/* Whether exceptional edges to the node are ignored. */
static inline bool hp_loop_graph_leaves_out(const struct hp_loop_graph *graph, uint32_t node)
{
    return graph->nodes[node].n_normal > 0;
}

/* The position of a node among those of all functions. */
static inline uint64_t hp_loop_position(const struct hp_loop_node *node)
{
    return (uint64_t)node->function << 32 | node->position;
}

/* Whether a loop contains the node at that position: its positions are an interval, so one unsigned
 * comparison is enough. */
static inline bool hp_loop_spans(const struct hp_loop *loop, uint64_t position)
{
    return position - loop->begin < loop->high - loop->low;
}

static inline bool hp_loop_has(const struct hp_loop_graph *graph, const struct hp_loop *loop,
                               uint32_t node)
{
    return hp_loop_spans(loop, hp_loop_position(&graph->nodes[node]));
}

/* A node's own instructions: those before the next one of its chain. */
uint32_t hp_loop_graph_own(const struct hp_loop_graph *graph, uint32_t node);

/* Chains that end with the node, if any, are left at its position. */
void hp_loop_graph_set_exits(struct hp_loop_graph *graph, uint32_t node);

/* --- order.c ---------------------------------------------------------------------------------- */

/* A new edge goes backward, in the region (a loop; HP_NO_ID: the function) whose part both of its
 * nodes are. True: it closes no cycle; now it goes forward. */
bool hp_loop_reorder(struct hp_loop_graph *graph, uint32_t from, uint32_t to, uint32_t region);

/* --- nest.c ----------------------------------------------------------------------------------- */

/* Computes the loops of a function; HP_ERR_NOMEM: they are unchanged. */
enum hp_err hp_loop_nest(struct hp_loop_graph *graph, uint32_t function);
void hp_loop_nest_free(struct hp_nest *nest);

#endif
