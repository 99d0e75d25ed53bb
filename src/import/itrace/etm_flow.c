// SPDX-License-Identifier: MIT
/*
 * From the elements of a trace of Arm ETM and the code to the words of a thread.
 *
 * Each transfer of the code has an outcome (an atom), indirect ones are followed by an address,
 * unless it is that of the return stack. An exception says before which instruction the code was
 * left: so a system call is one behind its instruction.
 */
#include "base/base.h"
#include "import/itrace/etm_packets.h"
#include "import/itrace/kind.h"

#define RETURNS 16 /* that processors remember, at most */

/* A buffer that is read. */
struct hp_etm_flow {
    struct hp_itrace_walk walk; /* first */
    struct hp_etm_packets packets;
    bool user;        /* user code runs */
    bool privileged;  /* as the context says, it is not that */
    bool foreign;     /* it is of another kind */
    bool is_indirect; /* the node was left by an indirect transfer whose address comes next */
    bool has_id;      /* of the thread */
    bool forgets;     /* the return stack is empty, at the next address */
    uint32_t id;
    uint16_t inside;            /* outcomes in the node that are used */
    uint64_t ticks;             /* the time */
    struct hp_etm_element held; /* it is read, and not taken: it enters user code */
};

static void lose(struct hp_etm_flow *f, uint64_t *count)
{
    hp_walk_lose(&f->walk, count);
    f->is_indirect = false;
}

static void lose_place(struct hp_etm_flow *f)
{
    hp_walk_lose_place(&f->walk);
    f->is_indirect = false;
}

/* The thread that is followed; NULL: there is none, or nobody knows where it is. */
static struct hp_itrace_thread *followed(const struct hp_etm_flow *f)
{
    struct hp_itrace_thread *t = f->walk.thread;
    return f->user && t && t->state == HP_ITRACE_RUNS ? t : NULL;
}

/* --- Outcomes --------------------------------------------------------------------------------- */

/* The address of an indirect transfer is that of the return stack; false: that cannot be. */
static bool take_return(struct hp_etm_flow *f)
{
    struct hp_itrace_walk *w = &f->walk;
    bool stacked = f->packets.cpu->registers[HP_PERF_ETM_CONFIG] & HP_PERF_ETM_CONFIG_RETURNS;
    f->is_indirect = false;
    return stacked && hp_walk_pop(w, &w->thread->node);
}

/* The node is left by an indirect transfer. */
static bool leave_by_address(struct hp_etm_flow *f, struct hp_itrace_node *node)
{
    if (!hp_walk_emit(&f->walk, node))
        return false;
    if (node->calls)
        hp_walk_push(&f->walk, node->end);
    f->is_indirect = true;
    return true;
}

/* Uses an outcome that is the last one of the node; false: that does not fit. */
static inline bool take_outcome(struct hp_etm_flow *f, struct hp_itrace_node **node, bool taken)
{
    struct hp_itrace_walk *w = &f->walk;
    switch ((enum hp_itrace_node_kind)(*node)->kind) {
    case HP_NODE_BRANCH: return hp_walk_emit(w, *node) && hp_walk_go(w, node, taken);
    case HP_NODE_JUMP: return taken && hp_walk_pass(w, node);
    case HP_NODE_RETURN:
    case HP_NODE_INDIRECT: return taken && leave_by_address(f, *node);
    default: return false;
    }
}

/* What is no direct branch, or has outcomes inside: goes on with the node, and uses the outcome or
 * not; false: it does not fit. */
static bool take_special(struct hp_etm_flow *f, bool taken, bool *used)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_node **node = &w->thread->node;
    *used = false;
    if (f->is_indirect)
        return take_return(f);
    if ((*node)->inside > f->inside) {
        f->inside++;
        *used = true;
        return taken;
    }
    f->inside = 0;
    if ((*node)->kind == HP_NODE_THROUGH)
        return hp_walk_pass(w, node);
    *used = true;
    return take_outcome(f, node, taken);
}

static void take_atoms(struct hp_etm_flow *f, uint32_t bits, unsigned n)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_thread *t = followed(f);
    if (!t)
        return;
    struct hp_itrace_node *node = t->node;
    w->threads->counts.outcomes += n;
    for (unsigned through = 0; n > 0;) {
        bool taken = bits & 1, used = true, good;
        if (node->kind == HP_NODE_BRANCH && !node->inside) {
            good = hp_walk_emit(w, node) && hp_walk_go(w, &node, taken);
        } else if (node->kind == HP_NODE_JUMP && !node->inside && taken) {
            good = hp_walk_pass(w, &node);
        } else {
            t->node = node;
            good = take_special(f, taken, &used) && through < HP_ITRACE_THROUGH;
            node = t->node;
        }
        if (!good) {
            t->node = node;
            lose_place(f);
            return;
        }
        through = used ? 0 : through + 1;
        bits >>= used;
        n -= used;
    }
    t->node = node;
}

