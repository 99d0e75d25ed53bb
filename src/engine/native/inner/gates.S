// SPDX-License-Identifier: MIT
//
// The gates between translated code and the engine's C code, and the few things C cannot express.
//
// Translated code jumps into a gate with the program's registers. The gate saves them in the
// thread's block, switches to the engine's stack and calls C, which never returns: it continues
// with hp_enter(). Vector registers are left alone, C does not use them.
//
// A signal that arrives here is only noted: every path leads to hp_enter, which checks
// HP_AT_PENDING after the last point where a signal can be noted. If one arrives in hp_enter
// itself, hp_enter restarts.

#include "engine/native/inner/layout.h"

        .macro  reg_at name, number, op
        .ifc    \op, save
        movq    %\name, %gs:HP_AT_REGS + 8 * \number
        .else
        movq    %gs:HP_AT_REGS + 8 * \number, %\name
        .endif
        .endm

        // All except rsp and rdi.
        .macro  most_regs op
        reg_at  rax, 0, \op
        reg_at  rcx, 1, \op
        reg_at  rdx, 2, \op
        reg_at  rbx, 3, \op
        reg_at  rbp, 5, \op
        reg_at  rsi, 6, \op
        reg_at  r8, 8, \op
        reg_at  r9, 9, \op
        reg_at  r10, 10, \op
        reg_at  r11, 11, \op
        reg_at  r12, 12, \op
        reg_at  r13, 13, \op
        reg_at  r14, 14, \op
        reg_at  r15, 15, \op
        .endm

        // Those that calls use or change, except rdi.
        .macro  most_regs_of_calls op
        reg_at  rax, 0, \op
        reg_at  rcx, 1, \op
        reg_at  rdx, 2, \op
        reg_at  rbx, 3, \op
        reg_at  rbp, 5, \op
        reg_at  rsi, 6, \op
        reg_at  r8, 8, \op
        reg_at  r9, 9, \op
        reg_at  r10, 10, \op
        reg_at  r11, 11, \op
        .endm

        .macro  gate name, function
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        most_regs save
        reg_at  rdi, 7, save
        reg_at  rsp, 4, save
        movq    %gs:HP_AT_STACK, %rsp
        pushfq
        popq    %gs:HP_AT_FLAGS
        pushq   $2                      // no direction, no alignment check, no single steps
        popfq
        movq    %gs:HP_AT_SELF, %rdi
        call    \function
        ud2
        .size   \name, . - \name
        .endm

        .text
        .globl  hp_gates_begin
        .hidden hp_gates_begin
hp_gates_begin:
        gate    hp_gate_exit, hp_on_exit
        gate    hp_gate_syscall, hp_on_syscall
        gate    hp_gate_resume, hp_on_resume
        gate    hp_gate_far, hp_on_far
        gate    hp_gate_int80, hp_on_int80
        gate    hp_gate_x87, hp_on_x87

        .globl  hp_gate_miss
        .hidden hp_gate_miss
hp_gate_miss:
        movq    %gs:HP_AT_RCX, %rcx
        gate    hp_gate_missed, hp_on_miss

        .globl  hp_gate_slot
        .hidden hp_gate_slot
hp_gate_slot:
        movq    %gs:HP_AT_RCX, %rcx
        gate    hp_gate_slotted, hp_on_slot

        .globl  hp_gate_place
        .hidden hp_gate_place
hp_gate_place:
        movq    %gs:HP_AT_RCX, %rcx
        gate    hp_gate_placed, hp_on_place

        // The kernel sends threads here that it interrupts in a section: see rseq.h.
        .long   0x53053053
        gate    hp_rseq_abort, hp_on_rseq_abort

        // A signal handler returns here (rdi = block) to handle what is pending.
        .globl  hp_gate_pending
        .hidden hp_gate_pending
hp_gate_pending:
        movq    %gs:HP_AT_STACK, %rsp
        pushq   $2
        popfq
        movq    %gs:HP_AT_SELF, %rdi
        call    hp_on_pending
        ud2

        .globl  hp_enter
        .hidden hp_enter
        .type   hp_enter, @function
hp_enter:
        movq    %gs:HP_AT_STACK, %rsp
        cmpl    $0, %gs:HP_AT_PENDING
        jne     hp_gate_pending
        most_regs restore
        reg_at  rdi, 7, restore
        pushq   %gs:HP_AT_FLAGS
        popfq
        reg_at  rsp, 4, restore
        jmp     *%gs:HP_AT_ENTRY
        .size   hp_enter, . - hp_enter
        .globl  hp_enter_end
        .hidden hp_enter_end
hp_enter_end:

        // The same for the program's own code. The last step that needs GS switches to the
        // program's own; from then on everything comes from the engine's stack, and IRET loads
        // flags (perhaps the trap flag: see hp_probe), stack and address at once.
        .globl  hp_enter_native, hp_enter_native_end
        .hidden hp_enter_native, hp_enter_native_end
        .type   hp_enter_native, @function
