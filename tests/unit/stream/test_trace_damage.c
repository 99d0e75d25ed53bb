// SPDX-License-Identifier: MIT
#include "trace_support.h"

#include <zstd.h>

/* --- Damage ----------------------------------------------------------------------------------- */

/* A trace of two threads, whose words go to `words`. Returns the file. */
static uint8_t *small_trace(uint32_t words[2][6000], size_t n[2], size_t *size)
{
    struct hp_code *code = new_code();
    for (uint32_t id = 1; id <= 60; id++)
        add_segment(code, id);
    struct hp_trace_writer *writer = new_writer(code);
    assert_int_equal(hp_trace_writer_string(writer, 5, "five"), HP_OK);
    for (uint32_t t = 0; t < 2; t++) {
        n[t] = make_words(words[t], 6000, 30 + 30 * t);
        start_thread(writer, t);
        assert_int_equal(hp_trace_writer_words(writer, t, words[t], n[t]), HP_OK);
        assert_int_equal(hp_trace_writer_end(writer, t, HP_END_EXIT), HP_OK);
    }
    assert_int_equal(hp_trace_writer_finish(writer, 1, 2), HP_OK);
    hp_code_free(code);
    return read_file(path, size);
}

static void damaged_words_are_a_loss(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 0);
    /* First the payload, then the header too: the loss is known either way. */
    for (size_t hit = at + HP_TRACE_FRAME_HEADER + 100;; hit = at + 20) {
        bytes[hit] ^= 4;
        write_file(path, bytes, size);
        struct reading r;
        read_all(&r);
        assert_int_equal(r.errors, 1);
        assert_int_equal(r.losses, 1);
        assert_int_equal(r.lost, n[0]);
        assert_int_equal(r.threads[0].n, 3);
        assert_int_equal(r.threads[0].ends, 1);
        assert_int_equal(r.threads[1].n, n[1]);
        assert_memory_equal(r.threads[1].words, words[1], n[1] * 4);
        close_reading(&r);
        if (hit == at + 20)
            break;
    }
    free(bytes);
}

static void a_frame_is_lost_between_others(void **state)
{
    (void)state;
    enum { N = 9 << 20, FRAME = 4 << 20 };
    struct hp_code *code = new_code();
    struct hp_trace_writer *writer = new_writer(code);
    uint32_t *words = malloc(N * sizeof *words);
    for (uint32_t i = 0; i < N; i++)
        words[i] = 1 + i % 1000;
    start_thread(writer, 0);
    assert_int_equal(hp_trace_writer_words(writer, 0, words, N), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    struct hp_trace_frame frame;
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 0);
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    at += HP_TRACE_FRAME_HEADER + frame.stored;
    bytes[at + HP_TRACE_FRAME_HEADER + 20] ^= 1;
    write_file(path, bytes, size);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.lost, FRAME);
    struct seen *seen = &r.threads[0];
    assert_int_equal(seen->n, N - FRAME + 3);
    assert_memory_equal(seen->words, words, FRAME * 4);
    assert_memory_equal(seen->words + FRAME + 3, words + 2 * FRAME, (N - 2 * FRAME) * 4);
    close_reading(&r);
    free(bytes);
    free(words);
    hp_code_free(code);
}

static void a_lost_start_is_made_up(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    bytes[find_frame(bytes, size, HP_TRACE_FRAME_THREAD, 1) + 45] ^= 1;
    write_file(path, bytes, size);
    struct reading r;
    read_all(&r); /* checks that the thread starts before its words */
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.losses, 0);
    assert_int_equal(r.threads[1].n, n[1]);
    assert_int_equal(r.threads[1].thread.tid, 0);
    close_reading(&r);
    free(bytes);
}

static void removed_and_repeated_frames_are_noticed(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size), *changed = malloc(2 * size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 0);
    size_t behind = find_frame(bytes, size, HP_TRACE_FRAME_THREAD_END, 0);
    memcpy(changed, bytes, at);
    memcpy(changed + at, bytes + behind, size - behind);
    write_file(path, changed, size - (behind - at));
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.lost, n[0]);
    assert_int_equal(r.threads[1].n, n[1]);
    close_reading(&r);

    memcpy(changed, bytes, behind);
    memcpy(changed + behind, bytes + at, size - at);
    write_file(path, changed, size + (behind - at));
    read_all(&r);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.losses, 0);
    assert_int_equal(r.threads[0].n, n[0]);
    assert_int_equal(r.threads[1].n, n[1]);
    close_reading(&r);
    free(changed);
    free(bytes);
}

