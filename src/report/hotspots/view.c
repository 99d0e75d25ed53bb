// SPDX-License-Identifier: MIT
#include "report/hotspots/hotspots.h"

#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"
#include "text/short_name.h"

#define FUNCTIONS_SHOWN 5
#define LINE_COLUMNS    100 /* of the time line where the width is not limited */
#define LINE_NARROWEST  10

/* --- For scripts ------------------------------------------------------------------------------ */

static void list_functions(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_hotspot_function *functions HP_CLEANUP(hp_free) = NULL;
    size_t n = 0;
    if (hp_hotspot_functions(in->tables, in->row->item, &functions, &n) != HP_OK)
        in->buffer->failed = true;
    for (size_t i = 0; i < n; i++)
        if (functions[i].function != HP_PROFILE_NONE)
            hp_list_text(list, in->tables->functions[functions[i].function]);
}

static struct hp_cell branches(const struct hp_field_input *in)
{
    size_t n;
    hp_items(in->tables->profile, HP_ROW_HOTSPOT_BRANCH, in->row->item, &n);
    return hp_cell_number(n);
}

/* In CSV "address:taken/executed". */
static void list_candidates(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_photspot_branch *of =
        hp_items(in->tables->profile, HP_ROW_HOTSPOT_BRANCH, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_place(list, "branch", of[i].branch);
        if (list->json) {
            hp_json_put_string(list->json, "kind", hp_flow_name((enum hp_flow)of[i].flow));
            hp_json_put_uint(list->json, "executed", of[i].executed);
        }
        hp_list_add_number(list, "taken", of[i].taken);
        if (list->json) {
            hp_json_put_fixed(list->json, "ratio", hp_number_share(of[i].taken, of[i].executed), 6);
        } else {
            hp_strbuf_add(list->text, "/");
            hp_strbuf_uint(list->text, of[i].executed);
        }
        hp_list_end(list);
    }
}

static struct hp_cell slice_width(const struct hp_field_input *in)
{
    size_t n;
    const struct hp_photspot_slice *slices =
        hp_items(in->tables->profile, HP_ROW_HOTSPOT_SLICE, in->row->item, &n);
    return hp_cell_number(n ? slices->width : 0);
}

static void list_slices(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_photspot_slice *slices =
        hp_items(in->tables->profile, HP_ROW_HOTSPOT_SLICE, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_number(list, "slice", slices[i].slice);
        hp_list_add_number(list, "instructions", slices[i].instructions);
        hp_list_end(list);
    }
}

static const struct hp_field fields[] = {
    {"detector", "that found it", HP_COLUMN},
    {"run", "0; in merged profiles, of which run", HP_COLUMN},
    {"id", "in the order of detection", HP_NAMED("number")},
    {"pid", "of its process", .kind = HP_FIELD_OF_RUN},
    {"detected_at", "branches executed when it was detected", HP_NAMED("at_branches")},
    {"detected_at_instructions", "instructions executed then", HP_NAMED("at_instructions")},
    {"branches", "candidate branches", .get = branches},
    {"static_instructions", "of its region", HP_NAMED("insns")},
    {"total", "instructions executed in its region in the whole run", HP_COLUMN},
    {"share", "of `total` in all instructions", HP_NAMED("total"), .as = HP_AS_SHARE},
    {"after", "of `total`, those since it was detected", HP_COLUMN},
    {"after_share", "of `after` in all instructions", HP_NAMED("after"), .as = HP_AS_SHARE},
    {"functions", "that its region is in, heaviest first", .list = list_functions},
    {"blocks", "addresses of its region's blocks", .list = hp_list_blocks,
     .value = HP_ROW_HOTSPOT_BLOCK},
    {"candidates", "its branches: `branch`, `kind`, `executed`, `taken`, `ratio`",
     .list = list_candidates},
    {"slice_width", "instructions of the run in a slice", .get = slice_width},
    {"slices", "that it was executed in: `slice`, `instructions`", .list = list_slices},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

static void put_when(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_profile *p = in->tables->profile;
    if (p->run.runs <= 1)
        hp_strbuf_percent(cell, hp_number_share(p->hotspots[row->item].at_instructions,
                                                in->tables->summary.instructions));
}

static void put_blocks(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    size_t n;
    hp_items(in->tables->profile, HP_ROW_HOTSPOT_BLOCK, row->item, &n);
    hp_strbuf_human(cell, n);
}

static void put_functions(const struct hp_text *in, const struct hp_row *row,
                          struct hp_strbuf *cell)
{
    struct hp_hotspot_function *functions HP_CLEANUP(hp_free) = NULL;
    bool whole = in->options->full_names || in->options->width <= 0;
    size_t n = 0, columns = whole ? SIZE_MAX : (size_t)in->options->width / 4;
    if (hp_hotspot_functions(in->tables, row->item, &functions, &n) != HP_OK)
        cell->failed = true;
    for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++) {
        struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
        hp_strbuf_add(cell, i ? ", " : "");
        hp_put_function(in->tables, functions[i].function, &name);
        hp_short_name(cell, hp_strbuf_text(&name), columns);
        cell->failed |= name.failed;
    }
    if (n > FUNCTIONS_SHOWN)
        hp_strbuf_format(cell, " and %s more", HP_GROUPED(n - FUNCTIONS_SHOWN));
}

