// SPDX-License-Identifier: MIT
#include "export/viewers/names.h"

#include "text/number.h"

#include <string.h>

#define UNKNOWN "[unknown]"

enum hp_err hp_views_check(const struct hp_export_request *request, const char *format)
{
    if (request->module)
        return hp_fail(HP_ERR_INVALID, "'%s' is about the whole program: it takes no --module",
                       format);
    if (request->table)
        return hp_fail(HP_ERR_INVALID, "'%s' has the exact counts: it takes no --table", format);
    return HP_OK;
}

uint64_t hp_views_total(const struct hp_profile *profile)
{
    uint64_t total = 0;
    for (size_t i = 0; i < profile->n_threads; i++)
        total = hp_saturating_add(total, profile->threads[i].instructions);
    return total;
}

const char *hp_views_name(const struct hp_tables *tables, uint32_t function)
{
    if (function == HP_PROFILE_NONE || !*tables->functions[function])
        return UNKNOWN;
    return tables->functions[function];
}

void hp_views_clean(struct hp_strbuf *text, const char *name, char separator)
{
    size_t first = text->length;
    hp_strbuf_clean(text, name[strspn(name, " ")] ? name : UNKNOWN);
    for (size_t i = first; separator && i < text->length; i++)
        if (text->data[i] == separator)
            text->data[i] = ':';
}

void hp_views_command(const struct hp_profile *profile, struct hp_strbuf *text)
{
    for (char **word = profile->run.command; word && *word; word++) {
        if (word != profile->run.command)
            hp_strbuf_add(text, " ");
        hp_strbuf_clean(text, *word);
    }
}
