// SPDX-License-Identifier: MIT
/* The functions that code was written in: inlined ones, as the profile has them. */
#ifndef HP_REPORT_FRAMES_H
#define HP_REPORT_FRAMES_H

#include "hotpath/profile.h"

/* The functions inlined into each other somewhere in a block, outermost first: `n` rows. */
struct hp_frames {
    const struct hp_pinlined_range *ranges;
    size_t n;
};

/* At a byte of a block. */
struct hp_frames hp_frames_at(const struct hp_profile *profile, uint32_t block, uint32_t offset);

/* Those that two pieces of code of one function have in common. */
struct hp_frames hp_frames_common(struct hp_frames a, struct hp_frames b);

/* Those that all code of a block has in common. */
struct hp_frames hp_frames_of_block(const struct hp_profile *profile, uint32_t block);

/* The line in the innermost of `frames` that a source line of a block comes from: itself, or that
 * of the call that was inlined there. */
struct hp_written {
    const char *file; /* "" unknown */
    uint32_t line;
};
struct hp_written hp_written_in(const struct hp_profile *profile, struct hp_frames frames,
                                const struct hp_pline *line);

#endif
