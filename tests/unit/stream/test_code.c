// SPDX-License-Identifier: MIT
/* The code map: modules, segments, blocks. */
#include "stream_fixture.h"

#include "stream/code_impl.h"

static int setup(void **state)
{
    struct stream *s = calloc(1, sizeof *s);
    stream_init(s);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    stream_fini(*state);
    free(*state);
    return 0;
}

/* --- Modules ---------------------------------------------------------------------------------- */

static void modules_are_found_again_and_widened(void **state)
{
    struct stream *s = *state;
    struct hp_module m = {
        .path = "/lib/a", .build_id = "0a", .base = 0x1000, .low = 0x2000, .high = 0x3000};
    uint32_t first, id;
    assert_int_equal(hp_code_add_module(s->code, &m, &first), HP_OK);
    m.low = 0x1800, m.high = 0x2800;
    assert_int_equal(hp_code_add_module(s->code, &m, &id), HP_OK);
    assert_int_equal(id, first);
    assert_int_equal(hp_code_module(s->code, id)->low, 0x1800);
    assert_int_equal(hp_code_module(s->code, id)->high, 0x3000);
    m.base = 0;
    assert_int_equal(hp_code_add_module(s->code, &m, &id), HP_OK);
    assert_int_equal(id, first + 1);
    m.build_id = "0b";
    assert_int_equal(hp_code_add_module(s->code, &m, &id), HP_OK);
    assert_int_equal(id, first + 2);
    m.path = "/lib/b";
    assert_int_equal(hp_code_add_module(s->code, &m, &id), HP_OK);
    assert_int_equal(id, first + 3);
    assert_int_equal(hp_code_n_modules(s->code), first + 4);
    assert_string_equal(hp_code_module(s->code, id)->path, "/lib/b");
    assert_ptr_not_equal(hp_code_module(s->code, id)->path, m.path);
}

/* --- Segments --------------------------------------------------------------------------------- */

static void segments_are_kept_as_they_were(void **state)
{
    struct stream *s = *state;
    struct hp_segment segment;
    add_segment(s, 7, 0x1000, "90 c3");
    assert_int_equal(hp_code_segment_limit(s->code), 8);
    assert_int_equal(hp_code_segment(s->code, 7, &segment), HP_OK);
    assert_int_equal(segment.start, 0x1000);
    assert_int_equal(segment.size, 2);
    assert_int_equal(segment.module, s->module);
    assert_memory_equal(segment.bytes, "\x90\xc3", 2);
    assert_int_equal(hp_code_segment(s->code, 6, &segment), HP_ERR_NOTFOUND);
    assert_int_equal(hp_code_segment(s->code, 8, &segment), HP_ERR_NOTFOUND);
    assert_int_equal(hp_code_segment(s->code, 0, &segment), HP_ERR_NOTFOUND);
}

static void wrong_segments_are_refused(void **state)
{
    struct stream *s = *state;
    const uint8_t ret[] = {0xc3};
    struct hp_segment segment = {.start = 0x1000, .module = s->module, .size = 1, .bytes = ret};
    assert_int_equal(hp_code_add_segment(s->code, 0, &segment), HP_ERR_INVALID);
    assert_int_equal(hp_code_add_segment(s->code, 0x80000000, &segment), HP_ERR_INVALID);
    assert_int_equal(hp_code_add_segment(s->code, UINT32_MAX, &segment), HP_ERR_INVALID);
    segment.module = 1;
    assert_int_equal(hp_code_add_segment(s->code, 1, &segment), HP_ERR_INVALID);
    segment.module = s->module;
    segment.size = 0;
    assert_int_equal(hp_code_add_segment(s->code, 1, &segment), HP_ERR_INVALID);
    segment.size = 1;
    assert_int_equal(hp_code_add_segment(s->code, 1, &segment), HP_OK);
    assert_int_equal(hp_code_add_segment(s->code, 1, &segment), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), "segment 1 is defined twice");
    segment.start = UINT64_MAX;
    assert_int_equal(hp_code_add_segment(s->code, 2, &segment), HP_ERR_FORMAT);
    segment.start = 0x1000;
    segment.size = UINT32_MAX; /* nothing behind the bytes may be read */
    assert_int_equal(hp_code_add_segment(s->code, 2, &segment), HP_ERR_FORMAT);
}

