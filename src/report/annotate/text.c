// SPDX-License-Identifier: MIT
#include "report/cycles/text.h"
#include "report/annotate/annotation.h"
#include "report/cells.h"
#include "report/text.h"
#include "text/number.h"
#include "text/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_SHOWN 2
#define CAUSES_SHOWN 2
#define NARROW       100 /* columns: with fewer, one event */

/* --- Cells ------------------------------------------------------------------------------------ */

/* "12", "4.5", "0" */
static void put_short(double value, struct hp_strbuf *cell)
{
    bool whole = value >= 9.95 || fabs(value - floor(value + 0.5)) < 0.05;
    hp_strbuf_fixed(cell, value, whole ? 0 : 1);
}

/* "1/40/0/4/0.5": cycles from fetch to map, operands, issue, retire ready, retirement. */
static void put_stages(const struct hp_insn_facts *facts, struct hp_strbuf *cell)
{
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_RETIRE; i++) {
        hp_strbuf_add(cell, i ? "/" : "");
        put_short(hp_insn_stage(facts, HP_INSN_BEST, (enum hp_stage)i).value, cell);
    }
}

/* "l1d 30% l2 20%": the most frequent events that cost something. */
static void put_events(const struct hp_annotator *a, const struct hp_insn_facts *facts,
                       struct hp_strbuf *cell)
{
    static const enum hp_insn_event events[] = {HP_INSN_MISPREDICTED, HP_INSN_L3,     HP_INSN_L2,
                                                HP_INSN_L1D,          HP_INSN_DTLB,   HP_INSN_L1I,
                                                HP_INSN_ITLB,         HP_INSN_BLOCKED};
    static const char *const names[] = {"mispr.", "L3",  "L2",   "L1",
                                        "DTLB",   "L1I", "ITLB", "blocked"};
    bool narrow = a->options->width > 0 && a->options->width < NARROW;
    size_t shown = 0, most = narrow ? 1 : EVENTS_SHOWN;
    for (size_t i = 0; i < sizeof events / sizeof *events && shown < most; i++) {
        if (events[i] == HP_INSN_L3 && !a->tables->insns.has_l3)
            continue; /* what is beyond the L2 is memory */
        struct hp_estimate rate = hp_insn_rate(facts, HP_INSN_BEST, events[i]);
        if (rate.value < 0.005)
            continue;
        hp_strbuf_add(cell, shown++ ? " " : "");
        hp_strbuf_add(cell, names[i]);
        hp_strbuf_add(cell, " ");
        hp_strbuf_fixed(cell, rate.value * 100, 0);
        if (rate.high > rate.low) {
            hp_strbuf_add(cell, "±");
            hp_strbuf_fixed(cell, 100 * fmax(rate.high - rate.value, rate.value - rate.low), 0);
        }
        hp_strbuf_add(cell, "%");
    }
}

static void put_wasted(const struct hp_insn_facts *facts, struct hp_strbuf *cell)
{
    struct hp_estimate wasted;
    if (!hp_insn_wasted(facts, &wasted))
        return;
    hp_put_amount(wasted.value, cell);
    if (wasted.value > 0)
        hp_put_interval(wasted, cell);
}

