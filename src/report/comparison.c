// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <math.h>
#include <string.h>

/* How many of `n` functions to print. */
static size_t top_of(const struct hp_report_options *options, size_t n)
{
    size_t limit = hp_print_limit(options, &hp_view_functions);
    return limit != 0 && limit < n ? limit : n;
}

static enum hp_err print_json(const struct hp_comparison *c, const char *name_a, const char *name_b,
                              const struct hp_report_options *options, FILE *out)
{
    struct hp_json json = {.out = out, .lines = 3};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "comparison");
    hp_json_put_string(&json, "name_a", name_a);
    hp_json_put_string(&json, "name_b", name_b);
    hp_json_put_uint(&json, "instructions_a", c->instructions_a);
    hp_json_put_uint(&json, "instructions_b", c->instructions_b);
    hp_json_put_fixed(&json, "block_overlap", c->block_overlap, 6);
    hp_json_put_fixed(&json, "edge_overlap", c->edge_overlap, 6);
    hp_json_put_fixed(&json, "function_overlap", c->function_overlap, 6);
    hp_json_put_array(&json, "path_overlaps");
    for (size_t i = 0; i < c->n_kinds; i++) {
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "kind", c->kinds[i].kind);
        hp_json_put_fixed(&json, "executions", c->kinds[i].executions, 6);
        hp_json_put_fixed(&json, "instructions", c->kinds[i].instructions, 6);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    if (c->has_loops) {
        hp_json_put_object(&json, "loop_overlap");
        hp_json_put_fixed(&json, "instructions", c->loop_instructions, 6);
        hp_json_put_fixed(&json, "iterations", c->loop_iterations, 6);
        hp_json_end_object(&json);
    }
    hp_json_put_array(&json, "moves");
    for (size_t i = 0; i < top_of(options, c->n_moves); i++) {
        const struct hp_move *move = &c->moves[i];
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "name", hp_text(move->name));
        hp_json_put_string(&json, "module", hp_text(move->module));
        hp_json_put_uint(&json, "a", move->a);
        hp_json_put_uint(&json, "b", move->b);
        hp_json_put_fixed(&json, "share_a", move->share_a, 6);
        hp_json_put_fixed(&json, "share_b", move->share_b, 6);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}

static enum hp_err print_csv(const struct hp_comparison *c, const struct hp_report_options *options,
                             FILE *out)
{
    fputs("name,module,a,b,share_a,share_b\r\n", out);
    for (size_t i = 0; i < top_of(options, c->n_moves); i++) {
        const struct hp_move *move = &c->moves[i];
        char a[HP_NUMBER_SIZE], b[HP_NUMBER_SIZE], share_a[HP_NUMBER_SIZE], share_b[HP_NUMBER_SIZE];
        hp_number_uint(a, move->a);
        hp_number_uint(b, move->b);
        hp_number_fixed(share_a, move->share_a, 6);
        hp_number_fixed(share_b, move->share_b, 6);
        hp_csv_text(out, hp_text(move->name));
        putc(',', out);
        hp_csv_text(out, hp_text(move->module));
        fprintf(out, ",%s,%s,%s,%s\r\n", a, b, share_a, share_b);
    }
    return hp_print_finish(out);
}

/* --- Text ------------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"change", .right = true, .heat = true},
                                           {"share A", .right = true},
                                           {"share B", .right = true},
                                           {"self A", .right = true},
                                           {"self B", .right = true},
                                           {"function", .flexible = true},
                                           {"module", .flexible = true},
                                           {0}};

/* "+1.2" with its sign, so that the direction is seen at once. */
static void put_signed(struct hp_strbuf *cell, double value)
{
    char text[HP_NUMBER_SIZE];
    hp_number_fixed(text, value, 1);
    if (value > 0 && strcmp(text, "0.0") != 0)
        hp_strbuf_add(cell, "+");
    hp_strbuf_add(cell, text);
}

static double change_of(const struct hp_move *move)
{
    return move->share_b - move->share_a;
}