static const struct hp_column columns[] = {
    {"#", .field = "id", .plain = true, .right = true},
    {"share", .right = true, .heat = true},
    {"after", .field = "after_share", .right = true},
    {"detected", .field = "detected_at", .right = true},
    {"of run", .put = put_when, .right = true},
    {"blocks", .put = put_blocks, .right = true},
    {"instr.", .field = "static_instructions", .right = true},
    {"functions", .put = put_functions, .flexible = true, .cut = HP_CUT_END},
    {0}};

/* --- Above the table -------------------------------------------------------------------------- */

/* "merten, run 2: 3 hot spots, 412 static instructions (2.9% of those executed)" */
static enum hp_err print_name(const struct hp_text *in, uint32_t first, size_t n,
                              const struct hp_hotspot_sum *sum)
{
    const struct hp_profile *profile = in->tables->profile;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&text, hp_text(profile->hotspots[first].detector));
    if (profile->run.runs > 1)
        hp_strbuf_format(&text, ", run %s", HP_GROUPED((uint64_t)profile->hotspots[first].run + 1));
    hp_strbuf_format(&text, ": %s hot spot%s, %s static instructions", HP_GROUPED(n),
                     n == 1 ? "" : "s", HP_GROUPED(sum->insns));
    if (sum->executed)
        hp_strbuf_format(&text, " (%s of those executed)",
                         HP_PERCENT(hp_number_share(sum->insns, sum->executed)));
    return hp_print_line(&text, in->options, in->out);
}

/* "  79.6% of the run, 77.0% since detected; the first after 12,345 branches (<0.1%)" */
static enum hp_err print_sum(const struct hp_text *in, const struct hp_hotspot_sum *sum)
{
    const struct hp_summary *summary = &in->tables->summary;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_add(&text, "  ");
    if (sum->executed)
        hp_strbuf_format(&text, "%s of the run",
                         HP_PERCENT(hp_number_share(sum->instructions, summary->instructions)));
    if (sum->executed && sum->after_known)
        hp_strbuf_format(&text, ", %s since detected",
                         HP_PERCENT(hp_number_share(sum->after, summary->instructions)));
    hp_strbuf_format(&text, "%sthe first after %s branch%s", sum->executed ? "; " : "",
                     HP_GROUPED(sum->first), sum->first == 1 ? "" : "es");
    if (in->tables->profile->run.runs <= 1 && summary->branches)
        hp_strbuf_format(&text, " (%s)",
                         HP_PERCENT(hp_number_share(sum->first, summary->branches)));
    return hp_print_line(&text, in->options, in->out);
}

