// SPDX-License-Identifier: MIT
/* Command lines. */
#include "cli/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- Counts ----------------------------------------------------------------------------------- */

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"1000", 1000},
        {"10k", 10000},
        {"10K", 10000},
        {"2.5M", 2500000},
        {"2.5m", 2500000},
        {"3G", 3000000000},
        {"1t", 1000000000000},
        {"1T", 1000000000000},
        {"1.001k", 1001}, /* not 1000.99..., cut off */
        {"4.35k", 4350},
        {"8.7k", 8700},
        {"1e3", 1000},
        {"9007199254740993", 9007199254740993}, /* more than a double can tell */
        {"9999999999999999999", 9999999999999999999u},
        {"00012", 12},
        {"0.5k", 500},
    };
    static const char *const bad[] = {
        "",    "k",   "-1",   "+1",           "1kk",   "1k ", " 1",   "1 k",    "x",  "1x",
        "nan", "inf", "1e30", "99999999999G", "1.2.3", "--1", "0x10", "1e400k", ".5k"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t value = 77;
        if (hp_parse_count(good[i].text, &value) != HP_OK || value != good[i].value)
            fail_msg("%s gives %llu", good[i].text, (unsigned long long)value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value = 77;
        if (hp_parse_count(bad[i], &value) != HP_ERR_INVALID || value != 77)
            fail_msg("'%s' gives %llu", bad[i], (unsigned long long)value);
        assert_non_null(strstr(hp_error_text(), "is not a number (examples: 1000, 10k, 2.5M, 1G)"));
    }
}

/* As counts, but 1024 times more with each letter. */
static void sizes(void **state)
{
    (void)state;
    uint64_t value = 77;
    assert_int_equal(hp_parse_size("65536", &value), HP_OK);
    assert_int_equal(value, 65536);
    assert_int_equal(hp_parse_size("64k", &value), HP_OK);
    assert_int_equal(value, 65536);
    assert_int_equal(hp_parse_size("2.5M", &value), HP_OK);
    assert_int_equal(value, 2621440);
    assert_int_equal(hp_parse_size("1G", &value), HP_OK);
    assert_int_equal(value, 1073741824);
    assert_int_equal(hp_parse_size("64kb", &value), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), "'64kb' is not a size (examples: 65536, 64k, 256M, 1G)");
    assert_int_equal(value, 1073741824);
}

/* --- Command lines ---------------------------------------------------------------------------- */

struct values {
    bool quiet, no_follow;
    const char *output;
    uint64_t top;
};

static struct values values;

static const struct hp_option rows[] = {
    {"quiet", 'q', HP_OPT_FLAG, offsetof(struct values, quiet), NULL, "say nothing"},
    {"no-follow", 0, HP_OPT_FLAG, offsetof(struct values, no_follow), NULL,
     "stay with the program only, whatever else it may start"},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct values, output), "FILE", "write to FILE"},
    {"a-name-that-is-long", 't', HP_OPT_COUNT, offsetof(struct values, top), "COUNT", "so many"},
    {0},
};

static const struct hp_option engine[] = {
    {"engine", 0, HP_OPT_TEXT, offsetof(struct values, output), "ENGINE", "one of {}, or neither"},
    {0},
};

static enum hp_err do_nothing(struct hp_invocation *call)
{
    (void)call;
    return HP_OK;
}

static const struct hp_command commands[] = {
    {.name = "try",
     .synopsis = "[OPTIONS] WORDS",
     .help = "Tries, and says so in lines that end where a terminal does, which is after eighty "
             "columns, or earlier.\n",
     .options = {rows, engine},
     .values = {sizeof(struct values), NULL},
     .run = do_nothing},
    {.name = "try", .synopsis = "[--] PROGRAM", .options = {rows}, .run = do_nothing},
};

static struct hp_invocation call;

/* Parses the blank-separated words of `line`; afterwards `left` are the words that are no options,
 * joined by blanks. */
