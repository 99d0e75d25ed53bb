// SPDX-License-Identifier: MIT
/*
 * ProfileMe as a profiler: a sampler for each thread, and the software that reads its buffer. It
 * keeps a tally of the samples of each instruction, and of pairs what the paper's metrics need,
 * aggregated as they come (5.2.3).
 */
#include "profiler/sample/profiler.h"

#include "base/grow.h"
#include "base/map64.h"
#include "machine/machine.h"
#include "profiler/insns.h"
#include "profiler/sample/measures.h"
#include "profiler/sample/sampler.h"
#include "profiler/sample/segments.h"

#include <stdlib.h>

/* The counts of a static instruction. */
struct row {
    uint32_t insn;
    struct hp_insn_tally tally;
    uint64_t pairs, progress, useful, near;
};

struct sample_profiler {
    struct hp_profiler base; /* first */
    struct hp_sample_config config;
    struct hp_program *program;
    char name[512]; /* the config as it was given */
    uint64_t scale;
    struct hp_map64 places; /* static instruction -> row */
    struct row *rows;
    size_t n_rows, cap_rows;
    struct hp_sampler **samplers; /* of all threads */
    size_t n_samplers, cap_samplers;
    struct hp_segments segments; /* the same by path */
    struct hp_measures measures; /* more overlaps, by row */
    /* Where only some are kept: those, and the random numbers by which others are dropped. */
    struct hp_sample_pair *kept;
    size_t n_kept, cap_kept;
    struct hp_random random;
    bool out_of_memory;
};

/* --- Reading the buffer ----------------------------------------------------------------------- */

/* Adds the instruction when it is new. */
static enum hp_err row_of(struct sample_profiler *p, uint32_t insn, struct row **row)
{
    uint32_t place = hp_map64_get(&p->places, insn);
    if (place == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&p->rows, &p->cap_rows, p->n_rows + 1, sizeof *p->rows));
        place = (uint32_t)p->n_rows;
        HP_TRY(hp_map64_put(&p->places, insn, place));
        p->rows[p->n_rows++].insn = insn;
    }
    *row = &p->rows[place];
    return HP_OK;
}

/* One sample, and the other one of its pair, fetched `later` cycles after it; NULL: single. */
static enum hp_err add_sample(struct sample_profiler *p, const struct hp_sample *it,
                              const struct hp_sample *other, int64_t later)
{
    struct row *row;
    if (it->empty)
        return HP_OK;
    HP_TRY(row_of(p, it->timing.insn, &row));
    hp_insn_tally_add(&row->tally, &it->timing);
    if (!other)
        return HP_OK;
    row->pairs++;
    row->progress += hp_sample_progress(it);
    row->useful += hp_overlap_useful(it, other, later, NULL) > 0;
    row->near += hp_overlap_near(it, other, later, &p->config.near) > 0;
    return hp_measures_add(&p->measures, (size_t)(row - p->rows), it, other, later);
}

static enum hp_err add_pair(struct sample_profiler *p, const struct hp_sample_pair *pair)
{
    int64_t later = (int64_t)pair->fetch_latency;
    const struct hp_sample *second = pair->paired ? &pair->second : NULL;
    HP_TRY(add_sample(p, &pair->first, second, later));
    HP_TRY(hp_segments_sample(&p->segments, &pair->first, NULL, 0));
    if (!second)
        return HP_OK;
    HP_TRY(add_sample(p, second, &pair->first, -later));
    return hp_segments_sample(&p->segments, second, &pair->first, pair->distance);
}

/* Drops half of what is kept, by chance; from now on half as many come. */
static void thin(struct sample_profiler *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_kept; i++)
        if (hp_random_next(&p->random) >> 63)
            p->kept[n++] = p->kept[i];
    p->n_kept = n;
    p->config.interval *= 2;
    for (size_t i = 0; i < p->n_samplers; i++)
        hp_sampler_double(p->samplers[i]);
}

static enum hp_err keep_pair(struct sample_profiler *p, const struct hp_sample_pair *pair)
{
    HP_TRY(hp_grow(&p->kept, &p->cap_kept, p->n_kept + 1, sizeof *p->kept));
    p->kept[p->n_kept++] = *pair;
    if (p->n_kept == p->config.most)
        thin(p);
    return HP_OK;
}

static void take_samples(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct sample_profiler *p = context;
    for (size_t i = 0; i < n && !p->out_of_memory; i++)
        p->out_of_memory =
            (p->config.most ? keep_pair(p, &samples[i]) : add_pair(p, &samples[i])) != HP_OK;
}

/* --- The stream ------------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct sample_profiler *p = (struct sample_profiler *)profiler;
    HP_TRY(hp_grow(&p->samplers, &p->cap_samplers, p->n_samplers + 1, sizeof *p->samplers));
    struct hp_sampler **sampler = &p->samplers[p->n_samplers];
    HP_TRY(hp_sampler_new(&p->config, p->program, thread, take_samples, p, sampler));
    if (p->n_samplers++ == 0)
        p->segments.thread = *thread;
    *state = *sampler;
    return HP_OK;
}

/* The executed blocks show which ways lead to an instruction; its timing comes later. */
static void take_batch(void *state, const struct hp_batch *batch)
{
    struct sample_profiler *p = ((struct hp_sampler *)state)->context;
    if (!p->out_of_memory)
        p->out_of_memory = hp_segments_batch(&p->segments, batch) != HP_OK;
}

static void take_event(void *state, const struct hp_event *event)
{
    if (event->kind == HP_EVENT_END)
        hp_sampler_end(state);
}

