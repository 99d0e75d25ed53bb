// SPDX-License-Identifier: MIT
/* What is printed, apart from how: names, order, and the sums, against slow and obvious ones. */
#include "report_fixture.h"

#include "report/fields.h"
#include "text/number.h"
#include "text/table.h"

/* --- Names ------------------------------------------------------------------------------------ */

static void modules_are_named_without_ambiguity(void **state)
{
    (void)state;
    struct hp_pmodule modules[] = {
        {"/a/libc.so", "11"}, {"/b/libc.so", "22"}, {"/bin/one", ""}, {"/new/prog", "33"},
        {"/new/prog", "44"},  {"[anon]", ""},       {"/odd/", ""},    {"", ""}};
    struct hp_profile profile = {.modules = modules, .n_modules = 8};
    struct hp_tables tables;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    static const char *const expected[] = {"/a/libc.so",   "/b/libc.so", "one",   "/new/prog@33",
                                           "/new/prog@44", "[anon]",     "/odd/", ""};
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(tables.modules[i], expected[i]);
    hp_tables_fini(&tables);
}

static void functions_are_found_by_place(void **state)
{
    (void)state;
    struct hp_pmodule modules[] = {{"a", ""}, {"b", ""}};
    struct hp_pfunction functions[] = {{{0, 0x10}, 8, "a1", "", "", 0}, /* some without a size */
                                       {{0, 0x20}, 0x10, "a2", "", "", 0},
                                       {{0, 0x40}, 0, "", "linkage", "", 0},
                                       {{1, 0}, 0, "b0", "", "", 0},
                                       {{HP_PROFILE_NONE, 0}, 0, "", "", "", 0}};
    struct hp_profile profile = {
        .modules = modules, .n_modules = 2, .functions = functions, .n_functions = 5};
    struct hp_tables tables;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    for (uint32_t module = 0; module < 2; module++) {
        for (uint64_t offset = 0; offset < 0x60; offset++) {
            uint32_t expected = HP_PROFILE_NONE; /* the last that starts before, if it reaches */
            for (uint32_t i = 0; i < 5; i++)
                if (functions[i].place.module == module && functions[i].place.offset <= offset &&
                    (expected == HP_PROFILE_NONE ||
                     functions[i].place.offset > functions[expected].place.offset))
                    expected = i;
            if (expected != HP_PROFILE_NONE && functions[expected].size != 0 &&
                offset >= functions[expected].place.offset + functions[expected].size)
                expected = HP_PROFILE_NONE;
            struct hp_place place = {module, offset};
            assert_int_equal(hp_tables_function_at(&tables, place), expected);
        }
    }
    assert_int_equal(hp_tables_function_at(&tables, (struct hp_place){HP_PROFILE_NONE, 0}),
                     HP_PROFILE_NONE);
    assert_string_equal(tables.functions[2], "linkage");
    hp_tables_fini(&tables);
}

/* --- Order ------------------------------------------------------------------------------------ */

static void ties_are_broken_by_address(void **state)
{
    (void)state;
    enum { N = 200 };
    static struct hp_pfunction functions[N];
    static struct hp_pfunction_count counts[N];
    struct hp_pmodule modules[] = {{"a", ""}, {"b", ""}, {"c", ""}};
    struct hp_pthread thread = {1, 1, 1000, 1, 1};
    for (uint32_t i = 0; i < N; i++) {
        functions[i].place = (struct hp_place){i * 3 / N, i * 37}; /* as in a normal profile */
        functions[i].name = "same";
        counts[i] = (struct hp_pfunction_count){i, 0, 1 + i % 2, 5, 5};
    }
    struct hp_profile profile = {.modules = modules,
                                 .n_modules = 3,
                                 .threads = &thread,
                                 .n_threads = 1,
                                 .functions = functions,
                                 .n_functions = N,
                                 .function_counts = counts,
                                 .n_function_counts = N};
    struct hp_tables tables;
    struct hp_rows rows;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_functions, false), HP_OK);
    assert_int_equal(rows.n, N);
    for (size_t i = 1; i < rows.n; i++) {
        const struct hp_row *a = &rows.rows[i - 1], *b = &rows.rows[i];
        assert_true(a->v[0] >= b->v[0]);
        if (a->v[0] == b->v[0])
            assert_true(hp_place_compare(functions[a->item].place, functions[b->item].place) < 0);
    }
    hp_rows_fini(&rows);
    hp_tables_fini(&tables);
}

/* --- Random profiles against sums made the slow way ------------------------------------------- */

enum { N_THREADS = 3, N_BLOCKS = 60, N_LINES = 150, N_COUNTS = 120, SPACE = 80 };

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

