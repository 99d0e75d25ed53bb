// SPDX-License-Identifier: MIT
/*
 * From the code map to the profile: places instead of addresses, functions, blocks, source lines.
 */
#include "profiler/result.h"

#include "base/map64.h"
#include "profiler/insns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hp_result_memory {
    uint32_t *functions; /* function id -> profile's index, HP_PROFILE_NONE: not there */
    size_t n_functions;
    struct hp_map64 threads; /* thread id -> profile's index */
    bool has_code;
};

enum hp_err hp_result_new(struct hp_code *code, struct hp_functions *functions,
                          struct hp_profile *profile, struct hp_result **result)
{
    struct hp_result *r = calloc(1, sizeof *r);
    struct hp_result_memory *memory = calloc(1, sizeof *memory);
    if (!r || !memory) {
        free(r);
        free(memory);
        return hp_fail_nomem();
    }
    *r = (struct hp_result){
        .profile = profile, .code = code, .functions = functions, .memory = memory};
    *result = r;
    return HP_OK;
}

void hp_result_free(struct hp_result *result)
{
    if (!result)
        return;
    free(result->memory->functions);
    hp_map64_fini(&result->memory->threads);
    hp_result_insns_free(result->insns);
    free(result->memory);
    free(result);
}

struct hp_profile *hp_result_profile(struct hp_result *result)
{
    return result->profile;
}

/* --- Places ----------------------------------------------------------------------------------- */

struct hp_place hp_result_place(const struct hp_result *result, uint32_t module, uint64_t address)
{
    return (struct hp_place){.module = module,
                             .offset = address - hp_code_module(result->code, module)->base};
}

static enum hp_err add_modules(struct hp_result *r)
{
    for (uint32_t i = 0; i < hp_code_n_modules(r->code); i++) {
        struct hp_pmodule *module;
        HP_TRY(hp_profile_add_module(r->profile, &module));
        module->path = hp_profile_string(r->profile, hp_code_module(r->code, i)->path);
        module->build_id = hp_profile_string(r->profile, hp_code_module(r->code, i)->build_id);
        if (!module->path || !module->build_id)
            return hp_fail_nomem();
    }
    return HP_OK;
}

/* --- Functions -------------------------------------------------------------------------------- */

