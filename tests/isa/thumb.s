@ SPDX-License-Identifier: MIT
        .include "expect.inc"
        .syntax unified
        .arch armv8-a
        .arch_extension virt
        .arch_extension sec
        .fpu crypto-neon-fp-armv8
        .thumb
        .text
        .globl _start
_start:
back:
        is none, 0, -, nop
        is none, 0, -, nop.w
        is jump, back, -, b.n back
        is jump, ahead, -, b.w ahead
        is jump, far_away, -, b.w far_away
        is cond, back, C, bne.n back
        is cond, ahead, C, bgt.w ahead
        is cond, far_away, C, beq.w far_away
        is cond, back, C, ble.w back
        is cond, near, C, cbz r0, near
        is cond, near, C, cbnz r7, near
        is call, back, -, bl back
        is call, far_away, -, bl far_away
        is call, arm, -, blx arm
near:
        is none, 0, -, movs r0, 1
        is call, arm, -, blx arm
        is call_ind, 0, -, blx r3
        is jump_ind, 0, -, bx r3
        is jump_ind, 0, -, bxj r3
        is return, 0, -, bx lr
        is return, 0, -, mov pc, lr
        is jump_ind, 0, -, mov pc, r3
        is jump_ind, 0, -, add pc, r3
        is return, 0, -, pop {r4, pc}
        is return, 0, -, pop {pc}
        is return, 0, -, pop.w {r4, r8, pc}
        is return, 0, -, ldm.w sp, {r4, pc}
        is return, 0, -, ldr.w pc, [sp], 4
        is return, 0, -, subs pc, lr, 4
        is return, 0, -, eret
        is return, 0, -, rfeia sp!
        is return, 0, -, rfedb r0
        is jump_ind, 0, -, ldm.w r0, {r1, pc}
        is jump_ind, 0, -, ldmdb r0, {r1, pc}
        is jump_ind, 0, -, ldr.w pc, [r0]
        is jump_ind, 0, -, ldr.w pc, [r0, 8]
        is jump_ind, 0, -, ldr.w pc, [r0, -8]
        is jump_ind, 0, -, ldr.w pc, [r0], 8
        is jump_ind, 0, -, ldr.w pc, [r0, 8]!
        is jump_ind, 0, -, ldr.w pc, [r0, r1, lsl 2]
        is jump_ind, 0, -, ldr.w pc, [pc, 8]
        is jump_ind, 0, -, tbb [pc, r0]
        is jump_ind, 0, -, tbh [r1, r0, lsl 1]
        is none, 0, -, ldr.w r0, [r1]
        is none, 0, -, ldrb.w r0, [r1]
        is none, 0, -, pld [r1]
        is none, 0, -, pop {r4, r5}
        is none, 0, -, push {r4, lr}
        is none, 0, -, ldm.w r0, {r1, lr}
        is none, 0, -, mov r8, r9
        is none, 0, -, cmp r8, r9
        is none, 0, -, dmb ish
        is none, 0, -, msr APSR_nzcvq, r0
        is none, 0, -, mrs r0, APSR
        is none, 0, -, clrex
        is none, 0, -, cmp.w r0, 1
        is none, 0, -, .short 0xbf18
        is syscall, 0, -, svc 0
        is trap, 0, -, udf 0
        is trap, 0, -, udf.w 0xffff
        is trap, 0, -, bkpt 1
        is trap, 0, -, hvc 1
        is trap, 0, -, smc 1
        is trap, 0, -, hlt 1
        is none, 0, A, ldrex r0, [r1]
        is none, 0, A, strex r0, r1, [r2]
        is none, 0, A, ldrexb r0, [r1]
        is none, 0, A, stlexd r0, r1, r2, [r3]
        is none, 0, -, lda r0, [r1]
ahead:
        does alu, "r1", "r0 flags", "", adds r0, r1, 1
        does alu, "", "r0 flags", "", movs r0, 1
        does alu, "r0 r1", "r0", "", add r0, r1
        does alu, "r0", "flags", "", cmp r0, 3
        does mul, "r0 r1", "r0 flags", "", muls r0, r1, r0
        does load, "r1 r2", "r0", "4r[r1+r2*4]", ldr.w r0, [r1, r2, lsl 2]
        does load, "r2", "r0 r1 r2", "8r[r2]", ldrd r0, r1, [r2], 8
        does store, "r0 r1", "r1", "1w[r1]", strb r0, [r1], 1
        does store, "r0 r13", "", "4w[r13+4]", str r0, [sp, 4]
        does store, "r4 r13 r14", "r13", "8w[r13-8]", push {r4, lr}
        does store, "r4 r8 r13 r14", "r13", "12w[r13-12]", push.w {r4, r8, lr}
        does branch, "r13", "r4 r13", "8r[r13]", pop {r4, pc}
        does branch, "r0", "", "", cbz r0, after
        does nop, "", "", "", .short 0xbf01
        does alu, "r1 r2", "r0", "", add.w r0, r1, r2
        .balign 4
        does load, "", "r0", "4r[pc+12]", ldr r0, [pc, 8]
        nop
after:
        .space 5000
far_away:
        nop
        .balign 4
        .arm
arm:    nop
