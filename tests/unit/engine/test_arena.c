// SPDX-License-Identifier: MIT
/* The engine's side of the arena, in one process: what is where. (Between processes: test_live.) */
#include "engine/arena.h"
#include "engine/live.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct shared {
    struct hp_live *live;
    struct hp_arena *arena;
};

static int setup(void **state)
{
    struct shared *s = calloc(1, sizeof *s);
    if (hp_live_new(&(struct hp_live_options){.follow = true}, &s->live) != HP_OK)
        return -1;
    s->arena = hp_arena_map(hp_live_fd(s->live));
    *state = s;
    return s->arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct shared *s = *state;
    munmap(s->arena, s->arena->shape.size);
    hp_live_free(s->live);
    free(s);
    return 0;
}

/* --- Mapping ---------------------------------------------------------------------------------- */

static void the_arena_is_known_by_its_header(void **state)
{
    struct shared *s = *state;
    assert_int_equal(s->arena->reader, gettid());
    assert_int_equal(s->arena->follow, 1);
    assert_int_equal(fcntl(hp_live_fd(s->live), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    s->arena->version++;
    assert_null(hp_arena_map(hp_live_fd(s->live)));
    s->arena->version--;
    s->arena->magic++;
    assert_null(hp_arena_map(hp_live_fd(s->live)));
}

static void other_files_are_no_arena(void **state)
{
    (void)state;
    int pipe_fds[2], small = memfd_create("small", 0);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(ftruncate(small, 4096), 0);
    assert_null(hp_arena_map(-1));
    assert_null(hp_arena_map(pipe_fds[0]));
    assert_null(hp_arena_map(small));
    assert_int_equal(ftruncate(small, (off_t)HP_ARENA_STORE), 0);
    assert_null(hp_arena_map(small)); /* the size of one, but empty */
    close(small);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

/* --- Words ------------------------------------------------------------------------------------ */

static void a_writer_claims_a_ring_with_its_first_word(void **state)
{
    struct shared *s = *state;
    struct hp_writer w = {0}, other = {0};
    assert_int_equal(s->arena->rings[0].state, HP_RING_FREE);
    hp_writer_put(s->arena, &w, 77);
    hp_writer_put(s->arena, &other, 88);
    assert_ptr_equal(w.ring, &s->arena->rings[0]);
    assert_ptr_equal(other.ring, &s->arena->rings[1]);
    assert_int_equal(s->arena->rings_used, 2);
    assert_int_equal(w.ring->state, HP_RING_ACTIVE);
    assert_int_equal(w.ring->pid, getpid());
    assert_int_equal(w.ring->parent, getppid());
    assert_int_equal(w.ring->end_reason, HP_END_KILLED);
    assert_int_equal(hp_arena_chunk(s->arena, 0, 0)[0], 77);
    assert_int_equal(hp_arena_chunk(s->arena, 1, 0)[0], 88);
    hp_writer_finish(s->arena, &w, HP_END_EXIT);
    assert_int_equal(s->arena->rings[0].state, HP_RING_FINISHED);
    assert_int_equal(s->arena->rings[0].end_reason, HP_END_EXIT);
    assert_null(w.ring);
    hp_writer_finish(s->arena, &other, HP_END_EXIT);
}

static void full_chunks_are_published(void **state)
{
    struct shared *s = *state;
    struct hp_writer w = {0};
    for (uint32_t i = 0; i < HP_ARENA_CHUNK_WORDS; i++)
        hp_writer_put(s->arena, &w, i + 1);
    assert_int_equal(w.ring->published, 0); /* not before there is more */
    uint32_t bell = s->arena->doorbell;
    hp_writer_put(s->arena, &w, 1);
    assert_int_equal(w.ring->published, 1);
    assert_int_not_equal(s->arena->doorbell, bell);
    assert_ptr_equal(w.next, hp_arena_chunk(s->arena, 0, 1) + 1);
    assert_ptr_equal(hp_arena_chunk(s->arena, 0, HP_ARENA_CHUNKS), hp_arena_chunk(s->arena, 0, 0));
}

static void an_event_at_the_end_of_a_chunk_moves_to_the_next(void **state)
{
    struct shared *s = *state;
    const uint32_t payload[2] = {5, 0};
    struct hp_writer w = {0};
    for (uint32_t i = 0; i < HP_ARENA_CHUNK_WORDS - 2; i++)
        hp_writer_put(s->arena, &w, 9);
    hp_writer_event(s->arena, &w, hp_word_event(HP_WORD_LOST, 1), payload, 2);
    const uint32_t *first = hp_arena_chunk(s->arena, 0, 0), *next = hp_arena_chunk(s->arena, 0, 1);
    assert_int_equal(first[HP_ARENA_CHUNK_WORDS - 2], hp_word_event(HP_WORD_PAD, 0));
    assert_int_equal(first[HP_ARENA_CHUNK_WORDS - 1], hp_word_event(HP_WORD_PAD, 0));
    while (*next == hp_word_event(HP_WORD_PAD, 0))
        next++;
    assert_int_equal(next[0], hp_word_event(HP_WORD_LOST, 1));
    assert_int_equal(next[1], 5);
    assert_ptr_equal(w.next, next + 3);
}

static void nobody_writes_for_nobody(void **state)
{
    struct shared *s = *state;
    struct hp_writer w = {0}, child = {0};
    hp_writer_put(s->arena, &w, 1);
    hp_writer_after_fork(&child, 0, false);
    for (uint32_t i = 0; i < 100000; i++)
        hp_writer_put(s->arena, &child, 2);
    assert_true(child.unobserved);
    assert_null(child.ring);
    assert_int_equal(s->arena->rings_used, 1);
    /* Once the arena is detached a writer goes on without waiting. */
    atomic_store(&s->arena->detached, 1);
    for (uint32_t i = 0; i < HP_ARENA_CHUNK_WORDS * (HP_ARENA_CHUNKS + 2); i++)
        hp_writer_put(s->arena, &w, 3);
    assert_true(w.unobserved);
    hp_writer_finish(s->arena, &w, HP_END_EXIT);
    hp_writer_finish(s->arena, &child, HP_END_EXIT);
    assert_false(child.unobserved);
}

/* --- Code ------------------------------------------------------------------------------------- */

static void segments_and_records_are_found_by_id(void **state)
{
    struct shared *s = *state;
    struct hp_arena_record module = {
        .base = 0x400000, .low = 1, .high = 2, .length = 6, .is_module = 1};
    struct hp_arena_record text = {.length = 7};
    struct hp_arena_segment segment = {.start = 0x400010, .module = 1, .size = 3};
    assert_int_equal(hp_arena_add_record(s->arena, &module, "[anon]"), 1);
    assert_int_equal(hp_arena_add_record(s->arena, &text, "/bin/ls"), 2);
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "\x90\x90\xc3"), 1);
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "\x90\x91\xc3"), 2);
    assert_string_equal(hp_live_string(s->live, 2), "/bin/ls");
    assert_null(hp_live_string(s->live, 3));

    struct hp_code *code;
    struct hp_segment found;
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &code), HP_OK);
    struct hp_segment_source *source = hp_live_source(s->live, code);
    assert_int_equal(source->load(source, 2), HP_OK);
    assert_int_equal(hp_code_segment(code, 2, &found), HP_OK);
    assert_int_equal(found.start, 0x400010);
    assert_memory_equal(found.bytes, "\x90\x91\xc3", 3);
    assert_string_equal(hp_code_module(code, found.module)->path, "[anon]");
    assert_int_equal(hp_code_module(code, found.module)->base, 0x400000);
    assert_int_equal(source->load(source, 3), HP_ERR_NOTFOUND);
    hp_code_free(code);
}

