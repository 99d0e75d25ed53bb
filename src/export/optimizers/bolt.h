// SPDX-License-Identifier: MIT
/*
 * A program's file as BOLT sees it: its functions, under the names that BOLT gives them, and where
 * it cuts them into blocks.
 *
 * BOLT takes functions from .symtab, in the order of addresses. Global ones keep their names; to
 * that of a local one "/1" is added, "/2" to the next local symbol of that name, and so on: so
 * functions of the same name in two files are told apart. Entries of the procedure linkage table
 * are "name@PLT".
 */
#ifndef HP_EXPORT_BOLT_H
#define HP_EXPORT_BOLT_H

#include "base/map64.h"
#include "export/flows.h"
#include "symbols/symbols_private.h"

struct hp_bolt_function {
    uint64_t from, to; /* offsets in the module; up to the next one, or the end of the section */
    uint64_t size;     /* as the symbol has it; 0: all of it */
    const char *name;
};

/* All zero is an empty one. */
struct hp_bolt_image {
    struct hp_elf file;
    uint64_t base;                      /* link-time address of offset 0 */
    struct hp_bolt_function *functions; /* by place, without overlaps */
    size_t n, capacity;
    /* Offsets in functions that something jumps to, executed or not, with the length of the
     * instruction that ends there: a profile has to say how often control ran on from that. */
    struct hp_map64 labels;
    struct hp_strings strings;
};

/* The file of a module alone, without its functions: for formats that have addresses. `*image` is
 * to be closed, even on failure. HP_ERR_NOTFOUND: it is gone, or it is another one now; the text
 * has its path. */
enum hp_err hp_bolt_image_open_file(const struct hp_pmodule *module, struct hp_bolt_image *image);

/* The same with its functions. HP_ERR_INVALID: it has no symbols; likewise. HP_ERR_NOMEM. */
enum hp_err hp_bolt_image_open(const struct hp_pmodule *module, struct hp_bolt_image *image);
void hp_bolt_image_close(struct hp_bolt_image *image);

/* The function that contains an offset, or NULL. */
const struct hp_bolt_function *hp_bolt_image_find(const struct hp_bolt_image *image,
                                                  uint64_t offset);

/* Decodes all functions of the file to find the labels: targets of direct jumps, and of those
 * computed ones that were executed. HP_ERR_UNSUPPORTED: there is no decoder for the architecture.
 * HP_ERR_NOMEM. */
enum hp_err hp_bolt_image_label(struct hp_bolt_image *image, const struct hp_flows *flows);

#endif
