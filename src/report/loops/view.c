// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#define VALUES_SHOWN 3
#define DEPTH_SHOWN  12 /* deeper ones are not indented further */

/* --- For scripts ------------------------------------------------------------------------------ */

static const void *find_info(const struct hp_field_input *in)
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

_Static_assert(offsetof(struct hp_loop_info, total) == 0, "it is found as its total");
const struct hp_field_row hp_loop_total = {HP_ROW_LOOP_COUNT, find_info, false};
static const struct hp_field_row counts = {HP_ROW_LOOP_COUNT, counts_of, false};
static const struct hp_field_row executions = {HP_ROW_LOOP_COUNT, executions_of, true};

/* The most frequent branch that closes it. */
static struct hp_cell branch(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_back_edge *edges = hp_loop_edges(&in->tables->loops, in->row->item, &n);
    return n ? hp_cell_place(in, in->tables->profile->edges[edges->edge].from) : hp_cell_text("");
}

static struct hp_cell predictability(const struct hp_field_input *in)
{
    double share = in->tables->loops.info[in->row->item].predictable;
    return share < 0 ? hp_cell_none() : hp_cell_fraction(share);
}

/* Numbers of iterations and how often they were, or (`value` of the field) by powers of two. */
static void list_trips(const struct hp_field_input *in, struct hp_list *list)
{
    bool buckets = in->field->value;
    size_t n;
    const struct hp_ploop_trips *trips =
        hp_loop_trips(in->tables->profile, in->row->item, buckets, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t value = trips[i].value;
        hp_list_begin(list);
        if (buckets)
            hp_list_add_number(list, "from", value > 63 ? UINT64_MAX : UINT64_C(1) << value);
        else
            hp_list_add_number(list, "iterations", value);
        if (buckets && list->json)
            hp_list_add_number(list, "to", value >= 63 ? UINT64_MAX : (UINT64_C(2) << value) - 1);
        hp_list_add_number(list, "count", trips[i].count);
        hp_list_end(list);
    }
}

