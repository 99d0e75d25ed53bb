// SPDX-License-Identifier: MIT
/*
 * Which functions of two versions are the same.
 *
 * A list of passes, from what says most to what says least. In each, functions that are still alone
 * are brought together by a key, and those with a key that one function of each version has are the
 * same: a pass never chooses among several.
 */
#include "diff/diff.h"

#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Keys ------------------------------------------------------------------------------------- */

typedef int compare_keys(const struct hp_dfunction *a, const struct hp_dfunction *b);

static int by_symbol(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = strcmp(a->key, b->key);
    if (!order && !*a->key) /* no symbol: the names are made of module and place */
        order = strcmp(a->name, b->name);
    return order;
}

static int by_base(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    return strcmp(hp_base_name(a->file), hp_base_name(b->file));
}

static int by_all(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = by_symbol(a, b);
    if (!order)
        order = strcmp(a->module, b->module);
    return order ? order : strcmp(a->file, b->file);
}

static int by_symbol_module_base(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = by_symbol(a, b);
    if (!order)
        order = strcmp(a->module, b->module);
    return order ? order : by_base(a, b);
}

static int by_symbol_module(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = by_symbol(a, b);
    return order ? order : strcmp(a->module, b->module);
}

static int by_symbol_base(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = by_symbol(a, b);
    return order ? order : by_base(a, b);
}

static int by_name_base(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : by_base(a, b);
}

/* Of code without symbols: that of the only module with such in each version, whatever it is
 * called. */
static int by_symbol_or_none(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = strcmp(a->key, b->key);
    if (!order)
        order = (*a->module == 0) - (*b->module == 0);
    return order ? order : (a->nameless > b->nameless) - (a->nameless < b->nameless);
}

/* The name in front of its parameters and template arguments. */
static size_t plain_length(const char *name)
{
    const char *open = strpbrk(name, "(<");
    return !open || open == name || strncmp(name, "operator", 8) == 0 ? strlen(name)
                                                                      : (size_t)(open - name);
}

static int by_plain_name_base(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    size_t n_a = plain_length(a->name), n_b = plain_length(b->name);
    int order = strncmp(a->name, b->name, n_a < n_b ? n_a : n_b);
    if (!order)
        order = (n_a > n_b) - (n_a < n_b);
    return order ? order : by_base(a, b);
}

static int by_loose(const struct hp_dfunction *a, const struct hp_dfunction *b)
{
    int order = strcmp(a->loose, b->loose);
    if (!order)
        order = strcmp(a->module, b->module);
    return order ? order : by_base(a, b);
}

/* --- Passes ----------------------------------------------------------------------------------- */

struct candidate {
    const struct hp_dfunction *function;
    uint32_t index;
    bool is_new;
};

struct pass {
    compare_keys *compare;
    enum hp_diff_how how;
    bool lambdas; /* only these: where both versions have as many, in the order of their lines */
    bool several; /* likewise, of any functions */
};

static const struct pass passes[] = {
    {.compare = by_loose, .how = HP_DIFF_SAME, .lambdas = true, .several = true},
    {.compare = by_all, .how = HP_DIFF_SAME},
    {.compare = by_symbol_module_base, .how = HP_DIFF_SAME},
    {.compare = by_symbol_module, .how = HP_DIFF_SAME},
    {.compare = by_symbol_base, .how = HP_DIFF_SAME},
    {.compare = by_symbol, .how = HP_DIFF_SAME},
    {.compare = by_symbol_module_base, .how = HP_DIFF_SAME, .several = true},
    {.compare = by_symbol_or_none, .how = HP_DIFF_SAME},
    {.compare = by_name_base, .how = HP_DIFF_SIGNATURE},
    {.compare = by_plain_name_base, .how = HP_DIFF_SIGNATURE},
};

struct matching {
    struct hp_diff *diff;
    struct hp_diff_sources *sources;
    enum hp_diff_how *how;
    struct candidate *candidates;
    size_t n;
};

