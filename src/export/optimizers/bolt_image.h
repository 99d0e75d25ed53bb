// SPDX-License-Identifier: MIT
/*
 * A program's file as BOLT sees it: its functions, under the names that BOLT gives them.
 *
 * BOLT takes functions from .symtab, in the order of addresses. Global ones keep their names; to
 * that of a local one "/1" is added, "/2" to the next local symbol of that name, and so on: so
 * functions of the same name in two files are told apart. Entries of the procedure linkage table
 * are "name@PLT".
 */
#ifndef HP_EXPORT_BOLT_IMAGE_H
#define HP_EXPORT_BOLT_IMAGE_H

#include "hotpath/profile.h"
#include "symbols/symbols_private.h"

struct hp_bolt_function {
    uint64_t from,
        to; /* offsets in the module; `to` is where the next one, or its section, begins or ends */
    uint64_t size; /* as the symbol has it; 0: all of it */
    const char *name;
};

struct hp_bolt_image {
    struct hp_elf file;
    uint64_t base;                      /* link-time address of offset 0 */
    struct hp_bolt_function *functions; /* by place, without overlaps */
    size_t n, capacity;
    struct hp_strings strings;
};

/*
 * Opens the file of a module. HP_ERR_NOTFOUND: it is gone, or it is another one now.
 * HP_ERR_INVALID: it has no symbols. All say so in one line that has its path. HP_ERR_NOMEM.
 */
enum hp_err hp_bolt_image_open(const struct hp_pmodule *module, struct hp_bolt_image *image);
void hp_bolt_image_close(struct hp_bolt_image *image);

/* The function that contains an offset, or NULL. */
const struct hp_bolt_function *hp_bolt_image_find(const struct hp_bolt_image *image,
                                                  uint64_t offset);

/* The file alone, without its functions: for formats that have addresses. */
enum hp_err hp_bolt_image_open_file(const struct hp_pmodule *module, struct hp_bolt_image *image);

#endif