static double fill(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct hp_comparison *c = context;
    const struct hp_move *move = &c->moves[i];
    put_signed(&cells[0], change_of(move) * 100);
    hp_strbuf_percent(&cells[1], move->share_a);
    hp_strbuf_percent(&cells[2], move->share_b);
    hp_strbuf_human(&cells[3], move->a);
    hp_strbuf_human(&cells[4], move->b);
    hp_strbuf_clean(&cells[5], hp_text(move->name));
    hp_strbuf_clean(&cells[6], hp_base_name(hp_text(move->module)));
    return fabs(change_of(move));
}

static enum hp_err print_head(const struct hp_comparison *c, const char *name_a, const char *name_b,
                              const struct hp_report_options *options, FILE *out)
{
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, hp_text_bold(options->color));
    hp_strbuf_add(&text, "A: ");
    hp_strbuf_clean(&text, hp_text(name_a));
    hp_strbuf_add(&text, "    B: ");
    hp_strbuf_clean(&text, hp_text(name_b));
    hp_strbuf_add(&text, hp_text_plain(options->color));
    hp_strbuf_add(&text, "\n  instructions: ");
    hp_strbuf_grouped(&text, c->instructions_a);
    hp_strbuf_add(&text, " -> ");
    hp_strbuf_grouped(&text, c->instructions_b);
    if (c->instructions_a > 0) {
        double ratio = (double)c->instructions_b / (double)c->instructions_a;
        hp_strbuf_add(&text, " (");
        put_signed(&text, (ratio - 1) * 100);
        hp_strbuf_add(&text, "%)");
    }
    hp_strbuf_add(&text, "\n  overlap: blocks ");
    hp_strbuf_fixed(&text, c->block_overlap, 1);
    hp_strbuf_add(&text, "%   edges ");
    hp_strbuf_fixed(&text, c->edge_overlap, 1);
    hp_strbuf_add(&text, "%   functions ");
    hp_strbuf_fixed(&text, c->function_overlap, 1);
    hp_strbuf_add(&text, "%\n");
    for (size_t i = 0; i < c->n_kinds; i++) {
        hp_strbuf_add(&text, "  overlap of paths ");
        hp_strbuf_clean(&text, c->kinds[i].kind);
        hp_strbuf_add(&text, ": ");
        hp_strbuf_fixed(&text, c->kinds[i].executions, 1);
        hp_strbuf_add(&text, "% by executions   ");
        hp_strbuf_fixed(&text, c->kinds[i].instructions, 1);
        hp_strbuf_add(&text, "% by instructions\n");
    }
    if (c->has_loops) {
        hp_strbuf_add(&text, "  overlap of loops: ");
        hp_strbuf_fixed(&text, c->loop_instructions, 1);
        hp_strbuf_add(&text, "% by instructions   ");
        hp_strbuf_fixed(&text, c->loop_iterations, 1);
        hp_strbuf_add(&text, "% by iterations\n");
    }
    hp_strbuf_add(&text, "\n");
    fputs(hp_strbuf_text(&text), out);
    enum hp_err err = text.failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_text(const struct hp_comparison *c, const char *name_a, const char *name_b,
                              const struct hp_report_options *options, FILE *out)
{
    HP_TRY(print_head(c, name_a, name_b, options, out));
    size_t moved = 0; /* the largest changes come first */
    while (moved < c->n_moves && change_of(&c->moves[moved]) != 0)
        moved++;
    size_t n = top_of(options, moved);
    if (moved == 0)
        fputs("  (no function's share changed)\n", out);
    else
        HP_TRY(hp_text_rows_print(&(struct hp_text_rows){.columns = columns,
                                                         .out = out,
                                                         .color = options->color,
                                                         .width = options->width,
                                                         .n = n,
                                                         .fill = fill,
                                                         .context = (void *)(uintptr_t)c}));
    hp_print_more(out, moved - n);
    return hp_print_finish(out);
}

enum hp_err hp_report_comparison(const struct hp_comparison *comparison, const char *name_a,
                                 const char *name_b, const struct hp_report_options *options,
                                 FILE *out)
{
    switch (options->format) {
    case HP_REPORT_TEXT: return print_text(comparison, name_a, name_b, options, out);
    case HP_REPORT_JSON: return print_json(comparison, name_a, name_b, options, out);
    case HP_REPORT_CSV: return print_csv(comparison, options, out);
    }
    return hp_fail(HP_ERR_INVALID, "no report format %d", (int)options->format);
}
