// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/items.h"
#include "report/text.h"

#include <stdlib.h>

#define VALUES_SHOWN 3
#define DEPTH_SHOWN  12 /* deeper ones are not indented further */

/* --- For scripts ------------------------------------------------------------------------------ */

static const struct hp_loop_info *info_of(const struct hp_field_input *in)
{
    return &in->tables->loops.info[in->row->item];
}

static const void *counts_of(const struct hp_field_input *in)
{
    return hp_loop_counts(in->tables, in->row);
}

/* Of executions one by one, where they are known. */
static const void *executions_of(const struct hp_field_input *in)
{
    const struct hp_ploop_count *counts = counts_of(in);
    return counts->max == 0 && counts->executions ? NULL : counts;
}

static const struct hp_field_row counts = {HP_ROW_LOOP_COUNT, counts_of, false};
static const struct hp_field_row executions = {HP_ROW_LOOP_COUNT, executions_of, true};

static struct hp_cell depth(const struct hp_field_input *in)
{
    return hp_cell_number(info_of(in)->depth);
}

/* The most frequent branch that closes it. */
static struct hp_cell branch(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    return n ? hp_cell_place(in, in->tables->profile->edges[edges->edge].from) : hp_cell_text("");
}

static struct hp_cell irreducible(const struct hp_field_input *in)
{
    uint32_t flags = in->tables->profile->loops[in->row->item].flags;
    return (struct hp_cell){.kind = HP_CELL_BOOL, .flag = (flags & HP_LOOP_IRREDUCIBLE) != 0};
}

static struct hp_cell mean(const struct hp_field_input *in)
{
    const struct hp_ploop_count *of = counts_of(in);
    return hp_cell_fraction(hp_number_share(of->iterations, of->executions));
}

static struct hp_cell predictability(const struct hp_field_input *in)
{
    double foreseen = info_of(in)->foreseen;
    return foreseen < 0 ? hp_cell_none() : hp_cell_fraction(foreseen);
}

/* The largest number of a bucket. */
static uint64_t bucket_end(uint64_t bucket)
{
    return bucket >= 63 ? UINT64_MAX : (UINT64_C(2) << bucket) - 1;
}

static uint64_t bucket_start(uint64_t bucket)
{
    return bucket > 63 ? UINT64_MAX : UINT64_C(1) << bucket;
}

static void list_histogram(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, true, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_number(list, "from", bucket_start(trips[i].value));
        if (list->json)
            hp_list_add_number(list, "to", bucket_end(trips[i].value));
        hp_list_add_number(list, "count", trips[i].count);
        hp_list_end(list);
    }
}

static void list_trips(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, false, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_number(list, "iterations", trips[i].value);
        hp_list_add_number(list, "count", trips[i].count);
        hp_list_end(list);
    }
}

static void list_branches(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_place(list, "branch", in->tables->profile->edges[edges[i].edge].from);
        hp_list_add_number(list, "count", edges[i].count);
        hp_list_end(list);
    }
}

static void list_blocks(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const struct hp_ploop_block *blocks =
        hp_items_of(p->loop_blocks, p->n_loop_blocks, sizeof *blocks, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_place(list, p->blocks[blocks[i].block].place);
}

static void list_models(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const uint32_t *models = hp_loop_models(&in->tables->loops, p, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        const struct hp_pmodel_loop *loop = &p->model_loops[models[i]];
        if (!list->json) {
            hp_list_text(list, hp_text(loop->model));
            continue;
        }
        hp_list_begin(list);
        hp_json_put_string(list->json, "model", hp_text(loop->model));
        hp_list_add_place(list, "branch", loop->branch);
        hp_list_add_number(list, "executions", loop->executions);
        hp_json_put_fixed(list->json, "average", (double)loop->average / 1000, 3);
        hp_list_add_number(list, "iterations", loop->iterations);
        hp_list_add_number(list, "instructions", loop->instructions);
        hp_list_end(list);
    }
}

#define COUNT .kind = HP_FIELD_COUNTED, .of = &counts
static const struct hp_field fields[] = {
    {"id", "its number in this profile, by address", .from = HP_FROM_ITEM},
    {"parent", "`id` of the loop it is nested in; null: none", HP_COLUMN},
    {"depth", "of nesting; 0: in no other", .get = depth},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "its first source line", HP_NAMED("first_line")},
    {"last_line", "its last source line", HP_COLUMN},
    {"branch", "address of the branch that closes it most often", .get = branch},
    {"target", "address of its header", HP_PLACE("")},
    {"version", "of the header's block", HP_COLUMN},
    {"irreducible", "it has several headers", .get = irreducible},
    {"static_instructions", "with nested loops", HP_NAMED("insns")},
    {"executions", "[loops.md](loops.md) explains this and the next two", COUNT},
    {"iterations", "over all executions", COUNT},
    {"back_edges", "over all executions", COUNT},
    {"mean", "iterations of an execution", .kind = HP_FIELD_COUNTED, .get = mean},
    {"min", "iterations of an execution", .kind = HP_FIELD_COUNTED, .of = &executions},
    {"max", "iterations of an execution", .kind = HP_FIELD_COUNTED, .of = &executions},
    {"self", "instructions, with nested loops", COUNT},
    {"inclusive", "with callees, recursion once", COUNT},
    {"share", "of `inclusive` in all instructions", .of = &counts, HP_NAMED("inclusive"),
     .as = HP_AS_SHARE},
    {"self_share", "of `self` in all instructions", .of = &counts, HP_NAMED("self"),
     .as = HP_AS_SHARE},
    {"same", "executions with as many iterations as the one before", .kind = HP_FIELD_COUNTED,
     .of = &executions},
    {"stride", "executions whose iterations changed by as much as those of the one before",
     .kind = HP_FIELD_COUNTED, .of = &executions},
    {"predictability",
     "share of executions with the same iterations as the previous one, or continuing its stride",
     .get = predictability},
    {"interrupted", "executions that were going on at the end", COUNT},
    {"trips", "the most frequent numbers of iterations: `iterations`, `count`", .list = list_trips},
    {"histogram", "by powers of two: `from`, `to`, `count`", .list = list_histogram},
    {"branches", "that close it, most frequent first: `branch`, `count`", .list = list_branches},
    {"blocks", "addresses of its blocks, without those of nested loops", .list = list_blocks},
    {"models",
     "what models report of it: `model`, `branch`, `executions`, `average`, `iterations`, "
     "`instructions`",
     .list = list_models},
    {0}};

