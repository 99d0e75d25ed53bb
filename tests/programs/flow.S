// SPDX-License-Identifier: MIT
/*
 * Every kind of transfer, with a label before and after each: tests/e2e/test_counts_exact.py knows
 * every edge and every instruction. Blocks are named b_*, branches j_*. No C library.
 */
        .globl _start
        .text
        .type _start, @function
_start:
b_start:
        mov     $3, %ebx
b_outer:                                # 3 times
        mov     $5, %ecx
b_inner:                                # 15 times
        add     $1, %eax
        dec     %ecx
j_inner: jnz    b_inner                 # taken 12
b_after_inner:                          # 3 times
        mov     %ebx, %edi
j_call: call    leaf
b_after_call:                           # 3 times
        test    $1, %ebx
j_odd:  jnz     b_odd                   # taken 2: ebx 3 and 1
b_even:                                 # once
        nop
j_even: jmp     b_join
b_odd:                                  # twice
        nop
        nop
b_join:                                 # 3 times; twice as the tail of b_odd
        dec     %ebx
j_outer: jnz    b_outer                 # taken 2
b_loop_setup:
        mov     $6, %ecx
b_loop:                                 # 6 times, once as the tail of b_loop_setup
        nop
j_loop: loop    b_loop                  # taken 5
b_jrcxz:
j_jrcxz: jrcxz  b_zero                  # taken
b_not_here:
        ud2
b_zero:
        lea     b_there(%rip), %rax
j_indirect: jmp *%rax
        ud2
b_there:
        lea     leaf(%rip), %rax
        mov     $4, %edi
j_call_indirect: call *%rax
b_after_indirect:
        lea     pointer(%rip), %rax
j_jump_memory: jmp *(%rax)
        ud2
b_from_memory:
        push    $0
        lea     b_returned(%rip), %rax
        push    %rax
j_ret_as_jump: ret                      # a return that no call made
b_returned:
        pop     %rax
        mov     $39, %eax               # getpid
j_syscall: syscall
b_exit:
        mov     $60, %eax
        xor     %edi, %edi
j_exit: syscall
        ud2
        .size   _start, . - _start

        .type leaf, @function
leaf:                                   # 4 times: edi 3, 2, 1, 4
        cmp     $2, %edi
j_leaf: je      b_two                   # taken once
b_not_two:                              # 3 times
        cmovg   %edi, %eax
b_two:                                  # 4 times, 3 as the tail of b_not_two
        add     $1, %edx
j_leaf_ret: ret
        .size   leaf, . - leaf

        .data
pointer: .quad  b_from_memory
        .section .note.GNU-stack,"",@progbits
