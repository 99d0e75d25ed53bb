// SPDX-License-Identifier: MIT
/*
 * What the code says: which functions are inlined into which, how often their instructions were
 * executed and they were entered, and from which of them other functions are called.
 */
#include "base/base.h"
#include "base/cleanup.h"
#include "profile/unfold.h"
#include "profile/unfold_impl.h"

#define NONE HP_PROFILE_NONE

/* A node at one place: a copy of the function. */
struct copy {
    uint32_t node;
    uint32_t around; /* the copy that it is inlined into; NONE: the function that has the code */
    uint64_t entry;  /* offset of its first instruction */
};

/* Bytes of a block that belong to a copy. */
struct part {
    uint32_t block, copy;
    uint32_t from, to, insns;
};

/* The same by place. */
struct span {
    struct hp_place low;
    uint64_t high;
    uint32_t copy;
};

/* The last instruction of a block of a function that others are inlined into. */
struct end {
    struct hp_place place;
    uint32_t function;
};

struct code {
    struct hp_unfold *u;
    struct hp_map64 functions; /* inlined << 32 | module: function */
    struct hp_map64 nodes;     /* parent << 32 | function: node */
    struct hp_map64 copies;    /* node << 32 | lower half of the entry: copy */
    struct hp_map64 sites;     /* node << 32 | callee: site */
    uint32_t *by_name[2];      /* functions with code by module and linkage name, and name */
    struct copy *all;
    struct part *parts;   /* by block */
    struct span *spans;   /* by place */
    struct end *ends;     /* by place */
    struct span *entries; /* of one byte each, by place */
    size_t n_copies, cap_copies, n_parts, cap_parts, n_ends;
};

static void code_fini(struct code *c)
{
    hp_map64_fini(&c->functions);
    hp_map64_fini(&c->nodes);
    hp_map64_fini(&c->copies);
    hp_map64_fini(&c->sites);
    free(c->by_name[0]);
    free(c->by_name[1]);
    free(c->all);
    free(c->parts);
    free(c->spans);
    free(c->ends);
    free(c->entries);
}

static int compare_places(struct hp_place a, struct hp_place b)
{
    return HP_COMPARE(a.module, b.module) ?: HP_COMPARE(a.offset, b.offset);
}

static uint64_t key_of(uint32_t high, uint64_t low)
{
    return (uint64_t)high << 32 | (uint32_t)low;
}

/* --- Functions -------------------------------------------------------------------------------- */

static const char *name_of(const struct hp_pfunction *function, bool linkage)
{
    return hp_text(linkage ? function->linkage : function->name);
}

struct by_name {
    const struct hp_profile *profile;
    bool linkage;
};

static int compare_names(const void *a, const void *b, void *context)
{
    const struct by_name *by = context;
    const struct hp_pfunction *x = &by->profile->functions[*(const uint32_t *)a];
    const struct hp_pfunction *y = &by->profile->functions[*(const uint32_t *)b];
    return HP_COMPARE(x->place.module, y->place.module)
               ?: strcmp(name_of(x, by->linkage), name_of(y, by->linkage))
                      ?: HP_COMPARE(x->place.offset, y->place.offset);
}

static enum hp_err sort_names(struct code *c)
{
    size_t n = c->u->n_functions;
    for (int linkage = 0; linkage < 2; linkage++) {
        struct by_name by = {c->u->p, linkage};
        HP_TRY(hp_new(&c->by_name[linkage], n + 1, sizeof **c->by_name));
        for (uint32_t i = 0; i < n; i++)
            c->by_name[linkage][i] = i;
        qsort_r(c->by_name[linkage], n, sizeof **c->by_name, compare_names, &by);
    }
    return HP_OK;
}

/* The name, or with parameters behind it: C++ functions of one file have no linkage name in the
 * debug information. */
static bool is_named(const char *name, const char *meant, bool whole)
{
    size_t n = strlen(meant);
    return whole ? strcmp(name, meant) == 0 : strncmp(name, meant, n) == 0 && name[n] == '(';
}

