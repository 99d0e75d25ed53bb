// SPDX-License-Identifier: MIT
/*
 * Positions are absolute throughout: callgrind_annotate and KCachegrind do not read relative
 * addresses alike.
 */

#include "base/map64.h"
#include "base/strings.h"
#include "export/export.h"
#include "export/viewers/callgrind_rows.h"
#include "export/viewers/names.h"
#include "hotpath/cycles.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT       "callgrind"
#define UNKNOWN_NAME "???" /* what both readers take for no name */

static const struct {
    const char *name, *meaning;
} columns[HP_CG_COLUMNS] = {
    [HP_CG_IR] = {"Ir", "Instructions"},
    [HP_CG_BC] = {"Bc", "Conditional branches"},
    [HP_CG_BI] = {"Bi", "Computed jumps and calls, returns"},
    [HP_CG_TAKEN] = {"Taken", "Jumps, calls, returns and conditional branches that were taken"},
    [HP_CG_BCM] = {"Bcm", "Conditional branches, mispredicted"},
    [HP_CG_BIM] = {"Bim", "Other branches, mispredicted"},
    [HP_CG_I1] = {"I1m", "L1 instruction misses"},
    [HP_CG_D1] = {"D1m", "L1 data misses"},
    [HP_CG_L2] = {"L2m", "L2 data misses"},
    [HP_CG_L3] = {"L3m", "L3 data misses"},
    [HP_CG_ITLB] = {"ITLBm", "Instruction TLB misses"},
    [HP_CG_DTLB] = {"DTLBm", "Data TLB misses"},
    [HP_CG_CYCLES] = {"Cycles", "Cycles of the machine"},
};

struct writer {
    FILE *out;
    const struct hp_profile *profile;
    struct hp_tables *tables;
    struct hp_cg_code *code;
    bool shown[HP_CG_COLUMNS];
    bool *objects, *functions; /* whose names have been written */
    struct hp_strings texts;   /* of files */
    struct hp_map64 files;     /* by text */
    uint32_t n_files;
    const char *file; /* where the next line is */
    uint64_t parts;   /* of cycles, written so far: they are rounded so that the sum is right */
    uint64_t totals[HP_CG_COLUMNS];
    struct hp_strbuf text;
};

/* --- Names ------------------------------------------------------------------------------------ */

/* "fn=(7) main", and from then on "fn=(7)". */
static void put_name(struct writer *w, const char *key, uint32_t id, bool first, const char *name)
{
    if (!first) {
        fprintf(w->out, "%s=(%" PRIu32 ")\n", key, id + 1);
        return;
    }
    hp_strbuf_clear(&w->text);
    hp_views_clean(&w->text, name, 0);
    fprintf(w->out, "%s=(%" PRIu32 ") %s\n", key, id + 1, hp_strbuf_text(&w->text));
}

static void put_object(struct writer *w, const char *key, uint32_t module)
{
    bool known = module != HP_PROFILE_NONE;
    uint32_t id = known ? module : (uint32_t)w->profile->n_modules;
    const char *name = known ? hp_text(w->profile->modules[module].path) : UNKNOWN_NAME;
    put_name(w, key, id, !w->objects[id], name);
    w->objects[id] = true;
}

static void put_function(struct writer *w, const char *key, uint32_t function)
{
    bool known = function != HP_PROFILE_NONE;
    uint32_t id = known ? function : (uint32_t)w->profile->n_functions;
    put_name(w, key, id, !w->functions[id],
             known ? hp_views_name(w->tables, function) : UNKNOWN_NAME);
    w->functions[id] = true;
}

/* The number of a file's name; HP_MAP64_NONE: it has none yet. `*own`: the text that it is found
 * by. */
static enum hp_err find_file(struct writer *w, const char *file, const char **own, uint32_t *id)
{
    *own = hp_strings_add(&w->texts, file, strlen(file));
    if (!*own)
        return hp_fail_nomem();
    *id = hp_map64_get(&w->files, (uintptr_t)*own);
    return HP_OK;
}

static enum hp_err put_file(struct writer *w, const char *key, const char *file)
{
    const char *own;
    uint32_t id;
    HP_TRY(find_file(w, file, &own, &id));
    bool first = id == HP_MAP64_NONE;
    if (first) {
        id = w->n_files++;
        HP_TRY(hp_map64_put(&w->files, (uintptr_t)own, id));
    }
    put_name(w, key, id, first, *file ? file : UNKNOWN_NAME);
    return HP_OK;
}

