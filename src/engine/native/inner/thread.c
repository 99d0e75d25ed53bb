// SPDX-License-Identifier: MIT
/*
 * Threads and processes. Each thread has a block: struct hp_self, buffers, the engine's stack for
 * it, the stack for catching signals, and after these its counters (count mode) or its window into
 * the ring of addresses (memory mode).
 */
#include "engine/native/inner/landings.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <string.h>
#include <unistd.h>

/* The layout of a block. */
#define VECTORS_AT  0x2000  /* 32 KiB */
#define FRAME_AT    0xa000  /* 40 KiB */
#define CODE_AT     0x20000 /* 64 KiB, for hp_locate() */
#define STACK_TOP   0x90000 /* 384 KiB below it */
#define ALT_LOW     0x91000
#define ALT_SIZE    0x40000
#define ARCH_SET_GS 0x1001
#define ARCH_GET_GS 0x1004
#define SIGNAL_KILL 9
#define SIGNAL_SYS  31

_Static_assert(sizeof(struct hp_self) <= VECTORS_AT, "block");

struct hp_self *hp_threads;

static _Atomic uint32_t list_lock;

/* Blocks are never freed, only reused: a signal handler may read them at any time. */
static struct hp_self *reuse(void)
{
    for (struct hp_self *t = hp_threads; t; t = t->next_thread) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&t->in_use, &expected, 1))
            return t;
    }
    return NULL;
}

static void add_to_list(struct hp_self *self)
{
    while (atomic_exchange(&list_lock, 1))
        __builtin_ia32_pause();
    self->next_thread = hp_threads;
    __atomic_store_n(&hp_threads, self, __ATOMIC_RELEASE);
    atomic_store(&list_lock, 0);
}

/* Resets a block except for what others may read meanwhile: `in_use` and the link to the next. */
static void clear(struct hp_self *self)
{
    char *block = (char *)self, *used = (char *)&self->in_use, *next = (char *)&self->next_thread;
    char *behind_used = used + sizeof self->in_use, *behind_next = next + sizeof self->next_thread;
    memset(block, 0, (size_t)(used - block));
    memset(behind_used, 0, (size_t)(next - behind_used));
    memset(behind_next, 0, (size_t)(block + sizeof *self - behind_next));
}

struct hp_self *hp_thread_new(void)
{
    struct hp_self *self = reuse();
    bool is_new = !self;
    if (is_new) {
        uint64_t size = HP_AT_COUNTERS;
        if (hp_engine.mode == HP_RECORD_COUNT || hp_engine.mode == HP_RECORD_PATHS)
            size += hp_engine.arena->shape.counter_bytes;
        if (hp_engine.mode == HP_RECORD_PATHS)
            size += HP_SHADOW_BYTES;
        if (hp_engine.mode == HP_RECORD_MEMORY)
            size += HP_ARENA_ADDRESS_BYTES;
        self = hp_pages_aligned(size, HP_BLOCK_SIZE);
        if (!self)
            return NULL;
    }
    clear(self);
    char *block = (char *)self;
    self->self = self;
    self->in_use = 1;
    self->stack = block + STACK_TOP;
    self->vectors = (uint8_t *)block + VECTORS_AT;
    self->frame = (uint8_t *)block + FRAME_AT;
    self->scratch_code = (uint8_t *)block + CODE_AT;
    self->altstack.flags = 2; /* SS_DISABLE */
    self->landing_mask = hp_landings_mask();
    self->gs_by_call = !hp_engine.has_fsgsbase;
    if (is_new)
        add_to_list(self);
    return self;
}

bool hp_thread_is_dead(int32_t tid)
{
    char path[40] = "/proc/", text[128];
    if (hp_sys2(SYS_tkill, tid, 0) == -3) /* ESRCH */
        return true;
    memcpy(hp_put_number(path + 6, tid), "/stat", 6);
    int fd = (int)hp_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    long n = hp_sys3(SYS_read, fd, (long)text, sizeof text - 1);
    hp_sys1(SYS_close, fd);
    text[n > 0 ? n : 0] = 0;
    const char *state = strrchr(text, ')'); /* the end of its name */
    return state && (state[2] == 'Z' || state[2] == 'X');
}

