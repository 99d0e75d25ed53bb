// SPDX-License-Identifier: MIT
#include "profiler/path/paths.h"

#include "base/grow.h"
#include "profiler/path/detector_impl.h"
#include "profiler/path/frames.h"
#include "profiler/path/path_index.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_TIMES (UINT64_C(1) << 56) /* no program executes a path so often */

struct window {
    struct hp_path_sink sink;
    struct hp_complete *complete;
    struct hp_hpt *tables[HP_PATHS_TABLES];
    uint64_t insns;              /* so far */
    struct hp_path_count *paths; /* room for the largest table */
};

struct profiler {
    struct hp_profiler base; /* first */
    struct hp_path_frames frames;
    struct hp_path_plan plan;
    struct hp_paths_config config;
    struct thread **threads;
    size_t n_threads, cap_threads;
    struct hp_hpt *tables[HP_PATHS_TABLES];
    struct window window;
    struct hp_paths_windows windows;
    struct hp_path_prefixes *prefixes; /* NULL: the engine does not count */
    struct hp_timed_paths timed;
    bool out_of_memory;
    bool misled;   /* by an engine that counts */
    char why[128]; /* how */
};

struct thread {
    struct hp_path_sink sink; /* first: of the detector */
    struct profiler *profiler;
    struct hp_thread info;
    struct hp_detector *detector; /* while it runs */
    struct hp_detector_stats stats;
    struct hp_complete *complete;
    struct hp_path_sink *extra;  /* NULL: none */
    struct hp_path_timer *timer; /* while it runs; NULL: cycles are not known */
};

/* --- Windows ---------------------------------------------------------------------------------- */

static enum hp_err end_window(struct profiler *p)
{
    size_t n;
    const struct hp_path_count *complete = hp_complete_paths(p->window.complete, &n);
    for (size_t i = 0; i < p->config.n_tables; i++) {
        double percent;
        size_t n_table = hp_hpt_paths(p->window.tables[i], p->window.paths);
        HP_TRY(hp_path_overlap(p->window.paths, n_table, complete, n, HP_WEIGHT_EVENTS, &percent));
        p->windows.overlap[i] += percent;
        hp_hpt_clear(p->window.tables[i]);
    }
    hp_complete_clear(p->window.complete);
    p->windows.n++;
    p->window.insns = 0;
    return HP_OK;
}

static void to_window(struct profiler *p, const struct hp_paths *paths)
{
    struct hp_path_sink *sink = hp_complete_sink(p->window.complete);
    sink->paths(sink, paths);
    for (size_t i = 0; i < p->config.n_tables; i++) {
        sink = hp_hpt_sink(p->window.tables[i]);
        sink->paths(sink, paths);
    }
}

/* A window ends with the path that fills it: its instructions are those of the paths finished in
 * it. */
static void fill_windows(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct profiler *p =
        (struct profiler *)(void *)((char *)sink - offsetof(struct profiler, window.sink));
    for (size_t from = 0, i = 0; i < paths->n; i++) {
        p->window.insns += paths->paths[i].insns;
        bool full = p->window.insns >= p->config.window;
        if (!full && i + 1 < paths->n)
            continue;
        struct hp_paths part = {
            .paths = paths->paths + from, .n = i + 1 - from, .targets = paths->targets};
        to_window(p, &part);
        from = i + 1;
        if (full && end_window(p) != HP_OK)
            p->out_of_memory = true;
    }
}

/* --- Threads ---------------------------------------------------------------------------------- */

static void on_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct thread *thread = (struct thread *)sink;
    struct profiler *p = thread->profiler;
    struct hp_path_sink *to = hp_complete_sink(thread->complete);
    to->paths(to, paths);
    for (size_t i = 0; i < p->config.n_tables; i++) {
        to = hp_hpt_sink(p->tables[i]);
        to->paths(to, paths);
    }
    if (p->config.window)
        fill_windows(&p->window.sink, paths);
    if (thread->extra)
        thread->extra->paths(thread->extra, paths);
}

