// SPDX-License-Identifier: MIT
/*
 * Walks over all code of the file that has lines, executed or not, and then over what was executed:
 * a line is entered where control comes to it from another one, and once more with every turn of a
 * loop in it. What comes back from a call in it does not enter it. Neither does code of it that the
 * compiler moved among that of other lines: no statement begins there.
 */

#include "base/bisect.h"
#include "base/map64.h"
#include "export/coverage/lcov_lines.h"
#include "export/export.h"
#include "export/flows.h"
#include "symbols/module_code.h"
#include "symbols/symbols.h"
#include "text/number.h"

#include <stdlib.h>

/* A line of a function. */
struct source {
    const char *file; /* "": not known */
    uint32_t line;
    uint64_t function, instance;
    bool statement; /* begins there */
};

struct writer {
    const struct hp_flows *flows;
    const struct hp_profile *profile;
    struct hp_symbols *symbols;
    struct hp_module_code *code;
    struct hp_decoder *decoder;
    struct hp_source_frames frames;
    struct hp_flow_range *ranges;
    size_t n_ranges;
    struct hp_lcov_lines lines;
    struct hp_map64 functions; /* seen: by their first instruction */
    struct hp_map64 calls;     /* executed blocks that end with one: by where they end */
    uint64_t written;          /* instructions */
};

/* --- Lines of code ---------------------------------------------------------------------------- */

static enum hp_err source_at(struct writer *w, uint64_t offset, struct source *source)
{
    enum hp_err err = hp_symbols_frames(w->symbols, offset, &w->frames);
    *source = (struct source){.file = ""};
    if (err == HP_ERR_NOTFOUND)
        return HP_OK;
    HP_TRY(err);
    *source = (struct source){w->frames.frames[0].file, w->frames.frames[0].line, w->frames.entry,
                              w->frames.inner, w->frames.statement};
    return HP_OK;
}

static bool is_known(const struct source *source)
{
    return source->line && source->file[0];
}