/* A function with code of that name, declared in the file, if both are known. */
static uint32_t find_named(const struct code *c, uint32_t module, const struct hp_pinlined *inlined,
                           bool linkage, bool whole)
{
    const struct hp_pfunction *functions = c->u->p->functions;
    const uint32_t *order = c->by_name[linkage];
    const char *name = hp_text(linkage ? inlined->linkage : inlined->name);
    size_t n = c->u->n_functions;
    if (!*name)
        return NONE;
    size_t at = HP_BISECT(i, 0, n,
                          functions[order[i]].place.module < module ||
                              (functions[order[i]].place.module == module &&
                               strcmp(name_of(&functions[order[i]], linkage), name) < 0));
    /* Longer names with the same beginning follow it: those with "(" before most others. */
    for (; at < n && functions[order[at]].place.module == module; at++) {
        const struct hp_pfunction *f = &functions[order[at]];
        if (strncmp(name_of(f, linkage), name, strlen(name) + whole) != 0)
            break;
        if (is_named(name_of(f, linkage), name, whole) &&
            (!*hp_text(f->file) || !*hp_text(inlined->file) ||
             hp_compare_text(f->file, inlined->file) == 0))
            return order[at];
    }
    return NONE;
}

static enum hp_err add_function(struct code *c, uint32_t module, const struct hp_pinlined *inlined,
                                uint32_t *function)
{
    struct hp_profile *p = c->u->p;
    struct hp_pfunction *row;
    *function = (uint32_t)p->n_functions;
    HP_TRY(hp_profile_add_function(p, &row));
    *row = (struct hp_pfunction){
        .place = {module, HP_PROFILE_INLINED + (*function - c->u->n_functions)},
        .name = inlined->name,
        .linkage = inlined->linkage,
        .file = inlined->file,
        .line = inlined->line};
    return HP_OK;
}

/* NONE: there is none that is the inlined one. */
static uint32_t find_same(const struct code *c, uint32_t module, const struct hp_pinlined *inlined)
{
    uint32_t function = find_named(c, module, inlined, true, true);
    if (function == NONE)
        function = find_named(c, module, inlined, false, true);
    return function == NONE ? find_named(c, module, inlined, false, false) : function;
}

static enum hp_err find_function(struct code *c, uint32_t inlined, uint32_t module,
                                 uint32_t *function)
{
    const struct hp_pinlined *it = &c->u->p->inlined[inlined];
    uint64_t key = key_of(inlined, module);
    *function = hp_map64_get(&c->functions, key);
    if (*function != HP_MAP64_NONE)
        return HP_OK;
    *function = find_same(c, module, it);
    if (*function == NONE)
        HP_TRY(add_function(c, module, it, function));
    return hp_map64_put(&c->functions, key, *function);
}

enum hp_err hp_profile_inlined_functions(const struct hp_profile *p, uint32_t **functions)
{
    struct hp_profile view = *p; /* it is only read */
    struct hp_unfold u = {.p = &view, .n_functions = p->n_functions};
    struct code c HP_CLEANUP(code_fini) = {.u = &u};
    HP_TRY(hp_new(functions, p->n_inlined_ranges + 1, sizeof **functions));
    HP_TRY(sort_names(&c));
    for (size_t i = 0; i < p->n_inlined_ranges; i++) {
        const struct hp_pinlined_range *range = &p->inlined_ranges[i];
        uint32_t module = p->blocks[range->block].place.module;
        uint64_t key = key_of(range->inlined, module);
        (*functions)[i] = hp_map64_get(&c.functions, key);
        if ((*functions)[i] != HP_MAP64_NONE)
            continue;
        (*functions)[i] = find_same(&c, module, &p->inlined[range->inlined]);
        if ((*functions)[i] != NONE)
            HP_TRY(hp_map64_put(&c.functions, key, (*functions)[i]));
    }
    return HP_OK;
}

/* --- The tree --------------------------------------------------------------------------------- */

static enum hp_err add_node(struct code *c, struct hp_unfold_node node, uint32_t *index)
{
    struct hp_unfold *u = c->u;
    HP_TRY(hp_grow(&u->nodes, &u->cap_nodes, u->n_nodes + 1, sizeof *u->nodes));
    *index = (uint32_t)u->n_nodes;
    u->nodes[u->n_nodes++] = node;
    return HP_OK;
}

static enum hp_err find_root(struct code *c, uint32_t function, uint32_t *root)
{
    struct hp_unfold *u = c->u;
    *root = u->roots[function];
    if (*root != NONE)
        return HP_OK;
    HP_TRY(add_node(c, (struct hp_unfold_node){function, NONE, function, NONE}, root));
    u->roots[function] = *root;
    return HP_OK;
}

