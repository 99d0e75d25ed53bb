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

static bool direction_wrong(struct hp_branches *b, const struct hp_transfer *t)
{
    bool said = b->predictor->predict(b->predictor, t->pc, t->backward);
    b->predictor->update(b->predictor, t->pc, t->taken);
    if (b->ittage)
        hp_ittage_note(b->ittage, t->taken);
    b->stats.conditional++;
    b->stats.taken += t->taken;
    b->stats.directions += said != t->taken;
    return said != t->taken;
}

static bool target_wrong(struct hp_branches *b, const struct hp_transfer *t)
{
    if (!b->ittage)
        return hp_btb_use(&b->btb, t->pc, t->target) != t->target;
    uint64_t said = hp_ittage_predict(b->ittage, t->pc);
    hp_ittage_update(b->ittage, t->pc, t->target);
    return said != t->target;
}

/* Of a transfer that was taken. */
static bool destination_wrong(struct hp_branches *b, const struct hp_transfer *t)
{
    bool wrong = false;
    switch ((enum hp_flow)t->flow) {
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
        b->stats.indirect++;
        wrong = target_wrong(b, t);
        b->stats.targets += wrong;
        break;
    case HP_FLOW_RETURN:
        b->stats.returns++;
        wrong = b->ras.size ? hp_ras_pop(&b->ras) != t->target : target_wrong(b, t);
        b->stats.return_addresses += wrong;
        break;
    default:
        b->stats.btb_lookups++;
        b->stats.btb_misses += hp_btb_use(&b->btb, t->pc, t->target) == 0;
        break;
    }
    if (t->flow == HP_FLOW_CALL || t->flow == HP_FLOW_CALL_IND) {
        b->stats.calls++;
        hp_ras_push(&b->ras, t->end);
    }
    return wrong;
}

bool hp_branches_retire(struct hp_branches *b, const struct hp_transfer *t)
{
    bool wrong = false;
    b->stats.transfers++;
    if (t->conditional)
        wrong = direction_wrong(b, t);
    else if (b->predictor->note)
        b->predictor->note(b->predictor, t->pc, t->target);
    if (t->taken)
        wrong |= destination_wrong(b, t);
    b->stats.mispredictions += wrong;
    return wrong;
}
