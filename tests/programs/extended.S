// SPDX-License-Identifier: MIT
/*
 * A path that is extended across a call and ends inside it: tests/e2e/test_paths_worked.py knows what the return from there
 * does. No C library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $2, %ecx
        call    f
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type f, @function
f:      nop
        call    g
f2:     ret
        .size   f, . - f
        .type g, @function
g:      nop
        call    h
g2:     nop
        ret
        .size   g, . - g
        .type h, @function
h:      nop
hl:     dec     %ecx
        jnz     hl                      # taken once
        ret
        .size   h, . - h
