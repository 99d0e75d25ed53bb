// SPDX-License-Identifier: MIT
#include "import/window.h"

#include "base/base.h"
#include "profiler/lane.h"
#include "profiler/lanes.h"

#include <unistd.h>

#define PIECE  (256 * 1024) /* of the file: stays in a cache of the second level */
#define BEFORE (64 * 1024)

enum hp_err hp_window_init(struct hp_window *w, int file, uint64_t size)
{
    *w = (struct hp_window){.file = file, .size = size};
    for (size_t i = 0; i < HP_WINDOW_SLOTS; i++)
        HP_TRY(hp_new(&w->slots[i].room, BEFORE + PIECE, 1));
    return HP_OK;
}

static void wait_for_lane(struct hp_window *w)
{
    if (w->asked)
        hp_lane_wait(w->lane);
    w->asked = NULL;
}

void hp_window_fini(struct hp_window *w)
{
    wait_for_lane(w);
    hp_lane_free(w->lane);
    for (size_t i = 0; i < HP_WINDOW_SLOTS; i++)
        free(w->slots[i].room);
}

/* As many bytes as there are, up to a piece. */
static void read_slot(int file, struct hp_window_slot *slot)
{
    slot->n = 0;
    while (slot->n < PIECE && slot->at + slot->n <= INT64_MAX) {
        ssize_t got = pread(file, slot->room + BEFORE + slot->n, PIECE - slot->n,
                            (off_t)(slot->at + slot->n));
        if (got <= 0)
            break;
        slot->n += (size_t)got;
    }
}

static void work(void *context)
{
    struct hp_window *w = context;
    read_slot(w->file, w->asked);
    atomic_store_explicit(&w->done, true, memory_order_release);
}

static struct hp_window_slot *find_slot(struct hp_window *w, uint64_t at)
{
    for (size_t i = 0; i < HP_WINDOW_SLOTS; i++)
        if (w->slots[i].ready && w->slots[i].at == at)
            return &w->slots[i];
    return NULL;
}

/* A slot that is not in use, for what is at `at`; NULL: there is none. */
static struct hp_window_slot *free_slot(struct hp_window *w, uint64_t at)
{
    for (size_t i = 0; i < HP_WINDOW_SLOTS; i++) {
        struct hp_window_slot *slot = &w->slots[i];
        if (slot == w->now || slot->ready)
            continue;
        slot->at = at;
        slot->ready = true;
        return slot;
    }
    return NULL;
}

static bool has_lane(struct hp_window *w)
{
    if (!w->lane && !w->alone)
        w->alone = hp_lanes_threads() < 2 || hp_lane_new(&w->lane) != HP_OK;
    return !w->alone;
}

/* Has the lane read the next piece that is not there yet. */
static void ask(struct hp_window *w)
{
    uint64_t at = w->now->at + w->now->n;
    const struct hp_window_slot *slot;
    while (!w->asked && (slot = find_slot(w, at)) != NULL && slot->n)
        at += slot->n;
    if (w->asked || at >= w->size || find_slot(w, at) || !has_lane(w) ||
        !(w->asked = free_slot(w, at)))
        return;
    atomic_store_explicit(&w->done, false, memory_order_relaxed);
    hp_lane_begin(w->lane, work, w);
}

/* Forgets what was read ahead. */
static void forget(struct hp_window *w)
{
    wait_for_lane(w);
    for (size_t i = 0; i < HP_WINDOW_SLOTS; i++)
        w->slots[i].ready = false;
}

/* The piece at `at`, which is being read: the caller reads the one behind it meanwhile. */
static void help(struct hp_window *w, uint64_t at)
{
    struct hp_window_slot *slot;
    if (at < w->size && !find_slot(w, at) && (slot = free_slot(w, at)) != NULL)
        read_slot(w->file, slot);
}

/* The piece at `at`, as it is there. */
static struct hp_window_slot *get(struct hp_window *w, uint64_t at)
{
    struct hp_window_slot *slot = find_slot(w, at);
    if (!slot) {
        forget(w);
        slot = free_slot(w, at);
        read_slot(w->file, slot);
    }
    if (slot == w->asked && !atomic_load_explicit(&w->done, memory_order_acquire))
        help(w, at + PIECE);
    if (slot == w->asked || atomic_load_explicit(&w->done, memory_order_acquire))
        wait_for_lane(w);
    slot->ready = false;
    return slot;
}

const uint8_t *hp_window_move(struct hp_window *w, uint64_t at, size_t n)
{
    uint64_t passed = at - w->at;
    bool goes_on = w->now && passed <= w->n;
    size_t left = goes_on ? w->n - (size_t)passed : 0;
    struct hp_window_slot *slot = get(w, at + left);
    uint8_t *bytes = slot->room + BEFORE - left;
    if (left)
        memcpy(bytes, w->bytes + passed, left);
    w->now = slot;
    w->bytes = bytes;
    w->at = at;
    w->n = left + slot->n;
    if (goes_on)
        ask(w);
    return w->n >= n ? bytes : NULL;
}
