// SPDX-License-Identifier: MIT
/*
 * The static code as the pipe uses it: what every instruction needs, close together.
 */
#include "machine/pipe/pipe_impl.h"

#include "base/grow.h"

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* --- Instructions ----------------------------------------------------------------------------- */

static bool has_branch_uop(const struct hp_pipe *p, const struct hp_static *s)
{
    return s->flags & HP_STATIC_TRANSFER && s->n_uops > s->n_loads &&
           p->uops[s->uops + s->n_loads].unit == HP_UNIT_BRANCH;
}

static uint8_t flags_of(const struct hp_pipe *p, const struct hp_static *s)
{
    unsigned flags = 0;
    if (s->flags & HP_STATIC_FP && p->fp_queue)
        flags |= INSN_FP;
    if (s->flags & HP_STATIC_SERIAL)
        flags |= INSN_SERIAL;
    if (has_branch_uop(p, s))
        flags |= INSN_BRANCH;
    return (uint8_t)flags;
}

/* What an instruction holds, limited to what the machine has. */
static uint64_t holds(const struct hp_pipe *p, const struct hp_static *s)
{
    uint64_t places = smaller((uint32_t)s->n_loads + s->n_stores, p->memory_queue);
    uint64_t ints = smaller(s->int_writes, p->int_registers);
    uint64_t vecs = smaller(s->vec_writes, p->vec_registers);
    return places << HOLDS_PLACES | ints << HOLDS_INTS | vecs << HOLDS_VECS;
}

static uint64_t occupies(const struct hp_pipe *p, const struct hp_static *s)
{
    uint64_t place = PIPE_ONE(OCCUPIES_BUFFER);
    if (!s->n_uops)
        return place;
    return place | PIPE_ONE(flags_of(p, s) & INSN_FP ? OCCUPIES_FP : OCCUPIES_INT);
}

static void set_static(const struct hp_pipe *p, const struct hp_static *s, struct pipe_static *out)
{
    uint64_t last = s->end > s->address ? s->end - 1 : s->address;
    *out = (struct pipe_static){
        .line = s->address >> p->code_bits,
        .crosses = s->address >> p->code_bits != last >> p->code_bits,
        .shape = {.uops = s->uops,
                  .n_uops = s->n_uops,
                  .n_loads = s->n_loads,
                  .n_stores = s->n_stores,
                  .flags = flags_of(p, s),
                  .n_mems = s->n_mems,
                  .first_mem = s->first_mem,
                  .flow = s->flow,
                  .static_flags = s->flags,
                  .holds = holds(p, s),
                  .occupies = occupies(p, s)},
    };
}

/* --- Micro-operations ------------------------------------------------------------------------- */

static unsigned add_registers(struct pipe_suop *uop, unsigned n, const struct hp_regset *set)
{
    for (uint64_t rest = set->gpr; rest; rest &= rest - 1)
        uop->regs[n++] = (uint8_t)__builtin_ctzll(rest);
    for (uint64_t rest = set->vec; rest; rest &= rest - 1)
        uop->regs[n++] = (uint8_t)(64 + __builtin_ctzll(rest));
    return n;
}

static unsigned members(const struct hp_regset *set)
{
    return (unsigned)(__builtin_popcountll(set->gpr) + __builtin_popcountll(set->vec));
}

static void set_uop(const struct hp_uop *s, struct pipe_suop *out)
{
    *out = (struct pipe_suop){.unit = s->unit,
                              .operand = s->operand,
                              .after = s->after,
                              .access = s->access,
                              .latency = s->latency,
                              .busy = s->busy,
                              .size = s->size,
                              .n_reads = PIPE_MANY};
    if (members(&s->reads) + members(&s->writes) > PIPE_REGS)
        return;
    out->n_reads = (uint8_t)add_registers(out, 0, &s->reads);
    out->n_writes = (uint8_t)(add_registers(out, out->n_reads, &s->writes) - out->n_reads);
}

/* --- Growing ---------------------------------------------------------------------------------- */

enum hp_err hp_pipe_refresh(struct hp_pipe *p)
{
    uint32_t n = hp_program_n_insns(p->program);
    p->insns = hp_program_insns(p->program);
    p->uops = hp_program_uops(p->program);
    if (n == p->n_statics)
        return HP_OK;
    uint32_t n_uops = p->insns[n - 1].uops + p->insns[n - 1].n_uops;
    HP_TRY(hp_grow(&p->notes, &p->cap_notes, n, sizeof *p->notes));
    HP_TRY(hp_grow(&p->statics, &p->cap_statics, n, sizeof *p->statics));
    HP_TRY(hp_grow(&p->suops, &p->cap_suops, n_uops, sizeof *p->suops));
    for (; p->n_suops < n_uops; p->n_suops++)
        set_uop(&p->uops[p->n_suops], &p->suops[p->n_suops]);
    for (; p->n_statics < n; p->n_statics++)
        set_static(p, &p->insns[p->n_statics], &p->statics[p->n_statics]);
    return HP_OK;
}
