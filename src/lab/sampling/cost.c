// SPDX-License-Identifier: MIT
/*
 * What sampling costs (ProfileMe, 4.1.1, 4.1.2 and 4.3): the same program on cores that differ only
 * in how often, and for how many samples at a time, an interrupt drains the pipeline and runs a
 * handler. And what becomes of selected slots, and of samples for which there are no registers.
 */
#include "lab/experiments.h"

#include "hotpath/sample.h"
#include "profiler/runner.h"
#include "profiler/sample/random.h"

#include <math.h>
#include <stdlib.h>

#define MACHINE          "alpha21264"
#define INTERRUPT_CYCLES 1000
#define SAMPLE_CYCLES    100

/* The cores: by the interval, and the samples of an interrupt. The first has no interrupts. */
static const struct cost {
    const char *key, *title;
    uint64_t interval;
    uint32_t buffer;
} costs[] = {
    {"none", "none", 0, 0},
    {"s100", "every 100", 100, 1},
    {"s1000", "1,000", 1000, 1},
    {"s10000", "10,000", 10000, 1},
    {"s100000", "100,000", 100000, 1},
    {"s100b16", "16 each: every 100", 100, 16},
    {"s1000b16", "1,000", 1000, 16},
    {"s10000b16", "10,000", 10000, 16},
};
#define N_COSTS (sizeof costs / sizeof *costs)

/* Samplers of the core without interrupts. */
static const struct taker {
    const char *key, *config;
} takers[] = {
    {"slots", "profileme,mode=slots,interval=400,tags=16"},
    {"instructions", "profileme,interval=400,tags=16"},
    {"tags1", "profileme,interval=60"},
    {"tags2", "profileme,interval=60,tags=2"},
    {"tags4", "profileme,interval=60,tags=4"},
    {"tags8", "profileme,interval=60,tags=8"},
};
#define N_TAKERS (sizeof takers / sizeof *takers)
enum { SLOTS, INSTRUCTIONS, TAGS };

/* What became of the samples of a sampler. */
struct fates {
    uint64_t samples, empty, wrong_path, trapped, retired;
};

struct cost_thread {
    struct cost_probe *owner;
    struct cost_thread *next;
    struct hp_runner runners[N_COSTS];
    struct hp_random random;
    uint64_t left[N_COSTS]; /* instructions to the next sample */
    uint32_t buffered[N_COSTS];
    struct hp_sampler *samplers[N_TAKERS];
};

struct cost_probe {
    struct hp_profiler base; /* first */
    struct hp_lab *lab;
    const char *program_name;
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_cycles_setup setup;
    struct hp_cores cores;
    struct cost_thread *threads;
    uint64_t interrupts[N_COSTS];
    struct fates fates[N_TAKERS];
    enum hp_err failure;
};

/* --- Samplers --------------------------------------------------------------------------------- */

static void take_samples(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct fates *fates = context;
    for (size_t i = 0; i < n; i++) {
        const struct hp_sample *sample = &samples[i].first;
        fates->samples++;
        if (sample->empty)
            fates->empty++;
        else if (sample->timing.events & HP_TIMING_RETIRED)
            fates->retired++;
        else if (sample->timing.events & HP_TIMING_TRAPPED)
            fates->trapped++;
        else
            fates->wrong_path++;
    }
}

static void take_timings(void *context, const struct hp_timing *timings, size_t n)
{
    struct cost_thread *t = context;
    for (size_t i = 0; i < N_TAKERS; i++)
        hp_sampler_timings(t->samplers[i], timings, n);
}

static enum hp_err open_samplers(struct cost_thread *t, const struct hp_thread *info)
{
    for (size_t i = 0; i < N_TAKERS; i++) {
        struct hp_sample_config config;
        HP_TRY(hp_sample_config_parse(takers[i].config, &config));
        HP_TRY(hp_sampler_new(&config, t->owner->program, info, take_samples, &t->owner->fates[i],
                              &t->samplers[i]));
    }
    return HP_OK;
}

