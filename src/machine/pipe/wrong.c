// SPDX-License-Identifier: MIT
/*
 * Wrong paths (rule 10): where they go.
 */
#include "machine/pipe/pipe_impl.h"

void hp_pipe_wrong_start(struct hp_pipe *p, uint64_t at)
{
    p->wrong.on = true;
    p->wrong.at = p->config.no_wrong_path ? 0 : at;
    p->wrong.piece = HP_NO_ID;
    p->wrong.n_calls = p->wrong.returned = 0;
}

uint32_t hp_pipe_wrong_insn(struct hp_pipe *p)
{
    struct pipe_wrong *w = &p->wrong;
    if (w->piece == HP_NO_ID) {
        if (!w->at)
            return HP_NO_ID;
        w->piece = hp_program_at(p->program, w->at);
        w->index = 0;
        w->at = 0;
        if (w->piece == HP_NO_ID)
            return HP_NO_ID;
        enum hp_err err = hp_pipe_refresh(p);
        if (err != HP_OK) {
            p->error = err;
            w->piece = HP_NO_ID;
            return HP_NO_ID;
        }
    }
    return hp_program_piece(p->program, w->piece)->first + w->index;
}

static uint64_t returns_to(struct hp_pipe *p)
{
    struct pipe_wrong *w = &p->wrong;
    if (w->n_calls)
        return w->calls[--w->n_calls];
    return hp_ras_peek(&p->core->branches.ras, w->returned++);
}

/* The target of a taken transfer; 0: unknown. */
static uint64_t target_of(struct hp_pipe *p, const struct hp_static *s)
{
    switch ((enum hp_flow)s->flow) {
    case HP_FLOW_RETURN: return returns_to(p);
    case HP_FLOW_CALL: p->wrong.calls[p->wrong.n_calls++] = s->end; return s->target;
    case HP_FLOW_JUMP:
    case HP_FLOW_COND: return s->target;
    default: return 0;
    }
}

bool hp_pipe_wrong_next(struct hp_pipe *p, const struct hp_static *s)
{
    struct pipe_wrong *w = &p->wrong;
    bool taken = s->flags & HP_STATIC_TRANSFER;
    if (++w->index < hp_program_piece(p->program, w->piece)->n)
        return false;
    w->piece = HP_NO_ID;
    if (s->flags & HP_STATIC_CONDITIONAL) {
        taken = hp_branches_guess(&p->core->branches, s->address >> p->pc_bits,
                                  s->flags & HP_STATIC_BACKWARD);
        p->history = p->history << 1 | taken;
    }
    if (taken)
        w->at = target_of(p, s);
    else
        w->at = s->flow == HP_FLOW_SYSCALL || s->flow == HP_FLOW_TRAP ? 0 : s->end;
    return taken;
}
