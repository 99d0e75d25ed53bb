// SPDX-License-Identifier: MIT
/*
 * Inlined functions, unfolded: the profile of a random run with inlined code becomes that of the
 * same run with calls instead. Both are counted from all activations of the run, one by one.
 */
#include "profile_random.h"

#include "profile/profile_impl.h"
#include "profile/unfold.h"

#define PHYSICAL    4 /* functions with code: p0 ... */
#define INLINED     4 /* others: i0 ... */
#define COPIES      6 /* of code, of a function: the first is itself */
#define ACTIVATIONS 600
#define STEP        1000 /* offsets between functions */
#define NONE        HP_PROFILE_NONE

/* Code of a function: by itself, or inlined into a copy before it. Its first block may repeat
 * itself; the other one leads on: into copies that are inlined into it, and to calls. */
struct copy {
    uint32_t function; /* that it is of: below PHYSICAL, or PHYSICAL and an inlined one */
    uint32_t around;
    uint32_t insns[2];
};

struct activation {
    uint32_t function, parent, thread;
    uint64_t self;
};

struct run {
    struct activation all[ACTIVATIONS];
    uint32_t n;
};

struct program {
    uint64_t random;
    struct copy copies[PHYSICAL][COPIES];
    uint32_t callers[PHYSICAL]; /* the only copy that calls a function, if it is `plain` */
    bool plain;
    struct hp_profile *p;
    struct run physical, shown;
    uint32_t thread;
};

static uint32_t enter(struct run *run, uint32_t function, uint32_t parent, uint32_t thread)
{
    assert_true(run->n < ACTIVATIONS);
    run->all[run->n] = (struct activation){function, parent, thread, 0};
    return run->n++;
}

/* --- The program ------------------------------------------------------------------------------ */

static bool is_inside(const struct copy *copies, uint32_t copy, uint32_t function)
{
    for (; copy != NONE; copy = copies[copy].around)
        if (copies[copy].function == function)
            return true;
    return false;
}

static void write_program(struct program *g)
{
    for (uint32_t f = 0; f < PHYSICAL; f++)
        for (uint32_t i = 0; i < COPIES; i++) {
            struct copy *copy = &g->copies[f][i];
            copy->around = i ? random_below(&g->random, i) : NONE;
            copy->function = f;
            /* A function inlined into itself is not told from its own code. */
            while (i && is_inside(g->copies[f], copy->around, copy->function))
                copy->function = random_below(&g->random, PHYSICAL + INLINED);
            copy->insns[0] = 1 + random_below(&g->random, 9);
            copy->insns[1] = 1 + random_below(&g->random, 9);
        }
    for (uint32_t f = 1; f < PHYSICAL; f++)
        g->callers[f] = random_below(&g->random, f) * COPIES + random_below(&g->random, COPIES);
}

static uint32_t block_of(uint32_t function, uint32_t copy, int which)
{
    return (function * COPIES + copy) * 2 + (uint32_t)which;
}

static void add_ranges(struct program *g, uint32_t function, uint32_t i, uint32_t block)
{
    const struct copy *copies = g->copies[function];
    uint32_t chain[COPIES], n = 0;
    for (uint32_t at = i; copies[at].around != NONE; at = copies[at].around)
        chain[n++] = at;
    for (uint32_t k = n; k-- > 0;) {
        struct hp_pinlined_range *range;
        assert_int_equal(hp_profile_add_inlined_range(g->p, &range), HP_OK);
        *range = (struct hp_pinlined_range){.block = block,
                                            .to = g->p->blocks[block].size,
                                            .depth = n - k,
                                            .inlined = copies[chain[k]].function,
                                            .call_file = "",
                                            .insns = g->p->blocks[block].insns};
        range->entry = g->p->blocks[block_of(function, chain[k], 0)].place.offset;
    }
}

