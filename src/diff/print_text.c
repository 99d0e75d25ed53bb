// SPDX-License-Identifier: MIT
#include "diff/diff.h"

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

static void put_delta(struct hp_strbuf *cell, int64_t delta)
{
    hp_strbuf_add(cell, delta > 0 ? "+" : delta < 0 ? "-" : "");
    hp_strbuf_grouped(cell, hp_change(delta));
}

/* "+5.4%" */
static void put_percent(struct hp_strbuf *cell, int64_t delta, uint64_t of)
{
    char text[HP_NUMBER_SIZE];
    double value = of ? 100.0 * (double)delta / (double)of : 0;
    hp_number_fixed(text, value, 1);
    if (strcmp(text, "0.0") == 0 || strcmp(text, "-0.0") == 0)
        hp_strbuf_add(cell, delta > 0 ? "<+0.1" : delta < 0 ? ">-0.1" : "0.0");
    else {
        hp_strbuf_add(cell, value > 0 ? "+" : "");
        hp_strbuf_add(cell, text);
    }
    hp_strbuf_add(cell, "%");
}

/* "12", or "12 > 15" where it changed. */
static void put_pair(struct hp_strbuf *cell, uint64_t old, uint64_t new)
{
    hp_strbuf_human(cell, old);
    if (old != new) {
        hp_strbuf_add(cell, " > ");
        hp_strbuf_human(cell, new);
    }
}

static void put_place(struct hp_strbuf *cell, const char *file, uint32_t line)
{
    if (!*file)
        return;
    hp_strbuf_clean(cell, hp_base_name(file));
    if (line) {
        hp_strbuf_add(cell, ":");
        hp_strbuf_uint(cell, line);
    }
}

static const struct hp_dfunction *function_of(const struct hp_diff *diff,
                                              const struct hp_diff_function *f)
{
    return f->new != HP_PROFILE_NONE ? &diff->new->functions[f->new]
                                     : &diff->old->functions[f->old];
}

static void put_name(struct hp_strbuf *cell, const struct hp_diff *diff,
                     const struct hp_diff_function *f)
{
    hp_strbuf_clean(cell, function_of(diff, f)->name);
    const struct hp_digest *other = f->new == HP_PROFILE_NONE ? diff->new : diff->old;
    if (f->new == HP_PROFILE_NONE)
        hp_strbuf_add(cell, f->inlined == HP_PROFILE_NONE ? " (gone)" : " (now inlined in ");
    else if (f->old == HP_PROFILE_NONE)
        hp_strbuf_add(cell, f->inlined == HP_PROFILE_NONE ? " (new)" : " (was inlined in ");
    else if (f->how == HP_DIFF_RENAMED) {
        hp_strbuf_add(cell, " (was ");
        hp_strbuf_clean(cell, diff->old->functions[f->old].name);
        hp_strbuf_add(cell, "?)");
    }
    if (f->inlined != HP_PROFILE_NONE) {
        hp_strbuf_clean(cell, other->functions[f->inlined].name);
        hp_strbuf_add(cell, ")");
    }
}

/* --- Tables ----------------------------------------------------------------------------------- */

typedef void fill_row(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells);

/* Prints `n` rows of a list: those numbered `rows`. */
static enum hp_err print_table(const struct hp_diff *diff, const struct hp_diff_print *print,
                               const struct hp_column *columns, fill_row *fill, const size_t *rows,
                               size_t n, FILE *out)
{
    struct hp_text_table table;
    hp_text_table_init(&table, columns, out, print->report.color, print->report.width);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = 0; i < n; i++) {
            hp_text_table_clear(&table);
            fill(diff, rows[i], table.cells);
            if (pass == 0)
                hp_text_table_measure(&table);
            else
                hp_text_table_print(&table, 0);
        }
    }
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

/* How many of `n` to print, where `usual` is what a person reads. */
static size_t limit_of(const struct hp_diff_print *print, size_t n, size_t usual)
{
    size_t top = print->report.top == HP_REPORT_TOP_DEFAULT ? usual : print->report.top;
    return top && top < n ? top : n;
}

static void print_title(const struct hp_diff_print *print, const char *title, FILE *out)
{
    fprintf(out, "\n%s%s%s\n", hp_text_bold(print->report.color), title,
            hp_text_plain(print->report.color));
}

