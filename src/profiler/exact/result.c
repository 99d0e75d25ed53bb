// SPDX-License-Identifier: MIT
/*
 * From the exact profiler's tables to the profile: places instead of addresses, functions, source
 * lines.
 */
#include "base/grow.h"
#include "profiler/exact/exact_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result {
    struct hp_exact *exact;
    struct hp_profile *profile;
    uint32_t *functions; /* profiler's function id -> profile's, HP_PROFILE_NONE: not there */
    size_t n_functions;
    struct hp_map64 edge_of; /* from << 32 | to -> edge */
    uint32_t thread;
    uint64_t *self; /* of the thread, by profile's function */
};

/* --- Places ----------------------------------------------------------------------------------- */

static struct hp_place place_of(const struct hp_code *code, uint32_t module, uint64_t address)
{
    return (struct hp_place){.module = module,
                             .offset = address - hp_code_module(code, module)->base};
}

static enum hp_err add_modules(struct result *r)
{
    const struct hp_code *code = r->exact->code;
    for (uint32_t i = 0; i < hp_code_n_modules(code); i++) {
        struct hp_pmodule *module;
        HP_TRY(hp_profile_add_module(r->profile, &module));
        module->path = hp_profile_string(r->profile, hp_code_module(code, i)->path);
        module->build_id = hp_profile_string(r->profile, hp_code_module(code, i)->build_id);
        if (!module->path || !module->build_id)
            return hp_fail_nomem();
    }
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

static enum hp_err add_function(struct result *r, uint32_t id)
{
    const struct hp_function *function = hp_functions_get(r->exact->functions, id);
    const char *file;
    uint32_t line;
    hp_functions_line(r->exact->functions, id, &file, &line);
    struct hp_pfunction *out;
    HP_TRY(hp_profile_add_function(r->profile, &out));
    out->place = (struct hp_place){.module = function->module, .offset = function->offset};
    out->size = function->size;
    out->name = hp_profile_string(r->profile, function->symbol ? function->symbol->name : "");
    out->linkage = hp_profile_string(r->profile, function->symbol ? function->symbol->linkage : "");
    out->file = hp_profile_string(r->profile, file);
    out->line = line;
    return out->name && out->linkage && out->file ? HP_OK : hp_fail_nomem();
}

/* The profile's index of a function; adds those that are new. */
static enum hp_err function_index(struct result *r, uint32_t id, uint32_t *index)
{
    *index = HP_PROFILE_NONE;
    if (id == HP_NO_ID)
        return HP_OK;
    if (id >= r->n_functions) {
        size_t n = hp_functions_count(r->exact->functions);
        uint32_t *grown = realloc(r->functions, n * sizeof *grown);
        if (!grown)
            return hp_fail_nomem();
        r->functions = grown;
        for (; r->n_functions < n; r->n_functions++)
            r->functions[r->n_functions] = HP_PROFILE_NONE;
    }
    if (r->functions[id] == HP_PROFILE_NONE) {
        r->functions[id] = (uint32_t)r->profile->n_functions;
        HP_TRY(add_function(r, id));
    }
    *index = r->functions[id];
    return HP_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static bool same_source(const struct hp_source *a, const struct hp_source *b)
{
    return a->line == b->line && a->call_line == b->call_line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->inlined, b->inlined) == 0;
}

static enum hp_err add_line(struct result *r, uint32_t block, uint32_t from, uint32_t to,
                            uint32_t insns, const struct hp_source *source)
{
    char at[4096] = "";
    struct hp_pline *line;
    HP_TRY(hp_profile_add_line(r->profile, &line));
    if (source->inlined[0] && source->call_file[0])
        snprintf(at, sizeof at, "%s:%u", source->call_file, source->call_line);
    line->block = block;
    line->from = from;
    line->to = to;
    line->insns = insns;
    line->line = source->line;
    line->file = hp_profile_string(r->profile, source->file);
    line->inlined = hp_profile_string(r->profile, source->inlined);
    line->inlined_at = hp_profile_string(r->profile, at);
    return line->file && line->inlined && line->inlined_at ? HP_OK : hp_fail_nomem();
}

static const struct hp_source no_source = {.file = "", .inlined = "", .call_file = ""};

/* The source lines of a block: runs of instructions that come from the same one. */
static enum hp_err add_lines(struct result *r, uint32_t id)
{
    const struct hp_block *block = hp_code_block(r->exact->code, id);
    struct hp_symbols *symbols = hp_functions_symbols(r->exact->functions, block->module);
    if (!symbols)
        return HP_OK;
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(r->exact->code, id, &insns));
    uint64_t base = hp_code_module(r->exact->code, block->module)->base;
    struct hp_source run = no_source;
    uint32_t first = 0;
    for (uint32_t i = 0; i <= block->insns; i++) {
        struct hp_source source;
        if (i == block->insns ||
            hp_symbols_source(symbols, insns[i].address - base, &source) != HP_OK)
            source = no_source;
        if (i < block->insns && same_source(&run, &source))
            continue;
        uint64_t end = i < block->insns ? insns[i].address : block->end;
        if (run.line)
            HP_TRY(add_line(r, id, (uint32_t)(insns[first].address - block->start),
                            (uint32_t)(end - block->start), i - first, &run));
        run = source;
        first = i;
    }
    return HP_OK;
}

