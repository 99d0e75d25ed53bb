// SPDX-License-Identifier: MIT
/* The start of a static program without a C library, for Alpha. */
        .globl _start
        .ent _start
_start:
        br      $29, 1f
1:      ldgp    $29, 0($29)
        jsr     $26, main
        ldgp    $29, 0($26)
        mov     $0, $16
        lda     $0, 1                   # exit
        callsys
        .end _start
        .size   _start, . - _start
        .section .note.GNU-stack,"",@progbits
