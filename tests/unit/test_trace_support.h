// SPDX-License-Identifier: MIT
/*
 * For the tests of traces: a code map that keeps what it is given instead of decoding it, a maker
 * of words, and a reader that collects what a trace holds. Included once in each test program.
 */
#ifndef HP_TEST_TRACE_SUPPORT_H
#define HP_TEST_TRACE_SUPPORT_H

#include "base/grow.h"
#include "base/map64.h"
#include "hotpath/trace.h"
#include "stream/trace_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- A code map of one's own: it keeps what it is given --------------------------------------- */

struct hp_code {
    enum hp_arch arch;
    struct hp_module modules[64];
    uint32_t n_modules;
    struct hp_segment *segments;
    size_t n_segments, cap_segments;
    struct hp_map64 index;
    uint32_t limit;
};

enum hp_err hp_code_new(enum hp_arch arch, struct hp_code **code)
{
    *code = calloc(1, sizeof **code);
    (*code)->arch = arch;
    (*code)->limit = 1;
    return HP_OK;
}

void hp_code_free(struct hp_code *code)
{
    for (uint32_t i = 0; i < code->n_modules; i++) {
        free((void *)(uintptr_t)code->modules[i].path);
        free((void *)(uintptr_t)code->modules[i].build_id);
    }
    for (size_t i = 0; i < code->n_segments; i++)
        free((void *)(uintptr_t)code->segments[i].bytes);
    free(code->segments);
    hp_map64_fini(&code->index);
    free(code);
}

enum hp_arch hp_code_arch(const struct hp_code *code)
{
    return code->arch;
}

enum hp_err hp_code_add_module(struct hp_code *code, const struct hp_module *module, uint32_t *id)
{
    for (uint32_t i = 0; i < code->n_modules; i++) {
        struct hp_module *m = &code->modules[i];
        if (m->base == module->base && !strcmp(m->path, module->path) &&
            !strcmp(m->build_id, module->build_id)) {
            m->low = module->low < m->low ? module->low : m->low;
            m->high = module->high > m->high ? module->high : m->high;
            *id = i;
            return HP_OK;
        }
    }
    if (code->n_modules == 64)
        return hp_fail(HP_ERR_UNSUPPORTED, "the test's code map is full");
    *id = code->n_modules++;
    code->modules[*id] = *module;
    code->modules[*id].path = strdup(module->path);
    code->modules[*id].build_id = strdup(module->build_id);
    return HP_OK;
}

uint32_t hp_code_n_modules(const struct hp_code *code)
{
    return code->n_modules;
}

const struct hp_module *hp_code_module(const struct hp_code *code, uint32_t id)
{
    return &code->modules[id];
}

enum hp_err hp_code_add_segment(struct hp_code *code, uint32_t id, const struct hp_segment *segment)
{
    if (id == 0 || id > INT32_MAX || hp_map64_get(&code->index, id) != HP_MAP64_NONE ||
        segment->module >= code->n_modules || segment->size == 0)
        return hp_fail(HP_ERR_INVALID, "segment %u cannot be added", id);
    HP_TRY(hp_grow(&code->segments, &code->cap_segments, code->n_segments + 1,
                   sizeof *code->segments));
    HP_TRY(hp_map64_put(&code->index, id, (uint32_t)code->n_segments));
    struct hp_segment *copy = &code->segments[code->n_segments++];
    *copy = *segment;
    uint8_t *bytes = malloc(segment->size);
    memcpy(bytes, segment->bytes, segment->size);
    copy->bytes = bytes;
    if (id >= code->limit)
        code->limit = id + 1;
    return HP_OK;
}

enum hp_err hp_code_segment(const struct hp_code *code, uint32_t id, struct hp_segment *segment)
{
    uint32_t index = hp_map64_get(&code->index, id);
    if (index == HP_MAP64_NONE)
        return hp_fail(HP_ERR_NOTFOUND, "no segment %u", id);
    *segment = code->segments[index];
    return HP_OK;
}

uint32_t hp_code_segment_limit(const struct hp_code *code)
{
    return code->limit;
}

