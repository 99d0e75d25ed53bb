// SPDX-License-Identifier: MIT
/*
 * What the path profiler in hardware costs (figure 12 of the paper): the same program on cores that
 * differ only in the queue between retirement and the profiler.
 */
#include "lab/experiments.h"
#include "machine/machine.h"
#include "profiler/path/detector_impl.h"
#include "profiler/runner.h"

#include <math.h>
#include <stdlib.h>

/* The kinds of paths that a profiler in hardware counts. */
enum { BL, LOOP, CALL, N_KINDS };
static const char *const kinds[N_KINDS] = {
    [BL] = "bl", [LOOP] = "extended-loop:1", [CALL] = "extended-call:1"};

static const struct design {
    const char *key, *title;
    int entries; /* of the queue; -1: no profiler */
    int kind;
    double paper;
} designs[] = {{"none", NULL, -1, BL, 0},
               {"q0", NULL, 0, BL, 8.04},
               {"q1", NULL, 1, BL, (double)NAN},
               {"q2", NULL, 2, BL, (double)NAN},
               {"q4", NULL, 4, BL, 0.6},
               {"q8", NULL, 8, BL, (double)NAN},
               {"loop_q4", "loop q4", 4, LOOP, (double)NAN},
               {"call_q4", "call q4", 4, CALL, (double)NAN}};
#define N_DESIGNS (sizeof designs / sizeof *designs)
#define SHARE     6 /* of the usual instructions: there are many cores */

/* Reading the table out, and clearing it, at the end of each window of so many instructions. An
 * entry of 117 bits is two words. */
#define ENTRIES     512
#define ENTRY_WORDS 2
static const struct window {
    const char *software, *dma;
    double instructions;
} windows_read[] = {{"software_1M", "dma_1M", 1e6},
                    {"software_10M", "dma_10M", 1e7},
                    {"software_100M", "dma_100M", 1e8}};
#define N_WINDOWS (sizeof windows_read / sizeof *windows_read)

/* --- The profiler in hardware ----------------------------------------------------------------- */

/* Paths of a kind into the paper's table, and the cost of each branch. */
struct hardware {
    struct hp_ppcr ppcr;
    struct hp_detector *detector;
    struct hp_hpt *hpt;
    unsigned miss_cycles; /* to find the entry to replace */
};