/* --- Cores side by side ----------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct cost_probe *p = (struct cost_probe *)profiler;
    struct cost_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->owner = p;
    t->next = p->threads;
    t->random = hp_random_seed(1, info->id);
    p->threads = t;
    *state = t;
    HP_TRY(open_samplers(t, info));
    for (size_t i = 0; i < N_COSTS; i++) {
        t->left[i] = costs[i].interval;
        HP_TRY(hp_runner_init(&t->runners[i], p->machine, &p->setup, i ? NULL : take_timings, t));
    }
    return HP_OK;
}

/* Counts a block in the pipe; whether the buffer is full behind it. */
static bool is_due(struct cost_thread *t, size_t i, uint64_t insns)
{
    const struct cost *cost = &costs[i];
    for (; t->left[i] <= insns; t->buffered[i]++) {
        insns -= t->left[i];
        t->left[i] = cost->interval / 2 + hp_random_between(&t->random, 1, cost->interval);
    }
    t->left[i] -= insns;
    return t->buffered[i] >= cost->buffer;
}

/* Interrupts come at the end of a block: that of the sample that fills the buffer. */
static enum hp_err run_batch(struct cost_thread *t, size_t i, const struct hp_batch *batch)
{
    struct cost_probe *p = t->owner;
    struct hp_runner *runner = &t->runners[i];
    for (size_t first = 0, n = 1; first < batch->n; first += n, n = 1) {
        bool due = false;
        for (n = 0; first + n < batch->n && !due; n++)
            due = costs[i].interval && runner->phase == HP_PHASE_DETAIL &&
                  is_due(t, i, batch->table[batch->blocks[first + n]].insns);
        struct hp_batch part = hp_batch_part(batch, first, n);
        HP_TRY(hp_runner_batch(runner, &p->cores, p->code, &part, true));
        if (!due || runner->phase != HP_PHASE_DETAIL)
            continue;
        HP_TRY(hp_pipe_interrupt(runner->pipe, INTERRUPT_CYCLES + SAMPLE_CYCLES * t->buffered[i]));
        t->buffered[i] = 0;
        p->interrupts[i]++;
    }
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct cost_thread *t = state;
    for (size_t i = 0; i < N_COSTS && t->owner->failure == HP_OK; i++)
        t->owner->failure = run_batch(t, i, batch);
}

static void take_event(void *state, const struct hp_event *event)
{
    struct cost_thread *t = state;
    struct cost_probe *p = t->owner;
    const struct hp_events *events;
    for (size_t i = 0; i < N_COSTS && p->failure == HP_OK; i++)
        p->failure = hp_runner_event(&t->runners[i], &p->cores, p->code, event, true, &events);
}

static enum hp_err add_nothing(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler;
    (void)result;
    return HP_OK;
}

static void free_probe(struct hp_profiler *profiler)
{
    struct cost_probe *p = (struct cost_probe *)profiler;
    for (struct cost_thread *t = p->threads, *next; t; t = next) {
        next = t->next;
        for (size_t i = 0; i < N_COSTS; i++)
            hp_runner_fini(&t->runners[i]);
        for (size_t i = 0; i < N_TAKERS; i++)
            hp_sampler_free(t->samplers[i]);
        free(t);
    }
    hp_cores_fini(&p->cores);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
    free(p);
}

static const struct hp_profiler_ops cost_ops = {.name = "sampling-cost",
                                                .start_thread = start_thread,
                                                .batch = take_batch,
                                                .event = take_event,
                                                .finish = add_nothing,
                                                .free = free_probe};

/* --- The experiment --------------------------------------------------------------------------- */

enum { PAID, DRAIN, FATES, LOST };

