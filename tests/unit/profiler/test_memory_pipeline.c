// SPDX-License-Identifier: MIT
/* The pipeline with addresses and a machine. The core is faked: it numbers the blocks it sees, so
 * it is known which of them it saw, and in which order. */
#include "program_fixture.h"

#include "profiler/pipeline.h"

/* --- A core ----------------------------------------------------------------------------------- */

struct hp_machine {
    unsigned made, freed, batches;
    unsigned fails_at; /* this batch; 0: never */
};

struct hp_core {
    struct hp_machine *machine;
    uint64_t blocks, addresses;
    struct hp_core_stat stats[3];
    char names[2][16];
};

enum hp_err hp_core_new(const struct hp_machine *machine, struct hp_core **core)
{
    *core = calloc(1, sizeof **core);
    (*core)->machine = (struct hp_machine *)(uintptr_t)machine;
    (*core)->machine->made++;
    return HP_OK;
}

void hp_core_free(struct hp_core *core)
{
    if (core)
        core->machine->freed++;
    free(core);
}

enum hp_err hp_core_batch(struct hp_core *core, struct hp_code *code, const struct hp_batch *batch,
                          struct hp_events *events)
{
    if (++core->machine->batches == core->machine->fails_at)
        return hp_fail(HP_ERR_NOMEM, "no more");
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t n = batch->addresses ? batch->address_at[i + 1] - batch->address_at[i] : 0;
        events[i] = (struct hp_events){{0}};
        events[i].count[HP_METRIC_L1I_MISSES] = (uint32_t)core->blocks++;
        events[i].count[HP_METRIC_L1D_MISSES] = n;
        events[i].count[HP_METRIC_INSTRUCTIONS] = hp_code_block(code, batch->blocks[i])->insns;
        core->addresses += n;
    }
    return HP_OK;
}

enum hp_err hp_core_tail(struct hp_core *core, struct hp_code *code, const struct hp_event *tail,
                         struct hp_events *events)
{
    struct hp_batch batch = {
        .blocks = &tail->block,
        .n = 1,
        .addresses = tail->addresses,
        .address_at = tail->addresses ? (const uint32_t[]){0, (uint32_t)tail->n_addresses} : NULL};
    return hp_core_batch(core, code, &batch, events);
}

/* Names that are gone with the core, and with the next call. */
const struct hp_core_stat *hp_core_stats(struct hp_core *core)
{
    strcpy(core->names[0], "blocks");
    strcpy(core->names[1], "addresses");
    core->stats[0] = (struct hp_core_stat){core->names[0], core->blocks};
    core->stats[1] = (struct hp_core_stat){core->names[1], core->addresses};
    core->stats[2] = (struct hp_core_stat){NULL, 0};
    return core->stats;
}

/* --- A profiler that puts down what it sees --------------------------------------------------- */

struct line {
    uint64_t start;
    uint32_t insns;
    int64_t number;      /* the core's; -1: it has no events */
    int64_t first, last; /* addresses; -1: none */
    int64_t n;           /* of them; -1: no addresses at all */
};

struct tape {
    struct hp_profiler base; /* first */
    struct line *lines;
    size_t n, cap;
    unsigned ends;
};

static void put_line(struct tape *t, const struct hp_block *block, const struct hp_events *events,
                     const uint64_t *addresses, size_t n)
{
    struct line line = {.start = block->start, .insns = block->insns};
    line.number = events ? (int64_t)events->count[HP_METRIC_L1I_MISSES] : -1;
    line.n = addresses ? (int64_t)n : -1;
    line.first = addresses && n ? (int64_t)addresses[0] : -1;
    line.last = addresses && n ? (int64_t)addresses[n - 1] : -1;
    if (events) {
        assert_int_equal(events->count[HP_METRIC_INSTRUCTIONS], block->insns);
        assert_int_equal(events->count[HP_METRIC_L1D_MISSES], addresses ? n : 0);
    }
    assert_int_equal(hp_grow(&t->lines, &t->cap, t->n + 1, sizeof line), HP_OK);
    t->lines[t->n++] = line;
}