static enum hp_err parse(const char *line, bool stop_at_word, char *left)
{
    static char name[] = "try", empty[] = "";
    char copy[256], *argv[32] = {name};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "EMPTY") == 0 ? empty : word;
    argv[argc] = NULL;
    values = (struct values){.output = ""};
    call = (struct hp_invocation){.command = &commands[stop_at_word], .values = &values};
    enum hp_err err = hp_options_parse(&call, argc, argv);
    left[0] = 0;
    for (int i = 0; i < call.n; i++)
        snprintf(left + strlen(left), 128, "%s%s", i ? " " : "", call.words[i]);
    if (err == HP_OK && !call.help)
        assert_null(call.words[call.n]);
    static char kept[256];
    snprintf(kept, sizeof kept, "%s", values.output);
    values.output = kept;
    return err;
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"500ms", 0.5}, {"30s", 30},   {"1.5s", 1.5},
                {"5m", 300},    {"5min", 300}, {"1h", 3600}};
    static const char *const bad[] = {"",    "s",   "30", "5M",   "0s",   "-1s",  "1x",
                                      "1 s", "1ss", "1e", "1e3s", "nans", "0x1s", "infs"};
    double seconds = 77;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(hp_parse_time(good[i].text, &seconds));
        assert_true(seconds > good[i].seconds * 0.999 && seconds < good[i].seconds * 1.001);
    }
    seconds = 77;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hp_parse_time(bad[i], &seconds));
    assert_true(seconds == 77);
}

static void expect_parsed(const char *line, bool stop_at_word, const char *expected)
{
    char left[256], all[512];
    assert_int_equal(parse(line, stop_at_word, left), HP_OK);
    snprintf(all, sizeof all, "%s%s%s%s %llu|%s", values.quiet ? "q" : "",
             values.no_follow ? "n" : "", *values.output ? "o=" : "", values.output,
             (unsigned long long)values.top, left);
    assert_string_equal(all, expected);
    assert_false(call.help);
}

static void options_and_words(void **state)
{
    (void)state;
    expect_parsed("", false, " 0|");
    expect_parsed("a b c", false, " 0|a b c");
    expect_parsed("-q --no-follow", false, "qn 0|");
    expect_parsed("--output x --a-name-that-is-long 5", false, "o=x 5|");
    expect_parsed("--output=x --a-name-that-is-long=2k", false, "o=x 2000|");
    expect_parsed("-o x -t 7", false, "o=x 7|");
    expect_parsed("-ox -t7", false, "o=x 7|");
    expect_parsed("--output=", false, " 0|");
    expect_parsed("--output=a=b", false, "o=a=b 0|");
    expect_parsed("a -q b -o x c", false, "qo=x 0|a b c"); /* mixed */
    expect_parsed("-o a -o b", false, "o=b 0|");           /* the last counts */
    expect_parsed("-o -q", false, "o=-q 0|");              /* an argument may look like an option */
    expect_parsed("- a", false, " 0|- a");                 /* a single dash is a word */
}

static void the_end_of_the_options(void **state)
{
    (void)state;
    expect_parsed("-q -- -o x --help", false, "q 0|-o x --help");
    expect_parsed("a -- -q -- b", false, " 0|a -q -- b");
    assert_int_equal(call.behind, 3);
    expect_parsed("--", false, " 0|");
    expect_parsed("-q ls -o x", true, "q 0|ls -o x");
    expect_parsed("-q -- ls -- x", true, "q 0|ls -- x");
    expect_parsed("-q - -o x", true, "q 0|- -o x");
}

static void expect_error(const char *line, const char *expected)
{
    char left[256];
    assert_int_equal(parse(line, false, left), HP_ERR_INVALID);
    assert_string_equal(hp_error_text(), expected);
}

static void errors_say_what_is_wrong(void **state)
{
    (void)state;
    expect_error("--what", "unknown option --what (hotpath try --help lists them)");
    expect_error("--quie", "unknown option --quie (hotpath try --help lists them)");
    expect_error("--=x", "unknown option --=x (hotpath try --help lists them)");
    expect_error("-x", "unknown option -x (hotpath try --help lists them)");
    expect_error("--quiet=yes", "option --quiet takes no argument");
    expect_error("-qx", "option --quiet takes no argument");
    expect_error("--no-follow=", "option --no-follow takes no argument");
    expect_error("a --output", "option --output needs FILE");
    expect_error("-o", "option --output needs FILE");
    expect_error("-t many", "--a-name-that-is-long: 'many' is not a number (examples: 1000, 10k, "
                            "2.5M, 1G)");
    expect_error("-t EMPTY", "--a-name-that-is-long: '' is not a number (examples: 1000, 10k, "
                             "2.5M, 1G)");
}

/* --- Help ------------------------------------------------------------------------------------- */

/* What is printed for a command line. */
static void printed(const char *line, char *text, size_t size)
{
    static char name[] = "try";
    char copy[256], *argv[32] = {name};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    int old = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    int status = hp_command_execute(&commands[0], argc, argv);
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
    assert_int_equal(status, 0);
}

