// SPDX-License-Identifier: MIT
/*
 * Saving: the file is made aside in one transaction, without journal and without syncing, as
 * nobody can see it until it is complete and renamed.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "base/outfile.h"
#include "profile/profile_memory.h"
#include "profile/profile_schema.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rows a statement inserts. Measured on counters: 32 take 0.4 times as long as one at a time. */
#define BATCH 32

/* The state of saving. The first error stays; everything after it does nothing. */
struct writer {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *insert_one; /* for the rows that do not fill a batch */
    int batch, filled;        /* rows `insert` takes, and has been given */
    int column;               /* the next one to bind */
    size_t rows_left;
    const char *path;
    const char *table;
    uint64_t rows, sum; /* written to the table so far; their checksum */
    struct {
        uint64_t rows, sum;
    } done[HP_SCHEMA_TABLES];
    enum hp_err err;
    const char **strings; /* the string table, sorted */
    size_t n_strings;
    struct hp_map64 string_ids; /* from the address of a text to its index in `strings` */
};

static void fail_sqlite(struct writer *w)
{
    if (w->err != HP_OK)
        return;
    int code = sqlite3_errcode(w->db), error = sqlite3_system_errno(w->db);
    if (code == SQLITE_NOMEM)
        w->err = hp_fail_nomem();
    else if (code == SQLITE_FULL)
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, strerror(ENOSPC));
    else if (error)
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, strerror(error));
    else
        w->err = hp_fail(HP_ERR_IO, "cannot write %s: %s", w->path, sqlite3_errmsg(w->db));
}

