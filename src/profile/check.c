// SPDX-License-Identifier: MIT
/*
 * Is a profile sound, and is it in its normal form?
 */
#include "hotpath/cycles.h"
#include "hotpath/path.h"
#include "profile/profile_impl.h"

/* --- What references and limits cannot say ---------------------------------------------------- */

enum hp_err hp_check_block(const struct hp_profile *p, size_t i)
{
    if (p->blocks[i].branch > p->blocks[i].size)
        return hp_fail(HP_ERR_INVALID, "block %zu ends with an instruction outside it", i);
    return HP_OK;
}

enum hp_err hp_check_line(const struct hp_profile *p, size_t i)
{
    const struct hp_pline *line = &p->lines[i];
    if (line->from > line->to || line->to > p->blocks[line->block].size)
        return hp_fail(HP_ERR_INVALID, "line %zu is of bytes %u to %u, outside its block", i,
                       line->from, line->to);
    return HP_OK;
}

enum hp_err hp_check_path(const struct hp_profile *p, size_t i)
{
    const struct hp_ppath *path = &p->paths[i];
    if (path->length > HP_PATH_MAX_LENGTH || (path->length < 64 && path->outcomes >> path->length))
        return hp_fail(HP_ERR_INVALID, "path %zu has %u branches with outcomes 0x%llx", i,
                       path->length, (unsigned long long)path->outcomes);
    return HP_OK;
}

enum hp_err hp_check_loop(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop *loop = &p->loops[i];
    if (loop->parent != HP_PROFILE_NONE && p->loops[loop->parent].function != loop->function)
        return hp_fail(HP_ERR_INVALID, "loop %zu is in loop %u of another function", i,
                       loop->parent);
    if (loop->flags & ~(uint32_t)HP_LOOP_IRREDUCIBLE)
        return hp_fail(HP_ERR_INVALID, "loop %zu has flags 0x%x, which do not exist", i,
                       loop->flags);
    if (loop->first_line > loop->last_line)
        return hp_fail(HP_ERR_INVALID, "loop %zu has lines %u to %u", i, loop->first_line,
                       loop->last_line);
    return HP_OK;
}

enum hp_err hp_check_loop_count(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_count *c = &p->loop_counts[i];
    if (c->executions > c->iterations || c->back_edges > c->iterations || c->min > c->max ||
        c->max > c->iterations || (c->executions == 0 && c->max > 0) || c->same > c->executions ||
        c->stride > c->executions || c->interrupted > c->executions)
        return hp_fail(HP_ERR_INVALID, "loop counter %zu, of loop %u, contradicts itself", i,
                       c->item);
    return HP_OK;
}

enum hp_err hp_check_loop_trips(const struct hp_profile *p, size_t i)
{
    const struct hp_ploop_trips *trips = &p->loop_trips[i];
    if (trips->bucket ? trips->value > 63 : trips->value == 0)
        return hp_fail(HP_ERR_INVALID, "trip count %zu is of loop %u, %s %llu, which cannot be", i,
                       trips->loop, trips->bucket ? "bucket" : "value",
                       (unsigned long long)trips->value);
    return HP_OK;
}

enum hp_err hp_check_hotspot(const struct hp_profile *p, size_t i)
{
    if (p->hotspots[i].after > p->hotspots[i].total)
        return hp_fail(HP_ERR_INVALID,
                       "hot spot %zu has more instructions after its detection than in all", i);
    return HP_OK;
}

enum hp_err hp_check_hotspot_branch(const struct hp_profile *p, size_t i)
{
    const struct hp_photspot_branch *branch = &p->hotspot_branches[i];
    if (branch->taken > branch->executed)
        return hp_fail(HP_ERR_INVALID, "branch %zu of hot spot %u is taken %u of %u times", i,
                       branch->hotspot, branch->taken, branch->executed);
    return HP_OK;
}

enum hp_err hp_check_hotspot_slice(const struct hp_profile *p, size_t i)
{
    if (p->hotspot_slices[i].width == 0)
        return hp_fail(HP_ERR_INVALID, "slice %zu of a hot spot has a width of 0", i);
    return HP_OK;
}

/* Parts are no more than what they are parts of. */
enum hp_err hp_check_insn_tally(const struct hp_profile *p, size_t i)
{
    const struct hp_pinsn_tally *t = &p->insn_tallies[i];
    const struct hp_insn_tally *tally = &t->tally;
    bool sound = tally->retired <= tally->fetched && tally->wrong_path <= tally->fetched &&
                 tally->trapped <= tally->fetched && t->useful <= t->pairs && t->near <= t->pairs;
    for (int k = 0; k < HP_INSN_EVENTS; k++)
        sound = sound && tally->events[k] <= tally->retired;
    if (!sound)
        return hp_fail(HP_ERR_INVALID, "tally %zu, of instruction %u, contradicts itself", i,
                       t->insn);
    return HP_OK;
}