static void on_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    struct thread *thread = (struct thread *)sink;
    struct profiler *p = thread->profiler;
    hp_path_sink_known(hp_complete_sink(thread->complete), known);
    for (size_t i = 0; i < p->config.n_tables; i++)
        hp_path_sink_known(hp_hpt_sink(p->tables[i]), known);
    if (p->config.window)
        hp_path_sink_known(&p->window.sink, known);
    if (thread->extra)
        hp_path_sink_known(thread->extra, known);
}

static void free_thread(struct thread *thread)
{
    hp_detector_free(thread->detector);
    hp_complete_free(thread->complete);
    hp_path_timer_free(thread->timer);
    free(thread);
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct profiler *p = (struct profiler *)profiler;
    HP_TRY(hp_grow(&p->threads, &p->cap_threads, p->n_threads + 1, sizeof *p->threads));
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    thread->sink.paths = on_paths;
    thread->sink.known = on_known;
    thread->sink.groups = true;
    thread->profiler = p;
    thread->info = *info;
    if (p->config.extra)
        thread->extra = p->config.extra(p->config.context, info);
    enum hp_err err = hp_complete_new(p->config.max_paths, &thread->complete);
    if (err == HP_OK)
        err = hp_detector_new_shared(&p->plan, &thread->sink, &thread->detector);
    if (err == HP_OK && p->config.cycles.machine)
        err = hp_path_timer_new(&p->config.ppcr, p->plan.frames, p->frames.code, &p->config.cycles,
                                p->config.pieces, &p->timed, &thread->timer);
    if (err != HP_OK) {
        free_thread(thread);
        return err;
    }
    if (p->config.pieces)
        hp_detector_only_whole(thread->detector);
    p->threads[p->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct thread *thread = state;
    if (thread->detector)
        hp_detector_batch(thread->detector, batch);
    if (thread->timer)
        hp_path_timer_batch(thread->timer, batch);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    struct thread *thread = state;
    if (thread->detector)
        hp_detector_steps(thread->detector, steps);
}

static void on_timings(void *state, const struct hp_timing *timings, size_t n)
{
    struct thread *thread = state;
    if (thread->timer)
        hp_path_timer_timings(thread->timer, timings, n);
}

/* Keeps only what is needed later: there may be thousands of threads. */
static void end_thread(struct thread *thread)
{
    hp_detector_flush(thread->detector);
    thread->stats = *hp_detector_stats(thread->detector);
    if (hp_detector_check(thread->detector) != HP_OK)
        thread->profiler->out_of_memory = true;
    hp_detector_free(thread->detector);
    thread->detector = NULL;
    hp_path_timer_free(thread->timer);
    thread->timer = NULL;
    hp_complete_forget_numbers(thread->complete);
}

/* --- An engine that counts -------------------------------------------------------------------- */

/* Remembers a failure to understand the engine: there can be no profile. */
static bool is_good(struct profiler *p, enum hp_err err)
{
    if (err == HP_ERR_NOMEM)
        p->out_of_memory = true;
    else if (err != HP_OK && !p->misled)
        snprintf(p->why, sizeof p->why, "%s", hp_error_text());
    p->misled |= err != HP_OK;
    return !p->misled;
}

static void on_counting(struct thread *thread, const struct hp_event *event)
{
    struct profiler *p = thread->profiler;
    struct hp_path_prefix prefix;
    if (!p->prefixes || p->misled)
        return;
    if (event->kind == HP_EVENT_COUNTING) {
        hp_detector_lend(thread->detector, hp_code_block(p->frames.code, event->block)->start,
                         event->block);
    } else if (event->kind == HP_EVENT_FRAME) {
        if (is_good(p, hp_path_prefixes_call(p->prefixes, event->prefix, &prefix)))
            hp_detector_frame(thread->detector, &prefix, event->value);
    } else {
        enum hp_err err = hp_path_prefixes_get(p->prefixes, event->prefix, &prefix);
        if (err == HP_OK && prefix.last != event->block)
            err = hp_fail(HP_ERR_FORMAT, "prefix %u has another last block", event->prefix);
        if (is_good(p, err))
            hp_detector_take_back(thread->detector, &prefix);
    }
}

static void on_counted(void *state, uint32_t id, uint64_t times)
{
    struct thread *thread = state;
    struct profiler *p = thread->profiler;
    struct hp_path_counted path;
    struct hp_detector_stats *stats = thread->detector ? &thread->detector->stats : &thread->stats;
    if (!p->prefixes || p->misled || !is_good(p, hp_path_prefixes_path(p->prefixes, id, &path)))
        return;
    enum hp_err err = HP_OK;
    if (times > MOST_TIMES)
        err = hp_fail(HP_ERR_FORMAT, "path %u was executed %llu times", id,
                      (unsigned long long)times);
    if (is_good(p, err))
        hp_detector_counted(stats, &thread->sink, &path, times);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *thread = state;
    if (!thread->detector)
        return;
    if (event->kind >= HP_EVENT_COUNTING)
        on_counting(thread, event);
    hp_detector_event(thread->detector, event);
    if (thread->timer)
        hp_path_timer_event(thread->timer, event);
    if (event->kind == HP_EVENT_END)
        end_thread(thread);
}

/* --- The profiler ----------------------------------------------------------------------------- */

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct profiler *p = (struct profiler *)profiler;
    if (p->out_of_memory || p->frames.out_of_memory || p->timed.out_of_memory)
        return hp_fail_nomem();
    if (p->misled)
        return hp_fail(HP_ERR_FORMAT, "paths: the engine counts what cannot be: %s", p->why);
    return hp_paths_result(profiler, result);
}

