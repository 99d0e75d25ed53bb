// SPDX-License-Identifier: MIT
/* Instructions on a machine in cycles: the view. */
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#define INDENT 10 /* of a sentence below its row */

/* --- Rows ------------------------------------------------------------------------------------- */

static void add_row(struct hp_row *row, uint64_t weight, uint64_t count)
{
    hp_add_up(&row->v[0], weight);
    hp_add_up(&row->v[1], count);
}

/* v[0] is the weight, v[1] executions or samples. */
static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_insns *insns = &tables->insns;
    HP_TRY(hp_rows_of_items(rows, p->n_insns));
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        add_row(&rows->rows[p->insn_cycles[i].insn], p->insn_cycles[i].parts, 0);
    for (size_t i = 0; i < insns->best.n; i++) {
        const struct hp_pinsn_tally *t = &insns->best.tallies[i];
        add_row(&rows->rows[t->insn], insns->exact ? 0 : hp_insn_time(insns, &t->tally),
                t->tally.fetched);
    }
    rows->n = 0;
    for (size_t i = 0; i < p->n_insns; i++)
        if (rows->rows[i].v[0] || rows->rows[i].v[1])
            rows->rows[rows->n++] = rows->rows[i];
    return HP_OK;
}

static double share_of(const struct hp_insn_facts *facts)
{
    return hp_number_share(hp_insn_weight(facts), facts->run->weight);
}

/* --- For scripts ------------------------------------------------------------------------------ */

enum { CLASS, SEEN, SAMPLES, RETIRED, FETCHED, WRONG_PATH, TRAPPED, CYCLES, SHARE, CPI, WHY };
enum { CAUSES, LATENCY, RATES };

