// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/query/query.h"
#include "report/text.h"

#include <math.h>

/* What is compared, and how to print it. */
struct printer {
    const struct hp_comparison *c;
    const char *name_a, *name_b;
    const struct hp_report_options *options;
    FILE *out;
    /* The functions that are asked for, in order. */
    struct hp_move *moves;
    size_t n;
    const struct hp_move *at; /* the one at hand */
};

/* --- What is asked for ------------------------------------------------------------------------ */

static const char *column_name(const void *context, size_t i)
{
    static const char *const names[] = {"name", "module", "a", "b", "share_a", "share_b"};
    (void)context;
    return names[i];
}

static struct hp_cell column_cell(void *context, size_t i)
{
    const struct hp_move *move = ((const struct printer *)context)->at;
    switch (i) {
    case 0: return hp_cell_text(move->name);
    case 1: return hp_cell_text(move->module);
    case 2: return hp_cell_number(move->a);
    case 3: return hp_cell_number(move->b);
    default: return hp_cell_fraction(i == 4 ? move->share_a : move->share_b);
    }
}

static void set_row(void *context, size_t row)
{
    struct printer *p = context;
    p->at = &p->c->moves[row];
}

static enum hp_err choose(struct printer *p)
{
    size_t *chosen HP_CLEANUP(hp_free) = calloc(p->c->n_moves + 1, sizeof *chosen);
    const struct hp_filter_columns columns = {
        .of = "a comparison", .n = 6, .name = column_name, .cell = column_cell, .context = p};
    p->moves = calloc(p->c->n_moves + 1, sizeof *p->moves);
    if (!chosen || !p->moves)
        return hp_fail_nomem();
    HP_TRY(hp_query_list(&p->options->query, &columns, set_row, p->c->n_moves, chosen, &p->n));
    for (size_t i = 0; i < p->n; i++)
        p->moves[i] = p->c->moves[chosen[i]];
    return HP_OK;
}

static void printer_fini(struct printer *p)
{
    free(p->moves);
}

/* How many of `n` functions to print. */
static size_t top_of(const struct printer *p, size_t n)
{
    size_t limit = hp_print_limit(p->options, &hp_view_functions);
    return limit != 0 && limit < n ? limit : n;
}

