// SPDX-License-Identifier: MIT
/*
 * Which lines of a function are the same in two versions.
 *
 * The lines of a function that come from one file and one inlined function are a list, in the order
 * of the source. Two lists are aligned as `diff` aligns files: in order, at the least cost. Where
 * the source of both is at hand, lines of equal text are the same, and what is left between two
 * such pairs is taken as changed, line by line. Elsewhere lines are the same by their distance from
 * the function's start, unless they and those behind them fit better shifted.
 */
#include "diff/diff.h"

#include "report/tables.h"
#include "text/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Longer lists are matched by distance alone. */
#define MOST_CELLS ((size_t)4 << 20)

/* Lines of one file and inlined function. */
struct list {
    const struct hp_digest *digest;
    struct hp_sources *sources;
    uint32_t first, n;
    uint32_t base; /* where distances are measured from */
};

struct alignment {
    struct hp_diff *diff;
    struct list old, new;
    bool by_text;
    uint64_t *costs; /* (old.n + 1) x (new.n + 1): of what is left from there */
};

static const struct hp_dline *line_at(const struct list *list, uint32_t i)
{
    return &list->digest->lines[list->first + i];
}

static int64_t distance(const struct list *list, uint32_t i)
{
    return (int64_t)line_at(list, i)->line - list->base;
}

static const char *text_at(const struct list *list, uint32_t i, size_t *n)
{
    const struct hp_dline *line = line_at(list, i);
    return line->line ? hp_sources_line(list->sources, line->file, line->line, n) : NULL;
}

bool hp_diff_same_text(const char *a, size_t n_a, const char *b, size_t n_b)
{
    const char *end_a = a + n_a, *end_b = b + n_b;
    for (;;) {
        while (a < end_a && isspace((unsigned char)*a))
            a++;
        while (b < end_b && isspace((unsigned char)*b))
            b++;
        if (a == end_a || b == end_b)
            return a == end_a && b == end_b;
        if (*a++ != *b++)
            return false;
    }
}

/* --- Costs ------------------------------------------------------------------------------------ */

#define NEVER (UINT64_MAX / 4)

static uint64_t skip_cost(const struct alignment *a, const struct list *list, uint32_t i)
{
    if (a->by_text)
        return 2;
    uint64_t weight = line_at(list, i)->instructions;
    return weight < NEVER / 4 ? weight + 1 : NEVER / 4;
}

static uint64_t pair_cost(const struct alignment *a, uint32_t i, uint32_t j)
{
    bool near = distance(&a->old, i) == distance(&a->new, j);
    if (a->by_text) {
        size_t n_old, n_new;
        const char *old = text_at(&a->old, i, &n_old), *new = text_at(&a->new, j, &n_new);
        return old && new &&hp_diff_same_text(old, n_old, new, n_new) ? !near : NEVER;
    }
    uint64_t x = line_at(&a->old, i)->instructions, y = line_at(&a->new, j)->instructions;
    uint64_t less = x < y ? x : y, more = x < y ? y : x;
    uint64_t cost = more - less + (near ? 0 : less / 4 + 1);
    return cost < NEVER / 4 ? cost : NEVER / 4;
}

static uint64_t *cell(const struct alignment *a, uint32_t i, uint32_t j)
{
    return &a->costs[(size_t)i * (a->new.n + 1) + j];
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b < NEVER ? a + b : NEVER;
}

static void fill_costs(struct alignment *a)
{
    for (uint32_t i = a->old.n + 1; i-- > 0;)
        for (uint32_t j = a->new.n + 1; j-- > 0;) {
            uint64_t best = i == a->old.n && j == a->new.n ? 0 : NEVER, cost;
            if (i < a->old.n && j < a->new.n &&
                (cost = add(*cell(a, i + 1, j + 1), pair_cost(a, i, j))) < best)
                best = cost;
            if (i < a->old.n && (cost = add(*cell(a, i + 1, j), skip_cost(a, &a->old, i))) < best)
                best = cost;
            if (j < a->new.n && (cost = add(*cell(a, i, j + 1), skip_cost(a, &a->new, j))) < best)
                best = cost;
            *cell(a, i, j) = best;
        }
}

/* --- Matching --------------------------------------------------------------------------------- */

static void marry(struct alignment *a, uint32_t i, uint32_t j)
{
    a->diff->new_line[a->old.first + i] = a->new.first + j;
    a->diff->old_line[a->new.first + j] = a->old.first + i;
}

/* What is between two pairs of equal text was changed. */
static void marry_gap(struct alignment *a, uint32_t i, uint32_t i_end, uint32_t j, uint32_t j_end)
{
    while (a->by_text && i < i_end && j < j_end)
        marry(a, i++, j++);
}

