// SPDX-License-Identifier: MIT
/*
 * The code in the files of modules, for addresses that the program has not executed yet.
 *
 * A module is known once one of its blocks was executed. Its file, not the code map, determines
 * where its code is. So neither depends on how far the stream was read ahead.
 */
#ifndef HP_MACHINE_PIPE_IMAGE_H
#define HP_MACHINE_PIPE_IMAGE_H

#include "hotpath/code.h"
#include "symbols/module_code.h"

#include <stdbool.h>

/* A module that was reached and has a file. */
struct hp_code_image {
    struct hp_module_code *code;
    uint64_t base; /* where offset 0 is */
    uint8_t mode;  /* enum hp_isa_mode of the block that was reached first */
};

/* All zero is an empty list. */
struct hp_images {
    struct hp_code_image *images; /* in the order of their first block */
    size_t n, cap;
    uint8_t *known; /* by module: it is among them */
    size_t cap_known;
};

void hp_images_fini(struct hp_images *images);

static inline bool hp_images_known(const struct hp_images *images, uint32_t module)
{
    return module < images->cap_known && images->known[module];
}

/* Records that a block was executed; opens the file of its module if that was unknown. The file
 * must have the build id of the module or, if that has none, the code of the block. Unusable files
 * are not an error. HP_ERR_NOMEM. */
enum hp_err hp_images_reach(struct hp_images *images, const struct hp_code *code, uint32_t block);

/* Whether the code of the last reached module overlaps that of another one. */
bool hp_images_overlap(const struct hp_images *images);

/* Reads up to `size` bytes of code at an address, fewer where the code ends; of several modules
 * with code there, from the last reached. `*mode`: that of the module's first block. 0: none. */
size_t hp_images_read(const struct hp_images *images, uint64_t address, uint8_t *bytes, size_t size,
                      enum hp_isa_mode *mode);

#endif
