// SPDX-License-Identifier: MIT
/*
 * Functions of a running program: from a block of the code map to its function.
 *
 * A function is a symbol of its module. Where a module has no symbol for an address, functions are
 * found by calls: every call target becomes one, and other code belongs to the nearest one before
 * it (which is decided only after the run).
 *
 * Generated code, which is in no file, has such functions while the program runs. Its names are
 * known when the program has ended: hp_functions_name_generated().
 */
#ifndef HP_SYMBOLS_FUNCTIONS_H
#define HP_SYMBOLS_FUNCTIONS_H

#include "hotpath/code.h"
#include "symbols/generated.h"
#include "symbols/symbols.h"

struct hp_function {
    uint32_t module;
    uint64_t offset;                /* in the module */
    uint64_t size;                  /* 0: not known */
    const struct hp_symbol *symbol; /* NULL: found by a call */
};

struct hp_functions;

/* Keeps `code`. Symbol files are opened when first needed. */
enum hp_err hp_functions_new(const struct hp_code *code, struct hp_functions **functions);
void hp_functions_free(struct hp_functions *functions);

uint32_t hp_functions_count(const struct hp_functions *functions);
const struct hp_function *hp_functions_get(const struct hp_functions *functions, uint32_t id);

/* The function of a block by its symbol; HP_NO_ID: no symbol, or no memory. Cached. */
uint32_t hp_functions_of_block(struct hp_functions *functions, uint32_t block);

/* Does that for some more blocks, at most `n`, each once. True: there are more. */
bool hp_functions_look_ahead(struct hp_functions *functions, uint32_t n);

/* The function entered by a call of this block: by symbol, else one is created. HP_NO_ID only when
 * there is no memory. */
uint32_t hp_functions_enter(struct hp_functions *functions, uint32_t block);

/* Whether the block is the first of a function: of a symbol, or created by hp_functions_enter(). On
 * Alpha also the one after the two instructions that load the global pointer. */
bool hp_functions_is_entry(struct hp_functions *functions, uint32_t block);

/* After the run: like hp_functions_of_block(), and for code without a symbol the nearest function
 * without one before it in the module; if there is none, one is created at the module's first block
 * without a symbol. */
uint32_t hp_functions_settle(struct hp_functions *functions, uint32_t block);

/* After the run, for any place: by symbol, else the nearest function without one before it in the
 * module; HP_NO_ID: none. */
uint32_t hp_functions_at(struct hp_functions *functions, uint32_t module, uint64_t offset);

/* Whether a module with this path holds generated code: "[anon]" or a file in memory. */
bool hp_functions_is_generated(const char *path);

/* Whether any block is generated code. */
bool hp_functions_has_generated(const struct hp_functions *functions);

/*
 * After the run, once: a piece of generated code with a name is a function, whatever in it was
 * called, and all code of an "[anon]" module without a name is one, named like the module. `names`
 * NULL: there are none. From then on the functions above are these. `*doubtful`: blocks of which it
 * is not sure which code of that place they are. HP_ERR_NOMEM.
 */
enum hp_err hp_functions_name_generated(struct hp_functions *functions,
                                        const struct hp_generated *names, uint64_t *doubtful);

/* What a function has become then: mostly itself. HP_NO_ID stays that. */
uint32_t hp_functions_final(const struct hp_functions *functions, uint32_t id);

/* Whether any has become another. */
bool hp_functions_renamed(const struct hp_functions *functions);

/* HP_LINES_ALL by default. */
void hp_functions_want_lines(struct hp_functions *functions, enum hp_line_detail detail);
enum hp_line_detail hp_functions_lines_wanted(const struct hp_functions *functions);

/* Where a function begins; "" and 0 where that is unknown or not wanted. The text lives as long as
 * `functions`. */
void hp_functions_line(struct hp_functions *functions, uint32_t id, const char **file,
                       uint32_t *line);

/* The open symbols of a module; NULL: none. */
struct hp_symbols *hp_functions_symbols(struct hp_functions *functions, uint32_t module);

#endif
