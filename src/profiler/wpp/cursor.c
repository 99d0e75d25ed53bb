// SPDX-License-Identifier: MIT
#include "profiler/wpp/reader.h"

#include <stdlib.h>

/* A body being walked. */
struct frame {
    uint32_t rule;
    uint32_t left; /* repetitions left, this one included */
    uint64_t at;   /* index of the node in the rule */
};

struct hp_wpp_cursor {
    const struct hp_wpp_reader *reader;
    uint32_t thread;
    size_t part;     /* the next to consider */
    uint32_t path;   /* the latest one */
    uint32_t repeat; /* how often it is still repeated */
    size_t depth;
    struct frame stack[];
};

enum hp_err hp_wpp_cursor_new_for(const struct hp_wpp_reader *reader, struct hp_wpp_cursor **cursor)
{
    size_t depth = 1;
    for (size_t i = 0; i < reader->n_rules; i++)
        if (reader->rules[i].depth > depth)
            depth = reader->rules[i].depth;
    struct hp_wpp_cursor *c = calloc(1, sizeof *c + depth * sizeof *c->stack);
    if (!c)
        return hp_fail_nomem();
    c->reader = reader;
    c->part = reader->n_parts;
    *cursor = c;
    return HP_OK;
}

enum hp_err hp_wpp_cursor_new(const struct hp_wpp_reader *reader, size_t thread,
                              struct hp_wpp_cursor **cursor)
{
    if (thread >= reader->n_threads)
        return hp_fail(HP_ERR_NOTFOUND, "there is no thread %zu: there are %zu", thread,
                       reader->n_threads);
    HP_TRY(hp_wpp_cursor_new_for(reader, cursor));
    (*cursor)->thread = (uint32_t)thread;
    (*cursor)->part = 0;
    return HP_OK;
}

void hp_wpp_cursor_free(struct hp_wpp_cursor *cursor)
{
    free(cursor);
}

static void enter(struct hp_wpp_cursor *c, uint32_t rule, uint32_t times)
{
    c->stack[c->depth++] = (struct frame){.rule = rule, .left = times};
}

void hp_wpp_cursor_symbol(struct hp_wpp_cursor *c, uint32_t symbol)
{
    c->depth = 0;
    c->repeat = 0;
    if (symbol & HP_GRAMMAR_RULE) {
        enter(c, symbol & ~HP_GRAMMAR_RULE, 1);
    } else {
        c->path = symbol;
        c->repeat = 1;
    }
}

/* Enters the start rule of the thread's next part; false: there is none. */
static bool next_part(struct hp_wpp_cursor *c)
{
    const struct hp_wpp_reader *r = c->reader;
    while (c->part < r->n_parts && r->parts[c->part].thread != c->thread)
        c->part++;
    if (c->part == r->n_parts)
        return false;
    enter(c, r->parts[c->part++].start, 1);
    return true;
}

/* The next node, or NULL at the end of the sequence. Leaves finished bodies. */
static const struct hp_wpp_node *next_node(struct hp_wpp_cursor *c)
{
    for (;;) {
        if (!c->depth && !next_part(c))
            return NULL;
        struct frame *top = &c->stack[c->depth - 1];
        const struct hp_wpp_rule *rule = &c->reader->rules[top->rule];
        if (top->at < rule->n)
            return &c->reader->nodes[rule->first + top->at++];
        top->at = 0;
        if (--top->left == 0)
            c->depth--;
    }
}

size_t hp_wpp_cursor_next(struct hp_wpp_cursor *c, uint32_t *paths, size_t max)
{
    size_t n = 0;
    while (n < max) {
        while (c->repeat && n < max) {
            paths[n++] = c->path;
            c->repeat--;
        }
        if (n == max)
            break;
        const struct hp_wpp_node *node = next_node(c);
        if (!node)
            break;
        if (node->symbol & HP_GRAMMAR_RULE) {
            enter(c, node->symbol & ~HP_GRAMMAR_RULE, node->repeat);
        } else {
            c->path = node->symbol;
            c->repeat = node->repeat;
        }
    }
    return n;
}

/* Skips whole repetitions of the body that has ended on top; returns how many paths remain to be
 * skipped. */
static uint64_t skip_repeats(struct hp_wpp_cursor *c, uint64_t n)
{
    struct frame *top = &c->stack[c->depth - 1];
    const struct hp_wpp_rule *rule = &c->reader->rules[top->rule];
    if (top->at != rule->n || top->left < 2)
        return n;
    uint64_t times = n / rule->length, most = top->left - 1;
    times = times < most ? times : most;
    top->left -= (uint32_t)times;
    return n - times * rule->length;
}

void hp_wpp_cursor_skip(struct hp_wpp_cursor *c, uint64_t n)
{
    uint32_t pending = n < c->repeat ? (uint32_t)n : c->repeat;
    c->repeat -= pending;
    n -= pending;
    while (n) {
        if (c->depth)
            n = skip_repeats(c, n);
        const struct hp_wpp_node *node = n ? next_node(c) : NULL;
        if (!node)
            return;
        uint64_t length = hp_wpp_length(c->reader, node->symbol), times = n / length;
        if (times >= node->repeat) {
            n -= length * node->repeat;
        } else if (node->symbol & HP_GRAMMAR_RULE) {
            enter(c, node->symbol & ~HP_GRAMMAR_RULE, node->repeat - (uint32_t)times);
            n -= times * length;
        } else {
            c->path = node->symbol;
            c->repeat = node->repeat - (uint32_t)n;
            n = 0;
        }
    }
}
