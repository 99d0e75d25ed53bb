// SPDX-License-Identifier: MIT
/*
 * Programs that restrict their own system calls: seccomp, and user dispatch.
 *
 * A filter must apply to the program's calls and not to the engine's. So every filter is prefixed
 * with a few instructions that allow calls from the engine's text, except for the places that make
 * calls for the program. Strict mode and user dispatch are emulated here, without the kernel.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>

#ifndef PR_SYS_DISPATCH_EXCLUSIVE_ON
#define PR_SYS_DISPATCH_EXCLUSIVE_ON 1
#endif
#ifndef PR_SYS_DISPATCH_INCLUSIVE_ON
#define PR_SYS_DISPATCH_INCLUSIVE_ON 2
#endif
#define SIGNAL_SYS        31
#define SIGNAL_SEGV       11
#define SYS_SECCOMP_      1 /* si_code */
#define SYS_USER_DISPATCH 2
#define WAIT_KILLABLE     (1u << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */

/* --- Filters ---------------------------------------------------------------------------------- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* The places that make calls for the program: the addresses after the instructions. */
static const char *const judged[] = {hp_syscall_end, hp_int80_end, hp_judged_end,
                                     hp_clone_end,   hp_exit_end,  hp_sigreturn_end};
#define N_JUDGED (sizeof judged / sizeof *judged)
#define N_PREFIX (N_JUDGED + 7)
#define IP_LOW   (offsetof(struct seccomp_data, instruction_pointer))
#define IP_HIGH  (IP_LOW + 4)

static uint64_t address_of(const char *label)
{
    return (uint64_t)(uintptr_t)label;
}

/* Allows calls of the engine; otherwise falls through unchanged. False: it cannot be expressed. */
static bool make_prefix(struct sock_filter to[N_PREFIX])
{
    uint64_t low = address_of(__ehdr_start), high = address_of(etext);
    uint8_t n = 0, last = N_PREFIX - 1; /* a jump to `last` continues with the program's filter */
    if (low >> 32 != high >> 32)
        return false;
    to[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_HIGH);
    to[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(low >> 32), 0,
                                         (uint8_t)(last - n - 1));
    n++;
    to[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_LOW);
    to[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)low, 0,
                                         (uint8_t)(last - n - 1));
    n++;
    to[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)high,
                                         (uint8_t)(last - n - 1), 0);
    n++;
    for (size_t i = 0; i < N_JUDGED; i++, n++)
        to[n] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)address_of(judged[i]), (uint8_t)(last - n - 1), 0);
    to[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    to[n] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0); /* restores the initial state */
    return true;
}

/* The call installs the filter that register `reg` points to. `is_killable`: calls that wait for
 * its supervisor are interrupted by fatal signals only, and a signal for which the engine has a
 * handler would not be fatal. False: a signal came first. */
static bool install_filter(struct hp_self *self, int reg, bool is_killable)
{
    struct sock_filter code[BPF_MAXINSNS];
    struct sock_fprog fprog;
    uint64_t *r = self->regs.r, given = r[reg];
    if (!hp_copy(&fprog, (const void *)given, sizeof fprog) || fprog.len == 0 ||
        fprog.len > BPF_MAXINSNS)
        return hp_raw_syscall(self); /* invalid */
    if (fprog.len > BPF_MAXINSNS - N_PREFIX || !make_prefix(code))
        hp_release(self, self->regs.rip - HP_SYSCALL_LENGTH,
                   "it installs a seccomp filter that would stop the engine");
    if (!hp_copy(code + N_PREFIX, fprog.filter, fprog.len * sizeof *code))
        return hp_raw_syscall(self);
    fprog.len = (unsigned short)(fprog.len + N_PREFIX);
    fprog.filter = code;
    r[reg] = (uint64_t)(uintptr_t)&fprog;
    bool done = hp_raw_syscall(self);
    r[reg] = given;
    if (done && !hp_sys_failed((long)r[RAX])) {
        hp_engine.is_filtered = true;
        if (is_killable)
            hp_signals_leave_fatal(self);
    }
    return done;
}

static bool enter_strict_mode(struct hp_self *self)
{
    long mode = hp_sys1(SYS_prctl, PR_GET_SECCOMP);
    self->regs.r[RAX] = mode == SECCOMP_MODE_FILTER ? (uint64_t)-22 : 0;
    if (mode != SECCOMP_MODE_FILTER)
        self->restricted |= HP_RESTRICTED_STRICT;
    return true;
}

bool hp_filters_trapped(const struct hp_self *self)
{
    return self->has_signal && self->info.signo == SIGNAL_SYS && self->info.code == SYS_SECCOMP_;
}

