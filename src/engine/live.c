// SPDX-License-Identifier: MIT
#include "engine/live_impl.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MISSING_SECONDS 10 /* after which a child that was announced is not waited for */
#define IDLE_MS         20 /* how often to check processes while nothing arrives */

/* --- Making and freeing ----------------------------------------------------------------------- */

/* From here on the kernel marks arena->reader when this thread dies. This is not the C library's
 * robust list: its elements would lie in the arena, where the watched process can write. */
static void hold_word(struct hp_live *live)
{
    size_t size;
    if (syscall(SYS_get_robust_list, 0, &live->robust_before, &size) != 0)
        live->robust_before = NULL;
    live->held.next = &live->robust.list;
    live->robust.list.next = &live->held;
    live->robust.futex_offset = (char *)&live->arena->reader - (char *)&live->held;
    atomic_store(&live->arena->reader, (uint32_t)syscall(SYS_gettid));
    syscall(SYS_set_robust_list, &live->robust, sizeof live->robust);
}

static void drop_word(struct hp_live *live)
{
    if (live->held.next)
        syscall(SYS_set_robust_list, live->robust_before, sizeof live->robust);
}

enum hp_err hp_live_new(const struct hp_live_options *options, struct hp_live **live)
{
    struct hp_live *l = calloc(1, sizeof *l);
    void *memory = MAP_FAILED;
    if (!l)
        return hp_fail_nomem();
    l->fd = hp_memory_file("hotpath");
    enum hp_err err = hp_live_choose_shape(options->mode, options->lag, &l->shape);
    if (err == HP_OK)
        l->modules = calloc(l->shape.records, sizeof *l->modules);
    if (err == HP_OK && l->fd >= 0 && ftruncate(l->fd, (off_t)l->shape.file_size) == 0)
        memory =
            mmap(NULL, l->shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, l->fd, 0);
    if (memory != MAP_FAILED) /* no holder of the descriptor may resize it */
        fcntl(l->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    l->words = malloc(HP_ARENA_CHUNK_WORDS * sizeof *l->words);
    l->addresses = malloc(HP_ARENA_ADDRESSES * sizeof *l->addresses);
    if (memory == MAP_FAILED || !l->modules || !l->words || !l->addresses) {
        if (err == HP_OK)
            err = hp_fail(HP_ERR_IO, "cannot create the shared memory: %s", strerror(errno));
        hp_live_free(l);
        return err;
    }
    l->arena = memory;
    l->arena->shape = l->shape;
    l->arena->magic = HP_ARENA_MAGIC;
    l->arena->version = HP_ARENA_VERSION;
    l->arena->follow = options->follow;
    l->waits = options->wait;
    l->arena->mode = options->mode;
    l->mode = (enum hp_record_mode)options->mode;
    l->arena->calls = options->calls;
    if (options->calls)
        hp_live_start_clock(l);
    l->arena->cache_size = options->cache_size;
    l->arena->paths = options->paths;
    l->arena->traces = options->traces.how;
    l->arena->traces_after = options->traces.after;
    l->arena->traces_phase = options->traces.phase;
    l->arena->traces_bail = options->traces.bail;
    l->arena->traces_leave = options->traces.then == HP_THEN_LEAVE;
    l->arena->traces_cache = options->traces.cache;
    hold_word(l);
    hp_debug(HP_DEBUG_ENGINE, "shared memory of %llu MiB, reserved, for %d rings",
             (unsigned long long)l->shape.size >> 20, HP_ARENA_RINGS);
    for (size_t i = 0; i < HP_ARENA_RINGS; i++)
        l->readings[i].thread = HP_NO_THREAD;
    *live = l;
    return HP_OK;
}

void hp_live_free(struct hp_live *live)
{
    if (!live)
        return;
    for (size_t i = 0; i < live->n_processes; i++)
        if (live->processes[i].fd >= 0)
            close(live->processes[i].fd);
    for (size_t i = 0; i < HP_ARENA_RINGS; i++)
        if (live->windows[i])
            munmap(live->windows[i], HP_ARENA_ADDRESS_BYTES);
    drop_word(live);
    if (live->arena)
        munmap(live->arena, live->shape.size);
    if (live->fd >= 0)
        close(live->fd);
    hp_map64_fini(&live->ids);
    hp_map64_fini(&live->wished);
    free(live->processes);
    free(live->modules);
    free(live->text);
    free(live->words);
    free(live->addresses);
    free(live);
}

int hp_live_fd(const struct hp_live *live)
{
    return live->fd;
}

void hp_live_engine_stats(const struct hp_live *live, struct hp_engine_stats *stats)
{
    memcpy(stats, &live->arena->stats, sizeof *stats);
}

static uint64_t amount(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : n;
}

bool hp_live_traces_event(const struct hp_live *live, uint32_t i, struct hp_traces_event *event)
{
    if (i >= HP_TRACES_EVENTS || i >= atomic_load(&live->arena->n_traces_events))
        return false;
    memcpy(event, &live->arena->traces_events[i], sizeof *event);
    event->kind = event->kind <= HP_TRACES_BAILED_OUT ? event->kind : HP_TRACES_FLUSHED_FULL;
    event->ns = amount(event->ns);
    event->traces = amount(event->traces);
    event->bytes = amount(event->bytes);
    return true;
}

/* --- Wishes ----------------------------------------------------------------------------------- */

void hp_live_wish(struct hp_live *live, uint32_t hotspot, uint64_t address)
{
    if (hp_map64_get(&live->wished, address) != HP_MAP64_NONE)
        return;
    if (live->n_wishes == HP_ARENA_WISHES || hp_map64_put(&live->wished, address, 1) != HP_OK) {
        live->wishes_lost++;
        return;
    }
    live->arena->wishes[live->n_wishes++] =
        (struct hp_arena_wish){.address = address, .hotspot = hotspot};
    atomic_store(&live->arena->n_wishes, live->n_wishes);
}

bool hp_live_steered(const struct hp_live *live, uint32_t hotspot, struct hp_traces_event *event)
{
    *event = (struct hp_traces_event){.kind = HP_TRACES_STEERED};
    for (uint32_t i = 0; i < live->n_wishes; i++) {
        const struct hp_arena_wish *wish = &live->arena->wishes[i];
        uint32_t process = wish->process; /* read once */
        uint64_t ns = amount(wish->ns);
        if (wish->hotspot != hotspot || !process)
            continue;
        if (!event->process || ns < event->ns) {
            event->process = process;
            event->ns = ns;
        }
        event->traces += atomic_load(&wish->traces);
        event->bytes += atomic_load(&wish->bytes);
    }
    return event->process != 0;
}

/* --- The loop --------------------------------------------------------------------------------- */

static struct hp_arena *signalled_arena; /* for the SIGCHLD handler: one live run at a time */

static void on_sigchld(int signal)
{
    (void)signal;
    if (signalled_arena)
        atomic_fetch_add(&signalled_arena->doorbell, 1);
}

/* Waits until the doorbell differs from `seen`, a child changes state, or IDLE_MS have passed. */
static void wait_for_doorbell(struct hp_arena *arena, uint32_t seen)
{
    struct timespec limit = {.tv_nsec = IDLE_MS * 1000000L};
    atomic_store(&arena->reader_waits, 1);
    if (atomic_load(&arena->doorbell) == seen)
        syscall(SYS_futex, &arena->doorbell, FUTEX_WAIT, seen, &limit, NULL, 0);
    atomic_store(&arena->reader_waits, 0);
}

/* Whether a child was announced that has not begun. One that never does was not made, or killed. */
static bool is_missing_some(struct hp_live *live)
{
    if (live->n_begun >= atomic_load(&live->arena->next_thread))
        live->missing_since = 0;
    else if (live->missing_since == 0)
        live->missing_since = hp_now();
    return live->missing_since != 0 && hp_now() - live->missing_since < MISSING_SECONDS;
}

/* Whether everything that is observed is over. */
static bool is_over(struct hp_live *live, pid_t pid)
{
    if (!live->waits)
        return hp_live_is_dead(live, pid);
    for (size_t i = 0; i < live->n_processes; i++)
        if (!live->processes[i].dead)
            return false;
    return !is_missing_some(live);
}

bool hp_live_waits(struct hp_live *live)
{
    if (!live->waits || !live->n_processes)
        return false;
    hp_live_look_after(live, &live->processes[0]);
    return live->processes[0].dead;
}

void hp_live_leave(struct hp_live *live)
{
    live->leaves = true;
}

static void read_until_exit(struct hp_live *live, pid_t pid, struct hp_consumer *consumer)
{
    for (;;) {
        uint32_t seen = atomic_load(&live->arena->doorbell);
        bool ended = is_over(live, pid); /* before the last scan of the rings */
        size_t known = live->n_processes;
        bool found = hp_live_read_rings(live, consumer);
        hp_live_answer(live);
        hp_live_tune_clock(live);
        if (consumer->tick)
            consumer->tick(consumer);
        ended = ended && live->n_processes == known;
        if (ended || live->failure != HP_OK || (consumer->done && consumer->done(consumer)))
            return;
        if (found) {
            hp_live_look_after(
                live, &live->processes[0]); /* the program itself: its children may outlive it */
            continue;
        }
        hp_live_look_after_all(live);
        hp_live_close_rings(live, consumer, false);
        hp_live_free_claimed(live);
        bool more = hp_live_load_ahead(live) || (consumer->ahead && consumer->ahead(consumer));
        if (!more && !is_over(live, pid))
            wait_for_doorbell(live->arena, seen);
    }
}

/* Nothing is read any more, but the consumer's tick() is still called. */
static void wait_for_end(struct hp_live *live, struct hp_consumer *consumer)
{
    struct hp_live_process *program = live->n_processes ? &live->processes[0] : NULL;
    while (program && !program->dead && consumer->tick) {
        struct pollfd poll_fd = {.fd = program->fd, .events = POLLIN};
        poll(&poll_fd, 1, IDLE_MS);
        hp_live_look_after(live, program);
        consumer->tick(consumer);
    }
}

/* Stops observing: waiting writers are woken and continue unobserved. */
static void detach(struct hp_live *live)
{
    if (live->detached)
        return;
    live->detached = true;
    atomic_store(&live->arena->detached, 1);
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++)
        hp_live_wake(&live->arena->rings[i].consumed);
    for (uint32_t i = 0; i < HP_ARENA_RINGS; i++)
        hp_live_wake(&live->arena->address_rings[i].consumed);
    hp_live_wake(&live->arena->rings_freed);
}

