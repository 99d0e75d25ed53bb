// SPDX-License-Identifier: MIT
#include "profile/fold.h"

#include "base/base.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/map64.h"
#include "base/sums.h"
#include "profile/profile_impl.h"

#define NONE HP_PROFILE_NONE

/* What changes in the counter of a function in a thread. */
struct change {
    uint32_t function, thread;
    uint64_t entries_before, entries_after; /* by calls that go, and by those that come */
    uint64_t self, inclusive;               /* of its stubs */
    uint64_t through, found; /* inclusive calls of the resolver for it, and of it by the resolver */
    uint64_t resolving; /* of a resolver: all that it does; of a target: what was done for it */
    bool counted;       /* the profile has a counter */
};

struct fold {
    struct hp_profile *p;
    bool *is_stub, *is_resolver; /* by function */
    uint32_t *target;            /* of a stub, which is none itself; of others NONE */
    uint32_t *parents;           /* of contexts: the new ones */
    struct hp_map64 changed;     /* function << 32 | thread: index */
    struct change *changes;
    size_t n_changes, cap_changes;
    /* By stub: its calls of what it leads to. They are next[] to each other, from first[]. */
    uint32_t *first, *next;
    uint64_t *call_sums; /* by call: of all threads */
};

static void fold_fini(struct fold *f)
{
    free(f->is_stub);
    free(f->is_resolver);
    free(f->target);
    free(f->parents);
    free(f->changes);
    free(f->first);
    free(f->next);
    free(f->call_sums);
    hp_map64_fini(&f->changed);
}

static enum hp_err fold_init(struct fold *f, struct hp_profile *p)
{
    f->p = p;
    HP_TRY(hp_new(&f->is_stub, p->n_functions + 1, sizeof *f->is_stub));
    HP_TRY(hp_new(&f->is_resolver, p->n_functions + 1, sizeof *f->is_resolver));
    HP_TRY(hp_new(&f->target, p->n_functions + 1, sizeof *f->target));
    HP_TRY(hp_new(&f->first, p->n_functions + 1, sizeof *f->first));
    HP_TRY(hp_new(&f->next, p->n_calls + 1, sizeof *f->next));
    HP_TRY(hp_new(&f->call_sums, p->n_calls + 1, sizeof *f->call_sums));
    HP_TRY(hp_new(&f->parents, p->n_contexts + 1, sizeof *f->parents));
    for (size_t i = 0; i < p->n_functions; i++)
        f->target[i] = f->first[i] = NONE;
    return HP_OK;
}

/* --- Which functions are what ----------------------------------------------------------------- */

static bool is_stub_name(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, "@plt") == 0;
}

static bool is_named(const struct hp_pfunction *function)
{
    return *hp_text(function->name) || *hp_text(function->linkage);
}

/* The resolver by its name; without symbols, code of the dynamic linker that a stub jumps to. */
static bool is_resolver(const struct fold *f, uint32_t function)
{
    static const char resolver[] = "_dl_runtime_resolve";
    const struct hp_pfunction *it = &f->p->functions[function];
    if (is_named(it))
        return strncmp(hp_text(it->linkage), resolver, sizeof resolver - 1) == 0 ||
               strncmp(hp_text(it->name), resolver, sizeof resolver - 1) == 0;
    if (it->place.module == NONE)
        return false;
    const char *path = hp_text(f->p->modules[it->place.module].path), *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "ld-", 3) == 0;
}

/* Whether what a resolver calls is a part of it, not what it has found. */
static bool is_internal(const struct fold *f, uint32_t resolver, uint32_t callee)
{
    if (callee == NONE)
        return true;
    const struct hp_pfunction *it = &f->p->functions[callee];
    const char *name = *hp_text(it->linkage) ? it->linkage : hp_text(it->name);
    return it->place.module == f->p->functions[resolver].place.module &&
           (!*name || strncmp(name, "_dl_fixup", 9) == 0 || strncmp(name, "_dl_profile_", 12) == 0);
}

/* Whether a call leads from a stub to what it stands for. */
static bool leads_on(const struct fold *f, uint32_t from, uint32_t to)
{
    return from != NONE && to != NONE && f->is_stub[from] && from != to && !f->is_resolver[to];
}

static void name_functions(struct fold *f)
{
    const struct hp_profile *p = f->p;
    for (size_t i = 0; i < p->n_functions; i++)
        f->is_stub[i] = is_stub_name(hp_text(p->functions[i].linkage)) ||
                        is_stub_name(hp_text(p->functions[i].name));
    for (size_t i = 0; i < p->n_calls; i++) {
        const struct hp_pcall *call = &p->calls[i];
        if (call->caller != NONE && call->callee != NONE && f->is_stub[call->caller] &&
            !f->is_stub[call->callee])
            f->is_resolver[call->callee] |= is_resolver(f, call->callee);
    }
}

