// SPDX-License-Identifier: MIT
#include "profiler/path/walk.h"

#include "base/map64.h"

#include <stdlib.h>

#define MAX_CALLS HP_WALK_MAX /* followed and not returned from */

struct hp_walk {
    const struct hp_code *code;
    struct hp_ppcr ppcr;
    struct hp_map64 by_module; /* module and start -> block */
    struct hp_map64 by_start;
    uint32_t n_blocks; /* blocks that are in the maps */
    struct hp_walk_step steps[HP_WALK_MAX];
    size_t n;
    /* The current path. */
    uint64_t outcomes;
    uint32_t left; /* outcomes not used yet: the next is bit left - 1 */
    const uint64_t *targets;
    uint32_t targets_left;
    uint32_t extension;
    uint64_t returns[MAX_CALLS];
    size_t n_returns;
};

/* --- Blocks by address ------------------------------------------------------------------------ */

static uint64_t module_key(uint32_t module, uint64_t start)
{
    return start ^ (uint64_t)module << 48;
}

enum hp_err hp_walk_cover(struct hp_walk *w)
{
    for (; w->n_blocks < hp_code_n_blocks(w->code); w->n_blocks++) {
        const struct hp_block *block = hp_code_block(w->code, w->n_blocks);
        HP_TRY(hp_map64_put(&w->by_module, module_key(block->module, block->start), w->n_blocks));
        HP_TRY(hp_map64_put(&w->by_start, block->start, w->n_blocks));
    }
    return HP_OK;
}

enum hp_err hp_walk_new(const struct hp_code *code, const struct hp_ppcr *ppcr,
                        struct hp_walk **walk)
{
    struct hp_walk *w = calloc(1, sizeof *w);
    if (!w)
        return hp_fail_nomem();
    w->code = code;
    w->ppcr = *ppcr;
    enum hp_err err = hp_walk_cover(w);
    if (err != HP_OK) {
        hp_walk_free(w);
        return err;
    }
    *walk = w;
    return HP_OK;
}

void hp_walk_free(struct hp_walk *walk)
{
    if (!walk)
        return;
    hp_map64_fini(&walk->by_module);
    hp_map64_fini(&walk->by_start);
    free(walk);
}

uint32_t hp_walk_block_at(const struct hp_walk *w, uint64_t address)
{
    uint32_t id = hp_map64_get(&w->by_start, address);
    return id == HP_MAP64_NONE ? HP_NO_ID : id;
}

/* The block at `address`, preferably of `from`'s module: another program of the run may have had
 * other code there. */
static uint32_t find(const struct hp_walk *w, const struct hp_block *from, uint64_t address)
{
    uint32_t id = hp_map64_get(&w->by_module, module_key(from->module, address));
    if (id != HP_MAP64_NONE && hp_code_block(w->code, id)->start == address)
        return id;
    return hp_walk_block_at(w, address);
}

/* --- One transfer ----------------------------------------------------------------------------- */

/* What happens at the end of a block, as far as known. */
struct turn {
    enum hp_step_how how;
    bool ends;     /* the path does */
    uint64_t next; /* where it continues, if it does */
};

static const struct turn lost = {HP_STEP_END, true, 0};

/* One possible outcome of a transfer: its class and operations, changed by the extension. */
struct way {
    enum hp_class class;
    uint8_t ops;
    bool grows; /* by the extension */
};

static struct way way_of(const struct hp_walk *w, enum hp_class class)
{
    const struct hp_ppcr *ppcr = &w->ppcr;
    struct way way = {class, ppcr->ops[class], false};
    const uint8_t updates = HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT;
    bool below = w->extension < ppcr->max_extension;
    if (ppcr->extension == HP_EXTEND_LOOP && class == HP_CLASS_BACKWARD && below)
        way = (struct way){class, HP_PATH_UPDATE, true};
    else if (ppcr->extension == HP_EXTEND_CALL &&
             ((class == HP_CLASS_CALL && below) || (class == HP_CLASS_RETURN && w->extension != 0)))
        way = (struct way){class, way.ops & updates, true};
    return way;
}

static enum hp_class jump_class(const struct hp_walk *w, const struct hp_block *block, bool taken)
{
    bool back = block->target <= block->last;
    bool counts = taken || w->ppcr.direction == HP_DIRECTION_STATIC;
    return back && counts ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
}

/* The class of the transfer at the end of a block, taken or not. */
static enum hp_class class_of(const struct hp_walk *w, const struct hp_block *block, bool taken)
{
    switch (block->flow) {
    case HP_FLOW_CALL: /* one to the next instruction only reads its address */
        return taken && block->target != block->end ? HP_CLASS_CALL : HP_CLASS_FORWARD;
    case HP_FLOW_CALL_IND: return taken ? HP_CLASS_CALL : HP_CLASS_FORWARD;
    case HP_FLOW_RETURN: return taken ? HP_CLASS_RETURN : HP_CLASS_FORWARD;
    case HP_FLOW_JUMP_IND: return taken ? HP_CLASS_INDIRECT : HP_CLASS_FORWARD;
    default: return jump_class(w, block, taken);
    }
}

/* Consumes an outcome; false: none left. */
static bool next_outcome(struct hp_walk *w, bool *taken)
{
    if (w->left == 0)
        return false;
    *taken = w->outcomes >> --w->left & 1;
    return true;
}

