// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct hp_command commands[] = {
    {"run", "run a program and print where its time goes", hp_cmd_run},
    {"record", "run a program and keep its profile in a file", hp_cmd_record},
    {"top", "run a program and show live what it does", hp_cmd_top},
    {"report", "print a profile", hp_cmd_report},
    {"export", "write a profile, or a part of a run, for another tool", hp_cmd_export},
    {"annotate", "print functions by source and instruction", hp_cmd_annotate},
    {"html", "write a profile as a page for a browser", hp_cmd_html},
    {"compare", "compare two profiles: how much they overlap, what moved", hp_cmd_compare},
    {"diff", "say what changed between two versions of a program", hp_cmd_diff},
    {"ci", "compare a run with a baseline, and fail when it got slower", hp_cmd_ci},
    {"merge", "add profiles up into one", hp_cmd_merge},
    {"trace", "record, inspect, check and replay the raw stream", hp_cmd_trace},
    {"wpp", "inspect and expand a whole program path", hp_cmd_wpp},
    {"lab", "run the papers' experiments on real programs", hp_cmd_lab},
};

static void print_help(void)
{
    printf("hotpath " HP_VERSION
           ": profiles any Linux program, unmodified, without performance counters.\n\n"
           "Usage: hotpath COMMAND [OPTIONS] ...\n\nCommands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    printf("\nStart with:\n"
           "  hotpath run -- gzip -9c FILE > /dev/null\n\n"
           "'hotpath COMMAND --help' explains a command.\n");
}

/* One line, whatever is in a file's name or contents. */
static void print_line(char *line)
{
    for (char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    fprintf(stderr, "hotpath: %s\n", line);
}

int hp_cli_fail(enum hp_err err)
{
    char line[1024];
    const char *text = hp_error_text();
    snprintf(line, sizeof line, "%s", *text ? text : hp_errstr(err));
    print_line(line);
    return HP_STATUS_FAILED;
}

int hp_cli_ran(enum hp_err err, int status)
{
    if (err == HP_OK)
        return status;
    int failed = hp_cli_fail(err);
    return status == 0 && err != HP_ERR_UNOBSERVED ? failed : status;
}

void hp_cli_note(const char *path, const char *text)
{
    char line[1024];
    snprintf(line, sizeof line, "note: %s%s%s", path ? path : "", path ? ": " : "", text);
    print_line(line);
}

enum hp_err hp_cli_load(const char *path, struct hp_profile **profile)
{
    const char *what;
    HP_TRY(hp_profile_rescue(path, profile, &what));
    if (what)
        hp_cli_note(path, what);
    return HP_OK;
}

void hp_cli_style(struct hp_report_options *options, FILE *file)
{
    struct winsize size;
    bool terminal = isatty(fileno(file));
    const char *no_color = getenv("NO_COLOR");
    options->color = terminal && !(no_color && *no_color);
    options->width = terminal && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

enum hp_err hp_cli_report_options(const struct hp_cli_output *output,
                                  struct hp_report_options *options)
{
    *options = (struct hp_report_options){0};
    if (output->json && output->csv)
        return hp_fail(HP_ERR_INVALID, "--json and --csv exclude each other");
    options->format = output->json ? HP_REPORT_JSON : output->csv ? HP_REPORT_CSV : HP_REPORT_TEXT;
    options->top = output->top != UINT64_MAX ? (size_t)output->top : HP_REPORT_TOP_DEFAULT;
    if (output->view)
        HP_TRY(hp_view_from_name(output->view, &options->view));
    if (output->threads && strcmp(output->threads, "each") == 0)
        options->per_thread = true;
    else if (output->threads && strcmp(output->threads, "all") != 0)
        return hp_fail(HP_ERR_INVALID, "--threads is 'each' or 'all', not '%s'", output->threads);
    return HP_OK;
}

enum hp_line_detail hp_cli_lines(const struct hp_report_options *options)
{
    if (options->format != HP_REPORT_TEXT)
        return HP_LINES_ALL;
    return options->view ? options->view->lines : HP_LINES_FUNCTIONS;
}

/* Were a standard descriptor closed, the next file opened would take its number, and what is
 * printed would end up in it. The program that is watched still finds it closed. */
static void keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* A file that grows beyond the limit (ulimit -f) should be an error like others, not the end. With
 * a handler, as the program that is watched would inherit that it is ignored. */
static void survive_file_size_limit(void)
{
    struct sigaction old, action = {.sa_handler = do_nothing};
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    survive_file_size_limit();
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        print_help();
        return argc < 2 ? HP_STATUS_FAILED : 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("hotpath " HP_VERSION "\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return hp_cli_fail(
        hp_fail(HP_ERR_INVALID, "unknown command '%s' (hotpath --help lists them)", name));
}
