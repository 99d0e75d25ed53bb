// SPDX-License-Identifier: MIT
/* What keys make of the live view: rows chosen and scrolled, filters, order, functions opened. */
#include "cli/top/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A board whose rows are numbered, the heaviest first. */
struct world {
    struct hp_board *board;
    struct hp_top_state state;
    size_t room[HP_TOP_TABLES];
    size_t lines; /* of the parts and their titles */
};

static void put_rows(struct hp_board *board, enum hp_board_kind kind, size_t n)
{
    static const char *const names[] = {"alpha", "Beta<int>", "gamma", "operator<"};
    struct hp_board_rows *rows = &board->kinds[kind];
    free(rows->rows);
    *rows =
        (struct hp_board_rows){.rows = calloc(n + 1, sizeof *rows->rows), .n = n, .whole = 1000};
    assert_non_null(rows->rows);
    for (size_t i = 0; i < n; i++)
        rows->rows[i] = (struct hp_board_row){.weight = 1000 - i,
                                              .count = i * i % 7,
                                              .id = (uint32_t)i,
                                              .function = (uint32_t)i,
                                              .module = 1,
                                              .name = names[i % 4],
                                              .path_of_module = "/lib/libm.so.6",
                                              .file = "a.c",
                                              .line = (uint32_t)(100 - i),
                                              .located = true};
}

static struct world *begin(size_t n)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->board = calloc(1, sizeof *w->board);
    assert_non_null(w->board);
    w->board->seconds = 0.5;
    for (int kind = 0; kind < HP_BOARD_KINDS; kind++)
        put_rows(w->board, (enum hp_board_kind)kind, n);
    w->lines = 18;
    hp_top_begin(&w->state);
    return w;
}

static void end(struct world *w)
{
    for (int kind = 0; kind < HP_BOARD_KINDS; kind++)
        free(w->board->kinds[kind].rows);
    free(w->board);
    free(w);
}

/* The chosen row is one, and is shown. */
static void check(struct world *w)
{
    const struct hp_top_place *place = hp_top_place(&w->state);
    const struct hp_top_list *list = &place->lists[place->part];
    size_t n = w->board->kinds[hp_top_kind(place, place->part)].n;
    assert_true(place->part < HP_TOP_TABLES && place->view < HP_TOP_VIEWS);
    assert_true(n == 0 ? list->row == 0 : list->row < n);
    assert_true(list->first <= list->row);
    assert_true(!w->room[place->part] || list->row < list->first + w->room[place->part]);
    assert_true(list->first == 0 || list->first + w->room[place->part] <= n);
    if (place->view == 0)
        assert_int_equal(list->first, 0);
}

static unsigned press(struct world *w, int key)
{
    hp_top_share_out(hp_top_place(&w->state), w->lines, w->room);
    unsigned left = hp_top_press(&w->state, key, w->board, w->room);
    hp_top_share_out(hp_top_place(&w->state), w->lines, w->room);
    hp_top_clamp(&w->state, w->board, w->room);
    check(w);
    return left;
}

static size_t row(const struct world *w)
{
    const struct hp_top_place *place = hp_top_place_of(&w->state);
    return place->lists[place->part].row;
}

static size_t first(const struct world *w)
{
    const struct hp_top_place *place = hp_top_place_of(&w->state);
    return place->lists[place->part].first;
}

static void a_list_scrolls(void **state)
{
    (void)state;
    struct world *w = begin(100);
    press(w, '1');
    assert_int_equal(w->room[0], 17);
    press(w, HP_KEY_UP);
    assert_int_equal(row(w), 0);
    for (int i = 0; i < 17; i++)
        press(w, i & 1 ? 'j' : HP_KEY_DOWN);
    assert_int_equal(row(w), 17);
    assert_int_equal(first(w), 1);
    press(w, HP_KEY_PAGE_DOWN);
    assert_int_equal(row(w), 33);
    assert_int_equal(first(w), 17);
    press(w, HP_KEY_END);
    assert_int_equal(row(w), 99);
    assert_int_equal(first(w), 83);
    press(w, HP_KEY_PAGE_DOWN);
    press(w, HP_KEY_DOWN);
    assert_int_equal(row(w), 99);
    press(w, HP_KEY_PAGE_UP);
    assert_int_equal(row(w), 83);
    press(w, 'g');
    assert_int_equal(row(w) + first(w), 0);
    end(w);
}

