// SPDX-License-Identifier: MIT
/*
 * What maps.c, maps_calls.c and guards.c share: the list of mappings. With the lock held.
 */
#ifndef HP_NATIVE_MAPS_H
#define HP_NATIVE_MAPS_H

#include "engine/native/inner/cache.h"
#include "engine/native/inner/ranges.h"

extern struct hp_ranges hp_maps;

/* For ranges without a file. */
extern const char hp_maps_no_path[];

/* The list may be wrong: it is read again before it is used. */
void hp_maps_doubt(void);

/* What was in [low, high) is no longer mapped there. Code from there was removed by
 * hp_maps_let_go(). */
void hp_maps_drop(struct hp_self *self, uint64_t low, uint64_t high);

/* The contents or the protection of [low, high) will change: code from there goes, and all of it is
 * as the program wants it. */
void hp_maps_let_go(uint64_t low, uint64_t high);

/* The file's bytes [low, high) may have changed, or may change without our knowing: code from
 * shared mappings of them goes. */
void hp_maps_file_changed(uint64_t inode, uint64_t low, uint64_t high);

/* Code was translated from a shared mapping. */
extern bool hp_maps_shared_code;

#endif
