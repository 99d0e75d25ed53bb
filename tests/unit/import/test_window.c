// SPDX-License-Identifier: MIT
/* Windows of a file: with another thread and without it, each byte is the one of the file. */
#include "import/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE (3 * 1024 * 1024 + 77)

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static FILE *make_file(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    for (uint64_t i = 0; i < SIZE; i++)
        putc(byte_at(i), file);
    assert_int_equal(fflush(file), 0);
    return file;
}

static void check_bytes(struct hp_window *w, uint64_t at, size_t n)
{
    const uint8_t *bytes = hp_window_look(w, at, n);
    size_t wrong = 0;
    assert_int_equal(bytes != NULL, at <= SIZE && SIZE - at >= n);
    for (size_t i = 0; bytes && i < n; i++)
        wrong += bytes[i] != byte_at(at + i);
    assert_int_equal(wrong, 0);
}

/* From one record to the next, as of a file that is read twice, with jumps over data. */
static void read_all(struct hp_window *w, unsigned seed, unsigned jumps)
{
    uint64_t at = 104;
    while (at < SIZE + 1000) {
        size_t n = 1 + (size_t)rand_r(&seed) % HP_WINDOW_MOST;
        check_bytes(w, at, 8);
        check_bytes(w, at, n);
        at += n;
        if (jumps && (unsigned)rand_r(&seed) % jumps == 0)
            at += (uint64_t)rand_r(&seed) % 600000;
    }
}

static void check_window(const char *threads, uint64_t cut)
{
    FILE *file = make_file();
    struct hp_window w;
    setenv("HOTPATH_THREADS", threads, 1);
    assert_int_equal(hp_window_init(&w, fileno(file), SIZE), HP_OK);
    for (unsigned i = 0; i < 6; i++)
        read_all(&w, i, i % 3 * 5);
    if (cut) {
        assert_int_equal(ftruncate(fileno(file), (off_t)cut), 0);
        hp_window_look(&w, 0, 1);
        for (uint64_t at = 0; at < cut && SIZE - at >= 1000; at += 1000) {
            const uint8_t *bytes = hp_window_look(&w, at, 1000);
            assert_true(!bytes || bytes[0] == byte_at(at));
            assert_true(bytes || cut - at < 1000);
        }
        assert_null(hp_window_look(&w, cut, 1));
    }
    hp_window_fini(&w);
    fclose(file);
    unsetenv("HOTPATH_THREADS");
}

static void test_threads(void **state)
{
    (void)state;
    check_window("2", 0);
}

static void test_alone(void **state)
{
    (void)state;
    check_window("1", 0);
}

/* The file becomes shorter while it is read. */
static void test_cut(void **state)
{
    (void)state;
    check_window("2", 1500000);
    check_window("1", 1500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
