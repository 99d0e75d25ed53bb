// SPDX-License-Identifier: MIT
/*
 * fdata, as perf2bolt writes it: a line for every pair of places between which control went,
 *
 *   <is symbol> <function> <offset> <is symbol> <function> <offset> <mispredicted> <count>
 *
 * for taken branches and calls, and for running from one of BOLT's basic blocks into the next.
 * Returns are left out, but for those that come from outside: BOLT knows where they lead. What is
 * outside of the file is "0 [unknown] 0".
 */
#include "export/optimizers/bolt.h"
#include "base/base.h"
#include "text/number.h"

/* In place of an offset: what is outside of the file, or cannot be named. */
#define OUTSIDE UINT64_MAX

struct record {
    uint64_t from, to; /* offsets in the module; OUTSIDE */
    uint64_t count, mispredicted;
};

struct writer {
    struct hp_flows flows;
    struct hp_bolt_image image;
    struct record *records;
    size_t n, capacity;
    uint64_t branches, unnamed; /* taken ones: written, and in code without a symbol */
};

static void fini_writer(struct writer *w)
{
    hp_flows_fini(&w->flows);
    hp_bolt_image_close(&w->image);
    free(w->records);
}

/* --- Records ---------------------------------------------------------------------------------- */

/* The function at an offset; NULL: none, or its name cannot be in a line. */
static const struct hp_bolt_function *function_at(const struct writer *w, uint64_t offset)
{
    const struct hp_bolt_function *function = hp_bolt_image_find(&w->image, offset);
    return function && function->name[0] && !strchr(function->name, '\n') ? function : NULL;
}

static uint64_t end_at(const struct writer *w, struct hp_place place)
{
    return place.module == w->flows.module && function_at(w, place.offset) ? place.offset : OUTSIDE;
}

static enum hp_err add_record(struct writer *w, uint64_t from, uint64_t to, uint64_t count,
                              uint64_t mispredicted)
{
    if (!count || (from == OUTSIDE && to == OUTSIDE))
        return HP_OK;
    HP_TRY(hp_grow(&w->records, &w->capacity, w->n + 1, sizeof *w->records));
    w->records[w->n++] = (struct record){from, to, count, mispredicted};
    return HP_OK;
}

/* --- Branches --------------------------------------------------------------------------------- */

/* An unconditional jump behind a conditional one is in the same block for BOLT. */
static bool is_jump(const struct hp_flows *flows, uint64_t offset)
{
    size_t i = hp_flows_block(flows, offset);
    const struct hp_pblock *block = &flows->profile->blocks[i];
    return i < flows->end_block && block->place.offset == offset && block->flow == HP_FLOW_JUMP &&
           block->insns == 1;
}

static enum hp_err add_edge(struct writer *w, size_t i)
{
    const struct hp_flows *flows = &w->flows;
    const struct hp_pedge *edge = &flows->profile->edges[i];
    uint64_t from = end_at(w, edge->from), to = end_at(w, edge->to);
    bool leaves = hp_flows_leaves(flows, i);
    if (!edge->taken) {
        if (edge->flow != HP_FLOW_COND || function_at(w, from) != function_at(w, to) ||
            hp_map64_get(&w->image.labels, to) != HP_MAP64_NONE || is_jump(flows, to))
            return HP_OK;
        return add_record(w, from, to, flows->edges[i], 0);
    }
    if (leaves && edge->flow == HP_FLOW_RETURN)
        return HP_OK;
    if (leaves)
        hp_add_up(from != OUTSIDE ? &w->branches : &w->unnamed, flows->edges[i]);
    return add_record(w, from, to, flows->edges[i], flows->mispredicted[i]);
}

/* --- Running into labels ---------------------------------------------------------------------- */

