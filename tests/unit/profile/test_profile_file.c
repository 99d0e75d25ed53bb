// SPDX-License-Identifier: MIT
/* The file: what is saved is loaded again. */
#include "profile_file_fixture.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- Round trips ------------------------------------------------------------------------------ */

static void saved_profiles_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 25; seed++) {
        struct hp_profile *p = normal_profile(seed, seed * 17), *q;
        assert_int_equal(hp_profile_save(p, file), HP_OK);
        assert_int_equal(hp_profile_load(file, &q), HP_OK);
        assert_true(same_profiles(p, q));
        hp_profile_free(p);
        hp_profile_free(q);
    }
    assert_int_equal(files_in_directory(), 1);
}

static void an_empty_profile_comes_back(void **state)
{
    (void)state;
    struct hp_profile *p, *q;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

static void extreme_values_come_back(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(1, 40), *q;
    size_t last = p->n_functions - 1;
    p->functions[last].place = (struct hp_place){HP_PROFILE_NONE, UINT64_MAX};
    p->functions[last].size = INT64_MAX;
    p->functions[last].line = UINT32_MAX;
    p->functions[last].name = hp_profile_string(p, "\xff\xc0 not UTF-8 \xe2\x82");
    p->edge_counts[0].count = INT64_MAX;
    p->threads[0] = (struct hp_pthread){INT32_MIN, INT32_MAX, INT64_MAX, 0, 1};
    p->run.started = INT64_MIN;
    p->run.exit_status = 137;
    p->run.runs = UINT32_MAX;
    p->run.work.detached = INT64_MAX;
    p->run.seconds = 0.1;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

static void equal_profiles_make_equal_files(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(3, 100), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    size_t size_a, size_b;
    char *a = read_bytes(file, &size_a);
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_int_equal(hp_profile_save(q, file), HP_OK);
    char *b = read_bytes(file, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
    hp_profile_free(p);
    hp_profile_free(q);
}

static void relative_names_are_names(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(4, 10), *q;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(directory), 0);
    const char *names[] = {":memory:", "file:x?mode=memory", "x.hotpath"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(hp_profile_save(p, names[i]), HP_OK);
        assert_int_equal(hp_profile_load(names[i], &q), HP_OK);
        assert_true(same_profiles(p, q));
        hp_profile_free(q);
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(chdir(here), 0);
    hp_profile_free(p);
}

static void new_files_obey_the_umask(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(4, 10);
    struct stat status;
    unlink(file);
    mode_t old = umask(027);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    umask(old);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    hp_profile_free(p);
}

/* --- Saving that fails ------------------------------------------------------------------------ */

static void expect_save_error(const struct hp_profile *p, const char *path, enum hp_err err,
                              const char *text)
{
    assert_int_equal(hp_profile_save(p, path), err);
    if (!strstr(hp_error_text(), text))
        fail_msg("\"%s\" does not say \"%s\"", hp_error_text(), text);
}

static void bad_profiles_are_not_saved(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60);
    write_bytes(file, "precious", 8);
    uint64_t keep = p->edge_counts[3].count;
    p->edge_counts[3].count = (uint64_t)INT64_MAX + 1;
    expect_save_error(p, file, HP_ERR_INVALID, "edge_count has a number above 2^63-1");
    p->edge_counts[3].count = 0;
    expect_save_error(p, file, HP_ERR_INVALID, "edge counters");
    p->edge_counts[3].count = keep;
    p->run.seconds = (double)NAN;
    expect_save_error(p, file, HP_ERR_INVALID, "seconds");
    p->run.seconds = 1;
    struct hp_pblock block = p->blocks[0];
    p->blocks[0] = p->blocks[1];
    expect_save_error(p, file, HP_ERR_INVALID, "blocks");
    p->blocks[0] = block;
    p->calls[0].callee = 100000;
    expect_save_error(p, file, HP_ERR_INVALID, "does not exist");
    size_t size;
    char *bytes = read_bytes(file, &size);
    assert_int_equal(size, 8);
    assert_memory_equal(bytes, "precious", 8);
    assert_int_equal(files_in_directory(), 1);
    free(bytes);
    hp_profile_free(p);
}

static void unwritable_places_are_named(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 10);
    char path[160];
    snprintf(path, sizeof path, "%s/missing/x", directory);
    expect_save_error(p, path, HP_ERR_IO, "No such file or directory");
    expect_save_error(p, directory, HP_ERR_INVALID, "not a regular file");
    expect_save_error(p, "/dev/null", HP_ERR_INVALID, "not a regular file");
    expect_save_error(p, "", HP_ERR_IO, "");
    if (geteuid() != 0) {
        assert_int_equal(chmod(directory, 0500), 0);
        expect_save_error(p, file, HP_ERR_IO, "Permission denied");
        assert_int_equal(chmod(directory, 0700), 0);
    }
    hp_profile_free(p);
}

/* A file may not become larger than this: writing fails half-way, as on a full disk. */
static void a_failing_write_leaves_nothing_behind(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(6, 3000);
    write_bytes(file, "precious", 8);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t limit = 4096; limit < 262144; limit *= 4) {
        small = (struct rlimit){limit, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        enum hp_err err = hp_profile_save(p, file);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(err, HP_ERR_IO);
        assert_non_null(strstr(hp_error_text(), "cannot write"));
        assert_int_equal(files_in_directory(), 1);
        size_t size;
        char *bytes = read_bytes(file, &size);
        assert_int_equal(size, 8);
        free(bytes);
    }
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    hp_profile_free(p);
}

/* --- Views ------------------------------------------------------------------------------------ */

static void views_add_up(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(11, 80);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    uint64_t self = 0, edges = 0, blocks = 0, calls = 0, lines = 0;
    for (size_t i = 0; i < p->n_function_counts; i++)
        self += p->function_counts[i].self;
    for (size_t i = 0; i < p->n_edge_counts; i++)
        edges += p->edge_counts[i].count;
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pcount *count = &p->block_counts[i];
        blocks += count->count * p->blocks[count->item].insns;
        for (size_t j = 0; j < p->n_lines; j++)
            if (p->lines[j].block == count->item)
                lines += count->count * p->lines[j].insns;
    }
    for (size_t i = 0; i < p->n_call_counts; i++)
        calls += p->call_counts[i].count;
    uint64_t paths = 0;
    for (size_t i = 0; i < p->n_path_counts; i++)
        paths += p->path_counts[i].insns;
    uint64_t executions = 0, loops = 0, smallest = 0;
    for (size_t i = 0; i < p->n_loop_counts; i++) {
        executions += p->loop_counts[i].executions;
        loops += i == 0 || p->loop_counts[i - 1].item != p->loop_counts[i].item;
    }
    for (size_t i = 0; i < p->n_loops; i++) {
        uint64_t min = UINT64_MAX;
        for (size_t k = 0; k < p->n_loop_counts; k++)
            if (p->loop_counts[k].item == i && p->loop_counts[k].executions &&
                p->loop_counts[k].min < min)
                min = p->loop_counts[k].min;
        smallest += min == UINT64_MAX ? 0 : min;
    }
    uint64_t parts = 0;
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        parts += p->insn_cycles[i].parts;
    assert_int_equal(ask("SELECT round(sum(cycles) * 720720) FROM hot_instructions"), parts);
    assert_int_equal(ask("SELECT sum(executions) FROM hot_loops"), executions);
    assert_int_equal(ask("SELECT count(*) FROM hot_loops"), loops);
    assert_int_equal(ask("SELECT sum(min) FROM hot_loops"), smallest);
    assert_int_equal(ask("SELECT sum(instructions) FROM hot_paths"), paths);
    assert_int_equal(ask("SELECT sum(self) FROM hot_functions"), self);
    assert_int_equal(ask("SELECT sum(count) FROM hot_edges"), edges);
    assert_int_equal(ask("SELECT sum(instructions) FROM hot_blocks"), blocks);
    assert_int_equal(ask("SELECT sum(count) FROM hot_calls"), calls);
    assert_int_equal(ask("SELECT sum(instructions) FROM hot_lines"), lines);
    hp_profile_free(p);
}

