// SPDX-License-Identifier: MIT
/*
 * What the two ARM decoders share: a Capstone handle and its one instruction.
 */
#ifndef HP_ISA_CAPSTONE_IMPL_H
#define HP_ISA_CAPSTONE_IMPL_H

#include "isa/isa_impl.h"

#include <capstone/capstone.h>

/* All zero: closed. */
struct hp_capstone {
    csh handle;
    cs_insn *insn;
};

enum hp_err hp_capstone_open(struct hp_capstone *capstone, cs_arch arch, cs_mode mode);
void hp_capstone_close(struct hp_capstone *capstone);

/* Decodes one instruction into `capstone->insn`, with details. False when Capstone does not know
 * it. */
bool hp_capstone_decode(struct hp_capstone *capstone, const struct hp_isa_bytes *bytes);

/* "mnemonic operands" of the instruction decoded last. */
void hp_capstone_text(const struct hp_capstone *capstone, char *text, size_t text_size);

#endif
