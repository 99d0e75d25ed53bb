// SPDX-License-Identifier: MIT
/* Which loops, hot spots, instructions and samplers are one, and what becomes of their counts; and
 * how rows are put in order. */
#include "profile_fixture.h"

/* --- Loops and hot spots ---------------------------------------------------------------------- */

static struct hp_ploop *add_loop(struct hp_profile *p, uint64_t header, uint32_t parent,
                                 uint32_t insns)
{
    struct hp_ploop *loop;
    assert_int_equal(hp_profile_add_loop(p, &loop), HP_OK);
    loop->header = (struct hp_place){HP_PROFILE_NONE, header};
    loop->function = HP_PROFILE_NONE;
    loop->parent = parent;
    loop->insns = insns;
    return loop;
}

static void add_loop_count(struct hp_profile *p, uint32_t loop, uint64_t executions,
                           uint64_t iterations, uint64_t min, uint64_t max)
{
    struct hp_ploop_count *count;
    assert_int_equal(hp_profile_add_loop_count(p, &count), HP_OK);
    *count = (struct hp_ploop_count){.item = loop,
                                     .executions = executions,
                                     .iterations = iterations,
                                     .back_edges = iterations - executions,
                                     .min = min,
                                     .max = max,
                                     .self = 1};
}

/* Counts are added; the smallest and the largest stay that, and one that was never executed has
 * none. */
static void equal_loops_join(void **state)
{
    (void)state;
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    add_threads(p, 1);
    add_loop(p, 0x200, HP_PROFILE_NONE, 10)->file = hp_profile_string(p, "b.c");
    add_loop(p, 0x100, HP_PROFILE_NONE, 50);
    add_loop(p, 0x200, 1, 12)->flags = HP_LOOP_IRREDUCIBLE;
    add_loop_count(p, 0, 0, 0, 0, 0);
    add_loop_count(p, 2, 3, 30, 5, 20);
    add_loop_count(p, 0, 2, 8, 4, 4);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_loops, 2);
    assert_int_equal(p->loops[0].header.offset, 0x100);
    assert_int_equal(p->loops[1].parent, 0);
    assert_int_equal(p->loops[1].insns, 12);
    assert_int_equal(p->loops[1].flags, HP_LOOP_IRREDUCIBLE);
    assert_string_equal(p->loops[1].file, "b.c");
    assert_int_equal(p->n_loop_counts, 1);
    const struct hp_ploop_count *count = p->loop_counts;
    assert_int_equal(count->executions, 5);
    assert_int_equal(count->iterations, 38);
    assert_int_equal(count->back_edges, 33);
    assert_int_equal(count->min, 4);
    assert_int_equal(count->max, 20);
    assert_int_equal(count->self, 3);
    hp_profile_free(p);
}

/* 0x300 is said to be in 0x100 and in 0x200, which is in 0x100: the smaller one is its parent. And
 * 0x400 and 0x500 are each said to be in the other: the first of them is in none. */
static void the_nearest_parent_stays(void **state)
{
    (void)state;
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    add_loop(p, 0x100, HP_PROFILE_NONE, 100);
    add_loop(p, 0x300, 0, 10);
    add_loop(p, 0x200, 0, 40);
    add_loop(p, 0x300, 2, 10);
    add_loop(p, 0x400, HP_PROFILE_NONE, 10);
    add_loop(p, 0x500, 4, 10);
    add_loop(p, 0x500, HP_PROFILE_NONE, 10);
    add_loop(p, 0x400, 6, 10);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_loops, 5);
    assert_int_equal(p->loops[1].parent, 0);
    assert_int_equal(p->loops[2].parent, 1);
    assert_int_equal(p->loops[3].parent, HP_PROFILE_NONE);
    assert_int_equal(p->loops[4].parent, 3);
    hp_profile_free(p);
}

