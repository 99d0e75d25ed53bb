// SPDX-License-Identifier: MIT
/* hotpath top: a view of a program while it runs (docs/top.md). */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/top/page.h"
#include "cli/top/terminal.h"

#include <signal.h>

#define DEFAULT_PROFILE  "exact,loops,paths,hotspots"
#define DEFAULT_INTERVAL 0.5
#define PLAIN_INTERVAL   1.0
#define PLAIN_WIDTH      80
#define DEFAULT_TOP      5
#define COST_SHARE       100  /* a look takes at most this part of the time between two */
#define KEYS_SECONDS     0.03 /* how often keys are looked for */
#define SOON             0.15 /* the next look when something else is to be shown */

/* What the command line says, and the one who looks. */
struct request {
    struct hp_cli_session session; /* first */
    const char *view, *interval_text, *output;
    struct hp_cli_output report; /* what is printed in the end */

    struct hp_top_page page;
    struct hp_top_state state;
    struct hp_top_filter kept; /* what is filtered by */
    struct hp_board_wish wish;
    struct hp_sources sources;
    struct hp_board board;
    bool since, plain; /* options */
    struct hp_capture capture;
    struct hp_strbuf text;    /* of the page */
    struct hp_strbuf command; /* the program's */
    bool closed;              /* the view: nothing is shown any more */
    bool changed;             /* the page has to be made anew */
    double started;           /* seconds, as the rest */
    double interval;
    double next_look, next_keys;
    char failure[256]; /* of the view, for the end; "": none */
};

/* --- The view --------------------------------------------------------------------------------- */

static void close_view(struct request *top)
{
    if (top->closed)
        return;
    top->closed = true;
    if (!top->page.plain)
        hp_terminal_close();
    hp_capture_show(&top->capture);
}

/* The view ends; the program goes on, and what failed is told in the end. */
static void fail(struct request *top)
{
    snprintf(top->failure, sizeof top->failure, "the view ended: %s", hp_error_text());
    close_view(top);
}

static bool passes(void *context, enum hp_board_kind kind, struct hp_board_row *row)
{
    struct request *top = context;
    return hp_top_filter_passes(&top->kept, &top->board, kind, top->state.since, row);
}

/* What the state asks of the board. */
static void wish(struct request *top)
{
    hp_top_wish(&top->state, &top->wish);
    hp_top_filter_set(&top->kept, hp_top_place(&top->state)->filter, top->wish.kinds);
    top->wish.passes = top->kept.is == HP_TOP_FILTER_NONE ? NULL : passes;
    top->wish.context = top;
    top->wish.stubs = top->report.shown.plt;
}

/* The board keeps rows by share, or by how often; the rest of the order is ours. */
static void sort(struct request *top)
{
    for (unsigned kind = 0; kind < HP_BOARD_KINDS; kind++) {
        const struct hp_top_sorting *sorting = &top->state.sorting[kind];
        if (top->wish.kinds[kind])
            hp_top_sort(&top->board, kind, top->state.since, sorting->column, sorting->reverse);
    }
    top->changed = true;
}

static void look(struct request *top, double now)
{
    wish(top);
    enum hp_err err = hp_board_look(&top->board, &top->wish, now);
    double pause = top->board.cost * COST_SHARE, interval = top->interval;
    if (top->board.stale && interval > SOON)
        interval = SOON;
    top->next_look = now + (pause > interval ? pause : interval);
    top->page.elapsed = now - top->started;
    if (err != HP_OK)
        fail(top);
    else
        sort(top);
}

/* Something else is to be shown of the same moment. What is not known of it comes soon. */
static void ask(struct request *top)
{
    double soon = top->board.looked + SOON;
    wish(top);
    if (top->board.n_history == 0)
        return;
    if (hp_board_again(&top->board, &top->wish) != HP_OK) {
        fail(top);
        return;
    }
    sort(top);
    if (top->board.stale || top->state.depth)
        top->next_look = soon < top->next_look ? soon : top->next_look;
}

static void draw(struct request *top)
{
    size_t room[HP_TOP_TABLES];
    hp_strbuf_clear(&top->text);
    hp_top_page_room(&top->page, room);
    hp_top_clamp(&top->state, &top->board, room);
    hp_top_page_draw(&top->page, &top->text);
    top->changed = false;
    if (top->page.plain) {
        hp_strbuf_add(&top->text, "\n");
        fputs(hp_strbuf_text(&top->text), stderr);
        fflush(stderr);
    } else {
        hp_terminal_show(hp_strbuf_text(&top->text));
    }
}

/* --- Keys ------------------------------------------------------------------------------------- */

static void quit(struct request *top)
{
    close_view(top);
    hp_capture_say(&top->capture, "hotpath: the program goes on; Ctrl-C interrupts it\n");
}

