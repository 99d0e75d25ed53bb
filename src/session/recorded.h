// SPDX-License-Identifier: MIT
/*
 * A stream that somebody else recorded: a session takes it like a trace.
 */
#ifndef HP_SESSION_RECORDED_H
#define HP_SESSION_RECORDED_H

#include "engine/engine.h"
#include "hotpath/session.h"
#include "hotpath/trace.h"

struct hp_recorded {
    struct hp_trace_run run;
    /* Delivers all of it; defines what it names in the code map. */
    enum hp_err (*deliver)(struct hp_recorded *recorded, struct hp_code *code,
                           struct hp_consumer *consumer);
    /* Adds to the profile what its reader must know. */
    enum hp_err (*note)(struct hp_recorded *recorded, struct hp_profile *profile);
};

/* The profile of it, as of hp_session_replay(). */
HP_MUST_CHECK enum hp_err hp_session_take(const struct hp_session_settings *settings,
                                          struct hp_recorded *recorded,
                                          struct hp_profile **profile);

/* A trace of it. */
HP_MUST_CHECK enum hp_err hp_session_keep(const struct hp_session_settings *settings,
                                          struct hp_recorded *recorded, const char *trace_path);

#endif
