// SPDX-License-Identifier: MIT
/*
 * RISC-V (RV64GC and some later extensions), from our own table; see riscv_table.c.
 */
#include "isa/riscv_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct rv_state {
    struct rv_range ranges[32]; /* rows by major opcode: a decode examines only a few */
};

static enum hp_err rv_open(void **state)
{
    struct rv_state *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    for (size_t i = 0; i < hp_rv_row_count; i++) {
        struct rv_range *range = &s->ranges[hp_bits(hp_rv_rows[i].match, 2, 5)];
        if (range->last == 0)
            range->first = (uint16_t)i;
        range->last = (uint16_t)(i + 1);
    }
    *state = s;
    return HP_OK;
}

// The 32-bit word and the length; 0 when it is cut off, reserved, or longer than 32 bits.
static uint32_t fetch(const struct hp_isa_bytes *bytes, uint8_t *length)
{
    uint32_t half = hp_le16(bytes->code);
    if ((half & 3) != 3) {
        *length = 2;
        return hp_rv_expand(half);
    }
    *length = 4;
    return bytes->size >= 4 ? hp_le32(bytes->code) : 0;
}

static const struct rv_row *find_row(const struct rv_state *s, uint32_t word)
{
    const struct rv_range *range = &s->ranges[hp_bits(word, 2, 5)];
    for (size_t i = range->first; i < range->last; i++)
        if ((word & hp_rv_rows[i].mask) == hp_rv_rows[i].match)
            return &hp_rv_rows[i];
    return NULL;
}

static int64_t immediate(uint32_t w, enum rv_imm kind)
{
    switch (kind) {
    case RV_IMM_I: return hp_sign(w >> 20, 12);
    case RV_IMM_SHIFT: return hp_bits(w, 20, 6);
    case RV_IMM_S: return hp_sign(hp_bits(w, 7, 5) | hp_bits(w, 25, 7) << 5, 12);
    case RV_IMM_B:
        return hp_sign(hp_bits(w, 8, 4) << 1 | hp_bits(w, 25, 6) << 5 | hp_bits(w, 7, 1) << 11 |
                           hp_bits(w, 31, 1) << 12,
                       13);
    case RV_IMM_U: return hp_sign(w & 0xfffff000u, 32);
    case RV_IMM_J:
        return hp_sign(hp_bits(w, 21, 10) << 1 | hp_bits(w, 20, 1) << 11 | hp_bits(w, 12, 8) << 12 |
                           hp_bits(w, 31, 1) << 20,
                       21);
    case RV_IMM_CSR:
    case RV_IMM_CSRI: return w >> 20;
    case RV_IMM_NONE:
    case RV_IMM_ZERO: break;
    }
    return 0;
}

// --- control flow ---

static bool is_link(uint32_t reg)
{
    return reg == 1 || reg == 5;
}

// The psABI's hints identify calls and returns; the hardware's return stack uses them too.
static void decode_flow(uint32_t w, const struct rv_row *row, struct hp_insn *insn)
{
    insn->flow = row->flow;
    if (row->op == HP_OP_ATOMIC && row->mem)
        insn->flags |= HP_INSN_ATOMIC;
    uint32_t rd = hp_bits(w, 7, 5);
    if (row->flow == HP_FLOW_COND) {
        insn->flags |= HP_INSN_CONDITIONAL;
        insn->target = insn->address + (uint64_t)immediate(w, RV_IMM_B);
    } else if (row->flow == HP_FLOW_JUMP) {
        insn->target = insn->address + (uint64_t)immediate(w, RV_IMM_J);
        insn->flow = is_link(rd) ? HP_FLOW_CALL : HP_FLOW_JUMP;
    } else if (row->flow == HP_FLOW_JUMP_IND) {
        if (is_link(rd))
            insn->flow = HP_FLOW_CALL_IND;
        else if (is_link(hp_bits(w, 15, 5)))
            insn->flow = HP_FLOW_RETURN;
    }
}

// --- registers and memory ---

static uint64_t x_bit(uint32_t reg)
{
    return reg ? (uint64_t)1 << reg : 0;
}

static void decode_registers(uint32_t w, uint16_t regs, struct hp_insn *insn)
{
    uint32_t d = hp_bits(w, 7, 5), a = hp_bits(w, 15, 5);
    uint32_t b = hp_bits(w, 20, 5), c = hp_bits(w, 27, 5);
    if (regs & RV_DX)
        insn->writes.gpr |= x_bit(d);
    if (regs & RV_DF)
        insn->writes.vec |= (uint64_t)1 << d;
    if (regs & RV_DV)
        insn->writes.vec |= (uint64_t)1 << (32 + d);
    if (regs & RV_AX)
        insn->reads.gpr |= x_bit(a);
    if (regs & RV_AF)
        insn->reads.vec |= (uint64_t)1 << a;
    if (regs & RV_AV)
        insn->reads.vec |= (uint64_t)1 << (32 + a);
    if (regs & RV_BX)
        insn->reads.gpr |= x_bit(b);
    if (regs & RV_BF)
        insn->reads.vec |= (uint64_t)1 << b;
    if (regs & RV_BV)
        insn->reads.vec |= (uint64_t)1 << (32 + b);
    if (regs & RV_CF)
        insn->reads.vec |= (uint64_t)1 << c;
    if (regs & RV_EV)
        insn->reads.vec |= (uint64_t)1 << (32 + d);
}

