// SPDX-License-Identifier: MIT
#include "profiler/phrase_ends.h"

#define ALL UINT32_MAX
const uint32_t hp_phrase_masks[HP_PHRASE_MAX + 2][HP_PHRASE_MAX + 1] = {
    {0},
    {ALL},
    {ALL, ALL},
    {ALL, ALL, ALL},
    {ALL, ALL, ALL, ALL},
    {ALL, ALL, ALL, ALL, ALL},
    {ALL, ALL, ALL, ALL, ALL, ALL},
    {ALL, ALL, ALL, ALL, ALL, ALL, ALL},
    {ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL},
};

#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* Nothing depends on where the ends are but data. */
size_t hp_phrase_ends(const struct hp_step *steps, size_t n, uint32_t *units,
                      struct hp_phrase_end *ends)
{
    uint64_t hash = steps[-1].unit * SPREAD, length = 0;
    size_t n_ends = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t own = steps[i].unit * SPREAD;
        hash = (hash << 11 | hash >> 53) ^ own;
        length++;
        uint64_t goes_on = (uint64_t)((own >> 62 == 0) | (length == HP_PHRASE_MAX)) - 1;
        units[i] = steps[i].unit;
        ends[n_ends] = (struct hp_phrase_end){.end = (uint32_t)i + 1,
                                              .hash = (uint32_t)((hash * SPREAD) >> 32)};
        n_ends += goes_on + 1;
        hash = (hash & goes_on) | (own & ~goes_on);
        length &= goes_on;
    }
    return n_ends;
}
