// SPDX-License-Identifier: MIT
/*
 * A profile a thread, of the kind "evented": every context is opened and closed once, where the
 * instructions would be if the thread had run context after context. So the file grows with the
 * number of contexts, not with their depth.
 */

#include "export/export.h"
#include "export/viewers/stacks.h"
#include "text/json.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>

#define NONE HP_PROFILE_NONE

struct writer {
    struct hp_json json;
    const struct hp_profile *profile;
    const struct hp_tables *tables;
    uint32_t *frames;    /* by function, the unknown one last; NONE: it has none */
    uint32_t *by_thread; /* counters, those of a thread together */
    size_t *first;       /* by thread, one more than there are: where its counters begin */
    /* The contexts of the thread that is being written: */
    uint64_t *self;
    uint32_t *child, *sibling; /* the first, the next */
    uint32_t *active;          /* those that it has */
    size_t n_active;
    bool *is_active; /* by context */
    uint64_t sum;
};

/* --- Frames ----------------------------------------------------------------------------------- */

static uint32_t *frame_of(struct writer *w, uint32_t function)
{
    return &w->frames[function == NONE ? w->profile->n_functions : function];
}

static void put_frame(struct writer *w, uint32_t function)
{
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "name", hp_views_name(w->tables, function));
    const struct hp_pfunction *f = function == NONE ? NULL : &w->profile->functions[function];
    if (f && *hp_text(f->file)) {
        hp_json_put_string(&w->json, "file", f->file);
        if (f->line) {
            hp_json_put_uint(&w->json, "line", f->line);
        }
    }
    hp_json_end_object(&w->json);
}

static void put_frames(struct writer *w)
{
    uint32_t n = 0;
    hp_json_begin_array(&w->json);
    for (size_t i = 0; i < w->profile->n_contexts; i++) {
        uint32_t *frame = frame_of(w, w->profile->contexts[i].function);
        if (*frame != NONE)
            continue;
        *frame = n++;
        put_frame(w, w->profile->contexts[i].function);
    }
    hp_json_end_array(&w->json);
}

/* --- Threads ---------------------------------------------------------------------------------- */

static void sort_by_thread(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    for (size_t i = 0; i < p->n_context_counts; i++)
        w->first[p->context_counts[i].thread + 1]++;
    for (size_t i = 0; i < p->n_threads; i++)
        w->first[i + 1] += w->first[i];
    for (size_t i = p->n_context_counts; i-- > 0;)
        w->by_thread[--w->first[p->context_counts[i].thread + 1]] = (uint32_t)i;
    /* Now first[t + 1] is where thread t begins. */
    for (size_t i = 0; i < p->n_threads; i++)
        w->first[i] = w->first[i + 1];
    w->first[p->n_threads] = p->n_context_counts;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Finds the contexts in which a thread executed something, and their callers, with the instructions
 * of each. */
static void collect(struct writer *w, size_t thread)
{
    const struct hp_profile *p = w->profile;
    w->n_active = 0;
    for (size_t i = w->first[thread]; i < w->first[thread + 1]; i++) {
        const struct hp_pcontext_count *count = &p->context_counts[w->by_thread[i]];
        if (!count->self)
            continue;
        for (uint32_t c = count->item; c != NONE && !w->is_active[c]; c = p->contexts[c].parent) {
            w->is_active[c] = true;
            w->self[c] = 0;
            w->child[c] = NONE;
            w->active[w->n_active++] = c;
        }
        w->self[count->item] = hp_saturating_add(w->self[count->item], count->self);
    }
    if (w->n_active)
        qsort(w->active, w->n_active, sizeof *w->active, compare);
}

/* Makes trees of them, in the profile's order; returns the first root. */
static uint32_t link_trees(struct writer *w)
{
    uint32_t root = NONE;
    for (size_t i = w->n_active; i-- > 0;) {
        uint32_t c = w->active[i], parent = w->profile->contexts[c].parent;
        uint32_t *first = parent == NONE ? &root : &w->child[parent];
        w->sibling[c] = *first;
        *first = c;
        w->is_active[c] = false;
    }
    return root;
}

static void put_event(struct writer *w, const char *type, uint32_t context, uint64_t at)
{
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "type", type);
    hp_json_put_uint(&w->json, "frame", *frame_of(w, w->profile->contexts[context].function));
    hp_json_put_uint(&w->json, "at", at);
    hp_json_end_object(&w->json);
}

/* Walks the trees without a stack of its own: a damaged profile may be deep. Returns where it ends.
 */
