// SPDX-License-Identifier: MIT
/*
 * Timings of pipelines that could be: fetched, mapped and retired in order, with random latencies, mispredictions, traps, and
 * stretches that are not measured.
 */
#ifndef HP_TEST_CYCLES_FIXTURE_H
#define HP_TEST_CYCLES_FIXTURE_H

#include "hotpath/pipe.h"
#include "stream_fixture.h"

#define FRONT_STAGES 3
#define MISPREDICT   4
#define WIDTH        4

struct pipeline {
    uint64_t seed;
    uint64_t front_stages; /* of the machine; for cycles_naive.h */
    uint32_t insns;        /* static */
    uint32_t mispredicts;  /* percent, these */
    uint32_t traps;
    uint32_t misses;
    uint32_t unmeasured;          /* per thousand: measuring starts or stops */
    uint64_t fetch, map, retire;  /* cycles of the latest */
    uint32_t in_fetch, in_retire; /* how many in that cycle */
    bool measured, begins;
    struct hp_timing *timings;
    size_t n, cap;
};

static inline bool percent(struct pipeline *p, uint32_t n)
{
    return random_below(&p->seed, 100) < n;
}

/* Somewhat like a latency: mostly short. */
static inline uint32_t some_cycles(struct pipeline *p)
{
    return percent(p, 80) ? random_below(&p->seed, 3) : random_below(&p->seed, 20);
}

static inline struct hp_timing *fetch_one(struct pipeline *p)
{
    assert_int_equal(hp_grow(&p->timings, &p->cap, p->n + 1, sizeof *p->timings), HP_OK);
    struct hp_timing *t = &p->timings[p->n++];
    if (p->in_fetch == WIDTH || percent(p, 15)) {
        p->fetch += 1 + (percent(p, 10) ? some_cycles(p) : 0);
        p->in_fetch = 0;
    }
    *t = (struct hp_timing){.fetched = p->fetch,
                            .slot = (uint8_t)p->in_fetch++,
                            .mapped = HP_NEVER,
                            .ready = HP_NEVER,
                            .issued = HP_NEVER,
                            .done = HP_NEVER,
                            .loaded = HP_NEVER,
                            .insn = random_below(&p->seed, p->insns),
                            .producer = HP_NO_ID};
    if (percent(p, 5))
        t->events |= HP_TIMING_L1I;
    if (percent(p, 5))
        t->events |= HP_TIMING_ITLB;
    if (percent(p, 5))
        t->events |= HP_TIMING_SERIAL;
    if (p->measured)
        t->events |= HP_TIMING_MEASURED;
    if (p->measured && p->begins)
        t->events |= HP_TIMING_WINDOW;
    p->begins = false;
    return t;
}

/* As if it went all the way. */
static inline void execute_one(struct pipeline *p, struct hp_timing *t)
{
    uint64_t map = t->fetched + FRONT_STAGES - 1 + (percent(p, 20) ? some_cycles(p) : 0);
    p->map = map > p->map ? map : p->map;
    t->mapped = (uint32_t)(p->map - t->fetched);
    t->ready = t->mapped + 1 + some_cycles(p);
    if (t->ready > t->mapped + 1 && percent(p, 90))
        t->producer = random_below(&p->seed, p->insns);
    t->issued = t->ready + (percent(p, 20) ? some_cycles(p) : 0);
    t->done = t->issued + 1 + some_cycles(p);
    if (percent(p, 30)) {
        t->data_from = (uint8_t)(percent(p, p->misses) ? random_below(&p->seed, 5) : HP_FROM_L1);
        t->loaded = t->issued + 1 + random_below(&p->seed, t->data_from > HP_FROM_L1 ? 60 : 3);
        t->done = t->loaded > t->done ? t->loaded : t->done;
        t->events |= percent(p, 10) ? HP_TIMING_DTLB : 0;
        t->events |= percent(p, 10) ? HP_TIMING_BLOCKED : 0;
        t->events |= percent(p, 10) ? HP_TIMING_FORWARDED : 0;
    }
}

static inline void retire_one(struct pipeline *p, struct hp_timing *t)
{
    uint64_t cycle = t->fetched + t->done + (percent(p, 2) ? some_cycles(p) : 0);
    if (cycle > p->retire) {
        p->retire = cycle;
        p->in_retire = 0;
    } else if (p->in_retire == WIDTH) {
        p->retire++;
        p->in_retire = 0;
    }
    p->in_retire++;
    t->left = (uint32_t)(p->retire - t->fetched);
    t->events |= HP_TIMING_RETIRED;
}

/* What is fetched until `cycle`, and aborted then, for the reason `event`. */
static inline void fetch_aborted(struct pipeline *p, uint64_t cycle, uint32_t event)
{
    while (p->fetch <= cycle && !percent(p, 10)) {
        struct hp_timing *t = fetch_one(p);
        if (t->fetched > cycle) {
            p->n--;
            break;
        }
        uint64_t mapped = p->map;
        execute_one(p, t);
        t->events |= event;
        t->left = (uint32_t)(cycle - t->fetched);
        uint32_t *points[] = {&t->mapped, &t->ready, &t->issued, &t->done, &t->loaded};
        for (size_t i = 0; i < 5; i++)
            if (*points[i] > t->left)
                *points[i] = HP_NEVER;
        if (t->mapped == HP_NEVER)
            p->map = mapped;
    }
    p->fetch = (p->fetch > cycle ? p->fetch : cycle) + MISPREDICT;
    p->in_fetch = 0;
}

/* One more that retires, and what is aborted before or behind it. */
static inline void pipeline_one(struct pipeline *p)
{
    if (p->unmeasured && random_below(&p->seed, 1000) < p->unmeasured) {
        /* Sometimes what was not measured was not fed either. */
        p->measured = !p->measured || percent(p, 20);
        p->begins = p->measured;
    }
    if (percent(p, p->traps))
        fetch_aborted(p, p->fetch + FRONT_STAGES + some_cycles(p), HP_TIMING_TRAPPED);
    struct hp_timing *t = fetch_one(p);
    execute_one(p, t);
    retire_one(p, t);
    if (!percent(p, p->mispredicts))
        return;
    t->events |= HP_TIMING_MISPREDICTED;
    uint64_t done = t->fetched + t->done;
    bool measured = p->measured, begins = p->begins;
    fetch_aborted(p, done, HP_TIMING_WRONG_PATH);
    p->measured = measured;
    p->begins = begins;
}

static inline void pipeline_run(struct pipeline *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pipeline_one(p);
}

#endif