struct random_profile {
    struct hp_profile profile;
    struct hp_pthread threads[N_THREADS];
    struct hp_pblock blocks[N_BLOCKS];
    struct hp_pline lines[N_LINES];
    struct hp_pcount counts[N_COUNTS];
};

static struct hp_pmodule two_modules[] = {{"a", ""}, {"b", ""}};
static char file_one[] = "one.c", file_too[] = "one.c"; /* equal texts at two addresses */

/* Blocks of 16 bytes with four instructions of 4; ranges of whole instructions; counters in any
 * order and several for an item and thread. */
/* By the index that a row begins with, as in a normal profile. */
static int by_item(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void make_random(struct random_profile *r)
{
    const char *files[] = {file_one, file_too, "two.c", ""};
    const char *names[] = {"", "f", "g"};
    for (size_t i = 0; i < N_THREADS; i++)
        r->threads[i] = (struct hp_pthread){1, (int32_t)i, 100, 1, 1};
    for (size_t i = 0; i < N_BLOCKS; i++)
        r->blocks[i] = (struct hp_pblock){.place = {pick(2), pick(SPACE / 4) * 4},
                                          .size = 16,
                                          .insns = 4,
                                          .function = HP_PROFILE_NONE,
                                          .version = pick(8) == 0};
    for (size_t i = 0; i < N_LINES; i++) {
        uint32_t from = pick(4), n = 1 + pick(4 - from);
        r->lines[i] = (struct hp_pline){.block = pick(N_BLOCKS),
                                        .from = from * 4,
                                        .to = (from + n) * 4,
                                        .file = files[pick(4)],
                                        .line = pick(5),
                                        .inlined = names[pick(3)],
                                        .insns = n};
    }
    qsort(r->lines, N_LINES, sizeof *r->lines, by_item);
    for (size_t i = 0; i < N_COUNTS; i++)
        r->counts[i] = (struct hp_pcount){pick(N_BLOCKS), pick(N_THREADS), 1 + pick(1000)};
    qsort(r->counts, N_COUNTS, sizeof *r->counts, by_item);
    r->profile = (struct hp_profile){.modules = two_modules,
                                     .n_modules = 2,
                                     .threads = r->threads,
                                     .n_threads = N_THREADS,
                                     .blocks = r->blocks,
                                     .n_blocks = N_BLOCKS,
                                     .lines = r->lines,
                                     .n_lines = N_LINES,
                                     .block_counts = r->counts,
                                     .n_block_counts = N_COUNTS};
}

/* How often a block ran in `thread`, or in all. */
static uint64_t block_count(const struct random_profile *r, uint32_t block, uint32_t thread)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < N_COUNTS; i++)
        if (r->counts[i].item == block &&
            (thread == HP_PROFILE_NONE || r->counts[i].thread == thread))
            sum += r->counts[i].count;
    return sum;
}

/* One line's values by an array of counters for every address. */
static void expect_line(const struct random_profile *r, const struct hp_source_line *line,
                        const struct hp_row *row)
{
    static uint64_t executed[2][2][SPACE + 16];
    memset(executed, 0, sizeof executed);
    uint64_t instructions = 0, executions = 0;
    for (size_t i = 0; i < N_LINES; i++) {
        const struct hp_pline *range = &r->lines[i];
        if (strcmp(range->file, line->file) != 0 || range->line != line->line)
            continue;
        const struct hp_pblock *block = &r->blocks[range->block];
        uint64_t count = block_count(r, range->block, row->thread);
        instructions += count * range->insns;
        for (uint32_t at = range->from; at < range->to; at++)
            executed[block->place.module][block->version][block->place.offset + at] += count;
    }
    for (size_t i = 0; i < 2 * 2 * (SPACE + 16); i++) {
        uint64_t count = (&executed[0][0][0])[i];
        executions = count > executions ? count : executions;
    }
    assert_int_equal(row->v[0], instructions);
    assert_int_equal(row->v[1], executions);
}

/* The function with the largest part, the first by name of equal ones. */
static void expect_line_function(const struct random_profile *r, const struct hp_source_line *line)
{
    const char *names[] = {"", "f", "g"};
    uint64_t most = 0;
    const char *expected = NULL;
    for (size_t k = 0; k < 3; k++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < N_LINES; i++)
            if (strcmp(r->lines[i].file, line->file) == 0 && r->lines[i].line == line->line &&
                strcmp(r->lines[i].inlined, names[k]) == 0)
                sum += block_count(r, r->lines[i].block, HP_PROFILE_NONE) * r->lines[i].insns;
        if (sum > most) {
            most = sum;
            expected = names[k];
        }
    }
    assert_string_equal(line->function, expected);
}

