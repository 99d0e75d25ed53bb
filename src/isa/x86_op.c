// SPDX-License-Identifier: MIT
#include "isa/x86_impl.h"

#include <string.h>

// --- vector and floating point instructions, by name ---

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static bool starts(const char *name, const char *prefix)
{
    for (; *prefix; name++, prefix++)
        if (*name != *prefix)
            return false;
    return true;
}

static bool ends_float(const char *name)
{
    static const char *const suffixes[] = {"ps", "pd", "ss", "sd", "ph", "sh"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (length > 2 && strcmp(name + length - 2, suffixes[i]) == 0)
            return true;
    return false;
}

static enum hp_op x87_op(const char *name)
{
    static const char *const slow[] = {"fdiv",   "fidiv", "fsqrt", "fsin",  "fcos",    "fptan",
                                       "fpatan", "f2xm1", "fyl2x", "fprem", "fxtract", "fscale"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (starts(name, slow[i]))
            return HP_OP_FDIV;
    if (starts(name, "fmul") || starts(name, "fimul"))
        return HP_OP_FMUL;
    if (strcmp(name, "fld") == 0 || strcmp(name, "fst") == 0 || strcmp(name, "fstp") == 0)
        return HP_OP_LOAD;
    return HP_OP_FADD;
}

static enum hp_op vector_op(const char *name)
{
    if (name[0] == 'f')
        return x87_op(name);
    if (name[0] == 'v')
        name++;
    // movs[hl]dup, movddup and movmsk do work in the vector unit; the other moves only move.
    if (starts(name, "mov"))
        return has(name, "dup") || has(name, "msk") ? HP_OP_VEC : HP_OP_LOAD;
    if (starts(name, "lddqu") || starts(name, "maskmov") || starts(name, "pmaskmov") ||
        starts(name, "gather") || starts(name, "scatter") || starts(name, "pgather") ||
        starts(name, "pscatter") || starts(name, "kmov"))
        return HP_OP_LOAD;
    if (starts(name, "cvt"))
        return HP_OP_FADD;
    if (name[0] == 'p' || name[0] == 'k' || !ends_float(name))
        return HP_OP_VEC;
    if (has(name, "div") || has(name, "sqrt") || has(name, "rcp"))
        return HP_OP_FDIV;
    if (has(name, "mul") || starts(name, "fm") || starts(name, "fnm") || starts(name, "dp") ||
        starts(name, "4fm") || starts(name, "4fnm"))
        return HP_OP_FMUL;
    if (starts(name, "and") || starts(name, "or") || starts(name, "xor") || starts(name, "shuf") ||
        starts(name, "unpck") || starts(name, "blend") || starts(name, "perm") ||
        starts(name, "broadcast") || starts(name, "insert") || starts(name, "extract"))
        return HP_OP_VEC;
    return HP_OP_FADD;
}

void hp_x86_vector_ops(uint8_t ops[ZYDIS_MNEMONIC_MAX_VALUE + 1])
{
    for (unsigned i = 0; i <= ZYDIS_MNEMONIC_MAX_VALUE; i++) {
        const char *name = ZydisMnemonicGetString((ZydisMnemonic)i);
        ops[i] = (uint8_t)(name ? vector_op(name) : HP_OP_VEC);
    }
}

// --- results that do not depend on what is read ---

static bool same_gives_constant(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_PSUBB:
    case ZYDIS_MNEMONIC_PSUBW:
    case ZYDIS_MNEMONIC_PSUBD:
    case ZYDIS_MNEMONIC_PSUBQ:
    case ZYDIS_MNEMONIC_PCMPGTB:
    case ZYDIS_MNEMONIC_PCMPGTW:
    case ZYDIS_MNEMONIC_PCMPGTD:
    case ZYDIS_MNEMONIC_PCMPGTQ:
    case ZYDIS_MNEMONIC_PCMPEQB:
    case ZYDIS_MNEMONIC_PCMPEQW:
    case ZYDIS_MNEMONIC_PCMPEQD:
    case ZYDIS_MNEMONIC_PCMPEQQ:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VPSUBB:
    case ZYDIS_MNEMONIC_VPSUBW:
    case ZYDIS_MNEMONIC_VPSUBD:
    case ZYDIS_MNEMONIC_VPSUBQ:
    case ZYDIS_MNEMONIC_VPCMPGTB:
    case ZYDIS_MNEMONIC_VPCMPGTW:
    case ZYDIS_MNEMONIC_VPCMPGTD:
    case ZYDIS_MNEMONIC_VPCMPGTQ:
    case ZYDIS_MNEMONIC_VPCMPEQB:
    case ZYDIS_MNEMONIC_VPCMPEQW:
    case ZYDIS_MNEMONIC_VPCMPEQD:
    case ZYDIS_MNEMONIC_VPCMPEQQ: return true;
    default: return false;
    }
}

static bool is_whole_register(const ZydisDecodedOperand *operand)
{
    if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    switch (ZydisRegisterGetClass(operand->reg.value)) {
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return true;
    default: return false;
    }
}

// The two sources are the last visible operands. Under a mask there is one more that is read.
bool hp_x86_is_constant(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *operands)
{
    unsigned n = zi->operand_count_visible;
    if (n < 2 || !same_gives_constant(zi->mnemonic))
        return false;
    const ZydisDecodedOperand *a = &operands[n - 2], *b = &operands[n - 1];
    if (zi->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED)
        return false;
    return is_whole_register(a) && is_whole_register(b) && a->reg.value == b->reg.value;
}

// Loads of MOVSS and MOVSD clear the rest; the VEX forms take it from a separate register.
bool hp_x86_keeps_part(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *operands)
{
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVHPD:
    case ZYDIS_MNEMONIC_MOVLPD:
    case ZYDIS_MNEMONIC_MOVHLPS:
    case ZYDIS_MNEMONIC_MOVLHPS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_RCPSS:
    case ZYDIS_MNEMONIC_RSQRTSS:
    case ZYDIS_MNEMONIC_CVTSS2SD:
    case ZYDIS_MNEMONIC_CVTSD2SS:
    case ZYDIS_MNEMONIC_ROUNDSD:
    case ZYDIS_MNEMONIC_ROUNDSS: return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSS:
        return !hp_x86_is_string(zi) && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default: return false;
    }
}