static void add_code(struct program *g)
{
    struct hp_profile *p = g->p;
    struct hp_pmodule *module;
    char name[16];
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    for (uint32_t i = 0; i < PHYSICAL + INLINED; i++) {
        struct hp_pfunction *function;
        struct hp_pinlined *inlined;
        snprintf(name, sizeof name, "%c%u", i < PHYSICAL ? 'p' : 'i', i);
        assert_int_equal(hp_profile_add_inlined(p, &inlined), HP_OK);
        inlined->name = inlined->linkage = hp_profile_string(p, name);
        if (i >= PHYSICAL)
            continue;
        assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
        function->place.offset = STEP * i;
        function->name = function->linkage = hp_profile_string(p, name);
    }
    for (uint32_t i = 0; i < PHYSICAL * COPIES * 2; i++) {
        struct hp_pblock *block;
        uint32_t function = i / (2 * COPIES), at = i % (2 * COPIES);
        uint32_t insns = g->copies[function][at / 2].insns[at % 2];
        assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
        *block = (struct hp_pblock){.place.offset = STEP * function + 20 * at,
                                    .size = insns + 1,
                                    .insns = insns,
                                    .function = function,
                                    .flow = HP_FLOW_COND,
                                    .branch = insns};
    }
    for (uint32_t i = 0; i < PHYSICAL * COPIES * 2; i++)
        add_ranges(g, i / (2 * COPIES), i % (2 * COPIES) / 2, i);
}

/* --- The run ---------------------------------------------------------------------------------- */

static void execute_block(struct program *g, uint32_t block, uint32_t physical, uint32_t shown)
{
    struct hp_pcount *count;
    uint32_t insns = g->p->blocks[block].insns;
    assert_int_equal(hp_profile_add_block_count(g->p, &count), HP_OK);
    *count = (struct hp_pcount){block, g->thread, 1};
    g->physical.all[physical].self += insns;
    g->shown.all[shown].self += insns;
}

static void go(struct program *g, uint32_t from, uint32_t to, enum hp_flow flow)
{
    const struct hp_pblock *block = &g->p->blocks[from];
    struct hp_pedge *edge;
    struct hp_pcount *count;
    assert_int_equal(hp_profile_add_edge(g->p, &edge), HP_OK);
    *edge = (struct hp_pedge){.from.offset = block->place.offset + block->branch,
                              .to = g->p->blocks[to].place,
                              .flow = (uint8_t)flow,
                              .taken = 1};
    assert_int_equal(hp_profile_add_edge_count(g->p, &count), HP_OK);
    *count = (struct hp_pcount){(uint32_t)g->p->n_edges - 1, g->thread, 1};
}

static uint32_t execute(struct program *g, uint32_t function, uint32_t copy, uint32_t physical,
                        uint32_t shown, unsigned depth);

/* Somewhere that this copy leads: into one inlined into it, or to a call. Returns the block that
 * control is at then. */
static uint32_t lead_on(struct program *g, uint32_t function, uint32_t copy, uint32_t physical,
                        uint32_t shown, unsigned depth)
{
    const struct copy *copies = g->copies[function];
    uint32_t at = block_of(function, copy, 1), inner = 1 + random_below(&g->random, COPIES - 1);
    uint32_t callee = random_below(&g->random, PHYSICAL);
    if (copies[inner].around == copy) {
        uint32_t shown_inner = enter(&g->shown, copies[inner].function, shown, g->thread);
        go(g, at, block_of(function, inner, 0), HP_FLOW_COND);
        return execute(g, function, inner, physical, shown_inner, depth);
    }
    bool may = !g->plain || (callee && g->callers[callee] == function * COPIES + copy);
    if (!may || depth > 6 || g->shown.n > ACTIVATIONS - 150)
        return at;
    go(g, at, block_of(callee, 0, 0), HP_FLOW_CALL);
    execute(g, callee, 0, enter(&g->physical, callee, physical, g->thread),
            enter(&g->shown, callee, shown, g->thread), depth + 1);
    return at;
}

