// SPDX-License-Identifier: MIT
/*
 * What the engine did: the one list of what there is to say.
 */
#include "profile/profile_impl.h"

#define SUM(member)                                                                                \
    {                                                                                              \
#member, offsetof(struct hp_engine_work, member), 0                                        \
    }
#define MAXIMUM(member)                                                                            \
    {                                                                                              \
#member, offsetof(struct hp_engine_work, member), 1                                        \
    }

const struct hp_engine_work_field hp_engine_work_fields[] = {
    SUM(segments),    SUM(blocks),  SUM(instructions), SUM(links),           SUM(lookups),
    SUM(invalidated), SUM(flushes), SUM(translate_ns), MAXIMUM(cache_bytes), MAXIMUM(memory_bytes),
    SUM(processes),   SUM(threads), SUM(detached),     {NULL, 0, 0},
};

uint64_t *hp_engine_work_value(struct hp_engine_work *work,
                               const struct hp_engine_work_field *field)
{
    return (uint64_t *)(void *)((char *)work + field->offset);
}

int hp_engine_work_known(const struct hp_engine_work *work)
{
    struct hp_engine_work copy = *work;
    for (const struct hp_engine_work_field *f = hp_engine_work_fields; f->name; f++)
        if (*hp_engine_work_value(&copy, f))
            return 1;
    return 0;
}

void hp_engine_work_merge(struct hp_engine_work *work, const struct hp_engine_work *other)
{
    struct hp_engine_work copy = *other;
    for (const struct hp_engine_work_field *f = hp_engine_work_fields; f->name; f++) {
        uint64_t *mine = hp_engine_work_value(work, f), its = *hp_engine_work_value(&copy, f);
        if (!f->is_maximum)
            *mine = hp_add_saturated(*mine, its);
        else if (its > *mine)
            *mine = its;
    }
}