/* "1e: jne 0x1010" */
static void put_text(const struct hp_annotator *a, uint32_t function,
                     const struct hp_code_line *line, struct hp_strbuf *cell)
{
    struct hp_place start = a->tables->profile->functions[function].place;
    char hex[HP_NUMBER_SIZE];
    bool behind = line->place.module == start.module && line->place.offset >= start.offset;
    hp_number_hex(hex, behind ? line->place.offset - start.offset : line->place.offset);
    hp_strbuf_add(cell, behind ? hex + 2 : hex);
    hp_strbuf_add(cell, ": ");
    if (line->insns) {
        hp_strbuf_add(cell, "(");
        hp_strbuf_grouped(cell, line->insns);
        hp_strbuf_add(cell, line->insns == 1 ? " instruction)" : " instructions)");
    } else {
        hp_put_assembly(line->text, cell);
    }
    if (line->version) {
        hp_strbuf_add(cell, " (version ");
        hp_strbuf_uint(cell, line->version);
        hp_strbuf_add(cell, ")");
    }
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* Whether wasted slots are known of anything. */
static bool has_pairs(const struct hp_annotator *a)
{
    return a->tables->insns.sampler && a->tables->insns.sampler->window;
}

static size_t make_columns(const struct hp_annotator *a, struct hp_column columns[HP_TEXT_COLUMNS])
{
    size_t n = 0;
    columns[n++] = (struct hp_column){.title = "share", .right = true, .heat = true};
    columns[n++] = (struct hp_column){.title = "times", .right = true};
    if (a->by != HP_ANNOTATE_INSTRUCTIONS) {
        columns[n++] = (struct hp_column){.title = "each", .right = true};
        columns[n++] = (struct hp_column){.title = "m/o/i/e/r"};
        columns[n++] = (struct hp_column){.title = "events"};
    }
    if (has_pairs(a))
        columns[n++] = (struct hp_column){.title = "wasted", .right = true};
    columns[n++] = (struct hp_column){.title = "instruction", .flexible = true, .cut = HP_CUT_END};
    columns[n] = (struct hp_column){0};
    return n;
}

static void fill(const struct hp_annotator *a, uint32_t function, const struct hp_code_line *line,
                 struct hp_strbuf *cells)
{
    size_t n = 0;
    struct hp_insn_facts facts;
    struct hp_estimate times = hp_code_line_times(a, line);
    double weight = hp_annotator_weight(a, line);
    bool known = line->insn != HP_PROFILE_NONE;
    if (weight > 0)
        hp_strbuf_percent(&cells[n], hp_annotator_share(a, weight));
    n++;
    /* What the sampler never met may have been executed. */
    if (times.value > 0 || a->by != HP_ANNOTATE_SAMPLES)
        hp_put_amount(times.value, &cells[n]);
    hp_put_interval(times, &cells[n++]);
    if (known)
        hp_insn_facts(a->tables, line->insn, &facts);
    if (a->by != HP_ANNOTATE_INSTRUCTIONS) {
        struct hp_estimate retired = {0};
        if (known)
            retired = hp_insn_executions(&facts, HP_INSN_BEST).retired;
        if (retired.value > 0) {
            double each = hp_insn_cycles_of(&facts, HP_INSN_BEST).value / retired.value;
            hp_strbuf_fixed(&cells[n], each, each < 99.95 ? 1 : 0);
            put_stages(&facts, &cells[n + 1]);
            put_events(a, &facts, &cells[n + 2]);
        }
        n += 3;
    }
    if (has_pairs(a)) {
        if (known)
            put_wasted(&facts, &cells[n]);
        n++;
    }
    put_text(a, function, line, &cells[n]);
}

/* "  demo.c:12  for (...)" where the source goes on elsewhere. */
static enum hp_err print_source(struct hp_annotator *a, const struct hp_code_line *line)
{
    const struct hp_report_options options = {.width = a->options->width};
    struct hp_strbuf text = {0};
    size_t length;
    hp_put_source_place(hp_base_name(line->file), line->line, &text);
    const char *source = hp_sources_line(&a->sources, line->file, line->line, &length);
    if (source) {
        hp_strbuf_add(&text, "  ");
        hp_put_source(source, length, &text);
    }
    if (*line->inlined) {
        hp_strbuf_add(&text, "  [");
        hp_strbuf_clean(&text, line->inlined);
        hp_strbuf_add(&text, "]");
    }
    fputs(hp_text_bold(a->options->color), a->out);
    enum hp_err err = hp_print_line(&text, &options, a->out);
    fputs(hp_text_plain(a->options->color), a->out);
    hp_strbuf_fini(&text);
    return err;
}

static bool same_source(const struct hp_code_line *a, const struct hp_code_line *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->inlined, b->inlined) == 0;
}

static enum hp_err print_code(struct hp_annotator *a, uint32_t function,
                              const struct hp_code_line *code, size_t n)
{
    struct hp_column columns[HP_TEXT_COLUMNS];
    struct hp_text_table table;
    enum hp_err err = HP_OK;
    make_columns(a, columns);
    hp_text_table_init(&table, columns, a->out, a->options->color, a->options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n && err == HP_OK; i++) {
            const struct hp_code_line *line = &code[i], *last = i ? &code[i - 1] : NULL;
            hp_text_table_clear(&table);
            fill(a, function, line, table.cells);
            if (pass == 0) {
                hp_text_table_measure(&table);
                continue;
            }
            if (last && last->place.offset + last->length < line->place.offset)
                fputs("  ...\n", a->out);
            if (*line->file && (!last || !same_source(last, line)))
                err = print_source(a, line);
            hp_text_table_print(&table, hp_annotator_share(a, hp_annotator_weight(a, line)));
        }
    }
    if (err == HP_OK)
        err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static const struct hp_column line_columns[] = {{"share", .right = true, .heat = true},
                                                {"times", .right = true},
                                                {"CPI", .right = true},
                                                {.title = "causes"},
                                                {"line", .right = true},
                                                {"source", .flexible = true, .cut = HP_CUT_END},
                                                {0}};
