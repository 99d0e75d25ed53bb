// SPDX-License-Identifier: MIT
#include "live/board_impl.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define ENDS_MAX 4096 /* paths whose ends are remembered */

uint64_t hp_board_offset(const struct hp_board *b, uint32_t block, uint64_t address)
{
    return address - hp_code_module(b->code, hp_code_block(b->code, block)->module)->base;
}

void hp_board_find_line(struct hp_board *b, uint32_t module, uint64_t offset, const char **file,
                        uint32_t *line)
{
    struct hp_symbols *symbols = hp_functions_symbols(b->functions, module);
    *file = "";
    *line = 0;
    if (symbols)
        hp_symbols_line(symbols, offset, file, line);
}

/* --- Ends of paths ---------------------------------------------------------------------------- */

static enum hp_err remember_end(struct hp_board *b, const struct hp_path *path, uint64_t hash,
                                uint32_t block)
{
    if (b->n_ends == ENDS_MAX) {
        hp_map64_fini(&b->ends_of);
        b->n_ends = 0;
    }
    HP_TRY(hp_grow(&b->ends, &b->cap_ends, b->n_ends + 1, sizeof *b->ends));
    b->ends[b->n_ends] = (struct hp_board_end){.path = *path, .block = block};
    return hp_map64_put(&b->ends_of, hash, (uint32_t)b->n_ends++);
}

/* The last block of a path; HP_NO_ID: not known. The targets of paths by address are not at hand:
 * those are not followed. */
static enum hp_err find_end(struct hp_board *b, const struct hp_path *path, uint32_t *block)
{
    uint64_t hash = hp_path_hash(path);
    uint32_t place = hp_map64_get(&b->ends_of, hash);
    const struct hp_walk_step *steps;
    if (place != HP_MAP64_NONE && hp_path_same(&b->ends[place].path, path)) {
        *block = b->ends[place].block;
        return HP_OK;
    }
    HP_TRY(b->walk ? hp_walk_cover(b->walk) : hp_walk_new(b->code, &b->ppcr, &b->walk));
    size_t n = path->n_targets ? 0 : hp_walk_path(b->walk, path, NULL, &steps);
    *block = n ? steps[n - 1].block : HP_NO_ID;
    return remember_end(b, path, hash, *block);
}

/* Where it ends in the source, if that is the same file. */
static enum hp_err name_end(struct hp_board *b, struct hp_board_row *row)
{
    uint32_t block, line;
    const char *file;
    HP_TRY(find_end(b, &row->path, &block));
    if (block == HP_NO_ID)
        return HP_OK;
    const struct hp_block *end = hp_code_block(b->code, block);
    hp_board_find_line(b, end->module, hp_board_offset(b, block, end->last), &file, &line);
    if (line && line != row->line && strcmp(file, row->file) == 0)
        row->last_line = line;
    return HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static bool is_function(enum hp_board_kind kind)
{
    return kind == HP_BOARD_FUNCTIONS || kind == HP_BOARD_CALLERS || kind == HP_BOARD_CALLEES;
}

void hp_board_name(struct hp_board *b, enum hp_board_kind kind, struct hp_board_row *row)
{
    row->name = row->path_of_module = "";
    row->file = row->located ? row->file : "";
    row->function = is_function(kind) ? row->id : HP_NO_ID;
    if (row->block < hp_code_n_blocks(b->code)) {
        row->function = hp_board_owner_of(b, row->block);
        row->offset = hp_board_offset(b, row->block, hp_code_block(b->code, row->block)->start);
    } else if (row->function != HP_NO_ID) {
        row->offset = hp_functions_get(b->functions, row->function)->offset;
    } else if (!is_function(kind)) {
        return; /* a hot spot that did not run */
    }
    if (row->module < hp_code_n_modules(b->code))
        row->path_of_module = hp_code_module(b->code, row->module)->path;
    if (row->function != HP_NO_ID && hp_functions_get(b->functions, row->function)->symbol)
        row->name = hp_functions_get(b->functions, row->function)->symbol->name;
}

enum hp_err hp_board_locate(struct hp_board *b, enum hp_board_kind kind, struct hp_board_row *row)
{
    if (row->located)
        return HP_OK;
    row->located = true;
    if (is_function(kind) ? row->id != HP_NO_ID : row->block < hp_code_n_blocks(b->code))
        hp_board_find_line(b, row->module, row->offset, &row->file, &row->line);
    return kind == HP_BOARD_PATHS ? name_end(b, row) : HP_OK;
}

void hp_board_fini_names(struct hp_board *b)
{
    hp_walk_free(b->walk);
    hp_map64_fini(&b->ends_of);
    free(b->ends);
}
