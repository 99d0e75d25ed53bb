// SPDX-License-Identifier: MIT
/*
 * The functions of a compilation unit, inlined or not, as a forest: which was inlined into which,
 * and where.
 */
#include "base/base.h"
#include "base/grow.h"
#include "base/map64.h"
#include "symbols/demangle.h"
#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

/* Languages that dwarf.h may not know. */
#define CPLUSPLUS_17 0x2b
#define CPLUSPLUS_20 0x2c

#define ORIGINS_MAX                                                                                \
    8 /* declarations behind a function: that it is an instance of, of that, ...                   \
       */

/* What a class without a name is called. */
static const char UNNAMED[] = "{unnamed}";

/* A DIE that others are named after, such as a class. */
struct around {
    Dwarf_Off offset;
    uint32_t parent; /* HP_SPAN_NONE: none */
};

/* A scope that has only a name of its own: "operator()". */
struct bare {
    uint32_t scope;
    Dwarf_Off declared; /* the DIE that declares it */
};

struct walk {
    struct hp_debug_unit *unit;
    struct hp_strings *strings;
    Dwarf_Files *files;                    /* NULL: none */
    uint32_t around[HP_DIE_MAX_DEPTH + 1]; /* by depth: the scope that contains its DIEs */

    /* Of C++, where functions that are known in one file only have no linkage names. */
    bool is_qualified;
    struct around *arounds; /* in order of offset */
    size_t n_arounds, arounds_capacity;
    uint32_t inside[HP_DIE_MAX_DEPTH + 1]; /* by depth: of `arounds` */
    struct bare *bare;
    size_t n_bare, bare_capacity;
};

static void walk_fini(struct walk *walk)
{
    free(walk->arounds);
    free(walk->bare);
}

/* NULL: it has none. */
static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    const char *name = dwarf_formstring(&attribute);
    return name && name[0] ? name : NULL;
}

/* --- Names that begin with those of classes --------------------------------------------------- */

/* The DIE that declares a function: what this one is an instance, or the definition, of. */
static Dwarf_Die declaration(const Dwarf_Die *die)
{
    static const unsigned origins[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Die at = *die, next;
    for (unsigned i = 0; i < ORIGINS_MAX; i++) {
        Dwarf_Attribute attribute;
        bool found = false;
        for (size_t k = 0; k < 2 && !found; k++)
            found = dwarf_attr(&at, origins[k], &attribute) && dwarf_formref_die(&attribute, &next);
        if (!found)
            break;
        at = next;
    }
    return at;
}

static enum hp_err add_around(struct walk *walk, Dwarf_Die *die, int tag, uint32_t depth)
{
    walk->inside[depth + 1] = walk->inside[depth];
    if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
        tag != DW_TAG_union_type && tag != DW_TAG_subprogram)
        return HP_OK;
    HP_TRY(hp_grow(&walk->arounds, &walk->arounds_capacity, walk->n_arounds + 1,
                   sizeof *walk->arounds));
    walk->inside[depth + 1] = (uint32_t)walk->n_arounds;
    walk->arounds[walk->n_arounds++] =
        (struct around){.offset = dwarf_dieoffset(die), .parent = walk->inside[depth]};
    return HP_OK;
}

/* Its own name is what it is called until all DIEs were seen. */
static enum hp_err add_bare(struct walk *walk, const Dwarf_Die *die)
{
    Dwarf_Die declared = declaration(die);
    if (declared.cu != die->cu) /* its surroundings are not in this unit */
        return HP_OK;
    HP_TRY(hp_grow(&walk->bare, &walk->bare_capacity, walk->n_bare + 1, sizeof *walk->bare));
    walk->bare[walk->n_bare++] = (struct bare){.scope = (uint32_t)walk->unit->n_scopes,
                                               .declared = dwarf_dieoffset(&declared)};
    return HP_OK;
}

/* Index of the DIE at an offset; HP_SPAN_NONE: it is none that others are named after. */
static uint32_t find_around(const struct walk *walk, Dwarf_Off offset)
{
    size_t i = HP_BISECT(i, 0, walk->n_arounds, walk->arounds[i].offset < offset);
    return i < walk->n_arounds && walk->arounds[i].offset == offset ? (uint32_t)i : HP_SPAN_NONE;
}

