// SPDX-License-Identifier: MIT
/*
 * From the path profiler's tables to the profile.
 */
#include "base/grow.h"
#include "profiler/path/path_index.h"
#include "profiler/path/paths.h"
#include "profiler/path/walk.h"
#include "profiler/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KIND 512

struct out {
    const struct hp_profiler *profiler;
    const struct hp_paths_config *config;
    struct hp_result *result;
    struct hp_profile *profile;
    struct hp_walk *walk;
    const char *kind;
    uint32_t first;            /* the profile's index of our first path; then as in `all` */
    struct hp_path_count *all; /* paths of all threads together */
    const uint64_t **targets;  /* of each */
    size_t n, cap, cap_targets;
    struct hp_path_index index;
    bool *stepped;     /* by path: its steps have been added */
    bool *called;      /* by block: the edge of its call has been added */
    uint64_t *modules; /* by module: a hash of its identity, independent of where it was loaded */
};

/* --- Paths ------------------------------------------------------------------------------------ */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static enum hp_err hash_modules(struct out *out)
{
    const struct hp_code *code = out->result->code;
    uint32_t n = hp_code_n_modules(code);
    out->modules = calloc((size_t)n + 1, sizeof *out->modules);
    if (!out->modules)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_module *module = hp_code_module(code, i);
        out->modules[i] = hash_text(UINT64_C(0xcbf29ce484222325),
                                    *module->build_id ? module->build_id : module->path);
    }
    return HP_OK;
}

/* The targets of a path as in the profile: by place, as addresses differ between runs. */
static uint64_t hash_targets(const struct out *out, const struct hp_path *path,
                             const uint64_t *targets)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < path->n_targets; i++) {
        uint64_t place = targets[i];
        uint32_t id = hp_walk_block_at(out->walk, targets[i]);
        if (id != HP_NO_ID) {
            uint32_t module = hp_code_block(out->result->code, id)->module;
            place = hp_result_place(out->result, module, targets[i]).offset ^ out->modules[module];
        }
        hash = hp_path_hash_target(hash, place);
    }
    return hash;
}

static enum hp_err add_path(struct out *out, const struct hp_path_count *path,
                            const uint64_t *targets, uint64_t hash)
{
    const struct hp_pblock *block = &out->profile->blocks[path->path.block];
    struct hp_ppath *new;
    if (out->n >= HP_PATH_INDEX_MAX)
        return hp_fail(HP_ERR_UNSUPPORTED, "paths: more than %u in all threads", HP_PATH_INDEX_MAX);
    HP_TRY(hp_grow(&out->all, &out->cap, out->n + 1, sizeof *out->all));
    HP_TRY(hp_grow(&out->targets, &out->cap_targets, out->n + 1, sizeof *out->targets));
    HP_TRY(hp_path_index_add(&out->index, out->all, (uint32_t)out->n, hash));
    HP_TRY(hp_profile_add_path(out->profile, &new));
    *new = (struct hp_ppath){.kind = out->kind,
                             .start = block->place,
                             .outcomes = path->path.outcomes,
                             .targets = hash_targets(out, &path->path, targets),
                             .length = path->path.length,
                             .function = block->function};
    out->targets[out->n] = targets;
    out->all[out->n++] = (struct hp_path_count){.path = path->path};
    return HP_OK;
}

static enum hp_err add_thread_path(struct out *out, uint32_t thread,
                                   const struct hp_path_count *path, const uint64_t *targets)
{
    uint64_t hash = hp_path_hash(&path->path);
    uint32_t place = hp_path_index_find(&out->index, out->all, &path->path, hash);
    struct hp_ppath_count *count;
    if (place == HP_NO_ID) {
        place = (uint32_t)out->n;
        HP_TRY(add_path(out, path, targets, hash));
    }
    out->all[place].count += path->count;
    out->all[place].insns += path->insns;
    out->all[place].events += path->events;
    HP_TRY(hp_profile_add_path_count(out->profile, &count));
    *count = (struct hp_ppath_count){.item = out->first + place,
                                     .thread = thread,
                                     .count = path->count,
                                     .insns = path->insns,
                                     .events = path->events};
    return HP_OK;
}

