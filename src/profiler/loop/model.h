// SPDX-License-Identifier: MIT
/*
 * Inside the loop models: what all kinds have in common, and how they are fed.
 *
 * A model is fed with *chunks*: an array of short backward branches of one thread, with what lies
 * between them (instructions, for the FIFO; the depth of calls) computed beforehand. Depths are
 * relative to the start of the chunk, so a chunk does not depend on the state of a model.
 */
#ifndef HP_PROFILER_LOOP_MODEL_H
#define HP_PROFILER_LOOP_MODEL_H

#include "base/map64.h"
#include "base/settings.h"
#include "hotpath/code.h"
#include "hotpath/loop.h"

/* --- Input of the models ---------------------------------------------------------------------- */

/* A short backward branch of the code. */
struct hp_sbb {
    uint64_t address, target;
    uint32_t tag;    /* a small number for the address: of the first branch with it */
    uint32_t offset; /* bytes */
    uint32_t block;  /* that it ends */
    uint32_t next;   /* another one with this address (code that changed); HP_NO_ID: none */
};

/*
 * A branch taken `times` in a row. `first` instructions lie between it and the previous event,
 * itself included; `rest` between the repetitions, in total. These are either all equal or each at
 * least as many as any model needs for a branch. Between repetitions the depth was never lower or
 * higher than here.
 */
struct hp_sbb_event {
    uint32_t sbb; /* index */
    uint32_t times;
    uint32_t first, rest;
    int32_t depth; /* at the branch, from the start of the chunk */
    int32_t low;   /* the lowest since the previous event */
};

struct hp_sbb_chunk {
    const struct hp_sbb *sbbs;
    const struct hp_sbb_event *events;
    size_t n;
    uint64_t insns; /* after the last event */
    int32_t depth;  /* at the end */
    int32_t low;    /* the lowest since the last event */
};

/* Whether a taken branch is a short backward one: by its decoded flow a direct jump, neither call
 * nor return. */
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
    uint64_t average;    /* fixed point; exact: iterations of the finished executions */
    uint64_t stamp;      /* when freshness was at its maximum, in executions begun */
    uint32_t tag, sbb;   /* of its branch */
    bool used;
};

/* A current execution. */
struct hp_loop_live {
    uint64_t address, target;
    uint64_t current;
    uint32_t slot;
    int32_t depth;
};

/* The state of a thread; without `tasks` there is only one. */
struct hp_loop_task {
    struct hp_loop_live *live; /* by ascending depth; of a slot only the last counts, earlier ones
                                  are saved by recursion */
    size_t n_live;
    size_t aside;  /* how many are saved */
    int64_t depth; /* of calls, from an arbitrary origin */
    int64_t low;   /* the lowest since the last branch that went through the FIFO */
    int64_t floor; /* the lowest ever */
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
    uint64_t backlog; /* instructions until the profiler has emptied the FIFO */
    uint64_t begun;   /* executions */
    struct hp_loop_task **tasks;
    size_t n_tasks, cap_tasks;
    struct hp_map64 task_of;   /* thread -> task */
    struct hp_loop_task *task; /* the latest */
    bool out_of_memory;
    /* The slot of a tag, HP_NO_ID: none; NULL: it must be searched for. */
    uint32_t *slot_of;
    size_t cap_slot_of;
    struct hp_loop_ranges *ranges; /* HP_LOOP_RANGES: the whole model; see ranges.h */
};

extern const struct hp_loop_ops hp_loop_daprof, hp_loop_frequent;

#define HP_LOOP_FULL 0 /* ways of a preset that is fully associative, whatever its entries */
extern const struct hp_model hp_loop_daprof_model, hp_loop_frequent_model, hp_loop_ranges_model;

/* HP_ERR_INVALID. */
enum hp_err hp_loop_config_check(const struct hp_loop_config *config);

/* Fills in the widths of an architecture where they are unset. */
void hp_loop_config_widths(struct hp_loop_config *config, enum hp_arch arch);

/* Feeds the model a chunk of a thread. */
void hp_loop_model_consume(struct hp_loop_model *model, uint32_t thread,
                           const struct hp_sbb_chunk *chunk);

/* Tags are below `n`. After this the model is never fed by hp_loop_model_branch(). HP_ERR_NOMEM. */
enum hp_err hp_loop_model_tags(struct hp_loop_model *model, size_t n);

/* The slot as reported to users. */
struct hp_loop_entry hp_loop_model_entry(const struct hp_loop_model *model,
                                         const struct hp_loop_slot *slot);

/* Gives the slot to another branch. */
void hp_loop_model_take(struct hp_loop_model *model, uint32_t slot, const struct hp_sbb *sbb,
                        uint32_t index);

/* --- For the kinds ---------------------------------------------------------------------------- */

/* The first slot of the set. */
static inline uint32_t hp_loop_set(const struct hp_loop_model *m, uint64_t address)
{
    uint64_t index = address / (m->config.insn_bytes ? m->config.insn_bytes : 4);
    return (uint32_t)(index & m->set_mask) * m->config.ways;
}

/* HP_NO_ID: in no slot. */
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
 * has processed all it has; what waits, except the one in progress, is in the FIFO. So an arrival
 * finds it full when more time is left than its entries take.
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
        /* None comes too soon, so none is lost, and the backlog only shrinks. */
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