static void lines_equal_the_slow_sums(void **state)
{
    (void)state;
    static struct random_profile r;
    for (uint64_t round = 0; round < 50; round++) {
        seed = round;
        make_random(&r);
        struct hp_tables tables;
        struct hp_rows rows;
        assert_int_equal(hp_tables_init(&tables, &r.profile), HP_OK);
        assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_lines, true), HP_OK);
        assert_true(rows.n > 5 && rows.n <= 10);
        uint64_t total = 0, parts_total = 0;
        for (size_t i = 0; i < rows.n; i++) {
            expect_line(&r, &tables.lines[rows.rows[i].item], &rows.rows[i]);
            expect_line_function(&r, &tables.lines[rows.rows[i].item]);
            total += rows.rows[i].v[0];
            size_t n;
            const struct hp_row *parts = hp_rows_parts(&rows, rows.rows[i].item, &n);
            for (size_t k = 0; k < n; k++) {
                expect_line(&r, &tables.lines[rows.rows[i].item], &parts[k]);
                parts_total += parts[k].v[0];
            }
        }
        assert_int_equal(total, parts_total);
        hp_rows_fini(&rows);
        hp_tables_fini(&tables);
    }
}

static void equal_functions_of_a_line_go_by_name(void **state)
{
    (void)state;
    struct hp_pthread thread = {1, 1, 60, 10, 10};
    struct hp_pblock block = {.size = 12, .insns = 3, .function = HP_PROFILE_NONE};
    struct hp_pmodule module = {"a", ""};
    struct hp_pline lines[] = {{0, 0, 4, "x.c", 1, "second", "", 1},
                               {0, 4, 8, "x.c", 1, "third", "", 1},
                               {0, 8, 12, "x.c", 1, "first", "", 1}};
    struct hp_pcount count = {0, 0, 20};
    struct hp_profile profile = {.modules = &module,
                                 .n_modules = 1,
                                 .threads = &thread,
                                 .n_threads = 1,
                                 .blocks = &block,
                                 .n_blocks = 1,
                                 .lines = lines,
                                 .n_lines = 3,
                                 .block_counts = &count,
                                 .n_block_counts = 1};
    struct hp_tables tables;
    struct hp_rows rows;
    assert_int_equal(hp_tables_init(&tables, &profile), HP_OK);
    assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_lines, false), HP_OK);
    assert_int_equal(rows.n, 1);
    assert_string_equal(tables.lines[0].function, "first");
    assert_int_equal(rows.rows[0].v[0], 60);
    assert_int_equal(rows.rows[0].v[1], 20); /* three parts of one line, not three executions */
    hp_rows_fini(&rows);
    hp_tables_fini(&tables);
}

/* Counters in any order, several for one item and thread. */
static void blocks_and_modules_equal_the_slow_sums(void **state)
{
    (void)state;
    static struct random_profile r;
    seed = 42;
    make_random(&r);
    struct hp_tables tables;
    struct hp_rows rows;
    assert_int_equal(hp_tables_init(&tables, &r.profile), HP_OK);
    assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_blocks, true), HP_OK);
    assert_int_equal(rows.n, tables.summary.blocks);
    for (size_t i = 0; i < rows.n; i++) {
        size_t n;
        const struct hp_row *row = &rows.rows[i], *parts = hp_rows_parts(&rows, row->item, &n);
        assert_int_equal(row->v[1], block_count(&r, row->item, HP_PROFILE_NONE));
        assert_int_equal(row->v[0], row->v[1] * 4);
        assert_true(n >= 1 && n <= N_THREADS);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(parts[k].v[1], block_count(&r, row->item, parts[k].thread));
            assert_true(k == 0 || parts[k - 1].thread < parts[k].thread);
        }
    }
    hp_rows_fini(&rows);
    assert_int_equal(hp_rows_init(&rows, &tables, &hp_view_modules, true), HP_OK);
    for (size_t i = 0; i < rows.n; i++) {
        uint64_t expected = 0, sum = 0;
        for (uint32_t block = 0; block < N_BLOCKS; block++)
            if (r.blocks[block].place.module == rows.rows[i].item)
                expected += block_count(&r, block, HP_PROFILE_NONE);
        size_t n;
        const struct hp_row *parts = hp_rows_parts(&rows, rows.rows[i].item, &n);
        for (size_t k = 0; k < n; k++)
            sum += parts[k].v[1];
        assert_int_equal(rows.rows[i].v[1], expected);
        assert_int_equal(sum, expected);
    }
    hp_rows_fini(&rows);
    hp_tables_fini(&tables);
}

/* --- Damage ----------------------------------------------------------------------------------- */

static void expect_damage(struct hp_profile *profile, const char *what)
{
    struct hp_report_options options = {0};
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(hp_report(profile, &options, out), HP_ERR_INVALID);
    assert_non_null(strstr(hp_error_text(), what));
    fclose(out);
}

