// SPDX-License-Identifier: MIT
/*
 * A line of a function ran as often as its most often executed instruction, as AutoFDO and
 * llvm-profgen have it. Lines of executed functions that did not run are there, with 0: else the
 * compiler has to guess.
 */
#include "base/base.h"
#include "export/flows.h"
#include "export/optimizers/llvm_tree.h"
#include "symbols/symbols.h"
#include "text/number.h"

struct writer {
    struct hp_flows flows;
    struct hp_symbols *symbols;
    struct hp_source_frames frames;
    struct hp_llvm_tree tree;
    struct hp_map64 entered;   /* first instructions of functions whose entries are counted */
    uint64_t placed, executed; /* instructions: that have a place in the file, and all */
};

/* What is of one module. */
static void fini_module(struct writer *w)
{
    hp_map64_fini(&w->entered);
    hp_symbols_close(w->symbols);
    hp_flows_fini(&w->flows);
    w->symbols = NULL;
    w->flows = (struct hp_flows){0};
}

static void fini_writer(struct writer *w)
{
    fini_module(w);
    hp_llvm_tree_fini(&w->tree);
    free(w->frames.frames);
}

/* --- Discriminators --------------------------------------------------------------------------- */

/* clang puts three numbers into one, each with a prefix that says how long it is: which piece of
 * the line it is, how many copies of the code were folded into this one, and which copy it is. */
static uint32_t first_number(uint32_t bits)
{
    if (bits & 1)
        return 0;
    bits >>= 1;
    return bits & 0x20 ? ((bits >> 1) & 0xfe0) | (bits & 0x1f) : bits & 0x1f;
}

static uint32_t rest_of(uint32_t bits)
{
    if (bits & 1)
        return bits >> 1;
    return bits >> (bits & 0x40 ? 14 : 7);
}

static uint32_t copies_of(uint32_t bits)
{
    uint32_t copies = first_number(rest_of(bits));
    return copies ? copies : 1;
}

/* --- Functions -------------------------------------------------------------------------------- */

/* Parts that the compiler split off are not entered by calls of the function. */
static bool is_part(const char *linkage)
{
    return strstr(linkage, ".cold") || strstr(linkage, ".part.");
}

static uint64_t entries_of(const struct writer *w, uint64_t entry)
{
    const struct hp_pfunction *function =
        hp_flows_function(&w->flows, (struct hp_place){w->flows.module, entry});
    if (function && is_part(function->linkage))
        return 0;
    return hp_flows_entries(&w->flows, entry);
}

/* The location of a frame in its function. */
static struct hp_llvm_location location_of(const struct hp_source_frame *frame)
{
    return (struct hp_llvm_location){(frame->line - frame->first_line) & 0xffff,
                                     first_number(frame->discriminator)};
}

