// SPDX-License-Identifier: MIT
/*
 * Schemes, judge and predictor against the slow reference, on the branches of random programs:
 * loops, calls through pointers, branches that depend on one another and such that do not.
 */
#include "support/predict_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- Programs --------------------------------------------------------------------------------- */

#define SITES   40
#define TARGETS 4

/* A branch of a program, behind a few instructions: `address - start` of them. */
struct site {
    uint64_t start, address;
    enum hp_flow kind;
    uint32_t targets[TARGETS]; /* sites; direct branches have one */
    uint32_t bias;             /* percent of executions that are taken */
};

struct program {
    struct site sites[SITES];
    uint64_t random;
    uint32_t at;
};

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static void program_init(struct program *p, uint64_t seed)
{
    static const enum hp_flow kinds[] = {HP_FLOW_COND,   HP_FLOW_COND,    HP_FLOW_COND,
                                         HP_FLOW_COND,   HP_FLOW_JUMP,    HP_FLOW_CALL,
                                         HP_FLOW_RETURN, HP_FLOW_JUMP_IND};
    static const uint32_t biases[] = {1, 10, 50, 90, 99};
    uint64_t address = 0x1000;
    *p = (struct program){.random = seed};
    for (uint32_t i = 0; i < SITES; i++) {
        struct site *site = &p->sites[i];
        site->start = address;
        site->address = address + below(&p->random, 6);
        address = site->address + 1;
        site->kind = i == SITES - 1 ? HP_FLOW_JUMP : kinds[below(&p->random, 8)];
        site->bias = biases[below(&p->random, 5)];
        for (uint32_t t = 0; t < TARGETS; t++)
            site->targets[t] = below(&p->random, SITES);
        if (i == SITES - 1)
            site->targets[0] = 0;
    }
}

/* Executes the branch at hand. */
static struct hp_flow_branch program_step(struct program *p)
{
    const struct site *site = &p->sites[p->at];
    bool indirect = site->kind == HP_FLOW_RETURN || site->kind == HP_FLOW_JUMP_IND;
    bool taken = site->kind != HP_FLOW_COND || below(&p->random, 100) < site->bias;
    uint32_t which =
        indirect && below(&p->random, 100) >= site->bias ? below(&p->random, TARGETS) : 0;
    p->at = taken ? site->targets[which] : p->at + 1;
    return (struct hp_flow_branch){.address = site->address,
                                   .target = p->sites[p->at].start,
                                   .taken = taken,
                                   .indirect = indirect};
}

/* --- Paths of them ---------------------------------------------------------------------------- */

/* Adds a branch to the path at hand, by the rules of forward paths; true: `ended` is a path. */
static bool grow_path(struct tested_path *at, const struct hp_flow_branch *b, uint32_t max_length,
                      struct tested_path *ended)
{
    bool split = at->n == max_length, back = b->taken && b->target <= b->address;
    if (!split)
        at->branches[at->n++] = *b;
    if (!split && !back)
        return false;
    *ended = *at;
    *at = (struct tested_path){.start = b->target, .block = HP_NO_ID};
    return true;
}

/* --- The judge -------------------------------------------------------------------------------- */

/* Knows the branches of the path that is being judged. */
struct source {
    struct hp_branch_source source; /* first */
    const struct tested_path *path;
};

static size_t source_branches(struct hp_branch_source *source, const struct hp_path *path,
                              const uint64_t *targets, struct hp_flow_branch *branches)
{
    const struct tested_path *known = ((struct source *)source)->path;
    uint64_t list[HP_PATH_MAX_LENGTH];
    struct hp_path same = tested_descriptor(known, list);
    assert_true(hp_path_same(&same, path));
    assert_memory_equal(list, targets, path->n_targets * sizeof *list);
    memcpy(branches, known->branches, known->n * sizeof *branches);
    return known->n;
}

static void judge_path(struct hp_judge *judge, struct source *source,
                       const struct tested_path *path)
{
    uint64_t targets[HP_PATH_MAX_LENGTH];
    struct hp_path descriptor = tested_descriptor(path, targets);
    struct hp_paths paths = {.paths = &descriptor, .n = 1, .targets = targets};
    source->path = path;
    hp_judge_sink(judge)->paths(hp_judge_sink(judge), &paths);
}

