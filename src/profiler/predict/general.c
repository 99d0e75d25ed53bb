// SPDX-License-Identifier: MIT
#include "hotpath/general.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_CALL 16 /* bytes, not less than any call instruction */
#define SEARCH       4096

/* The contents of a FIFO; number 0 is the empty one. The steps are in `contents`, k for each. */
struct state {
    uint64_t count; /* branches that led here */
    uint32_t n;
    uint32_t last_step, last_next; /* the latest transition: most branches repeat it */
};

struct frame {
    uint64_t call; /* address of the call that made it */
    uint32_t state;
};

struct hp_general {
    uint32_t k;
    enum hp_general_scope scope;
    uint32_t max_states;
    struct hp_general_step *steps; /* distinct */
    size_t n_steps, steps_capacity;
    struct hp_map64 step_of; /* by a hash of the step; if that is taken, the next number */
    struct state *states;
    uint32_t *contents;
    size_t n_states, states_capacity, contents_capacity;
    struct hp_map64 state_of; /* by a hash of the contents; likewise */
    struct hp_map64 next_of;  /* state << 32 | step */
    struct frame *frames;
    size_t depth, frames_capacity;
    /* For queries: states by their steps, last step first, and the sums of counts before each. */
    uint32_t *order;
    uint64_t *sums;
    size_t n_order;
    uint64_t asked_at; /* stats.branches at that time */
    struct hp_general_stats stats;
};

enum hp_err hp_general_new(uint32_t k, enum hp_general_scope scope, uint32_t max_states,
                           struct hp_general **general)
{
    if (k == 0 || k > HP_GENERAL_MAX)
        return hp_fail(HP_ERR_INVALID, "general paths have 1 to %d branches, not %u",
                       HP_GENERAL_MAX, k);
    struct hp_general *g = calloc(1, sizeof *g);
    if (!g)
        return hp_fail_nomem();
    g->k = k;
    g->scope = scope;
    g->max_states = max_states ? max_states : HP_GENERAL_STATES_DEFAULT;
    enum hp_err err = hp_grow(&g->states, &g->states_capacity, 1, sizeof *g->states);
    if (err == HP_OK)
        err = hp_grow(&g->contents, &g->contents_capacity, k, sizeof *g->contents);
    if (err == HP_OK)
        err = hp_grow(&g->frames, &g->frames_capacity, 1, sizeof *g->frames);
    if (err != HP_OK) {
        hp_general_free(g);
        return err;
    }
    g->states[0].last_step = UINT32_MAX;
    g->n_states = 1;
    g->depth = 1;
    *general = g;
    return HP_OK;
}

void hp_general_free(struct hp_general *g)
{
    if (!g)
        return;
    hp_map64_fini(&g->step_of);
    hp_map64_fini(&g->state_of);
    hp_map64_fini(&g->next_of);
    free(g->steps);
    free(g->states);
    free(g->contents);
    free(g->frames);
    free(g->order);
    free(g->sums);
    free(g);
}

/* --- Steps and states ------------------------------------------------------------------------- */

/* The number of a step, or UINT32_MAX; `*key` is its key in the map. */
static uint32_t find_step(const struct hp_general *g, const struct hp_general_step *step,
                          uint64_t *key)
{
    *key = hp_hash64(step->address * 3 + hp_hash64(step->target));
    for (;; ++*key) {
        uint32_t i = hp_map64_get(&g->step_of, *key);
        if (i == HP_MAP64_NONE ||
            (g->steps[i].address == step->address && g->steps[i].target == step->target))
            return i;
    }
}

static enum hp_err step_number(struct hp_general *g, const struct hp_general_step *step,
                               uint32_t *number)
{
    uint64_t key;
    *number = find_step(g, step, &key);
    if (*number != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&g->steps, &g->steps_capacity, g->n_steps + 1, sizeof *g->steps));
    HP_TRY(hp_map64_put(&g->step_of, key, (uint32_t)g->n_steps));
    g->steps[g->n_steps] = *step;
    *number = (uint32_t)g->n_steps++;
    return HP_OK;
}

