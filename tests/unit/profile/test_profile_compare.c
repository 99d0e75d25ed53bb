// SPDX-License-Identifier: MIT
/* Comparing, with numbers worked out by hand. */
#include "profile_random.h"

#include <math.h>

static struct hp_profile *empty_profile(void)
{
    struct hp_profile *p;
    struct hp_pthread *thread;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    return p;
}

static uint32_t add_module(struct hp_profile *p, const char *path, const char *build_id)
{
    struct hp_pmodule *module;
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    module->path = hp_profile_string(p, path);
    module->build_id = hp_profile_string(p, build_id);
    return (uint32_t)p->n_modules - 1;
}

/* A function of one block of `insns` instructions, executed `count` times in a thread, with one
 * edge that leads from its end to its start. */
static void add_code(struct hp_profile *p, uint32_t module, uint64_t offset, const char *name,
                     uint32_t insns, uint32_t thread, uint64_t count)
{
    struct hp_pfunction *function;
    struct hp_pblock *block;
    struct hp_pedge *edge;
    struct hp_pcount *counter;
    struct hp_pfunction_count *function_counter;
    assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
    function->place = (struct hp_place){module, offset};
    function->name = hp_profile_string(p, name);
    assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
    *block = (struct hp_pblock){
        .place = {module, offset},
        .size = insns * 4,
        .insns = insns,
        .function = (uint32_t)p->n_functions - 1,
        .flow = HP_FLOW_JUMP,
        .branch = insns * 4 - 4,
    };
    assert_int_equal(hp_profile_add_edge(p, &edge), HP_OK);
    *edge = (struct hp_pedge){{module, offset + insns * 4 - 4}, {module, offset}, HP_FLOW_JUMP, 1};
    assert_int_equal(hp_profile_add_block_count(p, &counter), HP_OK);
    *counter = (struct hp_pcount){(uint32_t)p->n_blocks - 1, thread, count};
    assert_int_equal(hp_profile_add_edge_count(p, &counter), HP_OK);
    *counter = (struct hp_pcount){(uint32_t)p->n_edges - 1, thread, count};
    assert_int_equal(hp_profile_add_function_count(p, &function_counter), HP_OK);
    *function_counter = (struct hp_pfunction_count){(uint32_t)p->n_functions - 1, thread,
                                                    count * insns, count * insns, 1};
    p->threads[thread].instructions += count * insns;
}

static struct hp_comparison *compare(struct hp_profile *a, struct hp_profile *b)
{
    struct hp_comparison *comparison;
    assert_int_equal(hp_profile_normalize(a), HP_OK);
    assert_int_equal(hp_profile_normalize(b), HP_OK);
    assert_int_equal(hp_profile_compare(a, b, &comparison), HP_OK);
    return comparison;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12f is not %.12f", value, expected);
}

static void assert_move(const struct hp_move *move, const char *name, const char *module,
                        uint64_t a, uint64_t b, double share_a, double share_b)
{
    assert_string_equal(move->name, name);
    assert_string_equal(move->module, module);
    assert_int_equal(move->a, a);
    assert_int_equal(move->b, b);
    assert_near(move->share_a, share_a);
    assert_near(move->share_b, share_b);
}

/*
 * The worked example of docs/profile.md.
 *   A: parse 10 x 10 = 100 (over two threads 4 + 6), sort 30 x 10 = 300, print 20 x 5 = 100: 500
 *   B: parse 20 x 10 = 200, sort 10 x 10 = 100, hash 10 x 10 = 100:                         400
 * blocks: min(.2, .5) + min(.6, .25) = .45; edges: min(10/60, 20/40) + min(30/60, 10/40) = 5/12.
 */
