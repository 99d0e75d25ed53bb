// SPDX-License-Identifier: MIT
#include "path_time_reference.h"

#include "cycles_rules.h"
#include "path_reference.h"

#include "base/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRIC    HP_METRIC_L1D_MISSES /* stands for cycles */
#define HALF_BITS 16

/* A block that retired, a tail of one, or an event. */
struct thing {
    struct hp_event event;
    bool is_event;
    uint32_t block, to, insns;
    bool taken;
    bool run, measured; /* in cycles */
    uint64_t parts[HP_CAUSES];
};

struct path_time_reference {
    struct hp_ppcr ppcr;
    struct hp_frame_source *frames;
    struct hp_windows windows;
    uint64_t front_stages;
    uint64_t position;
    struct thing *things;
    size_t n, cap;
    struct hp_timing *timings;
    size_t n_timings, cap_timings;
};

static void *grown(void *items, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return items;
    *cap = 2 * need;
    items = realloc(items, *cap * size);
    if (!items) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return items;
}

/* --- What happened ---------------------------------------------------------------------------- */

struct path_time_reference *path_time_reference_new(const struct hp_ppcr *ppcr,
                                                    struct hp_frame_source *frames,
                                                    const struct hp_windows *windows,
                                                    uint64_t front_stages)
{
    size_t cap = 0;
    struct path_time_reference *r = grown(NULL, &cap, 1, sizeof *r);
    *r = (struct path_time_reference){
        .ppcr = *ppcr, .frames = frames, .windows = *windows, .front_stages = front_stages};
    r->ppcr.metric = METRIC;
    r->ppcr.counter_bits = 32;
    return r;
}

bool path_time_reference_is_run(const struct path_time_reference *r, uint64_t position,
                                bool *measured)
{
    const struct hp_windows *w = &r->windows;
    uint64_t at = w->period ? position % w->period : 0;
    *measured = !w->period || at >= w->period - w->detail;
    return *measured || at >= w->period - w->detail - w->ramp;
}

static struct thing *add_thing(struct path_time_reference *r)
{
    r->things = grown(r->things, &r->cap, r->n + 1, sizeof *r->things);
    r->things[r->n] = (struct thing){.block = HP_NO_ID};
    return &r->things[r->n++];
}

static void add_insns(struct path_time_reference *r, struct thing *thing, uint32_t insns)
{
    thing->insns = insns;
    thing->run = path_time_reference_is_run(r, r->position, &thing->measured);
    r->position += insns;
}

void path_time_reference_batch(struct path_time_reference *r, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct thing *thing = add_thing(r);
        thing->block = batch->blocks[i];
        thing->to = batch->blocks[i + 1];
        thing->taken = batch->taken[i];
        add_insns(r, thing, batch->table[batch->blocks[i]].insns);
    }
}

void path_time_reference_event(struct path_time_reference *r, const struct hp_event *event)
{
    struct thing *thing = add_thing(r);
    thing->is_event = true;
    thing->event = *event;
    thing->event.addresses = NULL;
    thing->event.events = NULL;
    if (event->kind == HP_EVENT_TAIL)
        add_insns(r, thing, event->insns);
}

void path_time_reference_timings(struct path_time_reference *r, const struct hp_timing *timings,
                                 size_t n)
{
    r->timings = grown(r->timings, &r->cap_timings, r->n_timings + n, sizeof *r->timings);
    memcpy(r->timings + r->n_timings, timings, n * sizeof *timings);
    r->n_timings += n;
}

/* --- Cycles of blocks ------------------------------------------------------------------------- */

/* Timings of what retired, by number, in the order in which it did. */
static size_t number_retired(struct path_time_reference *r, size_t *retired)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_timings; i++)
        if (is(&r->timings[i], HP_TIMING_RETIRED)) {
            r->timings[i].insn = (uint32_t)n;
            retired[n++] = i;
        }
    return n;
}

/* Every cycle from the first fetch to the last retirement. */
static void give_cycles(const struct path_time_reference *r, const size_t *retired, size_t n,
                        struct hp_cycles_row *rows)
{
    const struct cycles_run run = {r->timings, r->n_timings, r->front_stages};
    uint64_t c = 0;
    for (size_t i = 0, end = 0; i < n; i = end) {
        uint64_t at = retired_at(&r->timings[retired[i]]);
        while (end < n && retired_at(&r->timings[retired[end]]) == at)
            end++;
        for (; c < at; c++)
            naive_stall(&run, rows, retired[i], c);
        c = at + 1;
        for (size_t k = i; k < end; k++)
            naive_give(rows, &r->timings[retired[k]], HP_CAUSE_RETIRE, HP_CYCLE_PARTS / (end - i));
    }
}

static void expect(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "reference: %s\n", what);
    abort();
}

