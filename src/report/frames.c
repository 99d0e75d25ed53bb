// SPDX-License-Identifier: MIT
#include "report/frames.h"

#include "base/base.h"
#include "report/tables.h"

/* The ranges of a block: the first of `*n`. */
static const struct hp_pinlined_range *ranges_of(const struct hp_profile *p, uint32_t block,
                                                 size_t *n)
{
    return hp_items(p, HP_ROW_INLINED_RANGE, block, n);
}

/* The rows with the range of the first one. */
static size_t same_range(const struct hp_pinlined_range *ranges, size_t n)
{
    size_t same = 0;
    while (same < n && ranges[same].from == ranges->from && ranges[same].to == ranges->to &&
           ranges[same].depth == same + 1)
        same++;
    return same;
}

struct hp_frames hp_frames_at(const struct hp_profile *p, uint32_t block, uint32_t offset)
{
    size_t n;
    const struct hp_pinlined_range *ranges = ranges_of(p, block, &n);
    for (size_t i = 0, same; i < n; i += same ? same : 1) {
        same = same_range(ranges + i, n - i);
        if (ranges[i].from <= offset && offset < ranges[i].to)
            return (struct hp_frames){ranges + i, same};
    }
    return (struct hp_frames){0};
}

struct hp_frames hp_frames_common(struct hp_frames a, struct hp_frames b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.ranges[n].inlined == b.ranges[n].inlined &&
           a.ranges[n].entry == b.ranges[n].entry)
        n++;
    a.n = n;
    return a;
}

struct hp_frames hp_frames_of_block(const struct hp_profile *p, uint32_t block)
{
    size_t n, covered = 0;
    const struct hp_pinlined_range *ranges = ranges_of(p, block, &n);
    struct hp_frames common = {0};
    for (size_t i = 0, same; i < n; i += same ? same : 1) {
        same = same_range(ranges + i, n - i);
        struct hp_frames frames = {ranges + i, same};
        common = i ? hp_frames_common(common, frames) : frames;
        covered += ranges[i].insns;
    }
    if (covered < p->blocks[block].insns) /* some of it is the function's own */
        common.n = 0;
    return common;
}

struct hp_written hp_written_in(const struct hp_profile *p, struct hp_frames frames,
                                const struct hp_pline *line)
{
    struct hp_frames all = hp_frames_at(p, line->block, line->from);
    if (all.n > frames.n)
        return (struct hp_written){hp_text(all.ranges[frames.n].call_file),
                                   all.ranges[frames.n].call_line};
    return (struct hp_written){hp_text(line->file), line->line};
}
