// SPDX-License-Identifier: MIT
/*
 * Saving: the file is made aside in one transaction, without journal and without syncing, as
 * nobody can see it until it is complete and renamed.
 */
#include "base/outfile.h"
#include "profile/profile_file.h"
#include "profile/profile_memory.h"
#include "profile/profile_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- Tables ----------------------------------------------------------------------------------- */

static void put_run(struct hp_store *w, const struct hp_run *run)
{
    hp_store_begin(w, "run", 11, 1);
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
    hp_store_begin(w, "run_argument", 2, n);
    for (size_t i = 0; i < n; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, run->command[i]);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_strings(struct hp_store *w)
{
    hp_store_begin(w, "string", 2, w->n_strings);
    for (size_t i = 0; i < w->n_strings; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, w->strings[i]);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_modules_and_threads(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "module", 3, p->n_modules);
    for (size_t i = 0; i < p->n_modules; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, p->modules[i].path);
        hp_store_text(w, p->modules[i].build_id);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "thread", 6, p->n_threads);
    for (size_t i = 0; i < p->n_threads; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_i64(w, p->threads[i].pid);
        hp_store_i64(w, p->threads[i].tid);
        hp_store_u64(w, p->threads[i].instructions);
        hp_store_u64(w, p->threads[i].blocks);
        hp_store_u64(w, p->threads[i].branches);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_functions(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "function", 8, p->n_functions);
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct hp_pfunction *function = &p->functions[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_place(w, function->place);
        hp_store_u64(w, function->size);
        hp_store_text(w, function->name);
        hp_store_text(w, function->linkage);
        hp_store_string(w, function->file);
        hp_store_i64(w, function->line);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_blocks(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "block", 9, p->n_blocks);
    for (size_t i = 0; i < p->n_blocks && w->err == HP_OK; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        hp_store_i64(w, (int64_t)i);
        hp_store_place(w, block->place);
        hp_store_i64(w, block->size);
        hp_store_i64(w, block->insns);
        hp_store_index(w, block->function);
        hp_store_i64(w, block->flow);
        hp_store_i64(w, block->branch);
        hp_store_i64(w, block->version);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_edges(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "edge", 7, p->n_edges);
    for (size_t i = 0; i < p->n_edges && w->err == HP_OK; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_place(w, p->edges[i].from);
        hp_store_place(w, p->edges[i].to);
        hp_store_i64(w, p->edges[i].flow);
        hp_store_i64(w, p->edges[i].taken);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_calls(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "call", 3, p->n_calls);
    for (size_t i = 0; i < p->n_calls && w->err == HP_OK; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_index(w, p->calls[i].caller);
        hp_store_index(w, p->calls[i].callee);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_lines(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "line", 8, p->n_lines);
    for (size_t i = 0; i < p->n_lines && w->err == HP_OK; i++) {
        const struct hp_pline *line = &p->lines[i];
        hp_store_i64(w, line->block);
        hp_store_i64(w, line->from);
        hp_store_i64(w, line->to);
        hp_store_string(w, line->file);
        hp_store_i64(w, line->line);
        hp_store_string(w, line->inlined);
        hp_store_string(w, line->inlined_at);
        hp_store_i64(w, line->insns);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_counts(struct hp_store *w, const char *table, const struct hp_pcount *counts,
                       size_t n)
{
    hp_store_begin(w, table, 3, n);
    for (size_t i = 0; i < n && w->err == HP_OK; i++) {
        hp_store_i64(w, counts[i].item);
        hp_store_i64(w, counts[i].thread);
        hp_store_u64(w, counts[i].count);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_function_and_call_counts(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "function_count", 5, p->n_function_counts);
    for (size_t i = 0; i < p->n_function_counts && w->err == HP_OK; i++) {
        hp_store_i64(w, p->function_counts[i].item);
        hp_store_i64(w, p->function_counts[i].thread);
        hp_store_u64(w, p->function_counts[i].self);
        hp_store_u64(w, p->function_counts[i].inclusive);
        hp_store_u64(w, p->function_counts[i].calls);
        hp_store_next(w);
    }
    hp_store_end(w);

    hp_store_begin(w, "call_count", 4, p->n_call_counts);
    for (size_t i = 0; i < p->n_call_counts && w->err == HP_OK; i++) {
        hp_store_i64(w, p->call_counts[i].item);
        hp_store_i64(w, p->call_counts[i].thread);
        hp_store_u64(w, p->call_counts[i].count);
        hp_store_u64(w, p->call_counts[i].inclusive);
        hp_store_next(w);
    }
    hp_store_end(w);
}

static void put_notes(struct hp_store *w, const struct hp_profile *p)
{
    hp_store_begin(w, "note", 4, p->n_notes);
    for (size_t i = 0; i < p->n_notes; i++) {
        hp_store_i64(w, (int64_t)i);
        hp_store_text(w, p->notes[i].kind);
        hp_store_text(w, p->notes[i].text);
        hp_store_u64(w, p->notes[i].count);
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
    hp_store_begin(w, "engine_stat", 3, n);
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
        if (strcmp(hp_schema_tables[i].name, HP_SCHEMA_CONTENTS) == 0)
            continue;
        hp_store_text(w, hp_schema_tables[i].name);
        hp_store_i64(w, (int64_t)w->done[i].rows);
        hp_store_i64(w, (int64_t)w->done[i].sum);
        hp_store_next(w);
    }
    hp_store_end(w);
}

/* --- The file --------------------------------------------------------------------------------- */

static void create_schema(struct hp_store *w)
{
    char sql[128];
    /* Large pages: measured, they make both saving and loading faster than the usual 4 KiB. */
    hp_store_run(w, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
                    "PRAGMA foreign_keys = OFF; BEGIN");
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HP_SCHEMA_APPLICATION_ID, HP_SCHEMA_VERSION);
    hp_store_run(w, sql);
    for (const struct hp_schema_table *table = hp_schema_tables; table->name; table++)
        hp_store_run(w, table->sql);
    hp_store_run(w, hp_schema_views);
}

static void write_all(struct hp_store *w, const struct hp_profile *p)
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
    hp_store_models(w, p);
    hp_store_regions(w, p);
    hp_store_insns(w, p);
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
    return hp_outfile_commit(&out);
}
