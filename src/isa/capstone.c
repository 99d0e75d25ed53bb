// SPDX-License-Identifier: MIT
#include "isa/capstone_impl.h"

#include <stdio.h>

enum hp_err hp_capstone_open(struct hp_capstone *capstone, cs_arch arch, cs_mode mode)
{
    *capstone = (struct hp_capstone){0};
    cs_err err = cs_open(arch, mode, &capstone->handle);
    if (err == CS_ERR_OK)
        err = cs_option(capstone->handle, CS_OPT_DETAIL, CS_OPT_ON);
    if (err != CS_ERR_OK) {
        hp_capstone_close(capstone);
        return hp_fail(HP_ERR_INTERNAL, "cannot set up the decoder: capstone: %s",
                       cs_strerror(err));
    }
    capstone->insn = cs_malloc(capstone->handle);
    if (!capstone->insn) {
        hp_capstone_close(capstone);
        return hp_fail_nomem();
    }
    return HP_OK;
}

void hp_capstone_close(struct hp_capstone *capstone)
{
    if (capstone->insn)
        cs_free(capstone->insn, 1);
    if (capstone->handle)
        cs_close(&capstone->handle);
    *capstone = (struct hp_capstone){0};
}

bool hp_capstone_decode(struct hp_capstone *capstone, const struct hp_isa_bytes *bytes)
{
    const uint8_t *code = bytes->code;
    size_t size = bytes->size < 4 ? bytes->size : 4;
    uint64_t address = bytes->address;
    return cs_disasm_iter(capstone->handle, &code, &size, &address, capstone->insn);
}

void hp_capstone_text(const struct hp_capstone *capstone, char *text, size_t text_size)
{
    const cs_insn *insn = capstone->insn;
    snprintf(text, text_size, "%s%s%s", insn->mnemonic, insn->op_str[0] ? " " : "", insn->op_str);
}
