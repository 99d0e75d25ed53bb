// SPDX-License-Identifier: MIT
/*
 * Registers of AMD's instruction based sampling (IBS), as perf keeps them in raw samples: 32 bits
 * of capabilities, then the registers of an op or of a fetch. AMD64 Architecture Programmer's
 * Manual, volume 2, "Instruction Based Sampling".
 */
#ifndef HP_BASE_IBS_H
#define HP_BASE_IBS_H

#include <stdint.h>

enum hp_ibs_register {
    HP_IBS_OP_CTL,
    HP_IBS_OP_RIP,
    HP_IBS_OP_DATA,
    HP_IBS_OP_DATA2,
    HP_IBS_OP_DATA3,
    HP_IBS_DC_LINADDR,
    HP_IBS_DC_PHYSADDR,
    HP_IBS_BRTARGET, /* where the capabilities say so */
    HP_IBS_OP_REGISTERS,
    HP_IBS_FETCH_CTL = 0,
    HP_IBS_FETCH_LINADDR,
    HP_IBS_FETCH_PHYSADDR,
    HP_IBS_FETCH_REGISTERS,
};

#define HP_IBS_BIT(n) (UINT64_C(1) << (n))

/* Capabilities: the 32 bits before the registers. */
#define HP_IBS_CAPS_BRTARGET HP_IBS_BIT(5)
#define HP_IBS_CAPS_ZEN4     HP_IBS_BIT(11)

/* Of an event: what is counted between samples, ops or cycles. */
#define HP_IBS_CONFIG_OPS HP_IBS_BIT(19)

#define HP_IBS_CTL_ENABLED HP_IBS_BIT(17)
#define HP_IBS_CTL_VALID   HP_IBS_BIT(18)
#define HP_IBS_CTL_L3      HP_IBS_BIT(16) /* since Zen 4: only what missed the L3 */
#define HP_IBS_CTL_OPS     HP_IBS_BIT(19)

#define HP_IBS_DATA_COMPLETION_TO_RETIRE 0  /* 16 bits */
#define HP_IBS_DATA_TAG_TO_RETIRE        16 /* 16 bits */
#define HP_IBS_DATA_RETURN               HP_IBS_BIT(34)
#define HP_IBS_DATA_TAKEN                HP_IBS_BIT(35)
#define HP_IBS_DATA_MISPREDICTED         HP_IBS_BIT(36)
#define HP_IBS_DATA_BRANCH               HP_IBS_BIT(37)
#define HP_IBS_DATA_NO_RIP               HP_IBS_BIT(38)

#define HP_IBS_DATA3_LOAD        HP_IBS_BIT(0)
#define HP_IBS_DATA3_STORE       HP_IBS_BIT(1)
#define HP_IBS_DATA3_TLB1_MISS   HP_IBS_BIT(2)
#define HP_IBS_DATA3_TLB2_MISS   HP_IBS_BIT(3)
#define HP_IBS_DATA3_MISS        HP_IBS_BIT(7)
#define HP_IBS_DATA3_NO_MAB      HP_IBS_BIT(16)
#define HP_IBS_DATA3_ADDRESS     HP_IBS_BIT(17)
#define HP_IBS_DATA3_L2_MISS     HP_IBS_BIT(20)
#define HP_IBS_DATA3_PREFETCH    HP_IBS_BIT(21)
#define HP_IBS_DATA3_MISS_CYCLES 32 /* 16 bits */

#define HP_IBS_FETCH_CYCLES    32 /* 16 bits */
#define HP_IBS_FETCH_ENABLED   HP_IBS_BIT(48)
#define HP_IBS_FETCH_VALID     HP_IBS_BIT(49)
#define HP_IBS_FETCH_COMPLETE  HP_IBS_BIT(50)
#define HP_IBS_FETCH_MISS      HP_IBS_BIT(51)
#define HP_IBS_FETCH_TLB1_MISS HP_IBS_BIT(55)

/* Where data come from that were in neither the L1 nor the L2. */
enum hp_ibs_source {
    HP_IBS_SOURCE_NONE,
    HP_IBS_SOURCE_L3,    /* since Zen 4; before, reserved */
    HP_IBS_SOURCE_CACHE, /* another core's L1 or L2, or an L3: since Zen 4 a remote one */
    HP_IBS_SOURCE_MEMORY,
};

#endif
