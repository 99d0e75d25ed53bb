// SPDX-License-Identifier: MIT
#include "machine/pipe/power.h"

#include "base/grow.h"
#include "machine/power.h"

#include <stdlib.h>

/* --- Making and freeing ----------------------------------------------------------------------- */

/* Accesses in a cycle: loads and stores when they are issued, stores when they retire, lines of
 * code. */
static size_t count_uses(const struct hp_pipe *p)
{
    return (size_t)p->issue + 2 * (size_t)p->retire + p->code_ports + 1;
}

static bool make_cache(struct power_cache *cache, const struct hp_level *level, size_t uses)
{
    *cache = (struct power_cache){.cost = level->cost, .ports = level->ports};
    cache->uses = calloc(uses, sizeof *cache->uses);
    return cache->uses;
}

enum hp_err hp_pipe_power_new(struct hp_pipe *p)
{
    const struct hp_memory *memory = &p->core->memory;
    struct pipe_power *w = p->power = calloc(1, sizeof *w);
    uint64_t places = 1, least = (uint64_t)p->reorder + p->fetch_queue + p->retire + 2;
    if (!w)
        return hp_fail_nomem();
    while (places < least)
        places *= 2;
    w->mask = places - 1;
    w->next = p->head;
    w->fetch_cost = memory->l1i.cost;
    w->fetch_ports = memory->l1i.ports;
    w->events = calloc(places, sizeof *w->events);
    bool made = make_cache(&w->caches[POWER_L1D], &memory->l1d, count_uses(p));
    for (unsigned i = 0; i < memory->n_lower; i++)
        made &= make_cache(&w->caches[POWER_L2 + i], &memory->lower[i], count_uses(p));
    return made && w->events ? HP_OK : hp_fail_nomem();
}

void hp_pipe_power_free(struct hp_pipe *p)
{
    struct pipe_power *w = p->power;
    if (!w)
        return;
    for (unsigned i = 0; i < POWER_CACHES; i++)
        free(w->caches[i].uses);
    free(w->events);
    free(w->ended);
    free(w->blocks);
    free(w->block_events);
    free(w);
    p->power = NULL;
}

const struct hp_pipe_caused *hp_pipe_caused(const struct hp_pipe *pipe)
{
    return pipe->power ? &pipe->power->caused : NULL;
}

/* --- Adding up -------------------------------------------------------------------------------- */

static struct hp_events *events_at(struct pipe_power *w, uint64_t position)
{
    return &w->events[position & w->mask];
}

static void add(struct hp_events *to, const struct hp_events *events)
{
    for (int k = 0; k < HP_METRICS; k++)
        to->count[k] += events->count[k];
}

static void add_long(uint64_t *to, const struct hp_events *events)
{
    for (int k = 0; k < HP_METRICS; k++)
        to[k] += events->count[k];
}

/* The joint cost of n accesses in a cycle. */
static uint64_t cost_of(uint64_t cost, uint32_t ports, uint32_t n)
{
    return n <= ports ? cost : cost * n / ports;
}

/* The part of `cost` for accesses `from` to `to` - 1 of n. The parts add up to `cost`. */
static uint32_t part(uint64_t cost, uint64_t from, uint64_t to, uint64_t n)
{
    return (uint32_t)(cost * to / n - cost * from / n);
}

/* --- The end of a cycle ----------------------------------------------------------------------- */

static void settle_cache(struct pipe_power *w, struct power_cache *cache)
{
    if (!cache->n)
        return;
    uint64_t cost = cost_of(cache->cost, cache->ports, cache->n);
    uint32_t before = 0;
    for (uint32_t i = 0; i < cache->n_uses; i++) {
        const struct power_use *use = &cache->uses[i];
        events_at(w, use->at)->count[HP_METRIC_POWER_CYCLE] +=
            part(cost, before, before + use->n, cache->n);
        before += use->n;
    }
    w->caused.all[HP_METRIC_POWER_CYCLE] += cost;
    cache->n = cache->n_uses = 0;
}

/* The lines of a cycle are shared by the instructions fetched in it, and the one being read. */
static void settle_fetch(struct pipe_power *w)
{
    if (w->reads) {
        uint64_t cost = cost_of(w->fetch_cost, w->fetch_ports, w->reads);
        uint64_t from = w->n_fetched ? w->fetched : w->reader, to = from + w->n_fetched;
        if (to <= w->reader)
            to = w->reader + 1;
        for (uint64_t at = from; at < to; at++)
            events_at(w, at)->count[HP_METRIC_POWER_CYCLE] +=
                part(cost, at - from, at - from + 1, to - from);
        w->caused.all[HP_METRIC_POWER_CYCLE] += cost;
    }
    w->reads = w->n_fetched = 0;
}

/* Adds the events of retired instructions to their block: they get no more. */
static void take_up_to(struct pipe_power *w, uint64_t last)
{
    for (; w->next <= last; w->next++)
        add(&w->open, events_at(w, w->next));
}

static enum hp_err finish_block(struct pipe_power *w, const struct power_block *ended)
{
    HP_TRY(hp_grow(&w->blocks, &w->cap_blocks, w->n + 1, sizeof *w->blocks));
    HP_TRY(hp_grow(&w->block_events, &w->cap_events, w->n + 1, sizeof *w->block_events));
    const struct hp_events own = {.count = {[HP_METRIC_INSTRUCTIONS] = ended->insns,
                                            [HP_METRIC_MISPREDICTIONS] = ended->mispredicted}};
    add_long(w->caused.all, &own);
    add(&w->open, &own);
    take_up_to(w, ended->last);
    w->blocks[w->n] = ended->block;
    w->block_events[w->n++] = w->open;
    w->open = (struct hp_events){0};
    return HP_OK;
}

