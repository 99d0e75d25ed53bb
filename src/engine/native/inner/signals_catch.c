// SPDX-License-Identifier: MIT
/*
 * Catching signals. The kernel calls hp_handler(), on a stack of the engine's, for every signal
 * that the program handles or that would end it, and for those raised by instructions. The handler
 * only records the signal, blocks further ones, and brings the thread to a point where its
 * registers are the program's. It continues there in hp_on_pending().
 */
#include "engine/native/inner/cache.h"
#include "engine/native/inner/decode.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/rseq.h"
#include "engine/native/inner/signals_impl.h"
#include "engine/native/inner/sys.h"

/* --- Catching --------------------------------------------------------------------------------- */

static bool is_within(uint64_t pc, const char *low, const char *high)
{
    return pc >= (uint64_t)(uintptr_t)low && pc < (uint64_t)(uintptr_t)high;
}

/* Records the executed part of a segment that was left in the middle. */
static void record_part(struct hp_self *self, const struct hp_seg *seg, const struct hp_spot *spot)
{
    const struct hp_cached_piece *piece = &hp_pieces[seg->first_piece + spot->piece];
    if (self->counting) {
        hp_paths_at(self, piece->prefix, piece->id,
                    spot->insns < piece->insns ? spot->insns : HP_UNCUT);
        hp_paths_hand_over(self);
        return;
    }
    hp_words_arrived(self, spot->pc);
    if (spot->insns >= piece->insns)
        hp_words_ran(self, piece->id, false, spot->pc);
    else if (spot->insns > 0 || hp_engine.mode != HP_RECORD_COUNT ||
             (spot->piece > 0 && !piece->first && piece[-1].taken == HP_WENT_BY))
        hp_words_ran_part(self, piece->id, spot->insns); /* also says where the transfer went */
    else if (spot->piece > 0 && !piece->first)
        hp_words_ran(self, piece[-1].id, piece[-1].taken != HP_WENT_ON, spot->pc);
}

/* Leaves the cache if the interrupted instruction is known and has had no effect (or it failed,
 * `failed`). The registers go to self->regs; the handler returns to the engine. */
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
    if (spot.biased)
        self->regs.r[RSI] -= self->gs_base;
    self->address += spot.addresses;
    self->address_seen = NULL;
    record_part(self, &hp_segs[segment], &spot);
    return true;
}

/* Makes the handler return into the engine: hp_on_pending() continues with self->regs. */
static void return_to_engine(struct ucontext *uc)
{
    uc->mc.rip = (uint64_t)(uintptr_t)hp_gate_pending;
    uc->mc.cs = USER_CS; /* the fault may have been in other code */
    uc->mc.ss = USER_SS;
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

/* Returns a caught signal to the kernel: another must be delivered first. */
static void send_again(struct hp_self *self)
{
    hp_sys4(SYS_rt_tgsigqueueinfo, self->process, self->tid, self->info.signo, (long)&self->info);
}

static void remember(struct hp_self *self, const struct hp_siginfo *info, const struct ucontext *uc)
{
    if (self->has_signal)
        send_again(self);
    self->has_signal = true;
    self->info = *info;
    if (info->signo == SYS && info->code == 1 /* SYS_SECCOMP */ && self->where == HP_IN_ENGINE)
        self->info.address = self->regs.rip; /* the program's call, not ours */
    memcpy(self->context, uc, sizeof *uc);
    keep_vectors(self, uc);
}

/* Something must be done before the program continues: brings the thread to hp_on_pending(), now or
 * as soon as it leaves what it is in. */
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
    } else if (is_within(mc->rip, (const char *)hp_enter_native, hp_enter_native_end)) {
        mc->rip = (uint64_t)(uintptr_t)hp_enter_native;
    } else if (is_within(mc->rip, hp_syscall_begin, hp_syscall_insn + 1)) {
        mc->rip = (uint64_t)(uintptr_t)hp_syscall_begin;
    } else if (is_stop && mc->rip == (uint64_t)(uintptr_t)hp_syscall_end &&
               (int64_t)mc->rax == -4) {
        mc->rip = (uint64_t)(uintptr_t)hp_syscall_begin; /* ours, not the program's: retry */
    } else if (is_within(mc->rip, hp_int80_begin, hp_int80_insn + 1) ||
               (is_stop && mc->rip == (uint64_t)(uintptr_t)hp_int80_end &&
                (int32_t)mc->rax == -4)) {
        mc->rip = (uint64_t)(uintptr_t)hp_int80_begin;
    }
}

/* The program checks the alignment of its accesses, and a landing reads the target at an odd
 * address: makes one step without the check. */
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

