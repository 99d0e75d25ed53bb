// SPDX-License-Identifier: MIT
/*
 * Holds the exact loops against the slow reference, on a recorded trace:
 *   loop_compare [--batches] [--list] [--spoil] TRACE
 * Both must find the same loops and count the same. Prints the first differences and one line: how many loops, how many were compared in
 * full, "equal" or "DIFFERENT". Exit status 0 equal, 1 different, 2 trouble.
 * With --batches the profiler is given batches instead of steps; with --list all loops of the reference are printed, by
 * address; with --spoil the reference misses a block, to see that a difference is found.
 */
#include "loop_reference.h"

#include "base/grow.h"
#include "base/map64.h"
#include "engine/trace/replay.h"
#include "profiler/exact/exact.h"
#include "profiler/pipeline.h"
#include "profiler/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN   20
#define SMALL_TRIPS 64   /* values below are counted exactly */
#define MANY_TRIPS  1024 /* and so many others */

/* Stands before the exact profiler and keeps for the reference what it passes on. */
struct compare {
    struct hp_profiler base; /* first */
    struct hp_profiler *exact;
    struct loop_reference *reference;
    struct thread **threads;
    size_t n_threads, cap_threads;
    uint64_t blocks, spoil_at;
};

struct thread {
    struct compare *compare;
    uint32_t id;
    void *state; /* of the exact profiler */
    uint32_t *blocks;
    size_t cap;
};

static struct hp_code *code;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "loop_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

/* --- The stream ------------------------------------------------------------------------------- */

static void keep(struct thread *t, uint32_t *blocks, size_t n)
{
    struct compare *c = t->compare;
    /* Spoilt: one block looks as if another had been run. */
    if (c->spoil_at && c->blocks < c->spoil_at && c->blocks + n >= c->spoil_at && n > 2)
        blocks[n / 2] = blocks[n / 2 - 1];
    c->blocks += n;
    loop_reference_batch(c->reference, t->id, blocks, n);
}

static uint32_t *room(struct thread *t, size_t n)
{
    if (hp_grow(&t->blocks, &t->cap, n, sizeof *t->blocks) != HP_OK)
        fail("blocks");
    return t->blocks;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct thread *t = state;
    memcpy(room(t, batch->n + 1), batch->blocks, (batch->n + 1) * sizeof *t->blocks);
    keep(t, t->blocks, batch->n);
    t->compare->exact->ops->batch(t->state, batch);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    struct thread *t = state;
    size_t n = 0;
    for (size_t i = 0; i <= steps->n; i++) {
        uint32_t length;
        const uint32_t *blocks = hp_code_unit(steps->code, steps->steps[i].unit, &length);
        memcpy(room(t, n + length) + n, blocks, length * sizeof *blocks);
        n += length;
    }
    keep(t, t->blocks, n - 1);
    t->compare->exact->ops->steps(t->state, steps);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *t = state;
    loop_reference_event(t->compare->reference, t->id, event);
    t->compare->exact->ops->event(t->state, event);
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct compare *c = (struct compare *)profiler;
    struct thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&c->threads, &c->cap_threads, c->n_threads + 1, sizeof *c->threads));
    t->compare = c;
    t->id = (uint32_t)c->n_threads;
    c->threads[c->n_threads++] = t;
    *state = t;
    return c->exact->ops->start_thread(c->exact, info, &t->state);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_nothing(struct hp_profiler *profiler)
{
    (void)profiler;
}

/* --- One loop --------------------------------------------------------------------------------- */

struct verdict {
    const struct hp_exact_loop *exact;
    const struct loop_result *reference;
    size_t n_exact, n_reference;
    struct hp_functions *exact_functions, *reference_functions;
    const struct hp_profile *profile;
    uint64_t differences, full;
};

static void place(uint32_t block)
{
    const struct hp_block *b = hp_code_block(code, block);
    const struct hp_module *m = hp_code_module(code, b->module);
    const char *name = strrchr(m->path, '/');
    printf("%s+%#" PRIx64, name ? name + 1 : m->path, b->start - m->base);
}

static const char *function_name(struct hp_functions *functions, uint32_t id)
{
    if (id == HP_NO_ID)
        return "?";
    const struct hp_symbol *symbol = hp_functions_get(functions, id)->symbol;
    return symbol ? symbol->name : "(no symbol)";
}