/* Equal trip counts add up; of exact values the most frequent stay, of equals the smaller ones. */
static void frequent_trip_counts_stay(void **state)
{
    (void)state;
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    add_loop(p, 0x100, HP_PROFILE_NONE, 1);
    for (uint32_t i = 0; i < 2 * 40; i++) {
        struct hp_ploop_trips *trips;
        assert_int_equal(hp_profile_add_loop_trips(p, &trips), HP_OK);
        *trips = (struct hp_ploop_trips){
            .bucket = i % 2, .value = i / 2 + 1, .count = i / 2 == 30 ? 7 : 1};
    }
    for (int i = 0; i < 2; i++) {
        struct hp_ploop_trips *trips;
        assert_int_equal(hp_profile_add_loop_trips(p, &trips), HP_OK);
        *trips = (struct hp_ploop_trips){.value = 39, .count = 5};
        assert_int_equal(hp_profile_add_loop_trips(p, &trips), HP_OK);
        *trips = (struct hp_ploop_trips){.value = 50}; /* of nothing */
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_loop_trips, HP_LOOP_VALUES + 40);
    for (uint32_t i = 0; i < HP_LOOP_VALUES - 2; i++) {
        assert_int_equal(p->loop_trips[i].value, i + 1);
        assert_int_equal(p->loop_trips[i].count, 1);
    }
    assert_int_equal(p->loop_trips[HP_LOOP_VALUES - 2].value, 31);
    assert_int_equal(p->loop_trips[HP_LOOP_VALUES - 2].count, 7);
    assert_int_equal(p->loop_trips[HP_LOOP_VALUES - 1].value, 39);
    assert_int_equal(p->loop_trips[HP_LOOP_VALUES - 1].count, 11);
    assert_int_equal(p->loop_trips[HP_LOOP_VALUES].bucket, 1);
    hp_profile_free(p);
}

static void reports_of_models_join(void **state)
{
    (void)state;
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    for (uint32_t i = 0; i < 3; i++) {
        struct hp_pmodel_loop *loop;
        assert_int_equal(hp_profile_add_model_loop(p, &loop), HP_OK);
        *loop = (struct hp_pmodel_loop){.model = hp_profile_string(p, "daprof"),
                                        .branch = {HP_PROFILE_NONE, 8},
                                        .target = {HP_PROFILE_NONE, 4},
                                        .function = HP_PROFILE_NONE,
                                        .loop = HP_PROFILE_NONE,
                                        .executions = i, /* 0, 1, 2 */
                                        .average = 10000 * i + 1000,
                                        .iterations = 5,
                                        .instructions = 7};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_model_loops, 1);
    assert_int_equal(p->model_loops[0].executions, 3);
    assert_int_equal(p->model_loops[0].average, (1 * 11000 + 2 * 21000 + 1) / 3);
    assert_int_equal(p->model_loops[0].iterations, 15);
    assert_int_equal(p->model_loops[0].instructions, 21);
    hp_profile_free(p);
}

static struct hp_profile *profile_with_hotspots(uint32_t n)
{
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    for (uint32_t i = 0; i < n; i++) {
        struct hp_photspot *hotspot;
        struct hp_photspot_slice *slice;
        assert_int_equal(hp_profile_add_hotspot(p, &hotspot), HP_OK);
        hotspot->detector = hp_profile_string(p, "merten");
        hotspot->number = i;
        hotspot->total = 100 * n + i;
        assert_int_equal(hp_profile_add_hotspot_slice(p, &slice), HP_OK);
        *slice = (struct hp_photspot_slice){
            .hotspot = i, .slice = 3, .width = 100 * n, .instructions = 1 + i};
    }
    return p;
}

/* Those of three runs, the first two of which have been merged before. */
static void hotspots_of_runs_stay_apart(void **state)
{
    (void)state;
    struct hp_profile *a = profile_with_hotspots(2), *b = profile_with_hotspots(1),
                      *c = profile_with_hotspots(3);
    assert_int_equal(hp_profile_merge(b, c), HP_OK);
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->run.runs, 3);
    assert_int_equal(a->n_hotspots, 6);
    assert_int_equal(a->n_hotspot_slices, 6);
    static const uint32_t runs[] = {0, 0, 1, 2, 2, 2}, numbers[] = {0, 1, 0, 0, 1, 2},
                          totals[] = {200, 201, 100, 300, 301, 302};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(a->hotspots[i].run, runs[i]);
        assert_int_equal(a->hotspots[i].number, numbers[i]);
        assert_int_equal(a->hotspots[i].total, totals[i]);
        assert_int_equal(a->hotspot_slices[i].hotspot, i);
        assert_int_equal(a->hotspot_slices[i].instructions, 1 + numbers[i]);
    }
    hp_profile_free(a);
    hp_profile_free(b);
    hp_profile_free(c);
}

/* Detectors that tell the directions of a branch apart report it several times. */
static void counters_of_a_branch_join(void **state)
{
    (void)state;
    struct hp_profile *p = profile_with_hotspots(1);
    for (uint32_t i = 0; i < 2; i++) {
        struct hp_photspot_branch *branch;
        assert_int_equal(hp_profile_add_hotspot_branch(p, &branch), HP_OK);
        *branch = (struct hp_photspot_branch){.branch = {HP_PROFILE_NONE, 0x40},
                                              .flow = HP_FLOW_COND,
                                              .executed = 16 + i,
                                              .taken = i ? 17 : 0};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_hotspot_branches, 1);
    assert_int_equal(p->hotspot_branches[0].executed, 33);
    assert_int_equal(p->hotspot_branches[0].taken, 17);
    hp_profile_free(p);
}

