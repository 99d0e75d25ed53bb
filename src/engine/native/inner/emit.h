// SPDX-License-Identifier: MIT
/*
 * Writing machine code: the few instructions that translations need besides the program's own.
 */
#ifndef HP_NATIVE_EMIT_H
#define HP_NATIVE_EMIT_H

#include "engine/native/inner/inner.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes code at `out` that will run at `at`. They are the same, except when a translation is
 * repeated in a scratch buffer to locate something in it. */
struct hp_emit {
    uint8_t *out;
    uint64_t at;
};

static inline void hp_emit_byte(struct hp_emit *e, unsigned byte)
{
    *e->out++ = (uint8_t)byte;
    e->at++;
}

static inline void hp_emit_u32(struct hp_emit *e, uint32_t value)
{
    __builtin_memcpy(e->out, &value, 4);
    e->out += 4;
    e->at += 4;
}

static inline void hp_emit_u64(struct hp_emit *e, uint64_t value)
{
    __builtin_memcpy(e->out, &value, 8);
    e->out += 8;
    e->at += 8;
}

static inline void hp_emit_bytes(struct hp_emit *e, const uint8_t *bytes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        e->out[i] = bytes[i];
    e->out += n;
    e->at += n;
}

/* The address part of gs:[at], with `reg` as the other operand. */
static inline void hp_emit_gs_operand(struct hp_emit *e, unsigned reg, uint32_t at)
{
    hp_emit_byte(e, 0x04 | (reg & 7) << 3);
    hp_emit_byte(e, 0x25);
    hp_emit_u32(e, at);
}

/* mov gs:[at], reg */
static inline void hp_emit_save(struct hp_emit *e, unsigned reg, uint32_t at)
{
    hp_emit_byte(e, 0x65);
    hp_emit_byte(e, 0x48 | (reg >> 3) << 2);
    hp_emit_byte(e, 0x89);
    hp_emit_gs_operand(e, reg, at);
}

/* mov reg, gs:[at] */
static inline void hp_emit_restore(struct hp_emit *e, unsigned reg, uint32_t at)
{
    hp_emit_byte(e, 0x65);
    hp_emit_byte(e, 0x48 | (reg >> 3) << 2);
    hp_emit_byte(e, 0x8b);
    hp_emit_gs_operand(e, reg, at);
}

/* mov dword gs:[at], value */
static inline void hp_emit_set(struct hp_emit *e, uint32_t at, uint32_t value)
{
    hp_emit_byte(e, 0x65);
    hp_emit_byte(e, 0xc7);
    hp_emit_gs_operand(e, 0, at);
    hp_emit_u32(e, value);
}

/* mov reg, value */
static inline void hp_emit_load_value(struct hp_emit *e, unsigned reg, uint64_t value)
{
    hp_emit_byte(e, 0x48 | reg >> 3);
    hp_emit_byte(e, 0xb8 | (reg & 7));
    hp_emit_u64(e, value);
}

/* mov dword [reg + disp], value; reg is one of the first eight, neither rsp nor rbp */
static inline void hp_emit_store_value(struct hp_emit *e, unsigned reg, int disp, uint32_t value)
{
    hp_emit_byte(e, 0xc7);
    hp_emit_byte(e, (disp ? 0x40 : 0x00) | reg);
    if (disp)
        hp_emit_byte(e, (unsigned)disp & 0xff);
    hp_emit_u32(e, value);
}

/* lea reg, [reg + disp]; as above */
static inline void hp_emit_add(struct hp_emit *e, unsigned reg, int disp)
{
    hp_emit_byte(e, 0x48);
    hp_emit_byte(e, 0x8d);
    hp_emit_byte(e, 0x40 | reg << 3 | reg);
    hp_emit_byte(e, (unsigned)disp & 0xff);
}

/* lea reg, [reg + other + disp]; both of the first eight, neither rsp nor rbp */
static inline void hp_emit_sum(struct hp_emit *e, unsigned reg, unsigned other, int disp)
{
    hp_emit_byte(e, 0x48);
    hp_emit_byte(e, 0x8d);
    hp_emit_byte(e, 0x44 | reg << 3);
    hp_emit_byte(e, other << 3 | reg);
    hp_emit_byte(e, (unsigned)disp & 0xff);
}

/* A displacement to `to`, relative to its own end. */
static inline uint32_t hp_emit_rel(uint64_t behind, uint64_t to)
{
    return (uint32_t)(to - behind);
}

static inline bool hp_emit_reaches(uint64_t from, uint64_t to)
{
    int64_t distance = (int64_t)(to - from);
    return distance >= -0x7fff0000ll && distance <= 0x7fff0000ll;
}

/* jmp to */
static inline void hp_emit_jump(struct hp_emit *e, uint64_t to)
{
    hp_emit_byte(e, 0xe9);
    hp_emit_u32(e, hp_emit_rel(e->at + 4, to));
}

/* Jumps when the condition, as in encodings, holds. */
#define HP_X86_ZERO 4
static inline void hp_emit_jump_if(struct hp_emit *e, unsigned condition, uint64_t to)
{
    hp_emit_byte(e, 0x0f);
    hp_emit_byte(e, 0x80 | condition);
    hp_emit_u32(e, hp_emit_rel(e->at + 4, to));
}

/* Goes to `elsewhere`, which a short displacement reaches, unless rcx is HP_CHECKED; rcx is lost.
 * Needs no flags. JRCXZ is a taken branch where the check succeeds. LOOP is not, and subtracts 1.
 */
#define HP_CHECKED ((int)hp_engine.has_loop)
static inline void hp_emit_check(struct hp_emit *e, uint64_t elsewhere)
{
    static const uint8_t jrcxz[] = {0xe3, 2};
    if (!hp_engine.has_loop)
        hp_emit_bytes(e, jrcxz, sizeof jrcxz);
    hp_emit_byte(e, hp_engine.has_loop ? 0xe2 : 0xeb); /* loop, jmp */
    hp_emit_byte(e, hp_emit_rel(e->at + 1, elsewhere) & 0xff);
}

/* This many bytes of no-ops. */
static inline void hp_emit_nops(struct hp_emit *e, unsigned n)
{
    static const uint8_t nop3[] = {0x0f, 0x1f, 0x00};
    for (; n >= 3; n -= 3)
        hp_emit_bytes(e, nop3, 3);
    for (; n > 0; n--)
        hp_emit_byte(e, 0x90);
}

/* The four bytes at offset `ahead` from here will be patched while other threads execute them: they
 * must lie in one cache line. */
static inline void hp_emit_align_patch(struct hp_emit *e, unsigned ahead)
{
    unsigned in_line = (unsigned)(e->at + ahead) & 63;
    if (in_line > 60)
        hp_emit_nops(e, 64 - in_line);
}

#endif