static uint64_t time_blocks(struct path_time_reference *r)
{
    size_t *retired = calloc(r->n_timings + 1, sizeof *retired);
    struct hp_cycles_row *rows = calloc(r->n_timings + 1, sizeof *rows);
    expect(retired && rows, "out of memory");
    size_t n = number_retired(r, retired), at = 0;
    uint64_t parts = 0;
    give_cycles(r, retired, n, rows);
    for (size_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; r->things[i].run && k < r->things[i].insns; k++, at++) {
            expect(at < n, "fewer instructions were timed than run");
            expect(r->things[i].measured == is(&r->timings[retired[at]], HP_TIMING_MEASURED),
                   "it is not measured as the windows say");
            for (int cause = 0; cause < HP_CAUSES; cause++) {
                r->things[i].parts[cause] += rows[at].parts[cause];
                parts += rows[at].parts[cause];
            }
        }
    expect(at == n, "more instructions were timed than run");
    free(retired);
    free(rows);
    return parts;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* One of the runs through the paths. */
struct pass {
    struct hp_path_sink sink; /* first */
    struct reference_times *times;
    int cause;
    bool high; /* half of the number */
};

static int compare_paths(const struct hp_path *a, const struct hp_path *b)
{
    return HP_COMPARE(a->start, b->start) ?: HP_COMPARE(a->length, b->length) ?:
           HP_COMPARE(a->outcomes, b->outcomes) ?: HP_COMPARE(a->targets, b->targets) ?:
           HP_COMPARE(a->block, b->block);
}

static struct reference_time *time_of(struct reference_times *times, const struct hp_path *path)
{
    size_t low = 0, high = times->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_paths(&times->times[middle].path, path);
        if (order == 0)
            return &times->times[middle];
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    times->times = grown(times->times, &times->cap, times->n + 1, sizeof *times->times);
    memmove(&times->times[low + 1], &times->times[low], (times->n - low) * sizeof *times->times);
    times->times[low] = (struct reference_time){.path = *path};
    times->n++;
    return &times->times[low];
}

static void add_path(const struct pass *pass, const struct hp_path *path)
{
    struct reference_time *time = time_of(pass->times, path);
    time->parts[pass->cause] += (uint64_t)path->events << (pass->high ? HALF_BITS : 0);
    if (pass->cause == 0 && !pass->high) {
        time->count++;
        time->insns += path->insns;
    }
}

static void found(void *context, const struct reference_path *path)
{
    struct hp_path descriptor = reference_descriptor(path);
    add_path(context, &descriptor);
}

static void found_whole(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        add_path((struct pass *)sink, &paths->paths[i]);
}

static struct hp_events events_of(const struct pass *pass, const struct thing *thing)
{
    uint64_t parts = thing->parts[pass->cause];
    struct hp_events events = {0};
    events.count[METRIC] =
        (uint32_t)(pass->high ? parts >> HALF_BITS : parts & ((1 << HALF_BITS) - 1));
    return events;
}

/* Everything is measured: the slow detector. */
static void find_all(const struct path_time_reference *r, const struct hp_block *table,
                     struct pass *pass)
{
    struct reference *reference = reference_new(&r->ppcr, r->frames, found, pass);
    for (size_t i = 0; i < r->n; i++) {
        const struct thing *thing = &r->things[i];
        struct hp_events events = events_of(pass, thing);
        uint8_t taken = thing->taken;
        struct hp_batch batch = {.table = table,
                                 .blocks = (uint32_t[]){thing->block, thing->to},
                                 .taken = &taken,
                                 .n = 1,
                                 .events = &events};
        if (thing->is_event)
            reference_event(reference, &thing->event);
        else
            reference_batch(reference, &batch);
    }
    reference_free(reference);
}

/* Windows are stretches, of which only whole paths count: a detector for each. */
static void find_whole(const struct path_time_reference *r, const struct hp_block *table,
                       struct pass *pass)
{
    static const struct hp_event last = {.kind = HP_EVENT_END};
    struct hp_detector *detector = NULL;
    pass->sink.paths = found_whole;
    for (size_t i = 0; i < r->n; i++) {
        const struct thing *thing = &r->things[i];
        bool insns = !thing->is_event || thing->event.kind == HP_EVENT_TAIL;
        struct hp_events events = events_of(pass, thing);
        uint8_t taken = thing->taken;
        struct hp_batch batch = {.table = table,
                                 .blocks = (uint32_t[]){thing->block, thing->to},
                                 .taken = &taken,
                                 .n = 1,
                                 .events = &events};
        if (insns && !thing->measured && detector) {
            hp_detector_event(detector, &last);
            hp_detector_free(detector);
            detector = NULL;
        }
        if (insns && thing->measured && !detector) {
            expect(hp_detector_new(&r->ppcr, r->frames, &pass->sink, &detector) == HP_OK,
                   "no detector");
            hp_detector_only_whole(detector);
        }
        if (detector && thing->is_event)
            hp_detector_event(detector, &thing->event);
        else if (detector)
            hp_detector_batch(detector, &batch);
    }
    hp_detector_free(detector);
}

void path_time_reference_finish(struct path_time_reference *r, const struct hp_block *table,
                                struct reference_times *times)
{
    times->parts += time_blocks(r);
    for (int cause = 0; cause < HP_CAUSES; cause++)
        for (int high = 0; high < 2; high++) {
            struct pass pass = {.times = times, .cause = cause, .high = high};
            if (r->windows.period)
                find_whole(r, table, &pass);
            else
                find_all(r, table, &pass);
        }
    free(r->things);
    free(r->timings);
    free(r);
}
