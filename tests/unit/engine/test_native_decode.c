// SPDX-License-Identifier: MIT
/*
 * The native engine's decoder against Zydis, and against the isa part, whose blocks must end where
 * the engine's do: all opcodes with all ModRM bytes, installed programs, random and cut off bytes.
 */
#include "engine/native/inner/decode.h"
#include "engine/native/inner/decode_memory.h"
#include "hotpath/isa.h"
#include "isa/elf_section.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
// cmocka.h needs the above
#include <cmocka.h>

enum { ADDRESS = 0x10000000 };

struct witness {
    ZydisDecoder zydis;
    struct hp_decoder *isa;
    /* counts of what was compared */
    uint64_t instructions;
    uint64_t conservative;
    uint64_t inexact; /* safe, but not all that Zydis knows */
};

static int open_witness(void **state)
{
    static struct witness w;
    w = (struct witness){0};
    ZydisDecoderInit(&w.zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    *state = &w;
    return hp_decoder_new(HP_ARCH_X86_64, &w.isa) == HP_OK ? 0 : -1;
}

static int close_witness(void **state)
{
    struct witness *w = *state;
    hp_decoder_free(w->isa);
    return 0;
}

/* --- What Zydis says / ------------------------------------------------------------------------ */

struct said {
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint16_t uses, reads, writes;
    bool has_memory;
    bool reads_flags, writes_flags, tests_flags;
};

static uint16_t general(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: break;
    default: return 0;
    }
    reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return (uint16_t)(1u << ZydisRegisterGetId(reg));
}

static bool is_part(ZydisRegister reg)
{
    ZydisRegisterClass class = ZydisRegisterGetClass(reg);
    return class == ZYDIS_REGCLASS_GPR8 || class == ZYDIS_REGCLASS_GPR16;
}

// XOR and SUB of a register and itself read nothing.
static bool is_zero_idiom(const struct said *s)
{
    ZydisMnemonic m = s->zi.mnemonic;
    return (m == ZYDIS_MNEMONIC_XOR || m == ZYDIS_MNEMONIC_SUB) &&
           s->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           s->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           s->operands[0].reg.value == s->operands[1].reg.value &&
           !is_part(s->operands[0].reg.value);
}

static void add_operand(struct said *s, const ZydisDecodedOperand *op)
{
    if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        uint16_t registers = general(op->mem.base) | general(op->mem.index);
        s->uses |= registers;
        s->reads |= registers;
        bool accessed =
            op->mem.type == ZYDIS_MEMOP_TYPE_MEM || op->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
        if (accessed && op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
            s->has_memory = true;
    } else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        uint16_t mask = general(op->reg.value);
        s->uses |= mask;
        bool whole = (op->actions & ZYDIS_OPERAND_ACTION_WRITE) && !is_part(op->reg.value);
        if (whole)
            s->writes |= mask;
        else if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            s->reads |= mask;
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            s->reads |= mask;
    }
}

static void add_flags(struct said *s)
{
    enum {
        SIX = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
              ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF
    };
    const ZydisAccessedFlags *f = s->zi.cpu_flags;
    if (!f)
        return;
    uint32_t written = (f->modified | f->set_0 | f->set_1 | f->undefined) & SIX;
    s->writes_flags = written == SIX;
    s->tests_flags = f->tested & SIX;
    s->reads_flags = (f->tested & (SIX | ZYDIS_CPUFLAG_DF)) || (written && written != SIX);
}

static bool ask_zydis(struct witness *w, const uint8_t *code, size_t size, struct said *s)
{
    memset(s, 0, sizeof *s);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&w->zydis, code, size, &s->zi, s->operands)))
        return false;
    for (unsigned i = 0; i < s->zi.operand_count; i++)
        add_operand(s, &s->operands[i]);
    add_flags(s);
    bool nop = s->zi.opcode_map == ZYDIS_OPCODE_MAP_0F && s->zi.opcode == 0x1f;
    if (is_zero_idiom(s) || (nop && s->zi.mnemonic == ZYDIS_MNEMONIC_NOP))
        s->reads = 0;
    s->writes &= (uint16_t) ~(1u << HP_X86_RSP);
    return true;
}

/* --- Comparing / ------------------------------------------------------------------------------ */

