// SPDX-License-Identifier: MIT
#include "report/cycles/insns.h"

#include "base/bisect.h"
#include "report/cells.h"
#include "report/items.h"
#include "report/tables.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z 1.959963984540054 /* 97.5 % of a normal distribution are below it */

/* --- The run ---------------------------------------------------------------------------------- */

static void sum_windows(const struct hp_profile *p, struct hp_windows_sum *sum)
{
    double mean = 0, squares = 0; /* Welford */
    for (size_t i = 0; i < p->n_windows; i++) {
        const struct hp_pwindow *window = &p->windows[i];
        if (window->instructions == 0)
            continue;
        double cpi = (double)window->cycles / (double)window->instructions, before = mean;
        sum->n++;
        sum->instructions = hp_saturating_add(sum->instructions, window->instructions);
        sum->cycles = hp_saturating_add(sum->cycles, window->cycles);
        mean += (cpi - mean) / (double)sum->n;
        squares += (cpi - before) * (cpi - mean);
    }
    for (size_t i = 0; i < p->n_threads; i++)
        sum->run = hp_saturating_add(sum->run, p->threads[i].instructions);
    double n = (double)sum->n;
    double half = sum->n > 1 ? Z * sqrt(squares / (n - 1) / n) : mean;
    sum->cpi = (struct hp_estimate){mean, fmax(mean - half, 0), mean + half};
    double run = (double)sum->run;
    sum->all = (struct hp_estimate){sum->cpi.value * run, sum->cpi.low * run, sum->cpi.high * run};
}

/* How many tallies come before those of a name, or behind the last of them. They are sorted by
 * it. */
static size_t tallies_before(const struct hp_profile *p, const char *seen, bool behind)
{
    return HP_BISECT(i, 0, p->n_insn_tallies,
                     strcmp(hp_text(p->insn_tallies[i].seen), seen) < behind);
}

size_t hp_insn_tallies(const struct hp_profile *p, const char *seen, size_t *n)
{
    size_t first = tallies_before(p, seen, false);
    *n = tallies_before(p, seen, true) - first;
    return first;
}

static void find_sampler(struct hp_insns *insns, const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_samplers; i++) {
        const struct hp_psampler *sampler = &p->samplers[i];
        size_t n, first = hp_insn_tallies(p, hp_text(sampler->name), &n);
        bool better = !insns->sampler || (sampler->window && !insns->sampler->window);
        if (n == 0 || !better || strcmp(hp_text(sampler->name), "exact") == 0)
            continue;
        insns->sampler = sampler;
        insns->first_sampled = first;
        insns->n_sampled = n;
    }
}

/* Cycles from fetch to retire ready. */
static uint64_t latency_of(const struct hp_insn_tally *tally)
{
    uint64_t sum = 0;
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_EXECUTE; i++)
        sum = hp_saturating_add(sum, tally->stages[i]);
    return sum;
}

void hp_insns_init(struct hp_insns *insns, const struct hp_profile *p)
{
    *insns = (struct hp_insns){0};
    insns->first_exact = hp_insn_tallies(p, "exact", &insns->n_exact);
    find_sampler(insns, p);
    insns->scale = insns->sampler && !insns->n_exact ? (double)insns->sampler->scale / 1000 : 1;
    for (size_t i = 0; i < p->n_insn_tallies; i++)
        insns->has_l3 |= p->insn_tallies[i].tally.events[HP_INSN_L2] !=
                         p->insn_tallies[i].tally.events[HP_INSN_L3];
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        insns->parts = hp_saturating_add(insns->parts, p->insn_cycles[i].parts);
        insns->has_l3 |= p->insn_cycles[i].cause == HP_CAUSE_L3;
    }
    insns->exact = p->n_insn_cycles > 0;
    for (size_t i = 0; i < insns->n_exact; i++)
        insns->retired = hp_saturating_add(insns->retired,
                                           p->insn_tallies[insns->first_exact + i].tally.retired);
    size_t first = insns->n_exact ? insns->first_exact : insns->first_sampled;
    size_t n = insns->n_exact ? insns->n_exact : insns->n_sampled;
    for (size_t i = first; i < first + n; i++)
        insns->latency = hp_saturating_add(insns->latency, latency_of(&p->insn_tallies[i].tally));
    sum_windows(p, &insns->windows);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static const struct hp_pinsn_tally *find_tally(const struct hp_profile *p, size_t first, size_t n,
                                               uint32_t insn)
{
    size_t low = HP_BISECT(i, first, first + n, p->insn_tallies[i].insn < insn);
    bool found = low < first + n && p->insn_tallies[low].insn == insn;
    return found ? &p->insn_tallies[low] : NULL;
}

