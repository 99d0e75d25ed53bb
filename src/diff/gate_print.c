// SPDX-License-Identifier: MIT
#include "diff/gate.h"

#include "base/cleanup.h"
#include "diff/baseline.h"
#include "report/print.h"
#include "text/number.h"
#include "text/table.h"

#include <ctype.h>
#include <string.h>

#define SHOWN      10 /* functions that a person is told of */
#define NAME_WIDTH 120

/* --- What text and Markdown share ------------------------------------------------------------- */

static const char *const verdicts[] = {"within", "improvement", "regression"};

static const char *verdict_text(const struct hp_gate *gate)
{
    return gate->verdict == HP_GATE_WITHIN ? "within the limits" : verdicts[gate->verdict];
}

/* "12", "0.5": without zeros at the end. */
static void put_number(struct hp_strbuf *text, double value, unsigned decimals)
{
    char number[HP_NUMBER_SIZE];
    size_t n = hp_number_fixed(number, value, decimals);
    while (number[n - 1] == '0')
        n--;
    hp_strbuf_bytes(text, number, number[n - 1] == '.' ? n - 1 : n);
}

/* "+5.4%" */
static void put_change(struct hp_strbuf *text, uint64_t old, uint64_t new)
{
    double percent = old ? 100.0 * ((double)new - (double)old) / (double)old : 0;
    if (old == 0)
        hp_strbuf_add(text, new ? "new" : "0%");
    else
        hp_strbuf_format(text, "%s%s%%", percent > 0 ? "+" : "", HP_FIXED(percent, 2));
}

/* A limit in percent behind `what`; nothing where there is none. */
static void put_limit(struct hp_strbuf *text, const char *what, double limit)
{
    if (limit < 0)
        return;
    hp_strbuf_add(text, what);
    put_number(text, limit, 2);
    hp_strbuf_add(text, "%");
}

/* A name, clean and not too long. */
static void put_name(struct hp_strbuf *text, const char *name)
{
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&clean, name);
    hp_strbuf_cut(text, hp_strbuf_text(&clean), NAME_WIDTH, HP_CUT_MIDDLE);
    text->failed |= clean.failed;
}

static size_t shown_of(const struct hp_gate *gate)
{
    size_t n = gate->n_functions < SHOWN ? gate->n_functions : SHOWN;
    /* What broke a limit is told, however many. */
    while (n < gate->n_functions && gate->functions[n].exceeded)
        n++;
    return n;
}

/* Whether anything changed that has to be explained. */
static bool has_news(const struct hp_gate *gate)
{
    return gate->verdict != HP_GATE_WITHIN || gate->n_functions > 0 || gate->rest != 0;
}

/* Whether something about the run is not as it was. */
static bool differs(const struct hp_gate *gate, enum hp_about i)
{
    return strcmp(gate->diff->old->about[i], gate->diff->new->about[i]) != 0;
}

static enum hp_err print_all(const struct hp_strbuf *text, FILE *out)
{
    fputs(hp_strbuf_text(text), out);
    return text->failed ? hp_fail_nomem() : hp_print_finish(out);
}

/* --- Why -------------------------------------------------------------------------------------- */

static void put_calls(struct hp_strbuf *text, uint64_t old_calls, uint64_t new_calls,
                      const struct hp_change *f)
{
    if (old_calls == new_calls)
        hp_strbuf_add(text, "called as often");
    else
        hp_strbuf_format(text, "called %s times, not %s", HP_GROUPED(new_calls),
                         HP_GROUPED(old_calls));
    if (old_calls == 0 || new_calls == 0)
        return;
    double more = (double)f->after / (double)new_calls - (double)f->before / (double)old_calls;
    if (more > -0.05 && more < 0.05) {
        hp_strbuf_add(text, ", as many instructions a call");
        return;
    }
    hp_strbuf_add(text, ", ");
    put_number(text, more < 0 ? -more : more, 1);
    hp_strbuf_format(text, " %s instructions a call", more < 0 ? "fewer" : "more");
}

