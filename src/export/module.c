// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "base/lists.h"
#include "export/export.h"
#include "report/tables.h"
#include "text/number.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define MAX_INTERPRETERS 4 /* of scripts that are interpreters of scripts */

/* The module whose path, or name without directories, is `name`, or begins with its `length`;
 * HP_PROFILE_NONE: there is none. */
static enum hp_err by_name(const struct hp_profile *p, const char *name, size_t length,
                           uint32_t *module)
{
    *module = HP_PROFILE_NONE;
    for (uint32_t i = 0; i < p->n_modules; i++) {
        const char *path = p->modules[i].path;
        if (strncmp(strchr(name, '/') ? path : hp_base_name(path), name, length) != 0)
            continue;
        if (*module != HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID,
                           "there are several modules '%s': give one by its path, %s or %s", name,
                           p->modules[*module].path, path);
        *module = i;
    }
    return HP_OK;
}

static enum hp_err named(const struct hp_profile *p, const char *name, uint32_t *module)
{
    return by_name(p, name, strlen(name) + 1, module);
}

/* By as much of a name as is enough. */
static enum hp_err asked(const struct hp_profile *p, const char *name, uint32_t *module)
{
    HP_TRY(named(p, name, module));
    return *module == HP_PROFILE_NONE && *name ? by_name(p, name, strlen(name), module) : HP_OK;
}

/* The file that a command of this name runs: in a directory of PATH, or where it says. */
static bool find_program(const struct hp_profile *p, const char *name, char real[PATH_MAX])
{
    bool placed = strchr(name, '/');
    const char *in = name[0] == '/' ? "/" : placed ? p->run.directory : getenv("PATH");
    while (in && *in) {
        char path[PATH_MAX];
        size_t length = placed ? strlen(in) : strcspn(in, ":");
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)length, in, name);
        if (length && n > 0 && (size_t)n < sizeof path && realpath(path, real) &&
            (placed || access(real, X_OK) == 0))
            return true;
        in += length + (in[length] == ':');
    }
    return false;
}

/* The interpreter that a script names, or the program behind "env". False: there is none. */
static bool interpreter_of(const char *script, char name[PATH_MAX])
{
    char line[PATH_MAX + 8];
    int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (n < 3 || memcmp(line, "#!", 2) != 0)
        return false;
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    char *rest, *word = strtok_r(line + 2, " \t", &rest);
    if (word && strcmp(hp_base_name(word), "env") == 0)
        do
            word = strtok_r(NULL, " \t", &rest);
        while (word && (word[0] == '-' || strchr(word, '=')));
    return word && snprintf(name, PATH_MAX, "%s", word) < PATH_MAX;
}

/* The only module with a main(); HP_PROFILE_NONE: there is none, or several. */
static uint32_t with_main(const struct hp_profile *p)
{
    uint32_t module = HP_PROFILE_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        if (strcmp(p->functions[i].linkage, "main") != 0)
            continue;
        if (module != HP_PROFILE_NONE && p->functions[i].place.module != module)
            return HP_PROFILE_NONE;
        module = p->functions[i].place.module;
    }
    return module;
}

/* By the command, through PATH, links and scripts; by its name where the files are gone. */
static enum hp_err started(const struct hp_profile *p, uint32_t *module)
{
    char name[PATH_MAX], real[PATH_MAX];
    const char *command = p->run.command && p->run.command[0] ? p->run.command[0] : "";
    snprintf(name, sizeof name, "%s", command);
    for (int i = 0; i < MAX_INTERPRETERS && find_program(p, name, real); i++) {
        HP_TRY(named(p, real, module));
        if (*module != HP_PROFILE_NONE || !interpreter_of(real, name))
            break;
    }
    if (*module == HP_PROFILE_NONE && command[0])
        HP_TRY(named(p, hp_base_name(command), module));
    if (*module == HP_PROFILE_NONE)
        *module = with_main(p);
    return HP_OK;
}