static enum hp_err find_node(struct code *c, uint32_t parent, uint32_t function, uint32_t *node)
{
    struct hp_unfold *u = c->u;
    uint64_t key = key_of(parent, function);
    uint32_t owner = u->nodes[parent].owner;
    *node = hp_map64_get(&c->nodes, key);
    if (*node != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(add_node(c, (struct hp_unfold_node){function, parent, owner, u->first[owner]}, node));
    u->first[owner] = *node;
    return hp_map64_put(&c->nodes, key, *node);
}

static enum hp_err find_copy(struct code *c, uint32_t node, uint64_t entry, uint32_t around,
                             uint32_t *copy)
{
    uint64_t key = key_of(node, entry);
    *copy = hp_map64_get(&c->copies, key);
    if (*copy != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&c->all, &c->cap_copies, c->n_copies + 1, sizeof *c->all));
    *copy = (uint32_t)c->n_copies;
    c->all[c->n_copies++] = (struct copy){node, around, entry};
    return hp_map64_put(&c->copies, key, *copy);
}

static bool same_range(const struct hp_pinlined_range *a, const struct hp_pinlined_range *b)
{
    return a->block == b->block && a->from == b->from && a->to == b->to;
}

/* The rows of one range, `n` of them: functions inlined into each other. */
static enum hp_err add_part(struct code *c, const struct hp_pinlined_range *ranges, size_t n)
{
    const struct hp_pblock *block = &c->u->p->blocks[ranges->block];
    uint32_t node, copy = NONE;
    if (block->function == NONE || block->place.module == NONE)
        return HP_OK;
    HP_TRY(find_root(c, block->function, &node));
    for (size_t i = 0; i < n && ranges[i].depth == i + 1; i++) {
        uint32_t function;
        HP_TRY(find_function(c, ranges[i].inlined, block->place.module, &function));
        HP_TRY(find_node(c, node, function, &node));
        HP_TRY(find_copy(c, node, ranges[i].entry, copy, &copy));
    }
    if (copy == NONE)
        return HP_OK;
    HP_TRY(hp_grow(&c->parts, &c->cap_parts, c->n_parts + 1, sizeof *c->parts));
    c->parts[c->n_parts++] =
        (struct part){ranges->block, copy, ranges->from, ranges->to, ranges->insns};
    return HP_OK;
}

static enum hp_err make_tree(struct code *c)
{
    const struct hp_profile *p = c->u->p;
    for (size_t i = 0, n; i < p->n_inlined_ranges; i += n) {
        const struct hp_pinlined_range *ranges = &p->inlined_ranges[i];
        for (n = 1; i + n < p->n_inlined_ranges && same_range(&ranges[n], ranges);)
            n++;
        HP_TRY(add_part(c, ranges, n));
    }
    return HP_OK;
}

/* --- By place --------------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return compare_places(x->low, y->low) ?: HP_COMPARE(x->high, y->high);
}

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return compare_places(x->place, y->place);
}

static enum hp_err sort_places(struct code *c)
{
    const struct hp_profile *p = c->u->p;
    HP_TRY(hp_new(&c->spans, c->n_parts + 1, sizeof *c->spans));
    HP_TRY(hp_new(&c->ends, p->n_blocks + 1, sizeof *c->ends));
    HP_TRY(hp_new(&c->entries, c->n_copies + 1, sizeof *c->entries));
    for (uint32_t i = 0; i < c->n_copies; i++) {
        uint32_t owner = c->u->nodes[c->all[i].node].owner;
        struct hp_place place = {p->functions[owner].place.module, c->all[i].entry};
        c->entries[i] = (struct span){place, place.offset, i};
    }
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct part *part = &c->parts[i];
        struct hp_place place = p->blocks[part->block].place;
        c->spans[i] = (struct span){
            {place.module, place.offset + part->from}, place.offset + part->to, part->copy};
    }
    for (size_t i = 0; i < p->n_blocks; i++) {
        const struct hp_pblock *b = &p->blocks[i];
        if (b->function != NONE && c->u->roots[b->function] != NONE)
            c->ends[c->n_ends++] =
                (struct end){{b->place.module, b->place.offset + b->branch}, b->function};
    }
    qsort(c->spans, c->n_parts, sizeof *c->spans, compare_spans);
    if (c->n_copies)
        qsort(c->entries, c->n_copies, sizeof *c->entries, compare_spans);
    if (c->n_ends)
        qsort(c->ends, c->n_ends, sizeof *c->ends, compare_ends);
    return HP_OK;
}

/* The innermost copy at a place. */
static uint32_t copy_at(const struct code *c, struct hp_place place)
{
    size_t behind = HP_BISECT(i, 0, c->n_parts, compare_places(c->spans[i].low, place) <= 0);
    const struct span *span = behind ? &c->spans[behind - 1] : NULL;
    return span && span->low.module == place.module && place.offset < span->high ? span->copy
                                                                                 : NONE;
}

