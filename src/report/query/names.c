// SPDX-License-Identifier: MIT
#include "report/query/names.h"

#include "base/base.h"
#include "report/text.h"

bool hp_name_is(const char *name, const char *linkage, const char *meant, bool part)
{
    size_t n = strlen(meant);
    if (part)
        return strstr(name, meant) != NULL;
    return strcmp(name, meant) == 0 || (linkage && n && strcmp(linkage, meant) == 0) ||
           (n && strncmp(name, meant, n) == 0 && name[n] == '(');
}

static bool is_function(const struct hp_tables *tables, size_t i, const char *name, bool part)
{
    return hp_name_is(tables->functions[i], tables->profile->functions[i].linkage, name, part);
}

static bool is_module(const struct hp_tables *tables, size_t i, const char *name, bool part)
{
    const char *path = hp_text(tables->profile->modules[i].path);
    if (part)
        return strstr(path, name) || strstr(tables->modules[i], name);
    return strcmp(path, name) == 0 || strcmp(tables->modules[i], name) == 0 ||
           strcmp(hp_base_name(path), name) == 0;
}

static enum hp_err find(const struct hp_tables *tables, size_t n, const char *name,
                        const bool *among,
                        bool (*is)(const struct hp_tables *, size_t, const char *, bool),
                        struct hp_found *found)
{
    *found = (struct hp_found){0};
    HP_TRY(hp_new(&found->is, n + 1, sizeof *found->is));
    for (int part = 0; part < 2 && found->n == 0; part++) {
        found->part = part;
        for (size_t i = 0; i < n && *name; i++) {
            found->is[i] = (!among || among[i]) && is(tables, i, name, part);
            found->n += found->is[i];
        }
    }
    return HP_OK;
}

enum hp_err hp_find_functions(const struct hp_tables *tables, const char *name, const bool *among,
                              struct hp_found *found)
{
    return find(tables, tables->profile->n_functions, name, among, is_function, found);
}

enum hp_err hp_find_modules(const struct hp_tables *tables, const char *name,
                            struct hp_found *found)
{
    return find(tables, tables->profile->n_modules, name, NULL, is_module, found);
}

bool hp_found_several(const struct hp_tables *tables, const struct hp_found *found)
{
    const char *first = NULL;
    for (size_t i = 0; found->part && i < tables->profile->n_functions; i++) {
        if (!found->is[i])
            continue;
        if (first && strcmp(first, tables->functions[i]) != 0)
            return true;
        first = tables->functions[i];
    }
    return false;
}

enum hp_err hp_print_found(const struct hp_tables *tables, const struct hp_found *found, FILE *out)
{
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    for (uint32_t i = 0; i < tables->profile->n_functions; i++) {
        const struct hp_pfunction *f = &tables->profile->functions[i];
        if (!found->is[i])
            continue;
        hp_strbuf_clear(&line);
        hp_put_function(tables, i, &line);
        hp_strbuf_add(&line, "  ");
        hp_put_where(tables, f->file, f->line, f->place.module, &line);
        fprintf(out, "%s\n", hp_strbuf_text(&line));
    }
    return line.failed ? hp_fail_nomem() : HP_OK;
}
