// SPDX-License-Identifier: MIT
/*
 * The program's output while a view fills the terminal: what it would print there goes into a file
 * without a name, to be shown later. The terminal as its input is /dev/null meanwhile. What is
 * redirected stays so.
 */
#ifndef HP_CLI_CAPTURE_H
#define HP_CLI_CAPTURE_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* All zero: nothing is captured. */
struct hp_capture {
    bool active;
    int file;
    int saved[3]; /* what the standard descriptors were; -1: untouched */
    off_t shown;  /* of the file */
};

/* From now on, also for programs that are started. HP_ERR_IO: there is no such file. */
enum hp_err hp_capture_begin(struct hp_capture *capture);

/* Prints what has come since the last time where it was meant to go. */
void hp_capture_show(struct hp_capture *capture);

/* Prints a text where stderr was. */
void hp_capture_say(const struct hp_capture *capture, const char *text);

/* Prints the rest; everything is as before. */
void hp_capture_end(struct hp_capture *capture);

#endif