/* The next transfer that is taken is at an address: branches before it were not taken. */
static void take_source(struct hp_etm_flow *f, uint64_t address)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_thread *t = followed(f);
    if (!t)
        return;
    w->threads->counts.outcomes++;
    bool good = !f->is_indirect || take_return(f);
    f->inside = 0;
    for (unsigned n = 0; good && t->node->last != address; n++)
        good = n < HP_ITRACE_THROUGH &&
               (t->node->kind == HP_NODE_BRANCH || t->node->kind == HP_NODE_THROUGH) &&
               hp_walk_emit(w, t->node) && hp_walk_go(w, &t->node, false);
    if (!good || !take_outcome(f, &t->node, true))
        lose_place(f);
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* Whether an element enters user code. */
static bool enters(const struct hp_etm_flow *f, const struct hp_etm_element *e)
{
    return !f->user && !f->privileged && !hp_walk_is_kernel(e->address) &&
           (e->kind == HP_ETM_ADDRESS || e->kind == HP_ETM_EXCEPTION);
}

/* Who runs: the packets have the id of the thread, or the file says it. */
static enum hp_err find_task(struct hp_etm_flow *f)
{
    struct hp_itrace_walk *w = &f->walk;
    uint32_t task = HP_NO_ID;
    if (w->cpu < 0)
        return HP_OK;
    if (!f->has_id) {
        hp_walk_find_task(w);
        return HP_OK;
    }
    if (f->id)
        HP_TRY(hp_itrace_sides_task(w->threads->sides, 0, (int32_t)f->id, &task));
    hp_walk_set_task(w, task);
    return HP_OK;
}

static void enter(struct hp_etm_flow *f, uint64_t address)
{
    struct hp_itrace_walk *w = &f->walk;
    f->user = true;
    f->is_indirect = f->forgets = false;
    f->inside = 0;
    w->depth = 0;
    hp_walk_ok(w, find_task(f));
    if (!hp_walk_has_thread(w))
        w->threads->counts.unattributed++;
    else if (f->foreign)
        lose(f, &w->threads->counts.unknown);
    else
        hp_walk_enter(w, address);
}

/* Where the code is, or an indirect transfer leads. */
static void take_place(struct hp_etm_flow *f, uint64_t address)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_thread *t = w->thread;
    if (!t || f->foreign)
        return;
    if (f->forgets)
        w->depth = 0;
    f->forgets = false;
    if (t->state == HP_ITRACE_RUNS && f->is_indirect) {
        w->threads->counts.transfers++;
        hp_walk_transfer(w, address);
        f->inside = 0;
    } else if (t->state == HP_ITRACE_RUNS && !hp_walk_forward_to(w, address)) {
        lose_place(f);
    }
    f->is_indirect = false;
    if (t->state != HP_ITRACE_RUNS) {
        hp_walk_arrive(w, address);
        f->inside = 0;
    }
}

static void take_address(struct hp_etm_flow *f, const struct hp_etm_element *e)
{
    bool user = !f->privileged && !hp_walk_is_kernel(e->address);
    if (!f->user && user)
        enter(f, e->address);
    else if (user)
        take_place(f, e->address);
    else
        f->user = false;
}

/* Goes on to the system call that is before an address; false: there is none. */
static bool is_call(struct hp_etm_flow *f, uint64_t address)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_thread *t = w->thread;
    for (unsigned n = 0; n < HP_ITRACE_THROUGH && t->state == HP_ITRACE_RUNS; n++) {
        if (t->node->kind == HP_NODE_SYSCALL)
            return address == t->node->end;
        bool is_inside = address >= t->node->start && address < t->node->end;
        if (t->node->kind != HP_NODE_THROUGH || is_inside || !hp_walk_pass(w, &t->node))
            return false;
        f->inside = 0;
    }
    return false;
}

static void take_exception(struct hp_etm_flow *f, const struct hp_etm_element *e)
{
    struct hp_itrace_walk *w = &f->walk;
    bool user = !hp_walk_is_kernel(e->address) && !f->privileged;
    if (user && (!f->user || e->arrives))
        take_address(f, e);
    f->user = false;
    if (!user || !w->thread || f->foreign)
        return;
    if (w->thread->state == HP_ITRACE_RUNS && f->is_indirect && !take_return(f))
        lose_place(f);
    f->is_indirect = false;
    if (is_call(f, e->address))
        hp_walk_leave(w);
    else
        hp_walk_interrupt(w, e->address);
}

/* --- Elements --------------------------------------------------------------------------------- */

static void take_context(struct hp_etm_flow *f, const struct hp_etm_element *e)
{
    f->privileged = !e->user;
    f->foreign = !e->is_64;
    f->has_id = e->has_id;
    f->id = e->id;
}

/* What was before is not known. */
static void take_gap(struct hp_etm_flow *f, uint64_t *count)
{
    if (count)
        ++*count;
    hp_walk_forget(&f->walk);
    f->user = f->is_indirect = false;
}

