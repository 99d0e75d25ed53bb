// SPDX-License-Identifier: MIT
/*
 * x86-64, using Zydis. A flow-only decode of an uncommon instruction uses Zydis' minimal mode
 * (lengths and mnemonics, no operands or attributes); what both modes provide is read from the same
 * fields by the same code.
 */
#include "isa/x86_impl.h"

#include <stdio.h>
#include <stdlib.h>

struct x86_state {
    ZydisDecoder minimal;
    ZydisDecoder full;
    ZydisFormatter formatter;
    uint8_t vector_ops[ZYDIS_MNEMONIC_MAX_VALUE + 1]; /* see hp_x86_vector_ops() */
};

static enum hp_err x86_open(void **state)
{
    struct x86_state *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    ZydisMachineMode mode = ZYDIS_MACHINE_MODE_LONG_64;
    ZydisStackWidth width = ZYDIS_STACK_WIDTH_64;
    if (ZYAN_FAILED(ZydisDecoderInit(&s->full, mode, width)) ||
        ZYAN_FAILED(ZydisDecoderInit(&s->minimal, mode, width)) ||
        ZYAN_FAILED(ZydisDecoderEnableMode(&s->minimal, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE)) ||
        ZYAN_FAILED(ZydisFormatterInit(&s->formatter, ZYDIS_FORMATTER_STYLE_INTEL))) {
        free(s);
        return hp_fail(HP_ERR_INTERNAL, "cannot set up the x86-64 decoder");
    }
    hp_x86_vector_ops(s->vector_ops);
    *state = s;
    return HP_OK;
}

// --- control flow ---

// JMP and CALL are the direct forms here; indirect ones are distinguished by the immediate. SYSRET
// and the like cannot be executed by a program, but they do not fall through either.
static const uint8_t flows[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
    [ZYDIS_MNEMONIC_JB] = HP_FLOW_COND,          [ZYDIS_MNEMONIC_JBE] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JCXZ] = HP_FLOW_COND,        [ZYDIS_MNEMONIC_JECXZ] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JKNZD] = HP_FLOW_COND,       [ZYDIS_MNEMONIC_JKZD] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JL] = HP_FLOW_COND,          [ZYDIS_MNEMONIC_JLE] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JNB] = HP_FLOW_COND,         [ZYDIS_MNEMONIC_JNBE] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JNL] = HP_FLOW_COND,         [ZYDIS_MNEMONIC_JNLE] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JNO] = HP_FLOW_COND,         [ZYDIS_MNEMONIC_JNP] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JNS] = HP_FLOW_COND,         [ZYDIS_MNEMONIC_JNZ] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JO] = HP_FLOW_COND,          [ZYDIS_MNEMONIC_JP] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JRCXZ] = HP_FLOW_COND,       [ZYDIS_MNEMONIC_JS] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_JZ] = HP_FLOW_COND,          [ZYDIS_MNEMONIC_LOOP] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_LOOPE] = HP_FLOW_COND,       [ZYDIS_MNEMONIC_LOOPNE] = HP_FLOW_COND,
    [ZYDIS_MNEMONIC_XBEGIN] = HP_FLOW_COND,      [ZYDIS_MNEMONIC_JMP] = HP_FLOW_JUMP,
    [ZYDIS_MNEMONIC_CALL] = HP_FLOW_CALL,        [ZYDIS_MNEMONIC_RET] = HP_FLOW_RETURN,
    [ZYDIS_MNEMONIC_IRET] = HP_FLOW_RETURN,      [ZYDIS_MNEMONIC_IRETD] = HP_FLOW_RETURN,
    [ZYDIS_MNEMONIC_IRETQ] = HP_FLOW_RETURN,     [ZYDIS_MNEMONIC_UIRET] = HP_FLOW_RETURN,
    [ZYDIS_MNEMONIC_SYSRET] = HP_FLOW_RETURN,    [ZYDIS_MNEMONIC_SYSEXIT] = HP_FLOW_RETURN,
    [ZYDIS_MNEMONIC_RSM] = HP_FLOW_RETURN,       [ZYDIS_MNEMONIC_SYSCALL] = HP_FLOW_SYSCALL,
    [ZYDIS_MNEMONIC_SYSENTER] = HP_FLOW_SYSCALL, [ZYDIS_MNEMONIC_INT] = HP_FLOW_TRAP,
    [ZYDIS_MNEMONIC_INT1] = HP_FLOW_TRAP,        [ZYDIS_MNEMONIC_INT3] = HP_FLOW_TRAP,
    [ZYDIS_MNEMONIC_UD0] = HP_FLOW_TRAP,         [ZYDIS_MNEMONIC_UD1] = HP_FLOW_TRAP,
    [ZYDIS_MNEMONIC_UD2] = HP_FLOW_TRAP,         [ZYDIS_MNEMONIC_HLT] = HP_FLOW_TRAP,
};

