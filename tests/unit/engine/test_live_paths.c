// SPDX-License-Identifier: MIT
/*
 * An engine that counts paths, between processes: what it says of them, its counters, and what it
 * asks about functions.
 */
#include "engine/arena.h"
#include "engine/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define START  0x401000u
#define BASE   0x400000u
#define MANY   1500u /* in the page after the next: there is a hole between */
#define NUMBER (UINT64_C(1) << 40)

/* --- The engine, in a child ------------------------------------------------------------------- */

static uint32_t add_module(struct hp_arena *arena)
{
    struct hp_arena_record record = {
        .base = BASE, .low = BASE, .high = BASE + 0x10000, .length = 6, .is_module = 1};
    return hp_arena_add_record(arena, &record, "[anon]");
}

static uint32_t add_block(struct hp_arena *arena, uint32_t module, uint64_t start)
{
    struct hp_arena_segment segment = {.start = start, .module = module, .size = 2};
    return hp_arena_add_segment(arena, &segment, "\x90\xc3");
}

static uint64_t *map_counters(const struct hp_arena *arena, const struct hp_writer *writer, int fd)
{
    uint64_t at = arena->shape.counter_data + writer->index * arena->shape.counter_bytes;
    return mmap(NULL, arena->shape.counter_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                (off_t)at);
}

/* What the functions of the addresses are, once the reader has said. */
static bool ask(struct hp_arena *arena, uint32_t module)
{
    while (hp_arena_function(arena, module, BASE, BASE) == HP_FUNCTION_UNKNOWN)
        usleep(1000);
    return hp_arena_function(arena, module, BASE, BASE + 0x10) == BASE + 0x10 &&
           hp_arena_function(arena, module, BASE, BASE + 0x1f) == BASE + 0x10 &&
           hp_arena_function(arena, module, BASE, BASE + 0x28) == BASE + 0x10 &&
           hp_arena_function(arena, module, BASE, BASE + 0x20) == BASE + 0x20 &&
           hp_arena_function(arena, module, BASE, BASE + 0xf) == HP_FUNCTION_NONE &&
           hp_arena_function(arena, module, BASE, BASE + 0x30) == HP_FUNCTION_NONE;
}

/* The same again has the same ids; something else does not. */
static bool is_known(struct hp_arena *arena, uint32_t segment)
{
    struct hp_arena_prefix root = {0, segment, 0}, returned = {1, segment, HP_PREFIX_RETURNED};
    struct hp_arena_path taken = {1, 1}, fell = {1, 0};
    return hp_arena_add_prefix(arena, &root, START) == 1 &&
           hp_arena_add_prefix(arena, &returned, START) == 2 &&
           hp_arena_add_path(arena, &taken) == 1 && hp_arena_add_path(arena, &fell) == 2 &&
           hp_arena_add_prefix(arena, &root, START) == 1 && hp_arena_add_path(arena, &fell) == 2;
}

static int count(struct hp_arena *arena, int fd)
{
    uint32_t module = add_module(arena), segment = add_block(arena, module, START);
    struct hp_writer writer = {0};
    hp_writer_event(arena, &writer, hp_word_event(HP_WORD_COUNTING, 0), &segment, 1);
    uint64_t *counters = map_counters(arena, &writer, fd);
    if (counters == MAP_FAILED || !is_known(arena, segment) || !ask(arena, module))
        return 1;
    counters[1] = 3;
    counters[2] = NUMBER;
    counters[MANY] = 1;
    counters[arena->shape.counted - 1] = 7;
    hp_writer_finish(arena, &writer, HP_END_EXIT);
    return 0;
}

/* --- The reader ------------------------------------------------------------------------------- */

struct reader {
    struct hp_consumer consumer; /* first */
    struct hp_count seen[8];
    size_t n, words;
    bool ended;
};

static enum hp_err see_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    (void)consumer, (void)thread;
    return HP_OK;
}

static enum hp_err see_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                             size_t n)
{
    (void)thread, (void)words;
    ((struct reader *)consumer)->words += n;
    return HP_OK;
}

static enum hp_err see_counts(struct hp_consumer *consumer, uint32_t thread,
                              const struct hp_count *counts, size_t n)
{
    struct reader *r = (struct reader *)consumer;
    (void)thread;
    assert_false(r->ended);
    assert_true(r->n + n <= 8);
    memcpy(r->seen + r->n, counts, n * sizeof *counts);
    r->n += n;
    return HP_OK;
}

static enum hp_err see_end(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason)
{
    (void)thread, (void)reason;
    ((struct reader *)consumer)->ended = true;
    return HP_OK;
}

