// SPDX-License-Identifier: MIT
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any name compilers make. The limits only keep hostile names from using up memory or
 * time: substitutions let the readable form grow exponentially with the mangled one. */
#define MAX_MANGLED  (64u << 10)
#define MAX_READABLE (256u << 10)

struct text {
    char *bytes;
    size_t size, capacity;
    jmp_buf full; /* the only way to stop the demangler; it leaks nothing then except one buffer
                     while printing a Rust name in punycode */
};

static void append(const char *piece, size_t length, void *opaque)
{
    struct text *text = opaque;
    if (length > MAX_READABLE - text->size)
        longjmp(text->full, 1);
    if (text->size + length + 1 > text->capacity) {
        size_t want = 2 * text->capacity + length + 64;
        char *grown = realloc(text->bytes, want);
        if (!grown)
            longjmp(text->full, 1);
        text->bytes = grown;
        text->capacity = want;
    }
    if (length) /* otherwise `piece` may be NULL */
        memcpy(text->bytes + text->size, piece, length);
    text->size += length;
    text->bytes[text->size] = '\0';
}

/* Legacy Rust names are also valid C++ names, so Rust comes first. */
static bool demangle_into(const char *name, int options, struct text *text)
{
    if (setjmp(text->full))
        return false;
    if (rust_demangle_callback(name, options, append, text))
        return true;
    text->size = 0;
    return cplus_demangle_v3_callback(name, options, append, text) != 0;
}

char *hp_demangle(const char *name, bool params)
{
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return NULL;
    if (strlen(name) > MAX_MANGLED)
        return NULL;
    struct text *text = calloc(1, sizeof *text);
    if (!text)
        return NULL;
    int options = DMGL_ANSI | (params ? DMGL_PARAMS : 0);
    char *readable = NULL;
    if (demangle_into(name, options, text) && text->size)
        readable = text->bytes;
    else
        free(text->bytes);
    free(text);
    return readable;
}
