// SPDX-License-Identifier: MIT
/* The model: strings, notes, normal form, merging. */
#include "profile_random.h"

#include "profile/profile_impl.h"

static struct hp_profile *empty_profile(void)
{
    struct hp_profile *p;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    return p;
}

static uint32_t add_module(struct hp_profile *p, const char *path, const char *build_id)
{
    struct hp_pmodule *module;
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    module->path = hp_profile_string(p, path);
    module->build_id = hp_profile_string(p, build_id);
    return (uint32_t)p->n_modules - 1;
}

static uint32_t add_function(struct hp_profile *p, uint32_t module, uint64_t offset,
                             const char *name)
{
    struct hp_pfunction *function;
    assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
    function->place = (struct hp_place){module, offset};
    function->name = hp_profile_string(p, name);
    return (uint32_t)p->n_functions - 1;
}

static uint32_t add_block(struct hp_profile *p, uint32_t module, uint64_t offset, uint32_t size)
{
    struct hp_pblock *block;
    assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
    block->place = (struct hp_place){module, offset};
    block->size = size;
    block->function = HP_PROFILE_NONE;
    return (uint32_t)p->n_blocks - 1;
}

static void add_block_count(struct hp_profile *p, uint32_t block, uint32_t thread, uint64_t count)
{
    struct hp_pcount *item;
    assert_int_equal(hp_profile_add_block_count(p, &item), HP_OK);
    *item = (struct hp_pcount){block, thread, count};
}

static void add_threads(struct hp_profile *p, size_t n)
{
    struct hp_pthread *thread;
    while (n--)
        assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
}

/* --- Strings, notes, command ------------------------------------------------------------------ */

static void equal_strings_are_one(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    char text[32];
    const char *first[5000];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name %d", i);
        first[i] = hp_profile_string(p, text);
        assert_string_equal(first[i], text);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name %d", i);
        assert_ptr_equal(hp_profile_string(p, text), first[i]);
    }
    char *large = malloc(200001);
    memset(large, 'x', 200000);
    large[200000] = 0;
    assert_string_equal(hp_profile_string(p, large), large);
    assert_ptr_equal(hp_profile_string(p, large), hp_profile_string(p, large));
    assert_string_equal(hp_profile_string(p, ""), "");
    free(large);
    hp_profile_free(p);
}

static void new_elements_are_zeroed_with_empty_strings(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    struct hp_pfunction *function;
    struct hp_pcount *count;
    assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
    assert_string_equal(function->name, "");
    assert_string_equal(function->file, "");
    assert_int_equal(function->line, 0);
    assert_int_equal(hp_profile_add_block_count(p, &count), HP_OK);
    count->count = 7;
    p->n_block_counts = 0;
    assert_int_equal(hp_profile_add_block_count(p, &count), HP_OK);
    assert_int_equal(count->count, 0);
    assert_null(p->run.command[0]);
    assert_string_equal(p->run.version, "");
    hp_profile_free(p);
    hp_profile_free(NULL);
}

static void notes_add_up(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    assert_int_equal(hp_profile_note(p, 2, "lost", "gap of %d words", 7), HP_OK);
    assert_int_equal(hp_profile_note(p, 3, "lost", "gap of %d words", 8), HP_OK);
    assert_int_equal(hp_profile_note(p, 40, "lost", "gap of %d words", 7), HP_OK);
    assert_int_equal(hp_profile_note(p, 1, "cut", "gap of 7 words"), HP_OK);
    assert_int_equal(p->n_notes, 3);
    assert_string_equal(p->notes[0].text, "gap of 7 words");
    assert_int_equal(p->notes[0].count, 42);
    hp_profile_free(p);
}

static void command_is_copied(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    char word[] = "ls";
    char *argv[] = {word, "", "-l", NULL};
    assert_int_equal(hp_profile_set_command(p, argv), HP_OK);
    word[0] = 'X';
    assert_string_equal(p->run.command[0], "ls");
    assert_string_equal(p->run.command[1], "");
    assert_string_equal(p->run.command[2], "-l");
    assert_null(p->run.command[3]);
    assert_int_equal(hp_profile_set_command(p, argv + 2), HP_OK);
    assert_string_equal(p->run.command[0], "-l");
    assert_null(p->run.command[1]);
    hp_profile_free(p);
}

/* --- Normal form ------------------------------------------------------------------------------ */

