// SPDX-License-Identifier: MIT
/*
 * Loading: the tables, one after the other. What refers to what is checked by normalising, which
 * also restores the order in a file edited by hand.
 */
#include "base/debug.h"
#include "base/grow.h"
#include "profile/profile_impl.h"
#include "profile/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Errors stay in the reader. */
struct loader {
    struct hp_reader reader;
    struct hp_profile *profile;
    const char **strings; /* the string table; of the profile */
    size_t n_strings;
};

/* The next column, as a text of the profile. */
static const char *load_text(struct loader *l)
{
    const char *text = hp_profile_string(l->profile, hp_reader_text(&l->reader));
    if (!text && l->reader.err == HP_OK)
        l->reader.err = HP_ERR_NOMEM;
    return text;
}

/* The next column, a reference to the string table, as a text of the profile. */
static const char *load_string(struct loader *l)
{
    if (l->n_strings == 0) {
        hp_reader_fail_value(&l->reader);
        return "";
    }
    return l->strings[hp_reader_i64(&l->reader, 0, (int64_t)l->n_strings - 1)];
}

static void load_run(struct loader *l)
{
    struct hp_reader *r = &l->reader;
    struct hp_run *run = &l->profile->run;
    hp_reader_begin(r, HP_SCHEMA_RUN);
    while (hp_reader_next(r)) {
        hp_reader_id(r);
        run->version = load_text(l);
        run->engine = load_text(l);
        const char *arch = hp_reader_text(r);
        run->arch = HP_ARCH_NONE;
        while (run->arch < HP_ARCH_COUNT_ && strcmp(hp_arch_name(run->arch), arch) != 0)
            run->arch++;
        if (run->arch == HP_ARCH_COUNT_)
            hp_reader_fail(r, "architecture \"%.40s\" does not exist", arch);
        run->directory = load_text(l);
        run->machine = load_text(l);
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

static void load_command(struct loader *l)
{
    struct hp_reader *r = &l->reader;
    char **command = NULL;
    size_t n = 0, capacity = 0;
    hp_reader_begin(r, HP_SCHEMA_ARGUMENT);
    /* New room is zeroed: the list stays terminated. */
    while (hp_reader_next(r) &&
           (r->err = hp_grow(&command, &capacity, n + 2, sizeof *command)) == HP_OK) {
        hp_reader_id(r);
        command[n++] = (char *)(uintptr_t)load_text(l);
    }
    hp_reader_end(r);
    if (r->err == HP_OK)
        r->err = hp_profile_set_command(l->profile, command);
    free(command);
}

static void load_strings(struct loader *l)
{
    struct hp_reader *r = &l->reader;
    size_t capacity = 0;
    hp_reader_begin(r, HP_SCHEMA_STRING);
    while (hp_reader_next(r) && (r->err = hp_grow(&l->strings, &capacity, l->n_strings + 1,
                                                  sizeof *l->strings)) == HP_OK) {
        hp_reader_id(r);
        l->strings[l->n_strings++] = load_text(l);
    }
    hp_reader_end(r);
}

static void load_field(struct loader *l, const struct hp_row_field *field, void *row)
{
    struct hp_reader *r = &l->reader;
    int64_t value = 0;
    switch (field->type) {
    case HP_ROW_TEXT: hp_row_set_text(field, row, load_text(l)); return;
    case HP_ROW_STRING: hp_row_set_text(field, row, load_string(l)); return;
    case HP_ROW_LINK: value = hp_reader_index(r); break;
    case HP_ROW_U8: value = hp_reader_i64(r, 0, field->max); break;
    case HP_ROW_U32:
    case HP_ROW_INDEX: value = hp_reader_u32(r); break;
    case HP_ROW_I32: value = hp_reader_i64(r, INT32_MIN, INT32_MAX); break;
    case HP_ROW_U64: value = hp_reader_i64(r, 0, INT64_MAX); break;
    case HP_ROW_I64:
    case HP_ROW_BITS: value = hp_reader_i64(r, INT64_MIN, INT64_MAX); break;
    }
    hp_row_set_number(field, row, (uint64_t)value);
}

static void load_rows(struct loader *l, enum hp_row_kind kind)
{
    struct hp_reader *r = &l->reader;
    const struct hp_row_format *format = &hp_row_formats[kind];
    void *row;
    if (!hp_reader_has(r, HP_SCHEMA_ROWS + kind))
        return;
    hp_reader_begin(r, HP_SCHEMA_ROWS + kind);
    while (hp_reader_next(r) && (r->err = hp_profile_add_row(l->profile, kind, &row)) == HP_OK) {
        if (format->has_id)
            hp_reader_id(r);
        for (size_t k = 0; k < format->n_fields; k++)
            load_field(l, &format->fields[k], row);
    }
    hp_reader_end(r);
}

/* Names of a later version are passed over. */
static void load_engine_work(struct loader *l)
{
    struct hp_reader *r = &l->reader;
    if (!hp_reader_has(r, HP_SCHEMA_ENGINE))
        return;
    hp_reader_begin(r, HP_SCHEMA_ENGINE);
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

static void load_all(struct loader *l)
{
    load_run(l);
    load_command(l);
    load_strings(l);
    load_engine_work(l);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        load_rows(l, kind);
}

/* Also checks what refers to what. */
static void normalize(struct loader *l)
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

/* Which rows could not be read. */
static enum hp_err mark_bad(struct loader *l, bool *dead[HP_ROW_KINDS])
{
    for (size_t i = 0; i < l->reader.n_bad; i++) {
        const struct hp_bad_row *bad = &l->reader.bad[i];
        if (bad->table < HP_SCHEMA_ROWS)
            continue;
        enum hp_row_kind kind = (enum hp_row_kind)(bad->table - HP_SCHEMA_ROWS);
        size_t n = hp_profile_n_rows(l->profile, kind);
        if (bad->row >= n)
            continue;
        if (!dead[kind] && !(dead[kind] = calloc(n, sizeof **dead)))
            return hp_fail_nomem();
        dead[kind][bad->row] = true;
    }
    return HP_OK;
}

static enum hp_err mend(struct loader *l)
{
    struct hp_reader *r = &l->reader;
    bool *dead[HP_ROW_KINDS] = {0};
    size_t wrong = 0;
    if (r->wrong == 0 && hp_profile_check(l->profile) == HP_OK)
        return HP_OK;
    char first[256];
    enum hp_err err = mark_bad(l, dead);
    if (err == HP_OK)
        err = hp_profile_mend_rows(l->profile, dead, &wrong, first);
    for (int i = 0; i < HP_ROW_KINDS; i++)
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

static enum hp_err note_damage(struct loader *l, const char **what)
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

static void rescue(struct loader *l, const char **what)
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
    struct loader l = {0};
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
    hp_debug(HP_DEBUG_PROFILE, "%s is loaded: %zu blocks, %zu strings", path, l.profile->n_blocks,
             l.n_strings);
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
