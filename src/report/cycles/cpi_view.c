// SPDX-License-Identifier: MIT
/*
 * Where cycles went: the view.
 */
#include "report/cycles/text.h"
#include "report/fields.h"
#include "report/text.h"

#define CAUSES_SHOWN 4

/* --- For scripts ------------------------------------------------------------------------------ */

static const struct hp_cpi_item *item_of(const struct hp_field_input *in)
{
    return &in->tables->cpi[in->row->item];
}

/* The first row is the run. */
static enum hp_report_by by_of(const struct hp_field_input *in)
{
    return in->row->item == 0 ? HP_REPORT_BY_RUN : in->tables->by;
}

/* Where an item is; of a line there are many addresses. */
struct where {
    struct hp_place place;
    const char *file;
    uint32_t line;
};

static struct where where_of(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    struct hp_place nowhere = {HP_PROFILE_NONE, 0};
    struct where none = {nowhere, "", 0};
    if (by_of(in) == HP_REPORT_BY_RUN)
        return none;
    const struct hp_pinsn *insn = &p->insns[item_of(in)->insn];
    uint32_t function = insn->function, loop = item_of(in)->loop;
    switch (by_of(in)) {
    case HP_REPORT_BY_FUNCTION:
        return function == HP_PROFILE_NONE
                   ? none
                   : (struct where){p->functions[function].place, p->functions[function].file,
                                    p->functions[function].line};
    case HP_REPORT_BY_LOOP:
        return loop == HP_PROFILE_NONE ? none
                                       : (struct where){p->loops[loop].header, p->loops[loop].file,
                                                        p->loops[loop].first_line};
    case HP_REPORT_BY_LINE: return (struct where){nowhere, insn->file, insn->line};
    default: return (struct where){insn->place, insn->file, insn->line};
    }
}

static struct hp_cell by(const struct hp_field_input *in)
{
    return hp_cell_text(hp_report_by_name(by_of(in)));
}

