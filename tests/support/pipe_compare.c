// SPDX-License-Identifier: MIT
/*
 * Compares the fast pipe with the slow one on the first thread of a recorded trace:
 *   pipe_compare [--fast] TRACE AFTER INSTRUCTIONS MACHINE...
 * Feeds both INSTRUCTIONS instructions (0: all) from number AFTER on. Where the trace has no
 * addresses, they are made up, the same in each run. Prints a line for each machine: what was done,
 * "equal" or what is different, and whether the laws that relate it to the functional model hold.
 * With --fast the slow one is left out. Exit status 0 equal, 1 different, 2 trouble.
 */
#include "pipe_feed.h"

#include "base/grow.h"
#include "base/map64.h"
#include "engine/trace/replay.h"
#include "machine/machine.h"
#include "profiler/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    fprintf(stderr, "pipe_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

static void must(enum hp_err err)
{
    if (err != HP_OK)
        fail("trouble");
}

/* --- What is fed, as a profiler --------------------------------------------------------------- */

struct recorder {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct pipe_feed feed;
    bool started;
    uint32_t *runs; /* of each block */
    size_t cap_runs;
    uint64_t *addresses; /* made up */
    uint32_t *at;
    size_t n_addresses, cap_addresses, cap_at;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct recorder *recorder = (struct recorder *)profiler;
    (void)thread;
    *state = recorder->started ? NULL : recorder;
    recorder->started = true;
    return HP_OK;
}

/* Most operands stay in place, some walk, few are anywhere in 4 MB. */
static uint64_t make_up(const struct hp_insn *insn, unsigned operand, uint32_t run)
{
    uint64_t hash = hp_hash64(insn->address * 2 + operand);
    if (hash % 16 == 0)
        return 0x50000000 + (hp_hash64(hash + run) & 0x3ffff8);
    if (hash % 16 < 5)
        return 0x40000000 + ((hash >> 20 & 0x7ff8) + run * 8ull) % 0x8000;
    return 0x7fff0000 + (hash >> 20 & 0xff8);
}

/* The addresses of the first `n` instructions of a block, for one more execution. */
static void make_up_block(struct recorder *r, uint32_t block, uint32_t n)
{
    const struct hp_insn *insns;
    must(hp_code_insns(r->code, block, &insns));
    must(hp_grow(&r->runs, &r->cap_runs, block + (size_t)1, sizeof *r->runs));
    must(hp_grow(&r->addresses, &r->cap_addresses, r->n_addresses + HP_INSN_MAX_MEMS * (size_t)n,
                 sizeof *r->addresses));
    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < insns[i].n_mems; k++)
            r->addresses[r->n_addresses++] = make_up(&insns[i], k, r->runs[block]);
    r->runs[block]++;
}

static void take_batch(void *state, const struct hp_batch *given)
{
    struct recorder *r = state;
    struct hp_batch batch = *given;
    if (!r)
        return;
    if (!batch.addresses) {
        r->n_addresses = 0;
        must(hp_grow(&r->at, &r->cap_at, batch.n + 1, sizeof *r->at));
        r->at[0] = 0;
        for (size_t i = 0; i < batch.n; i++) {
            make_up_block(r, batch.blocks[i], batch.table[batch.blocks[i]].insns);
            r->at[i + 1] = (uint32_t)r->n_addresses;
        }
        batch.addresses = r->addresses;
        batch.address_at = r->at;
    }
    pipe_feed_batch(&r->feed, &batch, NULL);
}