static void press(struct request *top, int key, pid_t program)
{
    size_t room[HP_TOP_TABLES];
    hp_top_page_room(&top->page, room);
    unsigned left = hp_top_press(&top->state, key, &top->board, room);
    top->changed |= left & HP_TOP_DRAW;
    if (left & HP_TOP_ZEROES && hp_board_reset(&top->board) != HP_OK)
        fail(top);
    if (left & HP_TOP_ASKS && !top->closed)
        ask(top);
    else if (left & HP_TOP_SORTS)
        sort(top);
    if (left & HP_TOP_INTERRUPTS)
        kill(program, SIGINT);
    if (left & HP_TOP_QUITS)
        quit(top);
}

/* --- Looking ---------------------------------------------------------------------------------- */

/* Takes the terminal's size, and what is pressed; whether anything can be shown. */
static bool attend(struct request *top, pid_t program)
{
    bool redraw;
    if (top->page.plain)
        return true;
    if (!hp_terminal_ready(&redraw))
        return false;
    if (redraw) {
        hp_terminal_size(&top->page.width, &top->page.height);
        top->next_look = top->board.n_history ? top->next_look : 0;
        top->changed = true;
    }
    for (int key; !top->closed && (key = hp_terminal_key()) != 0;)
        press(top, key, program);
    return !top->closed;
}

static void look_if_due(void *context, struct hp_session *session)
{
    struct request *top = context;
    double now = hp_now();
    if (hp_session_is_over(session))
        close_view(top);
    if (now < top->next_keys && (top->state.frozen || now < top->next_look))
        return;
    top->next_keys = now + KEYS_SECONDS;
    if (top->closed) {
        top->next_look = now + KEYS_SECONDS;
        hp_capture_show(&top->capture);
        return;
    }
    struct hp_session_info info = hp_session_info(session);
    if (!top->board.session)
        hp_board_open(&top->board, session, top->started);
    top->page.engine = info.engine;
    if (!attend(top, info.pid)) {
        top->next_look = now + KEYS_SECONDS;
        return;
    }
    if (now >= top->next_look && !top->state.frozen)
        look(top, now);
    if (top->changed && !top->closed)
        draw(top);
}

/* --- The command ------------------------------------------------------------------------------ */

static enum hp_err read_interval(const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0.05 && value <= 3600))
        return hp_fail(HP_ERR_INVALID, "--interval is from 0.05 to 3600 seconds, not '%s'", text);
    *seconds = value;
    return HP_OK;
}

/* Where it is shown. */
static enum hp_err open_view(struct request *top, char *const *argv)
{
    struct hp_top_page *page = &top->page;
    struct hp_report_options style = {0};
    for (size_t i = 0; argv[i]; i++)
        hp_strbuf_format(&top->command, "%s%s", i ? " " : "", argv[i]);
    if (top->command.failed)
        return hp_fail_nomem();
    page->command = hp_strbuf_text(&top->command);
    page->board = &top->board;
    page->state = &top->state;
    page->kept = &top->kept;
    page->sources = &top->sources;
    page->plain = top->plain || !hp_terminal_open();
    hp_cli_style(&style, stderr);
    page->color = style.color && !page->plain;
    page->width = style.width > 0 ? (size_t)style.width : PLAIN_WIDTH;
    if (top->interval == 0)
        top->interval = page->plain ? PLAIN_INTERVAL : DEFAULT_INTERVAL;
    top->started = hp_now();
    top->next_look = top->started + top->interval;
    return page->plain ? HP_OK : hp_capture_begin(&top->capture);
}

static void close_all(struct request **top)
{
    close_view(*top);
    hp_capture_release(&(*top)->capture);
    hp_board_fini(&(*top)->board);
    hp_sources_fini(&(*top)->sources);
    hp_strbuf_fini(&(*top)->text);
    hp_strbuf_fini(&(*top)->command);
}

static enum hp_err watch(struct request *at, char *const *argv, struct hp_profile **profile,
                         int *status)
{
    struct request *top HP_CLEANUP(close_all) = at;
    struct hp_session_settings *settings = &top->session.settings;
    HP_TRY(open_view(top, argv));
    settings->context = top;
    settings->tick = look_if_due;
    return hp_session_run(settings, argv, profile, status);
}

/* What the view begins with. An expression that is only about the report is left to that. */
static enum hp_err begin_state(struct request *top)
{
    struct hp_top_state *state = &top->state;
    const struct hp_report_query *query = &top->report.query;
    struct hp_top_place *place = hp_top_place(state);
    hp_top_begin(state);
    state->since = top->since;
    if (top->view)
        HP_TRY(hp_name_find(hp_top_views, "view", top->view, &place->view));
    if (query->sort)
        hp_top_sort_by(state, query->sort);
    wish(top);
    if (query->filter && strlen(query->filter) < sizeof place->filter &&
        hp_top_filter_set(&top->kept, query->filter, top->wish.kinds) == HP_TOP_FILTER_EXPRESSION)
        strcpy(place->filter, query->filter);
    return HP_OK;
}

