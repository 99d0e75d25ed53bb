// SPDX-License-Identifier: MIT
/* Whole program paths through a file: what comes out is what went in; and files that are damaged.
 */
#include "hotpath/wpp.h"
#include "stream/trace_format.h"
#include "stream_fixture.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "test_wpp.tmp.wpp"

static char *command[] = {(char *)"prog", (char *)"a b", NULL};
static const struct hp_trace_run about = {.version = "9.9",
                                          .engine = "test",
                                          .arch = HP_ARCH_X86_64,
                                          .command = command,
                                          .directory = "/d",
                                          .machine = "m",
                                          .started = 7,
                                          .seconds = 1.5,
                                          .exit_status = 3};

/* A sequence of some thread. */
struct sequence {
    struct hp_path *paths;
    size_t n;
};

/* Three blocks in a module at 0x10000, and addresses without one. */
static void make_code(struct stream *s)
{
    struct hp_module module = {
        .path = "/bin/prog", .build_id = "abcd", .base = 0x10000, .low = 0x10000, .high = 0x20000};
    stream_init(s);
    assert_int_equal(hp_code_add_module(s->code, &module, &s->module), HP_OK);
    add_segment(s, 1, 0x10100, "90 c3");
    add_segment(s, 2, 0x10200, "90 90 c3");
    add_segment(s, 3, 0x10300, "c3");
}

static struct hp_path make_path(uint64_t *seed, uint32_t kinds)
{
    uint32_t kind = random_below(seed, kinds), block = kind % 4;
    struct hp_path path = {.block = block < 3 ? block : HP_NO_ID,
                           .start = 0x10100 + block * 0x100,
                           .length = (uint8_t)(kind % 65),
                           .insns = 1 + kind % 7,
                           .targets = kind % 5 == 0 ? kind : 0};
    path.outcomes = kind * UINT64_C(0x9e3779b97f4a7c15);
    path.outcomes = path.length ? path.outcomes >> (64 - path.length) : 0;
    if (block == 3)
        path.start = kind * UINT64_C(0x123456789ab);
    return path;
}

/* Loops of random bodies. */
static struct sequence make_sequence(uint64_t seed, size_t n, uint32_t kinds)
{
    struct sequence s = {.paths = calloc(n + 1, sizeof(struct hp_path)), .n = n};
    for (size_t i = 0; i < n;) {
        uint64_t body = random_below(&seed, 10);
        for (uint32_t k = 0, times = 1 + random_below(&seed, 9); k < times; k++) {
            uint64_t state = body;
            for (uint32_t j = 0; j < 1 + body && i < n; j++)
                s.paths[i++] = make_path(&state, kinds);
        }
        if (i < n)
            s.paths[i++] = make_path(&seed, kinds);
    }
    return s;
}

/* Gives the paths of all threads to their sinks, in turns of random size. */
static struct hp_wpp_stats write_file(const struct hp_code *code, const struct sequence *sequences,
                                      size_t n, size_t bound)
{
    struct hp_wpp *wpp;
    struct hp_path_sink *sinks[8];
    size_t done[8] = {0};
    uint64_t seed = 5;
    assert_int_equal(hp_wpp_new(FILE_NAME, code, bound, &wpp), HP_OK);
    for (size_t i = 0; i < n; i++) {
        struct hp_thread thread = {.id = (uint32_t)i * 2, .pid = 100, .tid = 100 + (int32_t)i};
        assert_int_equal(hp_wpp_thread(wpp, &thread, &sinks[i]), HP_OK);
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            size_t left = sequences[i].n - done[i], some = random_below(&seed, HP_PATHS_MAX) + 1;
            struct hp_paths paths = {.paths = sequences[i].paths + done[i],
                                     .n = some < left ? some : left};
            sinks[i]->paths(sinks[i], &paths);
            done[i] += paths.n;
            more |= done[i] < sequences[i].n;
        }
    }
    struct hp_wpp_stats stats;
    assert_int_equal(hp_wpp_finish(wpp, &about, "wpp", &stats), HP_OK);
    return stats;
}

