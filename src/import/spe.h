// SPDX-License-Identifier: MIT
/*
 * Packets of Arm's Statistical Profiling Extension (SPE), as samples of ProfileMe would say it: Arm
 * Architecture Reference Manual, "Statistical Profiling Extension Sample Record Specification".
 */
#ifndef HP_IMPORT_SPE_H
#define HP_IMPORT_SPE_H

#include "hotpath/pipe.h"
#include "import/reader.h"

#include <stdbool.h>
#include <stddef.h>

/* Packets that are left to take. */
struct hp_spe {
    const uint8_t *at, *end;
    uint64_t offset; /* of `at` in the buffer: what alignment packets refer to */
    uint64_t bad;    /* bytes that are no packets were passed over; so are records around them */
};

struct hp_spe_sample {
    uint64_t pc;      /* 0: not known; of the kernel its upper bits are set */
    uint32_t context; /* the thread that ran; 0: not known */
    /* What is known; times count from dispatch. What is not known is 0, HP_NEVER or
     * HP_FROM_NOWHERE. */
    struct hp_timing timing;
};

/* Takes the next record. False: there is no whole one left; `at` is where it begins. */
bool hp_spe_next(struct hp_spe *spe, struct hp_spe_sample *sample);

/* Whether SPE is what was traced in a file that has been read. */
bool hp_spe_is_in(struct hp_perf_reader *reader);

/* Takes all records of the file, buffer by buffer; adds the bytes that were passed over. */
typedef enum hp_err (*hp_spe_take)(void *context, const struct hp_aux_piece *piece,
                                   const struct hp_spe_sample *sample);
HP_MUST_CHECK enum hp_err hp_spe_read(struct hp_perf_reader *reader, hp_spe_take take,
                                      void *context, uint64_t *bad);

#endif
