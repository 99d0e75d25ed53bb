// SPDX-License-Identifier: MIT
/*
 * The fields of instructions on a machine in cycles.
 */
#include "report/fields.h"
#include "text/number.h"

static void facts_of(const struct hp_field_input *in, struct hp_insn_facts *facts)
{
    hp_insn_facts(in->tables, in->row->item, facts);
}

static const struct hp_pinsn *insn_of(const struct hp_field_input *in)
{
    return &in->tables->profile->insns[in->row->item];
}

/* --- Estimates -------------------------------------------------------------------------------- */

void hp_json_estimate(struct hp_json *json, struct hp_estimate estimate)
{
    hp_json_begin_object(json);
    hp_json_key(json, "value");
    hp_json_fixed(json, estimate.value, 6);
    hp_json_key(json, "low");
    hp_json_fixed(json, estimate.low, 6);
    hp_json_key(json, "high");
    hp_json_fixed(json, estimate.high, 6);
    hp_json_end_object(json);
}

void hp_list_estimate(struct hp_strbuf *buffer, const char *name, struct hp_estimate estimate)
{
    const double values[] = {estimate.value, estimate.low, estimate.high};
    bool one = estimate.low == estimate.high;
    if (name)
        hp_strbuf_add(buffer, name);
    for (size_t i = 0; i < (one ? 1 : 3); i++) {
        hp_strbuf_add(buffer, name ? ":" : i ? "\n" : "");
        hp_strbuf_fixed(buffer, values[i], 6);
    }
    hp_strbuf_add(buffer, "\n");
}

