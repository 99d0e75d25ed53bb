// SPDX-License-Identifier: MIT
#include "export/optimizers/llvm_tree.h"
#include "base/bisect.h"

#include "base/grow.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Building --------------------------------------------------------------------------------- */

int hp_llvm_name_fits(const char *name)
{
    if (!name[0] || name[0] == '#' || name[0] == '!')
        return 0;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return 0;
    return 1;
}

static int same_location(struct hp_llvm_location a, struct hp_llvm_location b)
{
    return a.line == b.line && a.discriminator == b.discriminator;
}

static enum hp_err add_node(struct hp_llvm_tree *tree, uint32_t parent, struct hp_llvm_location at,
                            const char *kept, uint32_t *node)
{
    HP_TRY(hp_grow(&tree->nodes, &tree->nodes_capacity, tree->n_nodes + 1, sizeof *tree->nodes));
    *node = (uint32_t)tree->n_nodes;
    if (parent == HP_LLVM_NONE)
        HP_TRY(hp_map64_put(&tree->roots, (uint64_t)(uintptr_t)kept, *node));
    tree->nodes[tree->n_nodes++] = (struct hp_llvm_node){
        .name = kept, .parent = parent, .child = HP_LLVM_NONE, .next = HP_LLVM_NONE, .at = at};
    if (parent != HP_LLVM_NONE) {
        tree->nodes[*node].next = tree->nodes[parent].child;
        tree->nodes[parent].child = *node;
    }
    return HP_OK;
}

enum hp_err hp_llvm_tree_node(struct hp_llvm_tree *tree, uint32_t parent,
                              struct hp_llvm_location at, const char *name, uint32_t *node)
{
    const char *kept = hp_strings_add(&tree->names, name, strlen(name));
    if (!kept)
        return hp_fail_nomem();
    if (parent == HP_LLVM_NONE) {
        *node = hp_map64_get(&tree->roots, (uint64_t)(uintptr_t)kept);
        if (*node != HP_MAP64_NONE)
            return HP_OK;
        return add_node(tree, parent, (struct hp_llvm_location){0}, kept, node);
    }
    for (*node = tree->nodes[parent].child; *node != HP_LLVM_NONE; *node = tree->nodes[*node].next)
        if (tree->nodes[*node].name == kept && same_location(tree->nodes[*node].at, at))
            return HP_OK;
    return add_node(tree, parent, at, kept, node);
}

enum hp_err hp_llvm_tree_add(struct hp_llvm_tree *tree, const struct hp_llvm_entry *entry)
{
    struct hp_llvm_entry added = *entry;
    if (added.target) {
        added.target = hp_strings_add(&tree->names, entry->target, strlen(entry->target));
        if (!added.target)
            return hp_fail_nomem();
    }
    HP_TRY(hp_grow(&tree->entries, &tree->entries_capacity, tree->n_entries + 1,
                   sizeof *tree->entries));
    tree->entries[tree->n_entries++] = added;
    return HP_OK;
}

void hp_llvm_tree_fini(struct hp_llvm_tree *tree)
{
    free(tree->nodes);
    free(tree->entries);
    hp_map64_fini(&tree->roots);
    hp_strings_fini(&tree->names);
    *tree = (struct hp_llvm_tree){0};
}

/* --- Joining ---------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_locations(struct hp_llvm_location a, struct hp_llvm_location b)
{
    int order = compare_u64(a.line, b.line);
    return order ? order : compare_u64(a.discriminator, b.discriminator);
}

/* Entries of one thing together: what ran before what it called. */
static int order_things(const struct hp_llvm_entry *x, const struct hp_llvm_entry *y)
{
    int order = compare_u64(x->node, y->node);
    if (!order)
        order = order_locations(x->at, y->at);
    if (!order)
        order = compare_u64(x->target != NULL, y->target != NULL);
    if (!order && x->target)
        order = strcmp(x->target, y->target);
    return order;
}

static int order_entries(const void *a, const void *b)
{
    const struct hp_llvm_entry *x = a, *y = b;
    int order = order_things(x, y);
    return order ? order : compare_u64(x->instance, y->instance);
}

/* Joins entry `entry` to `into`, which is the same thing. `most` is the largest of its instance so
 * far. */
static void join(struct hp_llvm_entry *into, uint64_t *most, const struct hp_llvm_entry *entry)
{
    if (entry->target || entry->instance != into->instance) {
        into->count = hp_saturating_add(into->count, entry->count);
        into->instance = entry->instance;
        *most = entry->count;
    } else if (entry->count > *most) {
        into->count = hp_saturating_add(into->count, entry->count - *most);
        *most = entry->count;
    }
}

