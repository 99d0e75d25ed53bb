// SPDX-License-Identifier: MIT
/*
 * Names for the entries of the procedure linkage table.
 *
 * The file has no symbols for them. Each entry jumps through a slot of the global offset table, and
 * a relocation names the symbol of that slot. So an entry's code is decoded just far enough to find
 * its slot. Linkers lay out the entries in many ways (lazy, -z now, IBT, BTI, Thumb callers);
 * following the code instead of counting entries covers them all.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "symbols/symbols_private.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* --- Slots ------------------------------------------------------------------------------------ */

struct slots {
    const char **names;
    size_t n, capacity;
    struct hp_map64 by_address; /* index into names */
    struct hp_map64 by_number;  /* of the relocation in .rela.plt: what lazy IBT entries push */
};

/* The relocations that fill a slot; 0: none. */
struct slot_types {
    unsigned machine;
    uint32_t jump_slot, glob_dat, irelative;
};

static const struct slot_types all_slot_types[] = {
    {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE},
    {EM_ARM, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT, 0},
    {EM_RISCV, R_RISCV_JUMP_SLOT, R_RISCV_64, R_RISCV_IRELATIVE},
};

/* A file whose tables are being read. */
struct reader {
    Elf *elf;
    uint64_t base;
    const struct slot_types *types;
    struct hp_symbol_table *table;
    struct hp_strings *strings;
    struct slots slots;
};

/* The symbol's own name, or for an indirect function of this file its resolver's name. */
static const char *slot_name(struct reader *reader, const GElf_Shdr *section, uint64_t info,
                             uint64_t addend)
{
    uint32_t type = (uint32_t)GELF_R_TYPE(info);
    const struct slot_types *types = reader->types;
    if (types->irelative && type == types->irelative) {
        struct hp_symbol *symbol = hp_symbol_table_find(reader->table, addend - reader->base);
        return symbol ? symbol->linkage : NULL;
    }
    if (type != types->jump_slot && type != types->glob_dat)
        return NULL;
    Elf_Scn *symbols = elf_getscn(reader->elf, section->sh_link);
    Elf_Data *data = symbols ? elf_getdata(symbols, NULL) : NULL;
    GElf_Shdr header;
    GElf_Sym symbol;
    uint64_t index = GELF_R_SYM(info);
    if (!data || index > INT32_MAX || !gelf_getshdr(symbols, &header) ||
        (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) ||
        !gelf_getsym(data, (int)index, &symbol))
        return NULL;
    const char *name = elf_strptr(reader->elf, header.sh_link, symbol.st_name);
    return name && name[0] ? name : NULL;
}

static enum hp_err add_slot(struct slots *slots, uint64_t address, int number, bool is_plt,
                            const char *name)
{
    HP_TRY(hp_grow(&slots->names, &slots->capacity, slots->n + 1, sizeof(char *)));
    HP_TRY(hp_map64_put(&slots->by_address, address, (uint32_t)slots->n));
    if (is_plt)
        HP_TRY(hp_map64_put(&slots->by_number, (uint64_t)number, (uint32_t)slots->n));
    slots->names[slots->n++] = name;
    return HP_OK;
}

static enum hp_err read_relocations(struct reader *reader, Elf_Scn *section,
                                    const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data)
        return HP_OK;
    const char *name = hp_elf_section_name(reader->elf, header);
    bool is_plt = strcmp(name, ".rela.plt") == 0 || strcmp(name, ".rel.plt") == 0;
    for (int i = 0;; i++) {
        GElf_Rela rela = {0};
        GElf_Rel rel;
        if (header->sh_type == SHT_RELA) {
            if (!gelf_getrela(data, i, &rela))
                return HP_OK;
        } else {
            if (!gelf_getrel(data, i, &rel))
                return HP_OK;
            rela = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
        }
        const char *target = slot_name(reader, header, rela.r_info, (uint64_t)rela.r_addend);
        if (target)
            HP_TRY(add_slot(&reader->slots, rela.r_offset, i, is_plt, target));
    }
}

