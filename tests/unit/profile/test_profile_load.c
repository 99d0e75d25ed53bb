// SPDX-License-Identifier: MIT
/* Files that are no profile, or one that somebody changed, are refused. */
#include "profile_file_fixture.h"

/* --- Loading what is no profile --------------------------------------------------------------- */

static void expect_load_error(const char *path, enum hp_err err, const char *text)
{
    struct hp_profile *p;
    enum hp_err got = hp_profile_load(path, &p);
    if (got == HP_OK)
        hp_profile_free(p);
    if (got != err || !strstr(hp_error_text(), text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", err, text, got, hp_error_text());
    assert_null(strchr(hp_error_text(), '\n'));
}

static void other_files_are_refused(void **state)
{
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s/missing", directory);
    expect_load_error(path, HP_ERR_IO, "No such file");
    expect_load_error(directory, HP_ERR_FORMAT, "not a regular file");
    expect_load_error("/dev/null", HP_ERR_FORMAT, "not a regular file");
    write_bytes(file, "", 0);
    expect_load_error(file, HP_ERR_FORMAT, "not an SQLite database");
    write_bytes(file, "SQLite format 2\0....", 20);
    expect_load_error(file, HP_ERR_FORMAT, "not an SQLite database");
    write_bytes(file, "SQLite format 3\0....", 20);
    expect_load_error(file, HP_ERR_FORMAT, "");
    unlink(file);
    assert_true(edit("CREATE TABLE run(id INTEGER PRIMARY KEY)"));
    expect_load_error(file, HP_ERR_FORMAT, "another program");
    struct hp_profile *p = normal_profile(7, 10);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("PRAGMA user_version = 2"));
    expect_load_error(file, HP_ERR_VERSION, "later");
    assert_true(edit("PRAGMA user_version = 0"));
    expect_load_error(file, HP_ERR_FORMAT, "version");
    assert_true(edit("PRAGMA user_version = 1"));
    struct hp_profile *q;
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    hp_profile_free(p);
    hp_profile_free(q);
}

static void wrong_contents_are_refused(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "DELETE FROM run",
        ("INSERT INTO run SELECT 1, version, engine, arch, directory, machine, started, seconds, "
         "exit_status, lost, runs FROM run"),
        "UPDATE run SET id = 5",
        "UPDATE run SET arch = 'pdp11'",
        "UPDATE run SET seconds = 9e999",
        "UPDATE run SET seconds = -1",
        "UPDATE run SET seconds = 'long'",
        "UPDATE run SET lost = -1",
        "UPDATE run SET runs = 4294967296",
        "UPDATE run SET exit_status = 2147483648",
        "UPDATE run SET engine = CAST(x'610062' AS TEXT)",
        "UPDATE run SET engine = x'6162'",
        "DELETE FROM run_argument WHERE id = 1",
        "DELETE FROM string WHERE id = 0",
        "DELETE FROM string",
        "DELETE FROM module WHERE id = 0",
        "DELETE FROM module",
        "UPDATE thread SET pid = 2147483648",
        "UPDATE thread SET instructions = -5",
        "DELETE FROM thread WHERE id = 2",
        "UPDATE function SET module = 1000 WHERE id = 3",
        "UPDATE function SET file = -1 WHERE id = 3",
        "UPDATE function SET file = 100000 WHERE id = 3",
        "UPDATE function SET size = -1 WHERE id = 3",
        "UPDATE function SET line = -1 WHERE id = 3",
        "UPDATE function SET offset = 1.5 WHERE id = 3",
        "UPDATE block SET function = 4294967295 WHERE id = 2",
        "UPDATE block SET function = -1 WHERE id = 2",
        "UPDATE block SET function = 100000 WHERE id = 2",
        "UPDATE block SET flow = 9 WHERE id = 2",
        "UPDATE block SET flow = -1 WHERE id = 2",
        "UPDATE block SET size = -8 WHERE id = 2",
        "UPDATE block SET size = 4294967296 WHERE id = 2",
        "UPDATE block SET branch = 1000 WHERE id = 2",
        "UPDATE block SET insns = 'many' WHERE id = 2",
        "UPDATE block SET id = 1000000 WHERE id = 2",
        "UPDATE edge SET taken = 2 WHERE id = 2",
        "UPDATE edge SET from_module = 100 WHERE id = 2",
        "UPDATE edge SET to_module = -1 WHERE id = 2",
        "UPDATE call SET callee = 100000 WHERE id = 2",
        "UPDATE line SET block = 100000 WHERE block = 2",
        "UPDATE line SET start = 9 WHERE start = 3",
        "UPDATE line SET stop = 100",
        "UPDATE line SET inlined = -1",
        "UPDATE block_count SET block = 100000 WHERE block = 5",
        "UPDATE block_count SET count = -1",
        "UPDATE block_count SET count = x'01'",
        "UPDATE edge_count SET thread = 3 WHERE thread = 2",
        "UPDATE function_count SET self = -1",
        "UPDATE call_count SET call = -1 - call",
        "DELETE FROM call",
        "UPDATE note SET kind = x'00'",
        "UPDATE path SET kind = 100000 WHERE id = 3",
        "UPDATE path SET module = 1000 WHERE id = 3",
        "UPDATE path SET length = 65 WHERE id = 3",
        "UPDATE path SET length = 2, outcomes = 4 WHERE id = 3",
        "UPDATE path SET outcomes = 'x' WHERE id = 3",
        "UPDATE path SET function = 100000 WHERE id = 3",
        "DELETE FROM path WHERE id = 3",
        "DELETE FROM path",
        "UPDATE path_step SET block = 100000",
        "UPDATE path_step SET path = path + 1000",
        "UPDATE path_step SET how = 6",
        "UPDATE path_count SET path = path + 1000",
        "UPDATE path_count SET thread = 3 WHERE thread = 2",
        "UPDATE path_count SET instructions = -1",
        "UPDATE model_stat SET unit = 3",
        "UPDATE model_stat SET value = -1",
        "UPDATE prediction SET hits = -1",
        "UPDATE prediction SET id = id + 1000",
        "UPDATE loop SET function = 100000 WHERE id = 3",
        "UPDATE loop SET module = 1000 WHERE id = 3",
        "UPDATE loop SET parent = 100000 WHERE id = 3",
        "UPDATE loop SET parent = id",
        "UPDATE loop SET flags = 2 WHERE id = 3",
        "UPDATE loop SET file = 100000 WHERE id = 3",
        "UPDATE loop SET last_line = first_line - 1 WHERE first_line > 0",
        "DELETE FROM loop WHERE id = 3",
        "DELETE FROM loop",
        "UPDATE loop_count SET loop = loop + 1000",
        "UPDATE loop_count SET thread = 3 WHERE thread = 2",
        "UPDATE loop_count SET executions = iterations + 1",
        "UPDATE loop_count SET min = max + 1",
        "UPDATE loop_count SET max = iterations + 1",
        "UPDATE loop_count SET same = executions + 1",
        "UPDATE loop_count SET stride = executions + 1",
        "UPDATE loop_count SET interrupted = executions + 1",
        "UPDATE loop_count SET self = -1",
        "UPDATE loop_trip SET loop = loop + 1000",
        "UPDATE loop_trip SET bucket = 2 WHERE bucket = 1",
        "UPDATE loop_trip SET value = value + 64 WHERE bucket = 1",
        "UPDATE loop_trip SET value = 0 WHERE bucket = 0 AND value = 1",
        "UPDATE loop_trip SET count = -1",
        "UPDATE loop_block SET block = 100000 + block",
        "UPDATE loop_block SET loop = 100000 + loop",
        "UPDATE model_loop SET model = 100000",
        "UPDATE model_loop SET loop = 100000",
        "UPDATE model_loop SET function = 100000",
        "UPDATE model_loop SET branch_module = 1000",
        "UPDATE model_loop SET target_module = 1000",
        "UPDATE model_loop SET average = -1",
        "UPDATE hotspot SET detector = -1",
        "UPDATE hotspot SET run = -1",
        "UPDATE hotspot SET number = 4294967296",
        "UPDATE hotspot SET pid = 2147483648",
        "UPDATE hotspot SET after = total + 1",
        "DELETE FROM hotspot",
        "UPDATE hotspot_branch SET hotspot = 100000",
        "UPDATE hotspot_branch SET module = 1000",
        "UPDATE hotspot_branch SET flow = 9",
        "UPDATE hotspot_branch SET taken = executed + 1",
        "UPDATE hotspot_block SET block = 100000 + block",
        "UPDATE hotspot_slice SET hotspot = 100000 + hotspot",
        "UPDATE hotspot_slice SET slice = slice + 4294967296",
        "UPDATE hotspot_slice SET width = 0",
        "UPDATE hotspot_slice SET instructions = -1",
        "UPDATE insn SET module = 1000 WHERE id = 3",
        "UPDATE insn SET function = 100000 WHERE id = 3",
        "UPDATE insn SET flow = 9 WHERE id = 3",
        "UPDATE insn SET op = 14 WHERE id = 3",
        "UPDATE insn SET text = 100000 WHERE id = 3",
        "UPDATE insn SET line = -1 WHERE id = 3",
        "DELETE FROM insn WHERE id = 3",
        "DELETE FROM insn",
        "UPDATE insn_tally SET seen = seen + 100000",
        "UPDATE insn_tally SET insn = insn + 100000",
        "UPDATE insn_tally SET fetched = retired - 1 WHERE retired",
        "UPDATE insn_tally SET no_queue = retired + 1",
        "UPDATE insn_tally SET load_squares = -1",
        "UPDATE insn_tally SET near = pairs + 1",
        "UPDATE insn_cycles SET insn = insn + 100000",
        "UPDATE insn_cycles SET cause = 16 WHERE cause = 15",
        "UPDATE insn_cycles SET cause = 300 WHERE cause = 15",
        "UPDATE insn_cycles SET parts = -1",
        "UPDATE attribution SET scheme = scheme + 100000",
        "UPDATE attribution SET insn = insn + 100000",
        "UPDATE insn_wait SET insn = insn + 100000",
        "UPDATE insn_wait SET producer = producer + 100000",
        "UPDATE insn_wait SET cycles = -1",
        "UPDATE sampler SET interval = 0",
        "UPDATE sampler SET scale = 0",
        "UPDATE sampler SET name = 'same'",
        "UPDATE sampler SET samples = -1",
        "UPDATE cycle_window SET thread = 3 WHERE thread = 2",
        "UPDATE cycle_window SET cycles = -1",
    };
    struct hp_profile *p = normal_profile(8, 100), *q;
    save_unchecked(p);
    size_t size;
    char *bytes = read_bytes(file, &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        write_bytes(file, bytes, size);
        if (!edit(edits[i]) || changes == 0)
            fail_msg("changes nothing: %s", edits[i]);
        enum hp_err err = hp_profile_load(file, &q);
        if (err != HP_ERR_FORMAT)
            fail_msg("accepted (%d): %s", err, edits[i]);
        assert_null(strchr(hp_error_text(), '\n'));
    }
    free(bytes);
    hp_profile_free(p);
}

