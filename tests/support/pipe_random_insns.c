// SPDX-License-Identifier: MIT
#include "pipe_random_insns.h"

/* --- Instructions ----------------------------------------------------------------------------- */

static const struct bytes x86_straight[] = {
    {3, {0x48, 0x01, 0xd8}},                      /* add rax, rbx */
    {3, {0x48, 0x01, 0xc3}},                      /* add rbx, rax */
    {3, {0x48, 0x29, 0xc8}},                      /* sub rax, rcx */
    {2, {0x31, 0xc0}},                            /* xor eax, eax */
    {4, {0x48, 0x8d, 0x04, 0x1b}},                /* lea rax, [rbx + rbx] */
    {3, {0x0f, 0x44, 0xc3}},                      /* cmovz eax, ebx */
    {4, {0x48, 0x0f, 0xaf, 0xc3}},                /* imul rax, rbx */
    {3, {0x48, 0xf7, 0xf3}},                      /* div rbx */
    {3, {0x48, 0x8b, 0x03}},                      /* mov rax, [rbx] */
    {3, {0x48, 0x8b, 0x1b}},                      /* mov rbx, [rbx] */
    {3, {0x48, 0x8b, 0x08}},                      /* mov rcx, [rax] */
    {2, {0x8a, 0x03}},                            /* mov al, [rbx] */
    {3, {0x48, 0x89, 0x03}},                      /* mov [rbx], rax */
    {3, {0x48, 0x89, 0x08}},                      /* mov [rax], rcx */
    {2, {0x88, 0x03}},                            /* mov [rbx], al */
    {3, {0x48, 0x01, 0x03}},                      /* add [rbx], rax */
    {3, {0x48, 0x03, 0x03}},                      /* add rax, [rbx] */
    {3, {0x48, 0x39, 0x03}},                      /* cmp [rbx], rax */
    {1, {0x50}},                                  /* push rax */
    {1, {0x58}},                                  /* pop rax */
    {2, {0xff, 0x33}},                            /* push [rbx] */
    {2, {0x8f, 0x03}},                            /* pop [rbx] */
    {1, {0xc9}},                                  /* leave */
    {2, {0x48, 0xa5}},                            /* movsq */
    {3, {0xf3, 0x48, 0xa5}},                      /* rep movsq */
    {1, {0x90}},                                  /* nop */
    {9, {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}}, /* nop of 9 bytes */
    {4, {0xf2, 0x0f, 0x58, 0xc1}},                /* addsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x59, 0xc1}},                /* mulsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x5e, 0xc1}},                /* divsd xmm0, xmm1 */
    {4, {0xf2, 0x0f, 0x10, 0x03}},                /* movsd xmm0, [rbx] */
    {4, {0xf2, 0x0f, 0x11, 0x03}},                /* movsd [rbx], xmm0 */
    {4, {0xf2, 0x0f, 0x58, 0x03}},                /* addsd xmm0, [rbx] */
    {4, {0x66, 0x0f, 0xfe, 0xc1}},                /* paddd xmm0, xmm1 */
    {4, {0xc5, 0xfe, 0x6f, 0x03}},                /* vmovdqu ymm0, [rbx] */
    {4, {0xc5, 0xfe, 0x7f, 0x03}},                /* vmovdqu [rbx], ymm0 */
    {4, {0xf0, 0x48, 0x01, 0x03}},                /* lock add [rbx], rax */
    {2, {0x0f, 0xa2}},                            /* cpuid */
    {3, {0x0f, 0x18, 0x0b}},                      /* prefetcht0 [rbx] */
};

#define WORD(w)                                                                                    \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            (uint8_t)(w), (uint8_t)((w) >> 8), (uint8_t)((w) >> 16), (uint8_t)((w) >> 24)          \
        }                                                                                          \
    }

