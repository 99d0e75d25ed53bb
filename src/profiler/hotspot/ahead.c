// SPDX-License-Identifier: MIT
/*
 * Running ahead: whether a hot spot was detected in a stretch of windows is known only after it.
 * Until then what was executed can be undone, and run again.
 */
#include "base/grow.h"
#include "profiler/hotspot/profiler_impl.h"

/* --- Ahead ------------------------------------------------------------------------------------ */

static enum hp_err begin_part(struct hp_spots *spots, struct hp_spots_thread *thread)
{
    struct hp_spots_ahead *a = &spots->ahead;
    if (a->n_parts && a->parts[a->n_parts - 1].thread == thread)
        return HP_OK;
    HP_TRY(hp_grow(&a->parts, &a->cap_parts, a->n_parts + 1, sizeof *a->parts));
    a->parts[a->n_parts++] = (struct hp_spots_part){.thread = thread, .from = spots->windows.n_log};
    return HP_OK;
}

static enum hp_err make_room(struct hp_spots_process *p, size_t units)
{
    struct hp_spots *spots = p->spots;
    struct hp_spots_ahead *a = &spots->ahead;
    HP_TRY(hp_spot_windows_reserve(&spots->windows, units + 1, p->n_units));
    HP_TRY(hp_grow(&a->recent, &a->cap_recent, p->n_units + 1, sizeof *a->recent));
    return begin_part(spots, p->thread);
}

bool hp_spots_go_ahead(struct hp_spots_process *p, size_t units)
{
    struct hp_spots *spots = p->spots;
    struct hp_spots_ahead *a = &spots->ahead;
    const struct hp_hotspots *h = p->detector;
    if (a->from == spots->windows.n_log) {
        a->process = p;
        a->clock = spots->clock;
        a->counter = p->state->counter;
        a->refresh_left = h->refresh_left;
        a->reset_left = h->reset_left;
        a->branches = h->stats.branches;
        a->profiled = h->stats.profiled;
        a->n_pairs = p->pairs.n;
    }
    if (make_room(p, units) != HP_OK)
        spots->out_of_memory = true;
    return !spots->out_of_memory;
}

void hp_spots_ran_ahead(struct hp_spots_process *p, uint64_t sizes)
{
    struct hp_spots_ahead *a = &p->spots->ahead;
    struct hp_spots_part *part = &a->parts[a->n_parts - 1];
    struct hp_hotspots *h = p->detector;
    const uint64_t profiled = hp_spots_profiled(sizes);
    part->branches += (sizes >> 20) & 0xfffff;
    part->blocks += sizes >> 40;
    h->refresh_left -= profiled;
    h->reset_left -= profiled;
    h->stats.branches += profiled;
    h->stats.profiled += profiled;
}

/* Nothing is ahead any more. */
static void forget(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    for (size_t i = 0; i < a->n_recent; i++)
        a->process->units[a->recent[i]].times = 0;
    a->n_recent = a->n_parts = 0;
    a->from = a->folded = spots->windows.n_log;
}

/* --- Certain ---------------------------------------------------------------------------------- */

/* Whether it is certain that nothing was detected in the stretch up to now. */
static bool is_certain(struct hp_spots *spots, struct hp_spot_outcome *outcome)
{
    struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spot_windows *w = &spots->windows;
    for (size_t i = 0; i < a->n_recent; i++)
        hp_spot_windows_unit(w, spots->lists, a->recent[i]);
    if (hp_spot_windows_check(w, spots->lists, spots->hits, outcome) != HP_OK)
        spots->out_of_memory = true;
    return outcome->detect > 0;
}

/* Adds executions that were run ahead to those of their units. */
static void fold(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spots_process *p = a->process;
    for (size_t i = 0; i < a->n_recent; i++) {
        struct hp_spots_unit *u = &p->units[a->recent[i]];
        hp_spot_windows_unit(&spots->windows, spots->lists, a->recent[i]);
        p->active[p->n_active] = a->recent[i];
        p->n_active += u->count == 0;
        u->count += u->times;
        u->times = 0;
    }
    a->n_recent = 0;
    a->folded = spots->windows.n_log;
}

