// SPDX-License-Identifier: MIT
/* The loop reference: the kept stream, and what rules 6 to 9 of docs/loops.md count in it. */
#include "loop_reference_impl.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

void *loop_reference_room(void *array, size_t *cap, size_t need, size_t size)
{
    void *grown = array;
    if (hp_grow(&grown, cap, need, size) != HP_OK)
        abort();
    return grown;
}

/* --- Keeping ---------------------------------------------------------------------------------- */

struct loop_reference *loop_reference_new(struct hp_code *code, struct hp_functions *functions[2])
{
    struct loop_reference *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->code = code;
    r->functions[0] = functions[0];
    r->functions[1] = functions[1];
    return r;
}

void loop_reference_free(struct loop_reference *r)
{
    for (size_t i = 0; i < r->n_loops; i++) {
        free(r->loops[i].nodes);
        if (r->trips) {
            free(r->trips[i]);
            hp_map64_fini(&r->trip_of[i]);
        }
    }
    free(r->loops);
    free(r->trips);
    free(r->n_trips);
    free(r->cap_trips);
    free(r->trip_of);
    free(r->chunks);
    free(r->blocks);
    free(r->nodes);
    free(r->edges);
    hp_map64_fini(&r->edge_of);
    hp_map64_fini(&r->late);
    hp_map64_fini(&r->strayed);
    hp_map64_fini(&r->shared);
    free(r->counts);
    free(r->runs);
    free(r->results);
    free(r);
}

static struct chunk *new_chunk(struct loop_reference *r, uint32_t thread)
{
    r->chunks = loop_reference_room(r->chunks, &r->cap_chunks, r->n_chunks + 1, sizeof *r->chunks);
    r->chunks[r->n_chunks] = (struct chunk){.thread = thread};
    if (thread >= r->n_threads)
        r->n_threads = thread + 1;
    return &r->chunks[r->n_chunks++];
}

void loop_reference_batch(struct loop_reference *r, uint32_t thread, const uint32_t *blocks,
                          size_t n)
{
    struct chunk *chunk = new_chunk(r, thread);
    chunk->first = r->n_blocks;
    chunk->n = n;
    r->blocks =
        loop_reference_room(r->blocks, &r->cap_blocks, r->n_blocks + n + 1, sizeof *r->blocks);
    memcpy(r->blocks + r->n_blocks, blocks, (n + 1) * sizeof *blocks);
    r->n_blocks += n + 1;
}

void loop_reference_event(struct loop_reference *r, uint32_t thread, const struct hp_event *event)
{
    struct chunk *chunk = new_chunk(r, thread);
    chunk->is_event = true;
    chunk->event = *event;
}

/* --- Executions ------------------------------------------------------------------------------- */

static struct loop_thread *counts_of(struct loop_reference *r, const struct walk_thread *t,
                                     uint32_t loop)
{
    return &r->counts[t->id * r->n_loops + loop];
}

/* The current execution of a loop in an activation; NULL: none. */
static struct execution *going_on(struct activation *a, uint32_t loop)
{
    for (size_t i = 0; i < a->n_executions; i++)
        if (a->executions[i].loop == loop)
            return &a->executions[i];
    return NULL;
}

static void add_trips(struct loop_reference *r, uint32_t loop, uint64_t value)
{
    uint32_t i = hp_map64_get(&r->trip_of[loop], value);
    if (i == HP_MAP64_NONE) {
        i = (uint32_t)r->n_trips[loop]++;
        r->trips[loop] =
            loop_reference_room(r->trips[loop], &r->cap_trips[loop], i + 1, sizeof **r->trips);
        if (hp_map64_put(&r->trip_of[loop], value, i) != HP_OK)
            abort();
        r->trips[loop][i].value = value;
    }
    r->trips[loop][i].count++;
}

/* An execution ended: rule 7. */
static void finish(struct loop_reference *r, struct walk_thread *t, uint32_t loop,
                   uint64_t iterations)
{
    struct loop_thread *c = counts_of(r, t, loop);
    uint64_t change = iterations - c->previous; /* of numbers that wrap around */
    if (!c->ended || iterations < c->counts.min)
        c->counts.min = iterations;
    if (!c->ended || iterations > c->counts.max)
        c->counts.max = iterations;
    c->counts.same += c->ended >= 1 && change == 0;
    c->counts.stride += c->ended >= 2 && change == c->change;
    c->previous = iterations;
    c->change = change;
    c->ended++;
    add_trips(r, loop, iterations);
}