static void fewer_rows_than_before(void **state)
{
    (void)state;
    struct world *w = begin(100);
    press(w, '1');
    press(w, 'G');
    put_rows(w->board, HP_BOARD_FUNCTIONS, 20);
    hp_top_clamp(&w->state, w->board, w->room);
    check(w);
    assert_int_equal(row(w), 19);
    put_rows(w->board, HP_BOARD_FUNCTIONS, 0);
    hp_top_clamp(&w->state, w->board, w->room);
    check(w);
    assert_null(hp_top_chosen(&w->state, w->board));
    assert_int_equal(press(w, HP_KEY_ENTER), 0); /* there is nothing to open */
    end(w);
}

/* Where all parts are shown, the chosen row moves from one to the next, and skips empty ones. */
static void all_parts_are_one_list(void **state)
{
    (void)state;
    struct world *w = begin(3);
    struct hp_top_place *place = hp_top_place(&w->state);
    put_rows(w->board, HP_BOARD_PATHS, 0);
    for (int i = 0; i < 3; i++)
        press(w, HP_KEY_DOWN);
    assert_int_equal(place->part, 2);
    assert_int_equal(row(w), 0);
    press(w, HP_KEY_UP);
    assert_int_equal(place->part, 0);
    assert_int_equal(row(w), 2);
    press(w, HP_KEY_END);
    assert_int_equal(place->part, 2); /* hot spots are not shown */
    assert_int_equal(row(w), 2);
    press(w, HP_KEY_HOME);
    assert_int_equal(place->part, 0);
    press(w, HP_KEY_PAGE_DOWN);
    assert_int_equal(place->part, 2);
    end(w);
}

static void rows_beyond_the_page_are_not_reached_there(void **state)
{
    (void)state;
    struct world *w = begin(100);
    struct hp_top_place *place = hp_top_place(&w->state);
    for (int i = 0; i < 5; i++)
        press(w, HP_KEY_DOWN);
    assert_int_equal(w->room[0], 5);
    assert_int_equal(place->part, 1);
    assert_int_equal(row(w), 0);
    end(w);
}

static void views_and_their_room(void **state)
{
    (void)state;
    struct world *w = begin(5);
    struct hp_board_wish wish;
    for (int key = '1'; key <= '4'; key++) {
        press(w, key);
        hp_top_wish(&w->state, &wish);
        for (int kind = 0; kind < HP_BOARD_KINDS; kind++)
            assert_int_equal(wish.kinds[kind], kind == key - '1');
        assert_int_equal(w->room[key - '1'], 17);
    }
    press(w, HP_KEY_TAB);
    hp_top_wish(&w->state, &wish);
    assert_true(wish.kinds[HP_BOARD_FUNCTIONS] && wish.kinds[HP_BOARD_PATHS] &&
                wish.kinds[HP_BOARD_LOOPS] && !wish.kinds[HP_BOARD_HOTSPOTS]);
    assert_false(wish.picks);
    end(w);
}

static void functions_are_opened_from_each_other(void **state)
{
    (void)state;
    struct world *w = begin(50);
    struct hp_board_wish wish;
    press(w, HP_KEY_DOWN);
    assert_true(press(w, HP_KEY_ENTER) & HP_TOP_ASKS);
    hp_top_wish(&w->state, &wish);
    assert_true(wish.picks && wish.picked.id == 1 && wish.picked.module == 1);
    assert_true(wish.kinds[HP_BOARD_LINES] && wish.kinds[HP_BOARD_INNER] &&
                wish.kinds[HP_BOARD_CALLERS] && wish.kinds[HP_BOARD_CALLEES]);
    assert_true(w->room[0] > w->room[1]); /* lines have more room */
    press(w, HP_KEY_DOWN);
    assert_int_equal(press(w, HP_KEY_ENTER), 0); /* that is the function itself */
    press(w, '3');
    press(w, HP_KEY_END);
    press(w, HP_KEY_RIGHT);
    hp_top_wish(&w->state, &wish);
    assert_int_equal(wish.picked.id, 49);
    for (int i = 0; i < 3 * HP_TOP_DEEPEST; i++) { /* as deep as there is room */
        press(w, '4');
        press(w, i & 1 ? 'g' : 'G');
        press(w, '\r');
    }
    assert_int_equal(w->state.depth, HP_TOP_DEEPEST - 1);
    for (int i = 0; i < HP_TOP_DEEPEST + 3; i++)
        press(w, i & 1 ? HP_KEY_ESCAPE : HP_KEY_BACKSPACE);
    assert_int_equal(w->state.depth, 0);
    assert_int_equal(row(w), 1); /* as it was left */
    end(w);
}

