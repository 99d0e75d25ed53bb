// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/base.h"
#include "hotpath/cycles.h"
#include "report/print.h"
#include "text/table.h"

#define LINES_OF      5  /* lines of each of as many functions */
#define ROWS_OF       10 /* loops, paths */
#define STEPS_OF_PATH 8

/* --- Cells ------------------------------------------------------------------------------------ */

const char *hp_delta_text(char text[HP_NUMBER_SIZE + 1], int64_t delta)
{
    text[0] = delta > 0 ? '+' : '-';
    hp_number_grouped(text + 1, hp_delta_size(delta));
    return delta ? text : text + 1;
}

void hp_diff_put_total(struct hp_strbuf *text, const struct hp_diff *diff, enum hp_total total)
{
    hp_strbuf_format(text, "  %-16s%s -> %s", hp_total_names[total],
                     HP_GROUPED(diff->old->totals[total]), HP_GROUPED(diff->new->totals[total]));
}

/* "12", or "12 -> 15" where it changed. */
static void put_pair(struct hp_strbuf *cell, uint64_t old, uint64_t new)
{
    hp_strbuf_human(cell, old);
    if (old != new)
        hp_strbuf_format(cell, " -> %s", HP_HUMAN(new));
}

static void put_place(struct hp_strbuf *cell, const char *file, uint32_t line)
{
    hp_strbuf_add(cell, hp_base_name(file));
    if (*file && line)
        hp_strbuf_format(cell, ":%u", line);
}

static void put_line_place(struct hp_strbuf *cell, const struct hp_dline *line)
{
    if (line->line)
        put_place(cell, line->file, line->line);
    else
        hp_strbuf_add(cell, "(no line)");
}

static void put_name(struct hp_strbuf *cell, const struct hp_diff *diff, const struct hp_change *f)
{
    bool gone = f->new == HP_PROFILE_NONE, is_new = f->old == HP_PROFILE_NONE;
    hp_strbuf_add(cell, hp_change_function(f)->name);
    if (f->inlined != HP_PROFILE_NONE)
        hp_strbuf_format(cell, " (%s inlined in %s)", gone ? "now" : "was",
                         (gone ? diff->new : diff->old)->functions[f->inlined].name);
    else if (gone || is_new)
        hp_strbuf_add(cell, gone ? " (removed)" : " (new)");
    else if (f->how == HP_DIFF_RENAMED)
        hp_strbuf_format(cell, " (was %s?)", diff->old->functions[f->old].name);
}

static void fill_function(const struct hp_diff *diff, const struct hp_change *f,
                          struct hp_strbuf *cells)
{
    const struct hp_dfunction *old = f->old_item, *new = f->new_item, *shown = new ?: old;
    uint64_t all = diff->old->totals[HP_TOTAL_INSTRUCTIONS];
    double percent = all ? 100 * (double)f->delta / (double)all : 0;
    if (percent <= -0.05 || percent >= 0.05)
        hp_strbuf_format(&cells[0], "%s%s%%", percent > 0 ? "+" : "", HP_FIXED(percent, 1));
    hp_strbuf_human(&cells[1], f->before);
    hp_strbuf_human(&cells[2], f->after);
    put_pair(&cells[3], old ? old->calls : 0, new ? new->calls : 0);
    put_name(&cells[4], diff, f);
    put_place(&cells[5], shown->file, shown->line);
}

/* Cycles of a function of either version, measured; 0 where it has none. */
static uint64_t cycles_of(const struct hp_dfunction *f)
{
    return f ? f->cycles / HP_CYCLE_PARTS : 0;
}

static double cpi_of(const struct hp_dfunction *f)
{
    return hp_number_share(f->cycles, f->retired) / (double)HP_CYCLE_PARTS;
}

static void fill_cycles(const struct hp_diff *diff, const struct hp_change *f,
                        struct hp_strbuf *cells)
{
    static const struct hp_dfunction none;
    const struct hp_dfunction *old = f->old_item ?: &none, *new = f->new_item ?: &none;
    put_pair(&cells[0], cycles_of(old), cycles_of(new));
    hp_strbuf_format(&cells[1], "%s -> %s", HP_FIXED(cpi_of(old), 2), HP_FIXED(cpi_of(new), 2));
    put_pair(&cells[2], old->events[HP_INSN_L1D], new->events[HP_INSN_L1D]);
    put_pair(&cells[3], old->events[HP_INSN_MISPREDICTED], new->events[HP_INSN_MISPREDICTED]);
    put_name(&cells[4], diff, f);
}

