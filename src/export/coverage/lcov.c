// SPDX-License-Identifier: MIT
/*
 * Walks over all code of the file that has lines, executed or not, and then over what was executed:
 * a line is entered where control comes to it from another one, and once more with every turn of a
 * loop in it. What comes back from a call in it does not enter it. Neither does code of it that the
 * compiler moved among that of other lines: no statement begins there.
 */

#include "base/base.h"
#include "base/map64.h"
#include "export/coverage/lcov_lines.h"
#include "export/flows.h"
#include "symbols/module_code.h"
#include "symbols/symbols.h"
#include "text/number.h"

/* A line of a function. */
struct source {
    const char *file; /* "": not known */
    uint32_t line;
    uint64_t function, instance;
    bool statement; /* begins there */
};

struct writer {
    struct hp_flows flows;
    struct hp_symbols *symbols; /* of the module */
    struct hp_symbols **all;    /* of those before it, too: rows have their strings */
    size_t n_all;
    struct hp_module_code *code;
    struct hp_decoder *decoder;
    struct hp_source_frames frames;
    struct hp_lcov_rows rows;
    struct hp_map64 functions;  /* seen: by their first instruction */
    struct hp_map64 calls;      /* executed blocks that end with one: by where they end */
    uint64_t written, executed; /* instructions */
    bool failed;                /* memory ran out */
};

/* What is of one module. */
static void fini_module(struct writer *w)
{
    hp_map64_fini(&w->functions);
    hp_map64_fini(&w->calls);
    hp_module_code_close(w->code);
    hp_flows_fini(&w->flows);
    w->code = NULL;
    w->flows = (struct hp_flows){0};
}

static void release(struct writer *w)
{
    fini_module(w);
    for (size_t i = 0; i < w->n_all; i++)
        hp_symbols_close(w->all[i]);
    free(w->all);
    free(w->rows.rows);
    hp_decoder_free(w->decoder);
    free(w->frames.frames);
}

/* --- Lines of code ---------------------------------------------------------------------------- */