/* --- Trip counts ------------------------------------------------------------------------------ */

/* The most frequent exact values, in that order; returns how many. */
static size_t most_frequent(const struct hp_ploop_trips *trips, size_t n,
                            const struct hp_ploop_trips *best[VALUES_SHOWN])
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = kept < VALUES_SHOWN ? kept++ : VALUES_SHOWN;
        while (at > 0 && best[at - 1]->count < trips[i].count) {
            if (at < VALUES_SHOWN)
                best[at] = best[at - 1];
            at--;
        }
        if (at < VALUES_SHOWN)
            best[at] = &trips[i];
    }
    return kept;
}

/* A glyph a power of two, from the smallest to the largest. */
static void put_histogram(const struct hp_ploop_trips *buckets, size_t n, struct hp_strbuf *cell)
{
    uint64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = buckets[i].count > most ? buckets[i].count : most;
    hp_strbuf_add(cell, " ");
    for (size_t i = 0; i < n; i++) {
        for (uint64_t k = i ? buckets[i - 1].value + 1 : buckets[i].value; k < buckets[i].value;
             k++)
            hp_strbuf_add(cell, " ");
        hp_strbuf_add(cell, hp_density_glyph((double)buckets[i].count / (double)most));
    }
}

/* "32", "1-64", or "?" where the executions are not known one by one. */
static void put_range(const struct hp_ploop_count *count, struct hp_strbuf *cell)
{
    if (count->max == 0 && count->executions) {
        hp_strbuf_add(cell, "?");
        return;
    }
    hp_strbuf_human(cell, count->min);
    if (count->max > count->min) {
        hp_strbuf_add(cell, "-");
        hp_strbuf_human(cell, count->max);
    }
}

/* "32", "1-64: 32 98%, 1 2%", or "1-4,096 ▁▂█▁" where no value is frequent. */
static void put_trips(const struct hp_tables *tables, uint32_t loop,
                      const struct hp_ploop_count *count, struct hp_strbuf *cell)
{
    put_range(count, cell);
    if (count->min == count->max)
        return;
    size_t n, n_buckets;
    const struct hp_ploop_trips *values = hp_loop_trips(tables->profile, loop, false, &n);
    const struct hp_ploop_trips *buckets = hp_loop_trips(tables->profile, loop, true, &n_buckets);
    const struct hp_ploop_trips *best[VALUES_SHOWN];
    size_t n_best = most_frequent(values, n, best);
    uint64_t executions = tables->loops.info[loop].total.executions;
    if (n_best == 0 || hp_number_share(best[0]->count, executions) < 0.2) {
        put_histogram(buckets, n_buckets, cell);
        return;
    }
    for (size_t i = 0; i < n_best; i++) {
        double share = hp_number_share(best[i]->count, executions);
        if (i > 0 && share < 0.05)
            break;
        hp_strbuf_add(cell, i ? ", " : ": ");
        hp_strbuf_human(cell, best[i]->value);
        hp_strbuf_add(cell, " ");
        hp_strbuf_fixed(cell, share * 100, 0);
        hp_strbuf_add(cell, "%");
    }
}