static void count(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    fold(spots);
    for (size_t i = 0; i < a->n_parts; i++) {
        a->parts[i].thread->branches += a->parts[i].branches;
        a->parts[i].thread->blocks += a->parts[i].blocks;
    }
    forget(spots);
}

/* --- Slices ----------------------------------------------------------------------------------- */

/* Remembers what the end of a slice changes. */
static enum hp_err keep_slices(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    HP_TRY(hp_grow(&a->kept, &a->cap_kept, spots->n_found, sizeof *a->kept));
    for (size_t i = 0; i < spots->n_found; i++) {
        const struct hp_spots_found *f = spots->found[i];
        a->kept[i] = (struct hp_spots_kept){
            .seen = f->seen,
            .after = f->after,
            .n_slices = f->n_slices,
            .in_last = f->n_slices ? f->slices[f->n_slices - 1].instructions : 0};
    }
    a->slice = spots->slice;
    a->slice_end = spots->slice_end;
    return HP_OK;
}

static void restore_slices(struct hp_spots *spots)
{
    const struct hp_spots_ahead *a = &spots->ahead;
    for (size_t i = 0; i < spots->n_found; i++) {
        struct hp_spots_found *f = spots->found[i];
        f->seen = a->kept[i].seen;
        f->after = a->kept[i].after;
        f->n_slices = a->kept[i].n_slices;
        if (f->n_slices)
            f->slices[f->n_slices - 1].instructions = a->kept[i].in_last;
    }
    spots->slice = a->slice;
    spots->slice_end = a->slice_end;
}

/* Takes back what was counted because slices ended. */
static void unfold(struct hp_spots *spots)
{
    const struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spots_process *p = a->process;
    const struct hp_hotspot_config *config = &p->detector->config;
    uint64_t *hits = p->detector->stats.monitor_hits;
    if (a->folded == a->from)
        return;
    hp_spots_flush(p);
    for (size_t i = a->from; i < a->folded; i++) {
        uint32_t unit = spots->windows.log[i], n;
        if (unit >= HP_SPOT_NEXT)
            continue;
        const struct hp_spots_unit *u = &p->units[unit];
        const uint32_t *blocks = hp_code_unit(spots->code, unit, &n);
        for (uint32_t k = 0; k < n; k++)
            p->counts[blocks[k]]--;
        hits[0] -= (uint32_t)u->down / config->monitor_down - u->in_ranges;
        hits[1] -= u->in_ranges;
    }
    restore_slices(spots);
}

void hp_spots_pass_slice(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    bool is_ahead = spots->windows.numbered && a->from != spots->windows.n_log;
    if (is_ahead && spots->slice + 1 == HP_HOTSPOT_SLICES) /* they will be joined */
        hp_spots_settle(spots);
    else if (is_ahead) {
        if (a->folded == a->from && keep_slices(spots) != HP_OK)
            spots->out_of_memory = true;
        fold(spots);
    }
    hp_spots_end_slice(spots);
}

/* --- Again ------------------------------------------------------------------------------------ */

/* Copies what is ahead as steps; HP_SPOT_NEXT marks those that are not run. */
static enum hp_err copy_steps(struct hp_spots *spots, size_t n)
{
    struct hp_spots_ahead *a = &spots->ahead;
    HP_TRY(hp_grow(&a->steps, &a->cap_steps, n, sizeof *a->steps));
    for (size_t i = 0; i < n; i++) {
        uint32_t unit = spots->windows.log[a->from + i], n_blocks;
        a->steps[i].unit = unit;
        a->steps[i].first = *hp_code_unit(spots->code, unit & ~HP_SPOT_NEXT, &n_blocks);
    }
    return HP_OK;
}

/* Everything is as it was when it was certain. */
static enum hp_err undo(struct hp_spots *spots)
{
    const struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spots_process *p = a->process;
    struct hp_hotspots *h = p->detector;
    unfold(spots);
    spots->clock = a->clock;
    p->state->counter = a->counter;
    h->refresh_left = a->refresh_left;
    h->reset_left = a->reset_left;
    h->stats.branches = a->branches;
    h->stats.profiled = a->profiled;
    hp_spot_windows_leave(&spots->windows, spots->lists, spots->hits, a->from);
    return hp_spot_pairs_cut(&p->pairs, a->n_pairs);
}

