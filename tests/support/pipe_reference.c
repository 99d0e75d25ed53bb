// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "pipe_reference_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STUCK 10000000 /* cycles in which nothing retires */

static void give_up(const char *why)
{
    fprintf(stderr, "pipe_reference: %s\n", why);
    abort();
}

void grow(void *array, size_t *cap, size_t n, size_t size)
{
    if (hp_grow(array, cap, n, size) != HP_OK)
        give_up("out of memory");
}

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        give_up("out of memory");
    return memory;
}

struct pipe_reference *pipe_reference_new(struct hp_program *program, struct hp_core *core,
                                          int queue, bool no_wrong_path)
{
    struct pipe_reference *r = zeroed(1, sizeof *r);
    r->program = program;
    r->core = core;
    r->machine = hp_program_machine(program);
    r->queue = queue;
    r->no_wrong_path = no_wrong_path;
    r->measured = true;
    r->trapped = HP_NO_ID;
    for (unsigned unit = 0; unit < HP_UNITS; unit++)
        r->units[unit] = zeroed(unit_count(r->machine, unit), sizeof *r->units[unit]);
    r->places = zeroed(r->machine->core.misses, sizeof *r->places);
    return r;
}

void pipe_reference_free(struct pipe_reference *r)
{
    free(r->rights);
    free(r->addresses);
    free(r->entries);
    free(r->uops);
    free(r->waits);
    free(r->timings);
    free(r->wrong.calls);
    free(r->known);
    for (unsigned unit = 0; unit < HP_UNITS; unit++)
        free(r->units[unit]);
    free(r->places);
    free(r->line);
    free(r->profiled);
    free(r);
}

struct known *known_of(struct pipe_reference *r, uint32_t insn)
{
    grow(&r->known, &r->cap_known, (size_t)insn + 1, sizeof *r->known);
    return &r->known[insn];
}

/* --- Feeding ---------------------------------------------------------------------------------- */

/* The first `n` instructions of a block. Returns the last of them. */
static struct right *feed_block(struct pipe_reference *r, uint32_t block, uint32_t n,
                                const uint64_t *addresses, size_t n_addresses)
{
    uint32_t id;
    if (hp_program_block(r->program, block, &id) != HP_OK)
        give_up("no piece");
    const struct hp_piece *piece = hp_program_piece(r->program, id);
    if (n > piece->n)
        n = piece->n;
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_static *insn = &hp_program_insns(r->program)[piece->first + i];
        grow(&r->rights, &r->cap_rights, r->n_rights + 1, sizeof *r->rights);
        grow(&r->addresses, &r->cap_addresses, r->n_addresses + insn->n_mems, sizeof *addresses);
        struct right *right = &r->rights[r->n_rights++];
        *right = (struct right){.insn = piece->first + i,
                                .piece = i ? HP_NO_ID : id,
                                .addresses = (uint32_t)r->n_addresses,
                                .behind_break = r->at_break,
                                .delay = r->delay,
                                .measured = r->measured,
                                .next = insn->end};
        for (; right->n_addresses < insn->n_mems && n_addresses; n_addresses--) {
            r->addresses[r->n_addresses++] = *addresses++;
            right->n_addresses++;
        }
        r->at_break = false;
        r->delay = 0;
    }
    return n ? &r->rights[r->n_rights - 1] : NULL;
}

void pipe_reference_batch(struct pipe_reference *r, const struct hp_batch *batch,
                          const uint16_t *costs)
{
    for (size_t i = 0; i < batch->n; i++) {
        const uint32_t *at = batch->address_at;
        struct right *last =
            feed_block(r, batch->blocks[i], UINT32_MAX, at ? batch->addresses + at[i] : NULL,
                       at ? at[i + 1] - at[i] : 0);
        last->known = hp_program_insns(r->program)[last->insn].flags & HP_STATIC_TRANSFER;
        last->taken = last->known && batch->taken[i];
        last->next = batch->table[batch->blocks[i + 1]].start;
        last->cost = costs && last->known ? costs[i] : 0;
    }
}

void pipe_reference_tail(struct pipe_reference *r, const struct hp_event *tail)
{
    feed_block(r, tail->block, tail->insns, tail->addresses,
               tail->addresses ? tail->n_addresses : 0);
    r->at_break = true;
}

void pipe_reference_break(struct pipe_reference *r)
{
    r->at_break = true;
}

void pipe_reference_interrupt(struct pipe_reference *r, uint32_t cycles)
{
    r->at_break = true;
    r->delay += cycles;
}

void pipe_reference_measure(struct pipe_reference *r, bool measured)
{
    r->measured = measured;
}

/* --- Leaving ---------------------------------------------------------------------------------- */

uint64_t done_in(const struct pipe_reference *r, const struct entry *e)
{
    uint64_t done = e->mapped + 1;
    if (e->state == FETCHED)
        return NOT_YET;
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct uop *u = &r->uops[e->uops + i];
        if (u->issued == NOT_YET)
            return NOT_YET;
        if (u->completes > done)
            done = u->completes;
    }
    return done;
}

