// SPDX-License-Identifier: MIT
/*
 * The data of the page: its tables fit together whatever the profile, its numbers are those that
 * can be checked on paper; and how it is packed.
 */
#include "report_fixture.h"
#include "report_parse.h"
// clang-format off: the random profiles bring cmocka along
#include "profile_random.h"
// clang-format on

#include "hotpath/cycles.h"
#include "page/page.h"

#include <unistd.h>
#include <zlib.h>

#define TEMPLATE "<!DOCTYPE html>\n" HP_PAGE_DATA_OPEN HP_PAGE_DATA_CLOSE "\n<p>end\n"

/* --- Reading the data ------------------------------------------------------------------------- */

__attribute__((noinline)) static char *data_of(const struct hp_profile *profile,
                                               const char *source_path)
{
    struct hp_page_options options = {.source_path = source_path};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    enum hp_err err = hp_page_data(profile, &options, out);
    assert_int_equal(fclose(out), 0);
    if (err != HP_OK)
        fail_msg("hp_page_data: %s", hp_error_text());
    assert_true(json_valid(text));
    return text;
}

/* The elements of an array of numbers, of which texts count as 0; free() them. */
static int64_t *array_of(const char *text, const char *path, size_t *n)
{
    const char *at = json_find(text, path);
    size_t capacity = 16;
    int64_t *values = malloc(capacity * sizeof *values);
    if (!at || *at != '[')
        fail_msg("%s is no array", path);
    *n = 0;
    for (at = json_space(at + 1); *at != ']'; at = json_space(at + (*at == ','))) {
        if (*n == capacity)
            values = realloc(values, (capacity *= 2) * sizeof *values);
        values[(*n)++] = *at == '-' || isdigit((unsigned char)*at) ? strtoll(at, NULL, 10) : 0;
        at = json_space(json_value(at, 0));
    }
    return values;
}

static void expect_numbers(const char *text, const char *path, const int64_t *expected, size_t n)
{
    size_t got;
    int64_t *values = array_of(text, path, &got);
    if (got != n)
        fail_msg("%s has %zu elements, not %zu", path, got, n);
    for (size_t i = 0; i < n; i++)
        if (values[i] != expected[i])
            fail_msg("%s/%zu is %lld, not %lld", path, i, (long long)values[i],
                     (long long)expected[i]);
    free(values);
}

#define EXPECT(text, path, ...)                                                                    \
    expect_numbers(text, path, (const int64_t[]){__VA_ARGS__},                                     \
                   sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void expect_text(const char *text, const char *path, const char *expected)
{
    const char *at = json_find(text, path);
    if (!at || strncmp(at, expected, strlen(expected)) != 0)
        fail_msg("%s is %.60s, not %s", path, at ? at : "not there", expected);
}

static size_t rows_of(const char *text, const char *table)
{
    static const char *const first[] = {"name",   "path",   "file", "function", "from",
                                        "offset", "parent", "kind", "block",    "context"};
    char path[64];
    size_t n;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        snprintf(path, sizeof path, "%s/%s", table, first[i]);
        if (json_find(text, table) && *json_find(text, table) == '{' && json_find(text, path)) {
            free(array_of(text, path, &n));
            return n;
        }
    }
    free(array_of(text, table, &n)); /* a list */
    return n;
}

/* --- What holds of all data ------------------------------------------------------------------- */

static const struct {
    const char *table;
    const char *columns;
} tables[] = {
    {"modules", "name path build_id instructions"},
    {"files", "path"},
    {"lines", "file line instructions executions"},
    {"functions",
     "name brief tag module offset file line self inclusive calls cycles first_block n_blocks"},
    {"blocks", "function module offset size insns count flow line file first_code n_code loop"},
    {"edges", "from to count taken flow"},
    {"code", "offset text file line inlined insn"},
    {"contexts", "parent function self inclusive calls"},
    {"function_threads", "function thread self inclusive calls"},
    {"context_threads", "context thread self inclusive calls"},
    {"paths", "kind function offset module length outcomes count instructions events measured "
              "measured_instructions cycles causes first_step n_steps"},
    {"steps", "block how"},
};