static void unknown_frames_are_skipped(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_STRINGS, 0);
    struct hp_trace_frame frame;
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    frame.kind = 4711;
    hp_trace_pack_frame(bytes + at, &frame);
    write_file(path, bytes, size);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    assert_int_equal(r.threads[1].n, n[1]);
    assert_null(hp_trace_reader_string(r.reader, 5));
    close_reading(&r);
    free(bytes);
}

static void a_trace_without_an_end_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t words_at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 1);
    size_t index_at = find_frame(bytes, size, HP_TRACE_FRAME_INDEX, 0);
    const size_t cuts[] = {size - 1,       size - 24,     index_at + 50, index_at + 7, index_at,
                           words_at + 500, words_at + 40, words_at + 3,  words_at};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_file(path, bytes, cuts[i]);
        struct reading r;
        read_all(&r);
        const struct hp_trace_info *info = hp_trace_reader_info(r.reader);
        assert_false(info->complete);
        assert_int_equal(info->words, 0);
        assert_string_equal(info->run.engine, "qemu");
        bool index_read = cuts[i] >= size - 24; /* only the trailer is missing */
        assert_int_equal(r.errors, index_read ? 0 : 1);
        if (!index_read)
            assert_non_null(strstr(hp_error_text(), "truncated at byte"));
        assert_int_equal(r.threads[0].n, n[0]);
        bool in_words = cuts[i] == words_at + 500 || cuts[i] == words_at + 40;
        assert_int_equal(r.lost, in_words ? n[1] : 0);
        assert_int_equal(r.threads[1].n, cuts[i] >= index_at ? n[1] : in_words ? 3 : 0);
        uint64_t first;
        assert_int_equal(hp_trace_reader_seek(r.reader, r.code, 0, 0, &first), HP_ERR_UNSUPPORTED);
        close_reading(&r);
    }
    free(bytes);
}

static void impossible_sizes_are_not_believed(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 0);
    struct hp_trace_frame good, bad;
    assert_true(hp_trace_unpack_frame(bytes + at, &good));
    for (int i = 0; i < 6; i++) {
        bad = good;
        switch (i) {
        case 0: bad.count = UINT32_MAX; break;
        case 1: bad.count = 8u << 20; break;
        case 2: bad.content = UINT32_MAX; break;
        case 3: bad.content += 1; break;
        case 4: bad.first = UINT64_MAX - 1; break;
        default: bad.count -= 1; break;
        }
        hp_trace_pack_frame(bytes + at, &bad);
        write_file(path, bytes, size);
        struct reading r;
        read_all(&r);
        assert_int_equal(r.errors, i == 0 || i == 1 ? r.errors : 1);
        assert_true(r.errors > 0);
        assert_int_equal(r.threads[1].n, n[1]);
        close_reading(&r);
    }
    free(bytes);
}

/* A frame with a changed header, sealed again: read, and the one error's text is given. */
static void one_error(uint8_t *bytes, size_t size, size_t at, const struct hp_trace_frame *frame,
                      const char *text)
{
    hp_trace_pack_frame(bytes + at, frame);
    write_file(path, bytes, size);
    struct reading r;
    open_reading(&r);
    bool told = false;
    while (read_item(&r))
        told = told || (r.errors == 1 && strstr(hp_error_text(), text));
    assert_int_equal(r.errors, 1);
    assert_true(told);
    close_reading(&r);
}

static void wrong_headers_are_told_apart(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t end_at = find_frame(bytes, size, HP_TRACE_FRAME_THREAD_END, 0);
    struct hp_trace_frame good, bad;
    assert_true(hp_trace_unpack_frame(bytes + end_at, &good));
    bad = good;
    bad.first--;
    one_error(bytes, size, end_at, &bad, "words come twice");
    hp_trace_pack_frame(bytes + end_at, &good);
    size_t words_at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 1);
    assert_true(hp_trace_unpack_frame(bytes + words_at, &good));
    bad = good;
    bad.count = 10; /* no 10 words take so many bytes */
    hp_trace_pack_frame(bytes + words_at, &bad);
    size_t last = find_frame(bytes, size, HP_TRACE_FRAME_THREAD_END, 1);
    struct hp_trace_frame end;
    assert_true(hp_trace_unpack_frame(bytes + last, &end));
    end.first = 10;
    hp_trace_pack_frame(bytes + last, &end);
    one_error(bytes, size, words_at, &bad, "impossibly large");
    free(bytes);
}