static void run_sql(struct writer *w, const char *sql)
{
    if (w->err == HP_OK && sqlite3_exec(w->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_sqlite(w);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* "INSERT INTO table VALUES(?,?),(?,?)..." for so many rows. */
static sqlite3_stmt *prepare_insert(struct writer *w, const char *table, int columns, int rows)
{
    char sql[2048];
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES", table);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < columns; i++)
            length += snprintf(sql + length, sizeof sql - (size_t)length, "%s?%s",
                               i     ? ","
                               : row ? ",("
                                     : "(",
                               i == columns - 1 ? ")" : "");
    sqlite3_stmt *insert = NULL;
    if (w->err == HP_OK && sqlite3_prepare_v2(w->db, sql, -1, &insert, NULL) != SQLITE_OK)
        fail_sqlite(w);
    return insert;
}

/* `rows` is how many will follow. */
static void begin_table(struct writer *w, const char *table, int columns, size_t rows)
{
    w->table = table;
    w->column = 1;
    w->filled = 0;
    w->rows_left = rows;
    w->rows = rows;
    w->sum = 0;
    w->insert = prepare_insert(w, table, columns, rows < BATCH ? 1 : BATCH);
    w->insert_one = rows < BATCH ? NULL : prepare_insert(w, table, columns, 1);
    w->batch = rows < BATCH ? 1 : BATCH;
}

static void end_table(struct writer *w)
{
    sqlite3_finalize(w->insert);
    sqlite3_finalize(w->insert_one);
    w->insert = w->insert_one = NULL;
    size_t table = hp_schema_find(w->table);
    w->done[table].rows = w->rows;
    w->done[table].sum = w->sum;
}

static void end_row(struct writer *w)
{
    if (w->err != HP_OK || ++w->filled < w->batch)
        return;
    if (sqlite3_step(w->insert) != SQLITE_DONE)
        fail_sqlite(w);
    sqlite3_reset(w->insert);
    w->column = 1;
    w->filled = 0;
    w->rows_left -= (size_t)w->batch;
    if (w->rows_left < BATCH && w->insert_one) {
        sqlite3_finalize(w->insert);
        w->insert = w->insert_one;
        w->insert_one = NULL;
        w->batch = 1;
    }
}

static void put_i64(struct writer *w, int64_t value)
{
    w->sum = hp_schema_sum(w->sum, (uint64_t)value);
    if (w->err == HP_OK && sqlite3_bind_int64(w->insert, w->column++, value) != SQLITE_OK)
        fail_sqlite(w);
}

/* SQLite's integers are signed: a larger number cannot be stored, and must not become another. */
static void put_u64(struct writer *w, uint64_t value)
{
    if (w->err == HP_OK && value > INT64_MAX)
        w->err = hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a number above 2^63-1: %llu",
                         w->path, w->table, (unsigned long long)value);
    put_i64(w, (int64_t)value);
}

static void put_index(struct writer *w, uint32_t index)
{
    if (index != HP_PROFILE_NONE) {
        put_i64(w, index);
        return;
    }
    w->sum = hp_schema_sum(w->sum, HP_PROFILE_NONE);
    if (w->err == HP_OK && sqlite3_bind_null(w->insert, w->column++) != SQLITE_OK)
        fail_sqlite(w);
}

/* Offsets are addresses, not amounts: all 64 bits are kept, those above 2^63-1 as negative. */
static void put_place(struct writer *w, struct hp_place place)
{
    put_index(w, place.module);
    put_i64(w, (int64_t)place.offset);
}

static void put_text(struct writer *w, const char *text)
{
    size_t length = strlen(hp_text(text));
    w->sum = hp_schema_sum_text(w->sum, hp_text(text), length);
    if (w->err == HP_OK && length > HP_SCHEMA_MAX_TEXT)
        w->err = hp_fail(HP_ERR_INVALID, "cannot write %s: %s has a text of %zu bytes", w->path,
                         w->table, length);
    if (w->err == HP_OK && sqlite3_bind_text(w->insert, w->column++, hp_text(text), (int)length,
                                             SQLITE_STATIC) != SQLITE_OK)
        fail_sqlite(w);
}

static void put_seconds(struct writer *w, double seconds)
{
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    w->sum = hp_schema_sum(w->sum, bits);
    if (w->err == HP_OK && !(isfinite(seconds) && seconds >= 0))
        w->err =
            hp_fail(HP_ERR_INVALID, "cannot write %s: the run took %g seconds", w->path, seconds);
    if (w->err == HP_OK && sqlite3_bind_double(w->insert, w->column++, seconds) != SQLITE_OK)
        fail_sqlite(w);
}

static void put_string(struct writer *w, const char *text)
{
    put_i64(w, hp_map64_get(&w->string_ids, (uint64_t)(uintptr_t)hp_text(text)));
}

/* --- The string table ------------------------------------------------------------------------- */

static enum hp_err note_string(struct writer *w, size_t *capacity, const char *text)
{
    uint64_t key = (uint64_t)(uintptr_t)hp_text(text);
    if (hp_map64_get(&w->string_ids, key) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&w->strings, capacity, w->n_strings + 1, sizeof *w->strings));
    HP_TRY(hp_map64_put(&w->string_ids, key, (uint32_t)w->n_strings));
    w->strings[w->n_strings++] = hp_text(text);
    return HP_OK;
}

static int compare_strings(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Collects the texts the string table holds and numbers them in their own order: then the order of
 * lines by number is their order by text, and equal profiles give equal files. */
static enum hp_err collect_strings(struct writer *w, const struct hp_profile *p)
{
    size_t capacity = 0, n = 0;
    for (size_t i = 0; i < p->n_functions; i++)
        HP_TRY(note_string(w, &capacity, p->functions[i].file));
    for (size_t i = 0; i < p->n_lines; i++) {
        HP_TRY(note_string(w, &capacity, p->lines[i].file));
        HP_TRY(note_string(w, &capacity, p->lines[i].inlined));
        HP_TRY(note_string(w, &capacity, p->lines[i].inlined_at));
    }
    if (w->n_strings)
        qsort(w->strings, w->n_strings, sizeof *w->strings, compare_strings);
    for (size_t i = 0; i < w->n_strings; i++) {
        if (n == 0 || strcmp(w->strings[n - 1], w->strings[i]) != 0)
            n++;
        HP_TRY(hp_map64_put(&w->string_ids, (uint64_t)(uintptr_t)w->strings[i], (uint32_t)(n - 1)));
        w->strings[n - 1] = w->strings[i];
    }
    w->n_strings = n;
    return HP_OK;
}

/* --- Tables ----------------------------------------------------------------------------------- */

static void put_run(struct writer *w, const struct hp_run *run)
{
    begin_table(w, "run", 11, 1);
    put_i64(w, 0);
    put_text(w, run->version);
    put_text(w, run->engine);
    put_text(w, hp_arch_name(run->arch));
    put_text(w, run->directory);
    put_text(w, run->machine);
    put_i64(w, run->started);
    put_seconds(w, run->seconds);
    put_i64(w, run->exit_status);
    put_u64(w, run->lost);
    put_i64(w, run->runs);
    end_row(w);
    end_table(w);

    size_t n = 0;
    while (run->command && run->command[n])
        n++;
    begin_table(w, "run_argument", 2, n);
    for (size_t i = 0; i < n; i++) {
        put_i64(w, (int64_t)i);
        put_text(w, run->command[i]);
        end_row(w);
    }
    end_table(w);
}

static void put_strings(struct writer *w)
{
    begin_table(w, "string", 2, w->n_strings);
    for (size_t i = 0; i < w->n_strings; i++) {
        put_i64(w, (int64_t)i);
        put_text(w, w->strings[i]);
        end_row(w);
    }
    end_table(w);
}

static void put_modules_and_threads(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "module", 3, p->n_modules);
    for (size_t i = 0; i < p->n_modules; i++) {
        put_i64(w, (int64_t)i);
        put_text(w, p->modules[i].path);
        put_text(w, p->modules[i].build_id);
        end_row(w);
    }
    end_table(w);

    begin_table(w, "thread", 6, p->n_threads);
    for (size_t i = 0; i < p->n_threads; i++) {
        put_i64(w, (int64_t)i);
        put_i64(w, p->threads[i].pid);
        put_i64(w, p->threads[i].tid);
        put_u64(w, p->threads[i].instructions);
        put_u64(w, p->threads[i].blocks);
        put_u64(w, p->threads[i].branches);
        end_row(w);
    }
    end_table(w);
}

static void put_functions(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "function", 8, p->n_functions);
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct hp_pfunction *function = &p->functions[i];
        put_i64(w, (int64_t)i);
        put_place(w, function->place);
        put_u64(w, function->size);
        put_text(w, function->name);
        put_text(w, function->linkage);
        put_string(w, function->file);
        put_i64(w, function->line);
        end_row(w);
    }
    end_table(w);
}

