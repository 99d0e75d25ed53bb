// SPDX-License-Identifier: MIT
/* The code map, from the records and segments that the engine wrote. */
#include "engine/live_impl.h"

#include "base/grow.h"
#include "engine/elf_file.h"

#include <string.h>

#define MAX_NEW  (1u << 22) /* largest believable gap above all known segment ids */
#define TEXT_MAX 65536u     /* longest name */

/* --- Records ---------------------------------------------------------------------------------- */

/* The text of record `id`, valid until the next call, and its header; NULL: no such record. The
 * watched process can write anywhere in the arena at any time: nothing in it is trusted, and checks
 * are made on a copy. */
static const char *record_text(struct hp_live *live, uint32_t id, struct hp_arena_record *record)
{
    if (id == 0 || id >= live->shape.records)
        return NULL;
    uint32_t position = atomic_load(&hp_arena_record_index(live->arena)[id]);
    uint64_t at = (uint64_t)(position - 1) * 8;
    if (position == 0 || at + sizeof *record > live->shape.store)
        return NULL;
    const char *place = hp_shape_store(&live->shape, live->arena, position);
    memcpy(record, place, sizeof *record);
    size_t length = record->length;
    if (length >= live->shape.store - at - sizeof *record || length > TEXT_MAX ||
        hp_grow(&live->text, &live->cap_text, length + 1, 1) != HP_OK)
        return NULL;
    memcpy(live->text, place + sizeof *record, length + 1);
    return memchr(live->text, 0, length + 1) == live->text + length ? live->text : NULL;
}

bool hp_live_read_store(struct hp_live *live, uint64_t place, uint32_t limit, uint32_t id, void *to,
                        size_t size)
{
    uint32_t position = id && id < limit ? atomic_load(&hp_arena_index(live->arena, place)[id]) : 0;
    if (position == 0 || (uint64_t)(position - 1) * 8 + size > live->shape.store)
        return false;
    memcpy(to, hp_shape_store(&live->shape, live->arena, position), size);
    return true;
}

const char *hp_live_string(struct hp_live *live, uint32_t id)
{
    struct hp_arena_record record;
    return record_text(live, id, &record);
}

enum hp_err hp_live_load_module(struct hp_live *live, uint32_t record_id, uint32_t *id)
{
    struct hp_arena_record record;
    if (record_id < live->shape.records && live->modules[record_id]) {
        *id = live->modules[record_id] - 1;
        return HP_OK;
    }
    const char *path = record_text(live, record_id, &record);
    if (!path || !record.is_module)
        return hp_fail(HP_ERR_FORMAT, "the engine named a module that is not there");
    struct hp_elf_file file = {0};
    if (path[0] == '/')
        hp_elf_file_read(path, &file); /* without a build id if it cannot be read */
    struct hp_module module = {.path = path,
                               .build_id = file.build_id,
                               .base = record.base,
                               .low = record.low,
                               .high = record.high};
    HP_TRY(hp_code_add_module(live->code, &module, id));
    live->modules[record_id] = *id + 1;
    return HP_OK;
}

/* --- Segments --------------------------------------------------------------------------------- */

/* Segment `id` as the engine wrote it. */
static enum hp_err find_segment(struct hp_live *live, uint32_t id, struct hp_arena_segment *header,
                                const uint8_t **bytes)
{
    uint32_t position = id < live->shape.segments
                            ? atomic_load(&hp_shape_segment_index(&live->shape, live->arena)[id])
                            : 0;
    uint64_t at = (uint64_t)(position - 1) * 8;
    if (position == 0 || at + sizeof *header > live->shape.store)
        return hp_fail(HP_ERR_NOTFOUND, "the engine named code that is not there");
    const char *place = hp_shape_store(&live->shape, live->arena, position);
    memcpy(header, place, sizeof *header);
    *bytes = (const uint8_t *)place + sizeof *header;
    if (header->size >= live->shape.store - at - sizeof *header ||
        header->size > sizeof live->code_bytes)
        return hp_fail(HP_ERR_FORMAT, "the engine described code of impossible size");
    return HP_OK;
}

static enum hp_in_trace in_trace(const struct hp_arena_segment *header, const uint8_t *bytes)
{
    if (!header->trace)
        return HP_TRACE_NOT;
    return bytes[header->size] ? HP_TRACE_WHOLE : HP_TRACE_BEGINNING;
}

/* Parents come first. Their number comes from the watched process, so it is bounded. */
static enum hp_err load_segment(struct hp_segment_source *source, uint32_t id)
{
    struct hp_live *live =
        (struct hp_live *)(void *)((char *)source - offsetof(struct hp_live, source));
    struct {
        struct hp_arena_segment header;
        const uint8_t *bytes;
        uint32_t id;
    } chain[HP_RUN_MAX];
    size_t n = 0;
    do {
        if (n == HP_RUN_MAX)
            return hp_fail(HP_ERR_FORMAT, "the engine described a run of more than %d blocks",
                           HP_RUN_MAX);
        if (id > hp_code_segment_limit(live->code) + MAX_NEW)
            return hp_fail(HP_ERR_FORMAT, "the engine named code far ahead of all before");
        chain[n].id = id;
        HP_TRY(find_segment(live, id, &chain[n].header, &chain[n].bytes));
        id = chain[n++].header.parent;
    } while (id && !hp_code_has_segment(live->code, id));
    while (n-- > 0) {
        const struct hp_arena_segment *header = &chain[n].header;
        struct hp_segment segment = {.start = header->start,
                                     .parent = header->parent,
                                     .mode = (uint8_t)header->mode,
                                     .trace = (uint8_t)in_trace(header, chain[n].bytes),
                                     .size = header->size,
                                     .bytes = live->code_bytes};
        memcpy(live->code_bytes, chain[n].bytes, header->size);
        HP_TRY(hp_live_load_module(live, header->module, &segment.module));
        HP_TRY(hp_code_add_segment(live->code, chain[n].id, &segment));
    }
    return HP_OK;
}

void hp_live_load_code(struct hp_live *live, uint32_t id)
{
    if (id && !hp_code_has_segment(live->code, id))
        (void)load_segment(&live->source, id); /* who needs it will see what is wrong */
}

struct hp_segment_source *hp_live_source(struct hp_live *live, struct hp_code *code)
{
    live->code = code;
    live->source.load = load_segment;
    return &live->source;
}
