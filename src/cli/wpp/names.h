// SPDX-License-Identifier: MIT
/*
 * Names for the paths of a whole program path: where they start.
 */
#ifndef HP_CLI_WPP_NAMES_H
#define HP_CLI_WPP_NAMES_H

#include "hotpath/wpp.h"
#include "symbols/symbols.h"

struct hp_wpp_names {
    const struct hp_wpp_reader *reader;
    struct hp_symbols **symbols; /* of each module; NULL where there are none */
    bool *opened;
    size_t n;
};

enum hp_err hp_wpp_names_init(struct hp_wpp_names *names, const struct hp_wpp_reader *reader);
void hp_wpp_names_fini(struct hp_wpp_names *names);

/* The function in which the path starts; NULL where that is not known. Symbols are read when first
 * needed. */
const struct hp_symbol *hp_wpp_names_function(struct hp_wpp_names *names,
                                              const struct hp_wpp_path *path);

/* "module+0xoffset", or "0xaddress" for code in no module, into `text`, cut to `size`. */
void hp_wpp_names_place(const struct hp_wpp_names *names, const struct hp_wpp_path *path,
                        char *text, size_t size);

/* "0110", first branch first. */
void hp_wpp_outcomes(const struct hp_wpp_path *path, char text[HP_PATH_MAX_LENGTH + 1]);

#endif
