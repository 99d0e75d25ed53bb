// SPDX-License-Identifier: MIT
/*
 * Where an event counter's interrupts arrive (figure 2 of ProfileMe): a loop with one load and
 * hundreds of nops. How many instructions after the load is the one that an interrupt for a D-cache
 * reference sees, on an in-order and on an out-of-order core? And with ProfileMe? The model has no
 * noise: all iterations of the loop are alike. So real programs are measured too.
 */
#include "profiler/cycles/skid.h"
#include "lab/experiments.h"
#include "lab/sampling/timings_callback.h"
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

#define FARTHEST 64 /* instructions after the load that are distinguished */
#define SHOWN    32 /* ... in any case */
#define EVERY    7  /* references per interrupt: divides nothing in the loop */

/* The delay is the paper's: six cycles on the 21164. */
static const struct machine {
    const char *name, *key, *title;
    uint32_t delay;
} machines[] = {{"arm9", "in_order", "in order (arm9)", 6},
                {"alpha21264", "alpha21264", "out of order (alpha21264)", 6},
                {"modern", "modern", "out of order (modern)", 6}};
#define N_MACHINES (sizeof machines / sizeof *machines)

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *where = hp_lab_add_results(
        lab, "distribution", "The loop: interrupts, percent, by instructions behind the load",
        "behind");
    struct hp_lab_results *spread = hp_lab_add_results(
        lab, "spread", "How they are spread, in the loop and in programs", "machine");
    if (!where || !spread)
        return HP_ERR_NOMEM;
    for (size_t m = 0; m < N_MACHINES; m++)
        hp_lab_results_column(where, machines[m].key, machines[m].title, 1);
    hp_lab_results_column(where, "profileme", "ProfileMe", 1);
    hp_lab_results_column(spread, "interrupts", NULL, 0);
    hp_lab_results_column(spread, "peak", "largest peak, %", 1);
    hp_lab_results_column(spread, "peak_at", "behind", 0);
    hp_lab_results_column(spread, "places", "instructions for 90 %", 0);
    hp_lab_results_column(spread, "right", "% at the load", 1);
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *name; /* of the program */
    size_t machine;
    struct hp_program *program;
    struct hp_functions *functions;
    struct hp_timings_callback callback;
    struct hp_skid *skid;
    double hits[FARTHEST + 1]; /* the last: farther */
    double total;
};

static bool is_loop(const struct probe *probe)
{
    return strcmp(probe->name, "skid") == 0;
}

/* Whether an instruction belongs to the loop: the start-up code is not part of the figure. */
static bool is_ours(const struct probe *probe, uint32_t insn)
{
    if (!is_loop(probe))
        return true;
    uint32_t block = hp_program_insns(probe->program)[insn].block;
    uint32_t id = block == HP_NO_ID ? HP_NO_ID : hp_functions_of_block(probe->functions, block);
    const struct hp_function *function =
        id == HP_NO_ID ? NULL : hp_functions_get(probe->functions, id);
    return function && function->symbol && strcmp(function->symbol->name, "skid") == 0;
}

static void interrupt(void *context, const struct hp_skid_hit *hit)
{
    struct probe *probe = context;
    if (!is_ours(probe, hit->cause) || !is_ours(probe, hit->seen) || hit->distance < 0)
        return;
    probe->hits[hit->distance < FARTHEST ? hit->distance : FARTHEST]++;
    probe->total++;
}

static enum hp_err take(void *context, const struct hp_timing *timings, size_t n)
{
    return hp_skid_timings(((struct probe *)context)->skid, timings, n);
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    const struct machine *m = &machines[probe->machine];
    const struct hp_machine *machine = hp_program_machine(hp_session_program(session));
    struct hp_skid_config config = {
        .every = EVERY, .delay = m->delay, .in_order = machine->core.in_order};
    probe->program = hp_session_program(session);
    probe->functions = hp_session_functions(session);
    HP_TRY(hp_skid_new(&config, interrupt, probe, &probe->skid));
    hp_timings_callback_init(&probe->callback, take, probe);
    return hp_session_add(session, &probe->callback.base);
}

/* How many places get 90 % of the interrupts. */
static double places_for_most(const double *hits, double total)
{
    double left[FARTHEST + 1], held = 0;
    int places = 0;
    memcpy(left, hits, sizeof left);
    while (held < 0.9 * total && places <= FARTHEST) {
        int most = 0;
        for (int i = 1; i <= FARTHEST; i++)
            most = left[i] > left[most] ? i : most;
        held += left[most];
        left[most] = -1;
        places++;
    }
    return places;
}

static enum hp_err set_spread(struct probe *probe)
{
    struct hp_lab_results_row *row;
    int peak = 0;
    for (int i = 1; i <= FARTHEST; i++)
        peak = probe->hits[i] > probe->hits[peak] ? i : peak;
    char name[HP_LAB_RESULTS_NAME];
    snprintf(name, sizeof name, "%.16s, %s", probe->name, machines[probe->machine].name);
    HP_TRY(hp_lab_results_row(probe->lab->results[1], name, &row));
    row->values[0] = probe->total;
    row->values[1] = 100 * probe->hits[peak] / probe->total;
    row->values[2] = peak;
    row->values[3] = places_for_most(probe->hits, probe->total);
    row->values[4] = 100 * probe->hits[0] / probe->total;
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_lab_results *where = probe->lab->results[0];
    (void)session;
    HP_TRY(probe->callback.failure);
    HP_TRY(hp_skid_end(probe->skid));
    if (probe->total == 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "there was no interrupt");
    for (int i = 0; i <= FARTHEST && is_loop(probe); i++) {
        char name[HP_LAB_RESULTS_NAME];
        struct hp_lab_results_row *row;
        if (i > SHOWN && probe->hits[i] == 0)
            continue;
        snprintf(name, sizeof name, i < FARTHEST ? "%d" : "%d and more", i);
        HP_TRY(hp_lab_results_row(where, name, &row));
        row->values[probe->machine] = 100 * probe->hits[i] / probe->total;
        row->values[N_MACHINES] = i == 0 ? 100 : 0; /* it records the instruction itself */
    }
    return set_spread(probe);
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct probe probe = {.lab = lab, .name = name, .machine = m};
        enum hp_err err = hp_lab_observe_cycles(lab, command, machines[m].name, is_loop(&probe),
                                                &(struct hp_lab_probe){attach, collect, &probe});
        hp_skid_free(probe.skid);
        HP_TRY(err);
    }
    return HP_OK;
}

const struct hp_experiment hp_sampling_skid = {
    .name = "sampling-skid",
    .summary = "where an event counter's interrupts arrive (ProfileMe, figure 2)",
    .programs = "skid,gzip,lua,perl,sqlite3",
    .paper = "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997. D-cache "
             "references of a loop of\n"
             "  one load and hundreds of nops: on the in-order Alpha 21164 nearly all interrupts "
             "see the\n"
             "  instruction that runs six cycles later, the seventh behind the load; on the "
             "out-of-order Pentium\n"
             "  Pro they are spread over the next 25 instructions.\n",
    .begin = begin,
    .measure = measure,
};