/* Changes that leave a possible profile are found by the checksums, until those are taken out. */
static void changes_are_found(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE run SET started = started + 1",
        "UPDATE run SET seconds = seconds + 0.5",
        "UPDATE run_argument SET text = 'x' WHERE id = 1",
        "UPDATE string SET text = text || 'x' WHERE id = 2",
        "UPDATE module SET build_id = build_id || '0' WHERE id = 1",
        "UPDATE thread SET branches = branches + 1 WHERE id = 1",
        "UPDATE function SET name = name || ' ' WHERE id = 1",
        "UPDATE block SET function = NULL WHERE id = (SELECT max(id) FROM block WHERE function)",
        "DELETE FROM edge_count WHERE edge = (SELECT max(edge) FROM edge_count)",
        "UPDATE call_count SET count = count + 1",
        "UPDATE block_count SET count = count + 1 WHERE thread = 0",
        "DELETE FROM note",
        "UPDATE engine_stat SET value = value + 1 WHERE id = 3",
        "UPDATE path SET targets = targets + 1 WHERE id = 3",
        "UPDATE path_step SET how = (how + 1) % 3 WHERE position = 0",
        "UPDATE path_count SET events = events + 1",
        "DELETE FROM model_stat",
        "UPDATE prediction SET closed_noise = closed_noise - 1",
        "UPDATE loop SET insns = insns + 1 WHERE id = 3",
        "UPDATE loop SET parent = NULL",
        "UPDATE loop_count SET self = self + 1",
        "UPDATE loop_trip SET count = count + 1",
        "DELETE FROM loop_block WHERE loop = 3",
        "UPDATE model_loop SET average = average + 1",
        "UPDATE hotspot SET total = total + 1",
        "UPDATE hotspot_branch SET executed = executed + 1",
        "DELETE FROM hotspot_block",
        "UPDATE hotspot_slice SET slice = slice + 100",
        "UPDATE insn SET line = line + 1 WHERE id = 3",
        "UPDATE insn_tally SET execute_cycles = execute_cycles + 1",
        "UPDATE insn_cycles SET parts = parts + 1",
        "DELETE FROM attribution WHERE insn = (SELECT min(insn) FROM attribution)",
        "UPDATE insn_wait SET count = count + 1",
        "UPDATE sampler SET cost = cost + 1",
        "UPDATE cycle_window SET at = at + 1000",
        "UPDATE contents SET rows = rows + 1 WHERE name = 'line'",
        "DELETE FROM contents WHERE name = 'line'",
    };
    struct hp_profile *p = normal_profile(9, 100), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    size_t size;
    char *bytes = read_bytes(file, &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        write_bytes(file, bytes, size);
        assert_true(edit(edits[i]) && changes > 0);
        if (hp_profile_load(file, &q) != HP_ERR_FORMAT)
            fail_msg("not found: %s", edits[i]);
        assert_true(edit("DELETE FROM contents"));
        if (hp_profile_load(file, &q) != HP_OK)
            fail_msg("%s: %s", edits[i], hp_error_text());
        hp_profile_free(q);
    }
    free(bytes);
    hp_profile_free(p);
}