/* Columns and rows that have the names of events, stages and causes: as the library has them, '_'
 * for '-'. */
static void names_in_the_file_are_those_of_the_library(void **state)
{
    (void)state;
    char *create HP_CLEANUP(hp_schema_free) = hp_schema_create(&hp_row_formats[HP_ROW_INSN_TALLY]);
    const char *at = strstr(create, "  trapped ");
    char line[64], name[32];
    for (int i = 0; i < HP_INSN_EVENTS + 2 * HP_STAGES; i++) {
        int stage = (i - HP_INSN_EVENTS) % HP_STAGES;
        snprintf(name, sizeof name, "%s",
                 i < HP_INSN_EVENTS ? hp_insn_event_name((enum hp_insn_event)i)
                                    : hp_stage_name((enum hp_stage)stage));
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : *c;
        const char *of_stage = i < HP_INSN_EVENTS               ? ""
                               : i < HP_INSN_EVENTS + HP_STAGES ? "_cycles"
                                                                : "_squares";
        snprintf(line, sizeof line, "  %s%s INTEGER NOT NULL,\n", name, of_stage);
        at = strchr(at, '\n') + 1;
        if (strncmp(at, line, strlen(line)) != 0)
            fail_msg("column %d is not %s", i, line);
    }
    struct hp_profile *p = normal_profile(5, 10);
    save_unchecked(p);
    assert_int_equal(ask("SELECT count(*) FROM cause"), HP_CAUSES);
    for (int i = 0; i < HP_CAUSES; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "SELECT id FROM cause WHERE name = '%s'",
                 hp_cause_name((enum hp_cause)i));
        assert_int_equal(ask(sql), i);
    }
    hp_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_profiles_come_back),
        cmocka_unit_test(an_empty_profile_comes_back),
        cmocka_unit_test(extreme_values_come_back),
        cmocka_unit_test(equal_profiles_make_equal_files),
        cmocka_unit_test(relative_names_are_names),
        cmocka_unit_test(new_files_obey_the_umask),
        cmocka_unit_test(bad_profiles_are_not_saved),
        cmocka_unit_test(unwritable_places_are_named),
        cmocka_unit_test(a_failing_write_leaves_nothing_behind),
        cmocka_unit_test(views_add_up),
        cmocka_unit_test(names_in_the_file_are_those_of_the_library),
    };
    return cmocka_run_group_tests_name("profile file", tests, enter_directory, leave_directory);
}
