// SPDX-License-Identifier: MIT
/*
 * A profile a thread, of the kind "evented": every context is opened and closed once, where the
 * instructions would be if the thread had run context after context. So the file grows with the
 * number of contexts, not with their depth.
 */

#include "base/base.h"
#include "export/viewers/views.h"
#include "text/json.h"
#include "text/number.h"

#define NONE HP_PROFILE_NONE

/* A calling context. */
struct node {
    uint32_t size; /* contexts of the tree below it, with it */
    uint32_t rank; /* when a walk through the trees comes to it */
    uint32_t next; /* the rank of its next child */
    bool is_open;
};

struct writer {
    struct hp_json json;
    const struct hp_profile *profile;
    struct hp_tables tables;
    uint32_t *frames; /* by function, the unknown one last; NONE: it has none */
    uint32_t *order;  /* counters that are not 0, by thread, then by rank */
    struct node *nodes;
    struct hp_strbuf text;
    uint64_t sum;
};

static void release(struct writer *w)
{
    hp_tables_fini(&w->tables);
    free(w->frames);
    free(w->order);
    free(w->nodes);
    hp_strbuf_fini(&w->text);
}

/* --- Frames ----------------------------------------------------------------------------------- */

static uint32_t *frame_of(struct writer *w, uint32_t context)
{
    uint32_t function = w->profile->contexts[context].function;
    return &w->frames[hp_slot(function, w->profile->n_functions)];
}

static void put_frames(struct writer *w)
{
    uint32_t n = 0;
    memset(w->frames, 0xff, (w->profile->n_functions + 1) * sizeof *w->frames);
    hp_json_put_array(&w->json, "frames");
    for (uint32_t i = 0; i < w->profile->n_contexts; i++) {
        uint32_t function = w->profile->contexts[i].function, *frame = frame_of(w, i);
        if (*frame != NONE)
            continue;
        *frame = n++;
        hp_json_begin_object(&w->json);
        hp_json_put_string(&w->json, "name", hp_views_name(&w->tables, function));
        const struct hp_pfunction *f = function == NONE ? NULL : &w->profile->functions[function];
        if (f && *hp_text(f->file))
            hp_json_put_string(&w->json, "file", f->file);
        if (f && *hp_text(f->file) && f->line)
            hp_json_put_uint(&w->json, "line", f->line);
        hp_json_end_object(&w->json);
    }
    hp_json_end_array(&w->json);
}

/* --- Order ------------------------------------------------------------------------------------ */

/* Ranks contexts: each before its children, these before its next sibling. */
static void rank_contexts(struct writer *w)
{
    size_t n = w->profile->n_contexts; /* children come behind their parents */
    for (size_t i = n; i-- > 0;) {
        struct node *parent = &w->nodes[hp_slot(w->profile->contexts[i].parent, n)];
        w->nodes[i].size++;
        parent->size += w->nodes[i].size;
    }
    for (size_t i = 0; i < n; i++) {
        struct node *parent = &w->nodes[hp_slot(w->profile->contexts[i].parent, n)];
        w->nodes[i].rank = parent->next;
        w->nodes[i].next = parent->next + 1;
        parent->next += w->nodes[i].size;
    }
}

static int compare(const void *a, const void *b, void *context)
{
    const struct writer *w = context;
    const struct hp_pcontext_count *x = &w->profile->context_counts[*(const uint32_t *)a];
    const struct hp_pcontext_count *y = &w->profile->context_counts[*(const uint32_t *)b];
    return HP_COMPARE(x->thread, y->thread)
               ?: HP_COMPARE(w->nodes[x->item].rank, w->nodes[y->item].rank);
}

static size_t order_counters(struct writer *w)
{
    size_t n = 0;
    for (uint32_t i = 0; i < w->profile->n_context_counts; i++)
        if (w->profile->context_counts[i].self)
            w->order[n++] = i;
    qsort_r(w->order, n, sizeof *w->order, compare, w);
    return n;
}

/* --- Threads ---------------------------------------------------------------------------------- */

static void put_event(struct writer *w, bool opens, uint32_t context, uint64_t at)
{
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "type", opens ? "O" : "C");
    hp_json_put_uint(&w->json, "frame", *frame_of(w, context));
    hp_json_put_uint(&w->json, "at", at);
    hp_json_end_object(&w->json);
    w->nodes[context].is_open = opens;
}