/* Operands: as many as the id says; of each instruction that was run, one. */
enum hp_err hp_code_segment_mems(struct hp_code *code, uint32_t id, uint32_t insns, uint32_t *mems);
enum hp_err hp_code_segment_mems(struct hp_code *code, uint32_t id, uint32_t insns, uint32_t *mems)
{
    (void)code;
    *mems = id % 5 < insns ? id % 5 : insns;
    return HP_OK;
}

int hp_word_payload(uint32_t word)
{
    switch (hp_word_kind(word)) {
    case HP_WORD_LOST:
    case HP_WORD_HANDLER: return 2;
    case HP_WORD_FORK:
    case HP_WORD_EXEC:
    case HP_WORD_MODULE: return 1;
    default: return hp_word_kind(word) < HP_WORD_KIND_COUNT_ ? 0 : -1;
    }
}

static const char *const arch_names[] = {"none", "x86_64", "aarch64", "arm", "riscv64", "alpha"};

const char *hp_arch_name(enum hp_arch arch)
{
    return arch_names[arch];
}

enum hp_arch hp_arch_from_name(const char *name)
{
    for (enum hp_arch arch = HP_ARCH_X86_64; arch < HP_ARCH_COUNT_; arch++)
        if (!strcmp(name, arch_names[arch]))
            return arch;
    return HP_ARCH_NONE;
}

/* --- Tools ------------------------------------------------------------------------------------ */

static char directory[] = "trace-test-XXXXXX";
static char path[64], other[64];
static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/t.trace", directory);
    snprintf(other, sizeof other, "%s/other", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(directory); /* fails when a writer left something behind */
}

static char *const command[] = {(char[]){"prog"}, (char[]){"an argument"}, (char[]){""}, NULL};
static const struct hp_trace_run run = {
    .version = "0.1",
    .engine = "qemu",
    .arch = HP_ARCH_X86_64,
    .command = command,
    .directory = "/home/me",
    .machine = "Linux 6.1",
    .started = 1700000000,
};

static void add_segment(struct hp_code *code, uint32_t id)
{
    uint8_t bytes[300];
    uint32_t size = 1 + id % 300;
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(id * 31 + i);
    struct hp_segment segment = {.start = 0x400000 + 16ull * id,
                                 .module = id % code->n_modules,
                                 .mode = id % 2,
                                 .size = size,
                                 .bytes = bytes};
    assert_int_equal(hp_code_add_segment(code, id, &segment), HP_OK);
}

static struct hp_code *new_code(void)
{
    struct hp_code *code;
    hp_code_new(HP_ARCH_X86_64, &code);
    uint32_t id;
    struct hp_module modules[] = {
        {.path = "/bin/prog",
         .build_id = "abcd",
         .base = 0x400000,
         .low = 0x400000,
         .high = 0x500000},
        {.path = "[anon]", .build_id = "", .base = 0, .low = 0x7000, .high = 0x9000},
    };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(hp_code_add_module(code, &modules[i], &id), HP_OK);
    return code;
}

static bool addressed; /* what is written has addresses */

static struct hp_trace_writer *new_writer(struct hp_code *code)
{
    struct hp_trace_writer *writer;
    struct hp_trace_run about = run;
    about.addresses = addressed;
    assert_int_equal(hp_trace_writer_new(path, &about, code, &writer), HP_OK);
    return writer;
}

static void start_thread(struct hp_trace_writer *writer, uint32_t id)
{
    struct hp_thread thread = {.id = id, .pid = 1000, .tid = 1000 + (int32_t)id, .parent = 7};
    assert_int_equal(hp_trace_writer_thread(writer, &thread), HP_OK);
}

/* What was read of one thread. */
struct seen {
    uint32_t *words;
    size_t n, capacity;
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
    struct hp_thread thread;
    int starts, ends, unaddressed;
    enum hp_end_reason reason;
};

#define THREADS 8

struct reading {
    struct hp_trace_reader *reader;
    struct hp_code *code;
    struct seen threads[THREADS];
    int errors, losses;
    uint64_t lost;
};

static void open_reading(struct reading *r)
{
    *r = (struct reading){0};
    hp_code_new(HP_ARCH_X86_64, &r->code);
    assert_int_equal(hp_trace_reader_open(path, &r->reader), HP_OK);
    hp_trace_reader_want_addresses(r->reader);
}

static void close_reading(struct reading *r)
{
    for (int i = 0; i < THREADS; i++) {
        free(r->threads[i].words);
        free(r->threads[i].addresses);
    }
    hp_trace_reader_close(r->reader);
    hp_code_free(r->code);
}