static enum hp_err read_slots(struct reader *reader)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reader->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
            continue;
        if (header.sh_type == SHT_RELA || header.sh_type == SHT_REL)
            HP_TRY(read_relocations(reader, section, &header));
    }
    return HP_OK;
}

/* --- Entries ---------------------------------------------------------------------------------- */

/* The code of a table: `size` bytes at `address`. */
struct code {
    const unsigned char *bytes;
    size_t size;
    uint64_t address;
};

/* A recognized entry: its place in the code, and the slot it uses. */
struct entry {
    size_t at, size;
    uint64_t slot;
    bool by_number; /* `slot` is the number of a relocation */
};

static uint32_t word(const struct code *code, size_t at)
{
    uint32_t value;
    if (at > code->size || code->size - at < sizeof value)
        return 0;
    memcpy(&value, code->bytes + at, sizeof value);
    return le32toh(value);
}

/* [endbr64] [bnd] jmp *slot(%rip), or endbr64; push $number (a lazy entry with IBT). */
static bool decode_x86_64(const struct code *code, size_t at, struct entry *entry)
{
    size_t pc = at;
    if (word(code, pc) == 0xfa1e0ff3)
        pc += 4;
    if (pc > at && pc + 5 <= code->size && code->bytes[pc] == 0x68) {
        *entry = (struct entry){at, 16, word(code, pc + 1), true};
        return true;
    }
    if (pc < code->size && code->bytes[pc] == 0xf2)
        pc++;
    if (pc + 6 > code->size || code->bytes[pc] != 0xff || code->bytes[pc + 1] != 0x25)
        return false;
    uint64_t disp = (uint64_t)(int64_t)(int32_t)word(code, pc + 2);
    *entry = (struct entry){at, 16, code->address + pc + 6 + disp, false};
    return true;
}

