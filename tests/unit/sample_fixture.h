// SPDX-License-Identifier: MIT
/*
 * For the tests of sampling: timings as a pipe could have made them, and a sampler that counts one by one.
 *
 * The pipe is a rough one: loops of instructions, each with its own habits (latency, misses, mispredictions), fetched `SLOTS` a cycle with stalls,
 * not more than IN_FLIGHT at once, done in any order, left in order, wrong paths aborted. timing.address is the timing's place in the array.
 */
#ifndef HP_TEST_SAMPLE_FIXTURE_H
#define HP_TEST_SAMPLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hotpath/sample.h"
#include "profiler/sample/random.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS     4  /* fetched, issued, retired a cycle */
#define IN_FLIGHT 64 /* wrong paths come on top of that */
#define INSNS     120
#define LOOP      12 /* instructions of a loop */

/* --- Timings ---------------------------------------------------------------------------------- */

struct flow {
    struct hp_timing *timings;
    size_t n;
};

struct maker {
    struct hp_random random;
    uint64_t cycle; /* of fetch */
    uint32_t slot, insn;
    uint64_t last_left; /* cycle */
    uint32_t left_in_it, history;
};

static inline bool chance(struct hp_random *random, uint32_t percent)
{
    return hp_random_between(random, 1, 100) <= percent;
}

/* Fetch has room for the n-th when the one IN_FLIGHT before it has left. */
static inline void make_room(struct maker *m, const struct flow *flow, size_t n)
{
    uint64_t from = m->cycle + (m->slot == SLOTS);
    if (n >= IN_FLIGHT) {
        const struct hp_timing *old = &flow->timings[n - IN_FLIGHT];
        uint64_t room = old->fetched + old->left;
        from = room > from ? room : from;
    }
    from += chance(&m->random, 3) ? hp_random_between(&m->random, 1, 9) : 0;
    m->slot = from > m->cycle ? 0 : m->slot;
    m->cycle = from;
}

/* It leaves in order, at most SLOTS a cycle. */
static inline void leave(struct maker *m, struct hp_timing *t)
{
    uint64_t left = t->fetched + t->done + 1;
    if (left <= m->last_left) {
        left = m->last_left + (m->left_in_it == SLOTS);
        m->left_in_it = left > m->last_left ? 0 : m->left_in_it;
    } else {
        m->left_in_it = 0;
    }
    m->last_left = left;
    m->left_in_it++;
    t->left = (uint32_t)(left - t->fetched);
    t->events |= HP_TIMING_RETIRED;
}

/* The habits of an instruction follow from its number: every fifth loads, of those every third often misses; the last of a loop is a branch. */
static inline void execute(struct maker *m, struct hp_timing *t)
{
    uint32_t latency = 1 + t->insn % 3;
    t->mapped = 3 + (chance(&m->random, 10) ? (uint32_t)hp_random_between(&m->random, 1, 6) : 0);
    t->ready = t->mapped + 1 + (uint32_t)hp_random_between(&m->random, 0, t->insn % 7);
    t->issued = t->ready + (chance(&m->random, 20) ? 1 : 0);
    t->events |= t->issued > t->ready ? HP_TIMING_UNIT_BUSY : 0;
    t->unit = HP_UNIT_ALU;
    if (t->insn % 5 == 0) {
        bool miss = chance(&m->random, t->insn % 15 == 0 ? 30 : 2);
        latency = miss ? (uint32_t)hp_random_between(&m->random, 12, 60) : 3;
        t->events |= miss ? HP_TIMING_L1D : 0;
        t->data_from = miss ? HP_FROM_L2 : HP_FROM_L1;
        t->loaded = t->issued + latency;
        t->unit = HP_UNIT_LOAD;
    }
    t->done = t->issued + latency;
}

static inline struct hp_timing *fetch(struct maker *m, struct flow *flow)
{
    make_room(m, flow, flow->n);
    struct hp_timing *t = &flow->timings[flow->n];
    *t = (struct hp_timing){.fetched = m->cycle,
                            .loaded = HP_NEVER,
                            .insn = m->insn,
                            .producer = HP_NO_ID,
                            .history = m->history,
                            .address = flow->n++,
                            .events = HP_TIMING_MEASURED,
                            .slot = (uint8_t)m->slot++};
    execute(m, t);
    return t;
}

