// SPDX-License-Identifier: MIT
#include "pipe_feed.h"

#include "base/grow.h"
#include "machine/core_impl.h"
#include "pipe_reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void must(enum hp_err err)
{
    if (err == HP_OK)
        return;
    fprintf(stderr, "pipe_feed: %s\n", hp_error_text());
    abort();
}

/* Appends to an array; returns where. */
static size_t append(void *array, size_t *n, size_t *cap, const void *from, size_t count,
                     size_t size)
{
    size_t at = *n;
    must(hp_grow(array, cap, at + count + 1, size));
    if (count)
        memcpy(*(char **)array + at * size, from, count * size);
    *n += count;
    return at;
}

/* --- Writing down ----------------------------------------------------------------------------- */

void pipe_feed_init(struct pipe_feed *feed, struct hp_code *code)
{
    *feed = (struct pipe_feed){.code = code};
}

void pipe_feed_fini(struct pipe_feed *feed)
{
    free(feed->items);
    free(feed->blocks);
    free(feed->at);
    free(feed->taken);
    free(feed->costs);
    free(feed->addresses);
}

static void add_item(struct pipe_feed *feed, struct feed_item item)
{
    append(&feed->items, &feed->n_items, &feed->cap_items, &item, 1, sizeof item);
}

static void add_batch(struct pipe_feed *feed, enum feed_kind kind, const struct hp_batch *batch,
                      const uint16_t *costs)
{
    struct feed_item item = {.kind = kind, .n = batch->n, .has_addresses = batch->addresses};
    item.blocks = append(&feed->blocks, &feed->n_blocks, &feed->cap_blocks, batch->blocks,
                         batch->n + 1, sizeof *feed->blocks);
    item.taken = append(&feed->taken, &feed->n_taken, &feed->cap_taken, batch->taken, batch->n, 1);
    must(hp_grow(&feed->costs, &feed->cap_costs, feed->n_costs + batch->n, sizeof *feed->costs));
    for (size_t i = 0; i < batch->n; i++) {
        feed->costs[feed->n_costs++] = costs ? costs[i] : 0;
        if (kind == FEED_BATCH)
            feed->instructions += batch->table[batch->blocks[i]].insns;
    }
    if (item.has_addresses) {
        size_t n = batch->address_at[batch->n] - batch->address_at[0];
        item.at = append(&feed->at, &feed->n_at, &feed->cap_at, batch->address_at, batch->n + 1,
                         sizeof *feed->at);
        item.addresses =
            append(&feed->addresses, &feed->n_addresses, &feed->cap_addresses,
                   batch->addresses + batch->address_at[0], n, sizeof *feed->addresses);
        for (size_t i = batch->n + 1; i-- > 0;)
            feed->at[item.at + i] -= feed->at[item.at];
    }
    add_item(feed, item);
}

void pipe_feed_batch(struct pipe_feed *feed, const struct hp_batch *batch, const uint16_t *costs)
{
    add_batch(feed, FEED_BATCH, batch, costs);
}

void pipe_feed_functional(struct pipe_feed *feed, const struct hp_batch *batch)
{
    pipe_feed_drain(feed);
    feed->functional = true;
    add_batch(feed, FEED_FUNCTIONAL, batch, NULL);
}

void pipe_feed_tail(struct pipe_feed *feed, const struct hp_event *tail)
{
    struct feed_item item = {.kind = FEED_TAIL,
                             .block = tail->block,
                             .insns = tail->insns,
                             .has_addresses = tail->addresses,
                             .n_addresses = tail->addresses ? tail->n_addresses : 0};
    item.addresses = append(&feed->addresses, &feed->n_addresses, &feed->cap_addresses,
                            tail->addresses, item.n_addresses, sizeof *feed->addresses);
    feed->instructions += tail->insns;
    add_item(feed, item);
}

void pipe_feed_break(struct pipe_feed *feed)
{
    add_item(feed, (struct feed_item){.kind = FEED_BREAK});
}

void pipe_feed_interrupt(struct pipe_feed *feed, uint32_t cycles)
{
    add_item(feed, (struct feed_item){.kind = FEED_INTERRUPT, .insns = cycles});
}

void pipe_feed_measure(struct pipe_feed *feed, bool measured)
{
    add_item(feed, (struct feed_item){.kind = FEED_MEASURE, .measured = measured});
}

