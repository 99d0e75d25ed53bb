// SPDX-License-Identifier: MIT
#include "text/json.h"

#include "text/number.h"
#include "text/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void put(struct hp_json *json, const char *bytes, size_t n)
{
    if (n == 1)
        putc_unlocked(*bytes, json->out);
    else
        fwrite_unlocked(bytes, 1, n, json->out);
}

static void new_line(struct hp_json *json)
{
    put(json, "\n", 1);
    for (unsigned i = 0; i < json->depth; i++)
        put(json, " ", 1);
}

/* What comes before an element: the comma, and the newline. */
static void separate(struct hp_json *json)
{
    uint64_t bit = UINT64_C(1) << (json->depth - 1);
    if (json->filled & bit)
        put(json, ",", 1);
    json->filled |= bit;
    if (json->depth <= json->lines)
        new_line(json);
}

static void begin_value(struct hp_json *json)
{
    if (json->depth == 0) {
        if (json->done)
            json->misused = true;
        json->done = true;
        return;
    }
    bool in_object = json->objects >> (json->depth - 1) & 1;
    if (in_object != json->keyed)
        json->misused = true;
    if (!in_object)
        separate(json);
    json->keyed = false;
}

static void begin(struct hp_json *json, bool object)
{
    begin_value(json);
    if (json->depth == HP_JSON_MAX_DEPTH) {
        json->misused = true;
        return;
    }
    uint64_t bit = UINT64_C(1) << json->depth++;
    json->objects = object ? json->objects | bit : json->objects & ~bit;
    json->filled &= ~bit;
    put(json, object ? "{" : "[", 1);
}

static void end(struct hp_json *json, bool object)
{
    if (json->depth == 0 || (json->objects >> (json->depth - 1) & 1) != object || json->keyed) {
        json->misused = true;
        return;
    }
    bool filled = json->filled >> --json->depth & 1;
    if (filled && json->depth < json->lines)
        new_line(json);
    put(json, object ? "}" : "]", 1);
}

void hp_json_begin_object(struct hp_json *json)
{
    begin(json, true);
}

void hp_json_end_object(struct hp_json *json)
{
    end(json, true);
}

void hp_json_begin_array(struct hp_json *json)
{
    begin(json, false);
}

void hp_json_end_array(struct hp_json *json)
{
    end(json, false);
}

static void put_escape(struct hp_json *json, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    switch (code) {
    case '"': put(json, "\\\"", 2); return;
    case '\\': put(json, "\\\\", 2); return;
    case '\n': put(json, "\\n", 2); return;
    case '\r': put(json, "\\r", 2); return;
    case '\t': put(json, "\\t", 2); return;
    default: break;
    }
    put(json, "\\u00", 4);
    put(json, &hex[code >> 4], 1);
    put(json, &hex[code & 15], 1);
}

static void put_string(struct hp_json *json, const char *text)
{
    put(json, "\"", 1);
    const char *from = text; /* of the part copied unchanged */
    while (*text) {
        const char *at = text;
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            text++;
            continue;
        }
        uint32_t code = hp_utf8_next(&text);
        bool plain = code >= 0x20 && code != '"' && code != '\\';
        if (plain && code != HP_UTF8_REPLACEMENT)
            continue;
        put(json, from, (size_t)(at - from));
        from = text;
        if (plain)
            put(json, "\xef\xbf\xbd", 3);
        else
            put_escape(json, code);
    }
    put(json, from, (size_t)(text - from));
    put(json, "\"", 1);
}

void hp_json_key(struct hp_json *json, const char *key)
{
    if (json->depth == 0 || !(json->objects >> (json->depth - 1) & 1) || json->keyed) {
        json->misused = true;
        return;
    }
    separate(json);
    put_string(json, key);
    put(json, ": ", json->depth <= json->lines ? 2 : 1);
    json->keyed = true;
}

void hp_json_string(struct hp_json *json, const char *text)
{
    if (!text) {
        hp_json_null(json);
        return;
    }
    begin_value(json);
    put_string(json, text);
}

void hp_json_uint(struct hp_json *json, uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    begin_value(json);
    put(json, text, hp_number_uint(text, value));
}

void hp_json_int(struct hp_json *json, int64_t value)
{
    char text[HP_NUMBER_SIZE];
    begin_value(json);
    if (value < 0)
        put(json, "-", 1);
    put(json, text, hp_number_uint(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
}

void hp_json_fixed(struct hp_json *json, double value, unsigned decimals)
{
    if (!isfinite(value)) {
        hp_json_null(json);
        return;
    }
    char text[HP_NUMBER_SIZE];
    begin_value(json);
    put(json, text, hp_number_fixed(text, value, decimals));
}

void hp_json_bool(struct hp_json *json, bool value)
{
    begin_value(json);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

void hp_json_null(struct hp_json *json)
{
    begin_value(json);
    put(json, "null", 4);
}

void hp_json_put_string(struct hp_json *json, const char *key, const char *text)
{
    hp_json_key(json, key);
    hp_json_string(json, text);
}

void hp_json_put_uint(struct hp_json *json, const char *key, uint64_t value)
{
    hp_json_key(json, key);
    hp_json_uint(json, value);
}

void hp_json_put_int(struct hp_json *json, const char *key, int64_t value)
{
    hp_json_key(json, key);
    hp_json_int(json, value);
}

void hp_json_put_fixed(struct hp_json *json, const char *key, double value, unsigned decimals)
{
    hp_json_key(json, key);
    hp_json_fixed(json, value, decimals);
}

void hp_json_put_bool(struct hp_json *json, const char *key, bool value)
{
    hp_json_key(json, key);
    hp_json_bool(json, value);
}

void hp_json_put_null(struct hp_json *json, const char *key)
{
    hp_json_key(json, key);
    hp_json_null(json);
}

void hp_json_put_strings(struct hp_json *json, const char *key, char *const *texts)
{
    hp_json_put_array(json, key);
    for (; *texts; texts++)
        hp_json_string(json, *texts);
    hp_json_end_array(json);
}

void hp_json_put_object(struct hp_json *json, const char *key)
{
    hp_json_key(json, key);
    hp_json_begin_object(json);
}

void hp_json_put_array(struct hp_json *json, const char *key)
{
    hp_json_key(json, key);
    hp_json_begin_array(json);
}

enum hp_err hp_json_finish(struct hp_json *json)
{
    put(json, "\n", 1);
    if (json->misused || json->depth != 0 || !json->done)
        return hp_fail(HP_ERR_INTERNAL, "the JSON output was not put together properly");
    errno = 0;
    if (fflush(json->out) != 0 || ferror(json->out))
        return hp_fail(HP_ERR_IO, "cannot write the JSON output: %s",
                       errno ? strerror(errno) : "write error");
    return HP_OK;
}
