// SPDX-License-Identifier: MIT
/*
 * The steps of paths in their normal form.
 *
 * Where paths are joined each may have steps: those of one of them are kept, whole, as a path that
 * is made of pieces of two would be none that was executed. (They differ when code at the same
 * place did.)
 */
#include "base/base.h"
#include "profile/profile_impl.h"

/* The steps of an old path. */
struct run {
    const struct hp_pstep *steps;
    size_t n;
};

static struct run run_at(const struct hp_profile *p, size_t at)
{
    struct run run = {&p->path_steps[at], 1};
    while (at + run.n < p->n_path_steps && run.steps[run.n].path == run.steps->path)
        run.n++;
    return run;
}

/* The longer one, then the smaller one: not who came first. */
static bool is_better(struct run a, struct run b)
{
    int order = HP_COMPARE(b.n, a.n);
    for (size_t i = 0; !order && i < a.n; i++)
        order = HP_COMPARE(a.steps[i].position, b.steps[i].position)
                    ?: HP_COMPARE(a.steps[i].block, b.steps[i].block)
                    ?: HP_COMPARE(a.steps[i].how, b.steps[i].how);
    return order < 0;
}

/* Sorted as those of the old paths, and again as those of the new ones. */
enum hp_err hp_steps_order(struct hp_profile *p, const uint32_t *paths)
{
    uint32_t *old_map HP_CLEANUP(hp_free) = NULL, *map HP_CLEANUP(hp_free) = NULL;
    struct run *best HP_CLEANUP(hp_free) = calloc(p->n_paths + 1, sizeof *best);
    struct run run;
    size_t kept = 0;
    if (!best)
        return hp_fail_nomem();
    HP_TRY(hp_rows_order(p, HP_ROW_PATH_STEP, &old_map));
    for (size_t at = 0; at < p->n_path_steps; at += run.n) {
        run = run_at(p, at);
        struct run *known = &best[paths[run.steps->path]];
        if (known->n == 0 || is_better(run, *known))
            *known = run;
    }
    for (size_t at = 0; at < p->n_path_steps; at += run.n) {
        run = run_at(p, at);
        uint32_t path = paths[run.steps->path];
        bool stays = best[path].steps == run.steps;
        for (size_t i = 0; stays && i < run.n; i++) {
            p->path_steps[kept] = run.steps[i];
            p->path_steps[kept++].path = path;
        }
    }
    p->n_path_steps = kept;
    return hp_rows_order(p, HP_ROW_PATH_STEP, &map);
}
