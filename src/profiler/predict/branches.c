// SPDX-License-Identifier: MIT
#include "profiler/predict/branches.h"

/* Blocks between two branches: seams of long blocks and system calls. The search stops after
 * these. */
#define MAX_BETWEEN 4096

static uint64_t module_key(uint32_t module, uint64_t start)
{
    return start ^ (uint64_t)module << 48;
}

/* Adds new blocks of the code map. Without memory, missing ones are not found. */
static void update(struct hp_branch_finder *f)
{
    for (; f->n_blocks < hp_code_n_blocks(f->code); f->n_blocks++) {
        const struct hp_block *block = hp_code_block(f->code, f->n_blocks);
        if (hp_map64_put(&f->by_start, block->start, f->n_blocks) != HP_OK ||
            hp_map64_put(&f->by_module, module_key(block->module, block->start), f->n_blocks) !=
                HP_OK)
            return;
    }
}

/* The block at an address, preferably of the module: another program of the run may have had
 * different code there. */
static const struct hp_block *block_at(const struct hp_branch_finder *f, uint32_t module,
                                       uint64_t address)
{
    uint32_t id = hp_map64_get(&f->by_module, module_key(module, address));
    if (id == HP_MAP64_NONE || hp_code_block(f->code, id)->start != address)
        id = hp_map64_get(&f->by_start, address);
    return id == HP_MAP64_NONE ? NULL : hp_code_block(f->code, id);
}

/* The first block from `block` on that ends with a branch; NULL: unknown. */
static const struct hp_block *next_branch(const struct hp_branch_finder *f,
                                          const struct hp_block *block)
{
    for (int i = 0; block && !hp_rule_is_branch(block); i++)
        block = i < MAX_BETWEEN ? block_at(f, block->module, block->end) : NULL;
    return block;
}

/* Where the branch went, given its outcome; consumes a target from the list if it is listed. */
static uint64_t went_to(const struct hp_block *block, bool taken, const uint64_t **targets,
                        const uint64_t *end)
{
    if (!taken)
        return block->end;
    if (!hp_rule_is_indirect(block))
        return block->target;
    return *targets < end ? *(*targets)++ : 0;
}

static size_t find_branches(struct hp_branch_source *source, const struct hp_path *path,
                            const uint64_t *targets, struct hp_flow_branch *branches)
{
    struct hp_branch_finder *f = (struct hp_branch_finder *)source;
    const uint64_t *end = targets ? targets + path->n_targets : NULL;
    if (path->block >= hp_code_n_blocks(f->code))
        return 0;
    update(f);
    const struct hp_block *block = hp_code_block(f->code, path->block);
    size_t n = 0;
    while (n < path->length && (block = next_branch(f, block))) {
        bool taken = path->outcomes >> (path->length - 1 - n) & 1;
        uint64_t target = went_to(block, taken, &targets, end);
        branches[n++] = (struct hp_flow_branch){.address = block->last,
                                                .target = target,
                                                .taken = taken,
                                                .indirect = hp_rule_is_indirect(block)};
        block = block_at(f, block->module, target);
    }
    return n;
}

void hp_branch_finder_init(struct hp_branch_finder *finder, const struct hp_code *code)
{
    *finder = (struct hp_branch_finder){.source.branches = find_branches, .code = code};
}

void hp_branch_finder_fini(struct hp_branch_finder *finder)
{
    hp_map64_fini(&finder->by_module);
    hp_map64_fini(&finder->by_start);
}
