// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/tables.h"
#include "report/text.h"
#include "text/number.h"

#include <math.h>

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
        hp_add_up(&sum->instructions, window->instructions);
        mean += (cpi - mean) / (double)sum->n;
        squares += (cpi - before) * (cpi - mean);
    }
    for (size_t i = 0; i < p->n_threads; i++)
        hp_add_up(&sum->run, p->threads[i].instructions);
    double n = (double)sum->n;
    double half = sum->n > 1 ? Z * sqrt(squares / (n - 1) / n) : mean;
    sum->cpi = (struct hp_estimate){mean, fmax(mean - half, 0), mean + half};
    double run = (double)sum->run;
    sum->all = (struct hp_estimate){sum->cpi.value * run, sum->cpi.low * run, sum->cpi.high * run};
}

/* How many tallies come before those of a name, or behind the last: they are sorted by it. */
static size_t tallies_before(const struct hp_profile *p, const char *seen, bool behind)
{
    return HP_BISECT(i, 0, p->n_insn_tallies,
                     strcmp(hp_text(p->insn_tallies[i].seen), seen) < behind);
}

struct hp_insn_tallies hp_insn_tallies(const struct hp_profile *p, const char *seen)
{
    size_t first = tallies_before(p, seen, false), n = tallies_before(p, seen, true) - first;
    return (struct hp_insn_tallies){n ? &p->insn_tallies[first] : NULL, n};
}

/* Of samplers, the first paired one, else the first of instructions; and the first of fetches. */
static void find_sampler(struct hp_insns *insns, const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_samplers; i++) {
        const struct hp_psampler *sampler = &p->samplers[i];
        struct hp_insn_tallies tallies = hp_insn_tallies(p, hp_text(sampler->name));
        bool fetches = hp_sampler_about(hp_text(sampler->name))->fetches;
        bool better = !insns->sampler || (sampler->window && !insns->sampler->window);
        if (tallies.n == 0 || strcmp(hp_text(sampler->name), "exact") == 0)
            continue;
        if (fetches && !insns->fetcher) {
            insns->fetcher = sampler;
            insns->fetches = tallies;
        }
        if (!better || fetches)
            continue;
        insns->sampler = sampler;
        insns->sampled = tallies;
    }
    if (!insns->sampler) {
        insns->sampler = insns->fetcher;
        insns->sampled = insns->fetches;
        insns->fetcher = NULL;
        insns->fetches = (struct hp_insn_tallies){0};
    }
    insns->about = hp_sampler_about(insns->sampler ? hp_text(insns->sampler->name) : "");
}

uint64_t hp_insn_latency(const struct hp_insn_tally *tally)
{
    uint64_t sum = 0;
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_EXECUTE; i++)
        hp_add_up(&sum, tally->stages[i]);
    return sum;
}

uint64_t hp_insn_time(const struct hp_insns *insns, const struct hp_insn_tally *tally)
{
    return insns->counted.n || insns->about->executions ? hp_insn_latency(tally) : tally->fetched;
}

void hp_insns_init(struct hp_insns *insns, const struct hp_profile *p)
{
    uint64_t latency = 0;
    *insns =
        (struct hp_insns){.counted = hp_insn_tallies(p, "exact"), .exact = p->n_insn_cycles > 0};
    find_sampler(insns, p);
    insns->best = insns->counted.n ? insns->counted : insns->sampled;
    insns->scale = insns->sampler && !insns->counted.n ? (double)insns->sampler->scale / 1000 : 1;
    for (size_t i = 0; i < p->n_insn_tallies; i++) {
        const uint64_t *events = p->insn_tallies[i].tally.events;
        insns->has_l3 |= events[HP_INSN_L2] != events[HP_INSN_L3];
    }
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        hp_add_up(&insns->parts, p->insn_cycles[i].parts);
        insns->has_l3 |= p->insn_cycles[i].cause == HP_CAUSE_L3;
    }
    for (size_t i = 0; i < insns->counted.n; i++)
        hp_add_up(&insns->retired, insns->counted.tallies[i].tally.retired);
    for (size_t i = 0; i < insns->best.n; i++)
        hp_add_up(&latency, hp_insn_time(insns, &insns->best.tallies[i].tally));
    insns->weight = insns->exact ? insns->parts : latency;
    sum_windows(p, &insns->windows);
}

