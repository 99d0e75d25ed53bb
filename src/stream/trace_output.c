// SPDX-License-Identifier: MIT
#include "stream/trace_output.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Levels 3 and 9 save at most 5 and 11 %, lose up to 5 and 2 %, and take 20 and 80 % longer. */
#define ZSTD_LEVEL 1

static enum hp_err put(struct hp_trace_output *o, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, o->out.file) != size)
        return hp_fail(HP_ERR_IO, "cannot write %s: %s", o->out.path, strerror(errno));
    o->offset += size;
    return HP_OK;
}

enum hp_err hp_trace_output_open(struct hp_trace_output *o, const char *path, enum hp_arch arch,
                                 bool addresses)
{
    uint8_t header[HP_TRACE_FILE_HEADER];
    o->zstd = ZSTD_createCCtx();
    if (!o->zstd)
        return hp_fail_nomem();
    ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    HP_TRY(hp_outfile_open(&o->out, path));
    hp_trace_pack_header(header, arch, addresses);
    return put(o, header, sizeof header);
}

void hp_trace_output_fini(struct hp_trace_output *o)
{
    hp_outfile_abort(&o->out);
    ZSTD_freeCCtx(o->zstd);
    free(o->packed);
    free(o->entries);
}

enum hp_err hp_trace_output_frame(struct hp_trace_output *o, struct hp_trace_frame frame,
                                  const uint8_t *content, size_t size)
{
    if (size > HP_TRACE_CONTENT_MAX)
        return hp_fail(HP_ERR_UNSUPPORTED, "cannot write %s: a frame of %zu bytes", o->out.path,
                       size);
    HP_TRY(hp_grow(&o->packed, &o->cap_packed, ZSTD_compressBound(size), 1));
    size_t stored = ZSTD_compress2(o->zstd, o->packed, o->cap_packed, content, size);
    if (ZSTD_isError(stored))
        return hp_fail(HP_ERR_INTERNAL, "cannot compress a frame of %s: %s", o->out.path,
                       ZSTD_getErrorName(stored));
    frame.stored = (uint32_t)stored;
    frame.content = (uint32_t)size;
    frame.number = (uint32_t)o->n_entries;
    HP_TRY(hp_grow(&o->entries, &o->cap_entries, o->n_entries + 1, sizeof *o->entries));
    o->entries[o->n_entries++] = (struct hp_trace_entry){
        .offset = o->offset,
        .first = frame.first,
        .thread = frame.thread,
        .count = frame.count,
        .kind = frame.kind,
    };
    uint8_t header[HP_TRACE_FRAME_HEADER];
    hp_trace_pack_frame(header, &frame);
    HP_TRY(put(o, header, sizeof header));
    return put(o, o->packed, stored);
}

static enum hp_err put_entries(const struct hp_trace_output *o, struct hp_bytes_out *to)
{
    for (size_t i = 0; i < o->n_entries; i++) {
        const struct hp_trace_entry *entry = &o->entries[i];
        HP_TRY(hp_out_uint(to, entry->offset, 8));
        HP_TRY(hp_out_uint(to, entry->first, 8));
        HP_TRY(hp_out_uint(to, entry->thread, 4));
        HP_TRY(hp_out_uint(to, entry->count, 4));
        HP_TRY(hp_out_uint(to, entry->kind, 2));
    }
    return HP_OK;
}

enum hp_err hp_trace_output_commit(struct hp_trace_output *o, struct hp_bytes_out *totals)
{
    struct hp_trace_frame frame = {.kind = HP_TRACE_FRAME_INDEX, .count = (uint32_t)o->n_entries};
    uint8_t trailer[HP_TRACE_TRAILER];
    uint64_t at = o->offset;
    HP_TRY(put_entries(o, totals));
    HP_TRY(hp_trace_output_frame(o, frame, totals->bytes, totals->size));
    hp_trace_pack_trailer(trailer, at);
    HP_TRY(put(o, trailer, sizeof trailer));
    return hp_outfile_commit(&o->out);
}
