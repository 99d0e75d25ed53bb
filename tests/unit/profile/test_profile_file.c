// SPDX-License-Identifier: MIT
/* The file: what is saved is loaded again; what was damaged is refused, or rescued as far as it can
 * be read. */
#include "profile_random.h"

#include "profile/profile_impl.h"
#include "profile/schema.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char file[128];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/hotpath-profile-file-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    /* Characters that mean something in an SQLite URI. */
    snprintf(file, sizeof file, "%s/a %%41?b=#c.hotpath", directory);
    return 0;
}

static int files_in_directory(void)
{
    int n = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static int leave_directory(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(directory);
}

static struct hp_profile *normal_profile(uint64_t seed, size_t n)
{
    struct hp_profile *p = random_profile(seed, n);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    return p;
}

static char *read_bytes(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *bytes = malloc(8 << 20);
    *size = fread(bytes, 1, 8 << 20, in);
    fclose(in);
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(out);
}

static int changes; /* rows changed by the last edit */

/* Runs SQL on the file; returns whether SQLite accepted it. */
static bool edit(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", 0, 0, 0);
    bool done = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    changes = sqlite3_total_changes(db);
    sqlite3_close(db);
    return done;
}

/* Saves without checksums: for tests of what is found without them. */
static void save_unchecked(const struct hp_profile *p)
{
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DELETE FROM contents"));
}

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
                            strcmp(name, "context") == 0;
            bool gone = i < 3 && hp_schema_table(table)->later && !referred;
            if (hp_profile_load(file, &q) != (gone ? HP_OK : HP_ERR_FORMAT))
                fail_msg("%s: %s", gone ? "refused" : "accepted", sql);
            if (gone) { /* a table that may be missing; what stands there instead is not read */
                assert_true(!hp_engine_work_known(&q->run.work) || !q->n_path_steps ||
                            !q->n_path_counts || !q->n_stats || !q->n_predictions ||
                            !q->n_loop_counts || !q->n_loop_trips || !q->n_loop_blocks ||
                            !q->n_model_loops || !q->n_hotspot_branches || !q->n_hotspot_blocks ||
                            !q->n_hotspot_slices || !q->n_insn_tallies || !q->n_insn_cycles ||
                            !q->n_attributions || !q->n_waits || !q->n_samplers || !q->n_windows ||
                            !q->n_context_counts || !q->n_table_paths);
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
                     "DROP TABLE table_path;"
                     "DROP TABLE path_count; DROP TABLE model_stat; DROP TABLE prediction;"
                     "DROP TABLE how"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name IN ('path', 'path_step', 'path_count',"
                     "'table_path',"
                     "'model_stat', 'prediction')"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_paths = p->n_path_steps = p->n_path_counts = p->n_stats = p->n_predictions = 0;
    p->n_table_paths = 0;
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
                     "DROP TABLE hotspot; DROP TABLE hotspot_branch; DROP TABLE hotspot_block;"
                     "DROP TABLE hotspot_slice"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name LIKE '%loop%' OR name LIKE 'hotspot%'"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_loops = p->n_loop_counts = p->n_loop_trips = p->n_loop_blocks = p->n_model_loops = 0;
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
                     "DROP TABLE sampler; DROP TABLE cycle_window; DROP TABLE cause"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name LIKE 'insn%' OR name IN ('attribution',"
                     "'sampler', 'cycle_window')"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_insns = p->n_insn_tallies = p->n_insn_cycles = p->n_attributions = p->n_waits = 0;
    p->n_samplers = p->n_windows = 0;
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

/* --- Views ------------------------------------------------------------------------------------ */

static int first_number(void *number, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    *(long long *)number = values[0] ? atoll(values[0]) : -1;
    return 0;
}

static long long ask(const char *sql)
{
    sqlite3 *db;
    long long number = -2;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, first_number, &number, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
    return number;
}

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
    char create[HP_SCHEMA_SQL];
    hp_schema_create(&hp_row_formats[HP_ROW_INSN_TALLY], create);
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

/* --- Damage ----------------------------------------------------------------------------------- */

static int n_rescued;

/* Of a file that is refused what can be read is sound, and says what it is; of any other it is all,
 * and says nothing. */
static void rescue_damaged(const struct hp_profile *loaded)
{
    struct hp_profile *p;
    const char *what;
    enum hp_err err = hp_profile_rescue(file, &p, &what);
    if (err != HP_OK) {
        assert_null(loaded);
        assert_true(err == HP_ERR_FORMAT || err == HP_ERR_VERSION);
        assert_null(what);
        return;
    }
    assert_int_equal(hp_profile_check_normal(p), HP_OK);
    assert_true((what == NULL) == (loaded != NULL));
    if (loaded)
        assert_true(same_profiles(p, loaded));
    bool noted = false;
    for (size_t i = 0; i < p->n_notes; i++)
        noted |=
            what && strcmp(p->notes[i].kind, "damaged") == 0 && strcmp(p->notes[i].text, what) == 0;
    assert_true(noted || loaded);
    n_rescued += !loaded;
    hp_profile_free(p);
}

/* Clean error, or a sound profile: the one that was saved, when that is known. Returns whether it
 * was loaded. */
static bool load_damaged(const struct hp_profile *original)
{
    struct hp_profile *p;
    enum hp_err err = hp_profile_load(file, &p);
    if (err != HP_OK) {
        if (err != HP_ERR_FORMAT && err != HP_ERR_VERSION)
            fail_msg("error %d: %s", err, hp_error_text());
        assert_true(*hp_error_text());
        rescue_damaged(NULL);
        return false;
    }
    assert_int_equal(hp_profile_check_normal(p), HP_OK);
    if (original)
        assert_true(same_profiles(p, original));
    rescue_damaged(p);
    hp_profile_free(p);
    return true;
}

static void damage(uint64_t *state, char *bytes, size_t *size)
{
    /* Pages are 16 KiB; most of the small tables' roots are in the first ones. */
    size_t page = 16384, pages = *size / page;
    switch (random_below(state, 6)) {
    case 0: /* bits anywhere */
        for (uint32_t n = 1 + random_below(state, 8); n > 0; n--)
            bytes[random_below(state, *size)] ^= (char)(1 << random_below(state, 8));
        break;
    case 1: /* bytes of a page's header and cell pointers, where a change hurts most */
        for (uint32_t n = 1 + random_below(state, 4); n > 0; n--)
            bytes[random_below(state, pages) * page + random_below(state, 40)] =
                (char)random_next(state);
        break;
    case 2: /* the schema's page */
        bytes[random_below(state, page)] = (char)random_next(state);
        break;
    case 3: /* a page copied over another */
        memmove(bytes + random_below(state, pages) * page,
                bytes + random_below(state, pages) * page, page);
        break;
    case 4: /* a page of rubbish, or of zeroes */
    {
        char *start = bytes + random_below(state, pages) * page;
        bool zero = random_below(state, 2);
        for (size_t i = 0; i < page; i++)
            start[i] = zero ? 0 : (char)random_next(state);
        break;
    }
    case 5: *size = random_below(state, *size); break;
    }
}

/* How many changes to try: fewer where each takes long (HOTPATH_MUTATIONS). */
static int mutations(void)
{
    const char *text = getenv("HOTPATH_MUTATIONS");
    return text ? atoi(text) : 600;
}

static void damaged_files_are_refused_or_right(void **state)
{
    (void)state;
    uint64_t random = 42;
    int n = mutations();
    int loaded = 0, refused = 0;
    for (int round = 0; round < 3; round++) {
        struct hp_profile *p = normal_profile(12 + (uint64_t)round, round == 2 ? 3000 : 100);
        assert_int_equal(hp_profile_save(p, file), HP_OK);
        size_t size;
        char *bytes = read_bytes(file, &size), *copy = malloc(size);
        for (int i = 0; i < (round == 2 ? n / 4 : n); i++) {
            size_t left = size;
            memcpy(copy, bytes, size);
            damage(&random, copy, &left);
            write_bytes(file, copy, left);
            if (load_damaged(p))
                loaded++;
            else
                refused++;
        }
        hp_profile_free(p);
        free(bytes);
        free(copy);
    }
    assert_int_equal(files_in_directory(), 1);
    /* The damage must be neither always found at once nor never. */
    assert_true(loaded > n / 30);
    assert_true(refused > n * 5 / 6);
    assert_true(n_rescued > refused / 2);
}

/* Puts a b-tree page of `cells` equal cells into `page`; `header` is where its header begins. */
static void make_page(unsigned char *page, size_t header, int type, unsigned cells,
                      const unsigned char *cell, size_t cell_size, uint32_t last_child)
{
    bool interior = type == 2 || type == 5;
    unsigned at = 16384;
    unsigned char *h = page + header, *pointer = h + (interior ? 12 : 8);
    memset(h, 0, 16384 - header);
    for (unsigned i = 0; i < cells; i++) {
        at -= (unsigned)cell_size;
        memcpy(page + at, cell, cell_size);
        pointer[2 * i] = (unsigned char)(at >> 8);
        pointer[2 * i + 1] = (unsigned char)at;
    }
    h[0] = (unsigned char)type;
    h[3] = (unsigned char)(cells >> 8);
    h[4] = (unsigned char)cells;
    h[5] = (unsigned char)(at >> 8);
    h[6] = (unsigned char)at;
    for (int i = 0; interior && i < 4; i++)
        h[8 + i] = (unsigned char)(last_child >> (24 - 8 * i));
}

/* Makes the tree at page `root` one of `depth` levels of `cells` + 1 references to the same page,
 * which has one row: (cells + 1) ^ depth rows. */
static void make_endless(uint32_t root, bool table, unsigned depth, unsigned cells)
{
    /* Child, then key: a rowid, or the record 0, 0, 1. And the row itself. */
    unsigned char key[] = {0, 0, 0, 0, 1}, record[] = {0, 0, 0, 0, 7, 4, 1, 1, 1, 0, 0, 1};
    const unsigned char row[] = {6, 1, 6, 0, 0, 0, 0, 0};
    unsigned char *cell = table ? key : record;
    size_t cell_size = table ? sizeof key : sizeof record, size;
    char *bytes = read_bytes(file, &size);
    uint32_t pages = (uint32_t)(size / 16384);
    unsigned char *all = calloc(pages + depth, 16384);
    memcpy(all, bytes, size);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t child = pages + 1 + i, page = i == 0 ? root : child - 1;
        for (int k = 0; k < 4; k++)
            cell[k] = (unsigned char)(child >> (24 - 8 * k));
        make_page(all + (page - 1) * 16384, page == 1 ? 100 : 0, table ? 5 : 2, cells, cell,
                  cell_size, child);
    }
    unsigned char *leaf = all + (pages + depth - 1) * 16384;
    if (table)
        make_page(leaf, 0, 13, 1, row, sizeof row, 0);
    else
        make_page(leaf, 0, 10, 1, record + 4, sizeof record - 4, 0);
    for (int k = 0; k < 4; k++)
        all[28 + k] = (unsigned char)((pages + depth) >> (24 - 8 * k));
    write_bytes(file, (char *)all, (pages + depth) * 16384);
    free(all);
    free(bytes);
}

/* Were they followed to the end, these would take longer than there is time, or stack. */
static void endless_files_are_refused(void **state)
{
    (void)state;
    struct hp_profile *p = normal_profile(8, 60), *q;
    alarm(600);
    for (int kind = 0; kind < 6; kind++) {
        save_unchecked(p);
        bool deep = kind >= 3;
        uint32_t edge = (uint32_t)ask("SELECT rootpage FROM sqlite_master WHERE name = 'edge'");
        uint32_t count =
            (uint32_t)ask("SELECT rootpage FROM sqlite_master WHERE name = 'block_count'");
        uint32_t root = kind % 3 == 0 ? 1 : kind % 3 == 1 ? edge : count;
        make_endless(root, root != count, deep ? 300 : 10, deep ? 1 : 1000);
        const char *what;
        assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
        if (hp_profile_rescue(file, &q, &what) == HP_OK) {
            assert_non_null(what);
            hp_profile_free(q);
        }
    }
    alarm(0);
    hp_profile_free(p);
}

static size_t n_rows(const struct hp_profile *p)
{
    size_t n = 0;
    for (int i = 0; i < HP_ROW_KINDS; i++)
        n += hp_profile_n_rows(p, (enum hp_row_kind)i);
    return n;
}

/* A row or two are wrong, or gone: nearly all others are there. */
static void what_can_be_read_is_rescued(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE run SET arch = 'pdp11'",
        "DELETE FROM run",
        "DELETE FROM module WHERE id = 2",
        "DELETE FROM function WHERE id = 5",
        "DELETE FROM string WHERE id = 1",
        "UPDATE function SET name = x'00' WHERE id = 5",
        "UPDATE block SET flow = 99 WHERE id = 7",
        "DELETE FROM block WHERE id BETWEEN 7 AND 9",
        "UPDATE edge SET taken = -1 WHERE id = 1",
        "UPDATE edge_count SET count = 'many' WHERE edge = (SELECT min(edge) FROM edge_count)",
        "UPDATE context SET parent = id WHERE id = 3",
        "UPDATE loop SET parent = id WHERE id = 3",
        "UPDATE loop_count SET same = 1000000, executions = 1 WHERE loop = 3",
        "DROP TABLE prediction",
        "ALTER TABLE hotspot_slice RENAME COLUMN width TO wide",
        "UPDATE sampler SET name = 'same'",
        "UPDATE contents SET rows = rows + 1 WHERE name = 'line'",
        "DROP TABLE contents",
    };
    struct hp_profile *p = normal_profile(8, 100), *q;
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    size_t size, rows = n_rows(p);
    char *bytes = read_bytes(file, &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const char *what;
        write_bytes(file, bytes, size);
        if (!edit(edits[i]))
            fail_msg("changes nothing: %s", edits[i]);
        if (hp_profile_load(file, &q) == HP_OK)
            fail_msg("accepted: %s", edits[i]);
        if (hp_profile_rescue(file, &q, &what) != HP_OK)
            fail_msg("lost: %s: %s", edits[i], hp_error_text());
        assert_non_null(what);
        if (n_rows(q) < rows * 9 / 10)
            fail_msg("%zu of %zu rows: %s: %s", n_rows(q), rows, edits[i], what);
        hp_profile_free(q);
    }
    free(bytes);
    hp_profile_free(p);
}

static void random_edits_never_crash(void **state)
{
    (void)state;
    static const char *const columns[] = {
        "run.lost",
        "run.arch",
        "run.seconds",
        "run_argument.id",
        "run_argument.text",
        "string.id",
        "string.text",
        "module.path",
        "module.build_id",
        "thread.pid",
        "thread.branches",
        "function.module",
        "function.offset",
        "function.size",
        "function.name",
        "function.file",
        "block.module",
        "block.offset",
        "block.size",
        "block.insns",
        "block.function",
        "block.flow",
        "block.branch",
        "block.version",
        "edge.from_module",
        "edge.to_offset",
        "edge.flow",
        "edge.taken",
        "call.caller",
        "line.block",
        "line.start",
        "line.stop",
        "line.file",
        "line.line",
        "line.inlined_at",
        "line.insns",
        "block_count.block",
        "block_count.count",
        "edge_count.thread",
        "edge_count.edge",
        "function_count.self",
        "function_count.function",
        "call_count.call",
        "note.text",
        "path.kind",
        "path.module",
        "path.outcomes",
        "path.length",
        "path.function",
        "path_step.path",
        "path_step.position",
        "path_step.block",
        "path_step.how",
        "path_count.path",
        "path_count.events",
        "model_stat.unit",
        "model_stat.value",
        "prediction.scheme",
        "prediction.closed_hits",
        "prediction.flow",
        "loop.function",
        "loop.parent",
        "loop.offset",
        "loop.version",
        "loop.first_line",
        "loop_count.loop",
        "loop_count.min",
        "loop_count.iterations",
        "loop_trip.bucket",
        "loop_trip.value",
        "loop_trip.count",
        "loop_block.block",
        "model_loop.loop",
        "model_loop.average",
        "model_loop.executions",
        "hotspot.number",
        "hotspot.run",
        "hotspot.total",
        "hotspot_branch.hotspot",
        "hotspot_branch.executed",
        "hotspot_block.block",
        "hotspot_slice.slice",
        "hotspot_slice.width",
        "hotspot_slice.instructions",
        "insn.function",
        "insn.offset",
        "insn.op",
        "insn.text",
        "insn.version",
        "insn_tally.seen",
        "insn_tally.insn",
        "insn_tally.retired",
        "insn_tally.map_cycles",
        "insn_tally.useful",
        "insn_cycles.cause",
        "insn_cycles.parts",
        "attribution.insn",
        "attribution.weight",
        "insn_wait.producer",
        "insn_wait.cycles",
        "sampler.name",
        "sampler.interval",
        "sampler.scale",
        "cycle_window.thread",
        "cycle_window.cycles",
    };
    static const char *const values[] = {
        "-1",
        "0",
        "1",
        "3",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
        "'text'",
        "''",
        "x'00ff'",
        "1e300",
        "NULL",
        "CAST(x'410042' AS TEXT)",
        "'x86_64'",
        "zeroblob(100000)",
    };
    struct hp_profile *p = normal_profile(14, 100);
    save_unchecked(p);
    hp_profile_free(p);
    size_t size;
    char *bytes = read_bytes(file, &size), sql[256];
    uint64_t random = 7;
    int loaded = 0, refused = 0;
    n_rescued = 0;
    for (int i = 0; i < 600; i++) {
        char table[64];
        snprintf(table, sizeof table, "%s",
                 columns[random_below(&random, sizeof columns / sizeof *columns)]);
        char *column = strchr(table, '.');
        *column++ = 0;
        const char *value = values[random_below(&random, sizeof values / sizeof *values)];
        snprintf(sql, sizeof sql,
                 "UPDATE OR REPLACE %s SET %s = %s WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET "
                 "%u)",
                 table, column, value, column, column, table, random_below(&random, 4));
        write_bytes(file, bytes, size);
        if (!edit(sql))
            continue; /* SQLite itself keeps the file sound: NULL, text as an id */
        if (load_damaged(NULL))
            loaded++;
        else
            refused++;
    }
    free(bytes);
    assert_true(loaded > 50);
    assert_true(refused > 100);
    assert_int_equal(n_rescued, refused);
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
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(wrong_contents_are_refused),
        cmocka_unit_test(changes_are_found),
        cmocka_unit_test(wrong_schemas_are_refused),
        cmocka_unit_test(files_without_engine_counts_are_sound),
        cmocka_unit_test(files_without_paths_are_sound),
        cmocka_unit_test(files_without_loops_are_sound),
        cmocka_unit_test(files_without_instructions_are_sound),
        cmocka_unit_test(unknown_engine_counts_are_passed_over),
        cmocka_unit_test(additions_are_ignored),
        cmocka_unit_test(edited_order_is_restored),
        cmocka_unit_test(views_add_up),
        cmocka_unit_test(names_in_the_file_are_those_of_the_library),
        cmocka_unit_test(damaged_files_are_refused_or_right),
        cmocka_unit_test(endless_files_are_refused),
        cmocka_unit_test(what_can_be_read_is_rescued),
        cmocka_unit_test(random_edits_never_crash),
    };
    return cmocka_run_group_tests_name("profile file", tests, enter_directory, leave_directory);
}
