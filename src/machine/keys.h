// SPDX-License-Identifier: MIT
/*
 * The sections of a machine file and their keys (base/settings.h).
 */
#ifndef HP_MACHINE_KEYS_H
#define HP_MACHINE_KEYS_H

#include "base/settings.h"
#include "machine/machine.h"

#define HP_KEYS_MAX     16 /* of a section */
#define HP_SECTIONS_MAX 32

enum hp_section_kind {
    HP_SECTION_REQUIRED,
    HP_SECTION_OPTIONAL, /* if absent, the machine lacks the part: its struct has `present` first */
    HP_SECTION_DEFAULTS, /* if absent, every key has its default */
};

struct hp_machine_section {
    const struct hp_model *model; /* no keys: there is no such section */
    enum hp_section_kind kind;
    size_t offset; /* of its struct, in struct hp_machine */
};

extern const struct hp_machine_section hp_sections[];
extern const unsigned hp_n_sections;
extern const struct hp_model_family hp_machine_family, hp_predictor_family;

/* The index of a section, or of a key in a section; -1: none. */
int hp_section_find(const char *name, size_t length);
int hp_key_find(const struct hp_machine_section *section, const char *name);

/* The struct of a section, in which its keys are. */
static inline void *hp_section_of(const struct hp_machine_section *section,
                                  struct hp_machine *machine)
{
    return (char *)machine + section->offset;
}

/* The value of a key of a machine, to read or to change; NULL: there is no such section or key. */
uint64_t *hp_machine_value(struct hp_machine *machine, const char *section, const char *key);

#endif
