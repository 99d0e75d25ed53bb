// SPDX-License-Identifier: MIT
/*
 * The parameters of a machine file: one table with name, kind, bounds and default of each.
 */
#ifndef HP_MACHINE_KEYS_H
#define HP_MACHINE_KEYS_H

#include "machine/machine.h"

enum hp_key_kind {
    HP_KEY_NUMBER, /* may end in K, M, G, as all numbers */
    HP_KEY_POWER,  /* a power of two */
    HP_KEY_WAYS,   /* a number, or "full" (0) */
    HP_KEY_CHOICE,
};

#define HP_KEY_REQUIRED (-1)
#define HP_KEYS_MAX     16 /* of a section */
#define HP_SECTIONS_MAX 32

struct hp_key {
    const char *name;
    enum hp_key_kind kind;
    size_t offset; /* of its uint64_t, in the section's struct */
    uint64_t low, high;
    int64_t initial;            /* the default; HP_KEY_REQUIRED: there is none */
    const char *const *choices; /* of HP_KEY_CHOICE, ended by NULL; the value is the index */
};

enum hp_section_kind {
    HP_SECTION_REQUIRED,
    HP_SECTION_OPTIONAL, /* without it, a part is missing: its struct begins with `present` */
    HP_SECTION_DEFAULTS, /* without it, every key has its default */
};

struct hp_section {
    const char *name;
    enum hp_section_kind kind;
    size_t offset; /* of its struct, in struct hp_machine */
    const struct hp_key *keys;
    unsigned n_keys;
};

extern const struct hp_section hp_sections[];
extern const unsigned hp_n_sections;

/* The index of a section, or of a key in a section; -1: there is none. */
int hp_section_find(const char *name, size_t length);
int hp_key_find(const struct hp_section *section, const char *name);

/* Where a key's value is. */
static inline uint64_t *hp_key_value(const struct hp_section *section, const struct hp_key *key,
                                     struct hp_machine *machine)
{
    return (uint64_t *)(void *)((char *)machine + section->offset + key->offset);
}

/* Reads a value. HP_ERR_INVALID: the error's text says what is wrong with it. */
enum hp_err hp_key_read(const struct hp_key *key, const char *text, uint64_t *value);

#endif