static void take_timings(void *state, const struct hp_timing *timings, size_t n)
{
    hp_sampler_timings(state, timings, n);
}

/* --- The result ------------------------------------------------------------------------------- */

static enum hp_err add_tally(const struct sample_profiler *p, const struct row *row,
                             const char *name, struct hp_result *result)
{
    struct hp_pinsn_tally *item;
    uint32_t index;
    HP_TRY(hp_result_insn(result, p->program, row->insn, &index));
    if (index == HP_PROFILE_NONE)
        return HP_OK;
    HP_TRY(hp_profile_add_insn_tally(hp_result_profile(result), &item));
    *item = (struct hp_pinsn_tally){.seen = name,
                                    .insn = index,
                                    .tally = row->tally,
                                    .pairs = row->pairs,
                                    .progress = row->progress,
                                    .useful = row->useful,
                                    .near = row->near};
    return HP_OK;
}

static enum hp_err add_overlaps(const struct sample_profiler *p, size_t row, const char *name,
                                struct hp_result *result)
{
    uint32_t index;
    if (!hp_measures_on(&p->measures))
        return HP_OK;
    HP_TRY(hp_result_insn(result, p->program, p->rows[row].insn, &index));
    if (index == HP_PROFILE_NONE)
        return HP_OK;
    return hp_measures_write(&p->measures, row, index, name, hp_result_profile(result));
}

static enum hp_err add_sampler(const struct sample_profiler *p, const char *name,
                               struct hp_profile *profile)
{
    struct hp_psampler *item;
    struct hp_sample_machine machine = hp_sample_machine_of(&p->config, p->program);
    bool of_machine = p->config.window == HP_SAMPLE_MACHINE_WINDOW;
    HP_TRY(hp_profile_add_sampler(profile, &item));
    *item = (struct hp_psampler){.name = name,
                                 .interval = p->config.interval,
                                 .window = of_machine ? machine.window : p->config.window,
                                 .width = hp_program_machine(p->program)->core.width,
                                 .near = p->config.near,
                                 .scale = p->scale};
    for (size_t i = 0; i < p->n_samplers; i++) {
        const struct hp_sampler_stats *stats = hp_sampler_stats(p->samplers[i]);
        item->samples += stats->samples;
        item->empty += stats->empty;
        item->lost += stats->lost;
        item->interrupts += stats->interrupts;
        item->cost += stats->cost;
    }
    if (!p->config.most)
        return HP_OK;
    item->samples = item->empty = 0; /* only of those that were kept */
    for (size_t i = 0; i < p->n_kept; i++) {
        item->samples += 1 + p->kept[i].paired;
        item->empty +=
            (uint64_t)p->kept[i].first.empty + (p->kept[i].paired && p->kept[i].second.empty);
    }
    return HP_OK;
}

/* What one sample represents: in a pair, half of what both do. */
static double single_interval(const struct sample_profiler *p)
{
    double interval = (double)p->config.interval * (double)p->scale / 1000;
    return p->config.window ? interval / 2 : interval;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct sample_profiler *p = (struct sample_profiler *)profiler;
    struct hp_profile *profile = hp_result_profile(result);
    for (size_t i = 0; i < p->n_samplers; i++)
        hp_sampler_end(p->samplers[i]);
    for (size_t i = 0; i < p->n_kept && !p->out_of_memory; i++)
        p->out_of_memory = add_pair(p, &p->kept[i]) != HP_OK;
    if (p->out_of_memory)
        return hp_fail_nomem();
    const char *name = hp_profile_string(profile, p->name);
    if (!name)
        return hp_fail_nomem();
    HP_TRY(hp_result_code(result));
    for (size_t i = 0; i < p->n_rows; i++) {
        HP_TRY(add_tally(p, &p->rows[i], name, result));
        HP_TRY(add_overlaps(p, i, name, result));
    }
    HP_TRY(hp_segments_finish(&p->segments, result, name, single_interval(p)));
    return add_sampler(p, name, profile);
}

/* --- Creating --------------------------------------------------------------------------------- */

static void free_profiler(struct hp_profiler *profiler)
{
    struct sample_profiler *p = (struct sample_profiler *)profiler;
    for (size_t i = 0; i < p->n_samplers; i++)
        hp_sampler_free(p->samplers[i]);
    free(p->samplers);
    free(p->rows);
    free(p->kept);
    hp_measures_fini(&p->measures);
    hp_map64_fini(&p->places);
    hp_segments_fini(&p->segments);
    free(p);
}

static const struct hp_profiler_ops ops = {
    .name = "sampling",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .timings = take_timings,
    .finish = finish,
    .free = free_profiler,
};

enum hp_err hp_sample_profiler_new(const struct hp_sample_config *config,
                                   struct hp_program *program, struct hp_profiler **profiler)
{
    struct hp_sampler *probe; /* so that errors are reported before anything runs */
    const struct hp_thread nobody = {0};
    HP_TRY(hp_sampler_new(config, program, &nobody, take_samples, NULL, &probe));
    hp_sampler_free(probe);
    struct sample_profiler *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->base.ops = &ops;
    p->config = *config;
    p->program = program;
    p->scale = 1000;
    hp_sample_config_format(config, p->name, sizeof p->name);
    hp_measures_init(&p->measures, config);
    p->random = hp_random_seed(~config->seed, 0);
    p->segments.alone = config->edges == HP_SAMPLE_EDGES_SAMPLES;
    p->segments.bits = config->history;
    *profiler = &p->base;
    return HP_OK;
}

void hp_sample_profiler_set_scale(struct hp_profiler *profiler, uint64_t thousandths)
{
    ((struct sample_profiler *)profiler)->scale = thousandths;
}