/* --- Blocks and edges ------------------------------------------------------------------------- */

/* Blocks of other code at the same place are told apart by a version. */
static enum hp_err add_blocks(struct result *r)
{
    const struct hp_code *code = r->exact->code;
    struct hp_map64 versions = {0};
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; err == HP_OK && i < hp_code_n_blocks(code); i++) {
        const struct hp_block *block = hp_code_block(code, i);
        uint64_t key = block->start ^ (uint64_t)block->module << 48 ^
                       (uint64_t)(block->end - block->start) << 32;
        uint32_t version = hp_map64_get(&versions, key);
        version = version == HP_MAP64_NONE ? 0 : version + 1;
        err = hp_map64_put(&versions, key, version);
        struct hp_pblock *out = NULL;
        if (err == HP_OK)
            err = hp_profile_add_block(r->profile, &out);
        if (err != HP_OK)
            break;
        out->place = place_of(code, block->module, block->start);
        out->size = (uint32_t)(block->end - block->start);
        out->insns = block->insns;
        out->flow = block->flow;
        out->branch = (uint32_t)(block->last - block->start);
        out->version = version;
        uint32_t function;
        err = function_index(r, hp_functions_settle(r->exact->functions, i), &function);
        r->profile->blocks[i].function = function;
        if (err == HP_OK && function == HP_PROFILE_NONE)
            err = hp_fail_nomem(); /* every block has a function */
        if (err == HP_OK && hp_functions_lines_wanted(r->exact->functions) == HP_LINES_ALL)
            err = add_lines(r, i);
    }
    hp_map64_fini(&versions);
    return err;
}

static enum hp_err edge_index(struct result *r, uint32_t from, uint32_t to, uint32_t *index)
{
    const struct hp_code *code = r->exact->code;
    *index = hp_map64_get(&r->edge_of, (uint64_t)from << 32 | to);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    const struct hp_block *a = hp_code_block(code, from), *b = hp_code_block(code, to);
    *index = (uint32_t)r->profile->n_edges;
    struct hp_pedge *edge;
    HP_TRY(hp_profile_add_edge(r->profile, &edge));
    edge->from = place_of(code, a->module, a->last);
    edge->to = place_of(code, b->module, b->start);
    edge->flow = a->flow;
    bool may_fall = a->flow == HP_FLOW_COND || a->flow == HP_FLOW_SYSCALL ||
                    a->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB);
    edge->taken = !(may_fall && b->start == a->end);
    return hp_map64_put(&r->edge_of, (uint64_t)from << 32 | to, *index);
}

static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

static enum hp_err add_edge_count(struct result *r, uint32_t from, uint32_t to, uint64_t count)
{
    uint8_t flow = hp_code_block(r->exact->code, from)->flow;
    struct hp_pcount *out;
    uint32_t edge;
    if (flow == HP_FLOW_NONE) /* the seam of a long block is not an edge */
        return HP_OK;
    HP_TRY(edge_index(r, from, to, &edge));
    HP_TRY(hp_profile_add_edge_count(r->profile, &out));
    *out = (struct hp_pcount){.item = edge, .thread = r->thread, .count = count};
    if (is_branch(flow))
        r->profile->threads[r->thread].branches += count;
    return HP_OK;
}

/* --- A thread --------------------------------------------------------------------------------- */

static enum hp_err add_block_counts(struct result *r, const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!counts[i])
            continue;
        struct hp_pcount *out;
        HP_TRY(hp_profile_add_block_count(r->profile, &out));
        *out = (struct hp_pcount){.item = (uint32_t)i, .thread = r->thread, .count = counts[i]};
        uint64_t weight = counts[i] * hp_code_block(r->exact->code, (uint32_t)i)->insns;
        r->profile->threads[r->thread].instructions += weight;
        r->profile->threads[r->thread].blocks += counts[i];
        r->self[r->profile->blocks[i].function] += weight;
    }
    return HP_OK;
}