static void modules_join_by_build_id_else_by_path(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    uint32_t late = add_module(p, "/z/libc", "11"), anon = add_module(p, "/tmp/x", "");
    uint32_t early = add_module(p, "/a/libc", "11"), other = add_module(p, "/a/libc", "22");
    uint32_t again = add_module(p, "/tmp/x", "");
    add_function(p, late, 5, "f");
    add_function(p, early, 6, "g");
    add_function(p, other, 5, "h");
    add_function(p, anon, 1, "i");
    add_function(p, again, 2, "j");
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_modules, 3);
    assert_string_equal(p->modules[0].path, "/a/libc");
    assert_string_equal(p->modules[0].build_id, "11");
    assert_string_equal(p->modules[1].build_id, "22");
    assert_string_equal(p->modules[2].path, "/tmp/x");
    const char names[] = "fghij";
    const uint32_t modules[] = {0, 0, 1, 2, 2};
    assert_int_equal(p->n_functions, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(p->functions[i].name[0], names[i]);
        assert_int_equal(p->functions[i].place.module, modules[i]);
    }
    hp_profile_free(p);
}

static void duplicates_join_and_counters_add_up(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    add_threads(p, 2);
    uint32_t m = add_module(p, "m", "1");
    uint32_t unnamed = add_function(p, m, 0x10, ""), named = add_function(p, m, 0x10, "main");
    uint32_t b1 = add_block(p, m, 0x20, 4), b0 = add_block(p, m, 0x10, 8);
    uint32_t b2 = add_block(p, m, 0x20, 4);
    p->blocks[b1].function = unnamed;
    p->blocks[b2].function = named;
    struct hp_pcall *call;
    struct hp_pcall_count *call_count;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(hp_profile_add_call(p, &call), HP_OK);
        *call = (struct hp_pcall){HP_PROFILE_NONE, i ? named : unnamed};
        assert_int_equal(hp_profile_add_call_count(p, &call_count), HP_OK);
        *call_count = (struct hp_pcall_count){i, 1, 3, 30};
    }
    add_block_count(p, b1, 1, 5);
    add_block_count(p, b0, 0, 0);
    add_block_count(p, b2, 1, 7);
    add_block_count(p, b2, 0, 1);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_functions, 1);
    assert_string_equal(p->functions[0].name, "main");
    assert_int_equal(p->n_blocks, 2);
    assert_int_equal(p->blocks[0].place.offset, 0x10);
    assert_int_equal(p->blocks[1].function, 0);
    assert_int_equal(p->n_block_counts, 2);
    assert_memory_equal(&p->block_counts[0], (&(struct hp_pcount){1, 0, 1}), 16);
    assert_memory_equal(&p->block_counts[1], (&(struct hp_pcount){1, 1, 12}), 16);
    assert_int_equal(p->n_calls, 1);
    assert_int_equal(p->n_call_counts, 1);
    assert_int_equal(p->call_counts[0].count, 6);
    assert_int_equal(p->call_counts[0].inclusive, 60);
    hp_profile_free(p);
}

static uint32_t add_path(struct hp_profile *p, const char *kind, uint64_t offset, uint64_t outcomes,
                         uint32_t length)
{
    struct hp_ppath *path;
    assert_int_equal(hp_profile_add_path(p, &path), HP_OK);
    assert_string_equal(path->kind, "");
    *path = (struct hp_ppath){.kind = hp_profile_string(p, kind),
                              .start = {HP_PROFILE_NONE, offset},
                              .outcomes = outcomes,
                              .length = length,
                              .function = HP_PROFILE_NONE};
    return (uint32_t)p->n_paths - 1;
}

static void add_step(struct hp_profile *p, uint32_t path, uint32_t position, uint32_t block)
{
    struct hp_pstep *step;
    assert_int_equal(hp_profile_add_path_step(p, &step), HP_OK);
    *step = (struct hp_pstep){path, position, block, HP_STEP_TAKEN};
}

static void add_path_count(struct hp_profile *p, uint32_t path, uint32_t thread, uint64_t count)
{
    struct hp_ppath_count *item;
    assert_int_equal(hp_profile_add_path_count(p, &item), HP_OK);
    *item = (struct hp_ppath_count){path, thread, count, count * 10, count * 100};
}

