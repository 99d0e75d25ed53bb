// SPDX-License-Identifier: MIT
/* Calling contexts and the paths of tables in the profile: joined, merged, saved, refused. */
#include "profile_random.h"

#include "profile/profile_impl.h"

#include <sqlite3.h>
#include <unistd.h>

static char file[64];

static int make_file(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "/tmp/hotpath-contexts-XXXXXX");
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static bool edit(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    bool good = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return good;
}

/* A profile with threads and functions only; function i is at i, named by a letter. */
static struct hp_profile *new_profile(uint32_t functions, uint32_t threads)
{
    struct hp_profile *p;
    struct hp_pfunction *function;
    struct hp_pthread *thread;
    struct hp_pmodule *module;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    p->run.arch = HP_ARCH_X86_64;
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    module->path = hp_profile_string(p, "/bin/prog");
    for (uint32_t i = 0; i < functions; i++) {
        char name[] = {(char)('a' + i), 0};
        assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
        function->place = (struct hp_place){0, i};
        function->name = hp_profile_string(p, name);
    }
    for (uint32_t i = 0; i < threads; i++)
        assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    return p;
}

static uint32_t add(struct hp_profile *p, uint32_t parent, uint32_t function, uint32_t thread,
                    uint64_t self)
{
    struct hp_pcontext *context;
    struct hp_pcontext_count *count;
    assert_int_equal(hp_profile_add_context(p, &context), HP_OK);
    *context = (struct hp_pcontext){parent, function};
    assert_int_equal(hp_profile_add_context_count(p, &count), HP_OK);
    *count =
        (struct hp_pcontext_count){(uint32_t)p->n_contexts - 1, thread, .self = self, .calls = 1};
    return (uint32_t)p->n_contexts - 1;
}

/* Every context of the profile with its counters, as "a;b;c thread self calls\n", in the profile's
 * order. */
static char *text_of(const struct hp_profile *p)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *c = &p->context_counts[i];
        const char *names[HP_CONTEXT_DEPTH];
        size_t n = 0;
        for (uint32_t at = c->item; at != HP_PROFILE_NONE; at = p->contexts[at].parent)
            names[n++] = p->contexts[at].function == HP_PROFILE_NONE
                             ? "?"
                             : p->functions[p->contexts[at].function].name;
        while (n--)
            fprintf(out, "%s%s", names[n], n ? ";" : " ");
        fprintf(out, "%u %llu %llu\n", c->thread, (unsigned long long)c->self,
                (unsigned long long)c->calls);
    }
    fclose(out);
    return text;
}

static void assert_text(const struct hp_profile *p, const char *expected)
{
    char *text = text_of(p);
    assert_string_equal(text, expected);
    free(text);
}

/* --- The normal form -------------------------------------------------------------------------- */

static void contexts_join_by_their_place_in_the_tree(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(4, 2);
    /* a -> b -> c; a again, of another thread, with its own b and c; c below both a and b */
    uint32_t a = add(p, HP_PROFILE_NONE, 0, 0, 1);
    uint32_t b = add(p, a, 1, 0, 2);
    add(p, b, 2, 0, 4);
    add(p, a, 2, 0, 8);
    uint32_t other = add(p, HP_PROFILE_NONE, 0, 1, 16);
    uint32_t same = add(p, other, 1, 0, 32);
    add(p, same, 2, 1, 64);
    add(p, HP_PROFILE_NONE, HP_PROFILE_NONE, 1, 128);
    add(p, same, HP_PROFILE_NONE, 1, 256);
    assert_int_equal(hp_profile_check_normal(p), HP_ERR_INVALID);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_contexts, 6);
    assert_text(p, "a 0 1 1\na 1 16 1\n? 1 128 1\na;b 0 34 2\na;c 0 8 1\n"
                   "a;b;c 0 4 1\na;b;c 1 64 1\na;b;? 1 256 1\n");
    for (uint32_t i = 0; i < p->n_contexts; i++)
        assert_true(p->contexts[i].parent == HP_PROFILE_NONE || p->contexts[i].parent < i);
    hp_profile_free(p);
}

/* A child before its parent, and a parent that is joined with one that comes later. */
static void parents_may_come_later(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(3, 1);
    add(p, 1, 2, 0, 1);
    add(p, 3, 1, 0, 2);
    add(p, HP_PROFILE_NONE, 0, 0, 4);
    add(p, HP_PROFILE_NONE, 0, 0, 8);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_text(p, "a 0 12 2\na;b 0 2 1\na;b;c 0 1 1\n");
    hp_profile_free(p);
}

/* Functions that are joined make contexts equal. */
static void contexts_follow_their_functions(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(3, 1);
    p->functions[2].place.offset = p->functions[0].place.offset;
    p->functions[2].name = p->functions[0].name;
    uint32_t a = add(p, HP_PROFILE_NONE, 0, 0, 1), c = add(p, HP_PROFILE_NONE, 2, 0, 2);
    add(p, a, 1, 0, 4);
    add(p, c, 1, 0, 8);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_text(p, "a 0 3 2\na;b 0 12 2\n");
    hp_profile_free(p);
}

