// SPDX-License-Identifier: MIT
#include "engine/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hp_arch arch_of(const GElf_Ehdr *header)
{
    bool wide = header->e_ident[EI_CLASS] == ELFCLASS64;
    if (header->e_ident[EI_DATA] != ELFDATA2LSB)
        return HP_ARCH_NONE;
    switch (header->e_machine) {
    case EM_X86_64: return wide ? HP_ARCH_X86_64 : HP_ARCH_NONE;
    case EM_AARCH64: return wide ? HP_ARCH_AARCH64 : HP_ARCH_NONE;
    case EM_ARM: return HP_ARCH_ARM;
    case EM_RISCV: return wide ? HP_ARCH_RISCV64 : HP_ARCH_NONE;
    case EM_ALPHA: return HP_ARCH_ALPHA;
    default: return HP_ARCH_NONE;
    }
}

static void read_interpreter(Elf *elf, const GElf_Phdr *segment, struct hp_elf_file *file)
{
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_BYTE);
    if (data && data->d_size > 0 && data->d_size < sizeof file->interpreter)
        memcpy(file->interpreter, data->d_buf, data->d_size);
}

static void read_notes(Elf *elf, const GElf_Phdr *segment, struct hp_elf_file *file)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
                                          segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t at = 0, name, desc;
    while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
        const char *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp(bytes + name, "GNU", 4) != 0 || note.n_descsz > 64)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(file->build_id + 2 * i, 3, "%02x", (unsigned char)bytes[desc + i]);
    }
}

enum hp_err hp_elf_file_read(const char *path, struct hp_elf_file *file)
{
    *file = (struct hp_elf_file){0};
    elf_version(EV_CURRENT);
    /* Do not block on a pipe: the name may be anything a watched program gave. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    struct stat status;
    bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    Elf *elf = regular ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    GElf_Ehdr header;
    enum hp_err err = HP_OK;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
        err = hp_fail(HP_ERR_FORMAT, "%s is not an ELF file", path);
    } else {
        file->arch = arch_of(&header);
        file->machine = header.e_machine;
        size_t n = 0, size = (size_t)status.st_size; /* elf_rawfile() would read all of it */
        elf_getphdrnum(elf, &n);
        for (size_t i = 0; i < n; i++) {
            GElf_Phdr segment;
            if (!gelf_getphdr(elf, (int)i, &segment))
                break;
            if (segment.p_type == PT_LOAD && segment.p_offset < size)
                file->loadable = header.e_type == ET_EXEC || header.e_type == ET_DYN;
            else if (segment.p_type == PT_INTERP)
                read_interpreter(elf, &segment, file);
            else if (segment.p_type == PT_NOTE && !file->build_id[0])
                read_notes(elf, &segment, file);
        }
    }
    elf_end(elf);
    close(fd);
    return err;
}
