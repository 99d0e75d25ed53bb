// SPDX-License-Identifier: MIT
/*
 * The inside of the board: counters (board.c), paths (board_paths.c), what is in a function
 * (board_details.c), names (board_names.c), rows in order (board_rows.c).
 */
#ifndef HP_LIVE_BOARD_IMPL_H
#define HP_LIVE_BOARD_IMPL_H

#include "live/board.h"

/* The function of a block, when `known` functions were known; 0: it was not searched yet. */
struct hp_board_owner {
    uint32_t function, known;
};

/* What was known of a thread's paths. */
struct hp_board_thread {
    uint64_t *before, *base; /* executions, by place in the complete profile */
    size_t cap_before, cap_base;
    bool over; /* it has ended, and its paths are in the board's list of those */
};

/* Where a path ends. */
struct hp_board_end {
    struct hp_path path;
    uint32_t block; /* HP_NO_ID: not known */
};

/* Instructions of a block that are of one line. */
struct hp_board_piece {
    uint32_t line; /* place in the board's lines */
    uint32_t insns;
    bool more; /* the next one is of the same block */
};

/* --- Rows (board_rows.c) ---------------------------------------------------------------------- */

/* Adds one. They are in order, and no more than HP_BOARD_ROWS, after hp_board_settle(). */
enum hp_err hp_board_add(struct hp_board_rows *rows, const struct hp_board_row *row);
void hp_board_settle(struct hp_board_rows *rows);

/* Gives a row its name, and adds it to those of the kind if the wish lets it pass. */
enum hp_err hp_board_offer(struct hp_board *board, enum hp_board_kind kind,
                           struct hp_board_row row);

/* --- Counters (board.c) ----------------------------------------------------------------------- */

/* The function of a block; HP_NO_ID: of no known one. */
uint32_t hp_board_owner_of(struct hp_board *board, uint32_t block);

/* Whether a block is of the function that was picked. */
bool hp_board_is_picked(struct hp_board *board, uint32_t block);

/* Offers the loops of the wish; with a kind HP_BOARD_INNER those of the function alone. */
enum hp_err hp_board_offer_loops(struct hp_board *board, enum hp_board_kind kind);

/* --- Paths (board_paths.c) -------------------------------------------------------------------- */

/* The heaviest paths since the last look, or the start; and offers them. */
enum hp_err hp_board_look_paths(struct hp_board *board, const struct hp_board_wish *wish);
enum hp_err hp_board_offer_paths(struct hp_board *board);
enum hp_err hp_board_reset_paths(struct hp_board *board);
void hp_board_fini_paths(struct hp_board *board);

/* --- The function that was picked (board_details.c) ------------------------------------------- */

/* Its calls until now; and offers what is in it. */
enum hp_err hp_board_look_details(struct hp_board *board, const struct hp_board_wish *wish);
enum hp_err hp_board_offer_details(struct hp_board *board);
enum hp_err hp_board_reset_details(struct hp_board *board);
void hp_board_fini_details(struct hp_board *board);

/* --- Names (board_names.c) -------------------------------------------------------------------- */

/* What the row is in. */
void hp_board_name(struct hp_board *board, enum hp_board_kind kind, struct hp_board_row *row);
void hp_board_find_line(struct hp_board *board, uint32_t module, uint64_t offset, const char **file,
                        uint32_t *line);
uint64_t hp_board_offset(const struct hp_board *board, uint32_t block, uint64_t address);
void hp_board_fini_names(struct hp_board *board);

#endif