/*
 * Which flows of the isa part a kind may be:
 *
 *   PLAIN, RDGSBASE, WRGSBASE, LOAD_GS          none
 *   JUMP, CALL, JUMP_IND, CALL_IND              the same
 *   COND, COUNTED, XBEGIN                       cond
 *   RET                                         return
 *   SYSCALL                                     syscall
 *   TRAP       trap; syscall for INT 80; cond for JKZD and JKNZD, which only Knights Corner had
 *   FAR        return for far RET, IRET; jump_ind and call_ind for far JMP and CALL
 *   SYSTEM     return for UIRET, SYSRET, SYSEXIT, RSM; syscall for SYSENTER
 */
static unsigned flows_of(unsigned kind)
{
    switch (kind) {
    case HP_X86_JUMP: return 1u << HP_FLOW_JUMP;
    case HP_X86_COND:
    case HP_X86_COUNTED:
    case HP_X86_XBEGIN: return 1u << HP_FLOW_COND;
    case HP_X86_CALL: return 1u << HP_FLOW_CALL;
    case HP_X86_JUMP_IND: return 1u << HP_FLOW_JUMP_IND;
    case HP_X86_CALL_IND: return 1u << HP_FLOW_CALL_IND;
    case HP_X86_RET: return 1u << HP_FLOW_RETURN;
    case HP_X86_SYSCALL: return 1u << HP_FLOW_SYSCALL;
    case HP_X86_TRAP: return 1u << HP_FLOW_TRAP | 1u << HP_FLOW_SYSCALL | 1u << HP_FLOW_COND;
    case HP_X86_FAR: return 1u << HP_FLOW_RETURN | 1u << HP_FLOW_JUMP_IND | 1u << HP_FLOW_CALL_IND;
    case HP_X86_SYSTEM: return 1u << HP_FLOW_RETURN | 1u << HP_FLOW_SYSCALL;
    case HP_X86_INVALID: return 0;
    default: return 1u << HP_FLOW_NONE;
    }
}

static bool is_far(const struct said *s)
{
    switch (s->zi.mnemonic) {
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_RSM: return true;
    default: return s->zi.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
    }
}

static const char *compare_flow(struct witness *w, const uint8_t *code, size_t size,
                                const struct said *s, const struct hp_x86 *insn)
{
    struct hp_insn isa;
    if (hp_decode(w->isa, HP_MODE_DEFAULT, ADDRESS, code, size, true, &isa) != HP_OK)
        return "isa part fails";
    if (!(flows_of(insn->kind) & 1u << isa.flow))
        return "kind";
    if (is_far(s) != (insn->kind == HP_X86_FAR || insn->kind == HP_X86_SYSTEM))
        return "far";
    bool counted = s->zi.mnemonic == ZYDIS_MNEMONIC_LOOP ||
                   s->zi.mnemonic == ZYDIS_MNEMONIC_LOOPE ||
                   s->zi.mnemonic == ZYDIS_MNEMONIC_LOOPNE ||
                   s->zi.mnemonic == ZYDIS_MNEMONIC_JRCXZ || s->zi.mnemonic == ZYDIS_MNEMONIC_JECXZ;
    if (counted != (insn->kind == HP_X86_COUNTED))
        return "counted";
    if ((s->zi.mnemonic == ZYDIS_MNEMONIC_XBEGIN) != (insn->kind == HP_X86_XBEGIN))
        return "xbegin";
    if (isa.target && insn->kind != HP_X86_TRAP && hp_x86_target(insn, ADDRESS) != isa.target)
        return "target";
    return NULL;
}

