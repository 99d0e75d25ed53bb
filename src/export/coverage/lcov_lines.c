// SPDX-License-Identifier: MIT
#include "export/coverage/lcov_lines.h"

#include "base/grow.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Adding ----------------------------------------------------------------------------------- */

static bool fits(const char *file, uint32_t line)
{
    return line && file[0] && !strchr(file, '\n') && !strchr(file, '\r');
}

enum hp_err hp_lcov_add_line(struct hp_lcov_lines *all, const struct hp_lcov_line *line)
{
    if (!fits(line->file, line->line))
        return HP_OK;
    HP_TRY(hp_grow(&all->lines, &all->lines_capacity, all->n_lines + 1, sizeof *all->lines));
    all->lines[all->n_lines++] = *line;
    return HP_OK;
}

enum hp_err hp_lcov_add_function(struct hp_lcov_lines *all, const struct hp_lcov_function *function)
{
    if (!fits(function->file, function->line) || !fits(function->name, 1))
        return HP_OK;
    HP_TRY(hp_grow(&all->functions, &all->functions_capacity, all->n_functions + 1,
                   sizeof *all->functions));
    all->functions[all->n_functions++] = *function;
    return HP_OK;
}

enum hp_err hp_lcov_add_branch(struct hp_lcov_lines *all, const struct hp_lcov_branch *branch)
{
    if (!fits(branch->file, branch->line))
        return HP_OK;
    HP_TRY(hp_grow(&all->branches, &all->branches_capacity, all->n_branches + 1,
                   sizeof *all->branches));
    all->branches[all->n_branches++] = *branch;
    return HP_OK;
}

void hp_lcov_fini(struct hp_lcov_lines *all)
{
    free(all->lines);
    free(all->functions);
    free(all->branches);
    *all = (struct hp_lcov_lines){0};
}

/* --- Order ------------------------------------------------------------------------------------ */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_lines(const void *a, const void *b)
{
    const struct hp_lcov_line *x = a, *y = b;
    int order = x->file == y->file ? 0 : strcmp(x->file, y->file);
    if (!order)
        order = compare_u64(x->line, y->line);
    return order ? order : compare_u64(x->instance, y->instance);
}

static int order_functions(const void *a, const void *b)
{
    const struct hp_lcov_function *x = a, *y = b;
    int order = x->file == y->file ? 0 : strcmp(x->file, y->file);
    if (!order)
        order = compare_u64(x->line, y->line);
    return order ? order : strcmp(x->name, y->name);
}

static int order_branches(const void *a, const void *b)
{
    const struct hp_lcov_branch *x = a, *y = b;
    int order = x->file == y->file ? 0 : strcmp(x->file, y->file);
    if (!order)
        order = compare_u64(x->line, y->line);
    return order ? order : compare_u64(x->at, y->at);
}

/* --- Joining ---------------------------------------------------------------------------------- */

/* Copies of a line become one; of the code of one copy the most often executed counts. */
static void join_lines(struct hp_lcov_lines *all)
{
    size_t kept = 0;
    uint64_t most = 0; /* of the copy that is being joined */
    for (size_t i = 0; i < all->n_lines; i++) {
        const struct hp_lcov_line *line = &all->lines[i];
        struct hp_lcov_line *into = kept ? &all->lines[kept - 1] : NULL;
        if (!into || into->line != line->line || strcmp(into->file, line->file) != 0) {
            most = line->most;
            all->lines[kept++] = *line;
            continue;
        }
        into->entered = hp_saturating_add(into->entered, line->entered);
        if (into->instance != line->instance)
            most = 0;
        into->instance = line->instance;
        if (line->most > most) {
            into->most = hp_saturating_add(into->most, line->most - most);
            most = line->most;
        }
    }
    all->n_lines = kept;
}

/* Instances of a function of one name, and parts of one, are one. */
static void join_functions(struct hp_lcov_lines *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->n_functions; i++) {
        if (kept && order_functions(&all->functions[kept - 1], &all->functions[i]) == 0)
            all->functions[kept - 1].count =
                hp_saturating_add(all->functions[kept - 1].count, all->functions[i].count);
        else
            all->functions[kept++] = all->functions[i];
    }
    all->n_functions = kept;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static uint64_t count_of(const struct hp_lcov_line *line)
{
    return line->entered ? line->entered : line->most;
}

/* Writes what there is of `file`, from `*at` on. */
static void put_functions(const struct hp_lcov_lines *all, const char *file, size_t *at, FILE *out)
{
    size_t first = *at, hit = 0;
    for (; *at < all->n_functions && strcmp(all->functions[*at].file, file) == 0; ++*at)
        fprintf(out, "FN:%" PRIu32 ",%s\n", all->functions[*at].line, all->functions[*at].name);
    for (size_t i = first; i < *at; i++) {
        fprintf(out, "FNDA:%" PRIu64 ",%s\n", all->functions[i].count, all->functions[i].name);
        hit += all->functions[i].count != 0;
    }
    fprintf(out, "FNF:%zu\nFNH:%zu\n", *at - first, hit);
}

static void put_branches(const struct hp_lcov_lines *all, const char *file, size_t *at, FILE *out)
{
    size_t found = 0, hit = 0, number = 0;
    uint32_t last = 0;
    for (; *at < all->n_branches && strcmp(all->branches[*at].file, file) == 0; ++*at) {
        const struct hp_lcov_branch *branch = &all->branches[*at];
        const uint64_t counts[2] = {branch->taken, branch->fell};
        number = branch->line == last ? number + 1 : 0;
        last = branch->line;
        for (int way = 0; way < 2; way++) {
            fprintf(out, "BRDA:%" PRIu32 ",%zu,%d,", branch->line, number, way);
            if (branch->taken || branch->fell)
                fprintf(out, "%" PRIu64 "\n", counts[way]);
            else
                fputs("-\n", out); /* never got there */
            found++;
            hit += counts[way] != 0;
        }
    }
    fprintf(out, "BRF:%zu\nBRH:%zu\n", found, hit);
}

static void put_lines(const struct hp_lcov_lines *all, const char *file, size_t *at, FILE *out)
{
    size_t first = *at, hit = 0;
    for (; *at < all->n_lines && strcmp(all->lines[*at].file, file) == 0; ++*at) {
        uint64_t count = count_of(&all->lines[*at]);
        fprintf(out, "DA:%" PRIu32 ",%" PRIu64 "\n", all->lines[*at].line, count);
        hit += count != 0;
    }
    fprintf(out, "LF:%zu\nLH:%zu\n", *at - first, hit);
}

void hp_lcov_write(struct hp_lcov_lines *all, FILE *out)
{
    size_t function = 0, branch = 0;
    if (all->n_lines)
        qsort(all->lines, all->n_lines, sizeof *all->lines, order_lines);
    if (all->n_functions)
        qsort(all->functions, all->n_functions, sizeof *all->functions, order_functions);
    if (all->n_branches)
        qsort(all->branches, all->n_branches, sizeof *all->branches, order_branches);
    join_lines(all);
    join_functions(all);
    for (size_t line = 0; line < all->n_lines;) {
        const char *file = all->lines[line].file;
        /* What is of files without lines is passed over. */
        while (function < all->n_functions && strcmp(all->functions[function].file, file) < 0)
            function++;
        while (branch < all->n_branches && strcmp(all->branches[branch].file, file) < 0)
            branch++;
        fprintf(out, "TN:\nSF:%s\n", file);
        put_functions(all, file, &function, out);
        put_branches(all, file, &branch, out);
        put_lines(all, file, &line, out);
        fputs("end_of_record\n", out);
    }
}
