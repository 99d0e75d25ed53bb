// SPDX-License-Identifier: MIT
/*
 * What the path profiler in hardware costs (figure 12 of the paper): the same program on cores that
 * differ only in the queue between retirement and the profiler.
 */
#include "lab/experiments.h"
#include "profiler/path/detector_impl.h"
#include "profiler/runner.h"

#include <math.h>
#include <stdlib.h>

static const struct queue {
    const char *key;
    int entries; /* -1: no profiler */
    double paper;
} queues[] = {{"none", -1, 0},        {"q0", 0, 8.04}, {"q1", 1, (double)NAN},
              {"q2", 2, (double)NAN}, {"q4", 4, 0.6},  {"q8", 8, (double)NAN}};
#define N_QUEUES (sizeof queues / sizeof *queues)

/* --- The profiler in hardware ----------------------------------------------------------------- */

/* Ball-Larus paths into the paper's table, and the cost of each branch. */
struct hardware {
    struct hp_ppcr ppcr;
    struct hp_detector *detector;
    struct hp_hpt *hpt;
    unsigned miss_cycles; /* to find the entry to replace */
};

static enum hp_err open_hardware(struct hardware *h)
{
    struct hp_hpt_config config;
    HP_TRY(hp_ppcr_parse("bl", &h->ppcr));
    HP_TRY(hp_hpt_parse("512x4", &config));
    HP_TRY(hp_hpt_new(&config, &h->hpt));
    h->miss_cycles = (unsigned)__builtin_ctz(config.ways);
    return hp_detector_new(&h->ppcr, NULL, hp_hpt_sink(h->hpt), &h->detector);
}

static void close_hardware(struct hardware *h)
{
    hp_detector_free(h->detector);
    hp_hpt_free(h->hpt);
}

static unsigned operations(const struct hardware *h, const struct hp_branch *b)
{
    const struct hp_path_transfer x = {.last = b->address,
                                       .end = b->end,
                                       .direct = b->direct,
                                       .target = b->target,
                                       .from = HP_NO_ID,
                                       .to = HP_NO_ID,
                                       .flow = b->flow,
                                       .taken = b->taken};
    return (unsigned)__builtin_popcount(h->ppcr.ops[hp_detector_class(&h->ppcr, &x)]);
}

/* One cycle per operation; for a path that ends one more to find it in the table, or log2(ways) if
 * it misses. */
static uint16_t cost_of(struct hardware *h, const struct hp_batch *batch, size_t i)
{
    struct hp_branch branch;
    struct hp_batch one = hp_batch_part(batch, i, 1);
    struct hp_hpt_stats before = *hp_hpt_stats(h->hpt);
    hp_detector_batch(h->detector, &one);
    hp_detector_flush(h->detector);
    if (!hp_batch_branch(batch, i, &branch))
        return 0;
    const struct hp_hpt_stats *after = hp_hpt_stats(h->hpt);
    uint64_t table = after->hits - before.hits + (after->misses - before.misses) * h->miss_cycles;
    return (uint16_t)(operations(h, &branch) + table);
}

/* --- Cores side by side ----------------------------------------------------------------------- */

struct side_thread {
    struct overhead *owner;
    struct side_thread *next;
    struct hardware hardware;
    struct hp_runner runners[N_QUEUES];
};

