// SPDX-License-Identifier: MIT
/*
 * Where a short backward branch is in the executed code: how many instructions its bounds contain,
 * and which exact loop it belongs to.
 */
#ifndef HP_PROFILER_LOOP_MODELS_PLACES_H
#define HP_PROFILER_LOOP_MODELS_PLACES_H

#include "hotpath/profile.h"
#include "profiler/loop/model.h"

struct hp_sbb_places {
    struct hp_code *code;
    const struct hp_profile *profile;
    uint32_t *blocks;    /* by start */
    uint32_t *innermost; /* the innermost loop that contains a block; NULL: no loops known */
    bool *closed;        /* by loop: there is a branch to its header */
    uint64_t *addresses; /* scratch */
    size_t n, cap;
};

/* After the run, when the profile has the code map; `sbbs` are all branches. Keeps `code` and
 * `profile`. Call hp_sbb_places_fini() also when it fails. HP_ERR_NOMEM. */
enum hp_err hp_sbb_places_init(struct hp_sbb_places *places, struct hp_code *code,
                               const struct hp_profile *profile, const struct hp_sbb *sbbs,
                               size_t n_sbbs);
void hp_sbb_places_fini(struct hp_sbb_places *places);

/* How many different instructions were run between the target of the branch and the branch.
 * HP_ERR_NOMEM. */
enum hp_err hp_sbb_places_insns(struct hp_sbb_places *places, const struct hp_sbb *sbb,
                                uint64_t *insns);

/*
 * The exact loop that the branch closes; HP_PROFILE_NONE: none, or loops were not profiled. It is
 * the innermost one that contains both the branch and its target, if its header is the target. But
 * a loop may be entered at its test, after its body: then the test is the header, and the branch
 * goes to the body. So, if no short backward branch goes to the header of a loop, all branches
 * inside close it.
 */
uint32_t hp_sbb_places_loop(const struct hp_sbb_places *places, const struct hp_sbb *sbb);

#endif