/* The node of the innermost function of w->frames; HP_LLVM_NONE: it cannot be in the profile. */
static enum hp_err find_node(struct writer *w, uint32_t *node)
{
    *node = HP_LLVM_NONE;
    struct hp_llvm_location at = {0};
    for (size_t i = w->frames.n; i-- > 0;) {
        const struct hp_source_frame *frame = &w->frames.frames[i];
        bool outer = i + 1 == w->frames.n;
        /* A call that was inlined without a line has no place in its caller. */
        bool placed = outer || w->frames.frames[i + 1].line;
        if (!hp_llvm_name_fits(frame->function) || !frame->first_line || !placed) {
            *node = HP_LLVM_NONE;
            return HP_OK;
        }
        HP_TRY(hp_llvm_tree_node(&w->tree, *node, at, frame->function, node));
        if (outer && hp_map64_get(&w->entered, w->frames.entry) == HP_MAP64_NONE) {
            HP_TRY(hp_map64_put(&w->entered, w->frames.entry, 0));
            hp_add_up(&w->tree.nodes[*node].head, entries_of(w, w->frames.entry));
        }
        at = location_of(frame);
    }
    return HP_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Code at w->frames ran `count` times, or called `target` so often. */
static enum hp_err add_code(struct writer *w, uint64_t count, const char *target)
{
    uint32_t node;
    if (!w->frames.n)
        return HP_OK;
    HP_TRY(find_node(w, &node));
    const struct hp_source_frame *leaf = &w->frames.frames[0];
    if (node == HP_LLVM_NONE || !leaf->line)
        return HP_OK;
    uint64_t copies = target ? 1 : copies_of(leaf->discriminator);
    struct hp_llvm_entry entry = {node, location_of(leaf), target,
                                  hp_flows_instance(&w->flows, w->frames.entry),
                                  hp_saturating_mul(count, copies)};
    return hp_llvm_tree_add(&w->tree, &entry);
}

/* Looks up the frames at an offset; none is fine. */
static enum hp_err frames_at(struct writer *w, uint64_t offset)
{
    enum hp_err err = hp_symbols_frames(w->symbols, offset, &w->frames);
    return err == HP_ERR_NOTFOUND ? HP_OK : err;
}

/* All code from one offset to another, in pieces that are the same line. */
static enum hp_err add_piece(struct writer *w, uint64_t from, uint64_t to)
{
    while (from < to) {
        HP_TRY(frames_at(w, from));
        uint64_t until = w->frames.until < to ? w->frames.until : to;
        HP_TRY(add_code(w, hp_flows_executed(&w->flows, from, until), NULL));
        from = until;
    }
    return HP_OK;
}

/* Executed code, and the rest of the functions that it is in. What is added twice counts once. */
static enum hp_err add_lines(struct writer *w)
{
    const struct hp_profile *p = w->flows.profile;
    uint64_t from = 0, to = 0; /* the last function */
    for (size_t i = w->flows.first_block; i < w->flows.end_block; i++) {
        const struct hp_pblock *block = &p->blocks[i];
        const struct hp_pfunction *function =
            block->function == HP_PROFILE_NONE ? NULL : &p->functions[block->function];
        uint64_t at = block->place.offset;
        if (!w->flows.blocks[i])
            continue;
        HP_TRY(frames_at(w, at));
        if (w->frames.n && w->frames.frames[w->frames.n - 1].first_line)
            hp_add_up(&w->placed, w->flows.blocks[i] * block->insns);
        if (function && function->place.module == w->flows.module &&
            (function->place.offset != from || function->size != to - from)) {
            from = function->place.offset;
            to = from + function->size;
            HP_TRY(add_piece(w, from, to));
        }
        if (at < from || at + block->size > to)
            HP_TRY(add_piece(w, at, at + block->size));
    }
    return HP_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* The name of what a call leads to; NULL: not known. */
static enum hp_err target_of(struct writer *w, const struct hp_pedge *edge, const char **name)
{
    const struct hp_pfunction *function = hp_flows_function(&w->flows, edge->to);
    *name = NULL;
    if (edge->to.module == w->flows.module) {
        HP_TRY(frames_at(w, edge->to.offset));
        if (w->frames.n && w->frames.entry == edge->to.offset) {
            const char *own = w->frames.frames[w->frames.n - 1].function;
            *name = hp_strings_add(&w->tree.names, own, strlen(own));
            return *name ? HP_OK : hp_fail_nomem();
        }
    }
    if (!function || !function->linkage[0])
        return HP_OK;
    size_t length = strlen(function->linkage);
    *name = function->linkage;
    if (length <= 4 || strcmp(function->linkage + length - 4, "@plt") != 0)
        return HP_OK;
    *name = hp_strings_add(&w->tree.names, function->linkage, length - 4);
    return *name ? HP_OK : hp_fail_nomem();
}

/* Calls, and jumps to where another function begins. */
static bool is_call(const struct writer *w, const struct hp_pedge *edge)
{
    if (!edge->taken)
        return false;
    if (hp_flow_is_call(edge->flow))
        return true;
    const struct hp_pfunction *function = hp_flows_function(&w->flows, edge->to);
    return function && edge->flow != HP_FLOW_RETURN && edge->flow != HP_FLOW_SYSCALL &&
           (edge->from.module != edge->to.module ||
            edge->from.offset - edge->to.offset >= function->size) &&
           !is_part(function->linkage);
}

static enum hp_err add_calls(struct writer *w)
{
    for (size_t i = 0; i < w->flows.profile->n_edges; i++) {
        const struct hp_pedge *edge = &w->flows.profile->edges[i];
        const char *target;
        if (!hp_flows_leaves(&w->flows, i) || !w->flows.edges[i] || !is_call(w, edge))
            continue;
        HP_TRY(target_of(w, edge, &target));
        if (!target || !hp_llvm_name_fits(target))
            continue;
        HP_TRY(frames_at(w, edge->from.offset));
        HP_TRY(add_code(w, w->flows.edges[i], target));
    }
    return HP_OK;
}

static enum hp_err add_module(struct writer *w, const struct hp_export_request *request,
                              uint32_t module)
{
    const struct hp_pmodule *file = &request->profile->modules[module];
    HP_TRY(hp_flows_init(&w->flows, request, module));
    hp_add_up(&w->executed, w->flows.instructions);
    HP_TRY(hp_symbols_open(file->path, file->build_id, &w->symbols));
    HP_TRY(add_lines(w));
    return add_calls(w);
}

static enum hp_err write_llvm_sample(struct hp_export_request *request)
{
    struct writer w HP_CLEANUP(fini_writer) = {0};
    const struct hp_profile *p = request->profile;
    uint32_t *modules HP_CLEANUP(hp_free) = NULL;
    size_t n;
    HP_TRY(hp_export_modules(p, request->module, &modules, &n));
    for (size_t i = 0; i < n; i++) {
        fini_module(&w);
        enum hp_err err = add_module(&w, request, modules[i]);
        if (err != HP_OK && !hp_export_skips(err, n))
            return err;
    }
    if (!w.placed)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s: no debug information tells where functions begin: compile with "
                       "-gline-tables-only -fdebug-info-for-profiling, and record again",
                       n == 1 ? p->modules[modules[0]].path : "all modules");
    hp_flows_written(&w.flows, request, "instructions", w.placed, w.executed,
                     "in code without debug information");
    return hp_llvm_tree_write(&w.tree, request->out);
}

const struct hp_export_format hp_format_llvm_sample = {
    .name = "llvm-sample",
    .summary = "a sample profile for clang's -fprofile-sample-use, as text",
    .write = write_llvm_sample,
    .one_module = true,
    .all_modules = true,
};