/* A count, rounded. */
static struct hp_cell count(double value)
{
    return hp_cell_number(value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
}

/* --- What it is ------------------------------------------------------------------------------- */

static struct hp_cell address(const struct hp_field_input *in)
{
    return hp_cell_place(in, insn_of(in)->place);
}

static struct hp_cell function(const struct hp_field_input *in)
{
    uint32_t index = insn_of(in)->function;
    return hp_cell_text(index == HP_PROFILE_NONE ? "" : in->tables->functions[index]);
}

static struct hp_cell file(const struct hp_field_input *in)
{
    return hp_cell_text(insn_of(in)->file);
}

static struct hp_cell line(const struct hp_field_input *in)
{
    return hp_cell_number(insn_of(in)->line);
}

static struct hp_cell inlined(const struct hp_field_input *in)
{
    return hp_cell_text(insn_of(in)->inlined);
}

static struct hp_cell text(const struct hp_field_input *in)
{
    return hp_cell_text(insn_of(in)->text);
}

static struct hp_cell class(const struct hp_field_input *in)
{
    return hp_cell_text(hp_op_name((enum hp_op)insn_of(in)->op));
}

static struct hp_cell version(const struct hp_field_input *in)
{
    return hp_cell_number(insn_of(in)->version);
}

/* --- Executions and cycles -------------------------------------------------------------------- */

static struct hp_cell seen(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    const struct hp_pinsn_tally *tally = hp_insn_tally_of(&facts, HP_INSN_BEST);
    return hp_cell_text(tally ? tally->seen : facts.n_cycles ? "exact" : "");
}

static struct hp_cell samples(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    if (!facts.sampler)
        return hp_cell_none();
    return hp_cell_number(facts.sampled ? facts.sampled->tally.fetched : 0);
}

static struct hp_insn_executions executions(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
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

static struct hp_cell cycles(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    return hp_cell_fraction(hp_insn_cycles_of(&facts, HP_INSN_BEST).value);
}

static struct hp_cell share(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    return hp_cell_fraction(hp_insn_share(in->tables, &facts));
}

static struct hp_cell cpi(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    double n = hp_insn_executions(&facts, HP_INSN_BEST).retired.value;
    if (!(n > 0))
        return hp_cell_none();
    return hp_cell_fraction(hp_insn_cycles_of(&facts, HP_INSN_BEST).value / n);
}

/* --- By cause, stage and event: those that are not 0 ------------------------------------------ */

static void nested_causes(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    hp_json_begin_object(json);
    for (size_t i = 0; i < facts.n_cycles; i++) {
        hp_json_key(json, hp_cause_name((enum hp_cause)facts.cycles[i].cause));
        hp_json_fixed(json, (double)facts.cycles[i].parts / HP_CYCLE_PARTS, 6);
    }
    hp_json_end_object(json);
}

static void add_item(struct hp_strbuf *buffer, const char *name, double value)
{
    hp_list_estimate(buffer, name, (struct hp_estimate){value, value, value});
}

static struct hp_cell causes(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    for (size_t i = 0; i < facts.n_cycles; i++)
        add_item(in->buffer, hp_cause_name((enum hp_cause)facts.cycles[i].cause),
                 (double)facts.cycles[i].parts / HP_CYCLE_PARTS);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_causes;
    return cell;
}

static void nested_latency(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    hp_json_begin_object(json);
    for (int i = 0; i < HP_STAGES; i++) {
        hp_json_key(json, hp_stage_name((enum hp_stage)i));
        hp_json_fixed(json, hp_insn_stage(&facts, HP_INSN_BEST, (enum hp_stage)i).value, 6);
    }
    hp_json_end_object(json);
}

static struct hp_cell latency(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    for (int i = 0; i < HP_STAGES; i++)
        add_item(in->buffer, hp_stage_name((enum hp_stage)i),
                 hp_insn_stage(&facts, HP_INSN_BEST, (enum hp_stage)i).value);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_latency;
    return cell;
}

static void nested_rates(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    hp_json_begin_object(json);
    for (int i = 0; i < HP_INSN_EVENTS; i++) {
        double rate = hp_insn_rate(&facts, HP_INSN_BEST, (enum hp_insn_event)i).value;
        if (rate <= 0)
            continue;
        hp_json_key(json, hp_insn_event_name((enum hp_insn_event)i));
        hp_json_fixed(json, rate, 6);
    }
    hp_json_end_object(json);
}

static struct hp_cell rates(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    for (int i = 0; i < HP_INSN_EVENTS; i++) {
        double rate = hp_insn_rate(&facts, HP_INSN_BEST, (enum hp_insn_event)i).value;
        if (rate > 0)
            add_item(in->buffer, hp_insn_event_name((enum hp_insn_event)i), rate);
    }
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_rates;
    return cell;
}

/* --- From pairs ------------------------------------------------------------------------------- */

static void nested_wasted(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    struct hp_estimate estimate;
    facts_of(in, &facts);
    if (hp_insn_wasted(&facts, &estimate))
        hp_json_estimate(json, estimate);
    else
        hp_json_null(json);
}

static struct hp_cell wasted(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    struct hp_estimate estimate;
    facts_of(in, &facts);
    if (hp_insn_wasted(&facts, &estimate))
        hp_list_estimate(in->buffer, NULL, estimate);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_wasted;
    return cell;
}

static void nested_ipc(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    struct hp_estimate estimate;
    facts_of(in, &facts);
    if (hp_insn_near_ipc(&facts, &estimate))
        hp_json_estimate(json, estimate);
    else
        hp_json_null(json);
}

static struct hp_cell near_ipc(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    struct hp_estimate estimate;
    facts_of(in, &facts);
    if (hp_insn_near_ipc(&facts, &estimate))
        hp_list_estimate(in->buffer, NULL, estimate);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_ipc;
    return cell;
}

/* --- Waits ------------------------------------------------------------------------------------ */

static void nested_waits(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    struct hp_strbuf place = {0};
    facts_of(in, &facts);
    hp_json_begin_array(json);
    for (size_t i = 0; i < facts.n_waits; i++) {
        hp_strbuf_clear(&place);
        hp_tables_place(in->tables, in->tables->profile->insns[facts.waits[i].producer].place,
                        &place);
        hp_json_begin_object(json);
        hp_json_key(json, "producer");
        hp_json_string(json, hp_strbuf_text(&place));
        hp_json_key(json, "count");
        hp_json_uint(json, facts.waits[i].count);
        hp_json_key(json, "cycles");
        hp_json_uint(json, facts.waits[i].cycles);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
    in->buffer->failed |= place.failed;
    hp_strbuf_fini(&place);
}

static struct hp_cell waits(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    struct hp_strbuf item = {0};
    facts_of(in, &facts);
    for (size_t i = 0; i < facts.n_waits; i++) {
        hp_strbuf_clear(&item);
        hp_tables_place(in->tables, in->tables->profile->insns[facts.waits[i].producer].place,
                        &item);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, facts.waits[i].count);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, facts.waits[i].cycles);
        hp_list_add(in->buffer, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_waits;
    return cell;
}

/* --- What the sampler says -------------------------------------------------------------------- */

static void put_executions(struct hp_json *json, const struct hp_insn_facts *facts)
{
    struct hp_insn_executions n = hp_insn_executions(facts, HP_INSN_SAMPLED);
    hp_json_key(json, "retired");
    hp_json_estimate(json, n.retired);
    hp_json_key(json, "fetched");
    hp_json_estimate(json, n.fetched);
    hp_json_key(json, "wrong_path");
    hp_json_estimate(json, n.wrong_path);
    hp_json_key(json, "trapped");
    hp_json_estimate(json, n.trapped);
    hp_json_key(json, "cycles");
    hp_json_estimate(json, hp_insn_cycles_of(facts, HP_INSN_SAMPLED));
}

static void nested_estimates(const struct hp_field_input *in, struct hp_json *json)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    if (!facts.sampled) {
        hp_json_null(json);
        return;
    }
    hp_json_begin_object(json);
    hp_json_key(json, "sampler");
    hp_json_string(json, facts.sampled->seen);
    put_executions(json, &facts);
    hp_json_key(json, "latency");
    hp_json_begin_object(json);
    for (int i = 0; i < HP_STAGES; i++) {
        hp_json_key(json, hp_stage_name((enum hp_stage)i));
        hp_json_estimate(json, hp_insn_stage(&facts, HP_INSN_SAMPLED, (enum hp_stage)i));
    }
    hp_json_end_object(json);
    hp_json_key(json, "rates");
    hp_json_begin_object(json);
    for (int i = 0; i < HP_INSN_EVENTS; i++) {
        if (!facts.sampled->tally.events[i])
            continue;
        hp_json_key(json, hp_insn_event_name((enum hp_insn_event)i));
        hp_json_estimate(json, hp_insn_rate(&facts, HP_INSN_SAMPLED, (enum hp_insn_event)i));
    }
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static struct hp_cell estimates(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    if (facts.sampled) {
        struct hp_insn_executions n = hp_insn_executions(&facts, HP_INSN_SAMPLED);
        hp_list_estimate(in->buffer, "retired", n.retired);
        hp_list_estimate(in->buffer, "fetched", n.fetched);
        hp_list_estimate(in->buffer, "cycles", hp_insn_cycles_of(&facts, HP_INSN_SAMPLED));
    }
    for (int i = 0; i < HP_STAGES && facts.sampled; i++)
        hp_list_estimate(in->buffer, hp_stage_name((enum hp_stage)i),
                         hp_insn_stage(&facts, HP_INSN_SAMPLED, (enum hp_stage)i));
    for (int i = 0; i < HP_INSN_EVENTS && facts.sampled; i++)
        if (facts.sampled->tally.events[i])
            hp_list_estimate(in->buffer, hp_insn_event_name((enum hp_insn_event)i),
                             hp_insn_rate(&facts, HP_INSN_SAMPLED, (enum hp_insn_event)i));
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_estimates;
    return cell;
}

static struct hp_cell why(const struct hp_field_input *in)
{
    struct hp_insn_facts facts;
    facts_of(in, &facts);
    hp_insn_why(in->tables, &facts, in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

const struct hp_field hp_insn_fields[] = {{"address", HP_FIELD_PLAIN, address},
                                          {"function", HP_FIELD_PLAIN, function},
                                          {"file", HP_FIELD_PLAIN, file},
                                          {"line", HP_FIELD_PLAIN, line},
                                          {"inlined", HP_FIELD_PLAIN, inlined},
                                          {"text", HP_FIELD_PLAIN, text},
                                          {"class", HP_FIELD_PLAIN, class},
                                          {"version", HP_FIELD_PLAIN, version},
                                          {"seen", HP_FIELD_PLAIN, seen},
                                          {"samples", HP_FIELD_PLAIN, samples},
                                          {"retired", HP_FIELD_PLAIN, retired},
                                          {"fetched", HP_FIELD_PLAIN, fetched},
                                          {"wrong_path", HP_FIELD_PLAIN, wrong_path},
                                          {"trapped", HP_FIELD_PLAIN, trapped},
                                          {"cycles", HP_FIELD_PLAIN, cycles},
                                          {"share", HP_FIELD_PLAIN, share},
                                          {"cpi", HP_FIELD_PLAIN, cpi},
                                          {"causes", HP_FIELD_PLAIN, causes},
                                          {"latency", HP_FIELD_PLAIN, latency},
                                          {"rates", HP_FIELD_PLAIN, rates},
                                          {"wasted_slots", HP_FIELD_PLAIN, wasted},
                                          {"near_ipc", HP_FIELD_PLAIN, near_ipc},
                                          {"waits", HP_FIELD_PLAIN, waits},
                                          {"estimates", HP_FIELD_PLAIN, estimates},
                                          {"why", HP_FIELD_PLAIN, why},
                                          {0}};
