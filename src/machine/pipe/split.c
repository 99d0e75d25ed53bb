// SPDX-License-Identifier: MIT
#include "machine/pipe/split.h"

#include "machine/memory.h"

#define FLAGS ((uint64_t)1 << HP_REG_FLAGS)

static const char *const unit_names[HP_UNITS] = {
    [HP_UNIT_ALU] = "alu",       [HP_UNIT_MUL] = "mul",       [HP_UNIT_FP] = "fp",
    [HP_UNIT_FP_MUL] = "fp_mul", [HP_UNIT_VECTOR] = "vector", [HP_UNIT_LOAD] = "load",
    [HP_UNIT_STORE] = "store",   [HP_UNIT_BRANCH] = "branch",
};

const char *hp_unit_name(enum hp_unit_kind unit)
{
    return (unsigned)unit < HP_UNITS ? unit_names[unit] : "none";
}

/* --- Splitting -------------------------------------------------------------------------------- */

/* An instruction being split. */
struct split {
    const struct hp_machine *machine;
    const struct hp_insn *insn;
    struct hp_uop *uops;
    unsigned n;
    uint8_t loads;     /* bit i: micro-operation i is a load */
    uint8_t computing; /* the bit of the one that computes; 0: none */
    uint64_t updated;  /* registers that the update writes; 0: no update */
    uint64_t stepped;  /* what it reads */
};

/* Base and index of an operand; those that are not registers add nothing. */
static uint64_t address_registers(const struct hp_mem *mem)
{
    uint64_t set = 0;
    if (mem->base < HP_REG_FLAGS)
        set |= (uint64_t)1 << mem->base;
    if (mem->index < HP_REG_FLAGS)
        set |= (uint64_t)1 << mem->index;
    return set;
}

static bool is_loaded(const struct hp_mem *mem)
{
    return mem->read || !mem->write;
}

static bool computes(enum hp_op op)
{
    return op != HP_OP_LOAD && op != HP_OP_STORE && op != HP_OP_NOP;
}

/* x86 leave: sets the stack pointer from the frame pointer, and loads the frame pointer. */
static bool is_leave(enum hp_arch arch, const struct hp_insn *insn)
{
    const unsigned stack = 4, frame = 5;
    return arch == HP_ARCH_X86_64 && insn->op == HP_OP_LOAD && insn->n_mems == 1 &&
           insn->mems[0].base == frame && insn->writes.gpr == (1u << stack | 1u << frame);
}

/* Registers that an instruction updates as addresses. A plain load that overwrites its own base
 * does not: the register is its result. */
static void find_update(struct split *s, enum hp_arch arch)
{
    const struct hp_insn *insn = s->insn;
    uint64_t bases = 0, written = insn->writes.gpr & ~FLAGS;
    bool only = (written & (written - 1)) == 0 && !insn->writes.vec;
    if (insn->op != HP_OP_LOAD && insn->op != HP_OP_STORE && insn->op != HP_OP_BRANCH)
        return;
    for (unsigned i = 0; i < insn->n_mems; i++)
        if (insn->mems[i].base < HP_REG_FLAGS)
            bases |= (uint64_t)1 << insn->mems[i].base;
    if (insn->op == HP_OP_LOAD && only)
        return;
    s->updated = s->stepped = bases & written;
    if (is_leave(arch, insn))
        s->updated = written & ~bases;
}

static struct hp_uop *add(struct split *s, enum hp_unit_kind unit, uint64_t latency)
{
    struct hp_uop *uop = &s->uops[s->n++];
    *uop = (struct hp_uop){.unit = (uint8_t)unit, .latency = (uint16_t)latency, .busy = 1};
    return uop;
}

/* In-order cores access an operand that is both read and written once. */
static unsigned load_access(const struct split *s, const struct hp_mem *mem)
{
    const struct hp_insn *insn = s->insn;
    if (!mem->read || (insn->op == HP_OP_LOAD && !(insn->writes.gpr | insn->writes.vec)))
        return 0; /* a prefetch: nothing waits for it */
    bool both = mem->write && s->machine->core.in_order;
    return both ? HP_ACCESS_READ | HP_ACCESS_WRITE : HP_ACCESS_READ;
}

static unsigned store_access(const struct split *s, const struct hp_mem *mem)
{
    return mem->read && s->machine->core.in_order ? 0u : HP_ACCESS_WRITE;
}

static struct hp_uop *add_operand(struct split *s, unsigned operand, enum hp_unit_kind unit)
{
    const struct hp_mem *mem = &s->insn->mems[operand];
    struct hp_uop *uop = add(s, unit, unit == HP_UNIT_STORE ? 1 : 0);
    uop->operand = (uint8_t)operand;
    uop->size = mem->size ? mem->size : 1;
    uop->access = (uint8_t)(unit == HP_UNIT_LOAD ? load_access(s, mem) : store_access(s, mem));
    uop->reads.gpr = address_registers(mem);
    return uop;
}

static struct hp_regset results(const struct split *s)
{
    struct hp_regset writes = s->insn->writes;
    writes.gpr &= ~s->updated;
    return writes;
}

