// SPDX-License-Identifier: MIT
/*
 * Stubs, folded: the profile of a random run with stubs becomes that of the same run without them.
 * Both are counted from all activations of the run, one by one.
 */
#include "profile_random.h"

#include "profile/fold.h"
#include "profile/profile_impl.h"

#define FUNCTIONS   8
#define ACTIVATIONS 400
#define NONE        HP_PROFILE_NONE

/* Functions are at their numbers: f0 ..., the resolver, its part, then stubs. */
enum { RESOLVER = FUNCTIONS, FIXUP, STUBS, ALL = STUBS + FUNCTIONS };

struct activation {
    uint32_t function, parent, thread; /* parent: NONE, or an earlier activation */
    uint64_t self;
};

struct run {
    struct activation all[ACTIVATIONS];
    uint32_t n;
    uint32_t parents[ACTIVATIONS]; /* room for those of the profile: contexts */
};

/* The same execution, as it was and as it is shown. */
struct runs {
    struct run raw, folded;
    uint64_t random;
    uint32_t thread;
    bool recursive, ambiguous;
};

static uint32_t enter(struct run *run, uint32_t function, uint32_t parent, uint32_t thread,
                      uint64_t self)
{
    run->all[run->n] = (struct activation){function, parent, thread, self};
    return run->n++;
}

static void execute(struct runs *r, uint32_t raw, uint32_t folded, uint32_t function,
                    unsigned depth);

static void call(struct runs *r, uint32_t raw, uint32_t folded, uint32_t function, unsigned depth)
{
    uint64_t self = 1 + random_below(&r->random, 50), stub = 1 + random_below(&r->random, 3);
    uint32_t name = STUBS + function;
    if (r->ambiguous)
        name = STUBS + function / 2;
    if (random_below(&r->random, 3) == 0) {
        raw = enter(&r->raw, function, raw, r->thread, self);
        folded = enter(&r->folded, function, folded, r->thread, self);
    } else {
        raw = enter(&r->raw, name, raw, r->thread, stub);
        folded = enter(&r->folded, function, folded, r->thread, stub + self);
        if (random_below(&r->random, 4) == 0) {
            uint32_t resolver = enter(&r->folded, RESOLVER, folded, r->thread, 10);
            raw = enter(&r->raw, RESOLVER, raw, r->thread, 10);
            uint64_t work = 20 + random_below(&r->random, 30);
            enter(&r->raw, FIXUP, raw, r->thread, work);
            enter(&r->folded, FIXUP, resolver, r->thread, work);
        }
        raw = enter(&r->raw, function, raw, r->thread, self);
    }
    execute(r, raw, folded, function, depth);
}

static void execute(struct runs *r, uint32_t raw, uint32_t folded, uint32_t function,
                    unsigned depth)
{
    for (size_t n = random_below(&r->random, 4); n > 0; n--) {
        uint32_t callee = r->recursive ? random_below(&r->random, FUNCTIONS)
                                       : function + 1 + random_below(&r->random, FUNCTIONS);
        if (callee < FUNCTIONS && depth < 8 && r->raw.n < ACTIVATIONS - 80)
            call(r, raw, folded, callee, depth + 1);
    }
}

/* Whether the functions of an activation and of its caller are those of another, below it. */
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

static void add_functions(struct hp_profile *p, const struct run *run, bool stubs)
{
    static const char *const paths[] = {"/lib/libf.so", "/lib/ld-linux.so.2"};
    for (int i = 0; i < 2; i++) {
        struct hp_pmodule *module;
        struct hp_pthread *thread;
        assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
        module->path = hp_profile_string(p, paths[i]);
        assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    }
    for (uint32_t i = 0; i < (stubs ? ALL : STUBS); i++) {
        struct hp_pfunction *function;
        char name[32];
        if (i >= STUBS)
            snprintf(name, sizeof name, "f%u@plt", i - STUBS);
        else
            snprintf(name, sizeof name, "f%u", i);
        const char *own = i == RESOLVER ? "_dl_runtime_resolve_xsave"
                          : i == FIXUP  ? "_dl_fixup"
                                        : name;
        assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
        function->place = (struct hp_place){i == RESOLVER || i == FIXUP, 16 * i};
        function->name = function->linkage = hp_profile_string(p, own);
    }
    for (uint32_t i = 0; i < run->n; i++)
        p->threads[run->all[i].thread].instructions += run->all[i].self;
}

static struct hp_profile *count(const struct run *run, bool stubs)
{
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    p->run.arch = HP_ARCH_X86_64;
    add_functions(p, run, stubs);
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
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    return p;
}

