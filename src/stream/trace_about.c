// SPDX-License-Identifier: MIT
#include "stream/trace_about.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRING_MIN   5 /* bytes of the shortest string: its length and the terminator */
#define INDEX_TOTALS 32
#define INDEX_ENTRY  26

enum hp_err hp_trace_about_init(struct hp_trace_about *about)
{
    struct hp_trace_run *run = &about->info.run;
    about->command = calloc(1, sizeof *about->command);
    if (!about->command)
        return hp_fail_nomem();
    run->version = run->engine = run->directory = run->machine = "";
    run->command = about->command;
    return HP_OK;
}

void hp_trace_about_fini(struct hp_trace_about *about)
{
    free(about->run_content);
    free(about->command);
    for (size_t i = 0; i < about->n_strings; i++)
        free(about->strings[i]);
    free(about->strings);
    hp_map64_fini(&about->string_index);
    free(about->entries);
}

/* --- The run ---------------------------------------------------------------------------------- */

static enum hp_err read_run(struct hp_bytes_in *in, struct hp_trace_run *run, char ***command)
{
    run->version = hp_in_string(in);
    run->engine = hp_in_string(in);
    run->directory = hp_in_string(in);
    run->machine = hp_in_string(in);
    run->started = (int64_t)hp_in_uint(in, 8);
    size_t n = (size_t)hp_in_uint(in, 4);
    if (in->bad || n > (size_t)(in->end - in->at) / STRING_MIN)
        return hp_fail(HP_ERR_FORMAT, "the record of the run is cut off");
    *command = calloc(n + 1, sizeof **command);
    if (!*command)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        (*command)[i] = (char *)(uintptr_t)hp_in_string(in);
    if (in->bad || in->at != in->end) {
        free(*command);
        return hp_fail(HP_ERR_FORMAT, "the record of the run has the wrong size");
    }
    return HP_OK;
}

enum hp_err hp_trace_about_run(struct hp_trace_about *about, const uint8_t *content, size_t size)
{
    if (about->run_content)
        return HP_OK;
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return hp_fail_nomem();
    if (size)
        memcpy(copy, content, size);
    struct hp_bytes_in in = {copy, copy + size, false};
    struct hp_trace_run run = about->info.run;
    char **command = NULL;
    enum hp_err err = read_run(&in, &run, &command);
    if (err != HP_OK) {
        free(copy);
        return err;
    }
    free(about->command);
    about->command = command;
    about->run_content = copy;
    run.command = command;
    about->info.run = run;
    return HP_OK;
}

/* --- Strings ---------------------------------------------------------------------------------- */

static enum hp_err add_string(struct hp_trace_about *about, uint32_t id, const char *text)
{
    if (hp_map64_get(&about->string_index, id) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&about->strings, &about->cap_strings, about->n_strings + 1,
                   sizeof *about->strings));
    char *copy = strdup(text);
    if (!copy)
        return hp_fail_nomem();
    enum hp_err err = hp_map64_put(&about->string_index, id, (uint32_t)about->n_strings);
    if (err != HP_OK) {
        free(copy);
        return err;
    }
    about->strings[about->n_strings++] = copy;
    return HP_OK;
}

enum hp_err hp_trace_about_strings(struct hp_trace_about *about, const uint8_t *content,
                                   size_t size)
{
    struct hp_bytes_in in = {content, content + size, false};
    while (in.at != in.end) {
        uint32_t id = (uint32_t)hp_in_uint(&in, 4);
        const char *text = hp_in_string(&in);
        if (in.bad)
            return hp_fail(HP_ERR_FORMAT, "a string is cut off");
        HP_TRY(add_string(about, id, text));
    }
    return HP_OK;
}

/* --- The index -------------------------------------------------------------------------------- */

