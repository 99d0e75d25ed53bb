// SPDX-License-Identifier: MIT
/*
 * System calls. Most go to the kernel unchanged. Here are those that would remove the engine, or
 * that concern it.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/proc.h"
#include "engine/native/inner/rseq.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mman.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <string.h>

#define ARCH_SET_GS         0x1001
#define ARCH_GET_GS         0x1004
#define ARCH_REQ_XCOMP_PERM 0x1023

#define SET_MDWE 65 /* of prctl */

/* The result of a call. */
enum outcome {
    DONE,  /* the result is in rax */
    AGAIN, /* a signal came first: deliver it, then repeat the call */
};

/* Makes the call; false when a signal came first. */
static bool make(struct hp_self *self)
{
    if (!hp_signals_any_held(self))
        return hp_raw_syscall(self);
    hp_signals_to_kernel(self, self->mask);
    bool done = hp_raw_syscall(self);
    if (!self->has_signal)
        hp_signals_set_mask(self);
    return done;
}

static enum outcome pass(struct hp_self *self)
{
    uint64_t number = self->regs.r[RAX];
    if (!make(self))
        return AGAIN;
    if ((int64_t)self->regs.r[RAX] == -14 &&
        hp_guards_lift(0, UINT64_MAX)) { /* EFAULT: possibly caused by a guard */
        self->regs.r[RAX] = number;
        return make(self) ? DONE : AGAIN;
    }
    return DONE;
}

static enum outcome answer(struct hp_self *self, long result)
{
    self->regs.r[RAX] = (uint64_t)result;
    return DONE;
}

/* Whether the program's filters allow a call that the engine will answer itself. Tests by making
 * the call with `value` in `reg`, so that it has no effect and returns `expected`. */
static bool is_let(struct hp_self *self, int reg, uint64_t value, int64_t expected,
                   enum outcome *outcome)
{
    uint64_t *r = self->regs.r, number = r[RAX], given = r[reg];
    if (!hp_engine.is_filtered)
        return true;
    r[reg] = value;
    *outcome = hp_raw_syscall(self) ? DONE : AGAIN;
    r[reg] = given;
    if (*outcome == AGAIN || (int64_t)r[RAX] != expected)
        return false;
    r[RAX] = number;
    return true;
}

/* --- Descriptors ------------------------------------------------------------------------------ */

static int *our_descriptor(uint64_t fd)
{
    if ((int)fd == hp_engine.arena_fd)
        return &hp_engine.arena_fd;
    return (int)fd == hp_engine.engine_fd ? &hp_engine.engine_fd : NULL;
}

/* The program uses this number: moves our descriptor elsewhere. */
static void move_ours(struct hp_self *self, uint64_t fd)
{
    int *ours = our_descriptor(fd);
    if (!ours || self->is_vforked)
        return;
    long moved = hp_sys3(SYS_fcntl, *ours, F_DUPFD_CLOEXEC, *ours / 2 + 1);
    *ours = hp_sys_failed(moved) ? -1 : (int)moved;
}

/* To the program, ours are not open. A child of vfork() may have opened its own there. */
static bool is_hidden(const struct hp_self *self, uint64_t fd)
{
    return our_descriptor(fd) && !self->is_vforked;
}

static enum outcome sys_with_fd(struct hp_self *self)
{
    return is_hidden(self, self->regs.r[RDI]) ? answer(self, -9) : pass(self);
}

static enum outcome sys_dup_to(struct hp_self *self)
{
    if (is_hidden(self, self->regs.r[RDI]))
        return answer(self, -9);
    move_ours(self, self->regs.r[RSI]);
    return pass(self);
}

/* Closes all but ours. */
static enum outcome sys_close_range(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint32_t first = (uint32_t)r[RDI], last = (uint32_t)r[RSI], flags = (uint32_t)r[RDX];
    uint32_t a = (uint32_t)hp_engine.arena_fd, b = (uint32_t)hp_engine.engine_fd;
    if (first > last || flags & ~(uint32_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) ||
        (flags & CLOSE_RANGE_CLOEXEC && !(flags & CLOSE_RANGE_UNSHARE)))
        return pass(self); /* an error, or harmless: ours are already close-on-exec */
    if (a > b) {
        uint32_t t = a;
        a = b;
        b = t;
    }
    long result = 0;
    if (first < a && result == 0)
        result = hp_judged_call(SYS_close_range, first, last < a - 1 ? last : a - 1, flags, 0, 0);
    if (last > a && first < b && a + 1 < b && result == 0)
        result = hp_judged_call(SYS_close_range, first > a + 1 ? first : a + 1,
                                last < b - 1 ? last : b - 1, flags, 0, 0);
    if (last > b && result == 0)
        result = hp_judged_call(SYS_close_range, first > b + 1 ? first : b + 1, last, flags, 0, 0);
    return answer(self, result);
}

