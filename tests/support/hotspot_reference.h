// SPDX-License-Identifier: MIT
/*
 * The hot spot detector as docs/hotspots.md defines it, with lists and linear searches. Shares only
 * the types of the interface with the detector.
 */
#ifndef HP_TEST_HOTSPOT_REFERENCE_H
#define HP_TEST_HOTSPOT_REFERENCE_H

#include "hotpath/hotspot.h"

/* A hot spot that was found. */
struct reference_spot {
    uint32_t process;
    uint64_t branches;
    struct hp_hotspot_branch *candidates; /* as the detector gives them */
    size_t n_candidates;
};

struct hotspot_reference;

/* Ends the program when memory runs out. */
struct hotspot_reference *hotspot_reference_new(const struct hp_hotspot_config *config);
void hotspot_reference_free(struct hotspot_reference *reference);
/* Whether it detected a hot spot. */
bool hotspot_reference_branch(struct hotspot_reference *reference, uint32_t process,
                              const struct hp_branch *branch);
void hotspot_reference_end(struct hotspot_reference *reference, uint32_t process);
/* Whether the buffer accepts a branch of that process now. */
bool hotspot_reference_owns(const struct hotspot_reference *reference, uint32_t process);
/* Whether the branch is of a profiled kind. */
bool hotspot_reference_profiles(const struct hp_hotspot_config *config, uint8_t flow);
const struct hp_hotspot_stats *hotspot_reference_stats(const struct hotspot_reference *reference);
const struct reference_spot *hotspot_reference_spots(const struct hotspot_reference *reference,
                                                     size_t *n);

#endif
