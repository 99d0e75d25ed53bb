// SPDX-License-Identifier: MIT
#include "import/stretches.h"

#include "base/base.h"

enum hp_err hp_stretches_begin(struct hp_import_stretches *s, const struct hp_import_stretch *begin)
{
    HP_TRY(hp_grow(&s->all, &s->capacity, s->n + 1, sizeof *s->all));
    s->all[s->n] = *begin;
    s->all[s->n].first = s->n_runs;
    s->all[s->n++].n = 0;
    s->open = true;
    return HP_OK;
}

enum hp_err hp_stretches_extend(struct hp_import_stretches *s, uint32_t run, uint32_t to)
{
    HP_TRY(hp_grow(&s->runs, &s->cap_runs, s->n_runs + 1, sizeof *s->runs));
    s->runs[s->n_runs++] = run;
    s->all[s->n - 1].n++;
    s->all[s->n - 1].to = to;
    return HP_OK;
}

void hp_stretches_fini(struct hp_import_stretches *s)
{
    free(s->all);
    free(s->runs);
}

void hp_import_walk_fini(struct hp_import_walk *walk)
{
    free(walk->blocks);
    free(walk->taken);
}