static void a_full_store_is_no_harm(void **state)
{
    struct shared *s = *state;
    struct hp_arena_segment segment = {.size = 8};
    struct hp_arena_record record = {.length = 2};
    atomic_store(&s->arena->store_used, HP_ARENA_STORE - sizeof segment - 16);
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "12345678"), 1); /* just fits */
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "12345678"), 1); /* is there */
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "87654321"), 0);
    assert_int_equal(hp_arena_add_record(s->arena, &record, "ab"), 0);
}

static void no_more_ids_are_no_harm(void **state)
{
    struct shared *s = *state;
    struct hp_arena_segment segment = {.size = 1};
    struct hp_arena_record record = {.length = 2};
    atomic_store(&s->arena->next_segment, HP_ARENA_SEGMENTS - 2);
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "1"), HP_ARENA_SEGMENTS - 1);
    assert_int_equal(hp_arena_add_segment(s->arena, &segment, "2"), 0);
    atomic_store(&s->arena->next_record, HP_ARENA_RECORDS - 2);
    assert_int_equal(hp_arena_add_record(s->arena, &record, "ab"), HP_ARENA_RECORDS - 1);
    assert_int_equal(hp_arena_add_record(s->arena, &record, "cd"), 0);
}

/* Whichever process describes it: the same code of the same module is there once, and nothing else
 * is taken for it. */
