// SPDX-License-Identifier: MIT
#include "report/text_insns.h"

#include "report/text_cells.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"
#include "text/utf8.h"

#include <math.h>
#include <string.h>

#define WRAP_COLUMNS 100 /* of a sentence where the width is not limited */
#define INDENT       10  /* of a sentence below its row */

/* --- Cells ------------------------------------------------------------------------------------ */

void hp_put_amount(double value, struct hp_strbuf *cell)
{
    if (!(value > 0))
        hp_strbuf_add(cell, "0");
    else if (value < 100 && value != floor(value))
        hp_strbuf_fixed(cell, value, 1);
    else
        hp_strbuf_human(cell, value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
}

void hp_put_interval(struct hp_estimate e, struct hp_strbuf *cell)
{
    double half = fmax(e.high - e.value, e.value - e.low);
    if (!(half > 0) || e.value == 0)
        return;
    double percent = half / fabs(e.value) * 100;
    hp_strbuf_add(cell, " ±");
    hp_strbuf_fixed(cell, percent, percent < 9.95 ? 1 : 0);
    hp_strbuf_add(cell, "%");
}

enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out)
{
    size_t width = options->width > 0 ? (size_t)options->width : WRAP_COLUMNS;
    size_t room = width > indent + 20 ? width - indent : 20;
    const char *at = hp_strbuf_text(text);
    while (*at) {
        size_t end = 0, columns = 0; /* as many words as there is room for, at least one */
        while (at[end]) {
            size_t n = strcspn(at + end + (at[end] == ' '), " ") + (at[end] == ' ');
            struct hp_strbuf word = {0};
            hp_strbuf_bytes(&word, at + end, n);
            size_t more = hp_utf8_width(hp_strbuf_text(&word));
            hp_strbuf_fini(&word);
            if (end > 0 && columns + more > room)
                break;
            columns += more;
            end += n;
        }
        fprintf(out, "%*s%.*s\n", (int)indent, "", (int)end, at);
        at += end;
        while (*at == ' ')
            at++;
    }
    enum hp_err err = text->failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_clear(text);
    return err;
}

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
    enum hp_err err = hp_print_line(&text, options, out);
    hp_strbuf_fini(&text);
    return err;
}

/* --- Instructions ----------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"cycles", .right = true},
                                           {"times", .right = true},
                                           {"each", .right = true},
                                           {"where", .flexible = true},
                                           {"instruction", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

static void fill(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                 struct hp_strbuf *cells)
{
    const struct hp_pinsn *insn = &tables->profile->insns[facts->insn];
    struct hp_estimate cycles = hp_insn_cycles_of(facts, HP_INSN_BEST);
    struct hp_estimate retired = hp_insn_executions(facts, HP_INSN_BEST).retired;
    hp_strbuf_percent(&cells[0], hp_insn_share(tables, facts));
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
static enum hp_err print_below(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                               const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text = {0}, rates = {0};
    hp_insn_why(tables, facts, &text);
    enum hp_err err = hp_print_wrapped(&text, INDENT, options, out);
    put_stages(facts, &text);
    put_rates(facts, &rates);
    put_wasted(facts, &rates);
    if (rates.length) {
        hp_strbuf_add(&text, text.length ? "; " : "");
        hp_strbuf_add(&text, hp_strbuf_text(&rates));
    }
    text.failed |= rates.failed;
    if (err == HP_OK)
        err = hp_print_wrapped(&text, INDENT, options, out);
    hp_strbuf_fini(&text);
    hp_strbuf_fini(&rates);
    return err;
}

static enum hp_err print_rows(struct hp_tables *tables, const struct hp_rows *rows,
                              const struct hp_report_options *options, FILE *out)
{
    struct hp_text_table table;
    enum hp_err err = HP_OK;
    hp_text_table_init(&table, columns, out, options->color, options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < rows->n && err == HP_OK; i++) {
            struct hp_insn_facts facts;
            hp_insn_facts(tables, rows->rows[i].item, &facts);
            hp_text_table_clear(&table);
            fill(tables, &facts, table.cells);
            if (pass == 0) {
                hp_text_table_measure(&table);
                continue;
            }
            hp_text_table_print(&table, hp_insn_share(tables, &facts));
            err = print_below(tables, &facts, options, out);
        }
    }
    hp_print_more(out, rows->n_left_out);
    if (err == HP_OK)
        err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

enum hp_err hp_print_insns(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, FILE *out)
{
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_INSTRUCTIONS, false));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fputs("  (no machine in cycles ran it: --profile cycles,instructions --machine NAME)\n",
              out);
    else
        err = hp_print_cycles_head(tables, options, out);
    hp_rows_keep(&rows, tables, HP_REPORT_INSTRUCTIONS, limit);
    if (err == HP_OK && rows.n)
        err = print_rows(tables, &rows, options, out);
    hp_rows_fini(&rows);
    return err;
}
