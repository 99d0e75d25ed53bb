// SPDX-License-Identifier: MIT
/*
 * The arena between processes: a child writes as an engine does, the test reads. The words of every
 * writer are 1, 2, 3 ... so that anything lost, doubled or out of order shows.
 */
#include "engine/arena.h"
#include "engine/live.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* --- The reading side ------------------------------------------------------------------------- */

#define MAX_THREADS 4096

struct seen {
    struct hp_thread info;
    uint64_t words;  /* PAD excluded */
    uint64_t events; /* of them */
    uint32_t next;   /* expected */
    bool wrong, ended;
    enum hp_end_reason reason;
};

struct reader {
    struct hp_consumer consumer; /* first */
    struct seen *threads;
    uint32_t n;
    unsigned delay;      /* microseconds a call */
    uint64_t calls;      /* of words() */
    uint64_t fail_after; /* calls; 0: never */
    uint64_t done_after;
    bool free_words; /* do not look at them */
};

/* The thread with this id; NULL when there is none. */
static struct seen *find(struct reader *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->threads[i].info.id == id)
            return &r->threads[i];
    return NULL;
}

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct reader *r = (struct reader *)consumer;
    assert_null(find(r, thread->id));
    assert_true(r->n < MAX_THREADS);
    r->threads[r->n++] = (struct seen){.info = *thread, .next = 1};
    return HP_OK;
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    struct reader *r = (struct reader *)consumer;
    struct seen *t = find(r, thread);
    assert_true(t && !t->ended && n > 0);
    if (r->delay)
        usleep(r->delay);
    if (++r->calls == r->fail_after)
        return hp_fail(HP_ERR_IO, "the consumer is tired");
    for (size_t i = 0; i < n && !r->free_words; i++) {
        if (words[i] == hp_word_event(HP_WORD_PAD, 0))
            continue;
        t->words++;
        if (words[i] & HP_WORD_EVENT) {
            int payload = hp_word_payload(words[i]);
            /* whole, in one delivery; its payload is the number before it, and 0 */
            t->wrong |= payload != 2 || i + 2 >= n || words[i + 1] != t->next || words[i + 2] != 0;
            t->events++;
            i += 2;
            continue;
        }
        t->wrong |= words[i] != t->next;
        t->next++;
    }
    return HP_OK;
}

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct reader *r = (struct reader *)consumer;
    struct seen *t = find(r, thread);
    assert_true(t && !t->ended);
    t->ended = true;
    t->reason = reason;
    return HP_OK;
}

static bool is_done(struct hp_consumer *consumer)
{
    struct reader *r = (struct reader *)consumer;
    return r->done_after && r->calls >= r->done_after;
}

static void reader_init(struct reader *r)
{
    *r = (struct reader){
        .consumer = {.thread = take_thread, .words = take_words, .end = take_end, .done = is_done},
        .threads = calloc(MAX_THREADS, sizeof(struct seen))};
}

/* --- The writing side ------------------------------------------------------------------------- */

static void put_words(struct hp_arena *arena, struct hp_writer *w, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        hp_writer_put(arena, w, first + i);
}

static void put_event(struct hp_arena *arena, struct hp_writer *w, uint32_t number)
{
    const uint32_t payload[2] = {number, 0};
    hp_writer_event(arena, w, hp_word_event(HP_WORD_HANDLER, 1), payload, 2);
}

struct run {
    struct hp_live *live;
    struct reader reader;
    struct hp_live_stats stats;
    enum hp_err err;
};

static void run_init(struct run *run, bool follow)
{
    reader_init(&run->reader);
    assert_int_equal(hp_live_new(&(struct hp_live_options){.follow = follow}, &run->live), HP_OK);
}

static int arena_fd; /* for writers that need it */

