// SPDX-License-Identifier: MIT
#include "report/loops/loops.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "report/cells.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Totals ----------------------------------------------------------------------------------- */

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void add_count(struct hp_ploop_count *sum, const struct hp_ploop_count *count)
{
    if (count->max && (sum->max == 0 || count->min < sum->min))
        sum->min = count->min;
    if (sum->max < count->max)
        sum->max = count->max;
    sum->executions = hp_saturating_add(sum->executions, count->executions);
    sum->iterations = hp_saturating_add(sum->iterations, count->iterations);
    sum->back_edges = hp_saturating_add(sum->back_edges, count->back_edges);
    sum->self = hp_saturating_add(sum->self, count->self);
    sum->inclusive = hp_saturating_add(sum->inclusive, count->inclusive);
    sum->same = hp_saturating_add(sum->same, count->same);
    sum->stride = hp_saturating_add(sum->stride, count->stride);
    sum->interrupted = hp_saturating_add(sum->interrupted, count->interrupted);
}

/* How many of those executions that have one before them (two, for a stride) had the iterations
 * that one would have said. */
static double foreseen(const struct hp_ploop_count *total, uint64_t after_one, uint64_t after_two)
{
    double same = after_one ? hp_number_share(total->same, after_one) : -1;
    double stride = after_two ? hp_number_share(total->stride, after_two) : -1;
    double best = same > stride ? same : stride;
    return best > 1 ? 1 : best;
}

static enum hp_err sum_counts(struct hp_loops *loops, const struct hp_profile *p)
{
    uint64_t(*after)[2] = calloc(p->n_loops + 1, sizeof *after);
    if (!after)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_loop_counts; i++) {
        const struct hp_ploop_count *count = &p->loop_counts[i];
        add_count(&loops->info[count->item].total, count);
        for (size_t k = 0; k < 2 && count->max; k++)
            after[count->item][k] =
                hp_saturating_add(after[count->item][k], above(count->executions, k + 1));
    }
    for (size_t i = 0; i < p->n_loops; i++)
        loops->info[i].foreseen = foreseen(&loops->info[i].total, after[i][0], after[i][1]);
    free(after);
    return HP_OK;
}

/* --- The forest ------------------------------------------------------------------------------- */

struct order {
    const struct hp_profile *profile;
    const struct hp_loop_info *info;
    const uint32_t *functions; /* by loop that is in no other: where its function comes */
};

static int compare_weight(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t weight_x = order->info[x].total.inclusive, weight_y = order->info[y].total.inclusive;
    if (weight_x != weight_y)
        return weight_x > weight_y ? -1 : 1;
    return (x > y) - (x < y); /* the normal form has them by place */
}

static int compare_function(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (order->functions[x] != order->functions[y])
        return order->functions[x] < order->functions[y] ? -1 : 1;
    return compare_weight(a, b, context);
}

static int compare_iterations(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t n_x = order->info[x].total.iterations, n_y = order->info[y].total.iterations;
    if (n_x != n_y)
        return n_x > n_y ? -1 : 1;
    return (x > y) - (x < y);
}

/* Working memory of the forest, one array of it. */
struct forest {
    uint32_t *sorted;       /* loops by weight */
    uint32_t *child, *next; /* the first nested in it, the next beside it */
    uint32_t *functions;    /* by loop */
    uint32_t *seen;         /* by function: the rank of its heaviest loop, from 1 */
};

/* The lists of children, heaviest first: filled from the lightest on. `roots` gets those in no
 * other, by weight; returns how many. */
static size_t link_loops(const struct hp_profile *p, struct forest *f, uint32_t *roots)
{
    size_t n_roots = 0;
    for (size_t i = 0; i < p->n_loops; i++)
        f->child[i] = f->next[i] = HP_PROFILE_NONE;
    for (size_t i = p->n_loops; i-- > 0;) {
        uint32_t loop = f->sorted[i], parent = p->loops[loop].parent;
        if (parent == HP_PROFILE_NONE)
            continue;
        f->next[loop] = f->child[parent];
        f->child[parent] = loop;
    }
    for (size_t i = 0; i < p->n_loops; i++) {
        uint32_t loop = f->sorted[i], function = p->loops[loop].function;
        if (p->loops[loop].parent != HP_PROFILE_NONE)
            continue;
        uint32_t *rank = &f->seen[function == HP_PROFILE_NONE ? p->n_functions : function];
        if (*rank == 0)
            *rank = (uint32_t)i + 1;
        f->functions[loop] = *rank;
        roots[n_roots++] = loop;
    }
    return n_roots;
}

/* Numbers a loop and all that is nested in it, without recursion: nesting may be as deep as there
 * are loops. */
static void number_tree(struct hp_loops *loops, const struct hp_profile *p, const struct forest *f,
                        uint32_t root, uint32_t *position)
{
    uint32_t at = root, depth = 0;
    for (;;) {
        struct hp_loop_info *info = &loops->info[at];
        info->depth = depth;
        info->at = (*position)++;
        if (f->child[at] != HP_PROFILE_NONE) {
            at = f->child[at];
            depth++;
            continue;
        }
        for (;;) {
            loops->info[at].end = *position;
            if (at == root)
                return;
            if (f->next[at] != HP_PROFILE_NONE)
                break;
            at = p->loops[at].parent;
            depth--;
        }
        at = f->next[at];
    }
}

