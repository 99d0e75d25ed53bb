// SPDX-License-Identifier: MIT
/*
 * The list of mappings, shared by maps.c, maps_calls.c and guards.c. With the lock held.
 */
#ifndef HP_NATIVE_MAPS_H
#define HP_NATIVE_MAPS_H

#include "engine/native/inner/cache.h"
#include "engine/native/inner/ranges.h"

extern struct hp_ranges hp_maps;

/* For ranges without a file. */
extern const char hp_maps_no_path[];

/* The list may be wrong: it will be read again before use. */
void hp_maps_doubt(void);

/* The former contents of [low, high) are no longer mapped there. Code from there has been removed
 * by hp_maps_let_go(). */
void hp_maps_drop(struct hp_self *self, uint64_t low, uint64_t high);

/* The contents or the protection of [low, high) will change: drops code from there, and restores
 * the protection the program has set. */
void hp_maps_let_go(uint64_t low, uint64_t high);

/* The file's bytes [low, high) have changed, or may change unnoticed: drops code from shared
 * mappings of them. */
void hp_maps_file_changed(uint64_t inode, uint64_t low, uint64_t high);

/* Code was translated from a shared mapping. */
extern bool hp_maps_shared_code;

#endif
