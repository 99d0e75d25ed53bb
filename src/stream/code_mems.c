// SPDX-License-Identifier: MIT
/* The number of memory operands in pieces of code: decoded once, then cached. */
#include "base/grow.h"
#include "stream/code_impl.h"

/* Operands of the first `insns` instructions of a block. */
static enum hp_err count_block(struct hp_code *code, uint32_t block, uint32_t insns, uint32_t *mems)
{
    const struct hp_insn *decoded;
    HP_TRY(hp_code_insns(code, block, &decoded));
    uint32_t n = code->blocks[block].insns;
    *mems = 0;
    for (uint32_t i = 0; i < n && i < insns; i++)
        *mems += decoded[i].n_mems;
    return HP_OK;
}

/* The same for a node; undecodable code is treated as in hp_code_insns(). */
static void count_node(struct hp_code *code, uint32_t id, uint32_t insns, uint32_t *mems)
{
    const struct hp_node *node = &code->nodes[id];
    struct hp_insn insn;
    uint64_t at = node->start;
    *mems = 0;
    for (uint32_t i = 0; i < node->insns && i < insns && at < node->end; i++, at += insn.length) {
        hp_decode(code->decoder, node->mode, at, code->bytes + node->code + (at - node->start),
                  (size_t)(node->end - at), false, &insn);
        *mems += insn.n_mems;
    }
}

enum hp_err hp_code_mems(struct hp_code *code, uint32_t route, uint32_t insns, uint32_t *mems)
{
    bool is_node = route & HP_ROUTE_NODE;
    uint32_t id = route & ~HP_ROUTE_NODE;
    struct hp_mems *known = is_node ? &code->node_mems : &code->block_mems;
    uint32_t all = is_node ? code->nodes[id].insns : code->blocks[id].insns;
    if (id < known->cap && known->counts[id] && insns >= all) {
        *mems = known->counts[id] - 1;
        return HP_OK;
    }
    if (is_node)
        count_node(code, id, insns, mems);
    else
        HP_TRY(count_block(code, id, insns, mems));
    if (insns < all)
        return HP_OK;
    HP_TRY(hp_grow(&known->counts, &known->cap, (size_t)id + 1, sizeof *known->counts));
    known->counts[id] = *mems + 1;
    return HP_OK;
}

static enum hp_err count_segment(struct hp_code *code, uint32_t id, uint32_t *mems)
{
    uint32_t route = code->route[id], sum, more;
    size_t n = code->segs[id].parent ? hp_weight_blocks(code->chains[id].weight) : 0;
    size_t before = n && !(route & HP_ROUTE_NODE) ? n - 1 : n; /* its own code is not included */
    HP_TRY(hp_code_mems(code, route, UINT32_MAX, &sum));
    for (size_t i = 0; i < before; i++) {
        HP_TRY(hp_code_mems(code, hp_chain_blocks(code, &code->chains[id])[i], UINT32_MAX, &more));
        sum += more;
    }
    *mems = sum;
    return HP_OK;
}

enum hp_err hp_code_segment_mems(struct hp_code *code, uint32_t id, uint32_t insns, uint32_t *mems)
{
    struct hp_mems *known = &code->segment_mems;
    if (id >= known->cap || !known->counts[id]) {
        uint32_t sum;
        HP_TRY(count_segment(code, id, &sum));
        HP_TRY(hp_grow(&known->counts, &known->cap, (size_t)id + 1, sizeof *known->counts));
        known->counts[id] = sum + 1;
    }
    *mems = known->counts[id] - 1;
    if (insns == UINT32_MAX)
        return HP_OK;
    uint32_t own, part;
    HP_TRY(hp_code_mems(code, code->route[id], UINT32_MAX, &own));
    HP_TRY(hp_code_mems(code, code->route[id], insns, &part));
    *mems -= own - part;
    return HP_OK;
}
