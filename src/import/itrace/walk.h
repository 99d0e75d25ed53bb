// SPDX-License-Identifier: MIT
/*
 * The way of a thread through the code, as the packets of a buffer say it. Blocks become words when
 * packets show that they ran to their end.
 *
 * What is done for each block is inline: it is most of the time that an import takes.
 */
#ifndef HP_IMPORT_ITRACE_WALK_H
#define HP_IMPORT_ITRACE_WALK_H

#include "import/itrace/threads.h"

#define HP_ITRACE_STACK   64   /* calls that a processor remembers, at most */
#define HP_ITRACE_THROUGH 1024 /* blocks that no packet shows, one after the other, at most */

/* What is the same for all kinds of packets; a buffer that is read begins with it. */
struct hp_itrace_walk {
    struct hp_itrace_code *code;
    struct hp_itrace_threads *threads;
    uint32_t task;                   /* that runs; HP_NO_ID: nobody knows */
    struct hp_itrace_thread *thread; /* that it is; NULL: it has not run yet */
    int32_t cpu;                     /* whose buffer it is; -1: a thread's, `task` */
    uint32_t slice, next_slice;      /* that the processor runs, the next; HP_NO_ID: none */
    uint64_t ns;                     /* the time; 0: not known */
    uint64_t order;                  /* the place of what comes next among other buffers */
    bool holds;                      /* it enters user code then, and has not yet */
    bool ended;
    unsigned top, depth, most; /* of the stack; what fits */
    uint64_t stack[HP_ITRACE_STACK];
    enum hp_err failure;
};

static inline bool hp_walk_ok(struct hp_itrace_walk *w, enum hp_err err)
{
    if (err != HP_OK && w->failure == HP_OK)
        w->failure = err;
    return err == HP_OK;
}

/* The block has run to its end: it makes the run longer, or begins another one. */
static inline bool hp_walk_emit(struct hp_itrace_walk *w, struct hp_itrace_node *node)
{
    struct hp_itrace_threads *ts = w->threads;
    struct hp_itrace_thread *t = w->thread;
    struct hp_itrace_run *run = t->run;
    if (run && t->way >= 0) {
        struct hp_itrace_run *longer = hp_itrace_code_run(w->code, run, node, t->way);
        if (longer) {
            t->run = longer;
            return true;
        }
    }
    if (run)
        ts->words[ts->n_words++] = run->segment;
    t->run = &node->run;
    return ts->n_words < HP_ITRACE_WORDS || hp_walk_ok(w, hp_itrace_threads_flush(ts));
}

/* Goes to another node; false: there is no memory left. */
static inline bool hp_walk_go(struct hp_itrace_walk *w, struct hp_itrace_node **node, bool taken)
{
    struct hp_itrace_node *next = hp_itrace_code_next(w->code, *node, taken);
    if (!next)
        return hp_walk_ok(w, hp_fail_nomem());
    *node = next;
    w->thread->way = taken;
    return true;
}

static inline void hp_walk_push(struct hp_itrace_walk *w, uint64_t return_to)
{
    w->top = (w->top + 1) % w->most;
    w->stack[w->top] = return_to;
    w->depth += w->depth < w->most;
}

/* Through a block that leads to one place; false: there is no memory left. */
static inline bool hp_walk_pass(struct hp_itrace_walk *w, struct hp_itrace_node **node)
{
    if (!hp_walk_emit(w, *node))
        return false;
    if ((*node)->calls)
        hp_walk_push(w, (*node)->end);
    return hp_walk_go(w, node, true);
}

/* To where the last call would return to; false: none is known, or there is no memory left. */
bool hp_walk_pop(struct hp_itrace_walk *walk, struct hp_itrace_node **node);

/* Goes on to what needs a packet; false: it never comes. */
bool hp_walk_forward(struct hp_itrace_walk *walk);

/* To the block in which an instruction is, without a packet; false: the code does not lead there.
 */
bool hp_walk_forward_to(struct hp_itrace_walk *walk, uint64_t address);

/* An indirect transfer or a return leads to an address. */
void hp_walk_transfer(struct hp_itrace_walk *walk, uint64_t address);

/* The thread is at an address, whatever was before. */
void hp_walk_arrive(struct hp_itrace_walk *walk, uint64_t address);

/* What the packets say cannot be followed any more: counts that; or as what it is at this place. */
void hp_walk_lose(struct hp_itrace_walk *walk, uint64_t *count);
void hp_walk_lose_place(struct hp_itrace_walk *walk);

/* What was before is not known, as something is missing. Nothing is counted. */
void hp_walk_forget(struct hp_itrace_walk *walk);

/* User code is left before an instruction. It is left by the instruction at the end of the node. */
void hp_walk_interrupt(struct hp_itrace_walk *walk, uint64_t address);
void hp_walk_leave(struct hp_itrace_walk *walk);

/* User code is entered. */
void hp_walk_enter(struct hp_itrace_walk *walk, uint64_t address);

/* The thread that runs, if it is known which. It begins when it first runs. */
bool hp_walk_has_thread(struct hp_itrace_walk *walk);

/* From here on a task runs: HP_NO_ID: nobody knows which. */
void hp_walk_set_task(struct hp_itrace_walk *walk, uint32_t task);
/* That which runs on the processor now, as the file says; does nothing for a thread's buffer. */
void hp_walk_find_task(struct hp_itrace_walk *walk);

/* Whether an address is one of the kernel. */
static inline bool hp_walk_is_kernel(uint64_t address)
{
    return address >> 63;
}

#endif
