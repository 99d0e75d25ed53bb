// SPDX-License-Identifier: MIT
/*
 * What AMD's instruction based sampling (IBS) says of an instruction, or of a fetch, as a sample of
 * ProfileMe would say it.
 */
#ifndef HP_IMPORT_IBS_H
#define HP_IMPORT_IBS_H

#include "base/ibs.h"
#include "hotpath/pipe.h"
#include "import/reader.h"

/* Faults of some processors: registers that say nothing. */
struct hp_ibs_cpu {
    bool zen3; /* family 19h, models below 10h: errata 1238 and 1293 */
};
/* `cpu`: as hp_perf_cpu() has it. */
struct hp_ibs_cpu hp_ibs_cpu_of(const char *cpu);

enum hp_ibs_state {
    HP_IBS_GOOD,
    HP_IBS_NO_PLACE, /* of an instruction whose address is not known */
    HP_IBS_ABORTED,  /* a fetch that was given up */
    HP_IBS_DAMAGED,  /* these are not such registers */
};

struct hp_ibs_sample {
    uint64_t pc;   /* of the instruction; of a fetch any byte of one */
    bool filtered; /* only what missed the L3 was sampled */
    /* What is known; times count from dispatch, of a fetch from its beginning. What is not known
     * is 0, HP_NEVER or HP_FROM_NOWHERE. */
    struct hp_timing timing;
};

/* Takes the capabilities and the registers behind them. */
enum hp_ibs_state hp_ibs_take_op(struct hp_perf_bytes raw, const struct hp_ibs_cpu *cpu,
                                 struct hp_ibs_sample *sample);
enum hp_ibs_state hp_ibs_take_fetch(struct hp_perf_bytes raw, const struct hp_ibs_cpu *cpu,
                                    struct hp_ibs_sample *sample);

#endif
