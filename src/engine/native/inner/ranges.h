// SPDX-License-Identifier: MIT
/*
 * The mappings that have to do with code: those that are executable or were, and all that are
 * shared (through which code elsewhere may be written). Kept in order of addresses and up to date
 * by what the program does (maps_calls.c); what cannot be known that way is read from /proc
 * (maps.c). All of it with the lock held.
 */
#ifndef HP_NATIVE_RANGES_H
#define HP_NATIVE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct hp_range {
    uint64_t low, high;
    uint64_t offset;  /* in its file */
    uint64_t inode;   /* of the file; 0: none */
    const char *path; /* kept for ever, each only once; "": none. NULL: not known yet */
    uint64_t base;    /* where the file begins in memory; of what has no file, where it began */
    uint32_t module;  /* index + 1; 0: none yet */
    uint8_t prot;     /* PROT_...: what the program has asked for, guarded or not */
    bool shared;
    bool used; /* code was translated from it */
};

struct hp_ranges {
    struct hp_range *items;
    uint32_t n, room; /* room: for so many, `front` of them before the first */
    uint32_t front;
};

/* Index of the first range that ends behind `address`: it holds it, or is the next. */
uint32_t hp_ranges_from(const struct hp_ranges *ranges, uint64_t address);
/* The one that holds it, or NULL. */
struct hp_range *hp_ranges_at(const struct hp_ranges *ranges, uint64_t address);
/* Whether any of [low, high) is in one. */
bool hp_ranges_touch(const struct hp_ranges *ranges, uint64_t low, uint64_t high);

void hp_ranges_remove(struct hp_ranges *ranges, uint64_t low, uint64_t high);
/* In the place of what was there. Forgotten when there is no memory for it. */
void hp_ranges_put(struct hp_ranges *ranges, const struct hp_range *range);
/* What is in [low, high) has this protection. What was of no interest there becomes known when it
 * is executable. */
void hp_ranges_protect(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot);
/* Adds to the protection of what is in [low, high). */
void hp_ranges_allow(struct hp_ranges *ranges, uint64_t low, uint64_t high, uint8_t prot);

/* Room for one more item in an array of pages; false: no memory. */
bool hp_grow(void *array, uint32_t *room, uint32_t used, uint32_t size);

#endif
