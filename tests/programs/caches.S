// SPDX-License-Identifier: MIT
/* Data and code for caches, all of it at addresses that are fixed when the program is linked, its stack too: strides,
 * operands across lines, updates, calls from one line to another, code that crosses lines. Ends with status 0. */
        .globl _start
        .text
        .balign 64
_start: lea     stack_top(%rip), %rsp
        mov     $4, %r12d
rounds:
        /* every 64 bytes of 256 K, written; then every 16 of 8 K, read */
        lea     big(%rip), %rdi
        mov     $4096, %ecx
1:      mov     %rcx, (%rdi)
        add     $64, %rdi
        dec     %ecx
        jnz     1b
        lea     big(%rip), %rsi
        mov     $512, %ecx
2:      add     (%rsi), %rax
        add     $16, %rsi
        dec     %ecx
        jnz     2b
        /* updates, in steps that share sets */
        lea     big(%rip), %rdi
        mov     $40, %ecx
3:      addl    $3, (%rdi)
        incq    8(%rdi)
        add     $4096, %rdi
        dec     %ecx
        jnz     3b
        /* a walk that jumps about: 16 K of bytes, one in 167 */
        lea     big(%rip), %rsi
        xor     %edx, %edx
        mov     $2000, %ecx
4:      movzbl  (%rsi,%rdx), %eax
        add     %al, (%rsi,%rdx)
        add     $167, %edx
        and     $0x3fff, %edx
        dec     %ecx
        jnz     4b
        /* calls, each target in a line of its own */
        mov     $30, %ebx
5:      call    first
        call    second
        call    third
        dec     %ebx
        jnz     5b
        dec     %r12d
        jnz     rounds
        mov     $60, %eax
        xor     %edi, %edi
        syscall

        .balign 4096
        .skip   60
first:  movabs  $0x1122334455667788, %rax       /* crosses a line */
        push    %rax
        pop     %rdx
        ret
        .balign 4096
        .skip   62
second: push    %rbx
        lea     (%rsp), %rax
        call    third
        pop     %rbx
        ret
        .balign 4096
third:  movaps  numbers(%rip), %xmm0
        movaps  %xmm0, numbers+16(%rip)
        ret

        .section .rodata
        .balign 64
        .data
        .balign 64
numbers: .quad  1, 2, 3, 4
        .bss
        .balign 4096
        .skip   2048
stack_top:
        .balign 4096
big:    .skip   262144
