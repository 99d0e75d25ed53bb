// SPDX-License-Identifier: MIT
/* Two versions of a made-up program, the names of things, baselines, and the gate. */
#include "profile_random.h"

#include "diff/baseline.h"
#include "diff/gate.h"
#include "text/strbuf.h"

#include <stdlib.h>
#include <unistd.h>

/* --- Names ------------------------------------------------------------------------------------ */

static void names_without_what_compilers_append(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"foo", "foo"},
        {"foo.constprop.0", "foo"},
        {"foo.part.12.constprop.3", "foo"},
        {"foo.isra.0.cold", "foo"},
        {"foo.llvm.1234567890", "foo"},
        {"foo.lto_priv.0", "foo"},
        {"foo.cold.1", "foo"},
        {"foo.0", "foo.0"},     /* a function in a function: a number alone is its name */
        {"foo.bar", "foo.bar"}, /* nothing that compilers append */
        {"foo.bar.part.0", "foo.bar"},
        {".cold", ".cold"}, /* nothing would be left */
        {"", ""},
        {"a.", "a."},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5writeE"},
        {"_ZN4core3fmt5write17h0123456789abcdegE", "_ZN4core3fmt5write17h0123456789abcdegE"},
        {"_ZN4core3fmt5write17h0123456789abcdefE.llvm.77", "_ZN4core3fmt5writeE"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *key = hp_symbol_key(pairs[i][0]);
        assert_string_equal(key, pairs[i][1]);
        free(key);
    }
    static const char *const modules[][2] = {{"/usr/lib/libz.so.1.2.13", "libz.so"},
                                             {"/bin/gzip", "gzip"},
                                             {"libfoo.so", "libfoo.so"},
                                             {"", ""}};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char *key = hp_module_key(modules[i][0]);
        assert_string_equal(key, modules[i][1]);
        free(key);
    }
    char *loose = hp_lambda_key("main::{lambda(int)#12}::operator()(int) const");
    assert_string_equal(loose, "main::{lambda(int)#}::operator()(int) const");
    free(loose);
    loose = hp_lambda_key("main::$_3::operator()");
    assert_string_equal(loose, "main::$_::operator()");
    free(loose);
    assert_null(hp_lambda_key("main"));
}

/* --- Profiles --------------------------------------------------------------------------------- */

static struct hp_profile *new_profile(const char *program)
{
    struct hp_profile *p;
    struct hp_pthread *thread;
    struct hp_pmodule *module;
    assert_int_equal(hp_profile_new(&p), HP_OK);
    assert_int_equal(hp_profile_add_thread(p, &thread), HP_OK);
    assert_int_equal(hp_profile_add_module(p, &module), HP_OK);
    module->path = hp_profile_string(p, program);
    return p;
}

/* A function whose lines from `line` on have these instructions, executed once (0 ends the list).
 */
static void add_function(struct hp_profile *p, const char *symbol, const char *file, uint32_t line,
                         uint64_t calls, const uint32_t *instructions)
{
    struct hp_pfunction *function;
    struct hp_pfunction_count *count;
    uint32_t index = (uint32_t)p->n_functions;
    uint64_t offset = 0x1000 * (uint64_t)(index + 1), self = 0;
    assert_int_equal(hp_profile_add_function(p, &function), HP_OK);
    function->place = (struct hp_place){0, offset};
    function->name = function->linkage = hp_profile_string(p, symbol);
    function->file = hp_profile_string(p, file);
    function->line = line;
    for (uint32_t i = 0; instructions[i]; i++) {
        struct hp_pblock *block;
        struct hp_pline *range;
        struct hp_pcount *counter;
        assert_int_equal(hp_profile_add_block(p, &block), HP_OK);
        *block = (struct hp_pblock){.place = {0, offset + 16 * i},
                                    .size = 16,
                                    .insns = instructions[i],
                                    .function = index,
                                    .flow = HP_FLOW_JUMP,
                                    .branch = 12};
        assert_int_equal(hp_profile_add_line(p, &range), HP_OK);
        range->block = (uint32_t)p->n_blocks - 1;
        range->to = 16;
        range->file = hp_profile_string(p, file);
        range->line = line + i;
        range->insns = instructions[i];
        assert_int_equal(hp_profile_add_block_count(p, &counter), HP_OK);
        *counter = (struct hp_pcount){(uint32_t)p->n_blocks - 1, 0, 1};
        self += instructions[i];
    }
    assert_int_equal(hp_profile_add_function_count(p, &count), HP_OK);
    *count = (struct hp_pfunction_count){index, 0, self, self, calls};
    p->threads[0].instructions += self;
}

