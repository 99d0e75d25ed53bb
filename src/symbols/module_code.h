// SPDX-License-Identifier: MIT
/*
 * The code in a module's file, by offset in the module (symbols.h).
 */
#ifndef HP_SYMBOLS_MODULE_CODE_H
#define HP_SYMBOLS_MODULE_CODE_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_module_code;

/*
 * Opens the file. `build_id`: the file must have this one; NULL: the caller checks the file
 * otherwise. Without one ("") nothing shows whether it is still the file that ran: it must have
 * none either, and must not have been changed after `not_after` (seconds since the epoch).
 * HP_ERR_NOTFOUND: it does not exist, or is another one. HP_ERR_FORMAT: not ELF. HP_ERR_NOMEM. The
 * error text says which, and why.
 */
enum hp_err hp_module_code_open(const char *path, const char *build_id, int64_t not_after,
                                struct hp_module_code **code);
void hp_module_code_close(struct hp_module_code *code);

/* The i-th code part of the module: offsets from `*low` to before `*high`. False: there are
 * fewer. */
bool hp_module_code_range(const struct hp_module_code *code, size_t i, uint64_t *low,
                          uint64_t *high);

/* Where the i-th code part is in the file. */
uint64_t hp_module_code_file_offset(const struct hp_module_code *code, size_t i);

/* The address that the file gives to offset 0: 0 in position-independent files. */
uint64_t hp_module_code_base(const struct hp_module_code *code);

/* Reads up to `size` bytes of code at an offset, fewer where the code ends; returns how many. The
 * file is read on demand, not mapped: it may shrink meanwhile. */
size_t hp_module_code_read(const struct hp_module_code *code, uint64_t offset, uint8_t *bytes,
                           size_t size);

#endif
