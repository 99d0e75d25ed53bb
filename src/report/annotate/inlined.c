// SPDX-License-Identifier: MIT
/* The code of a function at the places where it was inlined. */
#include "base/base.h"
#include "profile/unfold.h"
#include "report/annotate/annotate.h"

enum hp_err hp_annotator_find_inlined(struct hp_annotator *a)
{
    const struct hp_profile *p = a->tables->profile;
    if (p->n_inlined_ranges)
        HP_TRY(hp_profile_inlined_functions(p, &a->range_functions));
    return HP_OK;
}

/* Whether it is a call of the function that counts: what is inlined into itself is there already.
 */
static bool is_asked_for(const struct hp_annotator *a, size_t range, uint32_t function)
{
    const struct hp_pinlined_range *ranges = a->tables->profile->inlined_ranges;
    if (a->range_functions[range] != function || a->tables->block_counts[ranges[range].block] == 0)
        return false;
    for (; ranges[range].depth > 1 && range-- > 0;)
        if (a->range_functions[range] == function)
            return false;
    return a->tables->profile->blocks[ranges[range].block].function != function;
}

/* Whether code of the function was executed where it was inlined into others. */
static bool is_inlined(const struct hp_annotator *a, uint32_t function)
{
    for (size_t i = 0; a->range_functions && i < a->tables->profile->n_inlined_ranges; i++)
        if (is_asked_for(a, i, function))
            return true;
    return false;
}

static enum hp_err add_place(const struct hp_annotator *a, size_t range,
                             struct hp_inlined_places *places, struct hp_inlined_place **place)
{
    const struct hp_profile *p = a->tables->profile;
    const struct hp_pinlined_range *r = &p->inlined_ranges[range];
    uint32_t caller =
        r->depth > 1 && range ? a->range_functions[range - 1] : p->blocks[r->block].function;
    for (size_t i = 0; i < places->n; i++) {
        *place = &places->places[i];
        if ((*place)->caller == caller && (*place)->line == r->call_line &&
            strcmp((*place)->file, hp_text(r->call_file)) == 0)
            return HP_OK;
    }
    HP_TRY(hp_grow(&places->places, &places->capacity, places->n + 1, sizeof *places->places));
    *place = &places->places[places->n++];
    **place = (struct hp_inlined_place){caller, hp_text(r->call_file), r->call_line, 0};
    return HP_OK;
}

static int compare_places(const void *a, const void *b)
{
    const struct hp_inlined_place *x = a, *y = b;
    return HP_COMPARE(y->weight, x->weight)
               ?: strcmp(x->file, y->file) ?: HP_COMPARE(x->line, y->line);
}

/* Blocks may overlap: an instruction of the machine's is weighed once. */
static double weight_of(const struct hp_annotator *a, const struct hp_code_line *line, bool *seen)
{
    if (line->insn != HP_PROFILE_NONE && seen[line->insn])
        return 0;
    if (line->insn != HP_PROFILE_NONE)
        seen[line->insn] = true;
    return hp_code_numbers(a, line).weight;
}

static enum hp_err add_inlined(struct hp_annotator *a, uint32_t function,
                               struct hp_function_code *code, struct hp_inlined_places *places)
{
    const struct hp_profile *p = a->tables->profile;
    bool *seen HP_CLEANUP(hp_free) = calloc(p->n_insns + 1, sizeof *seen);
    if (!seen)
        return hp_fail_nomem();
    for (size_t i = 0; a->range_functions && i < p->n_inlined_ranges; i++) {
        const struct hp_pinlined_range *range = &p->inlined_ranges[i];
        struct hp_inlined_place *place;
        size_t before = code->n;
        if (!is_asked_for(a, i, function))
            continue;
        HP_TRY(add_place(a, i, places, &place));
        HP_TRY(hp_annotator_add_range(a, range->block, range->from, range->to, code));
        for (size_t k = before; k < code->n; k++) {
            place->weight += weight_of(a, &code->lines[k], seen);
            code->lines[k].copy = range->entry;
        }
    }
    hp_function_code_join(code);
    if (places->n)
        qsort(places->places, places->n, sizeof *places->places, compare_places);
    return HP_OK;
}

enum hp_err hp_annotator_all_code(struct hp_annotator *a, struct hp_hot_function *function,
                                  struct hp_function_code *code, struct hp_inlined_places *places)
{
    double weight = 0;
    HP_TRY(hp_annotator_code(a, function->function, code));
    if (!is_inlined(a, function->function))
        return HP_OK;
    HP_TRY(add_inlined(a, function->function, code, places));
    for (size_t i = 0; i < code->n; i++)
        weight += hp_code_numbers(a, &code->lines[i]).weight;
    function->weight = (uint64_t)weight;
    return HP_OK;
}

void hp_inlined_places_fini(struct hp_inlined_places *places)
{
    free(places->places);
}
