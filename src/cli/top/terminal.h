// SPDX-License-Identifier: MIT
/*
 * The terminal for a view that fills it: alternate screen, keys without Return, restored whatever
 * happens. Codes are those of xterm, which all have that are in use. One at a time.
 *
 * Signals of the terminal stay what they are: Ctrl-C goes to all processes in the foreground. While
 * hotpath is stopped (Ctrl-Z) or in the background, the terminal is the shell's.
 */
#ifndef HP_CLI_TERMINAL_H
#define HP_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* On the terminal that stderr is. False: it is none, or one that cannot move its cursor (TERM).
 * Nothing is changed yet. */
bool hp_terminal_open(void);

/* Restores it, and the handling of signals. May be called again, and without hp_terminal_open(). */
void hp_terminal_close(void);

/* To be called often: stops when Ctrl-Z was pressed, takes the terminal when it can be had. False:
 * it cannot; nothing is to be shown. `*redraw`: what is on the screen is lost, or its size has
 * changed. */
bool hp_terminal_ready(bool *redraw);

/* While it is ready. */
void hp_terminal_size(size_t *width, size_t *height);

/* The next key that was pressed, 0: none. Of longer sequences (arrows) only that there was one: -1.
 */
int hp_terminal_key(void);

/* Shows lines, each ended by a newline, from the top left corner; as many as it has. */
void hp_terminal_show(const char *lines);

#endif
