@ SPDX-License-Identifier: MIT
        .include "expect.inc"
        .syntax unified
        .arch armv8-a
        .arch_extension virt
        .arch_extension sec
        .fpu crypto-neon-fp-armv8
        .arm
        .text
        .globl _start
_start:
back:
        is none, 0, -, nop
        is none, 0, -, addne r0, r1, r2
        is jump, back, -, b back
        is jump, ahead, -, b ahead
        is cond, back, C, bne back
        is cond, ahead, C, bgt ahead
        is call, back, -, bl back
        is call, ahead, C, bleq ahead
        is call, thumb_code, -, blx thumb
        is call, thumb_code + 2, -, blx thumb + 2
        is call_ind, 0, -, blx r3
        is call_ind, 0, C, blxne r3
        is jump_ind, 0, -, bx r3
        is jump_ind, 0, C, bxne r3
        is jump_ind, 0, -, bxj r3
        is return, 0, -, bx lr
        is return, 0, C, bxeq lr
        is return, 0, -, mov pc, lr
        is return, 0, C, movne pc, lr
        is return, 0, -, movs pc, lr
        is return, 0, -, subs pc, lr, 4
        is return, 0, -, pop {r4, pc}
        is return, 0, C, popne {r4, pc}
        is return, 0, -, pop {pc}
        is return, 0, -, ldm sp!, {r4, r5, pc}
        is return, 0, -, ldmdb fp, {r4, fp, sp, pc}
        is return, 0, -, ldr pc, [sp], 4
        is return, 0, -, rfeia sp!
        is return, 0, -, eret
        is jump_ind, 0, -, ldr pc, [sp], 8
        is jump_ind, 0, -, ldr pc, [r0]
        is jump_ind, 0, -, ldr pc, [r0, r1, lsl 2]
        is jump_ind, 0, C, ldrls pc, [pc, r1, lsl 2]
        is jump_ind, 0, -, ldm r0, {r1, pc}
        is jump_ind, 0, -, mov pc, r3
        is jump_ind, 0, -, add pc, pc, r3, lsl 2
        is jump_ind, 0, C, addls pc, pc, r3, lsl 2
        is jump_ind, 0, -, sub pc, pc, 8
        is none, 0, -, cmp pc, r0
        is none, 0, -, tst r0, r15
        is none, 0, -, ldrb r0, [pc, 4]
        is none, 0, -, ldr r0, [pc, 4]
        is none, 0, -, str pc, [r0]
        is none, 0, -, push {r4, lr}
        is none, 0, -, ldm r0, {r1, r2}
        is none, 0, -, smuad r0, r1, r2
        is none, 0, -, movw r0, 15
        is none, 0, -, mrc p15, 0, r15, c1, c0, 0
        is syscall, 0, -, svc 0
        is syscall, 0, C, svcne 0
        is trap, 0, -, udf 0
        is trap, 0, -, udf 0xffff
        is trap, 0, -, bkpt 1
        is trap, 0, -, hvc 1
        is trap, 0, -, smc 1
        is trap, 0, -, .inst 0xe1000070
        is none, 0, A, ldrex r0, [r1]
        is none, 0, A, strexb r0, r1, [r2]
        is none, 0, A, ldaexd r0, r1, [r2]
        is none, 0, -, lda r0, [r1]
        is none, 0, -, stlh r0, [r1]
ahead:
        does nop, "", "", "", nop
        does alu, "r1 r2", "r0", "", add r0, r1, r2, lsl 2
        does alu, "r1", "r0 flags", "", adds r0, r1, 1
        does alu, "r0 r1 flags", "r0", "", addne r0, r1, 1
        does alu, "r1 r2 flags", "r0", "", adc r0, r1, r2
        does alu, "r0 r1", "flags", "", cmp r0, r1
        does alu, "r0", "r0", "", movt r0, 1
        does mul, "r1 r2", "r0", "", mul r0, r1, r2
        does mul, "r2 r3", "r0 r1", "", umull r0, r1, r2, r3
        does div, "r1 r2", "r0", "", sdiv r0, r1, r2
        does load, "r1", "r0", "4r[r1+4]", ldr r0, [r1, 4]
        does load, "r1", "r0 r1", "4r[r1+4]", ldr r0, [r1, 4]!
        does load, "r1", "r0 r1", "4r[r1]", ldr r0, [r1], 4
        does load, "r1 r2", "r0", "4r[r1+r2*4]", ldr r0, [r1, r2, lsl 2]
        does load, "r1 r2", "r0", "2r[r1+r2*1]", ldrh r0, [r1, r2]
        does load, "", "r0", "4r[pc+16]", ldr r0, [pc, 8]
        does load, "r2", "r0 r1", "8r[r2+8]", ldrd r0, r1, [r2, 8]
        does store, "r0 r1", "", "1w[r1-4]", strb r0, [r1, -4]
        does load, "r0", "r0 r1 r2 r3", "12r[r0]", ldm r0!, {r1, r2, r3}
        does load, "r0", "r1 r2", "8r[r0-8]", ldmdb r0, {r1, r2}
        does load, "r0", "r1 r2", "8r[r0+4]", ldmib r0, {r1, r2}
        does store, "r4 r5 r13 r14", "r13", "12w[r13-12]", push {r4, r5, lr}
        does branch, "r13", "r4 r13", "8r[r13]", pop {r4, pc}
        does atomic, "r1", "r0", "4r[r1]", ldrex r0, [r1]
        does atomic, "r1 r2", "r0", "4w[r2]", strex r0, r1, [r2]
        does atomic, "", "", "", dmb ish
        does load, "r0", "v0 v1", "8r[r0+8]", vldr d0, [r0, 8]
        does load, "r0", "v3", "4r[r0+8]", vldr s3, [r0, 8]
        does load, "r0", "r0 v0 v1 v2 v3", "16r[r0]", vldmia r0!, {d0-d1}
        does store, "r13 v16 v17", "r13", "8w[r13-8]", vpush {d8}
        does load, "r13", "r13 v16 v17", "8r[r13]", vpop {s16-s17}
        does load, "r0", "r0 v0 v1 v2 v3", "16r[r0]", vld1.32 {d0, d1}, [r0]!
        does store, "r1 r2 v0 v1", "r1", "8w[r1]", vst1.8 {d0}, [r1], r2
        does load, "r0 v0 v1", "v0 v1", "4r[r0]", vld1.32 {d0[1]}, [r0]
        does fadd, "v1 v2", "v0", "", vadd.f32 s0, s1, s2
        does fmul, "v0 v1 v2 v3 v4 v5", "v0 v1", "", vmla.f64 d0, d1, d2
        does fdiv, "v2 v3 v4 v5", "v0 v1", "", vdiv.f64 d0, d1, d2
        does vec, "v34 v35 v36 v37", "v32 v33", "", vadd.i32 q8, q9, q10
        does fadd, "v1", "r0", "", vmov r0, s1
        does fadd, "v0 v1 v2 v3", "v48", "", vcmp.f64 d0, d1
        does fadd, "v48", "flags", "", vmrs APSR_nzcv, fpscr
        does system, "", "r0", "", mrc p15, 0, r0, c13, c0, 3
        does branch, "", "r14", "", bl ahead
        does branch, "r3", "r14", "", blx r3
        does branch, "r14", "", "", bx lr
        does branch, "flags", "", "", bne ahead
        does system, "", "", "", svc 0
        .thumb
        .balign 4
thumb_code:
        .type thumb, %function
thumb:  nop
        nop
