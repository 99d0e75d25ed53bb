// SPDX-License-Identifier: MIT
/* What the commands share. */
#ifndef HP_CLI_CLI_H
#define HP_CLI_CLI_H

#include "base/cleanup.h"
#include "cli/options.h"
#include "hotpath/profile.h"
#include "report/report.h"

extern const struct hp_command hp_command_run, hp_command_record, hp_command_top, hp_command_report,
    hp_command_export, hp_command_annotate, hp_command_html, hp_command_import, hp_command_compare,
    hp_command_diff, hp_command_ci, hp_command_merge, hp_command_trace_record,
    hp_command_trace_info, hp_command_trace_check, hp_command_trace_dump, hp_command_trace_replay,
    hp_command_wpp_info, hp_command_wpp_expand, hp_command_wpp_hot, hp_command_lab, hp_command_stop,
    hp_command_help;

/* Prints "hotpath: " and the last error's text on stderr; returns the status for it. */
int hp_cli_fail(enum hp_err err);

/* Prints a note about a file, or, with NULL, about what is at hand, as one line. */
void hp_cli_note(const char *path, const char *text);

/* Progress of fetching debug files, where it takes a while and stderr is a terminal, and why it
 * failed. `quiet`: neither. */
void hp_cli_tell_fetches(bool quiet);

/* Reads a profile; of a damaged one what can be read, and says so. */
enum hp_err hp_cli_load(const char *path, struct hp_profile **profile);

HP_CLEANUP_POINTER(hp_cli_free_profile, struct hp_profile, hp_profile_free)

/* How a report looks on `file`: colour (unless NO_COLOR is set) and width only for a terminal. */
void hp_cli_style(struct hp_report_options *options, FILE *file);

/* What is shown as it is in the machine, not as people think of it. */
struct hp_cli_shown {
    bool plt;      /* stubs */
    bool physical; /* inlined functions are part of what they were inlined into */
};

/* What a report command line may say about the output. */
struct hp_cli_output {
    uint64_t top; /* HP_NOT_SAID: as many as are usual */
    bool json, csv;
    bool full_names;
    struct hp_cli_shown shown;
    const char *threads; /* "each" or "all" */
    const char *view;
    struct hp_report_query query;
    bool verbose;
};

/* The options of a report's query, for the table of a command that has it as `member`. */
#define HP_QUERY_OPTIONS(member)                                                                   \
    {"sort", 0, HP_TEXT(member.sort), "COLUMN",                                                    \
     "order rows by a column, the largest first, texts from A to Z; -COLUMN: the other way "       \
     "round; "                                                                                     \
     "columns are called as in JSON and CSV ('hotpath help columns')"},                            \
        {"filter", 0, HP_TEXT(member.filter), "EXPRESSION",                                        \
         "only rows that pass, such as 'iterations < 4 and share > 1%'"},                          \
        {"function", 0, HP_TEXT(member.function), "NAME",                                          \
         "only what is about functions of that name, or with it in their name"},                   \
    {                                                                                              \
        "module", 0, HP_TEXT(member.module), "NAME",                                               \
            "only what is about modules of that name, or with it in their path"                    \
    }

/* Of a report of a profile, these too. */
#define HP_THREAD_OPTIONS(member)                                                                  \
    {"thread", 0, HP_TEXT(member.thread), "THREAD",                                                \
     "only what a thread did: its number in the view threads, the kernel's, or a part of its "     \
     "name"},                                                                                      \
    {                                                                                              \
        "process", 0, HP_TEXT(member.process), "PROCESS",                                          \
            "only what a process did: its pid, its program's name, or a part of its command"       \
    }

#define HP_OPTION_FULL_NAMES(member)                                                               \
    {                                                                                              \
        "full-names", 0, HP_FLAG(member), NULL,                                                    \
            "text: do not shorten the names of functions where the terminal is too narrow"         \
    }

#define HP_SHOWN_OPTIONS(member)                                                                   \
    {"plt", 0, HP_FLAG(member.plt), NULL,                                                          \
     "show stubs (strcmp@plt) as they are, not as a part of what they call"},                      \
    {                                                                                              \
        "physical", 0, HP_FLAG(member.physical), NULL,                                             \
            "show inlined functions as a part of the function that has their code"                 \
    }

