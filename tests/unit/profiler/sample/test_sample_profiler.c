// SPDX-License-Identifier: MIT
/* ProfileMe as a profiler: rows of a profile from timings, the same that its parts say. */
#include "stream_fixture.h"

#include "profiler/insns.h"
#include "profiler/sample/profiler.h"
#include "sample_fixture.h"

#include "machine/machine.h"

#define CODE 12 /* instructions: two blocks that share their last three */

struct fixture {
    struct stream stream;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_functions *functions;
    struct hp_profile *profile;
    struct hp_result *result;
    struct flow flow;
};

static void begin(struct fixture *f)
{
    uint32_t piece;
    stream_init(&f->stream);
    assert_int_equal(hp_machine_load("vaswani", &f->machine), HP_OK);
    assert_int_equal(hp_program_new(f->machine, f->stream.code, &f->program), HP_OK);
    assert_int_equal(hp_functions_new(f->stream.code, &f->functions), HP_OK);
    assert_int_equal(hp_profile_new(&f->profile), HP_OK);
    assert_int_equal(hp_result_new(f->stream.code, f->functions, f->profile, &f->result), HP_OK);
    add_segment(&f->stream, 1, 0x1000, "90 90 90 90 90 90 48 01 d8 90 c3");
    add_segment(&f->stream, 2, 0x1006, "48 01 d8 90 c3");
    assert_int_equal(hp_program_block(f->program, 0, &piece), HP_OK);
    assert_int_equal(hp_program_block(f->program, 1, &piece), HP_OK);
    assert_int_equal(hp_program_n_insns(f->program), CODE);
    f->flow = make_flow(50000, 21);
    for (size_t i = 0; i < f->flow.n; i++)
        f->flow.timings[i].insn %= CODE;
}

static void end(struct fixture *f)
{
    free(f->flow.timings);
    hp_result_free(f->result);
    hp_profile_free(f->profile);
    hp_functions_free(f->functions);
    hp_program_free(f->program);
    hp_machine_free(f->machine);
    stream_fini(&f->stream);
}

/* Two threads; the second one has the first half. Ended by an event, or by finish(). */
static void profile_flow(struct fixture *f, const char *text, uint64_t scale)
{
    struct hp_sample_config config = config_of(text);
    struct hp_profiler *profiler;
    const struct hp_event over = {.kind = HP_EVENT_END};
    assert_int_equal(hp_sample_profiler_new(&config, f->program, &profiler), HP_OK);
    if (scale)
        hp_sample_profiler_set_scale(profiler, scale);
    void *states[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct hp_thread thread = {.id = i, .pid = 1, .tid = 1 + (int32_t)i};
        assert_int_equal(profiler->ops->start_thread(profiler, &thread, &states[i]), HP_OK);
    }
    for (size_t at = 0; at < f->flow.n; at += 1000) {
        profiler->ops->timings(states[0], f->flow.timings + at, 1000);
        if (at < f->flow.n / 2)
            profiler->ops->timings(states[1], f->flow.timings + at, 1000);
    }
    profiler->ops->event(states[0], &over);
    assert_int_equal(profiler->ops->finish(profiler, f->result), HP_OK);
    profiler->ops->free(profiler);
    assert_int_equal(hp_profile_normalize(f->profile), HP_OK);
}

/* The same by the library: samplers of both threads, and tallies of the measures. */
struct direct {
    struct hp_insn_tally tallies[CODE];
    struct hp_overlap_tally *useful, *near;
    uint64_t progress[CODE];
};

static void add_direct(struct direct *d, const struct hp_sample *sample)
{
    if (sample->empty)
        return;
    hp_insn_tally_add(&d->tallies[sample->timing.insn], &sample->timing);
    d->progress[sample->timing.insn] += hp_sample_progress(sample);
}

static void take_direct(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct direct *d = context;
    for (size_t i = 0; i < n; i++) {
        add_direct(d, &samples[i].first);
        if (samples[i].paired)
            add_direct(d, &samples[i].second);
    }
    hp_overlap_tally_pairs(d->useful, samples, n);
    hp_overlap_tally_pairs(d->near, samples, n);
}

static struct hp_sampler_stats look_directly(struct fixture *f, const char *text, struct direct *d)
{
    struct hp_sample_config config = config_of(text);
    struct hp_sampler_stats sum = {0};
    for (uint32_t i = 0; i < 2; i++) {
        const struct hp_thread thread = {.id = i};
        struct hp_sampler *sampler;
        assert_int_equal(hp_sampler_new(&config, f->program, &thread, take_direct, d, &sampler),
                         HP_OK);
        hp_sampler_timings(sampler, f->flow.timings, i ? f->flow.n / 2 : f->flow.n);
        hp_sampler_end(sampler);
        const struct hp_sampler_stats *stats = hp_sampler_stats(sampler);
        sum.samples += stats->samples;
        sum.lost += stats->lost;
        sum.empty += stats->empty;
        sum.interrupts += stats->interrupts;
        sum.cost += stats->cost;
        hp_sampler_free(sampler);
    }
    return sum;
}

