// SPDX-License-Identifier: MIT
/*
 * Recordings that run, for `hotpath stop`. Each has a socket and a description in a directory of
 * its user, named by hotpath's process id: in XDG_RUNTIME_DIR, else /tmp. Who connects to the
 * socket and says so ends the recording, and reads what became of it. A socket that nobody listens
 * at is what is left of a hotpath that was killed.
 */
#ifndef HP_CLI_RECORDING_H
#define HP_CLI_RECORDING_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- Where it runs, one at a time ------------------------------------------------------------- */

/* From now on it can be found. `output`: the file that it writes; NULL: none. Where that cannot be,
 * it cannot be found. */
void hp_recording_begin(const char *what, const char *output, char *const *command);

/* Whether somebody has asked for its end. To be called often. */
bool hp_recording_asked(void);

/* Tells those who have asked what became of it; it cannot be found any more. Does nothing without
 * hp_recording_begin(). */
void hp_recording_end(const char *said);

/* --- Who looks for it ------------------------------------------------------------------------- */

struct hp_recording {
    pid_t pid;       /* of hotpath */
    int64_t started; /* seconds since 1970 */
    char *what;      /* "record", "top" */
    char *output;    /* its file, absolute; "": none */
    char *command;   /* any bytes */
    char *socket;
};

struct hp_recordings {
    struct hp_recording *all; /* by process id */
    size_t n, cap;
};

/* Those of this user. Release them in any case. HP_ERR_NOMEM. */
enum hp_err hp_recordings_find(struct hp_recordings *recordings);
void hp_recordings_fini(struct hp_recordings *recordings);

/* Ends a recording; waits for what becomes of it, into `said`, "" if it does not tell. HP_ERR_IO:
 * it cannot be reached. One that has ended meanwhile is HP_OK. */
enum hp_err hp_recording_stop(const struct hp_recording *recording, char *said, size_t size);

#endif
