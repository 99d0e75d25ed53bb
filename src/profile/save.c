// SPDX-License-Identifier: MIT
/*
 * Saving: the file is made aside in one transaction, without journal and without syncing, as
 * nobody can see it until it is complete and renamed.
 */
#include "base/base.h"
#include "base/debug.h"
#include "base/outfile.h"
#include "base/texts.h"
#include "profile/profile_impl.h"
#include "profile/schema.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

/* Rows a statement inserts. Measured on counters: 32 take 0.4 times as long as one at a time. */
#define BATCH 32

struct writer {
    sqlite3 *db;
    const char *path; /* for errors */
    const struct hp_row_format *format;
    sqlite3_stmt *insert;
    int column;   /* the next one to bind */
    uint64_t sum; /* checksum of the values written to the table */
    struct hp_schema_contents done[HP_SCHEMA_TABLES];
    struct hp_text_set strings; /* the string table, sorted */
};

/* What SQLite says of its last call. */
static enum hp_err fail(const struct writer *w)
{
    int code = sqlite3_errcode(w->db), error = sqlite3_system_errno(w->db);
    if (code == SQLITE_NOMEM)
        return hp_fail_nomem();
    if (code == SQLITE_FULL)
        error = ENOSPC;
    return hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path,
                   error ? strerror(error) : sqlite3_errmsg(w->db));
}

static enum hp_err run_sql(const struct writer *w, const char *sql)
{
    if (!sql)
        return hp_fail_nomem();
    return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HP_OK : fail(w);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* "INSERT INTO table VALUES(?,?),(?,?)..." for so many rows. */
static enum hp_err prepare_insert(const struct writer *w, size_t rows, sqlite3_stmt **insert)
{
    sqlite3_str *sql = sqlite3_str_new(w->db);
    sqlite3_str_appendf(sql, "INSERT INTO %s VALUES", w->format->table);
    for (size_t row = 0; row < rows; row++) {
        sqlite3_str_appendf(sql, row ? ",(?" : "(?");
        for (size_t i = !w->format->has_id; i < w->format->n_fields; i++)
            sqlite3_str_appendf(sql, ",?");
        sqlite3_str_appendf(sql, ")");
    }
    char *text HP_CLEANUP(hp_schema_free) = sqlite3_str_finish(sql);
    if (!text)
        return hp_fail_nomem();
    return sqlite3_prepare_v2(w->db, text, -1, insert, NULL) == SQLITE_OK ? HP_OK : fail(w);
}

static enum hp_err put_text(struct writer *w, const char *text)
{
    size_t length = strlen(text);
    w->sum = hp_schema_sum_text(w->sum, text, length);
    if (length > HP_SCHEMA_MAX_TEXT)
        return hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a text of %zu bytes", w->path,
                       w->format->table, length);
    int code = sqlite3_bind_text(w->insert, w->column++, text, (int)length, SQLITE_STATIC);
    return code == SQLITE_OK ? HP_OK : fail(w);
}

/* SQLite's integers are signed: a larger number must not become another. */
static enum hp_err put_number(struct writer *w, enum hp_row_type type, uint64_t value)
{
    double real;
    int code;
    memcpy(&real, &value, sizeof real);
    w->sum = hp_schema_sum(w->sum, value);
    if (type == HP_ROW_U64 && value > INT64_MAX)
        return hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a number above 2^63-1: %llu",
                       w->path, w->format->table, (unsigned long long)value);
    if (type == HP_ROW_REAL && !(isfinite(real) && real >= 0))
        return hp_fail(HP_ERR_INVALID, "cannot write %s: the run took %g seconds", w->path, real);
    if (type == HP_ROW_REAL)
        code = sqlite3_bind_double(w->insert, w->column++, real);
    else if (type == HP_ROW_LINK && value == HP_PROFILE_NONE)
        code = sqlite3_bind_null(w->insert, w->column++);
    else
        code = sqlite3_bind_int64(w->insert, w->column++, (int64_t)value);
    return code == SQLITE_OK ? HP_OK : fail(w);
}

static enum hp_err put_row(struct writer *w, const void *row, size_t i)
{
    if (w->format->has_id)
        HP_TRY(put_number(w, HP_ROW_U64, i));
    for (size_t k = 0; k < w->format->n_fields; k++) {
        const struct hp_row_field *field = &w->format->fields[k];
        if (field->type == HP_ROW_TEXT)
            HP_TRY(put_text(w, hp_row_text(field, row)));
        else if (field->type == HP_ROW_STRING)
            HP_TRY(
                put_number(w, field->type, hp_text_set_find(&w->strings, hp_row_text(field, row))));
        else
            HP_TRY(put_number(w, field->type, hp_row_number(field, row)));
    }
    return HP_OK;
}

static void finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

/* The rows `from` to `to` - 1, `batch` at once. */
static enum hp_err insert_rows(struct writer *w, const char *rows, size_t from, size_t to,
                               size_t batch)
{
    sqlite3_stmt *insert HP_CLEANUP(finalize) = NULL;
    if (from == to)
        return HP_OK;
    HP_TRY(prepare_insert(w, batch, &insert));
    w->insert = insert;
    for (size_t i = from; i < to; i += batch) {
        w->column = 1;
        for (size_t k = i; k < i + batch; k++)
            HP_TRY(put_row(w, rows + k * w->format->size, k));
        if (sqlite3_step(insert) != SQLITE_DONE)
            return fail(w);
        sqlite3_reset(insert);
    }
    return HP_OK;
}

