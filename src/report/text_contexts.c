// SPDX-License-Identifier: MIT
/*
 * Calling contexts for people: the heavy part of the tree, each context indented below the one it was called from.
 */
#include "report/text_cells.h"
#include "report/text_regions.h"
#include "text/number.h"
#include "text/table.h"

#include <stdlib.h>

#define LEAST       0.01 /* share of a context that is shown, unless somebody says how many are */
#define DEPTH_SHOWN 30   /* deeper ones are not indented further, but numbered */

static const struct hp_column columns[] = {{"inclusive", .right = true},
                                           {"share", .right = true, .heat = true},
                                           {"self", .right = true},
                                           {"calls", .right = true},
                                           {"function", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

/* The rows as a tree: by row, index + 1, 0 none. */
struct node {
    uint32_t child, next, parent;
    uint32_t depth;
};

struct tree {
    const struct hp_tables *tables;
    const struct hp_rows *rows;
    struct node *nodes;
    uint32_t first; /* root, index + 1 */
};

/* A parent comes before its children in the rows, and the heavier child before the lighter one. */
static enum hp_err plant(struct tree *tree)
{
    const struct hp_profile *p = tree->tables->profile;
    const struct hp_rows *rows = tree->rows;
    uint32_t *row_of = calloc(p->n_contexts + 1, sizeof *row_of); /* + 1 */
    tree->nodes = calloc(rows->n + 1, sizeof *tree->nodes);
    if (!row_of || !tree->nodes) {
        free(row_of);
        return hp_fail_nomem();
    }
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t parent = p->contexts[rows->rows[i].item].parent;
        row_of[rows->rows[i].item] = i + 1;
        if (parent != HP_PROFILE_NONE && row_of[parent]) {
            tree->nodes[i].parent = row_of[parent];
            tree->nodes[i].depth = tree->nodes[row_of[parent] - 1].depth + 1;
        }
    }
    for (uint32_t i = (uint32_t)rows->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        uint32_t *list = parent ? &tree->nodes[parent - 1].child : &tree->first;
        tree->nodes[i].next = *list;
        *list = i + 1;
    }
    free(row_of);
    return HP_OK;
}

static void fill(const struct tree *tree, uint32_t i, struct hp_strbuf *cells)
{
    const struct hp_row *row = &tree->rows->rows[i];
    uint32_t function = tree->tables->profile->contexts[row->item].function;
    uint32_t depth = tree->nodes[i].depth;
    hp_strbuf_human(&cells[0], row->v[0]);
    hp_strbuf_percent(&cells[1], hp_number_share(row->v[0], tree->tables->summary.instructions));
    hp_strbuf_human(&cells[2], row->v[1]);
    hp_strbuf_human(&cells[3], row->v[2]);
    for (uint32_t k = 0; k < depth && k < DEPTH_SHOWN; k++)
        hp_strbuf_add(&cells[4], " ");
    if (depth > DEPTH_SHOWN) {
        hp_strbuf_uint(&cells[4], depth);
        hp_strbuf_add(&cells[4], ": ");
    }
    hp_put_function(tree->tables, function, &cells[4]);
}

/* Over all rows, children behind their parent. */
static void walk(const struct tree *tree, struct hp_text_table *table, bool print)
{
    uint64_t all = tree->tables->summary.instructions;
    for (uint32_t at = tree->first; at;) {
        hp_text_table_clear(table);
        fill(tree, at - 1, table->cells);
        if (print)
            hp_text_table_print(table, hp_number_share(tree->rows->rows[at - 1].v[0], all));
        else
            hp_text_table_measure(table);
        uint32_t next = tree->nodes[at - 1].child;
        while (!next && at) {
            next = tree->nodes[at - 1].next;
            at = tree->nodes[at - 1].parent;
        }
        at = next;
    }
}

static enum hp_err print_tree(const struct tree *tree, const struct hp_report_options *options,
                              FILE *out)
{
    struct hp_text_table table;
    hp_text_table_init(&table, columns, out, options->color, options->width);
    walk(tree, &table, false);
    hp_text_table_begin(&table);
    walk(tree, &table, true);
    hp_print_more(out, tree->rows->n_left_out);
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    return err;
}

/* How many rows have at least LEAST of the instructions. */
static size_t heavy(const struct hp_rows *rows, uint64_t all)
{
    size_t n = 0;
    while (n < rows->n && hp_number_share(rows->rows[n].v[0], all) >= LEAST)
        n++;
    return n ? n : 1;
}

enum hp_err hp_print_contexts(struct hp_tables *tables, const struct hp_report_options *options,
                              FILE *out)
{
    struct hp_rows rows;
    struct tree tree = {.tables = tables, .rows = &rows};
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_CONTEXTS, false));
    if (rows.n == 0) {
        fputs("  (no calling context is known: --profile exact records them)\n", out);
        hp_rows_fini(&rows);
        return HP_OK;
    }
    hp_rows_keep(&rows, tables, HP_REPORT_CONTEXTS,
                 options->top == HP_REPORT_TOP_DEFAULT ? heavy(&rows, tables->summary.instructions)
                                                       : options->top);
    enum hp_err err = plant(&tree);
    if (err == HP_OK)
        err = print_tree(&tree, options, out);
    free(tree.nodes);
    hp_rows_fini(&rows);
    return err;
}