/* A refused segment leaves nothing behind, however often it is tried. */
static void code_behind_a_transfer_is_refused(void **state)
{
    struct stream *s = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_segment(s, 1, 0x1000, 0, "90 c3 90"), HP_ERR_FORMAT);
    assert_string_equal(hp_error_text(), "segment 1 at 0x1000 goes on behind a control transfer");
    assert_int_equal(hp_code_n_blocks(s->code), 0);
    assert_int_equal(hp_code_segment_limit(s->code), 0);
    add_segment(s, 1, 0x1000, "90 c3");
    assert_int_equal(hp_code_n_blocks(s->code), 1);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

struct form {
    const char *hex;
    uint8_t flow, flags;
    uint32_t insns;
    uint64_t last, target;
};

static void blocks_say_how_they_end(void **state)
{
    struct stream *s = *state;
    static const struct form forms[] = {
        {"90 eb 10", HP_FLOW_JUMP, 0, 2, 0x1001, 0x1013},
        {"90 e9 00 01 00 00", HP_FLOW_JUMP, 0, 2, 0x1001, 0x1106},
        {"75 fe", HP_FLOW_COND, HP_BLOCK_CONDITIONAL, 1, 0x1000, 0x1000},
        {"0f 84 00 00 00 00", HP_FLOW_COND, HP_BLOCK_CONDITIONAL, 1, 0x1000, 0x1006},
        {"e8 fb ff ff ff", HP_FLOW_CALL, 0, 1, 0x1000, 0x1000},
        {"90 90 ff e0", HP_FLOW_JUMP_IND, 0, 3, 0x1002, 0},
        {"ff d0", HP_FLOW_CALL_IND, 0, 1, 0x1000, 0},
        {"c3", HP_FLOW_RETURN, 0, 1, 0x1000, 0},
        {"0f 05", HP_FLOW_SYSCALL, 0, 1, 0x1000, 0},
        {"0f 0b", HP_FLOW_TRAP, 0, 1, 0x1000, 0},
    };
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        add_segment(s, i + 1, 0x1000, forms[i].hex);
        assert_int_equal(hp_code_n_blocks(s->code), i + 1);
        const struct hp_block *block = hp_code_block(s->code, i);
        struct hp_segment segment;
        assert_int_equal(hp_code_segment(s->code, i + 1, &segment), HP_OK);
        assert_int_equal(block->start, 0x1000);
        assert_int_equal(block->end, 0x1000 + segment.size);
        assert_int_equal(block->flow, forms[i].flow);
        assert_int_equal(block->flags, forms[i].flags);
        assert_int_equal(block->insns, forms[i].insns);
        assert_int_equal(block->last, forms[i].last);
        assert_int_equal(block->target, forms[i].target);
        assert_memory_equal(hp_code_bytes(s->code, block), segment.bytes, segment.size);
    }
}

static void the_same_code_is_the_same_block(void **state)
{
    struct stream *s = *state;
    struct hp_module other = {.path = "/lib/b", .build_id = ""};
    add_segment(s, 1, 0x1000, "90 c3");
    add_segment(s, 2, 0x1000, "90 c3");
    assert_int_equal(hp_code_n_blocks(s->code), 1);
    add_segment(s, 3, 0x1001, "c3"); /* the middle of it */
    add_segment(s, 4, 0x1000, "cc"); /* other code at the same place */
    assert_int_equal(hp_code_n_blocks(s->code), 3);
    assert_int_equal(hp_code_add_module(s->code, &other, &s->module), HP_OK);
    add_segment(s, 5, 0x1000, "90 c3"); /* another file there */
    assert_int_equal(hp_code_n_blocks(s->code), 4);
}

static void open_code_is_no_block(void **state)
{
    struct stream *s = *state;
    add_segment(s, 1, 0x1000, "90 90");
    add_segment(s, 2, 0x1000, "90 f3");
    assert_int_equal(hp_code_n_blocks(s->code), 0);
}