/* A column of rows of another table; `least`: -1 where there may be none. */
static const struct {
    const char *column, *to;
    int least;
} references[] = {
    {"functions/module", "modules", -1},
    {"functions/file", "files", -1},
    {"blocks/function", "functions", -1},
    {"blocks/module", "modules", -1},
    {"blocks/file", "files", -1},
    {"blocks/flow", "flows", 0},
    {"blocks/loop", "loops", -1},
    {"edges/from", "blocks", 0},
    {"edges/to", "blocks", 0},
    {"edges/flow", "flows", 0},
    {"code/file", "files", -1},
    {"code/inlined", "names", -1},
    {"code/insn", "instructions", -1},
    {"contexts/parent", "contexts", -1},
    {"contexts/function", "functions", -1},
    {"function_threads/function", "functions", 0},
    {"context_threads/context", "contexts", 0},
    {"paths/kind", "kinds", 0},
    {"paths/function", "functions", -1},
    {"paths/module", "modules", -1},
    {"steps/block", "blocks", -1},
    {"steps/how", "hows", 0},
    {"lines/file", "files", 0},
};

static const struct {
    const char *first, *n, *to;
} parts[] = {{"functions/first_block", "functions/n_blocks", "blocks"},
             {"blocks/first_code", "blocks/n_code", "code"},
             {"paths/first_step", "paths/n_steps", "steps"}};

static void check_columns(const char *text)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char path[64], columns[256], *save = NULL;
        size_t expected = rows_of(text, tables[i].table), n;
        snprintf(columns, sizeof columns, "%s", tables[i].columns);
        for (char *name = strtok_r(columns, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
            snprintf(path, sizeof path, "%s/%s", tables[i].table, name);
            free(array_of(text, path, &n));
            if (n != expected)
                fail_msg("%s has %zu rows, not %zu", path, n, expected);
        }
    }
    assert_int_equal(rows_of(text, "files"), rows_of(text, "sources"));
}

static void check_references(const char *text)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        size_t n, limit = rows_of(text, references[i].to);
        int64_t *values = array_of(text, references[i].column, &n);
        for (size_t k = 0; k < n; k++)
            if (values[k] < references[i].least || values[k] >= (int64_t)limit)
                fail_msg("%s/%zu is %lld: %s has %zu", references[i].column, k,
                         (long long)values[k], references[i].to, limit);
        free(values);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n, limit = rows_of(text, parts[i].to);
        int64_t *first = array_of(text, parts[i].first, &n), *many = array_of(text, parts[i].n, &n);
        for (size_t k = 0; k < n; k++)
            assert_true(first[k] >= 0 && many[k] >= 0 && first[k] + many[k] <= (int64_t)limit);
        free(first);
        free(many);
    }
}

/* A function's blocks are together, and all that say they are its. */
static void check_functions(const char *text)
{
    size_t n, n_blocks, theirs = 0;
    int64_t *first = array_of(text, "functions/first_block", &n);
    int64_t *many = array_of(text, "functions/n_blocks", &n);
    int64_t *function = array_of(text, "blocks/function", &n_blocks);
    for (size_t i = 0; i < n; i++)
        for (int64_t k = first[i]; k < first[i] + many[i]; k++, theirs++)
            assert_int_equal(function[k], i);
    for (size_t i = 0; i < n_blocks; i++)
        theirs += function[i] < 0;
    assert_int_equal(theirs, n_blocks);
    free(first);
    free(many);
    free(function);
}

static void check_contexts(const char *text)
{
    size_t n;
    int64_t *parent = array_of(text, "contexts/parent", &n);
    for (size_t i = 0; i < n; i++)
        assert_true(parent[i] < (int64_t)i);
    free(parent);
}

static void check(const char *text)
{
    check_columns(text);
    check_references(text);
    check_functions(text);
    check_contexts(text);
}

static void tables_fit_together(void **state)
{
    (void)state;
    struct hp_profile profiles[4] = {fixture_profile(), fixture_profile(),
                                     fixture_counted_profile()};
    fixture_add_paths(&profiles[1]);
    fixture_add_loops(&profiles[1]);
    fixture_add_insns(&profiles[1]);
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) { /* the last one is empty */
        char *text = data_of(&profiles[i], NULL);
        check(text);
        free(text);
    }
}

