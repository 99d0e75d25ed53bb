// SPDX-License-Identifier: MIT
/* Where cycles went (the CPI stack): the run, and its parts; exactly, or as a sampler says. */
#include "base/base.h"
#include "profile/agreement.h"
#include "report/fields.h"
#include "report/text.h"

#define CAUSES_SHOWN 4

/* --- Groups ----------------------------------------------------------------------------------- */

/* An instruction is in the last block of a loop that starts at or before it, or in none: blocks
 * that overlap end together. Instructions and blocks are in the order of their places. */
static enum hp_err group_loops(const struct hp_profile *p, uint32_t *groups, uint32_t *n)
{
    uint32_t *loops HP_CLEANUP(hp_free) = malloc((p->n_blocks + 1) * sizeof *loops);
    const struct hp_pblock *last = NULL;
    if (!loops)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_blocks; i++)
        loops[i] = HP_PROFILE_NONE;
    for (size_t i = 0; i < p->n_loop_blocks; i++)
        loops[p->loop_blocks[i].block] = p->loop_blocks[i].loop;
    for (size_t i = 0, block = 0; i < p->n_insns; i++) {
        struct hp_place at = p->insns[i].place;
        for (; block < p->n_blocks && hp_place_compare(p->blocks[block].place, at) <= 0; block++)
            last = loops[block] == HP_PROFILE_NONE ? last : &p->blocks[block];
        bool inside =
            last && last->place.module == at.module && at.offset - last->place.offset < last->size;
        groups[i] = inside ? loops[last - p->blocks] : (uint32_t)p->n_loops;
    }
    *n = (uint32_t)p->n_loops + 1;
    return HP_OK;
}

enum hp_err hp_insn_groups(const struct hp_profile *p, enum hp_report_by by, uint32_t *groups,
                           uint32_t *n)
{
    switch (by) {
    case HP_REPORT_BY_LOOP: return group_loops(p, groups, n);
    case HP_REPORT_BY_LINE: return hp_agreement_groups(p, HP_AGREE_BY_LINE, groups, n);
    case HP_REPORT_BY_FUNCTION: return hp_agreement_groups(p, HP_AGREE_BY_FUNCTION, groups, n);
    default: return hp_agreement_groups(p, HP_AGREE_BY_INSN, groups, n);
    }
}

/* --- Items ------------------------------------------------------------------------------------ */

struct hp_cpi_item {
    uint32_t insn; /* the first of it */
    uint32_t loop; /* by loop; HP_PROFILE_NONE: in none */
    uint64_t retired;
    uint64_t all;                  /* parts of cycles */
    double parts[HP_CAUSES];       /* of these */
    struct hp_pinsn_tally sampled; /* where cycles were not attributed: of all its instructions;
                                      `all` is the time that it stands for */
};

static int compare_items(const void *a, const void *b)
{
    const struct hp_cpi_item *x = a, *y = b;
    return HP_COMPARE(y->all, x->all) ?: HP_COMPARE(x->insn, y->insn);
}

static void add_cycles(struct hp_cpi_item *item, const struct hp_pinsn_cycles *cycles)
{
    item->parts[cycles->cause] += (double)cycles->parts;
    hp_add_up(&item->all, cycles->parts);
    item->insn = cycles->insn < item->insn ? cycles->insn : item->insn;
}

static void add_sampled(struct hp_cpi_item *item, const struct hp_insns *insns,
                        const struct hp_pinsn_tally *tally)
{
    hp_insn_tally_merge(&item->sampled.tally, &tally->tally);
    item->sampled.seen = tally->seen;
    hp_add_up(&item->all, hp_insn_time(insns, &tally->tally));
    item->insn = tally->insn < item->insn ? tally->insn : item->insn;
}

static bool is_sampled(const struct hp_insns *insns)
{
    return !insns->exact && insns->sampler && !insns->counted.n;
}

static struct hp_insn_facts facts_of(const struct hp_tables *tables, const struct hp_cpi_item *item)
{
    return (struct hp_insn_facts){
        .run = &tables->insns, .about = tables->insns.about, .sampled = &item->sampled};
}