static void make_runs(struct runs *r, uint64_t seed)
{
    *r = (struct runs){.random = seed, .recursive = seed % 3 == 1, .ambiguous = seed % 3 == 2};
    for (r->thread = 0; r->thread < 2; r->thread++) {
        uint32_t raw = enter(&r->raw, 0, NONE, r->thread, 5);
        uint32_t folded = enter(&r->folded, 0, NONE, r->thread, 5);
        for (int i = 0; i < 4; i++)
            execute(r, raw, folded, 0, 0);
    }
}

static uint64_t sum_of_self(const struct hp_profile *p, uint32_t thread, bool contexts)
{
    uint64_t sum = 0;
    for (size_t i = 0; !contexts && i < p->n_function_counts; i++)
        sum += p->function_counts[i].thread == thread ? p->function_counts[i].self : 0;
    for (size_t i = 0; contexts && i < p->n_context_counts; i++)
        sum += p->context_counts[i].thread == thread ? p->context_counts[i].self : 0;
    return sum;
}

/* Of all profiles: sums are kept, and only stubs that led nowhere are left. */
static void assert_folded(const struct hp_profile *p)
{
    assert_int_equal(hp_profile_check_normal(p), HP_OK);
    for (uint32_t thread = 0; thread < p->n_threads; thread++) {
        assert_int_equal(sum_of_self(p, thread, false), p->threads[thread].instructions);
        assert_int_equal(sum_of_self(p, thread, true), p->threads[thread].instructions);
    }
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction_count *c = &p->function_counts[i];
        assert_null(strstr(p->functions[c->item].name, "@plt"));
        assert_true(c->self <= c->inclusive);
        assert_true(c->inclusive <= p->threads[c->thread].instructions);
    }
    for (size_t i = 0; i < p->n_contexts; i++)
        assert_null(strstr(p->functions[p->contexts[i].function].name, "@plt"));
    for (size_t i = 0; i < p->n_calls; i++) {
        assert_null(strstr(p->functions[p->calls[i].callee].name, "@plt"));
        assert_true(p->calls[i].caller == NONE ||
                    !strstr(p->functions[p->calls[i].caller].name, "@plt"));
    }
}

/* Recursion through a stub makes inclusive counts bounds. */
static void make_inclusive_equal(struct hp_profile *p, const struct hp_profile *expected)
{
    for (size_t i = 0; i < p->n_function_counts; i++) {
        assert_true(p->function_counts[i].inclusive >= p->function_counts[i].self);
        p->function_counts[i].inclusive = expected->function_counts[i].inclusive;
    }
    for (size_t i = 0; i < p->n_call_counts; i++)
        p->call_counts[i].inclusive = expected->call_counts[i].inclusive;
}

static void a_run_is_as_without_stubs(void **state)
{
    (void)state;
    static struct runs runs;
    for (uint64_t seed = 1; seed < 400; seed++) {
        make_runs(&runs, seed);
        struct hp_profile *p = count(&runs.raw, true), *expected = count(&runs.folded, false);
        assert_int_equal(hp_profile_fold_stubs(p), HP_OK);
        assert_folded(p);
        if (!runs.ambiguous) {
            assert_int_equal(p->n_function_counts, expected->n_function_counts);
            assert_int_equal(p->n_call_counts, expected->n_call_counts);
            if (runs.recursive)
                make_inclusive_equal(p, expected);
            assert_true(same_counts(p, expected));
            assert_true(same_contexts(p, expected));
        }
        hp_profile_free(p);
        hp_profile_free(expected);
    }
}

static void what_has_no_stub_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct hp_profile *p = random_profile(seed, 60), *same = random_profile(seed, 60);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_normalize(same), HP_OK);
        assert_int_equal(hp_profile_fold_stubs(p), HP_OK);
        assert_true(same_profiles(p, same));
        hp_profile_free(p);
        hp_profile_free(same);
    }
}

/* Any profile, whose counts do not fit together: it stays sound. */
static void any_profile_stays_sound(void **state)
{
    (void)state;
    static const char *const names[] = {"a@plt", "b@plt", "_dl_runtime_resolve", "_dl_fixup", ""};
    for (uint64_t seed = 1; seed < 200; seed++) {
        uint64_t random = seed;
        struct hp_profile *p = random_profile(seed, 60);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t i = 0; i < p->n_functions; i++)
            if (random_below(&random, 2)) {
                p->functions[i].name = "";
                p->functions[i].linkage = hp_profile_string(p, names[random_below(&random, 5)]);
            }
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_fold_stubs(p), HP_OK);
        assert_int_equal(hp_profile_check_normal(p), HP_OK);
        hp_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_as_without_stubs),
        cmocka_unit_test(what_has_no_stub_stays),
        cmocka_unit_test(any_profile_stays_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
