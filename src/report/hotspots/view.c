// SPDX-License-Identifier: MIT
#include "report/hotspots/hotspots.h"

#include "report/fields.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_SHOWN 5
#define LINE_COLUMNS    100 /* of the time line where the width is not limited */
#define LINE_NARROWEST  10

/* --- For scripts ------------------------------------------------------------------------------ */

static void list_functions(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_hotspot_function *functions = NULL;
    size_t n = 0;
    if (hp_hotspot_functions(in->tables, in->row->item, &functions, &n) != HP_OK)
        in->buffer->failed = true;
    for (size_t i = 0; i < n; i++)
        if (functions[i].function != HP_PROFILE_NONE)
            hp_list_text(list, in->tables->functions[functions[i].function]);
    free(functions);
}

static struct hp_cell branches(const struct hp_field_input *in)
{
    size_t n;
    hp_hotspot_branches(in->tables->profile, in->row->item, &n);
    return hp_cell_number(n);
}

static void list_blocks(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const struct hp_photspot_block *blocks = hp_hotspot_blocks(p, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_place(list, p->blocks[blocks[i].block].place);
}

/* In CSV "address:taken/executed". */
static void list_candidates(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_photspot_branch *of =
        hp_hotspot_branches(in->tables->profile, in->row->item, &n);
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
        hp_hotspot_slices(in->tables->profile, in->row->item, &n);
    return hp_cell_number(n ? slices->width : 0);
}

static void list_slices(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_photspot_slice *slices =
        hp_hotspot_slices(in->tables->profile, in->row->item, &n);
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
    {"blocks", "addresses of its region's blocks", .list = list_blocks},
    {"candidates", "its branches: `branch`, `kind`, `executed`, `taken`, `ratio`",
     .list = list_candidates},
    {"slice_width", "instructions of the run in a slice", .get = slice_width},
    {"slices", "that it was executed in: `slice`, `instructions`", .list = list_slices},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

struct printer {
    const struct hp_text *in;
    struct hp_tables *tables;
    const struct hp_report_options *options;
    FILE *out;
    struct hp_strbuf text;
};

/* --- The table -------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"#", .right = true},
                                           {"share", .right = true, .heat = true},
                                           {"after", .right = true},
                                           {"detected", .right = true},
                                           {"of run", .right = true},
                                           {"blocks", .right = true},
                                           {"instr.", .right = true},
                                           {"functions", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

static void put_functions(struct hp_tables *tables, uint32_t hotspot, struct hp_strbuf *cell)
{
    struct hp_hotspot_function *functions;
    size_t n;
    if (hp_hotspot_functions(tables, hotspot, &functions, &n) != HP_OK) {
        cell->failed = true;
        return;
    }
    for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++) {
        hp_strbuf_add(cell, i ? ", " : "");
        hp_put_function(tables, functions[i].function, cell);
    }
    if (n > FUNCTIONS_SHOWN) {
        hp_strbuf_add(cell, " and ");
        hp_strbuf_grouped(cell, n - FUNCTIONS_SHOWN);
        hp_strbuf_add(cell, " more");
    }
    free(functions);
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    struct hp_tables *tables = in->tables;
    const struct hp_photspot *hotspot = &tables->profile->hotspots[row->item];
    size_t n_blocks;
    hp_hotspot_blocks(tables->profile, row->item, &n_blocks);
    hp_strbuf_uint(&cells[0], hotspot->number);
    double share = hp_put_share(in, hotspot->total, &cells[1]);
    hp_put_share(in, hotspot->after, &cells[2]);
    hp_strbuf_human(&cells[3], hotspot->at_branches);
    if (tables->profile->run.runs <= 1)
        hp_put_share(in, hotspot->at_instructions, &cells[4]);
    hp_strbuf_human(&cells[5], n_blocks);
    hp_strbuf_human(&cells[6], hotspot->insns);
    put_functions(tables, row->item, &cells[7]);
    return share;
}

/* --- Above it --------------------------------------------------------------------------------- */

/* "merten, run 2: 3 hot spots, 412 static instructions (2.9% of those executed)" */
static enum hp_err print_name(struct printer *p, uint32_t first, size_t n,
                              const struct hp_hotspot_sum *sum)
{
    const struct hp_profile *profile = p->tables->profile;
    struct hp_strbuf *text = &p->text;
    hp_strbuf_clean(text, hp_text(profile->hotspots[first].detector));
    if (profile->run.runs > 1) {
        hp_strbuf_add(text, ", run ");
        hp_strbuf_grouped(text, (uint64_t)profile->hotspots[first].run + 1);
    }
    hp_strbuf_add(text, ": ");
    hp_strbuf_grouped(text, n);
    hp_strbuf_add(text, n == 1 ? " hot spot, " : " hot spots, ");
    hp_strbuf_grouped(text, sum->insns);
    hp_strbuf_add(text, " static instructions");
    if (sum->executed) {
        hp_strbuf_add(text, " (");
        hp_strbuf_percent(text, hp_number_share(sum->insns, sum->executed));
        hp_strbuf_add(text, " of those executed)");
    }
    return hp_print_line(text, p->options, p->out);
}

/* "  79.6% of the run, 77.0% since detected; the first after 12,345 branches (<0.1%)" */
static enum hp_err print_sum(struct printer *p, const struct hp_hotspot_sum *sum)
{
    const struct hp_summary *summary = &p->tables->summary;
    struct hp_strbuf *text = &p->text;
    hp_strbuf_add(text, "  ");
    if (sum->executed) {
        hp_strbuf_percent(text, hp_number_share(sum->instructions, summary->instructions));
        hp_strbuf_add(text, " of the run");
        if (sum->after_known) {
            hp_strbuf_add(text, ", ");
            hp_strbuf_percent(text, hp_number_share(sum->after, summary->instructions));
            hp_strbuf_add(text, " since detected");
        }
        hp_strbuf_add(text, "; ");
    }
    hp_strbuf_add(text, "the first after ");
    hp_strbuf_grouped(text, sum->first);
    hp_strbuf_add(text, sum->first == 1 ? " branch" : " branches");
    if (p->tables->profile->run.runs <= 1 && summary->branches) {
        hp_strbuf_add(text, " (");
        hp_strbuf_percent(text, hp_number_share(sum->first, summary->branches));
        hp_strbuf_add(text, ")");
    }
    return hp_print_line(text, p->options, p->out);
}

/* --- The time line ---------------------------------------------------------------------------- */

static size_t digits(uint64_t value)
{
    char text[HP_NUMBER_SIZE];
    return hp_number_uint(text, value);
}

static int compare_items(const void *a, const void *b)
{
    uint32_t x = ((const struct hp_row *)a)->item, y = ((const struct hp_row *)b)->item;
    return (x > y) - (x < y);
}

/* "   0 |  ▃███▂   ██|", for each of the rows, in the order of detection. */
static enum hp_err print_lines(struct printer *p, struct hp_row *rows, size_t n,
                               const struct hp_timeline *line, size_t label)
{
    const struct hp_profile *profile = p->tables->profile;
    double *density = calloc(line->columns + 1, sizeof *density);
    if (!density)
        return hp_fail_nomem();
    qsort(rows, n, sizeof *rows, compare_items);
    for (size_t i = 0; i < n; i++) {
        char number[HP_NUMBER_SIZE];
        hp_number_uint(number, profile->hotspots[rows[i].item].number);
        hp_timeline_fill(profile, line, rows[i].item, density);
        fprintf(p->out, "  %*s |", (int)label, number);
        for (size_t k = 0; k < line->columns; k++)
            fputs(hp_density_glyph(density[k]), p->out);
        fputs("|\n", p->out);
    }
    free(density);
    return HP_OK;
}

static enum hp_err print_timeline(struct printer *p, uint32_t first, size_t n_all,
                                  struct hp_row *rows, size_t n)
{
    size_t label = 1, most = LINE_COLUMNS;
    for (size_t i = 0; i < n; i++) {
        size_t width = digits(p->tables->profile->hotspots[rows[i].item].number);
        label = width > label ? width : label;
    }
    size_t used = 2 + label + 2 + 1;
    if (p->options->width > 0)
        most = (size_t)p->options->width > used + LINE_NARROWEST ? (size_t)p->options->width - used
                                                                 : LINE_NARROWEST;
    struct hp_timeline line;
    hp_timeline_fit(p->tables, first, n_all, most, &line);
    if (line.columns == 0)
        return HP_OK;
    hp_strbuf_add(&p->text, "  when they ran, since detected; a column is ");
    hp_strbuf_human(&p->text, (uint64_t)(line.column < 1e18 ? line.column : 1e18));
    hp_strbuf_add(&p->text, " instructions");
    HP_TRY(hp_print_line(&p->text, p->options, p->out));
    return print_lines(p, rows, n, &line, label);
}

/* --- All of them ------------------------------------------------------------------------------ */

/* The hot spots of one detector in one run; `n` rows are to be printed. */
static enum hp_err print_group(struct printer *p, struct hp_rows *rows)
{
    const struct hp_profile *profile = p->tables->profile;
    struct hp_hotspot_sum sum;
    uint32_t one = rows->rows[0].item, first = one;
    while (first > 0 && hp_rows_same_list(p->tables, &hp_view_hotspots, first - 1, one))
        first--;
    size_t all = one - first + 1;
    while (first + all < profile->n_hotspots &&
           hp_rows_same_list(p->tables, &hp_view_hotspots, first, first + (uint32_t)all))
        all++;
    hp_hotspot_sum(p->tables, first, all, &sum);
    HP_TRY(print_name(p, first, all, &sum));
    HP_TRY(print_sum(p, &sum));
    HP_TRY(hp_print_rows(p->in, &hp_view_hotspots, NULL, rows, NULL));
    hp_print_more(p->out, all - rows->n);
    return print_timeline(p, first, all, rows->rows, rows->n);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct printer p = {
        .in = text, .tables = text->tables, .options = text->options, .out = text->out};
    HP_TRY(hp_tables_count_blocks(text->tables));
    hp_rows_keep(rows, text->tables, &hp_view_hotspots, limit);
    enum hp_err err = HP_OK;
    for (size_t i = 0, n; i < rows->n && err == HP_OK; i += n) {
        n = hp_rows_of_list(rows, text->tables, &hp_view_hotspots, i);
        if (i > 0)
            putc('\n', text->out);
        err = print_group(&p, &(struct hp_rows){.rows = rows->rows + i, .n = n});
    }
    hp_strbuf_fini(&p.text);
    return err;
}

/* --- The view --------------------------------------------------------------------------------- */

static bool same_detection(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    const struct hp_photspot *x = &tables->profile->hotspots[a], *y = &tables->profile->hotspots[b];
    return x->run == y->run && strcmp(hp_text(x->detector), hp_text(y->detector)) == 0;
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
    .fill = fill,
    .print = print,
};
