// SPDX-License-Identifier: MIT
/*
 * Loops A and B of section 2 of "Non-Intrusive Dynamic Application Profiler for Detailed Loop Execution Characterization": A is executed 5 times and
 * iterates 2000 times each (back edges), B is executed 6000 times and iterates twice. tests/e2e/test_daprof.py has what profilers make of it. No C
 * library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $5, %edx
round:  mov     $2001, %ecx
loop_a: nop
        dec     %ecx
branch_a:
        jnz     loop_a                  # taken 2000 times, 5 times over
        mov     $1200, %ebx
again:  mov     $3, %ecx
loop_b: nop
        dec     %ecx
branch_b:
        jnz     loop_b                  # taken twice, 6000 times over
        dec     %ebx
branch_again:
        jnz     again                   # taken 1199 times, 5 times over
        dec     %edx
branch_round:
        jnz     round                   # taken 4 times
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
