// SPDX-License-Identifier: MIT
#include "report/view.h"

#include "base/base.h"
#include "text/strbuf.h"

const struct hp_view hp_view_summary = {
    .name = "summary", .help = "totals of the run", .each = "(totals)", .lines = HP_LINES_NONE};

const struct hp_view hp_view_all = {.name = "all", .help = "everything"};

const struct hp_view *const hp_views[] = {
    &hp_view_summary,  &hp_view_functions,    &hp_view_blocks,
    &hp_view_edges,    &hp_view_calls,        &hp_view_contexts,
    &hp_view_lines,    &hp_view_threads,      &hp_view_modules,
    &hp_view_loops,    &hp_view_paths,        &hp_view_predictions,
    &hp_view_hotspots, &hp_view_loop_models,  &hp_view_partition,
    &hp_view_machine,  &hp_view_instructions, &hp_view_cpi,
    &hp_view_sampling, &hp_view_all,          NULL,
};

enum hp_err hp_view_from_name(const char *name, const struct hp_view **view)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    *view = NULL;
    if (strcmp(name, "default") == 0)
        return HP_OK;
    for (size_t i = 0; hp_views[i]; i++) {
        if (strcmp(name, hp_views[i]->name) == 0)
            *view = hp_views[i];
        hp_strbuf_format(&names, "%s%s",
                         i == 0            ? ""
                         : hp_views[i + 1] ? ", "
                                           : " and ",
                         hp_views[i]->name);
    }
    if (*view)
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "no view \"%s\": there are %s", name, hp_strbuf_text(&names));
}
