// SPDX-License-Identifier: MIT
/*
 * Ball-Larus path numbering (Ball and Larus, Efficient path profiling, MICRO 1996) of any control
 * flow graph: docs/numbering.md.
 *
 * Back edges are cut: each becomes two *dummy* edges, from the entry to its head and from its tail
 * to the exit (one of each for a vertex, however many back edges meet there). Then every path from
 * the entry to the exit has a number of its own, 0 ... n - 1, without gaps: the sum of the values
 * of its edges. The same sums come from the increments of few edges, the chords of a spanning tree.
 */
#ifndef HOTPATH_NUMBERING_H
#define HOTPATH_NUMBERING_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HP_NO_EDGE UINT32_MAX

struct hp_graph_edge {
    uint32_t from, to;
    uint64_t count; /* how often it was executed, where that is known */
};

/* A control flow graph. There may be several edges between two vertices. */
struct hp_graph {
    uint32_t n;           /* vertices */
    uint32_t entry, exit; /* two of them: no edge leads to the entry, none leaves the exit */
    const struct hp_graph_edge *edges;
    uint32_t n_edges;
};

enum hp_numbered_kind {
    HP_EDGE_REAL,
    HP_EDGE_BACK,        /* no part of any path: see `enter` and `leave` */
    HP_EDGE_UNREACHABLE, /* likewise: cannot be reached from the entry */
    HP_EDGE_ENTER,       /* dummy: from the entry to the head of back edges */
    HP_EDGE_LEAVE,       /* dummy: from the tail of back edges to the exit */
};

struct hp_numbered_edge {
    uint32_t from, to;
    uint8_t kind;          /* enum hp_numbered_kind */
    bool chord;            /* counting takes place here: not an edge of the spanning tree */
    uint64_t value;        /* what it adds to a path's number */
    int64_t increment;     /* of a chord; 0 for the others */
    uint64_t weight;       /* executions, counted or estimated */
    uint32_t enter, leave; /* of a back edge: the dummies in its place */
};

struct hp_numbering {
    uint32_t n, entry, exit;
    uint64_t paths;                 /* numbers are below this */
    struct hp_numbered_edge *edges; /* those of the graph, in order, then the dummies */
    uint32_t n_edges;
    uint64_t *paths_from; /* of each vertex: paths to the exit; 0: cannot be reached */
    uint32_t *first;      /* n + 1: where the edges leaving a vertex begin in `out`, */
    uint32_t *out; /* by ascending value; back edges and unreachable ones are not among them */
};

/*
 * `counted`: the spanning tree is one of maximum weight by the edges' counts, so the fewest events
 * are counted; without it weights are estimated: loops iterate ten times and branches go either way
 * equally often. Of the edges that leave a vertex, the first has the smallest value.
 * HP_ERR_INVALID: an edge to or from a vertex that does not exist, to the entry, or from the exit;
 * a reachable vertex other than the exit that no edge leaves. HP_ERR_UNSUPPORTED: more than 2^63
 * paths.
 */
HP_MUST_CHECK enum hp_err hp_numbering_new(const struct hp_graph *graph, bool counted,
                                           struct hp_numbering **numbering);
void hp_numbering_free(struct hp_numbering *numbering);

/* Stores the edges of the path with this number in `edges` (at most n). Returns their number; 0:
 * there is no such path. */
uint32_t hp_numbering_path(const struct hp_numbering *numbering, uint64_t number, uint32_t *edges);

/* The number of a path, given by its edges. HP_ERR_INVALID: they are not a path from the entry to
 * the exit. */
HP_MUST_CHECK enum hp_err hp_numbering_number(const struct hp_numbering *numbering,
                                              const uint32_t *edges, uint32_t n, uint64_t *number);

/* The sum of the increments of a path's chords; it equals the path's number. */
uint64_t hp_numbering_chord_sum(const struct hp_numbering *numbering, const uint32_t *edges,
                                uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
