// SPDX-License-Identifier: MIT
/*
 * Calling contexts. By inclusive instructions, then in the order of the profile, so parents come
 * before their children, also where only the first rows are kept. For people the heavy part of the
 * tree, each context indented below the one it was called from.
 */
#include "base/base.h"
#include "report/fields.h"
#include "report/text.h"

#define LEAST       0.01 /* share of a context that is shown, unless somebody says how many are */
#define DEPTH_SHOWN 30   /* deeper ones are not indented further, but numbered */

/* v[0], which is that of the context alone, gets what those called from it have, too. */
static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    for (size_t i = rows->n; i-- > 0;) { /* children before their parents */
        uint32_t parent = tables->profile->contexts[i].parent;
        if (parent != HP_PROFILE_NONE)
            hp_add_up(&rows->rows[parent].v[0], rows->rows[i].v[0]);
    }
    return HP_OK;
}

static const struct hp_field fields[] = {
    {"id", "its number in this profile", .from = HP_FROM_ITEM},
    {"parent", "`id` of the context it was called from; null: a thread or a signal handler began",
     HP_COLUMN},
    {"function", "that was called", HP_COLUMN},
    {"address", "where the function begins", HP_NAMED("function"), .as = HP_AS_PLACE},
    {"self", "instructions executed in it", HP_VALUE(1)},
    {"inclusive", "with those of contexts above it", HP_VALUE(0)},
    {"calls", "times it was entered", HP_VALUE(2)},
    {"share", "of `inclusive` in all instructions", HP_SHARE(0)},
    {0}};

/* A row in the tree; 0 stands above all. */
struct node {
    uint32_t parent; /* from 1 */
    uint32_t size;   /* rows below it, and itself */
    uint32_t next;   /* where its next child goes */
};

/* Puts the rows, a parent before its children and the heavier child first, in the order of the
 * tree: each is followed by those below it. `depths` by context. */
static enum hp_err plant(const struct hp_profile *p, struct hp_rows *rows, uint32_t *depths)
{
    struct hp_row *old HP_CLEANUP(hp_free) = calloc(rows->n + 1, sizeof *old);
    struct node *nodes HP_CLEANUP(hp_free) = calloc(rows->n + 1, sizeof *nodes);
    uint32_t *row_of HP_CLEANUP(hp_free) = calloc(p->n_contexts + 1, sizeof *row_of);
    if (!old || !nodes || !row_of)
        return hp_fail_nomem();
    memcpy(old, rows->rows, rows->n * sizeof *old);
    for (uint32_t i = 1; i <= rows->n; i++) {
        uint32_t item = old[i - 1].item, parent = p->contexts[item].parent;
        row_of[item] = i;
        nodes[i].parent = parent == HP_PROFILE_NONE ? 0 : row_of[parent];
        depths[item] = nodes[i].parent ? depths[parent] + 1 : 0;
    }
    for (size_t i = rows->n; i > 0; i--)
        nodes[nodes[i].parent].size += ++nodes[i].size;
    for (size_t i = 1; i <= rows->n; i++) {
        uint32_t *next = &nodes[nodes[i].parent].next;
        rows->rows[*next] = old[i - 1];
        nodes[i].next = *next + 1;
        *next += nodes[i].size;
    }
    return HP_OK;
}

static void put_function(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    uint32_t depth = ((const uint32_t *)in->context)[row->item];
    hp_strbuf_format(cell, "%*s", (int)(depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN), "");
    if (depth > DEPTH_SHOWN)
        hp_strbuf_format(cell, "%u: ", depth);
    hp_put_function(in->tables, in->tables->profile->contexts[row->item].function, cell);
}

static const struct hp_column columns[] = {
    {"inclusive", .right = true},
    {"share", .right = true, .heat = true},
    {"self", .right = true},
    {"calls", .right = true},
    {"function", .put = put_function, .flexible = true, .cut = HP_CUT_NAME},
    {0}};

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    const struct hp_tables *tables = text->tables;
    struct hp_text with = *text;
    uint32_t *depths HP_CLEANUP(hp_free) = NULL;
    struct hp_strbuf beyond HP_CLEANUP(hp_strbuf_fini) = {0};
    HP_TRY(hp_new(&depths, tables->profile->n_contexts + 1, sizeof *depths));
    if (text->options->top == HP_REPORT_TOP_DEFAULT && !tables->query)
        for (limit = 1; limit < rows->n && hp_number_share(rows->rows[limit].v[0],
                                                           tables->summary.instructions) >= LEAST;)
            limit++;
    hp_rows_keep(rows, limit);
    if (!rows->sorted) /* else they are a list */
        HP_TRY(plant(tables->profile, rows, depths));
    with.context = depths;
    HP_TRY(hp_print_rows(&with, &hp_view_contexts, NULL, rows));
    hp_print_more(text->out, rows->n_left_out);
    hp_put_contexts_beyond(&tables->summary, &beyond);
    if (beyond.length)
        fprintf(text->out, "  %s\n", hp_strbuf_text(&beyond));
    return beyond.failed ? hp_fail_nomem() : HP_OK;
}

const struct hp_view hp_view_contexts = {
    .name = "contexts",
    .help = "who called whom, as a tree",
    .title = "Contexts",
    .each = "calling context: a function, and who called whom up to it",
    .order = "`inclusive`, then `id`; text: as a tree",
    .empty = "no calling context is known: --profile exact records them",
    .lines = HP_LINES_FUNCTIONS,
    .there = {HP_ROW_CONTEXT},
    .item = HP_ROW_CONTEXT,
    .counter = HP_ROW_CONTEXT_COUNT,
    .values = {"self", "self", "calls"},
    .make = make,
    .fields = fields,
    .columns = columns,
    .print = print,
};
