// SPDX-License-Identifier: MIT
#include "lab/flow.h"

#include "base/grow.h"

#include <stdlib.h>

/* --- Watching --------------------------------------------------------------------------------- */

struct hp_lab_flow_thread {
    struct hp_lab_flow *flow;
    struct hp_general *general;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct hp_lab_flow *w = (struct hp_lab_flow *)profiler;
    (void)thread;
    HP_TRY(hp_grow(&w->threads, &w->cap_threads, w->n_threads + 1, sizeof *w->threads));
    struct hp_lab_flow_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    w->threads[w->n_threads++] = t;
    t->flow = w;
    *state = t;
    return w->k ? hp_general_new(w->k, HP_GENERAL_FUNCTION, 0, &t->general) : HP_OK;
}

static enum hp_err find_edge(struct hp_lab_flow *w, uint32_t from, uint32_t to, uint32_t *edge)
{
    uint64_t key = (uint64_t)from << 32 | to;
    *edge = hp_map64_get(&w->by_ends, key);
    if (*edge != HP_MAP64_NONE)
        return HP_OK;
    *edge = (uint32_t)w->n_edges;
    HP_TRY(hp_grow(&w->edges, &w->cap_edges, w->n_edges + 1, sizeof *w->edges));
    HP_TRY(hp_map64_put(&w->by_ends, key, *edge));
    w->edges[w->n_edges++] = (struct hp_edge_count){.from = from, .to = to};
    return HP_OK;
}

static enum hp_err count_edge(struct hp_lab_flow *w, uint32_t from, uint32_t to)
{
    HP_TRY(hp_grow(&w->recent, &w->cap_recent, (size_t)from + 1, sizeof *w->recent));
    uint32_t edge = w->recent[from];
    if (edge >= w->n_edges || w->edges[edge].from != from || w->edges[edge].to != to)
        HP_TRY(find_edge(w, from, to, &edge));
    w->recent[from] = edge;
    w->edges[edge].count++;
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct hp_lab_flow_thread *t = state;
    struct hp_branch branch;
    for (size_t i = 0; i < batch->n && t->flow->err == HP_OK; i++) {
        t->flow->err = count_edge(t->flow, batch->blocks[i], batch->blocks[i + 1]);
        if (t->general && hp_batch_branch(batch, i, &branch))
            hp_general_branch(t->general, &branch);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct hp_lab_flow_thread *t = state;
    bool elsewhere = event->kind == HP_EVENT_SIGNAL || event->kind == HP_EVENT_SIGRETURN ||
                     event->kind == HP_EVENT_LOST || event->kind == HP_EVENT_DISCONTINUITY;
    if (elsewhere && t->general)
        hp_general_reset(t->general);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct hp_lab_flow *)profiler)->err;
}

static void free_flow(struct hp_profiler *profiler)
{
    struct hp_lab_flow *w = (struct hp_lab_flow *)profiler;
    for (size_t i = 0; i < w->n_threads; i++) {
        hp_general_free(w->threads[i]->general);
        free(w->threads[i]);
    }
    free(w->threads);
    free(w->edges);
    free(w->recent);
    hp_map64_fini(&w->by_ends);
    free(w);
}

static const struct hp_profiler_ops flow_ops = {
    .name = "flow",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_flow,
};

enum hp_err hp_lab_flow_new(uint32_t k, struct hp_lab_flow **flow)
{
    *flow = calloc(1, sizeof **flow);
    if (!*flow)
        return hp_fail_nomem();
    (*flow)->profiler.ops = &flow_ops;
    (*flow)->k = k;
    return HP_OK;
}

