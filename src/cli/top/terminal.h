// SPDX-License-Identifier: MIT
/*
 * The terminal for a view that fills it: alternate screen, keys without Return, restored whatever
 * happens, also by signals that end hotpath. Codes are those of xterm, which all have that are in
 * use. One at a time.
 *
 * Signals of the terminal stay what they are: Ctrl-C goes to all processes in the foreground. While
 * hotpath is stopped (Ctrl-Z) or in the background, the terminal is the shell's.
 */
#ifndef HP_CLI_TERMINAL_H
#define HP_CLI_TERMINAL_H

#include "session/session_impl.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of stderr; nothing is changed yet. False: no terminal, or one that cannot move its cursor. */
bool hp_terminal_open(void);

/* Restores it, and the handling of signals. May be called again, and without hp_terminal_open(). */
void hp_terminal_close(void);

/* To be called often: stops when Ctrl-Z was pressed, takes the terminal when it can be had. False:
 * it cannot; nothing is to be shown. `*redraw`: what is on the screen is lost, or its size has
 * changed. */
bool hp_terminal_ready(bool *redraw);

/* While it is ready. */
void hp_terminal_size(size_t *width, size_t *height);

/* The next key that was pressed, as in keys.h; HP_KEY_NONE: none. */
int hp_terminal_key(void);

/* Shows lines, each ended by a newline, from the top left corner; as many as it has. Only those
 * that differ from what was shown before are written, all at once. */
void hp_terminal_show(const char *lines);

/* Writes all of it; false: it cannot be. */
bool hp_write_all(int fd, const char *bytes, size_t n);

/*
 * The program's output while a view fills the terminal: what it would print there goes into a file
 * without a name, to be shown later. The terminal as its input is /dev/null meanwhile. What is
 * redirected stays so. All zero: nothing is captured.
 */
struct hp_capture {
    bool active;
    int file;
    struct hp_standard standard;
    int replaced; /* where it goes in the end: STDOUT_FILENO, STDERR_FILENO; -1: nowhere */
    off_t shown;  /* of the file */
};

/* From now on, also for programs that are started. HP_ERR_IO: there is no such file. */
enum hp_err hp_capture_begin(struct hp_capture *capture);

/* Prints what has come since the last time where it was meant to go. */
void hp_capture_show(struct hp_capture *capture);

/* Prints a text where stderr was. */
void hp_capture_say(const struct hp_capture *capture, const char *text);

/* Prints what there is; our own output is as before. A program that goes on writes to the file. */
void hp_capture_release(struct hp_capture *capture);

/* Prints the rest; everything is as before. */
void hp_capture_end(struct hp_capture *capture);

#endif