static void worked_example(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    uint32_t m = add_module(a, "/bin/prog", "abc");
    add_code(a, m, 0x100, "parse", 10, 0, 4);
    add_code(a, m, 0x100, "parse", 10, 1, 6);
    add_code(a, m, 0x200, "sort", 10, 0, 30);
    add_code(a, m, 0x300, "print", 5, 1, 20);
    add_module(b, "/a/first", "zzz");
    m = add_module(b, "/opt/prog", "abc");
    add_code(b, m, 0x400, "hash", 10, 0, 10);
    add_code(b, m, 0x100, "parse", 10, 0, 20);
    add_code(b, m, 0x200, "sort", 10, 1, 10);
    struct hp_comparison *c = compare(a, b);
    assert_near(c->block_overlap, 45.0);
    assert_near(c->edge_overlap, 500.0 / 12);
    assert_near(c->function_overlap, 45.0);
    assert_int_equal(c->instructions_a, 500);
    assert_int_equal(c->instructions_b, 400);
    assert_int_equal(c->n_moves, 4);
    assert_move(&c->moves[0], "sort", "/bin/prog", 300, 100, 0.6, 0.25);
    assert_move(&c->moves[1], "parse", "/bin/prog", 100, 200, 0.2, 0.5);
    assert_move(&c->moves[2], "hash", "/opt/prog", 0, 100, 0, 0.25);
    assert_move(&c->moves[3], "print", "/bin/prog", 100, 0, 0.2, 0);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

/* Another build: offsets mean nothing, names do; what has no name is not matched. */
static void other_builds_are_matched_by_name(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    uint32_t prog = add_module(a, "/old/prog", "1"), libc = add_module(a, "/lib/libc", "c");
    add_code(a, prog, 0x100, "work", 10, 0, 5);
    add_code(a, prog, 0x180, "helper", 10, 0, 1);
    add_code(a, prog, 0x1c0, "helper", 10, 0, 1);
    add_code(a, prog, 0x200, "", 10, 0, 1);
    add_code(a, libc, 0x100, "memcpy", 10, 0, 2);
    prog = add_module(b, "/new/prog", "2");
    libc = add_module(b, "/usr/lib/libc", "c");
    add_code(b, prog, 0x140, "work", 10, 0, 5);
    add_code(b, prog, 0x100, "helper", 10, 0, 2);
    add_code(b, prog, 0x200, "", 10, 0, 1);
    add_code(b, libc, 0x100, "memcpy", 10, 0, 2);
    struct hp_comparison *c = compare(a, b);
    assert_near(c->block_overlap, 20.0);
    assert_near(c->edge_overlap, 20.0);
    assert_near(c->function_overlap, 90.0);
    assert_int_equal(c->n_moves, 5);
    assert_move(&c->moves[0], "prog+0x200", "/new/prog", 0, 10, 0, 0.1);
    assert_move(&c->moves[1], "prog+0x200", "/old/prog", 10, 0, 0.1, 0);
    assert_move(&c->moves[2], "helper", "/old/prog", 20, 20, 0.2, 0.2);
    assert_move(&c->moves[3], "memcpy", "/lib/libc", 20, 20, 0.2, 0.2);
    assert_move(&c->moves[4], "work", "/old/prog", 50, 50, 0.5, 0.5);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

/* Without build ids the whole path counts; a build id on one side only is another module. */
static void modules_without_build_id_match_by_path(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    add_code(a, add_module(a, "/x/prog", ""), 0, "f", 1, 0, 1);
    add_code(a, add_module(a, "/y/prog", ""), 0, "g", 1, 0, 2);
    add_code(a, add_module(a, "/z/prog", "id"), 0, "h", 1, 0, 1);
    add_code(b, add_module(b, "/x/prog", ""), 0, "f", 1, 0, 1);
    add_code(b, add_module(b, "/w/prog", ""), 0, "g", 1, 0, 2);
    add_code(b, add_module(b, "/z/prog", ""), 0, "h", 1, 0, 1);
    struct hp_comparison *c = compare(a, b);
    assert_near(c->block_overlap, 25.0);
    assert_near(c->edge_overlap, 25.0);
    assert_true(c->function_overlap == 100.0);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void identical_profiles_overlap_entirely(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct hp_profile *a = random_profile(seed, 3 + seed * 9);
        struct hp_profile *b = random_profile(seed, 3 + seed * 9);
        struct hp_comparison *c = compare(a, b);
        assert_true(c->block_overlap == 100.0);
        assert_true(c->edge_overlap == 100.0);
        assert_true(c->function_overlap == 100.0);
        size_t weighty = 0;
        assert_true(!c->has_loops ||
                    (c->loop_instructions == 100.0 && c->loop_iterations == 100.0));
        for (size_t i = 0; i < c->n_kinds; i++) {
            assert_true(c->kinds[i].executions == 100.0 && c->kinds[i].instructions == 100.0);
            weighty++;
        }
        assert_true(weighty == 2 || seed < 4);
        for (size_t i = 0; i < c->n_moves; i++)
            assert_true(c->moves[i].share_a == c->moves[i].share_b);
        hp_comparison_free(c);
        /* The same shares in more runs, too. */
        assert_int_equal(hp_profile_merge(b, a), HP_OK);
        assert_int_equal(hp_profile_merge(b, a), HP_OK);
        assert_int_equal(hp_profile_compare(a, b, &c), HP_OK);
        assert_true(c->block_overlap == 100.0);
        assert_true(c->edge_overlap == 100.0);
        assert_true(c->function_overlap == 100.0);
        hp_comparison_free(c);
        hp_profile_free(a);
        hp_profile_free(b);
    }
}

static void add_path(struct hp_profile *p, const char *kind, uint32_t module, uint64_t offset,
                     uint64_t outcomes, uint32_t length, uint64_t count, uint64_t insns)
{
    struct hp_ppath *path;
    struct hp_ppath_count *counter;
    assert_int_equal(hp_profile_add_path(p, &path), HP_OK);
    *path = (struct hp_ppath){.kind = hp_profile_string(p, kind),
                              .start = {module, offset},
                              .outcomes = outcomes,
                              .length = length,
                              .function = HP_PROFILE_NONE};
    assert_int_equal(hp_profile_add_path_count(p, &counter), HP_OK);
    *counter = (struct hp_ppath_count){(uint32_t)p->n_paths - 1, 0, count, insns, count};
}

/*
 * A, bl: 0x10.10 3 times (30 instructions), 0x10.11 once (70). B: 0x10.10 once (50), 0x10.010 once
 * (50). executions: min(.75, .5) = .5; instructions: min(.3, .5) = .3. Kinds that one of them lacks
 * are not there.
 */
static void paths_overlap_by_kind(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    uint32_t m = add_module(a, "/bin/prog", "abc");
    add_path(a, "bl", m, 0x10, 2, 2, 3, 30);
    add_path(a, "bl", m, 0x10, 3, 2, 1, 70);
    add_path(a, "wpp", m, 0x10, 3, 2, 1, 70);
    add_path(a, "forward", m, 0x20, 1, 1, 1, 70);
    add_module(b, "/a/first", "zzz");
    m = add_module(b, "/opt/prog", "abc");
    add_path(b, "bl", m, 0x10, 2, 2, 1, 50);
    add_path(b, "bl", m, 0x10, 2, 3, 1, 50);
    add_path(b, "extended-loop:1", m, 0x10, 2, 3, 1, 50);
    add_path(b, "wpp", m, 0x30, 3, 2, 1, 70);
    struct hp_comparison *c = compare(a, b);
    assert_int_equal(c->n_kinds, 2);
    assert_string_equal(c->kinds[0].kind, "bl");
    assert_near(c->kinds[0].executions, 50);
    assert_near(c->kinds[0].instructions, 30);
    assert_string_equal(c->kinds[1].kind, "wpp");
    assert_near(c->kinds[1].executions, 0);
    assert_near(c->kinds[1].instructions, 0);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

/* The slow, obvious way for edges: every pair. */
static double edges_pair_by_pair(const struct hp_profile *a, const struct hp_profile *b)
{
    double total_a = 0, total_b = 0, sum = 0;
    double *weight_a = calloc(a->n_edges + 1, sizeof *weight_a);
    double *weight_b = calloc(b->n_edges + 1, sizeof *weight_b);
    for (size_t i = 0; i < a->n_edge_counts; i++) {
        weight_a[a->edge_counts[i].item] += (double)a->edge_counts[i].count;
        total_a += (double)a->edge_counts[i].count;
    }
    for (size_t i = 0; i < b->n_edge_counts; i++) {
        weight_b[b->edge_counts[i].item] += (double)b->edge_counts[i].count;
        total_b += (double)b->edge_counts[i].count;
    }
    for (size_t i = 0; i < a->n_edges; i++)
        for (size_t j = 0; j < b->n_edges; j++) {
            const struct hp_pedge *x = &a->edges[i], *y = &b->edges[j];
            const uint32_t modules[2][2] = {{x->from.module, y->from.module},
                                            {x->to.module, y->to.module}};
            bool same = x->from.offset == y->from.offset && x->to.offset == y->to.offset &&
                        x->flow == y->flow && x->taken == y->taken;
            for (int k = 0; k < 2 && same; k++) {
                uint32_t m = modules[k][0], n = modules[k][1];
                if (m == HP_PROFILE_NONE || n == HP_PROFILE_NONE) {
                    same = m == n;
                    continue;
                }
                const struct hp_pmodule *u = &a->modules[m], *v = &b->modules[n];
                same = strcmp(u->build_id, v->build_id) == 0 &&
                       (*u->build_id || strcmp(u->path, v->path) == 0);
            }
            if (same)
                sum += fmin(weight_a[i] / total_a, weight_b[j] / total_b);
        }
    free(weight_a);
    free(weight_b);
    return sum * 100;
}

static void add_loop(struct hp_profile *p, uint32_t module, uint64_t header, uint32_t parent,
                     uint64_t iterations, uint64_t self)
{
    struct hp_ploop *loop;
    struct hp_ploop_count *count;
    assert_int_equal(hp_profile_add_loop(p, &loop), HP_OK);
    loop->header = (struct hp_place){module, header};
    loop->function = HP_PROFILE_NONE;
    loop->parent = parent;
    assert_int_equal(hp_profile_add_loop_count(p, &count), HP_OK);
    *count = (struct hp_ploop_count){.item = (uint32_t)p->n_loops - 1,
                                     .executions = 1,
                                     .iterations = iterations,
                                     .min = iterations,
                                     .max = iterations,
                                     .self = self};
}

/*
 * A: outer 10 iterations, 1000 instructions of which 700 in inner (90 iterations): weights 300 and
 * 700 B: outer 30 iterations, 100 instructions; another one, 70 iterations, 100 instructions
 * instructions: min(.3, .5) = 30 %; iterations: min(.1, .3) = 10 %.
 */
static void loops_overlap_without_what_is_nested(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    uint32_t m = add_module(a, "/bin/prog", "abc");
    add_loop(a, m, 0x100, HP_PROFILE_NONE, 10, 1000);
    add_loop(a, m, 0x110, 0, 90, 700);
    m = add_module(b, "/bin/prog", "abc");
    add_loop(b, m, 0x100, HP_PROFILE_NONE, 30, 100);
    add_loop(b, m, 0x200, HP_PROFILE_NONE, 70, 100);
    struct hp_comparison *c = compare(a, b);
    assert_true(c->has_loops);
    assert_near(c->loop_instructions, 30);
    assert_near(c->loop_iterations, 10);
    hp_comparison_free(c);
    b->n_loops = b->n_loop_counts = 0;
    c = compare(a, b);
    assert_false(c->has_loops);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void edges_overlap_as_pair_by_pair(void **state)
{
    (void)state;
    double largest = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct hp_profile *a = random_profile(seed, 900), *b = random_profile(seed + 500, 1100);
        struct hp_comparison *c = compare(a, b);
        assert_near(c->edge_overlap, edges_pair_by_pair(a, b));
        largest = fmax(largest, c->edge_overlap);
        struct hp_comparison *back;
        assert_int_equal(hp_profile_compare(b, a, &back), HP_OK);
        assert_near(back->edge_overlap, c->edge_overlap);
        assert_near(back->block_overlap, c->block_overlap);
        assert_near(back->function_overlap, c->function_overlap);
        hp_comparison_free(c);
        hp_comparison_free(back);
        hp_profile_free(a);
        hp_profile_free(b);
    }
    assert_true(largest > 0.1);
}

static void nothing_compares_with_nothing(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    struct hp_comparison *c = compare(a, b);
    assert_true(c->block_overlap == 100.0 && c->edge_overlap == 100.0);
    assert_int_equal(c->n_moves, 0);
    hp_comparison_free(c);
    add_code(b, add_module(b, "x", ""), 0, "f", 1, 0, 1);
    c = compare(a, b);
    assert_true(c->block_overlap == 0.0 && c->function_overlap == 0.0);
    assert_int_equal(c->n_moves, 1);
    hp_comparison_free(c);
    hp_comparison_free(NULL);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void huge_counts_stay_within_bounds(void **state)
{
    (void)state;
    struct hp_profile *a = empty_profile(), *b = empty_profile();
    for (uint64_t i = 0; i < 5; i++) {
        uint32_t m = add_module(a, "x", "1"), n = add_module(b, "x", "1");
        add_code(a, m, i * 4000, "f", 900, 0, UINT64_MAX / 2 - i);
        add_code(b, n, i * 4000, "f", 900, 0, UINT64_MAX / (i + 1));
    }
    struct hp_comparison *c = compare(a, b);
    assert_true(c->block_overlap >= 0 && c->block_overlap <= 100);
    assert_true(c->edge_overlap >= 0 && c->edge_overlap <= 100);
    assert_true(c->function_overlap >= 0 && c->function_overlap <= 100);
    hp_comparison_free(c);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void profiles_that_are_not_normal_are_refused(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(1, 50), *b = random_profile(1, 50);
    struct hp_comparison *c;
    assert_int_equal(hp_profile_normalize(a), HP_OK);
    assert_int_equal(hp_profile_compare(a, b, &c), HP_ERR_INVALID);
    assert_int_equal(hp_profile_compare(b, a, &c), HP_ERR_INVALID);
    hp_profile_free(a);
    hp_profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(other_builds_are_matched_by_name),
        cmocka_unit_test(modules_without_build_id_match_by_path),
        cmocka_unit_test(identical_profiles_overlap_entirely),
        cmocka_unit_test(paths_overlap_by_kind),
        cmocka_unit_test(loops_overlap_without_what_is_nested),
        cmocka_unit_test(edges_overlap_as_pair_by_pair),
        cmocka_unit_test(nothing_compares_with_nothing),
        cmocka_unit_test(huge_counts_stay_within_bounds),
        cmocka_unit_test(profiles_that_are_not_normal_are_refused),
    };
    return cmocka_run_group_tests_name("profile compare", tests, NULL, NULL);
}
