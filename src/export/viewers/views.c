// SPDX-License-Identifier: MIT
#include "export/viewers/views.h"
#include "base/base.h"

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

enum hp_err hp_stacks_init(struct hp_tables *tables, const struct hp_export_request *request,
                           const char *format)
{
    HP_TRY(hp_views_check(request, format));
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "'%s' has instructions: by calling context nothing else is known (the "
                       "format callgrind has cycles)",
                       format);
    HP_TRY(hp_tables_init(tables, request->profile));
    if (request->profile->n_contexts == 0 && tables->summary.instructions > 0)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no calling contexts, which '%s' is made of: record it "
                       "with hotpath record --profile exact",
                       format);
    return HP_OK;
}

size_t hp_stacks_functions(const struct hp_profile *profile, uint32_t context,
                           uint32_t functions[HP_CONTEXT_DEPTH])
{
    size_t n = 0;
    for (; context != HP_PROFILE_NONE; context = profile->contexts[context].parent)
        functions[n++] = profile->contexts[context].function;
    return n;
}

struct hp_export_written hp_stacks_written(const struct hp_tables *tables, uint64_t instructions)
{
    struct hp_export_written written = {
        .unit = "instructions", .written = instructions, .total = tables->summary.instructions};
    if (written.written < written.total)
        strcpy(written.missing, "in runs that were recorded without calling contexts");
    struct hp_strbuf beyond HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_put_contexts_beyond(&tables->summary, &beyond);
    snprintf(written.detail, sizeof written.detail, "%s", hp_strbuf_text(&beyond));
    return written;
}
