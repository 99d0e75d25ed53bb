// SPDX-License-Identifier: MIT
/*
 * From Capstone's details of an ARM instruction to ours. Capstone 4 gets the register names and the
 * address right. Which registers are read and written is corrected here where it is known to be
 * wrong (flags, stack, lists of vector registers, coprocessor moves, bases with writeback).
 */
#include "isa/arm_impl.h"

#include <ctype.h>
#include <string.h>

static const uint64_t flags_bit = (uint64_t)1 << HP_REG_FLAGS;
enum { SP = 13, LR = 14 };

// --- operation class, by the beginning of the mnemonic ---

struct name_row {
    const char *prefix;
    uint8_t op; /* enum hp_op */
};

static const struct name_row names[] = {
    {"ldrex", HP_OP_ATOMIC}, {"strex", HP_OP_ATOMIC},  {"ldaex", HP_OP_ATOMIC},
    {"stlex", HP_OP_ATOMIC}, {"swp", HP_OP_ATOMIC},    {"dmb", HP_OP_ATOMIC},
    {"dsb", HP_OP_ATOMIC},   {"clrex", HP_OP_ATOMIC},  {"ldc", HP_OP_SYSTEM},
    {"stc", HP_OP_SYSTEM},   {"ld", HP_OP_LOAD},       {"pop", HP_OP_LOAD},
    {"pld", HP_OP_LOAD},     {"pli", HP_OP_LOAD},      {"st", HP_OP_STORE},
    {"push", HP_OP_STORE},   {"sdiv", HP_OP_DIV},      {"udiv", HP_OP_DIV},
    {"mul", HP_OP_MUL},      {"mla", HP_OP_MUL},       {"mls", HP_OP_MUL},
    {"smm", HP_OP_MUL},      {"smu", HP_OP_MUL},       {"sml", HP_OP_MUL},
    {"umu", HP_OP_MUL},      {"uml", HP_OP_MUL},       {"uma", HP_OP_MUL},
    {"nop", HP_OP_NOP},      {"yield", HP_OP_NOP},     {"wfe", HP_OP_NOP},
    {"wfi", HP_OP_NOP},      {"sev", HP_OP_NOP},       {"hint", HP_OP_NOP},
    {"it", HP_OP_NOP},       {"dbg", HP_OP_NOP},       {"isb", HP_OP_SYSTEM},
    {"mrs", HP_OP_SYSTEM},   {"msr", HP_OP_SYSTEM},    {"mcr", HP_OP_SYSTEM},
    {"mrc", HP_OP_SYSTEM},   {"mrrc", HP_OP_SYSTEM},   {"cps", HP_OP_SYSTEM},
    {"cdp", HP_OP_SYSTEM},   {"setend", HP_OP_SYSTEM}, {"srs", HP_OP_SYSTEM},
    {"aes", HP_OP_VEC},      {"sha1", HP_OP_VEC},      {"sha256", HP_OP_VEC},
    {"vld", HP_OP_LOAD},     {"vpop", HP_OP_LOAD},     {"vst", HP_OP_STORE},
    {"vpush", HP_OP_STORE},  {"fldm", HP_OP_LOAD},     {"fstm", HP_OP_STORE},
    {"vcvt", HP_OP_FADD},    {"vmrs", HP_OP_FADD},     {"vmsr", HP_OP_FADD},
};

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static enum hp_op op_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts(name, names[i].prefix))
            return (enum hp_op)names[i].op;
    if (name[0] != 'v')
        return HP_OP_ALU;
    if (!strstr(name, ".f"))
        return starts(name, "vmov") ? HP_OP_FADD : HP_OP_VEC;
    if (starts(name, "vdiv") || starts(name, "vsqrt"))
        return HP_OP_FDIV;
    bool multiplies = starts(name, "vmul") || starts(name, "vml") || starts(name, "vnm") ||
                      starts(name, "vfm") || starts(name, "vfnm");
    return multiplies ? HP_OP_FMUL : HP_OP_FADD;
}

// --- registers ---

