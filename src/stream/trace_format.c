// SPDX-License-Identifier: MIT
#include "stream/trace_format.h"

#include "base/grow.h"

#include <string.h>

static const uint8_t FILE_MAGIC[8] = {'H', 'P', 'T', 'R', 'A', 'C', 'E', 0};
static const uint8_t END_MAGIC[8] = {'H', 'P', 'T', 'R', 'E', 'N', 'D', 0};
static const uint8_t FRAME_MARK[4] = {0xf5, 'H', 'P', 0xfa};

#define ENDIAN_MARK    0x01020304u
#define ARCH_NAME_SIZE 16
#define FLAG_ADDRESSES 1u

uint32_t hp_trace_crc(const uint8_t *bytes, size_t size)
{
    /* Half a byte at a time: headers are short, and the table fits in a cache line. */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void put(uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static bool sealed(const uint8_t *bytes, size_t size)
{
    return get(bytes + size - 4, 4) == hp_trace_crc(bytes, size - 4);
}

static void seal(uint8_t *bytes, size_t size)
{
    put(bytes + size - 4, hp_trace_crc(bytes, size - 4), 4);
}

/* --- Headers and trailer ---------------------------------------------------------------------- */

void hp_trace_pack_header(uint8_t bytes[HP_TRACE_FILE_HEADER], enum hp_arch arch, bool addresses)
{
    memset(bytes, 0, HP_TRACE_FILE_HEADER);
    memcpy(bytes, FILE_MAGIC, sizeof FILE_MAGIC);
    put(bytes + 8, HP_TRACE_VERSION, 4);
    put(bytes + 12, HP_TRACE_VERSION, 4);
    put(bytes + 16, HP_TRACE_FILE_HEADER, 4);
    put(bytes + 20, ENDIAN_MARK, 4);
    const char *name = hp_arch_name(arch);
    memcpy(bytes + 24, name, strnlen(name, ARCH_NAME_SIZE - 1));
    put(bytes + 40, addresses ? FLAG_ADDRESSES : 0, 4);
    seal(bytes, HP_TRACE_FILE_HEADER);
}

enum hp_err hp_trace_unpack_header(const char *path, const uint8_t *bytes, size_t size,
                                   struct hp_trace_head *head)
{
    if (size < sizeof FILE_MAGIC || memcmp(bytes, FILE_MAGIC, sizeof FILE_MAGIC) != 0)
        return hp_fail(HP_ERR_FORMAT, "%s is not a hotpath trace%s", path,
                       size > 16 && memcmp(bytes, "SQLite format 3", 16) == 0
                           ? ", which has what was executed in order; a profile has not"
                           : "");
    if (size < HP_TRACE_FILE_HEADER)
        return hp_fail(HP_ERR_FORMAT, "%s: trace is truncated at byte %zu", path, size);
    head->version = (uint32_t)get(bytes + 8, 4);
    uint32_t oldest = (uint32_t)get(bytes + 12, 4);
    head->length = (uint32_t)get(bytes + 16, 4);
    if (get(bytes + 20, 4) != ENDIAN_MARK || head->length < HP_TRACE_FILE_HEADER ||
        head->length > HP_TRACE_HEADER_MAX)
        return hp_fail(HP_ERR_FORMAT, "%s: the trace's header is damaged", path);
    if (head->length > size)
        return hp_fail(HP_ERR_FORMAT, "%s: trace is truncated at byte %zu", path, size);
    if (!sealed(bytes, head->length))
        return hp_fail(HP_ERR_FORMAT, "%s: the trace's header is damaged", path);
    if (oldest > HP_TRACE_VERSION)
        return hp_fail(HP_ERR_VERSION,
                       "%s has trace format %u, which needs a newer hotpath (this one reads up to "
                       "format %u)",
                       path, head->version, HP_TRACE_VERSION);
    char name[ARCH_NAME_SIZE + 1] = {0};
    memcpy(name, bytes + 24, ARCH_NAME_SIZE);
    head->arch = hp_arch_from_name(name);
    if (head->arch == HP_ARCH_NONE)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: a trace of an unknown architecture", path);
    head->addresses = get(bytes + 40, 4) & FLAG_ADDRESSES;
    return HP_OK;
}

void hp_trace_pack_frame(uint8_t bytes[HP_TRACE_FRAME_HEADER], const struct hp_trace_frame *frame)
{
    memset(bytes, 0, HP_TRACE_FRAME_HEADER);
    memcpy(bytes, FRAME_MARK, sizeof FRAME_MARK);
    put(bytes + 4, frame->kind, 2);
    put(bytes + 8, frame->thread, 4);
    put(bytes + 12, frame->count, 4);
    put(bytes + 16, frame->first, 8);
    put(bytes + 24, frame->stored, 4);
    put(bytes + 28, frame->content, 4);
    put(bytes + 32, frame->number, 4);
    seal(bytes, HP_TRACE_FRAME_HEADER);
}

bool hp_trace_unpack_frame(const uint8_t bytes[HP_TRACE_FRAME_HEADER], struct hp_trace_frame *frame)
{
    if (memcmp(bytes, FRAME_MARK, sizeof FRAME_MARK) != 0 || !sealed(bytes, HP_TRACE_FRAME_HEADER))
        return false;
    *frame = (struct hp_trace_frame){
        .kind = (uint16_t)get(bytes + 4, 2),
        .thread = (uint32_t)get(bytes + 8, 4),
        .count = (uint32_t)get(bytes + 12, 4),
        .first = get(bytes + 16, 8),
        .stored = (uint32_t)get(bytes + 24, 4),
        .content = (uint32_t)get(bytes + 28, 4),
        .number = (uint32_t)get(bytes + 32, 4),
    };
    return true;
}

void hp_trace_pack_trailer(uint8_t bytes[HP_TRACE_TRAILER], uint64_t index_offset)
{
    memset(bytes, 0, HP_TRACE_TRAILER);
    memcpy(bytes, END_MAGIC, sizeof END_MAGIC);
    put(bytes + 8, index_offset, 8);
    seal(bytes, HP_TRACE_TRAILER);
}

bool hp_trace_unpack_trailer(const uint8_t bytes[HP_TRACE_TRAILER], uint64_t *index_offset)
{
    *index_offset = get(bytes + 8, 8);
    return memcmp(bytes, END_MAGIC, sizeof END_MAGIC) == 0 && sealed(bytes, HP_TRACE_TRAILER);
}

size_t hp_trace_find_mark(const uint8_t *bytes, size_t size)
{
    if (size < sizeof FRAME_MARK)
        return 0;
    const uint8_t *found = memmem(bytes, size, FRAME_MARK, sizeof FRAME_MARK);
    return found ? (size_t)(found - bytes) : size - (sizeof FRAME_MARK - 1);
}

/* --- Bytes out and in ------------------------------------------------------------------------- */

enum hp_err hp_out_bytes(struct hp_bytes_out *out, const void *bytes, size_t size)
{
    HP_TRY(hp_grow(&out->bytes, &out->capacity, out->size + size, 1));
    if (size)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return HP_OK;
}

enum hp_err hp_out_uint(struct hp_bytes_out *out, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    put(bytes, value, size);
    return hp_out_bytes(out, bytes, size);
}

enum hp_err hp_out_string(struct hp_bytes_out *out, const char *text)
{
    size_t size = strlen(text) + 1;
    HP_TRY(hp_out_uint(out, size, 4));
    return hp_out_bytes(out, text, size);
}

const uint8_t *hp_in_bytes(struct hp_bytes_in *in, size_t size)
{
    if (in->bad || (size_t)(in->end - in->at) < size) {
        in->bad = true;
        return NULL;
    }
    in->at += size;
    return in->at - size;
}

uint64_t hp_in_uint(struct hp_bytes_in *in, unsigned size)
{
    const uint8_t *bytes = hp_in_bytes(in, size);
    return bytes ? get(bytes, size) : 0;
}

const char *hp_in_string(struct hp_bytes_in *in)
{
    size_t size = (size_t)hp_in_uint(in, 4);
    const char *text = (const char *)hp_in_bytes(in, size);
    if (!text || size == 0 || memchr(text, 0, size) != text + size - 1) {
        in->bad = true;
        return "";
    }
    return text;
}