static void assert_same_path(const struct hp_wpp_reader *reader, uint32_t id,
                             const struct hp_path *path)
{
    size_t n, n_modules;
    const struct hp_wpp_path *got = hp_wpp_paths(reader, &n);
    const struct hp_wpp_module *modules = hp_wpp_modules(reader, &n_modules);
    assert_true(id < n);
    got += id;
    assert_int_equal(got->length, path->length);
    assert_int_equal(got->outcomes, path->outcomes);
    assert_int_equal(got->targets, path->targets);
    assert_int_equal(got->insns, path->insns);
    if (path->block == HP_NO_ID) {
        assert_int_equal(got->module, HP_NO_ID);
        assert_int_equal(got->offset, path->start);
    } else {
        assert_string_equal(modules[got->module].path, "/bin/prog");
        assert_string_equal(modules[got->module].build_id, "abcd");
        assert_int_equal(got->offset, path->start - 0x10000);
    }
}

static void assert_expands(const struct hp_wpp_reader *reader, size_t thread,
                           const struct sequence *sequence)
{
    struct hp_wpp_cursor *cursor;
    uint32_t ids[100];
    size_t at = 0, n;
    assert_int_equal(hp_wpp_cursor_new(reader, thread, &cursor), HP_OK);
    while ((n = hp_wpp_cursor_next(cursor, ids, 1 + at % 100)) > 0)
        for (size_t i = 0; i < n; i++, at++) {
            assert_true(at < sequence->n);
            assert_same_path(reader, ids[i], &sequence->paths[at]);
        }
    assert_int_equal(at, sequence->n);
    hp_wpp_cursor_free(cursor);
}

/* A path from anywhere is the one that counting them all finds. */
static void assert_skips(const struct hp_wpp_reader *reader, const struct sequence *sequence)
{
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        struct hp_wpp_cursor *cursor;
        uint32_t id;
        assert_int_equal(hp_wpp_cursor_new(reader, 0, &cursor), HP_OK);
        for (size_t at = 0;;) {
            size_t skip = random_below(&seed, (uint32_t)sequence->n);
            hp_wpp_cursor_skip(cursor, skip);
            at += skip;
            size_t got = hp_wpp_cursor_next(cursor, &id, 1);
            assert_int_equal(got, at < sequence->n);
            if (!got)
                break;
            assert_same_path(reader, id, &sequence->paths[at++]);
        }
        hp_wpp_cursor_free(cursor);
    }
}

static void free_sequences(struct sequence *sequences, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(sequences[i].paths);
}

/* --- Round trips ------------------------------------------------------------------------------ */

static void round_trip(size_t n, size_t length, uint32_t kinds, size_t bound,
                       struct hp_wpp_stats *written)
{
    struct stream s;
    struct sequence sequences[8];
    make_code(&s);
    uint64_t symbols = 0, insns = 0;
    for (size_t i = 0; i < n; i++) {
        sequences[i] = make_sequence(i + 1, length * i / 2 + length, kinds);
        symbols += sequences[i].n;
        for (size_t k = 0; k < sequences[i].n; k++)
            insns += sequences[i].paths[k].insns;
    }
    *written = write_file(s.code, sequences, n, bound);
    struct hp_wpp_reader *reader;
    if (hp_wpp_open(FILE_NAME, &reader) != HP_OK)
        fail_msg("%s", hp_error_text());
    const struct hp_wpp_stats *stats = hp_wpp_reader_stats(reader);
    assert_memory_equal(stats, written, sizeof *stats);
    assert_int_equal(stats->symbols, symbols);
    assert_int_equal(stats->insns, insns);
    size_t n_threads;
    const struct hp_wpp_thread *threads = hp_wpp_threads(reader, &n_threads);
    assert_int_equal(n_threads, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(threads[i].id, i * 2);
        assert_int_equal(threads[i].pid, 100);
        assert_int_equal(threads[i].tid, 100 + i);
        assert_int_equal(threads[i].symbols, sequences[i].n);
        assert_expands(reader, i, &sequences[i]);
    }
    if (n)
        assert_skips(reader, &sequences[0]);
    hp_wpp_close(reader);
    free_sequences(sequences, n);
    stream_fini(&s);
    unlink(FILE_NAME);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct hp_wpp_stats stats;
    round_trip(1, 1, 4, 0, &stats);
    round_trip(1, 100, 7, 0, &stats);
    round_trip(0, 0, 4, 0, &stats);
    round_trip(1, 60000, 300, 0, &stats);
    assert_int_equal(stats.parts, 1);
    assert_int_equal(stats.cuts, 0);
    assert_true(stats.file_bytes < stats.symbols * 4 / 10);
}

