// SPDX-License-Identifier: MIT
/* A whole program path that is read, with names for its paths: where they start. */
#ifndef HP_CLI_WPP_NAMES_H
#define HP_CLI_WPP_NAMES_H

#include "base/cleanup.h"
#include "hotpath/wpp.h"
#include "symbols/symbols.h"

struct hp_open_wpp {
    struct hp_wpp_reader *reader;
    const struct hp_wpp_path *paths;
    const struct hp_wpp_module *modules;
    size_t n_modules;
    struct hp_symbols **symbols; /* of each module; NULL where there are none */
    bool *opened;
};

/* HP_CLEANUP(hp_open_wpp_close) is needed, also when this fails. */
enum hp_err hp_open_wpp(struct hp_open_wpp *wpp, const char *path);
void hp_open_wpp_close(struct hp_open_wpp *wpp);

/* The function in which the path starts; NULL: not known. Symbols are read when first needed. */
const struct hp_symbol *hp_wpp_function(struct hp_open_wpp *wpp, const struct hp_wpp_path *path);

struct hp_wpp_text {
    char place[512]; /* "module+0xoffset", or "0xaddress" for code in no module; may be cut */
    char outcomes[HP_PATH_MAX_LENGTH + 1]; /* "0110", first branch first */
};

void hp_wpp_describe(const struct hp_open_wpp *wpp, const struct hp_wpp_path *path,
                     struct hp_wpp_text *text);

#endif
