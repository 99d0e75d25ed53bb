// SPDX-License-Identifier: MIT
/*
 * What an instruction does, from its entry in the opcode maps and its parts: first the entry's
 * bits, then the action for what the bits cannot express.
 */
#include "engine/native/inner/decode_tables.h"

enum {
    AX = 1 << HP_X86_RAX,
    CX = 1 << HP_X86_RCX,
    DX = 1 << HP_X86_RDX,
    BX = 1 << HP_X86_RBX,
    SP = 1 << HP_X86_RSP,
    BP = 1 << HP_X86_RBP,
    SI = 1 << HP_X86_RSI,
    DI = 1 << HP_X86_RDI,
    ALL = 0xffff
};

static void conservative(struct hp_x86 *insn)
{
    insn->uses = insn->reads = ALL;
    insn->writes = 0;
    insn->reads_flags = true;
    insn->writes_flags = false;
}

/* --- Registers of the encoding ---------------------------------------------------------------- */

static unsigned opcode_register(const struct hp_x86_parts *p)
{
    return (p->opcode & 7u) | (p->extension & EXT_B) << 3;
}

static unsigned rm_register(const struct hp_x86_parts *p)
{
    return (p->modrm & 7u) | (p->extension & EXT_B) << 3;
}

static unsigned reg_field(const struct hp_x86_parts *p)
{
    return p->modrm >> 3 & 7u;
}

static unsigned g_register(const struct hp_x86_parts *p)
{
    return reg_field(p) | (p->extension & EXT_R) << 1;
}

static bool is_register(const struct hp_x86_parts *p)
{
    return p->modrm >= 0xc0;
}

// Without any REX, byte registers 4 to 7 are AH, CH, DH and BH.
static uint16_t mask_of(unsigned number, bool byte, const struct hp_x86 *insn)
{
    return (uint16_t)(1u << (byte && !insn->rex && number < 8 ? number & 3 : number));
}

static void reads(struct hp_x86 *insn, unsigned registers)
{
    insn->reads |= (uint16_t)registers;
}

// Registers are written: as a whole, or in part, which counts as read.
static void writes(struct hp_x86 *insn, unsigned registers, bool part)
{
    if (part)
        insn->reads |= (uint16_t)registers;
    else
        insn->writes |= (uint16_t)registers;
}

// All ones, or 0.
static unsigned when(uint32_t entry, unsigned bit)
{
    return entry & bit ? ~0u : 0;
}

// Applies the entry's bits by computation, not by branches, which would be unpredictable.
static void apply_modrm(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    uint32_t entry = p->entry;
    insn->reads = p->address;
    if (entry & (NS | SC)) {
        bool scalar = p->prefixes & (PF2 | PF3);
        if (scalar == !(entry & SC))
            return;
    }
    unsigned word = (0u - p->operand16) & ~when(entry, FX);
    unsigned g = mask_of(g_register(p), entry & GB, insn);
    unsigned e = mask_of(rm_register(p), entry & EB, insn) * (unsigned)is_register(p);
    unsigned g_part = word | when(entry, GB), e_part = word | when(entry, EB);
    unsigned g_written = g & when(entry, GW), e_written = e & when(entry, EW);
    reads(insn, (g & when(entry, GR)) | (g_written & g_part));
    reads(insn, (e & when(entry, ER)) | (e_written & e_part));
    insn->writes = (uint16_t)((g_written & ~g_part) | (e_written & ~e_part));
}

// For the groups, whose entries do not describe this.
static void write_rm(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (is_register(p))
        writes(insn, mask_of(rm_register(p), p->entry & EB, insn), p->operand16 || (p->entry & EB));
}

static void read_vvvv(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    reads(insn, 1u << p->vvvv);
}

/* --- One-byte opcodes ------------------------------------------------------------------------- */

static void xchg_accumulator(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (p->opcode == 0x90 && !(p->extension & EXT_B) && !p->operand16)
        return; // NOP, PAUSE
    unsigned both = AX | 1u << opcode_register(p);
    reads(insn, both);
    writes(insn, both, p->operand16 || (p->prefixes & PF3)); // may still be PAUSE
}

