// SPDX-License-Identifier: MIT
#include "report/loops/loops.h"

#include "base/base.h"
#include "report/tables.h"
#include "report/text.h"
#include "text/number.h"
#include "text/short_name.h"

/* Executions are known one by one, or there are none. A merged profile may have both kinds. */
static bool is_known(const struct hp_ploop_count *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i].executions && !counts[i].min)
            return false;
    return true;
}

/* Sums up the counts of a loop by thread, and finds how many of those executions that have one
 * before them (two, for a stride) had the iterations that one would have said. */
static void sum_counts(struct hp_loop_info *info, const struct hp_ploop_count *counts, size_t n)
{
    uint64_t after_one = 0, after_two = 0;
    for (size_t i = 0; i < n; i++) {
        hp_row_add(HP_ROW_LOOP_COUNT, &info->total, &counts[i]);
        uint64_t executions = counts[i].max ? counts[i].executions : 0;
        hp_add_up(&after_one, executions > 1 ? executions - 1 : 0);
        hp_add_up(&after_two, executions > 2 ? executions - 2 : 0);
    }
    if (!is_known(counts, n)) {
        info->total.min = info->total.max = info->total.same = info->total.stride = 0;
        after_one = after_two = 0;
    }
    double same = after_one ? hp_number_share(info->total.same, after_one) : -1;
    double stride = after_two ? hp_number_share(info->total.stride, after_two) : -1;
    double best = same > stride ? same : stride;
    info->predictable = best > 1 ? 1 : best;
}

/* --- The forest ------------------------------------------------------------------------------- */

struct order {
    const struct hp_profile *profile;
    const struct hp_loop_info *info;
    uint32_t *heaviest; /* by function: of its loops that are in no other */
};

/* Equal ones by index: the normal form has them by place. */
static int compare_weight(const struct order *by, uint32_t x, uint32_t y)
{
    return HP_COMPARE(by->info[y].total.inclusive, by->info[x].total.inclusive) ?: HP_COMPARE(x, y);
}

static int compare_iterations(const void *a, const void *b, void *context)
{
    const struct order *by = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return HP_COMPARE(by->info[y].total.iterations, by->info[x].total.iterations)
               ?: HP_COMPARE(x, y);
}

/* The heaviest loop of the function that a loop is in. */
static uint32_t *heaviest_beside(const struct order *by, uint32_t loop)
{
    return &by->heaviest[hp_slot(by->profile->loops[loop].function, by->profile->n_functions)];
}

/* Parents before their children, the heaviest first; those in no other by function before that. */
static int compare_nested(const void *a, const void *b, void *context)
{
    const struct order *by = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = HP_COMPARE(by->info[x].depth, by->info[y].depth);
    if (order == 0 && by->info[x].depth == 0)
        order = compare_weight(by, *heaviest_beside(by, x), *heaviest_beside(by, y));
    return order ?: compare_weight(by, x, y);
}

/* How deep each loop is nested, without recursion: that may be as deep as there are loops. */
static enum hp_err find_depths(struct hp_loop_info *info, const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_loops; i++)
        info[i].depth = HP_PROFILE_NONE; /* not known */
    for (uint32_t i = 0; i < p->n_loops; i++) {
        uint32_t unknown = 0, at = i;
        for (; at != HP_PROFILE_NONE && info[at].depth == HP_PROFILE_NONE; at = p->loops[at].parent)
            if (unknown++ == p->n_loops)
                return hp_fail(HP_ERR_INVALID,
                               "the profile is damaged: loops are nested in each other");
        uint32_t depth = unknown + (at == HP_PROFILE_NONE ? 0 : info[at].depth + 1);
        for (at = i; unknown-- > 0; at = p->loops[at].parent)
            info[at].depth = --depth;
    }
    return HP_OK;
}

/* Gives each loop its position; `sorted` has parents before children. `size` by loop: how many are
 * nested in it, with itself; `next`: the position of its next child, and last of the next loop that
 * is in no other. */
static void number_loops(struct hp_loop_info *info, const struct hp_profile *p,
                         const uint32_t *sorted, uint32_t *size, uint32_t *next)
{
    for (size_t i = p->n_loops; i-- > 0;) {
        uint32_t loop = sorted[i], parent = p->loops[loop].parent;
        size[loop]++;
        if (parent != HP_PROFILE_NONE)
            size[parent] += size[loop];
    }
    for (size_t i = 0; i < p->n_loops; i++) {
        uint32_t loop = sorted[i];
        uint32_t *position = &next[hp_slot(p->loops[loop].parent, p->n_loops)];
        info[loop].at = *position;
        info[loop].end = *position += size[loop];
        next[loop] = info[loop].at + 1;
    }
}

