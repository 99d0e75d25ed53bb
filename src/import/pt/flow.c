// SPDX-License-Identifier: MIT
#include "import/pt/flow.h"

#include "base/base.h"

#define MOST_THROUGH 1024 /* blocks that no packet shows, one after the other */

static bool ok(struct hp_pt_flow *f, enum hp_err err)
{
    if (err != HP_OK && f->failure == HP_OK)
        f->failure = err;
    return err == HP_OK;
}

/* The block has run to its end: it makes the run longer, or begins another one. */
static inline bool emit(struct hp_pt_flow *f, struct hp_pt_node *node)
{
    struct hp_pt_threads *ts = f->threads;
    struct hp_pt_thread *t = f->thread;
    struct hp_pt_run *run = t->run;
    if (run && t->way >= 0) {
        struct hp_pt_run *longer = hp_pt_code_run(f->code, run, node, t->way);
        if (longer) {
            t->run = longer;
            return true;
        }
    }
    if (run)
        ts->words[ts->n_words++] = run->segment;
    t->run = &node->run;
    return ts->n_words < HP_PT_WORDS || ok(f, hp_pt_threads_flush(ts));
}

/* What the packets say cannot be followed any more. */
static void lose(struct hp_pt_flow *f, uint64_t *count)
{
    if (f->thread->state != HP_PT_LOST)
        ++*count;
    bool unknown = count == &f->threads->counts.unknown;
    ok(f, hp_pt_thread_lose(f->threads, f->thread, unknown ? HP_LOST_UNKNOWN : HP_LOST_RECORD));
    f->n_bits = 0;
    f->depth = 0;
}

static void lose_place(struct hp_pt_flow *f)
{
    const struct hp_pt_node *node = f->thread->node;
    bool unknown = node->kind == HP_PT_UNKNOWN;
    lose(f, unknown ? &f->threads->counts.unknown : &f->threads->counts.unfitting);
}

static void arrive(struct hp_pt_flow *f, uint64_t address)
{
    bool runs = f->thread->state != HP_PT_LOST;
    ok(f, hp_pt_thread_arrive(f->threads, f->thread, address));
    f->threads->counts.unknown += runs && f->thread->state == HP_PT_LOST;
    if (f->thread->state == HP_PT_LOST)
        f->n_bits = f->depth = 0;
}

/* --- Through the code ------------------------------------------------------------------------- */

static void push(struct hp_pt_flow *f, uint64_t return_to)
{
    f->top = (f->top + 1) % HP_PT_STACK;
    f->stack[f->top] = return_to;
    f->depth += f->depth < HP_PT_STACK;
}

/* Goes to another node; false: there is no memory left. */
static bool go(struct hp_pt_flow *f, struct hp_pt_node **node, bool taken)
{
    struct hp_pt_node *next = hp_pt_code_next(f->code, *node, taken);
    if (!next)
        return ok(f, hp_fail_nomem());
    *node = next;
    f->thread->way = taken;
    return true;
}

static bool pass(struct hp_pt_flow *f, struct hp_pt_node **node)
{
    if (!emit(f, *node))
        return false;
    if ((*node)->calls)
        push(f, (*node)->end);
    return go(f, node, true);
}

/* Goes on to what needs a packet; false: it never comes. */
static bool forward(struct hp_pt_flow *f)
{
    struct hp_pt_node *node = f->thread->node;
    unsigned n = 0;
    while (node->kind == HP_PT_THROUGH && n++ < MOST_THROUGH)
        if (!pass(f, &node))
            return false;
    f->thread->node = node;
    return node->kind != HP_PT_THROUGH;
}

/* A return whose target is that of its call. */
static bool take_return(struct hp_pt_flow *f, struct hp_pt_node **node)
{
    struct hp_pt_node *next = NULL;
    if (!f->depth || !emit(f, *node))
        return false;
    uint64_t to = f->stack[f->top];
    f->top = (f->top + HP_PT_STACK - 1) % HP_PT_STACK;
    f->depth--;
    struct hp_pt_node *known = (*node)->next[1];
    next = known && known->start == to ? known : hp_pt_code_at(f->code, (*node)->view, to);
    if (!next)
        return ok(f, hp_fail_nomem());
    (*node)->next[1] = next; /* where it went last */
    *node = next;
    f->thread->way = -1;
    return true;
}