static void settle(struct hp_pipe *p)
{
    struct pipe_power *w = p->power;
    for (unsigned i = 0; i < POWER_CACHES; i++)
        settle_cache(w, &w->caches[i]);
    settle_fetch(w);
    w->cycle = p->now;
    for (size_t i = 0; i < w->n_ended && p->error == HP_OK; i++)
        p->error = finish_block(w, &w->ended[i]);
    w->n_ended = 0;
    take_up_to(w, p->head - 1);
}

/* The first access in a cycle ends the previous cycle. */
static struct pipe_power *enter(struct hp_pipe *p)
{
    if (p->power->cycle != p->now)
        settle(p);
    return p->power;
}

/* --- Fetching --------------------------------------------------------------------------------- */

void hp_pipe_power_begin(struct hp_pipe *p)
{
    *events_at(enter(p), p->tail) = (struct hp_events){0};
}

void hp_pipe_power_read(struct hp_pipe *p)
{
    struct pipe_power *w = enter(p);
    w->reads++;
    w->reader = p->tail;
}

void hp_pipe_power_fetched(struct hp_pipe *p)
{
    struct pipe_power *w = enter(p);
    if (!w->n_fetched++)
        w->fetched = p->tail;
    events_at(w, p->tail)->count[HP_METRIC_POWER] += w->fetch_cost;
    w->caused.all[HP_METRIC_POWER] += w->fetch_cost;
}

/* --- Accessing -------------------------------------------------------------------------------- */

static uint64_t accesses(const struct hp_level *level)
{
    return level->reads + level->writes;
}

void hp_pipe_power_start(struct hp_pipe *p)
{
    struct pipe_power *w = enter(p);
    struct hp_memory *memory = &p->core->memory;
    w->scratch = (struct hp_events){0};
    memory->events = &w->scratch;
    for (unsigned i = 0; i < memory->n_lower; i++)
        w->before[i] = accesses(&memory->lower[i]);
}

static void use(struct power_cache *cache, uint64_t position, uint32_t n)
{
    cache->uses[cache->n_uses++] = (struct power_use){.at = position, .n = n};
    cache->n += n;
}

/* In the lower levels, what is not an access (fills, memory) costs the same in both models. */
static void end(struct hp_pipe *p, uint64_t position)
{
    struct pipe_power *w = p->power;
    struct hp_memory *memory = &p->core->memory;
    uint32_t shared = 0;
    for (unsigned i = 0; i < memory->n_lower; i++) {
        uint32_t n = (uint32_t)(accesses(&memory->lower[i]) - w->before[i]);
        if (n)
            use(&w->caches[POWER_L2 + i], position, n);
        shared += n * memory->lower[i].cost;
    }
    memory->events = &p->events;
    add(&p->events, &w->scratch);
    w->scratch.count[HP_METRIC_POWER_CYCLE] = w->scratch.count[HP_METRIC_POWER] - shared;
    add(events_at(w, position), &w->scratch);
    add_long(w->caused.all, &w->scratch);
}

void hp_pipe_power_end_fetch(struct hp_pipe *p)
{
    end(p, p->tail);
}

void hp_pipe_power_end(struct hp_pipe *p, const struct pipe_insn *insn, uint32_t n)
{
    struct pipe_power *w = p->power;
    uint64_t slot = (uint64_t)(insn - p->flight);
    uint64_t position = p->head + ((slot - p->head) & p->mask);
    struct power_cache *l1d = &w->caches[POWER_L1D];
    end(p, position);
    use(l1d, position, n);
    events_at(w, position)->count[HP_METRIC_POWER] += n * l1d->cost;
    w->caused.all[HP_METRIC_POWER] += n * l1d->cost;
}

/* --- Leaving ---------------------------------------------------------------------------------- */

void hp_pipe_power_abort(struct hp_pipe *p, uint64_t position)
{
    struct pipe_power *w = enter(p);
    uint64_t to = p->tail + p->fetch.begun;
    for (uint64_t at = position; at < to; at++)
        add_long(w->caused.aborted, events_at(w, at));
}

void hp_pipe_power_block(struct hp_pipe *p, uint32_t block, const struct pipe_fed *fed)
{
    struct pipe_power *w = p->power;
    enum hp_err err = hp_grow(&w->ended, &w->cap_ended, w->n_ended + 1, sizeof *w->ended);
    if (err != HP_OK) {
        p->error = err;
        return;
    }
    w->ended[w->n_ended++] =
        (struct power_block){.block = block,
                             .insns = fed->n,
                             .last = p->head - 1,
                             .mispredicted = fed->flags & FED_ASKED && fed->forecast.wrong};
}

void hp_pipe_power_hand_out(struct hp_pipe *p, size_t least, bool all)
{
    struct pipe_power *w = p->power;
    if (all)
        settle(p);
    if (w->n < least || w->n == 0)
        return;
    p->config.blocks(p->config.context, w->blocks, w->block_events, w->n);
    w->n = 0;
}
