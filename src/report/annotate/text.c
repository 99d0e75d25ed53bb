// SPDX-License-Identifier: MIT
#include "report/text.h"
#include "base/base.h"
#include "report/annotate/annotate.h"
#include "text/short_name.h"

#include <math.h>

#define EVENTS_SHOWN 2
#define CAUSES_SHOWN 2
#define NARROW       100 /* columns: with fewer, one event */
#define PLACES_SHOWN 10
#define MOST_BETWEEN 20 /* source lines between two that have code */

/* What a table is of: the code of a function, or the source lines of a file. */
struct listing {
    struct hp_annotator *a;
    struct hp_place start; /* of the function */
    uint64_t end;          /* behind the last of its code */
    const struct hp_code_line *code;
    uint64_t *targets; /* of its branches, in order */
    size_t n_targets;
    struct source_row {
        const struct hp_annotated_line *line; /* itself, or the next that has code */
        uint32_t number;
    } * rows;
};

static enum hp_err print_listing(struct listing *of, const struct hp_column *columns, size_t n,
                                 double (*fill)(void *, size_t, struct hp_strbuf *),
                                 enum hp_err (*above)(void *, size_t))
{
    const struct hp_report_options *options = &of->a->print;
    return hp_text_rows_print(&(struct hp_text_rows){.columns = columns,
                                                     .out = of->a->out,
                                                     .color = options->color,
                                                     .width = options->width,
                                                     .n = n,
                                                     .fill = fill,
                                                     .above = above,
                                                     .context = of});
}

/* A clean name of a function, in at most half of a line. */
static void put_name(const struct hp_annotator *a, const struct hp_strbuf *name,
                     struct hp_strbuf *text)
{
    size_t columns = a->print.width > 0 ? (size_t)a->print.width / 2 + 1 : SIZE_MAX;
    hp_short_name(text, hp_strbuf_text(name), columns);
    text->failed |= name->failed;
}