enum hp_err hp_live_run(struct hp_live *live, pid_t pid, struct hp_consumer *consumer,
                        struct hp_live_stats *stats)
{
    struct sigaction old, action = {.sa_handler = on_sigchld};
    *stats = (struct hp_live_stats){0};
    live->first_pid = pid;
    signalled_arena = live->arena;
    sigaction(SIGCHLD, &action, &old);
    live->failure = hp_live_know_process(live, pid);
    if (live->failure == HP_OK)
        read_until_exit(live, pid, consumer);
    /* Children that outlive the program, or the program itself once the consumer is done, may still
     * be writing: the rings have an end only after detaching. */
    hp_live_look_after_all(live);
    detach(live);
    hp_live_close_rings(live, consumer, true);
    stats->left = live->leaves && live->failure == HP_OK && !hp_live_is_dead(live, pid);
    if (!stats->left) {
        wait_for_end(live, consumer);
        while (waitpid(pid, &stats->status, 0) < 0 && errno == EINTR)
            ;
    }
    sigaction(SIGCHLD, &old, NULL);
    signalled_arena = NULL;
    stats->attached = atomic_load(&live->arena->attached);
    stats->unobserved_threads = atomic_load(&live->arena->unobserved_threads);
    stats->natively = atomic_load(&live->arena->natively);
    uint32_t events = atomic_load(&live->arena->n_traces_events);
    stats->traces_events_lost = events > HP_TRACES_EVENTS ? events - HP_TRACES_EVENTS : 0;
    stats->wishes_lost = live->wishes_lost;
    memcpy(stats->why, live->arena->natively_why, sizeof stats->why - 1);
    return live->failure;
}