/* What each stack has in all, by its text: found one by one, and added up. */
static uint64_t self_at(const char *text, const char *line, size_t length)
{
    uint64_t sum = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, line, length) == 0)
            sum += strtoull(at + length, NULL, 10);
    return sum;
}

static void normalizing_keeps_what_each_stack_has(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++) {
        uint64_t random = seed;
        struct hp_profile *p = new_profile(3, 2);
        for (uint32_t i = 0; i < 4 * seed; i++)
            add(p, random_index(&random, i), random_index(&random, 3), random_below(&random, 2),
                1 + random_below(&random, 100));
        char *before = text_of(p);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        assert_int_equal(hp_profile_check_normal(p), HP_OK);
        char *after = text_of(p);
        for (const char *line = after; *line; line = strchr(line, '\n') + 1) {
            /* "a;b thread " */
            size_t length = (size_t)(strchr(strchr(line, ' ') + 1, ' ') - line) + 1;
            assert_int_equal(self_at(after, line, length), strtoull(line + length, NULL, 10));
            assert_int_equal(self_at(before, line, length), self_at(after, line, length));
        }
        free(before);
        free(after);
        hp_profile_free(p);
    }
}

static void table_paths_add_up(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(1, 1);
    struct hp_ppath *path;
    struct hp_ptable_path *row;
    static const struct {
        const char *table;
        uint32_t path;
        uint64_t events;
    } rows[] = {{"bl 2x1", 1, 5},
                {"bl 1x1", 2, 7},
                {"bl 1x1", 0, 1},
                {"bl 1x1", 1, UINT64_MAX},
                {"bl 1x1", 2, 0}};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(hp_profile_add_path(p, &path), HP_OK);
        *path = (struct hp_ppath){.kind = hp_profile_string(p, "bl"), .start = {0, i ? 10 : 20}};
    }
    p->paths[2].start.offset = 20; /* as the first, which so is joined with it */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(hp_profile_add_table_path(p, &row), HP_OK);
        *row = (struct hp_ptable_path){hp_profile_string(p, rows[i].table), rows[i].path,
                                       rows[i].events};
    }
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_paths, 2);
    assert_int_equal(p->n_table_paths, 3);
    assert_string_equal(p->table_paths[0].table, "bl 1x1");
    assert_int_equal(p->table_paths[0].path, 0);
    assert_true(p->table_paths[0].events == UINT64_MAX);
    assert_int_equal(p->table_paths[1].path, 1);
    assert_int_equal(p->table_paths[1].events, 8);
    assert_string_equal(p->table_paths[2].table, "bl 2x1");
    assert_int_equal(p->table_paths[2].events, 5);
    hp_profile_free(p);
}

/* --- Merging ---------------------------------------------------------------------------------- */

static void merged_trees_are_one(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(3, 1), *q = new_profile(3, 1);
    uint32_t a = add(p, HP_PROFILE_NONE, 0, 0, 1);
    add(p, a, 1, 0, 2);
    uint32_t c = add(q, HP_PROFILE_NONE, 2, 0, 4);
    add(q, c, 0, 0, 8);
    uint32_t b = add(q, add(q, HP_PROFILE_NONE, 0, 0, 16), 1, 0, 32);
    add(q, b, 1, 0, 64);
    assert_int_equal(hp_profile_merge(p, q), HP_OK);
    hp_profile_free(q);
    assert_text(p, "a 0 1 1\na 1 16 1\nc 1 4 1\na;b 0 2 1\na;b 1 32 1\nc;a 1 8 1\na;b;b 1 64 1\n");
    hp_profile_free(p);
}

/* --- What cannot be --------------------------------------------------------------------------- */

static uint32_t chain(struct hp_profile *p, uint32_t length)
{
    uint32_t at = HP_PROFILE_NONE;
    for (uint32_t i = 0; i < length; i++)
        at = add(p, at, 0, 0, 1);
    return at;
}

static void trees_have_an_end(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(2, 1);
    chain(p, HP_CONTEXT_DEPTH);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(p->n_contexts, HP_CONTEXT_DEPTH);
    chain(p, HP_CONTEXT_DEPTH + 1);
    assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
    hp_profile_free(p);
    /* Far deeper than a stack, and turned around. */
    p = new_profile(2, 1);
    chain(p, 300000);
    assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
    for (uint32_t i = 0; i < p->n_contexts; i++)
        p->contexts[i].parent = i + 1 < p->n_contexts ? i + 1 : HP_PROFILE_NONE;
    assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
    /* A circle. */
    p->contexts[p->n_contexts - 1].parent = 0;
    assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
    p->n_contexts = p->n_context_counts = 1;
    p->contexts[0].parent = 0;
    assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
    p->contexts[0].parent = HP_PROFILE_NONE;
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    hp_profile_free(p);
}

