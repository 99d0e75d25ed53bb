// SPDX-License-Identifier: MIT
/*
 * The table of symbols: reading it from a file, ranking aliases, finding by offset.
 */
#include "base/grow.h"
#include "symbols/symbols_private.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_symbol_table_add(struct hp_symbol_table *table, const struct hp_symbol_entry *entry)
{
    HP_TRY(hp_grow(&table->entries, &table->capacity, table->n + 1, sizeof *table->entries));
    table->entries[table->n++] = *entry;
    return HP_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Assembler names for places inside functions: "$x", "$d.1", ".L5". */
static bool is_assembler_label(const char *name, unsigned machine)
{
    if (name[0] == '.' && name[1] == 'L')
        return true;
    if (machine != EM_ARM && machine != EM_AARCH64 && machine != EM_RISCV)
        return false;
    return name[0] == '$' && name[1] && strchr("atdx", name[1]);
}

static bool section_of(Elf *elf, const GElf_Sym *symbol, uint32_t extended, GElf_Shdr *header)
{
    size_t index = symbol->st_shndx;
    if (index == SHN_XINDEX)
        index = extended;
    else if (index == SHN_UNDEF || index >= SHN_LORESERVE)
        return false;
    Elf_Scn *section = elf_getscn(elf, index);
    return section && gelf_getshdr(section, header);
}

static enum hp_symbol_bind bind_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_LOCAL: return HP_BIND_LOCAL;
    case STB_WEAK: return HP_BIND_WEAK;
    default: return HP_BIND_GLOBAL;
    }
}

/* Whether the symbol is a function, or a label that may be one, and where it is. */
static bool entry_of(Elf *elf, const GElf_Sym *symbol, uint32_t extended, unsigned machine,
                     uint64_t base, struct hp_symbol_entry *entry)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool label = type == STT_NOTYPE;
    if (!label && type != STT_FUNC && type != STT_GNU_IFUNC)
        return false;
    GElf_Shdr section;
    if (!section_of(elf, symbol, extended, &section) || !(section.sh_flags & SHF_ALLOC))
        return false;
    if (label && !(section.sh_flags & SHF_EXECINSTR))
        return false;
    uint64_t address = symbol->st_value;
    if (machine == EM_ARM)
        address &= ~UINT64_C(1); /* Thumb */
    if (address < base || address < section.sh_addr || address - section.sh_addr >= section.sh_size)
        return false;
    uint64_t rest = section.sh_size - (address - section.sh_addr);
    if (rest > UINT64_MAX - address)
        return false;
    *entry = (struct hp_symbol_entry){
        .symbol = {.offset = address - base,
                   .size = symbol->st_size < rest ? symbol->st_size : rest},
        .limit = address - base + rest,
        .label = label,
        .bind = bind_of(symbol),
    };
    return true;
}

/* The name without "@VERSION" or "@@VERSION". */
static const char *without_version(const char *name, struct hp_strings *strings)
{
    const char *at = name[0] ? strchr(name + 1, '@') : NULL;
    return at ? hp_strings_add(strings, name, (size_t)(at - name)) : name;
}

/* The table of section indices that do not fit in the symbols of `section`. */
static Elf_Data *extended_indices(Elf *elf, Elf_Scn *section)
{
    for (Elf_Scn *other = NULL; (other = elf_nextscn(elf, other));) {
        GElf_Shdr header;
        if (gelf_getshdr(other, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
            header.sh_link == elf_ndxscn(section))
            return elf_getdata(other, NULL);
    }
    return NULL;
}

enum hp_err hp_symbol_table_read(struct hp_symbol_table *table, struct hp_strings *strings,
                                 Elf *elf, Elf_Scn *section, uint64_t base)
{
    GElf_Ehdr elf_header;
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !gelf_getehdr(elf, &elf_header) || !gelf_getshdr(section, &header))
        return HP_OK;
    Elf_Data *extended = extended_indices(elf, section);
    GElf_Sym symbol;
    Elf32_Word index = 0;
    for (int i = 0; gelf_getsymshndx(data, extended, i, &symbol, &index); i++) {
        struct hp_symbol_entry entry;
        if (!entry_of(elf, &symbol, extended ? index : 0, elf_header.e_machine, base, &entry))
            continue;
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (!name || !name[0] || (entry.label && is_assembler_label(name, elf_header.e_machine)))
            continue;
        entry.symbol.linkage = without_version(name, strings);
        if (!entry.symbol.linkage)
            return hp_fail_nomem();
        HP_TRY(hp_symbol_table_add(table, &entry));
    }
    return HP_OK;
}

