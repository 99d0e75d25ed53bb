// SPDX-License-Identifier: MIT
/*
 * Code that changes itself: linked with -N, so that it is writable. `patched` is changed by its caller between
 * calls; `ahead` changes an instruction of its own that it has yet to reach.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        mov     $10, %ebx
again:                                  # 10 rounds
        mov     %bl, patched + 1(%rip)
        call    patched
        call    ahead
        dec     %ebx
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .type patched, @function
patched:
        mov     $0, %eax
        ret
        .size   patched, . - patched

        .type ahead, @function
ahead:                                  # 6 instructions
        mov     %bl, change + 1(%rip)
        nop
        nop
change: mov     $0, %eax
        add     %eax, %esi
        ret
        .size   ahead, . - ahead
        .section .note.GNU-stack,"",@progbits