static void tables_fit_together_by_chance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct hp_profile *profile = random_profile(seed, seed % 20 ? 3 + seed % 17 : 60);
        assert_int_equal(hp_profile_normalize(profile), HP_OK);
        char *text = data_of(profile, NULL);
        check(text);
        free(text);
        hp_profile_free(profile);
    }
}

/* What threads have of an item is what it has: `table` has rows by thread of those in `of`. */
static void check_shares(const char *text, const char *table, const char *item, const char *of)
{
    static const char *const columns[] = {"self", "inclusive", "calls"};
    char path[64];
    size_t n, n_parts;
    snprintf(path, sizeof path, "%s/%s", table, item);
    int64_t *items = array_of(text, path, &n_parts);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        snprintf(path, sizeof path, "%s/%s", of, columns[k]);
        int64_t *wholes = array_of(text, path, &n);
        snprintf(path, sizeof path, "%s/%s", table, columns[k]);
        int64_t *values = array_of(text, path, &n_parts);
        int64_t *sums = calloc(n + 1, sizeof *sums);
        for (size_t i = 0; i < n_parts; i++)
            sums[items[i]] += values[i];
        for (size_t i = 0; i < n; i++)
            if (sums[i] != wholes[i] && wholes[i] != -1)
                fail_msg("%s of %s/%zu is %lld, not %lld", columns[k], of, i, (long long)sums[i],
                         (long long)wholes[i]);
        free(sums);
        free(values);
        free(wholes);
    }
    free(items);
}

static void threads_have_all_there_is(void **state)
{
    (void)state;
    size_t checked = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct hp_profile *profile = random_profile(seed, 3 + seed % 17);
        assert_int_equal(hp_profile_normalize(profile), HP_OK);
        char *text = data_of(profile, NULL);
        if (profile->n_threads > 1) {
            check_shares(text, "function_threads", "function", "functions");
            check_shares(text, "context_threads", "context", "contexts");
            checked += rows_of(text, "context_threads") > 0;
        } else {
            assert_int_equal(rows_of(text, "function_threads"), 0);
        }
        free(text);
        hp_profile_free(profile);
    }
    assert_true(checked > 10);
}

/* --- Two profiles ----------------------------------------------------------------------------- */

static char *diff_of(const struct hp_profile *old, const struct hp_profile *new)
{
    struct hp_page_diff diff = {.old = old, .new = new, .old_name = "old", .new_name = "new"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    enum hp_err err = hp_page_diff_data(&diff, out);
    assert_int_equal(fclose(out), 0);
    if (err != HP_OK)
        fail_msg("hp_page_diff_data: %s", hp_error_text());
    assert_true(json_valid(text));
    return text;
}

static int64_t sum_of(const char *text, const char *path)
{
    size_t n;
    int64_t *values = array_of(text, path, &n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    free(values);
    return sum;
}

static int64_t in_contexts(const struct hp_profile *profile)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->n_context_counts; i++)
        sum += profile->context_counts[i].self;
    return (int64_t)sum;
}

/* Contexts are trees of functions of the diff; an inclusive count is that of what is below. */
static void check_merged(const char *text, const char *side)
{
    char path[64];
    size_t n, n_functions = rows_of(text, "diff/functions");
    int64_t *parent = array_of(text, "contexts/parent", &n);
    int64_t *function = array_of(text, "contexts/function", &n);
    snprintf(path, sizeof path, "contexts/%s_self", side);
    int64_t *below = array_of(text, path, &n);
    snprintf(path, sizeof path, "contexts/%s_inclusive", side);
    int64_t *inclusive = array_of(text, path, &n);
    for (size_t i = n; i-- > 0;) {
        assert_true(parent[i] < (int64_t)i && function[i] < (int64_t)n_functions);
        assert_int_equal(inclusive[i], below[i]);
        if (parent[i] >= 0)
            below[parent[i]] += below[i];
        for (size_t k = 0; k < i; k++)
            assert_true(parent[k] != parent[i] || function[k] != function[i]);
    }
    free(parent);
    free(function);
    free(below);
    free(inclusive);
}

