// SPDX-License-Identifier: MIT
/* The cycles profiler: from the timings of threads to the rows of a profile. */
#include "cycles_fixture.h"

#include "hotpath/cycles.h"
#include "machine/machine.h"
#include "profiler/cycles/profiler.h"
#include "profiler/insns.h"

#define THREADS 2

/* Two blocks that overlap: four instructions and, of these, the last three again. */
struct fixture {
    struct stream stream;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_functions *functions;
    struct hp_profile *profile;
    struct hp_result *result;
    struct hp_profiler *profiler;
    void *threads[THREADS];
};
#define STATICS 7

static void begin_with(struct fixture *f, struct hp_cycles_config config)
{
    uint32_t piece;
    stream_init(&f->stream);
    add_segment(&f->stream, 1, 0x1000, "90 48 01 d8 48 29 d8 c3");
    add_segment(&f->stream, 2, 0x1001, "48 01 d8 48 29 d8 c3");
    assert_int_equal(hp_machine_load("vaswani", &f->machine), HP_OK);
    f->machine->core.front_stages = FRONT_STAGES;
    assert_int_equal(hp_program_new(f->machine, f->stream.code, &f->program), HP_OK);
    assert_int_equal(hp_program_block(f->program, 0, &piece), HP_OK);
    assert_int_equal(hp_program_block(f->program, 1, &piece), HP_OK);
    assert_int_equal(hp_program_n_insns(f->program), STATICS);
    assert_int_equal(hp_functions_new(f->stream.code, &f->functions), HP_OK);
    assert_int_equal(hp_profile_new(&f->profile), HP_OK);
    assert_int_equal(hp_result_new(f->stream.code, f->functions, f->profile, &f->result), HP_OK);
    assert_int_equal(hp_cycles_profiler_new(&config, f->program, &f->profiler), HP_OK);
    for (uint32_t i = 0; i < THREADS; i++) {
        struct hp_thread thread = {.id = i, .pid = 7, .tid = (int32_t)(7 + i)};
        assert_int_equal(f->profiler->ops->start_thread(f->profiler, &thread, &f->threads[i]),
                         HP_OK);
    }
}

static void begin(struct fixture *f)
{
    begin_with(f, (struct hp_cycles_config){0});
}

static void finish(struct fixture *f)
{
    assert_int_equal(f->profiler->ops->finish(f->profiler, f->result), HP_OK);
}

static void end(struct fixture *f)
{
    f->profiler->ops->free(f->profiler);
    hp_result_free(f->result);
    hp_profile_free(f->profile);
    hp_functions_free(f->functions);
    hp_program_free(f->program);
    hp_machine_free(f->machine);
    stream_fini(&f->stream);
}

static uint64_t stat_of(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->profile->n_stats; i++) {
        assert_string_equal(f->profile->stats[i].part, "cycles vaswani");
        if (strcmp(f->profile->stats[i].name, name) == 0)
            return f->profile->stats[i].value;
    }
    fail_msg("no stat %s", name);
    return 0;
}

static uint64_t all_parts(const struct fixture *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->profile->n_insn_cycles; i++)
        sum += f->profile->insn_cycles[i].parts;
    return sum;
}

static uint64_t sum_of_causes(const struct fixture *f)
{
    uint64_t sum = 0;
    char name[64];
    for (int i = 0; i < HP_CAUSES; i++) {
        snprintf(name, sizeof name, "cycles.%s", hp_cause_name((enum hp_cause)i));
        sum += stat_of(f, name);
    }
    return sum;
}

static uint64_t first_fetch(const struct pipeline *p)
{
    size_t i = 0;
    while (!(p->timings[i].events & HP_TIMING_RETIRED))
        i++;
    return p->timings[i].fetched;
}

/* --- A profile -------------------------------------------------------------------------------- */