static uint32_t execute(struct program *g, uint32_t function, uint32_t copy, uint32_t physical,
                        uint32_t shown, unsigned depth)
{
    uint32_t first = block_of(function, copy, 0), second = first + 1, at = first;
    execute_block(g, first, physical, shown);
    for (uint32_t n = random_below(&g->random, 3); n > 0; n--) {
        go(g, first, first, HP_FLOW_COND);
        execute_block(g, first, physical, shown);
    }
    for (uint32_t n = random_below(&g->random, 4); n > 0 && g->shown.n < ACTIVATIONS - 100; n--) {
        go(g, at, second, HP_FLOW_COND);
        execute_block(g, second, physical, shown);
        at = lead_on(g, function, copy, physical, shown, depth);
    }
    return at;
}

/* --- Counting --------------------------------------------------------------------------------- */

static bool is_nested(const struct run *run, uint32_t i, bool pair)
{
    const struct activation *a = run->all, *it = &a[i];
    for (uint32_t at = it->parent; at != NONE; at = a[at].parent)
        if (a[at].function == it->function &&
            (!pair || (a[at].parent == NONE ? NONE : a[a[at].parent].function) ==
                          (it->parent == NONE ? NONE : a[it->parent].function)))
            return true;
    return false;
}

static uint64_t inclusive(const struct run *run, uint32_t i)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < run->n; k++)
        for (uint32_t at = k; at != NONE; at = run->all[at].parent)
            sum += at == i ? run->all[k].self : 0;
    return sum;
}

/* The functions are those of the profile, by number. */
static void count(struct hp_profile *p, const struct run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        const struct activation *a = &run->all[i];
        uint64_t all = inclusive(run, i);
        struct hp_pfunction_count *function;
        struct hp_pcall *call;
        struct hp_pcall_count *calls;
        struct hp_pcontext *context;
        struct hp_pcontext_count *contexts;
        assert_int_equal(hp_profile_add_function_count(p, &function), HP_OK);
        *function = (struct hp_pfunction_count){a->function, a->thread, a->self,
                                                is_nested(run, i, false) ? 0 : all, 1};
        assert_int_equal(hp_profile_add_call(p, &call), HP_OK);
        call->caller = a->parent == NONE ? NONE : run->all[a->parent].function;
        call->callee = a->function;
        assert_int_equal(hp_profile_add_call_count(p, &calls), HP_OK);
        *calls = (struct hp_pcall_count){i, a->thread, 1, is_nested(run, i, true) ? 0 : all};
        assert_int_equal(hp_profile_add_context(p, &context), HP_OK);
        *context = (struct hp_pcontext){a->parent, a->function};
        assert_int_equal(hp_profile_add_context_count(p, &contexts), HP_OK);
        *contexts = (struct hp_pcontext_count){i, a->thread, a->self, 1};
        p->threads[a->thread].instructions += a->self;
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
}

static void add_threads(struct hp_profile *p)
{
    for (int i = 0; i < 2; i++) {
        struct hp_pthread *thread;
        assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    }
}

/* What is to be shown: `like` has the functions, in its order. */
static struct hp_profile *expect(const struct program *g, const struct hp_profile *like)
{
    struct hp_profile *p;
    struct hp_pmodule *module;
    uint32_t index[PHYSICAL + INLINED];
    static struct run run;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    add_threads(p);
    memset(index, 0xff, sizeof index);
    for (uint32_t i = 0; i < like->n_functions; i++) {
        struct hp_pfunction *function;
        assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
        *function = like->functions[i];
        index[atoi(like->functions[i].name + 1)] = i;
    }
    run = g->shown;
    for (uint32_t i = 0; i < run.n; i++)
        run.all[i].function = index[run.all[i].function];
    count(p, &run);
    return p;
}

