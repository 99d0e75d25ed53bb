// SPDX-License-Identifier: MIT
/*
 * Calls that are none, and calls that never return.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        call    next_address
        call    thunks
        call    overwritten
        mov     $231, %eax              # exit_group
        xor     %edi, %edi
        syscall
        .size _start, . - _start

/* The next address is called directly and indirectly, and also reached by an indirect jump. */
        .type next_address, @function
next_address:
        mov     $1000, %ecx
        lea     2f(%rip), %rax
1:      call    3f
3:      pop     %rdx
        test    $3, %ecx
        jz      4f
        call    *%rax
2:      pop     %rdx
        dec     %ecx
        jnz     1b
        ret
4:      push    %rax
        jmp     *%rax
        .size next_address, . - next_address

/* 3,000,000 calls that drop their return addresses: more than any table has frames. */
        .type thunks, @function
thunks:
        mov     $1000000, %ecx
        lea     2f(%rip), %rbx
1:      call    2f
        nop
        call    *%rbx
        nop
        call    2f
        nop
        dec     %ecx
        jnz     1b
        ret
2:      pop     %rdx
        jmp     *%rdx
        .size thunks, . - thunks

/* Returns to elsewhere than the call said, as return trampolines do. */
        .type overwritten, @function
overwritten:
        mov     $1000, %ecx
        lea     2f(%rip), %rbx
1:      call    4f
        ud2
2:      dec     %ecx
        jnz     1b
        ret
4:      mov     %rbx, (%rsp)
        ret
        .size overwritten, . - overwritten