static void fill_line(const struct hp_diff *diff, const struct hp_change *l,
                      struct hp_strbuf *cells)
{
    const struct hp_dline *old = l->old_item, *new = l->new_item, *shown = new ?: old;
    hp_strbuf_human(&cells[0], l->before);
    hp_strbuf_human(&cells[1], l->after);
    put_name(&cells[2], diff, &diff->functions.items[l->function]);
    put_line_place(&cells[3], shown);
    hp_strbuf_format(&cells[3], "%s%s", *shown->inlined ? " " : "", shown->inlined);
    if (!old || !new)
        hp_strbuf_add(&cells[3], new ? " (new)" : " (removed)");
    else if (old->line != new->line)
        hp_strbuf_format(&cells[3], " (was line %u)", old->line);
}

static void fill_loop(const struct hp_diff *diff, const struct hp_change *l,
                      struct hp_strbuf *cells)
{
    static const struct hp_dloop none;
    const struct hp_dloop *old = l->old_item ?: &none, *new = l->new_item ?: &none;
    const struct hp_dloop *shown = new == &none ? old : new;
    put_pair(&cells[0], old->executions, new->executions);
    hp_strbuf_format(&cells[1], "%s -> %s",
                     HP_FIXED(hp_number_share(old->iterations, old->executions), 1),
                     HP_FIXED(hp_number_share(new->iterations, new->executions), 1));
    put_name(&cells[2], diff, &diff->functions.items[l->function]);
    hp_strbuf_add(&cells[2], " ");
    put_place(&cells[2], shown->file, shown->line);
    hp_strbuf_add(&cells[2], new == &none ? " (removed)" : old == &none ? " (new)" : "");
}

static void fill_path(const struct hp_diff *diff, const struct hp_change *p,
                      struct hp_strbuf *cells)
{
    const struct hp_dpath *old = p->old_item, *new = p->new_item, *shown = new ?: old;
    const struct hp_digest *d = new ? diff->new : diff->old;
    uint32_t last = HP_PROFILE_NONE;
    put_pair(&cells[0], old ? old->count : 0, new ? new->count : 0);
    hp_strbuf_add(&cells[1], !new ? "(removed) " : !old ? "(new) " : "");
    for (uint32_t i = 0; i < shown->n_steps && i < STEPS_OF_PATH; i++) {
        const struct hp_dline *line = &d->lines[d->steps[shown->steps + i]];
        if (line->function != last)
            hp_strbuf_format(&cells[1], "%s ", d->functions[line->function].name);
        last = line->function;
        put_line_place(&cells[1], line);
        hp_strbuf_add(&cells[1], i + 1 < shown->n_steps ? " " : "");
    }
    hp_strbuf_add(&cells[1], shown->n_steps > STEPS_OF_PATH ? "…" : "");
}

/* --- Parts ------------------------------------------------------------------------------------ */

struct printer {
    const struct hp_diff *diff;
    const struct hp_diff_print *print;
    FILE *out;
    const struct part *part;
    const struct hp_change **rows; /* of the part */
    size_t n;
    uint32_t function;       /* of the last line that was shown; this and the next: of lines */
    size_t functions, lines; /* shown so far; lines of the last function */
};

struct part {
    const char *title;
    enum hp_diff_kind kind;
    size_t usual; /* rows that a person reads; 0: is_shown() sees to it */
    bool (*is_shown)(struct printer *p, const struct hp_change *change);
    /* What the rows are ordered by. NULL: as the changes are, by instructions */
    int64_t (*delta)(const struct hp_change *change);
    /* Fills the cells behind the change; they need not be clean. */
    void (*fill)(const struct hp_diff *diff, const struct hp_change *change,
                 struct hp_strbuf *cells);
    const char *columns; /* titles; with ':' those of texts, which may be cut */
};

static bool is_change(struct printer *p, const struct hp_change *change)
{
    return hp_diff_counts(p->diff, p->print, change->delta);
}

static int64_t cycles_delta(const struct hp_change *f)
{
    return hp_delta(cycles_of(f->old_item), cycles_of(f->new_item));
}

static bool is_change_of_cycles(struct printer *p, const struct hp_change *f)
{
    return hp_diff_has(p->diff, HP_TOTAL_CYCLES) && cycles_delta(f) != 0;
}