/* The file that a jump leads to. There are readers that pass over jumps (speedscope): no name gets
 * its number here. */
static enum hp_err put_jump_file(struct writer *w, const char *file)
{
    const char *own;
    uint32_t id;
    HP_TRY(find_file(w, file, &own, &id));
    if (id != HP_MAP64_NONE)
        return put_file(w, "jfi", file);
    hp_strbuf_clear(&w->text);
    hp_views_clean(&w->text, *file ? file : UNKNOWN_NAME, '('); /* "(7)" would be a number */
    fprintf(w->out, "jfi=%s\n", hp_strbuf_text(&w->text));
    return HP_OK;
}

static const char *function_file(const struct writer *w, uint32_t function)
{
    return function == HP_PROFILE_NONE ? "" : hp_text(w->profile->functions[function].file);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void put_position(struct writer *w, struct hp_place place, struct hp_cg_source source)
{
    fprintf(w->out, "0x%" PRIx64 " %" PRIu32, hp_cg_code_address(w->code, place), source.line);
}

static void put_costs(struct writer *w, const uint64_t cost[HP_CG_COLUMNS])
{
    int last = HP_CG_IR;
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        if (w->shown[k] && cost[k])
            last = k;
    for (int k = 0; k <= last; k++)
        if (w->shown[k])
            fprintf(w->out, " %" PRIu64, cost[k]);
    fputc('\n', w->out);
}

/* Parts of cycles to whole ones. */
static uint64_t whole_cycles(struct writer *w, uint64_t parts)
{
    uint64_t before = w->parts / HP_CYCLE_PARTS;
    w->parts = hp_saturating_add(w->parts, parts);
    return w->parts / HP_CYCLE_PARTS - before;
}

static void put_cost(struct writer *w, struct hp_cg_row *row)
{
    row->cost[HP_CG_CYCLES] = whole_cycles(w, row->cost[HP_CG_CYCLES]);
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        w->totals[k] = hp_saturating_add(w->totals[k], row->cost[k]);
    put_position(w, row->place, row->source);
    put_costs(w, row->cost);
}

static enum hp_err put_jump(struct writer *w, const struct hp_cg_row *row)
{
    if (strcmp(row->jump.source.file, row->source.file) != 0)
        HP_TRY(put_jump_file(w, row->jump.source.file));
    if (row->jump.conditional)
        fprintf(w->out, "jcnd=%" PRIu64 "/%" PRIu64 " ", row->jump.taken, row->jump.executed);
    else
        fprintf(w->out, "jump=%" PRIu64 " ", row->jump.taken);
    put_position(w, row->jump.to, row->jump.source);
    fputc('\n', w->out);
    put_position(w, row->place, row->source);
    fputc('\n', w->out);
    return HP_OK;
}

static enum hp_err put_call(struct writer *w, const struct hp_cg_row *row)
{
    uint32_t callee = row->call.callee;
    bool known = callee != HP_PROFILE_NONE;
    struct hp_place place =
        known ? w->profile->functions[callee].place : (struct hp_place){HP_PROFILE_NONE, 0};
    put_object(w, "cob", place.module);
    HP_TRY(put_file(w, "cfi", function_file(w, callee)));
    put_function(w, "cfn", callee);
    fprintf(w->out, "calls=%" PRIu64 " ", row->call.count);
    put_position(w, place,
                 (struct hp_cg_source){"", known ? w->profile->functions[callee].line : 0});
    fputc('\n', w->out);
    put_position(w, row->place, row->source);
    fprintf(w->out, " %" PRIu64 "\n", row->call.inclusive);
    return HP_OK;
}

static enum hp_err put_rows(struct writer *w, uint32_t function, struct hp_cg_rows *rows)
{
    const char *own = function_file(w, function);
    uint32_t module = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++) {
        struct hp_cg_row *row = &rows->rows[i];
        if (i == 0 || row->place.module != module) {
            module = row->place.module;
            fputc('\n', w->out);
            put_object(w, "ob", module);
            HP_TRY(put_file(w, "fl", own));
            put_function(w, "fn", function);
            w->file = own;
        }
        if (strcmp(row->source.file, w->file) != 0) {
            w->file = row->source.file;
            HP_TRY(put_file(w, strcmp(w->file, own) == 0 ? "fe" : "fi", w->file));
        }
        if (row->kind == HP_CG_COST)
            put_cost(w, row);
        else
            HP_TRY(row->kind == HP_CG_JUMP ? put_jump(w, row) : put_call(w, row));
    }
    return HP_OK;
}