/* --- Targets ---------------------------------------------------------------------------------- */

/* What stubs led to through the resolver only, the contexts know; `best`: by stub. */
static void find_resolved(struct fold *f, const uint64_t *entered, uint64_t *best)
{
    const struct hp_pcontext *contexts = f->p->contexts;
    for (size_t i = 0; i < f->p->n_contexts; i++) {
        uint32_t parent = contexts[i].parent, function = contexts[i].function;
        uint32_t from = parent == NONE ? NONE : contexts[parent].function;
        if (from == NONE || function == NONE)
            continue;
        if (f->is_resolver[from] && contexts[parent].parent != NONE &&
            !is_internal(f, from, function))
            from = contexts[contexts[parent].parent].function;
        if (!leads_on(f, from, function) || f->first[from] != NONE || entered[i] <= best[from])
            continue;
        best[from] = entered[i];
        f->target[from] = function;
    }
}

/* Follows stubs that lead to stubs; in a circle they are none. */
static void follow(struct fold *f)
{
    for (uint32_t i = 0; i < f->p->n_functions; i++) {
        uint32_t at = f->target[i];
        for (int steps = 0; at != NONE && f->is_stub[at]; steps++)
            at = steps < 8 ? f->target[at] : NONE;
        f->target[i] = at;
    }
}

static enum hp_err find_targets(struct fold *f)
{
    const struct hp_profile *p = f->p;
    uint64_t *best HP_CLEANUP(hp_free) = calloc(p->n_functions + 1, sizeof *best);
    uint64_t *entered HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *entered);
    uint32_t *ends HP_CLEANUP(hp_free) = calloc(p->n_functions + 1, sizeof *ends);
    if (!best || !entered || !ends)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_call_counts; i++)
        hp_add_up(&f->call_sums[p->call_counts[i].item], p->call_counts[i].count);
    for (size_t i = 0; i < p->n_context_counts; i++)
        hp_add_up(&entered[p->context_counts[i].item], p->context_counts[i].calls);
    for (uint32_t i = 0; i < p->n_calls; i++) {
        const struct hp_pcall *call = &p->calls[i];
        if (!leads_on(f, call->caller, call->callee) || !f->call_sums[i])
            continue;
        f->next[i] = f->first[call->caller];
        f->first[call->caller] = i;
        if (f->call_sums[i] > best[call->caller]) {
            best[call->caller] = f->call_sums[i];
            f->target[call->caller] = call->callee;
        }
    }
    find_resolved(f, entered, best);
    follow(f);
    for (size_t i = 0; i < p->n_functions; i++)
        f->is_stub[i] &= f->target[i] != NONE;
    return HP_OK;
}

/* What a function is shown as. */
static uint32_t shown(const struct fold *f, uint32_t function)
{
    return function != NONE && f->is_stub[function] ? f->target[function] : function;
}

/* --- Counters by function and thread ---------------------------------------------------------- */