/* --- /proc ------------------------------------------------------------------------------------ */

static enum outcome sys_readlink(struct hp_self *self, int dirfd, uint64_t path, uint64_t to,
                                 uint64_t size)
{
    enum outcome outcome = pass(self);
    if (outcome == AGAIN || hp_sys_failed((long)self->regs.r[RAX]) ||
        !(hp_proc_is_exe(self, dirfd, path) || hp_proc_is_open_exe(self, dirfd, path)))
        return outcome;
    uint64_t length = strlen(hp_engine.program_path);
    if (length > size)
        length = size;
    return answer(self, hp_put(to, hp_engine.program_path, length) ? (long)length : -14);
}

/* Calls with a path in register `reg`. `itself`: the call concerns a link itself, not its
 * target. */
static enum outcome sys_path(struct hp_self *self, int dirfd, int reg, bool itself)
{
    uint64_t *r = self->regs.r, path = r[reg];
    if (itself || !hp_proc_is_exe(self, dirfd, path))
        return pass(self);
    r[reg] = (uint64_t)(uintptr_t)hp_engine.program_path;
    enum outcome outcome = pass(self);
    r[reg] = path;
    return outcome;
}

/* newfstatat, statx: the path may be empty and mean the descriptor. */
static enum outcome sys_stat(struct hp_self *self, uint64_t flags)
{
    const uint64_t *r = self->regs.r;
    char first = 0;
    if (is_hidden(self, r[RDI]) && hp_copy(&first, (const void *)r[RSI], 1) && first != '/')
        return answer(self, -9);
    return sys_path(self, (int)r[RDI], RSI, flags & AT_SYMLINK_NOFOLLOW);
}

static enum outcome sys_open(struct hp_self *self, int dirfd, int reg, bool itself)
{
    uint64_t path = self->regs.r[reg];
    enum outcome outcome = sys_path(self, dirfd, reg, itself);
    if (outcome == DONE)
        hp_proc_opened(path, (long)self->regs.r[RAX]);
    return outcome;
}

static enum outcome sys_openat2(struct hp_self *self)
{
    struct open_how how = {0};
    const uint64_t *r = self->regs.r;
    bool known = hp_copy(&how, (const void *)r[RDX], sizeof how);
    return sys_open(self, (int)r[RDI], RSI, !known || how.resolve || how.flags & O_NOFOLLOW);
}

static enum outcome sys_getdents(struct hp_self *self)
{
    uint64_t *r = self->regs.r, number = r[RAX];
    for (;;) {
        if (pass(self) == AGAIN)
            return AGAIN;
        if ((int64_t)r[RAX] <= 0 || !hp_proc_is_fds(self, (int)r[RDI]))
            return DONE;
        r[RAX] = hp_proc_hide_ours(r[RSI], r[RAX]);
        if (r[RAX]) /* 0 would mean the end */
            return DONE;
        r[RAX] = number;
    }
}

/* --- Programs --------------------------------------------------------------------------------- */

void hp_exec_announce(struct hp_self *self, const char *path, bool observed)
{
    struct hp_arena_record record = {.length = (uint32_t)strlen(path)};
    uint32_t id = hp_arena_add_record(hp_engine.arena, &record, path);
    hp_words_event(self, hp_word_event(HP_WORD_EXEC, observed), &id, 1);
    if (self->writer.ring)
        atomic_store(&self->writer.ring->ended, hp_writer_now());
    hp_addresses_finish_thread(self);
    hp_process_add_stats();
}

static enum outcome sys_exec(struct hp_self *self, bool at)
{
    const uint64_t *r = self->regs.r;
    uint64_t args[5] = {(uint64_t)AT_FDCWD, r[RDI], r[RSI], r[RDX], 0};
    if (at) {
        args[0] = r[RDI];
        args[1] = r[RSI];
        args[2] = r[RDX];
        args[3] = r[R10];
        args[4] = r[R8];
    }
    long result = hp_exec(self, args);
    hp_words_event(self, hp_word_event(HP_WORD_EXEC_FAILED, 0), NULL, 0);
    if (self->writer.ring)
        atomic_store(&self->writer.ring->ended, 0);
    hp_addresses_go_on(self);
    return result == HP_EXEC_AGAIN ? AGAIN : answer(self, result);
}