static void contexts_of_both_are_one_tree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct hp_profile *old = random_profile(seed, 3 + seed % 9);
        struct hp_profile *new = random_profile(seed / 2 + 1, 4 + seed % 7);
        assert_int_equal(hp_profile_normalize(old), HP_OK);
        assert_int_equal(hp_profile_normalize(new), HP_OK);
        char *text = diff_of(old, new);
        check_merged(text, "old");
        check_merged(text, "new");
        assert_int_equal(sum_of(text, "contexts/old_self"), in_contexts(old));
        assert_int_equal(sum_of(text, "contexts/new_self"), in_contexts(new));
        assert_int_equal(rows_of(text, "briefs"), rows_of(text, "diff/functions"));
        assert_int_equal(rows_of(text, "line_texts"), rows_of(text, "diff/lines"));
        free(text);
        hp_profile_free(old);
        hp_profile_free(new);
    }
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static void functions_and_blocks_are_those_of_the_report(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = data_of(&profile, NULL);
    expect_text(text, "title", "\"./demo 'two words' 'it'\\\\''s'\"");
    expect_text(text, "run/command_text", "\"./demo 'two words' 'it'\\\\''s'\"");
    expect_text(text, "summary/cycles", "null");
    expect_text(text, "summary/has_contexts", "false");
    expect_text(text, "functions/name", "[\"work\",\"helper\",\"demo+0x2000\",\"never_called\"]");
    EXPECT(text, "functions/self", 660, 300, 40, 0);
    EXPECT(text, "functions/inclusive", 1000, 300, 40, 0);
    EXPECT(text, "functions/calls", 10, 100, 5, 0);
    EXPECT(text, "functions/first_block", 0, 3, 4, 0);
    EXPECT(text, "functions/n_blocks", 3, 1, 1, 0);
    EXPECT(text, "functions/file", 0, -1, -1, -1);
    expect_text(text, "blocks/offset", "[\"1000\",\"1010\",\"1016\",\"500\",\"2000\"]");
    EXPECT(text, "blocks/count", 10, 100, 5, 100, 5);
    EXPECT(text, "blocks/line", 11, 12, 13, 0, 0);
    EXPECT(text, "modules/instructions", 700, 300);
    EXPECT(text, "lines/line", 13, 12, 11);
    EXPECT(text, "lines/instructions", 420, 200, 40);
    EXPECT(text, "lines/executions", 105, 100, 10);
    expect_text(text, "notes/1/count", "1234");
    free(text);
}

static void inclusive_may_not_be_known(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_counted_profile();
    char *text = data_of(&profile, NULL);
    EXPECT(text, "functions/self", 660, 300, 40, 0);
    EXPECT(text, "functions/inclusive", -1, -1, -1, -1);
    free(text);
}

/* Block 2 is the end of block 1: it has the edges of their branch, and block 1 goes on as it. */
static void edges_leave_the_last_block_to_begin(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *text = data_of(&profile, NULL);
    EXPECT(text, "edges/from", 0, 1, 2);
    EXPECT(text, "edges/to", 1, 2, 1);
    EXPECT(text, "edges/count", 10, 100, 95);
    EXPECT(text, "edges/taken", 1, 0, 1);
    EXPECT(text, "edges/flow", HP_FLOW_JUMP, HP_FLOW_COUNT_, HP_FLOW_COND);
    expect_text(text, "flows/9", "\"overlap\"");
    free(text);
}