static enum hp_err number_loops(struct hp_loops *loops, const struct hp_profile *p,
                                struct forest *f, uint32_t *roots)
{
    struct order order = {p, loops->info, f->functions};
    for (uint32_t i = 0; i < p->n_loops; i++)
        f->sorted[i] = i;
    qsort_r(f->sorted, p->n_loops, sizeof *f->sorted, compare_iterations, &order);
    for (uint32_t i = 0; i < p->n_loops; i++)
        loops->info[f->sorted[i]].rank = i + 1;
    qsort_r(f->sorted, p->n_loops, sizeof *f->sorted, compare_weight, &order);
    size_t n_roots = link_loops(p, f, roots);
    if (n_roots)
        qsort_r(roots, n_roots, sizeof *roots, compare_function, &order);
    uint32_t position = 0;
    for (size_t i = 0; i < n_roots; i++)
        number_tree(loops, p, f, roots[i], &position);
    if (position != p->n_loops)
        return hp_fail(HP_ERR_INVALID, "the profile is damaged: loops are nested in each other");
    return HP_OK;
}

static enum hp_err plant_forest(struct hp_loops *loops, const struct hp_profile *p)
{
    size_t n = p->n_loops;
    uint32_t *room = calloc(n * 5 + p->n_functions + 1, sizeof *room);
    if (!room)
        return hp_fail_nomem();
    struct forest f = {.sorted = room,
                       .child = room + n,
                       .next = room + 2 * n,
                       .functions = room + 3 * n,
                       .seen = room + 5 * n};
    enum hp_err err = number_loops(loops, p, &f, room + 4 * n);
    free(room);
    return err;
}

/* --- Models ----------------------------------------------------------------------------------- */

static int compare_models(const void *a, const void *b, void *context)
{
    const struct hp_pmodel_loop *models = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (models[x].loop != models[y].loop)
        return models[x].loop < models[y].loop ? -1 : 1;
    return (x > y) - (x < y);
}

static enum hp_err find_models(struct hp_loops *loops, const struct hp_profile *p)
{
    loops->models = calloc(p->n_model_loops + 1, sizeof *loops->models);
    if (!loops->models)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_model_loops; i++)
        if (p->model_loops[i].loop != HP_PROFILE_NONE)
            loops->models[loops->n_models++] = i;
    qsort_r(loops->models, loops->n_models, sizeof *loops->models, compare_models, p->model_loops);
    return HP_OK;
}

const uint32_t *hp_loop_models(const struct hp_loops *loops, const struct hp_profile *profile,
                               uint32_t loop, size_t *n)
{
    size_t low =
        HP_BISECT(i, 0, loops->n_models, profile->model_loops[loops->models[i]].loop < loop);
    for (*n = 0;
         low + *n < loops->n_models && profile->model_loops[loops->models[low + *n]].loop == loop;)
        ++*n;
    return *n ? &loops->models[low] : NULL;
}

enum hp_err hp_loops_init(struct hp_loops *loops, const struct hp_profile *profile)
{
    *loops = (struct hp_loops){0};
    loops->info = calloc(profile->n_loops + 1, sizeof *loops->info);
    if (!loops->info)
        return hp_fail_nomem();
    HP_TRY(find_models(loops, profile));
    if (profile->n_loops == 0)
        return HP_OK;
    HP_TRY(sum_counts(loops, profile));
    return plant_forest(loops, profile);
}

void hp_loops_fini(struct hp_loops *loops)
{
    free(loops->info);
    free(loops->models);
    free(loops->back_edges);
    *loops = (struct hp_loops){0};
}

/* --- Looking things up ------------------------------------------------------------------------ */

const struct hp_ploop_trips *hp_loop_trips(const struct hp_profile *profile, uint32_t loop,
                                           bool buckets, size_t *n)
{
    const struct hp_ploop_trips *trips = profile->loop_trips;
    size_t low =
        HP_BISECT(i, 0, profile->n_loop_trips,
                  trips[i].loop < loop || (trips[i].loop == loop && !trips[i].bucket && buckets));
    for (*n = 0; low + *n < profile->n_loop_trips && trips[low + *n].loop == loop &&
                 trips[low + *n].bucket == buckets;)
        ++*n;
    return *n ? &trips[low] : NULL;
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

void hp_put_loop(const struct hp_tables *tables, uint32_t loop, bool name, struct hp_strbuf *cell)
{
    const struct hp_ploop *l = &tables->profile->loops[loop];
    if (*hp_text(l->file)) {
        if (name) {
            hp_put_function(tables, l->function, cell);
            hp_strbuf_add(cell, " ");
        }
        hp_put_source_place(hp_base_name(l->file), l->first_line, cell);
        if (l->last_line > l->first_line) {
            hp_strbuf_add(cell, "-");
            hp_strbuf_uint(cell, l->last_line);
        }
        return;
    }
    const struct hp_pfunction *f =
        l->function == HP_PROFILE_NONE ? NULL : &tables->profile->functions[l->function];
    bool named = f && (*hp_text(f->name) || *hp_text(f->linkage));
    if (name || !named || f->place.module != l->header.module ||
        f->place.offset > l->header.offset) {
        hp_put_code(tables, l->function, l->header, cell);
        return;
    }
    hp_strbuf_add(cell, "+");
    hp_strbuf_hex(cell, l->header.offset - f->place.offset);
}