/* Folds stubs into what they call and makes inlined functions functions, unless it says
 * otherwise. */
enum hp_err hp_cli_show(struct hp_profile *profile, const struct hp_cli_shown *shown);

/* Loads two versions and shows them so, with the same functions inlined as far as both know it. */
enum hp_err hp_cli_load_versions(const char *old_path, const char *new_path,
                                 const struct hp_cli_shown *shown, struct hp_profile **old,
                                 struct hp_profile **new);

#define HP_NOT_SAID UINT64_MAX /* of an option that takes a number */

/* Checks and translates into report options. */
enum hp_err hp_cli_report_options(const struct hp_cli_output *output,
                                  struct hp_report_options *options);

/* Which source lines such a report shows: only they have to be found. */
enum hp_line_detail hp_cli_lines(const struct hp_report_options *options);

/* Of commands that take nothing but --json. */
struct hp_cli_json {
    bool json;
};

extern const struct hp_option hp_options_json[];

/* Prints to `path`, whole or not at all; to stdout when it is NULL or "-". */
enum hp_err hp_cli_write(const char *path, enum hp_err (*print)(void *context, FILE *out),
                         void *context);
enum hp_err hp_cli_write_report(const struct hp_profile *profile,
                                const struct hp_report_options *options, const char *path);

/* HP_ERR_IO: what was printed on standard output did not get there. */
enum hp_err hp_cli_flush(void);

/* `*name` becomes `pattern` with "%p" replaced by hotpath's process id and "%%" by "%". Free it. */
enum hp_err hp_cli_output_name(const char *pattern, char **name);

/* Before a program runs for an hour. HP_ERR_IO: a file of that name cannot be written. */
enum hp_err hp_cli_check_output(const char *path);

struct hp_progress {
    bool enabled;
    bool shown;
    double started, last;
    uint64_t last_instructions;
};

/* Enabled when stderr is a terminal and the user did not ask for quiet. */
void hp_progress_start(struct hp_progress *progress, bool quiet);

/* Whether it is time to show something: at most a few times a second, not in the first second. */
bool hp_progress_due(struct hp_progress *progress);
void hp_progress_show(struct hp_progress *progress, uint64_t instructions);

/* Clears the line. */
void hp_progress_end(struct hp_progress *progress);

/* What the commands that run a program share; the first in their values. */
struct hp_cli_session {
    struct hp_progress progress; /* first: it is the context of the settings' callbacks */
    struct hp_session_settings settings;
    bool quiet;
    const char *length; /* of the region: instructions, or a time */
    double seconds;     /* as that says; 0: to its end */
    bool can_end;       /* before the program */
    double begun, looked;
};

#define HP_CLI_SESSION_DEFAULTS                                                                    \
    .settings.cache_size = UINT64_C(256) << 20, .settings.lag = UINT64_C(1) << 20

/* Tables of options of a struct hp_cli_session. */
extern const struct hp_option hp_options_profilers[]; /* which profilers, and their parameters */
extern const struct hp_option hp_options_details[];   /* of paths and hot spots */
extern const struct hp_option hp_options_record[];    /* what the engine records */
extern const struct hp_option hp_options_region[];    /* which part of the run */
extern const struct hp_option hp_options_engine[];    /* how the program is run; --quiet */

/* Completes the settings: progress, unless it is quiet; warnings; signals. HP_ERR_INVALID. */
enum hp_err hp_cli_session_begin(struct hp_cli_session *session);

/* The same of a recording, which `hotpath stop` and a time (--for) can end before the program.
 * `output` NULL: nothing is written to a file. */
enum hp_err hp_cli_recording_begin(struct hp_cli_session *session, const struct hp_invocation *call,
                                   const char *output);

/* Its results are where they belong, as `said`: tells who has asked for its end. A program that
 * still runs is waited for, with tick(context) where that is not NULL, and `*status` is its own. */
void hp_cli_recording_end(struct hp_cli_session *session, const char *said, int *status,
                          void (*tick)(void *context), void *context);

/* "hotpath: profile written to FILE (hotpath report FILE)", unless it is quiet. */
void hp_cli_say_written(const struct hp_cli_session *session, const char *what, const char *path,
                        const char *command);

#endif
