// SPDX-License-Identifier: MIT
/*
 * Loading: the tables, one after the other. What refers to what is checked by normalising, which
 * also restores the order in a file edited by hand.
 */
#include "base/grow.h"
#include "profile/profile_loader.h"
#include "profile/profile_memory.h"
#include "profile/profile_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hp_loader_text(struct hp_loader *l)
{
    const char *text = hp_profile_string(l->profile, hp_reader_text(&l->reader));
    if (!text && l->reader.err == HP_OK)
        l->reader.err = HP_ERR_NOMEM;
    return text;
}

const char *hp_loader_string(struct hp_loader *l)
{
    if (l->n_strings == 0) {
        hp_reader_fail_value(&l->reader);
        return "";
    }
    return l->strings[hp_reader_i64(&l->reader, 0, (int64_t)l->n_strings - 1)];
}

static void load_run(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_run *run = &l->profile->run;
    hp_reader_begin(r, "run");
    while (hp_reader_next(r)) {
        hp_reader_id(r);
        run->version = hp_loader_text(l);
        run->engine = hp_loader_text(l);
        const char *arch = hp_reader_text(r);
        run->arch = HP_ARCH_NONE;
        while (run->arch < HP_ARCH_COUNT_ && strcmp(hp_arch_name(run->arch), arch) != 0)
            run->arch++;
        if (run->arch == HP_ARCH_COUNT_)
            hp_reader_fail(r, "architecture \"%.40s\" does not exist", arch);
        run->directory = hp_loader_text(l);
        run->machine = hp_loader_text(l);
        run->started = hp_reader_i64(r, INT64_MIN, INT64_MAX);
        run->seconds = hp_reader_seconds(r);
        run->exit_status = (int)hp_reader_i64(r, INT32_MIN, INT32_MAX);
        run->lost = hp_reader_u64(r);
        run->runs = hp_reader_u32(r);
    }
    if (r->row != 1)
        hp_reader_fail(r, "run has %llu rows, not one", (unsigned long long)r->row);
    hp_reader_end(r);
}

static void load_command(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    char **command = NULL;
    size_t n = 0, capacity = 0;
    hp_reader_begin(r, "run_argument");
    /* New room is zeroed: the list stays terminated. */
    while (hp_reader_next(r) &&
           (r->err = hp_grow(&command, &capacity, n + 2, sizeof *command)) == HP_OK) {
        hp_reader_id(r);
        command[n++] = (char *)(uintptr_t)hp_loader_text(l);
    }
    hp_reader_end(r);
    if (r->err == HP_OK)
        r->err = hp_profile_set_command(l->profile, command);
    free(command);
}

static void load_strings(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    size_t capacity = 0;
    hp_reader_begin(r, "string");
    while (hp_reader_next(r) && (r->err = hp_grow(&l->strings, &capacity, l->n_strings + 1,
                                                  sizeof *l->strings)) == HP_OK) {
        hp_reader_id(r);
        l->strings[l->n_strings++] = hp_loader_text(l);
    }
    hp_reader_end(r);
}

static void load_modules(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pmodule *module;
    hp_reader_begin(r, "module");
    while (hp_reader_next(r) && (r->err = hp_profile_add_module(l->profile, &module)) == HP_OK) {
        hp_reader_id(r);
        module->path = hp_loader_text(l);
        module->build_id = hp_loader_text(l);
    }
    hp_reader_end(r);
}