/* Closes contexts from the innermost open one on, and opens others, until `to` is it. */
static void move(struct writer *w, uint32_t from, uint32_t to, uint64_t at)
{
    const struct hp_pcontext *contexts = w->profile->contexts;
    uint32_t path[HP_CONTEXT_DEPTH];
    size_t n = 0;
    for (; to != NONE && !w->nodes[to].is_open; to = contexts[to].parent)
        path[n++] = to;
    for (; from != to; from = contexts[from].parent)
        put_event(w, false, from, at);
    while (n-- > 0)
        put_event(w, true, path[n], at);
}

/* Writes a thread, whose counters begin at `first`; returns where the next one's begin. */
static size_t put_thread(struct writer *w, size_t first, size_t n)
{
    const struct hp_pcontext_count *counts = w->profile->context_counts;
    uint32_t thread = counts[w->order[first]].thread, innermost = NONE;
    const struct hp_pthread *t = &w->profile->threads[thread];
    uint64_t at = 0;
    hp_strbuf_clear(&w->text);
    hp_strbuf_format(&w->text, "thread %" PRIu32 " (process %" PRId32 ", thread %" PRId32 ")",
                     thread, t->pid, t->tid);
    hp_json_begin_object(&w->json);
    hp_json_put_string(&w->json, "type", "evented");
    hp_json_put_string(&w->json, "name", hp_strbuf_text(&w->text));
    hp_json_put_string(&w->json, "unit", "none");
    hp_json_put_uint(&w->json, "startValue", 0);
    hp_json_put_array(&w->json, "events");
    for (; first < n && counts[w->order[first]].thread == thread; first++) {
        const struct hp_pcontext_count *count = &counts[w->order[first]];
        move(w, innermost, count->item, at);
        innermost = count->item;
        hp_add_up(&at, count->self);
    }
    move(w, innermost, NONE, at);
    hp_json_end_array(&w->json);
    hp_json_put_uint(&w->json, "endValue", at);
    hp_json_end_object(&w->json);
    hp_add_up(&w->sum, at);
    return first;
}

/* Returns which of the profiles that were written is the heaviest. */
static size_t put_threads(struct writer *w)
{
    rank_contexts(w);
    size_t n = order_counters(w), heaviest = 0;
    uint64_t most = 0;
    hp_json_put_array(&w->json, "profiles");
    for (size_t i = 0, written = 0; i < n; written++) {
        uint64_t before = w->sum;
        i = put_thread(w, i, n);
        if (w->sum - before > most) {
            most = w->sum - before;
            heaviest = written;
        }
    }
    hp_json_end_array(&w->json);
    return heaviest;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err write_speedscope(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct writer w HP_CLEANUP(release) = {.json = {.out = request->out, .lines = 4}, .profile = p};
    struct hp_json *json = &w.json;
    HP_TRY(hp_stacks_init(&w.tables, request, "speedscope"));
    HP_TRY(hp_new(&w.frames, p->n_functions + 1, sizeof *w.frames));
    HP_TRY(hp_new(&w.order, p->n_context_counts, sizeof *w.order));
    HP_TRY(hp_new(&w.nodes, p->n_contexts + 1, sizeof *w.nodes));
    hp_views_command(p, &w.text);
    hp_json_begin_object(json);
    hp_json_put_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    hp_json_put_string(json, "exporter", "hotpath@" HP_VERSION);
    hp_json_put_string(json, "name", hp_strbuf_text(&w.text));
    hp_json_put_object(json, "shared");
    put_frames(&w);
    hp_json_end_object(json);
    size_t heaviest = put_threads(&w);
    hp_json_put_uint(json, "activeProfileIndex", heaviest);
    hp_json_end_object(json);
    request->written = hp_stacks_written(&w.tables, w.sum);
    return w.text.failed ? hp_fail_nomem() : hp_json_finish(json);
}

const struct hp_export_format hp_format_speedscope = {
    .name = "speedscope",
    .summary = "calling contexts by thread, for speedscope",
    .write = write_speedscope,
    .functions = true,
    .inlined = true,
};