static void help_is_made_of_the_table(void **state)
{
    (void)state;
    char text[2048];
    const char *expected = "Usage: hotpath try [OPTIONS] WORDS\n"
                           "\n"
                           "Tries, and says so in lines that end where a terminal does, which is "
                           "after\n"
                           "eighty columns, or earlier.\n"
                           "\n"
                           "Options:\n"
                           "  -q, --quiet             say nothing\n"
                           "      --no-follow         stay with the program only, whatever else "
                           "it may start\n"
                           "  -o, --output FILE       write to FILE\n"
                           "  -t, --a-name-that-is-long COUNT\n"
                           "                          so many\n"
                           "      --engine ENGINE     one of native, qemu, or neither\n"
                           "  -h, --help              show this\n";
    printed("--help", text, sizeof text);
    assert_string_equal(text, expected);
    printed("a -q -h --what", text, sizeof text);
    assert_string_equal(text, expected);
}

/* What is said of a number of words that the synopsis does not allow; NULL: nothing. */
static void expect_words(const char *synopsis, char *words, const char *expected)
{
    static char name[] = "try";
    const struct hp_command command = {.name = "try", .synopsis = synopsis, .run = do_nothing};
    char *argv[8] = {name}, all[128];
    int argc = 1;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    hp_fail(HP_ERR_INTERNAL, "nothing");
    assert_int_equal(hp_command_execute(&command, argc, argv), expected ? HP_STATUS_FAILED : 0);
    snprintf(all, sizeof all, "%s; usage: hotpath try %s", expected ? expected : "", synopsis);
    assert_string_equal(hp_error_text(), expected ? all : "nothing");
}

static void words_are_those_of_the_synopsis(void **state)
{
    (void)state;
    static const struct {
        const char *synopsis, *words, *wrong;
    } cases[] = {
        {"[OPTIONS] FILE [VIEW]", "", "no FILE given"},
        {"[OPTIONS] FILE [VIEW]", "a", NULL},
        {"[OPTIONS] FILE [VIEW]", "a b", NULL},
        {"[OPTIONS] FILE [VIEW]", "a b c", "too many arguments"},
        {"[OPTIONS] OLD NEW", "a", "no NEW given"},
        {"[OPTIONS] OLD NEW", "a b c", "too many arguments"},
        {"-o FILE PROFILE...", "", "no PROFILE given"},
        {"-o FILE PROFILE...", "a b c", NULL},
        {"[OPTIONS] [--] PROGRAM [ARGUMENTS]", "", "no PROGRAM given"},
        {"[OPTIONS] [--] PROGRAM [ARGUMENTS]", "a b c", NULL},
        {"[OPTIONS] --format FORMAT (FILE | -- PROGRAM [ARGUMENTS])", "", NULL},
        {"[OPTIONS] --format FORMAT (FILE | -- PROGRAM [ARGUMENTS])", "a b c", NULL},
        {"[OPTIONS]", "a", "too many arguments"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[16];
        snprintf(words, sizeof words, "%s", cases[i].words);
        expect_words(cases[i].synopsis, words, cases[i].wrong);
    }
}

/* "{}" in a help stands for the words of a list: there is one for each that has it. */
static void every_list_exists(void **state)
{
    (void)state;
    struct hp_strbuf text = {0};
    const struct hp_option *option;
    size_t lists = 0;
    for (const struct hp_command *const *c = hp_commands; *c; c++) {
        for (size_t i = 0; (option = hp_command_option(*c, i)); i++) {
            if (!strstr(option->help, "{}"))
                continue;
            assert_non_null(hp_words_find(option->argument));
            hp_strbuf_clear(&text);
            hp_option_help(option, &text);
            assert_true(text.length > strlen(option->help));
            lists++;
        }
        if ((*c)->list)
            assert_non_null(hp_words_find((*c)->list)->topic);
        if ((*c)->words)
            assert_non_null(hp_words_find((*c)->words));
    }
    assert_true(lists > 10);
    hp_strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(times),
        cmocka_unit_test(options_and_words),
        cmocka_unit_test(the_end_of_the_options),
        cmocka_unit_test(errors_say_what_is_wrong),
        cmocka_unit_test(help_is_made_of_the_table),
        cmocka_unit_test(words_are_those_of_the_synopsis),
        cmocka_unit_test(every_list_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
