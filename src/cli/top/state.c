// SPDX-License-Identifier: MIT
#include "cli/top/state.h"

#include "base/base.h"

#include <string.h>

struct hp_top_place *hp_top_place(struct hp_top_state *s)
{
    return &s->places[s->depth];
}

const struct hp_top_place *hp_top_place_of(const struct hp_top_state *s)
{
    return &s->places[s->depth];
}

void hp_top_begin(struct hp_top_state *s)
{
    *s = (struct hp_top_state){0};
    hp_top_sort_by(s, "share");
}

/* --- Parts ------------------------------------------------------------------------------------ */

enum hp_board_kind hp_top_kind(const struct hp_top_place *place, unsigned part)
{
    return (place->picks ? HP_BOARD_PICKED : 0) + part;
}

/* All parts of the program are without hot spots: those of now are in the head. */
bool hp_top_shows(const struct hp_top_place *place, unsigned part)
{
    if (place->view)
        return place->view == part + 1;
    return hp_top_kind(place, part) != HP_BOARD_HOTSPOTS;
}

/* Lines of a function get twice as much as what else is in it. */
void hp_top_share_out(const struct hp_top_place *place, size_t rows, size_t room[HP_TOP_TABLES])
{
    size_t weights[HP_TOP_TABLES], sum = 0, first = HP_TOP_TABLES;
    for (unsigned i = 0; i < HP_TOP_TABLES; i++) {
        weights[i] = hp_top_shows(place, i) ? 1 + (hp_top_kind(place, i) == HP_BOARD_LINES) : 0;
        sum += weights[i];
        rows -= weights[i] && rows; /* its title */
        first = weights[i] && i < first ? i : first;
    }
    for (unsigned i = 0; i < HP_TOP_TABLES; i++)
        room[i] = rows / sum * weights[i];
    room[first] += rows % sum;
}

/* --- Choosing rows ---------------------------------------------------------------------------- */

static size_t n_rows(const struct hp_top_place *place, const struct hp_board *board, unsigned part)
{
    return board->kinds[hp_top_kind(place, part)].n;
}

/* Where all parts are shown, only what there is room for. */
static size_t n_in_reach(const struct hp_top_place *place, const struct hp_board *board,
                         const size_t *room, unsigned part)
{
    size_t n = hp_top_shows(place, part) ? n_rows(place, board, part) : 0;
    return place->view || n < room[part] ? n : room[part];
}

/* The nearest part with rows, in a direction; itself where there is none. */
static unsigned neighbour(const struct hp_top_place *place, const struct hp_board *board,
                          const size_t *room, int direction)
{
    for (int i = (int)place->part + direction; i >= 0 && i < HP_TOP_TABLES; i += direction)
        if (n_in_reach(place, board, room, (unsigned)i))
            return (unsigned)i;
    return place->part;
}

void hp_top_clamp(struct hp_top_state *s, const struct hp_board *board,
                  const size_t room[HP_TOP_TABLES])
{
    struct hp_top_place *place = hp_top_place(s);
    if (place->view)
        place->part = place->view - 1;
    if (n_in_reach(place, board, room, place->part) == 0) {
        unsigned other = neighbour(place, board, room, -1);
        place->part = other != place->part ? other : neighbour(place, board, room, 1);
    }
    for (unsigned i = 0; i < HP_TOP_TABLES; i++) {
        struct hp_top_list *list = &place->lists[i];
        size_t n = n_in_reach(place, board, room, i), most = n > room[i] ? n - room[i] : 0;
        list->row = list->row < n ? list->row : n ? n - 1 : 0;
        if (list->first > list->row)
            list->first = list->row;
        if (room[i] && list->row >= list->first + room[i])
            list->first = list->row - room[i] + 1;
        list->first = list->first < most ? list->first : most;
    }
}

static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* Up or down by a row; at the end of a part, where all are shown, to the next. */
static void step(struct hp_top_place *place, const struct hp_board *board, const size_t *room,
                 int direction)
{
    struct hp_top_list *list = &place->lists[place->part];
    size_t n = n_in_reach(place, board, room, place->part);
    bool at_end = direction < 0 ? list->row == 0 : list->row + 1 >= n;
    unsigned other = place->view ? place->part : neighbour(place, board, room, direction);
    if (!at_end) {
        list->row = direction < 0 ? list->row - 1 : list->row + 1;
    } else if (other != place->part) {
        place->part = other;
        place->lists[other].row = direction < 0 ? n_in_reach(place, board, room, other) - 1 : 0;
    }
}

