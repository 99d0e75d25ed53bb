// SPDX-License-Identifier: MIT
/* Ways of sampling, and how far they are from the exact attribution. */
#include "base/base.h"
#include "profile/agreement.h"
#include "report/fields.h"
#include "report/text.h"

#define MOST_WAYS 64 /* samplers, and other ways: nobody has more; each takes time */

/* A sampler, or another way to attribute time. */
struct hp_sampling_way {
    const char *name;
    const struct hp_psampler *sampler; /* NULL: it is no sampler of ours */
    uint64_t instructions;             /* that it knows */
    /* of the time, how much is at another place than exactly; < 0: not known */
    double errors[HP_REPORT_BY_COUNT_];
};

/* --- The ways --------------------------------------------------------------------------------- */

/* What a way says, and what is true, by instruction. */
struct weights {
    double *way, *exact;
    struct {
        uint32_t *of; /* NULL: there are none */
        uint32_t n;
    } groups[HP_REPORT_BY_COUNT_];
};

static void weights_fini(struct weights *w)
{
    free(w->way);
    free(w->exact);
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++)
        free(w->groups[by].of);
}

static bool has_lines(const struct hp_profile *p)
{
    for (size_t i = 0; i < p->n_insns; i++)
        if (*hp_text(p->insns[i].file))
            return true;
    return false;
}

/* What was made stays on failure. */
static enum hp_err weights_init(struct weights *w, const struct hp_profile *p)
{
    HP_TRY(hp_new(&w->way, p->n_insns + 1, sizeof *w->way));
    HP_TRY(hp_new(&w->exact, p->n_insns + 1, sizeof *w->exact));
    for (size_t i = 0; i < p->n_insn_cycles; i++)
        w->exact[p->insn_cycles[i].insn] += (double)p->insn_cycles[i].parts;
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++) {
        if (by == HP_REPORT_BY_RUN || (by == HP_REPORT_BY_LOOP && !p->n_loop_blocks) ||
            (by == HP_REPORT_BY_LINE && !has_lines(p)))
            continue;
        uint32_t *groups = w->groups[by].of = calloc(p->n_insns + 1, sizeof *groups);
        if (!groups)
            return hp_fail_nomem();
        HP_TRY(hp_insn_groups(p, (enum hp_report_by)by, groups, &w->groups[by].n));
    }
    return HP_OK;
}

static void add_weight(struct weights *w, struct hp_sampling_way *way, uint32_t insn, double weight)
{
    way->instructions += w->way[insn] == 0 && weight > 0;
    w->way[insn] += weight;
}

/* Adds a way whose weights are all there, and clears them. */
static enum hp_err add_way(struct hp_tables *tables, struct weights *w, struct hp_sampling_way way)
{
    size_t n = tables->profile->n_insns;
    for (int by = 0; by < HP_REPORT_BY_COUNT_; by++) {
        double overlap = 2;
        if (way.instructions && tables->insns.parts && w->groups[by].of)
            HP_TRY(
                hp_agreement_of(w->groups[by].of, w->groups[by].n, w->way, w->exact, n, &overlap));
        way.errors[by] = 1 - overlap;
    }
    tables->ways[tables->n_ways++] = way;
    memset(w->way, 0, n * sizeof *w->way);
    return HP_OK;
}

/* A sampler says of the time what ProfileMe does: cycles from fetch to retire ready. */
static enum hp_err add_samplers(struct hp_tables *tables, struct weights *w)
{
    const struct hp_profile *p = tables->profile;
    for (size_t i = 0; i < p->n_samplers && i < MOST_WAYS; i++) {
        struct hp_sampling_way way = {.name = hp_text(p->samplers[i].name),
                                      .sampler = &p->samplers[i]};
        struct hp_insn_tallies seen = hp_insn_tallies(p, way.name);
        bool executions = hp_sampler_about(way.name)->executions;
        for (size_t k = 0; k < seen.n; k++)
            add_weight(w, &way, seen.tallies[k].insn,
                       executions ? (double)hp_insn_latency(&seen.tallies[k].tally)
                                  : (double)seen.tallies[k].tally.fetched);
        HP_TRY(add_way(tables, w, way));
    }
    return HP_OK;
}

