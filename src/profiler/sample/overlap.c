// SPDX-License-Identifier: MIT
/* How two instructions in flight overlap (ProfileMe, 5.2), and sums of such measures. */
#include "hotpath/sample.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>

/* --- The paper's measures --------------------------------------------------------------------- */

uint64_t hp_sample_progress(const struct hp_sample *sample)
{
    const struct hp_timing *timing = &sample->timing;
    if (sample->empty)
        return 0;
    return timing->done != HP_NEVER ? timing->done : timing->left;
}

static bool has_retired(const struct hp_sample *sample)
{
    return !sample->empty && sample->timing.events & HP_TIMING_RETIRED;
}

static bool is_issued(const struct hp_sample *sample)
{
    return !sample->empty && sample->timing.issued != HP_NEVER;
}

/* Where it stops executing: the units finish what was issued of an aborted one, but nothing waits
 * for that. */
static int64_t execution_end(const struct hp_sample *sample)
{
    return (int64_t)hp_sample_progress(sample);
}

double hp_overlap_useful(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context)
{
    (void)context;
    if (it->empty || !has_retired(other) || !is_issued(other))
        return 0;
    int64_t issued = later + other->timing.issued;
    return issued >= 0 && issued < (int64_t)hp_sample_progress(it);
}

double hp_overlap_near(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context)
{
    const uint32_t *cycles = context;
    if (!has_retired(it) || !has_retired(other))
        return 0;
    int64_t apart = later + other->timing.left - it->timing.left;
    return (apart < 0 ? -apart : apart) <= (int64_t)*cycles;
}

double hp_overlap_around(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context)
{
    (void)context;
    if (it->empty || it->timing.mapped == HP_NEVER || !is_issued(other))
        return 0;
    int64_t issued = later + other->timing.issued;
    int64_t until = is_issued(it) ? it->timing.issued : (int64_t)hp_sample_progress(it);
    return issued >= it->timing.mapped && issued < until;
}

double hp_overlap_busy(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context)
{
    const enum hp_unit_kind *unit = context;
    if (!is_issued(it) || !is_issued(other) || (unit && other->timing.unit != *unit))
        return 0;
    int64_t from = later + other->timing.issued, to = later + execution_end(other);
    from = from > it->timing.issued ? from : it->timing.issued;
    to = to < execution_end(it) ? to : execution_end(it);
    return to > from ? (double)(to - from) : 0;
}

/* --- Sums ------------------------------------------------------------------------------------- */

struct hp_overlap_tally {
    hp_overlap measure;
    void *context;
    struct hp_map64 places; /* instruction -> index of its sum */
    struct hp_overlap_sum *sums;
    size_t n, capacity;
    bool out_of_memory;
};

enum hp_err hp_overlap_tally_new(hp_overlap measure, void *context, struct hp_overlap_tally **tally)
{
    struct hp_overlap_tally *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->measure = measure;
    t->context = context;
    *tally = t;
    return HP_OK;
}

void hp_overlap_tally_free(struct hp_overlap_tally *tally)
{
    if (!tally)
        return;
    hp_map64_fini(&tally->places);
    free(tally->sums);
    free(tally);
}

/* Adds the instruction when it is new. */
static enum hp_err sum_of(struct hp_overlap_tally *t, uint32_t insn, struct hp_overlap_sum **sum)
{
    uint32_t place = hp_map64_get(&t->places, insn);
    if (place == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&t->sums, &t->capacity, t->n + 1, sizeof *t->sums));
        place = (uint32_t)t->n;
        HP_TRY(hp_map64_put(&t->places, insn, place));
        t->n++;
    }
    *sum = &t->sums[place];
    return HP_OK;
}

static enum hp_err add_one_way(struct hp_overlap_tally *t, const struct hp_sample *it,
                               const struct hp_sample *other, int64_t later)
{
    struct hp_overlap_sum *sum;
    if (it->empty)
        return HP_OK;
    HP_TRY(sum_of(t, it->timing.insn, &sum));
    double value = t->measure(it, other, later, t->context);
    sum->pairs++;
    sum->sum += value;
    sum->squares += value * value;
    return HP_OK;
}

void hp_overlap_tally_pairs(void *tally, const struct hp_sample_pair *samples, size_t n)
{
    struct hp_overlap_tally *t = tally;
    for (size_t i = 0; i < n && !t->out_of_memory; i++) {
        const struct hp_sample_pair *pair = &samples[i];
        int64_t later = (int64_t)pair->fetch_latency;
        if (!pair->paired)
            continue;
        t->out_of_memory = add_one_way(t, &pair->first, &pair->second, later) != HP_OK ||
                           add_one_way(t, &pair->second, &pair->first, -later) != HP_OK;
    }
}

void hp_overlap_tally_one(struct hp_overlap_tally *t, const struct hp_sample *it,
                          const struct hp_sample *other, int64_t later)
{
    if (!t->out_of_memory)
        t->out_of_memory = add_one_way(t, it, other, later) != HP_OK;
}

enum hp_err hp_overlap_tally_get(const struct hp_overlap_tally *tally, uint32_t insn,
                                 struct hp_overlap_sum *sum)
{
    if (tally->out_of_memory)
        return hp_fail_nomem();
    uint32_t place = hp_map64_get(&tally->places, insn);
    *sum = place == HP_MAP64_NONE ? (struct hp_overlap_sum){0} : tally->sums[place];
    return HP_OK;
}
