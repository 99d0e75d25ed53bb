// SPDX-License-Identifier: MIT
#include "profile/unfold.h"

#include "base/base.h"
#include "base/cleanup.h"
#include "profile/unfold_impl.h"

#define NONE HP_PROFILE_NONE

static void unfold_fini(struct hp_unfold *u)
{
    free(u->nodes);
    free(u->roots);
    free(u->first);
    hp_map64_fini(&u->cell_at);
    free(u->cells);
    free(u->sites);
    hp_unfold_changes_fini(&u->site_counts);
    hp_unfold_changes_fini(&u->functions);
    hp_unfold_changes_fini(&u->calls);
    hp_map64_fini(&u->pairs);
}

static enum hp_err unfold_init(struct hp_unfold *u, struct hp_profile *p)
{
    u->p = p;
    u->n_functions = p->n_functions;
    HP_TRY(hp_new(&u->roots, p->n_functions + 1, sizeof *u->roots));
    HP_TRY(hp_new(&u->first, p->n_functions + 1, sizeof *u->first));
    for (size_t i = 0; i < p->n_functions; i++)
        u->roots[i] = u->first[i] = NONE;
    return HP_OK;
}

/* --- What the parts share --------------------------------------------------------------------- */

struct hp_unfold_cell *hp_unfold_find_cell(const struct hp_unfold *u, uint32_t node,
                                           uint32_t thread)
{
    uint32_t index = hp_map64_get(&u->cell_at, (uint64_t)node << 32 | thread);
    return index == HP_MAP64_NONE ? NULL : &u->cells[index];
}

const struct hp_unfold_site *hp_unfold_sites(const struct hp_unfold *u, uint32_t caller,
                                             uint32_t callee, size_t *n)
{
    const struct hp_unfold_site *sites = u->sites;
    size_t at = HP_BISECT(i, 0, u->n_sites,
                          sites[i].caller < caller ||
                              (sites[i].caller == caller && sites[i].callee < callee));
    for (*n = 0; at + *n < u->n_sites && sites[at + *n].caller == caller &&
                 sites[at + *n].callee == callee;)
        ++*n;
    return *n ? &sites[at] : NULL;
}

void hp_unfold_weigh(const struct hp_unfold *u, const struct hp_unfold_site *sites, size_t n,
                     uint32_t thread, uint64_t *weight, uint64_t *all)
{
    uint64_t total = *weight = *all = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)(sites + i - u->sites) << 32 | thread;
        uint32_t index = hp_map64_get(&u->site_counts.by_key, key);
        *weight = index == HP_MAP64_NONE ? 0 : u->site_counts.changes[index].calls;
        hp_add_up(all, *weight);
        hp_add_up(&total, sites[i].count);
    }
    if (*all == 0) { /* that thread is not known to call it */
        *weight = sites[n - 1].count;
        *all = total;
    }
}

enum hp_err hp_unfold_change(struct hp_unfold_changes *changes, uint32_t item, uint32_t thread,
                             struct hp_unfold_change **change)
{
    uint64_t key = (uint64_t)item << 32 | thread;
    uint32_t index = hp_map64_get(&changes->by_key, key);
    if (index == HP_MAP64_NONE) {
        index = (uint32_t)changes->n;
        HP_TRY(hp_grow(&changes->changes, &changes->capacity, changes->n + 1,
                       sizeof *changes->changes));
        HP_TRY(hp_map64_put(&changes->by_key, key, index));
        changes->changes[changes->n++] = (struct hp_unfold_change){.item = item, .thread = thread};
    }
    *change = &changes->changes[index];
    return HP_OK;
}

enum hp_err hp_unfold_pair(struct hp_unfold *u, uint32_t caller, uint32_t callee, uint32_t *call)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    struct hp_pcall *row;
    *call = hp_map64_get(&u->pairs, key);
    if (*call != HP_MAP64_NONE)
        return HP_OK;
    *call = (uint32_t)u->p->n_calls;
    HP_TRY(hp_profile_add_call(u->p, &row));
    *row = (struct hp_pcall){caller, callee};
    return hp_map64_put(&u->pairs, key, *call);
}

/* --- Functions -------------------------------------------------------------------------------- */

/* Where blocks say more than the function has (a block may be left early), that is scaled down. */
static enum hp_err fit_cells(struct hp_unfold *u)
{
    struct hp_unfold_changes sums HP_CLEANUP(hp_unfold_changes_fini) = {0};
    struct hp_unfold_change *sum;
    for (size_t i = 0; i < u->n_cells; i++) {
        HP_TRY(hp_unfold_change(&sums, u->nodes[u->cells[i].node].owner, u->cells[i].thread, &sum));
        hp_add_up(&sum->more, u->cells[i].self);
    }
    for (size_t i = 0; i < u->p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &u->p->function_counts[i];
        if (c->item >= u->n_functions || u->roots[c->item] == NONE)
            continue;
        HP_TRY(hp_unfold_change(&sums, c->item, c->thread, &sum));
        sum->calls = c->self; /* what there is */
    }
    for (size_t i = 0; i < u->n_cells; i++) {
        struct hp_unfold_cell *cell = &u->cells[i];
        HP_TRY(hp_unfold_change(&sums, u->nodes[cell->node].owner, cell->thread, &sum));
        uint64_t weight = cell->self;
        if (sum->calls < sum->more) {
            cell->self = hp_unfold_take(&sum->calls, weight, sum->more);
            sum->more -= weight;
        }
        cell->self_left = cell->self;
        cell->entries_left = cell->entries;
    }
    return HP_OK;
}