// By opcode: the mnemonics MOVSD and CMPSD are also those of SSE instructions.
bool hp_x86_is_string(const ZydisDecodedInstruction *zi)
{
    if (zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
        zi->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return false;
    uint8_t opcode = zi->opcode;
    return (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
           (opcode >= 0xaa && opcode <= 0xaf);
}

static bool has_prefix(const ZydisDecodedInstruction *zi, uint8_t first, uint8_t second)
{
    for (unsigned i = 0; i < zi->raw.prefix_count; i++)
        if (zi->raw.prefixes[i].value == first || zi->raw.prefixes[i].value == second)
            return true;
    return false;
}

static void decode_flow(const ZydisDecodedInstruction *zi, struct hp_insn *insn)
{
    insn->length = zi->length;
    insn->flow = flows[zi->mnemonic];
    if (insn->flow == HP_FLOW_NONE)
        return;
    bool relative = zi->raw.imm[0].is_relative;
    if (insn->flow == HP_FLOW_JUMP && !relative)
        insn->flow = HP_FLOW_JUMP_IND;
    else if (insn->flow == HP_FLOW_CALL && !relative)
        insn->flow = HP_FLOW_CALL_IND;
    else if (zi->mnemonic == ZYDIS_MNEMONIC_INT && zi->raw.imm[0].value.u == 0x80)
        insn->flow = HP_FLOW_SYSCALL;
    if (relative)
        insn->target = insn->address + zi->length + (uint64_t)zi->raw.imm[0].value.s;
    if (insn->flow == HP_FLOW_COND)
        insn->flags |= HP_INSN_CONDITIONAL;
}

static void decode_flags(const ZydisDecodedInstruction *zi, struct hp_insn *insn)
{
    if (zi->mnemonic == ZYDIS_MNEMONIC_XCHG && zi->raw.modrm.offset && zi->raw.modrm.mod != 3)
        insn->flags |= HP_INSN_ATOMIC; // locked with or without the prefix
    if (zi->raw.prefix_count == 0)
        return;
    if (has_prefix(zi, 0xf0, 0xf0))
        insn->flags |= HP_INSN_ATOMIC;
    if (hp_x86_is_string(zi) && has_prefix(zi, 0xf2, 0xf3))
        insn->flags |= HP_INSN_REP;
}

// --- operands ---

static uint64_t gpr_bit(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    ZyanI8 id = ZydisRegisterGetId(whole);
    return id >= 0 && id < 16 ? (uint64_t)1 << id : 0;
}

// What one register contributes to a set; none for segments, control registers and RIP.
static struct hp_regset set_of(ZydisRegister reg)
{
    struct hp_regset set = {0};
    ZyanI8 id = ZydisRegisterGetId(reg);
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: set.gpr = gpr_bit(reg); break;
    case ZYDIS_REGCLASS_FLAGS: set.gpr = (uint64_t)1 << HP_REG_FLAGS; break;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: set.vec = (uint64_t)1 << (id & 31); break;
    case ZYDIS_REGCLASS_MASK: set.vec = (uint64_t)1 << (32 + (id & 7)); break;
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX: set.vec = (uint64_t)1 << 40; break;
    default:
        if (reg == ZYDIS_REGISTER_X87CONTROL || reg == ZYDIS_REGISTER_X87STATUS ||
            reg == ZYDIS_REGISTER_X87TAG)
            set.vec = (uint64_t)1 << 40;
    }
    return set;
}

static void add_set(struct hp_regset *to, struct hp_regset set)
{
    to->gpr |= set.gpr;
    to->vec |= set.vec;
}

// A write of 8 or 16 bits, and one that may not happen, keep (part of) the old value: they read it.
static bool keeps_old_value(const ZydisDecodedOperand *op)
{
    if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return false;
    if ((op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) &&
        !(op->actions & ZYDIS_OPERAND_ACTION_WRITE))
        return true;
    ZydisRegisterClass class = ZydisRegisterGetClass(op->reg.value);
    return class == ZYDIS_REGCLASS_GPR8 || class == ZYDIS_REGCLASS_GPR16;
}

static void decode_register(const ZydisDecodedOperand *op, struct hp_insn *insn)
{
    if (op->encoding == ZYDIS_OPERAND_ENCODING_MASK && op->reg.value == ZYDIS_REGISTER_K0)
        return; // means: not masked
    struct hp_regset set = set_of(op->reg.value);
    if ((op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) || keeps_old_value(op))
        add_set(&insn->reads, set);
    if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        add_set(&insn->writes, set);
}

static uint8_t mem_register(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return HP_MEM_PC;
    uint64_t bit = set_of(reg).gpr;
    return bit ? (uint8_t)__builtin_ctzll(bit) : HP_MEM_NOREG;
}

// Zydis gives the implicit stack operand of a push as [rsp], where rsp is the new value; ours are
// computed from the registers as they were before the instruction.
static int64_t stack_adjustment(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    if (op->mem.base != ZYDIS_REGISTER_RSP || zi->mnemonic == ZYDIS_MNEMONIC_MOVDIR64B)
        return 0;
    bool implicit = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (implicit && (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return -(int64_t)(op->size / 8);
    if (!implicit && zi->meta.category == ZYDIS_CATEGORY_POP)
        return zi->operand_width / 8;
    return 0;
}

static void decode_memory(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
                          struct hp_insn *insn)
{
    add_set(&insn->reads, set_of(op->mem.base));
    add_set(&insn->reads, set_of(op->mem.index));
    bool vsib = op->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    if (!vsib && op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
        return;
    if (zi->meta.category == ZYDIS_CATEGORY_NOP || zi->meta.category == ZYDIS_CATEGORY_WIDENOP)
        return;
    struct hp_mem mem = {
        .base = mem_register(op->mem.base),
        .index = vsib ? HP_MEM_NOREG : mem_register(op->mem.index),
        .scale = op->mem.scale,
        .read = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .write = (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
        .size = vsib ? 0 : (uint16_t)(op->size / 8),
        .disp = op->mem.disp.value + stack_adjustment(zi, op),
    };
    if (mem.read || mem.write)
        hp_isa_add_mem(insn, mem);
}

static void decode_status_flags(const ZydisDecodedInstruction *zi, struct hp_insn *insn)
{
    const ZydisAccessedFlags *f = zi->cpu_flags;
    if (!f)
        return;
    if (f->tested)
        insn->reads.gpr |= (uint64_t)1 << HP_REG_FLAGS;
    if (f->modified | f->set_0 | f->set_1 | f->undefined)
        insn->writes.gpr |= (uint64_t)1 << HP_REG_FLAGS;
}

static bool x86_decode(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                       struct hp_insn *insn)
{
    struct x86_state *s = state;
    ZydisDecodedInstruction zi;
    if (flow_only) {
        if (bytes->size && hp_x86_fast(bytes->code, bytes->size, insn))
            return true;
        insn->flow = HP_FLOW_NONE;
        insn->flags = 0;
        if (ZYAN_FAILED(
                ZydisDecoderDecodeInstruction(&s->minimal, NULL, bytes->code, bytes->size, &zi)))
            return false;
        decode_flow(&zi, insn);
        decode_flags(&zi, insn);
        return true;
    }
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&s->full, bytes->code, bytes->size, &zi, operands)))
        return false;
    decode_flow(&zi, insn);
    decode_flags(&zi, insn);
    decode_status_flags(&zi, insn);
    for (unsigned i = 0; i < zi.operand_count; i++) {
        if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
            decode_register(&operands[i], insn);
        else if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            decode_memory(&zi, &operands[i], insn);
    }
    if (hp_x86_keeps_part(&zi, operands))
        add_set(&insn->reads, set_of(operands[0].reg.value));
    if (hp_x86_is_constant(&zi, operands))
        insn->reads = (struct hp_regset){0};
    if (insn->n_mems == 2 && !insn->mems[0].read && insn->mems[1].read) {
        struct hp_mem write = insn->mems[0]; // reads first, as they happen
        insn->mems[0] = insn->mems[1];
        insn->mems[1] = write;
    }
    insn->op = (uint8_t)hp_x86_op(&zi, s->vector_ops, insn);
    return true;
}

static bool x86_text(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size)
{
    struct x86_state *s = state;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&s->full, bytes->code, bytes->size, &zi, operands)))
        return false;
    char line[256]; // the formatter fails instead of truncating when the caller's buffer is short
    if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&s->formatter, &zi, operands,
                                                    zi.operand_count_visible, line, sizeof line,
                                                    bytes->address, NULL)))
        return false;
    snprintf(text, text_size, "%s", line);
    return true;
}

const struct hp_isa_ops hp_isa_x86 = {
    .open = x86_open,
    .close = free,
    .decode = x86_decode,
    .text = x86_text,
    .min_length = 1,
};