struct hp_general_stats hp_lab_flow_general(const struct hp_lab_flow *flow)
{
    struct hp_general_stats sum = {0};
    for (size_t i = 0; i < flow->n_threads && flow->k; i++) {
        const struct hp_general_stats *stats = hp_general_stats(flow->threads[i]->general);
        sum.branches += stats->branches;
        sum.steps += stats->steps;
        sum.states += stats->states;
        sum.lost += stats->lost;
    }
    return sum;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* Without symbols functions are what was called, so calls come first. */
static enum hp_err find_functions(struct hp_lab_survey *s)
{
    const struct hp_session *o = s->session;
    const struct hp_lab_flow *w = s->flow;
    s->n_blocks = hp_code_n_blocks(o->code);
    s->function = malloc(((size_t)s->n_blocks + 1) * sizeof *s->function);
    if (!s->function)
        return hp_fail_nomem();
    for (uint32_t b = 0; b < s->n_blocks; b++)
        s->function[b] = HP_NO_ID;
    for (size_t i = 0; i < w->n_edges; i++) {
        const struct hp_block *from = hp_code_block(o->code, w->edges[i].from);
        bool called =
            hp_lab_is_call(from) && hp_code_block(o->code, w->edges[i].to)->start != from->end;
        if (called && hp_functions_enter(o->functions, w->edges[i].to) == HP_NO_ID)
            return hp_fail_nomem();
        s->function[w->edges[i].from] = s->function[w->edges[i].to] = 0;
    }
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->function[b] != HP_NO_ID) {
            s->function[b] = hp_functions_settle(o->functions, b);
            if (s->function[b] == HP_NO_ID)
                return hp_fail_nomem();
        }
    s->n_functions = hp_functions_count(o->functions);
    return HP_OK;
}

/* Counting sort: the sizes are stored two entries further, then each list's start advances to
 * become the next one's. */
static enum hp_err group(struct hp_lab_survey *s)
{
    const struct hp_lab_flow *w = s->flow;
    s->first_block = calloc((size_t)s->n_functions + 2, sizeof *s->first_block);
    s->first_edge = calloc((size_t)s->n_functions + 2, sizeof *s->first_edge);
    s->blocks = calloc((size_t)s->n_blocks + 1, sizeof *s->blocks);
    s->edges = calloc(2 * w->n_edges + 1, sizeof *s->edges);
    if (!s->first_block || !s->first_edge || !s->blocks || !s->edges)
        return hp_fail_nomem();
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->function[b] != HP_NO_ID)
            s->first_block[s->function[b] + 2]++;
    for (size_t i = 0; i < w->n_edges; i++) {
        uint32_t from = s->function[w->edges[i].from], to = s->function[w->edges[i].to];
        s->first_edge[from + 2]++;
        if (to != from)
            s->first_edge[to + 2]++;
    }
    for (uint32_t f = 2; f < s->n_functions + 2; f++) {
        s->first_block[f] += s->first_block[f - 1];
        s->first_edge[f] += s->first_edge[f - 1];
    }
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->function[b] != HP_NO_ID)
            s->blocks[s->first_block[s->function[b] + 1]++] = b;
    for (size_t i = 0; i < w->n_edges; i++) {
        uint32_t from = s->function[w->edges[i].from], to = s->function[w->edges[i].to];
        s->edges[s->first_edge[from + 1]++] = w->edges[i];
        if (to != from)
            s->edges[s->first_edge[to + 1]++] = w->edges[i];
    }
    return HP_OK;
}

enum hp_err hp_lab_survey(struct hp_session *session, const struct hp_lab_flow *flow,
                          struct hp_lab_survey *survey)
{
    *survey = (struct hp_lab_survey){.session = session, .flow = flow};
    enum hp_err err = flow->err == HP_OK ? find_functions(survey) : hp_fail_nomem();
    if (err == HP_OK)
        err = group(survey);
    if (err != HP_OK)
        hp_lab_survey_fini(survey);
    return err;
}

void hp_lab_survey_fini(struct hp_lab_survey *s)
{
    free(s->function);
    free(s->blocks);
    free(s->edges);
    free(s->first_block);
    free(s->first_edge);
    *s = (struct hp_lab_survey){0};
}
