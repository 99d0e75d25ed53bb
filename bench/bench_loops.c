// SPDX-License-Identifier: MIT
/*
 * bench-loops TRACE PASSES WORDS BLOCKS MODEL...: times the loop models on the words of TRACE (at most WORDS of them, 0: all; with BLOCKS not 0, laid
 * out as runs of at most that many blocks), each alone, then all at once, and prints one JSON object. Times are processor time of
 * this thread, one number a pass, in nanoseconds; the iterator's is in them.
 */
#include "profiler/loop/models.h"
#include "profiler/pipeline.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_PASSES 100

struct bench {
    struct recording recording;
    struct hp_functions *functions;
    struct hp_loop_config configs[HP_LOOP_MODELS];
    size_t n_configs;
    struct hp_cursor_stats stats; /* of the last pass */
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The recording to one profiler; the time goes to `*ns`. */
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
    b->stats = hp_pipeline_stats(pipeline)->cursor;
    hp_pipeline_free(pipeline);
    return err;
}

static void print_model(const struct bench *b, size_t i, const struct hp_loop_model *model)
{
    const struct hp_loop_stats *stats = hp_loop_model_stats(model);
    char name[256];
    hp_loop_config_format(&b->configs[i], name, sizeof name);
    printf("], \"model\": \"%s\", \"bits\": %llu, \"backward\": %llu, \"overflows\": %llu, "
           "\"replacements\": %llu, \"halvings\": %llu, \"saturations\": %llu}",
           name, (unsigned long long)hp_loop_config_bits(&b->configs[i]),
           (unsigned long long)stats->branches, (unsigned long long)stats->overflows,
           (unsigned long long)stats->replacements, (unsigned long long)stats->halvings,
           (unsigned long long)stats->saturations);
}

/* The models from `first` on, `n` of them, at once. */
static enum hp_err measure(struct bench *b, size_t first, size_t n, int passes)
{
    printf("{\"ns\": [");
    for (int i = 0; i <= passes; i++) { /* the first one warms up */
        struct hp_profiler *profiler;
        uint64_t ns;
        HP_TRY(
            hp_loop_models_new(b->recording.code, b->functions, b->configs + first, n, &profiler));
        enum hp_err err = play(b, profiler, &ns);
        if (err == HP_OK && i)
            printf("%s%llu", i > 1 ? ", " : "", (unsigned long long)ns);
        if (err == HP_OK && i == passes && n == 1)
            print_model(b, first, hp_loop_models_get(profiler, 0));
        profiler->ops->free(profiler);
        HP_TRY(err);
    }
    return HP_OK;
}

/* A profiler that counts branches. */
struct counter {
    struct hp_profiler base; /* first */
    uint64_t branches;
};

static enum hp_err counter_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                  void **state)
{
    (void)thread;
    *state = profiler;
    return HP_OK;
}

static void counter_batch(void *state, const struct hp_batch *batch)
{
    struct hp_branch branch;
    for (size_t i = 0; i < batch->n; i++)
        ((struct counter *)state)->branches += hp_batch_branch(batch, i, &branch);
}

static void counter_event(void *state, const struct hp_event *event)
{
    (void)state, (void)event;
}

static const struct hp_profiler_ops counter_ops = {.name = "counter",
                                                   .start_thread = counter_thread,
                                                   .batch = counter_batch,
                                                   .event = counter_event};

static enum hp_err run(struct bench *b, int passes)
{
    struct counter counter = {.base.ops = &counter_ops};
    uint64_t ns;
    HP_TRY(hp_functions_new(b->recording.code, &b->functions));
    HP_TRY(play(b, &counter.base, &ns));
    printf("{\"models\": [");
    for (size_t i = 0; i < b->n_configs; i++) {
        printf("%s", i ? ", " : "");
        HP_TRY(measure(b, i, 1, passes));
    }
    printf("], \"all\": ");
    HP_TRY(measure(b, 0, b->n_configs, passes));
    printf("]}, \"words\": %zu, \"blocks\": %llu, \"branches\": %llu, \"instructions\": %llu}\n",
           b->recording.n_words, (unsigned long long)b->stats.blocks,
           (unsigned long long)counter.branches, (unsigned long long)b->stats.instructions);
    return HP_OK;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench-loops TRACE PASSES WORDS BLOCKS MODEL...\n");
        return 2;
    }
    int passes = atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES || argc - 5 > HP_LOOP_MODELS) {
        fprintf(stderr, "bench-loops: 1 to %d passes and 1 to %d models are possible\n", MAX_PASSES,
                HP_LOOP_MODELS);
        return 2;
    }
    struct bench b = {.n_configs = (size_t)(argc - 5)};
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < b.n_configs && err == HP_OK; i++)
        err = hp_loop_config_parse(argv[5 + i], &b.configs[i]);
    if (err == HP_OK)
        err = recording_load(&b.recording, argv[1], strtoull(argv[3], NULL, 10));
    if (err == HP_OK && atoi(argv[4]))
        err = recording_lay_out(&b.recording, (uint32_t)atoi(argv[4]));
    if (err == HP_OK)
        err = run(&b, passes);
    if (err != HP_OK)
        fprintf(stderr, "bench-loops: %s: %s\n", argv[1], hp_error_text());
    hp_functions_free(b.functions);
    recording_fini(&b.recording);
    return err == HP_OK ? 0 : 1;
}