static void add_nops(struct stream *s, uint32_t id, uint32_t n, bool end, enum hp_err expected)
{
    uint8_t *bytes = malloc(n + 1);
    memset(bytes, 0x90, n);
    bytes[n] = 0xc3;
    struct hp_segment segment = {
        .start = 0x1000, .module = s->module, .size = n + end, .bytes = bytes};
    assert_int_equal(hp_code_add_segment(s->code, id, &segment), expected);
    free(bytes);
}

static void the_longest_block(void **state)
{
    struct stream *s = *state;
    add_nops(s, 1, HP_BLOCK_MAX_INSNS - 1, true, HP_OK);
    assert_int_equal(hp_code_block(s->code, 0)->flow, HP_FLOW_RETURN);
    assert_int_equal(hp_code_block(s->code, 0)->insns, HP_BLOCK_MAX_INSNS);
    add_nops(s, 2, HP_BLOCK_MAX_INSNS, false, HP_OK);
    assert_int_equal(hp_code_block(s->code, 1)->flow, HP_FLOW_NONE);
    assert_int_equal(hp_code_block(s->code, 1)->flags, HP_BLOCK_SPLIT);
    add_nops(s, 3, HP_BLOCK_MAX_INSNS, true, HP_ERR_FORMAT);
    add_nops(s, 3, HP_BLOCK_MAX_INSNS - 1, false, HP_OK);
    assert_int_equal(hp_code_n_blocks(s->code), 2);
}

static void thumb_and_arm_code_are_told_apart(void **state)
{
    (void)state;
    struct stream s;
    stream_init_arch(&s, HP_ARCH_ARM);
    /* the same four bytes: bx lr; bx lr would be two Thumb instructions */
    assert_int_equal(try_segment(&s, 1, 0x1000, HP_MODE_DEFAULT, "1eff2fe1"), HP_OK);
    assert_int_equal(try_segment(&s, 2, 0x1000, HP_MODE_THUMB, "7047"), HP_OK);
    assert_int_equal(hp_code_block(s.code, 0)->flags & HP_BLOCK_THUMB, 0);
    assert_int_equal(hp_code_block(s.code, 1)->flags & HP_BLOCK_THUMB, HP_BLOCK_THUMB);
    /* The Thumb bit of an address is no part of where the code is. */
    assert_int_equal(hp_code_add_handler(s.code, 0x1001), HP_OK);
    assert_true(hp_code_block(s.code, 1)->flags & HP_BLOCK_HANDLER);
    stream_fini(&s);
}

static void handlers_mark_blocks_present_and_future(void **state)
{
    struct stream *s = *state;
    add_segment(s, 1, 0x1000, "90 c3");
    add_segment(s, 2, 0x1000, "c3");
    assert_int_equal(hp_code_add_handler(s->code, 0x1000), HP_OK);
    assert_int_equal(hp_code_add_handler(s->code, 0x2000), HP_OK);
    add_segment(s, 3, 0x2000, "c3");
    add_segment(s, 4, 0x2001, "c3");
    for (uint32_t i = 0; i < 3; i++)
        assert_true(hp_code_block(s->code, i)->flags & HP_BLOCK_HANDLER);
    assert_false(hp_code_block(s->code, 3)->flags & HP_BLOCK_HANDLER);
}

/* Nonsense may announce any number of handlers; it must not take the square of the time. */
static void many_handlers(void **state)
{
    struct stream *s = *state;
    add_segment(s, 1, 0x1000, "c3");
    for (uint64_t i = 0; i < 200000; i++)
        assert_int_equal(hp_code_add_handler(s->code, 0x100000 + i), HP_OK);
    add_segment(s, 2, 0x100000 + 199999, "c3");
    assert_true(hp_code_block(s->code, 1)->flags & HP_BLOCK_HANDLER);
}

static void instructions_of_a_block(void **state)
{
    struct stream *s = *state;
    const struct hp_insn *insns, *again;
    add_segment(s, 1, 0x1000, "90 48 89 c0 f3 a4 c3");
    assert_int_equal(hp_code_insns(s->code, 0, &insns), HP_OK);
    assert_int_equal(insns[1].address, 0x1001);
    assert_int_equal(insns[1].length, 3);
    assert_int_equal(insns[2].flags & HP_INSN_REP, HP_INSN_REP);
    assert_int_equal(insns[3].flow, HP_FLOW_RETURN);
    assert_int_equal(insns[3].address, 0x1006);
    add_segment(s, 2, 0x2000, "c3");
    assert_int_equal(hp_code_insns(s->code, 1, &again), HP_OK);
    assert_int_equal(hp_code_insns(s->code, 0, &again), HP_OK);
    assert_ptr_equal(insns, again);
}

