// SPDX-License-Identifier: MIT
/*
 * General paths of at most k branches (Young and Smith, Better global scheduling using path
 * profiles, MICRO 1998): docs/numbering.md.
 *
 * A general path is any sequence of branches executed one after the other, across loop iterations
 * too. A FIFO holds the last k branches; there is one for each frame, or one for all. Every retired
 * branch is an execution of each path that ends with it: of the k suffixes of the FIFO. Only the
 * longest is counted. The count of a shorter one is the sum over those that end with it, computed
 * on demand.
 */
#ifndef HOTPATH_GENERAL_H
#define HOTPATH_GENERAL_H

#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HP_GENERAL_MAX            64
#define HP_GENERAL_STATES_DEFAULT (1u << 24)

/* A branch as part of a path: where it is and where it went. */
struct hp_general_step {
    uint64_t address, target;
};

enum hp_general_scope {
    HP_GENERAL_FUNCTION, /* one FIFO for each frame: a call begins with an empty one, and its return
                            resumes the caller's */
    HP_GENERAL_PROGRAM,  /* one FIFO; calls and returns are branches like others */
};

struct hp_general_stats {
    uint64_t branches; /* fed */
    uint64_t steps;    /* of these, those that became part of a path */
    uint64_t states;   /* distinct FIFO contents */
    uint64_t lost;     /* branches not counted: there was no room */
};

struct hp_general;

/* k: 1 ... HP_GENERAL_MAX. `max_states` (0: the default) bounds the memory: branches that would
 * need more are counted in `lost`, and their FIFO is emptied. HP_ERR_INVALID: k out of range. */
HP_MUST_CHECK enum hp_err hp_general_new(uint32_t k, enum hp_general_scope scope,
                                         uint32_t max_states, struct hp_general **general);
void hp_general_free(struct hp_general *general);

/*
 * One retired branch of the thread. Within functions the steps are jumps and conditional branches;
 * calls and returns only change the frame. A branch does not say where its call returns to. So a
 * return is matched with the nearest frame whose call lies up to 16 bytes before its target; if
 * there is none, all FIFOs are emptied.
 */
void hp_general_branch(struct hp_general *general, const struct hp_branch *branch);

/* The history is lost: all FIFOs are empty. */
void hp_general_reset(struct hp_general *general);

/* The exact number of executions of this path, for 1 to k steps. */
HP_MUST_CHECK enum hp_err hp_general_count(struct hp_general *general,
                                           const struct hp_general_step *steps, uint32_t n,
                                           uint64_t *count);

/* FIFO contents number `i`, below stats.states, in the order of first occurrence. Stores its steps,
 * oldest first, in `steps` (room for k), and how often a branch left a FIFO in this state in
 * `*count`. Returns the number of steps. */
uint32_t hp_general_path(const struct hp_general *general, uint32_t i,
                         struct hp_general_step *steps, uint64_t *count);
const struct hp_general_stats *hp_general_stats(const struct hp_general *general);

#ifdef __cplusplus
}
#endif
#endif
