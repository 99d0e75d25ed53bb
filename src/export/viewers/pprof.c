// SPDX-License-Identifier: MIT
/*
 * profile.proto, written field by field: a message is a key (number and wire type) and a value for
 * each of its fields, in any order, so that samples can be written as they come, and the table of
 * strings last.
 */

#include "base/base.h"
#include "base/texts.h"
#include "export/viewers/views.h"
#include "text/number.h"

#include <zlib.h>

/* Field numbers of profile.proto, but for those that put_numbers() counts through. */
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
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LOCATION_LINE = 4,
};

#define CHUNK 65536

struct writer {
    FILE *out;
    const struct hp_profile *profile;
    struct hp_tables tables;
    z_stream zip;
    struct hp_strings texts;
    struct hp_text_set strings;           /* of `texts` */
    bool *used;                           /* functions in a sample, the unknown one last */
    struct hp_strbuf file, message, part; /* not yet written; each is made for the one before it */
    struct hp_strbuf text;
    uint64_t sum;
};

static void release(struct writer *w)
{
    deflateEnd(&w->zip);
    free(w->used);
    hp_text_set_fini(&w->strings);
    hp_strings_fini(&w->texts);
    hp_strbuf_fini(&w->file);
    hp_strbuf_fini(&w->message);
    hp_strbuf_fini(&w->part);
    hp_strbuf_fini(&w->text);
    hp_tables_fini(&w->tables);
}

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
    if (value) {
        put_varint(to, field << 3);
        put_varint(to, value);
    }
}

/* The first `n` fields, which are numbers. */
static void put_numbers(struct hp_strbuf *to, unsigned n, const uint64_t *values)
{
    for (unsigned i = 0; i < n; i++)
        put_number(to, i + 1, values[i]);
}

/* A text, a message, or numbers in a row; `bytes` is empty afterwards. */
static void put_bytes(struct hp_strbuf *to, unsigned field, struct hp_strbuf *bytes)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, bytes->length);
    hp_strbuf_bytes(to, hp_strbuf_text(bytes), bytes->length);
    to->failed |= bytes->failed;
    hp_strbuf_clear(bytes);
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
    if (own && hp_text_set_add(&w->strings, own) == HP_OK)
        return hp_text_set_find(&w->strings, own);
    w->text.failed = true;
    return 0;
}

/* Compresses and writes what is in `file`. */
static void flush(struct writer *w, int how)
{
    unsigned char chunk[CHUNK];
    int status;
    w->zip.next_in = (unsigned char *)w->file.data;
    w->zip.avail_in = (unsigned)w->file.length;
    do {
        w->zip.next_out = chunk;
        w->zip.avail_out = CHUNK;
        status = deflate(&w->zip, how);
        fwrite(chunk, 1, CHUNK - w->zip.avail_out, w->out);
    } while (w->zip.avail_out == 0 || (how == Z_FINISH && status == Z_OK));
    hp_strbuf_clear(&w->file);
}

/* Writes the message as a field of the profile, and empties it. */
static void put_message(struct writer *w, unsigned field)
{
    put_bytes(&w->file, field, &w->message);
    if (w->file.length >= CHUNK)
        flush(w, Z_NO_FLUSH);
}

/* --- What is in it ---------------------------------------------------------------------------- */

static void put_value_type(struct writer *w, unsigned field, const char *type)
{
    uint64_t name = string(w, type), unit = string(w, "count");
    put_numbers(&w->message, 2, (uint64_t[]){name, unit});
    put_message(w, field);
}

static void put_label(struct writer *w, const char *key, const char *text, int32_t number)
{
    uint64_t name = string(w, key), value = text ? string(w, text) : 0;
    put_numbers(&w->part, 3, (uint64_t[]){name, value, (uint64_t)number});
    put_bytes(&w->message, SAMPLE_LABEL, &w->part);
}

static void put_sample(struct writer *w, const struct hp_pcontext_count *sample)
{
    uint32_t functions[HP_CONTEXT_DEPTH];
    char thread[24];
    const struct hp_pthread *t = &w->profile->threads[sample->thread];
    size_t n = hp_stacks_functions(w->profile, sample->item, functions);
    for (size_t i = 0; i < n; i++) {
        size_t id = hp_slot(functions[i], w->profile->n_functions);
        w->used[id] = true;
        put_varint(&w->part, id + 1);
    }
    put_bytes(&w->message, SAMPLE_LOCATION_ID, &w->part);
    put_varint(&w->part, count(sample->calls));
    put_varint(&w->part, count(sample->self));
    put_bytes(&w->message, SAMPLE_VALUE, &w->part);
    snprintf(thread, sizeof thread, "%" PRIu32, sample->thread);
    put_label(w, "thread", thread, 0);
    put_label(w, "pid", NULL, t->pid);
    put_label(w, "tid", NULL, t->tid);
    put_message(w, PROFILE_SAMPLE);
    hp_add_up(&w->sum, count(sample->self));
}

