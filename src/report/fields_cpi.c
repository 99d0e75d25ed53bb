// SPDX-License-Identifier: MIT
/*
 * The fields of where cycles went, and of ways of sampling.
 */
#include "report/fields.h"
#include "text/number.h"

/* --- Cycles ----------------------------------------------------------------------------------- */

static const struct hp_cpi_item *item_of(const struct hp_field_input *in)
{
    return &in->tables->cpi[in->row->item];
}

/* The first row is the run. */
static enum hp_report_by by_of(const struct hp_field_input *in)
{
    return in->row->item == 0 ? HP_REPORT_BY_RUN : in->tables->by;
}

static const struct hp_pinsn *insn_of(const struct hp_field_input *in)
{
    return &in->tables->profile->insns[item_of(in)->insn];
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
    if (by_of(in) == HP_REPORT_BY_RUN)
        return hp_cell_text("");
    const struct hp_profile *p = in->tables->profile;
    uint32_t function = insn_of(in)->function;
    switch (by_of(in)) {
    case HP_REPORT_BY_FUNCTION:
        return function == HP_PROFILE_NONE ? hp_cell_text("")
                                           : hp_cell_place(in, p->functions[function].place);
    case HP_REPORT_BY_LOOP:
        return item_of(in)->loop == HP_PROFILE_NONE
                   ? hp_cell_text("")
                   : hp_cell_place(in, p->loops[item_of(in)->loop].header);
    case HP_REPORT_BY_INSTRUCTION: return hp_cell_place(in, insn_of(in)->place);
    default: return hp_cell_text(""); /* a line has many */
    }
}

static struct hp_cell file(const struct hp_field_input *in)
{
    if (by_of(in) == HP_REPORT_BY_RUN)
        return hp_cell_text("");
    const struct hp_profile *p = in->tables->profile;
    uint32_t function = insn_of(in)->function, loop = item_of(in)->loop;
    switch (by_of(in)) {
    case HP_REPORT_BY_FUNCTION:
        return hp_cell_text(function == HP_PROFILE_NONE ? "" : p->functions[function].file);
    case HP_REPORT_BY_LOOP: return hp_cell_text(loop == HP_PROFILE_NONE ? "" : p->loops[loop].file);
    default: return hp_cell_text(insn_of(in)->file);
    }
}

static struct hp_cell line(const struct hp_field_input *in)
{
    if (by_of(in) == HP_REPORT_BY_RUN)
        return hp_cell_number(0);
    const struct hp_profile *p = in->tables->profile;
    uint32_t function = insn_of(in)->function, loop = item_of(in)->loop;
    switch (by_of(in)) {
    case HP_REPORT_BY_FUNCTION:
        return hp_cell_number(function == HP_PROFILE_NONE ? 0 : p->functions[function].line);
    case HP_REPORT_BY_LOOP:
        return hp_cell_number(loop == HP_PROFILE_NONE ? 0 : p->loops[loop].first_line);
    default: return hp_cell_number(insn_of(in)->line);
    }
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

static void nested_causes(const struct hp_field_input *in, struct hp_json *json)
{
    hp_json_begin_object(json);
    for (int i = 0; i < HP_CAUSES; i++) {
        hp_json_key(json, hp_cause_name((enum hp_cause)i));
        hp_json_fixed(json, (double)item_of(in)->parts[i] / HP_CYCLE_PARTS, 6);
    }
    hp_json_end_object(json);
}

static struct hp_cell causes(const struct hp_field_input *in)
{
    for (int i = 0; i < HP_CAUSES; i++) {
        double value = (double)item_of(in)->parts[i] / HP_CYCLE_PARTS;
        hp_list_estimate(in->buffer, hp_cause_name((enum hp_cause)i),
                         (struct hp_estimate){value, value, value});
    }
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_causes;
    return cell;
}

/* Only of the run, and only where windows of it were observed. */
static bool is_extrapolated(const struct hp_field_input *in)
{
    return by_of(in) == HP_REPORT_BY_RUN && in->tables->insns.windows.n;
}

static void nested_extrapolated(const struct hp_field_input *in, struct hp_json *json)
{
    const struct hp_windows_sum *windows = &in->tables->insns.windows;
    if (!is_extrapolated(in)) {
        hp_json_null(json);
        return;
    }
    hp_json_begin_object(json);
    hp_json_key(json, "windows");
    hp_json_uint(json, windows->n);
    hp_json_key(json, "trusted");
    hp_json_bool(json, windows->n >= HP_WINDOWS_TRUSTED);
    hp_json_key(json, "measured");
    hp_json_uint(json, windows->instructions);
    hp_json_key(json, "instructions");
    hp_json_uint(json, windows->run);
    hp_json_key(json, "cpi");
    hp_json_estimate(json, windows->cpi);
    hp_json_key(json, "cycles");
    hp_json_estimate(json, windows->all);
    hp_json_end_object(json);
}

static struct hp_cell extrapolated(const struct hp_field_input *in)
{
    if (is_extrapolated(in)) {
        hp_list_estimate(in->buffer, "cpi", in->tables->insns.windows.cpi);
        hp_list_estimate(in->buffer, "cycles", in->tables->insns.windows.all);
    }
    struct hp_cell cell = hp_cell_list(in);
    cell.nested = nested_extrapolated;
    return cell;
}

const struct hp_field hp_cpi_fields[] = {{"by", HP_FIELD_PLAIN, by},
                                         {"name", HP_FIELD_PLAIN, name},
                                         {"address", HP_FIELD_PLAIN, address},
                                         {"file", HP_FIELD_PLAIN, file},
                                         {"line", HP_FIELD_PLAIN, line},
                                         {"instructions", HP_FIELD_PLAIN, instructions},
                                         {"cycles", HP_FIELD_PLAIN, cycles},
                                         {"share", HP_FIELD_PLAIN, share},
                                         {"cpi", HP_FIELD_PLAIN, cpi},
                                         {"causes", HP_FIELD_PLAIN, causes},
                                         {"extrapolated", HP_FIELD_PLAIN, extrapolated},
                                         {0}};

/* --- Ways of sampling ------------------------------------------------------------------------- */

static const struct hp_sampling_way *way_of(const struct hp_field_input *in)
{
    return &in->tables->ways[in->row->item];
}

static struct hp_cell way_name(const struct hp_field_input *in)
{
    return hp_cell_text(way_of(in)->name);
}

static struct hp_cell way_kind(const struct hp_field_input *in)
{
    return hp_cell_text(way_of(in)->sampler ? "sampler" : "attribution");
}

static struct hp_cell way_number(const struct hp_field_input *in, size_t offset)
{
    const struct hp_psampler *sampler = way_of(in)->sampler;
    uint64_t value;
    if (!sampler)
        return hp_cell_none();
    __builtin_memcpy(&value, (const char *)sampler + offset, sizeof value);
    return hp_cell_number(value);
}

static struct hp_cell interval(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, interval));
}

