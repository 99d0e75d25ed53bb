// SPDX-License-Identifier: MIT
/*
 * A growing text. All zero is an empty one. When memory runs out, what does not fit is dropped and
 * `failed` is set, so that a chain of appends needs one check at its end.
 */
#ifndef HP_TEXT_STRBUF_H
#define HP_TEXT_STRBUF_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_strbuf {
    char *data; /* terminated; NULL: nothing was ever appended */
    size_t length;
    size_t capacity;
    bool failed;
};

/* The text; "" when it is empty. Valid until the next append. */
const char *hp_strbuf_text(const struct hp_strbuf *buffer);

/* Empties it, keeping the memory. */
void hp_strbuf_clear(struct hp_strbuf *buffer);
void hp_strbuf_fini(struct hp_strbuf *buffer);

void hp_strbuf_bytes(struct hp_strbuf *buffer, const char *bytes, size_t n);
void hp_strbuf_add(struct hp_strbuf *buffer, const char *text);

/* Like printf(); numbers other than plain integers as text: HP_GROUPED(), HP_FIXED() of
 * number.h. */
void hp_strbuf_format(struct hp_strbuf *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hp_strbuf_uint(struct hp_strbuf *buffer, uint64_t value);
void hp_strbuf_int(struct hp_strbuf *buffer, int64_t value);
void hp_strbuf_hex(struct hp_strbuf *buffer, uint64_t value);
void hp_strbuf_human(struct hp_strbuf *buffer, uint64_t value);
void hp_strbuf_grouped(struct hp_strbuf *buffer, uint64_t value);
void hp_strbuf_percent(struct hp_strbuf *buffer, double fraction);
void hp_strbuf_fixed(struct hp_strbuf *buffer, double value, unsigned decimals);

/* Appends text for a terminal: always valid UTF-8, with "?" for control characters and changes of
 * writing direction, so that a name cannot move the cursor. */
void hp_strbuf_clean(struct hp_strbuf *buffer, const char *text);

/* Where a text that is too long is cut. A path loses directories, the first ones first, before its
 * last component is cut in the middle. That of a cell may also be the name of a function
 * (short_name.h). */
enum hp_cut { HP_CUT_MIDDLE, HP_CUT_END, HP_CUT_PATH, HP_CUT_NAME };

/* Appends valid UTF-8 `text`, cut with a "…" to at most `columns` terminal columns (at least 1). */
void hp_strbuf_cut(struct hp_strbuf *buffer, const char *text, size_t columns, enum hp_cut where);

#endif
