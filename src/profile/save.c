// SPDX-License-Identifier: MIT
/*
 * Saving: the file is made aside in one transaction, without journal and without syncing, as
 * nobody can see it until it is complete and renamed.
 */
#include "base/debug.h"
#include "base/outfile.h"
#include "profile/file.h"
#include "profile/profile_impl.h"
#include "profile/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- Tables ----------------------------------------------------------------------------------- */

static void put_run(struct hp_store *w, const struct hp_run *run)
{
    hp_store_begin(w, HP_SCHEMA_RUN, 11, 1);
    hp_store_i64(w, 0);
    hp_store_text(w, run->version);
    hp_store_text(w, run->engine);
    hp_store_text(w, hp_arch_name(run->arch));
    hp_store_text(w, run->directory);
    hp_store_text(w, run->machine);
    hp_store_i64(w, run->started);
    hp_store_seconds(w, run->seconds);
    hp_store_i64(w, run->exit_status);
    hp_store_u64(w, run->lost);
    hp_store_i64(w, run->runs);
    hp_store_next(w);
    hp_store_end(w);

    size_t n = 0;
    while (run->command && run->command[n])
        n++;
    hp_store_begin(w, HP_SCHEMA_ARGUMENT, 2, n);
    for (size_t i = 0; i < n; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, run->command[i]);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_strings(struct hp_store *w)
{
    hp_store_begin(w, HP_SCHEMA_STRING, 2, w->n_strings);
    for (size_t i = 0; i < w->n_strings; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, w->strings[i]);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_field(struct hp_store *w, const struct hp_row_field *field, const void *row)
{
    switch (field->type) {
    case HP_ROW_TEXT: hp_store_text(w, hp_row_text(field, row)); break;
    case HP_ROW_STRING: hp_store_string(w, hp_row_text(field, row)); break;
    case HP_ROW_LINK: hp_store_index(w, (uint32_t)hp_row_number(field, row)); break;
    case HP_ROW_U64: hp_store_u64(w, hp_row_number(field, row)); break;
    default: hp_store_i64(w, (int64_t)hp_row_number(field, row));
    }
}

static void put_rows(struct hp_store *w, const struct hp_profile *p, enum hp_row_kind kind)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    size_t n = hp_profile_n_rows(p, kind);
    hp_store_begin(w, HP_SCHEMA_ROWS + kind, (int)format->n_fields + format->has_id, n);
    for (size_t i = 0; i < n && w->err == HP_OK; i++) {
        const void *row = hp_profile_row(p, kind, i);
        if (format->has_id)
            hp_store_i64(w, (int64_t)i);
        for (size_t k = 0; k < format->n_fields; k++)
            put_field(w, &format->fields[k], row);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_engine_work(struct hp_store *w, const struct hp_engine_work *work)
{
    struct hp_engine_work copy = *work;
    size_t n = 0;
    while (hp_engine_work_fields[n].name)
        n++;
    if (!hp_engine_work_known(work))
        n = 0;
    hp_store_begin(w, HP_SCHEMA_ENGINE, 3, n);
    for (size_t i = 0; i < n; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, hp_engine_work_fields[i].name);
        hp_store_u64(w, *hp_engine_work_value(&copy, &hp_engine_work_fields[i]));
        hp_store_next(w);
    }
    hp_store_end(w);
}

/* What was written, for the reader to check. */
static void put_contents(struct hp_store *w)
{
    hp_store_begin(w, HP_SCHEMA_CONTENTS, 3, HP_SCHEMA_TABLES - 1);
    for (size_t i = 0; i < HP_SCHEMA_TABLES; i++) {
        if (i == HP_SCHEMA_CONTENTS)
            continue;
        hp_store_text(w, hp_schema_name(i));
        hp_store_i64(w, (int64_t)w->done[i].rows);
        hp_store_i64(w, (int64_t)w->done[i].sum);
        hp_store_next(w);
    }
    hp_store_end(w);
}

/* --- The file --------------------------------------------------------------------------------- */

static void create_schema(struct hp_store *w)
{
    char sql[HP_SCHEMA_SQL];
    /* Large pages: measured, they make both saving and loading faster than the usual 4 KiB. */
    hp_store_run(w, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
                    "PRAGMA foreign_keys = OFF; BEGIN");
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HP_SCHEMA_APPLICATION_ID, HP_SCHEMA_VERSION);
    hp_store_run(w, sql);
    for (size_t table = 0; table < HP_SCHEMA_TABLES; table++) {
        hp_schema_create(table, sql);
        hp_store_run(w, sql);
    }
    hp_store_run(w, hp_schema_views);
}

static void write_all(struct hp_store *w, const struct hp_profile *p)
{
    create_schema(w);
    put_run(w, &p->run);
    put_strings(w);
    put_engine_work(w, &p->run.work);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        put_rows(w, p, kind);
    put_contents(w);
    hp_store_run(w, "COMMIT");
}

static enum hp_err write_database(const struct hp_profile *profile, int fd, const char *path)
{
    struct hp_store w = {.path = path};
    w.err = hp_store_strings(&w, profile);
    if (w.err == HP_OK && hp_profile_file_open(fd, &w.db))
        hp_store_fail(&w);
    if (w.err == HP_OK)
        write_all(&w, profile);
    sqlite3_close(w.db);
    hp_map64_fini(&w.string_ids);
    free(w.strings);
    return w.err;
}

enum hp_err hp_profile_save(const struct hp_profile *profile, const char *path)
{
    HP_TRY(hp_profile_check_normal(profile));
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return hp_fail(HP_ERR_INVALID, "cannot write %s: not a regular file", path);
    struct hp_outfile out;
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = write_database(profile, fileno(out.file), path);
    if (err != HP_OK) {
        hp_outfile_abort(&out);
        return err;
    }
    hp_debug(HP_DEBUG_PROFILE, "%s is written", path);
    return hp_outfile_commit(&out);
}
