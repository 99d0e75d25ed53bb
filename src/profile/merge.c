// SPDX-License-Identifier: MIT
/*
 * Merging: all rows of the other profile are appended, their indices moved behind ours, and
 * normalising joins what is the same.
 */
#include "profile/profile_impl.h"

/* Texts become ours, and indices are moved. */
static enum hp_err adopt(struct hp_profile *p, const struct hp_row_format *format, void *row,
                         const size_t base[HP_ROW_KINDS])
{
    for (size_t k = 0; k < format->n_fields; k++) {
        const struct hp_row_field *field = &format->fields[k];
        if (hp_row_is_text(field)) {
            const char *text = hp_profile_string(p, hp_row_text(field, row));
            if (!text)
                return HP_ERR_NOMEM;
            hp_row_set_text(field, row, text);
        } else if (hp_row_is_reference(field)) {
            uint32_t *index = hp_row_index(field, row);
            *index = *index == HP_PROFILE_NONE ? *index : *index + (uint32_t)base[field->to];
        }
    }
    return HP_OK;
}

static uint32_t add_runs(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Nothing moves while it is filled: `other` may be the profile itself. */
static enum hp_err append_all(struct hp_profile *p, const struct hp_profile *other,
                              const size_t base[HP_ROW_KINDS], const size_t more[HP_ROW_KINDS])
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        struct hp_row_array rows = hp_profile_rows(p, kind);
        for (size_t i = 0; i < more[kind]; i++) {
            char *row = rows.items + (*rows.n)++ * rows.format->size;
            memcpy(row, hp_profile_row(other, kind, i), rows.format->size);
            HP_TRY(adopt(p, rows.format, row, base));
        }
    }
    /* A hot spot is of one run. */
    for (size_t i = base[HP_ROW_HOTSPOT]; i < p->n_hotspots; i++)
        p->hotspots[i].run = add_runs(p->hotspots[i].run, p->run.runs);
    return hp_profile_normalize(p);
}

static void merge_run(struct hp_run *run, const struct hp_run *other)
{
    run->seconds += other->seconds;
    run->lost = hp_add_saturated(run->lost, other->lost);
    run->runs = add_runs(run->runs, other->runs);
    hp_engine_work_merge(&run->work, &other->work);
    if (run->exit_status == 0)
        run->exit_status = other->exit_status;
}

enum hp_err hp_profile_merge(struct hp_profile *profile, const struct hp_profile *other)
{
    size_t base[HP_ROW_KINDS], more[HP_ROW_KINDS];
    HP_TRY(hp_profile_check(profile));
    HP_TRY(hp_profile_check(other));
    if (profile->run.arch != other->run.arch)
        return hp_fail(HP_ERR_INVALID, "profiles of different architectures cannot be merged");
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        base[kind] = hp_profile_n_rows(profile, kind);
        more[kind] = hp_profile_n_rows(other, kind);
        HP_TRY(hp_profile_reserve(profile, kind, more[kind]));
    }
    enum hp_err err = append_all(profile, other, base, more);
    if (err == HP_OK)
        merge_run(&profile->run, &other->run);
    for (enum hp_row_kind kind = 0; err != HP_OK && kind < HP_ROW_KINDS; kind++)
        *hp_profile_rows(profile, kind).n = base[kind];
    return err;
}