bool hp_sys_seccomp(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    if ((uint32_t)r[RDI] == SECCOMP_SET_MODE_FILTER)
        return install_filter(self, RDX, r[RSI] & WAIT_KILLABLE);
    if ((uint32_t)r[RDI] == SECCOMP_SET_MODE_STRICT && !(uint32_t)r[RSI] && !r[RDX])
        return enter_strict_mode(self);
    return hp_raw_syscall(self);
}

/* The next engine's address depends on these; a filter knows only one address. */
bool hp_filters_know_next(void)
{
    struct rlimit stack;
    if (!hp_engine.is_filtered)
        return true;
    long personality = hp_sys1(SYS_personality, 0xffffffff);
    return personality & ADDR_NO_RANDOMIZE &&
           !hp_sys_failed(hp_sys2(SYS_getrlimit, RLIMIT_STACK, (long)&stack)) &&
           stack.rlim_cur == hp_engine.stack_limit;
}

/* --- User dispatch ---------------------------------------------------------------------------- */

/* Whether the kernel has this mode: tried with a range without code. */
static bool has_inclusive_dispatch(void)
{
    if (hp_sys_failed(hp_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_INCLUSIVE_ON,
                              1, 1, 0, 0)))
        return false;
    hp_sys6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0, 0);
    return true;
}

static long set_dispatch(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint64_t mode = r[RSI], offset = r[RDX], length = r[R10], selector = r[R8];
    switch (mode) {
    case PR_SYS_DISPATCH_OFF:
        if (offset || length || selector)
            return -22; /* EINVAL */
        self->restricted &= ~HP_RESTRICTED_DISPATCH;
        return 0;
    case PR_SYS_DISPATCH_EXCLUSIVE_ON:
        if (offset && offset + length <= offset)
            return -22;
        break;
    case PR_SYS_DISPATCH_INCLUSIVE_ON:
        if (length == 0 || offset + length <= offset || !has_inclusive_dispatch())
            return -22;
        offset += length;
        length = 0 - length;
        break;
    default: return -22;
    }
    if (selector >= HP_USER_END)
        return -14; /* EFAULT */
    self->dispatch_offset = offset;
    self->dispatch_length = length;
    self->dispatch_selector = selector;
    self->restricted |= HP_RESTRICTED_DISPATCH;
    return 0;
}

/* Returns the call to the program as a signal. False: a signal came first. */
static bool dispatch(struct hp_self *self)
{
    struct hp_siginfo info = {
        .signo = SIGNAL_SYS, .code = SYS_USER_DISPATCH, .address = self->regs.rip};
    int32_t number = hp_call_number(self);
    uint32_t arch = AUDIT_ARCH_X86_64;
    memcpy(info.rest, &number, 4);
    memcpy(info.rest + 4, &arch, 4);
    return hp_signals_force(self, &info);
}

/* --- All of them ------------------------------------------------------------------------------ */

bool hp_sys_prctl(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    switch ((int)r[RDI]) {
    case PR_SET_SECCOMP:
        if (r[RSI] == SECCOMP_MODE_FILTER)
            return install_filter(self, RDX, false);
        if (r[RSI] == SECCOMP_MODE_STRICT)
            return enter_strict_mode(self);
        return hp_raw_syscall(self);
    case PR_SET_SYSCALL_USER_DISPATCH:
        self->regs.r[RAX] = (uint64_t)set_dispatch(self);
        return true;
    default: return hp_raw_syscall(self);
    }
}

static bool is_strictly_allowed(int32_t number)
{
    return number == SYS_read || number == SYS_write || number == SYS_exit ||
           number == SYS_rt_sigreturn;
}

enum hp_verdict hp_filters_judge(struct hp_self *self)
{
    uint8_t selector;
    if (self->restricted & HP_RESTRICTED_DISPATCH &&
        self->regs.rip - self->dispatch_offset >= self->dispatch_length) {
        if (!self->dispatch_selector)
            return dispatch(self) ? HP_CALL_OVER : HP_CALL_AGAIN;
        if (!hp_copy(&selector, (const void *)self->dispatch_selector, 1))
            hp_signals_die(self, SIGNAL_SEGV);
        if (selector > 1)
            hp_signals_die(self, SIGNAL_SYS);
        if (selector == 1)
            return dispatch(self) ? HP_CALL_OVER : HP_CALL_AGAIN;
    }
    if (self->restricted & HP_RESTRICTED_STRICT && !is_strictly_allowed(hp_call_number(self)))
        hp_thread_kill(self);
    return HP_CALL_MADE;
}
