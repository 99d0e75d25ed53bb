// SPDX-License-Identifier: MIT
/*
 * Where a short backward branch is in the code that was run: how many instructions there are in its
 * bounds, and which exact loop it belongs to.
 */
#ifndef HP_PROFILER_LOOP_MODELS_PLACES_H
#define HP_PROFILER_LOOP_MODELS_PLACES_H

#include "hotpath/profile.h"
#include "profiler/loop/model.h"

struct hp_sbb_places {
    struct hp_code *code;
    const struct hp_profile *profile;
    uint32_t *blocks;    /* by start */
    uint32_t *innermost; /* the innermost loop that a block is a node of; NULL: none are known */
    bool *closed;        /* of a loop: there is a branch to its header */
    uint64_t *addresses; /* scratch */
    size_t n, cap;
};

/* After the run; the profile has the code map; `sbbs` are all there are. Keeps `code` and
 * `profile`. hp_sbb_places_fini() also when it fails. HP_ERR_NOMEM. */
enum hp_err hp_sbb_places_init(struct hp_sbb_places *places, struct hp_code *code,
                               const struct hp_profile *profile, const struct hp_sbb *sbbs,
                               size_t n_sbbs);
void hp_sbb_places_fini(struct hp_sbb_places *places);

/* How many different instructions were run between the target of the branch and itself.
 * HP_ERR_NOMEM. */
enum hp_err hp_sbb_places_insns(struct hp_sbb_places *places, const struct hp_sbb *sbb,
                                uint64_t *insns);

/*
 * The exact loop that the branch closes; HP_PROFILE_NONE: none, or nobody found loops. That is the
 * innermost one that both the branch and its target are in, if its header is the target. But a loop
 * may be entered at its test, behind its body: then the test is the header, and the branch leads to
 * the body. So, where no short backward branch leads to the header of a loop, all inside are taken
 * to close it.
 */
uint32_t hp_sbb_places_loop(const struct hp_sbb_places *places, const struct hp_sbb *sbb);

#endif
