// SPDX-License-Identifier: MIT
#include "cli/top/columns.h"

#include "base/base.h"
#include "report/tables.h"
#include "text/number.h"

/* The file and line may be asked for of all. */
#define OF_PLACE                                                                                   \
    {"", "module", HP_TOP_MODULE, 0, 0}, {"", "file", HP_TOP_FILE, 0, 0},                          \
    {                                                                                              \
        "", "line", HP_TOP_LINE, 0, 0                                                              \
    }

const struct hp_top_column hp_top_columns[HP_BOARD_KINDS][HP_TOP_COLUMNS_MAX + 1] = {
    [HP_BOARD_FUNCTIONS] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                            {"", NULL, HP_TOP_BAR, 10, 1},
                            {"calls", "calls", HP_TOP_COUNT, 8, 3},
                            {"function", "name", HP_TOP_NAME, 0, 0},
                            {"where", NULL, HP_TOP_WHERE, 22, 2},
                            {"", "self", HP_TOP_WEIGHT, 0, 0},
                            OF_PLACE},
    [HP_BOARD_PATHS] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                        {"", NULL, HP_TOP_BAR, 6, 1},
                        {"times", "count", HP_TOP_COUNT, 8, 4},
                        {"path in", "function", HP_TOP_NAME, 0, 0},
                        {"from→to", NULL, HP_TOP_WHERE, 20, 3},
                        {"branches", "length", HP_TOP_BRANCHES, 14, 2},
                        {"", "instructions", HP_TOP_WEIGHT, 0, 0},
                        OF_PLACE},
    [HP_BOARD_LOOPS] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                        {"", NULL, HP_TOP_BAR, 6, 1},
                        {"iter.", "iterations", HP_TOP_COUNT, 8, 3},
                        {"trips", "mean", HP_TOP_TRIPS, 7, 4},
                        {"loop in", "function", HP_TOP_NAME, 0, 0},
                        {"where", NULL, HP_TOP_WHERE, 22, 2},
                        {"", "executions", HP_TOP_TIMES, 0, 0},
                        {"", "self", HP_TOP_WEIGHT, 0, 0},
                        {"", "depth", HP_TOP_DEPTH, 0, 0},
                        OF_PLACE},
    [HP_BOARD_HOTSPOTS] = {{"#", "id", HP_TOP_NUMBER, 3, 0},
                           {"share", "share", HP_TOP_SHARE, 6, 0},
                           {"", NULL, HP_TOP_BAR, 6, 1},
                           {"blocks", "blocks", HP_TOP_SIZE, 7, 4},
                           {"found at", "detected", HP_TOP_FOUND, 9, 3},
                           {"hottest in", "function", HP_TOP_NAME, 0, 0},
                           {"where", NULL, HP_TOP_WHERE, 22, 2},
                           OF_PLACE},
    [HP_BOARD_LINES] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                        {"of it", "part", HP_TOP_OF_IT, 6, 2},
                        {"", NULL, HP_TOP_BAR, 6, 1},
                        {"line", "line", HP_TOP_WHERE, 22, 0},
                        {"source", NULL, HP_TOP_SOURCE, 0, 0},
                        {"", "instructions", HP_TOP_WEIGHT, 0, 0},
                        {"", "file", HP_TOP_FILE, 0, 0}},
    [HP_BOARD_INNER] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                        {"of it", "part", HP_TOP_OF_IT, 6, 2},
                        {"", NULL, HP_TOP_BAR, 6, 1},
                        {"iter.", "iterations", HP_TOP_COUNT, 8, 3},
                        {"trips", "mean", HP_TOP_TRIPS, 7, 4},
                        {"its loop", NULL, HP_TOP_WHERE, 0, 0},
                        {"", "executions", HP_TOP_TIMES, 0, 0},
                        {"", "self", HP_TOP_WEIGHT, 0, 0},
                        {"", "depth", HP_TOP_DEPTH, 0, 0},
                        OF_PLACE},
    [HP_BOARD_CALLERS] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                          {"", NULL, HP_TOP_BAR, 6, 1},
                          {"calls", "calls", HP_TOP_COUNT, 8, 3},
                          {"called from", "name", HP_TOP_NAME, 0, 0},
                          {"where", NULL, HP_TOP_WHERE, 22, 2},
                          OF_PLACE},
    [HP_BOARD_CALLEES] = {{"share", "share", HP_TOP_SHARE, 6, 0},
                          {"", NULL, HP_TOP_BAR, 6, 1},
                          {"calls", "calls", HP_TOP_COUNT, 8, 3},
                          {"it calls", "name", HP_TOP_NAME, 0, 0},
                          {"where", NULL, HP_TOP_WHERE, 22, 2},
                          OF_PLACE},
};

const char *const hp_top_parts[HP_BOARD_KINDS] = {
    [HP_BOARD_FUNCTIONS] = "functions", [HP_BOARD_PATHS] = "paths",
    [HP_BOARD_LOOPS] = "loops",         [HP_BOARD_HOTSPOTS] = "hotspots",
    [HP_BOARD_LINES] = "lines",         [HP_BOARD_INNER] = "its loops",
    [HP_BOARD_CALLERS] = "callers",     [HP_BOARD_CALLEES] = "callees",
};

