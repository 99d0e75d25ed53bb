// SPDX-License-Identifier: MIT
/* Functions without names: of stripped files. What would name them is said once. */
#include "base/base.h"
#include "report/text.h"
#include "symbols/debuginfod.h"
#include "text/number.h"

#define LEAST 0.05 /* share of the run: less is not worth a line */

/* Instructions in functions without a name, by module. */
static enum hp_err count(const struct hp_profile *p, uint64_t **unnamed)
{
    HP_TRY(hp_new(unnamed, p->n_modules + 1, sizeof **unnamed));
    for (size_t i = 0; i < p->n_function_counts; i++) {
        const struct hp_pfunction *f = &p->functions[p->function_counts[i].item];
        if (!*hp_text(f->name) && f->place.module < p->n_modules)
            hp_add_up(&(*unnamed)[f->place.module], p->function_counts[i].self);
    }
    return HP_OK;
}

enum hp_err hp_put_unnamed(const struct hp_tables *tables, struct hp_strbuf *text)
{
    const struct hp_profile *p = tables->profile;
    uint64_t *unnamed HP_CLEANUP(hp_free) = NULL;
    size_t most = 0;
    char advice[600];
    HP_TRY(count(p, &unnamed));
    for (size_t i = 1; i < p->n_modules; i++)
        if (unnamed[i] > unnamed[most])
            most = i;
    double share = hp_number_share(unnamed[most], tables->summary.instructions);
    if (share < LEAST || *hp_text(p->modules[most].path) != '/')
        return HP_OK; /* code that was generated has no file */
    hp_debuginfod_advice(p->modules[most].path, advice, sizeof advice);
    hp_strbuf_format(text, "%s of the run is in functions of %s that have no names: %s",
                     HP_PERCENT(share), tables->modules[most], advice);
    return HP_OK;
}