static struct hp_pinsn_tally *add_tally(struct hp_profile *p, const char *seen, uint32_t insn,
                                        uint64_t retired)
{
    struct hp_pinsn_tally *tally;
    assert_int_equal(hp_profile_add_insn_tally(p, &tally), HP_OK);
    tally->seen = hp_profile_string(p, seen);
    tally->insn = insn;
    tally->tally.fetched = tally->tally.retired = retired;
    return tally;
}

static struct hp_profile *profile_with_insns(uint64_t cycles)
{
    struct hp_profile *p = empty_profile();
    static const char *const texts[] = {"add rax, rbx", "mov rax, [rdi]", "mov rax, [rdi]"};
    for (uint32_t i = 0; i < 3; i++) {
        struct hp_pinsn *insn;
        struct hp_pinsn_cycles *row;
        assert_int_equal(hp_profile_add_insn(p, &insn), HP_OK);
        insn->place = (struct hp_place){HP_PROFILE_NONE, 0x40};
        insn->function = HP_PROFILE_NONE;
        insn->text = hp_profile_string(p, texts[i]);
        insn->line = i;
        insn->file = hp_profile_string(p, i == 2 ? "a.c" : "");
        assert_int_equal(hp_profile_add_insn_cycles(p, &row), HP_OK);
        *row = (struct hp_pinsn_cycles){i, HP_CAUSE_L2, cycles * HP_CYCLE_PARTS};
    }
    return p;
}

/* The same place, version and text are one; what is known of it stays, and all is added up. */
static void equal_instructions_join(void **state)
{
    (void)state;
    struct hp_profile *p = profile_with_insns(7);
    add_tally(p, "exact", 1, 10)->tally.events[HP_INSN_L1D] = 4;
    add_tally(p, "exact", 2, 20)->tally.events[HP_INSN_L1D] = 5;
    add_tally(p, "profileme", 2, 1);
    add_tally(p, "exact", 0, 0); /* nothing: dropped */
    struct hp_pwait *wait;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(hp_profile_add_wait(p, &wait), HP_OK);
        *wait = (struct hp_pwait){0, 1 + i, 3, 100};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_insns, 2);
    assert_string_equal(p->insns[0].text, "add rax, rbx");
    assert_string_equal(p->insns[1].file, "a.c");
    assert_int_equal(p->insns[1].line, 2);
    assert_int_equal(p->n_insn_tallies, 2);
    assert_string_equal(p->insn_tallies[0].seen, "exact");
    assert_int_equal(p->insn_tallies[0].insn, 1);
    assert_int_equal(p->insn_tallies[0].tally.retired, 30);
    assert_int_equal(p->insn_tallies[0].tally.events[HP_INSN_L1D], 9);
    assert_int_equal(p->insn_tallies[1].tally.retired, 1);
    assert_int_equal(p->n_insn_cycles, 2);
    assert_int_equal(p->insn_cycles[1].parts, 14 * HP_CYCLE_PARTS);
    assert_int_equal(p->n_waits, 1);
    assert_int_equal(p->waits[0].producer, 1);
    assert_int_equal(p->waits[0].cycles, 200);
    hp_profile_free(p);
}

static void add_sampler(struct hp_profile *p, const char *name, uint64_t interval, uint64_t samples,
                        uint64_t scale)
{
    struct hp_psampler *sampler;
    assert_int_equal(hp_profile_add_sampler(p, &sampler), HP_OK);
    *sampler = (struct hp_psampler){.name = hp_profile_string(p, name),
                                    .interval = interval,
                                    .samples = samples,
                                    .lost = 1,
                                    .scale = scale};
}