/* rt_sigaction, rt_sigprocmask: with a set of another size they have no effect. */
static enum outcome sys_with_set(struct hp_self *self, bool (*call)(struct hp_self *))
{
    enum outcome outcome;
    if (!is_let(self, R10, 0, -22, &outcome))
        return outcome;
    return call(self) ? DONE : AGAIN;
}

static enum outcome sys_altstack(struct hp_self *self)
{
    enum outcome outcome;
    uint64_t *r = self->regs.r, old = r[RSI];
    r[RSI] = 0;
    bool let = is_let(self, RDI, 0, 0, &outcome);
    r[RSI] = old;
    if (!let)
        return outcome;
    return hp_sys_sigaltstack(self) ? DONE : AGAIN;
}

static enum outcome sys_arch_prctl(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    enum outcome outcome;
    if (r[RDI] == ARCH_SET_GS && !is_let(self, RSI, UINT64_MAX, -1, &outcome))
        return outcome;
    if (r[RDI] == ARCH_GET_GS && !is_let(self, RSI, UINT64_MAX, -14, &outcome))
        return outcome;
    if (r[RDI] == ARCH_SET_GS) {
        if (r[RSI] >= HP_USER_END)
            return answer(self, -1);
        self->gs_base = r[RSI];
        hp_thread_null_gs(self);
        return answer(self, 0);
    }
    if (r[RDI] == ARCH_GET_GS)
        return answer(self, hp_put(r[RSI], &self->gs_base, 8) ? 0 : -14);
    if (r[RDI] == ARCH_REQ_XCOMP_PERM)
        return hp_sys_permit_state(self) ? DONE : AGAIN;
    return pass(self);
}

/* In memory mode a section cannot be translated as a unit: there is no rseq then. */
static enum outcome sys_rseq(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint64_t area = r[RDI];
    bool ends = r[RDX] & 1;
    if (hp_engine.mode == HP_RECORD_MEMORY ||
        (!self->rseq && !ends && !hp_rseq_allow((uint32_t)r[R10])))
        return answer(self, -38); /* ENOSYS */
    if (pass(self) == AGAIN)
        return AGAIN;
    if (r[RAX] == 0)
        hp_rseq_registered(self, ends ? 0 : area);
    return DONE;
}

/* Afterwards pages can no longer be made writable and executable: lifts all guards while that is
 * still possible. */
static enum outcome sys_restrict(struct hp_self *self)
{
    hp_guards_lift(0, UINT64_MAX);
    return pass(self);
}

static enum outcome sys_prctl(struct hp_self *self)
{
    if ((int)self->regs.r[RDI] == PR_SET_TSC)
        hp_engine.has_no_clock = true; /* for one thread; costs only the engine's timing */
    if ((int)self->regs.r[RDI] == SET_MDWE)
        return sys_restrict(self);
    if ((int)self->regs.r[RDI] != PR_SET_NAME)
        return hp_sys_prctl(self) ? DONE : AGAIN;
    if (!hp_raw_syscall(self))
        return AGAIN;
    hp_writer_note_name(&self->writer);
    return DONE;
}

/* A traced thread is observed by another process, which wants to see the program, not an engine. */
static enum outcome sys_ptrace(struct hp_self *self)
{
    bool is_request = self->regs.r[RDI] == PTRACE_TRACEME;
    if (is_request)
        hp_release_fault(self);
    enum outcome outcome = pass(self);
    self->is_traced = is_request && outcome == DONE && self->regs.r[RAX] == 0;
    if (self->is_traced)
        hp_release(self, self->regs.rip, "it is traced (ptrace)");
    return outcome;
}

/* As on a kernel without rseq. */
static enum outcome sys_membarrier(struct hp_self *self)
{
    const uint64_t rseq = 1u << 7 | 1u << 8, command = self->regs.r[RDI];
    if (hp_engine.mode != HP_RECORD_MEMORY)
        return pass(self);
    if (command & rseq)
        return answer(self, -22);
    enum outcome outcome = pass(self);
    if (command == 0 && (int64_t)self->regs.r[RAX] > 0)
        self->regs.r[RAX] &= ~rseq;
    return outcome;
}

/* Locks pages when they are touched. Otherwise all of the engine's would be allocated, gigabytes
 * that are never used. */
static enum outcome sys_mlockall(struct hp_self *self)
{
    uint64_t flags = self->regs.r[RDI];
    if (flags & (MCL_CURRENT | MCL_FUTURE))
        self->regs.r[RDI] |= MCL_ONFAULT;
    enum outcome outcome = pass(self);
    self->regs.r[RDI] = flags;
    return outcome;
}

