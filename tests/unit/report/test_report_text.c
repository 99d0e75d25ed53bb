// SPDX-License-Identifier: MIT
/*
 * Golden texts. To rebase after a wanted change: run the test, read the text it shows as the first
 * of the two (what was printed), and put that here.
 */
#include "report_fixture.h"

#include "text/utf8.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES                                                                                      \
    "\n"                                                                                           \
    "note: process 102 started /bin/true, which was not observed\n"                                \
    "note: the length of a block is uncertain (1,234 times)\n"

static void expect_text(const struct hp_profile *profile, struct hp_report_options options,
                        const char *expected)
{
    char *text = render(profile, &options);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_view(const struct hp_view *view, const char *expected)
{
    struct hp_profile profile = fixture_profile();
    expect_text(&profile, (struct hp_report_options){.view = view}, expected);
}

static void default_is_summary_functions_notes(void **state)
{
    (void)state;
    expect_view(NULL, "hotpath: ./demo 'two words' 'it'\\''s'\n"
                      "  1.84 s, 1,000 instructions, 66.0% in work (demo.c:10), exit status 3\n"
                      "  205 branches   2 threads\n"
                      "\n"
                      "  self %  self  inclusive  calls  function     where\n"
                      "   66.0%   660      1,000     10  work         demo.c:10\n"
                      "   30.0%   300        300    100  helper       libx.so\n"
                      "    4.0%    40         40      5  demo+0x2000  demo\n" NOTES);
}

static void summary_view(void **state)
{
    (void)state;
    expect_view(&hp_view_summary,
                "hotpath: ./demo 'two words' 'it'\\''s'\n"
                "  1.84 s, 1,000 instructions, 66.0% in work (demo.c:10), exit status 3\n"
                "  205 branches   2 threads\n" NOTES);
}

static void blocks_view(void **state)
{
    (void)state;
    expect_view(
        &hp_view_blocks,
        "  share  instructions  count  length  block        where      address\n"
        "  60.0%           600    100       6  work+0x10    demo.c:12  demo+0x1010\n"
        "  30.0%           300    100       3  helper                  libx.so+0x500\n"
        "   4.0%            40     10       4  work         demo.c:11  demo+0x1000\n"
        "   4.0%            40      5       8  demo+0x2000             demo+0x2000\n"
        "   2.0%            20      5       4  work+0x16    demo.c:13  demo+0x1016\n" NOTES);
}

static void edges_view(void **state)
{
    (void)state;
    expect_view(&hp_view_edges,
                "  count  taken %  kind            from         to\n"
                "    100           return          helper+0x8   -> work+0x30\n"
                "     95    90.5%  cond taken      work+0x1e    -> work+0x10\n"
                "     10           jump            work+0xe     -> work+0x10\n"
                "     10    90.5%  cond not taken  work+0x1e    -> work+0x20\n"
                "      5           return          demo+0x201f  -> (unknown)\n" NOTES);
}

static void calls_view(void **state)
{
    (void)state;
    expect_view(&hp_view_calls,
                "  inclusive %  inclusive  count  caller     callee\n"
                "       100.0%      1,000     10  (unknown)  -> work\n"
                "        30.0%        300    100  work       -> helper\n"
                "         4.0%         40      5  work       -> demo+0x2000\n" NOTES);
}

static void what_is_not_known_has_no_column(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_counted_profile();
    expect_text(&profile,
                (struct hp_report_options){.view = &hp_view_functions, .per_thread = true},
                "  self %  self  calls  function     where\n"
                "   66.0%   660     10  work         demo.c:10\n"
                "   40.4%   404      6    thread 0\n"
                "   25.6%   256      4    thread 1\n"
                "   30.0%   300    100  helper       libx.so\n"
                "   18.0%   180     60    thread 0\n"
                "   12.0%   120     40    thread 1\n"
                "    4.0%    40      5  demo+0x2000  demo\n"
                "    4.0%    40      5    thread 0\n"
                "\nnote: inclusive counts are not known (2 times)\n");
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_calls},
                "  count  caller     callee\n"
                "    100  work       -> helper\n"
                "     10  (unknown)  -> work\n"
                "      5  work       -> demo+0x2000\n"
                "\nnote: inclusive counts are not known (2 times)\n");
}

static void threads_view(void **state)
{
    (void)state;
    expect_view(&hp_view_threads,
                "  share  instructions  thread  pid  tid  name    command\n"
                "  62.4%           624       0  100  100  demo    ./demo -x\n"
                "  37.6%           376       1  100  101  worker  ./demo -x\n" NOTES);
}