#define COPY(member)                                                                               \
    __typeof__(*profile.member) copy[sizeof fixture_##member / sizeof *fixture_##member];          \
    memcpy(copy, fixture_##member, sizeof copy);                                                   \
    struct hp_profile damaged = profile;                                                           \
    damaged.member = copy

static void damaged_references_are_refused(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    {
        COPY(functions);
        copy[1].place.module = 2;
        expect_damage(&damaged, "function 1");
    }
    {
        COPY(blocks);
        copy[2].function = 4;
        expect_damage(&damaged, "block 2");
        copy[2].function = 0;
        copy[3].place.module = 77;
        expect_damage(&damaged, "block 3");
    }
    {
        COPY(edges);
        copy[4].to.module = 2;
        expect_damage(&damaged, "edge 4");
    }
    {
        COPY(calls);
        copy[0].callee = 4;
        expect_damage(&damaged, "call 0");
    }
    {
        COPY(lines);
        copy[1].block = HP_PROFILE_NONE; /* a line without a block makes no sense */
        expect_damage(&damaged, "line 1");
    }
    {
        COPY(block_counts);
        copy[7].thread = 2;
        expect_damage(&damaged, "block counter 7");
    }
    {
        COPY(edge_counts);
        copy[0].item = 5;
        expect_damage(&damaged, "edge counter 0");
    }
    {
        COPY(function_counts);
        copy[0].item = 4;
        expect_damage(&damaged, "function counter 0");
    }
    {
        COPY(call_counts);
        copy[0].item = 3;
        expect_damage(&damaged, "call counter 0");
    }
}

static void view_names_round_trip(void **state)
{
    (void)state;
    const struct hp_view *found;
    for (size_t i = 0; hp_views[i]; i++) {
        assert_int_equal(hp_view_from_name(hp_views[i]->name, &found), HP_OK);
        assert_ptr_equal(found, hp_views[i]);
    }
    assert_int_equal(hp_view_from_name("default", &found), HP_OK);
    assert_null(found);
    assert_int_equal(hp_view_from_name("nonsense", &found), HP_ERR_INVALID);
    assert_string_equal(
        hp_error_text(),
        "no view \"nonsense\": there are summary, functions, blocks, edges, runs, "
        "calls, callers, contexts, lines, processes, threads, modules, loops, paths, predictions, "
        "hotspots, loop-models, partition, syscalls, syscall-paths, machine, traces, instructions, "
        "cpi, sampling "
        "and all");
}

static bool has_field(const struct hp_bound_fields *bound, const char *name)
{
    for (size_t k = 0; k < bound->n; k++)
        if (strcmp(bound->fields[k].field->name, name) == 0)
            return true;
    return false;
}

/* A field that names a column which is not there would be read from nowhere; a column for people
 * that names no field would never be shown. */
static void every_field_is_from_somewhere(void **state)
{
    (void)state;
    for (size_t i = 0; hp_views[i]; i++) {
        const struct hp_view *view = hp_views[i];
        struct hp_bound_fields bound;
        for (size_t k = 0; k < HP_ROW_VALUES && view->values[k]; k++)
            assert_non_null(hp_row_column(view->counter, view->values[k]));
        if (!view->fields)
            continue;
        hp_fields_bind(&bound, view, NULL);
        assert_null(view->fields[bound.n].name); /* there was room for all */
        for (size_t k = 0; k < bound.n; k++) {
            const struct hp_field *field = bound.fields[k].field;
            assert_true(field->get || field->list || field->from != HP_FROM_COLUMN ||
                        bound.fields[k].column);
            assert_true(field->help || bound.fields[k].column->help);
            assert_true(!field->per || bound.fields[k].per);
            if (field->as == HP_AS_PLACE)
                assert_true(bound.fields[k].column->to == HP_ROW_MODULE ||
                            bound.fields[k].column->to == HP_ROW_FUNCTION);
        }
        for (const struct hp_column *c = view->columns; c && c->title; c++)
            assert_true(c->put || view->fill || has_field(&bound, c->field ? c->field : c->title));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_named_without_ambiguity),
        cmocka_unit_test(functions_are_found_by_place),
        cmocka_unit_test(ties_are_broken_by_address),
        cmocka_unit_test(lines_equal_the_slow_sums),
        cmocka_unit_test(equal_functions_of_a_line_go_by_name),
        cmocka_unit_test(blocks_and_modules_equal_the_slow_sums),
        cmocka_unit_test(damaged_references_are_refused),
        cmocka_unit_test(view_names_round_trip),
        cmocka_unit_test(every_field_is_from_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
