// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "diff/fidelity.h"
#include "report/fields.h"
#include "report/text.h"

#define ROWS 10 /* of each list, unless --top says otherwise */

static const struct {
    const char *key, *title;
} kinds[HP_FIDELITY_KINDS] = {[HP_FIDELITY_RUN] = {"run", "Run"},
                              [HP_FIDELITY_FUNCTION] = {"functions", "Functions"},
                              [HP_FIDELITY_LOOP] = {"loops", "Loops"},
                              [HP_FIDELITY_INSN] = {"instructions", "Instructions"}};

static const char *model_of(const struct hp_fidelity *f)
{
    return f->model.sampler ? hp_text(f->model.sampler->name) : "exact";
}

static double share_of(const struct hp_fidelity *f, const struct hp_fidelity_item *item)
{
    return hp_number_share(hp_insn_time(&f->processor, &item->processor.tally), f->time);
}

static void put_name(const struct hp_fidelity *f, enum hp_fidelity_by kind,
                     const struct hp_fidelity_item *item, struct hp_strbuf *text)
{
    const struct hp_pinsn *insn = &f->tables.profile->insns[item->insn];
    switch (kind) {
    case HP_FIDELITY_RUN: hp_strbuf_add(text, "run"); break;
    case HP_FIDELITY_FUNCTION: hp_put_function(&f->tables, insn->function, text); break;
    case HP_FIDELITY_LOOP:
        if (item->loop == HP_PROFILE_NONE)
            hp_strbuf_add(text, "(in no loop)");
        else
            hp_put_loop(&f->tables, item->loop, true, SIZE_MAX, text);
        break;
    default: hp_put_code(&f->tables, insn->function, insn->place, text); break;
    }
}

/* --- Text ------------------------------------------------------------------------------------- */

struct list {
    const struct hp_fidelity *fidelity;
    enum hp_fidelity_by kind;
};

/* "l1d 12.0%, not 3.1%; l2 ...": events whose rates surely differ. */
static void put_events(const struct hp_fidelity *f, const struct hp_fidelity_item *item,
                       struct hp_strbuf *cell)
{
    struct hp_fidelity_pair pair;
    for (int i = HP_FIDELITY_EVENTS; hp_fidelity_trusted(item) && i < HP_FIDELITY_NUMBERS; i++) {
        enum hp_fidelity_number number = (enum hp_fidelity_number)i;
        if (!hp_fidelity_pair(f, item, number, &pair) || !hp_fidelity_differs(&pair))
            continue;
        hp_strbuf_format(cell, "%s%s %s, not %s", cell->length ? "; " : "",
                         hp_fidelity_name(number), HP_PERCENT(pair.processor.value),
                         HP_PERCENT(pair.model.value));
    }
}

static double fill(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct list *list = context;
    const struct hp_fidelity *f = list->fidelity;
    const struct hp_fidelity_item *item = &f->items[list->kind][i];
    struct hp_fidelity_pair pair;
    hp_strbuf_percent(&cells[0], share_of(f, item));
    if (hp_fidelity_pair(f, item, HP_FIDELITY_CYCLES, &pair)) {
        hp_put_cycles(pair.processor.value, &cells[1]);
        hp_put_interval(pair.processor, &cells[1]);
        hp_put_cycles(pair.model.value, &cells[2]);
        hp_put_interval(pair.model, &cells[2]);
        hp_strbuf_fixed(&cells[3], pair.ratio.value, 2);
        hp_strbuf_format(&cells[4], "%s to %s", HP_FIXED(pair.ratio.low, 2),
                         HP_FIXED(pair.ratio.high, 2));
    }
    if (hp_fidelity_pair(f, item, HP_FIDELITY_TIMES, &pair))
        hp_strbuf_fixed(&cells[5], pair.ratio.value, 2);
    put_name(f, list->kind, item, &cells[6]);
    if (list->kind == HP_FIDELITY_INSN)
        hp_put_assembly(hp_text(f->tables.profile->insns[item->insn].text), &cells[7]);
    put_events(f, item, &cells[8]);
    return share_of(f, item);
}

static enum hp_err print_list(const struct hp_fidelity *f, enum hp_fidelity_by kind,
                              const struct hp_fidelity_print *print, FILE *out)
{
    const struct hp_report_options *options = &print->report;
    struct list list = {f, kind};
    size_t most = options->top == HP_REPORT_TOP_DEFAULT ? ROWS : options->top;
    size_t n = most && most < f->n[kind] ? most : f->n[kind];
    const struct hp_column columns[] = {
        {"share", .right = true, .heat = true},
        {"processor", .right = true},
        {"model", .right = true},
        {"ratio", .right = true},
        {.title = "95 %"},
        {"times", .right = true},
        {kind == HP_FIDELITY_INSN ? "where" : "", .flexible = true, .cut = HP_CUT_NAME},
        {"instruction", .flexible = true, .cut = HP_CUT_END, .hidden = kind != HP_FIDELITY_INSN},
        {"events", .flexible = true, .cut = HP_CUT_END},
        {0}};
    if (!n)
        return HP_OK;
    fprintf(out, "\n%s%s%s\n", hp_text_bold(options->color), kinds[kind].title,
            hp_text_plain(options->color));
    HP_TRY(hp_text_rows_print(&(struct hp_text_rows){.columns = columns,
                                                     .out = out,
                                                     .color = options->color,
                                                     .width = options->width,
                                                     .full_names = options->full_names,
                                                     .n = n,
                                                     .fill = fill,
                                                     .context = &list}));
    hp_print_more(out, f->n[kind] - n);
    return HP_OK;
}