/* Runs `writer` in a child, which exits with what it returns. */
static pid_t start_child(struct run *run, int (*writer)(struct hp_arena *arena))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct hp_arena *arena = hp_arena_map(hp_live_fd(run->live));
        if (!arena)
            _exit(99);
        atomic_store(&arena->attached, 1);
        _exit(writer(arena));
    }
    return pid;
}

static void read_child(struct run *run, pid_t pid)
{
    run->err = hp_live_run(run->live, pid, &run->reader.consumer, &run->stats);
    assert_true(run->stats.attached);
    for (uint32_t i = 0; i < run->reader.n && run->err == HP_OK; i++) {
        assert_true(run->reader.threads[i].ended);
        assert_false(run->reader.threads[i].wrong);
    }
}

static void run_child(struct run *run, int (*writer)(struct hp_arena *arena))
{
    read_child(run, start_child(run, writer));
}

static void run_fini(struct run *run)
{
    hp_live_free(run->live);
    free(run->reader.threads);
}

static void assert_exited(const struct run *run, int status)
{
    assert_int_equal(run->err, HP_OK);
    assert_true(WIFEXITED(run->stats.status));
    assert_int_equal(WEXITSTATUS(run->stats.status), status);
}

/* --- Every word, in order --------------------------------------------------------------------- */

#define MANY (HP_ARENA_CHUNK_WORDS * (HP_ARENA_CHUNKS * 4 + 1) + 12345)

static int write_many(struct hp_arena *arena)
{
    struct hp_writer w = {0};
    put_words(arena, &w, 1, MANY);
    hp_writer_finish(arena, &w, HP_END_EXIT);
    return 3;
}

static void every_word_arrives_in_order(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_many);
    assert_exited(&run, 3);
    assert_int_equal(run.reader.n, 1);
    assert_int_equal(run.reader.threads[0].words, MANY);
    assert_int_equal(run.reader.threads[0].reason, HP_END_EXIT);
    assert_int_equal(run.reader.threads[0].info.parent, 0);
    run_fini(&run);
}

/* The writer has to wait for the reader, again and again. */
static void a_slow_reader_loses_nothing(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run.reader.delay = 3000;
    run_child(&run, write_many);
    assert_exited(&run, 3);
    assert_int_equal(run.reader.threads[0].words, MANY);
    run_fini(&run);
}

static int write_exactly_one_chunk(struct hp_arena *arena)
{
    struct hp_writer w = {0};
    put_words(arena, &w, 1, HP_ARENA_CHUNK_WORDS);
    hp_writer_finish(arena, &w, HP_END_DETACHED);
    put_words(arena, &w, 1, HP_ARENA_CHUNK_WORDS * HP_ARENA_CHUNKS);
    hp_writer_finish(arena, &w, HP_END_EXIT);
    hp_writer_finish(arena, &w, HP_END_EXIT); /* of nothing */
    return 0;
}

static void full_chunks_that_were_not_published(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_exactly_one_chunk);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 2);
    assert_int_equal(run.reader.threads[0].words, HP_ARENA_CHUNK_WORDS);
    assert_int_equal(run.reader.threads[0].reason, HP_END_DETACHED);
    assert_int_equal(run.reader.threads[1].words, HP_ARENA_CHUNK_WORDS * HP_ARENA_CHUNKS);
    run_fini(&run);
}

/* Both are finished when the reader first looks. */
static void finished_rings_are_read_in_their_order(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    pid_t pid = start_child(&run, write_exactly_one_chunk);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    read_child(&run, pid);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 2);
    assert_int_equal(run.reader.threads[0].words, HP_ARENA_CHUNK_WORDS);
    assert_int_equal(run.reader.threads[1].words, HP_ARENA_CHUNK_WORDS * HP_ARENA_CHUNKS);
    run_fini(&run);
}