/* Runs the steps, of these threads. */
static void run_steps(struct hp_spots *spots, size_t n, size_t from)
{
    struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spots_process *p = a->process;
    const struct hp_spots_part *part = a->parts, *end = part + a->n_parts;
    for (size_t i = 0, begin = 0; i < n; i++) {
        if (!(a->steps[i].unit & HP_SPOT_NEXT))
            continue;
        a->steps[i].unit &= ~HP_SPOT_NEXT;
        while (part < end && part->from <= from + begin)
            p->thread = part++->thread;
        hp_spots_run_units(p, &a->steps[begin], &a->steps[i]);
        begin = i + 1;
    }
}

static void run_again(struct hp_spots *spots)
{
    struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spots_process *p = a->process;
    struct hp_spots_thread *thread = p->thread;
    const size_t from = a->from, n = spots->windows.n_log - from, n_parts = a->n_parts;
    if (copy_steps(spots, n) != HP_OK || undo(spots) != HP_OK) {
        spots->out_of_memory = true;
        return;
    }
    forget(spots);
    a->n_parts = n_parts;
    a->again = true;
    run_steps(spots, n, from);
    a->again = false;
    a->n_parts = 0;
    p->thread = thread;
}

/* --- For the others --------------------------------------------------------------------------- */

void hp_spots_settle(struct hp_spots *spots)
{
    struct hp_spot_outcome outcome;
    if (!spots->windows.numbered || spots->ahead.from == spots->windows.n_log)
        return;
    if (is_certain(spots, &outcome))
        count(spots);
    else
        run_again(spots);
}

/* A timer is due that ends the stretch. */
static void end_stretch(struct hp_spots *spots)
{
    struct hp_spot_windows *w = &spots->windows;
    struct hp_spot_outcome outcome;
    if (!is_certain(spots, &outcome)) {
        run_again(spots);
        return;
    }
    count(spots);
    hp_spot_windows_end(w, spots->lists, &outcome);
    spots->ahead.from = spots->ahead.folded = w->n_log;
    if (hp_spot_windows_are_long(w))
        hp_spot_windows_leave(w, spots->lists, spots->hits, w->n_log);
}

bool hp_spots_run_ahead(struct hp_spots_process *p, const struct hp_step *step)
{
    struct hp_spots *spots = p->spots;
    struct hp_spots_ahead *a = &spots->ahead;
    struct hp_spot_windows *w = &spots->windows;
    struct hp_hotspots *h = p->detector;
    if (!hp_spots_go_ahead(p, 1))
        return false;
    struct hp_spots_unit *u = &p->units[step->unit];
    w->log[w->n_log++] = step->unit;
    w->log[w->n_log++] = HP_SPOT_NEXT | step[1].unit;
    hp_spot_windows_count(w, step->unit);
    a->recent[a->n_recent] = step->unit;
    a->n_recent += u->times++ == 0;
    spots->clock += u->insns;
    int32_t counter = p->state->counter + u->net, most = h->monitor_max + u->lowest;
    p->state->counter = counter < most ? counter : most;
    hp_spots_ran_ahead(p, u->sizes);
    if (!h->reset_left || (!h->refresh_left && hp_spot_windows_refresh(w)))
        end_stretch(spots);
    return true;
}

void hp_spots_give_back(struct hp_spots *spots, bool cleared)
{
    struct hp_spot_windows *w = &spots->windows;
    struct hp_spot_outcome outcome;
    hp_spots_settle(spots);
    if (w->numbered && cleared && is_certain(spots, &outcome))
        hp_spot_windows_drop(w, spots->lists, &outcome);
    if (w->numbered)
        hp_spot_windows_leave(w, spots->lists, spots->hits, w->n_log);
    hp_spot_counts_give_back(&spots->numbered);
}