hp_enter_native:
        movq    %gs:HP_AT_STACK, %rsp
        cmpl    $0, %gs:HP_AT_PENDING
        jne     hp_gate_pending
        pushq   $0x2b                   // SS of user code
        pushq   %gs:HP_AT_REGS + 8 * 4
        pushq   %gs:HP_AT_FLAGS
        pushq   $0x33                   // CS likewise
        pushq   %gs:HP_AT_RIP
        .irp    number, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        pushq   %gs:HP_AT_REGS + 8 * \number
        .endr
        movl    $1, %gs:HP_AT_NATIVE
        movq    %gs:HP_AT_GS_BASE, %rsi
        cmpl    $0, %gs:HP_AT_BY_CALL
        jne     1f
        wrgsbase %rsi
        jmp     2f
1:      movl    $158, %eax              // arch_prctl(ARCH_SET_GS)
        movl    $0x1001, %edi
        syscall
2:      .irp    name, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
        popq    %\name
        .endr
        iretq
        .size   hp_enter_native, . - hp_enter_native
hp_enter_native_end:
        .globl  hp_gates_end
        .hidden hp_gates_end
hp_gates_end:

        // bool hp_raw_syscall(struct hp_self *self): the registers are in the block.
        .globl  hp_raw_syscall
        .hidden hp_raw_syscall
        .type   hp_raw_syscall, @function
hp_raw_syscall:
        .globl  hp_syscall_begin, hp_syscall_insn, hp_syscall_end
        .hidden hp_syscall_begin, hp_syscall_insn, hp_syscall_end
hp_syscall_begin:
        cmpl    $0, %gs:HP_AT_PENDING
        jne     1f
        reg_at  rax, 0, restore
        reg_at  rdi, 7, restore
        reg_at  rsi, 6, restore
        reg_at  rdx, 2, restore
        reg_at  r10, 10, restore
        reg_at  r8, 8, restore
        reg_at  r9, 9, restore
hp_syscall_insn:
        syscall
hp_syscall_end:
        movq    %rax, %gs:HP_AT_REGS
        movl    $1, %eax
        ret
1:      xorl    %eax, %eax
        ret
        .size   hp_raw_syscall, . - hp_raw_syscall

        // int hp_raw_int80(struct hp_self *self): the same; -1: the processor refused.
        .globl  hp_raw_int80
        .hidden hp_raw_int80
        .type   hp_raw_int80, @function
hp_raw_int80:
        .globl  hp_int80_begin, hp_int80_insn, hp_int80_end, hp_int80_failed
        .hidden hp_int80_begin, hp_int80_insn, hp_int80_end, hp_int80_failed
        pushq   %rbx
        pushq   %rbp
hp_int80_begin:
        cmpl    $0, %gs:HP_AT_PENDING
        jne     1f
        most_regs_of_calls restore
        reg_at  rdi, 7, restore
hp_int80_insn:
        int     $0x80
hp_int80_end:
        most_regs_of_calls save         // some kernels clear r8 ... r11
        movl    $1, %eax
        jmp     2f
hp_int80_failed:
        movl    $-1, %eax
        jmp     2f
1:      xorl    %eax, %eax
2:      popq    %rbp
        popq    %rbx
        ret
        .size   hp_raw_int80, . - hp_raw_int80

        // bool hp_copy(void *to, const void *from, uint64_t size)
        .globl  hp_copy, hp_copy_begin, hp_copy_end, hp_copy_failed
        .hidden hp_copy, hp_copy_begin, hp_copy_end, hp_copy_failed
        .type   hp_copy, @function
hp_copy:
        movq    %rdx, %rcx
hp_copy_begin:
        rep movsb
hp_copy_end:
        movl    $1, %eax
        ret
hp_copy_failed:
        xorl    %eax, %eax
        ret
        .size   hp_copy, . - hp_copy

        // void hp_fault(uint64_t how, uint64_t address): makes the processor fault, as enum
        // hp_fault says. A valid address is left unchanged, without a fault.
        .globl  hp_fault, hp_fault_begin, hp_fault_end
        .hidden hp_fault, hp_fault_begin, hp_fault_end
        .type   hp_fault, @function
hp_fault:
        leaq    1f(%rip), %rdx
        movslq  (%rdx, %rdi, 4), %rdi
        addq    %rdi, %rdx
        xorl    %ecx, %ecx
        movl    $1, %eax
hp_fault_begin:
        jmp     *%rdx
2:      cltd
        idivl   %ecx
3:      pushfq
        orl     $0x100, (%rsp)
        popfq
        nop
4:      int3
5:      int     $4
6:      ud2
7:      hlt
8:      movb    (%rsi), %cl
        ret
9:      lock orb $0, (%rsi)
hp_fault_end:
        ret
        .size   hp_fault, . - hp_fault
        .p2align 2
