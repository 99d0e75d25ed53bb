// SPDX-License-Identifier: MIT
#include "engine/native/inner/decode_memory.h"

/* The instruction, and its operands found so far. */
struct list {
    const uint8_t *code;
    const struct hp_x86 *insn;
    const uint8_t *opcode; /* after the prefixes */
    struct hp_x86_mem *mems;
    unsigned n;
    bool word; /* 16-bit operands */
};

static bool has_prefix(const struct list *l, uint8_t prefix)
{
    for (unsigned i = 0; i < l->insn->opcode_at; i++)
        if (l->code[i] == prefix)
            return true;
    return false;
}

static void add(struct list *l, struct hp_x86_mem mem)
{
    if (l->n < HP_X86_MEMS_MAX)
        l->mems[l->n++] = mem;
}

/* --- Without ModRM ---------------------------------------------------------------------------- */

static void add_stack(struct list *l, unsigned base, int64_t disp)
{
    add(l, (struct hp_x86_mem){.base = (uint8_t)base, .index = HP_X86_NO_REG, .disp = disp});
}

static void add_push(struct list *l)
{
    add_stack(l, HP_X86_RSP, l->word ? -2 : -8);
}

/* [reg], in the segment of the prefix if `segment`. */
static void add_pointer(struct list *l, unsigned reg, bool segment)
{
    add(l, (struct hp_x86_mem){.base = (uint8_t)reg,
                               .index = HP_X86_NO_REG,
                               .segment = segment ? l->insn->segment : HP_X86_SEG_NONE,
                               .addr32 = l->insn->addr32});
}

static void add_string(struct list *l)
{
    uint8_t what = l->opcode[0] & 0xfe;
    bool source = what == 0xa4 || what == 0xa6 || what == 0xac || what == 0x6e;
    if (source)
        add_pointer(l, HP_X86_RSI, true);
    if (!source || what == 0xa4 || what == 0xa6)
        add_pointer(l, HP_X86_RDI, false);
}

/* MOV with the address in the instruction. */
static void add_offset(struct list *l)
{
    int64_t disp = l->insn->addr32 ? (int64_t)(uint32_t)l->insn->imm : l->insn->imm;
    add(l, (struct hp_x86_mem){.base = HP_X86_NO_REG,
                               .index = HP_X86_NO_REG,
                               .segment = l->insn->segment,
                               .addr32 = l->insn->addr32,
                               .disp = disp});
}

/* --- ModRM ------------------------------------------------------------------------------------ */

static bool is_vex(uint8_t first)
{
    return first == 0xc4 || first == 0xc5 || first == 0x62 || first == 0x8f;
}

/* The bits that extend index (2) and base (1), wherever the encoding has them. */
static unsigned extension(const struct list *l)
{
    const uint8_t *opcode = l->opcode;
    if (!is_vex(opcode[0]))
        return l->insn->rex & 3;
    bool none = opcode[0] == 0xc5 || (opcode[0] == 0x8f && (opcode[1] & 0x1f) < 8);
    return none ? l->insn->rex & 3 : (~opcode[1] >> 5) & 3;
}

/* Gathers and scatters: the index is a vector. */
static bool has_vector_index(const struct list *l)
{
    const uint8_t *opcode = l->opcode;
    uint8_t number;
    if (opcode[0] == 0xc4 && (opcode[1] & 31) == 2)
        number = opcode[3];
    else if (opcode[0] == 0x62 && (opcode[1] & 7) == 2)
        number = opcode[4];
    else
        return false;
    return (number >= 0x90 && number <= 0x93) || (number >= 0xa0 && number <= 0xa3) ||
           number == 0xc6 || number == 0xc7;
}

static void take_sib(const struct list *l, struct hp_x86_mem *mem)
{
    uint8_t modrm = l->code[l->insn->modrm_at], sib = l->code[l->insn->modrm_at + 1];
    unsigned more = extension(l);
    uint8_t index = (uint8_t)((sib >> 3 & 7u) | (more & 2) << 2);
    if (index != HP_X86_RSP && !has_vector_index(l)) {
        mem->index = index;
        mem->shift = sib >> 6;
    }
    if ((sib & 7) == 5 && modrm < 0x40)
        return;
    mem->base = (uint8_t)((sib & 7u) | (more & 1) << 3);
}

static struct hp_x86_mem modrm_operand(const struct list *l, uint64_t address)
{
    const struct hp_x86 *insn = l->insn;
    struct hp_x86_mem mem = {.base = HP_X86_NO_REG,
                             .index = HP_X86_NO_REG,
                             .segment = insn->segment,
                             .addr32 = insn->addr32,
                             .disp = insn->disp};
    uint8_t modrm = l->code[insn->modrm_at];
    if (insn->rip_relative)
        mem.disp = (int64_t)hp_x86_operand(insn, address);
    else if ((modrm & 7) == 4)
        take_sib(l, &mem);
    else
        mem.base = (uint8_t)((modrm & 7u) | (extension(l) & 1) << 3);
    if (l->opcode[0] == 0x62 && insn->disp_size == 1)
        mem.disp *= hp_x86_disp8_scale(l->opcode);
    return mem;
}

/* Hints that the isa part lists as reads although nothing depends on the data: prefetches,
 * CLDEMOTE, and MPX's moves, which current processors no longer have. */