static void zero_idiom(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned g = g_register(p);
    if (is_register(p) && g == rm_register(p) && !p->operand16) {
        insn->reads = 0;
        insn->writes = (uint16_t)(1u << g);
        insn->uses = insn->writes;
    }
}

static void group1(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned what = reg_field(p);
    if (what == 7) // CMP
        insn->writes = 0;
    else if (what == 2 || what == 3) // ADC, SBB
        insn->reads_flags = true;
}

// A shift by 0 preserves the flags, and a rotation most of them.
static void shift(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    bool by_cl = p->opcode >= 0xd2, by_one = p->opcode == 0xd0 || p->opcode == 0xd1;
    unsigned count = (unsigned)insn->imm & (insn->wide ? 63 : 31);
    if (by_cl)
        reads(insn, CX);
    insn->writes_flags = reg_field(p) >= 4 && (by_one || (!by_cl && count));
    insn->reads_flags = !insn->writes_flags;
    insn->keeps_flags = insn->reads_flags && reg_field(p) != 2 && reg_field(p) != 3; // RCL, RCR
}

static void shift_double(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    bool by_cl = p->opcode & 1;
    if (by_cl)
        reads(insn, CX);
    insn->writes_flags = !by_cl && ((unsigned)insn->imm & (insn->wide ? 63 : 31));
    insn->reads_flags = insn->keeps_flags = !insn->writes_flags;
}

static void group3(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned what = reg_field(p);
    bool byte = p->entry & EB;
    insn->writes_flags = what != 2;
    if (what < 2) // TEST
        return;
    if (what < 4) { // NOT, NEG
        write_rm(p, insn);
        return;
    }
    // MUL, IMUL, DIV, IDIV; a byte's result is all in AX
    reads(insn, AX);
    if (byte)
        return;
    if (what >= 6)
        reads(insn, DX);
    writes(insn, AX | DX, p->operand16);
}

static void group4(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (reg_field(p) > 1)
        conservative(insn);
    else // INC, DEC
        insn->keeps_flags = insn->reads_flags;
}

static void group5(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    switch (reg_field(p)) {
    case 0: // INC, DEC: leave CF
    case 1:
        insn->reads_flags = insn->keeps_flags = true;
        write_rm(p, insn);
        break;
    case 2:
        insn->kind = HP_X86_CALL_IND;
        reads(insn, SP);
        break;
    case 4: insn->kind = HP_X86_JUMP_IND; break;
    case 3:
    case 5:
        insn->kind = HP_X86_FAR;
        conservative(insn);
        break;
    case 6: reads(insn, SP); break;
    default: conservative(insn);
    }
}

static void group11(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (reg_field(p) == 0)
        return;
    conservative(insn);
    if (p->opcode == 0xc7 && p->modrm == 0xf8)
        insn->kind = HP_X86_XBEGIN;
}

static void string(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    // MOVS CMPS STOS LODS SCAS by bits 1-3 of their opcodes, A4 ... AF; INS and OUTS
    bool source = false, target = false, accumulator = false, loads = false, compares = false;
    switch (p->opcode & 0xfe) {
    case 0xa4: source = target = true; break;
    case 0xa6: source = target = compares = true; break;
    case 0xaa: target = accumulator = true; break;
    case 0xac: source = loads = true; break;
    case 0xae: target = accumulator = compares = true; break;
    case 0x6c: target = true; break;
    default: source = true; break;
    }
    insn->is_string = true;
    insn->is_rep = p->prefixes & (PF2 | PF3);
    p->implicit_memory = source; // ES:RDI cannot be overridden
    insn->reads_flags = true;    // the direction
    insn->writes_flags = compares && !insn->is_rep;
    reads(insn, (source ? SI : 0u) | (target ? DI : 0u) | (accumulator ? AX : 0u));
    if (insn->is_rep)
        reads(insn, CX);
    if (p->opcode < 0x70)
        reads(insn, DX);
    if (loads)
        writes(insn, AX, !(p->opcode & 1) || p->operand16 || insn->is_rep);
}

static void x87(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!is_register(p))
        return;
    unsigned escape = p->opcode & 7;
    if (escape == 7 && p->modrm == 0xe0) // FNSTSW AX
        reads(insn, AX);
    else if ((escape == 2 || escape == 3) && p->modrm < 0xe0) // FCMOV
        insn->reads_flags = true;
    else if ((escape == 3 || escape == 7) && p->modrm >= 0xe8 && p->modrm < 0xf8) // FCOMI
        insn->reads_flags = true;
}

