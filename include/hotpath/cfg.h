// SPDX-License-Identifier: MIT
/*
 * A function's control flow graph, recovered from the code map. It covers executed code only.
 *
 * Blocks of the code map overlap; they are cut into basic blocks wherever one starts. A call leads
 * to the instruction after it, as in Ball and Larus. A return, a jump out of the function, and a
 * block without a known successor lead to the exit.
 */
#ifndef HOTPATH_CFG_H
#define HOTPATH_CFG_H

#include "hotpath/code.h"
#include "hotpath/numbering.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HP_CFG_ENTRY 0
#define HP_CFG_EXIT  1
#define HP_CFG_FIRST 2 /* the first vertex that is a basic block; they are in order of address */

struct hp_cfg_vertex {
    uint64_t start, last, end; /* as in struct hp_block */
    uint64_t target;
    uint32_t insns;
    uint8_t flow;  /* enum hp_flow; HP_FLOW_NONE: cut, it falls through */
    uint8_t flags; /* HP_BLOCK_* */
};

struct hp_cfg {
    struct hp_graph graph;
    struct hp_cfg_vertex *vertices; /* graph.n; the first two are empty */
    struct hp_graph_edge *edges;    /* == graph.edges */
    struct hp_cfg_memory *memory;   /* private */
};

/*
 * `blocks`: those of the function. `entry`: the one at which it is entered. `observed`: how often
 * each block followed each other one, at least for the function's blocks (others are ignored); may
 * be empty. It supplies the targets of indirect jumps, other entries and the counts.
 * HP_ERR_UNSUPPORTED: the function's code changed while it ran. HP_ERR_INVALID: the entry is not
 * one of the blocks.
 */
HP_MUST_CHECK enum hp_err hp_cfg_new(struct hp_code *code, const uint32_t *blocks, size_t n_blocks,
                                     uint32_t entry, const struct hp_edge_count *observed,
                                     size_t n_observed, struct hp_cfg **cfg);
void hp_cfg_free(struct hp_cfg *cfg);

/* The vertex that starts at an address, or HP_NO_ID; the edge of two vertices, or HP_NO_EDGE. */
uint32_t hp_cfg_at(const struct hp_cfg *cfg, uint64_t address);
uint32_t hp_cfg_edge(const struct hp_cfg *cfg, uint32_t from, uint32_t to);

/* A path of the numbering as the path detector's `bl` would describe it: start, branches, outcomes
 * (the last branch is bit 0). `edges` are its edges. False: longer than 64 branches, or an outcome
 * is ambiguous (an edge that is both taken and not taken). */
struct hp_cfg_signature {
    uint64_t start;
    uint64_t outcomes;
    uint32_t length;
    bool from_entry; /* begins where the function was entered, not after a back edge */
    bool to_exit;    /* ends with the function, not with a back edge */
};
bool hp_cfg_signature(const struct hp_cfg *cfg, const struct hp_numbering *numbering,
                      const uint32_t *edges, uint32_t n, struct hp_cfg_signature *signature);

#ifdef __cplusplus
}
#endif
#endif