static enum hp_err add_thread(struct out *out, const struct hp_paths_thread_view *view)
{
    uint32_t thread;
    size_t n;
    const struct hp_detector_stats *stats = view->stats;
    const struct hp_path_count *paths = hp_complete_paths(view->complete, &n);
    const uint64_t *targets = hp_complete_targets(view->complete);
    HP_TRY(hp_result_thread(out->result, view->thread, &thread));
    hp_result_thread_counts(out->result, thread, stats->instructions, stats->blocks,
                            stats->branches);
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_thread_path(out, thread, &paths[i],
                               targets ? targets + paths[i].path.first_target : NULL));
    uint64_t lost = hp_complete_lost(view->complete).count;
    if (lost)
        return hp_profile_note(out->profile, lost, "paths",
                               "executions of paths are in no count: a thread had more than %zu "
                               "distinct paths (--max-paths)",
                               n);
    return HP_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct hp_paths_thread_view *x = a, *y = b;
    return x->thread->id < y->thread->id ? -1 : x->thread->id > y->thread->id;
}

/* In order of creation, whatever the order in which they started. */
static enum hp_err add_threads(struct out *out)
{
    size_t n = hp_paths_threads(out->profiler);
    struct hp_paths_thread_view *views = calloc(n + 1, sizeof *views);
    if (!views)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        views[i] = hp_paths_thread(out->profiler, i);
    qsort(views, n, sizeof *views, by_id);
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < n && err == HP_OK; i++)
        err = add_thread(out, &views[i]);
    free(views);
    return err;
}

/* --- Cycles ----------------------------------------------------------------------------------- */

static uint64_t all_costs(const struct hp_path_costs *costs)
{
    uint64_t sum = 0;
    for (int i = 0; i < HP_CAUSES; i++)
        sum += costs->of[i];
    return sum;
}

static enum hp_err add_time(struct out *out, uint32_t path, const struct hp_path_count *count,
                            const struct hp_path_costs *costs)
{
    struct hp_ppath_time *time;
    HP_TRY(hp_profile_add_path_time(out->profile, &time));
    *time = (struct hp_ppath_time){
        .path = out->first + path, .count = count->count, .insns = count->insns};
    for (int i = 0; i < HP_CAUSES; i++) {
        struct hp_ppath_cycles *cycles;
        if (!costs->of[i])
            continue;
        HP_TRY(hp_profile_add_path_cycles(out->profile, &cycles));
        *cycles = (struct hp_ppath_cycles){
            .path = out->first + path, .cause = (uint8_t)i, .parts = costs->of[i]};
    }
    return HP_OK;
}

