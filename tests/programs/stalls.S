// SPDX-License-Identifier: MIT
/* A function for each reason why a core may stand still: nearly all cycles of it have that reason. For a machine with L1s of 32 KB, an L2 of
 * 512 KB and a misprediction that costs something (vaswani). Ends with status 0. */
        .globl _start
        .text
_start: lea     stack_top(%rip), %rsp
        call    build
        call    chase
        call    branchy
        call    divide
        call    straight
        call    partial
        call    alone
        call    wide
        mov     $60, %eax
        xor     %edi, %edi
        syscall

/* 65536 nodes, a line each, with the address of the one 24593 further on: a cycle of all. */
        .globl build
        .type build, @function
build:  xor     %ecx, %ecx
        lea     nodes(%rip), %rdx
1:      mov     %ecx, %edi
        shl     $6, %edi
        lea     24593(%rcx), %eax
        and     $65535, %eax
        shl     $6, %eax
        add     %rdx, %rax
        mov     %rax, (%rdx,%rdi)
        inc     %ecx
        cmp     $65536, %ecx
        jne     1b
        ret
        .size build, . - build

/* Each load needs the one before it, and comes from memory. */
        .globl chase
        .type chase, @function
chase:  mov     $10000, %ecx
        lea     nodes(%rip), %rdi
1:      mov     (%rdi), %rdi
        dec     %ecx
        jnz     1b
        ret
        .size chase, . - chase

/* A branch that goes where the last bit of a shift register with feedback says. */
        .globl branchy
        .type branchy, @function
branchy: mov    $20000, %ecx
        mov     $0x8d7f12a6534fe0b1, %rax
        mov     $0xd800000000000000, %rdx
1:      shr     %rax
        jnc     2f
        xor     %rdx, %rax
2:      dec     %ecx
        jnz     1b
        ret
        .size branchy, . - branchy

/* Each division needs the one before it. */
        .globl divide
        .type divide, @function
divide: mov     $10000, %ecx
        mov     $1, %eax
        mov     $3, %r8d
1:      xor     %edx, %edx
        or      $0x1000, %eax
        div     %r8d
        dec     %ecx
        jnz     1b
        ret
        .size divide, . - divide

/* Nothing waits for anything. */
        .globl straight
        .type straight, @function
straight: mov   $10000, %ecx
1:      add     $1, %r8
        add     $1, %r9
        add     $1, %r10
        add     $1, %r11
        add     $1, %rsi
        add     $1, %rdi
        dec     %ecx
        jnz     1b
        ret
        .size straight, . - straight

/* A load of which a store in flight has only a part. */
        .globl partial
        .type partial, @function
partial: mov    $5000, %ecx
        lea     nodes(%rip), %rdi
1:      movb    %al, 3(%rdi)
        mov     (%rdi), %rax
        dec     %ecx
        jnz     1b
        ret
        .size partial, . - partial

/* Locked instructions run alone. */
        .globl alone
        .type alone, @function
alone:  mov     $5000, %ecx
        lea     nodes(%rip), %rdi
1:      lock incl (%rdi)
        dec     %ecx
        jnz     1b
        ret
        .size alone, . - alone

/* More code than the L1I holds, again and again. */
        .globl wide
        .type wide, @function
wide:   mov     $6, %ecx
1:      .rept   16384
        .byte   0x0f, 0x1f, 0x40, 0x00 /* a nop of four bytes */
        .endr
        dec     %ecx
        jnz     1b
        ret
        .size wide, . - wide

        .bss
        .balign 4096
nodes:  .skip   65536 * 64
        .skip   4096
stack_top:
        .section .note.GNU-stack, "", @progbits