static void free_paths(struct hp_profiler *profiler)
{
    struct profiler *p = (struct profiler *)profiler;
    for (size_t i = 0; i < p->n_threads; i++)
        free_thread(p->threads[i]);
    free(p->threads);
    for (size_t i = 0; i < p->config.n_tables; i++) {
        hp_hpt_free(p->tables[i]);
        hp_hpt_free(p->window.tables[i]);
    }
    hp_complete_free(p->window.complete);
    free(p->window.paths);
    hp_path_prefixes_free(p->prefixes);
    hp_timed_paths_fini(&p->timed);
    hp_path_plan_fini(&p->plan);
    hp_path_frames_fini(&p->frames);
    free(p);
}

static const struct hp_profiler_ops ops = {
    .name = "paths",
    .start_thread = start_thread,
    .batch = on_batch,
    .steps = on_steps,
    .event = on_event,
    .counted = on_counted,
    .timings = on_timings,
    .finish = finish,
    .free = free_paths,
};

static enum hp_err make_windows(struct profiler *p)
{
    size_t largest = 1;
    p->window.sink.paths = fill_windows;
    HP_TRY(hp_complete_new(p->config.max_paths, &p->window.complete));
    for (size_t i = 0; i < p->config.n_tables; i++) {
        HP_TRY(hp_hpt_new(&p->config.tables[i], &p->window.tables[i]));
        if (p->config.tables[i].entries > largest)
            largest = p->config.tables[i].entries;
    }
    p->window.paths = calloc(largest, sizeof *p->window.paths);
    return p->window.paths ? HP_OK : hp_fail_nomem();
}

static enum hp_err make_tables(struct profiler *p)
{
    HP_TRY(hp_ppcr_check(&p->config.ppcr));
    for (size_t i = 0; i < p->config.n_tables; i++)
        HP_TRY(hp_hpt_new(&p->config.tables[i], &p->tables[i]));
    return p->config.window ? make_windows(p) : HP_OK;
}

enum hp_err hp_paths_new(struct hp_code *code, struct hp_functions *functions,
                         const struct hp_paths_config *config, struct hp_profiler **profiler)
{
    if (config->n_tables > HP_PATHS_TABLES)
        return hp_fail(HP_ERR_INVALID, "paths: %zu hot path tables: at most %d are possible",
                       config->n_tables, HP_PATHS_TABLES);
    struct profiler *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->base.ops = &ops;
    p->config = *config;
    hp_path_frames_init(&p->frames, code, functions);
    hp_path_plan_init(&p->plan, &config->ppcr, functions ? &p->frames.source : NULL);
    hp_timed_paths_init(&p->timed, config->max_paths);
    enum hp_err err = make_tables(p);
    if (err != HP_OK) {
        free_paths(&p->base);
        return err;
    }
    *profiler = &p->base;
    return HP_OK;
}