/* The static instructions of one row: its place's. */
static void check_row(struct fixture *f, const struct direct *d, const struct hp_pinsn_tally *row,
                      bool paired)
{
    const struct hp_pinsn *insn = &f->profile->insns[row->insn];
    struct hp_pinsn_tally expected = {0};
    for (uint32_t i = 0; i < CODE; i++) {
        struct hp_overlap_sum useful, near;
        if (hp_program_insns(f->program)[i].address != insn->place.offset)
            continue;
        hp_insn_tally_merge(&expected.tally, &d->tallies[i]);
        assert_int_equal(hp_overlap_tally_get(d->useful, i, &useful), HP_OK);
        assert_int_equal(hp_overlap_tally_get(d->near, i, &near), HP_OK);
        expected.pairs += useful.pairs;
        expected.useful += (uint64_t)useful.sum;
        expected.near += (uint64_t)near.sum;
        expected.progress += paired ? d->progress[i] : 0;
    }
    assert_memory_equal(&row->tally, &expected.tally, sizeof expected.tally);
    assert_int_equal(row->pairs, expected.pairs);
    assert_int_equal(row->progress, expected.progress);
    assert_int_equal(row->useful, expected.useful);
    assert_int_equal(row->near, expected.near);
}

static void check(const char *text, uint64_t window)
{
    struct fixture f;
    struct direct d = {0};
    uint32_t near = 30;
    begin(&f);
    assert_int_equal(hp_overlap_tally_new(hp_overlap_useful, NULL, &d.useful), HP_OK);
    assert_int_equal(hp_overlap_tally_new(hp_overlap_near, &near, &d.near), HP_OK);
    profile_flow(&f, text, 0);
    struct hp_sampler_stats stats = look_directly(&f, text, &d);
    assert_int_equal(f.profile->n_insns, CODE - 3);
    assert_int_equal(f.profile->n_insn_tallies, CODE - 3);
    for (size_t i = 0; i < f.profile->n_insn_tallies; i++) {
        assert_string_equal(f.profile->insn_tallies[i].seen, text);
        check_row(&f, &d, &f.profile->insn_tallies[i], window != 0);
    }
    assert_int_equal(f.profile->n_samplers, 1);
    const struct hp_psampler *sampler = &f.profile->samplers[0];
    assert_string_equal(sampler->name, text);
    assert_int_equal(sampler->window, window);
    assert_int_equal(sampler->width, f.machine->core.width);
    assert_int_equal(sampler->near, near);
    assert_int_equal(sampler->scale, 1000);
    assert_int_equal(sampler->samples, stats.samples);
    assert_int_equal(sampler->empty, stats.empty);
    assert_int_equal(sampler->lost, stats.lost);
    assert_int_equal(sampler->interrupts, stats.interrupts);
    assert_int_equal(sampler->cost, stats.cost);
    assert_true(stats.samples > 100);
    hp_overlap_tally_free(d.useful);
    hp_overlap_tally_free(d.near);
    end(&f);
}

static void single_samples_become_rows(void **state)
{
    (void)state;
    check("profileme,interval=200,buffer=5", 0);
    check("profileme,mode=slots,interval=200", 0);
}

static void pairs_become_rows(void **state)
{
    (void)state;
    check("profileme,interval=500,window=200", 200);
    check("profileme,mode=slots,interval=2000,window=500,buffer=7", 500);
}

/* In flight: what is in the reorder buffer and in the fetch queue. Near: 30 cycles of 4
 * instructions. */
static void the_window_is_the_machine_s(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    uint64_t in_flight = f.machine->core.reorder + f.machine->core.fetch_queue;
    uint64_t near = 30 * f.machine->core.width;
    uint64_t window = in_flight > near ? in_flight : near;
    end(&f);
    check("profileme,pairs,interval=500", window);
}

/* --- More measures ---------------------------------------------------------------------------- */

/* The measures by the library, of a part of the samples. */
struct part {
    bool missed, all;
    struct hp_overlap_tally *tally;
};

static void take_part(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct part *part = context;
    for (size_t i = 0; i < n; i++) {
        struct hp_sample_pair pair = samples[i];
        /* One way round at a time: the other one is not there as the one of interest. */
        for (int second = 0; second < 2 && pair.paired; second++) {
            const struct hp_sample *it = second ? &pair.second : &pair.first;
            uint8_t from = it->timing.data_from;
            bool wanted =
                part->all || (from != HP_FROM_NOWHERE && part->missed == (from > HP_FROM_L1));
            if (!it->empty && wanted)
                hp_overlap_tally_one(part->tally, it, second ? &pair.first : &pair.second,
                                     second ? -(int64_t)pair.fetch_latency
                                            : (int64_t)pair.fetch_latency);
        }
    }
}