static const char *compare_parts(const struct said *s, const struct hp_x86 *insn)
{
    const ZydisDecodedInstruction *zi = &s->zi;
    if (insn->length != zi->length)
        return "length";
    if (insn->modrm_at != zi->raw.modrm.offset)
        return "modrm_at";
    if (zi->raw.disp.size == 64 || (zi->raw.disp.size == 32 && !insn->modrm_at)) // MOV moffs
        return insn->imm_at == zi->raw.disp.offset && insn->imm_size * 8 == zi->raw.disp.size &&
                       !insn->disp_at
                   ? NULL
                   : "moffs";
    if (insn->disp_at != zi->raw.disp.offset || insn->disp_size * 8 != zi->raw.disp.size)
        return "disp_at";
    if (insn->disp_at && insn->disp != zi->raw.disp.value)
        return "disp";
    if (zi->opcode_map == ZYDIS_OPCODE_MAP_0F0F) { // an immediate here, an opcode to Zydis
        if (insn->imm_at != zi->length - 1 || insn->imm_size != 1)
            return "3DNow!";
    } else if (insn->imm_at != zi->raw.imm[0].offset ||
               insn->imm_size * 8 != zi->raw.imm[0].size + zi->raw.imm[1].size) {
        return "imm_at";
    }
    if (zi->raw.imm[0].size && !zi->raw.imm[1].size &&
        ((uint64_t)insn->imm ^ zi->raw.imm[0].value.u) << (64 - zi->raw.imm[0].size))
        return "imm";
    bool rip = false;
    for (unsigned i = 0; i < zi->operand_count; i++)
        rip |= s->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
               (s->operands[i].mem.base == ZYDIS_REGISTER_RIP ||
                s->operands[i].mem.base == ZYDIS_REGISTER_EIP);
    if (rip != insn->rip_relative)
        return "rip_relative";
    if (insn->addr32 != ((zi->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) != 0))
        return "addr32";
    return NULL;
}

static bool is_hint(const struct said *s)
{
    switch (s->zi.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_MPX: return true;
    default:
        return s->zi.mnemonic == ZYDIS_MNEMONIC_LEA || s->zi.mnemonic == ZYDIS_MNEMONIC_CLDEMOTE;
    }
}

static const char *compare_memory(const struct said *s, const struct hp_x86 *insn)
{
    // Knights Corner had prefetches with VEX, which are not known as such.
    bool foreign =
        s->zi.meta.isa_ext == ZYDIS_ISA_EXT_KNC || s->zi.meta.isa_ext == ZYDIS_ISA_EXT_KNCE;
    if (insn->has_memory != (s->has_memory && !is_hint(s)) && !foreign)
        return "has_memory";
    uint8_t segment = HP_X86_SEG_NONE;
    if (!is_hint(s) && (s->zi.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS))
        segment = HP_X86_SEG_FS;
    if (!is_hint(s) && (s->zi.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS))
        segment = HP_X86_SEG_GS;
    if (insn->segment != segment)
        return "segment";
    bool rep =
        s->zi.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
    bool via = s->zi.meta.category == ZYDIS_CATEGORY_PADLOCK ||
               s->zi.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT;
    if (rep != insn->is_rep && !via)
        return "is_rep";
    return NULL;
}

static const char *compare_registers(const struct said *s, const struct hp_x86 *insn)
{
    if (s->uses & ~insn->uses)
        return "uses";
    if (s->reads & ~insn->reads)
        return "reads";
    if (insn->writes & ~s->writes)
        return "writes";
    if ((insn->reads | insn->writes) & ~insn->uses)
        return "uses what is read or written";
    if (s->reads_flags && !insn->reads_flags)
        return "reads_flags";
    if (insn->writes_flags && !s->writes_flags)
        return "writes_flags";
    if (insn->keeps_flags && (s->tests_flags || !insn->reads_flags))
        return "keeps_flags";
    return NULL;
}

static bool is_same_mem(const struct hp_x86_mem *ours, const struct hp_mem *isa, unsigned length)
{
    uint64_t disp = (uint64_t)isa->disp, mask = ours->addr32 ? UINT32_MAX : UINT64_MAX;
    uint8_t base = isa->base == HP_MEM_PC ? HP_X86_NO_REG : isa->base;
    if (isa->base == HP_MEM_PC)
        disp += ADDRESS + length;
    bool index = isa->index != HP_MEM_NOREG;
    return ours->base == base && ours->index == (index ? isa->index : HP_X86_NO_REG) &&
           (!index || 1u << ours->shift == isa->scale) && !(((uint64_t)ours->disp ^ disp) & mask);
}

