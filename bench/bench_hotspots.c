// SPDX-License-Identifier: MIT
/*
 * bench-hotspots TRACE PASSES WORDS DETECTOR...: times the profiler of hot spots with each detector, on the words of TRACE (at most WORDS of them, 0: all), and
 * prints one JSON object. Times are processor time of this thread, one number a pass, in nanoseconds; what reading the words takes is in them.
 */
#include "profiler/hotspot/profiler.h"
#include "profiler/pipeline.h"
#include "recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_PASSES 100

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The recording through the iterator to a profiler; the time goes to `*ns`. */
static enum hp_err play_to(const struct recording *r, struct hp_profiler *profiler, uint64_t *ns)
{
    struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    HP_TRY(hp_pipeline_new(r->code, NULL, NULL, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, profiler);
    uint64_t start = now();
    if (err == HP_OK)
        err = recording_play(r, hp_pipeline_consumer(pipeline));
    *ns = now() - start;
    hp_pipeline_free(pipeline);
    return err;
}

static enum hp_err play(const struct recording *r, const struct hp_hotspot_config *config,
                        struct hp_hotspot_summary *summary, struct hp_hotspot_stats *stats,
                        uint64_t *ns)
{
    struct hp_profiler *profiler;
    HP_TRY(hp_hotspot_profiler_new(r->code, NULL, config, &profiler));
    enum hp_err err = play_to(r, profiler, ns);
    if (err == HP_OK)
        err = hp_hotspot_summary(profiler, summary);
    *stats = *hp_hotspot_profiler_stats(profiler);
    profiler->ops->free(profiler);
    return err;
}

static enum hp_err measure(const struct recording *r, const char *text, int passes)
{
    struct hp_hotspot_config config;
    struct hp_hotspot_summary s;
    struct hp_hotspot_stats stats;
    uint64_t ns;
    HP_TRY(hp_hotspot_config_parse(text, &config));
    HP_TRY(play(r, &config, &s, &stats, &ns)); /* warms up */
    printf("{\"detector\": \"%s\", \"branches\": %" PRIu64 ", \"instructions\": %" PRIu64
           ", \"profiled\": %" PRIu64 ", \"misses\": %" PRIu64 ", \"hotspots\": %" PRIu64
           ", \"static\": %" PRIu64 ", \"executed\": %" PRIu64 ", \"total\": %" PRIu64
           ", \"after\": %" PRIu64 ", \"first\": %" PRIu64 ", \"ns\": [",
           text, s.branches, s.instructions, stats.profiled, stats.misses, s.hotspots, s.insns,
           s.executed, s.total, s.after, s.first_branches);
    for (int i = 0; i < passes; i++) {
        HP_TRY(play(r, &config, &s, &stats, &ns));
        printf("%s%" PRIu64, i ? ", " : "", ns);
    }
    printf("]}");
    return HP_OK;
}

int main(int argc, char **argv)
{
    struct recording recording;
    if (argc < 5) {
        fprintf(stderr, "usage: bench-hotspots TRACE PASSES WORDS DETECTOR...\n");
        return 2;
    }
    int passes = atoi(argv[2]);
    if (passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "bench-hotspots: %s passes: 1 to %d are possible\n", argv[2], MAX_PASSES);
        return 2;
    }
    enum hp_err err = recording_load(&recording, argv[1], strtoull(argv[3], NULL, 10));
    printf("{\"detectors\": [");
    for (int i = 4; i < argc && err == HP_OK; i++) {
        printf("%s", i > 4 ? ", " : "");
        err = measure(&recording, argv[i], passes);
    }
    printf("]}\n");
    if (err != HP_OK)
        fprintf(stderr, "bench-hotspots: %s: %s\n", argv[1], hp_error_text());
    recording_fini(&recording);
    return err == HP_OK ? 0 : 1;
}
