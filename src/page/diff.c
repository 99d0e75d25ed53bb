// SPDX-License-Identifier: MIT
/* The data of two profiles compared: what `hotpath diff --json` says, and the contexts of both. */
#include "base/base.h"
#include "base/map64.h"
#include "page/model.h"
#include "report/print.h"
#include "report/text.h"

/* A context that one version has, or both: a chain of functions that are the same. */
struct node {
    uint32_t parent, function; /* a row of the functions, HP_PROFILE_NONE: not known */
    struct side {
        uint64_t self, inclusive, calls;
    } old, new;
};

struct nodes {
    struct node *items; /* parents first */
    size_t n, capacity;
    struct hp_map64 rows; /* by parent and function */
};

static void fini_nodes(struct nodes *nodes)
{
    free(nodes->items);
    hp_map64_fini(&nodes->rows);
}

HP_CLEANUP_POINTER(free_digest, struct hp_digest, hp_digest_free)
HP_CLEANUP_POINTER(free_diff, struct hp_diff, hp_diff_free)

/* By function of a version, its row among those of both; free() them. */
static enum hp_err rows_of(const struct hp_diff *diff, bool of_old, uint32_t **rows)
{
    size_t n = (of_old ? diff->old : diff->new)->n_functions;
    HP_TRY(hp_new(rows, n, sizeof **rows));
    for (size_t i = 0; i < diff->functions.n; i++) {
        const struct hp_change *change = &diff->functions.items[i];
        uint32_t function = of_old ? change->old : change->new;
        if (function != HP_PROFILE_NONE)
            (*rows)[function] = (uint32_t)i;
    }
    return HP_OK;
}

static enum hp_err find_node(struct nodes *nodes, uint32_t parent, uint32_t function, uint32_t *row)
{
    uint64_t key = (uint64_t)parent << 32 | function;
    *row = hp_map64_get(&nodes->rows, key);
    if (*row != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&nodes->items, &nodes->capacity, nodes->n + 1, sizeof *nodes->items));
    *row = (uint32_t)nodes->n++;
    nodes->items[*row] = (struct node){.parent = parent, .function = function};
    return hp_map64_put(&nodes->rows, key, *row);
}

/* Adds the contexts of a version. A part of a function that another part calls is no context. */
static enum hp_err add_contexts(struct nodes *nodes, const struct hp_diff *diff,
                                const struct hp_profile *p, bool of_old)
{
    const struct hp_digest *digest = of_old ? diff->old : diff->new;
    uint32_t *functions HP_CLEANUP(hp_free) = NULL, *at HP_CLEANUP(hp_free) = NULL;
    HP_TRY(rows_of(diff, of_old, &functions));
    HP_TRY(hp_new(&at, p->n_contexts, sizeof *at));
    for (size_t i = 0; i < p->n_contexts; i++) {
        const struct hp_pcontext *c = &p->contexts[i];
        uint32_t group = hp_digest_group(digest->groups, c->function);
        uint32_t function = group == HP_PROFILE_NONE ? group : functions[group];
        uint32_t parent = c->parent == HP_PROFILE_NONE ? c->parent : at[c->parent];
        bool is_part = parent != HP_PROFILE_NONE && nodes->items[parent].function == function &&
                       p->contexts[c->parent].function != c->function;
        if (is_part)
            at[i] = parent;
        else
            HP_TRY(find_node(nodes, parent, function, &at[i]));
    }
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *count = &p->context_counts[i];
        struct node *node = &nodes->items[at[count->item]];
        struct side *side = of_old ? &node->old : &node->new;
        hp_add_up(&side->self, count->self);
        hp_add_up(&side->calls, count->calls);
    }
    return HP_OK;
}

static void add_up(struct nodes *nodes)
{
    for (size_t i = nodes->n; i-- > 0;) { /* children before their parents */
        struct node *node = &nodes->items[i];
        hp_add_up(&node->old.inclusive, node->old.self);
        hp_add_up(&node->new.inclusive, node->new.self);
        if (node->parent == HP_PROFILE_NONE)
            continue;
        struct node *parent = &nodes->items[node->parent];
        hp_add_up(&parent->old.inclusive, node->old.inclusive);
        hp_add_up(&parent->new.inclusive, node->new.inclusive);
    }
}

static uint64_t weight(const struct node *node)
{
    return node->old.inclusive > node->new.inclusive ? node->old.inclusive : node->new.inclusive;
}

static int compare_weights(const void *a, const void *b, void *context)
{
    const struct node *nodes = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return HP_COMPARE(weight(&nodes[y]), weight(&nodes[x])) ?: HP_COMPARE(x, y);
}

/* Keeps the heaviest, parents before their children: none weighs less than a child. */
static enum hp_err keep_heaviest(struct nodes *nodes)
{
    uint32_t *order HP_CLEANUP(hp_free) = NULL, *to HP_CLEANUP(hp_free) = NULL;
    if (nodes->n <= HP_PAGE_CONTEXTS)
        return HP_OK;
    HP_TRY(hp_new(&order, nodes->n, sizeof *order));
    HP_TRY(hp_new(&to, nodes->n, sizeof *to));
    for (uint32_t i = 0; i < nodes->n; i++)
        order[i] = i;
    qsort_r(order, nodes->n, sizeof *order, compare_weights, nodes->items);
    for (size_t i = 0; i < HP_PAGE_CONTEXTS; i++)
        to[order[i]] = 1;
    size_t kept = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        if (!to[i])
            continue;
        to[i] = (uint32_t)kept;
        struct node *node = &nodes->items[kept++];
        *node = nodes->items[i];
        if (node->parent != HP_PROFILE_NONE)
            node->parent = to[node->parent];
    }
    nodes->n = kept;
    return HP_OK;
}