/* What a DIE is called in names; `at` becomes what it is in. */
static const char *own_name(const struct walk *walk, Dwarf *dwarf, uint32_t *at)
{
    Dwarf_Die die, declared;
    const struct around *around = &walk->arounds[*at];
    *at = around->parent;
    if (!dwarf_offdie(dwarf, around->offset, &die))
        return NULL;
    if (dwarf_tag(&die) == DW_TAG_subprogram) {
        declared = declaration(&die);
        uint32_t found =
            declared.cu == die.cu ? find_around(walk, dwarf_dieoffset(&declared)) : HP_SPAN_NONE;
        *at = found == HP_SPAN_NONE ? *at : walk->arounds[found].parent;
        return dwarf_diename(&declared);
    }
    const char *name = dwarf_diename(&die);
    if (name && name[0])
        return name;
    return dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)" : UNNAMED;
}

/* "name" becomes "std::thread::name". */
static enum hp_err qualify(const struct walk *walk, Dwarf *dwarf, Dwarf_Off declared,
                           const char **function)
{
    char *name HP_CLEANUP(hp_free) = strdup(*function);
    uint32_t at = find_around(walk, declared);
    if (at == HP_SPAN_NONE || !own_name(walk, dwarf, &at))
        return HP_OK;
    for (size_t i = 0; name && at != HP_SPAN_NONE && i < HP_DIE_MAX_DEPTH; i++) {
        const char *before = own_name(walk, dwarf, &at);
        char *longer = NULL;
        if (before == UNNAMED && strcmp(name, "operator()") == 0)
            before = "{lambda}";
        if (before && asprintf(&longer, "%s::%s", before, name) < 0)
            return hp_fail_nomem();
        if (longer) {
            free(name);
            name = longer;
        }
    }
    *function = name ? hp_strings_add(walk->strings, name, strlen(name)) : NULL;
    return *function ? HP_OK : hp_fail_nomem();
}

/* A function that was inlined often is named once. */
static enum hp_err qualify_all(const struct walk *walk, Dwarf *dwarf)
{
    struct hp_map64 known HP_CLEANUP(hp_map64_fini) = {0};
    struct hp_scope *scopes = walk->unit->scopes;
    for (size_t i = 0; i < walk->n_bare; i++) {
        const struct bare *bare = &walk->bare[i];
        uint32_t same = hp_map64_get(&known, bare->declared);
        if (same != HP_MAP64_NONE) {
            scopes[bare->scope].function = scopes[same].function;
            continue;
        }
        HP_TRY(qualify(walk, dwarf, bare->declared, &scopes[bare->scope].function));
        HP_TRY(hp_map64_put(&known, bare->declared, bare->scope));
    }
    return HP_OK;
}

/* --- Scopes ----------------------------------------------------------------------------------- */

/* The linkage name, if it has one. */
static enum hp_err find_name(struct walk *walk, Dwarf_Die *die, const char **function)
{
    const char *name = linkage_name(die);
    bool has_linkage = name;
    if (!has_linkage)
        name = dwarf_diename(die);
    *function = name ? hp_strings_add(walk->strings, name, strlen(name)) : "";
    if (!*function)
        return hp_fail_nomem();
    return walk->is_qualified && !has_linkage && name ? add_bare(walk, die) : HP_OK;
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
    const char *function;
    size_t before = unit->n_spans;
    HP_TRY(hp_unit_add_spans(unit, die, depth, (uint32_t)unit->n_scopes));
    if (unit->n_spans == before)
        return HP_OK;
    HP_TRY(
        hp_grow(&unit->scopes, &unit->scopes_capacity, unit->n_scopes + 1, sizeof *unit->scopes));
    if (dwarf_entrypc(die, &entry) != 0)
        entry = unit->spans[before].low;
    HP_TRY(find_name(walk, die, &function));
    struct hp_scope scope = {
        .function = function,
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
    if (!scope.call_file)
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
    if (walk->is_qualified)
        HP_TRY(add_around(walk, die, tag, depth));
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
        return HP_OK;
    return add_scope(walk, die, depth, tag == DW_TAG_inlined_subroutine);
}

static bool is_cplusplus(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case CPLUSPLUS_17:
    case CPLUSPLUS_20: return true;
    default: return false;
    }
}

enum hp_err hp_unit_load_scopes(struct hp_debug_unit *unit, Dwarf_Die *die,
                                struct hp_strings *strings)
{
    struct walk walk HP_CLEANUP(walk_fini) = {
        .unit = unit, .strings = strings, .is_qualified = is_cplusplus(die)};
    size_t n;
    if (dwarf_getsrcfiles(die, &walk.files, &n) != 0)
        walk.files = NULL;
    walk.around[0] = walk.inside[0] = HP_SPAN_NONE;
    HP_TRY(hp_unit_walk(die, visit, &walk));
    return qualify_all(&walk, dwarf_cu_getdwarf(die->cu));
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
