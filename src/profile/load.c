// SPDX-License-Identifier: MIT
/*
 * Loading, from a file that may have been made or changed by anyone. What refers to what is checked
 * by normalising, which also restores the order in a file edited by hand.
 *
 * Nothing of the file is executed: the tables read must be those of the schema to the letter (so no
 * view, virtual table or generated column stands in for one), and views and triggers are switched
 * off. Every value is checked for type and range, and the values of a table against the number of
 * rows and the checksum that were stored with it: damage is found, not loaded. Pages that refer to
 * each other in circles could give endless rows; the rows and the steps of SQLite are limited by
 * what a file of that size can need. (SQLite's own quick_check is not used: on a file made for it
 * its recursion overflows the stack.)
 *
 * The first error stays in `err`; everything after it does nothing and gives zeroes and "".
 *
 * With `rescue` that is so only to the end of the row, or of the table: what is wrong is
 * remembered, and reading goes on. A table that is not there, or not as it should be, has no rows.
 * Rows that are missing in between are there, and bad.
 */
#include "base/base.h"
#include "base/debug.h"
#include "base/infile.h"
#include "profile/profile_impl.h"
#include "profile/schema.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows that are missing and are held a place for: small files must not ask for much. */
#define MAX_GAPS 65536

struct reader {
    sqlite3 *db;
    char *content; /* of the file */
    const char *path;
    struct hp_profile *profile; /* which its texts belong to */
    const char **strings;       /* the string table, as far as it was read */
    size_t n_strings;
    enum hp_err err;
    char text[256]; /* of HP_ERR_FORMAT */

    /* The table at hand. */
    sqlite3_stmt *select;
    size_t table;
    const struct hp_row_format *format;
    int column;   /* the next one to read */
    uint64_t row; /* the first is 1 */
    uint64_t sum; /* checksum of the values read */
    bool waits;   /* a row of SQLite's, behind rows that are missing */

    uint64_t max_rows;
    uint64_t steps_left;                                /* of SQLite, in thousands */
    struct hp_schema_contents stored[HP_SCHEMA_TABLES]; /* what they should be */
    bool missing[HP_SCHEMA_TABLES];                     /* tables that are not there */
    bool verify;

    bool rescue;
    size_t n_gaps;
    struct hp_mending mending; /* what was wrong; rows that could not be read are left out */
};

/* Records HP_ERR_FORMAT with the path and the text, unless there was an error before. */
__attribute__((format(printf, 2, 3), cold)) static void fail(struct reader *r, const char *format,
                                                             ...)
{
    if (r->err != HP_OK)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    r->err = hp_fail(HP_ERR_FORMAT, "%s is not a sound profile: %s", r->path, r->text);
}

static void fail_sqlite(struct reader *r)
{
    if (r->err != HP_OK)
        return;
    int code = sqlite3_errcode(r->db), error = sqlite3_system_errno(r->db);
    if (code == SQLITE_NOMEM) /* a damaged file may ask for any amount */
        fail(r, "SQLite cannot have the memory that it asks for");
    else if (code == SQLITE_CANTOPEN || (code == SQLITE_IOERR && error))
        r->err = hp_fail(HP_ERR_IO, "cannot read %s: %s", r->path,
                         error ? strerror(error) : sqlite3_errmsg(r->db));
    else if (code == SQLITE_INTERRUPT)
        fail(r, "its pages refer to each other in circles");
    else
        fail(r, "%s", sqlite3_errmsg(r->db));
}

/* The value of the current column cannot be. */
__attribute__((cold)) static void fail_value(struct reader *r)
{
    fail(r, "%s, row %llu, %s has a value that cannot be", r->format->table,
         (unsigned long long)r->row, sqlite3_column_name(r->select, r->column));
}

/* --- Going on --------------------------------------------------------------------------------- */

/* Whether reading goes on in spite of the error, which is counted then. */
static bool overcome(struct reader *r)
{
    if (!r->rescue || r->err != HP_ERR_FORMAT)
        return false;
    if (r->mending.wrong++ == 0)
        snprintf(r->mending.first, sizeof r->mending.first, "%s", r->text);
    r->err = HP_OK;
    return true;
}