static void compare_measures(const struct hp_prediction *want, const struct hp_prediction *have)
{
    assert_int_equal(want->flow, have->flow);
    assert_int_equal(want->paths, have->paths);
    assert_int_equal(want->heads, have->heads);
    assert_int_equal(want->hot_paths, have->hot_paths);
    assert_int_equal(want->hot_flow, have->hot_flow);
    assert_int_equal(want->predicted, have->predicted);
    assert_int_equal(want->predicted_hot, have->predicted_hot);
    assert_int_equal(want->never_ran, have->never_ran);
    assert_int_equal(want->hits, have->hits);
    assert_int_equal(want->noise, have->noise);
    assert_int_equal(want->missed, have->missed);
    assert_int_equal(want->profiled, have->profiled);
    assert_int_equal(want->closed_hits, have->closed_hits);
    assert_int_equal(want->closed_noise, have->closed_noise);
    assert_int_equal(want->closed_missed, have->closed_missed);
    assert_int_equal(want->cost.counters, have->cost.counters);
    assert_int_equal(want->cost.operations, have->cost.operations);
    assert_int_equal(want->branches, have->branches);
}

/* --- The predictor ---------------------------------------------------------------------------- */

static void compare_hot(const struct tested_path *want, struct hp_path_predictor *predictor,
                        enum hp_news news)
{
    assert_int_equal(news == HP_NEWS_HOT, want != NULL);
    if (!want)
        return;
    const struct hp_hot_path *hot = hp_path_predictor_path(predictor);
    assert_int_equal(hot->start, want->start);
    assert_int_equal(hot->length, want->n);
    uint64_t outcomes = 0;
    for (uint32_t i = 0; i < want->n; i++) {
        assert_int_equal(hot->branches[i].address, want->branches[i].address);
        assert_int_equal(hot->branches[i].target, want->branches[i].target);
        assert_int_equal(hot->branches[i].taken, want->branches[i].taken);
        assert_int_equal(hot->branches[i].indirect, want->branches[i].indirect);
        outcomes = outcomes << 1 | want->branches[i].taken;
    }
    assert_int_equal(hot->outcomes, outcomes);
    assert_true(hp_path_predictor_is_hot(predictor, want->start));
}

/* --- All of them ------------------------------------------------------------------------------ */

static const char *const schemes[] = {
    "net:0",
    "net:1",
    "net:7",
    "net:50",
    "net:1000",
    "net:0,after=keep",
    "net:1,after=keep",
    "net:50,after=keep",
    "path-profile:0",
    "path-profile:1",
    "path-profile:7",
    "path-profile:50",
    "path-profile:2147483648",
    "boa:0",
    "boa:1",
    "boa:7",
    "boa:50",
    "boa:1000",
};
#define N_SCHEMES (sizeof schemes / sizeof *schemes)
#define HOT       20000 /* parts of a million */

struct totals {
    uint64_t predicted, never_ran, noise, hits;
};

struct bench {
    struct program program;
    struct source source;
    struct hp_judge *together, *alone[N_SCHEMES];
    struct hp_path_predictor *predictors[N_SCHEMES];
    struct predict_reference *references[N_SCHEMES];
};

static void bench_init(struct bench *b, uint64_t seed, uint32_t max_length)
{
    struct hp_judge_config all = {
        .n_schemes = N_SCHEMES, .hot = HOT / 1e6, .max_length = max_length};
    program_init(&b->program, seed);
    b->source = (struct source){.source.branches = source_branches};
    for (size_t i = 0; i < N_SCHEMES; i++) {
        struct hp_judge_config one = {.n_schemes = 1, .hot = HOT / 1e6, .max_length = max_length};
        struct hp_path_predictor_config config = {.max_length = max_length};
        assert_int_equal(hp_scheme_parse(schemes[i], &all.schemes[i]), HP_OK);
        config.scheme = one.schemes[0] = all.schemes[i];
        assert_int_equal(hp_judge_new(&one, &b->source.source, &b->alone[i]), HP_OK);
        assert_int_equal(hp_path_predictor_new(&config, &b->predictors[i]), HP_OK);
        hp_path_predictor_start(b->predictors[i], b->program.sites[0].start);
        b->references[i] = predict_reference_new(&all.schemes[i], max_length);
    }
    assert_int_equal(hp_judge_new(&all, &b->source.source, &b->together), HP_OK);
}

static void bench_fini(struct bench *b)
{
    hp_judge_free(b->together);
    for (size_t i = 0; i < N_SCHEMES; i++) {
        hp_judge_free(b->alone[i]);
        hp_path_predictor_free(b->predictors[i]);
        predict_reference_free(b->references[i]);
    }
}

