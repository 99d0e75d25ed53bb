// SPDX-License-Identifier: MIT
/*
 * How far ways of sampling are from the exact attribution.
 */
#include "base/grow.h"
#include "profile/agreement.h"
#include "report/cycles/cpi.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WAYS 64 /* nobody has more; each takes time */

/* What a way says, and what is true, by instruction. */
struct weights {
    double *way, *exact;
    double all_way, all_exact;
    size_t n;
    struct {
        uint32_t *of; /* NULL: there are none */
        size_t n;
    } groups[HP_REPORT_BY_COUNT_];
};

static void weights_fini(struct weights *w)
{
    free(w->way);
    free(w->exact);
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++)
        free(w->groups[by].of);
}

static bool has_lines(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_insns; i++)
        if (*hp_text(p->insns[i].file))
            return true;
    return false;
}

/* What was made stays on failure. */
static enum hp_err weights_init(struct weights *w, const struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    *w = (struct weights){.n = p->n_insns};
    w->way = calloc(p->n_insns + 1, sizeof *w->way);
    w->exact = calloc(p->n_insns + 1, sizeof *w->exact);
    if (!w->way || !w->exact)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        w->exact[p->insn_cycles[i].insn] += (double)p->insn_cycles[i].parts;
        w->all_exact += (double)p->insn_cycles[i].parts;
    }
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++)
        if (by != HP_REPORT_BY_RUN && (by != HP_REPORT_BY_LOOP || p->n_loop_blocks) &&
            (by != HP_REPORT_BY_LINE || has_lines(p)))
            HP_TRY(
                hp_insn_groups(tables, (enum hp_report_by)by, &w->groups[by].of, &w->groups[by].n));
    return HP_OK;
}

static void add_weight(struct weights *w, struct hp_sampling_way *way, uint32_t insn, double weight)
{
    way->instructions += w->way[insn] == 0 && weight > 0;
    w->way[insn] += weight;
    w->all_way += weight;
}

/* What is not where it is by the exact attribution. */
static enum hp_err error_of(const struct weights *w, enum hp_report_by by, double *error)
{
    double overlap;
    *error = -1;
    if (!(w->all_way > 0) || !(w->all_exact > 0) || !w->groups[by].of)
        return HP_OK;
    HP_TRY(hp_agreement_of(w->groups[by].of, w->groups[by].n, w->way, w->exact, w->n, &overlap));
    *error = 1 - overlap;
    return HP_OK;
}

/* --- The ways --------------------------------------------------------------------------------- */

static enum hp_err add_way(struct hp_tables *tables, size_t *capacity, struct weights *w,
                           struct hp_sampling_way way)
{
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++)
        HP_TRY(error_of(w, (enum hp_report_by)by, &way.errors[by]));
    HP_TRY(hp_grow(&tables->ways, capacity, tables->n_ways + 1, sizeof *tables->ways));
    tables->ways[tables->n_ways++] = way;
    memset(w->way, 0, w->n * sizeof *w->way);
    w->all_way = 0;
    return HP_OK;
}

/* A sampler says of the time what ProfileMe does: cycles from fetch to retire ready. */
static enum hp_err add_samplers(struct hp_tables *tables, size_t *capacity, struct weights *w)
{
    const struct hp_profile *p = tables->profile;
    for (size_t i = 0; i < p->n_samplers && i < MOST_WAYS; i++) {
        size_t n;
        struct hp_sampling_way way = {.name = hp_text(p->samplers[i].name),
                                      .sampler = &p->samplers[i]};
        size_t first = hp_insn_tallies(p, way.name, &n);
        for (size_t k = first; k < first + n; k++) {
            const struct hp_pinsn_tally *t = &p->insn_tallies[k];
            double latency = 0;
            for (int stage = HP_STAGE_MAP; stage <= HP_STAGE_EXECUTE; stage++)
                latency += (double)t->tally.stages[stage];
            add_weight(w, &way, t->insn, latency);
        }
        HP_TRY(add_way(tables, capacity, w, way));
    }
    return HP_OK;
}

static enum hp_err add_attributions(struct hp_tables *tables, size_t *capacity, struct weights *w)
{
    const struct hp_profile *p = tables->profile;
    for (size_t i = 0, end; i < p->n_attributions && tables->n_ways < 2 * MOST_WAYS; i = end) {
        struct hp_sampling_way way = {.name = hp_text(p->attributions[i].scheme)};
        for (end = i;
             end < p->n_attributions && strcmp(hp_text(p->attributions[end].scheme), way.name) == 0;
             end++)
            add_weight(w, &way, p->attributions[end].insn, (double)p->attributions[end].weight);
        HP_TRY(add_way(tables, capacity, w, way));
    }
    return HP_OK;
}

enum hp_err hp_rows_sampling(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    (void)per_thread;
    struct weights w;
    size_t capacity = 0;
    free(tables->ways);
    tables->ways = NULL;
    tables->n_ways = 0;
    enum hp_err err = weights_init(&w, tables);
    if (err == HP_OK)
        err = add_samplers(tables, &capacity, &w);
    if (err == HP_OK)
        err = add_attributions(tables, &capacity, &w);
    weights_fini(&w);
    HP_TRY(err);
    return hp_rows_of_items(rows, tables->n_ways);
}
