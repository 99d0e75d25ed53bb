// SPDX-License-Identifier: MIT
/* What everything stands on: errors, growing arrays, maps, strings, files that appear whole. */
#include "base/bisect.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/heap.h"
#include "base/keyed.h"
#include "base/lists.h"
#include "base/map64.h"
#include "base/outfile.h"
#include "base/strings.h"
#include "base/tally64.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* --- Errors ----------------------------------------------------------------------------------- */

static void *fail_elsewhere(void *data)
{
    (void)data;
    hp_fail(HP_ERR_IO, "in the other thread");
    return NULL;
}

static void the_last_failure_has_a_text(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(hp_fail(HP_ERR_FORMAT, "%s at %d", "wrong", 7), HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "wrong at 7");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(hp_error_text(), "wrong at 7");
    assert_int_equal(hp_fail_nomem(), HP_ERR_NOMEM);
    assert_string_equal(hp_error_text(), "out of memory");
    char *text = malloc(10001);
    memset(text, 'x', 10000);
    text[10000] = 0;
    hp_fail(HP_ERR_IO, "%s", text); /* cut off, not overrun */
    assert_in_range(strlen(hp_error_text()), 100, 10000);
    free(text);
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int i = HP_ERR_INTERNAL; i <= HP_OK; i++)
        for (int k = HP_ERR_INTERNAL; k < i; k++)
            assert_string_not_equal(hp_errstr((enum hp_err)i), hp_errstr((enum hp_err)k));
    assert_string_equal(hp_errstr((enum hp_err)99), "unknown error");
}

/* --- Binary search ---------------------------------------------------------------------------- */

static void bisection_finds_the_first(void **state)
{
    (void)state;
    const int sorted[] = {1, 3, 3, 3, 7};
    for (int value = 0; value < 9; value++)
        for (size_t from = 0; from <= 5; from++)
            for (size_t to = from; to <= 5; to++) {
                size_t first = from, behind = from;
                while (first < to && sorted[first] < value)
                    first++;
                while (behind < to && sorted[behind] <= value)
                    behind++;
                assert_int_equal(HP_BISECT(i, from, to, sorted[i] < value), first);
                assert_int_equal(HP_BISECT(i, from, to, sorted[i] <= value), behind);
            }
}

/* --- Arrays ----------------------------------------------------------------------------------- */

static int compare_pairs(const void *left, const void *right)
{
    const int *a = left, *b = right;
    return HP_COMPARE(b[0], a[0]) ?: HP_COMPARE(a[1], b[1]);
}

static void the_first_key_that_differs_decides(void **state)
{
    (void)state;
    int pairs[][2] = {{1, 5}, {2, 7}, {1, 4}, {2, 6}};
    const int sorted[][2] = {{2, 6}, {2, 7}, {1, 4}, {1, 5}};
    qsort(pairs, 4, sizeof *pairs, compare_pairs);
    assert_memory_equal(pairs, sorted, sizeof sorted);
}

static int released;

static void count_release(int *value)
{
    released += *value;
}

static enum hp_err fail_with_two_held(enum hp_err err)
{
    int first HP_CLEANUP(count_release) = 1;
    char *memory HP_CLEANUP(hp_free) = malloc(8); /* the sanitizers see a leak */
    assert_non_null(memory);
    HP_TRY(err);
    first = 10;
    return HP_OK;
}

static void what_is_held_is_released_however_a_function_ends(void **state)
{
    (void)state;
    released = 0;
    assert_int_equal(fail_with_two_held(HP_ERR_IO), HP_ERR_IO);
    assert_int_equal(released, 1);
    assert_int_equal(fail_with_two_held(HP_OK), HP_OK);
    assert_int_equal(released, 11);
}

static void arrays_grow_and_new_room_is_zero(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t capacity = 0, grown = 0;
    for (size_t n = 1; n <= 10000; n++) {
        size_t before = capacity;
        assert_int_equal(hp_grow(&array, &capacity, n, sizeof *array), HP_OK);
        assert_true(capacity >= n);
        grown += capacity != before;
        assert_int_equal(array[n - 1], 0);
        array[n - 1] = (uint32_t)n;
    }
    assert_true(grown < 30);
    for (uint32_t n = 1; n <= 10000; n++)
        assert_int_equal(array[n - 1], n);
    free(array);
}

