// SPDX-License-Identifier: MIT
#include "diff/fidelity.h"

#include "base/base.h"

#include <math.h>

const char *hp_fidelity_name(enum hp_fidelity_number number)
{
    static const char *const names[] = {[HP_FIDELITY_CYCLES] = "cycles",
                                        [HP_FIDELITY_RETIRE] = "retire",
                                        [HP_FIDELITY_TIMES] = "executions"};
    return number < HP_FIDELITY_EVENTS
               ? names[number]
               : hp_insn_event_name((enum hp_insn_event)(number - HP_FIDELITY_EVENTS));
}

/* --- The two sides ---------------------------------------------------------------------------- */

/* The sampler of a profile with tallies: of hardware, or of a machine; NULL: there is none. */
static const struct hp_psampler *find_sampler(const struct hp_profile *p, bool hardware)
{
    for (size_t i = 0; i < p->n_samplers; i++) {
        const char *name = hp_text(p->samplers[i].name);
        const struct hp_sampler_about *about = hp_sampler_about(name);
        if ((*about->of != 0) == hardware && !about->fetches && hp_insn_tallies(p, name).n)
            return &p->samplers[i];
    }
    return NULL;
}

/* What is said of instructions by a sampler, or exactly. */
static struct hp_insns side_of(const struct hp_profile *p, const struct hp_psampler *sampler)
{
    struct hp_insns side = {.sampler = sampler, .scale = 1};
    side.about = hp_sampler_about(sampler ? hp_text(sampler->name) : "");
    side.best = hp_insn_tallies(p, sampler ? hp_text(sampler->name) : "exact");
    if (sampler) {
        side.sampled = side.best;
        side.scale = (double)sampler->scale / 1000;
    } else {
        side.counted = side.best;
    }
    return side;
}

static struct hp_insn_facts facts_of(const struct hp_insns *side, const struct hp_pinsn_tally *t)
{
    return (struct hp_insn_facts){.run = side,
                                  .about = side->about,
                                  .exact = side->sampler ? NULL : t,
                                  .sampled = side->sampler ? t : NULL};
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Cycles of an execution from map to retire ready. */
static struct hp_estimate cycles_of(const struct hp_insn_facts *facts)
{
    const struct hp_insn_tally *tally = hp_insn_tally(facts);
    double sum = 0, roots = 0, retired = (double)tally->retired;
    for (int i = HP_STAGE_OPERANDS; i <= HP_STAGE_EXECUTE; i++) {
        sum += (double)tally->stages[i];
        roots += sqrt((double)tally->stage_squares[i]);
    }
    if (facts->exact)
        return (struct hp_estimate){sum / retired, sum / retired, sum / retired};
    return hp_estimate_total(sum, roots * roots, 1 / retired, 1);
}

static bool is_known(const struct hp_insn_facts *facts, enum hp_fidelity_number number)
{
    switch (number) {
    case HP_FIDELITY_CYCLES: return hp_insn_has_stage(facts, HP_STAGE_EXECUTE);
    case HP_FIDELITY_RETIRE: return hp_insn_has_stage(facts, HP_STAGE_RETIRE);
    case HP_FIDELITY_TIMES: return hp_insn_has_counts(facts);
    default: return hp_insn_has_event(facts, (enum hp_insn_event)(number - HP_FIDELITY_EVENTS));
    }
}

static struct hp_estimate number_of(const struct hp_insn_facts *facts,
                                    enum hp_fidelity_number number)
{
    switch (number) {
    case HP_FIDELITY_CYCLES: return cycles_of(facts);
    case HP_FIDELITY_RETIRE: return hp_insn_stage(facts, HP_STAGE_RETIRE);
    case HP_FIDELITY_TIMES: return hp_insn_retired(facts);
    default: return hp_insn_rate(facts, (enum hp_insn_event)(number - HP_FIDELITY_EVENTS));
    }
}

bool hp_fidelity_pair(const struct hp_fidelity *f, const struct hp_fidelity_item *item,
                      enum hp_fidelity_number number, struct hp_fidelity_pair *pair)
{
    const struct hp_insn_facts processor = facts_of(&f->processor, &item->processor);
    const struct hp_insn_facts model = facts_of(&f->model, &item->model);
    if (!is_known(&processor, number) || !is_known(&model, number) ||
        !item->processor.tally.retired || !item->model.tally.retired)
        return false;
    struct hp_estimate p = number_of(&processor, number), m = number_of(&model, number);
    *pair = (struct hp_fidelity_pair){
        p, m, {p.value / m.value, p.low / m.high, m.low > 0 ? p.high / m.low : INFINITY}};
    return true;
}

bool hp_fidelity_trusted(const struct hp_fidelity_item *item)
{
    return item->processor.tally.retired >= HP_FIDELITY_SAMPLES;
}

bool hp_fidelity_differs(const struct hp_fidelity_pair *pair)
{
    return pair->processor.low > pair->model.high || pair->model.low > pair->processor.high;
}

/* --- Items ------------------------------------------------------------------------------------ */

static void add_tally(struct hp_pinsn_tally *to, const struct hp_pinsn_tally *from)
{
    to->seen = from->seen;
    hp_insn_tally_merge(&to->tally, &from->tally);
}

/* The next tally of a side of an instruction; NULL: it has none. Instructions come in order. */
static const struct hp_pinsn_tally *next_tally(const struct hp_insn_tallies *side, size_t *at,
                                               uint32_t insn)
{
    while (*at < side->n && side->tallies[*at].insn < insn)
        ++*at;
    return *at < side->n && side->tallies[*at].insn == insn ? &side->tallies[*at] : NULL;
}

/* Adds up what both know of each group; NULL: all are one. */
static void add_up(struct hp_fidelity *f, const uint32_t *groups, struct hp_fidelity_item *items)
{
    size_t a = 0, b = 0;
    for (uint32_t i = 0; i < f->tables.profile->n_insns; i++) {
        const struct hp_pinsn_tally *processor = next_tally(&f->processor.best, &a, i);
        const struct hp_pinsn_tally *model = next_tally(&f->model.best, &b, i);
        struct hp_fidelity_item *item = &items[groups ? groups[i] : 0];
        if (!processor || !model || !model->tally.retired)
            continue;
        if (!item->processor.tally.fetched)
            item->insn = i;
        add_tally(&item->processor, processor);
        add_tally(&item->model, model);
    }
}

static void set_gap(const struct hp_fidelity *f, struct hp_fidelity_item *item)
{
    struct hp_fidelity_pair pair;
    if (!hp_fidelity_trusted(item) || !hp_fidelity_pair(f, item, HP_FIDELITY_CYCLES, &pair) ||
        !hp_fidelity_differs(&pair))
        return;
    double each = fmax(pair.processor.low - pair.model.high, pair.model.low - pair.processor.high);
    item->gap =
        each * (double)item->processor.tally.retired * (double)f->processor.sampler->interval;
}

static int by_gap(const void *a, const void *b)
{
    const struct hp_fidelity_item *x = a, *y = b;
    return HP_COMPARE(y->gap, x->gap)
               ?: HP_COMPARE(y->processor.tally.fetched, x->processor.tally.fetched)
               ?: HP_COMPARE(x->insn, y->insn);
}

static enum hp_err make_items(struct hp_fidelity *f, enum hp_fidelity_by kind)
{
    static const enum hp_report_by bys[] = {[HP_FIDELITY_RUN] = HP_REPORT_BY_RUN,
                                            [HP_FIDELITY_FUNCTION] = HP_REPORT_BY_FUNCTION,
                                            [HP_FIDELITY_LOOP] = HP_REPORT_BY_LOOP,
                                            [HP_FIDELITY_INSN] = HP_REPORT_BY_INSTRUCTION};
    const struct hp_profile *p = f->tables.profile;
    uint32_t *groups HP_CLEANUP(hp_free) = NULL, n = 1;
    if (kind == HP_FIDELITY_LOOP && !p->n_loop_blocks)
        return HP_OK;
    if (kind != HP_FIDELITY_RUN) {
        HP_TRY(hp_new(&groups, p->n_insns, sizeof *groups));
        HP_TRY(hp_insn_groups(p, bys[kind], groups, &n));
    }
    HP_TRY(hp_new(&f->items[kind], n, sizeof *f->items[kind]));
    struct hp_fidelity_item *items = f->items[kind];
    add_up(f, groups, items);
    size_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        items[i].loop = kind == HP_FIDELITY_LOOP && i < p->n_loops ? i : HP_PROFILE_NONE;
        set_gap(f, &items[i]);
        if (items[i].processor.tally.retired)
            items[kept++] = items[i];
    }
    f->n[kind] = kept;
    hp_sort(items, kept, sizeof *items, by_gap);
    return HP_OK;
}

