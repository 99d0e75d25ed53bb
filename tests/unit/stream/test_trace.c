// SPDX-License-Identifier: MIT
#include "trace_support.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static void same_segment(const struct hp_code *a, const struct hp_code *b, uint32_t id)
{
    struct hp_segment x, y;
    assert_int_equal(hp_code_segment(a, id, &x), HP_OK);
    assert_int_equal(hp_code_segment(b, id, &y), HP_OK);
    assert_int_equal(x.start, y.start);
    assert_int_equal(x.module, y.module);
    assert_int_equal(x.mode, y.mode);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.bytes, y.bytes, x.size);
}

/* --- Whole traces ----------------------------------------------------------------------------- */

static void a_trace_comes_back_whole(void **state)
{
    (void)state;
    struct hp_code *code = new_code();
    static const uint32_t ids[] = {1, 2, 3, 70000, 4000000, 4000001};
    for (size_t i = 0; i < 6; i++)
        add_segment(code, ids[i]);
    add_segment(code, 4); /* never run */
    const uint32_t words[] = {
        1,
        2,
        hp_word_event(HP_WORD_HANDLER, 11),
        4, /* looks like a segment, but is an address */
        0,
        3,
        hp_word_event(HP_WORD_EXEC, 0),
        12345,
        70000,
        4000000,
        hp_word_event(HP_WORD_CUT, 3),
        4000001,
        99, /* nobody knows it */
        hp_word_event(0x55, 1),
    };
    enum { N = sizeof words / sizeof *words };
    struct hp_trace_writer *writer = new_writer(code);
    assert_int_equal(hp_trace_writer_string(writer, 12345, "/bin/ls"), HP_OK);
    assert_int_equal(hp_trace_writer_string(writer, 0, ""), HP_OK);
    start_thread(writer, 0);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(hp_trace_writer_words(writer, 0, &words[i], 1), HP_OK);
    uint32_t id;
    struct hp_module wider = code->modules[1];
    wider.high = 0x20000;
    assert_int_equal(hp_code_add_module(code, &wider, &id), HP_OK);
    assert_int_equal(hp_trace_writer_end(writer, 0, HP_END_KILLED), HP_OK);
    assert_int_equal(access(path, F_OK), -1); /* not before it is whole */
    wider.high = 0x30000;
    assert_int_equal(hp_code_add_module(code, &wider, &id), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 1.5, 137), HP_OK);

    struct reading r;
    read_all(&r);
    const struct hp_trace_info *info = hp_trace_reader_info(r.reader);
    assert_true(info->complete);
    assert_int_equal(info->version, HP_TRACE_VERSION);
    assert_int_equal(info->words, N);
    assert_int_equal(info->threads, 1);
    assert_int_equal(info->segments, 6);
    assert_int_equal(info->modules, 2);
    assert_int_equal(info->run.arch, HP_ARCH_X86_64);
    assert_true(info->run.seconds == 1.5);
    assert_int_equal(info->run.exit_status, 137);
    assert_int_equal(info->run.started, run.started);
    assert_string_equal(info->run.version, run.version);
    assert_string_equal(info->run.engine, run.engine);
    assert_string_equal(info->run.directory, run.directory);
    assert_string_equal(info->run.machine, run.machine);
    for (int i = 0; i < 3; i++)
        assert_string_equal(info->run.command[i], command[i]);
    assert_null(info->run.command[3]);
    assert_string_equal(hp_trace_reader_string(r.reader, 12345), "/bin/ls");
    assert_string_equal(hp_trace_reader_string(r.reader, 0), "");
    assert_null(hp_trace_reader_string(r.reader, 1));
    struct seen *seen = &r.threads[0];
    assert_int_equal(seen->thread.pid, 1000);
    assert_int_equal(seen->thread.parent, 7);
    assert_int_equal(seen->n, N);
    assert_memory_equal(seen->words, words, sizeof words);
    assert_int_equal(seen->ends, 1);
    assert_int_equal(seen->reason, HP_END_KILLED);
    for (size_t i = 0; i < 6; i++)
        same_segment(code, r.code, ids[i]);
    assert_int_equal(r.code->n_segments, 6);
    assert_int_equal(r.code->n_modules, 2);
    assert_string_equal(r.code->modules[0].build_id, "abcd");
    assert_int_equal(r.code->modules[1].high, 0x30000);
    assert_int_equal(r.errors, 0);
    close_reading(&r);
    hp_code_free(code);
}