/* Events at every place around the end of a chunk. */
static int write_events(struct hp_arena *arena)
{
    struct hp_writer w = {0};
    uint32_t number = 1;
    put_event(arena, &w, number);
    for (uint32_t gap = 0; gap < 6; gap++) {
        uint32_t n = (uint32_t)(w.end - w.next) - gap;
        put_words(arena, &w, number, n);
        number += n;
        put_event(arena, &w, number);
        put_words(arena, &w, number++, 1);
        put_event(arena, &w, number);
    }
    return 0;
}

static void events_are_not_divided(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_events);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.threads[0].events, 13);
    /* it left without a word */
    assert_int_equal(run.reader.threads[0].reason, HP_END_KILLED);
    run_fini(&run);
}

/* --- Threads and processes -------------------------------------------------------------------- */

#define THREAD_WORDS 150000

static void *write_thread(void *data)
{
    struct hp_arena *arena = data;
    struct hp_writer w = {0};
    put_words(arena, &w, 1, THREAD_WORDS);
    hp_writer_finish(arena, &w, HP_END_EXIT);
    return NULL;
}

static int write_threads(struct hp_arena *arena)
{
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, write_thread, arena))
            return 1;
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void threads_have_rings_of_their_own(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_threads);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(run.reader.threads[i].words, THREAD_WORDS);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(run.reader.threads[i].info.tid, run.reader.threads[k].info.tid);
    }
    run_fini(&run);
}

/* More writers than rings, a few hundred at a time. */
static int write_crowds(struct hp_arena *arena)
{
    static struct hp_writer writers[300];
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 300; i++)
            put_words(arena, &writers[i], 1, 5 + i);
        for (uint32_t i = 0; i < 300; i++)
            hp_writer_finish(arena, &writers[i], HP_END_EXIT);
    }
    return 0;
}

static void rings_are_used_again(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_crowds);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 3000);
    assert_int_equal(run.stats.unobserved_threads, 0);
    uint64_t words = 0;
    for (uint32_t i = 0; i < run.reader.n; i++)
        words += run.reader.threads[i].words;
    assert_int_equal(words, 10 * (300 * 5 + 299 * 300 / 2));
    run_fini(&run);
}

static int write_more_at_once(struct hp_arena *arena)
{
    static struct hp_writer writers[HP_ARENA_RINGS + 1];
    for (uint32_t i = 0; i <= HP_ARENA_RINGS; i++)
        put_words(arena, &writers[i], 1, 2);
    if (!writers[HP_ARENA_RINGS].unobserved)
        return 1;
    put_words(arena, &writers[HP_ARENA_RINGS], 3, 100000); /* goes nowhere, and does no harm */
    for (uint32_t i = 0; i <= HP_ARENA_RINGS; i++)
        hp_writer_finish(arena, &writers[i], HP_END_EXIT);
    return 0;
}

static void a_thread_without_a_ring_is_counted(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_more_at_once);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, HP_ARENA_RINGS);
    assert_int_equal(run.stats.unobserved_threads, 1);
    run_fini(&run);
}

/* Forked children write into rings of their own, and end in all kinds of ways. */
static int write_forks(struct hp_arena *arena)
{
    struct hp_writer w = {0};
    put_words(arena, &w, 1, 10);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t serial = hp_writer_before_fork(arena);
        pid_t pid = fork();
        if (pid == 0) {
            hp_writer_after_fork(&w, serial, arena->follow);
            usleep((60 - i) * 500); /* the first made are heard of last */
            put_words(arena, &w, 1, 100 + i);
            if (i % 3 == 0)
                hp_writer_finish(arena, &w, HP_END_EXIT);
            if (i % 3 == 1)
                raise(SIGKILL);
            _exit(0);
        }
        if (i % 2)
            waitpid(pid, NULL, 0);
    }
    while (wait(NULL) > 0)
        ;
    put_words(arena, &w, 11, 10);
    hp_writer_finish(arena, &w, HP_END_EXIT);
    return 0;
}

