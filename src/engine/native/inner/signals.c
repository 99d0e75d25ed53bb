// SPDX-License-Identifier: MIT
/*
 * Signals. The kernel calls hp_handler() for every signal that the program handles or that would end
 * it, on a stack of the engine's. There the signal is only *caught*: remembered, all further ones
 * blocked, and the thread brought to a point where its registers are the program's. Then it is
 * *delivered* in ordinary C (hp_signals_deliver): a frame as the kernel makes it, on the program's
 * stack, and on to the program's handler.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/sys.h"
#include "hotpath/stream.h"

#include <string.h>

#define SIG_DFL_ 0
#define SIG_IGN_ 1

#define SA_NOCLDSTOP_ 1u
#define SA_NOCLDWAIT_ 2u
#define SA_SIGINFO_   4u
#define SA_RESTORER_  0x04000000u
#define SA_ONSTACK_   0x08000000u
#define SA_RESTART_   0x10000000u
#define SA_NODEFER_   0x40000000u
#define SA_RESETHAND_ 0x80000000u

#define SS_ONSTACK_    1
#define SS_DISABLE_    2
#define SS_AUTODISARM_ (1u << 31)

enum {
    ILL = 4,
    TRAP = 5,
    BUS = 7,
    FPE = 8,
    KILL = 9,
    SEGV = 11,
    CHLD = 17,
    CONT = 18,
    STOP = 19,
    TSTP = 20,
    TTIN = 21,
    TTOU = 22,
    URG = 23,
    WINCH = 28
};

#define FLAG_TF   0x100u
#define FLAG_DF   0x400u
#define FLAG_RF   0x10000u
#define FLAG_AC   0x40000u
#define RED_ZONE  128
#define FRAME_MAX 24576

struct action { /* the kernel's struct */
    uint64_t handler, flags, restorer, mask;
};

