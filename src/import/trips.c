// SPDX-License-Identifier: MIT
#include "import/trips.h"

#include "base/base.h"

enum hp_err hp_import_trips_init(struct hp_import_trips *t, const struct hp_code *code,
                                 struct hp_functions *functions, struct hp_profiler *exact)
{
    *t = (struct hp_import_trips){.code = code, .functions = functions, .exact = exact};
    HP_TRY(hp_exact_loops(exact, &t->loops, &t->n_loops));
    t->n_blocks = hp_code_n_blocks(code);
    HP_TRY(hp_new(&t->inner, t->n_blocks, sizeof *t->inner));
    HP_TRY(hp_new(&t->heads, t->n_blocks, sizeof *t->heads));
    memset(t->inner, 0xff, t->n_blocks * sizeof *t->inner);
    memset(t->heads, 0xff, t->n_blocks * sizeof *t->heads);
    for (uint32_t i = 0; i < t->n_loops; i++) { /* parents first */
        for (size_t k = 0; k < t->loops[i].n_nodes; k++)
            t->inner[t->loops[i].nodes[k]] = i;
        if (!(t->loops[i].flags & HP_LOOP_IRREDUCIBLE))
            t->heads[t->loops[i].header] = i;
    }
    return HP_OK;
}

void hp_import_trips_fini(struct hp_import_trips *t)
{
    free(t->inner);
    free(t->heads);
    free(t->executions);
    free(t->activations);
    hp_tally64_fini(&t->seen);
    hp_shown_fini(&t->iterations);
}

static uint32_t innermost(const struct hp_import_trips *t, uint32_t node)
{
    return node < t->n_blocks ? t->inner[node] : HP_NO_ID;
}

static bool is_in(const struct hp_import_trips *t, uint32_t loop, uint32_t node)
{
    uint32_t in = innermost(t, node);
    while (in != HP_NO_ID && in != loop)
        in = t->loops[in].parent;
    return in == loop;
}

/* --- Executions ------------------------------------------------------------------------------- */

/* The newest execution is over, or what comes is not seen. */
static enum hp_err close_one(struct hp_import_trips *t, bool ended)
{
    const struct hp_import_execution *e = &t->executions[--t->n_executions];
    uint64_t *n = hp_tally64_add(&t->seen, hp_trips_key(e->loop, e->begun && ended, e->n));
    if (!n)
        return hp_fail_nomem();
    ++*n;
    return HP_OK;
}

static enum hp_err close_from(struct hp_import_trips *t, size_t first, bool ended)
{
    while (t->n_executions > first)
        HP_TRY(close_one(t, ended));
    return HP_OK;
}

static enum hp_err open_one(struct hp_import_trips *t, uint32_t loop, bool begun)
{
    HP_TRY(hp_grow(&t->executions, &t->cap_executions, t->n_executions + 1, sizeof *t->executions));
    t->executions[t->n_executions++] = (struct hp_import_execution){loop, 1, begun};
    return HP_OK;
}

/* Loops that an activation is in when it is first seen: outer ones first. */
static enum hp_err open_around(struct hp_import_trips *t, uint32_t loop)
{
    if (loop == HP_NO_ID)
        return HP_OK;
    HP_TRY(open_around(t, t->loops[loop].parent));
    return t->loops[loop].flags & HP_LOOP_IRREDUCIBLE ? HP_OK : open_one(t, loop, false);
}

/* The running activation comes to a node. */
static enum hp_err arrive(struct hp_import_trips *t, uint32_t node)
{
    struct hp_import_activation *top = &t->activations[t->n_activations - 1];
    uint32_t from = top->at, head = node < t->n_blocks ? t->heads[node] : HP_NO_ID;
    bool begins = from == HP_NO_ID;
    top->at = node;
    if (head != HP_NO_ID)
        HP_TRY(hp_shown_add(&t->iterations, head, t->sample, 1));
    if (begins && !top->known)
        return open_around(t, innermost(t, node));
    while (t->n_executions > top->executions &&
           !is_in(t, t->executions[t->n_executions - 1].loop, node))
        HP_TRY(close_one(t, true));
    if (head == HP_NO_ID)
        return HP_OK;
    struct hp_import_execution *e =
        t->n_executions > top->executions ? &t->executions[t->n_executions - 1] : NULL;
    if (e && e->loop == head && is_in(t, head, from)) {
        e->n++;
        return HP_OK;
    }
    return open_one(t, head, begins || !is_in(t, head, from));
}