static void children_are_followed(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_forks);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 61);
    uint64_t words = 0, killed = 0;
    int32_t parent = run.reader.threads[0].info.pid;
    for (uint32_t i = 0; i < run.reader.n; i++) {
        const struct seen *t = &run.reader.threads[i];
        words += t->words;
        killed += t->reason == HP_END_KILLED;
        assert_int_equal(t->info.parent, t->info.pid == parent ? 0 : parent);
    }
    /* numbered as they were made */
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(find(&run.reader, i + 1)->words, 100 + i);
    assert_int_equal(words, 20 + 60 * 100 + 59 * 60 / 2);
    assert_int_equal(killed, 40);
    run_fini(&run);
}

static void children_are_not_followed(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, false);
    run_child(&run, write_forks);
    assert_exited(&run, 0);
    assert_int_equal(run.reader.n, 1);
    assert_int_equal(run.reader.threads[0].words, 20);
    run_fini(&run);
}

/* --- Deaths ----------------------------------------------------------------------------------- */

static int write_and_die(struct hp_arena *arena)
{
    struct hp_writer w = {0};
    put_words(arena, &w, 1, HP_ARENA_CHUNK_WORDS * 3 + 4321);
    put_event(arena, &w, HP_ARENA_CHUNK_WORDS * 3 + 4322);
    w.next[1] = 1; /* the payload of an event that was not finished */
    raise(SIGKILL);
    return 0;
}

static void a_killed_writer_leaves_all_it_wrote(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run_child(&run, write_and_die);
    assert_int_equal(run.err, HP_OK);
    assert_true(WIFSIGNALED(run.stats.status));
    assert_int_equal(WTERMSIG(run.stats.status), SIGKILL);
    assert_int_equal(run.reader.threads[0].words, HP_ARENA_CHUNK_WORDS * 3 + 4321 + 1);
    assert_int_equal(run.reader.threads[0].events, 1);
    assert_int_equal(run.reader.threads[0].reason, HP_END_KILLED);
    run_fini(&run);
}

static void a_consumer_that_fails_lets_the_program_go_on(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run.reader.fail_after = 3;
    run_child(&run, write_many);
    assert_int_equal(run.err, HP_ERR_IO);
    assert_string_equal(hp_error_text(), "the consumer is tired");
    assert_int_equal(WEXITSTATUS(run.stats.status), 3);
    assert_int_equal(run.reader.calls, 3);
    run_fini(&run);
}

static void a_consumer_that_is_done_lets_the_program_go_on(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run.reader.done_after = 2;
    run_child(&run, write_many);
    assert_exited(&run, 3);
    assert_true(run.reader.threads[0].ended);
    assert_int_equal(run.reader.threads[0].reason, HP_END_DETACHED);
    assert_true(run.reader.threads[0].words < MANY);
    run_fini(&run);
}

/* Leaves a child behind that writes until nobody reads any more. */
static int leave_a_child_behind(struct hp_arena *arena)
{
    if (fork() == 0) {
        struct hp_writer w = {0};
        for (uint32_t i = 1; !atomic_load(&arena->detached); i++)
            hp_writer_put(arena, &w, i);
        _exit(0);
    }
    while (atomic_load(&arena->rings[0].published) == 0)
        usleep(1000);
    return 5;
}

static void children_that_outlive_the_program_are_left_alone(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run.reader.delay = 2000; /* slower than the writer: it never catches up */
    alarm(600);
    run_child(&run, leave_a_child_behind);
    alarm(0);
    assert_exited(&run, 5);
    assert_int_equal(run.reader.n, 1);
    assert_int_equal(run.reader.threads[0].reason, HP_END_DETACHED);
    run_fini(&run);
}

