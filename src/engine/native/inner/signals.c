// SPDX-License-Identifier: MIT
/*
 * Delivering signals: a caught signal (signals_catch.c) gets a frame like the kernel's on the
 * program's stack, and the program's handler runs next. Also the system calls about signals.
 */
#include "engine/native/inner/signals_impl.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/x87.h"
#include "hotpath/stream.h"

#define STACK_MIN 2048 /* minimum size of a signal stack, on any processor */

/* --- Signal actions of a process -------------------------------------------------------------- */

static struct hp_actions first_actions;
static struct hp_actions *all_actions = &first_actions; /* never freed, only reused */

static struct hp_actions *unused_actions(void)
{
    for (struct hp_actions *a = __atomic_load_n(&all_actions, __ATOMIC_ACQUIRE); a; a = a->next) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&a->users, &expected, 1))
            return a;
    }
    struct hp_actions *new = hp_pages(sizeof *new);
    if (!new)
        return NULL;
    new->users = 1;
    new->next = __atomic_load_n(&all_actions, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_actions, &new->next, new, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return new;
}

static void lock_actions(struct hp_actions *actions)
{
    while (atomic_exchange(&actions->lock, 1))
        __builtin_ia32_pause();
}

static void unlock_actions(struct hp_actions *actions)
{
    atomic_store(&actions->lock, 0);
}

struct hp_actions *hp_actions_for_child(struct hp_actions *parent, bool shared)
{
    if (shared) {
        atomic_fetch_add(&parent->users, 1);
        return parent;
    }
    struct hp_actions *copy = unused_actions();
    if (copy) {
        lock_actions(parent);
        memcpy(copy->of, parent->of, sizeof copy->of);
        unlock_actions(parent);
        copy->lock = 0;
    }
    return copy;
}

void hp_actions_drop(struct hp_actions *actions)
{
    atomic_fetch_sub(&actions->users, 1);
}

void hp_actions_after_fork(struct hp_actions *mine)
{
    for (struct hp_actions *a = all_actions; a; a = a->next)
        a->users = a == mine;
    mine->lock = 0;
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

/* Whether the engine catches the signal because it kills the program: to write its last words. */
static bool is_awaited(int number)
{
    return is_fatal_by_default(number) && number < 32 && !hp_engine.leaves_fatal;
}

static void install(int number, const struct action *action)
{
    bool sync = HP_SIGNALS_SYNC >> (number - 1) & 1;
    uint64_t kept = action->flags & (SA_RESTART_ | SA_NOCLDSTOP_ | SA_NOCLDWAIT_);
    if (action->handler > SIG_IGN_ || sync || (action->handler == SIG_DFL_ && is_awaited(number)))
        set_kernel_action(number, (uint64_t)(uintptr_t)hp_handler_entry,
                          kept | SA_SIGINFO_ | SA_ONSTACK_);
    else
        set_kernel_action(number, action->handler, kept);
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
    hp_signals_let_go_held(self);
}

static bool on_altstack(const struct hp_self *self, uint64_t rsp)
{
    return !(self->altstack.flags & SS_DISABLE_) && rsp > self->altstack.sp &&
           rsp - self->altstack.sp <= self->altstack.size;
}

/* Where the frame goes, with the vector state above it. 0: no room on the signal stack. */
static uint64_t frame_place(const struct hp_self *self, const struct action *action,
                            uint32_t vectors, uint64_t *vectors_at)
{
    uint64_t sp = self->regs.r[RSP] - RED_ZONE;
    bool on_alternate = on_altstack(self, self->regs.r[RSP]);
    if (action->flags & SA_ONSTACK_ && !(self->altstack.flags & SS_DISABLE_) && !on_alternate) {
        sp = self->altstack.sp + self->altstack.size;
        on_alternate = true;
    }
    *vectors_at = (sp - vectors) & ~(uint64_t)63;
    uint64_t place = ((*vectors_at - sizeof(struct frame)) & ~(uint64_t)15) - 8;
    return on_alternate && !on_altstack(self, place) ? 0 : place;
}

/* The kernel reports the thread's last fault in every frame. Hides the engine's own faults. */
static void tell_fault(struct hp_self *self, struct sigcontext *mc)
{
    if (is_synchronous(&self->info)) {
        self->fault_error = mc->err;
        self->fault_number = mc->trapno;
        if (mc->trapno == 14) /* a page fault */
            self->fault_address = mc->cr2;
    }
    mc->err = self->fault_error;
    mc->trapno = self->fault_number;
    mc->cr2 = self->fault_address;
}

/* Pushes a frame like the kernel's. False: no room on the program's stack. */
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
    tell_fault(self, &frame.uc.mc);
    frame.uc.mask = old_mask;
    frame.info = self->info;
    hp_x87_correct_frame(self, self->vectors);
    if (!place || !hp_put(vectors_at, self->vectors, size) || !hp_put(place, &frame, sizeof frame))
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
    if (hp_engine.has_xsave)
        hp_reset_vectors(area);
    else
        __asm__ volatile("fninit; ldmxcsr %0" : : "m"(area[24]));
}

