// SPDX-License-Identifier: MIT
/*
 * Figure 6 of "Non-Intrusive Dynamic Application Profiler for Detailed Loop Execution Characterization": loop A calls a function that
 * has a loop, whose branch is outside of A's bounds. A is executed 10 times and iterates 14 times each (back edges), that of the function is executed 150 times
 * and iterates 4 times. tests/e2e/test_daprof.py has what profilers make of it. No C library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $10, %edx
round:  mov     $15, %ebx
loop_a: call    func_b
        dec     %ebx
branch_a:
        jnz     loop_a                  # taken 14 times, 10 times over
        dec     %edx
branch_round:
        jnz     round                   # taken 9 times
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type func_b, @function
func_b: mov     $5, %ecx
loop_b: nop
        dec     %ecx
branch_b:
        jnz     loop_b                  # taken 4 times, 150 times over
        ret
        .size   func_b, . - func_b
