// SPDX-License-Identifier: MIT
#include "report/report.h"

#include "base/base.h"
#include "report/print.h"
#include "report/query/query.h"
#include "report/view.h"

#include <errno.h>

const struct hp_name hp_report_units[] = {
    [HP_REPORT_BY_RUN] = {"run", NULL},
    [HP_REPORT_BY_FUNCTION] = {"function", NULL},
    [HP_REPORT_BY_LOOP] = {"loop", NULL},
    [HP_REPORT_BY_LINE] = {"line", NULL},
    [HP_REPORT_BY_INSTRUCTION] = {"instruction", NULL},
    {0},
};

enum hp_err hp_print_finish(FILE *out)
{
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return hp_fail(HP_ERR_IO, "cannot write the report: %s",
                       errno ? strerror(errno) : "write error");
    return HP_OK;
}

bool hp_print_is_counted(const struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    return p->n_block_counts || (!p->n_paths && !p->n_predictions && !p->n_loops && !p->n_insns &&
                                 !hp_view_hotspots.is_there(p));
}

bool hp_print_is_there(const struct hp_tables *tables, const struct hp_view *view)
{
    const struct hp_profile *p = tables->profile;
    if (!view->there[0])
        return view->is_there ? view->is_there(p) : hp_print_is_counted(tables);
    for (size_t i = 0; i < sizeof view->there / sizeof *view->there; i++)
        if (view->there[i] && hp_profile_n_rows(p, view->there[i]))
            return true;
    return false;
}

bool hp_print_is_asked(const struct hp_tables *tables, const struct hp_view *view)
{
    if (view->of_function && !(tables->query && tables->query->words->function))
        return false;
    return view->fields && (!tables->query || hp_query_fits(tables->query, tables, view) == HP_OK);
}

/* That something is left of what is to be printed. */
static enum hp_err check_query(const struct hp_tables *tables,
                               const struct hp_report_options *options)
{
    bool each = !options->view || options->view == &hp_view_all, any = false;
    for (size_t i = 0; each && hp_views[i]; i++)
        any |= hp_print_is_asked(tables, hp_views[i]) &&
               (options->view || options->format != HP_REPORT_TEXT || hp_views[i]->overview);
    if (!tables->query || any)
        return HP_OK;
    if (each)
        HP_TRY(hp_query_is_known(tables->query));
    return hp_query_fits(tables->query, tables, each ? hp_print_default(tables) : options->view);
}

const struct hp_view *hp_print_default(const struct hp_tables *tables)
{
    for (size_t i = 0; hp_views[i]; i++)
        if (hp_views[i]->overview && hp_print_is_there(tables, hp_views[i]) &&
            hp_print_is_asked(tables, hp_views[i]))
            return hp_views[i];
    return &hp_view_functions;
}

enum hp_err hp_report(const struct hp_profile *profile, const struct hp_report_options *options,
                      FILE *out)
{
    if ((unsigned)options->by >= HP_REPORT_BY_COUNT_)
        return hp_fail(HP_ERR_INVALID, "cycles are not summed by %d", (int)options->by);
    if ((unsigned)options->format > HP_REPORT_CSV)
        return hp_fail(HP_ERR_INVALID, "no report format %d", (int)options->format);
    struct hp_query query HP_CLEANUP(hp_query_fini) = {0};
    struct hp_tables tables HP_CLEANUP(hp_tables_fini) = {0};
    HP_TRY(hp_query_open(&query, &options->query, profile, &tables));
    tables.costs = options->partition;
    tables.by = options->by;
    tables.no_run = options->no_run;
    HP_TRY(check_query(&tables, options));
    flockfile(out); /* the printers use the unlocked calls */
    enum hp_err err = options->format == HP_REPORT_TEXT ? hp_print_text(&tables, options, out)
                                                        : hp_print_script(&tables, options, out);
    funlockfile(out);
    return err;
}
