// SPDX-License-Identifier: MIT
/*
 * How many executed instructions there are between two addresses.
 */
#ifndef HP_LAB_LOOPS_CODE_SIZES_H
#define HP_LAB_LOOPS_CODE_SIZES_H

#include "hotpath/code.h"

struct hp_lab_code_sizes {
    uint64_t *addresses; /* of instructions, ascending, each once */
    size_t n;
};

/* HP_ERR_NOMEM; `*sizes` is empty then. */
enum hp_err hp_lab_code_sizes_init(struct hp_lab_code_sizes *sizes, struct hp_code *code);
void hp_lab_code_sizes_fini(struct hp_lab_code_sizes *sizes);

/* Those from `first` to `last`, both included. */
size_t hp_lab_code_sizes_count(const struct hp_lab_code_sizes *sizes, uint64_t first,
                               uint64_t last);

#endif