/* One step towards a point where the cache can be left. */
static void step(struct hp_self *self, struct ucontext *uc)
{
    if (self->has_signal)
        keep_vectors(self, uc);      /* an instruction of the program may have run since */
    if (!hp_cache_has(uc->mc.rip)) { /* a gate: leads to hp_enter() */
        self->stepping = false;
        uc->mc.flags &= ~(uint64_t)FLAG_TF;
        if (is_within(uc->mc.rip, (const char *)hp_enter, hp_enter_end))
            uc->mc.rip = (uint64_t)(uintptr_t)hp_enter;
    } else if (leave_cache(self, &uc->mc, false)) {
        self->stepping = false;
        return_to_engine(uc);
    } else {
        uc->mc.flags |= FLAG_TF; /* POPF has cleared it */
    }
}

/* A write was stopped, perhaps by a guard that another thread has lifted since: it is retried once
 * for every lifted guard. */
static bool may_succeed_now(struct hp_self *self)
{
    uint64_t lifted = atomic_load(&hp_guards_lifted);
    bool again = lifted != self->lifted_seen;
    self->lifted_seen = lifted;
    return again;
}

/* Takes the registers after an instruction that was run natively, or could not be. */
static void take_native(struct hp_self *self, const struct sigcontext *mc)
{
    if (is_within(mc->rip, hp_gates_begin, hp_gates_end))
        return; /* it was not reached: no such address */
    take_registers(&self->regs, mc);
    self->regs.flags |= mc->flags & FLAG_TF;
}

/* Whether it is our HLT before a POPF, and not one of the program. */
static bool is_our_halt(uint64_t at)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)at;
    return code[0] == HP_X86_HLT && code[-2] == 0x74 && code[-1] == 1 &&
           (code[1] == HP_X86_POPF || code[2] == HP_X86_POPF);
}

/* An instruction of the program faulted. */
static void fault(struct hp_self *self, const struct hp_siginfo *info, struct ucontext *uc)
{
    uint64_t at = uc->mc.rip;
    bool is_write = info->signo == SEGV && uc->mc.err & 2;    /* the page need not be present */
    bool guarded = is_write && hp_guards_have(info->address); /* read once: it may change */
    bool in_pop_flags = !self->probing && is_our_halt(at);
    if (is_write && !guarded && may_succeed_now(self))
        return;
    if (self->probing) {
        take_native(self, &uc->mc);
        hp_probe_done(self, true);
    } else if (!leave_cache(self, &uc->mc, true)) {
        hp_say("internal error: a stub failed", NULL);
        hp_sys1(SYS_exit_group, 125);
    }
    if (guarded) {
        self->has_write = true;
        self->write_address = info->address;
    } else if (in_pop_flags) {
        self->has_trap_flag = true;
    } else {
        remember(self, info, uc);
        if (self->info.address == at && info->signo != SEGV && info->signo != BUS)
            self->info.address = self->regs.rip;
    }
    atomic_store(&self->pending, 1);
    return_to_engine(uc);
}