/* --- Two-byte opcodes ------------------------------------------------------------------------- */

static void group7(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!is_register(p))
        return;
    struct hp_x86 known = *insn;
    known.reads = known.uses = known.writes = 0;
    known.reads_flags = false;
    switch (p->modrm) {
    case 0xd0: // XGETBV
        known.reads = CX;
        known.writes = AX | DX;
        break;
    case 0xd6: // XTEST
        known.writes_flags = true;
        break;
    case 0xf9: // RDTSCP
        known.writes = AX | CX | DX;
        break;
    case 0xec:
        if (p->prefixes & PF3)
            insn->kind = HP_X86_SYSTEM; // UIRET
        return;
    default: return;
    }
    *insn = known;
}

static void group8(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (reg_field(p) > 4) // BTS, BTR, BTC
        write_rm(p, insn);
}

static void group9(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned what = reg_field(p);
    if (!is_register(p) && what == 1) { // CMPXCHG8B, CMPXCHG16B
        reads(insn, AX | DX | BX | CX);
        insn->reads_flags = true;                           // leaves all but ZF
    } else if (!is_register(p) && what >= 3 && what <= 5) { // XRSTORS, XSAVEC, XSAVES
        reads(insn, AX | DX);
    } else if (is_register(p) && what >= 6 && !(p->prefixes & (PF2 | PF3))) { // RDRAND, RDSEED
        writes(insn, 1u << rm_register(p), p->operand16);
        insn->writes_flags = true;
    } else if (is_register(p) && what == 7 && (p->prefixes & PF3)) { // RDPID
        writes(insn, 1u << rm_register(p), false);
    } else {
        conservative(insn);
    }
}

static void group15(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned what = reg_field(p);
    bool prefixed = p->prefixes & (P66 | PF2 | PF3);
    if (!is_register(p)) {
        if (what >= 4 && what <= 6 && !prefixed) // XSAVE, XRSTOR, XSAVEOPT
            reads(insn, AX | DX);
        else if (what >= 4 && prefixed && !(what == 7 && (p->prefixes & P66)))
            conservative(insn);
        return;
    }
    if (what >= 5 && !prefixed) // fences
        return;
    conservative(insn);
    if ((p->prefixes & PF3) && (what == 1 || what == 3)) {
        insn->kind = what == 1 ? HP_X86_RDGSBASE : HP_X86_WRGSBASE;
        insn->reg = (uint8_t)rm_register(p);
    }
    if ((p->prefixes & PF3) && what < 4) { // RDFSBASE, RDGSBASE, WRFSBASE, WRGSBASE
        insn->reads_flags = false;
        insn->uses = (uint16_t)(1u << rm_register(p));
        insn->reads = what < 2 ? 0 : insn->uses;
        insn->writes = what < 2 ? insn->uses : 0;
    }
}

// Prefetches and NOPs, some of which are now CET and MPX instructions.
static void hint(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    bool prefetch = p->opcode == 0x0d || (p->opcode == 0x18 && reg_field(p) < 4);
    if (p->opcode == 0x1f) { // names registers only for its length
        insn->uses = insn->reads;
        insn->reads = 0;
    } else if (p->opcode == 0x1e && is_register(p) && (p->prefixes & PF3)) {
        if ((p->modrm & 0xfe) == 0xfa) // ENDBR64, ENDBR32
            insn->reads = 0;
        else // RDSSP
            conservative(insn);
    } else if (prefetch && !is_register(p)) {
        insn->reads = p->address;
    }
}

static void popcnt(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!(p->prefixes & PF3))
        conservative(insn);
}

// TZCNT and LZCNT write the target, BSF and BSR perhaps not.
static void bit_scan(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!(p->prefixes & PF3))
        return;
    uint16_t target = (uint16_t)(1u << g_register(p));
    insn->reads = p->address;
    if (is_register(p))
        reads(insn, 1u << rm_register(p));
    writes(insn, target, p->operand16);
}

