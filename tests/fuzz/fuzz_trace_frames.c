// SPDX-License-Identifier: MIT
/*
 * Trace files whose checksums are right, so that what is behind them is reached. The input: which
 * command, architecture, addresses or not; then frames: kind, thread, count, first word, size of
 * the content, the content. Index and trailer are made.
 */
#include "stream/trace_format.h"
#include "support.h"
#include "trace_commands.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FRAMES_MAX  64
#define CONTENT_MAX 8192

static ZSTD_CCtx *zstd;

struct file {
    struct hp_bytes_out out;
    struct hp_bytes_out index; /* its entries */
    uint32_t frames;
};

static void add(struct hp_bytes_out *out, const void *bytes, size_t size)
{
    FUZZ_ASSERT(hp_out_bytes(out, bytes, size) == HP_OK);
}

static void add_uint(struct hp_bytes_out *out, uint64_t value, unsigned size)
{
    FUZZ_ASSERT(hp_out_uint(out, value, size) == HP_OK);
}

static void add_frame(struct file *file, struct hp_trace_frame frame, const void *content,
                      size_t size)
{
    static uint8_t stored[ZSTD_COMPRESSBOUND(FRAMES_MAX * 26 + CONTENT_MAX + 64)];
    uint8_t header[HP_TRACE_FRAME_HEADER];
    size_t length = ZSTD_compress2(zstd, stored, sizeof stored, content, size);
    FUZZ_ASSERT(!ZSTD_isError(length));
    add_uint(&file->index, file->out.size, 8);
    add_uint(&file->index, frame.first, 8);
    add_uint(&file->index, frame.thread, 4);
    add_uint(&file->index, frame.count, 4);
    add_uint(&file->index, frame.kind, 2);
    frame.stored = (uint32_t)length;
    frame.content = (uint32_t)size;
    frame.number = file->frames++;
    hp_trace_pack_frame(header, &frame);
    add(&file->out, header, sizeof header);
    add(&file->out, stored, length);
}

static void add_index(struct file *file)
{
    struct hp_bytes_out content = {0};
    uint8_t trailer[HP_TRACE_TRAILER];
    uint64_t at = file->out.size;
    uint32_t n = file->frames;
    add_uint(&content, 0, 8);
    add_uint(&content, 0, 4);
    add_uint(&content, 10, 8);
    add_uint(&content, 1, 4);
    add_uint(&content, 1, 4);
    add_uint(&content, 1, 4);
    add(&content, file->index.bytes, file->index.size);
    add_frame(file, (struct hp_trace_frame){.kind = HP_TRACE_FRAME_INDEX, .count = n},
              content.bytes, content.size);
    free(content.bytes);
    hp_trace_pack_trailer(trailer, at);
    add(&file->out, trailer, sizeof trailer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    struct file file = {0};
    uint8_t header[HP_TRACE_FILE_HEADER];
    uint8_t command = (uint8_t)fuzz_uint(&in, 1), about = (uint8_t)fuzz_uint(&in, 1);
    if (!zstd) {
        zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, -5);
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    }
    hp_trace_pack_header(header, (enum hp_arch)((about & 0x3f) % HP_ARCH_COUNT_), about & 0x40);
    add(&file.out, header, sizeof header);
    while (fuzz_more(&in) && file.frames < FRAMES_MAX) {
        struct hp_trace_frame frame = {.kind = (uint16_t)fuzz_uint(&in, 1),
                                       .thread = (uint32_t)fuzz_odd(&in),
                                       .count = (uint32_t)fuzz_odd(&in),
                                       .first = fuzz_odd(&in)};
        size_t n;
        const uint8_t *content = fuzz_bytes(&in, CONTENT_MAX, &n);
        add_frame(&file, frame, content, n);
    }
    if (!(about & 0x80))
        add_index(&file);
    trace_commands(fuzz_file("trace", file.out.bytes, file.out.size), command);
    free(file.out.bytes);
    free(file.index.bytes);
    return 0;
}