static enum hp_err tape_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                               void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static void tape_batch(void *state, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        const uint32_t *at = batch->address_at;
        assert_int_equal(batch->addresses != NULL, at != NULL);
        put_line(state, &batch->table[batch->blocks[i]], batch->events ? &batch->events[i] : NULL,
                 at ? batch->addresses + at[i] : NULL, at ? at[i + 1] - at[i] : 0);
    }
}

static void tape_steps(void *state, const struct hp_steps *steps)
{
    (void)state, (void)steps;
    fail();
}

static struct hp_code *the_code;

static void tape_event(void *state, const struct hp_event *event)
{
    struct tape *t = state;
    t->ends += event->kind == HP_EVENT_END;
    if (event->kind == HP_EVENT_TAIL)
        put_line(t, hp_code_block(the_code, event->block), event->events, event->addresses,
                 event->n_addresses);
    else
        assert_null(event->events);
}

static const struct hp_profiler_ops tape_ops = {.name = "tape",
                                                .start_thread = tape_thread,
                                                .batch = tape_batch,
                                                .steps = tape_steps,
                                                .event = tape_event};

/* --- A program and its addresses -------------------------------------------------------------- */

struct fixture {
    struct program p;
    struct stream s;
    uint64_t *addresses;
    size_t n; /* more than there are operands */
};

static void fixture_init(struct fixture *f, uint64_t seed)
{
    program_init(&f->p, seed);
    program_make_native(&f->p);
    stream_init(&f->s);
    program_run(&f->p, &f->s, 2000);
    the_code = f->s.code;
    f->n = 10000;
    for (size_t i = 0; i < f->p.n_truth; i++)
        f->n += 2 * f->p.truth[i].insns;
    f->addresses = calloc(f->n, sizeof *f->addresses);
    for (size_t i = 0; i < f->n; i++)
        f->addresses[i] = i;
}

static void fixture_fini(struct fixture *f)
{
    free(f->addresses);
    stream_fini(&f->s);
    program_fini(&f->p);
}

struct sums {
    uint64_t blocks, addresses;
};

/* Feeds thread `id`; what a call answers first. */
static enum hp_err feed_thread(struct fixture *f, struct hp_consumer *c, uint32_t id,
                               bool addressed)
{
    struct hp_thread thread = {.id = id, .pid = 1, .tid = 1};
    HP_TRY(c->thread(c, &thread));
    size_t at = 0;
    for (size_t i = 0; i < f->p.n_words; i += 700) {
        size_t n = f->p.n_words - i < 700 ? f->p.n_words - i : 700;
        HP_TRY(c->words(c, id, f->p.words + i, n));
        for (size_t k = 0; k < 5 && addressed && f->n - at > 300; k++, at += 300)
            HP_TRY(c->addresses(c, id, f->addresses + at, 300));
    }
    if (addressed)
        HP_TRY(c->addresses(c, id, f->addresses + at, f->n - at));
    return c->end(c, id, HP_END_EXIT);
}

static enum hp_err run(struct fixture *f, const struct hp_region *region,
                       struct hp_machine *machine, bool addressed, struct tape *tape,
                       struct sums *sums)
{
    struct hp_pipeline *pipeline;
    const struct hp_core_stat *stats;
    size_t n;
    *tape = (struct tape){.base.ops = &tape_ops};
    assert_int_equal(hp_pipeline_new(f->s.code, NULL, NULL, region, &pipeline), HP_OK);
    assert_int_equal(hp_pipeline_add(pipeline, &tape->base), HP_OK);
    if (addressed)
        hp_pipeline_expect_addresses(pipeline);
    if (machine)
        assert_int_equal(hp_pipeline_set_machine(pipeline, machine), HP_OK);
    enum hp_err err = feed_thread(f, hp_pipeline_consumer(pipeline), 0, addressed);
    assert_int_equal(hp_pipeline_machine_stats(pipeline, &stats, &n), HP_OK);
    assert_int_equal(n, machine ? 2 : 0);
    if (sums && n) {
        assert_string_equal(stats[0].name, "blocks");
        assert_string_equal(stats[1].name, "addresses");
        *sums = (struct sums){stats[0].value, stats[1].value};
    }
    hp_pipeline_free(pipeline);
    if (machine)
        assert_int_equal(machine->made, machine->freed);
    return err;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void batches_have_addresses_and_events(void **state)
{
    (void)state;
    uint64_t all_blocks = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct fixture f;
        struct hp_region all = {0};
        struct hp_machine machine = {0};
        struct tape tape;
        struct sums sums;
        uint64_t addresses = 0, blocks = 0;
        fixture_init(&f, seed);
        assert_int_equal(run(&f, &all, &machine, true, &tape, &sums), HP_OK);
        for (size_t i = 0; i < tape.n; i++) {
            assert_true(tape.lines[i].n >= 0);
            addresses += (uint64_t)tape.lines[i].n;
            assert_int_equal(tape.lines[i].number, blocks++);
        }
        all_blocks += blocks;
        assert_int_equal(sums.blocks, blocks);
        assert_int_equal(sums.addresses, addresses);
        assert_int_equal(tape.ends, 1);
        free(tape.lines);
        fixture_fini(&f);
    }
    assert_true(all_blocks > 30000);
}

