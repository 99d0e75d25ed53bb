// SPDX-License-Identifier: MIT
#include "export/optimizers/llvm_tree.h"

#include "base/base.h"
#include "text/number.h"

/* --- Building --------------------------------------------------------------------------------- */

bool hp_llvm_name_fits(const char *name)
{
    if (!name[0] || name[0] == '#' || name[0] == '!')
        return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return true;
}

static int order_locations(struct hp_llvm_location a, struct hp_llvm_location b)
{
    return HP_COMPARE(a.line, b.line) ?: HP_COMPARE(a.discriminator, b.discriminator);
}

enum hp_err hp_llvm_tree_node(struct hp_llvm_tree *tree, uint32_t parent,
                              struct hp_llvm_location at, const char *name, uint32_t *node)
{
    const char *kept = hp_strings_add(&tree->names, name, strlen(name));
    if (!kept)
        return hp_fail_nomem();
    if (parent == HP_LLVM_NONE)
        at = (struct hp_llvm_location){0};
    uint64_t place = (uint64_t)parent << 32 | (at.line ^ at.discriminator << 16);
    uint64_t key = hp_hash64(place) + (uint64_t)(uintptr_t)kept;
    for (; (*node = hp_map64_get(&tree->index, key)) != HP_MAP64_NONE; key++) {
        const struct hp_llvm_node *other = &tree->nodes[*node];
        if (other->name == kept && other->parent == parent && order_locations(other->at, at) == 0)
            return HP_OK;
    }
    HP_TRY(hp_grow(&tree->nodes, &tree->nodes_capacity, tree->n_nodes + 1, sizeof *tree->nodes));
    *node = (uint32_t)tree->n_nodes;
    HP_TRY(hp_map64_put(&tree->index, key, *node));
    tree->nodes[tree->n_nodes++] = (struct hp_llvm_node){.name = kept, .parent = parent, .at = at};
    return HP_OK;
}

enum hp_err hp_llvm_tree_add(struct hp_llvm_tree *tree, const struct hp_llvm_entry *entry)
{
    HP_TRY(hp_grow(&tree->entries, &tree->entries_capacity, tree->n_entries + 1,
                   sizeof *tree->entries));
    tree->entries[tree->n_entries++] = *entry;
    return HP_OK;
}

void hp_llvm_tree_fini(struct hp_llvm_tree *tree)
{
    free(tree->nodes);
    free(tree->entries);
    hp_map64_fini(&tree->index);
    hp_strings_fini(&tree->names);
}

/* --- Joining ---------------------------------------------------------------------------------- */

/* Entries of one thing together: what ran before what it called. */
static int order_things(const struct hp_llvm_entry *x, const struct hp_llvm_entry *y)
{
    return HP_COMPARE(x->node, y->node)
           ?: order_locations(x->at, y->at)
           ?: HP_COMPARE(x->target != NULL, y->target != NULL)
           ?: (x->target ? strcmp(x->target, y->target) : 0);
}

/* Of an instance the most often executed first. */
static int order_entries(const void *a, const void *b)
{
    const struct hp_llvm_entry *x = a, *y = b;
    return order_things(x, y)
           ?: HP_COMPARE(x->instance, y->instance)
           ?: HP_COMPARE(y->count, x->count);
}

static void join_entries(struct hp_llvm_tree *tree)
{
    struct hp_llvm_entry *entries = tree->entries;
    size_t kept = 0;
    hp_sort(entries, tree->n_entries, sizeof *entries, order_entries);
    for (size_t i = 0; i < tree->n_entries; i++) {
        struct hp_llvm_entry *last = &entries[kept - (kept > 0)];
        if (!kept || order_things(last, &entries[i]) != 0) {
            entries[kept++] = entries[i];
        } else if (entries[i].target || entries[i].instance != last->instance) {
            hp_add_up(&last->count, entries[i].count);
            last->instance = entries[i].instance;
        }
    }
    tree->n_entries = kept;
}

