// SPDX-License-Identifier: MIT
/*
 * The arena: a watched process may write anything anywhere in it. The input: what is recorded; then
 * writes: where, how many bytes, the bytes. Then hotpath reads it, as of a process that has ended,
 * through a pipeline with the checker.
 */
#include "engine/live.h"
#include "profiler/check/check.h"
#include "profiler/path/paths.h"
#include "profiler/pipeline.h"
#include "support.h"

#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITES_MAX 64
#define ARENA_SIZE ((rlim_t)256 << 20)

/* A place in the arena; the likely ones are many. */
static uint64_t choose_place(struct fuzz_in *in, const struct hp_arena_shape *shape)
{
    uint8_t kind = (uint8_t)fuzz_uint(in, 1);
    uint64_t index = fuzz_odd(in), offset = 0;
    switch (kind % 12) {
    case 0:
    case 1: offset = offsetof(struct hp_arena, rings) + index * 4; break;
    case 2: offset = offsetof(struct hp_arena, address_rings) + index * 4; break;
    case 3: offset = index % offsetof(struct hp_arena, stats); break;
    case 4: offset = shape->segment_index + index * 4; break;
    case 5: offset = HP_ARENA_RECORD_INDEX + index * 4; break;
    case 6:
    case 7: offset = shape->ring_data + index * 4; break;
    case 8: offset = shape->store_data + index * 8; break;
    case 9: offset = shape->counter_data + index * 8; break;
    case 10: offset = shape->address_data + index * 8; break;
    default: offset = index;
    }
    if (kind >= 0xc0) /* of a later ring */
        offset += (kind & 3) * (kind % 12 < 2   ? sizeof(struct hp_ring)
                                : kind % 12 < 8 ? hp_shape_ring_bytes(shape)
                                                : HP_ARENA_ADDRESS_BYTES);
    return offset % shape->file_size;
}

static void scribble(struct fuzz_in *in, int fd)
{
    struct hp_arena_shape own, *shape = &own;
    FUZZ_ASSERT(pread(fd, shape, sizeof *shape, offsetof(struct hp_arena, shape)) == sizeof *shape);
    for (int i = 0; i < WRITES_MAX && fuzz_more(in); i++) {
        uint64_t place = choose_place(in, shape);
        size_t n;
        const uint8_t *bytes = fuzz_bytes(in, 255, &n);
        if (place + n <= shape->file_size && n)
            FUZZ_ASSERT(pwrite(fd, bytes, n, (off_t)place) == (ssize_t)n);
    }
}

/* A first ring that is in use, so that not every input has to find that out. */
static void begin(int fd, uint8_t how)
{
    struct hp_ring ring = {
        .state = how & 1 ? HP_RING_FINISHED : HP_RING_ACTIVE, .pid = 1, .tid = 1};
    uint32_t one = 1;
    if (how & 0x80)
        return;
    FUZZ_ASSERT(pwrite(fd, &ring, sizeof ring, offsetof(struct hp_arena, rings)) == sizeof ring);
    FUZZ_ASSERT(pwrite(fd, &one, sizeof one, offsetof(struct hp_arena, rings_used)) == sizeof one);
    FUZZ_ASSERT(pwrite(fd, &one, sizeof one, offsetof(struct hp_arena, attached)) == sizeof one);
}

static pid_t ended_process(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    FUZZ_ASSERT(pid > 0);
    return pid;
}

/* --- A consumer that looks at everything it gets, and passes it on. / ------------------------- */

struct looking {
    struct hp_consumer consumer; /* first */
    struct hp_consumer *next;
    volatile uint64_t sum;
};

static enum hp_err look_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct looking *l = (struct looking *)consumer;
    return l->next->thread(l->next, thread);
}

static enum hp_err look_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    struct looking *l = (struct looking *)consumer;
    for (size_t i = 0; i < n; i++)
        l->sum += words[i];
    return l->next->words(l->next, thread, words, n);
}

