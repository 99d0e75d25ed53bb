// SPDX-License-Identifier: MIT
/*
 * bench-stream TRACE SCRATCH PASSES WORDS [BLOCKS]: times consumers of words on the words of TRACE
 * (at most WORDS of them, 0: all; with BLOCKS, laid out as runs of at most that many blocks), and
 * prints one JSON object. Times are processor time of this thread, one number per pass, in
 * nanoseconds. SCRATCH is a file to write traces to; it is removed.
 */
#include "profiler/exact/exact.h"
#include "profiler/pipeline.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_PASSES 100

struct bench {
    struct recording recording;
    struct hp_functions *functions;
    const char *scratch;
    struct hp_cursor_stats stats; /* of the last pass */
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- Profilers to time with ------------------------------------------------------------------- */

/* A profiler that counts branches, or with `counts` false does nothing. */
struct counter {
    struct hp_profiler base; /* first */
    bool counts;
    uint64_t branches;
};

static enum hp_err counter_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                  void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

/* Retired branches: what a profile reports as such (see struct hp_pthread). */
static void counter_batch(void *state, const struct hp_batch *batch)
{
    struct counter *counter = state;
    if (!counter->counts)
        return;
    for (size_t i = 0; i < batch->n; i++) {
        uint8_t flow = batch->table[batch->blocks[i]].flow;
        counter->branches += flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL;
    }
}

static void counter_event(void *state, const struct hp_event *event)
{
    (void)state, (void)event;
}

static enum hp_err counter_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void counter_free(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops counter_ops = {
    .name = "counter",
    .start_thread = counter_thread,
    .batch = counter_batch,
    .event = counter_event,
    .finish = counter_finish,
    .free = counter_free,
};

static void stepper_steps(void *state, const struct hp_steps *steps)
{
    (void)state, (void)steps;
}

/* The same, doing nothing, by steps instead of blocks. */
static const struct hp_profiler_ops stepper_ops = {
    .name = "stepper",
    .start_thread = counter_thread,
    .batch = counter_batch,
    .steps = stepper_steps,
    .event = counter_event,
    .finish = counter_finish,
    .free = counter_free,
};

/* --- What is timed ---------------------------------------------------------------------------- */

/* Runs the recording through the iterator to one profiler; stores the time in `*ns`. */
static enum hp_err play_to(struct bench *b, struct hp_profiler *profiler, uint64_t *ns)
{
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    HP_TRY(hp_pipeline_new(b->recording.code, NULL, b->functions, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, profiler);
    uint64_t start = now();
    if (err == HP_OK)
        err = recording_play(&b->recording, hp_pipeline_consumer(pipeline));
    *ns = now() - start;
    b->stats = hp_pipeline_stats(pipeline)->cursor;
    hp_pipeline_free(pipeline);
    return err;
}

static enum hp_err time_null(struct bench *b, uint64_t *ns)
{
    struct counter nothing = {.base.ops = &counter_ops};
    return play_to(b, &nothing.base, ns);
}

static enum hp_err time_steps(struct bench *b, uint64_t *ns)
{
    struct counter nothing = {.base.ops = &stepper_ops};
    return play_to(b, &nothing.base, ns);
}

static enum hp_err time_exact(struct bench *b, uint64_t *ns)
{
    struct hp_profiler *exact;
    HP_TRY(hp_exact_new(b->recording.code, b->functions, false, &exact));
    enum hp_err err = play_to(b, exact, ns);
    exact->ops->free(exact);
    return err;
}

static enum hp_err write_trace(struct bench *b, struct hp_trace_writer *writer)
{
    const struct recording *r = &b->recording;
    for (size_t i = 0; i < r->n_threads; i++)
        HP_TRY(hp_trace_writer_thread(writer, &r->threads[i]));
    for (size_t i = 0; i < r->n_parts; i++)
        HP_TRY(hp_trace_writer_words(writer, r->parts[i].thread, r->words + r->parts[i].first,
                                     r->parts[i].n));
    for (size_t i = 0; i < r->n_threads; i++)
        HP_TRY(hp_trace_writer_end(writer, r->threads[i].id, HP_END_EXIT));
    return HP_OK;
}

static enum hp_err time_encode(struct bench *b, uint64_t *ns)
{
    char *command[] = {(char[]){"bench"}, NULL};
    struct hp_trace_run run = {.version = HP_VERSION,
                               .engine = "bench",
                               .arch = hp_code_arch(b->recording.code),
                               .command = command,
                               .directory = "",
                               .machine = ""};
    struct hp_trace_writer *writer;
    uint64_t start = now();
    HP_TRY(hp_trace_writer_new(b->scratch, &run, b->recording.code, &writer));
    enum hp_err err = write_trace(b, writer);
    if (err != HP_OK) {
        hp_trace_writer_abort(writer);
        return err;
    }
    err = hp_trace_writer_finish(writer, 0, 0);
    *ns = now() - start;
    return err;
}

/* Decodes what time_encode() wrote: as many words as the recording has. */
static enum hp_err time_decode(struct bench *b, uint64_t *ns)
{
    struct hp_code *code;
    struct hp_trace_reader *reader;
    struct hp_trace_item item = {.kind = HP_TRACE_THREAD};
    uint64_t start = now();
    HP_TRY(hp_trace_reader_open(b->scratch, &reader));
    enum hp_err err = hp_code_new(hp_trace_reader_info(reader)->run.arch, &code);
    if (err == HP_OK) {
        while (err == HP_OK && item.kind != HP_TRACE_END)
            err = hp_trace_reader_next(reader, code, &item);
        hp_code_free(code);
    }
    hp_trace_reader_close(reader);
    *ns = now() - start;
    return err;
}

/* --- Printing --------------------------------------------------------------------------------- */

typedef enum hp_err timed(struct bench *b, uint64_t *ns);

static enum hp_err print_passes(struct bench *b, const char *name, int passes, timed *time)
{
    uint64_t ns;
    HP_TRY(time(b, &ns)); /* the first one warms up */
    printf(", \"%s\": [", name);
    for (int i = 0; i < passes; i++) {
        HP_TRY(time(b, &ns));
        printf("%s%llu", i ? ", " : "", (unsigned long long)ns);
    }
    printf("]");
    return HP_OK;
}

static enum hp_err measure(struct bench *b, int passes)
{
    uint64_t ns;
    struct counter counter = {.base.ops = &counter_ops, .counts = true};
    HP_TRY(hp_functions_new(b->recording.code, &b->functions));
    HP_TRY(play_to(b, &counter.base, &ns));
    printf("{\"words\": %zu, \"blocks\": %llu, \"branches\": %llu, \"instructions\": %llu, "
           "\"static_blocks\": %u",
           b->recording.n_words, (unsigned long long)b->stats.blocks,
           (unsigned long long)counter.branches, (unsigned long long)b->stats.instructions,
           hp_code_n_blocks(b->recording.code));
    HP_TRY(print_passes(b, "iterator_ns", passes, time_null));
    HP_TRY(print_passes(b, "steps_ns", passes, time_steps));
    HP_TRY(print_passes(b, "exact_ns", passes, time_exact));
    HP_TRY(print_passes(b, "encode_ns", passes < 3 ? passes : 3, time_encode));
    HP_TRY(print_passes(b, "decode_ns", passes < 3 ? passes : 3, time_decode));
    struct stat trace;
    if (stat(b->scratch, &trace) == 0)
        printf(", \"trace_bytes\": %lld", (long long)trace.st_size);
    printf("}\n");
    return HP_OK;
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: bench-stream TRACE SCRATCH PASSES WORDS [BLOCKS]\n");
        return 2;
    }
    int passes = atoi(argv[3]);
    if (passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "bench-stream: %s passes: 1 to %d are possible\n", argv[3], MAX_PASSES);
        return 2;
    }
    struct bench b = {.scratch = argv[2]};
    enum hp_err err = recording_load(&b.recording, argv[1], strtoull(argv[4], NULL, 10));
    if (err == HP_OK && argc == 6)
        err = recording_lay_out(&b.recording, (uint32_t)atoi(argv[5]));
    if (err == HP_OK)
        err = measure(&b, passes);
    if (err != HP_OK)
        fprintf(stderr, "bench-stream: %s: %s\n", argv[1], hp_error_text());
    unlink(b.scratch);
    hp_functions_free(b.functions);
    recording_fini(&b.recording);
    return err == HP_OK ? 0 : 1;
}
