// SPDX-License-Identifier: MIT
/*
 * Finds the file that a piece of the program's code comes from, in /proc/self/maps.
 */
#ifndef HP_QEMU_PLUGIN_MODULES_H
#define HP_QEMU_PLUGIN_MODULES_H

#include "engine/arena.h"

/*
 * The arena's record id of the module mapped at `host`; `*is_new` when it is seen first. Reads the
 * maps again only when a mapping has changed since. Code in no file belongs to "[anon]" modules,
 * one per mapping.
 */
uint32_t hp_modules_find(struct hp_arena *arena, uint64_t host, uint64_t guest_base, bool *is_new);

/* A module that was unloaded, each once; 0: no more. Detected when the maps are read. */
uint32_t hp_modules_unloaded(void);

/* The program changed its mappings. */
void hp_modules_changed(void);

#endif