static enum hp_err add_function(struct hp_result *r, uint32_t id)
{
    const struct hp_function *function = hp_functions_get(r->functions, id);
    const char *file;
    uint32_t line;
    hp_functions_line(r->functions, id, &file, &line);
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

uint32_t hp_result_known_function(const struct hp_result *result, uint32_t id)
{
    const struct hp_result_memory *memory = result->memory;
    id = hp_functions_final(result->functions, id);
    return id < memory->n_functions ? memory->functions[id] : HP_PROFILE_NONE;
}

enum hp_err hp_result_function(struct hp_result *result, uint32_t id, uint32_t *index)
{
    struct hp_result_memory *memory = result->memory;
    *index = HP_PROFILE_NONE;
    if (id == HP_NO_ID)
        return HP_OK;
    id = hp_functions_final(result->functions, id);
    if (id >= memory->n_functions) {
        size_t n = hp_functions_count(result->functions);
        uint32_t *grown = realloc(memory->functions, n * sizeof *grown);
        if (!grown)
            return hp_fail_nomem();
        memory->functions = grown;
        for (; memory->n_functions < n; memory->n_functions++)
            memory->functions[memory->n_functions] = HP_PROFILE_NONE;
    }
    if (memory->functions[id] == HP_PROFILE_NONE) {
        uint32_t next = (uint32_t)result->profile->n_functions;
        HP_TRY(add_function(result, id));
        memory->functions[id] = next;
    }
    *index = memory->functions[id];
    return HP_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static bool same_source(const struct hp_source *a, const struct hp_source *b)
{
    return a->line == b->line && a->call_line == b->call_line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->inlined, b->inlined) == 0;
}

static enum hp_err add_line(struct hp_result *r, uint32_t block, uint32_t from, uint32_t to,
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

/* The source lines of a block: runs of instructions from the same line. */
static enum hp_err add_lines(struct hp_result *r, uint32_t id)
{
    const struct hp_block *block = hp_code_block(r->code, id);
    struct hp_symbols *symbols = hp_functions_symbols(r->functions, block->module);
    if (!symbols)
        return HP_OK;
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(r->code, id, &insns));
    uint64_t base = hp_code_module(r->code, block->module)->base;
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

/* --- Blocks ----------------------------------------------------------------------------------- */

static enum hp_err add_block(struct hp_result *r, uint32_t id, uint32_t version)
{
    const struct hp_block *block = hp_code_block(r->code, id);
    struct hp_pblock *out;
    uint32_t function;
    HP_TRY(hp_result_function(r, hp_functions_settle(r->functions, id), &function));
    if (function == HP_PROFILE_NONE)
        return hp_fail_nomem(); /* every block has a function */
    HP_TRY(hp_profile_add_block(r->profile, &out));
    out->place = hp_result_place(r, block->module, block->start);
    out->size = (uint32_t)(block->end - block->start);
    out->insns = block->insns;
    out->flow = block->flow;
    out->branch = (uint32_t)(block->last - block->start);
    out->version = version;
    out->function = function;
    return hp_functions_lines_wanted(r->functions) == HP_LINES_ALL ? add_lines(r, id) : HP_OK;
}

static uint64_t version_key(const struct hp_block *block)
{
    return block->start ^ (uint64_t)block->module << 48 ^
           (uint64_t)(block->end - block->start) << 32;
}

/* Blocks with different code at the same place are distinguished by a version. Most are alone: only
 * the others are in `versions`, each after those before it. */
static enum hp_err find_version(const struct hp_code *code, uint32_t id, struct hp_map64 *versions,
                                uint32_t *version)
{
    uint32_t before = hp_code_block_before(code, id);
    *version = 0;
    if (before == HP_NO_ID)
        return HP_OK;
    if (hp_code_block_before(code, before) == HP_NO_ID)
        HP_TRY(hp_map64_put(versions, version_key(hp_code_block(code, before)), 0));
    uint64_t key = version_key(hp_code_block(code, id));
    uint32_t last = hp_map64_get(versions, key);
    *version = last == HP_MAP64_NONE ? 0 : last + 1;
    return hp_map64_put(versions, key, *version);
}

static enum hp_err add_blocks(struct hp_result *r)
{
    struct hp_map64 versions = {0};
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; err == HP_OK && i < hp_code_n_blocks(r->code); i++) {
        uint32_t version;
        err = find_version(r->code, i, &versions, &version);
        if (err == HP_OK)
            err = add_block(r, i, version);
    }
    hp_map64_fini(&versions);
    return err;
}

enum hp_err hp_result_code(struct hp_result *result)
{
    if (result->memory->has_code)
        return HP_OK;
    if (result->profile->n_modules || result->profile->n_blocks)
        return hp_fail(HP_ERR_INVALID, "the profile has code of another run");
    HP_TRY(add_modules(result));
    HP_TRY(add_blocks(result));
    result->memory->has_code = true;
    return HP_OK;
}

/* --- Threads ---------------------------------------------------------------------------------- */

enum hp_err hp_result_thread(struct hp_result *result, const struct hp_thread *thread,
                             uint32_t *index)
{
    struct hp_pthread *out;
    *index = hp_map64_get(&result->memory->threads, thread->id);
    if (*index != HP_MAP64_NONE)
        return HP_OK;
    *index = (uint32_t)result->profile->n_threads;
    HP_TRY(hp_profile_add_thread(result->profile, &out));
    out->pid = thread->pid;
    out->tid = thread->tid;
    return hp_map64_put(&result->memory->threads, thread->id, *index);
}

uint32_t hp_result_known_thread(const struct hp_result *result, uint32_t id)
{
    uint32_t index = hp_map64_get(&result->memory->threads, id);
    return index == HP_MAP64_NONE ? HP_PROFILE_NONE : index;
}

void hp_result_thread_counts(struct hp_result *result, uint32_t index, uint64_t instructions,
                             uint64_t blocks, uint64_t branches)
{
    struct hp_pthread *thread = &result->profile->threads[index];
    if (thread->instructions || thread->blocks || thread->branches)
        return;
    thread->instructions = instructions;
    thread->blocks = blocks;
    thread->branches = branches;
}

struct hp_pedge hp_result_edge(const struct hp_result *result, uint32_t from, uint32_t to)
{
    const struct hp_block *a = hp_code_block(result->code, from),
                          *b = hp_code_block(result->code, to);
    bool may_fall = a->flow == HP_FLOW_COND || a->flow == HP_FLOW_SYSCALL ||
                    a->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB);
    return (struct hp_pedge){.from = hp_result_place(result, a->module, a->last),
                             .to = hp_result_place(result, b->module, b->start),
                             .flow = a->flow,
                             .taken = !(may_fall && b->start == a->end)};
}
