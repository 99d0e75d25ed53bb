// SPDX-License-Identifier: MIT
#include "export/viewers/stacks.h"

#include <stdlib.h>
#include <string.h>

/* Parents come before their children, and no stack is absurdly deep. */
static enum hp_err check_contexts(const struct hp_profile *p)
{
    uint16_t *depths = calloc(p->n_contexts + 1, sizeof *depths);
    enum hp_err err = depths ? HP_OK : hp_fail_nomem();
    for (uint32_t i = 0; err == HP_OK && i < p->n_contexts; i++) {
        const struct hp_pcontext *context = &p->contexts[i];
        bool root = context->parent == HP_PROFILE_NONE;
        if ((!root && context->parent >= i) ||
            (context->function != HP_PROFILE_NONE && context->function >= p->n_functions))
            err = hp_fail(HP_ERR_INVALID, "calling context %u is not one that can be", i);
        else if (!root && depths[context->parent] == HP_STACKS_DEPTH - 1)
            err = hp_fail(HP_ERR_INVALID, "calling context %u has more than %d callers", i,
                          HP_STACKS_DEPTH - 1);
        else
            depths[i] = root ? 0 : (uint16_t)(depths[context->parent] + 1);
    }
    for (size_t i = 0; err == HP_OK && i < p->n_context_counts; i++)
        if (p->context_counts[i].item >= p->n_contexts ||
            p->context_counts[i].thread >= p->n_threads)
            err = hp_fail(HP_ERR_INVALID, "a counter of calling contexts belongs to none");
    free(depths);
    return err;
}

enum hp_err hp_stacks_check(const struct hp_profile *profile,
                            const struct hp_export_request *request, const char *format)
{
    HP_TRY(hp_views_check(request, format));
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID,
                       "'%s' has instructions: by calling context nothing else is known (the "
                       "format callgrind has cycles)",
                       format);
    if (profile->n_contexts == 0 && hp_views_total(profile) > 0)
        return hp_fail(HP_ERR_INVALID,
                       "the profile has no calling contexts, which '%s' is made of: record it "
                       "with hotpath record --profile exact",
                       format);
    return check_contexts(profile);
}

size_t hp_stacks_functions(const struct hp_profile *profile, uint32_t context,
                           uint32_t functions[HP_STACKS_DEPTH])
{
    size_t n = 0;
    for (; context != HP_PROFILE_NONE; context = profile->contexts[context].parent)
        functions[n++] = profile->contexts[context].function;
    return n;
}

struct hp_export_written hp_stacks_written(const struct hp_profile *profile, uint64_t instructions)
{
    struct hp_export_written written = {
        .unit = "instructions", .written = instructions, .total = hp_views_total(profile)};
    if (written.written < written.total)
        strcpy(written.missing, "in runs that were recorded without calling contexts");
    return written;
}