/* Of paths that the complete profile has no room for the cycles are lost, too. */
static enum hp_err add_times(struct out *out)
{
    const struct hp_timed_paths *timed = hp_paths_timed(out->profiler);
    uint64_t parts = 0, lost = all_costs(&timed->lost);
    char part[MAX_KIND + 16];
    if (!out->config->cycles.machine)
        return HP_OK;
    for (size_t i = 0; i < timed->n; i++) {
        const struct hp_path *path = &timed->paths[i].path;
        uint32_t place = hp_path_index_find(&out->index, out->all, path, hp_path_hash(path));
        uint64_t own = all_costs(&timed->costs[i]);
        if (place == HP_NO_ID) {
            lost += own;
            continue;
        }
        parts += own;
        HP_TRY(add_time(out, place, &timed->paths[i], &timed->costs[i]));
    }
    snprintf(part, sizeof part, "paths %s", out->kind);
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {
        {"measured", timed->executions},
        {"cycles", hp_cycles_of(parts)},
        {"unfinished_cycles", hp_cycles_of(all_costs(&timed->unfinished))},
        {"lost_cycles", hp_cycles_of(lost)},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        HP_TRY(hp_profile_add_stat(out->profile, part, values[i].name, HP_STAT_COUNT,
                                   values[i].value));
    return HP_OK;
}

/* --- Steps ------------------------------------------------------------------------------------ */

struct weight {
    uint64_t weight;
    uint32_t path;
};

/* Among equals by what they are: their order depends on when they were counted. */
static int heavier_first(const void *a, const void *b, void *paths)
{
    const struct weight *x = a, *y = b;
    const struct hp_path_count *all = paths;
    const struct hp_path *p = &all[x->path].path, *q = &all[y->path].path;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (p->start != q->start)
        return p->start < q->start ? -1 : 1;
    if (p->length != q->length)
        return p->length < q->length ? -1 : 1;
    if (p->outcomes != q->outcomes)
        return p->outcomes < q->outcomes ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

/* Adds where a call on a path goes: the callee is not a step of the path, but useful to its
 * reader. */
static enum hp_err add_call_edge(struct out *out, uint32_t id)
{
    const struct hp_block *block = hp_code_block(out->result->code, id);
    uint32_t target = block->target ? hp_walk_block_at(out->walk, block->target) : HP_NO_ID;
    struct hp_pedge *edge;
    if (target == HP_NO_ID || out->called[id])
        return HP_OK;
    out->called[id] = true;
    HP_TRY(hp_profile_add_edge(out->profile, &edge));
    *edge = (struct hp_pedge){.from = hp_result_place(out->result, block->module, block->last),
                              .to = out->profile->blocks[target].place,
                              .flow = block->flow,
                              .taken = 1};
    return HP_OK;
}

static enum hp_err add_path_steps(struct out *out, uint32_t path)
{
    const struct hp_walk_step *steps;
    if (out->stepped[path])
        return HP_OK;
    out->stepped[path] = true;
    size_t n = hp_walk_path(out->walk, &out->all[path].path, out->targets[path], &steps);
    for (size_t i = 0; i < n; i++) {
        struct hp_pstep *step;
        HP_TRY(hp_profile_add_path_step(out->profile, &step));
        *step = (struct hp_pstep){.path = out->first + path,
                                  .position = (uint32_t)i,
                                  .block = steps[i].block,
                                  .how = steps[i].how};
        if (steps[i].how == HP_STEP_CALLED)
            HP_TRY(add_call_edge(out, steps[i].block));
    }
    return HP_OK;
}

static uint64_t weight_of(const struct out *out, const struct hp_path_count *count, bool by_cycles)
{
    const struct hp_timed_paths *timed = hp_paths_timed(out->profiler);
    uint32_t place = by_cycles ? hp_timed_paths_find(timed, &count->path) : HP_NO_ID;
    if (by_cycles)
        return place == HP_NO_ID ? 0 : all_costs(&timed->costs[place]);
    return hp_metric_needs_machine(out->config->ppcr.metric) ? count->events : count->insns;
}

/* Those of the heaviest paths. */
static enum hp_err add_steps_by(struct out *out, struct weight *weights, bool by_cycles)
{
    for (size_t i = 0; i < out->n; i++)
        weights[i] = (struct weight){weight_of(out, &out->all[i], by_cycles), (uint32_t)i};
    qsort_r(weights, out->n, sizeof *weights, heavier_first, out->all);
    for (size_t i = 0; i < out->n && i < HP_PATHS_STEPS; i++)
        HP_TRY(add_path_steps(out, weights[i].path));
    return HP_OK;
}

static enum hp_err add_steps(struct out *out)
{
    struct weight *weights = calloc(out->n + 1, sizeof *weights);
    out->stepped = calloc(out->n + 1, sizeof *out->stepped);
    out->called = calloc((size_t)hp_code_n_blocks(out->result->code) + 1, sizeof *out->called);
    if (!weights || !out->stepped || !out->called) {
        free(weights);
        return hp_fail_nomem();
    }
    enum hp_err err = add_steps_by(out, weights, false);
    if (err == HP_OK && out->config->cycles.machine)
        err = add_steps_by(out, weights, true);
    free(weights);
    return err;
}

/* --- What the models did ---------------------------------------------------------------------- */

/* The members of struct hp_detector_stats by name. */
static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"branches", offsetof(struct hp_detector_stats, branches)},
    {"blocks", offsetof(struct hp_detector_stats, blocks)},
    {"instructions", offsetof(struct hp_detector_stats, instructions)},
    {"paths", offsetof(struct hp_detector_stats, paths)},
    {"splits", offsetof(struct hp_detector_stats, splits)},
    {"overflows", offsetof(struct hp_detector_stats, overflows)},
    {"dropped", offsetof(struct hp_detector_stats, dropped)},
    {"underflows", offsetof(struct hp_detector_stats, underflows)},
    {"repairs", offsetof(struct hp_detector_stats, repairs)},
    {"repaired", offsetof(struct hp_detector_stats, repaired)},
    {"purges", offsetof(struct hp_detector_stats, purges)},
    {"unfinished", offsetof(struct hp_detector_stats, unfinished)},
    {"unfinished_instructions", offsetof(struct hp_detector_stats, unfinished_insns)},
    {"saturated", offsetof(struct hp_detector_stats, saturated)},
    {"pieces", offsetof(struct hp_detector_stats, pieces)},
};

