// SPDX-License-Identifier: MIT
#include "report/annotate/annotate.h"
#include "base/base.h"
#include "report/print.h"
#include "report/query/names.h"
#include "text/number.h"

static int compare_functions(const void *a, const void *b)
{
    const struct hp_hot_function *x = a, *y = b;
    return HP_COMPARE(x->name, y->name) ?: HP_COMPARE(y->weight, x->weight)
               ?: HP_COMPARE(x->function, y->function);
}

/* `functions` has one more, for what is in none. */
static enum hp_err weigh(const struct hp_annotator *a, struct hp_hot_function *functions)
{
    const uint32_t *of = a->range_functions;
    const struct hp_profile *p = a->tables->profile;
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    for (uint32_t i = 0; i < p->n_functions; i++)
        functions[i] = (struct hp_hot_function){.function = i, .name = SIZE_MAX};
    for (size_t i = 0; i < p->n_insns; i++)
        functions[hp_slot(p->insns[i].function, p->n_functions)].name = a->options->n_names;
    for (size_t i = 0; i < p->n_blocks; i++) {
        struct hp_hot_function *f = &functions[hp_slot(p->blocks[i].function, p->n_functions)];
        if (a->tables->block_counts[i])
            f->name = a->options->n_names;
        if (a->by == HP_ANNOTATE_INSTRUCTIONS)
            hp_add_up(&f->weight,
                      hp_saturating_mul(a->tables->block_counts[i], p->blocks[i].insns));
    }
    for (size_t i = 0; of && i < p->n_inlined_ranges; i++)
        if (of[i] != HP_PROFILE_NONE && a->tables->block_counts[p->inlined_ranges[i].block])
            functions[of[i]].name = a->options->n_names;
    if (a->by == HP_ANNOTATE_INSTRUCTIONS)
        return HP_OK;
    HP_TRY(hp_view_instructions.make(&rows, a->tables));
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t function = p->insns[rows.rows[i].item].function;
        hp_add_up(&functions[hp_slot(function, p->n_functions)].weight, rows.rows[i].v[0]);
    }
    return HP_OK;
}

/* What a name stands for, of what was executed. Where it is a part of several names, these are
 * listed, and it fails. */
static enum hp_err find(const struct hp_annotator *a, const char *name, const bool *executed,
                        struct hp_found *found)
{
    HP_TRY(hp_find_functions(a->tables, name, executed, found));
    if (found->n == 0)
        return hp_fail(HP_ERR_NOTFOUND,
                       "no function named '%s' was executed, nor one with that in its name "
                       "(hotpath report FILE functions lists them)",
                       name);
    if (!hp_found_several(a->tables, found))
        return HP_OK;
    if (!a->options->json)
        HP_TRY(hp_print_found(a->tables, found, a->out));
    return hp_fail(HP_ERR_INVALID, "'%s' is a part of the names of %zu functions: say which", name,
                   found->n);
}

static enum hp_err choose(const struct hp_annotator *a, struct hp_hot_function *functions)
{
    size_t n = a->tables->profile->n_functions;
    bool *executed HP_CLEANUP(hp_free) = calloc(n + 1, sizeof *executed);
    if (!executed)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        executed[i] = functions[i].name != SIZE_MAX;
    for (size_t k = 0; k < a->options->n_names; k++) {
        struct hp_found found HP_CLEANUP(hp_found_fini) = {0};
        HP_TRY(find(a, a->options->names[k], executed, &found));
        for (size_t i = 0; i < n; i++)
            if (found.is[i] && k < functions[i].name)
                functions[i].name = k;
    }
    return HP_OK;
}

static enum hp_err annotate(struct hp_annotator *a)
{
    const struct hp_annotate_options *options = a->options;
    size_t n = 0, n_functions = a->tables->profile->n_functions;
    size_t top = options->top ? options->top : HP_ANNOTATE_TOP;
    struct hp_hot_function *functions HP_CLEANUP(hp_free) =
        calloc(n_functions + 1, sizeof *functions);
    if (!functions)
        return hp_fail_nomem();
    HP_TRY(weigh(a, functions));
    HP_TRY(choose(a, functions));
    qsort(functions, n_functions, sizeof *functions, compare_functions);
    while (n < n_functions && functions[n].name < (options->n_names ? options->n_names : 1))
        n++;
    if (!options->n_names && !options->all && top < n)
        n = top;
    return options->json ? hp_annotate_json(a, functions, n) : hp_annotate_text(a, functions, n);
}

enum hp_err hp_annotate(const struct hp_profile *profile, const struct hp_annotate_options *options,
                        FILE *out)
{
    struct hp_tables tables HP_CLEANUP(hp_tables_fini) = {0};
    struct hp_annotator annotator HP_CLEANUP(hp_annotator_fini) = {0};
    HP_TRY(hp_tables_init(&tables, profile));
    HP_TRY(hp_annotator_init(&annotator, &tables, options, out));
    HP_TRY(hp_annotator_find_inlined(&annotator));
    flockfile(out); /* the tables use the unlocked calls */
    enum hp_err err = annotate(&annotator);
    funlockfile(out);
    return err == HP_OK ? hp_print_finish(out) : err;
}
