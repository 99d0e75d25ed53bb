// SPDX-License-Identifier: MIT
/*
 * hotpath top: a view of a program while it runs (docs/top.md).
 */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session_options.h"
#include "cli/top/capture.h"
#include "cli/top/page.h"
#include "cli/top/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_PROFILE  "exact,loops,paths,hotspots"
#define DEFAULT_INTERVAL 0.5
#define PLAIN_INTERVAL   1.0
#define PLAIN_WIDTH      80
#define DEFAULT_TOP      5
#define COST_SHARE       100  /* a look takes at most this part of the time between two */
#define KEYS_SECONDS     0.03 /* how often keys are looked for */
#define SOON             0.15 /* the next look when something else is to be shown */

/* The one who looks. */
struct top {
    struct hp_top_page page;
    struct hp_board board;
    struct hp_capture capture;
    struct hp_strbuf text;
    bool opened;    /* the board */
    bool closed;    /* the view: nothing is shown any more */
    bool changed;   /* the page has to be made anew */
    double started; /* seconds, as the rest */
    double interval;
    double next_look, next_keys;
    char *failure; /* for the end; "": none */
    size_t failure_size;
};

/* --- The view --------------------------------------------------------------------------------- */

static void open_board(struct top *top, struct hp_session *session)
{
    top->opened = true;
    hp_board_open(&top->board, session, top->started);
    top->page.board = &top->board;
    top->page.engine = hp_session_info(session).engine;
}

static void close_view(struct top *top)
{
    if (top->closed)
        return;
    top->closed = true;
    if (!top->page.plain)
        hp_terminal_close();
    hp_capture_show(&top->capture);
}

/* The view ends; the program goes on, and what failed is told in the end. */
static void fail(struct top *top)
{
    snprintf(top->failure, top->failure_size, "the view ended: %s", hp_error_text());
    close_view(top);
}

static void look(struct top *top, double now)
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

static void draw(struct top *top)
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
static void set_view(struct top *top, enum hp_top_view view)
{
    double soon = top->board.looked + SOON;
    top->page.view = view;
    top->page.paused = false;
    top->next_look = soon < top->next_look ? soon : top->next_look;
}

static void reset(struct top *top)
{
    if (hp_board_reset(&top->board) != HP_OK)
        fail(top);
    set_view(top, top->page.view);
}

