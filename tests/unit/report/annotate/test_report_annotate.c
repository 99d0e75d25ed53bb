// SPDX-License-Identifier: MIT
/*
 * Functions instruction by instruction, with and without a machine, source and files.
 */
#include "report_fixture.h"
#include "report_parse.h"
// clang-format off: the random profiles bring cmocka along
#include "profile_random.h"
// clang-format on

#include "report/annotate/annotate.h"
#include "report/text.h"
#include "symbols/module_code.h"
#include "symbols/symbols.h"
#include "text/utf8.h"

#include <ctype.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hp_profile profile_with_insns(void)
{
    struct hp_profile profile = fixture_profile();
    fixture_add_insns(&profile);
    profile.n_notes = 0;
    return profile;
}

__attribute__((noinline)) static char *annotate(const struct hp_profile *profile,
                                                const struct hp_annotate_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    enum hp_err err = hp_annotate(profile, options, out);
    assert_int_equal(fclose(out), 0);
    if (err != HP_OK)
        fail_msg("hp_annotate: %s", hp_error_text());
    return text;
}

static void expect(const struct hp_profile *profile, struct hp_annotate_options options,
                   const char *expected)
{
    char *text = annotate(profile, &options);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_at(const char *json, const char *path, const char *value)
{
    const char *at = json_find(json, path);
    if (!at || strncmp(at, value, strlen(value)) != 0)
        fail_msg("%s is not %s but %.80s", path, value, at ? at : "nothing");
}

/* --- With a machine --------------------------------------------------------------------------- */

static void instructions_have_what_they_cost(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    const char *names[] = {"work"};
    expect(&profile, (struct hp_annotate_options){.names = names, .n_names = 1, .width = 80},
           "1,000 cycles, 400 instructions: CPI 2.500\n"
           "m/o/i/e/r: cycles an execution from fetch to map, to operands ready, to issue,\n"
           "to retire ready, to retirement\n"
           "\n"
           "work: 80.0% of the cycles, with what is inlined into it; demo.c:10, demo\n"
           "  share  times  each  m/o/i/e/r    events      wasted  instruction\n"
           "demo.c:11\n"
           "            10                                           +0: (4 instructions)\n"
           "demo.c:12\n"
           "  40.0%    100   4.0  1/0/0/4/0.5  L2 20%           0  >+10: mov rax, [rdi]\n"
           "demo.c:13  [twice]\n"
           "   5.0%    100   0.5  1/40/0/1/0                        +13: add rbx, rax\n"
           "  ...\n"
           "demo.c:13\n"
           "  35.0%    100   3.5  1/0/0/1/0    mispr. 31%           +1e: jne +10\n"
           "note: instructions are not shown: cannot read /opt/demo: No such file or directory\n");
}

/* Of samples alone, with their intervals. */
static void samples_have_intervals(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    profile.insn_tallies += 4;
    profile.n_insn_tallies = 2;
    profile.n_insn_cycles = profile.n_attributions = profile.n_waits = 0;
    struct hp_strbuf wasted = {0};
    char expected[4096];
    struct hp_estimate slots = hp_estimate_wasted(60, 1, 2, 4, 80, 20, 1);
    hp_strbuf_add(&wasted, HP_AMOUNT(slots.value));
    hp_put_interval(slots, &wasted);
    snprintf(expected, sizeof expected,
             "profileme,pairs: 10 samples; cycles are from fetch to retire ready, and overlap\n"
             "m/o/i/e/r: cycles an execution from fetch to map, to operands ready, to issue,\n"
             "to retire ready, to retirement\n"
             "\n"
             "helper: 62.5%% of the sampled cycles; libx.so\n"
             "  share     times  each  m/o/i/e/r   events     wasted  instruction\n"
             "  62.5%%  20 ±261%%  30.0  2/0/3/25/0          %s   +0: div rcx\n"
             "\n"
             "work: 37.5%% of the sampled cycles, with what is inlined into it; demo.c:10, demo\n"
             "  share     times  each  m/o/i/e/r    events     wasted  instruction\n"
             "demo.c:11\n"
             "               10                                          +0: (4 instructions)\n"
             "demo.c:12\n"
             "  37.5%%  60 ±118%%   6.0  1/0/0/5/0.5  L2 17±40%%       0  >+10: mov rax, [rdi]\n"
             "demo.c:13  [twice]\n"
             "                                                          +13: add rbx, rax\n"
             "  ...\n"
             "demo.c:13\n"
             "                                                          +1e: jne +10\n"
             "note: instructions are not shown: cannot read /opt/demo: No such file or directory\n"
             "\n"
             "demo+0x2000: 0.0%% of the sampled cycles; demo\n"
             "  share  times  each  m/o/i/e/r  events  wasted  instruction\n"
             "             5                                     +0: (8 instructions)\n"
             "note: instructions are not shown: cannot read /opt/demo: No such file or directory\n",
             hp_strbuf_text(&wasted));
    expect(&profile, (struct hp_annotate_options){.width = 80}, expected);
    hp_strbuf_fini(&wasted);
}

static void lines_have_causes(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    const char *names[] = {"work"};
    expect(&profile,
           (struct hp_annotate_options){.names = names, .n_names = 1, .lines = true, .width = 80},
           "1,000 cycles, 400 instructions: CPI 2.500\n"
           "\n"
           "work: 80.0% of the cycles, with what is inlined into it; demo.c:10, demo\n"
           "  demo.c\n"
           "  share  times   CPI  causes                     line  source\n"
           "            10                                     11\n"
           "  40.0%    100  4.00  memory 75% l2 15%            12\n"
           "  40.0%    100  2.00  mispredict 78% retire 23%    13\n");
}

static void json_has_lines_and_instructions(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    char *json = annotate(&profile, &(struct hp_annotate_options){.json = true, .all = true});
    assert_true(json_valid(json));
    expect_at(json, "by", "\"cycles\"");
    expect_at(json, "functions/0/name", "\"work\"");
    expect_at(json, "functions/0/share", "0.800000");
    expect_at(json, "functions/0/lines/1/line", "12");
    expect_at(json, "functions/0/lines/1/cycles", "400.000000");
    expect_at(json, "functions/0/lines/2/causes/mispredict", "310.000000");
    expect_at(json, "functions/0/lines/2/executions/value", "100.000000");
    expect_at(json, "functions/0/instructions/1/address", "\"demo+0x1010\"");
    expect_at(json, "functions/0/instructions/1/cycles", "400.000000");
    expect_at(json, "functions/0/instructions/1/rates/l1d", "0.300000");
    expect_at(json, "functions/0/instructions/1/wasted_slots/value", "-1280.000000");
    expect_at(json, "functions/1/name", "\"helper\"");
    expect_at(json, "functions/1/missing", "null"); /* its block is the machine's row */
    expect_at(json, "functions/2/missing", "\"cannot read /opt/demo: No such file or directory\"");
    free(json);
    json = annotate(&profile, &(struct hp_annotate_options){.json = true, .lines = true});
    assert_null(json_find(json, "functions/0/instructions"));
    free(json);
}

/* --- Without ---------------------------------------------------------------------------------- */

static void blocks_stand_for_what_is_not_known(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    expect(&profile, (struct hp_annotate_options){.top = 1},
           "work: 66.0% of the instructions, with what is inlined into it; demo.c:10, demo\n"
           "  share  times  instruction\n"
           "demo.c:11\n"
           "   4.0%     10    +0: (4 instructions)\n"
           "demo.c:12\n"
           "  20.0%    100   +10: (2 instructions)\n"
           "demo.c:13  [twice]\n"
           "  42.0%    105   +16: (4 instructions)\n"
           "note: instructions are not shown: cannot read /opt/demo: No such file or directory\n");
}

static void source_is_found_by_the_ends_of_names(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    char directory[] = "/tmp/annotate.XXXXXX", path[64];
    const char *names[] = {"work"};
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/demo.c", directory);
    FILE *file = fopen(path, "w");
    for (int i = 1; i <= 14; i++)
        fprintf(file, "\tline(%d);\033[2J\n", i);
    fclose(file);
    profile.run.started = INT64_MAX; /* the source is older than the run */
    expect(&profile,
           (struct hp_annotate_options){
               .names = names, .n_names = 1, .lines = true, .source_path = directory},
           "work: 66.0% of the instructions, with what is inlined into it; demo.c:10, demo\n"
           "  demo.c\n"
           "  share  times  line  source\n"
           "   4.0%     10    11          line(11);?[2J\n"
           "  20.0%    100    12          line(12);?[2J\n"
           "  42.0%    105    13          line(13);?[2J\n");
    profile.run.started = 1;
    char *text = annotate(&profile, &(struct hp_annotate_options){.source_path = directory});
    assert_non_null(strstr(text, "demo.c:12  line(12);?[2J\n"));
    assert_non_null(strstr(text, "a source file changed after the run"));
    free(text);
    unlink(path);
    rmdir(directory);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    const char *names[] = {"helper", "never_called"};
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(
        hp_annotate(&profile, &(struct hp_annotate_options){.names = names, .n_names = 2}, out),
        HP_ERR_NOTFOUND);
    assert_non_null(strstr(hp_error_text(), "never_called"));
    fclose(out);
}

/* A part is enough where one name has it; where several have, they are listed. */
static void parts_of_names(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    const char *whole = "helper", *part = "elpe", *several = "e";
    char *expected =
        annotate(&profile, &(struct hp_annotate_options){.names = &whole, .n_names = 1});
    char *text = annotate(&profile, &(struct hp_annotate_options){.names = &part, .n_names = 1});
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(
        hp_annotate(&profile, &(struct hp_annotate_options){.names = &several, .n_names = 1}, out),
        HP_ERR_INVALID);
    assert_int_equal(fclose(out), 0);
    /* but not never_called, which was not executed */
    assert_string_equal(text, "demo+0x2000  demo\nhelper  libx.so\n");
    assert_string_equal(hp_error_text(), "'e' is a part of the names of 2 functions: say which");
    free(text);
}

/* One after the other as they were said; one that is said twice, once. */
static void names_keep_their_order(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    memcpy(functions, fixture_functions, sizeof functions);
    functions[0].name = "work(int, char)";
    functions[0].linkage = "_Z4workic";
    profile.functions = functions;
    const char *names[] = {"helper", "work", "helper", "_Z4workic", "demo+0x2000"};
    char *json = annotate(
        &profile, &(struct hp_annotate_options){.names = names, .n_names = 5, .json = true});
    expect_at(json, "functions/0/name", "\"helper\"");
    expect_at(json, "functions/1/name", "\"work(int, char)\"");
    expect_at(json, "functions/2/name", "\"demo+0x2000\"");
    assert_int_equal(json_length(json, "functions"), 3);
    free(json);
}

static void nothing_executed_is_said(void **state)
{
    (void)state;
    struct hp_profile profile = {.run = {.arch = HP_ARCH_X86_64}};
    expect(&profile, (struct hp_annotate_options){0}, "  (no function was executed)\n");
}

/* --- Files ------------------------------------------------------------------------------------ */

#ifdef __x86_64__
__asm__(".text\n.globl annotate_probe\n.type annotate_probe, @function\nannotate_probe:\n"
        "nop\nadd %rbx, %rax\ncmp $3, %rax\njne annotate_probe\nret\n"
        ".size annotate_probe, . - annotate_probe\n");
extern const char annotate_probe[];

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    uint64_t lowest = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < lowest)
            lowest = info->dlpi_phdr[i].p_vaddr;
    *(uint64_t *)base = info->dlpi_addr + (lowest & ~(uint64_t)4095);
    return 1;
}

