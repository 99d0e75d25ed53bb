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

/* --- Rescue ----------------------------------------------------------------------------------- */

/* The arrays that have an element for each row of a table. */
static const struct {
    const char *table;
    enum hp_parray array;
} arrays_of_tables[] = {
    {"module", HP_PARRAY_MODULES},
    {"thread", HP_PARRAY_THREADS},
    {"function", HP_PARRAY_FUNCTIONS},
    {"block", HP_PARRAY_BLOCKS},
    {"edge", HP_PARRAY_EDGES},
    {"call", HP_PARRAY_CALLS},
    {"line", HP_PARRAY_LINES},
    {"block_count", HP_PARRAY_BLOCK_COUNTS},
    {"edge_count", HP_PARRAY_EDGE_COUNTS},
    {"function_count", HP_PARRAY_FUNCTION_COUNTS},
    {"call_count", HP_PARRAY_CALL_COUNTS},
    {"context", HP_PARRAY_CONTEXTS},
    {"context_count", HP_PARRAY_CONTEXT_COUNTS},
    {"path", HP_PARRAY_PATHS},
    {"path_step", HP_PARRAY_PATH_STEPS},
    {"path_count", HP_PARRAY_PATH_COUNTS},
    {"table_path", HP_PARRAY_TABLE_PATHS},
    {"prediction", HP_PARRAY_PREDICTIONS},
    {"loop", HP_PARRAY_LOOPS},
    {"loop_count", HP_PARRAY_LOOP_COUNTS},
    {"loop_trip", HP_PARRAY_LOOP_TRIPS},
    {"loop_block", HP_PARRAY_LOOP_BLOCKS},
    {"model_loop", HP_PARRAY_MODEL_LOOPS},
    {"hotspot", HP_PARRAY_HOTSPOTS},
    {"hotspot_branch", HP_PARRAY_HOTSPOT_BRANCHES},
    {"hotspot_block", HP_PARRAY_HOTSPOT_BLOCKS},
    {"hotspot_slice", HP_PARRAY_HOTSPOT_SLICES},
    {"insn", HP_PARRAY_INSNS},
    {"insn_tally", HP_PARRAY_INSN_TALLIES},
    {"insn_cycles", HP_PARRAY_INSN_CYCLES},
    {"attribution", HP_PARRAY_ATTRIBUTIONS},
    {"insn_wait", HP_PARRAY_WAITS},
    {"sampler", HP_PARRAY_SAMPLERS},
    {"cycle_window", HP_PARRAY_WINDOWS},
    {"note", HP_PARRAY_NOTES},
};

/* Which elements were made of rows that could not be read. */
static enum hp_err mark_bad(struct hp_loader *l, bool *dead[HP_PARRAY_COUNT_])
{
    const struct hp_reader *r = &l->reader;
    enum hp_parray of[HP_SCHEMA_TABLES + 1];
    for (size_t i = 0; i <= HP_SCHEMA_TABLES; i++)
        of[i] = HP_PARRAY_COUNT_;
    for (size_t i = 0; i < sizeof arrays_of_tables / sizeof arrays_of_tables[0]; i++)
        of[hp_schema_find(arrays_of_tables[i].table)] = arrays_of_tables[i].array;
    for (size_t i = 0; i < r->n_bad; i++) {
        enum hp_parray which = of[r->bad[i].table];
        size_t n = which == HP_PARRAY_COUNT_ ? 0 : hp_profile_array_length(l->profile, which);
        if (r->bad[i].row >= n)
            continue;
        if (!dead[which] && !(dead[which] = calloc(n, sizeof **dead)))
            return hp_fail_nomem();
        dead[which][r->bad[i].row] = true;
    }
    return HP_OK;
}

static enum hp_err mend(struct hp_loader *l)
{
    struct hp_reader *r = &l->reader;
    bool *dead[HP_PARRAY_COUNT_] = {0};
    size_t wrong = 0;
    char first[256];
    enum hp_err err = mark_bad(l, dead);
    if (err == HP_OK)
        err = hp_profile_mend_rows(l->profile, dead, &wrong, first);
    for (int i = 0; i < HP_PARRAY_COUNT_; i++)
        free(dead[i]);
    if (wrong && r->wrong == 0)
        snprintf(r->first, sizeof r->first, "%s", first);
    r->wrong += wrong;
    return err;
}

/* Whether there is anything to look at. */
static bool is_worthwhile(const struct hp_profile *p)
{
    return p->n_threads && (p->n_functions || p->n_blocks || p->n_paths || p->n_insns);
}

static enum hp_err note_damage(struct hp_loader *l, const char **what)
{
    char text[400];
    snprintf(text, sizeof text,
             "the file is damaged, or was changed: what cannot be read is missing, and numbers may "
             "be wrong; the first: %s",
             l->reader.first);
    HP_TRY(hp_profile_note(l->profile, l->reader.wrong, "damaged", "%s", text));
    *what = hp_profile_string(l->profile, text);
    return *what ? HP_OK : HP_ERR_NOMEM;
}

static void rescue(struct hp_loader *l, const char **what)
{
    struct hp_reader *r = &l->reader;
    if (r->err == HP_OK)
        r->err = mend(l);
    if (r->err != HP_OK || r->wrong == 0)
        return;
    if (is_worthwhile(l->profile))
        r->err = note_damage(l, what);
    else
        hp_reader_fail(r, "%s", r->first);
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err load(const char *path, struct hp_profile **profile, const char **what)
{
    struct hp_loader l = {0};
    HP_TRY(hp_profile_new(&l.profile));
    hp_reader_open(&l.reader, path, what != NULL);
    load_all(&l);
    if (what)
        rescue(&l, what);
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

enum hp_err hp_profile_load(const char *path, struct hp_profile **profile)
{
    return load(path, profile, NULL);
}

enum hp_err hp_profile_rescue(const char *path, struct hp_profile **profile, const char **what)
{
    *what = NULL;
    return load(path, profile, what);
}
