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
    struct hp_board board;
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

static void look(struct request *top, double now)
{
    enum hp_err err = hp_board_look(&top->board, &top->page.wish, now);
    double pause = top->board.cost * COST_SHARE, interval = top->interval;
    if (top->board.stale && interval > SOON)
        interval = SOON;
    top->next_look = now + (pause > interval ? pause : interval);
    top->page.elapsed = now - top->started;
    top->changed = true;
    if (err != HP_OK)
        fail(top);
}

static void draw(struct request *top)
{
    hp_strbuf_clear(&top->text);
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

/* What is shown differs: it has to be looked at, and the view goes on if it was held. */
static void set_view(struct request *top, unsigned view)
{
    double soon = top->board.looked + SOON;
    top->page.view = view;
    top->page.paused = false;
    top->next_look = soon < top->next_look ? soon : top->next_look;
}

static void press(struct request *top, int key, pid_t program)
{
    struct hp_top_page *page = &top->page;
    bool was_help = page->help;
    page->help = false;
    top->changed = true;
    if (key >= '0' && key < '0' + HP_TOP_VIEWS)
        set_view(top, (unsigned)(key - '0'));
    switch (key) {
    case '\t': set_view(top, (page->view + 1) % HP_TOP_VIEWS); break;
    case 't':
        page->wish.since = !page->wish.since;
        set_view(top, page->view);
        break;
    case 's':
        page->wish.order = (page->wish.order + 1) % HP_BOARD_ORDERS;
        set_view(top, page->view);
        break;
    case 'r':
        if (hp_board_reset(&top->board) != HP_OK)
            fail(top);
        set_view(top, page->view);
        break;
    case 'p':
    case ' ': page->paused = !page->paused; break;
    case 'h':
    case '?': page->help = !was_help; break;
    case 'K': kill(program, SIGINT); break;
    case 'q':
        close_view(top);
        hp_capture_say(&top->capture, "hotpath: the program goes on; Ctrl-C interrupts it\n");
        break;
    default: break;
    }
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
        top->next_look = top->page.paused ? top->next_look : 0;
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
    if (now < top->next_keys && (top->page.paused || now < top->next_look))
        return;
    top->next_keys = now + KEYS_SECONDS;
    if (top->closed) {
        top->next_look = now + KEYS_SECONDS;
        hp_capture_show(&top->capture);
        return;
    }
    struct hp_session_info info = hp_session_info(session);
    if (!top->page.board)
        hp_board_open(&top->board, session, top->started);
    top->page.board = &top->board;
    top->page.engine = info.engine;
    if (!attend(top, info.pid)) {
        top->next_look = now + KEYS_SECONDS;
        return;
    }
    if (now >= top->next_look && !top->page.paused) {
        hp_top_page_wish(&top->page, &top->page.wish);
        look(top, now);
    }
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
    page->plain = page->plain || !hp_terminal_open();
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
    hp_capture_end(&(*top)->capture);
    hp_board_fini(&(*top)->board);
    hp_strbuf_fini(&(*top)->text);
    hp_strbuf_fini(&(*top)->command);
}

static enum hp_err watch(struct request *at, char *const *argv, struct hp_profile **profile,
                         int *status)
{
    struct request *top HP_CLEANUP(close_all) = at;
    struct hp_session_settings *settings = &top->session.settings;
    HP_TRY(hp_cli_session_begin(&top->session));
    HP_TRY(open_view(top, argv));
    settings->context = top;
    settings->tick = look_if_due;
    return hp_session_run(settings, argv, profile, status);
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *top = call->values;
    struct hp_session_settings *settings = &top->session.settings;
    struct hp_report_options report;
    struct hp_profile *profile HP_CLEANUP(hp_cli_free_profile) = NULL;
    char *path HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf list HP_CLEANUP(hp_strbuf_fini) = {0};
    HP_TRY(hp_cli_report_options(&top->report, &report));
    settings->lines = top->output ? HP_LINES_ALL : hp_cli_lines(&report);
    if (top->view)
        HP_TRY(hp_name_find(hp_top_views, "view", top->view, &top->page.view));
    if (top->interval_text)
        HP_TRY(read_interval(top->interval_text, &top->interval));
    if (top->output) {
        HP_TRY(hp_cli_output_name(top->output, &path));
        HP_TRY(hp_cli_check_output(path));
    }
    if (settings->profile) /* the view cannot be without the exact counts */
        hp_strbuf_format(&list, "exact,%s", settings->profile);
    settings->profile = settings->profile ? hp_strbuf_text(&list) : DEFAULT_PROFILE;
    HP_TRY(watch(top, call->words, &profile, &call->status));
    if (path)
        HP_TRY(hp_profile_save(profile, path));
    if (!top->session.quiet) {
        HP_TRY(hp_cli_fold(profile, top->report.plt));
        hp_cli_style(&report, stderr);
        HP_TRY(hp_report(profile, &report, stderr));
    }
    if (path)
        hp_cli_say_written(&top->session, "profile", path, "hotpath report");
    return *top->failure ? hp_fail(HP_ERR_NOMEM, "%s", top->failure) : HP_OK;
}

static const struct hp_option rows[] = {
    {"view", 'v', HP_TEXT(view), "PART", "what to begin with: {} (default: all)"},
    {"interval", 'i', HP_TEXT(interval_text), "SECONDS",
     "how often to look, from 0.05 to 3600 (default 0.5; of plain pages 1)"},
    {"since-start", 0, HP_FLAG(page.wish.since), NULL,
     "shares since the start, not of the last interval"},
    {"plain", 0, HP_FLAG(page.plain), NULL, "print pages one below the other, without keys"},
    {"top", 'n', HP_COUNT(report.top), "N", "rows of the report (default 5; 0: all)"},
    {"verbose", 0, HP_FLAG(report.verbose), NULL,
     "say also what the engine did: blocks, segments, links, traces"},
    HP_QUERY_OPTIONS(report.query),
    HP_THREAD_OPTIONS(report.query),
    HP_OPTION_FULL_NAMES(report.full_names),
    HP_OPTION_PLT(report.plt),
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
        "paths, loops, the hot spot of now, rates. Keys: 0 to 4 or Tab choose the view, t the last "
        "interval or since the start, s the order, p holds the view, r starts anew, ? explains, q "
        "leaves the view (the program goes on), K or Ctrl-C interrupts the program. When the "
        "program has ended, a report is printed on stderr; the exit status is the program's.\n\n"
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
