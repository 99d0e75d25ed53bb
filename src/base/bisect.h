// SPDX-License-Identifier: MIT
/*
 * Binary search in sorted data.
 */
#ifndef HP_BASE_BISECT_H
#define HP_BASE_BISECT_H

#include <stddef.h>

/*
 * The first index in [from, to) for which `is_before`, an expression of the index `i`, is false;
 * `to` if there is none. It must be true up to some index and false from there on:
 *
 *     size_t first = HP_BISECT(i, 0, n, lines[i].address < address);
 *
 * finds the first line at or after an address, `<=` the first one after it.
 */
#define HP_BISECT(i, from, to, is_before)                                                          \
    ({                                                                                             \
        size_t hp_low_ = (from), hp_high_ = (to);                                                  \
        while (hp_low_ < hp_high_) {                                                               \
            size_t i = hp_low_ + (hp_high_ - hp_low_) / 2;                                         \
            if (is_before)                                                                         \
                hp_low_ = i + 1;                                                                   \
            else                                                                                   \
                hp_high_ = i;                                                                      \
        }                                                                                          \
        hp_low_;                                                                                   \
    })

#endif