static void print_left(size_t left, FILE *out)
{
    char text[HP_NUMBER_SIZE];
    hp_number_grouped(text, left);
    if (left)
        fprintf(out, "  … and %s more (--top 0 shows all)\n", text);
}

/* A table of the first rows of `rows`, with a title and what was left out; nothing when there are
 * none. */
static enum hp_err print_part(const struct hp_diff *diff, const struct hp_diff_print *print,
                              const char *title, const struct hp_column *columns, fill_row *fill,
                              const size_t *rows, size_t n, size_t usual, FILE *out)
{
    if (n == 0)
        return HP_OK;
    size_t shown = limit_of(print, n, usual);
    print_title(print, title, out);
    HP_TRY(print_table(diff, print, columns, fill, rows, shown, out));
    print_left(n - shown, out);
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

static const struct hp_column function_columns[] = {
    {"change", .right = true},   {"of all", .right = true},
    {"old", .right = true},      {"new", .right = true},
    {"calls", .right = true},    {"function", .flexible = true},
    {"where", .flexible = true}, {0}};

static int64_t total_delta(const struct hp_diff *diff)
{
    return hp_delta(diff->old->totals[HP_TOTAL_INSTRUCTIONS],
                    diff->new->totals[HP_TOTAL_INSTRUCTIONS]);
}

static void fill_function(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells)
{
    const struct hp_diff_function *f = &diff->functions[row];
    const struct hp_dfunction *shown = function_of(diff, f);
    int64_t all = total_delta(diff);
    put_delta(&cells[0], f->delta);
    if (all) {
        hp_strbuf_fixed(&cells[1], 100.0 * (double)f->delta / (double)all, 1);
        hp_strbuf_add(&cells[1], "%");
    }
    hp_strbuf_human(&cells[2], f->before);
    hp_strbuf_human(&cells[3], f->after);
    put_pair(&cells[4], f->old == HP_PROFILE_NONE ? 0 : diff->old->functions[f->old].calls,
             f->new == HP_PROFILE_NONE ? 0 : diff->new->functions[f->new].calls);
    put_name(&cells[5], diff, f);
    put_place(&cells[6], shown->file, shown->line);
}

/* Cycles of a function of either version, measured; 0 where it has none. */
static uint64_t cycles_of(const struct hp_digest *d, uint32_t function)
{
    return function == HP_PROFILE_NONE ? 0 : d->functions[function].cycles / HP_CYCLE_PARTS;
}

static double cpi_of(const struct hp_digest *d, uint32_t function)
{
    const struct hp_dfunction *f = function == HP_PROFILE_NONE ? NULL : &d->functions[function];
    return f && f->retired ? (double)f->cycles / (double)HP_CYCLE_PARTS / (double)f->retired : 0;
}

static void put_event(struct hp_strbuf *cell, const struct hp_diff *diff,
                      const struct hp_diff_function *f, enum hp_insn_event event)
{
    put_pair(cell, f->old == HP_PROFILE_NONE ? 0 : diff->old->functions[f->old].events[event],
             f->new == HP_PROFILE_NONE ? 0 : diff->new->functions[f->new].events[event]);
}

static const struct hp_column cycle_columns[] = {{"change", .right = true},
                                                 {"cycles", .right = true},
                                                 {"CPI", .right = true},
                                                 {"l1d misses", .right = true},
                                                 {"mispredicted", .right = true},
                                                 {"function", .flexible = true},
                                                 {0}};

static void fill_cycles(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells)
{
    const struct hp_diff_function *f = &diff->functions[row];
    uint64_t old = cycles_of(diff->old, f->old), new = cycles_of(diff->new, f->new);
    put_delta(&cells[0], hp_delta(old, new));
    put_pair(&cells[1], old, new);
    hp_strbuf_fixed(&cells[2], cpi_of(diff->old, f->old), 2);
    hp_strbuf_add(&cells[2], " > ");
    hp_strbuf_fixed(&cells[2], cpi_of(diff->new, f->new), 2);
    put_event(&cells[3], diff, f, HP_INSN_L1D);
    put_event(&cells[4], diff, f, HP_INSN_MISPREDICTED);
    put_name(&cells[5], diff, f);
}

static int compare_cycles(const void *a, const void *b, void *context)
{
    const struct hp_diff *diff = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const struct hp_diff_function *x = &diff->functions[i], *y = &diff->functions[j];
    uint64_t p = hp_change(hp_delta(cycles_of(diff->old, x->old), cycles_of(diff->new, x->new)));
    uint64_t q = hp_change(hp_delta(cycles_of(diff->old, y->old), cycles_of(diff->new, y->new)));
    return p != q ? (p > q ? -1 : 1) : (i > j) - (i < j);
}

static enum hp_err print_cycles(const struct hp_diff *diff, const struct hp_diff_print *print,
                                size_t *rows, FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < diff->n_functions; i++) {
        const struct hp_diff_function *f = &diff->functions[i];
        if (cycles_of(diff->old, f->old) != cycles_of(diff->new, f->new))
            rows[n++] = i;
    }
    qsort_r(rows, n, sizeof *rows, compare_cycles, (void *)(uintptr_t)diff);
    return print_part(diff, print, "Cycles, as measured", cycle_columns, fill_cycles, rows, n,
                      ROWS_OF, out);
}

