// SPDX-License-Identifier: MIT
/*
 * A whole program path in memory, read and checked.
 */
#ifndef HP_PROFILER_WPP_READER_H
#define HP_PROFILER_WPP_READER_H

#include "hotpath/wpp.h"
#include "profiler/wpp/grammar.h"

struct hp_wpp_node {
    uint32_t symbol; /* a path, or HP_GRAMMAR_RULE | rule */
    uint32_t repeat;
};

/* Rules of all parts in one array; each names only rules before it. */
struct hp_wpp_rule {
    uint64_t first; /* node */
    uint64_t n;
    uint64_t length; /* paths that it generates */
    uint64_t insns;  /* of them */
    uint32_t depth;  /* nesting of rules: 1 when it names none */
};

struct hp_wpp_part {
    uint32_t thread; /* index */
    uint32_t first;  /* rule */
    uint32_t start;  /* its last rule */
    uint64_t symbols;
};

struct hp_wpp_reader {
    const char *name; /* of the file, for errors */
    uint8_t *bytes;
    size_t size;
    struct hp_wpp_module *modules;
    struct hp_wpp_path *paths;
    struct hp_wpp_thread *threads;
    uint64_t *thread_parts; /* expected number */
    struct hp_wpp_rule *rules;
    struct hp_wpp_node *nodes;
    struct hp_wpp_part *parts;
    char **command;
    size_t n_modules, n_paths, n_threads, n_rules, n_nodes, n_parts;
    size_t cap_modules, cap_paths, cap_threads, cap_rules, cap_nodes, cap_parts;
    unsigned seen; /* bit k: a frame of kind k */
    struct hp_wpp_about about;
    struct hp_wpp_stats stats, stated;
};

/* A symbol's expansion. */
static inline uint64_t hp_wpp_length(const struct hp_wpp_reader *reader, uint32_t symbol)
{
    return symbol & HP_GRAMMAR_RULE ? reader->rules[symbol & ~HP_GRAMMAR_RULE].length : 1;
}

/* Makes the cursor walk what a symbol generates, instead of a thread's sequence. */
enum hp_err hp_wpp_cursor_new_for(const struct hp_wpp_reader *reader,
                                  struct hp_wpp_cursor **cursor);
void hp_wpp_cursor_symbol(struct hp_wpp_cursor *cursor, uint32_t symbol);

#endif
