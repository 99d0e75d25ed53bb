// SPDX-License-Identifier: MIT
/* The model: strings, notes, normal form. */
#include "profile_fixture.h"

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
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
