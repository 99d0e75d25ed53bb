// SPDX-License-Identifier: MIT
/*
 * The rings of addresses between processes: a child writes as an engine in memory mode does, the
 * test reads. The addresses are 0, 1, 2 ... so that anything lost, doubled or out of order shows.
 */
#include "engine/arena.h"
#include "engine/live.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- Reading ---------------------------------------------------------------------------------- */

struct reader {
    struct hp_consumer consumer; /* first */
    uint64_t n, batches;         /* addresses */
    uint64_t next;               /* expected */
    uint64_t misplaced;
    unsigned delay; /* microseconds a batch */
    bool ended;
    enum hp_end_reason reason;
};

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    (void)consumer;
    (void)thread;
    return HP_OK;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    (void)consumer;
    (void)thread;
    (void)words;
    (void)n;
    return HP_OK;
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct reader *r = (struct reader *)consumer;
    (void)thread;
    assert_false(r->ended);
    assert_in_range(n, 1, HP_ARENA_ADDRESSES);
    if (r->delay)
        usleep(r->delay);
    for (size_t i = 0; i < n; i++)
        r->misplaced += addresses[i] != r->next++;
    r->n += n;
    r->batches++;
    return HP_OK;
}

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct reader *r = (struct reader *)consumer;
    (void)thread;
    r->ended = true;
    r->reason = reason;
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

struct writer {
    struct hp_arena *arena;
    struct hp_writer words;
    char *window;
    uint64_t *chunk;
    uint64_t next;
};

static void open_writer(struct writer *w, int fd)
{
    w->arena = hp_arena_map(fd);
    if (!w->arena)
        _exit(99);
    atomic_store(&w->arena->attached, 1);
    hp_writer_refill(w->arena, &w->words);
    off_t offset = (off_t)(w->arena->shape.address_data + w->words.index * HP_ARENA_ADDRESS_BYTES);
    w->window = mmap(NULL, HP_ARENA_ADDRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (w->window == MAP_FAILED)
        _exit(98);
    w->chunk = (uint64_t *)(void *)w->window;
}

static void fill(struct writer *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        w->chunk[i] = w->next++;
}

/* Publishes a chunk of `n`; false: nobody reads. */
static bool write_chunk(struct writer *w, uint32_t n)
{
    fill(w, n);
    if (!hp_addresses_next(w->arena, w->words.index, n))
        return false;
    uint32_t number = atomic_load(&w->arena->address_rings[w->words.index].published);
    w->chunk = (uint64_t *)(void *)(w->window +
                                    (size_t)(number % HP_ARENA_CHUNKS) * HP_ARENA_ADDRESS_STRIDE);
    return true;
}

/* --- Both ------------------------------------------------------------------------------------- */

/* The writer's status, as waitpid gives it. */
static int run(struct reader *reader, int (*child)(struct writer *writer))
{
    struct hp_live *live;
    struct hp_live_options options = {.follow = true, .mode = HP_RECORD_MEMORY};
    struct hp_live_stats stats;
    reader->consumer.thread = take_thread;
    reader->consumer.words = take_words;
    reader->consumer.end = take_end;
    assert_int_equal(hp_live_new(&options, &live), HP_OK);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct writer writer = {0};
        open_writer(&writer, hp_live_fd(live));
        _exit(child(&writer));
    }
    assert_int_equal(hp_live_run(live, pid, &reader->consumer, &stats), HP_OK);
    assert_true(reader->ended);
    hp_live_free(live);
    return stats.status;
}

static const uint32_t sizes[] = {HP_ARENA_ADDRESSES, 1, 0, 777, HP_ARENA_ADDRESSES - 1};
enum { CHUNKS = 40, LAST = 123 };

static uint64_t total(void)
{
    uint64_t sum = LAST;
    for (unsigned i = 0; i < CHUNKS; i++)
        sum += sizes[i % 5];
    return sum;
}

static int write_all(struct writer *w)
{
    for (unsigned i = 0; i < CHUNKS; i++)
        if (!write_chunk(w, sizes[i % 5]))
            return 1;
    fill(w, LAST);
    hp_addresses_finish(w->arena, w->words.index, LAST);
    hp_writer_finish(w->arena, &w->words, HP_END_EXIT);
    return 33;
}

static void every_address_arrives_in_order(void **state)
{
    (void)state;
    for (unsigned delay = 0; delay < 3; delay++) { /* a slow reader loses nothing either */
        struct reader reader = {.consumer = {.addresses = take_addresses}, .delay = delay * 1000};
        int status = run(&reader, write_all);
        assert_int_equal(WEXITSTATUS(status), 33);
        assert_int_equal(reader.reason, HP_END_EXIT);
        assert_int_equal(reader.n, total());
        assert_int_equal(reader.misplaced, 0);
    }
}

static void nobody_has_to_want_them(void **state)
{
    struct reader reader = {0};
    (void)state;
    int status = run(&reader, write_all);
    assert_int_equal(WEXITSTATUS(status), 33);
    assert_int_equal(reader.n, 0);
}

static int be_killed(struct writer *w)
{
    write_chunk(w, 1000);
    write_chunk(w, 2000);
    fill(w, 50);
    kill(getpid(), SIGKILL);
    return 0;
}

static void of_a_killed_thread_the_last_chunk_is_whole(void **state)
{
    struct reader reader = {.consumer = {.addresses = take_addresses}};
    (void)state;
    int status = run(&reader, be_killed);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(reader.reason, HP_END_KILLED);
    assert_int_equal(reader.n, 3000 + HP_ARENA_ADDRESSES);
    assert_int_equal(reader.misplaced, HP_ARENA_ADDRESSES - 50);
}

static int write_nonsense(struct writer *w)
{
    struct hp_address_ring *ring = &w->arena->address_rings[w->words.index];
    hp_addresses_next(w->arena, w->words.index, 0x70000000); /* more than a chunk has */
    atomic_store(&ring->published, 1000);                    /* more than a ring has */
    hp_writer_put(w->arena, &w->words, 1);
    usleep(50000);
    hp_addresses_finish(w->arena, w->words.index, 0xfffffff0);
    hp_writer_finish(w->arena, &w->words, HP_END_EXIT);
    return 33;
}

static void nonsense_in_the_ring(void **state)
{
    struct reader reader = {.consumer = {.addresses = take_addresses}};
    (void)state;
    int status = run(&reader, write_nonsense);
    assert_int_equal(WEXITSTATUS(status), 33);
    assert_in_range(reader.n, 1, 2 * HP_ARENA_ADDRESSES);
}

/* The reader goes away while the writer waits for it. */
static bool has_enough(struct hp_consumer *consumer)
{
    return ((struct reader *)consumer)->batches >= 3;
}

static int write_for_ever(struct writer *w)
{
    for (unsigned i = 0; i < 100000; i++)
        if (!write_chunk(w, 1000))
            return 44;
    return 1;
}

static void a_reader_that_wants_no_more_lets_the_writer_go_on(void **state)
{
    struct reader reader = {.consumer = {.addresses = take_addresses, .done = has_enough}};
    (void)state;
    int status = run(&reader, write_for_ever);
    assert_int_equal(WEXITSTATUS(status), 44);
    assert_int_equal(reader.reason, HP_END_DETACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_arrives_in_order),
        cmocka_unit_test(nobody_has_to_want_them),
        cmocka_unit_test(of_a_killed_thread_the_last_chunk_is_whole),
        cmocka_unit_test(nonsense_in_the_ring),
        cmocka_unit_test(a_reader_that_wants_no_more_lets_the_writer_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
