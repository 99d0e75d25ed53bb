// SPDX-License-Identifier: MIT
/*
 * Path reconstruction: finds the path that led to a sampled instruction from its address and the
 * directions of the last conditional branches before it (ProfileMe, section 5.3). The graph of the
 * executed code is walked backwards; a path segment matches when each of its conditional branches
 * went as the history says. The rules are in docs/reconstruction.md.
 *
 * A *place* is a basic block of the whole program: the blocks of the code map, cut wherever one of
 * them starts. A *path segment* of N branches is a sequence of places: from the one that ends with
 * the N-th conditional branch before the sample to the one that has the sample. Within a routine it
 * may be shorter: it begins with the routine if that comes first. Calls that returned before the
 * sample are part of it in either case.
 */
#ifndef HOTPATH_RECONSTRUCT_H
#define HOTPATH_RECONSTRUCT_H

#include "hotpath/code.h"
#include "hotpath/path.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HP_RECONSTRUCT_BITS     32   /* of history, at most */
#define HP_RECONSTRUCT_FARTHEST 4095 /* distance of a pair */

/* --- The graph -------------------------------------------------------------------------------- */

struct hp_reconstruct_config {
    bool executed; /* only edges that were executed; else also what the code allows between executed
                      blocks: the other side of a conditional branch, all exits of what is called */
    uint32_t states; /* limit on the work for one query: places visited with different remaining
                        histories; 0: 4096 */
    uint32_t cached; /* cached answers, a power of two; 0: 16384 */
};

struct hp_reconstruct;

/*
 * `edges`: how often each block followed each other one in the whole run. `frames`: the functions,
 * so that a jump to the beginning of another function belongs to neither; NULL: unknown. It is not
 * kept. Keeps `code`, which must not change any more. Blocks whose code changed while it ran are
 * left out: hp_reconstruct_stats. HP_ERR_INVALID: an edge without a block, `cached` is not a power
 * of two, or more than 2^24 `states`. HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_reconstruct_new(struct hp_code *code,
                                             const struct hp_edge_count *edges, size_t n_edges,
                                             struct hp_frame_source *frames,
                                             const struct hp_reconstruct_config *config,
                                             struct hp_reconstruct **reconstruct);
/*
 * The same from samples alone: how often each edge was taken is estimated, and where indirect
 * transfers went is known from samples only. `known`: by block, whether it is part of the graph;
 * NULL: all are. config->executed does not matter.
 */
struct hp_path_observation {
    uint64_t pc;
    uint32_t history, bits; /* as in a query; 0 bits: unknown */
    uint32_t distance; /* the other one of a pair was executed at most so many before; 0: none */
    uint64_t other;    /* ... its address */
    uint64_t next;     /* where the instruction went, if it ends a block; 0: unknown */
};
HP_MUST_CHECK enum hp_err hp_reconstruct_new_sampled(struct hp_code *code,
                                                     const struct hp_path_observation *samples,
                                                     size_t n, const bool *known,
                                                     struct hp_frame_source *frames,
                                                     const struct hp_reconstruct_config *config,
                                                     struct hp_reconstruct **reconstruct);
void hp_reconstruct_free(struct hp_reconstruct *reconstruct);

struct hp_reconstruct_stats {
    uint32_t places;
    size_t edges, executed;   /* all; those that were executed */
    size_t left_out;          /* edges of the run that are not in the graph */
    uint64_t queries, cached; /* all; those answered from the cache */
    uint64_t over;            /* those given up: more than `states` */
};
const struct hp_reconstruct_stats *hp_reconstruct_stats(const struct hp_reconstruct *reconstruct);

/* Estimated counts are in this unit: one sample sees so much of the edges around it. */
#define HP_RECONSTRUCT_SAMPLE ((HP_RECONSTRUCT_SPAN + 1) * 16)
#define HP_RECONSTRUCT_SPAN   32 /* instructions before a sample whose edges it tells */

/* Edge `i` of the graph, from 0 up to stats->edges; its order changes with the counts. */
struct hp_reconstruct_edge {
    uint64_t from, to; /* addresses at which the two places start */
    uint64_t count;
    bool call;
};
struct hp_reconstruct_edge hp_reconstruct_edge(const struct hp_reconstruct *reconstruct, size_t i);

/* --- Asking ----------------------------------------------------------------------------------- */