static void paths_have_their_steps(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    fixture_add_paths(&profile);
    struct hp_ppath_time time = {2, 90, 540};
    struct hp_ppath_cycles cycles[] = {{2, HP_CAUSE_RETIRE, 225 * HP_CYCLE_PARTS},
                                       {2, HP_CAUSE_MEMORY, 675 * HP_CYCLE_PARTS}};
    profile.path_times = &time;
    profile.n_path_times = 1;
    profile.path_cycles = cycles;
    profile.n_path_cycles = 2;
    char *text = data_of(&profile, NULL);
    expect_text(text, "kinds/0/kind", "\"bl\"");
    expect_text(text, "kinds/1/metric", "\"l1d\"");
    expect_text(text, "kinds/0/instructions", "830");
    EXPECT(text, "paths/kind", 0, 0, 0, 1, 1);
    EXPECT(text, "paths/instructions", 540, 250, 40, 34, 300);
    EXPECT(text, "paths/events", 90, 10, 5, 9, 3);
    EXPECT(text, "paths/function", 0, 0, 0, -1, 1);
    expect_text(text, "paths/outcomes", "[\"1\",\"10\",\"0\",\"11\",\"1\"]");
    EXPECT(text, "paths/n_steps", 1, 5, 2, 2, 0);
    EXPECT(text, "paths/first_step", 0, 1, 6, 8, 0);
    EXPECT(text, "paths/measured", 90, 0, 0, 0, 0);
    EXPECT(text, "paths/measured_instructions", 540, 0, 0, 0, 0);
    EXPECT(text, "paths/cycles", 900, 0, 0, 0, 0);
    expect_text(text, "paths/causes/0", "\"memory 75.0%, retire 25.0%\"");
    EXPECT(text, "steps/block", 1, 0, 1, 2, 4, 3, 0, 2, 3, 4);
    EXPECT(text, "steps/how", 1, 1, 0, 1, 1, 4, 2, 5, 3, 2);
    free(text);
}

static void regions_refer_to_rows(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    fixture_add_loops(&profile);
    char *text = data_of(&profile, NULL);
    expect_text(text, "loops/0/id", "0");
    expect_text(text, "loops/1/id", "1");
    expect_text(text, "loops/1/parent", "0");
    expect_text(text, "loops/1/function", "0");
    expect_text(text, "loops/1/file", "0");
    expect_text(text, "loops/2/file", "-1");
    EXPECT(text, "loops/1/blocks", 1, 2);
    assert_null(json_find(text, "loops/0/models"));
    EXPECT(text, "blocks/loop", 0, 1, 1, 2, 3);
    expect_text(text, "hotspots/0/total", "620");
    EXPECT(text, "hotspots/0/blocks", 1, 2, 3);
    EXPECT(text, "hotspots/0/functions", 0, 1);
    expect_text(text, "loop_models/0/model", "\"daprof\"");
    free(text);
}

static void instructions_refer_to_rows(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    fixture_add_insns(&profile);
    char *text = data_of(&profile, NULL);
    expect_text(text, "summary/cycles", "1000");
    EXPECT(text, "functions/cycles", 800, 200, 0, 0);
    expect_text(text, "instructions/0/address", "\"demo+0x1010\"");
    expect_text(text, "instructions/0/function", "0");
    expect_text(text, "instructions/0/file", "0");
    expect_text(text, "instructions/0/block", "1");
    expect_text(text, "instructions/2/address", "\"libx.so+0x500\"");
    expect_text(text, "instructions/2/block", "3");
    expect_text(text, "cpi/run/0/cycles", "1000.000000");
    expect_text(text, "cpi/function/0/name", "\"work\"");
    expect_text(text, "cpi/line/0/name", "\"demo.c:12\"");
    assert_int_equal(json_length(text, "cpi/run"), 1);
    free(text);
}

static void contexts_include_what_is_above_them(void **state)
{
    (void)state;
    struct hp_pcontext contexts[] = {{HP_PROFILE_NONE, 0}, {0, 1}, {0, 2}, {2, HP_PROFILE_NONE}};
    struct hp_pcontext_count counts[] = {
        {0, 0, 100, 1}, {0, 1, 10, 1}, {1, 0, 40, 5}, {2, 1, 7, 2}, {3, 0, 3, 1}};
    struct hp_profile profile = fixture_profile();
    profile.contexts = contexts;
    profile.n_contexts = 4;
    profile.context_counts = counts;
    profile.n_context_counts = 5;
    char *text = data_of(&profile, NULL);
    check(text);
    expect_text(text, "summary/has_contexts", "true");
    EXPECT(text, "contexts/parent", -1, 0, 0, 2);
    EXPECT(text, "contexts/function", 0, 2, 1, -1);
    EXPECT(text, "contexts/self", 110, 40, 7, 3);
    EXPECT(text, "contexts/inclusive", 160, 40, 10, 3);
    EXPECT(text, "contexts/calls", 2, 5, 2, 1);
    free(text);
}

