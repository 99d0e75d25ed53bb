// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "export/export.h"
#include "text/strbuf.h"

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
    F(lcov)                                                                                        \
    F(perf)                                                                                        \
    F(perf_pt)                                                                                     \
    F(perf_etm)                                                                                    \
    F(ibs)

#define DECLARE(name) extern const struct hp_export_format hp_format_##name;
FORMATS(DECLARE)

#define ADDRESS(name) &hp_format_##name,
const struct hp_export_format *const hp_export_formats[] = {FORMATS(ADDRESS) NULL};

enum hp_err hp_export_find(const char *name, const struct hp_export_format **format)
{
    struct hp_strbuf names HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; (*format = hp_export_formats[i]); i++) {
        size_t n = strlen((*format)->name);
        bool same = name && strncmp((*format)->name, name, n) == 0;
        if (same && (!name[n] || (name[n] == ',' && (*format)->settings)))
            return HP_OK;
        if (same && name[n] == ',')
            return hp_fail(HP_ERR_INVALID, "the format '%s' has no settings", (*format)->name);
        hp_strbuf_format(&names, "%s%s", i ? ", " : "", (*format)->name);
    }
    if (!name)
        return hp_fail(HP_ERR_INVALID, "no format given: --format is one of %s",
                       hp_strbuf_text(&names));
    return hp_fail(HP_ERR_INVALID, "there is no format '%s'; there are: %s", name,
                   hp_strbuf_text(&names));
}
