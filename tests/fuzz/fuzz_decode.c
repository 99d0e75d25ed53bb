// SPDX-License-Identifier: MIT
/* Decoders of instructions: any bytes, by every architecture's, and by the native engine's own. */
#include "engine/native/inner/decode_memory.h"
#include "hotpath/isa.h"
#include "support.h"

#include <string.h>

static struct hp_decoder *decoders[HP_ARCH_COUNT_];

static void decode_one(enum hp_arch arch, enum hp_isa_mode mode, uint64_t address,
                       const uint8_t *code, size_t size, struct hp_insn *insn)
{
    struct hp_insn flow;
    char text[64];
    enum hp_err err = hp_decode(decoders[arch], mode, address, code, size, false, insn);
    enum hp_err same = hp_decode(decoders[arch], mode, address, code, size, true, &flow);
    FUZZ_ASSERT(err == same && (err == HP_OK || err == HP_ERR_FORMAT));
    FUZZ_ASSERT(insn->address == flow.address && insn->target == flow.target &&
                insn->length == flow.length && insn->flow == flow.flow);
    FUZZ_ASSERT(insn->length > 0 && (err != HP_OK || insn->length <= size));
    FUZZ_ASSERT(insn->flow < HP_FLOW_COUNT_ && insn->op < HP_OP_COUNT_ &&
                insn->n_mems <= HP_INSN_MAX_MEMS);
    hp_disassemble(decoders[arch], mode, address, code, size, text, sizeof text);
    FUZZ_ASSERT(memchr(text, 0, sizeof text));
}

static void decode_native(const uint8_t *code, size_t size, uint64_t address)
{
    struct hp_x86 insn;
    struct hp_x86_mem mems[HP_X86_MEMS_MAX];
    while (size > 0) {
        hp_x86_decode(code, (unsigned)size, &insn);
        FUZZ_ASSERT(insn.length > 0 && insn.length <= (size < 15 ? size : 15));
        FUZZ_ASSERT(insn.disp_at + insn.disp_size <= insn.length &&
                    insn.imm_at + insn.imm_size <= insn.length && insn.modrm_at < insn.length);
        if (insn.kind != HP_X86_INVALID)
            FUZZ_ASSERT(hp_x86_memory(code, &insn, address, mems) <= HP_X86_MEMS_MAX);
        code += insn.length;
        size -= insn.length;
        address += insn.length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    uint8_t kind = (uint8_t)fuzz_uint(&in, 1);
    enum hp_arch arch = (enum hp_arch)(1 + kind % (HP_ARCH_COUNT_ - 1));
    enum hp_isa_mode mode = kind & 0x80 && arch == HP_ARCH_ARM ? HP_MODE_THUMB : HP_MODE_DEFAULT;
    uint64_t address = fuzz_odd(&in);
    if (!decoders[arch])
        FUZZ_ASSERT(hp_decoder_new(arch, &decoders[arch]) == HP_OK);
    if (arch == HP_ARCH_X86_64)
        decode_native(in.at, (size_t)(in.end - in.at), address);
    for (int i = 0; i < 64 && fuzz_more(&in); i++) {
        struct hp_insn insn;
        size_t left = (size_t)(in.end - in.at);
        decode_one(arch, mode, address, in.at, left, &insn);
        in.at += insn.length < left ? insn.length : left;
        address += insn.length;
    }
    return 0;
}