static enum hp_err change_functions(struct hp_unfold *u)
{
    struct hp_unfold_change *change;
    for (size_t i = 0; i < u->n_cells; i++) {
        const struct hp_unfold_cell *cell = &u->cells[i];
        const struct hp_unfold_node *node = &u->nodes[cell->node];
        HP_TRY(hp_unfold_change(&u->functions, node->owner, cell->thread, &change));
        hp_add_up(&change->less, cell->self);
        HP_TRY(hp_unfold_change(&u->functions, node->function, cell->thread, &change));
        hp_add_up(&change->more, cell->self);
        hp_add_up(&change->calls, cell->entries);
    }
    return HP_OK;
}

static void apply_change(const struct hp_profile *p, struct hp_pfunction_count *c,
                         const struct hp_unfold_change *change, bool known)
{
    uint64_t most = p->threads[c->thread].instructions;
    c->self -= change->less < c->self ? change->less : c->self;
    hp_add_up(&c->self, change->more);
    hp_add_up(&c->calls, change->calls);
    if (!known)
        return;
    hp_add_up(&c->inclusive, change->inclusive);
    c->inclusive = c->inclusive < most ? c->inclusive : most;
    c->inclusive = c->inclusive > c->self ? c->inclusive : c->self;
}

static enum hp_err apply_functions(struct hp_unfold *u)
{
    struct hp_profile *p = u->p;
    bool known = false; /* what is inclusive */
    for (size_t i = 0, n = p->n_function_counts; i < n; i++)
        known |= p->function_counts[i].inclusive != 0;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        struct hp_pfunction_count *c = &p->function_counts[i];
        uint64_t key = (uint64_t)c->item << 32 | c->thread;
        uint32_t index = hp_map64_get(&u->functions.by_key, key);
        if (index == HP_MAP64_NONE)
            continue;
        apply_change(p, c, &u->functions.changes[index], known);
        u->functions.changes[index].thread = NONE;
    }
    for (size_t i = 0; i < u->functions.n; i++) {
        const struct hp_unfold_change *change = &u->functions.changes[i];
        struct hp_pfunction_count *c;
        if (change->thread == NONE || (!change->more && !change->calls && !change->inclusive))
            continue;
        HP_TRY(hp_profile_add_function_count(p, &c));
        *c = (struct hp_pfunction_count){.item = change->item, .thread = change->thread};
        apply_change(p, c, change, known);
    }
    return HP_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Calls of a function that others are inlined into are divided among them. */
static enum hp_err divide_calls(struct hp_unfold *u, size_t item)
{
    struct hp_pcall_count c = u->p->call_counts[item];
    struct hp_pcall call = u->p->calls[c.item];
    struct hp_unfold_change *change;
    size_t n;
    const struct hp_unfold_site *sites = hp_unfold_sites(u, call.caller, call.callee, &n);
    for (size_t i = n; i-- > 0;) {
        uint32_t pair;
        uint64_t weight, all;
        hp_unfold_weigh(u, sites, i + 1, c.thread, &weight, &all);
        uint64_t count = hp_unfold_take(&c.count, weight, all);
        uint64_t inclusive = hp_unfold_take(&c.inclusive, weight, all);
        HP_TRY(hp_unfold_pair(u, u->nodes[sites[i].node].function, call.callee, &pair));
        HP_TRY(hp_unfold_change(&u->calls, pair, c.thread, &change));
        hp_add_up(&change->calls, count);
        hp_add_up(&change->inclusive, inclusive);
    }
    if (n)
        u->p->call_counts[item].count = u->p->call_counts[item].inclusive = 0;
    return HP_OK;
}

static enum hp_err change_calls(struct hp_unfold *u)
{
    struct hp_unfold_change *change;
    for (uint32_t i = 0; i < u->p->n_calls; i++)
        HP_TRY(hp_map64_put(&u->pairs,
                            (uint64_t)u->p->calls[i].caller << 32 | u->p->calls[i].callee, i));
    for (size_t i = 0; i < u->p->n_call_counts; i++)
        if (u->p->calls[u->p->call_counts[i].item].caller != NONE)
            HP_TRY(divide_calls(u, i));
    for (size_t i = 0; i < u->n_cells; i++) {
        const struct hp_unfold_cell *cell = &u->cells[i];
        const struct hp_unfold_node *node = &u->nodes[cell->node];
        uint32_t pair;
        if (!cell->entries)
            continue;
        HP_TRY(hp_unfold_pair(u, u->nodes[node->parent].function, node->function, &pair));
        HP_TRY(hp_unfold_change(&u->calls, pair, cell->thread, &change));
        hp_add_up(&change->calls, cell->entries);
    }
    return HP_OK;
}

