// SPDX-License-Identifier: MIT
/*
 * Latency against wasted issue slots (figure 7 of ProfileMe): instructions of three loops that
 * differ in how much other work there is while one of their instructions is in progress. Estimates
 * from pairs of samples, beside what the pipeline really did.
 */
#include "lab/experiments.h"
#include "lab/sampling/weights.h"

#include "hotpath/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE "alpha21264"
#define SAMPLER "profileme,interval=500,pairs,near=30"

static const char *const loops[] = {"chase", "stream", "serial"};
#define N_LOOPS (sizeof loops / sizeof *loops)

enum { SHEET_INSNS, SHEET_LOOPS, SHEET_MOST };

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *insns = hp_lab_add_results(
        lab, "instructions", "Instructions by loop: thousands of cycles, and of issue slots",
        "instruction");
    struct hp_lab_results *sums = hp_lab_add_results(
        lab, "loops", "Their instructions together, and how latency and waste go together", "loop");
    struct hp_lab_results *most = hp_lab_add_results(
        lab, "most",
        "The instruction with the highest latency, and those with less that waste more",
        "instruction");
    if (!insns || !sums || !most)
        return HP_ERR_NOMEM;
    hp_lab_results_column(insns, "latency", "latency, exact", 1);
    hp_lab_results_column(insns, "estimate", "latency, sampled", 1);
    hp_lab_results_column(insns, "wasted", "wasted slots, sampled", 1);
    hp_lab_results_column(insns, "per_cycle", "wasted a cycle", 2);
    hp_lab_results_column(insns, "ipc", "IPC around it", 2);
    hp_lab_results_column(sums, "latency", "latency, k cycles", 1);
    hp_lab_results_column(sums, "wasted", "wasted, k slots", 1);
    hp_lab_results_column(sums, "per_cycle", "wasted a cycle", 2);
    hp_lab_results_column(sums, "correlation", NULL, 3);
    hp_lab_results_column(most, "latency", "latency, exact", 1);
    hp_lab_results_column(most, "wasted", "wasted slots, sampled", 1);
    hp_lab_results_column(most, "low", "at least", 1);
    hp_lab_results_column(most, "high", "at most", 1);
    return HP_OK;
}

/* What is known of one instruction. */
struct point {
    double latency, estimate, wasted, ipc;
    double spent; /* like the estimate, but with aborted executions: what can be wasted */
    struct hp_estimate waste;
    char name[HP_LAB_RESULTS_NAME];
};

static struct point point_of(const struct hp_psampler *sampler, const struct hp_pinsn_tally *exact,
                             const struct hp_pinsn_tally *sampled)
{
    double distance = hp_sample_distance(sampler->interval, sampler->window);
    struct point p = {.latency = hp_lab_in_progress(&exact->tally)};
    p.estimate = hp_lab_in_progress(&sampled->tally) * distance;
    p.spent = (double)sampled->progress * distance;
    p.waste = hp_estimate_wasted(sampled->progress, sampled->useful, sampled->pairs, sampler->width,
                                 sampler->window, (double)sampler->interval, 1);
    p.wasted = p.waste.value;
    p.ipc = hp_estimate_ipc(sampled->near, sampled->tally.retired, sampler->window, sampler->near)
                .value;
    return p;
}

static double correlation(const struct point *points, size_t n)
{
    double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += points[i].latency / (double)n;
        my += points[i].wasted / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double dx = points[i].latency - mx, dy = points[i].wasted - my;
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    return n > 2 ? xy / sqrt(xx * yy) : NAN;
}

