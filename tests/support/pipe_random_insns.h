// SPDX-License-Identifier: MIT
/*
 * Instructions for random code: for each architecture some without a transfer, and its transfers.
 */
#ifndef HP_TEST_PIPE_RANDOM_INSNS_H
#define HP_TEST_PIPE_RANDOM_INSNS_H

#include "hotpath/isa.h"

struct bytes {
    uint8_t n, byte[12];
};

struct arch {
    enum hp_arch arch;
    const struct bytes *straight;
    uint32_t n;
};

#define RANDOM_ARCHS 4
extern const struct arch random_archs[RANDOM_ARCHS];

enum end {
    END_COND,
    END_JUMP,
    END_CALL,
    END_RETURN,
    END_JUMP_IND,
    END_CALL_IND,
    END_JUMP_MEM, /* where there is such a thing */
    END_CALL_MEM,
    END_SYSTEM,
    ENDS
};

static inline bool is_direct(enum end end)
{
    return end == END_COND || end == END_JUMP || end == END_CALL;
}

/* A transfer of kind `end`; `random`, below 6, selects one of several. */
struct bytes random_end(enum hp_arch arch, enum end end, uint32_t random);

/* Sets the target of a direct transfer to `distance` from its start. */
void random_end_lead(enum hp_arch arch, enum end end, uint8_t *insn, uint32_t length,
                     int32_t distance);

#endif