void hp_llvm_tree_finish(struct hp_llvm_tree *tree)
{
    size_t kept = 0;
    uint64_t most = 0;
    if (tree->n_entries)
        qsort(tree->entries, tree->n_entries, sizeof *tree->entries, order_entries);
    for (size_t i = 0; i < tree->n_entries; i++) {
        if (kept && order_things(&tree->entries[kept - 1], &tree->entries[i]) == 0) {
            join(&tree->entries[kept - 1], &most, &tree->entries[i]);
            continue;
        }
        tree->entries[kept++] = tree->entries[i];
        most = tree->entries[kept - 1].count;
    }
    tree->n_entries = kept;
    for (size_t i = 0; i < kept; i++) {
        struct hp_llvm_node *node = &tree->nodes[tree->entries[i].node];
        if (!tree->entries[i].target)
            node->total = hp_saturating_add(node->total, tree->entries[i].count);
    }
    /* What is inlined comes behind what it is inlined into. */
    for (size_t i = tree->n_nodes; i-- > 0;) {
        struct hp_llvm_node *node = &tree->nodes[i];
        if (node->parent != HP_LLVM_NONE)
            tree->nodes[node->parent].total =
                hp_saturating_add(tree->nodes[node->parent].total, node->total);
    }
}

/* --- Writing ---------------------------------------------------------------------------------- */

struct printer {
    const struct hp_llvm_tree *tree;
    FILE *out;
    uint32_t *order; /* nodes: those of a parent together, as they are written */
    size_t *first;   /* of each node, in `order`; of functions behind the last node */
};

static void put_location(FILE *out, int depth, struct hp_llvm_location at)
{
    fprintf(out, "%*s%" PRIu32, depth, "", at.line);
    if (at.discriminator)
        fprintf(out, ".%" PRIu32, at.discriminator);
    fputs(": ", out);
}

static const struct hp_llvm_entry *first_entry(const struct hp_llvm_tree *tree, uint32_t node)
{
    size_t low = HP_BISECT(i, 0, tree->n_entries, tree->entries[i].node < node);
    return tree->entries + low;
}

static void put_lines(const struct printer *p, uint32_t node, int depth)
{
    const struct hp_llvm_entry *end = p->tree->entries + p->tree->n_entries;
    const struct hp_llvm_entry *entry = first_entry(p->tree, node);
    while (entry < end && entry->node == node) {
        struct hp_llvm_location at = entry->at;
        put_location(p->out, depth, at);
        /* Calls of a place whose own executions are not known stand for them. */
        fprintf(p->out, "%" PRIu64, entry->count);
        for (entry += !entry->target;
             entry < end && entry->node == node && same_location(entry->at, at); entry++)
            if (entry->count)
                fprintf(p->out, " %s:%" PRIu64, entry->target, entry->count);
        putc('\n', p->out);
    }
}

static void put_node(const struct printer *p, uint32_t node, int depth)
{
    const struct hp_llvm_node *nodes = p->tree->nodes;
    put_lines(p, node, depth);
    for (size_t i = p->first[node];
         i < p->tree->n_nodes && nodes[p->order[i]].parent == node && nodes[p->order[i]].total;
         i++) {
        put_location(p->out, depth, nodes[p->order[i]].at);
        fprintf(p->out, "%s:%" PRIu64 "\n", nodes[p->order[i]].name, nodes[p->order[i]].total);
        put_node(p, p->order[i], depth + 1);
    }
}

/* By parent; what has no samples last; functions by samples, inlined ones by place. */
static int order_nodes(const void *a, const void *b, void *context)
{
    const struct hp_llvm_tree *tree = context;
    const struct hp_llvm_node *x = &tree->nodes[*(const uint32_t *)a];
    const struct hp_llvm_node *y = &tree->nodes[*(const uint32_t *)b];
    int order = compare_u64(x->parent, y->parent);
    if (!order)
        order = compare_u64(!x->total, !y->total);
    if (!order)
        order = x->parent == HP_LLVM_NONE ? compare_u64(y->total, x->total)
                                          : order_locations(x->at, y->at);
    return order ? order : strcmp(x->name, y->name);
}

static void put_functions(struct printer *p)
{
    const struct hp_llvm_tree *tree = p->tree;
    for (size_t i = 0; i < tree->n_nodes; i++)
        p->order[i] = (uint32_t)i;
    qsort_r(p->order, tree->n_nodes, sizeof *p->order, order_nodes, (void *)(uintptr_t)tree);
    for (size_t i = 0; i < tree->n_nodes; i++)
        p->first[i] = tree->n_nodes;
    size_t roots = tree->n_nodes;
    for (size_t i = tree->n_nodes; i-- > 0;) {
        uint32_t parent = tree->nodes[p->order[i]].parent;
        *(parent == HP_LLVM_NONE ? &roots : &p->first[parent]) = i;
    }
    for (size_t i = roots; i < tree->n_nodes && tree->nodes[p->order[i]].total; i++) {
        const struct hp_llvm_node *node = &tree->nodes[p->order[i]];
        fprintf(p->out, "%s:%" PRIu64 ":%" PRIu64 "\n", node->name, node->total, node->head);
        put_node(p, p->order[i], 1);
    }
}

enum hp_err hp_llvm_tree_write(const struct hp_llvm_tree *tree, FILE *out)
{
    struct printer p = {.tree = tree, .out = out};
    p.order = calloc(tree->n_nodes + 1, sizeof *p.order);
    p.first = calloc(tree->n_nodes + 1, sizeof *p.first);
    enum hp_err err = p.order && p.first ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        put_functions(&p);
    free(p.order);
    free(p.first);
    return err;
}