static void code_and_strings_come_before_words(void **state)
{
    (void)state;
    struct hp_code *code = new_code();
    struct hp_trace_writer *writer = new_writer(code);
    for (uint32_t t = 0; t < 3; t++) {
        start_thread(writer, t);
        add_segment(code, 10 + t);
        const uint32_t words[] = {10 + t, hp_word_event(HP_WORD_EXEC, 0), t};
        assert_int_equal(hp_trace_writer_words(writer, t, words, 3), HP_OK);
        assert_int_equal(hp_trace_writer_string(writer, t, "text"), HP_OK);
        assert_int_equal(hp_trace_writer_end(writer, t, HP_END_EXIT), HP_OK);
    }
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    struct reading r;
    open_reading(&r);
    uint32_t t = 0;
    struct hp_trace_item item;
    do {
        assert_int_equal(hp_trace_reader_next(r.reader, r.code, &item), HP_OK);
        if (item.kind != HP_TRACE_WORDS)
            continue;
        same_segment(code, r.code, 10 + t);
        assert_string_equal(hp_trace_reader_string(r.reader, t), "text");
        assert_int_equal(r.code->n_segments, ++t);
    } while (item.kind != HP_TRACE_END);
    assert_int_equal(t, 3);
    close_reading(&r);
    hp_code_free(code);
}

static void an_empty_trace_is_a_trace(void **state)
{
    (void)state;
    struct hp_code *code = new_code();
    struct hp_trace_run bare = {.arch = HP_ARCH_X86_64};
    struct hp_trace_writer *writer;
    assert_int_equal(hp_trace_writer_new(path, &bare, code, &writer), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    assert_true(hp_trace_reader_info(r.reader)->complete);
    assert_string_equal(hp_trace_reader_info(r.reader)->run.engine, "");
    assert_null(hp_trace_reader_info(r.reader)->run.command[0]);
    close_reading(&r);
    hp_code_free(code);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    struct hp_code *code = new_code();
    struct hp_trace_writer *writer;
    struct hp_trace_run no_arch = {0};
    assert_int_equal(hp_trace_writer_new(path, &no_arch, code, &writer), HP_ERR_INVALID);
    assert_int_equal(hp_trace_writer_new("no/such/directory/t", &run, code, &writer), HP_ERR_IO);
    writer = new_writer(code);
    start_thread(writer, 3);
    assert_int_equal(hp_trace_writer_thread(writer, &(struct hp_thread){.id = 3}), HP_ERR_INVALID);
    uint32_t word = 1;
    assert_int_equal(hp_trace_writer_words(writer, 2, &word, 1), HP_ERR_INVALID);
    assert_int_equal(hp_trace_writer_end(writer, 2, HP_END_EXIT), HP_ERR_INVALID);
    assert_int_equal(hp_trace_writer_end(writer, 3, HP_END_EXIT), HP_OK);
    assert_int_equal(hp_trace_writer_words(writer, 3, &word, 1), HP_ERR_INVALID);
    unlink(path);
    hp_trace_writer_abort(writer);
    assert_int_equal(access(path, F_OK), -1);
    hp_trace_writer_abort(NULL);
    hp_trace_reader_close(NULL);
    struct hp_trace_reader *reader;
    assert_int_equal(hp_trace_reader_open("no/such/file", &reader), HP_ERR_IO);
    assert_int_equal(hp_trace_reader_open(directory, &reader), HP_ERR_INVALID);
    write_file(path, (const uint8_t *)"", 0);
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_ERR_FORMAT);
    hp_code_free(code);
}

static void a_foreign_code_map_is_refused(void **state)
{
    (void)state;
    struct hp_code *code = new_code(), *arm;
    assert_int_equal(hp_trace_writer_finish(new_writer(code), 0, 0), HP_OK);
    assert_int_equal(hp_code_new(HP_ARCH_ARM, &arm), HP_OK);
    struct hp_trace_reader *reader;
    struct hp_trace_item item;
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_OK);
    assert_int_equal(hp_trace_reader_next(reader, arm, &item), HP_ERR_INVALID);
    hp_trace_reader_close(reader);
    hp_code_free(arm);
    hp_code_free(code);
}

static void other_versions_are_told_apart(void **state)
{
    (void)state;
    struct hp_code *code = new_code();
    assert_int_equal(hp_trace_writer_finish(new_writer(code), 0, 0), HP_OK);
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    struct hp_trace_reader *reader;
    for (uint8_t oldest = HP_TRACE_VERSION; oldest <= HP_TRACE_VERSION + 1; oldest++) {
        bytes[8] = 9; /* a later version that says from which on it can be read */
        bytes[12] = oldest;
        uint32_t crc = hp_trace_crc(bytes, 60);
        for (int i = 0; i < 4; i++)
            bytes[60 + i] = (uint8_t)(crc >> (8 * i));
        write_file(path, bytes, size);
        enum hp_err err = hp_trace_reader_open(path, &reader);
        assert_int_equal(err, oldest == HP_TRACE_VERSION ? HP_OK : HP_ERR_VERSION);
        hp_trace_reader_close(reader);
    }
    free(bytes);
    hp_code_free(code);
}

