// SPDX-License-Identifier: MIT
#include "profiler/loop/models_places.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_BLOCK (HP_BLOCK_MAX_INSNS * 16u) /* bytes */

/* --- Blocks by start -------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b, void *context)
{
    const struct hp_block *table = hp_code_blocks(context);
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (table[x].start != table[y].start)
        return table[x].start < table[y].start ? -1 : 1;
    return (x > y) - (x < y);
}

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The first block that starts at or after `address`. */
static uint32_t first_block(const struct hp_sbb_places *places, uint64_t address)
{
    return (uint32_t)HP_BISECT(i, 0, hp_code_n_blocks(places->code),
                               hp_code_block(places->code, places->blocks[i])->start < address);
}

/* Adds the addresses of a block's instructions from `from` to `to`. */
static enum hp_err add_addresses(struct hp_sbb_places *places, uint32_t block, uint64_t from,
                                 uint64_t to)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(places->code, block, &insns));
    uint32_t n = hp_code_block(places->code, block)->insns;
    HP_TRY(hp_grow(&places->addresses, &places->cap, places->n + n, sizeof *places->addresses));
    for (uint32_t i = 0; i < n; i++)
        if (insns[i].address >= from && insns[i].address <= to)
            places->addresses[places->n++] = insns[i].address;
    return HP_OK;
}

enum hp_err hp_sbb_places_insns(struct hp_sbb_places *places, const struct hp_sbb *sbb,
                                uint64_t *count)
{
    uint32_t module = hp_code_block(places->code, sbb->block)->module;
    places->n = 0;
    for (uint32_t i =
             first_block(places, sbb->target > LONGEST_BLOCK ? sbb->target - LONGEST_BLOCK : 0);
         i < hp_code_n_blocks(places->code); i++) {
        const struct hp_block *block = hp_code_block(places->code, places->blocks[i]);
        if (block->start > sbb->address)
            break;
        if (block->module == module && block->end > sbb->target)
            HP_TRY(add_addresses(places, places->blocks[i], sbb->target, sbb->address));
    }
    if (places->n)
        qsort(places->addresses, places->n, sizeof *places->addresses, compare_addresses);
    *count = 0;
    for (size_t i = 0; i < places->n; i++)
        *count += !i || places->addresses[i] != places->addresses[i - 1];
    return HP_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* The node that the branch ends: the shortest of the blocks that it ends. */
static uint32_t branch_node(const struct hp_sbb_places *places, const struct hp_sbb *sbb)
{
    uint32_t module = hp_code_block(places->code, sbb->block)->module;
    for (uint32_t i = first_block(places, sbb->address + 1); i-- > 0;) {
        const struct hp_block *block = hp_code_block(places->code, places->blocks[i]);
        if (block->module == module && block->last == sbb->address && block->target == sbb->target)
            return places->blocks[i];
        if (sbb->address - block->start > LONGEST_BLOCK)
            break;
    }
    return sbb->block;
}

/* The node at its target; HP_NO_ID: none. */
static uint32_t target_node(const struct hp_sbb_places *places, const struct hp_sbb *sbb)
{
    uint32_t module = hp_code_block(places->code, sbb->block)->module;
    for (uint32_t i = first_block(places, sbb->target); i < hp_code_n_blocks(places->code); i++) {
        const struct hp_block *block = hp_code_block(places->code, places->blocks[i]);
        if (block->start != sbb->target)
            break;
        if (block->module == module && places->innermost[places->blocks[i]] != HP_PROFILE_NONE)
            return places->blocks[i];
    }
    return HP_NO_ID;
}

/* Whether `inner` is `outer` or nested in it; parents come first, so this terminates. */
static bool is_in(const struct hp_profile *profile, uint32_t inner, uint32_t outer)
{
    while (inner != outer && inner != HP_PROFILE_NONE) {
        uint32_t parent = profile->loops[inner].parent;
        inner = parent < inner ? parent : HP_PROFILE_NONE;
    }
    return inner == outer;
}

/* The innermost loop that both the branch and its target are in; HP_PROFILE_NONE: none. */
static uint32_t loop_around(const struct hp_sbb_places *places, const struct hp_sbb *sbb)
{
    uint32_t to = target_node(places, sbb);
    if (to == HP_NO_ID)
        return HP_PROFILE_NONE;
    uint32_t from = places->innermost[branch_node(places, sbb)], loop = places->innermost[to];
    while (loop != HP_PROFILE_NONE && !is_in(places->profile, from, loop)) {
        uint32_t parent = places->profile->loops[loop].parent;
        loop = parent < loop ? parent : HP_PROFILE_NONE;
    }
    return loop;
}

static bool leads_to_header(const struct hp_sbb_places *places, const struct hp_sbb *sbb,
                            uint32_t loop)
{
    uint32_t module = hp_code_block(places->code, sbb->block)->module;
    const struct hp_place *header = &places->profile->loops[loop].header;
    return header->module == module &&
           header->offset == sbb->target - hp_code_module(places->code, module)->base;
}

uint32_t hp_sbb_places_loop(const struct hp_sbb_places *places, const struct hp_sbb *sbb)
{
    if (!places->innermost)
        return HP_PROFILE_NONE;
    uint32_t loop = loop_around(places, sbb);
    if (loop == HP_PROFILE_NONE || leads_to_header(places, sbb, loop) || !places->closed[loop])
        return loop;
    return HP_PROFILE_NONE;
}

/* --- Creating --------------------------------------------------------------------------------- */

static enum hp_err find_loops(struct hp_sbb_places *places, const struct hp_sbb *sbbs,
                              size_t n_sbbs)
{
    const struct hp_profile *profile = places->profile;
    uint32_t n = hp_code_n_blocks(places->code);
    if (!profile->n_loops)
        return HP_OK;
    places->innermost = malloc((n + 1) * sizeof *places->innermost);
    places->closed = calloc(profile->n_loops, sizeof *places->closed);
    if (!places->innermost || !places->closed)
        return hp_fail_nomem();
    memset(places->innermost, 0xff, (n + 1) * sizeof *places->innermost);
    for (size_t i = 0; i < profile->n_loop_blocks; i++)
        if (profile->loop_blocks[i].block < n)
            places->innermost[profile->loop_blocks[i].block] = profile->loop_blocks[i].loop;
    for (size_t i = 0; i < n_sbbs; i++) {
        uint32_t loop = loop_around(places, &sbbs[i]);
        if (loop != HP_PROFILE_NONE && leads_to_header(places, &sbbs[i], loop))
            places->closed[loop] = true;
    }
    return HP_OK;
}

enum hp_err hp_sbb_places_init(struct hp_sbb_places *places, struct hp_code *code,
                               const struct hp_profile *profile, const struct hp_sbb *sbbs,
                               size_t n_sbbs)
{
    uint32_t n = hp_code_n_blocks(code);
    *places = (struct hp_sbb_places){
        .code = code, .profile = profile, .blocks = malloc((n + 1) * sizeof *places->blocks)};
    if (!places->blocks)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n; i++)
        places->blocks[i] = i;
    qsort_r(places->blocks, n, sizeof *places->blocks, compare_starts, code);
    return find_loops(places, sbbs, n_sbbs);
}

void hp_sbb_places_fini(struct hp_sbb_places *places)
{
    free(places->blocks);
    free(places->innermost);
    free(places->closed);
    free(places->addresses);
}
