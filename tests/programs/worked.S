// SPDX-License-Identifier: MIT
/*
 * In the manner of figure 4 of "A Programmable Hardware Path Profiler": blocks without branches, an unconditional jump, a loop and a
 * call. tests/e2e/test_paths_worked.py has its paths for every preset, worked out by hand. No C library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        lea     list(%rip), %rsi
        mov     $3, %ecx
loop:   lodsb
        test    $1, %al
        jz      even                    # a: forward
odd:    nop
        jmp     join                    # b: unconditional
even:   nop                             # falls through, no branch
join:   call    f                       # c
back:   dec     %ecx
        jnz     loop                    # d: backward
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type f, @function
f:      test    $2, %al
        jz      1f                      # e: forward
        nop
1:      ret                             # r
        .size   f, . - f

        .section .rodata
list:   .byte   1, 2, 1                 # odd, e taken; even, e not taken; odd, e taken
