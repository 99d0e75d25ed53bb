// SPDX-License-Identifier: MIT
/*
 * Two addresses, and then a loop of 16 million blocks without any, each of which an engine shows with a
 * word of its own: it ends with an indirect jump.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        push    $1
        pop     %rbx
        mov     $16000000, %ecx
        lea     again(%rip), %rdx
        .type again, @function
again:
        dec     %ecx
        jz      out
        jmp     *%rdx
out:
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .section .note.GNU-stack, "", @progbits