/* The lines that changed most, of the functions that did. */
static bool is_line_of_change(struct printer *p, const struct hp_change *l)
{
    const struct hp_change *function = &p->diff->functions.items[l->function];
    const struct hp_dline *line = l->new_item ?: l->old_item;
    size_t most = hp_diff_limit(p->print, SIZE_MAX, LINES_OF);
    if (!is_change(p, function) || l->delta == 0)
        return false;
    if (l->function != p->function) {
        /* All of it has no line: the function's row says as much. */
        if (line->line == 0 && l->delta == function->delta)
            return false;
        p->functions++;
        p->lines = 0;
    }
    p->function = l->function;
    return p->functions <= most && p->lines++ < most;
}

static bool is_change_of_trips(struct printer *p, const struct hp_change *l)
{
    const struct hp_dloop *old = l->old_item, *new = l->new_item;
    bool same =
        old && new && old->executions == new->executions && old->iterations == new->iterations;
    return !same && (p->print->threshold <= 0 || is_change(p, l));
}

static const struct part parts[] = {
    {"Functions", HP_DIFF_FUNCTIONS, HP_REPORT_TEXT_TOP, is_change, NULL, fill_function,
     "change|of run|old|new|calls|:function|:where"},
    {"Measured cycles", HP_DIFF_FUNCTIONS, ROWS_OF, is_change_of_cycles, cycles_delta, fill_cycles,
     "change|cycles|CPI|l1d misses|mispredicted|:function"},
    {"Lines of the most changed functions", HP_DIFF_LINES, 0, is_line_of_change, NULL, fill_line,
     "change|old|new|:function|:line"},
    {"Loops with changed iteration counts", HP_DIFF_LOOPS, ROWS_OF, is_change_of_trips, NULL,
     fill_loop, "change|executions|mean iterations|:loop"},
    {"Paths", HP_DIFF_PATHS, ROWS_OF, is_change, NULL, fill_path, "change|executions|:path"},
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct part *part = context;
    const struct hp_change *x = *(const struct hp_change *const *)a;
    const struct hp_change *y = *(const struct hp_change *const *)b;
    uint64_t p = hp_delta_size(part->delta(x)), q = hp_delta_size(part->delta(y));
    return HP_COMPARE(q, p) ?: HP_COMPARE(x, y);
}

static double fill_row(void *context, size_t row, struct hp_strbuf *cells)
{
    struct printer *p = context;
    const struct hp_change *change = p->rows[row];
    hp_strbuf_add(&cells[0], HP_DELTA(p->part->delta ? p->part->delta(change) : change->delta));
    p->part->fill(p->diff, change, &cells[1]);
    for (size_t i = 0; i < HP_TEXT_COLUMNS; i++) {
        struct hp_strbuf raw HP_CLEANUP(hp_strbuf_fini) = cells[i];
        cells[i] = (struct hp_strbuf){.failed = raw.failed};
        hp_strbuf_clean(&cells[i], hp_strbuf_text(&raw));
    }
    return 0;
}

static enum hp_err print_rows(struct printer *p, size_t n)
{
    struct hp_column columns[HP_TEXT_COLUMNS + 1] = {0}, *column = columns;
    const struct hp_report_options *report = &p->print->report;
    char titles[100], *next = titles;
    snprintf(titles, sizeof titles, "%s", p->part->columns);
    for (char *title; (title = strsep(&next, "|")); column++) {
        column->flexible = *title == ':';
        column->right = !column->flexible;
        column->title = title + column->flexible;
        column->cut = p->part->kind == HP_DIFF_PATHS           ? HP_CUT_END
                      : strcmp(column->title, "function") == 0 ? HP_CUT_NAME
                                                               : HP_CUT_MIDDLE;
    }
    return hp_text_rows_print(&(struct hp_text_rows){.columns = columns,
                                                     .out = p->out,
                                                     .color = report->color,
                                                     .width = report->width,
                                                     .full_names = report->full_names,
                                                     .n = n,
                                                     .fill = fill_row,
                                                     .context = p});
}