/* The steps that are kept are all of the same path, and those of the one with more of them. */
static void equal_paths_join_with_the_steps_of_one(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    add_threads(p, 2);
    uint32_t blocks[4];
    for (uint32_t i = 0; i < 4; i++)
        blocks[i] = add_block(p, HP_PROFILE_NONE, 0x40 - i * 0x10, 4); /* in the other order */
    uint32_t late = add_path(p, "wpp", 8, 1, 1), one = add_path(p, "bl", 8, 5, 3);
    uint32_t other = add_path(p, "bl", 8, 5, 4), two = add_path(p, "bl", 8, 5, 3);
    add_step(p, one, 1, blocks[3]);
    add_step(p, one, 0, blocks[2]);
    add_step(p, two, 2, blocks[0]);
    add_step(p, two, 0, blocks[0]);
    add_step(p, two, 1, blocks[1]);
    add_step(p, late, 0, blocks[1]);
    add_path_count(p, two, 1, 4);
    add_path_count(p, late, 0, 1);
    add_path_count(p, one, 1, 3);
    add_path_count(p, other, 0, 0);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_paths, 3);
    assert_string_equal(p->paths[0].kind, "bl");
    assert_int_equal(p->paths[0].length, 3);
    assert_int_equal(p->paths[1].length, 4);
    assert_string_equal(p->paths[2].kind, "wpp");
    const uint32_t expected[4][3] = {{0, 0, 3}, {0, 1, 2}, {0, 2, 3}, {2, 0, 2}};
    assert_int_equal(p->n_path_steps, 4);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(&p->path_steps[i], expected[i], sizeof expected[i]);
    assert_int_equal(p->n_path_counts, 2);
    assert_memory_equal(&p->path_counts[0], (&(struct hp_ppath_count){0, 1, 7, 70, 700}), 32);
    assert_memory_equal(&p->path_counts[1], (&(struct hp_ppath_count){2, 0, 1, 10, 100}), 32);
    hp_profile_free(p);
}

static void stats_join_by_their_unit(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    assert_int_equal(hp_profile_add_stat(p, "hpt", "hits", HP_STAT_COUNT, 5), HP_OK);
    assert_int_equal(hp_profile_add_stat(p, "hpt", "overlap", HP_STAT_SHARE, 90000), HP_OK);
    assert_int_equal(hp_profile_add_stat(p, "hpt", "bytes", HP_STAT_SIZE, 7168), HP_OK);
    assert_int_equal(hp_profile_merge(p, p), HP_OK);
    assert_int_equal(hp_profile_add_stat(p, "hpt", "overlap", HP_STAT_SHARE, 80000), HP_OK);
    assert_int_equal(hp_profile_add_stat(p, "hpt", "bytes", HP_STAT_SIZE, 8000), HP_OK);
    assert_int_equal(hp_profile_add_stat(p, "hpt", "hits", HP_STAT_COUNT, UINT64_MAX - 3), HP_OK);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_stats, 3);
    assert_string_equal(p->stats[0].name, "bytes");
    assert_int_equal(p->stats[0].value, 8000);
    assert_true(p->stats[1].value == UINT64_MAX);
    assert_int_equal(p->stats[2].value, 80000);
    hp_profile_free(p);
}

static void predictions_of_a_scheme_add_up(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    struct hp_pprediction *item;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hp_profile_add_prediction(p, &item), HP_OK);
        assert_string_equal(item->scheme, "");
        *item = (struct hp_pprediction){.scheme = hp_profile_string(p, i < 2 ? "net:50" : "boa:5"),
                                        .delay = i < 2 ? 50 : 5,
                                        .hits = 10,
                                        .branches = 7,
                                        .closed_noise = i ? INT64_MIN : -1};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_predictions, 2);
    assert_string_equal(p->predictions[0].scheme, "boa:5");
    assert_int_equal(p->predictions[1].delay, 50);
    assert_int_equal(p->predictions[1].hits, 20);
    assert_int_equal(p->predictions[1].branches, 14);
    assert_true(p->predictions[1].closed_noise == INT64_MIN);
    hp_profile_free(p);
}

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

static void counters_saturate(void **state)
{
    (void)state;
    struct hp_profile *p = empty_profile();
    add_threads(p, 1);
    uint32_t b = add_block(p, HP_PROFILE_NONE, 0, 1);
    add_block_count(p, b, 0, UINT64_MAX - 1);
    add_block_count(p, b, 0, 5);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_true(p->block_counts[0].count == UINT64_MAX);
    hp_profile_free(p);
}

/* The rows of a profile. */
static size_t n_rows(const struct hp_profile *p)
{
    size_t n = 0;
    for (int i = 0; i < HP_ROW_KINDS; i++)
        n += hp_profile_n_rows(p, (enum hp_row_kind)i);
    return n;
}

/* One thing is wrong in the profile: the rest stays, and a note says so. */
static void check_mending(struct hp_profile *p, int fault)
{
    const char *what;
    size_t rows = n_rows(p), notes = p->n_notes;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    if (!what || n_rows(p) + 20 < rows)
        fail_msg("fault %d: %zu rows of %zu stay, \"%s\"", fault, n_rows(p), rows, what);
    assert_int_equal(p->n_notes, notes + 1);
    assert_string_equal(p->notes[notes].kind, "mended");
    assert_string_equal(p->notes[notes].text, what);
    assert_int_equal(p->notes[notes].count, 1);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_null(what);
}

