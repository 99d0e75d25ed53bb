// SPDX-License-Identifier: MIT
/*
 * How the rate of retirement varies (section 6 of ProfileMe): instructions retired in successive
 * windows of 30 cycles.
 */
#include "profiler/cycles/ipc.h"
#include "lab/experiments.h"
#include "lab/sampling/timings_callback.h"
#include "machine/machine.h"

static const struct machine {
    const char *name, *title;
} machines[] = {{"alpha21264", "Instructions a cycle in windows of 30 cycles, machine alpha21264"},
                {"modern", "The same, machine modern"}};
#define N_MACHINES (sizeof machines / sizeof *machines)

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, machines[m].name, machines[m].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        hp_lab_results_column(results, "mean", NULL, 2);
        hp_lab_results_column(results, "least", NULL, 2);
        hp_lab_results_column(results, "most", NULL, 2);
        hp_lab_results_column(results, "ratio", "most / least", 1);
        hp_lab_results_column(results, "deviation", "std. deviation, %", 1);
        hp_lab_results_column(results, "empty", "% nothing retires", 1);
        hp_lab_results_paper(results, "paper, least", "ratio", 3);
        hp_lab_results_paper(results, "paper, least", "deviation", 20);
        hp_lab_results_paper(results, "paper, most", "ratio", 30);
        hp_lab_results_paper(results, "paper, most", "deviation", 42);
        hp_lab_results_paper(results, "paper, overall", "deviation", 31);
    }
    return HP_OK;
}

struct probe {
    const char *program;
    struct hp_lab_results *results;
    struct hp_timings_callback callback;
    struct hp_windowed_ipc ipc;
};

static enum hp_err take(void *context, const struct hp_timing *timings, size_t n)
{
    hp_windowed_ipc_timings(context, timings, n);
    return HP_OK;
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    const struct hp_machine *machine = hp_program_machine(hp_session_program(session));
    HP_TRY(hp_windowed_ipc_init(&probe->ipc, HP_IPC_WINDOW, (uint32_t)machine->core.retire));
    hp_timings_callback_init(&probe->callback, take, &probe->ipc);
    return hp_session_add(session, &probe->callback.base);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_lab_results_row *row;
    (void)session;
    hp_windowed_ipc_end(&probe->ipc);
    struct hp_ipc_summary s = hp_windowed_ipc_summary(&probe->ipc);
    HP_TRY(hp_lab_results_row(probe->results, probe->program, &row));
    row->values[0] = s.mean;
    row->values[1] = s.least;
    row->values[2] = s.most;
    row->values[3] = s.most / s.least;
    row->values[4] = 100 * s.deviation / s.weighed_mean;
    row->values[5] = 100 * (double)s.empty / (double)s.windows;
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct probe probe = {.program = name, .results = lab->results[m]};
        enum hp_err err = hp_lab_observe_cycles(lab, command, machines[m].name, false,
                                                &(struct hp_lab_probe){attach, collect, &probe});
        hp_windowed_ipc_fini(&probe.ipc);
        HP_TRY(err);
    }
    return HP_OK;
}

const struct hp_experiment hp_sampling_ipc = {
    .name = "sampling-ipc",
    .summary = "how the rate of retirement varies (ProfileMe, section 6)",
    .paper = "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997. SPEC95 on a "
             "simulator of the\n"
             "  Alpha 21264: in windows of 30 cycles the most that retire are 3 to 30 times the "
             "least; the\n"
             "  standard deviation, weighted by retire count, is 20 to 42 % of the mean, 31 % "
             "overall.\n",
    .begin = begin,
    .measure = measure,
};