static void take_element(struct hp_etm_flow *f, const struct hp_etm_element *e)
{
    struct hp_itrace_counts *counts = &f->walk.threads->counts;
    switch ((enum hp_etm_kind)e->kind) {
    case HP_ETM_ATOMS: take_atoms(f, e->bits, e->n); break;
    case HP_ETM_ADDRESS: take_address(f, e); break;
    case HP_ETM_EXCEPTION: take_exception(f, e); break;
    case HP_ETM_SOURCE: take_source(f, e->address); break;
    case HP_ETM_UNKNOWN:
        if (followed(f))
            lose(f, &counts->unfitting);
        break;
    case HP_ETM_CONTEXT: take_context(f, e); break;
    case HP_ETM_ON: f->user = false; break;
    case HP_ETM_SYNC: f->forgets = true; break;
    case HP_ETM_TIME: f->ticks = e->address; break;
    case HP_ETM_OVERFLOW: take_gap(f, &counts->overflows); break;
    case HP_ETM_GAP: take_gap(f, &counts->gaps); break;
    case HP_ETM_LOSS: take_gap(f, NULL); break;
    case HP_ETM_NOTHING:
    case HP_ETM_END: break;
    }
}

/* When user code is entered. The packet that says that comes behind it. */
static void find_time(struct hp_etm_flow *f)
{
    struct hp_itrace_walk *w = &f->walk;
    const struct hp_etm *etm = f->packets.etm;
    uint64_t ahead = hp_etm_packets_ahead(&f->packets);
    f->ticks = ahead ? ahead : f->ticks;
    w->order = f->ticks < UINT64_MAX ? f->ticks : UINT64_MAX - 1;
    w->ns = etm->knows_time ? hp_aux_ns(f->ticks, etm->shift, etm->multiplier, etm->zero) : 0;
}

static enum hp_err run_etm(struct hp_itrace_walk *w, uint64_t until)
{
    struct hp_etm_flow *f = (struct hp_etm_flow *)w;
    while (w->failure == HP_OK && !w->ended) {
        const struct hp_etm_element *e = &f->held;
        if (!w->holds)
            e = hp_etm_packets_next(&f->packets);
        if (e->kind == HP_ETM_END) {
            w->ended = true;
            break;
        }
        if (!w->holds && enters(f, e)) {
            f->held = *e;
            e = &f->held;
            find_time(f);
            w->holds = w->order >= until;
            if (w->holds)
                return HP_OK;
        }
        w->holds = false;
        take_element(f, e);
    }
    return f->packets.no_memory ? hp_fail_nomem() : w->failure;
}

/* --- Buffers ---------------------------------------------------------------------------------- */

static enum hp_err begin_etm(const struct hp_itrace_recording *recording,
                             struct hp_itrace_code *code, void **state)
{
    struct hp_etm *etm = NULL;
    enum hp_err err =
        hp_etm_new(recording->reader, hp_perf_aux(recording->reader), recording->sides, &etm);
    *state = etm;
    if (err == HP_OK)
        code->waits = etm->cpus->registers[HP_PERF_ETM_ID2] >> 31 & 1;
    return err;
}

static void end_etm(void *state)
{
    hp_etm_free(state);
}

static enum hp_err open_buffer(const struct hp_etm *etm, const struct hp_itrace_source *source,
                               struct hp_itrace_buffer *buffer)
{
    return hp_itrace_buffer_open(etm->reader, source->pieces, source->n_pieces, source->stops,
                                 source->n_stops, buffer);
}

static enum hp_err find_parts(void *state, const struct hp_itrace_source *source, uint32_t *parts,
                              size_t *n)
{
    struct hp_itrace_buffer buffer;
    HP_TRY(open_buffer(state, source, &buffer));
    *n = hp_etm_ids(state, &buffer, source->stops, source->n_stops, parts);
    hp_itrace_buffer_close(&buffer);
    return HP_OK;
}

static void close_etm(struct hp_itrace_walk *walk)
{
    hp_etm_packets_close(&((struct hp_etm_flow *)walk)->packets);
    free(walk);
}

static enum hp_err open_etm(void *state, const struct hp_itrace_source *source, uint32_t part,
                            struct hp_itrace_walk **walk)
{
    struct hp_itrace_buffer buffer;
    struct hp_etm_flow *f;
    HP_TRY(hp_new(&f, 1, sizeof *f));
    *f = (struct hp_etm_flow){.walk = {.most = RETURNS}};
    enum hp_err err = open_buffer(state, source, &buffer);
    if (err == HP_OK)
        err =
            hp_etm_packets_open(state, &buffer, source->stops, source->n_stops, part, &f->packets);
    if (err != HP_OK)
        close_etm(&f->walk);
    else
        *walk = &f->walk;
    return err;
}

const struct hp_itrace_kind hp_itrace_etm = {
    .name = "Arm ETM",
    .type = HP_PERF_AUXTRACE_ARM_ETM,
    .arch = HP_ARCH_AARCH64,
    .begins = true,
    .begin = begin_etm,
    .end = end_etm,
    .parts = find_parts,
    .open = open_etm,
    .close = close_etm,
    .run = run_etm,
};
