// SPDX-License-Identifier: MIT
#include "diff/gate.h"

#include "base/base.h"
#include "diff/baseline.h"
#include "report/print.h"
#include "text/table.h"

#include <ctype.h>

#define SHOWN      10 /* functions that a person is told of */
#define NAME_WIDTH 120

/* --- The verdict ------------------------------------------------------------------------------ */

/* Whether `to` is more than `limit` percent of `whole` above `from`. */
static bool is_above(uint64_t from, uint64_t to, double limit, uint64_t whole)
{
    return limit >= 0 && to > from &&
           (long double)(to - from) * 100.0L > (long double)limit * (long double)whole;
}

/* Whether a total rose by more than its limit. */
static bool exceeds(const struct hp_gate *gate, enum hp_total total)
{
    uint64_t old = gate->diff->old->totals[total], new = gate->diff->new->totals[total];
    return hp_diff_has(gate->diff, total) && is_above(old, new, gate->limits.totals[total], old);
}

static void judge_totals(struct hp_gate *gate)
{
    for (enum hp_total i = 0; i < HP_TOTALS; i++) {
        uint64_t old = gate->diff->old->totals[i], new = gate->diff->new->totals[i];
        if (exceeds(gate, i))
            gate->verdict = HP_GATE_REGRESSED;
        /* A fall is measured by the same number of instructions as a rise. */
        else if (gate->verdict == HP_GATE_WITHIN && hp_diff_has(gate->diff, i) &&
                 is_above(new, old, gate->limits.totals[i], old))
            gate->verdict = HP_GATE_IMPROVED;
    }
}

/* What is too small for a baseline may have been there: it counts as others. */
static bool is_listed(const struct hp_digest *old, const struct hp_change *f)
{
    if (f->old != HP_PROFILE_NONE)
        return strcmp(old->functions[f->old].name, HP_BASELINE_REST) != 0 && f->delta != 0;
    return f->after > 2 * (old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART);
}

static void judge_functions(struct hp_gate *gate)
{
    const struct hp_diff *diff = gate->diff;
    gate->rest = hp_delta(diff->old->totals[HP_TOTAL_INSTRUCTIONS],
                          diff->new->totals[HP_TOTAL_INSTRUCTIONS]);
    for (size_t i = 0; i < diff->functions.n; i++) {
        const struct hp_change *f = &diff->functions.items[i];
        /* A new one has nothing to be compared with. */
        bool exceeded = f->old != HP_PROFILE_NONE &&
                        is_above(f->before, f->after, gate->limits.functions, f->before);
        if (!is_listed(diff->old, f))
            continue;
        gate->rest -= f->delta;
        gate->functions[gate->n_functions++] = (struct hp_gate_function){f, exceeded};
        if (exceeded)
            gate->verdict = HP_GATE_REGRESSED;
    }
}

enum hp_err hp_gate_make(const struct hp_diff *diff, const struct hp_gate_limits *limits,
                         struct hp_gate **made)
{
    HP_TRY(hp_new(made, 1, sizeof **made + diff->functions.n * sizeof *(*made)->functions));
    struct hp_gate *gate = *made;
    gate->diff = diff;
    gate->limits = *limits;
    judge_totals(gate);
    judge_functions(gate);
    return HP_OK;
}

/* --- Parts of a text -------------------------------------------------------------------------- */

struct printer {
    const struct hp_gate *gate;
    bool color;
    struct hp_strbuf text;
    struct hp_strings parts; /* of it, until it is complete */
};

/* A part that was made, or that there was no memory for (NULL). */
static const char *made(struct printer *p, const char *part)
{
    p->text.failed |= !part;
    return part ? part : "";
}

/* The same of a buffer, which is released. */
static const char *keep(struct printer *p, struct hp_strbuf *part)
{
    const char *kept = hp_strings_add(&p->parts, hp_strbuf_text(part), part->length);
    p->text.failed |= part->failed;
    hp_strbuf_fini(part);
    return made(p, kept);
}

/* A name, clean and not too long. */
static const char *name_of(struct printer *p, const char *name)
{
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0}, cut = {0};
    hp_strbuf_clean(&clean, name);
    hp_strbuf_cut(&cut, hp_strbuf_text(&clean), NAME_WIDTH, HP_CUT_MIDDLE);
    cut.failed |= clean.failed;
    return keep(p, &cut);
}

