// SPDX-License-Identifier: MIT
#include "stream/trace_operands.h"

#include "base/grow.h"
#include "stream/address_codec.h"
#include "stream/code_impl.h"

#include <stdlib.h>
#include <string.h>

void hp_trace_operands_fini(struct hp_trace_operands *operands)
{
    free(operands->segments);
    free(operands->all);
    free(operands->places);
}

/* The place of the first operand of code at an address; those of the others follow. */
static uint32_t first_place(uint64_t start)
{
    return (uint32_t)(start * 0x9e3779b97f4a7c15u >> 40);
}

/* Determines the places of a segment: its parent's, and those of its own code. HP_ERR_NOTFOUND:
 * unknown. */
static enum hp_err add_segment(struct hp_trace_operands *o, uint32_t id)
{
    struct hp_segment segment;
    uint32_t n, before = 0;
    if (id == 0 || id >= hp_code_segment_limit(o->code))
        return HP_ERR_NOTFOUND;
    HP_TRY(hp_code_segment(o->code, id, &segment));
    HP_TRY(hp_code_segment_mems(o->code, id, UINT32_MAX, &n));
    if (segment.parent) {
        const struct hp_trace_segment_places *parent = &o->segments[segment.parent];
        before = parent->n < n ? parent->n : n;
    }
    if (o->n_all + n > UINT32_MAX)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&o->all, &o->cap_all, o->n_all + n, sizeof *o->all));
    uint16_t *to = n ? o->all + o->n_all : NULL;
    if (before)
        memcpy(to, o->all + o->segments[segment.parent].first, before * sizeof *to);
    for (uint32_t i = before; i < n; i++)
        to[i] = (uint16_t)((first_place(segment.start) + i - before) % HP_ADDRESS_PLACES);
    o->segments[id] =
        (struct hp_trace_segment_places){.first = (uint32_t)o->n_all, .n = n, .known = true};
    o->n_all += n;
    return HP_OK;
}

/* The same for all its parents that are not known yet, and then for itself. */
static enum hp_err find_segment(struct hp_trace_operands *o, uint32_t id)
{
    uint32_t ids[HP_RUN_MAX + 1], n = 0;
    while (n <= HP_RUN_MAX && id && id < hp_code_segment_limit(o->code)) {
        struct hp_segment segment;
        HP_TRY(hp_grow(&o->segments, &o->cap_segments, (size_t)id + 1, sizeof *o->segments));
        if (o->segments[id].known)
            break;
        ids[n++] = id;
        HP_TRY(hp_code_segment(o->code, id, &segment));
        id = segment.parent;
    }
    if (n == 0)
        return HP_ERR_NOTFOUND;
    while (n)
        HP_TRY(add_segment(o, ids[--n]));
    return HP_OK;
}

/* How many instructions of the last block ran in the segment before words[at]. False: not known
 * yet. */
static bool find_cut(const uint32_t *words, size_t n, size_t at, bool last, uint32_t *insns)
{
    while (at < n && words[at] & HP_WORD_EVENT && hp_word_kind(words[at]) == HP_WORD_PAD)
        at++;
    *insns = UINT32_MAX;
    if (at == n)
        return last;
    if (words[at] & HP_WORD_EVENT && hp_word_kind(words[at]) == HP_WORD_CUT)
        *insns = hp_word_arg(words[at]);
    return true;
}

/* Adds the places of a segment of whose last block `insns` instructions ran. */
static enum hp_err add_places(struct hp_trace_operands *o, uint32_t id, uint32_t insns, size_t max,
                              bool *fits)
{
    if (id >= o->cap_segments || !o->segments[id].known)
        HP_TRY(find_segment(o, id));
    const struct hp_trace_segment_places *segment = &o->segments[id];
    uint32_t n = segment->n;
    if (insns != UINT32_MAX) {
        HP_TRY(hp_code_segment_mems(o->code, id, insns, &n));
        n = n < segment->n ? n : segment->n;
    }
    *fits = n <= max - o->n;
    if (!*fits)
        return HP_OK;
    if (o->cap - o->n < n)
        HP_TRY(hp_grow(&o->places, &o->cap, o->n + n, sizeof *o->places));
    if (n)
        memcpy(o->places + o->n, o->all + segment->first, n * sizeof *o->places);
    o->n += n;
    return HP_OK;
}

enum hp_err hp_trace_operands_walk(struct hp_trace_operands *o, const uint32_t *words, size_t n,
                                   size_t max, bool last, size_t *walked)
{
    size_t i = 0;
    o->n = 0;
    while (i < n) {
        size_t next = i + 1;
        uint32_t insns;
        bool fits = true;
        if (words[i] & HP_WORD_EVENT) {
            int payload = hp_word_payload(words[i]);
            next += (size_t)(payload > 0 ? payload : 0);
            if (next > n)
                break;
        } else if (find_cut(words, n, next, last, &insns)) {
            enum hp_err err = add_places(o, words[i], insns, max, &fits);
            if (err == HP_ERR_NOTFOUND || !fits)
                break;
            HP_TRY(err);
        } else {
            break;
        }
        i = next;
    }
    *walked = i;
    return HP_OK;
}