struct sigcontext {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
        flags;
    uint16_t cs, gs, fs, ss;
    uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct ucontext { /* the kernel's */
    uint64_t flags, link;
    struct hp_altstack stack;
    struct sigcontext mc;
    uint64_t mask;
};

struct frame {
    uint64_t restorer;
    struct ucontext uc;
    struct hp_siginfo info;
};

_Static_assert(sizeof(struct ucontext) == 304 && sizeof(struct hp_siginfo) == 128,
               "kernel's layout");

void hp_handler_entry(void); /* gates.S: comes to hp_handler() */
void hp_handler(int number, struct hp_siginfo *info, struct ucontext *uc);

static struct action actions[65]; /* of the program, by number */
static uint32_t actions_lock;

/* --- Registers -------------------------------------------------------------------------------- */

static void take_registers(struct hp_regs *regs, const struct sigcontext *mc)
{
    *regs = (struct hp_regs){.r = {mc->rax, mc->rcx, mc->rdx, mc->rbx, mc->rsp, mc->rbp, mc->rsi,
                                   mc->rdi, mc->r8, mc->r9, mc->r10, mc->r11, mc->r12, mc->r13,
                                   mc->r14, mc->r15},
                             .rip = mc->rip,
                             .flags = mc->flags & ~(uint64_t)(FLAG_TF | FLAG_RF)};
}

static void put_registers(struct sigcontext *mc, const struct hp_regs *regs)
{
    const uint64_t *r = regs->r;
    mc->rax = r[RAX], mc->rcx = r[RCX], mc->rdx = r[RDX], mc->rbx = r[RBX];
    mc->rsp = r[RSP], mc->rbp = r[RBP], mc->rsi = r[RSI], mc->rdi = r[RDI];
    mc->r8 = r[R8], mc->r9 = r[R9], mc->r10 = r[R10], mc->r11 = r[R11];
    mc->r12 = r[R12], mc->r13 = r[R13], mc->r14 = r[R14], mc->r15 = r[R15];
    mc->rip = regs->rip;
    mc->flags = regs->flags;
}

/* How long the vector state in a frame is: the kernel says it inside. */
static uint32_t vectors_size(const uint8_t *state)
{
    uint32_t magic, size;
    memcpy(&magic, state + 464, 4);
    memcpy(&size, state + 468, 4);
    return magic == 0x46505853 && size >= 512 && size <= FRAME_MAX ? size : 512;
}

/* --- Catching --------------------------------------------------------------------------------- */

static bool is_within(uint64_t pc, const char *low, const char *high)
{
    return pc >= (uint64_t)(uintptr_t)low && pc < (uint64_t)(uintptr_t)high;
}

/* What was run of the segment before it was left in the middle. */
static void record_part(struct hp_self *self, const struct hp_seg *seg, const struct hp_spot *spot)
{
    const struct hp_piece *piece = &hp_pieces[seg->first_piece + spot->piece];
    if (spot->insns >= piece->insns)
        hp_words_ran(self, piece->id, false);
    else if (spot->insns > 0)
        hp_words_ran_part(self, piece->id, spot->insns);
    else if (spot->piece > 0)
        hp_words_ran(self, piece[-1].id, piece[-1].taken);
}

/* Leaves the cache, when the interrupted instruction can be told and nothing of it was done (or it
 * failed, `failed`). The registers go to self->regs; the handler returns to the engine. */
static bool leave_cache(struct hp_self *self, struct sigcontext *mc, bool failed)
{
    uint32_t segment = hp_cache_segment_at(mc->rip);
    struct hp_spot spot = {0};
    if (!segment)
        return false;
    hp_locate(segment, mc->rip, &spot);
    if (!spot.clean && !failed)
        return false;
    take_registers(&self->regs, mc);
    self->regs.rip = spot.pc;
    if (spot.rcx_saved)
        self->regs.r[RCX] = self->rcx;
    if (spot.saved[0] != 0xff)
        self->regs.r[spot.saved[0]] = self->scratch1;
    if (spot.saved[1] != 0xff)
        self->regs.r[spot.saved[1]] = self->scratch2;
    self->address += spot.addresses;
    record_part(self, &hp_segs[segment], &spot);
    return true;
}

/* The handler returns into the engine: hp_on_pending() goes on with self->regs. */
static void return_to_engine(struct ucontext *uc)
{
    uc->mc.rip = (uint64_t)(uintptr_t)hp_gate_pending;
    uc->mc.flags &= ~(uint64_t)(FLAG_TF | FLAG_DF);
    uc->mask = HP_SIGSET_ALL & ~HP_SIGNALS_SYNC;
}

static void keep_vectors(struct hp_self *self, const struct ucontext *uc)
{
    if (uc->mc.fpstate) {
        const uint8_t *state = (const uint8_t *)(uintptr_t)uc->mc.fpstate;
        memcpy(self->vectors, state, vectors_size(state));
    }
}

static void remember(struct hp_self *self, const struct hp_siginfo *info, const struct ucontext *uc)
{
    self->has_signal = true;
    self->info = *info;
    memcpy(self->context, uc, sizeof *uc);
    keep_vectors(self, uc);
}

/* Something has to be done before the program goes on: brings the thread to hp_on_pending(), now or
 * as soon as it comes out of what it is in. */
static void interrupt(struct hp_self *self, struct ucontext *uc, bool is_stop)
{
    struct sigcontext *mc = &uc->mc;
    atomic_store(&self->pending, 1);
    uc->mask = HP_SIGSET_ALL & ~HP_SIGNALS_SYNC;
    if (hp_cache_has(mc->rip)) {
        if (leave_cache(self, mc, false)) {
            return_to_engine(uc);
        } else {
            self->stepping = true;
            mc->flags |= FLAG_TF;
        }
    } else if (is_within(mc->rip, (const char *)hp_enter, hp_enter_end)) {
        mc->rip = (uint64_t)(uintptr_t)hp_enter;
        mc->flags &= ~(uint64_t)FLAG_TF;
    } else if (is_within(mc->rip, hp_syscall_begin, hp_syscall_insn + 1)) {
        mc->rip = (uint64_t)(uintptr_t)hp_syscall_begin;
    } else if (is_stop && mc->rip == (uint64_t)(uintptr_t)hp_syscall_end &&
               (int64_t)mc->rax == -4) {
        mc->rip = (uint64_t)(uintptr_t)hp_syscall_begin; /* ours, not the program's: try again */
    }
}

/* The program checks the alignment of its accesses, and a landing reads the target at an odd place:
 * one step without the check. */
static bool pass_alignment_check(struct hp_self *self, const struct hp_siginfo *info,
                                 struct sigcontext *mc)
{
    if (info->signo == BUS && info->code == 1 && mc->flags & FLAG_AC && hp_cache_has(mc->rip) &&
        !hp_cache_segment_at(mc->rip)) {
        mc->flags = (mc->flags & ~(uint64_t)FLAG_AC) | FLAG_TF;
        self->stepping_unaligned = true;
        return true;
    }
    if (info->signo == TRAP && self->stepping_unaligned) {
        self->stepping_unaligned = false;
        mc->flags |= FLAG_AC;
        if (!self->stepping)
            mc->flags &= ~(uint64_t)FLAG_TF;
        return !self->stepping;
    }
    return false;
}

/* A step on to a point where the cache can be left. */
static void step(struct hp_self *self, struct ucontext *uc)
{
    if (self->has_signal)
        keep_vectors(self, uc);      /* an instruction of the program may have been run since */
    if (!hp_cache_has(uc->mc.rip)) { /* a gate: comes to hp_enter() */
        self->stepping = false;
        uc->mc.flags &= ~(uint64_t)FLAG_TF;
        if (is_within(uc->mc.rip, (const char *)hp_enter, hp_enter_end))
            uc->mc.rip = (uint64_t)(uintptr_t)hp_enter;
    } else if (leave_cache(self, &uc->mc, false)) {
        self->stepping = false;
        return_to_engine(uc);
    }
}

/* A write was stopped, perhaps by a guard that another thread has taken away since: it is tried
 * again once for every guard that was. */
static bool may_succeed_now(struct hp_self *self)
{
    uint64_t lifted = atomic_load(&hp_guards_lifted);
    bool again = lifted != self->lifted_seen;
    self->lifted_seen = lifted;
    return again;
}

/* An instruction of the program could not be run. */
static void fault(struct hp_self *self, const struct hp_siginfo *info, struct ucontext *uc)
{
    uint64_t at = uc->mc.rip;
    bool is_write = info->signo == SEGV && (uc->mc.err & 3) == 3;
    bool guarded = is_write && hp_guards_have(info->address); /* asked once: it may change */
    if (is_write && !guarded && may_succeed_now(self))
        return;
    if (self->probing) {
        self->probing = false;
        take_registers(&self->regs, &uc->mc);
    } else if (!leave_cache(self, &uc->mc, true)) {
        hp_say("internal error: a stub failed", NULL);
        hp_sys1(SYS_exit_group, 125);
    }
    if (guarded) {
        self->has_write = true;
        self->write_address = info->address;
    } else {
        remember(self, info, uc);
        if (self->info.address == at && info->signo != SEGV && info->signo != BUS)
            self->info.address = self->regs.rip;
    }
    atomic_store(&self->pending, 1);
    return_to_engine(uc);
}

/* The thread runs the program's own code: the program's handler gets the frame that we got. */
static void deliver_natively(struct hp_self *self, const struct hp_siginfo *info,
                             struct ucontext *uc)
{
    take_registers(&self->regs, &uc->mc);
    remember(self, info, uc);
    self->mask = uc->mask;
    hp_signals_deliver(self);
    put_registers(&uc->mc, &self->regs);
    uc->mask = self->mask;
}

static bool is_synchronous(const struct hp_siginfo *info)
{
    bool could = info->signo == SEGV || info->signo == BUS || info->signo == ILL ||
                 info->signo == FPE || info->signo == TRAP;
    return could && info->code > 0;
}

static void handle_word_fault(struct hp_self *self, struct sigcontext *mc, bool *done,
                              const struct hp_siginfo *info)
{
    struct hp_regs regs;
    take_registers(&regs, mc);
    uint64_t flags = mc->flags;
    *done = hp_words_fault(self, info->address, (const uint8_t *)(uintptr_t)mc->rip, regs.r);
    if (*done) {
        put_registers(mc, &regs);
        mc->flags = flags;
    }
}

void hp_handler(int number, struct hp_siginfo *info, struct ucontext *uc)
{
    struct hp_self *self = hp_self();
    struct sigcontext *mc = &uc->mc;
    bool in_cache = hp_cache_has(mc->rip), done = false;
    bool is_stop = number == HP_SIGNAL_STOP && info->code == HP_STOP_CODE;
    if (self->where == HP_NATIVE) {
        if (!is_stop)
            deliver_natively(self, info, uc);
        return;
    }
    if (is_synchronous(info)) {
        if (number == SEGV && in_cache)
            handle_word_fault(self, mc, &done, info);
        if (done || pass_alignment_check(self, info, mc))
            return;
        if (number == TRAP && self->stepping && (mc->flags & FLAG_TF)) {
            step(self, uc);
            return;
        }
        if (number == TRAP && self->probing &&
            (mc->rip == self->regs.rip || is_within(mc->rip, hp_gates_begin, hp_gates_end)))
            return; /* it comes out of hp_enter(), or a string instruction repeats itself */
        bool native = self->probing;
        if (number == TRAP && native && info->code == 2 /* TRAP_TRACE */) {
            take_registers(&self->regs, mc);
            hp_probe_done(self);
            return_to_engine(uc);
            return;
        }
        if (in_cache || native) {
            fault(self, info, uc);
            return;
        }
        if (is_within(mc->rip, hp_copy_begin, hp_copy_end)) {
            mc->rip = (uint64_t)(uintptr_t)hp_copy_failed;
            return;
        }
        hp_crashed(self, number, mc->rip);
    }
    if (!is_stop) {
        if (self->has_signal) /* cannot be: all are blocked */
            return;
        remember(self, info, uc);
    }
    interrupt(self, uc, is_stop);
}

/* --- Delivering ------------------------------------------------------------------------------- */

static bool is_fatal_by_default(int number)
{
    return number != CHLD && number != CONT && number != STOP && number != TSTP && number != TTIN &&
           number != TTOU && number != URG && number != WINCH;
}

static void set_kernel_action(int number, uint64_t handler, uint64_t flags)
{
    struct action action = {.handler = handler,
                            .flags = flags | SA_RESTORER_,
                            .restorer = (uint64_t)(uintptr_t)hp_restorer,
                            .mask = HP_SIGSET_ALL};
    hp_sys4(SYS_rt_sigaction, number, (long)&action, 0, 8);
}

/* The signal ends the process. */
static _Noreturn void die(struct hp_self *self, int number)
{
    hp_words_finish(self, HP_END_SIGNAL);
    hp_process_add_stats();
    set_kernel_action(number, SIG_DFL_, 0);
    uint64_t none = 0;
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&none, 0, 8);
    hp_sys3(SYS_tgkill, self->process, self->tid, number);
    for (;;)
        hp_sys1(SYS_exit_group, 128 + number);
}

