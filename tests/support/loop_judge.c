// SPDX-License-Identifier: MIT
#include "loop_judge.h"

#include "base/map64.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN   20
#define SMALL_TRIPS 64   /* values below are counted exactly */
#define MANY_TRIPS  1024 /* and this many others */

/* --- One loop --------------------------------------------------------------------------------- */

static void place(const struct loop_verdict *v, uint32_t block)
{
    const struct hp_block *b = hp_code_block(v->code, block);
    const struct hp_module *m = hp_code_module(v->code, b->module);
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

void loop_judge_print(const struct loop_verdict *v, const struct loop_result *l)
{
    const struct hp_ploop_count *c = &l->counts;
    place(v, l->header);
    printf(" %s%s: executions %" PRIu64 " iterations %" PRIu64 " back %" PRIu64 " min %" PRIu64
           " max %" PRIu64 " self %" PRIu64 " inclusive %" PRIu64 " same %" PRIu64
           " stride %" PRIu64 " interrupted %" PRIu64 " insns %u nodes %zu",
           function_name(v->reference_functions, l->function),
           l->flags & HP_LOOP_IRREDUCIBLE ? " (irreducible)" : "", c->executions, c->iterations,
           c->back_edges, c->min, c->max, c->self, c->inclusive, c->same, c->stride, c->interrupted,
           l->insns, l->n_nodes);
    if (l->parent != HP_NO_ID) {
        printf(" in ");
        place(v, v->reference[l->parent].header);
    }
    printf(" trips");
    for (size_t i = 0; i < l->n_trips && i < MAX_SHOWN; i++)
        printf(" %" PRIu64 "x%" PRIu64, l->trips[i].value, l->trips[i].count);
    printf(l->n_trips > MAX_SHOWN ? " ...\n" : "\n");
}

static void differ(struct loop_verdict *v, const struct loop_result *l, const char *what,
                   uint64_t expected, uint64_t found)
{
    if (v->differences++ >= MAX_SHOWN)
        return;
    printf("%s: reference %" PRIu64 ", profiler %" PRIu64 "; reference: ", what, expected, found);
    loop_judge_print(v, l);
}

static bool same_place(const struct loop_verdict *v, uint32_t a, uint32_t b)
{
    if (a == HP_NO_ID || b == HP_NO_ID)
        return a == b;
    const struct hp_function *x = hp_functions_get(v->exact_functions, a);
    const struct hp_function *y = hp_functions_get(v->reference_functions, b);
    return x->module == y->module && x->offset == y->offset;
}

static void compare_shape(struct loop_verdict *v, const struct hp_exact_loop *x,
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

/* Kinds of numbers, by what they depend on. */
enum {
    COUNTED = 1,    /* on nothing: they follow from counts */
    EXPLAINED = 16, /* the same, unless something was in the loop without having entered it */
    TOLD_APART = 2, /* on which execution an iteration belongs to */
    ORDERED = 4,    /* on the order in which executions ended */
    UNITED = 8,     /* on which activations are of one function, in recursion */
    EVERYTHING = 31
};

static void compare_counts(struct loop_verdict *v, const struct hp_ploop_count *x,
                           const struct loop_result *l, unsigned what)
{
    const struct hp_ploop_count *c = &l->counts;
    const struct {
        const char *name;
        unsigned kind;
        uint64_t expected, found;
    } fields[] = {
        {"self", COUNTED, c->self, x->self},
        {"interrupted", EXPLAINED, c->interrupted, x->interrupted},
        {"executions", EXPLAINED, c->executions, x->executions},
        {"iterations", EXPLAINED, c->iterations, x->iterations},
        {"back edges", EXPLAINED, c->back_edges, x->back_edges},
        {"min", TOLD_APART, c->min, x->min},
        {"max", TOLD_APART, c->max, x->max},
        {"same", ORDERED, c->same, x->same},
        {"stride", ORDERED, c->stride, x->stride},
        {"inclusive", UNITED, c->inclusive, x->inclusive},
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
static uint32_t row_of(const struct loop_verdict *v, uint32_t header)
{
    const struct hp_profile *p = v->profile;
    const struct hp_block *b = hp_code_block(v->code, header);
    for (size_t i = 0; i < p->n_loops; i++)
        if (p->loops[i].header.module == b->module &&
            p->loops[i].header.offset == b->start - hp_code_module(v->code, b->module)->base)
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

static void compare_buckets(struct loop_verdict *v, const struct loop_result *l, uint32_t row)
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

/* Each value has its count, and no more frequent one is missing. */
static void compare_values(struct loop_verdict *v, const struct loop_result *l, uint32_t row)
{
    uint64_t *counts = calloc(l->n_trips + 1, sizeof *counts), found[HP_LOOP_VALUES] = {0};
    size_t n = 0, larger = 0;
    if (!counts)
        abort();
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

/* Whether it is irreducible, or inside a loop that is: its back edges were not known from the
 * beginning. */
static bool is_shaky(const struct loop_verdict *v, const struct loop_result *l)
{
    for (; !(l->flags & HP_LOOP_IRREDUCIBLE); l = &v->reference[l->parent])
        if (l->parent == HP_NO_ID)
            return false;
    return true;
}

/* The kinds of numbers that the rules define independently of the order of discovery. */
static unsigned comparable(const struct loop_verdict *v, const struct loop_result *l)
{
    unsigned what = EVERYTHING;
    /* An execution that begins inside may iterate before the loop is known. */
    if (is_shaky(v, l) || l->late || l->histories)
        what &= ~(unsigned)(TOLD_APART | ORDERED);
    if (l->unexplained)
        what &= ~(unsigned)(EXPLAINED | TOLD_APART | ORDERED | UNITED);
    /* In recursion, executions that began before the loop was known have no order. */
    if (l->overlapping)
        what &= ~(unsigned)ORDERED;
    if (l->overlapping && (l->shared || !v->recursion))
        what &= ~(unsigned)UNITED;
    return what;
}

static void compare_loop(struct loop_verdict *v, const struct hp_exact_loop *x,
                         const struct loop_result *l)
{
    unsigned what = l->strayed ? 0 : comparable(v, l);
    if (!l->strayed)
        compare_shape(v, x, l);
    compare_counts(v, &x->counts, l, what);
    if (what & TOLD_APART) {
        uint32_t row = row_of(v, l->header);
        if (row == HP_NO_ID) {
            differ(v, l, "in the profile", 1, 0);
        } else {
            compare_buckets(v, l, row);
            compare_values(v, l, row);
        }
    }
    v->full += what == EVERYTHING;
}

/* Whether the reference has a loop of that function with `strayed` set. */
static bool has_strayed(const struct loop_verdict *v, uint32_t function)
{
    for (size_t i = 0; i < v->n_reference; i++)
        if (v->reference[i].strayed && same_place(v, function, v->reference[i].function))
            return true;
    return false;
}

void loop_judge(struct loop_verdict *v)
{
    struct hp_map64 by_header = {0};
    bool *found = calloc(v->n_reference + 1, sizeof *found);
    if (!found)
        abort();
    for (uint32_t i = 0; i < v->n_reference; i++)
        if (hp_map64_put(&by_header, v->reference[i].header, i) != HP_OK)
            abort();
    for (size_t i = 0; i < v->n_exact; i++) {
        uint32_t k = hp_map64_get(&by_header, v->exact[i].header);
        if (k == HP_MAP64_NONE && has_strayed(v, v->exact[i].function))
            continue;
        if (k == HP_MAP64_NONE) {
            if (v->differences++ < MAX_SHOWN) {
                printf("only the profiler has a loop at ");
                place(v, v->exact[i].header);
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
        if (!found[i] && !v->reference[i].strayed)
            differ(v, &v->reference[i], "times found", 1, 0);
    hp_map64_fini(&by_header);
    free(found);
}