static struct hp_lab_results *add_costs(struct hp_lab *lab, const char *key, const char *title)
{
    struct hp_lab_results *results = hp_lab_add_results(lab, key, title, "program");
    for (size_t i = 1; i < N_COSTS && results; i++)
        hp_lab_results_column(results, costs[i].key, costs[i].title, 2);
    if (results)
        results->mean = true;
    return results;
}

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *paid =
        add_costs(lab, "paid", "Cycles more than without samples, percent, by the interval");
    struct hp_lab_results *drain =
        add_costs(lab, "drain", "Of these, beyond the handler: cycles of each interrupt");
    struct hp_lab_results *fates = hp_lab_add_results(
        lab, "fates", "What was selected: slots, and instructions, percent", "program");
    struct hp_lab_results *lost = hp_lab_add_results(
        lab, "lost", "Lost every 60 instructions, percent, by sets of registers", "program");
    if (!paid || !drain || !fates || !lost)
        return HP_ERR_NOMEM;
    fates->mean = lost->mean = true;
    hp_lab_results_column(fates, "empty", "slots: empty", 1);
    hp_lab_results_column(fates, "slot_aborted", "aborted", 1);
    hp_lab_results_column(fates, "slot_retired", "retired", 1);
    hp_lab_results_column(fates, "aborted", "instructions: aborted", 1);
    hp_lab_results_column(fates, "retired", "retired", 1);
    for (size_t i = TAGS; i < N_TAKERS; i++)
        hp_lab_results_column(lost, takers[i].key, NULL, 2);
    return HP_OK;
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct cost_probe **probe = context, *p = *probe;
    struct cost_probe *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    *made = *p;
    made->base.ops = &cost_ops;
    made->code = hp_session_code(session);
    enum hp_err err = hp_machine_load(MACHINE, &made->machine);
    if (err == HP_OK)
        err = hp_program_new(made->machine, made->code, &made->program);
    if (err == HP_OK)
        err = hp_cores_init(&made->cores, made->machine);
    made->setup = (struct hp_cycles_setup){.program = made->program,
                                           .windows = hp_lab_windows(made->lab, N_COSTS)};
    if (err != HP_OK) {
        free_probe(&made->base);
        return err;
    }
    *probe = made;
    return hp_session_add(session, &made->base);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static enum hp_err set_costs(struct cost_probe *p)
{
    struct hp_lab_results_row *paid, *drain;
    uint64_t cycles[N_COSTS] = {0};
    for (const struct cost_thread *t = p->threads; t; t = t->next)
        for (size_t i = 0; i < N_COSTS; i++)
            cycles[i] += hp_pipe_stats(t->runners[i].pipe)->cycles;
    if (!p->fates[INSTRUCTIONS].samples)
        return hp_fail(HP_ERR_UNSUPPORTED, "it ended before anything was run in cycles");
    HP_TRY(hp_lab_results_row(p->lab->results[PAID], p->program_name, &paid));
    HP_TRY(hp_lab_results_row(p->lab->results[DRAIN], p->program_name, &drain));
    for (size_t i = 1; i < N_COSTS; i++) {
        uint64_t each = INTERRUPT_CYCLES + SAMPLE_CYCLES * (uint64_t)costs[i].buffer;
        paid->values[i - 1] = 100 * ((double)cycles[i] / (double)cycles[0] - 1);
        drain->values[i - 1] =
            p->interrupts[i]
                ? ((double)cycles[i] - (double)cycles[0]) / (double)p->interrupts[i] - (double)each
                : (double)NAN;
    }
    return HP_OK;
}

static enum hp_err set_fates(struct cost_probe *p)
{
    const struct fates *slots = &p->fates[SLOTS], *insns = &p->fates[INSTRUCTIONS];
    struct hp_lab_results_row *fates, *lost;
    HP_TRY(hp_lab_results_row(p->lab->results[FATES], p->program_name, &fates));
    HP_TRY(hp_lab_results_row(p->lab->results[LOST], p->program_name, &lost));
    fates->values[0] = percent(slots->empty, slots->samples);
    fates->values[1] = percent(slots->wrong_path + slots->trapped, slots->samples);
    fates->values[2] = percent(slots->retired, slots->samples);
    fates->values[3] = percent(insns->wrong_path + insns->trapped, insns->samples);
    fates->values[4] = percent(insns->retired, insns->samples);
    for (size_t i = TAGS; i < N_TAKERS; i++) {
        uint64_t gone = 0, all = 0;
        for (const struct cost_thread *t = p->threads; t; t = t->next) {
            const struct hp_sampler_stats *stats = hp_sampler_stats(t->samplers[i]);
            gone += stats->lost;
            all += stats->lost + stats->samples;
        }
        lost->values[i - TAGS] = percent(gone, all);
    }
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct cost_probe *p = *(struct cost_probe **)context;
    (void)session;
    HP_TRY(p->failure);
    for (struct cost_thread *t = p->threads; t; t = t->next)
        for (size_t i = 0; i < N_TAKERS; i++)
            hp_sampler_end(t->samplers[i]);
    HP_TRY(set_costs(p));
    return set_fates(p);
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct cost_probe settings = {.lab = lab, .program_name = name}, *probe = &settings;
    return hp_lab_observe_machine(lab, command, N_COSTS,
                                  &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_sampling_cost = {
    .name = "sampling-cost",
    .summary = "what sampling costs, by interval and buffer; slots and tags (sections 4.1, 4.3)",
    .paper =
        "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997. No figures: interrupts "
        "are one of\n"
        "  the most significant sources of overhead, so several samples are buffered; counting "
        "fetch\n"
        "  opportunities is simpler, but may select a significant number of slots without an "
        "instruction of\n"
        "  the predicted path; N tags allow N samples in flight.\n",
    .begin = begin,
    .measure = measure,
};
