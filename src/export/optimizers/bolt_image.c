// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "export/optimizers/bolt.h"
#include "symbols/module_code.h"

#include <strings.h>

/* A symbol in memory, as far as it matters. */
struct symbol {
    uint64_t address, size;
    uint64_t section_end; /* of code; 0: not code */
    const char *name;
    size_t index; /* in the table */
    uint8_t type, bind;
};

/* --- The file --------------------------------------------------------------------------------- */

enum hp_err hp_bolt_image_open_file(const struct hp_pmodule *module, struct hp_bolt_image *image)
{
    *image = (struct hp_bolt_image){0};
    if (hp_elf_open(&image->file, module->path) != HP_OK || hp_elf_complete(&image->file) != HP_OK)
        return hp_fail(HP_ERR_NOTFOUND,
                       "cannot read %.300s, which ran: it is needed for this format", module->path);
    char *build_id HP_CLEANUP(hp_free) = hp_elf_build_id(image->file.elf);
    if (!build_id || (module->build_id[0] && strcasecmp(build_id, module->build_id) != 0))
        return hp_fail(HP_ERR_NOTFOUND,
                       "%.300s is not the file that ran: its build id is another one; record again",
                       module->path);
    image->base = hp_elf_base(image->file.elf);
    return HP_OK;
}

void hp_bolt_image_close(struct hp_bolt_image *image)
{
    hp_elf_close(&image->file);
    hp_strings_fini(&image->strings);
    free(image->functions);
    hp_map64_fini(&image->labels);
}

/* --- Symbols ---------------------------------------------------------------------------------- */

/* Whether a symbol is of something in memory; fills what is known of it. */
static bool read_symbol(Elf *elf, const GElf_Sym *entry, const char *name, struct symbol *symbol)
{
    GElf_Shdr section;
    *symbol = (struct symbol){.address = entry->st_value,
                              .size = entry->st_size,
                              .name = name,
                              .type = GELF_ST_TYPE(entry->st_info),
                              .bind = GELF_ST_BIND(entry->st_info)};
    if (symbol->type == STT_FILE || entry->st_shndx == SHN_UNDEF || !entry->st_value)
        return false;
    if (entry->st_shndx >= SHN_LORESERVE)
        return entry->st_shndx == SHN_ABS;
    Elf_Scn *scn = elf_getscn(elf, entry->st_shndx);
    if (!scn || !gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_ALLOC))
        return false;
    if (symbol->type == STT_SECTION && !name[0])
        symbol->name = hp_elf_section_name(elf, &section);
    /* BOLT has names of its own for what is in procedure linkage tables. */
    bool plt = symbol->type == STT_SECTION && strncmp(symbol->name, ".plt", 4) == 0;
    if ((section.sh_flags & SHF_EXECINSTR) && !plt)
        symbol->section_end = section.sh_addr + section.sh_size;
    return true;
}

/* Places first, functions before what is none, sections last; else as in the table. */
static int order_symbols(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    return HP_COMPARE(x->address, y->address)
           ?: HP_COMPARE(y->type == STT_FUNC, x->type == STT_FUNC)
           ?: HP_COMPARE(x->type == STT_SECTION, y->type == STT_SECTION)
           ?: HP_COMPARE(x->index, y->index);
}

