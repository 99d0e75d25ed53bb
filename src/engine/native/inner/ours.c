// SPDX-License-Identifier: MIT
/*
 * The engine's own memory. In a native run the program would have nothing there, so its operations
 * on that memory must not be carried out.
 */
#include "engine/native/inner/landings.h"

/* Keeps the lowest part found in [low, high). */
static void look(uint64_t low, uint64_t high, uint64_t from, uint64_t to, struct hp_span *found)
{
    if (from < high && to > low && from < found->low)
        *found = (struct hp_span){from, to};
}

bool hp_ours(uint64_t low, uint64_t high, struct hp_span *found)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char _end[] __attribute__((visibility("hidden")));
    uint64_t arena = (uint64_t)(uintptr_t)hp_engine.arena, pages_low, pages_high;
    *found = (struct hp_span){UINT64_MAX, UINT64_MAX};
    hp_pages_span(&pages_low, &pages_high);
    look(low, high, pages_low, pages_high, found);
    look(low, high, arena, arena + hp_engine.arena->shape.size, found);
    look(low, high, (uint64_t)(uintptr_t)__ehdr_start,
         ((uint64_t)(uintptr_t)_end + 4095) & ~(uint64_t)4095, found);
    look(low, high, hp_landings_at, hp_landings_at + (hp_landings_mask() + 1ull) * 8, found);
    for (unsigned i = 0; i < hp_n_areas; i++)
        look(low, high, (uint64_t)(uintptr_t)hp_areas[i].low, (uint64_t)(uintptr_t)hp_areas[i].high,
             found);
    return found->low != UINT64_MAX;
}