static uint64_t put_events(struct writer *w, uint32_t context)
{
    uint64_t at = 0;
    hp_json_put_array(&w->json, "events");
    while (context != NONE) {
        put_event(w, "O", context, at);
        at = hp_saturating_add(at, w->self[context]);
        if (w->child[context] != NONE) {
            context = w->child[context];
            continue;
        }
        for (; context != NONE; context = w->profile->contexts[context].parent) {
            put_event(w, "C", context, at);
            if (w->sibling[context] != NONE)
                break;
        }
        context = context == NONE ? NONE : w->sibling[context];
    }
    hp_json_end_array(&w->json);
    return at;
}

static void put_thread(struct writer *w, size_t thread)
{
    char name[96];
    const struct hp_pthread *t = &w->profile->threads[thread];
    snprintf(name, sizeof name, "thread %zu (process %" PRId32 ", thread %" PRId32 ")", thread,
             t->pid, t->tid);
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "type", "evented");
    hp_json_put_string(&w->json, "name", name);
    hp_json_put_string(&w->json, "unit", "none");
    hp_json_put_uint(&w->json, "startValue", 0);
    uint64_t end = put_events(w, link_trees(w));
    hp_json_put_uint(&w->json, "endValue", end);
    hp_json_end_object(&w->json);
    w->sum = hp_saturating_add(w->sum, end);
}

/* Returns which of the profiles that were written is the heaviest. */
static size_t put_threads(struct writer *w)
{
    size_t n = 0, heaviest = 0;
    uint64_t most = 0;
    hp_json_begin_array(&w->json);
    for (size_t i = 0; i < w->profile->n_threads; i++) {
        uint64_t before = w->sum;
        collect(w, i);
        if (!w->n_active) /* a thread that executed nothing has nothing to show */
            continue;
        put_thread(w, i);
        if (w->sum - before > most) {
            most = w->sum - before;
            heaviest = n;
        }
        n++;
    }
    hp_json_end_array(&w->json);
    return heaviest;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err allocate(struct writer *w)
{
    size_t n = w->profile->n_contexts + 1;
    w->frames = malloc((w->profile->n_functions + 1) * sizeof *w->frames);
    w->by_thread = calloc(w->profile->n_context_counts + 1, sizeof *w->by_thread);
    w->first = calloc(w->profile->n_threads + 2, sizeof *w->first);
    w->self = calloc(n, sizeof *w->self);
    w->child = calloc(n, sizeof *w->child);
    w->sibling = calloc(n, sizeof *w->sibling);
    w->active = calloc(n, sizeof *w->active);
    w->is_active = calloc(n, sizeof *w->is_active);
    if (!w->frames || !w->by_thread || !w->first || !w->self || !w->child || !w->sibling ||
        !w->active || !w->is_active)
        return hp_fail_nomem();
    for (size_t i = 0; i <= w->profile->n_functions; i++)
        w->frames[i] = NONE;
    return HP_OK;
}

static enum hp_err write_file(struct writer *w)
{
    struct hp_strbuf command = {0};
    hp_views_command(w->profile, &command);
    sort_by_thread(w);
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    hp_json_put_string(&w->json, "exporter", "hotpath@" HP_VERSION);
    hp_json_put_string(&w->json, "name", hp_strbuf_text(&command));
    hp_json_put_object(&w->json, "shared");
    hp_json_key(&w->json, "frames");
    put_frames(w);
    hp_json_end_object(&w->json);
    hp_json_key(&w->json, "profiles");
    size_t heaviest = put_threads(w);
    hp_json_put_uint(&w->json, "activeProfileIndex", heaviest);
    hp_json_end_object(&w->json);
    bool failed = command.failed;
    hp_strbuf_fini(&command);
    return failed ? hp_fail_nomem() : hp_json_finish(&w->json);
}

static enum hp_err write_speedscope(const struct hp_profile *profile,
                                    const struct hp_export_request *request, FILE *out,
                                    struct hp_export_written *written)
{
    struct hp_tables tables;
    HP_TRY(hp_stacks_check(profile, request, "speedscope"));
    HP_TRY(hp_tables_init(&tables, profile));
    struct writer w = {.json = {.out = out, .lines = 4}, .profile = profile, .tables = &tables};
    enum hp_err err = allocate(&w);
    if (err == HP_OK)
        err = write_file(&w);
    *written = hp_stacks_written(profile, w.sum);
    free(w.frames);
    free(w.by_thread);
    free(w.first);
    free(w.self);
    free(w.child);
    free(w.sibling);
    free(w.active);
    free(w.is_active);
    hp_tables_fini(&tables);
    return err;
}

const struct hp_export_format hp_format_speedscope = {
    .name = "speedscope",
    .summary = "calling contexts by thread, for speedscope",
    .source = HP_EXPORT_PROFILE,
    .write = write_speedscope,
};