void hp_signals_set_mask(struct hp_self *self)
{
    uint64_t mask = self->mask & ~HP_SIGNALS_SYNC;
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&mask, 0, 8);
}

static bool on_altstack(const struct hp_self *self, uint64_t rsp)
{
    return !(self->altstack.flags & SS_DISABLE_) && rsp > self->altstack.sp &&
           rsp - self->altstack.sp <= self->altstack.size;
}

/* Where the frame goes, and the vector state above it. */
static uint64_t frame_place(const struct hp_self *self, const struct action *action,
                            uint32_t vectors, uint64_t *vectors_at)
{
    uint64_t sp = self->regs.r[RSP] - RED_ZONE;
    if (action->flags & SA_ONSTACK_ && !(self->altstack.flags & SS_DISABLE_) &&
        !on_altstack(self, self->regs.r[RSP]))
        sp = self->altstack.sp + self->altstack.size;
    *vectors_at = (sp - vectors) & ~(uint64_t)63;
    return ((*vectors_at - sizeof(struct frame)) & ~(uint64_t)15) - 8;
}

/* The frame as the kernel makes it. False: there is no room on the program's stack. */
static bool push_frame(struct hp_self *self, const struct action *action, uint64_t old_mask)
{
    struct frame frame;
    uint64_t vectors_at;
    uint32_t size = vectors_size(self->vectors);
    uint64_t place = frame_place(self, action, size, &vectors_at);
    memcpy(&frame.uc, self->context, sizeof frame.uc);
    put_registers(&frame.uc.mc, &self->regs);
    frame.restorer = action->restorer;
    frame.uc.link = 0;
    frame.uc.stack = self->altstack;
    if (on_altstack(self, self->regs.r[RSP]))
        frame.uc.stack.flags |= SS_ONSTACK_;
    frame.uc.mc.fpstate = vectors_at;
    frame.uc.mc.gs = frame.uc.mc.fs = 0;
    frame.uc.mask = old_mask;
    frame.info = self->info;
    if (!hp_put(vectors_at, self->vectors, size) || !hp_put(place, &frame, sizeof frame))
        return false;
    self->regs.r[RSP] = place;
    self->regs.r[RDI] = (uint64_t)self->info.signo;
    self->regs.r[RSI] = place + offsetof(struct frame, info);
    self->regs.r[RDX] = place + offsetof(struct frame, uc);
    self->regs.r[RAX] = 0;
    return true;
}