/* --- Long traces and seeking ------------------------------------------------------------------ */

/* Whether a frame's words are whole: no payload is cut off at their end. */
static bool whole(const uint32_t *words, size_t n)
{
    size_t i = 0;
    while (i < n)
        i += 1 + (size_t)(words[i] & HP_WORD_EVENT ? hp_word_payload(words[i]) : 0);
    return i == n;
}

static void long_threads_make_frames_one_can_seek(void **state)
{
    (void)state;
    enum { N = 9 << 20 };
    struct hp_code *code = new_code();
    for (uint32_t id = 1; id <= 500; id++)
        add_segment(code, id);
    uint32_t *words = malloc(N * sizeof *words);
    size_t n = make_words(words, N, 100);
    for (size_t i = 0; i < n / 3; i++) /* code that comes late */
        words[2 * n / 3 + i] = 1 + (uint32_t)((i * 7919 + i / 1000) % 500);
    for (int i = 0; i < 6; i++) /* an event with its payload across the end of a frame */
        words[(4 << 20) - 4 + i] = i == 3 ? hp_word_event(HP_WORD_HANDLER, 2) : 17;
    struct hp_trace_writer *writer = new_writer(code);
    start_thread(writer, 0);
    for (size_t i = 0; i < n / 2;) {
        size_t some = 1 + below(100000) < n / 2 - i ? 1 + below(100000) : n / 2 - i;
        some = some < n / 2 - i ? some : n / 2 - i;
        assert_int_equal(hp_trace_writer_words(writer, 0, words + i, some), HP_OK);
        i += some;
    }
    start_thread(writer, 1);
    assert_int_equal(hp_trace_writer_words(writer, 1, words, 1000), HP_OK);
    assert_int_equal(hp_trace_writer_words(writer, 0, words + n / 2, n - n / 2), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);

    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    assert_int_equal(r.threads[0].n, n);
    assert_memory_equal(r.threads[0].words, words, n * 4);
    assert_int_equal(r.threads[1].n, 1000);
    for (uint32_t id = 1; id <= 500; id++)
        same_segment(code, r.code, id);

    struct hp_code *fresh;
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &fresh), HP_OK);
    struct hp_trace_reader *reader;
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_OK);
    for (int i = 0; i < 12; i++) {
        size_t at = i == 0 ? n - 1 : i == 1 ? 0 : below((uint32_t)n);
        uint64_t first;
        assert_int_equal(hp_trace_reader_seek(reader, fresh, 0, at, &first), HP_OK);
        assert_int_equal(fresh->n_segments, 500);
        struct hp_trace_item item;
        assert_int_equal(hp_trace_reader_next(reader, fresh, &item), HP_OK);
        assert_int_equal(item.kind, HP_TRACE_WORDS);
        assert_int_equal(item.thread.tid, 1000);
        assert_true(first <= at && at < first + item.n_words);
        assert_memory_equal(item.words, words + first, item.n_words * 4);
        assert_true(whole(item.words, item.n_words));
        size_t behind = first + item.n_words;
        while (item.kind != HP_TRACE_END) { /* and on to the end, across code frames */
            assert_int_equal(hp_trace_reader_next(reader, fresh, &item), HP_OK);
            if (item.kind != HP_TRACE_WORDS || item.thread.id != 0)
                continue;
            assert_memory_equal(item.words, words + behind, item.n_words * 4);
            behind += item.n_words;
        }
        assert_int_equal(behind, n);
    }
    uint64_t first;
    assert_int_equal(hp_trace_reader_seek(reader, fresh, 0, n, &first), HP_ERR_NOTFOUND);
    assert_int_equal(hp_trace_reader_seek(reader, fresh, 2, 0, &first), HP_ERR_NOTFOUND);
    hp_trace_reader_close(reader);
    hp_code_free(fresh);
    close_reading(&r);
    free(words);
    hp_code_free(code);
}

