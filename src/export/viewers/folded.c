// SPDX-License-Identifier: MIT

#include "base/base.h"
#include "export/viewers/views.h"
#include "text/number.h"

/* Clean names by function, the unknown one last. */
static enum hp_err make_names(const struct hp_tables *tables, struct hp_strings *texts,
                              const char **names)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n = tables->profile->n_functions;
    for (uint32_t i = 0; i <= n; i++) {
        hp_strbuf_clear(&text);
        hp_views_clean(&text, hp_views_name(tables, i < n ? i : HP_PROFILE_NONE), ';');
        names[i] = hp_strings_add(texts, hp_strbuf_text(&text), text.length);
        if (!names[i] || text.failed)
            return hp_fail_nomem();
    }
    return HP_OK;
}

static void put_stack(const struct hp_profile *p, const char **names, uint32_t context,
                      uint64_t self, FILE *out)
{
    uint32_t functions[HP_CONTEXT_DEPTH];
    size_t n = hp_stacks_functions(p, context, functions);
    while (n-- > 0) {
        fputs(names[hp_slot(functions[n], p->n_functions)], out);
        fputc(n ? ';' : ' ', out);
    }
    fprintf(out, "%" PRIu64 "\n", self);
}

static enum hp_err write_folded(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct hp_tables tables HP_CLEANUP(hp_tables_fini) = {0};
    struct hp_strings texts HP_CLEANUP(hp_strings_fini) = {0};
    const char **names HP_CLEANUP(hp_free) = NULL;
    uint64_t sum = 0;
    HP_TRY(hp_new(&names, p->n_functions + 1, sizeof *names));
    HP_TRY(hp_stacks_init(&tables, request, "folded"));
    HP_TRY(make_names(&tables, &texts, names));
    for (uint32_t i = 0; i < p->n_contexts; i++) {
        size_t n;
        uint64_t self = 0;
        const struct hp_pcontext_count *counts = hp_items(p, HP_ROW_CONTEXT_COUNT, i, &n);
        for (size_t k = 0; k < n; k++)
            hp_add_up(&self, counts[k].self);
        if (self)
            put_stack(p, names, i, self, request->out);
        hp_add_up(&sum, self);
    }
    request->written = hp_stacks_written(&tables, sum);
    return HP_OK;
}

const struct hp_export_format hp_format_folded = {
    .name = "folded",
    .summary = "calling contexts, a line each, for flame graphs",
    .write = write_folded,
    .functions = true,
    .inlined = true,
};
