// SPDX-License-Identifier: MIT
/*
 * Inside the decoders: what an architecture provides to decoder.c, and what they share.
 */
#ifndef HP_ISA_IMPL_H
#define HP_ISA_IMPL_H

#include "hotpath/isa.h"

/* The bytes to decode, and where the program has them. */
struct hp_isa_bytes {
    uint64_t address;
    const uint8_t *code;
    size_t size;
    enum hp_isa_mode mode;
};

/*
 * One architecture. `state` is made by `open`; both may be NULL if the architecture needs none.
 */
struct hp_isa_ops {
    /* Makes the state. HP_ERR_NOMEM, or HP_ERR_INTERNAL when the underlying library fails. */
    enum hp_err (*open)(void **state);
    void (*close)(void *state);

    /*
     * Fills `*insn`, which is zeroed except for the address, and an op of HP_OP_ALU. False: not an
     * instruction, or cut off; the contents of `*insn` are then undefined. No error text is needed.
     */
    bool (*decode)(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                   struct hp_insn *insn);

    /* Writes the text of an instruction that `decode` accepts. False: no text. */
    bool (*text)(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size);

    uint8_t min_length;       /* smallest instruction, bytes */
    uint8_t min_length_thumb; /* the same in HP_MODE_THUMB; 0: there is no such mode */
};

extern const struct hp_isa_ops hp_isa_x86;
extern const struct hp_isa_ops hp_isa_aarch64;
extern const struct hp_isa_ops hp_isa_arm;
extern const struct hp_isa_ops hp_isa_riscv;
extern const struct hp_isa_ops hp_isa_alpha;

/* A control transfer recognised by its bits; the kinds of target differ by architecture. */
struct hp_isa_flow_row {
    uint32_t mask;
    uint32_t match;
    uint8_t flow;   /* enum hp_flow */
    uint8_t target; /* how the target is encoded; 0: none */
};

/* The first row that matches, or NULL. */
static inline const struct hp_isa_flow_row *hp_isa_find_flow(const struct hp_isa_flow_row *rows,
                                                             size_t count, uint32_t word)
{
    for (size_t i = 0; i < count; i++)
        if ((word & rows[i].mask) == rows[i].match)
            return &rows[i];
    return NULL;
}

/* `count` bits of `word` from bit `low`. */
static inline uint32_t hp_bits(uint32_t word, unsigned low, unsigned count)
{
    return (word >> low) & ((1u << count) - 1);
}

/* The low `count` bits of `value` as a signed number. */
static inline int64_t hp_sign(uint64_t value, unsigned count)
{
    uint64_t sign = (uint64_t)1 << (count - 1);
    value &= (sign << 1) - 1;
    return (int64_t)((value ^ sign) - sign);
}

/* Little-endian loads. */
static inline uint32_t hp_le16(const uint8_t *code)
{
    return (uint32_t)code[0] | (uint32_t)code[1] << 8;
}

static inline uint32_t hp_le32(const uint8_t *code)
{
    return hp_le16(code) | hp_le16(code + 2) << 16;
}

/* Appends a memory operand; further ones are dropped when full. */
void hp_isa_add_mem(struct hp_insn *insn, struct hp_mem mem);

/* The operation class of a control transfer. */
static inline uint8_t hp_isa_flow_op(uint8_t flow)
{
    return flow == HP_FLOW_SYSCALL || flow == HP_FLOW_TRAP ? HP_OP_SYSTEM : HP_OP_BRANCH;
}

#endif
