// SPDX-License-Identifier: MIT

#include "base/strings.h"
#include "export/export.h"
#include "export/viewers/stacks.h"
#include "report/items.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>

/* Clean names by function, the unknown one last; made when they are first needed. */
struct names {
    const struct hp_tables *tables;
    const char **names;
    struct hp_strings texts;
    struct hp_strbuf text;
};

static const char *name_of(struct names *names, uint32_t function)
{
    const char **name =
        &names->names[function == HP_PROFILE_NONE ? names->tables->profile->n_functions : function];
    if (!*name) {
        hp_strbuf_clear(&names->text);
        hp_views_clean(&names->text, hp_views_name(names->tables, function), ';');
        if (!names->text.failed)
            *name = hp_strings_add(&names->texts, names->text.data, names->text.length);
    }
    return *name;
}

static enum hp_err put_stack(struct names *names, uint32_t context, uint64_t self, FILE *out)
{
    uint32_t functions[HP_STACKS_DEPTH];
    size_t n = hp_stacks_functions(names->tables->profile, context, functions);
    while (n-- > 0) {
        const char *name = name_of(names, functions[n]);
        if (!name)
            return hp_fail_nomem();
        fputs(name, out);
        fputc(n ? ';' : ' ', out);
    }
    fprintf(out, "%" PRIu64 "\n", self);
    return HP_OK;
}

static enum hp_err put_stacks(struct names *names, FILE *out, uint64_t *sum)
{
    const struct hp_profile *p = names->tables->profile;
    for (uint32_t i = 0; i < p->n_contexts; i++) {
        size_t n;
        uint64_t self = 0;
        const struct hp_pcontext_count *counts =
            hp_items_of(p->context_counts, p->n_context_counts, sizeof *counts, i, &n);
        for (size_t k = 0; k < n; k++)
            self = hp_saturating_add(self, counts[k].self);
        if (self)
            HP_TRY(put_stack(names, i, self, out));
        *sum = hp_saturating_add(*sum, self);
    }
    return HP_OK;
}

static enum hp_err write_folded(const struct hp_profile *profile,
                                const struct hp_export_request *request, FILE *out,
                                struct hp_export_written *written)
{
    struct hp_tables tables;
    uint64_t sum = 0;
    HP_TRY(hp_stacks_check(profile, request, "folded"));
    HP_TRY(hp_tables_init(&tables, profile));
    struct names names = {.tables = &tables,
                          .names = calloc(profile->n_functions + 1, sizeof *names.names)};
    enum hp_err err = names.names ? put_stacks(&names, out, &sum) : hp_fail_nomem();
    *written = hp_stacks_written(profile, sum);
    hp_strings_fini(&names.texts);
    hp_strbuf_fini(&names.text);
    free(names.names);
    hp_tables_fini(&tables);
    return err;
}

const struct hp_export_format hp_format_folded = {
    .name = "folded",
    .summary = "calling contexts, a line each, for flame graphs",
    .source = HP_EXPORT_PROFILE,
    .write = write_folded,
};
