// SPDX-License-Identifier: MIT
/* Traces with addresses: they come back with the words they belong to, whatever happens to the
 * file. */
#include "trace_support.h"

#include "stream/address_codec.h"

#define SEGMENTS 60
#define MANY     4000

/* What a thread did. */
struct did {
    uint32_t *words;
    uint64_t *addresses;
    size_t n, n_addresses;
};

/* How many operands the words from `from` to `to` mean: a segment's id says, and a word behind it
 * may cut it short. */
static size_t count_operands(const uint32_t *words, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (words[i] & HP_WORD_EVENT) {
            i += (size_t)hp_word_payload(words[i]);
            continue;
        }
        size_t next = i + 1;
        while (next < to && words[next] == hp_word_event(HP_WORD_PAD, 0))
            next++;
        bool cut =
            next < to && words[next] & HP_WORD_EVENT && hp_word_kind(words[next]) == HP_WORD_CUT;
        uint32_t all = words[i] % 5, run = cut ? hp_word_arg(words[next]) : all;
        n += run < all ? run : all;
    }
    return n;
}

static struct did make_thread(size_t n)
{
    struct did did = {.words = malloc((n + 3) * 4)};
    did.n = make_words(did.words, n, SEGMENTS);
    for (size_t i = 0; i + 2 < did.n; i++) {
        bool plain = !(did.words[i] & HP_WORD_EVENT) && !(did.words[i + 1] & HP_WORD_EVENT) &&
                     !(did.words[i + 2] & HP_WORD_EVENT);
        bool inside = i && did.words[i - 1] & HP_WORD_EVENT;
        inside |= i > 1 && did.words[i - 2] & HP_WORD_EVENT;
        if (!plain || inside || below(20))
            continue;
        did.words[i + 1] = hp_word_event(below(2) ? HP_WORD_CUT : HP_WORD_PAD, 0);
        if (hp_word_kind(did.words[i + 1]) == HP_WORD_CUT)
            did.words[i + 1] = hp_word_event(HP_WORD_CUT, below(4));
        else
            did.words[i + 2] = hp_word_event(HP_WORD_CUT, below(4));
    }
    did.n_addresses = count_operands(did.words, 0, did.n);
    did.addresses = malloc((did.n_addresses + 1) * 8);
    for (size_t i = 0; i < did.n_addresses; i++)
        did.addresses[i] = below(9) ? 0x7000 + 8 * i : (uint64_t)below(1 << 30) << below(34);
    return did;
}

static void free_thread(struct did *did)
{
    free(did->words);
    free(did->addresses);
}

static struct hp_code *full_code(void)
{
    struct hp_code *code = new_code();
    for (uint32_t id = 1; id <= SEGMENTS; id++)
        add_segment(code, id);
    return code;
}

/* Gives words and addresses in pieces of any size, one ahead of the other. */
static void write_thread(struct hp_trace_writer *writer, uint32_t id, const struct did *did)
{
    size_t at = 0, at_address = 0;
    while (at < did->n || at_address < did->n_addresses) {
        size_t words = below((uint32_t)(did->n / 3 + 2)),
               addresses = below((uint32_t)(did->n_addresses / 3 + 2));
        words = words < did->n - at ? words : did->n - at;
        addresses =
            addresses < did->n_addresses - at_address ? addresses : did->n_addresses - at_address;
        assert_int_equal(hp_trace_writer_words(writer, id, did->words + at, words), HP_OK);
        assert_int_equal(
            hp_trace_writer_addresses(writer, id, did->addresses + at_address, addresses), HP_OK);
        at += words;
        at_address += addresses;
    }
}

static void same_thread(const struct seen *seen, const struct did *did)
{
    assert_int_equal(seen->n, did->n);
    assert_memory_equal(seen->words, did->words, did->n * 4);
    assert_int_equal(seen->n_addresses, did->n_addresses);
    assert_memory_equal(seen->addresses, did->addresses, did->n_addresses * 8);
    assert_int_equal(seen->unaddressed, 0);
}

/* A trace of two threads. Returns the file. */
static uint8_t *small_trace(struct did did[2], size_t *size)
{
    struct hp_code *code = full_code();
    struct hp_trace_writer *writer = new_writer(code);
    for (uint32_t t = 0; t < 2; t++) {
        did[t] = make_thread(MANY + 100 * t);
        start_thread(writer, t);
        write_thread(writer, t, &did[t]);
        assert_int_equal(hp_trace_writer_end(writer, t, HP_END_EXIT), HP_OK);
    }
    assert_int_equal(hp_trace_writer_finish(writer, 1, 2), HP_OK);
    hp_code_free(code);
    return read_file(path, size);
}

/* --- Whole traces ----------------------------------------------------------------------------- */