static void print_loop(const struct verdict *v, const struct loop_result *l)
{
    const struct hp_ploop_count *c = &l->counts;
    place(l->header);
    printf(" %s%s: executions %" PRIu64 " iterations %" PRIu64 " back %" PRIu64 " min %" PRIu64
           " max %" PRIu64 " self %" PRIu64 " inclusive %" PRIu64 " same %" PRIu64
           " stride %" PRIu64 " interrupted %" PRIu64 " insns %u nodes %zu",
           function_name(v->reference_functions, l->function),
           l->flags & HP_LOOP_IRREDUCIBLE ? " (irreducible)" : "", c->executions, c->iterations,
           c->back_edges, c->min, c->max, c->self, c->inclusive, c->same, c->stride, c->interrupted,
           l->insns, l->n_nodes);
    if (l->parent != HP_NO_ID) {
        printf(" in ");
        place(v->reference[l->parent].header);
    }
    printf(" trips");
    for (size_t i = 0; i < l->n_trips && i < MAX_SHOWN; i++)
        printf(" %" PRIu64 "x%" PRIu64, l->trips[i].value, l->trips[i].count);
    printf(l->n_trips > MAX_SHOWN ? " ...\n" : "\n");
}

static void differ(struct verdict *v, const struct loop_result *l, const char *what,
                   uint64_t expected, uint64_t found)
{
    if (v->differences++ >= MAX_SHOWN)
        return;
    printf("%s: reference %" PRIu64 ", profiler %" PRIu64 "; reference: ", what, expected, found);
    print_loop(v, l);
}

static bool same_place(const struct verdict *v, uint32_t a, uint32_t b)
{
    if (a == HP_NO_ID || b == HP_NO_ID)
        return a == b;
    const struct hp_function *x = hp_functions_get(v->exact_functions, a);
    const struct hp_function *y = hp_functions_get(v->reference_functions, b);
    return x->module == y->module && x->offset == y->offset;
}

static void compare_shape(struct verdict *v, const struct hp_exact_loop *x,
                          const struct loop_result *l)
{
    uint32_t parent = x->parent == HP_NO_ID ? HP_NO_ID : v->exact[x->parent].header;
    uint32_t expected = l->parent == HP_NO_ID ? HP_NO_ID : v->reference[l->parent].header;
    if (x->flags != l->flags)
        differ(v, l, "flags", l->flags, x->flags);
    if (x->insns != l->insns)
        differ(v, l, "insns", l->insns, x->insns);
    if (x->n_nodes != l->n_nodes)
        differ(v, l, "nodes", l->n_nodes, x->n_nodes);
    if (parent != expected)
        differ(v, l, "parent", expected, parent);
    if (!same_place(v, x->function, l->function))
        differ(v, l, "function", l->function, x->function);
    uint64_t back_edges = 0;
    for (size_t i = 0; i < x->n_back_edges; i++)
        back_edges += x->back_edges[i].count;
    if (back_edges != x->counts.back_edges)
        differ(v, l, "sum of back edges", x->counts.back_edges, back_edges);
}

/* The numbers of the fields `what` asks for. */
enum { HARD = 1, TOLD_APART = 2, ORDERED = 4, RECURSIVE = 8 };