/* A profile of this program: the probe's loop and the return behind it. */
static struct hp_profile profile_of_this(char path[256], char build_id[64])
{
    static struct hp_pmodule modules[1];
    static struct hp_pfunction functions[1];
    static struct hp_pblock blocks[2];
    static struct hp_pthread threads[] = {{1, 1, 41, 11, 11}};
    static struct hp_pcount counts[] = {{0, 0, 10}, {1, 0, 1}};
    uint64_t base;
    ssize_t n = readlink("/proc/self/exe", path, 255);
    assert_true(n > 0);
    path[n] = 0;
    dl_iterate_phdr(first_object, &base);
    struct hp_symbols *symbols;
    assert_int_equal(hp_symbols_open(path, "", &symbols), HP_OK);
    snprintf(build_id, 64, "%s", hp_symbols_build_id(symbols));
    hp_symbols_close(symbols);
    uint64_t offset = (uint64_t)(uintptr_t)annotate_probe - base;
    modules[0] = (struct hp_pmodule){path, build_id};
    functions[0] = (struct hp_pfunction){{0, offset}, 11, "probe", "annotate_probe", "", 0};
    blocks[0] = (struct hp_pblock){{0, offset}, 10, 4, 0, HP_FLOW_COND, 8, 0};
    blocks[1] = (struct hp_pblock){{0, offset + 10}, 1, 1, 0, HP_FLOW_RETURN, 0, 0};
    return (struct hp_profile){.run = {.arch = HP_ARCH_X86_64, .started = INT64_MAX},
                               .modules = modules,
                               .n_modules = 1,
                               .threads = threads,
                               .n_threads = 1,
                               .functions = functions,
                               .n_functions = 1,
                               .blocks = blocks,
                               .n_blocks = 2,
                               .block_counts = counts,
                               .n_block_counts = 2};
}

