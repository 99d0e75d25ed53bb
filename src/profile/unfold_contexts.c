// SPDX-License-Identifier: MIT
/*
 * Contexts with inlined functions between them. A context becomes as many as its function has
 * nodes that were executed there; those called from it move to the node that calls them.
 */
#include "base/base.h"
#include "base/cleanup.h"
#include "profile/unfold_impl.h"

#define NONE HP_PROFILE_NONE

/* A context that was called from several nodes is copied, for each of them, where it is no less
 * than this part of the run, and as long as there are no more than so many times the contexts.
 * Others are called from where most calls are. */
#define LEAST_COPIED 20000
#define MOST_COPIES  3

/* What was counted for a context in a thread; a list by context. */
struct counted {
    uint32_t thread, next;
    uint64_t self, calls;
};

/* A context as it was, or a copy. A parent comes before its children. */
struct was {
    uint32_t parent, function;
    uint32_t first, next; /* of its children, beside it */
    uint32_t counts;
    uint32_t site;   /* the node of the parent's function that calls it; NONE: not chosen yet */
    uint32_t height; /* of contexts below it */
    uint64_t inclusive;
};

/* As it will be. */
struct will {
    uint32_t parent, function;
    uint32_t depth; /* from 1 */
    bool inlined;
    uint32_t pair; /* of an inlined function: the call of it */
};

struct forest {
    struct hp_unfold *u;
    struct was *was;
    struct counted *counts;
    struct will *will;
    struct hp_pcontext_count *will_counts;
    uint32_t *as_will; /* by context as it was */
    size_t cap_as_will;
    struct hp_map64 nodes;         /* context as it was << 32 | node: as it will be */
    struct hp_unfold_changes left; /* by function: see sum_self(), then what is not divided yet */
    size_t n_was, cap_was, n_counts, cap_counts, n_will, cap_will, n_will_counts, cap_will_counts;
    size_t most;    /* contexts as they were, with copies */
    uint64_t total; /* self of all */
};

static void forest_fini(struct forest *f)
{
    free(f->was);
    free(f->counts);
    free(f->will);
    free(f->will_counts);
    free(f->as_will);
    hp_unfold_changes_fini(&f->left);
    hp_map64_fini(&f->nodes);
}

/* --- As it was -------------------------------------------------------------------------------- */

static enum hp_err add_counted(struct forest *f, uint32_t context, struct counted counted)
{
    HP_TRY(hp_grow(&f->counts, &f->cap_counts, f->n_counts + 1, sizeof *f->counts));
    counted.next = f->was[context].counts;
    f->was[context].counts = (uint32_t)f->n_counts;
    f->counts[f->n_counts++] = counted;
    return HP_OK;
}

static enum hp_err add_was(struct forest *f, uint32_t parent, uint32_t function)
{
    HP_TRY(hp_grow(&f->was, &f->cap_was, f->n_was + 1, sizeof *f->was));
    f->was[f->n_was++] = (struct was){.parent = parent,
                                      .function = function,
                                      .first = NONE,
                                      .next = NONE,
                                      .counts = NONE,
                                      .site = NONE};
    return HP_OK;
}

static enum hp_err read_contexts(struct forest *f)
{
    const struct hp_profile *p = f->u->p;
    for (size_t i = 0; i < p->n_contexts; i++)
        HP_TRY(add_was(f, p->contexts[i].parent, p->contexts[i].function));
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *c = &p->context_counts[i];
        HP_TRY(add_counted(f, c->item, (struct counted){c->thread, NONE, c->self, c->calls}));
        hp_add_up(&f->was[c->item].inclusive, c->self);
        hp_add_up(&f->total, c->self);
    }
    for (uint32_t i = (uint32_t)f->n_was; i-- > 0;) {
        struct was *it = &f->was[i], *parent = it->parent == NONE ? NULL : &f->was[it->parent];
        if (!parent)
            continue;
        it->next = parent->first;
        parent->first = i;
        hp_add_up(&parent->inclusive, it->inclusive);
        if (parent->height <= it->height)
            parent->height = it->height + 1;
    }
    f->most = MOST_COPIES * f->n_was;
    return HP_OK;
}

/* --- From where contexts were called ---------------------------------------------------------- */

