// SPDX-License-Identifier: MIT
/*
 * Hit and noise rate over profiled flow (figures 2 and 3 of the paper), for every scheme, by
 * varying its delay.
 */
#include "lab/experiments.h"
#include "lab/prediction/schemes.h"
#include "lab/statistics.h"

#include <math.h>
#include <string.h>

/* The tables: each program at 10 % profiled flow, and at a hit rate of 97.5 %; means over profiled
 * flow and by delay; curves sampled at the same points for each program; everything. */
enum { AT_TEN, AT_HIT, FLOW, DELAY, READ, ALL };
#define HIT 97.5

static const unsigned delays[] = {0, 10, 50, 100, 300, 1000, 5000, 20000, 100000, 1000000};
#define N_DELAYS (sizeof delays / sizeof *delays)

/* Percentages of profiled flow at which curves are sampled. */
static const unsigned grid[] = {1, 2, 5, 10, 20, 35, 45, 70};
#define N_GRID (sizeof grid / sizeof *grid)
#define TEN    3 /* in the grid */

static void scheme_columns(struct hp_lab_results *results, bool profiled)
{
    static const char *const what[] = {"profiled", "hit", "noise"};
    for (size_t s = 0; s < hp_lab_n_schemes; s++)
        for (size_t w = profiled ? 0 : 1; w < 3; w++) {
            char key[HP_LAB_RESULTS_NAME], title[HP_LAB_RESULTS_NAME];
            snprintf(key, sizeof key, "%s %s", hp_lab_schemes[s].key, what[w]);
            snprintf(title, sizeof title, "%s %s", hp_lab_schemes[s].title, what[w]);
            hp_lab_results_column(results, key, title, 1);
        }
}

static void hit_columns(struct hp_lab_results *results)
{
    for (size_t s = 0; s < hp_lab_n_schemes; s++) {
        char key[HP_LAB_RESULTS_NAME], title[HP_LAB_RESULTS_NAME];
        snprintf(key, sizeof key, "%s noise", hp_lab_schemes[s].key);
        snprintf(title, sizeof title, "%s noise", hp_lab_schemes[s].title);
        hp_lab_results_column(results, key, title, 1);
        snprintf(key, sizeof key, "%s profiled", hp_lab_schemes[s].key);
        snprintf(title, sizeof title, "%s profiled", hp_lab_schemes[s].title);
        hp_lab_results_column(results, key, title, 1);
    }
}

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *ten =
        hp_lab_add_results(lab, "at_10",
                           "Hit and noise rate where 10 % of the flow is profiled, "
                           "percent (pp: path profile; keep: NET that keeps on; table: rate-table; "
                           "-: the scheme profiles more)",
                           "program");
    struct hp_lab_results *at_hit = hp_lab_add_results(
        lab, "at_hit", "Noise and profiled flow where the hit rate is 97.5 %", "program");
    struct hp_lab_results *flow =
        hp_lab_add_results(lab, "flow",
                           "Hit and noise rate over profiled flow, means over the "
                           "programs with which all schemes get there",
                           "profiled %");
    struct hp_lab_results *delay = hp_lab_add_results(
        lab, "delay", "Profiled flow, hit and noise rate by delay, means over programs", "delay");
    struct hp_lab_results *read = hp_lab_add_results(
        lab, "read", "Hit and noise rate over profiled flow, each program", "program, profiled %");
    struct hp_lab_results *all =
        hp_lab_add_results(lab, "all", "Every program, scheme and delay", "program, scheme, delay");
    if (!ten || !at_hit || !flow || !delay || !read || !all)
        return HP_ERR_NOMEM;
    ten->mean = at_hit->mean = at_hit->whole = true;
    scheme_columns(ten, false);
    hit_columns(at_hit);
    scheme_columns(flow, false);
    hp_lab_results_column(flow, "programs", NULL, 0);
    scheme_columns(delay, true);
    scheme_columns(read, false);
    delay->detail = read->detail = all->detail = true;
    static const struct {
        const char *key;
        unsigned decimals;
    } columns[] = {{"profiled", 4},   {"hit", 4},          {"noise", 4},     {"missed", 4},
                   {"closed_hit", 4}, {"closed_noise", 4}, {"predicted", 0}, {"predicted_hot", 0},
                   {"never_ran", 0},  {"counters", 0},     {"operations", 4}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        hp_lab_results_column(all, columns[i].key, NULL, columns[i].decimals);
    hp_lab_results_paper(ten, "paper", "path-profile hit", 97.5);
    hp_lab_results_paper(ten, "paper", "path-profile noise", 65);
    hp_lab_results_paper(ten, "paper", "net hit", 97.5);
    hp_lab_results_paper(ten, "paper", "net noise", 56);
    hp_lab_results_paper(flow, "paper, at 35: below", "path-profile noise", 10);
    hp_lab_results_paper(flow, "paper, at 45: below", "net noise", 10);
    return HP_OK;
}

