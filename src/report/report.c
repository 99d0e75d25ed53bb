// SPDX-License-Identifier: MIT
#include "report/report.h"

#include "report/print.h"
#include "report/view.h"

#include <errno.h>
#include <string.h>

static const char *const view_names[HP_REPORT_COUNT_] = {
    [HP_REPORT_DEFAULT] = "default",
    [HP_REPORT_SUMMARY] = "summary",
    [HP_REPORT_FUNCTIONS] = "functions",
    [HP_REPORT_BLOCKS] = "blocks",
    [HP_REPORT_EDGES] = "edges",
    [HP_REPORT_CALLS] = "calls",
    [HP_REPORT_CONTEXTS] = "contexts",
    [HP_REPORT_LINES] = "lines",
    [HP_REPORT_THREADS] = "threads",
    [HP_REPORT_MODULES] = "modules",
    [HP_REPORT_LOOPS] = "loops",
    [HP_REPORT_PATHS] = "paths",
    [HP_REPORT_PREDICTIONS] = "predictions",
    [HP_REPORT_HOTSPOTS] = "hotspots",
    [HP_REPORT_LOOP_MODELS] = "loop-models",
    [HP_REPORT_PARTITION] = "partition",
    [HP_REPORT_MACHINE] = "machine",
    [HP_REPORT_INSTRUCTIONS] = "instructions",
    [HP_REPORT_CPI] = "cpi",
    [HP_REPORT_SAMPLING] = "sampling",
    [HP_REPORT_ALL] = "all",
};

const char *hp_report_view_name(enum hp_report_view view)
{
    return (unsigned)view < HP_REPORT_COUNT_ ? view_names[view] : NULL;
}

const char *hp_report_view_member(enum hp_report_view view)
{
    return view == HP_REPORT_LOOP_MODELS ? "loop_models" : hp_report_view_name(view);
}

enum hp_err hp_report_view_from_name(const char *name, enum hp_report_view *view)
{
    for (unsigned i = 0; i < HP_REPORT_COUNT_; i++) {
        if (strcmp(name, view_names[i]) == 0) {
            *view = (enum hp_report_view)i;
            return HP_OK;
        }
    }
    struct hp_strbuf names = {0};
    for (size_t i = 0; hp_views[i]; i++) {
        hp_strbuf_add(&names, i == 0 ? "" : hp_views[i + 1] ? ", " : " and ");
        hp_strbuf_add(&names, hp_views[i]->name);
    }
    enum hp_err err =
        hp_fail(HP_ERR_INVALID, "no view \"%s\": there are %s", name, hp_strbuf_text(&names));
    hp_strbuf_fini(&names);
    return err;
}

static const char *const by_names[HP_REPORT_BY_COUNT_] = {
    [HP_REPORT_BY_RUN] = "run",
    [HP_REPORT_BY_FUNCTION] = "function",
    [HP_REPORT_BY_LOOP] = "loop",
    [HP_REPORT_BY_LINE] = "line",
    [HP_REPORT_BY_INSTRUCTION] = "instruction",
};

const char *hp_report_by_name(enum hp_report_by by)
{
    return (unsigned)by < HP_REPORT_BY_COUNT_ ? by_names[by] : NULL;
}

enum hp_err hp_report_by_from_name(const char *name, enum hp_report_by *by)
{
    for (unsigned i = 0; i < HP_REPORT_BY_COUNT_; i++) {
        if (strcmp(name, by_names[i]) == 0) {
            *by = (enum hp_report_by)i;
            return HP_OK;
        }
    }
    return hp_fail(HP_ERR_INVALID,
                   "cycles are not summed by \"%s\": there are run, function, loop, line and "
                   "instruction",
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

/* Whether a model said something under a name that starts so. */
static bool has_part(const struct hp_profile *profile, const char *start)
{
    for (size_t i = 0; i < profile->n_stats; i++)
        if (strncmp(hp_text(profile->stats[i].part), start, strlen(start)) == 0)
            return true;
    return false;
}

bool hp_print_is_counted(const struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    return p->n_block_counts || (!p->n_paths && !p->n_predictions && !p->n_loops && !p->n_insns &&
                                 !hp_print_is_there(tables, HP_REPORT_HOTSPOTS));
}

bool hp_print_is_there(const struct hp_tables *tables, enum hp_report_view view)
{
    const struct hp_profile *p = tables->profile;
    switch (view) {
    case HP_REPORT_CONTEXTS: return p->n_contexts > 0;
    case HP_REPORT_PATHS: return p->n_paths > 0;
    case HP_REPORT_PREDICTIONS: return p->n_predictions > 0;
    case HP_REPORT_LOOPS:
    case HP_REPORT_PARTITION: return p->n_loops > 0;
    case HP_REPORT_LOOP_MODELS: return p->n_model_loops > 0;
    /* Asked for, a detector that found nothing is worth a line. */
    case HP_REPORT_HOTSPOTS: return p->n_hotspots > 0 || has_part(p, "hotspots ");
    case HP_REPORT_MACHINE: return p->n_stats > 0;
    case HP_REPORT_INSTRUCTIONS: return p->n_insn_tallies > 0 || p->n_insn_cycles > 0;
    case HP_REPORT_CPI: return p->n_insn_cycles > 0 || p->n_windows > 0;
    case HP_REPORT_SAMPLING: return p->n_samplers > 0 || p->n_attributions > 0;
    case HP_REPORT_THREADS: return true;
    default: return hp_print_is_counted(tables);
    }
}

enum hp_report_view hp_print_default(const struct hp_tables *tables)
{
    static const enum hp_report_view views[] = {HP_REPORT_FUNCTIONS, HP_REPORT_LOOPS,
                                                HP_REPORT_PATHS,     HP_REPORT_PREDICTIONS,
                                                HP_REPORT_HOTSPOTS,  HP_REPORT_INSTRUCTIONS};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (hp_print_is_there(tables, views[i]))
            return views[i];
    return HP_REPORT_FUNCTIONS;
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
    if (!hp_report_by_name(options->by))
        return hp_fail(HP_ERR_INVALID, "cycles are not summed by %d", (int)options->by);
    struct hp_tables tables;
    HP_TRY(hp_tables_init(&tables, profile));
    tables.costs = options->partition;
    tables.by = options->by;
    flockfile(out); /* the printers use the unlocked calls */
    enum hp_err err = print(&tables, options, out);
    funlockfile(out);
    hp_tables_fini(&tables);
    return err;
}