/* Sites of a pair: the last one gets its part of what is left, the others keep the rest. */
struct called {
    const struct hp_unfold_site *sites;
    size_t n;
};

/* Moves a part of what was counted for a context to a copy of it. */
static enum hp_err move_counts(struct forest *f, uint32_t from, uint32_t to,
                               const struct called *called)
{
    for (uint32_t i = f->was[from].counts; i != NONE; i = f->counts[i].next) {
        struct counted moved = {.thread = f->counts[i].thread};
        uint64_t weight, all;
        hp_unfold_weigh(f->u, called->sites, called->n, moved.thread, &weight, &all);
        moved.self = hp_unfold_take(&f->counts[i].self, weight, all);
        moved.calls = hp_unfold_take(&f->counts[i].calls, weight, all);
        HP_TRY(add_counted(f, to, moved));
    }
    return HP_OK;
}

/* Copies a context with all below it; it is not deeper than contexts are. `*copy` is the copy. */
static enum hp_err copy_tree(struct forest *f, uint32_t from, uint32_t parent,
                             const struct called *called, uint32_t *copy)
{
    uint64_t weight = called->sites[called->n - 1].count, all = 0;
    for (size_t i = 0; i < called->n; i++)
        hp_add_up(&all, called->sites[i].count);
    *copy = (uint32_t)f->n_was;
    HP_TRY(add_was(f, parent, f->was[from].function));
    f->was[*copy].height = f->was[from].height;
    f->was[*copy].inclusive = hp_unfold_take(&f->was[from].inclusive, weight, all);
    HP_TRY(move_counts(f, from, *copy, called));
    for (uint32_t i = f->was[from].first; i != NONE; i = f->was[i].next) {
        uint32_t child;
        HP_TRY(copy_tree(f, i, *copy, called, &child));
        f->was[child].next = f->was[*copy].first;
        f->was[*copy].first = child;
    }
    return HP_OK;
}

static size_t tree_size(const struct forest *f, uint32_t context)
{
    size_t n = 1;
    for (uint32_t i = f->was[context].first; i != NONE; i = f->was[i].next)
        n += tree_size(f, i);
    return n;
}

/* Chooses the node that calls a context; it is copied for other nodes that do. */
static enum hp_err choose_site(struct forest *f, uint32_t context)
{
    uint32_t parent = f->was[context].parent;
    uint32_t caller = f->was[parent].function;
    size_t n;
    const struct hp_unfold_site *sites =
        hp_unfold_sites(f->u, caller, f->was[context].function, &n);
    if (n == 0) {
        f->was[context].site = f->u->roots[caller];
        return HP_OK;
    }
    f->was[context].site = sites->node;
    bool heavy = f->was[context].inclusive > f->total / LEAST_COPIED;
    if (n == 1 || !heavy || f->n_was + (n - 1) * tree_size(f, context) > f->most)
        return HP_OK;
    for (size_t i = n; i-- > 1;) {
        uint32_t copy;
        HP_TRY(copy_tree(f, context, parent, &(struct called){sites, i + 1}, &copy));
        f->was[copy].site = sites[i].node;
    }
    return HP_OK;
}

/* --- As it will be ---------------------------------------------------------------------------- */

static enum hp_err add_will(struct forest *f, struct will will, uint32_t *index)
{
    will.depth = will.parent == NONE ? 1 : f->will[will.parent].depth + 1;
    HP_TRY(hp_grow(&f->will, &f->cap_will, f->n_will + 1, sizeof *f->will));
    *index = (uint32_t)f->n_will;
    f->will[f->n_will++] = will;
    return HP_OK;
}

/* What a node of a context's function becomes: a context of its own, unless what is below it would
 * be too deep. */