static enum hp_err find_change(struct fold *f, uint32_t function, uint32_t thread,
                               struct change **change)
{
    uint64_t key = (uint64_t)function << 32 | thread;
    uint32_t index = hp_map64_get(&f->changed, key);
    if (index == HP_MAP64_NONE) {
        index = (uint32_t)f->n_changes;
        HP_TRY(hp_grow(&f->changes, &f->cap_changes, f->n_changes + 1, sizeof *f->changes));
        HP_TRY(hp_map64_put(&f->changed, key, index));
        f->changes[f->n_changes++] = (struct change){.function = function, .thread = thread};
    }
    *change = &f->changes[index];
    return HP_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static enum hp_err add_call(struct fold *f, uint32_t caller, uint32_t callee, uint32_t thread,
                            uint64_t count, uint64_t inclusive)
{
    struct hp_pcall *call;
    struct hp_pcall_count *counter;
    struct change *change;
    if (!count && !inclusive)
        return HP_OK;
    HP_TRY(hp_profile_add_call(f->p, &call));
    *call = (struct hp_pcall){.caller = caller, .callee = callee};
    HP_TRY(hp_profile_add_call_count(f->p, &counter));
    *counter = (struct hp_pcall_count){.item = (uint32_t)f->p->n_calls - 1,
                                       .thread = thread,
                                       .count = count,
                                       .inclusive = inclusive};
    if (callee == NONE)
        return HP_OK;
    HP_TRY(find_change(f, callee, thread, &change));
    hp_add_up(&change->entries_after, count);
    return HP_OK;
}

/* A call of a stub: divided among what the stub leads to, the rest is of its target. */
static enum hp_err divide_call(struct fold *f, uint32_t caller, uint32_t stub,
                               const struct hp_pcall_count *counter)
{
    uint64_t all = 0, count = counter->count, inclusive = counter->inclusive;
    for (uint32_t i = f->first[stub]; i != NONE; i = f->next[i])
        hp_add_up(&all, f->call_sums[i]);
    for (uint32_t i = f->first[stub]; i != NONE; i = f->next[i]) {
        uint32_t callee = shown(f, f->p->calls[i].callee);
        if (callee == f->target[stub])
            continue;
        uint64_t part = hp_part_of(counter->count, f->call_sums[i], all);
        uint64_t cost = hp_part_of(counter->inclusive, f->call_sums[i], all);
        HP_TRY(add_call(f, caller, callee, counter->thread, part, cost));
        count -= part < count ? part : count;
        inclusive -= cost < inclusive ? cost : inclusive;
    }
    return add_call(f, caller, f->target[stub], counter->thread, count, inclusive);
}

/* What resolvers did, apart from what they found and went on to; and for which targets. */
static enum hp_err sum_resolving(struct fold *f)
{
    struct change *change;
    const struct hp_profile *p = f->p;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &p->function_counts[i];
        if (!f->is_resolver[c->item])
            continue;
        HP_TRY(find_change(f, c->item, c->thread, &change));
        hp_add_up(&change->resolving, c->self);
    }
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall_count *c = &p->call_counts[i];
        uint32_t caller = p->calls[c->item].caller, callee = p->calls[c->item].callee;
        if (caller == NONE || callee == NONE)
            continue;
        if (f->is_resolver[caller] && is_internal(f, caller, callee)) {
            HP_TRY(find_change(f, caller, c->thread, &change));
            hp_add_up(&change->resolving, c->inclusive);
        } else if (f->is_resolver[caller]) {
            HP_TRY(find_change(f, shown(f, callee), c->thread, &change));
            hp_add_up(&change->found, c->inclusive);
        } else if (f->is_stub[caller] && f->is_resolver[callee]) {
            HP_TRY(find_change(f, f->target[caller], c->thread, &change));
            hp_add_up(&change->through, c->inclusive);
        }
    }
    return HP_OK;
}

/* The target calls the resolver. */
static enum hp_err turn_call(struct fold *f, uint32_t target, uint32_t resolver,
                             const struct hp_pcall_count *c)
{
    struct change *change;
    HP_TRY(find_change(f, target, c->thread, &change));
    uint64_t work = change->through > change->found ? change->through - change->found : 0;
    uint64_t cost = change->through ? hp_part_of(work, c->inclusive, change->through) : 0;
    hp_add_up(&change->resolving, cost);
    return add_call(f, target, resolver, c->thread, c->count, cost);
}

/* Calls by and of stubs are replaced. The rows of those that go say nothing then, and are left out
 * with the rows of the functions. */
