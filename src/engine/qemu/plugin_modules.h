// SPDX-License-Identifier: MIT
/*
 * Which file a piece of the program's code comes from, by /proc/self/maps.
 */
#ifndef HP_QEMU_PLUGIN_MODULES_H
#define HP_QEMU_PLUGIN_MODULES_H

#include "engine/arena.h"

/*
 * The arena's record id of the module mapped at `host`; `*is_new` when it was not there before.
 * Reads the maps again only when something was mapped since. Code in no file belongs to "[anon]"
 * modules, one a mapping.
 */
uint32_t hp_modules_find(struct hp_arena *arena, uint64_t host, uint64_t guest_base, bool *is_new);

/* A module that was found to be gone, each once; 0: no more. Looked for when the maps are read. */
uint32_t hp_modules_unloaded(void);

/* The program changed its mappings. */
void hp_modules_changed(void);

#endif