/* Cycles from `from` to `to` in which no uop is between issue and completion. */
static uint32_t cycles_waited(const struct pipe_reference *r, const struct entry *e, uint64_t from,
                              uint64_t to)
{
    uint32_t waited = 0;
    for (uint64_t cycle = from; cycle < to; cycle++) {
        bool executing = false;
        for (uint32_t i = 0; i < e->n_uops; i++) {
            const struct uop *u = &r->uops[e->uops + i];
            executing |= u->issued <= cycle && cycle < u->completes;
        }
        waited += !executing;
    }
    return waited;
}

static uint64_t ready_in(const struct pipe_reference *r, const struct entry *e, const struct uop *u)
{
    uint64_t ready = e->mapped + 1;
    for (uint32_t i = 0; i < u->n_waits; i++) {
        const struct uop *other = &r->uops[r->waits[u->waits + i]];
        if (other->completes > ready)
            ready = other->completes;
    }
    return ready;
}

/* The youngest of those that complete when the uop becomes ready, if it had to wait for them. */
static uint32_t producer_of(const struct pipe_reference *r, const struct entry *e,
                            const struct uop *u, uint64_t ready)
{
    uint32_t youngest = HP_NO_ID;
    if (ready <= e->mapped + 1)
        return HP_NO_ID;
    for (uint32_t i = 0; i < u->n_waits; i++) {
        const struct uop *other = &r->uops[r->waits[u->waits + i]];
        if (other->completes == ready && (youngest == HP_NO_ID || other->entry > youngest))
            youngest = other->entry;
    }
    return youngest == HP_NO_ID ? HP_NO_ID : r->entries[youngest].timing.insn;
}

/* The part of the timing that the first issued uop determines (rule 14). */
static void finish_first(const struct pipe_reference *r, struct entry *e)
{
    const struct uop *first = NULL;
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct uop *u = &r->uops[e->uops + i];
        if (u->issued != NOT_YET && (!first || u->issued < first->issued))
            first = u;
    }
    if (!first)
        return;
    uint64_t ready = ready_in(r, e, first);
    e->timing.ready = (uint32_t)(ready - e->timing.fetched);
    e->timing.issued = (uint32_t)(first->issued - e->timing.fetched);
    e->timing.producer = producer_of(r, e, first, ready);
}

/* And the part that the last uop to complete determines, if it completes before the instruction
 * leaves. */
static void finish_last(const struct pipe_reference *r, struct entry *e)
{
    uint64_t last = 0, loaded = 0, done = done_in(r, e);
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct uop *u = &r->uops[e->uops + i];
        if (what_is(r, u)->unit == HP_UNIT_LOAD && u->completes > loaded)
            loaded = u->completes;
    }
    if (loaded && loaded <= r->cycle)
        e->timing.loaded = (uint32_t)(loaded - e->timing.fetched);
    if (done > r->cycle)
        return;
    e->timing.done = (uint32_t)(done - e->timing.fetched);
    e->timing.waited =
        e->n_uops ? cycles_waited(r, e, e->timing.fetched + e->timing.issued, done) : 0;
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct uop *u = &r->uops[e->uops + i];
        if (u->completes >= last) {
            last = u->completes;
            e->timing.unit = what_is(r, u)->unit;
        }
    }
}

static void leave(struct pipe_reference *r, struct entry *e, enum state state)
{
    struct hp_timing *t = &e->timing;
    t->mapped = t->ready = t->issued = t->done = t->loaded = t->waited = HP_NEVER;
    t->producer = HP_NO_ID;
    t->unit = HP_UNITS;
    t->left = (uint32_t)(r->cycle - t->fetched);
    if (e->state == MAPPED) {
        t->mapped = (uint32_t)(e->mapped - t->fetched);
        finish_first(r, e);
        finish_last(r, e);
    }
    e->state = state;
}

static void move_oldest(struct pipe_reference *r)
{
    while (r->oldest < r->n_entries && r->entries[r->oldest].state >= RETIRED)
        r->oldest++;
}

static void abort_from(struct pipe_reference *r, size_t first)
{
    for (size_t i = first; i < r->n_entries; i++) {
        struct entry *e = &r->entries[i];
        if (e->state >= RETIRED)
            continue;
        e->timing.events |= e->right == HP_NO_ID ? HP_TIMING_WRONG_PATH : HP_TIMING_TRAPPED;
        r->stats.aborted++;
        r->stats.wrong_path += e->right == HP_NO_ID;
        r->stats.trapped += e->right != HP_NO_ID;
        leave(r, e, ABORTED);
    }
    move_oldest(r);
}

/* --- Redirect: rules 9 and 11 ----------------------------------------------------------------- */

static void fetch_again(struct pipe_reference *r, size_t right, uint32_t history)
{
    r->on_wrong_path = false;
    r->next_right = right;
    r->history = history;
    r->lines = (struct lines){0};
    r->fetch_from = r->cycle + r->machine->core.mispredict;
}