static const struct bytes aarch64_straight[] = {
    WORD(0x8b010000u), /* add x0, x0, x1 */
    WORD(0x8b050083u), /* add x3, x4, x5 */
    WORD(0xeb050083u), /* subs x3, x4, x5 */
    WORD(0x9a851083u), /* csel x3, x4, x5, ne */
    WORD(0x9b017c00u), /* mul x0, x0, x1 */
    WORD(0x9ac50c80u), /* sdiv x0, x4, x5 */
    WORD(0xf9400000u), /* ldr x0, [x0] */
    WORD(0xf9400040u), /* ldr x0, [x2] */
    WORD(0xb9400043u), /* ldr w3, [x2] */
    WORD(0xf9000041u), /* str x1, [x2] */
    WORD(0xf9000061u), /* str x1, [x3] */
    WORD(0xb9000041u), /* str w1, [x2] */
    WORD(0xa8c11043u), /* ldp x3, x4, [x2], #16 */
    WORD(0xa9bf1043u), /* stp x3, x4, [x2, #-16]! */
    WORD(0xf8408443u), /* ldr x3, [x2], #8 */
    WORD(0xf8008c43u), /* str x3, [x2, #8]! */
    WORD(0x1e632841u), /* fadd d1, d2, d3 */
    WORD(0x1e610800u), /* fmul d0, d0, d1 */
    WORD(0x1f420020u), /* fmadd d0, d1, d2, d0 */
    WORD(0x1e621820u), /* fdiv d0, d1, d2 */
    WORD(0xfd400040u), /* ldr d0, [x2] */
    WORD(0x4ea38441u), /* add v1.4s, v2.4s, v3.4s */
    WORD(0xf8210043u), /* ldadd x1, x3, [x2] */
    WORD(0xc85f7c43u), /* ldxr x3, [x2] */
    WORD(0xd5033bbfu), /* dmb ish */
    WORD(0xd503201fu), /* nop */
    WORD(0xf9800040u), /* prfm pldl1keep, [x2] */
};

static const struct bytes riscv_straight[] = {
    WORD(0x00c58533u), /* add a0, a1, a2 */
    {2, {0x2e, 0x95}}, /* c.add a0, a1 */
    WORD(0x02b50533u), /* mul a0, a0, a1 */
    WORD(0x02c5c533u), /* div a0, a1, a2 */
    WORD(0x02c5f553u), /* fadd.d fa0, fa1, fa2 */
    WORD(0x12b57553u), /* fmul.d fa0, fa0, fa1 */
    WORD(0x1ac5f553u), /* fdiv.d fa0, fa1, fa2 */
    {2, {0x88, 0x61}}, /* c.ld a0, 0(a1) */
    {2, {0x88, 0xe1}}, /* c.sd a0, 0(a1) */
    {2, {0x4c, 0x42}}, /* c.lw a1, 4(a2) */
    WORD(0x00a60023u), /* sb a0, 0(a2) */
    {2, {0x88, 0x21}}, /* c.fld fa0, 0(a1) */
    WORD(0x00c5b52fu), /* amoadd.d a0, a2, (a1) */
    WORD(0x0ff0000fu), /* fence */
    {2, {0x01, 0x00}}, /* c.nop */
};

static const struct bytes arm_straight[] = {
    WORD(0xe0800001u), /* add r0, r0, r1 */
    WORD(0x10800001u), /* addne r0, r0, r1 */
    WORD(0xe0543005u), /* subs r3, r4, r5 */
    WORD(0xe0000190u), /* mul r0, r0, r1 */
    WORD(0xe730f514u), /* udiv r0, r4, r5 */
    WORD(0xe5900000u), /* ldr r0, [r0] */
    WORD(0xe5920000u), /* ldr r0, [r2] */
    WORD(0x15920000u), /* ldrne r0, [r2] */
    WORD(0xe5821000u), /* str r1, [r2] */
    WORD(0xe5c21000u), /* strb r1, [r2] */
    WORD(0xe4923004u), /* ldr r3, [r2], #4 */
    WORD(0xe5a23004u), /* str r3, [r2, #4]! */
    WORD(0xe8b20018u), /* ldm r2!, {r3, r4} */
    WORD(0xe92d0030u), /* push {r4, r5} */
    WORD(0xe8bd0030u), /* pop {r4, r5} */
    WORD(0xee321b03u), /* vadd.f64 d1, d2, d3 */
    WORD(0xee200b01u), /* vmul.f64 d0, d0, d1 */
    WORD(0xee810b02u), /* vdiv.f64 d0, d1, d2 */
    WORD(0xed920b00u), /* vldr d0, [r2] */
    WORD(0xe1923f9fu), /* ldrex r3, [r2] */
    WORD(0xf57ff05fu), /* dmb sy */
    WORD(0xe320f000u), /* nop */
};

const struct arch random_archs[RANDOM_ARCHS] = {
    {HP_ARCH_X86_64, x86_straight, sizeof x86_straight / sizeof *x86_straight},
    {HP_ARCH_AARCH64, aarch64_straight, sizeof aarch64_straight / sizeof *aarch64_straight},
    {HP_ARCH_RISCV64, riscv_straight, sizeof riscv_straight / sizeof *riscv_straight},
    {HP_ARCH_ARM, arm_straight, sizeof arm_straight / sizeof *arm_straight},
};

/* --- Transfers -------------------------------------------------------------------------------- */

