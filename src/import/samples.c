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

bool hp_perf_take_sample(const struct hp_perf_attrs *attrs, const struct hp_perf_record *record,
                         struct hp_perf_sampled *sample)
{
    struct hp_perf_bytes body = record->body;
    *sample = (struct hp_perf_sampled){.attr = HP_PERF_NO_ATTR};
    if (!attrs->n || (sample->attr = attr_of_sample(attrs, body)) == HP_PERF_NO_ATTR)
        return attrs->n != 0;
    const struct hp_perf_attr *attr = &attrs->all[sample->attr];
    take_if(attr, PERF_SAMPLE_IDENTIFIER, &body);
    sample->ip = take_if(attr, PERF_SAMPLE_IP, &body);
    if (has(attr, PERF_SAMPLE_TID)) {
        sample->pid = (int32_t)hp_perf_u32(&body);
        sample->tid = (int32_t)hp_perf_u32(&body);
    }
    sample->time = take_if(attr, PERF_SAMPLE_TIME, &body);
    take_if(attr, PERF_SAMPLE_ADDR, &body);
    take_if(attr, PERF_SAMPLE_ID, &body);
    take_if(attr, PERF_SAMPLE_STREAM_ID, &body);
    take_if(attr, PERF_SAMPLE_CPU, &body);
    sample->period = has(attr, PERF_SAMPLE_PERIOD) ? hp_perf_u64(&body)
                     : attr->frequency             ? 1
                                                   : attr->period;
    if (has(attr, PERF_SAMPLE_READ))
        skip_read(attr, &body);
    take_stacks(attr, &body, sample);
    return !body.bad && sample->n_branches <= HP_PERF_MAX_STACK &&
           sample->n_chain <= HP_PERF_MAX_STACK;
}

/* Where bytes are the other way round, the first bit of a number is the highest. */
static uint16_t cycles_of(uint64_t flags, bool swapped)
{
    unsigned cycles = 0;
    for (unsigned i = 0; i < 16; i++)
        cycles |= (unsigned)(flags >> (4 + i) & 1) << (swapped ? 15 - i : i);
    return (uint16_t)cycles;
}

struct hp_perf_branch hp_perf_take_branch(struct hp_perf_sampled *sample)
{
    struct hp_perf_bytes *bytes = &sample->branches;
    struct hp_perf_branch branch = {.from = hp_perf_u64(bytes), .to = 0};
    branch.to = hp_perf_u64(bytes);
    uint64_t flags = hp_perf_flags(bytes);
    branch.mispredicted = flags & 1;
    branch.predicted = flags >> 1 & 1;
    /* Where bytes are the other way round, so are numbers of two bits: this is the one with one. */
    branch.wrong_path = (flags >> 24 & 3) == (bytes->swapped ? 2 : 1);
    branch.cycles = cycles_of(flags, bytes->swapped);
    sample->n_branches--;
    return branch;
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
