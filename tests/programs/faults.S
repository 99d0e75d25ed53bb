// SPDX-License-Identifier: MIT
/*
 * Faults repaired by their handler, where it is hardest to tell that an instruction is run again:
 * at the start of a loop of one block, on both sides of the end of a page, and at the jump that
 * ends a block.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $13, %eax               # rt_sigaction
        mov     $11, %edi               # SIGSEGV
        lea     action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        mov     $2, %ebx
again:                                  # twice
        lea     pages(%rip), %rdi
        mov     $0x8000, %esi
        call    protect
        lea     pages(%rip), %rdi
        call    loop_fault              # 8 faults
        lea     pages(%rip), %rdi
        call    loop_fault              # none
        lea     pages(%rip), %rdi
        mov     $0x8000, %esi
        call    protect
        lea     pages(%rip), %rdi
        call    cross_fault             # 2
        lea     table(%rip), %rdi
        mov     $0x1000, %esi
        call    protect
        call    jump_fault              # 1
        dec     %ebx
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .type protect, @function
protect:                                # mprotect(rdi, rsi, PROT_NONE): 4
        xor     %edx, %edx
        mov     $10, %eax
        syscall
        ret
        .size   protect, . - protect

        .type on_fault, @function
on_fault:                               # 7: makes the page at si_addr writable
        mov     16(%rsi), %rdi
        and     $-4096, %rdi
        mov     $4096, %esi
        mov     $3, %edx
        mov     $10, %eax
        syscall
        ret
        .size   on_fault, . - on_fault

        .type restore, @function
restore:                                # 2
        mov     $15, %eax               # rt_sigreturn
        syscall
        .size   restore, . - restore

        .type loop_fault, @function
loop_fault:                             # 1 + 8 * 4 + 1
        mov     $8, %ecx
1:      movb    $1, (%rdi)
        lea     4096(%rdi), %rdi
        dec     %ecx
        jnz     1b
        ret
        .size   loop_fault, . - loop_fault

        .type jump_fault, @function
jump_fault:                             # 4, and goes on to leaf
        lea     table(%rip), %rdi
        jmp     1f
1:      nop
        jmp     *(%rdi)
        .size   jump_fault, . - jump_fault

        .type leaf, @function
leaf:                                   # 1
        ret
        .size   leaf, . - leaf

        .p2align 12, 0xcc
        .skip   4096 - 7, 0xcc
        .type cross_fault, @function
cross_fault:                            # 8
        nop
        nop
        movb    $1, (%rdi)
        nop
        nop                             # the page ends here
        movb    $1, 4096(%rdi)
        nop
        ret
        .size   cross_fault, . - cross_fault

        .data
        .p2align 12
table:  .quad   leaf
        .skip   4096 - 8
action: .quad   on_fault
        .quad   0x04000004              # SA_SIGINFO | SA_RESTORER
        .quad   restore
        .quad   0
        .bss
        .p2align 12
pages:  .skip   0x8000
        .section .note.GNU-stack,"",@progbits