static struct bytes x86_end(enum end end, uint32_t random)
{
    switch (end) {
    case END_COND: return (struct bytes){6, {0x0f, (uint8_t)(0x80 | (random * 5 + 4) % 16)}};
    case END_JUMP: return (struct bytes){5, {0xe9}};
    case END_CALL: return (struct bytes){5, {0xe8}};
    case END_RETURN: return (struct bytes){1, {0xc3}};
    case END_JUMP_IND: return (struct bytes){2, {0xff, 0xe0}};
    case END_CALL_IND: return (struct bytes){2, {0xff, 0xd0}};
    case END_JUMP_MEM: return (struct bytes){2, {0xff, 0x23}};
    case END_CALL_MEM: return (struct bytes){2, {0xff, 0x13}};
    default: return (struct bytes){2, {0x0f, 0x05}};
    }
}

static struct bytes aarch64_end(enum end end, uint32_t random)
{
    switch (end) {
    case END_COND:
        if (random % 2)
            return (struct bytes)WORD(0xb4000003u); /* cbz x3 */
        return (struct bytes)WORD(0x54000001u);     /* b.ne */
    case END_JUMP: return (struct bytes)WORD(0x14000000u);
    case END_CALL: return (struct bytes)WORD(0x94000000u);
    case END_RETURN: return (struct bytes)WORD(0xd65f03c0u);
    case END_JUMP_IND:
    case END_JUMP_MEM: return (struct bytes)WORD(0xd61f0120u);
    case END_CALL_IND:
    case END_CALL_MEM: return (struct bytes)WORD(0xd63f0120u);
    default: return (struct bytes)WORD(0xd4000001u);
    }
}

static struct bytes riscv_end(enum end end)
{
    switch (end) {
    case END_COND: return (struct bytes)WORD(0x00b50063u); /* beq a0, a1 */
    case END_JUMP: return (struct bytes)WORD(0x0000006fu); /* jal zero */
    case END_CALL: return (struct bytes)WORD(0x000000efu); /* jal ra */
    case END_RETURN: return (struct bytes)WORD(0x00008067u);
    case END_JUMP_IND:
    case END_JUMP_MEM: return (struct bytes)WORD(0x00030067u); /* jr t1 */
    case END_CALL_IND:
    case END_CALL_MEM: return (struct bytes)WORD(0x000300e7u); /* jalr t1 */
    default: return (struct bytes)WORD(0x00000073u);
    }
}

/* Calls and returns may be conditional too: `random`. */
static struct bytes arm_end(enum end end, uint32_t random)
{
    uint32_t always = random % 3 ? 0xe0000000u : 0x10000000u;
    switch (end) {
    case END_COND: return (struct bytes)WORD(0x1a000000u); /* bne */
    case END_JUMP: return (struct bytes)WORD(0xea000000u);
    case END_CALL: return (struct bytes)WORD(0x0b000000u | always);
    case END_RETURN:
        if (random % 2)
            return (struct bytes)WORD(0x049df004u | always); /* pop {pc} */
        return (struct bytes)WORD(0x012fff1eu | always);     /* bx lr */
    case END_JUMP_IND:
    case END_JUMP_MEM: return (struct bytes)WORD(0x012fff13u | always); /* bx r3 */
    case END_CALL_IND:
    case END_CALL_MEM: return (struct bytes)WORD(0x012fff33u | always); /* blx r3 */
    default: return (struct bytes)WORD(0xef000000u);
    }
}

static uint32_t get_word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void set_word(uint8_t *p, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(word >> 8 * i);
}

void random_end_lead(enum hp_arch arch, enum end end, uint8_t *insn, uint32_t length,
                     int32_t distance)
{
    uint32_t d = (uint32_t)distance, word = get_word(insn);
    if (arch == HP_ARCH_X86_64)
        set_word(insn + length - 4, d - length);
    else if (arch == HP_ARCH_ARM)
        set_word(insn, word | ((d - 8) >> 2 & 0xffffff));
    else if (arch == HP_ARCH_AARCH64 && end == END_COND)
        set_word(insn, word | (d >> 2 & 0x7ffff) << 5);
    else if (arch == HP_ARCH_AARCH64)
        set_word(insn, word | (d >> 2 & 0x3ffffff));
    else if (end == END_COND)
        set_word(insn, word | (d >> 12 & 1) << 31 | (d >> 5 & 0x3f) << 25 | (d >> 1 & 0xf) << 8 |
                           (d >> 11 & 1) << 7);
    else
        set_word(insn, word | (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
                           (d >> 12 & 0xff) << 12);
}

struct bytes random_end(enum hp_arch arch, enum end end, uint32_t random)
{
    switch (arch) {
    case HP_ARCH_AARCH64: return aarch64_end(end, random);
    case HP_ARCH_ARM: return arm_end(end, random);
    case HP_ARCH_RISCV64: return riscv_end(end);
    default: return x86_end(end, random);
    }
}
