// SPDX-License-Identifier: MIT
#include "base/strings.h"
#include "export/export.h"

#include <stdio.h>
#include <string.h>

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a module of this path is meant by `name`: a path, or a name without directories. */
static bool is_meant(const char *path, const char *name)
{
    return strcmp(path, name) == 0 || (!strchr(name, '/') && strcmp(file_name(path), name) == 0);
}

/* The names of all modules, for an error, as far as there is room. */
static void list(const struct hp_profile *p, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < p->n_modules && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%.80s", i ? ", " : "",
                              file_name(p->modules[i].path));
}

enum hp_err hp_export_module(const struct hp_profile *p, const char *name, uint32_t *module)
{
    char names[512];
    bool started = !name;
    if (started)
        name = p->run.command && p->run.command[0] ? file_name(p->run.command[0]) : "";
    *module = HP_PROFILE_NONE;
    list(p, names, sizeof names);
    for (uint32_t i = 0; i < p->n_modules; i++) {
        if (!is_meant(p->modules[i].path, name))
            continue;
        if (*module != HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID,
                           "there are several modules '%s': give one by its path, %s or %s", name,
                           p->modules[*module].path, p->modules[i].path);
        *module = i;
    }
    if (*module != HP_PROFILE_NONE)
        return HP_OK;
    if (started)
        return hp_fail(HP_ERR_INVALID,
                       "it cannot be told which module '%s' is: choose one by --module: %s", name,
                       names);
    return hp_fail(HP_ERR_INVALID, "the profile has no module '%s'; it has: %s", name, names);
}
