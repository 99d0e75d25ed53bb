// SPDX-License-Identifier: MIT
/*
 * What hardware traced, in a perf.data file: where its pieces are, and what the kernel says of how
 * it was recorded. The data stays in the file.
 */
#ifndef HP_IMPORT_AUX_H
#define HP_IMPORT_AUX_H

#include "base/perf_data.h"
#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_perf_bytes;

/* A piece of a buffer. */
struct hp_aux_piece {
    uint64_t at, size; /* in the file */
    uint64_t offset;   /* in all that the buffer ever had */
    uint32_t index;    /* of the buffer */
    int32_t tid, cpu;  /* whose it is; -1: it is of the other */
};

struct hp_aux {
    uint32_t type;  /* HP_PERF_AUXTRACE_INTEL_PT, ... ; 0: nothing was traced */
    uint64_t *info; /* what of this is missing is 0, up to HP_PERF_PT_INFO_COUNT_ words */
    size_t n_info;
    struct hp_aux_piece *pieces; /* in the order of the file */
    size_t n_pieces, cap_pieces;
    uint64_t shift, multiplier, zero; /* ticks become nanoseconds; multiplier 0: not known */
};
void hp_aux_fini(struct hp_aux *aux);

/* HP_ERR_NOMEM. */
enum hp_err hp_aux_take_info(struct hp_aux *aux, struct hp_perf_bytes body);
void hp_aux_take_time(struct hp_aux *aux, struct hp_perf_bytes body);

/* Nanoseconds of ticks. */
uint64_t hp_aux_ns(uint64_t ticks, uint64_t shift, uint64_t multiplier, uint64_t zero);

/* A piece whose data is `at` in the file; there are at most `left` bytes of it. HP_ERR_NOMEM. */
enum hp_err hp_aux_take_piece(struct hp_aux *aux, struct hp_perf_bytes body, uint64_t at,
                              uint64_t left);

/* Sorts the pieces by buffer and offset, and makes them disjoint: what is in two of them, or is
 * padding behind the first, is taken from the second. */
void hp_aux_settle(struct hp_aux *aux);

#endif