_Static_assert(offsetof(struct hp_pinsn_cycles, insn) == 0 && offsetof(struct hp_pwait, insn) == 0,
               "rows begin with the instruction");

void hp_insn_facts(const struct hp_tables *tables, uint32_t insn, struct hp_insn_facts *facts)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_insns *insns = &tables->insns;
    *facts = (struct hp_insn_facts){
        .profile = p, .sampler = insns->sampler, .scale = insns->scale, .insn = insn};
    facts->exact = find_tally(p, insns->first_exact, insns->n_exact, insn);
    facts->sampled = find_tally(p, insns->first_sampled, insns->n_sampled, insn);
    facts->cycles = hp_items_of(p->insn_cycles, p->n_insn_cycles, sizeof *p->insn_cycles, insn,
                                &facts->n_cycles);
    facts->waits = hp_items_of(p->waits, p->n_waits, sizeof *p->waits, insn, &facts->n_waits);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static struct hp_estimate exactly(double value)
{
    return (struct hp_estimate){value, value, value};
}

static bool is_exact(const struct hp_insn_facts *facts, enum hp_insn_source source)
{
    return source == HP_INSN_BEST && facts->exact;
}

const struct hp_pinsn_tally *hp_insn_tally_of(const struct hp_insn_facts *facts,
                                              enum hp_insn_source source)
{
    return is_exact(facts, source) ? facts->exact : facts->sampled;
}

static double distance_of(const struct hp_insn_facts *facts)
{
    return hp_sample_distance(facts->sampler->interval, facts->sampler->window);
}

struct hp_insn_executions hp_insn_executions(const struct hp_insn_facts *facts,
                                             enum hp_insn_source source)
{
    const struct hp_pinsn_tally *t = hp_insn_tally_of(facts, source);
    if (!t)
        return (struct hp_insn_executions){0};
    if (is_exact(facts, source))
        return (struct hp_insn_executions){
            exactly((double)t->tally.fetched), exactly((double)t->tally.retired),
            exactly((double)t->tally.wrong_path), exactly((double)t->tally.trapped)};
    double distance = distance_of(facts), scale = facts->scale;
    return (struct hp_insn_executions){hp_estimate_count(t->tally.fetched, distance, scale),
                                       hp_estimate_count(t->tally.retired, distance, scale),
                                       hp_estimate_count(t->tally.wrong_path, distance, scale),
                                       hp_estimate_count(t->tally.trapped, distance, scale)};
}

/* Of the sum of several quantities: the root of its squares is at most the sum of theirs
 * (Minkowski). */
static double latency_squares(const struct hp_insn_tally *tally)
{
    double sum = 0;
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_EXECUTE; i++)
        sum += sqrt((double)tally->stage_squares[i]);
    return sum * sum;
}

