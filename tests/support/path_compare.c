// SPDX-License-Identifier: MIT
/*
 * Compares the detector of paths with the slow reference, on a recorded trace:
 *   path_compare [OPTIONS] TRACE PPCR...
 * For each control register both must find the same paths in the same order, and count the same.
 * Prints one line for each: how many paths, a hash of their sequence, "equal"; or the first
 * difference. Exit status 0 equal, 1 different, 2 trouble. With --steps the detector is given steps
 * instead of batches; with --no-frames functions are unknown; with --reference-without-frames only
 * to the reference, to check that a difference is found.
 */
#include "path_reference.h"

#include "base/grow.h"
#include "engine/trace/replay.h"
#include "profiler/pipeline.h"
#include "symbols/functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORGET 65536 /* compared paths of the queue, before they are discarded */

/* One control register of one thread. */
struct pair {
    struct hp_path_sink sink; /* first: of the detector */
    const char *name;
    struct reference *reference;
    struct hp_detector *detector;
    struct hp_path *expected; /* found by the reference, not yet by the detector */
    size_t n, cap, done;
    uint64_t *targets;
    size_t n_targets, cap_targets;
    uint64_t paths, hash;
    bool different;
};

struct thread {
    struct compare *compare;
    struct pair *pairs;
    uint32_t blocks[HP_BATCH_MAX + 1]; /* of steps, spelt out */
    uint8_t taken[HP_BATCH_MAX];
    size_t n;
};

struct compare {
    struct hp_profiler base; /* first */
    struct hp_frame_source source;
    struct hp_functions *functions;
    bool frames, reference_frames;
    char **names;
    struct hp_ppcr *ppcrs;
    size_t n;
    struct thread **threads;
    size_t n_threads, cap_threads;
};

static void fail(const char *what)
{
    fprintf(stderr, "path_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

/* --- Two sequences ---------------------------------------------------------------------------- */

static void print_path(const char *who, const struct hp_path *p, const uint64_t *targets)
{
    printf("  %-9s start %#" PRIx64 " block %u length %u outcomes ", who, p->start, p->block,
           p->length);
    for (int i = p->length - 1; i >= 0; i--)
        putchar((p->outcomes >> i & 1) ? '1' : '0');
    printf(" insns %u events %u targets", p->insns, p->events);
    for (unsigned i = 0; i < p->n_targets; i++)
        printf(" %#" PRIx64, targets[p->first_target + i]);
    printf(" (hash %#" PRIx64 ")\n", p->targets);
}

static void found(void *context, const struct reference_path *path)
{
    struct pair *pair = context;
    struct hp_path p = reference_descriptor(path);
    if (hp_grow(&pair->expected, &pair->cap, pair->n + 1, sizeof *pair->expected) != HP_OK ||
        hp_grow(&pair->targets, &pair->cap_targets, pair->n_targets + path->n_targets + 1,
                sizeof *pair->targets) != HP_OK)
        fail("reference");
    p.first_target = (uint32_t)pair->n_targets;
    for (uint32_t i = 0; i < path->n_targets; i++)
        pair->targets[pair->n_targets++] = path->targets[i];
    pair->expected[pair->n++] = p;
}

static bool same(const struct hp_path *a, const uint64_t *a_targets, const struct hp_path *b,
                 const uint64_t *b_targets)
{
    return hp_path_same(a, b) && a->insns == b->insns && a->events == b->events &&
           a->n_targets == b->n_targets &&
           (a->n_targets == 0 || memcmp(a_targets + a->first_target, b_targets + b->first_target,
                                        a->n_targets * sizeof *a_targets) == 0);
}

static void compare_path(struct pair *pair, const struct hp_path *path, const uint64_t *targets)
{
    const struct hp_path *expected = pair->done < pair->n ? &pair->expected[pair->done] : NULL;
    pair->hash = (pair->hash ^ hp_path_hash(path) ^ path->insns) * UINT64_C(0x9e3779b97f4a7c15);
    pair->hash ^= pair->hash >> 31;
    if (!pair->different && (!expected || !same(expected, pair->targets, path, targets))) {
        pair->different = true;
        printf("%s: path %" PRIu64 " differs\n", pair->name, pair->paths);
        if (expected)
            print_path("reference", expected, pair->targets);
        else
            printf("  the reference has none\n");
        print_path("detector", path, targets);
    }
    pair->done++;
    pair->paths++;
}

/* The detector delivers paths later than the reference, so the queue is never empty. Discards what
 * was compared. */
static void forget_done(struct pair *pair)
{
    size_t rest = pair->n - pair->done, first = pair->expected[pair->done].first_target;
    memmove(pair->expected, pair->expected + pair->done, rest * sizeof *pair->expected);
    memmove(pair->targets, pair->targets + first,
            (pair->n_targets - first) * sizeof *pair->targets);
    pair->n = rest;
    pair->n_targets -= first;
    pair->done = 0;
    for (size_t i = 0; i < rest; i++)
        pair->expected[i].first_target -= (uint32_t)first;
}

static void take_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct pair *pair = (struct pair *)sink;
    for (size_t i = 0; i < paths->n; i++)
        compare_path(pair, &paths->paths[i], paths->targets);
    if (pair->done >= pair->n)
        pair->done = pair->n = pair->n_targets = 0;
    else if (pair->done > FORGET)
        forget_done(pair);
}

/* --- The stream ------------------------------------------------------------------------------- */

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct thread *thread = state;
    for (size_t i = 0; i < thread->compare->n; i++) {
        reference_batch(thread->pairs[i].reference, batch);
        hp_detector_batch(thread->pairs[i].detector, batch);
    }
}