/* The results, where they belong. */
static enum hp_err show_results(struct request *top, struct hp_profile *profile, const char *path,
                                struct hp_report_options *report)
{
    if (path)
        HP_TRY(hp_profile_save(profile, path));
    if (!top->session.quiet) {
        HP_TRY(hp_cli_show(profile, &top->report.shown));
        hp_cli_style(report, stderr);
        HP_TRY(hp_report(profile, report, stderr));
    }
    if (path)
        hp_cli_say_written(&top->session, "profile", path, "hotpath report");
    return *top->failure ? hp_fail(HP_ERR_NOMEM, "%s", top->failure) : HP_OK;
}

static void show_output(void *context)
{
    hp_capture_show(context);
}

static enum hp_err run_top(struct request *top, const struct hp_invocation *call, int *status)
{
    struct hp_session_settings *settings = &top->session.settings;
    struct hp_report_options report;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *path HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf list HP_CLEANUP(hp_strbuf_fini) = {0};
    HP_TRY(hp_cli_report_options(&top->report, &report));
    settings->lines = top->output ? HP_LINES_ALL : hp_cli_lines(&report);
    settings->physical = top->report.shown.physical;
    HP_TRY(begin_state(top));
    if (top->interval_text)
        HP_TRY(read_interval(top->interval_text, &top->interval));
    if (top->output) {
        HP_TRY(hp_cli_output_name(top->output, &path));
        HP_TRY(hp_cli_check_output(path));
    }
    if (settings->profile) /* the view cannot be without the exact counts */
        hp_strbuf_format(&list, "exact,%s", settings->profile);
    settings->profile = settings->profile ? hp_strbuf_text(&list) : DEFAULT_PROFILE;
    HP_TRY(hp_cli_recording_begin(&top->session, call, path));
    enum hp_err err = watch(top, call->words, &profile, status);
    if (err == HP_OK)
        err = show_results(top, profile, path, &report);
    const char *said = path ? "its profile is written" : "its report is printed";
    hp_cli_recording_end(&top->session, err == HP_OK ? said : hp_error_text(), status,
                         top->capture.active ? show_output : NULL, &top->capture);
    return err;
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *top = call->values;
    enum hp_err err = run_top(top, call, &call->status);
    hp_capture_end(&top->capture);
    hp_top_filter_fini(&top->kept);
    return err;
}

static const struct hp_option rows[] = {
    {"view", 'v', HP_TEXT(view), "PART", "what to begin with: {} (default: all)"},
    {"interval", 'i', HP_TEXT(interval_text), "SECONDS",
     "how often to look, from 0.05 to 3600 (default 0.5; of plain pages 1)"},
    {"since-start", 0, HP_FLAG(since), NULL, "shares since the start, not of the last interval"},
    {"plain", 0, HP_FLAG(plain), NULL, "print pages one below the other, without keys"},
    {"top", 'n', HP_COUNT(report.top), "N", "rows of the report (default 5; 0: all)"},
    {"verbose", 0, HP_FLAG(report.verbose), NULL,
     "say also what the engine did: blocks, segments, links, traces"},
    HP_QUERY_OPTIONS(report.query),
    HP_THREAD_OPTIONS(report.query),
    HP_OPTION_FULL_NAMES(report.full_names),
    HP_SHOWN_OPTIONS(report.shown),
    {"output", 'o', HP_TEXT(output), "FILE", "keep the profile, as hotpath record does"},
    {"profile", 'p', HP_TEXT(session.settings.profile), "LIST",
     "what to make of it besides exact, joined by commas: loops, paths, hotspots (default: all "
     "three), predictions; fewer are faster"},
    {0},
};

const struct hp_command hp_command_top = {
    .name = "top",
    .summary = "run a program and show live what it does",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM as 'hotpath run' does and shows, while it runs, what it does: functions, "
        "paths, loops, the hot spot of now, rates. One can scroll, sort, filter, freeze the view, "
        "and open a function to see its lines, loops, callers and callees; ? explains the keys, as "
        "'hotpath help keys' does. q leaves the view (the program goes on), Ctrl-C interrupts the "
        "program. When the program has ended, a report is printed on stderr; the exit status is "
        "the program's. --sort and --filter are for the report, and what the view begins with.\n\n"
        "What the program prints on the terminal is kept and comes when the view is left; "
        "redirected output stays as it is. A terminal as the program's input is replaced by "
        "/dev/null: the keys are for the view. Without a terminal, or with --plain, pages are "
        "printed one below the other.\n",
    .examples = "  hotpath top -- gzip -9c FILE > /dev/null\n"
                "  hotpath top --view loops --interval 2 -- ./prog\n"
                "  hotpath top -o prog.hotpath -- ./prog          keep the profile as well\n"
                "  hotpath top --plain -- ./prog 2> log           a page a second\n",
    .options = {rows, hp_options_details, hp_options_region, hp_options_engine},
    .unobserved = true,
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS}, .report.top = DEFAULT_TOP)},
    .run = run,
};
