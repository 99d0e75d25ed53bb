// SPDX-License-Identifier: MIT
#include "profiler/cores.h"

#include "base/grow.h"
#include "machine/halves.h"
#include "profiler/lanes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIAL       32   /* batches with the lane, and as many without it, ... */
#define TRIALS      1024 /* ... of so many; the others do what took less time */
#define MIN_IN_LANE 128  /* blocks: for fewer, the other thread is awake too late */

/* The branches of a batch: offered to the lane, and taken by it, or taken back by who offered them
 * if the lane has not begun when the rest is done. So nobody waits for a thread that does not run.
 */
struct hp_cores_branches {
    struct hp_core *core;
    const struct hp_batch *batch;
    size_t n;        /* blocks */
    uint32_t *wrong; /* of these: mispredicted */
    size_t n_wrong;
    bool taken;
    bool over; /* the lane does nothing more with it */
};

enum hp_err hp_cores_init(struct hp_cores *cores, const struct hp_machine *machine)
{
    *cores = (struct hp_cores){.machine = machine, .threads = hp_lanes_threads()};
    cores->events = calloc(HP_BATCH_MAX, sizeof *cores->events);
    cores->wrong = calloc(HP_BATCH_MAX, sizeof *cores->wrong);
    cores->branches = calloc(1, sizeof *cores->branches);
    return cores->events && cores->wrong && cores->branches ? HP_OK : hp_fail_nomem();
}

void hp_cores_fini(struct hp_cores *cores)
{
    for (size_t i = 0; i < cores->n; i++)
        free((char *)cores->stats[i].name);
    free(cores->stats);
    free(cores->events);
    free(cores->wrong);
    if (cores->offered)
        hp_lane_wait(cores->lane);
    hp_lane_free(cores->lane);
    free(cores->branches);
    *cores = (struct hp_cores){0};
}

/* --- Running ---------------------------------------------------------------------------------- */

static void run_branches(struct hp_cores_branches *b)
{
    b->n_wrong = hp_core_run_branches(b->core, b->batch, b->n, b->wrong);
}

static void run_in_lane(void *context)
{
    struct hp_cores_branches *b = context;
    if (!__atomic_exchange_n(&b->taken, true, __ATOMIC_ACQ_REL))
        run_branches(b);
    __atomic_store_n(&b->over, true, __ATOMIC_RELEASE);
}

/* --- Trials ----------------------------------------------------------------------------------- */

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether the next batch is to use the lane. */
static bool wants_lane(const struct hp_cores *cores)
{
    unsigned batch = cores->trial.batch;
    return batch < 2 * TRIAL ? batch < TRIAL : cores->trial.pays;
}

static void note_batch(struct hp_cores *cores, bool in_lane, size_t blocks, uint64_t ns)
{
    uint64_t *sums = cores->trial.ns, *of = cores->trial.blocks;
    sums[in_lane] += ns;
    of[in_lane] += blocks;
    cores->trial.batch++;
    if (cores->trial.batch == 2 * TRIAL) {
        cores->trial.pays = (double)sums[1] * (double)of[0] < (double)sums[0] * (double)of[1];
    } else if (cores->trial.batch == TRIALS) {
        cores->trial.batch = 0;
        sums[0] = sums[1] = of[0] = of[1] = 0;
    }
}

/* --- Both halves ------------------------------------------------------------------------------ */

/* Whether the lane can be offered something. Without a lane the run is slower, nothing else. */
static bool is_free(struct hp_cores *cores)
{
    if (!cores->lane && hp_lane_new(&cores->lane) != HP_OK)
        cores->threads = 1;
    if (cores->offered && __atomic_load_n(&cores->branches->over, __ATOMIC_ACQUIRE)) {
        hp_lane_wait(cores->lane);
        cores->offered = false;
    }
    return cores->lane && !cores->offered;
}

