// SPDX-License-Identifier: MIT
/*
 * A line of a function ran as often as its most often executed instruction, as AutoFDO and
 * llvm-profgen have it. Lines of executed functions that did not run are there, with 0: else the
 * compiler has to guess.
 */

#include "export/export.h"
#include "export/flows.h"
#include "export/optimizers/llvm_tree.h"
#include "report/tables.h"
#include "symbols/symbols.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    const struct hp_flows *flows;
    const struct hp_profile *profile;
    struct hp_symbols *symbols;
    struct hp_source_frames frames;
    struct hp_llvm_tree tree;
    struct hp_flow_range *ranges;
    size_t n_ranges;
    struct hp_map64 entered; /* first instructions of functions whose entries are counted */
};

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
        hp_flows_function(w->flows, (struct hp_place){w->flows->module, entry});
    if (function && is_part(function->linkage))
        return 0;
    return hp_flows_entries(w->flows, entry);
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
        const char *name = frame->function;
        /* A call that was inlined without a line has no place in its caller. */
        bool placed = outer || w->frames.frames[i + 1].line;
        if (!hp_llvm_name_fits(name) || !frame->first_line || !placed) {
            *node = HP_LLVM_NONE;
            return HP_OK;
        }
        HP_TRY(hp_llvm_tree_node(&w->tree, *node, at, name, node));
        if (outer && hp_map64_get(&w->entered, w->frames.entry) == HP_MAP64_NONE) {
            HP_TRY(hp_map64_put(&w->entered, w->frames.entry, 0));
            w->tree.nodes[*node].head =
                hp_saturating_add(w->tree.nodes[*node].head, entries_of(w, w->frames.entry));
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
    struct hp_llvm_entry entry = {.node = node,
                                  .at = location_of(leaf),
                                  .target = target,
                                  .instance = w->frames.entry,
                                  .count =
                                      count > UINT64_MAX / copies ? UINT64_MAX : count * copies};
    return hp_llvm_tree_add(&w->tree, &entry);
}

/* Looks up the frames at an offset; none is fine. */
static enum hp_err frames_at(struct writer *w, uint64_t offset)
{
    enum hp_err err = hp_symbols_frames(w->symbols, offset, &w->frames);
    return err == HP_ERR_NOTFOUND ? HP_OK : err;
}

/* All code from one offset to another, in pieces that are the same line. `*range` is where in the
 * ranges it is. */
static enum hp_err add_piece(struct writer *w, uint64_t from, uint64_t to, size_t *range)
{
    while (from < to) {
        HP_TRY(frames_at(w, from));
        uint64_t until = w->frames.until < to ? w->frames.until : to, most = 0;
        while (*range < w->n_ranges && w->ranges[*range].to <= from)
            ++*range;
        for (size_t i = *range; i < w->n_ranges && w->ranges[i].from < until; i++)
            if (w->ranges[i].count > most)
                most = w->ranges[i].count;
        HP_TRY(add_code(w, most, NULL));
        from = until;
    }
    return HP_OK;
}

/* A run of bytes. */
struct piece {
    uint64_t from, to;
};

static int order_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Executed code, and the rest of the functions that it is in; in any order, with overlaps. */
static size_t list_pieces(const struct writer *w, struct piece *pieces)
{
    const struct hp_profile *p = w->profile;
    uint32_t last = HP_PROFILE_NONE;
    size_t n = 0;
    for (size_t i = 0; i < w->n_ranges; i++)
        pieces[n++] = (struct piece){w->ranges[i].from, w->ranges[i].to};
    for (size_t i = w->flows->first_block; i < w->flows->end_block; i++) {
        uint32_t function = p->blocks[i].function;
        if (!w->flows->blocks[i] || function == last || function == HP_PROFILE_NONE ||
            p->functions[function].place.module != w->flows->module)
            continue;
        last = function;
        uint64_t from = p->functions[function].place.offset;
        pieces[n++] = (struct piece){from, from + p->functions[function].size};
    }
    return n;
}

