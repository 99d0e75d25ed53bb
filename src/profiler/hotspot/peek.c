// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "profiler/hotspot/profiler_impl.h"

static uint32_t hottest_of(const struct hp_spots *spots, const struct hp_spots_found *f,
                           const uint64_t *weights, size_t n_weights)
{
    uint32_t hottest = HP_NO_ID;
    uint64_t most = 0;
    for (size_t i = 0; i < f->n_members; i++) {
        uint32_t block = f->members[i].block;
        uint64_t weight =
            block < n_weights ? weights[block] * hp_code_block(spots->code, block)->insns : 0;
        if (weight > most) {
            most = weight;
            hottest = block;
        }
    }
    return hottest;
}

/* Hot spots of ended processes know what they executed; for the others it is computed now. */
static void count_running(const struct hp_spots *spots, struct hp_spots_process *p,
                          struct hp_hotspot_peek *peeks)
{
    hp_spots_flush(p);
    for (uint32_t at = p->found; at; at = spots->found[at - 1]->next)
        peeks[at - 1].executed = hp_spots_executed(p, spots->found[at - 1]);
}

enum hp_err hp_hotspot_peek(struct hp_profiler *profiler, const uint64_t *weights, size_t n_weights,
                            struct hp_hotspot_peek **peeks, size_t *cap,
                            struct hp_hotspot_state *state)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    hp_spots_settle(spots);
    HP_TRY(hp_grow(peeks, cap, spots->n_found + 1, sizeof **peeks));
    *state =
        (struct hp_hotspot_state){.found = spots->n_found, .running = (uint32_t)spots->n_processes};
    for (uint32_t i = 0; i < spots->n_found; i++) {
        const struct hp_spots_found *f = spots->found[i];
        (*peeks)[i] = (struct hp_hotspot_peek){.number = i,
                                               .blocks = (uint32_t)f->n_members,
                                               .hottest = hottest_of(spots, f, weights, n_weights),
                                               .executed = f->total,
                                               .at_instructions = f->at_instructions};
    }
    for (size_t i = 0; i < spots->n_processes; i++) {
        struct hp_spots_process *p = spots->processes[i];
        state->looking += !p->state || p->state->on;
        count_running(spots, p, *peeks);
    }
    return HP_OK;
}