static int compare_candidates(const void *a, const void *b, void *context)
{
    const struct candidate *x = a, *y = b;
    const struct pass *pass = context;
    int order = pass->compare(x->function, y->function);
    if (!order)
        order = x->is_new - y->is_new;
    if (!order)
        order = (x->function->line > y->function->line) - (x->function->line < y->function->line);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void collect(struct matching *m, const struct pass *pass, bool is_new)
{
    const struct hp_digest *d = is_new ? m->diff->new : m->diff->old;
    const uint32_t *other = is_new ? m->diff->old_function : m->diff->new_function;
    for (uint32_t i = 0; i < d->n_functions; i++)
        if (other[i] == HP_PROFILE_NONE && (!pass->lambdas || d->functions[i].loose))
            m->candidates[m->n++] = (struct candidate){&d->functions[i], i, is_new};
}

static void marry(struct matching *m, uint32_t old, uint32_t new, enum hp_diff_how how)
{
    m->diff->new_function[old] = new;
    m->diff->old_function[new] = old;
    m->how[new] = how;
}

static void run_pass(struct matching *m, const struct pass *pass)
{
    m->n = 0;
    collect(m, pass, false);
    collect(m, pass, true);
    qsort_r(m->candidates, m->n, sizeof *m->candidates, compare_candidates,
            (void *)(uintptr_t)pass);
    for (size_t i = 0, n; i < m->n; i += n) {
        const struct candidate *run = &m->candidates[i];
        size_t n_old = 0;
        for (n = 0; i + n < m->n && pass->compare(run->function, run[n].function) == 0; n++)
            n_old += !run[n].is_new;
        bool clear = n_old * 2 == n && (n_old == 1 || pass->several);
        for (size_t k = 0; clear && k < n_old; k++)
            marry(m, run[k].index, run[n_old + k].index, pass->how);
    }
}

/* --- Guesses ---------------------------------------------------------------------------------- */

#define GUESS_LINES 3 /* fewer may look the same by chance */
#define GUESS_WEIGHT                                                                               \
    10000 /* functions with less of the instructions are not worth a guess: one in so many */
#define GUESS_AT_MOST 200 /* functions of each version */

static const char *line_text(struct hp_sources *sources, const struct hp_dline *line, size_t *n)
{
    return line->line ? hp_sources_line(sources, line->file, line->line, n) : NULL;
}

/* Whether line `i` behind the start of each is the same: by text where both have it, else by
 * distance from the start and instructions. */
static bool same_line(struct matching *m, const struct hp_dfunction *f, const struct hp_dline *x,
                      const struct hp_dfunction *g, const struct hp_dline *y)
{
    size_t n_x, n_y;
    const char *text_x = line_text(&m->sources->old, x, &n_x);
    const char *text_y = line_text(&m->sources->new, y, &n_y);
    if (text_x && text_y)
        return hp_diff_same_text(text_x, n_x, text_y, n_y);
    return x->line - f->line == y->line - g->line && x->instructions == y->instructions;
}

/* Whether they are clearly the same: of the lines behind the first (which has the name) at least
 * four of five, in order. Lines of inlined functions do not count. */
static bool look_alike(struct matching *m, uint32_t old, uint32_t new)
{
    const struct hp_digest *a = m->diff->old, *b = m->diff->new;
    const struct hp_dfunction *f = &a->functions[old], *g = &b->functions[new];
    if (!*f->file || by_base(f, g) != 0)
        return false;
    size_t same = 0, n_old = 0, n_new = 0;
    uint32_t from = 0;
    for (uint32_t j = 0; j < g->n_lines; j++)
        n_new += b->lines[g->lines + j].line > g->line && !*b->lines[g->lines + j].inlined;
    for (uint32_t i = 0; i < f->n_lines; i++) {
        const struct hp_dline *x = &a->lines[f->lines + i];
        if (x->line <= f->line || *x->inlined)
            continue;
        n_old++;
        for (uint32_t j = from; j < g->n_lines; j++) {
            const struct hp_dline *y = &b->lines[g->lines + j];
            if (y->line > g->line && !*y->inlined && same_line(m, f, x, g, y)) {
                same++;
                from = j + 1;
                break;
            }
        }
    }
    size_t most = n_old > n_new ? n_old : n_new;
    return same >= GUESS_LINES && same * 5 >= most * 4;
}

static int compare_weights(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->function->self != y->function->self)
        return x->function->self > y->function->self ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The heaviest functions of a version that are alone. */
static size_t heaviest(struct matching *m, struct candidate *to, bool is_new)
{
    const struct pass any = {0};
    const struct hp_digest *d = is_new ? m->diff->new : m->diff->old;
    m->n = 0;
    collect(m, &any, is_new);
    qsort(m->candidates, m->n, sizeof *m->candidates, compare_weights);
    size_t n = 0;
    while (n < m->n && n < GUESS_AT_MOST &&
           m->candidates[n].function->self > d->totals[HP_TOTAL_INSTRUCTIONS] / GUESS_WEIGHT)
        n++;
    memcpy(to, m->candidates, n * sizeof *to);
    return n;
}

/* A pair that looks alike is the same when neither looks like another one. */
static void guess(struct matching *m)
{
    struct candidate old[GUESS_AT_MOST], new[GUESS_AT_MOST];
    size_t n_old = heaviest(m, old, false), n_new = heaviest(m, new, true);
    uint32_t found[GUESS_AT_MOST], times[GUESS_AT_MOST] = {0};
    for (size_t i = 0; i < n_old; i++) {
        uint32_t n = 0;
        found[i] = HP_PROFILE_NONE;
        for (uint32_t j = 0; j < n_new; j++)
            if (look_alike(m, old[i].index, new[j].index)) {
                found[i] = j;
                times[j]++;
                n++;
            }
        if (n != 1)
            found[i] = HP_PROFILE_NONE;
    }
    for (size_t i = 0; i < n_old; i++)
        if (found[i] != HP_PROFILE_NONE && times[found[i]] == 1)
            marry(m, old[i].index, new[found[i]].index, HP_DIFF_RENAMED);
}

enum hp_err hp_diff_match(struct hp_diff *diff, struct hp_diff_sources *sources,
                          enum hp_diff_how *how)
{
    struct matching m = {.diff = diff, .sources = sources, .how = how};
    m.candidates =
        calloc(diff->old->n_functions + diff->new->n_functions + 1, sizeof *m.candidates);
    if (!m.candidates)
        return hp_fail_nomem();
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        run_pass(&m, &passes[i]);
    guess(&m);
    free(m.candidates);
    return HP_OK;
}
