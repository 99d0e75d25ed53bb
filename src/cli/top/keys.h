// SPDX-License-Identifier: MIT
/*
 * Keys of the live view: one list, which the view obeys, its help, `hotpath help keys` and the
 * documents print. And what terminals send for them.
 */
#ifndef HP_CLI_TOP_KEYS_H
#define HP_CLI_TOP_KEYS_H

#include "text/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* A key is the byte that it sends, or one of these. */
enum {
    HP_KEY_NONE = 0,
    HP_KEY_TAB = '\t',
    HP_KEY_ENTER = '\r',
    HP_KEY_ESCAPE = 27,
    HP_KEY_BACKSPACE = 127,
    HP_KEY_UP = 256,
    HP_KEY_DOWN,
    HP_KEY_LEFT,
    HP_KEY_RIGHT,
    HP_KEY_HOME,
    HP_KEY_END,
    HP_KEY_PAGE_UP,
    HP_KEY_PAGE_DOWN,
    HP_KEY_OTHER, /* a sequence that means nothing here */
};

enum hp_top_action {
    HP_TOP_NOTHING,
    HP_TOP_PART,
    HP_TOP_NEXT_PART,
    HP_TOP_UP,
    HP_TOP_DOWN,
    HP_TOP_PAGE_UP,
    HP_TOP_PAGE_DOWN,
    HP_TOP_FIRST,
    HP_TOP_LAST,
    HP_TOP_OPEN,
    HP_TOP_BACK,
    HP_TOP_SORT,
    HP_TOP_SORT_BEFORE,
    HP_TOP_REVERSE,
    HP_TOP_FILTER,
    HP_TOP_FREEZE,
    HP_TOP_SINCE,
    HP_TOP_ZERO,
    HP_TOP_HELP,
    HP_TOP_INTERRUPT,
    HP_TOP_QUIT,
};

struct hp_top_key {
    const char *name; /* as a person calls it; NULL ends the list */
    const char *help;
    const char *brief; /* for the last line of the view; NULL: not there */
    enum hp_top_action action;
    int codes[6]; /* ended by 0 */
};

extern const struct hp_top_key hp_top_keys[];

enum hp_top_action hp_top_action_of(int key);

/* The key that `n` > 0 bytes begin with, and how many of them it is. `*used` 0: it may be the
 * beginning of a sequence; with `all`, no more will come. */
int hp_key_decode(const unsigned char *bytes, size_t n, bool all, size_t *used);

/* "name\thelp\n", as the lists of cli/help.h. */
void hp_top_keys_put(struct hp_strbuf *lines);

#endif
