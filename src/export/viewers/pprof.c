// SPDX-License-Identifier: MIT
/*
 * profile.proto, written field by field: a message is a key (number and wire type) and a value for
 * each of its fields, in any order, so that samples can be written as they come, and the table of
 * strings last.
 */

#include "base/grow.h"
#include "base/map64.h"
#include "base/strings.h"
#include "export/export.h"
#include "export/viewers/stacks.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    MAPPING_ID = 1,
    MAPPING_MEMORY_START = 2,
    MAPPING_MEMORY_LIMIT = 3,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5,
};

#define CHUNK 65536

struct writer {
    FILE *out;
    const struct hp_profile *profile;
    const struct hp_tables *tables;
    z_stream zip;
    unsigned char chunk[CHUNK];
    struct hp_strings texts;
    struct hp_map64 indices; /* of strings, by text */
    const char **strings;
    size_t n_strings, strings_capacity;
    bool *used; /* functions that are in a sample, the unknown one last */
    struct hp_strbuf message, inner, text;
    uint64_t sum;
    bool failed; /* memory ran out */
};

/* --- Messages --------------------------------------------------------------------------------- */

static void put_varint(struct hp_strbuf *to, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    hp_strbuf_bytes(to, bytes, n);
}

/* A number; 0 is what is not there. */
static void put_number(struct hp_strbuf *to, unsigned field, uint64_t value)
{
    if (!value)
        return;
    put_varint(to, field << 3);
    put_varint(to, value);
}

/* A text, a message, or numbers in a row. */
static void put_bytes(struct hp_strbuf *to, unsigned field, const char *bytes, size_t n)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, n);
    hp_strbuf_bytes(to, bytes, n);
}

static void put_inner(struct writer *w, unsigned field)
{
    put_bytes(&w->message, field, hp_strbuf_text(&w->inner), w->inner.length);
    w->failed |= w->inner.failed;
    hp_strbuf_clear(&w->inner);
}

/* A count: it is signed there. */
static uint64_t count(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : value;
}

/* The index of a text in the table of strings; 0 is "". */
static uint64_t string(struct writer *w, const char *text)
{
    hp_strbuf_clear(&w->text);
    hp_strbuf_clean(&w->text, text);
    const char *own = hp_strings_add(&w->texts, hp_strbuf_text(&w->text), w->text.length);
    uint32_t index = own ? hp_map64_get(&w->indices, (uintptr_t)own) : 0;
    if (own && index != HP_MAP64_NONE)
        return index;
    if (!own || w->text.failed ||
        hp_grow(&w->strings, &w->strings_capacity, w->n_strings + 1, sizeof *w->strings) != HP_OK ||
        hp_map64_put(&w->indices, (uintptr_t)own, (uint32_t)w->n_strings) != HP_OK) {
        w->failed = true;
        return 0;
    }
    w->strings[w->n_strings] = own;
    return w->n_strings++;
}

/* --- Compressing ------------------------------------------------------------------------------ */