/* The run comes first, whatever the rest is by. */
static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_insns *insns = &tables->insns;
    uint32_t *groups HP_CLEANUP(hp_free) = calloc(p->n_insns + 1, sizeof *groups);
    uint32_t n_groups = 0;
    if (!groups)
        return hp_fail_nomem();
    if (tables->by != HP_REPORT_BY_RUN)
        HP_TRY(hp_insn_groups(p, tables->by, groups, &n_groups));
    free(tables->cpi);
    struct hp_cpi_item *all = tables->cpi = calloc((size_t)n_groups + 1, sizeof *all);
    if (!all)
        return hp_fail_nomem();
    struct hp_cpi_item *items = all + 1;
    for (uint32_t i = 0; i < n_groups; i++) {
        items[i].insn = UINT32_MAX;
        items[i].loop = i < p->n_loops ? i : HP_PROFILE_NONE;
    }
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        add_cycles(&all[0], &p->insn_cycles[i]);
        if (n_groups)
            add_cycles(&items[groups[p->insn_cycles[i].insn]], &p->insn_cycles[i]);
    }
    for (size_t i = 0; is_sampled(insns) && i < insns->sampled.n; i++) {
        const struct hp_pinsn_tally *t = &insns->sampled.tallies[i];
        add_sampled(&all[0], insns, t);
        if (n_groups)
            add_sampled(&items[groups[t->insn]], insns, t);
    }
    all[0].retired = insns->retired;
    for (size_t i = 0; n_groups && i < insns->counted.n; i++) {
        const struct hp_pinsn_tally *t = &insns->counted.tallies[i];
        hp_add_up(&items[groups[t->insn]].retired, t->tally.retired);
    }
    qsort(items, n_groups, sizeof *items, compare_items);
    size_t n = all[0].all || insns->windows.n;
    while (n && n <= n_groups && all[n].all) /* without any are last */
        n++;
    return hp_rows_of_items(rows, n);
}

static void put_name(const struct hp_tables *tables, enum hp_report_by by,
                     const struct hp_cpi_item *item, struct hp_strbuf *text)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_pinsn *insn = by == HP_REPORT_BY_RUN ? NULL : &p->insns[item->insn];
    bool no_line = by == HP_REPORT_BY_LINE && !*hp_text(insn->file);
    if (by == HP_REPORT_BY_RUN)
        hp_strbuf_add(text, "run");
    else if (by == HP_REPORT_BY_LOOP && item->loop == HP_PROFILE_NONE)
        hp_strbuf_add(text, "(in no loop)");
    else if (by == HP_REPORT_BY_LOOP)
        hp_put_loop(tables, item->loop, true, SIZE_MAX, text);
    else if (by == HP_REPORT_BY_INSTRUCTION)
        hp_put_code(tables, insn->function, insn->place, text);
    else if (by == HP_REPORT_BY_FUNCTION || no_line)
        hp_put_function(tables, insn->function, text);
    else
        hp_put_source_place(hp_short_path(&p->run, insn->file), insn->line, text);
    hp_strbuf_add(text, no_line ? " (no line)" : "");
}

/* Where an item is; of a line there are many addresses. */
struct where {
    struct hp_place place;
    const char *file;
    uint32_t line;
};

static struct where where_of(const struct hp_profile *p, enum hp_report_by by,
                             const struct hp_cpi_item *item)
{
    struct where where = {.place = {HP_PROFILE_NONE, 0}, .file = ""};
    const struct hp_pinsn *insn = by == HP_REPORT_BY_RUN ? NULL : &p->insns[item->insn];
    if (by == HP_REPORT_BY_LOOP && item->loop != HP_PROFILE_NONE) {
        const struct hp_ploop *loop = &p->loops[item->loop];
        where = (struct where){loop->header, loop->file, loop->first_line};
    } else if (by == HP_REPORT_BY_FUNCTION && insn->function != HP_PROFILE_NONE) {
        const struct hp_pfunction *function = &p->functions[insn->function];
        where = (struct where){function->place, function->file, function->line};
    } else if (by == HP_REPORT_BY_LINE) {
        where = (struct where){where.place, insn->file, insn->line};
    } else if (by == HP_REPORT_BY_INSTRUCTION) {
        where = (struct where){insn->place, insn->file, insn->line};
    }
    return where;
}

/* --- For scripts ------------------------------------------------------------------------------ */

enum { BY, NAME, ADDRESS, SOURCE_FILE, LINE, INSTRUCTIONS, CYCLES, SHARE, CPI };

/* Of what a sampler says. */
static struct hp_cell get_sampled(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in->tables, &in->tables->cpi[in->row->item]);
    bool counts = hp_insn_has_counts(&facts);
    switch (in->field->value) {
    case INSTRUCTIONS:
        return counts ? hp_cell_number((uint64_t)(hp_insn_retired(&facts).value + 0.5))
                      : hp_cell_none();
    case CYCLES: return hp_cell_fraction(hp_insn_cycles(&facts).value);
    default:
        return facts.sampled->tally.retired ? hp_cell_fraction(hp_insn_each(&facts))
                                            : hp_cell_none();
    }
}