/* SA_RESETHAND: resets to the default. */
static void reset_action(struct hp_self *self, int number)
{
    lock_actions(self->actions);
    struct action *action = &self->actions->of[number];
    action->handler = SIG_DFL_;
    install(number, action);
    unlock_actions(self->actions);
}

void hp_signals_die(struct hp_self *self, int number)
{
    die(self, number);
}

bool hp_signals_force(struct hp_self *self, const struct hp_siginfo *info)
{
    uint64_t bit = 1ull << (info->signo - 1), others = HP_SIGSET_ALL & ~(HP_SIGNALS_SYNC | bit);
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&others, 0, 8);
    if (atomic_load(&self->pending)) {
        if (!self->has_signal)
            hp_signals_set_mask(self);
        return false;
    }
    if (self->mask & bit || self->actions->of[info->signo].handler <= SIG_IGN_)
        die(self, info->signo);
    hp_sys4(SYS_rt_tgsigqueueinfo, self->process, self->tid, info->signo, (long)info);
    return true;
}

void hp_signals_deliver(struct hp_self *self)
{
    int number = self->info.signo;
    struct action action = self->actions->of[number];
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
    hp_words_event(self, hp_word_event(HP_WORD_SIGNAL, (uint32_t)number), NULL, 0);
    if (!push_frame(self, &action, old_mask)) {
        if (number == SEGV)
            die(self, SEGV);
        self->info = (struct hp_siginfo){.signo = SEGV, .code = SI_KERNEL_};
        hp_signals_deliver(self);
        return;
    }
    self->mask = mask | action.mask;
    if (!(action.flags & SA_NODEFER_))
        self->mask |= 1ull << (number - 1);
    if (action.flags & SA_RESETHAND_)
        reset_action(self, number);
    if (self->altstack.flags & (int32_t)SS_AUTODISARM_)
        self->altstack = (struct hp_altstack){.flags = SS_DISABLE_};
    self->regs.flags &= ~(uint64_t)(FLAG_DF | FLAG_TF | FLAG_RF);
    self->regs.rip = action.handler;
    reset_vectors();
    hp_signals_set_mask(self);
}

/* --- Returning -------------------------------------------------------------------------------- */

void hp_sys_sigreturn(struct hp_self *self)
{
    struct ucontext uc;
    uint64_t at = self->regs.r[RSP];
    if (!hp_copy(&uc, (const void *)at, sizeof uc))
        die(self, SEGV);
    if (uc.mc.cs != USER_CS || (uc.flags & HAS_SS && uc.mc.ss != USER_SS))
        hp_release(self, self->regs.rip - HP_SYSCALL_LENGTH,
                   "a signal returns to other than 64-bit code");
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
    self->resume_flags = (uc.mc.flags & FLAG_TF) | (self->regs.flags & HP_KEPT_FLAGS);
    uc.mc.rip = (uint64_t)(uintptr_t)hp_gate_resume;
    uc.mc.flags &= ~(uint64_t)FLAG_TF;
    uc.mc.cs = USER_CS;
    uc.mc.ss = USER_SS;
    uint64_t size;
    uc.stack = (struct hp_altstack){.sp = (uint64_t)(uintptr_t)hp_thread_altstack(self, &size)};
    uc.stack.size = size;
    uc.mask = uc.mask & ~HP_SIGNALS_SYNC;
    *frame = (struct frame){.uc = uc};
    hp_sigreturn(frame);
}

/* --- System calls ----------------------------------------------------------------------------- */

/* Makes our own call in place of the program's, unless a signal came first. */
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
        lock_actions(self->actions);
        before = self->actions->of[number];
        if (new) {
            action.mask &= ~(1ull << (KILL - 1) | 1ull << (STOP - 1));
            self->actions->of[number] = action;
            install((int)number, &action);
        }
        unlock_actions(self->actions);
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
        hp_signals_let_go_held(self);
        if (r[RDX] && !hp_put(r[RDX], &before, 8))
            result = -14;
    }
    self->regs.r[RAX] = (uint64_t)result;
    return true;
}

/* Sets the size of the kernel's signal stack and blocks all signals, or (0) restores the engine's
 * size and the mask `mask`. Returns the kernel's result. */