struct overhead {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_cycles_setup setups[N_QUEUES];
    struct hp_cores cores;
    struct side_thread *threads;
    uint64_t cycles[N_QUEUES];                /* of all threads */
    uint64_t instructions, branches, service; /* retired; the profiler's cycles for all of them */
    enum hp_err failure;
    uint16_t costs[HP_BATCH_MAX];
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct overhead *o = (struct overhead *)profiler;
    struct side_thread *t = calloc(1, sizeof *t);
    (void)info;
    if (!t)
        return hp_fail_nomem();
    t->owner = o;
    t->next = o->threads;
    o->threads = t;
    *state = t;
    HP_TRY(open_hardware(&t->hardware));
    for (size_t q = 0; q < N_QUEUES; q++)
        HP_TRY(hp_runner_init(&t->runners[q], o->machine, &o->setups[q], NULL, NULL));
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct side_thread *t = state;
    struct overhead *o = t->owner;
    for (size_t i = 0; i < batch->n; i++) {
        o->costs[i] = cost_of(&t->hardware, batch, i);
        o->service += o->costs[i];
        o->branches += o->costs[i] > 0;
        o->instructions += batch->table[batch->blocks[i]].insns;
    }
    for (size_t q = 0; q < N_QUEUES && o->failure == HP_OK; q++) {
        struct hp_batch copy = *batch;
        t->runners[q].costs = o->costs;
        o->failure = hp_runner_batch(&t->runners[q], &o->cores, o->code, &copy, true);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct side_thread *t = state;
    struct overhead *o = t->owner;
    const struct hp_events *events;
    hp_detector_event(t->hardware.detector, event);
    for (size_t q = 0; q < N_QUEUES && o->failure == HP_OK; q++)
        o->failure = hp_runner_event(&t->runners[q], &o->cores, o->code, event, true, &events);
}

static enum hp_err add_nothing(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler;
    (void)result;
    return HP_OK;
}

static void free_overhead(struct hp_profiler *profiler)
{
    struct overhead *o = (struct overhead *)profiler;
    for (struct side_thread *t = o->threads, *next; t; t = next) {
        next = t->next;
        for (size_t q = 0; q < N_QUEUES; q++)
            hp_runner_fini(&t->runners[q]);
        close_hardware(&t->hardware);
        free(t);
    }
    hp_cores_fini(&o->cores);
    hp_program_free(o->program);
    hp_machine_free(o->machine);
    free(o);
}

static const struct hp_profiler_ops overhead_ops = {.name = "overhead",
                                                    .start_thread = start_thread,
                                                    .batch = take_batch,
                                                    .event = take_event,
                                                    .finish = add_nothing,
                                                    .free = free_overhead};

static enum hp_err open_overhead(struct overhead *o, const struct hp_windows *windows)
{
    HP_TRY(hp_machine_load("vaswani", &o->machine));
    HP_TRY(hp_program_new(o->machine, o->code, &o->program));
    HP_TRY(hp_cores_init(&o->cores, o->machine));
    for (size_t q = 0; q < N_QUEUES; q++)
        o->setups[q] = (struct hp_cycles_setup){
            .program = o->program,
            .windows = *windows,
            .has_queue = queues[q].entries >= 0,
            .queue = queues[q].entries >= 0 ? (unsigned)queues[q].entries : 0};
    return HP_OK;
}

/* --- The experiment --------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct overhead *overhead;
};

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *results = hp_lab_add_results(
        lab, "overhead",
        "Cycles more than without a profiler, percent, by entries of the branch queue", "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t q = 1; q < N_QUEUES; q++) {
        hp_lab_results_column(results, queues[q].key, NULL, 2);
        hp_lab_results_paper(results, "paper, mean", queues[q].key, queues[q].paper);
    }
    hp_lab_results_column(results, "ipc", "IPC without", 2);
    hp_lab_results_column(results, "distance", "insns a branch", 1);
    hp_lab_results_column(results, "service", "cycles a branch", 2);
    return HP_OK;
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct overhead *o = calloc(1, sizeof *o);
    struct hp_windows windows = hp_lab_windows(probe->lab, N_QUEUES);
    if (!o)
        return hp_fail_nomem();
    o->base.ops = &overhead_ops;
    o->code = hp_session_code(session);
    probe->overhead = o;
    enum hp_err err = open_overhead(o, &windows);
    if (err != HP_OK) {
        free_overhead(&o->base);
        return err;
    }
    return hp_session_add(session, &o->base);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct overhead *o = probe->overhead;
    struct hp_lab_results *results = probe->lab->results[0];
    struct hp_lab_results_row *row;
    uint64_t retired = 0;
    (void)session;
    HP_TRY(o->failure);
    for (const struct side_thread *t = o->threads; t; t = t->next) {
        for (size_t q = 0; q < N_QUEUES; q++)
            o->cycles[q] += hp_pipe_stats(t->runners[q].pipe)->cycles;
        retired += hp_pipe_stats(t->runners[0].pipe)->retired;
    }
    if (retired == 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "it ended before anything was run in cycles");
    HP_TRY(hp_lab_results_row(results, probe->program, &row));
    double base = (double)o->cycles[0];
    for (size_t q = 1; q < N_QUEUES; q++)
        row->values[hp_lab_results_find(results, queues[q].key)] =
            100 * ((double)o->cycles[q] / base - 1);
    row->values[hp_lab_results_find(results, "ipc")] = (double)retired / base;
    row->values[hp_lab_results_find(results, "distance")] =
        (double)o->instructions / (double)o->branches;
    row->values[hp_lab_results_find(results, "service")] = (double)o->service / (double)o->branches;
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe_machine(lab, command, N_QUEUES,
                                  &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_paths_overhead = {
    .name = "paths-overhead",
    .summary = "what the path profiler costs behind a branch queue (figure 12)",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  Ball-Larus paths into a table of 512 entries, 4 ways; 12 programs of SPEC CPU2000 with\n"
        "  MinneSPEC inputs on SimpleScalar: 8.04 % without a queue, 0.6 % with 4 entries.\n",
    .begin = begin,
    .measure = measure,
};