/* A file must not choose what is executed, nor stand something else in for a table. */
static void wrong_schemas_are_refused(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(9, 60), *q;
    save_unchecked(p);
    size_t size;
    char *bytes = read_bytes(file, &size), sql[1024];
    for (size_t table = 0; table < HP_SCHEMA_TABLES; table++) {
        const char *name = hp_schema_table(table)->table;
        const char *const edits[] = {
            "DROP TABLE %s",
            "PRAGMA legacy_alter_table = ON; ALTER TABLE %s RENAME TO hidden",
            ("PRAGMA legacy_alter_table = ON; ALTER TABLE %s RENAME TO hidden; "
             "CREATE VIEW %s AS SELECT * FROM hidden"),
            "ALTER TABLE %s ADD COLUMN extra GENERATED ALWAYS AS (1)",
            "CREATE TABLE copy AS SELECT * FROM %s; DROP TABLE %s; ALTER TABLE copy RENAME TO %s",
        };
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
            write_bytes(file, bytes, size);
            assert_true(
                edit("DROP VIEW hot_functions; DROP VIEW hot_blocks; DROP VIEW hot_edges;"
                     "DROP VIEW hot_calls; DROP VIEW hot_lines; DROP VIEW hot_paths;"
                     "DROP VIEW hot_loops; DROP VIEW hot_instructions; DROP VIEW hot_contexts"));
            snprintf(sql, sizeof sql, edits[i], name, name, name);
            if (!edit(sql))
                fail_msg("SQLite refuses: %s", sql);
            bool referred = strcmp(name, "path") == 0 || strcmp(name, "loop") == 0 ||
                            strcmp(name, "hotspot") == 0 || strcmp(name, "insn") == 0 ||
                            strcmp(name, "context") == 0 || strcmp(name, "inlined") == 0;
            bool gone = i < 3 && hp_schema_table(table)->later && !referred;
            if (hp_profile_load(file, &q) != (gone ? HP_OK : HP_ERR_FORMAT))
                fail_msg("%s: %s", gone ? "refused" : "accepted", sql);
            if (gone) { /* a table that may be missing; what stands there instead is not read */
                assert_true(!hp_engine_work_known(&q->run.work) || !q->n_path_steps ||
                            !q->n_path_counts || !q->n_path_times || !q->n_path_cycles ||
                            !q->n_stats || !q->n_predictions || !q->n_loop_counts ||
                            !q->n_loop_trips || !q->n_loop_blocks || !q->n_model_loops ||
                            !q->n_hotspot_branches || !q->n_hotspot_blocks ||
                            !q->n_hotspot_slices || !q->n_insn_tallies || !q->n_insn_cycles ||
                            !q->n_attributions || !q->n_waits || !q->n_samplers || !q->n_windows ||
                            !q->n_context_counts || !q->n_table_paths || !q->n_traces_events ||
                            !q->n_thread_names || !q->n_thread_times || !q->n_syscalls ||
                            !q->n_context_rests || !q->n_inlined_ranges || !q->n_function_samples ||
                            !q->n_block_samples || !q->n_edge_samples || !q->n_path_samples ||
                            !q->n_loop_samples || !q->n_loops_seen || !q->n_run_cycles ||
                            !q->n_insn_overlaps);
                hp_profile_free(q);
            }
        }
    }
    free(bytes);
    hp_profile_free(p);
}

