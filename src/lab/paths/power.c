// SPDX-License-Identifier: MIT
/*
 * Power along paths (figure 11 of the paper): by the analytical model, and by the cycle model in
 * the cycles of a pipeline; how much of either the tables keep, and how similar the two are.
 */
#include "base/grow.h"
#include "lab/experiments.h"
#include "lab/paths/path_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ANALYTICAL, CYCLE, MODELS };
static const char *const metrics[MODELS] = {"power", "power-cycle"};
static const char *const titles[MODELS] = {
    "Power of the caches, analytical model: overlap with the complete profile, percent",
    "Power of the caches in the cycles of a pipeline: overlap with the complete profile, percent"};

/* --- A pipeline whose blocks go to path profilers --------------------------------------------- */

/* What entered the pipeline and has not left it yet. */
struct backlog {
    uint32_t *blocks;
    uint8_t *taken;
    struct hp_events *events;
    size_t n, known; /* entered; of these, with events */
    size_t cap_blocks, cap_taken, cap_events;
};

struct power_thread {
    struct power *owner;
    struct power_thread *next;
    struct hp_core *core;
    struct hp_pipe *pipe;
    struct backlog backlog;
    void *states[MODELS];
};

struct power {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_profiler *paths[MODELS];
    struct power_thread *threads;
    enum hp_err failure;
};

static void take_blocks(void *context, const uint32_t *blocks, const struct hp_events *events,
                        size_t n)
{
    struct power_thread *t = context;
    struct backlog *b = &t->backlog;
    (void)blocks;
    if (t->owner->failure == HP_OK)
        t->owner->failure = hp_grow(&b->events, &b->cap_events, b->known + n, sizeof *b->events);
    if (t->owner->failure != HP_OK)
        return;
    memcpy(b->events + b->known, events, n * sizeof *events);
    b->known += n;
}

/* Passes to the path profilers all blocks with known events and successor. blocks[n] is valid
 * too. */
static void hand_on(struct power_thread *t)
{
    struct backlog *b = &t->backlog;
    size_t done = 0;
    while (b->known - done > 0 && t->owner->failure == HP_OK) {
        size_t n = b->known - done < HP_BATCH_MAX ? b->known - done : HP_BATCH_MAX;
        struct hp_batch batch = {.code = t->owner->code,
                                 .table = hp_code_blocks(t->owner->code),
                                 .blocks = b->blocks + done,
                                 .taken = b->taken + done,
                                 .n = n,
                                 .events = b->events + done};
        for (size_t m = 0; m < MODELS; m++)
            t->owner->paths[m]->ops->batch(t->states[m], &batch);
        done += n;
    }
    if (done == 0)
        return;
    memmove(b->blocks, b->blocks + done, (b->n - done + 1) * sizeof *b->blocks);
    memmove(b->taken, b->taken + done, (b->n - done) * sizeof *b->taken);
    b->n -= done;
    b->known -= done;
}

static enum hp_err keep(struct backlog *b, const struct hp_batch *batch)
{
    HP_TRY(hp_grow(&b->blocks, &b->cap_blocks, b->n + batch->n + 1, sizeof *b->blocks));
    HP_TRY(hp_grow(&b->taken, &b->cap_taken, b->n + batch->n, sizeof *b->taken));
    memcpy(b->blocks + b->n, batch->blocks, (batch->n + 1) * sizeof *b->blocks);
    memcpy(b->taken + b->n, batch->taken, batch->n * sizeof *b->taken);
    b->n += batch->n;
    return HP_OK;
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct power *p = (struct power *)profiler;
    struct power_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->owner = p;
    t->next = p->threads;
    p->threads = t;
    *state = t;
    struct hp_pipe_config config = {.context = t, .queue = -1, .blocks = take_blocks};
    HP_TRY(hp_core_new(p->machine, &t->core));
    HP_TRY(hp_pipe_new(p->program, t->core, &config, &t->pipe));
    for (size_t m = 0; m < MODELS; m++)
        HP_TRY(p->paths[m]->ops->start_thread(p->paths[m], info, &t->states[m]));
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct power_thread *t = state;
    struct power *p = t->owner;
    if (p->failure == HP_OK)
        p->failure = keep(&t->backlog, batch);
    if (p->failure == HP_OK)
        p->failure = hp_pipe_batch(t->pipe, batch, NULL);
    if (p->failure == HP_OK)
        hand_on(t);
}

