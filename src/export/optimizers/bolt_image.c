// SPDX-License-Identifier: MIT
#include "export/optimizers/bolt_image.h"
#include "base/bisect.h"

#include "base/grow.h"
#include "base/map64.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A symbol in memory, as far as it matters. */
struct symbol {
    uint64_t address, size;
    uint64_t section_end; /* of code; 0: not code */
    const char *name;
    size_t index; /* in the table */
    uint8_t type, bind;
};

/* Counts how often a name came. All zero is an empty one. */
struct numbering {
    struct hp_map64 by_name; /* by the address of the kept name */
    uint32_t *counts;
    size_t n, capacity;
};

/* --- The file --------------------------------------------------------------------------------- */

enum hp_err hp_bolt_image_open_file(const struct hp_pmodule *module, struct hp_bolt_image *image)
{
    *image = (struct hp_bolt_image){0};
    if (hp_elf_open(&image->file, module->path) != HP_OK ||
        hp_elf_complete(&image->file) != HP_OK) {
        hp_bolt_image_close(image);
        return hp_fail(HP_ERR_NOTFOUND,
                       "cannot read %.300s, which ran: it is needed for this format", module->path);
    }
    char *build_id = hp_elf_build_id(image->file.elf);
    bool same = build_id && (!module->build_id[0] || strcasecmp(build_id, module->build_id) == 0);
    free(build_id);
    if (!same) {
        hp_bolt_image_close(image);
        return hp_fail(HP_ERR_NOTFOUND,
                       "%.300s is not the file that ran: its build id is another one; record again",
                       module->path);
    }
    image->base = hp_elf_base(image->file.elf);
    return HP_OK;
}

void hp_bolt_image_close(struct hp_bolt_image *image)
{
    hp_elf_close(&image->file);
    hp_strings_fini(&image->strings);
    free(image->functions);
    *image = (struct hp_bolt_image){0};
}

/* --- Symbols ---------------------------------------------------------------------------------- */

/* Whether a symbol is of something in memory; fills what is known of it. */
static bool read_symbol(Elf *elf, const GElf_Sym *entry, const char *name, struct symbol *symbol)
{
    GElf_Shdr section;
    Elf_Scn *scn;
    *symbol = (struct symbol){.address = entry->st_value,
                              .size = entry->st_size,
                              .name = name,
                              .type = GELF_ST_TYPE(entry->st_info),
                              .bind = GELF_ST_BIND(entry->st_info)};
    if (symbol->type == STT_FILE || entry->st_shndx == SHN_UNDEF || !entry->st_value)
        return false;
    if (entry->st_shndx >= SHN_LORESERVE)
        return entry->st_shndx == SHN_ABS;
    scn = elf_getscn(elf, entry->st_shndx);
    if (!scn || !gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_ALLOC))
        return false;
    if (symbol->type == STT_SECTION && !name[0])
        symbol->name = hp_elf_section_name(elf, &section);
    if (section.sh_flags & SHF_EXECINSTR)
        symbol->section_end = section.sh_addr + section.sh_size;
    return true;
}

/* Places first, functions before what is none, sections last; else as in the table. */
static int order_symbols(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if ((x->type == STT_FUNC) != (y->type == STT_FUNC))
        return x->type == STT_FUNC ? -1 : 1;
    if ((x->type == STT_SECTION) != (y->type == STT_SECTION))
        return x->type == STT_SECTION ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static enum hp_err read_symbols(Elf *elf, Elf_Scn *section, struct symbol **symbols, size_t *n)
{
    GElf_Shdr header;
    GElf_Sym entry;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t capacity = 0;
    *symbols = NULL;
    *n = 0;
    if (!data || !gelf_getshdr(section, &header))
        return HP_OK;
    for (int i = 0; gelf_getsym(data, i, &entry); i++) {
        struct symbol symbol;
        const char *name = elf_strptr(elf, header.sh_link, entry.st_name);
        if (!read_symbol(elf, &entry, name ? name : "", &symbol))
            continue;
        symbol.index = (size_t)i;
        HP_TRY(hp_grow(symbols, &capacity, *n + 1, sizeof **symbols));
        (*symbols)[(*n)++] = symbol;
    }
    if (*n)
        qsort(*symbols, *n, sizeof **symbols, order_symbols);
    return HP_OK;
}

/* --- Names ------------------------------------------------------------------------------------ */

static enum hp_err next_number(struct numbering *numbering, const char *kept, uint32_t *number)
{
    uint32_t at = hp_map64_get(&numbering->by_name, (uint64_t)(uintptr_t)kept);
    if (at == HP_MAP64_NONE) {
        at = (uint32_t)numbering->n;
        HP_TRY(hp_grow(&numbering->counts, &numbering->capacity, numbering->n + 1,
                       sizeof *numbering->counts));
        HP_TRY(hp_map64_put(&numbering->by_name, (uint64_t)(uintptr_t)kept, at));
        numbering->counts[numbering->n++] = 0;
    }
    *number = ++numbering->counts[at];
    return HP_OK;
}

/* The name that BOLT gives to a symbol, kept. */
static enum hp_err name_symbol(struct hp_bolt_image *image, struct numbering *numbering,
                               const struct symbol *symbol, const char **name)
{
    bool private = strncmp(symbol->name, ".L", 2) == 0;
    uint32_t number;
    char *text;
    const char *kept = hp_strings_add(&image->strings, symbol->name, strlen(symbol->name));
    if (!kept)
        return hp_fail_nomem();
    *name = kept;
    if (symbol->bind != STB_LOCAL && !private)
        return HP_OK;
    if (symbol->bind == STB_LOCAL)
        HP_TRY(next_number(numbering, kept, &number));
    int length = symbol->bind == STB_LOCAL
                     ? asprintf(&text, "%s%s/%u", private ? "PG" : "", kept, number)
                     : asprintf(&text, "PG%s", kept);
    if (length < 0)
        return hp_fail_nomem();
    *name = hp_strings_add(&image->strings, text, (size_t)length);
    free(text);
    return *name ? HP_OK : hp_fail_nomem();
}

/* --- Functions -------------------------------------------------------------------------------- */

/* Whether a symbol of code starts a function, or is only a place in the last one. */
static bool starts_function(const struct symbol *symbol, const struct symbol *last)
{
    if (!symbol->section_end || symbol->address >= symbol->section_end)
        return false;
    if (!last)
        return true;
    if (symbol->address - last->address < last->size || symbol->address == last->address)
        return false;
    return symbol->type == STT_FUNC || last->size ||
           !(symbol->type == STT_NOTYPE && symbol->bind == STB_LOCAL);
}

static enum hp_err add_function(struct hp_bolt_image *image, uint64_t address, uint64_t end,
                                uint64_t size, const char *name)
{
    HP_TRY(hp_grow(&image->functions, &image->capacity, image->n + 1, sizeof *image->functions));
    image->functions[image->n++] = (struct hp_bolt_function){
        .from = address - image->base, .to = end - image->base, .size = size, .name = name};
    return HP_OK;
}

/* BOLT has names of its own for what is in these sections. */
static bool is_plt(const struct symbol *symbol)
{
    return symbol->type == STT_SECTION && strncmp(symbol->name, ".plt", 4) == 0;
}

static enum hp_err add_functions(struct hp_bolt_image *image, struct numbering *numbering,
                                 const struct symbol *symbols, size_t n)
{
    const struct symbol *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = NULL;
        /* All symbols take numbers, whatever they are. */
        HP_TRY(name_symbol(image, numbering, &symbols[i], &name));
        if (symbols[i].address < image->base || is_plt(&symbols[i]) ||
            !starts_function(&symbols[i], last))
            continue;
        HP_TRY(
            add_function(image, symbols[i].address, symbols[i].section_end, symbols[i].size, name));
        last = &symbols[i];
    }
    return HP_OK;
}