static void files_are_disassembled(void **state)
{
    (void)state;
    char path[256], build_id[64], expected[512];
    struct hp_profile profile = profile_of_this(path, build_id);
    snprintf(expected, sizeof expected,
             "probe: 100.0%% of the instructions; test_report_annotate\n"
             "  share  times  instruction\n"
             "  24.4%%     10   +0: nop\n"
             "  24.4%%     10   +1: add rax, rbx\n"
             "  24.4%%     10   +4: cmp rax, 0x3\n"
             "  24.4%%     10   +8: jnz 0x%llx\n"
             "   2.4%%      1   +a: ret\n",
             (unsigned long long)profile.functions[0].place.offset);
    char *text = annotate(&profile, &(struct hp_annotate_options){0});
    for (char *c = strstr(text, "jnz 0x"); c && *c != '\n'; c++)
        *c = (char)tolower(*c);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_missing(const struct hp_profile *profile, const char *why)
{
    char *text = annotate(profile, &(struct hp_annotate_options){0});
    if (!strstr(text, why) || !strstr(text, "0: (4 instructions)") ||
        !strstr(text, "note: instructions are not shown: "))
        fail_msg("no \"%s\" in: %s", why, text);
    free(text);
}

/* Only the file that ran is believed. */
static void other_files_are_not_disassembled(void **state)
{
    (void)state;
    char path[256], build_id[64];
    struct hp_profile profile = profile_of_this(path, build_id);
    struct hp_pmodule module = {path, "0123"};
    profile.modules = &module;
    expect_missing(&profile, "has another build id than the file that ran");
    module.build_id = "";
    if (*build_id)
        expect_missing(&profile, "has another build id");
    module.path = "/etc/passwd";
    expect_missing(&profile, "is not ELF");
    module.path = "/tmp";
    expect_missing(&profile, "is not a regular file");
    module.path = "[vdso]";
    expect_missing(&profile, "its code is in no file");
    profile = profile_of_this(path, build_id);
    profile.blocks[0].version = 1; /* code that changed */
    expect_missing(&profile, "the code that ran is not what a file has");
    profile = profile_of_this(path, build_id);
    profile.blocks[0].size = 9; /* its end is in the middle of an instruction */
    expect_missing(&profile, "the code that ran is not what a file has");
}
#endif

/* --- Hostile ---------------------------------------------------------------------------------- */

static void texts_are_cleaned_and_lines_fit(void **state)
{
    (void)state;
    struct hp_profile profile = profile_with_insns();
    struct hp_pinsn insns[4];
    struct hp_pfunction functions[4];
    memcpy(insns, fixture_insns, sizeof insns);
    memcpy(functions, fixture_functions, sizeof functions);
    insns[0].text = "\033[2Jmov\n\xff\xfe rax, a very long operand that goes on and on and on";
    insns[0].file = "/src/\033]0;evil\007.c";
    insns[1].inlined = "\033[1mtwice";
    functions[0].name = "w\033[31mork";
    profile.insns = insns;
    profile.functions = functions;
    for (int lines = 0; lines < 2; lines++) {
        char *text = annotate(
            &profile, &(struct hp_annotate_options){.all = true, .lines = lines, .width = 80});
        assert_null(strchr(text, '\033'));
        assert_null(strchr(text, '\007'));
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(hp_utf8_width(line) <= 80 || strstr(line, "note:"));
        free(text);
    }
    char *text = annotate(&profile, &(struct hp_annotate_options){.color = true});
    assert_non_null(strstr(text, "\033[1;31m 40.0%") ? text : strstr(text, "\033[1;31m40.0%"));
    free(text);
}

static void random_profiles_print(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hp_profile *p = random_profile(seed, 1 + seed * 9);
        assert_int_equal(hp_profile_normalize(p), HP_OK);
        for (int way = 0; way < 4; way++) {
            char *text = annotate(
                p, &(struct hp_annotate_options){.all = true, .lines = way & 1, .json = way & 2});
            if (way & 2)
                assert_true(json_valid(text));
            free(text);
        }
        hp_profile_free(p);
    }
}