static void processes_view(void **state)
{
    (void)state;
    expect_view(&hp_view_processes,
                "   share  instructions  threads  pid  parent  command\n"
                "  100.0%         1,000        2  100       0  ./demo -x\n" NOTES);
}

static void modules_view_by_thread(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_modules, .per_thread = true},
                "  share  instructions  blocks  module            build id\n"
                "  70.0%           700     120  /opt/demo         aa11\n"
                "  44.4%           444      76    thread 0\n"
                "  25.6%           256      44    thread 1\n"
                "  30.0%           300     100  /usr/lib/libx.so\n"
                "  18.0%           180      60    thread 0\n"
                "  12.0%           120      40    thread 1\n" NOTES);
}

static void top_says_what_is_left_out(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    profile.n_notes = 0;
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_functions, .top = 1},
                "  self %  self  inclusive  calls  function  where\n"
                "   66.0%   660      1,000     10  work      demo.c:10\n"
                "  … and 2 more (--top 0 shows all)\n");
}

/* --- Source text ------------------------------------------------------------------------------ */

static char directory[64];

static void write_source(time_t changed)
{
    char path[96];
    strcpy(directory, "report_XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/demo.c", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 1; i <= 12; i++)
        fprintf(file, "\tline\tno \033%d \r\n", i);
    fprintf(file, "    the last, without an end");
    fclose(file);
    struct timespec times[2] = {{.tv_sec = changed}, {.tv_sec = changed}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void remove_source(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/demo.c", directory);
    unlink(path);
    rmdir(directory);
}

/* The fixture with its lines in a relative file, looked up in `directory`. */
static struct hp_profile profile_with_source(struct hp_pline lines[4])
{
    struct hp_profile profile = fixture_profile();
    memcpy(lines, profile.lines, 4 * sizeof *lines);
    for (size_t i = 0; i < 4; i++)
        lines[i].file = "demo.c";
    profile.lines = lines;
    profile.n_notes = 0;
    profile.run.directory = directory;
    return profile;
}

static void lines_view_shows_the_source(void **state)
{
    (void)state;
    struct hp_pline lines[4];
    write_source(1600000000);
    struct hp_profile profile = profile_with_source(lines);
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_lines},
                "  share  instructions  executions  line       function  source\n"
                "  42.0%           420         105  demo.c:13  twice     the last, without an end\n"
                "  20.0%           200         100  demo.c:12  work      line no ?12\n"
                "   4.0%            40          10  demo.c:11  work      line no ?11\n");
    remove_source();
}

static void changed_source_is_noted(void **state)
{
    (void)state;
    struct hp_pline lines[4];
    write_source(1800000000);
    struct hp_profile profile = profile_with_source(lines);
    struct hp_report_options options = {.view = &hp_view_lines};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text,
                           "\nnote: demo.c changed after the run: the source shown may not be "
                           "what was executed\n"));
    free(text);
    remove_source();
}

/* A name from a profile may be a device, a directory or a FIFO: none of them may be read or
 * hang. */
static void odd_source_files_are_left_alone(void **state)
{
    (void)state;
    static const char *const odd[] = {"/dev/zero", "/", "report_fifo", "/nonexistent/x.c"};
    unlink("report_fifo");
    assert_int_equal(mkfifo("report_fifo", 0600), 0);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct hp_pline lines[4];
        struct hp_profile profile = fixture_profile();
        memcpy(lines, profile.lines, sizeof lines);
        for (size_t k = 0; k < 4; k++)
            lines[k].file = odd[i];
        profile.lines = lines;
        profile.run.directory = "";
        struct hp_report_options options = {.view = &hp_view_lines};
        char *text = render(&profile, &options);
        assert_non_null(strstr(text, "twice\n"));
        free(text);
    }
    unlink("report_fifo");
}

/* --- Width and colour ------------------------------------------------------------------------- */

static void long_names_are_cut_to_the_width(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    memcpy(functions, profile.functions, sizeof functions);
    functions[0].name = "std::map<std::string, std::vector<unsigned long> >::operator[](long)";
    profile.functions = functions;
    profile.n_notes = 0;
    expect_text(&profile,
                (struct hp_report_options){.view = &hp_view_functions, .top = 2, .width = 80},
                "  self %  self  inclusive  calls  function                             where\n"
                "   66.0%   660      1,000     10  std::map<…>::operator[](long)        demo.c:10\n"
                "   30.0%   300        300    100  helper                               libx.so\n"
                "  … and 1 more (--top 0 shows all)\n");
    char *text = render(&profile, &(struct hp_report_options){
                                      .view = &hp_view_functions, .width = 80, .full_names = true});
    assert_non_null(strstr(text, functions[0].name));
    free(text);
}