/* --- Both together ---------------------------------------------------------------------------- */

static enum hp_err check(const struct hp_profile *processor, const struct hp_profile *model)
{
    if (!find_sampler(processor, true))
        return hp_fail(HP_ERR_INVALID, "--model: the first profile has no samples of instructions "
                                       "of a processor; hotpath import makes it of a recording");
    if (find_sampler(model, true) ||
        (!find_sampler(model, false) && !hp_insn_tallies(model, "exact").n))
        return hp_fail(HP_ERR_INVALID,
                       "--model: the second profile is of no machine in cycles: hotpath record "
                       "--profile cycles,loops --machine NAME");
    return HP_OK;
}

static enum hp_err make(struct hp_fidelity *f, const struct hp_profile *processor,
                        struct hp_profile *model)
{
    HP_TRY(hp_profile_merge(model, processor));
    HP_TRY(hp_tables_init(&f->tables, model));
    bool exact = hp_insn_tallies(model, "exact").n;
    f->processor = side_of(model, find_sampler(model, true));
    f->model = side_of(model, exact ? NULL : find_sampler(model, false));
    for (size_t i = 0; i < f->processor.best.n; i++)
        hp_add_up(&f->time, hp_insn_time(&f->processor, &f->processor.best.tallies[i].tally));
    for (int kind = 0; kind < HP_FIDELITY_KINDS; kind++)
        HP_TRY(make_items(f, (enum hp_fidelity_by)kind));
    if (!f->n[HP_FIDELITY_RUN])
        return hp_fail(HP_ERR_INVALID, "--model: the profiles have no instruction in common: they "
                                       "are not of the same build of a program");
    f->common = hp_insn_time(&f->processor, &f->items[HP_FIDELITY_RUN][0].processor.tally);
    return HP_OK;
}

enum hp_err hp_fidelity_make(const struct hp_profile *processor, struct hp_profile *model,
                             struct hp_fidelity **fidelity)
{
    struct hp_fidelity *f;
    HP_TRY(check(processor, model));
    HP_TRY(hp_new(&f, 1, sizeof *f));
    enum hp_err err = make(f, processor, model);
    if (err == HP_OK)
        *fidelity = f;
    else
        hp_fidelity_free(f);
    return err;
}

void hp_fidelity_free(struct hp_fidelity *f)
{
    if (!f)
        return;
    if (f->tables.profile)
        hp_tables_fini(&f->tables);
    for (int kind = 0; kind < HP_FIDELITY_KINDS; kind++)
        free(f->items[kind]);
    free(f);
}
