// SPDX-License-Identifier: MIT
/*
 * Debug information: an ELF file is made around it. The input: sections, each a byte which, two
 * bytes how long, the bytes; so a change in one does not move the others.
 */
#include "support.h"
#include "symbols/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define CODE_AT   0x1000
#define CODE_SIZE 0x200
#define FILE_MAX  (1u << 17)

static const char *const names[] = {".debug_info",
                                    ".debug_abbrev",
                                    ".debug_line",
                                    ".debug_str",
                                    ".debug_line_str",
                                    ".debug_rnglists",
                                    ".debug_ranges",
                                    ".debug_aranges",
                                    ".debug_loclists",
                                    ".debug_addr",
                                    ".debug_str_offsets",
                                    ".debug_types",
                                    ".gnu_debugaltlink",
                                    ".symtab",
                                    ".strtab",
                                    ".debug_frame"};
#define NAMES (sizeof names / sizeof *names)

static uint8_t file[FILE_MAX];
static size_t used;

static size_t put(const void *bytes, size_t size)
{
    size_t at = (used + 7) & ~(size_t)7;
    if (size > FILE_MAX - at)
        size = FILE_MAX - at;
    memcpy(file + at, bytes, size);
    used = at + size;
    return at;
}

static size_t make_file(struct fuzz_in *in)
{
    static const uint8_t code[CODE_SIZE];
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr)};
    Elf64_Phdr load = {.p_type = PT_LOAD,
                       .p_flags = PF_R | PF_X,
                       .p_align = 0x1000,
                       .p_filesz = 0x2000,
                       .p_memsz = 0x2000};
    Elf64_Shdr sections[20] = {0};
    size_t n = 1;
    char strings[400] = "";
    size_t n_strings = 1;
    memset(file, 0, used);
    used = sizeof header;
    header.e_phoff = put(&load, sizeof load);
    n_strings += (size_t)snprintf(strings + n_strings, sizeof strings - n_strings, ".text") + 1;
    sections[n++] = (Elf64_Shdr){.sh_name = 1,
                                 .sh_type = SHT_PROGBITS,
                                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                 .sh_addr = CODE_AT,
                                 .sh_offset = put(code, sizeof code),
                                 .sh_size = CODE_SIZE,
                                 .sh_addralign = 16};
    while (fuzz_more(in) && n < 18) {
        uint8_t which = (uint8_t)fuzz_uint(in, 1) % NAMES;
        size_t size;
        const uint8_t *bytes = fuzz_bytes(in, 0x8000, &size);
        sections[n] = (Elf64_Shdr){.sh_name = (Elf64_Word)n_strings,
                                   .sh_type = SHT_PROGBITS,
                                   .sh_offset = put(bytes, size),
                                   .sh_size = size,
                                   .sh_addralign = 1};
        n_strings +=
            (size_t)snprintf(strings + n_strings, sizeof strings - n_strings, "%s", names[which]) +
            1;
        n++;
    }
    n_strings += (size_t)snprintf(strings + n_strings, sizeof strings - n_strings, ".shstrtab") + 1;
    sections[n++] = (Elf64_Shdr){.sh_name = (Elf64_Word)(n_strings - sizeof ".shstrtab"),
                                 .sh_type = SHT_STRTAB,
                                 .sh_offset = put(strings, n_strings),
                                 .sh_size = n_strings,
                                 .sh_addralign = 1};
    header.e_shnum = (Elf64_Half)n;
    header.e_shstrndx = (Elf64_Half)(n - 1);
    header.e_shoff = put(sections, n * sizeof *sections);
    memcpy(file, &header, sizeof header);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    struct hp_symbols *symbols;
    uint8_t how = (uint8_t)fuzz_uint(&in, 1);
    size_t n = make_file(&in);
    if (hp_symbols_open(fuzz_file("dwarf", file, n), "", &symbols) != HP_OK)
        return 0;
    for (uint64_t offset = CODE_AT - 1; offset < CODE_AT + CODE_SIZE; offset += 1 + how % 16) {
        struct hp_source source, other = {0};
        struct hp_source_frames frames = {0};
        enum hp_err err = hp_symbols_line(symbols, offset, &other.file, &other.line);
        FUZZ_ASSERT(err == HP_OK || err == HP_ERR_NOTFOUND);
        if (how & 0x10) {
            err = hp_symbols_source(symbols, offset, &source);
            FUZZ_ASSERT(err == HP_OK || err == HP_ERR_NOTFOUND);
            FUZZ_ASSERT(strlen(source.file) + 1 && strlen(source.inlined) + 1 &&
                        strlen(source.call_file) + 1);
        }
        if (how & 0x20) {
            err = hp_symbols_frames(symbols, offset, &frames);
            FUZZ_ASSERT(err == HP_OK || err == HP_ERR_NOTFOUND);
            FUZZ_ASSERT(frames.until > offset);
        }
        free(frames.frames);
    }
    hp_symbols_close(symbols);
    return 0;
}