static void take_event(void *state, const struct hp_event *given)
{
    struct recorder *r = state;
    struct hp_event event = *given;
    if (!r)
        return;
    switch (event.kind) {
    case HP_EVENT_TAIL:
        if (!event.addresses) {
            r->n_addresses = 0;
            make_up_block(r, event.block, event.insns);
            event.addresses = r->addresses;
            event.n_addresses = r->n_addresses;
        }
        pipe_feed_tail(&r->feed, &event);
        break;
    case HP_EVENT_SIGNAL:
    case HP_EVENT_SIGRETURN:
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: pipe_feed_break(&r->feed); break;
    default: break;
    }
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_recorder(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops recorder_ops = {
    .name = "recorder",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_recorder,
};

static void read_trace(const char *path, const struct hp_region *region, struct recorder *recorder)
{
    struct hp_trace_reader *reader;
    struct hp_pipeline *pipeline;
    uint64_t damaged;
    if (hp_trace_reader_open(path, &reader) != HP_OK)
        fail(path);
    const struct hp_trace_info *info = hp_trace_reader_info(reader);
    must(hp_code_new(info->run.arch, &recorder->code));
    pipe_feed_init(&recorder->feed, recorder->code);
    must(hp_pipeline_new(recorder->code, NULL, NULL, region, &pipeline));
    if (info->run.addresses) {
        hp_trace_reader_want_addresses(reader);
        hp_pipeline_expect_addresses(pipeline);
    }
    must(hp_pipeline_add(pipeline, &recorder->base));
    if (hp_replay(reader, recorder->code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(path);
    hp_pipeline_free(pipeline);
    hp_trace_reader_close(reader);
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* In order and without wrong paths, the first levels behave as in the functional model. */
static bool is_functional(const struct pipe_feed *feed, const struct hp_machine *machine)
{
    struct pipe_setup setup = {.machine = machine, .queue = -1, .no_wrong_path = true};
    struct pipe_run run;
    if (!machine->core.in_order)
        return true;
    pipe_run_fast(&run, feed, &setup);
    bool lawful = pipe_run_lawful(&run, feed, &setup, stdout);
    pipe_run_fini(&run);
    return lawful;
}

static bool compare(const struct pipe_feed *feed, const char *name, bool only_fast)
{
    struct hp_machine *machine;
    struct pipe_run slow, fast;
    bool equal = true;
    if (hp_machine_load(name, &machine) != HP_OK)
        fail(name);
    struct pipe_setup setup = {.machine = machine, .queue = -1};
    pipe_run_fast(&fast, feed, &setup);
    bool lawful = pipe_run_lawful(&fast, feed, &setup, stdout) && is_functional(feed, machine);
    if (!only_fast) {
        pipe_run_slow(&slow, feed, &setup);
        equal = pipe_runs_equal(&slow, &fast, stdout);
        pipe_run_fini(&slow);
    }
    const struct hp_pipe_stats *s = &fast.stats;
    printf("%s: retired %" PRIu64 " cycles %" PRIu64 " wrong-path %" PRIu64 " trapped %" PRIu64
           " forwards %" PRIu64 ": %s\n",
           name, s->retired, s->cycles, s->wrong_path, s->trapped, s->forwards,
           !lawful     ? "UNLAWFUL"
           : !equal    ? "DIFFERENT"
           : only_fast ? "lawful"
                       : "equal");
    pipe_run_fini(&fast);
    hp_machine_free(machine);
    return equal && lawful;
}

int main(int argc, char **argv)
{
    struct recorder recorder = {.base.ops = &recorder_ops};
    bool only_fast = argc > 1 && strcmp(argv[1], "--fast") == 0, equal = true;
    char **arguments = argv + 1 + only_fast;
    int n = argc - 1 - only_fast;
    if (n < 4) {
        fprintf(stderr, "usage: pipe_compare [--fast] TRACE AFTER INSTRUCTIONS MACHINE...\n");
        return 2;
    }
    struct hp_region region = {.after = strtoull(arguments[1], NULL, 10),
                               .length = strtoull(arguments[2], NULL, 10)};
    read_trace(arguments[0], &region, &recorder);
    for (int i = 3; i < n; i++)
        equal = compare(&recorder.feed, arguments[i], only_fast) && equal;
    pipe_feed_fini(&recorder.feed);
    hp_code_free(recorder.code);
    free(recorder.runs);
    free(recorder.addresses);
    free(recorder.at);
    return equal ? 0 : 1;
}