/* Prints a line of a text, and empties that. */
static enum hp_err print_line(const struct hp_annotator *a, bool bold, struct hp_strbuf *text)
{
    fputs(hp_text_bold(bold && a->print.color), a->out);
    HP_TRY(hp_print_line(text, &a->print, a->out));
    fputs(hp_text_plain(bold && a->print.color), a->out);
    return HP_OK;
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* "1/40/0/4/0.5": cycles from fetch to map, operands, issue, retire ready, retirement. */
static void put_stages(const struct hp_insn_facts *facts, struct hp_strbuf *cell)
{
    for (int i = HP_STAGE_MAP; i <= HP_STAGE_RETIRE; i++)
        hp_strbuf_format(cell, "%s%s", i ? "/" : "",
                         hp_insn_has_stage(facts, (enum hp_stage)i)
                             ? HP_SHORT(hp_insn_stage(facts, (enum hp_stage)i).value)
                             : "-");
}

/* "L2 20% L1 30%": the events that cost something, worst first. */
static void put_events(const struct hp_annotator *a, const struct hp_insn_facts *facts,
                       struct hp_strbuf *cell)
{
    static const struct {
        enum hp_insn_event event;
        const char *name;
    } events[] = {{HP_INSN_MISPREDICTED, "mispr."},
                  {HP_INSN_L3, "L3"},
                  {HP_INSN_L2, "L2"},
                  {HP_INSN_L1D, "L1"},
                  {HP_INSN_DTLB, "DTLB"},
                  {HP_INSN_L1I, "L1I"},
                  {HP_INSN_ITLB, "ITLB"},
                  {HP_INSN_BLOCKED, "blocked"}};
    bool narrow = a->print.width > 0 && a->print.width < NARROW;
    size_t shown = 0, most = narrow ? 1 : EVENTS_SHOWN;
    for (size_t i = 0; i < sizeof events / sizeof *events && shown < most; i++) {
        if (events[i].event == HP_INSN_L3 && !a->tables->insns.has_l3)
            continue; /* what is beyond the L2 is memory */
        struct hp_estimate rate = hp_insn_rate(facts, events[i].event);
        if (rate.value < 0.005)
            continue;
        hp_strbuf_format(cell, "%s%s %s", shown++ ? " " : "", events[i].name,
                         HP_FIXED(rate.value * 100, 0));
        if (rate.high > rate.low)
            hp_strbuf_format(
                cell, "±%s",
                HP_FIXED(100 * fmax(rate.high - rate.value, rate.value - rate.low), 0));
        hp_strbuf_add(cell, "%");
    }
}

/* Where a branch leads. */
struct target {
    struct hp_place to; /* module HP_PROFILE_NONE: not known, or it is no branch */
    size_t operand;     /* where in the text that address is; 0: it is not there */
    bool others;
};

/* A direct branch has the address as the last word of its text: "jne 0x1010", "b.ne #0x1010". */
static bool find_operand(const struct hp_code_line *line, const struct hp_pedge *edge,
                         struct target *target)
{
    const char *operand = strrchr(line->text, ' '), *number;
    char *end;
    if ((edge->flow != HP_FLOW_JUMP && edge->flow != HP_FLOW_COND && edge->flow != HP_FLOW_CALL) ||
        !operand)
        return false;
    number = operand + (operand[1] == '#' ? 2 : 1);
    uint64_t offset = strtoull(number, &end, 16);
    if (strncasecmp(number, "0x", 2) != 0 || *end)
        return false;
    target->to = (struct hp_place){line->place.module, offset};
    target->operand = (size_t)(operand + 1 - line->text);
    return true;
}

/* By the text or by where it was seen to go; of an indirect branch that is one place of several. */
static struct target target_of(const struct hp_tables *tables, const struct hp_code_line *line)
{
    const struct hp_profile *p = tables->profile;
    struct target target = {.to.module = HP_PROFILE_NONE};
    size_t i = HP_BISECT(k, 0, p->n_edges, hp_place_compare(p->edges[k].from, line->place) < 0);
    size_t end = i, taken = SIZE_MAX, n = 0;
    for (; end < p->n_edges && hp_place_compare(p->edges[end].from, line->place) == 0; end++) {
        taken = p->edges[end].taken && taken == SIZE_MAX ? end : taken;
        n += p->edges[end].taken;
    }
    const struct hp_pedge *edge = end > i ? &p->edges[taken != SIZE_MAX ? taken : i] : NULL;
    if (!edge || line->insns || edge->flow == HP_FLOW_NONE || edge->flow >= HP_FLOW_RETURN)
        return target;
    if (!find_operand(line, edge, &target) && edge->taken)
        target.to = edge->to;
    target.others = n > 1;
    return target;
}

static bool is_behind(struct hp_place place, struct hp_place start)
{
    return place.module == start.module && place.offset >= start.offset;
}

/* "+44" in the function, as addresses in front are; "helper", "helper+0x1c" of others. */
static void put_place(const struct listing *of, struct hp_place to, struct hp_strbuf *cell)
{
    const struct hp_tables *tables = of->a->tables;
    uint32_t function = hp_tables_function_at(tables, to);
    bool named = function != HP_PROFILE_NONE; /* its own size may not be known */
    struct hp_strbuf code HP_CLEANUP(hp_strbuf_fini) = {0};
    bool own = named ? hp_place_compare(tables->profile->functions[function].place, of->start) == 0
                     : is_behind(to, of->start) && to.offset < of->end;
    if (own && to.offset != of->start.offset)
        hp_strbuf_format(cell, "+%s", HP_HEX(to.offset - of->start.offset) + 2);
    else
        hp_put_code(tables, function, to, &code);
    put_name(of->a, &code, cell);
}

/* "jne +10", "call helper", "call rax <helper, …>" */
static void put_instruction(const struct listing *of, const struct hp_code_line *line,
                            struct hp_strbuf *cell)
{
    const struct target target = target_of(of->a->tables, line);
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    bool known = target.to.module != HP_PROFILE_NONE;
    hp_strbuf_bytes(&text, line->text, target.operand ? target.operand : strlen(line->text));
    cell->failed |= text.failed;
    hp_put_assembly(hp_strbuf_text(&text), cell);
    hp_strbuf_add(cell, known && !target.operand ? " <" : "");
    if (known)
        put_place(of, target.to, cell);
    hp_strbuf_add(cell, target.others ? ", …" : "");
    hp_strbuf_add(cell, known && !target.operand ? ">" : "");
}

static int by_offset(const void *a, const void *b)
{
    return HP_COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* What branches of the function lead to in it: these lines have a mark. */
static enum hp_err find_targets(struct listing *of, size_t n)
{
    HP_TRY(hp_new(&of->targets, n, sizeof *of->targets));
    for (size_t i = 0; i < n; i++) {
        const struct target target = target_of(of->a->tables, &of->code[i]);
        if (is_behind(target.to, of->start) && target.to.offset < of->end)
            of->targets[of->n_targets++] = target.to.offset;
    }
    if (of->n_targets)
        qsort(of->targets, of->n_targets, sizeof *of->targets, by_offset);
    return HP_OK;
}

static bool is_target(const struct listing *of, struct hp_place place)
{
    size_t i = HP_BISECT(k, 0, of->n_targets, of->targets[k] < place.offset);
    return i < of->n_targets && of->targets[i] == place.offset && is_behind(place, of->start);
}

/* ">+1e: jne +10": something leads there. What is before the function has its address in the file.
 */
static void put_text(const struct listing *of, const struct hp_code_line *line,
                     struct hp_strbuf *cell)
{
    struct hp_place place = line->place;
    bool own = is_behind(place, of->start);
    const char *mark = is_target(of, place) ? ">" : " ";
    const char *address = HP_HEX(place.offset - (own ? of->start.offset : 0)) + (own ? 2 : 0);
    size_t width = strlen(HP_HEX(of->end - of->start.offset)) - 2, length = strlen(address);
    hp_strbuf_format(cell, "%*s%s%s%s: ", length < width ? (int)(width - length) : 0, "", mark,
                     own ? "+" : "", address);
    if (line->insns)
        hp_strbuf_format(cell, "(%s instruction%s)", HP_GROUPED(line->insns),
                         line->insns == 1 ? "" : "s");
    else
        put_instruction(of, line, cell);
    if (line->version)
        hp_strbuf_format(cell, " (version %u)", line->version);
}

static double fill_code(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct listing *of = context;
    const struct hp_annotator *a = of->a;
    const struct hp_code_line *line = &of->code[i];
    struct hp_code_numbers n = hp_code_numbers(a, line);
    double share = hp_annotator_share(a, n.weight);
    struct hp_estimate wasted;
    if (n.weight > 0)
        hp_strbuf_percent(&cells[0], share);
    /* What the sampler never met may have been executed. */
    if (n.times.value > 0 || a->by != HP_ANNOTATE_SAMPLES)
        hp_put_estimate(n.times, &cells[1]);
    if (hp_insn_tally(&n.facts)->retired) {
        hp_put_cycles(hp_insn_each(&n.facts), &cells[2]);
        put_stages(&n.facts, &cells[3]);
        put_events(a, &n.facts, &cells[4]);
    }
    if (hp_insn_paired(&n.facts, HP_INSN_WASTED, &wasted)) {
        hp_strbuf_add(&cells[5], HP_AMOUNT(wasted.value));
        if (wasted.value > 0)
            hp_put_interval(wasted, &cells[5]);
    }
    put_text(of, line, &cells[6]);
    return share;
}

static bool same_source(const struct hp_code_line *a, const struct hp_code_line *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->inlined, b->inlined) == 0;
}

/* "demo.c:12  for (...)" where the source goes on elsewhere. */
static enum hp_err print_above_code(void *context, size_t i)
{
    const struct listing *of = context;
    const struct hp_code_line *line = &of->code[i], *last = i ? line - 1 : NULL;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t length;
    if (last && last->place.offset + last->length < line->place.offset)
        fputs("  ...\n", of->a->out);
    if (!*line->file || (last && same_source(last, line)))
        return HP_OK;
    hp_put_source_place(hp_base_name(line->file), line->line, &text);
    const char *source = hp_sources_line(&of->a->sources, line->file, line->line, &length);
    if (source) {
        hp_strbuf_add(&text, "  ");
        hp_put_source(source, length, &text);
    }
    if (*line->inlined) {
        struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
        hp_strbuf_clean(&name, line->inlined);
        hp_strbuf_add(&text, "  [");
        put_name(of->a, &name, &text);
        hp_strbuf_add(&text, "]");
    }
    return print_line(of->a, true, &text);
}

static enum hp_err print_code(struct hp_annotator *a, uint32_t function,
                              const struct hp_function_code *code)
{
    const struct hp_psampler *sampler = a->tables->insns.sampler;
    struct listing of = {
        .a = a, .start = a->tables->profile->functions[function].place, .code = code->lines};
    if (code->n)
        of.end = code->lines[code->n - 1].place.offset + code->lines[code->n - 1].length;
    bool plain = a->by == HP_ANNOTATE_INSTRUCTIONS;
    const struct hp_column columns[] = {
        {"share", .right = true, .heat = true},
        {"times", .right = true},
        {"each", .right = true, .hidden = plain},
        {"m/o/i/e/r", .hidden = plain},
        {"events", .hidden = plain},
        {"wasted", .right = true, .hidden = !sampler || !sampler->window},
        {"instruction", .flexible = true, .cut = HP_CUT_END},
        {0}};
    enum hp_err err = find_targets(&of, code->n);
    if (err == HP_OK)
        err = print_listing(&of, columns, code->n, fill_code, print_above_code);
    free(of.targets);
    return err;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* "memory 75% l2 15%" */
static void put_causes(const struct hp_annotated_line *line, struct hp_strbuf *cell)
{
    enum hp_cause causes[HP_CAUSES];
    size_t n = hp_causes_order(line->causes, causes);
    for (size_t i = 0; i < n && i < CAUSES_SHOWN; i++)
        if (line->causes[causes[i]] >= 0.005 * line->cycles)
            hp_strbuf_format(cell, "%s%s %s%%", i ? " " : "", hp_cause_name(causes[i]),
                             HP_FIXED(100 * line->causes[causes[i]] / line->cycles, 0));
}

static double fill_line(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct listing *of = context;
    const struct hp_annotated_line *line = of->rows[i].line;
    bool code = line->line == of->rows[i].number;
    double share = code ? hp_annotator_share(of->a, line->weight) : 0;
    size_t length;
    if (code && line->weight > 0)
        hp_strbuf_percent(&cells[0], share);
    if (code)
        hp_put_estimate(line->times, &cells[1]);
    if (code && line->retired > 0 && line->cycles > 0)
        hp_strbuf_fixed(&cells[2], line->cycles / line->retired, 2);
    if (code)
        put_causes(line, &cells[3]);
    hp_strbuf_uint(&cells[4], of->rows[i].number);
    const char *source = hp_sources_line(&of->a->sources, line->file, of->rows[i].number, &length);
    if (source)
        hp_put_indented_source(source, length, &cells[5]);
    return share;
}

static enum hp_err print_above_line(void *context, size_t i)
{
    const struct listing *of = context;
    if (i && of->rows[i - 1].number + 1 < of->rows[i].number)
        fputs("  ...\n", of->a->out);
    return HP_OK;
}

/* The lines of one file; those between too, where the file can be read and they are few. */
static enum hp_err print_file(struct hp_annotator *a, const struct hp_annotated_line *lines,
                              size_t n)
{
    struct source_row *rows HP_CLEANUP(hp_free) = calloc(n * MOST_BETWEEN, sizeof *rows);
    struct listing of = {.a = a, .rows = rows};
    bool plain = a->by != HP_ANNOTATE_CYCLES;
    size_t n_rows = 0;
    if (!rows)
        return hp_fail_nomem();
    const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                        {"times", .right = true},
                                        {"CPI", .right = true, .hidden = plain},
                                        {"causes", .hidden = plain},
                                        {"line", .right = true},
                                        {"source", .flexible = true, .cut = HP_CUT_END},
                                        {0}};
    for (size_t i = 0; i < n; i++) {
        uint32_t between = i ? lines[i].line - lines[i - 1].line - 1 : 0;
        size_t length;
        if (between >= MOST_BETWEEN ||
            !hp_sources_line(&a->sources, lines[i].file, lines[i].line, &length))
            between = 0;
        for (uint32_t k = between + 1; k-- > 0;)
            rows[n_rows++] = (struct source_row){&lines[i], lines[i].line - k};
    }
    return print_listing(&of, columns, n_rows, fill_line, print_above_line);
}

static enum hp_err print_lines(struct hp_annotator *a, uint32_t function,
                               const struct hp_function_code *code)
{
    struct hp_annotated_line *lines HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n;
    HP_TRY(hp_annotator_lines(a, function, code, &lines, &n));
    if (n == 0)
        fputs("  (no source line is known: was the program built with -g?)\n", a->out);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(lines[end].file, lines[i].file) == 0;)
            end++;
        hp_strbuf_add(&text, "  ");
        hp_strbuf_clean(&text, hp_short_path(&a->tables->profile->run, lines[i].file));
        HP_TRY(print_line(a, false, &text));
        HP_TRY(print_file(a, &lines[i], end - i));
    }
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* A function's name that leaves room in the line for the rest. */
static void put_function(const struct hp_annotator *a, uint32_t function, struct hp_strbuf *text)
{
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_put_function(a->tables, function, &name);
    put_name(a, &name, text);
}