static void test_threads_have_sequences_of_their_own(void **state)
{
    (void)state;
    struct hp_wpp_stats stats;
    round_trip(6, 9000, 200, 0, &stats);
    assert_int_equal(stats.threads, 6);
    assert_int_equal(stats.parts, 6);
}

static void test_bound_cuts_and_loses_nothing(void **state)
{
    (void)state;
    struct hp_wpp_stats stats;
    round_trip(5, 60000, 5000, HP_WPP_BOUND_MIN, &stats);
    assert_true(stats.cuts > 0);
    assert_true(stats.parts > 5);
    assert_true(stats.forgotten > 0);
    /* Every thread may have a chunk that it fills. */
    assert_true(stats.peak <= HP_WPP_BOUND_MIN + 6 * (size_t)17000);
}

static void test_about(void **state)
{
    (void)state;
    struct stream s;
    make_code(&s);
    struct sequence sequence = make_sequence(1, 50, 5);
    write_file(s.code, &sequence, 1, 0);
    struct hp_wpp_reader *reader;
    assert_int_equal(hp_wpp_open(FILE_NAME, &reader), HP_OK);
    const struct hp_wpp_about *got = hp_wpp_about(reader);
    assert_string_equal(got->version, "9.9");
    assert_string_equal(got->engine, "test");
    assert_string_equal(got->arch, hp_arch_name(HP_ARCH_X86_64));
    assert_string_equal(got->ppcr, "wpp");
    assert_string_equal(got->directory, "/d");
    assert_string_equal(got->machine, "m");
    assert_string_equal(got->command[1], "a b");
    assert_null(got->command[2]);
    assert_int_equal(got->started, 7);
    assert_int_equal(got->exit_status, 3);
    assert_int_equal((int)(got->seconds * 10), 15);
    struct hp_wpp_cursor *cursor;
    assert_int_equal(hp_wpp_cursor_new(reader, 1, &cursor), HP_ERR_NOTFOUND);
    hp_wpp_close(reader);
    free(sequence.paths);
    stream_fini(&s);
    unlink(FILE_NAME);
}

/* A path that a signal cut short has fewer instructions; the sum is exact. */
static void test_instructions_add_up(void **state)
{
    (void)state;
    struct stream s;
    make_code(&s);
    struct hp_path paths[100] = {0};
    for (uint32_t i = 0; i < 100; i++)
        paths[i] = (struct hp_path){.start = 0x10100, .insns = i % 10 == 3 ? 5 : 8, .length = 2};
    struct sequence sequence = {paths, 100};
    struct hp_wpp_stats stats = write_file(s.code, &sequence, 1, 0);
    assert_int_equal(stats.paths, 2);
    assert_int_equal(stats.insns, 90 * 8 + 10 * 5);
    struct hp_wpp_reader *reader;
    assert_int_equal(hp_wpp_open(FILE_NAME, &reader), HP_OK);
    assert_expands(reader, 0, &sequence);
    hp_wpp_close(reader);
    stream_fini(&s);
    unlink(FILE_NAME);
}

static void test_nothing_appears_before_the_end(void **state)
{
    (void)state;
    struct stream s;
    struct hp_wpp *wpp;
    struct hp_path_sink *sink;
    struct stat st;
    make_code(&s);
    struct sequence sequence = make_sequence(1, 50000, 5);
    assert_int_equal(hp_wpp_new(FILE_NAME, s.code, 0, &wpp), HP_OK);
    assert_int_equal(hp_wpp_thread(wpp, &(struct hp_thread){0}, &sink), HP_OK);
    sink->paths(sink, &(struct hp_paths){.paths = sequence.paths, .n = sequence.n});
    assert_int_not_equal(stat(FILE_NAME, &st), 0);
    hp_wpp_abort(wpp);
    assert_int_not_equal(stat(FILE_NAME, &st), 0);
    hp_wpp_abort(NULL);
    assert_int_equal(hp_wpp_new("no/such/directory/x", s.code, 0, &wpp), HP_ERR_IO);
    assert_int_equal(hp_wpp_new(FILE_NAME, s.code, HP_WPP_BOUND_MIN - 1, &wpp), HP_ERR_INVALID);
    free(sequence.paths);
    stream_fini(&s);
}