static void put_row(struct hp_json *json, uint32_t row)
{
    hp_json_int(json, row == HP_PROFILE_NONE ? -1 : (int64_t)row);
}

static void put_contexts(struct hp_json *json, const struct nodes *nodes)
{
#define COUNT(side, member)                                                                        \
    {                                                                                              \
#side "_" #member, offsetof(struct node, side.member)                                      \
    }
    static const struct {
        const char *name;
        size_t offset;
    } counts[] = {COUNT(old, self), COUNT(old, inclusive), COUNT(old, calls),
                  COUNT(new, self), COUNT(new, inclusive), COUNT(new, calls)};
#undef COUNT
    hp_json_put_object(json, "contexts");
    hp_json_put_array(json, "parent");
    for (size_t i = 0; i < nodes->n; i++)
        put_row(json, nodes->items[i].parent);
    hp_json_end_array(json);
    hp_json_put_array(json, "function");
    for (size_t i = 0; i < nodes->n; i++)
        put_row(json, nodes->items[i].function);
    hp_json_end_array(json);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        hp_json_put_array(json, counts[k].name);
        for (size_t i = 0; i < nodes->n; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&nodes->items[i] + counts[k].offset, sizeof value);
            hp_json_uint(json, value);
        }
        hp_json_end_array(json);
    }
    hp_json_end_object(json);
}

static void put_run(struct hp_json *json, const char *key, const char *name,
                    const struct hp_run *run, struct hp_strbuf *text)
{
    hp_strbuf_clear(text);
    hp_put_command(text, run->command);
    hp_json_put_object(json, key);
    hp_json_put_string(json, "name", name);
    hp_json_run(json, run);
    hp_json_put_string(json, "command_text", hp_strbuf_text(text));
    hp_json_end_object(json);
}

static void put_short_names(struct hp_json *json, const struct hp_diff *diff, const char *key,
                            size_t columns, struct hp_strbuf *text)
{
    hp_json_put_array(json, key);
    for (size_t i = 0; i < diff->functions.n; i++) {
        hp_strbuf_clear(text);
        hp_page_short_name(text, hp_change_function(&diff->functions.items[i])->name, columns);
        hp_json_string(json, hp_strbuf_text(text));
    }
    hp_json_end_array(json);
}

/* The source of each line: as the new version has it, of removed ones the old. */
static void put_line_texts(struct hp_json *json, struct hp_diff *diff, struct hp_strbuf *text)
{
    hp_json_put_array(json, "line_texts");
    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct hp_change *change = &diff->lines.items[i];
        const struct hp_dline *line = change->new_item ?: change->old_item;
        struct hp_sources *sources = change->new_item ? &diff->new_sources : &diff->old_sources;
        size_t length = 0;
        const char *source =
            line->line ? hp_sources_line(sources, line->file, line->line, &length) : NULL;
        hp_strbuf_clear(text);
        if (source)
            hp_strbuf_bytes(text, source, length);
        hp_json_string(json, hp_strbuf_text(text));
    }
    hp_json_end_array(json);
}

static enum hp_err put_all(const struct hp_page_diff *what, struct hp_diff *diff,
                           const struct nodes *nodes, FILE *out)
{
    struct hp_json json = {.out = out, .lines = 1};
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_diff_print print = {.old_name = what->old_name, .new_name = what->new_name};
    hp_json_begin_object(&json);
    hp_json_put_uint(&json, "format", 1);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    put_run(&json, "old", what->old_name, &what->old->run, &text);
    put_run(&json, "new", what->new_name, &what->new->run, &text);
    hp_diff_put_json(&json, diff, &print);
    put_short_names(&json, diff, "briefs", HP_PAGE_BRIEF, &text);
    put_short_names(&json, diff, "tags", HP_PAGE_TAG, &text);
    put_line_texts(&json, diff, &text);
    put_contexts(&json, nodes);
    hp_json_end_object(&json);
    return text.failed ? hp_fail_nomem() : hp_json_finish(&json);
}

enum hp_err hp_page_diff_data(const struct hp_page_diff *what, FILE *out)
{
    struct hp_digest *old HP_CLEANUP(free_digest) = NULL;
    struct hp_digest *new HP_CLEANUP(free_digest) = NULL;
    struct hp_diff *diff HP_CLEANUP(free_diff) = NULL;
    struct nodes nodes HP_CLEANUP(fini_nodes) = {0};
    struct hp_digest_options of_old = {.other = what->new, .unfolded = what->unfolded};
    struct hp_digest_options of_new = {.other = what->old, .unfolded = what->unfolded};
    HP_TRY(hp_digest_make(what->old, &of_old, &old));
    HP_TRY(hp_digest_make(what->new, &of_new, &new));
    HP_TRY(hp_diff_make(old, new, &what->sources, &diff));
    HP_TRY(add_contexts(&nodes, diff, what->old, true));
    HP_TRY(add_contexts(&nodes, diff, what->new, false));
    add_up(&nodes);
    HP_TRY(keep_heaviest(&nodes));
    flockfile(out); /* the writer uses the unlocked calls */
    enum hp_err err = put_all(what, diff, &nodes, out);
    funlockfile(out);
    return err;
}
