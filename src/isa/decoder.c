// SPDX-License-Identifier: MIT
#include "isa/isa_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hp_decoder {
    enum hp_arch arch;
    const struct hp_isa_ops *ops;
    void *state;
};

// --- names ---

static const char *const arch_names[HP_ARCH_COUNT_] = {
    [HP_ARCH_NONE] = "none", [HP_ARCH_X86_64] = "x86_64",   [HP_ARCH_AARCH64] = "aarch64",
    [HP_ARCH_ARM] = "arm",   [HP_ARCH_RISCV64] = "riscv64", [HP_ARCH_ALPHA] = "alpha",
};

static const char *const flow_names[HP_FLOW_COUNT_] = {
    [HP_FLOW_NONE] = "none",     [HP_FLOW_JUMP] = "jump",         [HP_FLOW_COND] = "cond",
    [HP_FLOW_CALL] = "call",     [HP_FLOW_JUMP_IND] = "jump_ind", [HP_FLOW_CALL_IND] = "call_ind",
    [HP_FLOW_RETURN] = "return", [HP_FLOW_SYSCALL] = "syscall",   [HP_FLOW_TRAP] = "trap",
};

static const char *const op_names[HP_OP_COUNT_] = {
    [HP_OP_NOP] = "nop",       [HP_OP_ALU] = "alu",       [HP_OP_MUL] = "mul",
    [HP_OP_DIV] = "div",       [HP_OP_FADD] = "fadd",     [HP_OP_FMUL] = "fmul",
    [HP_OP_FDIV] = "fdiv",     [HP_OP_VEC] = "vec",       [HP_OP_LOAD] = "load",
    [HP_OP_STORE] = "store",   [HP_OP_BRANCH] = "branch", [HP_OP_ATOMIC] = "atomic",
    [HP_OP_STRING] = "string", [HP_OP_SYSTEM] = "system",
};

const char *hp_arch_name(enum hp_arch arch)
{
    return (unsigned)arch < HP_ARCH_COUNT_ ? arch_names[arch] : "none";
}

enum hp_arch hp_arch_from_name(const char *name)
{
    for (unsigned i = 0; i < HP_ARCH_COUNT_; i++)
        if (strcmp(name, arch_names[i]) == 0)
            return (enum hp_arch)i;
    return HP_ARCH_NONE;
}

const char *hp_flow_name(enum hp_flow flow)
{
    return (unsigned)flow < HP_FLOW_COUNT_ ? flow_names[flow] : "unknown";
}

const char *hp_op_name(enum hp_op op)
{
    return (unsigned)op < HP_OP_COUNT_ ? op_names[op] : "unknown";
}

// --- decoders ---

static const struct hp_isa_ops *const arch_ops[HP_ARCH_COUNT_] = {
    [HP_ARCH_X86_64] = &hp_isa_x86,  [HP_ARCH_AARCH64] = &hp_isa_aarch64,
    [HP_ARCH_ARM] = &hp_isa_arm,     [HP_ARCH_RISCV64] = &hp_isa_riscv,
    [HP_ARCH_ALPHA] = &hp_isa_alpha,
};

enum hp_err hp_decoder_new(enum hp_arch arch, struct hp_decoder **decoder)
{
    *decoder = NULL;
    if ((unsigned)arch >= HP_ARCH_COUNT_ || !arch_ops[arch])
        return hp_fail(HP_ERR_UNSUPPORTED, "no decoder for architecture \"%s\"",
                       hp_arch_name(arch));
    struct hp_decoder *made = calloc(1, sizeof *made);
    if (!made)
        return hp_fail_nomem();
    made->arch = arch;
    made->ops = arch_ops[arch];
    if (made->ops->open) {
        enum hp_err err = made->ops->open(&made->state);
        if (err != HP_OK) {
            free(made);
            return err;
        }
    }
    *decoder = made;
    return HP_OK;
}

void hp_decoder_free(struct hp_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->ops->close)
        decoder->ops->close(decoder->state);
    free(decoder);
}

void hp_isa_add_mem(struct hp_insn *insn, struct hp_mem mem)
{
    if (insn->n_mems < HP_INSN_MAX_MEMS)
        insn->mems[insn->n_mems++] = mem;
}

// A mode the architecture does not have is ignored: the bytes have only one meaning.
static struct hp_isa_bytes bytes_of(const struct hp_decoder *decoder, enum hp_isa_mode mode,
                                    uint64_t address, const uint8_t *code, size_t size)
{
    if (!decoder->ops->min_length_thumb)
        mode = HP_MODE_DEFAULT;
    return (struct hp_isa_bytes){.address = address, .code = code, .size = size, .mode = mode};
}

static uint8_t smallest(const struct hp_decoder *decoder, enum hp_isa_mode mode)
{
    return mode == HP_MODE_THUMB ? decoder->ops->min_length_thumb : decoder->ops->min_length;
}

static enum hp_err __attribute__((cold))
fail_decode(const struct hp_decoder *decoder, const struct hp_isa_bytes *bytes,
            struct hp_insn *insn)
{
    *insn = (struct hp_insn){.address = bytes->address,
                             .length = smallest(decoder, bytes->mode),
                             .flow = HP_FLOW_NONE,
                             .op = HP_OP_SYSTEM};
    char hex[3 * 8 + 1] = "";
    for (size_t i = 0; i < bytes->size && i < 8; i++)
        snprintf(hex + 3 * i, 4, " %02x", bytes->code[i]);
    return hp_fail(HP_ERR_FORMAT, "not a %s instruction at 0x%llx:%s", hp_arch_name(decoder->arch),
                   (unsigned long long)bytes->address, hex);
}

enum hp_err hp_decode(struct hp_decoder *decoder, enum hp_isa_mode mode, uint64_t address,
                      const uint8_t *code, size_t size, bool flow_only, struct hp_insn *insn)
{
    struct hp_isa_bytes bytes = bytes_of(decoder, mode, address, code, size);
    *insn = (struct hp_insn){.address = address, .op = HP_OP_ALU};
    if (size < smallest(decoder, bytes.mode) ||
        !decoder->ops->decode(decoder->state, &bytes, flow_only, insn))
        return fail_decode(decoder, &bytes, insn);
    return HP_OK;
}

void hp_disassemble(struct hp_decoder *decoder, enum hp_isa_mode mode, uint64_t address,
                    const uint8_t *code, size_t size, char *text, size_t text_size)
{
    if (text_size == 0)
        return;
    struct hp_isa_bytes bytes = bytes_of(decoder, mode, address, code, size);
    struct hp_insn insn = {.address = address};
    if (size < smallest(decoder, bytes.mode) ||
        !decoder->ops->decode(decoder->state, &bytes, true, &insn)) {
        snprintf(text, text_size, "(bad)");
        return;
    }
    if (decoder->ops->text(decoder->state, &bytes, text, text_size))
        return;
    if (insn.length == 2)
        snprintf(text, text_size, ".inst 0x%04x", hp_le16(code));
    else if (bytes.mode == HP_MODE_THUMB) // the first halfword is the upper one, as in the manuals
        snprintf(text, text_size, ".inst 0x%04x%04x", hp_le16(code), hp_le16(code + 2));
    else
        snprintf(text, text_size, ".inst 0x%08x", hp_le32(code));
}
