// SPDX-License-Identifier: MIT
/*
 * Loading, from a file that may have been made or changed by anyone.
 *
 * Nothing of the file is executed: the tables read must be those of the schema to the letter (so no
 * view, virtual table, generated column or CHECK stands in for one), and views and triggers are
 * switched off. Every b-tree is checked before it is read: a page that is referred to twice could
 * otherwise give endless rows. Every value is checked for type and range; what refers to what is
 * checked by normalising, which also restores the order in a file edited by hand.
 */
#include "profile/profile_memory.h"
#include "profile/profile_schema.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state of loading. The first error stays; everything after it does nothing. */
struct reader {
    sqlite3 *db;
    sqlite3_stmt *select;
    int column; /* the next one to read */
    const char *path;
    const char *table;
    uint64_t row;
    uint64_t max_rows; /* a row takes at least two bytes of the file */
    enum hp_err err;
    struct hp_profile *profile;
    const char **strings; /* by id; of the profile */
    size_t n_strings;
};

static void fail_format(struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

static void fail_format(struct reader *r, const char *format, ...)
{
    if (r->err != HP_OK)
        return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->err = hp_fail(HP_ERR_FORMAT, "%s is not a sound profile: %s", r->path, text);
}

static void fail_sqlite(struct reader *r)
{
    if (r->err != HP_OK)
        return;
    int code = sqlite3_errcode(r->db), error = sqlite3_system_errno(r->db);
    if (code == SQLITE_NOMEM)
        r->err = hp_fail_nomem();
    else if (code == SQLITE_CANTOPEN || (code == SQLITE_IOERR && error))
        r->err = hp_fail(HP_ERR_IO, "cannot read %s: %s", r->path,
                         error ? strerror(error) : sqlite3_errmsg(r->db));
    else
        fail_format(r, "%s", sqlite3_errmsg(r->db));
}

static void fail_value(struct reader *r)
{
    fail_format(r, "%s, row %llu, %s has a value that cannot be", r->table,
                (unsigned long long)r->row, sqlite3_column_name(r->select, r->column));
}

/* --- Rows --------------------------------------------------------------------------------------*/

static void begin_query(struct reader *r, const char *sql)
{
    if (r->err == HP_OK && sqlite3_prepare_v2(r->db, sql, -1, &r->select, NULL) != SQLITE_OK)
        fail_sqlite(r);
    r->row = 0;
}

static void end_query(struct reader *r)
{
    sqlite3_finalize(r->select);
    r->select = NULL;
}

/* The first row is number 1. */
static bool next_row(struct reader *r)
{
    if (r->err != HP_OK)
        return false;
    int code = sqlite3_step(r->select);
    if (code == SQLITE_DONE)
        return false;
    if (code != SQLITE_ROW) {
        fail_sqlite(r);
        return false;
    }
    r->column = 0;
    if (++r->row > r->max_rows) {
        fail_format(r, "%s has more rows than there is room for", r->table);
        return false;
    }
    return true;
}

static int64_t get_i64(struct reader *r, int64_t min, int64_t max)
{
    if (r->err != HP_OK)
        return 0;
    int64_t value = sqlite3_column_int64(r->select, r->column);
    if (sqlite3_column_type(r->select, r->column) != SQLITE_INTEGER || value < min || value > max) {
        fail_value(r);
        return 0;
    }
    r->column++;
    return value;
}

static uint64_t get_u64(struct reader *r)
{
    return (uint64_t)get_i64(r, 0, INT64_MAX);
}

static uint32_t get_u32(struct reader *r)
{
    return (uint32_t)get_i64(r, 0, UINT32_MAX);
}

/* An index that may be missing. */
static uint32_t get_index(struct reader *r)
{
    if (r->err == HP_OK && sqlite3_column_type(r->select, r->column) == SQLITE_NULL) {
        r->column++;
        return HP_PROFILE_NONE;
    }
    return (uint32_t)get_i64(r, 0, UINT32_MAX - 1);
}

static struct hp_place get_place(struct reader *r)
{
    uint32_t module = get_index(r);
    return (struct hp_place){module, (uint64_t)get_i64(r, INT64_MIN, INT64_MAX)};
}

/* Rows are numbered from 0 without a gap: the id is the index. */
static void get_id(struct reader *r)
{
    if (get_i64(r, 0, INT64_MAX) != (int64_t)r->row - 1)
        fail_format(r, "%s, row %llu has another id than %llu", r->table,
                    (unsigned long long)r->row, (unsigned long long)r->row - 1);
}

/* Valid until the next row. */
static const char *get_raw_text(struct reader *r)
{
    if (r->err != HP_OK)
        return "";
    if (sqlite3_column_type(r->select, r->column) != SQLITE_TEXT) {
        fail_value(r);
        return "";
    }
    const char *text = (const char *)sqlite3_column_text(r->select, r->column);
    if (!text) {
        fail_sqlite(r);
        return "";
    }
    if (strlen(text) != (size_t)sqlite3_column_bytes(r->select, r->column))
        fail_value(r);
    r->column++;
    return text;
}

static const char *get_text(struct reader *r)
{
    const char *text = hp_profile_string(r->profile, get_raw_text(r));
    if (!text && r->err == HP_OK)
        r->err = HP_ERR_NOMEM;
    return text;
}

static const char *get_string(struct reader *r)
{
    if (r->n_strings == 0) {
        if (r->err == HP_OK)
            fail_value(r);
        return "";
    }
    return r->strings[get_i64(r, 0, (int64_t)r->n_strings - 1)];
}

/* --- Tables ------------------------------------------------------------------------------------*/

static void begin_table(struct reader *r, const char *table)
{
    char sql[96];
    r->table = table;
    snprintf(sql, sizeof sql, "SELECT * FROM main.%s NOT INDEXED", table);
    begin_query(r, sql);
}

static void load_run(struct reader *r)
{
    struct hp_run *run = &r->profile->run;
    begin_table(r, "run");
    while (next_row(r)) {
        get_id(r);
        run->version = get_text(r);
        run->engine = get_text(r);
        const char *arch = get_raw_text(r);
        run->arch = HP_ARCH_NONE;
        while (run->arch < HP_ARCH_COUNT_ && strcmp(hp_schema_arch_name(run->arch), arch) != 0)
            run->arch++;
        if (run->arch == HP_ARCH_COUNT_)
            fail_format(r, "architecture \"%.40s\" does not exist", arch);
        run->directory = get_text(r);
        run->machine = get_text(r);
        run->started = get_i64(r, INT64_MIN, INT64_MAX);
        if (r->err == HP_OK) {
            run->seconds = sqlite3_column_double(r->select, r->column);
            if (sqlite3_column_type(r->select, r->column) != SQLITE_FLOAT ||
                !isfinite(run->seconds) || run->seconds < 0)
                fail_value(r);
            r->column++;
        }
        run->exit_status = (int)get_i64(r, INT32_MIN, INT32_MAX);
        run->lost = get_u64(r);
        run->runs = get_u32(r);
    }
    if (r->row != 1)
        fail_format(r, "run has %llu rows, not one", (unsigned long long)r->row);
    end_query(r);
}

static void load_command(struct reader *r)
{
    char **command = NULL;
    size_t n = 0;
    begin_table(r, "run_argument");
    while (next_row(r)) {
        get_id(r);
        const char *text = get_text(r);
        char **grown = realloc(command, (n + 2) * sizeof *command);
        if (!grown) {
            r->err = hp_fail_nomem();
            break;
        }
        command = grown;
        command[n++] = (char *)(uintptr_t)text;
        command[n] = NULL;
    }
    end_query(r);
    if (r->err == HP_OK)
        r->err = hp_profile_set_command(r->profile, command);
    free(command);
}

static void load_strings(struct reader *r)
{
    begin_table(r, "string");
    size_t capacity = 0;
    while (next_row(r)) {
        get_id(r);
        if (r->n_strings == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            const char **grown = realloc(r->strings, capacity * sizeof *grown);
            if (!grown) {
                r->err = hp_fail_nomem();
                break;
            }
            r->strings = grown;
        }
        r->strings[r->n_strings++] = get_text(r);
    }
    end_query(r);
}

static void load_modules(struct reader *r)
{
    struct hp_pmodule *module;
    begin_table(r, "module");
    while (next_row(r) && (r->err = hp_profile_add_module(r->profile, &module)) == HP_OK) {
        get_id(r);
        module->path = get_text(r);
        module->build_id = get_text(r);
    }
    end_query(r);
}

static void load_threads(struct reader *r)
{
    struct hp_pthread *thread;
    begin_table(r, "thread");
    while (next_row(r) && (r->err = hp_profile_add_thread(r->profile, &thread)) == HP_OK) {
        get_id(r);
        thread->pid = (int32_t)get_i64(r, INT32_MIN, INT32_MAX);
        thread->tid = (int32_t)get_i64(r, INT32_MIN, INT32_MAX);
        thread->instructions = get_u64(r);
        thread->blocks = get_u64(r);
        thread->branches = get_u64(r);
    }
    end_query(r);
}

static void load_functions(struct reader *r)
{
    struct hp_pfunction *function;
    begin_table(r, "function");
    while (next_row(r) && (r->err = hp_profile_add_function(r->profile, &function)) == HP_OK) {
        get_id(r);
        function->place = get_place(r);
        function->size = get_u64(r);
        function->name = get_text(r);
        function->linkage = get_text(r);
        function->file = get_string(r);
        function->line = get_u32(r);
    }
    end_query(r);
}

static void load_blocks(struct reader *r)
{
    struct hp_pblock *block;
    begin_table(r, "block");
    while (next_row(r) && (r->err = hp_profile_add_block(r->profile, &block)) == HP_OK) {
        get_id(r);
        block->place = get_place(r);
        block->size = get_u32(r);
        block->insns = get_u32(r);
        block->function = get_index(r);
        block->flow = (uint8_t)get_i64(r, 0, HP_FLOW_COUNT_ - 1);
        block->branch = get_u32(r);
        block->version = get_u32(r);
    }
    end_query(r);
}

static void load_edges(struct reader *r)
{
    struct hp_pedge *edge;
    begin_table(r, "edge");
    while (next_row(r) && (r->err = hp_profile_add_edge(r->profile, &edge)) == HP_OK) {
        get_id(r);
        edge->from = get_place(r);
        edge->to = get_place(r);
        edge->flow = (uint8_t)get_i64(r, 0, HP_FLOW_COUNT_ - 1);
        edge->taken = (uint8_t)get_i64(r, 0, 1);
    }
    end_query(r);
}

static void load_calls(struct reader *r)
{
    struct hp_pcall *call;
    begin_table(r, "call");
    while (next_row(r) && (r->err = hp_profile_add_call(r->profile, &call)) == HP_OK) {
        get_id(r);
        call->caller = get_index(r);
        call->callee = get_index(r);
    }
    end_query(r);
}

static void load_lines(struct reader *r)
{
    struct hp_pline *line;
    begin_table(r, "line");
    while (next_row(r) && (r->err = hp_profile_add_line(r->profile, &line)) == HP_OK) {
        line->block = get_u32(r);
        line->from = get_u32(r);
        line->to = get_u32(r);
        line->file = get_string(r);
        line->line = get_u32(r);
        line->inlined = get_string(r);
        line->inlined_at = get_string(r);
        line->insns = get_u32(r);
    }
    end_query(r);
}

static void load_counts(struct reader *r, const char *table,
                        enum hp_err (*add)(struct hp_profile *, struct hp_pcount **))
{
    struct hp_pcount *count;
    begin_table(r, table);
    while (next_row(r) && (r->err = add(r->profile, &count)) == HP_OK) {
        count->item = get_u32(r);
        count->thread = get_u32(r);
        count->count = get_u64(r);
    }
    end_query(r);
}

static void load_function_counts(struct reader *r)
{
    struct hp_pfunction_count *count;
    begin_table(r, "function_count");
    while (next_row(r) && (r->err = hp_profile_add_function_count(r->profile, &count)) == HP_OK) {
        count->item = get_u32(r);
        count->thread = get_u32(r);
        count->self = get_u64(r);
        count->inclusive = get_u64(r);
        count->calls = get_u64(r);
    }
    end_query(r);
}

static void load_call_counts(struct reader *r)
{
    struct hp_pcall_count *count;
    begin_table(r, "call_count");
    while (next_row(r) && (r->err = hp_profile_add_call_count(r->profile, &count)) == HP_OK) {
        count->item = get_u32(r);
        count->thread = get_u32(r);
        count->count = get_u64(r);
        count->inclusive = get_u64(r);
    }
    end_query(r);
}

static void load_notes(struct reader *r)
{
    struct hp_pnote *note;
    begin_table(r, "note");
    while (next_row(r) && (r->err = hp_profile_add_note(r->profile, &note)) == HP_OK) {
        get_id(r);
        note->kind = get_text(r);
        note->text = get_text(r);
        note->count = get_u64(r);
    }
    end_query(r);
}

/* --- The file ----------------------------------------------------------------------------------*/

/* What can be said about the file without SQLite. */
static enum hp_err examine(const char *path, uint64_t *size)
{
    static const char magic[16] = "SQLite format 3";
    char start[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat status;
    ssize_t length = -1;
    bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (regular)
        length = pread(fd, start, sizeof start, 0);
    int error = errno;
    close(fd);
    if (!regular)
        return hp_fail(HP_ERR_FORMAT, "%s is not a profile: not a regular file", path);
    if (length < 0)
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(error));
    if (length != (ssize_t)sizeof start || memcmp(start, magic, sizeof magic) != 0)
        return hp_fail(HP_ERR_FORMAT, "%s is not a profile: not an SQLite database", path);
    *size = (uint64_t)status.st_size;
    return HP_OK;
}

/* "file:" and the path, escaped. immutable: no lock, journal or shared memory is looked for. */
static char *make_uri(const char *path)
{
    char *uri = malloc(strlen(path) * 3 + 32);
    if (!uri)
        return NULL;
    char *end = stpcpy(uri, *path == '/' ? "file://" : "file:./");
    for (; *path; path++) {
        if (isalnum((unsigned char)*path) || strchr("/._-", *path))
            *end++ = *path;
        else
            end += sprintf(end, "%%%02X", (unsigned char)*path);
    }
    strcpy(end, "?immutable=1");
    return uri;
}

static void open_database(struct reader *r)
{
    char *uri = make_uri(r->path);
    if (!uri) {
        r->err = hp_fail_nomem();
        return;
    }
    int code = sqlite3_open_v2(uri, &r->db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (code != SQLITE_OK) {
        fail_sqlite(r);
        return;
    }
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, HP_SCHEMA_MAX_TEXT + 4096);
    if (sqlite3_exec(r->db,
                     "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = 2", 0,
                     0, 0) != SQLITE_OK)
        fail_sqlite(r);
}

static int64_t get_pragma(struct reader *r, const char *sql)
{
    int64_t value = 0;
    r->table = "header";
    begin_query(r, sql);
    if (next_row(r))
        value = get_i64(r, INT64_MIN, INT64_MAX);
    end_query(r);
    return value;
}

static void check_version(struct reader *r)
{
    int64_t id = get_pragma(r, "PRAGMA application_id");
    if (r->err == HP_OK && id != HP_SCHEMA_APPLICATION_ID)
        r->err =
            hp_fail(HP_ERR_FORMAT, "%s is not a profile: a database of another program", r->path);
    int64_t version = get_pragma(r, "PRAGMA user_version");
    if (r->err == HP_OK && (version < 1 || version > INT32_MAX))
        fail_format(r, "version %lld does not exist", (long long)version);
    if (r->err == HP_OK && version > HP_SCHEMA_VERSION)
        r->err = hp_fail(HP_ERR_VERSION, "%s was written by a later hotpath (format %lld, not %d)",
                         r->path, (long long)version, HP_SCHEMA_VERSION);
}

/* One table: there, as we would have made it, and its pages in order. */
static void check_table(struct reader *r, const struct hp_schema_table *table)
{
    char sql[96];
    r->table = "schema";
    begin_query(r, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?");
    if (r->err == HP_OK)
        sqlite3_bind_text(r->select, 1, table->name, -1, SQLITE_STATIC);
    if (!next_row(r))
        fail_format(r, "table %s is missing", table->name);
    else if (strcmp(get_raw_text(r), table->sql) != 0)
        fail_format(r, "table %s is not as it should be", table->name);
    end_query(r);

    r->table = table->name;
    snprintf(sql, sizeof sql, "PRAGMA quick_check('%s')", table->name);
    begin_query(r, sql);
    if (next_row(r)) {
        const char *verdict = get_raw_text(r);
        if (strcmp(verdict, "ok") != 0)
            fail_format(r, "table %s: %.150s", table->name, verdict);
    }
    end_query(r);
}

static void load_all(struct reader *r)
{
    open_database(r);
    check_version(r);
    for (const struct hp_schema_table *table = hp_schema_tables; table->name; table++)
        if (r->err == HP_OK)
            check_table(r, table);
    load_run(r);
    load_command(r);
    load_strings(r);
    load_modules(r);
    load_threads(r);
    load_functions(r);
    load_blocks(r);
    load_edges(r);
    load_calls(r);
    load_lines(r);
    load_counts(r, "block_count", hp_profile_add_block_count);
    load_counts(r, "edge_count", hp_profile_add_edge_count);
    load_function_counts(r);
    load_call_counts(r);
    load_notes(r);
}

/* Also checks what refers to what. */
static void normalize(struct reader *r)
{
    if (r->err != HP_OK)
        return;
    r->err = hp_profile_normalize(r->profile);
    if (r->err == HP_ERR_INVALID) {
        char text[256];
        snprintf(text, sizeof text, "%s", hp_error_text());
        r->err = HP_OK;
        fail_format(r, "%s", text);
    }
}

enum hp_err hp_profile_load(const char *path, struct hp_profile **profile)
{
    uint64_t size = 0;
    HP_TRY(examine(path, &size));
    struct reader r = {.path = path, .max_rows = size / 2 + 1};
    HP_TRY(hp_profile_new(&r.profile));
    load_all(&r);
    sqlite3_close(r.db);
    free(r.strings);
    normalize(&r);
    if (r.err != HP_OK) {
        hp_profile_free(r.profile);
        return r.err;
    }
    *profile = r.profile;
    return HP_OK;
}
