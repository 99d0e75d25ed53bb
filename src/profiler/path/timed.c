// SPDX-License-Identifier: MIT
#include "profiler/path/timed.h"

#include "base/grow.h"
#include "machine/machine.h"
#include "profiler/cycles/attribute.h"

#include <stdlib.h>

_Static_assert((int)HP_CAUSES <= HP_PATH_COSTS, "a path has a cost for every cause");

#define AT_ONCE 64 /* timings */
/* Rows: of the blocks of these, and of all that may have retired in the cycle before. */
#define ROWS 256
_Static_assert(AT_ONCE + HP_RETIRE_MAX < ROWS && (ROWS & (ROWS - 1)) == 0, "rows are a ring");

#define FIRST_ITEMS 1024

enum kind {
    ITEM_BLOCK,
    ITEM_RAMP,  /* instructions that are not measured */
    ITEM_TAIL,  /* instructions of no path */
    ITEM_EVENT, /* none: for the detector */
};

/* What is waited for. */
struct item {
    uint32_t from, to; /* a block and the next one; an event: its kind */
    uint32_t insns;    /* 0: it has no row */
    uint32_t left;     /* of these: more may be attributed to them */
    uint8_t kind;
    bool taken;
};

struct hp_path_timer {
    struct hp_path_sink sink; /* first: of the detector */
    struct hp_timed_paths *timed;
    const struct hp_code *code;
    struct hp_detector *detector;
    struct hp_windows windows;
    uint64_t position; /* instructions of the thread so far */
    enum hp_phase phase;
    struct item *items; /* a ring */
    size_t mask, head, tail;
    size_t next;            /* behind the item of which an instruction retired last */
    uint32_t rest;          /* its instructions that have not */
    uint64_t row, taken;    /* rows begun; taken */
    uint64_t retired, done; /* instructions; to which nothing more is attributed */
    struct hp_attributor attributor;
    struct hp_cycles_row rows[ROWS]; /* a ring, of blocks */
};

/* --- Paths ------------------------------------------------------------------------------------ */

void hp_timed_paths_init(struct hp_timed_paths *timed, uint64_t max_paths)
{
    *timed = (struct hp_timed_paths){.max = max_paths ? max_paths : HP_COMPLETE_DEFAULT};
    if (timed->max > HP_PATH_INDEX_MAX)
        timed->max = HP_PATH_INDEX_MAX;
}

void hp_timed_paths_fini(struct hp_timed_paths *timed)
{
    hp_path_index_fini(&timed->index);
    free(timed->paths);
    free(timed->costs);
}

uint32_t hp_timed_paths_find(const struct hp_timed_paths *timed, const struct hp_path *path)
{
    return hp_path_index_find(&timed->index, timed->paths, path, hp_path_hash(path));
}

/* HP_NO_ID: there is no room. */
static uint32_t add_path(struct hp_timed_paths *timed, const struct hp_path *path)
{
    if (timed->n >= timed->max)
        return HP_NO_ID;
    if (hp_grow(&timed->paths, &timed->cap_paths, timed->n + 1, sizeof *timed->paths) != HP_OK ||
        hp_grow(&timed->costs, &timed->cap_costs, timed->n + 1, sizeof *timed->costs) != HP_OK ||
        hp_path_index_add(&timed->index, timed->paths, (uint32_t)timed->n, hp_path_hash(path)) !=
            HP_OK) {
        timed->out_of_memory = true;
        return HP_NO_ID;
    }
    timed->paths[timed->n] = (struct hp_path_count){.path = *path};
    timed->costs[timed->n] = (struct hp_path_costs){0};
    return (uint32_t)timed->n++;
}

static void count_path(struct hp_timed_paths *timed, const struct hp_path *path,
                       const struct hp_path_costs *costs)
{
    uint32_t place = hp_timed_paths_find(timed, path);
    if (place == HP_NO_ID)
        place = add_path(timed, path);
    timed->executions++;
    if (place == HP_NO_ID) {
        hp_path_costs_add(&timed->lost, costs);
        return;
    }
    hp_path_costs_add(&timed->all, costs);
    hp_path_costs_add(&timed->costs[place], costs);
    timed->paths[place].count++;
    timed->paths[place].insns += path->insns;
}

static void take_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_path_timer *timer = (struct hp_path_timer *)sink;
    for (size_t i = 0; i < paths->n; i++)
        count_path(timer->timed, &paths->paths[i], &paths->costs[i]);
}