/* `events` NULL: they are not wanted. */
static void run_with_lane(struct hp_cores *cores, struct hp_core *core,
                          const struct hp_batch *batch, size_t n, struct hp_events *events)
{
    struct hp_cores_branches *b = cores->branches;
    *b = (struct hp_cores_branches){.core = core, .batch = batch, .n = n, .wrong = cores->wrong};
    hp_lane_begin(cores->lane, run_in_lane, b);
    cores->offered = true;
    hp_core_run_memory(core, batch, n, events);
    if (!__atomic_exchange_n(&b->taken, true, __ATOMIC_ACQ_REL)) {
        run_branches(b);
    } else {
        hp_lane_wait(cores->lane);
        cores->offered = false;
    }
    if (events)
        hp_core_add_wrong(events, b->wrong, b->n_wrong);
}

static void run_alone(struct hp_cores *cores, struct hp_core *core, const struct hp_batch *batch,
                      size_t n, struct hp_events *events)
{
    hp_core_run_memory(core, batch, n, events);
    size_t n_wrong = hp_core_run_branches(core, batch, n, cores->wrong);
    if (events)
        hp_core_add_wrong(events, cores->wrong, n_wrong);
}

/* Runs the first `n` blocks. */
static void run_halves(struct hp_cores *cores, struct hp_core *core, const struct hp_batch *batch,
                       size_t n, struct hp_events *events)
{
    if (cores->threads < 2 || n < MIN_IN_LANE) {
        run_alone(cores, core, batch, n, events);
        return;
    }
    bool wanted = wants_lane(cores);
    uint64_t start = now();
    if (wanted && is_free(cores))
        run_with_lane(cores, core, batch, n, events);
    else
        run_alone(cores, core, batch, n, events);
    note_batch(cores, wanted, n, now() - start);
}

enum hp_err hp_cores_run(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                         struct hp_batch *batch)
{
    size_t n;
    if (cores->threads < 2) {
        HP_TRY(hp_core_batch(core, code, batch, cores->events));
    } else {
        HP_TRY(hp_core_prepare(core, code, batch, &n));
        run_halves(cores, core, batch, n, cores->events);
    }
    batch->events = cores->events;
    return HP_OK;
}

enum hp_err hp_cores_warm(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                          const struct hp_batch *batch)
{
    size_t n;
    HP_TRY(hp_core_prepare(core, code, batch, &n));
    run_halves(cores, core, batch, n, NULL);
    return HP_OK;
}

enum hp_err hp_cores_run_tail(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                              const struct hp_event *tail, const struct hp_events **events)
{
    *events = NULL;
    HP_TRY(hp_core_tail(core, code, tail, cores->events));
    *events = cores->events;
    return HP_OK;
}

/* --- Sums ------------------------------------------------------------------------------------- */

/* The first core defines the counters. */
static enum hp_err learn_names(struct hp_cores *cores, const struct hp_core_stat *stats)
{
    for (size_t i = 0; cores->n == i && stats[i].name; i++) {
        HP_TRY(hp_grow(&cores->stats, &cores->cap, i + 1, sizeof *cores->stats));
        cores->stats[i] = (struct hp_core_stat){.name = strdup(stats[i].name)};
        if (!cores->stats[i].name)
            return hp_fail_nomem();
        cores->n++;
    }
    return HP_OK;
}

static enum hp_err add(struct hp_cores *cores, struct hp_core *core, bool away)
{
    const struct hp_core_stat *stats = hp_core_stats(core);
    if (!cores->n)
        HP_TRY(learn_names(cores, stats));
    for (size_t i = 0; i < cores->n && stats[i].name; i++)
        cores->stats[i].value += away ? 0 - stats[i].value : stats[i].value;
    return HP_OK;
}

enum hp_err hp_cores_add(struct hp_cores *cores, struct hp_core *core)
{
    return add(cores, core, false);
}

enum hp_err hp_cores_subtract(struct hp_cores *cores, struct hp_core *core)
{
    return add(cores, core, true);
}

void hp_cores_clear(struct hp_cores *cores)
{
    for (size_t i = 0; i < cores->n; i++)
        cores->stats[i].value = 0;
}
