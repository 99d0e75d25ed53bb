// SPDX-License-Identifier: MIT
/*
 * A progress line on the terminal, for runs that last.
 */
#ifndef HP_CLI_PROGRESS_H
#define HP_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_session;
struct hp_session_settings;

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

/* Makes it the context of a session: settings whose `context` begins with a hp_progress. Such a
 * session shows progress, unless `quiet`, prints warnings, and passes signals on to the program. */
void hp_progress_of_session(struct hp_progress *progress, struct hp_session_settings *settings,
                            bool quiet);

/* Clears the line. */
void hp_progress_end(struct hp_progress *progress);

/* Seconds of the monotonic clock. */
double hp_now(void);

#endif