static long set_stack_size(struct hp_self *self, uint64_t size, uint64_t *mask)
{
    uint64_t all = HP_SIGSET_ALL, own;
    struct hp_altstack stack = {.sp = (uint64_t)(uintptr_t)hp_thread_altstack(self, &own)};
    stack.size = size ? size : own;
    if (size)
        hp_sys4(SYS_rt_sigprocmask, 2, (long)&all, (long)mask, 8);
    long result = hp_sys2(SYS_sigaltstack, (long)&stack, 0);
    if (!size)
        hp_sys4(SYS_rt_sigprocmask, 2, (long)mask, 0, 8);
    return result;
}

/* Whether a stack of this size is enough. Only the kernel knows what for (vector state that the
 * program has requested). */
static bool is_enough(struct hp_self *self, uint64_t size)
{
    uint64_t mask;
    if (size >= hp_engine.stack_for_signals || size < STACK_MIN)
        return size >= STACK_MIN;
    long result = set_stack_size(self, size, &mask);
    set_stack_size(self, 0, &mask);
    return result == 0;
}

bool hp_sys_permit_state(struct hp_self *self)
{
    uint64_t least = 0, mask;
    for (const struct hp_self *t = hp_threads; t; t = t->next_thread)
        if (t->in_use && t->process == self->process && !(t->altstack.flags & SS_DISABLE_) &&
            (!least || t->altstack.size < least))
            least = t->altstack.size;
    if (!least || least >= hp_engine.stack_for_signals)
        return hp_raw_syscall(self);
    set_stack_size(self, least, &mask);
    bool done = hp_raw_syscall(self);
    set_stack_size(self, 0, &mask);
    return done;
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
        else if (mode != SS_DISABLE_ && !is_enough(self, new.size))
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

void hp_signals_clear(struct hp_self *self)
{
    struct action *actions = self->actions->of;
    for (int number = 1; number <= 64; number++)
        if (actions[number].handler > SIG_IGN_) {
            actions[number] = (struct action){.handler = SIG_DFL_};
            install(number, &actions[number]);
        }
}

void hp_signals_leave_fatal(struct hp_self *self)
{
    if (hp_engine.leaves_fatal)
        return;
    hp_engine.leaves_fatal = true;
    lock_actions(self->actions);
    for (int number = 1; number < 32; number++)
        if (number != KILL && number != STOP && self->actions->of[number].handler == SIG_DFL_)
            install(number, &self->actions->of[number]);
    unlock_actions(self->actions);
}

/*
 * The engine's own signal in a process that was let go: it may have been in flight. One of the
 * program's goes to its handler. The stack and GS are the program's here.
 */
static uint64_t late_handler; /* the program's, for this signal */

static void on_late_stop(int number, struct hp_siginfo *info, struct ucontext *uc)
{
    uint64_t handler = late_handler;
    if (info->code == HP_STOP_CODE || handler == SIG_IGN_)
        return;
    if (handler != SIG_DFL_) {
        ((void (*)(int, struct hp_siginfo *, struct ucontext *))handler)(number, info, uc);
        return;
    }
    set_kernel_action(number, SIG_DFL_, 0);
    hp_sys2(SYS_tkill, hp_sys1(SYS_gettid, 0), number);
}

void hp_signals_give_back(const struct hp_self *self)
{
    const struct action *actions = self->actions->of;
    for (int number = 1; number <= 64; number++)
        if (number != HP_SIGNAL_STOP || self->is_vforked)
            hp_sys4(SYS_rt_sigaction, number, (long)&actions[number], 0, 8);
    if (self->is_vforked)
        return; /* it gets no stop signals */
    const struct action *stop = &actions[HP_SIGNAL_STOP];
    late_handler = stop->handler;
    set_kernel_action(HP_SIGNAL_STOP, (uint64_t)(uintptr_t)on_late_stop, stop->flags | SA_SIGINFO_);
}

void hp_signals_start(struct hp_self *self)
{
    self->actions = &first_actions;
    first_actions.users = 1;
    struct action *actions = first_actions.of;
    hp_sys4(SYS_rt_sigprocmask, 0, 0, (long)&self->mask, 8);
    for (int number = 1; number <= 64; number++) {
        if (number == KILL || number == STOP)
            continue;
        struct action before = {0};
        hp_sys4(SYS_rt_sigaction, number, 0, (long)&before, 8);
        actions[number] = (struct action){.handler = before.handler};
        bool sync = HP_SIGNALS_SYNC >> (number - 1) & 1;
        if (sync || (before.handler == SIG_DFL_ && is_awaited(number)))
            install(number, &actions[number]);
    }
    hp_signals_set_mask(self);
}