static enum outcome sys_brk(struct hp_self *self)
{
    uint64_t end = self->regs.r[RDI];
    if (!hp_limits_let_heap_end(end))
        self->regs.r[RDI] = 0; /* fails: only returns the end of the heap */
    bool done = hp_maps_call(self);
    self->regs.r[RDI] = end;
    return done ? DONE : AGAIN;
}

/* Code may be mapped from the file. */
static enum outcome sys_write(struct hp_self *self, uint64_t fd)
{
    struct hp_proc_write to;
    if (is_hidden(self, fd))
        return answer(self, -9);
    bool is_memory = hp_proc_before_write(self, (int)fd, &to);
    enum outcome outcome = pass(self);
    if (is_memory)
        hp_proc_after_write(&to);
    hp_maps_written((int)fd);
    return outcome;
}

/* A call that sets a temporary signal mask while it waits: `mask` points to it, `size` is its
 * length. */
static enum outcome sys_with_mask(struct hp_self *self, uint64_t mask, uint64_t size)
{
    self->has_call_mask = mask && size == 8 && hp_copy(&self->call_mask, (const void *)mask, 8);
    enum outcome outcome = pass(self);
    if (outcome == AGAIN || (int64_t)self->regs.r[RAX] != -4 || !self->has_signal)
        self->has_call_mask = false;
    return outcome;
}

/* pselect6 has the mask and its length in a structure. */
static enum outcome sys_pselect(struct hp_self *self)
{
    uint64_t pair[2] = {0, 0};
    if (self->regs.r[R9] && !hp_copy(pair, (const void *)self->regs.r[R9], sizeof pair))
        return pass(self);
    return sys_with_mask(self, pair[0], pair[1]);
}

/* --- All of them ------------------------------------------------------------------------------ */

static enum outcome make_call(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    switch (hp_call_number(self)) {
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_mremap:
    case SYS_madvise:
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
    case SYS_mseal: return hp_maps_call(self) ? DONE : AGAIN;
    case SYS_brk: return sys_brk(self);

    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sendfile: return sys_write(self, r[RDI]);
    case SYS_copy_file_range:
    case SYS_splice: return sys_write(self, r[RDX]);

    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3: return hp_sys_clone(self) ? DONE : AGAIN;
    case SYS_execve: return sys_exec(self, false);
    case SYS_execveat: return sys_exec(self, true);
    case SYS_exit: hp_sys_exit(self, false);
    case SYS_exit_group: hp_sys_exit(self, true);

    case SYS_rt_sigaction: return sys_with_set(self, hp_sys_sigaction);
    case SYS_rt_sigprocmask: return sys_with_set(self, hp_sys_sigprocmask);
    case SYS_sigaltstack: return sys_altstack(self);
    case SYS_rt_sigreturn: hp_sys_sigreturn(self);
    case SYS_rt_sigsuspend: return sys_with_mask(self, r[RDI], r[RSI]);
    case SYS_ppoll: return sys_with_mask(self, r[R10], r[R8]);
    case SYS_pselect6: return sys_pselect(self);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return sys_with_mask(self, r[R8], r[R9]);

    case SYS_arch_prctl: return sys_arch_prctl(self);
    case SYS_rseq: return sys_rseq(self);

    case SYS_seccomp: return hp_sys_seccomp(self) ? DONE : AGAIN;
    case SYS_ptrace: return sys_ptrace(self);
    case SYS_membarrier: return sys_membarrier(self);
    case SYS_mlockall: return sys_mlockall(self);
    case SYS_getrlimit:
    case SYS_setrlimit:
    case SYS_prlimit64: return hp_sys_limit(self) ? DONE : AGAIN;
    case SYS_prctl: return sys_prctl(self);

    case SYS_close: return our_descriptor(r[RDI]) ? answer(self, -9) : pass(self);
    case SYS_read:
    case SYS_pread64:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_fstatfs:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_flock:
    case SYS_dup: return sys_with_fd(self);
    case SYS_dup2:
    case SYS_dup3: return sys_dup_to(self);
    case SYS_close_range: return sys_close_range(self);

    case SYS_readlink: return sys_readlink(self, AT_FDCWD, r[RDI], r[RSI], r[RDX]);
    case SYS_readlinkat: return sys_readlink(self, (int)r[RDI], r[RSI], r[RDX], r[R10]);
    case SYS_open: return sys_open(self, AT_FDCWD, RDI, r[RSI] & O_NOFOLLOW);
    case SYS_openat: return sys_open(self, (int)r[RDI], RSI, r[RDX] & O_NOFOLLOW);
    case SYS_openat2: return sys_openat2(self);
    case SYS_stat:
    case SYS_access: return sys_path(self, AT_FDCWD, RDI, false);
    case SYS_faccessat: return sys_path(self, (int)r[RDI], RSI, false);
    case SYS_newfstatat: return sys_stat(self, r[R10]);
    case SYS_statx: return sys_stat(self, r[RDX]);
    case SYS_faccessat2: return sys_path(self, (int)r[RDI], RSI, r[R10] & AT_SYMLINK_NOFOLLOW);
    case SYS_getdents64: return sys_getdents(self);
    default: return pass(self);
    }
}

