// SPDX-License-Identifier: MIT
/*
 * Ways of sampling: the view.
 */
#include "report/fields.h"
#include "report/text.h"

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

static const void *sampler_of(const struct hp_field_input *in)
{
    return way_of(in)->sampler;
}

static const struct hp_field_row sampler = {HP_ROW_SAMPLER, sampler_of, true};

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

static const struct hp_field fields[] = {
    {"name", "of the sampler or attribution", .get = way_name},
    {"kind", "`sampler` or `attribution`; only samplers have the next eleven", .get = way_kind},
    {"interval", "mean distance of samples, in instructions", .of = &sampler},
    {"window", "in which the second of a pair is; 0: single samples", .of = &sampler,
     HP_NAMED("pair_window")},
    {"width", "issue slots of a cycle", .of = &sampler},
    {"near", "cycles around a sample that `near_ipc` is of", .of = &sampler},
    {"samples", "taken", .of = &sampler},
    {"empty", "samples that found no instruction", .of = &sampler},
    {"lost", "samples that found the buffer full", .of = &sampler},
    {"interrupts", "that took samples out of the buffer", .of = &sampler},
    {"cost", "cycles of these", .of = &sampler},
    {"overhead", "`cost` of the cycles that were measured", .get = overhead},
    {"scale", "what estimates are multiplied by because only windows were observed", .of = &sampler,
     .as = HP_AS_THOUSANDTHS},
    {"instructions", "different ones that it knows", .get = known},
    {"error_instruction", "part of the time that it says is at another instruction than it was",
     .get = error_insn},
    {"error_line", "at another line", .get = error_line},
    {"error_loop", "in another loop", .get = error_loop},
    {"error_function", "in another function", .get = error_function},
    {0}};

static const struct hp_column columns[] = {
    {"instr.", .right = true},   {"line", .right = true},    {"loop", .right = true},
    {"function", .right = true}, {"samples", .right = true}, {"lost", .right = true},
    {"cost", .right = true},     {"way", .flexible = true},  {0}};

static void put_error(double error, struct hp_strbuf *cell)
{
    if (error >= 0)
        hp_strbuf_percent(cell, error);
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_tables *tables = in->tables;
    const struct hp_sampling_way *way = &tables->ways[row->item];
    put_error(way->errors[HP_REPORT_BY_INSTRUCTION], &cells[0]);
    put_error(way->errors[HP_REPORT_BY_LINE], &cells[1]);
    put_error(way->errors[HP_REPORT_BY_LOOP], &cells[2]);
    put_error(way->errors[HP_REPORT_BY_FUNCTION], &cells[3]);
    if (way->sampler) {
        hp_strbuf_human(&cells[4], way->sampler->samples);
        hp_strbuf_human(&cells[5], way->sampler->lost);
        if (tables->insns.parts)
            hp_strbuf_percent(&cells[6], (double)way->sampler->cost * HP_CYCLE_PARTS /
                                             (double)tables->insns.parts);
        else
            hp_strbuf_human(&cells[6], way->sampler->cost);
    }
    hp_strbuf_clean(&cells[7], way->name);
    return 0;
}

/* "profileme: every 10,000 instructions, ..." */
static enum hp_err print_sampler(const struct hp_psampler *sampler,
                                 const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text = {0};
    hp_strbuf_clean(&text, sampler->name);
    hp_strbuf_add(&text, ": every ");
    hp_strbuf_grouped(&text, sampler->interval);
    if (sampler->window) {
        hp_strbuf_add(&text, ", pairs within ");
        hp_strbuf_grouped(&text, sampler->window);
    }
    hp_strbuf_add(&text, "; ");
    hp_strbuf_grouped(&text, sampler->samples);
    hp_strbuf_add(&text, " samples, ");
    hp_strbuf_grouped(&text, sampler->empty);
    hp_strbuf_add(&text, " empty, ");
    hp_strbuf_grouped(&text, sampler->lost);
    hp_strbuf_add(&text, " lost; ");
    hp_strbuf_grouped(&text, sampler->interrupts);
    hp_strbuf_add(&text, " interrupts, ");
    hp_strbuf_human(&text, sampler->cost);
    hp_strbuf_add(&text, " cycles");
    if (sampler->scale != 1000) {
        hp_strbuf_add(&text, "; the run is ");
        hp_strbuf_fixed(&text, (double)sampler->scale / 1000, 1);
        hp_strbuf_add(&text, " times what was observed");
    }
    enum hp_err err = hp_print_wrapped(&text, 0, options, out);
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    (void)limit;
    for (size_t i = 0; i < tables->n_ways; i++)
        if (tables->ways[i].sampler)
            HP_TRY(print_sampler(tables->ways[i].sampler, text->options, text->out));
    if (tables->insns.exact)
        fputs("error: of the time, how much is said to be at another place than it was, by\n",
              text->out);
    return hp_print_rows(text, &hp_view_sampling, NULL, rows, NULL);
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_samplers > 0 || profile->n_attributions > 0;
}

const struct hp_view hp_view_sampling = {
    .name = "sampling",
    .help = "samplers, and how far ways of sampling are from the truth",
    .title = "Sampling",
    .each = "sampler, and other way to attribute time",
    .order = "name",
    .empty = "nothing was sampled: --profile instructions --machine NAME",
    .lines = HP_LINES_NONE,
    .is_there = is_there,
    .make = hp_rows_sampling,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
};
