// SPDX-License-Identifier: MIT
/*
 * AArch64 integer, branch and system instructions from their bits; the encoding groups are those of
 * the architecture manual's top level table.
 */
#include "isa/aarch64_impl.h"

static const uint64_t flags_bit = (uint64_t)1 << HP_REG_FLAGS;

static void data_processing_immediate(uint32_t w, struct hp_insn *insn)
{
    uint32_t opc = hp_bits(w, 29, 2);
    uint64_t rd = a64_x(w, A64_RD);
    switch (hp_bits(w, 23, 3)) {
    case 0:
    case 1: // ADR, ADRP
        break;
    case 2: // ADD, SUB: the stack pointer unless flags are set
        insn->reads.gpr = a64_sp(w, A64_RN);
        if (opc & 1)
            insn->writes.gpr = flags_bit;
        else
            rd = a64_sp(w, A64_RD);
        break;
    case 3: // ADDG, SUBG
        insn->reads.gpr = a64_sp(w, A64_RN);
        rd = a64_sp(w, A64_RD);
        break;
    case 4: // AND, ORR, EOR, ANDS
        insn->reads.gpr = a64_x(w, A64_RN);
        if (opc == 3)
            insn->writes.gpr = flags_bit;
        else
            rd = a64_sp(w, A64_RD);
        break;
    case 5: // MOVN, MOVZ, MOVK: the last keeps the other bits
        insn->reads.gpr = opc == 3 ? rd : 0;
        break;
    case 6: // SBFM, BFM, UBFM
        insn->reads.gpr = a64_x(w, A64_RN) | (opc == 1 ? rd : 0);
        break;
    default: // EXTR
        insn->reads.gpr = a64_x(w, A64_RN) | a64_x(w, A64_RM);
    }
    insn->writes.gpr |= rd;
}

static void two_source(uint32_t w, struct hp_insn *insn)
{
    insn->reads.gpr = a64_x(w, A64_RN) | a64_x(w, A64_RM);
    insn->writes.gpr = a64_x(w, A64_RD);
    if (hp_bits(w, 29, 1))
        insn->writes.gpr |= flags_bit; // SUBPS
    if (hp_bits(w, 11, 5) == 1)
        insn->op = HP_OP_DIV;
}

static void one_source(uint32_t w, struct hp_insn *insn)
{
    insn->reads.gpr = a64_x(w, A64_RN);
    insn->writes.gpr = a64_x(w, A64_RD);
    if (hp_bits(w, 16, 5) == 1) // pointer authentication works on Rd with a modifier in Rn
        insn->reads.gpr = a64_x(w, A64_RD) | a64_sp(w, A64_RN);
}

// Bits 28 and 24:21 select; here bit 28 is set.
static void data_processing_rest(uint32_t w, struct hp_insn *insn)
{
    uint64_t rn = a64_x(w, A64_RN), rm = a64_x(w, A64_RM), rd = a64_x(w, A64_RD);
    switch (hp_bits(w, 21, 4)) {
    case 0: // ADC, SBC; RMIF and SETF, which have no destination
        insn->reads.gpr = rn | rm | flags_bit;
        insn->writes.gpr = rd | (hp_bits(w, 29, 1) ? flags_bit : 0);
        if (hp_bits(w, 10, 6)) {
            insn->reads.gpr = rn | flags_bit;
            insn->writes.gpr = flags_bit;
        }
        break;
    case 2: // CCMN, CCMP
        insn->reads.gpr = rn | (hp_bits(w, 11, 1) ? 0 : rm) | flags_bit;
        insn->writes.gpr = flags_bit;
        break;
    case 4: // CSEL and its kin
        insn->reads.gpr = rn | rm | flags_bit;
        insn->writes.gpr = rd;
        break;
    case 6:
        if (hp_bits(w, 30, 1))
            one_source(w, insn);
        else
            two_source(w, insn);
        break;
    default: // multiply and add
        insn->reads.gpr = rn | rm | a64_x(w, A64_RA);
        insn->writes.gpr = rd;
        insn->op = HP_OP_MUL;
    }
}

