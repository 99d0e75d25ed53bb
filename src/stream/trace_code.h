// SPDX-License-Identifier: MIT
/*
 * Code frames: the modules and segments that words name.
 */
#ifndef HP_STREAM_TRACE_CODE_H
#define HP_STREAM_TRACE_CODE_H

#include "hotpath/code.h"
#include "stream/trace_format.h"

/* Collects the content of the next code frame. All zero except `code` is a new one. */
struct hp_trace_code_out {
    const struct hp_code *code;
    uint64_t **pages; /* bitmap of all segments ever collected, in pages */
    size_t n_pages;
    struct hp_trace_range {
        uint64_t low, high;
    } * ranges; /* of each module, as last collected */
    size_t n_ranges, cap_ranges;
    struct hp_bytes_out modules, segments; /* collected since the last frame */
    uint32_t new_modules, new_segments;
    uint32_t all_segments;
};

void hp_trace_code_fini(struct hp_trace_code_out *out);

#define HP_TRACE_CODE_PAGE 15 /* log2 of the segments in a page of the bitmap */

static inline bool hp_trace_code_has(const struct hp_trace_code_out *out, uint32_t id)
{
    size_t page = id >> HP_TRACE_CODE_PAGE;
    uint32_t bit = id & ((1u << HP_TRACE_CODE_PAGE) - 1);
    return page < out->n_pages && out->pages[page] && (out->pages[page][bit / 64] >> bit % 64 & 1);
}

/* Collects segment `id` and its parents unless already collected or nonexistent. HP_ERR_NOMEM. */
enum hp_err hp_trace_code_add(struct hp_trace_code_out *out, uint32_t id);

/* Moves the collected segments, with every module that is new or whose range has grown, into the
 * empty `content`; leaves it empty when there is nothing. `*count` is the number of segments. */
enum hp_err hp_trace_code_take(struct hp_trace_code_out *out, struct hp_bytes_out *content,
                               uint32_t *count);

/*
 * Adds the modules and segments of a code frame, in the format of `version`, to `code`. With
 * `skipped`, frames before this one are missing: modules they may have defined get placeholders, so
 * that module ids stay right. HP_ERR_FORMAT: part of it is wrong; all that is right was added.
 */
enum hp_err hp_trace_code_load(const uint8_t *content, size_t size, uint32_t version, bool skipped,
                               struct hp_code *code);

#endif