static enum hp_err fold_calls(struct fold *f)
{
    struct change *change;
    for (size_t i = 0, n = f->p->n_call_counts; i < n; i++) {
        struct hp_pcall_count c = f->p->call_counts[i];
        struct hp_pcall call = f->p->calls[c.item];
        bool by_stub = call.caller != NONE && f->is_stub[call.caller];
        bool of_stub = call.callee != NONE && f->is_stub[call.callee];
        bool of_resolver = call.callee != NONE && f->is_resolver[call.callee];
        bool found = call.caller != NONE && f->is_resolver[call.caller] &&
                     !is_internal(f, call.caller, call.callee);
        if (!by_stub && !of_stub && !found)
            continue;
        f->p->call_counts[i].count = f->p->call_counts[i].inclusive = 0;
        if (call.callee != NONE && !of_stub) {
            HP_TRY(find_change(f, call.callee, c.thread, &change));
            hp_add_up(&change->entries_before, c.count);
        }
        if (by_stub && of_resolver)
            HP_TRY(turn_call(f, f->target[call.caller], call.callee, &c));
        else if (of_stub && !by_stub && !found)
            HP_TRY(divide_call(f, call.caller, call.callee, &c));
    }
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

static uint64_t between(uint64_t least, uint64_t value, uint64_t most)
{
    value = value < most ? value : most;
    return value > least ? value : least;
}

static void change_count(const struct fold *f, struct hp_pfunction_count *c,
                         const struct change *change)
{
    uint64_t inclusive = c->inclusive, before = change->entries_before;
    bool known = c->inclusive || change->inclusive; /* it is not where nothing was in order */
    bool through_stubs = c->calls <= before;
    hp_add_up(&c->self, change->self);
    c->calls -= before < c->calls ? before : c->calls;
    hp_add_up(&c->calls, change->entries_after);
    if (f->is_resolver[c->item]) {
        c->inclusive =
            between(c->self < inclusive ? c->self : inclusive, change->resolving, inclusive);
        return;
    }
    if (!change->self && !change->inclusive && !change->resolving)
        return;
    hp_add_up(&inclusive, change->self);
    hp_add_up(&inclusive, change->resolving);
    if (through_stubs)
        inclusive = between(c->inclusive, inclusive, change->inclusive);
    uint64_t most = f->p->threads[c->thread].instructions;
    uint64_t least = c->inclusive > c->self ? c->inclusive : c->self;
    c->inclusive = known ? between(least, inclusive, most) : 0;
}

static enum hp_err fold_function_counts(struct fold *f)
{
    struct hp_profile *p = f->p;
    struct change *change;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        struct hp_pfunction_count *c = &p->function_counts[i];
        if (!f->is_stub[c->item])
            continue;
        HP_TRY(find_change(f, f->target[c->item], c->thread, &change));
        hp_add_up(&change->self, c->self);
        hp_add_up(&change->inclusive, c->inclusive);
        c->self = c->inclusive = c->calls = 0;
    }
    for (size_t i = 0; i < p->n_function_counts; i++) {
        struct hp_pfunction_count *c = &p->function_counts[i];
        uint64_t key = (uint64_t)c->item << 32 | c->thread;
        uint32_t index = hp_map64_get(&f->changed, key);
        if (index == HP_MAP64_NONE)
            continue;
        f->changes[index].counted = true;
        change_count(f, c, &f->changes[index]);
    }
    for (size_t i = 0; i < f->n_changes; i++) {
        struct hp_pfunction_count *c;
        if (f->changes[i].counted)
            continue;
        HP_TRY(hp_profile_add_function_count(p, &c));
        *c = (struct hp_pfunction_count){.item = f->changes[i].function,
                                         .thread = f->changes[i].thread};
        change_count(f, c, &f->changes[i]);
    }
    return HP_OK;
}

/* --- Contexts --------------------------------------------------------------------------------- */

/* What the stub of each context led to there: what was entered most often below it. Children come
 * before their parents. */
static enum hp_err name_contexts(const struct fold *f, uint32_t *functions, bool *led_on)
{
    const struct hp_profile *p = f->p;
    uint64_t *entered HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *entered);
    uint64_t *best HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *best);
    if (!entered || !best)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_context_counts; i++)
        hp_add_up(&entered[p->context_counts[i].item], p->context_counts[i].calls);
    for (size_t i = 0; i < p->n_contexts; i++)
        functions[i] = shown(f, p->contexts[i].function);
    for (size_t i = p->n_contexts; i-- > 0;) {
        uint32_t up = p->contexts[i].parent, function = p->contexts[i].function;
        if (up != NONE && p->contexts[up].function != NONE && function != NONE &&
            f->is_resolver[p->contexts[up].function] &&
            !is_internal(f, p->contexts[up].function, function))
            up = p->contexts[up].parent;
        if (up == NONE || !leads_on(f, p->contexts[up].function, function) ||
            entered[i] <= best[up])
            continue;
        best[up] = entered[i];
        functions[up] = functions[i];
        led_on[up] = true;
    }
    return HP_OK;
}

/* The context that one is called from when stubs are gone. Parents come first. */
static uint32_t new_parent(const struct fold *f, uint32_t context)
{
    const struct hp_pcontext *contexts = f->p->contexts;
    uint32_t parent = contexts[context].parent, function = contexts[context].function;
    uint32_t from = parent == NONE ? NONE : contexts[parent].function;
    if (from == NONE)
        return parent;
    if (f->is_stub[from])
        return function != NONE && f->is_resolver[function] ? parent : f->parents[parent];
    uint32_t above = contexts[parent].parent;
    uint32_t stub = above == NONE ? NONE : contexts[above].function;
    if (f->is_resolver[from] && stub != NONE && f->is_stub[stub] && !is_internal(f, from, function))
        return f->parents[above];
    return parent;
}

