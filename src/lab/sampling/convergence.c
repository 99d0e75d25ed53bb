// SPDX-License-Identifier: MIT
/*
 * How fast estimates from samples converge (figure 3 of ProfileMe): for each static instruction the
 * estimated number of times it retired, and missed the D-cache, over the actual number; two thirds
 * of the points are expected within 1 +- 1/sqrt(k).
 */
#include "lab/experiments.h"
#include "lab/sampling/weights.h"

#include <math.h>
#include <stdlib.h>

static const struct interval {
    const char *key, *title, *sampler;
    double interval;
} intervals[] = {
    {"s100", "A sample every 100 instructions fetched", "profileme,interval=100,seed=1", 100},
    {"s1000", "A sample every 1,000", "profileme,interval=1000,seed=2", 1000},
    {"s10000", "A sample every 10,000", "profileme,interval=10000,seed=3", 10000},
};
#define N_INTERVALS (sizeof intervals / sizeof *intervals)

/* For a property: retired, or missed the D-cache. Points are static instructions with k samples
 * that have it. */
struct points {
    double all, inside; /* k >= 1 */
    /* Selected by the expected samples, not by k: selecting those with 10 by chance would bias the
     * result. */
    double many, many_inside; /* at least 10 */
    double most, worst;       /* at least 100: how many; the largest error */
};

enum { RETIRED, MISSES, PROPERTIES };
static const char *const property_keys[PROPERTIES] = {"retired", "dcache"};
static const char *const property_titles[PROPERTIES] = {"retired", "D-cache"};

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t s = 0; s < N_INTERVALS; s++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, intervals[s].key, intervals[s].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        for (int p = 0; p < PROPERTIES; p++) {
            static const char *const columns[] = {"points", "inside", "many", "many_inside",
                                                  "worst"};
            static const char *const titles[] = {"points", "% inside", "10 expected", "% inside",
                                                 "100: worst %"};
            for (size_t c = 0; c < 5; c++) {
                char key[HP_LAB_RESULTS_NAME], title[HP_LAB_RESULTS_NAME];
                snprintf(key, sizeof key, "%s_%s", property_keys[p], columns[c]);
                snprintf(title, sizeof title, "%s: %s", property_titles[p], titles[c]);
                hp_lab_results_column(results, key, title, c % 2 || c == 4 ? 1 : 0);
            }
            char key[HP_LAB_RESULTS_NAME];
            snprintf(key, sizeof key, "%s_many_inside", property_keys[p]);
            hp_lab_results_paper(results, "expected", key, 200.0 / 3);
        }
    }
    return HP_OK;
}

static void add_point(struct points *points, uint64_t k, double interval, uint64_t actual)
{
    if (k == 0 || actual == 0)
        return;
    double error = fabs((double)k * interval / (double)actual - 1);
    bool inside = error <= 1 / sqrt((double)k);
    points->all++;
    points->inside += inside;
    double expected = (double)actual / interval;
    points->many += expected >= 10;
    points->many_inside += expected >= 10 && inside;
    points->most += expected >= 100;
    if (expected >= 100 && error > points->worst)
        points->worst = error;
}

static void set_points(struct hp_lab_results_row *row, int property, const struct points *p)
{
    double *values = row->values + 5 * property;
    values[0] = p->all;
    values[1] = p->all > 0 ? 100 * p->inside / p->all : NAN;
    values[2] = p->many;
    values[3] = p->many > 0 ? 100 * p->many_inside / p->many : NAN;
    values[4] = p->most > 0 ? 100 * p->worst : NAN;
}

struct probe {
    struct hp_lab *lab;
    const char *program;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    const char *samplers[N_INTERVALS];
    (void)context;
    for (size_t s = 0; s < N_INTERVALS; s++)
        samplers[s] = intervals[s].sampler;
    return hp_lab_insns_attach(session, samplers, N_INTERVALS);
}

static enum hp_err compare(const struct probe *probe, const struct hp_profile *profile, size_t s,
                           const struct hp_pinsn_tally **exact)
{
    char name[256];
    struct hp_lab_results_row *row;
    struct points points[PROPERTIES] = {0};
    HP_TRY(hp_lab_sampler_name(intervals[s].sampler, name, sizeof name));
    const struct hp_pinsn_tally **sampled = hp_lab_tallies(profile, name);
    if (!sampled)
        return HP_ERR_NOMEM;
    for (size_t i = 0; i < profile->n_insns; i++) {
        if (!sampled[i] || !exact[i])
            continue;
        add_point(&points[RETIRED], sampled[i]->tally.retired, intervals[s].interval,
                  exact[i]->tally.retired);
        add_point(&points[MISSES], sampled[i]->tally.events[HP_INSN_L1D], intervals[s].interval,
                  exact[i]->tally.events[HP_INSN_L1D]);
    }
    free(sampled);
    HP_TRY(hp_lab_results_row(probe->lab->results[s], probe->program, &row));
    for (int p = 0; p < PROPERTIES; p++)
        set_points(row, p, &points[p]);
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct hp_profile *profile;
    HP_TRY(hp_session_profile(session, &profile));
    const struct hp_pinsn_tally **exact = hp_lab_tallies(profile, "exact");
    enum hp_err err = exact ? HP_OK : HP_ERR_NOMEM;
    for (size_t s = 0; s < N_INTERVALS && err == HP_OK; s++)
        err = compare(context, profile, s, exact);
    free(exact);
    hp_profile_free(profile);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe_cycles(lab, command, "alpha21264", false,
                                 &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_sampling_convergence = {
    .name = "sampling-convergence",
    .summary = "how fast estimates from samples converge (ProfileMe, figure 3)",
    .paper = "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997. compress, gcc, "
             "go, ijpeg, li,\n"
             "  perl, povray, vortex on a simulator of the Alpha 21264; a sample every 10^3 to "
             "10^5 instructions\n"
             "  of traces of 10^8 and 10^9. Estimates of retire counts and D-cache misses over the "
             "actual ones\n"
             "  follow 1 +- 1/sqrt(k); two thirds of the points are expected inside.\n",
    .begin = begin,
    .measure = measure,
};
