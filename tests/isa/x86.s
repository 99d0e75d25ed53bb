# SPDX-License-Identifier: MIT
        .include "expect.inc"
        .intel_syntax noprefix
        .text
        .globl _start
_start:
back:
        is none, 0, -, nop
        is none, 0, -, mov rax, [rbx]
        is jump, back, -, jmp back
        is jump, far_away, -, jmp far_away
        is cond, back, C, jo back
        is cond, back, C, jno back
        is cond, back, C, jb back
        is cond, back, C, jae back
        is cond, back, C, je back
        is cond, back, C, jne back
        is cond, back, C, jbe back
        is cond, back, C, ja back
        is cond, back, C, js back
        is cond, back, C, jns back
        is cond, back, C, jp back
        is cond, back, C, jnp back
        is cond, back, C, jl back
        is cond, back, C, jge back
        is cond, back, C, jle back
        is cond, back, C, jg back
        is cond, far_away, C, je far_away
        is cond, far_away, C, jg far_away
        is cond, close_by, C, jrcxz close_by
        is cond, close_by, C, jecxz close_by
        is cond, close_by, C, loop close_by
        is cond, close_by, C, loope close_by
        is cond, close_by, C, loopne close_by
close_by:
        is cond, far_away, C, xbegin far_away
        is none, 0, -, xend
        is none, 0, -, xabort 1
        is jump, far_away, -, bnd jmp far_away
        is jump_ind, 0, -, jmp rax
        is jump_ind, 0, -, jmp [rax + 8]
        is jump_ind, 0, -, jmp [rip + 8]
        is jump_ind, 0, -, notrack jmp rax
        is jump_ind, 0, -, jmp fword ptr [rax]
        is call, back, -, call back
        is call_ind, 0, -, call rax
        is call_ind, 0, -, call [rax*8 + 16]
        is call_ind, 0, -, call fword ptr [rax]
        is return, 0, -, ret
        is return, 0, -, ret 8
        is return, 0, -, rep ret
        is return, 0, -, bnd ret
        is return, 0, -, rex.w retf
        is return, 0, -, iretq
        is syscall, 0, -, syscall
        is syscall, 0, -, sysenter
        is syscall, 0, -, int 0x80
        is trap, 0, -, int 0x21
        is trap, 0, -, int3
        is trap, 0, -, int1
        is trap, 0, -, ud2
        is trap, 0, -, ud1 eax, ebx
        is trap, 0, -, ud0 eax, ebx
        is trap, 0, -, hlt
        is none, 0, -, pause
        is none, 0, -, endbr64
        is none, 0, -, cmove eax, ebx
        is none, 0, -, movsb
        is none, 0, R, rep movsb
        is none, 0, R, rep movsq
        is none, 0, R, rep stosd
        is none, 0, R, repe cmpsb
        is none, 0, R, repne scasb
        is none, 0, R, rep lodsb
        is none, 0, R, rep insb
        is none, 0, R, rep outsb
        is none, 0, -, movsd xmm0, xmm1
        is none, 0, -, movss xmm0, xmm1
        is none, 0, -, popcnt eax, ebx
        is none, 0, -, tzcnt eax, ebx
        is none, 0, A, lock add [rax], ebx
        is none, 0, A, lock cmpxchg [rax], ebx
        is none, 0, A, xchg [rax], ebx
        is none, 0, -, xchg rax, rbx
        is none, 0, -, mfence
        is none, 0, -, vaddps zmm1 {k2}, zmm3, zmm4
far_away_pad:
        .fill 300, 1, 0x90