// The operands whose addresses are recorded: those of the isa part.
static const char *compare_operands(struct witness *w, const uint8_t *code, size_t size,
                                    const struct said *s, const struct hp_x86 *insn)
{
    struct hp_insn isa;
    struct hp_x86_mem mems[HP_X86_MEMS_MAX];
    if (s->zi.meta.isa_ext == ZYDIS_ISA_EXT_KNC || s->zi.meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
        s->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX)
        return NULL; // Knights Corner's
    if (hp_decode(w->isa, HP_MODE_DEFAULT, ADDRESS, code, size, false, &isa) != HP_OK)
        return "isa part fails";
    if (hp_x86_memory(code, insn, ADDRESS, mems) != isa.n_mems)
        return "number of memory operands";
    for (unsigned i = 0; i < isa.n_mems && insn->kind != HP_X86_SYSTEM; i++)
        if (!is_same_mem(&mems[i], &isa.mems[i], isa.length))
            return "memory operand";
    return NULL;
}

static bool is_exact(const struct said *s, const struct hp_x86 *insn)
{
    uint16_t rsp = 1u << HP_X86_RSP; // may be read or not where it is written
    return !((s->reads ^ insn->reads) & ~rsp) && s->writes == insn->writes &&
           s->reads_flags == insn->reads_flags && s->writes_flags == insn->writes_flags;
}

// NULL, or what is different. Counts the instruction when Zydis knows it.
static const char *compare(struct witness *w, const uint8_t *code, size_t size, struct said *s)
{
    struct hp_x86 insn;
    hp_x86_decode(code, (unsigned)size, &insn);
    bool known = ask_zydis(w, code, size, s);
    if (insn.length < 1 || insn.length > size || insn.length > 15)
        return "bounds";
    if (!known)
        return NULL;
    w->instructions++;
    w->conservative += insn.uses == 0xffff;
    w->inexact += !is_exact(s, &insn);
    const char *what = compare_parts(s, &insn);
    if (!what)
        what = compare_flow(w, code, size, s, &insn);
    if (!what)
        what = compare_memory(s, &insn);
    if (!what)
        what = compare_operands(w, code, size, s, &insn);
    return what ? what : compare_registers(s, &insn);
}

static void report(struct witness *w, const uint8_t *code, size_t size, const char *what)
{
    char text[128];
    hp_disassemble(w->isa, HP_MODE_DEFAULT, ADDRESS, code, size, text, sizeof text);
    struct hp_x86 i;
    struct said s;
    hp_x86_decode(code, (unsigned)size, &i);
    ask_zydis(w, code, size, &s);
    print_error("%s differs:", what);
    for (unsigned b = 0; b < s.zi.length; b++)
        print_error(" %02x", code[b]);
    print_error("  %s\n", text);
    print_error("  length %u kind %u uses %04x reads %04x writes %04x flags %d%d; Zydis length %u "
                "uses %04x reads %04x writes %04x flags %d%d\n",
                i.length, i.kind, i.uses, i.reads, i.writes, i.reads_flags, i.writes_flags,
                s.zi.length, s.uses, s.reads, s.writes, s.reads_flags, s.writes_flags);
}

struct failures {
    unsigned count;
    uint8_t reported[ZYDIS_MNEMONIC_MAX_VALUE + 1]; /* once each */
};

static void reset(struct witness *w)
{
    w->instructions = w->conservative = w->inexact = 0;
}

// Something was compared at all.
static void assert_enough(const struct witness *w, uint64_t instructions)
{
    if (w->instructions < instructions)
        fail_msg("only %lu instructions compared", w->instructions);
}

// The length of the instruction, 1 where there is none.
static unsigned check(struct witness *w, const uint8_t *code, size_t size, struct failures *f)
{
    struct said s;
    const char *what = compare(w, code, size, &s);
    if (what) {
        f->count++;
        if (!f->reported[s.zi.mnemonic]++)
            report(w, code, size, what);
    }
    return s.zi.length ? s.zi.length : 1;
}

/* --- All opcodes / ---------------------------------------------------------------------------- */

enum { PADDED = 24 };

// Opcode and ModRM bytes at `at`, all of them.
static void check_opcodes(struct witness *w, uint8_t *code, unsigned at, struct failures *f)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        for (unsigned modrm = 0; modrm < 256; modrm++) {
            code[at] = (uint8_t)opcode;
            code[at + 1] = (uint8_t)modrm;
            check(w, code, PADDED, f);
        }
    }
}

static void pad(uint8_t *code, unsigned at, uint8_t sib)
{
    for (unsigned i = at; i < PADDED; i++)
        code[i] = (uint8_t)(0x11 * (i - at + 1));
    code[at + 2] = sib; // of an instruction with ModRM
}

