// SPDX-License-Identifier: MIT
#include "symbols/symbols.h"

#include "base/debug.h"
#include "symbols/demangle.h"
#include "symbols/symbols_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct hp_symbols {
    char *build_id;
    struct hp_elf file;
    struct hp_elf debug_file; /* opened when first needed */
    bool debug_file_looked_for;
    bool lines_looked_for;  /* all debug information */
    bool tables_looked_for; /* line tables only */
    uint64_t base;
    struct hp_strings strings;
    struct hp_symbol_table table;
    struct hp_debug *debug; /* NULL: not looked for, or none */
    struct hp_lines *lines; /* NULL: also if they cannot be read on their own */
};

/* --- Opening ---------------------------------------------------------------------------------- */

/* The separate debug file, or NULL. */
static Elf *debug_file(struct hp_symbols *symbols)
{
    if (!symbols->debug_file_looked_for) {
        symbols->debug_file_looked_for = true;
        hp_elf_open_debug(&symbols->file, &symbols->debug_file);
    }
    return symbols->debug_file.elf;
}

/* Whether the addresses in the file are those of a program or library: not of an object or core
 * dump. */
static bool is_linked(Elf *elf)
{
    GElf_Ehdr header;
    return gelf_getehdr(elf, &header) && (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static enum hp_err read_symbols(struct hp_symbols *symbols)
{
    Elf *elf = symbols->file.elf;
    Elf_Scn *section = hp_elf_section_of_type(elf, SHT_SYMTAB);
    if (!section && debug_file(symbols)) {
        elf = debug_file(symbols);
        section = hp_elf_section_of_type(elf, SHT_SYMTAB);
    }
    if (!section) {
        elf = symbols->file.elf;
        section = hp_elf_section_of_type(elf, SHT_DYNSYM);
    }
    struct hp_symbol_table *table = &symbols->table;
    if (section)
        HP_TRY(hp_symbol_table_read(table, &symbols->strings, elf, section, symbols->base));
    HP_TRY(hp_symbol_table_build(table));
    HP_TRY(hp_symbol_table_add_plt(table, &symbols->strings, symbols->file.elf, symbols->base));
    return hp_symbol_table_build(table);
}

static enum hp_err open_symbols(struct hp_symbols *symbols, const char *path, const char *build_id)
{
    HP_TRY(hp_elf_open(&symbols->file, path));
    symbols->build_id = hp_elf_build_id(symbols->file.elf);
    if (!symbols->build_id)
        return hp_fail_nomem();
    if (build_id && build_id[0] && strcasecmp(build_id, symbols->build_id) != 0)
        return hp_fail(HP_ERR_NOTFOUND, "%s has build id %s, not %s: it was changed since", path,
                       symbols->build_id[0] ? symbols->build_id : "(none)", build_id);
    symbols->base = hp_elf_base(symbols->file.elf);
    return is_linked(symbols->file.elf) ? read_symbols(symbols) : HP_OK;
}

enum hp_err hp_symbols_open(const char *path, const char *build_id, struct hp_symbols **symbols)
{
    hp_debug(HP_DEBUG_SYMBOLS, "%s is read", path);
    *symbols = NULL;
    struct hp_symbols *opened = calloc(1, sizeof *opened);
    if (!opened)
        return hp_fail_nomem();
    enum hp_err err = open_symbols(opened, path, build_id);
    if (err != HP_OK) {
        hp_symbols_close(opened);
        return err;
    }
    *symbols = opened;
    return HP_OK;
}

void hp_symbols_close(struct hp_symbols *symbols)
{
    if (!symbols)
        return;
    hp_lines_close(symbols->lines);
    hp_debug_close(symbols->debug);
    hp_symbol_table_fini(&symbols->table);
    hp_strings_fini(&symbols->strings);
    hp_elf_close(&symbols->debug_file);
    hp_elf_close(&symbols->file);
    free(symbols->build_id);
    free(symbols);
}

const char *hp_symbols_build_id(const struct hp_symbols *symbols)
{
    return symbols->build_id;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* "name@plt" from "_Z...@plt": the demanglers do not know this suffix. */
static char *demangle_symbol(const char *linkage, bool params)
{
    size_t length = strlen(linkage);
    if (length <= 4 || strcmp(linkage + length - 4, "@plt") != 0)
        return hp_demangle(linkage, params);
    char *mangled = strndup(linkage, length - 4);
    char *plain = mangled ? hp_demangle(mangled, params) : NULL;
    char *name = NULL;
    if (plain && asprintf(&name, "%s@plt", plain) < 0)
        name = NULL;
    free(mangled);
    free(plain);
    return name;
}

/* Most symbols of a large file are never used, and demangling is most of the cost of opening one.
 * So names are made on demand. Several threads may do that at once; the first one wins. */
static const char *name_of(struct hp_symbol *symbol)
{
    const char *name = __atomic_load_n(&symbol->name, __ATOMIC_ACQUIRE);
    if (name)
        return name;
    const char *made = demangle_symbol(symbol->linkage, true);
    if (!made)
        made = symbol->linkage;
    if (__atomic_compare_exchange_n(&symbol->name, &name, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    if (made != symbol->linkage)
        free((void *)made);
    return name;
}

const struct hp_symbol *hp_symbols_find(const struct hp_symbols *symbols, uint64_t offset)
{
    struct hp_symbol *symbol = hp_symbol_table_find(&symbols->table, offset);
    if (symbol)
        name_of(symbol);
    return symbol;
}

bool hp_symbols_range(const struct hp_symbols *symbols, size_t i, struct hp_symbol_range *range)
{
    const struct hp_span_index *index = &symbols->table.index;
    if (i >= index->n)
        return false;
    uint32_t id = index->marks[i].id;
    *range = (struct hp_symbol_range){.low = index->marks[i].address,
                                      .high = i + 1 < index->n ? index->marks[i + 1].address
                                                               : UINT64_MAX};
    if (id == HP_SPAN_NONE)
        range->high = range->low;
    else
        range->function = symbols->table.entries[id].symbol.offset;
    return true;
}

static bool is_named(struct hp_symbol *symbol, const char *name)
{
    if (strcmp(symbol->linkage, name) == 0)
        return true;
    if (name_of(symbol) == symbol->linkage)
        return false; /* not mangled */
    if (strcmp(name_of(symbol), name) == 0)
        return true;
    char *bare = demangle_symbol(symbol->linkage, false);
    bool same = bare && strcmp(bare, name) == 0;
    free(bare);
    return same;
}

size_t hp_symbols_by_name(const struct hp_symbols *symbols, const char *name, uint64_t *offsets,
                          size_t max)
{
    const struct hp_symbol_table *table = &symbols->table;
    size_t n = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < table->n; i++) {
        struct hp_symbol *symbol = &table->entries[i].symbol;
        if ((n && symbol->offset == last) || !is_named(symbol, name))
            continue;
        last = symbol->offset;
        if (n < max)
            offsets[n] = last;
        n++;
    }
    return n;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static bool has_lines(Elf *elf)
{
    return hp_elf_section_named(elf, ".debug_info") || hp_elf_section_named(elf, ".zdebug_info");
}

/* The file with the debug information: the file itself, else its separate debug file; NULL:
 * none. */
static struct hp_elf *file_with_lines(struct hp_symbols *symbols)
{
    if (!is_linked(symbols->file.elf))
        return NULL;
    if (has_lines(symbols->file.elf))
        return &symbols->file;
    return debug_file(symbols) ? &symbols->debug_file : NULL;
}

uint64_t hp_symbols_debug_bytes(struct hp_symbols *symbols)
{
    const struct hp_elf *file = file_with_lines(symbols);
    return file ? file->size : 0;
}

static enum hp_err open_debug(struct hp_symbols *symbols)
{
    symbols->lines_looked_for = true;
    struct hp_elf *file = file_with_lines(symbols);
    if (!file)
        return HP_OK;
    enum hp_err err = hp_debug_open(file, &symbols->strings, &symbols->debug);
    return err == HP_ERR_NOTFOUND ? HP_OK : err;
}

enum hp_err hp_symbols_source(struct hp_symbols *symbols, uint64_t offset, struct hp_source *source)
{
    *source = (struct hp_source){.file = "", .inlined = "", .call_file = ""};
    if (!symbols->lines_looked_for)
        HP_TRY(open_debug(symbols));
    if (!symbols->debug)
        return hp_fail(HP_ERR_NOTFOUND, "%s has no line information", symbols->file.path);
    return hp_debug_source(symbols->debug, symbols->base + offset, source);
}

static enum hp_err open_tables(struct hp_symbols *symbols)
{
    symbols->tables_looked_for = true;
    struct hp_elf *file = file_with_lines(symbols);
    if (!file)
        return HP_OK;
    enum hp_err err = hp_lines_open(file, &symbols->strings, &symbols->lines);
    return err == HP_ERR_UNSUPPORTED ? HP_OK : err;
}

enum hp_err hp_symbols_line(struct hp_symbols *symbols, uint64_t offset, const char **file,
                            uint32_t *line)
{
    *file = "";
    *line = 0;
    if (!symbols->tables_looked_for && !symbols->debug)
        HP_TRY(open_tables(symbols));
    enum hp_err err = HP_ERR_UNSUPPORTED;
    if (symbols->lines)
        err = hp_lines_find(symbols->lines, symbols->base + offset, file, line);
    if (err != HP_ERR_UNSUPPORTED)
        return err;
    struct hp_source source;
    HP_TRY(hp_symbols_source(symbols, offset, &source));
    *file = source.file;
    *line = source.line;
    return HP_OK;
}

static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

/* For functions local to a file, and with minimal debug information for all, only the symbol has
 * the linkage name. Names of parts of functions contain a dot. */
static void name_by_symbol(const struct hp_symbols *symbols, struct hp_source_frames *frames)
{
    struct hp_source_frame *outer = &frames->frames[frames->n - 1];
    if (is_mangled(outer->function))
        return;
    const struct hp_symbol *symbol = hp_symbol_table_find(&symbols->table, frames->entry);
    if (symbol && symbol->offset == frames->entry && is_mangled(symbol->linkage) &&
        !strchr(symbol->linkage, '.'))
        outer->function = symbol->linkage;
}

enum hp_err hp_symbols_frames(struct hp_symbols *symbols, uint64_t offset,
                              struct hp_source_frames *frames)
{
    frames->n = 0;
    frames->until = UINT64_MAX;
    if (!symbols->lines_looked_for)
        HP_TRY(open_debug(symbols));
    if (!symbols->debug)
        return hp_fail(HP_ERR_NOTFOUND, "%s has no line information", symbols->file.path);
    enum hp_err err = hp_debug_frames(symbols->debug, symbols->base + offset, frames);
    if (frames->until != UINT64_MAX)
        frames->until -= symbols->base;
    if (err != HP_OK)
        return err;
    frames->entry -= symbols->base;
    frames->inner -= symbols->base;
    for (size_t i = 0; i < frames->n; i++)
        frames->frames[i].entry -= symbols->base;
    name_by_symbol(symbols, frames);
    return HP_OK;
}
