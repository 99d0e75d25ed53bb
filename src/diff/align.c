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

#include "base/base.h"
#include "report/tables.h"

#include <ctype.h>

/* Longer lists are matched by distance alone. */
#define MOST_CELLS ((size_t)4 << 20)

/* Lines of one file and inlined function. */
struct list {
    const struct hp_dline *lines;
    uint32_t first, n; /* indices of the digest */
    uint32_t base;     /* where distances are measured from */
};

struct alignment {
    struct hp_diff *diff;
    struct list old, new;
    bool by_text;
    uint64_t *costs; /* (old.n + 1) x (new.n + 1): of what is left from there */
};

static int64_t distance(const struct list *list, uint32_t i)
{
    return (int64_t)list->lines[i].line - list->base;
}

static const char *text_of(struct hp_sources *sources, const struct hp_dline *line, size_t *n)
{
    return line->line ? hp_sources_line(sources, line->file, line->line, n) : NULL;
}

int hp_diff_same_text(struct hp_diff *diff, const struct hp_dline *old, const struct hp_dline *new)
{
    size_t n_a, n_b;
    const char *a = text_of(&diff->old_sources, old, &n_a);
    const char *b = text_of(&diff->new_sources, new, &n_b);
    if (!a || !b)
        return -1;
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

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t skip_cost(const struct alignment *a, const struct hp_dline *line)
{
    return a->by_text ? 2 : at_most(line->instructions, NEVER / 4 - 1) + 1;
}

static uint64_t pair_cost(const struct alignment *a, uint32_t i, uint32_t j)
{
    const struct hp_dline *old = &a->old.lines[i], *new = &a->new.lines[j];
    bool near = distance(&a->old, i) == distance(&a->new, j);
    if (a->by_text)
        return hp_diff_same_text(a->diff, old, new) > 0 ? !near : NEVER;
    uint64_t less = at_most(old->instructions, new->instructions);
    uint64_t more = old->instructions + new->instructions - less;
    return at_most(more - less + (near ? 0 : less / 4 + 1), NEVER / 4);
}

/* The cost of a step to lines `i` and `j`, and of what is left from there. */
static uint64_t cost_by(const struct alignment *a, uint32_t i, uint32_t j, uint64_t step)
{
    return at_most(a->costs[(size_t)i * (a->new.n + 1) + j] + step, NEVER);
}

static void fill_costs(struct alignment *a, size_t cells)
{
    uint64_t *cell = a->costs + cells;
    for (uint32_t i = a->old.n + 1; i-- > 0;)
        for (uint32_t j = a->new.n + 1; j-- > 0;) {
            uint64_t best = i == a->old.n && j == a->new.n ? 0 : NEVER;
            if (i < a->old.n && j < a->new.n)
                best = at_most(best, cost_by(a, i + 1, j + 1, pair_cost(a, i, j)));
            if (i < a->old.n)
                best = at_most(best, cost_by(a, i + 1, j, skip_cost(a, &a->old.lines[i])));
            if (j < a->new.n)
                best = at_most(best, cost_by(a, i, j + 1, skip_cost(a, &a->new.lines[j])));
            *--cell = best;
        }
}

/* --- Matching --------------------------------------------------------------------------------- */

static void match(struct alignment *a, uint32_t i, uint32_t j)
{
    hp_changes_match(&a->diff->lines, a->old.first + i, a->new.first + j);
}

/* What is between two pairs of equal text was changed. */
static void match_gap(struct alignment *a, uint32_t i, uint32_t i_end, uint32_t j, uint32_t j_end)
{
    while (a->by_text && i < i_end && j < j_end)
        match(a, i++, j++);
}

static void follow_costs(struct alignment *a)
{
    uint32_t i = 0, j = 0, gap_i = 0, gap_j = 0;
    while (i < a->old.n && j < a->new.n) {
        uint64_t best = cost_by(a, i, j, 0), pair = pair_cost(a, i, j);
        if (pair < NEVER && cost_by(a, i + 1, j + 1, pair) == best) {
            match_gap(a, gap_i, i, gap_j, j);
            match(a, i++, j++);
            gap_i = i;
            gap_j = j;
        } else if (cost_by(a, i + 1, j, skip_cost(a, &a->old.lines[i])) == best) {
            i++;
        } else {
            j++;
        }
    }
    match_gap(a, gap_i, a->old.n, gap_j, a->new.n);
}

static void match_distances(struct alignment *a)
{
    for (uint32_t i = 0, j = 0; i < a->old.n && j < a->new.n;) {
        int64_t x = distance(&a->old, i), y = distance(&a->new, j);
        if (x == y)
            match(a, i++, j++);
        else if (x < y)
            i++;
        else
            j++;
    }
}

static bool have_text(struct hp_sources *sources, const struct list *list)
{
    size_t n;
    for (uint32_t i = 0; i < list->n; i++)
        if (!text_of(sources, &list->lines[i], &n))
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
            a->old.lines[i].instructions != a->new.lines[i].instructions)
            return false;
    return true;
}