static enum hp_err read_entries(struct hp_bytes_in *in, uint64_t limit,
                                struct hp_trace_entry *entries, size_t n)
{
    uint64_t end = HP_TRACE_FILE_HEADER;
    for (size_t i = 0; i < n; i++) {
        struct hp_trace_entry *entry = &entries[i];
        entry->offset = hp_in_uint(in, 8);
        entry->first = hp_in_uint(in, 8);
        entry->thread = (uint32_t)hp_in_uint(in, 4);
        entry->count = (uint32_t)hp_in_uint(in, 4);
        entry->kind = (uint16_t)hp_in_uint(in, 2);
        if (entry->offset < end || entry->offset >= limit)
            return hp_fail(HP_ERR_FORMAT, "the index is out of order");
        end = entry->offset + HP_TRACE_FRAME_HEADER;
    }
    return HP_OK;
}

static enum hp_err read_index(struct hp_trace_about *about, const uint8_t *content, size_t size,
                              uint64_t offset)
{
    if (size < INDEX_TOTALS || (size - INDEX_TOTALS) % INDEX_ENTRY != 0)
        return hp_fail(HP_ERR_FORMAT, "the index has the wrong size");
    size_t n = (size - INDEX_TOTALS) / INDEX_ENTRY;
    struct hp_bytes_in in = {content, content + size, false};
    struct hp_trace_info info = about->info;
    uint64_t bits = hp_in_uint(&in, 8);
    memcpy(&info.run.seconds, &bits, sizeof bits);
    if (!isfinite(info.run.seconds))
        return hp_fail(HP_ERR_FORMAT, "the index has no run time");
    info.run.exit_status = (int)(int32_t)hp_in_uint(&in, 4);
    info.words = hp_in_uint(&in, 8);
    info.threads = (uint32_t)hp_in_uint(&in, 4);
    info.segments = (uint32_t)hp_in_uint(&in, 4);
    info.modules = (uint32_t)hp_in_uint(&in, 4);
    info.frames = n + 1; /* and the index */
    info.complete = true;
    struct hp_trace_entry *entries = calloc(n + 1, sizeof *entries);
    if (!entries)
        return hp_fail_nomem();
    enum hp_err err = read_entries(&in, offset, entries, n);
    if (err != HP_OK) {
        free(entries);
        return err;
    }
    for (size_t i = 0; i < n; i++)
        if (entries[i].kind == HP_TRACE_FRAME_ADDRESSES)
            info.addresses += entries[i].count;
    about->entries = entries;
    about->n_entries = n;
    about->index_offset = offset;
    about->info = info;
    return HP_OK;
}

static enum hp_err find_index(struct hp_trace_about *about, struct hp_trace_input *input)
{
    if (input->size < HP_TRACE_FILE_HEADER + HP_TRACE_FRAME_HEADER + HP_TRACE_TRAILER)
        return hp_fail(HP_ERR_FORMAT, "too short for an index");
    uint64_t end = input->size - HP_TRACE_TRAILER, offset;
    uint8_t trailer[HP_TRACE_TRAILER];
    HP_TRY(hp_trace_input_read(input, end, trailer, sizeof trailer));
    if (!hp_trace_unpack_trailer(trailer, &offset) || offset >= end)
        return hp_fail(HP_ERR_FORMAT, "no trailer");
    struct hp_trace_frame frame;
    HP_TRY(hp_trace_input_frame(input, offset, &frame));
    if (frame.kind != HP_TRACE_FRAME_INDEX || hp_trace_input_behind(offset, &frame) != end)
        return hp_fail(HP_ERR_FORMAT, "no index where the trailer points");
    HP_TRY(hp_trace_input_load(input, offset, &frame, HP_TRACE_CONTENT_MAX));
    return read_index(about, input->content, frame.content, offset);
}

enum hp_err hp_trace_about_index(struct hp_trace_about *about, struct hp_trace_input *input)
{
    enum hp_err err = find_index(about, input);
    return err == HP_ERR_FORMAT ? HP_OK : err;
}
