// SPDX-License-Identifier: MIT
#include "profiler/path/plan.h"

#include "profiler/path/detector_impl.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE        UINT64_MAX
#define MAX_LENGTH     32 /* outcomes in a segment: a shift by this many is always defined */
#define SEGMENT_BYTES  sizeof(struct hp_path_segment)
#define FIRST_SEGMENTS 1024

bool hp_path_falls(const struct hp_code *code, const struct hp_block *block)
{
    switch (block->flow) {
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN:
        return (block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0 ||
               hp_code_arch(code) == HP_ARCH_NONE;
    default: return true;
    }
}

/* --- What a transfer does --------------------------------------------------------------------- */

struct action {
    enum hp_path_act act;
    bool add; /* its outcome is recorded */
};

static const struct action slow = {HP_ACT_SLOW, false};

static bool is_computed(uint8_t flow)
{
    return flow == HP_FLOW_JUMP_IND || flow == HP_FLOW_CALL_IND || flow == HP_FLOW_RETURN;
}

/* The act of a class. */
static enum hp_path_act act_of(const struct hp_ppcr *ppcr, enum hp_class class)
{
    if (ppcr->extension == HP_EXTEND_LOOP && class == HP_CLASS_BACKWARD)
        return HP_ACT_SLOW;
    switch (ppcr->ops[class] & (HP_PATH_POP | HP_PATH_PUSH)) {
    case 0: return HP_ACT_NONE;
    case HP_PATH_POP | HP_PATH_PUSH: return HP_ACT_CYCLE;
    default: return HP_ACT_SLOW;
    }
}

static struct action action_of_class(const struct hp_path_plan *plan, enum hp_class class)
{
    unsigned ops = plan->ppcr.ops[class];
    if (!(ops & (HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT)))
        return slow;
    enum hp_path_act act = act_of(&plan->ppcr, class);
    return act == HP_ACT_SLOW ? slow : (struct action){act, (ops & HP_PATH_UPDATE) != 0};
}

/* The action of a transfer. A computed target is unknown; the next address is the least likely
 * one. */
static struct action action_of(const struct hp_path_plan *plan, const struct hp_block *block,
                               bool taken)
{
    const struct hp_ppcr *ppcr = &plan->ppcr;
    struct hp_path_transfer x = {.last = block->last,
                                 .end = block->end,
                                 .direct = block->target,
                                 .target = taken ? block->target : block->end,
                                 .flow = block->flow,
                                 .taken = taken};
    if (!hp_path_is_branch(block->flow))
        return slow;
    if (!taken || !is_computed(block->flow))
        return action_of_class(plan, hp_detector_class(ppcr, &x));
    struct action forward = action_of_class(plan, HP_CLASS_FORWARD);
    struct action backward = action_of_class(plan, HP_CLASS_BACKWARD);
    if (forward.act != HP_ACT_NONE || backward.act != HP_ACT_CYCLE || !forward.add || !backward.add)
        return slow;
    return (struct action){HP_ACT_ADDRESS, true};
}

/* --- Segments --------------------------------------------------------------------------------- */

/* Appends a block whose transfer only adds its outcome and instructions. */
static void extend(struct hp_path_segment *segment, const struct hp_block *block, bool taken,
                   bool add)
{
    segment->bits = add ? segment->bits << 1 | taken : segment->bits;
    segment->length = (uint8_t)(segment->length + add);
    segment->insns += block->insns;
    segment->branches = (uint8_t)(segment->branches + hp_path_is_branch(block->flow));
    segment->n++;
}

/* The last transfer goes to a block of the unit. */
static void close_inside(struct hp_path_segment *segment, const struct hp_block *block, uint32_t to,
                         const struct hp_block *next, bool taken, struct action action)
{
    bool behind = is_computed(block->flow) && next->start == block->end;
    extend(segment, block, false, action.add);
    segment->add = action.add;
    segment->fall = taken ? NOWHERE : next->start;
    segment->target = next->start;
    segment->to = to;
    segment->place = block->last;
    if (behind)
        action.act = HP_ACT_SLOW;
    segment->act[0] = segment->act[1] = (uint8_t)action.act;
}

/* The last transfer leaves the unit. */
static void close_last(const struct hp_path_plan *plan, const struct hp_code *code,
                       struct hp_path_segment *segment, uint32_t id)
{
    const struct hp_block *block = hp_code_block(code, id);
    bool falls = hp_path_falls(code, block);
    struct action taken = action_of(plan, block, true);
    struct action fell = falls ? action_of(plan, block, false) : slow;
    bool add = taken.act == HP_ACT_SLOW ? fell.add : taken.add;
    extend(segment, block, false, add);
    segment->add = add;
    segment->act[0] = (uint8_t)(fell.add == add ? fell.act : HP_ACT_SLOW);
    segment->act[1] = (uint8_t)taken.act;
    segment->fall = falls ? block->end : NOWHERE;
    segment->place = block->last;
    segment->to = HP_NO_ID;
}

static enum hp_err reserve(struct hp_path_segment **array, size_t *cap, size_t need)
{
    if (need <= *cap)
        return HP_OK;
    size_t n = *cap + *cap / 2;
    n = n < need ? need : n;
    n = n < FIRST_SEGMENTS ? FIRST_SEGMENTS : n;
    void *new = aligned_alloc(SEGMENT_BYTES, n * SEGMENT_BYTES);
    if (!new)
        return hp_fail_nomem();
    if (*cap)
        memcpy(new, *array, *cap * SEGMENT_BYTES);
    free(*array);
    *array = new;
    *cap = n;
    return HP_OK;
}

/* Stores a finished segment, and starts the next. */
static void keep(struct hp_path_plan *plan, struct hp_path_segment *segment, size_t unit,
                 bool is_first, bool is_last)
{
    segment->next = is_last ? 0 : (uint32_t)plan->n_more + !is_first;
    if (is_first)
        plan->units[unit] = *segment;
    else
        plan->more[plan->n_more++] = *segment;
    *segment = (struct hp_path_segment){.start = segment->start,
                                        .first = (uint8_t)(segment->first + segment->n)};
}

static void plan_unit(struct hp_path_plan *plan, const struct hp_code *code, size_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(code, (uint32_t)unit, &n);
    const struct hp_block *table = hp_code_blocks(code);
    struct hp_path_segment segment = {.start = table[blocks[0]].start};
    bool is_first = true;
    for (uint32_t i = 0; i + 1 < n; i++) {
        const struct hp_block *block = &table[blocks[i]], *next = &table[blocks[i + 1]];
        bool taken = next->start != block->end || !hp_path_falls(code, block);
        struct action action = action_of(plan, block, taken);
        if (action.act == HP_ACT_NONE && segment.length < MAX_LENGTH) {
            extend(&segment, block, taken, action.add);
            continue;
        }
        close_inside(&segment, block, blocks[i + 1], next, taken, action);
        keep(plan, &segment, unit, is_first, false);
        is_first = false;
    }
    close_last(plan, code, &segment, blocks[n - 1]);
    keep(plan, &segment, unit, is_first, true);
}

/* --- The plan --------------------------------------------------------------------------------- */

enum hp_err hp_path_plan_grow(struct hp_path_plan *plan, const struct hp_code *code)
{
    size_t n = hp_code_n_units(code);
    HP_TRY(reserve(&plan->units, &plan->cap_units, n));
    if (!plan->n_more)
        plan->n_more = 1; /* 0 is none */
    for (; plan->n_units < n; plan->n_units++) {
        HP_TRY(reserve(&plan->more, &plan->cap_more, plan->n_more + HP_RUN_MAX));
        plan_unit(plan, code, plan->n_units);
    }
    return HP_OK;
}

void hp_path_plan_init(struct hp_path_plan *plan, const struct hp_ppcr *ppcr,
                       struct hp_frame_source *frames)
{
    *plan = (struct hp_path_plan){.ppcr = *ppcr, .frames = frames};
    hp_path_memo_init(&plan->memo);
}

void hp_path_plan_fini(struct hp_path_plan *plan)
{
    hp_path_memo_fini(&plan->memo);
    free(plan->units);
    free(plan->more);
    *plan = (struct hp_path_plan){0};
}
