// SPDX-License-Identifier: MIT
#include "cli/wpp/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hp_err hp_wpp_names_init(struct hp_wpp_names *names, const struct hp_wpp_reader *reader)
{
    *names = (struct hp_wpp_names){.reader = reader};
    hp_wpp_modules(reader, &names->n);
    names->symbols = calloc(names->n + 1, sizeof(void *));
    names->opened = calloc(names->n + 1, sizeof *names->opened);
    if (names->symbols && names->opened)
        return HP_OK;
    hp_wpp_names_fini(names);
    return hp_fail_nomem();
}

void hp_wpp_names_fini(struct hp_wpp_names *names)
{
    for (size_t i = 0; names->symbols && i < names->n; i++)
        if (names->symbols[i])
            hp_symbols_close(names->symbols[i]);
    free(names->symbols);
    free(names->opened);
    *names = (struct hp_wpp_names){0};
}

const struct hp_symbol *hp_wpp_names_function(struct hp_wpp_names *names,
                                              const struct hp_wpp_path *path)
{
    size_t n;
    const struct hp_wpp_module *modules = hp_wpp_modules(names->reader, &n);
    if (path->module == HP_NO_ID)
        return NULL;
    if (!names->opened[path->module]) {
        const struct hp_wpp_module *module = &modules[path->module];
        names->opened[path->module] = true;
        if (hp_symbols_open(module->path, module->build_id, &names->symbols[path->module]) != HP_OK)
            names->symbols[path->module] = NULL;
    }
    struct hp_symbols *symbols = names->symbols[path->module];
    return symbols ? hp_symbols_find(symbols, path->offset) : NULL;
}

void hp_wpp_names_place(const struct hp_wpp_names *names, const struct hp_wpp_path *path,
                        char *text, size_t size)
{
    size_t n;
    const struct hp_wpp_module *modules = hp_wpp_modules(names->reader, &n);
    if (path->module == HP_NO_ID) {
        snprintf(text, size, "0x%" PRIx64, path->offset);
        return;
    }
    const char *file = modules[path->module].path, *slash = strrchr(file, '/');
    snprintf(text, size, "%s+0x%" PRIx64, slash ? slash + 1 : file, path->offset);
}

void hp_wpp_outcomes(const struct hp_wpp_path *path, char text[HP_PATH_MAX_LENGTH + 1])
{
    for (uint32_t i = 0; i < path->length; i++)
        text[i] = path->outcomes >> (path->length - 1 - i) & 1 ? '1' : '0';
    text[path->length] = 0;
}
