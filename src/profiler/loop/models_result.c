// SPDX-License-Identifier: MIT
/* What loop models know, as rows of the profile. */
#include "profiler/loop/models_impl.h"

#include "base/grow.h"
#include "profiler/result.h"

#include <stdio.h>
#include <stdlib.h>

#define LONGEST_INSN 16 /* bytes */
#define THOUSANDTHS  1000.0

/* --- How many instructions a loop has --------------------------------------------------------- */

/* The blocks by start, and room for addresses; the loops that are known. */
struct places {
    struct hp_code *code;
    uint32_t *blocks;
    uint64_t *addresses;
    size_t n, cap;
    struct hp_map64 loops; /* see index_loops() */
};

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

static enum hp_err places_init(struct places *places, struct hp_code *code)
{
    uint32_t n = hp_code_n_blocks(code);
    *places = (struct places){.code = code, .blocks = malloc((n + 1) * sizeof *places->blocks)};
    if (!places->blocks)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n; i++)
        places->blocks[i] = i;
    qsort_r(places->blocks, n, sizeof *places->blocks, compare_starts, code);
    return HP_OK;
}

static void places_fini(struct places *places)
{
    free(places->blocks);
    free(places->addresses);
    hp_map64_fini(&places->loops);
}

/* The first block that starts at `address` or behind it. */
static uint32_t first_block(const struct places *places, uint64_t address)
{
    uint32_t low = 0, high = hp_code_n_blocks(places->code);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (hp_code_block(places->code, places->blocks[middle])->start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the addresses of a block's instructions from `from` to `to`. */
static enum hp_err add_addresses(struct places *places, uint32_t block, uint64_t from, uint64_t to)
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

/* How many different instructions were run between the target of a branch and the branch. */
static enum hp_err count_instructions(struct places *places, const struct hp_sbb *sbb,
                                      uint64_t *count)
{
    uint64_t longest = HP_BLOCK_MAX_INSNS * LONGEST_INSN;
    uint32_t module = hp_code_block(places->code, sbb->block)->module;
    places->n = 0;
    for (uint32_t i = first_block(places, sbb->target > longest ? sbb->target - longest : 0);
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

/* --- Rows ------------------------------------------------------------------------------------- */

static uint64_t place_key(struct hp_place place)
{
    return place.offset ^ (uint64_t)place.module << 48;
}

/* Exact loops by header, where somebody found them before. */
static enum hp_err index_loops(struct hp_map64 *loops, const struct hp_profile *profile)
{
    for (size_t i = profile->n_loops; i-- > 0;)
        HP_TRY(hp_map64_put(loops, place_key(profile->loops[i].header), (uint32_t)i));
    return HP_OK;
}

/* The exact loop that a branch to `target` is a back edge of. */
static uint32_t exact_loop(const struct hp_map64 *loops, const struct hp_profile *profile,
                           struct hp_place target)
{
    uint32_t i = hp_map64_get(loops, place_key(target));
    bool found = i != HP_MAP64_NONE && profile->loops[i].header.module == target.module &&
                 profile->loops[i].header.offset == target.offset;
    return found ? i : HP_PROFILE_NONE;
}

static enum hp_err add_row(struct hp_loop_models *p, size_t m, struct hp_loop_entry entry,
                           const struct hp_sbb *sbb, struct places *places,
                           struct hp_result *result)
{
    uint32_t module = hp_code_block(p->code, sbb->block)->module;
    struct hp_pmodel_loop *row;
    uint32_t function;
    uint64_t insns;
    if (!p->models[m]->ranges) {
        HP_TRY(count_instructions(places, sbb, &insns));
        entry.instructions = entry.iterations * (double)insns;
    }
    HP_TRY(hp_result_function(result, hp_functions_settle(p->functions, sbb->block), &function));
    HP_TRY(hp_profile_add_model_loop(result->profile, &row));
    *row = (struct hp_pmodel_loop){
        .model = hp_profile_string(result->profile, p->names[m]),
        .branch = hp_result_place(result, module, entry.address),
        .target = hp_result_place(result, module, entry.target),
        .function = function,
        .executions = (uint64_t)entry.executions,
        .average = (uint64_t)(entry.average * THOUSANDTHS + 0.5),
        .iterations = (uint64_t)(entry.iterations + 0.5),
        .instructions = (uint64_t)(entry.instructions + 0.5),
    };
    row->loop = exact_loop(&places->loops, result->profile, row->target);
    return row->model ? HP_OK : hp_fail_nomem();
}

static enum hp_err add_stats(struct hp_profile *profile, const char *name,
                             const struct hp_loop_model *model)
{
    const struct hp_loop_stats *stats = hp_loop_model_stats(model);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"branches", stats->branches},         {"overflows", stats->overflows},
        {"replacements", stats->replacements}, {"halvings", stats->halvings},
        {"saturations", stats->saturations},   {"context overflows", stats->context_overflows},
    };
    char part[300];
    snprintf(part, sizeof part, "loops %s", name);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        HP_TRY(hp_profile_add_stat(profile, part, counts[i].name, HP_STAT_COUNT, counts[i].value));
    return hp_profile_add_stat(profile, part, "bits", HP_STAT_SIZE,
                               hp_loop_config_bits(&model->config));
}

static enum hp_err add_threads(const struct hp_loop_models *p, struct hp_result *result)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        const struct hp_loop_thread *thread = p->threads[i];
        uint32_t index;
        HP_TRY(hp_result_thread(result, &thread->info, &index));
        hp_result_thread_counts(result, index, thread->instructions, thread->blocks,
                                thread->branches);
    }
    return HP_OK;
}

