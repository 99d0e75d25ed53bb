// SPDX-License-Identifier: MIT
/*
 * AArch64. Control flow, integer instructions, loads and stores are decoded from their bits;
 * Capstone provides floating point and vector registers, and text. Only the architecture's top
 * level groups decide which words are instructions: Capstone 4 stops at ARMv8.0, and programs do
 * not.
 */
#include "isa/aarch64_impl.h"
#include "isa/capstone_impl.h"

#include <stdlib.h>
#include <string.h>

static enum hp_err a64_open(void **state)
{
    struct hp_capstone *capstone = calloc(1, sizeof *capstone);
    if (!capstone)
        return hp_fail_nomem();
    enum hp_err err = hp_capstone_open(capstone, CS_ARCH_ARM64, CS_MODE_ARM);
    if (err != HP_OK) {
        free(capstone);
        return err;
    }
    *state = capstone;
    return HP_OK;
}

static void a64_close(void *state)
{
    hp_capstone_close(state);
    free(state);
}

// --- control flow ---

enum { TARGET_NONE, TARGET_26, TARGET_19, TARGET_14 };

// All but UDF are in the branch group, 1x1 in bits 28:26.
static const struct hp_isa_flow_row flow_rows[] = {
    {0xfc000000, 0x14000000, HP_FLOW_JUMP, TARGET_26},
    {0xfc000000, 0x94000000, HP_FLOW_CALL, TARGET_26},
    {0xff000000, 0x54000000, HP_FLOW_COND, TARGET_19}, // B.cond, BC.cond
    {0x7e000000, 0x34000000, HP_FLOW_COND, TARGET_19}, // CBZ, CBNZ
    {0x7e000000, 0x36000000, HP_FLOW_COND, TARGET_14}, // TBZ, TBNZ
    {0xfffffc1f, 0xd61f0000, HP_FLOW_JUMP_IND, 0},     // BR
    {0xfffff81f, 0xd61f081f, HP_FLOW_JUMP_IND, 0},     // BRAAZ, BRABZ
    {0xfffff800, 0xd71f0800, HP_FLOW_JUMP_IND, 0},     // BRAA, BRAB
    {0xfffffc1f, 0xd63f0000, HP_FLOW_CALL_IND, 0},     // BLR
    {0xfffff81f, 0xd63f081f, HP_FLOW_CALL_IND, 0},     // BLRAAZ, BLRABZ
    {0xfffff800, 0xd73f0800, HP_FLOW_CALL_IND, 0},     // BLRAA, BLRAB
    {0xfffffc1f, 0xd65f0000, HP_FLOW_RETURN, 0},       // RET
    {0xfffffbff, 0xd65f0bff, HP_FLOW_RETURN, 0},       // RETAA, RETAB
    {0xffffffff, 0xd69f03e0, HP_FLOW_RETURN, 0},       // ERET
    {0xfffffbff, 0xd69f0bff, HP_FLOW_RETURN, 0},       // ERETAA, ERETAB
    {0xffffffff, 0xd6bf03e0, HP_FLOW_RETURN, 0},       // DRPS
    {0xffe0001f, 0xd4000001, HP_FLOW_SYSCALL, 0},      // SVC
    {0xffe0001f, 0xd4000002, HP_FLOW_TRAP, 0},         // HVC
    {0xffe0001f, 0xd4000003, HP_FLOW_TRAP, 0},         // SMC
    {0xffe0001f, 0xd4200000, HP_FLOW_TRAP, 0},         // BRK
    {0xffe0001f, 0xd4400000, HP_FLOW_TRAP, 0},         // HLT
    {0xffe0001c, 0xd4a00000, HP_FLOW_TRAP, 0},         // DCPS1-3
};

static bool is_branch_system(uint32_t w)
{
    return (w & 0x1c000000) == 0x14000000;
}

static uint64_t target_of(uint64_t address, uint32_t w, uint8_t kind)
{
    switch (kind) {
    case TARGET_26: return address + (uint64_t)hp_sign(w, 26) * 4;
    case TARGET_19: return address + (uint64_t)hp_sign(w >> 5, 19) * 4;
    case TARGET_14: return address + (uint64_t)hp_sign(w >> 5, 14) * 4;
    default: return 0;
    }
}

static void decode_flow(uint32_t w, struct hp_insn *insn)
{
    insn->length = 4;
    if (is_branch_system(w)) {
        const struct hp_isa_flow_row *row =
            hp_isa_find_flow(flow_rows, sizeof flow_rows / sizeof *flow_rows, w);
        if (!row)
            return;
        insn->flow = row->flow;
        insn->target = target_of(insn->address, w, row->target);
        if (row->flow == HP_FLOW_COND)
            insn->flags |= HP_INSN_CONDITIONAL;
    } else if (w <= 0xffff) {
        insn->flow = HP_FLOW_TRAP; // UDF
    } else if (a64_is_loadstore(w) && hp_a64_is_atomic(w)) {
        insn->flags |= HP_INSN_ATOMIC;
    }
}

// The groups that are unallocated in the architecture.
static bool is_reserved(uint32_t w)
{
    switch (hp_bits(w, 25, 4)) {
    case 0: return w > 0xffff && !(w >> 31); // UDF, SME
    case 1:
    case 3: return true;
    default: return false;
    }
}

