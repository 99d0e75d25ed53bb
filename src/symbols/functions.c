// SPDX-License-Identifier: MIT
#include "symbols/functions.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>

/* Alpha functions load their global pointer first; callers that share it enter after that. */
#define ALPHA_GP_LOAD 8

#define NOT_ASKED (UINT32_MAX - 1) /* in `of_block` */

struct module_symbols {
    struct hp_symbols *symbols;
    bool tried;
    bool lined;      /* its lines were read ahead */
    bool has_lowest; /* block without a symbol, */
    uint64_t lowest; /* and where */
};

struct hp_functions {
    const struct hp_code *code;
    enum hp_line_detail detail;
    struct module_symbols *modules;
    size_t cap_modules;
    struct hp_function *functions;
    uint32_t n_functions;
    size_t cap_functions;
    struct hp_map64 at; /* module << 48 | offset -> function */
    uint32_t *of_block; /* by block id */
    size_t n_of_block, cap_of_block;
    struct hp_function *called; /* those without a symbol, sorted; see sort_called() */
    size_t n_called, cap_called;
    uint32_t n_sorted_of; /* number of functions when it was sorted */
    uint32_t n_ahead;     /* blocks looked at by hp_functions_look_ahead() */
    size_t n_settled;     /* blocks looked at by settle_lowest() */
};

enum hp_err hp_functions_new(const struct hp_code *code, struct hp_functions **functions)
{
    *functions = calloc(1, sizeof **functions);
    if (!*functions)
        return hp_fail_nomem();
    (*functions)->code = code;
    return HP_OK;
}

void hp_functions_free(struct hp_functions *functions)
{
    if (!functions)
        return;
    for (size_t i = 0; i < functions->cap_modules; i++)
        hp_symbols_close(functions->modules[i].symbols);
    free(functions->modules);
    free(functions->functions);
    free(functions->of_block);
    free(functions->called);
    hp_map64_fini(&functions->at);
    free(functions);
}

uint32_t hp_functions_count(const struct hp_functions *functions)
{
    return functions->n_functions;
}

const struct hp_function *hp_functions_get(const struct hp_functions *functions, uint32_t id)
{
    return &functions->functions[id];
}

struct hp_symbols *hp_functions_symbols(struct hp_functions *f, uint32_t module)
{
    if (hp_grow(&f->modules, &f->cap_modules, (size_t)module + 1, sizeof *f->modules) != HP_OK)
        return NULL;
    struct module_symbols *m = &f->modules[module];
    if (!m->tried) {
        m->tried = true;
        const struct hp_module *info = hp_code_module(f->code, module);
        /* A file that is gone or has changed has no symbols for us. */
        if (info->path[0] != '/' ||
            hp_symbols_open(info->path, info->build_id, &m->symbols) != HP_OK)
            m->symbols = NULL;
    }
    return m->symbols;
}

/* --- Lines ------------------------------------------------------------------------------------ */

void hp_functions_want_lines(struct hp_functions *f, enum hp_line_detail detail)
{
    f->detail = detail;
}

enum hp_line_detail hp_functions_lines_wanted(const struct hp_functions *f)
{
    return f->detail;
}

void hp_functions_line(struct hp_functions *f, uint32_t id, const char **file, uint32_t *line)
{
    const struct hp_function *function = &f->functions[id];
    struct hp_symbols *symbols = hp_functions_symbols(f, function->module);
    struct hp_source source = {.file = ""};
    *file = "";
    *line = 0;
    if (!symbols || f->detail == HP_LINES_NONE)
        return;
    if (f->detail == HP_LINES_FUNCTIONS) {
        hp_symbols_line(symbols, function->offset, file, line);
    } else if (hp_symbols_source(symbols, function->offset, &source) == HP_OK) {
        *file = source.file;
        *line = source.line;
    }
}

/* --- By place --------------------------------------------------------------------------------- */

static uint64_t place_key(uint32_t module, uint64_t offset)
{
    return (uint64_t)module << 48 ^ offset;
}

static uint32_t add(struct hp_functions *f, uint32_t module, uint64_t offset,
                    const struct hp_symbol *symbol)
{
    uint32_t known = hp_map64_get(&f->at, place_key(module, offset));
    if (known != HP_MAP64_NONE)
        return known;
    if (hp_grow(&f->functions, &f->cap_functions, (size_t)f->n_functions + 1,
                sizeof *f->functions) != HP_OK ||
        hp_map64_put(&f->at, place_key(module, offset), f->n_functions) != HP_OK)
        return HP_NO_ID;
    f->functions[f->n_functions] = (struct hp_function){
        .module = module, .offset = offset, .size = symbol ? symbol->size : 0, .symbol = symbol};
    return f->n_functions++;
}

static uint64_t offset_of(const struct hp_functions *f, const struct hp_block *block)
{
    return block->start - hp_code_module(f->code, block->module)->base;
}

/* By symbol only; HP_NO_ID: none. */
static uint32_t look_up(struct hp_functions *f, uint32_t id)
{
    const struct hp_block *block = hp_code_block(f->code, id);
    struct hp_symbols *symbols = hp_functions_symbols(f, block->module);
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, offset_of(f, block)) : NULL;
    return symbol ? add(f, block->module, symbol->offset, symbol) : HP_NO_ID;
}