static enum hp_err fold_contexts(struct fold *f)
{
    struct hp_profile *p = f->p;
    uint32_t *functions HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *functions);
    bool *led_on HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *led_on);
    if (!functions || !led_on)
        return hp_fail_nomem();
    HP_TRY(name_contexts(f, functions, led_on));
    for (uint32_t i = 0; i < p->n_contexts; i++)
        f->parents[i] = new_parent(f, i);
    for (size_t i = 0; i < p->n_context_counts; i++)
        if (led_on[p->context_counts[i].item]) /* the callee was entered as often */
            p->context_counts[i].calls = 0;
    for (size_t i = 0; i < p->n_contexts; i++)
        p->contexts[i] = (struct hp_pcontext){f->parents[i], functions[i]};
    return HP_OK;
}

/* --- What is left ----------------------------------------------------------------------------- */

/* The head of the table, which enters the resolver, has no name: it is the resolver's. */
static enum hp_err find_heads(struct fold *f)
{
    struct hp_profile *p = f->p;
    struct hp_map64 resolvers HP_CLEANUP(hp_map64_fini) = {0};
    struct hp_map64 branches HP_CLEANUP(hp_map64_fini) = {0};
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (f->is_resolver[i])
            HP_TRY(hp_map64_put(&resolvers, p->functions[i].place.offset, i));
    for (size_t i = 0; resolvers.used && i < p->n_edges; i++) {
        const struct hp_pedge *edge = &p->edges[i];
        uint32_t resolver = hp_map64_get(&resolvers, edge->to.offset);
        if (resolver != HP_MAP64_NONE && p->functions[resolver].place.module == edge->to.module)
            HP_TRY(hp_map64_put(&branches, edge->from.offset, resolver));
    }
    for (size_t i = 0; branches.used && i < p->n_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        uint32_t resolver = hp_map64_get(&branches, block->place.offset + block->branch);
        if (resolver == HP_MAP64_NONE || block->function == NONE ||
            is_named(&p->functions[block->function]) || f->is_resolver[block->function] ||
            block->flow != HP_FLOW_JUMP_IND)
            continue;
        f->is_stub[block->function] = true;
        f->target[block->function] = resolver;
    }
    return HP_OK;
}

/* Everything refers to the targets instead of the stubs. These stay without a counter: they say
 * what is at their place. Calls without a counter are left out. */
static enum hp_err leave_out(struct fold *f)
{
    struct hp_profile *p = f->p;
    uint32_t *map HP_CLEANUP(hp_free) = calloc(p->n_functions + 1, sizeof *map);
    bool *counted HP_CLEANUP(hp_free) = calloc(p->n_calls + 1, sizeof *counted);
    uint32_t *calls HP_CLEANUP(hp_free) = calloc(p->n_calls + 1, sizeof *calls);
    if (!map || !counted || !calls)
        return hp_fail_nomem();
    size_t n_calls = 0, n_counts = 0;
    for (uint32_t i = 0; i < p->n_functions; i++)
        map[i] = shown(f, i);
    for (size_t i = 0; i < p->n_call_counts; i++) {
        const struct hp_pcall_count *c = &p->call_counts[i];
        counted[c->item] |= c->count || c->inclusive;
        if (c->count || c->inclusive)
            p->call_counts[n_counts++] = *c;
    }
    p->n_call_counts = n_counts;
    for (size_t i = 0; i < p->n_calls; i++) {
        calls[i] = (uint32_t)n_calls;
        if (counted[i])
            p->calls[n_calls++] = p->calls[i];
    }
    p->n_calls = n_calls;
    hp_rows_renumber(p, HP_ROW_CALL_COUNT, HP_ROW_CALL, calls);
    for (enum hp_row_kind kind = HP_ROW_FUNCTION; ++kind < HP_ROW_KINDS;)
        hp_rows_renumber(p, kind, HP_ROW_FUNCTION, map);
    return HP_OK;
}

enum hp_err hp_profile_fold_stubs(struct hp_profile *profile)
{
    struct fold f HP_CLEANUP(fold_fini) = {0};
    HP_TRY(fold_init(&f, profile));
    name_functions(&f);
    HP_TRY(find_targets(&f));
    bool any = false;
    for (size_t i = 0; i < profile->n_functions; i++)
        any |= f.is_stub[i];
    if (!any)
        return HP_OK;
    HP_TRY(sum_resolving(&f));
    HP_TRY(fold_calls(&f));
    HP_TRY(fold_contexts(&f));
    HP_TRY(find_heads(&f));
    HP_TRY(fold_function_counts(&f));
    HP_TRY(leave_out(&f));
    return hp_profile_reorder(profile);
}
