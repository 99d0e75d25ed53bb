// SPDX-License-Identifier: MIT
/*
 * AArch64 loads and stores from their bits: Capstone 4 gives no access size, mixes up reads and
 * writes, and does not know the atomics of ARMv8.1.
 */
#include "isa/aarch64_impl.h"

enum kind { KIND_LOAD, KIND_STORE, KIND_BOTH, KIND_PREFETCH };

// --- classes ---

static bool is_exclusive(uint32_t w)
{
    return (w & 0x3f000000) == 0x08000000;
}

static bool is_lse(uint32_t w)
{
    return (w & 0x3f200c00) == 0x38200000;
}

// LDAPR is encoded among the read-modify-write atomics, as are the 64-byte accesses.
static bool is_lse_load(uint32_t w)
{
    uint32_t op = hp_bits(w, 12, 4);
    return op == 0xc || op == 0xd;
}

bool hp_a64_is_atomic(uint32_t w)
{
    if (is_lse(w))
        return hp_bits(w, 12, 4) <= 8; // LD<op>, SWP
    // Bit 23 without bit 21: plain load-acquire and store-release.
    return is_exclusive(w) && !(hp_bits(w, 23, 1) && !hp_bits(w, 21, 1));
}

// --- filling in ---

static struct hp_mem *add_mem(uint32_t w, struct hp_insn *insn, enum kind kind, unsigned size,
                              int64_t disp)
{
    hp_isa_add_mem(insn, (struct hp_mem){
                             .base = (uint8_t)hp_bits(w, A64_RN, 5),
                             .index = HP_MEM_NOREG,
                             .read = kind != KIND_STORE,
                             .write = kind == KIND_STORE || kind == KIND_BOTH,
                             .size = (uint16_t)size,
                             .disp = disp,
                         });
    insn->reads.gpr |= a64_sp(w, A64_RN);
    insn->op = kind == KIND_STORE ? HP_OP_STORE : HP_OP_LOAD;
    return &insn->mems[0];
}

// The register that is loaded or stored.
static void data_register(uint32_t w, unsigned low, bool vector, enum kind kind,
                          struct hp_insn *insn)
{
    struct hp_regset *set = kind == KIND_LOAD ? &insn->writes : &insn->reads;
    if (kind == KIND_PREFETCH)
        return;
    if (vector)
        set->vec |= a64_v(w, low);
    else
        set->gpr |= a64_x(w, low);
}

static uint64_t vector_list(uint32_t w, unsigned count)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < count; i++)
        set |= (uint64_t)1 << ((hp_bits(w, A64_RD, 5) + i) & 31);
    return set;
}

static void post_index(uint32_t w, struct hp_insn *insn)
{
    insn->writes.gpr |= a64_sp(w, A64_RN);
    insn->reads.gpr |= a64_x(w, A64_RM); // 31: the increment is a constant
}

