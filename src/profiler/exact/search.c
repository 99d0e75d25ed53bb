// SPDX-License-Identifier: MIT
#include "profiler/exact/search.h"

#include "base/grow.h"
#include "profiler/exact/exact_impl.h"

#include <stdlib.h>

#define NEAR 32 /* frames that are scanned one by one */

static size_t near_end(const struct hp_exact_thread *t)
{
    return t->n_frames > NEAR ? t->n_frames - NEAR : 0;
}

void hp_search_fini(struct hp_frame_search *s)
{
    hp_map64_fini(&s->expecting);
    hp_map64_fini(&s->of);
    free(s->frames);
    *s = (struct hp_frame_search){0};
}

/* --- The index -------------------------------------------------------------------------------- */

static uint32_t highest(const struct hp_map64 *map, uint64_t key)
{
    uint32_t place = hp_map64_get(map, key);
    return place == HP_MAP64_NONE ? 0 : place;
}

/* Removes the highest frame, which is gone. Updating existing keys of the maps cannot fail. */
static void take_out(struct hp_frame_search *s)
{
    const struct hp_indexed_frame *frame = &s->frames[--s->n];
    if (frame->expects)
        hp_map64_keep(&s->expecting, frame->expects, frame->lower_expecting);
    if (frame->function != HP_NO_ID)
        hp_map64_keep(&s->of, frame->function, frame->lower_function);
}

static bool put_in(struct hp_frame_search *s, struct hp_frame *from)
{
    uint32_t place = (uint32_t)s->n + 1;
    const struct hp_indexed_frame *below = s->n ? &s->frames[s->n - 1] : NULL;
    struct hp_indexed_frame frame = {.expects = from->kind == HP_FRAME_CALL ? from->expects : 0,
                                     .function = from->function,
                                     .boundary = from->kind == HP_FRAME_SIGNAL ? place
                                                 : below                       ? below->boundary
                                                                               : 0,
                                     .called = from->kind != HP_FRAME_TAIL ? place
                                               : below                     ? below->called
                                                                           : 0};
    if (frame.expects)
        frame.lower_expecting = highest(&s->expecting, frame.expects);
    if (frame.function != HP_NO_ID)
        frame.lower_function = highest(&s->of, frame.function);
    if (hp_grow(&s->frames, &s->cap, s->n + 1, sizeof *s->frames) != HP_OK ||
        (frame.expects && hp_map64_put(&s->expecting, frame.expects, place) != HP_OK) ||
        (frame.function != HP_NO_ID && hp_map64_put(&s->of, frame.function, place) != HP_OK))
        return false;
    s->frames[s->n++] = frame;
    from->indexed = true;
    return true;
}

/* Brings the index up to date; false: out of memory. */
static bool catch_up(struct hp_exact_thread *t)
{
    struct hp_frame_search *s = &t->search;
    size_t known = t->n_frames;
    while (known > 0 && !t->frames[known - 1].indexed)
        known--;
    t->exact->searched += t->n_frames - known + (s->n - known);
    while (s->n > known)
        take_out(s);
    while (s->n < t->n_frames)
        if (!put_in(s, &t->frames[s->n])) {
            t->exact->out_of_memory = true;
            return false;
        }
    return true;
}

/* --- Searching -------------------------------------------------------------------------------- */

static __attribute__((noinline)) size_t far_expecting(struct hp_exact_thread *t, uint64_t address)
{
    if (!catch_up(t))
        return 0;
    uint32_t place = highest(&t->search.expecting, address);
    return place > t->search.frames[t->n_frames - 1].boundary ? place : 0;
}

size_t hp_search_expecting(struct hp_exact_thread *t, uint64_t address)
{
    size_t n = t->n_frames, end = near_end(t);
    for (; n > end; n--) {
        const struct hp_frame *frame = &t->frames[n - 1];
        t->exact->searched++;
        if (frame->kind == HP_FRAME_SIGNAL)
            return 0;
        if (frame->kind == HP_FRAME_CALL && frame->expects == address)
            return n;
    }
    return n && address ? far_expecting(t, address) : 0;
}

static __attribute__((noinline)) size_t far_function(struct hp_exact_thread *t, uint32_t function,
                                                     bool tails_only)
{
    if (!catch_up(t))
        return 0;
    uint32_t place = highest(&t->search.of, function);
    return tails_only && place < t->search.frames[t->n_frames - 1].called ? 0 : place;
}

size_t hp_search_function(struct hp_exact_thread *t, uint32_t function, bool tails_only)
{
    size_t n = t->n_frames, end = near_end(t);
    for (; n > end; n--) {
        const struct hp_frame *frame = &t->frames[n - 1];
        t->exact->searched++;
        if (frame->function == function)
            return n;
        if (tails_only && frame->kind != HP_FRAME_TAIL)
            return 0;
    }
    return n ? far_function(t, function, tails_only) : 0;
}
