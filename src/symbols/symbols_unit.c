// SPDX-License-Identifier: MIT
/*
 * Reading one compilation unit: its line table, and how its tree of DIEs is walked.
 */
#include "base/grow.h"
#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* More parts of functions than a unit has. */
#define MAX_SPANS (1u << 22)

const char *hp_unit_file(Dwarf_Files *files, size_t index, const char *directory,
                         struct hp_strings *strings)
{
    return hp_unit_path(dwarf_filesrc(files, index, NULL, NULL), directory, strings);
}

const char *hp_unit_path(const char *name, const char *directory, struct hp_strings *strings)
{
    if (!name || !name[0])
        return "";
    /* libdw already prefixes files with the unit's directory; if that directory is relative
     * (compiled with -ffile-prefix-map) the result is relative as well. */
    size_t length = strlen(directory);
    if (strncmp(name, directory, length) == 0 && name[length] == '/')
        directory = "";
    return hp_strings_add_path(strings, directory, name);
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* The files of a unit, converted to paths when a line first names them. */
struct paths {
    Dwarf_Files *files;
    const char **paths;
    size_t n;
    const char *directory;
    struct hp_strings *strings;
};

/* NULL: memory ran out. */
static const char *path_of(struct paths *paths, Dwarf_Line *line)
{
    Dwarf_Files *files;
    size_t index;
    if (dwarf_line_file(line, &files, &index) != 0)
        return "";
    if (files != paths->files || index >= paths->n)
        return hp_unit_file(files, index, paths->directory, paths->strings);
    if (!paths->paths[index])
        paths->paths[index] = hp_unit_file(files, index, paths->directory, paths->strings);
    return paths->paths[index];
}

/* libdw sorts the lines by address, ends of sequences first: of several at one address the last
 * counts. */
static enum hp_err add_line(struct hp_debug_unit *unit, const struct hp_line *line)
{
    if (unit->n_lines && unit->lines[unit->n_lines - 1].address == line->address)
        unit->n_lines--;
    HP_TRY(hp_grow(&unit->lines, &unit->lines_capacity, unit->n_lines + 1, sizeof *unit->lines));
    unit->lines[unit->n_lines++] = *line;
    return HP_OK;
}

/* A line as libdw gives it, except for its file. */
static bool read_line(Dwarf_Line *line, struct hp_line *read, bool *end)
{
    int number = 0;
    if (!line || dwarf_lineaddr(line, &read->address) != 0 ||
        dwarf_lineendsequence(line, end) != 0 || dwarf_lineno(line, &number) != 0)
        return false;
    read->line = number > 0 ? (uint32_t)number : 0;
    if (dwarf_linediscriminator(line, &read->discriminator) != 0)
        read->discriminator = 0;
    if (dwarf_linebeginstatement(line, &read->statement) != 0)
        read->statement = false;
    return true;
}

static enum hp_err add_lines(struct hp_debug_unit *unit, Dwarf_Lines *lines, size_t n,
                             const struct hp_span_index *code, struct paths *paths)
{
    for (size_t i = 0; i < n; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        struct hp_line read = {0};
        bool end = false;
        if (!read_line(line, &read, &end))
            continue;
        if (!end && hp_span_find(code, read.address) == HP_SPAN_NONE)
            continue;
        read.file = end ? NULL : path_of(paths, line);
        if (!end && !read.file)
            return hp_fail_nomem();
        HP_TRY(add_line(unit, &read));
    }
    return HP_OK;
}

enum hp_err hp_unit_load_lines(struct hp_debug_unit *unit, Dwarf_Die *die,
                               const struct hp_span_index *code, struct hp_strings *strings)
{
    Dwarf_Lines *lines;
    size_t n;
    if (dwarf_getsrclines(die, &lines, &n) != 0)
        return HP_OK;
    struct paths paths = {.directory = unit->directory, .strings = strings};
    if (dwarf_getsrcfiles(die, &paths.files, &paths.n) != 0)
        paths.n = 0;
    paths.paths = calloc(paths.n + 1, sizeof(char *));
    if (!paths.paths)
        return hp_fail_nomem();
    enum hp_err err = add_lines(unit, lines, n, code, &paths);
    free(paths.paths);
    return err;
}

/* --- DIEs --------------------------------------------------------------------------------------
 */

uint64_t hp_die_number(Dwarf_Die *die, unsigned attribute_name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &value) != 0)
        return 0;
    return value;
}

enum hp_err hp_unit_add_spans(struct hp_debug_unit *unit, Dwarf_Die *die, uint32_t depth,
                              uint32_t id)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        if (unit->n_spans >= MAX_SPANS)
            break;
        if (start >= end)
            continue;
        HP_TRY(
            hp_grow(&unit->spans, &unit->spans_capacity, unit->n_spans + 1, sizeof *unit->spans));
        unit->spans[unit->n_spans++] =
            (struct hp_symbol_span){.low = start, .high = end, .depth = depth, .id = id};
    }
    return HP_OK;
}

/* Whether a DIE of this kind may contain code. */
static bool holds_code(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: /* Rust puts methods of an enum here */
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block: return true;
    default: return false;
    }
}

/* `budget`: how many DIEs may be visited. */
static enum hp_err walk_tree(Dwarf_Die *root, size_t budget, hp_die_visit *visit, void *context)
{
    Dwarf_Die stack[HP_DIE_MAX_DEPTH];
    if (dwarf_child(root, &stack[0]) != 0)
        return HP_OK;
    size_t depth = 0;
    while (budget--) {
        Dwarf_Die *die = &stack[depth];
        HP_TRY(visit(context, die, (uint32_t)depth));
        if (depth + 1 < HP_DIE_MAX_DEPTH && holds_code(dwarf_tag(die)) &&
            dwarf_child(die, &stack[depth + 1]) == 0) {
            depth++;
            continue;
        }
        Dwarf_Die next;
        while (dwarf_siblingof(&stack[depth], &next) != 0) {
            if (!depth)
                return HP_OK;
            depth--;
        }
        stack[depth] = next;
    }
    return HP_OK;
}

enum hp_err hp_unit_walk(Dwarf_Die *unit, hp_die_visit *visit, void *context)
{
    /* A DIE has at least one byte, so there cannot be more than that: more means that corrupt
     * sibling references lead to the same ones again. */
    Dwarf_Off start = dwarf_dieoffset(unit), next = 0;
    size_t header_size;
    Dwarf_Off unit_start = start - dwarf_cuoffset(unit);
    if (dwarf_nextcu(dwarf_cu_getdwarf(unit->cu), unit_start, &next, &header_size, NULL, NULL,
                     NULL) != 0 ||
        next <= unit_start)
        return HP_OK;
    return walk_tree(unit, next - unit_start, visit, context);
}
