// SPDX-License-Identifier: MIT
/*
 * Caches and TLBs: every policy against one that is written down naively, and by hand.
 */
#include "machine/tlb.h"
#include "machine_naive.h"
#include "stream_fixture.h"

/* Line numbers are multiples of `apart`. */
static void compare_apart(uint64_t sets, uint32_t ways, enum hp_replacement replacement,
                          uint64_t seed, uint64_t apart)
{
    struct naive *naive = calloc(1, sizeof *naive);
    struct hp_cache cache;
    uint64_t hits = 0, line = 0;
    naive->sets = sets;
    naive->ways = ways;
    naive->replacement = replacement;
    naive->random = NAIVE_RANDOM;
    assert_int_equal(hp_cache_init(&cache, sets, ways, replacement), HP_OK);
    for (int i = 0; i < 20000; i++) {
        uint64_t evicted, entry = 0;
        /* Half at random in twice the cache, half close to the line before. */
        line = random_below(&seed, 2) ? random_below(&seed, (uint32_t)(2 * sets * ways))
                                      : line + random_below(&seed, 4);
        bool dirty = random_below(&seed, 4) == 0;
        bool hit = hp_cache_touch(&cache, line * apart, dirty);
        if (!hit)
            entry = hp_cache_insert(&cache, line * apart, dirty);
        assert_int_equal(hit, naive_access(naive, line * apart, dirty, &evicted));
        assert_int_equal(entry, evicted);
        hits += hit;
    }
    assert_in_range(hits, 1000, 19000); /* both happened often */
    hp_cache_fini(&cache);
    free(naive);
}

static void compare(uint64_t sets, uint32_t ways, enum hp_replacement replacement, uint64_t seed)
{
    compare_apart(sets, ways, replacement, seed, 1);
}

static void test_policies_are_the_naive_ones(void **state)
{
    static const struct {
        uint64_t sets;
        uint32_t ways;
    } shapes[] = {{64, 1}, {1, 1}, {16, 2}, {8, 4}, {4, 8}, {1, 16}, {2, 64}, {1, 64}};
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int policy = 0; policy < HP_REPLACEMENTS; policy++)
            compare(shapes[i].sets, shapes[i].ways, (enum hp_replacement)policy, i + 1);
    /* Ways need not be a power of two without a tree. */
    compare(8, 12, HP_LRU, 20);
    compare(1, 3, HP_LRU, 21);
    compare(8, 12, HP_RANDOM, 22);
    compare(4, 5, HP_RANDOM, 23);
    compare(4, 40, HP_LRU, 24);
    /* Many lines with the same low bits, in a wide set: where one was seen says nothing of the
     * next. */
    for (int policy = 0; policy < HP_REPLACEMENTS; policy++) {
        compare_apart(1, 64, (enum hp_replacement)policy, 25, 256);
        compare_apart(1, 32, (enum hp_replacement)policy, 26, 1 << 20);
    }
}

static void test_lru_by_hand(void **state)
{
    struct hp_cache cache;
    (void)state;
    assert_int_equal(hp_cache_init(&cache, 2, 2, HP_LRU), HP_OK);
    assert_false(
        hp_cache_touch(&cache, 0, false)); /* line 0 is not there although empty ways are 0 */
    assert_int_equal(hp_cache_insert(&cache, 0, false), 0);
    assert_int_equal(hp_cache_insert(&cache, 2, true), 0);
    assert_true(hp_cache_touch(&cache, 0, false));                   /* set 0: 0 2 */
    assert_int_equal(hp_cache_insert(&cache, 4, false), 2 << 2 | 3); /* 2 goes, dirty */
    assert_false(hp_cache_touch(&cache, 2, false));
    assert_true(hp_cache_touch(&cache, 0, true));
    assert_true(hp_cache_touch(&cache, 4, false));
    assert_int_equal(hp_cache_insert(&cache, 6, false), 0 << 2 | 3); /* 0 became dirty by a hit */
    assert_false(hp_cache_touch(&cache, 1, false));                  /* the other set is empty */
    hp_cache_fini(&cache);
}

