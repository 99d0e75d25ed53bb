// SPDX-License-Identifier: MIT
#include "profiler/cores.h"

#include "base/grow.h"
#include "machine/halves.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_IN_LANE 128 /* blocks: for fewer, the other thread is awake too late */

static unsigned count_threads(void)
{
    const char *said = getenv("HOTPATH_THREADS");
    long n = sysconf(_SC_NPROCESSORS_ONLN), most = said ? strtol(said, NULL, 10) : n;
    n = most < n ? most : n;
    return n > 1 ? (unsigned)n : 1;
}

enum hp_err hp_cores_init(struct hp_cores *cores, const struct hp_machine *machine)
{
    *cores = (struct hp_cores){.machine = machine, .threads = count_threads()};
    cores->events = calloc(HP_BATCH_MAX, sizeof *cores->events);
    cores->wrong = calloc(HP_BATCH_MAX, sizeof *cores->wrong);
    return cores->events && cores->wrong ? HP_OK : hp_fail_nomem();
}

void hp_cores_fini(struct hp_cores *cores)
{
    for (size_t i = 0; i < cores->n; i++)
        free((char *)cores->stats[i].name);
    free(cores->stats);
    free(cores->events);
    free(cores->wrong);
    hp_lane_free(cores->lane);
    *cores = (struct hp_cores){0};
}

/* --- Running ---------------------------------------------------------------------------------- */

/* The branches of a batch. */
struct branches {
    struct hp_core *core;
    const struct hp_batch *batch;
    size_t n; /* blocks */
    uint32_t *wrong;
    size_t n_wrong;
};

static void run_branches(void *context)
{
    struct branches *b = context;
    b->n_wrong = hp_core_run_branches(b->core, b->batch, b->n, b->wrong);
}

/* Whether a batch of so many blocks is run in two threads. Without a second one the run is slower,
 * nothing else. */
static bool in_two(struct hp_cores *cores, size_t n)
{
    if (cores->threads < 2 || n < MIN_IN_LANE)
        return false;
    if (!cores->lane && hp_lane_new(&cores->lane) != HP_OK)
        cores->threads = 1;
    return cores->lane;
}

/* `events` NULL: they are not wanted. */
static enum hp_err run_halves(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                              const struct hp_batch *batch, struct hp_events *events)
{
    struct branches branches = {.core = core, .batch = batch, .wrong = cores->wrong};
    HP_TRY(hp_core_prepare(core, code, batch, &branches.n));
    bool two = in_two(cores, batch->n);
    if (two)
        hp_lane_begin(cores->lane, run_branches, &branches);
    hp_core_run_memory(core, batch, branches.n, events);
    if (two)
        hp_lane_wait(cores->lane);
    else
        run_branches(&branches);
    if (events)
        hp_core_add_wrong(events, branches.wrong, branches.n_wrong);
    return HP_OK;
}

enum hp_err hp_cores_run(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                         struct hp_batch *batch)
{
    HP_TRY(in_two(cores, batch->n) ? run_halves(cores, core, code, batch, cores->events)
                                   : hp_core_batch(core, code, batch, cores->events));
    batch->events = cores->events;
    return HP_OK;
}

enum hp_err hp_cores_warm(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                          const struct hp_batch *batch)
{
    return run_halves(cores, core, code, batch, NULL);
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
