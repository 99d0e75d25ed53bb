// SPDX-License-Identifier: MIT
/*
 * Makes damaged traces whose checksums are right, so that the damage gets past them: takes a trace
 * apart, changes the content of a frame or its header, and puts it together again (format:
 * docs/trace-format.md).
 *
 * damage_trace TRACE DIRECTORY FIRST COUNT: writes DIRECTORY/NUMBER for FIRST <= NUMBER < FIRST +
 * COUNT; the number decides the damage. Number 0 is not damaged.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { FILE_HEADER = 64, FRAME_HEADER = 40, MAX_FRAMES = 4096, INDEX = 7 };

struct frame {
    uint8_t header[FRAME_HEADER];
    uint8_t *content;
    size_t size;
};

static uint64_t state;

static uint32_t pick(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)((state >> 33) % n) : 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "damage_trace: %s\n", what);
    exit(2);
}

static uint32_t crc(const uint8_t *bytes, size_t n)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= bytes[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void put32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, sizeof v);
}

static void put64(uint8_t *at, uint64_t v)
{
    memcpy(at, &v, sizeof v);
}

static size_t take_apart(const uint8_t *file, size_t size, struct frame *frames)
{
    size_t n = 0;
    for (size_t at = FILE_HEADER; at + FRAME_HEADER <= size && n < MAX_FRAMES; n++) {
        struct frame *f = &frames[n];
        memcpy(f->header, file + at, FRAME_HEADER);
        if (memcmp(f->header, "\xf5HP\xfa", 4) != 0)
            break; /* the trailer */
        uint32_t stored = get32(f->header + 24);
        f->size = get32(f->header + 28);
        f->content = malloc(f->size + 1);
        if (!f->content || stored > size - at - FRAME_HEADER ||
            ZSTD_decompress(f->content, f->size, file + at + FRAME_HEADER, stored) != f->size)
            fail("cannot take the trace apart");
        at += FRAME_HEADER + stored;
    }
    if (n < 2 || frames[n - 1].header[4] != INDEX)
        fail("the trace has no index");
    return n;
}

/* A number that is likely to be looked at wrongly. */
static uint32_t odd_number(void)
{
    static const uint32_t numbers[] = {0,          1,          2,          0xff,       0x100,
                                       0xffff,     0x1000000,  0x7fffffff, 0x80000000, 0x81000000,
                                       0x82000001, 0x84000002, 0x85000000, 0x86000001, 0x87000000,
                                       0x88000000, 0x8a000001, 0xff000000, 0xfffffffe, 0xffffffff};
    return pick(4) ? numbers[pick(sizeof numbers / sizeof *numbers)] : pick(64);
}

static void damage_content(struct frame *f)
{
    size_t at = pick(f->size), n = 1 + pick(16);
    n = n < f->size - at ? n : f->size - at;
    switch (pick(7)) {
    case 0: f->content[at] ^= (uint8_t)(1u << pick(8)); break;
    case 1: f->content[at] = (uint8_t)pick(256); break;
    case 2: memset(f->content + at, pick(2) ? 0xff : 0, n); break;
    case 3:
        if (f->size >= at + 4)
            put32(f->content + at, odd_number());
        break;
    case 4: /* leave something out */
        memmove(f->content + at, f->content + at + n, f->size - at - n);
        f->size -= n;
        break;
    case 5: f->size = at; break;
    default: /* one part in the place of another */
        memmove(f->content + at, f->content + pick(f->size - n + 1), n);
    }
}

static void damage_header(struct frame *f)
{
    static const int fields[] = {4, 8, 12, 16, 20, 28, 32};
    put32(f->header + fields[pick(7)], odd_number());
}

static void put_together(const uint8_t *file, struct frame *frames, size_t n, size_t damaged,
                         int header, FILE *out)
{
    size_t at = FILE_HEADER, index_at = 0;
    fwrite(file, 1, FILE_HEADER, out);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    for (size_t i = 0; i < n; i++) {
        struct frame f = frames[i];
        f.content = malloc(f.size + 1);
        memcpy(f.content, frames[i].content, f.size);
        if (i == n - 1)
            index_at = at;
        if (i == damaged && !header && f.size)
            damage_content(&f);
        size_t bound = ZSTD_compressBound(f.size);
        uint8_t *stored = malloc(bound);
        size_t length = ZSTD_compress2(context, stored, bound, f.content, f.size);
        put32(f.header + 24, (uint32_t)length);
        put32(f.header + 28, (uint32_t)f.size);
        if (i == damaged && header)
            damage_header(&f);
        put32(f.header + 36, crc(f.header, 36));
        fwrite(f.header, 1, FRAME_HEADER, out);
        fwrite(stored, 1, length, out);
        /* Where the index says this frame is. */
        if (i < n - 1 && frames[n - 1].size >= 32 + 26 * (i + 1))
            put64(frames[n - 1].content + 32 + 26 * i, at);
        at += FRAME_HEADER + length;
        free(stored);
        free(f.content);
    }
    uint8_t trailer[24] = "HPTREND";
    put64(trailer + 8, index_at);
    put32(trailer + 20, crc(trailer, 20));
    fwrite(trailer, 1, sizeof trailer, out);
    ZSTD_freeCCtx(context);
}

int main(int argc, char **argv)
{
    static struct frame frames[MAX_FRAMES];
    if (argc != 5)
        fail("usage: damage_trace TRACE DIRECTORY FIRST COUNT");
    FILE *in = fopen(argv[1], "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0)
        fail("cannot read the trace");
    size_t size = (size_t)ftell(in);
    uint8_t *file = malloc(size);
    rewind(in);
    if (!file || fread(file, 1, size, in) != size)
        fail("cannot read the trace");
    fclose(in);
    size_t n = take_apart(file, size, frames);
    long first = atol(argv[3]), count = atol(argv[4]);
    for (long number = first; number < first + count; number++) {
        char path[4096];
        state = (uint64_t)number * 0x9e3779b97f4a7c15u + 12345;
        pick(2), pick(2);
        size_t damaged = number ? pick(n) : n;
        int header = pick(5) == 0;
        snprintf(path, sizeof path, "%s/%ld", argv[2], number);
        FILE *out = fopen(path, "wb");
        if (!out)
            fail("cannot write");
        put_together(file, frames, n, damaged, header, out);
        if (fclose(out) != 0)
            fail("cannot write");
    }
    return 0;
}
