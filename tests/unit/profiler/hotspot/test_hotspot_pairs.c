// SPDX-License-Identifier: MIT
/* Pairs of branches and targets, against a list: adding, and leaving the first ones only. */
#include "profiler/hotspot/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 2000

static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

struct list {
    uint64_t branches[MOST], targets[MOST];
    size_t n;
};

static void add(struct list *list, uint64_t branch, uint64_t target)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->branches[i] == branch && list->targets[i] == target)
            return;
    list->branches[list->n] = branch;
    list->targets[list->n++] = target;
}

/* The pairs of a branch are found from its latest one. */
static void expect_chain(const struct hp_spot_pairs *pairs, const struct list *list,
                         uint64_t branch)
{
    uint32_t latest = hp_map64_get(&pairs->latest, branch);
    uint32_t at = latest == HP_MAP64_NONE ? 0 : latest + 1;
    for (size_t i = list->n; i-- > 0;) {
        if (list->branches[i] != branch)
            continue;
        assert_int_equal(at, i + 1);
        at = pairs->pairs[i].before;
    }
    assert_int_equal(at, 0);
}

static void pairs_are_those_of_a_list(void **state)
{
    (void)state;
    struct hp_spot_pairs *pairs = calloc(1, sizeof *pairs);
    struct list *list = calloc(1, sizeof *list);
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 100 && list->n < MOST; i++) {
            uint64_t branch = random_below(50), target = random_below(60);
            assert_int_equal(hp_spot_pairs_add(pairs, branch, target), HP_OK);
            add(list, branch, target);
        }
        if (random_below(2)) {
            list->n -= random_below((uint32_t)list->n + 1) / (1 + random_below(9));
            assert_int_equal(hp_spot_pairs_cut(pairs, list->n), HP_OK);
        }
        assert_int_equal(pairs->n, list->n);
        for (size_t i = 0; i < list->n; i++) {
            assert_int_equal(pairs->pairs[i].branch, list->branches[i]);
            assert_int_equal(pairs->pairs[i].target, list->targets[i]);
        }
        for (uint64_t branch = 0; branch < 50; branch++)
            expect_chain(pairs, list, branch);
    }
    hp_spot_pairs_fini(pairs);
    free(pairs);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_those_of_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
