// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/base.h"
#include "hotpath/cycles.h"

/* What only one version has is null in the other. */
static void put_known(struct hp_json *json, const char *key, bool known, uint64_t value)
{
    if (known)
        hp_json_put_uint(json, key, value);
    else
        hp_json_put_null(json, key);
}

void hp_diff_put_counts(struct hp_json *json, uint64_t old, uint64_t new)
{
    hp_json_put_uint(json, "old", old);
    hp_json_put_uint(json, "new", new);
    hp_json_put_int(json, "delta", hp_delta(old, new));
}

static const char *status_of(const struct hp_change *c)
{
    static const char *const hows[] = {"same", "signature", "renamed"};
    return c->new == HP_PROFILE_NONE   ? "removed"
           : c->old == HP_PROFILE_NONE ? "added"
                                       : hows[c->how];
}

static void put_cycles(struct hp_json *json, const char *key, const struct hp_dfunction *f)
{
    if (f)
        hp_json_put_fixed(json, key, (double)f->cycles / (double)HP_CYCLE_PARTS, 3);
    else
        hp_json_put_null(json, key);
}

/* Those that happened. */
static void put_events(struct hp_json *json, const char *key, const struct hp_dfunction *f)
{
    if (!f) {
        hp_json_put_null(json, key);
        return;
    }
    hp_json_put_object(json, key);
    for (enum hp_insn_event i = 0; i < HP_INSN_EVENTS; i++)
        if (f->events[i])
            hp_json_put_uint(json, hp_insn_event_name(i), f->events[i]);
    hp_json_end_object(json);
}

static void put_function(struct hp_json *json, const struct hp_diff *diff,
                         const struct hp_change *f)
{
    const struct hp_dfunction *old = f->old_item, *new = f->new_item, *shown = new ?: old;
    hp_json_put_string(json, "name", shown->name);
    hp_json_put_string(json, "linkage", shown->key);
    hp_json_put_string(json, "module", shown->module);
    hp_json_put_string(json, "file", shown->file);
    hp_json_put_uint(json, "line", shown->line);
    hp_json_put_string(json, "status", status_of(f));
    if (old && new &&strcmp(old->name, new->name) != 0)
        hp_json_put_string(json, "old_name", old->name);
    if (f->inlined != HP_PROFILE_NONE)
        hp_json_put_string(json, "inlined_in",
                           (new ? diff->old : diff->new)->functions[f->inlined].name);
    hp_diff_put_counts(json, f->before, f->after);
    put_known(json, "old_calls", old, old ? old->calls : 0);
    put_known(json, "new_calls", new, new ? new->calls : 0);
    if (!hp_diff_has(diff, HP_TOTAL_CYCLES))
        return;
    put_cycles(json, "old_cycles", old);
    put_cycles(json, "new_cycles", new);
    put_known(json, "old_retired", old, old ? old->retired : 0);
    put_known(json, "new_retired", new, new ? new->retired : 0);
    put_events(json, "old_events", old);
    put_events(json, "new_events", new);
}

static void put_line(struct hp_json *json, const struct hp_change *l)
{
    const struct hp_dline *old = l->old_item, *new = l->new_item, *shown = new ?: old;
    hp_json_put_uint(json, "function", l->function);
    hp_json_put_string(json, "file", shown->file);
    put_known(json, "old_line", old, old ? old->line : 0);
    put_known(json, "new_line", new, new ? new->line : 0);
    hp_json_put_string(json, "inlined", shown->inlined);
    hp_diff_put_counts(json, l->before, l->after);
}

static void put_loop_side(struct hp_json *json, const char *key, const struct hp_dloop *loop)
{
    if (!loop) {
        hp_json_put_null(json, key);
        return;
    }
    hp_json_put_object(json, key);
    hp_json_put_string(json, "file", loop->file);
    hp_json_put_uint(json, "line", loop->line);
    hp_json_put_uint(json, "executions", loop->executions);
    hp_json_put_uint(json, "iterations", loop->iterations);
    hp_json_put_uint(json, "self", loop->self);
    hp_json_end_object(json);
}

static void put_loop(struct hp_json *json, const struct hp_change *l)
{
    hp_json_put_uint(json, "function", l->function);
    put_loop_side(json, "old", l->old_item);
    put_loop_side(json, "new", l->new_item);
    hp_json_put_int(json, "delta", l->delta);
}

static void put_path(struct hp_json *json, const struct hp_diff *diff, const struct hp_change *p)
{
    const struct hp_dpath *old = p->old_item, *new = p->new_item, *shown = new ?: old;
    const struct hp_digest *d = new ? diff->new : diff->old;
    hp_json_put_string(json, "kind", shown->kind);
    hp_json_put_string(json, "status", status_of(p));
    hp_json_put_uint(json, "old_executions", old ? old->count : 0);
    hp_json_put_uint(json, "new_executions", new ? new->count : 0);
    hp_diff_put_counts(json, p->before, p->after);
    hp_json_put_array(json, "steps");
    for (uint32_t i = 0; i < shown->n_steps; i++) {
        const struct hp_dline *line = &d->lines[d->steps[shown->steps + i]];
        hp_json_begin_object(json);
        hp_json_put_string(json, "function", d->functions[line->function].name);
        hp_json_put_string(json, "file", line->file);
        hp_json_put_uint(json, "line", line->line);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* Lines and loops only of functions that are printed. */
static void put_part(struct hp_json *json, const struct hp_diff *diff,
                     const struct hp_diff_print *print, enum hp_diff_kind kind)
{
    static const char *const keys[HP_DIFF_KINDS] = {"functions", "lines", "loops", "paths"};
    const struct hp_changes *changes = &diff->kinds[kind];
    bool of_functions = kind == HP_DIFF_LINES || kind == HP_DIFF_LOOPS;
    size_t limit = hp_diff_limit(print, of_functions ? diff->functions.n : changes->n, 0);
    hp_json_put_array(json, keys[kind]);
    for (size_t i = 0; i < changes->n; i++) {
        const struct hp_change *change = &changes->items[i];
        if ((of_functions ? change->function : i) >= limit)
            continue;
        hp_json_begin_object(json);
        switch (kind) {
        case HP_DIFF_FUNCTIONS: put_function(json, diff, change); break;
        case HP_DIFF_LINES: put_line(json, change); break;
        case HP_DIFF_LOOPS: put_loop(json, change); break;
        default: put_path(json, diff, change);
        }
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

void hp_diff_put_json(struct hp_json *json, const struct hp_diff *diff,
                      const struct hp_diff_print *print)
{
    hp_json_put_object(json, "diff");
    hp_json_put_string(json, "old", print->old_name);
    hp_json_put_string(json, "new", print->new_name);
    hp_json_put_array(json, "totals");
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (hp_diff_has(diff, i)) {
            hp_json_begin_object(json);
            hp_json_put_string(json, "name", hp_total_names[i]);
            hp_diff_put_counts(json, diff->old->totals[i], diff->new->totals[i]);
            hp_json_end_object(json);
        }
    hp_json_end_array(json);
    for (enum hp_diff_kind kind = 0; kind < HP_DIFF_KINDS; kind++)
        put_part(json, diff, print, kind);
    hp_json_end_object(json);
}

enum hp_err hp_diff_print_json(const struct hp_diff *diff, const struct hp_diff_print *print,
                               FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_diff_put_json(&json, diff, print);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}