double hp_cpi_of(uint64_t parts, uint64_t retired)
{
    return retired ? (double)parts / HP_CYCLE_PARTS / (double)retired : 0;
}

const char *hp_cause_at(size_t i)
{
    return i < HP_CAUSES ? hp_cause_name((enum hp_cause)i) : NULL;
}

size_t hp_causes_order(const double cycles[HP_CAUSES], enum hp_cause causes[HP_CAUSES])
{
    size_t n = 0;
    for (int i = 0; i < HP_CAUSES; i++) {
        if (!(cycles[i] > 0))
            continue;
        size_t at = n++;
        for (; at > 0 && cycles[causes[at - 1]] < cycles[i]; at--)
            causes[at] = causes[at - 1];
        causes[at] = (enum hp_cause)i;
    }
    return n;
}

/* --- Facts ------------------------------------------------------------------------------------ */

static const struct hp_pinsn_tally *find_tally(const struct hp_insn_tallies *in, uint32_t insn)
{
    size_t low = HP_BISECT(i, 0, in->n, in->tallies[i].insn < insn);
    return low < in->n && in->tallies[low].insn == insn ? &in->tallies[low] : NULL;
}

_Static_assert(offsetof(struct hp_pinsn_cycles, insn) == 0 && offsetof(struct hp_pwait, insn) == 0,
               "rows begin with the instruction");

struct hp_insn_facts hp_insn_facts(const struct hp_tables *tables, uint32_t insn)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_insns *run = &tables->insns;
    struct hp_insn_facts facts = {.run = run,
                                  .about = run->about,
                                  .insn = insn,
                                  .exact = find_tally(&run->counted, insn),
                                  .sampled = find_tally(&run->sampled, insn),
                                  .fetches = find_tally(&run->fetches, insn)};
    facts.cycles = hp_items(p, HP_ROW_INSN_CYCLES, insn, &facts.n_cycles);
    return facts;
}

const struct hp_insn_tally *hp_insn_tally(const struct hp_insn_facts *facts)
{
    static const struct hp_insn_tally none;
    return facts->exact ? &facts->exact->tally : facts->sampled ? &facts->sampled->tally : &none;
}

static struct hp_estimate exactly(double value)
{
    return (struct hp_estimate){value, value, value};
}

/* Whether the tally is of all executions, or nothing is known. */
static bool is_exact(const struct hp_insn_facts *facts)
{
    return facts->exact || !facts->sampled;
}

bool hp_insn_has_counts(const struct hp_insn_facts *facts)
{
    return is_exact(facts) || facts->about->executions;
}

bool hp_insn_has_stage(const struct hp_insn_facts *facts, enum hp_stage stage)
{
    return is_exact(facts) || facts->about->stages >> stage & 1;
}

bool hp_insn_has_event(const struct hp_insn_facts *facts, enum hp_insn_event event)
{
    return is_exact(facts) || facts->about->events >> event & 1;
}

const char *hp_insn_stage_name(const struct hp_insn_facts *facts, enum hp_stage stage)
{
    const struct hp_sampler_about *about = facts->about;
    const char *name = is_exact(facts)             ? NULL
                       : stage == HP_STAGE_EXECUTE ? about->execute
                       : stage == HP_STAGE_LOAD    ? about->load
                                                   : NULL;
    return name ? name : hp_stage_name(stage);
}

static double distance_of(const struct hp_insn_facts *facts)
{
    return hp_sample_distance(facts->run->sampler->interval, facts->run->sampler->window);
}