/* "12", "0.5": without zeros at the end. */
static const char *trim(char number[HP_NUMBER_SIZE], double value, unsigned decimals)
{
    size_t n = hp_number_fixed(number, value, decimals);
    while (number[n - 1] == '0')
        n--;
    number[number[n - 1] == '.' ? n - 1 : n] = 0;
    return number;
}

/* "+5.4%" */
static const char *change_of(struct printer *p, uint64_t old, uint64_t new)
{
    double percent = 100.0 * ((double)new - (double)old) / (double)old;
    if (old == 0)
        return new ? "new" : "0%";
    return made(
        p, hp_strings_format(&p->parts, "%s%s%%", percent > 0 ? "+" : "", HP_FIXED(percent, 2)));
}

/* `what` and a limit in percent; nothing where there is none. */
static const char *limit_of(struct printer *p, const char *what, double limit)
{
    char text[HP_NUMBER_SIZE];
    if (limit < 0)
        return "";
    return made(p, hp_strings_format(&p->parts, "%s%s%%", what, trim(text, limit, 2)));
}

static const char *why(struct printer *p, const struct hp_change *change)
{
    struct hp_strbuf text = {0};
    hp_gate_why(p->gate->diff, change, &text);
    return keep(p, &text);
}

static size_t shown_of(const struct hp_gate *gate)
{
    size_t n = gate->n_functions < SHOWN ? gate->n_functions : SHOWN;
    /* What broke a limit is told, however many. */
    while (n < gate->n_functions && gate->functions[n].exceeded)
        n++;
    return n;
}

/* For scripts and for people. */
static const char *const verdicts[] = {"within", "improvement", "regression"};
static const char *const verdict_texts[] = {"within the limits", "improvement", "regression"};

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

static enum hp_err finish(struct printer *p, FILE *out)
{
    bool failed = p->text.failed;
    fputs(hp_strbuf_text(&p->text), out);
    hp_strbuf_fini(&p->text);
    hp_strings_fini(&p->parts);
    return failed ? hp_fail_nomem() : hp_print_finish(out);
}

/* --- Why -------------------------------------------------------------------------------------- */

static void put_calls(struct hp_strbuf *text, uint64_t old, uint64_t new, const struct hp_change *f)
{
    if (old == new)
        hp_strbuf_add(text, "same number of calls");
    else
        hp_strbuf_format(text, "%s calls instead of %s", HP_GROUPED(new), HP_GROUPED(old));
    if (old == 0 || new == 0)
        return;
    double more = (double)f->after / (double)new - (double)f->before / (double)old;
    if (more > -0.05 && more < 0.05)
        hp_strbuf_add(text, ", same number of instructions per call");
    else
        hp_strbuf_format(text, ", %s %s instructions per call",
                         trim((char[HP_NUMBER_SIZE]){0}, more < 0 ? -more : more, 1),
                         more < 0 ? "fewer" : "more");
}

/* The line that most of the change is at. A line that the baseline does not have may have been
 * below what it keeps. */
static void put_line(struct hp_strbuf *text, const struct hp_diff *diff, const struct hp_change *f)
{
    uint64_t part = diff->old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
    uint64_t change = hp_delta_size(f->delta);
    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct hp_change *l = &diff->lines.items[i];
        const struct hp_dline *line = l->new_item;
        if (&diff->functions.items[l->function] != f || !line || line->line == 0)
            continue;
        uint64_t sure = hp_delta_size(l->delta);
        if (l->old == HP_PROFILE_NONE)
            sure = sure > part ? sure - part : 0;
        if ((l->delta < 0) != (f->delta < 0) || sure < change / 2)
            continue;
        hp_strbuf_format(text, ", %s %s:%u", sure >= change - change / 10 ? "at" : "mostly at",
                         hp_base_name(line->file), line->line);
        return;
    }
}

void hp_gate_why(const struct hp_diff *diff, const struct hp_change *f, struct hp_strbuf *text)
{
    const struct hp_dfunction *old = f->old_item, *new = f->new_item;
    struct hp_strbuf raw HP_CLEANUP(hp_strbuf_fini) = {0};
    if (!new && f->inlined == HP_PROFILE_NONE)
        hp_strbuf_add(&raw, "removed");
    else if (!new)
        hp_strbuf_format(&raw, "removed: inlined in %s", diff->new->functions[f->inlined].name);
    else if (!old)
        hp_strbuf_format(&raw, "new, %s %s", HP_GROUPED(new->calls),
                         new->calls == 1 ? "call" : "calls");
    else {
        if (f->how == HP_DIFF_RENAMED)
            hp_strbuf_format(&raw, "was %s?, ", old->name);
        put_calls(&raw, old->calls, new->calls, f);
        put_line(&raw, diff, f);
    }
    hp_strbuf_clean(text, hp_strbuf_text(&raw));
    text->failed |= raw.failed;
}