static const struct hp_column plain_line_columns[] = {
    {"share", .right = true, .heat = true},
    {"times", .right = true},
    {"line", .right = true},
    {"source", .flexible = true, .cut = HP_CUT_END},
    {0}};

/* "memory 75% l2 15%" */
static void put_causes(const struct hp_annotated_line *line, double cycles, struct hp_strbuf *cell)
{
    bool said[HP_CAUSES] = {false};
    for (int shown = 0; shown < CAUSES_SHOWN; shown++) {
        int largest = -1;
        for (int i = 0; i < HP_CAUSES; i++)
            if (!said[i] && line->causes[i] > 0 &&
                (largest < 0 || line->causes[i] > line->causes[largest]))
                largest = i;
        if (largest < 0 || line->causes[largest] < 0.005 * cycles)
            return;
        said[largest] = true;
        hp_strbuf_add(cell, shown ? " " : "");
        hp_strbuf_add(cell, hp_cause_name((enum hp_cause)largest));
        hp_strbuf_add(cell, " ");
        hp_strbuf_fixed(cell, 100 * line->causes[largest] / cycles, 0);
        hp_strbuf_add(cell, "%");
    }
}

/* `line` without a weight: source between lines that have code. */
static void fill_line(struct hp_annotator *a, const struct hp_annotated_line *line, bool code,
                      struct hp_strbuf *cells)
{
    double cycles = 0;
    size_t n = 0, length;
    for (int i = 0; i < HP_CAUSES; i++)
        cycles += line->causes[i];
    if (code) {
        if (line->weight > 0)
            hp_strbuf_percent(&cells[0], hp_annotator_share(a, line->weight));
        hp_put_amount(line->times.value, &cells[1]);
        hp_put_interval(line->times, &cells[1]);
    }
    n = 2;
    if (a->by == HP_ANNOTATE_CYCLES) {
        if (code && line->retired > 0 && cycles > 0)
            hp_strbuf_fixed(&cells[2], cycles / line->retired, 2);
        if (code && cycles > 0)
            put_causes(line, cycles, &cells[3]);
        n = 4;
    }
    hp_strbuf_uint(&cells[n], line->line);
    const char *source = hp_sources_line(&a->sources, line->file, line->line, &length);
    if (source)
        hp_put_indented_source(source, length, &cells[n + 1]);
}