static void bench_step(struct bench *b, struct tested_path *at, uint32_t max_length)
{
    enum hp_flow kind = b->program.sites[b->program.at].kind;
    struct hp_flow_branch branch = program_step(&b->program);
    struct tested_path ended;
    bool ends = grow_path(at, &branch, max_length, &ended);
    for (size_t i = 0; i < N_SCHEMES; i++) {
        enum hp_news news = hp_path_predictor_branch(b->predictors[i], branch.address,
                                                     branch.target, branch.taken, kind);
        assert_int_equal(news != HP_NEWS_NOTHING, ends);
        if (!ends)
            continue;
        const struct tested_path *hot = predict_reference_run(b->references[i], &ended);
        compare_hot(hot, b->predictors[i], news);
        judge_path(b->alone[i], &b->source, &ended);
    }
    if (ends)
        judge_path(b->together, &b->source, &ended);
}

static void bench_compare(const struct bench *b, struct totals *totals)
{
    for (size_t i = 0; i < N_SCHEMES; i++) {
        struct hp_prediction want, have;
        predict_reference_measure(b->references[i], HOT, &want);
        hp_judge_result(b->alone[i], 0, &have);
        compare_measures(&want, &have);
        hp_judge_result(b->together, i, &have);
        compare_measures(&want, &have);
        const struct hp_path_predictor_stats *stats = hp_path_predictor_stats(b->predictors[i]);
        assert_int_equal(stats->flow, want.flow);
        assert_int_equal(stats->profiled, want.profiled);
        assert_int_equal(stats->predicted, want.predicted);
        assert_int_equal(stats->cost.counters, want.cost.counters);
        assert_int_equal(stats->cost.operations, want.cost.operations);
        assert_int_equal(stats->lost, 0);
        totals[i].predicted += want.predicted;
        totals[i].never_ran += want.never_ran;
        totals[i].noise += want.noise;
        totals[i].hits += want.hits;
    }
}

static void they_do_what_the_reference_does(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {1, 3, 16, 64};
    struct totals totals[N_SCHEMES] = {{0}};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct bench b;
        uint32_t max_length = lengths[seed % 4];
        bench_init(&b, seed, max_length);
        struct tested_path at = {.start = b.program.sites[0].start, .block = HP_NO_ID};
        for (uint32_t i = 0; i < 20000; i++)
            bench_step(&b, &at, max_length);
        bench_compare(&b, totals);
        bench_fini(&b);
    }
    /* the generator has to make what is to be tested */
    for (size_t i = 0; i < N_SCHEMES; i++) {
        bool huge = strcmp(schemes[i], "path-profile:2147483648") == 0;
        bool long_delay = strstr(schemes[i], ":1000") != NULL;
        assert_int_equal(totals[i].predicted != 0, !huge);
        assert_int_equal(totals[i].hits != 0, !huge);
        assert_true(totals[i].noise != 0 || huge || long_delay);
        assert_true(totals[i].never_ran == 0 || strncmp(schemes[i], "boa", 3) == 0);
    }
    assert_string_equal(schemes[15], "boa:7");
    assert_true(totals[15].never_ran > 0);
}

/* --- The predictor by hand -------------------------------------------------------------------- */

/* for (;;) { if (odd) ...; } at 100 ... 130: a branch at 110 to 120 every other time, and one back
 * at 130. */
static enum hp_news loop(struct hp_path_predictor *p, bool odd)
{
    enum hp_news news = hp_path_predictor_branch(p, 110, odd ? 120 : 111, odd, HP_FLOW_COND);
    assert_int_equal(news, HP_NEWS_NOTHING);
    return hp_path_predictor_branch(p, 130, 100, true, HP_FLOW_JUMP);
}

static struct hp_path_predictor *new_predictor(const char *scheme, uint64_t max_paths)
{
    struct hp_path_predictor_config config = {.max_paths = max_paths};
    struct hp_path_predictor *p;
    assert_int_equal(hp_scheme_parse(scheme, &config.scheme), HP_OK);
    assert_int_equal(hp_path_predictor_new(&config, &p), HP_OK);
    return p;
}

