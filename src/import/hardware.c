// SPDX-License-Identifier: MIT
#include "import/hardware.h"

#include "base/base.h"
#include "base/ibs.h"
#include "base/perf_data.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_event(void *context, struct perf_event_attr *attr)
{
    (void)context;
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static const char *maker(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") ? "intel" : __builtin_cpu_is("amd") ? "amd" : "";
#else
    return "";
#endif
}

struct hp_hardware_host hp_hardware_here(void)
{
    return (struct hp_hardware_host){.maker = maker(),
                                     .devices = "/sys/bus/event_source/devices",
                                     .level = "/proc/sys/kernel/perf_event_paranoid",
                                     .open = open_event};
}

/* --- What can be sampled ---------------------------------------------------------------------- */

/* Something to try. Taken branches come first: of these, numbers can be estimated. Periods are
 * primes; those of IBS must be multiples of 16, and the processor varies them. */
struct candidate {
    struct hp_hardware hardware;
    const char *maker; /* NULL: any */
    const char *pmu;   /* what has the event, in the folder of devices; NULL: `type` says it */
    uint32_t type;
    uint64_t config, config2, sample_type;
    bool with_kernel; /* it cannot be left out */
};

#define BRANCHES(event, period)                                                                    \
    {                                                                                              \
        "branch stacks",                                                                           \
        {                                                                                          \
            "-j", "any,u", "-e", event, "-c", period, NULL                                         \
        }                                                                                          \
    }
#define IBS(event)                                                                                 \
    {                                                                                              \
        "samples of instructions",                                                                 \
        {                                                                                          \
            "-e", event, "-c", "1000000", NULL                                                     \
        }                                                                                          \
    }

static const struct candidate candidates[] = {
    {BRANCHES("r20c4:u", "100003"), "intel", NULL, PERF_TYPE_RAW, HP_PERF_TAKEN_BRANCHES, 0,
     PERF_SAMPLE_BRANCH_STACK, false},
    {BRANCHES("rc4:u", "100003"), "amd", NULL, PERF_TYPE_RAW, HP_PERF_TAKEN_BRANCHES_AMD, 0,
     PERF_SAMPLE_BRANCH_STACK, false},
    {BRANCHES("cycles:u", "1000003"), NULL, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0,
     PERF_SAMPLE_BRANCH_STACK, false},
    {IBS("ibs_op/cnt_ctl=1,swfilt=1/u"), "amd", "ibs_op", 0, HP_IBS_CONFIG_OPS, 1, PERF_SAMPLE_RAW,
     false},
    {IBS("ibs_op/cnt_ctl=1/"), "amd", "ibs_op", 0, HP_IBS_CONFIG_OPS, 0, PERF_SAMPLE_RAW, true},
};
#define N_CANDIDATES (sizeof candidates / sizeof *candidates)

/* The number in a file; false: there is none. */
static bool read_number(const char *path, long *number)
{
    FILE *file = fopen(path, "re");
    bool known = file && fscanf(file, "%ld", number) == 1;
    if (file)
        fclose(file);
    return known;
}

/* 0: it is allowed; else why not, as errno. */
static int try_candidate(const struct hp_hardware_host *host, const struct candidate *c)
{
    char path[4096];
    long type = c->type;
    snprintf(path, sizeof path, "%s/%s/type", host->devices, c->pmu ? c->pmu : "");
    if ((c->maker && strcmp(c->maker, host->maker) != 0) || (c->pmu && !read_number(path, &type)))
        return ENOENT;
    struct perf_event_attr attr = {
        .type = (uint32_t)type,
        .size = sizeof attr,
        .config = c->config,
        .config2 = c->config2,
        .sample_period = 1000000,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | c->sample_type,
        .disabled = 1,
        .exclude_kernel = !c->with_kernel,
        .exclude_hv = !c->with_kernel,
    };
    if (c->sample_type & PERF_SAMPLE_BRANCH_STACK)
        attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
    int fd = host->open(host->context, &attr);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

enum hp_err hp_hardware_find(const struct hp_hardware_host *host, bool instructions,
                             const struct hp_hardware **hardware)
{
    bool forbidden = false, none = true;
    long level;
    for (size_t i = 0; i < N_CANDIDATES; i++) {
        if (instructions && candidates[i].sample_type != PERF_SAMPLE_RAW)
            continue;
        int error = try_candidate(host, &candidates[i]);
        *hardware = &candidates[i].hardware;
        if (error == 0)
            return HP_OK;
        forbidden |= error == EACCES || error == EPERM;
        none &= error == ENOSYS || error == ENOENT;
    }
    if (forbidden && read_number(host->level, &level))
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the kernel does not let you sample the processor "
                       "(kernel.perf_event_paranoid is %ld; 2 allows branch stacks, and root is "
                       "allowed all)",
                       level);
    if (forbidden)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "the kernel does not let you sample the processor, as in most "
                       "containers");
    return hp_fail(HP_ERR_UNSUPPORTED, "%s here, as in most virtual machines",
                   none           ? "the processor's counters are not there"
                   : instructions ? "the processor gives no samples of instructions"
                                  : "the processor gives neither branch stacks nor samples of "
                                    "instructions");
}

/* --- Recording -------------------------------------------------------------------------------- */

/* The words are borrowed. */
static enum hp_err make_command(const struct hp_hardware *hardware, const char *path,
                                char *const *program, const char ***command)
{
    const char *const first[] = {"perf", "record", "-q", "-o", path};
    size_t n = sizeof first / sizeof *first, n_program = 0;
    while (program[n_program])
        n_program++;
    HP_TRY(hp_new(command, n + HP_HARDWARE_WORDS + n_program + 2, sizeof **command));
    memcpy(*command, first, sizeof first);
    for (size_t i = 0; hardware->words[i]; i++)
        (*command)[n++] = hardware->words[i];
    (*command)[n++] = "--";
    for (size_t i = 0; i <= n_program; i++)
        (*command)[n++] = program[i];
    return HP_OK;
}

/* perf ends a recording when it is interrupted; what it then has is wanted. */
static enum hp_err run(const char *const *command, const struct hp_hardware_program *program,
                       int *status)
{
    posix_spawn_file_actions_t files;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t pid;
    int ended = 0, error;
    if (posix_spawnattr_init(&attributes) != 0)
        return hp_fail_nomem();
    if (posix_spawn_file_actions_init(&files) != 0) {
        posix_spawnattr_destroy(&attributes);
        return hp_fail_nomem();
    }
    if (program->input)
        posix_spawn_file_actions_addopen(&files, 0, program->input, O_RDONLY, 0);
    if (program->output)
        posix_spawn_file_actions_addopen(&files, 1, program->output, O_WRONLY, 0);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    sigemptyset(&usual);
    if (interrupt.sa_handler != SIG_IGN)
        sigaddset(&usual, SIGINT);
    if (quit.sa_handler != SIG_IGN)
        sigaddset(&usual, SIGQUIT);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    error = posix_spawnp(&pid, command[0], &files, &attributes, (char *const *)command, environ);
    while (!error && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    if (error == ENOENT)
        return hp_fail(HP_ERR_NOTFOUND, "this needs perf (linux-perf): it is not installed");
    return error ? hp_fail(HP_ERR_IO, "cannot run perf: %s", strerror(error)) : HP_OK;
}

enum hp_err hp_hardware_record(const struct hp_hardware *hardware, const char *path,
                               const struct hp_hardware_program *program, int *status)
{
    const char **command HP_CLEANUP(hp_free) = NULL;
    HP_TRY(make_command(hardware, path, program->words, &command));
    return run(command, program, status);
}