/* The lines of one file; those between too, where the file can be read and they are few. */
#define MOST_BETWEEN 20
static enum hp_err print_file(struct hp_annotator *a, const struct hp_annotated_line *lines,
                              size_t n)
{
    struct hp_text_table table;
    size_t length;
    bool cycles = a->by == HP_ANNOTATE_CYCLES;
    hp_text_table_init(&table, cycles ? line_columns : plain_line_columns, a->out,
                       a->options->color, a->options->width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            uint32_t from =
                i && lines[i].line - lines[i - 1].line <= MOST_BETWEEN &&
                        hp_sources_line(&a->sources, lines[i].file, lines[i].line, &length)
                    ? lines[i - 1].line + 1
                    : lines[i].line;
            if (pass == 1 && i && from == lines[i].line && lines[i - 1].line + 1 < from)
                fputs("  ...\n", a->out);
            for (uint32_t at = from; at <= lines[i].line && at >= from; at++) {
                struct hp_annotated_line between = {.file = lines[i].file, .line = at};
                bool code = at == lines[i].line;
                hp_text_table_clear(&table);
                fill_line(a, code ? &lines[i] : &between, code, table.cells);
                if (pass == 0)
                    hp_text_table_measure(&table);
                else
                    hp_text_table_print(&table, code ? hp_annotator_share(a, lines[i].weight) : 0);
            }
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

static enum hp_err print_lines(struct hp_annotator *a, uint32_t function,
                               const struct hp_code_line *code, size_t n)
{
    const struct hp_report_options options = {.width = a->options->width};
    struct hp_annotated_line *lines;
    size_t n_lines;
    HP_TRY(hp_annotator_lines(a, function, code, n, &lines, &n_lines));
    enum hp_err err = HP_OK;
    struct hp_strbuf text = {0};
    if (n_lines == 0)
        fputs("  (no source line is known: was the program built with -g?)\n", a->out);
    for (size_t i = 0, end; i < n_lines && err == HP_OK; i = end) {
        for (end = i + 1; end < n_lines && strcmp(lines[end].file, lines[i].file) == 0;)
            end++;
        hp_strbuf_add(&text, "  ");
        hp_strbuf_clean(&text, hp_short_path(&a->tables->profile->run, lines[i].file));
        err = hp_print_line(&text, &options, a->out);
        if (err == HP_OK)
            err = print_file(a, &lines[i], end - i);
    }
    hp_strbuf_fini(&text);
    free(lines);
    return err;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* "work  demo.c:10  /opt/demo: 80.0% of the cycles" */
static enum hp_err print_head(struct hp_annotator *a, const struct hp_hot_function *function)
{
    static const char *const units[] = {" of the cycles", " of the sampled cycles",
                                        " of the instructions"};
    const struct hp_report_options options = {.width = a->options->width};
    const struct hp_pfunction *f = &a->tables->profile->functions[function->function];
    struct hp_strbuf text = {0};
    hp_put_function(a->tables, function->function, &text);
    hp_strbuf_add(&text, ": ");
    hp_strbuf_percent(&text, hp_annotator_function_share(a, function));
    hp_strbuf_add(&text, units[a->by]);
    hp_strbuf_add(&text, "; ");
    hp_put_where(a->tables, f->file, f->line, f->place.module, &text);
    if (*hp_text(f->file) && f->place.module != HP_PROFILE_NONE) {
        hp_strbuf_add(&text, ", ");
        hp_strbuf_clean(&text, a->tables->modules[f->place.module]);
    }
    fputs(hp_text_bold(a->options->color), a->out);
    enum hp_err err = hp_print_line(&text, &options, a->out);
    fputs(hp_text_plain(a->options->color), a->out);
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_note(struct hp_annotator *a, const char *note)
{
    struct hp_strbuf text = {0};
    hp_strbuf_clean(&text, note);
    fprintf(a->out, "%snote:%s %s\n", hp_text_warn(a->options->color),
            hp_text_plain(a->options->color), hp_strbuf_text(&text));
    enum hp_err err = text.failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_function(struct hp_annotator *a, const struct hp_hot_function *function)
{
    struct hp_code_line *code;
    const char *missing;
    size_t n;
    HP_TRY(print_head(a, function));
    HP_TRY(hp_annotator_code(a, function->function, &code, &n, &missing));
    enum hp_err err = a->options->lines ? print_lines(a, function->function, code, n)
                                        : print_code(a, function->function, code, n);
    free(code);
    if (err == HP_OK && missing && !a->options->lines) {
        struct hp_strbuf text = {0};
        hp_strbuf_add(&text, "instructions are not shown: ");
        hp_strbuf_add(&text, missing);
        err = print_note(a, hp_strbuf_text(&text));
        hp_strbuf_fini(&text);
    }
    return err;
}

enum hp_err hp_annotate_text(struct hp_annotator *a, const struct hp_hot_function *functions,
                             size_t n)
{
    const struct hp_report_options options = {.width = a->options->width};
    if (n == 0) {
        fputs("  (no function was executed)\n", a->out);
        return HP_OK;
    }
    if (a->by != HP_ANNOTATE_INSTRUCTIONS) {
        HP_TRY(hp_print_cycles_head(a->tables, &options, a->out));
        if (!a->options->lines) {
            struct hp_strbuf text = {0};
            hp_strbuf_add(&text,
                          "m/o/i/e/r: cycles an execution from fetch to map, to operands ready, to "
                          "issue, to retire ready, to retirement");
            enum hp_err err = hp_print_wrapped(&text, 0, &options, a->out);
            hp_strbuf_fini(&text);
            HP_TRY(err);
        }
        putc('\n', a->out);
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            putc('\n', a->out);
        HP_TRY(print_function(a, &functions[i]));
    }
    if (a->sources.n_newer)
        return print_note(a, "a source file changed after the run: what is shown may not be what "
                             "was executed");
    return HP_OK;
}
