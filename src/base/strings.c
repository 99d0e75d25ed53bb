// SPDX-License-Identifier: MIT
#include "base/strings.h"

#include "base/map64.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536

struct hp_strings_chunk {
    struct hp_strings_chunk *next;
    size_t used, size;
    char bytes[];
};

/* The pool's own address is mixed in, so that a file cannot be crafted to make its strings
 * collide. */
static uint64_t hash_text(const struct hp_strings *strings, const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)strings;
    for (size_t i = 0; i < length; i++) {
        hash ^= (unsigned char)text[i];
        hash *= 0x100000001b3u;
        hash ^= hash >> 47;
    }
    return hp_hash64(hash);
}

static struct hp_strings_slot *find(const struct hp_strings *strings, uint64_t hash,
                                    const char *text, size_t length)
{
    for (size_t i = hash & strings->mask;; i = (i + 1) & strings->mask) {
        struct hp_strings_slot *slot = &strings->slots[i];
        if (!slot->text || (slot->hash == hash && strncmp(slot->text, text, length) == 0 &&
                            slot->text[length] == '\0'))
            return slot;
    }
}

/* Doubles the table when it is more than half full. */
static bool make_room(struct hp_strings *strings)
{
    size_t size = strings->slots ? strings->mask + 1 : 0;
    if (strings->used * 2 < size)
        return true;
    struct hp_strings_slot *old = strings->slots;
    size_t grown = size ? size * 2 : 256;
    struct hp_strings_slot *slots = calloc(grown, sizeof *slots);
    if (!slots)
        return false;
    strings->slots = slots;
    strings->mask = grown - 1;
    for (size_t i = 0; i < size; i++) {
        if (!old[i].text)
            continue;
        size_t at = old[i].hash & strings->mask;
        while (slots[at].text)
            at = (at + 1) & strings->mask;
        slots[at] = old[i];
    }
    free(old);
    return true;
}

static char *store(struct hp_strings *strings, const char *text, size_t length)
{
    struct hp_strings_chunk *chunk = strings->chunks;
    if (!chunk || chunk->size - chunk->used <= length) {
        size_t size = length < CHUNK_BYTES ? CHUNK_BYTES : length + 1;
        chunk = malloc(sizeof *chunk + size);
        if (!chunk)
            return NULL;
        *chunk = (struct hp_strings_chunk){.next = strings->chunks, .size = size};
        strings->chunks = chunk;
    }
    char *copy = chunk->bytes + chunk->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    chunk->used += length + 1;
    return copy;
}

const char *hp_strings_add(struct hp_strings *strings, const char *text, size_t length)
{
    if (!make_room(strings))
        return NULL;
    uint64_t hash = hash_text(strings, text, length);
    struct hp_strings_slot *slot = find(strings, hash, text, length);
    if (slot->text)
        return slot->text;
    char *copy = store(strings, text, length);
    if (!copy)
        return NULL;
    *slot = (struct hp_strings_slot){hash, copy};
    strings->used++;
    return copy;
}

const char *hp_strings_format(struct hp_strings *strings, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return NULL;
    const char *kept = hp_strings_add(strings, text, (size_t)length);
    free(text);
    return kept;
}

void hp_strings_fini(struct hp_strings *strings)
{
    struct hp_strings_chunk *chunk = strings->chunks;
    while (chunk) {
        struct hp_strings_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(strings->slots);
    *strings = (struct hp_strings){0};
}
