// SPDX-License-Identifier: MIT
/*
 * From an address to its compilation unit, and what the unit says about it.
 *
 * libdw's own lookups walk the unit for every query. Here a unit is read once, when an address in
 * it is first requested, into sorted arrays; after that a query is three binary searches: unit,
 * line, inlined function.
 */
#include "base/bisect.h"
#include "base/grow.h"
#include "base/map64.h"
#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* More address ranges than any program has: hostile files can refer to one list of ranges from any
 * number of places. */
#define MAX_UNIT_SPANS (UINT64_C(1) << 24)

struct hp_debug {
    Dwarf *dwarf;
    Dwarf *alternate; /* what dwz moved out of it; NULL: none */
    struct hp_elf alternate_file;
    bool broken; /* memory ran out inside libdw: it is not used again */
    struct hp_strings *strings;
    struct hp_debug_unit *units;
    size_t n_units, units_capacity;
    struct hp_span_index unit_index; /* address to unit */
    struct hp_span_index code;
    struct hp_map64 unit_by_die;
    struct hp_symbol_span *spans; /* of units, while they are collected */
    size_t n_spans, spans_capacity;
};

/* --- Memory running out ----------------------------------------------------------------------- */

/* libdw ends the process when memory runs out, unless a handler jumps out of it. */
static __thread jmp_buf *out_of_memory;

static void __attribute__((noreturn)) leave_libdw(void)
{
    longjmp(*out_of_memory, 1);
}

typedef enum hp_err guarded_call(struct hp_debug *debug, void *argument);

/* Calls `call`, which may use libdw. Its allocations must be reachable from `debug`, or they leak
 * when memory runs out. */
static enum hp_err guarded(struct hp_debug *debug, guarded_call *call, void *argument)
{
    if (debug->broken)
        return hp_fail(HP_ERR_NOMEM, "out of memory while reading debug information");
    jmp_buf here;
    jmp_buf *outer = out_of_memory;
    if (setjmp(here)) {
        out_of_memory = outer;
        debug->broken = true;
        return hp_fail(HP_ERR_NOMEM, "out of memory while reading debug information");
    }
    out_of_memory = &here;
    enum hp_err err = call(debug, argument);
    out_of_memory = outer;
    return err;
}

/* --- Which unit an address is in -------------------------------------------------------------- */

static enum hp_err add_span(struct hp_debug *debug, uint64_t low, uint64_t high, uint32_t unit)
{
    if (low >= high || debug->n_spans >= MAX_UNIT_SPANS)
        return HP_OK;
    HP_TRY(
        hp_grow(&debug->spans, &debug->spans_capacity, debug->n_spans + 1, sizeof *debug->spans));
    debug->spans[debug->n_spans++] = (struct hp_symbol_span){.low = low, .high = high, .id = unit};
    return HP_OK;
}

/* .debug_aranges, where it exists: the same as the ranges in the units' DIEs, without reading them.
 * clang omits it, and the objects of one program may differ in that. */
static enum hp_err read_aranges(struct hp_debug *debug, bool *covered)
{
    Dwarf_Aranges *aranges;
    size_t n;
    if (dwarf_getaranges(debug->dwarf, &aranges, &n) != 0)
        return HP_OK;
    for (size_t i = 0; i < n; i++) {
        Dwarf_Addr start;
        Dwarf_Word length;
        Dwarf_Off die;
        Dwarf_Arange *range = dwarf_onearange(aranges, i);
        if (!range || dwarf_getarangeinfo(range, &start, &length, &die) != 0)
            continue;
        uint32_t unit = hp_map64_get(&debug->unit_by_die, die);
        if (unit == HP_MAP64_NONE || length > UINT64_MAX - start)
            continue;
        covered[unit] = true;
        HP_TRY(add_span(debug, start, start + length, unit));
    }
    return HP_OK;
}

static enum hp_err read_unit_ranges(struct hp_debug *debug, uint32_t unit)
{
    Dwarf_Die die;
    if (!dwarf_offdie(debug->dwarf, debug->units[unit].die, &die))
        return HP_OK;
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0;) {
        HP_TRY(add_span(debug, start, end, unit));
        if (debug->n_spans >= MAX_UNIT_SPANS)
            break;
    }
    return HP_OK;
}

