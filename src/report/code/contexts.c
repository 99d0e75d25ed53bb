// SPDX-License-Identifier: MIT
/*
 * Calling contexts. By inclusive instructions, then in the order of the profile, so parents come
 * before their children, also where only the first rows are kept. For people the heavy part of the
 * tree, each context indented below the one it was called from.
 */
#include "report/fields.h"
#include "report/text.h"

#include <stdlib.h>

#define LEAST       0.01 /* share of a context that is shown, unless somebody says how many are */
#define DEPTH_SHOWN 30   /* deeper ones are not indented further, but numbered */

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    (void)per_thread;
    const struct hp_profile *p = tables->profile;
    HP_TRY(hp_rows_of_items(rows, p->n_contexts));
    struct hp_row *all = rows->rows;
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *count = &p->context_counts[i];
        struct hp_row *row = &all[count->item];
        row->v[0] = row->v[1] = hp_saturating_add(row->v[1], count->self);
        row->v[2] = hp_saturating_add(row->v[2], count->calls);
    }
    for (size_t i = p->n_contexts; i-- > 0;) { /* children before their parents */
        uint32_t parent = p->contexts[i].parent;
        if (parent != HP_PROFILE_NONE)
            all[parent].v[0] = hp_saturating_add(all[parent].v[0], all[i].v[0]);
    }
    return HP_OK;
}

/* --- For scripts ------------------------------------------------------------------------------ */

static const void *function_of(const struct hp_field_input *in)
{
    const struct hp_profile *p = in->tables->profile;
    uint32_t function = p->contexts[in->row->item].function;
    return function == HP_PROFILE_NONE ? NULL : &p->functions[function];
}

static const struct hp_field_row function_row = {HP_ROW_FUNCTION, function_of, false};

static const struct hp_field fields[] = {
    {"id", "its number in this profile", .from = HP_FROM_ITEM},
    {"parent", "`id` of the context it was called from; null: a thread or a signal handler began",
     HP_COLUMN},
    {"function", "that was called", HP_COLUMN},
    {"address", "where the function begins", .of = &function_row, HP_PLACE("")},
    {"self", "instructions executed in it", HP_VALUE(1)},
    {"inclusive", "with those of contexts above it", HP_VALUE(0)},
    {"calls", "times it was entered", HP_VALUE(2)},
    {"share", "of `inclusive` in all instructions", HP_SHARE(0)},
    {0}};

/* --- For people: as a tree -------------------------------------------------------------------- */

static const struct hp_column columns[] = {{"inclusive", .right = true},
                                           {"share", .right = true, .heat = true},
                                           {"self", .right = true},
                                           {"calls", .right = true},
                                           {"function", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

/* The rows as a tree: by row, index + 1, 0 none. */
struct node {
    uint32_t child, next, parent;
};

struct tree {
    struct node *nodes;
    uint32_t first;       /* root, index + 1 */
    uint32_t *row_of;     /* by context: index + 1 */
    uint32_t *depths;     /* by context */
    struct hp_row *order; /* the rows, children behind their parent */
};

static void tree_fini(struct tree *tree)
{
    free(tree->nodes);
    free(tree->row_of);
    free(tree->depths);
    free(tree->order);
}

/* A parent comes before its children in the rows, and the heavier child before the lighter one. */
static void link_nodes(struct tree *tree, const struct hp_profile *p, const struct hp_rows *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t item = rows->rows[i].item, parent = p->contexts[item].parent;
        tree->row_of[item] = i + 1;
        if (parent != HP_PROFILE_NONE && tree->row_of[parent]) {
            tree->nodes[i].parent = tree->row_of[parent];
            tree->depths[item] = tree->depths[parent] + 1;
        }
    }
    for (uint32_t i = (uint32_t)rows->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        uint32_t *list = parent ? &tree->nodes[parent - 1].child : &tree->first;
        tree->nodes[i].next = *list;
        *list = i + 1;
    }
}

/* Puts the rows in the order of the tree. What was made stays on failure. */
static enum hp_err plant(struct tree *tree, const struct hp_profile *p, struct hp_rows *rows)
{
    tree->nodes = calloc(rows->n + 1, sizeof *tree->nodes);
    tree->order = calloc(rows->n + 1, sizeof *tree->order);
    tree->row_of = calloc(p->n_contexts + 1, sizeof *tree->row_of);
    tree->depths = calloc(p->n_contexts + 1, sizeof *tree->depths);
    if (!tree->nodes || !tree->order || !tree->row_of || !tree->depths)
        return hp_fail_nomem();
    link_nodes(tree, p, rows);
    size_t n = 0;
    for (uint32_t at = tree->first; at;) {
        tree->order[n++] = rows->rows[at - 1];
        uint32_t next = tree->nodes[at - 1].child;
        while (!next && at) {
            next = tree->nodes[at - 1].next;
            at = tree->nodes[at - 1].parent;
        }
        at = next;
    }
    memcpy(rows->rows, tree->order, n * sizeof *rows->rows);
    return HP_OK;
}

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct tree *tree = in->context;
    uint32_t depth = tree->depths[row->item];
    hp_strbuf_human(&cells[0], row->v[0]);
    double share = hp_put_share(in, row->v[0], &cells[1]);
    hp_strbuf_human(&cells[2], row->v[1]);
    hp_strbuf_human(&cells[3], row->v[2]);
    for (uint32_t k = 0; k < depth && k < DEPTH_SHOWN; k++)
        hp_strbuf_add(&cells[4], " ");
    if (depth > DEPTH_SHOWN) {
        hp_strbuf_uint(&cells[4], depth);
        hp_strbuf_add(&cells[4], ": ");
    }
    hp_put_function(in->tables, in->tables->profile->contexts[row->item].function, &cells[4]);
    return share;
}

/* How many rows have at least LEAST of the instructions. */
static size_t heavy(const struct hp_rows *rows, uint64_t all)
{
    size_t n = 0;
    while (n < rows->n && hp_number_share(rows->rows[n].v[0], all) >= LEAST)
        n++;
    return n ? n : 1;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    uint64_t all = text->tables->summary.instructions;
    struct tree tree = {0};
    struct hp_text with = *text;
    with.context = &tree;
    if (text->options->top == HP_REPORT_TOP_DEFAULT)
        limit = heavy(rows, all);
    hp_rows_keep(rows, text->tables, &hp_view_contexts, limit);
    enum hp_err err = plant(&tree, text->tables->profile, rows);
    if (err == HP_OK)
        err = hp_print_rows(&with, &hp_view_contexts, NULL, rows, NULL);
    hp_print_more(text->out, rows->n_left_out);
    tree_fini(&tree);
    return err;
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_contexts > 0;
}

const struct hp_view hp_view_contexts = {
    .name = "contexts",
    .help = "who called whom, as a tree",
    .title = "Contexts",
    .each = "calling context: a function, and who called whom up to it",
    .order = "`inclusive`, then `id`; text: as a tree",
    .empty = "no calling context is known: --profile exact records them",
    .lines = HP_LINES_NONE,
    .is_there = is_there,
    .item = HP_ROW_CONTEXT,
    .make = make,
    .fields = fields,
    .columns = columns,
    .fill = fill,
    .print = print,
};
