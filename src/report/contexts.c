// SPDX-License-Identifier: MIT
/*
 * Calling contexts for scripts. By inclusive instructions, then in the order of the profile, so parents come before their children, also where
 * only the first rows are kept.
 */
#include "report/fields.h"
#include "text/number.h"

#include <stdlib.h>

enum hp_err hp_rows_contexts(struct hp_rows *rows, const struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    struct hp_row *all = rows->rows = calloc(p->n_contexts + 1, sizeof *all);
    if (!all)
        return hp_fail_nomem();
    rows->n = p->n_contexts;
    for (uint32_t i = 0; i < p->n_contexts; i++)
        all[i] = (struct hp_row){.item = i, .thread = HP_PROFILE_NONE};
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *count = &p->context_counts[i];
        struct hp_row *row = &all[count->item];
        row->v[0] = row->v[1] = hp_saturating_add(row->v[1], count->self);
        row->v[2] = hp_saturating_add(row->v[2], count->calls);
    }
    for (size_t i = p->n_contexts; i-- > 0;) { /* children before their parents */
        uint32_t parent = p->contexts[i].parent;
        if (parent != HP_PROFILE_NONE)
            all[parent].v[0] = hp_saturating_add(all[parent].v[0], all[i].v[0]);
    }
    return HP_OK;
}

static const struct hp_pcontext *context_of(const struct hp_field_input *in)
{
    return &in->tables->profile->contexts[in->row->item];
}

static struct hp_cell context_id(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->item);
}

static struct hp_cell context_parent(const struct hp_field_input *in)
{
    return hp_cell_index(context_of(in)->parent);
}

static struct hp_cell context_function(const struct hp_field_input *in)
{
    uint32_t function = context_of(in)->function;
    return hp_cell_text(function == HP_PROFILE_NONE ? "" : in->tables->functions[function]);
}

static struct hp_cell context_address(const struct hp_field_input *in)
{
    uint32_t function = context_of(in)->function;
    struct hp_place nowhere = {HP_PROFILE_NONE, 0};
    return hp_cell_place(
        in, function == HP_PROFILE_NONE ? nowhere : in->tables->profile->functions[function].place);
}

static struct hp_cell context_inclusive(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[0]);
}

static struct hp_cell context_self(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[1]);
}

static struct hp_cell context_calls(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[2]);
}

static struct hp_cell context_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(in->row->v[0], in->tables->summary.instructions));
}

const struct hp_field hp_context_fields[] = {{"id", HP_FIELD_PLAIN, context_id},
                                             {"parent", HP_FIELD_PLAIN, context_parent},
                                             {"function", HP_FIELD_PLAIN, context_function},
                                             {"address", HP_FIELD_PLAIN, context_address},
                                             {"self", HP_FIELD_PLAIN, context_self},
                                             {"inclusive", HP_FIELD_PLAIN, context_inclusive},
                                             {"calls", HP_FIELD_PLAIN, context_calls},
                                             {"share", HP_FIELD_PLAIN, context_share},
                                             {0}};