/* Random bytes of any architecture, run in random order: a segment or an error, and nothing is read
 * that is not there. (The checker may well find fault: where an unknown instruction ends is a
 * guess.) */
static void random_bytes(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (enum hp_arch arch = HP_ARCH_X86_64; arch < HP_ARCH_COUNT_; arch++) {
        struct stream s;
        stream_init_arch(&s, arch);
        uint32_t words[64], n = 0;
        for (uint32_t id = 1; id < 2000; id++) {
            uint8_t bytes[40];
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)random_next(&seed);
            uint32_t size = 1 + random_below(&seed, sizeof bytes);
            /* a copy of just that size, so that reading behind it shows */
            uint8_t *exact = malloc(size);
            memcpy(exact, bytes, size);
            struct hp_segment segment = {.start = 0x1000 + 2 * random_below(&seed, 64),
                                         .mode = (uint8_t)random_below(&seed, 2),
                                         .size = size,
                                         .bytes = exact};
            enum hp_err err = hp_code_add_segment(s.code, id, &segment);
            assert_true(err == HP_OK || err == HP_ERR_FORMAT);
            free(exact);
            words[n++] = 1 + random_below(&seed, id);
            if (n == 64) {
                feed(&s, words, n);
                n = 0;
            }
        }
        for (uint32_t i = 0; i < hp_code_n_blocks(s.code); i++) {
            const struct hp_insn *insns;
            assert_int_equal(hp_code_insns(s.code, i, &insns), HP_OK);
        }
        stream_fini(&s);
    }
}

/* Code that is made, or loaded, at one place over and over. */
static void many_blocks_at_one_place(void **state)
{
    struct stream *s = *state;
    enum { N = 3000, MODULES = 50 };
    uint32_t modules[MODULES], id;
    for (uint32_t i = 0; i < MODULES; i++) {
        char path[16];
        snprintf(path, sizeof path, "/m%u", i);
        struct hp_module m = {.path = path, .build_id = "", .high = UINT64_MAX};
        assert_int_equal(hp_code_add_module(s->code, &m, &modules[i]), HP_OK);
        assert_int_equal(hp_code_add_module(s->code, &m, &id), HP_OK);
        assert_int_equal(id, modules[i]);
    }
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < N; i++) {
            uint8_t bytes[] = {0xb8, 0, 0, 0, 0, 0xc3};
            memcpy(bytes + 1, &i, sizeof i);
            struct hp_segment segment = {.start = 0x1000,
                                         .module = modules[i % MODULES],
                                         .size = sizeof bytes,
                                         .bytes = bytes};
            assert_int_equal(hp_code_add_segment(s->code, 1 + round * N + i, &segment), HP_OK);
            assert_int_equal(s->code->route[1 + round * N + i], i);
        }
    assert_int_equal(hp_code_n_blocks(s->code), N);
    for (uint32_t i = 0; i < MODULES; i++) /* the latest of the module */
        assert_int_equal(hp_code_block_in(s->code, modules[i], 0x1000), N - MODULES + i);
    assert_int_equal(hp_code_block_in(s->code, HP_NO_ID - 1, 0x1000), N - 1);
    assert_int_equal(hp_code_block_in(s->code, modules[0], 0x1001), HP_NO_ID);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(modules_are_found_again_and_widened),
        CASE(segments_are_kept_as_they_were),
        CASE(wrong_segments_are_refused),
        CASE(code_behind_a_transfer_is_refused),
        CASE(blocks_say_how_they_end),
        CASE(the_same_code_is_the_same_block),
        CASE(many_blocks_at_one_place),
        CASE(open_code_is_no_block),
        CASE(the_longest_block),
        cmocka_unit_test(thumb_and_arm_code_are_told_apart),
        CASE(handlers_mark_blocks_present_and_future),
        CASE(many_handlers),
        CASE(instructions_of_a_block),
        cmocka_unit_test(random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