static void press(struct top *top, int key, pid_t program)
{
    struct hp_top_page *page = &top->page;
    bool was_help = page->help;
    page->help = false;
    top->changed = true;
    if (key >= '0' && key < '0' + HP_TOP_VIEWS)
        set_view(top, (enum hp_top_view)(key - '0'));
    switch (key) {
    case '\t': set_view(top, (enum hp_top_view)((page->view + 1) % HP_TOP_VIEWS)); break;
    case 't':
        page->wish.since = !page->wish.since;
        set_view(top, page->view);
        break;
    case 's':
        page->wish.order = (page->wish.order + 1) % HP_BOARD_ORDERS;
        set_view(top, page->view);
        break;
    case 'r': reset(top); break;
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
static bool attend(struct top *top, pid_t program)
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
    struct top *top = context;
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
    if (!top->opened)
        open_board(top, session);
    if (!attend(top, hp_session_info(session).pid)) {
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

struct request {
    struct hp_cli_session session;
    const char *view, *interval, *output;
    uint64_t top;
    bool plain, since;
    char *path;    /* of the profile */
    char *profile; /* list of profiles */
    char *command;
    char failure[256]; /* of the view */
};

static enum hp_err read_interval(const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0.05 && value <= 3600))
        return hp_fail(HP_ERR_INVALID, "--interval is from 0.05 to 3600 seconds, not '%s'", text);
    *seconds = value;
    return HP_OK;
}

static char *join(char *const *argv)
{
    struct hp_strbuf text = {0};
    for (size_t i = 0; argv[i]; i++) {
        hp_strbuf_add(&text, i ? " " : "");
        hp_strbuf_add(&text, argv[i]);
    }
    return text.failed ? NULL : text.data;
}

/* The view cannot be without the exact counts. */
static enum hp_err complete_profile(struct request *request)
{
    const char *list = request->session.settings.profile;
    if (!list) {
        request->session.settings.profile = DEFAULT_PROFILE;
        return HP_OK;
    }
    if (asprintf(&request->profile, "exact,%s", list) < 0) {
        request->profile = NULL;
        return hp_fail_nomem();
    }
    request->session.settings.profile = request->profile;
    return HP_OK;
}

static enum hp_err prepare(struct request *request, struct top *top, char *const *argv)
{
    if (request->view)
        HP_TRY(hp_top_view_from_name(request->view, &top->page.view));
    if (request->interval)
        HP_TRY(read_interval(request->interval, &top->interval));
    if (request->output) {
        request->path = hp_output_name(request->output, getpid());
        HP_TRY(request->path ? hp_output_check(request->path) : hp_fail_nomem());
    }
    HP_TRY(complete_profile(request));
    request->command = join(argv);
    if (!request->command)
        return hp_fail_nomem();
    top->page.command = request->command;
    top->page.wish.since = request->since;
    return HP_OK;
}

/* Where it is shown. */
static enum hp_err open_view(const struct request *request, struct top *top)
{
    struct hp_report_options style = {0};
    top->page.plain = request->plain || !hp_terminal_open();
    hp_cli_style(&style, stderr);
    top->page.color = style.color && !top->page.plain;
    top->page.width = style.width > 0 ? (size_t)style.width : PLAIN_WIDTH;
    if (top->interval == 0)
        top->interval = top->page.plain ? PLAIN_INTERVAL : DEFAULT_INTERVAL;
    top->started = hp_now();
    top->next_look = top->started + top->interval;
    return top->page.plain ? HP_OK : hp_capture_begin(&top->capture);
}

static void close_all(struct top *top)
{
    close_view(top);
    hp_capture_end(&top->capture);
    hp_board_fini(&top->board);
    hp_strbuf_fini(&top->text);
}

static enum hp_err watch(struct request *request, char *const *argv, struct hp_profile **profile,
                         int *status)
{
    struct top top = {.failure = request->failure, .failure_size = sizeof request->failure};
    HP_TRY(prepare(request, &top, argv));
    HP_TRY(hp_cli_session_begin(&request->session));
    enum hp_err err = open_view(request, &top);
    struct hp_session_settings session = request->session.settings;
    session.context = &top;
    session.tick = look_if_due;
    if (err == HP_OK)
        err = hp_session_run(&session, argv, profile, status);
    close_all(&top);
    return err;
}

static enum hp_err report(const struct request *request, const struct hp_report_options *options,
                          const struct hp_profile *profile)
{
    struct hp_report_options styled = *options;
    if (request->path)
        HP_TRY(hp_profile_save(profile, request->path));
    if (request->session.quiet)
        return HP_OK;
    hp_cli_style(&styled, stderr);
    HP_TRY(hp_report(profile, &styled, stderr));
    if (request->path)
        fprintf(stderr, "hotpath: profile written to %s (hotpath report %s)\n", request->path,
                request->path);
    return HP_OK;
}

static enum hp_err run(struct request *request, char **argv, int *status)
{
    struct hp_cli_output output = {.top = request->top};
    struct hp_report_options options;
    struct hp_profile *profile = NULL;
    HP_TRY(hp_cli_report_options(&output, &options));
    request->session.settings.lines = request->output ? HP_LINES_ALL : hp_cli_lines(&options);
    enum hp_err err = watch(request, argv, &profile, status);
    if (err == HP_OK)
        err = report(request, &options, profile);
    hp_profile_free(profile);
    return err == HP_OK && *request->failure ? hp_fail(HP_ERR_NOMEM, "%s", request->failure) : err;
}

static const struct request defaults = {.session = HP_CLI_SESSION_DEFAULTS, .top = DEFAULT_TOP};

static const struct hp_option rows[] = {
    {"view", 'v', HP_OPT_TEXT, offsetof(struct request, view), "VIEW",
     "what to begin with: all (default), functions, paths,\nloops, hotspots", 0},
    {"interval", 'i', HP_OPT_TEXT, offsetof(struct request, interval), "SECONDS",
     "how often to look (default 0.5; of plain pages 1)", 0},
    {"since-start", 0, HP_OPT_FLAG, offsetof(struct request, since), NULL,
     "shares since the start, not of the last interval", 0},
    {"plain", 0, HP_OPT_FLAG, offsetof(struct request, plain), NULL,
     "print pages one below the other, without keys", 0},
    {"top", 'n', HP_OPT_COUNT, offsetof(struct request, top), "N",
     "rows of the report (default 5; 0: all)", 0},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct request, output), "FILE",
     "keep the profile, as hotpath record does", HP_WORDS_FILES},
    {"profile", 'p', HP_OPT_TEXT, offsetof(struct request, session.settings.profile), "LIST",
     "what to make of it besides exact, joined by commas:\nloops, paths, hotspots (default: "
     "all three), predictions;\nfewer are faster",
     HP_WORDS_PROFILERS},
    {"paths", 0, HP_OPT_TEXT, offsetof(struct request, session.settings.paths), "TYPE",
     "which paths: bl (default), wpp, extended-loop:N,\nextended-call:N, forward, or a table "
     "of operations",
     0},
    {"max-paths", 0, HP_OPT_COUNT, offsetof(struct request, session.settings.max_paths), "N",
     "distinct paths to keep, a thread (default 33M)", 0},
    {"hotspots", 0, HP_OPT_TEXT, offsetof(struct request, session.settings.hotspots), "NAME",
     "which hot spot detector: merten (default), dense; and\nchanges to it: "
     "merten,candidate=8",
     0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_region, offsetof(struct request, session)},
    {hp_options_engine, offsetof(struct request, session)},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    (void)n;
    enum hp_err err = run(r, words, status);
    free(r->path);
    free(r->profile);
    free(r->command);
    return err;
}

const struct hp_command hp_command_top = {
    .name = "top",
    .summary = "run a program and show live what it does",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM as 'hotpath run' does and shows, while it runs, what it does: functions, "
            "paths,\n"
            "loops, the hot spot of now, rates. Keys: 0 to 4 or Tab choose the view, t the last "
            "interval\n"
            "or since the start, s the order, p holds the view, r starts anew, ? explains, q "
            "leaves the\n"
            "view (the program goes on), K or Ctrl-C interrupts the program. When the program has "
            "ended,\n"
            "a report is printed on stderr; the exit status is the program's.\n\n"
            "What the program prints on the terminal is kept and comes when the view is left; "
            "redirected\n"
            "output stays as it is. A terminal as the program's input is replaced by /dev/null: "
            "the keys\n"
            "are for the view. Without a terminal, or with --plain, pages are printed one below "
            "the other.\n",
    .examples = "  hotpath top -- gzip -9c FILE > /dev/null\n"
                "  hotpath top --view loops --interval 2 -- ./prog\n"
                "  hotpath top -o prog.hotpath -- ./prog          keep the profile as well\n"
                "  hotpath top --plain -- ./prog 2> log           a page a second\n",
    .options = options,
    .stop_at_word = true,
    .unobserved = true,
    .least = 1,
    .wrong = "no program given",
    .instead = "hotpath top -- PROGRAM ARGUMENTS",
    .defaults = &defaults,
    .size = sizeof(struct request),
    .run = run_command,
};