/* How often control came to an offset from above, past a branch not taken or without one. */
static uint64_t from_above(const struct writer *w, uint64_t offset)
{
    const struct hp_flows *flows = &w->flows;
    const struct hp_profile *p = flows->profile;
    uint64_t all = hp_flows_executed(flows, offset, offset + 1), sum = 0;
    size_t n;
    if (!all)
        return 0;
    for (size_t i = hp_flows_block(flows, offset);
         i < flows->end_block && p->blocks[i].place.offset == offset; i++) {
        all -= flows->blocks[i] < all ? flows->blocks[i] : all;
        hp_add_up(&sum, flows->continued[i]);
    }
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++)
        if (!p->edges[arrivals[i]].taken)
            hp_add_up(&sum, flows->edges[arrivals[i]]);
    return hp_saturating_add(sum, all);
}

static enum hp_err add_labels(struct writer *w)
{
    const struct hp_map64 *labels = &w->image.labels;
    for (size_t i = 0; labels->slots && i <= labels->mask; i++) {
        uint64_t at = labels->slots[i].key;
        uint32_t length = labels->slots[i].value;
        if (length == HP_MAP64_NONE)
            continue;
        struct hp_place to = {w->flows.module, at}, from = {w->flows.module, at - length};
        HP_TRY(add_record(w, end_at(w, from), end_at(w, to), from_above(w, at), 0));
    }
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static int order_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return HP_COMPARE(x->from, y->from) ?: HP_COMPARE(x->to, y->to);
}

/* BOLT reads a space, or a backslash, behind a backslash. */
static void put_end(const struct writer *w, uint64_t offset, FILE *out)
{
    const struct hp_bolt_function *function = function_at(w, offset);
    if (!function) {
        fputs("0 [unknown] 0 ", out);
        return;
    }
    fputs("1 ", out);
    for (const char *c = function->name; *c; c++) {
        if (*c == ' ' || *c == '\\')
            putc('\\', out);
        putc(*c, out);
    }
    fprintf(out, " %" PRIx64 " ", offset - function->from);
}

/* Those between the same ends become one: all that is outside is one place. */
static void put_records(const struct writer *w, FILE *out)
{
    hp_sort(w->records, w->n, sizeof *w->records, order_records);
    for (size_t i = 0, next; i < w->n; i = next) {
        struct record *sum = &w->records[i];
        for (next = i + 1; next < w->n && order_records(sum, &w->records[next]) == 0; next++) {
            hp_add_up(&sum->count, w->records[next].count);
            hp_add_up(&sum->mispredicted, w->records[next].mispredicted);
        }
        put_end(w, sum->from, out);
        put_end(w, sum->to, out);
        fprintf(out, "%" PRIu64 " %" PRIu64 "\n", sum->mispredicted, sum->count);
    }
}

static enum hp_err write_bolt(struct hp_export_request *request)
{
    const struct hp_profile *profile = request->profile;
    struct writer w HP_CLEANUP(fini_writer) = {0};
    enum hp_arch arch = profile->run.arch;
    uint32_t module;
    HP_TRY(hp_export_module(profile, request->module, &module));
    HP_TRY(hp_flows_init(&w.flows, request, module));
    HP_TRY(hp_bolt_image_open(&profile->modules[module], &w.image));
    if (arch != HP_ARCH_X86_64 && arch != HP_ARCH_AARCH64 && arch != HP_ARCH_RISCV64)
        return hp_fail(HP_ERR_INVALID, "BOLT does not know programs for %s", hp_arch_name(arch));
    HP_TRY(hp_bolt_image_label(&w.image, &w.flows));
    for (size_t i = 0; i < profile->n_edges; i++)
        if (hp_flows_leaves(&w.flows, i) || hp_flows_enters(&w.flows, i))
            HP_TRY(add_edge(&w, i));
    HP_TRY(add_labels(&w));
    put_records(&w, request->out);
    hp_flows_written(&w.flows, request, "branches", w.branches,
                     hp_saturating_add(w.branches, w.unnamed), "in code without a symbol");
    return HP_OK;
}

const struct hp_export_format hp_format_bolt = {
    .name = "bolt",
    .summary = "fdata, a profile for llvm-bolt -data=",
    .write = write_bolt,
    .one_module = true,
};