static enum hp_err read_symbols(Elf *elf, Elf_Scn *section, struct symbol **symbols, size_t *n)
{
    GElf_Shdr header;
    GElf_Sym entry;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t capacity = 0;
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
    hp_sort(*symbols, *n, sizeof **symbols, order_symbols);
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* The name that BOLT gives to a symbol, kept; NULL: memory ran out. `numbers`: of the last local
 * symbol of each name, by the address of the kept name. */
static const char *name_symbol(struct hp_bolt_image *image, struct hp_map64 *numbers,
                               const struct symbol *symbol)
{
    const char *kept = hp_strings_add(&image->strings, symbol->name, strlen(symbol->name));
    const char *prefix = strncmp(symbol->name, ".L", 2) == 0 ? "PG" : "";
    if (!kept)
        return NULL;
    if (symbol->bind != STB_LOCAL)
        return *prefix ? hp_strings_format(&image->strings, "%s%s", prefix, kept) : kept;
    uint32_t last = hp_map64_get(numbers, (uint64_t)(uintptr_t)kept);
    uint32_t number = last == HP_MAP64_NONE ? 1 : last + 1;
    if (hp_map64_put(numbers, (uint64_t)(uintptr_t)kept, number) != HP_OK)
        return NULL;
    return hp_strings_format(&image->strings, "%s%s/%u", prefix, kept, number);
}

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

/* `name` is NULL when memory ran out for it. */
static enum hp_err add_function(struct hp_bolt_image *image, uint64_t from, uint64_t to,
                                uint64_t size, const char *name)
{
    if (!name)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&image->functions, &image->capacity, image->n + 1, sizeof *image->functions));
    image->functions[image->n++] = (struct hp_bolt_function){from, to, size, name};
    return HP_OK;
}

static enum hp_err add_functions(struct hp_bolt_image *image, const struct symbol *symbols,
                                 size_t n)
{
    struct hp_map64 numbers HP_CLEANUP(hp_map64_fini) = {0};
    const struct symbol *last = NULL;
    for (const struct symbol *s = symbols; s < symbols + n; s++) {
        /* All symbols take numbers, whatever they are. */
        const char *name = name_symbol(image, &numbers, s);
        if (!name)
            return hp_fail_nomem();
        if (s->address < image->base || !starts_function(s, last))
            continue;
        HP_TRY(add_function(image, s->address - image->base, s->section_end - image->base, s->size,
                            name));
        last = s;
    }
    return HP_OK;
}

/* Of procedure linkage tables: what entries have in common, and the entries. */
static enum hp_err add_plt(struct hp_bolt_image *image)
{
    struct hp_symbol_table table HP_CLEANUP(hp_symbol_table_fini) = {0};
    GElf_Shdr header;
    Elf_Scn *section = hp_elf_section_named(image->file.elf, ".plt");
    if (section && gelf_getshdr(section, &header) && header.sh_addr >= image->base) {
        uint64_t from = header.sh_addr - image->base;
        HP_TRY(add_function(image, from, from + header.sh_size, 0, "__BOLT_PSEUDO_.plt"));
    }
    HP_TRY(hp_symbol_table_add_plt(&table, &image->strings, image->file.elf, image->base));
    for (size_t i = 0; i < table.n; i++) {
        const struct hp_symbol *s = &table.entries[i].symbol;
        const char *name = hp_strings_format(&image->strings, "%.*s@PLT",
                                             (int)(strlen(s->linkage) - 4), s->linkage);
        HP_TRY(add_function(image, s->offset, s->offset + s->size, s->size, name));
    }
    return HP_OK;
}

/* Of two at one place the one with a size is found. */
static int order_functions(const void *a, const void *b)
{
    const struct hp_bolt_function *x = a, *y = b;
    return HP_COMPARE(x->from, y->from) ?: HP_COMPARE(x->size, y->size);
}

enum hp_err hp_bolt_image_open(const struct hp_pmodule *module, struct hp_bolt_image *image)
{
    struct symbol *symbols HP_CLEANUP(hp_free) = NULL;
    size_t n = 0;
    HP_TRY(hp_bolt_image_open_file(module, image));
    Elf_Scn *section = hp_elf_section_of_type(image->file.elf, SHT_SYMTAB);
    if (!section)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s has no symbols (it was stripped), and llvm-bolt finds functions by "
                       "them: use one that has, linked with -Wl,--emit-relocs",
                       module->path);
    HP_TRY(read_symbols(image->file.elf, section, &symbols, &n));
    HP_TRY(add_functions(image, symbols, n));
    HP_TRY(add_plt(image));
    hp_sort(image->functions, image->n, sizeof *image->functions, order_functions);
    for (size_t i = 0; i + 1 < image->n; i++) /* a function ends where the next one begins */
        if (image->functions[i].to > image->functions[i + 1].from)
            image->functions[i].to = image->functions[i + 1].from;
    return HP_OK;
}