/* What was told apart wrongly goes, what was counted stays. */
static void a_loop_that_contradicts_itself_keeps_its_counts(void **state)
{
    (void)state;
    struct hp_profile *p = random_profile(5, 20);
    const char *what;
    uint64_t executions = p->loop_counts[3].executions;
    p->loop_counts[3].same = executions + 60;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_non_null(strstr(what, "loop counter 3"));
    assert_int_equal(p->loop_counts[3].executions, executions);
    assert_int_equal(p->loop_counts[3].max, 0);
    p->loop_counts[3].executions = p->loop_counts[3].iterations + 1;
    size_t n = p->n_loop_counts, loops = p->n_loops;
    assert_int_equal(hp_profile_mend(p, &what), HP_OK);
    assert_int_equal(p->n_loop_counts, n - 1);
    assert_int_equal(p->n_loops, loops);
    hp_profile_free(p);
}

/* Every way to be wrong is refused, and leaves the profile as it was. */
static void bad_indices_are_refused(void **state)
{
    (void)state;
    for (int fault = 0; fault < 69; fault++) {
        struct hp_profile *p = random_profile(5, 20), *q = random_profile(5, 20);
        for (int side = 0; side < 2; side++) {
            struct hp_profile *x = side ? q : p;
            uint32_t many = 100000;
            switch (fault) {
            case 0: x->functions[3].place.module = many; break;
            case 1: x->blocks[3].place.module = many; break;
            case 2: x->blocks[3].function = many; break;
            case 3: x->blocks[3].flow = HP_FLOW_COUNT_; break;
            case 4: x->blocks[3].branch = x->blocks[3].size + 1; break;
            case 5: x->edges[3].from.module = many; break;
            case 6: x->edges[3].to.module = many; break;
            case 7: x->edges[3].flow = 99; break;
            case 8: x->edges[3].taken = 2; break;
            case 9: x->calls[3].caller = many; break;
            case 10: x->lines[3].block = HP_PROFILE_NONE; break;
            case 11: x->lines[3].to = many; break;
            case 12: x->block_counts[3].item = HP_PROFILE_NONE; break;
            case 13: x->edge_counts[3].thread = 3; break;
            case 14: x->function_counts[3].item = (uint32_t)x->n_functions; break;
            case 15: x->call_counts[3].item = (uint32_t)x->n_calls; break;
            case 16: x->run.arch = HP_ARCH_COUNT_; break;
            case 17: x->paths[3].start.module = many; break;
            case 18: x->paths[3].function = many; break;
            case 19: x->paths[3].length = 65; break;
            case 20: x->paths[3].length = 0, x->paths[3].outcomes = 1; break;
            case 21: x->path_steps[3].path = (uint32_t)x->n_paths; break;
            case 22: x->path_steps[3].block = HP_PROFILE_NONE; break;
            case 23: x->path_steps[3].how = HP_STEP_END + 1; break;
            case 24: x->path_counts[3].thread = 3; break;
            case 25: x->stats[3].unit = HP_STAT_SHARE + 1; break;
            case 26: x->loops[3].header.module = many; break;
            case 27: x->loops[3].function = many; break;
            case 28: x->loops[3].parent = many; break;
            case 29: x->loops[3].parent = 3; break;
            case 30: x->loops[3].parent = 6, x->loops[6].parent = 9, x->loops[9].parent = 3; break;
            case 31: x->loops[3].parent = 4; break; /* of another function */
            case 32: x->loops[3].flags = 2; break;
            case 33: x->loops[3].first_line = 9, x->loops[3].last_line = 8; break;
            case 34: x->loop_counts[3].item = (uint32_t)x->n_loops; break;
            case 35: x->loop_counts[3].thread = 3; break;
            case 36: x->loop_counts[3].executions = x->loop_counts[3].iterations + 1; break;
            case 37: x->loop_counts[3].min = x->loop_counts[3].max + 1; break;
            case 38: x->loop_counts[3].max = x->loop_counts[3].iterations + 1; break;
            case 39: x->loop_counts[3].same = x->loop_counts[3].executions + 1; break;
            case 40: x->loop_counts[3].interrupted = x->loop_counts[3].executions + 1; break;
            case 41: x->loop_trips[3].loop = HP_PROFILE_NONE; break;
            case 42: x->loop_trips[3].bucket = 1, x->loop_trips[3].value = 64; break;
            case 43: x->loop_trips[3].bucket = 0, x->loop_trips[3].value = 0; break;
            case 44: x->loop_blocks[3].block = many; break;
            case 45: x->model_loops[3].loop = many; break;
            case 46: x->model_loops[3].target.module = many; break;
            case 47: x->hotspots[3].after = x->hotspots[3].total + 1; break;
            case 48: x->hotspot_branches[3].hotspot = HP_PROFILE_NONE; break;
            case 49: x->hotspot_branches[3].flow = HP_FLOW_COUNT_; break;
            case 50: x->hotspot_branches[3].taken = x->hotspot_branches[3].executed + 1; break;
            case 51: x->hotspot_blocks[3].block = many; break;
            case 52: x->hotspot_slices[3].width = 0; break;
            case 53: x->hotspot_slices[3].hotspot = many; break;
            case 54: x->insns[3].place.module = many; break;
            case 55: x->insns[3].function = many; break;
            case 56: x->insns[3].op = HP_OP_COUNT_; break;
            case 57: x->insns[3].flow = HP_FLOW_COUNT_; break;
            case 58: x->insn_tallies[3].insn = HP_PROFILE_NONE; break;
            case 59: x->insn_tallies[3].tally.fetched = 0; break;
            case 60: x->insn_tallies[3].tally.events[HP_INSN_L2] = 9; break;
            case 61: x->insn_tallies[3].useful = 9; break;
            case 62: x->insn_cycles[3].insn = many; break;
            case 63: x->insn_cycles[3].cause = HP_CAUSES; break;
            case 64: x->attributions[3].insn = many; break;
            case 65: x->waits[3].producer = many; break;
            case 66: x->samplers[1].interval = 0; break;
            case 67: x->windows[3].thread = 3; break;
            case 68: /* one name, two meanings */
                x->samplers[0].name = x->samplers[1].name;
                x->samplers[0].interval = x->samplers[1].interval + 1;
                break;
            }
        }
        assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
        assert_true(*hp_error_text());
        assert_true(same_profiles(p, q));
        check_mending(p, fault);
        hp_profile_free(p);
        hp_profile_free(q);
    }
}