static void all_legacy_opcodes(void **state)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3}, rexes[] = {0, 0x40, 0x48, 0x4f};
    static const uint8_t maps[][2] = {{0, 0}, {0x0f, 0}, {0x0f, 0x38}, {0x0f, 0x3a}};
    static const uint8_t sibs[] = {0x5d, 0xe4, 0x8b, 0x25};
    struct failures f = {0};
    reset(*state);
    for (unsigned i = 0; i < 64; i++) {
        uint8_t code[PADDED];
        unsigned at = 0;
        if (prefixes[i & 3])
            code[at++] = prefixes[i & 3];
        if (rexes[i >> 2 & 3])
            code[at++] = rexes[i >> 2 & 3];
        for (unsigned b = 0; b < 2; b++)
            if (maps[i >> 4][b])
                code[at++] = maps[i >> 4][b];
        pad(code, at, sibs[(i ^ i >> 2) & 3]);
        check_opcodes(*state, code, at, &f);
    }
    assert_enough(*state, 1000000);
    assert_int_equal(f.count, 0);
}

static void all_vex_opcodes(void **state)
{
    struct failures f = {0};
    reset(*state);
    for (unsigned i = 0; i < 3 * 4 * 2 * 2; i++) { // map, pp, W, L
        unsigned map = i % 3 + 1, pp = i / 3 & 3, wide = i / 12 & 1, length = i / 24;
        uint8_t code[PADDED] = {0xc4};
        code[1] = (uint8_t)((i & 1 ? 0xe0 : 0x00) | map);
        code[2] = (uint8_t)(wide << 7 | (i & 2 ? 0x78 : 0x58) | length << 2 | pp);
        pad(code, 3, 0x5d);
        check_opcodes(*state, code, 3, &f);
    }
    for (unsigned i = 0; i < 8; i++) {
        uint8_t code[PADDED] = {0xc5, (uint8_t)(0xf8 | i)};
        pad(code, 2, 0x25);
        check_opcodes(*state, code, 2, &f);
    }
    assert_enough(*state, 200000);
    assert_int_equal(f.count, 0);
}

static void all_evex_opcodes(void **state)
{
    static const uint8_t maps[] = {1, 2, 3, 5, 6};
    struct failures f = {0};
    reset(*state);
    for (unsigned i = 0; i < 5 * 4 * 2 * 2; i++) {
        unsigned pp = i / 5 & 3, wide = i / 20 & 1, masked = i / 40;
        uint8_t code[PADDED] = {0x62};
        code[1] = (uint8_t)((i & 1 ? 0xf0 : 0x90) | maps[i % 5]);
        code[2] = (uint8_t)(wide << 7 | 0x7c | pp);
        code[3] = (uint8_t)((i * 7 % 3) << 5 | 8 | masked * 3 | (i & 4 ? 0x10 : 0));
        pad(code, 4, 0x5d);
        check_opcodes(*state, code, 4, &f);
    }
    assert_enough(*state, 200000);
    assert_int_equal(f.count, 0);
}

static void all_xop_opcodes(void **state)
{
    struct failures f = {0};
    reset(*state);
    for (unsigned i = 0; i < 3 * 2 * 2; i++) {
        uint8_t code[PADDED] = {0x8f};
        code[1] = (uint8_t)((i & 1 ? 0xe0 : 0x00) | (8 + i % 3));
        code[2] = (uint8_t)((i / 3 & 1) << 7 | 0x78 | (i / 6 & 1) << 2);
        pad(code, 3, 0x5d);
        check_opcodes(*state, code, 3, &f);
    }
    assert_enough(*state, 20000);
    assert_int_equal(f.count, 0);
}