static void data_processing_register(uint32_t w, struct hp_insn *insn)
{
    if (hp_bits(w, 28, 1)) {
        data_processing_rest(w, insn);
        return;
    }
    bool arithmetic = hp_bits(w, 24, 1);
    bool extended = arithmetic && hp_bits(w, 21, 1);
    bool sets_flags = arithmetic ? hp_bits(w, 29, 1) : hp_bits(w, 29, 2) == 3;
    insn->reads.gpr = (extended ? a64_sp(w, A64_RN) : a64_x(w, A64_RN)) | a64_x(w, A64_RM);
    insn->writes.gpr = extended && !sets_flags ? a64_sp(w, A64_RD) : a64_x(w, A64_RD);
    if (sets_flags)
        insn->writes.gpr |= flags_bit;
}

void hp_a64_integer(uint32_t w, struct hp_insn *insn)
{
    insn->op = HP_OP_ALU;
    if (hp_bits(w, 26, 3) == 4)
        data_processing_immediate(w, insn);
    else
        data_processing_register(w, insn);
}

// --- branches and system ---

static const uint64_t x16 = 1 << 16, x17 = 1 << 17, x30 = 1 << 30;

// NOP, YIELD, BTI ... and pointer authentication of the link register.
static void hint(uint32_t w, struct hp_insn *insn)
{
    uint32_t number = hp_bits(w, 5, 7);
    insn->op = HP_OP_NOP;
    if (number == 7) { // XPACLRI
        insn->reads.gpr = insn->writes.gpr = x30;
        insn->op = HP_OP_ALU;
    } else if (number >= 8 && number <= 15) { // PACIA1716, AUTIA1716 ...
        insn->reads.gpr = x17 | x16;
        insn->writes.gpr = x17;
        insn->op = HP_OP_ALU;
    } else if (number >= 24 && number <= 31) { // PACIAZ, PACIASP, AUTIASP ...
        insn->reads.gpr = x30 | (number & 1 ? (uint64_t)1 << 31 : 0);
        insn->writes.gpr = x30;
        insn->op = HP_OP_ALU;
    }
}

static void system_insn(uint32_t w, struct hp_insn *insn)
{
    insn->op = HP_OP_SYSTEM;
    if ((w & 0xfffff01f) == 0xd503201f) {
        hint(w, insn);
    } else if ((w & 0xfffff000) == 0xd5033000) {
        if (hp_bits(w, 5, 3) != 6) // all but ISB are fences
            insn->op = HP_OP_ATOMIC;
    } else if ((w & 0xfffff01f) == 0xd500401f) { // CFINV and its kin
        insn->reads.gpr = insn->writes.gpr = flags_bit;
    } else if (hp_bits(w, 21, 1)) { // MRS, SYSL
        insn->writes.gpr = a64_x(w, A64_RD);
        if ((w & 0xffffffe0) == 0xd53b4200)
            insn->reads.gpr = flags_bit;
    } else if (hp_bits(w, 19, 2)) { // MSR, SYS
        insn->reads.gpr = a64_x(w, A64_RD);
        if ((w & 0xffffffe0) == 0xd51b4200)
            insn->writes.gpr = flags_bit;
    }
}

void hp_a64_branch_system(uint32_t w, struct hp_insn *insn)
{
    if (insn->flow == HP_FLOW_NONE) {
        system_insn(w, insn);
        return;
    }
    insn->op = hp_isa_flow_op(insn->flow);
    if (insn->flow == HP_FLOW_COND)
        insn->reads.gpr = (w & 0xfe000000) == 0x54000000 ? flags_bit : a64_x(w, A64_RD);
    if (insn->flow == HP_FLOW_CALL || insn->flow == HP_FLOW_CALL_IND)
        insn->writes.gpr = x30;
    if ((w & 0xfe000000) == 0xd6000000 && (w & 0x0080001f) != 0x0080001f) { // not ERET, DRPS
        insn->reads.gpr = a64_x(w, A64_RN);
        if (hp_bits(w, 24, 1))
            insn->reads.gpr |= a64_sp(w, A64_RD); // modifier of the authenticated forms
        if ((w & 0xfffff800) == 0xd65f0800)
            insn->reads.gpr = x30 | (uint64_t)1 << 31; // RETAA
    }
}
