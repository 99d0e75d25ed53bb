// SPDX-License-Identifier: MIT
/*
 * Prediction in a real system (section 6 and figure 5 of the paper): the native engine takes the
 * place of Dynamo. It runs a program, records nothing, and chooses its traces by either scheme, or
 * makes none.
 */
#include "lab/experiments.h"

#include "base/base.h"
#include "engine/spawn.h"

#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define ROUNDS 3

/* What is compared, all rounds of it in turn. */
static const struct choice {
    const char *traces, *title;
} choices[] = {
    {"none", NULL},
    {"static", NULL},
    {"net:10", NULL},
    {"net:50", NULL},
    {"net:100", NULL},
    {"path-profile:10", "pp:10"},
    {"path-profile:50", "pp:50"},
    {"path-profile:100", "pp:100"},
};
#define CHOICES     ((int)(sizeof choices / sizeof *choices))
#define FIRST_TRACE 2 /* of those that predict */

static const struct sheet {
    const char *key, *title;
    unsigned decimals;
    int from; /* the first choice that it is about */
    bool detail;
} sheets[] = {
    {"time", "Processor time against the program alone", 3, 0, false},
    {"against_none", "Processor time against the engine without traces", 3, 1, false},
    {"traces", "Traces made", 0, FIRST_TRACE, false},
    {"blocks", "Blocks in a trace", 1, FIRST_TRACE, false},
    {"instructions", "Instructions in a trace", 1, FIRST_TRACE, true},
    {"trace_kib", "Code of the traces (KiB)", 0, FIRST_TRACE, false},
    {"cache_kib", "The whole code cache (KiB)", 0, 0, false},
    {"heads", "Heads that were counted", 0, FIRST_TRACE, true},
    {"abandoned", "Traces that were begun and not made", 0, FIRST_TRACE, true},
    {"share", "Instructions executed in traces (%)", 1, FIRST_TRACE, false},
    {"completed", "Executions of traces that reached their end (%)", 1, FIRST_TRACE, false},
    {"translator", "Time in the translator, of the processor time (%)", 1, 0, false},
    {"flushes", "Flushes of the traces", 0, FIRST_TRACE, false},
    {"phases", "Flushes because of a new phase", 0, FIRST_TRACE, true},
    {"bail_outs", "Processes that gave traces up", 0, FIRST_TRACE, false},
};
#define SHEETS ((int)(sizeof sheets / sizeof *sheets))

/* What a run gives. */
struct engine_run {
    struct hp_engine_work work;
    size_t flushes, phases, bail_outs;
    uint64_t instructions;
};

/* One choice with one program, or, with times alone, the program itself. */
struct outcome {
    double times[ROUNDS];
    double seconds;          /* their median */
    double translator;       /* seconds in it, the least of any round */
    struct engine_run last;  /* round */
    double share, completed; /* percent, of a run that counts; NAN: not known */
};

