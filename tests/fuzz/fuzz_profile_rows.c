// SPDX-License-Identifier: MIT
/*
 * Profiles that are sound databases with rows that make no sense. The input: what to do with it;
 * then changes: table, how, row, column, value.
 */
#include "base/cleanup.h"
#include "profile/schema.h"
#include "profile_use.h"
#include "support.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define CHANGES_MAX 12
#define COLUMNS_MAX 24

static struct {
    char names[COLUMNS_MAX][40];
    int n;
} columns[HP_SCHEMA_TABLES];

static void run(sqlite3 *db, const char *sql)
{
    sqlite3_exec(db, sql, NULL, NULL, NULL); /* the schema may not allow it */
}

static void know_columns(sqlite3 *db)
{
    for (size_t i = 0; i < HP_SCHEMA_TABLES; i++) {
        char sql[100];
        sqlite3_stmt *select;
        snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s')",
                 hp_schema_table(i)->table);
        FUZZ_ASSERT(sqlite3_prepare_v2(db, sql, -1, &select, NULL) == SQLITE_OK);
        while (sqlite3_step(select) == SQLITE_ROW && columns[i].n < COLUMNS_MAX)
            snprintf(columns[i].names[columns[i].n++], sizeof columns->names[0], "%s",
                     (const char *)sqlite3_column_text(select, 0));
        sqlite3_finalize(select);
        FUZZ_ASSERT(columns[i].n > 0);
    }
}

/* A value, as SQL has it. */
static void write_value(struct fuzz_in *in, char *sql, size_t size)
{
    uint8_t kind = (uint8_t)fuzz_uint(in, 1);
    if (kind < 0xc0) {
        snprintf(sql, size, "%lld", (long long)fuzz_odd(in));
    } else if (kind < 0xd0) {
        char text[60], *end = sql;
        fuzz_text(in, text, sizeof text);
        end += snprintf(end, size, "CAST(x'");
        for (const char *c = text; *c; c++)
            end += snprintf(end, size - (size_t)(end - sql), "%02x", (unsigned char)*c);
        snprintf(end, size - (size_t)(end - sql), "' AS TEXT)");
    } else if (kind < 0xe0) {
        snprintf(sql, size, "NULL");
    } else if (kind < 0xf0) {
        double value;
        uint64_t bits = fuzz_uint(in, 8);
        memcpy(&value, &bits, sizeof value);
        snprintf(sql, size, "%.17g", value == value && value - value == 0 ? value : 1e308);
    } else {
        snprintf(sql, size, "replace(hex(zeroblob(%u)), '0', 'n%%')",
                 (unsigned)fuzz_uint(in, 1) * 16);
    }
}

static void change(sqlite3 *db, struct fuzz_in *in)
{
    size_t table = (size_t)fuzz_uint(in, 1) % HP_SCHEMA_TABLES;
    uint8_t how = (uint8_t)fuzz_uint(in, 1), row = (uint8_t)fuzz_uint(in, 1);
    const char *name = hp_schema_table(table)->table;
    char *key HP_CLEANUP(hp_schema_free) = hp_schema_key(hp_schema_table(table));
    const char *column = columns[table].names[(size_t)fuzz_uint(in, 1) % (size_t)columns[table].n];
    char value[400], sql[16384];
    write_value(in, value, sizeof value);
    if (how < 0xc0)
        snprintf(sql, sizeof sql,
                 "UPDATE %s SET %s = %s WHERE (%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT %d "
                 "OFFSET %d)",
                 name, column, value, key, key, name, key, how < 0x90 ? 1 : how - 0x8f, row % 16);
    else if (how < 0xd0)
        snprintf(sql, sizeof sql,
                 "DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT %d OFFSET %d)",
                 name, key, key, name, key, how - 0xbf, row % 16);
    else if (how < 0xe0)
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s * 3 + %d", name, column, column, row);
    else if (how < 0xf0)
        snprintf(sql, sizeof sql, "DELETE FROM %s", name);
    else if (how < 0xfc)
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s", name, column, value);
    else if (how == 0xfc)
        snprintf(sql, sizeof sql, "DROP TABLE %s", name);
    else
        snprintf(sql, sizeof sql, "PRAGMA %s = %d", how & 1 ? "user_version" : "application_id",
                 row);
    run(db, sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sqlite3 *db;
    struct fuzz_in in = {data, data + size};
    unsigned what = (unsigned)fuzz_uint(&in, 2);
    size_t length;
    const uint8_t *base = profile_base(&length);
    bool first = !db;
    if (first)
        FUZZ_ASSERT(sqlite3_open(":memory:", &db) == SQLITE_OK);
    unsigned char *file = sqlite3_malloc64(length);
    FUZZ_ASSERT(file);
    memcpy(file, base, length);
    FUZZ_ASSERT(sqlite3_deserialize(db, "main", file, (sqlite3_int64)length, (sqlite3_int64)length,
                                    SQLITE_DESERIALIZE_FREEONCLOSE |
                                        SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
    if (first) {
        know_columns(db);
        run(db, "PRAGMA journal_mode = OFF");
    }
    run(db, "BEGIN");
    for (int i = 0; i < CHANGES_MAX && fuzz_more(&in); i++)
        change(db, &in);
    run(db, "COMMIT");
    sqlite3_int64 n = 0;
    unsigned char *image = sqlite3_serialize(db, "main", &n, SQLITE_SERIALIZE_NOCOPY);
    FUZZ_ASSERT(image && n > 0);
    profile_use(fuzz_file("profile", image, (size_t)n), what);
    return 0;
}
