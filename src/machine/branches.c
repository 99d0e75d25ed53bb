// SPDX-License-Identifier: MIT
#include "machine/branches.h"

enum hp_err hp_branches_init(struct hp_branches *branches, const struct hp_branch_config *config)
{
    *branches = (struct hp_branches){0};
    HP_TRY(hp_predictor_new(config, &branches->predictor));
    HP_TRY(hp_btb_init(&branches->btb, config->btb_entries, config->btb_ways));
    HP_TRY(hp_ras_init(&branches->ras, config->ras_entries));
    if (config->indirect == HP_INDIRECT_ITTAGE)
        HP_TRY(hp_ittage_new(&config->ittage, &branches->ittage));
    return HP_OK;
}

void hp_branches_fini(struct hp_branches *branches)
{
    hp_predictor_free(branches->predictor);
    hp_ittage_free(branches->ittage);
    hp_btb_fini(&branches->btb);
    hp_ras_fini(&branches->ras);
    *branches = (struct hp_branches){0};
}

static bool direction(struct hp_branches *b, const struct hp_transfer *t)
{
    bool said = b->predictor->predict(b->predictor, t->pc, t->backward);
    b->predictor->update(b->predictor, t->pc, t->taken);
    if (b->ittage)
        hp_ittage_note(b->ittage, t->taken);
    b->stats.conditional++;
    b->stats.taken += t->taken;
    b->stats.directions += said != t->taken;
    return said;
}

static uint64_t target(struct hp_branches *b, const struct hp_transfer *t)
{
    if (!b->ittage)
        return hp_btb_use(&b->btb, t->pc, t->target);
    uint64_t said = hp_ittage_predict(b->ittage, t->pc);
    hp_ittage_update(b->ittage, t->pc, t->target);
    return said;
}

/* Of a taken transfer: its predicted target. */
static void destination(struct hp_branches *b, const struct hp_transfer *t, struct hp_forecast *f)
{
    bool wrong = false;
    switch ((enum hp_flow)t->flow) {
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
        b->stats.indirect++;
        f->next = target(b, t);
        wrong = f->next != t->target;
        b->stats.targets += wrong;
        break;
    case HP_FLOW_RETURN:
        b->stats.returns++;
        f->next = b->ras.size ? hp_ras_pop(&b->ras) : target(b, t);
        wrong = f->next != t->target;
        b->stats.return_addresses += wrong;
        break;
    default:
        b->stats.btb_lookups++;
        f->next = t->target;
        f->btb_missed = hp_btb_use(&b->btb, t->pc, t->target) == 0;
        b->stats.btb_misses += f->btb_missed;
        break;
    }
    if (t->flow == HP_FLOW_CALL || t->flow == HP_FLOW_CALL_IND) {
        b->stats.calls++;
        hp_ras_push(&b->ras, t->end);
    }
    f->wrong |= wrong;
}

struct hp_forecast hp_branches_predict(struct hp_branches *b, const struct hp_transfer *t)
{
    struct hp_forecast f = {.next = t->end};
    bool said = t->taken;
    b->stats.transfers++;
    if (t->conditional)
        said = direction(b, t);
    else if (b->predictor->note)
        b->predictor->note(b->predictor, t->pc, t->target);
    f.taken = said;
    f.wrong = said != t->taken;
    if (t->taken)
        destination(b, t, &f);
    if (said != t->taken)
        f.next = said ? t->direct : t->end;
    b->stats.mispredictions += f.wrong;
    return f;
}