/* --- The queue -------------------------------------------------------------------------------- */

static enum hp_err make_room(struct hp_path_timer *t)
{
    size_t n = t->items ? 2 * (t->mask + 1) : FIRST_ITEMS;
    struct item *items = calloc(n, sizeof *items);
    if (!items)
        return hp_fail_nomem();
    for (size_t i = t->head; i != t->tail; i++)
        items[i & (n - 1)] = t->items[i & t->mask];
    free(t->items);
    t->items = items;
    t->mask = n - 1;
    return HP_OK;
}

static void put(struct hp_path_timer *t, const struct item *item)
{
    if (t->tail - t->head > t->mask && make_room(t) != HP_OK) {
        t->timed->out_of_memory = true;
        return;
    }
    t->items[t->tail++ & t->mask] = *item;
}

static void put_event(struct hp_path_timer *t, enum hp_event_kind kind)
{
    put(t, &(struct item){.kind = ITEM_EVENT, .from = kind});
}

/* What the first item with a row cost. */
static struct hp_path_costs take_row(struct hp_path_timer *t)
{
    struct hp_cycles_row *row = &t->rows[t->taken++ & (ROWS - 1)];
    struct hp_path_costs costs = {0};
    for (int cause = 0; cause < HP_CAUSES; cause++)
        costs.of[cause] = row->parts[cause];
    *row = (struct hp_cycles_row){0};
    return costs;
}

/* All of it has been attributed. */
static void take_item(struct hp_path_timer *t, const struct item *item)
{
    struct hp_path_costs costs = {0};
    if (item->insns)
        costs = take_row(t);
    switch (item->kind) {
    case ITEM_BLOCK:
        hp_detector_add_costs(t->detector, &costs);
        hp_detector_retire(t->detector, hp_code_blocks(t->code), item->from, item->to, item->taken,
                           0);
        break;
    case ITEM_EVENT:
        hp_detector_event(t->detector, &(struct hp_event){.kind = (enum hp_event_kind)item->from});
        break;
    default: hp_path_costs_add(hp_detector_unfinished_costs(t->detector), &costs); break;
    }
}

static void take_items(struct hp_path_timer *t)
{
    while (t->head != t->tail && t->items[t->head & t->mask].left == 0)
        take_item(t, &t->items[t->head++ & t->mask]);
}

/* --- The stream ------------------------------------------------------------------------------- */

/* What a window begins with does not follow from what was measured before. */
static void enter(struct hp_path_timer *t, enum hp_phase phase)
{
    if (phase == HP_PHASE_DETAIL && t->phase != phase)
        put_event(t, HP_EVENT_DISCONTINUITY);
    t->phase = phase;
}

/* Enters the phase of the next instruction, as struct hp_runner does. */
static void advance(struct hp_path_timer *t, uint64_t *left)
{
    enter(t, hp_windows_at(&t->windows, t->position, left));
}

static void put_insns(struct hp_path_timer *t, enum kind kind, uint32_t insns)
{
    put(t, &(struct item){.kind = (uint8_t)kind, .insns = insns, .left = insns});
}

void hp_path_timer_batch(struct hp_path_timer *t, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n;) {
        uint64_t left, insns = 0;
        advance(t, &left);
        for (; i < batch->n && insns < left; i++) {
            uint32_t n = batch->table[batch->blocks[i]].insns;
            insns += n;
            if (t->phase == HP_PHASE_DETAIL)
                put(t, &(struct item){.kind = ITEM_BLOCK,
                                      .from = batch->blocks[i],
                                      .to = batch->blocks[i + 1],
                                      .insns = n,
                                      .left = n,
                                      .taken = batch->taken[i]});
            else if (t->phase == HP_PHASE_RAMP)
                put_insns(t, ITEM_RAMP, n);
        }
        t->position += insns;
    }
    take_items(t);
}

static void put_tail(struct hp_path_timer *t, const struct hp_event *tail)
{
    uint64_t left;
    advance(t, &left);
    if (t->phase == HP_PHASE_RAMP)
        put_insns(t, ITEM_RAMP, tail->insns);
    else if (t->phase == HP_PHASE_DETAIL)
        put_insns(t, ITEM_TAIL, tail->insns);
    t->position += tail->insns;
}

/* --- Timings ---------------------------------------------------------------------------------- */

