// SPDX-License-Identifier: MIT
/*
 * bench-profilers TRACE PASSES WORDS PROFILER...: times profilers on the words of TRACE (at most
 * WORDS of them, 0: all), one after the other, and prints one JSON object: retired branches, and
 * for each profiler its times, one number per pass, processor time in nanoseconds. PROFILER:
 * nothing, exact, loops (exact ones), loop:MODEL, hotspots:DETECTOR.
 */
#include "profiler/exact/exact.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/loop/models.h"
#include "profiler/pipeline.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PASSES 100

struct bench {
    struct hp_profiler counter; /* of branches */
    uint64_t branches;
    struct recording recording;
    struct hp_functions *functions;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- Counting branches ------------------------------------------------------------------------ */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static void count_batch(void *state, const struct hp_batch *batch)
{
    struct bench *b = state;
    struct hp_branch branch;
    for (size_t i = 0; i < batch->n; i++)
        b->branches += hp_batch_branch(batch, i, &branch);
}

static void skip_batch(void *state, const struct hp_batch *batch)
{
    (void)state, (void)batch;
}

static void skip_steps(void *state, const struct hp_steps *steps)
{
    (void)state, (void)steps;
}

static void skip_event(void *state, const struct hp_event *event)
{
    (void)state, (void)event;
}

static void keep(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops counting = {.name = "branches",
                                                .start_thread = start_thread,
                                                .batch = count_batch,
                                                .event = skip_event,
                                                .free = keep};
static const struct hp_profiler_ops nothing = {.name = "nothing",
                                               .start_thread = start_thread,
                                               .batch = skip_batch,
                                               .steps = skip_steps,
                                               .event = skip_event,
                                               .free = keep};

/* --- What is timed ---------------------------------------------------------------------------- */

static enum hp_err make(struct bench *b, const char *name, struct hp_profiler **profiler)
{
    struct hp_code *code = b->recording.code;
    if (strcmp(name, "nothing") == 0) {
        b->counter.ops = &nothing;
        *profiler = &b->counter;
        return HP_OK;
    }
    if (strcmp(name, "exact") == 0 || strcmp(name, "loops") == 0)
        return hp_exact_new(code, b->functions, *name == 'l', profiler);
    if (strncmp(name, "loop:", 5) == 0) {
        struct hp_loop_config config;
        HP_TRY(hp_loop_config_parse(name + 5, &config));
        return hp_loop_models_new(code, b->functions, &config, 1, profiler);
    }
    if (strncmp(name, "hotspots:", 9) == 0) {
        struct hp_hotspot_config config;
        HP_TRY(hp_hotspot_config_parse(name + 9, &config));
        return hp_hotspot_profiler_new(code, b->functions, &config, profiler);
    }
    return hp_fail(HP_ERR_INVALID, "there is no profiler '%s'", name);
}

/* Runs the recording through the cursor and a profiler; stores the time in `*ns`. */
static enum hp_err play(struct bench *b, struct hp_profiler *profiler, uint64_t *ns)
{
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    HP_TRY(hp_pipeline_new(b->recording.code, NULL, b->functions, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, profiler);
    uint64_t start = now();
    if (err == HP_OK)
        err = recording_play(&b->recording, hp_pipeline_consumer(pipeline));
    *ns = now() - start;
    hp_pipeline_free(pipeline);
    return err;
}

static enum hp_err print_passes(struct bench *b, const char *name, int passes)
{
    printf(", \"%s\": [", name);
    for (int i = 0; i <= passes; i++) { /* the first one warms up */
        struct hp_profiler *profiler;
        uint64_t ns;
        HP_TRY(make(b, name, &profiler));
        enum hp_err err = play(b, profiler, &ns);
        profiler->ops->free(profiler);
        HP_TRY(err);
        if (i)
            printf("%s%llu", i > 1 ? ", " : "", (unsigned long long)ns);
    }
    printf("]");
    return HP_OK;
}

static enum hp_err measure(struct bench *b, int passes, char **names)
{
    uint64_t ns;
    HP_TRY(hp_functions_new(b->recording.code, &b->functions));
    b->counter.ops = &counting;
    HP_TRY(play(b, &b->counter, &ns));
    printf("{\"branches\": %llu", (unsigned long long)b->branches);
    for (; *names; names++)
        HP_TRY(print_passes(b, *names, passes));
    printf("}\n");
    return HP_OK;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bench-profilers TRACE PASSES WORDS PROFILER...\n");
        return 2;
    }
    int passes = atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "bench-profilers: %s passes: 1 to %d are possible\n", argv[2], MAX_PASSES);
        return 2;
    }
    struct bench b = {0};
    enum hp_err err = recording_load(&b.recording, argv[1], strtoull(argv[3], NULL, 10));
    if (err == HP_OK)
        err = measure(&b, passes, argv + 4);
    if (err != HP_OK)
        fprintf(stderr, "bench-profilers: %s: %s\n", argv[1], hp_error_text());
    hp_functions_free(b.functions);
    recording_fini(&b.recording);
    return err == HP_OK ? 0 : 1;
}
