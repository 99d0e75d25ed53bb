// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"

#include "report/annotate/annotation.h"
#include "report/print.h"

#include <stdlib.h>
#include <string.h>

/* By its name, its linkage name, or its name without parameters. */
static bool is_called(const struct hp_tables *tables, uint32_t function, const char *name)
{
    const struct hp_pfunction *f = &tables->profile->functions[function];
    size_t n = strlen(name);
    return strcmp(tables->functions[function], name) == 0 ||
           strcmp(hp_text(f->linkage), name) == 0 ||
           (n && strncmp(hp_text(f->name), name, n) == 0 && f->name[n] == '(');
}

/* Moves those of the names that were asked for, one name after the other, to the front. */
static enum hp_err choose(const struct hp_annotator *a, struct hp_hot_function *functions, size_t n,
                          size_t *chosen)
{
    const struct hp_annotate_options *options = a->options;
    *chosen = 0;
    for (size_t k = 0; k < options->n_names; k++) {
        size_t before = *chosen;
        bool earlier = false; /* a name that was said twice */
        for (size_t i = 0; i < before; i++)
            earlier |= is_called(a->tables, functions[i].function, options->names[k]);
        for (size_t i = before; i < n; i++) {
            if (!is_called(a->tables, functions[i].function, options->names[k]))
                continue;
            struct hp_hot_function found = functions[i];
            memmove(&functions[*chosen + 1], &functions[*chosen],
                    (i - *chosen) * sizeof *functions);
            functions[(*chosen)++] = found;
        }
        if (*chosen == before && !earlier)
            return hp_fail(HP_ERR_NOTFOUND,
                           "no function named '%s' was executed (hotpath report FILE functions "
                           "lists them)",
                           options->names[k]);
    }
    return HP_OK;
}

static enum hp_err annotate(struct hp_annotator *a)
{
    struct hp_hot_function *functions;
    size_t n, shown;
    HP_TRY(hp_annotator_functions(a, &functions, &n));
    enum hp_err err = HP_OK;
    if (a->options->n_names) {
        err = choose(a, functions, n, &shown);
    } else {
        size_t top = a->options->top ? a->options->top : HP_ANNOTATE_TOP;
        shown = a->options->all || top > n ? n : top;
    }
    if (err == HP_OK)
        err = a->options->json ? hp_annotate_json(a, functions, shown)
                               : hp_annotate_text(a, functions, shown);
    free(functions);
    return err;
}

enum hp_err hp_annotate(const struct hp_profile *profile, const struct hp_annotate_options *options,
                        FILE *out)
{
    struct hp_tables tables;
    struct hp_annotator annotator;
    HP_TRY(hp_tables_init(&tables, profile));
    enum hp_err err = hp_annotator_init(&annotator, &tables, options, out);
    if (err == HP_OK) {
        flockfile(out); /* the tables use the unlocked calls */
        err = annotate(&annotator);
        funlockfile(out);
        hp_annotator_fini(&annotator);
    }
    hp_tables_fini(&tables);
    return err == HP_OK ? hp_print_finish(out) : err;
}
