// SPDX-License-Identifier: MIT
#include "pipe_feed.h"

#include "machine/core_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- What was fed is what was retired --------------------------------------------------------- */

/* Iterates over what was fed, instruction by instruction. */
struct fed {
    const struct pipe_feed *feed;
    struct hp_program *program;
    size_t item, block, insn;
};

/* The static id of the next one; HP_NO_ID: the end. */
static uint32_t next_fed(struct fed *f)
{
    for (; f->item < f->feed->n_items; f->item++, f->block = 0, f->insn = 0) {
        const struct feed_item *item = &f->feed->items[f->item];
        size_t blocks = item->kind == FEED_BATCH ? item->n : item->kind == FEED_TAIL;
        for (; f->block < blocks; f->block++, f->insn = 0) {
            uint32_t piece, block = item->kind == FEED_TAIL
                                        ? item->block
                                        : f->feed->blocks[item->blocks + f->block];
            if (hp_program_block(f->program, block, &piece) != HP_OK)
                abort();
            uint32_t n = hp_program_piece(f->program, piece)->n;
            if (item->kind == FEED_TAIL && item->insns < n)
                n = item->insns;
            if (f->insn < n)
                return hp_program_piece(f->program, piece)->first + (uint32_t)f->insn++;
        }
    }
    return HP_NO_ID;
}

static bool retired_is_fed(const struct pipe_run *run, const struct pipe_feed *feed, FILE *out)
{
    struct fed fed = {.feed = feed, .program = run->program};
    for (size_t i = 0; i < run->n; i++) {
        if (!(run->timings[i].events & HP_TIMING_RETIRED))
            continue;
        if (next_fed(&fed) != run->timings[i].insn) {
            fprintf(out, "UNLAWFUL: retired, but not what was fed:\n");
            pipe_print_timing(run, i, out);
            return false;
        }
    }
    if (next_fed(&fed) == HP_NO_ID)
        return true;
    fprintf(out, "UNLAWFUL: not all that was fed was retired\n");
    return false;
}

/* --- Within a run ----------------------------------------------------------------------------- */

static bool at_most(uint32_t a, uint32_t b)
{
    return b == HP_NEVER || (a != HP_NEVER && a <= b);
}

/* Stages follow each other; what retires has gone through all of them; each is one of retired,
 * wrong path, trapped. */
static bool timing_is_sound(const struct pipe_run *run, const struct hp_timing *t)
{
    uint32_t fate = t->events & (HP_TIMING_RETIRED | HP_TIMING_WRONG_PATH | HP_TIMING_TRAPPED);
    bool nop = hp_program_insns(run->program)[t->insn].n_uops == 0;
    bool stages = nop ? t->ready == HP_NEVER && t->issued == HP_NEVER && at_most(t->mapped, t->done)
                      : at_most(t->mapped, t->ready) && at_most(t->ready, t->issued) &&
                            at_most(t->issued, t->done) && at_most(t->loaded, t->done);
    if (t->loaded == HP_NEVER && t->done != HP_NEVER && !nop)
        stages = at_most(t->mapped, t->ready) && at_most(t->ready, t->issued) &&
                 at_most(t->issued, t->done);
    return stages && t->left != HP_NEVER && (fate & (fate - 1)) == 0 && fate &&
           (!(fate & HP_TIMING_RETIRED) || (t->done != HP_NEVER && t->done <= t->left));
}

static bool sums_are_right(const struct pipe_run *run, const struct pipe_feed *feed, FILE *out)
{
    const struct hp_pipe_stats *s = &run->stats;
    struct hp_pipe_stats sum = {0};
    uint64_t retired_in = 0;
    bool ordered = true;
    for (size_t i = 0; i < run->n; i++) {
        const struct hp_timing *t = &run->timings[i];
        if (!timing_is_sound(run, t)) {
            fprintf(out, "UNLAWFUL: stages out of order:\n");
            pipe_print_timing(run, i, out);
            return false;
        }
        sum.retired += (t->events & HP_TIMING_RETIRED) != 0;
        sum.wrong_path += (t->events & HP_TIMING_WRONG_PATH) != 0;
        sum.trapped += (t->events & HP_TIMING_TRAPPED) != 0;
        ordered = ordered && (i == 0 || t->fetched >= run->timings[i - 1].fetched);
        if (t->events & HP_TIMING_RETIRED) {
            ordered = ordered && t->fetched + t->left >= retired_in;
            retired_in = t->fetched + t->left;
        }
    }
    if (ordered && s->retired == feed->instructions && s->retired == sum.retired &&
        s->wrong_path == sum.wrong_path && s->trapped == sum.trapped &&
        s->aborted == s->wrong_path + s->trapped && s->fetched == s->retired + s->aborted &&
        s->fetched == run->n && s->cycles == (run->n ? retired_in + 1 : 0))
        return true;
    fprintf(out, "UNLAWFUL: order or sums\n");
    return false;
}

/* --- Beside the functional model -------------------------------------------------------------- */

/* Counts that do not depend on the order of accesses to caches; and those that depend only on the
 * order at each L1 and first-level TLB. */
static const char *const always[] = {"blocks",
                                     "instructions",
                                     "l1d.accesses",
                                     "l1d.reads",
                                     "l1d.writes",
                                     "l1d.updates",
                                     "branches",
                                     "branches.conditional",
                                     "branches.taken",
                                     "branches.indirect",
                                     "branches.calls",
                                     "branches.returns",
                                     "mispredictions",
                                     "mispredictions.direction",
                                     "mispredictions.target",
                                     "mispredictions.return",
                                     "btb.lookups",
                                     "btb.misses"};
