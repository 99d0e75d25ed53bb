// SPDX-License-Identifier: MIT
/*
 * Compares paths that a simulated engine counts with those of the plain stream, on a recorded
 * trace: counted_compare [--hand-over=PERCENT] TRACE PPCR... What the trace says was executed is
 * replayed block by block, once as plain words, once through the engine. For each control register
 * both profiles must be the same, path by path and total by total. Prints one line for each: what
 * was counted, what was left to words, what it took; "equal", or "DIFFERENT" and in what. Exit
 * status 0 equal, 1 different, 2 trouble.
 */
#include "path_engine.h"

#include "base/grow.h"
#include "engine/live_impl.h"
#include "engine/trace/replay.h"
#include "profiler/path/paths.h"
#include "profiler/path/prefixes.h"
#include "profiler/pipeline.h"
#include "symbols/functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 32768 /* of the shadow stack */

static void fail(const char *what)
{
    fprintf(stderr, "counted_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

static void need(enum hp_err err, const char *what)
{
    if (err != HP_OK)
        fail(what);
}

/* --- The trace, block by block ---------------------------------------------------------------- */

/* A thread of the trace. Its words name blocks: id + 1. */
struct execution {
    struct hp_thread info;
    struct sim_words words;
    uint32_t pending; /* block that was put down already, and comes again; HP_NO_ID: none */
    uint32_t *interrupted;
    size_t n_interrupted, cap_interrupted;
};

struct recording {
    struct hp_profiler base; /* first */
    struct execution **threads;
    size_t n, cap;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct recording *r = (struct recording *)profiler;
    struct execution *e = calloc(1, sizeof *e);
    HP_TRY(hp_grow(&r->threads, &r->cap, r->n + 1, sizeof *r->threads));
    if (!e)
        return hp_fail_nomem();
    e->info = *thread;
    e->pending = HP_NO_ID;
    r->threads[r->n++] = e;
    *state = e;
    return HP_OK;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct execution *e = state;
    if (e->pending != batch->blocks[0])
        sim_put(&e->words, batch->blocks[0] + 1);
    for (size_t i = 1; i <= batch->n; i++)
        sim_put(&e->words, batch->blocks[i] + 1);
    e->pending = batch->blocks[batch->n];
}

static void on_signal(struct execution *e, uint32_t number)
{
    need(
        hp_grow(&e->interrupted, &e->cap_interrupted, e->n_interrupted + 1, sizeof *e->interrupted),
        "signals");
    e->interrupted[e->n_interrupted++] = e->pending;
    e->pending = HP_NO_ID;
    sim_put_event(&e->words, HP_WORD_SIGNAL, number, NULL);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct execution *e = state;
    const uint32_t unknown[2] = {0, 0};
    switch (event->kind) {
    case HP_EVENT_SIGNAL: on_signal(e, (uint32_t)event->value); break;
    case HP_EVENT_SIGRETURN:
        e->pending = e->n_interrupted ? e->interrupted[--e->n_interrupted] : HP_NO_ID;
        sim_put_event(&e->words, HP_WORD_SIGRETURN, 0, NULL);
        break;
    case HP_EVENT_TAIL:
        if (e->pending != event->block)
            sim_put(&e->words, event->block + 1);
        e->pending = HP_NO_ID;
        break;
    case HP_EVENT_LOST:
        sim_put_event(&e->words, HP_WORD_LOST, (uint32_t)event->value, unknown);
        e->pending = HP_NO_ID;
        break;
    default: break;
    }
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_recording(struct hp_profiler *profiler)
{
    struct recording *r = (struct recording *)profiler;
    for (size_t i = 0; i < r->n; i++) {
        free(r->threads[i]->words.words);
        free(r->threads[i]->interrupted);
        free(r->threads[i]);
    }
    free(r->threads);
}

/* --- Two readers ------------------------------------------------------------------------------ */

struct reading {
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_profiler *profiler;
    struct hp_pipeline *pipeline;
};

struct comparison {
    struct hp_segment_source source; /* first; of plain words */
    const struct hp_code *traced;
    struct hp_live *live;
    uint32_t *records;        /* by module */
    struct sim_piece *pieces; /* by block */
    uint32_t *block_of;       /* by segment */
    size_t cap_block_of;
    struct reading plain, counted;
    struct sim_engine did; /* all engines together */
};

/* Loads for the plain reader what the arena has for the other. */
static enum hp_err load(struct hp_segment_source *source, uint32_t id)
{
    struct comparison *c = (struct comparison *)source;
    const struct hp_block *block = hp_code_block(c->traced, c->block_of[id]);
    struct hp_segment segment = {.start = block->start,
                                 .size = (uint32_t)(block->end - block->start),
                                 .bytes = hp_code_bytes(c->traced, block)};
    HP_TRY(hp_code_add_module(c->plain.code, hp_code_module(c->traced, block->module),
                              &segment.module));
    return hp_code_add_segment(c->plain.code, id, &segment);
}

static void open_reading(struct comparison *c, struct reading *r, const struct hp_ppcr *ppcr,
                         bool counted)
{
    const struct hp_region everything = {0};
    struct hp_paths_config config = {.ppcr = *ppcr};
    need(hp_code_new(hp_code_arch(c->traced), &r->code), "code");
    need(hp_functions_new(r->code, &r->functions), "functions");
    need(hp_paths_new(r->code, r->functions, &config, &r->profiler), "paths");
    need(hp_pipeline_new(r->code, counted ? hp_live_source(c->live, r->code) : &c->source, NULL,
                         &everything, &r->pipeline),
         "pipeline");
    need(hp_pipeline_add(r->pipeline, r->profiler), "pipeline");
    if (!counted)
        return;
    hp_live_set_ranges(c->live, hp_paths_ranges(r->profiler));
    need(hp_paths_expect_counts(r->profiler, hp_live_paths(c->live)), "counts");
    need(hp_pipeline_expect_paths(r->pipeline), "counts");
}

static void close_reading(struct reading *r)
{
    hp_pipeline_free(r->pipeline);
    r->profiler->ops->free(r->profiler);
    hp_functions_free(r->functions);
    hp_code_free(r->code);
}

/* --- The code, in an arena -------------------------------------------------------------------- */

static uint32_t record_of(struct comparison *c, uint32_t module)
{
    const struct hp_module *m = hp_code_module(c->traced, module);
    struct hp_arena_record record = {.base = m->base,
                                     .low = m->low,
                                     .high = m->high,
                                     .length = (uint32_t)strlen(m->path),
                                     .is_module = 1};
    if (!c->records[module])
        c->records[module] = hp_arena_add_record(c->live->arena, &record, m->path);
    return c->records[module];
}

/* A block that no transfer ends is only there because something cut it short: it takes words. */
static void add_piece(struct comparison *c, uint32_t id)
{
    const struct hp_block *block = hp_code_block(c->traced, id);
    struct hp_arena_segment segment = {.start = block->start,
                                       .module = record_of(c, block->module),
                                       .size = (uint32_t)(block->end - block->start)};
    struct sim_piece *piece = &c->pieces[id];
    *piece = (struct sim_piece){
        .start = block->start,
        .exit = {block->last, block->end, block->target, block->flow},
        .segment = hp_arena_add_segment(c->live->arena, &segment, hp_code_bytes(c->traced, block)),
        .insns = block->insns,
        .module = segment.module,
        .base = hp_code_module(c->traced, block->module)->base};
    need(hp_grow(&c->block_of, &c->cap_block_of, (size_t)piece->segment + 1, sizeof *c->block_of),
         "segments");
    c->block_of[piece->segment] = id;
}

static void add_code(struct comparison *c)
{
    c->records = calloc((size_t)hp_code_n_modules(c->traced) + 1, sizeof *c->records);
    c->pieces = calloc((size_t)hp_code_n_blocks(c->traced) + 1, sizeof *c->pieces);
    if (!c->records || !c->pieces)
        fail("memory");
    for (uint32_t i = 0; i < hp_code_n_blocks(c->traced); i++)
        add_piece(c, i);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* The words of the trace, with the arena's segments. */
static void translate(const struct comparison *c, const struct sim_words *words,
                      struct sim_words *out)
{
    for (size_t i = 0; i < words->n; i++) {
        uint32_t word = words->words[i];
        if (word & HP_WORD_EVENT) {
            sim_put_event(out, (enum hp_word_kind)hp_word_kind(word), hp_word_arg(word),
                          words->words + i + 1);
            i += (size_t)hp_word_payload(word);
        } else {
            sim_put(out, c->pieces[word - 1].segment);
        }
    }
}

/* A block without an end cannot be described alone. */
static void run(struct comparison *c, struct sim_engine *e, const struct sim_words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        uint32_t word = words->words[i];
        if (word & HP_WORD_EVENT) {
            sim_engine_event(e, words->words + i);
            i += (size_t)hp_word_payload(word);
        } else if (c->pieces[word - 1].exit.flow == HP_FLOW_NONE) {
            sim_engine_hand_over(e);
            sim_put(e->out, c->pieces[word - 1].segment);
            e->has_last = false;
        } else {
            sim_engine_run(e, &c->pieces[word - 1]);
        }
        hp_live_answer(c->live);
    }
    sim_engine_hand_over(e);
}

static void deliver(struct reading *r, const struct hp_thread *thread,
                    const struct sim_words *words, const struct sim_engine *e)
{
    struct hp_consumer *consumer = hp_pipeline_consumer(r->pipeline);
    need(consumer->thread(consumer, thread), "thread");
    if (words->n)
        need(consumer->words(consumer, thread->id, words->words, words->n), "words");
    for (uint32_t i = 0; e && i < e->cap_counters; i++) {
        struct hp_count count = {.segment = i, .count = e->counters[i]};
        if (count.count)
            need(consumer->counts(consumer, thread->id, &count, 1), "counts");
    }
    need(consumer->end(consumer, thread->id, HP_END_EXIT), "end");
}

static void run_thread(struct comparison *c, const struct execution *execution,
                       const struct hp_path_rules *rules, uint32_t hands_over)
{
    struct sim_words plain = {0}, words = {0};
    struct sim_engine e = {.arena = c->live->arena,
                           .rules = *rules,
                           .out = &words,
                           .random = 1,
                           .ids = UINT32_MAX,
                           .hands_over = hands_over,
                           .counts = 100,
                           .room = ROOM};
    translate(c, &execution->words, &plain);
    run(c, &e, &execution->words);
    deliver(&c->plain, &execution->info, &plain, NULL);
    deliver(&c->counted, &execution->info, &words, &e);
    c->did.counted += e.counted;
    c->did.handed += e.handed;
    c->did.frames += e.frames;
    sim_engine_fini(&e);
    free(plain.words);
    free(words.words);
}

/* --- The verdict ------------------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
    const struct hp_path_count *x = a, *y = b;
    const struct hp_path *p = &x->path, *q = &y->path;
    if (p->start != q->start)
        return p->start < q->start ? -1 : 1;
    if (p->length != q->length)
        return p->length < q->length ? -1 : 1;
    if (p->outcomes != q->outcomes)
        return p->outcomes < q->outcomes ? -1 : 1;
    if (x->count != y->count) /* code that changed has several */
        return x->count < y->count ? -1 : 1;
    return x->insns < y->insns ? -1 : x->insns > y->insns;
}

static bool same_paths(const struct comparison *c, size_t *n)
{
    struct hp_path_count *a, *b;
    size_t m;
    need(hp_paths_all(c->plain.profiler, &a, n), "paths");
    need(hp_paths_all(c->counted.profiler, &b, &m), "paths");
    bool same = *n == m;
    qsort(a, *n, sizeof *a, by_path);
    qsort(b, m, sizeof *b, by_path);
    for (size_t i = 0; i < m && same; i++)
        same = by_path(&a[i], &b[i]) == 0 && a[i].events == b[i].events;
    free(a);
    free(b);
    return same;
}

/* Totals are numbers; all but the overflows must be the same. `sum`: of the plain ones. */
static bool same_totals(const struct comparison *c, struct hp_detector_stats *sum)
{
    bool same = true;
    *sum = (struct hp_detector_stats){0};
    for (size_t i = 0; i < hp_paths_threads(c->plain.profiler); i++) {
        struct hp_detector_stats a = *hp_paths_thread(c->plain.profiler, i).stats;
        struct hp_detector_stats b = *hp_paths_thread(c->counted.profiler, i).stats;
        a.overflows = b.overflows = 0;
        same = same && memcmp(&a, &b, sizeof a) == 0;
        sum->branches += a.branches;
        sum->paths += a.paths;
        sum->repairs += a.repairs;
    }
    return same;
}

static bool compare(const struct hp_code *traced, const struct recording *recording,
                    const char *name, uint32_t hands_over)
{
    struct comparison c = {.source = {.load = load}, .traced = traced};
    struct hp_live_options options = {.mode = HP_RECORD_PATHS};
    struct hp_detector_stats sum;
    struct hp_ppcr ppcr;
    size_t n;
    need(hp_ppcr_parse(name, &ppcr), name);
    if (!hp_path_can_count(&ppcr, &options.paths))
        fail(name);
    need(hp_live_new(&options, &c.live), "arena");
    add_code(&c);
    open_reading(&c, &c.plain, &ppcr, false);
    open_reading(&c, &c.counted, &ppcr, true);
    for (size_t i = 0; i < recording->n; i++)
        run_thread(&c, recording->threads[i], &options.paths, hands_over);
    bool paths = same_paths(&c, &n), totals = same_totals(&c, &sum);
    printf("%s: %" PRIu64 " paths of %" PRIu64 " branches, %zu distinct, %" PRIu64
           " repairs; counted %.2f%%, handed over %" PRIu64 " times, %" PRIu64
           " frames, %u prefixes, %u paths: %s\n",
           name, sum.paths, sum.branches, n, sum.repairs,
           sum.paths ? 100.0 * (double)c.did.counted / (double)sum.paths : 0, c.did.handed,
           c.did.frames, c.live->arena->next_prefix, c.live->arena->next_path,
           paths && totals ? "equal"
           : paths         ? "DIFFERENT totals"
                           : "DIFFERENT paths");
    close_reading(&c.plain);
    close_reading(&c.counted);
    hp_live_free(c.live);
    free(c.records);
    free(c.pieces);
    free(c.block_of);
    return paths && totals;
}

int main(int argc, char **argv)
{
    static const struct hp_profiler_ops ops = {.name = "recording",
                                               .start_thread = start_thread,
                                               .batch = on_batch,
                                               .event = on_event,
                                               .finish = finish,
                                               .free = free_recording};
    const struct hp_region everything = {0};
    struct recording recording = {.base.ops = &ops};
    struct hp_trace_reader *reader;
    struct hp_pipeline *pipeline;
    struct hp_code *code;
    uint64_t damaged;
    uint32_t hands_over = 0;
    bool equal = true;
    if (argc > 1 && strncmp(argv[1], "--hand-over=", 12) == 0) {
        hands_over = (uint32_t)strtoul(argv[1] + 12, NULL, 10);
        argc--;
        argv++;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: counted_compare [--hand-over=PERCENT] TRACE PPCR...\n");
        return 2;
    }
    need(hp_trace_reader_open(argv[1], &reader), argv[1]);
    need(hp_code_new(hp_trace_reader_info(reader)->run.arch, &code), "code");
    need(hp_pipeline_new(code, NULL, NULL, &everything, &pipeline), "pipeline");
    need(hp_pipeline_add(pipeline, &recording.base), "pipeline");
    need(hp_replay(reader, code, hp_pipeline_consumer(pipeline), false, &damaged), argv[1]);
    for (int i = 2; i < argc; i++)
        equal = compare(code, &recording, argv[i], hands_over) && equal;
    hp_pipeline_free(pipeline);
    free_recording(&recording.base);
    hp_code_free(code);
    hp_trace_reader_close(reader);
    return equal ? 0 : 1;
}