static void movbe(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned g = 1u << g_register(p);
    if (p->prefixes & PF2) { // CRC32
        reads(insn, g);
        writes(insn, g, false);
        if (is_register(p))
            reads(insn, mask_of(rm_register(p), p->opcode == 0xf0, insn));
    } else if (p->prefixes & PF3) {
        conservative(insn);
    } else if (p->opcode == 0xf0) {
        writes(insn, g, p->operand16);
    } else {
        reads(insn, g);
    }
}

// ADCX and ADOX change one flag each; WRSS is left alone.
static void adx(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!(p->prefixes & (P66 | PF3))) {
        conservative(insn);
        return;
    }
    insn->reads_flags = true;
    writes(insn, 1u << g_register(p), false);
}

// PCMPxSTRx: with explicit lengths in RAX and RDX, with an index in RCX.
static void pcmpstr(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!(p->opcode & 2))
        reads(insn, AX | DX);
    if (p->opcode & 1)
        writes(insn, CX, false);
}

/* --- VEX -------------------------------------------------------------------------------------- */

static void bls(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned what = reg_field(p);
    if (what >= 1 && what <= 3) // BLSR, BLSMSK, BLSI
        writes(insn, 1u << p->vvvv, false);
    else
        conservative(insn);
}

static void mulx(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!(p->prefixes & PF2)) {
        conservative(insn);
        return;
    }
    reads(insn, DX);
    writes(insn, 1u << p->vvvv, false);
}

/* --- All -------------------------------------------------------------------------------------- */

static void set_kind(struct hp_x86 *insn, enum hp_x86_kind kind, unsigned registers)
{
    insn->kind = (uint8_t)kind;
    insn->reads |= (uint16_t)registers;
}

// The commonest actions, from a table: a jump to the code of each would be mispredicted.
struct simple {
    uint8_t kind;
    bool reads_register, writes_register; /* the opcode's register */
    uint16_t reads;
};

static const struct simple simples[DO_LAST_SIMPLE + 1] = {
    [DO_JUMP] = {.kind = HP_X86_JUMP},
    [DO_COND] = {.kind = HP_X86_COND},
    [DO_COUNTED] = {.kind = HP_X86_COUNTED, .reads = CX},
    [DO_CALL] = {.kind = HP_X86_CALL, .reads = SP},
    [DO_STACK] = {.reads = SP},
    [DO_PUSH_REG] = {.reads_register = true, .reads = SP},
    [DO_POP_REG] = {.writes_register = true, .reads = SP},
    [DO_POP_RM] = {.reads = SP},
    [DO_LEAVE] = {.reads = SP | BP},
    [DO_ACC_READ] = {.reads = AX},
    [DO_CMPXCHG] = {.reads = AX},
    [DO_POP_GS] = {.kind = HP_X86_LOAD_GS, .reads = SP},
};

static void act_simply(const struct hp_x86_parts *p, struct hp_x86 *insn)
{
    const struct simple *s = &simples[p->entry >> ACTION];
    unsigned mask = 1u << opcode_register(p), part = 0u - p->operand16;
    unsigned written = mask & (0u - s->writes_register);
    insn->kind = s->kind;
    insn->condition = s->kind == HP_X86_COND ? p->opcode & 15 : 0;
    reads(insn, s->reads | (mask & (0u - s->reads_register)) | (written & part));
    insn->writes |= (uint16_t)(written & ~part);
}

