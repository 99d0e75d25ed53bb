// SPDX-License-Identifier: MIT
#include "profile/reader.h"

#include "base/grow.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_GAPS                                                                                   \
    65536 /* rows that are missing and are held a place for: small files must not ask for much */

void hp_reader_fail(struct hp_reader *r, const char *format, ...)
{
    if (r->err != HP_OK)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    r->err = hp_fail(HP_ERR_FORMAT, "%s is not a sound profile: %s", r->path, r->text);
}

static void fail_sqlite(struct hp_reader *r)
{
    if (r->err != HP_OK)
        return;
    int code = sqlite3_errcode(r->db), error = sqlite3_system_errno(r->db);
    if (code == SQLITE_NOMEM) /* a damaged file may ask for any amount */
        hp_reader_fail(r, "SQLite cannot have the memory that it asks for");
    else if (code == SQLITE_CANTOPEN || (code == SQLITE_IOERR && error))
        r->err = hp_fail(HP_ERR_IO, "cannot read %s: %s", r->path,
                         error ? strerror(error) : sqlite3_errmsg(r->db));
    else if (code == SQLITE_INTERRUPT)
        hp_reader_fail(r, "its pages refer to each other in circles");
    else
        hp_reader_fail(r, "%s", sqlite3_errmsg(r->db));
}

void hp_reader_fail_value(struct hp_reader *r)
{
    hp_reader_fail(r, "%s, row %llu, %s has a value that cannot be", r->name,
                   (unsigned long long)r->row, sqlite3_column_name(r->select, r->column));
}

/* --- Going on --------------------------------------------------------------------------------- */

/* Whether reading goes on in spite of the error, which is counted then. */
static bool overcome(struct hp_reader *r)
{
    if (!r->rescue || r->err != HP_ERR_FORMAT)
        return false;
    if (r->wrong++ == 0)
        snprintf(r->first, sizeof r->first, "%s", r->text);
    r->err = HP_OK;
    return true;
}