static struct hp_cell name(const struct hp_field_input *in)
{
    hp_cpi_name(in->tables, by_of(in), item_of(in), in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell address(const struct hp_field_input *in)
{
    return hp_cell_place(in, where_of(in).place);
}

static struct hp_cell file(const struct hp_field_input *in)
{
    return hp_cell_text(where_of(in).file);
}

static struct hp_cell line(const struct hp_field_input *in)
{
    return hp_cell_number(where_of(in).line);
}

static struct hp_cell instructions(const struct hp_field_input *in)
{
    return hp_cell_number(item_of(in)->retired);
}

static struct hp_cell cycles(const struct hp_field_input *in)
{
    return hp_cell_fraction((double)item_of(in)->all / HP_CYCLE_PARTS);
}

static struct hp_cell share(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(item_of(in)->all, in->tables->insns.parts));
}

static struct hp_cell cpi(const struct hp_field_input *in)
{
    const struct hp_cpi_item *item = item_of(in);
    return item->retired ? hp_cell_fraction(hp_cpi_of(item->all, item->retired)) : hp_cell_none();
}

static void list_causes(const struct hp_field_input *in, struct hp_list *list)
{
    for (int i = 0; i < HP_CAUSES; i++)
        hp_list_named(list, hp_cause_name((enum hp_cause)i),
                      (double)item_of(in)->parts[i] / HP_CYCLE_PARTS);
}

/* Only of the run, and only where windows of it were observed. */
static void list_extrapolated(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_windows_sum *windows = &in->tables->insns.windows;
    bool known = by_of(in) == HP_REPORT_BY_RUN && windows->n;
    if (list->json && !known)
        hp_json_null(list->json);
    if (!known)
        return;
    if (list->json) {
        hp_json_begin_object(list->json);
        hp_json_put_uint(list->json, "windows", windows->n);
        hp_json_put_bool(list->json, "trusted", windows->n >= HP_WINDOWS_TRUSTED);
        hp_json_put_uint(list->json, "measured", windows->instructions);
        hp_json_put_uint(list->json, "instructions", windows->run);
    }
    hp_list_estimate(list, "cpi", windows->cpi);
    hp_list_estimate(list, "cycles", windows->all);
    if (list->json)
        hp_json_end_object(list->json);
}

static const struct hp_field fields[] = {
    {"by", "`run` first; then what `--by` says", .get = by},
    {"name", "of the function, loop, line or instruction", .get = name},
    {"address", "of the function, loop or instruction", .get = address},
    {"file", "source file", .get = file},
    {"line", "source line", .get = line},
    {"instructions", "that retired", .get = instructions},
    {"cycles", "that they are responsible for", .get = cycles},
    {"share", "of `cycles` in all of them", .get = share},
    {"cpi", "`cycles` an instruction", .get = cpi},
    {"causes", "cycles by cause", .list = list_causes, .list_kind = HP_LIST_NAMED},
    {"extrapolated",
     "of the run, from windows: `windows`, `trusted`, `measured`, `instructions`, `cpi`, "
     "`cycles`; or null",
     .list = list_extrapolated, .list_kind = HP_LIST_VALUE},
    {0}};

/* --- The stack of the run --------------------------------------------------------------------- */

static const struct hp_column stack_columns[] = {{"share", .right = true, .heat = true},
                                                 {"CPI", .right = true},
                                                 {"cycles", .right = true},
                                                 {.title = "cause"},
                                                 {"", .flexible = true, .cut = HP_CUT_END},
                                                 {0}};

struct stack {
    const struct hp_cpi_item *item;
    enum hp_cause causes[HP_CAUSES];
};

static double fill_cause(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct stack *stack = context;
    enum hp_cause cause = stack->causes[i];
    uint64_t parts = stack->item->parts[cause];
    double share = hp_number_share(parts, stack->item->all);
    hp_strbuf_percent(&cells[0], share);
    if (stack->item->retired)
        hp_strbuf_fixed(&cells[1], hp_cpi_of(parts, stack->item->retired), 3);
    hp_put_amount((double)parts / HP_CYCLE_PARTS, &cells[2]);
    hp_strbuf_add(&cells[3], hp_cause_name(cause));
    hp_strbuf_add(&cells[4], hp_cause_meaning(cause));
    return share;
}

static enum hp_err print_stack(const struct hp_text *text)
{
    struct stack stack = {.item = &text->tables->cpi[0]};
    return hp_text_rows_print(&(struct hp_text_rows){.columns = stack_columns,
                                                     .out = text->out,
                                                     .color = text->options->color,
                                                     .width = text->options->width,
                                                     .n = hp_cpi_order(stack.item, stack.causes),
                                                     .fill = fill_cause,
                                                     .context = &stack});
}

/* --- Of its parts ----------------------------------------------------------------------------- */

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_cpi_item *item = &tables->cpi[row->item];
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_cpi_order(item, causes);
    double heat = hp_number_share(item->all, tables->insns.parts);
    hp_strbuf_percent(&cells[0], heat);
    hp_put_amount((double)item->all / HP_CYCLE_PARTS, &cells[1]);
    hp_strbuf_human(&cells[2], item->retired);
    if (item->retired)
        hp_strbuf_fixed(&cells[3], hp_cpi_of(item->all, item->retired), 2);
    hp_cpi_name(tables, tables->by, item, &cells[4]);
    for (size_t i = 0; i < n && i < CAUSES_SHOWN; i++) {
        hp_strbuf_add(&cells[5], i ? ", " : "");
        hp_strbuf_add(&cells[5], hp_cause_name(causes[i]));
        hp_strbuf_add(&cells[5], " ");
        hp_strbuf_percent(&cells[5], hp_number_share(item->parts[causes[i]], item->all));
    }
    hp_strbuf_add(&cells[5], n > CAUSES_SHOWN ? ", …" : "");
    return heat;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                        {"cycles", .right = true},
                                        {"instr.", .right = true},
                                        {"CPI", .right = true},
                                        {hp_report_by_name(tables->by), .flexible = true},
                                        {"causes", .flexible = true, .cut = HP_CUT_END},
                                        {0}};
    HP_TRY(hp_print_cycles_head(tables, text->options, text->out));
    if (!tables->insns.exact)
        return HP_OK;
    HP_TRY(print_stack(text));
    size_t n = rows->n - 1, shown = limit && limit < n ? limit : n;
    if (n == 0)
        return HP_OK;
    putc('\n', text->out);
    HP_TRY(hp_print_rows(text, &hp_view_cpi, columns,
                         &(struct hp_rows){.rows = rows->rows + 1, .n = shown}, NULL));
    hp_print_more(text->out, n - shown);
    return HP_OK;
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_insn_cycles > 0 || profile->n_windows > 0;
}

const struct hp_view hp_view_cpi = {
    .name = "cpi",
    .help = "where cycles went",
    .title = "Cycles",
    .each = "the run; with `--by` also function, loop, line or instruction",
    .order = "cycles, then address",
    .empty = "no cycles were attributed: --profile cycles --machine NAME",
    .is_there = is_there,
    .make = hp_rows_cpi,
    .fields = fields,
    .fill = fill,
    .print = print,
};