static void a_predictor_says_when_a_path_becomes_hot(void **state)
{
    (void)state;
    struct hp_path_predictor *p = new_predictor("net:2", 0);
    hp_path_predictor_start(p, 100);
    assert_int_equal(loop(p, true), HP_NEWS_STARTED);
    assert_int_equal(loop(p, false), HP_NEWS_STARTED);
    assert_false(hp_path_predictor_is_hot(p, 100));
    assert_int_equal(loop(p, true), HP_NEWS_HOT);
    assert_true(hp_path_predictor_is_hot(p, 100));
    assert_false(hp_path_predictor_is_hot(p, 130));
    const struct hp_hot_path *hot = hp_path_predictor_path(p);
    assert_int_equal(hot->start, 100);
    assert_int_equal(hot->length, 2);
    assert_int_equal(hot->outcomes, 3);
    assert_int_equal(hot->branches[0].address, 110);
    assert_int_equal(hot->branches[0].target, 120);
    assert_int_equal(hot->branches[1].target, 100);
    for (int i = 0; i < 10; i++) /* that one is not profiled any more */
        assert_int_equal(loop(p, true), HP_NEWS_STARTED);
    assert_int_equal(hp_path_predictor_stats(p)->profiled, 3);
    assert_int_equal(loop(p, false), HP_NEWS_STARTED);
    assert_int_equal(loop(p, false), HP_NEWS_STARTED);
    assert_int_equal(loop(p, false), HP_NEWS_HOT);
    assert_int_equal(hp_path_predictor_stats(p)->predicted, 2);
    hp_path_predictor_free(p);
}

static void starting_anew_forgets_the_path_at_hand(void **state)
{
    (void)state;
    struct hp_path_predictor *p = new_predictor("net:0", 0);
    /* before anything was started, a branch only says where control is */
    assert_int_equal(hp_path_predictor_branch(p, 50, 100, true, HP_FLOW_JUMP), HP_NEWS_STARTED);
    assert_int_equal(hp_path_predictor_stats(p)->flow, 0);
    hp_path_predictor_branch(p, 110, 120, true, HP_FLOW_COND);
    hp_path_predictor_start(p, 125);
    assert_int_equal(hp_path_predictor_branch(p, 130, 100, true, HP_FLOW_JUMP), HP_NEWS_HOT);
    assert_int_equal(hp_path_predictor_path(p)->start, 125);
    assert_int_equal(hp_path_predictor_path(p)->length, 1);
    hp_path_predictor_free(p);
}

static void a_full_predictor_predicts_no_more(void **state)
{
    (void)state;
    struct hp_path_predictor *p = new_predictor("net:0", 1);
    hp_path_predictor_start(p, 100);
    assert_int_equal(loop(p, true), HP_NEWS_HOT);
    assert_int_equal(loop(p, false), HP_NEWS_STARTED);
    assert_int_equal(hp_path_predictor_stats(p)->lost, 1);
    hp_path_predictor_free(p);
    p = new_predictor("path-profile:0", 1);
    hp_path_predictor_start(p, 100);
    assert_int_equal(loop(p, true), HP_NEWS_HOT);
    assert_int_equal(loop(p, false), HP_NEWS_STARTED);
    assert_int_equal(hp_path_predictor_stats(p)->lost, 1);
    hp_path_predictor_free(p);
}

/* Three branches, each time another one of them is not taken: each is likelier taken, but never all
 * three. */
static void boa_predicts_a_path_that_never_runs(void **state)
{
    (void)state;
    struct hp_path_predictor *p = new_predictor("boa:2", 0);
    enum hp_news news = HP_NEWS_NOTHING;
    hp_path_predictor_start(p, 100);
    for (uint64_t i = 0; i < 3; i++) {
        for (uint64_t k = 0; k < 3; k++)
            hp_path_predictor_branch(p, 110 + 10 * k, k == i ? 111 + 10 * k : 115 + 10 * k, k != i,
                                     HP_FLOW_COND);
        news = hp_path_predictor_branch(p, 140, 100, true, HP_FLOW_JUMP);
        assert_int_equal(news, i == 2 ? HP_NEWS_HOT : HP_NEWS_STARTED);
    }
    const struct hp_hot_path *hot = hp_path_predictor_path(p);
    assert_int_equal(hot->start, 100);
    assert_int_equal(hot->length, 4);
    assert_int_equal(hot->outcomes, 15);
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(hot->branches[k].target, 115 + 10 * k);
    /* a counter for the head, two for each of the three, one for the branch back */
    assert_int_equal(hp_path_predictor_stats(p)->cost.counters, 1 + 6 + 1);
    assert_int_equal(hp_path_predictor_stats(p)->cost.operations, 3 * (1 + 4) + 4);
    hp_path_predictor_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_do_what_the_reference_does),
        cmocka_unit_test(a_predictor_says_when_a_path_becomes_hot),
        cmocka_unit_test(starting_anew_forgets_the_path_at_hand),
        cmocka_unit_test(a_full_predictor_predicts_no_more),
        cmocka_unit_test(boa_predicts_a_path_that_never_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
