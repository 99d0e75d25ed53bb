// SPDX-License-Identifier: MIT
#include "profile_use.h"

#include "../unit/fixtures/profile_random.h"
#include "diff/diff.h"
#include "export/export.h"
#include "page/page.h"
#include "report/annotate/annotate.h"
#include "report/report.h"
#include "support.h"

#include <sqlite3.h>

#define SEED  7
#define ITEMS 10

/* --- Memory for SQLite ------------------------------------------------------------------------ */

/* Sanitizers' is slow, and SQLite itself is not checked with them anyway. */

#define KINDS 28 /* sizes are powers of two; the first 8 bytes of a piece say which */

static void *pieces[KINDS];

static void *take(int size)
{
    static char *slab;
    static size_t left;
    unsigned kind = 4;
    while ((size_t)1 << kind < (size_t)size + 8)
        kind++;
    FUZZ_ASSERT(kind < KINDS);
    char *piece = pieces[kind];
    if (piece) {
        memcpy(&pieces[kind], piece + 8, sizeof pieces[kind]);
    } else {
        size_t need = (size_t)1 << kind;
        if (left < need) {
            left = need > 1 << 20 ? need : 1 << 20;
            slab = malloc(left);
            FUZZ_ASSERT(slab);
        }
        piece = slab;
        slab += need;
        left -= need;
    }
    uint64_t number = kind;
    memcpy(piece, &number, sizeof number);
    return piece + 8;
}

static int size_of(void *memory)
{
    uint64_t kind;
    memcpy(&kind, (char *)memory - 8, sizeof kind);
    return (int)(((size_t)1 << kind) - 8);
}

static void give(void *memory)
{
    char *piece = (char *)memory - 8;
    uint64_t kind;
    memcpy(&kind, piece, sizeof kind);
    memcpy(piece + 8, &pieces[kind], sizeof pieces[kind]);
    pieces[kind] = piece;
}

static void *resize(void *memory, int size)
{
    if (size <= size_of(memory))
        return memory;
    void *other = take(size);
    memcpy(other, memory, (size_t)size_of(memory));
    give(memory);
    return other;
}

static int round_up(int size)
{
    return size;
}

static int start_memory(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void stop_memory(void *context)
{
    (void)context;
}

static void prepare_sqlite(void)
{
    static sqlite3_mem_methods methods = {take,     give,         resize,      size_of,
                                          round_up, start_memory, stop_memory, NULL};
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

/* --- Profiles --------------------------------------------------------------------------------- */

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fuzz_wrong("%s: %s", sql, sqlite3_errmsg(db));
}

const uint8_t *profile_base(size_t *size)
{
    static uint8_t *bytes;
    static size_t n;
    if (!bytes) {
        struct hp_profile *profile = random_profile(SEED, ITEMS);
        const char *path = fuzz_path("base");
        prepare_sqlite();
        FUZZ_ASSERT(hp_profile_normalize(profile) == HP_OK);
        FUZZ_ASSERT(hp_profile_save(profile, path) == HP_OK);
        hp_profile_free(profile);
        sqlite3 *db;
        FUZZ_ASSERT(sqlite3_open(path, &db) == SQLITE_OK);
        run_sql(db,
                "PRAGMA journal_mode = OFF; DELETE FROM contents; PRAGMA page_size = 1024; VACUUM");
        sqlite3_close(db);
        FILE *file = fopen(path, "rb");
        FUZZ_ASSERT(file && (bytes = malloc(1 << 20)));
        n = fread(bytes, 1, 1 << 20, file);
        fclose(file);
        FUZZ_ASSERT(n > 0 && n < 1 << 20);
        FUZZ_ASSERT(hp_profile_load(path, &profile) == HP_OK);
        hp_profile_free(profile);
    }
    *size = n;
    return bytes;
}

static void report(const struct hp_profile *profile, unsigned what)
{
    size_t n = 0;
    while (hp_views[n])
        n++;
    struct hp_report_options options = {.view = hp_views[what % (n + 1)], /* NULL: the default */
                                        .format = (enum hp_report_format)(what / 32 % 3),
                                        .by = (enum hp_report_by)(what / 3 % HP_REPORT_BY_COUNT_),
                                        .top = what & 1 ? 3 : 0,
                                        .per_thread = what & 2,
                                        .color = what & 4,
                                        .width = what & 8 ? 60 : 0};
    enum hp_err err = hp_report(profile, &options, fuzz_nowhere());
    FUZZ_ASSERT(err == HP_OK || (err == HP_ERR_INVALID && options.format == HP_REPORT_CSV));
}

static void export(const struct hp_profile *profile, unsigned what)
{
    size_t n = 0;
    while (hp_export_formats[n])
        n++;
    const struct hp_export_format *format = hp_export_formats[what % n];
    if (format->write)
        format->write(&(struct hp_export_request){.profile = profile, .out = fuzz_nowhere()});
}

static void compare(const struct hp_profile *profile)
{
    struct hp_profile *other = random_profile(SEED + 1, ITEMS);
    struct hp_comparison *comparison;
    struct hp_digest *a, *b;
    struct hp_diff *diff;
    FUZZ_ASSERT(hp_profile_normalize(other) == HP_OK);
    if (hp_profile_compare(profile, other, &comparison) == HP_OK) {
        FUZZ_ASSERT(hp_report_comparison(comparison, "a", "b", &(struct hp_report_options){0},
                                         fuzz_nowhere()) == HP_OK);
        hp_comparison_free(comparison);
    }
    FUZZ_ASSERT(hp_digest_make(profile, &(struct hp_digest_options){0}, &a) == HP_OK);
    FUZZ_ASSERT(hp_digest_make(other, &(struct hp_digest_options){0}, &b) == HP_OK);
    FUZZ_ASSERT(hp_diff_make(a, b, &(struct hp_diff_options){0}, &diff) == HP_OK);
    hp_diff_print(diff, &(struct hp_diff_print){.old_name = "old", .new_name = "new"},
                  fuzz_nowhere());
    hp_diff_free(diff);
    hp_digest_free(a);
    hp_digest_free(b);
    hp_profile_free(other);
}

/* What is loaded can be saved; merged with itself and saved, unless the sums are too large. */
static void store(struct hp_profile *profile)
{
    struct hp_profile *again;
    FUZZ_ASSERT(hp_profile_save(profile, fuzz_path("saved")) == HP_OK);
    FUZZ_ASSERT(hp_profile_load(fuzz_path("saved"), &again) == HP_OK);
    if (hp_profile_merge(profile, again) == HP_OK) {
        enum hp_err err = hp_profile_save(profile, fuzz_path("saved"));
        FUZZ_ASSERT(err == HP_OK || err == HP_ERR_INVALID);
    }
    hp_profile_free(again);
}

void profile_use(const char *path, unsigned what)
{
    struct hp_profile *profile;
    enum hp_err err = hp_profile_load(path, &profile);
    FUZZ_ASSERT(err == HP_OK || err == HP_ERR_FORMAT || err == HP_ERR_VERSION || err == HP_ERR_IO);
    if (err != HP_OK)
        return;
    switch (what % 8) {
    case 0: export(profile, what / 8); break;
    case 1: hp_page_data(profile, &(struct hp_page_options){0}, fuzz_nowhere()); break;
    case 2:
        hp_annotate(profile, &(struct hp_annotate_options){.all = true, .json = what & 8},
                    fuzz_nowhere());
        break;
    case 3: compare(profile); break;
    case 4: store(profile); break;
    default: report(profile, what / 8); break;
    }
    hp_profile_free(profile);
}
