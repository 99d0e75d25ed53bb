// SPDX-License-Identifier: MIT
/* What was damaged is refused, or rescued as far as it can be read. */
#include "profile_file_fixture.h"

#include <signal.h>

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
        cmocka_unit_test(damaged_files_are_refused_or_right),
        cmocka_unit_test(endless_files_are_refused),
        cmocka_unit_test(what_can_be_read_is_rescued),
        cmocka_unit_test(random_edits_never_crash),
    };
    return cmocka_run_group_tests_name("profile damage", tests, enter_directory, leave_directory);
}