struct hp_estimate hp_insn_cycles_of(const struct hp_insn_facts *facts, enum hp_insn_source source)
{
    if (source == HP_INSN_BEST && facts->profile->n_insn_cycles) {
        uint64_t parts = 0;
        for (size_t i = 0; i < facts->n_cycles; i++)
            parts = hp_saturating_add(parts, facts->cycles[i].parts);
        return exactly((double)parts / HP_CYCLE_PARTS);
    }
    if (is_exact(facts, source))
        return exactly((double)latency_of(&facts->exact->tally));
    if (!facts->sampled)
        return exactly(0);
    const struct hp_insn_tally *tally = &facts->sampled->tally;
    return hp_estimate_total((double)latency_of(tally), latency_squares(tally), distance_of(facts),
                             facts->scale);
}

struct hp_estimate hp_insn_stage(const struct hp_insn_facts *facts, enum hp_insn_source source,
                                 enum hp_stage stage)
{
    const struct hp_pinsn_tally *t = hp_insn_tally_of(facts, source);
    if (!t || t->tally.retired == 0)
        return exactly(0);
    double sum = (double)t->tally.stages[stage], n = (double)t->tally.retired;
    if (is_exact(facts, source))
        return exactly(sum / n);
    return hp_estimate_total(sum, (double)t->tally.stage_squares[stage], 1 / n, 1);
}

struct hp_estimate hp_insn_rate(const struct hp_insn_facts *facts, enum hp_insn_source source,
                                enum hp_insn_event event)
{
    const struct hp_pinsn_tally *t = hp_insn_tally_of(facts, source);
    if (!t || t->tally.retired == 0)
        return exactly(0);
    if (is_exact(facts, source))
        return exactly(hp_number_share(t->tally.events[event], t->tally.retired));
    return hp_estimate_share(t->tally.events[event], t->tally.retired);
}

bool hp_insn_wasted(const struct hp_insn_facts *facts, struct hp_estimate *slots)
{
    const struct hp_pinsn_tally *t = facts->sampled;
    if (!t || !t->pairs || !facts->sampler->window)
        return false;
    *slots =
        hp_estimate_wasted(t->progress, t->useful, t->pairs, facts->sampler->width,
                           facts->sampler->window, (double)facts->sampler->interval, facts->scale);
    return true;
}

bool hp_insn_near_ipc(const struct hp_insn_facts *facts, struct hp_estimate *ipc)
{
    const struct hp_pinsn_tally *t = facts->sampled;
    if (!t || !t->pairs || !t->tally.retired || !facts->sampler->window)
        return false;
    /* each retired sample of a paired sampler is in one pair */
    uint64_t retired = t->tally.retired > t->near ? t->tally.retired : t->near;
    *ipc = hp_estimate_ipc(t->near, retired, facts->sampler->window, facts->sampler->near);
    return true;
}

const struct hp_pwait *hp_insn_longest_wait(const struct hp_insn_facts *facts)
{
    const struct hp_pwait *longest = NULL;
    for (size_t i = 0; i < facts->n_waits; i++)
        if (facts->waits[i].cycles > (longest ? longest->cycles : 0))
            longest = &facts->waits[i];
    return longest;
}

double hp_insn_share(const struct hp_tables *tables, const struct hp_insn_facts *facts)
{
    if (tables->insns.exact)
        return tables->insns.parts ? hp_insn_cycles_of(facts, HP_INSN_BEST).value * HP_CYCLE_PARTS /
                                         (double)tables->insns.parts
                                   : 0;
    const struct hp_pinsn_tally *t =
        tables->insns.n_exact ? facts->exact : hp_insn_tally_of(facts, HP_INSN_SAMPLED);
    return t ? hp_number_share(latency_of(&t->tally), tables->insns.latency) : 0;
}

/* --- Why -------------------------------------------------------------------------------------- */

static void put_producer(const struct hp_tables *tables, uint32_t producer, bool itself,
                         struct hp_strbuf *name)
{
    const struct hp_pinsn *insn = &tables->profile->insns[producer];
    if (itself) {
        hp_strbuf_add(name, "its own result, of the execution before");
        return;
    }
    hp_strbuf_add(name, insn->op == HP_OP_LOAD                            ? "the load at "
                        : insn->op == HP_OP_DIV || insn->op == HP_OP_FDIV ? "the division at "
                                                                          : "the result at ");
    if (*hp_text(insn->file))
        hp_put_source_place(hp_base_name(insn->file), insn->line, name);
    else
        hp_put_code(tables, insn->function, insn->place, name);
}