static void a_row_in_no_module_is_not_opened(void **state)
{
    (void)state;
    struct world *w = begin(1);
    w->board->kinds[HP_BOARD_FUNCTIONS].rows[0].module = HP_NO_ID;
    assert_int_equal(press(w, HP_KEY_ENTER), 0);
    assert_int_equal(w->state.depth, 0);
    end(w);
}

static void type(struct world *w, const char *text)
{
    for (; *text; text++)
        press(w, (unsigned char)*text);
}

static void a_filter_is_typed(void **state)
{
    (void)state;
    struct world *w = begin(10);
    char *filter = hp_top_place(&w->state)->filter;
    press(w, '/');
    assert_true(w->state.typing);
    type(w, "qr\xc3\xa4");
    assert_string_equal(filter, "qr\xc3\xa4"); /* letters are no keys now */
    press(w, HP_KEY_BACKSPACE);
    assert_string_equal(filter, "qr");
    assert_int_equal(press(w, HP_KEY_UP), 0);
    press(w, HP_KEY_ENTER);
    assert_false(w->state.typing);
    press(w, '/');
    type(w, "s");
    press(w, HP_KEY_ESCAPE); /* as it was */
    assert_string_equal(filter, "qr");
    press(w, HP_KEY_ENTER); /* a function has a filter of its own */
    assert_string_equal(hp_top_place(&w->state)->filter, "");
    press(w, HP_KEY_ESCAPE);
    assert_string_equal(filter, "qr");
    press(w, HP_KEY_ESCAPE);
    assert_string_equal(filter, "");
    press(w, '/');
    for (int i = 0; i < 2 * HP_TOP_FILTER_MAX; i++)
        press(w, 'x');
    assert_int_equal(strlen(filter), HP_TOP_FILTER_MAX - 1);
    for (int i = 0; i < 2 * HP_TOP_FILTER_MAX && w->state.typing; i++)
        press(w, HP_KEY_BACKSPACE);
    assert_false(w->state.typing); /* the last one is behind the beginning */
    assert_string_equal(filter, "");
    end(w);
}

static void order_and_freezing(void **state)
{
    (void)state;
    struct world *w = begin(10);
    struct hp_board_wish wish;
    assert_true(press(w, 's') & HP_TOP_SORTS);
    hp_top_wish(&w->state, &wish);
    assert_int_equal(wish.order[HP_BOARD_FUNCTIONS], HP_BOARD_BY_COUNT);
    assert_int_equal(wish.order[HP_BOARD_PATHS], HP_BOARD_BY_SHARE); /* it is of the chosen part */
    press(w, '<');
    hp_top_wish(&w->state, &wish);
    assert_int_equal(wish.order[HP_BOARD_FUNCTIONS], HP_BOARD_BY_SHARE);
    press(w, 'r');
    assert_true(w->state.sorting[HP_BOARD_FUNCTIONS].reverse);
    press(w, 'S');
    assert_false(w->state.sorting[HP_BOARD_FUNCTIONS].reverse);
    for (int kind = 0; kind < 4; kind++) {
        press(w, '1' + kind);
        for (int i = 0; i < 20; i++) {
            press(w, i & 1 ? 's' : 'S');
            assert_true(hp_top_can_sort((enum hp_board_kind)kind, w->state.sorting[kind].column));
        }
    }
    assert_int_equal(press(w, 'f'), HP_TOP_DRAW);
    assert_true(w->state.frozen);
    press(w, '2');
    assert_true(w->state.frozen); /* one can look around in it */
    press(w, ' ');
    assert_false(w->state.frozen);
    press(w, 't');
    hp_top_wish(&w->state, &wish);
    assert_true(wish.since);
    assert_true(press(w, 'z') & HP_TOP_ZEROES);
    assert_true(press(w, 'K') & HP_TOP_INTERRUPTS);
    assert_true(press(w, 'q') & HP_TOP_QUITS);
    assert_int_equal(press(w, 'x'), 0);
    end(w);
}