/* A new one begins with one iteration; the previous one, if any, ends. */
static void begin_execution(struct loop_reference *r, struct walk_thread *t, struct activation *a,
                            uint32_t loop)
{
    struct loop_thread *c = counts_of(r, t, loop);
    struct execution *e = going_on(a, loop);
    if (e) {
        finish(r, t, loop, e->iterations);
    } else {
        a->executions = loop_reference_room(a->executions, &a->cap_executions, a->n_executions + 1,
                                            sizeof *a->executions);
        e = &a->executions[a->n_executions++];
        r->results[loop].overlapping |= ++c->going > 1;
    }
    *e = (struct execution){.loop = loop, .iterations = 1};
    c->counts.executions++;
    c->counts.iterations++;
}

static void run_header(struct loop_reference *r, struct walk_thread *t, struct activation *a,
                       uint32_t node, uint32_t from, enum came came)
{
    uint32_t loop = r->nodes[node].loop;
    if (!loop_reference_is_edge(r, from, node, came) || !loop_reference_in(r, from, loop)) {
        begin_execution(r, t, a, loop);
        return;
    }
    struct loop_thread *c = counts_of(r, t, loop);
    struct execution *e = going_on(a, loop);
    if (!e) { /* it is in the loop, and how it entered is unknown */
        r->results[loop].unexplained++;
        begin_execution(r, t, a, loop);
        e = going_on(a, loop);
    }
    e->iterations++;
    c->counts.iterations++;
    c->counts.back_edges++;
}

/* A history begins with `node`: in which loops, other than at a header? */
static void begin_inside(struct loop_reference *r, struct walk_thread *t, struct activation *a,
                         uint32_t node)
{
    uint32_t loop = r->nodes[node].loop;
    if (loop != HP_NO_ID && r->nodes[node].header)
        loop = r->loops[loop].parent;
    for (; loop != HP_NO_ID; loop = r->loops[loop].parent) {
        begin_execution(r, t, a, loop);
        r->results[loop].histories++;
    }
}

/* --- Being in a loop -------------------------------------------------------------------------- */

/* Moves the activation into the loops around `to`; HP_NO_ID: into none. */
static void move(struct loop_reference *r, struct walk_thread *t, struct activation *a, uint32_t to)
{
    uint32_t from = a->position;
    a->position = to;
    for (uint32_t l = from == HP_NO_ID ? HP_NO_ID : r->nodes[from].loop; l != HP_NO_ID;
         l = r->loops[l].parent) {
        struct loop_thread *c = counts_of(r, t, l);
        if ((to == HP_NO_ID || !loop_reference_in(r, to, l)) && --c->active == 0)
            c->counts.inclusive += t->clock - c->since;
    }
    for (uint32_t l = to == HP_NO_ID ? HP_NO_ID : r->nodes[to].loop; l != HP_NO_ID;
         l = r->loops[l].parent) {
        struct loop_thread *c = counts_of(r, t, l);
        if ((from == HP_NO_ID || !loop_reference_in(r, from, l)) && c->active++ == 0)
            c->since = t->clock;
    }
}

/* --- Listening to the second walk ------------------------------------------------------------- */

static void count_run(struct walk *w, struct walk_thread *t, struct activation *a, uint32_t node,
                      uint32_t from, enum came came)
{
    struct loop_reference *r = w->r;
    move(r, t, a, node);
    r->runs[t->id * r->n_nodes + node]++;
    if (came == CAME_BEGIN)
        begin_inside(r, t, a, node);
    /* The transfer was an edge, or the node a root, until something else was seen. */
    if ((came == CAME_EXCEPTION && !loop_reference_is_edge(r, from, node, came)) ||
        (came == CAME_BEGIN && !r->nodes[node].root))
        if (hp_map64_put(&r->late, r->nodes[node].function, 1) != HP_OK)
            abort();
    if (r->nodes[node].loop != HP_NO_ID && r->nodes[node].header)
        run_header(r, t, a, node, from, came);
}

static void count_interrupt(struct walk *w, struct walk_thread *t, struct activation *a)
{
    uint32_t node = a->pending;
    while (w->r->nodes[node].next != HP_NO_ID)
        node = w->r->nodes[node].next;
    move(w->r, t, a, node);
}

static void count_end(struct walk *w, struct walk_thread *t, struct activation *a, bool history)
{
    struct loop_reference *r = w->r;
    uint32_t in = history && a->last != HP_NO_ID ? r->nodes[a->last].loop : HP_NO_ID;
    for (uint32_t l = in; l != HP_NO_ID; l = r->loops[l].parent) {
        counts_of(r, t, l)->counts.interrupted++;
        r->results[l].unexplained += !going_on(a, l);
    }
    move(r, t, a, HP_NO_ID);
    for (size_t i = 0; i < a->n_executions; i++) {
        finish(r, t, a->executions[i].loop, a->executions[i].iterations);
        counts_of(r, t, a->executions[i].loop)->going--;
    }
}

