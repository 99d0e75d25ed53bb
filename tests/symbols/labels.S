// SPDX-License-Identifier: MIT
// Hand-written symbols: aliases, labels without type, functions without size.
        .text
        .globl _start
_start:                         // a label, global, no size
        nop
        nop
        .type sized, %function
        .globl sized
sized:
        nop
inside:                         // a label in a function of known size
        nop
        nop
        .size sized, . - sized
local_label:                    // nothing better here
        nop
        nop
        .globl z_global, a_weak
        .weak a_weak
        .type a_weak, %function
        .type z_global, %function
        .type b_local, %function
        .type c_unsized, %function
        .globl c_unsized, d_same
        .type d_same, %function
a_weak:
b_local:
c_unsized:
d_same:
z_global:
        nop
        nop
        .size a_weak, . - a_weak
        .size b_local, . - b_local
        .size z_global, . - z_global
        .size d_same, . - d_same
        .globl tail
        .type tail, %function
tail:                           // no size: up to the end of the section
        nop
        nop