static void strings_end_once(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"\3\0\0\0ab", 7, "ab"}, {"\1\0\0\0", 5, ""},     {"\0\0\0\0", 5, NULL},
        {"\2\0\0\0ab", 7, NULL}, {"\4\0\0\0ab", 7, NULL}, {"\3\0\0\0a\0", 7, NULL},
        {"\3\0\0\0ab", 6, NULL}, {"\3\0\0", 3, NULL},     {"\xff\xff\xff\xffz", 6, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
        struct hp_bytes_in in = {bytes, bytes + cases[i].size, false};
        assert_string_equal(hp_in_string(&in), cases[i].text ? cases[i].text : "");
        assert_int_equal(in.bad, cases[i].text == NULL);
    }
}

/* One random change; returns the new size. */
static size_t mutate(uint8_t *bytes, size_t size, size_t room)
{
    /* Half of them near the start or the end, where the structure is dense. */
    size_t at = below((uint32_t)size), length = 1 + below(200);
    if (below(2))
        at = below(2) ? at % 300 % size : size - 1 - at % 300 % size;
    size_t to = below((uint32_t)size);
    switch (below(7)) {
    case 0: bytes[at] ^= (uint8_t)(1 << below(8)); return size;
    case 1: bytes[at] = (uint8_t)below(256); return size;
    case 2: return at; /* truncate */
    case 3:            /* remove */
        length = length < size - at ? length : size - at;
        memmove(bytes + at, bytes + at + length, size - at - length);
        return size - length;
    case 4: /* repeat */
        length = length < size - at ? length : size - at;
        length = length < room - size ? length : room - size;
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    case 5: /* copy elsewhere */
        length = length < size - at ? length : size - at;
        length = length < size - to ? length : size - to;
        memmove(bytes + to, bytes + at, length);
        return size;
    default: /* extend */
        length = length < room - size ? length : room - size;
        for (size_t i = 0; i < length; i++)
            bytes[size + i] = (uint8_t)below(256);
        return size + length;
    }
}

/* A header whose fields were changed and sealed again, as an attacker would. */
static void forge(uint8_t *bytes, size_t size)
{
    size_t at = HP_TRACE_FILE_HEADER;
    struct hp_trace_frame frame;
    for (uint32_t skip = below(9); skip > 0 && at + HP_TRACE_FRAME_HEADER <= size; skip--) {
        assert_true(hp_trace_unpack_frame(bytes + at, &frame));
        if (at + 2 * HP_TRACE_FRAME_HEADER + frame.stored + HP_TRACE_TRAILER > size)
            break;
        at += HP_TRACE_FRAME_HEADER + frame.stored;
    }
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    uint32_t value = below(2) ? below(10) : below(2) ? UINT32_MAX - below(3) : below(1u << 30);
    switch (below(7)) {
    case 0: frame.kind = (uint16_t)below(9); break;
    case 1: frame.thread = value; break;
    case 2: frame.count = value; break;
    case 3: frame.first = value * UINT64_C(0x100000001); break;
    case 4: frame.stored = value; break;
    case 5: frame.content = value; break;
    default: frame.number = value; break;
    }
    hp_trace_pack_frame(bytes + at, &frame);
}

/* Seeks about in a trace that may be damaged; whatever comes is fine but a crash. */
static void seek_about(struct reading *r)
{
    for (int i = 0; i < 3; i++) {
        uint64_t first;
        enum hp_err err = hp_trace_reader_seek(r->reader, r->code, below(2), below(7000), &first);
        struct hp_trace_item item = {0};
        for (int j = 0; j < 20 && err == HP_OK && (j == 0 || item.kind != HP_TRACE_END); j++)
            err = hp_trace_reader_next(r->reader, r->code, &item);
        assert_true(err == HP_OK || err == HP_ERR_FORMAT || err == HP_ERR_UNSUPPORTED ||
                    err == HP_ERR_NOTFOUND);
    }
}

