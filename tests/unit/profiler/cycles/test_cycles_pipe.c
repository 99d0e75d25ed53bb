// SPDX-License-Identifier: MIT
/* Where the cycles of the pipe went, against the rules applied cycle by cycle to its timings, and
 * against what it says itself. */
#include "cycles_naive.h"
#include "pipe_fixture.h"

#include "profiler/cycles/attribute.h"

#define MOST_INSNS 64
#define A          0x1000
#define B          0x1011
#define C          0x1017

/*
 * A: load, store, load, divide, test; branches to C or goes on to
 * B: a locked increment; jumps to
 * C: nop, add; jumps to A.
 * Most addresses are within some bytes of each other, so that loads get values, or parts of them,
 * from stores, or are too early.
 */
static void add_code(struct piped *p)
{
    add_segment(&p->s, 1, A, "48 8b 07 48 89 03 48 8b 0e 48 f7 f1 48 85 c0 74 06");
    add_segment(&p->s, 2, B, "f0 48 ff 06 eb 00");
    add_segment(&p->s, 3, C, "90 48 01 d8 eb e3");
}

static uint64_t some_address(uint64_t *seed)
{
    if (random_below(seed, 100) < 20)
        return 0x100000 + random_below(seed, 1 << 20);
    return 0x10000 + random_below(seed, 6) * 4;
}

static void add_blocks(struct piped *p, uint64_t *seed, size_t rounds)
{
    for (size_t i = 0; i < rounds; i++) {
        uint16_t cost = (uint16_t)random_below(seed, 12);
        piped_add(p, A, cost, AT(some_address(seed), some_address(seed), some_address(seed)));
        if (random_below(seed, 100) < 40)
            piped_add(p, B, cost, AT(some_address(seed)));
        piped_add(p, C, cost, AT());
    }
}

/* Feeds all but the last block; `toggle`: measuring starts and stops now and then (per thousand
 * blocks). */
static void feed_blocks(struct piped *p, uint64_t *seed, uint32_t toggle)
{
    bool measured = true;
    for (size_t i = 0; i + 1 < p->n_blocks; i++) {
        if (random_below(seed, 1000) < toggle) {
            measured = !measured;
            hp_pipe_measure(p->pipe, measured);
        }
        piped_feed(p, i, i + 1);
    }
    assert_int_equal(hp_pipe_drain(p->pipe), HP_OK);
}

/* Compares, and returns the sums by cause in `causes`; and all parts. */
static uint64_t compare(const struct piped *p, uint64_t *causes)
{
    static struct hp_cycles_row rows[MOST_INSNS], naive[MOST_INSNS];
    struct pipeline view = {
        .timings = p->timings, .n = p->n, .front_stages = p->machine->core.front_stages};
    struct hp_attributor a;
    struct hp_schemes schemes;
    uint64_t sum = 0;
    memset(rows, 0, sizeof rows);
    memset(naive, 0, sizeof naive);
    assert_true(hp_program_n_insns(p->program) <= MOST_INSNS);
    hp_attributor_init(&a, view.front_stages);
    hp_schemes_init(&schemes, 0, 0, 0);
    assert_int_equal(hp_attributor_timings(&a, rows, p->timings, p->n), HP_OK);
    hp_schemes_timings(&schemes, rows, p->timings, p->n);
    hp_attributor_end(&a, rows);
    hp_attributor_fini(&a);
    naive_all(&view, naive, hp_pipe_stats(p->pipe)->cycles);
    compare_rows(rows, naive, MOST_INSNS);
    for (size_t i = 0; i < MOST_INSNS; i++)
        for (int cause = 0; cause < HP_CAUSES; cause++) {
            causes[cause] += rows[i].parts[cause];
            sum += rows[i].parts[cause];
        }
    return sum;
}

/* Whether the sum of all parts is what the pipe says of its cycles: all of them from when the first
 * one was fetched. */
static void expect_all_cycles(const struct piped *p, uint64_t sum)
{
    assert_int_equal(sum % HP_CYCLE_PARTS, 0);
    assert_int_equal(sum / HP_CYCLE_PARTS, hp_pipe_stats(p->pipe)->cycles - p->timings[0].fetched);
}

static void run_one(struct hp_machine *machine, int queue, uint64_t seed, uint32_t toggle,
                    uint64_t *causes)
{
    struct piped p;
    piped_init(&p);
    add_code(&p);
    piped_start_machine(&p, machine, queue);
    add_blocks(&p, &seed, 50);
    feed_blocks(&p, &seed, toggle);
    uint64_t sum = compare(&p, causes);
    if (!toggle)
        expect_all_cycles(&p, sum);
    piped_fini(&p);
}

static const char *const shipped[] = {"vaswani", "alpha21264", "arm9", "modern"};

static void cycles_of_the_pipe(void **state)
{
    (void)state;
    uint64_t causes[HP_CAUSES] = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct hp_machine *machine;
        assert_int_equal(hp_machine_load(shipped[seed % 4], &machine), HP_OK);
        run_one(machine, -1, seed, 0, causes);
        run_one(piped_parse(PIPE_SMALL), -1, seed, 0, causes);
    }
    static const enum hp_cause there[] = {
        HP_CAUSE_RETIRE,     HP_CAUSE_EXECUTE, HP_CAUSE_L1,     HP_CAUSE_L2,  HP_CAUSE_MEMORY,
        HP_CAUSE_MISPREDICT, HP_CAUSE_TRAP,    HP_CAUSE_SERIAL, HP_CAUSE_L1I, HP_CAUSE_BLOCKED};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (!causes[there[i]])
            fail_msg("never: %s", hp_cause_name(there[i]));
    assert_int_equal(causes[HP_CAUSE_QUEUE], 0);
}

static void cycles_behind_a_branch_queue(void **state)
{
    (void)state;
    uint64_t causes[HP_CAUSES] = {0};
    for (int queue = 0; queue < 3; queue++)
        run_one(piped_parse(PIPE_SMALL), queue, 5, 0, causes);
    assert_true(causes[HP_CAUSE_QUEUE] > 0);
}

static void measuring_now_and_then(void **state)
{
    (void)state;
    uint64_t causes[HP_CAUSES] = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct hp_machine *machine;
        assert_int_equal(hp_machine_load(shipped[seed % 4], &machine), HP_OK);
        run_one(machine, -1, seed, 20 * (uint32_t)seed, causes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_of_the_pipe),
        cmocka_unit_test(cycles_behind_a_branch_queue),
        cmocka_unit_test(measuring_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
