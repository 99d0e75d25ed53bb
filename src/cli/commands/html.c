// SPDX-License-Identifier: MIT
#include "page/page.h"

#include "base/outfile.h"
#include "cli/cli.h"
#include "text/number.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct html {
    struct hp_page_options page;
    const char *path;
    bool data;
    bool quiet;
    char *template; /* NULL for the data alone */
    char *own_path; /* made up here */
};

/* The name of the page, where none was given: beside the profile. */
static enum hp_err make_path(struct html *html, const char *file)
{
    static const char ending[] = ".hotpath";
    size_t length = strlen(file);
    if (length > strlen(ending) && strcmp(file + length - strlen(ending), ending) == 0)
        length -= strlen(ending);
    if (asprintf(&html->own_path, "%.*s.html", (int)length, file) < 0) {
        html->own_path = NULL;
        return hp_fail_nomem();
    }
    html->path = html->own_path;
    return HP_OK;
}

static enum hp_err write_to(const struct html *html, const struct hp_profile *profile, FILE *out)
{
    if (html->data)
        return hp_page_data(profile, &html->page, out);
    return hp_page_write(profile, &html->page, html->template, out);
}

static void say_where(const char *path, long size)
{
    char number[HP_NUMBER_SIZE];
    hp_number_fixed(number, (double)size / 1e6, 1);
    fprintf(stderr, "hotpath: page written to ");
    for (; *path; path++)
        fputc(iscntrl((unsigned char)*path) ? '?' : *path, stderr);
    fprintf(stderr, " (%s MB)\n", number);
}

static enum hp_err write_file(const struct html *html, const struct hp_profile *profile)
{
    struct hp_outfile out;
    if (!html->path || strcmp(html->path, "-") == 0)
        return write_to(html, profile, stdout);
    HP_TRY(hp_outfile_open(&out, html->path));
    enum hp_err err = write_to(html, profile, out.file);
    if (err != HP_OK) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", hp_error_text());
        hp_outfile_abort(&out);
        return hp_fail(err, "%s: %s", html->path, reason);
    }
    long size = ftell(out.file);
    HP_TRY(hp_outfile_commit(&out));
    if (!html->data && !html->quiet && size >= 0)
        say_where(html->path, size);
    return HP_OK;
}

/* The template first: without one there is no need to read a profile. */
static enum hp_err make_page(struct html *html, const char *file)
{
    struct hp_profile *profile;
    if (!html->data)
        HP_TRY(hp_page_template(&html->template));
    HP_TRY(hp_cli_load(file, &profile));
    enum hp_err err = html->path || html->data ? HP_OK : make_path(html, file);
    if (err == HP_OK)
        err = write_file(html, profile);
    hp_profile_free(profile);
    return err;
}

static const struct hp_option rows[] = {
    {"output", 'o', HP_OPT_TEXT, offsetof(struct html, path), "FILE",
     "where to; -: standard output", HP_WORDS_FILES},
    {"source-path", 's', HP_OPT_TEXT, offsetof(struct html, page.source_path), "DIR",
     "look for source files in DIR first", HP_WORDS_DIRECTORIES},
    {"data", 0, HP_OPT_FLAG, offsetof(struct html, data), NULL,
     "only the data that is in the page, as JSON\n(default: to standard output)", 0},
    {"quiet", 'q', HP_OPT_FLAG, offsetof(struct html, quiet), NULL, "no closing line", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct html *html = values;
    (void)n, (void)status;
    enum hp_err err = make_page(html, words[0]);
    free(html->template);
    free(html->own_path);
    return err;
}

const struct hp_command hp_command_html = {
    .name = "html",
    .summary = "write a profile as a page for a browser",
    .synopsis = "[OPTIONS] FILE",
    .help =
        "Writes the profile in FILE as a page for a browser: one file that needs no other, and\n"
        "no network. Without -o it is FILE with .html in place of .hotpath.\n",
    .examples = "  hotpath html gzip.hotpath\n"
                "  hotpath html gzip.hotpath -o page.html --source-path ~/src/gzip\n"
                "  hotpath html gzip.hotpath --data > gzip.json\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "html takes one profile",
    .instead = "hotpath html FILE",
    .size = sizeof(struct html),
    .run = run_command,
};