static enum hp_err print_functions(const struct hp_diff *diff, const struct hp_diff_print *print,
                                   size_t *rows, FILE *out)
{
    size_t n = 0, below = 0;
    for (size_t i = 0; i < diff->n_functions; i++) {
        if (hp_diff_counts(diff, print, diff->functions[i].delta))
            rows[n++] = i;
        else
            below += diff->functions[i].delta != 0;
    }
    HP_TRY(print_part(diff, print, "Functions", function_columns, fill_function, rows, n,
                      HP_REPORT_TEXT_TOP, out));
    char text[HP_NUMBER_SIZE], part[HP_NUMBER_SIZE];
    hp_number_grouped(text, below);
    hp_number_fixed(part, print->threshold, 2);
    if (below)
        fprintf(out, "  %s changed by less than %s%% of the instructions\n", text, part);
    else if (n == 0)
        fputs("\n  (no function changed)\n", out);
    return HP_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static const struct hp_column line_columns[] = {
    {"change", .right = true},      {"old", .right = true},     {"new", .right = true},
    {"function", .flexible = true}, {"line", .flexible = true}, {0}};

static void fill_line(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells)
{
    const struct hp_diff_line *l = &diff->lines[row];
    const struct hp_dline *old = l->old == HP_PROFILE_NONE ? NULL : &diff->old->lines[l->old];
    const struct hp_dline *new = l->new == HP_PROFILE_NONE ? NULL : &diff->new->lines[l->new];
    const struct hp_dline *shown = new ? new : old;
    put_delta(&cells[0], l->delta);
    hp_strbuf_human(&cells[1], old ? old->instructions : 0);
    hp_strbuf_human(&cells[2], new ? new->instructions : 0);
    put_name(&cells[3], diff, &diff->functions[l->function]);
    if (shown->line)
        put_place(&cells[4], shown->file, shown->line);
    else
        hp_strbuf_add(&cells[4], "(no line)");
    if (*shown->inlined) {
        hp_strbuf_add(&cells[4], " ");
        hp_strbuf_clean(&cells[4], shown->inlined);
    }
    if (!new)
        hp_strbuf_add(&cells[4], " (gone)");
    else if (!old)
        hp_strbuf_add(&cells[4], " (new)");
    else if (old->line != new->line) {
        hp_strbuf_add(&cells[4], " (was :");
        hp_strbuf_uint(&cells[4], old->line);
        hp_strbuf_add(&cells[4], ")");
    }
}

/* The lines that changed most, of the functions that did. */
static enum hp_err print_lines(const struct hp_diff *diff, const struct hp_diff_print *print,
                               size_t *rows, FILE *out)
{
    size_t n = 0, functions = 0, of_function = 0;
    size_t most = limit_of(print, SIZE_MAX, LINES_OF);
    uint32_t last = HP_PROFILE_NONE;
    for (size_t i = 0; i < diff->n_lines; i++) {
        const struct hp_diff_line *l = &diff->lines[i];
        const struct hp_dline *any =
            l->new != HP_PROFILE_NONE ? &diff->new->lines[l->new] : &diff->old->lines[l->old];
        if (!hp_diff_counts(diff, print, diff->functions[l->function].delta) || l->delta == 0)
            continue;
        if (l->function != last) {
            /* All of it has no line: the function's row says as much. */
            if (any->line == 0 && l->delta == diff->functions[l->function].delta)
                continue;
            functions++;
            of_function = 0;
        }
        last = l->function;
        if (functions <= most && of_function++ < most)
            rows[n++] = i;
    }
    if (n == 0)
        return HP_OK;
    print_title(print, "Lines of the functions that changed most", out);
    return print_table(diff, print, line_columns, fill_line, rows, n, out);
}

/* --- Loops and paths -------------------------------------------------------------------------- */

static const struct hp_column loop_columns[] = {{"change", .right = true},
                                                {"times", .right = true},
                                                {"mean trips", .right = true},
                                                {"loop", .flexible = true},
                                                {0}};

static double mean_of(const struct hp_dloop *loop)
{
    return loop && loop->executions ? (double)loop->iterations / (double)loop->executions : 0;
}

static void fill_loop(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells)
{
    const struct hp_diff_loop *l = &diff->loops[row];
    const struct hp_dloop *old = l->old == HP_PROFILE_NONE ? NULL : &diff->old->loops[l->old];
    const struct hp_dloop *new = l->new == HP_PROFILE_NONE ? NULL : &diff->new->loops[l->new];
    const struct hp_dloop *shown = new ? new : old;
    put_delta(&cells[0], l->delta);
    put_pair(&cells[1], old ? old->executions : 0, new ? new->executions : 0);
    hp_strbuf_fixed(&cells[2], mean_of(old), 1);
    hp_strbuf_add(&cells[2], " > ");
    hp_strbuf_fixed(&cells[2], mean_of(new), 1);
    put_name(&cells[3], diff, &diff->functions[l->function]);
    hp_strbuf_add(&cells[3], " ");
    put_place(&cells[3], shown->file, shown->line);
    hp_strbuf_add(&cells[3], !new ? " (gone)" : !old ? " (new)" : "");
}

static bool loop_changed(const struct hp_diff *diff, const struct hp_diff_loop *l)
{
    if (l->old == HP_PROFILE_NONE || l->new == HP_PROFILE_NONE)
        return true;
    const struct hp_dloop *old = &diff->old->loops[l->old], *new = &diff->new->loops[l->new];
    return old->executions != new->executions || old->iterations != new->iterations;
}

static enum hp_err print_loops(const struct hp_diff *diff, const struct hp_diff_print *print,
                               size_t *rows, FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < diff->n_loops; i++)
        if (loop_changed(diff, &diff->loops[i]) &&
            (print->threshold <= 0 || hp_diff_counts(diff, print, diff->loops[i].delta)))
            rows[n++] = i;
    return print_part(diff, print, "Loops that go round more or less often", loop_columns,
                      fill_loop, rows, n, ROWS_OF, out);
}