/* A process that reads for a moment and is killed; its child has to get through all the same. */
static void reader_process(int report)
{
    struct run run = {0};
    run_init(&run, true);
    run.reader.delay = 1000000;
    pid_t pid = fork();
    if (pid == 0) {
        struct hp_arena *arena = hp_arena_map(hp_live_fd(run.live));
        struct hp_writer w = {0};
        bool told = write(report, "s", 1) == 1;
        put_words(arena, &w, 1, HP_ARENA_CHUNK_WORDS * HP_ARENA_CHUNKS * 3);
        hp_writer_finish(arena, &w, HP_END_EXIT);
        _exit(told && write(report, "e", 1) == 1 ? 0 : 1);
    }
    hp_live_run(run.live, pid, &run.reader.consumer, &run.stats);
    _exit(0);
}

static void a_reader_that_dies_does_not_stop_the_writer(void **state)
{
    (void)state;
    int report[2];
    char c;
    assert_int_equal(pipe(report), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        reader_process(report[1]);
    close(report[1]);
    assert_int_equal(read(report[0], &c, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0); /* and it stays a zombie for now */
    alarm(600);
    assert_int_equal(read(report[0], &c, 1), 1);
    alarm(0);
    assert_int_equal(c, 'e');
    waitpid(pid, NULL, 0);
    close(report[0]);
}

/* --- Hostile processes ------------------------------------------------------------------------ */

static int write_nonsense(struct hp_arena *arena)
{
    uint32_t seed = 12345;
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++) {
        struct hp_ring *ring = &arena->rings[i];
        seed = seed * 1664525 + 1013904223;
        ring->pid = i % 2 ? getpid() : (int32_t)seed;
        ring->published = i % 3 ? seed : i % 20;
        ring->consumed = seed >> 3;
        ring->end_reason = seed;
        ring->state = i % 5;
        memset(hp_arena_chunk(arena, i, 0), 0xff, 4096);
    }
    atomic_store(&arena->rings_used, UINT32_MAX);
    atomic_store(&arena->reader_waits, 77);
    return 0;
}

static void nonsense_in_the_rings(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    run.reader.free_words = true;
    alarm(600);
    run_child(&run, write_nonsense);
    alarm(0);
    assert_exited(&run, 0);
    run_fini(&run);
}

/* Positions and sizes that lead out of the store, into its end, or over each other. */
static int write_bad_code(struct hp_arena *arena)
{
    const uint32_t last = (uint32_t)(HP_ARENA_STORE / 8);
    const uint32_t positions[] = {0, 1, 2, 3, last - 3, last - 1, last, last + 1, UINT32_MAX};
    const struct hp_arena_segment segments[] = {
        {.start = 0x1000, .module = 1, .size = 1},
        {.start = 0x1000, .module = 1, .size = 0},
        {.start = 0x1000, .module = 1, .size = UINT32_MAX},
        {.start = 0x1000, .module = 0, .size = 1},
        {.start = 0x1000, .module = UINT32_MAX, .size = 1},
        {.start = UINT64_MAX, .module = 1, .size = 1, .mode = 99},
    };
    const struct hp_arena_record module = {.is_module = 1, .length = 6};
    const struct hp_arena_record records[] = {
        {.is_module = 1, .length = UINT32_MAX},
        {.is_module = 0, .length = 3},
        {.is_module = 1, .length = 100}, /* longer than its text */
    };
    hp_arena_add_record(arena, &module, "[anon]");
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
        struct hp_arena_segment fits = segments[i];
        fits.size = 1;
        fits.start += 0x2000 + i; /* none is there already */
        uint32_t id = hp_arena_add_segment(arena, &fits, "\xc3");
        memcpy(hp_arena_store(arena, hp_arena_segment_index(arena)[id]), &segments[i],
               sizeof segments[i]);
    }
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        hp_arena_segment_index(arena)[100 + i] = positions[i];
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct hp_arena_record fits = records[i];
        fits.length = 3;
        fits.base = i;
        uint32_t id = hp_arena_add_record(arena, &fits, "abc");
        memcpy(hp_arena_store(arena, hp_arena_record_index(arena)[id]), &records[i],
               sizeof records[i]);
    }
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        hp_arena_record_index(arena)[100 + i] = positions[i];
    return 0;
}