1:      .long   2b - 1b, 3b - 1b, 4b - 1b, 5b - 1b, 6b - 1b, 7b - 1b, 8b - 1b, 9b - 1b

        // long hp_clone(struct hp_clone_call *call): a new thread or a child with its own
        // stack. The child (rax == 0) continues in hp_on_child(self) with the block call->self, on
        // that block's stack. Registers: rdi call.
        //   call: 0 number, 8 a1, 16 a2, 24 a3, 32 a4, 40 a5, 48 self, 56 gs by arch_prctl
        .globl  hp_clone, hp_clone_end
        .hidden hp_clone, hp_clone_end
        .type   hp_clone, @function
hp_clone:
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        movq    48(%rdi), %r12
        movq    56(%rdi), %r13
        movq    0(%rdi), %rax
        movq    16(%rdi), %rsi
        movq    24(%rdi), %rdx
        movq    32(%rdi), %r10
        movq    40(%rdi), %r8
        movq    8(%rdi), %rdi
        syscall
hp_clone_end:
        testq   %rax, %rax
        je      1f
        popq    %r13
        popq    %r12
        popq    %rbx
        ret
1:      movq    HP_AT_STACK(%r12), %rsp
        testq   %r13, %r13
        jne     2f
        wrgsbase %r12
        jmp     3f
2:      movl    $158, %eax              // arch_prctl(ARCH_SET_GS)
        movl    $0x1001, %edi
        movq    %r12, %rsi
        syscall
3:      xorl    %ebp, %ebp
        movq    %r12, %rdi
        call    hp_on_child
        ud2
        .size   hp_clone, . - hp_clone

        // The thread's block is freed here, so there is no stack.
        // void hp_exit_thread(_Atomic uint32_t *in_use, int status)
        .globl  hp_exit_thread, hp_exit_end
        .hidden hp_exit_thread, hp_exit_end
hp_exit_thread:
        movl    %esi, %edx
        movq    %rdi, %rcx
        movl    %edx, %edi
        movl    $60, %eax
        movl    $0, (%rcx)
        syscall
hp_exit_end:
        movl    $60, %eax               // refused by a filter: a call that bypasses it
        syscall
        ud2

        // void hp_sigreturn(void *frame): the state is that after popping the return address.
        .globl  hp_sigreturn, hp_sigreturn_end
        .hidden hp_sigreturn, hp_sigreturn_end
hp_sigreturn:
        leaq    8(%rdi), %rsp
        movl    $15, %eax
        syscall
hp_sigreturn_end:
        ud2

        // long hp_judged_call(number, a, b, c, d, e)
        .globl  hp_judged_call, hp_judged_end
        .hidden hp_judged_call, hp_judged_end
        .type   hp_judged_call, @function
hp_judged_call:
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        movq    %r8, %r10
        movq    %r9, %r8
        syscall
hp_judged_end:
        ret
        .size   hp_judged_call, . - hp_judged_call

        // Signals enter here, on the stack in the thread's block, so the block is found whatever GS
        // is. The kernel does not clear the alignment check, nor the flags that a signal return
        // does not restore: those are kept.
        .globl  hp_handler_entry
        .hidden hp_handler_entry
hp_handler_entry:
        pushfq
        andq    $HP_KEPT_FLAGS, (%rsp)
        popfq
        movq    %rsp, %rcx
        andq    $-HP_BLOCK_SIZE, %rcx
        jmp     hp_handler

        // The engine's own signal handler returns here.
        .globl  hp_restorer
        .hidden hp_restorer
hp_restorer:
        movl    $15, %eax
        syscall
        ud2

        // void hp_reset_vectors(const void *area): sets a program's initial state. 64-byte aligned.
        .globl  hp_reset_vectors
        .hidden hp_reset_vectors
hp_reset_vectors:
        xorl    %ecx, %ecx
        xgetbv                          // all enabled features
        xrstor64 (%rdi)
        ret

        // void hp_save_vectors(void *area): all enabled features. 64-byte aligned, its header zero.
        .globl  hp_save_vectors
        .hidden hp_save_vectors
hp_save_vectors:
        movl    $-1, %eax
        movl    $-1, %edx
        xsave64 (%rdi)
        ret

        // void hp_sigreturn_native(void *frame, uint64_t gs, uint64_t by_call): the same
        // as hp_sigreturn, with the program's GS. All signals are blocked.
        .globl  hp_sigreturn_native
        .hidden hp_sigreturn_native
hp_sigreturn_native:
        leaq    8(%rdi), %rsp
        testq   %rdx, %rdx
        jne     1f
        wrgsbase %rsi
        jmp     2f
1:      movl    $158, %eax              // arch_prctl(ARCH_SET_GS)
        movl    $0x1001, %edi
        syscall
2:      movl    $15, %eax
        syscall
        ud2

        .globl  _start
        .type   _start, @function
_start:
        xorl    %ebp, %ebp
        movq    %rsp, %rdi
        leaq    _DYNAMIC(%rip), %rsi
        leaq    start_stack_top(%rip), %rsp // the initial stack is the program's
        call    hp_main
        ud2
        .size   _start, . - _start
        .hidden _DYNAMIC
        .local  start_stack
        .comm   start_stack, 0x20000, 64
        .set    start_stack_top, start_stack + 0x20000
        .section .note.GNU-stack, "", @progbits
