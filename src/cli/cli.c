// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include "base/base.h"
#include "base/outfile.h"
#include "profile/fold.h"
#include "profile/unfold.h"
#include "text/strbuf.h"

#include <ctype.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct hp_option hp_options_json[] = {
    {"json", 'j', HP_OPT_FLAG, offsetof(struct hp_cli_json, json), NULL, "JSON, for scripts"},
    {0},
};

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

enum hp_err hp_cli_show(struct hp_profile *profile, const struct hp_cli_shown *shown)
{
    if (!shown->plt)
        HP_TRY(hp_profile_fold_stubs(profile));
    return shown->physical ? HP_OK : hp_profile_unfold_inlined(profile);
}

enum hp_err hp_cli_load_versions(const char *old_path, const char *new_path,
                                 const struct hp_cli_shown *shown, struct hp_profile **old,
                                 struct hp_profile **new)
{
    HP_TRY(hp_cli_load(old_path, old));
    HP_TRY(hp_cli_load(new_path, new));
    HP_TRY(hp_profile_forget_inlined(*old, *new));
    HP_TRY(hp_profile_forget_inlined(*new, *old));
    HP_TRY(hp_cli_show(*old, shown));
    return hp_cli_show(*new, shown);
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
    options->top = (size_t)output->top; /* HP_NOT_SAID is HP_REPORT_TOP_DEFAULT */
    options->full_names = output->full_names;
    if (output->view)
        HP_TRY(hp_view_from_name(output->view, &options->view));
    options->query = output->query;
    options->verbose = output->verbose;
    if (options->view && options->view->of_function && !output->query.function)
        return hp_fail(HP_ERR_INVALID, "the view %s is of a function: --function NAME says which",
                       options->view->name);
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

enum hp_err hp_cli_write(const char *path, enum hp_err (*print)(void *context, FILE *out),
                         void *context)
{
    struct hp_outfile out HP_CLEANUP(hp_outfile_abort) = {0};
    if (!path || strcmp(path, "-") == 0)
        return print(context, stdout);
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = print(context, out.file);
    if (err != HP_OK)
        return hp_fail(err, "%s: %s", path, hp_error_text());
    return hp_outfile_commit(&out);
}

struct report {
    const struct hp_profile *profile;
    struct hp_report_options options;
};

static enum hp_err print_report(void *context, FILE *out)
{
    struct report *r = context;
    hp_cli_style(&r->options, out);
    return hp_report(r->profile, &r->options, out);
}

enum hp_err hp_cli_write_report(const struct hp_profile *profile,
                                const struct hp_report_options *options, const char *path)
{
    return hp_cli_write(path, print_report, &(struct report){profile, *options});
}

enum hp_err hp_cli_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return hp_fail(HP_ERR_IO, "cannot write to standard output: %m");
    return HP_OK;
}

enum hp_err hp_cli_output_name(const char *pattern, char **name)
{
    struct hp_strbuf text = {0};
    for (const char *c = pattern; *c; c++)
        if (c[0] == '%' && (c[1] == 'p' || c[1] == '%')) {
            if (*++c == 'p')
                hp_strbuf_format(&text, "%d", (int)getpid());
            else
                hp_strbuf_add(&text, "%");
        } else {
            hp_strbuf_bytes(&text, c, 1);
        }
    *name = text.failed ? NULL : text.data ? text.data : strdup("");
    return *name ? HP_OK : hp_fail_nomem();
}

enum hp_err hp_cli_check_output(const char *path)
{
    char *copy HP_CLEANUP(hp_free) = strdup(path);
    if (!copy)
        return hp_fail_nomem();
    char *slash = strrchr(copy, '/');
    const char *directory = slash == copy ? "/" : slash ? copy : ".";
    if (slash)
        *slash = 0;
    return access(directory, W_OK) == 0 ? HP_OK : hp_fail(HP_ERR_IO, "cannot write %s: %m", path);
}
