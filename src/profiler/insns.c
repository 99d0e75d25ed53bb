// SPDX-License-Identifier: MIT
#include "profiler/insns.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

#define NOT_ASKED (HP_PROFILE_NONE - 1) /* in `index` */
#define TEXT_MAX  256

struct hp_result_insns {
    const struct hp_program *program; /* that `index` belongs to */
    uint32_t *index;                  /* static id -> row */
    size_t n_index, cap_index;
    struct hp_map64 at; /* place -> its first row */
    uint32_t
        *next; /* by row: the next row of the same place; 0: none (row 0 is always a first one) */
    size_t cap_next;
};

void hp_result_insns_free(struct hp_result_insns *insns)
{
    if (!insns)
        return;
    free(insns->index);
    free(insns->next);
    hp_map64_fini(&insns->at);
    free(insns);
}

/* The table by static id of this program, grown to the program's current size. */
static enum hp_err cover(struct hp_result *r, const struct hp_program *program)
{
    if (!r->insns && !(r->insns = calloc(1, sizeof *r->insns)))
        return hp_fail_nomem();
    struct hp_result_insns *insns = r->insns;
    if (insns->program != program)
        insns->n_index = 0;
    insns->program = program;
    size_t n = hp_program_n_insns(program);
    HP_TRY(hp_grow(&insns->index, &insns->cap_index, n, sizeof *insns->index));
    for (; insns->n_index < n; insns->n_index++)
        insns->index[insns->n_index] = NOT_ASKED;
    return HP_OK;
}

/* --- Describing one --------------------------------------------------------------------------- */

/* The module of an address whose code was never executed: the latest module observed to contain it.
 * Otherwise, as a module may extend further than observed, the file with the highest base below the
 * address. HP_NO_ID: none. */
static uint32_t module_at(const struct hp_code *code, uint64_t address)
{
    uint32_t below = HP_NO_ID;
    for (uint32_t i = hp_code_n_modules(code); i-- > 0;) {
        const struct hp_module *module = hp_code_module(code, i);
        if (module->path[0] != '/')
            continue;
        if (address >= module->low && address < module->high)
            return i;
        if (module->base <= address &&
            (below == HP_NO_ID || module->base > hp_code_module(code, below)->base))
            below = i;
    }
    return below;
}

static enum hp_err find_function(struct hp_result *r, const struct hp_static *insn,
                                 struct hp_place place, uint32_t *index)
{
    struct hp_symbols *symbols = hp_functions_symbols(r->functions, place.module);
    bool named = symbols && hp_symbols_find(symbols, place.offset);
    uint32_t id = named || insn->block == HP_NO_ID
                      ? hp_functions_at(r->functions, place.module, place.offset)
                      : hp_functions_settle(r->functions, insn->block);
    return hp_result_function(r, id, index);
}

static enum hp_err set_source(struct hp_result *r, struct hp_place place, struct hp_pinsn *row)
{
    struct hp_symbols *symbols = hp_functions_symbols(r->functions, place.module);
    struct hp_source source;
    if (!symbols || hp_functions_lines_wanted(r->functions) != HP_LINES_ALL ||
        hp_symbols_source(symbols, place.offset, &source) != HP_OK)
        return HP_OK;
    row->line = source.line;
    row->file = hp_profile_string(r->profile, source.file);
    row->inlined = hp_profile_string(r->profile, source.inlined);
    return row->file && row->inlined ? HP_OK : hp_fail_nomem();
}

static enum hp_err add_row(struct hp_result *r, const struct hp_static *insn, struct hp_place place,
                           const char *text, uint32_t version)
{
    uint32_t function;
    struct hp_pinsn *row;
    HP_TRY(find_function(r, insn, place, &function));
    HP_TRY(hp_profile_add_insn(r->profile, &row));
    row->place = place;
    row->function = function;
    row->version = version;
    row->length = (uint32_t)(insn->end - insn->address);
    row->flow = insn->flow;
    row->op = insn->op;
    row->text = text;
    return set_source(r, place, row);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* The row of this place and code: found among those of the place, or appended. */
static enum hp_err row_of(struct hp_result *r, const struct hp_static *insn, struct hp_place place,
                          const char *text, uint32_t *index)
{
    struct hp_result_insns *insns = r->insns;
    uint64_t key = (uint64_t)place.module << 48 ^ place.offset;
    uint32_t row = hp_map64_get(&insns->at, key), last = HP_PROFILE_NONE, version = 0;
    uint32_t fresh = (uint32_t)r->profile->n_insns;
    while (row != HP_MAP64_NONE) {
        const struct hp_pinsn *there = &r->profile->insns[row];
        bool here = there->place.module == place.module && there->place.offset == place.offset;
        *index = row;
        if (here && there->text == text && there->length == insn->end - insn->address)
            return HP_OK;
        version += here;
        last = row;
        row = insns->next[row] ? insns->next[row] : HP_MAP64_NONE;
    }
    HP_TRY(hp_grow(&insns->next, &insns->cap_next, (size_t)fresh + 1, sizeof *insns->next));
    HP_TRY(add_row(r, insn, place, text, version));
    insns->next[fresh] = 0;
    *index = fresh;
    if (last == HP_PROFILE_NONE)
        return hp_map64_put(&insns->at, key, fresh);
    insns->next[last] = fresh;
    return HP_OK;
}

enum hp_err hp_result_insn(struct hp_result *result, struct hp_program *program, uint32_t insn,
                           uint32_t *index)
{
    char text[TEXT_MAX];
    HP_TRY(hp_result_code(result));
    HP_TRY(cover(result, program));
    *index = result->insns->index[insn];
    if (*index != NOT_ASKED)
        return HP_OK;
    const struct hp_static *it = &hp_program_insns(program)[insn];
    uint32_t module = it->block == HP_NO_ID ? module_at(result->code, it->address)
                                            : hp_code_block(result->code, it->block)->module;
    *index = HP_PROFILE_NONE;
    if (module != HP_NO_ID) {
        struct hp_place place = hp_result_place(result, module, it->address);
        hp_program_text_at(program, insn, place.offset, text, sizeof text);
        const char *kept = hp_profile_string(result->profile, text);
        if (!kept)
            return hp_fail_nomem();
        HP_TRY(row_of(result, it, place, kept, index));
    }
    result->insns->index[insn] = *index;
    return HP_OK;
}