static void threads_add_up(void **state)
{
    (void)state;
    struct fixture f;
    struct pipeline p[THREADS];
    uint64_t cycles = 0, retired = 0, fetched = 0, waits = 0;
    begin(&f);
    for (uint32_t i = 0; i < THREADS; i++) {
        p[i] = (struct pipeline){.seed = i + 1,
                                 .insns = STATICS,
                                 .mispredicts = 5,
                                 .traps = 2,
                                 .misses = 10,
                                 .measured = true};
        pipeline_run(&p[i], 3000 + i);
        cycles += p[i].retire + 1 - first_fetch(&p[i]);
        retired += 3000 + i;
        fetched += p[i].n;
    }
    for (size_t at = 0; at < p[0].n || at < p[1].n; at += 1000)
        for (uint32_t i = 0; i < THREADS; i++)
            if (at < p[i].n)
                f.profiler->ops->timings(f.threads[i], p[i].timings + at,
                                         p[i].n - at < 1000 ? p[i].n - at : 1000);
    finish(&f);
    assert_int_equal(stat_of(&f, "cycles"), cycles);
    assert_int_equal(sum_of_causes(&f), cycles);
    assert_int_equal(all_parts(&f), cycles * HP_CYCLE_PARTS);
    assert_int_equal(stat_of(&f, "instructions"), retired);
    assert_int_equal(stat_of(&f, "fetched"), fetched);
    assert_int_equal(stat_of(&f, "wrong_path") + stat_of(&f, "trapped"), fetched - retired);
    assert_true(stat_of(&f, "trapped") > 0);
    assert_int_equal(f.profile->n_insns, 4); /* not STATICS */
    assert_int_equal(f.profile->n_insn_tallies, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(f.profile->insn_tallies[i].seen, "exact");
        assert_int_equal(f.profile->insn_tallies[i].insn, i);
        fetched -= f.profile->insn_tallies[i].tally.fetched;
    }
    assert_int_equal(fetched, 0);
    for (size_t i = 0; i < f.profile->n_waits; i++)
        waits += f.profile->waits[i].count;
    for (uint32_t i = 0; i < THREADS; i++)
        for (size_t k = 0; k < p[i].n; k++)
            waits -=
                p[i].timings[k].events & HP_TIMING_RETIRED && p[i].timings[k].producer != HP_NO_ID;
    assert_int_equal(waits, 0);
    assert_int_equal(f.profile->n_windows, 0);
    assert_int_equal(hp_profile_normalize(f.profile), HP_OK);
    assert_int_equal(all_parts(&f), cycles * HP_CYCLE_PARTS);
    for (uint32_t i = 0; i < THREADS; i++)
        free(p[i].timings);
    end(&f);
}

/* --- By hand ---------------------------------------------------------------------------------- */

static struct hp_timing retired(uint32_t insn, uint64_t fetched, uint32_t done, uint32_t left,
                                uint32_t events)
{
    return (struct hp_timing){.insn = insn,
                              .fetched = fetched,
                              .mapped = 2,
                              .ready = 3,
                              .issued = 3,
                              .done = done,
                              .left = left,
                              .loaded = HP_NEVER,
                              .producer = HP_NO_ID,
                              .events = events | HP_TIMING_RETIRED};
}

static uint64_t weight(const struct fixture *f, const char *scheme, uint32_t insn)
{
    for (size_t i = 0; i < f->profile->n_attributions; i++)
        if (strcmp(f->profile->attributions[i].scheme, scheme) == 0 &&
            f->profile->attributions[i].insn == insn)
            return f->profile->attributions[i].weight;
    return 0;
}

/* The second instruction takes 100 cycles, alternately in the one and in the other block: it is one
 * row. */
