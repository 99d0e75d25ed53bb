// SPDX-License-Identifier: MIT
/*
 * String instructions with a REP prefix: one instruction each, whatever the count. Every function
 * has exactly as many instructions as it shows, and is called 20 times.
 */
        .macro  function name
        .type   \name, @function
\name:
        .endm
        .macro  done name
        ret
        .size   \name, . - \name
        .endm

        .globl _start
        .text
        .type _start, @function
_start:
        mov     $20, %ebx
        cld
again:
        .irp    f, zero, one, thousand, words, compare, scan, pair, big, looped
        call    \f
        .endr
        dec     %ebx
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .macro  buffers count
        lea     source(%rip), %rsi
        lea     target(%rip), %rdi
        mov     $\count, %ecx
        .endm

        function zero                   # 5 instructions
        buffers 0
        rep movsb
        done    zero

        function one                    # 5
        buffers 1
        rep movsb
        done    one

        function thousand               # 5
        buffers 1000
        rep movsb
        done    thousand

        function words                  # 6
        buffers 100
        xor     %eax, %eax
        rep stosq
        done    words

        function compare                # 5: stops at the first byte, which `words` cleared
        buffers 1000
        repe cmpsb
        done    compare

        function scan                   # 6: stops at byte 801, which it did not clear
        buffers 1000
        mov     source(%rip), %al
        repne scasb
        done    scan

        function pair                   # 7: two in a row
        buffers 64
        rep movsb
        mov     $64, %ecx
        rep movsb
        done    pair

        function big                    # 5: over several pages
        buffers 40000
        rep movsb
        done    big

        function looped                 # 1 + 10 * 6 + 1
        mov     $10, %edx
looping:
        buffers 3
        rep movsb
        dec     %edx
        jnz     looping
        done    looped

        .data
source: .fill   40000, 1, 1
        .bss
target: .skip   40000
        .section .note.GNU-stack,"",@progbits