static struct hp_regset set_of(unsigned reg)
{
    struct hp_regset set = {0};
    if (reg >= ARM_REG_R0 && reg <= ARM_REG_R12)
        set.gpr = (uint64_t)1 << (reg - ARM_REG_R0);
    else if (reg == ARM_REG_SP)
        set.gpr = (uint64_t)1 << SP;
    else if (reg == ARM_REG_LR)
        set.gpr = (uint64_t)1 << LR;
    else if (reg == ARM_REG_CPSR || reg == ARM_REG_APSR || reg == ARM_REG_APSR_NZCV)
        set.gpr = flags_bit;
    else if (reg == ARM_REG_FPSCR_NZCV || reg == ARM_REG_FPSCR)
        set.vec = (uint64_t)1 << HP_ARM_FPSCR;
    else if (reg >= ARM_REG_S0 && reg <= ARM_REG_S31)
        set.vec = (uint64_t)1 << (reg - ARM_REG_S0);
    else if (reg >= ARM_REG_D0 && reg <= ARM_REG_D15)
        set.vec = (uint64_t)3 << 2 * (reg - ARM_REG_D0);
    else if (reg >= ARM_REG_D16 && reg <= ARM_REG_D31)
        set.vec = (uint64_t)1 << (32 + reg - ARM_REG_D16);
    else if (reg >= ARM_REG_Q0 && reg <= ARM_REG_Q7)
        set.vec = (uint64_t)15 << 4 * (reg - ARM_REG_Q0);
    else if (reg >= ARM_REG_Q8 && reg <= ARM_REG_Q15)
        set.vec = (uint64_t)3 << (32 + 2 * (reg - ARM_REG_Q8));
    return set;
}

static void add_reg(struct hp_regset *to, unsigned reg)
{
    struct hp_regset set = set_of(reg);
    to->gpr |= set.gpr;
    to->vec |= set.vec;
}

// The register operands from `first` on, together.
static struct hp_regset operand_list(const cs_arm *arm, unsigned first)
{
    struct hp_regset set = {0};
    for (unsigned i = first; i < arm->op_count; i++)
        if (arm->operands[i].type == ARM_OP_REG)
            add_reg(&set, (unsigned)arm->operands[i].reg);
    return set;
}

static void accessed(const struct hp_capstone *capstone, struct hp_insn *insn)
{
    cs_regs reads, writes;
    uint8_t n_reads = 0, n_writes = 0;
    if (cs_regs_access(capstone->handle, capstone->insn, reads, &n_reads, writes, &n_writes))
        return;
    for (unsigned i = 0; i < n_reads; i++)
        add_reg(&insn->reads, reads[i]);
    for (unsigned i = 0; i < n_writes; i++)
        add_reg(&insn->writes, writes[i]);
}

// In Capstone ADC, SBC and RSC set the flags whether they end in S or not.
static bool sets_flags(const cs_insn *cs)
{
    bool with_carry = cs->id == ARM_INS_ADC || cs->id == ARM_INS_SBC || cs->id == ARM_INS_RSC;
    return cs->detail->arm.update_flags && (!with_carry || cs->mnemonic[3] == 's');
}

static void correct_flags(const cs_insn *cs, struct hp_insn *insn)
{
    const cs_arm *arm = &cs->detail->arm;
    switch (cs->id) {
    case ARM_INS_CMP:
    case ARM_INS_CMN:
    case ARM_INS_TST:
    case ARM_INS_TEQ:
    case ARM_INS_MSR:
    case ARM_INS_VMRS: break;
    default:
        insn->writes.gpr &= ~flags_bit;
        if (sets_flags(cs))
            insn->writes.gpr |= flags_bit;
    }
    if (cs->id == ARM_INS_IT || arm->cc == ARM_CC_INVALID || arm->cc == ARM_CC_AL)
        return;
    insn->reads.gpr |= flags_bit;
    if (insn->flow != HP_FLOW_NONE && insn->flow != HP_FLOW_RETURN)
        return;
    insn->reads.gpr |= insn->writes.gpr; // if not executed, it keeps the old values
    insn->reads.vec |= insn->writes.vec;
}

// PUSH, POP, LDM, STM and their vector forms: registers in the list, the base, and whether it
// moves.
static bool is_multiple(unsigned id, unsigned *first)
{
    *first = 1;
    switch (id) {
    case ARM_INS_PUSH:
    case ARM_INS_POP:
    case ARM_INS_VPUSH:
    case ARM_INS_VPOP: *first = 0; return true;
    case ARM_INS_LDM:
    case ARM_INS_LDMDA:
    case ARM_INS_LDMDB:
    case ARM_INS_LDMIB:
    case ARM_INS_STM:
    case ARM_INS_STMDA:
    case ARM_INS_STMDB:
    case ARM_INS_STMIB:
    case ARM_INS_VLDMIA:
    case ARM_INS_VLDMDB:
    case ARM_INS_VSTMIA:
    case ARM_INS_VSTMDB:
    case ARM_INS_FLDMIAX:
    case ARM_INS_FLDMDBX:
    case ARM_INS_FSTMIAX:
    case ARM_INS_FSTMDBX: return true;
    default: return false;
    }
}