struct pair {
    struct hp_profile *profiles[2];
    struct hp_digest *digests[2];
    struct hp_diff *diff;
};

static void compare(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hp_profile_normalize(pair->profiles[i]), HP_OK);
        assert_int_equal(hp_digest_make(pair->profiles[i],
                                        &(struct hp_digest_options){.other = pair->profiles[1 - i]},
                                        &pair->digests[i]),
                         HP_OK);
    }
    assert_int_equal(
        hp_diff_make(pair->digests[0], pair->digests[1], &(struct hp_diff_options){0}, &pair->diff),
        HP_OK);
    int64_t sum = 0;
    for (size_t i = 0; i < pair->diff->functions.n; i++)
        sum += pair->diff->functions.items[i].delta;
    assert_int_equal(sum, hp_delta(pair->digests[0]->totals[HP_TOTAL_INSTRUCTIONS],
                                   pair->digests[1]->totals[HP_TOTAL_INSTRUCTIONS]));
}

static void free_pair(struct pair *pair)
{
    hp_diff_free(pair->diff);
    for (int i = 0; i < 2; i++) {
        hp_digest_free(pair->digests[i]);
        hp_profile_free(pair->profiles[i]);
    }
}

static struct pair new_pair(const char *old, const char *new)
{
    return (struct pair){.profiles = {new_profile(old), new_profile(new)}};
}

/* The change of the function with this name in either version. */
static const struct hp_change *find(const struct hp_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->functions.n; i++) {
        const struct hp_change *f = &diff->functions.items[i];
        if ((f->new != HP_PROFILE_NONE &&strcmp(diff->new->functions[f->new].name, name) == 0) ||
            (f->old != HP_PROFILE_NONE && strcmp(diff->old->functions[f->old].name, name) == 0))
            return f;
    }
    fail_msg("no function %s", name);
    return NULL;
}

#define LINES(...) ((const uint32_t[]){__VA_ARGS__, 0})

static void parts_become_one(void **state)
{
    (void)state;
    struct pair pair = new_pair("/old/prog", "/new/prog");
    add_function(pair.profiles[0], "work", "w.c", 10, 7, LINES(5, 6));
    add_function(pair.profiles[1], "work", "w.c", 10, 7, LINES(5, 1));
    add_function(pair.profiles[1], "work.part.0", "w.c", 12, 7, LINES(4));
    add_function(pair.profiles[1], "work.cold", "", 0, 1, LINES(1));
    struct hp_pcall *call;
    struct hp_pcall_count *count;
    assert_int_equal(hp_profile_add_call(pair.profiles[1], &call), HP_OK);
    *call = (struct hp_pcall){0, 1};
    assert_int_equal(hp_profile_add_call_count(pair.profiles[1], &count), HP_OK);
    *count = (struct hp_pcall_count){.item = 0, .thread = 0, .count = 7};
    compare(&pair);
    assert_int_equal(pair.diff->functions.n, 1);
    assert_int_equal(pair.diff->functions.items[0].delta, 0);
    assert_int_equal(pair.digests[1]->functions[0].parts, 3);
    assert_int_equal(pair.digests[1]->functions[0].calls, 8); /* not from one part to another */
    free_pair(&pair);
}

static void equal_names_by_file(void **state)
{
    (void)state;
    struct pair pair = new_pair("/old/prog", "/new/prog");
    add_function(pair.profiles[0], "init", "/old/a.c", 1, 1, LINES(10));
    add_function(pair.profiles[0], "init", "/old/b.c", 1, 1, LINES(100));
    add_function(pair.profiles[1], "init", "/new/b.c", 30, 1, LINES(101));
    add_function(pair.profiles[1], "init", "/new/a.c", 40, 1, LINES(10));
    compare(&pair);
    assert_int_equal(pair.diff->functions.n, 2);
    assert_int_equal(pair.diff->functions.items[0].delta, 1);
    assert_int_equal(pair.diff->functions.items[1].delta, 0);
    free_pair(&pair);
}