bool hp_thread_is_alone(const struct hp_self *self)
{
    for (const struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (t != self && t->in_use && t->tid)
            return false;
    return true;
}

void *hp_thread_altstack(struct hp_self *self, uint64_t *size)
{
    *size = ALT_SIZE;
    return (char *)self + ALT_LOW;
}

static void set_gs(const struct hp_self *self, uint64_t base)
{
    if (!self->gs_by_call)
        __asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
    else
        hp_sys2(SYS_arch_prctl, ARCH_SET_GS, (long)base);
}

void hp_thread_adopt(struct hp_self *self)
{
    set_gs(self, (uint64_t)(uintptr_t)self);
}

void hp_thread_null_gs(struct hp_self *self)
{
    uint32_t selector;
    uint64_t all = HP_SIGSET_ALL, before;
    __asm__ volatile("movl %%gs, %0" : "=r"(selector));
    if (selector == 0)
        return;
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&all, (long)&before, 8); /* GS is invalid for a moment */
    __asm__ volatile("movl %0, %%gs" : : "r"(0) : "memory");
    set_gs(self, (uint64_t)(uintptr_t)self);
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&before, 0, 8);
}

void hp_thread_give_gs(const struct hp_self *self)
{
    set_gs(self, self->gs_base);
}

uint64_t hp_thread_gs(const struct hp_self *self)
{
    uint64_t base = 0;
    if (!self->gs_by_call)
        __asm__ volatile("rdgsbase %0" : "=r"(base));
    else
        hp_sys2(SYS_arch_prctl, ARCH_GET_GS, (long)&base);
    return base;
}

/* The counters belong to the ring; what a thread without a ring counts is discarded. */
static void map_counters(struct hp_self *self)
{
    long at = (long)self + HP_AT_COUNTERS;
    uint64_t offset = hp_engine.arena->shape.counter_data +
                      self->writer.index * hp_engine.arena->shape.counter_bytes;
    long result = -1;
    if (self->writer.ring)
        result = hp_sys6(SYS_mmap, at, (long)hp_engine.arena->shape.counter_bytes,
                         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                         hp_engine.arena_fd, (long)offset);
    if (hp_sys_failed(result))
        hp_sys6(SYS_mmap, at, (long)hp_engine.arena->shape.counter_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static void open_stream(struct hp_self *self)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    hp_words_refill(self);
    if (hp_engine.mode == HP_RECORD_COUNT || hp_engine.mode == HP_RECORD_PATHS)
        map_counters(self);
    hp_paths_thread(self);
    if (hp_engine.mode == HP_RECORD_MEMORY)
        hp_addresses_open(self);
}

/* A unique number for this process, and its mark. */
static uint32_t new_process(void)
{
    struct hp_arena *arena = hp_engine.arena;
    uint32_t number = atomic_fetch_add(&arena->next_process, 1) + 1;
    struct flock mark = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)hp_shape_mark(&arena->shape, number),
                         .l_len = 1};
    hp_sys3(SYS_fcntl, hp_engine.arena_fd, F_SETLK, (long)&mark);
    return number;
}

void hp_thread_start(struct hp_self *self)
{
    self->tid = (int32_t)hp_sys1(SYS_gettid, 0);
    self->process = (int32_t)hp_sys1(SYS_getpid, 0);
    if (!hp_engine.process)
        hp_engine.process = new_process();
    self->number = self->writer.process = self->is_vforked ? new_process() : hp_engine.process;
    atomic_fetch_add(&hp_engine.arena->stats.threads, 1);
    hp_signals_thread(self);
    open_stream(self);
}

/* --- Creation --------------------------------------------------------------------------------- */

void hp_on_child(struct hp_self *self)
{
    hp_thread_start(self);
    if (self->has_to_clear)
        hp_signals_clear(self);
    hp_signals_set_mask(self);
    hp_go_on(self, self->regs.rip);
}

