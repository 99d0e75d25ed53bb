// SPDX-License-Identifier: MIT
#include "text/strbuf.h"

#include "base/grow.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hp_strbuf_text(const struct hp_strbuf *buffer)
{
    return buffer->data ? buffer->data : "";
}

void hp_strbuf_clear(struct hp_strbuf *buffer)
{
    buffer->length = 0;
    if (buffer->data)
        buffer->data[0] = 0;
}

void hp_strbuf_fini(struct hp_strbuf *buffer)
{
    free(buffer->data);
    *buffer = (struct hp_strbuf){0};
}

void hp_strbuf_bytes(struct hp_strbuf *buffer, const char *bytes, size_t n)
{
    if (n >= SIZE_MAX - buffer->length ||
        hp_grow(&buffer->data, &buffer->capacity, buffer->length + n + 1, 1) != HP_OK) {
        buffer->failed = true;
        return;
    }
    memcpy(buffer->data + buffer->length, bytes, n);
    buffer->length += n;
    buffer->data[buffer->length] = 0;
}

void hp_strbuf_add(struct hp_strbuf *buffer, const char *text)
{
    hp_strbuf_bytes(buffer, text, strlen(text));
}

void hp_strbuf_format(struct hp_strbuf *buffer, const char *format, ...)
{
    char text[256], *all = text; /* mostly long enough */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text) {
        va_start(arguments, format);
        length = vasprintf(&all, format, arguments);
        va_end(arguments);
    }
    if (length < 0) {
        buffer->failed = true;
        return;
    }
    hp_strbuf_bytes(buffer, all, (size_t)length);
    if (all != text)
        free(all);
}

void hp_strbuf_uint(struct hp_strbuf *buffer, uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_uint(text, value));
}

void hp_strbuf_int(struct hp_strbuf *buffer, int64_t value)
{
    hp_strbuf_add(buffer, value < 0 ? "-" : "");
    hp_strbuf_uint(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void hp_strbuf_hex(struct hp_strbuf *buffer, uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_hex(text, value));
}

void hp_strbuf_human(struct hp_strbuf *buffer, uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_human(text, value));
}

void hp_strbuf_grouped(struct hp_strbuf *buffer, uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_grouped(text, value));
}

void hp_strbuf_percent(struct hp_strbuf *buffer, double fraction)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_percent(text, fraction));
}

void hp_strbuf_fixed(struct hp_strbuf *buffer, double value, unsigned decimals)
{
    char text[HP_NUMBER_SIZE];
    hp_strbuf_bytes(buffer, text, hp_number_fixed(text, value, decimals));
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

void hp_strbuf_clean(struct hp_strbuf *buffer, const char *text)
{
    for (;;) {
        size_t plain = hp_utf8_plain(text);
        hp_strbuf_bytes(buffer, text, plain);
        text += plain;
        if (!*text)
            return;
        char bytes[4];
        uint32_t code = hp_utf8_next(&text);
        hp_strbuf_bytes(buffer, bytes, hp_utf8_encode(is_control(code) ? '?' : code, bytes));
    }
}

/* What follows the directories that go: with "…" before it, it fits; else the last component. */
static const char *cut_directories(const char *path, size_t columns)
{
    for (const char *slash; (slash = strchr(path + 1, '/')); path = slash)
        if (hp_utf8_width(path) + 1 <= columns && *path == '/')
            return path;
    return *path == '/' && hp_utf8_width(path) + 1 > columns ? path + 1 : path;
}

void hp_strbuf_cut(struct hp_strbuf *buffer, const char *text, size_t columns, enum hp_cut where)
{
    size_t width = hp_utf8_width(text);
    if (where == HP_CUT_PATH && width > columns) {
        text = cut_directories(text, columns);
        width = hp_utf8_width(text);
        hp_strbuf_add(buffer, *text == '/' && width < columns ? "…" : "");
    }
    if (width <= columns) {
        hp_strbuf_add(buffer, text);
        return;
    }
    size_t keep = columns > 0 ? columns - 1 : 0; /* the rest is for the ellipsis */
    size_t head = where == HP_CUT_END ? keep : (keep + 1) / 2;
    size_t tail = keep - head;
    const char *at = text;
    size_t column = 0;
    for (;;) {
        const char *next = at;
        size_t step = hp_utf8_columns(hp_utf8_next(&next));
        if (column + step > head)
            break;
        column += step;
        at = next;
    }
    hp_strbuf_bytes(buffer, text, (size_t)(at - text));
    hp_strbuf_add(buffer, "…");
    while (*at && width - column > tail)
        column += hp_utf8_columns(hp_utf8_next(&at));
    hp_strbuf_add(buffer, at);
}
