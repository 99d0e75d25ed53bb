// SPDX-License-Identifier: MIT
/* AMD's IBS: registers as processors write them, and what they say. */
#include "import/ibs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct hp_ibs_cpu usual;

/* A raw sample: capabilities, then registers. */
struct raw {
    uint8_t bytes[4 + 8 * HP_IBS_OP_REGISTERS];
};

static struct hp_perf_bytes bytes_of(struct raw *raw, uint32_t caps, const uint64_t *registers,
                                     size_t n)
{
    memcpy(raw->bytes, &caps, sizeof caps);
    memcpy(raw->bytes + sizeof caps, registers, n * sizeof *registers);
    return (struct hp_perf_bytes){.at = raw->bytes,
                                  .end = raw->bytes + sizeof caps + n * sizeof *registers};
}

static enum hp_ibs_state take(uint32_t caps, const struct hp_ibs_cpu *cpu, uint64_t data,
                              uint64_t data2, uint64_t data3, struct hp_ibs_sample *sample)
{
    struct raw raw;
    const uint64_t r[HP_IBS_OP_REGISTERS] = {
        [HP_IBS_OP_CTL] = HP_IBS_CTL_ENABLED | HP_IBS_CTL_VALID,
        [HP_IBS_OP_RIP] = 0x401000,
        [HP_IBS_OP_DATA] = data,
        [HP_IBS_OP_DATA2] = data2,
        [HP_IBS_OP_DATA3] = data3,
        [HP_IBS_DC_LINADDR] = 0x7000,
    };
    return hp_ibs_take_op(bytes_of(&raw, caps, r, HP_IBS_BRTARGET), cpu, sample);
}

/* A load that misses: 300 cycles from tag to retirement, 20 from completion, 240 of the miss. */
static void op_is_timed_from_dispatch(void **state)
{
    struct hp_ibs_sample s;
    uint64_t data3 = HP_IBS_DATA3_LOAD | HP_IBS_DATA3_MISS | HP_IBS_DATA3_L2_MISS |
                     HP_IBS_DATA3_ADDRESS | HP_IBS_DATA3_TLB1_MISS | UINT64_C(240) << 32;
    (void)state;
    assert_int_equal(
        take(HP_IBS_CAPS_ZEN4, &usual, UINT64_C(300) << 16 | 20, HP_IBS_SOURCE_MEMORY, data3, &s),
        HP_IBS_GOOD);
    assert_int_equal(s.pc, 0x401000);
    assert_int_equal(s.timing.mapped, 0);
    assert_int_equal(s.timing.done, 280);
    assert_int_equal(s.timing.left, 300);
    assert_int_equal(s.timing.loaded, 240);
    assert_int_equal(s.timing.address, 0x7000);
    assert_int_equal(s.timing.data_from, HP_FROM_MEMORY);
    assert_int_equal(s.timing.events,
                     HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1D | HP_TIMING_DTLB);
}

/* As a processor (Zen 4) wrote them: in the description of a patch of Linux's perf. */
static void op_of_a_processor(void **state)
{
    struct raw raw;
    struct hp_ibs_sample s;
    const uint64_t r[] = {0x0000004500070008, 0x401000, 0x710002, 2, 0x000000681d1700a1, 0x7000, 0};
    (void)state;
    assert_int_equal(hp_ibs_take_op(bytes_of(&raw, HP_IBS_CAPS_ZEN4, r, 7), &usual, &s),
                     HP_IBS_GOOD);
    assert_true(s.filtered);
    assert_int_equal(s.timing.left, 113);
    assert_int_equal(s.timing.done, 111);
    assert_int_equal(s.timing.loaded, 104);
    assert_int_equal(s.timing.data_from, HP_FROM_MEMORY); /* a cache of another CCX */
    assert_int_equal(s.timing.events, HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1D);
    const uint64_t f[] = {0x3c1f00c700080008, 0x401000, 0};
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, f, 3), &usual, &s), HP_IBS_GOOD);
    assert_int_equal(s.timing.mapped, 199);
    assert_int_equal(s.timing.events, HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1I);
}

static void branch_bits_count_only_of_branches(void **state)
{
    struct hp_ibs_sample s;
    uint64_t bits = HP_IBS_DATA_TAKEN | HP_IBS_DATA_MISPREDICTED;
    uint32_t both = HP_TIMING_TAKEN | HP_TIMING_MISPREDICTED;
    (void)state;
    take(0, &usual, bits | HP_IBS_DATA_BRANCH, 0, 0, &s);
    assert_int_equal(s.timing.events & both, both);
    take(0, &usual, bits, 0, 0, &s);
    assert_int_equal(s.timing.events & both, 0);
}