static const char *const in_program_order[] = {
    "l1i.accesses",    "l1i.misses",       "l1i.fills",   "l1d.misses",
    "l1d.read_misses", "l1d.write_misses", "l1d.fills",   "l1d.writebacks",
    "l2.reads",        "l2.writes",        "itlb.misses", "dtlb.misses"};

static uint64_t stat_of(struct hp_core *core, const char *name)
{
    for (const struct hp_core_stat *stat = hp_core_stats(core); stat->name; stat++)
        if (strcmp(stat->name, name) == 0)
            return stat->value;
    return 0;
}

static bool stats_agree(struct hp_core *functional, struct hp_core *core, const char *const *names,
                        size_t n, FILE *out)
{
    bool agree = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t expected = stat_of(functional, names[i]), is = stat_of(core, names[i]);
        if (expected != is)
            fprintf(out, "UNLAWFUL: %s: %" PRIu64 ", in the functional model %" PRIu64 "\n",
                    names[i], is, expected);
        agree = agree && expected == is;
    }
    return agree;
}

static bool agrees_with_functional(const struct pipe_run *run, const struct pipe_feed *feed,
                                   const struct pipe_setup *setup, FILE *out)
{
    struct hp_core *core;
    uint64_t mispredicted = 0;
    if (hp_core_new(setup->machine, &core) != HP_OK)
        abort();
    if (setup->warm)
        pipe_feed_warm(setup->warm, core);
    pipe_feed_warm(feed, core);
    bool agree = stats_agree(core, run->core, always, sizeof always / sizeof *always, out);
    if (setup->no_wrong_path && setup->machine->core.in_order)
        agree = stats_agree(core, run->core, in_program_order,
                            sizeof in_program_order / sizeof *in_program_order, out) &&
                agree;
    for (size_t i = 0; i < run->n; i++)
        mispredicted += run->timings[i].events & HP_TIMING_RETIRED &&
                        run->timings[i].events & HP_TIMING_MISPREDICTED;
    if (!setup->warm && !feed->functional && mispredicted != core->branches.stats.mispredictions) {
        fprintf(out,
                "UNLAWFUL: %" PRIu64 " retired mispredicted, in the functional model %" PRIu64 "\n",
                mispredicted, core->branches.stats.mispredictions);
        agree = false;
    }
    hp_core_free(core);
    return agree;
}

/* --- What blocks caused ----------------------------------------------------------------------- */

/* Iterates over what was fed to the pipe, block by block, and runs all of it with the functional
 * model. */
struct beside {
    const struct pipe_feed *feed;
    struct hp_core *core;
    size_t item, block;
    struct hp_events events; /* of the last block, by the functional model */
};

/* The next block; HP_NO_ID: none. */
static uint32_t next_beside(struct beside *b)
{
    for (; b->item < b->feed->n_items; b->item++, b->block = 0) {
        const struct feed_item *item = &b->feed->items[b->item];
        size_t n = item->kind == FEED_BATCH || item->kind == FEED_FUNCTIONAL
                       ? item->n
                       : item->kind == FEED_TAIL;
        while (b->block < n) {
            pipe_feed_run_block(b->feed, item, b->block++, b->core, &b->events);
            if (item->kind == FEED_TAIL)
                return item->block;
            if (item->kind == FEED_BATCH)
                return b->feed->blocks[item->blocks + b->block - 1];
        }
    }
    return HP_NO_ID;
}

/* The two may differ in events of a block that depend on the order of accesses. */
static bool same_events(const struct hp_events *pipe, const struct hp_events *functional,
                        bool program_order)
{
    static const enum hp_metric always_same[] = {HP_METRIC_INSTRUCTIONS, HP_METRIC_MISPREDICTIONS};
    static const enum hp_metric in_order[] = {HP_METRIC_L1I_MISSES, HP_METRIC_L1D_MISSES,
                                              HP_METRIC_ITLB_MISSES, HP_METRIC_DTLB_MISSES};
    bool same = true;
    for (size_t i = 0; i < sizeof always_same / sizeof *always_same; i++)
        same = same && pipe->count[always_same[i]] == functional->count[always_same[i]];
    for (size_t i = 0; program_order && i < sizeof in_order / sizeof *in_order; i++)
        same = same && pipe->count[in_order[i]] == functional->count[in_order[i]];
    return same;
}

/* Every block that was fed is reported, in order, with the events of the functional model. */
static bool blocks_are_right(const struct pipe_run *run, const struct pipe_feed *feed,
                             const struct pipe_setup *setup, FILE *out)
{
    struct beside beside = {.feed = feed};
    bool right = true;
    size_t i = 0;
    if (!setup->blocks)
        return true;
    if (hp_core_new(setup->machine, &beside.core) != HP_OK)
        abort();
    if (setup->warm)
        pipe_feed_warm(setup->warm, beside.core);
    for (uint32_t block; right && (block = next_beside(&beside)) != HP_NO_ID; i++)
        right = i < run->n_blocks && run->blocks[i] == block &&
                same_events(&run->events[i], &beside.events,
                            setup->no_wrong_path && setup->machine->core.in_order);
    right = right && i == run->n_blocks;
    if (!right)
        fprintf(out, "UNLAWFUL: what the %zu-th block caused\n", i);
    hp_core_free(beside.core);
    return right;
}

bool pipe_run_lawful(const struct pipe_run *run, const struct pipe_feed *feed,
                     const struct pipe_setup *setup, FILE *out)
{
    return sums_are_right(run, feed, out) && retired_is_fed(run, feed, out) &&
           agrees_with_functional(run, feed, setup, out) && blocks_are_right(run, feed, setup, out);
}