// Segments, address size, LOCK, and several prefixes at once.
static void prefixes(void **state)
{
    static const uint8_t sets[][4] = {
        {0x64},
        {0x65},
        {0x67},
        {0x64, 0x67},
        {0x65, 0x2e},
        {0x64, 0x65},
        {0x65, 0x64, 0x3e},
        {0xf0},
        {0x66, 0xf3},
        {0xf2, 0x66},
        {0xf3, 0xf2},
        {0x48, 0x66},
        {0x48, 0x40},
        {0x67, 0x65, 0x48},
        {0x65, 0xf3},
        {0x64, 0xf2, 0x66},
    };
    static const uint8_t maps[][2] = {{0, 0}, {0x0f, 0}, {0x0f, 0x38}, {0x0f, 0x3a}};
    struct failures f = {0};
    reset(*state);
    for (unsigned i = 0; i < sizeof sets / sizeof *sets * 4; i++) {
        uint8_t code[PADDED];
        unsigned at = 0;
        for (unsigned b = 0; b < 4 && sets[i / 4][b]; b++)
            code[at++] = sets[i / 4][b];
        for (unsigned b = 0; b < 2; b++)
            if (maps[i & 3][b])
                code[at++] = maps[i & 3][b];
        pad(code, at, 0x5d);
        check_opcodes(*state, code, at, &f);
    }
    assert_enough(*state, 1000000);
    assert_int_equal(f.count, 0);
}

/* --- Real code / ------------------------------------------------------------------------------ */

static void check_section(struct witness *w, const struct elf_section *section, struct failures *f)
{
    for (size_t at = 0; at < section->size;)
        at += check(w, section->data + at, section->size - at, f);
}

static void real_code(void **state)
{
    static const char *const paths[] = {
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/proc/self/exe",
        "/bin/bash",
    };
    static const char *const sections[] = {".text", ".plt", ".plt.sec", ".plt.got", ".init"};
    struct witness *w = *state;
    struct failures f = {0};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (unsigned k = 0; k < sizeof sections / sizeof *sections; k++) {
            struct elf_section section;
            if (!elf_section_read(paths[i], sections[k], &section)) {
                assert_true(i > 0 || k > 0);
                continue;
            }
            reset(w);
            check_section(w, &section, &f);
            free(section.data);
            if (i == 0 && k == 0) {
                assert_true(w->instructions > 100000);
                assert_true(w->conservative * 100 < w->instructions);
                assert_true(w->inexact * 100 < 5 * w->instructions);
            }
            if (k == 0)
                print_message("%s: %lu instructions, %lu conservative, %lu inexact\n", paths[i],
                              w->instructions, w->conservative, w->inexact);
        }
    }
    assert_int_equal(f.count, 0);
}

/* --- Hostile bytes / -------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void random_bytes(void **state)
{
    struct failures f = {0};
    reset(*state);
    uint64_t seed = 88172645463325252u;
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t bytes[2] = {next_random(&seed), next_random(&seed)};
        check(*state, (const uint8_t *)bytes, 15, &f);
    }
    assert_enough(*state, 300000);
    assert_int_equal(f.count, 0);
}

// Each size on its own allocation, so that a sanitizer sees a byte too many.
static void cut_off(void **state)
{
    (void)state;
    static const uint8_t samples[][16] = {
        {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
        {0x64, 0x48, 0x81, 0x84, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8},
        {0xc4, 0xe3, 0x7d, 0x0f, 0x44, 0x8b, 0x11, 0x22},
        {0x62, 0xf3, 0x7d, 0x48, 0x0f, 0x84, 0x8b, 1, 2, 3, 4, 5},
        {0x0f, 0x84, 1, 2, 3, 4},
        {0x0f, 0x38, 0xf0, 0x05, 1, 2, 3, 4},
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
         0x90},
    };
    for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct hp_x86 whole, cut;
        hp_x86_decode(samples[i], 16, &whole);
        for (unsigned size = 1; size <= 15; size++) {
            uint8_t *bytes = malloc(size);
            assert_non_null(bytes);
            memcpy(bytes, samples[i], size);
            hp_x86_decode(bytes, size, &cut);
            free(bytes);
            assert_in_range(cut.length, 1, size);
            bool invalid = size < whole.length || whole.kind == HP_X86_INVALID;
            assert_int_equal(cut.kind == HP_X86_INVALID, invalid);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_legacy_opcodes), cmocka_unit_test(all_vex_opcodes),
        cmocka_unit_test(all_evex_opcodes),   cmocka_unit_test(all_xop_opcodes),
        cmocka_unit_test(prefixes),           cmocka_unit_test(real_code),
        cmocka_unit_test(random_bytes),       cmocka_unit_test(cut_off),
    };
    return cmocka_run_group_tests(tests, open_witness, close_witness);
}