/* Samplers by name, windows side by side; the scale is that of the mean sample. */
static void samplers_of_runs_add_up(void **state)
{
    (void)state;
    struct hp_profile *a = profile_with_insns(1), *b = profile_with_insns(2),
                      *c = profile_with_insns(3);
    struct hp_profile *all[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        struct hp_pwindow *window;
        add_threads(all[i], 1);
        assert_int_equal(hp_profile_add_window(all[i], &window), HP_OK);
        *window = (struct hp_pwindow){0, 1000, 100, 50};
    }
    add_sampler(a, "profileme", 100, 30, 1000);
    add_sampler(b, "profileme", 100, 10, 2000);
    add_sampler(b, "profileme,interval=50", 50, 7, 1000);
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->n_samplers, 2);
    assert_int_equal(a->samplers[0].samples, 40);
    assert_int_equal(a->samplers[0].lost, 2);
    assert_int_equal(a->samplers[0].scale, 1250);
    assert_int_equal(a->samplers[1].samples, 7);
    assert_int_equal(a->n_windows, 2);
    assert_int_equal(a->windows[1].thread, 1);
    assert_int_equal(a->windows[1].instructions, 100);
    assert_int_equal(a->insn_cycles[0].parts, 3 * HP_CYCLE_PARTS);
    add_sampler(c, "profileme", 99, 1, 1000);
    assert_int_equal(hp_profile_merge(a, c), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), "profileme"));
    assert_int_equal(a->n_samplers, 2);
    assert_int_equal(a->n_windows, 2);
    hp_profile_free(a);
    hp_profile_free(b);
    hp_profile_free(c);
}

/* --- Room ------------------------------------------------------------------------------------- */

/* Counts of blocks of three threads, in any order, one of them twice. */
static struct hp_profile *shuffled_counts(uint32_t blocks)
{
    struct hp_profile *p = empty_profile();
    uint64_t random = 7;
    struct hp_pblock *block;
    struct hp_pcount *count;
    add_threads(p, 3);
    for (uint32_t i = 0; i < blocks; i++)
        assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
    for (uint32_t i = 0; i < 3 * blocks; i++) {
        assert_int_equal(hp_profile_add_block_count(p, &count), HP_OK);
        *count = (struct hp_pcount){.item = i / 3, .thread = i % 3, .count = i + 1};
    }
    for (uint32_t i = 3 * blocks; i-- > 1;) {
        uint32_t other = random_below(&random, i + 1);
        struct hp_pcount moved = p->block_counts[i];
        p->block_counts[i] = p->block_counts[other];
        p->block_counts[other] = moved;
    }
    assert_int_equal(hp_profile_add_block_count(p, &count), HP_OK);
    *count = (struct hp_pcount){.item = blocks / 2, .thread = 1, .count = 1000000};
    return p;
}

/* With room for a copy and without, the order is the same. */
static void order_does_not_depend_on_room(void **state)
{
    (void)state;
    enum { BLOCKS = 500, BYTES = (3 * BLOCKS + 1) * (int)sizeof(struct hp_pcount) };
    for (size_t bytes = 0; bytes <= BYTES; bytes += BYTES) {
        struct hp_profile *p = shuffled_counts(BLOCKS);
        struct hp_order_room room = {.indices = malloc(2 * (BLOCKS + 1) * sizeof(size_t)),
                                     .rows = malloc(bytes + 1),
                                     .bytes = bytes};
        hp_leaves_order(p, HP_ROW_BLOCK_COUNT, &room);
        assert_int_equal(p->n_block_counts, 3 * BLOCKS);
        for (uint32_t i = 0; i < 3 * BLOCKS; i++) {
            uint64_t twice = i == 3 * (BLOCKS / 2) + 1 ? 1000000 : 0;
            assert_int_equal(p->block_counts[i].item, i / 3);
            assert_int_equal(p->block_counts[i].thread, i % 3);
            assert_int_equal(p->block_counts[i].count, i + 1 + twice);
        }
        free(room.indices);
        free(room.rows);
        hp_profile_free(p);
    }
}

/* Keys of more than 64 bits: what the number in front of them leaves out is compared. */
static void long_keys_are_compared(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    struct hp_pmodule *module;
    struct hp_pedge *edge;
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(hp_profile_add_edge(p, &edge), HP_OK);
        *edge = (struct hp_pedge){.from = {0, UINT64_MAX - (i & 1)},
                                  .to = {0, (uint64_t)(63 - i) << (i & 2 ? 50 : 0)},
                                  .flow = HP_FLOW_COND,
                                  .taken = i & 4 ? 1 : 0};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_check_normal(p), HP_OK);
    assert_int_equal(p->n_edges, 64);
    hp_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_loops_join),
        cmocka_unit_test(the_nearest_parent_stays),
        cmocka_unit_test(frequent_trip_counts_stay),
        cmocka_unit_test(reports_of_models_join),
        cmocka_unit_test(hotspots_of_runs_stay_apart),
        cmocka_unit_test(counters_of_a_branch_join),
        cmocka_unit_test(equal_instructions_join),
        cmocka_unit_test(samplers_of_runs_add_up),
        cmocka_unit_test(order_does_not_depend_on_room),
        cmocka_unit_test(long_keys_are_compared),
    };
    return cmocka_run_group_tests_name("profile joins", tests, NULL, NULL);
}