static enum hp_err add_unit(struct hp_debug *debug, Dwarf_Off die)
{
    if (hp_map64_get(&debug->unit_by_die, die) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(
        hp_grow(&debug->units, &debug->units_capacity, debug->n_units + 1, sizeof *debug->units));
    debug->units[debug->n_units] = (struct hp_debug_unit){.die = die};
    HP_TRY(hp_map64_put(&debug->unit_by_die, die, (uint32_t)debug->n_units));
    debug->n_units++;
    return HP_OK;
}

static enum hp_err list_units(struct hp_debug *debug, void *argument)
{
    (void)argument;
    Dwarf_Off offset = 0, next;
    size_t header_size;
    while (dwarf_nextcu(debug->dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0) {
        if (next <= offset)
            break;
        HP_TRY(add_unit(debug, offset + header_size));
        offset = next;
    }
    return HP_OK;
}

/* `argument`: one flag per unit, all false. */
static enum hp_err index_units(struct hp_debug *debug, void *argument)
{
    bool *covered = argument;
    HP_TRY(read_aranges(debug, covered));
    for (uint32_t i = 0; i < debug->n_units; i++)
        if (!covered[i])
            HP_TRY(read_unit_ranges(debug, i));
    return hp_span_index_build(&debug->unit_index, debug->spans, debug->n_spans);
}

/* libdw would search for it as well, but only in its own places. */
static void open_alternate(struct hp_debug *debug, const struct hp_elf *file)
{
    if (hp_elf_open_alternate(file, debug->dwarf, &debug->alternate_file) != HP_OK ||
        hp_elf_complete(&debug->alternate_file) != HP_OK)
        return;
    debug->alternate = dwarf_begin_elf(debug->alternate_file.elf, DWARF_C_READ, NULL);
    if (!debug->alternate)
        return;
    dwarf_new_oom_handler(debug->alternate, leave_libdw);
    dwarf_setalt(debug->dwarf, debug->alternate);
}

/* libdw decompresses all of a file when it is opened. Sections that are not used here (locations of
 * variables, macros, name indices) are hidden from it: in our copy of the file they become
 * empty. */
static void hide_unused(Elf *elf)
{
    static const char *const unused[] = {
        ".debug_loc",          ".debug_loclists",     ".debug_macro",
        ".debug_macinfo",      ".debug_pubnames",     ".debug_pubtypes",
        ".debug_gnu_pubnames", ".debug_gnu_pubtypes", ".debug_names"};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        GElf_Shdr header;
        Elf_Scn *section = hp_elf_section_named(elf, unused[i]);
        if (!section || !gelf_getshdr(section, &header))
            continue;
        header.sh_type = SHT_NOBITS;
        gelf_update_shdr(section, &header);
    }
}

static enum hp_err open_debug(struct hp_debug *debug, const struct hp_elf *file)
{
    hide_unused(file->elf);
    debug->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (!debug->dwarf)
        return hp_fail(HP_ERR_NOTFOUND, "no debug information: %s", dwarf_errmsg(-1));
    dwarf_new_oom_handler(debug->dwarf, leave_libdw);
    HP_TRY(hp_elf_code(file->elf, &debug->code));
    open_alternate(debug, file);
    HP_TRY(guarded(debug, list_units, NULL));
    bool *covered = calloc(debug->n_units + 1, sizeof *covered);
    if (!covered)
        return hp_fail_nomem();
    enum hp_err err = guarded(debug, index_units, covered);
    free(covered);
    free(debug->spans);
    debug->spans = NULL;
    debug->n_spans = debug->spans_capacity = 0;
    return err;
}

enum hp_err hp_debug_open(struct hp_elf *file, struct hp_strings *strings, struct hp_debug **debug)
{
    *debug = NULL;
    if (hp_elf_complete(file) != HP_OK)
        return hp_fail(HP_ERR_NOTFOUND, "no debug information: %s is gone", file->path);
    struct hp_debug *opened = calloc(1, sizeof *opened);
    if (!opened)
        return hp_fail_nomem();
    opened->strings = strings;
    enum hp_err err = open_debug(opened, file);
    if (err != HP_OK) {
        hp_debug_close(opened);
        return err;
    }
    *debug = opened;
    return HP_OK;
}

void hp_debug_close(struct hp_debug *debug)
{
    if (!debug)
        return;
    for (size_t i = 0; i < debug->n_units; i++) {
        struct hp_debug_unit *unit = &debug->units[i];
        free(unit->lines);
        free(unit->spans);
        free(unit->scopes);
        hp_span_index_fini(&unit->scope_index);
    }
    free(debug->units);
    free(debug->spans);
    hp_map64_fini(&debug->unit_by_die);
    hp_span_index_fini(&debug->unit_index);
    hp_span_index_fini(&debug->code);
    if (debug->dwarf)
        dwarf_end(debug->dwarf);
    if (debug->alternate)
        dwarf_end(debug->alternate);
    hp_elf_close(&debug->alternate_file);
    free(debug);
}

/* --- Queries ---------------------------------------------------------------------------------- */

/* The DIE that has the unit's functions: with split DWARF it is in a separate file. */
static Dwarf_Die function_die(Dwarf_Die *die)
{
    Dwarf_Die split;
    uint8_t type;
    if (dwarf_cu_info(die->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && split.addr)
        return split;
    return *die;
}

/* Where the unit was compiled. */
static const char *directory_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
    return directory ? directory : "";
}

/* Builds an index from the collected spans. */
static enum hp_err build_index(struct hp_debug_unit *unit, struct hp_span_index *index)
{
    enum hp_err err = hp_span_index_build(index, unit->spans, unit->n_spans);
    free(unit->spans);
    unit->spans = NULL;
    unit->n_spans = unit->spans_capacity = 0;
    return err;
}

static enum hp_err load_unit(struct hp_debug *debug, void *argument)
{
    struct hp_debug_unit *unit = argument;
    Dwarf_Die die;
    if (!dwarf_offdie(debug->dwarf, unit->die, &die))
        return HP_OK;
    unit->directory = directory_of(&die);
    HP_TRY(hp_unit_load_lines(unit, &die, &debug->code, debug->strings));
    Dwarf_Die functions = function_die(&die);
    HP_TRY(hp_unit_load_scopes(unit, &functions, debug->strings));
    return build_index(unit, &unit->scope_index);
}

/* The unit of an address, loaded; NULL: none. */
static enum hp_err find_unit(struct hp_debug *debug, uint64_t address, struct hp_debug_unit **unit)
{
    uint32_t found = hp_span_find(&debug->unit_index, address);
    *unit = found == HP_SPAN_NONE ? NULL : &debug->units[found];
    if (!*unit || (*unit)->loaded)
        return HP_OK;
    (*unit)->loaded = true;
    return guarded(debug, load_unit, *unit);
}

/* The first line after an address. */
static size_t line_behind(const struct hp_debug_unit *unit, uint64_t address)
{
    return HP_BISECT(i, 0, unit->n_lines, unit->lines[i].address <= address);
}

static const struct hp_line *find_line(const struct hp_debug_unit *unit, uint64_t address)
{
    size_t behind = line_behind(unit, address);
    const struct hp_line *line = behind ? &unit->lines[behind - 1] : NULL;
    return line && line->file ? line : NULL;
}

static enum hp_err no_line(uint64_t address)
{
    return hp_fail(HP_ERR_NOTFOUND, "no line information for address 0x%llx",
                   (unsigned long long)address);
}

enum hp_err hp_debug_source(struct hp_debug *debug, uint64_t address, struct hp_source *source)
{
    struct hp_debug_unit *unit;
    HP_TRY(find_unit(debug, address, &unit));
    const struct hp_line *line = unit ? find_line(unit, address) : NULL;
    if (!line)
        return no_line(address);
    source->file = line->file;
    source->line = line->line;
    uint32_t found = hp_span_find(&unit->scope_index, address);
    struct hp_scope *scope = found == HP_SPAN_NONE ? NULL : &unit->scopes[found];
    if (!scope || !scope->inlined)
        return HP_OK;
    HP_TRY(hp_scope_name(unit, scope, debug->strings));
    source->inlined = scope->name;
    source->call_file = scope->call_file;
    source->call_line = scope->call_line;
    return HP_OK;
}

/* The first mark of an index after an address, if it comes before `until`. */
static uint64_t next_mark(const struct hp_span_index *index, uint64_t address, uint64_t until)
{
    size_t low = HP_BISECT(i, 0, index->n, index->marks[i].address <= address);
    return low < index->n && index->marks[low].address < until ? index->marks[low].address : until;
}

static enum hp_err add_frame(struct hp_source_frames *frames, const struct hp_scope *scope,
                             const struct hp_line *line)
{
    HP_TRY(hp_grow(&frames->frames, &frames->capacity, frames->n + 1, sizeof *frames->frames));
    frames->frames[frames->n++] = (struct hp_source_frame){.function = scope->function,
                                                           .name = scope->name,
                                                           .file = line->file,
                                                           .first_file = scope->file,
                                                           .first_line = scope->first_line,
                                                           .line = line->line,
                                                           .discriminator = line->discriminator,
                                                           .entry = scope->entry};
    frames->entry = scope->entry;
    if (frames->n == 1)
        frames->inner = scope->entry;
    return HP_OK;
}

enum hp_err hp_debug_frames(struct hp_debug *debug, uint64_t address,
                            struct hp_source_frames *frames)
{
    struct hp_debug_unit *unit;
    frames->n = 0;
    frames->until = next_mark(&debug->unit_index, address, UINT64_MAX);
    HP_TRY(find_unit(debug, address, &unit));
    if (!unit)
        return no_line(address);
    size_t behind = line_behind(unit, address);
    if (behind < unit->n_lines && unit->lines[behind].address < frames->until)
        frames->until = unit->lines[behind].address;
    frames->until = next_mark(&unit->scope_index, address, frames->until);
    const struct hp_line *found = find_line(unit, address);
    uint32_t scope = hp_span_find(&unit->scope_index, address);
    if (!found || scope == HP_SPAN_NONE)
        return no_line(address);
    struct hp_line line = *found;
    frames->statement = line.statement;
    /* A parent comes before what is inlined into it, so this terminates. */
    while (scope != HP_SPAN_NONE) {
        struct hp_scope *s = &unit->scopes[scope];
        HP_TRY(hp_scope_name(unit, s, debug->strings));
        HP_TRY(add_frame(frames, s, &line));
        line = (struct hp_line){
            .file = s->call_file, .line = s->call_line, .discriminator = s->call_discriminator};
        scope = s->parent;
    }
    return HP_OK;
}