// --- everything ---

static bool reads_memory(const struct hp_insn *insn)
{
    return insn->n_mems && insn->mems[0].read;
}

static bool writes_memory(const struct hp_insn *insn)
{
    return insn->n_mems && insn->mems[0].write;
}

// A plain move is a load or a store when it touches memory.
static enum hp_op move_op(const struct hp_insn *insn, enum hp_op registers_only)
{
    if (writes_memory(insn))
        return HP_OP_STORE;
    return reads_memory(insn) ? HP_OP_LOAD : registers_only;
}

// Instructions not determined by their category; HP_OP_COUNT_: it is.
static enum hp_op op_of_mnemonic(const ZydisDecodedInstruction *zi, const struct hp_insn *insn)
{
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_IMUL:
    case ZYDIS_MNEMONIC_MULX: return HP_OP_MUL;
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV: return HP_OP_DIV;
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_ENDBR32: return HP_OP_NOP;
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_SFENCE: return HP_OP_ATOMIC;
    case ZYDIS_MNEMONIC_MOVBE:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_XLAT: return move_op(insn, HP_OP_ALU);
    case ZYDIS_MNEMONIC_XCHG:
    case ZYDIS_MNEMONIC_BSWAP: return HP_OP_ALU;
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_ENTER: return HP_OP_SYSTEM;
    default: return HP_OP_COUNT_;
    }
}

static enum hp_op op_of_category(const ZydisDecodedInstruction *zi, const struct hp_insn *insn)
{
    switch (zi->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP: return HP_OP_NOP;
    case ZYDIS_CATEGORY_PUSH: return HP_OP_STORE;
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1: return HP_OP_LOAD;
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_MOVDIR: return move_op(insn, HP_OP_ALU);
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_SERIALIZE:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDPID:
    case ZYDIS_CATEGORY_RDPRU:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_SMAP:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE: return HP_OP_SYSTEM;
    default: return HP_OP_ALU;
    }
}

enum hp_op hp_x86_op(const ZydisDecodedInstruction *zi, const uint8_t *vector_ops,
                     const struct hp_insn *insn)
{
    if (insn->flow != HP_FLOW_NONE)
        return (enum hp_op)hp_isa_flow_op(insn->flow);
    if (insn->flags & HP_INSN_ATOMIC)
        return HP_OP_ATOMIC;
    if (hp_x86_is_string(zi))
        return HP_OP_STRING;
    enum hp_op op = op_of_mnemonic(zi, insn);
    if (op != HP_OP_COUNT_)
        return op;
    op = op_of_category(zi, insn);
    bool vector = (insn->reads.vec | insn->writes.vec) != 0;
    if (!vector || op == HP_OP_SYSTEM || op == HP_OP_NOP)
        return op;
    op = (enum hp_op)vector_ops[zi->mnemonic];
    return op == HP_OP_LOAD ? move_op(insn, HP_OP_VEC) : op;
}
