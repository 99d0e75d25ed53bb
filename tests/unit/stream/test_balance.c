// SPDX-License-Identifier: MIT
/*
 * Counts that follow from others: random walks whose every step is known, of which an arena says
 * which need not be counted.
 */
#include "stream/balance.h"

#include "engine/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PLACES 300 /* addresses */
#define WAYS   900 /* between them: segment i + 1 leads from one to another */
#define STEPS  20000

struct way {
    uint64_t from, to;
    uint64_t count;
    bool derived;
};

static uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* An arena that has nothing but what hp_arena_derive() needs. */
static struct hp_arena *new_arena(uint32_t derived)
{
    uint64_t at = sizeof(struct hp_arena);
    struct hp_arena_shape shape = {.counted = WAYS + 1, .derived = derived, .derived_data = at};
    shape.flow_parents = at += derived * sizeof(struct hp_derived);
    shape.flow_states = at += HP_FLOW_NODES * 4ull;
    struct hp_arena *arena = calloc(1, at + shape.counted);
    assert_non_null(arena);
    arena->shape = shape;
    return arena;
}

static const struct hp_derived *derived_of(const struct hp_arena *arena)
{
    return (const struct hp_derived *)(const void *)((const char *)arena +
                                                     arena->shape.derived_data);
}

static uint64_t place(uint64_t *state)
{
    return 0x400000 + 7 * (random_next(state) % PLACES);
}

static void make_ways(struct way ways[WAYS], uint64_t *state)
{
    for (int i = 0; i < WAYS; i++)
        ways[i] = (struct way){.from = place(state), .to = place(state)};
}

/* Any way that leads from `at`; NULL: none. */
static struct way *way_from(struct way ways[WAYS], uint64_t at, uint64_t *state)
{
    uint32_t first = random_next(state) % WAYS;
    for (uint32_t i = 0; i < WAYS; i++)
        if (ways[(first + i) % WAYS].from == at)
            return &ways[(first + i) % WAYS];
    return NULL;
}

/* Walks; where no way leads on, and now and then, it goes on elsewhere. */
static void walk(struct way ways[WAYS], struct hp_arena *arena, struct hp_balance *balance,
                 uint64_t *state)
{
    uint64_t at = place(state);
    hp_balance_add(balance, 0, hp_flow_node(at), 1);
    for (int i = 0; i < STEPS; i++) {
        struct way *way = random_next(state) % 50 ? way_from(ways, at, state) : NULL;
        uint64_t to = way ? way->to : place(state);
        if (way) {
            way->count++;
            way->derived =
                hp_arena_derive(arena, (uint32_t)(way - ways) + 1, way->count % 2, at, to);
        } else {
            hp_balance_add(balance, hp_flow_node(at), hp_flow_node(to), 1);
        }
        at = to;
    }
    hp_balance_add(balance, hp_flow_node(at), 0, 1);
}

/* Each way is two, one taken and one not: half of its steps are of each. */
static uint64_t count_of(const struct way *way, bool taken)
{
    return (way->count + taken) / 2;
}

static bool is_derived(const struct hp_arena *arena, uint32_t segment, uint32_t direction)
{
    for (uint32_t i = 0; i < arena->n_derived && i < arena->shape.derived; i++)
        if (derived_of(arena)[i].segment == segment && derived_of(arena)[i].direction == direction)
            return true;
    return false;
}

static void check_walk(uint64_t seed, uint32_t room)
{
    static struct way ways[WAYS];
    uint64_t state = seed, counts[2 * WAYS];
    struct hp_arena *arena = new_arena(room);
    struct hp_balance *balance;
    assert_int_equal(hp_balance_new(&balance), HP_OK);
    make_ways(ways, &state);
    walk(ways, arena, balance, &state);
    for (uint32_t i = 0; i < WAYS; i++)
        for (uint32_t taken = 0; taken < 2; taken++)
            if (!is_derived(arena, i + 1, taken))
                hp_balance_add(balance, hp_flow_node(ways[i].from), hp_flow_node(ways[i].to),
                               count_of(&ways[i], taken));
    uint32_t n = arena->n_derived < room ? arena->n_derived : room;
    assert_int_equal(hp_balance_solve(balance, derived_of(arena), n, counts), 0);
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_derived *edge = &derived_of(arena)[i];
        assert_int_equal(counts[i], count_of(&ways[edge->segment - 1], edge->direction));
    }
    assert_true(n > (room < 100 ? 0 : PLACES / 2)); /* most places are reached without a counter */
    hp_balance_free(balance);
    free(arena);
}

static void test_walks(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_walk(seed, 2 * WAYS);
    check_walk(77, 40); /* no room for more */
}

static void test_answers_stay(void **unused)
{
    (void)unused;
    struct hp_arena *arena = new_arena(8);
    assert_true(hp_arena_derive(arena, 1, true, 16, 32));
    assert_true(hp_arena_derive(arena, 1, false, 32, 48));
    assert_false(hp_arena_derive(arena, 2, true, 48, 16)); /* closes a cycle */
    assert_true(hp_arena_derive(arena, 1, true, 16, 32));
    assert_false(hp_arena_derive(arena, 2, true, 48, 64)); /* as it was */
    assert_false(hp_arena_derive(arena, 3, false, 80, 80));
    assert_false(hp_arena_count(arena, 4, false)); /* chosen to be counted */
    assert_false(hp_arena_derive(arena, 4, false, 96, 112));
    assert_true(hp_arena_derive(arena, 4, true, 96, 112)); /* so the other way need not be */
    assert_true(hp_arena_count(arena, 1, true));           /* as it was */
    assert_int_equal(arena->n_derived, 3);
    free(arena);
}

/* What is no forest, or would be negative, has no count, and the rest does. */
static void test_bad_edges(void **unused)
{
    (void)unused;
    const struct hp_derived edges[] = {
        {1, 0, 10, 11}, {2, 0, 11, 12}, {3, 0, 12, 10}, {4, 0, 20, 21}, {5, 0, 30, 31}};
    uint64_t counts[5];
    struct hp_balance *balance;
    assert_int_equal(hp_balance_new(&balance), HP_OK);
    hp_balance_add(balance, 0, 20, 7);
    hp_balance_add(balance, 21, 0, 7);
    hp_balance_add(balance, 30, 0, 2); /* left, and never arrived */
    assert_int_equal(hp_balance_solve(balance, edges, 5, counts), 4);
    assert_int_equal(counts[3], 7);
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[4], 0);
    hp_balance_free(balance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_answers_stay),
        cmocka_unit_test(test_bad_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
