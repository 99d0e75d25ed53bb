# SPDX-License-Identifier: MIT
        .include "expect.inc"
        .set noat
        .set noreorder
        .set nomacro
        .arch ev67
        .text
        .globl _start
_start:
back:
        is none, 0, -, addq $1, $2, $3
        is jump, back, -, br $31, back
        is jump, ahead, -, br $31, ahead
        is jump, ahead, -, br $29, ahead
        is none, 0, -, br $29, .+4
        is none, 0, -, bsr $26, .+4
        is call, back, -, bsr $26, back
        is cond, back, C, beq $1, back
        is cond, ahead, C, bne $1, ahead
        is cond, back, C, blt $1, back
        is cond, back, C, ble $1, back
        is cond, back, C, bgt $1, back
        is cond, back, C, bge $1, back
        is cond, back, C, blbc $1, back
        is cond, back, C, blbs $1, back
        is cond, back, C, fbeq $f1, back
        is cond, ahead, C, fbne $f1, ahead
        is cond, back, C, fblt $f1, back
        is cond, back, C, fble $f1, back
        is cond, back, C, fbgt $f1, back
        is cond, back, C, fbge $f1, back
        is jump_ind, 0, -, jmp $31, ($1), 0
        is call_ind, 0, -, jsr $26, ($27), 0
        is return, 0, -, ret $31, ($26), 1
        is jump_ind, 0, -, jsr_coroutine $26, ($27), 0
        is syscall, 0, -, call_pal 0x83
        is trap, 0, -, call_pal 0x80
        is trap, 0, -, call_pal 0x81
        is trap, 0, -, call_pal 0xaa
        is none, 0, -, call_pal 0x86
        is none, 0, -, call_pal 0x9e
        is none, 0, -, call_pal 0x9f
        is none, 0, A, ldq_l $1, 0($2)
        is none, 0, A, stl_c $1, 0($2)
        is none, 0, -, mb
        is none, 0, -, ldq $1, 0($2)
ahead:
        does alu, "r1 r2", "r3", "", addq $1, $2, $3
        does alu, "r1", "r3", "", addq $1, 5, $3
        does alu, "r1 r2 r3", "r3", "", cmoveq $1, $2, $3
        does alu, "r2", "r1", "", lda $1, 16($2)
        does mul, "r1 r2", "r3", "", mulq $1, $2, $3
        does load, "r2", "r1", "8r[r2-8]", ldq $1, -8($2)
        does load, "r2", "r1", "1r[r2+3]", ldbu $1, 3($2)
        does store, "r1 r2", "", "4w[r2+4]", stl $1, 4($2)
        does load, "r2", "v1", "8r[r2]", ldt $f1, 0($2)
        does store, "r2 v1", "", "4w[r2+4]", sts $f1, 4($2)
        does atomic, "r2", "r1", "8r[r2]", ldq_l $1, 0($2)
        does atomic, "r1 r2", "r1", "8w[r2]", stq_c $1, 0($2)
        does atomic, "", "", "", mb
        does nop, "", "", "", ldq_u $31, 0($30)
        does nop, "", "", "", bis $31, $31, $31
        does fadd, "v1 v2", "v3", "", addt $f1, $f2, $f3
        does fmul, "v1 v2", "v3", "", muls/su $f1, $f2, $f3
        does fdiv, "v1 v2", "v3", "", divt $f1, $f2, $f3
        does fdiv, "v2", "v3", "", sqrtt $f2, $f3
        does fadd, "v2", "v3", "", cvtqt $f2, $f3
        does fadd, "v2", "v3", "", cvtst $f2, $f3
        does fadd, "v1 v2", "v3", "", cpys $f1, $f2, $f3
        does fadd, "v1", "r3", "", ftoit $f1, $3
        does fadd, "r1", "v3", "", itoft $1, $f3
        does branch, "r1", "", "", beq $1, ahead
        does branch, "", "r26", "", bsr $26, ahead
        does branch, "r27", "r26", "", jsr $26, ($27), 0
        does branch, "r26", "", "", ret $31, ($26), 1
        does system, "", "r0", "", call_pal 0x9e
        does system, "r16", "", "", call_pal 0x9f
        does system, "", "r1", "", rpcc $1
