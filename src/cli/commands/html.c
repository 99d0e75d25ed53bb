// SPDX-License-Identifier: MIT
#include "page/page.h"

#include "base/base.h"
#include "cli/cli.h"
#include "text/number.h"
#include "text/strbuf.h"

#include <sys/stat.h>

struct request {
    struct hp_page_options page;
    const struct hp_profile *profile;
    const char *path, *template;
    bool data, quiet, plt;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(path), "FILE",
     "where to (default: FILE with .html in place of .hotpath; -: standard output)"},
    {"source-path", 's', HP_TEXT(page.source_path), "DIR",
     "look for source files in DIR first, by their name and by its ends"},
    {"data", 0, HP_FLAG(data), NULL,
     "only the data that is in the page, as JSON (default: to standard output)"},
    HP_OPTION_PLT(plt),
    {"quiet", 'q', HP_FLAG(quiet), NULL, "no closing line"},
    {0},
};

static enum hp_err print(void *context, FILE *out)
{
    const struct request *r = context;
    if (r->data)
        return hp_page_data(r->profile, &r->page, out);
    return hp_page_write(r->profile, &r->page, r->template, out);
}

static void say_where(const char *path)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) != 0)
        return;
    hp_strbuf_clean(&name, path);
    fprintf(stderr, "hotpath: page written to %s (%s MB)\n", hp_strbuf_text(&name),
            HP_FIXED((double)status.st_size / 1e6, 1));
}

/* The template first: without one there is no need to read a profile. */
static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    const char *file = call->words[0];
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *template HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf beside HP_CLEANUP(hp_strbuf_fini) = {0};
    if (!r->data)
        HP_TRY(hp_page_template(&template));
    HP_TRY(hp_cli_load(file, &profile));
    HP_TRY(hp_cli_fold(profile, r->plt));
    r->template = template;
    r->profile = profile;
    if (!r->path && !r->data) {
        size_t length = strlen(file), ending = strlen(".hotpath");
        bool has = length > ending && strcmp(file + length - ending, ".hotpath") == 0;
        hp_strbuf_bytes(&beside, file, has ? length - ending : length);
        hp_strbuf_add(&beside, ".html");
        r->path = hp_strbuf_text(&beside);
    }
    HP_TRY(hp_cli_write(r->path, print, r));
    if (!r->data && !r->quiet)
        say_where(r->path);
    return HP_OK;
}

const struct hp_command hp_command_html = {
    .name = "html",
    .summary = "write a profile as a page for a browser",
    .synopsis = "[OPTIONS] FILE",
    .help = "Writes the profile in FILE as a page for a browser: one file that needs no other, and "
            "no network. Without -o it is FILE with .html in place of .hotpath.\n",
    .examples = "  hotpath html gzip.hotpath\n"
                "  hotpath html gzip.hotpath -o page.html --source-path ~/src/gzip\n"
                "  hotpath html gzip.hotpath --data > gzip.json\n",
    .options = {rows},
    .values = {sizeof(struct request), NULL},
    .run = run,
};