/* Passes the blocks of the steps so far to the references; the last one comes again. */
static void flush_blocks(struct thread *thread, const struct hp_code *code)
{
    struct hp_batch batch = {.code = code,
                             .table = hp_code_blocks(code),
                             .blocks = thread->blocks,
                             .taken = thread->taken,
                             .n = thread->n};
    for (size_t i = 0; thread->n && i < thread->compare->n; i++)
        reference_batch(thread->pairs[i].reference, &batch);
    thread->blocks[0] = thread->blocks[thread->n];
    thread->n = 0;
}

static void add_block(struct thread *thread, const struct hp_code *code, uint32_t id)
{
    const struct hp_block *b = hp_code_block(code, thread->blocks[thread->n]);
    bool may_fall = b->flow == HP_FLOW_COND || b->flow == HP_FLOW_SYSCALL ||
                    b->flow == HP_FLOW_TRAP || b->flow == HP_FLOW_NONE ||
                    b->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB);
    thread->taken[thread->n] = !(may_fall && hp_code_block(code, id)->start == b->end);
    thread->blocks[++thread->n] = id;
    if (thread->n == HP_BATCH_MAX)
        flush_blocks(thread, code);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    struct thread *thread = state;
    thread->blocks[0] = steps->steps[0].first;
    for (size_t i = 1; i <= steps->n; i++) {
        uint32_t n;
        const uint32_t *blocks = hp_code_unit(steps->code, steps->steps[i].unit, &n);
        for (uint32_t k = 0; k < n; k++)
            add_block(thread, steps->code, blocks[k]);
    }
    flush_blocks(thread, steps->code);
    for (size_t i = 0; i < thread->compare->n; i++)
        hp_detector_steps(thread->pairs[i].detector, steps);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *thread = state;
    for (size_t i = 0; i < thread->compare->n; i++) {
        reference_event(thread->pairs[i].reference, event);
        hp_detector_event(thread->pairs[i].detector, event);
    }
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct compare *c = (struct compare *)profiler;
    struct hp_frame_source *frames = c->frames ? &c->source : NULL;
    struct thread *thread = calloc(1, sizeof *thread);
    (void)info;
    HP_TRY(hp_grow(&c->threads, &c->cap_threads, c->n_threads + 1, sizeof *c->threads));
    if (!thread || !(thread->pairs = calloc(c->n, sizeof *thread->pairs)))
        return hp_fail_nomem();
    thread->compare = c;
    for (size_t i = 0; i < c->n; i++) {
        struct pair *pair = &thread->pairs[i];
        pair->sink.paths = take_paths;
        pair->name = c->names[i];
        pair->reference =
            reference_new(&c->ppcrs[i], c->reference_frames ? frames : NULL, found, pair);
        HP_TRY(hp_detector_new(&c->ppcrs[i], frames, &pair->sink, &pair->detector));
    }
    c->threads[c->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler;
    (void)result;
    return HP_OK;
}

static void free_compare(struct hp_profiler *profiler)
{
    struct compare *c = (struct compare *)profiler;
    for (size_t t = 0; t < c->n_threads; t++) {
        for (size_t i = 0; i < c->n; i++) {
            struct pair *pair = &c->threads[t]->pairs[i];
            reference_free(pair->reference);
            hp_detector_free(pair->detector);
            free(pair->expected);
            free(pair->targets);
        }
        free(c->threads[t]->pairs);
        free(c->threads[t]);
    }
    free(c->threads);
}

/* --- The verdict ------------------------------------------------------------------------------ */

static bool same_stats(const char *name, const struct hp_detector_stats *a,
                       const struct hp_detector_stats *b)
{
    static const char *const fields[] = {
        "branches",  "blocks",     "instructions",     "paths",     "splits",
        "overflows", "dropped",    "underflows",       "repairs",   "repaired",
        "purges",    "unfinished", "unfinished_insns", "saturated", "pieces"};
    uint64_t x[sizeof fields / sizeof fields[0]], y[sizeof fields / sizeof fields[0]];
    bool equal = true;
    _Static_assert(sizeof x == sizeof *a, "a field of the statistics has no name here");
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        if (x[i] == y[i])
            continue;
        printf("%s: %s: reference %" PRIu64 ", detector %" PRIu64 "\n", name, fields[i], x[i],
               y[i]);
        equal = false;
    }
    return equal;
}

