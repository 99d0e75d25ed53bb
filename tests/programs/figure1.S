// SPDX-License-Identifier: MIT
/*
 * Figure 1 of Duesterwald and Bala, "Software Profiling for Hot Path Prediction": five paths through a loop. Every branch but
 * those back to A is forward: tests/e2e/test_paths_worked.py knows the paths. A number from the list says which
 * way to go: bit 0 is A's outcome, bit 1 that of C or D, bit 2 that of G.
 *
 * D falls into G, G into J, and H, which jumps forward to J, must lie behind D: so H is in the middle of G's first
 * instruction. No C library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        lea     list(%rip), %rsi
        mov     $N_THROUGH_J, %ecx
a:      lodsb
        test    $1, %al
        jnz     c
b:      nop
        jmp     d
c:      test    $2, %al
        jnz     f
e:      nop
        jmp     i
f:      nop
        jmp     i
i:      nop
        jmp     j
d:      test    $2, %al
        jnz     h
g:      .byte   0x49, 0xbb              # movabs ..., %r11; its number is the code of h
h:      nop
        .byte   0xeb, j - h - 3         # jmp j
        nop
        nop
        nop
        nop
        nop
        test    $4, %al
        jnz     a                       # back
j:      dec     %ecx
        jnz     a                       # back
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .section .rodata
/* The first and the last time do not count: one starts at _start, the other goes on to the end. */
list:   .byte   4                       # A B D G
        .fill   7, 1, 4                 # A B D G
        .fill   5, 1, 0                 # A B D G J
        .fill   11, 1, 2                # A B D H J
        .fill   3, 1, 1                 # A C E I J
        .fill   2, 1, 3                 # A C F I J
        .byte   0                       # A B D G J, and out
        .set    N_THROUGH_J, 5 + 11 + 3 + 2 + 1
