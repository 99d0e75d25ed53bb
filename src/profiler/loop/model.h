// SPDX-License-Identifier: MIT
/*
 * Inside of the loop models: what all kinds have in common, and how they are fed.
 *
 * A model is fed with *chunks*: short backward branches of one thread as an array, with what lies
 * between them (instructions, for the FIFO; how deep calls went) worked out before. The depth is
 * counted from the beginning of the chunk, so a chunk is the same whatever state a model is in.
 */
#ifndef HP_PROFILER_LOOP_MODEL_H
#define HP_PROFILER_LOOP_MODEL_H

#include "base/map64.h"
#include "base/settings.h"
#include "hotpath/code.h"
#include "hotpath/loop.h"

/* --- What models are fed with ----------------------------------------------------------------- */

/* A short backward branch of the code. */
struct hp_sbb {
    uint64_t address, target;
    uint32_t tag;    /* a small number for the address: that of the first with this address */
    uint32_t offset; /* bytes */
    uint32_t block;  /* that it ends */
    uint32_t next;   /* another with this address (code that changed); HP_NO_ID: none */
};

/*
 * It was taken `times` in a row. `first` instructions lie between it and the event before, itself
 * included; `rest` between the others, all told, and these are either all equal or each at least as
 * many as any model takes for a branch. Between the others no depth was less or more than here.
 */
struct hp_sbb_event {
    uint32_t sbb; /* index */
    uint32_t times;
    uint32_t first, rest;
    int32_t depth; /* at the branch, from the beginning of the chunk */
    int32_t low;   /* the least since the event before */
};

struct hp_sbb_chunk {
    const struct hp_sbb *sbbs;
    const struct hp_sbb_event *events;
    size_t n;
    uint64_t insns; /* behind the last event */
    int32_t depth;  /* at the end */
    int32_t low;    /* the least since the last event */
};

/* Whether a taken branch is a short backward one. The decoder says so, so it is a direct one;
 * neither call nor return. */
static inline bool hp_sbb_is(uint8_t flow, uint64_t address, uint64_t target, uint32_t max_offset)
{
    return (flow == HP_FLOW_JUMP || flow == HP_FLOW_COND) && target <= address &&
           address - target < max_offset;
}

/* How a taken branch changes the depth. */
static inline int hp_sbb_depth(uint8_t flow, uint64_t target, uint64_t end)
{
    if (flow == HP_FLOW_RETURN)
        return -1;
    return (flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND) && target != end;
}

/* --- A model ---------------------------------------------------------------------------------- */

struct hp_loop_slot {
    uint64_t address, target;
    uint64_t executions; /* frequent: the frequency */
    uint64_t average;    /* fixed point; exact: iterations of the executions that are over */
    uint64_t stamp;      /* when freshness was at its maximum, in executions begun */
    uint32_t tag, sbb;   /* of whom it is */
    bool used;
};

/* An execution that goes on. */
struct hp_loop_live {
    uint64_t address, target;
    uint64_t current;
    uint32_t slot;
    int32_t depth;
};

/* What is kept for each thread; without `tasks` there is one. */
struct hp_loop_task {
    struct hp_loop_live
        *live; /* by ascending depth; of a slot only the last counts, those before are put aside */
    size_t n_live;
    size_t aside;  /* of them */
    int64_t depth; /* of calls, any beginning */
    int64_t low;   /* the least since the last branch that went through the FIFO */
    int64_t floor; /* the least ever */
};

struct hp_loop_ops {
    void (*consume)(struct hp_loop_model *model, struct hp_loop_task *task,
                    const struct hp_sbb_chunk *chunk);
};

struct hp_loop_model {
    const struct hp_loop_ops *ops;
    struct hp_loop_config config;
    struct hp_loop_stats stats;
    struct hp_loop_slot *slots;
    uint32_t set_mask;
    uint64_t execution_max, iteration_max;
    int64_t depth_max;
    uint64_t backlog; /* instructions until the profiler is through with the FIFO */
    uint64_t begun;   /* executions */
    struct hp_loop_task **tasks;
    size_t n_tasks, cap_tasks;
    struct hp_map64 task_of;   /* thread -> task */
    struct hp_loop_task *task; /* the last */
    bool out_of_memory;
    /* Where a tag is in the cache, HP_NO_ID nowhere; NULL: it is to be looked for. */
    uint32_t *slot_of;
    size_t cap_slot_of;
    struct hp_loop_ranges *ranges; /* HP_LOOP_RANGES: all of it; see ranges.h */
};