struct hp_estimate hp_insn_count(const struct hp_insn_facts *facts, uint64_t n)
{
    if (is_exact(facts))
        return exactly((double)n);
    return hp_estimate_count(n, distance_of(facts), facts->run->scale);
}

struct hp_estimate hp_insn_retired(const struct hp_insn_facts *facts)
{
    return hp_insn_count(facts, hp_insn_tally(facts)->retired);
}

struct hp_insn_facts hp_insn_fetch_facts(const struct hp_insn_facts *facts)
{
    return (struct hp_insn_facts){.run = facts->run,
                                  .about = hp_sampler_about(hp_text(facts->fetches->seen)),
                                  .insn = facts->insn,
                                  .sampled = facts->fetches};
}

static uint64_t parts_of(const struct hp_insn_facts *facts)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < facts->n_cycles; i++)
        hp_add_up(&parts, facts->cycles[i].parts);
    return parts;
}

struct hp_estimate hp_insn_cycles(const struct hp_insn_facts *facts)
{
    return facts->run->exact ? exactly((double)parts_of(facts) / HP_CYCLE_PARTS)
                             : hp_insn_latencies(facts);
}

struct hp_estimate hp_insn_latencies(const struct hp_insn_facts *facts)
{
    const struct hp_insn_tally *tally = hp_insn_tally(facts);
    double sum = (double)hp_insn_latency(tally), roots = 0;
    if (is_exact(facts))
        return exactly(sum);
    if (!facts->about->executions)
        return hp_insn_count(facts, tally->fetched);
    /* The root of the squares of a sum is at most the sum of those of its parts (Minkowski). */
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_EXECUTE; i++)
        roots += sqrt((double)tally->stage_squares[i]);
    return hp_estimate_total(sum, roots * roots, distance_of(facts), facts->run->scale);
}

double hp_insn_each(const struct hp_insn_facts *facts)
{
    const struct hp_insn_tally *tally = hp_insn_tally(facts);
    if (!hp_insn_has_counts(facts))
        return hp_number_share(hp_insn_latency(tally), tally->retired);
    return hp_insn_cycles(facts).value / hp_insn_retired(facts).value;
}

struct hp_estimate hp_insn_stage(const struct hp_insn_facts *facts, enum hp_stage stage)
{
    const struct hp_insn_tally *tally = hp_insn_tally(facts);
    if (is_exact(facts) || tally->retired == 0)
        return exactly(hp_number_share(tally->stages[stage], tally->retired));
    return hp_estimate_total((double)tally->stages[stage], (double)tally->stage_squares[stage],
                             1 / (double)tally->retired, 1);
}

struct hp_estimate hp_insn_rate(const struct hp_insn_facts *facts, enum hp_insn_event event)
{
    const struct hp_insn_tally *tally = hp_insn_tally(facts);
    if (is_exact(facts) || tally->retired == 0)
        return exactly(hp_number_share(tally->events[event], tally->retired));
    return hp_estimate_share(tally->events[event], tally->retired);
}

bool hp_insn_paired(const struct hp_insn_facts *facts, enum hp_insn_paired what,
                    struct hp_estimate *estimate)
{
    const struct hp_pinsn_tally *t = facts->sampled;
    const struct hp_psampler *sampler = t ? facts->run->sampler : NULL;
    if (!t || !t->pairs || !sampler->window || (what == HP_INSN_NEAR_IPC && !t->tally.retired))
        return false;
    /* each retired sample of a paired sampler is in one pair */
    uint64_t retired = t->tally.retired > t->near ? t->tally.retired : t->near;
    *estimate =
        what == HP_INSN_NEAR_IPC
            ? hp_estimate_ipc(t->near, retired, sampler->window, sampler->near)
            : hp_estimate_wasted(t->progress, t->useful, t->pairs, sampler->width, sampler->window,
                                 (double)sampler->interval, facts->run->scale);
    return true;
}