/* --- For people ------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"self", .right = true},
                                           {"times", .right = true},
                                           {"mean", .right = true},
                                           {"iterations", .flexible = true, .cut = HP_CUT_END},
                                           {"foreseen", .right = true},
                                           {"loop", .flexible = true},
                                           {0}};

static void put_marks(const struct hp_tables *tables, uint32_t loop, struct hp_strbuf *cell)
{
    if (tables->profile->loops[loop].flags & HP_LOOP_IRREDUCIBLE)
        hp_strbuf_add(cell, "~");
    if (tables->loops.info[loop].total.interrupted)
        hp_strbuf_add(cell, "!");
}

/* What the marks mean, where there are any. */
static void print_legend(const struct hp_tables *tables, const struct hp_rows *rows, FILE *out)
{
    bool irreducible = false, interrupted = false;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t loop = rows->rows[i].item;
        irreducible |= (tables->profile->loops[loop].flags & HP_LOOP_IRREDUCIBLE) != 0;
        interrupted |= tables->loops.info[loop].total.interrupted != 0;
    }
    if (irreducible || interrupted)
        fprintf(out, "  %s%s%s\n", irreducible ? "~ irreducible" : "",
                irreducible && interrupted ? "   " : "",
                interrupted ? "! still going on at the end" : "");
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_loop_info *info = &tables->loops.info[row->item];
    const struct hp_ploop_count *count = hp_loop_counts(tables, row);
    double heat = hp_put_share(in, count->inclusive, &cells[0]);
    hp_put_share(in, count->self, &cells[1]);
    hp_strbuf_human(&cells[2], count->executions);
    hp_put_each(count->iterations, count->executions, &cells[3]);
    if (hp_put_thread(row, &cells[6])) {
        put_range(count, &cells[4]);
        return heat;
    }
    put_trips(tables, row->item, count, &cells[4]);
    if (info->foreseen >= 0)
        hp_strbuf_percent(&cells[5], info->foreseen);
    for (uint32_t i = 0; i < info->depth && i < DEPTH_SHOWN; i++)
        hp_strbuf_add(&cells[6], "  ");
    put_marks(tables, row->item, &cells[6]);
    hp_put_loop(tables, row->item, info->depth == 0, &cells[6]);
    return heat;
}

static int compare_positions(const void *a, const void *b, void *context)
{
    const struct hp_loop_info *info = context;
    uint32_t x = info[((const struct hp_row *)a)->item].at;
    uint32_t y = info[((const struct hp_row *)b)->item].at;
    return (x > y) - (x < y);
}

/* "12 loops, executed 3,456 times: 93.1% of the instructions are in one" */
static enum hp_err print_head(const struct hp_tables *tables,
                              const struct hp_report_options *options, FILE *out)
{
    const struct hp_profile *p = tables->profile;
    uint64_t executions = 0, self = 0;
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct hp_ploop_count *total = &tables->loops.info[i].total;
        executions = hp_saturating_add(executions, total->executions);
        if (p->loops[i].parent == HP_PROFILE_NONE)
            self = hp_saturating_add(self, total->self);
    }
    struct hp_strbuf text = {0};
    hp_strbuf_grouped(&text, tables->summary.loops);
    hp_strbuf_add(&text, tables->summary.loops == 1 ? " loop" : " loops");
    hp_strbuf_add(&text, ", executed ");
    hp_strbuf_grouped(&text, executions);
    hp_strbuf_add(&text, executions == 1 ? " time: " : " times: ");
    hp_strbuf_percent(&text, hp_number_share(self, tables->summary.instructions));
    hp_strbuf_add(&text, " of the instructions are in one");
    return hp_print_last_line(&text, options, out);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct hp_tables *tables = text->tables;
    hp_rows_keep(rows, tables, &hp_view_loops, limit);
    qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_positions, tables->loops.info);
    HP_TRY(print_head(tables, text->options, text->out));
    print_legend(tables, rows, text->out);
    HP_TRY(hp_print_rows(text, &hp_view_loops, NULL, rows, NULL));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

/* --- The view --------------------------------------------------------------------------------- */

static enum hp_err find_edges(struct hp_tables *tables)
{
    return hp_loops_edges(&tables->loops, tables->profile);
}

int hp_loop_compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->loops[a].header, p->loops[b].header);
}

bool hp_loops_are_there(const struct hp_profile *profile)
{
    return profile->n_loops > 0;
}

const struct hp_view hp_view_loops = {
    .name = "loops",
    .help = "loops, their trip counts and nesting",
    .title = "Loops",
    .each = "loop that was executed",
    .order = "`inclusive`, then address; text: by function, nested loops below those they are in",
    .empty = "no loop was recorded: --profile loops asks for them",
    .overview = true,
    .is_there = hp_loops_are_there,
    .item = HP_ROW_LOOP,
    .counter = HP_ROW_LOOP_COUNT,
    .values = {"inclusive", "self", "executions", "iterations"},
    .by_thread = true,
    .prepare = find_edges,
    .compare = hp_loop_compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
};
