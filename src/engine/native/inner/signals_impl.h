// SPDX-License-Identifier: MIT
/*
 * Signals: the kernel's structures, and what catching (signals_catch.c) and delivering (signals.c)
 * share.
 */
#ifndef HP_NATIVE_SIGNALS_IMPL_H
#define HP_NATIVE_SIGNALS_IMPL_H

#include "engine/native/inner/cpu.h"
#include "engine/native/inner/inner.h"

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

#define SI_KERNEL_     0x80
#define TRAP_HARDWARE_ 4

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
    WINCH = 28,
    SYS = 31
};

#define HAS_SS 2u /* UC_SIGCONTEXT_SS */

#define RED_ZONE  128
#define FRAME_MAX 24576

struct action { /* the kernel's struct */
    uint64_t handler, flags, restorer, mask;
};

/* Belongs to a process, or to several that share it (CLONE_SIGHAND). */
struct hp_actions {
    struct action of[65]; /* by number */
    _Atomic uint32_t users, lock;
    struct hp_actions *next;
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

void hp_handler_entry(void); /* gates.S: jumps to hp_handler() */
void hp_handler(int number, struct hp_siginfo *info, struct ucontext *uc, struct hp_self *self);

/* --- Registers -------------------------------------------------------------------------------- */

static inline void take_registers(struct hp_regs *regs, const struct sigcontext *mc)
{
    *regs = (struct hp_regs){.r = {mc->rax, mc->rcx, mc->rdx, mc->rbx, mc->rsp, mc->rbp, mc->rsi,
                                   mc->rdi, mc->r8, mc->r9, mc->r10, mc->r11, mc->r12, mc->r13,
                                   mc->r14, mc->r15},
                             .rip = mc->rip,
                             .flags = mc->flags & ~(uint64_t)(FLAG_TF | FLAG_RF)};
}

static inline void put_registers(struct sigcontext *mc, const struct hp_regs *regs)
{
    const uint64_t *r = regs->r;
    mc->rax = r[RAX], mc->rcx = r[RCX], mc->rdx = r[RDX], mc->rbx = r[RBX];
    mc->rsp = r[RSP], mc->rbp = r[RBP], mc->rsi = r[RSI], mc->rdi = r[RDI];
    mc->r8 = r[R8], mc->r9 = r[R9], mc->r10 = r[R10], mc->r11 = r[R11];
    mc->r12 = r[R12], mc->r13 = r[R13], mc->r14 = r[R14], mc->r15 = r[R15];
    mc->rip = regs->rip;
    mc->flags = regs->flags;
}

/* The size of the vector state in a frame, as the kernel stores it there. */
static inline uint32_t vectors_size(const uint8_t *state)
{
    uint32_t magic, size;
    memcpy(&magic, state + 464, 4);
    memcpy(&size, state + 468, 4);
    return magic == 0x46505853 && size >= 512 && size <= FRAME_MAX ? size : 512;
}

/* Whether it is a single-step trap. Not by its code, which a hypervisor may lose. */
static inline bool is_step_trap(const struct hp_siginfo *info, const struct sigcontext *mc)
{
    return info->signo == TRAP && info->code > 0 && mc->trapno == 1;
}

static inline bool is_synchronous(const struct hp_siginfo *info)
{
    bool could = info->signo == SEGV || info->signo == BUS || info->signo == ILL ||
                 info->signo == FPE || info->signo == TRAP;
    return could && info->code > 0;
}

#endif
