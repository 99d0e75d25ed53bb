// SPDX-License-Identifier: MIT
#include "stream/trace_code.h"

#include "base/grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_MODULES_MAX 4096 /* largest believable number of placeholders */

/* --- Collecting ------------------------------------------------------------------------------- */

void hp_trace_code_fini(struct hp_trace_code_out *out)
{
    for (size_t i = 0; i < out->n_pages; i++)
        free(out->pages[i]);
    free(out->pages);
    free(out->ranges);
    free(out->modules.bytes);
    free(out->segments.bytes);
}

static enum hp_err mark(struct hp_trace_code_out *out, uint32_t id)
{
    size_t page = id >> HP_TRACE_CODE_PAGE;
    uint32_t bit = id & ((1u << HP_TRACE_CODE_PAGE) - 1);
    HP_TRY(hp_grow(&out->pages, &out->n_pages, page + 1, sizeof *out->pages));
    if (!out->pages[page]) {
        out->pages[page] = calloc((1u << HP_TRACE_CODE_PAGE) / 64, sizeof **out->pages);
        if (!out->pages[page])
            return hp_fail_nomem();
    }
    out->pages[page][bit / 64] |= UINT64_C(1) << bit % 64;
    return HP_OK;
}

static enum hp_err collect_segment(struct hp_trace_code_out *out, uint32_t id)
{
    struct hp_segment segment;
    HP_TRY(hp_code_segment(out->code, id, &segment));
    HP_TRY(mark(out, id));
    HP_TRY(hp_out_uint(&out->segments, id, 4));
    HP_TRY(hp_out_uint(&out->segments, segment.parent, 4));
    HP_TRY(hp_out_uint(&out->segments, segment.module, 4));
    HP_TRY(hp_out_uint(&out->segments, segment.mode, 1));
    HP_TRY(hp_out_uint(&out->segments, segment.start, 8));
    HP_TRY(hp_out_uint(&out->segments, segment.size, 4));
    HP_TRY(hp_out_bytes(&out->segments, segment.bytes, segment.size));
    out->new_segments++;
    out->all_segments++;
    return HP_OK;
}

/* Parents first; the code map makes sure that they exist and are not too many. */
enum hp_err hp_trace_code_add(struct hp_trace_code_out *out, uint32_t id)
{
    uint32_t ids[HP_RUN_MAX + 1], n = 0;
    struct hp_segment segment;
    while (n <= HP_RUN_MAX && id && !hp_trace_code_has(out, id) &&
           id < hp_code_segment_limit(out->code) &&
           hp_code_segment(out->code, id, &segment) == HP_OK) {
        ids[n++] = id;
        id = segment.parent;
    }
    while (n)
        HP_TRY(collect_segment(out, ids[--n]));
    return HP_OK;
}

static enum hp_err collect_module(struct hp_trace_code_out *out, uint32_t id,
                                  const struct hp_module *module)
{
    HP_TRY(hp_out_uint(&out->modules, id, 4));
    HP_TRY(hp_out_uint(&out->modules, module->base, 8));
    HP_TRY(hp_out_uint(&out->modules, module->low, 8));
    HP_TRY(hp_out_uint(&out->modules, module->high, 8));
    HP_TRY(hp_out_string(&out->modules, module->path));
    HP_TRY(hp_out_string(&out->modules, module->build_id));
    out->ranges[id] = (struct hp_trace_range){module->low, module->high};
    out->new_modules++;
    return HP_OK;
}

static enum hp_err collect_modules(struct hp_trace_code_out *out)
{
    uint32_t n = hp_code_n_modules(out->code);
    HP_TRY(hp_grow(&out->ranges, &out->cap_ranges, n, sizeof *out->ranges));
    for (uint32_t id = 0; id < n; id++) {
        const struct hp_module *module = hp_code_module(out->code, id);
        if (id < out->n_ranges && out->ranges[id].low == module->low &&
            out->ranges[id].high == module->high)
            continue;
        HP_TRY(collect_module(out, id, module));
    }
    out->n_ranges = n;
    return HP_OK;
}

enum hp_err hp_trace_code_take(struct hp_trace_code_out *out, struct hp_bytes_out *content,
                               uint32_t *count)
{
    HP_TRY(collect_modules(out));
    *count = out->new_segments;
    if (!out->new_modules && !out->new_segments)
        return HP_OK;
    HP_TRY(hp_out_uint(content, out->new_modules, 4));
    HP_TRY(hp_out_bytes(content, out->modules.bytes, out->modules.size));
    HP_TRY(hp_out_uint(content, out->new_segments, 4));
    HP_TRY(hp_out_bytes(content, out->segments.bytes, out->segments.size));
    out->modules.size = out->segments.size = 0;
    out->new_modules = out->new_segments = 0;
    return HP_OK;
}

