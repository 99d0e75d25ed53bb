// SPDX-License-Identifier: MIT
/*
 * Instructions on a machine in cycles: the view.
 */
#include "report/cycles/text.h"
#include "report/fields.h"
#include "report/text.h"

#define INDENT 10 /* of a sentence below its row */

/* --- For scripts ------------------------------------------------------------------------------ */

static struct hp_insn_facts facts_of(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    hp_insn_facts(in->tables, in->row->item, &facts);
    return facts;
}

/* A count, rounded. */
static struct hp_cell count(double value)
{
    return hp_cell_number(value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
}

static struct hp_cell class(const struct hp_field_input *in)
{
    return hp_cell_text(hp_op_name((enum hp_op)in->tables->profile->insns[in->row->item].op));
}

static struct hp_cell seen(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    const struct hp_pinsn_tally *tally = hp_insn_tally_of(&facts, HP_INSN_BEST);
    return hp_cell_text(tally ? tally->seen : facts.n_cycles ? "exact" : "");
}

static struct hp_cell samples(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    if (!facts.sampler)
        return hp_cell_none();
    return hp_cell_number(facts.sampled ? facts.sampled->tally.fetched : 0);
}

static struct hp_insn_executions executions(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    return hp_insn_executions(&facts, HP_INSN_BEST);
}

static struct hp_cell retired(const struct hp_field_input *in)
{
    return count(executions(in).retired.value);
}

static struct hp_cell fetched(const struct hp_field_input *in)
{
    return count(executions(in).fetched.value);
}

static struct hp_cell wrong_path(const struct hp_field_input *in)
{
    return count(executions(in).wrong_path.value);
}

static struct hp_cell trapped(const struct hp_field_input *in)
{
    return count(executions(in).trapped.value);
}

static double cycles_of(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    return hp_insn_cycles_of(&facts, HP_INSN_BEST).value;
}

static struct hp_cell cycles(const struct hp_field_input *in)
{
    return hp_cell_fraction(cycles_of(in));
}

static struct hp_cell share(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    return hp_cell_fraction(hp_insn_share(in->tables, &facts));
}

static struct hp_cell cpi(const struct hp_field_input *in)
{
    double n = executions(in).retired.value;
    return n > 0 ? hp_cell_fraction(cycles_of(in) / n) : hp_cell_none();
}

/* By cause, stage and event: those that are not 0. */
static void list_causes(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    for (size_t i = 0; i < facts.n_cycles; i++)
        hp_list_named(list, hp_cause_name((enum hp_cause)facts.cycles[i].cause),
                      (double)facts.cycles[i].parts / HP_CYCLE_PARTS);
}

static void list_latency(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    for (int i = 0; i < HP_STAGES; i++)
        hp_list_named(list, hp_stage_name((enum hp_stage)i),
                      hp_insn_stage(&facts, HP_INSN_BEST, (enum hp_stage)i).value);
}

static void list_rates(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    for (int i = 0; i < HP_INSN_EVENTS; i++) {
        double rate = hp_insn_rate(&facts, HP_INSN_BEST, (enum hp_insn_event)i).value;
        if (rate > 0)
            hp_list_named(list, hp_insn_event_name((enum hp_insn_event)i), rate);
    }
}

/* An estimate that only a paired sampler has; in CSV its value and bounds are items. */
static void put_estimate(struct hp_list *list, bool known, struct hp_estimate estimate)
{
    if (list->json && known)
        hp_json_estimate(list->json, estimate);
    else if (list->json)
        hp_json_null(list->json);
    if (list->json || !known)
        return;
    hp_strbuf_fixed(list->text, estimate.value, 6);
    if (estimate.low == estimate.high)
        return;
    hp_strbuf_add(list->text, " ");
    hp_strbuf_fixed(list->text, estimate.low, 6);
    hp_strbuf_add(list->text, " ");
    hp_strbuf_fixed(list->text, estimate.high, 6);
}

static void wasted_slots(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    struct hp_estimate estimate;
    bool known = hp_insn_wasted(&facts, &estimate);
    put_estimate(list, known, estimate);
}

static void near_ipc(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    struct hp_estimate estimate;
    bool known = hp_insn_near_ipc(&facts, &estimate);
    put_estimate(list, known, estimate);
}

static void list_waits(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    for (size_t i = 0; i < facts.n_waits; i++) {
        hp_list_begin(list);
        hp_list_add_place(list, "producer",
                          in->tables->profile->insns[facts.waits[i].producer].place);
        hp_list_add_number(list, "count", facts.waits[i].count);
        hp_list_add_number(list, "cycles", facts.waits[i].cycles);
        hp_list_end(list);
    }
}

static void begin_part(struct hp_list *list, const char *key)
{
    if (list->json) {
        hp_json_put_object(list->json, key);
    }
}

static void end_part(struct hp_list *list)
{
    if (list->json)
        hp_json_end_object(list->json);
}

/* What the sampler says. */
static void put_sampled(const struct hp_insn_facts *facts, struct hp_list *list)
{
    struct hp_insn_executions n = hp_insn_executions(facts, HP_INSN_SAMPLED);
    hp_list_estimate(list, "retired", n.retired);
    hp_list_estimate(list, "fetched", n.fetched);
    if (list->json) {
        hp_list_estimate(list, "wrong_path", n.wrong_path);
        hp_list_estimate(list, "trapped", n.trapped);
    }
    hp_list_estimate(list, "cycles", hp_insn_cycles_of(facts, HP_INSN_SAMPLED));
    begin_part(list, "latency");
    for (int i = 0; i < HP_STAGES; i++)
        hp_list_estimate(list, hp_stage_name((enum hp_stage)i),
                         hp_insn_stage(facts, HP_INSN_SAMPLED, (enum hp_stage)i));
    end_part(list);
    begin_part(list, "rates");
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        if (facts->sampled->tally.events[i])
            hp_list_estimate(list, hp_insn_event_name((enum hp_insn_event)i),
                             hp_insn_rate(facts, HP_INSN_SAMPLED, (enum hp_insn_event)i));
    end_part(list);
}

static void list_estimates(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = facts_of(in);
    if (list->json && !facts.sampled)
        hp_json_null(list->json);
    if (!facts.sampled)
        return;
    if (list->json) {
        hp_json_begin_object(list->json);
        hp_json_put_string(list->json, "sampler", facts.sampled->seen);
    }
    put_sampled(&facts, list);
    end_part(list);
}

static struct hp_cell why(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = facts_of(in);
    hp_insn_why(in->tables, &facts, in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

#define ESTIMATE .list_kind = HP_LIST_VALUE
static const struct hp_field fields[] = {
    {"address", "where it is", HP_PLACE("")},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "source line", HP_COLUMN},
    {"inlined", "function that was inlined there", HP_COLUMN},
    {"text", "disassembled", HP_COLUMN},
    {"class", "what kind of instruction it is", .get = class},
    {"version", "tells apart other code seen at the same place", HP_COLUMN},
    {"seen", "`exact`, or the sampler that the numbers are from", .get = seen},
    {"samples", "of the sampler; null: there is none", .get = samples},
    {"retired", "executions that retired", .get = retired},
    {"fetched", "executions that were fetched", .get = fetched},
    {"wrong_path", "of these, on a wrong path", .get = wrong_path},
    {"trapped", "of these, trapped", .get = trapped},
    {"cycles", "that it is responsible for; by sampling its latencies", .get = cycles},
    {"share", "of `cycles` in all of them", .get = share},
    {"cpi", "`cycles` of an execution that retired", .get = cpi},
    {"causes", "cycles by cause", .list = list_causes, .list_kind = HP_LIST_NAMED},
    {"latency", "cycles by stage of an execution that retired", .list = list_latency,
     .list_kind = HP_LIST_NAMED},
    {"rates", "share of retired executions with an event", .list = list_rates,
     .list_kind = HP_LIST_NAMED},
    {"wasted_slots", "issue slots wasted while it was in progress: an estimate, or null",
     .list = wasted_slots, ESTIMATE},
    {"near_ipc", "instructions retired a cycle around it: an estimate, or null", .list = near_ipc,
     ESTIMATE},
    {"waits", "whose results it waited for: `producer`, `count`, `cycles`", .list = list_waits},
    {"estimates",
     "what the sampler says: `sampler`, `retired`, `fetched`, `wrong_path`, `trapped`, `cycles`, "
     "`latency`, `rates`; or null",
     .list = list_estimates, ESTIMATE},
    {"why", "a sentence why it takes its time", .get = why},
    {0}};

/* --- The run ---------------------------------------------------------------------------------- */

static enum hp_err print_windows(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out)
{
    const struct hp_windows_sum *w = &tables->insns.windows;
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, "CPI ");
    hp_strbuf_fixed(&text, w->cpi.value, 3);
    hp_strbuf_add(&text, " (95 %: ");
    hp_strbuf_fixed(&text, w->cpi.low, 3);
    hp_strbuf_add(&text, " to ");
    hp_strbuf_fixed(&text, w->cpi.high, 3);
    hp_strbuf_add(&text, "), so ");
    hp_put_amount(w->all.value, &text);
    hp_put_interval(w->all, &text);
    hp_strbuf_add(&text, " cycles in all");
    enum hp_err err = hp_print_line(&text, options, out);
    hp_strbuf_add(&text, "  extrapolated from ");
    hp_strbuf_grouped(&text, w->n);
    hp_strbuf_add(&text, w->n == 1 ? " window: " : " windows: ");
    hp_strbuf_human(&text, w->instructions);
    hp_strbuf_add(&text, " of ");
    hp_strbuf_human(&text, w->run);
    hp_strbuf_add(&text, " instructions");
    if (err == HP_OK)
        err = hp_print_line(&text, options, out);
    if (w->n < HP_WINDOWS_TRUSTED) {
        hp_strbuf_add(&text, "  fewer than 30 windows: the interval is not to be trusted");
        if (err == HP_OK)
            err = hp_print_line(&text, options, out);
    }
    hp_strbuf_fini(&text);
    return err;
}

enum hp_err hp_print_cycles_head(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out)
{
    const struct hp_insns *insns = &tables->insns;
    struct hp_strbuf text = {0};
    if (insns->windows.n)
        HP_TRY(print_windows(tables, options, out));
    if (!insns->exact && !insns->sampler)
        return HP_OK;
    if (insns->exact) {
        hp_strbuf_add(&text, insns->windows.n ? "  measured: " : "");
        hp_put_amount((double)insns->parts / HP_CYCLE_PARTS, &text);
        hp_strbuf_add(&text, " cycles");
        if (insns->retired) {
            hp_strbuf_add(&text, ", ");
            hp_strbuf_human(&text, insns->retired);
            hp_strbuf_add(&text, " instructions: CPI ");
            hp_strbuf_fixed(&text, hp_cpi_of(insns->parts, insns->retired), 3);
        }
    } else {
        hp_strbuf_clean(&text, insns->sampler->name);
        hp_strbuf_add(&text, ": ");
        hp_strbuf_grouped(&text, insns->sampler->samples);
        hp_strbuf_add(&text, " samples; cycles are from fetch to retire ready, and overlap");
    }
    return hp_print_last_line(&text, options, out);
}

/* --- For people ------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"cycles", .right = true},
                                           {"times", .right = true},
                                           {"each", .right = true},
                                           {"where", .flexible = true},
                                           {"instruction", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    struct hp_insn_facts known, *facts = &known;
    hp_insn_facts(tables, row->item, facts);
    const struct hp_pinsn *insn = &tables->profile->insns[facts->insn];
    struct hp_estimate cycles = hp_insn_cycles_of(facts, HP_INSN_BEST);
    struct hp_estimate retired = hp_insn_executions(facts, HP_INSN_BEST).retired;
    double heat = hp_insn_share(tables, facts);
    hp_strbuf_percent(&cells[0], heat);
    hp_put_amount(cycles.value, &cells[1]);
    hp_put_interval(cycles, &cells[1]);
    hp_put_amount(retired.value, &cells[2]);
    hp_put_interval(retired, &cells[2]);
    if (retired.value > 0)
        hp_strbuf_fixed(&cells[3], cycles.value / retired.value,
                        cycles.value / retired.value < 99.95 ? 1 : 0);
    if (*hp_text(insn->file)) {
        hp_put_source_place(hp_base_name(insn->file), insn->line, &cells[4]);
        hp_strbuf_add(&cells[4], " ");
    }
    hp_put_code(tables, insn->function, insn->place, &cells[4]);
    hp_put_assembly(hp_text(insn->text), &cells[5]);
    return heat;
}

/* "load 38.2, operands 3.1 cycles": the stages that take most. */
static void put_stages(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    bool first = true;
    for (int i = 0; i < HP_STAGES; i++) {
        struct hp_estimate stage = hp_insn_stage(facts, HP_INSN_BEST, (enum hp_stage)i);
        if (stage.value < 0.05)
            continue;
        hp_strbuf_add(text, first ? "" : ", ");
        hp_strbuf_add(text, hp_stage_name((enum hp_stage)i));
        hp_strbuf_add(text, " ");
        hp_strbuf_fixed(text, stage.value, stage.value < 99.95 ? 1 : 0);
        hp_put_interval(stage, text);
        first = false;
    }
}

/* " l1d 38.0%" for each event that is worth knowing. */
static void put_rates(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    static const enum hp_insn_event shown[] = {
        HP_INSN_L1I,  HP_INSN_ITLB,  HP_INSN_L1D,          HP_INSN_L2,        HP_INSN_L3,
        HP_INSN_DTLB, HP_INSN_TAKEN, HP_INSN_MISPREDICTED, HP_INSN_FORWARDED, HP_INSN_BLOCKED};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        struct hp_estimate rate = hp_insn_rate(facts, HP_INSN_BEST, shown[i]);
        if (rate.value < 0.0005)
            continue;
        hp_strbuf_add(text, text->length ? ", " : "");
        hp_strbuf_add(text, hp_insn_event_name(shown[i]));
        hp_strbuf_add(text, " ");
        hp_strbuf_percent(text, rate.value);
        if (rate.high > rate.low) {
            hp_strbuf_add(text, " (");
            hp_strbuf_percent(text, rate.low);
            hp_strbuf_add(text, " to ");
            hp_strbuf_percent(text, rate.high);
            hp_strbuf_add(text, ")");
        }
    }
}

