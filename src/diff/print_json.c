// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "hotpath/cycles.h"
#include "text/json.h"
#include "text/number.h"

#include <string.h>

/* What only one version has is null in the other. */
static void put_known(struct hp_json *json, const char *key, bool known, uint64_t value)
{
    hp_json_key(json, key);
    if (known)
        hp_json_uint(json, value);
    else
        hp_json_null(json);
}

static void put_delta(struct hp_json *json, int64_t delta)
{
    hp_json_put_int(json, "delta", delta);
}

static const char *status_of(uint32_t old, uint32_t new)
{
    return new == HP_PROFILE_NONE ? "removed" : old == HP_PROFILE_NONE ? "added" : "same";
}

static void put_totals(struct hp_json *json, const struct hp_diff *diff)
{
    hp_json_put_array(json, "totals");
    for (int i = 0; i < HP_TOTALS; i++) {
        if (!diff->old->known[i] || !diff->new->known[i] ||
            (i >= HP_TOTAL_CYCLES && strcmp(diff->old->machine, diff->new->machine) != 0))
            continue;
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", hp_total_name((enum hp_total)i));
        hp_json_put_uint(json, "old", diff->old->totals[i]);
        hp_json_put_uint(json, "new", diff->new->totals[i]);
        put_delta(json, hp_delta(diff->old->totals[i], diff->new->totals[i]));
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_cycles(struct hp_json *json, const char *key, const struct hp_digest *d,
                       uint32_t function)
{
    hp_json_key(json, key);
    if (function == HP_PROFILE_NONE)
        hp_json_null(json);
    else
        hp_json_fixed(json, (double)d->functions[function].cycles / (double)HP_CYCLE_PARTS, 3);
}

/* Those that happened. */
static void put_events(struct hp_json *json, const char *key, const struct hp_dfunction *f)
{
    hp_json_key(json, key);
    if (!f) {
        hp_json_null(json);
        return;
    }
    hp_json_begin_object(json);
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        if (f->events[i])
            hp_json_put_uint(json, hp_insn_event_name((enum hp_insn_event)i), f->events[i]);
    hp_json_end_object(json);
}

static void put_function(struct hp_json *json, const struct hp_diff *diff,
                         const struct hp_diff_function *f)
{
    static const char *const hows[] = {
        [HP_DIFF_SAME] = "same", [HP_DIFF_SIGNATURE] = "signature", [HP_DIFF_RENAMED] = "renamed"};
    const struct hp_dfunction *old =
        f->old == HP_PROFILE_NONE ? NULL : &diff->old->functions[f->old];
    const struct hp_dfunction *new =
        f->new == HP_PROFILE_NONE ? NULL : &diff->new->functions[f->new];
    const struct hp_dfunction *shown = new ? new : old;
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", shown->name);
    hp_json_put_string(json, "linkage", shown->key);
    hp_json_put_string(json, "module", shown->module);
    hp_json_put_string(json, "file", shown->file);
    hp_json_put_uint(json, "line", shown->line);
    hp_json_put_string(json, "status", old && new ? hows[f->how] : status_of(f->old, f->new));
    if (old && new &&strcmp(old->name, new->name) != 0)
        hp_json_put_string(json, "old_name", old->name);
    if (f->inlined != HP_PROFILE_NONE)
        hp_json_put_string(json, "inlined_in",
                           (new ? diff->old : diff->new)->functions[f->inlined].name);
    hp_json_put_uint(json, "old", f->before);
    hp_json_put_uint(json, "new", f->after);
    put_delta(json, f->delta);
    put_known(json, "old_calls", old, old ? old->calls : 0);
    put_known(json, "new_calls", new, new ? new->calls : 0);
    if (diff->has_cycles) {
        put_cycles(json, "old_cycles", diff->old, f->old);
        put_cycles(json, "new_cycles", diff->new, f->new);
        put_known(json, "old_retired", old, old ? old->retired : 0);
        put_known(json, "new_retired", new, new ? new->retired : 0);
        put_events(json, "old_events", old);
        put_events(json, "new_events", new);
    }
    hp_json_end_object(json);
}

static void put_line(struct hp_json *json, const struct hp_diff *diff, const struct hp_diff_line *l)
{
    const struct hp_dline *old = l->old == HP_PROFILE_NONE ? NULL : &diff->old->lines[l->old];
    const struct hp_dline *new = l->new == HP_PROFILE_NONE ? NULL : &diff->new->lines[l->new];
    const struct hp_dline *shown = new ? new : old;
    hp_json_begin_object(json);
    hp_json_put_uint(json, "function", l->function);
    hp_json_put_string(json, "file", shown->file);
    put_known(json, "old_line", old, old ? old->line : 0);
    put_known(json, "new_line", new, new ? new->line : 0);
    hp_json_put_string(json, "inlined", shown->inlined);
    hp_json_put_uint(json, "old", old ? old->instructions : 0);
    hp_json_put_uint(json, "new", new ? new->instructions : 0);
    put_delta(json, l->delta);
    hp_json_end_object(json);
}

static void put_loop_side(struct hp_json *json, const char *key, const struct hp_dloop *loop)
{
    hp_json_key(json, key);
    if (!loop) {
        hp_json_null(json);
        return;
    }
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", loop->file);
    hp_json_put_uint(json, "line", loop->line);
    hp_json_put_uint(json, "executions", loop->executions);
    hp_json_put_uint(json, "iterations", loop->iterations);
    hp_json_put_uint(json, "self", loop->self);
    hp_json_end_object(json);
}

static void put_loop(struct hp_json *json, const struct hp_diff *diff, const struct hp_diff_loop *l)
{
    hp_json_begin_object(json);
    hp_json_put_uint(json, "function", l->function);
    put_loop_side(json, "old", l->old == HP_PROFILE_NONE ? NULL : &diff->old->loops[l->old]);
    put_loop_side(json, "new", l->new == HP_PROFILE_NONE ? NULL : &diff->new->loops[l->new]);
    put_delta(json, l->delta);
    hp_json_end_object(json);
}

static void put_path(struct hp_json *json, const struct hp_diff *diff, const struct hp_diff_path *p)
{
    const struct hp_dpath *old = p->old == HP_PROFILE_NONE ? NULL : &diff->old->paths[p->old];
    const struct hp_dpath *new = p->new == HP_PROFILE_NONE ? NULL : &diff->new->paths[p->new];
    const struct hp_digest *d = new ? diff->new : diff->old;
    const struct hp_dpath *shown = new ? new : old;
    hp_json_begin_object(json);
    hp_json_put_string(json, "kind", shown->kind);
    hp_json_put_string(json, "status", status_of(p->old, p->new));
    hp_json_put_uint(json, "old_executions", old ? old->count : 0);
    hp_json_put_uint(json, "new_executions", new ? new->count : 0);
    hp_json_put_uint(json, "old", old ? old->instructions : 0);
    hp_json_put_uint(json, "new", new ? new->instructions : 0);
    put_delta(json, p->delta);
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
    hp_json_end_object(json);
}

static size_t limit_of(const struct hp_diff_print *print, size_t n)
{
    size_t top = print->report.top == HP_REPORT_TOP_DEFAULT ? 0 : print->report.top;
    return top && top < n ? top : n;
}

enum hp_err hp_diff_print_json(const struct hp_diff *diff, const struct hp_diff_print *print,
                               FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    size_t functions = limit_of(print, diff->n_functions);
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "diff");
    hp_json_put_string(&json, "old", print->old_name);
    hp_json_put_string(&json, "new", print->new_name);
    put_totals(&json, diff);
    hp_json_put_array(&json, "functions");
    for (size_t i = 0; i < functions; i++)
        put_function(&json, diff, &diff->functions[i]);
    hp_json_end_array(&json);
    hp_json_put_array(&json, "lines");
    for (size_t i = 0; i < diff->n_lines && diff->lines[i].function < functions; i++)
        put_line(&json, diff, &diff->lines[i]);
    hp_json_end_array(&json);
    hp_json_put_array(&json, "loops");
    for (size_t i = 0; i < diff->n_loops; i++)
        if (diff->loops[i].function < functions)
            put_loop(&json, diff, &diff->loops[i]);
    hp_json_end_array(&json);
    hp_json_put_array(&json, "paths");
    for (size_t i = 0; i < limit_of(print, diff->n_paths); i++)
        put_path(&json, diff, &diff->paths[i]);
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}