static void reset_vectors(void)
{
    static _Alignas(64) uint8_t area[4096] = {0};
    area[24] = 0x80; /* MXCSR: 1f80 */
    area[25] = 0x1f;
    hp_reset_vectors(area);
}

void hp_signals_deliver(struct hp_self *self)
{
    int number = self->info.signo;
    struct action action = actions[number];
    bool forced = is_synchronous(&self->info);
    self->has_signal = false;
    uint64_t old_mask = self->mask, mask = self->has_call_mask ? self->call_mask : self->mask;
    self->has_call_mask = false;
    if (action.handler == SIG_IGN_ && !forced) {
        hp_signals_set_mask(self);
        return;
    }
    if (action.handler <= SIG_IGN_ || (forced && mask >> (number - 1) & 1)) {
        if (is_fatal_by_default(number))
            die(self, number);
        hp_signals_set_mask(self);
        return;
    }
    if (self->where != HP_NATIVE)
        hp_words_event(self, hp_word_event(HP_WORD_SIGNAL, (uint32_t)number), NULL, 0);
    if (!push_frame(self, &action, old_mask))
        die(self, SEGV);
    self->mask = mask | action.mask;
    if (!(action.flags & SA_NODEFER_))
        self->mask |= 1ull << (number - 1);
    if (action.flags & SA_RESETHAND_)
        actions[number].handler = SIG_DFL_;
    if (self->altstack.flags & (int32_t)SS_AUTODISARM_)
        self->altstack = (struct hp_altstack){.flags = SS_DISABLE_};
    self->regs.flags &= ~(uint64_t)(FLAG_DF | FLAG_TF | FLAG_RF);
    self->regs.rip = action.handler;
    if (self->where != HP_NATIVE) {
        reset_vectors();
        hp_signals_set_mask(self);
    }
}