static void help_is_left_by_any_key(void **state)
{
    (void)state;
    struct world *w = begin(10);
    press(w, '?');
    press(w, HP_KEY_DOWN);
    assert_true(w->state.help && w->state.help_first == 1);
    press(w, 'K'); /* and does nothing else */
    assert_false(w->state.help);
    press(w, 'h');
    assert_true(press(w, 'q') & HP_TOP_QUITS);
    end(w);
}

/* However keys follow each other, something that is there is chosen and shown. */
static void any_keys_at_all(void **state)
{
    (void)state;
    static const int special[] = {HP_KEY_UP,   HP_KEY_DOWN, HP_KEY_PAGE_UP, HP_KEY_PAGE_DOWN,
                                  HP_KEY_HOME, HP_KEY_END,  HP_KEY_ENTER,   HP_KEY_ESCAPE};
    struct world *w = begin(10);
    srand(1);
    for (int i = 0; i < 20000; i++) {
        if (rand() % 50 == 0)
            put_rows(w->board, (enum hp_board_kind)(rand() % HP_BOARD_KINDS),
                     (size_t)(rand() % 40));
        if (rand() % 50 == 0)
            w->lines = (size_t)(rand() % 40);
        press(w, rand() % 2 ? special[rand() % 8] : 1 + rand() % 127);
    }
    end(w);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void rows_are_sorted_by_what_is_shown(void **state)
{
    (void)state;
    struct world *w = begin(40);
    struct hp_board_rows *rows = &w->board->kinds[HP_BOARD_FUNCTIONS];
    for (unsigned column = 0; hp_top_columns[HP_BOARD_FUNCTIONS][column].title; column++) {
        enum hp_top_what what = hp_top_columns[HP_BOARD_FUNCTIONS][column].what;
        if (!hp_top_can_sort(HP_BOARD_FUNCTIONS, column))
            continue;
        for (int reverse = 0; reverse < 2; reverse++) {
            hp_top_sort(w->board, HP_BOARD_FUNCTIONS, true, column, reverse);
            for (size_t i = 1; i < rows->n; i++) {
                const struct hp_board_row *a = &rows->rows[i - 1], *b = &rows->rows[i];
                if (reverse)
                    a = b, b = &rows->rows[i - 1];
                if (what == HP_TOP_NAME)
                    assert_true(strcasecmp(a->name, b->name) <= 0);
                else if (what == HP_TOP_COUNT)
                    assert_true(a->count >= b->count);
                else
                    assert_true(a->weight >= b->weight);
            }
        }
    }
    hp_top_sort_by(&w->state, "-name");
    assert_true(w->state.sorting[HP_BOARD_CALLERS].reverse);
    assert_int_equal(w->state.sorting[HP_BOARD_LOOPS].column, 0); /* that is called function */
    end(w);
}

/* How many of 40 rows pass. */
static size_t passing(struct world *w, const char *text, enum hp_top_filter_is is)
{
    struct hp_top_filter filter = {0};
    struct hp_board_wish wish;
    size_t n = 0;
    hp_top_wish(&w->state, &wish);
    assert_int_equal(hp_top_filter_set(&filter, text, wish.kinds), is);
    for (size_t i = 0; i < w->board->kinds[0].n; i++)
        n += hp_top_filter_passes(&filter, w->board, HP_BOARD_FUNCTIONS, true,
                                  &w->board->kinds[0].rows[i]);
    hp_top_filter_fini(&filter);
    return n;
}

static void filters(void **state)
{
    (void)state;
    struct world *w = begin(40);
    assert_int_equal(passing(w, "", HP_TOP_FILTER_NONE), 40);
    assert_int_equal(passing(w, "ALPHA", HP_TOP_FILTER_NAME), 10);
    assert_int_equal(passing(w, "libm", HP_TOP_FILTER_NAME), 40);
    assert_int_equal(passing(w, "Beta<int", HP_TOP_FILTER_NAME), 10); /* no column Beta */
    assert_int_equal(passing(w, "operator<", HP_TOP_FILTER_NAME), 10);
    assert_int_equal(passing(w, "share", HP_TOP_FILTER_NAME), 0);
    assert_int_equal(passing(w, "share > 99.05%", HP_TOP_FILTER_EXPRESSION), 10);
    assert_int_equal(passing(w, "name ~ alpha and calls > 1", HP_TOP_FILTER_EXPRESSION), 5);
    assert_int_equal(passing(w, "not (line >= 90)", HP_TOP_FILTER_EXPRESSION), 29);
    assert_int_equal(passing(w, "iterations > 1", HP_TOP_FILTER_EXPRESSION), 0); /* of loops */
    static const char *const unfinished[] = {"share ", "share >", "share > 1% and", "not calls <",
                                             "(share > 1%"};
    for (size_t i = 0; i < sizeof unfinished / sizeof *unfinished; i++)
        passing(w, unfinished[i], HP_TOP_FILTER_UNFINISHED);
    struct hp_top_filter filter = {0};
    struct hp_board_wish wish;
    hp_top_wish(&w->state, &wish);
    hp_top_filter_set(&filter, "alpha", wish.kinds);
    hp_top_filter_set(&filter, "share >", wish.kinds);
    assert_string_equal(filter.text, "alpha"); /* until it is finished */
    hp_top_filter_fini(&filter);
    end(w);
}

/* --- Keys ------------------------------------------------------------------------------------- */

static void keys_are_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int key;
        size_t used;
    } known[] = {{"j", 'j', 1},
                 {"\r", HP_KEY_ENTER, 1},
                 {"\033", HP_KEY_ESCAPE, 1},
                 {"\033j", HP_KEY_ESCAPE, 1},
                 {"\033[A", HP_KEY_UP, 3},
                 {"\033OBx", HP_KEY_DOWN, 3},
                 {"\033[5~\033[6~", HP_KEY_PAGE_UP, 4},
                 {"\033[6~", HP_KEY_PAGE_DOWN, 4},
                 {"\033[H", HP_KEY_HOME, 3},
                 {"\033[4~", HP_KEY_END, 4},
                 {"\033[15~", HP_KEY_OTHER, 5},
                 {"\033[<0;1;2M", HP_KEY_OTHER, 9},
                 {"\033[1;5A", HP_KEY_UP, 6}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const unsigned char *bytes = (const unsigned char *)known[i].bytes;
        size_t n = strlen(known[i].bytes), used;
        assert_int_equal(hp_key_decode(bytes, n, true, &used), known[i].key);
        assert_int_equal(used, known[i].used);
        for (size_t part = 1; part < used; part++) { /* the beginning of a sequence is none yet */
            size_t some;
            assert_int_equal(hp_key_decode(bytes, part, false, &some), HP_KEY_NONE);
            assert_int_equal(some, 0);
        }
    }
}