static void compare_counts(struct verdict *v, const struct hp_ploop_count *x,
                           const struct loop_result *l, unsigned what)
{
    const struct hp_ploop_count *c = &l->counts;
    const struct {
        const char *name;
        unsigned kind;
        uint64_t expected, found;
    } fields[] = {
        {"self", HARD, c->self, x->self},
        {"interrupted", TOLD_APART, c->interrupted, x->interrupted},
        {"executions", TOLD_APART, c->executions, x->executions},
        {"iterations", TOLD_APART, c->iterations, x->iterations},
        {"back edges", TOLD_APART, c->back_edges, x->back_edges},
        {"min", TOLD_APART, c->min, x->min},
        {"max", TOLD_APART, c->max, x->max},
        {"same", ORDERED, c->same, x->same},
        {"stride", ORDERED, c->stride, x->stride},
        {"inclusive", RECURSIVE, c->inclusive, x->inclusive},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (what & fields[i].kind && fields[i].expected != fields[i].found)
            differ(v, l, fields[i].name, fields[i].expected, fields[i].found);
}

/* --- Trips ------------------------------------------------------------------------------------ */

static int by_count(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* The profile's row of a loop; HP_NO_ID: none. */
static uint32_t row_of(const struct hp_profile *p, uint32_t header)
{
    const struct hp_block *b = hp_code_block(code, header);
    for (size_t i = 0; i < p->n_loops; i++)
        if (p->loops[i].header.module == b->module &&
            p->loops[i].header.offset == b->start - hp_code_module(code, b->module)->base)
            return (uint32_t)i;
    return HP_NO_ID;
}

static uint64_t count_of(const struct loop_result *l, uint64_t value)
{
    for (size_t i = 0; i < l->n_trips; i++)
        if (l->trips[i].value == value)
            return l->trips[i].count;
    return 0;
}

static void compare_buckets(struct verdict *v, const struct loop_result *l, uint32_t row)
{
    uint64_t expected[64] = {0}, found[64] = {0};
    for (size_t i = 0; i < l->n_trips; i++)
        expected[63 - __builtin_clzll(l->trips[i].value | 1)] += l->trips[i].count;
    for (size_t i = 0; i < v->profile->n_loop_trips; i++) {
        const struct hp_ploop_trips *t = &v->profile->loop_trips[i];
        if (t->loop == row && t->bucket && t->value < 64)
            found[t->value] += t->count;
    }
    for (int k = 0; k < 64; k++)
        if (expected[k] != found[k])
            differ(v, l, "bucket", expected[k], found[k]);
}

/* Each value with its count, and no more frequent one missing. */
static void compare_values(struct verdict *v, const struct loop_result *l, uint32_t row)
{
    uint64_t *counts = calloc(l->n_trips + 1, sizeof *counts), found[HP_LOOP_VALUES] = {0};
    size_t n = 0, larger = 0;
    if (!counts)
        fail("values");
    for (size_t i = 0; i < l->n_trips; i++) {
        counts[i] = l->trips[i].count;
        larger += l->trips[i].value >= SMALL_TRIPS;
    }
    qsort(counts, l->n_trips, sizeof *counts, by_count);
    for (size_t i = 0; i < v->profile->n_loop_trips && larger <= MANY_TRIPS; i++) {
        const struct hp_ploop_trips *t = &v->profile->loop_trips[i];
        if (t->loop != row || t->bucket)
            continue;
        if (n < HP_LOOP_VALUES)
            found[n] = t->count;
        n++;
        if (t->count != count_of(l, t->value))
            differ(v, l, "count of a value", count_of(l, t->value), t->count);
    }
    qsort(found, n < HP_LOOP_VALUES ? n : HP_LOOP_VALUES, sizeof *found, by_count);
    size_t expected = l->n_trips < HP_LOOP_VALUES ? l->n_trips : HP_LOOP_VALUES;
    if (larger <= MANY_TRIPS && n != expected)
        differ(v, l, "values", expected, n);
    for (size_t i = 0; larger <= MANY_TRIPS && i < n && i < expected; i++)
        if (found[i] != counts[i])
            differ(v, l, "most frequent value", counts[i], found[i]);
    free(counts);
}

/* --- All loops -------------------------------------------------------------------------------- */

/* What the rules say is equal, whatever the order in which things became known. */
static unsigned comparable(const struct loop_result *l)
{
    unsigned what = HARD;
    if (!(l->flags & HP_LOOP_IRREDUCIBLE) && !l->exceptional)
        what |= TOLD_APART;
    if (what & TOLD_APART && !l->overlapping)
        what |= ORDERED | RECURSIVE;
    return what;
}

static void compare_loop(struct verdict *v, const struct hp_exact_loop *x,
                         const struct loop_result *l)
{
    unsigned what = comparable(l);
    compare_shape(v, x, l);
    compare_counts(v, &x->counts, l, what);
    if (what & TOLD_APART) {
        uint32_t row = row_of(v->profile, l->header);
        if (row == HP_NO_ID) {
            differ(v, l, "in the profile", 1, 0);
        } else {
            compare_buckets(v, l, row);
            compare_values(v, l, row);
        }
    }
    v->full += what == (HARD | TOLD_APART | ORDERED | RECURSIVE);
}

static void compare_loops(struct verdict *v)
{
    struct hp_map64 by_header = {0};
    bool *found = calloc(v->n_reference + 1, sizeof *found);
    if (!found)
        fail("loops");
    for (uint32_t i = 0; i < v->n_reference; i++)
        if (hp_map64_put(&by_header, v->reference[i].header, i) != HP_OK)
            fail("loops");
    for (size_t i = 0; i < v->n_exact; i++) {
        uint32_t k = hp_map64_get(&by_header, v->exact[i].header);
        if (k == HP_MAP64_NONE) {
            if (v->differences++ < MAX_SHOWN) {
                printf("only the profiler has a loop at ");
                place(v->exact[i].header);
                printf(" of %s, %zu nodes, executions %" PRIu64 "\n",
                       function_name(v->exact_functions, v->exact[i].function), v->exact[i].n_nodes,
                       v->exact[i].counts.executions);
            }
            continue;
        }
        if (found[k])
            differ(v, &v->reference[k], "times found", 1, 2);
        found[k] = true;
        compare_loop(v, &v->exact[i], &v->reference[k]);
    }
    for (size_t i = 0; i < v->n_reference; i++)
        if (!found[i])
            differ(v, &v->reference[i], "times found", 1, 0);
    hp_map64_fini(&by_header);
    free(found);
}

/* --- The program ------------------------------------------------------------------------------ */

struct options {
    bool batches, list, spoil;
};

/* Replays the trace through the exact profiler, into the reference. */
static struct hp_pipeline *replay(const char *path, struct compare *c,
                                  struct hp_functions **functions)
{
    const struct hp_region everything = {0};
    struct hp_trace_reader *reader;
    struct hp_pipeline *pipeline = NULL;
    uint64_t damaged;
    if (hp_trace_reader_open(path, &reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(reader)->run.arch, &code) != HP_OK)
        fail(path);
    for (int i = 0; i < 3; i++)
        if (hp_functions_new(code, &functions[i]) != HP_OK)
            fail(path);
    c->reference = loop_reference_new(code, functions + 1);
    if (hp_exact_new(code, functions[0], true, &c->exact) != HP_OK ||
        hp_pipeline_new(code, NULL, NULL, &everything, &pipeline) != HP_OK ||
        hp_pipeline_add(pipeline, &c->base) != HP_OK ||
        hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(path);
    hp_trace_reader_close(reader);
    return pipeline;
}

static bool judge(const char *path, const struct options *options)
{
    static const struct hp_profiler_ops by_steps = {.name = "compare",
                                                    .start_thread = start_thread,
                                                    .batch = on_batch,
                                                    .steps = on_steps,
                                                    .event = on_event,
                                                    .finish = finish,
                                                    .free = free_nothing};
    struct hp_profiler_ops ops = by_steps;
    struct compare c = {.base.ops = &ops, .spoil_at = options->spoil ? 50000 : 0};
    struct hp_functions *functions[3];
    struct hp_profile *profile;
    struct hp_result *result;
    if (options->batches)
        ops.steps = NULL;
    struct hp_pipeline *pipeline = replay(path, &c, functions);
    struct verdict v = {.exact_functions = functions[0], .reference_functions = functions[1]};
    hp_functions_want_lines(functions[0], HP_LINES_NONE);
    if (hp_profile_new(&profile) != HP_OK ||
        hp_result_new(code, functions[0], profile, &result) != HP_OK ||
        c.exact->ops->finish(c.exact, result) != HP_OK ||
        hp_exact_loops(c.exact, &v.exact, &v.n_exact) != HP_OK)
        fail(path);
    v.profile = profile;
    v.reference = loop_reference_loops(c.reference, &v.n_reference);
    for (size_t i = 0; options->list && i < v.n_reference; i++)
        print_loop(&v, &v.reference[i]);
    compare_loops(&v);
    printf("%zu loops of %" PRIu64 " blocks, %" PRIu64 " compared in full: %s\n", v.n_reference,
           c.blocks, v.full, v.differences ? "DIFFERENT" : "equal");
    hp_result_free(result);
    hp_profile_free(profile);
    loop_reference_free(c.reference);
    c.exact->ops->free(c.exact);
    hp_pipeline_free(pipeline);
    for (size_t i = 0; i < c.n_threads; i++) {
        free(c.threads[i]->blocks);
        free(c.threads[i]);
    }
    free(c.threads);
    for (int i = 0; i < 3; i++)
        hp_functions_free(functions[i]);
    hp_code_free(code);
    return v.differences == 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        options.batches |= strcmp(argv[1], "--batches") == 0;
        options.list |= strcmp(argv[1], "--list") == 0;
        options.spoil |= strcmp(argv[1], "--spoil") == 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: loop_compare [--batches] [--list] [--spoil] TRACE\n");
        return 2;
    }
    return judge(argv[1], &options) ? 0 : 1;
}