/* --- Returning -------------------------------------------------------------------------------- */

void hp_sys_sigreturn(struct hp_self *self)
{
    struct ucontext uc;
    uint64_t at = self->regs.r[RSP];
    if (!hp_copy(&uc, (const void *)at, sizeof uc))
        die(self, SEGV);
    struct frame *frame = (struct frame *)(void *)self->frame;
    uint8_t *vectors = self->frame + 1024;
    uint8_t header[512];
    uint64_t fpstate = uc.mc.fpstate;
    if (fpstate) {
        if (!hp_copy(header, (const void *)fpstate, sizeof header) ||
            !hp_copy(vectors, (const void *)fpstate, vectors_size(header)))
            die(self, SEGV);
        uc.mc.fpstate = (uint64_t)(uintptr_t)vectors;
    }
    hp_words_event(self, hp_word_event(HP_WORD_SIGRETURN, 0), NULL, 0);
    self->mask = uc.mask;
    if (!(uc.stack.flags & SS_ONSTACK_) || !on_altstack(self, uc.mc.rsp))
        self->altstack = uc.stack;
    self->altstack.flags &= ~SS_ONSTACK_;
    self->target = uc.mc.rip;
    uc.mc.rip = (uint64_t)(uintptr_t)hp_gate_resume;
    uc.mc.flags &= ~(uint64_t)FLAG_TF;
    uc.mc.cs = 0x33;
    uc.mc.ss = 0x2b;
    uint64_t size;
    uc.stack = (struct hp_altstack){.sp = (uint64_t)(uintptr_t)hp_thread_altstack(self, &size)};
    uc.stack.size = size;
    uc.mask = uc.mask & ~HP_SIGNALS_SYNC;
    *frame = (struct frame){.uc = uc};
    hp_sigreturn(frame);
}