static void put_wasted(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    struct hp_estimate wasted;
    if (!hp_insn_wasted(facts, &wasted))
        return;
    hp_strbuf_add(text, text->length ? "; " : "");
    /* below 0: more was issued in the samples than there is in the mean, which is chance */
    hp_strbuf_add(text, "wasted slots ");
    hp_put_amount(wasted.value, text);
    hp_strbuf_add(text, " (");
    hp_put_amount(wasted.low, text);
    hp_strbuf_add(text, " to ");
    hp_put_amount(wasted.high, text);
    hp_strbuf_add(text, ")");
}

/* The sentence, and the numbers behind it. */
static enum hp_err print_below(const struct hp_text *in, const struct hp_row *row)
{
    struct hp_strbuf text = {0}, rates = {0};
    struct hp_insn_facts facts;
    hp_insn_facts(in->tables, row->item, &facts);
    hp_insn_why(in->tables, &facts, &text);
    enum hp_err err = hp_print_wrapped(&text, INDENT, in->options, in->out);
    put_stages(&facts, &text);
    put_rates(&facts, &rates);
    put_wasted(&facts, &rates);
    if (rates.length) {
        hp_strbuf_add(&text, text.length ? "; " : "");
        hp_strbuf_add(&text, hp_strbuf_text(&rates));
    }
    text.failed |= rates.failed;
    if (err == HP_OK)
        err = hp_print_wrapped(&text, INDENT, in->options, in->out);
    hp_strbuf_fini(&text);
    hp_strbuf_fini(&rates);
    return err;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    HP_TRY(hp_print_cycles_head(text->tables, text->options, text->out));
    hp_rows_keep(rows, text->tables, &hp_view_instructions, limit);
    HP_TRY(hp_print_rows(text, &hp_view_instructions, NULL, rows, print_below));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

static int compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->insns[a].place, p->insns[b].place);
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_insn_tallies > 0 || profile->n_insn_cycles > 0;
}

const struct hp_view hp_view_instructions = {
    .name = "instructions",
    .help = "the worst instructions of a machine in cycles, and why",
    .title = "Instructions",
    .each = "instruction that a machine in cycles ran",
    .order = "cycles, then address",
    .empty = "no machine in cycles ran it: --profile cycles,instructions --machine NAME",
    .overview = true,
    .is_there = is_there,
    .item = HP_ROW_INSN,
    .make = hp_rows_insns,
    .compare = compare,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
    .top = HP_REPORT_PATHS_TOP,
};