/* By what DATA3 says, and of loads that leave the L2 by the source. */
static void data_come_from_levels(void **state)
{
    const struct hp_ibs_cpu zen3 = {.zen3 = true};
    const uint64_t load = HP_IBS_DATA3_LOAD, store = HP_IBS_DATA3_STORE;
    const uint64_t miss = HP_IBS_DATA3_MISS, far = miss | HP_IBS_DATA3_L2_MISS;
    const struct {
        uint64_t data2, data3;
        uint32_t caps;
        const struct hp_ibs_cpu *cpu;
        uint8_t from;
    } cases[] = {
        {3, 0, 0, &usual, HP_FROM_NOWHERE},
        {3, far, 0, &usual, HP_FROM_NOWHERE}, /* no access */
        {3, load, 0, &usual, HP_FROM_L1},
        {3, load | miss, 0, &usual, HP_FROM_L2},
        {3, store | miss, 0, &usual, HP_FROM_L2},
        {0, load | far, 0, &usual, HP_FROM_L3}, /* the source is not known */
        {2, load | far, 0, &usual, HP_FROM_L3},
        {3, load | far, 0, &usual, HP_FROM_MEMORY},
        {4, load | far, 0, &usual, HP_FROM_MEMORY},
        {3, store | far, 0, &usual, HP_FROM_L3}, /* sources are those of loads */
        {1, load | far, HP_IBS_CAPS_ZEN4, &usual, HP_FROM_L3},
        {2, load | far, HP_IBS_CAPS_ZEN4, &usual, HP_FROM_MEMORY},
        {1 << 6, load | far, HP_IBS_CAPS_ZEN4, &usual, HP_FROM_MEMORY}, /* 8: extension memory */
        {3, load | far, 0, &zen3, HP_FROM_MEMORY},
        {3, load | far | HP_IBS_DATA3_NO_MAB, 0, &zen3, HP_FROM_L2}, /* erratum 1293 */
        {3, load | far | HP_IBS_DATA3_PREFETCH, 0, &zen3, HP_FROM_L2},
        {3, load | far | HP_IBS_DATA3_PREFETCH, 0, &usual, HP_FROM_MEMORY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hp_ibs_sample s;
        take(cases[i].caps, cases[i].cpu, 0, cases[i].data2, cases[i].data3, &s);
        assert_int_equal(s.timing.data_from, cases[i].from);
    }
}

/* The latency of a miss is one of loads. */
static void store_has_no_latency(void **state)
{
    struct hp_ibs_sample s;
    (void)state;
    take(0, &usual, 0, 0, HP_IBS_DATA3_STORE | HP_IBS_DATA3_MISS | UINT64_C(9) << 32, &s);
    assert_true(s.timing.loaded == HP_NEVER);
    take(0, &usual, 0, 0, HP_IBS_DATA3_LOAD | UINT64_C(9) << 32, &s);
    assert_true(s.timing.loaded == HP_NEVER);
}

static void strange_registers_are_told(void **state)
{
    struct raw raw;
    struct hp_ibs_sample s;
    uint64_t r[HP_IBS_OP_REGISTERS] = {0};
    (void)state;
    assert_int_equal(hp_ibs_take_op(bytes_of(&raw, 0, r, 7), &usual, &s), HP_IBS_DAMAGED);
    r[HP_IBS_OP_CTL] = HP_IBS_CTL_VALID;
    assert_int_equal(hp_ibs_take_op(bytes_of(&raw, 0, r, 7), &usual, &s), HP_IBS_GOOD);
    assert_int_equal(hp_ibs_take_op(bytes_of(&raw, 0, r, 6), &usual, &s), HP_IBS_DAMAGED);
    assert_int_equal(take(0, &usual, HP_IBS_DATA_NO_RIP, 0, 0, &s), HP_IBS_NO_PLACE);
    /* Completed before it was tagged: as if at once. */
    assert_int_equal(take(0, &usual, UINT64_C(5) << 16 | 9, 0, 0, &s), HP_IBS_GOOD);
    assert_int_equal(s.timing.done, 0);
    assert_int_equal(s.timing.left, 5);
}

static void fetch_is_timed_to_its_end(void **state)
{
    const struct hp_ibs_cpu zen3 = {.zen3 = true};
    const uint64_t bits = HP_IBS_FETCH_VALID | HP_IBS_FETCH_MISS | HP_IBS_FETCH_TLB1_MISS |
                          UINT64_C(33) << HP_IBS_FETCH_CYCLES;
    uint64_t r[HP_IBS_FETCH_REGISTERS] = {bits | HP_IBS_FETCH_COMPLETE, 0x401005};
    struct hp_ibs_sample s;
    struct raw raw;
    (void)state;
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, r, 3), &usual, &s), HP_IBS_GOOD);
    assert_int_equal(s.pc, 0x401005);
    assert_int_equal(s.timing.mapped, 33);
    assert_int_equal(s.timing.events,
                     HP_TIMING_RETIRED | HP_TIMING_MEASURED | HP_TIMING_L1I | HP_TIMING_ITLB);
    /* Erratum 1238: nothing is known of misses. */
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, r, 3), &zen3, &s), HP_IBS_GOOD);
    assert_int_equal(s.timing.events & HP_TIMING_L1I, 0);
    r[HP_IBS_FETCH_CTL] = bits;
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, r, 3), &usual, &s), HP_IBS_ABORTED);
    r[HP_IBS_FETCH_CTL] = 0;
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, r, 3), &usual, &s), HP_IBS_DAMAGED);
    assert_int_equal(hp_ibs_take_fetch(bytes_of(&raw, 0, r, 1), &usual, &s), HP_IBS_DAMAGED);
}

static void cpu_tells_errata(void **state)
{
    (void)state;
    assert_true(hp_ibs_cpu_of("AuthenticAMD,25,1,1").zen3);
    assert_false(hp_ibs_cpu_of("AuthenticAMD,25,17,1").zen3);
    assert_false(hp_ibs_cpu_of("AuthenticAMD,23,1,1").zen3);
    assert_false(hp_ibs_cpu_of("GenuineIntel-6-8F-8").zen3);
    assert_false(hp_ibs_cpu_of("").zen3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_is_timed_from_dispatch),
        cmocka_unit_test(op_of_a_processor),
        cmocka_unit_test(branch_bits_count_only_of_branches),
        cmocka_unit_test(data_come_from_levels),
        cmocka_unit_test(store_has_no_latency),
        cmocka_unit_test(strange_registers_are_told),
        cmocka_unit_test(fetch_is_timed_to_its_end),
        cmocka_unit_test(cpu_tells_errata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