const struct hp_bolt_function *hp_bolt_image_find(const struct hp_bolt_image *image,
                                                  uint64_t offset)
{
    size_t low = HP_BISECT(i, 0, image->n, image->functions[i].from <= offset);
    return low && offset < image->functions[low - 1].to ? &image->functions[low - 1] : NULL;
}

/* --- Labels ----------------------------------------------------------------------------------- */

struct walk {
    struct hp_bolt_image *image;
    struct hp_map64 targets; /* of jumps */
    struct hp_module_code *code;
    struct hp_decoder *decoder;
    uint8_t *bytes; /* of a function */
    size_t capacity;
};

static void fini_walk(struct walk *walk)
{
    hp_map64_fini(&walk->targets);
    hp_module_code_close(walk->code);
    hp_decoder_free(walk->decoder);
    free(walk->bytes);
}

/* Where it jumps to, or (`labels`) that it ends at such a place, and no function begins there. */
static enum hp_err note_insn(struct walk *walk, const struct hp_insn *insn, bool labels)
{
    uint64_t end = insn->address + insn->length;
    if (!labels && (insn->flow == HP_FLOW_JUMP || insn->flow == HP_FLOW_COND))
        return hp_map64_put(&walk->targets, insn->target, 0);
    if (!labels || hp_map64_get(&walk->targets, end) == HP_MAP64_NONE)
        return HP_OK;
    const struct hp_bolt_function *function = hp_bolt_image_find(walk->image, end);
    bool label = function && function->from != end;
    return label ? hp_map64_put(&walk->image->labels, end, insn->length) : HP_OK;
}

/* All instructions of all functions; their addresses are offsets in the module. */
static enum hp_err note_insns(struct walk *walk, bool labels)
{
    struct hp_bolt_image *image = walk->image;
    for (const struct hp_bolt_function *f = image->functions; f < image->functions + image->n;
         f++) {
        uint64_t length = f->to - f->from;
        if (f->size && f->size < length)
            length = f->size;
        if (length > image->file.size)
            length = image->file.size;
        HP_TRY(hp_grow(&walk->bytes, &walk->capacity, length, 1));
        size_t size = hp_module_code_read(walk->code, f->from, walk->bytes, length);
        struct hp_insn insn;
        for (size_t at = 0; at < size; at += insn.length) {
            hp_decode(walk->decoder, HP_MODE_DEFAULT, f->from + at, walk->bytes + at, size - at,
                      true, &insn);
            if (!insn.length)
                break;
            HP_TRY(note_insn(walk, &insn, labels));
        }
    }
    return HP_OK;
}

/* A computed jump that stays in its function is a switch: what it led to is a label. */
static enum hp_err note_executed(struct walk *walk, const struct hp_flows *flows)
{
    for (size_t i = 0; i < flows->profile->n_edges; i++) {
        const struct hp_pedge *edge = &flows->profile->edges[i];
        if (edge->flow == HP_FLOW_JUMP_IND && hp_flows_leaves(flows, i) &&
            hp_flows_enters(flows, i) &&
            hp_bolt_image_find(walk->image, edge->from.offset) ==
                hp_bolt_image_find(walk->image, edge->to.offset))
            HP_TRY(hp_map64_put(&walk->targets, edge->to.offset, 0));
    }
    return HP_OK;
}

enum hp_err hp_bolt_image_label(struct hp_bolt_image *image, const struct hp_flows *flows)
{
    struct walk walk HP_CLEANUP(fini_walk) = {.image = image};
    HP_TRY(hp_decoder_new(flows->profile->run.arch, &walk.decoder));
    HP_TRY(hp_module_code_open(image->file.path, NULL, 0, &walk.code));
    HP_TRY(note_insns(&walk, false));
    HP_TRY(note_executed(&walk, flows));
    return note_insns(&walk, true);
}