static enum hp_err add_insn(struct hp_lab *lab, const struct hp_pfunction *loop,
                            const struct hp_pinsn *insn, struct point *p)
{
    struct hp_lab_results_row *row;
    snprintf(p->name, sizeof p->name, "%.8s+0x%llx %.22s", loop->name,
             (unsigned long long)(insn->place.offset - loop->place.offset), insn->text);
    HP_TRY(hp_lab_results_row(lab->results[SHEET_INSNS], p->name, &row));
    const double values[] = {p->latency * 1e-3, p->estimate * 1e-3, p->wasted * 1e-3,
                             p->wasted / p->spent, p->ipc};
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err add_loop(struct hp_lab *lab, const char *name, const struct point *points,
                            size_t n)
{
    struct hp_lab_results_row *row;
    double latency = 0, wasted = 0, spent = 0;
    for (size_t i = 0; i < n; i++) {
        latency += points[i].latency;
        wasted += points[i].wasted;
        spent += points[i].spent;
    }
    HP_TRY(hp_lab_results_row(lab->results[SHEET_LOOPS], name, &row));
    const double values[] = {latency * 1e-3, wasted * 1e-3, wasted / spent, correlation(points, n)};
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err add_most(struct hp_lab *lab, const struct point *points, size_t n)
{
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        most = points[i].latency > points[most].latency ? i : most;
    for (size_t k = 0; k <= n && n; k++) { /* that one comes first */
        const struct point *p = &points[k ? k - 1 : most];
        struct hp_lab_results_row *row;
        if (k && !(p->latency < points[most].latency && p->wasted > points[most].wasted))
            continue;
        HP_TRY(hp_lab_results_row(lab->results[SHEET_MOST], p->name, &row));
        const double values[] = {p->latency * 1e-3, p->wasted * 1e-3, p->waste.low * 1e-3,
                                 p->waste.high * 1e-3};
        memcpy(row->values, values, sizeof values);
    }
    return HP_OK;
}

#define POINTS_MAX 256

/* Those sampled often enough to be meaningful. */
static enum hp_err fill(struct hp_lab *lab, const struct hp_profile *profile,
                        const struct hp_pinsn_tally **exact, const struct hp_pinsn_tally **sampled)
{
    struct point points[POINTS_MAX];
    size_t n = 0;
    for (size_t l = 0; l < N_LOOPS; l++) {
        size_t first = n;
        for (size_t i = 0; i < profile->n_insns && n < POINTS_MAX; i++) {
            const struct hp_pinsn *insn = &profile->insns[i];
            if (insn->function >= profile->n_functions || !exact[i] || !sampled[i] ||
                strcmp(profile->functions[insn->function].name, loops[l]) != 0 ||
                sampled[i]->pairs < 100)
                continue;
            points[n] = point_of(&profile->samplers[0], exact[i], sampled[i]);
            HP_TRY(add_insn(lab, &profile->functions[insn->function], insn, &points[n]));
            n++;
        }
        HP_TRY(add_loop(lab, loops[l], points + first, n - first));
    }
    HP_TRY(add_loop(lab, "all", points, n));
    return add_most(lab, points, n);
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    static const char *const samplers[] = {SAMPLER};
    (void)context;
    return hp_lab_insns_attach(session, samplers, 1);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct hp_profile *profile;
    HP_TRY(hp_session_profile(session, &profile));
    enum hp_err err =
        profile->n_samplers == 1 ? HP_OK : hp_fail(HP_ERR_UNSUPPORTED, "nothing was sampled");
    const struct hp_pinsn_tally **exact = NULL, **sampled = NULL;
    if (err == HP_OK) {
        exact = hp_lab_tallies(profile, "exact");
        sampled = hp_lab_tallies(profile, profile->samplers[0].name);
        err = exact && sampled ? fill(context, profile, exact, sampled) : HP_ERR_NOMEM;
    }
    free(exact);
    free(sampled);
    hp_profile_free(profile);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    (void)name;
    return hp_lab_observe_cycles(lab, command, MACHINE, true,
                                 &(struct hp_lab_probe){attach, collect, lab});
}

const struct hp_experiment hp_sampling_bottlenecks = {
    .name = "sampling-bottlenecks",
    .summary = "latency against wasted issue slots in three loops (ProfileMe, figure 7)",
    .programs = "three-loops",
    .paper = "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997. Three loops on a "
             "simulator of\n"
             "  the Alpha 21264: latency is not well correlated with wasted issue slots over all "
             "instructions;\n"
             "  the one with the highest latency wastes fewer slots than others. Within a loop, "
             "where concurrency\n"
             "  is alike, the two are highly correlated.\n",
    .begin = begin,
    .measure = measure,
};