/* --- System calls ----------------------------------------------------------------------------- */

/* Makes a call of our own in the place of the program's, unless a signal came first. */
static bool call_instead(struct hp_self *self, uint64_t number, uint64_t a, uint64_t b, uint64_t c,
                         uint64_t d, int64_t *result)
{
    struct hp_regs saved = self->regs;
    self->regs.r[RAX] = number;
    self->regs.r[RDI] = a;
    self->regs.r[RSI] = b;
    self->regs.r[RDX] = c;
    self->regs.r[R10] = d;
    bool done = hp_raw_syscall(self);
    *result = (int64_t)self->regs.r[RAX];
    self->regs = saved;
    return done;
}

static void install(int number, const struct action *action)
{
    bool sync = HP_SIGNALS_SYNC >> (number - 1) & 1;
    uint64_t kept = action->flags & (SA_RESTART_ | SA_NOCLDSTOP_ | SA_NOCLDWAIT_);
    if (action->handler > SIG_IGN_ || sync ||
        (action->handler == SIG_DFL_ && is_fatal_by_default(number) && number < 32))
        set_kernel_action(number, (uint64_t)(uintptr_t)hp_handler_entry,
                          kept | SA_SIGINFO_ | SA_ONSTACK_);
    else
        set_kernel_action(number, action->handler, kept);
}

bool hp_sys_sigaction(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint64_t number = r[RDI], new = r[RSI], old = r[RDX];
    struct action action, before;
    int64_t result = 0;
    if (r[R10] != 8 || number < 1 || number > 64 || ((number == KILL || number == STOP) && new)) {
        result = -22;
    } else if (new && !hp_copy(&action, (const void *)new, sizeof action)) {
        result = -14;
    } else {
        while (__atomic_exchange_n(&actions_lock, 1, __ATOMIC_ACQUIRE))
            __builtin_ia32_pause();
        before = actions[number];
        if (new) {
            actions[number] = action;
            actions[number].mask &= ~(1ull << (KILL - 1) | 1ull << (STOP - 1));
            install((int)number, &action);
        }
        __atomic_store_n(&actions_lock, 0, __ATOMIC_RELEASE);
        if (old && !hp_put(old, &before, sizeof before))
            result = -14;
    }
    self->regs.r[RAX] = (uint64_t)result;
    return true;
}

