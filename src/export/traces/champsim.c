// SPDX-License-Identifier: MIT
/*
 * The format is ChampSim's struct input_instr. It has no kinds of branches: ChampSim tells them by
 * the registers that an instruction reads and writes, of which three are special. So a branch gets
 * those registers that make ChampSim take it for what it is.
 */
#include "base/base.h"
#include "export/export.h"

#include <errno.h>

struct record {
    uint64_t ip;
    uint8_t is_branch;
    uint8_t taken;
    uint8_t writes[2]; /* registers; 0: none */
    uint8_t reads[4];
    uint64_t stores[2]; /* addresses; 0: none */
    uint64_t loads[4];
};
_Static_assert(sizeof(struct record) == 64, "as ChampSim has it");

/* Registers have Pin's numbers, as in ChampSim's own traces; vector registers have ours. */
enum {
    SP = 6,
    FLAGS = 25,
    IP = 26,
    VALUE = 56, /* what an indirect branch reads that takes its target from memory */
    VECTORS = 64,
};
static const uint8_t integers[16] = {10, 9, 8, 7, SP, 5, 4, 3, 11, 12, 13, 14, 15, 16, 17, 18};

#define GPR_SP    (UINT64_C(1) << 4)
#define GPR_FLAGS (UINT64_C(1) << HP_REG_FLAGS)

/* The records of a block, complete but for addresses and outcome. */
struct code {
    struct record *records; /* NULL: not made yet */
    const struct hp_insn *insns;
};

struct champsim {
    struct hp_stream_setup setup; /* first */
    struct code *codes;           /* by block */
    size_t n_codes;
    struct record *buffer; /* of a block */
    uint64_t bare;         /* instructions that should have had addresses */
};

static enum hp_err open_trace(void *state)
{
    struct champsim *c = state;
    enum hp_arch arch = hp_code_arch(c->setup.code);
    if (arch != HP_ARCH_X86_64)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "a ChampSim trace can be made of x86_64 programs only, not of %s",
                       hp_arch_name(arch));
    return hp_new(&c->buffer, HP_BLOCK_MAX_INSNS, sizeof *c->buffer);
}

/* --- Registers -------------------------------------------------------------------------------- */

/* Puts a register behind those that are there, if there is room. */
static void add(uint8_t *slots, size_t n, unsigned number)
{
    for (size_t i = 0; i < n; i++) {
        if (slots[i])
            continue;
        slots[i] = (uint8_t)number;
        return;
    }
}

/* Of more registers than there is room for the flags are left out first, then vectors. */
static void add_set(uint8_t *slots, size_t n, struct hp_regset set)
{
    for (uint64_t left = set.gpr & 0xffff; left; left &= left - 1)
        add(slots, n, integers[__builtin_ctzll(left)]);
    for (uint64_t left = set.vec; left; left &= left - 1)
        add(slots, n, VECTORS + (unsigned)__builtin_ctzll(left));
    if (set.gpr & GPR_FLAGS)
        add(slots, n, FLAGS);
}

/* How ChampSim tells branches, which all write IP, from one another: by whether they read and write
 * SP, read IP, and read others; a conditional one may read the flags for these. */
static const struct {
    bool branch, sp, ip, others;
} rules[HP_FLOW_COUNT_] = {
    [HP_FLOW_JUMP] = {true, false, true, false},     [HP_FLOW_COND] = {true, false, true, true},
    [HP_FLOW_JUMP_IND] = {true, false, false, true}, [HP_FLOW_RETURN] = {true, true, false, false},
    [HP_FLOW_CALL] = {true, true, true, false},      [HP_FLOW_CALL_IND] = {true, true, true, true},
};