/* Edges, and from them how often each block was executed. */
static enum hp_err add_counts(struct result *r, const struct hp_exact_thread *t)
{
    size_t n = hp_code_n_blocks(r->exact->code);
    uint64_t *counts = calloc(n + 1, sizeof *counts);
    if (!counts)
        return hp_fail_nomem();
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < t->n_edges && err == HP_OK; i++) {
        const struct hp_exact_edge *edge = &t->edges[i];
        counts[edge->from] += edge->count;
        if (edge->to != HP_NO_ID)
            err = add_edge_count(r, edge->from, edge->to, edge->count);
    }
    if (err == HP_OK)
        err = add_block_counts(r, counts, n);
    free(counts);
    return err;
}

static enum hp_err add_calls(struct result *r, const struct hp_exact_thread *t, uint64_t *entered)
{
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct hp_call *call = &t->calls[i];
        uint32_t caller, callee;
        HP_TRY(function_index(r, call->caller, &caller));
        HP_TRY(function_index(r, call->callee, &callee));
        entered[callee] += call->count;
        struct hp_pcall *out;
        struct hp_pcall_count *count;
        uint32_t index = (uint32_t)r->profile->n_calls;
        HP_TRY(hp_profile_add_call(r->profile, &out));
        *out = (struct hp_pcall){.caller = caller, .callee = callee};
        HP_TRY(hp_profile_add_call_count(r->profile, &count));
        *count = (struct hp_pcall_count){
            .item = index, .thread = r->thread, .count = call->count, .inclusive = call->inclusive};
    }
    return HP_OK;
}

static enum hp_err add_function_counts(struct result *r, const struct hp_exact_thread *t,
                                       const uint64_t *entered)
{
    for (uint32_t id = 0; id < r->n_functions; id++) {
        uint32_t index = r->functions[id];
        uint64_t inclusive = id < t->cap_activities ? t->activities[id].inclusive : 0;
        if (index == HP_PROFILE_NONE || !(r->self[index] || inclusive || entered[index]))
            continue;
        struct hp_pfunction_count *out;
        HP_TRY(hp_profile_add_function_count(r->profile, &out));
        /* Code that was never entered by a transfer we saw is at least its own instructions; without
         * an order nothing is known. */
        *out =
            (struct hp_pfunction_count){.item = index,
                                        .thread = r->thread,
                                        .self = r->self[index],
                                        .inclusive = t->unordered                 ? 0
                                                     : inclusive > r->self[index] ? inclusive
                                                                                  : r->self[index],
                                        .calls = entered[index]};
    }
    return HP_OK;
}

static enum hp_err add_thread(struct result *r, const struct hp_exact_thread *t)
{
    struct hp_pthread *out;
    r->thread = (uint32_t)r->profile->n_threads;
    HP_TRY(hp_profile_add_thread(r->profile, &out));
    out->pid = t->info.pid;
    out->tid = t->info.tid;
    /* Calls may still bring functions that no block is in. */
    size_t n = r->profile->n_functions + t->n_calls * 2 + 1;
    r->self = calloc(n, sizeof *r->self);
    uint64_t *entered = calloc(n, sizeof *entered);
    enum hp_err err = r->self && entered ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = add_counts(r, t);
    if (err == HP_OK)
        err = add_calls(r, t, entered);
    if (err == HP_OK)
        err = add_function_counts(r, t, entered);
    free(entered);
    free(r->self);
    r->self = NULL;
    if (err == HP_OK && t->unordered)
        err = hp_profile_note(r->profile, 1, "counted",
                              "what was executed was counted, not recorded in order: inclusive "
                              "counts are not known");
    if (err == HP_OK && t->uncertain)
        err = hp_profile_note(r->profile, t->uncertain, "cut",
                              "blocks may have been left before their end by a fatal signal; they "
                              "are counted whole");
    return err;
}

static int by_id(const void *a, const void *b)
{
    const struct hp_exact_thread *x = *(struct hp_exact_thread *const *)a;
    const struct hp_exact_thread *y = *(struct hp_exact_thread *const *)b;
    return x->info.id < y->info.id ? -1 : x->info.id > y->info.id;
}

enum hp_err hp_exact_finish(struct hp_profiler *profiler, struct hp_profile *profile)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    if (exact->out_of_memory)
        return hp_fail(HP_ERR_NOMEM, "out of memory while counting; the profile would be wrong");
    struct result r = {.exact = exact, .profile = profile};
    enum hp_err err = add_modules(&r);
    if (err == HP_OK)
        err = add_blocks(&r);
    /* In the order in which they were made, whichever was heard of first. */
    if (exact->n_threads)
        qsort(exact->threads, exact->n_threads, sizeof *exact->threads, by_id);
    for (size_t i = 0; i < exact->n_threads; i++)
        hp_exact_seal(exact->threads[i]); /* of those that did not end in order */
    if (exact->out_of_memory)
        err = hp_fail_nomem();
    for (size_t i = 0; err == HP_OK && i < exact->n_threads; i++)
        err = add_thread(&r, exact->threads[i]);
    hp_map64_fini(&r.edge_of);
    free(r.functions);
    return err;
}
