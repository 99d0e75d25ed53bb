// SPDX-License-Identifier: MIT
/*
 * What the parts of hp_symbols share: the files, the table of symbols, the debug information.
 */
#ifndef HP_SYMBOLS_SYMBOLS_PRIVATE_H
#define HP_SYMBOLS_SYMBOLS_PRIVATE_H

#include "base/strings.h"
#include "symbols/symbols.h"
#include "symbols/symbols_bytes.h"
#include "symbols/symbols_span.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <sys/types.h>

/* --- Files ------------------------------------------------------------------------------------ */

#define HP_ELF_LEFT_OUT 32

/* A part of a file. */
struct hp_elf_range {
    size_t from, size;
};

/* An ELF file in memory; all zero: none. */
struct hp_elf {
    Elf *elf;
    char *path;
    unsigned char *image;
    size_t size;
    dev_t device; /* identifies the file */
    ino_t inode;
    struct hp_elf_range left_out[HP_ELF_LEFT_OUT]; /* not read yet: zeros */
    size_t n_left_out;
};

/* Opens a regular file as ELF. Its code, constants and debug information may be left out at first.
 * HP_ERR_IO, HP_ERR_FORMAT. */
enum hp_err hp_elf_open(struct hp_elf *file, const char *path);

/* Read what was left out: of the section of this name, if there is one, or everything. HP_ERR_IO:
 * the file is gone; its zeros remain. */
enum hp_err hp_elf_need(struct hp_elf *file, const char *name);
enum hp_err hp_elf_complete(struct hp_elf *file);
void hp_elf_close(struct hp_elf *file);

/* The first section of this type (SHT_*), or of this name, or NULL. */
Elf_Scn *hp_elf_section_of_type(Elf *elf, uint32_t type);
Elf_Scn *hp_elf_section_named(Elf *elf, const char *name);

/* The section's name; "" when it cannot be read. */
const char *hp_elf_section_name(Elf *elf, const GElf_Shdr *header);

/* The executable sections; `code` must be empty. */
enum hp_err hp_elf_code(Elf *elf, struct hp_span_index *code);

/* The link-time address of offset 0 (symbols.h). */
uint64_t hp_elf_base(Elf *elf);

/* The build id as lower-case hex, malloc'ed, "": none; NULL: memory ran out. */
char *hp_elf_build_id(Elf *elf);

/* Finds and opens the separate debug file: one with the same build id, or, if one of the two has
 * none, with the checksum in the debug link. HP_ERR_NOTFOUND: there is none. */
enum hp_err hp_elf_open_debug(const struct hp_elf *file, struct hp_elf *debug);

/* Finds and opens the alternate debug file, where dwz puts what several debug files share. `dwarf`
 * is the debug information of `file`. HP_ERR_NOTFOUND: there is none. */
enum hp_err hp_elf_open_alternate(const struct hp_elf *file, Dwarf *dwarf,
                                  struct hp_elf *alternate);

/* --- Symbols ---------------------------------------------------------------------------------- */

enum hp_symbol_bind { HP_BIND_GLOBAL, HP_BIND_WEAK, HP_BIND_LOCAL };

/* A symbol and what ranks it against others. */
struct hp_symbol_entry {
    struct hp_symbol symbol; /* its `name` is NULL until requested */
    uint64_t limit;          /* offset of the end of its section */
    bool label;              /* has no type: yields to functions */
    enum hp_symbol_bind bind;
};

/* All zero is an empty table. */
struct hp_symbol_table {
    struct hp_symbol_entry *entries; /* by offset, then by preference: hp_symbols_find() */
    size_t n, capacity;
    struct hp_span_index index; /* offset to entry */
};

/* Adds a symbol; its linkage name must last. */
enum hp_err hp_symbol_table_add(struct hp_symbol_table *table, const struct hp_symbol_entry *entry);

/* Adds the functions of a symbol table section (.symtab, .dynsym) of `elf`. */
enum hp_err hp_symbol_table_read(struct hp_symbol_table *table, struct hp_strings *strings,
                                 Elf *elf, Elf_Scn *section, uint64_t base);

/* Sorts, drops labels inside functions and builds the index: the table can then be searched. It may
 * be added to and built again. */
enum hp_err hp_symbol_table_build(struct hp_symbol_table *table);

/* The symbol at `offset`, or NULL; its name may not be set yet. */
struct hp_symbol *hp_symbol_table_find(const struct hp_symbol_table *table, uint64_t offset);
void hp_symbol_table_fini(struct hp_symbol_table *table);

/* Adds "name@plt" for every entry of the procedure linkage tables that can be resolved; the table
 * must have been built, and must be built again. */
enum hp_err hp_symbol_table_add_plt(struct hp_symbol_table *table, struct hp_strings *strings,
                                    Elf *elf, uint64_t base);

/* --- Debug information ------------------------------------------------------------------------ */

/* The debug information of one file. */
struct hp_debug;

/* HP_ERR_NOTFOUND: the file has none. `file` and `strings` must outlive it. */
enum hp_err hp_debug_open(struct hp_elf *file, struct hp_strings *strings, struct hp_debug **debug);
void hp_debug_close(struct hp_debug *debug);

/* Like hp_symbols_source(), by link-time address. */
enum hp_err hp_debug_source(struct hp_debug *debug, uint64_t address, struct hp_source *source);