static enum hp_err align(struct alignment *a)
{
    size_t cells = (size_t)(a->old.n + 1) * (a->new.n + 1);
    if (is_unchanged(a) || cells > MOST_CELLS) {
        match_distances(a);
        return HP_OK;
    }
    uint64_t *costs HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&costs, cells, sizeof *costs));
    a->costs = costs;
    a->by_text =
        have_text(&a->diff->old_sources, &a->old) && have_text(&a->diff->new_sources, &a->new);
    fill_costs(a, cells);
    follow_costs(a);
    return HP_OK;
}

/* --- Lists ------------------------------------------------------------------------------------ */

static struct list list_at(const struct hp_digest *d, const struct hp_dfunction *f, uint32_t first)
{
    const struct hp_dline *line = &d->lines[first];
    /* An inlined function's start is not known: its first line that was executed. */
    bool own = !*line->inlined && strcmp(line->file, f->file) == 0;
    struct list list = {line, first, 1, own ? f->line : line->line};
    while (first + list.n < f->lines + f->n_lines && strcmp(line->file, line[list.n].file) == 0 &&
           strcmp(line->inlined, line[list.n].inlined) == 0)
        list.n++;
    return list;
}

/* Whether two lines are of the same file, which may have another name now, and inlined function. */
static bool same_origin(const struct hp_dline *x, const struct hp_dfunction *f,
                        const struct hp_dline *y, const struct hp_dfunction *g)
{
    if (strcmp(x->inlined, y->inlined) != 0)
        return false;
    if (strcmp(hp_base_name(x->file), hp_base_name(y->file)) == 0)
        return true;
    return *x->file && *y->file && strcmp(x->file, f->file) == 0 && strcmp(y->file, g->file) == 0;
}

/* Whether a list of `new` was aligned with another one: files of the same name in different
 * directories are told apart by their order. */
static bool is_taken(const struct hp_changes *lines, const struct list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (lines->to_old[list->first + i] != HP_PROFILE_NONE)
            return true;
    return false;
}

enum hp_err hp_diff_align(struct hp_diff *diff, const struct hp_dfunction *f,
                          const struct hp_dfunction *g)
{
    for (uint32_t i = f->lines; i < f->lines + f->n_lines;) {
        struct list old = list_at(diff->old, f, i);
        for (uint32_t j = g->lines; j < g->lines + g->n_lines;) {
            struct list new = list_at(diff->new, g, j);
            if (same_origin(old.lines, f, new.lines, g) && !is_taken(&diff->lines, &new)) {
                HP_TRY(align(&(struct alignment){diff, old, new, false, NULL}));
                break;
            }
            j += new.n;
        }
        i += old.n;
    }
    return HP_OK;
}