/* The row at hand cannot be used. */
static void overcome_row(struct hp_reader *r)
{
    if (!overcome(r) || r->row == 0)
        return;
    if (hp_grow(&r->bad, &r->cap_bad, r->n_bad + 1, sizeof *r->bad) != HP_OK)
        r->err = HP_ERR_NOMEM;
    else
        r->bad[r->n_bad++] = (struct hp_bad_row){r->table, r->row - 1};
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void begin_query(struct hp_reader *r, const char *sql)
{
    if (r->err == HP_OK && sqlite3_prepare_v2(r->db, sql, -1, &r->select, NULL) != SQLITE_OK)
        fail_sqlite(r);
    r->row = 0;
    r->sum = 0;
}

bool hp_reader_has(const struct hp_reader *r, size_t table)
{
    return !r->missing[table];
}

/* In the order of the key: SQLite may otherwise read an index that someone has added. */
void hp_reader_begin(struct hp_reader *r, size_t table)
{
    char key[HP_SCHEMA_SQL], sql[2 * HP_SCHEMA_SQL];
    r->table = table;
    r->name = hp_schema_name(table);
    r->absent = !hp_reader_has(r, table);
    r->waits = false;
    if (r->absent)
        return;
    hp_schema_key(table, key);
    snprintf(sql, sizeof sql, "SELECT * FROM main.%s ORDER BY %s", r->name, key);
    r->has_id = strcmp(key, "id") == 0;
    begin_query(r, sql);
}

static void end_query(struct hp_reader *r)
{
    sqlite3_finalize(r->select);
    r->select = NULL;
}

void hp_reader_end(struct hp_reader *r)
{
    size_t table = r->table;
    end_query(r);
    if (r->err == HP_OK && r->verify && !r->absent &&
        (r->row != r->stored[table].rows || r->sum != r->stored[table].sum))
        hp_reader_fail(r, "table %s is damaged, or was changed", r->name);
    overcome(r);
}

/* Whether a row is missing before the one at hand: then it is read in its place, has another id,
 * and is bad; and is read again. */
static bool is_gap(struct hp_reader *r)
{
    if (!r->rescue || !r->has_id || r->n_gaps >= MAX_GAPS ||
        sqlite3_column_type(r->select, 0) != SQLITE_INTEGER ||
        sqlite3_column_int64(r->select, 0) <= (int64_t)r->row - 1)
        return false;
    r->n_gaps++;
    return true;
}

/* The first row is number 1. */
bool hp_reader_next(struct hp_reader *r)
{
    overcome_row(r);
    if (r->err != HP_OK || r->absent)
        return false;
    int code = r->waits ? SQLITE_ROW : sqlite3_step(r->select);
    if (code == SQLITE_DONE)
        return false;
    if (code != SQLITE_ROW) {
        fail_sqlite(r);
        return false;
    }
    r->column = 0;
    if (++r->row > r->max_rows) {
        hp_reader_fail(r, "%s has more rows than there is room for", r->name);
        return false;
    }
    r->waits = is_gap(r);
    return true;
}

int64_t hp_reader_i64(struct hp_reader *r, int64_t min, int64_t max)
{
    if (r->err != HP_OK)
        return 0;
    int64_t value = sqlite3_column_int64(r->select, r->column);
    if (sqlite3_column_type(r->select, r->column) != SQLITE_INTEGER || value < min || value > max) {
        hp_reader_fail_value(r);
        return 0;
    }
    r->column++;
    r->sum = hp_schema_sum(r->sum, (uint64_t)value);
    return value;
}

uint64_t hp_reader_u64(struct hp_reader *r)
{
    return (uint64_t)hp_reader_i64(r, 0, INT64_MAX);
}

uint32_t hp_reader_u32(struct hp_reader *r)
{
    return (uint32_t)hp_reader_i64(r, 0, UINT32_MAX);
}

/* An index that may be missing. */
uint32_t hp_reader_index(struct hp_reader *r)
{
    if (r->err == HP_OK && sqlite3_column_type(r->select, r->column) == SQLITE_NULL) {
        r->column++;
        r->sum = hp_schema_sum(r->sum, HP_PROFILE_NONE);
        return HP_PROFILE_NONE;
    }
    return (uint32_t)hp_reader_i64(r, 0, UINT32_MAX - 1);
}

double hp_reader_seconds(struct hp_reader *r)
{
    if (r->err != HP_OK)
        return 0;
    double value = sqlite3_column_double(r->select, r->column);
    if (sqlite3_column_type(r->select, r->column) != SQLITE_FLOAT || !isfinite(value) ||
        value < 0) {
        hp_reader_fail_value(r);
        return 0;
    }
    r->column++;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    r->sum = hp_schema_sum(r->sum, bits);
    return value;
}

/* Rows are numbered from 0 without a gap: the id is the index. */
void hp_reader_id(struct hp_reader *r)
{
    if (hp_reader_i64(r, 0, INT64_MAX) != (int64_t)r->row - 1)
        hp_reader_fail(r, "%s, row %llu has another id than %llu", r->name,
                       (unsigned long long)r->row, (unsigned long long)r->row - 1);
}

/* Valid until the next row. */
const char *hp_reader_text(struct hp_reader *r)
{
    if (r->err != HP_OK)
        return "";
    if (sqlite3_column_type(r->select, r->column) != SQLITE_TEXT) {
        hp_reader_fail_value(r);
        return "";
    }
    const char *text = (const char *)sqlite3_column_text(r->select, r->column);
    if (!text) {
        fail_sqlite(r);
        return "";
    }
    size_t length = strlen(text);
    if (length != (size_t)sqlite3_column_bytes(r->select, r->column))
        hp_reader_fail_value(r);
    r->sum = hp_schema_sum_text(r->sum, text, length);
    r->column++;
    return text;
}

/* --- The file --------------------------------------------------------------------------------- */

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

/* Called by SQLite every thousand steps; other than 0 stops it. */
static int count_steps(void *context)
{
    struct hp_reader *r = context;
    if (r->steps_left == 0)
        return 1;
    r->steps_left--;
    return 0;
}

static void open_database(struct hp_reader *r)
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
    sqlite3_progress_handler(r->db, 1000, count_steps, r);
    sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, HP_SCHEMA_MAX_TEXT + 4096);
    if (sqlite3_exec(r->db,
                     "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = 2", 0,
                     0, 0) != SQLITE_OK)
        fail_sqlite(r);
}