/*
 * Whether a transfer is taken. One that is always taken may or may not have an outcome in the path.
 * One that may fall through must have an outcome both ways: otherwise it is unclear which transfer
 * the next outcome belongs to. But one that would end the path (a conditional return) cannot have
 * been taken while outcomes are left.
 */
static bool choose(struct hp_walk *w, const struct hp_block *block, bool *taken)
{
    bool conditional = block->flow == HP_FLOW_COND || block->flags & HP_BLOCK_CONDITIONAL;
    bool may_fall = conditional || block->flags & HP_BLOCK_THUMB;
    uint8_t ops = way_of(w, class_of(w, block, true)).ops;
    bool if_taken = ops & HP_PATH_UPDATE;
    bool if_not = way_of(w, class_of(w, block, false)).ops & HP_PATH_UPDATE;
    *taken = true;
    if (may_fall && !if_taken && if_not && ops & HP_PATH_POP)
        return w->left == 0 || (next_outcome(w, taken) && !*taken);
    if (!conditional && !if_taken)
        return true; /* unknown for Thumb code, but nearly always taken */
    if (may_fall && if_taken != if_not)
        return false;
    if (may_fall || if_taken)
        return if_taken && next_outcome(w, taken) && (*taken || may_fall);
    return true;
}

static struct turn follow_call(struct hp_walk *w, const struct hp_block *block,
                               const struct way *way)
{
    if (way->ops & HP_PATH_POP)
        return (struct turn){HP_STEP_CALLED, true, 0};
    if (way->ops & HP_PATH_PUSH) /* the callee's path is on top until it returns */
        return (struct turn){HP_STEP_CALLED, false, block->end};
    if (block->target == 0 || w->n_returns == MAX_CALLS)
        return lost;
    w->returns[w->n_returns++] = block->end;
    return (struct turn){HP_STEP_ENTERED, false, block->target};
}

static struct turn follow_return(struct hp_walk *w, const struct way *way)
{
    if (way->ops & (HP_PATH_POP | HP_PATH_PUSH))
        return (struct turn){HP_STEP_RETURNED, true, 0};
    if (w->n_returns == 0)
        return lost;
    return (struct turn){HP_STEP_RETURNED, false, w->returns[--w->n_returns]};
}

static struct turn follow(struct hp_walk *w, const struct hp_block *block)
{
    bool taken;
    if (!choose(w, block, &taken))
        return lost;
    struct way way = way_of(w, class_of(w, block, taken));
    if (way.grows && way.class == HP_CLASS_RETURN)
        w->extension--;
    else if (way.grows)
        w->extension++;
    if (way.class == HP_CLASS_CALL)
        return follow_call(w, block, &way);
    if (way.class == HP_CLASS_RETURN)
        return follow_return(w, &way);
    bool ends = way.ops & (HP_PATH_POP | HP_PATH_PUSH);
    if (!taken)
        return (struct turn){HP_STEP_FELL, ends, block->end};
    if (!ends && block->target == 0)
        return lost;
    return (struct turn){HP_STEP_TAKEN, ends, block->target};
}

/* Forward paths: calls, returns and computed jumps go forward or backward like all other
 * branches. */
static struct turn follow_address(struct hp_walk *w, const struct hp_block *block)
{
    bool taken, direct = block->target != 0;
    if (!next_outcome(w, &taken))
        return lost;
    enum hp_step_how how = HP_STEP_TAKEN;
    if (block->flow == HP_FLOW_RETURN)
        how = HP_STEP_RETURNED;
    else if (block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND)
        how = block->target == block->end ? HP_STEP_TAKEN : HP_STEP_ENTERED;
    if (!taken)
        return (struct turn){HP_STEP_FELL, false, block->end};
    if (direct)
        return (struct turn){how, block->target <= block->last, block->target};
    if (w->targets_left ==
        0) /* a target that is not in the path belongs to the branch that ends it */
        return (struct turn){how, true, 0};
    w->targets_left--;
    return (struct turn){how, false, *w->targets++};
}

static bool is_branch(const struct hp_block *block)
{
    return block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
           block->flow != HP_FLOW_TRAP;
}

size_t hp_walk_path(struct hp_walk *w, const struct hp_path *path, const uint64_t *targets,
                    const struct hp_walk_step **steps)
{
    w->n = 0;
    w->outcomes = path->outcomes;
    w->left = path->length < HP_PATH_MAX_LENGTH ? path->length : HP_PATH_MAX_LENGTH;
    w->targets = targets;
    w->targets_left = targets ? path->n_targets : 0;
    w->extension = 0;
    w->n_returns = 0;
    *steps = w->steps;
    uint32_t at = path->block < hp_code_n_blocks(w->code) ? path->block : HP_NO_ID;
    while (at != HP_NO_ID && w->n < HP_WALK_MAX) {
        const struct hp_block *block = hp_code_block(w->code, at);
        struct turn turn = {HP_STEP_FELL, false, block->end};
        if (is_branch(block))
            turn = w->ppcr.by_address ? follow_address(w, block) : follow(w, block);
        w->steps[w->n++] = (struct hp_walk_step){at, (uint8_t)turn.how};
        if (turn.ends)
            return w->n;
        at = find(w, block, turn.next);
    }
    if (w->n)
        w->steps[w->n - 1].how = HP_STEP_END;
    return w->n;
}