/* A root, and below it three times as many as there is room for, each the child of a heavier one.
 */
static void light_contexts_are_left_out(void **state)
{
    (void)state;
    enum { N = 3 * HP_PAGE_CONTEXTS };
    struct hp_pcontext *contexts = calloc(N, sizeof *contexts);
    struct hp_pcontext_count *counts = calloc(N, sizeof *counts);
    for (uint32_t i = 0; i < N; i++) {
        contexts[i] = (struct hp_pcontext){i ? (i - 1) / 1000 : HP_PROFILE_NONE, i % 3};
        counts[i] = (struct hp_pcontext_count){i, 0, N - i, 1};
    }
    struct hp_profile profile = fixture_profile();
    profile.contexts = contexts;
    profile.context_counts = counts;
    profile.n_contexts = profile.n_context_counts = N;
    char *text = data_of(&profile, NULL);
    size_t n;
    int64_t *inclusive = array_of(text, "contexts/inclusive", &n);
    assert_int_equal(n, HP_PAGE_CONTEXTS);
    assert_int_equal(inclusive[0], (int64_t)N * (N + 1) / 2);
    expect_text(text, "limits/0", "\"200,000 calling contexts");
    check_references(text);
    check_contexts(text);
    free(inclusive);
    free(text);
    free(contexts);
    free(counts);
}

/* --- Sources ---------------------------------------------------------------------------------- */

static void sources_are_shown_around_executed_lines(void **state)
{
    (void)state;
    char directory[] = "/tmp/hotpath-page.XXXXXX", path[64];
    struct hp_pline lines[] = {fixture_lines[0], fixture_lines[1], fixture_lines[1]};
    struct hp_profile profile = fixture_profile();
    lines[2].line = 60;
    lines[2].from = 6;
    profile.lines = lines;
    profile.n_lines = 3;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/demo.c", directory);
    FILE *file = fopen(path, "w");
    for (int i = 1; i <= 100; i++)
        fprintf(file, i == 12 ? "twelve \xff</script>\n" : "line %d\n", i);
    fclose(file);
    char *text = data_of(&profile, directory);
    expect_text(text, "sources/0/first", "1");
    expect_text(text, "sources/0/lines/0", "\"line 1\"");
    expect_text(text, "sources/0/lines/11", "\"twelve \xef\xbf\xbd</script>\"");
    expect_text(text, "sources/0/lines/21", "\"line 22\"");
    expect_text(text, "sources/0/lines/22", "null");
    expect_text(text, "sources/0/lines/48", "null");
    expect_text(text, "sources/0/lines/49", "\"line 50\"");
    expect_text(text, "sources/0/lines/69", "\"line 70\"");
    assert_int_equal(json_length(text, "sources/0/lines"), 70);
    free(text);
    assert_int_equal(truncate(path, 20), 0); /* it ends before the lines: another one */
    text = data_of(&profile, directory);
    expect_text(text, "sources/0", "null");
    free(text);
    unlink(path);
    rmdir(directory);
}

/* --- Packing ---------------------------------------------------------------------------------- */

static size_t decode(const char *text, size_t n, unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    assert_int_equal(n % 4, 0);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            const char *digit = text[i + k] == '=' ? digits : strchr(digits, text[i + k]);
            assert_non_null(digit);
            group = group << 6 | (uint32_t)(digit - digits);
        }
        bytes[length++] = (unsigned char)(group >> 16);
        bytes[length++] = (unsigned char)(group >> 8);
        bytes[length++] = (unsigned char)group;
    }
    for (; n && text[n - 1] == '='; n--)
        length--;
    return length;
}

/* What is in base64 and gzip. free() it. */
static char *unpack(const char *text, size_t n, size_t most, size_t *size)
{
    unsigned char *bytes = malloc(n + 4);
    char *out = malloc(most + 1);
    z_stream zip = {0};
    zip.next_in = bytes;
    zip.avail_in = (unsigned)decode(text, n, bytes);
    zip.next_out = (unsigned char *)out;
    zip.avail_out = (unsigned)most;
    assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
    assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
    assert_int_equal(zip.avail_in, 0);
    *size = most - zip.avail_out;
    out[*size] = 0;
    inflateEnd(&zip);
    free(bytes);
    return out;
}