static void new_arrays_are_zero_and_may_be_empty(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    assert_int_equal(hp_new(&array, 3, sizeof *array), HP_OK);
    assert_int_equal(array[0] | array[1] | array[2], 0);
    free(array);
    assert_int_equal(hp_new(&array, 0, sizeof *array), HP_OK);
    assert_non_null(array);
    free(array);
    assert_int_equal(hp_new(&array, SIZE_MAX, sizeof *array), HP_ERR_NOMEM);
    assert_null(array);
}

static bool is_less(const void *a, const void *b)
{
    return *(const uint32_t *)a < *(const uint32_t *)b;
}

static void heaps_give_the_first(void **state)
{
    (void)state;
    uint32_t heap[200], value, taken = 0;
    for (uint32_t i = 0; i < 200; i++) {
        value = i * 7919 % 101;
        hp_heap_put(heap, i, sizeof value, &value, is_less);
    }
    for (size_t n = 200; n; n--) {
        hp_heap_take(heap, n, sizeof value, &value, is_less);
        assert_true(value >= taken);
        taken = value;
    }
    assert_int_equal(taken, 100);
}

static void arrays_that_cannot_grow_stay(void **state)
{
    (void)state;
    uint64_t *array = NULL;
    size_t capacity = 0;
    assert_int_equal(hp_grow(&array, &capacity, 1, sizeof *array), HP_OK);
    array[0] = 42;
    uint64_t *before = array;
    size_t room = capacity;
    assert_int_equal(hp_grow(&array, &capacity, SIZE_MAX, sizeof *array), HP_ERR_NOMEM);
    assert_int_equal(hp_grow(&array, &capacity, SIZE_MAX / 8 + 1, sizeof *array), HP_ERR_NOMEM);
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, room);
    assert_int_equal(array[0], 42);
    free(array);
}

/* --- Maps ------------------------------------------------------------------------------------- */

/* Keys that are alike in their low or in their high bits, each put twice. */
static uint64_t key(uint64_t i, int kind)
{
    switch (kind) {
    case 0: return i;
    case 1: return i << 32;
    case 2: return i << 48 | 7;
    case 3: return i * 4096;
    default: return i * 0x9e3779b97f4a7c15u;
    }
}

static void maps_keep_what_is_put(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        struct hp_map64 map = {0};
        uint32_t n = kind == 2 ? 60000 : 100000;
        assert_int_equal(hp_map64_get(&map, 0), HP_MAP64_NONE);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(hp_map64_get(&map, key(i, kind)), HP_MAP64_NONE);
            assert_int_equal(hp_map64_put(&map, key(i, kind), i), HP_OK);
            size_t mask = map.mask;
            assert_int_equal(hp_map64_put(&map, key(i, kind), i + 1), HP_OK);
            assert_int_equal(map.mask, mask); /* a key that is there needs no room */
        }
        assert_int_equal(map.used, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(hp_map64_get(&map, key(i, kind)), i + 1);
        hp_map64_fini(&map);
        assert_int_equal(hp_map64_get(&map, key(1, kind)), HP_MAP64_NONE);
        assert_int_equal(hp_map64_put(&map, UINT64_MAX, 3), HP_OK);
        assert_int_equal(hp_map64_get(&map, UINT64_MAX), 3);
        hp_map64_fini(&map);
    }
}

static void tallies_count_each_key(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        struct hp_tally64 tally = {0};
        assert_null(hp_tally64_get(&tally, 0));
        for (uint64_t i = 0; i < 60000; i++) {
            assert_null(hp_tally64_get(&tally, key(i, kind)));
            uint64_t *count = hp_tally64_add(&tally, key(i, kind));
            assert_non_null(count);
            assert_int_equal(*count, 0);
            *count += i + 1;
            assert_ptr_equal(hp_tally64_add(&tally, key(i, kind)), count);
        }
        assert_int_equal(tally.used, 60000);
        for (uint64_t i = 0; i < 60000; i++)
            assert_int_equal(*hp_tally64_get(&tally, key(i, kind)), i + 1);
        hp_tally64_fini(&tally);
        assert_null(hp_tally64_get(&tally, key(1, kind)));
        assert_non_null(hp_tally64_add(&tally, key(1, kind)));
        hp_tally64_fini(&tally);
    }
}