static void put_blocks(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "block", 9, p->n_blocks);
    for (size_t i = 0; i < p->n_blocks && w->err == HP_OK; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        put_i64(w, (int64_t)i);
        put_place(w, block->place);
        put_i64(w, block->size);
        put_i64(w, block->insns);
        put_index(w, block->function);
        put_i64(w, block->flow);
        put_i64(w, block->branch);
        put_i64(w, block->version);
        end_row(w);
    }
    end_table(w);
}

static void put_edges(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "edge", 7, p->n_edges);
    for (size_t i = 0; i < p->n_edges && w->err == HP_OK; i++) {
        put_i64(w, (int64_t)i);
        put_place(w, p->edges[i].from);
        put_place(w, p->edges[i].to);
        put_i64(w, p->edges[i].flow);
        put_i64(w, p->edges[i].taken);
        end_row(w);
    }
    end_table(w);
}

static void put_calls(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "call", 3, p->n_calls);
    for (size_t i = 0; i < p->n_calls && w->err == HP_OK; i++) {
        put_i64(w, (int64_t)i);
        put_index(w, p->calls[i].caller);
        put_index(w, p->calls[i].callee);
        end_row(w);
    }
    end_table(w);
}

static void put_lines(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "line", 8, p->n_lines);
    for (size_t i = 0; i < p->n_lines && w->err == HP_OK; i++) {
        const struct hp_pline *line = &p->lines[i];
        put_i64(w, line->block);
        put_i64(w, line->from);
        put_i64(w, line->to);
        put_string(w, line->file);
        put_i64(w, line->line);
        put_string(w, line->inlined);
        put_string(w, line->inlined_at);
        put_i64(w, line->insns);
        end_row(w);
    }
    end_table(w);
}

static void put_counts(struct writer *w, const char *table, const struct hp_pcount *counts,
                       size_t n)
{
    begin_table(w, table, 3, n);
    for (size_t i = 0; i < n && w->err == HP_OK; i++) {
        put_i64(w, counts[i].item);
        put_i64(w, counts[i].thread);
        put_u64(w, counts[i].count);
        end_row(w);
    }
    end_table(w);
}

