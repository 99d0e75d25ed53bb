// SPDX-License-Identifier: MIT
#include "lab/sampling/path_samples.h"

#include "profiler/sample/random.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define RING  1024 /* blocks kept per thread */
#define DENSE 64   /* instructions between samples, at first */

struct hp_lab_path_thread {
    struct hp_lab_path_samples *samples;
    uint64_t left;       /* instructions to the next sample */
    uint32_t ring[RING]; /* block number i, from 0, is at i modulo RING */
    uint64_t n;          /* blocks so far */
    uint64_t known;      /* from this one on nothing is missing */
};

/* --- Taking ----------------------------------------------------------------------------------- */

/* Drops every other one. */
static void thin(struct hp_lab_path_samples *s)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < s->n; i += 2) {
        struct hp_lab_path_sample sample = s->samples[i];
        memmove(s->blocks + at, s->blocks + sample.at, sample.n * sizeof *s->blocks);
        sample.at = at;
        at += sample.n;
        s->samples[kept++] = sample;
    }
    s->n = kept;
    s->n_blocks = at;
    s->interval *= 2;
}

static bool is_conditional(const struct hp_block *block)
{
    return block->flow == HP_FLOW_COND || block->flags & HP_BLOCK_CONDITIONAL;
}

/* Finds the other instruction of the pair; false: unknown. */
static bool find_other(const struct hp_lab_path_thread *t, const struct hp_block *table,
                       struct hp_lab_path_sample *sample)
{
    uint64_t at = t->n - 1;
    uint32_t insn = sample->insn, distance = sample->distance;
    while (distance > insn) {
        if (at == t->known || t->n - at == RING)
            return false;
        distance -= insn + 1;
        insn = table[t->ring[--at % RING]].insns - 1;
    }
    sample->other = t->ring[at % RING];
    sample->other_insn = insn - distance;
    return true;
}

/* The first block to keep, as far as known. */
static uint64_t find_first(const struct hp_lab_path_thread *t, const struct hp_block *table)
{
    uint64_t at = t->n - 1;
    uint32_t bits = 0;
    while (bits < t->samples->bits && at > t->known && t->n - at < RING)
        bits += is_conditional(&table[t->ring[--at % RING]]);
    return at;
}

/* Samples instruction `insn` of the latest block in the ring; `next` came after that. */
static enum hp_err take_sample(struct hp_lab_path_thread *t, const struct hp_block *table,
                               uint32_t insn, uint32_t next)
{
    struct hp_lab_path_samples *s = t->samples;
    uint32_t distance = 1 + (uint32_t)(hp_random_mix(&s->seed) % s->window);
    bool last = insn + 1 == table[t->ring[(t->n - 1) % RING]].insns;
    struct hp_lab_path_sample sample = {
        .at = s->n_blocks, .insn = insn, .distance = distance, .next = last ? next : HP_NO_ID};
    if (!find_other(t, table, &sample))
        return HP_OK;
    uint64_t first = find_first(t, table);
    sample.n = (uint32_t)(t->n - first);
    HP_TRY(hp_grow(&s->blocks, &s->cap_blocks, s->n_blocks + sample.n, sizeof *s->blocks));
    HP_TRY(hp_grow(&s->samples, &s->cap_samples, s->n + 1, sizeof *s->samples));
    for (uint64_t i = first; i < t->n; i++)
        s->blocks[s->n_blocks++] = t->ring[i % RING];
    s->samples[s->n++] = sample;
    if (s->n == s->limit)
        thin(s);
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct hp_lab_path_thread *t = state;
    struct hp_lab_path_samples *s = t->samples;
    for (size_t i = 0; i < batch->n && s->err == HP_OK; i++) {
        uint32_t insns = batch->table[batch->blocks[i]].insns;
        uint32_t done = 0;
        t->ring[t->n++ % RING] = batch->blocks[i];
        while (t->left <= insns - done && s->err == HP_OK) {
            done += (uint32_t)t->left;
            s->err = take_sample(t, batch->table, done - 1, batch->blocks[i + 1]);
            t->left = 1 + hp_random_mix(&s->seed) % (2 * s->interval - 1);
        }
        t->left -= insns - done;
    }
}