/* The state with these contents, created if new. */
static enum hp_err state_with(struct hp_general *g, const uint32_t *contents, uint32_t n,
                              uint32_t *state)
{
    uint64_t key = n;
    for (uint32_t i = 0; i < n; i++)
        key = hp_hash64(key * 3 + contents[i]);
    for (;; key++) {
        *state = hp_map64_get(&g->state_of, key);
        if (*state == HP_MAP64_NONE)
            break;
        if (g->states[*state].n == n &&
            memcmp(g->contents + (size_t)*state * g->k, contents, n * sizeof *contents) == 0)
            return HP_OK;
    }
    if (g->n_states >= g->max_states)
        return HP_ERR_NOMEM; /* no text: not an error of the caller */
    HP_TRY(hp_grow(&g->states, &g->states_capacity, g->n_states + 1, sizeof *g->states));
    HP_TRY(hp_grow(&g->contents, &g->contents_capacity, (g->n_states + 1) * g->k,
                   sizeof *g->contents));
    HP_TRY(hp_map64_put(&g->state_of, key, (uint32_t)g->n_states));
    *state = (uint32_t)g->n_states++;
    g->states[*state] = (struct state){.n = n, .last_step = UINT32_MAX};
    memcpy(g->contents + (size_t)*state * g->k, contents, n * sizeof *contents);
    return HP_OK;
}

/* The state after a step: the contents without the oldest step, if full, plus this one. Computed
 * once. */
static enum hp_err next_state(struct hp_general *g, uint32_t from, uint32_t step, uint32_t *to)
{
    uint64_t key = (uint64_t)from << 32 | step;
    *to = hp_map64_get(&g->next_of, key);
    if (*to != HP_MAP64_NONE)
        return HP_OK;
    uint32_t contents[HP_GENERAL_MAX], n = g->states[from].n, drop = n == g->k;
    memcpy(contents, g->contents + (size_t)from * g->k + drop, (n - drop) * sizeof *contents);
    contents[n - drop] = step;
    HP_TRY(state_with(g, contents, n - drop + 1, to));
    return hp_map64_put(&g->next_of, key, *to);
}

/* --- Branches --------------------------------------------------------------------------------- */

static enum hp_err go(struct hp_general *g, const struct hp_general_step *step)
{
    struct frame *frame = &g->frames[g->depth - 1];
    uint32_t from = frame->state, to, number;
    const struct state *state = &g->states[from];
    if (state->last_step != UINT32_MAX && g->steps[state->last_step].address == step->address &&
        g->steps[state->last_step].target == step->target) {
        to = state->last_next;
    } else {
        HP_TRY(step_number(g, step, &number));
        HP_TRY(next_state(g, from, number, &to));
        g->states[from].last_step = number;
        g->states[from].last_next = to;
    }
    frame->state = to;
    g->states[to].count++;
    return HP_OK;
}

static void call(struct hp_general *g, uint64_t address)
{
    if (hp_grow(&g->frames, &g->frames_capacity, g->depth + 1, sizeof *g->frames) == HP_OK)
        g->frames[g->depth++] = (struct frame){.call = address};
    else
        hp_general_reset(g);
}

static void leave(struct hp_general *g, uint64_t target)
{
    size_t k = g->depth, lowest = k > SEARCH ? k - SEARCH : 1;
    while (k > lowest && target - g->frames[k - 1].call - 1 >= LONGEST_CALL)
        k--;
    if (k > lowest)
        g->depth = k - 1;
    else
        hp_general_reset(g);
}

void hp_general_branch(struct hp_general *g, const struct hp_branch *branch)
{
    bool is_call = branch->flow == HP_FLOW_CALL || branch->flow == HP_FLOW_CALL_IND;
    bool frames = g->scope == HP_GENERAL_FUNCTION && branch->taken;
    g->stats.branches++;
    if (frames && is_call) {
        call(g, branch->address);
    } else if (frames && branch->flow == HP_FLOW_RETURN) {
        leave(g, branch->target);
    } else {
        struct hp_general_step step = {branch->address, branch->target};
        g->stats.steps++;
        if (go(g, &step) != HP_OK) {
            g->stats.lost++;
            g->frames[g->depth - 1].state = 0;
        }
    }
    g->stats.states = g->n_states - 1;
}