static void lines_stay_within_the_width(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    char name[5000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    memcpy(functions, profile.functions, sizeof functions);
    functions[0].name = functions[0].file = functions[2].name = name;
    profile.functions = functions;
    for (int width = 80; width < 200; width += 7) {
        struct hp_report_options options = {.view = &hp_view_all, .width = width};
        char *text = render(&profile, &options);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(hp_utf8_width(line) <= (size_t)width || strncmp(line, "note:", 5) == 0);
        free(text);
    }
    for (int width = 1; width < 10; width++) { /* too narrow for anything: all the same a report */
        struct hp_report_options options = {.view = &hp_view_all, .width = width};
        free(render(&profile, &options));
    }
}

static void nothing_is_cut_without_a_width(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    struct hp_pfunction functions[4];
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    memcpy(functions, profile.functions, sizeof functions);
    functions[0].name = name;
    profile.functions = functions;
    struct hp_report_options options = {.view = &hp_view_functions};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, name));
    char row[128]; /* one long name does not move the others */
    snprintf(row, sizeof row, "%-62s%s\n", "helper", "libx.so");
    assert_non_null(strstr(text, row));
    free(text);
}

static void colour_only_when_asked_for(void **state)
{
    (void)state;
    struct hp_profile profile = fixture_profile();
    profile.n_notes = 1;
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_functions, .color = true},
                "  \033[1mself %\033[0m  \033[1mself\033[0m  \033[1minclusive\033[0m  "
                "\033[1mcalls\033[0m  \033[1mfunction\033[0m     \033[1mwhere\033[0m\n"
                "   \033[1;31m66.0%\033[0m   660      1,000     10  work         demo.c:10\n"
                "   \033[1;31m30.0%\033[0m   300        300    100  helper       libx.so\n"
                "    \033[33m4.0%\033[0m    40         40      5  demo+0x2000  demo\n"
                "\n\033[1;33mnote:\033[0m process 102 started /bin/true, which was not observed\n");
    struct hp_report_options options = {.view = &hp_view_all};
    char *text = render(&profile, &options);
    assert_null(strchr(text, '\033'));
    free(text);
}

/* --- Odd profiles ----------------------------------------------------------------------------- */

static void an_empty_profile_says_so(void **state)
{
    (void)state;
    struct hp_profile profile = {0};
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_all, .per_thread = true},
                "hotpath: (unknown command)    0.00 s, 0 instructions\n"
                "  0 branches   0 threads\n"
                "\nFunctions\n  (no function was executed)\n"
                "\nBlocks\n  (no block was executed)\n"
                "\nEdges\n  (no control transfer was executed)\n"
                "\nCalls\n  (no call was executed)\n"
                "\nLines\n  (no source line is known: was the program built with -g?)\n"
                "\nProcesses\n  (no process was seen)\n"
                "\nThreads\n  (no thread was seen)\n"
                "\nModules\n  (no code was executed)\n");
}

static void losses_are_noted_even_without_a_note(void **state)
{
    (void)state;
    struct hp_profile profile = {.run = {.lost = 3}};
    struct hp_report_options options = {.view = &hp_view_functions};
    char *text = render(&profile, &options);
    assert_non_null(strstr(text, "note: the stream has gaps: counts are too low (3 times)\n"));
    free(text);
    struct hp_pnote note = {"lost", "thread 5 lost words", 3};
    profile.notes = &note;
    profile.n_notes = 1;
    text = render(&profile, &options);
    assert_non_null(strstr(text, "note: thread 5 lost words (3 times)\n"));
    assert_null(strstr(text, "the stream has gaps"));
    free(text);
}

static void one_of_a_kind_is_singular(void **state)
{
    (void)state;
    struct hp_pthread thread = {1, 1, 1, 1, 1};
    struct hp_profile profile = {.threads = &thread, .n_threads = 1, .run = {.runs = 12}};
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_summary},
                "hotpath: (unknown command)    0.00 s, 1 instruction, 12 runs\n"
                "  1 branch   1 thread\n");
}

