// SPDX-License-Identifier: MIT
/*
 * The normal form of instructions, and of what machines and samplers say of them.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>

typedef unsigned __int128 wide;

/* --- Order ------------------------------------------------------------------------------------ */

/* The text too: code at one place may be other code in another run. */
static int insn_key(const void *a, const void *b)
{
    const struct hp_pinsn *x = a, *y = b;
    int order = hp_compare_place(&x->place, &y->place);
    if (!order)
        order = hp_compare_u64(x->version, y->version);
    return order ? order : hp_compare_text(x->text, y->text);
}

/* What is known is kept. */
static int insn_rest(const void *a, const void *b)
{
    const struct hp_pinsn *x = a, *y = b;
    int order = hp_compare_u64(x->function, y->function);
    if (!order)
        order = hp_compare_u64(x->length, y->length);
    if (!order)
        order = hp_compare_u64(x->flow, y->flow);
    if (!order)
        order = hp_compare_u64(x->op, y->op);
    if (!order)
        order = hp_compare_u64(*hp_text(x->file) == 0, *hp_text(y->file) == 0);
    if (!order)
        order = hp_compare_text(x->file, y->file);
    if (!order)
        order = hp_compare_u64(x->line, y->line);
    return order ? order : hp_compare_text(x->inlined, y->inlined);
}

static int tally_key(const void *a, const void *b)
{
    const struct hp_pinsn_tally *x = a, *y = b;
    int order = hp_compare_text(x->seen, y->seen);
    return order ? order : hp_compare_u64(x->insn, y->insn);
}

static int cycles_key(const void *a, const void *b)
{
    const struct hp_pinsn_cycles *x = a, *y = b;
    int order = hp_compare_u64(x->insn, y->insn);
    return order ? order : hp_compare_u64(x->cause, y->cause);
}

static int attribution_key(const void *a, const void *b)
{
    const struct hp_pattribution *x = a, *y = b;
    int order = hp_compare_text(x->scheme, y->scheme);
    return order ? order : hp_compare_u64(x->insn, y->insn);
}

static int wait_key(const void *a, const void *b)
{
    const struct hp_pwait *x = a, *y = b;
    int order = hp_compare_u64(x->insn, y->insn);
    return order ? order : hp_compare_u64(x->producer, y->producer);
}

static int window_key(const void *a, const void *b)
{
    const struct hp_pwindow *x = a, *y = b;
    int order = hp_compare_u64(x->thread, y->thread);
    return order ? order : hp_compare_u64(x->at, y->at);
}

static int sampler_key(const void *a, const void *b)
{
    const struct hp_psampler *x = a, *y = b;
    return hp_compare_text(x->name, y->name);
}

const struct hp_order hp_order_insn = {sizeof(struct hp_pinsn), insn_key, insn_rest};
const struct hp_order hp_order_sampler = {sizeof(struct hp_psampler), sampler_key, NULL};

/* --- Sums ------------------------------------------------------------------------------------- */

/* A kind of row that is a key and, from an offset to its end, 64-bit numbers that are added up. */
struct sums {
    size_t size, numbers;
    int (*key)(const void *a, const void *b);
};

static const struct sums tally_sums = {sizeof(struct hp_pinsn_tally),
                                       offsetof(struct hp_pinsn_tally, tally), tally_key};
static const struct sums cycles_sums = {sizeof(struct hp_pinsn_cycles),
                                        offsetof(struct hp_pinsn_cycles, parts), cycles_key};
static const struct sums attribution_sums = {
    sizeof(struct hp_pattribution), offsetof(struct hp_pattribution, weight), attribution_key};
static const struct sums wait_sums = {sizeof(struct hp_pwait), offsetof(struct hp_pwait, count),
                                      wait_key};
static const struct sums window_sums = {sizeof(struct hp_pwindow),
                                        offsetof(struct hp_pwindow, instructions), window_key};

_Static_assert(sizeof(struct hp_pinsn_tally) ==
                   offsetof(struct hp_pinsn_tally, tally) + sizeof(struct hp_insn_tally) + 4 * 8,
               "a tally is a key and numbers");
_Static_assert(sizeof(struct hp_insn_tally) == (4 + HP_INSN_EVENTS + 2 * HP_STAGES) * 8,
               "a tally is numbers");

static bool is_zero(const struct sums *sums, const char *row)
{
    uint64_t value, all = 0;
    for (size_t at = sums->numbers; at < sums->size; at += sizeof value) {
        memcpy(&value, row + at, sizeof value);
        all |= value;
    }
    return all == 0;
}

static void add(const struct sums *sums, char *sum, const char *row)
{
    uint64_t a, b;
    for (size_t at = sums->numbers; at < sums->size; at += sizeof a) {
        memcpy(&a, sum + at, sizeof a);
        memcpy(&b, row + at, sizeof b);
        a = hp_add_saturated(a, b);
        memcpy(sum + at, &a, sizeof a);
    }
}

