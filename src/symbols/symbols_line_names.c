// SPDX-License-Identifier: MIT

#include "symbols/symbols_private.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FORMATS 16

/* A list of directories or files: the format of its entries. */
struct list {
    size_t n_formats;
    struct {
        uint64_t type, form;
    } formats[MAX_FORMATS];
    uint64_t n;
};

struct entry {
    const char *path; /* NULL: none, or not understood */
    uint64_t directory;
};

static bool read_list(struct hp_bytes *b, struct list *list)
{
    list->n_formats = hp_bytes_byte(b);
    if (list->n_formats > MAX_FORMATS)
        return false;
    for (size_t i = 0; i < list->n_formats; i++) {
        list->formats[i].type = hp_bytes_leb(b, false);
        list->formats[i].form = hp_bytes_leb(b, false);
    }
    list->n = hp_bytes_leb(b, false);
    return !b->bad;
}

/* The text at `offset` of a section; NULL: it does not end in the section. */
static const char *text_at(const char *section, size_t size, uint64_t offset)
{
    if (!section || offset >= size || !memchr(section + offset, 0, size - offset))
        return NULL;
    return section + offset;
}

/* Reads a value; sets `*text` only if it is a text. False: unknown form. */
static bool read_value(const struct hp_line_names *names, struct hp_bytes *b, uint64_t form,
                       const char **text, uint64_t *number)
{
    *text = NULL;
    *number = 0;
    switch (form) {
    case DW_FORM_line_strp:
        *text = text_at(names->strings, names->strings_size, hp_bytes_fixed(b, 4));
        break;
    case DW_FORM_string:
        *text = text_at((const char *)b->at, (size_t)(b->end - b->at), 0);
        hp_bytes_skip(b, *text ? strlen(*text) + 1 : UINT64_MAX);
        break;
    case DW_FORM_udata: *number = hp_bytes_leb(b, false); break;
    case DW_FORM_data1: *number = hp_bytes_fixed(b, 1); break;
    case DW_FORM_data2: *number = hp_bytes_fixed(b, 2); break;
    case DW_FORM_data4: *number = hp_bytes_fixed(b, 4); break;
    case DW_FORM_data8: *number = hp_bytes_fixed(b, 8); break;
    case DW_FORM_data16: hp_bytes_skip(b, 16); break;
    default: return false;
    }
    return !b->bad;
}

static bool read_entry(const struct hp_line_names *names, struct hp_bytes *b,
                       const struct list *list, struct entry *entry)
{
    *entry = (struct entry){0};
    for (size_t i = 0; i < list->n_formats; i++) {
        const char *text;
        uint64_t number;
        if (!read_value(names, b, list->formats[i].form, &text, &number))
            return false;
        if (list->formats[i].type == DW_LNCT_path)
            entry->path = text;
        else if (list->formats[i].type == DW_LNCT_directory_index)
            entry->directory = number;
    }
    return true;
}

/* Reads up to entry `index` of a list; false: there is none, or it cannot be read. */
static bool find_entry(const struct hp_line_names *names, struct hp_bytes b,
                       const struct list *list, uint64_t index, struct entry *entry)
{
    if (index >= list->n || !list->n_formats)
        return false;
    for (uint64_t i = 0; i <= index; i++)
        if (!read_entry(names, &b, list, entry))
            return false;
    return entry->path != NULL;
}

/* Joins a path; `top` and `directory` may be "". A relative directory is below the first one, where
 * the compiler ran. NULL: memory ran out. */
static const char *join(const struct hp_line_names *names, const char *top, const char *directory,
                        const char *name)
{
    char *path;
    if (name[0] == '/')
        return hp_strings_add_path(names->kept, "", name);
    bool below = directory[0] != '/' && top[0];
    if (asprintf(&path, "%s%s%s/%s", below ? top : "", below ? "/" : "", directory, name) < 0)
        return NULL;
    const char *kept = hp_strings_add_path(names->kept, "", path);
    free(path);
    return kept;
}

enum hp_err hp_line_names_path(const struct hp_line_names *names, uint64_t index, const char **path)
{
    struct hp_bytes b = names->lists;
    struct list directories, files;
    struct entry top, directory, file;
    *path = NULL;
    if (!read_list(&b, &directories))
        return hp_fail(HP_ERR_UNSUPPORTED, "line table without directories");
    struct hp_bytes first = b;
    for (uint64_t i = 0; i < directories.n && directories.n_formats; i++)
        if (!read_entry(names, &b, &directories, &directory))
            return hp_fail(HP_ERR_UNSUPPORTED, "a directory that cannot be read");
    if (!read_list(&b, &files) || !find_entry(names, b, &files, index, &file) ||
        !find_entry(names, first, &directories, 0, &top) ||
        !find_entry(names, first, &directories, file.directory, &directory))
        return hp_fail(HP_ERR_UNSUPPORTED, "a file name that cannot be read");
    *path = join(names, file.directory ? top.path : "", directory.path, file.path);
    return *path ? HP_OK : hp_fail_nomem();
}