static void see_words(struct reading *r, struct seen *seen, const struct hp_trace_item *item)
{
    if (item->n_words == 3 && item->words[0] == hp_word_event(HP_WORD_LOST, HP_LOST_RECORD)) {
        r->losses++;
        r->lost += item->words[1] | (uint64_t)item->words[2] << 32;
    }
    if (item->n_words == 3 && item->words[0] == hp_word_event(HP_WORD_LOST, HP_LOST_ADDRESSES)) {
        seen->unaddressed++;
        return;
    }
    assert_int_equal(hp_grow(&seen->words, &seen->capacity, seen->n + item->n_words, 4), HP_OK);
    memcpy(seen->words + seen->n, item->words, item->n_words * 4);
    seen->n += item->n_words;
}

static void see_addresses(struct seen *seen, const struct hp_trace_item *item)
{
    size_t n = seen->n_addresses + item->n_addresses;
    assert_int_equal(seen->unaddressed, 0);
    assert_int_equal(hp_grow(&seen->addresses, &seen->cap_addresses, n, 8), HP_OK);
    memcpy(seen->addresses + seen->n_addresses, item->addresses, item->n_addresses * 8);
    seen->n_addresses = n;
}

/* Reads one item; false at the end. Every thread must be announced first. */
static bool read_item(struct reading *r)
{
    struct hp_trace_item item;
    enum hp_err err = hp_trace_reader_next(r->reader, r->code, &item);
    if (err != HP_OK) {
        assert_int_equal(err, HP_ERR_FORMAT);
        assert_non_null(strstr(hp_error_text(), " at byte "));
        r->errors++;
        return true;
    }
    if (item.kind == HP_TRACE_END)
        return false;
    if (item.thread.id >= THREADS)
        return true; /* only a damaged trace has such */
    struct seen *seen = &r->threads[item.thread.id];
    if (item.kind == HP_TRACE_THREAD) {
        seen->starts++;
        seen->thread = item.thread;
    }
    assert_int_equal(seen->starts, 1);
    assert_int_equal(seen->ends, 0);
    if (item.kind == HP_TRACE_WORDS)
        see_words(r, seen, &item);
    if (item.kind == HP_TRACE_ADDRESSES)
        see_addresses(seen, &item);
    if (item.kind == HP_TRACE_THREAD_END) {
        seen->ends++;
        seen->reason = item.reason;
    }
    return true;
}

static void read_all(struct reading *r)
{
    open_reading(r);
    int items = 0;
    while (read_item(r))
        assert_true(++items < 100000);
    struct hp_trace_item item;
    assert_int_equal(hp_trace_reader_next(r->reader, r->code, &item), HP_OK);
    assert_int_equal(item.kind, HP_TRACE_END);
}

static uint8_t *read_file(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *name, const uint8_t *bytes, size_t size)
{
    unlink(name); /* some file systems write a file out at once when it replaces its old content */
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Words with events that have payloads, so that frames must not end just anywhere. */
static size_t make_words(uint32_t *words, size_t n, uint32_t ids)
{
    size_t i = 0;
    while (i + 3 <= n) {
        uint32_t what = below(50);
        if (what == 0) {
            words[i++] = hp_word_event(HP_WORD_HANDLER, below(32));
            words[i++] = below(1000);
            words[i++] = below(1000);
        } else if (what == 1) {
            words[i++] = hp_word_event(HP_WORD_FORK, 0);
            words[i++] = 1 + below(30000);
        } else {
            words[i++] = 1 + below(ids);
        }
    }
    return i;
}

/* Where the frame of the given kind and thread is. */
static inline size_t find_frame(const uint8_t *bytes, size_t size, unsigned kind, uint32_t thread)
{
    struct hp_trace_frame frame;
    for (size_t at = HP_TRACE_FILE_HEADER; at + HP_TRACE_FRAME_HEADER <= size;) {
        assert_true(hp_trace_unpack_frame(bytes + at, &frame));
        if (frame.kind == kind && frame.thread == thread)
            return at;
        at += HP_TRACE_FRAME_HEADER + frame.stored;
    }
    fail_msg("no frame of kind %u", kind);
    return 0;
}

#endif