/* An instruction in an rseq section faulted, and the kernel has aborted the section. */
static void fault_in_section(struct hp_self *self, const struct hp_siginfo *info,
                             struct ucontext *uc)
{
    static const uint8_t store[] = {0xc7, 0x01}; /* of a word: see hp_words_fault() */
    struct hp_spot spot = {0};
    struct hp_regs regs;
    if (info->signo == SEGV && hp_words_fault(self, info->address, store, regs.r))
        return;
    if (info->signo == SEGV && uc->mc.err & 2 && hp_guards_have(info->address)) {
        self->has_write = true;
        self->write_address = info->address;
        return;
    }
    remember(self, info, uc);
    uint32_t segment = hp_cache_segment_at(info->address);
    if (segment && info->signo != SEGV && info->signo != BUS) {
        hp_locate(segment, info->address, &spot);
        self->info.address = spot.pc;
    }
    uc->mask = HP_SIGSET_ALL & ~HP_SIGNALS_SYNC;
    atomic_store(&self->pending, 1);
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

/* A call has pushed its return address, but the shadow stack has no room for it: the thread hands
 * over, and arrives at the called function in words. */
static void shadow_fault(struct hp_self *self, struct ucontext *uc)
{
    uint32_t segment = hp_cache_segment_at(uc->mc.rip);
    struct hp_spot spot = {0};
    hp_locate(segment, uc->mc.rip, &spot);
    const struct hp_cached_piece *piece = &hp_pieces[hp_segs[segment].first_piece + spot.piece];
    take_registers(&self->regs, &uc->mc);
    if (spot.rcx_saved)
        self->regs.r[RCX] = self->rcx;
    self->regs.rip = hp_paths_called(self, piece);
    hp_paths_at(self, piece->prefix, piece->id, HP_UNCUT);
    hp_paths_hand_over(self);
    atomic_store(&self->pending, 1);
    return_to_engine(uc);
}

/* An instruction was run natively, or one iteration of a repeated one: it counts when complete. If
 * the program single-steps itself, the trap is its own. */
static void probed(struct hp_self *self, const struct hp_siginfo *info, struct ucontext *uc)
{
    bool repeats = uc->mc.rip == self->regs.rip && uc->mc.rcx != self->regs.r[RCX];
    take_native(self, &uc->mc);
    bool is_programs = self->probe_is_step;
    hp_probe_done(self, repeats);
    if (is_programs)
        remember(self, info, uc);
    atomic_store(&self->pending, 1);
    return_to_engine(uc);
}

/* The kernel rejected what rt_sigreturn was to restore: the fault is at its target. */
static void fail_sigreturn(struct hp_self *self, const struct hp_siginfo *info, struct ucontext *uc)
{
    take_registers(&self->regs, &uc->mc);
    self->regs.rip = self->target;
    remember(self, info, uc);
    atomic_store(&self->pending, 1);
    return_to_engine(uc);
}

/* A fault raised by hp_fault(). */
static void end_fault(struct sigcontext *mc)
{
    mc->rip = (uint64_t)(uintptr_t)hp_fault_end;
    mc->flags &= ~(uint64_t)FLAG_TF;
}

/*
 * A hardware breakpoint, set by a debugger: reported after the instruction that hit it. Other
 * breakpoints are at addresses of the program's code and are hit only when it runs natively: the
 * process is let go. A hit while the engine reads for the kernel is not the program's.
 */
static void meet_breakpoint(struct hp_self *self, const struct hp_siginfo *info,
                            struct ucontext *uc)
{
    if (!hp_cache_has(uc->mc.rip))
        return;
    self->has_breakpoint = true;
    remember(self, info, uc);
    interrupt(self, uc, false);
}

/* A signal raised by an instruction: the program's, in the cache or natively, or ours. */
static void catch_synchronous(struct hp_self *self, struct hp_siginfo *info, struct ucontext *uc)
{
    struct sigcontext *mc = &uc->mc;
    bool in_cache = hp_cache_has(mc->rip), done = false;
    if (info->signo == SEGV && in_cache)
        handle_word_fault(self, mc, &done, info);
    if (done || pass_alignment_check(self, info, mc))
        return;
    if (info->signo == SEGV && in_cache && hp_paths_is_full(self, info->address))
        shadow_fault(self, uc);
    else if (self->stepping && is_step_trap(info, mc))
        step(self, uc);
    else if (self->probing && is_step_trap(info, mc) && mc->rip == self->regs.rip &&
             !self->probe_is_step && !atomic_load(&self->pending))
        return; /* a repeated string instruction */
    else if (self->probing && is_step_trap(info, mc))
        probed(self, info, uc);
    else if (is_step_trap(info, mc) && info->code == TRAP_HARDWARE_ && !self->probing)
        meet_breakpoint(self, info, uc);
    else if (in_cache || self->probing)
        fault(self, info, uc);
    else if (is_within(mc->rip, hp_copy_begin, hp_copy_end))
        mc->rip = (uint64_t)(uintptr_t)hp_copy_failed;
    else if (is_within(mc->rip, hp_fault_begin, hp_fault_end))
        end_fault(mc);
    else if (mc->rip == (uint64_t)(uintptr_t)hp_int80_insn)
        mc->rip = (uint64_t)(uintptr_t)hp_int80_failed;
    else if (mc->rip == (uint64_t)(uintptr_t)hp_rseq_abort)
        fault_in_section(self, info, uc);
    else if (mc->rip == (uint64_t)(uintptr_t)hp_gate_resume)
        fail_sigreturn(self, info, uc);
    else
        hp_crashed(self, mc->rip);
}

/* The program's system call is being made: a signal forced by the kernel is not an
 * instruction's. */
static bool is_in_call(const struct sigcontext *mc)
{
    return is_within(mc->rip, hp_syscall_insn, hp_syscall_end + 1);
}

static void catch_any(struct hp_self *self, struct hp_siginfo *info, struct ucontext *uc)
{
    bool is_stop = info->signo == HP_SIGNAL_STOP && info->code == HP_STOP_CODE;
    if (is_synchronous(info) && !is_in_call(&uc->mc)) {
        catch_synchronous(self, info, uc);
        return;
    }
    bool is_for_later = is_stop || hp_signals_hold(self, info);
    if (!is_for_later)
        remember(self, info, uc);
    interrupt(self, uc, is_for_later);
}

void hp_handler(int number, struct hp_siginfo *info, struct ucontext *uc, struct hp_self *self)
{
    bool was_native = self->native_gs, was_inside;
    if (hp_rseq_is_abort(uc->mc.rip))
        uc->mc.rip = (uint64_t)(uintptr_t)hp_rseq_abort;
    was_inside = is_within(uc->mc.rip, hp_gates_begin, hp_gates_end);
    (void)number;
    if (was_native) {
        if (!was_inside) /* the instruction may have changed it */
            self->gs_base = hp_thread_gs(self);
        self->native_gs = 0;
        hp_thread_adopt(self);
    }
    catch_any(self, info, uc);
    if (was_native && !was_inside && self->probing) {
        self->native_gs = 1;
        hp_thread_give_gs(self);
    }
}