/* Files were written before there was a table for what the engine counted. */
static void files_without_engine_counts_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    assert_true(hp_engine_work_known(&p->run.work));
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DROP TABLE engine_stat"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT); /* its checksum says it was there */
    assert_true(edit("DELETE FROM contents WHERE name = 'engine_stat'"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_false(hp_engine_work_known(&q->run.work));
    p->run.work = q->run.work;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

/* Nor for paths and predictions. */
static void files_without_paths_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DROP VIEW hot_paths; DROP TABLE path; DROP TABLE path_step;"
                     "DROP TABLE table_path; DROP TABLE path_sample; DROP TABLE path_time;"
                     "DROP TABLE path_cycles;"
                     "DROP TABLE path_count; DROP TABLE model_stat; DROP TABLE prediction;"
                     "DROP TABLE how"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name IN ('path', 'path_step', 'path_count',"
                     "'table_path', 'path_sample', 'path_time', 'path_cycles',"
                     "'model_stat', 'prediction')"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_paths = p->n_path_steps = p->n_path_counts = p->n_stats = p->n_predictions = 0;
    p->n_table_paths = p->n_path_samples = p->n_path_times = p->n_path_cycles = 0;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

/* Nor for loops and hot spots. */
static void files_without_loops_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DROP VIEW hot_loops; DROP TABLE loop; DROP TABLE loop_count;"
                     "DROP TABLE loop_trip; DROP TABLE loop_block; DROP TABLE model_loop;"
                     "DROP TABLE loop_sample; DROP TABLE loop_seen;"
                     "DROP TABLE hotspot; DROP TABLE hotspot_branch; DROP TABLE hotspot_block;"
                     "DROP TABLE hotspot_slice"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name LIKE '%loop%' OR name LIKE 'hotspot%'"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_loops = p->n_loop_counts = p->n_loop_trips = p->n_loop_blocks = p->n_model_loops = 0;
    p->n_loop_samples = p->n_loops_seen = 0;
    p->n_hotspots = p->n_hotspot_branches = p->n_hotspot_blocks = p->n_hotspot_slices = 0;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

/* Nor for instructions. */
static void files_without_instructions_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DROP VIEW hot_instructions; DROP TABLE insn; DROP TABLE insn_tally;"
                     "DROP TABLE insn_cycles; DROP TABLE attribution; DROP TABLE insn_wait;"
                     "DROP TABLE sampler; DROP TABLE cycle_window; DROP TABLE cause;"
                     "DROP TABLE insn_overlap"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name LIKE 'insn%' OR name IN ('attribution',"
                     "'sampler', 'cycle_window')"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_insns = p->n_insn_tallies = p->n_insn_cycles = p->n_attributions = p->n_waits = 0;
    p->n_samplers = p->n_windows = p->n_insn_overlaps = 0;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

/* Nor for traces; and the engine counted less. */
static void files_without_traces_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    struct hp_engine_work before = p->run.work;
    save_unchecked(p);
    assert_true(edit("DROP TABLE traces_event"));
    assert_true(edit("DELETE FROM engine_stat WHERE name LIKE '%trace%' OR name IN ('heads', "
                     "'abandoned', 'waited_ns')") &&
                changes == 10);
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_int_equal(q->run.work.detached, before.detached);
    assert_int_equal(q->run.work.traces, 0);
    assert_int_equal(q->run.work.trace_insns_run, 0);
    p->n_traces_events = 0;
    p->run.work = q->run.work;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

static void unknown_engine_counts_are_passed_over(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(5, 60), *q;
    save_unchecked(p);
    assert_true(edit("UPDATE engine_stat SET name = 'of later' WHERE name = 'links'") && changes);
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_int_equal(q->run.work.links, 0);
    q->run.work.links = p->run.work.links;
    assert_true(same_profiles(p, q));
    hp_profile_free(q);
    assert_true(edit("UPDATE engine_stat SET value = -1 WHERE name = 'blocks'") && changes);
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    hp_profile_free(p);
}

static void additions_are_ignored(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(9, 60), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("CREATE TABLE later(id INTEGER PRIMARY KEY, x);"
                     "INSERT INTO later VALUES(1, 'later');"
                     "CREATE VIEW mine AS SELECT count(*) FROM block;"
                     "CREATE INDEX by_offset ON block(offset, module);"
                     "CREATE INDEX by_count ON block_count(count, thread, block);"
                     "CREATE TRIGGER t AFTER INSERT ON block BEGIN DELETE FROM edge; END;"
                     "DROP VIEW hot_blocks; DROP TABLE flow; VACUUM"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_true(same_profiles(p, q));
    assert_int_equal(files_in_directory(), 1);
    hp_profile_free(p);
    hp_profile_free(q);
}

/* A profile whose rows were put in another order by hand is brought into its normal form. */
static void edited_order_is_restored(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(10, 60), *q;
    save_unchecked(p);
    assert_true(edit("UPDATE note SET id = 1000 + (SELECT count(*) FROM note) - id;"
                     "UPDATE note SET id = id - 1001;"
                     "INSERT INTO edge_count VALUES(0, 1, 0) ON CONFLICT DO NOTHING"));
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(wrong_contents_are_refused),
        cmocka_unit_test(changes_are_found),
        cmocka_unit_test(wrong_schemas_are_refused),
        cmocka_unit_test(files_without_engine_counts_are_sound),
        cmocka_unit_test(files_without_paths_are_sound),
        cmocka_unit_test(files_without_loops_are_sound),
        cmocka_unit_test(files_without_instructions_are_sound),
        cmocka_unit_test(files_without_traces_are_sound),
        cmocka_unit_test(unknown_engine_counts_are_passed_over),
        cmocka_unit_test(additions_are_ignored),
        cmocka_unit_test(edited_order_is_restored),
    };
    return cmocka_run_group_tests_name("profile load", tests, enter_directory, leave_directory);
}