/* A pair stands for W of the 2 W instructions around each of its two. */
struct hp_estimate hp_insn_overlap_each(const struct hp_psampler *sampler,
                                        const struct hp_pinsn_overlap *overlap)
{
    return hp_estimate_total((double)overlap->sum, (double)overlap->squares,
                             2 * (double)sampler->window, 1 / (double)overlap->pairs);
}

uint64_t hp_insn_weight(const struct hp_insn_facts *facts)
{
    const struct hp_pinsn_tally *t = facts->run->counted.n ? facts->exact : facts->sampled;
    return facts->run->exact ? parts_of(facts) : t ? hp_insn_time(facts->run, &t->tally) : 0;
}

/* --- Why -------------------------------------------------------------------------------------- */

static void put_producer(const struct hp_tables *tables, uint32_t producer, struct hp_strbuf *name)
{
    const struct hp_pinsn *insn = &tables->profile->insns[producer];
    hp_strbuf_add(name, insn->op == HP_OP_LOAD                            ? "the load at "
                        : insn->op == HP_OP_DIV || insn->op == HP_OP_FDIV ? "the division at "
                                                                          : "the result at ");
    if (*hp_text(insn->file))
        hp_put_source_place(hp_base_name(insn->file), insn->line, name);
    else
        hp_put_code(tables, insn->function, insn->place, name);
}

/* What it waited for longest; `name` is filled with how that is called. */
static void explain_wait(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                         double executions, struct hp_why *why, struct hp_strbuf *name)
{
    size_t n;
    const struct hp_pwait *wait = NULL;
    const struct hp_pwait *waits = hp_items(tables->profile, HP_ROW_WAIT, facts->insn, &n);
    for (size_t i = 0; i < n; i++)
        if (waits[i].cycles > (wait ? wait->cycles : 0))
            wait = &waits[i];
    if (!wait || wait->count == 0)
        return;
    struct hp_insn_facts producer = hp_insn_facts(tables, wait->producer);
    if (wait->producer == facts->insn)
        hp_strbuf_add(name, "its own result, of the execution before");
    else
        put_producer(tables, wait->producer, name);
    why->producer = hp_strbuf_text(name);
    why->wait = (double)wait->cycles / (double)wait->count;
    why->waiting = executions > 0 ? fmin((double)wait->count / executions, 1) : 1;
    why->producer_loads = hp_insn_stage(&producer, HP_STAGE_LOAD).value > 0;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        why->producer_rates[i] = hp_insn_rate(&producer, (enum hp_insn_event)i).value;
}

void hp_insn_why(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                 struct hp_strbuf *text)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    double retired = hp_insn_retired(facts).value;
    double trapped = hp_insn_count(facts, hp_insn_tally(facts)->trapped).value;
    struct hp_why why = {.op = (enum hp_op)tables->profile->insns[facts->insn].op,
                         .has_l3 = tables->insns.has_l3,
                         .causes_known = tables->insns.exact,
                         .merged = !facts->exact && tables->insns.about->execute,
                         .trapped = retired > 0 ? fmin(trapped / retired, 1) : 1};
    for (size_t i = 0; i < facts->n_cycles; i++)
        why.causes[facts->cycles[i].cause] +=
            (double)facts->cycles[i].parts / HP_CYCLE_PARTS / (retired > 0 ? retired : 1);
    for (int i = 0; i < HP_STAGES; i++)
        why.stages[i] = hp_insn_stage(facts, (enum hp_stage)i).value;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        why.rates[i] = hp_insn_rate(facts, (enum hp_insn_event)i).value;
    /* Waits are counted exactly: of executions that were sampled nobody knows how many waited. */
    explain_wait(tables, facts, facts->exact ? retired : 0, &why, &name);
    hp_why_put(&why, text);
    text->failed |= name.failed;
}