static void put_function_and_call_counts(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "function_count", 5, p->n_function_counts);
    for (size_t i = 0; i < p->n_function_counts && w->err == HP_OK; i++) {
        put_i64(w, p->function_counts[i].item);
        put_i64(w, p->function_counts[i].thread);
        put_u64(w, p->function_counts[i].self);
        put_u64(w, p->function_counts[i].inclusive);
        put_u64(w, p->function_counts[i].calls);
        end_row(w);
    }
    end_table(w);

    begin_table(w, "call_count", 4, p->n_call_counts);
    for (size_t i = 0; i < p->n_call_counts && w->err == HP_OK; i++) {
        put_i64(w, p->call_counts[i].item);
        put_i64(w, p->call_counts[i].thread);
        put_u64(w, p->call_counts[i].count);
        put_u64(w, p->call_counts[i].inclusive);
        end_row(w);
    }
    end_table(w);
}

static void put_notes(struct writer *w, const struct hp_profile *p)
{
    begin_table(w, "note", 4, p->n_notes);
    for (size_t i = 0; i < p->n_notes; i++) {
        put_i64(w, (int64_t)i);
        put_text(w, p->notes[i].kind);
        put_text(w, p->notes[i].text);
        put_u64(w, p->notes[i].count);
        end_row(w);
    }
    end_table(w);
}

static void put_engine_work(struct writer *w, const struct hp_engine_work *work)
{
    struct hp_engine_work copy = *work;
    size_t n = 0;
    while (hp_engine_work_fields[n].name)
        n++;
    if (!hp_engine_work_known(work))
        n = 0;
    begin_table(w, HP_SCHEMA_ENGINE, 3, n);
    for (size_t i = 0; i < n; i++) {
        put_i64(w, (int64_t)i);
        put_text(w, hp_engine_work_fields[i].name);
        put_u64(w, *hp_engine_work_value(&copy, &hp_engine_work_fields[i]));
        end_row(w);
    }
    end_table(w);
}

/* What was written, for the reader to check. */
static void put_contents(struct writer *w)
{
    begin_table(w, HP_SCHEMA_CONTENTS, 3, HP_SCHEMA_TABLES - 1);
    for (size_t i = 0; i < HP_SCHEMA_TABLES; i++) {
        if (strcmp(hp_schema_tables[i].name, HP_SCHEMA_CONTENTS) == 0)
            continue;
        put_text(w, hp_schema_tables[i].name);
        put_i64(w, (int64_t)w->done[i].rows);
        put_i64(w, (int64_t)w->done[i].sum);
        end_row(w);
    }
    end_table(w);
}

/* --- The file --------------------------------------------------------------------------------- */

static void create_schema(struct writer *w)
{
    char sql[128];
    /* Large pages: measured, they make both saving and loading faster than the usual 4 KiB. */
    run_sql(w, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
               "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
               "PRAGMA foreign_keys = OFF; BEGIN");
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HP_SCHEMA_APPLICATION_ID, HP_SCHEMA_VERSION);
    run_sql(w, sql);
    for (const struct hp_schema_table *table = hp_schema_tables; table->name; table++)
        run_sql(w, table->sql);
    run_sql(w, hp_schema_views);
}

static void write_all(struct writer *w, const struct hp_profile *p)
{
    create_schema(w);
    put_run(w, &p->run);
    put_strings(w);
    put_modules_and_threads(w, p);
    put_functions(w, p);
    put_blocks(w, p);
    put_edges(w, p);
    put_calls(w, p);
    put_lines(w, p);
    put_counts(w, "block_count", p->block_counts, p->n_block_counts);
    put_counts(w, "edge_count", p->edge_counts, p->n_edge_counts);
    put_function_and_call_counts(w, p);
    put_notes(w, p);
    put_engine_work(w, &p->run.work);
    put_contents(w);
    run_sql(w, "COMMIT");
}

static enum hp_err write_database(const struct hp_profile *profile, const char *file,
                                  const char *path)
{
    struct writer w = {.path = path};
    w.err = collect_strings(&w, profile);
    /* No locks: the file is ours alone, and some network file systems have none. */
    if (w.err == HP_OK &&
        sqlite3_open_v2(file, &w.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none"))
        fail_sqlite(&w);
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
    /* "./": a relative name could otherwise mean something else to SQLite ("file:x"). */
    char *file;
    enum hp_err err = HP_ERR_NOMEM;
    if (asprintf(&file, "%s%s", *out.aside == '/' ? "" : "./", out.aside) < 0) {
        hp_fail_nomem();
    } else {
        err = write_database(profile, file, path);
        free(file);
    }
    if (err != HP_OK) {
        hp_outfile_abort(&out);
        return err;
    }
    return hp_outfile_commit(&out);
}
