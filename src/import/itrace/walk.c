// SPDX-License-Identifier: MIT
#include "import/itrace/walk.h"

#include "base/base.h"

void hp_walk_lose(struct hp_itrace_walk *w, uint64_t *count)
{
    if (w->thread->state != HP_ITRACE_LOST)
        ++*count;
    bool unknown = count == &w->threads->counts.unknown;
    hp_walk_ok(w, hp_itrace_thread_lose(w->threads, w->thread,
                                        unknown ? HP_LOST_UNKNOWN : HP_LOST_RECORD));
    w->depth = 0;
}

void hp_walk_lose_place(struct hp_itrace_walk *w)
{
    bool unknown = w->thread->node->kind == HP_NODE_UNKNOWN;
    hp_walk_lose(w, unknown ? &w->threads->counts.unknown : &w->threads->counts.unfitting);
}

void hp_walk_forget(struct hp_itrace_walk *w)
{
    if (w->thread)
        hp_walk_ok(w, hp_itrace_thread_lose(w->threads, w->thread, HP_LOST_RECORD));
    w->depth = 0;
}

void hp_walk_arrive(struct hp_itrace_walk *w, uint64_t address)
{
    bool runs = w->thread->state != HP_ITRACE_LOST;
    hp_walk_ok(w, hp_itrace_thread_arrive(w->threads, w->thread, address));
    w->threads->counts.unknown += runs && w->thread->state == HP_ITRACE_LOST;
    if (w->thread->state == HP_ITRACE_LOST)
        w->depth = 0;
}

/* --- Through the code ------------------------------------------------------------------------- */

bool hp_walk_pop(struct hp_itrace_walk *w, struct hp_itrace_node **node)
{
    struct hp_itrace_node *next = NULL;
    if (!w->depth)
        return false;
    uint64_t to = w->stack[w->top];
    w->top = (w->top + w->most - 1) % w->most;
    w->depth--;
    struct hp_itrace_node *known = (*node)->next[1];
    next = known && known->start == to ? known : hp_itrace_code_at(w->code, (*node)->view, to);
    if (!next)
        return hp_walk_ok(w, hp_fail_nomem());
    (*node)->next[1] = next; /* where it went last */
    *node = next;
    w->thread->way = -1;
    return true;
}

bool hp_walk_forward(struct hp_itrace_walk *w)
{
    struct hp_itrace_node *node = w->thread->node;
    unsigned n = 0;
    while (node->kind == HP_NODE_THROUGH && n++ < HP_ITRACE_THROUGH)
        if (!hp_walk_pass(w, &node))
            return false;
    w->thread->node = node;
    return node->kind != HP_NODE_THROUGH;
}

bool hp_walk_forward_to(struct hp_itrace_walk *w, uint64_t address)
{
    struct hp_itrace_node *node = w->thread->node;
    uint32_t before;
    for (unsigned n = 0; address < node->start || address >= node->end; n++) {
        if (node->kind != HP_NODE_THROUGH || n >= HP_ITRACE_THROUGH || !hp_walk_pass(w, &node))
            return false;
        w->thread->node = node;
    }
    return address == node->start || address == node->last ||
           hp_itrace_code_before(w->code, node, address, &before);
}

void hp_walk_transfer(struct hp_itrace_walk *w, uint64_t address)
{
    struct hp_itrace_thread *t = w->thread;
    struct hp_itrace_node *from = t->node, *known = from->next[1];
    if (known && known->start == address && known->kind) {
        t->node = known;
        t->way = -1;
        return;
    }
    hp_walk_arrive(w, address);
    if (t->state == HP_ITRACE_RUNS)
        from->next[1] = t->node; /* where it went last */
}

/* --- Out of the code, and into it ------------------------------------------------------------- */

void hp_walk_interrupt(struct hp_itrace_walk *w, uint64_t address)
{
    struct hp_itrace_thread *t = w->thread;
    if (t->state == HP_ITRACE_RUNS && !hp_walk_forward_to(w, address))
        hp_walk_lose_place(w);
    if (t->state == HP_ITRACE_LOST) {
        hp_walk_arrive(w, address);
        if (t->state == HP_ITRACE_LOST)
            return;
    }
    t->state = HP_ITRACE_OUT;
    t->after_call = t->sigreturn = false;
    t->resume = address;
}

void hp_walk_leave(struct hp_itrace_walk *w)
{
    struct hp_itrace_thread *t = w->thread;
    if (t->state != HP_ITRACE_RUNS)
        return;
    if (!hp_walk_forward(w) || t->node->kind == HP_NODE_UNKNOWN || t->node->kind == HP_NODE_TRAP) {
        hp_walk_lose_place(w);
        return;
    }
    hp_walk_emit(w, t->node);
    t->state = HP_ITRACE_OUT;
    t->after_call = true;
    t->sigreturn = t->node->sigreturn;
    t->resume = t->node->kind == HP_NODE_SYSCALL ? t->node->end : 0;
}

void hp_walk_enter(struct hp_itrace_walk *w, uint64_t address)
{
    hp_walk_ok(w, hp_itrace_thread_enter(w->threads, &w->thread, address, w->ns));
}

/* --- Who runs --------------------------------------------------------------------------------- */

bool hp_walk_has_thread(struct hp_itrace_walk *w)
{
    if (!w->thread && w->task != HP_NO_ID)
        hp_walk_ok(w, hp_itrace_threads_get(w->threads, w->task, &w->thread));
    return w->thread;
}

void hp_walk_set_task(struct hp_itrace_walk *w, uint32_t task)
{
    w->task = task;
    w->thread = task == HP_NO_ID ? NULL : w->threads->sides->tasks[task].thread;
}

void hp_walk_find_task(struct hp_itrace_walk *w)
{
    const struct hp_itrace_slice *slices = w->threads->sides->slices;
    if (w->cpu < 0)
        return;
    while (w->next_slice != HP_NO_ID && slices[w->next_slice].time <= w->ns) {
        w->slice = w->next_slice;
        w->next_slice = slices[w->slice].next;
    }
    hp_walk_set_task(w, w->slice == HP_NO_ID ? HP_NO_ID : slices[w->slice].task);
}