/* The line that most of the change is at. A line that the baseline does not have may have been
 * below what it keeps. */
static void put_line(const struct hp_diff *diff, const struct hp_change *f, struct hp_strbuf *text)
{
    uint64_t part = diff->old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
    uint64_t change = hp_delta_size(f->delta);
    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct hp_change *l = &diff->lines.items[i];
        const struct hp_dline *line = HP_ITEM(diff->new->lines, l->new, NULL);
        if (&diff->functions.items[l->function] != f || !line || line->line == 0)
            continue;
        uint64_t sure = hp_delta_size(l->delta);
        if (l->old == HP_PROFILE_NONE)
            sure = sure > part ? sure - part : 0;
        if ((l->delta < 0) != (f->delta < 0) || sure < change / 2)
            continue;
        hp_strbuf_add(text, sure >= change - change / 10 ? ", at " : ", most at ");
        hp_diff_put_place(text, line->file, line->line);
        return;
    }
}

void hp_gate_why(const struct hp_diff *diff, const struct hp_change *f, struct hp_strbuf *text)
{
    const struct hp_dfunction *old = HP_ITEM(diff->old->functions, f->old, NULL);
    const struct hp_dfunction *new = HP_ITEM(diff->new->functions, f->new, NULL);
    if (!new) {
        const struct hp_dfunction *into = HP_ITEM(diff->new->functions, f->inlined, NULL);
        hp_strbuf_add(text, into ? "gone: inlined in " : "gone");
        hp_strbuf_clean(text, into ? into->name : "");
    } else if (!old) {
        hp_strbuf_format(text, "new, called %s %s", HP_GROUPED(new->calls),
                         new->calls == 1 ? "time" : "times");
    } else {
        if (f->how == HP_DIFF_RENAMED) {
            hp_strbuf_add(text, "was ");
            hp_strbuf_clean(text, old->name);
            hp_strbuf_add(text, "?, ");
        }
        put_calls(text, old->calls, new->calls, f);
        put_line(diff, f, text);
    }
}

/* --- Text ------------------------------------------------------------------------------------- */

static void put_total(const struct hp_gate *gate, enum hp_total total, bool color,
                      struct hp_strbuf *text)
{
    bool warn = hp_gate_exceeds(gate, total);
    hp_diff_put_total(text, gate->diff, total);
    hp_strbuf_format(text, "%s (", hp_text_warn(color && warn));
    put_change(text, gate->diff->old->totals[total], gate->diff->new->totals[total]);
    put_limit(text, ", limit ", gate->limits.totals[total]);
    hp_strbuf_format(text, ")%s%s\n", warn ? ": too many" : "", hp_text_plain(color && warn));
}

static void put_functions(const struct hp_gate *gate, bool color, struct hp_strbuf *text)
{
    int64_t rest = gate->rest;
    for (size_t i = 0, n = shown_of(gate); i < gate->n_functions; i++) {
        const struct hp_change *f = gate->functions[i].change;
        bool warn = gate->functions[i].exceeded;
        if (i >= n) {
            rest += f->delta;
            continue;
        }
        hp_strbuf_format(text, "    %s", hp_text_warn(color && warn));
        put_name(text, hp_diff_function(gate->diff, f)->name);
        hp_strbuf_add(text, " ");
        hp_diff_put_delta(text, f->delta);
        hp_strbuf_add(text, " (");
        hp_gate_why(gate->diff, f, text);
        if (warn) {
            hp_strbuf_add(text, "; ");
            put_change(text, f->before, f->after);
            put_limit(text, ", limit of functions ", gate->limits.functions);
        }
        hp_strbuf_format(text, ")%s\n", hp_text_plain(color && warn));
    }
    if (rest) {
        hp_strbuf_add(text, "    all others ");
        hp_diff_put_delta(text, rest);
        hp_strbuf_add(text, "\n");
    }
}

