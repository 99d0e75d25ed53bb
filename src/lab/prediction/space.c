// SPDX-License-Identifier: MIT
/*
 * The memory and work of prediction (tables 1 and 2, figure 4 of the paper): paths, hot paths and
 * heads, counters of each scheme, operations per branch.
 */
#include "lab/experiments.h"
#include "lab/prediction/schemes.h"

#include <math.h>
#include <string.h>

enum { PATHS, SPACE, COST };
static const unsigned delay = 50; /* the paper's choice for a real system */

/* Tables 1 and 2 of the paper, for the programs that ours represent (all but m88ksim). */
static const struct published {
    const char *program, *ours;
    double paths, flow, hot, hot_flow, heads;
} published[] = {
    {"compress", "compress", 230, 3061, 45, 99.6, 143},
    {"gcc", "cc1", 36738, 2191, 137, 47.5, 8873},
    {"go", "gnugo", 29629, 1214, 172, 55.5, 1813},
    {"ijpeg", "cjpeg", 62125, 635, 74, 93.3, 669},
    {"li", "lua", 1391, 3985, 111, 93.8, 710},
    {"perl", "perl", 2776, 1514, 146, 88.5, 1053},
    {"vortex", "sqlite3", 5825, 3016, 95, 85.8, 3414},
    {"deltablue", "minisat", 505, 1799, 28, 93.9, 268},
};
#define N_PUBLISHED (sizeof published / sizeof *published)

static void paper_columns(struct hp_lab_results *results)
{
    hp_lab_results_column(results, "paths", NULL, 0);
    hp_lab_results_column(results, "flow", "flow (M)", 1);
    hp_lab_results_column(results, "hot", "hot paths", 0);
    hp_lab_results_column(results, "hot_flow", "% of flow", 1);
    hp_lab_results_column(results, "heads", NULL, 0);
    hp_lab_results_column(results, "heads_of_paths", "heads/paths %", 1);
}

static void cost_columns(struct hp_lab_results *results, unsigned decimals)
{
    for (size_t s = 0; s < hp_lab_n_schemes; s++)
        hp_lab_results_column(results, hp_lab_schemes[s].key, NULL, decimals);
}

static void set_published(struct hp_lab_results *results)
{
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        const struct published *p = &published[i];
        char name[HP_LAB_RESULTS_NAME];
        snprintf(name, sizeof name, "paper: %s (%s)", p->program, p->ours);
        hp_lab_results_paper(results, name, "paths", p->paths);
        hp_lab_results_paper(results, name, "flow", p->flow);
        hp_lab_results_paper(results, name, "hot", p->hot);
        hp_lab_results_paper(results, name, "hot_flow", p->hot_flow);
        hp_lab_results_paper(results, name, "heads", p->heads);
        hp_lab_results_paper(results, name, "heads_of_paths", 100 * p->heads / p->paths);
    }
}

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *paths = hp_lab_add_results(
        lab, "paths", "Forward paths, those with more than 0.1 % of the flow, and heads",
        "program");
    struct hp_lab_results *space = hp_lab_add_results(
        lab, "counters", "Counters that a scheme with a delay of 50 touches", "program");
    struct hp_lab_results *cost = hp_lab_add_results(
        lab, "operations", "Profiling operations for a branch, delay of 50", "program");
    if (!paths || !space || !cost)
        return HP_ERR_NOMEM;
    paths->mean = space->mean = cost->mean = true;
    paper_columns(paths);
    set_published(paths);
    cost_columns(space, 0);
    hp_lab_results_column(space, "net_of_path_profile", "net/path-profile %", 1);
    hp_lab_results_paper(space, "paper, figure 4", "net_of_path_profile", 60);
    cost_columns(cost, 4);
    return HP_OK;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : (double)NAN;
}

static enum hp_err set_paths(struct hp_lab_results *results, const char *program,
                             const struct hp_prediction *p)
{
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(results, program, &row));
    const double values[] = {(double)p->paths,     (double)p->flow * 1e-6,
                             (double)p->hot_paths, percent((double)p->hot_flow, (double)p->flow),
                             (double)p->heads,     percent((double)p->heads, (double)p->paths)};
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct hp_prediction predictions[HP_JUDGE_SCHEMES];
    struct hp_lab_results *space = lab->results[SPACE];
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_judge(lab, command, &delay, 1, predictions));
    HP_TRY(set_paths(lab->results[PATHS], name, &predictions[0]));
    for (size_t s = 0; s < hp_lab_n_schemes; s++) {
        const struct hp_prediction *p = &predictions[s];
        HP_TRY(hp_lab_results_set(space, name, s, (double)p->cost.counters));
        HP_TRY(hp_lab_results_set(lab->results[COST], name, s, hp_operations_per_branch(p)));
    }
    HP_TRY(hp_lab_results_row(space, name, &row));
    row->values[hp_lab_results_find(space, "net_of_path_profile")] =
        percent(row->values[hp_lab_results_find(space, "net")],
                row->values[hp_lab_results_find(space, "path-profile")]);
    return HP_OK;
}

const struct hp_experiment hp_prediction_space = {
    .name = "prediction-space",
    .summary = "paths, heads, counters and operations of prediction (tables 1 and 2, figure 4)",
    .paper = "  Duesterwald, Bala: Software Profiling for Hot Path Prediction: Less is More. "
             "ASPLOS 2000.\n"
             "  Figure 4's text: NET uses about 60 % of the counters that path profile prediction "
             "uses; the abstract\n"
             "  says 60 % less, and the mean of heads over paths in table 2 is 38 %. NET does one "
             "operation where\n"
             "  a path starts; path profiling one for each branch as well.\n",
    .begin = begin,
    .measure = measure,
};