/* Keys that change places while they are counted. */
static void tallies_keep_what_is_counted_often_near(void **state)
{
    (void)state;
    enum { KEYS = 3000 };
    for (int kind = 0; kind < 5; kind++) {
        struct hp_tally64 tally = {0};
        uint64_t counts[KEYS] = {0}, random = 1;
        for (uint64_t i = 0; i < KEYS; i++)
            assert_non_null(hp_tally64_add(&tally, key(i, kind)));
        for (int n = 0; n < 200000; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t i = (random >> 33) % ((random >> 62) * KEYS + 7) % KEYS;
            counts[i]++;
            struct hp_tally64_slot *home = hp_tally64_home(&tally, key(i, kind));
            assert_true(hp_tally64_count(&tally, home, key(i, kind)));
        }
        for (uint64_t i = 0; i < KEYS; i++)
            assert_int_equal(*hp_tally64_get(&tally, key(i, kind)), counts[i]);
        struct hp_tally64_slot *home = hp_tally64_home(&tally, key(KEYS, kind));
        assert_false(hp_tally64_count(&tally, home, key(KEYS, kind)));
        assert_int_equal(tally.used, KEYS);
        hp_tally64_fini(&tally);
    }
}

/* --- Sorting ---------------------------------------------------------------------------------- */

static int by_key_and_index(const void *a, const void *b)
{
    const struct hp_keyed *x = a, *y = b;
    return HP_COMPARE(x->key, y->key) ?: HP_COMPARE(x->index, y->index);
}

static void sorting_by_number_keeps_the_order_of_equals(void **state)
{
    (void)state;
    static struct hp_keyed items[5000], room[5000], expected[5000];
    uint64_t random = 1;
    for (unsigned low = 0; low < 64; low += 7)
        for (unsigned bits = 1; bits <= 64 - low; bits += 9) {
            size_t n = bits * 70 + low;
            for (size_t i = 0; i < n; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                items[i] = (struct hp_keyed){random >> (64 - bits) << low, (uint32_t)i};
            }
            memcpy(expected, items, sizeof items);
            qsort(expected, n, sizeof *expected, by_key_and_index);
            hp_keyed_sort(items, room, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(by_key_and_index(&items[i], &expected[i]), 0);
        }
    hp_keyed_sort(items, room, 0);
}

/* --- Lists ------------------------------------------------------------------------------------ */

static void lists_keep_the_order_of_things(void **state)
{
    (void)state;
    static const uint32_t owners[] = {1, UINT32_MAX, 1, 0, UINT32_MAX, 1};
    static const uint32_t order[] = {3,          UINT32_MAX, 0, 2, 5,
                                     UINT32_MAX, UINT32_MAX, 1, 4, UINT32_MAX};
    static const uint32_t asked[] = {0, 1, 2, UINT32_MAX};
    struct hp_lists lists HP_CLEANUP(hp_lists_fini) = {0};
    assert_int_equal(hp_lists_init(&lists, 3, 6), HP_OK);
    for (uint32_t i = 6; i-- > 0;)
        hp_lists_prepend(&lists, owners[i], i);
    const uint32_t *expected = order;
    for (size_t k = 0; k < 4; k++) {
        for (uint32_t i = hp_lists_first(&lists, asked[k]); i != UINT32_MAX; i = lists.next[i])
            assert_int_equal(i, *expected++);
        assert_int_equal(*expected++, UINT32_MAX);
    }
}

/* --- Strings ---------------------------------------------------------------------------------- */

static void strings_are_kept_once(void **state)
{
    (void)state;
    struct hp_strings strings = {0};
    const char *first[5000];
    char text[32];
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "string %d", i);
        first[i] = hp_strings_add(&strings, text, (size_t)n);
        assert_string_equal(first[i], text);
    }
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "string %d and more", i);
        (void)n;
        size_t length = strlen(first[i]);
        assert_ptr_equal(hp_strings_add(&strings, text, length), first[i]); /* a part of it */
    }
    const char *empty = hp_strings_add(&strings, "", 0);
    assert_string_equal(empty, "");
    assert_ptr_equal(hp_strings_add(&strings, "abc", 0), empty);
    hp_strings_fini(&strings);
}