static uint32_t function_that_ends(const struct code *c, struct hp_place place)
{
    size_t n = c->n_ends;
    size_t at = HP_BISECT(i, 0, n, compare_places(c->ends[i].place, place) < 0);
    return at < n && compare_places(c->ends[at].place, place) == 0 ? c->ends[at].function : NONE;
}

/* The block that starts at a place; NULL: none. */
static const struct hp_pblock *block_at(const struct code *c, struct hp_place place)
{
    const struct hp_pblock *blocks = c->u->p->blocks;
    size_t n = c->u->p->n_blocks;
    size_t at = HP_BISECT(i, 0, n, compare_places(blocks[i].place, place) < 0);
    return at < n && compare_places(blocks[at].place, place) == 0 ? &blocks[at] : NULL;
}

/* The copies that are entered in a block: the first of `*n`. */
static const struct span *entries_in(const struct code *c, const struct hp_pblock *block, size_t *n)
{
    struct hp_place end = {block->place.module, block->place.offset + block->size};
    size_t at = HP_BISECT(i, 0, c->n_copies, compare_places(c->entries[i].low, block->place) < 0);
    for (*n = 0; at + *n < c->n_copies && compare_places(c->entries[at + *n].low, end) < 0;)
        ++*n;
    return &c->entries[at];
}

/* --- Counts ----------------------------------------------------------------------------------- */

static enum hp_err make_cell(struct hp_unfold *u, uint32_t node, uint32_t thread,
                             struct hp_unfold_cell **cell)
{
    uint64_t key = key_of(node, thread);
    uint32_t index = hp_map64_get(&u->cell_at, key);
    if (index == HP_MAP64_NONE) {
        index = (uint32_t)u->n_cells;
        HP_TRY(hp_grow(&u->cells, &u->cap_cells, u->n_cells + 1, sizeof *u->cells));
        HP_TRY(hp_map64_put(&u->cell_at, key, index));
        u->cells[u->n_cells++] = (struct hp_unfold_cell){.node = node, .thread = thread};
    }
    *cell = &u->cells[index];
    return HP_OK;
}

static enum hp_err count_entries(struct code *c, const struct hp_pcount *count)
{
    struct hp_unfold_cell *cell;
    size_t n;
    const struct span *entries = entries_in(c, &c->u->p->blocks[count->item], &n);
    for (size_t i = 0; i < n; i++) {
        HP_TRY(make_cell(c->u, c->all[entries[i].copy].node, count->thread, &cell));
        hp_add_up(&cell->entries, count->count);
    }
    return HP_OK;
}

static enum hp_err count_parts(struct code *c)
{
    const struct hp_profile *p = c->u->p;
    struct hp_unfold_cell *cell;
    size_t part = 0; /* counters are by block, too */
    for (size_t i = 0; i < p->n_block_counts; i++) {
        const struct hp_pcount *count = &p->block_counts[i];
        HP_TRY(count_entries(c, count));
        while (part < c->n_parts && c->parts[part].block < count->item)
            part++;
        for (size_t k = part; k < c->n_parts && c->parts[k].block == count->item; k++) {
            HP_TRY(make_cell(c->u, c->all[c->parts[k].copy].node, count->thread, &cell));
            hp_add_up(&cell->self, hp_saturating_mul(count->count, c->parts[k].insns));
        }
    }
    return HP_OK;
}

static bool is_within(const struct code *c, uint32_t copy, uint32_t around)
{
    while (copy != NONE && copy != around)
        copy = c->all[copy].around;
    return copy != NONE;
}