static void packed_is_what_was_written(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 100, 49151, 49152, 49153, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = NULL, *bytes = malloc(sizes[i] + 1);
        size_t length = 0, size;
        uint64_t seed = i + 1;
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (char)random_next(&seed); /* does not get smaller */
        FILE *out = open_memstream(&text, &length);
        FILE *pack;
        assert_int_equal(hp_pack_open(out, &pack), HP_OK);
        assert_int_equal(fwrite(bytes, 1, sizes[i], pack), sizes[i]);
        assert_int_equal(hp_pack_close(pack), HP_OK);
        fclose(out);
        char *again = unpack(text, length, sizes[i] + 1, &size);
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(again, bytes, size);
        free(again);
        free(text);
        free(bytes);
    }
}

/* --- The page --------------------------------------------------------------------------------- */

__attribute__((noinline)) static enum hp_err page_of(const struct hp_profile *profile,
                                                     const char *template, char **text)
{
    struct hp_page_options options = {0};
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    enum hp_err err = hp_page_write(profile, &options, template, out);
    fclose(out);
    return err;
}

static void the_page_is_the_template_with_the_data(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char *page, *data = data_of(&profile, NULL);
    size_t size;
    assert_int_equal(page_of(&profile, TEMPLATE, &page), HP_OK);
    const char *from = strstr(page, HP_PAGE_DATA_OPEN) + strlen(HP_PAGE_DATA_OPEN);
    const char *to = strstr(from, HP_PAGE_DATA_CLOSE);
    assert_memory_equal(page, TEMPLATE, (size_t)(from - page));
    assert_string_equal(to, strstr(TEMPLATE, HP_PAGE_DATA_CLOSE));
    char *again = unpack(from, (size_t)(to - from), strlen(data) + 1, &size);
    assert_string_equal(again, data);
    free(again);
    free(data);
    free(page);
}

static void a_template_has_one_place_for_data(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "<html>", TEMPLATE TEMPLATE,
                                        "x" HP_PAGE_DATA_OPEN HP_PAGE_DATA_CLOSE "\n",
                                        "\n" HP_PAGE_DATA_OPEN "x" HP_PAGE_DATA_CLOSE "\n"};
    struct hp_profile profile = fixture_profile();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *page = NULL;
        assert_int_equal(page_of(&profile, wrong[i], &page), HP_ERR_FORMAT);
        free(page);
    }
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_page_options options = {0};
    FILE *full = fopen("/dev/full", "w");
    assert_int_equal(hp_page_write(&profile, &options, TEMPLATE, full), HP_ERR_IO);
    fclose(full);
    full = fopen("/dev/full", "w");
    assert_int_equal(hp_page_data(&profile, &options, full), HP_ERR_IO);
    fclose(full);
}

static void references_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct hp_pblock blocks[sizeof fixture_blocks / sizeof *fixture_blocks];
    struct hp_profile profile = fixture_profile();
    struct hp_page_options options = {0};
    memcpy(blocks, fixture_blocks, sizeof blocks);
    blocks[1].function = 99;
    profile.blocks = blocks;
    assert_int_equal(hp_page_data(&profile, &options, stderr), HP_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_fit_together),
        cmocka_unit_test(tables_fit_together_by_chance),
        cmocka_unit_test(threads_have_all_there_is),
        cmocka_unit_test(contexts_of_both_are_one_tree),
        cmocka_unit_test(functions_and_blocks_are_those_of_the_report),
        cmocka_unit_test(inclusive_may_not_be_known),
        cmocka_unit_test(edges_leave_the_last_block_to_begin),
        cmocka_unit_test(paths_have_their_steps),
        cmocka_unit_test(regions_refer_to_rows),
        cmocka_unit_test(instructions_refer_to_rows),
        cmocka_unit_test(contexts_include_what_is_above_them),
        cmocka_unit_test(light_contexts_are_left_out),
        cmocka_unit_test(sources_are_shown_around_executed_lines),
        cmocka_unit_test(packed_is_what_was_written),
        cmocka_unit_test(the_page_is_the_template_with_the_data),
        cmocka_unit_test(a_template_has_one_place_for_data),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(references_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