far_away:
        does nop, "", "", "", nop
        does nop, "r0", "", "", nop dword ptr [rax]
        does nop, "", "", "", endbr64
        does alu, "r0 r3", "r0 flags", "", add rax, rbx
        does alu, "r3", "r0", "", mov rax, rbx
        does alu, "r0 r3", "r0", "", mov al, bl
        does alu, "r0 r3", "r0", "", mov ah, bl
        does alu, "r3", "r0", "", mov eax, ebx
        does alu, "r0 r3", "r0", "", mov ax, bx
        does alu, "r0 flags", "r0", "", setne al
        does alu, "r0 r3 flags", "r0", "", cmovne rax, rbx
        does alu, "r1 r4", "r0", "", lea rax, [rsp + rcx*4 + 8]
        does load, "r3", "r0", "8r[r3+16]", mov rax, [rbx + 16]
        does load, "r13 r15", "r8", "4r[r13+r15*4-8]", mov r8d, [r13 + r15*4 - 8]
        does load, "", "r0", "8r[pc+32]", mov rax, [rip + 32]
        does load, "r3", "r0", "1r[r3]", movzx eax, byte ptr [rbx]
        does store, "r0 r3", "", "8w[r3]", mov [rbx], rax
        does store, "r4 r5", "r4", "8w[r4-8]", push rbp
        does load, "r4", "r4 r5", "8r[r4]", pop rbp
        does store, "r3 r4", "r4", "8r[r3] 8w[r4-8]", push [rbx]
        does alu, "r3", "flags", "4rw[r3]", add dword ptr [rbx], 5
        does alu, "r3", "flags", "4r[r3]", cmp dword ptr [rbx], 5
        does mul, "r0 r3", "r0 flags", "", imul rax, rbx
        does mul, "r0 r3", "r0 r2 flags", "", mul rbx
        does div, "r0 r2 r3", "r0 r2 flags", "", div rbx
        does atomic, "r0 r3", "flags", "4rw[r3]", lock add [rbx], eax
        does atomic, "", "", "", mfence
        does string, "r1 r6 r7 flags", "r1 r6 r7", "8r[r6] 8w[r7]", rep movsq
        does branch, "flags", "", "", jne far_away
        does branch, "r4", "r4", "8w[r4-8]", call far_away
        does branch, "r4", "r4", "8r[r4]", ret
        does branch, "r0", "", "8r[r0+8]", jmp [rax + 8]
        does fadd, "v0 v1", "v0", "", addsd xmm0, xmm1
        does fadd, "v2 v3", "v1", "", vaddps ymm1, ymm2, ymm3
        does fmul, "v0 v1", "v0", "", mulps xmm0, xmm1
        does fmul, "v1 v2 v3", "v1", "", vfmadd231pd ymm1, ymm2, ymm3
        does fdiv, "v0 v1", "v0", "", divsd xmm0, xmm1
        does fdiv, "v1", "v0", "", sqrtps xmm0, xmm1
        does fadd, "v1", "r0", "", cvttsd2si eax, xmm1
        does fadd, "v0 v1", "flags", "", ucomisd xmm0, xmm1
        does vec, "v0 v1", "v0", "", paddd xmm0, xmm1
        does vec, "v0 v1", "v0", "", pxor xmm0, xmm1
        does load, "r3 v0", "v0", "8r[r3]", movhps xmm0, [rbx]
        does load, "r3", "v0", "8r[r3]", movsd xmm0, [rbx]
        does store, "r3 v0", "", "8w[r3]", movsd [rbx], xmm0
        does store, "r3 v0", "", "8w[r3]", movlps [rbx], xmm0
        does vec, "v0 v1", "v0", "", movsd xmm0, xmm1
        does vec, "v0 v1", "v0", "", movlhps xmm0, xmm1
        does fdiv, "r3 v0", "v0", "8r[r3]", sqrtsd xmm0, [rbx]
        does fadd, "v0 v1", "v0", "", cvtss2sd xmm0, xmm1
        does vec, "", "v0", "", pxor xmm0, xmm0
        does vec, "", "v0", "", xorps xmm0, xmm0
        does vec, "", "v1", "", vpxor ymm1, ymm2, ymm2
        does vec, "v2", "v1", "", vpor ymm1, ymm2, ymm2
        does vec, "", "v3", "", vpxord zmm3, zmm4, zmm4
        does vec, "v3 v4 v33", "v3", "", vpxord zmm3 {k1}, zmm4, zmm4
        does vec, "", "v0", "", pcmpeqd xmm0, xmm0
        does vec, "", "v35", "", vpcmpeqd k3, zmm1, zmm1
        does vec, "v40", "v40", "", pxor mm0, mm0
        does alu, "", "r0 flags", "", xor eax, eax
        does alu, "", "r9 flags", "", sub r9, r9
        does alu, "r0", "r0 flags", "", xor ax, ax
        does alu, "r0", "r0 flags", "", xor al, al
        does alu, "r0 r3", "r0 flags", "", xor eax, ebx
        does alu, "r0", "r0 flags", "", add eax, eax
        does alu, "r0", "flags", "", cmp eax, eax
        does vec, "v0 v1", "v0", "", pmulld xmm0, xmm1
        does vec, "v0 v1", "v0", "", aesenc xmm0, xmm1
        does vec, "v1", "v0", "", movaps xmm0, xmm1
        does load, "r3", "v0", "16r[r3]", movups xmm0, [rbx]
        does store, "r3 v0", "", "16w[r3]", movups [rbx], xmm0
        does load, "r3", "v1", "64r[r3]", vmovups zmm1, [rbx]
        does fadd, "r3 v0", "v0", "8r[r3]", addsd xmm0, [rbx]
        does fadd, "v1 v3 v4 v34", "v1", "", vaddps zmm1 {k2}, zmm3, zmm4
        does vec, "v33 v34", "v35", "", kandw k3, k1, k2
        does system, "", "r0 r2", "", rdtsc
        does system, "", "", "", ud2