static void what_is_known_is_not_added_again(void **state)
{
    struct shared *s = *state;
    enum { N = 20000 };
    struct hp_arena_record module = {.base = 0x400000, .length = 1, .is_module = 1}, other = module;
    assert_int_equal(hp_arena_add_record(s->arena, &module, "a"), 1);
    assert_int_equal(hp_arena_add_record(s->arena, &module, "b"), 2);
    other.file = 7;
    assert_int_equal(hp_arena_add_record(s->arena, &other, "a"), 3);
    assert_int_equal(hp_arena_add_record(s->arena, &module, "a"), 1);
    const struct hp_arena_segment one = {.start = 0x400010, .module = 1, .size = 3};
    struct hp_arena_segment differ[4] = {one, one, one, one};
    differ[0].start++;
    differ[1].module++;
    differ[2].mode++;
    differ[3].parent++;
    assert_int_equal(hp_arena_add_segment(s->arena, &one, "abc"), 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(hp_arena_add_segment(s->arena, &differ[i], "abc"), 2 + i);
    assert_int_equal(hp_arena_add_segment(s->arena, &one, "abd"), 6);
    assert_int_equal(hp_arena_add_segment(s->arena, &one, "abc"), 1);
    assert_int_equal(hp_arena_add_segment(s->arena, &differ[3], "abc"), 5);

    uint32_t ids[N], found = 0;
    for (int round = 0; round < 2; round++) /* code spread as in a program, then in one place */
        for (uint32_t pass = 0; pass < 2; pass++)
            for (uint32_t i = 0; i < N; i++) {
                struct hp_arena_segment each = {
                    .start = round ? 0x500000 : 0x600000 + 12 * i, .module = 1, .size = sizeof i};
                uint32_t id = hp_arena_add_segment(s->arena, &each, &i);
                const char *stored = hp_arena_store(s->arena, hp_arena_segment_index(s->arena)[id]);
                assert_memory_equal(stored, &each, sizeof each);
                assert_memory_equal(stored + sizeof each, &i, sizeof i);
                found += round == 0 && pass == 1 && id == ids[i];
                ids[i] = id;
            }
    assert_in_range(found, N - N / 20, N);
}

/* There is room for all ids below one that is defined: a watched process must not make that
 * gigabytes. */
static void code_far_ahead_is_refused(void **state)
{
    struct shared *s = *state;
    struct hp_arena_record module = {.length = 6, .is_module = 1};
    struct hp_arena_segment segment = {.start = 0x400010, .size = 3};
    struct hp_code *code;
    segment.module = hp_arena_add_record(s->arena, &module, "[anon]");
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &code), HP_OK);
    struct hp_segment_source *source = hp_live_source(s->live, code);
    atomic_store(&s->arena->next_segment, HP_ARENA_SEGMENTS - 2);
    uint32_t far = hp_arena_add_segment(s->arena, &segment, "\x90\x90\xc3");
    assert_int_equal(source->load(source, far), HP_ERR_FORMAT);
    assert_int_equal(hp_code_segment_limit(code), 0);
    atomic_store(&s->arena->next_segment, 0);
    assert_int_equal(source->load(source, hp_arena_add_segment(s->arena, &segment, "\x90\x91\xc3")),
                     HP_OK);
    assert_int_equal(source->load(source, far), HP_ERR_FORMAT);
    hp_code_free(code);
}

/* A module may be named after anything: a pipe must not be waited for. */
static void a_pipe_is_no_module(void **state)
{
    struct shared *s = *state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/hotpath-pipe-%d", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    struct hp_arena_record module = {.length = (uint32_t)strlen(path), .is_module = 1};
    struct hp_arena_segment segment = {.start = 0x400010, .size = 3};
    struct hp_code *code;
    segment.module = hp_arena_add_record(s->arena, &module, path);
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &code), HP_OK);
    struct hp_segment_source *source = hp_live_source(s->live, code);
    uint32_t id = hp_arena_add_segment(s->arena, &segment, "\x90\x90\xc3");
    alarm(600);
    enum hp_err err = source->load(source, id);
    alarm(0);
    unlink(path);
    assert_int_equal(err, HP_OK);
    assert_string_equal(hp_code_module(code, 0)->build_id, "");
    hp_code_free(code);
}

/* What was taken out of the arena stays as it was. */
static void texts_are_copies(void **state)
{
    struct shared *s = *state;
    struct hp_arena_record text = {.length = 7};
    uint32_t id = hp_arena_add_record(s->arena, &text, "/bin/ls");
    const char *found = hp_live_string(s->live, id);
    char *place = hp_arena_store(s->arena, hp_arena_record_index(s->arena)[id]);
    memset(place + sizeof text, 'x', 100);
    assert_string_equal(found, "/bin/ls");
    assert_null(hp_live_string(s->live, id)); /* it does not end where it should */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_arena_is_known_by_its_header),
        cmocka_unit_test(other_files_are_no_arena),
        CASE(a_writer_claims_a_ring_with_its_first_word),
        CASE(full_chunks_are_published),
        CASE(an_event_at_the_end_of_a_chunk_moves_to_the_next),
        CASE(nobody_writes_for_nobody),
        CASE(segments_and_records_are_found_by_id),
        CASE(a_full_store_is_no_harm),
        CASE(no_more_ids_are_no_harm),
        CASE(what_is_known_is_not_added_again),
        CASE(code_far_ahead_is_refused),
        CASE(a_pipe_is_no_module),
        CASE(texts_are_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