// LD1-LD4, ST1-ST4 of whole registers.
static void multiple_structures(uint32_t w, struct hp_insn *insn)
{
    static const uint8_t counts[16] = {
        [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    enum kind kind = hp_bits(w, 22, 1) ? KIND_LOAD : KIND_STORE;
    unsigned count = counts[hp_bits(w, 12, 4)];
    add_mem(w, insn, kind, count * (hp_bits(w, 30, 1) ? 16 : 8), 0);
    (kind == KIND_LOAD ? &insn->writes : &insn->reads)->vec |= vector_list(w, count);
    if (hp_bits(w, 23, 1))
        post_index(w, insn);
}

// The same for one element of each register, or one element replicated.
static void single_structure(uint32_t w, struct hp_insn *insn)
{
    enum kind kind = hp_bits(w, 22, 1) ? KIND_LOAD : KIND_STORE;
    unsigned opcode = hp_bits(w, 13, 3);
    unsigned count = ((opcode & 1) << 1 | hp_bits(w, 21, 1)) + 1;
    unsigned shift = opcode >> 1;
    bool replicate = shift == 3;
    if (replicate)
        shift = hp_bits(w, 10, 2);
    else if (shift == 2 && hp_bits(w, 10, 1))
        shift = 3;
    add_mem(w, insn, kind, count << shift, 0);
    uint64_t list = vector_list(w, count);
    if (kind == KIND_LOAD)
        insn->writes.vec |= list;
    if (kind == KIND_STORE || !replicate)
        insn->reads.vec |= list; // the other elements stay
    if (hp_bits(w, 23, 1))
        post_index(w, insn);
}

static void compare_and_swap(uint32_t w, bool pair, unsigned size, struct hp_insn *insn)
{
    add_mem(w, insn, KIND_BOTH, pair ? 2 * size : size, 0);
    uint64_t old = a64_x(w, A64_RM), new = a64_x(w, A64_RD);
    if (pair) {
        old |= old << 1;
        new |= new << 1;
    }
    insn->reads.gpr |= old | new;
    insn->writes.gpr |= old;
}

static void exclusive(uint32_t w, struct hp_insn *insn)
{
    bool ordered = hp_bits(w, 23, 1), pair = hp_bits(w, 21, 1);
    unsigned size = 1u << (w >> 30);
    if (pair && ordered) {
        compare_and_swap(w, false, size, insn);
    } else if (pair && w >> 31 == 0) {
        compare_and_swap(w, true, 4u << hp_bits(w, 30, 1), insn);
    } else {
        enum kind kind = hp_bits(w, 22, 1) ? KIND_LOAD : KIND_STORE;
        add_mem(w, insn, kind, pair ? 2 * size : size, 0);
        data_register(w, A64_RD, false, kind, insn);
        if (pair)
            data_register(w, A64_RA, false, kind, insn);
        if (kind == KIND_STORE && !ordered)
            insn->writes.gpr |= a64_x(w, A64_RM); // status
    }
    if (hp_a64_is_atomic(w))
        insn->op = HP_OP_ATOMIC;
}

static void literal(uint32_t w, struct hp_insn *insn)
{
    unsigned opc = w >> 30;
    bool vector = hp_bits(w, 26, 1);
    enum kind kind = !vector && opc == 3 ? KIND_PREFETCH : KIND_LOAD;
    unsigned size = vector ? 4u << opc : opc == 1 ? 8 : 4;
    struct hp_mem *mem = add_mem(w, insn, kind, size, hp_sign(w >> 5, 19) * 4);
    mem->base = HP_MEM_PC;
    insn->reads.gpr = 0;
    data_register(w, A64_RD, vector, kind, insn);
}

static void pair(uint32_t w, struct hp_insn *insn)
{
    unsigned opc = w >> 30, index = hp_bits(w, 23, 2);
    bool vector = hp_bits(w, 26, 1);
    enum kind kind = hp_bits(w, 22, 1) ? KIND_LOAD : KIND_STORE;
    unsigned size = vector ? 4u << opc : opc == 2 ? 8 : 4;
    unsigned scale = size;
    if (!vector && opc == 1 && kind == KIND_STORE) { // STGP: two registers and a tag
        size = 8;
        scale = 16;
    }
    int64_t disp = hp_sign(w >> 15, 7) * scale;
    add_mem(w, insn, kind, 2 * size, index == 1 ? 0 : disp);
    data_register(w, A64_RD, vector, kind, insn);
    data_register(w, A64_RA, vector, kind, insn);
    if (index & 1)
        insn->writes.gpr |= a64_sp(w, A64_RN);
}

static void lse(uint32_t w, struct hp_insn *insn)
{
    unsigned size = 1u << (w >> 30), op = hp_bits(w, 12, 4);
    if (op == 0xd || op == 0x9) { // LD64B, ST64B: eight registers
        enum kind kind = op == 0xd ? KIND_LOAD : KIND_STORE;
        add_mem(w, insn, kind, 64, 0);
        (kind == KIND_LOAD ? &insn->writes : &insn->reads)->gpr |=
            ((uint64_t)0xff << hp_bits(w, A64_RD, 5)) & 0x7fffffff;
        return;
    }
    enum kind kind = is_lse_load(w) ? KIND_LOAD : KIND_BOTH;
    add_mem(w, insn, kind, size, 0);
    insn->writes.gpr |= a64_x(w, A64_RD);
    if (kind == KIND_BOTH) {
        insn->reads.gpr |= a64_x(w, A64_RM);
        insn->op = HP_OP_ATOMIC;
    }
}

// Pointer authentication in a load: LDRAA, LDRAB.
static void authenticated(uint32_t w, struct hp_insn *insn)
{
    int64_t disp = hp_sign(hp_bits(w, 22, 1) << 9 | hp_bits(w, 12, 9), 10) * 8;
    add_mem(w, insn, KIND_LOAD, 8, disp);
    insn->writes.gpr |= a64_x(w, A64_RD);
    if (hp_bits(w, 11, 1))
        insn->writes.gpr |= a64_sp(w, A64_RN);
}

static void single_register(uint32_t w, struct hp_insn *insn)
{
    unsigned opc = hp_bits(w, 22, 2), size = w >> 30;
    bool vector = hp_bits(w, 26, 1);
    unsigned shift = vector ? (opc & 2) << 1 | size : size;
    enum kind kind = (vector ? opc & 1 : opc != 0) ? KIND_LOAD : KIND_STORE;
    if (!vector && size == 3 && opc == 2)
        kind = KIND_PREFETCH;
    bool scaled = hp_bits(w, 24, 1);
    unsigned index = hp_bits(w, 10, 2);
    bool by_register = !scaled && hp_bits(w, 21, 1);
    int64_t disp = scaled ? (int64_t)hp_bits(w, 10, 12) << shift : hp_sign(w >> 12, 9);
    if (by_register || (!scaled && index == 1))
        disp = 0;
    struct hp_mem *mem = add_mem(w, insn, kind, 1u << shift, disp);
    data_register(w, A64_RD, vector, kind, insn);
    if (by_register && hp_bits(w, A64_RM, 5) != 31) {
        mem->index = (uint8_t)hp_bits(w, A64_RM, 5);
        mem->scale = (uint8_t)(hp_bits(w, 12, 1) ? 1u << shift : 1);
        insn->reads.gpr |= a64_x(w, A64_RM);
    } else if (!scaled && !by_register && (index & 1)) {
        insn->writes.gpr |= a64_sp(w, A64_RN);
    }
}

// LDAPUR, STLUR: ordered, with a displacement.
static void ordered_unscaled(uint32_t w, struct hp_insn *insn)
{
    enum kind kind = hp_bits(w, 22, 2) ? KIND_LOAD : KIND_STORE;
    add_mem(w, insn, kind, 1u << (w >> 30), hp_sign(w >> 12, 9));
    data_register(w, A64_RD, false, kind, insn);
}

void hp_a64_loadstore(uint32_t w, struct hp_insn *insn)
{
    if ((w & 0xbf000000) == 0x0c000000)
        multiple_structures(w, insn);
    else if ((w & 0xbf000000) == 0x0d000000)
        single_structure(w, insn);
    else if (is_exclusive(w))
        exclusive(w, insn);
    else if ((w & 0x3b000000) == 0x18000000)
        literal(w, insn);
    else if ((w & 0x3a000000) == 0x28000000)
        pair(w, insn);
    else if (is_lse(w))
        lse(w, insn);
    else if ((w & 0xff200400) == 0xf8200400)
        authenticated(w, insn);
    else if ((w & 0x3a000000) == 0x38000000)
        single_register(w, insn);
    else if ((w & 0x3f200c00) == 0x19000000)
        ordered_unscaled(w, insn);
    else // memory tags and memory copies: the address register, no size
        add_mem(w, insn, KIND_STORE, 0, 0);
}