static bool is_descending(unsigned id)
{
    return id == ARM_INS_PUSH || id == ARM_INS_VPUSH || id == ARM_INS_LDMDB ||
           id == ARM_INS_STMDB || id == ARM_INS_VLDMDB || id == ARM_INS_VSTMDB ||
           id == ARM_INS_FLDMDBX || id == ARM_INS_FSTMDBX;
}

static unsigned register_size(unsigned reg)
{
    if (reg >= ARM_REG_D0 && reg <= ARM_REG_D31)
        return 8;
    return reg >= ARM_REG_Q0 && reg <= ARM_REG_Q15 ? 16 : 4;
}

static void decode_multiple(const cs_insn *cs, unsigned first, bool load, struct hp_insn *insn)
{
    const cs_arm *arm = &cs->detail->arm;
    struct hp_regset list = operand_list(arm, first), base = {.gpr = (uint64_t)1 << SP};
    if (first == 1)
        base = set_of((unsigned)arm->operands[0].reg);
    unsigned size = 0;
    for (unsigned i = first; i < arm->op_count; i++)
        size += register_size((unsigned)arm->operands[i].reg);
    int64_t disp = is_descending(cs->id) ? -(int64_t)size : 0;
    if (cs->id == ARM_INS_LDMIB || cs->id == ARM_INS_STMIB)
        disp = 4;
    if (cs->id == ARM_INS_LDMDA || cs->id == ARM_INS_STMDA)
        disp = 4 - (int64_t)size;
    insn->reads = base;
    insn->writes = (struct hp_regset){.gpr = first == 0 || arm->writeback ? base.gpr : 0};
    struct hp_regset *to = load ? &insn->writes : &insn->reads;
    to->gpr |= list.gpr;
    to->vec |= list.vec;
    hp_isa_add_mem(insn, (struct hp_mem){
                             .base = base.gpr ? (uint8_t)__builtin_ctzll(base.gpr) : HP_MEM_NOREG,
                             .index = HP_MEM_NOREG,
                             .read = load,
                             .write = !load,
                             .size = (uint16_t)size,
                             .disp = disp,
                         });
}

// --- memory ---

static unsigned vector_access_size(const cs_insn *cs)
{
    const cs_arm *arm = &cs->detail->arm;
    const char *dot = strchr(cs->mnemonic, '.');
    const char *brace = strchr(cs->op_str, '}');
    const char *lane = strchr(cs->op_str, '[');
    bool elements = lane && brace && lane < brace; // {d0[1]}, {d0[]}
    unsigned bits = 0, size = 0;
    for (; dot && !isdigit((unsigned char)*dot) && *dot; dot++)
        ;
    for (; dot && isdigit((unsigned char)*dot); dot++)
        bits = bits * 10 + (unsigned)(*dot - '0');
    for (unsigned i = 0; i < arm->op_count && arm->operands[i].type == ARM_OP_REG; i++)
        size += elements ? bits / 8 : register_size((unsigned)arm->operands[i].reg);
    return size;
}

static unsigned access_size(const cs_insn *cs)
{
    switch (cs->id) {
    case ARM_INS_LDRB:
    case ARM_INS_LDRBT:
    case ARM_INS_LDRSB:
    case ARM_INS_LDRSBT:
    case ARM_INS_LDREXB:
    case ARM_INS_LDAB:
    case ARM_INS_LDAEXB:
    case ARM_INS_STRB:
    case ARM_INS_STRBT:
    case ARM_INS_STREXB:
    case ARM_INS_STLB:
    case ARM_INS_STLEXB:
    case ARM_INS_SWPB:
    case ARM_INS_TBB: return 1;
    case ARM_INS_LDRH:
    case ARM_INS_LDRHT:
    case ARM_INS_LDRSH:
    case ARM_INS_LDRSHT:
    case ARM_INS_LDREXH:
    case ARM_INS_LDAH:
    case ARM_INS_LDAEXH:
    case ARM_INS_STRH:
    case ARM_INS_STRHT:
    case ARM_INS_STREXH:
    case ARM_INS_STLH:
    case ARM_INS_STLEXH:
    case ARM_INS_TBH: return 2;
    case ARM_INS_LDRD:
    case ARM_INS_LDREXD:
    case ARM_INS_LDAEXD:
    case ARM_INS_STRD:
    case ARM_INS_STREXD:
    case ARM_INS_STLEXD: return 8;
    default: return starts(cs->mnemonic, "v") ? vector_access_size(cs) : 4;
    }
}

