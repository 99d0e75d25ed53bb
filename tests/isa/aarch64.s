# SPDX-License-Identifier: MIT
        .include "expect.inc"
        .arch armv8.5-a+memtag
        .text
        .globl _start
_start:
back:
        is none, 0, -, nop
        is none, 0, -, ldr x0, [x1]
        is jump, back, -, b back
        is jump, ahead, -, b ahead
        is call, back, -, bl back
        is cond, back, C, b.eq back
        is cond, ahead, C, b.lt ahead
bc_eq:  is cond, bc_eq + 8, C, .inst 0x54000050
        is cond, back, C, cbz x3, back
        is cond, ahead, C, cbz w3, ahead
        is cond, back, C, cbnz x3, back
        is cond, back, C, tbz x3, 63, back
        is cond, ahead, C, tbz w3, 1, ahead
        is cond, back, C, tbnz x3, 5, back
        is jump_ind, 0, -, br x3
        is jump_ind, 0, -, br x30
        is jump_ind, 0, -, braa x3, x4
        is jump_ind, 0, -, brab x3, sp
        is jump_ind, 0, -, braaz x3
        is jump_ind, 0, -, brabz x3
        is call_ind, 0, -, blr x3
        is call_ind, 0, -, blraa x3, x4
        is call_ind, 0, -, blrab x3, x4
        is call_ind, 0, -, blraaz x3
        is call_ind, 0, -, blrabz x3
        is return, 0, -, ret
        is return, 0, -, ret x3
        is return, 0, -, retaa
        is return, 0, -, retab
        is return, 0, -, eret
        is return, 0, -, eretaa
        is return, 0, -, drps
        is syscall, 0, -, svc 0
        is syscall, 0, -, svc 0xffff
        is trap, 0, -, hvc 0
        is trap, 0, -, smc 0
        is trap, 0, -, brk 1
        is trap, 0, -, hlt 1
        is trap, 0, -, dcps1
        is trap, 0, -, udf 0
        is trap, 0, -, udf 0xffff
        is none, 0, -, msr tpidr_el0, x0
        is none, 0, -, isb
        is none, 0, -, bti c
        is none, 0, A, ldxr x0, [x1]
        is none, 0, A, stlxrb w0, w1, [x2]
        is none, 0, A, ldaxp x0, x1, [x2]
        is none, 0, A, cas x0, x1, [x2]
        is none, 0, A, caspal x0, x1, x2, x3, [x4]
        is none, 0, A, ldadd x0, x1, [x2]
        is none, 0, A, swpalb w0, w1, [x2]
        is none, 0, -, ldar x0, [x1]
        is none, 0, -, stlr x0, [x1]
        is none, 0, -, ldapr x0, [x1]
        is none, 0, -, ldapur x0, [x1, 8]