static void program_of_another_name(void **state)
{
    (void)state;
    struct pair pair = new_pair("/x/prog-1.0", "/x/prog-1.1");
    add_function(pair.profiles[0], "main", "a.c", 1, 1, LINES(10));
    add_function(pair.profiles[1], "main", "b.c", 9, 1, LINES(12));
    add_function(pair.profiles[0], "", "", 0, 1,
                 LINES(2)); /* no symbols, another build: all such code */
    add_function(pair.profiles[1], "", "", 0, 1, LINES(3));
    add_function(pair.profiles[1], "", "", 0, 1, LINES(4));
    compare(&pair);
    assert_int_equal(find(pair.diff, "main")->delta, 2);
    assert_int_equal(pair.diff->functions.n, 2);
    assert_int_equal(find(pair.diff, "prog-1.1 (no symbols)")->delta, 5);
    free_pair(&pair);
}

static void what_is_in_no_function_counts(void **state)
{
    (void)state;
    struct pair pair = new_pair("/x/prog", "/x/prog");
    add_function(pair.profiles[0], "main", "a.c", 1, 1, LINES(10));
    add_function(pair.profiles[1], "main", "a.c", 1, 1, LINES(10));
    pair.profiles[1]->threads[0].instructions += 5;
    compare(&pair);
    assert_int_equal(find(pair.diff, "(in no function)")->delta, 5);
    free_pair(&pair);
}

static void ambiguous_is_not_guessed(void **state)
{
    (void)state;
    struct pair pair = new_pair("/x/prog", "/x/prog");
    /* Two that look like the one that is gone. */
    add_function(pair.profiles[0], "gone", "a.c", 1, 1, LINES(1, 2, 3, 4, 5));
    add_function(pair.profiles[1], "one", "a.c", 20, 1, LINES(1, 2, 3, 4, 5));
    add_function(pair.profiles[1], "two", "a.c", 40, 1, LINES(1, 2, 3, 4, 5));
    compare(&pair);
    assert_int_equal(pair.diff->functions.n, 3);
    free_pair(&pair);
    pair = new_pair("/x/prog", "/x/prog");
    add_function(pair.profiles[0], "gone", "a.c", 1, 1, LINES(1, 2, 3, 4, 5));
    add_function(pair.profiles[1], "one", "a.c", 20, 1, LINES(1, 2, 3, 4, 5));
    compare(&pair);
    assert_int_equal(pair.diff->functions.n, 1);
    assert_int_equal(pair.diff->functions.items[0].how, HP_DIFF_RENAMED);
    free_pair(&pair);
}

/* The line of `new` that line `line` of `old` is matched with; 0: none. */
static uint32_t line_of(const struct hp_diff *diff, uint32_t line)
{
    for (size_t i = 0; i < diff->old->n_lines; i++)
        if (diff->old->lines[i].line == line)
            return diff->lines.to_new[i] == HP_PROFILE_NONE
                       ? 0
                       : diff->new->lines[diff->lines.to_new[i]].line;
    fail_msg("no line %u", line);
    return 0;
}

static void lines_without_text(void **state)
{
    (void)state;
    struct pair pair = new_pair("/x/prog", "/x/prog");
    /* Two lines were put in behind the second, and the whole was moved. */
    add_function(pair.profiles[0], "f", "none.c", 10, 1, LINES(100, 200, 300, 400, 500));
    add_function(pair.profiles[1], "f", "none.c", 50, 1, LINES(100, 200, 7, 7, 300, 400, 500));
    compare(&pair);
    assert_int_equal(line_of(pair.diff, 10), 50);
    assert_int_equal(line_of(pair.diff, 11), 51);
    assert_int_equal(line_of(pair.diff, 12), 54);
    assert_int_equal(line_of(pair.diff, 14), 56);
    size_t changed = 0;
    for (size_t i = 0; i < pair.diff->lines.n; i++)
        changed += pair.diff->lines.items[i].delta != 0;
    assert_int_equal(changed, 2);
    free_pair(&pair);
    pair = new_pair("/x/prog", "/x/prog");
    /* A line that executes twice as much stays what it is. */
    add_function(pair.profiles[0], "f", "none.c", 10, 1, LINES(100, 200, 300));
    add_function(pair.profiles[1], "f", "none.c", 10, 1, LINES(200, 200, 300));
    compare(&pair);
    for (uint32_t line = 10; line < 13; line++)
        assert_int_equal(line_of(pair.diff, line), line);
    free_pair(&pair);
    pair = new_pair("/x/prog", "/x/prog");
    /* Of lines that execute as much, the one that is as far from the beginning. */
    add_function(pair.profiles[0], "f", "none.c", 10, 1, LINES(100, 100));
    add_function(pair.profiles[1], "f", "none.c", 20, 1, LINES(100, 100, 100));
    compare(&pair);
    assert_int_equal(line_of(pair.diff, 10), 20);
    assert_int_equal(line_of(pair.diff, 11), 21);
    free_pair(&pair);
}

