// SPDX-License-Identifier: MIT
/*
 * Loading: the tables, one after the other. What refers to what is checked by normalising, which
 * also restores the order in a file edited by hand.
 */
#include "base/base.h"
#include "base/debug.h"
#include "profile/reader.h"

static void load_run(struct hp_reader *r)
{
    struct hp_run *run = &r->profile->run;
    struct hp_schema_run row = {*run, ""};
    hp_reader_begin(r, HP_SCHEMA_RUN);
    while (hp_reader_next(r))
        hp_reader_row(r, &row);
    if (r->row != 1)
        hp_reader_fail(r, "run has %llu rows, not one", (unsigned long long)r->row);
    *run = row.run;
    while (run->arch < HP_ARCH_COUNT_ && strcmp(hp_arch_name(run->arch), row.arch) != 0)
        run->arch++;
    if (run->arch == HP_ARCH_COUNT_)
        hp_reader_fail(r, "architecture \"%.40s\" does not exist", row.arch);
    hp_reader_end(r);
}

/* Texts that are a table of their own (malloc'd), with a NULL behind them. */
static void load_texts(struct hp_reader *r, size_t table, const char ***texts, size_t *n)
{
    size_t capacity = 0;
    *n = 0;
    hp_reader_begin(r, table);
    while (hp_reader_next(r) &&
           (r->err = hp_grow(texts, &capacity, *n + 2, sizeof **texts)) == HP_OK) {
        (*texts)[*n] = "";
        hp_reader_row(r, &(*texts)[(*n)++]);
    }
    hp_reader_end(r);
}

static void load_command(struct hp_reader *r)
{
    const char **command HP_CLEANUP(hp_free) = NULL;
    size_t n;
    load_texts(r, HP_SCHEMA_ARGUMENT, &command, &n);
    if (r->err == HP_OK)
        r->err = hp_profile_set_command(r->profile, (char *const *)command);
}

static void load_rows(struct hp_reader *r, enum hp_row_kind kind)
{
    void *row;
    hp_reader_begin(r, HP_SCHEMA_ROWS + kind);
    while (hp_reader_next(r) && (r->err = hp_profile_add_row(r->profile, kind, &row)) == HP_OK)
        hp_reader_row(r, row);
    hp_reader_end(r);
}

/* Names of a later version are passed over. */
static void load_engine_work(struct hp_reader *r)
{
    hp_reader_begin(r, HP_SCHEMA_ENGINE);
    while (hp_reader_next(r)) {
        struct hp_schema_engine row = {.name = ""};
        const struct hp_engine_work_field *field = hp_engine_work_fields;
        hp_reader_row(r, &row);
        while (field->name && strcmp(field->name, row.name) != 0)
            field++;
        if (field->name)
            *hp_engine_work_value(&r->profile->run.work, field) = row.value;
    }
    hp_reader_end(r);
}

/* Whether there is anything to look at. */
static bool is_worthwhile(const struct hp_profile *p)
{
    return p->n_threads && (p->n_functions || p->n_blocks || p->n_paths || p->n_insns);
}

static void rescue(struct hp_reader *r, const char **what)
{
    if (r->err == HP_OK && (r->mending.wrong || hp_profile_check(r->profile) != HP_OK))
        r->err = hp_profile_mend_rows(&r->mending);
    if (r->err != HP_OK || r->mending.wrong == 0)
        return;
    if (is_worthwhile(r->profile))
        r->err = hp_profile_note_wrong(&r->mending, "damaged",
                                       "the file is damaged, or was changed: what cannot be read "
                                       "is missing, and numbers may be wrong",
                                       what);
    else
        hp_reader_fail(r, "%s", r->mending.first);
}

/* Also checks what refers to what. */
static void normalize(struct hp_reader *r)
{
    if (r->err != HP_OK || (r->err = hp_profile_normalize(r->profile)) != HP_ERR_INVALID)
        return;
    char text[256];
    snprintf(text, sizeof text, "%s", hp_error_text());
    r->err = HP_OK;
    hp_reader_fail(r, "%s", text);
}

static enum hp_err load(const char *path, struct hp_profile **profile, const char **what)
{
    struct hp_profile *p;
    struct hp_reader r HP_CLEANUP(hp_reader_close) = {0};
    HP_TRY(hp_profile_new(&p));
    hp_reader_open(&r, path, p, what != NULL);
    load_run(&r);
    load_command(&r);
    load_texts(&r, HP_SCHEMA_STRING, &r.strings, &r.n_strings);
    load_engine_work(&r);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        load_rows(&r, kind);
    if (what)
        rescue(&r, what);
    normalize(&r);
    if (r.err != HP_OK) {
        hp_profile_free(p);
        return r.err;
    }
    hp_debug(HP_DEBUG_PROFILE, "%s is loaded: %zu blocks, %zu strings", path, p->n_blocks,
             r.n_strings);
    *profile = p;
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
