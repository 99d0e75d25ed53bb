// SPDX-License-Identifier: MIT
/* The loops of the models, as rows of the profile. */
#include "profiler/loop/models_impl.h"

#include "profiler/loop/models_places.h"
#include "profiler/result.h"

#include <stdio.h>
#include <stdlib.h>

#define THOUSANDTHS 1000.0

/* --- Rows ------------------------------------------------------------------------------------- */

static enum hp_err add_row(struct hp_loop_models *p, size_t m, struct hp_loop_entry entry,
                           const struct hp_sbb *sbb, struct hp_sbb_places *places,
                           struct hp_result *result)
{
    uint32_t module = hp_code_block(p->code, sbb->block)->module;
    struct hp_pmodel_loop *row;
    uint32_t function;
    uint64_t insns;
    if (!p->models[m]->ranges) {
        HP_TRY(hp_sbb_places_insns(places, sbb, &insns));
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
    row->loop = hp_sbb_places_loop(places, sbb);
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

/* Its loops, by descending iterations. A loop's last branch is a short backward one that was
 * planned. */
static enum hp_err add_ranges(struct hp_loop_models *p, size_t m, struct hp_sbb_places *places,
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

static enum hp_err add_models(struct hp_loop_models *p, struct hp_sbb_places *places,
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
    struct hp_sbb_places places;
    bool out_of_memory = p->out_of_memory;
    for (size_t i = 0; i < p->n_models; i++)
        out_of_memory |= p->models[i]->out_of_memory;
    if (out_of_memory)
        return hp_fail_nomem();
    HP_TRY(hp_result_code(result));
    HP_TRY(add_threads(p, result));
    enum hp_err err =
        hp_sbb_places_init(&places, p->code, result->profile, p->finder.sbbs, p->finder.n_sbbs);
    if (err == HP_OK)
        err = add_models(p, &places, result);
    hp_sbb_places_fini(&places);
    return err;
}
