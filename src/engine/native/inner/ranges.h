// SPDX-License-Identifier: MIT
/*
 * The mappings that concern code: those that are or were executable, and all shared ones (through
 * which code elsewhere may be written). Kept sorted by address and updated by the program's calls
 * (maps_calls.c); what these do not tell is read from /proc (maps.c). All with the lock held.
 */
#ifndef HP_NATIVE_RANGES_H
#define HP_NATIVE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct hp_range {
    uint64_t low, high;
    uint64_t offset;  /* in its file */
    uint64_t inode;   /* of the file; 0: none */
    const char *path; /* kept for ever, stored once; "": none. NULL: not known yet */
    uint64_t base;    /* where the file begins in memory; without a file, where the mapping began */
    uint32_t module;  /* index + 1; 0: none yet */
    uint8_t prot;     /* PROT_...: as requested by the program, guarded or not */
    bool shared;
    bool used; /* code was translated from it */
};

struct hp_ranges {
    struct hp_range *items;
    uint32_t n, room; /* capacity: `front` of it lies before the first */
    uint32_t front;
};

/* Index of the first range that ends after `address`: contains it, or follows it. */
uint32_t hp_ranges_from(const struct hp_ranges *ranges, uint64_t address);
/* The range that contains it, or NULL. */
struct hp_range *hp_ranges_at(const struct hp_ranges *ranges, uint64_t address);
/* Whether [low, high) touches a range. */
bool hp_ranges_touch(const struct hp_ranges *ranges, uint64_t low, uint64_t high);

void hp_ranges_remove(struct hp_ranges *ranges, uint64_t low, uint64_t high);
/* Replaces what was there. Dropped when there is no memory. */
void hp_ranges_put(struct hp_ranges *ranges, const struct hp_range *range);
/* Sets the protection of everything in [low, high). A part that was not listed is added when it
 * becomes executable. */
void hp_ranges_protect(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot);
/* Adds to the protection of everything in [low, high). */
void hp_ranges_allow(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot);

/* Makes room for one more item in an array of pages; false: no memory. */
bool hp_grow(void *array, uint32_t *room, uint32_t used, uint32_t size);

#endif
