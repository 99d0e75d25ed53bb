// SPDX-License-Identifier: MIT
#include "cli/wpp/names.h"

#include "base/base.h"
#include "report/tables.h"

enum hp_err hp_open_wpp(struct hp_open_wpp *wpp, const char *path)
{
    size_t n;
    HP_TRY(hp_wpp_open(path, &wpp->reader));
    wpp->paths = hp_wpp_paths(wpp->reader, &n);
    wpp->modules = hp_wpp_modules(wpp->reader, &wpp->n_modules);
    HP_TRY(hp_new(&wpp->symbols, wpp->n_modules, sizeof *wpp->symbols));
    return hp_new(&wpp->opened, wpp->n_modules, sizeof *wpp->opened);
}

void hp_open_wpp_close(struct hp_open_wpp *wpp)
{
    for (size_t i = 0; wpp->symbols && i < wpp->n_modules; i++)
        if (wpp->symbols[i])
            hp_symbols_close(wpp->symbols[i]);
    free(wpp->symbols);
    free(wpp->opened);
    hp_wpp_close(wpp->reader);
}

const struct hp_symbol *hp_wpp_function(struct hp_open_wpp *wpp, const struct hp_wpp_path *path)
{
    if (path->module == HP_NO_ID)
        return NULL;
    const struct hp_wpp_module *module = &wpp->modules[path->module];
    struct hp_symbols **symbols = &wpp->symbols[path->module];
    if (!wpp->opened[path->module] &&
        hp_symbols_open(module->path, module->build_id, symbols) != HP_OK)
        *symbols = NULL;
    wpp->opened[path->module] = true;
    return *symbols ? hp_symbols_find(*symbols, path->offset) : NULL;
}

void hp_wpp_describe(const struct hp_open_wpp *wpp, const struct hp_wpp_path *path,
                     struct hp_wpp_text *text)
{
    if (path->module == HP_NO_ID)
        snprintf(text->place, sizeof text->place, "0x%" PRIx64, path->offset);
    else
        snprintf(text->place, sizeof text->place, "%s+0x%" PRIx64,
                 hp_base_name(wpp->modules[path->module].path), path->offset);
    for (uint32_t i = 0; i < path->length; i++)
        text->outcomes[i] = path->outcomes >> (path->length - 1 - i) & 1 ? '1' : '0';
    text->outcomes[path->length] = 0;
}
