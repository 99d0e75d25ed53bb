// SPDX-License-Identifier: MIT
#include "import/samples.h"

#include "base/base.h"

static bool has(const struct hp_perf_attr *attr, uint64_t bit)
{
    return attr->sample_type & bit;
}

static uint32_t attr_of_id(const struct hp_perf_attrs *attrs, uint64_t id)
{
    uint32_t attr = hp_map64_get(&attrs->of_id, id);
    return attr == HP_MAP64_NONE ? HP_PERF_NO_ATTR : attr;
}

/* Which event a sample is of. perf sees to it that the id is at the same place in all events. */
static uint32_t attr_of_sample(const struct hp_perf_attrs *attrs, struct hp_perf_bytes body)
{
    static const uint64_t before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                      PERF_SAMPLE_ADDR};
    const struct hp_perf_attr *first = attrs->all;
    if (attrs->n == 1)
        return 0;
    if (!has(first, PERF_SAMPLE_IDENTIFIER)) {
        if (!has(first, PERF_SAMPLE_ID))
            return 0;
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            hp_perf_skip(&body, has(first, before[i]) ? 8 : 0);
    }
    return attr_of_id(attrs, hp_perf_u64(&body));
}

/* Values of counters that were read with the sample. */
static void skip_read(const struct hp_perf_attr *attr, struct hp_perf_bytes *body)
{
    uint64_t format = attr->read_format;
    uint64_t times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
                     (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
    uint64_t each = 8;
    each += format & PERF_FORMAT_ID ? 8 : 0;
    each += format & 16 ? 8 : 0; /* PERF_FORMAT_LOST */
    if (format & PERF_FORMAT_GROUP) {
        uint64_t n = hp_perf_u64(body);
        hp_perf_skip(body, times);
        hp_perf_skip(body, hp_saturating_mul(n, each));
    } else {
        hp_perf_skip(body, each + times);
    }
}

/* `n` items of `size` bytes each. */
static struct hp_perf_bytes take_items(struct hp_perf_bytes *body, uint64_t n, uint64_t size)
{
    struct hp_perf_bytes items = *body;
    hp_perf_skip(body, hp_saturating_mul(n, size));
    items.end = body->at;
    return items;
}

static uint64_t take_if(const struct hp_perf_attr *attr, uint64_t bit, struct hp_perf_bytes *body)
{
    return has(attr, bit) ? hp_perf_u64(body) : 0;
}

static void take_stacks(const struct hp_perf_attr *attr, struct hp_perf_bytes *body,
                        struct hp_perf_sampled *sample)
{
    if (has(attr, PERF_SAMPLE_CALLCHAIN)) {
        sample->n_chain = hp_perf_u64(body);
        sample->chain = take_items(body, sample->n_chain, sizeof(uint64_t));
    }
    if (has(attr, PERF_SAMPLE_RAW))
        sample->raw = take_items(body, hp_perf_u32(body), 1);
    if (has(attr, PERF_SAMPLE_BRANCH_STACK)) {
        sample->n_branches = hp_perf_u64(body);
        if (attr->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
            hp_perf_skip(body, 8);
        sample->branches = take_items(body, sample->n_branches, sizeof(struct perf_branch_entry));
    }
}

struct hp_perf_layout hp_perf_layout_of(const struct hp_perf_attr *attr)
{
    struct hp_perf_layout layout = {0};
    uint8_t nowhere;
    const struct {
        uint64_t bit;
        uint8_t *at;
    } parts[] = {{PERF_SAMPLE_IDENTIFIER, &nowhere},  {PERF_SAMPLE_IP, &layout.ip},
                 {PERF_SAMPLE_TID, &layout.tid},      {PERF_SAMPLE_TIME, &layout.time},
                 {PERF_SAMPLE_ADDR, &nowhere},        {PERF_SAMPLE_ID, &nowhere},
                 {PERF_SAMPLE_STREAM_ID, &nowhere},   {PERF_SAMPLE_CPU, &nowhere},
                 {PERF_SAMPLE_PERIOD, &layout.period}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool there = has(attr, parts[i].bit);
        *parts[i].at = there ? layout.size : HP_PERF_ABSENT;
        layout.size = (uint8_t)(layout.size + (there ? sizeof(uint64_t) : 0));
    }
    return layout;
}

static uint64_t number_at(struct hp_perf_bytes body, uint8_t at)
{
    if (at == HP_PERF_ABSENT)
        return 0;
    body.at += at;
    return hp_perf_u64(&body);
}

bool hp_perf_take_sample(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record,
                         struct hp_perf_sampled *sample)
{
    struct hp_perf_bytes body = record->body;
    *sample = (struct hp_perf_sampled){.attr = HP_PERF_NO_ATTR};
    if (!attrs->n || (sample->attr = attr_of_sample(attrs, body)) == HP_PERF_NO_ATTR)
        return attrs->n != 0;
    const struct hp_perf_attr *attr = &attrs->all[sample->attr];
    const struct hp_perf_layout *layout = &attr->layout;
    if (hp_perf_left(&body) < layout->size)
        return false;
    sample->ip = number_at(body, layout->ip);
    sample->time = number_at(body, layout->time);
    sample->period = layout->period != HP_PERF_ABSENT ? number_at(body, layout->period)
                     : attr->frequency                ? 1
                                                      : attr->period;
    if (layout->tid != HP_PERF_ABSENT) {
        struct hp_perf_bytes ids = {body.at + layout->tid, body.end, body.swapped, false};
        sample->pid = (int32_t)hp_perf_u32(&ids);
        sample->tid = (int32_t)hp_perf_u32(&ids);
    }
    body.at += layout->size;
    if (has(attr, PERF_SAMPLE_READ))
        skip_read(attr, &body);
    take_stacks(attr, &body, sample);
    return !body.bad && sample->n_branches <= HP_PERF_MAX_STACK &&
           sample->n_chain <= HP_PERF_MAX_STACK;
}

/* Where bytes are the other way round, the first bit of a number is the highest. */
static uint64_t cycles_of(uint64_t flags)
{
    uint64_t cycles = 0;
    for (unsigned i = 0; i < 16; i++)
        cycles |= (flags >> (HP_PERF_CYCLES_SHIFT + i) & 1) << (15 - i);
    return cycles;
}

/* So are numbers of two bits: this is the one with one. */
static uint64_t own_flags(uint64_t flags)
{
    uint64_t own = flags & (HP_PERF_MISPREDICTED | HP_PERF_PREDICTED);
    own |= cycles_of(flags) << HP_PERF_CYCLES_SHIFT;
    return own | ((flags & HP_PERF_SPECULATED) == UINT64_C(2) << 24 ? HP_PERF_WRONG_PATH : 0);
}

const uint8_t *hp_perf_branches(const struct hp_perf_sampled *sample, uint64_t *room)
{
    struct hp_perf_bytes bytes = sample->branches;
    if (!bytes.swapped)
        return bytes.at;
    for (uint64_t i = 0; i < sample->n_branches; i++) {
        room[3 * i] = hp_perf_u64(&bytes);
        room[3 * i + 1] = hp_perf_u64(&bytes);
        room[3 * i + 2] = own_flags(hp_perf_flags(&bytes));
    }
    return (const uint8_t *)room;
}

/* The end of such a record: pid and tid, time, id, stream, processor, identifier, as far as the
 * event has them. */
struct hp_perf_trailer hp_perf_trailer_of(const struct hp_perf_attrs *attrs,
                                          const struct hp_perf_record *record)
{
    static const uint64_t parts[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                     PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
                                     PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
    struct hp_perf_trailer trailer = {0};
    struct hp_perf_bytes body = record->body;
    uint64_t n = 0;
    if (!attrs->n || !attrs->all->trailers)
        return trailer;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        n += has(attrs->all, parts[i]) ? 8 : 0;
    if (hp_perf_left(&body) < n)
        return trailer;
    hp_perf_skip(&body, hp_perf_left(&body) - n);
    if (has(attrs->all, PERF_SAMPLE_TID)) {
        trailer.pid = (int32_t)hp_perf_u32(&body);
        trailer.tid = (int32_t)hp_perf_u32(&body);
    }
    trailer.time = take_if(attrs->all, PERF_SAMPLE_TIME, &body);
    take_if(attrs->all, PERF_SAMPLE_ID, &body);
    take_if(attrs->all, PERF_SAMPLE_STREAM_ID, &body);
    if (has(attrs->all, PERF_SAMPLE_CPU))
        trailer.cpu = hp_perf_u32(&body);
    return trailer;
}

uint64_t hp_perf_time_of(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record)
{
    return hp_perf_trailer_of(attrs, record).time;
}