static void test_full_disk_is_told(void **state)
{
    (void)state;
    struct stream s;
    struct hp_wpp *wpp;
    struct hp_path_sink *sink;
    make_code(&s);
    struct sequence sequence = make_sequence(1, 300000, 100000);
    assert_int_equal(hp_wpp_new("/dev/full", s.code, HP_WPP_BOUND_MIN, &wpp), HP_OK);
    assert_int_equal(hp_wpp_thread(wpp, &(struct hp_thread){0}, &sink), HP_OK);
    sink->paths(sink, &(struct hp_paths){.paths = sequence.paths, .n = sequence.n});
    assert_int_equal(hp_wpp_finish(wpp, &about, "wpp", NULL), HP_ERR_IO);
    assert_non_null(strstr(hp_error_text(), "cannot write /dev/full"));
    free(sequence.paths);
    stream_fini(&s);
}

/* --- Hot subpaths ----------------------------------------------------------------------------- */

/* x (a b c)^n y, m times: with subpaths of 3 paths a b c is n m times there. */
static void test_subpaths_cover_everything_once(void **state)
{
    (void)state;
    struct stream s;
    make_code(&s);
    struct sequence sequence = {.paths = calloc(5000, sizeof(struct hp_path))};
    for (uint32_t m = 0; m < 40; m++)
        for (uint32_t i = 0; i < 2 + 3 * (10 + m % 5); i++) {
            uint32_t last = 1 + 3 * (10 + m % 5);
            uint32_t which = i == 0 ? 0 : i == last ? 1 : 2 + (i - 1) % 3;
            sequence.paths[sequence.n++] = (struct hp_path){
                .block = HP_NO_ID, .start = 0x100 * which, .insns = 10 + which, .length = 1};
        }
    write_file(s.code, &sequence, 1, 0);
    struct hp_wpp_reader *reader;
    assert_int_equal(hp_wpp_open(FILE_NAME, &reader), HP_OK);
    struct hp_wpp_subpath *list;
    size_t n;
    assert_int_equal(hp_wpp_subpaths(reader, 3, 0, &list, &n), HP_OK);
    /* The rule is some rotation of it; here the loop is first met as a b c. */
    assert_int_equal(list[0].n, 3);
    assert_int_equal(list[0].insns, 12 + 13 + 14);
    assert_true(list[0].count >= 40 * 12 - 80);
    for (size_t length = 1; length < 10000; length = length * 3 + 1) {
        hp_wpp_subpaths_free(list, n);
        assert_int_equal(hp_wpp_subpaths(reader, length, 0, &list, &n), HP_OK);
        uint64_t insns = 0, symbols = 0;
        for (size_t i = 0; i < n; i++) {
            assert_in_range(list[i].n, 1, length);
            insns += list[i].insns * list[i].count;
            symbols += list[i].n * list[i].count;
            if (i)
                assert_true(list[i].insns * list[i].count <= list[i - 1].insns * list[i - 1].count);
        }
        assert_int_equal(symbols, sequence.n);
        assert_int_equal(insns, hp_wpp_reader_stats(reader)->insns);
        if (length == 1)
            assert_int_equal(n, 5);
    }
    assert_int_equal(n, 1);
    assert_int_equal(list[0].count, 1);
    assert_int_equal(list[0].n, sequence.n);
    hp_wpp_subpaths_free(list, n);
    assert_int_equal(hp_wpp_subpaths(reader, 1, 2, &list, &n), HP_OK);
    assert_int_equal(n, 2);
    hp_wpp_subpaths_free(list, n);
    assert_int_equal(hp_wpp_subpaths(reader, 0, 0, &list, &n), HP_ERR_INVALID);
    hp_wpp_close(reader);
    free(sequence.paths);
    stream_fini(&s);
    unlink(FILE_NAME);
}

/* The same subpath in the parts of two threads, and paths that got a second number, count together.
 */