/* The list is all there is: no key twice, none without a name. */
static void keys_are_told_apart(void **state)
{
    (void)state;
    struct hp_strbuf lines = {0};
    size_t n = 0;
    for (const struct hp_top_key *k = hp_top_keys; k->name; k++, n++)
        for (const int *code = k->codes; *code; code++) {
            assert_int_equal(hp_top_action_of(*code), k->action);
            if (*code > ' ' && *code < 0x7f && k->action != HP_TOP_PART)
                assert_non_null(strchr(k->name, *code));
        }
    assert_int_equal(n, HP_TOP_QUIT);
    hp_top_keys_put(&lines);
    for (const char *at = hp_strbuf_text(&lines); *at; at = strchr(at, '\n') + 1)
        n--;
    assert_int_equal(n, 0);
    hp_strbuf_fini(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_scrolls),
        cmocka_unit_test(fewer_rows_than_before),
        cmocka_unit_test(all_parts_are_one_list),
        cmocka_unit_test(rows_beyond_the_page_are_not_reached_there),
        cmocka_unit_test(views_and_their_room),
        cmocka_unit_test(functions_are_opened_from_each_other),
        cmocka_unit_test(a_row_in_no_module_is_not_opened),
        cmocka_unit_test(a_filter_is_typed),
        cmocka_unit_test(order_and_freezing),
        cmocka_unit_test(help_is_left_by_any_key),
        cmocka_unit_test(any_keys_at_all),
        cmocka_unit_test(rows_are_sorted_by_what_is_shown),
        cmocka_unit_test(filters),
        cmocka_unit_test(keys_are_decoded),
        cmocka_unit_test(keys_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