static enum hp_err add_detectors(struct out *out)
{
    char part[MAX_KIND + 16];
    snprintf(part, sizeof part, "paths %s", out->kind);
    uint64_t lost = 0, lost_insns = 0;
    for (size_t t = 0; t < hp_paths_threads(out->profiler); t++) {
        struct hp_paths_thread_view view = hp_paths_thread(out->profiler, t);
        lost += hp_complete_lost(view.complete).count;
        lost_insns += hp_complete_lost(view.complete).insns;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uint64_t sum = 0;
        if (members[i].offset == offsetof(struct hp_detector_stats, overflows) &&
            out->config->ppcr.overflow == HP_OVERFLOW_SPILL)
            continue; /* nothing comes of it */
        if (members[i].offset == offsetof(struct hp_detector_stats, pieces) && !out->config->pieces)
            continue;
        for (size_t t = 0; t < hp_paths_threads(out->profiler); t++) {
            struct hp_paths_thread_view view = hp_paths_thread(out->profiler, t);
            sum += *(const uint64_t *)(const void *)((const char *)view.stats + members[i].offset);
        }
        HP_TRY(hp_profile_add_stat(out->profile, part, members[i].name, HP_STAT_COUNT, sum));
    }
    HP_TRY(hp_profile_add_stat(out->profile, part, "lost", HP_STAT_COUNT, lost));
    return hp_profile_add_stat(out->profile, part, "lost_instructions", HP_STAT_COUNT, lost_insns);
}

/* Percent in thousandths. */
static uint64_t thousandths(double percent)
{
    return percent <= 0 ? 0 : (uint64_t)(percent * 1000 + 0.5);
}

/* The table's overlap with the complete profile, and that of the best table of its size. */
static enum hp_err add_overlap(struct out *out, const char *part, size_t entries,
                               const struct hp_path_count *table, size_t n)
{
    double overlap, best;
    HP_TRY(hp_path_overlap(table, n, out->all, out->n, HP_WEIGHT_EVENTS, &overlap));
    HP_TRY(hp_path_coverage(out->all, out->n, HP_WEIGHT_EVENTS, entries, &best));
    HP_TRY(hp_profile_add_stat(out->profile, part, "overlap", HP_STAT_SHARE, thousandths(overlap)));
    return hp_profile_add_stat(out->profile, part, "best", HP_STAT_SHARE, thousandths(best));
}

/* The final contents of the table, with the steps of these paths. */
static enum hp_err add_table_paths(struct out *out, const char *name,
                                   const struct hp_path_count *table, size_t n)
{
    uint64_t unknown = 0;
    name = hp_profile_string(out->profile, name);
    if (!name)
        return HP_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t path =
            hp_path_index_find(&out->index, out->all, &table[i].path, hp_path_hash(&table[i].path));
        struct hp_ptable_path *row;
        if (path == HP_NO_ID) {
            unknown++;
            continue;
        }
        HP_TRY(add_path_steps(out, path));
        HP_TRY(hp_profile_add_table_path(out->profile, &row));
        *row = (struct hp_ptable_path){
            .table = name, .path = out->first + path, .events = table[i].count};
    }
    if (unknown)
        return hp_profile_note(out->profile, unknown, "paths",
                               "paths of hot path tables are left out: they are not among the "
                               "distinct paths that were counted (--max-paths)");
    return HP_OK;
}