/* Of the instructions of a run, those that are not in the program's own file. */
static void put_outside(const struct hp_gate *gate, const char *program, struct hp_strbuf *text)
{
    const struct hp_digest *d = gate->diff->new;
    uint64_t own = 0;
    for (size_t i = 0; program && i < d->n_functions; i++)
        if (strcmp(d->functions[i].module, program) == 0)
            hp_add_up(&own, d->functions[i].self);
    if (own == 0)
        return;
    double share = hp_number_share(own, d->totals[HP_TOTAL_INSTRUCTIONS]);
    hp_strbuf_format(text, "  %s of the instructions are outside of ", HP_PERCENT(1 - share));
    put_name(text, program);
    hp_strbuf_add(text, "\n");
}

static void put_differences(const struct hp_gate *gate, struct hp_strbuf *text)
{
    for (enum hp_about i = 0; i < HP_ABOUTS; i++) {
        const char *old = gate->diff->old->about[i], *new = gate->diff->new->about[i];
        if (!differs(gate, i))
            continue;
        hp_strbuf_format(text, "  not as in the baseline: %s ", hp_about_name(i));
        put_name(text, *new ? new : "(none)");
        hp_strbuf_add(text, ", was ");
        put_name(text, *old ? old : "(none)");
        hp_strbuf_add(text, "\n");
    }
}

enum hp_err hp_gate_print_text(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    bool color = print->color, regressed = gate->verdict == HP_GATE_REGRESSED;
    hp_strbuf_add(&text, "hotpath ci: ");
    put_name(&text, print->name);
    hp_strbuf_format(&text, ": %s%s%s\n", regressed ? hp_text_warn(color) : hp_text_bold(color),
                     verdict_text(gate), hp_text_plain(color));
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (hp_diff_has(gate->diff, i)) {
            put_total(gate, i, color, &text);
            if (i == HP_TOTAL_INSTRUCTIONS)
                put_functions(gate, color, &text);
        }
    if (has_news(gate)) {
        put_outside(gate, print->program, &text);
        put_differences(gate, &text);
    }
    if (gate->verdict != HP_GATE_WITHIN) {
        hp_strbuf_format(&text, "  %s: the same command with --update writes ",
                         regressed ? "If it is meant to be so, update the baseline"
                                   : "Better than the baseline: update it, to keep it so");
        put_name(&text, print->baseline);
        hp_strbuf_add(&text, "\n");
    }
    return print_all(&text, out);
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* Text that means nothing in Markdown or HTML: every sign but letters and digits as an entity. */
static void put_plain(struct hp_strbuf *to, const char *text)
{
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0};
    put_name(&clean, text);
    for (const char *c = hp_strbuf_text(&clean); *c; c++)
        if (isalnum((unsigned char)*c) || *c == ' ' || (unsigned char)*c >= 0x80)
            hp_strbuf_bytes(to, c, 1);
        else
            hp_strbuf_format(to, "&#%u;", (unsigned char)*c);
    to->failed |= clean.failed;
}

static void put_code(struct hp_strbuf *to, const char *text)
{
    hp_strbuf_add(to, "<code>");
    put_plain(to, text);
    hp_strbuf_add(to, "</code>");
}

static void put_markdown_totals(const struct hp_gate *gate, struct hp_strbuf *text)
{
    hp_strbuf_add(text, "| | baseline | now | change | limit |\n|---|--:|--:|--:|--:|\n");
    for (enum hp_total i = 0; i < HP_TOTALS; i++) {
        if (!hp_diff_has(gate->diff, i))
            continue;
        uint64_t old = gate->diff->old->totals[i], new = gate->diff->new->totals[i];
        const char *bold = hp_gate_exceeds(gate, i) ? "**" : "";
        hp_strbuf_format(text, "| %s | %s | %s | %s", hp_total_name(i), HP_GROUPED(old),
                         HP_GROUPED(new), bold);
        put_change(text, old, new);
        hp_strbuf_format(text, "%s | ", bold);
        put_limit(text, "", gate->limits.totals[i]);
        hp_strbuf_add(text, " |\n");
    }
}

