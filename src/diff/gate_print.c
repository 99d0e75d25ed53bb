// SPDX-License-Identifier: MIT
#include "diff/gate.h"

#include "report/print.h"
#include "text/json.h"
#include "text/number.h"
#include "text/table.h"

#include <ctype.h>
#include <string.h>

#define SHOWN      10 /* functions that a person is told of */
#define NAME_WIDTH 120

/* --- What text and Markdown share ------------------------------------------------------------- */

static void put_signed(struct hp_strbuf *text, int64_t delta)
{
    hp_strbuf_add(text, delta > 0 ? "+" : delta < 0 ? "-" : "");
    hp_strbuf_grouped(text, hp_change(delta));
}

static void put_percent(struct hp_strbuf *text, double percent)
{
    char number[HP_NUMBER_SIZE];
    size_t n = hp_number_fixed(number, percent, 2);
    while (n > 2 && number[n - 1] == '0' && number[n - 2] != '.')
        number[--n] = 0;
    if (n > 2 && strcmp(number + n - 2, ".0") == 0)
        number[n - 2] = 0;
    hp_strbuf_add(text, number);
    hp_strbuf_add(text, "%");
}

/* "+5.4%" */
static void put_change(struct hp_strbuf *text, uint64_t old, uint64_t new)
{
    if (old == 0) {
        hp_strbuf_add(text, new ? "new" : "0%");
        return;
    }
    double percent = 100.0 * ((double)new - (double)old) / (double)old;
    char number[HP_NUMBER_SIZE];
    hp_number_fixed(number, percent, 2);
    hp_strbuf_add(text, percent > 0 ? "+" : "");
    hp_strbuf_add(text, number);
    hp_strbuf_add(text, "%");
}

static const char *verdict_text(const struct hp_gate *gate)
{
    switch (gate->verdict) {
    case HP_GATE_REGRESSED: return "regression";
    case HP_GATE_IMPROVED: return "improvement";
    default: return "within the limits";
    }
}

static const struct hp_dfunction *shown_function(const struct hp_gate *gate, uint32_t function)
{
    const struct hp_diff_function *f = &gate->diff->functions[function];
    return f->new != HP_PROFILE_NONE ? &gate->diff->new->functions[f->new]
                                     : &gate->diff->old->functions[f->old];
}

/* A name, clean and not too long. */
static void put_name(struct hp_strbuf *text, const char *name)
{
    struct hp_strbuf clean = {0};
    hp_strbuf_clean(&clean, name);
    hp_strbuf_cut(text, hp_strbuf_text(&clean), NAME_WIDTH, HP_CUT_MIDDLE);
    text->failed |= clean.failed;
    hp_strbuf_fini(&clean);
}