static void what_the_ways_say_by_row(void **state)
{
    (void)state;
    struct fixture f;
    const struct hp_timing timings[] = {
        retired(0, 0, 4, 4, HP_TIMING_MEASURED),     retired(1, 0, 104, 104, HP_TIMING_MEASURED),
        retired(2, 1, 4, 104, HP_TIMING_MEASURED),   retired(4, 100, 104, 104, HP_TIMING_MEASURED),
        retired(5, 101, 4, 104, HP_TIMING_MEASURED),
    };
    begin(&f);
    f.profiler->ops->timings(f.threads[0], timings, 5);
    finish(&f);
    assert_int_equal(f.profile->n_insns, 3);
    /* mapped in 2, 2, 3, 102, 103 */
    assert_int_equal(weight(&f, "dispatch", 0), 3);
    assert_int_equal(weight(&f, "dispatch", 1), 99);
    assert_int_equal(weight(&f, "dispatch", 2), 2);
    /* retired in 4, 104, 105, 204, 205 */
    assert_int_equal(weight(&f, "next", 0), 5);
    assert_int_equal(weight(&f, "next", 1), 100 + 99);
    assert_int_equal(weight(&f, "next", 2), 2);
    assert_int_equal(weight(&f, "profileme", 1), 208);
    assert_int_equal(weight(&f, "profileme", 2), 8);
    assert_int_equal(weight(&f, "exact", 1), 0);
    /* The same to the cycle here; and all is one function. */
    assert_int_equal(stat_of(&f, "next.instruction_overlap"), 100000);
    assert_int_equal(stat_of(&f, "dispatch.function_overlap"), 100000);
    /* 3, 99, 2 of 104 against 5, 199, 2 of 206: 5/206 + 99/104 + 2/206 = 98.590 % */
    assert_int_equal(stat_of(&f, "dispatch.instruction_overlap"), 98590);
    end(&f);
}

static void windows_have_rows(void **state)
{
    (void)state;
    struct fixture f;
    const struct hp_timing timings[] = {
        retired(0, 0, 4, 4, 0),
        retired(0, 10, 4, 4, HP_TIMING_MEASURED | HP_TIMING_WINDOW),
        retired(1, 11, 9, 9, HP_TIMING_MEASURED),
        retired(3, 20, 4, 4, 0),
        retired(2, 30, 4, 4, HP_TIMING_MEASURED | HP_TIMING_WINDOW),
    };
    begin(&f);
    f.profiler->ops->timings(f.threads[1], timings, 5);
    finish(&f);
    assert_int_equal(f.profile->n_windows, 2);
    assert_int_equal(f.profile->threads[f.profile->windows[0].thread].tid, 8);
    assert_int_equal(f.profile->windows[0].instructions, 2);
    assert_int_equal(f.profile->windows[0].cycles, 11); /* 10 ... 20 */
    assert_int_equal(f.profile->windows[1].instructions, 1);
    assert_int_equal(f.profile->windows[1].cycles, 5);
    assert_int_equal(stat_of(&f, "cycles"), 16);
    assert_int_equal(stat_of(&f, "instructions"), 3);
    assert_int_equal(f.profile->n_insns, 3); /* 3 was not measured */
    end(&f);
}

/* An instruction may wait for one that was not measured. */
static void waits_refer_to_rows(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_timing timings[] = {
        retired(1, 0, 4, 4, 0),
        retired(2, 10, 20, 20, HP_TIMING_MEASURED | HP_TIMING_WINDOW),
        retired(2, 10, 20, 20, HP_TIMING_MEASURED),
    };
    timings[1].producer = timings[2].producer = 4; /* the same as 1 */
    timings[1].ready = timings[1].issued = 10;
    begin(&f);
    f.profiler->ops->timings(f.threads[0], timings, 3);
    finish(&f);
    assert_int_equal(f.profile->n_waits, 1);
    const struct hp_pwait *wait = &f.profile->waits[0];
    assert_string_equal(f.profile->insns[wait->insn].text, "sub rax, rbx");
    assert_string_equal(f.profile->insns[wait->producer].text, "add rax, rbx");
    assert_int_equal(wait->count, 1);
    assert_int_equal(wait->cycles, 8);
    end(&f);
}

static void nothing_at_all(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    finish(&f);
    assert_int_equal(stat_of(&f, "cycles"), 0);
    assert_int_equal(f.profile->n_insns, 0);
    end(&f);
}

static void an_interval_that_is_too_long(void **state)
{
    (void)state;
    struct hp_cycles_config config = {.interval = UINT64_MAX};
    struct hp_profiler *profiler;
    assert_int_equal(hp_cycles_profiler_new(&config, NULL, &profiler), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_add_up),    cmocka_unit_test(what_the_ways_say_by_row),
        cmocka_unit_test(windows_have_rows), cmocka_unit_test(waits_refer_to_rows),
        cmocka_unit_test(nothing_at_all),    cmocka_unit_test(an_interval_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