static enum hp_err look_counts(struct hp_consumer *consumer, uint32_t thread,
                               const struct hp_count *counts, size_t n)
{
    struct looking *l = (struct looking *)consumer;
    return l->next->counts(l->next, thread, counts, n);
}

static enum hp_err look_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct looking *l = (struct looking *)consumer;
    for (size_t i = 0; i < n; i++)
        l->sum += addresses[i];
    return l->next->addresses(l->next, thread, addresses, n);
}

static enum hp_err look_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    struct looking *l = (struct looking *)consumer;
    FUZZ_ASSERT((unsigned)reason <= HP_END_SIGNAL);
    return l->next->end(l->next, thread, reason);
}

/* Makes arenas small: few rings, so that it does not take long to look at all. */
static void limit_size(void)
{
    struct rlimit limit;
    FUZZ_ASSERT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = ARENA_SIZE;
    FUZZ_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    uint8_t how = (uint8_t)fuzz_uint(&in, 1);
    struct hp_live_options options = {.follow = true, .mode = how / 2 % 5, .cache_size = 1 << 20};
    struct hp_region everything = {0};
    struct hp_live *live;
    struct hp_code *code;
    struct hp_pipeline *pipeline;
    struct hp_profiler *checker, *paths = NULL;
    struct hp_paths_config config = {0};
    struct hp_live_stats stats;
    struct hp_engine_stats work;
    struct hp_traces_event event;
    limit_size();
    FUZZ_ASSERT(hp_live_new(&options, &live) == HP_OK);
    FUZZ_ASSERT(hp_code_new(HP_ARCH_X86_64, &code) == HP_OK);
    FUZZ_ASSERT(hp_check_new(code, &checker) == HP_OK);
    FUZZ_ASSERT(hp_pipeline_new(code, hp_live_source(live, code), NULL, &everything, &pipeline) ==
                HP_OK);
    if (options.mode == HP_RECORD_PATHS) {
        FUZZ_ASSERT(hp_ppcr_parse("bl", &config.ppcr) == HP_OK);
        FUZZ_ASSERT(hp_paths_new(code, NULL, &config, &paths) == HP_OK);
        FUZZ_ASSERT(hp_paths_expect_counts(paths, hp_live_paths(live)) == HP_OK);
        hp_live_set_ranges(live, hp_paths_ranges(paths));
        FUZZ_ASSERT(hp_pipeline_add(pipeline, paths) == HP_OK);
        FUZZ_ASSERT(hp_pipeline_expect_paths(pipeline) == HP_OK);
    } else if (options.mode != HP_RECORD_COUNT)
        FUZZ_ASSERT(hp_pipeline_add(pipeline, checker) == HP_OK);
    else
        FUZZ_ASSERT(hp_pipeline_expect_counts(pipeline) == HP_OK);
    if (options.mode == HP_RECORD_MEMORY)
        hp_pipeline_expect_addresses(pipeline);
    begin(hp_live_fd(live), how);
    scribble(&in, hp_live_fd(live));
    struct looking looking = {.consumer = {.thread = look_thread,
                                           .words = look_words,
                                           .counts = look_counts,
                                           .addresses = look_addresses,
                                           .end = look_end},
                              .next = hp_pipeline_consumer(pipeline)};
    hp_live_run(live, ended_process(), &looking.consumer, &stats);
    hp_live_engine_stats(live, &work);
    for (uint32_t i = 0; hp_live_traces_event(live, i, &event); i++)
        FUZZ_ASSERT(i < HP_TRACES_EVENTS && event.kind <= HP_TRACES_BAILED_OUT &&
                    event.ns <= INT64_MAX);
    for (uint32_t id = 0; id < 4; id++)
        hp_live_string(live, id);
    if (hp_check_stats(checker)->violations)
        fuzz_wrong("%s", hp_check_stats(checker)->first);
    hp_pipeline_free(pipeline);
    checker->ops->free(checker);
    if (paths)
        paths->ops->free(paths);
    hp_code_free(code);
    hp_live_free(live);
    return 0;
}