static enum hp_err add_attributions(struct hp_tables *tables, struct weights *w)
{
    const struct hp_pattribution *all = tables->profile->attributions;
    size_t n = tables->profile->n_attributions;
    for (size_t i = 0, end; i < n && tables->n_ways < 2 * MOST_WAYS; i = end) {
        struct hp_sampling_way way = {.name = hp_text(all[i].scheme)};
        for (end = i; end < n && strcmp(hp_text(all[end].scheme), way.name) == 0; end++)
            add_weight(w, &way, all[end].insn, (double)all[end].weight);
        HP_TRY(add_way(tables, w, way));
    }
    return HP_OK;
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    struct weights w HP_CLEANUP(weights_fini) = {0};
    free(tables->ways);
    tables->ways = calloc(2 * MOST_WAYS, sizeof *tables->ways);
    tables->n_ways = 0;
    if (!tables->ways)
        return hp_fail_nomem();
    HP_TRY(weights_init(&w, tables->profile));
    HP_TRY(add_samplers(tables, &w));
    HP_TRY(add_attributions(tables, &w));
    return hp_rows_of_items(rows, tables->n_ways);
}

/* What a sampler's interrupts would add to the cycles that were measured. */
static double overhead(const struct hp_tables *tables, const struct hp_psampler *sampler)
{
    return (double)sampler->cost * HP_CYCLE_PARTS / (double)tables->insns.parts;
}

/* --- For scripts ------------------------------------------------------------------------------ */

enum { NAME, KIND, OVERHEAD, INSTRUCTIONS };

static struct hp_cell get(const struct hp_field_input *in)
{
    const struct hp_sampling_way *way = &in->tables->ways[in->row->item];
    switch (in->field->value) {
    case NAME: return hp_cell_text(way->name);
    case KIND: return hp_cell_text(way->sampler ? "sampler" : "attribution");
    case INSTRUCTIONS: return hp_cell_number(way->instructions);
    default:
        return way->sampler && in->tables->insns.parts
                   ? hp_cell_fraction(overhead(in->tables, way->sampler))
                   : hp_cell_none();
    }
}

static struct hp_cell get_error(const struct hp_field_input *in)
{
    double error = in->tables->ways[in->row->item].errors[in->field->value];
    return error < 0 ? hp_cell_none() : hp_cell_fraction(error);
}

static const void *sampler_of(const struct hp_field_input *in)
{
    return in->tables->ways[in->row->item].sampler;
}

static const struct hp_field_row sampler = {HP_ROW_SAMPLER, sampler_of, true};

static void list_overlaps(const struct hp_field_input *in, struct hp_list *list);