static void deflate_all(struct writer *w, int flush)
{
    int status;
    do {
        w->zip.next_out = w->chunk;
        w->zip.avail_out = CHUNK;
        status = deflate(&w->zip, flush);
        fwrite(w->chunk, 1, CHUNK - w->zip.avail_out, w->out);
    } while (w->zip.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
}

/* Writes the message as a field of the profile, and empties it. */
static void put_message(struct writer *w, unsigned field)
{
    struct hp_strbuf *head = &w->inner; /* is empty */
    put_varint(head, field << 3 | 2);
    put_varint(head, w->message.length);
    w->failed |= head->failed || w->message.failed;
    struct hp_strbuf *parts[] = {head, &w->message};
    for (size_t i = 0; i < 2 && !w->failed; i++) {
        const char *at = hp_strbuf_text(parts[i]);
        for (size_t left = parts[i]->length; left > 0;) {
            size_t n = left > CHUNK ? CHUNK : left;
            w->zip.next_in = (unsigned char *)(uintptr_t)at;
            w->zip.avail_in = (unsigned)n;
            deflate_all(w, Z_NO_FLUSH);
            at += n;
            left -= n;
        }
    }
    hp_strbuf_clear(head);
    hp_strbuf_clear(&w->message);
}

/* A number that is a field of the profile. */
static void put_profile_number(struct writer *w, unsigned field, uint64_t value)
{
    put_number(&w->message, field, value);
    w->failed |= w->message.failed;
    w->zip.next_in = (unsigned char *)(uintptr_t)hp_strbuf_text(&w->message);
    w->zip.avail_in = (unsigned)w->message.length;
    deflate_all(w, Z_NO_FLUSH);
    hp_strbuf_clear(&w->message);
}

/* --- What is in it ---------------------------------------------------------------------------- */

static void put_value_type(struct writer *w, unsigned field, const char *type)
{
    put_number(&w->message, VALUE_TYPE_TYPE, string(w, type));
    put_number(&w->message, VALUE_TYPE_UNIT, string(w, "count"));
    put_message(w, field);
}

static void put_label(struct writer *w, const char *key, const char *text, uint64_t number)
{
    put_number(&w->inner, LABEL_KEY, string(w, key));
    if (text)
        put_number(&w->inner, LABEL_STR, string(w, text));
    else
        put_number(&w->inner, LABEL_NUM, number);
    put_inner(w, SAMPLE_LABEL);
}

static void put_sample(struct writer *w, const struct hp_pcontext_count *sample)
{
    uint32_t functions[HP_STACKS_DEPTH];
    char thread[24];
    const struct hp_pthread *t = &w->profile->threads[sample->thread];
    size_t n = hp_stacks_functions(w->profile, sample->item, functions);
    for (size_t i = 0; i < n; i++) {
        size_t id = functions[i] == HP_PROFILE_NONE ? w->profile->n_functions : functions[i];
        w->used[id] = true;
        put_varint(&w->inner, id + 1);
    }
    put_inner(w, SAMPLE_LOCATION_ID);
    put_varint(&w->inner, count(sample->calls));
    put_varint(&w->inner, count(sample->self));
    put_inner(w, SAMPLE_VALUE);
    snprintf(thread, sizeof thread, "%" PRIu32, sample->thread);
    put_label(w, "thread", thread, 0);
    put_label(w, "pid", NULL, (uint64_t)t->pid);
    put_label(w, "tid", NULL, (uint64_t)t->tid);
    put_message(w, PROFILE_SAMPLE);
    w->sum = hp_saturating_add(w->sum, count(sample->self));
}

/* A location is a function: contexts do not say at which of its instructions. */
static void put_location(struct writer *w, uint32_t function)
{
    bool known = function < w->profile->n_functions;
    const struct hp_pfunction *f = known ? &w->profile->functions[function] : NULL;
    put_number(&w->message, LOCATION_ID, function + 1u);
    if (known && f->place.module != HP_PROFILE_NONE) {
        put_number(&w->message, LOCATION_MAPPING_ID, f->place.module + 1u);
        put_number(&w->message, LOCATION_ADDRESS, f->place.offset);
    }
    put_number(&w->inner, LINE_FUNCTION_ID, function + 1u);
    put_number(&w->inner, LINE_LINE, known ? f->line : 0);
    put_inner(w, LOCATION_LINE);
    put_message(w, PROFILE_LOCATION);
}

static void put_function(struct writer *w, uint32_t function)
{
    bool known = function < w->profile->n_functions;
    const struct hp_pfunction *f = known ? &w->profile->functions[function] : NULL;
    const char *name = hp_views_name(w->tables, known ? function : HP_PROFILE_NONE);
    put_number(&w->message, FUNCTION_ID, function + 1u);
    put_number(&w->message, FUNCTION_NAME, string(w, name));
    if (known) {
        put_number(&w->message, FUNCTION_SYSTEM_NAME,
                   string(w, *hp_text(f->linkage) ? f->linkage : name));
        put_number(&w->message, FUNCTION_FILENAME, string(w, hp_text(f->file)));
        put_number(&w->message, FUNCTION_START_LINE, f->line);
    }
    put_message(w, PROFILE_FUNCTION);
}

/* Addresses are offsets in the module, so each begins at 0. It ends behind the last function. */
static void put_mapping(struct writer *w, uint32_t module, uint64_t limit)
{
    const struct hp_pmodule *m = &w->profile->modules[module];
    put_number(&w->message, MAPPING_ID, module + 1u);
    put_number(&w->message, MAPPING_MEMORY_LIMIT, limit);
    put_number(&w->message, MAPPING_FILENAME, string(w, hp_text(m->path)));
    put_number(&w->message, MAPPING_BUILD_ID, string(w, hp_text(m->build_id)));
    put_number(&w->message, MAPPING_HAS_FUNCTIONS, 1);
    put_number(&w->message, MAPPING_HAS_FILENAMES, 1);
    put_number(&w->message, MAPPING_HAS_LINE_NUMBERS, 1);
    put_message(w, PROFILE_MAPPING);
}

static enum hp_err put_mappings(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    uint64_t *limits = calloc(p->n_modules + 1, sizeof *limits);
    if (!limits)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct hp_pfunction *f = &p->functions[i];
        uint64_t end = hp_saturating_add(f->place.offset, f->size ? f->size : 1);
        if (f->place.module != HP_PROFILE_NONE && end > limits[f->place.module])
            limits[f->place.module] = end;
    }
    for (uint32_t i = 0; i < p->n_modules; i++)
        put_mapping(w, i, limits[i]);
    free(limits);
    return HP_OK;
}