static void add_loads(struct split *s)
{
    const struct hp_insn *insn = s->insn;
    struct hp_uop *last = NULL;
    for (unsigned i = 0; i < insn->n_mems; i++) {
        if (!is_loaded(&insn->mems[i]))
            continue;
        s->loads |= (uint8_t)(1u << s->n);
        last = add_operand(s, i, HP_UNIT_LOAD);
    }
    if (last && !computes((enum hp_op)insn->op))
        last->writes = results(s);
}

/* The unit and latency of an operation class. */
static void set_unit(const struct hp_latency_config *latency, enum hp_op op, struct hp_uop *uop)
{
    enum hp_unit_kind unit = HP_UNIT_ALU;
    uint64_t cycles = latency->alu;
    switch (op) {
    case HP_OP_MUL: unit = HP_UNIT_MUL, cycles = latency->mul; break;
    case HP_OP_DIV: unit = HP_UNIT_MUL, cycles = latency->div; break;
    case HP_OP_FADD: unit = HP_UNIT_FP, cycles = latency->fp; break;
    case HP_OP_FMUL: unit = HP_UNIT_FP_MUL, cycles = latency->fp_mul; break;
    case HP_OP_FDIV: unit = HP_UNIT_FP_MUL, cycles = latency->fp_div; break;
    case HP_OP_VEC: unit = HP_UNIT_VECTOR, cycles = latency->vector; break;
    case HP_OP_BRANCH: unit = HP_UNIT_BRANCH, cycles = latency->branch; break;
    default: break;
    }
    uop->unit = (uint8_t)unit;
    uop->latency = (uint16_t)cycles;
    uop->busy = op == HP_OP_DIV || op == HP_OP_FDIV ? uop->latency : 1;
}

static void add_computing(struct split *s)
{
    const struct hp_insn *insn = s->insn;
    if (!computes((enum hp_op)insn->op))
        return;
    s->computing = (uint8_t)(1u << s->n);
    struct hp_uop *uop = add(s, HP_UNIT_ALU, 0);
    set_unit(&s->machine->latency, (enum hp_op)insn->op, uop);
    uop->reads = insn->reads;
    uop->writes = results(s);
    uop->after = s->loads;
}

static void add_update(struct split *s)
{
    if (!s->updated)
        return;
    struct hp_uop *uop = add(s, HP_UNIT_ALU, s->machine->latency.alu);
    uop->reads.gpr = s->stepped;
    uop->writes.gpr = s->updated;
}

static void add_stores(struct split *s)
{
    for (unsigned i = 0; i < s->insn->n_mems; i++) {
        if (!s->insn->mems[i].write)
            continue;
        struct hp_uop *uop = add_operand(s, i, HP_UNIT_STORE);
        uop->after = s->computing ? s->computing : s->loads;
        if (!s->computing)
            uop->reads = s->insn->reads;
    }
}

unsigned hp_split(const struct hp_machine *machine, enum hp_arch arch, const struct hp_insn *insn,
                  struct hp_uop uops[HP_UOPS_MAX])
{
    struct split s = {.machine = machine, .insn = insn, .uops = uops};
    if (insn->op == HP_OP_NOP)
        return 0;
    find_update(&s, arch);
    add_loads(&s);
    add_computing(&s);
    add_update(&s);
    add_stores(&s);
    if (s.n == 1 && uops[0].unit == HP_UNIT_LOAD)
        uops[0].reads = insn->reads;
    return s.n;
}

/* --- Describing ------------------------------------------------------------------------------- */

static uint8_t flags_of(const struct hp_insn *insn)
{
    unsigned flags = 0;
    if (insn->flow != HP_FLOW_NONE && insn->flow != HP_FLOW_SYSCALL && insn->flow != HP_FLOW_TRAP) {
        flags |= HP_STATIC_TRANSFER;
        if (insn->flow == HP_FLOW_COND || insn->flags & HP_INSN_CONDITIONAL)
            flags |= HP_STATIC_CONDITIONAL;
        if (insn->target && insn->target <= insn->address)
            flags |= HP_STATIC_BACKWARD;
    }
    if (insn->op == HP_OP_SYSTEM || insn->op == HP_OP_ATOMIC)
        flags |= HP_STATIC_SERIAL;
    return (uint8_t)flags;
}

void hp_split_describe(const struct hp_insn *insn, const struct hp_uop *uops, unsigned n_uops,
                       struct hp_static *out)
{
    *out = (struct hp_static){
        .address = insn->address,
        .end = insn->address + insn->length,
        .target = insn->target,
        .block = HP_NO_ID,
        .n_uops = (uint8_t)n_uops,
        .n_mems = insn->n_mems,
        .flow = insn->flow,
        .op = insn->op,
        .flags = flags_of(insn),
        .int_writes = (uint8_t)__builtin_popcountll(insn->writes.gpr & ~FLAGS),
        .vec_writes = (uint8_t)__builtin_popcountll(insn->writes.vec),
    };
    for (unsigned i = 0; i < n_uops; i++) {
        unsigned unit = uops[i].unit;
        out->n_loads = (uint8_t)(out->n_loads + (unit == HP_UNIT_LOAD));
        out->n_stores = (uint8_t)(out->n_stores + (unit == HP_UNIT_STORE));
        if (unit == HP_UNIT_FP || unit == HP_UNIT_FP_MUL || unit == HP_UNIT_VECTOR)
            out->flags |= HP_STATIC_FP;
    }
}