static enum hp_err begin(struct hp_lab *lab)
{
    for (int s = 0; s < SHEETS; s++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, sheets[s].key, sheets[s].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->detail = sheets[s].detail;
        results->mean = true;
        for (int c = sheets[s].from; c < CHOICES; c++)
            hp_lab_results_column(results, choices[c].traces, choices[c].title, sheets[s].decimals);
    }
    hp_lab_results_column(lab->results[0], "native", "alone (s)", 3);
    hp_lab_results_paper(lab->results[0], "paper, text of figure 5", "net:50", 1 / 1.15);
    return HP_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* Of all processes that have ended. The engine's time is in it, hotpath's is not. */
static double processor_time(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static enum hp_err start_alone(struct hp_lab *lab, const struct hp_lab_command *command, pid_t *pid)
{
    struct hp_executable program HP_CLEANUP(hp_executable_fini) = {0};
    struct hp_standard standard HP_CLEANUP(hp_standard_restore) = HP_STANDARD_UNTOUCHED;
    HP_TRY(hp_executable_find(command->argv, &program));
    HP_TRY(hp_standard_redirect(command->input, "/dev/null", &standard));
    return hp_spawn(program.path, program.argv, lab->environment, NULL, 0, pid);
}

static enum hp_err run_alone(struct hp_lab *lab, const struct hp_lab_command *command)
{
    pid_t pid;
    int status;
    HP_TRY(start_alone(lab, command, &pid));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hp_fail(HP_ERR_IO, "cannot wait for %s", command->argv[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == command->status)
        return HP_OK;
    return hp_fail(HP_ERR_UNSUPPORTED, "%s does not run as it should", command->argv[0]);
}

HP_CLEANUP_POINTER(free_profile, struct hp_profile, hp_profile_free)

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct engine_run *result = context;
    struct hp_profile *profile HP_CLEANUP(free_profile) = NULL;
    HP_TRY(hp_session_profile(session, &profile));
    *result = (struct engine_run){.work = profile->run.work};
    for (size_t i = 0; i < profile->n_threads; i++)
        result->instructions += profile->threads[i].instructions;
    for (size_t i = 0; i < profile->n_traces_events; i++) {
        const char *kind = profile->traces_events[i].kind;
        bool phase = strcmp(kind, hp_traces_events[HP_TRACES_FLUSHED_PHASE].name) == 0;
        bool bailed = strcmp(kind, hp_traces_events[HP_TRACES_BAILED_OUT].name) == 0;
        result->phases += phase;
        result->bail_outs += bailed;
        result->flushes += !bailed;
    }
    return HP_OK;
}

static enum hp_err run_engine(struct hp_lab *lab, const struct hp_lab_command *command, int choice,
                              bool counted, struct engine_run *result)
{
    return hp_lab_observe_traces(lab, command, choices[choice].traces, counted,
                                 &(struct hp_lab_probe){.collect = collect, .context = result});
}

/* Interleaved, so that what else the machine does falls on all of them. The program alone is the
 * outcome behind the others. */
static enum hp_err run_round(struct hp_lab *lab, const struct hp_lab_command *command, int round,
                             struct outcome outcomes[CHOICES + 1])
{
    for (int c = CHOICES; c >= 0; c--) {
        struct outcome *o = &outcomes[c];
        double before = processor_time();
        if (c == CHOICES) {
            HP_TRY(run_alone(lab, command));
        } else {
            HP_TRY(run_engine(lab, command, c, false, &o->last));
            double translator = 1e-9 * (double)o->last.work.translate_ns;
            if (round == 0 || translator < o->translator)
                o->translator = translator;
        }
        o->times[round] = processor_time() - before;
    }
    return HP_OK;
}

static double percent(double part, double whole)
{
    return part > 0 && whole > 0 ? 100 * part / whole : (double)NAN;
}

/* A run that records nothing does not know what was executed: another one counts it. */
static enum hp_err count(struct hp_lab *lab, const struct hp_lab_command *command,
                         struct outcome outcomes[CHOICES + 1])
{
    struct hp_lab_outcome *program = &lab->outcomes[lab->current];
    for (int c = FIRST_TRACE; c < CHOICES; c++) {
        struct engine_run result = {0};
        HP_TRY(run_engine(lab, command, c, true, &result));
        outcomes[c].share =
            percent((double)result.work.trace_insns_run, (double)result.instructions);
        outcomes[c].completed =
            percent((double)result.work.trace_completions, (double)result.work.trace_entries);
        if (result.instructions > program->instructions)
            program->instructions = result.instructions;
    }
    return HP_OK;
}

/* --- Figures ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return HP_COMPARE(*x, *y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, by_time);
    return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

/* In the order of the sheets. */
static void put_values(const struct outcome *o, const struct outcome *none,
                       const struct outcome *alone, double values[SHEETS])
{
    const struct hp_engine_work *w = &o->last.work;
    const double all[SHEETS] = {
        ratio(o->seconds, alone->seconds),
        ratio(o->seconds, none->seconds),
        (double)w->traces,
        ratio((double)w->trace_blocks, (double)w->traces),
        ratio((double)w->trace_insns, (double)w->traces),
        (double)w->trace_bytes / 1024,
        (double)w->cache_bytes / 1024,
        (double)w->heads,
        (double)w->abandoned,
        o->share,
        o->completed,
        100 * ratio(o->translator, o->seconds),
        (double)o->last.flushes,
        (double)o->last.phases,
        (double)o->last.bail_outs,
    };
    memcpy(values, all, sizeof all);
}

static enum hp_err set_figures(struct hp_lab *lab, const char *name,
                               const struct outcome outcomes[CHOICES + 1])
{
    const struct outcome *alone = &outcomes[CHOICES];
    for (int c = 0; c < CHOICES; c++) {
        double values[SHEETS];
        put_values(&outcomes[c], &outcomes[0], alone, values);
        for (int s = 0; s < SHEETS; s++)
            if (c >= sheets[s].from)
                HP_TRY(hp_lab_results_set(lab->results[s], name, (size_t)(c - sheets[s].from),
                                          values[s]));
    }
    return hp_lab_results_set(lab->results[0], name, CHOICES, alone->seconds);
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct outcome outcomes[CHOICES + 1] = {0};
    int rounds = lab->options.short_form ? 1 : ROUNDS;
    if (command->sysroot)
        return hp_fail(HP_ERR_UNSUPPORTED, "the native engine runs programs of this machine only");
    for (int round = 0; round < rounds; round++)
        HP_TRY(run_round(lab, command, round, outcomes));
    HP_TRY(count(lab, command, outcomes));
    for (int c = 0; c <= CHOICES; c++) {
        outcomes[c].seconds = median(outcomes[c].times, rounds);
        lab->outcomes[lab->current].seconds += c == CHOICES ? outcomes[c].seconds : 0;
    }
    return set_figures(lab, name, outcomes);
}

const struct hp_experiment hp_prediction_dynamo = {
    .name = "dynamo",
    .summary = "traces by NET and by path profile in the engine: time against native (figure 5)",
    .paper = "  Duesterwald, Bala: Software Profiling for Hot Path Prediction: Less is More. "
             "ASPLOS 2000.\n"
             "  Figure 5: with NET, programs in Dynamo are on average over 15 % faster than "
             "natively (time below\n"
             "  0.87); with path profile based prediction only perl and deltablue are faster at "
             "all. A delay of\n"
             "  50 is the best for both; below that there is more noise, above it more is missed. "
             "gcc and go are\n"
             "  not in it: Dynamo bails out of them.\n",
    .begin = begin,
    .measure = measure,
};