static int64_t get_pragma(struct hp_reader *r, const char *sql)
{
    int64_t value = 0;
    r->name = "header";
    begin_query(r, sql);
    if (hp_reader_next(r))
        value = hp_reader_i64(r, INT64_MIN, INT64_MAX);
    end_query(r);
    return value;
}

static void check_version(struct hp_reader *r)
{
    int64_t id = get_pragma(r, "PRAGMA application_id");
    if (r->err == HP_OK && id != HP_SCHEMA_APPLICATION_ID)
        r->err =
            hp_fail(HP_ERR_FORMAT, "%s is not a profile: a database of another program", r->path);
    int64_t version = get_pragma(r, "PRAGMA user_version");
    if (r->err == HP_OK && (version < 1 || version > INT32_MAX))
        hp_reader_fail(r, "version %lld does not exist", (long long)version);
    if (r->err == HP_OK && version > HP_SCHEMA_VERSION)
        r->err = hp_fail(HP_ERR_VERSION, "%s was written by a later hotpath (format %lld, not %d)",
                         r->path, (long long)version, HP_SCHEMA_VERSION);
}

/* One table: there, and as we would have made it. */
static void check_table(struct hp_reader *r, size_t table)
{
    char sql[HP_SCHEMA_SQL];
    r->name = "schema";
    begin_query(r, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?");
    if (r->err == HP_OK)
        sqlite3_bind_text(r->select, 1, hp_schema_name(table), -1, SQLITE_STATIC);
    bool there = hp_reader_next(r);
    bool optional = !there && r->err == HP_OK && hp_schema_is_later(table);
    hp_schema_create(table, sql);
    if (!there && !optional)
        hp_reader_fail(r, "table %s is missing", hp_schema_name(table));
    else if (there && strcmp(hp_reader_text(r), sql) != 0)
        hp_reader_fail(r, "table %s is not as it should be", hp_schema_name(table));
    end_query(r);
    r->missing[table] = optional || overcome(r);
}

/* What the tables should contain. Someone who edits a profile by hand empties this table. */
static void read_contents(struct hp_reader *r)
{
    bool seen[HP_SCHEMA_TABLES] = {false};
    hp_reader_begin(r, HP_SCHEMA_CONTENTS);
    while (hp_reader_next(r)) {
        size_t table = hp_schema_find(hp_reader_text(r));
        uint64_t rows = hp_reader_u64(r), sum = (uint64_t)hp_reader_i64(r, INT64_MIN, INT64_MAX);
        if (r->err != HP_OK || table == HP_SCHEMA_TABLES)
            continue; /* a table of a later version */
        if (r->missing[table] && !r->wrong)
            hp_reader_fail(r, "table %s is missing", hp_schema_name(table));
        seen[table] = true;
        r->stored[table].rows = rows;
        r->stored[table].sum = sum;
    }
    bool any = r->row > 0, all = r->err == HP_OK && !r->wrong;
    end_query(r);
    overcome(r);
    for (size_t i = 0; any && all && i < HP_SCHEMA_TABLES; i++)
        if (!seen[i] && !r->missing[i] && i != HP_SCHEMA_CONTENTS)
            hp_reader_fail(r, "%s does not name table %s", hp_schema_name(HP_SCHEMA_CONTENTS),
                           hp_schema_name(i));
    overcome(r);
    r->verify = any && !r->wrong;
}

void hp_reader_open(struct hp_reader *r, const char *path, bool rescue)
{
    uint64_t size = 0;
    *r = (struct hp_reader){.path = path, .name = ""};
    r->err = examine(path, &size);
    if (r->err != HP_OK)
        return;
    /* A row takes at least the two bytes that point to it in a page. */
    r->max_rows = size / 2;
    /* Measured on sound files: about two steps a byte, and some thousands for the schema. */
    r->steps_left = (size * 16 + 10000000) / 1000;
    open_database(r);
    check_version(r);
    r->rescue = rescue;
    for (size_t table = 0; table < HP_SCHEMA_TABLES && r->err == HP_OK; table++)
        check_table(r, table);
    read_contents(r);
}

void hp_reader_close(struct hp_reader *r)
{
    sqlite3_close(r->db);
    r->db = NULL;
    free(r->bad);
    r->bad = NULL;
}