static enum hp_err open_hardware(struct hardware *h, const char *kind)
{
    struct hp_hpt_config config;
    HP_TRY(hp_ppcr_parse(kind, &h->ppcr));
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

/* Of a branch through which the path at the top grew only the update is left. */
static unsigned operations(const struct hardware *h, const struct hp_branch *b, bool grew)
{
    const struct hp_path_transfer x = {.last = b->address,
                                       .end = b->end,
                                       .direct = b->direct,
                                       .target = b->target,
                                       .from = HP_NO_ID,
                                       .to = HP_NO_ID,
                                       .flow = b->flow,
                                       .taken = b->taken};
    return grew ? 1 : (unsigned)__builtin_popcount(h->ppcr.ops[hp_detector_class(&h->ppcr, &x)]);
}

static uint32_t extension_of(const struct hp_detector *d)
{
    return d->n ? d->entries[d->n - 1].extension : 0;
}

/* One cycle per operation; for a path that ends one more to find it in the table, or log2(ways) if
 * it misses. */
static uint16_t cost_of(struct hardware *h, const struct hp_batch *batch, size_t i)
{
    struct hp_branch branch;
    struct hp_batch one = hp_batch_part(batch, i, 1);
    struct hp_hpt_stats before = *hp_hpt_stats(h->hpt);
    size_t depth = h->detector->n;
    uint32_t extension = extension_of(h->detector);
    hp_detector_batch(h->detector, &one);
    hp_detector_flush(h->detector);
    if (!hp_batch_branch(batch, i, &branch))
        return 0;
    const struct hp_hpt_stats *after = hp_hpt_stats(h->hpt);
    uint64_t table = after->hits - before.hits + (after->misses - before.misses) * h->miss_cycles;
    bool grew = !table && h->detector->n == depth && extension_of(h->detector) != extension;
    return (uint16_t)(operations(h, &branch, grew) + table);
}

/* --- Cores side by side ----------------------------------------------------------------------- */

struct side_thread {
    struct overhead *owner;
    struct side_thread *next;
    struct hardware hardware[N_KINDS];
    struct hp_runner runners[N_DESIGNS];
};

struct overhead {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_cycles_setup setups[N_DESIGNS];
    struct hp_cores cores;
    struct side_thread *threads;
    uint64_t cycles[N_DESIGNS]; /* of all threads */
    /* Retired; of these, a profiler's cycles for Ball-Larus paths. */
    uint64_t instructions, branches, service;
    enum hp_err failure;
    uint16_t costs[N_KINDS][HP_BATCH_MAX];
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
    for (int kind = 0; kind < N_KINDS; kind++)
        HP_TRY(open_hardware(&t->hardware[kind], kinds[kind]));
    for (size_t q = 0; q < N_DESIGNS; q++)
        HP_TRY(hp_runner_init(&t->runners[q], o->machine, &o->setups[q], NULL, NULL));
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct side_thread *t = state;
    struct overhead *o = t->owner;
    for (size_t i = 0; i < batch->n; i++) {
        for (int kind = 0; kind < N_KINDS; kind++)
            o->costs[kind][i] = cost_of(&t->hardware[kind], batch, i);
        o->service += o->costs[BL][i];
        o->branches += o->costs[BL][i] > 0;
        o->instructions += batch->table[batch->blocks[i]].insns;
    }
    for (size_t q = 0; q < N_DESIGNS && o->failure == HP_OK; q++) {
        struct hp_batch copy = *batch;
        t->runners[q].costs = o->costs[designs[q].kind];
        o->failure = hp_runner_batch(&t->runners[q], &o->cores, o->code, &copy, true);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct side_thread *t = state;
    struct overhead *o = t->owner;
    const struct hp_events *events;
    for (int kind = 0; kind < N_KINDS; kind++)
        hp_detector_event(t->hardware[kind].detector, event);
    for (size_t q = 0; q < N_DESIGNS && o->failure == HP_OK; q++)
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
        for (size_t q = 0; q < N_DESIGNS; q++)
            hp_runner_fini(&t->runners[q]);
        for (int kind = 0; kind < N_KINDS; kind++)
            close_hardware(&t->hardware[kind]);
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
    for (size_t q = 0; q < N_DESIGNS; q++)
        o->setups[q] = (struct hp_cycles_setup){
            .program = o->program,
            .windows = *windows,
            .has_queue = designs[q].entries >= 0,
            .queue = designs[q].entries >= 0 ? (unsigned)designs[q].entries : 0};
    return HP_OK;
}

/* --- The experiment --------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct overhead *overhead;
};

static enum hp_err begin_readout(struct hp_lab *lab)
{
    struct hp_lab_results *results = hp_lab_add_results(
        lab, "readout", "Cycles more for reading the table out at the end of each window, percent",
        "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t i = 0; i < N_WINDOWS; i++)
        hp_lab_results_column(results, windows_read[i].software, NULL, 3);
    for (size_t i = 0; i < N_WINDOWS; i++)
        hp_lab_results_column(results, windows_read[i].dma, NULL, 3);
    return HP_OK;
}

/* Software: words are read one after the other, each as far away as the L2, and stored; then each
 * entry is cleared. DMA: the table can be used again when it has been copied, a word a cycle. */
static enum hp_err add_readout(const struct overhead *o, struct hp_lab_results *results,
                               const char *program, double cpi)
{
    double words = ENTRIES * ENTRY_WORDS;
    double software = words * ((double)o->machine->l2.latency + 1) + ENTRIES;
    for (size_t i = 0; i < N_WINDOWS; i++) {
        double window = windows_read[i].instructions * cpi;
        HP_TRY(hp_lab_results_set(results, program,
                                  hp_lab_results_find(results, windows_read[i].software),
                                  100 * software / window));
        HP_TRY(hp_lab_results_set(results, program,
                                  hp_lab_results_find(results, windows_read[i].dma),
                                  100 * words / window));
    }
    return HP_OK;
}

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *results = hp_lab_add_results(
        lab, "overhead",
        "Cycles more than without a profiler, percent, by entries of the branch queue", "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t q = 1; q < N_DESIGNS; q++) {
        hp_lab_results_column(results, designs[q].key, designs[q].title, 2);
        hp_lab_results_paper(results, "paper, mean", designs[q].key, designs[q].paper);
    }
    hp_lab_results_column(results, "ipc", "IPC without", 2);
    hp_lab_results_column(results, "distance", "insns a branch", 1);
    hp_lab_results_column(results, "service", "cycles a branch", 2);
    return begin_readout(lab);
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct overhead *o = calloc(1, sizeof *o);
    struct hp_windows windows = hp_lab_windows(probe->lab, SHARE);
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
        for (size_t q = 0; q < N_DESIGNS; q++)
            o->cycles[q] += hp_pipe_stats(t->runners[q].pipe)->cycles;
        retired += hp_pipe_stats(t->runners[0].pipe)->retired;
    }
    if (retired == 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "it ended before anything was run in cycles");
    HP_TRY(hp_lab_results_row(results, probe->program, &row));
    double base = (double)o->cycles[0];
    for (size_t q = 1; q < N_DESIGNS; q++)
        row->values[hp_lab_results_find(results, designs[q].key)] =
            100 * ((double)o->cycles[q] / base - 1);
    row->values[hp_lab_results_find(results, "ipc")] = (double)retired / base;
    row->values[hp_lab_results_find(results, "distance")] =
        (double)o->instructions / (double)o->branches;
    row->values[hp_lab_results_find(results, "service")] = (double)o->service / (double)o->branches;
    return add_readout(o, probe->lab->results[1], probe->program, base / (double)retired);
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe_machine(lab, command, SHARE,
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
