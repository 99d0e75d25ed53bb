// SPDX-License-Identifier: MIT
#include "diff/diff.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "hotpath/cycles.h"
#include "report/print.h"
#include "text/number.h"
#include "text/table.h"

#include <stdlib.h>
#include <string.h>

#define LINES_OF      5  /* lines of each of as many functions */
#define ROWS_OF       10 /* loops, paths */
#define STEPS_OF_PATH 8

/* --- Cells ------------------------------------------------------------------------------------ */

void hp_diff_put_delta(struct hp_strbuf *text, int64_t delta)
{
    hp_strbuf_format(text, "%s%s",
                     delta > 0   ? "+"
                     : delta < 0 ? "-"
                                 : "",
                     HP_GROUPED(hp_delta_size(delta)));
}

void hp_diff_put_place(struct hp_strbuf *text, const char *file, uint32_t line)
{
    hp_strbuf_clean(text, hp_base_name(file));
    if (*file && line)
        hp_strbuf_format(text, ":%u", line);
}

void hp_diff_put_total(struct hp_strbuf *text, const struct hp_diff *diff, enum hp_total total)
{
    hp_strbuf_format(text, "  %-16s%s -> %s", hp_total_name(total),
                     HP_GROUPED(diff->old->totals[total]), HP_GROUPED(diff->new->totals[total]));
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

/* "12", or "12 > 15" where it changed. */
static void put_pair(struct hp_strbuf *cell, uint64_t old, uint64_t new)
{
    hp_strbuf_human(cell, old);
    if (old != new)
        hp_strbuf_format(cell, " > %s", HP_HUMAN(new));
}

static void put_line_place(struct hp_strbuf *cell, const struct hp_dline *line)
{
    if (line->line)
        hp_diff_put_place(cell, line->file, line->line);
    else
        hp_strbuf_add(cell, "(no line)");
}

static void put_name(struct hp_strbuf *cell, const struct hp_diff *diff, const struct hp_change *f)
{
    bool gone = f->new == HP_PROFILE_NONE, is_new = f->old == HP_PROFILE_NONE;
    hp_strbuf_clean(cell, hp_diff_function(diff, f)->name);
    if (f->inlined != HP_PROFILE_NONE) {
        hp_strbuf_add(cell, gone ? " (now inlined in " : " (was inlined in ");
        hp_strbuf_clean(cell, (gone ? diff->new : diff->old)->functions[f->inlined].name);
        hp_strbuf_add(cell, ")");
    } else if (gone || is_new) {
        hp_strbuf_add(cell, gone ? " (gone)" : " (new)");
    } else if (f->how == HP_DIFF_RENAMED) {
        hp_strbuf_add(cell, " (was ");
        hp_strbuf_clean(cell, diff->old->functions[f->old].name);
        hp_strbuf_add(cell, "?)");
    }
}

static void fill_function(const struct hp_diff *diff, const struct hp_change *f,
                          struct hp_strbuf *cells)
{
    const struct hp_dfunction *old = HP_ITEM(diff->old->functions, f->old, NULL);
    const struct hp_dfunction *new = HP_ITEM(diff->new->functions, f->new, NULL),
                              *shown = new ?: old;
    int64_t all = hp_delta(diff->old->totals[HP_TOTAL_INSTRUCTIONS],
                           diff->new->totals[HP_TOTAL_INSTRUCTIONS]);
    hp_diff_put_delta(&cells[0], f->delta);
    if (all)
        hp_strbuf_format(&cells[1], "%s%%", HP_FIXED(100.0 * (double)f->delta / (double)all, 1));
    hp_strbuf_human(&cells[2], f->before);
    hp_strbuf_human(&cells[3], f->after);
    put_pair(&cells[4], old ? old->calls : 0, new ? new->calls : 0);
    put_name(&cells[5], diff, f);
    hp_diff_put_place(&cells[6], shown->file, shown->line);
}

/* Cycles of a function of either version, measured; 0 where it has none. */
static uint64_t cycles_of(const struct hp_dfunction *f)
{
    return f ? f->cycles / HP_CYCLE_PARTS : 0;
}

static double cpi_of(const struct hp_dfunction *f)
{
    return f && f->retired ? (double)f->cycles / (double)HP_CYCLE_PARTS / (double)f->retired : 0;
}

static void fill_cycles(const struct hp_diff *diff, const struct hp_change *f,
                        struct hp_strbuf *cells)
{
    static const struct hp_dfunction none;
    const struct hp_dfunction *old = HP_ITEM(diff->old->functions, f->old, &none);
    const struct hp_dfunction *new = HP_ITEM(diff->new->functions, f->new, &none);
    hp_diff_put_delta(&cells[0], hp_delta(cycles_of(old), cycles_of(new)));
    put_pair(&cells[1], cycles_of(old), cycles_of(new));
    hp_strbuf_format(&cells[2], "%s > %s", HP_FIXED(cpi_of(old), 2), HP_FIXED(cpi_of(new), 2));
    put_pair(&cells[3], old->events[HP_INSN_L1D], new->events[HP_INSN_L1D]);
    put_pair(&cells[4], old->events[HP_INSN_MISPREDICTED], new->events[HP_INSN_MISPREDICTED]);
    put_name(&cells[5], diff, f);
}

static void fill_line(const struct hp_diff *diff, const struct hp_change *l,
                      struct hp_strbuf *cells)
{
    const struct hp_dline *old = HP_ITEM(diff->old->lines, l->old, NULL);
    const struct hp_dline *new = HP_ITEM(diff->new->lines, l->new, NULL), *shown = new ?: old;
    hp_diff_put_delta(&cells[0], l->delta);
    hp_strbuf_human(&cells[1], l->before);
    hp_strbuf_human(&cells[2], l->after);
    put_name(&cells[3], diff, &diff->functions.items[l->function]);
    put_line_place(&cells[4], shown);
    hp_strbuf_add(&cells[4], *shown->inlined ? " " : "");
    hp_strbuf_clean(&cells[4], shown->inlined);
    if (!old || !new)
        hp_strbuf_add(&cells[4], new ? " (new)" : " (gone)");
    else if (old->line != new->line)
        hp_strbuf_format(&cells[4], " (was :%u)", old->line);
}

static double mean_of(const struct hp_dloop *loop)
{
    return loop->executions ? (double)loop->iterations / (double)loop->executions : 0;
}

static void fill_loop(const struct hp_diff *diff, const struct hp_change *l,
                      struct hp_strbuf *cells)
{
    static const struct hp_dloop none;
    bool gone = l->new == HP_PROFILE_NONE, is_new = l->old == HP_PROFILE_NONE;
    const struct hp_dloop *old = HP_ITEM(diff->old->loops, l->old, &none);
    const struct hp_dloop *new = HP_ITEM(diff->new->loops, l->new, &none);
    const struct hp_dloop *shown = gone ? old : new;
    hp_diff_put_delta(&cells[0], l->delta);
    put_pair(&cells[1], old->executions, new->executions);
    hp_strbuf_format(&cells[2], "%s > %s", HP_FIXED(mean_of(old), 1), HP_FIXED(mean_of(new), 1));
    put_name(&cells[3], diff, &diff->functions.items[l->function]);
    hp_strbuf_add(&cells[3], " ");
    hp_diff_put_place(&cells[3], shown->file, shown->line);
    hp_strbuf_add(&cells[3], gone ? " (gone)" : is_new ? " (new)" : "");
}

static void fill_path(const struct hp_diff *diff, const struct hp_change *p,
                      struct hp_strbuf *cells)
{
    const struct hp_dpath *old = HP_ITEM(diff->old->paths, p->old, NULL);
    const struct hp_dpath *new = HP_ITEM(diff->new->paths, p->new, NULL), *shown = new ?: old;
    const struct hp_digest *d = new ? diff->new : diff->old;
    uint32_t last = HP_PROFILE_NONE;
    hp_diff_put_delta(&cells[0], p->delta);
    put_pair(&cells[1], old ? old->count : 0, new ? new->count : 0);
    hp_strbuf_add(&cells[2], !new ? "(gone) " : !old ? "(new) " : "");
    for (uint32_t i = 0; i < shown->n_steps && i < STEPS_OF_PATH; i++) {
        const struct hp_dline *line = &d->lines[d->steps[shown->steps + i]];
        if (line->function != last) {
            hp_strbuf_clean(&cells[2], d->functions[line->function].name);
            hp_strbuf_add(&cells[2], " ");
        }
        last = line->function;
        put_line_place(&cells[2], line);
        hp_strbuf_add(&cells[2], i + 1 < shown->n_steps ? " " : "");
    }
    if (shown->n_steps > STEPS_OF_PATH)
        hp_strbuf_add(&cells[2], "…");
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
    int (*compare)(const void *a, const void *b, void *diff); /* NULL: the order of the changes */
    void (*fill)(const struct hp_diff *diff, const struct hp_change *change,
                 struct hp_strbuf *cells);
    const char *numbers[6], *texts[3]; /* titles of columns */
};

static bool is_change(struct printer *p, const struct hp_change *change)
{
    return hp_diff_counts(p->diff, p->print, change->delta);
}

static int64_t cycles_delta(const struct hp_diff *diff, const struct hp_change *f)
{
    return hp_delta(cycles_of(HP_ITEM(diff->old->functions, f->old, NULL)),
                    cycles_of(HP_ITEM(diff->new->functions, f->new, NULL)));
}

static bool is_change_of_cycles(struct printer *p, const struct hp_change *f)
{
    return hp_diff_has(p->diff, HP_TOTAL_CYCLES) && cycles_delta(p->diff, f) != 0;
}

static int compare_cycles(const void *a, const void *b, void *diff)
{
    const struct hp_change *x = *(const struct hp_change *const *)a;
    const struct hp_change *y = *(const struct hp_change *const *)b;
    uint64_t p = hp_delta_size(cycles_delta(diff, x)), q = hp_delta_size(cycles_delta(diff, y));
    return HP_COMPARE(q, p) ?: HP_COMPARE(x, y);
}

/* The lines that changed most, of the functions that did. */
static bool is_line_of_change(struct printer *p, const struct hp_change *l)
{
    const struct hp_change *function = &p->diff->functions.items[l->function];
    const struct hp_dline *line =
        HP_ITEM(p->diff->new->lines, l->new, &p->diff->old->lines[l->old]);
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
    const struct hp_dloop *old = HP_ITEM(p->diff->old->loops, l->old, NULL);
    const struct hp_dloop *new = HP_ITEM(p->diff->new->loops, l->new, NULL);
    bool same =
        old && new && old->executions == new->executions && old->iterations == new->iterations;
    return !same && (p->print->threshold <= 0 || is_change(p, l));
}

static const struct part parts[] = {
    {"Functions",
     HP_DIFF_FUNCTIONS,
     HP_REPORT_TEXT_TOP,
     is_change,
     NULL,
     fill_function,
     {"change", "of all", "old", "new", "calls"},
     {"function", "where"}},
    {"Cycles, as measured",
     HP_DIFF_FUNCTIONS,
     ROWS_OF,
     is_change_of_cycles,
     compare_cycles,
     fill_cycles,
     {"change", "cycles", "CPI", "l1d misses", "mispredicted"},
     {"function"}},
    {"Lines of the functions that changed most",
     HP_DIFF_LINES,
     0,
     is_line_of_change,
     NULL,
     fill_line,
     {"change", "old", "new"},
     {"function", "line"}},
    {"Loops that go round more or less often",
     HP_DIFF_LOOPS,
     ROWS_OF,
     is_change_of_trips,
     NULL,
     fill_loop,
     {"change", "times", "mean trips"},
     {"loop"}},
    {"Paths",
     HP_DIFF_PATHS,
     ROWS_OF,
     is_change,
     NULL,
     fill_path,
     {"change", "executions"},
     {"path"}},
};

static double fill_row(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct printer *p = context;
    p->part->fill(p->diff, p->rows[i], cells);
    return 0;
}

static enum hp_err print_rows(struct printer *p, size_t n)
{
    struct hp_column columns[HP_TEXT_COLUMNS] = {0}, *column = columns;
    for (const char *const *title = p->part->numbers; *title; title++)
        *column++ = (struct hp_column){.title = *title, .right = true};
    for (const char *const *title = p->part->texts; *title; title++)
        *column++ = (struct hp_column){
            .title = *title,
            .flexible = true,
            .cut = p->part->kind == HP_DIFF_PATHS ? HP_CUT_END : HP_CUT_MIDDLE,
        };
    const struct hp_text_rows rows = {
        .columns = columns,
        .out = p->out,
        .color = p->print->report.color,
        .width = p->print->report.width,
        .n = n,
        .fill = fill_row,
        .context = p,
    };
    return hp_text_rows_print(&rows);
}

/* The rows with a title and how many were left out; nothing when there are none. */
static enum hp_err print_part(struct printer *p, const struct part *part)
{
    const struct hp_changes *changes = &p->diff->kinds[part->kind];
    bool color = p->print->report.color;
    p->part = part;
    p->n = 0;
    for (const struct hp_change *c = changes->items; c < changes->items + changes->n; c++)
        if (part->is_shown(p, c))
            p->rows[p->n++] = c;
    if (p->n == 0)
        return HP_OK;
    if (part->compare)
        qsort_r(p->rows, p->n, sizeof *p->rows, part->compare, (void *)(uintptr_t)p->diff);
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
        fprintf(p->out, "  %s changed by less than %s%% of the instructions\n",
                HP_GROUPED(changed - p->n), HP_FIXED(p->print->threshold, 2));
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
    int room = report->width - (int)strlen(which);
    hp_strbuf_clean(&clean, name);
    hp_strbuf_format(text, "%s%s", hp_text_bold(report->color), which);
    hp_strbuf_cut(text, hp_strbuf_text(&clean),
                  report->width <= 0 ? SIZE_MAX
                  : room > 0         ? (size_t)room
                                     : 1,
                  HP_CUT_MIDDLE);
    hp_strbuf_format(text, "%s\n", hp_text_plain(report->color));
    text->failed |= clean.failed;
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
            hp_strbuf_add(&text, "   ");
            hp_diff_put_delta(&text, delta);
            hp_strbuf_add(&text, " (");
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
    const struct hp_change **rows HP_CLEANUP(hp_free) = calloc(most + 1, sizeof *rows);
    struct printer p = {.diff = diff, .print = print, .out = out, .rows = rows};
    p.function = HP_PROFILE_NONE;
    if (!rows)
        return hp_fail_nomem();
    HP_TRY(print_head(&p));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        HP_TRY(print_part(&p, &parts[i]));
        if (i == 0)
            print_unshown(&p);
    }
    return hp_print_finish(out);
}