uint32_t hp_functions_of_block(struct hp_functions *f, uint32_t block)
{
    if (block >= f->n_of_block) {
        size_t n = hp_code_n_blocks(f->code);
        if (hp_grow(&f->of_block, &f->cap_of_block, n, sizeof *f->of_block) != HP_OK)
            return HP_NO_ID;
        for (; f->n_of_block < n; f->n_of_block++)
            f->of_block[f->n_of_block] = NOT_ASKED;
    }
    if (f->of_block[block] == NOT_ASKED)
        f->of_block[block] = look_up(f, block);
    return f->of_block[block];
}

/* Reads the lines of the function's module, if that was not done. */
static void read_lines(struct hp_functions *f, uint32_t id)
{
    const char *file;
    uint32_t line, module = f->functions[id].module;
    if (module >= f->cap_modules || f->modules[module].lined)
        return;
    f->modules[module].lined = true;
    hp_functions_line(f, id, &file, &line);
}

bool hp_functions_look_ahead(struct hp_functions *f, uint32_t n)
{
    uint32_t end = hp_code_n_blocks(f->code);
    for (; n && f->n_ahead < end; n--) {
        uint32_t id = hp_functions_of_block(f, f->n_ahead++);
        if (id != HP_NO_ID)
            read_lines(f, id);
    }
    return f->n_ahead < end;
}

uint32_t hp_functions_enter(struct hp_functions *f, uint32_t block)
{
    uint32_t id = hp_functions_of_block(f, block);
    if (id != HP_NO_ID || block >= f->n_of_block) /* no memory */
        return id;
    const struct hp_block *b = hp_code_block(f->code, block);
    return f->of_block[block] = add(f, b->module, offset_of(f, b), NULL);
}

bool hp_functions_is_entry(struct hp_functions *f, uint32_t block)
{
    uint32_t id = hp_functions_of_block(f, block);
    if (id == HP_NO_ID)
        return false;
    uint64_t inside = offset_of(f, hp_code_block(f->code, block)) - f->functions[id].offset;
    return inside == 0 || (inside == ALPHA_GP_LOAD && hp_code_arch(f->code) == HP_ARCH_ALPHA);
}

/* --- Code without symbols --------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct hp_function *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Lists the functions found by calls, sorted by place. */
static bool sort_called(struct hp_functions *f)
{
    if (f->n_sorted_of == f->n_functions)
        return true;
    if (hp_grow(&f->called, &f->cap_called, f->n_functions, sizeof *f->called) != HP_OK)
        return false;
    f->n_called = 0;
    for (uint32_t i = 0; i < f->n_functions; i++)
        if (!f->functions[i].symbol)
            f->called[f->n_called++] = f->functions[i];
    qsort(f->called, f->n_called, sizeof *f->called, by_place);
    f->n_sorted_of = f->n_functions;
    return true;
}

/* The last of these at or before a place of a module; NULL: none. */
static const struct hp_function *called_before(const struct hp_functions *f, uint32_t module,
                                               uint64_t offset)
{
    struct hp_function here = {.module = module, .offset = offset};
    size_t behind = HP_BISECT(i, 0, f->n_called, by_place(&f->called[i], &here) <= 0);
    return behind && f->called[behind - 1].module == module ? &f->called[behind - 1] : NULL;
}

/* Makes a function at the lowest block without a symbol of each module, where no function found by
 * a call is before it. So functions do not depend on the order of blocks. */
static void settle_lowest(struct hp_functions *f)
{
    size_t n = hp_code_n_blocks(f->code);
    if (f->n_settled == n)
        return;
    f->n_settled = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_block *block = hp_code_block(f->code, i);
        if (hp_functions_of_block(f, i) != HP_NO_ID || block->module >= f->cap_modules)
            continue;
        struct module_symbols *m = &f->modules[block->module];
        uint64_t offset = offset_of(f, block);
        m->lowest = m->has_lowest && m->lowest < offset ? m->lowest : offset;
        m->has_lowest = true;
    }
    for (uint32_t i = 0; i < f->cap_modules && sort_called(f); i++)
        if (f->modules[i].has_lowest && !called_before(f, i, f->modules[i].lowest))
            add(f, i, f->modules[i].lowest, NULL);
}

uint32_t hp_functions_settle(struct hp_functions *f, uint32_t block)
{
    uint32_t id = hp_functions_of_block(f, block);
    if (id != HP_NO_ID || block >= f->n_of_block)
        return id;
    settle_lowest(f);
    if (!sort_called(f))
        return id;
    const struct hp_block *b = hp_code_block(f->code, block);
    uint64_t offset = offset_of(f, b);
    const struct hp_function *called = called_before(f, b->module, offset);
    return f->of_block[block] = add(f, b->module, called ? called->offset : offset, NULL);
}

uint32_t hp_functions_at(struct hp_functions *f, uint32_t module, uint64_t offset)
{
    struct hp_symbols *symbols = hp_functions_symbols(f, module);
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, offset) : NULL;
    if (symbol)
        return add(f, module, symbol->offset, symbol);
    const struct hp_function *called = sort_called(f) ? called_before(f, module, offset) : NULL;
    return called ? add(f, module, called->offset, NULL) : HP_NO_ID;
}