/* Blocks that all have the same, huge, part of a file: what is printed has an end. */
static void huge_blocks_come_to_an_end(void **state)
{
    (void)state;
#ifdef __x86_64__
    char path[256], build_id[64];
    struct hp_profile profile = profile_of_this(path, build_id);
    enum { N = 3000 };
    struct hp_pblock *blocks = calloc(N, sizeof *blocks);
    struct hp_pcount *counts = calloc(N, sizeof *counts);
    for (uint32_t i = 0; i < N; i++) {
        blocks[i] = profile.blocks[0];
        blocks[i].size = UINT32_MAX - i;
        blocks[i].insns = UINT32_MAX;
        counts[i] = (struct hp_pcount){i, 0, UINT64_MAX};
    }
    profile.blocks = blocks;
    profile.block_counts = counts;
    profile.n_blocks = profile.n_block_counts = N;
    alarm(600);
    free(annotate(&profile, &(struct hp_annotate_options){0}));
    alarm(0);
    free(blocks);
    free(counts);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_what_they_cost),
        cmocka_unit_test(samples_have_intervals),
        cmocka_unit_test(lines_have_causes),
        cmocka_unit_test(json_has_lines_and_instructions),
        cmocka_unit_test(blocks_stand_for_what_is_not_known),
        cmocka_unit_test(source_is_found_by_the_ends_of_names),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(parts_of_names),
        cmocka_unit_test(names_keep_their_order),
        cmocka_unit_test(nothing_executed_is_said),
#ifdef __x86_64__
        cmocka_unit_test(files_are_disassembled),
        cmocka_unit_test(other_files_are_not_disassembled),
#endif
        cmocka_unit_test(texts_are_cleaned_and_lines_fit),
        cmocka_unit_test(random_profiles_print),
        cmocka_unit_test(huge_blocks_come_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
