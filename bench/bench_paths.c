// SPDX-License-Identifier: MIT
/*
 * bench-paths TRACE PASSES WORDS [BLOCKS]: times path detectors and their sinks on the words of
 * TRACE (at most WORDS of them, 0: all; with BLOCKS, laid out as runs of at most that many blocks),
 * and prints one JSON object. Times are processor time of this process from words in memory to
 * finished paths, one number per pass, in nanoseconds.
 */
#include "hotpath/path.h"
#include "profiler/path/detector_impl.h"
#include "profiler/path/frames.h"
#include "profiler/pipeline.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PASSES 100

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- A profiler of detectors ------------------------------------------------------------------ */

/* Threads, each with a detector; all detectors feed the same sink, or none. */
struct bench {
    struct hp_profiler base; /* first */
    struct recording recording;
    struct hp_functions *functions;
    const char *preset;
    struct hp_path_sink *sink;
    struct hp_path_sink nothing;
    struct hp_path_frames frames;
    struct hp_detector **detectors;
    size_t n_detectors;
    struct hp_detector_stats stats; /* of the last pass */
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct bench *b = (struct bench *)profiler;
    struct hp_ppcr ppcr;
    (void)thread;
    HP_TRY(hp_ppcr_parse(b->preset, &ppcr));
    struct hp_detector **detector = &b->detectors[b->n_detectors];
    HP_TRY(hp_detector_new(&ppcr, &b->frames.source, b->sink, detector));
    *state = *detector;
    b->n_detectors++;
    return HP_OK;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    hp_detector_batch(state, batch);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    hp_detector_steps(state, steps);
}

static void on_event(void *state, const struct hp_event *event)
{
    hp_detector_event(state, event);
}

static const struct hp_profiler_ops ops = {
    .name = "detectors",
    .start_thread = start_thread,
    .batch = on_batch,
    .steps = on_steps,
    .event = on_event,
};

static void ignore(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    (void)sink, (void)paths;
}

static void ignore_known(struct hp_path_sink *sink, const struct hp_known_paths *known)
{
    (void)sink, (void)known;
}

static void add_stats(struct hp_detector_stats *sum, const struct hp_detector_stats *stats)
{
    sum->branches += stats->branches;
    sum->instructions += stats->instructions;
    sum->paths += stats->paths;
    sum->splits += stats->splits;
    sum->repairs += stats->repairs;
    sum->purges += stats->purges;
}

/* --- What is timed ---------------------------------------------------------------------------- */

/* Runs the recording through the iterator and a detector of `preset` to `sink`; stores the time in
 * `*ns`. */
static enum hp_err play(struct bench *b, const char *preset, struct hp_path_sink *sink,
                        uint64_t *ns)
{
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    b->preset = preset;
    b->sink = sink;
    b->n_detectors = 0;
    b->stats = (struct hp_detector_stats){0};
    HP_TRY(hp_pipeline_new(b->recording.code, NULL, b->functions, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, &b->base);
    uint64_t start = now();
    if (err == HP_OK)
        err = recording_play(&b->recording, hp_pipeline_consumer(pipeline));
    *ns = now() - start;
    for (size_t i = 0; i < b->n_detectors; i++) {
        add_stats(&b->stats, hp_detector_stats(b->detectors[i]));
        hp_detector_free(b->detectors[i]);
    }
    hp_pipeline_free(pipeline);
    return err;
}

/* Sinks. */
enum behind { NOTHING, TABLE, COMPLETE };

static enum hp_err play_to(struct bench *b, const char *preset, enum behind behind, uint64_t *ns)
{
    struct hp_hpt_config config;
    struct hp_hpt *hpt;
    struct hp_complete *complete;
    enum hp_err err;
    switch (behind) {
    case NOTHING: return play(b, preset, &b->nothing, ns);
    case TABLE:
        HP_TRY(hp_hpt_parse("vaswani", &config));
        HP_TRY(hp_hpt_new(&config, &hpt));
        err = play(b, preset, hp_hpt_sink(hpt), ns);
        hp_hpt_free(hpt);
        return err;
    case COMPLETE: break;
    }
    HP_TRY(hp_complete_new(0, &complete));
    err = play(b, preset, hp_complete_sink(complete), ns);
    hp_complete_free(complete);
    return err;
}

static enum hp_err print_passes(struct bench *b, const char *name, int passes, const char *preset,
                                enum behind behind)
{
    uint64_t ns;
    HP_TRY(play_to(b, preset, behind, &ns)); /* the first one warms up */
    printf(", \"%s\": {\"branches\": %llu, \"paths\": %llu, \"splits\": %llu, \"repairs\": %llu, "
           "\"purges\": %llu, \"ns\": [",
           name, (unsigned long long)b->stats.branches, (unsigned long long)b->stats.paths,
           (unsigned long long)b->stats.splits, (unsigned long long)b->stats.repairs,
           (unsigned long long)b->stats.purges);
    for (int i = 0; i < passes; i++) {
        HP_TRY(play_to(b, preset, behind, &ns));
        printf("%s%llu", i ? ", " : "", (unsigned long long)ns);
    }
    printf("]}");
    return HP_OK;
}

static enum hp_err measure(struct bench *b, int passes)
{
    static const char *const presets[] = {"bl", "wpp", "extended-loop:1", "extended-call:1",
                                          "forward"};
    HP_TRY(hp_functions_new(b->recording.code, &b->functions));
    hp_path_frames_init(&b->frames, b->recording.code, b->functions);
    printf("{\"words\": %zu", b->recording.n_words);
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        HP_TRY(print_passes(b, presets[i], passes, presets[i], NOTHING));
    HP_TRY(print_passes(b, "bl+table", passes, "bl", TABLE));
    HP_TRY(print_passes(b, "bl+complete", passes, "bl", COMPLETE));
    HP_TRY(print_passes(b, "forward+complete", passes, "forward", COMPLETE));
    printf("}\n");
    return HP_OK;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bench-paths TRACE PASSES WORDS [BLOCKS]\n");
        return 2;
    }
    int passes = atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "bench-paths: %s passes: 1 to %d are possible\n", argv[2], MAX_PASSES);
        return 2;
    }
    struct bench b = {.base.ops = &ops, .nothing = {.paths = ignore, .known = ignore_known}};
    enum hp_err err = recording_load(&b.recording, argv[1], strtoull(argv[3], NULL, 10));
    if (err == HP_OK && argc == 5)
        err = recording_lay_out(&b.recording, (uint32_t)atoi(argv[4]));
    b.detectors = calloc(b.recording.n_threads + 1, sizeof *b.detectors);
    if (err == HP_OK)
        err = measure(&b, passes);
    if (err != HP_OK)
        fprintf(stderr, "bench-paths: %s: %s\n", argv[1], hp_error_text());
    hp_path_frames_fini(&b.frames);
    hp_functions_free(b.functions);
    recording_fini(&b.recording);
    free(b.detectors);
    return err == HP_OK ? 0 : 1;
}
