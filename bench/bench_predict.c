// SPDX-License-Identifier: MIT
/*
 * bench-predict TRACE PASSES WORDS BLOCKS SCHEME...: times the prediction of hot paths on the words
 * of TRACE (at most WORDS of them, 0: all; with BLOCKS not 0, laid out as runs of at most that many
 * blocks), all schemes at once, and prints one JSON object. Times are processor time of this
 * thread, one number per pass, in nanoseconds.
 */
#include "profiler/pipeline.h"
#include "profiler/predict/predictions.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_PASSES 100

struct bench {
    struct recording recording;
    struct hp_judge_config config;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Runs the recording through cursor, detector, index and schemes; stores the time in `*ns`. */
static enum hp_err play(struct bench *b, struct hp_profiler *profiler, uint64_t *ns)
{
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    HP_TRY(hp_pipeline_new(b->recording.code, NULL, NULL, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, profiler);
    uint64_t start = now();
    if (err == HP_OK)
        err = recording_play(&b->recording, hp_pipeline_consumer(pipeline));
    *ns = now() - start;
    hp_pipeline_free(pipeline);
    return err;
}

static void print_row(const struct hp_judge *judge, size_t i)
{
    struct hp_prediction m;
    char name[64];
    hp_scheme_format(&hp_judge_config(judge)->schemes[i], name, sizeof name);
    hp_judge_result(judge, i, &m);
    printf("%s{\"scheme\": \"%s\", \"hit_rate\": %.2f, \"noise_rate\": %.2f, \"profiled\": %.4f, "
           "\"predicted\": %llu, \"never_ran\": %llu, \"counters\": %llu, \"operations\": %.4f}",
           i ? ", " : "", name, hp_hit_rate(&m), hp_noise_rate(&m), hp_profiled_rate(&m),
           (unsigned long long)m.predicted, (unsigned long long)m.never_ran,
           (unsigned long long)m.cost.counters, hp_operations_per_branch(&m));
}

static void print_results(const struct hp_profiler *profiler)
{
    const struct hp_judge *judge = hp_predictions_judge(profiler);
    struct hp_prediction m;
    hp_judge_result(judge, 0, &m);
    printf("], \"flow\": %llu, \"branches\": %llu, \"paths\": %llu, \"heads\": %llu, "
           "\"hot_paths\": %llu, "
           "\"hot_flow\": %.2f, \"splits\": %llu, \"schemes\": [",
           (unsigned long long)m.flow, (unsigned long long)m.branches, (unsigned long long)m.paths,
           (unsigned long long)m.heads, (unsigned long long)m.hot_paths,
           100.0 * (double)m.hot_flow / (double)(m.flow ? m.flow : 1),
           (unsigned long long)m.splits);
    for (size_t i = 0; i < hp_judge_config(judge)->n_schemes; i++)
        print_row(judge, i);
    printf("]}\n");
}

static enum hp_err measure(struct bench *b, int passes)
{
    printf("{\"words\": %zu, \"predict_ns\": [", b->recording.n_words);
    for (int i = 0; i <= passes; i++) { /* the first one warms up */
        struct hp_profiler *profiler;
        uint64_t ns;
        HP_TRY(hp_predictions_new(b->recording.code, &b->config, &profiler));
        enum hp_err err = play(b, profiler, &ns);
        if (err == HP_OK && i)
            printf("%s%llu", i > 1 ? ", " : "", (unsigned long long)ns);
        if (err == HP_OK && i == passes)
            print_results(profiler);
        profiler->ops->free(profiler);
        HP_TRY(err);
    }
    return HP_OK;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench-predict TRACE PASSES WORDS BLOCKS SCHEME...\n");
        return 2;
    }
    int passes = atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES || argc - 5 > HP_JUDGE_SCHEMES) {
        fprintf(stderr, "bench-predict: 1 to %d passes and 1 to %d schemes are possible\n",
                MAX_PASSES, HP_JUDGE_SCHEMES);
        return 2;
    }
    struct bench b = {.config.n_schemes = (size_t)(argc - 5)};
    enum hp_err err = HP_OK;
    for (int i = 5; i < argc && err == HP_OK; i++)
        err = hp_scheme_parse(argv[i], &b.config.schemes[i - 5]);
    if (err == HP_OK)
        err = recording_load(&b.recording, argv[1], strtoull(argv[3], NULL, 10));
    if (err == HP_OK && atoi(argv[4]))
        err = recording_lay_out(&b.recording, (uint32_t)atoi(argv[4]));
    if (err == HP_OK)
        err = measure(&b, passes);
    if (err != HP_OK)
        fprintf(stderr, "bench-predict: %s: %s\n", argv[1], hp_error_text());
    recording_fini(&b.recording);
    return err == HP_OK ? 0 : 1;
}
