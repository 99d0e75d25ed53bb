// SPDX-License-Identifier: MIT
/*
 * Alpha, from our own table; see alpha_table.c.
 */
#include "isa/alpha_impl.h"

#include <stdio.h>
#include <stdlib.h>

struct alpha_range {
    uint16_t first;
    uint16_t last;
};

struct alpha_state {
    struct alpha_range ranges[64]; /* rows [first, last) by opcode */
};

static enum hp_err alpha_open(void **state)
{
    struct alpha_state *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    for (size_t i = 0; i < hp_alpha_row_count; i++) {
        struct alpha_range *range = &s->ranges[hp_alpha_rows[i].match >> 26];
        if (range->last == 0)
            range->first = (uint16_t)i;
        range->last = (uint16_t)(i + 1);
    }
    *state = s;
    return HP_OK;
}

static const struct alpha_row *find_row(const struct alpha_state *s, uint32_t word)
{
    const struct alpha_range *range = &s->ranges[word >> 26];
    for (size_t i = range->first; i < range->last; i++)
        if ((word & hp_alpha_rows[i].mask) == hp_alpha_rows[i].match)
            return &hp_alpha_rows[i];
    return NULL;
}

// --- control flow ---

static uint64_t branch_target(uint64_t address, uint32_t word)
{
    return address + 4 + (uint64_t)hp_sign(word, 21) * 4;
}

static void decode_flow(uint32_t word, const struct alpha_row *row, struct hp_insn *insn)
{
    insn->length = 4;
    insn->flow = row->flow;
    if (row->op == HP_OP_ATOMIC && row->size)
        insn->flags |= HP_INSN_ATOMIC;
    if (row->format == ALPHA_BRANCH)
        insn->target = branch_target(insn->address, word);
    if (row->flow == HP_FLOW_COND)
        insn->flags |= HP_INSN_CONDITIONAL;
    /* "br $29, .+4" only reads the program counter: it always falls through. */
    if ((row->flow == HP_FLOW_JUMP || row->flow == HP_FLOW_CALL) &&
        insn->target == insn->address + 4) {
        insn->flow = HP_FLOW_NONE;
        insn->target = 0;
    }
}

// --- registers and memory ---

static uint64_t bit(uint32_t reg)
{
    return reg == 31 ? 0 : (uint64_t)1 << reg;
}

static void decode_registers(uint32_t word, const struct alpha_row *row, struct hp_insn *insn)
{
    uint16_t regs = row->regs;
    uint64_t a = bit(hp_bits(word, 21, 5));
    uint64_t b = bit(hp_bits(word, 16, 5));
    uint64_t c = bit(hp_bits(word, 0, 5));
    bool literal = row->format == ALPHA_OPERATE && hp_bits(word, 12, 1);
    insn->reads.gpr = (regs & ALPHA_AR ? a : 0) | (regs & ALPHA_BR && !literal ? b : 0) |
                      (regs & ALPHA_CR ? c : 0);
    insn->writes.gpr = (regs & ALPHA_AW ? a : 0) | (regs & ALPHA_CW ? c : 0);
    insn->reads.vec =
        (regs & ALPHA_FAR ? a : 0) | (regs & ALPHA_FBR ? b : 0) | (regs & ALPHA_FCR ? c : 0);
    insn->writes.vec = (regs & ALPHA_FAW ? a : 0) | (regs & ALPHA_FCW ? c : 0);
}

static void decode_memory(uint32_t word, const struct alpha_row *row, struct hp_insn *insn)
{
    uint32_t base = hp_bits(word, 16, 5);
    bool stores = row->regs & (ALPHA_AR | ALPHA_FAR);
    hp_isa_add_mem(insn, (struct hp_mem){
                             .base = base == 31 ? HP_MEM_NOREG : (uint8_t)base,
                             .index = HP_MEM_NOREG,
                             .read = !stores,
                             .write = stores,
                             .size = row->size,
                             .disp = hp_sign(word, 16),
                         });
}

