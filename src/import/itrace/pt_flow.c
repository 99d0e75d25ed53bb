// SPDX-License-Identifier: MIT
/*
 * From the packets of a buffer and the code to the words of a thread.
 *
 * Packets say what the code does not: outcomes of branches, targets of indirect transfers, and
 * where user code was left and entered. Blocks become words when a packet shows that they ran to
 * their end.
 */
#include "base/base.h"
#include "import/itrace/kind.h"
#include "import/itrace/pt_packets.h"

/* A buffer that is read. */
struct hp_pt_flow {
    struct hp_itrace_walk walk; /* first */
    struct hp_pt_packets packets;
    uint64_t bits; /* outcomes that are not used yet, the oldest highest */
    unsigned n_bits;
    bool enabled, in_sync, foreign, overflowed;
    bool aborts;   /* the next transfer is that of a transaction */
    bool skips_at; /* the next HP_PT_AT is no transfer */
    bool has_at;   /* the next transfer comes from: */
    uint64_t at;
    struct hp_pt_packet held; /* a packet that is read, and not taken: it enters user code */
};

/* What the packets say cannot be followed any more. */
static void lose(struct hp_pt_flow *f, uint64_t *count)
{
    hp_walk_lose(&f->walk, count);
    f->n_bits = 0;
}

static void lose_place(struct hp_pt_flow *f)
{
    hp_walk_lose_place(&f->walk);
    f->n_bits = 0;
}

static void arrive(struct hp_pt_flow *f, uint64_t address)
{
    hp_walk_arrive(&f->walk, address);
    if (f->walk.thread->state == HP_ITRACE_LOST)
        f->n_bits = 0;
}

/* Uses the outcomes as far as they go: an indirect transfer waits for its target. */
static void take_outcomes(struct hp_pt_flow *f)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_node *node = w->thread->node;
    unsigned through = 0;
    while (f->n_bits) {
        bool bit = f->bits >> (f->n_bits - 1) & 1, good;
        switch ((enum hp_itrace_node_kind)node->kind) {
        case HP_NODE_BRANCH:
            f->n_bits--;
            through = 0;
            good = hp_walk_emit(w, node) && hp_walk_go(w, &node, bit);
            break;
        case HP_NODE_RETURN: /* its target is that of its call */
            f->n_bits--;
            through = 0;
            good = bit && w->depth && hp_walk_emit(w, node) && hp_walk_pop(w, &node);
            break;
        case HP_NODE_THROUGH: good = through++ < HP_ITRACE_THROUGH && hp_walk_pass(w, &node); break;
        case HP_NODE_INDIRECT: w->thread->node = node; return;
        default: good = false; break;
        }
        if (!good) {
            w->thread->node = node;
            lose_place(f);
            return;
        }
    }
    w->thread->node = node;
}

static void add_outcomes(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    if (!f->walk.thread || f->walk.thread->state != HP_ITRACE_RUNS)
        return;
    if (f->n_bits + packet->n_outcomes > 64) {
        lose(f, &f->walk.threads->counts.unfitting);
        return;
    }
    f->bits = f->bits << packet->n_outcomes | packet->outcomes;
    f->n_bits += packet->n_outcomes;
    f->walk.threads->counts.outcomes += packet->n_outcomes;
    take_outcomes(f);
}

/* --- Transfers -------------------------------------------------------------------------------- */

/* User code is left before an instruction. */
static void interrupt(struct hp_pt_flow *f, uint64_t address)
{
    if (f->walk.thread->state == HP_ITRACE_RUNS && f->n_bits)
        lose_place(f);
    hp_walk_interrupt(&f->walk, address);
    f->n_bits = 0;
}

/* It is left by an instruction. */
static void leave(struct hp_pt_flow *f)
{
    if (f->walk.thread->state == HP_ITRACE_RUNS && f->n_bits)
        lose_place(f);
    hp_walk_leave(&f->walk);
    f->n_bits = 0;
}

/* An indirect transfer, or a return. */
static void transfer(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    struct hp_itrace_walk *w = &f->walk;
    struct hp_itrace_thread *t = w->thread;
    if (t->state == HP_ITRACE_RUNS) {
        bool fits = hp_walk_forward(w) && (t->node->kind == HP_NODE_INDIRECT ||
                                           (t->node->kind == HP_NODE_RETURN && !f->n_bits));
        if (!fits) {
            lose_place(f);
        } else {
            hp_walk_emit(w, t->node);
            if (t->node->calls)
                hp_walk_push(w, t->node->end);
        }
    }
    if (!packet->has_ip) {
        lose(f, &w->threads->counts.unknown);
        return;
    }
    if (t->state == HP_ITRACE_RUNS)
        hp_walk_transfer(w, packet->ip);
    else
        hp_walk_arrive(w, packet->ip);
    if (t->state == HP_ITRACE_LOST)
        f->n_bits = 0;
    if (f->n_bits)
        take_outcomes(f);
}

static void enter(struct hp_pt_flow *f, uint64_t address)
{
    f->n_bits = 0;
    hp_walk_enter(&f->walk, address);
}

/* --- Packets ---------------------------------------------------------------------------------- */

/* Whether a packet enters user code. */
static bool enters(const struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    return packet->has_ip && !hp_walk_is_kernel(packet->ip) &&
           (packet->kind == HP_PT_ENTER || (packet->kind == HP_PT_TO && !f->enabled));
}

