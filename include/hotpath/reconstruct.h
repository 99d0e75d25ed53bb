// SPDX-License-Identifier: MIT
/*
 * Path reconstruction: from where an instruction was sampled and the directions of the last
 * conditional branches before it, the way that led there (ProfileMe, section 5.3). The graph of the
 * executed code is walked backwards; a path segment agrees when each of its conditional branches
 * went as the history says. The rules are in docs/reconstruction.md.
 *
 * A *place* is a basic block of the whole program: the blocks of the code map, cut wherever one of
 * them starts. A *path segment* of N branches is a sequence of places: from the one that ends with
 * the N-th conditional branch before the sample to the one that has the sample. Within a routine it
 * may be shorter: it begins with the routine, when that comes first. Calls that returned before the
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
    uint32_t states; /* work for one query, at most: places met with different histories behind
                        them; 0: 4096 */
    uint32_t cached; /* answers that are kept, a power of two; 0: 16384 */
};

struct hp_reconstruct;

/*
 * `edges`: which block came after which, how often, in the whole run. `frames`: functions, so that
 * a jump to the beginning of another one is known to be no part of either; NULL: nobody knows. It
 * is not kept. Keeps `code`, which must not change any more. Blocks whose code was changed while it
 * ran are left out: hp_reconstruct_stats. HP_ERR_INVALID: an edge of no block, `cached` is no power
 * of two, or more than 2^24 `states`. HP_ERR_NOMEM.
 */
HP_MUST_CHECK enum hp_err hp_reconstruct_new(struct hp_code *code,
                                             const struct hp_edge_count *edges, size_t n_edges,
                                             struct hp_frame_source *frames,
                                             const struct hp_reconstruct_config *config,
                                             struct hp_reconstruct **reconstruct);
void hp_reconstruct_free(struct hp_reconstruct *reconstruct);

struct hp_reconstruct_stats {
    uint32_t places;
    size_t edges, executed;   /* all; those that were executed */
    size_t left_out;          /* edges of the run that are not in the graph */
    uint64_t queries, cached; /* all; those whose answer was there already */
    uint64_t over;            /* those that were given up: more than `states` */
};
const struct hp_reconstruct_stats *hp_reconstruct_stats(const struct hp_reconstruct *reconstruct);

/* --- Asking ----------------------------------------------------------------------------------- */

enum hp_reconstruct_scheme {
    HP_RECONSTRUCT_COUNTS,  /* no history: of the places before, the one that was executed most
                               often, however often it led here */
    HP_RECONSTRUCT_EDGES,   /* no history: the edge that was executed most often */
    HP_RECONSTRUCT_HISTORY, /* all segments that agree */
    HP_RECONSTRUCT_PAIR, /* of these, those with the other instruction of a pair in it; those that
                            are shorter than the distance cannot be expected to have it, and stay */
    HP_RECONSTRUCT_DISTANCE, /* of these, those that have it exactly where it was */
    HP_RECONSTRUCT_SCHEMES
};
/* "counts", "edges", "history", "pair", "distance". */
const char *hp_reconstruct_scheme_name(enum hp_reconstruct_scheme scheme);

struct hp_reconstruct_query {
    enum hp_reconstruct_scheme scheme;
    bool across;    /* interprocedural: goes on where the routine was called */
    bool likeliest; /* HISTORY, PAIR, DISTANCE: of several segments the likeliest one, as if each
                       place were reached by its edges independently, as often as they were executed
                     */
    uint64_t pc;
    uint32_t history;  /* directions of the conditional branches before it; the latest is bit 0 */
    uint32_t bits;     /* of them known, 1 ... HP_RECONSTRUCT_BITS */
    uint64_t other;    /* PAIR, DISTANCE: the earlier instruction of the pair */
    uint32_t distance; /* ... and how many instructions before, 1 ... HP_RECONSTRUCT_FARTHEST */
};

/* For each length of history, 1 ... bits, as if no more had been known. */
struct hp_reconstruct_answer {
    uint32_t known; /* lengths up to this are answered; the others took too much work, or (COUNTS,
                       EDGES) there is nothing before */
    uint8_t paths[HP_RECONSTRUCT_BITS + 1]; /* that agree: 0, 1; 2 for several. [0] means nothing */
    uint64_t path[HP_RECONSTRUCT_BITS + 1]; /* where it is one: which. Equal for equal paths */
};

/* An address that is no executed instruction has no paths. HP_ERR_INVALID: bits or distance out of
 * range. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_reconstruct_ask(struct hp_reconstruct *reconstruct,
                                             const struct hp_reconstruct_query *query,
                                             struct hp_reconstruct_answer *answer);

/*
 * What the answer should have been: the way that was really taken. `blocks`: `n` of the code map,
 * in the order of execution; the sample is instruction `insn` (from 0) of the last. `known`:
 * lengths for which the blocks reach back far enough. `*nested`: false when it is a way that the
 * rules do not allow: a return that is not to where its call was, as after a longjmp; `known` is
 * then as far as they do. HP_ERR_INVALID: an id or an instruction that there is not. */
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
    bool complete; /* else there are more: over the limit, or without end (a loop that has no
                      conditional branch) */
    size_t cap_starts, cap_first; /* private */
};

/* At most `limit`. HP_ERR_INVALID: as above. All zero is an empty list. */
HP_MUST_CHECK enum hp_err hp_reconstruct_list(struct hp_reconstruct *reconstruct,
                                              const struct hp_reconstruct_query *query,
                                              size_t limit, struct hp_reconstruct_paths *paths);
void hp_reconstruct_paths_fini(struct hp_reconstruct_paths *paths);

/* A sample's path within its routine, by its history: for a profile by paths. With `likeliest`, of
 * several the likeliest. */
struct hp_reconstruct_segment {
    uint64_t id;            /* equal for samples in the same place by the same path */
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