/* Of the instructions of a run, those that are not in the program's own file. */
static bool outside_share(const struct hp_gate *gate, const struct hp_gate_print *print,
                          double *share)
{
    const struct hp_digest *d = gate->diff->new;
    uint64_t own = 0;
    for (size_t i = 0; print->program && i < d->n_functions; i++)
        if (strcmp(d->functions[i].module, print->program) == 0)
            own = hp_saturating_add(own, d->functions[i].self);
    *share = 1 - hp_number_share(own, d->totals[HP_TOTAL_INSTRUCTIONS]);
    return own > 0;
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

/* --- Text ------------------------------------------------------------------------------------- */

static void put_total(const struct hp_gate *gate, enum hp_total total, bool color,
                      struct hp_strbuf *text)
{
    uint64_t old = gate->diff->old->totals[total], new = gate->diff->new->totals[total];
    size_t start = text->length;
    hp_strbuf_add(text, "  ");
    hp_strbuf_add(text, hp_total_name(total));
    while (text->length < start + 18 && !text->failed)
        hp_strbuf_add(text, " ");
    hp_strbuf_grouped(text, old);
    hp_strbuf_add(text, " -> ");
    hp_strbuf_grouped(text, new);
    bool exceeded = hp_gate_exceeds(gate, total, false);
    hp_strbuf_add(text, exceeded ? hp_text_warn(color) : "");
    hp_strbuf_add(text, " (");
    put_change(text, old, new);
    if (gate->limits.totals[total] >= 0) {
        hp_strbuf_add(text, ", limit ");
        put_percent(text, gate->limits.totals[total]);
    }
    hp_strbuf_add(text, exceeded ? "): too many" : ")");
    hp_strbuf_add(text, exceeded ? hp_text_plain(color) : "");
    hp_strbuf_add(text, "\n");
}

static void put_functions(const struct hp_gate *gate, bool color, struct hp_strbuf *text)
{
    size_t n = shown_of(gate);
    for (size_t i = 0; i < n; i++) {
        const struct hp_gate_function *f = &gate->functions[i];
        hp_strbuf_add(text, "    ");
        hp_strbuf_add(text, f->exceeded ? hp_text_warn(color) : "");
        put_name(text, shown_function(gate, f->function)->name);
        hp_strbuf_add(text, " ");
        put_signed(text, gate->diff->functions[f->function].delta);
        hp_strbuf_add(text, " (");
        hp_gate_why(gate, f->function, text);
        if (f->exceeded) {
            hp_strbuf_add(text, "; ");
            put_change(text, gate->diff->functions[f->function].before,
                       gate->diff->functions[f->function].after);
            hp_strbuf_add(text, ", limit of functions ");
            put_percent(text, gate->limits.functions);
        }
        hp_strbuf_add(text, ")");
        hp_strbuf_add(text, f->exceeded ? hp_text_plain(color) : "");
        hp_strbuf_add(text, "\n");
    }
    int64_t rest = gate->rest;
    for (size_t i = n; i < gate->n_functions; i++)
        rest += gate->diff->functions[gate->functions[i].function].delta;
    if (rest) {
        hp_strbuf_add(text, "    all others ");
        put_signed(text, rest);
        hp_strbuf_add(text, "\n");
    }
}

static void put_differences(const struct hp_gate *gate, struct hp_strbuf *text)
{
    for (size_t i = 0; i < gate->n_differences; i++) {
        const struct hp_gate_difference *d = &gate->differences[i];
        hp_strbuf_add(text, "  not as in the baseline: ");
        hp_strbuf_add(text, d->what);
        hp_strbuf_add(text, " ");
        put_name(text, *d->new ? d->new : "(none)");
        hp_strbuf_add(text, ", was ");
        put_name(text, *d->old ? d->old : "(none)");
        hp_strbuf_add(text, "\n");
    }
}

static void put_advice(const struct hp_gate *gate, const struct hp_gate_print *print,
                       struct hp_strbuf *text)
{
    if (gate->verdict == HP_GATE_WITHIN)
        return;
    hp_strbuf_add(text, gate->verdict == HP_GATE_IMPROVED
                            ? "  Better than the baseline: update it, to keep it so"
                            : "  If it is meant to be so, update the baseline");
    hp_strbuf_add(text, ": the same command with --update writes ");
    put_name(text, print->baseline);
    hp_strbuf_add(text, "\n");
}

enum hp_err hp_gate_print_text(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct hp_strbuf text = {0};
    double outside;
    bool color = print->color;
    hp_strbuf_add(&text, "hotpath ci: ");
    put_name(&text, print->name);
    hp_strbuf_add(&text, ": ");
    hp_strbuf_add(&text,
                  gate->verdict == HP_GATE_REGRESSED ? hp_text_warn(color) : hp_text_bold(color));
    hp_strbuf_add(&text, verdict_text(gate));
    hp_strbuf_add(&text, hp_text_plain(color));
    hp_strbuf_add(&text, "\n");
    for (int i = 0; i < HP_TOTALS; i++)
        if (hp_gate_has(gate, (enum hp_total)i)) {
            put_total(gate, (enum hp_total)i, color, &text);
            if (i == HP_TOTAL_INSTRUCTIONS && has_news(gate))
                put_functions(gate, color, &text);
        }
    if (has_news(gate) && outside_share(gate, print, &outside)) {
        hp_strbuf_add(&text, "  ");
        hp_strbuf_percent(&text, outside);
        hp_strbuf_add(&text, " of the instructions are outside of ");
        put_name(&text, print->program);
        hp_strbuf_add(&text, "\n");
    }
    if (has_news(gate))
        put_differences(gate, &text);
    put_advice(gate, print, &text);
    fputs(hp_strbuf_text(&text), out);
    enum hp_err err = text.failed ? hp_fail_nomem() : hp_print_finish(out);
    hp_strbuf_fini(&text);
    return err;
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* Text that means nothing in Markdown or HTML: every sign but letters and digits as an entity. */
static void put_plain(struct hp_strbuf *to, const char *text)
{
    struct hp_strbuf clean = {0};
    put_name(&clean, text);
    for (const char *c = hp_strbuf_text(&clean); *c; c++)
        if (isalnum((unsigned char)*c) || *c == ' ' || (unsigned char)*c >= 0x80) {
            hp_strbuf_bytes(to, c, 1);
        } else {
            hp_strbuf_add(to, "&#");
            hp_strbuf_uint(to, (unsigned char)*c);
            hp_strbuf_add(to, ";");
        }
    to->failed |= clean.failed;
    hp_strbuf_fini(&clean);
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
    for (int i = 0; i < HP_TOTALS; i++) {
        enum hp_total total = (enum hp_total)i;
        if (!hp_gate_has(gate, total))
            continue;
        uint64_t old = gate->diff->old->totals[i], new = gate->diff->new->totals[i];
        bool exceeded = hp_gate_exceeds(gate, total, false);
        hp_strbuf_add(text, "| ");
        hp_strbuf_add(text, hp_total_name(total));
        hp_strbuf_add(text, " | ");
        hp_strbuf_grouped(text, old);
        hp_strbuf_add(text, " | ");
        hp_strbuf_grouped(text, new);
        hp_strbuf_add(text, exceeded ? " | **" : " | ");
        put_change(text, old, new);
        hp_strbuf_add(text, exceeded ? "** | " : " | ");
        if (gate->limits.totals[i] >= 0)
            put_percent(text, gate->limits.totals[i]);
        hp_strbuf_add(text, " |\n");
    }
}

static void put_markdown_functions(const struct hp_gate *gate, struct hp_strbuf *text)
{
    struct hp_strbuf why = {0};
    size_t n = shown_of(gate);
    if (n)
        hp_strbuf_add(text, "\n| function | change | why |\n|---|--:|---|\n");
    for (size_t i = 0; i < n; i++) {
        const struct hp_gate_function *f = &gate->functions[i];
        hp_strbuf_clear(&why);
        hp_gate_why(gate, f->function, &why);
        hp_strbuf_add(text, "| ");
        put_code(text, shown_function(gate, f->function)->name);
        hp_strbuf_add(text, f->exceeded ? " | **" : " | ");
        put_signed(text, gate->diff->functions[f->function].delta);
        hp_strbuf_add(text, f->exceeded ? "** | " : " | ");
        put_plain(text, hp_strbuf_text(&why));
        hp_strbuf_add(text, " |\n");
    }
    text->failed |= why.failed;
    hp_strbuf_fini(&why);
}

enum hp_err hp_gate_print_markdown(const struct hp_gate *gate, const struct hp_gate_print *print,
                                   FILE *out)
{
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, "### hotpath ci: ");
    put_code(&text, print->name);
    hp_strbuf_add(&text, ": ");
    hp_strbuf_add(&text, verdict_text(gate));
    hp_strbuf_add(&text, "\n\n");
    put_markdown_totals(gate, &text);
    if (has_news(gate)) {
        put_markdown_functions(gate, &text);
        for (size_t i = 0; i < gate->n_differences; i++) {
            hp_strbuf_add(&text, "\nNot as in the baseline: ");
            hp_strbuf_add(&text, gate->differences[i].what);
            hp_strbuf_add(&text, " ");
            put_code(&text, gate->differences[i].new);
            hp_strbuf_add(&text, ", was ");
            put_code(&text, gate->differences[i].old);
            hp_strbuf_add(&text, "\n");
        }
    }
    hp_strbuf_add(&text, "\n");
    fputs(hp_strbuf_text(&text), out);
    enum hp_err err = text.failed ? hp_fail_nomem() : hp_print_finish(out);
    hp_strbuf_fini(&text);
    return err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_json_counts(struct hp_json *json, uint64_t old, uint64_t new, bool exceeded)
{
    hp_json_put_uint(json, "old", old);
    hp_json_put_uint(json, "new", new);
    hp_json_put_int(json, "delta", hp_delta(old, new));
    hp_json_put_bool(json, "exceeded", exceeded);
}

static void put_json_totals(struct hp_json *json, const struct hp_gate *gate)
{
    hp_json_put_array(json, "totals");
    for (int i = 0; i < HP_TOTALS; i++) {
        enum hp_total total = (enum hp_total)i;
        if (!hp_gate_has(gate, total))
            continue;
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", hp_total_name(total));
        put_json_counts(json, gate->diff->old->totals[i], gate->diff->new->totals[i],
                        hp_gate_exceeds(gate, total, false));
        hp_json_key(json, "limit");
        if (gate->limits.totals[i] >= 0)
            hp_json_fixed(json, gate->limits.totals[i], 6);
        else
            hp_json_null(json);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_json_functions(struct hp_json *json, const struct hp_gate *gate,
                               struct hp_strbuf *why)
{
    hp_json_put_array(json, "functions");
    for (size_t i = 0; i < gate->n_functions; i++) {
        const struct hp_gate_function *f = &gate->functions[i];
        const struct hp_diff_function *change = &gate->diff->functions[f->function];
        hp_strbuf_clear(why);
        hp_gate_why(gate, f->function, why);
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", shown_function(gate, f->function)->name);
        hp_json_put_string(json, "module", shown_function(gate, f->function)->module);
        put_json_counts(json, change->before, change->after, f->exceeded);
        hp_json_put_string(json, "why", hp_strbuf_text(why));
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

enum hp_err hp_gate_print_json(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    struct hp_strbuf why = {0};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "ci");
    hp_json_put_string(&json, "name", print->name);
    hp_json_put_string(&json, "verdict", hp_gate_verdict_name(gate->verdict));
    put_json_totals(&json, gate);
    put_json_functions(&json, gate, &why);
    hp_json_put_int(&json, "others", gate->rest);
    hp_json_put_array(&json, "differences");
    for (size_t i = 0; i < gate->n_differences; i++) {
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "what", gate->differences[i].what);
        hp_json_put_string(&json, "old", gate->differences[i].old);
        hp_json_put_string(&json, "new", gate->differences[i].new);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    bool failed = why.failed;
    hp_strbuf_fini(&why);
    return failed ? hp_fail_nomem() : hp_json_finish(&json);
}
