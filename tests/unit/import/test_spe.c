// SPDX-License-Identifier: MIT
/* Packets of Arm's SPE, and what records of them say. */
#include "import/spe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hp_spe spe_of(const uint8_t *bytes, size_t n)
{
    return (struct hp_spe){.at = bytes, .end = bytes + n};
}

#define PC      0xb0, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80 /* 0x401000, el0, ns */
#define LOAD    0x49, 0x00
#define TOTAL   0x98, 0x2c, 0x01 /* 300 */
#define ISSUE   0x99, 0x14, 0x00 /* 20 */
#define DATA    0xb2, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
#define CONTEXT 0x65, 0x39, 0x30, 0x00, 0x00
#define TIME    0x71, 1, 2, 3, 4, 5, 6, 7, 8

static void load_is_timed_from_dispatch(void **state)
{
    /* retired, L1D access and refill, TLB access and walk, LLC access and miss */
    static const uint8_t bytes[] = {PC,   0,     0,     CONTEXT, LOAD, 0x52, 0x3e,
                                    0x03, TOTAL, ISSUE, DATA,    0x43, 9,    TIME};
    struct hp_spe spe = spe_of(bytes, sizeof bytes);
    struct hp_spe_sample s;
    (void)state;
    assert_true(hp_spe_next(&spe, &s));
    assert_int_equal(s.pc, 0x401000);
    assert_int_equal(s.context, 12345);
    assert_int_equal(s.timing.issued, 20);
    assert_int_equal(s.timing.done, 300);
    assert_int_equal(s.timing.loaded, 300);
    assert_int_equal(s.timing.address, 0x7000);
    assert_int_equal(s.timing.data_from, HP_FROM_MEMORY);
    assert_int_equal(s.timing.events,
                     HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1D | HP_TIMING_DTLB);
    assert_false(hp_spe_next(&spe, &s));
    assert_int_equal(spe.bad, 0);
}

static void branches_are_taken_unless_said(void **state)
{
    static const uint8_t bytes[] = {PC,   0x4a, 0x01, 0x42, 0x82, 1,    PC,   0x4a, 0x01,
                                    0x42, 0x42, 1,    PC,   0x48, 0x00, 0x42, 0x82, 1};
    static const uint32_t wanted[] = {HP_TIMING_TAKEN | HP_TIMING_MISPREDICTED, 0, 0};
    struct hp_spe spe = spe_of(bytes, sizeof bytes);
    struct hp_spe_sample s;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(hp_spe_next(&spe, &s));
        assert_int_equal(s.timing.events & (HP_TIMING_TAKEN | HP_TIMING_MISPREDICTED), wanted[i]);
        assert_true(s.timing.loaded == HP_NEVER);
    }
    assert_false(hp_spe_next(&spe, &s));
}

static void levels_follow_from_events(void **state)
{
    static const struct {
        uint8_t operation, events, more;
        uint8_t from;
    } cases[] = {
        {0x49, 0x02, 0, HP_FROM_NOWHERE}, {0x49, 0x06, 0, HP_FROM_L1},
        {0x49, 0x0e, 0, HP_FROM_L2},      {0x49, 0x0e, 1, HP_FROM_L3},
        {0x49, 0x0e, 3, HP_FROM_MEMORY},  {0x48, 0x0e, 3, HP_FROM_NOWHERE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t bytes[] = {cases[i].operation, 1, 0x52, cases[i].events, cases[i].more, 1};
        struct hp_spe spe = spe_of(bytes, sizeof bytes);
        struct hp_spe_sample s;
        assert_true(hp_spe_next(&spe, &s));
        assert_int_equal(s.timing.data_from, cases[i].from);
    }
}

/* What did not retire; what is of the kernel. */
static void aborted_and_kernel(void **state)
{
    static const uint8_t bytes[] = {0xb0, 0x00, 0x10, 0x40, 0x00, 0x00,
                                    0x00, 0xff, 0xc0, 0x42, 0x00, 1};
    struct hp_spe spe = spe_of(bytes, sizeof bytes);
    struct hp_spe_sample s;
    (void)state;
    assert_true(hp_spe_next(&spe, &s));
    assert_true(s.pc == 0xffff000000401000u);
    assert_int_equal(s.timing.events, HP_TIMING_WRONG_PATH | HP_TIMING_MEASURED);
}

/* Headers of two bytes, and what fills up to a multiple of 16. */
static void extended_packets(void **state)
{
    uint8_t bytes[64] = {0x20, 0x99, 0x05, 0x00, 0x98, 0x09, 0x00, 1};
    struct hp_spe spe;
    struct hp_spe_sample s;
    (void)state;
    bytes[8] = 0x20 | 3; /* alignment: 16 bytes */
    bytes[9] = 0;
    memcpy(bytes + 16, (const uint8_t[]){PC, 0x42, 0x02, 1}, 12);
    spe = spe_of(bytes, 28);
    assert_true(hp_spe_next(&spe, &s));
    assert_int_equal(s.timing.done, 9);
    assert_int_equal(s.timing.issued, 5);
    assert_true(hp_spe_next(&spe, &s));
    assert_int_equal(s.pc, 0x401000);
    assert_false(hp_spe_next(&spe, &s));
    assert_int_equal(spe.bad, 0);
}

/* A record that is cut off waits for the rest, wherever the cut is. */
static void pieces_are_joined(void **state)
{
    static const uint8_t bytes[] = {0, PC, CONTEXT, LOAD, 0x52, 0x06, 0x00, TOTAL, ISSUE, TIME};
    (void)state;
    for (size_t cut = 0; cut < sizeof bytes; cut++) {
        struct hp_spe spe = spe_of(bytes, cut);
        struct hp_spe_sample s;
        assert_false(hp_spe_next(&spe, &s));
        assert_true(spe.at <= bytes + 1);
        spe.end = bytes + sizeof bytes;
        assert_true(hp_spe_next(&spe, &s));
        assert_int_equal(s.pc, 0x401000);
        assert_int_equal(spe.offset, sizeof bytes);
    }
}

/* Bytes that are no packets: the record around them is lost, not the next one. */
static void damage_is_passed_over(void **state)
{
    static const uint8_t bytes[] = {PC, 0xff, 0xee, 1, PC, 0x42, 0x02, 1};
    struct hp_spe spe = spe_of(bytes, sizeof bytes);
    struct hp_spe_sample s;
    (void)state;
    assert_true(hp_spe_next(&spe, &s));
    assert_int_equal(s.pc, 0);
    assert_int_equal(spe.bad, 2);
    assert_true(hp_spe_next(&spe, &s));
    assert_int_equal(s.pc, 0x401000);
    assert_false(hp_spe_next(&spe, &s));
}

/* Any bytes end. */
static void noise_ends(void **state)
{
    uint8_t bytes[4096];
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(seed >> 56);
    }
    struct hp_spe spe = spe_of(bytes, sizeof bytes);
    struct hp_spe_sample s;
    size_t n = 0;
    while (hp_spe_next(&spe, &s))
        n++;
    assert_true(n > 1 && spe.at <= spe.end && spe.bad > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_is_timed_from_dispatch),
        cmocka_unit_test(branches_are_taken_unless_said),
        cmocka_unit_test(levels_follow_from_events),
        cmocka_unit_test(aborted_and_kernel),
        cmocka_unit_test(extended_packets),
        cmocka_unit_test(pieces_are_joined),
        cmocka_unit_test(damage_is_passed_over),
        cmocka_unit_test(noise_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