/* [bti c] adrp x16, page; ldr x17, [x16, #low]; add; [autia1716]; br x17 or braa */
static bool decode_aarch64(const struct code *code, size_t at, struct entry *entry)
{
    uint32_t adrp = word(code, at), load = word(code, at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages = (pages ^ UINT64_C(1) << 20) - (UINT64_C(1) << 20);
    uint64_t page = (code->address + at) & ~UINT64_C(0xfff);
    size_t start = at >= 4 && word(code, at - 4) == 0xd503245f ? at - 4 : at;
    size_t end = at + 8;
    while (end < at + 16 && (word(code, end) >> 24 | 1) != 0xd7)
        end += 4;
    *entry = (struct entry){start, end + 4 - start, page + (pages << 12) + (load >> 10 & 0xfff) * 8,
                            false};
    return true;
}

static uint32_t arm_immediate(uint32_t insn)
{
    uint32_t value = insn & 0xff, turn = insn >> 7 & 0x1e;
    return turn ? value >> turn | value << (32 - turn) : value;
}

/* [bx pc; b . -2 or nop (Thumb)] add ip, pc, #a; add ip, ip, #b ...; ldr pc, [ip, #c]! */
static bool decode_arm(const struct code *code, size_t at, struct entry *entry)
{
    if ((word(code, at) & 0xfffff000) != 0xe28fc000)
        return false;
    uint32_t slot = (uint32_t)(code->address + at + 8) + arm_immediate(word(code, at));
    size_t pc = at + 4;
    for (; (word(code, pc) & 0xfffff000) == 0xe28cc000; pc += 4)
        slot += arm_immediate(word(code, pc));
    if ((word(code, pc) & 0xfffff000) != 0xe5bcf000)
        return false;
    slot += word(code, pc) & 0xfff;
    size_t start = at >= 4 && (word(code, at - 4) & 0xffff) == 0x4778 ? at - 4 : at;
    *entry = (struct entry){start, pc + 4 - start, slot, false};
    return true;
}

/* auipc t3, high; l[wd] t3, low(t3); jalr t1, t3; nop */
static bool decode_riscv(const struct code *code, size_t at, struct entry *entry)
{
    uint32_t high = word(code, at), load = word(code, at + 4);
    if ((high & 0xfff) != 0xe17 || ((load & 0xfffff) != 0xe3e03 && (load & 0xfffff) != 0xe2e03))
        return false;
    uint64_t slot = code->address + at + (uint64_t)(int64_t)(int32_t)(high & 0xfffff000);
    slot += (uint64_t)((int64_t)(int32_t)load >> 20);
    *entry = (struct entry){at, 16, slot, false};
    return true;
}

static bool decode(unsigned machine, const struct code *code, size_t at, struct entry *entry)
{
    switch (machine) {
    case EM_X86_64: return decode_x86_64(code, at, entry);
    case EM_AARCH64: return decode_aarch64(code, at, entry);
    case EM_ARM: return decode_arm(code, at, entry);
    case EM_RISCV: return decode_riscv(code, at, entry);
    default: return false;
    }
}

static enum hp_err name_entry(struct reader *reader, const struct code *code,
                              const struct entry *entry)
{
    const struct slots *slots = &reader->slots;
    uint32_t slot =
        hp_map64_get(entry->by_number ? &slots->by_number : &slots->by_address, entry->slot);
    if (slot == HP_MAP64_NONE)
        return HP_OK;
    const char *name = slots->names[slot];
    size_t length = strlen(name);
    char *text = malloc(length + sizeof "@plt");
    if (!text)
        return hp_fail_nomem();
    memcpy(text, name, length);
    memcpy(text + length, "@plt", sizeof "@plt");
    const char *linkage = hp_strings_add(reader->strings, text, length + 4);
    free(text);
    if (!linkage)
        return hp_fail_nomem();
    uint64_t offset = code->address - reader->base;
    size_t rest = code->size - entry->at;
    struct hp_symbol_entry symbol = {
        .symbol = {.offset = offset + entry->at,
                   .size = entry->size < rest ? entry->size : rest,
                   .linkage = linkage},
        .limit = offset + code->size,
        .bind = HP_BIND_LOCAL,
    };
    return hp_symbol_table_add(reader->table, &symbol);
}

/* x86-64 entries start at multiples of their size, which the section header may or may not state;
 * the instructions of the others are words. */
static size_t entry_step(const struct reader *reader, const GElf_Shdr *header)
{
    if (reader->types->machine != EM_X86_64)
        return 4;
    return header->sh_entsize == 8 || header->sh_entsize == 16 ? header->sh_entsize : 8;
}

static enum hp_err read_entries(struct reader *reader, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !data->d_buf || header->sh_addr < reader->base)
        return HP_OK;
    struct code code = {.bytes = data->d_buf, .size = data->d_size, .address = header->sh_addr};
    size_t step = entry_step(reader, header);
    for (size_t at = 0; at < code.size; at += step) {
        struct entry entry;
        if (!decode(reader->types->machine, &code, at, &entry))
            continue;
        if (step == 8 && entry.size > 8 && header->sh_entsize == 8)
            entry.size = 8;
        HP_TRY(name_entry(reader, &code, &entry));
    }
    return HP_OK;
}

static enum hp_err read_tables(struct reader *reader)
{
    HP_TRY(read_slots(reader));
    if (!reader->slots.n)
        return HP_OK;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reader->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
            !(header.sh_flags & SHF_EXECINSTR))
            continue;
        const char *name = hp_elf_section_name(reader->elf, &header);
        if (strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0)
            HP_TRY(read_entries(reader, section, &header));
    }
    return HP_OK;
}

enum hp_err hp_symbol_table_add_plt(struct hp_symbol_table *table, struct hp_strings *strings,
                                    Elf *elf, uint64_t base)
{
    struct reader reader = {.elf = elf, .base = base, .table = table, .strings = strings};
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return HP_OK;
    for (size_t i = 0; i < sizeof all_slot_types / sizeof all_slot_types[0]; i++)
        if (all_slot_types[i].machine == header.e_machine)
            reader.types = &all_slot_types[i];
    if (!reader.types)
        return HP_OK;
    enum hp_err err = read_tables(&reader);
    free(reader.slots.names);
    hp_map64_fini(&reader.slots.by_address);
    hp_map64_fini(&reader.slots.by_number);
    return err;
}