static enum hp_err add_table_content(struct out *out, const char *part, size_t i)
{
    size_t entries = out->config->tables[i].entries;
    struct hp_path_count *table = calloc(entries, sizeof *table);
    if (!table)
        return hp_fail_nomem();
    size_t n = hp_hpt_paths(hp_paths_table(out->profiler, i), table);
    uint64_t events = 0;
    for (size_t k = 0; k < n; k++)
        events += table[k].count;
    enum hp_err err = hp_profile_add_stat(out->profile, part, "filled", HP_STAT_COUNT, n);
    if (err == HP_OK)
        err = hp_profile_add_stat(out->profile, part, "events", HP_STAT_COUNT, events);
    if (err == HP_OK)
        err = add_overlap(out, part, entries, table, n);
    if (err == HP_OK)
        err = add_table_paths(out, part + strlen("hpt "), table, n);
    free(table);
    return err;
}

static enum hp_err add_table(struct out *out, size_t i)
{
    const struct hp_hpt_config *config = &out->config->tables[i];
    const struct hp_hpt_stats *stats = hp_hpt_stats(hp_paths_table(out->profiler, i));
    const struct hp_paths_windows *windows = hp_paths_windows(out->profiler);
    char text[128], part[MAX_KIND + sizeof text + 16];
    hp_hpt_format(config, text, sizeof text);
    snprintf(part, sizeof part, "hpt %s %s", text, out->kind);
    const struct {
        const char *name;
        enum hp_stat_unit unit;
        uint64_t value;
    } values[] = {
        {"bytes", HP_STAT_SIZE, hp_hpt_bytes(config)},
        {"entries", HP_STAT_SIZE, config->entries},
        {"paths", HP_STAT_COUNT, stats->paths},
        {"hits", HP_STAT_COUNT, stats->hits},
        {"misses", HP_STAT_COUNT, stats->misses},
        {"replacements", HP_STAT_COUNT, stats->replacements},
    };
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        HP_TRY(hp_profile_add_stat(out->profile, part, values[k].name, values[k].unit,
                                   values[k].value));
    HP_TRY(add_table_content(out, part, i));
    if (windows->n == 0)
        return HP_OK;
    HP_TRY(hp_profile_add_stat(out->profile, part, "windows", HP_STAT_COUNT, windows->n));
    return hp_profile_add_stat(out->profile, part, "window_overlap", HP_STAT_SHARE,
                               thousandths(windows->overlap[i] / (double)windows->n));
}

/* --- All together ----------------------------------------------------------------------------- */

/* In code without symbols, functions are those that are called; calls may not have been examined
 * yet. */
static void find_functions(struct out *out)
{
    const struct hp_code *code = out->result->code;
    for (uint32_t i = 0; i < hp_code_n_blocks(code); i++) {
        const struct hp_block *block = hp_code_block(code, i);
        uint32_t target = HP_NO_ID;
        if (block->flow == HP_FLOW_CALL && block->target != block->end)
            target = hp_walk_block_at(out->walk, block->target);
        if (target != HP_NO_ID)
            hp_functions_enter(out->result->functions, target);
    }
}

static enum hp_err add_all(struct out *out)
{
    char kind[MAX_KIND];
    hp_ppcr_format(&out->config->ppcr, kind, sizeof kind);
    out->kind = hp_profile_string(out->profile, kind);
    if (!out->kind)
        return HP_ERR_NOMEM;
    HP_TRY(hp_walk_new(out->result->code, &out->config->ppcr, &out->walk));
    find_functions(out);
    HP_TRY(hp_result_code(out->result));
    HP_TRY(hash_modules(out));
    HP_TRY(add_threads(out));
    HP_TRY(add_steps(out));
    HP_TRY(add_detectors(out));
    HP_TRY(add_times(out));
    for (size_t i = 0; i < out->config->n_tables; i++)
        HP_TRY(add_table(out, i));
    return HP_OK;
}

enum hp_err hp_paths_result(const struct hp_profiler *profiler, struct hp_result *result)
{
    struct out out = {.profiler = profiler,
                      .config = hp_paths_config(profiler),
                      .result = result,
                      .profile = result->profile,
                      .first = (uint32_t)result->profile->n_paths};
    enum hp_err err = add_all(&out);
    hp_walk_free(out.walk);
    hp_path_index_fini(&out.index);
    free(out.all);
    free(out.targets);
    free(out.modules);
    free(out.stepped);
    free(out.called);
    return err;
}