static void the_engine_says_what_it_did(void **state)
{
    (void)state;
    struct hp_pthread thread = {1, 1, 5, 2, 1};
    struct hp_profile profile = {.threads = &thread,
                                 .n_threads = 1,
                                 .run = {.engine = "native",
                                         .runs = 1,
                                         .work = {.segments = 4567,
                                                  .blocks = 12345,
                                                  .links = 1,
                                                  .translate_ns = 12345678,
                                                  .cache_bytes = 3355443,
                                                  .memory_bytes = UINT64_C(123) << 20}}};
    expect_text(
        &profile, (struct hp_report_options){.view = &hp_view_summary, .verbose = true},
        "hotpath: (unknown command)    0.00 s, 5 instructions\n"
        "  1 branch   0 blocks   1 thread\n"
        "  engine native, none: 12,345 blocks in 4,567 segments, 1 link, 0 flushes, translated in "
        "12.3 ms, code cache 3.2 MiB, memory 123 MiB\n");
}

#define ENGINE                                                                                     \
    "hotpath: (unknown command)    0.00 s, 200 instructions\n"                                     \
    "  1 branch   0 blocks   1 thread\n"                                                           \
    "  engine native, none: 9 blocks in 0 segments, 0 links, 0 flushes, translated in 0.0 ms, "    \
    "code cache 0.0 MiB, memory 0.0 MiB\n"

/* What is not known is not shown; without traces nothing is. */
static void the_engine_says_what_became_of_traces(void **state)
{
    (void)state;
    struct hp_pthread thread = {1, 1, 200, 2, 1};
    struct hp_profile profile = {
        .threads = &thread,
        .n_threads = 1,
        .run = {.engine = "native",
                .runs = 1,
                .work = {.blocks = 9, .traces = 1, .trace_blocks = 4, .trace_insns = 10}}};
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_summary, .verbose = true},
                ENGINE "  1 trace of 4.0 blocks and 10.0 instructions, 0.0 KiB, 0 heads, 0 "
                       "abandoned, 0 flushes, 0 bail-outs, executions not known\n");
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_traces},
                "  (no trace was flushed, and the engine did not bail out)\n");
    fixture_add_traces(&profile);
    profile.run.work.traces = 4;
    profile.run.work.trace_bytes = 1 << 20;
    profile.run.work.heads = 1;
    profile.run.work.abandoned = 1234;
    profile.run.work.trace_entries = 50;
    profile.run.work.trace_completions = 40;
    profile.run.work.trace_insns_run = 195;
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_summary, .verbose = true},
                ENGINE "  4 traces of 1.0 blocks and 2.5 instructions, 1024 KiB, 1 head, 1,234 "
                       "abandoned, 3 flushes (2 full, 1 phase), 1 bail-out, 97.5% of all "
                       "instructions in traces, 80.0% completed, for 1 hot spot\n");
    expect_text(&profile, (struct hp_report_options){.view = &hp_view_traces},
                "  process  second  what      traces  bytes  hot spot  in traces before  after\n"
                "        1   0.005  full           3  4,096\n"
                "        1   2.500  phase         12  100 k\n"
                "        1   2.500  full          12  100 k\n"
                "        2   0.000  hot-spot       2    500         4             12.5%  90.0%\n"
                "        2   0.000  bail-out       0      0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_is_summary_functions_notes),
        cmocka_unit_test(summary_view),
        cmocka_unit_test(blocks_view),
        cmocka_unit_test(edges_view),
        cmocka_unit_test(calls_view),
        cmocka_unit_test(what_is_not_known_has_no_column),
        cmocka_unit_test(threads_view),
        cmocka_unit_test(processes_view),
        cmocka_unit_test(modules_view_by_thread),
        cmocka_unit_test(top_says_what_is_left_out),
        cmocka_unit_test(lines_view_shows_the_source),
        cmocka_unit_test(changed_source_is_noted),
        cmocka_unit_test(odd_source_files_are_left_alone),
        cmocka_unit_test(long_names_are_cut_to_the_width),
        cmocka_unit_test(lines_stay_within_the_width),
        cmocka_unit_test(nothing_is_cut_without_a_width),
        cmocka_unit_test(colour_only_when_asked_for),
        cmocka_unit_test(an_empty_profile_says_so),
        cmocka_unit_test(losses_are_noted_even_without_a_note),
        cmocka_unit_test(one_of_a_kind_is_singular),
        cmocka_unit_test(the_engine_says_what_it_did),
        cmocka_unit_test(the_engine_says_what_became_of_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