/* --- Loading ---------------------------------------------------------------------------------- */

static enum hp_err add_missing_modules(struct hp_code *code, uint32_t until)
{
    char name[32];
    for (uint32_t id = hp_code_n_modules(code); id < until; id++) {
        snprintf(name, sizeof name, "[missing module %" PRIu32 "]", id);
        struct hp_module missing = {.path = name, .build_id = ""};
        uint32_t given;
        HP_TRY(hp_code_add_module(code, &missing, &given));
    }
    return HP_OK;
}

static enum hp_err load_module(struct hp_bytes_in *in, bool skipped, struct hp_code *code)
{
    uint32_t id = (uint32_t)hp_in_uint(in, 4);
    struct hp_module module = {.base = hp_in_uint(in, 8)};
    module.low = hp_in_uint(in, 8);
    module.high = hp_in_uint(in, 8);
    module.path = hp_in_string(in);
    module.build_id = hp_in_string(in);
    if (in->bad)
        return hp_fail(HP_ERR_FORMAT, "a module's record is cut off");
    uint32_t known = hp_code_n_modules(code);
    if (id > known && (!skipped || id - known > MISSING_MODULES_MAX))
        return hp_fail(HP_ERR_FORMAT, "module %" PRIu32 " comes before %" PRIu32, id, known);
    if (module.low > module.high)
        return hp_fail(HP_ERR_FORMAT, "module %" PRIu32 " ends before it starts", id);
    HP_TRY(add_missing_modules(code, id));
    uint32_t given;
    HP_TRY(hp_code_add_module(code, &module, &given));
    if (given != id)
        return hp_fail(HP_ERR_FORMAT, "module %" PRIu32 " is also module %" PRIu32, id, given);
    return HP_OK;
}

/* Ids are given in order of appearance, so a large gap is not believed. */
#define MISSING_SEGMENTS_MAX (1u << 22)

static enum hp_err load_segment(struct hp_bytes_in *in, uint32_t version, struct hp_code *code)
{
    uint32_t id = (uint32_t)hp_in_uint(in, 4);
    struct hp_segment segment = {.parent = version >= 2 ? (uint32_t)hp_in_uint(in, 4) : 0};
    segment.module = (uint32_t)hp_in_uint(in, 4);
    segment.mode = (uint8_t)hp_in_uint(in, 1);
    segment.start = hp_in_uint(in, 8);
    segment.size = (uint32_t)hp_in_uint(in, 4);
    segment.bytes = hp_in_bytes(in, segment.size);
    if (in->bad)
        return hp_fail(HP_ERR_FORMAT, "a segment's record is cut off");
    /* Checked here too, so that the error is in the trace, not in the call. */
    if (id == 0 || id >= HP_SEGMENTS_MAX ||
        id > hp_code_segment_limit(code) + MISSING_SEGMENTS_MAX || segment.size == 0 ||
        segment.module >= hp_code_n_modules(code) || segment.mode > HP_MODE_THUMB)
        return hp_fail(HP_ERR_FORMAT, "segment %" PRIu32 " is impossible", id);
    return hp_code_add_segment(code, id, &segment);
}

/* Keeps the first error's text while the rest is loaded: only the bad segment is lost. */
struct first_error {
    enum hp_err err;
    char text[160];
};

static void note(struct first_error *first, enum hp_err err)
{
    if (first->err != HP_OK)
        return;
    first->err = err;
    snprintf(first->text, sizeof first->text, "%s", hp_error_text());
}

enum hp_err hp_trace_code_load(const uint8_t *content, size_t size, uint32_t version, bool skipped,
                               struct hp_code *code)
{
    struct hp_bytes_in in = {content, content + size, false};
    struct first_error first = {0};
    for (uint64_t n = hp_in_uint(&in, 4); n > 0 && !in.bad; n--) {
        enum hp_err err = load_module(&in, skipped, code);
        if (err == HP_ERR_NOMEM)
            return err;
        if (err != HP_OK)
            note(&first, err);
    }
    for (uint64_t n = hp_in_uint(&in, 4); n > 0 && !in.bad; n--) {
        enum hp_err err = load_segment(&in, version, code);
        if (err == HP_ERR_NOMEM)
            return err;
        if (err != HP_OK)
            note(&first, err);
    }
    if (first.err != HP_OK)
        return hp_fail(HP_ERR_FORMAT, "%s", first.text);
    if (in.bad || in.at != in.end)
        return hp_fail(HP_ERR_FORMAT, "the records do not fill the frame");
    return HP_OK;
}