/* The row of the next instruction that retires: that of its block. */
static uint32_t next_row(struct hp_path_timer *t)
{
    if (t->rest == 0) {
        t->next = t->next > t->head ? t->next : t->head; /* events may have been taken */
        while (t->next != t->tail && t->items[t->next & t->mask].insns == 0)
            t->next++;
        if (t->next == t->tail) /* nobody said that it would come */
            put_insns(t, ITEM_TAIL, 1);
        t->rest = t->items[t->next++ & t->mask].insns;
        t->row++;
    }
    t->rest--;
    return (uint32_t)((t->row - 1) & (ROWS - 1));
}

/* Nothing more is attributed to the instructions up to, not including, number `end`. */
static void finish_insns(struct hp_path_timer *t, uint64_t end)
{
    while (t->done < end) {
        struct item *item = &t->items[t->head & t->mask];
        uint32_t n = item->left < end - t->done ? item->left : (uint32_t)(end - t->done);
        item->left -= n;
        t->done += n;
        take_items(t);
    }
}

/* What retired last, in one cycle, may still be given more. */
static void attribute(struct hp_path_timer *t, const struct hp_timing *timings, size_t n)
{
    struct hp_timing mine[AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        mine[i] = timings[i];
        if (!(timings[i].events & HP_TIMING_RETIRED))
            continue;
        mine[i].insn = next_row(t);
        t->retired++;
    }
    if (t->timed->out_of_memory || hp_attributor_timings(&t->attributor, t->rows, mine, n) != HP_OK)
        t->timed->out_of_memory = true;
    else
        finish_insns(t, t->retired - t->attributor.n_group);
}

void hp_path_timer_timings(struct hp_path_timer *t, const struct hp_timing *timings, size_t n)
{
    for (size_t at = 0; at < n && !t->timed->out_of_memory; at += AT_ONCE)
        attribute(t, timings + at, n - at < AT_ONCE ? n - at : AT_ONCE);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void end(struct hp_path_timer *t)
{
    hp_attributor_end(&t->attributor, t->rows);
    if (!t->timed->out_of_memory)
        finish_insns(t, t->retired);
    hp_detector_event(t->detector, &(struct hp_event){.kind = HP_EVENT_END});
    hp_path_costs_move(&t->timed->unfinished, hp_detector_unfinished_costs(t->detector));
    for (size_t i = 0; i < t->attributor.n_windows; i++)
        t->timed->attributed += t->attributor.windows[i].parts;
    if (hp_detector_check(t->detector) != HP_OK)
        t->timed->out_of_memory = true;
}

/* Between windows events do not matter: a window begins with a discontinuity. */
void hp_path_timer_event(struct hp_path_timer *t, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_TAIL: put_tail(t, event); break;
    case HP_EVENT_SIGNAL:
    case HP_EVENT_SIGRETURN:
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY:
        if (t->phase == HP_PHASE_DETAIL)
            put_event(t, event->kind);
        break;
    case HP_EVENT_END: end(t); break;
    default: return;
    }
    take_items(t);
}

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_path_timer_new(const struct hp_ppcr *ppcr, struct hp_frame_source *frames,
                              const struct hp_code *code, const struct hp_paths_cycles *cycles,
                              bool only_whole, struct hp_timed_paths *timed,
                              struct hp_path_timer **timer)
{
    struct hp_path_timer *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->sink.paths = take_paths;
    t->timed = timed;
    t->code = code;
    t->windows = cycles->windows;
    t->phase = cycles->windows.period ? HP_PHASE_SKIP : HP_PHASE_DETAIL;
    hp_attributor_init(&t->attributor, cycles->machine->core.front_stages);
    enum hp_err err = make_room(t);
    if (err == HP_OK)
        err = hp_detector_new(ppcr, frames, &t->sink, &t->detector);
    if (err == HP_OK)
        err = hp_detector_count_costs(t->detector);
    if (err != HP_OK) {
        hp_path_timer_free(t);
        return err;
    }
    if (only_whole || cycles->windows.period)
        hp_detector_only_whole(t->detector);
    *timer = t;
    return HP_OK;
}

void hp_path_timer_free(struct hp_path_timer *t)
{
    if (!t)
        return;
    hp_detector_free(t->detector);
    hp_attributor_fini(&t->attributor);
    free(t->items);
    free(t);
}