enum hp_err hp_paths_expect_counts(struct hp_profiler *profiler, struct hp_path_source *source)
{
    struct profiler *p = (struct profiler *)profiler;
    if (p->config.n_tables || p->config.window || p->config.extra)
        return hp_fail(HP_ERR_UNSUPPORTED, "this takes the order of paths");
    return hp_path_prefixes_new(&p->config.ppcr, p->frames.code, source, &p->prefixes);
}

struct hp_range_source *hp_paths_ranges(struct hp_profiler *profiler)
{
    return &((struct profiler *)profiler)->frames.ranges;
}

/* --- Views ------------------------------------------------------------------------------------ */

size_t hp_paths_threads(const struct hp_profiler *profiler)
{
    return ((const struct profiler *)profiler)->n_threads;
}

struct hp_paths_thread_view hp_paths_thread(const struct hp_profiler *profiler, size_t i)
{
    const struct thread *thread = ((const struct profiler *)profiler)->threads[i];
    return (struct hp_paths_thread_view){
        .thread = &thread->info,
        .complete = thread->complete,
        .stats = thread->detector ? hp_detector_stats(thread->detector) : &thread->stats,
        .running = thread->detector != NULL};
}

void hp_paths_catch_up(struct hp_profiler *profiler)
{
    const struct profiler *p = (const struct profiler *)profiler;
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i]->detector)
            hp_detector_flush(p->threads[i]->detector);
}

const struct hp_paths_config *hp_paths_config(const struct hp_profiler *profiler)
{
    return &((const struct profiler *)profiler)->config;
}

struct hp_hpt *hp_paths_table(const struct hp_profiler *profiler, size_t i)
{
    return ((const struct profiler *)profiler)->tables[i];
}

const struct hp_paths_windows *hp_paths_windows(const struct hp_profiler *profiler)
{
    return &((const struct profiler *)profiler)->windows;
}

const struct hp_timed_paths *hp_paths_timed(const struct hp_profiler *profiler)
{
    return &((const struct profiler *)profiler)->timed;
}

/* Adds the paths of a thread to those of others. */
static enum hp_err merge(struct hp_path_count *all, size_t *n, struct hp_path_index *index,
                         const struct hp_path_count *paths, size_t n_paths)
{
    for (size_t i = 0; i < n_paths; i++) {
        uint64_t hash = hp_path_hash(&paths[i].path);
        uint32_t place = hp_path_index_find(index, all, &paths[i].path, hash);
        if (place == HP_NO_ID) {
            HP_TRY(hp_path_index_add(index, all, (uint32_t)*n, hash));
            all[(*n)++] = paths[i];
            continue;
        }
        all[place].count += paths[i].count;
        all[place].insns += paths[i].insns;
        all[place].events += paths[i].events;
    }
    return HP_OK;
}

enum hp_err hp_paths_all(const struct hp_profiler *profiler, struct hp_path_count **paths,
                         size_t *n)
{
    const struct profiler *p = (const struct profiler *)profiler;
    struct hp_path_index index = {0};
    size_t count, most = 1;
    for (size_t i = 0; i < p->n_threads; i++) {
        hp_complete_paths(p->threads[i]->complete, &count);
        most += count;
    }
    if (most > HP_PATH_INDEX_MAX)
        return hp_fail(HP_ERR_UNSUPPORTED, "paths: more than %u in all threads", HP_PATH_INDEX_MAX);
    struct hp_path_count *all = malloc(most * sizeof *all);
    enum hp_err err = all ? HP_OK : hp_fail_nomem();
    *n = 0;
    for (size_t i = 0; i < p->n_threads && err == HP_OK; i++) {
        const struct hp_path_count *own = hp_complete_paths(p->threads[i]->complete, &count);
        err = merge(all, n, &index, own, count);
    }
    hp_path_index_fini(&index);
    if (err != HP_OK) {
        free(all);
        return err;
    }
    *paths = all;
    return HP_OK;
}