static const struct hp_column path_columns[] = {{"change", .right = true},
                                                {"executions", .right = true},
                                                {"path", .flexible = true, .cut = HP_CUT_END},
                                                {0}};

static void fill_path(const struct hp_diff *diff, size_t row, struct hp_strbuf *cells)
{
    const struct hp_diff_path *p = &diff->paths[row];
    bool gone = p->new == HP_PROFILE_NONE;
    const struct hp_digest *d = gone ? diff->old : diff->new;
    const struct hp_dpath *shown = &d->paths[gone ? p->old : p->new];
    put_delta(&cells[0], p->delta);
    put_pair(&cells[1], p->old == HP_PROFILE_NONE ? 0 : diff->old->paths[p->old].count,
             gone ? 0 : diff->new->paths[p->new].count);
    hp_strbuf_add(&cells[2], gone ? "(gone) " : p->old == HP_PROFILE_NONE ? "(new) " : "");
    for (uint32_t i = 0; i < shown->n_steps && i < STEPS_OF_PATH; i++) {
        const struct hp_dline *line = &d->lines[d->steps[shown->steps + i]];
        if (i == 0 || d->lines[d->steps[shown->steps + i - 1]].function != line->function) {
            hp_strbuf_clean(&cells[2], d->functions[line->function].name);
            hp_strbuf_add(&cells[2], " ");
        }
        if (line->line)
            put_place(&cells[2], line->file, line->line);
        else
            hp_strbuf_add(&cells[2], "(no line)");
        hp_strbuf_add(&cells[2], i + 1 < shown->n_steps ? " " : "");
    }
    if (shown->n_steps > STEPS_OF_PATH)
        hp_strbuf_add(&cells[2], "…");
}