static void run_program(struct program *g, uint64_t seed)
{
    *g = (struct program){.random = seed, .plain = seed % 2};
    write_program(g);
    assert_int_equal(hp_profile_new(&g->p), HP_OK);
    g->p->run.arch = HP_ARCH_X86_64;
    add_code(g);
    add_threads(g->p);
    for (g->thread = 0; g->thread < 2; g->thread++)
        for (int i = 0; i < 4; i++)
            execute(g, 0, 0, enter(&g->physical, 0, NONE, g->thread),
                    enter(&g->shown, 0, NONE, g->thread), 0);
    count(g->p, &g->physical);
}

/* --- Tests ------------------------------------------------------------------------------------ */

/* What holds of every profile. */
static void assert_sums_are_kept(const struct hp_profile *p)
{
    assert_int_equal(hp_profile_check_normal(p), HP_OK);
    for (uint32_t thread = 0; thread < p->n_threads; thread++) {
        uint64_t functions = 0, contexts = 0;
        for (size_t i = 0; i < p->n_function_counts; i++)
            functions += p->function_counts[i].thread == thread ? p->function_counts[i].self : 0;
        for (size_t i = 0; i < p->n_context_counts; i++)
            contexts += p->context_counts[i].thread == thread ? p->context_counts[i].self : 0;
        assert_int_equal(functions, p->threads[thread].instructions);
        assert_int_equal(contexts, p->threads[thread].instructions);
    }
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &p->function_counts[i];
        assert_true(c->self <= c->inclusive);
        assert_true(c->inclusive <= p->threads[c->thread].instructions);
    }
}

/* Inclusive counts and what contexts have of a function are estimates where it has several. */
static void make_estimates_equal(struct hp_profile *p, const struct hp_profile *expected)
{
    assert_int_equal(p->n_function_counts, expected->n_function_counts);
    assert_int_equal(p->n_call_counts, expected->n_call_counts);
    for (size_t i = 0; i < p->n_function_counts; i++)
        p->function_counts[i].inclusive = expected->function_counts[i].inclusive;
    for (size_t i = 0; i < p->n_call_counts; i++)
        p->call_counts[i].inclusive = expected->call_counts[i].inclusive;
}

static void assert_equal_counts(const struct hp_profile *p, const struct hp_profile *expected)
{
    assert_int_equal(p->n_function_counts, expected->n_function_counts);
    for (size_t i = 0; i < p->n_function_counts; i++)
        assert_memory_equal(&p->function_counts[i], &expected->function_counts[i],
                            sizeof *p->function_counts);
    assert_int_equal(p->n_calls, expected->n_calls);
    assert_memory_equal(p->calls, expected->calls, p->n_calls * sizeof *p->calls);
    assert_int_equal(p->n_call_counts, expected->n_call_counts);
    for (size_t i = 0; i < p->n_call_counts; i++)
        assert_memory_equal(&p->call_counts[i], &expected->call_counts[i], sizeof *p->call_counts);
}

static void a_run_is_as_with_calls(void **state)
{
    (void)state;
    static struct program g;
    size_t inlined = 0;
    for (uint64_t seed = 1; seed < 400; seed++) {
        run_program(&g, seed);
        assert_int_equal(hp_profile_unfold_inlined(g.p), HP_OK);
        assert_sums_are_kept(g.p);
        struct hp_profile *expected = expect(&g, g.p);
        if (!g.plain)
            make_estimates_equal(g.p, expected);
        assert_equal_counts(g.p, expected);
        if (g.plain)
            assert_true(same_contexts(g.p, expected));
        inlined += g.p->n_functions - PHYSICAL;
        hp_profile_free(g.p);
        hp_profile_free(expected);
    }
    assert_true(inlined > 400);
}

static void what_has_no_inlined_code_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct hp_profile *p = random_profile(seed, 60), *same = random_profile(seed, 60);
        p->n_inlined_ranges = same->n_inlined_ranges = 0;
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_normalize(same), HP_OK);
        assert_int_equal(hp_profile_unfold_inlined(p), HP_OK);
        assert_true(same_profiles(p, same));
        hp_profile_free(p);
        hp_profile_free(same);
    }
}

