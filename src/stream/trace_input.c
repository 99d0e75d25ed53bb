// SPDX-License-Identifier: MIT
#include "stream/trace_input.h"

#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* A zstd block has at least 4 bytes and yields at most 128 KB: no valid payload expands more. */
#define EXPANSION_MAX 32768u

enum hp_err hp_trace_input_open(struct hp_trace_input *input, const char *path)
{
    *input = (struct hp_trace_input){.fd = -1, .path = strdup(path), .zstd = ZSTD_createDCtx()};
    if (!input->path || !input->zstd)
        return hp_fail_nomem();
    /* Does not wait for a writer if it is a pipe. */
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (input->fd < 0 || fstat(input->fd, &status) != 0)
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return hp_fail(HP_ERR_INVALID, "cannot read %s: not a regular file", path);
    input->size = (uint64_t)status.st_size;
    return HP_OK;
}

void hp_trace_input_close(struct hp_trace_input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    free(input->path);
    free(input->stored);
    free(input->content);
    ZSTD_freeDCtx(input->zstd);
}

enum hp_err hp_trace_input_read(const struct hp_trace_input *input, uint64_t offset, void *bytes,
                                size_t size)
{
    uint8_t *to = bytes;
    while (size > 0) {
        ssize_t got = pread(input->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hp_fail(HP_ERR_IO, "cannot read %s: %s", input->path, strerror(errno));
        if (got == 0)
            return hp_fail(HP_ERR_FORMAT, "%s: trace is truncated at byte %" PRIu64, input->path,
                           offset);
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return HP_OK;
}

enum hp_err hp_trace_input_frame(const struct hp_trace_input *input, uint64_t offset,
                                 struct hp_trace_frame *frame)
{
    uint8_t header[HP_TRACE_FRAME_HEADER];
    HP_TRY(hp_trace_input_read(input, offset, header, sizeof header));
    if (!hp_trace_unpack_frame(header, frame))
        return hp_fail(HP_ERR_FORMAT, "%s: trace is damaged at byte %" PRIu64 ": no frame there",
                       input->path, offset);
    return HP_OK;
}

static enum hp_err bad_frame(const struct hp_trace_input *input, uint64_t offset, const char *why)
{
    return hp_fail(HP_ERR_FORMAT, "%s: trace is damaged at byte %" PRIu64 ": %s", input->path,
                   offset, why);
}

enum hp_err hp_trace_input_load(struct hp_trace_input *input, uint64_t offset,
                                const struct hp_trace_frame *frame, size_t limit)
{
    if (hp_trace_input_cut_off(input, offset, frame))
        return bad_frame(input, offset, "the frame is cut off");
    if (frame->content > limit || frame->content / EXPANSION_MAX > frame->stored)
        return bad_frame(input, offset, "the frame is impossibly large");
    HP_TRY(hp_grow(&input->stored, &input->cap_stored, frame->stored, 1));
    HP_TRY(
        hp_trace_input_read(input, offset + HP_TRACE_FRAME_HEADER, input->stored, frame->stored));
    if (ZSTD_getFrameContentSize(input->stored, frame->stored) != frame->content)
        return bad_frame(input, offset, "the frame's content has another size");
    HP_TRY(hp_grow(&input->content, &input->cap_content, frame->content, 1));
    size_t size = ZSTD_decompressDCtx(input->zstd, input->content, frame->content, input->stored,
                                      frame->stored);
    if (ZSTD_isError(size))
        return bad_frame(input, offset, ZSTD_getErrorName(size));
    if (size != frame->content)
        return bad_frame(input, offset, "the frame's content has another size");
    return HP_OK;
}

enum hp_err hp_trace_input_scan(const struct hp_trace_input *input, uint64_t from, uint64_t *offset)
{
    uint8_t window[64 << 10];
    struct hp_trace_frame frame;
    while (from < input->size && input->size - from >= HP_TRACE_FRAME_HEADER) {
        uint64_t left = input->size - from;
        size_t size = left < sizeof window ? (size_t)left : sizeof window;
        HP_TRY(hp_trace_input_read(input, from, window, size));
        size_t at = 0;
        while (size - at >= HP_TRACE_FRAME_HEADER) {
            at += hp_trace_find_mark(window + at, size - at);
            if (size - at < HP_TRACE_FRAME_HEADER)
                break;
            if (hp_trace_unpack_frame(window + at, &frame)) {
                *offset = from + at;
                return HP_OK;
            }
            at++;
        }
        from += at;
    }
    *offset = input->size;
    return HP_OK;
}