static void without_addresses_there_are_events(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_region all = {0};
    struct hp_machine machine = {0};
    struct tape tape;
    struct sums sums;
    fixture_init(&f, 7);
    assert_int_equal(run(&f, &all, &machine, false, &tape, &sums), HP_OK);
    for (size_t i = 0; i + 1 < tape.n; i++) {
        assert_int_equal(tape.lines[i].n, -1);
        assert_true(tape.lines[i].number >= 0);
    }
    assert_int_equal(sums.addresses, 0);
    free(tape.lines);
    fixture_fini(&f);
}

static void without_a_machine_there_are_addresses(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_region all = {0};
    struct tape tape;
    fixture_init(&f, 8);
    assert_int_equal(run(&f, &all, NULL, true, &tape, NULL), HP_OK);
    for (size_t i = 0; i < tape.n; i++) {
        assert_true(tape.lines[i].n >= 0);
        assert_int_equal(tape.lines[i].number, -1);
    }
    assert_true(tape.n > 1000);
    free(tape.lines);
    fixture_fini(&f);
}

/* What the profilers see of a region is what they see of it in the whole: the core has seen
 * everything before. Its sums are the region's. */
static size_t check_part(struct fixture *f, const struct tape *whole,
                         const struct hp_region *region, size_t at)
{
    struct hp_machine machine = {0};
    struct tape part;
    struct sums sums;
    uint64_t blocks = 0, addresses = 0;
    assert_int_equal(run(f, region, &machine, true, &part, &sums), HP_OK);
    assert_true(at + part.n <= whole->n);
    assert_memory_equal(part.lines, whole->lines + at, part.n * sizeof *part.lines);
    for (size_t i = 0; i < part.n; i++)
        if (part.lines[i].number >= 0) {
            blocks++;
            addresses += (uint64_t)part.lines[i].n;
        }
    assert_int_equal(sums.blocks, blocks);
    assert_int_equal(sums.addresses, addresses);
    free(part.lines);
    return at + part.n;
}

static void regions_have_their_part(void **state)
{
    (void)state;
    size_t parts = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct fixture f;
        struct hp_region all = {0};
        struct hp_machine machine = {0};
        struct tape whole;
        uint64_t instructions = 0;
        fixture_init(&f, seed + 100);
        assert_int_equal(run(&f, &all, &machine, true, &whole, NULL), HP_OK);
        for (size_t i = 0; i < whole.n; i++)
            instructions += whole.lines[i].insns;
        struct hp_region region = {.length =
                                       1 + random_below(&f.p.seed, (uint32_t)instructions / 2)};
        size_t first = check_part(&f, &whole, &region, 0);
        region.after = region.length;
        region.length = 1 + random_below(&f.p.seed, 500);
        size_t second = check_part(&f, &whole, &region, first);
        region.after += region.length;
        region.length = 0;
        assert_int_equal(check_part(&f, &whole, &region, second), whole.n);
        parts += first > 0 && second > first && whole.n > second;
        free(whole.lines);
        fixture_fini(&f);
    }
    assert_true(parts > 30);
}