/* Whether some of the code is of functions that were inlined into it. */
static bool has_others(const struct hp_annotator *a, uint32_t function,
                       const struct hp_function_code *code)
{
    const char *name = a->tables->functions[function];
    for (size_t i = 0; i < code->n; i++)
        if (*hp_text(code->lines[i].inlined) && strcmp(code->lines[i].inlined, name) != 0)
            return true;
    return false;
}

/* "work: 80.0% of the cycles, with what is inlined into it; demo.c:10, /opt/demo" */
static enum hp_err print_head(struct hp_annotator *a, const struct hp_hot_function *function,
                              const struct hp_function_code *code)
{
    static const char *const units[] = {"cycles", "sampled cycles", "instructions"};
    const struct hp_pfunction *f = &a->tables->profile->functions[function->function];
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    put_function(a, function->function, &text);
    hp_strbuf_format(&text, ": %s of the %s%s; ",
                     HP_PERCENT(hp_annotator_share(a, (double)function->weight)), units[a->by],
                     has_others(a, function->function, code) ? ", with what is inlined into it"
                                                             : "");
    hp_put_where(a->tables, f->file, f->line, f->place.module, &text);
    if (*hp_text(f->file) && f->place.module != HP_PROFILE_NONE) {
        hp_strbuf_add(&text, ", ");
        hp_strbuf_clean(&text, a->tables->modules[f->place.module]);
    }
    return print_line(a, true, &text);
}

