// SPDX-License-Identifier: MIT
#include "symbols/symbols_private.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the component that ends at `end` starts, if ".." may remove it; else `end`. */
static size_t removable(const char *path, size_t root, size_t end)
{
    size_t start = end;
    while (start > root && path[start - 1] != '/')
        start--;
    if (end - start == 2 && path[start] == '.' && path[start + 1] == '.')
        return end;
    return start;
}

/* Normalises in place; the result is never longer. */
static size_t normalise(char *path)
{
    size_t root = path[0] == '/', out = root;
    for (const char *in = path + root; *in;) {
        size_t length = strcspn(in, "/");
        const char *next = in + length + (in[length] == '/');
        if (length == 2 && in[0] == '.' && in[1] == '.') {
            size_t start = removable(path, root, out);
            if (start < out || root) {
                out = start > root ? start - 1 : root;
                in = next;
                continue;
            }
        }
        if (length && !(length == 1 && in[0] == '.')) {
            if (out > root)
                path[out++] = '/';
            memmove(path + out, in, length);
            out += length;
        }
        in = next;
    }
    path[out] = '\0';
    return out;
}

const char *hp_strings_add_path(struct hp_strings *strings, const char *directory, const char *name)
{
    char *path = NULL;
    bool joined = name[0] != '/' && directory[0];
    if (asprintf(&path, "%s%s%s", joined ? directory : "", joined ? "/" : "", name) < 0)
        return NULL;
    const char *kept = hp_strings_add(strings, path, normalise(path));
    free(path);
    return kept;
}