static void addresses_come_back_with_their_words(void **state)
{
    (void)state;
    struct did did[2];
    size_t size;
    free(small_trace(did, &size));
    struct reading r;
    read_all(&r);
    const struct hp_trace_info *info = hp_trace_reader_info(r.reader);
    assert_true(info->run.addresses);
    assert_int_equal(info->addresses, did[0].n_addresses + did[1].n_addresses);
    assert_int_equal(info->version, 4);
    for (int t = 0; t < 2; t++)
        same_thread(&r.threads[t], &did[t]);
    assert_int_equal(r.errors, 0);
    close_reading(&r);
    free_thread(&did[0]);
    free_thread(&did[1]);
}

static void who_does_not_want_them_gets_none(void **state)
{
    (void)state;
    struct did did[2];
    size_t size, words = 0;
    free(small_trace(did, &size));
    struct hp_trace_reader *reader;
    struct hp_trace_item item;
    struct hp_code *code;
    assert_int_equal(hp_code_new(HP_ARCH_X86_64, &code), HP_OK);
    assert_int_equal(hp_trace_reader_open(path, &reader), HP_OK);
    do {
        assert_int_equal(hp_trace_reader_next(reader, code, &item), HP_OK);
        assert_int_not_equal(item.kind, HP_TRACE_ADDRESSES);
        words += item.n_words;
    } while (item.kind != HP_TRACE_END);
    assert_int_equal(words, did[0].n + did[1].n);
    hp_trace_reader_close(reader);
    hp_code_free(code);
    free_thread(&did[0]);
    free_thread(&did[1]);
}

static void long_threads_make_frames_of_pairs(void **state)
{
    (void)state;
    struct hp_code *code = full_code();
    struct hp_trace_writer *writer = new_writer(code);
    struct did did = make_thread(5 << 20);
    start_thread(writer, 0);
    write_thread(writer, 0, &did);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    hp_code_free(code);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    same_thread(&r.threads[0], &did);
    assert_true(hp_trace_reader_info(r.reader)->frames > 8);

    /* From any frame on they are those of the words from there on. */
    uint64_t first;
    assert_int_equal(hp_trace_reader_seek(r.reader, r.code, 0, did.n / 2, &first), HP_OK);
    size_t skipped = count_operands(did.words, 0, first), seen = 0;
    struct hp_trace_item item;
    do {
        assert_int_equal(hp_trace_reader_next(r.reader, r.code, &item), HP_OK);
        if (item.kind != HP_TRACE_ADDRESSES)
            continue;
        assert_memory_equal(item.addresses, did.addresses + skipped + seen, item.n_addresses * 8);
        seen += item.n_addresses;
    } while (item.kind != HP_TRACE_END);
    assert_int_equal(skipped + seen, did.n_addresses);
    close_reading(&r);
    free_thread(&did);
}

/* --- Threads that lose them ------------------------------------------------------------------- */

static void surplus_addresses_are_left_out(void **state)
{
    (void)state;
    struct hp_code *code = full_code();
    struct hp_trace_writer *writer = new_writer(code);
    struct did did = make_thread(MANY);
    start_thread(writer, 0);
    write_thread(writer, 0, &did);
    const uint64_t more[3] = {1, 2, 3};
    assert_int_equal(hp_trace_writer_addresses(writer, 0, more, 3), HP_OK);
    assert_int_equal(hp_trace_writer_end(writer, 0, HP_END_KILLED), HP_OK);
    assert_int_equal(hp_trace_writer_addresses(writer, 0, more, 3), HP_ERR_INVALID);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    hp_code_free(code);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 0);
    same_thread(&r.threads[0], &did);
    close_reading(&r);
    free_thread(&did);
}

static void words_without_addresses_say_so(void **state)
{
    (void)state;
    struct hp_code *code = full_code();
    struct hp_trace_writer *writer = new_writer(code);
    const uint32_t words[] = {1, 2, 3, 4, 6};
    const uint64_t addresses[] = {10, 20, 21, 30, 31, 32, 40};
    start_thread(writer, 0);
    assert_int_equal(hp_trace_writer_words(writer, 0, words, 5), HP_OK);
    assert_int_equal(hp_trace_writer_addresses(writer, 0, addresses, 7), HP_OK);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    hp_code_free(code);
    struct reading r;
    open_reading(&r);
    for (int items = 0; items < 3; items++)
        assert_true(read_item(&r)); /* the thread, three words and their addresses */
    struct seen *seen = &r.threads[0];
    assert_int_equal(seen->n, 3);
    assert_int_equal(seen->n_addresses, 6);
    assert_memory_equal(seen->addresses, addresses, 6 * 8);
    assert_true(read_item(&r));
    assert_int_equal(seen->unaddressed, 1);
    while (read_item(&r))
        ;
    assert_int_equal(seen->n, 5);
    assert_memory_equal(seen->words, words, sizeof words);
    assert_int_equal(seen->n_addresses, 6);
    assert_int_equal(r.errors, 0);
    close_reading(&r);
}

/* --- Damage ----------------------------------------------------------------------------------- */