void hp_threads_after_fork(struct hp_self *self)
{
    for (struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (t != self)
            atomic_store(&t->in_use, 0);
    hp_signals_forget_held();
    hp_traces_after_fork();
    hp_paths_thread(self);
    list_lock = 0;
    hp_engine.process = 0;
    self->is_vforked = self->is_awaited = false; /* whatever the parent was */
    hp_actions_after_fork(self->actions);
}

/* The common form of the calls. */
struct request {
    uint64_t number, flags, stack; /* stack: 0 keeps the current one */
    uint64_t size;                 /* clone3: of its copied arguments; `args` may be only a part */
    union {
        struct clone_args args;
        uint8_t bytes[4096];
    };
};

/* Reads the arguments of clone3; false when the kernel will certainly reject them. */
static bool read_clone3(const struct hp_self *self, struct request *request)
{
    const uint64_t *r = self->regs.r;
    const struct clone_args *args = &request->args;
    if (r[RSI] < CLONE_ARGS_SIZE_VER0 || r[RSI] > sizeof request->bytes)
        return false;
    memset(&request->args, 0, sizeof request->args);
    if (!hp_copy(&request->bytes, (const void *)r[RDI], r[RSI]))
        return false;
    request->size = r[RSI];
    request->flags = args->flags;
    request->stack = args->stack ? args->stack + args->stack_size : 0;
    return !args->stack == !args->stack_size && args->stack < HP_USER_END &&
           args->stack_size <= HP_USER_END - args->stack &&
           (args->flags & (CLONE_SIGHAND | CLONE_CLEAR_SIGHAND)) !=
               (CLONE_SIGHAND | CLONE_CLEAR_SIGHAND);
}

static bool read_request(const struct hp_self *self, struct request *request)
{
    const uint64_t *r = self->regs.r;
    request->number = (uint32_t)hp_call_number(self);
    request->flags = request->stack = 0;
    switch (request->number) {
    case SYS_fork: return true;
    case SYS_vfork: request->flags = CLONE_VM | CLONE_VFORK; return true;
    case SYS_clone:
        request->flags = (uint32_t)r[RDI];
        request->stack = r[RSI];
        return true;
    default: return read_clone3(self, request);
    }
}

static void told_of_child(struct hp_self *self, long result)
{
    uint32_t pid = result > 0 ? (uint32_t)result : 0;
    hp_words_event(self, hp_word_event(HP_WORD_FORK, 0), &pid, 1);
}

static void take_copy(int fd)
{
    bool taken = hp_cache_take_copy(fd);
    hp_sys1(SYS_close, fd);
    if (taken)
        return;
    hp_say("there is no memory for the code cache of a new process", NULL);
    hp_sys1(SYS_exit_group, 125);
}

/* The child is a copy of us. The lock is held, so that the copied tables are consistent. */
static long make_process(struct hp_self *self, struct request *request)
{
    const uint64_t *r = self->regs.r;
    struct hp_arena *arena = hp_engine.arena;
    hp_lock();
    int copy = hp_cache_copy();
    if (copy == HP_COPY_FAILED) {
        hp_unlock();
        return -11; /* EAGAIN */
    }
    uint32_t serial = arena->follow ? hp_writer_before_fork(arena) : 0;
    hp_process_add_stats(); /* what was done so far does not belong to the child */
    long result;
    if (request->number == SYS_clone3) {
        request->args.stack = request->args.stack_size = 0;
        request->args.flags &= ~CLONE_CLEAR_SIGHAND; /* or the engine's go too: done below */
        result = hp_judged_call(SYS_clone3, (long)request->bytes, (long)request->size, 0, 0, 0);
    } else if (request->number == SYS_clone) {
        result =
            hp_judged_call(SYS_clone, (long)r[RDI], 0, (long)r[RDX], (long)r[R10], (long)r[R8]);
    } else {
        result = hp_judged_call(SYS_fork, 0, 0, 0, 0, 0);
    }
    if (result != 0) {
        if (copy >= 0 && (result < 0 || !(request->flags & CLONE_FILES)))
            hp_sys1(SYS_close, copy); /* otherwise the child shares it */
        hp_unlock();
        if (result > 0 && !hp_filters_trapped(self))
            told_of_child(self, result);
        return result;
    }
    if (copy >= 0)
        take_copy(copy);
    self->restricted &= ~HP_RESTRICTED_DISPATCH;
    hp_writer_after_fork(&self->writer, serial, arena->follow != 0);
    hp_threads_after_fork(self);
    hp_unlock();
    atomic_fetch_add(&arena->stats.processes, 1);
    if (request->flags & CLONE_CLEAR_SIGHAND)
        hp_signals_clear(self);
    if (request->stack)
        self->regs.r[RSP] = request->stack;
    hp_thread_start(self);
    return 0;
}

/* Prepares the block of a thread, or of a process that borrows our memory. */
static struct hp_self *prepare_thread(const struct hp_self *self, const struct request *request)
{
    bool vforked = !(request->flags & CLONE_THREAD);
    struct hp_self *child = hp_thread_new();
    if (!child)
        return NULL;
    child->actions = hp_actions_for_child(self->actions, request->flags & CLONE_SIGHAND);
    if (!child->actions) {
        atomic_store(&child->in_use, 0);
        return NULL;
    }
    child->regs = self->regs;
    child->regs.r[RAX] = 0;
    if (request->stack)
        child->regs.r[RSP] = request->stack;
    child->gs_base = self->gs_base;
    child->fault_error = self->fault_error;
    child->fault_number = self->fault_number;
    child->fault_address = self->fault_address;
    child->mask = self->mask;
    child->is_vforked = vforked || self->is_vforked;
    child->is_awaited = vforked && request->flags & CLONE_VFORK;
    if (child->is_awaited)
        child->altstack = self->altstack;
    return child;
}

static void free_block(struct hp_self *child)
{
    hp_actions_drop(child->actions);
    atomic_store(&child->in_use, 0);
}

static long make_thread(struct hp_self *self, struct request *request)
{
    const uint64_t *r = self->regs.r;
    struct hp_self *child = prepare_thread(self, request);
    if (!child)
        return -11; /* EAGAIN */
    bool vforked = !(request->flags & CLONE_THREAD);
    uint32_t serial = hp_engine.arena->follow ? hp_writer_before_fork(hp_engine.arena) : 0;
    hp_writer_after_fork(&child->writer, serial, !vforked || hp_engine.arena->follow);
    struct hp_clone_call call = {.number = request->number,
                                 .args = {r[RDI], r[RSI], r[RDX], r[R10], r[R8]},
                                 .self = child,
                                 .by_arch_prctl = !hp_engine.has_fsgsbase};
    if (request->number == SYS_clone3) {
        child->has_to_clear = request->args.flags & CLONE_CLEAR_SIGHAND;
        request->args.flags &= ~CLONE_CLEAR_SIGHAND; /* it would clear the engine's handlers too */
        call.args[0] = (uint64_t)(uintptr_t)request->bytes;
    }
    long result = hp_clone(&call);
    if (result < 0 || hp_filters_trapped(self)) {
        free_block(child);
        return result;
    }
    if (vforked)
        told_of_child(self, result);
    if (vforked && request->flags & CLONE_VFORK) /* it no longer uses our memory */
        free_block(child);
    return result;
}

bool hp_sys_clone(struct hp_self *self)
{
    struct request request;
    if (!read_request(self, &request))
        return hp_raw_syscall(self);
    /* The child must not be interrupted half made. A filter's signal may come. */
    uint64_t all = HP_SIGSET_ALL & ~(HP_SIGNALS_SYNC | 1ull << (SIGNAL_SYS - 1));
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&all, 0, 8);
    if (self->has_signal) /* otherwise the child would have it too */
        return false;
    long result =
        request.flags & CLONE_VM ? make_thread(self, &request) : make_process(self, &request);
    if (!self->has_signal)
        hp_signals_set_mask(self);
    self->regs.r[RAX] = (uint64_t)result;
    return true;
}