static enum hp_err print_note(struct hp_annotator *a, const char *before, const char *note)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&text, note);
    fprintf(a->out, "%snote:%s %s%s\n", hp_text_warn(a->print.color), hp_text_plain(a->print.color),
            before, hp_strbuf_text(&text));
    return text.failed ? hp_fail_nomem() : HP_OK;
}

/* "  inlined at demo.c:12 in main (23.3%)" */
static enum hp_err print_places(struct hp_annotator *a, const struct hp_inlined_places *places)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    for (size_t i = 0; i < places->n && i < PLACES_SHOWN; i++) {
        const struct hp_inlined_place *place = &places->places[i];
        hp_strbuf_add(&text, "  inlined");
        if (*place->file) {
            hp_strbuf_add(&text, " at ");
            hp_put_source_place(hp_base_name(place->file), place->line, &text);
        }
        if (place->caller != HP_PROFILE_NONE) {
            hp_strbuf_add(&text, " in ");
            put_function(a, place->caller, &text);
        }
        hp_strbuf_format(&text, " (%s)", HP_PERCENT(hp_annotator_share(a, place->weight)));
        HP_TRY(print_line(a, false, &text));
    }
    if (places->n > PLACES_SHOWN)
        fprintf(a->out, "  ... and at %zu more places\n", places->n - PLACES_SHOWN);
    return HP_OK;
}

