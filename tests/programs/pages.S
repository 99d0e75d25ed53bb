// SPDX-License-Identifier: MIT
/*
 * Code around the ends of pages: for each k a function that starts k bytes before one, so that for
 * small k an instruction straddles it, and for larger ones a block does. Each is called 100 times
 * and runs a loop of 7 rounds of 3 instructions.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $100, %ebx
again:
        .irp    k, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
        call    cross\k
        .endr
        dec     %ebx
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .p2align 12
        .irp    k, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
        .skip   4096 - \k, 0xcc
        .type cross\k, @function
cross\k:
        mov     $7, %ecx
loop\k:
        add     $0x12345678, %eax
        dec     %ecx
        jnz     loop\k
        ret
        .size   cross\k, . - cross\k
        .p2align 12, 0xcc
        .endr
        .section .note.GNU-stack,"",@progbits