/* --- Exit ------------------------------------------------------------------------------------- */

void hp_process_add_stats(void)
{
    struct hp_engine_stats *stats = &hp_engine.arena->stats;
    uint64_t ns = hp_engine_ns(hp_engine.translate_tsc);
    atomic_fetch_add(&stats->translate_ns, ns);
    atomic_fetch_add(&stats->lookups, hp_engine.lookups);
    hp_engine.translate_tsc = hp_engine.lookups = 0;
    uint64_t used = hp_cache_used(), seen = atomic_load(&stats->cache_bytes);
    while (used > seen && !atomic_compare_exchange_weak(&stats->cache_bytes, &seen, used))
        ;
    uint64_t memory = used + hp_cache_tables_used();
    seen = atomic_load(&stats->memory_bytes);
    while (memory > seen && !atomic_compare_exchange_weak(&stats->memory_bytes, &seen, memory))
        ;
}

/* Whether children that are not our threads use our memory. */
static bool has_borrowers(const struct hp_self *self)
{
    for (const struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (t->in_use && t->tid && t->process != self->process)
            return true;
    return false;
}

/* The process exits normally: marks all its threads, which stop where they are. */
static void end_process(struct hp_self *self)
{
    struct hp_arena *arena = hp_engine.arena;
    uint64_t now = hp_writer_now();
    if (!self->is_vforked) {
        hp_lock();
        hp_threads_leave_cache(self, 20000, false);
        hp_process_add_stats();
        for (uint32_t i = 0; i < atomic_load(&arena->rings_used); i++)
            if (arena->rings[i].process == self->number &&
                arena->rings[i].state == HP_RING_ACTIVE) {
                atomic_store(&arena->rings[i].ended, now);
                atomic_store(&arena->rings[i].end_reason, HP_END_EXIT);
            }
        for (struct hp_self *t = hp_threads; t; t = t->next_thread)
            if (t->in_use && t->process == self->process && t->tid)
                hp_addresses_finish_thread(t);
    }
    hp_words_finish(self, HP_END_EXIT);
    if (!self->is_vforked && has_borrowers(self))
        hp_unlock(); /* they continue without us */
}

void hp_sys_exit(struct hp_self *self, bool group)
{
    int status = (int)self->regs.r[RDI];
    if (group) {
        end_process(self);
        hp_judged_call(SYS_exit_group, status, 0, 0, 0, 0);
        for (;;) /* refused by a filter: a call that bypasses it */
            hp_sys1(SYS_exit_group, status);
    }
    hp_words_finish(self, HP_END_EXIT);
    hp_process_add_stats();
    uint64_t all = HP_SIGSET_ALL;
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&all, 0, 8);
    struct hp_altstack off = {.flags = 2};
    hp_sys2(SYS_sigaltstack, (long)&off, 0);
    self->tid = 0;
    if (!self->is_awaited)
        hp_actions_drop(self->actions);
    _Atomic uint32_t kept;
    hp_exit_thread(self->is_awaited ? &kept : &self->in_use, status);
}