static void decode_memory(uint32_t w, const struct rv_row *row, struct hp_insn *insn)
{
    uint32_t base = hp_bits(w, 15, 5);
    hp_isa_add_mem(insn, (struct hp_mem){
                             .base = base ? (uint8_t)base : HP_MEM_NOREG,
                             .index = HP_MEM_NOREG,
                             .read = (row->mem & RV_MEM_READ) != 0,
                             .write = (row->mem & RV_MEM_WRITE) != 0,
                             .size = row->mem & RV_MEM_SIZE,
                             .disp = immediate(w, (enum rv_imm)row->imm),
                         });
}

static bool rv_decode(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                      struct hp_insn *insn)
{
    uint32_t word = fetch(bytes, &insn->length);
    const struct rv_row *row = (word & 3) == 3 ? find_row(state, word) : NULL;
    if (!row)
        return false;
    decode_flow(word, row, insn);
    if (flow_only)
        return true;
    insn->op = row->op;
    decode_registers(word, row->regs, insn);
    if (row->mem)
        decode_memory(word, row, insn);
    return true;
}

// --- text: the standard mnemonic without aliases, a compressed one by what it stands for ---

static const char *const x_names[32] = {
    "zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
    "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
    "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};
static const char *const f_names[32] = {
    "ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1",  "fa0",
    "fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4",  "fs5",
    "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};

struct line {
    char text[96];
    int length;
};

static void __attribute__((format(printf, 2, 3))) append(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof line->text - (size_t)line->length;
    int more = vsnprintf(line->text + line->length, room, format, args);
    va_end(args);
    if (more > 0 && (size_t)more < room)
        line->length += more;
}

static void append_reg(struct line *line, uint32_t reg, bool x, bool f)
{
    const char *separator = line->length && line->text[line->length - 1] == ' ' ? "" : ", ";
    if (x || f)
        append(line, "%s%s", separator, x ? x_names[reg] : f_names[reg]);
    else
        append(line, "%sv%u", separator, reg);
}

static void append_operands(struct line *line, uint64_t address, uint32_t w,
                            const struct rv_row *row)
{
    uint16_t regs = row->regs;
    int64_t imm = immediate(w, (enum rv_imm)row->imm);
    if (regs & (RV_DX | RV_DF | RV_DV | RV_EV))
        append_reg(line, hp_bits(w, 7, 5), regs & RV_DX, regs & RV_DF);
    if (row->mem || row->flow == HP_FLOW_JUMP_IND) { // the data register, then the address
        if (regs & (RV_BX | RV_BF | RV_BV))
            append_reg(line, hp_bits(w, 20, 5), regs & RV_BX, regs & RV_BF);
        append(line, ", %lld(%s)", (long long)imm, x_names[hp_bits(w, 15, 5)]);
        return;
    }
    if (row->imm == RV_IMM_CSR || row->imm == RV_IMM_CSRI)
        append(line, ", 0x%llx", (long long)imm);
    if (regs & (RV_AX | RV_AF | RV_AV))
        append_reg(line, hp_bits(w, 15, 5), regs & RV_AX, regs & RV_AF);
    if (regs & (RV_BX | RV_BF | RV_BV))
        append_reg(line, hp_bits(w, 20, 5), regs & RV_BX, regs & RV_BF);
    if (regs & RV_CF)
        append_reg(line, hp_bits(w, 27, 5), false, true);
    switch ((enum rv_imm)row->imm) {
    case RV_IMM_I:
    case RV_IMM_SHIFT: append(line, ", %lld", (long long)imm); break;
    case RV_IMM_U: append(line, ", 0x%llx", (long long)(w >> 12)); break;
    case RV_IMM_CSRI: append(line, ", %u", hp_bits(w, 15, 5)); break;
    case RV_IMM_B:
    case RV_IMM_J: append(line, ", 0x%llx", (unsigned long long)(address + (uint64_t)imm)); break;
    default: break;
    }
}

static bool rv_text(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size)
{
    uint8_t length;
    uint32_t word = fetch(bytes, &length);
    const struct rv_row *row = find_row(state, word);
    if (!row || !row->name)
        return false;
    struct line line = {.length = 0};
    append(&line, "%s", row->name);
    if (row->regs) {
        append(&line, " ");
        append_operands(&line, bytes->address, word, row);
    }
    snprintf(text, text_size, "%s", line.text);
    return true;
}

const struct hp_isa_ops hp_isa_riscv = {
    .open = rv_open,
    .close = free,
    .decode = rv_decode,
    .text = rv_text,
    .min_length = 2,
};