/* Executions that samples show: whole ones, or (`value` of the field 0) cut ones. */
static void list_seen(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_ploop_seen *seen =
        hp_items(in->tables->profile, HP_ROW_LOOP_SEEN, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        if (seen[i].whole != in->field->value)
            continue;
        hp_list_begin(list);
        hp_list_add_number(list, seen[i].whole ? "iterations" : "at_least", seen[i].iterations);
        hp_list_add_number(list, "count", seen[i].count);
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

static void list_models(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_loops *loops = &in->tables->loops;
    for (uint32_t i = hp_lists_first(&loops->models, in->row->item); i != HP_PROFILE_NONE;
         i = loops->models.next[i]) {
        const struct hp_pmodel_loop *loop = &in->tables->profile->model_loops[i];
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

static struct hp_cell written_in(const struct hp_field_input *in)
{
    const struct hp_tables *t = in->tables;
    uint32_t inlined = t->loops.info[in->row->item].function;
    uint32_t function = t->profile->loops[in->row->item].function;
    if (inlined != HP_PROFILE_NONE)
        return hp_cell_text(hp_text(t->profile->inlined[inlined].name));
    return hp_cell_text(function == HP_PROFILE_NONE ? "" : t->functions[function]);
}

static struct hp_cell header(const struct hp_field_input *in)
{
    const struct hp_loop_info *info = &in->tables->loops.info[in->row->item];
    if (!*info->file)
        return hp_cell_text("");
    hp_strbuf_add(in->buffer, info->file);
    hp_strbuf_add(in->buffer, ":");
    hp_strbuf_uint(in->buffer, info->line);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

#define COUNT .kind = HP_FIELD_COUNTED, .of = &counts
static const struct hp_field fields[] = {
    {"id", "its number in this profile, by address", .from = HP_FROM_ITEM},
    {"parent", "`id` of the loop it is nested in; null: none", HP_COLUMN},
    {"depth", "of nesting; 0: in no other", .of = &hp_loop_total,
     HP_FOUND(UINT32, struct hp_loop_info, depth)},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "its first source line", HP_NAMED("first_line")},
    {"last_line", "its last source line", HP_COLUMN},
    {"written_in", "function that has it in its source, inlined or not", .get = written_in},
    {"header", "where it begins in that function: \"file:line\"; empty: not known", .get = header},
    {"branch", "address of the branch that closes it most often", .get = branch},
    {"target", "address of its header", HP_PLACE("")},
    {"version", "of the header's block", HP_COLUMN},
    {"irreducible", "it has several headers", HP_NAMED("flags"), .as = HP_AS_FLAG},
    {"static_instructions", "with nested loops", HP_NAMED("insns")},
    {"executions", "[loops.md](loops.md) explains this and the next two", COUNT},
    {"iterations", "over all executions", COUNT},
    {"back_edges", "over all executions", COUNT},
    {"mean", "iterations of an execution", COUNT, HP_NAMED("iterations"), .per = "executions"},
    {"min", "iterations of an execution", .kind = HP_FIELD_COUNTED, .of = &executions,
     .ordered = true},
    {"max", "iterations of an execution", .kind = HP_FIELD_COUNTED, .of = &executions,
     .ordered = true},
    {"self", "instructions, with nested loops", COUNT},
    {"inclusive", "with callees, recursion once", COUNT, .ordered = true},
    {"share", "of `inclusive` in all instructions", .of = &counts, HP_NAMED("inclusive"),
     .as = HP_AS_SHARE, .ordered = true},
    {"self_share", "of `self` in all instructions", .of = &counts, HP_NAMED("self"),
     .as = HP_AS_SHARE},
    {"same", "executions with as many iterations as the one before", .kind = HP_FIELD_COUNTED,
     .of = &executions, .ordered = true},
    {"stride", "executions whose iterations changed by as much as those of the one before",
     .kind = HP_FIELD_COUNTED, .of = &executions, .ordered = true},
    {"predictability",
     "share of executions with the same iterations as the previous one, or continuing its stride",
     .get = predictability, .ordered = true},
    {"interrupted", "executions that were going on at the end", COUNT, .ordered = true},
    {"trips", "the most frequent numbers of iterations: `iterations`, `count`", .list = list_trips,
     .ordered = true},
    {"histogram", "by powers of two: `from`, `to`, `count`", .list = list_trips, .value = true,
     .ordered = true},
    {"seen",
     "of a profile of samples: executions that a branch stack shows from begin to end: "
     "`iterations`, `count` (not scaled)",
     .list = list_seen, .value = 1, .needs = HP_ROW_LOOP_SEEN},
    {"cut",
     "likewise those of which it shows a part: `at_least` so many iterations, `count` (not scaled)",
     .list = list_seen, .needs = HP_ROW_LOOP_SEEN},
    {"branches", "that close it, most frequent first: `branch`, `count`", .list = list_branches},
    {"blocks", "addresses of its blocks, without those of nested loops", .list = hp_list_blocks,
     .value = HP_ROW_LOOP_BLOCK},
    {"models",
     "what models report of it: `model`, `branch`, `executions`, `average`, `iterations`, "
     "`instructions`",
     .list = list_models},
    {"error",
     "of a profile of samples: half of the 95 % interval, as a fraction of `iterations`; null: not "
     "known",
     .get = hp_field_error, .value = HP_ROW_LOOP_SAMPLES, .needs = HP_ROW_LOOP_SAMPLES},
    {0}};

/* --- Trip counts ------------------------------------------------------------------------------ */

/* The most frequent value, or the next one behind `last`; NULL: there is none. */
static const struct hp_ploop_trips *next_frequent(const struct hp_ploop_trips *trips, size_t n,
                                                  const struct hp_ploop_trips *last)
{
    const struct hp_ploop_trips *best = NULL;
    for (const struct hp_ploop_trips *t = trips; t < trips + n; t++) {
        bool behind = !last || t->count < last->count || (t->count == last->count && t > last);
        if (behind && (!best || t->count > best->count))
            best = t;
    }
    return best;
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
    if (count->min == 0 && count->executions) {
        hp_strbuf_add(cell, "?");
        return;
    }
    hp_strbuf_human(cell, count->min);
    if (count->max > count->min)
        hp_strbuf_format(cell, "-%s", HP_HUMAN(count->max));
}

/* "32", "1-64: 32 98%, 1 2%", "1-4,096 ▁▂█▁" if no value is frequent; of a thread the range. */
static void put_trips(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_profile *profile = in->tables->profile;
    const struct hp_ploop_count *count = hp_loop_counts(in->tables, row);
    put_range(count, cell);
    if (count->min == count->max || row->thread != HP_PROFILE_NONE)
        return;
    size_t n, n_buckets;
    const struct hp_ploop_trips *values = hp_loop_trips(profile, row->item, false, &n);
    const struct hp_ploop_trips *buckets = hp_loop_trips(profile, row->item, true, &n_buckets);
    const struct hp_ploop_trips *best = next_frequent(values, n, NULL);
    if (!best || hp_number_share(best->count, count->executions) < 0.2) {
        put_histogram(buckets, n_buckets, cell);
        return;
    }
    for (size_t i = 0; best && i < VALUES_SHOWN; i++, best = next_frequent(values, n, best)) {
        double share = hp_number_share(best->count, count->executions);
        if (i > 0 && share < 0.05)
            break;
        hp_strbuf_format(cell, "%s%s %s%%", i ? ", " : ": ", HP_HUMAN(best->value),
                         HP_FIXED(share * 100, 0));
    }
}

/* "20 98%, 3 2%; 31 cut, up to 16+": of the executions that a stack shows whole, the most frequent
 * numbers; of the others how many they are, and the most that one had at least. */
static void put_seen(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    size_t n;
    const struct hp_ploop_seen *seen =
        hp_items(in->tables->profile, HP_ROW_LOOP_SEEN, row->item, &n);
    uint64_t whole = 0, cut = 0, most = 0;
    if (row->thread != HP_PROFILE_NONE)
        return;
    for (size_t i = 0; i < n; i++)
        hp_add_up(seen[i].whole ? &whole : &cut, seen[i].count);
    const struct hp_ploop_seen *last = NULL;
    for (uint64_t shown = 0; whole && shown < VALUES_SHOWN; shown++) {
        const struct hp_ploop_seen *best = NULL;
        for (size_t i = 0; i < n; i++)
            if (seen[i].whole && (!best || seen[i].count > best->count) &&
                (!last || seen[i].count < last->count ||
                 (seen[i].count == last->count && &seen[i] > last)))
                best = &seen[i];
        if (!best || (shown && best->count < whole / 20))
            break;
        hp_strbuf_format(cell, "%s%s %s%%", shown ? ", " : "", HP_HUMAN(best->iterations),
                         HP_FIXED(hp_number_share(best->count, whole) * 100, 0));
        last = best;
    }
    for (size_t i = 0; i < n; i++)
        most = !seen[i].whole && seen[i].iterations > most ? seen[i].iterations : most;
    if (cut)
        hp_strbuf_format(cell, "%s%s cut, up to %s+", whole ? "; " : "", HP_HUMAN(cut),
                         HP_HUMAN(most));
}

/* --- For people ------------------------------------------------------------------------------- */

static void put_mean(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_ploop_count *count = hp_loop_counts(in->tables, row);
    hp_put_each(count->iterations, count->executions, cell);
}

static void put_loop(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_loop_info *info = &tables->loops.info[row->item];
    hp_strbuf_format(cell, "%*s%s%s",
                     (int)(2 * (info->depth < DEPTH_SHOWN ? info->depth : DEPTH_SHOWN)), "",
                     tables->profile->loops[row->item].flags & HP_LOOP_IRREDUCIBLE ? "~" : "",
                     info->total.interrupted ? "!" : "");
    hp_put_loop(tables, row->item, info->depth == 0, hp_loop_columns(in), cell);
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"self", .field = "self_share", .right = true},
    {"times", .field = "executions", .right = true},
    {"mean", .put = put_mean, .by_thread = true, .right = true},
    {"±", .field = "error", .right = true},
    {"iterations", .field = "trips", .put = put_trips, .by_thread = true, .flexible = true,
     .cut = HP_CUT_END},
    {"iterations seen", .field = "seen", .put = put_seen, .by_thread = true, .flexible = true,
     .cut = HP_CUT_END},
    {"predictable", .field = "predictability", .right = true},
    {"loop", .put = put_loop, .flexible = true, .telling = true},
    {0}};

/* What the marks mean, where there are any. */
static void print_legend(const struct hp_tables *tables, const struct hp_rows *rows, FILE *out)
{
    const char *irreducible = "", *interrupted = "";
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t loop = rows->rows[i].item;
        if (tables->profile->loops[loop].flags & HP_LOOP_IRREDUCIBLE)
            irreducible = "~ irreducible";
        if (tables->loops.info[loop].total.interrupted)
            interrupted = "! still going on at the end";
    }
    if (*irreducible || *interrupted)
        fprintf(out, "  %s%s%s\n", irreducible, *irreducible && *interrupted ? "   " : "",
                interrupted);
}

static int compare_positions(const void *a, const void *b, void *context)
{
    const struct hp_loop_info *info = context;
    const struct hp_row *x = a, *y = b;
    return HP_COMPARE(info[x->item].at, info[y->item].at);
}

/* "12 loops, executed 3,456 times: 93.1% of the instructions are in one" */
static enum hp_err print_head(const struct hp_text *text)
{
    const struct hp_tables *tables = text->tables;
    const struct hp_profile *p = tables->profile;
    uint64_t n = tables->summary.loops, executions = 0, self = 0;
    for (size_t i = 0; i < p->n_loops; i++) {
        hp_add_up(&executions, tables->loops.info[i].total.executions);
        if (p->loops[i].parent == HP_PROFILE_NONE)
            hp_add_up(&self, tables->loops.info[i].total.self);
    }
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_format(&line, "%s loop%s, executed %s time%s: %s of the instructions are in one",
                     HP_GROUPED(n), n == 1 ? "" : "s", HP_GROUPED(executions),
                     executions == 1 ? "" : "s",
                     HP_PERCENT(hp_number_share(self, tables->summary.instructions)));
    return hp_print_line(&line, text->options, text->out);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct hp_tables *tables = text->tables;
    hp_rows_keep(rows, limit);
    if (!rows->sorted)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, compare_positions, tables->loops.info);
    HP_TRY(print_head(text));
    print_legend(tables, rows, text->out);
    HP_TRY(hp_print_rows(text, &hp_view_loops, NULL, rows));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

const struct hp_view hp_view_loops = {
    .name = "loops",
    .help = "loops, their trip counts and nesting",
    .title = "Loops",
    .each = "loop that was executed",
    .order = "`inclusive`, then address; text: by function, nested loops below those they are in",
    .empty = "no loop was recorded: --profile loops asks for them",
    .overview = true,
    .there = {HP_ROW_LOOP},
    .item = HP_ROW_LOOP,
    .counter = HP_ROW_LOOP_COUNT,
    .values = {"inclusive", "self", "executions", "iterations"},
    .by_thread = true,
    .prepare = hp_loops_edges,
    .compare = hp_loop_compare,
    .fields = fields,
    .columns = columns,
    .print = print,
};
