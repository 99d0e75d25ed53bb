// SPDX-License-Identifier: MIT
/*
 * What engines need to know about a program file.
 */
#ifndef HP_ENGINE_ELF_FILE_H
#define HP_ENGINE_ELF_FILE_H

#include "hotpath/isa.h"

#include <stdbool.h>

struct hp_elf_file {
    enum hp_arch arch;     /* HP_ARCH_NONE: not supported */
    int machine;           /* e_machine */
    bool loadable;         /* it has executable contents: not an object file or a stub */
    char interpreter[256]; /* of a dynamic program, else "" */
    char build_id[129];    /* lower-case hex, "" for none */
};

/* HP_ERR_IO: cannot be read. HP_ERR_FORMAT: not an ELF file. */
enum hp_err hp_elf_file_read(const char *path, struct hp_elf_file *file);

#endif