static void act(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    bool word = p->operand16;
    switch ((enum action)(p->entry >> ACTION)) {
    default: break; // simple
    case DO_RET:
        set_kind(insn, HP_X86_RET, SP);
        insn->imm &= 0xffff; // not signed
        break;
    case DO_SYSCALL:
        set_kind(insn, HP_X86_SYSCALL, ALL);
        insn->writes = CX | 1u << 11;
        break;
    case DO_TRAP:
    case DO_JKD: set_kind(insn, HP_X86_TRAP, ALL); break;
    case DO_FAR: set_kind(insn, HP_X86_FAR, ALL); break;
    case DO_LGS: insn->kind = HP_X86_LOAD_GS; break;
    case DO_SYSTEM: set_kind(insn, HP_X86_SYSTEM, ALL); break;

    case DO_ACC_CHANGE:
        reads(insn, AX);
        writes(insn, AX, word || !(p->opcode & 1));
        break;
    case DO_MOV_IMM:
        writes(insn, mask_of(opcode_register(p), p->opcode < 0xb8, insn), word || p->opcode < 0xb8);
        break;
    case DO_XCHG_ACC: xchg_accumulator(p, insn); break;
    case DO_CBW:
        reads(insn, AX);
        writes(insn, AX, word);
        break;
    case DO_CWD:
        reads(insn, AX);
        writes(insn, DX, word);
        break;
    case DO_XLAT:
        reads(insn, AX | BX);
        p->implicit_memory = true;
        break;
    case DO_MOV_FROM_OFFSET:
        writes(insn, AX, word || !(p->opcode & 1));
        p->implicit_memory = true;
        break;
    case DO_MOV_TO_OFFSET:
        reads(insn, AX);
        p->implicit_memory = true;
        break;
    case DO_BSWAP:
        reads(insn, 1u << opcode_register(p));
        writes(insn, 1u << opcode_register(p), word);
        break;
    case DO_CPUID:
        reads(insn, AX | CX);
        writes(insn, AX | BX | CX | DX, false);
        break;
    case DO_RDTSC: writes(insn, AX | DX, false); break;
    case DO_MASKMOV:
        reads(insn, DI);
        p->implicit_memory = true;
        break;
    case DO_STRING: string(p, insn); break;

    case DO_ZERO_IDIOM: zero_idiom(p, insn); break;
    case DO_GROUP1: group1(p, insn); break;
    case DO_SHIFT: shift(p, insn); break;
    case DO_SHIFT_DOUBLE: shift_double(p, insn); break;
    case DO_GROUP3: group3(p, insn); break;
    case DO_GROUP4: group4(p, insn); break;
    case DO_GROUP5: group5(p, insn); break;
    case DO_GROUP7: group7(p, insn); break;
    case DO_GROUP8: group8(p, insn); break;
    case DO_GROUP9: group9(p, insn); break;
    case DO_GROUP11: group11(p, insn); break;
    case DO_GROUP15: group15(p, insn); break;
    case DO_X87: x87(p, insn); break;
    case DO_MOV_TO_SEGMENT:
        if (reg_field(p) == 5)
            insn->kind = HP_X86_LOAD_GS;
        break;
    case DO_MOV_CONTROL: break;
    case DO_HINT: hint(p, insn); break;
    case DO_POPCNT: popcnt(p, insn); break;
    case DO_BSF: bit_scan(p, insn); break;
    case DO_MOVBE: movbe(p, insn); break;
    case DO_ADX: adx(p, insn); break;
    case DO_KEYLOCKER:
        if (p->prefixes & PF3)
            conservative(insn);
        break;
    case DO_PCMPSTR: pcmpstr(p, insn); break;

    case DO_ANDN: read_vvvv(p, insn); break;
    case DO_BLS: bls(p, insn); break;
    case DO_BZHI: // and PEXT, PDEP, which leave the flags
        read_vvvv(p, insn);
        insn->writes_flags = !(p->prefixes & (PF2 | PF3));
        break;
    case DO_MULX: mulx(p, insn); break;
    case DO_BEXTR: // and SARX, SHLX, SHRX
        read_vvvv(p, insn);
        insn->writes_flags = !(p->prefixes & (P66 | PF2 | PF3));
        break;
    case DO_VEX_GROUP15:
        if (is_register(p))
            conservative(insn);
        break;
    }
}

void hp_x86_effects(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    uint32_t entry = p->entry;
    if (entry & K) {
        if (entry & MODRM)
            apply_modrm(p, insn);
        insn->reads_flags = entry & FR;
        insn->writes_flags = entry & FW;
    } else {
        conservative(insn);
    }
    if (entry >> ACTION > DO_LAST_SIMPLE)
        act(p, insn);
    else
        act_simply(p, insn);
    insn->is_lea = entry & LEA;
    insn->uses |= insn->reads | insn->writes;
    insn->writes &= (uint16_t)~SP;
    if (p->prefixes & (PFS | PGS) && (insn->has_memory || p->implicit_memory))
        insn->segment = p->prefixes & PFS ? HP_X86_SEG_FS : HP_X86_SEG_GS;
}