static void every_thread_has_a_core(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_region all = {0};
    struct hp_machine machine = {0};
    struct tape tape, one;
    struct hp_pipeline *pipeline;
    const struct hp_core_stat *stats;
    struct sums sums;
    size_t n;
    fixture_init(&f, 11);
    assert_int_equal(run(&f, &all, &machine, true, &one, &sums), HP_OK);
    machine = (struct hp_machine){0};
    tape = (struct tape){.base.ops = &tape_ops};
    assert_int_equal(hp_pipeline_new(f.s.code, NULL, NULL, &all, &pipeline), HP_OK);
    assert_int_equal(hp_pipeline_add(pipeline, &tape.base), HP_OK);
    hp_pipeline_expect_addresses(pipeline);
    assert_int_equal(hp_pipeline_set_machine(pipeline, &machine), HP_OK);
    struct hp_consumer *c = hp_pipeline_consumer(pipeline);
    assert_int_equal(feed_thread(&f, c, 0, true), HP_OK);
    assert_int_equal(machine.freed, 1); /* there may be thousands */
    assert_int_equal(feed_thread(&f, c, 1, true), HP_OK);
    assert_int_equal(c->thread(c, &(struct hp_thread){.id = 5}), HP_OK); /* goes on */
    assert_int_equal(machine.made, 3);
    assert_int_equal(tape.n, 2 * one.n);
    assert_memory_equal(tape.lines, one.lines, one.n * sizeof *one.lines);
    assert_memory_equal(tape.lines + one.n, one.lines, one.n * sizeof *one.lines);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(hp_pipeline_machine_stats(pipeline, &stats, &n), HP_OK);
        assert_int_equal(stats[0].value, 2 * sums.blocks);
        assert_int_equal(stats[1].value, 2 * sums.addresses);
    }
    hp_pipeline_free(pipeline);
    free(tape.lines);
    free(one.lines);
    fixture_fini(&f);
}

static void a_core_that_fails_stops_it_all(void **state)
{
    (void)state;
    struct fixture f;
    struct hp_region all = {0}, region = {.after = 100000};
    struct hp_machine machine = {.fails_at = 2}, later = {.fails_at = 3};
    struct tape tape;
    fixture_init(&f, 12);
    assert_int_equal(run(&f, &all, &machine, true, &tape, NULL), HP_ERR_NOMEM);
    assert_int_equal(machine.batches, 2);
    assert_int_equal(tape.ends, 0);
    free(tape.lines);
    assert_int_equal(run(&f, &region, &later, false, &tape, NULL), HP_ERR_NOMEM);
    assert_int_equal(tape.n, 0);
    fixture_fini(&f);
}

static void counts_have_no_machine(void **state)
{
    (void)state;
    struct stream s;
    struct hp_region all = {0};
    struct hp_machine machine = {0};
    struct hp_pipeline *pipeline;
    stream_init(&s);
    assert_int_equal(hp_pipeline_new(s.code, NULL, NULL, &all, &pipeline), HP_OK);
    assert_int_equal(hp_pipeline_set_machine(pipeline, &machine), HP_OK);
    assert_int_equal(hp_pipeline_expect_counts(pipeline), HP_ERR_UNSUPPORTED);
    hp_pipeline_free(pipeline);
    assert_int_equal(hp_pipeline_new(s.code, NULL, NULL, &all, &pipeline), HP_OK);
    assert_int_equal(hp_pipeline_expect_counts(pipeline), HP_OK);
    assert_int_equal(hp_pipeline_set_machine(pipeline, &machine), HP_ERR_UNSUPPORTED);
    hp_pipeline_free(pipeline);
    stream_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_have_addresses_and_events),
        cmocka_unit_test(without_addresses_there_are_events),
        cmocka_unit_test(without_a_machine_there_are_addresses),
        cmocka_unit_test(regions_have_their_part),
        cmocka_unit_test(every_thread_has_a_core),
        cmocka_unit_test(a_core_that_fails_stops_it_all),
        cmocka_unit_test(counts_have_no_machine),
    };
    setenv("HOTPATH_THREADS", "1", 1); /* the core that is faked has no halves */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