void hp_thread_kill(struct hp_self *self)
{
    hp_words_finish(self, HP_END_SIGNAL);
    hp_process_add_stats();
    if (hp_thread_is_alone(self))
        hp_sys2(SYS_kill, self->process, SIGNAL_KILL);
    for (;;)
        hp_sys1(SYS_exit, SIGNAL_KILL);
}

static bool is_in_cache(const struct hp_self *t, const struct hp_self *self, bool borrowers)
{
    return t != self && t->in_use && t->where == HP_IN_CACHE &&
           (borrowers || t->process == self->process);
}

bool hp_threads_leave_cache(struct hp_self *self, unsigned tries, bool borrowers)
{
    for (struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (is_in_cache(t, self, borrowers) && t->tid) {
            atomic_store(&t->pending, 1);
            struct hp_siginfo info = {.signo = HP_SIGNAL_STOP, .code = HP_STOP_CODE, .rest = {0}};
            hp_sys4(SYS_rt_tgsigqueueinfo, t->process, t->tid, HP_SIGNAL_STOP, (long)&info);
        }
    for (struct hp_self *t = hp_threads; t; t = t->next_thread)
        for (unsigned n = 0; is_in_cache(t, self, borrowers); n++) {
            struct timespec64 {
                int64_t s, ns;
            } moment = {0, n < 50 ? 1000 : 100000};
            if (n == tries)
                return false;
            hp_sys4(SYS_clock_nanosleep, 1, 0, (long)&moment, 0);
        }
    return true;
}
