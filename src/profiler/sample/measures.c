// SPDX-License-Identifier: MIT
#include "profiler/sample/measures.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>

enum { USEFUL, AROUND, BUSY };

void hp_measures_init(struct hp_measures *m, const struct hp_sample_config *config)
{
    bool pairs = config->window != 0;
    *m = (struct hp_measures){
        .split = config->split,
        .unit = config->busy >= HP_SAMPLE_BUSY_ON ? config->busy - HP_SAMPLE_BUSY_ON : HP_UNITS};
    m->on[USEFUL] = pairs && config->split;
    m->on[AROUND] = pairs && config->around;
    m->on[BUSY] = pairs && config->busy;
}

void hp_measures_fini(struct hp_measures *m)
{
    free(m->rows);
    *m = (struct hp_measures){0};
}

bool hp_measures_on(const struct hp_measures *m)
{
    return m->on[USEFUL] || m->on[AROUND] || m->on[BUSY];
}

static uint64_t value_of(const struct hp_measures *m, int measure, const struct hp_sample *it,
                         const struct hp_sample *other, int64_t later)
{
    enum hp_unit_kind unit = (enum hp_unit_kind)m->unit;
    switch (measure) {
    case USEFUL: return (uint64_t)hp_overlap_useful(it, other, later, NULL);
    case AROUND: return (uint64_t)hp_overlap_around(it, other, later, NULL);
    default: return (uint64_t)hp_overlap_busy(it, other, later, m->unit == HP_UNITS ? NULL : &unit);
    }
}

enum hp_err hp_measures_add(struct hp_measures *m, size_t row, const struct hp_sample *it,
                            const struct hp_sample *other, int64_t later)
{
    uint8_t from = it->timing.data_from;
    if (!hp_measures_on(m) || (m->split && from == HP_FROM_NOWHERE))
        return HP_OK;
    HP_TRY(hp_grow(&m->rows, &m->cap, row + 1, sizeof *m->rows));
    m->n = row >= m->n ? row + 1 : m->n;
    for (int i = 0; i < HP_MEASURES; i++) {
        struct hp_measure_sum *sum = &m->rows[row].sums[m->split && from != HP_FROM_L1][i];
        if (!m->on[i])
            continue;
        uint64_t value = value_of(m, i, it, other, later);
        sum->pairs++;
        sum->sum += value;
        sum->squares += value * value;
    }
    return HP_OK;
}

static void name_of(const struct hp_measures *m, int measure, int missed, char *name, size_t size)
{
    static const char *const names[HP_MEASURES] = {"useful", "around", "busy"};
    bool unit = measure == BUSY && m->unit != HP_UNITS;
    snprintf(name, size, "%s%s%s%s", names[measure], unit ? " " : "",
             unit ? hp_unit_name((enum hp_unit_kind)m->unit) : "",
             !m->split ? ""
             : missed  ? " miss"
                       : " hit");
}

enum hp_err hp_measures_write(const struct hp_measures *m, size_t row, uint32_t insn,
                              const char *seen, struct hp_profile *profile)
{
    for (int i = 0; i < 2 * HP_MEASURES && row < m->n; i++) {
        int measure = i / 2, missed = i % 2;
        const struct hp_measure_sum *sum = &m->rows[row].sums[missed][measure];
        struct hp_pinsn_overlap *item;
        char name[32];
        if (!sum->pairs)
            continue;
        name_of(m, measure, missed, name, sizeof name);
        const char *kept = hp_profile_string(profile, name);
        if (!kept)
            return hp_fail_nomem();
        HP_TRY(hp_profile_add_insn_overlap(profile, &item));
        *item = (struct hp_pinsn_overlap){.insn = insn,
                                          .seen = seen,
                                          .measure = kept,
                                          .pairs = sum->pairs,
                                          .sum = sum->sum,
                                          .squares = sum->squares};
    }
    return HP_OK;
}
