// SPDX-License-Identifier: MIT
/*
 * What the commands that run a program share: their options, described once, and the session.
 */
#ifndef HP_CLI_SESSION_OPTIONS_H
#define HP_CLI_SESSION_OPTIONS_H

#include "cli/options.h"
#include "cli/progress.h"

struct hp_cli_session {
    struct hp_progress progress; /* first: it is the context of the settings' callbacks */
    struct hp_session_settings settings;
    uint64_t cache_size; /* bytes, as given */
    bool quiet;
};

#define HP_CLI_SESSION_DEFAULTS                                                                    \
    {                                                                                              \
        .cache_size = UINT64_C(256) << 20                                                          \
    }

/* Groups of options, about a struct hp_cli_session. */
extern const struct hp_option hp_options_profilers[]; /* which profilers, and their parameters */
extern const struct hp_option hp_options_record[];    /* what the engine records */
extern const struct hp_option hp_options_region[];    /* which part of the run */
extern const struct hp_option hp_options_engine[];    /* how the program is run; --quiet */

/* Completes the settings: progress, unless it is quiet; warnings; signals. HP_ERR_INVALID. */
enum hp_err hp_cli_session_begin(struct hp_cli_session *session);

#endif