static void take_transfer(struct hp_pt_flow *f, const struct hp_pt_packet *packet)
{
    bool has_at = f->has_at, out = packet->kind == HP_PT_LEAVE || hp_walk_is_kernel(packet->ip);
    f->has_at = false;
    f->overflowed = false;
    if (enters(f, packet)) {
        f->enabled = true;
        hp_walk_find_task(&f->walk);
        if (!hp_walk_has_thread(&f->walk))
            f->walk.threads->counts.unattributed++;
        else if (f->foreign)
            lose(f, &f->walk.threads->counts.unknown);
        else
            enter(f, packet->ip);
        return;
    }
    if (!f->enabled || packet->kind == HP_PT_ENTER)
        return;
    f->enabled = !out;
    if (!f->walk.thread)
        return;
    f->walk.threads->counts.transfers++;
    if (f->aborts)
        lose(f, &f->walk.threads->counts.gaps);
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
    if (!packet->has_ip || hp_walk_is_kernel(packet->ip))
        return;
    if (!f->in_sync && !f->overflowed) {
        f->has_at = true;
        f->at = packet->ip;
        return;
    }
    if (!f->enabled)
        hp_walk_find_task(&f->walk);
    f->enabled = true;
    f->overflowed = false;
    if (!hp_walk_has_thread(&f->walk) || f->foreign)
        return;
    if (f->walk.thread->state != HP_ITRACE_RUNS)
        enter(f, packet->ip);
    else if (f->n_bits || !hp_walk_forward_to(&f->walk, packet->ip)) /* the code is not what ran */
        lose_place(f);
    if (f->walk.thread->state == HP_ITRACE_LOST)
        arrive(f, packet->ip);
}

/* What was before is not known. */
static void take_gap(struct hp_pt_flow *f, uint64_t *count)
{
    ++*count;
    hp_walk_find_task(&f->walk);
    hp_walk_forget(&f->walk);
    f->n_bits = 0;
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
        f->walk.depth = 0; /* a processor forgets its calls */
        break;
    case HP_PT_OVERFLOW:
        take_gap(f, &f->walk.threads->counts.overflows);
        f->overflowed = true;
        break;
    case HP_PT_GAP: take_gap(f, &f->walk.threads->counts.gaps); break;
    case HP_PT_STOP:
        if (f->walk.thread && f->walk.thread->state == HP_ITRACE_OUT)
            f->walk.thread->resume = 0;
        f->enabled = false;
        break;
    case HP_PT_MODE: f->foreign = !packet->is_64; break;
    case HP_PT_AT_IS_NO_TRANSFER: f->skips_at = !f->in_sync; break;
    case HP_PT_ABORT: f->aborts = !f->in_sync; break;
    case HP_PT_TIME:
    case HP_PT_END: break;
    }
}

static enum hp_err run_pt(struct hp_itrace_walk *w, uint64_t until)
{
    struct hp_pt_flow *f = (struct hp_pt_flow *)w;
    while (w->failure == HP_OK && !w->ended) {
        if (!w->holds)
            hp_pt_packets_next(&f->packets, &f->held);
        w->ns = f->packets.ns;
        w->order = w->ns < UINT64_MAX ? w->ns : UINT64_MAX - 1;
        w->holds = w->order >= until && enters(f, &f->held);
        if (w->holds)
            return HP_OK;
        if (f->held.kind == HP_PT_END)
            w->ended = true;
        else
            take_packet(f, &f->held);
    }
    return f->packets.no_memory ? hp_fail_nomem() : w->failure;
}

/* --- Buffers ---------------------------------------------------------------------------------- */

/* What is the same for all of them. */
struct pt {
    const struct hp_perf_reader *reader;
    struct hp_pt_clock clock;
};

/* The event's configuration. */
static uint64_t config_of(const struct hp_perf_reader *reader, const struct hp_aux *aux)
{
    const struct hp_perf_attrs *attrs = hp_perf_attrs(reader);
    for (size_t i = 0; i < attrs->n; i++)
        if (attrs->all[i].type == aux->info[HP_PERF_PT_PMU_TYPE])
            return attrs->all[i].config;
    return 0;
}

static enum hp_err begin_pt(const struct hp_itrace_recording *recording,
                            struct hp_itrace_code *code, void **state)
{
    const struct hp_aux *aux = hp_perf_aux(recording->reader);
    struct pt *pt;
    (void)code;
    HP_TRY(hp_new(&pt, 1, sizeof *pt));
    *pt = (struct pt){recording->reader, hp_pt_clock_of(aux, config_of(recording->reader, aux))};
    *state = pt;
    return HP_OK;
}

static void close_pt(struct hp_itrace_walk *walk)
{
    hp_pt_packets_close(&((struct hp_pt_flow *)walk)->packets);
    free(walk);
}

static enum hp_err open_pt(void *state, const struct hp_itrace_source *source, uint32_t part,
                           struct hp_itrace_walk **walk)
{
    const struct pt *pt = state;
    struct hp_itrace_buffer buffer;
    struct hp_pt_flow *f;
    (void)part;
    HP_TRY(hp_new(&f, 1, sizeof *f));
    *f = (struct hp_pt_flow){.walk = {.most = HP_ITRACE_STACK}};
    enum hp_err err = hp_itrace_buffer_open(pt->reader, source->pieces, source->n_pieces,
                                            source->stops, source->n_stops, &buffer);
    if (err != HP_OK) {
        free(f);
        return err;
    }
    hp_pt_packets_open(&buffer, &pt->clock, &f->packets);
    *walk = &f->walk;
    return HP_OK;
}

const struct hp_itrace_kind hp_itrace_pt = {
    .name = "Intel PT",
    .type = HP_PERF_AUXTRACE_INTEL_PT,
    .arch = HP_ARCH_X86_64,
    .begin = begin_pt,
    .end = free,
    .open = open_pt,
    .close = close_pt,
    .run = run_pt,
};