/* Of an inlined function the source lines, wherever their code is; then code of its own. */
static enum hp_err print_function(struct hp_annotator *a, struct hp_hot_function function)
{
    struct hp_function_code all HP_CLEANUP(hp_function_code_fini) = {0};
    struct hp_function_code code HP_CLEANUP(hp_function_code_fini) = {0};
    struct hp_inlined_places places HP_CLEANUP(hp_inlined_places_fini) = {0};
    HP_TRY(hp_annotator_all_code(a, &function, &all, &places));
    HP_TRY(print_head(a, &function, &all));
    HP_TRY(print_places(a, &places));
    if (a->options->lines || places.n)
        HP_TRY(print_lines(a, function.function, &all));
    if (a->options->lines)
        return HP_OK;
    HP_TRY(hp_annotator_code(a, function.function, &code));
    if (code.n == 0 && places.n)
        return HP_OK;
    HP_TRY(print_code(a, function.function, &code));
    return code.missing ? print_note(a, "instructions are not shown: ", code.missing) : HP_OK;
}

enum hp_err hp_annotate_text(struct hp_annotator *a, const struct hp_hot_function *functions,
                             size_t n)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    if (n == 0)
        fputs("  (no function was executed)\n", a->out);
    if (n && a->by != HP_ANNOTATE_INSTRUCTIONS) {
        HP_TRY(hp_print_cycles_head(a->tables, &a->print, a->out));
        if (!a->options->lines)
            hp_strbuf_add(&text,
                          "m/o/i/e/r: cycles an execution from fetch to map, to operands ready, to "
                          "issue, to retire ready, to retirement");
        HP_TRY(hp_print_wrapped(&text, 0, &a->print, a->out));
        putc('\n', a->out);
    }
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "\n" : "", a->out);
        HP_TRY(print_function(a, functions[i]));
    }
    if (!a->sources.n_newer)
        return HP_OK;
    return print_note(
        a, "", "a source file changed after the run: what is shown may not be what was executed");
}
