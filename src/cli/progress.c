// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include "cli/cli.h"
#include "hotpath/session.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SECONDS 1.0
#define EVERY_SECONDS 0.25

double hp_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void hp_progress_start(struct hp_progress *progress, bool quiet)
{
    *progress = (struct hp_progress){.enabled = !quiet && isatty(STDERR_FILENO)};
    progress->started = progress->last = hp_now();
}

bool hp_progress_due(struct hp_progress *progress)
{
    if (!progress->enabled)
        return false;
    double now = hp_now();
    return now - progress->started >= FIRST_SECONDS && now - progress->last >= EVERY_SECONDS;
}

void hp_progress_show(struct hp_progress *progress, uint64_t instructions)
{
    double now = hp_now();
    double rate = (double)(instructions - progress->last_instructions) / (now - progress->last);
    fprintf(stderr, "\r\033[Khotpath: %.2f G instructions, %.0f M/s, %.0f s",
            (double)instructions * 1e-9, rate * 1e-6, now - progress->started);
    fflush(stderr);
    progress->shown = true;
    progress->last = now;
    progress->last_instructions = instructions;
}

void hp_progress_end(struct hp_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

static void tick(void *context, struct hp_session *session)
{
    struct hp_progress *progress = context;
    if (hp_session_is_over(session))
        hp_progress_end(progress);
    else if (hp_progress_due(progress))
        hp_progress_show(progress, hp_session_info(session).instructions);
}

static void warn(void *context, const char *text)
{
    (void)context;
    hp_cli_note(NULL, text);
}

void hp_progress_of_session(struct hp_progress *progress, struct hp_session_settings *settings,
                            bool quiet)
{
    hp_progress_start(progress, quiet);
    settings->context = progress;
    settings->tick = tick;
    settings->warn = warn;
    settings->pass_signals = true;
}