static void damaged_addresses_leave_the_words(void **state)
{
    (void)state;
    struct did did[2];
    size_t size;
    uint8_t *bytes = small_trace(did, &size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_ADDRESSES, 0);
    /* First the payload, then the header too. */
    for (size_t hit = at + HP_TRACE_FRAME_HEADER + 100;; hit = at + 20) {
        bytes[hit] ^= 4;
        write_file(path, bytes, size);
        struct reading r;
        read_all(&r);
        assert_int_equal(r.errors, 1);
        assert_int_equal(r.losses, 0);
        assert_int_equal(r.threads[0].n, did[0].n);
        assert_memory_equal(r.threads[0].words, did[0].words, did[0].n * 4);
        assert_int_equal(r.threads[0].unaddressed, 1);
        assert_int_equal(r.threads[0].n_addresses, 0);
        same_thread(&r.threads[1], &did[1]);
        close_reading(&r);
        if (hit == at + 20)
            break;
    }
    free(bytes);
    free_thread(&did[0]);
    free_thread(&did[1]);
}

/* The words of one frame are lost: what comes behind it has its own addresses all the same. */
static void damaged_words_take_their_addresses_with_them(void **state)
{
    (void)state;
    struct hp_code *code = full_code();
    struct hp_trace_writer *writer = new_writer(code);
    struct did did = make_thread(9 << 20);
    start_thread(writer, 0);
    write_thread(writer, 0, &did);
    assert_int_equal(hp_trace_writer_finish(writer, 0, 0), HP_OK);
    hp_code_free(code);
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    struct hp_trace_frame frame;
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_WORDS, 0);
    bytes[at + HP_TRACE_FRAME_HEADER + 200] ^= 1;
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    write_file(path, bytes, size);
    struct reading r;
    read_all(&r);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.lost, frame.count);
    struct seen *seen = &r.threads[0];
    size_t skipped = count_operands(did.words, 0, frame.count);
    assert_int_equal(seen->unaddressed, 0);
    assert_int_equal(seen->n_addresses, did.n_addresses - skipped);
    assert_memory_equal(seen->addresses, did.addresses + skipped, seen->n_addresses * 8);
    close_reading(&r);
    free(bytes);
    free_thread(&did);
}

static void any_damage_is_survived(void **state)
{
    (void)state;
    struct did did[2];
    size_t size;
    uint8_t *bytes = small_trace(did, &size), *changed = malloc(size);
    int reported = 0, whole = 0;
    for (int i = 0; i < 1500; i++) {
        memcpy(changed, bytes, size);
        size_t length =
            i % 4 ? size : HP_TRACE_FILE_HEADER + below((uint32_t)size - HP_TRACE_FILE_HEADER);
        for (uint32_t hits = 1 + below(3); hits; hits--) {
            size_t at = HP_TRACE_FILE_HEADER + below((uint32_t)(size - HP_TRACE_FILE_HEADER));
            changed[at] ^= (uint8_t)(1 + below(255));
        }
        write_file(path, changed, length);
        struct reading r;
        read_all(&r);
        reported += r.errors > 0;
        whole += r.errors == 0;
        for (int t = 0; t < 2 && r.errors == 0; t++)
            same_thread(&r.threads[t], &did[t]);
        /* Whatever is there of a thread's addresses is what belongs to its words. */
        for (int t = 0; t < 2 && r.losses == 0; t++) {
            const struct seen *seen = &r.threads[t];
            assert_true(seen->n_addresses == 0 || seen->n_addresses == did[t].n_addresses);
            assert_memory_equal(seen->addresses, did[t].addresses, seen->n_addresses * 8);
        }
        close_reading(&r);
    }
    assert_true(reported > 1000);
    assert_true(whole > 0);
    free(changed);
    free(bytes);
    free_thread(&did[0]);
    free_thread(&did[1]);
}

/* A count that the words do not ask for is not believed. */
static void wrong_counts_are_noticed(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, HP_ADDRESS_CODEC_MAX, HP_ADDRESS_CODEC_MAX + 1,
                                      UINT32_MAX};
    struct did did[2];
    size_t size;
    uint8_t *bytes = small_trace(did, &size);
    size_t at = find_frame(bytes, size, HP_TRACE_FRAME_ADDRESSES, 1);
    struct hp_trace_frame frame;
    assert_true(hp_trace_unpack_frame(bytes + at, &frame));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        frame.count = counts[i];
        hp_trace_pack_frame(bytes + at, &frame);
        write_file(path, bytes, size);
        struct reading r;
        read_all(&r);
        assert_int_equal(r.errors, 1);
        assert_int_equal(r.threads[1].unaddressed, 1);
        same_thread(&r.threads[0], &did[0]);
        close_reading(&r);
    }
    free(bytes);
    free_thread(&did[0]);
    free_thread(&did[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_back_with_their_words),
        cmocka_unit_test(who_does_not_want_them_gets_none),
        cmocka_unit_test(long_threads_make_frames_of_pairs),
        cmocka_unit_test(surplus_addresses_are_left_out),
        cmocka_unit_test(words_without_addresses_say_so),
        cmocka_unit_test(damaged_addresses_leave_the_words),
        cmocka_unit_test(damaged_words_take_their_addresses_with_them),
        cmocka_unit_test(any_damage_is_survived),
        cmocka_unit_test(wrong_counts_are_noticed),
    };
    addressed = true;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