/* Everything before an event is finished first; a tail's own events come last. */
static void take_event(void *state, const struct hp_event *event)
{
    struct power_thread *t = state;
    struct power *p = t->owner;
    struct hp_event with = *event;
    struct hp_events tail = {0};
    if (p->failure == HP_OK)
        p->failure = hp_pipe_drain(t->pipe);
    if (p->failure == HP_OK)
        hand_on(t);
    if (event->kind == HP_EVENT_TAIL && p->failure == HP_OK) {
        p->failure = hp_pipe_tail(t->pipe, event);
        if (p->failure == HP_OK)
            p->failure = hp_pipe_drain(t->pipe);
        if (t->backlog.known)
            tail = t->backlog.events[0];
        t->backlog.known = 0;
        with.events = &tail;
    }
    for (size_t m = 0; m < MODELS && p->failure == HP_OK; m++)
        p->paths[m]->ops->event(t->states[m], &with);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct power *)profiler)->failure;
}

static void free_power(struct hp_profiler *profiler)
{
    struct power *p = (struct power *)profiler;
    for (struct power_thread *t = p->threads, *next; t; t = next) {
        next = t->next;
        hp_pipe_free(t->pipe);
        hp_core_free(t->core);
        free(t->backlog.blocks);
        free(t->backlog.taken);
        free(t->backlog.events);
        free(t);
    }
    for (size_t m = 0; m < MODELS; m++)
        if (p->paths[m])
            p->paths[m]->ops->free(p->paths[m]);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
    free(p);
}

static const struct hp_profiler_ops power_ops = {.name = "power",
                                                 .start_thread = start_thread,
                                                 .batch = take_batch,
                                                 .event = take_event,
                                                 .finish = finish,
                                                 .free = free_power};

static enum hp_err open_power(struct power *p, struct hp_session *session)
{
    p->base.ops = &power_ops;
    p->code = hp_session_code(session);
    HP_TRY(hp_machine_load("vaswani", &p->machine));
    HP_TRY(hp_program_new(p->machine, p->code, &p->program));
    for (size_t m = 0; m < MODELS; m++) {
        char ppcr[64];
        hp_lab_ppcr(metrics[m], ppcr, sizeof ppcr);
        HP_TRY(hp_lab_paths_new(session, ppcr, hp_lab_tables, hp_lab_n_tables, 0, &p->paths[m]));
    }
    return HP_OK;
}

/* --- The experiment --------------------------------------------------------------------------- */

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t m = 0; m < MODELS; m++) {
        struct hp_lab_results *results = hp_lab_add_results(lab, metrics[m], titles[m], "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        hp_lab_results_column(results, "distinct", NULL, 0);
        hp_lab_table_columns(results, hp_lab_tables, hp_lab_n_tables);
        hp_lab_results_column(results, "best", NULL, 1);
    }
    hp_lab_results_paper(lab->results[ANALYTICAL], "paper", HP_LAB_TABLE, 82.9);
    struct hp_lab_results *alike =
        hp_lab_add_results(lab, "alike", "How alike the two models are", "program");
    if (!alike)
        return HP_ERR_NOMEM;
    alike->mean = true;
    hp_lab_results_column(alike, "overlap", "overlap of profiles, %", 2);
    hp_lab_results_column(alike, "hottest", "of the 100 hottest in both, %", 1);
    hp_lab_results_column(alike, "ratio", "cycle / analytical power", 3);
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct power *power;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct power *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    probe->power = p;
    enum hp_err err = open_power(p, session);
    if (err != HP_OK) {
        free_power(&p->base);
        return err;
    }
    return hp_session_add(session, &p->base);
}