/* Sorts, joins, and drops what is all zero; returns how many are left. */
static size_t order_sums(const struct sums *sums, void *rows, size_t n)
{
    char *all = rows, *last = NULL;
    size_t kept = 0;
    if (n)
        qsort(rows, n, sums->size, sums->key);
    for (size_t i = 0; i < n; i++) {
        const char *row = all + i * sums->size;
        if (is_zero(sums, row))
            continue;
        if (last && sums->key(last, row) == 0) {
            add(sums, last, row);
            continue;
        }
        last = all + kept++ * sums->size;
        memmove(last, row, sums->size);
    }
    return kept;
}

static bool sums_normal(const struct sums *sums, const void *rows, size_t n)
{
    const char *all = rows;
    for (size_t i = 0; i < n; i++)
        if (is_zero(sums, all + i * sums->size) ||
            (i > 0 && sums->key(all + (i - 1) * sums->size, all + i * sums->size) >= 0))
            return false;
    return true;
}

/* --- Samplers --------------------------------------------------------------------------------- */

/* `n` of one name as one. What estimates are scaled by is the mean over the samples. */
static enum hp_err join_samplers(struct hp_psampler *joint, const struct hp_psampler *same,
                                 size_t n)
{
    wide scaled = 0, samples = 0;
    *joint = same[0];
    joint->samples = joint->empty = joint->lost = joint->interrupts = joint->cost = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_psampler *s = &same[i];
        if (s->interval != joint->interval || s->window != joint->window ||
            s->width != joint->width || s->near != joint->near)
            return hp_fail(HP_ERR_INVALID,
                           "samplers named '%s' were set differently, or on different machines",
                           s->name);
        scaled += (wide)s->samples * s->scale;
        samples += s->samples;
        joint->scale = s->scale > joint->scale ? s->scale : joint->scale;
        joint->samples = hp_add_saturated(joint->samples, s->samples);
        joint->empty = hp_add_saturated(joint->empty, s->empty);
        joint->lost = hp_add_saturated(joint->lost, s->lost);
        joint->interrupts = hp_add_saturated(joint->interrupts, s->interrupts);
        joint->cost = hp_add_saturated(joint->cost, s->cost);
    }
    if (samples)
        joint->scale = (uint64_t)((scaled + samples / 2) / samples);
    return HP_OK;
}

static enum hp_err order_samplers(struct hp_profile *p)
{
    struct hp_psampler *samplers = p->samplers;
    size_t n = p->n_samplers, kept = 0;
    if (n)
        qsort(samplers, n, sizeof *samplers, sampler_key);
    for (size_t at = 0, end; at < n; at = end) {
        struct hp_psampler joint = samplers[at];
        end = at + 1;
        while (end < n && sampler_key(&samplers[at], &samplers[end]) == 0)
            end++;
        if (end > at + 1)
            HP_TRY(join_samplers(&joint, samplers + at, end - at));
        samplers[kept++] = joint;
    }
    p->n_samplers = kept;
    return HP_OK;
}

/* --- All together ----------------------------------------------------------------------------- */

enum hp_err hp_insns_order(struct hp_profile *p)
{
    uint32_t *map;
    HP_TRY(order_samplers(p));
    HP_TRY(hp_order_apply(&hp_order_insn, p->insns, &p->n_insns, &map));
    for (size_t i = 0; i < p->n_insn_tallies; i++)
        p->insn_tallies[i].insn = map[p->insn_tallies[i].insn];
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        p->insn_cycles[i].insn = map[p->insn_cycles[i].insn];
    for (size_t i = 0; i < p->n_attributions; i++)
        p->attributions[i].insn = map[p->attributions[i].insn];
    for (size_t i = 0; i < p->n_waits; i++) {
        p->waits[i].insn = map[p->waits[i].insn];
        p->waits[i].producer = map[p->waits[i].producer];
    }
    free(map);
    p->n_insn_tallies = order_sums(&tally_sums, p->insn_tallies, p->n_insn_tallies);
    p->n_insn_cycles = order_sums(&cycles_sums, p->insn_cycles, p->n_insn_cycles);
    p->n_attributions = order_sums(&attribution_sums, p->attributions, p->n_attributions);
    p->n_waits = order_sums(&wait_sums, p->waits, p->n_waits);
    p->n_windows = order_sums(&window_sums, p->windows, p->n_windows);
    return HP_OK;
}

const char *hp_insns_abnormal(const struct hp_profile *p)
{
    if (!hp_order_strict(&hp_order_insn, p->insns, p->n_insns))
        return "instructions";
    if (!sums_normal(&tally_sums, p->insn_tallies, p->n_insn_tallies))
        return "tallies of instructions";
    if (!sums_normal(&cycles_sums, p->insn_cycles, p->n_insn_cycles))
        return "cycles of instructions";
    if (!sums_normal(&attribution_sums, p->attributions, p->n_attributions))
        return "attributions";
    if (!sums_normal(&wait_sums, p->waits, p->n_waits))
        return "waits of instructions";
    if (!hp_order_strict(&hp_order_sampler, p->samplers, p->n_samplers))
        return "samplers";
    return sums_normal(&window_sums, p->windows, p->n_windows) ? NULL : "windows";
}