/* --- Text ------------------------------------------------------------------------------------- */

static void put_total(struct printer *p, enum hp_total i)
{
    uint64_t old = p->gate->diff->old->totals[i], new = p->gate->diff->new->totals[i];
    bool warn = exceeds(p->gate, i);
    hp_diff_put_total(&p->text, p->gate->diff, i);
    hp_strbuf_format(&p->text, "%s (%s%s)%s%s\n", hp_text_warn(p->color && warn),
                     change_of(p, old, new), limit_of(p, ", limit ", p->gate->limits.totals[i]),
                     warn ? ": over the limit" : "", hp_text_plain(p->color && warn));
}

static void put_functions(struct printer *p)
{
    const struct hp_gate *gate = p->gate;
    int64_t rest = gate->rest;
    size_t n = shown_of(gate);
    for (size_t i = 0; i < n; i++) {
        const struct hp_change *f = gate->functions[i].change;
        bool warn = gate->functions[i].exceeded;
        hp_strbuf_format(&p->text, "    %s%s %s (%s%s%s%s)%s\n", hp_text_warn(p->color && warn),
                         name_of(p, hp_change_function(f)->name), HP_DELTA(f->delta), why(p, f),
                         warn ? "; " : "", warn ? change_of(p, f->before, f->after) : "",
                         limit_of(p, ", function limit ", warn ? gate->limits.functions : -1),
                         hp_text_plain(p->color && warn));
    }
    for (size_t i = n; i < gate->n_functions; i++)
        rest += gate->functions[i].change->delta;
    if (rest)
        hp_strbuf_format(&p->text, "    other functions %s\n", HP_DELTA(rest));
}

/* Of the instructions of a run, those that are not in the program's own file. */
static void put_outside(struct printer *p, const char *program)
{
    const struct hp_digest *d = p->gate->diff->new;
    uint64_t own = 0;
    for (size_t i = 0; program && i < d->n_functions; i++)
        if (strcmp(d->functions[i].module, program) == 0)
            hp_add_up(&own, d->functions[i].self);
    if (own)
        hp_strbuf_format(&p->text, "  %s of the instructions are outside %s\n",
                         HP_PERCENT(1 - hp_number_share(own, d->totals[HP_TOTAL_INSTRUCTIONS])),
                         name_of(p, program));
}

static void put_differences(struct printer *p)
{
    for (enum hp_about i = 0; i < HP_ABOUTS; i++) {
        const char *old = p->gate->diff->old->about[i], *new = p->gate->diff->new->about[i];
        if (differs(p->gate, i))
            hp_strbuf_format(&p->text, "  differs from the baseline: %s is %s, was %s\n",
                             hp_about_names[i], name_of(p, *new ? new : "(none)"),
                             name_of(p, *old ? old : "(none)"));
    }
}