static bool alpha_decode(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                         struct hp_insn *insn)
{
    uint32_t word = hp_le32(bytes->code);
    const struct alpha_row *row = find_row(state, word);
    if (!row)
        return false;
    decode_flow(word, row, insn);
    if (flow_only)
        return true;
    insn->op = row->op;
    decode_registers(word, row, insn);
    if (row->size)
        decode_memory(word, row, insn);
    // The two PAL calls that read and write the thread pointer have fixed registers: v0 and a0.
    if (word == 0x9e)
        insn->writes.gpr |= bit(0);
    if (word == 0x9f)
        insn->reads.gpr |= bit(16);
    return true;
}

// --- text: no aliases but nop, unop and fnop ---

static const char *const r_names[32] = {
    "v0", "t0", "t1",  "t2",  "t3", "t4",  "t5", "t6", "t7", "s0",   "s1",
    "s2", "s3", "s4",  "s5",  "fp", "a0",  "a1", "a2", "a3", "a4",   "a5",
    "t8", "t9", "t10", "t11", "ra", "t12", "at", "gp", "sp", "zero",
};

static bool alpha_text(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size)
{
    uint32_t word = hp_le32(bytes->code);
    const struct alpha_row *row = find_row(state, word);
    if (!row)
        return false;
    uint32_t a = hp_bits(word, 21, 5), b = hp_bits(word, 16, 5), c = hp_bits(word, 0, 5);
    char fa[8];
    if (row->regs & (ALPHA_FAR | ALPHA_FAW))
        snprintf(fa, sizeof fa, "f%u", a);
    else
        snprintf(fa, sizeof fa, "%s", r_names[a]);
    switch ((enum alpha_format)row->format) {
    case ALPHA_PAL: snprintf(text, text_size, "%s 0x%x", row->name, hp_bits(word, 0, 26)); break;
    case ALPHA_MISC:
        snprintf(text, text_size, "%s%s%s", row->name, row->regs ? " " : "", row->regs ? fa : "");
        break;
    case ALPHA_HINT: snprintf(text, text_size, "%s (%s)", row->name, r_names[b]); break;
    case ALPHA_MEMORY:
    case ALPHA_ADDRESS:
        snprintf(text, text_size, "%s %s, %d(%s)", row->name, fa, (int)hp_sign(word, 16),
                 r_names[b]);
        break;
    case ALPHA_JUMP: snprintf(text, text_size, "%s %s, (%s)", row->name, fa, r_names[b]); break;
    case ALPHA_BRANCH:
        snprintf(text, text_size, "%s %s, 0x%llx", row->name, fa,
                 (unsigned long long)branch_target(bytes->address, word));
        break;
    case ALPHA_OPERATE:
        if (hp_bits(word, 12, 1))
            snprintf(text, text_size, "%s %s, %u, %s", row->name, fa, hp_bits(word, 13, 8),
                     r_names[c]);
        else
            snprintf(text, text_size, "%s %s, %s, %s", row->name, fa, r_names[b], r_names[c]);
        break;
    case ALPHA_FLOAT:
        if (row->regs & ALPHA_CW)
            snprintf(text, text_size, "%s %s, %s", row->name, fa, r_names[c]);
        else if (!(row->regs & ALPHA_FBR))
            snprintf(text, text_size, "%s %s, f%u", row->name, fa, c);
        else if (!(row->regs & ALPHA_FAR))
            snprintf(text, text_size, "%s f%u, f%u", row->name, b, c);
        else
            snprintf(text, text_size, "%s %s, f%u, f%u", row->name, fa, b, c);
        break;
    }
    return true;
}

const struct hp_isa_ops hp_isa_alpha = {
    .open = alpha_open,
    .close = free,
    .decode = alpha_decode,
    .text = alpha_text,
    .min_length = 4,
};
