// SPDX-License-Identifier: MIT
/* Loops to the instruction: how they are entered, left and gone round is said here. As trips.c. */
        .macro  FUNCTION name
        .globl  \name
        .type   \name, @function
\name:
        .endm
        .macro  END name
        .size   \name, . - \name
        .endm

        .text
/* The first round is in the block that leads into the loop. 5 rounds of 3. */
FUNCTION into
        movl    $5, %ecx
1:      incl    %eax
        decl    %ecx
        jnz     1b
        ret
END into

/* 3 rounds of 5002: longer than a block may be. */
FUNCTION seams
        movl    $3, %ecx
1:      .rept   5000
        nop
        .endr
        decl    %ecx
        jnz     1b
        ret
END seams

/* 4 rounds of 3, each with 2 in the callee. */
FUNCTION calls
        movl    $4, %ebx
1:      call    leaf
        decl    %ebx
        jnz     1b
        ret
END calls

FUNCTION leaf
        nop
        ret
END leaf

/* Entered in the middle of the block that it goes back to: 6 rounds of 2, 5 times 1 on the way back. */
FUNCTION middle
        movl    $6, %ecx
        jmp     2f
1:      incl    %eax
2:      decl    %ecx
        jnz     1b
        ret
END middle

/* Back by a computed jump: 7 rounds of 2, 6 jumps. */
FUNCTION computed
        leaq    1f(%rip), %rdx
        movl    $7, %ecx
1:      decl    %ecx
        jz      2f
        jmp     *%rdx
2:      ret
END computed

/* 9 rounds of 2. A string instruction that repeats is no loop. */
FUNCTION counted
        movl    $9, %ecx
1:      nop
        loop    1b
        leaq    buffer(%rip), %rdi
        movl    $9, %ecx
        rep stosb
        ret
END counted

/* Back by a return to an address that nobody called from: 3 rounds of 2, twice 2 on the way back. */
FUNCTION returned
        leaq    1f(%rip), %rdx
        movl    $3, %ecx
1:      decl    %ecx
        jz      2f
        pushq   %rdx
        ret
2:      ret
END returned

/* Two ways in. Called with %ecx rounds, by the first with %edx zero. */
FUNCTION two_ways
        testl   %edx, %edx
        jnz     2f
1:      incl    %eax
        jmp     2f
2:      decl    %ecx
        jnz     1b
        ret
END two_ways

/* A tail call round: the loop of two functions that jump to each other. 8 rounds of 3, 7 times 1 in the other. */
FUNCTION ping
        movl    $8, %ecx
ping_again:
        decl    %ecx
        jz      1f
        jmp     pong
1:      ret
END ping

        .globl  pong
        .type   pong, @function
pong:
        jmp     ping_again
END pong

FUNCTION _start
        call    into
        call    seams
        call    calls
        call    middle
        call    computed
        call    counted
        call    returned
        movl    $5, %ecx
        xorl    %edx, %edx
        call    two_ways
        movl    $5, %ecx
        movl    $1, %edx
        call    two_ways
        call    ping
        movl    $231, %eax
        xorl    %edi, %edi
        syscall
END _start

        .bss
buffer: .skip   16
        .section .note.GNU-stack, "", @progbits