static void nonsense_in_the_code(void **state)
{
    (void)state;
    struct run run = {0};
    struct hp_code *code;
    struct hp_segment segment;
    run_init(&run, true);
    run_child(&run, write_bad_code);
    assert_exited(&run, 0);
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &code), HP_OK);
    struct hp_segment_source *source = hp_live_source(run.live, code);
    for (uint32_t id = 0; id < 120; id++) {
        enum hp_err err = source->load(source, id);
        assert_true(id == 1 ? err == HP_OK : err != HP_OK);
    }
    assert_int_not_equal(source->load(source, HP_ARENA_SEGMENTS - 1), HP_OK);
    assert_int_not_equal(source->load(source, HP_ARENA_SEGMENTS), HP_OK);
    assert_int_not_equal(source->load(source, UINT32_MAX), HP_OK);
    assert_int_equal(hp_code_segment(code, 1, &segment), HP_OK);
    assert_int_equal(segment.start, 0x1000);
    assert_string_equal(hp_live_string(run.live, 3), "abc");
    assert_string_equal(hp_live_string(run.live, 101), "[anon]"); /* the first record, again */
    const uint32_t nothing[] = {0, 2, 4, 100, 104, 105, 106, 107, 108};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        assert_null(hp_live_string(run.live, nothing[i]));
    assert_null(hp_live_string(run.live, UINT32_MAX));
    hp_code_free(code);
    run_fini(&run);
}

/* One of a process that is gone, one of a process that is there. */
static int leave_claimed_rings(struct hp_arena *arena)
{
    const uint32_t gone = HP_RING_CLAIMED | 77 << HP_RING_BITS;
    const uint32_t there = HP_RING_CLAIMED | 78 << HP_RING_BITS;
    struct flock mark = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)hp_shape_mark(&arena->shape, 78),
                         .l_len = 1};
    if (fcntl(arena_fd, F_SETLK, &mark) != 0)
        return 1;
    atomic_store(&arena->rings[4].state, gone);
    atomic_store(&arena->rings[5].state, there);
    atomic_store(&arena->rings_used, 6);
    for (int i = 0; i < 60000 && atomic_load(&arena->rings[4].state) == gone; i++)
        usleep(10000);
    return atomic_load(&arena->rings[4].state) == HP_RING_FREE &&
                   atomic_load(&arena->rings[5].state) == there
               ? 0
               : 2;
}

static void rings_of_dead_claimants_are_freed(void **state)
{
    (void)state;
    struct run run = {0};
    run_init(&run, true);
    arena_fd = hp_live_fd(run.live);
    run_child(&run, leave_claimed_rings);
    assert_exited(&run, 0);
    run_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_arrives_in_order),
        cmocka_unit_test(a_slow_reader_loses_nothing),
        cmocka_unit_test(full_chunks_that_were_not_published),
        cmocka_unit_test(finished_rings_are_read_in_their_order),
        cmocka_unit_test(events_are_not_divided),
        cmocka_unit_test(threads_have_rings_of_their_own),
        cmocka_unit_test(rings_are_used_again),
        cmocka_unit_test(a_thread_without_a_ring_is_counted),
        cmocka_unit_test(children_are_followed),
        cmocka_unit_test(children_are_not_followed),
        cmocka_unit_test(a_killed_writer_leaves_all_it_wrote),
        cmocka_unit_test(a_consumer_that_fails_lets_the_program_go_on),
        cmocka_unit_test(a_consumer_that_is_done_lets_the_program_go_on),
        cmocka_unit_test(children_that_outlive_the_program_are_left_alone),
        cmocka_unit_test(a_reader_that_dies_does_not_stop_the_writer),
        cmocka_unit_test(rings_of_dead_claimants_are_freed),
        cmocka_unit_test(nonsense_in_the_rings),
        cmocka_unit_test(nonsense_in_the_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
