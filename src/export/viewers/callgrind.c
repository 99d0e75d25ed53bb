// SPDX-License-Identifier: MIT
/* Positions are absolute: callgrind_annotate and KCachegrind differ in how they read others. */

#include "base/base.h"
#include "export/viewers/callgrind_rows.h"
#include "export/viewers/views.h"
#include "hotpath/cycles.h"
#include "text/number.h"

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
    struct hp_cg_code code;
    bool shown[HP_CG_COLUMNS];
    bool *objects, *functions; /* whose names have been written */
    struct hp_map64 files;     /* likewise: numbers by text, of which a profile has each once */
    const char *file;          /* where the next line is */
    uint64_t parts; /* of cycles, written so far: they are rounded so that the sum is right */
    struct hp_strbuf text;
    bool failed; /* memory ran out */
};

static void release(struct writer *w)
{
    hp_cg_code_fini(&w->code);
    free(w->objects);
    free(w->functions);
    hp_map64_fini(&w->files);
    hp_strbuf_fini(&w->text);
}

/* --- Names ------------------------------------------------------------------------------------ */

static const char *clean(struct writer *w, const char *name, char separator)
{
    hp_strbuf_clear(&w->text);
    hp_views_clean(&w->text, name, separator);
    return hp_strbuf_text(&w->text);
}

/* "fn=(7) main", and from then on "fn=(7)". */
static void put_name(struct writer *w, const char *key, size_t id, bool *written, const char *name)
{
    fprintf(w->out, "%s=(%zu)%s%s\n", key, id + 1, *written ? "" : " ",
            *written ? "" : clean(w, name, 0));
    *written = true;
}

static void put_object(struct writer *w, const char *key, uint32_t module)
{
    size_t id = hp_slot(module, w->profile->n_modules);
    put_name(w, key, id, &w->objects[id],
             module == HP_PROFILE_NONE ? UNKNOWN_NAME : hp_text(w->profile->modules[module].path));
}

static void put_function(struct writer *w, const char *key, uint32_t function)
{
    size_t id = hp_slot(function, w->profile->n_functions);
    bool known = function != HP_PROFILE_NONE;
    put_name(w, key, id, &w->functions[id],
             known ? hp_views_name(&w->code.tables, function) : UNKNOWN_NAME);
}

