// SPDX-License-Identifier: MIT
/*
 * What the parts of loading a profile share. Errors stay in the reader, as there.
 */
#ifndef HP_PROFILE_LOADER_H
#define HP_PROFILE_LOADER_H

#include "hotpath/profile.h"
#include "profile/profile_reader.h"

struct hp_loader {
    struct hp_reader reader;
    struct hp_profile *profile;
    const char **strings; /* the string table; of the profile */
    size_t n_strings;
};

/* The next column, as a text of the profile. */
const char *hp_loader_text(struct hp_loader *loader);

/* The next column, a reference to the string table, as a text of the profile. */
const char *hp_loader_string(struct hp_loader *loader);

/* Contexts, paths, stats and predictions. */
void hp_loader_models(struct hp_loader *loader);

/* Loops and hot spots. */
void hp_loader_regions(struct hp_loader *loader);

/* Instructions, samplers and windows. */
void hp_loader_insns(struct hp_loader *loader);

#endif