static void check_measure(const char *text, const char *measure, hp_overlap overlap, void *context,
                          bool all, bool missed)
{
    struct fixture f;
    struct part part = {.all = all, .missed = missed};
    struct hp_sample_config config = config_of(text);
    size_t found = 0;
    begin(&f);
    for (size_t i = 0; i < f.flow.n; i++)
        f.flow.timings[i].data_from = (uint8_t)(i * 7 / 3 % 4);
    assert_int_equal(hp_overlap_tally_new(overlap, context, &part.tally), HP_OK);
    profile_flow(&f, text, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct hp_thread thread = {.id = i};
        struct hp_sampler *sampler;
        assert_int_equal(hp_sampler_new(&config, f.program, &thread, take_part, &part, &sampler),
                         HP_OK);
        hp_sampler_timings(sampler, f.flow.timings, i ? f.flow.n / 2 : f.flow.n);
        hp_sampler_end(sampler);
        hp_sampler_free(sampler);
    }
    for (size_t i = 0; i < f.profile->n_insn_overlaps; i++) {
        const struct hp_pinsn_overlap *row = &f.profile->insn_overlaps[i];
        uint64_t pairs = 0, total = 0, squares = 0;
        if (strcmp(row->measure, measure) != 0)
            continue;
        assert_string_equal(row->seen, text);
        for (uint32_t k = 0; k < CODE; k++) {
            struct hp_overlap_sum sum;
            if (hp_program_insns(f.program)[k].address != f.profile->insns[row->insn].place.offset)
                continue;
            assert_int_equal(hp_overlap_tally_get(part.tally, k, &sum), HP_OK);
            pairs += sum.pairs;
            total += (uint64_t)sum.sum;
            squares += (uint64_t)sum.squares;
        }
        assert_int_equal(row->pairs, pairs);
        assert_int_equal(row->sum, total);
        assert_int_equal(row->squares, squares);
        found += total > 0;
    }
    assert_true(found > 1);
    hp_overlap_tally_free(part.tally);
    end(&f);
}

static void measures_become_rows(void **state)
{
    enum hp_unit_kind alu = HP_UNIT_ALU;
    const char *split = "profileme,interval=300,window=200,around,busy=any,split";
    (void)state;
    check_measure("profileme,interval=300,window=200,around", "around", hp_overlap_around, NULL,
                  true, false);
    check_measure("profileme,interval=300,window=200,busy=any", "busy", hp_overlap_busy, NULL, true,
                  false);
    check_measure("profileme,interval=300,window=200,busy=alu", "busy alu", hp_overlap_busy, &alu,
                  true, false);
    check_measure(split, "useful hit", hp_overlap_useful, NULL, false, false);
    check_measure(split, "useful miss", hp_overlap_useful, NULL, false, true);
    check_measure(split, "around miss", hp_overlap_around, NULL, false, true);
    check_measure(split, "busy hit", hp_overlap_busy, NULL, false, false);
}

/* --- Only some are kept ----------------------------------------------------------------------- */

/* What is kept stands for everything, at the interval that it ends with. */
static void a_bound_on_samples_holds(void **state)
{
    double sum = 0;
    (void)state;
    for (int seed = 1; seed <= 20; seed++) {
        struct fixture f;
        char text[64];
        uint64_t fetched = 0;
        snprintf(text, sizeof text, "profileme,interval=20,seed=%d,most=300,tags=64", seed);
        begin(&f);
        profile_flow(&f, text, 0);
        const struct hp_psampler *sampler = &f.profile->samplers[0];
        for (size_t i = 0; i < f.profile->n_insn_tallies; i++)
            fetched += f.profile->insn_tallies[i].tally.fetched;
        assert_memory_equal(sampler->name, "profileme,interval=20,", 22);
        assert_in_range(sampler->samples, 1, 299);
        assert_int_equal(fetched, sampler->samples);
        assert_true(sampler->interval > 20 && sampler->interval % 20 == 0);
        sum += (double)(sampler->samples * sampler->interval) / (1.5 * (double)f.flow.n);
        end(&f);
    }
    /* The mean of 20 runs of some 200 samples each: 2 % is a standard deviation. */
    assert_true(sum / 20 > 0.92 && sum / 20 < 1.08);
}

static void scale_is_what_was_set(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    profile_flow(&f, "profileme,interval=200", 12500);
    assert_int_equal(f.profile->samplers[0].scale, 12500);
    end(&f);
}

static void a_config_that_does_not_fit_is_rejected_at_once(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_profiler *profiler;
    struct hp_sample_config config = config_of("profileme,window=5");
    begin(&f);
    assert_int_equal(hp_sample_profiler_new(&config, f.program, &profiler), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "a window of 5 is less than"));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_samples_become_rows),
        cmocka_unit_test(pairs_become_rows),
        cmocka_unit_test(the_window_is_the_machine_s),
        cmocka_unit_test(scale_is_what_was_set),
        cmocka_unit_test(measures_become_rows),
        cmocka_unit_test(a_bound_on_samples_holds),
        cmocka_unit_test(a_config_that_does_not_fit_is_rejected_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
