// SPDX-License-Identifier: MIT
/* The slow pipe's map: rule 6. */
#include "pipe_reference_impl.h"

/* Resources that an instruction needs. */
struct needs {
    bool serial;
    uint64_t int_queue, fp_queue, memory, int_registers, fp_registers;
};

static uint64_t at_most(uint64_t n, uint64_t limit)
{
    return n < limit ? n : limit;
}

/* `now`: what it still holds, once mapped. */
static struct needs needs_of(const struct pipe_reference *r, const struct hp_static *insn,
                             const struct entry *e, bool now)
{
    const struct hp_core_config *core = &r->machine->core;
    struct needs needs = {.serial = insn->op == HP_OP_SYSTEM || insn->op == HP_OP_ATOMIC};
    uint64_t gpr = 0, vec = 0;
    bool fp = false, waiting = false;
    for (uint32_t i = 0; i < insn->n_uops; i++) {
        const struct hp_uop *what = &hp_program_uops(r->program)[insn->uops + i];
        fp |= what->unit == HP_UNIT_FP || what->unit == HP_UNIT_FP_MUL ||
              what->unit == HP_UNIT_VECTOR;
        needs.memory += what->unit == HP_UNIT_LOAD || what->unit == HP_UNIT_STORE;
        gpr |= what->writes.gpr;
        vec |= what->writes.vec;
        waiting |= !now || r->uops[e->uops + i].issued == NOT_YET;
    }
    fp = fp && core->fp_queue;
    needs.fp_queue = waiting && fp;
    needs.int_queue = waiting && !fp;
    needs.memory = at_most(needs.memory, core->memory_queue);
    gpr &= ~((uint64_t)1 << HP_REG_FLAGS);
    needs.int_registers = at_most((uint64_t)__builtin_popcountll(gpr), core->int_registers - 32);
    needs.fp_registers = at_most((uint64_t)__builtin_popcountll(vec), core->fp_registers - 32);
    return needs;
}

/* The event that says why an instruction cannot be mapped; 0: it can. */
static uint32_t is_missing(const struct pipe_reference *r, const struct hp_static *insn)
{
    const struct hp_core_config *core = &r->machine->core;
    struct needs needs = needs_of(r, insn, NULL, false), sum = {0};
    uint64_t n = 0;
    bool serial = false;
    for (size_t i = r->oldest; i < r->n_entries; i++) {
        const struct entry *e = &r->entries[i];
        if (e->state != MAPPED)
            continue;
        struct needs taken = needs_of(r, insn_of(r, e), e, true);
        n++;
        serial |= taken.serial;
        sum.int_queue += taken.int_queue;
        sum.fp_queue += taken.fp_queue;
        sum.memory += taken.memory;
        sum.int_registers += taken.int_registers;
        sum.fp_registers += taken.fp_registers;
    }
    if (serial || (needs.serial && n))
        return HP_TIMING_SERIAL;
    if (n + 1 > core->reorder)
        return HP_TIMING_NO_REORDER;
    if (sum.int_queue + needs.int_queue > core->int_queue && needs.int_queue)
        return HP_TIMING_NO_QUEUE;
    if (sum.fp_queue + needs.fp_queue > core->fp_queue && needs.fp_queue)
        return HP_TIMING_NO_QUEUE;
    if (sum.memory + needs.memory > core->memory_queue)
        return HP_TIMING_NO_MEMORY_QUEUE;
    if (sum.int_registers + needs.int_registers > core->int_registers - 32 ||
        sum.fp_registers + needs.fp_registers > core->fp_registers - 32)
        return HP_TIMING_NO_REGISTER;
    return 0;
}

/* Makes a uop wait for the uops that write a register in the last older instruction that does. */
static void wait_for_register(struct pipe_reference *r, size_t entry, struct uop *u, bool vec,
                              unsigned bit)
{
    for (size_t i = entry; i-- > r->oldest;) {
        const struct entry *e = &r->entries[i];
        bool found = false;
        if (e->state != MAPPED)
            continue;
        for (uint32_t k = 0; k < e->n_uops; k++) {
            const struct hp_regset *writes = &what_is(r, &r->uops[e->uops + k])->writes;
            if (!((vec ? writes->vec : writes->gpr) >> bit & 1))
                continue;
            grow(&r->waits, &r->cap_waits, r->n_waits + 1, sizeof *r->waits);
            r->waits[r->n_waits++] = e->uops + k;
            u->n_waits++;
            found = true;
        }
        if (found)
            return;
    }
}

static void map(struct pipe_reference *r, size_t entry)
{
    struct entry *e = &r->entries[entry];
    const struct hp_static *insn = insn_of(r, e);
    grow(&r->uops, &r->cap_uops, r->n_uops + insn->n_uops, sizeof *r->uops);
    e->uops = (uint32_t)r->n_uops;
    e->n_uops = insn->n_uops;
    for (uint32_t i = 0; i < insn->n_uops; i++) {
        struct uop *u = &r->uops[r->n_uops++];
        *u = (struct uop){.entry = (uint32_t)entry,
                          .what = insn->uops + i,
                          .waits = (uint32_t)r->n_waits,
                          .issued = NOT_YET,
                          .completes = NOT_YET,
                          .store = HP_NO_ID};
        for (unsigned bit = 0; bit < 64; bit++) {
            if (what_is(r, u)->reads.gpr >> bit & 1)
                wait_for_register(r, entry, u, false, bit);
            if (what_is(r, u)->reads.vec >> bit & 1)
                wait_for_register(r, entry, u, true, bit);
        }
    }
    e->state = MAPPED;
    e->mapped = r->cycle;
}

void map_phase(struct pipe_reference *r)
{
    uint64_t n = 0;
    for (size_t i = r->oldest; i < r->n_entries && n < r->machine->core.width; i++) {
        struct entry *e = &r->entries[i];
        if (e->state != FETCHED)
            continue;
        if (e->timing.fetched + r->machine->core.front_stages - 1 > r->cycle)
            return;
        uint32_t missing = is_missing(r, insn_of(r, e));
        if (missing) {
            e->timing.events |= missing;
            return;
        }
        map(r, i);
        n++;
    }
}
