// SPDX-License-Identifier: MIT
/*
 * The inside of the board: counters (board.c), paths (board_paths.c), names (board_names.c).
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

/* Enters a row where it belongs; the least goes when there is no room. */
void hp_board_offer(struct hp_board_rows *rows, const struct hp_board_row *row);

/* The heaviest paths since the last look, or the start. */
enum hp_err hp_board_look_paths(struct hp_board *board, bool since);
enum hp_err hp_board_reset_paths(struct hp_board *board);
void hp_board_fini_paths(struct hp_board *board);

/* Finds the names of the rows. */
enum hp_err hp_board_name(struct hp_board *board, enum hp_board_kind kind,
                          struct hp_board_row *row);
void hp_board_fini_names(struct hp_board *board);

#endif