/* --- One program ------------------------------------------------------------------------------ */

static enum hp_err set_all(struct hp_lab_results *results, const char *name,
                           const struct hp_prediction *p)
{
    struct hp_lab_results_row *row;
    double hot = p->hot_flow ? 100.0 / (double)p->hot_flow : (double)NAN;
    HP_TRY(hp_lab_results_row(results, name, &row));
    const double values[] = {hp_profiled_rate(p),
                             hp_hit_rate(p),
                             hp_noise_rate(p),
                             (double)p->missed * hot,
                             (double)p->closed_hits * hot,
                             (double)p->closed_noise * hot,
                             (double)p->predicted,
                             (double)p->predicted_hot,
                             (double)p->never_ran,
                             (double)p->cost.counters,
                             hp_operations_per_branch(p)};
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

/* Rows of the means: sums, divided at the end. */
static enum hp_err add_to(struct hp_lab_results *results, unsigned name, size_t column,
                          double value)
{
    struct hp_lab_results_row *row;
    char text[24];
    size_t before = results->n_rows;
    snprintf(text, sizeof text, "%u", name);
    HP_TRY(hp_lab_results_row(results, text, &row));
    for (size_t c = 0; results->n_rows > before && c < results->n_columns; c++)
        row->values[c] = 0;
    row->values[column] += value;
    return HP_OK;
}

/* A scheme's curve. With an infinite delay everything is profiled, and nothing predicted; the least
 * that is profiled depends on the scheme. */
struct curve {
    double profiled[N_DELAYS + 1], hit[N_DELAYS + 1], noise[N_DELAYS + 1];
    size_t n;
};

static void make_curve(const struct hp_prediction *predictions, struct curve *curve)
{
    for (size_t d = 0; d < N_DELAYS; d++) {
        curve->profiled[d] = hp_profiled_rate(&predictions[d]);
        curve->hit[d] = hp_hit_rate(&predictions[d]);
        curve->noise[d] = hp_noise_rate(&predictions[d]);
    }
    curve->profiled[N_DELAYS] = 100;
    curve->hit[N_DELAYS] = curve->noise[N_DELAYS] = 0;
    curve->n = N_DELAYS + 1;
}

static enum hp_err set_delays(struct hp_lab *lab, const char *program, size_t s,
                              const struct hp_prediction *predictions, const struct curve *curve)
{
    for (size_t d = 0; d < N_DELAYS; d++) {
        char name[HP_LAB_RESULTS_NAME];
        snprintf(name, sizeof name, "%s %s %u", program, hp_lab_schemes[s].key, delays[d]);
        HP_TRY(set_all(lab->results[ALL], name, &predictions[d]));
        HP_TRY(add_to(lab->results[DELAY], delays[d], 3 * s, curve->profiled[d]));
        HP_TRY(add_to(lab->results[DELAY], delays[d], 3 * s + 1, curve->hit[d]));
        HP_TRY(add_to(lab->results[DELAY], delays[d], 3 * s + 2, curve->noise[d]));
    }
    return HP_OK;
}

static enum hp_err set_curve(struct hp_lab *lab, const char *program, size_t s,
                             const struct hp_prediction *predictions)
{
    struct curve c;
    make_curve(predictions, &c);
    HP_TRY(set_delays(lab, program, s, predictions, &c));
    for (size_t g = 0; g < N_GRID; g++) {
        double hit = hp_interpolate(c.profiled, c.hit, c.n, grid[g]);
        double noise = hp_interpolate(c.profiled, c.noise, c.n, grid[g]);
        char name[HP_LAB_RESULTS_NAME];
        snprintf(name, sizeof name, "%s %u", program, grid[g]);
        HP_TRY(hp_lab_results_set(lab->results[READ], name, 2 * s, hit));
        HP_TRY(hp_lab_results_set(lab->results[READ], name, 2 * s + 1, noise));
        if (g == TEN) {
            HP_TRY(hp_lab_results_set(lab->results[AT_TEN], program, 2 * s, hit));
            HP_TRY(hp_lab_results_set(lab->results[AT_TEN], program, 2 * s + 1, noise));
        }
    }
    HP_TRY(hp_lab_results_set(lab->results[AT_HIT], program, 2 * s,
                              hp_interpolate(c.hit, c.noise, c.n, HIT)));
    return hp_lab_results_set(lab->results[AT_HIT], program, 2 * s + 1,
                              hp_interpolate(c.hit, c.profiled, c.n, HIT));
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct hp_prediction predictions[HP_JUDGE_SCHEMES];
    HP_TRY(hp_lab_judge(lab, command, delays, N_DELAYS, predictions));
    for (size_t s = 0; s < hp_lab_n_schemes; s++)
        HP_TRY(set_curve(lab, name, s, &predictions[s * N_DELAYS]));
    return HP_OK;
}

static bool all_reach(const struct hp_lab_results *read, size_t row)
{
    for (size_t c = 0; c < read->n_columns; c++)
        if (isnan(read->rows[row].values[c]))
            return false;
    return true;
}

/* The means over the programs for which all schemes reach that point of their curves. */
static enum hp_err set_flow_means(struct hp_lab *lab, size_t g)
{
    const struct hp_lab_results *read = lab->results[READ];
    struct hp_lab_results *flow = lab->results[FLOW];
    double sums[HP_LAB_RESULTS_COLUMNS] = {0}, n = 0;
    char name[24];
    for (size_t r = g; r < read->n_rows; r += N_GRID)
        if (all_reach(read, r)) {
            for (size_t c = 0; c < read->n_columns; c++)
                sums[c] += read->rows[r].values[c];
            n++;
        }
    snprintf(name, sizeof name, "%u", grid[g]);
    for (size_t c = 0; c < read->n_columns; c++)
        HP_TRY(hp_lab_results_set(flow, name, c, n > 0 ? sums[c] / n : (double)NAN));
    return hp_lab_results_set(flow, name, hp_lab_results_find(flow, "programs"), n);
}

static enum hp_err end(struct hp_lab *lab)
{
    double programs = (double)lab->results[AT_TEN]->n_rows;
    struct hp_lab_results *delay = lab->results[DELAY];
    for (size_t r = 0; r < delay->n_rows; r++)
        for (size_t c = 0; c < delay->n_columns; c++)
            delay->rows[r].values[c] /= programs;
    for (size_t g = 0; g < N_GRID; g++)
        HP_TRY(set_flow_means(lab, g));
    return HP_OK;
}

const struct hp_experiment hp_prediction_curves = {
    .name = "prediction-curves",
    .summary = "hit and noise rate of prediction schemes over profiled flow (figures 2 and 3)",
    .paper = "  Duesterwald, Bala: Software Profiling for Hot Path Prediction: Less is More. "
             "ASPLOS 2000.\n"
             "  SPECint95 and deltablue, hot paths above 0.1 % of the flow. Where 10 % of the flow "
             "is profiled both\n"
             "  schemes reach a hit rate of about 97.5 %; noise is 56 % (NET) and 65 % (path "
             "profile). Noise falls\n"
             "  below 10 % when about 35 % (path profile) or 45 % (NET) of the flow is profiled. A "
             "delay of 50\n"
             "  profiles less than 1 % of the flow.\n",
    .begin = begin,
    .measure = measure,
    .end = end,
};
