// SPDX-License-Identifier: MIT
/*
 * Compares the cycles of paths with the slow reference, on a trace recorded with addresses:
 *   path_time_compare TRACE AFTER INSTRUCTIONS MACHINE WINDOWS PPCR...
 * Both are given what a machine in cycles says of INSTRUCTIONS instructions (0: all) from number
 * AFTER on. For each control register all measured executions of paths, and their cycles by cause,
 * must be the same; and every cycle must be in a path or known to be in none. Prints a line for
 * each. Exit status 0 equal, 1 different, 2 trouble.
 */
#include "path_time_reference.h"

#include "base/grow.h"
#include "engine/trace/replay.h"
#include "machine/machine.h"
#include "profiler/path/paths.h"
#include "profiler/pipeline.h"
#include "symbols/functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void must(enum hp_err err)
{
    if (err == HP_OK)
        return;
    fprintf(stderr, "path_time_compare: %s\n", hp_error_text());
    exit(2);
}

/* A profiler of the reference. */
struct compare {
    struct hp_profiler base; /* first */
    struct hp_frame_source source;
    struct hp_functions *functions;
    struct hp_code *code;
    struct hp_ppcr ppcr;
    struct hp_paths_cycles cycles;
    struct reference_times times;
};

struct thread {
    struct compare *compare;
    struct path_time_reference *reference;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct compare *c = (struct compare *)profiler;
    struct thread *thread;
    (void)info;
    must(hp_new(&thread, 1, sizeof *thread));
    thread->compare = c;
    thread->reference = path_time_reference_new(&c->ppcr, &c->source, &c->cycles.windows,
                                                c->cycles.machine->core.front_stages);
    *state = thread;
    return HP_OK;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    path_time_reference_batch(((struct thread *)state)->reference, batch);
}

static void on_timings(void *state, const struct hp_timing *timings, size_t n)
{
    path_time_reference_timings(((struct thread *)state)->reference, timings, n);
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *thread = state;
    path_time_reference_event(thread->reference, event);
    if (event->kind != HP_EVENT_END)
        return;
    path_time_reference_finish(thread->reference, hp_code_blocks(thread->compare->code),
                               &thread->compare->times);
    free(thread);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_compare(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops compare_ops = {.name = "compare",
                                                   .start_thread = start_thread,
                                                   .batch = on_batch,
                                                   .event = on_event,
                                                   .timings = on_timings,
                                                   .finish = finish,
                                                   .free = free_compare};

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

/* --- The verdict ------------------------------------------------------------------------------ */

static uint64_t all_of(const struct hp_path_costs *costs)
{
    uint64_t sum = 0;
    for (int i = 0; i < HP_CAUSES; i++)
        sum += costs->of[i];
    return sum;
}

static bool same_path(const struct hp_timed_paths *timed, const struct reference_time *time)
{
    uint32_t place = hp_timed_paths_find(timed, &time->path);
    bool same = place != HP_NO_ID && timed->paths[place].count == time->count &&
                timed->paths[place].insns == time->insns;
    for (int cause = 0; cause < HP_CAUSES && same; cause++)
        same = timed->costs[place].of[cause] == time->parts[cause];
    return same;
}

static bool verdict(const struct compare *c, const struct hp_timed_paths *timed, const char *name)
{
    size_t different = 0;
    for (size_t i = 0; i < c->times.n; i++)
        different += !same_path(timed, &c->times.times[i]);
    bool equal = different == 0 && timed->n == c->times.n && all_of(&timed->lost) == 0 &&
                 timed->attributed == c->times.parts &&
                 all_of(&timed->all) + all_of(&timed->unfinished) == timed->attributed;
    printf("%s: executions %" PRIu64 " paths %zu cycles %" PRIu64 " unfinished %" PRIu64
           " different %zu: %s\n",
           name, timed->executions, timed->n, timed->attributed / HP_CYCLE_PARTS,
           all_of(&timed->unfinished) / HP_CYCLE_PARTS, different, equal ? "equal" : "DIFFERENT");
    return equal;
}

static void replay(const char *path, const struct hp_region *region, struct compare *c,
                   const struct hp_machine *machine, struct hp_profiler **paths,
                   struct hp_trace_reader *reader)
{
    struct hp_cycles_setup setup = {.windows = c->cycles.windows};
    struct hp_pipeline *pipeline;
    struct hp_paths_config config = {.ppcr = c->ppcr, .cycles = c->cycles};
    uint64_t damaged;
    must(hp_program_new(machine, c->code, &setup.program));
    must(hp_pipeline_new(c->code, NULL, NULL, region, &pipeline));
    if (!hp_trace_reader_info(reader)->run.addresses) {
        fprintf(stderr, "path_time_compare: %s has no addresses\n", path);
        exit(2);
    }
    hp_trace_reader_want_addresses(reader);
    hp_pipeline_expect_addresses(pipeline);
    must(hp_paths_new(c->code, c->functions, &config, paths));
    must(hp_pipeline_set_machine(pipeline, machine));
    hp_pipeline_set_cycles(pipeline, &setup);
    must(hp_pipeline_add(pipeline, *paths));
    must(hp_pipeline_add(pipeline, &c->base));
    must(hp_replay(reader, c->code, hp_pipeline_consumer(pipeline), false, &damaged));
    hp_pipeline_free(pipeline);
    hp_program_free(setup.program);
}

static bool compare(char **argv, const char *name)
{
    const struct hp_region region = {.after = strtoull(argv[2], NULL, 10),
                                     .length = strtoull(argv[3], NULL, 10)};
    struct compare c = {
        .base.ops = &compare_ops,
        .source = {.function_of = function_of, .is_entry = is_entry},
    };
    struct hp_trace_reader *reader;
    struct hp_machine *machine;
    struct hp_profiler *paths;
    must(hp_trace_reader_open(argv[1], &reader));
    must(hp_code_new(hp_trace_reader_info(reader)->run.arch, &c.code));
    must(hp_functions_new(c.code, &c.functions));
    must(hp_machine_load(argv[4], &machine));
    must(hp_windows_parse(argv[5], &c.cycles.windows));
    must(hp_ppcr_parse(name, &c.ppcr));
    c.cycles.machine = machine;
    replay(argv[1], &region, &c, machine, &paths, reader);
    bool equal = verdict(&c, hp_paths_timed(paths), name);
    paths->ops->free(paths);
    free(c.times.times);
    hp_machine_free(machine);
    hp_functions_free(c.functions);
    hp_code_free(c.code);
    hp_trace_reader_close(reader);
    return equal;
}

int main(int argc, char **argv)
{
    bool equal = true;
    if (argc < 7) {
        fprintf(stderr, "usage: path_time_compare TRACE AFTER INSTRUCTIONS MACHINE WINDOWS "
                        "PPCR...\n");
        return 2;
    }
    for (int i = 6; i < argc; i++)
        equal = compare(argv, argv[i]) && equal;
    return equal ? 0 : 1;
}