/* Readers may pass over jumps (speedscope does): no file gets its number there. */
static void put_file(struct writer *w, const char *key, const char *file)
{
    uint64_t text = *file ? (uintptr_t)file : 0;
    uint32_t id = hp_map64_get(&w->files, text);
    bool written = id != HP_MAP64_NONE;
    const char *name = *file ? file : UNKNOWN_NAME;
    if (!written && strcmp(key, "jfi") == 0) {
        fprintf(w->out, "jfi=%s\n", clean(w, name, '(')); /* "(7)" would be a number */
        return;
    }
    if (!written) {
        id = (uint32_t)w->files.used;
        w->failed |= hp_map64_put(&w->files, text, id) != HP_OK;
    }
    put_name(w, key, id, &written, name);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void put_position(struct writer *w, const struct hp_cg_where *where, const char *end)
{
    fprintf(w->out, "0x%" PRIx64 " %" PRIu32 "%s", hp_cg_address(&w->code, where->place),
            where->line, end);
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

static void put_cost(struct writer *w, struct hp_cg_row *row)
{
    uint64_t before = w->parts / HP_CYCLE_PARTS;
    hp_add_up(&w->parts, row->cost[HP_CG_CYCLES]);
    row->cost[HP_CG_CYCLES] = w->parts / HP_CYCLE_PARTS - before;
    put_position(w, &row->where, "");
    put_costs(w, row->cost);
}

static void put_jump(struct writer *w, struct hp_cg_row *row)
{
    if (strcmp(row->jump.to.file, row->where.file) != 0)
        put_file(w, "jfi", row->jump.to.file);
    if (row->jump.executed)
        fprintf(w->out, "jcnd=%" PRIu64 "/%" PRIu64 " ", row->jump.taken, row->jump.executed);
    else
        fprintf(w->out, "jump=%" PRIu64 " ", row->jump.taken);
    put_position(w, &row->jump.to, "\n");
    put_position(w, &row->where, "\n");
}

static void put_call(struct writer *w, struct hp_cg_row *row)
{
    struct hp_cg_where to = hp_cg_function(w->profile, row->call.callee);
    put_object(w, "cob", to.place.module);
    put_file(w, "cfi", to.file);
    put_function(w, "cfn", row->call.callee);
    fprintf(w->out, "calls=%" PRIu64 " ", row->call.count);
    put_position(w, &to, "\n");
    put_position(w, &row->where, "");
    fprintf(w->out, " %" PRIu64 "\n", row->call.inclusive);
}

static void put_rows(struct writer *w, uint32_t function)
{
    static void (*const put[])(struct writer * w, struct hp_cg_row * row) = {
        [HP_CG_COST] = put_cost, [HP_CG_JUMP] = put_jump, [HP_CG_CALL] = put_call};
    const char *own = hp_cg_function(w->profile, function).file;
    hp_cg_rows_of(&w->code, function);
    for (size_t i = 0; i < w->code.n_rows; i++) {
        struct hp_cg_row *row = &w->code.rows[i];
        if (i == 0 || row->where.place.module != row[-1].where.place.module) {
            fputc('\n', w->out);
            put_object(w, "ob", row->where.place.module);
            put_file(w, "fl", own);
            put_function(w, "fn", function);
            w->file = own;
        }
        if (strcmp(row->where.file, w->file) != 0) {
            w->file = row->where.file;
            put_file(w, strcmp(w->file, own) == 0 ? "fe" : "fi", w->file);
        }
        put[row->kind](w, row);
    }
}

/* --- The file --------------------------------------------------------------------------------- */

static void put_header(struct writer *w)
{
    const struct hp_profile *p = w->profile;
    const struct hp_insns *insns = &w->code.tables.insns;
    for (int k = 0; k < HP_CG_COLUMNS; k++)
        w->shown[k] = k <= HP_CG_TAKEN || insns->counted.n > 0;
    w->shown[HP_CG_L3] &= insns->has_l3;
    w->shown[HP_CG_CYCLES] = insns->exact;
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
    fprintf(w->out, "\nsummary:");
    put_costs(w, w->code.totals);
}

static enum hp_err write_callgrind(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct writer w HP_CLEANUP(release) = {.out = request->out, .profile = p};
    uint64_t *totals = w.code.totals;
    HP_TRY(hp_views_check(request, FORMAT));
    if (request->metric && strcmp(request->metric, "instructions") != 0)
        return hp_fail(HP_ERR_INVALID, "'" FORMAT "' has all that the profile has, in columns, "
                                       "cycles too: it takes no --metric");
    HP_TRY(hp_cg_code_init(&w.code, p));
    totals[HP_CG_CYCLES] /= HP_CYCLE_PARTS;
    HP_TRY(hp_new(&w.objects, p->n_modules + 1, sizeof *w.objects));
    HP_TRY(hp_new(&w.functions, p->n_functions + 1, sizeof *w.functions));
    put_header(&w);
    for (uint32_t i = 0; i < p->n_functions; i++)
        put_rows(&w, i);
    put_rows(&w, HP_PROFILE_NONE);
    fprintf(w.out, "\ntotals:");
    put_costs(&w, totals);
    request->written = (struct hp_export_written){.unit = "instructions",
                                                  .written = totals[HP_CG_IR],
                                                  .total = w.code.tables.summary.instructions};
    return w.failed || w.code.failed || w.text.failed ? hp_fail_nomem() : HP_OK;
}

const struct hp_export_format hp_format_callgrind = {
    .name = FORMAT,
    .summary = "costs, calls and jumps, for KCachegrind and callgrind_annotate",
    .write = write_callgrind,
    .functions = true,
};