/* --- Searching -------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const struct hp_symbol_entry *x = a, *y = b;
    if (x->symbol.offset != y->symbol.offset)
        return x->symbol.offset < y->symbol.offset ? -1 : 1;
    if (x->label != y->label)
        return x->label ? 1 : -1;
    if (x->bind != y->bind)
        return x->bind < y->bind ? -1 : 1;
    if (!x->symbol.size != !y->symbol.size)
        return x->symbol.size ? -1 : 1;
    int names = strcmp(x->symbol.linkage, y->symbol.linkage);
    if (names)
        return names;
    return (x->symbol.size > y->symbol.size) - (x->symbol.size < y->symbol.size);
}

/* A label inside a function of known size is a branch target, not a function. */
static void drop_inner_labels(struct hp_symbol_table *table)
{
    uint64_t covered = 0;
    size_t kept = 0;
    for (size_t i = 0; i < table->n; i++) {
        struct hp_symbol_entry entry = table->entries[i];
        bool starts_function =
            kept && table->entries[kept - 1].symbol.offset == entry.symbol.offset;
        if (entry.label && entry.symbol.offset < covered && !starts_function)
            continue;
        uint64_t end = entry.symbol.offset + entry.symbol.size;
        if (!entry.label && end > covered)
            covered = end;
        table->entries[kept++] = entry;
    }
    table->n = kept;
}

/* The first of each group of aliases gets the span; without a size, up to the next group. */
static size_t make_spans(const struct hp_symbol_table *table, struct hp_symbol_span *spans)
{
    size_t n = 0;
    for (size_t i = 0, next; i < table->n; i = next) {
        const struct hp_symbol_entry *entry = &table->entries[i];
        uint64_t low = entry->symbol.offset, high = entry->limit;
        for (next = i + 1; next < table->n && table->entries[next].symbol.offset == low; next++)
            ;
        if (entry->symbol.size)
            high = low + entry->symbol.size;
        else if (next < table->n && table->entries[next].symbol.offset < high)
            high = table->entries[next].symbol.offset;
        spans[n++] = (struct hp_symbol_span){.low = low, .high = high, .id = (uint32_t)i};
    }
    return n;
}

enum hp_err hp_symbol_table_build(struct hp_symbol_table *table)
{
    hp_span_index_fini(&table->index);
    if (!table->n)
        return HP_OK;
    qsort(table->entries, table->n, sizeof *table->entries, compare_entries);
    drop_inner_labels(table);
    struct hp_symbol_span *spans = calloc(table->n, sizeof *spans);
    if (!spans)
        return hp_fail_nomem();
    enum hp_err err = hp_span_index_build(&table->index, spans, make_spans(table, spans));
    free(spans);
    return err;
}

struct hp_symbol *hp_symbol_table_find(const struct hp_symbol_table *table, uint64_t offset)
{
    uint32_t found = hp_span_find(&table->index, offset);
    return found == HP_SPAN_NONE ? NULL : &table->entries[found].symbol;
}

void hp_symbol_table_fini(struct hp_symbol_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        struct hp_symbol *symbol = &table->entries[i].symbol;
        if (symbol->name != symbol->linkage)
            free((void *)symbol->name);
    }
    free(table->entries);
    hp_span_index_fini(&table->index);
    *table = (struct hp_symbol_table){0};
}