static void bad_references_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct hp_profile *p = random_profile(3, 40);
        switch (i) {
        case 0: p->contexts[3].parent = (uint32_t)p->n_contexts; break;
        case 1: p->contexts[3].function = (uint32_t)p->n_functions; break;
        case 2: p->context_counts[3].item = HP_PROFILE_NONE; break;
        case 3: p->context_counts[3].thread = 3; break;
        case 4: p->table_paths[3].path = (uint32_t)p->n_paths; break;
        case 5: p->table_paths[3].path = HP_PROFILE_NONE; break;
        }
        assert_int_equal(hp_profile_normalize(p), HP_ERR_INVALID);
        hp_profile_free(p);
    }
}

/* --- The file --------------------------------------------------------------------------------- */

static void files_before_contexts_are_sound(void **state)
{
    (void)state;
    struct hp_profile *p = random_profile(5, 60), *q;
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DROP VIEW hot_contexts; DROP TABLE context; DROP TABLE context_count; DROP "
                     "TABLE context_rest;"
                     "DROP TABLE table_path; DROP TABLE syscall"));
    assert_int_equal(hp_profile_load(file, &q), HP_ERR_FORMAT);
    assert_true(edit("DELETE FROM contents WHERE name LIKE 'context%' OR name IN "
                     "('table_path', 'syscall')"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    p->n_contexts = p->n_context_counts = p->n_context_rests = p->n_table_paths = p->n_syscalls = 0;
    assert_true(same_profiles(p, q));
    hp_profile_free(p);
    hp_profile_free(q);
}

static void contexts_come_back(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(4, 2), *q;
    uint32_t at = add(p, HP_PROFILE_NONE, 3, 0, INT64_MAX);
    for (uint32_t i = 1; i < HP_CONTEXT_DEPTH; i++)
        at = add(p, at, i % 5 == 4 ? HP_PROFILE_NONE : i % 4, i % 2, i);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_int_equal(hp_profile_load(file, &q), HP_OK);
    assert_true(same_profiles(p, q));
    assert_int_equal(q->n_contexts, HP_CONTEXT_DEPTH);
    hp_profile_free(p);
    hp_profile_free(q);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE context SET parent = 2 WHERE id = 1",
        "UPDATE context SET parent = id",
        "UPDATE context SET parent = 1000000",
        "UPDATE context SET parent = -1",
        "UPDATE context SET function = 4",
        "UPDATE context SET function = 'a'",
        "INSERT INTO context VALUES(5, 0, 0)",
        /* a chain without end, as far as the C stack would be concerned */
        ("WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
         "INSERT INTO context SELECT i, i - 1, 0 FROM n"),
        "UPDATE context_count SET context = 4 WHERE context = 2",
        "UPDATE context_count SET thread = 9 WHERE context = 2",
        "UPDATE context_count SET self = -1",
        "UPDATE context_count SET calls = 0.5",
        "INSERT INTO table_path VALUES(0, 0, 0)",
    };
    struct hp_profile *p = new_profile(4, 1), *q;
    chain(p, 3);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        assert_int_equal(hp_profile_save(p, file), HP_OK);
        assert_true(edit("DELETE FROM contents"));
        if (!edit(edits[i]))
            fail_msg("SQLite refuses: %s", edits[i]);
        if (hp_profile_load(file, &q) != HP_ERR_FORMAT)
            fail_msg("accepted: %s", edits[i]);
    }
    hp_profile_free(p);
}

/* Rows in another order, with parents behind their children, are put in order again. */
static void files_may_have_any_order(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile(3, 1), *q;
    uint32_t a = add(p, HP_PROFILE_NONE, 0, 0, 1);
    add(p, add(p, a, 1, 0, 2), 2, 0, 4);
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_profile_save(p, file), HP_OK);
    assert_true(edit("DELETE FROM contents; UPDATE context SET parent = 2 - parent;"
                     "UPDATE context SET id = id - 3; UPDATE context SET id = -1 - id;"
                     "UPDATE context_count SET context = 10 - context;"
                     "UPDATE context_count SET context = context - 8"));
    if (hp_profile_load(file, &q) != HP_OK)
        fail_msg("%s", hp_error_text());
    assert_text(q, "a 0 1 1\na;b 0 2 1\na;b;c 0 4 1\n");
    hp_profile_free(p);
    hp_profile_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_join_by_their_place_in_the_tree),
        cmocka_unit_test(parents_may_come_later),
        cmocka_unit_test(contexts_follow_their_functions),
        cmocka_unit_test(normalizing_keeps_what_each_stack_has),
        cmocka_unit_test(table_paths_add_up),
        cmocka_unit_test(merged_trees_are_one),
        cmocka_unit_test(trees_have_an_end),
        cmocka_unit_test(bad_references_are_refused),
        cmocka_unit_test(files_before_contexts_are_sound),
        cmocka_unit_test(contexts_come_back),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(files_may_have_any_order),
    };
    return cmocka_run_group_tests_name("contexts in profiles", tests, make_file, remove_file);
}