/* Uses the outcomes as far as they go: an indirect transfer waits for its target. */
static void take_outcomes(struct hp_pt_flow *f)
{
    struct hp_pt_node *node = f->thread->node;
    unsigned through = 0;
    while (f->n_bits) {
        bool bit = f->bits >> (f->n_bits - 1) & 1, good;
        switch ((enum hp_pt_node_kind)node->kind) {
        case HP_PT_BRANCH:
            f->n_bits--;
            through = 0;
            good = emit(f, node) && go(f, &node, bit);
            break;
        case HP_PT_RETURN:
            f->n_bits--;
            through = 0;
            good = bit && take_return(f, &node);
            break;
        case HP_PT_THROUGH: good = through++ < MOST_THROUGH && pass(f, &node); break;
        case HP_PT_INDIRECT: f->thread->node = node; return;
        default: good = false; break;
        }
        if (!good) {
            f->thread->node = node;
            lose_place(f);
            return;
        }
    }
    f->thread->node = node;
}

static void add_outcomes(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    if (!f->thread || f->thread->state != HP_PT_RUNS)
        return;
    if (f->n_bits + packet->n_outcomes > 64) {
        lose(f, &f->threads->counts.unfitting);
        return;
    }
    f->bits = f->bits << packet->n_outcomes | packet->outcomes;
    f->n_bits += packet->n_outcomes;
    f->threads->counts.outcomes += packet->n_outcomes;
    take_outcomes(f);
}

/* --- Transfers -------------------------------------------------------------------------------- */

static bool is_kernel(uint64_t address)
{
    return address >> 63;
}

/* To the block in which an instruction is, before which the code is left. */
static bool forward_to(struct hp_pt_flow *f, uint64_t address)
{
    struct hp_pt_node *node = f->thread->node;
    uint32_t before;
    for (unsigned n = 0; address < node->start || address >= node->end; n++) {
        if (node->kind != HP_PT_THROUGH || n >= MOST_THROUGH || !pass(f, &node))
            return false;
        f->thread->node = node;
    }
    return address == node->start || address == node->last ||
           hp_pt_code_before(f->code, node, address, &before);
}

/* User code is left before an instruction. */
static void interrupt(struct hp_pt_flow *f, uint64_t address)
{
    struct hp_pt_thread *t = f->thread;
    if (t->state == HP_PT_RUNS && (f->n_bits || !forward_to(f, address)))
        lose_place(f);
    if (t->state == HP_PT_LOST) {
        arrive(f, address);
        if (t->state == HP_PT_LOST)
            return;
    }
    t->state = HP_PT_OUT;
    t->after_call = t->sigreturn = false;
    t->resume = address;
}

/* It is left by an instruction. */
static void leave(struct hp_pt_flow *f)
{
    struct hp_pt_thread *t = f->thread;
    if (t->state != HP_PT_RUNS)
        return;
    if (f->n_bits || !forward(f) || t->node->kind == HP_PT_UNKNOWN || t->node->kind == HP_PT_TRAP) {
        lose_place(f);
        return;
    }
    emit(f, t->node);
    t->state = HP_PT_OUT;
    t->after_call = true;
    t->sigreturn = t->node->sigreturn;
    t->resume = t->node->kind == HP_PT_SYSCALL ? t->node->end : 0;
}

/* An indirect transfer, or a return. */
static void transfer(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    struct hp_pt_thread *t = f->thread;
    if (t->state == HP_PT_RUNS) {
        bool fits = forward(f) && (t->node->kind == HP_PT_INDIRECT ||
                                   (t->node->kind == HP_PT_RETURN && !f->n_bits));
        if (!fits) {
            lose_place(f);
        } else {
            emit(f, t->node);
            if (t->node->calls)
                push(f, t->node->end);
        }
    }
    if (!packet->has_ip) {
        lose(f, &f->threads->counts.unknown);
        return;
    }
    struct hp_pt_node *known = t->node ? t->node->next[1] : NULL;
    if (t->state == HP_PT_RUNS && known && known->start == packet->ip && known->kind) {
        t->node = known;
        t->way = -1;
    } else {
        struct hp_pt_node *from = t->state == HP_PT_RUNS ? t->node : NULL;
        arrive(f, packet->ip);
        if (from && t->state == HP_PT_RUNS)
            from->next[1] = t->node; /* where it went last */
    }
    if (f->n_bits)
        take_outcomes(f);
}

/* The thread that runs, if it is known which. It begins when it first runs. */
static bool has_thread(struct hp_pt_flow *f)
{
    if (!f->thread && f->task != HP_NO_ID)
        ok(f, hp_pt_threads_get(f->threads, f->task, &f->thread));
    return f->thread;
}