enum hp_err hp_gate_print_text(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct printer p = {.gate = gate, .color = print->color};
    bool regressed = gate->verdict == HP_GATE_REGRESSED;
    hp_strbuf_format(&p.text, "hotpath ci: %s: %s%s%s\n", name_of(&p, print->name),
                     regressed ? hp_text_warn(p.color) : hp_text_bold(p.color),
                     verdict_texts[gate->verdict], hp_text_plain(p.color));
    for (enum hp_total i = 0; i < HP_TOTALS; i++)
        if (hp_diff_has(gate->diff, i)) {
            put_total(&p, i);
            if (i == HP_TOTAL_INSTRUCTIONS)
                put_functions(&p);
        }
    if (has_news(gate)) {
        put_outside(&p, print->program);
        put_differences(&p);
    }
    if (gate->verdict != HP_GATE_WITHIN)
        hp_strbuf_format(&p.text, "  %s: the same command with --update writes %s\n",
                         regressed ? "If this is intended, update the baseline"
                                   : "Better than the baseline; to keep the improvement, update it",
                         name_of(&p, print->baseline));
    return finish(&p, out);
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* Text that means nothing in Markdown or HTML: every sign but letters and digits as an entity. */
static const char *plain(struct printer *p, const char *text)
{
    struct hp_strbuf coded = {0};
    for (const char *c = name_of(p, text); *c; c++)
        if (isalnum((unsigned char)*c) || *c == ' ' || (unsigned char)*c >= 0x80)
            hp_strbuf_bytes(&coded, c, 1);
        else
            hp_strbuf_format(&coded, "&#%u;", (unsigned char)*c);
    return keep(p, &coded);
}

static void put_markdown_totals(struct printer *p)
{
    const struct hp_gate *gate = p->gate;
    hp_strbuf_add(&p->text, "| | baseline | now | change | limit |\n|---|--:|--:|--:|--:|\n");
    for (enum hp_total i = 0; i < HP_TOTALS; i++) {
        uint64_t old = gate->diff->old->totals[i], new = gate->diff->new->totals[i];
        const char *bold = exceeds(gate, i) ? "**" : "";
        if (hp_diff_has(gate->diff, i))
            hp_strbuf_format(&p->text, "| %s | %s | %s | %s%s%s | %s |\n", hp_total_names[i],
                             HP_GROUPED(old), HP_GROUPED(new), bold, change_of(p, old, new), bold,
                             limit_of(p, "", gate->limits.totals[i]));
    }
}

static void put_markdown_functions(struct printer *p)
{
    size_t n = shown_of(p->gate);
    if (n)
        hp_strbuf_add(&p->text, "\n| function | change | why |\n|---|--:|---|\n");
    for (size_t i = 0; i < n; i++) {
        const struct hp_change *f = p->gate->functions[i].change;
        const char *bold = p->gate->functions[i].exceeded ? "**" : "";
        hp_strbuf_format(&p->text, "| <code>%s</code> | %s%s%s | %s |\n",
                         plain(p, hp_change_function(f)->name), bold, HP_DELTA(f->delta), bold,
                         plain(p, why(p, f)));
    }
}

enum hp_err hp_gate_print_markdown(const struct hp_gate *gate, const struct hp_gate_print *print,
                                   FILE *out)
{
    struct printer p = {.gate = gate};
    hp_strbuf_format(&p.text, "### hotpath ci: <code>%s</code>: %s\n\n", plain(&p, print->name),
                     verdict_texts[gate->verdict]);
    put_markdown_totals(&p);
    if (has_news(gate))
        put_markdown_functions(&p);
    for (enum hp_about i = 0; i < HP_ABOUTS && has_news(gate); i++)
        if (differs(gate, i))
            hp_strbuf_format(
                &p.text,
                "\nDiffers from the baseline: %s is <code>%s</code>, was <code>%s</code>\n",
                hp_about_names[i], plain(&p, gate->diff->new->about[i]),
                plain(&p, gate->diff->old->about[i]));
    hp_strbuf_add(&p.text, "\n");
    return finish(&p, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_json_total(struct hp_json *json, const struct hp_gate *gate, enum hp_total total)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", hp_total_names[total]);
    hp_diff_put_counts(json, gate->diff->old->totals[total], gate->diff->new->totals[total]);
    hp_json_put_bool(json, "exceeded", exceeds(gate, total));
    if (gate->limits.totals[total] >= 0)
        hp_json_put_fixed(json, "limit", gate->limits.totals[total], 6);
    else
        hp_json_put_null(json, "limit");
    hp_json_end_object(json);
}

static void put_json_function(struct hp_json *json, struct printer *p,
                              const struct hp_gate_function *f)
{
    const struct hp_dfunction *function = hp_change_function(f->change);
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", function->name);
    hp_json_put_string(json, "module", function->module);
    hp_diff_put_counts(json, f->change->before, f->change->after);
    hp_json_put_bool(json, "exceeded", f->exceeded);
    hp_json_put_string(json, "why", why(p, f->change));
    hp_json_end_object(json);
}

enum hp_err hp_gate_print_json(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    struct printer p = {.gate = gate};
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
        put_json_function(&json, &p, &gate->functions[i]);
    hp_json_end_array(&json);
    hp_json_put_int(&json, "others", gate->rest);
    hp_json_put_array(&json, "differences");
    for (enum hp_about i = 0; i < HP_ABOUTS; i++)
        if (differs(gate, i)) {
            hp_json_begin_object(&json);
            hp_json_put_string(&json, "what", hp_about_names[i]);
            hp_json_put_string(&json, "old", gate->diff->old->about[i]);
            hp_json_put_string(&json, "new", gate->diff->new->about[i]);
            hp_json_end_object(&json);
        }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    enum hp_err err = hp_json_finish(&json);
    return finish(&p, out) ?: err;
}
