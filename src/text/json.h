// SPDX-License-Identifier: MIT
/*
 * Writing JSON, piece by piece.
 *
 *     struct hp_json json = {.out = file, .lines = 2};
 *     hp_json_begin_object(&json);
 *     hp_json_key(&json, "count");
 *     hp_json_uint(&json, 7);
 *     hp_json_end_object(&json);
 *     return hp_json_finish(&json);
 *
 * Commas, newlines and escapes are handled; the output does not depend on the locale.
 * hp_json_finish() reports write errors. The calls must nest properly: a container that is not
 * closed, a value without a key in an object, a key without a value make hp_json_finish() fail.
 */
#ifndef HP_TEXT_JSON_H
#define HP_TEXT_JSON_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HP_JSON_MAX_DEPTH 64

/* Set `out` and `lines`, the rest to zero. */
struct hp_json {
    FILE *out;
    unsigned lines; /* down to this depth one element per line; 0: all on one line */
    unsigned depth;
    uint64_t objects; /* bit d: the container at depth d is an object */
    uint64_t filled;  /* bit d: it has an element */
    bool keyed;       /* a key was written, its value not */
    bool done;        /* the outermost value is complete */
    bool misused;
};

void hp_json_begin_object(struct hp_json *json);
void hp_json_end_object(struct hp_json *json);
void hp_json_begin_array(struct hp_json *json);
void hp_json_end_array(struct hp_json *json);

/* The key of the next value, in an object. */
void hp_json_key(struct hp_json *json, const char *key);

/* Invalid UTF-8 becomes U+FFFD. NULL is written as null. */
void hp_json_string(struct hp_json *json, const char *text);
void hp_json_uint(struct hp_json *json, uint64_t value);
void hp_json_int(struct hp_json *json, int64_t value);

/* With `decimals` digits after the point (at most 9); null when it is not finite. */
void hp_json_fixed(struct hp_json *json, double value, unsigned decimals);
void hp_json_bool(struct hp_json *json, bool value);
void hp_json_null(struct hp_json *json);

/* A key and its value. */
void hp_json_put_string(struct hp_json *json, const char *key, const char *text);
void hp_json_put_uint(struct hp_json *json, const char *key, uint64_t value);
void hp_json_put_int(struct hp_json *json, const char *key, int64_t value);
void hp_json_put_fixed(struct hp_json *json, const char *key, double value, unsigned decimals);
void hp_json_put_bool(struct hp_json *json, const char *key, bool value);
void hp_json_put_null(struct hp_json *json, const char *key);
void hp_json_put_strings(struct hp_json *json, const char *key, char *const *texts); /* till NULL */
void hp_json_put_object(struct hp_json *json, const char *key); /* begins one */
void hp_json_put_array(struct hp_json *json, const char *key);  /* likewise */

/* Ends the text with a newline and flushes. HP_ERR_IO: a write failed. HP_ERR_INTERNAL: the calls
 * did not form one JSON value. */
enum hp_err hp_json_finish(struct hp_json *json);

#endif