enum hp_err hp_export_module(const struct hp_profile *p, const char *name, uint32_t *module)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    *module = HP_PROFILE_NONE;
    HP_TRY(name ? asked(p, name, module) : started(p, module));
    if (*module != HP_PROFILE_NONE)
        return HP_OK;
    for (size_t i = 0; i < p->n_modules; i++)
        hp_strbuf_format(&names, "%s%.80s", i ? ", " : "", hp_base_name(p->modules[i].path));
    if (!name)
        return hp_fail(HP_ERR_INVALID,
                       "it cannot be told which module the program is: choose one by --module: "
                       "%.399s",
                       hp_strbuf_text(&names));
    return hp_fail(HP_ERR_INVALID, "the profile has no module '%.80s'; it has: %.399s", name,
                   hp_strbuf_text(&names));
}

/* --- Of how much of the run ------------------------------------------------------------------- */

/* Executed instructions by module, code of none behind them. */
static enum hp_err count_modules(const struct hp_profile *p, uint64_t **counts)
{
    HP_TRY(hp_new(counts, p->n_modules + 1, sizeof **counts));
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pblock *block = &p->blocks[p->block_counts[i].item];
        hp_add_up(&(*counts)[hp_slot(block->place.module, p->n_modules)],
                  hp_saturating_mul(p->block_counts[i].count, block->insns));
    }
    return HP_OK;
}

enum hp_err hp_export_modules(const struct hp_profile *p, const char *name, uint32_t **modules,
                              size_t *n)
{
    uint64_t *counts HP_CLEANUP(hp_free) = NULL;
    *n = 0;
    HP_TRY(hp_new(modules, p->n_modules + 1, sizeof **modules));
    if (!name || strcmp(name, HP_EXPORT_ALL) != 0)
        return hp_export_module(p, name, &(*modules)[(*n)++]);
    HP_TRY(count_modules(p, &counts));
    for (uint32_t i = 0; i < p->n_modules; i++)
        if (counts[i])
            (*modules)[(*n)++] = i;
    return HP_OK;
}

/* The module of which most was executed. */
static uint32_t heaviest(const struct hp_profile *p, const uint64_t *counts)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < p->n_modules; i++)
        if (counts[i] > counts[most])
            most = i;
    return most;
}

enum hp_err hp_export_left_out(const struct hp_export_format *format,
                               const struct hp_export_request *request, struct hp_strbuf *text,
                               bool *heavier)
{
    const struct hp_profile *p = request->profile;
    uint64_t *counts HP_CLEANUP(hp_free) = NULL, all = 0;
    struct hp_tables tables HP_CLEANUP(hp_tables_fini) = {0};
    uint32_t module;
    *heavier = false;
    if (!format->one_module || !p->n_modules ||
        (request->module && strcmp(request->module, HP_EXPORT_ALL) == 0))
        return HP_OK;
    HP_TRY(hp_export_module(p, request->module, &module));
    HP_TRY(hp_tables_init(&tables, p));
    HP_TRY(count_modules(p, &counts));
    for (size_t i = 0; i <= p->n_modules; i++)
        hp_add_up(&all, counts[i]);
    if (counts[module] == all)
        return HP_OK;
    hp_strbuf_clean(text, tables.modules[module]);
    hp_strbuf_format(text, " has %s of the run", HP_PERCENT(hp_number_share(counts[module], all)));
    uint32_t other = heaviest(p, counts);
    if (other == module) {
        if (format->all_modules)
            hp_strbuf_add(text, " (--module " HP_EXPORT_ALL ": all files)");
        return HP_OK;
    }
    *heavier = true;
    hp_strbuf_add(text, ", ");
    hp_strbuf_clean(text, tables.modules[other]);
    hp_strbuf_format(text, " has %s: --module ", HP_PERCENT(hp_number_share(counts[other], all)));
    hp_strbuf_clean(text, tables.modules[other]);
    if (format->all_modules)
        hp_strbuf_add(text, ", or --module " HP_EXPORT_ALL);
    return HP_OK;
}
