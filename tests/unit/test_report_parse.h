// SPDX-License-Identifier: MIT
/*
 * A strict JSON checker (RFC 8259) that can also point at a value, so that the tests need no other
 * program.
 */
#ifndef TEST_REPORT_PARSE_H
#define TEST_REPORT_PARSE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *json_value(const char *at, int depth);

static inline const char *json_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static inline const char *json_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    while (*at != '"') {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20)
            return NULL;
        if (c != '\\') {
            at++;
        } else if (at[1] == 'u') {
            for (int i = 2; i < 6; i++)
                if (!isxdigit((unsigned char)at[i]))
                    return NULL;
            at += 6;
        } else if (at[1] && strchr("\"\\/bfnrt", at[1])) {
            at += 2;
        } else {
            return NULL;
        }
    }
    return at + 1;
}

static inline const char *json_digits(const char *at)
{
    size_t n = strspn(at, "0123456789");
    return n > 0 ? at + n : NULL;
}

static inline const char *json_number(const char *at)
{
    at += *at == '-';
    const char *first = at;
    at = json_digits(at);
    if (!at || (*first == '0' && at - first > 1))
        return NULL;
    if (*at == '.' && !(at = json_digits(at + 1)))
        return NULL;
    if (*at == 'e' || *at == 'E')
        return NULL; /* legal, but nothing here should print it */
    return at;
}

/* The elements of an object or array, behind its opening bracket. */
static inline const char *json_elements(const char *at, bool object, int depth)
{
    char close = object ? '}' : ']';
    at = json_space(at);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (object) {
            at = json_string(json_space(at));
            if (!at || *(at = json_space(at)) != ':')
                return NULL;
            at++;
        }
        at = json_value(at, depth);
        if (!at)
            return NULL;
        at = json_space(at);
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

/* The end of the value at `at`; NULL when there is none. */
static const char *json_value(const char *at, int depth)
{
    at = json_space(at);
    if (depth > 64)
        return NULL;
    if (*at == '{' || *at == '[')
        return json_elements(at + 1, *at == '{', depth + 1);
    if (*at == '"')
        return json_string(at);
    if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0)
        return at + 4;
    if (strncmp(at, "false", 5) == 0)
        return at + 5;
    return json_number(at);
}

static inline bool json_valid(const char *text)
{
    const char *end = json_value(text, 0);
    return end && *json_space(end) == 0;
}

/* The value under a path such as "functions/0/name" of valid JSON; NULL when it is not there. */
static inline const char *json_find(const char *at, const char *path)
{
    at = json_space(at);
    while (*path) {
        size_t n = strcspn(path, "/");
        bool object = *at == '{';
        size_t index = object ? 0 : strtoul(path, NULL, 10);
        if (!object && *at != '[')
            return NULL;
        for (at = json_space(at + 1);; at = json_space(at + 1)) {
            if (*at == '}' || *at == ']')
                return NULL;
            const char *key = at;
            if (object)
                at = json_space(json_space(json_string(at)) + 1);
            if (object ? strncmp(key + 1, path, n) == 0 && key[n + 1] == '"' : index-- == 0)
                break;
            at = json_space(json_value(at, 0));
            if (*at != ',')
                return NULL;
        }
        path += n + (path[n] == '/');
    }
    return at;
}

/* How many elements the array has. */
static inline size_t json_length(const char *text, const char *path)
{
    char element[256];
    size_t n = 0;
    while (snprintf(element, sizeof element, "%s/%zu", path, n) > 0 && json_find(text, element))
        n++;
    return n;
}

#endif