static enum hp_err put_table(struct writer *w, size_t table, const void *rows, size_t n)
{
    size_t in_batches = n - n % BATCH;
    w->format = hp_schema_table(table);
    w->sum = 0;
    HP_TRY(insert_rows(w, rows, 0, in_batches, BATCH));
    HP_TRY(insert_rows(w, rows, in_batches, n, 1));
    w->done[table] = (struct hp_schema_contents){w->format->table, n, w->sum};
    return HP_OK;
}

/* --- Tables ----------------------------------------------------------------------------------- */

static enum hp_err put_run(struct writer *w, const struct hp_run *run)
{
    struct hp_schema_run row = {*run, hp_arch_name(run->arch)};
    size_t n = 0;
    while (run->command && run->command[n])
        n++;
    HP_TRY(put_table(w, HP_SCHEMA_RUN, &row, 1));
    return put_table(w, HP_SCHEMA_ARGUMENT, run->command, n);
}

static enum hp_err put_engine_work(struct writer *w, const struct hp_engine_work *work)
{
    struct hp_engine_work copy = *work;
    struct hp_schema_engine rows[sizeof *work / sizeof(uint64_t)];
    size_t n = 0;
    for (const struct hp_engine_work_field *f = hp_engine_work_fields; f->name; f++)
        rows[n++] = (struct hp_schema_engine){f->name, *hp_engine_work_value(&copy, f)};
    return put_table(w, HP_SCHEMA_ENGINE, rows, hp_engine_work_known(work) ? n : 0);
}

/* Collects the texts the string table holds and numbers them in their own order: then the order of
 * lines by number is their order by text, and equal profiles give equal files. */
static enum hp_err number_strings(struct writer *w, const struct hp_profile *p)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t k = 0; k < hp_row_formats[kind].n_fields; k++) {
            const struct hp_row_field *field = &hp_row_formats[kind].fields[k];
            size_t rows = field->type == HP_ROW_STRING ? hp_profile_n_rows(p, kind) : 0;
            for (size_t i = 0; i < rows; i++)
                HP_TRY(
                    hp_text_set_add(&w->strings, hp_row_text(field, hp_profile_row(p, kind, i))));
        }
    return hp_text_set_sort(&w->strings);
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err create_schema(const struct writer *w)
{
    /* Large pages: measured, they make both saving and loading faster than the usual 4 KiB. */
    HP_TRY(run_sql(w, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF;"
                      "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                      "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF; BEGIN"));
    char *header HP_CLEANUP(hp_schema_free) =
        sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
                        HP_SCHEMA_APPLICATION_ID, HP_SCHEMA_VERSION);
    HP_TRY(run_sql(w, header));
    for (size_t table = 0; table < HP_SCHEMA_TABLES; table++) {
        char *sql HP_CLEANUP(hp_schema_free) = hp_schema_create(hp_schema_table(table));
        HP_TRY(run_sql(w, sql));
    }
    return run_sql(w, hp_schema_views);
}

static enum hp_err write_all(struct writer *w, const struct hp_profile *p)
{
    HP_TRY(create_schema(w));
    HP_TRY(put_run(w, &p->run));
    HP_TRY(put_table(w, HP_SCHEMA_STRING, w->strings.texts, w->strings.n));
    HP_TRY(put_engine_work(w, &p->run.work));
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        HP_TRY(put_table(w, HP_SCHEMA_ROWS + kind, hp_profile_row(p, kind, 0),
                         hp_profile_n_rows(p, kind)));
    /* What was written, for the reader to check. */
    HP_TRY(put_table(w, HP_SCHEMA_CONTENTS, w->done + 1, HP_SCHEMA_TABLES - 1));
    return run_sql(w, "COMMIT");
}

static void writer_fini(struct writer *w)
{
    sqlite3_close(w->db);
    hp_text_set_fini(&w->strings);
}

/* The database is made in memory, in one piece, and then written. */
static enum hp_err write_database(const struct hp_profile *profile, const struct hp_outfile *out)
{
    struct writer w HP_CLEANUP(writer_fini) = {.path = out->path};
    sqlite3_int64 size = INT64_MAX; /* instead of SQLite's limit, a gigabyte */
    HP_TRY(number_strings(&w, profile));
    if (sqlite3_open_v2("profile", &w.db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        "memdb") != SQLITE_OK ||
        sqlite3_file_control(w.db, "main", SQLITE_FCNTL_SIZE_LIMIT, &size) != SQLITE_OK)
        return fail(&w);
    HP_TRY(write_all(&w, profile));
    const void *bytes = sqlite3_serialize(w.db, "main", &size, SQLITE_SERIALIZE_NOCOPY);
    if (!bytes)
        return hp_fail_nomem();
    fwrite(bytes, 1, (size_t)size, out->file); /* hp_outfile_commit() sees what fails */
    return HP_OK;
}

enum hp_err hp_profile_save(const struct hp_profile *profile, const char *path)
{
    HP_TRY(hp_profile_check_normal(profile));
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return hp_fail(HP_ERR_INVALID, "cannot write %s: not a regular file", path);
    struct hp_outfile out HP_CLEANUP(hp_outfile_abort) = {0};
    HP_TRY(hp_outfile_open(&out, path));
    HP_TRY(write_database(profile, &out));
    hp_debug(HP_DEBUG_PROFILE, "%s is written", path);
    return hp_outfile_commit(&out);
}