static enum hp_err print_paths(const struct hp_diff *diff, const struct hp_diff_print *print,
                               size_t *rows, FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < diff->n_paths; i++)
        if (hp_diff_counts(diff, print, diff->paths[i].delta))
            rows[n++] = i;
    return print_part(diff, print, "Paths", path_columns, fill_path, rows, n, ROWS_OF, out);
}

/* --- All -------------------------------------------------------------------------------------- */

bool hp_diff_counts(const struct hp_diff *diff, const struct hp_diff_print *print, int64_t delta)
{
    double total = (double)diff->old->totals[HP_TOTAL_INSTRUCTIONS];
    return delta != 0 && (double)hp_change(delta) * 100.0 >= print->threshold * total;
}

/* "old: FILE", cut to the width of the terminal. */
static void put_file(struct hp_strbuf *text, const struct hp_diff_print *print, const char *which,
                     const char *name)
{
    struct hp_strbuf clean = {0};
    int room = print->report.width - (int)strlen(which);
    hp_strbuf_clean(&clean, name);
    hp_strbuf_add(text, hp_text_bold(print->report.color));
    hp_strbuf_add(text, which);
    hp_strbuf_cut(text, hp_strbuf_text(&clean),
                  print->report.width <= 0 ? SIZE_MAX
                  : room > 0               ? (size_t)room
                                           : 1,
                  HP_CUT_MIDDLE);
    hp_strbuf_add(text, hp_text_plain(print->report.color));
    hp_strbuf_add(text, "\n");
    text->failed |= clean.failed;
    hp_strbuf_fini(&clean);
}

static enum hp_err print_head(const struct hp_diff *diff, const struct hp_diff_print *print,
                              FILE *out)
{
    struct hp_strbuf text = {0};
    put_file(&text, print, "old: ", print->old_name);
    put_file(&text, print, "new: ", print->new_name);
    for (int i = 0; i < HP_TOTALS; i++) {
        if (!diff->old->known[i] || !diff->new->known[i] ||
            (i >= HP_TOTAL_CYCLES && strcmp(diff->old->machine, diff->new->machine) != 0))
            continue;
        uint64_t old = diff->old->totals[i], new = diff->new->totals[i];
        size_t start = text.length;
        hp_strbuf_add(&text, "  ");
        hp_strbuf_add(&text, hp_total_name((enum hp_total)i));
        while (text.length < start + 18 && !text.failed)
            hp_strbuf_add(&text, " ");
        hp_strbuf_grouped(&text, old);
        hp_strbuf_add(&text, " -> ");
        hp_strbuf_grouped(&text, new);
        hp_strbuf_add(&text, "   ");
        put_delta(&text, hp_delta(old, new));
        hp_strbuf_add(&text, " (");
        put_percent(&text, hp_delta(old, new), old);
        hp_strbuf_add(&text, ")\n");
    }
    fputs(hp_strbuf_text(&text), out);
    enum hp_err err = text.failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_parts(const struct hp_diff *diff, const struct hp_diff_print *print,
                               size_t *rows, FILE *out)
{
    HP_TRY(print_head(diff, print, out));
    HP_TRY(print_functions(diff, print, rows, out));
    if (diff->has_cycles)
        HP_TRY(print_cycles(diff, print, rows, out));
    HP_TRY(print_lines(diff, print, rows, out));
    HP_TRY(print_loops(diff, print, rows, out));
    HP_TRY(print_paths(diff, print, rows, out));
    return hp_print_finish(out);
}

enum hp_err hp_diff_print(const struct hp_diff *diff, const struct hp_diff_print *print, FILE *out)
{
    if (print->report.format == HP_REPORT_JSON)
        return hp_diff_print_json(diff, print, out);
    size_t most = diff->n_functions + diff->n_lines + diff->n_loops + diff->n_paths;
    size_t *rows = calloc(most + 1, sizeof *rows);
    if (!rows)
        return hp_fail_nomem();
    enum hp_err err = print_parts(diff, print, rows, out);
    free(rows);
    return err;
}