static void put_markdown_functions(const struct hp_gate *gate, struct hp_strbuf *text)
{
    struct hp_strbuf why HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t n = shown_of(gate);
    hp_strbuf_add(text, n ? "\n| function | change | why |\n|---|--:|---|\n" : "");
    for (const struct hp_gate_function *f = gate->functions; f < gate->functions + n; f++) {
        hp_strbuf_add(text, "| ");
        put_code(text, hp_diff_function(gate->diff, f->change)->name);
        hp_strbuf_add(text, f->exceeded ? " | **" : " | ");
        hp_diff_put_delta(text, f->change->delta);
        hp_strbuf_add(text, f->exceeded ? "** | " : " | ");
        hp_strbuf_clear(&why);
        hp_gate_why(gate->diff, f->change, &why);
        put_plain(text, hp_strbuf_text(&why));
        hp_strbuf_add(text, " |\n");
    }
    text->failed |= why.failed;
}

enum hp_err hp_gate_print_markdown(const struct hp_gate *gate, const struct hp_gate_print *print,
                                   FILE *out)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_add(&text, "### hotpath ci: ");
    put_code(&text, print->name);
    hp_strbuf_format(&text, ": %s\n\n", verdict_text(gate));
    put_markdown_totals(gate, &text);
    if (has_news(gate))
        put_markdown_functions(gate, &text);
    for (enum hp_about i = 0; i < HP_ABOUTS && has_news(gate); i++)
        if (differs(gate, i)) {
            hp_strbuf_format(&text, "\nNot as in the baseline: %s ", hp_about_name(i));
            put_code(&text, gate->diff->new->about[i]);
            hp_strbuf_add(&text, ", was ");
            put_code(&text, gate->diff->old->about[i]);
            hp_strbuf_add(&text, "\n");
        }
    hp_strbuf_add(&text, "\n");
    return print_all(&text, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_json_total(struct hp_json *json, const struct hp_gate *gate, enum hp_total total)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", hp_total_name(total));
    hp_diff_put_counts(json, gate->diff->old->totals[total], gate->diff->new->totals[total]);
    hp_json_put_bool(json, "exceeded", hp_gate_exceeds(gate, total));
    if (gate->limits.totals[total] >= 0)
        hp_json_put_fixed(json, "limit", gate->limits.totals[total], 6);
    else
        hp_json_put_null(json, "limit");
    hp_json_end_object(json);
}

static void put_json_function(struct hp_json *json, const struct hp_gate *gate,
                              const struct hp_gate_function *f, struct hp_strbuf *why)
{
    const struct hp_dfunction *function = hp_diff_function(gate->diff, f->change);
    hp_strbuf_clear(why);
    hp_gate_why(gate->diff, f->change, why);
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", function->name);
    hp_json_put_string(json, "module", function->module);
    hp_diff_put_counts(json, f->change->before, f->change->after);
    hp_json_put_bool(json, "exceeded", f->exceeded);
    hp_json_put_string(json, "why", hp_strbuf_text(why));
    hp_json_end_object(json);
}

enum hp_err hp_gate_print_json(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    struct hp_strbuf why HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "ci");
    hp_json_put_string(&json, "name", print->name);
    hp_json_put_string(&json, "verdict", verdicts[gate->verdict]);
    hp_json_put_array(&json, "totals");
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (hp_diff_has(gate->diff, i))
            put_json_total(&json, gate, i);
    hp_json_end_array(&json);
    hp_json_put_array(&json, "functions");
    for (size_t i = 0; i < gate->n_functions; i++)
        put_json_function(&json, gate, &gate->functions[i], &why);
    hp_json_end_array(&json);
    hp_json_put_int(&json, "others", gate->rest);
    hp_json_put_array(&json, "differences");
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (differs(gate, i)) {
            hp_json_begin_object(&json);
            hp_json_put_string(&json, "what", hp_about_name(i));
            hp_json_put_string(&json, "old", gate->diff->old->about[i]);
            hp_json_put_string(&json, "new", gate->diff->new->about[i]);
            hp_json_end_object(&json);
        }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return why.failed ? hp_fail_nomem() : hp_json_finish(&json);
}