/* The call does not return to the code after it. */
static bool never_returns(const struct hp_self *self)
{
    int32_t number = hp_call_number(self);
    return number == SYS_exit || number == SYS_exit_group || number == SYS_rt_sigreturn;
}

static enum outcome judge_and_make_call(struct hp_self *self)
{
    enum hp_verdict verdict = self->restricted ? hp_filters_judge(self) : HP_CALL_MADE;
    if (verdict != HP_CALL_MADE)
        return verdict == HP_CALL_OVER ? DONE : AGAIN;
    if (hp_guards_any())
        hp_writes_prepare(self);
    return make_call(self);
}

/* --- Their number and time -------------------------------------------------------------------- */

/* A call under way. */
struct timed {
    const struct hp_ring *ring; /* of its thread; a forked child has another */
    uint32_t number, id;        /* id: the segment that it ended */
    uint64_t since;
};

static void put_call(struct hp_self *self, const struct timed *call, enum hp_call_end end,
                     uint32_t error, uint64_t ns)
{
    const uint32_t payload[] = {call->number, (uint32_t)ns, (uint32_t)(ns >> 32), call->id};
    hp_words_event(self, hp_call_word(end, error), payload, 4);
}

/* What never returns is told here, without a time: rt_sigreturn returns, but elsewhere. */
static struct timed begin_call(struct hp_self *self, uint32_t id)
{
    struct timed call = {
        .ring = self->writer.ring, .number = (uint32_t)hp_call_number(self), .id = id};
    bool returns = !never_returns(self) && call.number != SYS_execve && call.number != SYS_execveat;
    if (!hp_engine.arena->calls)
        return call;
    call.since = hp_engine_now();
    if (call.number == SYS_rt_sigreturn)
        put_call(self, &call, HP_CALL_UNTIMED, 0, 0);
    else
        hp_writer_call(&self->writer, call.number, returns ? call.since : 0);
    return call;
}

static void end_call(struct hp_self *self, const struct timed *call, bool again)
{
    if (!hp_engine.arena->calls || self->writer.ring != call->ring)
        return;
    uint64_t now = hp_engine_now(), ns = now > call->since ? now - call->since : 0;
    if (again)
        put_call(self, call, HP_CALL_REPEATED, 0, ns);
    else
        put_call(self, call, HP_CALL_RETURNED, hp_call_error((int64_t)self->regs.r[RAX]), ns);
    hp_writer_called(&self->writer);
}

/* Makes the call that ended segment `id`, `insns` instructions long. 0: not recorded. */
static _Noreturn void make_recorded(struct hp_self *self, uint64_t behind, uint32_t id,
                                    uint32_t insns)
{
    self->regs.rip = behind;
    atomic_store(&self->where, HP_IN_ENGINE);
    if (id)
        hp_words_ran(self, id, false, behind);
    self->regs.r[RCX] = behind; /* as the instruction does */
    self->regs.r[R11] = self->regs.flags;
    struct timed call = begin_call(self, id);
    if (id && never_returns(self))
        hp_words_not_ended(self, id, insns);
    bool again = judge_and_make_call(self) == AGAIN;
    end_call(self, &call, again);
    if (again) {
        behind -= HP_SYSCALL_LENGTH;
        if (id)
            hp_words_not_ended(self, id, insns - 1u);
    }
    hp_go_on(self, behind);
}

void hp_on_syscall(struct hp_self *self)
{
    hp_traces_end(self);
    const struct hp_exit *exit = &hp_exits[self->exit];
    if (exit->prefix) {
        hp_paths_at(self, exit->prefix, exit->id, HP_UNCUT);
        self->node = exit->node;
    }
    make_recorded(self, exit->target, exit->id, hp_last_piece(exit->segment)->insns);
}

void hp_syscall_at(struct hp_self *self, uint64_t pc, uint32_t id)
{
    make_recorded(self, pc + HP_SYSCALL_LENGTH, id, 1);
}