/* The beginning of a procedure linkage table, which all its entries have in common. */
static enum hp_err add_plt_head(struct hp_bolt_image *image)
{
    GElf_Shdr header;
    Elf_Scn *section = hp_elf_section_named(image->file.elf, ".plt");
    if (!section || !gelf_getshdr(section, &header) || header.sh_addr < image->base)
        return HP_OK;
    return add_function(image, header.sh_addr, header.sh_addr + header.sh_size, 0,
                        "__BOLT_PSEUDO_.plt");
}

/* Entries of the procedure linkage tables, which have no symbols. */
static enum hp_err add_plt(struct hp_bolt_image *image)
{
    struct hp_symbol_table table = {0};
    HP_TRY(add_plt_head(image));
    enum hp_err err =
        hp_symbol_table_add_plt(&table, &image->strings, image->file.elf, image->base);
    for (size_t i = 0; i < table.n && err == HP_OK; i++) {
        const struct hp_symbol *symbol = &table.entries[i].symbol;
        char *text;
        int length =
            asprintf(&text, "%.*s@PLT", (int)(strlen(symbol->linkage) - 4), symbol->linkage);
        if (length < 0) {
            err = hp_fail_nomem();
            break;
        }
        const char *name = hp_strings_add(&image->strings, text, (size_t)length);
        free(text);
        err = name ? add_function(image, image->base + symbol->offset,
                                  image->base + symbol->offset + symbol->size, symbol->size, name)
                   : hp_fail_nomem();
    }
    hp_symbol_table_fini(&table);
    return err;
}

/* Of two at one place the one with a size is found. */
static int order_functions(const void *a, const void *b)
{
    const struct hp_bolt_function *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* A function ends where the next one begins. */
static void settle(struct hp_bolt_image *image)
{
    if (image->n)
        qsort(image->functions, image->n, sizeof *image->functions, order_functions);
    for (size_t i = 0; i + 1 < image->n; i++)
        if (image->functions[i].to > image->functions[i + 1].from)
            image->functions[i].to = image->functions[i + 1].from;
}

static enum hp_err read_functions(struct hp_bolt_image *image, const char *path)
{
    struct numbering numbering = {0};
    struct symbol *symbols = NULL;
    size_t n = 0;
    Elf_Scn *section = hp_elf_section_of_type(image->file.elf, SHT_SYMTAB);
    if (!section)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s has no symbols (it was stripped), and llvm-bolt finds functions by "
                       "them: use one that has, linked with -Wl,--emit-relocs",
                       path);
    enum hp_err err = read_symbols(image->file.elf, section, &symbols, &n);
    if (err == HP_OK)
        err = add_functions(image, &numbering, symbols, n);
    if (err == HP_OK)
        err = add_plt(image);
    free(symbols);
    free(numbering.counts);
    hp_map64_fini(&numbering.by_name);
    settle(image);
    return err;
}

enum hp_err hp_bolt_image_open(const struct hp_pmodule *module, struct hp_bolt_image *image)
{
    HP_TRY(hp_bolt_image_open_file(module, image));
    enum hp_err err = read_functions(image, module->path);
    if (err != HP_OK)
        hp_bolt_image_close(image);
    return err;
}

const struct hp_bolt_function *hp_bolt_image_find(const struct hp_bolt_image *image,
                                                  uint64_t offset)
{
    size_t low = HP_BISECT(i, 0, image->n, image->functions[i].from <= offset);
    return low && offset < image->functions[low - 1].to ? &image->functions[low - 1] : NULL;
}
