// SPDX-License-Identifier: MIT
#include "profiler/exact/counters.h"

#include "base/grow.h"

#include <stdlib.h>

enum hp_err hp_counters_add(struct hp_counters *t, uint64_t key, uint64_t count)
{
    uint32_t i = hp_map64_get(&t->of, key);
    if (i == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&t->keys, &t->cap_keys, t->n + 1, sizeof *t->keys));
        HP_TRY(hp_grow(&t->counts, &t->cap_counts, t->n + 1, sizeof *t->counts));
        HP_TRY(hp_map64_put(&t->of, key, (uint32_t)t->n));
        i = (uint32_t)t->n++;
        t->keys[i] = key;
    }
    t->counts[i] += count;
    return HP_OK;
}

uint64_t hp_counters_get(const struct hp_counters *t, uint64_t key)
{
    uint32_t i = hp_map64_get(&t->of, key);
    return i == HP_MAP64_NONE ? 0 : t->counts[i];
}

void hp_counters_fini(struct hp_counters *t)
{
    hp_map64_fini(&t->of);
    free(t->keys);
    free(t->counts);
    *t = (struct hp_counters){0};
}
