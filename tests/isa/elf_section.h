// SPDX-License-Identifier: MIT
/*
 * Reading whole sections of an ELF file, for the tests of the decoders.
 */
#ifndef HP_TEST_ELF_SECTION_H
#define HP_TEST_ELF_SECTION_H

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct elf_section {
    uint8_t *data; /* free() */
    size_t size;
    uint64_t address;
};

/* False when there is no such file or section. */
static inline bool elf_section_read(const char *path, const char *name, struct elf_section *section)
{
    *section = (struct elf_section){0};
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    size_t names = 0;
    Elf_Scn *scn = NULL;
    GElf_Shdr header;
    if (elf && elf_getshdrstrndx(elf, &names) == 0) {
        while (!section->data && (scn = elf_nextscn(elf, scn)) != NULL) {
            Elf_Data *data;
            if (!gelf_getshdr(scn, &header) ||
                strcmp(elf_strptr(elf, names, header.sh_name), name) != 0 ||
                !(data = elf_rawdata(scn, NULL)) || !data->d_size)
                continue;
            section->data = malloc(data->d_size);
            if (section->data)
                memcpy(section->data, data->d_buf, data->d_size);
            section->size = data->d_size;
            section->address = header.sh_addr;
        }
    }
    elf_end(elf);
    close(fd);
    return section->data != NULL;
}

#endif