/* A block runs, or with `first_only` is only come to. */
static enum hp_err run(struct hp_import_trips *t, uint32_t block, bool first_only)
{
    HP_TRY(arrive(t, block));
    for (uint32_t n = hp_exact_loops_next(t->exact, block); n != HP_NO_ID && !first_only;
         n = hp_exact_loops_next(t->exact, n))
        HP_TRY(arrive(t, n));
    return HP_OK;
}

/* --- Activations ------------------------------------------------------------------------------ */

static enum hp_err push(struct hp_import_trips *t, uint64_t return_to, bool known)
{
    HP_TRY(hp_grow(&t->activations, &t->cap_activations, t->n_activations + 1,
                   sizeof *t->activations));
    t->activations[t->n_activations++] = (struct hp_import_activation){
        .return_to = return_to, .at = HP_NO_ID, .known = known, .executions = t->n_executions};
    return HP_OK;
}

/* Of no activation it is known how it goes on. */
static enum hp_err begin_anew(struct hp_import_trips *t)
{
    HP_TRY(close_from(t, 0, false));
    t->n_activations = 0;
    return push(t, 0, false);
}

/* Another activation in the place of the running one. */
static enum hp_err replace(struct hp_import_trips *t, bool known)
{
    struct hp_import_activation *top = &t->activations[t->n_activations - 1];
    HP_TRY(close_from(t, top->executions, false));
    top->at = HP_NO_ID;
    top->known = known;
    return HP_OK;
}

static enum hp_err do_return(struct hp_import_trips *t, uint64_t target)
{
    struct hp_import_activation top = t->activations[t->n_activations - 1];
    if (top.return_to && top.return_to != target)
        return begin_anew(t);
    HP_TRY(close_from(t, top.executions, true));
    return --t->n_activations ? HP_OK : push(t, 0, false);
}

static enum hp_err follow(struct hp_import_trips *t, uint32_t from, uint32_t to, bool taken)
{
    const struct hp_block *b = hp_code_block(t->code, from), *next = hp_code_block(t->code, to);
    bool falls = next->start == b->end;
    if ((b->flow == HP_FLOW_CALL || b->flow == HP_FLOW_CALL_IND) && taken && !falls)
        return push(t, b->end, true);
    if (b->flow == HP_FLOW_RETURN && taken && !(falls && b->flags & HP_BLOCK_CONDITIONAL))
        return do_return(t, next->start);
    if (hp_functions_settle(t->functions, from) == hp_functions_settle(t->functions, to))
        return HP_OK;
    if (hp_functions_is_entry(t->functions, to)) /* a tail call */
        return replace(t, true);
    return b->flow == HP_FLOW_JUMP_IND ? begin_anew(t) : replace(t, false);
}

static uint32_t last_of(const struct hp_import_trips *t, uint32_t block)
{
    uint32_t next;
    while ((next = hp_exact_loops_next(t->exact, block)) != HP_NO_ID)
        block = next;
    return block;
}

enum hp_err hp_import_trips_add(struct hp_import_trips *t, const struct hp_import_walk *walk,
                                uint32_t sample)
{
    t->sample = sample;
    if (!walk->n)
        return HP_OK;
    t->n_executions = t->n_activations = 0;
    HP_TRY(push(t, 0, false));
    HP_TRY(arrive(t, last_of(t, walk->blocks[0]))); /* where that block began is not known */
    for (size_t i = 0; i < walk->n; i++) {
        HP_TRY(follow(t, walk->blocks[i], walk->blocks[i + 1], walk->taken[i]));
        HP_TRY(run(t, walk->blocks[i + 1], i + 1 == walk->n));
    }
    return close_from(t, 0, false);
}