static void test_plru_by_hand(void **state)
{
    struct hp_cache cache;
    (void)state;
    assert_int_equal(hp_cache_init(&cache, 1, 4, HP_PLRU), HP_OK);
    for (uint64_t line = 0; line < 4; line++)
        assert_int_equal(hp_cache_insert(&cache, line, false), 0);
    /* 3 last: the root points left; on the left 1 was last, so 0 goes. LRU says the same. */
    assert_int_equal(hp_cache_insert(&cache, 4, false), 0 << 2 | 1);
    /* 4 is in way 0: the root points right, where 3 was last: 2 goes. */
    assert_true(hp_cache_touch(&cache, 4, false));
    assert_int_equal(hp_cache_insert(&cache, 5, false), 2 << 2 | 1);
    /* Order of use now 1 3 4 5. LRU would take 1; the root points left, where 4 was last: 1 too. */
    assert_true(hp_cache_touch(&cache, 1, false));
    /* 3 4 5 1: the root points right, where 5 was last: 3. Use 3, and the tree takes 4 where LRU
     * has 4. */
    assert_true(hp_cache_touch(&cache, 3, false));
    assert_int_equal(hp_cache_insert(&cache, 6, false), 4 << 2 | 1);
    /* 5 1 3 6: way 0 has 6, so right; there 3 was last: 5. Use 5 and then 6: LRU has 1, the tree
     * takes 3. */
    assert_true(hp_cache_touch(&cache, 5, false));
    assert_true(hp_cache_touch(&cache, 6, false));
    assert_int_equal(hp_cache_insert(&cache, 7, false), 3 << 2 | 1);
    hp_cache_fini(&cache);
}

static void test_largest_lines(void **state)
{
    struct hp_cache cache;
    uint64_t line = UINT64_MAX >> 4;
    (void)state;
    for (int policy = 0; policy < HP_REPLACEMENTS; policy++) {
        assert_int_equal(hp_cache_init(&cache, 4, 2, (enum hp_replacement)policy), HP_OK);
        assert_false(hp_cache_touch(&cache, line, false));
        assert_int_equal(hp_cache_insert(&cache, line, true), 0);
        assert_true(hp_cache_touch(&cache, line, false));
        assert_false(hp_cache_touch(&cache, line - 4, false));
        hp_cache_fini(&cache);
    }
}

/* --- TLBs ------------------------------------------------------------------------------------- */

static void test_second_level_is_asked_on_misses(void **state)
{
    struct hp_tlb_config small = {.entries = 2, .ways = 2, .page = 4096};
    struct hp_tlb_config large = {.entries = 4, .ways = 4, .page = 4096};
    struct hp_tlb first, second;
    (void)state;
    assert_int_equal(hp_tlb_init(&first, &small), HP_OK);
    assert_int_equal(hp_tlb_init(&second, &large), HP_OK);
    first.next = &second;
    static const uint64_t pages[] = {1, 1, 2, 1, 3, 2, 3, 4, 5, 1};
    /*                               m  h  m  h  m  m  h  m  m  m: 2 was replaced by 3, 1 by 2 */
    static const bool hits[] = {0, 1, 0, 1, 0, 0, 1, 0, 0, 0};
    for (unsigned i = 0; i < sizeof hits; i++)
        assert_int_equal(hp_tlb_use(&first, pages[i]), hits[i]);
    assert_int_equal(first.misses, 7);
    assert_int_equal(second.lookups, 7);
    /* 1 2 3 are new, 2 is there; 4 fills it; 5 and then 1 (not used since the first time) are not
     * there. */
    assert_int_equal(second.misses, 6);
    hp_tlb_fini(&first);
    hp_tlb_fini(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies_are_the_naive_ones),
        cmocka_unit_test(test_lru_by_hand),
        cmocka_unit_test(test_plru_by_hand),
        cmocka_unit_test(test_largest_lines),
        cmocka_unit_test(test_second_level_is_asked_on_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
