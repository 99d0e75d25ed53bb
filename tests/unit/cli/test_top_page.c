// SPDX-License-Identifier: MIT
/* Pages of the live view, whatever is on the board. */
#include "cli/top/page.h"
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVIL                                                                                       \
    "evil\033[2J\n\t\x9b\xff\xe2\x80\xae\xe4\xb8\xad\xe6\x96\x87 and so on, much longer than a "   \
    "page is wide"

static struct hp_board *make_board(const char *name)
{
    struct hp_board *board = calloc(1, sizeof *board);
    assert_non_null(board);
    *board = (struct hp_board){.seconds = 0.5,
                               .instructions = UINT64_MAX,
                               .instructions_rate = 1e30,
                               .branches_rate = -1,
                               .whole = 1000,
                               .loops = true,
                               .looked = 1e9,
                               .spot_share = 1.5,
                               .detector = {.found = 12345678, .running = 1, .looking = 1}};
    board->paths = board->hotspots = (struct hp_profiler *)board; /* only whether they are there */
    struct hp_board_row row = {.weight = 2000,
                               .count = UINT64_MAX,
                               .times = 3,
                               .id = 4000000000,
                               .depth = 100,
                               .size = 4000000000,
                               .path = {.length = 64, .outcomes = 0x5555555555555555},

                               .name = name,
                               .located = true,
                               .path_of_module = name,
                               .file = name,
                               .line = 4000000000,
                               .last_line = 4000000000};
    for (int kind = 0; kind < HP_BOARD_KINDS; kind++) {
        struct hp_board_rows *rows = &board->kinds[kind];
        rows->rows = calloc(HP_BOARD_ROWS, sizeof row);
        assert_non_null(rows->rows);
        for (rows->n = 0; rows->n < HP_BOARD_ROWS; rows->n++)
            rows->rows[rows->n] = row;
        rows->whole = 1000;
    }
    board->spot = board->picked = row;
    for (; board->n_history < HP_BOARD_HISTORY + 7; board->n_history++)
        board->history[board->n_history % HP_BOARD_HISTORY] =
            (struct hp_board_moment){.rate = (double)board->n_history, .hot_spot = 17};
    return board;
}

static void free_board(struct hp_board *board)
{
    for (int kind = 0; kind < HP_BOARD_KINDS; kind++)
        free(board->kinds[kind].rows);
    free(board);
}

/* Without colour there is nothing but lines, none too long, not too many. */
static void check_page(const struct hp_top_page *page)
{
    struct hp_strbuf text = {0}, line = {0};
    size_t n = 0;
    hp_top_page_draw(page, &text);
    assert_false(text.failed);
    for (const char *at = hp_strbuf_text(&text); *at; n++) {
        size_t length = strcspn(at, "\n");
        assert_int_equal(at[length], '\n');
        hp_strbuf_clear(&line);
        hp_strbuf_bytes(&line, at, length);
        assert_true(hp_utf8_width(hp_strbuf_text(&line)) <= page->width);
        for (size_t i = 0; i < length; i++)
            assert_true((unsigned char)at[i] >= 0x20 && at[i] != 0x7f);
        assert_null(strstr(hp_strbuf_text(&line), "\xc2\x9b"));
        assert_null(strstr(hp_strbuf_text(&line), "\xe2\x80\xae"));
        at += length + 1;
    }
    assert_true(page->height == 0 || n <= page->height);
    hp_strbuf_fini(&text);
    hp_strbuf_fini(&line);
}

static void fits_every_size(void **state)
{
    (void)state;
    static const size_t widths[] = {20, 33, 47, 60, 79, 80, 81, 132, 700};
    struct hp_board *board = make_board(EVIL);
    struct hp_top_state shown;
    hp_top_begin(&shown);
    for (unsigned view = 0; view < 2 * HP_TOP_VIEWS; view++)
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
            for (size_t height = 1; height < 60; height += 7) {
                struct hp_top_place *place = hp_top_place(&shown);
                place->picks = view >= HP_TOP_VIEWS;
                place->view = view % HP_TOP_VIEWS;
                place->lists[1].first = place->lists[1].row = HP_BOARD_ROWS - 2;
                strcpy(place->filter, height == 29 ? EVIL : "");
                shown.help = height == 15;
                shown.typing = height == 29;
                shown.since = height == 22;
                struct hp_top_page page = {.board = board,
                                           .state = &shown,
                                           .command = EVIL,
                                           .engine = "native",
                                           .elapsed = 1e6,
                                           .width = widths[i],
                                           .height = height};
                check_page(&page);
                page.plain = true;
                page.height = 0;
                check_page(&page);
            }
    free_board(board);
}

static void an_empty_board_has_a_page(void **state)
{
    (void)state;
    struct hp_board *board = calloc(1, sizeof *board);
    struct hp_top_state shown;
    assert_non_null(board);
    hp_top_begin(&shown);
    struct hp_top_page page = {.board = board,
                               .state = &shown,
                               .command = "",
                               .engine = "native",
                               .width = 80,
                               .height = 24};
    board->spot.id = HP_BOARD_NO_SPOT;
    board->picked.located = true;
    board->picked.name = board->picked.file = board->picked.path_of_module = "";
    for (int picks = 0; picks < 2; picks++) {
        hp_top_place(&shown)->picks = picks;
        check_page(&page);
    }
    free_board(board);
}

static void a_page_has_room(void **state)
{
    (void)state;
    struct hp_top_state shown;
    size_t room[HP_TOP_TABLES];
    hp_top_begin(&shown);
    struct hp_top_page page = {.state = &shown, .width = 80, .height = 24};
    hp_top_place(&shown)->view = 1 + HP_BOARD_LOOPS;
    hp_top_page_room(&page, room);
    assert_int_equal(room[HP_BOARD_LOOPS], 24 - 5 - 1 - 1);
    assert_int_equal(room[HP_BOARD_FUNCTIONS] + room[HP_BOARD_PATHS], 0);
    hp_top_place(&shown)->view = 0;
    hp_top_page_room(&page, room);
    assert_int_equal(room[HP_BOARD_PATHS], (24 - 5 - 1 - 3) / 3);
    assert_int_equal(room[HP_BOARD_HOTSPOTS], 0);
    page.height = 12; /* without the history */
    hp_top_page_room(&page, room);
    assert_int_equal(room[HP_BOARD_FUNCTIONS] + room[HP_BOARD_PATHS] + room[HP_BOARD_LOOPS],
                     12 - 3 - 1 - 3);
}

/* The last line of the help comes into view, however low the page is. */
static void help_scrolls_to_its_end(void **state)
{
    (void)state;
    struct hp_board *board = make_board("f");
    struct hp_strbuf text = {0};
    struct hp_top_state shown;
    hp_top_begin(&shown);
    shown.help = true;
    shown.help_first = 1000;
    struct hp_top_page page = {.board = board,
                               .state = &shown,
                               .command = "",
                               .engine = "native",
                               .width = 40,
                               .height = 10};
    check_page(&page);
    assert_true(shown.help_first > 10 && shown.help_first < 200);
    hp_top_page_draw(&page, &text);
    assert_non_null(strstr(hp_strbuf_text(&text), "last digit."));
    assert_null(strstr(hp_strbuf_text(&text), "the next part"));
    hp_strbuf_fini(&text);
    free_board(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_every_size),
        cmocka_unit_test(an_empty_board_has_a_page),
        cmocka_unit_test(a_page_has_room),
        cmocka_unit_test(help_scrolls_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