extern const struct hp_loop_ops hp_loop_daprof, hp_loop_frequent;

#define HP_LOOP_FULL 0 /* ways of a preset that is fully associative, whatever its entries */
extern const struct hp_model hp_loop_daprof_model, hp_loop_frequent_model, hp_loop_ranges_model;

/* HP_ERR_INVALID. */
enum hp_err hp_loop_config_check(const struct hp_loop_config *config);

/* Puts the widths of an architecture where there are none. */
void hp_loop_config_widths(struct hp_loop_config *config, enum hp_arch arch);

/* Feeds it with a chunk of a thread. */
void hp_loop_model_consume(struct hp_loop_model *model, uint32_t thread,
                           const struct hp_sbb_chunk *chunk);

/* There are tags up to `n`; a model that was told so is never fed by hp_loop_model_branch().
 * HP_ERR_NOMEM. */
enum hp_err hp_loop_model_tags(struct hp_loop_model *model, size_t n);

/* The slot as users see it. */
struct hp_loop_entry hp_loop_model_entry(const struct hp_loop_model *model,
                                         const struct hp_loop_slot *slot);

/* Makes the slot that of another branch. */
void hp_loop_model_take(struct hp_loop_model *model, uint32_t slot, const struct hp_sbb *sbb,
                        uint32_t index);

/* --- For the kinds ---------------------------------------------------------------------------- */

/* The first slot of the set. */
static inline uint32_t hp_loop_set(const struct hp_loop_model *m, uint64_t address)
{
    uint64_t index = address / (m->config.insn_bytes ? m->config.insn_bytes : 4);
    return (uint32_t)(index & m->set_mask) * m->config.ways;
}

/* HP_NO_ID: it is in none. */
static inline uint32_t hp_loop_find(const struct hp_loop_model *m, const struct hp_sbb *sbb)
{
    if (m->slot_of)
        return m->slot_of[sbb->tag];
    uint32_t first = hp_loop_set(m, sbb->address);
    for (uint32_t i = first; i < first + m->config.ways; i++)
        if (m->slots[i].used && m->slots[i].address == sbb->address)
            return i;
    return HP_NO_ID;
}

/*
 * The FIFO: how many of the event's branches go through. `backlog` is the time until the profiler
 * is through with all it has; what waits, without the one that is worked on, is in the FIFO. So an
 * arrival finds it full when more than its entries' worth of time is left.
 */
static inline uint32_t hp_loop_fifo(struct hp_loop_model *m, const struct hp_sbb_event *e)
{
    const uint64_t service = m->config.fifo_service, full = m->config.fifo * service;
    uint32_t through = 0, others = e->times - 1;
    uint64_t backlog = m->backlog > e->first ? m->backlog - e->first : 0;
    if (backlog <= full) {
        backlog += service;
        through = 1;
    }
    if (others && e->rest >= others * service) {
        /* None of them comes too soon, so none is lost, and the backlog only shrinks. */
        uint64_t work = backlog + others * service;
        backlog = work > e->rest + service ? work - e->rest : service;
        through += others;
    } else if (others) {
        uint64_t gap = e->rest / others;
        for (uint32_t i = 0; i < others; i++) {
            backlog = backlog > gap ? backlog - gap : 0;
            bool room = backlog <= full;
            backlog += room ? service : 0;
            through += room;
        }
    }
    m->backlog = backlog;
    m->stats.overflows += e->times - through;
    return through;
}

/* Time passes. */
static inline void hp_loop_pass(struct hp_loop_model *m, uint64_t insns)
{
    m->backlog = m->backlog > insns ? m->backlog - insns : 0;
}

#endif