/* Executions, rounded. */
static struct hp_cell count(const struct hp_insn_facts *facts, uint64_t n)
{
    if (!hp_insn_has_counts(facts))
        return hp_cell_none();
    double value = hp_insn_count(facts, n).value;
    return hp_cell_number(value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
}

/* The same of what may not have retired. */
static struct hp_cell count_aborted(const struct hp_insn_facts *facts, uint64_t n)
{
    return facts->exact || facts->about->aborted ? count(facts, n) : hp_cell_none();
}

static struct hp_cell get(const struct hp_field_input *in)
{
    struct hp_insn_facts facts = hp_insn_facts(in->tables, in->row->item);
    const struct hp_insn_tally *tally = hp_insn_tally(&facts);
    const struct hp_pinsn_tally *seen = facts.exact ? facts.exact : facts.sampled;
    switch (in->field->value) {
    case CLASS:
        return hp_cell_text(hp_op_name((enum hp_op)in->tables->profile->insns[facts.insn].op));
    case SEEN: return hp_cell_text(seen ? seen->seen : facts.n_cycles ? "exact" : "");
    case SAMPLES:
        if (!facts.run->sampler)
            return hp_cell_none();
        return hp_cell_number(facts.sampled ? facts.sampled->tally.fetched : 0);
    case RETIRED: return count(&facts, tally->retired);
    case FETCHED: return count_aborted(&facts, tally->fetched);
    case WRONG_PATH: return count_aborted(&facts, tally->wrong_path);
    case TRAPPED: return count_aborted(&facts, tally->trapped);
    case CYCLES: return hp_cell_fraction(hp_insn_cycles(&facts).value);
    case SHARE: return hp_cell_fraction(share_of(&facts));
    case CPI:
        if (tally->retired == 0)
            return hp_cell_none();
        return hp_cell_fraction(hp_insn_each(&facts));
    default:
        hp_insn_why(in->tables, &facts, in->buffer);
        return hp_cell_text(hp_strbuf_text(in->buffer));
    }
}

/* By cause, stage or event. */
static void put_numbers(const struct hp_insn_facts *facts, unsigned by, struct hp_list *list,
                        void (*put)(struct hp_list *, const char *, struct hp_estimate))
{
    const uint64_t *events = hp_insn_tally(facts)->events;
    for (size_t i = 0; by == CAUSES && i < facts->n_cycles; i++)
        hp_list_named(list, hp_cause_name((enum hp_cause)facts->cycles[i].cause),
                      (double)facts->cycles[i].parts / HP_CYCLE_PARTS);
    for (int i = 0; by == LATENCY && i < HP_STAGES; i++)
        if (hp_insn_has_stage(facts, (enum hp_stage)i))
            put(list, hp_stage_name((enum hp_stage)i), hp_insn_stage(facts, (enum hp_stage)i));
    for (int i = 0; by == RATES && i < HP_INSN_EVENTS; i++)
        if (events[i])
            put(list, hp_insn_event_name((enum hp_insn_event)i),
                hp_insn_rate(facts, (enum hp_insn_event)i));
}

static void put_value(struct hp_list *list, const char *name, struct hp_estimate estimate)
{
    hp_list_named(list, name, estimate.value);
}

static void list_numbers(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = hp_insn_facts(in->tables, in->row->item);
    put_numbers(&facts, in->field->value, list, put_value);
}

/* An estimate that only a paired sampler has; in CSV its value and bounds are items. */
static void list_paired(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = hp_insn_facts(in->tables, in->row->item);
    struct hp_estimate e;
    bool known = hp_insn_paired(&facts, (enum hp_insn_paired)in->field->value, &e);
    if (list->json && known)
        hp_json_estimate(list->json, e);
    else if (list->json)
        hp_json_null(list->json);
    else if (known && e.low == e.high)
        hp_strbuf_fixed(list->text, e.value, 6);
    else if (known)
        hp_strbuf_format(list->text, "%s %s %s", HP_FIXED(e.value, 6), HP_FIXED(e.low, 6),
                         HP_FIXED(e.high, 6));
}

/* Measures of overlap of an execution, by the sampler that the other estimates are from. */
static void list_overlaps(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    const struct hp_psampler *sampler = in->tables->insns.sampler;
    size_t n;
    const struct hp_pinsn_overlap *overlaps = hp_items(p, HP_ROW_INSN_OVERLAP, in->row->item, &n);
    for (size_t i = 0; i < n && sampler; i++)
        if (strcmp(hp_text(overlaps[i].seen), hp_text(sampler->name)) == 0)
            hp_list_estimate(list, overlaps[i].measure,
                             hp_insn_overlap_each(sampler, &overlaps[i]));
}

static void list_waits(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_profile *p = in->tables->profile;
    size_t n;
    const struct hp_pwait *waits = hp_items(p, HP_ROW_WAIT, in->row->item, &n);
    for (size_t i = 0; i < n; i++) {
        hp_list_begin(list);
        hp_list_add_place(list, "producer", p->insns[waits[i].producer].place);
        hp_list_add_number(list, "count", waits[i].count);
        hp_list_add_number(list, "cycles", waits[i].cycles);
        hp_list_end(list);
    }
}

void hp_insn_list_estimates(const struct hp_insn_facts *of, struct hp_list *list)
{
    struct hp_insn_facts facts = *of;
    facts.exact = NULL;
    const struct hp_insn_tally *tally = hp_insn_tally(&facts);
    bool counts = hp_insn_has_counts(&facts);
    if (!hp_list_begin_known(list, facts.sampled))
        return;
    if (list->json)
        hp_json_put_string(list->json, "sampler", facts.sampled->seen);
    if (counts)
        hp_list_estimate(list, "retired", hp_insn_count(&facts, tally->retired));
    if (facts.about->aborted)
        hp_list_estimate(list, "fetched", hp_insn_count(&facts, tally->fetched));
    if (list->json && facts.about->aborted) {
        hp_list_estimate(list, "wrong_path", hp_insn_count(&facts, tally->wrong_path));
        hp_list_estimate(list, "trapped", hp_insn_count(&facts, tally->trapped));
    }
    hp_list_estimate(list, "cycles", hp_insn_latencies(&facts));
    for (unsigned by = LATENCY; by <= RATES; by++) {
        if (list->json)
            hp_json_put_object(list->json, by == LATENCY ? "latency" : "rates");
        put_numbers(&facts, by, list, hp_list_estimate);
        hp_list_end(list);
    }
    hp_list_end(list);
}

/* What the sampler says. */
static void list_estimates(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = hp_insn_facts(in->tables, in->row->item);
    hp_insn_list_estimates(&facts, list);
}

/* What another sampler says of its fetches. */
static void list_fetches(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_insn_facts facts = hp_insn_facts(in->tables, in->row->item);
    if (!hp_list_begin_known(list, facts.fetches))
        return;
    struct hp_insn_facts fetches = hp_insn_fetch_facts(&facts);
    if (list->json)
        hp_json_put_string(list->json, "sampler", facts.fetches->seen);
    hp_list_estimate(
        list, "fetches",
        hp_estimate_count(facts.fetches->tally.fetched, (double)facts.run->fetcher->interval, 1));
    put_numbers(&fetches, LATENCY, list, hp_list_estimate);
    put_numbers(&fetches, RATES, list, hp_list_estimate);
    hp_list_end(list);
}

static const struct hp_field fields[] = {
    {"address", "where it is", HP_PLACE("")},
    {"function", "that it is in", HP_COLUMN},
    {"file", "source file", HP_COLUMN},
    {"line", "source line", HP_COLUMN},
    {"inlined", "function that was inlined there", HP_COLUMN},
    {"text", "disassembled", HP_COLUMN},
    {"class", "what kind of instruction it is", .get = get, .value = CLASS},
    {"version", "tells apart other code seen at the same place", HP_COLUMN},
    {"seen", "`exact`, or the sampler that the numbers are from", .get = get, .value = SEEN},
    {"samples", "of the sampler; null: there is none", .get = get, .value = SAMPLES},
    {"retired", "executions that retired", .get = get, .value = RETIRED},
    {"fetched", "executions that were fetched", .get = get, .value = FETCHED},
    {"wrong_path", "of these, on a wrong path", .get = get, .value = WRONG_PATH},
    {"trapped", "of these, trapped", .get = get, .value = TRAPPED},
    {"cycles", "that it is responsible for; by sampling its latencies", .get = get,
     .value = CYCLES},
    {"share", "of `cycles` in all of them", .get = get, .value = SHARE},
    {"cpi", "`cycles` of an execution that retired", .get = get, .value = CPI},
    {"causes", "cycles by cause", .list = list_numbers, .value = CAUSES, .list_kind = HP_LIST_NAMED,
     .member = hp_cause_at},
    {"latency", "cycles by stage of an execution that retired", .list = list_numbers,
     .value = LATENCY, .list_kind = HP_LIST_NAMED},
    {"rates", "share of retired executions with an event", .list = list_numbers, .value = RATES,
     .list_kind = HP_LIST_NAMED},
    {"wasted_slots", "issue slots wasted while it was in progress: an estimate, or null",
     .list = list_paired, .value = HP_INSN_WASTED, .list_kind = HP_LIST_VALUE},
    {"near_ipc", "instructions retired a cycle around it: an estimate, or null",
     .list = list_paired, .value = HP_INSN_NEAR_IPC, .list_kind = HP_LIST_VALUE},
    {"overlaps", "of an execution with others, by measure: estimates", .list = list_overlaps,
     .list_kind = HP_LIST_NAMED, .needs = HP_ROW_INSN_OVERLAP},
    {"waits", "whose results it waited for: `producer`, `count`, `cycles`", .list = list_waits},
    {"estimates",
     "what the sampler says: `sampler`, `retired`, `fetched`, `wrong_path`, `trapped`, `cycles`, "
     "`latency`, `rates`; or null",
     .list = list_estimates, .list_kind = HP_LIST_VALUE},
    {"fetches",
     "what a sampler of fetches says: `sampler`, `fetches`, `map`: cycles of a fetch, `l1i`, "
     "`itlb`; or null",
     .list = list_fetches, .list_kind = HP_LIST_VALUE},
    {"why", "a sentence why it takes its time", .get = get, .value = WHY},
    {0}};

/* --- The run ---------------------------------------------------------------------------------- */

static enum hp_err print_windows(const struct hp_windows_sum *w,
                                 const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_format(&text, "CPI %s (95 %%: %s to %s), so ", HP_FIXED(w->cpi.value, 3),
                     HP_FIXED(w->cpi.low, 3), HP_FIXED(w->cpi.high, 3));
    hp_put_estimate(w->all, &text);
    hp_strbuf_add(&text, " cycles in all");
    HP_TRY(hp_print_line(&text, options, out));
    hp_strbuf_format(&text, "  extrapolated from %s window%s: %s of %s instructions",
                     HP_GROUPED(w->n), w->n == 1 ? "" : "s", HP_HUMAN(w->instructions),
                     HP_HUMAN(w->run));
    HP_TRY(hp_print_line(&text, options, out));
    if (w->n >= HP_WINDOWS_TRUSTED)
        return HP_OK;
    hp_strbuf_add(&text, "  fewer than 30 windows: the interval is not to be trusted");
    return hp_print_line(&text, options, out);
}

enum hp_err hp_print_cycles_head(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out)
{
    const struct hp_insns *insns = &tables->insns;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    if (insns->windows.n)
        HP_TRY(print_windows(&insns->windows, options, out));
    if (!insns->exact && !insns->sampler)
        return HP_OK;
    if (insns->exact) {
        hp_strbuf_format(&text, "%s%s cycles", insns->windows.n ? "  measured: " : "",
                         HP_AMOUNT((double)insns->parts / HP_CYCLE_PARTS));
        if (insns->retired)
            hp_strbuf_format(&text, ", %s instructions: CPI %s", HP_HUMAN(insns->retired),
                             HP_FIXED(hp_cpi_of(insns->parts, insns->retired), 3));
    } else {
        hp_strbuf_clean(&text, insns->sampler->name);
        hp_strbuf_format(&text, ": %s samples; cycles are %s%s",
                         HP_GROUPED(insns->sampler->samples), insns->about->latency,
                         insns->about->executions ? ", and overlap" : "");
    }
    return hp_print_line(&text, options, out);
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
    const struct hp_insn_facts facts = hp_insn_facts(in->tables, row->item);
    const struct hp_pinsn *insn = &in->tables->profile->insns[facts.insn];
    struct hp_estimate cycles = hp_insn_cycles(&facts), retired = hp_insn_retired(&facts);
    hp_strbuf_percent(&cells[0], share_of(&facts));
    hp_put_estimate(cycles, &cells[1]);
    if (hp_insn_has_counts(&facts))
        hp_put_estimate(retired, &cells[2]);
    if (retired.value > 0)
        hp_put_cycles(hp_insn_each(&facts), &cells[3]);
    if (*hp_text(insn->file)) {
        hp_put_source_place(hp_base_name(insn->file), insn->line, &cells[4]);
        hp_strbuf_add(&cells[4], " ");
    }
    hp_put_code(in->tables, insn->function, insn->place, &cells[4]);
    hp_put_assembly(hp_text(insn->text), &cells[5]);
    return share_of(&facts);
}

/* "operands 3.1, load 38.2": the stages that take most. */
static void say_stages(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    for (int i = 0; i < HP_STAGES; i++) {
        struct hp_estimate stage = hp_insn_stage(facts, (enum hp_stage)i);
        if (stage.value < 0.05 || !hp_insn_has_stage(facts, (enum hp_stage)i))
            continue;
        hp_strbuf_format(text, "%s%s ", text->length ? ", " : "",
                         hp_insn_stage_name(facts, (enum hp_stage)i));
        hp_put_cycles(stage.value, text);
        hp_put_interval(stage, text);
    }
}

/* "; l1d 38.0%, l2 20.0%": the events that are worth knowing. */
static void say_rates(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    static const enum hp_insn_event shown[] = {
        HP_INSN_L1I,  HP_INSN_ITLB,  HP_INSN_L1D,          HP_INSN_L2,        HP_INSN_L3,
        HP_INSN_DTLB, HP_INSN_TAKEN, HP_INSN_MISPREDICTED, HP_INSN_FORWARDED, HP_INSN_BLOCKED};
    const char *between = text->length ? "; " : "";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        struct hp_estimate rate = hp_insn_rate(facts, shown[i]);
        if (rate.value < 0.0005)
            continue;
        hp_strbuf_format(text, "%s%s %s", between, hp_insn_event_name(shown[i]),
                         HP_PERCENT(rate.value));
        if (rate.high > rate.low)
            hp_strbuf_format(text, " (%s to %s)", HP_PERCENT(rate.low), HP_PERCENT(rate.high));
        between = ", ";
    }
}