/* Like hp_symbols_frames(), by link-time address; `entry` and `until` are addresses, too. */
enum hp_err hp_debug_frames(struct hp_debug *debug, uint64_t address,
                            struct hp_source_frames *frames);

/* --- Line tables only ------------------------------------------------------------------------- */

/* The line tables of one file. */
struct hp_lines;

/* HP_ERR_UNSUPPORTED: there are none, or some are of an unknown kind; use hp_debug_open(). `file`
 * and `strings` must outlive it. */
enum hp_err hp_lines_open(struct hp_elf *file, struct hp_strings *strings, struct hp_lines **lines);
void hp_lines_close(struct hp_lines *lines);

/* The file and line of the instruction at a link-time address, as from hp_debug_source().
 * HP_ERR_NOTFOUND: no line is known there. HP_ERR_UNSUPPORTED: use hp_debug_source(). */
enum hp_err hp_lines_find(const struct hp_lines *lines, uint64_t address, const char **file,
                          uint32_t *line);

/* --- One compilation unit --------------------------------------------------------------------- */

struct hp_line {
    uint64_t address;
    const char *file; /* NULL: no line from here on */
    uint32_t line;
    uint32_t discriminator;
    bool statement; /* a statement begins here */
};

/* A function with code, or an inlined one, in a unit. */
struct hp_scope {
    const char *function; /* linkage name, if it has one, else with its classes; "" unknown */
    const char *name;     /* as people read it; NULL: not asked for yet */
    const char *file;     /* where it is declared, NULL unknown; of libdw until `name` is set */
    const char *call_file;
    uint32_t first_line;
    uint32_t call_line, call_discriminator;
    uint32_t parent; /* the scope it was inlined into; HP_SPAN_NONE: not inlined */
    uint64_t entry;  /* address */
    bool inlined;
};

/* A unit, read on first request. All zero: nothing read. */
struct hp_debug_unit {
    Dwarf_Off die; /* offset of its DIE */
    bool loaded;
    struct hp_line *lines;
    size_t n_lines, lines_capacity;
    struct hp_scope *scopes;
    size_t n_scopes, scopes_capacity;
    struct hp_symbol_span *spans; /* of `scopes`, while they are collected */
    size_t n_spans, spans_capacity;
    struct hp_span_index scope_index;
    const char *directory; /* where it was compiled */
};

/* Fill the lines and the functions, inlined or not, of a unit. What cannot be read is left out;
 * they fail with HP_ERR_NOMEM only. `code`: where there is code; lines elsewhere are left over from
 * functions that the linker discarded. */
enum hp_err hp_unit_load_lines(struct hp_debug_unit *unit, Dwarf_Die *die,
                               const struct hp_span_index *code, struct hp_strings *strings);
enum hp_err hp_unit_load_scopes(struct hp_debug_unit *unit, Dwarf_Die *die,
                                struct hp_strings *strings);

/* Sets the name and the file of a scope, once. */
enum hp_err hp_scope_name(const struct hp_debug_unit *unit, struct hp_scope *scope,
                          struct hp_strings *strings);

/* --- Shared by these -------------------------------------------------------------------------- */

/* Deeper than compilers nest scopes. */
#define HP_DIE_MAX_DEPTH 256

/* Called for a DIE; `depth` is below HP_DIE_MAX_DEPTH. */
typedef enum hp_err hp_die_visit(void *context, Dwarf_Die *die, uint32_t depth);

/* Visits the DIEs of a unit that may contain code, parents first. Stops when `visit` fails. */
enum hp_err hp_unit_walk(Dwarf_Die *unit, hp_die_visit *visit, void *context);

/* The path of file `index` of a unit's file table; "": none, NULL: memory ran out. */
const char *hp_unit_file(Dwarf_Files *files, size_t index, const char *directory,
                         struct hp_strings *strings);

/* The same for a name as libdw gives it; NULL is "". */
const char *hp_unit_path(const char *name, const char *directory, struct hp_strings *strings);

/* The value of a DIE's attribute; 0: none. */
uint64_t hp_die_number(Dwarf_Die *die, unsigned attribute);

/* Adds the ranges of a DIE, as `id`, to the collected spans. */
enum hp_err hp_unit_add_spans(struct hp_debug_unit *unit, Dwarf_Die *die, uint32_t depth,
                              uint32_t id);

/* --- Paths of source files -------------------------------------------------------------------- */

/*
 * A lasting copy of the path `directory`/`name` (or `name` alone if it is absolute or `directory`
 * is ""), with "//", "/./" and "/name/../" removed without consulting the file system. NULL: memory
 * ran out.
 */
const char *hp_strings_add_path(struct hp_strings *strings, const char *directory,
                                const char *name);

/* --- The file names of a line table of DWARF 5 ------------------------------------------------ */

struct hp_line_names {
    struct hp_bytes lists; /* the table's directories and files */
    const char *strings;   /* .debug_line_str; NULL: none */
    size_t strings_size;
    struct hp_strings *kept; /* owns the paths */
};

/* The path of file `index`, as libdw gives it, without "." and "..". HP_ERR_UNSUPPORTED: cannot be
 * determined. */
enum hp_err hp_line_names_path(const struct hp_line_names *names, uint64_t index,
                               const char **path);

#endif