static enum hp_err make_node(struct forest *f, uint32_t context, uint32_t node, uint32_t *index)
{
    const struct hp_unfold_node *it = &f->u->nodes[node];
    uint64_t key = (uint64_t)context << 32 | node;
    uint32_t above, pair;
    *index = hp_map64_get(&f->nodes, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(make_node(f, context, it->parent, &above)); /* the root is there */
    *index = above;
    if (f->will[above].depth + f->was[context].height < HP_CONTEXT_DEPTH) {
        HP_TRY(hp_unfold_pair(f->u, f->will[above].function, it->function, &pair));
        HP_TRY(add_will(f, (struct will){above, it->function, 0, true, pair}, index));
    }
    return hp_map64_put(&f->nodes, key, *index);
}

static enum hp_err make_context(struct forest *f, uint32_t context, uint32_t *index)
{
    uint32_t parent = f->was[context].parent, above = NONE;
    uint32_t function = f->was[context].function;
    if (parent != NONE) {
        uint32_t caller = f->was[parent].function;
        if (caller != NONE && f->u->roots[caller] != NONE) {
            if (f->was[context].site == NONE)
                HP_TRY(choose_site(f, context));
            HP_TRY(make_node(f, parent, f->was[context].site, &above));
        } else {
            above = f->as_will[parent];
        }
    }
    return add_will(f, (struct will){above, function, 0, false, NONE}, index);
}

static enum hp_err add_count(struct forest *f, uint32_t context, uint32_t thread, uint64_t self,
                             uint64_t calls)
{
    if (!self && !calls)
        return HP_OK;
    HP_TRY(hp_grow(&f->will_counts, &f->cap_will_counts, f->n_will_counts + 1,
                   sizeof *f->will_counts));
    f->will_counts[f->n_will_counts++] = (struct hp_pcontext_count){context, thread, self, calls};
    return HP_OK;
}

/* Divides what was counted for a context among the nodes of its function. */
static enum hp_err divide_count(struct forest *f, uint32_t context, uint32_t index,
                                const struct counted *c)
{
    const struct hp_unfold *u = f->u;
    uint32_t function = f->was[context].function;
    struct hp_unfold_change *all;
    uint64_t self = c->self, calls = c->calls;
    if (function == NONE || u->roots[function] == NONE)
        return add_count(f, index, c->thread, self, calls);
    HP_TRY(hp_unfold_change(&f->left, function, c->thread, &all));
    uint64_t left = all->more;
    for (uint32_t i = u->first[function]; i != NONE && c->self; i = u->nodes[i].next) {
        struct hp_unfold_cell *cell = hp_unfold_find_cell(u, i, c->thread);
        uint32_t node;
        if (!cell || (!cell->self_left && !cell->entries_left))
            continue;
        uint64_t weight = cell->self_left;
        uint64_t part = hp_unfold_take(&self, weight, left);
        uint64_t entries = hp_unfold_take(&cell->entries_left, c->self, all->more);
        cell->self_left -= part;
        left -= weight;
        if (!part && !entries)
            continue;
        HP_TRY(make_node(f, context, i, &node));
        HP_TRY(add_count(f, node, c->thread, part, f->will[node].inlined ? entries : 0));
    }
    all->more -= c->self;
    return add_count(f, index, c->thread, self, calls);
}

/* How much of a function's `self` its contexts have in each thread; where that is not what the
 * function has, as some of it is in contexts above or some of others is here, its nodes have as
 * large a part of it. */
static enum hp_err sum_self(struct forest *f)
{
    struct hp_unfold *u = f->u;
    struct hp_unfold_change *all;
    for (size_t i = 0; i < f->n_was; i++)
        for (uint32_t k = f->was[i].counts; k != NONE; k = f->counts[k].next) {
            if (f->was[i].function == NONE)
                continue;
            HP_TRY(hp_unfold_change(&f->left, f->was[i].function, f->counts[k].thread, &all));
            hp_add_up(&all->more, f->counts[k].self);
        }
    for (size_t i = 0; i < u->p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &u->p->function_counts[i];
        HP_TRY(hp_unfold_change(&f->left, c->item, c->thread, &all));
        all->less = c->self; /* what the function has */
    }
    for (size_t i = 0; i < u->n_cells; i++) {
        struct hp_unfold_cell *cell = &u->cells[i];
        HP_TRY(hp_unfold_change(&f->left, u->nodes[cell->node].owner, cell->thread, &all));
        if (all->less != all->more)
            cell->self_left = all->less ? hp_part_of(all->more, cell->self, all->less) : 0;
    }
    return HP_OK;
}

static enum hp_err make_all(struct forest *f)
{
    for (uint32_t i = 0; i < f->n_was; i++) {
        uint32_t index;
        HP_TRY(hp_grow(&f->as_will, &f->cap_as_will, i + 1, sizeof *f->as_will));
        HP_TRY(make_context(f, i, &index));
        f->as_will[i] = index;
        uint32_t function = f->was[i].function;
        if (function != NONE && f->u->roots[function] != NONE)
            HP_TRY(hp_map64_put(&f->nodes, (uint64_t)i << 32 | f->u->roots[function], index));
    }
    /* Copies took their part of what was counted. */
    for (uint32_t i = 0; i < f->n_was; i++)
        for (uint32_t k = f->was[i].counts; k != NONE; k = f->counts[k].next)
            HP_TRY(divide_count(f, i, f->as_will[i], &f->counts[k]));
    return HP_OK;
}

static enum hp_err write_contexts(struct forest *f)
{
    struct hp_profile *p = f->u->p;
    /* What else refers to contexts stays with the function that has the code. */
    for (enum hp_row_kind kind = HP_ROW_CONTEXT_COUNT; ++kind < HP_ROW_KINDS;)
        hp_rows_renumber(p, kind, HP_ROW_CONTEXT, f->as_will);
    p->n_contexts = p->n_context_counts = 0;
    for (size_t i = 0; i < f->n_will; i++) {
        struct hp_pcontext *context;
        HP_TRY(hp_profile_add_context(p, &context));
        *context = (struct hp_pcontext){f->will[i].parent, f->will[i].function};
    }
    for (size_t i = 0; i < f->n_will_counts; i++) {
        struct hp_pcontext_count *count;
        HP_TRY(hp_profile_add_context_count(p, &count));
        *count = f->will_counts[i];
    }
    return HP_OK;
}

/* --- What is inclusive ------------------------------------------------------------------------ */

/* What was last added to, to add to it once. */
struct marks {
    size_t *physical, *inlined; /* by function */
    size_t *pairs;              /* by call */
};

static void marks_fini(struct marks *marks)
{
    free(marks->physical);
    free(marks->inlined);
    free(marks->pairs);
}

/* A function below itself has it once; and what is below one that has code is counted there. */
static enum hp_err add_inclusive(struct forest *f, const struct hp_pcontext_count *c, size_t mark,
                                 struct marks *marks)
{
    struct hp_unfold_change *change;
    bool any = false;
    for (uint32_t i = c->item; i != NONE; i = f->will[i].parent) {
        any |= f->will[i].inlined;
        if (!f->will[i].inlined && f->will[i].function != NONE)
            marks->physical[f->will[i].function] = mark;
    }
    for (uint32_t i = c->item; any && i != NONE; i = f->will[i].parent) {
        uint32_t function = f->will[i].function;
        if (!f->will[i].inlined)
            continue;
        if (marks->pairs[f->will[i].pair] != mark) {
            marks->pairs[f->will[i].pair] = mark;
            HP_TRY(hp_unfold_change(&f->u->calls, f->will[i].pair, c->thread, &change));
            hp_add_up(&change->inclusive, c->self);
        }
        if (marks->physical[function] == mark || marks->inlined[function] == mark)
            continue;
        marks->inlined[function] = mark;
        HP_TRY(hp_unfold_change(&f->u->functions, function, c->thread, &change));
        hp_add_up(&change->inclusive, c->self);
    }
    return HP_OK;
}

static enum hp_err find_inclusive(struct forest *f)
{
    const struct hp_profile *p = f->u->p;
    struct marks marks HP_CLEANUP(marks_fini) = {0};
    HP_TRY(hp_new(&marks.physical, p->n_functions + 1, sizeof *marks.physical));
    HP_TRY(hp_new(&marks.inlined, p->n_functions + 1, sizeof *marks.inlined));
    HP_TRY(hp_new(&marks.pairs, p->n_calls + 1, sizeof *marks.pairs));
    for (size_t i = 0; i < f->n_will_counts; i++)
        if (f->will_counts[i].self)
            HP_TRY(add_inclusive(f, &f->will_counts[i], i + 1, &marks));
    return HP_OK;
}

enum hp_err hp_unfold_contexts(struct hp_unfold *u)
{
    struct forest f HP_CLEANUP(forest_fini) = {.u = u};
    HP_TRY(read_contexts(&f));
    HP_TRY(sum_self(&f));
    HP_TRY(make_all(&f));
    HP_TRY(write_contexts(&f));
    return find_inclusive(&f);
}