/* Its loops, by descending iterations. A loop's last branch is a short backward one that was planned. */
static enum hp_err add_ranges(struct hp_loop_models *p, size_t m, struct places *places,
                              struct hp_result *result)
{
    struct hp_loop_entry *entries;
    enum hp_err err = HP_OK;
    size_t n;
    HP_TRY(hp_loop_model_entries(p->models[m], &entries, &n));
    for (size_t i = 0; i < n && err == HP_OK; i++) {
        uint32_t sbb = hp_map64_get(&p->finder.by_address, entries[i].address);
        if (sbb != HP_MAP64_NONE)
            err = add_row(p, m, entries[i], &p->finder.sbbs[sbb], places, result);
    }
    free(entries);
    return err;
}

static enum hp_err add_models(struct hp_loop_models *p, struct places *places,
                              struct hp_result *result)
{
    for (size_t m = 0; m < p->n_models; m++) {
        const struct hp_loop_model *model = p->models[m];
        for (uint32_t i = 0; i < model->config.entries; i++)
            if (model->slots[i].used)
                HP_TRY(add_row(p, m, hp_loop_model_entry(model, &model->slots[i]),
                               &p->finder.sbbs[model->slots[i].sbb], places, result));
        if (model->ranges)
            HP_TRY(add_ranges(p, m, places, result));
        HP_TRY(add_stats(result->profile, p->names[m], model));
    }
    return HP_OK;
}

enum hp_err hp_loop_models_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct hp_loop_models *p = (struct hp_loop_models *)profiler;
    struct places places;
    bool out_of_memory = p->out_of_memory;
    for (size_t i = 0; i < p->n_models; i++)
        out_of_memory |= p->models[i]->out_of_memory;
    if (out_of_memory)
        return hp_fail_nomem();
    HP_TRY(hp_result_code(result));
    HP_TRY(add_threads(p, result));
    HP_TRY(places_init(&places, p->code));
    enum hp_err err = index_loops(&places.loops, result->profile);
    if (err == HP_OK)
        err = add_models(p, &places, result);
    places_fini(&places);
    return err;
}