/* The rows with a title and how many were left out; nothing when there are none. */
static enum hp_err print_part(struct printer *p, const struct part *part)
{
    const struct hp_changes *changes = &p->diff->kinds[part->kind];
    bool color = p->print->report.color;
    p->part = part;
    p->n = 0;
    for (size_t i = 0; i < changes->n; i++)
        if (part->is_shown(p, &changes->items[i]))
            p->rows[p->n++] = &changes->items[i];
    if (p->n == 0)
        return HP_OK;
    if (part->delta)
        qsort_r(p->rows, p->n, sizeof *p->rows, compare_rows, (void *)(uintptr_t)part);
    size_t shown = part->usual ? hp_diff_limit(p->print, p->n, part->usual) : p->n;
    fprintf(p->out, "\n%s%s%s\n", hp_text_bold(color), part->title, hp_text_plain(color));
    HP_TRY(print_rows(p, shown));
    if (shown < p->n)
        fprintf(p->out, "  … and %s more (--top 0 shows all)\n", HP_GROUPED(p->n - shown));
    return HP_OK;
}

/* What the part about functions, which was just printed, does not show. */
static void print_unshown(const struct printer *p)
{
    size_t changed = 0;
    for (size_t i = 0; i < p->diff->functions.n; i++)
        changed += p->diff->functions.items[i].delta != 0;
    if (changed > p->n)
        fprintf(p->out, "  %s function%s changed by less than %s%% of the instructions\n",
                HP_GROUPED(changed - p->n), changed - p->n == 1 ? "" : "s",
                HP_FIXED(p->print->threshold, 2));
    else if (changed == 0)
        fputs("\n  (no function changed)\n", p->out);
}

/* --- All -------------------------------------------------------------------------------------- */

bool hp_diff_counts(const struct hp_diff *diff, const struct hp_diff_print *print, int64_t delta)
{
    double total = (double)diff->old->totals[HP_TOTAL_INSTRUCTIONS];
    return delta != 0 && (double)hp_delta_size(delta) * 100.0 >= print->threshold * total;
}

size_t hp_diff_limit(const struct hp_diff_print *print, size_t n, size_t usual)
{
    size_t top = print->report.top == HP_REPORT_TOP_DEFAULT ? usual : print->report.top;
    return top && top < n ? top : n;
}

/* "old: FILE", cut to the width of the terminal. */
static void put_file(struct hp_strbuf *text, const struct hp_report_options *report,
                     const char *which, const char *name)
{
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t width = report->width > 0 ? (size_t)report->width : SIZE_MAX, used = strlen(which);
    hp_strbuf_clean(&clean, name);
    hp_strbuf_format(text, "%s%s", hp_text_bold(report->color), which);
    hp_strbuf_cut(text, hp_strbuf_text(&clean), width > used ? width - used : 1, HP_CUT_MIDDLE);
    hp_strbuf_format(text, "%s\n", hp_text_plain(report->color));
    text->failed |= clean.failed;
}

/* "+5.4%" */
static void put_percent(struct hp_strbuf *text, int64_t delta, uint64_t of)
{
    double value = of ? 100.0 * (double)delta / (double)of : 0;
    const char *number = HP_FIXED(value, 1);
    if (strcmp(number, "0.0") != 0 && strcmp(number, "-0.0") != 0)
        hp_strbuf_format(text, "%s%s%%", value > 0 ? "+" : "", number);
    else
        hp_strbuf_add(text, delta > 0 ? "<+0.1%" : delta < 0 ? ">-0.1%" : "0.0%");
}

static enum hp_err print_head(const struct printer *p)
{
    const struct hp_diff *diff = p->diff;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    put_file(&text, &p->print->report, "old: ", p->print->old_name);
    put_file(&text, &p->print->report, "new: ", p->print->new_name);
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (hp_diff_has(diff, i)) {
            int64_t delta = hp_delta(diff->old->totals[i], diff->new->totals[i]);
            hp_diff_put_total(&text, diff, i);
            hp_strbuf_format(&text, "   %s (", HP_DELTA(delta));
            put_percent(&text, delta, diff->old->totals[i]);
            hp_strbuf_add(&text, ")\n");
        }
    fputs(hp_strbuf_text(&text), p->out);
    return text.failed ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_diff_print(const struct hp_diff *diff, const struct hp_diff_print *print, FILE *out)
{
    if (print->report.format == HP_REPORT_JSON)
        return hp_diff_print_json(diff, print, out);
    size_t most = diff->functions.n + diff->lines.n + diff->loops.n + diff->paths.n;
    const struct hp_change **rows HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&rows, most, sizeof *rows));
    struct printer p = {
        .diff = diff, .print = print, .out = out, .rows = rows, .function = HP_PROFILE_NONE};
    HP_TRY(print_head(&p));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        HP_TRY(print_part(&p, &parts[i]));
        if (parts[i].fill == fill_function)
            print_unshown(&p);
    }
    return hp_print_finish(out);
}