static struct hp_cell get(const struct hp_field_input *in)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_cpi_item *item = &tables->cpi[in->row->item];
    enum hp_report_by by = in->row->item == 0 ? HP_REPORT_BY_RUN : tables->by;
    uint8_t value = in->field->value;
    if (is_sampled(&tables->insns) && (value == INSTRUCTIONS || value == CYCLES || value == CPI))
        return get_sampled(in);
    switch (in->field->value) {
    case BY: return hp_cell_text(hp_report_units[by].name);
    case NAME:
        put_name(tables, by, item, in->buffer);
        return hp_cell_text(hp_strbuf_text(in->buffer));
    case ADDRESS: return hp_cell_place(in, where_of(tables->profile, by, item).place);
    case SOURCE_FILE: return hp_cell_text(where_of(tables->profile, by, item).file);
    case LINE: return hp_cell_number(where_of(tables->profile, by, item).line);
    case INSTRUCTIONS: return hp_cell_number(item->retired);
    case CYCLES: return hp_cell_fraction((double)item->all / HP_CYCLE_PARTS);
    case SHARE: return hp_cell_fraction(hp_number_share(item->all, tables->insns.weight));
    default:
        return item->retired ? hp_cell_fraction(hp_cpi_of(item->all, item->retired))
                             : hp_cell_none();
    }
}

static void list_causes(const struct hp_field_input *in, struct hp_list *list)
{
    const double *parts = in->tables->cpi[in->row->item].parts;
    for (int i = 0; i < HP_CAUSES; i++)
        hp_list_named(list, hp_cause_name((enum hp_cause)i), parts[i] / HP_CYCLE_PARTS);
}

static void list_estimates(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in->tables, &in->tables->cpi[in->row->item]);
    if (!is_sampled(&in->tables->insns))
        facts.sampled = NULL;
    hp_insn_list_estimates(&facts, list);
}

/* Only of the run, and only where windows of it were observed. */
static void list_extrapolated(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_windows_sum *windows = &in->tables->insns.windows;
    if (!hp_list_begin_known(list, in->row->item == 0 && windows->n))
        return;
    if (list->json) {
        hp_json_put_uint(list->json, "windows", windows->n);
        hp_json_put_bool(list->json, "trusted", windows->n >= HP_WINDOWS_TRUSTED);
        hp_json_put_uint(list->json, "measured", windows->instructions);
        hp_json_put_uint(list->json, "instructions", windows->run);
    }
    hp_list_estimate(list, "cpi", windows->cpi);
    hp_list_estimate(list, "cycles", windows->all);
    hp_list_end(list);
}

static const struct hp_field fields[] = {
    {"by", "`run` first; then what `--by` says", .get = get, .value = BY},
    {"name", "of the function, loop, line or instruction", .get = get, .value = NAME},
    {"address", "of the function, loop or instruction", .get = get, .value = ADDRESS},
    {"file", "source file", .get = get, .value = SOURCE_FILE},
    {"line", "source line", .get = get, .value = LINE},
    {"instructions", "that retired", .get = get, .value = INSTRUCTIONS},
    {"cycles", "that they are responsible for; by sampling their latencies", .get = get,
     .value = CYCLES},
    {"share", "of `cycles` in all of them", .get = get, .value = SHARE},
    {"cpi", "`cycles` an instruction", .get = get, .value = CPI},
    {"causes", "cycles by cause", .list = list_causes, .list_kind = HP_LIST_NAMED,
     .member = hp_cause_at},
    {"extrapolated",
     "of the run, from windows: `windows`, `trusted`, `measured`, `instructions`, `cpi`, "
     "`cycles`; or null",
     .list = list_extrapolated, .list_kind = HP_LIST_VALUE},
    {"estimates", "where a sampler alone saw it, what that says, as of an instruction; else null",
     .list = list_estimates, .list_kind = HP_LIST_VALUE},
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
    double cycles = stack->item->parts[cause] / HP_CYCLE_PARTS;
    double share = stack->item->parts[cause] / (double)stack->item->all;
    hp_strbuf_percent(&cells[0], share);
    if (stack->item->retired)
        hp_strbuf_fixed(&cells[1], cycles / (double)stack->item->retired, 3);
    hp_strbuf_add(&cells[2], HP_AMOUNT(cycles));
    hp_strbuf_add(&cells[3], hp_cause_name(cause));
    hp_strbuf_add(&cells[4], hp_cause_meaning(cause));
    return share;
}

static enum hp_err print_stack(const struct hp_text *text)
{
    struct stack stack = {.item = &text->tables->cpi[0]};
    return hp_text_rows_print(
        &(struct hp_text_rows){.columns = stack_columns,
                               .out = text->out,
                               .color = text->options->color,
                               .width = text->options->width,
                               .n = hp_causes_order(stack.item->parts, stack.causes),
                               .fill = fill_cause,
                               .context = &stack});
}

