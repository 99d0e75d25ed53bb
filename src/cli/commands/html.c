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
    struct hp_page_diff diff;
    const char *path, *template;
    bool compares, data, quiet;
    struct hp_cli_shown shown;
};

static const struct hp_option rows[] = {
    {"output", 'o', HP_TEXT(path), "FILE",
     "where to (default: FILE with .html, or NEW with .diff.html, in place of .hotpath; -: "
     "standard output)"},
    {"source-path", 's', HP_TEXT(page.source_path), "DIR",
     "look for source files in DIR first, by their name and by its ends"},
    {"diff", 0, HP_FLAG(compares), NULL,
     "one page of two profiles: what changed from OLD to NEW, as 'hotpath diff' finds it"},
    {"old-source", 0, HP_TEXT(diff.sources.old_source), "DIR",
     "with --diff: where the source of the old version is"},
    {"new-source", 0, HP_TEXT(diff.sources.new_source), "DIR",
     "with --diff: where the source of the new version is"},
    {"data", 0, HP_FLAG(data), NULL,
     "only the data that is in the page, as JSON (default: to standard output)"},
    HP_SHOWN_OPTIONS(shown),
    {"quiet", 'q', HP_FLAG(quiet), NULL, "no closing line"},
    {0},
};

static enum hp_err print(void *context, FILE *out)
{
    const struct request *r = context;
    if (r->compares && r->data)
        return hp_page_diff_data(&r->diff, out);
    if (r->compares)
        return hp_page_diff_write(&r->diff, r->template, out);
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

/* FILE, or with --diff OLD NEW. */
static enum hp_err check(const struct hp_invocation *call, const struct request *r)
{
    int needed = r->compares ? 2 : 1;
    if (call->n < needed)
        return hp_fail_usage(call, !r->compares ? "no FILE given"
                                   : call->n    ? "no NEW given"
                                                : "no OLD given");
    if (call->n > needed)
        return hp_fail_usage(call, "too many arguments");
    if (!r->compares && (r->diff.sources.old_source || r->diff.sources.new_source))
        return hp_fail_usage(call, "--old-source and --new-source are for --diff");
    if (r->compares && r->page.source_path)
        return hp_fail_usage(call, "with --diff, --old-source and --new-source name the sources");
    return HP_OK;
}

/* FILE, or OLD and NEW. */
static enum hp_err load(char *const *words, const struct request *r, struct hp_profile **old,
                        struct hp_profile **profile)
{
    if (r->compares)
        return hp_cli_load_versions(words[0], words[1], &r->shown, old, profile);
    HP_TRY(hp_cli_load(words[0], profile));
    return hp_cli_show(*profile, &r->shown);
}

/* "x.html" for "x.hotpath", "x.diff.html" for what changed up to it. */
static void name_page(struct hp_strbuf *name, const char *file, bool compares)
{
    size_t length = strlen(file), ending = strlen(".hotpath");
    bool has = length > ending && strcmp(file + length - ending, ".hotpath") == 0;
    hp_strbuf_bytes(name, file, has ? length - ending : length);
    hp_strbuf_add(name, compares ? ".diff.html" : ".html");
}

/* The template first: without one there is no need to read a profile. */
static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    struct hp_profile *old HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *template HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf beside HP_CLEANUP(hp_strbuf_fini) = {0};
    HP_TRY(check(call, r));
    const char *file = call->words[r->compares];
    if (!r->data)
        HP_TRY(hp_page_template(&template));
    HP_TRY(load(call->words, r, &old, &profile));
    r->template = template;
    r->profile = r->diff.new = profile;
    r->diff.old = old;
    r->diff.unfolded = !r->shown.physical;
    r->diff.old_name = call->words[0];
    r->diff.new_name = file;
    if (!r->path && !r->data) {
        name_page(&beside, file, r->compares);
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
    .synopsis = "[OPTIONS] (FILE | --diff OLD NEW)",
    .help = "Writes the profile in FILE as a page for a browser: one file that needs no other, and "
            "no network. Without -o it is FILE with .html in place of .hotpath. With --diff it "
            "shows what changed from one version of a program to another.\n",
    .examples = "  hotpath html gzip.hotpath\n"
                "  hotpath html gzip.hotpath -o page.html --source-path ~/src/gzip\n"
                "  hotpath html --diff old.hotpath new.hotpath -o diff.html\n"
                "  hotpath html gzip.hotpath --data > gzip.json\n",
    .options = {rows},
    .values = {sizeof(struct request), NULL},
    .run = run,
};
