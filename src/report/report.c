// SPDX-License-Identifier: MIT
#include "report/report.h"

#include "report/print.h"

#include <errno.h>
#include <string.h>

static const char *const view_names[HP_REPORT_COUNT_] = {
    [HP_REPORT_DEFAULT] = "default",
    [HP_REPORT_SUMMARY] = "summary",
    [HP_REPORT_FUNCTIONS] = "functions",
    [HP_REPORT_BLOCKS] = "blocks",
    [HP_REPORT_EDGES] = "edges",
    [HP_REPORT_CALLS] = "calls",
    [HP_REPORT_LINES] = "lines",
    [HP_REPORT_THREADS] = "threads",
    [HP_REPORT_MODULES] = "modules",
    [HP_REPORT_PATHS] = "paths",
    [HP_REPORT_PREDICTIONS] = "predictions",
    [HP_REPORT_MACHINE] = "machine",
    [HP_REPORT_ALL] = "all",
};

const char *hp_report_view_name(enum hp_report_view view)
{
    return (unsigned)view < HP_REPORT_COUNT_ ? view_names[view] : NULL;
}

enum hp_err hp_report_view_from_name(const char *name, enum hp_report_view *view)
{
    for (unsigned i = 0; i < HP_REPORT_COUNT_; i++) {
        if (strcmp(name, view_names[i]) == 0) {
            *view = (enum hp_report_view)i;
            return HP_OK;
        }
    }
    return hp_fail(HP_ERR_INVALID,
                   "no view \"%s\": there are summary, functions, blocks, edges, calls, lines, "
                   "threads, modules, paths, predictions, machine and all",
                   name);
}

enum hp_err hp_print_finish(FILE *out)
{
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return hp_fail(HP_ERR_IO, "cannot write the report: %s",
                       errno ? strerror(errno) : "write error");
    return HP_OK;
}

enum hp_report_view hp_print_default(const struct hp_tables *tables)
{
    const struct hp_profile *profile = tables->profile;
    if (profile->n_block_counts || (!profile->n_paths && !profile->n_predictions))
        return HP_REPORT_FUNCTIONS;
    return profile->n_paths ? HP_REPORT_PATHS : HP_REPORT_PREDICTIONS;
}

static enum hp_err print(struct hp_tables *tables, const struct hp_report_options *options,
                         FILE *out)
{
    switch (options->format) {
    case HP_REPORT_TEXT: return hp_print_text(tables, options, out);
    case HP_REPORT_JSON: return hp_print_json(tables, options, out);
    case HP_REPORT_CSV: return hp_print_csv(tables, options, out);
    }
    return hp_fail(HP_ERR_INVALID, "no report format %d", (int)options->format);
}

enum hp_err hp_report(const struct hp_profile *profile, const struct hp_report_options *options,
                      FILE *out)
{
    if (!hp_report_view_name(options->view))
        return hp_fail(HP_ERR_INVALID, "no report view %d", (int)options->view);
    struct hp_tables tables;
    HP_TRY(hp_tables_init(&tables, profile));
    flockfile(out); /* the printers use the unlocked calls */
    enum hp_err err = print(&tables, options, out);
    funlockfile(out);
    hp_tables_fini(&tables);
    return err;
}