static void any_damage_is_survived(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    size_t room = 2 * size;
    uint8_t *changed = malloc(room);
    int refused = 0, reported = 0, untouched = 0;
    for (int i = 0; i < 3000; i++) {
        memcpy(changed, bytes, size);
        size_t length = size;
        if (i % 3 == 0)
            forge(changed, size);
        for (uint32_t times = i % 3 ? 1 + below(3) : 0; times > 0 && length > 0; times--)
            length = mutate(changed, length, room);
        write_file(path, changed, length);
        struct hp_trace_reader *reader;
        enum hp_err err = hp_trace_reader_open(path, &reader);
        hp_trace_reader_close(reader);
        if (err != HP_OK) {
            assert_true(err == HP_ERR_FORMAT || err == HP_ERR_UNSUPPORTED);
            refused++;
            continue;
        }
        struct reading r;
        read_all(&r);
        reported += r.errors > 0;
        untouched += r.errors == 0;
        /* What is delivered without a word of warning is right, unless it was forged. */
        for (int t = 0; t < 2 && r.errors == 0 && i % 3; t++) {
            assert_int_equal(r.threads[t].n, n[t]);
            assert_memory_equal(r.threads[t].words, words[t], n[t] * 4);
        }
        seek_about(&r);
        close_reading(&r);
    }
    assert_true(refused > 20);
    assert_true(reported > 1500);
    assert_true(untouched > 20); /* index, trailer, behind the end */
    free(changed);
    free(bytes);
}

/* Changes the content of the frame at `at` and makes header and checksums right again. Returns the
 * size of the new file. */
static size_t forge_content(uint8_t *file, const uint8_t *bytes, size_t size, size_t at)
{
    struct hp_trace_frame frame;
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    size_t behind = at + HP_TRACE_FRAME_HEADER + frame.stored;
    uint8_t *content = malloc(frame.content + 1u);
    assert_int_equal(
        ZSTD_decompress(content, frame.content, bytes + at + HP_TRACE_FRAME_HEADER, frame.stored),
        frame.content);
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    for (uint32_t times = 1 + below(4); times > 0; times--)
        content[below(below(2) ? frame.content : 1 + frame.content / 16)] = values[below(6)];
    if (below(4) == 0)
        frame.content = below(frame.content);
    uint8_t *to = file + at + HP_TRACE_FRAME_HEADER;
    memcpy(file, bytes, at);
    size_t stored = ZSTD_compress(to, size, content, frame.content, 1);
    assert_false(ZSTD_isError(stored));
    frame.stored = (uint32_t)stored;
    hp_trace_pack_frame(file + at, &frame);
    memcpy(to + stored, bytes + behind, size - behind);
    free(content);
    size_t total = at + HP_TRACE_FRAME_HEADER + stored + size - behind;
    if (frame.kind == HP_TRACE_FRAME_INDEX)
        hp_trace_pack_trailer(file + total - HP_TRACE_TRAILER, at);
    return total;
}

static void forged_contents_are_survived(void **state)
{
    (void)state;
    static uint32_t words[2][6000];
    size_t n[2], size;
    uint8_t *bytes = small_trace(words, n, &size);
    uint8_t *file = malloc(2 * size + 1000);
    int reported = 0;
    for (int i = 0; i < 2000; i++) {
        size_t at = find_frame(bytes, size, (unsigned)(1 + i % 7), 0);
        write_file(path, file, forge_content(file, bytes, size, at));
        struct reading r;
        read_all(&r);
        reported += r.errors > 0;
        seek_about(&r);
        close_reading(&r);
    }
    assert_true(reported > 500);
    free(file);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_words_are_a_loss),
        cmocka_unit_test(a_frame_is_lost_between_others),
        cmocka_unit_test(a_lost_start_is_made_up),
        cmocka_unit_test(removed_and_repeated_frames_are_noticed),
        cmocka_unit_test(unknown_frames_are_skipped),
        cmocka_unit_test(a_trace_without_an_end_is_read_as_far_as_it_goes),
        cmocka_unit_test(impossible_sizes_are_not_believed),
        cmocka_unit_test(wrong_headers_are_told_apart),
        cmocka_unit_test(strings_end_once),
        cmocka_unit_test(any_damage_is_survived),
        cmocka_unit_test(forged_contents_are_survived),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
