// SPDX-License-Identifier: MIT
/*
 * What is in the function that was picked: its lines (addresses, where there is no source), its
 * loops, who calls it, what it calls. Its instructions are assigned to lines once, block by block
 * as they are first executed.
 */
#include "live/board_impl.h"

#include "base/grow.h"

#include <stdlib.h>

static bool is_same(struct hp_board_function a, struct hp_board_function b)
{
    return a.id == b.id && a.module == b.module;
}

static void forget(struct hp_board *b)
{
    hp_map64_fini(&b->pieces_of);
    hp_map64_fini(&b->line_of);
    b->n_pieces = b->n_lines = 0;
    b->calls_looked = 0;
    b->calls_have_base = false;
}

static void turn_to(struct hp_board *b, struct hp_board_function function)
{
    if (b->details && is_same(b->detailed, function))
        return;
    forget(b);
    b->details = true;
    b->detailed = function;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static enum hp_err add_line(struct hp_board *b, const struct hp_board_row *line, uint32_t *place)
{
    HP_TRY(hp_grow(&b->lines, &b->cap_lines, b->n_lines + 1, sizeof *b->lines));
    *place = (uint32_t)b->n_lines;
    b->lines[b->n_lines] = *line;
    b->lines[b->n_lines++].id = *place;
    return HP_OK;
}

/* The row of a line; code without one is in a row of its block. */
static enum hp_err find_line(struct hp_board *b, uint32_t block, uint64_t address, uint32_t *place)
{
    struct hp_board_row row = {.module = hp_code_block(b->code, block)->module,
                               .block = block,
                               .offset = hp_board_offset(b, block, address),
                               .located = true};
    hp_board_find_line(b, row.module, row.offset, &row.file, &row.line);
    if (!row.line)
        row.offset = hp_board_offset(b, block, hp_code_block(b->code, block)->start);
    uint64_t key = row.line ? hp_hash64((uint64_t)(uintptr_t)row.file) + row.line : ~row.offset;
    *place = hp_map64_get(&b->line_of, key);
    if (*place != HP_MAP64_NONE && b->lines[*place].line == row.line &&
        b->lines[*place].file == row.file)
        return HP_OK;
    HP_TRY(add_line(b, &row, place));
    return hp_map64_put(&b->line_of, key, *place);
}

static enum hp_err add_instruction(struct hp_board *b, size_t first, uint32_t line)
{
    struct hp_board_piece *last = b->n_pieces > first ? &b->pieces[b->n_pieces - 1] : NULL;
    if (last && last->line == line) {
        last->insns++;
        return HP_OK;
    }
    HP_TRY(hp_grow(&b->pieces, &b->cap_pieces, b->n_pieces + 1, sizeof *b->pieces));
    if (last)
        b->pieces[b->n_pieces - 1].more = true;
    b->pieces[b->n_pieces++] = (struct hp_board_piece){.line = line, .insns = 1};
    return HP_OK;
}

/* Divides a block into lines; `*first` is its first piece. */
static enum hp_err divide(struct hp_board *b, uint32_t block, uint32_t *first)
{
    const struct hp_insn *insns;
    uint32_t line;
    *first = hp_map64_get(&b->pieces_of, block);
    if (*first != HP_MAP64_NONE)
        return HP_OK;
    *first = (uint32_t)b->n_pieces;
    HP_TRY(hp_code_insns(b->code, block, &insns));
    for (uint32_t i = 0; i < hp_code_block(b->code, block)->insns; i++) {
        HP_TRY(find_line(b, block, insns[i].address, &line));
        HP_TRY(add_instruction(b, *first, line));
    }
    return hp_map64_put(&b->pieces_of, block, *first);
}

static enum hp_err weigh_block(struct hp_board *b, uint32_t block, uint64_t count)
{
    uint32_t first;
    HP_TRY(divide(b, block, &first));
    for (const struct hp_board_piece *piece = &b->pieces[first];; piece++) {
        b->lines[piece->line].weight += count * piece->insns;
        if (!piece->more)
            return HP_OK;
    }
}

static enum hp_err offer_lines(struct hp_board *b)
{
    for (size_t i = 0; i < b->n_lines; i++)
        b->lines[i].weight = 0;
    for (uint32_t i = 0; i < b->change.n_blocks; i++)
        if (b->change.blocks[i] && hp_board_is_picked(b, i))
            HP_TRY(weigh_block(b, i, b->change.blocks[i]));
    for (size_t i = 0; i < b->n_lines; i++)
        if (b->lines[i].weight)
            HP_TRY(hp_board_offer(b, HP_BOARD_LINES, b->lines[i]));
    return HP_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Of code in no known function nobody knows who called it. */
static bool has_calls(const struct hp_board *b)
{
    return b->detailed.id != HP_NO_ID;
}

/* What is known of it before the interval; NULL: nothing, so all of the run is shown. */
static const struct hp_exact_peek_calls *calls_from(const struct hp_board *b)
{
    if (b->wish->since)
        return b->calls_have_base ? &b->calls_base : NULL;
    return b->calls_looked > 1 ? &b->calls_before : NULL;
}

static uint64_t increase(const uint64_t *now, size_t n, const uint64_t *from, size_t n_from,
                         size_t i)
{
    uint64_t known = i == n ? (from ? from[n_from] : 0) : from && i < n_from ? from[i] : 0;
    return now[i] > known ? now[i] - known : 0;
}

static enum hp_err offer_calls(struct hp_board *b, enum hp_board_kind kind, const uint64_t *now,
                               const uint64_t *from, size_t n_from)
{
    struct hp_board_rows *rows = &b->kinds[kind];
    size_t n = b->calls.n;
    rows->ever = !from;
    rows->whole = 0;
    for (size_t i = 0; i <= n; i++) {
        uint64_t count = increase(now, n, from, n_from, i);
        struct hp_board_row row = {.weight = count,
                                   .count = count,
                                   .id = i < n ? (uint32_t)i : HP_NO_ID,
                                   .module = HP_NO_ID,
                                   .block = HP_NO_ID};
        if (i < n)
            row.module = hp_functions_get(b->functions, (uint32_t)i)->module;
        rows->whole += count;
        if (count)
            HP_TRY(hp_board_offer(b, kind, row));
    }
    return HP_OK;
}

static enum hp_err peek_calls(struct hp_board *b)
{
    b->calls_looked++;
    return hp_exact_peek_calls(b->exact, b->detailed.id, !b->wish->stubs, &b->calls);
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err copy_counts(uint64_t **to, size_t *cap, const uint64_t *from, size_t n)
{
    HP_TRY(hp_grow(to, cap, n + 1, sizeof **to));
    for (size_t i = 0; i <= n; i++)
        (*to)[i] = from[i];
    return HP_OK;
}

static enum hp_err copy_calls(struct hp_exact_peek_calls *to,
                              const struct hp_exact_peek_calls *from)
{
    HP_TRY(copy_counts(&to->callers, &to->cap_callers, from->callers, from->n));
    HP_TRY(copy_counts(&to->callees, &to->cap_callees, from->callees, from->n));
    to->n = from->n;
    return HP_OK;
}

enum hp_err hp_board_look_details(struct hp_board *b, const struct hp_board_wish *wish)
{
    if (!wish->picks)
        return HP_OK;
    turn_to(b, wish->picked);
    if (!has_calls(b))
        return HP_OK;
    if (b->calls_looked)
        HP_TRY(copy_calls(&b->calls_before, &b->calls));
    return peek_calls(b);
}

enum hp_err hp_board_offer_details(struct hp_board *b)
{
    const bool *kinds = b->wish->kinds;
    turn_to(b, b->wish->picked);
    if (kinds[HP_BOARD_LINES])
        HP_TRY(offer_lines(b));
    if (b->loops && kinds[HP_BOARD_INNER])
        HP_TRY(hp_board_offer_loops(b, HP_BOARD_INNER));
    if (!has_calls(b))
        return HP_OK;
    if (!b->calls_looked)
        HP_TRY(peek_calls(b));
    const struct hp_exact_peek_calls *from = calls_from(b);
    size_t n_from = from ? from->n : 0;
    if (kinds[HP_BOARD_CALLERS])
        HP_TRY(offer_calls(b, HP_BOARD_CALLERS, b->calls.callers, from ? from->callers : NULL,
                           n_from));
    if (kinds[HP_BOARD_CALLEES])
        HP_TRY(offer_calls(b, HP_BOARD_CALLEES, b->calls.callees, from ? from->callees : NULL,
                           n_from));
    return HP_OK;
}

enum hp_err hp_board_reset_details(struct hp_board *b)
{
    b->calls_have_base = b->calls_looked > 0;
    return b->calls_have_base ? copy_calls(&b->calls_base, &b->calls) : HP_OK;
}

void hp_board_fini_details(struct hp_board *b)
{
    forget(b);
    free(b->pieces);
    free(b->lines);
    hp_exact_peek_calls_fini(&b->calls);
    hp_exact_peek_calls_fini(&b->calls_before);
    hp_exact_peek_calls_fini(&b->calls_base);
}
