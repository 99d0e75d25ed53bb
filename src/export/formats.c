// SPDX-License-Identifier: MIT
#include "export/export.h"

#include <stdio.h>
#include <string.h>

/* Every format, in the order of the help; each is a file here with its hp_format_NAME. */
#define FORMATS(F)                                                                                 \
    F(kanata)                                                                                      \
    F(o3)                                                                                          \
    F(champsim)                                                                                    \
    F(simpoint)                                                                                    \
    F(bolt)                                                                                        \
    F(bolt_aggregated)                                                                             \
    F(callgrind)                                                                                   \
    F(pprof)                                                                                       \
    F(folded)                                                                                      \
    F(speedscope)                                                                                  \
    F(drcov)                                                                                       \
    F(blocks_text)                                                                                 \
    F(chrome)                                                                                      \
    F(llvm_sample)                                                                                 \
    F(autofdo)                                                                                     \
    F(lcov)

#define DECLARE(name) extern const struct hp_export_format hp_format_##name;
FORMATS(DECLARE)

#define ADDRESS(name) &hp_format_##name,
static const struct hp_export_format *const formats[] = {FORMATS(ADDRESS)};

#define N_FORMATS (sizeof formats / sizeof *formats)

const struct hp_export_format *const *hp_export_formats(size_t *n)
{
    *n = N_FORMATS;
    return formats;
}

enum hp_err hp_export_find(const char *name, const struct hp_export_format **format)
{
    char names[512];
    int length = 0;
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (name && strcmp(formats[i]->name, name) == 0) {
            *format = formats[i];
            return HP_OK;
        }
        if (length >= 0 && (size_t)length < sizeof names)
            length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", i ? ", " : "",
                               formats[i]->name);
    }
    if (!name)
        return hp_fail(HP_ERR_INVALID, "no format given: --format is one of %s", names);
    return hp_fail(HP_ERR_INVALID, "there is no format '%s'; there are: %s", name, names);
}