static enum hp_err put_body(struct writer *w, struct hp_cg_rows *rows)
{
    for (size_t i = 0; i <= w->profile->n_functions; i++) {
        uint32_t function = i < w->profile->n_functions ? (uint32_t)i : HP_PROFILE_NONE;
        rows->n = 0;
        HP_TRY(hp_cg_code_costs(w->code, function, rows));
        HP_TRY(hp_cg_add_jumps(w->code, function, rows));
        HP_TRY(hp_cg_add_calls(w->code, function, rows));
        hp_cg_rows_join(rows);
        HP_TRY(put_rows(w, function, rows));
    }
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static void choose_columns(struct writer *w)
{
    const struct hp_insns *insns = &w->tables->insns;
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        w->shown[k] = k <= HP_CG_TAKEN || insns->n_exact > 0;
    w->shown[HP_CG_L3] &= insns->has_l3;
    w->shown[HP_CG_CYCLES] = insns->exact;
}

static void put_header(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    hp_strbuf_clear(&w->text);
    hp_views_command(p, &w->text);
    fprintf(w->out, "# callgrind format\nversion: 1\ncreator: hotpath-%s\n", HP_VERSION);
    if (p->n_threads)
        fprintf(w->out, "pid: %" PRId32 "\n", p->threads[0].pid);
    fprintf(w->out, "cmd: %s\npart: 1\n\n", hp_strbuf_text(&w->text));
    fprintf(w->out, "desc: Trigger: end of the run\npositions: instr line\n");
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        if (w->shown[k])
            fprintf(w->out, "event: %s : %s\n", columns[k].name, columns[k].meaning);
    fprintf(w->out, "events:");
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        if (w->shown[k])
            fprintf(w->out, " %s", columns[k].name);
    uint64_t totals[HP_CG_COLUMNS];
    hp_cg_code_totals(w->code, totals);
    totals[HP_CG_CYCLES] /= HP_CYCLE_PARTS;
    fprintf(w->out, "\nsummary:");
    put_costs(w, totals);
}

static enum hp_err write_file(struct writer *w)
{
    struct hp_cg_rows rows = {0};
    w->objects = calloc(w->profile->n_modules + 1, sizeof *w->objects);
    w->functions = calloc(w->profile->n_functions + 1, sizeof *w->functions);
    if (!w->objects || !w->functions)
        return hp_fail_nomem();
    choose_columns(w);
    put_header(w);
    enum hp_err err = put_body(w, &rows);
    fprintf(w->out, "\ntotals:");
    put_costs(w, w->totals);
    free(rows.rows);
    return err == HP_OK && w->text.failed ? hp_fail_nomem() : err;
}

static enum hp_err write_callgrind(const struct hp_profile *profile,
                                   const struct hp_export_request *request, FILE *out,
                                   struct hp_export_written *written)
{
    struct hp_tables tables;
    struct hp_cg_code code;
    HP_TRY(hp_views_check(request, FORMAT));
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID, "'" FORMAT "' has all that the profile has, in columns, "
                                       "cycles too: it takes no --metric");
    HP_TRY(hp_tables_init(&tables, profile));
    struct writer w = {.out = out, .profile = profile, .tables = &tables, .code = &code};
    enum hp_err err = hp_cg_code_init(&code, &tables);
    if (err == HP_OK) {
        err = write_file(&w);
        hp_cg_code_fini(&code);
    }
    *written = (struct hp_export_written){
        .unit = "instructions", .written = w.totals[HP_CG_IR], .total = hp_views_total(profile)};
    free(w.objects);
    free(w.functions);
    hp_map64_fini(&w.files);
    hp_strings_fini(&w.texts);
    hp_strbuf_fini(&w.text);
    hp_tables_fini(&tables);
    return err;
}

const struct hp_export_format hp_format_callgrind = {
    .name = "callgrind",
    .summary = "costs, calls and jumps, for KCachegrind and callgrind_annotate",
    .source = HP_EXPORT_PROFILE,
    .write = write_callgrind,
};