static enum hp_err print_json(const struct printer *p)
{
    const struct hp_comparison *c = p->c;
    struct hp_json json = {.out = p->out, .lines = 3};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_object(&json, "comparison");
    hp_json_put_string(&json, "name_a", p->name_a);
    hp_json_put_string(&json, "name_b", p->name_b);
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
    for (size_t i = 0; i < top_of(p, p->n); i++) {
        const struct hp_move *move = &p->moves[i];
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

static enum hp_err print_csv(const struct printer *p)
{
    fputs("name,module,a,b,share_a,share_b\r\n", p->out);
    for (size_t i = 0; i < top_of(p, p->n); i++) {
        const struct hp_move *move = &p->moves[i];
        hp_csv_text(p->out, hp_text(move->name));
        putc(',', p->out);
        hp_csv_text(p->out, hp_text(move->module));
        fprintf(p->out, ",%" PRIu64 ",%" PRIu64 ",%s,%s\r\n", move->a, move->b,
                HP_FIXED(move->share_a, 6), HP_FIXED(move->share_b, 6));
    }
    return hp_print_finish(p->out);
}

/* --- Text ------------------------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"change", .right = true, .heat = true},
                                           {"share A", .right = true},
                                           {"share B", .right = true},
                                           {"self A", .right = true},
                                           {"self B", .right = true},
                                           {"function", .flexible = true, .cut = HP_CUT_NAME},
                                           {"module", .flexible = true},
                                           {0}};

/* "+1.2" with its sign, so that the direction is seen at once. */
static void put_signed(struct hp_strbuf *cell, double value)
{
    const char *text = HP_FIXED(value, 1);
    hp_strbuf_format(cell, "%s%s", value > 0 && strcmp(text, "0.0") != 0 ? "+" : "", text);
}

static double change_of(const struct hp_move *move)
{
    return move->share_b - move->share_a;
}

static double fill(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct hp_move *move = &((const struct printer *)context)->moves[i];
    put_signed(&cells[0], change_of(move) * 100);
    hp_strbuf_percent(&cells[1], move->share_a);
    hp_strbuf_percent(&cells[2], move->share_b);
    hp_strbuf_human(&cells[3], move->a);
    hp_strbuf_human(&cells[4], move->b);
    hp_strbuf_clean(&cells[5], hp_text(move->name));
    hp_strbuf_clean(&cells[6], hp_base_name(hp_text(move->module)));
    return fabs(change_of(move));
}

static enum hp_err print_head(const struct printer *p)
{
    const struct hp_comparison *c = p->c;
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_format(&text, "%sA: ", hp_text_bold(p->options->color));
    hp_strbuf_clean(&text, hp_text(p->name_a));
    hp_strbuf_add(&text, "    B: ");
    hp_strbuf_clean(&text, hp_text(p->name_b));
    hp_strbuf_format(&text, "%s\n  instructions: %s -> %s", hp_text_plain(p->options->color),
                     HP_GROUPED(c->instructions_a), HP_GROUPED(c->instructions_b));
    if (c->instructions_a > 0) {
        hp_strbuf_add(&text, " (");
        put_signed(&text, ((double)c->instructions_b / (double)c->instructions_a - 1) * 100);
        hp_strbuf_add(&text, "%)");
    }
    hp_strbuf_format(&text, "\n  overlap: blocks %s%%   edges %s%%   functions %s%%\n",
                     HP_FIXED(c->block_overlap, 1), HP_FIXED(c->edge_overlap, 1),
                     HP_FIXED(c->function_overlap, 1));
    for (size_t i = 0; i < c->n_kinds; i++) {
        hp_strbuf_add(&text, "  overlap of paths ");
        hp_strbuf_clean(&text, c->kinds[i].kind);
        hp_strbuf_format(&text, ": %s%% by executions   %s%% by instructions\n",
                         HP_FIXED(c->kinds[i].executions, 1),
                         HP_FIXED(c->kinds[i].instructions, 1));
    }
    if (c->has_loops)
        hp_strbuf_format(&text, "  overlap of loops: %s%% by instructions   %s%% by iterations\n",
                         HP_FIXED(c->loop_instructions, 1), HP_FIXED(c->loop_iterations, 1));
    fprintf(p->out, "%s\n", hp_strbuf_text(&text));
    return text.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_text(struct printer *p)
{
    HP_TRY(print_head(p));
    size_t moved = 0;
    for (size_t i = 0; i < p->n; i++)
        if (change_of(&p->moves[i]) != 0)
            p->moves[moved++] = p->moves[i];
    if (moved == 0 && (p->n || !p->c->n_moves))
        fputs("  (no function's share changed)\n", p->out);
    else if (moved)
        HP_TRY(hp_text_rows_print(&(struct hp_text_rows){.columns = columns,
                                                         .out = p->out,
                                                         .color = p->options->color,
                                                         .width = p->options->width,
                                                         .n = top_of(p, moved),
                                                         .fill = fill,
                                                         .context = p}));
    hp_print_more(p->out, moved - top_of(p, moved));
    hp_print_query_out(&p->options->query, p->c->n_moves, p->n, p->out);
    return hp_print_finish(p->out);
}

enum hp_err hp_report_comparison(const struct hp_comparison *comparison, const char *name_a,
                                 const char *name_b, const struct hp_report_options *options,
                                 FILE *out)
{
    struct printer printer HP_CLEANUP(printer_fini) = {
        .c = comparison, .name_a = name_a, .name_b = name_b, .options = options, .out = out};
    HP_TRY(choose(&printer));
    switch (options->format) {
    case HP_REPORT_TEXT: return print_text(&printer);
    case HP_REPORT_JSON: return print_json(&printer);
    case HP_REPORT_CSV: return print_csv(&printer);
    }
    return hp_fail(HP_ERR_INVALID, "no report format %d", (int)options->format);
}
