// SPDX-License-Identifier: MIT
/*
 * The branch unit: direction predictor, BTB, return address stack and indirect predictor together
 * see every retired transfer and determine whether it was mispredicted:
 *
 *   conditional transfers   the direction was wrong
 *   returns                 the return address stack had another address (without one: as indirect)
 *   indirect jumps, calls   the BTB, or ITTAGE, had another target or none
 *
 * A direct transfer that is taken and not in the BTB is counted separately: the target is in the
 * instruction, so it costs a fetch bubble, not a misprediction.
 */
#ifndef HP_MACHINE_BRANCHES_H
#define HP_MACHINE_BRANCHES_H

#include "hotpath/isa.h"
#include "machine/btb.h"
#include "machine/ittage.h"
#include "machine/predictor.h"

struct hp_transfer {
    uint64_t pc;     /* as predictors expect it */
    uint64_t target; /* the address run next */
    uint64_t end;    /* the address after the instruction */
    uint64_t direct; /* where a direct transfer leads when it is taken, else 0; for
                        hp_branches_predict() */
    uint8_t flow;    /* enum hp_flow; not NONE, SYSCALL, TRAP */
    bool conditional, backward, taken;
};

struct hp_branch_stats {
    uint64_t transfers, conditional, taken, indirect, calls,
        returns; /* taken: of the conditional */
    uint64_t mispredictions, directions, targets, return_addresses;
    uint64_t btb_lookups, btb_misses; /* of taken direct transfers */
};

struct hp_branches {
    struct hp_predictor *predictor;
    struct hp_ittage *ittage; /* NULL: the BTB predicts */
    struct hp_btb btb;
    struct hp_ras ras;
    struct hp_branch_stats stats;
};

/* HP_ERR_NOMEM; hp_branches_fini() is safe then too. */
enum hp_err hp_branches_init(struct hp_branches *branches, const struct hp_branch_config *config);
void hp_branches_fini(struct hp_branches *branches);

/* What was predicted for a transfer. */
struct hp_forecast {
    uint64_t next; /* the next address; 0: unknown. Correct unless the transfer was mispredicted */
    bool taken;    /* as predicted; true for unconditional transfers */
    bool wrong;    /* mispredicted */
    bool btb_missed; /* a direct transfer that was taken and not in the BTB */
};

/* Queries the predictors, and trains them with the outcome. */
struct hp_forecast hp_branches_predict(struct hp_branches *branches,
                                       const struct hp_transfer *transfer);

/* The same; returns only whether it was mispredicted. */
static inline bool hp_branches_retire(struct hp_branches *branches,
                                      const struct hp_transfer *transfer)
{
    return hp_branches_predict(branches, transfer).wrong;
}

/* On a wrong path: the predicted direction of a conditional branch. Nothing is learnt. */
static inline bool hp_branches_guess(struct hp_branches *branches, uint64_t pc, bool backward)
{
    return branches->predictor->predict(branches->predictor, pc, backward);
}

#endif