static struct source source_at(struct writer *w, uint64_t offset)
{
    enum hp_err err = hp_symbols_frames(w->symbols, offset, &w->frames);
    if (err == HP_OK)
        return (struct source){w->frames.frames[0].file, w->frames.frames[0].line, w->frames.entry,
                               hp_flows_instance(&w->flows, w->frames.inner), w->frames.statement};
    if (err != HP_ERR_NOTFOUND) {
        w->failed = true;
        w->frames.n = 0;
        w->frames.until = UINT64_MAX;
    }
    return (struct source){.file = ""};
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

/* Code of a line: how often it was entered, how often its instructions were executed. */
static void add_line(struct writer *w, const struct source *source, uint64_t entered, uint64_t most)
{
    struct hp_lcov_row row = {HP_LCOV_LINE, source->line,     source->file,
                              "",           source->instance, {entered, most}};
    hp_lcov_add(&w->rows, &row);
}

/* --- All code --------------------------------------------------------------------------------- */

/* The function of w->frames, when it is met for the first time. */
static void add_function(struct writer *w)
{
    const struct hp_source_frame *outer = &w->frames.frames[w->frames.n - 1];
    uint64_t entry = w->frames.entry;
    if (hp_map64_get(&w->functions, entry) != HP_MAP64_NONE)
        return;
    w->failed |= hp_map64_put(&w->functions, entry, 0) != HP_OK;
    uint64_t count = hp_flows_entries(&w->flows, entry);
    struct hp_lcov_row row = {HP_LCOV_FUNCTION, outer->first_line, outer->file, outer->function, 0,
                              {count}};
    hp_lcov_add(&w->rows, &row);
    /* The line that it is declared in has no code when the brace is on the next one. */
    uint64_t instance = hp_flows_instance(&w->flows, entry);
    add_line(w, &(struct source){outer->file, outer->first_line, 0, instance, true}, 0, count);
}

/* The conditional branches between two offsets of a line, and how often each went which way. */
static void add_branches(struct writer *w, const struct source *source, uint64_t from, uint64_t to)
{
    uint8_t bytes[16];
    struct hp_insn insn;
    /* Nothing tells Thumb code from other code here. */
    if (w->flows.profile->run.arch == HP_ARCH_ARM)
        return;
    for (; from < to; from += insn.length) {
        struct hp_place place = {w->flows.module, from};
        size_t n = hp_module_code_read(w->code, from, bytes, sizeof bytes), end;
        if (!n || hp_decode(w->decoder, HP_MODE_DEFAULT, from, bytes, n, true, &insn) != HP_OK ||
            !insn.length)
            return;
        if (insn.flow != HP_FLOW_COND)
            continue;
        uint64_t instance = hp_flows_instance(&w->flows, from);
        struct hp_lcov_row row = {HP_LCOV_BRANCH, source->line, source->file, "", instance, {0}};
        for (size_t i = hp_flows_departures(&w->flows, place, &end); i < end; i++)
            hp_add_up(&row.counts[w->flows.profile->edges[i].taken ? 0 : 1], w->flows.edges[i]);
        hp_lcov_add(&w->rows, &row);
    }
}

/* One part of the file that is code. */
static void add_code(struct writer *w, uint64_t from, uint64_t to)
{
    while (from < to) {
        struct source source = source_at(w, from);
        uint64_t until = w->frames.until < to ? w->frames.until : to;
        if (w->frames.n)
            add_function(w);
        if (is_known(&source)) {
            add_line(w, &source, 0, hp_flows_executed(&w->flows, from, until));
            add_branches(w, &source, from, until);
        }
        from = until;
    }
}

/* --- Executed code ---------------------------------------------------------------------------- */

/* A line is entered, or goes round. */
static void enter(struct writer *w, const struct source *source, uint64_t count, bool turns)
{
    if (count && (source->statement || turns))
        add_line(w, source, count, 0);
}

/* Lines that follow each other in a block. */
static void walk_block(struct writer *w, const struct hp_pblock *block, uint64_t count)
{
    uint64_t end = block->place.offset + block->size;
    struct source last = {.file = ""};
    for (uint64_t at = block->place.offset; at < end; at = w->frames.until) {
        struct source source = source_at(w, at);
        if (!is_known(&source))
            continue;
        if (!is_known(&last))
            hp_add_up(&w->written, count * block->insns);
        else if (!same_line(&source, &last))
            enter(w, &source, count, false);
        last = source;
    }
}

#define MAX_TURN 8 /* blocks of a loop in one line */

/* Whether control can come from an offset to the branch at `goal` without leaving a line. */
static bool comes_to(struct writer *w, uint64_t offset, uint64_t goal, const struct source *line,
                     int depth)
{
    size_t found = hp_flows_block(&w->flows, offset), end;
    const struct hp_pblock *block = &w->flows.profile->blocks[found];
    if (found == w->flows.end_block || block->place.offset != offset)
        return false;
    struct hp_place branch = {w->flows.module, offset + block->branch};
    struct source last = source_at(w, branch.offset);
    if (!same_line(&last, line) || branch.offset == goal || !depth)
        return same_line(&last, line) && branch.offset == goal;
    if (hp_flow_is_call(block->flow))
        return comes_to(w, offset + block->size, goal, line, depth - 1);
    for (size_t i = hp_flows_departures(&w->flows, branch, &end); i < end; i++)
        if (hp_flows_enters(&w->flows, i) && w->flows.edges[i] &&
            comes_to(w, w->flows.profile->edges[i].to.offset, goal, line, depth - 1))
            return true;
    return false;
}

/* Whether an edge inside of a line closes a loop in it. */
static bool goes_round(struct writer *w, size_t i, const struct source *line)
{
    const struct hp_pedge *edge = &w->flows.profile->edges[i];
    return (edge->flow == HP_FLOW_COND || edge->flow == HP_FLOW_JUMP) && edge->taken &&
           hp_flows_leaves(&w->flows, i) && edge->to.offset <= edge->from.offset &&
           comes_to(w, edge->to.offset, edge->from.offset, line, MAX_TURN);
}

/* Where control comes from over an edge: the branch, or the call that it returned from. */
static struct source origin_of(struct writer *w, size_t i, const struct source *target)
{
    const struct hp_pedge *edge = &w->flows.profile->edges[i];
    struct source origin = {.file = ""};
    if (hp_flows_leaves(&w->flows, i) && edge->flow != HP_FLOW_RETURN)
        origin = source_at(w, edge->from.offset);
    if (is_known(&origin) && origin.function == target->function)
        return origin;
    uint32_t call = hp_map64_get(&w->calls, edge->to.offset);
    if (call == HP_MAP64_NONE)
        return (struct source){.file = ""};
    const struct hp_pblock *block = &w->flows.profile->blocks[call];
    return source_at(w, block->place.offset + block->branch);
}

/* The first line of a block: by the edges that lead there, and what they do not explain (a thread's
 * start, a signal's handler). */
static void enter_block(struct writer *w, const struct hp_pblock *block, uint64_t count)
{
    struct source target = source_at(w, block->place.offset);
    size_t n;
    if (!is_known(&target))
        return;
    const uint32_t *arrivals = hp_flows_arrivals(&w->flows, block->place.offset, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t passed = w->flows.edges[arrivals[i]];
        struct source origin = origin_of(w, arrivals[i], &target);
        bool same = same_line(&origin, &target);
        bool turns = same && goes_round(w, arrivals[i], &target);
        count -= passed < count ? passed : count;
        if (hp_flow_is_call(w->flows.profile->edges[arrivals[i]].flow) || !same || turns)
            enter(w, &target, passed, turns);
    }
    enter(w, &target, count, false);
}

static void walk_blocks(struct writer *w)
{
    const struct hp_flows *flows = &w->flows;
    const struct hp_pblock *blocks = w->flows.profile->blocks;
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        if (flows->blocks[i] && hp_flow_is_call(blocks[i].flow))
            w->failed |= hp_map64_put(&w->calls, blocks[i].place.offset + blocks[i].size,
                                      (uint32_t)i) != HP_OK;
    for (size_t i = flows->first_block; i < flows->end_block; i++)
        if (flows->blocks[i]) {
            walk_block(w, &blocks[i], flows->blocks[i]);
            enter_block(w, &blocks[i], flows->blocks[i]);
        }
}

/* --- The file --------------------------------------------------------------------------------- */

static enum hp_err add_module(struct writer *w, const struct hp_export_request *request,
                              uint32_t module)
{
    const struct hp_pmodule *file = &request->profile->modules[module];
    uint64_t from, to;
    HP_TRY(hp_flows_init(&w->flows, request, module));
    hp_add_up(&w->executed, w->flows.instructions);
    HP_TRY(hp_symbols_open(file->path, file->build_id, &w->symbols));
    w->all[w->n_all++] = w->symbols;
    HP_TRY(hp_module_code_open(file->path, NULL, 0, &w->code));
    for (size_t i = 0; hp_module_code_range(w->code, i, &from, &to); i++)
        add_code(w, from, to);
    walk_blocks(w);
    return w->failed || w->rows.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err write_lcov(struct hp_export_request *request)
{
    const struct hp_profile *p = request->profile;
    struct writer w HP_CLEANUP(release) = {0};
    uint32_t *modules HP_CLEANUP(hp_free) = NULL;
    size_t n;
    HP_TRY(hp_export_modules(p, request->module, &modules, &n));
    HP_TRY(hp_decoder_new(p->run.arch, &w.decoder));
    HP_TRY(hp_new(&w.all, n, sizeof *w.all));
    for (size_t i = 0; i < n; i++) {
        fini_module(&w);
        enum hp_err err = add_module(&w, request, modules[i]);
        if (err != HP_OK && !hp_export_skips(err, n))
            return err;
    }
    if (!w.rows.n)
        return hp_fail(HP_ERR_INVALID,
                       "%.300s: no line information: compile with -g, and record again",
                       n == 1 ? p->modules[modules[0]].path : "all modules");
    hp_lcov_write(&w.rows, request->out);
    hp_flows_written(&w.flows, request, "instructions", w.written, w.executed,
                     "in code without lines");
    return HP_OK;
}

const struct hp_export_format hp_format_lcov = {
    .name = "lcov",
    .summary = "coverage by source lines: a tracefile for lcov and genhtml",
    .write = write_lcov,
    .one_module = true,
    .all_modules = true,
};