static void threads_interleave(void **state)
{
    (void)state;
    enum { N = 60000 };
    struct hp_code *code = new_code();
    for (uint32_t id = 1; id <= 200; id++)
        add_segment(code, id);
    static uint32_t words[THREADS][N];
    size_t n[THREADS], at[THREADS] = {0};
    struct hp_trace_writer *writer = new_writer(code);
    for (uint32_t t = 0; t < THREADS; t++) {
        n[t] = make_words(words[t], N - t * 1000, 20 + t * 20);
        start_thread(writer, t);
    }
    for (uint32_t left = THREADS; left > 0;) {
        uint32_t t = below(THREADS);
        if (at[t] > n[t])
            continue;
        size_t some = n[t] - at[t] < 777 ? n[t] - at[t] : 777;
        assert_int_equal(hp_trace_writer_words(writer, t, words[t] + at[t], some), HP_OK);
        at[t] += some;
        if (at[t] < n[t])
            continue;
        if (t % 2)
            assert_int_equal(hp_trace_writer_end(writer, t, (enum hp_end_reason)(t / 2)), HP_OK);
        at[t]++;
        left--;
    }
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    for (uint32_t t = 0; t < THREADS; t++) {
        assert_int_equal(r.threads[t].n, n[t]);
        assert_memory_equal(r.threads[t].words, words[t], n[t] * 4);
        assert_int_equal(r.threads[t].ends, t % 2);
        assert_int_equal(r.threads[t].thread.tid, 1000 + t);
        if (t % 2)
            assert_int_equal(r.threads[t].reason, t / 2);
    }
    close_reading(&r);
    hp_code_free(code);
}

/* Many threads with much pending: written early, in order, and with bounded memory. */
static void many_threads_take_bounded_memory(void **state)
{
    (void)state;
    enum { MANY = 60, CHUNK = 400000, ROUNDS = 4 };
    struct hp_code *code = new_code();
    struct hp_trace_writer *writer = new_writer(code);
    uint32_t *words = calloc(CHUNK, sizeof *words);
    for (uint32_t t = 0; t < MANY; t++)
        start_thread(writer, t);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t t = 0; t < MANY; t++) {
            for (uint32_t i = 0; i < CHUNK; i++)
                words[i] = 1 + t * 10 + round + i % 7;
            assert_int_equal(hp_trace_writer_words(writer, t, words, CHUNK), HP_OK);
        }
    }
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    struct hp_code *fresh;
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &fresh), HP_OK);
    struct hp_trace_reader *reader;
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_OK);
    assert_int_equal(hp_trace_reader_info(reader)->words, (uint64_t)MANY * CHUNK * ROUNDS);
    uint64_t read[MANY] = {0}, early = 0;
    struct hp_trace_item item;
    do {
        assert_int_equal(hp_trace_reader_next(reader, fresh, &item), HP_OK);
        if (item.kind != HP_TRACE_WORDS)
            continue;
        uint32_t t = item.thread.id;
        early += read[t] + item.n_words < (uint64_t)CHUNK * ROUNDS;
        for (size_t i = 0; i < item.n_words; i += 1001) {
            uint64_t at = read[t] + i;
            assert_int_equal(item.words[i], 1 + t * 10 + at / CHUNK + at % CHUNK % 7);
        }
        read[t] += item.n_words;
    } while (item.kind != HP_TRACE_END);
    for (uint32_t t = 0; t < MANY; t++)
        assert_int_equal(read[t], CHUNK * ROUNDS);
    assert_true(early > 0);
    hp_trace_reader_close(reader);
    hp_code_free(fresh);
    free(words);
    hp_code_free(code);
}

/* --- When writing fails ----------------------------------------------------------------------- */

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    unlink(path);
    struct hp_code *code = new_code();
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    struct hp_trace_writer *writer = new_writer(code);
    uint32_t *words = malloc((5u << 20) * sizeof *words);
    for (size_t i = 0; i < 5u << 20; i++)
        words[i] = 1 + below(1u << 30);
    start_thread(writer, 0);
    assert_int_equal(hp_trace_writer_words(writer, 0, words, 5u << 20), HP_ERR_IO);
    assert_non_null(strstr(hp_error_text(), strerror(EFBIG)));
    uint32_t word = 1;
    assert_int_equal(hp_trace_writer_words(writer, 0, &word, 1), HP_ERR_IO);
    assert_non_null(strstr(hp_error_text(), strerror(EFBIG)));
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(access(path, F_OK), -1);
    DIR *dir = opendir(directory);
    int left = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        left += entry->d_name[0] != '.';
    closedir(dir);
    assert_int_equal(left, 0);
    free(words);
    hp_code_free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_comes_back_whole),
        cmocka_unit_test(code_and_strings_come_before_words),
        cmocka_unit_test(an_empty_trace_is_a_trace),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_foreign_code_map_is_refused),
        cmocka_unit_test(other_versions_are_told_apart),
        cmocka_unit_test(long_threads_make_frames_one_can_seek),
        cmocka_unit_test(threads_interleave),
        cmocka_unit_test(many_threads_take_bounded_memory),
        cmocka_unit_test(a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
