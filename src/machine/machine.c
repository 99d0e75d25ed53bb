// SPDX-License-Identifier: MIT
#include "machine/machine.h"

#include "base/own_directory.h"
#include "machine/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 20)

void hp_machine_free(struct hp_machine *machine)
{
    free(machine);
}

const char *hp_machine_name(const struct hp_machine *machine)
{
    return machine->name;
}

/* --- Files ------------------------------------------------------------------------------------ */

/* The file's name without directory and ".ini". */
static enum hp_err parse_file(const char *path, const char *text, size_t size,
                              struct hp_machine **machine)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".ini") == 0)
        length -= 4;
    char *name = strndup(base, length);
    if (!name)
        return hp_fail_nomem();
    enum hp_err err = hp_machine_parse(text, size, path, name, machine);
    free(name);
    return err;
}

static enum hp_err read_file(FILE *file, const char *path, struct hp_machine **machine)
{
    char *text = malloc(FILE_MAX + 1);
    if (!text)
        return hp_fail_nomem();
    enum hp_err err;
    size_t size = fread(text, 1, FILE_MAX + 1, file);
    if (ferror(file))
        err = hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    else if (size > FILE_MAX)
        err = hp_fail(HP_ERR_FORMAT, "%s is too large for a machine file", path);
    else
        err = parse_file(path, text, size, machine);
    free(text);
    return err;
}

static enum hp_err load_file(const char *path, struct hp_machine **machine)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return hp_fail(errno == ENOENT ? HP_ERR_NOTFOUND : HP_ERR_IO,
                       "cannot open the machine file %s: %s", path, strerror(errno));
    enum hp_err err = read_file(file, path, machine);
    fclose(file);
    return err;
}

/* --- Finding ---------------------------------------------------------------------------------- */

static enum hp_err no_such_machine(const char *name)
{
    const struct hp_model *shipped = hp_machine_family.models[0];
    char names[200] = "";
    for (unsigned i = 0, at = 0; i < shipped->n_presets && at < sizeof names; i++) {
        const char *before = i + 1 == shipped->n_presets ? " and " : ", ";
        at += (unsigned)snprintf(names + at, sizeof names - at, "%s%s", i ? before : "",
                                 shipped->presets[i].name);
    }
    return hp_fail(HP_ERR_NOTFOUND,
                   "there is no machine '%s'; hotpath comes with %s, and takes a file's name if it "
                   "ends in .ini or has a '/'",
                   name, names);
}

/* A shipped machine: where the environment says, in the build tree, or installed. */
static enum hp_err find(const char *name, char **path)
{
    char self[4096];
    hp_own_directory(self, sizeof self);
    const char *directories[] = {getenv("HOTPATH_MACHINE_DIR"), self, self, self, HP_MACHINE_DIR};
    const char *below[] = {"", "/machines", "/../machines", "/../share/hotpath/machines", ""};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (!directories[i])
            continue;
        if (asprintf(path, "%s%s/%s.ini", directories[i], below[i], name) < 0)
            return hp_fail_nomem();
        if (access(*path, R_OK) == 0)
            return HP_OK;
        free(*path);
    }
    return no_such_machine(name);
}

enum hp_err hp_machine_load(const char *name, struct hp_machine **machine)
{
    size_t length = strlen(name);
    bool is_file = strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
    if (is_file)
        return load_file(name, machine);
    char *path;
    HP_TRY(find(name, &path));
    enum hp_err err = load_file(path, machine);
    free(path);
    return err;
}
