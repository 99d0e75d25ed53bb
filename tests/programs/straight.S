// SPDX-License-Identifier: MIT
/* 12000 instructions without a branch, run 3 times: longer than a block may be. */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $3, %ebx
again:
        call    straight
        dec     %ebx
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .type straight, @function
straight:
        .rept   12000
        add     $1, %eax
        .endr
        ret
        .size   straight, . - straight
        .section .note.GNU-stack,"",@progbits
