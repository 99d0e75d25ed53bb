// SPDX-License-Identifier: MIT
/*
 * Machines in cycles against the processor of this machine: what its samples of instructions (AMD
 * IBS) say of an execution, against what each machine file says (docs/diff.md).
 */
#include "diff/fidelity.h"
#include "base/base.h"
#include "import/hardware.h"
#include "import/import.h"
#include "lab/experiments.h"
#include "lab/sampling/weights.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#define TITLE "the processor's number of an execution through the machine's"
static const struct machine {
    const char *name, *title;
} machines[] = {{"modern", "Machine modern: " TITLE},
                {"vaswani", "Machine vaswani: " TITLE},
                {"alpha21264", "Machine alpha21264: " TITLE}};
#define N_MACHINES (sizeof machines / sizeof *machines)

static enum hp_err find_hardware(const struct hp_hardware **hardware)
{
    const struct hp_hardware_host host = hp_hardware_here();
    return hp_hardware_find(&host, true, hardware);
}

/* Where there is nothing to compare with, nothing is run. */
static enum hp_err begin(struct hp_lab *lab)
{
    const struct hp_hardware *hardware;
    HP_TRY(find_hardware(&hardware));
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, machines[m].name, machines[m].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        hp_lab_results_column(results, "cycles", "cycles", 2);
        hp_lab_results_column(results, "functions", "error, functions, %", 1);
        hp_lab_results_column(results, "instructions", "error, instructions, %", 1);
        hp_lab_results_column(results, "l1d", "L1D misses", 2);
        hp_lab_results_column(results, "mispredicted", "mispredictions", 2);
        hp_lab_results_column(results, "common", "common, %", 1);
    }
    return HP_OK;
}

/* --- The processor ---------------------------------------------------------------------------- */

static enum hp_err import(const char *path, struct hp_profile **profile)
{
    return hp_import_perf(&(struct hp_import_request){.path = path, .lines = HP_LINES_NONE},
                          profile);
}

static enum hp_err record(const struct hp_lab_command *command, struct hp_profile **profile)
{
    const struct hp_hardware *hardware;
    char path[] = "/tmp/hotpath-lab-XXXXXX";
    int status, fd;
    HP_TRY(find_hardware(&hardware));
    if ((fd = mkstemp(path)) < 0)
        return hp_fail(HP_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    enum hp_err err = hp_hardware_record(hardware, path,
                                         &(struct hp_hardware_program){.words = command->argv,
                                                                       .input = command->input,
                                                                       .output = "/dev/null"},
                                         &status);
    if (err == HP_OK)
        err = import(path, profile);
    unlink(path);
    return err;
}

/* --- A machine -------------------------------------------------------------------------------- */

struct probe {
    const char *program;
    const struct hp_profile *processor;
    struct hp_lab_results *results;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    (void)context;
    return hp_lab_insns_attach(session, NULL, 0);
}

static double ratio_of(const struct hp_fidelity *f, enum hp_fidelity_number number)
{
    struct hp_fidelity_pair pair;
    bool known = hp_fidelity_pair(f, f->items[HP_FIDELITY_RUN], number, &pair);
    return known && isfinite(pair.ratio.value) ? pair.ratio.value : NAN;
}

/* How far the cycles of parts are off, in percent of those of the processor: by executions. */
static double error_of(const struct hp_fidelity *f, enum hp_fidelity_by by)
{
    struct hp_fidelity_pair pair;
    double off = 0, all = 0;
    for (size_t i = 0; i < f->n[by]; i++) {
        double retired = (double)f->items[by][i].processor.tally.retired;
        if (!hp_fidelity_pair(f, &f->items[by][i], HP_FIDELITY_CYCLES, &pair))
            continue;
        off += fabs(pair.processor.value - pair.model.value) * retired;
        all += pair.processor.value * retired;
    }
    return all > 0 ? 100 * off / all : NAN;
}

static enum hp_err fill_row(const struct probe *probe, const struct hp_fidelity *f)
{
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(probe->results, probe->program, &row));
    const double values[] = {
        ratio_of(f, HP_FIDELITY_CYCLES),
        error_of(f, HP_FIDELITY_FUNCTION),
        error_of(f, HP_FIDELITY_INSN),
        ratio_of(f, HP_FIDELITY_EVENTS + HP_INSN_L1D),
        ratio_of(f, HP_FIDELITY_EVENTS + HP_INSN_MISPREDICTED),
        f->time ? 100 * (double)f->common / (double)f->time : NAN,
    };
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    const struct probe *probe = context;
    struct hp_profile *model;
    struct hp_fidelity *fidelity = NULL;
    HP_TRY(hp_session_profile(session, &model));
    enum hp_err err = hp_fidelity_make(probe->processor, model, &fidelity);
    if (err == HP_OK)
        err = fill_row(probe, fidelity);
    hp_fidelity_free(fidelity);
    hp_profile_free(model);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct hp_profile *processor;
    HP_TRY(record(command, &processor));
    enum hp_err err = HP_OK;
    for (size_t m = 0; m < N_MACHINES && err == HP_OK; m++) {
        struct probe probe = {name, processor, lab->results[m]};
        err = hp_lab_observe_cycles(lab, command, machines[m].name, false,
                                    &(struct hp_lab_probe){attach, collect, &probe});
    }
    hp_profile_free(processor);
    return err;
}

const struct hp_experiment hp_sampling_fidelity = {
    .name = "fidelity",
    .summary = "machine models against this machine's processor, where it samples instructions",
    .paper = "  None: the processor is the truth.\n",
    .begin = begin,
    .measure = measure,
};