static void test_subpaths_of_parts_are_joined(void **state)
{
    (void)state;
    struct stream s;
    make_code(&s);
    struct sequence sequences[2];
    for (size_t i = 0; i < 2; i++)
        sequences[i] = make_sequence(4, 120000, 4000);
    struct hp_wpp_stats stats = write_file(s.code, sequences, 2, HP_WPP_BOUND_MIN);
    assert_true(stats.forgotten > 0 && stats.parts > 2);
    struct hp_wpp_reader *reader;
    assert_int_equal(hp_wpp_open(FILE_NAME, &reader), HP_OK);
    struct hp_wpp_subpath *list;
    size_t n, n_paths;
    assert_int_equal(hp_wpp_subpaths(reader, 1, 0, &list, &n), HP_OK);
    const struct hp_wpp_path *paths = hp_wpp_paths(reader, &n_paths);
    for (size_t i = 0; i < n; i++) {
        uint64_t count = 0;
        const struct hp_wpp_path *path = &paths[list[i].paths[0]];
        for (size_t k = 0; k < sequences[0].n && i < 20; k++) {
            const struct hp_path *p = &sequences[0].paths[k];
            uint64_t offset = p->block == HP_NO_ID ? p->start : p->start - 0x10000;
            count += p->outcomes == path->outcomes && p->length == path->length &&
                     p->insns == path->insns && offset == path->offset &&
                     p->targets == path->targets;
        }
        if (i < 20)
            assert_int_equal(list[i].count, 2 * count);
    }
    hp_wpp_subpaths_free(list, n);
    hp_wpp_close(reader);
    free_sequences(sequences, 2);
    stream_fini(&s);
    unlink(FILE_NAME);
}

/* --- Damage ----------------------------------------------------------------------------------- */

/* In memory: there are many. */
static char damaged[64];