/* The row at hand cannot be used. */
static void overcome_row(struct reader *r)
{
    if (overcome(r) && r->row > 0 && r->table >= HP_SCHEMA_ROWS)
        r->err = hp_mending_leave_out(&r->mending, (enum hp_row_kind)(r->table - HP_SCHEMA_ROWS),
                                      r->row - 1);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static void begin_query(struct reader *r, const char *sql)
{
    if (r->err == HP_OK && !sql)
        r->err = hp_fail_nomem();
    if (r->err == HP_OK && sqlite3_prepare_v2(r->db, sql, -1, &r->select, NULL) != SQLITE_OK)
        fail_sqlite(r);
    r->row = 0;
    r->sum = 0;
}

static void end_query(struct reader *r)
{
    sqlite3_finalize(r->select);
    r->select = NULL;
}

/* In the order of the key: SQLite may otherwise read an index that someone has added. */
static void begin_table(struct reader *r, size_t table)
{
    r->table = table;
    r->format = hp_schema_table(table);
    r->waits = false;
    if (r->missing[table])
        return;
    char *key HP_CLEANUP(hp_schema_free) = hp_schema_key(r->format);
    char *sql HP_CLEANUP(hp_schema_free) =
        sqlite3_mprintf("SELECT * FROM main.%s ORDER BY %s", r->format->table, key);
    begin_query(r, sql);
}

static void end_table(struct reader *r)
{
    const struct hp_schema_contents *stored = &r->stored[r->table];
    end_query(r);
    if (r->err == HP_OK && r->verify && !r->missing[r->table] &&
        (r->row != stored->rows || r->sum != stored->checksum))
        fail(r, "table %s is damaged, or was changed", r->format->table);
    overcome(r);
}

/* Whether a row is missing before the one at hand: then it is read in its place, has another id,
 * and is bad; and is read again. */
static bool is_gap(struct reader *r)
{
    if (!r->rescue || !r->format->has_id || r->n_gaps >= MAX_GAPS ||
        sqlite3_column_type(r->select, 0) != SQLITE_INTEGER ||
        sqlite3_column_int64(r->select, 0) <= (int64_t)r->row - 1)
        return false;
    r->n_gaps++;
    return true;
}

static bool step(struct reader *r)
{
    int code = r->waits ? SQLITE_ROW : sqlite3_step(r->select);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        fail_sqlite(r);
    r->column = 0;
    return code == SQLITE_ROW;
}

/* The first row is number 1. */
static bool next_row(struct reader *r)
{
    overcome_row(r);
    if (r->err != HP_OK || r->missing[r->table] || !step(r))
        return false;
    if (++r->row > r->max_rows) {
        fail(r, "%s has more rows than there is room for", r->format->table);
        return false;
    }
    r->waits = is_gap(r);
    return true;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* Valid until the next row. */
static const char *read_text(struct reader *r)
{
    if (sqlite3_column_type(r->select, r->column) != SQLITE_TEXT) {
        fail_value(r);
        return "";
    }
    const char *text = (const char *)sqlite3_column_text(r->select, r->column);
    if (!text) {
        fail_sqlite(r);
        return "";
    }
    size_t length = strlen(text);
    if (length != (size_t)sqlite3_column_bytes(r->select, r->column))
        fail_value(r);
    r->sum = hp_schema_sum_text(r->sum, text, length);
    return text;
}

static bool is_in_range(const struct reader *r, const struct hp_row_field *field, int64_t value)
{
    switch (field->type) {
    case HP_ROW_U8: return value >= 0 && value <= field->max;
    case HP_ROW_U32:
    case HP_ROW_INDEX: return value >= 0 && value <= UINT32_MAX;
    case HP_ROW_LINK: return value >= 0 && value < HP_PROFILE_NONE;
    case HP_ROW_I32: return value >= INT32_MIN && value <= INT32_MAX;
    case HP_ROW_U64: return value >= 0;
    case HP_ROW_STRING: return value >= 0 && (uint64_t)value < r->n_strings;
    default: return true;
    }
}

/* A number, as it is in memory; of a string its number. */
static uint64_t read_number(struct reader *r, const struct hp_row_field *field)
{
    /* Cheaper than to ask for the column twice; the connection is of one thread. */
    sqlite3_value *stored = sqlite3_column_value(r->select, r->column);
    int type = sqlite3_value_type(stored);
    uint64_t value = (uint64_t)sqlite3_value_int64(stored);
    bool sound = type == SQLITE_INTEGER && is_in_range(r, field, (int64_t)value);
    if (field->type == HP_ROW_LINK && type == SQLITE_NULL) {
        sound = true;
        value = HP_PROFILE_NONE;
    } else if (field->type == HP_ROW_REAL) {
        double real = sqlite3_value_double(stored);
        sound = type == SQLITE_FLOAT && isfinite(real) && real >= 0;
        memcpy(&value, &real, sizeof value);
    }
    if (!sound) {
        fail_value(r);
        return 0;
    }
    r->sum = hp_schema_sum(r->sum, value);
    return value;
}

static void read_field(struct reader *r, const struct hp_row_field *field, void *row)
{
    if (field->type == HP_ROW_TEXT) {
        const char *text = hp_profile_string(r->profile, read_text(r));
        if (!text && r->err == HP_OK)
            r->err = HP_ERR_NOMEM;
        hp_row_set_text(field, row, text);
        return;
    }
    uint64_t value = read_number(r, field);
    if (field->type != HP_ROW_STRING)
        hp_row_set_number(field, row, value);
    else if (r->err == HP_OK)
        hp_row_set_text(field, row, r->strings[value]);
}

/* Rows are numbered from 0 without a gap: the id is the index. */
static void read_id(struct reader *r)
{
    static const struct hp_row_field id = {.type = HP_ROW_U64};
    if (read_number(r, &id) != r->row - 1)
        fail(r, "%s, row %llu has another id than %llu", r->format->table,
             (unsigned long long)r->row, (unsigned long long)r->row - 1);
    r->column++;
}

static void read_row(struct reader *r, void *row)
{
    if (r->format->has_id)
        read_id(r);
    for (size_t i = 0; i < r->format->n_fields && r->err == HP_OK; i++, r->column++)
        read_field(r, &r->format->fields[i], row);
}

/* --- The file --------------------------------------------------------------------------------- */

/* What can be said about the file without SQLite. */
static enum hp_err examine(const char *path, int fd, uint64_t *size)
{
    static const char magic[16] = "SQLite format 3";
    struct {
        char magic[60];
        uint32_t version, vacuum, id; /* big-endian */
        char rest[28];
    } header;
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return hp_fail(HP_ERR_FORMAT, "%s is not a profile: not a regular file", path);
    ssize_t length = pread(fd, &header, sizeof header, 0);
    if (length < 0)
        return hp_fail(HP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    if (length != (ssize_t)sizeof header || memcmp(header.magic, magic, sizeof magic) != 0)
        return hp_fail(HP_ERR_FORMAT, "%s is not a profile: not an SQLite database", path);
    if (be32toh(header.id) != HP_SCHEMA_APPLICATION_ID)
        return hp_fail(HP_ERR_FORMAT, "%s is not a profile: a database of another program", path);
    int version = (int)be32toh(header.version);
    if (version < 1)
        return hp_fail(HP_ERR_FORMAT, "%s is not a sound profile: version %d does not exist", path,
                       version);
    if (version > HP_SCHEMA_VERSION)
        return hp_fail(HP_ERR_VERSION, "%s was written by a later hotpath (format %d, not %d)",
                       path, version, HP_SCHEMA_VERSION);
    *size = (uint64_t)status.st_size;
    return HP_OK;
}

/* Called by SQLite every thousand steps; other than 0 stops it. */
static int count_steps(void *context)
{
    struct reader *r = context;
    if (r->steps_left == 0)
        return 1;
    r->steps_left--;
    return 0;
}

static void open_database(struct reader *r, int fd)
{
    uint64_t size = 0;
    r->err = examine(r->path, fd, &size);
    if (r->err == HP_OK)
        r->err = hp_infile_read(fd, r->path, size, &r->content);
    if (r->err != HP_OK)
        return;
    if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
        sqlite3_deserialize(r->db, "main", (unsigned char *)r->content, (sqlite3_int64)size,
                            (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY)) {
        fail_sqlite(r);
        return;
    }
    /* A row takes at least the two bytes that point to it in a page. */
    r->max_rows = size / 2;
    /* Measured on sound files: about two steps a byte, and some thousands for the schema. */
    r->steps_left = (size * 16 + 10000000) / 1000;
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

/* One table: there, and as we would have made it. */
static void check_table(struct reader *r, size_t table)
{
    const struct hp_row_format *format = hp_schema_table(table);
    char *sql HP_CLEANUP(hp_schema_free) = hp_schema_create(format);
    begin_query(r, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?");
    if (r->err == HP_OK)
        sqlite3_bind_text(r->select, 1, format->table, -1, SQLITE_STATIC);
    bool there = r->err == HP_OK && step(r);
    bool optional = !there && r->err == HP_OK && format->later;
    if (!there && !optional)
        fail(r, "table %s is missing", format->table);
    else if (there && (!sql || strcmp(read_text(r), sql) != 0))
        fail(r, "table %s is not as it should be", format->table);
    end_query(r);
    r->missing[table] = optional || overcome(r);
}

/* What the tables should contain. Someone who edits a profile by hand empties this table. */
static void read_contents(struct reader *r)
{
    begin_table(r, HP_SCHEMA_CONTENTS);
    while (next_row(r)) {
        struct hp_schema_contents contents = {.name = ""};
        read_row(r, &contents);
        size_t table = hp_schema_find(contents.name);
        if (r->err != HP_OK || table == HP_SCHEMA_TABLES)
            continue; /* a table of a later version */
        if (r->missing[table] && !r->mending.wrong)
            fail(r, "table %s is missing", contents.name);
        r->stored[table] = contents;
    }
    bool any = r->row > 0, all = r->err == HP_OK && !r->mending.wrong;
    end_query(r);
    overcome(r);
    for (size_t i = 0; any && all && i < HP_SCHEMA_TABLES; i++)
        if (!r->stored[i].name && !r->missing[i] && i != HP_SCHEMA_CONTENTS)
            fail(r, "%s does not name table %s", r->format->table, hp_schema_table(i)->table);
    overcome(r);
    r->verify = any && !r->mending.wrong;
}

static void open_file(struct reader *r, const char *path, struct hp_profile *profile, bool rescue)
{
    *r = (struct reader){.path = path, .profile = profile, .mending = {.profile = profile}};
    r->format = hp_schema_table(HP_SCHEMA_CONTENTS);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        r->err = hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(errno));
        return;
    }
    open_database(r, fd);
    close(fd);
    r->rescue = rescue && r->err == HP_OK; /* what is no profile cannot be rescued */
    for (size_t table = 0; table < HP_SCHEMA_TABLES && r->err == HP_OK; table++)
        check_table(r, table);
    read_contents(r);
}

static void reader_fini(struct reader *r)
{
    sqlite3_close(r->db);
    free(r->content);
    free(r->strings);
    hp_mending_fini(&r->mending);
}

/* --- Loading ---------------------------------------------------------------------------------- */

static void load_run(struct reader *r)
{
    struct hp_run *run = &r->profile->run;
    struct hp_schema_run row = {*run, ""};
    begin_table(r, HP_SCHEMA_RUN);
    while (next_row(r))
        read_row(r, &row);
    if (r->row != 1)
        fail(r, "run has %llu rows, not one", (unsigned long long)r->row);
    *run = row.run;
    while (run->arch < HP_ARCH_COUNT_ && strcmp(hp_arch_name(run->arch), row.arch) != 0)
        run->arch++;
    if (run->arch == HP_ARCH_COUNT_)
        fail(r, "architecture \"%.40s\" does not exist", row.arch);
    end_table(r);
}

/* Texts that are a table of their own (malloc'd), with a NULL behind them. */
static void load_texts(struct reader *r, size_t table, const char ***texts, size_t *n)
{
    size_t capacity = 0;
    *n = 0;
    begin_table(r, table);
    while (next_row(r) && (r->err = hp_grow(texts, &capacity, *n + 2, sizeof **texts)) == HP_OK) {
        (*texts)[*n] = "";
        read_row(r, &(*texts)[(*n)++]);
    }
    end_table(r);
}

static void load_command(struct reader *r)
{
    const char **command HP_CLEANUP(hp_free) = NULL;
    size_t n;
    load_texts(r, HP_SCHEMA_ARGUMENT, &command, &n);
    if (r->err == HP_OK)
        r->err = hp_profile_set_command(r->profile, (char *const *)command);
}

static void load_rows(struct reader *r, enum hp_row_kind kind)
{
    void *row;
    begin_table(r, HP_SCHEMA_ROWS + kind);
    while (next_row(r) && (r->err = hp_profile_add_row(r->profile, kind, &row)) == HP_OK)
        read_row(r, row);
    end_table(r);
}

/* Names of a later version are passed over. */
static void load_engine_work(struct reader *r)
{
    begin_table(r, HP_SCHEMA_ENGINE);
    while (next_row(r)) {
        struct hp_schema_engine row = {.name = ""};
        const struct hp_engine_work_field *field = hp_engine_work_fields;
        read_row(r, &row);
        while (field->name && strcmp(field->name, row.name) != 0)
            field++;
        if (field->name)
            *hp_engine_work_value(&r->profile->run.work, field) = row.value;
    }
    end_table(r);
}

/* Whether there is anything to look at. */
static bool is_worthwhile(const struct hp_profile *p)
{
    return p->n_threads && (p->n_functions || p->n_blocks || p->n_paths || p->n_insns);
}

static void rescue(struct reader *r, const char **what)
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
        fail(r, "%s", r->mending.first);
}

/* Also checks what refers to what. */
static void normalize(struct reader *r)
{
    if (r->err != HP_OK || (r->err = hp_profile_normalize(r->profile)) != HP_ERR_INVALID)
        return;
    char text[256];
    snprintf(text, sizeof text, "%s", hp_error_text());
    r->err = HP_OK;
    fail(r, "%s", text);
}

static enum hp_err load(const char *path, struct hp_profile **profile, const char **what)
{
    struct hp_profile *p;
    struct reader r HP_CLEANUP(reader_fini) = {0};
    HP_TRY(hp_profile_new(&p));
    open_file(&r, path, p, what != NULL);
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