/* Names of files are kept once: equal ones are the same pointer. */
static bool same_line(const struct source *a, const struct source *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

/* --- All code --------------------------------------------------------------------------------- */

/* The function of w->frames, when it is met for the first time. */
static enum hp_err add_function(struct writer *w)
{
    const struct hp_source_frame *outer = &w->frames.frames[w->frames.n - 1];
    uint64_t entry = w->frames.entry;
    if (hp_map64_get(&w->functions, entry) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_map64_put(&w->functions, entry, 0));
    struct hp_lcov_function function = {
        .file = outer->file, .line = outer->first_line, .name = outer->function};
    function.count = hp_flows_entries(w->flows, entry);
    /* The line that it is declared in has no code when the brace is on the next one. */
    struct hp_lcov_line line = {outer->file, outer->first_line, entry, 0, function.count};
    HP_TRY(hp_lcov_add_line(&w->lines, &line));
    return hp_lcov_add_function(&w->lines, &function);
}

/* A conditional branch of a line, and how often it went which way. */
static enum hp_err add_branch(struct writer *w, const struct source *source, uint64_t offset)
{
    const struct hp_pedge *edges = w->profile->edges;
    struct hp_lcov_branch branch = {.file = source->file, .line = source->line, .at = offset};
    size_t end;
    for (size_t i =
             hp_flows_departures(w->flows, (struct hp_place){w->flows->module, offset}, &end);
         i < end; i++) {
        uint64_t *count = edges[i].taken ? &branch.taken : &branch.fell;
        *count = hp_saturating_add(*count, w->flows->edges[i]);
    }
    return hp_lcov_add_branch(&w->lines, &branch);
}

/* The conditional branches of a line's code from one offset to another. */
static enum hp_err add_branches(struct writer *w, const struct source *source, uint64_t from,
                                uint64_t to)
{
    uint8_t bytes[16];
    /* Nothing tells Thumb code from other code here. */
    if (w->profile->run.arch == HP_ARCH_ARM)
        return HP_OK;
    while (from < to) {
        struct hp_insn insn;
        size_t n = hp_module_code_read(w->code, from, bytes, sizeof bytes);
        if (!n || hp_decode(w->decoder, HP_MODE_DEFAULT, from, bytes, n, true, &insn) != HP_OK ||
            !insn.length)
            return HP_OK;
        if (insn.flow == HP_FLOW_COND)
            HP_TRY(add_branch(w, source, from));
        from += insn.length;
    }
    return HP_OK;
}

/* The most executions of an instruction from one offset to another. */
static uint64_t most_of(const struct writer *w, uint64_t from, uint64_t to)
{
    uint64_t most = 0;
    size_t low = HP_BISECT(i, 0, w->n_ranges, w->ranges[i].to <= from);
    for (; low < w->n_ranges && w->ranges[low].from < to; low++)
        if (w->ranges[low].count > most)
            most = w->ranges[low].count;
    return most;
}

/* One part of the file that is code. */
static enum hp_err add_code(struct writer *w, uint64_t from, uint64_t to)
{
    while (from < to) {
        struct source source;
        HP_TRY(source_at(w, from, &source));
        uint64_t until = w->frames.until < to ? w->frames.until : to;
        if (w->frames.n)
            HP_TRY(add_function(w));
        if (is_known(&source)) {
            struct hp_lcov_line line = {source.file, source.line, source.instance, 0,
                                        most_of(w, from, until)};
            HP_TRY(hp_lcov_add_line(&w->lines, &line));
            HP_TRY(add_branches(w, &source, from, until));
        }
        from = until;
    }
    return HP_OK;
}

/* --- Executed code ---------------------------------------------------------------------------- */

/* A line is entered, or goes round. */
static enum hp_err enter(struct writer *w, const struct source *source, uint64_t count, bool turns)
{
    struct hp_lcov_line line = {source->file, source->line, source->instance, count, 0};
    return count && (source->statement || turns) ? hp_lcov_add_line(&w->lines, &line) : HP_OK;
}

/* Lines that follow each other in a block. */
static enum hp_err walk_block(struct writer *w, const struct hp_pblock *block, uint64_t count)
{
    uint64_t at = block->place.offset, end = at + block->size;
    struct source last = {.file = ""};
    while (at < end) {
        struct source source;
        HP_TRY(source_at(w, at, &source));
        if (is_known(&source)) {
            if (is_known(&last) && !same_line(&source, &last))
                HP_TRY(enter(w, &source, count, false));
            if (!is_known(&last))
                w->written = hp_saturating_add(w->written, count * block->insns);
            last = source;
        }
        at = w->frames.until;
    }
    return HP_OK;
}

#define MAX_TURN 8 /* blocks of a loop in one line */

/* Whether control can come from an offset to the branch at `goal` without leaving a line. */
static enum hp_err comes_to(struct writer *w, uint64_t offset, uint64_t goal,
                            const struct source *line, int depth, bool *found)
{
    const struct hp_pblock *block = &w->profile->blocks[hp_flows_block(w->flows, offset)];
    struct source last;
    if (block == &w->profile->blocks[w->flows->end_block] || block->place.offset != offset)
        return HP_OK;
    struct hp_place branch = {w->flows->module, offset + block->branch};
    HP_TRY(source_at(w, branch.offset, &last));
    *found = same_line(&last, line) && branch.offset == goal;
    if (*found || !depth || !same_line(&last, line))
        return HP_OK;
    if (block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND)
        return comes_to(w, offset + block->size, goal, line, depth - 1, found);
    const struct hp_pedge *edges = w->profile->edges;
    size_t end;
    for (size_t i = hp_flows_departures(w->flows, branch, &end); !*found && i < end; i++)
        if (hp_flows_enters(w->flows, i) && w->flows->edges[i])
            HP_TRY(comes_to(w, edges[i].to.offset, goal, line, depth - 1, found));
    return HP_OK;
}

/* Whether an edge inside of a line closes a loop in it. */
static enum hp_err goes_round(struct writer *w, size_t i, const struct source *line, bool *round)
{
    const struct hp_pedge *edge = &w->profile->edges[i];
    *round = false;
    if ((edge->flow != HP_FLOW_COND && edge->flow != HP_FLOW_JUMP) || !edge->taken ||
        !hp_flows_leaves(w->flows, i) || edge->to.offset > edge->from.offset)
        return HP_OK;
    return comes_to(w, edge->to.offset, edge->from.offset, line, MAX_TURN, round);
}

/* Where control comes from over an edge: the branch, or, behind a call that it came back to, the
 * call. */
static enum hp_err origin_of(struct writer *w, size_t i, const struct source *target,
                             struct source *origin)
{
    const struct hp_pedge *edge = &w->profile->edges[i];
    *origin = (struct source){.file = ""};
    if (hp_flows_leaves(w->flows, i))
        HP_TRY(source_at(w, edge->from.offset, origin));
    if (is_known(origin) && origin->function == target->function && edge->flow != HP_FLOW_RETURN)
        return HP_OK;
    uint32_t call = hp_map64_get(&w->calls, edge->to.offset);
    *origin = (struct source){.file = ""};
    if (call == HP_MAP64_NONE)
        return HP_OK;
    const struct hp_pblock *block = &w->profile->blocks[call];
    return source_at(w, block->place.offset + block->branch, origin);
}

/* The first line of a block: by the edges that lead there, and what they do not explain (a thread's
 * start, a signal's handler). */
static enum hp_err enter_block(struct writer *w, const struct hp_pblock *block, uint64_t count)
{
    struct source target, origin;
    size_t n;
    HP_TRY(source_at(w, block->place.offset, &target));
    if (!is_known(&target))
        return HP_OK;
    const uint32_t *arrivals = hp_flows_arrivals(w->flows, block->place.offset, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t passed = w->flows->edges[arrivals[i]];
        uint8_t flow = w->profile->edges[arrivals[i]].flow;
        count -= passed < count ? passed : count;
        HP_TRY(origin_of(w, arrivals[i], &target, &origin));
        bool same = same_line(&origin, &target), turns = false;
        if (same)
            HP_TRY(goes_round(w, arrivals[i], &target, &turns));
        if (flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND || !same || turns)
            HP_TRY(enter(w, &target, passed, turns));
    }
    return enter(w, &target, count, false);
}

static enum hp_err walk_blocks(struct writer *w)
{
    const struct hp_flows *flows = w->flows;
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        const struct hp_pblock *block = &w->profile->blocks[i];
        if (flows->blocks[i] && (block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND))
            HP_TRY(hp_map64_put(&w->calls, block->place.offset + block->size, (uint32_t)i));
    }
    for (size_t i = flows->first_block; i < flows->end_block; i++) {
        if (!flows->blocks[i])
            continue;
        HP_TRY(walk_block(w, &w->profile->blocks[i], flows->blocks[i]));
        HP_TRY(enter_block(w, &w->profile->blocks[i], flows->blocks[i]));
    }
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err write_lines(struct writer *w, FILE *out)
{
    const struct hp_pmodule *module = &w->profile->modules[w->flows->module];
    uint64_t from, to;
    HP_TRY(hp_symbols_open(module->path, module->build_id, &w->symbols));
    HP_TRY(hp_module_code_open(module->path, NULL, 0, &w->code));
    HP_TRY(hp_decoder_new(w->profile->run.arch, &w->decoder));
    HP_TRY(hp_flows_ranges(w->flows, &w->ranges, &w->n_ranges));
    for (size_t i = 0; hp_module_code_range(w->code, i, &from, &to); i++)
        HP_TRY(add_code(w, from, to));
    if (!w->lines.n_lines)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s has no line information: compile it with -g, and record again",
                       module->path);
    HP_TRY(walk_blocks(w));
    hp_lcov_write(&w->lines, out);
    return HP_OK;
}

static enum hp_err write_lcov(const struct hp_profile *profile,
                              const struct hp_export_request *request, FILE *out,
                              struct hp_export_written *written)
{
    struct hp_flows *flows;
    HP_TRY(hp_flows_new(profile, request, &flows));
    struct writer w = {.flows = flows, .profile = profile};
    enum hp_err err = write_lines(&w, out);
    *written = (struct hp_export_written){
        .unit = "instructions", .written = w.written, .total = hp_flows_instructions(flows)};
    hp_flows_missing(flows, "in code without lines", written);
    hp_lcov_fini(&w.lines);
    hp_map64_fini(&w.functions);
    hp_map64_fini(&w.calls);
    hp_symbols_close(w.symbols);
    hp_module_code_close(w.code);
    hp_decoder_free(w.decoder);
    free(w.frames.frames);
    free(w.ranges);
    hp_flows_free(flows);
    return err;
}

const struct hp_export_format hp_format_lcov = {
    .name = "lcov",
    .summary = "coverage by source lines: a tracefile for lcov and genhtml",
    .source = HP_EXPORT_PROFILE,
    .write = write_lcov,
};
