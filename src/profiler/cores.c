// SPDX-License-Identifier: MIT
#include "profiler/cores.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_cores_init(struct hp_cores *cores, const struct hp_machine *machine)
{
    *cores = (struct hp_cores){.machine = machine};
    cores->events = calloc(HP_BATCH_MAX, sizeof *cores->events);
    return cores->events ? HP_OK : hp_fail_nomem();
}

void hp_cores_fini(struct hp_cores *cores)
{
    for (size_t i = 0; i < cores->n; i++)
        free((char *)cores->stats[i].name);
    free(cores->stats);
    free(cores->events);
    *cores = (struct hp_cores){0};
}

/* --- Running ---------------------------------------------------------------------------------- */

enum hp_err hp_cores_run(struct hp_cores *cores, struct hp_core *core, struct hp_code *code,
                         struct hp_batch *batch)
{
    HP_TRY(hp_core_batch(core, code, batch, cores->events));
    batch->events = cores->events;
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