static enum hp_err find_ranges(struct hp_range_source *source, uint32_t module,
                               const struct hp_arena_range **ranges, size_t *n)
{
    static const struct hp_arena_range list[] = {
        {0x10, 0x20, 0x10}, {0x20, 0x28, 0x20}, {0x28, 0x30, 0x10}};
    (void)source;
    assert_int_equal(module, 0);
    *ranges = list;
    *n = 3;
    return HP_OK;
}

struct live_test {
    struct hp_live *live;
    struct hp_code *code;
    struct hp_range_source ranges;
};

static void live_init(struct live_test *t)
{
    struct hp_live_options options = {.mode = HP_RECORD_PATHS, .paths = {.max_length = 32}};
    *t = (struct live_test){.ranges = {.ranges = find_ranges}};
    assert_int_equal(hp_live_new(&options, &t->live), HP_OK);
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &t->code), HP_OK);
    hp_live_source(t->live, t->code);
    hp_live_set_ranges(t->live, &t->ranges);
}

static void live_fini(struct live_test *t)
{
    hp_live_free(t->live);
    hp_code_free(t->code);
}

static void counters_paths_and_functions(void **state)
{
    (void)state;
    struct live_test t;
    struct hp_live_stats stats;
    struct reader r = {
        .consumer = {
            .thread = see_thread, .words = see_words, .counts = see_counts, .end = see_end}};
    live_init(&t);
    pid_t pid = fork();
    if (pid == 0) {
        struct hp_arena *arena = hp_arena_map(hp_live_fd(t.live));
        _exit(arena ? count(arena, hp_live_fd(t.live)) : 99);
    }
    assert_int_equal(hp_live_run(t.live, pid, &r.consumer, &stats), HP_OK);
    assert_int_equal(stats.status, 0);
    assert_true(r.ended);
    assert_int_equal(r.words, 3); /* with the padding before it had a ring */
    static const struct hp_count expected[] = {
        {1, 0, 3}, {2, 0, NUMBER}, {MANY, 0, 1}, {HP_ARENA_PATHS - 1, 0, 7}};
    assert_int_equal(r.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r.seen[i].segment, expected[i].segment);
        assert_int_equal(r.seen[i].direction, 0);
        assert_int_equal(r.seen[i].count, expected[i].count);
    }
    struct hp_path_source *source = hp_live_paths(t.live);
    struct hp_counted_prefix prefix;
    struct hp_counted path;
    assert_int_equal(source->prefix(source, 1, &prefix), HP_OK);
    assert_int_equal(hp_code_block(t.code, prefix.block)->start, START);
    assert_true(prefix.before == 0 && !prefix.returned);
    assert_int_equal(source->prefix(source, 2, &prefix), HP_OK);
    assert_true(prefix.before == 1 && prefix.returned);
    assert_int_equal(source->path(source, 1, &path), HP_OK);
    assert_true(path.prefix == 1 && path.taken);
    assert_int_equal(source->path(source, 2, &path), HP_OK);
    assert_true(path.prefix == 1 && !path.taken);
    live_fini(&t);
}

/* What is not there, or cannot be. */
static void nonsense(void **state)
{
    (void)state;
    struct live_test t;
    struct hp_counted_prefix prefix;
    struct hp_counted path;
    live_init(&t);
    struct hp_arena *arena = hp_arena_map(hp_live_fd(t.live));
    struct hp_path_source *source = hp_live_paths(t.live);
    assert_non_null(arena);
    assert_int_equal(source->prefix(source, 0, &prefix), HP_ERR_NOTFOUND);
    assert_int_equal(source->prefix(source, 1, &prefix), HP_ERR_NOTFOUND);
    assert_int_equal(source->prefix(source, UINT32_MAX, &prefix), HP_ERR_NOTFOUND);
    assert_int_equal(source->path(source, 1, &path), HP_ERR_NOTFOUND);
    assert_int_equal(source->path(source, UINT32_MAX, &path), HP_ERR_NOTFOUND);
    uint32_t segment = add_block(arena, add_module(arena), START);
    struct hp_arena_prefix unknown = {0, segment + 1, 0}, itself = {2, segment, 0};
    assert_int_equal(hp_arena_add_prefix(arena, &unknown, START), 1);
    assert_int_equal(hp_arena_add_prefix(arena, &itself, START), 2);
    assert_int_equal(source->prefix(source, 1, &prefix), HP_ERR_NOTFOUND);
    assert_int_equal(source->prefix(source, 2, &prefix), HP_ERR_FORMAT);
    live_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counters_paths_and_functions),
                                       cmocka_unit_test(nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