void hp_general_reset(struct hp_general *g)
{
    g->depth = 1;
    g->frames[0] = (struct frame){0};
}

/* --- Queries ---------------------------------------------------------------------------------- */

/* Compares a state's contents, from its last step back, with `n` steps (last one first); 0: it ends
 * with them. */
static int compare(const struct hp_general *g, uint32_t state, const uint32_t *last_first,
                   uint32_t n)
{
    const uint32_t *contents = g->contents + (size_t)state * g->k;
    uint32_t have = g->states[state].n;
    for (uint32_t i = 0; i < n; i++) {
        if (i == have)
            return -1;
        uint32_t mine = contents[have - 1 - i];
        if (mine != last_first[i])
            return mine < last_first[i] ? -1 : 1;
    }
    return 0;
}

static int by_last_step(const void *a, const void *b, void *context)
{
    const struct hp_general *g = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b, n = g->states[y].n;
    uint32_t last_first[HP_GENERAL_MAX];
    const uint32_t *contents = g->contents + (size_t)y * g->k;
    for (uint32_t i = 0; i < n; i++)
        last_first[i] = contents[n - 1 - i];
    int order = compare(g, x, last_first, n);
    return order ? order : (g->states[x].n > n) - (g->states[x].n < n);
}

static enum hp_err prepare(struct hp_general *g)
{
    if (g->order && g->asked_at == g->stats.branches)
        return HP_OK;
    free(g->order);
    free(g->sums);
    g->n_order = g->n_states - 1;
    g->order = malloc((g->n_order + 1) * sizeof *g->order);
    g->sums = malloc((g->n_order + 1) * sizeof *g->sums);
    if (!g->order || !g->sums)
        return hp_fail_nomem();
    for (size_t i = 0; i < g->n_order; i++)
        g->order[i] = (uint32_t)i + 1;
    qsort_r(g->order, g->n_order, sizeof *g->order, by_last_step, g);
    g->sums[0] = 0;
    for (size_t i = 0; i < g->n_order; i++)
        g->sums[i + 1] = g->sums[i] + g->states[g->order[i]].count;
    g->asked_at = g->stats.branches;
    return HP_OK;
}

/* The first state in order that is not below the steps; with `above`, the first that is above. */
static size_t bound(const struct hp_general *g, const uint32_t *last_first, uint32_t n, bool above)
{
    int most = above ? 0 : -1;
    return HP_BISECT(i, 0, g->n_order, compare(g, g->order[i], last_first, n) <= most);
}

enum hp_err hp_general_count(struct hp_general *g, const struct hp_general_step *steps, uint32_t n,
                             uint64_t *count)
{
    uint32_t last_first[HP_GENERAL_MAX];
    uint64_t key;
    *count = 0;
    if (n == 0 || n > g->k)
        return hp_fail(HP_ERR_INVALID, "general paths have 1 to %u branches here, not %u", g->k, n);
    HP_TRY(prepare(g));
    for (uint32_t i = 0; i < n; i++) {
        last_first[i] = find_step(g, &steps[n - 1 - i], &key);
        if (last_first[i] == HP_MAP64_NONE)
            return HP_OK;
    }
    *count = g->sums[bound(g, last_first, n, true)] - g->sums[bound(g, last_first, n, false)];
    return HP_OK;
}

uint32_t hp_general_path(const struct hp_general *g, uint32_t i, struct hp_general_step *steps,
                         uint64_t *count)
{
    const struct state *state = &g->states[i + 1];
    const uint32_t *contents = g->contents + ((size_t)i + 1) * g->k;
    for (uint32_t s = 0; s < state->n; s++)
        steps[s] = g->steps[contents[s]];
    *count = state->count;
    return state->n;
}

const struct hp_general_stats *hp_general_stats(const struct hp_general *g)
{
    return &g->stats;
}