static void put_file(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("test_wpp", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(damaged, sizeof damaged, "/proc/self/fd/%d", fd);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
}

static uint8_t *get_file(size_t *size)
{
    FILE *file = fopen(FILE_NAME, "rb");
    uint8_t *bytes = malloc(1 << 20);
    assert_non_null(file);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Opens the file; whatever is in it, nothing bad happens. Returns whether it was accepted. */
static bool survives(void)
{
    struct hp_wpp_reader *reader;
    enum hp_err err = hp_wpp_open(damaged, &reader);
    if (err != HP_OK) {
        assert_true(err == HP_ERR_FORMAT || err == HP_ERR_VERSION);
        assert_non_null(strstr(hp_error_text(), damaged));
        assert_null(strchr(hp_error_text(), '\n'));
        return false;
    }
    struct hp_wpp_subpath *list;
    size_t n, n_threads;
    hp_wpp_threads(reader, &n_threads);
    for (size_t i = 0; i < n_threads; i++) {
        struct hp_wpp_cursor *cursor;
        uint32_t ids[64];
        assert_int_equal(hp_wpp_cursor_new(reader, i, &cursor), HP_OK);
        for (int k = 0; k < 100; k++)
            hp_wpp_cursor_next(cursor, ids, 64);
        hp_wpp_cursor_skip(cursor, UINT64_MAX);
        assert_int_equal(hp_wpp_cursor_next(cursor, ids, 64), 0);
        hp_wpp_cursor_free(cursor);
    }
    assert_int_equal(hp_wpp_subpaths(reader, 16, 10, &list, &n), HP_OK);
    hp_wpp_subpaths_free(list, n);
    hp_wpp_close(reader);
    return true;
}

/* Makes all checksums right. */
static void repair(uint8_t *bytes, size_t size)
{
    uint32_t crc = hp_trace_crc(bytes, 16);
    memcpy(bytes + 16, &crc, 4);
    for (size_t at = 20; size - at >= 16;) {
        uint64_t content;
        memcpy(&content, bytes + at + 4, 8);
        if (content > size - at - 16)
            return;
        crc = hp_trace_crc(bytes + at, (size_t)content + 12);
        memcpy(bytes + at + 12 + content, &crc, 4);
        at += (size_t)content + 16;
    }
}

static uint8_t *small_file(size_t *size)
{
    struct stream s;
    struct sequence sequences[2];
    make_code(&s);
    for (size_t i = 0; i < 2; i++)
        sequences[i] = make_sequence(i + 2, 120, 6);
    write_file(s.code, sequences, 2, 0);
    free_sequences(sequences, 2);
    stream_fini(&s);
    uint8_t *bytes = get_file(size);
    unlink(FILE_NAME);
    put_file(bytes, *size);
    return bytes;
}

static void test_truncated(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = small_file(&size);
    assert_true(survives());
    for (size_t n = 0; n < size; n++) {
        put_file(bytes, n);
        assert_false(survives());
    }
    bytes[size] = 0;
    put_file(bytes, size + 1);
    assert_false(survives());
    free(bytes);
}

static void test_flipped_bits(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = small_file(&size);
    uint8_t *copy = malloc(size);
    size_t accepted = 0;
    for (size_t bit = 0; bit < size * 8; bit++) {
        memcpy(copy, bytes, size);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        put_file(copy, size);
        assert_false(survives());
        repair(copy, size);
        put_file(copy, size);
        accepted += survives();
    }
    /* Some do not matter to what fits together: names, outcomes, pids. */
    assert_true(accepted > 0 && accepted < size * 8);
    uint64_t seed = 8;
    for (int round = 0; round < 5000; round++) {
        memcpy(copy, bytes, size);
        for (uint32_t i = 0, n = 1 + random_below(&seed, 8); i < n; i++)
            copy[random_below(&seed, (uint32_t)size)] = (uint8_t)random_next(&seed);
        repair(copy, size);
        put_file(copy, size);
        survives();
    }
    free(copy);
    free(bytes);
}

/* --- Files made by hand ----------------------------------------------------------------------- */

struct hand {
    uint8_t bytes[4096];
    size_t n, frame;
};

static void varint(struct hand *h, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        h->bytes[h->n++] = (uint8_t)(value | 0x80);
    h->bytes[h->n++] = (uint8_t)value;
}

static void fixed(struct hand *h, uint64_t value, size_t size)
{
    memcpy(h->bytes + h->n, &value, size);
    h->n += size;
}

static void end_frame(struct hand *h)
{
    if (!h->frame)
        return;
    uint64_t content = h->n - h->frame - 12;
    memcpy(h->bytes + h->frame + 4, &content, 8);
    fixed(h, 0, 4);
}

static void frame(struct hand *h, uint32_t kind)
{
    end_frame(h);
    h->frame = h->n;
    fixed(h, kind, 4);
    fixed(h, 0, 8);
}

/* A file of one path of 3 instructions, one thread, and a part of these rules (their bytes in
 * order). */
static bool by_hand(const uint64_t *rules, size_t n, uint64_t n_rules, uint64_t n_nodes,
                    uint64_t symbols, uint64_t insns)
{
    struct hand h = {.n = 0};
    memcpy(h.bytes, "HPWPP\r\n", 8);
    h.n = 8;
    fixed(&h, 1, 4);
    fixed(&h, 1, 4);
    fixed(&h, 0, 4);
    frame(&h, 1);
    const uint64_t path[] = {0, 0x200, 2, 3, 0, 3};
    for (size_t i = 0; i < 6; i++)
        varint(&h, path[i]);
    frame(&h, 2);
    varint(&h, 0);
    varint(&h, symbols);
    varint(&h, n_rules);
    for (size_t i = 0; i < n; i++)
        varint(&h, rules[i]);
    frame(&h, 3);
    varint(&h, 0);
    frame(&h, 4);
    const uint64_t thread[] = {1, 0, 10, 10, 1, symbols, insns};
    for (size_t i = 0; i < 7; i++)
        varint(&h, thread[i]);
    frame(&h, 5);
    for (size_t i = 0; i < 6; i++) {
        fixed(&h, 1, 4);
        fixed(&h, 0, 1);
    }
    fixed(&h, 0, 8);
    fixed(&h, 0, 8);
    fixed(&h, 0, 4);
    varint(&h, 0);
    frame(&h, 6);
    const uint64_t end[] = {1, 1, n_rules, n_nodes, 0, 0, 0};
    for (size_t i = 0; i < 7; i++)
        varint(&h, end[i]);
    end_frame(&h);
    repair(h.bytes, h.n);
    put_file(h.bytes, h.n);
    return survives();
}

static void test_hostile_grammars(void **state)
{
    (void)state;
    /* S: p^2 */
    assert_true(by_hand((const uint64_t[]){1, 1, 2}, 3, 1, 1, 2, 6));
    assert_false(by_hand((const uint64_t[]){1, 1, 2}, 3, 1, 1, 3, 6));
    assert_false(by_hand((const uint64_t[]){1, 1, 2}, 3, 1, 1, 2, 7));
    assert_false(by_hand((const uint64_t[]){1, 1, 2}, 3, 1, 2, 2, 6));
    /* S: p^0; S: path 1, which is not there; S: itself; S: nothing */
    assert_false(by_hand((const uint64_t[]){1, 1, 0}, 3, 1, 1, 0, 0));
    assert_false(by_hand((const uint64_t[]){1, 4}, 2, 1, 1, 1, 3));
    assert_false(by_hand((const uint64_t[]){1, 2}, 2, 1, 1, 1, 3));
    assert_false(by_hand((const uint64_t[]){0}, 1, 1, 0, 0, 0));
    /* A: B, B: A is not to be written; A: p p, S: A A; S: a rule before the first */
    assert_true(by_hand((const uint64_t[]){2, 0, 0, 2, 2, 2}, 6, 2, 4, 4, 12));
    assert_false(by_hand((const uint64_t[]){2, 0, 0, 2, 2, 6}, 6, 2, 4, 4, 12));
    /* A: p p, S: A only */
    assert_false(by_hand((const uint64_t[]){2, 0, 0, 1, 2}, 5, 2, 3, 2, 6));
    /* A body longer than the file. */
    assert_false(by_hand((const uint64_t[]){UINT64_MAX, 0}, 2, 1, 1, 1, 3));
    assert_false(by_hand((const uint64_t[]){1, 0}, 2, UINT64_MAX, 1, 1, 3));
}

/* Each rule is the one before, 2^32 - 1 times. */
static void test_expansion_bombs(void **state)
{
    (void)state;
    const uint64_t most = UINT32_MAX;
    const uint64_t rules[] = {1, 1, most, 1, 3, most, 1, 3, most};
    assert_false(by_hand(rules, 9, 3, 3, UINT64_MAX, UINT64_MAX));
    assert_non_null(strstr(hp_error_text(), "longer than there can be"));
    /* One that can be: quickly counted, and skipped. */
    const uint64_t length = most * 0x40000000;
    assert_true(
        by_hand((const uint64_t[]){1, 1, most, 1, 3, 0x40000000}, 6, 2, 2, length, length * 3));
}

static void test_other_versions(void **state)
{
    (void)state;
    size_t size;
    struct hp_wpp_reader *reader;
    uint8_t *bytes = small_file(&size);
    bytes[8] = 9;
    repair(bytes, size);
    put_file(bytes, size);
    assert_true(survives()); /* later, but says that this version can read it */
    bytes[12] = 9;
    repair(bytes, size);
    put_file(bytes, size);
    assert_int_equal(hp_wpp_open(damaged, &reader), HP_ERR_VERSION);
    put_file((const uint8_t *)"something else", 14);
    assert_int_equal(hp_wpp_open(damaged, &reader), HP_ERR_FORMAT);
    assert_non_null(strstr(hp_error_text(), "not a whole program path"));
    assert_int_equal(hp_wpp_open(FILE_NAME, &reader), HP_ERR_IO);
    assert_int_equal(hp_wpp_open("/", &reader), HP_ERR_FORMAT);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_threads_have_sequences_of_their_own),
        cmocka_unit_test(test_bound_cuts_and_loses_nothing),
        cmocka_unit_test(test_about),
        cmocka_unit_test(test_instructions_add_up),
        cmocka_unit_test(test_nothing_appears_before_the_end),
        cmocka_unit_test(test_full_disk_is_told),
        cmocka_unit_test(test_subpaths_cover_everything_once),
        cmocka_unit_test(test_subpaths_of_parts_are_joined),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_hostile_grammars),
        cmocka_unit_test(test_expansion_bombs),
        cmocka_unit_test(test_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