static void count_orphan(struct walk *w, struct walk_thread *t, uint32_t id)
{
    struct loop_reference *r = w->r;
    for (uint32_t node = id; node != HP_NO_ID; node = r->nodes[node].next) {
        uint32_t loop = r->nodes[node].loop;
        r->runs[t->id * r->n_nodes + node]++;
        t->clock += r->nodes[node].own;
        if (loop == HP_NO_ID || !r->nodes[node].header)
            continue;
        r->results[loop].unexplained++;
        counts_of(r, t, loop)->counts.executions++;
        counts_of(r, t, loop)->counts.iterations++;
        finish(r, t, loop, 1);
    }
}

static const struct listener counting = {count_run, count_interrupt, count_end, count_orphan};

/* --- The result ------------------------------------------------------------------------------- */

static void add_counts(struct hp_ploop_count *sum, const struct hp_ploop_count *c)
{
    if (!c->executions && !c->self && !c->inclusive)
        return;
    if (c->executions && (!sum->executions || c->min < sum->min))
        sum->min = c->min;
    if (c->max > sum->max)
        sum->max = c->max;
    sum->executions += c->executions;
    sum->iterations += c->iterations;
    sum->back_edges += c->back_edges;
    sum->self += c->self;
    sum->inclusive += c->inclusive;
    sum->same += c->same;
    sum->stride += c->stride;
    sum->interrupted += c->interrupted;
}

static int compare_trips(const void *a, const void *b)
{
    const struct loop_trips *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void sum_up(struct loop_reference *r, uint32_t id)
{
    const struct loop *loop = &r->loops[id];
    struct loop_result *out = &r->results[id];
    out->header = loop->name;
    out->function = r->nodes[loop->name].function;
    out->parent = loop->parent;
    out->flags = loop->n_headers > 1 ? HP_LOOP_IRREDUCIBLE : 0;
    out->shared = hp_map64_get(&r->shared, out->function) != HP_MAP64_NONE;
    out->strayed = hp_map64_get(&r->strayed, out->function) != HP_MAP64_NONE;
    out->late = hp_map64_get(&r->late, out->function) != HP_MAP64_NONE;
    out->nodes = loop->nodes;
    out->n_nodes = loop->n_nodes;
    out->trips = r->trips[id];
    out->n_trips = r->n_trips[id];
    if (out->n_trips)
        qsort(r->trips[id], out->n_trips, sizeof *out->trips, compare_trips);
    for (size_t i = 0; i < loop->n_nodes; i++)
        out->insns += r->nodes[loop->nodes[i]].own;
    for (uint32_t t = 0; t < r->n_threads; t++) {
        struct hp_ploop_count *c = &r->counts[t * r->n_loops + id].counts;
        for (size_t i = 0; i < loop->n_nodes; i++)
            c->self += r->runs[t * r->n_nodes + loop->nodes[i]] * r->nodes[loop->nodes[i]].own;
        add_counts(&out->counts, c);
    }
}

static void make_tables(struct loop_reference *r)
{
    r->counts = calloc(r->n_loops * r->n_threads + 1, sizeof *r->counts);
    r->runs = calloc(r->n_nodes * r->n_threads + 1, sizeof *r->runs);
    r->results = calloc(r->n_loops + 1, sizeof *r->results);
    r->trips = calloc(r->n_loops + 1, sizeof *r->trips);
    r->n_trips = calloc(r->n_loops + 1, sizeof *r->n_trips);
    r->cap_trips = calloc(r->n_loops + 1, sizeof *r->cap_trips);
    r->trip_of = calloc(r->n_loops + 1, sizeof *r->trip_of);
    if (!r->counts || !r->runs || !r->results || !r->trips || !r->n_trips || !r->cap_trips ||
        !r->trip_of)
        abort();
}

const struct loop_result *loop_reference_loops(struct loop_reference *r, size_t *n)
{
    if (!r->done) {
        r->done = true;
        loop_reference_chains(r);
        loop_reference_walk(r, r->functions[0], &loop_reference_edges);
        loop_reference_find(r);
        make_tables(r);
        loop_reference_walk(r, r->functions[1], &counting);
        for (uint32_t i = 0; i < r->n_loops; i++)
            sum_up(r, i);
    }
    *n = r->n_loops;
    return r->results;
}

uint32_t loop_reference_innermost(const struct loop_reference *r, uint32_t block)
{
    return block < r->n_nodes ? r->nodes[block].loop : HP_NO_ID;
}