static bool is_listed_hint(const struct list *l)
{
    if (l->opcode[0] != 0x0f || !l->insn->modrm_at || l->code[l->insn->modrm_at] >= 0xc0)
        return false;
    unsigned reg = l->code[l->insn->modrm_at] >> 3 & 7;
    bool repeat = has_prefix(l, 0xf2) || has_prefix(l, 0xf3), word = has_prefix(l, 0x66);
    switch (l->opcode[1]) {
    case 0x0d: return true;
    case 0x18: return reg < 4;
    case 0x1a:
    case 0x1b: return word && !repeat;
    case 0x1c: return reg == 0 && !word && !repeat;
    default: return false;
    }
}

static void add_modrm(struct list *l, uint64_t address)
{
    if (l->insn->has_memory || is_listed_hint(l))
        add(l, modrm_operand(l, address));
}

/* --- By opcode -------------------------------------------------------------------------------- */

static void one_byte(struct list *l, uint64_t address)
{
    uint8_t opcode = l->opcode[0];
    unsigned reg = l->insn->modrm_at ? l->code[l->insn->modrm_at] >> 3 & 7 : 0;
    switch (opcode) {
    case 0x50 ... 0x57:
    case 0x68:
    case 0x6a:
    case 0x9c:
    case 0xc8: add_push(l); break;
    case 0x58 ... 0x5f:
    case 0x9d:
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf: add_stack(l, HP_X86_RSP, 0); break;
    case 0xc9: add_stack(l, HP_X86_RBP, 0); break;
    case 0xe8: add_stack(l, HP_X86_RSP, -8); break;
    case 0x6c ... 0x6f:
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf: add_string(l); break;
    case 0xa0 ... 0xa3: add_offset(l); break;
    case 0xd7:
        add_pointer(l, HP_X86_RBX, true);
        l->mems[0].plus_al = true;
        break;
    case 0x8f: // POP: an address in RSP is that behind what is popped
        add_stack(l, HP_X86_RSP, 0);
        add_modrm(l, address);
        if (l->n == 2 && l->mems[1].base == HP_X86_RSP)
            l->mems[1].disp += l->word ? 2 : 8;
        break;
    case 0xff:
        add_modrm(l, address);
        if (reg == 2)
            add_stack(l, HP_X86_RSP, -8);
        else if (reg == 3) // a segment too
            add_stack(l, HP_X86_RSP, l->insn->wide ? -16 : l->word ? -4 : -8);
        else if (reg == 6)
            add_push(l);
        break;
    default: add_modrm(l, address);
    }
}

/* VIA extensions: random numbers, hashes, ciphers. */
static void add_padlock(struct list *l, uint8_t modrm)
{
    bool hash = l->opcode[1] == 0xa6;
    if (modrm < 0xc0 || modrm > 0xe8)
        return;
    if (modrm == 0xc0) {
        add_pointer(l, hash ? HP_X86_RSI : HP_X86_RDI, false);
        return;
    }
    add_pointer(l, hash ? HP_X86_RSI : modrm == 0xc8 ? HP_X86_RDX : HP_X86_RAX, false);
    add_pointer(l, hash ? HP_X86_RDI : modrm == 0xc8 ? HP_X86_RBX : HP_X86_RDX, false);
}

static void two_bytes(struct list *l, uint64_t address)
{
    uint8_t modrm = l->insn->modrm_at ? l->code[l->insn->modrm_at] : 0;
    switch (l->opcode[1]) {
    case 0xa0:
    case 0xa8: add_push(l); break;
    case 0xa1:
    case 0xa9: add_stack(l, HP_X86_RSP, 0); break;
    case 0xa6:
    case 0xa7: add_padlock(l, modrm); break;
    case 0xf7:
        if (modrm >= 0xc0)
            add_pointer(l, HP_X86_RDI, true);
        break;
    case 0x38:
        add_modrm(l, address);
        if (l->opcode[2] == 0xf8 && has_prefix(l, 0x66) && !has_prefix(l, 0xf2) &&
            !has_prefix(l, 0xf3) && modrm < 0xc0) // MOVDIR64B
            add_pointer(l, (modrm >> 3 & 7u) | (l->insn->rex & 4u) << 1, false);
        break;
    default: add_modrm(l, address);
    }
}

static void vex(struct list *l, uint64_t address)
{
    const uint8_t *opcode = l->opcode;
    bool map1 = opcode[0] == 0xc5 || (opcode[0] == 0xc4 && (opcode[1] & 31) == 1);
    uint8_t number = opcode[0] == 0xc5 ? opcode[2] : opcode[3];
    if (map1 && number == 0xf7 && l->code[l->insn->modrm_at] >= 0xc0) // VMASKMOVDQU
        add_pointer(l, HP_X86_RDI, true);
    else
        add_modrm(l, address);
}

unsigned hp_x86_memory(const uint8_t *code, const struct hp_x86 *insn, uint64_t address,
                       struct hp_x86_mem mems[HP_X86_MEMS_MAX])
{
    struct list l = {.code = code, .insn = insn, .opcode = code + insn->opcode_at, .mems = mems};
    if (insn->kind == HP_X86_INVALID)
        return 0;
    l.word = !insn->wide && has_prefix(&l, 0x66);
    bool xop = l.opcode[0] == 0x8f && (l.opcode[1] & 31) >= 8;
    if (l.opcode[0] == 0x0f)
        two_bytes(&l, address);
    else if (is_vex(l.opcode[0]) && (l.opcode[0] != 0x8f || xop))
        vex(&l, address);
    else
        one_byte(&l, address);
    return l.n;
}