/* What it waited for; `name` is filled with how that is called. */
static void explain_wait(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                         double executions, struct hp_why *why, struct hp_strbuf *name)
{
    const struct hp_pwait *wait = hp_insn_longest_wait(facts);
    if (!wait || wait->count == 0)
        return;
    struct hp_insn_facts producer;
    hp_insn_facts(tables, wait->producer, &producer);
    put_producer(tables, wait->producer, wait->producer == facts->insn, name);
    why->producer = hp_strbuf_text(name);
    why->wait = (double)wait->cycles / (double)wait->count;
    why->waiting = executions > 0 ? fmin((double)wait->count / executions, 1) : 1;
    why->producer_loads = hp_insn_stage(&producer, HP_INSN_BEST, HP_STAGE_LOAD).value > 0;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        why->producer_rates[i] = hp_insn_rate(&producer, HP_INSN_BEST, (enum hp_insn_event)i).value;
}

void hp_insn_why(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                 struct hp_strbuf *text)
{
    struct hp_why why = {.op = (enum hp_op)tables->profile->insns[facts->insn].op,
                         .has_l3 = tables->insns.has_l3,
                         .causes_known = tables->insns.exact};
    struct hp_insn_executions executions = hp_insn_executions(facts, HP_INSN_BEST);
    double retired = executions.retired.value;
    double trapped = executions.trapped.value;
    why.trapped = retired > 0 ? fmin(trapped / retired, 1) : 1;
    for (size_t i = 0; i < facts->n_cycles; i++)
        why.causes[facts->cycles[i].cause] +=
            (double)facts->cycles[i].parts / HP_CYCLE_PARTS / (retired > 0 ? retired : 1);
    for (int i = 0; i < HP_STAGES; i++)
        why.stages[i] = hp_insn_stage(facts, HP_INSN_BEST, (enum hp_stage)i).value;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        why.rates[i] = hp_insn_rate(facts, HP_INSN_BEST, (enum hp_insn_event)i).value;
    struct hp_strbuf name = {0};
    /* Waits are counted exactly: of executions that were sampled nobody knows how many waited. */
    explain_wait(tables, facts, facts->exact ? retired : 0, &why, &name);
    hp_why_put(&why, text);
    text->failed |= name.failed;
    hp_strbuf_fini(&name);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void add_row(struct hp_row *row, uint64_t weight, uint64_t count)
{
    row->v[0] = hp_saturating_add(row->v[0], weight);
    row->v[1] = hp_saturating_add(row->v[1], count);
}

enum hp_err hp_rows_insns(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    (void)per_thread;
    const struct hp_profile *p = tables->profile;
    const struct hp_insns *insns = &tables->insns;
    size_t first = insns->n_exact ? insns->first_exact : insns->first_sampled;
    size_t n = insns->n_exact ? insns->n_exact : insns->n_sampled;
    HP_TRY(hp_rows_of_items(rows, p->n_insns));
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        add_row(&rows->rows[p->insn_cycles[i].insn], p->insn_cycles[i].parts, 0);
    for (size_t i = first; i < first + n; i++) {
        const struct hp_pinsn_tally *t = &p->insn_tallies[i];
        add_row(&rows->rows[t->insn], insns->exact ? 0 : latency_of(&t->tally), t->tally.fetched);
    }
    rows->n = 0;
    for (size_t i = 0; i < p->n_insns; i++)
        if (rows->rows[i].v[0] || rows->rows[i].v[1])
            rows->rows[rows->n++] = rows->rows[i];
    return HP_OK;
}
