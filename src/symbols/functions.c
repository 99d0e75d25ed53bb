// SPDX-License-Identifier: MIT
#include "symbols/functions.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

/* Alpha functions load their global pointer first; callers that share it enter after that. */
#define ALPHA_GP_LOAD 8

#define NOT_ASKED (UINT32_MAX - 1) /* in `of_block` */

struct module_symbols {
    struct hp_symbols *symbols;
    bool tried;
    bool lined;      /* its lines were read ahead */
    bool has_lowest; /* block without a symbol, */
    uint64_t lowest; /* and where */
    uint32_t region; /* function of generated code without a name, + 1; 0: none */
};

/* What hp_functions_name_generated() has found. */
struct naming {
    bool done;
    const struct hp_generated *names; /* NULL: none */
    uint32_t *final;                  /* by function: what it has become */
    size_t n_final, cap_final;
    uint32_t *of_code;     /* by hp_generated_piece.code: its function + 1; 0: none yet */
    struct hp_map64 taken; /* place_key() of the functions made here */
    struct hp_symbol **symbols;
    size_t n_symbols, cap_symbols;
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
    struct naming naming;
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
    for (size_t i = 0; i < functions->naming.n_symbols; i++)
        free(functions->naming.symbols[i]);
    free(functions->naming.symbols);
    free(functions->naming.final);
    free(functions->naming.of_code);
    hp_map64_fini(&functions->naming.taken);
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

/* Even if there is one at this place. */
static uint32_t add_another(struct hp_functions *f, uint32_t module, uint64_t offset,
                            const struct hp_symbol *symbol)
{
    if (hp_grow(&f->functions, &f->cap_functions, (size_t)f->n_functions + 1,
                sizeof *f->functions) != HP_OK ||
        hp_map64_put(&f->at, place_key(module, offset), f->n_functions) != HP_OK)
        return HP_NO_ID;
    f->functions[f->n_functions] = (struct hp_function){
        .module = module, .offset = offset, .size = symbol ? symbol->size : 0, .symbol = symbol};
    return f->n_functions++;
}

static uint32_t add(struct hp_functions *f, uint32_t module, uint64_t offset,
                    const struct hp_symbol *symbol)
{
    uint32_t known = hp_map64_get(&f->at, place_key(module, offset));
    return known != HP_MAP64_NONE ? known : add_another(f, module, offset, symbol);
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

bool hp_functions_is_generated(const char *path)
{
    return strncmp(path, "[anon", 5) == 0 || strncmp(path, "/memfd:", 7) == 0;
}

static bool is_generated(const struct hp_functions *f, uint32_t module)
{
    return hp_functions_is_generated(hp_code_module(f->code, module)->path);
}

/* Its code without a name is one function. Files in memory may be programs or libraries. */
static bool is_region(const struct hp_functions *f, uint32_t module)
{
    return hp_code_module(f->code, module)->path[0] == '[' && is_generated(f, module);
}

bool hp_functions_has_generated(const struct hp_functions *f)
{
    uint32_t n = hp_code_n_blocks(f->code), n_modules = hp_code_n_modules(f->code);
    bool any = false;
    for (uint32_t i = 0; i < n_modules && !any; i++)
        any = is_generated(f, i);
    if (!any)
        return false;
    const struct hp_block *blocks = hp_code_blocks(f->code);
    for (uint32_t i = 0; i < n; i++)
        if (is_generated(f, blocks[i].module))
            return true;
    return false;
}

uint32_t hp_functions_enter(struct hp_functions *f, uint32_t block)
{
    uint32_t id = hp_functions_of_block(f, block);
    if (id != HP_NO_ID || block >= f->n_of_block) /* no memory */
        return id;
    const struct hp_block *b = hp_code_block(f->code, block);
    /* Other code at the same place may be another function: its name will tell. */
    bool other = hp_code_block_before(f->code, block) != HP_NO_ID && is_generated(f, b->module);
    return f->of_block[block] = other ? add_another(f, b->module, offset_of(f, b), NULL)
                                      : add(f, b->module, offset_of(f, b), NULL);
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
        if (!f->functions[i].symbol && hp_functions_final(f, i) == i)
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

/* --- Names of generated code ------------------------------------------------------------------ */

/* The first module with this path, which may be of another process. A profile joins them. */
static uint32_t first_alike(const struct hp_functions *f, uint32_t module)
{
    const char *path = hp_code_module(f->code, module)->path;
    uint32_t i = 0;
    while (i < module && strcmp(hp_code_module(f->code, i)->path, path) != 0)
        i++;
    return i;
}

/* A profile joins functions by place: one that begins where another did is behind it. */
static uint64_t free_place(struct hp_functions *f, uint32_t module, uint64_t offset)
{
    while (hp_map64_get(&f->naming.taken, place_key(module, offset)) != HP_MAP64_NONE)
        offset++;
    return offset;
}

static uint32_t add_final(struct hp_functions *f, uint32_t module, uint64_t offset,
                          struct hp_symbol *symbol)
{
    uint32_t alike = first_alike(f, module);
    symbol->offset = offset = free_place(f, alike, offset);
    if (hp_map64_put(&f->naming.taken, place_key(alike, offset), 0) != HP_OK)
        return HP_NO_ID;
    return add_another(f, module, offset, symbol);
}

static struct hp_symbol *new_symbol(struct hp_functions *f, const char *name, uint64_t size)
{
    struct naming *naming = &f->naming;
    struct hp_symbol *symbol = calloc(1, sizeof *symbol);
    if (!symbol || hp_grow(&naming->symbols, &naming->cap_symbols, naming->n_symbols + 1,
                           sizeof *naming->symbols) != HP_OK) {
        free(symbol);
        return NULL;
    }
    *symbol = (struct hp_symbol){.size = size, .linkage = name, .name = name};
    return naming->symbols[naming->n_symbols++] = symbol;
}

/* The function of a piece: it begins in the module where it was seen first. */
static uint32_t function_of_piece(struct hp_functions *f, const struct hp_generated_piece *piece,
                                  uint32_t module)
{
    uint32_t *known = &f->naming.of_code[piece->code];
    uint64_t base = hp_code_module(f->code, module)->base;
    if (*known)
        return *known - 1;
    struct hp_symbol *symbol = new_symbol(f, piece->name, piece->size);
    uint32_t id = symbol
                      ? add_final(f, module, piece->start > base ? piece->start - base : 0, symbol)
                      : HP_NO_ID;
    *known = id + 1; /* 0: no memory */
    return id;
}

static uint32_t named_at(struct hp_functions *f, uint32_t module, uint64_t offset)
{
    const struct hp_generated_piece *piece = NULL;
    uint64_t address = hp_code_module(f->code, module)->base + offset;
    bool doubt;
    if (f->naming.names)
        piece = hp_generated_find(f->naming.names, address, NULL, 0, &doubt);
    if (piece)
        return function_of_piece(f, piece, module);
    return module < f->cap_modules ? f->modules[module].region - 1 : HP_NO_ID;
}

/* The block's piece has a function now; of blocks without, the lowest one of each module is
 * known. */
static enum hp_err name_block(struct hp_functions *f, uint32_t id, uint32_t *found,
                              uint64_t *doubtful)
{
    const struct hp_block *block = hp_code_block(f->code, id);
    const struct hp_generated_piece *piece = NULL;
    bool doubt = false;
    if (f->naming.names)
        piece = hp_generated_find(f->naming.names, block->start, hp_code_bytes(f->code, block),
                                  block->end - block->start, &doubt);
    *doubtful += doubt;
    *found = HP_NO_ID;
    if (piece) {
        *found = function_of_piece(f, piece, block->module);
        return *found == HP_NO_ID ? hp_fail_nomem() : HP_OK;
    }
    HP_TRY(hp_grow(&f->modules, &f->cap_modules, (size_t)block->module + 1, sizeof *f->modules));
    struct module_symbols *m = &f->modules[block->module];
    uint64_t offset = offset_of(f, block);
    m->lowest = m->has_lowest && m->lowest < offset ? m->lowest : offset;
    m->has_lowest = true;
    return HP_OK;
}

/* All code without a name of an "[anon]" module is one function. */
static enum hp_err name_regions(struct hp_functions *f)
{
    for (uint32_t i = 0; i < f->cap_modules; i++) {
        struct module_symbols *m = &f->modules[i];
        bool any = m->has_lowest;
        m->has_lowest = false; /* of the others settle_lowest() finds it */
        if (!any || !is_region(f, i))
            continue;
        struct module_symbols *first = &f->modules[first_alike(f, i)];
        m->region = first->region;
        if (m->region)
            continue;
        struct hp_symbol *symbol = new_symbol(f, hp_code_module(f->code, i)->path, 0);
        uint32_t id = symbol ? add_final(f, i, m->lowest, symbol) : HP_NO_ID;
        if (id == HP_NO_ID)
            return hp_fail_nomem();
        m->region = first->region = id + 1;
    }
    return HP_OK;
}

/* `found`: by block; HP_NO_ID: no name. */
static enum hp_err set_final(struct hp_functions *f, const uint32_t *found)
{
    struct naming *naming = &f->naming;
    HP_TRY(hp_grow(&naming->final, &naming->cap_final, f->n_functions, sizeof *naming->final));
    for (uint32_t i = 0; i < f->n_functions; i++)
        naming->final[i] = i;
    naming->n_final = f->n_functions;
    for (uint32_t i = 0; i < hp_code_n_blocks(f->code); i++) {
        uint32_t module = hp_code_block(f->code, i)->module, was = f->of_block[i], is = found[i];
        if (!is_generated(f, module))
            continue;
        if (is == HP_NO_ID && is_region(f, module))
            is = f->modules[module].region - 1;
        if (is == HP_NO_ID)
            continue;
        if (was != HP_NO_ID)
            naming->final[was] = is;
        f->of_block[i] = is;
    }
    return HP_OK;
}

enum hp_err hp_functions_name_generated(struct hp_functions *f, const struct hp_generated *names,
                                        uint64_t *doubtful)
{
    uint32_t n = hp_code_n_blocks(f->code), *found;
    *doubtful = 0;
    if (f->naming.done || !hp_functions_has_generated(f))
        return HP_OK;
    f->naming.names = names;
    if (names)
        HP_TRY(hp_new(&f->naming.of_code, hp_generated_codes(names), sizeof(uint32_t)));
    HP_TRY(hp_new(&found, n, sizeof *found));
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; i < n && err == HP_OK; i++) {
        found[i] = hp_functions_of_block(f, i);
        if (is_generated(f, hp_code_block(f->code, i)->module))
            err = name_block(f, i, &found[i], doubtful);
    }
    if (err == HP_OK && f->n_of_block < n)
        err = hp_fail_nomem();
    if (err == HP_OK)
        err = name_regions(f);
    if (err == HP_OK)
        err = set_final(f, found);
    free(found);
    f->naming.done = err == HP_OK;
    return err;
}

uint32_t hp_functions_final(const struct hp_functions *f, uint32_t id)
{
    return id < f->naming.n_final ? f->naming.final[id] : id;
}

bool hp_functions_renamed(const struct hp_functions *f)
{
    return f->naming.done;
}

uint32_t hp_functions_at(struct hp_functions *f, uint32_t module, uint64_t offset)
{
    struct hp_symbols *symbols = hp_functions_symbols(f, module);
    const struct hp_symbol *symbol = symbols ? hp_symbols_find(symbols, offset) : NULL;
    if (symbol)
        return add(f, module, symbol->offset, symbol);
    if (f->naming.done && is_generated(f, module))
        return named_at(f, module, offset);
    const struct hp_function *called = sort_called(f) ? called_before(f, module, offset) : NULL;
    return called ? add(f, module, called->offset, NULL) : HP_NO_ID;
}