/* --- The same profile in another order -------------------------------------------------------- */

static uint32_t *permutation(uint64_t *state, size_t n)
{
    uint32_t *order = malloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        size_t j = random_below(state, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
    return order;
}

/* Moves element i to order[i]. */
static void permute(struct hp_profile *p, enum hp_row_kind which, const uint32_t *order)
{
    struct hp_row_array view = hp_profile_rows(p, which);
    if (*view.n == 0)
        return;
    char *copy = malloc(*view.n * view.format->size);
    memcpy(copy, view.items, *view.n * view.format->size);
    for (size_t i = 0; i < *view.n; i++)
        memcpy(view.items + order[i] * view.format->size, copy + i * view.format->size,
               view.format->size);
    free(copy);
}

static void follow(uint32_t *index, const uint32_t *order)
{
    if (*index != HP_PROFILE_NONE)
        *index = order[*index];
}

static void shuffle_regions(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_loops; i++) {
        follow(&p->loops[i].header.module, order[HP_ROW_MODULE]);
        follow(&p->loops[i].function, order[HP_ROW_FUNCTION]);
        follow(&p->loops[i].parent, order[HP_ROW_LOOP]);
    }
    for (size_t i = 0; i < p->n_loop_counts; i++)
        follow(&p->loop_counts[i].item, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_loop_trips; i++)
        follow(&p->loop_trips[i].loop, order[HP_ROW_LOOP]);
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        follow(&p->loop_blocks[i].loop, order[HP_ROW_LOOP]);
        follow(&p->loop_blocks[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_model_loops; i++) {
        follow(&p->model_loops[i].branch.module, order[HP_ROW_MODULE]);
        follow(&p->model_loops[i].target.module, order[HP_ROW_MODULE]);
        follow(&p->model_loops[i].function, order[HP_ROW_FUNCTION]);
        follow(&p->model_loops[i].loop, order[HP_ROW_LOOP]);
    }
    for (size_t i = 0; i < p->n_hotspot_branches; i++) {
        follow(&p->hotspot_branches[i].hotspot, order[HP_ROW_HOTSPOT]);
        follow(&p->hotspot_branches[i].branch.module, order[HP_ROW_MODULE]);
    }
    for (size_t i = 0; i < p->n_hotspot_blocks; i++) {
        follow(&p->hotspot_blocks[i].hotspot, order[HP_ROW_HOTSPOT]);
        follow(&p->hotspot_blocks[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_hotspot_slices; i++)
        follow(&p->hotspot_slices[i].hotspot, order[HP_ROW_HOTSPOT]);
}

static void shuffle_contexts(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_contexts; i++) {
        follow(&p->contexts[i].parent, order[HP_ROW_CONTEXT]);
        follow(&p->contexts[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_context_counts; i++)
        follow(&p->context_counts[i].item, order[HP_ROW_CONTEXT]);
    for (size_t i = 0; i < p->n_table_paths; i++)
        follow(&p->table_paths[i].path, order[HP_ROW_PATH]);
}

static void shuffle_insns(struct hp_profile *p, uint32_t **order)
{
    for (size_t i = 0; i < p->n_insns; i++) {
        follow(&p->insns[i].place.module, order[HP_ROW_MODULE]);
        follow(&p->insns[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_insn_tallies; i++)
        follow(&p->insn_tallies[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        follow(&p->insn_cycles[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_attributions; i++)
        follow(&p->attributions[i].insn, order[HP_ROW_INSN]);
    for (size_t i = 0; i < p->n_waits; i++) {
        follow(&p->waits[i].insn, order[HP_ROW_INSN]);
        follow(&p->waits[i].producer, order[HP_ROW_INSN]);
    }
}

static void shuffle(struct hp_profile *p, uint64_t seed)
{
    uint64_t state = seed;
    uint32_t *order[HP_ROW_KINDS];
    for (int i = 0; i < HP_ROW_KINDS; i++) {
        order[i] = permutation(&state, *hp_profile_rows(p, (enum hp_row_kind)i).n);
        if (i != HP_ROW_THREAD)
            permute(p, (enum hp_row_kind)i, order[i]);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        follow(&p->functions[i].place.module, order[HP_ROW_MODULE]);
    for (size_t i = 0; i < p->n_blocks; i++) {
        follow(&p->blocks[i].place.module, order[HP_ROW_MODULE]);
        follow(&p->blocks[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_edges; i++) {
        follow(&p->edges[i].from.module, order[HP_ROW_MODULE]);
        follow(&p->edges[i].to.module, order[HP_ROW_MODULE]);
    }
    for (size_t i = 0; i < p->n_calls; i++) {
        follow(&p->calls[i].caller, order[HP_ROW_FUNCTION]);
        follow(&p->calls[i].callee, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_lines; i++)
        follow(&p->lines[i].block, order[HP_ROW_BLOCK]);
    for (size_t i = 0; i < p->n_block_counts; i++)
        follow(&p->block_counts[i].item, order[HP_ROW_BLOCK]);
    for (size_t i = 0; i < p->n_edge_counts; i++)
        follow(&p->edge_counts[i].item, order[HP_ROW_EDGE]);
    for (size_t i = 0; i < p->n_function_counts; i++)
        follow(&p->function_counts[i].item, order[HP_ROW_FUNCTION]);
    for (size_t i = 0; i < p->n_call_counts; i++)
        follow(&p->call_counts[i].item, order[HP_ROW_CALL]);
    for (size_t i = 0; i < p->n_paths; i++) {
        follow(&p->paths[i].start.module, order[HP_ROW_MODULE]);
        follow(&p->paths[i].function, order[HP_ROW_FUNCTION]);
    }
    for (size_t i = 0; i < p->n_path_steps; i++) {
        follow(&p->path_steps[i].path, order[HP_ROW_PATH]);
        follow(&p->path_steps[i].block, order[HP_ROW_BLOCK]);
    }
    for (size_t i = 0; i < p->n_path_counts; i++)
        follow(&p->path_counts[i].item, order[HP_ROW_PATH]);
    shuffle_contexts(p, order);
    shuffle_regions(p, order);
    shuffle_insns(p, order);
    for (int i = 0; i < HP_ROW_KINDS; i++)
        free(order[i]);
}

static void normal_form_does_not_depend_on_the_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct hp_profile *p = random_profile(seed, 1 + seed * 5);
        struct hp_profile *q = random_profile(seed, 1 + seed * 5);
        shuffle(q, seed + 1000);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_int_equal(hp_profile_check_normal(p), HP_OK);
        assert_true(same_profiles(p, q));
        /* And once more from the normal form: the same again. */
        shuffle(q, seed + 2000);
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_true(same_profiles(p, q));
        assert_int_equal(hp_profile_normalize(q), HP_OK);
        assert_true(same_profiles(p, q));
        hp_profile_free(p);
        hp_profile_free(q);
    }
}

/* The slow, obvious way: the sum of the counters of a block found by what it is. */
static uint64_t count_at(const struct hp_profile *p, const char *build_id, const char *path,
                         const struct hp_pblock *like)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pblock *block = &p->blocks[p->block_counts[i].item];
        if (block->place.offset != like->place.offset || block->size != like->size ||
            block->version != like->version || block->flow != like->flow ||
            (block->place.module == HP_PROFILE_NONE) != (like->place.module == HP_PROFILE_NONE))
            continue;
        if (block->place.module != HP_PROFILE_NONE) {
            const struct hp_pmodule *module = &p->modules[block->place.module];
            if (strcmp(module->build_id, build_id) != 0 ||
                (!*build_id && strcmp(module->path, path) != 0))
                continue;
        }
        sum += p->block_counts[i].count;
    }
    return sum;
}

static void normalizing_keeps_the_sums_of_each_block(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hp_profile *raw = random_profile(seed, 60), *p = random_profile(seed, 60);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (size_t i = 0; i < raw->n_blocks; i++) {
            uint32_t m = raw->blocks[i].place.module;
            const char *id = m == HP_PROFILE_NONE ? "" : raw->modules[m].build_id;
            const char *path = m == HP_PROFILE_NONE ? "" : raw->modules[m].path;
            assert_int_equal(count_at(raw, id, path, &raw->blocks[i]),
                             count_at(p, id, path, &raw->blocks[i]));
        }
        hp_profile_free(raw);
        hp_profile_free(p);
    }
}

/* --- Merging ---------------------------------------------------------------------------------- */

static uint64_t total(const struct hp_pcount *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i].count;
    return sum;
}

/* Makes the threads and runs of a merged profile those of the other order of merging. */
static void rotate_threads(struct hp_profile *p, uint32_t by)
{
    uint32_t n = (uint32_t)p->n_threads;
    uint32_t *order = malloc(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        order[i] = (i + by) % n;
    permute(p, HP_ROW_THREAD, order);
    for (size_t i = 0; i < p->n_block_counts; i++)
        p->block_counts[i].thread = order[p->block_counts[i].thread];
    for (size_t i = 0; i < p->n_edge_counts; i++)
        p->edge_counts[i].thread = order[p->edge_counts[i].thread];
    for (size_t i = 0; i < p->n_function_counts; i++)
        p->function_counts[i].thread = order[p->function_counts[i].thread];
    for (size_t i = 0; i < p->n_call_counts; i++)
        p->call_counts[i].thread = order[p->call_counts[i].thread];
    for (size_t i = 0; i < p->n_path_counts; i++)
        p->path_counts[i].thread = order[p->path_counts[i].thread];
    for (size_t i = 0; i < p->n_loop_counts; i++)
        p->loop_counts[i].thread = order[p->loop_counts[i].thread];
    for (size_t i = 0; i < p->n_hotspots; i++)
        p->hotspots[i].run = 1 - p->hotspots[i].run;
    for (size_t i = 0; i < p->n_windows; i++)
        p->windows[i].thread = order[p->windows[i].thread];
    free(order);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
}

static void merging_commutes_and_counts_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct hp_profile *a = random_profile(seed, 40), *b = random_profile(seed + 99, 55);
        struct hp_profile *a2 = random_profile(seed, 40), *b2 = random_profile(seed + 99, 55);
        uint64_t blocks =
            total(a->block_counts, a->n_block_counts) + total(b->block_counts, b->n_block_counts);
        uint64_t edges =
            total(a->edge_counts, a->n_edge_counts) + total(b->edge_counts, b->n_edge_counts);
        assert_int_equal(hp_profile_merge(a, b), HP_OK);
        assert_int_equal(hp_profile_merge(b2, a2), HP_OK);
        assert_int_equal(hp_profile_check_normal(a), HP_OK);
        assert_int_equal(a->n_threads, 6);
        assert_int_equal(total(a->block_counts, a->n_block_counts), blocks);
        assert_int_equal(total(a->edge_counts, a->n_edge_counts), edges);
        rotate_threads(b2, 3);
        assert_true(same_things(a, b2));
        assert_true(same_counts(a, b2));
        assert_true(same_paths(a, b2));
        assert_true(same_models(a, b2));
        assert_true(same_insns(a, b2));
        assert_true(same_samplers(a, b2));
        assert_true(same_windows(a, b2));
        hp_profile_free(a);
        hp_profile_free(b);
        hp_profile_free(a2);
        hp_profile_free(b2);
    }
}

static void merging_joins_the_runs(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(3, 4), *b = random_profile(4, 4);
    a->run.exit_status = 0;
    b->run.exit_status = 9;
    a->run.seconds = 1.5;
    b->run.seconds = 2.25;
    a->run.lost = 4;
    b->run.lost = 5;
    b->run.runs = 7;
    a->run.work = (struct hp_engine_work){.blocks = 10, .cache_bytes = 100, .memory_bytes = 7};
    b->run.work = (struct hp_engine_work){
        .blocks = 3, .cache_bytes = 60, .memory_bytes = 8, .detached = UINT64_MAX};
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->run.exit_status, 9);
    assert_true(a->run.seconds == 3.75);
    assert_int_equal(a->run.lost, 9);
    assert_int_equal(a->run.runs, 8);
    assert_int_equal(a->run.work.blocks, 13);
    assert_int_equal(a->run.work.cache_bytes, 100);
    assert_int_equal(a->run.work.memory_bytes, 8);
    assert_true(a->run.work.detached == UINT64_MAX);
    a->run.exit_status = 2;
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    assert_int_equal(a->run.exit_status, 2);
    b->run.arch = HP_ARCH_ALPHA;
    assert_int_equal(hp_profile_merge(a, b), HP_ERR_INVALID);
    hp_profile_free(a);
    hp_profile_free(b);
}

static void merging_outlives_the_other(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(1, 30), *b = random_profile(2, 30);
    struct hp_profile *c = random_profile(1, 30), *d = random_profile(2, 30);
    assert_int_equal(hp_profile_merge(a, b), HP_OK);
    hp_profile_free(b);
    assert_int_equal(hp_profile_merge(c, d), HP_OK);
    assert_true(same_profiles(a, c));
    hp_profile_free(a);
    hp_profile_free(c);
    hp_profile_free(d);
}

static void merging_with_itself_doubles(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(8, 50);
    assert_int_equal(hp_profile_normalize(a), HP_OK);
    uint64_t before = total(a->edge_counts, a->n_edge_counts);
    size_t edges = a->n_edges, blocks = a->n_blocks, lines = a->n_lines;
    assert_int_equal(hp_profile_merge(a, a), HP_OK);
    assert_int_equal(total(a->edge_counts, a->n_edge_counts), before * 2);
    assert_int_equal(a->n_edges, edges);
    assert_int_equal(a->n_blocks, blocks);
    assert_int_equal(a->n_lines, lines);
    assert_int_equal(a->n_threads, 6);
    assert_int_equal(a->run.runs, 2);
    hp_profile_free(a);
}

static void merging_something_bad_changes_nothing(void **state)
{
    (void)state;
    struct hp_profile *a = random_profile(8, 50), *same = random_profile(8, 50);
    struct hp_profile *bad = random_profile(9, 50);
    bad->edge_counts[7].item = 123456;
    assert_int_equal(hp_profile_merge(a, bad), HP_ERR_INVALID);
    assert_true(same_profiles(a, same));
    hp_profile_free(a);
    hp_profile_free(same);
    hp_profile_free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(new_elements_are_zeroed_with_empty_strings),
        cmocka_unit_test(notes_add_up),
        cmocka_unit_test(command_is_copied),
        cmocka_unit_test(modules_join_by_build_id_else_by_path),
        cmocka_unit_test(duplicates_join_and_counters_add_up),
        cmocka_unit_test(counters_saturate),
        cmocka_unit_test(equal_paths_join_with_the_steps_of_one),
        cmocka_unit_test(stats_join_by_their_unit),
        cmocka_unit_test(predictions_of_a_scheme_add_up),
        cmocka_unit_test(equal_loops_join),
        cmocka_unit_test(the_nearest_parent_stays),
        cmocka_unit_test(frequent_trip_counts_stay),
        cmocka_unit_test(reports_of_models_join),
        cmocka_unit_test(hotspots_of_runs_stay_apart),
        cmocka_unit_test(counters_of_a_branch_join),
        cmocka_unit_test(equal_instructions_join),
        cmocka_unit_test(samplers_of_runs_add_up),
        cmocka_unit_test(bad_indices_are_refused),
        cmocka_unit_test(a_loop_that_contradicts_itself_keeps_its_counts),
        cmocka_unit_test(normal_form_does_not_depend_on_the_order),
        cmocka_unit_test(normalizing_keeps_the_sums_of_each_block),
        cmocka_unit_test(merging_commutes_and_counts_add_up),
        cmocka_unit_test(merging_joins_the_runs),
        cmocka_unit_test(merging_outlives_the_other),
        cmocka_unit_test(merging_with_itself_doubles),
        cmocka_unit_test(merging_something_bad_changes_nothing),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