/* --- The time line ---------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct hp_row *x = a, *y = b;
    return HP_COMPARE(x->item, y->item);
}

/* "   0 |  ▃███▂   ██|", for each of the rows, in the order of detection. */
static enum hp_err print_timeline(const struct hp_text *in, uint32_t first, size_t n_all,
                                  struct hp_rows *rows)
{
    const struct hp_profile *profile = in->tables->profile;
    int label = 1;
    size_t most = LINE_COLUMNS;
    for (size_t i = 0; i < rows->n; i++) {
        int width = snprintf(NULL, 0, "%u", profile->hotspots[rows->rows[i].item].number);
        label = width > label ? width : label;
    }
    if (in->options->width > 0) {
        int room = in->options->width - (2 + label + 2 + 1);
        most = (size_t)(room > LINE_NARROWEST ? room : LINE_NARROWEST);
    }
    struct hp_timeline line;
    hp_timeline_fit(in->tables, first, n_all, most, &line);
    if (line.columns == 0)
        return HP_OK;
    double *density HP_CLEANUP(hp_free) = calloc(line.columns + 1, sizeof *density);
    struct hp_strbuf head HP_CLEANUP(hp_strbuf_fini) = {0};
    if (!density)
        return hp_fail_nomem();
    hp_strbuf_format(&head, "  when they ran, since detected; a column is %s instructions",
                     HP_HUMAN((uint64_t)(line.column < 1e18 ? line.column : 1e18)));
    HP_TRY(hp_print_line(&head, in->options, in->out));
    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_items);
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t item = rows->rows[i].item;
        hp_timeline_fill(profile, &line, item, density);
        fprintf(in->out, "  %*u |", label, profile->hotspots[item].number);
        for (size_t k = 0; k < line.columns; k++)
            fputs(hp_density_glyph(density[k]), in->out);
        fputs("|\n", in->out);
    }
    return HP_OK;
}

static bool same_detection(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    const struct hp_photspot *x = &tables->profile->hotspots[a], *y = &tables->profile->hotspots[b];
    return x->run == y->run && strcmp(hp_text(x->detector), hp_text(y->detector)) == 0;
}

/* The hot spots of one detector in one run, of which the rows are to be printed. */
static enum hp_err print_group(const struct hp_text *in, struct hp_rows *rows)
{
    struct hp_hotspot_sum sum;
    uint32_t first = rows->rows[0].item, end = first;
    while (first > 0 && same_detection(in->tables, first - 1, end))
        first--;
    while (end < in->tables->profile->n_hotspots && same_detection(in->tables, first, end))
        end++;
    size_t all = end - first;
    HP_TRY(hp_tables_count_blocks(in->tables));
    HP_TRY(hp_hotspot_sum(in->tables, first, all, &sum));
    HP_TRY(print_name(in, first, all, &sum));
    HP_TRY(print_sum(in, &sum));
    HP_TRY(hp_print_rows(in, &hp_view_hotspots, NULL, rows));
    hp_print_more(in->out, rows->n_left_out);
    return print_timeline(in, first, all, rows);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    return hp_print_lists(text, rows, limit, print_group);
}

/* A detector that found nothing is worth a line. */
static bool is_there(const struct hp_profile *profile)
{
    for (size_t i = 0; i < profile->n_stats; i++)
        if (strncmp(hp_text(profile->stats[i].part), "hotspots ", strlen("hotspots ")) == 0)
            return true;
    return profile->n_hotspots > 0;
}

const struct hp_view hp_view_hotspots = {
    .name = "hotspots",
    .help = "hot spots, and when each of them ran",
    .title = "Hot spots",
    .each = "hot spot that was detected",
    .order = "run and detector, then `total`, then number",
    .empty = "no hot spot was detected: --profile hotspots looks for them",
    .lines = HP_LINES_NONE,
    .overview = true,
    .is_there = is_there,
    .item = HP_ROW_HOTSPOT,
    .counter = HP_ROW_HOTSPOT,
    .values = {"total"},
    .prepare = hp_tables_count_blocks,
    .same_list = same_detection,
    .fields = fields,
    .columns = columns,
    .print = print,
};
