// SPDX-License-Identifier: MIT
#include "lab/observe.h"

#include "base/grow.h"
#include "engine/live.h"
#include "engine/native/native.h"
#include "engine/program.h"
#include "engine/qemu/qemu.h"
#include "profiler/result.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CACHE_SIZE (UINT64_C(256) << 20) /* of translated code */

struct hp_observation_memory {
    struct hp_consumer consumer; /* first: stands between the engine and the pipeline */
    struct hp_observation_options options;
    struct hp_live *live;
    struct hp_pipeline *pipeline;
    struct hp_profiler **profilers;
    size_t n_profilers, cap_profilers;
    pid_t pid;
    bool ended; /* we ended it: there was enough */
};

/* --- Between engine and pipeline -------------------------------------------------------------- */

static struct hp_consumer *next_of(struct hp_consumer *consumer)
{
    return hp_pipeline_consumer(((struct hp_observation_memory *)consumer)->pipeline);
}

static enum hp_err take_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    return next_of(consumer)->thread(next_of(consumer), thread);
}

static enum hp_err take_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                              size_t n)
{
    return next_of(consumer)->words(next_of(consumer), thread, words, n);
}

static enum hp_err take_addresses(struct hp_consumer *consumer, uint32_t thread,
                                  const uint64_t *addresses, size_t n)
{
    struct hp_consumer *next = next_of(consumer);
    return next->addresses ? next->addresses(next, thread, addresses, n) : HP_OK;
}

static enum hp_err take_end(struct hp_consumer *consumer, uint32_t thread,
                            enum hp_end_reason reason)
{
    return next_of(consumer)->end(next_of(consumer), thread, reason);
}

static void tick(struct hp_consumer *consumer)
{
    struct hp_observation_memory *m = (struct hp_observation_memory *)consumer;
    if (m->options.tick)
        m->options.tick(m->options.context, hp_pipeline_stats(m->pipeline)->cursor.instructions);
}

/* When there is enough the program need not go on. */
static bool is_done(struct hp_consumer *consumer)
{
    struct hp_observation_memory *m = (struct hp_observation_memory *)consumer;
    bool done = next_of(consumer)->done(next_of(consumer));
    if (done && !m->ended) {
        kill(m->pid, SIGKILL);
        m->ended = true;
    }
    return done;
}

/* --- Making ----------------------------------------------------------------------------------- */

static enum hp_err open_parts(struct hp_observation *o, struct hp_observation_memory *m)
{
    struct hp_live_options live = {.mode =
                                       m->options.addresses ? HP_RECORD_MEMORY : HP_RECORD_STREAM,
                                   .cache_size = CACHE_SIZE};
    struct hp_region region = {.length = m->options.instructions};
    HP_TRY(hp_code_new(m->options.arch, &o->code));
    HP_TRY(hp_functions_new(o->code, &o->functions));
    hp_functions_want_lines(o->functions, HP_LINES_NONE);
    HP_TRY(hp_live_new(&live, &m->live));
    HP_TRY(hp_pipeline_new(o->code, hp_live_source(m->live, o->code), o->functions, &region,
                           &m->pipeline));
    if (m->options.addresses)
        hp_pipeline_expect_addresses(m->pipeline);
    if (!m->options.machine)
        return HP_OK;
    HP_TRY(hp_program_new(m->options.machine, o->code, &o->program));
    HP_TRY(hp_pipeline_set_machine(m->pipeline, m->options.machine));
    hp_pipeline_set_cycles(m->pipeline, &(struct hp_cycles_setup){.program = o->program,
                                                                  .windows = m->options.windows});
    return HP_OK;
}

enum hp_err hp_observation_new(const struct hp_observation_options *options,
                               struct hp_observation **observation)
{
    struct hp_observation *o = calloc(1, sizeof *o);
    struct hp_observation_memory *m = calloc(1, sizeof *m);
    if (!o || !m) {
        free(o);
        free(m);
        return hp_fail_nomem();
    }
    m->options = *options;
    m->consumer = (struct hp_consumer){.thread = take_thread,
                                       .words = take_words,
                                       .addresses = options->addresses ? take_addresses : NULL,
                                       .end = take_end,
                                       .tick = tick,
                                       .done = is_done};
    o->memory = m;
    enum hp_err err = open_parts(o, m);
    if (err == HP_OK)
        *observation = o;
    else
        hp_observation_free(o);
    return err;
}

void hp_observation_free(struct hp_observation *observation)
{
    if (!observation)
        return;
    struct hp_observation_memory *m = observation->memory;
    for (size_t i = 0; i < m->n_profilers; i++)
        m->profilers[i]->ops->free(m->profilers[i]);
    free(m->profilers);
    hp_pipeline_free(m->pipeline);
    hp_program_free(observation->program);
    hp_functions_free(observation->functions);
    hp_code_free(observation->code);
    hp_live_free(m->live);
    free(m);
    free(observation);
}

