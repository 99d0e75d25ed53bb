# SPDX-License-Identifier: MIT
        .include "expect.inc"
        .option norelax
        .text
        .globl _start
_start:
back:
        .option norvc
        is none, 0, -, nop
        is none, 0, -, ld a0, 0(a1)
        is jump, back, -, jal x0, back
        is jump, ahead, -, jal x0, ahead
        is jump, back, -, jal x10, back
        is call, back, -, jal x1, back
        is call, ahead, -, jal x5, ahead
        is cond, back, C, beq a0, a1, back
        is cond, ahead, C, bne a0, a1, ahead
        is cond, back, C, blt a0, a1, back
        is cond, back, C, bge a0, a1, back
        is cond, back, C, bltu a0, a1, back
        is cond, back, C, bgeu a0, a1, back
        is cond, ahead, C, beqz a0, ahead
        is jump_ind, 0, -, jalr x0, 0(a0)
        is jump_ind, 0, -, jalr x7, 0(a0)
        is jump_ind, 0, -, jalr x7, 16(a0)
        is call_ind, 0, -, jalr x1, 0(a0)
        is call_ind, 0, -, jalr x5, -4(a0)
        is call_ind, 0, -, jalr x1, 0(x5)
        is call_ind, 0, -, jalr x1, 0(x1)
        is return, 0, -, jalr x0, 0(x1)
        is return, 0, -, jalr x0, 0(x5)
        is return, 0, -, jalr x7, 0(x1)
        is return, 0, -, mret
        is return, 0, -, sret
        is syscall, 0, -, ecall
        is trap, 0, -, ebreak
        is trap, 0, -, unimp
        is none, 0, -, wfi
        is none, 0, -, fence
        is none, 0, -, csrrw a0, fcsr, a1
        is none, 0, A, lr.w a0, (a1)
        is none, 0, A, sc.d.aqrl a0, a2, (a1)
        is none, 0, A, amoadd.w a0, a2, (a1)
        .option rvc
back2:
        is none, 0, -, c.nop
        is jump, back2, -, c.j back2
        is jump, ahead2, -, c.j ahead2
        is cond, back2, C, c.beqz a0, back2
        is cond, ahead2, C, c.bnez a5, ahead2
        is jump_ind, 0, -, c.jr a0
        is return, 0, -, c.jr ra
        is return, 0, -, c.jr t0
        is call_ind, 0, -, c.jalr a0
        is call_ind, 0, -, c.jalr ra
        is trap, 0, -, c.ebreak
        is trap, 0, -, c.unimp
        is none, 0, -, c.mv a0, a1
ahead2:
        .option norvc
ahead:
        does nop, "", "", "", nop
        does alu, "r11", "r10", "", addi a0, a1, 1
        does alu, "r11 r12", "r10", "", sub a0, a1, a2
        does alu, "r11", "r10", "", slli a0, a1, 40
        does alu, "", "r10", "", lui a0, 5
        does alu, "", "r10", "", auipc a0, 5
        does alu, "r11 r12", "", "", add x0, a1, a2
        does mul, "r11 r12", "r10", "", mulhu a0, a1, a2
        does div, "r11 r12", "r10", "", remw a0, a1, a2
        does load, "r11", "r10", "8r[r11-8]", ld a0, -8(a1)
        does load, "r11", "r10", "1r[r11+5]", lbu a0, 5(a1)
        does store, "r10 r11", "", "4w[r11+12]", sw a0, 12(a1)
        does load, "r11", "v10", "8r[r11+16]", fld fa0, 16(a1)
        does store, "r11 v10", "", "4w[r11-4]", fsw fa0, -4(a1)
        does atomic, "r11", "r10", "8r[r11]", lr.d a0, (a1)
        does atomic, "r11 r12", "r10", "4w[r11]", sc.w a0, a2, (a1)
        does atomic, "r11 r12", "r10", "8rw[r11]", amoswap.d a0, a2, (a1)
        does atomic, "", "", "", fence
        does fadd, "v11 v12", "v10", "", fadd.d fa0, fa1, fa2
        does fmul, "v11 v12", "v10", "", fmul.s fa0, fa1, fa2
        does fmul, "v11 v12 v13", "v10", "", fmadd.d fa0, fa1, fa2, fa3
        does fdiv, "v11", "v10", "", fsqrt.d fa0, fa1
        does fadd, "v11 v12", "r10", "", flt.d a0, fa1, fa2
        does fadd, "v11", "r10", "", fcvt.l.d a0, fa1
        does fadd, "r11", "v10", "", fcvt.d.w fa0, a1
        does fadd, "v11", "v10", "", fcvt.s.d fa0, fa1
        does fadd, "v11", "r10", "", fmv.x.d a0, fa1
        does system, "r11", "r10", "", csrrs a0, fcsr, a1
        does system, "", "r10", "", csrrwi a0, fcsr, 3
        does branch, "r10 r11", "", "", blt a0, a1, ahead
        does branch, "", "r1", "", jal x1, ahead
        does branch, "r1", "", "", ret
        does system, "", "", "", ecall
        .option rvc
        does alu, "r2", "r10", "", c.addi4spn a0, sp, 64
        does load, "r9", "v8", "8r[r9+8]", c.fld fs0, 8(s1)
        does load, "r9", "r8", "4r[r9+4]", c.lw s0, 4(s1)
        does load, "r9", "r8", "8r[r9+248]", c.ld s0, 248(s1)
        does store, "r9 v8", "", "8w[r9+8]", c.fsd fs0, 8(s1)
        does store, "r8 r9", "", "4w[r9+124]", c.sw s0, 124(s1)
        does store, "r8 r9", "", "8w[r9+72]", c.sd s0, 72(s1)
        does alu, "r20", "r20", "", c.addi s4, -3
        does alu, "r20", "r20", "", c.addiw s4, -3
        does alu, "", "r20", "", c.li s4, -3
        does alu, "", "r20", "", c.lui s4, 3
        does alu, "r2", "r2", "", c.addi16sp sp, -496
        does alu, "r8", "r8", "", c.srli s0, 33
        does alu, "r8", "r8", "", c.srai s0, 33
        does alu, "r8", "r8", "", c.andi s0, -2
        does alu, "r8 r9", "r8", "", c.sub s0, s1
        does alu, "r8 r9", "r8", "", c.xor s0, s1
        does alu, "r8 r9", "r8", "", c.or s0, s1
        does alu, "r8 r9", "r8", "", c.and s0, s1
        does alu, "r8 r9", "r8", "", c.subw s0, s1
        does alu, "r8 r9", "r8", "", c.addw s0, s1
        does branch, "", "", "", c.j ahead2
        does branch, "r8", "", "", c.beqz s0, ahead2
        does alu, "r20", "r20", "", c.slli s4, 50
        does load, "r2", "v20", "8r[r2+504]", c.fldsp fs4, 504(sp)
        does load, "r2", "r20", "4r[r2+252]", c.lwsp s4, 252(sp)
        does load, "r2", "r20", "8r[r2+40]", c.ldsp s4, 40(sp)
        does branch, "r20", "r1", "", c.jalr s4
        does alu, "r21", "r20", "", c.mv s4, s5
        does alu, "r20 r21", "r20", "", c.add s4, s5
        does store, "r2 v20", "", "8w[r2+504]", c.fsdsp fs4, 504(sp)
        does store, "r2 r20", "", "4w[r2+252]", c.swsp s4, 252(sp)
        does store, "r2 r20", "", "8w[r2+40]", c.sdsp s4, 40(sp)