/* What is fetched behind a mispredicted branch, until it is done. */
static inline void wrong_path(struct maker *m, struct flow *flow, const struct hp_timing *branch,
                              size_t max)
{
    uint64_t redirect = branch->fetched + branch->done;
    uint32_t right = m->insn;
    for (m->insn = (right + LOOP) % INSNS; flow->n < max; m->insn = (m->insn + 1) % INSNS) {
        struct maker before = *m;
        struct hp_timing *t = fetch(m, flow);
        if (t->fetched >= redirect) {
            *m = before;
            flow->n--;
            break;
        }
        t->left = (uint32_t)(redirect - t->fetched);
        t->events = HP_TIMING_MEASURED | HP_TIMING_WRONG_PATH;
        t->issued = t->issued < t->left ? t->issued : HP_NEVER;
        t->done = t->done <= t->left ? t->done : HP_NEVER;
        t->loaded = t->loaded <= t->left ? t->loaded : HP_NEVER;
    }
    m->cycle = redirect + 2;
    m->slot = 0;
    m->insn = right;
}

/* `n` timings; free their array. */
static inline struct flow make_flow(size_t n, uint64_t seed)
{
    struct flow flow = {.timings = calloc(n, sizeof *flow.timings)};
    struct maker m = {.random = hp_random_seed(seed, 0), .cycle = 100};
    assert_non_null(flow.timings);
    while (flow.n < n) {
        struct hp_timing *t = fetch(&m, &flow);
        leave(&m, t);
        bool branch = m.insn % LOOP == LOOP - 1, again = chance(&m.random, 88);
        m.insn = branch && again ? m.insn + 1 - LOOP : (m.insn + 1) % INSNS;
        if (!branch)
            continue;
        m.history = m.history << 1 | again;
        t->unit = HP_UNIT_BRANCH;
        t->events |= again ? HP_TIMING_TAKEN : 0;
        if (chance(&m.random, 8)) {
            t->events |= HP_TIMING_MISPREDICTED;
            wrong_path(&m, &flow, t, n);
        }
    }
    return flow;
}

/* --- What is delivered ------------------------------------------------------------------------ */

struct taken {
    struct hp_sample_pair *pairs;
    size_t n, capacity;
    size_t deliveries, largest;
};

static inline void take(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct taken *taken = context;
    if (taken->n + n > taken->capacity) {
        taken->capacity = 2 * (taken->n + n);
        taken->pairs = realloc(taken->pairs, taken->capacity * sizeof *taken->pairs);
        assert_non_null(taken->pairs);
    }
    memcpy(taken->pairs + taken->n, samples, n * sizeof *samples);
    taken->n += n;
    taken->deliveries++;
    taken->largest = n > taken->largest ? n : taken->largest;
}

static const struct hp_sample_machine test_machine = {
    .width = SLOTS, .in_flight = IN_FLIGHT, .window = 96};
static const struct hp_thread test_thread = {.id = 3, .pid = 40, .tid = 41};

static inline struct hp_sample_config config_of(const char *text)
{
    struct hp_sample_config config;
    assert_int_equal(hp_sample_config_parse(text, &config), HP_OK);
    return config;
}

/* Samples the whole flow; frees nothing. */
static inline struct hp_sampler_stats sample_flow(const struct hp_sample_config *config,
                                                  const struct flow *flow,
                                                  hp_sample_deliver deliver, void *context)
{
    struct hp_sampler *sampler;
    assert_int_equal(
        hp_sampler_new_on(config, &test_machine, &test_thread, deliver, context, &sampler), HP_OK);
    hp_sampler_timings(sampler, flow->timings, flow->n);
    hp_sampler_end(sampler);
    struct hp_sampler_stats stats = *hp_sampler_stats(sampler);
    hp_sampler_free(sampler);
    return stats;
}

#endif