enum hp_err hp_observation_add(struct hp_observation *observation, struct hp_profiler *profiler)
{
    struct hp_observation_memory *m = observation->memory;
    enum hp_err err =
        hp_grow(&m->profilers, &m->cap_profilers, m->n_profilers + 1, sizeof *m->profilers);
    if (err != HP_OK) {
        profiler->ops->free(profiler);
        return err;
    }
    m->profilers[m->n_profilers++] = profiler;
    return hp_pipeline_add(m->pipeline, profiler);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* The standard descriptors while a program starts that has others. */
struct standard {
    int saved[3];
};

static void restore_standard(struct standard *standard)
{
    for (int fd = 0; fd < 3; fd++)
        if (standard->saved[fd] >= 0) {
            dup2(standard->saved[fd], fd);
            close(standard->saved[fd]);
        }
}

static enum hp_err redirect_standard(const char *input, struct standard *standard)
{
    *standard = (struct standard){{-1, -1, -1}};
    for (int fd = 0; fd < 3; fd++) {
        const char *path = fd == 0 ? input : "/dev/null";
        int file = open(path, (fd == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        standard->saved[fd] = file < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (file < 0 || standard->saved[fd] < 0 || dup2(file, fd) < 0) {
            int error = errno;
            if (file >= 0)
                close(file);
            restore_standard(standard);
            return hp_fail(HP_ERR_IO, "cannot open %s: %s", path, strerror(error));
        }
        close(file);
    }
    return HP_OK;
}

static enum hp_err check_engine(const struct hp_observation_memory *m,
                                const struct hp_lab_command *command,
                                const struct hp_executable *program)
{
    if (!command->sysroot)
        return hp_native_check(program);
    if (program->elf.arch != m->options.arch)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s is a program for %s, not for %s", program->path,
                       hp_arch_name(program->elf.arch), hp_arch_name(m->options.arch));
    if (m->options.addresses)
        return hp_fail(HP_ERR_UNSUPPORTED, "the qemu engine, which has to run %s, has no addresses",
                       program->path);
    return HP_OK;
}

static enum hp_err start(struct hp_observation_memory *m, const struct hp_lab_command *command)
{
    struct hp_executable program;
    struct standard standard;
    enum hp_err err = hp_executable_find(command->argv, &program);
    if (err == HP_OK)
        err = check_engine(m, command, &program);
    if (err == HP_OK)
        err = redirect_standard(command->input, &standard);
    if (err == HP_OK) {
        int fd = hp_live_fd(m->live);
        err = command->sysroot ? hp_qemu_start(&program, command->sysroot, fd, &m->pid)
                               : hp_native_start(&program, fd, false, &m->pid);
        restore_standard(&standard);
    }
    hp_executable_fini(&program);
    return err;
}

static enum hp_err check_end(const struct hp_observation_memory *m,
                             const struct hp_lab_command *command,
                             const struct hp_live_stats *stats)
{
    const char *name = command->argv[0];
    if (!stats->attached)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: the engine did not start", name);
    if (!m->ended && WIFSIGNALED(stats->status))
        return hp_fail(HP_ERR_UNSUPPORTED, "%s ended with signal %d", name,
                       WTERMSIG(stats->status));
    if (!m->ended && WEXITSTATUS(stats->status) != command->status)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s ended with status %d instead of %d", name,
                       WEXITSTATUS(stats->status), command->status);
    if (hp_pipeline_stats(m->pipeline)->cursor.losses && !m->ended)
        return hp_fail(HP_ERR_FORMAT, "%s: a part of what it did was lost", name);
    return HP_OK;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

enum hp_err hp_observation_run(struct hp_observation *observation,
                               const struct hp_lab_command *command)
{
    struct hp_observation_memory *m = observation->memory;
    struct hp_live_stats stats;
    double started = now();
    HP_TRY(start(m, command));
    HP_TRY(hp_live_run(m->live, m->pid, &m->consumer, &stats));
    uint64_t instructions = hp_pipeline_stats(m->pipeline)->cursor.instructions;
    uint64_t bound = m->options.instructions;
    observation->instructions = bound && instructions > bound ? bound : instructions;
    observation->seconds = now() - started;
    return check_end(m, command, &stats);
}

/* --- Results ---------------------------------------------------------------------------------- */

static enum hp_err finish_all(struct hp_observation_memory *m, struct hp_result *result)
{
    for (size_t i = 0; i < m->n_profilers; i++)
        HP_TRY(m->profilers[i]->ops->finish(m->profilers[i], result));
    return HP_OK;
}

enum hp_err hp_observation_profile(struct hp_observation *observation, struct hp_profile **profile)
{
    struct hp_profile *p;
    struct hp_result *result;
    HP_TRY(hp_profile_new(&p));
    enum hp_err err = hp_result_new(observation->code, observation->functions, p, &result);
    if (err == HP_OK) {
        err = finish_all(observation->memory, result);
        hp_result_free(result);
    }
    if (err == HP_OK)
        err = hp_profile_normalize(p);
    if (err == HP_OK)
        *profile = p;
    else
        hp_profile_free(p);
    return err;
}