static void text_has_both_numbers_where_they_differ(void **state)
{
    (void)state;
    struct hp_diff_print print = {"old", "new", .report = {.top = HP_REPORT_TOP_DEFAULT}};
    struct pair pair = new_pair("/x/prog", "/x/prog");
    add_function(pair.profiles[0], "fewer", "a.c", 1, 5, LINES(100));
    add_function(pair.profiles[1], "fewer", "a.c", 1, 3, LINES(60));
    add_function(pair.profiles[0], "more", "a.c", 10, 2, LINES(10));
    add_function(pair.profiles[1], "more", "a.c", 10, 4, LINES(20));
    compare(&pair);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(hp_diff_print(pair.diff, &print, out), HP_OK);
    fclose(out);
    assert_non_null(strstr(text, "5 -> 3  fewer"));
    assert_non_null(strstr(text, "2 -> 4  more"));
    free(text);
    free_pair(&pair);
}

static void random_profiles_add_up(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a", "b",      "b.cold",  "c.part.1",        "d",
        "",  "e<int>", "e<long>", "x::{lambda()#1}", "x::{lambda()#2}"};
    static const char *const files[] = {"one.c", "two.c", "/d/one.c", ""};
    srand(11);
    for (int round = 0; round < 1000; round++) {
        struct pair pair = new_pair("/x/prog", rand() % 2 ? "/x/prog" : "/x/prog2");
        for (int side = 0; side < 2; side++)
            for (int i = rand() % 12; i > 0; i--) {
                uint32_t lines[4] = {(uint32_t)(1 + rand() % 50), 0};
                for (int k = 1; k < 3; k++)
                    lines[k] = (uint32_t)(rand() % 50);
                const char *name = names[rand() % 10], *file = files[rand() % 4];
                uint32_t line = (uint32_t)(rand() % 20);
                add_function(pair.profiles[side], name, file, line, (uint64_t)i, lines);
            }
        compare(&pair);
        int64_t *lines = calloc(pair.diff->functions.n + 1, sizeof *lines);
        for (size_t i = 0; i < pair.diff->lines.n; i++)
            lines[pair.diff->lines.items[i].function] += pair.diff->lines.items[i].delta;
        for (size_t i = 0; i < pair.diff->functions.n; i++) {
            const struct hp_change *f = &pair.diff->functions.items[i];
            if (f->old != HP_PROFILE_NONE && f->new != HP_PROFILE_NONE)
                assert_int_equal(lines[i], f->delta);
        }
        free(lines);
        free_pair(&pair);
    }
}

/* --- Baselines -------------------------------------------------------------------------------- */

/* Through a file and back. */
static struct hp_digest *through_file(const struct hp_digest *digest, const char *name)
{
    char path[] = "/tmp/hotpath-baseline.XXXXXX";
    struct hp_baseline *baseline;
    struct hp_digest *back = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hp_baseline_new(&baseline), HP_OK);
    assert_int_equal(hp_baseline_put(baseline, "other", digest), HP_OK);
    assert_int_equal(hp_baseline_put(baseline, name, digest), HP_OK);
    assert_int_equal(hp_baseline_put(baseline, name, digest), HP_OK); /* in its place */
    assert_int_equal(baseline->n, 2);
    assert_int_equal(hp_baseline_save(baseline, path), HP_OK);
    hp_baseline_free(baseline);
    assert_int_equal(hp_baseline_load(path, &baseline), HP_OK);
    assert_int_equal(hp_baseline_get(baseline, "missing", &back), HP_ERR_NOTFOUND);
    assert_int_equal(hp_baseline_get(baseline, name, &back), HP_OK);
    hp_baseline_free(baseline);
    unlink(path);
    return back;
}