void pipe_feed_drain(struct pipe_feed *feed)
{
    add_item(feed, (struct feed_item){.kind = FEED_DRAIN});
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Blocks from `first` on of a batch. */
static struct hp_batch batch_of(const struct pipe_feed *feed, const struct feed_item *item,
                                size_t first, size_t n)
{
    struct hp_batch batch = {.code = feed->code,
                             .table = hp_code_blocks(feed->code),
                             .blocks = feed->blocks + item->blocks + first,
                             .taken = feed->taken + item->taken + first,
                             .n = n};
    if (item->has_addresses) {
        batch.addresses = feed->addresses + item->addresses;
        batch.address_at = feed->at + item->at + first;
    }
    return batch;
}

static struct hp_event tail_of(const struct pipe_feed *feed, const struct feed_item *item)
{
    return (struct hp_event){.kind = HP_EVENT_TAIL,
                             .block = item->block,
                             .insns = item->insns,
                             .exact = true,
                             .addresses =
                                 item->has_addresses ? feed->addresses + item->addresses : NULL,
                             .n_addresses = item->n_addresses};
}

void pipe_feed_run_block(const struct pipe_feed *feed, const struct feed_item *item, size_t i,
                         struct hp_core *core, struct hp_events *events)
{
    if (item->kind == FEED_TAIL) {
        struct hp_event tail = tail_of(feed, item);
        must(hp_core_tail(core, feed->code, &tail, events));
        return;
    }
    struct hp_batch batch = batch_of(feed, item, i, 1);
    must(hp_core_batch(core, feed->code, &batch, events));
}

static void run_functional(const struct pipe_feed *feed, const struct feed_item *item,
                           struct hp_core *core)
{
    struct hp_events events;
    for (size_t i = 0; i < item->n; i++)
        pipe_feed_run_block(feed, item, i, core, &events);
}

void pipe_feed_warm(const struct pipe_feed *feed, struct hp_core *core)
{
    struct hp_events events;
    for (size_t i = 0; i < feed->n_items; i++) {
        const struct feed_item *item = &feed->items[i];
        if (item->kind == FEED_BATCH || item->kind == FEED_FUNCTIONAL)
            run_functional(feed, item, core);
        else if (item->kind == FEED_TAIL)
            pipe_feed_run_block(feed, item, 0, core, &events);
    }
}

/* --- Running ---------------------------------------------------------------------------------- */

static void run_init(struct pipe_run *run, const struct pipe_feed *feed,
                     const struct pipe_setup *setup)
{
    uint32_t piece;
    *run = (struct pipe_run){0};
    must(hp_program_new(setup->machine, feed->code, &run->program));
    must(hp_core_new(setup->machine, &run->core));
    /* Makes ids independent of who asks when. */
    for (uint32_t i = 0; i < hp_code_n_blocks(feed->code); i++)
        must(hp_program_block(run->program, i, &piece));
    if (setup->warm)
        pipe_feed_warm(setup->warm, run->core);
}

void pipe_run_fini(struct pipe_run *run)
{
    hp_core_free(run->core);
    hp_program_free(run->program);
    free(run->timings);
    free(run->blocks);
    free(run->events);
}

static void take(void *context, const struct hp_timing *timings, size_t n)
{
    struct pipe_run *run = context;
    append(&run->timings, &run->n, &run->cap, timings, n, sizeof *timings);
}

static void take_blocks(void *context, const uint32_t *blocks, const struct hp_events *events,
                        size_t n)
{
    struct pipe_run *run = context;
    append(&run->blocks, &run->n_blocks, &run->cap_blocks, blocks, n, sizeof *blocks);
    append(&run->events, &run->n_events, &run->cap_events, events, n, sizeof *events);
}

void pipe_run_slow(struct pipe_run *run, const struct pipe_feed *feed,
                   const struct pipe_setup *setup)
{
    run_init(run, feed, setup);
    struct pipe_reference *pipe =
        pipe_reference_new(run->program, run->core, setup->queue, setup->no_wrong_path);
    for (size_t i = 0; i < feed->n_items; i++) {
        const struct feed_item *item = &feed->items[i];
        struct hp_batch batch;
        struct hp_event tail;
        switch (item->kind) {
        case FEED_BATCH:
            batch = batch_of(feed, item, 0, item->n);
            pipe_reference_batch(pipe, &batch, feed->costs + item->taken);
            break;
        case FEED_TAIL:
            tail = tail_of(feed, item);
            pipe_reference_tail(pipe, &tail);
            break;
        case FEED_BREAK: pipe_reference_break(pipe); break;
        case FEED_INTERRUPT: pipe_reference_interrupt(pipe, item->insns); break;
        case FEED_MEASURE: pipe_reference_measure(pipe, item->measured); break;
        case FEED_DRAIN: pipe_reference_drain(pipe); break;
        case FEED_FUNCTIONAL: run_functional(feed, item, run->core); break;
        }
    }
    pipe_reference_drain(pipe);
    size_t n;
    const struct hp_timing *timings = pipe_reference_timings(pipe, &n);
    take(run, timings, n);
    run->stats = *pipe_reference_stats(pipe);
    pipe_reference_free(pipe);
}

/* A batch in pieces, each of a random size. */
static void feed_cut(struct hp_pipe *pipe, const struct pipe_feed *feed,
                     const struct feed_item *item, uint64_t *seed)
{
    for (size_t first = 0; first < item->n;) {
        size_t n = item->n - first;
        if (*seed) {
            *seed = *seed * 6364136223846793005u + 1442695040888963407u;
            size_t some = 1 + (size_t)(*seed >> 33) % 7;
            n = some < n ? some : n;
        }
        struct hp_batch batch = batch_of(feed, item, first, n);
        must(hp_pipe_batch(pipe, &batch, feed->costs + item->taken + first));
        first += n;
    }
}

void pipe_run_fast(struct pipe_run *run, const struct pipe_feed *feed,
                   const struct pipe_setup *setup)
{
    struct hp_pipe_config config = {.timings = take,
                                    .context = run,
                                    .queue = setup->queue,
                                    .blocks = setup->blocks ? take_blocks : NULL,
                                    .no_wrong_path = setup->no_wrong_path};
    struct hp_pipe *pipe;
    uint64_t seed = setup->cut;
    run_init(run, feed, setup);
    must(hp_pipe_new(run->program, run->core, &config, &pipe));
    for (size_t i = 0; i < feed->n_items; i++) {
        const struct feed_item *item = &feed->items[i];
        struct hp_event tail;
        switch (item->kind) {
        case FEED_BATCH: feed_cut(pipe, feed, item, &seed); break;
        case FEED_TAIL:
            tail = tail_of(feed, item);
            must(hp_pipe_tail(pipe, &tail));
            break;
        case FEED_BREAK: must(hp_pipe_break(pipe)); break;
        case FEED_INTERRUPT: must(hp_pipe_interrupt(pipe, item->insns)); break;
        case FEED_MEASURE: hp_pipe_measure(pipe, item->measured); break;
        case FEED_DRAIN: must(hp_pipe_drain(pipe)); break;
        case FEED_FUNCTIONAL: run_functional(feed, item, run->core); break;
        }
    }
    must(hp_pipe_drain(pipe));
    run->stats = *hp_pipe_stats(pipe);
    hp_pipe_free(pipe);
}

/* --- Comparing -------------------------------------------------------------------------------- */

static const char *const event_names[] = {
    "retired",   "wrong-path",  "trapped", "measured",  "window",     "l1i",
    "itlb",      "l1d",         "dtlb",    "tlb2",      "taken",      "mispredicted",
    "btb",       "forwarded",   "blocked", "merged",    "no-reorder", "no-queue",
    "no-memory", "no-register", "serial",  "unit-busy", "queue-stall"};

static void print_cycle(FILE *out, const char *name, uint64_t fetched, uint32_t after)
{
    if (after == HP_NEVER)
        fprintf(out, " %s -", name);
    else
        fprintf(out, " %s %" PRIu64, name, fetched + after);
}

void pipe_print_timing(const struct pipe_run *run, size_t i, FILE *out)
{
    const struct hp_timing *t = &run->timings[i];
    char text[80];
    hp_program_text(run->program, t->insn, text, sizeof text);
    fprintf(out, "%6zu %#" PRIx64 " %-28s fetch %" PRIu64 "/%u", i,
            hp_program_insns(run->program)[t->insn].address, text, t->fetched, t->slot);
    print_cycle(out, "map", t->fetched, t->mapped);
    print_cycle(out, "ready", t->fetched, t->ready);
    print_cycle(out, "issue", t->fetched, t->issued);
    print_cycle(out, "loaded", t->fetched, t->loaded);
    print_cycle(out, "done", t->fetched, t->done);
    print_cycle(out, "left", t->fetched, t->left);
    print_cycle(out, "waited", 0, t->waited);
    fprintf(out, " producer ");
    if (t->producer == HP_NO_ID)
        fprintf(out, "-");
    else
        fprintf(out, "%#" PRIx64, hp_program_insns(run->program)[t->producer].address);
    fprintf(out, " history %x address %#" PRIx64 " data %u code %u unit %s:", t->history,
            t->address, t->data_from, t->code_from, hp_unit_name((enum hp_unit_kind)t->unit));
    for (size_t bit = 0; bit < sizeof event_names / sizeof *event_names; bit++)
        if (t->events >> bit & 1)
            fprintf(out, " %s", event_names[bit]);
    fprintf(out, "\n");
}

/* Whether it is the same static instruction: pieces of wrong paths may have been made in another
 * order. */
static bool same_insn(const struct pipe_run *a, uint32_t x, const struct pipe_run *b, uint32_t y)
{
    if (x == HP_NO_ID || y == HP_NO_ID)
        return x == y;
    const struct hp_static *p = &hp_program_insns(a->program)[x];
    const struct hp_static *q = &hp_program_insns(b->program)[y];
    return p->address == q->address && p->block == q->block && p->op == q->op &&
           p->n_uops == q->n_uops;
}

static bool same_timing(const struct pipe_run *slow, const struct pipe_run *fast, size_t i)
{
    const struct hp_timing *s = &slow->timings[i], *f = &fast->timings[i];
    return s->fetched == f->fetched && s->mapped == f->mapped && s->ready == f->ready &&
           s->issued == f->issued && s->done == f->done && s->left == f->left &&
           s->loaded == f->loaded && s->waited == f->waited && s->history == f->history &&
           s->address == f->address && s->events == f->events && s->slot == f->slot &&
           s->data_from == f->data_from && s->code_from == f->code_from && s->unit == f->unit &&
           same_insn(slow, s->insn, fast, f->insn) &&
           same_insn(slow, s->producer, fast, f->producer);
}

static void print_stats(const char *who, const struct hp_pipe_stats *s, FILE *out)
{
    fprintf(out,
            "%s: cycles %" PRIu64 " fetched %" PRIu64 " retired %" PRIu64 " aborted %" PRIu64
            " wrong path %" PRIu64 " trapped %" PRIu64 " uops %" PRIu64 " traps %" PRIu64
            " forwards %" PRIu64 " queue stalls %" PRIu64 "\n",
            who, s->cycles, s->fetched, s->retired, s->aborted, s->wrong_path, s->trapped, s->uops,
            s->traps, s->forwards, s->queue_stalls);
}

static bool same_count(const char *what, uint64_t slow, uint64_t fast, FILE *out)
{
    if (slow != fast)
        fprintf(out, "DIFFERENT: %s: slow %" PRIu64 ", fast %" PRIu64 "\n", what, slow, fast);
    return slow == fast;
}

static bool same_level(const struct hp_level *slow, const struct hp_level *fast, FILE *out)
{
    bool same = same_count("reads", slow->reads, fast->reads, out);
    same &= same_count("writes", slow->writes, fast->writes, out);
    same &= same_count("misses", slow->misses, fast->misses, out);
    same &= same_count("write misses", slow->write_misses, fast->write_misses, out);
    same &= same_count("fills", slow->fills, fast->fills, out);
    same &= same_count("write-backs", slow->writebacks, fast->writebacks, out);
    return same;
}

/* What the caches, TLBs and predictors have seen. (The slow pipe does not count what the functional
 * model counts for each block.) */
static bool same_core(const struct pipe_run *slow, const struct pipe_run *fast, FILE *out)
{
    const struct hp_memory *s = &slow->core->memory, *f = &fast->core->memory;
    const struct hp_branch_stats *p = &slow->core->branches.stats, *q = &fast->core->branches.stats;
    bool same = same_level(&s->l1i, &f->l1i, out);
    same &= same_level(&s->l1d, &f->l1d, out);
    same &= same_level(&s->lower[0], &f->lower[0], out);
    same &= same_level(&s->lower[1], &f->lower[1], out);
    same &= same_count("memory reads", s->memory_reads, f->memory_reads, out);
    same &= same_count("memory writes", s->memory_writes, f->memory_writes, out);
    same &= same_count("ITLB misses", s->itlb.misses, f->itlb.misses, out);
    same &= same_count("DTLB misses", s->dtlb.misses, f->dtlb.misses, out);
    same &= same_count("second level TLB misses", s->tlb2.misses, f->tlb2.misses, out);
    same &= same_count("transfers", p->transfers, q->transfers, out);
    same &= same_count("mispredictions", p->mispredictions, q->mispredictions, out);
    return same;
}

#define AROUND 30

static void print_around(const struct pipe_run *slow, const struct pipe_run *fast, size_t i,
                         FILE *out)
{
    for (size_t k = i > AROUND ? i - AROUND : 0; k < i; k++)
        pipe_print_timing(slow, k, out);
    fprintf(out, "DIFFERENT: slow, then fast\n");
    for (size_t k = i; k < i + 4; k++) {
        if (k < slow->n)
            pipe_print_timing(slow, k, out);
        if (k < fast->n)
            pipe_print_timing(fast, k, out);
    }
}

bool pipe_runs_equal(const struct pipe_run *slow, const struct pipe_run *fast, FILE *out)
{
    size_t n = slow->n < fast->n ? slow->n : fast->n, i = 0;
    while (i < n && same_timing(slow, fast, i))
        i++;
    bool equal =
        i == slow->n && i == fast->n && memcmp(&slow->stats, &fast->stats, sizeof slow->stats) == 0;
    if (equal)
        return same_core(slow, fast, out);
    print_around(slow, fast, i, out);
    print_stats("slow", &slow->stats, out);
    print_stats("fast", &fast->stats, out);
    return false;
}