enum hp_err hp_check_sampler(const struct hp_profile *p, size_t i)
{
    if (p->samplers[i].interval == 0 || p->samplers[i].scale == 0)
        return hp_fail(HP_ERR_INVALID, "sampler %zu has an interval of %llu and a scale of %llu", i,
                       (unsigned long long)p->samplers[i].interval,
                       (unsigned long long)p->samplers[i].scale);
    return HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* The values of a field below which it refers to something that exists. */
static uint64_t limit_of(const struct hp_profile *p, const struct hp_row_field *field)
{
    if (field->type == HP_ROW_U8)
        return (uint64_t)field->max + 1;
    return hp_row_is_reference(field) ? hp_profile_n_rows(p, field->to) : UINT64_MAX;
}

static bool is_within(const struct hp_row_field *field, const void *row, uint64_t limit)
{
    uint64_t value = hp_row_number(field, row);
    return value < limit || (field->type == HP_ROW_LINK && value == HP_PROFILE_NONE);
}

static enum hp_err refuse(const struct hp_row_format *format, const struct hp_row_field *field,
                          const void *row, size_t i)
{
    return hp_fail(HP_ERR_INVALID, "%s %zu has %s %llu, which does not exist", format->one, i,
                   field->name, (unsigned long long)hp_row_number(field, row));
}

enum hp_err hp_profile_check_row(const struct hp_profile *p, enum hp_row_kind kind, size_t i)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    const void *row = hp_profile_row(p, kind, i);
    for (size_t k = 0; k < format->n_fields; k++) {
        uint64_t limit = limit_of(p, &format->fields[k]);
        if (limit != UINT64_MAX && !is_within(&format->fields[k], row, limit))
            return refuse(format, &format->fields[k], row, i);
    }
    return format->check ? format->check(p, i) : HP_OK;
}

/* The same for all rows, field by field. */
static enum hp_err check_fields(const struct hp_profile *p, enum hp_row_kind kind)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    size_t n = hp_profile_n_rows(p, kind);
    const char *items = n ? hp_profile_row(p, kind, 0) : NULL;
    for (size_t k = 0; k < format->n_fields; k++) {
        const struct hp_row_field *field = &format->fields[k];
        uint64_t limit = limit_of(p, field);
        for (size_t i = 0; limit != UINT64_MAX && i < n; i++)
            if (!is_within(field, items + i * format->size, limit))
                return refuse(format, field, items + i * format->size, i);
    }
    return HP_OK;
}

static enum hp_err check_rows(const struct hp_profile *p, enum hp_row_kind kind)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    HP_TRY(check_fields(p, kind));
    for (size_t i = 0; format->check && i < hp_profile_n_rows(p, kind); i++)
        HP_TRY(format->check(p, i));
    return HP_OK;
}

enum hp_err hp_profile_check_references(const struct hp_profile *p)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        if (hp_profile_n_rows(p, kind) >= HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID, "the profile has %zu %s, too many",
                           hp_profile_n_rows(p, kind), hp_row_formats[kind].many);
        HP_TRY(check_fields(p, kind));
    }
    for (size_t i = 0; i < p->n_contexts; i++)
        if (p->contexts[i].parent != HP_PROFILE_NONE && p->contexts[i].parent >= i)
            return hp_fail(HP_ERR_INVALID, "context %zu has parent %u, which comes behind it", i,
                           p->contexts[i].parent);
    return HP_OK;
}

enum hp_err hp_profile_check(const struct hp_profile *p)
{
    uint32_t culprit;
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_)
        return hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        HP_TRY(check_rows(p, kind));
    HP_TRY(hp_contexts_check_depth(p, &culprit));
    return hp_loops_check_nesting(p, &culprit);
}

/* --- Normal form ------------------------------------------------------------------------------ */

static enum hp_err is_normal(const struct hp_profile *p, enum hp_row_kind kind, bool *normal)
{
    *normal = kind == HP_ROW_CONTEXT ? hp_contexts_in_order(p) : hp_rows_in_order(p, kind);
    if (*normal && kind == HP_ROW_LOOP_TRIPS)
        *normal = hp_loop_trips_kept(p);
    if (*normal && kind == HP_ROW_MODULE)
        return hp_modules_distinct(p, normal);
    return HP_OK;
}

enum hp_err hp_profile_check_form(const struct hp_profile *p)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        bool normal;
        HP_TRY(is_normal(p, kind, &normal));
        if (!normal)
            return hp_fail(HP_ERR_INVALID, "the profile is not in its normal form: its %s are not",
                           hp_row_formats[kind].many);
    }
    return HP_OK;
}

enum hp_err hp_profile_check_normal(const struct hp_profile *p)
{
    HP_TRY(hp_profile_check(p));
    return hp_profile_check_form(p);
}