static void enter(struct hp_pt_flow *f, uint64_t address)
{
    f->n_bits = 0;
    ok(f, hp_pt_thread_enter(f->threads, &f->thread, address, f->packets.ns));
}

/* --- Packets ---------------------------------------------------------------------------------- */

/* Whether a packet enters user code. */
static bool enters(const struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    return packet->has_ip && !is_kernel(packet->ip) &&
           (packet->kind == HP_PT_ENTER || (packet->kind == HP_PT_TO && !f->enabled));
}

static void take_transfer(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    bool has_at = f->has_at, out = packet->kind == HP_PT_LEAVE || is_kernel(packet->ip);
    f->has_at = false;
    f->overflowed = false;
    if (enters(f, packet)) {
        f->enabled = true;
        if (!has_thread(f))
            f->threads->counts.unattributed++;
        else if (f->foreign)
            lose(f, &f->threads->counts.unknown);
        else
            enter(f, packet->ip);
        return;
    }
    if (!f->enabled || packet->kind == HP_PT_ENTER)
        return;
    f->enabled = !out;
    if (!f->thread)
        return;
    f->threads->counts.transfers++;
    if (f->aborts)
        lose(f, &f->threads->counts.gaps);
    if (has_at)
        interrupt(f, f->at);
    else if (out)
        leave(f);
    else
        transfer(f, packet);
    if (has_at && !out && packet->has_ip && f->aborts)
        arrive(f, packet->ip);
    else if (has_at && !out && packet->has_ip)
        enter(f, packet->ip);
    f->aborts = false;
}

/* Where the code is: at the beginning of reading, behind a loss, or before a transfer. */
static void take_at(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    if (f->skips_at) {
        f->skips_at = false;
        return;
    }
    if (!packet->has_ip || is_kernel(packet->ip))
        return;
    if (!f->in_sync && !f->overflowed) {
        f->has_at = true;
        f->at = packet->ip;
        return;
    }
    f->enabled = true;
    f->overflowed = false;
    if (!has_thread(f) || f->foreign)
        return;
    if (f->thread->state != HP_PT_RUNS)
        enter(f, packet->ip);
    else if (f->n_bits || !forward_to(f, packet->ip)) /* the code is not what ran */
        lose_place(f);
    if (f->thread->state == HP_PT_LOST)
        arrive(f, packet->ip);
}

/* What was before is not known. */
static void take_gap(struct hp_pt_flow *f, uint64_t *count)
{
    ++*count;
    if (f->thread)
        ok(f, hp_pt_thread_lose(f->threads, f->thread, HP_LOST_RECORD));
    f->n_bits = f->depth = 0;
    f->has_at = f->skips_at = f->aborts = false;
    f->enabled = false;
}

static void take_packet(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    switch (packet->kind) {
    case HP_PT_OUTCOMES:
        f->has_at = false;
        add_outcomes(f, packet);
        break;
    case HP_PT_TO:
    case HP_PT_ENTER:
    case HP_PT_LEAVE: take_transfer(f, packet); break;
    case HP_PT_AT: take_at(f, packet); break;
    case HP_PT_SYNC: f->in_sync = true; break;
    case HP_PT_SYNCED:
        f->in_sync = false;
        f->depth = 0; /* a processor forgets its calls */
        break;
    case HP_PT_OVERFLOW:
        take_gap(f, &f->threads->counts.overflows);
        f->overflowed = true;
        break;
    case HP_PT_GAP: take_gap(f, &f->threads->counts.gaps); break;
    case HP_PT_STOP:
        if (f->thread && f->thread->state == HP_PT_OUT)
            f->thread->resume = 0;
        f->enabled = false;
        break;
    case HP_PT_MODE: f->foreign = !packet->is_64; break;
    case HP_PT_AT_IS_NO_TRANSFER: f->skips_at = !f->in_sync; break;
    case HP_PT_ABORT: f->aborts = !f->in_sync; break;
    case HP_PT_TIME:
    case HP_PT_END: break;
    }
}

enum hp_err hp_pt_flow_run(struct hp_pt_flow *f, uint64_t until)
{
    while (f->failure == HP_OK && !f->ended) {
        if (!f->holds)
            hp_pt_packets_next(&f->packets, &f->held);
        f->holds = f->packets.ns >= until && enters(f, &f->held);
        if (f->holds)
            return HP_OK;
        if (f->held.kind == HP_PT_END)
            f->ended = true;
        else
            take_packet(f, &f->held);
    }
    return f->packets.no_memory ? hp_fail_nomem() : f->failure;
}