static enum hp_err print_text(const struct hp_fidelity *f, const struct hp_fidelity_print *print,
                              FILE *out)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&text, print->processor_name);
    hp_strbuf_format(&text, " (%s: %s samples) and ", hp_text(f->processor.sampler->name),
                     HP_GROUPED(f->processor.sampler->samples));
    hp_strbuf_clean(&text, print->model_name);
    hp_strbuf_format(&text, " (%s)", model_of(f));
    HP_TRY(hp_print_line(&text, &print->report, out));
    hp_strbuf_format(&text,
                     "cycles of an execution from dispatch to completion; %s of the processor's "
                     "time is in instructions that both know",
                     HP_PERCENT(hp_number_share(f->common, f->time)));
    HP_TRY(hp_print_line(&text, &print->report, out));
    for (int kind = 0; kind < HP_FIDELITY_KINDS; kind++)
        HP_TRY(print_list(f, (enum hp_fidelity_by)kind, print, out));
    return hp_print_finish(out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_estimate(struct hp_json *json, const char *key, struct hp_estimate estimate)
{
    hp_json_key(json, key);
    hp_json_estimate(json, estimate);
}

static void put_numbers(struct hp_json *json, const struct hp_fidelity *f,
                        const struct hp_fidelity_item *item)
{
    struct hp_fidelity_pair pair;
    for (int i = 0; i < HP_FIDELITY_NUMBERS; i++) {
        if (!hp_fidelity_pair(f, item, (enum hp_fidelity_number)i, &pair) ||
            (i >= HP_FIDELITY_EVENTS && !(pair.processor.value > 0) && !(pair.model.value > 0)))
            continue;
        hp_json_put_object(json, hp_fidelity_name((enum hp_fidelity_number)i));
        put_estimate(json, "processor", pair.processor);
        put_estimate(json, "model", pair.model);
        put_estimate(json, "ratio", pair.ratio);
        hp_json_put_bool(json, "differs", hp_fidelity_differs(&pair));
        hp_json_end_object(json);
    }
}

static enum hp_err put_item(struct hp_json *json, const struct hp_fidelity *f,
                            enum hp_fidelity_by kind, const struct hp_fidelity_item *item)
{
    const struct hp_profile *p = f->tables.profile;
    const struct hp_pinsn *insn = &p->insns[item->insn];
    const struct hp_ploop *loop = item->loop == HP_PROFILE_NONE ? NULL : &p->loops[item->loop];
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0}, at HP_CLEANUP(hp_strbuf_fini) = {0};
    put_name(f, kind, item, &name);
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", hp_strbuf_text(&name));
    if (kind == HP_FIDELITY_INSN || loop) {
        hp_tables_place(&f->tables, loop ? loop->header : insn->place, &at);
        hp_json_put_string(json, "address", hp_strbuf_text(&at));
        hp_json_put_string(json, "file", hp_text(loop ? loop->file : insn->file));
        hp_json_put_uint(json, "line", loop ? loop->first_line : insn->line);
    }
    if (kind == HP_FIDELITY_INSN)
        hp_json_put_string(json, "text", hp_text(insn->text));
    hp_json_put_uint(json, "samples", item->processor.tally.fetched);
    hp_json_put_fixed(json, "share", share_of(f, item), 6);
    hp_json_put_fixed(json, "gap", item->gap, 3);
    put_numbers(json, f, item);
    hp_json_end_object(json);
    return name.failed || at.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_json(const struct hp_fidelity *f, const struct hp_fidelity_print *print,
                              FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "model");
    hp_json_put_string(&json, "processor", print->processor_name);
    hp_json_put_string(&json, "sampler", f->processor.sampler->name);
    hp_json_put_string(&json, "model", print->model_name);
    hp_json_put_string(&json, "seen", model_of(f));
    hp_json_put_fixed(&json, "common", hp_number_share(f->common, f->time), 6);
    for (int kind = 0; kind < HP_FIDELITY_KINDS; kind++) {
        hp_json_put_array(&json, kinds[kind].key);
        for (size_t i = 0; i < f->n[kind]; i++)
            HP_TRY(put_item(&json, f, (enum hp_fidelity_by)kind, &f->items[kind][i]));
        hp_json_end_array(&json);
    }
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

enum hp_err hp_fidelity_print(const struct hp_fidelity *f, const struct hp_fidelity_print *print,
                              FILE *out)
{
    return print->report.format == HP_REPORT_JSON ? print_json(f, print, out)
                                                  : print_text(f, print, out);
}
