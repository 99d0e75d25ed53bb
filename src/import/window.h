// SPDX-License-Identifier: MIT
/*
 * The bytes of a file, one after the other, in windows that stay in a cache. Another thread reads
 * the next window while the caller looks at this one; a caller that has to wait for it reads the
 * one behind it meanwhile. Where there is no other thread, all windows are read in place: what is
 * seen does not depend on it.
 */
#ifndef HP_IMPORT_WINDOW_H
#define HP_IMPORT_WINDOW_H

#include "hotpath/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_WINDOW_MOST  65535 /* bytes that can be asked for at once */
#define HP_WINDOW_SLOTS 3     /* one that is looked at, one being read, one read by the caller */

struct hp_lane;

/* A piece of the file. In front of it is room for the end of the one before. */
struct hp_window_slot {
    uint8_t *room;
    uint64_t at;
    size_t n;
    bool ready; /* it has been read ahead, or is what is `asked` */
};

struct hp_window {
    const uint8_t *bytes; /* of the file, n of them, from `at` on */
    uint64_t at;
    size_t n;

    int file;
    uint64_t size; /* of the file */
    struct hp_window_slot slots[HP_WINDOW_SLOTS], *now;
    struct hp_lane *lane; /* NULL: none yet, or `alone` */
    bool alone;
    struct hp_window_slot *asked; /* what the lane reads; NULL: nothing */
    atomic_bool done;             /* it has been read: a hint, the lane is waited for */
};

/* Of an open file. HP_ERR_NOMEM. */
enum hp_err hp_window_init(struct hp_window *window, int file, uint64_t size);
/* All zero is allowed. */
void hp_window_fini(struct hp_window *window);

/* For hp_window_look(). */
const uint8_t *hp_window_move(struct hp_window *window, uint64_t at, size_t n);

/* The bytes of the file from `at` on, at least `n` of them, valid until the next call; NULL: there
 * are fewer. */
static inline const uint8_t *hp_window_look(struct hp_window *window, uint64_t at, size_t n)
{
    uint64_t passed = at - window->at;
    if (passed <= window->n && window->n - passed >= n)
        return window->bytes + passed;
    return hp_window_move(window, at, n);
}

#endif
