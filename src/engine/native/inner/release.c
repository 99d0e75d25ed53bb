// SPDX-License-Identifier: MIT
/*
 * Letting the process go: from then on it runs as without the engine. Every thread comes to a point
 * where its registers are the program's, and leaves from there by a signal return that the engine
 * prepares: registers, vector state, signal mask and signal stack are switched in one step.
 *
 * A child that borrows its parent's memory (vfork) leaves alone: its parent stays observed.
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/rseq.h"
#include "engine/native/inner/signals_impl.h"
#include "engine/native/inner/sys.h"

#include <linux/prctl.h>

#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u
#define LEGACY_SIZE   512 /* of the vector state: what FXSAVE stores */
#define HEADER_SIZE   64
#define TILES         (3ull << 17) /* the kernel has no room for these before their first use */

_Atomic bool hp_released, hp_releasing;

/* --- The vector state ------------------------------------------------------------------------- */

static uint64_t enabled_features(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* The size of these features' state in the standard format. */
static uint32_t state_size(uint64_t features)
{
    uint32_t size = LEGACY_SIZE + HEADER_SIZE;
    for (uint32_t i = 2; i < 63; i++)
        if (features >> i & 1) {
            uint32_t r[4];
            hp_cpuid(0xd, i, r);
            if (r[1] + r[0] > size)
                size = r[1] + r[0];
        }
    return size;
}

/* The state as the kernel stores it in a signal frame: the bytes that FXSAVE leaves to software say
 * what it contains. */
static void save_state(uint8_t *area)
{
    if (!hp_engine.has_xsave) {
        __asm__ volatile("fxsave64 %0" : "=m"(*(uint8_t(*)[LEGACY_SIZE])area));
        memset(area + 464, 0, 48);
        return;
    }
    uint64_t used, features = enabled_features();
    memset(area, 0, LEGACY_SIZE + HEADER_SIZE);
    hp_save_vectors(area);
    memcpy(&used, area + LEGACY_SIZE, 8);
    features &= ~TILES | used;
    uint32_t size = state_size(features), magic1 = XSTATE_MAGIC1, magic2 = XSTATE_MAGIC2;
    uint32_t whole = size + 4;
    memset(area + 464, 0, 48);
    memcpy(area + 464, &magic1, 4);
    memcpy(area + 468, &whole, 4);
    memcpy(area + 472, &features, 8);
    memcpy(area + 480, &size, 4);
    memcpy(area + size, &magic2, 4);
}

/* --- The last fault --------------------------------------------------------------------------- */

/* Finds a fault that gives this number and error; false: there is none here. */
static bool find_fault(uint64_t number, uint64_t error, enum hp_fault *how)
{
    static const struct {
        uint8_t number, how;
    } known[] = {{0, HP_FAULT_DIVIDE},   {1, HP_FAULT_STEP},      {3, HP_FAULT_BREAK},
                 {4, HP_FAULT_OVERFLOW}, {6, HP_FAULT_UNDEFINED}, {13, HP_FAULT_PROTECTION}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number && error == 0) {
            *how = (enum hp_fault)known[i].how;
            return true;
        }
    return false;
}

void hp_release_fault(const struct hp_self *self)
{
    const uint64_t page_fault = 14, is_write = 2;
    bool writes = self->fault_number == page_fault && self->fault_error & is_write;
    enum hp_fault how;
    if (self->has_signal && is_synchronous(&self->info))
        return;                      /* the last one is the program's */
    uint64_t sync = HP_SIGNALS_SYNC; /* blocked if the engine failed in a handler */
    hp_sys4(SYS_rt_sigprocmask, 1, (long)&sync, 0, 8);
    hp_fault(writes ? HP_FAULT_WRITE : HP_FAULT_READ, self->fault_address);
    if (find_fault(self->fault_number, self->fault_error, &how))
        hp_fault(how, 0);
}

/* --- Leaving ---------------------------------------------------------------------------------- */

/* Discards stop signals sent before the thread left: it does not need them, and the program may
 * have no handler. One of the program's own is sent again. */
static void drop_stops(struct hp_self *self)
{
    uint64_t set = 1ull << (HP_SIGNAL_STOP - 1);
    struct {
        int64_t s, ns;
    } now = {0, 0};
    struct hp_siginfo info;
    while (hp_sys4(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&now, 8) == HP_SIGNAL_STOP)
        if (info.code != HP_STOP_CODE) {
            hp_sys4(SYS_rt_tgsigqueueinfo, self->process, self->tid, HP_SIGNAL_STOP, (long)&info);
            break;
        }
}

void hp_leave(struct hp_self *self)
{
    uint64_t all = HP_SIGSET_ALL;
    self->regs.rip = hp_rseq_leave_at(self, self->regs.rip);
    if (self->has_signal)
        hp_signals_deliver(self);
    hp_words_finish(self, HP_END_DETACHED);
    hp_sys4(SYS_rt_sigprocmask, 2, (long)&all, 0, 8);
    drop_stops(self);
    hp_signals_to_kernel(self, all);
    struct frame *frame = (struct frame *)(void *)self->frame;
    uint8_t *vectors = self->frame + 1024;
    memset(frame, 0, sizeof *frame);
    save_state(vectors);
    frame->uc.flags = hp_engine.has_xsave ? 7 : 6; /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, strict */
    frame->uc.stack = self->altstack;
    frame->uc.mask = self->mask;
    put_registers(&frame->uc.mc, &self->regs);
    frame->uc.mc.cs = USER_CS;
    frame->uc.mc.ss = USER_SS;
    frame->uc.mc.fpstate = (uint64_t)(uintptr_t)vectors;
    atomic_store(&self->where, HP_NATIVE);
    if (self->restricted & HP_RESTRICTED_STRICT && !self->gs_by_call)
        hp_sys2(SYS_prctl, PR_SET_SECCOMP, 1); /* from now on the kernel enforces it */
    hp_sigreturn_native(frame, self->gs_base, self->gs_by_call);
}

static void note_reason(uint64_t pc, const char *why)
{
    struct hp_engine_stats *stats = &hp_engine.arena->stats;
    if (atomic_fetch_add(&stats->detached, 1) > 0)
        return;
    struct hp_arena_record record = {.length = (uint32_t)strlen(why)};
    atomic_store(&stats->detach_reason, hp_arena_add_record(hp_engine.arena, &record, why));
    atomic_store(&stats->detach_address, pc);
}

void hp_release(struct hp_self *self, uint64_t pc, const char *why)
{
    self->regs.rip = pc;
    atomic_store(&self->where, HP_IN_ENGINE);
    note_reason(pc, why);
    hp_lock();
    bool is_traced = hp_is_traced(self);
    if (!atomic_load(&hp_released) && !is_traced)
        hp_release_fault(self);
    if (self->is_vforked) {
        hp_signals_give_back(self);
    } else if (!atomic_load(&hp_released)) {
        atomic_store(&hp_releasing, !is_traced);
        hp_threads_leave_cache(self, 20000, false);
        hp_guards_remove(0, UINT64_MAX);
        if (!is_traced) /* a traced process is checked when it executes another program */
            hp_exec_let_go();
        atomic_store(&hp_released, true);
        hp_signals_give_back(self);
    }
    hp_unlock();
    hp_leave(self);
}

/* --- Failing ---------------------------------------------------------------------------------- */

static _Atomic bool crashed;

void hp_crashed(struct hp_self *self, uint64_t at)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    char text[] = "0x0000000000000000";
    uint64_t offset = at - (uint64_t)(uintptr_t)__ehdr_start;
    for (int i = 0; i < 16; i++)
        text[17 - i] = "0123456789abcdef"[offset >> 4 * i & 15];
    if (self->where != HP_IN_ENGINE || !hp_thread_is_alone(self) ||
        atomic_exchange(&crashed, true)) {
        hp_say("internal error in the native engine; the program is ended", text);
        for (;;)
            hp_sys1(SYS_exit_group, 125);
    }
    hp_say("internal error in the native engine; the program goes on unobserved", text);
    hp_lock_break();
    hp_release(self, self->regs.rip, "an internal error");
}