static enum hp_err add_lines(struct writer *w)
{
    size_t range = 0, n, n_blocks = w->flows->end_block - w->flows->first_block;
    struct piece *pieces = calloc(w->n_ranges + n_blocks + 1, sizeof *pieces);
    enum hp_err err = HP_OK;
    uint64_t done = 0;
    if (!pieces)
        return hp_fail_nomem();
    n = list_pieces(w, pieces);
    qsort(pieces, n, sizeof *pieces, order_pieces);
    for (size_t i = 0; i < n && err == HP_OK; i++) {
        uint64_t from = pieces[i].from > done ? pieces[i].from : done;
        if (pieces[i].to <= from)
            continue;
        err = add_piece(w, from, pieces[i].to, &range);
        done = pieces[i].to;
    }
    free(pieces);
    return err;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* The name of what a call leads to; NULL: not known. It is written into `text` where it has to be
 * made. */
static enum hp_err target_of(struct writer *w, const struct hp_pedge *edge, char **text,
                             const char **name)
{
    const struct hp_pfunction *function = hp_flows_function(w->flows, edge->to);
    *name = NULL;
    *text = NULL;
    if (edge->to.module == w->flows->module) {
        HP_TRY(frames_at(w, edge->to.offset));
        if (w->frames.n && w->frames.entry == edge->to.offset) {
            *name = w->frames.frames[w->frames.n - 1].function;
            return HP_OK;
        }
    }
    if (!function || !function->linkage[0])
        return HP_OK;
    size_t length = strlen(function->linkage);
    *name = function->linkage;
    if (length <= 4 || strcmp(function->linkage + length - 4, "@plt") != 0)
        return HP_OK;
    *name = *text = strndup(function->linkage, length - 4);
    return *text ? HP_OK : hp_fail_nomem();
}

/* Calls, and jumps to where another function begins. */
static bool is_call(const struct writer *w, const struct hp_pedge *edge)
{
    if (!edge->taken)
        return false;
    if (edge->flow == HP_FLOW_CALL || edge->flow == HP_FLOW_CALL_IND)
        return true;
    const struct hp_pfunction *function = hp_flows_function(w->flows, edge->to);
    return function && edge->flow != HP_FLOW_RETURN && edge->flow != HP_FLOW_SYSCALL &&
           (edge->from.module != edge->to.module ||
            edge->from.offset - edge->to.offset >= function->size) &&
           !is_part(function->linkage);
}

static enum hp_err add_calls(struct writer *w)
{
    for (size_t i = 0; i < w->profile->n_edges; i++) {
        const struct hp_pedge *edge = &w->profile->edges[i];
        const char *target;
        char *text;
        if (!hp_flows_leaves(w->flows, i) || !w->flows->edges[i] || !is_call(w, edge))
            continue;
        HP_TRY(target_of(w, edge, &text, &target));
        enum hp_err err = HP_OK;
        if (target && hp_llvm_name_fits(target))
            err = frames_at(w, edge->from.offset);
        else
            w->frames.n = 0;
        if (err == HP_OK)
            err = add_code(w, w->flows->edges[i], target);
        free(text);
        HP_TRY(err);
    }
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

/* Instructions that have a place in the profile. */
static enum hp_err count_written(struct writer *w, struct hp_export_written *written)
{
    *written = (struct hp_export_written){.unit = "instructions",
                                          .total = hp_flows_instructions(w->flows)};
    for (size_t i = w->flows->first_block; i < w->flows->end_block; i++) {
        const struct hp_pblock *block = &w->profile->blocks[i];
        if (!w->flows->blocks[i])
            continue;
        HP_TRY(frames_at(w, block->place.offset));
        if (w->frames.n && w->frames.frames[w->frames.n - 1].first_line)
            written->written =
                hp_saturating_add(written->written, w->flows->blocks[i] * block->insns);
    }
    hp_flows_missing(w->flows, "in code without debug information", written);
    return HP_OK;
}

static enum hp_err write_profile(struct writer *w, FILE *out, struct hp_export_written *written)
{
    const struct hp_pmodule *module = &w->profile->modules[w->flows->module];
    HP_TRY(hp_symbols_open(module->path, module->build_id, &w->symbols));
    HP_TRY(hp_flows_ranges(w->flows, &w->ranges, &w->n_ranges));
    HP_TRY(count_written(w, written));
    if (!written->written)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s has no debug information that tells where functions begin: compile "
                       "it with -gline-tables-only -fdebug-info-for-profiling, and record again",
                       module->path);
    HP_TRY(add_lines(w));
    HP_TRY(add_calls(w));
    hp_llvm_tree_finish(&w->tree);
    return hp_llvm_tree_write(&w->tree, out);
}

static enum hp_err write_llvm_sample(const struct hp_profile *profile,
                                     const struct hp_export_request *request, FILE *out,
                                     struct hp_export_written *written)
{
    struct hp_flows *flows;
    HP_TRY(hp_flows_new(profile, request, &flows));
    struct writer w = {.flows = flows, .profile = profile};
    enum hp_err err = write_profile(&w, out, written);
    hp_llvm_tree_fini(&w.tree);
    hp_map64_fini(&w.entered);
    hp_symbols_close(w.symbols);
    free(w.frames.frames);
    free(w.ranges);
    hp_flows_free(flows);
    return err;
}

const struct hp_export_format hp_format_llvm_sample = {
    .name = "llvm-sample",
    .summary = "a sample profile for clang's -fprofile-sample-use, as text",
    .write = write_llvm_sample,
};
