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

#include "base/grow.h"
#include "export/export.h"
#include "export/flows.h"
#include "export/optimizers/bolt_image.h"
#include "export/optimizers/bolt_labels.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An end of a record: the function is NULL outside of the file. */
struct end {
    const struct hp_bolt_function *function;
    uint64_t offset; /* in it */
};

struct record {
    struct end from, to;
    uint64_t count, mispredicted;
};

struct writer {
    const struct hp_flows *flows;
    struct hp_bolt_image image;
    struct hp_bolt_labels labels;
    struct hp_flow_range *ranges;
    size_t n_ranges;
    struct record *records;
    size_t n, capacity;
    uint64_t branches, unnamed; /* taken ones: written, and in code without a symbol */
};

/* --- Records ---------------------------------------------------------------------------------- */

/* A name that cannot be in a line is none. */
static bool can_be_written(const char *name)
{
    return name[0] && !strchr(name, '\n');
}

static struct end end_at(const struct writer *w, struct hp_place place)
{
    const struct hp_bolt_function *function =
        place.module == w->flows->module ? hp_bolt_image_find(&w->image, place.offset) : NULL;
    if (!function || !can_be_written(function->name))
        return (struct end){0};
    return (struct end){function, place.offset - function->from};
}

static enum hp_err add_record(struct writer *w, struct end from, struct end to, uint64_t count,
                              uint64_t mispredicted)
{
    if (!count || (!from.function && !to.function))
        return HP_OK;
    HP_TRY(hp_grow(&w->records, &w->capacity, w->n + 1, sizeof *w->records));
    w->records[w->n++] = (struct record){from, to, count, mispredicted};
    return HP_OK;
}

static struct hp_place in_module(const struct writer *w, uint64_t offset)
{
    return (struct hp_place){w->flows->module, offset};
}

/* --- Branches --------------------------------------------------------------------------------- */

/* An unconditional jump behind a conditional one is in the same block for BOLT. */
static bool is_jump(const struct hp_flows *flows, struct hp_place place)
{
    const struct hp_profile *p = flows->profile;
    size_t i = hp_flows_block(flows, place.offset);
    return i < flows->end_block && p->blocks[i].place.offset == place.offset &&
           p->blocks[i].flow == HP_FLOW_JUMP && p->blocks[i].insns == 1;
}

static enum hp_err add_edge(struct writer *w, size_t i)
{
    const struct hp_flows *flows = w->flows;
    const struct hp_pedge *edge = &flows->profile->edges[i];
    struct end from = end_at(w, edge->from), to = end_at(w, edge->to);
    bool leaves = hp_flows_leaves(flows, i);
    if (!edge->taken) {
        if (edge->flow != HP_FLOW_COND || from.function != to.function ||
            hp_bolt_labels_has(&w->labels, edge->to.offset) || is_jump(flows, edge->to))
            return HP_OK;
        return add_record(w, from, to, flows->edges[i], 0);
    }
    if (leaves && edge->flow == HP_FLOW_RETURN)
        return HP_OK;
    if (leaves && from.function)
        w->branches = hp_saturating_add(w->branches, flows->edges[i]);
    else if (leaves)
        w->unnamed = hp_saturating_add(w->unnamed, flows->edges[i]);
    return add_record(w, from, to, flows->edges[i], flows->mispredicted[i]);
}

/* --- Running into labels ---------------------------------------------------------------------- */

/* How often control came to an offset from above: in the middle of a block, by a branch that was
 * not taken, or without one. */
static uint64_t from_above(const struct writer *w, uint64_t offset)
{
    const struct hp_flows *flows = w->flows;
    const struct hp_profile *p = flows->profile;
    uint64_t all = hp_flow_ranges_at(w->ranges, w->n_ranges, offset), sum = 0;
    size_t n;
    if (!all)
        return 0;
    for (size_t i = hp_flows_block(flows, offset);
         i < flows->end_block && p->blocks[i].place.offset == offset; i++) {
        all -= flows->blocks[i] < all ? flows->blocks[i] : all;
        sum = hp_saturating_add(sum, flows->continued[i]);
    }
    const uint32_t *arrivals = hp_flows_arrivals(flows, offset, &n);
    for (size_t i = 0; i < n; i++)
        if (!p->edges[arrivals[i]].taken)
            sum = hp_saturating_add(sum, flows->edges[arrivals[i]]);
    return hp_saturating_add(sum, all);
}