bool hp_top_is_rate(const struct hp_board *board, enum hp_board_kind kind, bool since)
{
    return !since && !board->kinds[kind].ever && board->seconds > 0;
}

static struct hp_cell count_of(const struct hp_board *board, enum hp_board_kind kind, bool since,
                               const struct hp_board_row *row)
{
    bool rate = hp_top_is_rate(board, kind, since);
    return hp_cell_number(rate ? (uint64_t)((double)row->count / board->seconds) : row->count);
}

static struct hp_cell place_of(struct hp_board *board, enum hp_board_kind kind,
                               struct hp_board_row *row, enum hp_top_what what)
{
    if (hp_board_locate(board, kind, row) != HP_OK || (what == HP_TOP_LINE && !row->line))
        return hp_cell_none();
    return what == HP_TOP_FILE ? hp_cell_text(row->file) : hp_cell_number(row->line);
}

static struct hp_cell fraction(uint64_t part, uint64_t whole)
{
    double share = hp_number_share(part, whole);
    return hp_cell_fraction(share < 1 ? share : 1); /* a path may have begun before the interval */
}

struct hp_cell hp_top_cell(struct hp_board *board, enum hp_board_kind kind, bool since,
                           struct hp_board_row *row, enum hp_top_what what)
{
    switch (what) {
    case HP_TOP_NUMBER: return hp_cell_number(row->id);
    case HP_TOP_SHARE:
    case HP_TOP_BAR: return fraction(row->weight, board->kinds[kind].whole);
    case HP_TOP_OF_IT: return fraction(row->weight, board->picked.weight);
    case HP_TOP_COUNT: return count_of(board, kind, since, row);
    case HP_TOP_FOUND: return hp_cell_number(row->count);
    case HP_TOP_TRIPS: /* not known while an execution of the loop goes on all the time */
        return row->times ? hp_cell_fraction((double)row->count / (double)row->times)
                          : hp_cell_none();
    case HP_TOP_SIZE: return hp_cell_number(row->size);
    case HP_TOP_NAME: return hp_cell_text(row->name);
    case HP_TOP_MODULE: return hp_cell_text(hp_base_name(row->path_of_module));
    case HP_TOP_BRANCHES:
    case HP_TOP_LENGTH: return hp_cell_number(row->path.length);
    case HP_TOP_WEIGHT: return hp_cell_number(row->weight);
    case HP_TOP_TIMES: return hp_cell_number(row->times);
    case HP_TOP_DEPTH: return hp_cell_number(row->depth);
    case HP_TOP_FILE: return place_of(board, kind, row, what);
    case HP_TOP_WHERE:
    case HP_TOP_LINE: return place_of(board, kind, row, HP_TOP_LINE);
    case HP_TOP_LEFT:
    case HP_TOP_SOURCE:
    case HP_TOP_HIDDEN: break;
    }
    return hp_cell_none();
}

/* --- Order ------------------------------------------------------------------------------------ */

struct order {
    struct hp_board *board;
    enum hp_board_kind kind;
    enum hp_top_what what;
    bool since, reverse;
};

static int compare_texts(const char *a, const char *b)
{
    if (!*a != !*b) /* what has none comes last */
        return *a ? -1 : 1;
    int order = strcasecmp(a, b);
    return order ? order : strcmp(a, b);
}

static int compare_cells(const struct hp_cell *a, const struct hp_cell *b)
{
    if ((a->kind == HP_CELL_NONE) != (b->kind == HP_CELL_NONE))
        return a->kind == HP_CELL_NONE ? 1 : -1;
    if (a->kind == HP_CELL_TEXT)
        return compare_texts(a->text, b->text);
    if (a->kind == HP_CELL_UINT)
        return HP_COMPARE(b->number, a->number);
    return a->kind == HP_CELL_NONE ? 0 : HP_COMPARE(b->share, a->share);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct order *o = context;
    struct hp_board_row *x = (struct hp_board_row *)a, *y = (struct hp_board_row *)b;
    struct hp_cell first = hp_top_cell(o->board, o->kind, o->since, x, o->what);
    struct hp_cell second = hp_top_cell(o->board, o->kind, o->since, y, o->what);
    int order = compare_cells(&first, &second);
    if (order == 0)
        order = HP_COMPARE(y->weight, x->weight);
    if (order == 0)
        order = HP_COMPARE(x->id, y->id);
    if (order == 0)
        order = HP_COMPARE(x->path.start, y->path.start);
    if (order == 0)
        order = HP_COMPARE(x->path.outcomes, y->path.outcomes);
    return o->reverse ? -order : order;
}

bool hp_top_can_sort(enum hp_board_kind kind, unsigned column)
{
    const struct hp_top_column *c = &hp_top_columns[kind][column];
    return c->title && c->field && c->what < HP_TOP_HIDDEN;
}

void hp_top_sort(struct hp_board *board, enum hp_board_kind kind, bool since, unsigned column,
                 bool reverse)
{
    struct hp_board_rows *rows = &board->kinds[kind];
    struct order order = {.board = board,
                          .kind = kind,
                          .what = hp_top_columns[kind][column].what,
                          .since = since,
                          .reverse = reverse};
    if (rows->n > 1)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_rows, &order);
}