bool hp_sys_sigprocmask(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    uint64_t how = r[RDI], set = 0, mask = self->mask, kernel_mask;
    int64_t result = 0;
    if (r[R10] != 8 || (r[RSI] && how > 2)) {
        result = -22;
    } else if (r[RSI] && !hp_copy(&set, (const void *)r[RSI], 8)) {
        result = -14;
    } else {
        if (r[RSI])
            mask = how == 0 ? mask | set : how == 1 ? mask & ~set : set;
        mask &= ~(1ull << (KILL - 1) | 1ull << (STOP - 1));
        kernel_mask = mask & ~HP_SIGNALS_SYNC;
        if (r[RSI] && !call_instead(self, SYS_rt_sigprocmask, 2, (uint64_t)(uintptr_t)&kernel_mask,
                                    0, 8, &result))
            return false;
        uint64_t before = self->mask;
        self->mask = mask;
        if (r[RDX] && !hp_put(r[RDX], &before, 8))
            result = -14;
    }
    self->regs.r[RAX] = (uint64_t)result;
    return true;
}

bool hp_sys_sigaltstack(struct hp_self *self)
{
    const uint64_t *r = self->regs.r;
    struct hp_altstack new, old = self->altstack;
    int64_t result = 0;
    bool inside = on_altstack(self, r[RSP]);
    if (inside)
        old.flags |= SS_ONSTACK_;
    if (r[RDI]) {
        uint32_t mode = 0;
        if (!hp_copy(&new, (const void *)r[RDI], sizeof new))
            result = -14;
        else if (inside)
            result = -1; /* EPERM */
        else if ((mode = (uint32_t) new.flags & ~SS_AUTODISARM_) > SS_DISABLE_)
            result = -22;
        else if (mode != SS_DISABLE_ && new.size < 2048)
            result = -12; /* ENOMEM */
        else if (mode == SS_DISABLE_)
            self->altstack = (struct hp_altstack){.flags = new.flags};
        else
            self->altstack = new;
        self->altstack.flags &= ~SS_ONSTACK_;
    }
    if (result == 0 && r[RSI] && !hp_put(r[RSI], &old, sizeof old))
        result = -14;
    self->regs.r[RAX] = (uint64_t)result;
    return true;
}

/* --- Starting --------------------------------------------------------------------------------- */

void hp_signals_thread(struct hp_self *self)
{
    struct hp_altstack stack = {0};
    uint64_t size;
    stack.sp = (uint64_t)(uintptr_t)hp_thread_altstack(self, &size);
    stack.size = size;
    hp_sys2(SYS_sigaltstack, (long)&stack, 0);
}

void hp_signals_clear(void)
{
    for (int number = 1; number <= 64; number++)
        if (actions[number].handler > SIG_IGN_) {
            actions[number] = (struct action){.handler = SIG_DFL_};
            install(number, &actions[number]);
        }
}

void hp_signals_start(struct hp_self *self)
{
    hp_sys4(SYS_rt_sigprocmask, 0, 0, (long)&self->mask, 8);
    for (int number = 1; number <= 64; number++) {
        if (number == KILL || number == STOP)
            continue;
        struct action before = {0};
        hp_sys4(SYS_rt_sigaction, number, 0, (long)&before, 8);
        actions[number] = (struct action){.handler = before.handler};
        bool sync = HP_SIGNALS_SYNC >> (number - 1) & 1;
        if (sync || (before.handler == SIG_DFL_ && is_fatal_by_default(number) && number < 32))
            install(number, &actions[number]);
    }
    hp_signals_set_mask(self);
}