/* Any profile, whose counts do not fit together: it stays sound, and keeps its sums. */
static void any_profile_stays_sound(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 300; seed++) {
        uint64_t before[2] = {0}, after[2] = {0};
        struct hp_profile *p = random_profile(seed, 60);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t i = 0; i < p->n_function_counts; i++)
            before[0] += p->function_counts[i].self;
        for (size_t i = 0; i < p->n_context_counts; i++)
            before[1] += p->context_counts[i].self;
        assert_int_equal(hp_profile_unfold_inlined(p), HP_OK);
        assert_int_equal(hp_profile_check_normal(p), HP_OK);
        for (size_t i = 0; i < p->n_function_counts; i++)
            after[0] += p->function_counts[i].self;
        for (size_t i = 0; i < p->n_context_counts; i++)
            after[1] += p->context_counts[i].self;
        assert_memory_equal(before, after, sizeof before);
        hp_profile_free(p);
    }
}

/* A chain of contexts as deep as they may be, with inlined functions in each: no deeper. */
static void contexts_do_not_get_too_deep(void **state)
{
    (void)state;
    static struct program g;
    run_program(&g, 1);
    uint32_t last = (uint32_t)g.p->n_contexts;
    for (uint32_t i = 0; i < HP_CONTEXT_DEPTH; i++) {
        struct hp_pcontext *context;
        struct hp_pcontext_count *counts;
        assert_int_equal(hp_profile_add_context(g.p, &context), HP_OK);
        *context = (struct hp_pcontext){i ? last + i - 1 : NONE, i % PHYSICAL};
        assert_int_equal(hp_profile_add_context_count(g.p, &counts), HP_OK);
        *counts = (struct hp_pcontext_count){last + i, 0, 1000, 1};
    }
    assert_int_equal(hp_profile_normalize(g.p), HP_OK);
    assert_int_equal(hp_profile_unfold_inlined(g.p), HP_OK);
    assert_int_equal(hp_profile_check_normal(g.p), HP_OK);
    hp_profile_free(g.p);
}

/* Of two functions of one name, that of the same file is the one that was inlined. */
static void names_and_files_say_which_function_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file, *inlined, *inlined_file;
        bool same;
    } cases[] = {{"f", "/a.c", "f", "/a.c", true},
                 {"f", "/a.c", "f", "/b.c", false},
                 {"f", "", "f", "/b.c", true},
                 {"f(int)", "/a.c", "f", "/a.c", true},
                 {"f(int)", "/a.c", "f(int)", "/a.c", true},
                 {"fg", "/a.c", "f", "/a.c", false},
                 {"f(int)", "/a.c", "f(long)", "/a.c", false}};
    static struct program g;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_program(&g, 1);
        for (uint32_t k = 0; k < g.p->n_inlined; k++)
            g.p->inlined[k] = (struct hp_pinlined){cases[i].inlined, "", cases[i].inlined_file, 1};
        for (uint32_t k = 0; k < PHYSICAL; k++) {
            g.p->functions[k].name = k == 1 ? cases[i].name : "";
            g.p->functions[k].linkage = "";
            g.p->functions[k].file = cases[i].file;
        }
        assert_int_equal(hp_profile_normalize(g.p), HP_OK);
        assert_int_equal(hp_profile_unfold_inlined(g.p), HP_OK);
        assert_sums_are_kept(g.p);
        assert_int_equal(g.p->n_functions, PHYSICAL + !cases[i].same);
        assert_int_equal(hp_place_is_inlined(g.p->functions[g.p->n_functions - 1].place),
                         !cases[i].same);
        hp_profile_free(g.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_as_with_calls),
        cmocka_unit_test(what_has_no_inlined_code_stays),
        cmocka_unit_test(any_profile_stays_sound),
        cmocka_unit_test(contexts_do_not_get_too_deep),
        cmocka_unit_test(names_and_files_say_which_function_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