/* Rows of one pair and thread become one when the profile is normal. */
static enum hp_err apply_calls(struct hp_unfold *u)
{
    for (size_t i = 0; i < u->calls.n; i++) {
        const struct hp_unfold_change *change = &u->calls.changes[i];
        struct hp_pcall_count *c;
        if (!change->calls && !change->inclusive)
            continue;
        HP_TRY(hp_profile_add_call_count(u->p, &c));
        *c = (struct hp_pcall_count){.item = change->item,
                                     .thread = change->thread,
                                     .count = change->calls,
                                     .inclusive = change->inclusive};
    }
    return HP_OK;
}

/* Calls that nothing was counted for any more are left out. */
static enum hp_err leave_out_calls(struct hp_profile *p)
{
    bool *counted HP_CLEANUP(hp_free) = NULL;
    uint32_t *map HP_CLEANUP(hp_free) = NULL;
    size_t n_calls = 0, n_counts = 0;
    HP_TRY(hp_new(&counted, p->n_calls + 1, sizeof *counted));
    HP_TRY(hp_new(&map, p->n_calls + 1, sizeof *map));
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall_count *c = &p->call_counts[i];
        if (!c->count && !c->inclusive)
            continue;
        counted[c->item] = true;
        p->call_counts[n_counts++] = *c;
    }
    p->n_call_counts = n_counts;
    for (size_t i = 0; i < p->n_calls; i++) {
        map[i] = (uint32_t)n_calls;
        if (counted[i])
            p->calls[n_calls++] = p->calls[i];
    }
    p->n_calls = n_calls;
    hp_rows_renumber(p, HP_ROW_CALL_COUNT, HP_ROW_CALL, map);
    return HP_OK;
}

enum hp_err hp_profile_unfold_inlined(struct hp_profile *profile)
{
    struct hp_unfold u HP_CLEANUP(unfold_fini) = {0};
    if (profile->n_inlined_ranges == 0)
        return HP_OK;
    HP_TRY(unfold_init(&u, profile));
    HP_TRY(hp_unfold_code(&u));
    HP_TRY(fit_cells(&u));
    HP_TRY(change_functions(&u));
    HP_TRY(change_calls(&u));
    HP_TRY(hp_unfold_contexts(&u));
    HP_TRY(apply_functions(&u));
    HP_TRY(apply_calls(&u));
    HP_TRY(leave_out_calls(profile));
    return hp_profile_reorder(profile);
}

/* --- Comparing -------------------------------------------------------------------------------- */

static const char *base_name(const struct hp_pmodule *module)
{
    const char *slash = strrchr(hp_text(module->path), '/');
    return slash ? slash + 1 : hp_text(module->path);
}

static bool is_same(const struct hp_pmodule *a, const struct hp_pmodule *b)
{
    return strcmp(base_name(a), base_name(b)) == 0;
}

static bool has_file(const struct hp_profile *p, const struct hp_pmodule *module)
{
    for (size_t i = 0; i < p->n_modules; i++)
        if (is_same(&p->modules[i], module))
            return true;
    return false;
}

/* Which files of `p` have source lines in the other profile. */
static void find_known(const struct hp_profile *p, const struct hp_profile *other, bool *lines,
                       bool *known)
{
    for (size_t i = 0; i < other->n_lines; i++) {
        uint32_t module = other->blocks[other->lines[i].block].place.module;
        if (module != NONE)
            lines[module] = true;
    }
    for (size_t i = 0; i < p->n_modules; i++) {
        bool alone = !has_file(other, &p->modules[i]);
        for (size_t k = 0; k < other->n_modules && !known[i]; k++)
            known[i] = lines[k] && (alone ? !has_file(p, &other->modules[k])
                                          : is_same(&p->modules[i], &other->modules[k]));
    }
}

enum hp_err hp_profile_forget_inlined(struct hp_profile *p, const struct hp_profile *other)
{
    bool *lines HP_CLEANUP(hp_free) = calloc(other->n_modules + 1, sizeof *lines);
    bool *known HP_CLEANUP(hp_free) = calloc(p->n_modules + 1, sizeof *known);
    size_t n = 0;
    if (!lines || !known)
        return hp_fail_nomem();
    find_known(p, other, lines, known);
    for (size_t i = 0; i < p->n_inlined_ranges; i++) {
        uint32_t module = p->blocks[p->inlined_ranges[i].block].place.module;
        if (module != NONE && known[module])
            p->inlined_ranges[n++] = p->inlined_ranges[i];
    }
    p->n_inlined_ranges = n;
    return HP_OK;
}
