// SPDX-License-Identifier: MIT
#include "report/view.h"

#include "base/base.h"
#include "text/strbuf.h"

const struct hp_view hp_view_summary = {.name = "summary",
                                        .help = "totals of the run",
                                        .each = "(totals)",
                                        .lines = HP_LINES_FUNCTIONS};

const struct hp_view hp_view_all = {.name = "all", .help = "everything"};

#define ADDRESS(name) &hp_view_##name,
const struct hp_view *const hp_views[] = {HP_VIEWS(ADDRESS) NULL};

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
