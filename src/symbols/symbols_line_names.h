// SPDX-License-Identifier: MIT
/*
 * The file names of a line table of DWARF 5.
 */
#ifndef HP_SYMBOLS_SYMBOLS_LINE_NAMES_H
#define HP_SYMBOLS_SYMBOLS_LINE_NAMES_H

#include "base/strings.h"
#include "hotpath/error.h"
#include "symbols/symbols_bytes.h"

struct hp_line_names {
    struct hp_bytes lists; /* the table's directories and files */
    const char *strings;   /* .debug_line_str; NULL: none */
    size_t strings_size;
    struct hp_strings *kept; /* where paths are put */
};

/* The path of file `index`, as libdw has it, without "." and "..". HP_ERR_UNSUPPORTED: it cannot be
 * told. */
enum hp_err hp_line_names_path(const struct hp_line_names *names, uint64_t index,
                               const char **path);

#endif