static void follow_costs(struct alignment *a)
{
    uint32_t i = 0, j = 0, gap_i = 0, gap_j = 0;
    while (i < a->old.n && j < a->new.n) {
        uint64_t pair = pair_cost(a, i, j), best = *cell(a, i, j);
        if (pair < NEVER && add(*cell(a, i + 1, j + 1), pair) == best) {
            marry_gap(a, gap_i, i, gap_j, j);
            marry(a, i++, j++);
            gap_i = i;
            gap_j = j;
        } else if (add(*cell(a, i + 1, j), skip_cost(a, &a->old, i)) == best) {
            i++;
        } else {
            j++;
        }
    }
    marry_gap(a, gap_i, a->old.n, gap_j, a->new.n);
}

static void match_distances(struct alignment *a)
{
    for (uint32_t i = 0, j = 0; i < a->old.n && j < a->new.n;) {
        int64_t x = distance(&a->old, i), y = distance(&a->new, j);
        if (x == y)
            marry(a, i++, j++);
        else if (x < y)
            i++;
        else
            j++;
    }
}

static bool have_text(const struct list *list)
{
    size_t n;
    for (uint32_t i = 0; i < list->n; i++)
        if (!text_at(list, i, &n))
            return false;
    return true;
}

/* Whether they are the same, line by line: most are, and need no more. */
static bool is_unchanged(const struct alignment *a)
{
    if (a->old.n != a->new.n)
        return false;
    for (uint32_t i = 0; i < a->old.n; i++)
        if (distance(&a->old, i) != distance(&a->new, i) ||
            line_at(&a->old, i)->instructions != line_at(&a->new, i)->instructions)
            return false;
    return true;
}

static enum hp_err align(struct alignment *a)
{
    if (is_unchanged(a)) {
        match_distances(a);
        return HP_OK;
    }
    if ((size_t)(a->old.n + 1) * (a->new.n + 1) > MOST_CELLS) {
        match_distances(a);
        return HP_OK;
    }
    a->by_text = have_text(&a->old) && have_text(&a->new);
    a->costs = calloc((size_t)(a->old.n + 1) * (a->new.n + 1), sizeof *a->costs);
    if (!a->costs)
        return hp_fail_nomem();
    fill_costs(a);
    follow_costs(a);
    free(a->costs);
    a->costs = NULL;
    return HP_OK;
}

/* --- Lists ------------------------------------------------------------------------------------ */

static bool same_list(const struct hp_dline *a, const struct hp_dline *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->inlined, b->inlined) == 0;
}

static struct list list_at(const struct hp_digest *d, struct hp_sources *sources,
                           const struct hp_dfunction *f, uint32_t first)
{
    struct list list = {d, sources, first, 1, f->line};
    const struct hp_dline *line = &d->lines[first];
    while (first + list.n < f->lines + f->n_lines && same_list(line, line + list.n))
        list.n++;
    /* An inlined function's start is not known: its first line that was executed. */
    if (*line->inlined || strcmp(line->file, f->file) != 0)
        list.base = line->line;
    return list;
}

/* Whether two lists are of the same file and inlined function; the own file of a function may have
 * another name. */
static bool same_origin(const struct list *a, const struct hp_dfunction *f, const struct list *b,
                        const struct hp_dfunction *g)
{
    const struct hp_dline *x = line_at(a, 0), *y = line_at(b, 0);
    if (strcmp(x->inlined, y->inlined) != 0)
        return false;
    if (strcmp(hp_base_name(x->file), hp_base_name(y->file)) == 0)
        return true;
    return *x->file && *y->file && strcmp(x->file, f->file) == 0 && strcmp(y->file, g->file) == 0;
}

/* Whether a list of `new` was aligned with another one: files of the same name in different
 * directories are told apart by their order. */
static bool is_taken(const struct hp_diff *diff, const struct list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (diff->old_line[list->first + i] != HP_PROFILE_NONE)
            return true;
    return false;
}

enum hp_err hp_diff_align(struct hp_diff *diff, struct hp_diff_sources *sources, uint32_t old,
                          uint32_t new)
{
    const struct hp_dfunction *f = &diff->old->functions[old], *g = &diff->new->functions[new];
    for (uint32_t i = f->lines; i < f->lines + f->n_lines;) {
        struct list a = list_at(diff->old, &sources->old, f, i);
        for (uint32_t j = g->lines; j < g->lines + g->n_lines;) {
            struct list b = list_at(diff->new, &sources->new, g, j);
            if (same_origin(&a, f, &b, g) && !is_taken(diff, &b)) {
                HP_TRY(align(&(struct alignment){.diff = diff, .old = a, .new = b}));
                break;
            }
            j += b.n;
        }
        i += a.n;
    }
    return HP_OK;
}