static void strings_of_any_length(void **state)
{
    (void)state;
    struct hp_strings strings = {0};
    static const size_t lengths[] = {65534, 65535, 65536, 65537, 200000, 1, 65535};
    char *text = malloc(200001);
    memset(text, 'y', 200001);
    const char *kept[7];
    for (size_t i = 0; i < 7; i++) {
        kept[i] = hp_strings_add(&strings, text, lengths[i]);
        assert_int_equal(strlen(kept[i]), lengths[i]);
    }
    assert_ptr_equal(kept[1], kept[6]);
    free(text);
    hp_strings_fini(&strings);
}

/* --- Files ------------------------------------------------------------------------------------ */

static char directory[64], path[128];

static int setup(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/hotpath-test-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void expect_content(const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, expected);
}

static int files_there(void)
{
    char command[128];
    snprintf(command, sizeof command, "ls -A %s | wc -l", directory);
    FILE *pipe = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static void files_appear_when_they_are_whole(void **state)
{
    (void)state;
    struct hp_outfile out;
    struct stat st;
    mode_t mask = umask(027);
    assert_int_equal(hp_outfile_open(&out, path), HP_OK);
    umask(mask);
    fputs("one", out.file);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(hp_outfile_commit(&out), HP_OK);
    expect_content("one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);

    assert_int_equal(hp_outfile_open(&out, path), HP_OK);
    fputs("two", out.file);
    fflush(out.file);
    expect_content("one");
    hp_outfile_abort(&out);
    hp_outfile_abort(&out); /* of nothing */
    expect_content("one");
    assert_int_equal(files_there(), 1);

    assert_int_equal(hp_outfile_open(&out, path), HP_OK);
    fputs("two", out.file);
    assert_int_equal(hp_outfile_commit(&out), HP_OK);
    expect_content("two");
    assert_int_equal(files_there(), 1);
}

static void files_that_cannot_be_written(void **state)
{
    (void)state;
    struct hp_outfile out;
    assert_int_equal(hp_outfile_open(&out, "/nonexistent/file"), HP_ERR_IO);
    assert_string_equal(hp_error_text(),
                        "cannot create /nonexistent/file: No such file or directory");
    assert_null(out.file);
    hp_outfile_abort(&out);
    /* a directory in the way is noticed, at the latest when the file is put there */
    enum hp_err err = hp_outfile_open(&out, directory);
    if (err == HP_OK)
        err = hp_outfile_commit(&out);
    assert_int_equal(err, HP_ERR_IO);
    hp_outfile_abort(&out);
    assert_int_equal(files_there(), 0);
}

/* A link keeps leading where it led, and what is no file is not replaced by one. */
static void links_and_devices_stay(void **state)
{
    (void)state;
    struct hp_outfile out;
    struct stat st;
    char link[128];
    snprintf(link, sizeof link, "%s/link", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(hp_outfile_open(&out, link), HP_OK);
    fputs("through", out.file);
    assert_int_equal(hp_outfile_commit(&out), HP_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect_content("through");

    assert_int_equal(hp_outfile_open(&out, "/dev/null"), HP_OK);
    fputs("away", out.file);
    assert_int_equal(hp_outfile_commit(&out), HP_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(hp_outfile_open(&out, "/dev/full"), HP_OK);
    fputs("away", out.file);
    assert_int_equal(hp_outfile_commit(&out), HP_ERR_IO);
    assert_string_equal(hp_error_text(), "cannot write /dev/full: No space left on device");
}

#define FILE_CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_failure_has_a_text),
        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(bisection_finds_the_first),
        cmocka_unit_test(the_first_key_that_differs_decides),
        cmocka_unit_test(what_is_held_is_released_however_a_function_ends),
        cmocka_unit_test(arrays_grow_and_new_room_is_zero),
        cmocka_unit_test(arrays_that_cannot_grow_stay),
        cmocka_unit_test(new_arrays_are_zero_and_may_be_empty),
        cmocka_unit_test(heaps_give_the_first),
        cmocka_unit_test(maps_keep_what_is_put),
        cmocka_unit_test(tallies_count_each_key),
        cmocka_unit_test(tallies_keep_what_is_counted_often_near),
        cmocka_unit_test(sorting_by_number_keeps_the_order_of_equals),
        cmocka_unit_test(lists_keep_the_order_of_things),
        cmocka_unit_test(strings_are_kept_once),
        cmocka_unit_test(strings_of_any_length),
        FILE_CASE(files_appear_when_they_are_whole),
        FILE_CASE(files_that_cannot_be_written),
        FILE_CASE(links_and_devices_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