/* What follows is not connected to what came before. */
static void take_event(void *state, const struct hp_event *event)
{
    struct hp_lab_path_thread *t = state;
    if (event->kind == HP_EVENT_SIGNAL || event->kind == HP_EVENT_SIGRETURN ||
        event->kind == HP_EVENT_TAIL || event->kind == HP_EVENT_LOST ||
        event->kind == HP_EVENT_DISCONTINUITY)
        t->known = t->n;
}

/* --- The profiler ----------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct hp_lab_path_samples *s = (struct hp_lab_path_samples *)profiler;
    (void)thread;
    HP_TRY(hp_grow(&s->threads, &s->cap_threads, s->n_threads + 1, sizeof *s->threads));
    struct hp_lab_path_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    s->threads[s->n_threads++] = t;
    t->samples = s;
    t->left = 1 + hp_random_mix(&s->seed) % s->interval;
    *state = t;
    return HP_OK;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct hp_lab_path_samples *)profiler)->err;
}

static void free_samples(struct hp_profiler *profiler)
{
    struct hp_lab_path_samples *s = (struct hp_lab_path_samples *)profiler;
    for (size_t i = 0; i < s->n_threads; i++)
        free(s->threads[i]);
    free(s->threads);
    free(s->samples);
    free(s->blocks);
    free(s);
}

static const struct hp_profiler_ops samples_ops = {
    .name = "path-samples",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_samples,
};

enum hp_err hp_lab_path_samples_new(size_t wanted, uint32_t bits, uint32_t window,
                                    struct hp_lab_path_samples **samples)
{
    struct hp_lab_path_samples *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    s->profiler.ops = &samples_ops;
    s->limit = 2 * wanted;
    s->bits = bits;
    s->window = window;
    s->interval = DENSE;
    *samples = s;
    return HP_OK;
}

uint32_t hp_lab_path_history(const struct hp_lab_path_samples *samples, const struct hp_code *code,
                             const struct hp_lab_path_sample *sample, uint32_t *history)
{
    const uint32_t *blocks = samples->blocks + sample->at;
    uint32_t bits = 0;
    *history = 0;
    for (uint32_t i = sample->n - 1; i-- > 0 && bits < samples->bits;) {
        const struct hp_block *block = hp_code_block(code, blocks[i]);
        if (is_conditional(block))
            *history |= (uint32_t)(hp_code_block(code, blocks[i + 1])->start != block->end)
                        << bits++;
    }
    return bits;
}

enum hp_err hp_lab_path_address(struct hp_code *code, uint32_t block, uint32_t insn,
                                uint64_t *address)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(code, block, &insns));
    *address = insns[insn].address;
    return HP_OK;
}

static enum hp_err observe(const struct hp_lab_path_samples *samples, struct hp_code *code,
                           const struct hp_lab_path_sample *sample, struct hp_path_observation *to)
{
    uint32_t block = samples->blocks[sample->at + sample->n - 1];
    to->bits = hp_lab_path_history(samples, code, sample, &to->history);
    to->distance = sample->distance;
    to->next = sample->next == HP_NO_ID ? 0 : hp_code_block(code, sample->next)->start;
    HP_TRY(hp_lab_path_address(code, block, sample->insn, &to->pc));
    return hp_lab_path_address(code, sample->other, sample->other_insn, &to->other);
}

enum hp_err hp_lab_path_observations(const struct hp_lab_path_samples *samples,
                                     struct hp_code *code,
                                     struct hp_path_observation **observations)
{
    struct hp_path_observation *all;
    enum hp_err err = hp_new(&all, samples->n, sizeof *all);
    for (size_t i = 0; i < samples->n && err == HP_OK; i++)
        err = observe(samples, code, &samples->samples[i], &all[i]);
    if (err == HP_OK)
        *observations = all;
    else
        free(all);
    return err;
}