static void add_totals(struct hp_llvm_tree *tree)
{
    for (size_t i = 0; i < tree->n_entries; i++)
        if (!tree->entries[i].target)
            hp_add_up(&tree->nodes[tree->entries[i].node].total, tree->entries[i].count);
    /* What is inlined comes behind what it is inlined into. */
    for (size_t i = tree->n_nodes; i-- > 0;)
        if (tree->nodes[i].parent != HP_LLVM_NONE)
            hp_add_up(&tree->nodes[tree->nodes[i].parent].total, tree->nodes[i].total);
}

/* --- Writing ---------------------------------------------------------------------------------- */

struct printer {
    const struct hp_llvm_tree *tree;
    FILE *out;
    uint32_t *order; /* nodes: those of a parent together, as they are written */
};

static void put_location(FILE *out, int depth, struct hp_llvm_location at)
{
    fprintf(out, "%*s%" PRIu32, depth, "", at.line);
    if (at.discriminator)
        fprintf(out, ".%" PRIu32, at.discriminator);
    fputs(": ", out);
}

static void put_lines(const struct printer *p, uint32_t node, int depth)
{
    const struct hp_llvm_tree *tree = p->tree;
    const struct hp_llvm_entry *end = tree->entries + tree->n_entries;
    const struct hp_llvm_entry *entry =
        tree->entries + HP_BISECT(i, 0, tree->n_entries, tree->entries[i].node < node);
    while (entry < end && entry->node == node) {
        struct hp_llvm_location at = entry->at;
        put_location(p->out, depth, at);
        /* Calls of a place whose own executions are not known stand for them. */
        fprintf(p->out, "%" PRIu64, entry->count);
        for (entry += !entry->target;
             entry < end && entry->node == node && order_locations(entry->at, at) == 0; entry++)
            if (entry->count)
                fprintf(p->out, " %s:%" PRIu64, entry->target, entry->count);
        putc('\n', p->out);
    }
}

/* The functions that were inlined into one, or (HP_LLVM_NONE) those that were not. */
static void put_nodes(const struct printer *p, uint32_t parent, int depth)
{
    const struct hp_llvm_node *nodes = p->tree->nodes;
    size_t n = p->tree->n_nodes;
    for (size_t i = HP_BISECT(i, 0, n, nodes[p->order[i]].parent < parent); i < n; i++) {
        const struct hp_llvm_node *node = &nodes[p->order[i]];
        if (node->parent != parent || !node->total)
            break;
        if (parent != HP_LLVM_NONE)
            put_location(p->out, depth, node->at);
        fprintf(p->out, "%s:%" PRIu64, node->name, node->total);
        if (parent == HP_LLVM_NONE)
            fprintf(p->out, ":%" PRIu64, node->head);
        putc('\n', p->out);
        put_lines(p, p->order[i], depth + 1);
        put_nodes(p, p->order[i], depth + 1);
    }
}

/* By parent; what has no samples last; functions by samples, inlined ones by place. */
static int order_nodes(const void *a, const void *b, void *context)
{
    const struct hp_llvm_tree *tree = context;
    const struct hp_llvm_node *x = &tree->nodes[*(const uint32_t *)a];
    const struct hp_llvm_node *y = &tree->nodes[*(const uint32_t *)b];
    return HP_COMPARE(x->parent, y->parent)
           ?: HP_COMPARE(!x->total, !y->total)
           ?: (x->parent == HP_LLVM_NONE ? HP_COMPARE(y->total, x->total)
                                         : order_locations(x->at, y->at))
           ?: strcmp(x->name, y->name);
}

enum hp_err hp_llvm_tree_write(struct hp_llvm_tree *tree, FILE *out)
{
    uint32_t *order HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&order, tree->n_nodes, sizeof *order));
    join_entries(tree);
    add_totals(tree);
    for (size_t i = 0; i < tree->n_nodes; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, tree->n_nodes, sizeof *order, order_nodes, tree);
    put_nodes(&(struct printer){tree, out, order}, HP_LLVM_NONE, 0);
    return HP_OK;
}
