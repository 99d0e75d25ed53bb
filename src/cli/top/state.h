// SPDX-License-Identifier: MIT
/*
 * What the live view shows, and what keys make of that. Nothing here reads a terminal or looks at a
 * program.
 */
#ifndef HP_CLI_TOP_STATE_H
#define HP_CLI_TOP_STATE_H

#include "cli/top/filter.h"
#include "cli/top/keys.h"

#define HP_TOP_DEEPEST 32 /* functions opened from each other */
#define HP_TOP_TABLES  4  /* parts of a place */
#define HP_TOP_VIEWS   (1 + HP_TOP_TABLES)

/* A table: which row is chosen, and which is the first that is shown. */
struct hp_top_list {
    size_t row, first;
};

/* The whole program, or a function that was opened. */
struct hp_top_place {
    bool picks; /* it is of the function */
    struct hp_board_function function;
    unsigned view; /* 0: all parts; else the part, from 1 */
    unsigned part; /* with the chosen row, from 0 */
    struct hp_top_list lists[HP_TOP_TABLES];
    char filter[HP_TOP_FILTER_MAX];
};

struct hp_top_sorting {
    unsigned column;
    bool reverse;
};

struct hp_top_state {
    struct hp_top_place places[HP_TOP_DEEPEST]; /* the last is shown */
    unsigned depth;                             /* its index */
    struct hp_top_sorting sorting[HP_BOARD_KINDS];
    bool since, frozen, help;
    bool typing; /* the filter */
    char typed[HP_TOP_FILTER_MAX];
    size_t help_first; /* line of the help that is shown first */
};

/* What is left to do behind a key. */
enum {
    HP_TOP_DRAW = 1 << 0,
    HP_TOP_SORTS = 1 << 1, /* the rows are in another order */
    HP_TOP_ASKS = 1 << 2,  /* other rows are wanted */
    HP_TOP_ZEROES = 1 << 3,
    HP_TOP_INTERRUPTS = 1 << 4,
    HP_TOP_QUITS = 1 << 5,
};

/* The whole program, by share. */
void hp_top_begin(struct hp_top_state *state);

/* The place that is shown. */
struct hp_top_place *hp_top_place(struct hp_top_state *state);
const struct hp_top_place *hp_top_place_of(const struct hp_top_state *state);

/* The kind of a part of a place, and whether it is shown. */
enum hp_board_kind hp_top_kind(const struct hp_top_place *place, unsigned part);
bool hp_top_shows(const struct hp_top_place *place, unsigned part);

/* How many rows each part has room for, of `rows` lines for them and their titles. */
void hp_top_share_out(const struct hp_top_place *place, size_t rows, size_t room[HP_TOP_TABLES]);

/* What a key does, where the board shows these rows, and each part has room for so many. What is
 * chosen then may have to be clamped. */
unsigned hp_top_press(struct hp_top_state *state, int key, const struct hp_board *board,
                      const size_t room[HP_TOP_TABLES]);

/* Chosen rows are rows of the board, and are shown. */
void hp_top_clamp(struct hp_top_state *state, const struct hp_board *board,
                  const size_t room[HP_TOP_TABLES]);

/* The chosen row; NULL: there is none. */
const struct hp_board_row *hp_top_chosen(const struct hp_top_state *state,
                                         const struct hp_board *board);

/* Sorts the kinds that have a column of that name by it; "-NAME": the other way round. */
void hp_top_sort_by(struct hp_top_state *state, const char *name);

/* What to wish of the board; a filter is not a part of that. */
void hp_top_wish(const struct hp_top_state *state, struct hp_board_wish *wish);

#endif