static void baseline_keeps_names_and_counts(void **state)
{
    (void)state;
    struct hp_profile *p = new_profile("/x/prog name");
    struct hp_digest *digest;
    add_function(p, "100% <\xff\n>", "a b.c", 7, 3, LINES(1000, 2000));
    add_function(p, "-", "", 0, 1, LINES(500));
    add_function(p, "small", "a b.c", 90, 1, LINES(1));
    assert_int_equal(hp_profile_normalize(p), HP_OK);
    assert_int_equal(hp_digest_make(p, &(struct hp_digest_options){0}, &digest), HP_OK);
    struct hp_digest *back = through_file(digest, "a [b] \"c\"\n-");
    assert_int_equal(back->totals[HP_TOTAL_INSTRUCTIONS], 3501);
    assert_false(back->known[HP_TOTAL_CYCLES]);
    assert_int_equal(back->n_functions, 3); /* with the rest */
    assert_string_equal(back->functions[1].key, "100% <\xff\n>");
    assert_string_equal(back->functions[1].module, "prog name");
    assert_string_equal(back->functions[1].file, "a b.c");
    assert_int_equal(back->functions[1].self, 3000);
    assert_int_equal(back->functions[1].calls, 3);
    assert_int_equal(back->functions[1].n_lines, 3);
    assert_string_equal(back->functions[0].key, "-");
    assert_string_equal(back->functions[2].name, HP_BASELINE_REST);
    assert_int_equal(back->functions[2].self, 1);
    hp_digest_free(back);
    hp_digest_free(digest);
    hp_profile_free(p);
}

static void gate_against_a_baseline(void **state)
{
    (void)state;
    struct hp_profile *old = new_profile("/x/prog"), *new = new_profile("/x/prog");
    struct hp_digest *before, *after;
    struct hp_diff *diff;
    struct hp_gate *gate;
    struct hp_gate_limits limits = {.functions = -1};
    struct hp_strbuf why = {0};
    for (int i = 0; i < HP_TOTALS; i++)
        limits.totals[i] = -1;
    add_function(old, "f", "f.c", 10, 10, LINES(1000, 9000));
    add_function(old, "small", "f.c", 90, 1, LINES(3));
    add_function(new, "f", "f.c", 12, 10, LINES(1000, 9100));
    add_function(new, "small", "f.c", 92, 1, LINES(4));
    assert_int_equal(hp_profile_normalize(old), HP_OK);
    assert_int_equal(hp_profile_normalize(new), HP_OK);
    assert_int_equal(hp_digest_make(old, &(struct hp_digest_options){0}, &before), HP_OK);
    assert_int_equal(hp_digest_make(new, &(struct hp_digest_options){0}, &after), HP_OK);
    struct hp_digest *baseline = through_file(before, "x");
    assert_int_equal(hp_diff_make(baseline, after, &(struct hp_diff_options){0}, &diff), HP_OK);
    for (int part = 0; part < 3; part++) { /* 101 of 10003 more: 1.0097 percent */
        static const double thresholds[] = {1.0, 1.01, 0};
        limits.totals[HP_TOTAL_INSTRUCTIONS] = thresholds[part];
        assert_int_equal(hp_gate_make(diff, &limits, &gate), HP_OK);
        assert_int_equal(gate->verdict, part == 1 ? HP_GATE_WITHIN : HP_GATE_REGRESSED);
        assert_int_equal(gate->n_functions, 1);
        assert_int_equal(gate->rest, 1);
        hp_strbuf_clear(&why);
        hp_gate_why(diff, gate->functions[0].change, &why);
        assert_string_equal(hp_strbuf_text(&why),
                            "same number of calls, 10 more instructions per call, at f.c:13");
        free(gate);
    }
    hp_strbuf_fini(&why);
    hp_diff_free(diff);
    hp_digest_free(baseline);
    hp_digest_free(before);
    hp_digest_free(after);
    hp_profile_free(old);
    hp_profile_free(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_what_compilers_append),
        cmocka_unit_test(parts_become_one),
        cmocka_unit_test(equal_names_by_file),
        cmocka_unit_test(program_of_another_name),
        cmocka_unit_test(what_is_in_no_function_counts),
        cmocka_unit_test(ambiguous_is_not_guessed),
        cmocka_unit_test(lines_without_text),
        cmocka_unit_test(text_has_both_numbers_where_they_differ),
        cmocka_unit_test(random_profiles_add_up),
        cmocka_unit_test(baseline_keeps_names_and_counts),
        cmocka_unit_test(gate_against_a_baseline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