/* By a page; where all parts are shown, by a part. hp_top_clamp() puts right what is too far. */
static void turn_page(struct hp_top_place *place, const struct hp_board *board, const size_t *room,
                      int direction)
{
    struct hp_top_list *list = &place->lists[place->part];
    size_t by = room[place->part] > 1 ? room[place->part] - 1 : 1;
    if (!place->view) {
        place->part = neighbour(place, board, room, direction);
        return;
    }
    list->row = direction < 0 ? less(list->row, by) : list->row + by;
    list->first = direction < 0 ? less(list->first, by) : list->first + by;
}

static void go_to_end(struct hp_top_place *place, const struct hp_board *board, const size_t *room,
                      int direction)
{
    for (unsigned last = HP_TOP_TABLES; !place->view && last != place->part;) {
        last = place->part;
        place->part = neighbour(place, board, room, direction);
    }
    size_t n = n_in_reach(place, board, room, place->part);
    place->lists[place->part].row = direction < 0 ? 0 : less(n, 1);
}

const struct hp_board_row *hp_top_chosen(const struct hp_top_state *s, const struct hp_board *board)
{
    const struct hp_top_place *place = hp_top_place_of(s);
    const struct hp_board_rows *rows = &board->kinds[hp_top_kind(place, place->part)];
    size_t row = place->lists[place->part].row;
    return hp_top_shows(place, place->part) && row < rows->n ? &rows->rows[row] : NULL;
}

/* --- Places ----------------------------------------------------------------------------------- */

static unsigned open(struct hp_top_state *s, const struct hp_board *board)
{
    const struct hp_board_row *row = hp_top_chosen(s, board);
    const struct hp_top_place *place = hp_top_place_of(s);
    if (!row || row->module == HP_NO_ID || s->depth + 1 == HP_TOP_DEEPEST ||
        (place->picks && place->function.id == row->function &&
         place->function.module == row->module))
        return 0;
    s->places[++s->depth] =
        (struct hp_top_place){.picks = true, .function = {row->function, row->module}};
    return HP_TOP_ASKS;
}

static unsigned go_back(struct hp_top_state *s)
{
    struct hp_top_place *place = hp_top_place(s);
    if (*place->filter)
        *place->filter = 0;
    else if (s->depth)
        s->depth--;
    else
        return 0;
    return HP_TOP_ASKS;
}

static unsigned set_view(struct hp_top_state *s, unsigned view)
{
    struct hp_top_place *place = hp_top_place(s);
    place->view = view;
    place->part = view ? view - 1 : place->part;
    return HP_TOP_ASKS;
}

/* --- Order ------------------------------------------------------------------------------------ */

static unsigned sort_next(struct hp_top_state *s, int by)
{
    const struct hp_top_place *place = hp_top_place_of(s);
    enum hp_board_kind kind = hp_top_kind(place, place->part);
    struct hp_top_sorting *sorting = &s->sorting[kind];
    unsigned n = 0;
    while (hp_top_columns[kind][n].title)
        n++;
    unsigned column = sorting->column;
    do
        column = (column + (unsigned)((int)n + by)) % n;
    while (!hp_top_can_sort(kind, column) && column != sorting->column);
    *sorting = (struct hp_top_sorting){.column = column};
    return HP_TOP_ASKS | HP_TOP_SORTS; /* by how often: other rows may be kept */
}

static unsigned turn_round(struct hp_top_state *s)
{
    const struct hp_top_place *place = hp_top_place_of(s);
    struct hp_top_sorting *sorting = &s->sorting[hp_top_kind(place, place->part)];
    sorting->reverse = !sorting->reverse;
    return HP_TOP_SORTS;
}

void hp_top_sort_by(struct hp_top_state *s, const char *name)
{
    bool reverse = *name == '-';
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        for (unsigned i = 0; hp_top_columns[kind][i].title; i++)
            if (hp_top_can_sort(kind, i) &&
                strcmp(hp_top_columns[kind][i].field, name + reverse) == 0)
                s->sorting[kind] = (struct hp_top_sorting){.column = i, .reverse = reverse};
}

/* --- The filter ------------------------------------------------------------------------------- */

