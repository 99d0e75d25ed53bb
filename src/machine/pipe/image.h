// SPDX-License-Identifier: MIT
/*
 * The code in the files of modules: what is at an address that the program has not executed yet.
 *
 * A module is known once one of its blocks was executed. Its code is where its file says, not where
 * the code map has seen some: neither depends on how far the stream was read ahead.
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

/* Notes that a block of a module that is not known was executed, and opens its file. The file has
 * to have the build id of the module; where that has none, the code of the block. Files that cannot
 * be used are no error. HP_ERR_NOMEM. */
enum hp_err hp_images_reach(struct hp_images *images, const struct hp_code *code, uint32_t block);

/* Whether the module that was reached last has code where another one has some, too. */
bool hp_images_overlap(const struct hp_images *images);

/* Reads up to `size` bytes of code at an address, fewer where the code ends, from the module that
 * was reached last of those that have some there. `*mode`: as of that module's first block. 0:
 * there is none. */
size_t hp_images_read(const struct hp_images *images, uint64_t address, uint8_t *bytes, size_t size,
                      enum hp_isa_mode *mode);

#endif