enum hp_reconstruct_scheme {
    HP_RECONSTRUCT_COUNTS,   /* no history: the predecessor that was executed most often, however
                                often it led here */
    HP_RECONSTRUCT_EDGES,    /* no history: the edge executed most often */
    HP_RECONSTRUCT_HISTORY,  /* all segments that match */
    HP_RECONSTRUCT_PAIR,     /* of these, those that contain the other instruction of a pair; those
                                shorter than the distance cannot contain it, and stay */
    HP_RECONSTRUCT_DISTANCE, /* of these, those that have it exactly where it was */
    HP_RECONSTRUCT_SCHEMES
};
/* "counts", "edges", "history", "pair", "distance". */
const char *hp_reconstruct_scheme_name(enum hp_reconstruct_scheme scheme);

struct hp_reconstruct_query {
    enum hp_reconstruct_scheme scheme;
    bool across;    /* interprocedural: continues where the routine was called */
    bool likeliest; /* HISTORY, PAIR, DISTANCE: of several segments the likeliest one, as if edges
                       were taken independently, with the frequencies observed */
    uint64_t pc;
    uint32_t history;  /* directions of the conditional branches before it; the latest is bit 0 */
    uint32_t bits;     /* number known, 1 ... HP_RECONSTRUCT_BITS */
    uint64_t other;    /* PAIR, DISTANCE: the earlier instruction of the pair */
    uint32_t distance; /* ... and how many instructions before, 1 ... HP_RECONSTRUCT_FARTHEST */
};

/* For each length of history, 1 ... bits, as if only that many bits were known. */
struct hp_reconstruct_answer {
    uint32_t known; /* lengths up to this are answered; longer ones took too much work, or (COUNTS,
                       EDGES) nothing precedes */
    uint8_t paths[HP_RECONSTRUCT_BITS + 1]; /* that match: 0, 1; 2 for several. [0] is unused */
    uint64_t path[HP_RECONSTRUCT_BITS + 1]; /* its id, where it is one; equal for equal paths */
};

/* An address that is not an executed instruction has no paths. HP_ERR_INVALID: bits or distance out
 * of range. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_reconstruct_ask(struct hp_reconstruct *reconstruct,
                                             const struct hp_reconstruct_query *query,
                                             struct hp_reconstruct_answer *answer);

/*
 * The correct answer: the path that was really taken. `blocks`: `n` blocks of the code map, in the
 * order of execution; the sample is instruction `insn` (from 0) of the last. `known`: lengths for
 * which the blocks reach back far enough. `*nested`: false when the rules do not allow the path,
 * because a return did not go back to its call, as after a longjmp; `known` then ends there.
 * HP_ERR_INVALID: no such block or instruction. */
HP_MUST_CHECK enum hp_err hp_reconstruct_follow(const struct hp_reconstruct *reconstruct,
                                                const uint32_t *blocks, size_t n, uint32_t insn,
                                                uint32_t bits, bool across,
                                                struct hp_reconstruct_answer *answer, bool *nested);

/* --- Listing ---------------------------------------------------------------------------------- */

/* All segments of a query's full length. */
struct hp_reconstruct_paths {
    uint64_t *starts; /* of places, in the order of execution */
    size_t *first;    /* segment i: starts[first[i]] up to starts[first[i + 1]] */
    size_t n;
    bool complete; /* else there are more: over the limit, or infinitely many (a loop without a
                      conditional branch) */
    size_t cap_starts, cap_first; /* private */
};

/* At most `limit`. HP_ERR_INVALID: as above. All zero is an empty list. */
HP_MUST_CHECK enum hp_err hp_reconstruct_list(struct hp_reconstruct *reconstruct,
                                              const struct hp_reconstruct_query *query,
                                              size_t limit, struct hp_reconstruct_paths *paths);
void hp_reconstruct_paths_fini(struct hp_reconstruct_paths *paths);

/* A sample's path within its routine, from its history: for a profile by paths. `likeliest`: of
 * several, take the likeliest. */
struct hp_reconstruct_segment {
    uint64_t id;            /* equal for samples at the same place on the same path */
    const uint64_t *starts; /* as above: valid until the next call */
    size_t n;               /* 0: there is none; or several, and not `likeliest` */
};
HP_MUST_CHECK enum hp_err hp_reconstruct_sample(struct hp_reconstruct *reconstruct, uint64_t pc,
                                                uint32_t history, uint32_t bits, bool likeliest,
                                                struct hp_reconstruct_segment *segment);

#ifdef __cplusplus
}
#endif
#endif