static const struct hp_field fields[] = {
    {"name", "of the sampler or attribution", .get = get, .value = NAME},
    {"kind", "`sampler` or `attribution`; only samplers have the next eleven", .get = get,
     .value = KIND},
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
    {"overhead", "`cost` of the cycles that were measured", .get = get, .value = OVERHEAD},
    {"scale", "what estimates are multiplied by because only windows were observed", .of = &sampler,
     .as = HP_AS_THOUSANDTHS},
    {"instructions", "different ones that it knows", .get = get, .value = INSTRUCTIONS},
    {"overlaps", "of an execution with others, over all instructions, by measure: estimates",
     .list = list_overlaps, .list_kind = HP_LIST_NAMED, .needs = HP_ROW_INSN_OVERLAP},
    {"error_instruction", "part of the time that it says is at another instruction than it was",
     .get = get_error, .value = HP_REPORT_BY_INSTRUCTION},
    {"error_line", "at another line", .get = get_error, .value = HP_REPORT_BY_LINE},
    {"error_loop", "in another loop", .get = get_error, .value = HP_REPORT_BY_LOOP},
    {"error_function", "in another function", .get = get_error, .value = HP_REPORT_BY_FUNCTION},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

static void put_cost(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_psampler *of = in->tables->ways[row->item].sampler;
    if (of && in->tables->insns.parts)
        hp_strbuf_percent(cell, overhead(in->tables, of));
    else if (of)
        hp_strbuf_human(cell, of->cost);
}

static const struct hp_column columns[] = {{"instr.", .field = "error_instruction", .right = true},
                                           {"line", .field = "error_line", .right = true},
                                           {"loop", .field = "error_loop", .right = true},
                                           {"function", .field = "error_function", .right = true},
                                           {"samples", .right = true},
                                           {"lost", .right = true},
                                           {"cost", .put = put_cost, .right = true},
                                           {"way", .field = "name", .flexible = true},
                                           {0}};

/* "profileme: every 10,000 instructions, ..." */
static enum hp_err print_sampler(const struct hp_psampler *s,
                                 const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    const char *of = hp_sampler_about(hp_text(s->name))->of;
    hp_strbuf_clean(&text, s->name);
    hp_strbuf_format(&text, ": every %s%s%s", HP_GROUPED(s->interval), *of ? " " : "", of);
    if (s->window)
        hp_strbuf_format(&text, ", pairs within %s", HP_GROUPED(s->window));
    hp_strbuf_format(&text, "; %s samples, %s empty, %s lost; %s interrupts, %s cycles",
                     HP_GROUPED(s->samples), HP_GROUPED(s->empty), HP_GROUPED(s->lost),
                     HP_GROUPED(s->interrupts), HP_HUMAN(s->cost));
    if (s->scale != 1000)
        hp_strbuf_format(&text, "; the run is %s times what was observed",
                         HP_FIXED((double)s->scale / 1000, 1));
    return hp_print_wrapped(&text, 0, options, out);
}

/* The measures of overlap of a sampler, over all instructions: sums by measure. */
struct overlaps {
    struct hp_pinsn_overlap sums[8];
    size_t n;
};

static struct overlaps overlaps_of(const struct hp_profile *p, const struct hp_psampler *sampler)
{
    struct overlaps o = {.n = 0};
    for (size_t i = 0; i < p->n_insn_overlaps; i++) {
        const struct hp_pinsn_overlap *of = &p->insn_overlaps[i];
        size_t k = 0;
        if (strcmp(hp_text(of->seen), hp_text(sampler->name)) != 0)
            continue;
        while (k < o.n && strcmp(hp_text(o.sums[k].measure), hp_text(of->measure)) != 0)
            k++;
        if (k == sizeof o.sums / sizeof *o.sums)
            continue;
        if (k == o.n)
            o.sums[o.n++] = (struct hp_pinsn_overlap){.seen = of->seen, .measure = of->measure};
        hp_add_up(&o.sums[k].pairs, of->pairs);
        hp_add_up(&o.sums[k].sum, of->sum);
        hp_add_up(&o.sums[k].squares, of->squares);
    }
    return o;
}

/* "  around: 2.31 of an execution (95 %: 2.20 to 2.42)" */
static enum hp_err print_overlaps(const struct hp_profile *p, const struct hp_psampler *sampler,
                                  const struct hp_report_options *options, FILE *out)
{
    struct overlaps o = overlaps_of(p, sampler);
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; i < o.n; i++) {
        struct hp_estimate each = hp_insn_overlap_each(sampler, &o.sums[i]);
        hp_strbuf_add(&text, "  overlap, ");
        hp_strbuf_clean(&text, hp_text(o.sums[i].measure));
        hp_strbuf_format(&text, ": %s of an execution (95 %%: %s to %s)", HP_FIXED(each.value, 2),
                         HP_FIXED(each.low, 2), HP_FIXED(each.high, 2));
        HP_TRY(hp_print_line(&text, options, out));
    }
    return HP_OK;
}

static enum hp_err print_way(const struct hp_profile *p, const struct hp_psampler *sampler,
                             const struct hp_report_options *options, FILE *out)
{
    HP_TRY(print_sampler(sampler, options, out));
    return print_overlaps(p, sampler, options, out);
}

static void list_overlaps(const struct hp_field_input *in, struct hp_list *list)
{
    const struct hp_sampling_way *way = &in->tables->ways[in->row->item];
    struct overlaps o = {.n = 0};
    if (way->sampler)
        o = overlaps_of(in->tables->profile, way->sampler);
    for (size_t i = 0; i < o.n; i++)
        hp_list_estimate(list, o.sums[i].measure, hp_insn_overlap_each(way->sampler, &o.sums[i]));
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    (void)limit;
    for (size_t i = 0; i < tables->n_ways; i++)
        if (tables->ways[i].sampler)
            HP_TRY(print_way(tables->profile, tables->ways[i].sampler, text->options, text->out));
    if (tables->insns.exact)
        fputs("error: of the time, how much is said to be at another place than it was, by\n",
              text->out);
    return hp_print_rows(text, &hp_view_sampling, NULL, rows);
}

const struct hp_view hp_view_sampling = {
    .name = "sampling",
    .help = "samplers, and how far ways of sampling are from the truth",
    .title = "Sampling",
    .each = "sampler, and other way to attribute time",
    .order = "name",
    .empty = "nothing was sampled: --profile instructions --machine NAME",
    .lines = HP_LINES_NONE,
    .there = {HP_ROW_SAMPLER, HP_ROW_ATTRIBUTION},
    .make = make,
    .fields = fields,
    .columns = columns,
    .print = print,
};