static enum hp_err plant_forest(struct hp_loops *loops, const struct hp_profile *p)
{
    size_t n = p->n_loops;
    uint32_t *room HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&room, 3 * n + p->n_functions + 2, sizeof *room));
    uint32_t *sorted = room, *size = room + n, *next = room + 2 * n;
    struct order order = {p, loops->info, room + 3 * n + 1};
    HP_TRY(find_depths(loops->info, p));
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = i;
    qsort_r(sorted, n, sizeof *sorted, compare_iterations, &order);
    for (uint32_t i = 0; i < n; i++)
        loops->info[sorted[i]].rank = i + 1;
    for (size_t i = 0; i <= p->n_functions; i++)
        order.heaviest[i] = HP_PROFILE_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *heaviest = heaviest_beside(&order, i);
        if (loops->info[i].depth == 0 &&
            (*heaviest == HP_PROFILE_NONE || compare_weight(&order, i, *heaviest) < 0))
            *heaviest = i;
    }
    qsort_r(sorted, n, sizeof *sorted, compare_nested, &order);
    number_loops(loops->info, p, sorted, size, next);
    return HP_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

enum hp_err hp_loops_init(struct hp_loops *loops, const struct hp_profile *p)
{
    *loops = (struct hp_loops){0};
    HP_TRY(hp_new(&loops->info, p->n_loops + 1, sizeof *loops->info));
    HP_TRY(hp_lists_init(&loops->models, p->n_loops, p->n_model_loops));
    for (uint32_t i = (uint32_t)p->n_model_loops; i-- > 0;)
        hp_lists_prepend(&loops->models, p->model_loops[i].loop, i);
    for (uint32_t i = 0; i < p->n_loops; i++) {
        size_t n;
        const struct hp_ploop_count *counts = hp_items(p, HP_ROW_LOOP_COUNT, i, &n);
        sum_counts(&loops->info[i], counts, n);
    }
    HP_TRY(p->n_loops ? plant_forest(loops, p) : HP_OK);
    return hp_loops_find_source(loops->info, p);
}

void hp_loops_fini(struct hp_loops *loops)
{
    free(loops->info);
    hp_lists_fini(&loops->models);
    free(loops->back_edges);
    *loops = (struct hp_loops){0};
}

/* --- Looking things up ------------------------------------------------------------------------ */

const struct hp_ploop_trips *hp_loop_trips(const struct hp_profile *profile, uint32_t loop,
                                           bool buckets, size_t *n)
{
    size_t all, values = 0, n_counts;
    const struct hp_ploop_count *counts = hp_items(profile, HP_ROW_LOOP_COUNT, loop, &n_counts);
    const struct hp_ploop_trips *trips = hp_items(profile, HP_ROW_LOOP_TRIPS, loop, &all);
    all = is_known(counts, n_counts) ? all : 0; /* else they are not all of them */
    while (values < all && !trips[values].bucket)
        values++;
    *n = buckets ? all - values : values;
    return *n ? &trips[buckets ? values : 0] : NULL;
}

int hp_loop_compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->loops[a].header, p->loops[b].header);
}

const struct hp_ploop_count *hp_loop_counts(const struct hp_tables *tables,
                                            const struct hp_row *row)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_ploop_count *counts = p->loop_counts;
    if (row->thread == HP_PROFILE_NONE)
        return &tables->loops.info[row->item].total;
    size_t behind = HP_BISECT(i, 0, p->n_loop_counts,
                              counts[i].item < row->item ||
                                  (counts[i].item == row->item && counts[i].thread <= row->thread));
    return &counts[behind ? behind - 1 : 0];
}

/* Its function, or what was inlined into that. */
static void put_scope(const struct hp_tables *tables, uint32_t loop, bool inlined, size_t columns,
                      struct hp_strbuf *cell)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    if (inlined)
        hp_strbuf_clean(&name,
                        hp_text(tables->profile->inlined[tables->loops.info[loop].function].name));
    else
        hp_put_function(tables, tables->profile->loops[loop].function, &name);
    hp_short_name(cell, hp_strbuf_text(&name), columns);
    cell->failed |= name.failed;
}

size_t hp_loop_columns(const struct hp_text *text)
{
    bool whole = text->options->full_names || text->options->width <= 0;
    return whole ? SIZE_MAX : (size_t)text->options->width / 4 + 1;
}

void hp_put_loop(const struct hp_tables *tables, uint32_t loop, bool name, size_t columns,
                 struct hp_strbuf *cell)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_ploop *l = &p->loops[loop];
    const struct hp_loop_info *info = &tables->loops.info[loop];
    bool other =
        l->parent != HP_PROFILE_NONE && tables->loops.info[l->parent].function != info->function;
    if (!*info->file) {
        struct hp_strbuf code HP_CLEANUP(hp_strbuf_fini) = {0};
        (name ? hp_put_code : hp_put_offset)(tables, l->function, l->header, &code);
        hp_short_name(cell, hp_strbuf_text(&code), columns);
        cell->failed |= code.failed;
        return;
    }
    if (name || other)
        put_scope(tables, loop, info->function != HP_PROFILE_NONE, columns, cell);
    hp_strbuf_add(cell, name || other ? " " : "");
    hp_put_source_place(hp_base_name(info->file), info->line, cell);
    if (info->last_line > info->line)
        hp_strbuf_format(cell, "-%u", info->last_line);
    if (!name || info->function == HP_PROFILE_NONE)
        return;
    hp_strbuf_add(cell, " in ");
    put_scope(tables, loop, false, columns, cell);
}