ahead:
        does nop, "", "", "", nop
        does nop, "", "", "", bti c
        does alu, "r30 r31", "r30", "", paciasp
        does alu, "r1 r2", "r0", "", add x0, x1, x2
        does alu, "r1", "r0 flags", "", adds x0, x1, 3
        does alu, "r1 r2", "flags", "", cmp x1, x2
        does alu, "r31", "r0", "", mov x0, sp
        does alu, "r31", "r31", "", sub sp, sp, 16
        does alu, "r2 r31", "r31", "", add sp, sp, x2
        does alu, "r1", "r0", "", mov x0, x1
        does alu, "", "r0", "", mov x0, 1
        does alu, "r0", "r0", "", movk x0, 1
        does alu, "", "r0", "", adrp x0, .
        does alu, "r0 r1", "r0", "", bfi x0, x1, 3, 4
        does alu, "r1", "r0", "", ubfx x0, x1, 3, 4
        does alu, "r1 r2", "r0", "", extr x0, x1, x2, 5
        does alu, "r1 r2 flags", "r0", "", csel x0, x1, x2, eq
        does alu, "r0 r1 flags", "flags", "", ccmp x0, x1, 0, ne
        does alu, "r0 flags", "flags", "", ccmp x0, 1, 0, ne
        does alu, "r1 r2 flags", "r0 flags", "", adcs x0, x1, x2
        does alu, "r1", "r0", "", clz x0, x1
        does alu, "r1 r2", "r0", "", lsl x0, x1, x2
        does mul, "r1 r2 r3", "r0", "", madd x0, x1, x2, x3
        does mul, "r1 r2", "r0", "", umulh x0, x1, x2
        does div, "r1 r2", "r0", "", udiv x0, x1, x2
        does load, "r1", "r0", "8r[r1+8]", ldr x0, [x1, 8]
        does load, "r1", "r0 r1", "8r[r1+8]", ldr x0, [x1, 8]!
        does load, "r1", "r0 r1", "8r[r1]", ldr x0, [x1], 8
        does load, "r1", "r0", "1r[r1-3]", ldurb w0, [x1, -3]
        does load, "r1 r2", "r0", "4r[r1+r2*4]", ldrsw x0, [x1, x2, lsl 2]
        does load, "r1 r2", "r0", "4r[r1+r2*4]", ldr w0, [x1, w2, sxtw 2]
        does load, "", "r0", "8r[pc+16]", ldr x0, . + 16
        does load, "r31", "r29 r30 r31", "16r[r31]", ldp x29, x30, [sp], 16
        does store, "r29 r30 r31", "r31", "16w[r31-16]", stp x29, x30, [sp, -16]!
        does store, "r31", "", "8w[r31+24]", str xzr, [sp, 24]
        does store, "r0 r1", "", "2w[r1+2]", strh w0, [x1, 2]
        does load, "r1", "v0", "16r[r1+16]", ldr q0, [x1, 16]
        does store, "r1 v0", "", "4w[r1]", str s0, [x1]
        does load, "r0", "v0 v1", "16r[r0]", ldp d0, d1, [x0]
        does load, "r0", "v0 v1 r0", "32r[r0]", ld1 {v0.16b, v1.16b}, [x0], 32
        does load, "r0 r3", "v31 v0 r0", "16r[r0]", ld2 {v31.8b, v0.8b}, [x0], x3
        does store, "r0 v0", "", "4w[r0]", st1 {v0.s}[1], [x0]
        does load, "r0 v0", "v0", "8r[r0]", ld1 {v0.d}[1], [x0]
        does load, "r0", "v0", "2r[r0]", ld1r {v0.8h}, [x0]
        does load, "r0", "", "8r[r0]", prfm pldl1keep, [x0]
        does atomic, "r1", "r0", "8r[r1]", ldxr x0, [x1]
        does atomic, "r1 r2", "r0", "8w[r2]", stxr w0, x1, [x2]
        does atomic, "r2", "r0 r1", "16r[r2]", ldaxp x0, x1, [x2]
        does atomic, "r0 r1 r2", "r0", "8rw[r2]", cas x0, x1, [x2]
        does atomic, "r0 r1 r2 r3 r4", "r0 r1", "16rw[r4]", casp x0, x1, x2, x3, [x4]
        does atomic, "r0 r2", "r1", "4rw[r2]", ldadd w0, w1, [x2]
        does atomic, "r0 r2", "", "8rw[r2]", stadd x0, [x2]
        does atomic, "r0 r2", "r1", "8rw[r2]", swp x0, x1, [x2]
        does load, "r1", "r0", "8r[r1]", ldapr x0, [x1]
        does load, "r1", "r0", "4r[r1]", ldar w0, [x1]
        does load, "r1", "r0 r1", "8r[r1-8]", ldraa x0, [x1, -8]!
        does atomic, "", "", "", dmb ish
        does system, "", "", "", isb
        does system, "", "r0", "", mrs x0, tpidr_el0
        does system, "r0", "flags", "", msr nzcv, x0
        does system, "flags", "r0", "", mrs x0, nzcv
        does system, "r0", "", "", dc zva, x0
        does branch, "", "r30", "", bl ahead
        does branch, "r3", "r30", "", blr x3
        does branch, "r30", "", "", ret
        does branch, "r30 r31", "", "", retaa
        does branch, "r3 r4", "", "", braa x3, x4
        does branch, "flags", "", "", b.ne ahead
        does branch, "r3", "", "", cbz x3, ahead
        does system, "", "", "", svc 0
        does fadd, "v1 v2", "v0", "", fadd d0, d1, d2
        does fmul, "v1 v2 v3", "v0", "", fmadd d0, d1, d2, d3
        does fmul, "v0 v1 v2", "v0", "", fmla v0.4s, v1.4s, v2.4s
        does fdiv, "v1 v2", "v0", "", fdiv s0, s1, s2
        does fdiv, "v1", "v0", "", fsqrt d0, d1
        does fadd, "v0 v1", "flags", "", fcmp d0, d1
        does fadd, "v1 v2 flags", "v0", "", fcsel d0, d1, d2, lt
        does fadd, "r1", "v0", "", scvtf d0, x1
        does fadd, "v1", "r0", "", fmov x0, d1
        does fadd, "", "v0", "", fmov d0, 1.0
        does vec, "v1 v2", "v0", "", add v0.4s, v1.4s, v2.4s
        does vec, "", "v0", "", movi v0.16b, 1
        does vec, "v0", "v0", "", orr v0.4s, 1
        does vec, "v1 v2 v3", "v0", "", tbl v0.16b, {v1.16b, v2.16b}, v3.16b
        does vec, "v1", "r0", "", umov w0, v1.s[1]
        does vec, "r3 v0", "v0", "", ins v0.s[1], w3