static bool verdict(const struct compare *c, size_t i)
{
    bool equal = true;
    uint64_t paths = 0, branches = 0, repairs = 0, hash = 0;
    for (size_t t = 0; t < c->n_threads; t++) {
        struct pair *pair = &c->threads[t]->pairs[i];
        hp_detector_flush(pair->detector);
        const struct hp_detector_stats *stats = reference_stats(pair->reference);
        if (hp_detector_check(pair->detector) != HP_OK)
            fail(pair->name);
        if (pair->n > pair->done && !pair->different) {
            printf("%s: path %" PRIu64 " differs\n", pair->name, pair->paths);
            print_path("reference", &pair->expected[pair->done], pair->targets);
            printf("  the detector has none\n");
            equal = false;
        }
        equal = same_stats(pair->name, stats, hp_detector_stats(pair->detector)) &&
                !pair->different && equal;
        paths += stats->paths;
        branches += stats->branches;
        repairs += stats->repairs;
        hash = (hash << 1 | hash >> 63) ^ pair->hash;
    }
    printf("%s: %" PRIu64 " paths of %" PRIu64 " branches, %" PRIu64 " repairs, hash %016" PRIx64
           ": %s\n",
           c->names[i], paths, branches, repairs, hash, equal ? "equal" : "DIFFERENT");
    return equal;
}

static uint32_t function_of(struct hp_frame_source *source, uint32_t block)
{
    struct compare *c = (struct compare *)((char *)source - offsetof(struct compare, source));
    return hp_functions_of_block(c->functions, block);
}

static bool is_entry(struct hp_frame_source *source, uint32_t block)
{
    struct compare *c = (struct compare *)((char *)source - offsetof(struct compare, source));
    return hp_functions_is_entry(c->functions, block);
}

/* Both must read a preset the same way. */
static void read_ppcr(const char *name, struct hp_ppcr *ppcr)
{
    struct hp_ppcr spelt;
    char a[512], b[512];
    if (hp_ppcr_parse(name, ppcr) != HP_OK)
        fail(name);
    if (!strchr(name, ',') && reference_preset(name, &spelt)) {
        hp_ppcr_format(ppcr, a, sizeof a);
        hp_ppcr_format(&spelt, b, sizeof b);
        if (strcmp(a, b) != 0 || memcmp(ppcr->ops, spelt.ops, sizeof spelt.ops) != 0) {
            fprintf(stderr, "path_compare: %s is read as %s\n", name, a);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct hp_profiler_ops by_batches = {.name = "compare",
                                                      .start_thread = start_thread,
                                                      .batch = on_batch,
                                                      .event = on_event,
                                                      .finish = finish,
                                                      .free = free_compare};
    struct hp_profiler_ops ops = by_batches;
    struct compare c = {.base.ops = &ops,
                        .source = {.function_of = function_of, .is_entry = is_entry},
                        .frames = true,
                        .reference_frames = true};
    const struct hp_region everything = {0};
    struct hp_trace_reader *reader;
    struct hp_pipeline *pipeline;
    struct hp_code *code;
    uint64_t damaged;
    bool equal = true;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        if (strcmp(argv[1], "--steps") == 0)
            ops.steps = on_steps;
        else if (strcmp(argv[1], "--no-frames") == 0)
            c.frames = false;
        else if (strcmp(argv[1], "--reference-without-frames") == 0)
            c.reference_frames = false;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: path_compare [OPTIONS] TRACE PPCR...\n");
        return 2;
    }
    c.n = (size_t)argc - 2;
    c.names = argv + 2;
    c.ppcrs = calloc(c.n, sizeof *c.ppcrs);
    for (size_t i = 0; c.ppcrs && i < c.n; i++)
        read_ppcr(c.names[i], &c.ppcrs[i]);
    if (hp_trace_reader_open(argv[1], &reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(reader)->run.arch, &code) != HP_OK ||
        hp_functions_new(code, &c.functions) != HP_OK ||
        hp_pipeline_new(code, NULL, NULL, &everything, &pipeline) != HP_OK ||
        hp_pipeline_add(pipeline, &c.base) != HP_OK ||
        hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(argv[1]);
    for (size_t i = 0; i < c.n; i++)
        equal = verdict(&c, i) && equal;
    hp_pipeline_free(pipeline);
    free_compare(&c.base);
    hp_functions_free(c.functions);
    hp_code_free(code);
    hp_trace_reader_close(reader);
    free(c.ppcrs);
    return equal ? 0 : 1;
}