static enum hp_err add_labels(struct writer *w)
{
    for (size_t i = 0; i < w->labels.n; i++) {
        const struct hp_bolt_label *label = &w->labels.labels[i];
        HP_TRY(add_record(w, end_at(w, in_module(w, label->before)),
                          end_at(w, in_module(w, label->at)), from_above(w, label->at), 0));
    }
    return HP_OK;
}

/* --- The file --------------------------------------------------------------------------------- */

static int order_ends(const struct end *x, const struct end *y)
{
    uint64_t from_x = x->function ? x->function->from : UINT64_MAX;
    uint64_t from_y = y->function ? y->function->from : UINT64_MAX;
    if (from_x != from_y)
        return from_x < from_y ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int order_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    int order = order_ends(&x->from, &y->from);
    return order ? order : order_ends(&x->to, &y->to);
}

/* Those between the same ends become one: all that is outside is one place. */
static void join_records(struct writer *w)
{
    size_t kept = 0;
    if (w->n)
        qsort(w->records, w->n, sizeof *w->records, order_records);
    for (size_t i = 0; i < w->n; i++) {
        if (kept && order_records(&w->records[kept - 1], &w->records[i]) == 0) {
            struct record *into = &w->records[kept - 1];
            into->count = hp_saturating_add(into->count, w->records[i].count);
            into->mispredicted = hp_saturating_add(into->mispredicted, w->records[i].mispredicted);
        } else {
            w->records[kept++] = w->records[i];
        }
    }
    w->n = kept;
}

/* BOLT reads a space, or a backslash, behind a backslash. */
static void put_end(FILE *out, const struct end *end)
{
    if (!end->function) {
        fputs("0 [unknown] 0", out);
        return;
    }
    fputs("1 ", out);
    for (const char *c = end->function->name; *c; c++) {
        if (*c == ' ' || *c == '\\')
            putc('\\', out);
        putc(*c, out);
    }
    fprintf(out, " %" PRIx64, end->offset);
}

static void put_records(const struct writer *w, FILE *out)
{
    for (size_t i = 0; i < w->n; i++) {
        put_end(out, &w->records[i].from);
        putc(' ', out);
        put_end(out, &w->records[i].to);
        fprintf(out, " %" PRIu64 " %" PRIu64 "\n", w->records[i].mispredicted, w->records[i].count);
    }
}

static enum hp_err write_fdata(struct writer *w, FILE *out)
{
    const struct hp_flows *flows = w->flows;
    enum hp_arch arch = flows->profile->run.arch;
    if (arch != HP_ARCH_X86_64 && arch != HP_ARCH_AARCH64 && arch != HP_ARCH_RISCV64)
        return hp_fail(HP_ERR_INVALID, "BOLT does not know programs for %s", hp_arch_name(arch));
    HP_TRY(hp_bolt_labels_find(&w->image, flows, &w->labels));
    HP_TRY(hp_flows_ranges(flows, &w->ranges, &w->n_ranges));
    for (size_t i = 0; i < flows->profile->n_edges; i++)
        if (hp_flows_leaves(flows, i) || hp_flows_enters(flows, i))
            HP_TRY(add_edge(w, i));
    HP_TRY(add_labels(w));
    join_records(w);
    put_records(w, out);
    return HP_OK;
}

static enum hp_err write_bolt(const struct hp_profile *profile,
                              const struct hp_export_request *request, FILE *out,
                              struct hp_export_written *written)
{
    struct hp_flows *flows;
    HP_TRY(hp_flows_new(profile, request, &flows));
    struct writer w = {.flows = flows};
    enum hp_err err = hp_bolt_image_open(&profile->modules[flows->module], &w.image);
    if (err == HP_OK)
        err = write_fdata(&w, out);
    *written = (struct hp_export_written){.unit = "branches",
                                          .written = w.branches,
                                          .total = hp_saturating_add(w.branches, w.unnamed)};
    hp_flows_missing(flows, "in code without a symbol", written);
    hp_bolt_image_close(&w.image);
    hp_bolt_labels_fini(&w.labels);
    free(w.ranges);
    free(w.records);
    hp_flows_free(flows);
    return err;
}

const struct hp_export_format hp_format_bolt = {
    .name = "bolt",
    .summary = "fdata, a profile for llvm-bolt -data=",
    .write = write_bolt,
};