/* Who comes to the first instruction from the same copy does not enter it. */
static void leave_out_repeats(struct code *c)
{
    const struct hp_profile *p = c->u->p;
    for (size_t i = 0; i < p->n_edge_counts; i++) {
        const struct hp_pcount *count = &p->edge_counts[i];
        const struct hp_pedge *edge = &p->edges[count->item];
        uint32_t from = copy_at(c, edge->from);
        const struct hp_pblock *block = from != NONE ? block_at(c, edge->to) : NULL;
        size_t n;
        if (!block)
            continue;
        const struct span *entries = entries_in(c, block, &n);
        for (size_t k = 0; k < n; k++) {
            uint32_t copy = entries[k].copy;
            bool inside = entries[k].low.offset == edge->to.offset ||
                          is_within(c, copy_at(c, edge->to), copy);
            struct hp_unfold_cell *cell =
                hp_unfold_find_cell(c->u, c->all[copy].node, count->thread);
            if (cell && inside && is_within(c, from, copy))
                cell->entries -= count->count < cell->entries ? count->count : cell->entries;
        }
    }
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* The function that an edge calls; NONE: it is no call. */
static uint32_t called_by(const struct code *c, const struct hp_pedge *edge, uint32_t caller)
{
    const struct hp_pblock *block = block_at(c, edge->to);
    uint32_t callee = block ? block->function : NONE;
    if (edge->flow == HP_FLOW_CALL || edge->flow == HP_FLOW_CALL_IND)
        return callee;
    bool jump = edge->flow == HP_FLOW_JUMP || edge->flow == HP_FLOW_COND ||
                edge->flow == HP_FLOW_JUMP_IND || edge->flow == HP_FLOW_NONE;
    return jump && callee != caller ? callee : NONE;
}

/* The node that an edge calls from, and what it calls; false: it is no call, or of no function that
 * others are inlined into. */
static bool find_call(const struct code *c, const struct hp_pedge *edge, uint32_t *node,
                      uint32_t *callee)
{
    uint32_t caller = function_that_ends(c, edge->from);
    if (caller == NONE)
        return false;
    uint32_t copy = copy_at(c, edge->from);
    *callee = called_by(c, edge, caller);
    *node = copy == NONE ? c->u->roots[caller] : c->all[copy].node;
    return *callee != NONE;
}

static enum hp_err add_site(struct code *c, uint32_t node, uint32_t callee, uint64_t count)
{
    struct hp_unfold *u = c->u;
    uint32_t index = hp_map64_get(&c->sites, key_of(node, callee));
    if (index == HP_MAP64_NONE) {
        index = (uint32_t)u->n_sites;
        HP_TRY(hp_grow(&u->sites, &u->cap_sites, u->n_sites + 1, sizeof *u->sites));
        HP_TRY(hp_map64_put(&c->sites, key_of(node, callee), index));
        u->sites[u->n_sites++] =
            (struct hp_unfold_site){.caller = u->nodes[node].owner, .callee = callee, .node = node};
    }
    hp_add_up(&u->sites[index].count, count);
    return HP_OK;
}

static int compare_sites(const void *a, const void *b)
{
    const struct hp_unfold_site *x = a, *y = b;
    return HP_COMPARE(x->caller, y->caller)
               ?: HP_COMPARE(x->callee, y->callee)
                      ?: HP_COMPARE(y->count, x->count) ?: HP_COMPARE(x->node, y->node);
}

/* Of all threads first, to put them in order; then by thread. */
static enum hp_err find_sites(struct code *c)
{
    struct hp_unfold *u = c->u;
    const struct hp_profile *p = u->p;
    struct hp_unfold_change *change;
    uint32_t node, callee;
    for (size_t i = 0; i < p->n_edge_counts; i++)
        if (find_call(c, &p->edges[p->edge_counts[i].item], &node, &callee))
            HP_TRY(add_site(c, node, callee, p->edge_counts[i].count));
    if (u->n_sites)
        qsort(u->sites, u->n_sites, sizeof *u->sites, compare_sites);
    for (uint32_t i = 0; i < u->n_sites; i++)
        HP_TRY(hp_map64_put(&c->sites, key_of(u->sites[i].node, u->sites[i].callee), i));
    for (size_t i = 0; i < p->n_edge_counts; i++) {
        const struct hp_pcount *count = &p->edge_counts[i];
        if (!find_call(c, &p->edges[count->item], &node, &callee))
            continue;
        uint32_t site = hp_map64_get(&c->sites, key_of(node, callee));
        HP_TRY(hp_unfold_change(&u->site_counts, site, count->thread, &change));
        hp_add_up(&change->calls, count->count);
    }
    return HP_OK;
}

enum hp_err hp_unfold_code(struct hp_unfold *u)
{
    struct code c HP_CLEANUP(code_fini) = {.u = u};
    HP_TRY(sort_names(&c));
    HP_TRY(make_tree(&c));
    HP_TRY(sort_places(&c));
    HP_TRY(count_parts(&c));
    leave_out_repeats(&c);
    return find_sites(&c);
}