static struct hp_cell window(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, window));
}

static struct hp_cell width(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, width));
}

static struct hp_cell near(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, near));
}

static struct hp_cell samples(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, samples));
}

static struct hp_cell empty(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, empty));
}

static struct hp_cell lost(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, lost));
}

static struct hp_cell interrupts(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, interrupts));
}

static struct hp_cell cost(const struct hp_field_input *in)
{
    return way_number(in, offsetof(struct hp_psampler, cost));
}

static struct hp_cell scale(const struct hp_field_input *in)
{
    const struct hp_psampler *sampler = way_of(in)->sampler;
    return sampler ? hp_cell_fraction((double)sampler->scale / 1000) : hp_cell_none();
}

/* What its interrupts would add to the cycles that were measured. */
static struct hp_cell overhead(const struct hp_field_input *in)
{
    const struct hp_psampler *sampler = way_of(in)->sampler;
    if (!sampler || !in->tables->insns.parts)
        return hp_cell_none();
    return hp_cell_fraction((double)sampler->cost * HP_CYCLE_PARTS /
                            (double)in->tables->insns.parts);
}

static struct hp_cell known(const struct hp_field_input *in)
{
    return hp_cell_number(way_of(in)->instructions);
}

static struct hp_cell error_by(const struct hp_field_input *in, enum hp_report_by level)
{
    double error = way_of(in)->errors[level];
    return error < 0 ? hp_cell_none() : hp_cell_fraction(error);
}

static struct hp_cell error_insn(const struct hp_field_input *in)
{
    return error_by(in, HP_REPORT_BY_INSTRUCTION);
}

static struct hp_cell error_line(const struct hp_field_input *in)
{
    return error_by(in, HP_REPORT_BY_LINE);
}

static struct hp_cell error_loop(const struct hp_field_input *in)
{
    return error_by(in, HP_REPORT_BY_LOOP);
}

static struct hp_cell error_function(const struct hp_field_input *in)
{
    return error_by(in, HP_REPORT_BY_FUNCTION);
}

const struct hp_field hp_sampling_fields[] = {{"name", HP_FIELD_PLAIN, way_name},
                                              {"kind", HP_FIELD_PLAIN, way_kind},
                                              {"interval", HP_FIELD_PLAIN, interval},
                                              {"window", HP_FIELD_PLAIN, window},
                                              {"width", HP_FIELD_PLAIN, width},
                                              {"near", HP_FIELD_PLAIN, near},
                                              {"samples", HP_FIELD_PLAIN, samples},
                                              {"empty", HP_FIELD_PLAIN, empty},
                                              {"lost", HP_FIELD_PLAIN, lost},
                                              {"interrupts", HP_FIELD_PLAIN, interrupts},
                                              {"cost", HP_FIELD_PLAIN, cost},
                                              {"overhead", HP_FIELD_PLAIN, overhead},
                                              {"scale", HP_FIELD_PLAIN, scale},
                                              {"instructions", HP_FIELD_PLAIN, known},
                                              {"error_instruction", HP_FIELD_PLAIN, error_insn},
                                              {"error_line", HP_FIELD_PLAIN, error_line},
                                              {"error_loop", HP_FIELD_PLAIN, error_loop},
                                              {"error_function", HP_FIELD_PLAIN, error_function},
                                              {0}};