static void put_run(struct writer *w)
{
    const struct hp_run *run = &w->profile->run;
    struct hp_strbuf command = {0};
    double nanoseconds = run->seconds * 1e9;
    hp_views_command(w->profile, &command);
    if (run->started > 0 && run->started < INT64_MAX / 1000000000)
        put_profile_number(w, PROFILE_TIME_NANOS, (uint64_t)run->started * 1000000000);
    if (nanoseconds > 0 && nanoseconds < 9e18)
        put_profile_number(w, PROFILE_DURATION_NANOS, (uint64_t)nanoseconds);
    put_value_type(w, PROFILE_PERIOD_TYPE, "instructions");
    put_profile_number(w, PROFILE_PERIOD, 1);
    put_profile_number(w, PROFILE_COMMENT, string(w, hp_strbuf_text(&command)));
    put_profile_number(w, PROFILE_DEFAULT_SAMPLE_TYPE, string(w, "instructions"));
    w->failed |= command.failed;
    hp_strbuf_fini(&command);
}

static enum hp_err put_profile(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    string(w, ""); /* the first one must be this */
    put_value_type(w, PROFILE_SAMPLE_TYPE, "calls");
    put_value_type(w, PROFILE_SAMPLE_TYPE, "instructions");
    for (size_t i = 0; i < p->n_context_counts; i++)
        if (p->context_counts[i].self || p->context_counts[i].calls)
            put_sample(w, &p->context_counts[i]);
    HP_TRY(put_mappings(w));
    for (uint32_t i = 0; i <= p->n_functions; i++)
        if (w->used[i]) {
            put_location(w, i);
            put_function(w, i);
        }
    put_run(w);
    for (size_t i = 0; i < w->n_strings; i++) {
        hp_strbuf_add(&w->message, w->strings[i]);
        put_message(w, PROFILE_STRING_TABLE);
    }
    deflate_all(w, Z_FINISH);
    return w->failed ? hp_fail_nomem() : HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err write_file(struct writer *w)
{
    w->used = calloc(w->profile->n_functions + 1, sizeof *w->used);
    if (!w->used)
        return hp_fail_nomem();
    /* 16: with the header of gzip, which has no time in it: equal profiles make equal files. */
    if (deflateInit2(&w->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return hp_fail_nomem();
    enum hp_err err = put_profile(w);
    deflateEnd(&w->zip);
    return err;
}

static enum hp_err write_pprof(const struct hp_profile *profile,
                               const struct hp_export_request *request, FILE *out,
                               struct hp_export_written *written)
{
    struct hp_tables tables;
    HP_TRY(hp_stacks_check(profile, request, "pprof"));
    HP_TRY(hp_tables_init(&tables, profile));
    struct writer *w = calloc(1, sizeof *w);
    enum hp_err err = w ? HP_OK : hp_fail_nomem();
    if (w) {
        w->out = out;
        w->profile = profile;
        w->tables = &tables;
        err = write_file(w);
        *written = hp_stacks_written(profile, w->sum);
        free(w->used);
        free(w->strings);
        hp_map64_fini(&w->indices);
        hp_strings_fini(&w->texts);
        hp_strbuf_fini(&w->message);
        hp_strbuf_fini(&w->inner);
        hp_strbuf_fini(&w->text);
        free(w);
    }
    hp_tables_fini(&tables);
    return err;
}

const struct hp_export_format hp_format_pprof = {
    .name = "pprof",
    .summary = "calling contexts, for pprof and what reads its files",
    .source = HP_EXPORT_PROFILE,
    .write = write_pprof,
};