// --- floating point and vectors ---

static struct hp_regset set_of(unsigned reg)
{
    struct hp_regset set = {0};
    static const unsigned banks[] = {ARM64_REG_B0, ARM64_REG_H0, ARM64_REG_S0,
                                     ARM64_REG_D0, ARM64_REG_Q0, ARM64_REG_V0};
    for (size_t i = 0; i < sizeof banks / sizeof *banks; i++)
        if (reg >= banks[i] && reg < banks[i] + 32)
            set.vec = (uint64_t)1 << (reg - banks[i]);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        set.gpr = (uint64_t)1 << (reg - ARM64_REG_W0);
    else if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        set.gpr = (uint64_t)1 << (reg - ARM64_REG_X0);
    else if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
        set.gpr = (uint64_t)1 << (29 + reg - ARM64_REG_X29);
    else if (reg == ARM64_REG_NZCV)
        set.gpr = (uint64_t)1 << HP_REG_FLAGS;
    return set;
}

static struct hp_regset set_of_all(const cs_regs regs, uint8_t count)
{
    struct hp_regset all = {0};
    for (unsigned i = 0; i < count; i++) {
        struct hp_regset set = set_of(regs[i]);
        all.gpr |= set.gpr;
        all.vec |= set.vec;
    }
    return all;
}

static enum hp_op vector_op(const char *name)
{
    if (name[0] == 'f') {
        if (strstr(name, "div") || strstr(name, "sqrt") == name + 1)
            return HP_OP_FDIV;
        if (strstr(name, "mul") || strstr(name, "mla") || strstr(name, "mls") ||
            strstr(name, "madd") || strstr(name, "msub") || strstr(name, "recps") ||
            strstr(name, "rsqrts"))
            return HP_OP_FMUL;
        return HP_OP_FADD;
    }
    return strcmp(name, "scvtf") == 0 || strcmp(name, "ucvtf") == 0 ? HP_OP_FADD : HP_OP_VEC;
}

// What most vector instructions do, for those that Capstone does not know.
static void guess_vector(uint32_t w, struct hp_insn *insn)
{
    insn->op = HP_OP_VEC;
    insn->writes.vec = a64_v(w, A64_RD);
    insn->reads.vec = a64_v(w, A64_RD) | a64_v(w, A64_RN) | a64_v(w, A64_RM);
}

// Corrects Capstone's lists: it lets TBL, MOVI, MVNI and FMOV (immediate) read their result.
static void correct_reads(uint32_t w, struct hp_insn *insn)
{
    if ((w & 0xbfe09c00) == 0x0e000000) { // TBL; TBX does
        insn->reads.vec = a64_v(w, A64_RM);
        for (unsigned i = 0; i <= hp_bits(w, 13, 2); i++)
            insn->reads.vec |= (uint64_t)1 << ((hp_bits(w, A64_RN, 5) + i) & 31);
    } else if ((w & 0x9ff80400) == 0x0f000400) { // modified immediate: ORR and BIC do
        uint32_t cmode = hp_bits(w, 12, 4);
        bool keeps = (cmode & 1) && cmode < 12;
        insn->reads.vec = keeps ? a64_v(w, A64_RD) : 0;
    } else if ((w & 0xff201fe0) == 0x1e201000) { // FMOV, scalar immediate
        insn->reads.vec = 0;
    }
}

static void decode_vector(struct hp_capstone *capstone, const struct hp_isa_bytes *bytes,
                          uint32_t w, struct hp_insn *insn)
{
    cs_regs reads, writes;
    uint8_t n_reads = 0, n_writes = 0;
    if (!hp_capstone_decode(capstone, bytes) ||
        cs_regs_access(capstone->handle, capstone->insn, reads, &n_reads, writes, &n_writes)) {
        guess_vector(w, insn);
        return;
    }
    insn->reads = set_of_all(reads, n_reads);
    insn->writes = set_of_all(writes, n_writes);
    insn->op = (uint8_t)vector_op(capstone->insn->mnemonic);
    correct_reads(w, insn);
}

static bool a64_decode(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                       struct hp_insn *insn)
{
    uint32_t w = hp_le32(bytes->code);
    if (is_reserved(w))
        return false;
    decode_flow(w, insn);
    if (flow_only)
        return true;
    uint32_t group = hp_bits(w, 25, 4);
    if (is_branch_system(w))
        hp_a64_branch_system(w, insn);
    else if (a64_is_loadstore(w))
        hp_a64_loadstore(w, insn);
    else if ((group & 0xe) == 8 || (group & 7) == 5)
        hp_a64_integer(w, insn);
    else if ((group & 7) == 7)
        decode_vector(state, bytes, w, insn);
    else if (group == 2) // SVE
        guess_vector(w, insn);
    else
        insn->op = insn->flow == HP_FLOW_TRAP ? HP_OP_SYSTEM : HP_OP_VEC; // UDF, SME
    return true;
}

static bool a64_text(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size)
{
    if (!hp_capstone_decode(state, bytes))
        return false;
    hp_capstone_text(state, text, text_size);
    return true;
}

const struct hp_isa_ops hp_isa_aarch64 = {
    .open = a64_open,
    .close = a64_close,
    .decode = a64_decode,
    .text = a64_text,
    .min_length = 4,
};
