// SPDX-License-Identifier: MIT
#include "profiler/cycles/waits.h"

#include "base/grow.h"

#include <stdlib.h>

void hp_waits_fini(struct hp_waits *waits)
{
    free(waits->waits);
    free(waits->last);
    hp_map64_fini(&waits->index);
    *waits = (struct hp_waits){0};
}

static enum hp_err find(struct hp_waits *w, uint32_t insn, uint32_t producer, uint32_t *index)
{
    uint64_t key = (uint64_t)insn << 32 | producer;
    *index = hp_map64_get(&w->index, key);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&w->waits, &w->cap, w->n + 1, sizeof *w->waits));
    HP_TRY(hp_map64_put(&w->index, key, (uint32_t)w->n));
    *index = (uint32_t)w->n;
    w->waits[w->n++] = (struct hp_wait){.insn = insn, .producer = producer};
    return HP_OK;
}

enum hp_err hp_waits_timings(struct hp_waits *w, uint32_t n_insns, const struct hp_timing *timings,
                             size_t n)
{
    const uint32_t counted = HP_TIMING_RETIRED | HP_TIMING_MEASURED;
    HP_TRY(hp_grow(&w->last, &w->cap_last, n_insns, sizeof *w->last));
    for (size_t i = 0; i < n; i++) {
        const struct hp_timing *t = &timings[i];
        if ((t->events & counted) != counted || t->producer == HP_NO_ID || t->ready == HP_NEVER ||
            t->ready <= t->mapped + 1)
            continue;
        uint32_t index = w->last[t->insn] - 1;
        if (index == UINT32_MAX || w->waits[index].producer != t->producer) {
            HP_TRY(find(w, t->insn, t->producer, &index));
            w->last[t->insn] = index + 1;
        }
        w->waits[index].count++;
        w->waits[index].cycles += t->ready - t->mapped;
    }
    return HP_OK;
}