static enum hp_err set_tables(struct probe *probe, size_t m)
{
    struct hp_lab_results *results = probe->lab->results[m];
    struct hp_lab_results_row *row;
    struct hp_lab_overlaps o;
    HP_TRY(hp_lab_overlaps(probe->power->paths[m], &o));
    HP_TRY(hp_lab_results_row(results, probe->program, &row));
    row->values[hp_lab_results_find(results, "distinct")] = (double)o.distinct;
    row->values[hp_lab_results_find(results, "best")] = o.best;
    for (size_t i = 0; i < hp_lab_n_tables; i++)
        row->values[hp_lab_results_find(results, hp_lab_tables[i].key)] = o.complete[i];
    return HP_OK;
}

static int by_events(const void *a, const void *b)
{
    const struct hp_path_count *x = a, *y = b;
    if (x->events != y->events)
        return x->events < y->events ? 1 : -1;
    uint64_t hx = hp_path_hash(&x->path), hy = hp_path_hash(&y->path);
    return hx < hy ? -1 : hx > hy;
}

static double total(const struct hp_path_count *paths, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)paths[i].events;
    return sum;
}

#define HOTTEST 100

/* How many of the hottest by one are among the hottest by the other; both sorted. */
static double common(const struct hp_path_count *a, size_t n_a, const struct hp_path_count *b,
                     size_t n_b)
{
    size_t n = n_a < HOTTEST ? n_a : HOTTEST, found = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n && k < n_b; k++)
            found += hp_path_same(&a[i].path, &b[k].path);
    return n ? 100 * (double)found / (double)n : NAN;
}

static enum hp_err compare(struct probe *probe, struct hp_path_count *a, size_t n_a,
                           struct hp_path_count *c, size_t n_c)
{
    struct hp_lab_results_row *row;
    double overlap;
    qsort(a, n_a, sizeof *a, by_events);
    qsort(c, n_c, sizeof *c, by_events);
    HP_TRY(hp_lab_results_row(probe->lab->results[MODELS], probe->program, &row));
    row->values[1] = common(a, n_a, c, n_c);
    row->values[2] = total(c, n_c) / total(a, n_a);
    for (size_t i = 0; i < n_c; i++)
        c[i].count = c[i].events; /* as in a table */
    HP_TRY(hp_path_overlap(c, n_c, a, n_a, HP_WEIGHT_EVENTS, &overlap));
    row->values[0] = overlap;
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_path_count *paths[MODELS] = {0};
    size_t n[MODELS] = {0};
    (void)session;
    enum hp_err err = probe->power->failure;
    for (size_t m = 0; m < MODELS && err == HP_OK; m++) {
        err = set_tables(probe, m);
        if (err == HP_OK)
            err = hp_lab_all_paths(probe->power->paths[m], &paths[m], &n[m]);
    }
    if (err == HP_OK)
        err = compare(probe, paths[ANALYTICAL], n[ANALYTICAL], paths[CYCLE], n[CYCLE]);
    for (size_t m = 0; m < MODELS; m++)
        free(paths[m]);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    uint64_t nth = lab->options.machine_instructions / lab->options.cycle_instructions;
    return hp_lab_observe_machine(lab, command, nth ? (unsigned)nth : 1,
                                  &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_paths_power = {
    .name = "paths-power",
    .summary = "power along paths: the cycle model beside the analytical one (figure 11)",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  With the analytical model 82.9 % of the complete profile are in a table of 512 entries, "
        "4 ways.\n"
        "  Profiles by the two models show a strong similarity in the relative order of paths, "
        "despite\n"
        "  differences in the absolute value.\n",
    .begin = begin,
    .measure = measure,
};
