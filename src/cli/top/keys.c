// SPDX-License-Identifier: MIT
#include "cli/top/keys.h"

#include "base/base.h"

const struct hp_top_key hp_top_keys[] = {
    {"0 to 4",
     "all parts, or one: functions, paths, loops, hot spots; in a function its lines, loops, "
     "callers, callees",
     "0-4 part",
     HP_TOP_PART,
     {'0', '1', '2', '3', '4'}},
    {"Tab", "the next part", NULL, HP_TOP_NEXT_PART, {HP_KEY_TAB}},
    {"Up, k", "the row above", NULL, HP_TOP_UP, {HP_KEY_UP, 'k'}},
    {"Down, j", "the row below", "↑↓", HP_TOP_DOWN, {HP_KEY_DOWN, 'j'}},
    {"PgUp, b",
     "a page up; where several parts are shown, the one above",
     NULL,
     HP_TOP_PAGE_UP,
     {HP_KEY_PAGE_UP, 'b'}},
    {"PgDn, d", "a page down; or the part below", NULL, HP_TOP_PAGE_DOWN, {HP_KEY_PAGE_DOWN, 'd'}},
    {"Home, g", "the first row", NULL, HP_TOP_FIRST, {HP_KEY_HOME, 'g'}},
    {"End, G", "the last row", NULL, HP_TOP_LAST, {HP_KEY_END, 'G'}},
    {"Enter, Right",
     "open the function of the row: its lines, loops, callers and callees",
     "Enter open",
     HP_TOP_OPEN,
     {HP_KEY_ENTER, HP_KEY_RIGHT, '\n'}},
    {"Esc, Backspace, Left",
     "without the filter; then back",
     NULL,
     HP_TOP_BACK,
     {HP_KEY_ESCAPE, HP_KEY_BACKSPACE, HP_KEY_LEFT, '\b'}},
    {"/",
     "only rows with this in the name of their function or module, or that pass an expression: "
     "share > 1% and calls > 10k; Enter keeps it, Esc does not",
     "/ filter",
     HP_TOP_FILTER,
     {'/'}},
    {"s, >", "sort by the next column", "s sort", HP_TOP_SORT, {'s', '>'}},
    {"S, <", "sort by the column before", NULL, HP_TOP_SORT_BEFORE, {'S', '<'}},
    {"r", "the other way round", NULL, HP_TOP_REVERSE, {'r'}},
    {"f, p, Space",
     "freeze the view, and let it go on; the program always goes on",
     "f freeze",
     HP_TOP_FREEZE,
     {'f', 'p', ' '}},
    {"t", "shares of the last interval, or since the start", "t since", HP_TOP_SINCE, {'t'}},
    {"z", "the start is now", NULL, HP_TOP_ZERO, {'z'}},
    {"?, h",
     "these keys; any key but those for scrolling goes back",
     NULL,
     HP_TOP_HELP,
     {'?', 'h'}},
    {"K", "interrupt the program, as Ctrl-C does", NULL, HP_TOP_INTERRUPT, {'K'}},
    {"q",
     "leave the view; the program goes on, its report comes at its end",
     NULL,
     HP_TOP_QUIT,
     {'q'}},
    {0},
};

enum hp_top_action hp_top_action_of(int key)
{
    for (const struct hp_top_key *k = hp_top_keys; k->name; k++)
        for (const int *code = k->codes; *code; code++)
            if (*code == key)
                return k->action;
    return HP_TOP_NOTHING;
}

/* --- What terminals send ---------------------------------------------------------------------- */

/* Behind "ESC [" or "ESC O", by the last byte; '~' by the number before it. */
static int of_sequence(const unsigned char *parameters, size_t n, unsigned char last)
{
    static const struct {
        const char *numbers; /* NULL: the byte is enough */
        unsigned char last;
        int key;
    } known[] = {
        {NULL, 'A', HP_KEY_UP},   {NULL, 'B', HP_KEY_DOWN},   {NULL, 'C', HP_KEY_RIGHT},
        {NULL, 'D', HP_KEY_LEFT}, {NULL, 'H', HP_KEY_HOME},   {NULL, 'F', HP_KEY_END},
        {"1", '~', HP_KEY_HOME},  {"7", '~', HP_KEY_HOME},    {"4", '~', HP_KEY_END},
        {"8", '~', HP_KEY_END},   {"5", '~', HP_KEY_PAGE_UP}, {"6", '~', HP_KEY_PAGE_DOWN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].last == last &&
            (!known[i].numbers ||
             (n == strlen(known[i].numbers) && memcmp(parameters, known[i].numbers, n) == 0)))
            return known[i].key;
    return HP_KEY_OTHER;
}

int hp_key_decode(const unsigned char *bytes, size_t n, bool all, size_t *used)
{
    *used = 1;
    if (bytes[0] == 0)
        return HP_KEY_OTHER;
    if (bytes[0] != HP_KEY_ESCAPE)
        return bytes[0];
    bool sequence = n > 1 && (bytes[1] == '[' || bytes[1] == 'O');
    for (size_t i = 2; sequence && i < n; i++)
        if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) {
            *used = i + 1;
            return of_sequence(bytes + 2, i - 2, bytes[i]);
        }
    if (!all && (n == 1 || sequence)) {
        *used = 0;
        return HP_KEY_NONE;
    }
    *used = sequence ? n : 1;
    return sequence ? HP_KEY_OTHER : HP_KEY_ESCAPE;
}

void hp_top_keys_put(struct hp_strbuf *lines)
{
    for (const struct hp_top_key *key = hp_top_keys; key->name; key++)
        hp_strbuf_format(lines, "%s\t%s\n", key->name, key->help);
}