/* A function, and a location, which is one: contexts do not say at which of its instructions. */
static void put_function(struct writer *w, uint32_t function)
{
    static const struct hp_pfunction unknown = {.place.module = HP_PROFILE_NONE};
    bool known = function < w->profile->n_functions;
    const struct hp_pfunction *f = known ? &w->profile->functions[function] : &unknown;
    uint64_t id = function + 1u, module = f->place.module + 1u; /* 0: not known */
    bool placed = module && !hp_place_is_inlined(f->place);
    put_numbers(&w->message, 3, (uint64_t[]){id, module, placed ? f->place.offset : 0});
    put_numbers(&w->part, 2, (uint64_t[]){id, f->line});
    put_bytes(&w->message, LOCATION_LINE, &w->part);
    put_message(w, PROFILE_LOCATION);
    const char *text = hp_views_name(&w->tables, known ? function : HP_PROFILE_NONE);
    uint64_t name = string(w, text);
    uint64_t linkage = known ? string(w, *hp_text(f->linkage) ? f->linkage : text) : 0;
    uint64_t file = string(w, hp_text(f->file));
    put_numbers(&w->message, 5, (uint64_t[]){id, name, linkage, file, f->line});
    put_message(w, PROFILE_FUNCTION);
}

/* Addresses are offsets in the module, so each begins at 0. It ends behind the last function; its
 * functions, files and lines are known. */
static enum hp_err put_mappings(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    uint64_t *limits HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&limits, p->n_modules, sizeof *limits));
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct hp_pfunction *f = &p->functions[i];
        uint64_t end = hp_saturating_add(f->place.offset, f->size ? f->size : 1);
        if (f->place.module != HP_PROFILE_NONE && !hp_place_is_inlined(f->place) &&
            end > limits[f->place.module])
            limits[f->place.module] = end;
    }
    for (size_t i = 0; i < p->n_modules; i++) {
        uint64_t path = string(w, hp_text(p->modules[i].path));
        uint64_t build_id = string(w, hp_text(p->modules[i].build_id));
        put_numbers(&w->message, 9,
                    (uint64_t[]){i + 1, 0, limits[i], 0, path, build_id, true, true, true});
        put_message(w, PROFILE_MAPPING);
    }
    return HP_OK;
}

static void put_run(struct writer *w)
{
    const struct hp_run *run = &w->profile->run;
    struct hp_strbuf command HP_CLEANUP(hp_strbuf_fini) = {0};
    double nanoseconds = run->seconds * 1e9;
    hp_views_command(w->profile, &command);
    if (run->started > 0 && run->started < INT64_MAX / 1000000000)
        put_number(&w->file, PROFILE_TIME_NANOS, (uint64_t)run->started * 1000000000);
    if (nanoseconds > 0 && nanoseconds < 9e18)
        put_number(&w->file, PROFILE_DURATION_NANOS, (uint64_t)nanoseconds);
    put_value_type(w, PROFILE_PERIOD_TYPE, "instructions");
    put_number(&w->file, PROFILE_PERIOD, 1);
    put_number(&w->file, PROFILE_COMMENT, string(w, hp_strbuf_text(&command)));
    put_number(&w->file, PROFILE_DEFAULT_SAMPLE_TYPE, string(w, "instructions"));
    w->file.failed |= command.failed;
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
        if (w->used[i])
            put_function(w, i);
    put_run(w);
    for (size_t i = 0; i < w->strings.n; i++) {
        hp_strbuf_add(&w->message, w->strings.texts[i]);
        put_message(w, PROFILE_STRING_TABLE);
    }
    flush(w, Z_FINISH);
    return w->file.failed || w->text.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err write_pprof(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct writer w HP_CLEANUP(release) = {.out = request->out, .profile = p};
    HP_TRY(hp_stacks_init(&w.tables, request, "pprof"));
    HP_TRY(hp_new(&w.used, p->n_functions + 1, sizeof *w.used));
    /* 16: with the header of gzip, which has no time in it: equal profiles make equal files. */
    if (deflateInit2(&w.zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return hp_fail_nomem();
    HP_TRY(put_profile(&w));
    request->written = hp_stacks_written(&w.tables, w.sum);
    return HP_OK;
}

const struct hp_export_format hp_format_pprof = {
    .name = "pprof",
    .summary = "calling contexts, for pprof and what reads its files",
    .write = write_pprof,
    .functions = true,
    .inlined = true,
};
