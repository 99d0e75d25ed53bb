// SPDX-License-Identifier: MIT
/*
 * What is done with a profile, and a profile to begin with.
 */
#ifndef HP_FUZZ_PROFILE_USE_H
#define HP_FUZZ_PROFILE_USE_H

#include "hotpath/profile.h"

#include <stddef.h>
#include <stdint.h>

/* The file of a small profile with something in every table, without checksums of its tables (so
 * that changes are not found by these). Valid for ever. */
const uint8_t *profile_base(size_t *size);

/* Loads the profile and, when that succeeds, makes something of it, by number: a report, a page, an
 * export, ... */
void profile_use(const char *path, unsigned what);

#endif