static void load_threads(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pthread *thread;
    hp_reader_begin(r, "thread");
    while (hp_reader_next(r) && (r->err = hp_profile_add_thread(l->profile, &thread)) == HP_OK) {
        hp_reader_id(r);
        thread->pid = (int32_t)hp_reader_i64(r, INT32_MIN, INT32_MAX);
        thread->tid = (int32_t)hp_reader_i64(r, INT32_MIN, INT32_MAX);
        thread->instructions = hp_reader_u64(r);
        thread->blocks = hp_reader_u64(r);
        thread->branches = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_functions(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pfunction *function;
    hp_reader_begin(r, "function");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_function(l->profile, &function)) == HP_OK) {
        hp_reader_id(r);
        function->place = hp_reader_place(r);
        function->size = hp_reader_u64(r);
        function->name = hp_loader_text(l);
        function->linkage = hp_loader_text(l);
        function->file = hp_loader_string(l);
        function->line = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_blocks(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pblock *block;
    hp_reader_begin(r, "block");
    while (hp_reader_next(r) && (r->err = hp_profile_add_block(l->profile, &block)) == HP_OK) {
        hp_reader_id(r);
        block->place = hp_reader_place(r);
        block->size = hp_reader_u32(r);
        block->insns = hp_reader_u32(r);
        block->function = hp_reader_index(r);
        block->flow = (uint8_t)hp_reader_i64(r, 0, HP_FLOW_COUNT_ - 1);
        block->branch = hp_reader_u32(r);
        block->version = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_edges(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pedge *edge;
    hp_reader_begin(r, "edge");
    while (hp_reader_next(r) && (r->err = hp_profile_add_edge(l->profile, &edge)) == HP_OK) {
        hp_reader_id(r);
        edge->from = hp_reader_place(r);
        edge->to = hp_reader_place(r);
        edge->flow = (uint8_t)hp_reader_i64(r, 0, HP_FLOW_COUNT_ - 1);
        edge->taken = (uint8_t)hp_reader_i64(r, 0, 1);
    }
    hp_reader_end(r);
}

static void load_calls(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pcall *call;
    hp_reader_begin(r, "call");
    while (hp_reader_next(r) && (r->err = hp_profile_add_call(l->profile, &call)) == HP_OK) {
        hp_reader_id(r);
        call->caller = hp_reader_index(r);
        call->callee = hp_reader_index(r);
    }
    hp_reader_end(r);
}

static void load_lines(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pline *line;
    hp_reader_begin(r, "line");
    while (hp_reader_next(r) && (r->err = hp_profile_add_line(l->profile, &line)) == HP_OK) {
        line->block = hp_reader_u32(r);
        line->from = hp_reader_u32(r);
        line->to = hp_reader_u32(r);
        line->file = hp_loader_string(l);
        line->line = hp_reader_u32(r);
        line->inlined = hp_loader_string(l);
        line->inlined_at = hp_loader_string(l);
        line->insns = hp_reader_u32(r);
    }
    hp_reader_end(r);
}

static void load_counts(struct hp_loader *l, const char *table,
                        enum hp_err (*add)(struct hp_profile *, struct hp_pcount **))
{
    struct hp_reader *r = &l->reader;
    struct hp_pcount *count;
    hp_reader_begin(r, table);
    while (hp_reader_next(r) && (r->err = add(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->count = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_function_counts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pfunction_count *count;
    hp_reader_begin(r, "function_count");
    while (hp_reader_next(r) &&
           (r->err = hp_profile_add_function_count(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->self = hp_reader_u64(r);
        count->inclusive = hp_reader_u64(r);
        count->calls = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_call_counts(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pcall_count *count;
    hp_reader_begin(r, "call_count");
    while (hp_reader_next(r) && (r->err = hp_profile_add_call_count(l->profile, &count)) == HP_OK) {
        count->item = hp_reader_u32(r);
        count->thread = hp_reader_u32(r);
        count->count = hp_reader_u64(r);
        count->inclusive = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

static void load_notes(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_pnote *note;
    hp_reader_begin(r, "note");
    while (hp_reader_next(r) && (r->err = hp_profile_add_note(l->profile, &note)) == HP_OK) {
        hp_reader_id(r);
        note->kind = hp_loader_text(l);
        note->text = hp_loader_text(l);
        note->count = hp_reader_u64(r);
    }
    hp_reader_end(r);
}

/* Names of a later version are passed over. */
static void load_engine_work(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    if (!hp_reader_has(r, "engine_stat"))
        return;
    hp_reader_begin(r, "engine_stat");
    while (hp_reader_next(r)) {
        hp_reader_id(r);
        const char *name = hp_reader_text(r);
        const struct hp_engine_work_field *field = hp_engine_work_fields;
        while (field->name && strcmp(field->name, name) != 0)
            field++;
        uint64_t value = hp_reader_u64(r);
        if (field->name)
            *hp_engine_work_value(&l->profile->run.work, field) = value;
    }
    hp_reader_end(r);
}

static void load_all(struct hp_loader *l)
{
    load_run(l);
    load_command(l);
    load_strings(l);
    load_modules(l);
    load_threads(l);
    load_functions(l);
    load_blocks(l);
    load_edges(l);
    load_calls(l);
    load_lines(l);
    load_counts(l, "block_count", hp_profile_add_block_count);
    load_counts(l, "edge_count", hp_profile_add_edge_count);
    load_function_counts(l);
    load_call_counts(l);
    load_notes(l);
    load_engine_work(l);
    hp_loader_models(l);
    hp_loader_regions(l);
    hp_loader_insns(l);
}

/* Also checks what refers to what. */
static void normalize(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    if (r->err != HP_OK)
        return;
    r->err = hp_profile_normalize(l->profile);
    if (r->err == HP_ERR_INVALID) {
        char text[256];
        snprintf(text, sizeof text, "%s", hp_error_text());
        r->err = HP_OK;
        hp_reader_fail(r, "%s", text);
    }
}

enum hp_err hp_profile_load(const char *path, struct hp_profile **profile)
{
    struct hp_loader l = {0};
    HP_TRY(hp_profile_new(&l.profile));
    hp_reader_open(&l.reader, path);
    load_all(&l);
    hp_reader_close(&l.reader);
    free(l.strings);
    normalize(&l);
    if (l.reader.err != HP_OK) {
        hp_profile_free(l.profile);
        return l.reader.err;
    }
    *profile = l.profile;
    return HP_OK;
}
