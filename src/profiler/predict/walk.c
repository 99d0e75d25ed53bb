// SPDX-License-Identifier: MIT
#include "profiler/predict/walk.h"

/* Between two branches: seams of long blocks and system calls. More are not looked at. */
#define MAX_BETWEEN 4096

static bool is_branch(const struct hp_block *block)
{
    return block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
           block->flow != HP_FLOW_TRAP;
}

static bool is_indirect(const struct hp_block *block)
{
    return block->flow == HP_FLOW_JUMP_IND || block->flow == HP_FLOW_CALL_IND ||
           block->flow == HP_FLOW_RETURN;
}

/* The code map may have grown. Without memory, what is missing is not found. */
static void update(struct hp_walk *walk)
{
    for (; walk->n_blocks < hp_code_n_blocks(walk->code); walk->n_blocks++)
        if (hp_map64_put(&walk->block_at, hp_code_block(walk->code, walk->n_blocks)->start,
                         walk->n_blocks) != HP_OK)
            return;
}

static const struct hp_block *block_at(const struct hp_walk *walk, uint64_t address)
{
    uint32_t id = hp_map64_get(&walk->block_at, address);
    return id == HP_MAP64_NONE ? NULL : hp_code_block(walk->code, id);
}

/* From `block` on, the first that ends with a branch; NULL: not known. */
static const struct hp_block *next_branch(const struct hp_walk *walk, const struct hp_block *block)
{
    for (int i = 0; block && !is_branch(block); i++)
        block = i < MAX_BETWEEN ? block_at(walk, block->end) : NULL;
    return block;
}

/* Where the branch went, given its outcome; takes a target from the list if it is in it. */
static uint64_t went_to(const struct hp_block *block, bool taken, const uint64_t **targets,
                        const uint64_t *end)
{
    if (!taken)
        return block->end;
    if (!is_indirect(block))
        return block->target;
    return *targets < end ? *(*targets)++ : 0;
}

static size_t walk_branches(struct hp_branch_source *source, const struct hp_path *path,
                            const uint64_t *targets, struct hp_flow_branch *branches)
{
    struct hp_walk *walk = (struct hp_walk *)source;
    const uint64_t *end = targets ? targets + path->n_targets : NULL;
    update(walk);
    const struct hp_block *block = path->block < hp_code_n_blocks(walk->code)
                                       ? hp_code_block(walk->code, path->block)
                                       : block_at(walk, path->start);
    size_t n = 0;
    while (n < path->length && (block = next_branch(walk, block))) {
        bool taken = path->outcomes >> (path->length - 1 - n) & 1;
        uint64_t target = went_to(block, taken, &targets, end);
        branches[n++] = (struct hp_flow_branch){.address = block->last,
                                                .target = target,
                                                .taken = taken,
                                                .indirect = is_indirect(block)};
        block = block_at(walk, target);
    }
    return n;
}

void hp_walk_init(struct hp_walk *walk, const struct hp_code *code)
{
    *walk = (struct hp_walk){.source.branches = walk_branches, .code = code};
}

void hp_walk_fini(struct hp_walk *walk)
{
    hp_map64_fini(&walk->block_at);
}