/* When the target of a transfer is known. */
static uint64_t resolved_in(const struct pipe_reference *r, const struct entry *e)
{
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct uop *u = &r->uops[e->uops + i];
        if (what_is(r, u)->unit == HP_UNIT_BRANCH)
            return u->completes;
    }
    return done_in(r, e);
}

static void redirect_phase(struct pipe_reference *r)
{
    uint32_t trapped = r->trapped;
    r->trapped = HP_NO_ID;
    for (size_t i = r->oldest; i < r->n_entries; i++) {
        struct entry *e = &r->entries[i];
        if (e->state >= RETIRED)
            continue;
        if (i == trapped) {
            r->stats.traps++;
            known_of(r, e->timing.insn)->early = (r->cycle - 1) / 16384 + 1;
            fetch_again(r, e->right, e->timing.history);
            abort_from(r, i);
            return;
        }
        if (e->mispredicted && resolved_in(r, e) == r->cycle) {
            bool conditional = insn_of(r, e)->flags & HP_STATIC_CONDITIONAL;
            uint32_t history = e->timing.history;
            if (conditional)
                history = history << 1 | r->rights[e->right].taken;
            e->mispredicted = false;
            fetch_again(r, e->right + 1, history);
            abort_from(r, i + 1);
            return;
        }
    }
}

/* --- Retire: rule 12, and the branch queue ---------------------------------------------------- */

static bool queue_has_room(const struct pipe_reference *r)
{
    uint64_t unfinished = 0;
    for (size_t i = 0; i < r->n_profiled; i++)
        unfinished += r->profiled[i] > r->cycle;
    return unfinished < (uint64_t)r->queue + 1;
}

static void profile(struct pipe_reference *r, uint32_t cost)
{
    uint64_t start = r->cycle;
    if (r->n_profiled && r->profiled[r->n_profiled - 1] > start)
        start = r->profiled[r->n_profiled - 1];
    /* What is finished is never needed again. */
    if (start == r->cycle)
        r->n_profiled = 0;
    grow(&r->profiled, &r->cap_profiled, r->n_profiled + 1, sizeof *r->profiled);
    r->profiled[r->n_profiled++] = start + cost;
}

static void access_stores(struct pipe_reference *r, struct entry *e)
{
    for (uint32_t i = 0; i < e->n_uops; i++) {
        const struct hp_uop *what = what_is(r, &r->uops[e->uops + i]);
        if (what->unit == HP_UNIT_STORE && e->has_address[what->operand])
            access_data(r, e, e->address[what->operand], what->size, HP_ACCESS_WRITE, false);
    }
}

static void retire_phase(struct pipe_reference *r)
{
    for (uint64_t n = 0; n < r->machine->core.retire && r->oldest < r->n_entries; n++) {
        struct entry *e = &r->entries[r->oldest];
        if (done_in(r, e) > r->cycle)
            return;
        if (e->right == HP_NO_ID || e->mispredicted)
            give_up("an instruction of a wrong path retires, or one that was never redirected");
        uint32_t cost = r->queue >= 0 ? r->rights[e->right].cost : 0;
        if (cost && !queue_has_room(r)) {
            e->timing.events |= HP_TIMING_QUEUE_STALL;
            r->stats.queue_stalls++;
            return;
        }
        if (cost)
            profile(r, cost);
        if (!r->machine->core.in_order)
            access_stores(r, e);
        e->timing.events |= HP_TIMING_RETIRED;
        r->stats.retired++;
        leave(r, e, RETIRED);
        move_oldest(r);
    }
}

/* --- Running ---------------------------------------------------------------------------------- */

void pipe_reference_drain(struct pipe_reference *r)
{
    uint64_t retired = r->stats.retired, since = r->cycle;
    r->core->memory.events = &r->events;
    /* Draining is a break: the next instruction is fetched in the cycle in which the last one
     * retired. */
    if (r->cycle > 0) {
        r->cycle--;
        fetch_phase(r);
        r->cycle++;
    }
    while (r->next_right < r->n_rights || r->oldest < r->n_entries) {
        redirect_phase(r);
        retire_phase(r);
        issue_phase(r);
        map_phase(r);
        fetch_phase(r);
        r->cycle++;
        if (retired != r->stats.retired) {
            retired = r->stats.retired;
            since = r->cycle;
        }
        if (r->cycle - since > STUCK)
            give_up("nothing retires any more");
    }
    r->stats.cycles = r->cycle;
    r->at_break = true;
    r->timings = realloc(r->timings, (r->n_entries + 1) * sizeof *r->timings);
    if (!r->timings)
        give_up("out of memory");
    for (; r->n_timings < r->n_entries; r->n_timings++)
        r->timings[r->n_timings] = r->entries[r->n_timings].timing;
}

const struct hp_timing *pipe_reference_timings(const struct pipe_reference *r, size_t *n)
{
    *n = r->n_timings;
    return r->timings;
}

const struct hp_pipe_stats *pipe_reference_stats(const struct pipe_reference *r)
{
    return &r->stats;
}
