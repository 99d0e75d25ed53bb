// SPDX-License-Identifier: MIT
/*
 * The functions of a compilation unit, inlined or not, as a forest: which was inlined into which,
 * and where.
 */
#include "base/grow.h"
#include "symbols/demangle.h"
#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

struct walk {
    struct hp_debug_unit *unit;
    struct hp_strings *strings;
    Dwarf_Files *files;                    /* NULL: none */
    uint32_t around[HP_DIE_MAX_DEPTH + 1]; /* by depth: the scope that contains its DIEs */
};

/* The linkage name, if it has one. NULL: memory ran out. */
static const char *function_name(struct walk *walk, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name || !name[0])
        name = dwarf_diename(die);
    return name ? hp_strings_add(walk->strings, name, strlen(name)) : "";
}

static uint32_t integrated_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value) != 0 ||
        value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    uint64_t value = hp_die_number(die, name);
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static enum hp_err add_scope(struct walk *walk, Dwarf_Die *die, uint32_t depth, bool inlined)
{
    struct hp_debug_unit *unit = walk->unit;
    Dwarf_Addr entry = 0;
    size_t before = unit->n_spans;
    HP_TRY(hp_unit_add_spans(unit, die, depth, (uint32_t)unit->n_scopes));
    if (unit->n_spans == before)
        return HP_OK;
    HP_TRY(
        hp_grow(&unit->scopes, &unit->scopes_capacity, unit->n_scopes + 1, sizeof *unit->scopes));
    if (dwarf_entrypc(die, &entry) != 0)
        entry = unit->spans[before].low;
    struct hp_scope scope = {
        .function = function_name(walk, die),
        .file = dwarf_decl_file(die),
        .call_file = "",
        .first_line = integrated_number(die, DW_AT_decl_line),
        .parent = inlined ? walk->around[depth] : HP_SPAN_NONE,
        .entry = entry,
        .inlined = inlined,
    };
    if (inlined) {
        scope.call_line = number_of(die, DW_AT_call_line);
        scope.call_discriminator = number_of(die, DW_AT_GNU_discriminator);
        if (walk->files && dwarf_hasattr(die, DW_AT_call_file))
            scope.call_file = hp_unit_file(walk->files, hp_die_number(die, DW_AT_call_file),
                                           unit->directory, walk->strings);
    }
    if (!scope.function || !scope.call_file)
        return hp_fail_nomem();
    walk->around[depth + 1] = (uint32_t)unit->n_scopes;
    unit->scopes[unit->n_scopes++] = scope;
    return HP_OK;
}

static enum hp_err visit(void *context, Dwarf_Die *die, uint32_t depth)
{
    struct walk *walk = context;
    int tag = dwarf_tag(die);
    walk->around[depth + 1] = walk->around[depth];
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
        return HP_OK;
    return add_scope(walk, die, depth, tag == DW_TAG_inlined_subroutine);
}

enum hp_err hp_unit_load_scopes(struct hp_debug_unit *unit, Dwarf_Die *die,
                                struct hp_strings *strings)
{
    struct walk walk = {.unit = unit, .strings = strings};
    size_t n;
    if (dwarf_getsrcfiles(die, &walk.files, &n) != 0)
        walk.files = NULL;
    walk.around[0] = HP_SPAN_NONE;
    return hp_unit_walk(die, visit, &walk);
}

enum hp_err hp_scope_name(const struct hp_debug_unit *unit, struct hp_scope *scope,
                          struct hp_strings *strings)
{
    if (scope->name)
        return HP_OK;
    char *readable = hp_demangle(scope->function, true);
    const char *name = readable ? readable : *scope->function ? scope->function : "(unnamed)";
    const char *file = hp_unit_path(scope->file, unit->directory, strings);
    name = hp_strings_add(strings, name, strlen(name));
    free(readable);
    if (!name || !file)
        return hp_fail_nomem();
    scope->name = name;
    scope->file = file;
    return HP_OK;
}
