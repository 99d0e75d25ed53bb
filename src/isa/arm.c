// SPDX-License-Identifier: MIT
/*
 * ARM (A32 and Thumb): control flow from the bits, operands and text by Capstone. A word unknown to
 * Capstone is treated as an instruction without known operands: Capstone 4 lacks everything after
 * ARMv8.0.
 */
#include "isa/arm_impl.h"

#include <stdlib.h>

struct arm_state {
    struct hp_capstone arm;
    struct hp_capstone thumb;
    bool in_it; /* `thumb` remembers an IT instruction */
};

static void arm_close(void *state)
{
    struct arm_state *s = state;
    hp_capstone_close(&s->arm);
    hp_capstone_close(&s->thumb);
    free(s);
}

static enum hp_err arm_open(void **state)
{
    struct arm_state *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    cs_mode arm = (cs_mode)((unsigned)CS_MODE_ARM | (unsigned)CS_MODE_V8);
    cs_mode thumb = (cs_mode)((unsigned)CS_MODE_THUMB | (unsigned)CS_MODE_V8);
    enum hp_err err = hp_capstone_open(&s->arm, CS_ARCH_ARM, arm);
    if (err == HP_OK)
        err = hp_capstone_open(&s->thumb, CS_ARCH_ARM, thumb);
    if (err != HP_OK) {
        arm_close(s);
        return err;
    }
    *state = s;
    return HP_OK;
}

// Capstone treats the instructions after an IT as conditional, whatever they are. We decode in any
// order, so an IT is followed by nops before anything else is decoded.
static void leave_it(struct arm_state *s)
{
    static const uint8_t code[2] = {0x00, 0xbf};
    struct hp_isa_bytes nop = {.code = code, .size = sizeof code, .mode = HP_MODE_THUMB};
    for (int i = 0; s->in_it && i < 4; i++)
        hp_capstone_decode(&s->thumb, &nop);
    s->in_it = false;
}

// The handle that now holds the instruction; NULL: unknown instruction.
static const struct hp_capstone *decode_one(struct arm_state *s, const struct hp_isa_bytes *bytes,
                                            uint8_t length)
{
    if (bytes->mode != HP_MODE_THUMB)
        return hp_capstone_decode(&s->arm, bytes) ? &s->arm : NULL;
    leave_it(s);
    uint32_t half = hp_le16(bytes->code);
    s->in_it = (half & 0xff00) == 0xbf00 && (half & 0xf);
    // A decode of another length would be of another instruction.
    return hp_capstone_decode(&s->thumb, bytes) && s->thumb.insn->size == length ? &s->thumb : NULL;
}

static bool arm_decode(void *state, const struct hp_isa_bytes *bytes, bool flow_only,
                       struct hp_insn *insn)
{
    if (!hp_arm_flow(bytes, insn))
        return false;
    if (flow_only)
        return true;
    const struct hp_capstone *capstone = decode_one(state, bytes, insn->length);
    if (capstone)
        hp_arm_operands(capstone, bytes->mode == HP_MODE_THUMB, insn);
    else
        insn->op = insn->flow == HP_FLOW_NONE ? HP_OP_VEC : hp_isa_flow_op(insn->flow);
    return true;
}

static bool arm_text(void *state, const struct hp_isa_bytes *bytes, char *text, size_t text_size)
{
    struct hp_insn insn = {.address = bytes->address};
    if (!hp_arm_flow(bytes, &insn))
        return false;
    const struct hp_capstone *capstone = decode_one(state, bytes, insn.length);
    if (!capstone)
        return false;
    hp_capstone_text(capstone, text, text_size);
    return true;
}

const struct hp_isa_ops hp_isa_arm = {
    .open = arm_open,
    .close = arm_close,
    .decode = arm_decode,
    .text = arm_text,
    .min_length = 4,
    .min_length_thumb = 2,
};
