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
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
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

/* A name that cannot be in a line is none. */
static struct end end_at(const struct writer *w, uint32_t module, uint64_t offset)
{
    const struct hp_bolt_function *function =
        module == w->flows.module ? hp_bolt_image_find(&w->image, offset) : NULL;
    if (!function || !function->name[0] || strchr(function->name, '\n'))
        return (struct end){0};
    return (struct end){function, offset - function->from};
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
    struct end from = end_at(w, edge->from.module, edge->from.offset);
    struct end to = end_at(w, edge->to.module, edge->to.offset);
    bool leaves = hp_flows_leaves(flows, i);
    if (!edge->taken) {
        if (edge->flow != HP_FLOW_COND || from.function != to.function ||
            hp_bolt_image_has_label(&w->image, edge->to.offset) || is_jump(flows, edge->to.offset))
            return HP_OK;
        return add_record(w, from, to, flows->edges[i], 0);
    }
    if (leaves && edge->flow == HP_FLOW_RETURN)
        return HP_OK;
    if (leaves)
        hp_add_up(from.function ? &w->branches : &w->unnamed, flows->edges[i]);
    return add_record(w, from, to, flows->edges[i], flows->mispredicted[i]);
}

/* --- Running into labels ---------------------------------------------------------------------- */

/* How often control came to an offset from above: in the middle of a block, by a branch that was
 * not taken, or without one. */
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

static enum hp_err add_label(struct writer *w, const struct hp_bolt_label *label)
{
    struct end from = end_at(w, w->flows.module, label->before);
    struct end to = end_at(w, w->flows.module, label->at);
    return add_record(w, from, to, from_above(w, label->at), 0);
}

/* --- The file --------------------------------------------------------------------------------- */

static int order_ends(const struct end *x, const struct end *y)
{
    uint64_t from_x = x->function ? x->function->from : UINT64_MAX;
    uint64_t from_y = y->function ? y->function->from : UINT64_MAX;
    return HP_COMPARE(from_x, from_y) ?: HP_COMPARE(x->offset, y->offset);
}

static int order_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return order_ends(&x->from, &y->from) ?: order_ends(&x->to, &y->to);
}

/* Those between the same ends become one: all that is outside is one place. */
static void join_records(struct writer *w)
{
    size_t kept = 0;
    if (w->n)
        qsort(w->records, w->n, sizeof *w->records, order_records);
    for (size_t i = 0; i < w->n; i++) {
        if (!kept || order_records(&w->records[kept - 1], &w->records[i]) != 0) {
            w->records[kept++] = w->records[i];
            continue;
        }
        hp_add_up(&w->records[kept - 1].count, w->records[i].count);
        hp_add_up(&w->records[kept - 1].mispredicted, w->records[i].mispredicted);
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

static enum hp_err write_bolt(const struct hp_profile *profile,
                              const struct hp_export_request *request, FILE *out,
                              struct hp_export_written *written)
{
    struct writer w HP_CLEANUP(fini_writer) = {0};
    enum hp_arch arch = profile->run.arch;
    HP_TRY(hp_flows_init(&w.flows, profile, request));
    HP_TRY(hp_bolt_image_open(&profile->modules[w.flows.module], &w.image));
    if (arch != HP_ARCH_X86_64 && arch != HP_ARCH_AARCH64 && arch != HP_ARCH_RISCV64)
        return hp_fail(HP_ERR_INVALID, "BOLT does not know programs for %s", hp_arch_name(arch));
    HP_TRY(hp_bolt_image_label(&w.image, &w.flows));
    for (size_t i = 0; i < profile->n_edges; i++)
        if (hp_flows_leaves(&w.flows, i) || hp_flows_enters(&w.flows, i))
            HP_TRY(add_edge(&w, i));
    for (size_t i = 0; i < w.image.n_labels; i++)
        HP_TRY(add_label(&w, &w.image.labels[i]));
    join_records(&w);
    put_records(&w, out);
    *written =
        hp_flows_written(&w.flows, "branches", w.branches, hp_saturating_add(w.branches, w.unnamed),
                         "in code without a symbol");
    return HP_OK;
}

const struct hp_export_format hp_format_bolt = {
    .name = "bolt",
    .summary = "fdata, a profile for llvm-bolt -data=",
    .write = write_bolt,
};