// An operand after the address is added to the base afterwards.
static bool writes_base(const cs_arm *arm, const cs_arm_op *op)
{
    return arm->writeback || op + 1 < arm->operands + arm->op_count;
}

static void decode_address(const cs_insn *cs, const cs_arm_op *op, bool thumb, struct hp_insn *insn)
{
    uint64_t base = set_of(op->mem.base).gpr, index = set_of(op->mem.index).gpr;
    bool stores = starts(cs->mnemonic, "st") || starts(cs->mnemonic, "vst");
    struct hp_mem mem = {
        .base = base ? (uint8_t)__builtin_ctzll(base) : HP_MEM_NOREG,
        .index = index ? (uint8_t)__builtin_ctzll(index) : HP_MEM_NOREG,
        .read = !stores,
        .write = stores || starts(cs->mnemonic, "swp"),
        .size = (uint16_t)access_size(cs),
        .disp = op->mem.disp,
    };
    if (op->mem.base == ARM_REG_PC) { // ours is relative to the instruction
        uint64_t pc = thumb ? (insn->address + 4) & ~(uint64_t)3 : insn->address + 8;
        mem.base = HP_MEM_PC;
        mem.disp += (int64_t)(pc - insn->address);
    }
    bool plain = op->shift.type == ARM_SFT_INVALID || op->shift.type == ARM_SFT_LSL;
    unsigned shift = op->shift.type == ARM_SFT_LSL ? op->shift.value : 0;
    if (index && plain && !op->subtracted && shift < 8)
        mem.scale = (uint8_t)(1u << shift); // else 0: not a multiple of the index
    insn->reads.gpr |= base | index;
    if (writes_base(&cs->detail->arm, op))
        insn->writes.gpr |= base;
    hp_isa_add_mem(insn, mem);
}

static void decode_single(const cs_insn *cs, bool thumb, struct hp_insn *insn)
{
    const cs_arm *arm = &cs->detail->arm;
    if (starts(cs->mnemonic, "pl"))
        return; // prefetches: no access
    for (unsigned i = 0; i < arm->op_count; i++)
        if (arm->operands[i].type == ARM_OP_MEM)
            decode_address(cs, &arm->operands[i], thumb, insn);
}

void hp_arm_operands(const struct hp_capstone *capstone, bool thumb, struct hp_insn *insn)
{
    const cs_insn *cs = capstone->insn;
    enum hp_op op = op_of(cs->mnemonic);
    unsigned first;
    if (is_multiple(cs->id, &first) && cs->detail->arm.op_count > first) {
        decode_multiple(cs, first, op == HP_OP_LOAD, insn);
    } else {
        accessed(capstone, insn);
        decode_single(cs, thumb, insn);
    }
    if (cs->id == ARM_INS_MRC || cs->id == ARM_INS_MRRC || cs->id == ARM_INS_MRC2) {
        insn->writes = operand_list(&cs->detail->arm, 0);
        insn->reads = (struct hp_regset){0};
    }
    if (cs->id == ARM_INS_BX || cs->id == ARM_INS_BLX || cs->id == ARM_INS_BXJ)
        insn->reads = operand_list(&cs->detail->arm, 0);
    if (insn->flow == HP_FLOW_SYSCALL || insn->flow == HP_FLOW_TRAP)
        insn->reads = insn->writes = (struct hp_regset){0};
    if (insn->flow == HP_FLOW_CALL || insn->flow == HP_FLOW_CALL_IND)
        insn->writes.gpr |= (uint64_t)1 << LR;
    correct_flags(cs, insn);
    insn->op = insn->flow == HP_FLOW_NONE ? (uint8_t)op : hp_isa_flow_op(insn->flow);
}
