// SPDX-License-Identifier: MIT
/*
 * What engines need to know of a program file.
 */
#ifndef HP_ENGINE_ELF_FILE_H
#define HP_ENGINE_ELF_FILE_H

#include "hotpath/isa.h"

#include <stdbool.h>

struct hp_elf_file {
    enum hp_arch arch;     /* HP_ARCH_NONE: an architecture hotpath does not know */
    int machine;           /* e_machine */
    bool loadable;         /* something in it can be run: not an object file, not a stump */
    char interpreter[256]; /* of a dynamic program, else "" */
    char build_id[129];    /* lower-case hex, "" for none */
};

/* HP_ERR_IO: cannot be read. HP_ERR_FORMAT: not an ELF file. */
enum hp_err hp_elf_file_read(const char *path, struct hp_elf_file *file);

#endif