static unsigned type(struct hp_top_state *s, int key)
{
    struct hp_top_place *place = hp_top_place(s);
    size_t n = strlen(place->filter);
    if (key == HP_KEY_ENTER || key == '\n') {
        s->typing = false;
        return HP_TOP_DRAW;
    }
    if (key == HP_KEY_ESCAPE || (n == 0 && (key == HP_KEY_BACKSPACE || key == '\b'))) {
        s->typing = false;
        memcpy(place->filter, s->typed, sizeof s->typed);
        return HP_TOP_ASKS;
    }
    if (key == HP_KEY_BACKSPACE || key == '\b') {
        while (n > 0 && ((unsigned char)place->filter[--n] & 0xc0) == 0x80)
            ; /* the whole of a character */
        place->filter[n] = 0;
        return HP_TOP_ASKS;
    }
    if (key < ' ' || key > 0xff || n + 1 >= sizeof place->filter)
        return 0;
    place->filter[n] = (char)key;
    place->filter[n + 1] = 0;
    return HP_TOP_ASKS;
}

static unsigned begin_typing(struct hp_top_state *s)
{
    struct hp_top_place *place = hp_top_place(s);
    s->typing = true;
    memcpy(s->typed, place->filter, sizeof s->typed);
    return HP_TOP_DRAW;
}

/* --- Keys ------------------------------------------------------------------------------------- */

static unsigned press_in_help(struct hp_top_state *s, enum hp_top_action action)
{
    if (action == HP_TOP_UP)
        s->help_first -= s->help_first > 0;
    else if (action == HP_TOP_DOWN)
        s->help_first++;
    else
        s->help = false;
    return action == HP_TOP_QUIT ? HP_TOP_QUITS | HP_TOP_DRAW : HP_TOP_DRAW;
}

static unsigned act(struct hp_top_state *s, enum hp_top_action action, int key,
                    const struct hp_board *board, const size_t *room)
{
    struct hp_top_place *place = hp_top_place(s);
    switch (action) {
    case HP_TOP_NOTHING: return 0;
    case HP_TOP_PART: return set_view(s, (unsigned)(key - '0'));
    case HP_TOP_NEXT_PART: return set_view(s, (place->view + 1) % HP_TOP_VIEWS);
    case HP_TOP_UP: step(place, board, room, -1); return HP_TOP_DRAW;
    case HP_TOP_DOWN: step(place, board, room, 1); return HP_TOP_DRAW;
    case HP_TOP_PAGE_UP: turn_page(place, board, room, -1); return HP_TOP_DRAW;
    case HP_TOP_PAGE_DOWN: turn_page(place, board, room, 1); return HP_TOP_DRAW;
    case HP_TOP_FIRST: go_to_end(place, board, room, -1); return HP_TOP_DRAW;
    case HP_TOP_LAST: go_to_end(place, board, room, 1); return HP_TOP_DRAW;
    case HP_TOP_OPEN: return open(s, board);
    case HP_TOP_BACK: return go_back(s);
    case HP_TOP_SORT: return sort_next(s, 1);
    case HP_TOP_SORT_BEFORE: return sort_next(s, -1);
    case HP_TOP_REVERSE: return turn_round(s);
    case HP_TOP_FILTER: return begin_typing(s);
    case HP_TOP_FREEZE: s->frozen = !s->frozen; return HP_TOP_DRAW;
    case HP_TOP_SINCE: s->since = !s->since; return HP_TOP_ASKS;
    case HP_TOP_ZERO: return HP_TOP_ZEROES | HP_TOP_ASKS;
    case HP_TOP_HELP:
        s->help = true;
        s->help_first = 0;
        return HP_TOP_DRAW;
    case HP_TOP_INTERRUPT: return HP_TOP_INTERRUPTS;
    case HP_TOP_QUIT: return HP_TOP_QUITS;
    }
    return 0;
}

unsigned hp_top_press(struct hp_top_state *s, int key, const struct hp_board *board,
                      const size_t room[HP_TOP_TABLES])
{
    enum hp_top_action action = hp_top_action_of(key);
    hp_top_clamp(s, board, room);
    unsigned left = s->typing ? type(s, key)
                    : s->help ? press_in_help(s, action)
                              : act(s, action, key, board, room);
    return left ? left | HP_TOP_DRAW : 0;
}

void hp_top_wish(const struct hp_top_state *s, struct hp_board_wish *wish)
{
    const struct hp_top_place *place = hp_top_place_of(s);
    *wish =
        (struct hp_board_wish){.since = s->since, .picks = place->picks, .picked = place->function};
    for (unsigned i = 0; i < HP_TOP_TABLES; i++)
        wish->kinds[hp_top_kind(place, i)] = hp_top_shows(place, i);
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++)
        if (hp_top_columns[kind][s->sorting[kind].column].what == HP_TOP_COUNT)
            wish->order[kind] = HP_BOARD_BY_COUNT;
}