/* --- Of its parts ----------------------------------------------------------------------------- */

static double fill_sampled(const struct hp_text *in, const struct hp_row *row,
                           struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_cpi_item *item = &tables->cpi[row->item];
    const struct hp_insn_facts facts = facts_of(tables, item);
    double heat = hp_number_share(item->all, tables->insns.weight);
    hp_strbuf_percent(&cells[0], heat);
    hp_put_estimate(hp_insn_cycles(&facts), &cells[1]);
    if (hp_insn_has_counts(&facts))
        hp_put_estimate(hp_insn_retired(&facts), &cells[2]);
    if (item->sampled.tally.retired)
        hp_put_cycles(hp_insn_each(&facts), &cells[3]);
    put_name(tables, row->item ? tables->by : HP_REPORT_BY_RUN, item, &cells[4]);
    hp_insn_say(&facts, &cells[5]);
    return heat;
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_cpi_item *item = &tables->cpi[row->item];
    if (is_sampled(&tables->insns))
        return fill_sampled(in, row, cells);
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_causes_order(item->parts, causes);
    double heat = hp_number_share(item->all, tables->insns.parts);
    hp_strbuf_percent(&cells[0], heat);
    hp_strbuf_add(&cells[1], HP_AMOUNT((double)item->all / HP_CYCLE_PARTS));
    hp_strbuf_human(&cells[2], item->retired);
    if (item->retired)
        hp_strbuf_fixed(&cells[3], hp_cpi_of(item->all, item->retired), 2);
    put_name(tables, tables->by, item, &cells[4]);
    for (size_t i = 0; i < n && i < CAUSES_SHOWN; i++)
        hp_strbuf_format(&cells[5], "%s%s %s", i ? ", " : "", hp_cause_name(causes[i]),
                         HP_PERCENT(item->parts[causes[i]] / (double)item->all));
    hp_strbuf_add(&cells[5], n > CAUSES_SHOWN ? ", …" : "");
    return heat;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    bool sampled = is_sampled(&tables->insns);
    const struct hp_column columns[] = {
        {"share", .right = true, .heat = true},
        {"cycles", .right = true},
        {"instr.", .right = true},
        {sampled ? "each" : "CPI", .right = true},
        {hp_report_units[tables->by].name, .flexible = true,
         .cut = tables->by == HP_REPORT_BY_FUNCTION ? HP_CUT_NAME : HP_CUT_MIDDLE},
        {sampled ? "latencies; events" : "causes", .flexible = true, .cut = HP_CUT_END},
        {0}};
    HP_TRY(hp_print_cycles_head(tables, text->options, text->out));
    if (sampled) {
        size_t all = tables->by == HP_REPORT_BY_RUN ? rows->n : rows->n - 1;
        size_t most = limit && limit < all ? limit : all;
        HP_TRY(hp_print_rows(text, &hp_view_cpi, columns,
                             &(struct hp_rows){.rows = rows->rows + (rows->n - all), .n = most}));
        hp_print_more(text->out, all - most);
        return HP_OK;
    }
    if (!tables->insns.exact)
        return HP_OK;
    HP_TRY(print_stack(text));
    size_t n = rows->n - 1, shown = limit && limit < n ? limit : n;
    if (n == 0)
        return HP_OK;
    putc('\n', text->out);
    HP_TRY(hp_print_rows(text, &hp_view_cpi, columns,
                         &(struct hp_rows){.rows = rows->rows + 1, .n = shown}));
    hp_print_more(text->out, n - shown);
    return HP_OK;
}

static bool is_head(const struct hp_tables *tables, const struct hp_row *row)
{
    (void)tables;
    return row->item == 0;
}

static struct hp_subject subject(const struct hp_tables *tables, const struct hp_row *row)
{
    const struct hp_cpi_item *item = &tables->cpi[row->item];
    if (tables->by == HP_REPORT_BY_LOOP)
        return item->loop == HP_PROFILE_NONE ? (struct hp_subject){.kind = HP_ROW_KINDS}
                                             : (struct hp_subject){HP_ROW_LOOP, item->loop, NULL};
    return (struct hp_subject){HP_ROW_INSN, item->insn, NULL};
}

const struct hp_view hp_view_cpi = {
    .name = "cpi",
    .help = "where cycles went",
    .title = "Cycles",
    .each = "the run; with `--by` also function, loop, line or instruction",
    .order = "cycles, then address",
    .empty = "no cycles were attributed: --profile cycles --machine NAME",
    .there = {HP_ROW_INSN_CYCLES, HP_ROW_WINDOW, HP_ROW_SAMPLER},
    .make = make,
    .subject = subject,
    .is_head = is_head,
    .fields = fields,
    .fill = fill,
    .print = print,
};