void hp_insn_say(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    say_stages(facts, text);
    say_rates(facts, text);
}

/* "; fetches 5.1 cycles, l1i 12.0%" */
static void say_fetches(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    if (!facts->fetches)
        return;
    struct hp_insn_facts fetches = hp_insn_fetch_facts(facts);
    struct hp_estimate cycles = hp_insn_stage(&fetches, HP_STAGE_MAP);
    hp_strbuf_format(text, "%sfetches ", text->length ? "; " : "");
    hp_put_cycles(cycles.value, text);
    hp_put_interval(cycles, text);
    say_rates(&fetches, text);
}

static void say_wasted(const struct hp_insn_facts *facts, struct hp_strbuf *text)
{
    struct hp_estimate wasted;
    if (!hp_insn_paired(facts, HP_INSN_WASTED, &wasted))
        return;
    /* below 0: more was issued in the samples than there is in the mean, which is chance */
    hp_strbuf_format(text, "%swasted slots %s (%s to %s)", text->length ? "; " : "",
                     HP_AMOUNT(wasted.value), HP_AMOUNT(wasted.low), HP_AMOUNT(wasted.high));
}

/* The sentence, and the numbers behind it. */
static enum hp_err print_below(const struct hp_text *in, const struct hp_row *row)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_insn_facts facts = hp_insn_facts(in->tables, row->item);
    hp_insn_why(in->tables, &facts, &text);
    HP_TRY(hp_print_wrapped(&text, INDENT, in->options, in->out));
    hp_insn_say(&facts, &text);
    say_fetches(&facts, &text);
    say_wasted(&facts, &text);
    return hp_print_wrapped(&text, INDENT, in->options, in->out);
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    HP_TRY(hp_print_cycles_head(text->tables, text->options, text->out));
    return hp_print_list(text, &hp_view_instructions, rows, limit);
}

const struct hp_view hp_view_instructions = {
    .name = "instructions",
    .help = "the worst instructions of a machine in cycles, and why",
    .title = "Instructions",
    .each = "instruction that a machine in cycles ran",
    .order = "cycles, then address",
    .empty = "no machine in cycles ran it: --profile cycles,instructions --machine NAME",
    .overview = true,
    .there = {HP_ROW_INSN_TALLY, HP_ROW_INSN_CYCLES},
    .item = HP_ROW_INSN,
    .make = make,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
    .below = print_below,
    .top = HP_REPORT_PATHS_TOP,
};
