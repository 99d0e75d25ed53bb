// SPDX-License-Identifier: MIT
/*
 * Symbols: from a module and an offset to a function and a source line, using elfutils.
 *
 * Offsets are as in the profile: for an ELF file the link-time virtual address minus the lowest
 * virtual address of a PT_LOAD segment, rounded down to its page (for PIE and non-PIE files alike,
 * this is what "base + offset = address" gives for a module whose base is its first page). In a
 * file that is not ELF nothing is found.
 */
#ifndef HP_SYMBOLS_SYMBOLS_H
#define HP_SYMBOLS_SYMBOLS_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of the symbol table. Strings live as long as the hp_symbols. */
struct hp_symbol {
    uint64_t offset;
    uint64_t size;       /* 0: unknown; it then extends to the next symbol */
    const char *linkage; /* as in the file, without a version suffix */
    const char *name;    /* demangled (C++, Rust); the linkage name if not mangled */
};

/* Where an instruction comes from: `file`:`line`, in `inlined` (demangled) if that is not the
 * function itself, called at `call_file`:`call_line`. "" and 0: unknown. */
struct hp_source {
    const char *file;
    uint32_t line;
    const char *inlined;
    const char *call_file;
    uint32_t call_line;
};

/* An ELF file with its symbols and debug information. Functions that take it const may be called
 * from several threads at once. */
struct hp_symbols;

/*
 * Opens the symbols of the file. Uses .symtab, else the .symtab of a separate debug file (by build
 * id under /usr/lib/debug/.build-id, or .gnu_debuglink beside it, in .debug/ and under
 * /usr/lib/debug, or by debuginfod: debuginfod.h), else .dynsym; and adds "name@plt" symbols for
 * the PLT entries it can resolve. A debug file is used only if its build id, or the checksum in the
 * link, matches. The environment variable HOTPATH_DEBUG_DIR replaces /usr/lib/debug. Nothing is
 * fetched from the network unless DEBUGINFOD_URLS says from where. Objects (.o) and core dumps
 * open, but have no functions or lines: they have no offsets. `build_id`: if not "", a file with
 * another build id gives HP_ERR_NOTFOUND. HP_ERR_IO: cannot be opened. HP_ERR_FORMAT: not ELF. No
 * debug information is read before the first request for a line.
 */
enum hp_err hp_symbols_open(const char *path, const char *build_id, struct hp_symbols **symbols);
void hp_symbols_close(struct hp_symbols *symbols);

/* Bytes of the file that has the debug information: how long it takes to read. 0: there is none. */
uint64_t hp_symbols_debug_bytes(struct hp_symbols *symbols);

/* The build id as lower-case hex; "": none. */
const char *hp_symbols_build_id(const struct hp_symbols *symbols);

/* The function that contains `offset`, or NULL. If functions overlap, the one that starts last. Of
 * several symbols at one address a function is preferred to a label without a type, then a global
 * one to a weak one to a local one, then one with a size, then the first by name. Labels inside a
 * function of known size are not symbols. */
const struct hp_symbol *hp_symbols_find(const struct hp_symbols *symbols, uint64_t offset);

/* Offsets low <= o < high are in the function that starts at `function`: where hp_symbols_find()
 * finds one. */
struct hp_symbol_range {
    uint64_t low, high, function;
};

/* The i-th of these ranges, in ascending order, some of them empty; false: there are no more. */
bool hp_symbols_range(const struct hp_symbols *symbols, size_t i, struct hp_symbol_range *range);

/* The functions named `name` (linkage name, or demangled with or without parameters), aliases
 * included: up to `max` offsets into `offsets`, ascending; returns how many there are. */
size_t hp_symbols_by_name(const struct hp_symbols *symbols, const char *name, uint64_t *offsets,
                          size_t max);

/* The source of the instruction at `offset`; HP_ERR_NOTFOUND: no line information for it (`*source`
 * then has empty fields). `inlined` is the innermost function inlined there. Paths are absolute if
 * they are in the file, without "." and "..". The strings live as long as `symbols`. */
enum hp_err hp_symbols_source(struct hp_symbols *symbols, uint64_t offset,
                              struct hp_source *source);

/*
 * The file and line alone, as from hp_symbols_source(), without inlined functions. Much cheaper as
 * long as nothing else is requested: only the line tables are read. HP_ERR_NOTFOUND: "" and 0.
 */
enum hp_err hp_symbols_line(struct hp_symbols *symbols, uint64_t offset, const char **file,
                            uint32_t *line);

/* A function at an instruction: the one that contains the code, or one inlined there. */
struct hp_source_frame {
    const char *function;   /* linkage name, if it has a different one; "" unknown */
    const char *name;       /* demangled; "(unnamed)" unknown */
    const char *file;       /* of `line` */
    const char *first_file; /* where the function is declared; "" unknown */
    uint32_t first_line;    /* likewise; 0 unknown */
    uint32_t line;          /* of the instruction, or of the inlined call; 0: none in particular */
    uint32_t discriminator; /* of that line, as in the debug information */
    uint64_t entry;         /* offset of its first instruction here */
};

struct hp_source_frames {
    struct hp_source_frame *frames; /* innermost first */
    size_t n, capacity;
    uint64_t entry; /* offset of the first instruction of the last one */
    uint64_t inner; /* the same of the first one: distinguishes inlined copies of a function */
    uint64_t until; /* up to this offset nothing changes */
    bool statement; /* a statement begins where the code of this line begins */
};

/*
 * The functions at an instruction, with the places in them that it comes from. `*frames` is all
 * zero, or was filled before; free() its array. Strings live as long as `symbols`. HP_ERR_NOTFOUND:
 * there is no debug information for it; `n` is then 0 and `until` valid (at least offset + 1).
 * HP_ERR_NOMEM.
 */
enum hp_err hp_symbols_frames(struct hp_symbols *symbols, uint64_t offset,
                              struct hp_source_frames *frames);

#endif
