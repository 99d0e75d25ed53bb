// SPDX-License-Identifier: MIT
/*
 * How often a rule is executed follows from the grammar: once for a start rule, else as often as
 * the rules that name it, times the exponent. Rules that are short enough are not expanded: they
 * are the subpaths. The same subpath may be a rule of several parts, or of one part twice, with
 * different exponents or boundaries; such rules are recognized by what they generate.
 */
#include "profiler/wpp/reader.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
    uint32_t symbol;
    uint32_t order; /* of appearance */
    uint64_t count;
    uint64_t n, insns;
};

struct search {
    const struct hp_wpp_reader *reader;
    size_t max_length;
    uint64_t *rule_counts; /* executions outside subpaths */
    uint64_t *path_counts;
    uint32_t *same;  /* for each path, the first one equal to it */
    uint32_t *paths; /* two expansions */
    struct hp_wpp_cursor *cursor;
    struct hp_map64 by_hash;
    struct candidate *found;
    size_t n, capacity;
};

static void count(struct search *s)
{
    const struct hp_wpp_reader *r = s->reader;
    for (size_t i = 0; i < r->n_parts; i++)
        s->rule_counts[r->parts[i].start] = 1;
    for (size_t i = r->n_rules; i-- > 0;) {
        const struct hp_wpp_rule *rule = &r->rules[i];
        if (rule->length <= s->max_length)
            continue;
        for (uint64_t k = 0; k < rule->n; k++) {
            const struct hp_wpp_node *node = &r->nodes[rule->first + k];
            uint64_t times = s->rule_counts[i] * node->repeat;
            if (node->symbol & HP_GRAMMAR_RULE)
                s->rule_counts[node->symbol & ~HP_GRAMMAR_RULE] += times;
            else
                s->path_counts[s->same[node->symbol]] += times;
        }
    }
}

/* The paths that a candidate generates. */
static void generate(const struct search *s, const struct candidate *candidate, uint32_t *paths)
{
    hp_wpp_cursor_symbol(s->cursor, candidate->symbol);
    hp_wpp_cursor_next(s->cursor, paths, candidate->n);
    for (uint64_t i = 0; i < candidate->n; i++)
        paths[i] = s->same[paths[i]];
}

static uint64_t hash(const uint32_t *paths, uint64_t n)
{
    uint64_t h = n;
    for (uint64_t i = 0; i < n; i++)
        h = hp_hash64(h * 3 + paths[i]);
    return h;
}

/* Whether both generate the same paths; `paths` are those of `a`. */
static bool is_same(const struct search *s, const struct candidate *a, const uint32_t *paths,
                    const struct candidate *b)
{
    if (a->n != b->n)
        return false;
    uint32_t *other = s->paths + s->max_length;
    generate(s, b, other);
    return memcmp(paths, other, a->n * sizeof *paths) == 0;
}

static enum hp_err add(struct search *s, struct candidate candidate)
{
    if (!candidate.count)
        return HP_OK;
    generate(s, &candidate, s->paths);
    uint64_t key = hash(s->paths, candidate.n);
    uint32_t known;
    for (; (known = hp_map64_get(&s->by_hash, key)) != HP_MAP64_NONE; key++)
        if (is_same(s, &candidate, s->paths, &s->found[known])) {
            s->found[known].count += candidate.count;
            return HP_OK;
        }
    HP_TRY(hp_grow(&s->found, &s->capacity, s->n + 1, sizeof *s->found));
    candidate.order = (uint32_t)s->n;
    s->found[s->n] = candidate;
    return hp_map64_put(&s->by_hash, key, (uint32_t)s->n++);
}

static enum hp_err collect(struct search *s)
{
    const struct hp_wpp_reader *r = s->reader;
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].length <= s->max_length)
            HP_TRY(add(s, (struct candidate){.symbol = HP_GRAMMAR_RULE | (uint32_t)i,
                                             .count = s->rule_counts[i],
                                             .n = r->rules[i].length,
                                             .insns = r->rules[i].insns}));
    for (size_t i = 0; i < r->n_paths; i++)
        HP_TRY(add(s, (struct candidate){.symbol = (uint32_t)i,
                                         .count = s->path_counts[i],
                                         .n = 1,
                                         .insns = r->paths[i].insns}));
    return HP_OK;
}