static void add_branch(struct record *r, const struct hp_insn *insn)
{
    struct hp_regset others = {.gpr = insn->reads.gpr & ~(GPR_SP | GPR_FLAGS)};
    struct hp_regset written = {.gpr = insn->writes.gpr & ~(GPR_SP | GPR_FLAGS)};
    bool conditional = insn->flow == HP_FLOW_COND;
    r->is_branch = 1;
    add(r->writes, 2, IP);
    if (rules[insn->flow].sp) {
        add(r->writes, 2, SP);
        add(r->reads, 4, SP);
    }
    if (rules[insn->flow].ip)
        add(r->reads, 4, IP);
    if (conditional && ((insn->reads.gpr & GPR_FLAGS) || !others.gpr))
        add(r->reads, 4, FLAGS);
    if (rules[insn->flow].others && !conditional && !others.gpr)
        add(r->reads, 4, VALUE);
    if (rules[insn->flow].others)
        add_set(r->reads, 4, others);
    add_set(r->writes, 2, written);
}

static enum hp_err make_records(struct champsim *c, const struct hp_stream_block *block)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(c->setup.code, block->id, &insns));
    struct record *records;
    HP_TRY(hp_new(&records, block->code->insns, sizeof *records));
    for (uint32_t i = 0; i < block->code->insns; i++) {
        records[i].ip = insns[i].address;
        if (rules[insns[i].flow].branch) {
            add_branch(&records[i], &insns[i]);
        } else {
            add_set(records[i].reads, 4, insns[i].reads);
            add_set(records[i].writes, 2, insns[i].writes);
        }
    }
    c->codes[block->id] = (struct code){records, insns};
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void add_addresses(struct record *r, const struct hp_insn *insn, const uint64_t *addresses)
{
    size_t loads = 0, stores = 0;
    for (unsigned i = 0; i < insn->n_mems; i++) {
        if (insn->mems[i].read)
            r->loads[loads++] = addresses[i];
        if (insn->mems[i].write)
            r->stores[stores++] = addresses[i];
    }
}

static enum hp_err put_block(void *state, const struct hp_stream_block *block)
{
    struct champsim *c = state;
    if (block->id >= c->n_codes || !c->codes[block->id].records) {
        HP_TRY(hp_grow(&c->codes, &c->n_codes, (size_t)block->id + 1, sizeof *c->codes));
        HP_TRY(make_records(c, block));
    }
    const struct code *code = &c->codes[block->id];
    const uint64_t *addresses = block->addresses;
    size_t left = block->n_addresses;
    size_t n = block->insns < block->code->insns ? block->insns : block->code->insns;
    memcpy(c->buffer, code->records, n * sizeof *c->buffer);
    for (size_t i = 0; i < n; i++) {
        const struct hp_insn *insn = &code->insns[i];
        c->buffer[i].taken = c->buffer[i].is_branch & block->taken; /* a branch is the last one */
        if (insn->n_mems > left) {
            c->bare++;
            left = 0;
        } else if (insn->n_mems) {
            add_addresses(&c->buffer[i], insn, addresses);
            addresses += insn->n_mems;
            left -= insn->n_mems;
        }
    }
    if (fwrite(c->buffer, sizeof *c->buffer, n, c->setup.out) != n)
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    return HP_OK;
}

static enum hp_err close_trace(void *state)
{
    struct champsim *c = state;
    struct hp_export_written *written = c->setup.written;
    if (c->bare)
        snprintf(written->detail, sizeof written->detail,
                 "%" PRIu64 " without the addresses of their data, which were lost", c->bare);
    return HP_OK;
}

static void fini_trace(void *state)
{
    struct champsim *c = state;
    for (size_t i = 0; i < c->n_codes; i++)
        free(c->codes[i].records);
    free(c->codes);
    free(c->buffer);
}

const struct hp_export_format hp_format_champsim = {
    .name = "champsim",
    .summary = "a trace of instructions for ChampSim",
    .block = put_block,
    .state_size = sizeof(struct champsim),
    .open = open_trace,
    .close = close_trace,
    .fini = fini_trace,
    .addresses = true,
};