/* --- Paths that are in the file twice --------------------------------------------------------- */

static int compare_paths(const void *a, const void *b, void *context)
{
    const struct hp_wpp_path *paths = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    int order = memcmp(&paths[i], &paths[k], sizeof *paths);
    return order ? order : (i > k) - (i < k);
}

/* A path that was dropped and came again has two numbers. */
static enum hp_err find_same(struct search *s)
{
    const struct hp_wpp_reader *r = s->reader;
    uint32_t *order = malloc((r->n_paths + 1) * sizeof *order);
    if (!order)
        return hp_fail_nomem();
    for (size_t i = 0; i < r->n_paths; i++)
        s->same[i] = order[i] = (uint32_t)i;
    if (r->stats.forgotten) {
        qsort_r(order, r->n_paths, sizeof *order, compare_paths, r->paths);
        for (size_t i = 1; i < r->n_paths; i++)
            if (memcmp(&r->paths[order[i]], &r->paths[order[i - 1]], sizeof *r->paths) == 0)
                s->same[order[i]] = s->same[order[i - 1]];
    }
    free(order);
    return HP_OK;
}

/* --- The result ------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    uint64_t wx = x->count * x->insns, wy = y->count * y->insns;
    if (wx != wy)
        return wx < wy ? 1 : -1;
    if (x->n != y->n)
        return x->n > y->n ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static enum hp_err list_found(struct search *s, size_t top, struct hp_wpp_subpath **list, size_t *n)
{
    if (s->n)
        qsort(s->found, s->n, sizeof *s->found, by_weight);
    if (top == 0 || top > s->n)
        top = s->n;
    *list = calloc(top + 1, sizeof **list);
    if (!*list)
        return hp_fail_nomem();
    for (*n = 0; *n < top; ++*n) {
        const struct candidate *found = &s->found[*n];
        uint32_t *paths = malloc(found->n * sizeof *paths);
        if (!paths) {
            hp_wpp_subpaths_free(*list, *n);
            return hp_fail_nomem();
        }
        generate(s, found, paths);
        (*list)[*n] = (struct hp_wpp_subpath){
            .paths = paths, .n = found->n, .count = found->count, .insns = found->insns};
    }
    return HP_OK;
}

static enum hp_err search(struct search *s)
{
    const struct hp_wpp_reader *r = s->reader;
    /* Longer ones than can be generated need no room. */
    uint64_t longest = 1;
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].length <= s->max_length && r->rules[i].length > longest)
            longest = r->rules[i].length;
    s->max_length = longest;
    s->rule_counts = calloc(r->n_rules + 1, sizeof *s->rule_counts);
    s->path_counts = calloc(r->n_paths + 1, sizeof *s->path_counts);
    s->same = calloc(r->n_paths + 1, sizeof *s->same);
    s->paths = longest < SIZE_MAX / 16 ? malloc(2 * longest * sizeof *s->paths) : NULL;
    if (!s->rule_counts || !s->path_counts || !s->same || !s->paths)
        return hp_fail_nomem();
    HP_TRY(find_same(s));
    HP_TRY(hp_wpp_cursor_new_for(r, &s->cursor));
    count(s);
    return collect(s);
}

enum hp_err hp_wpp_subpaths(const struct hp_wpp_reader *reader, size_t max_length, size_t top,
                            struct hp_wpp_subpath **list, size_t *n)
{
    if (max_length == 0)
        return hp_fail(HP_ERR_INVALID, "subpaths have at least 1 path, not 0");
    struct search s = {.reader = reader, .max_length = max_length};
    enum hp_err err = search(&s);
    if (err == HP_OK)
        err = list_found(&s, top, list, n);
    hp_wpp_cursor_free(s.cursor);
    hp_map64_fini(&s.by_hash);
    free(s.rule_counts);
    free(s.path_counts);
    free(s.same);
    free(s.paths);
    free(s.found);
    return err;
}

void hp_wpp_subpaths_free(struct hp_wpp_subpath *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free((void *)(uintptr_t)list[i].paths);
    free(list);
}
