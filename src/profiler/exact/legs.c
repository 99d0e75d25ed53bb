// SPDX-License-Identifier: MIT
#include "profiler/exact/legs.h"

#include "base/grow.h"
#include "profiler/exact/excursions.h"
#include "profiler/exact/loops.h"

/* Events that there is room for: what operations enter, headers that they reach, and some more for
 * blocks that contain headers. */
#define EVENTS(n_ops) (2u * (n_ops) + 1)

/* --- Dividing runs ---------------------------------------------------------------------------- */

static bool stays(const struct hp_exact_op *op)
{
    return op->does == HP_DOES_FOLLOW || op->does == HP_DOES_NOTHING || op->does == HP_DOES_STAY;
}

/* The leg that begins with the first of `n` operations. */
static struct hp_leg find_leg(const struct hp_exact_op *ops, uint32_t n)
{
    struct hp_leg leg = {.context = HP_NO_ID};
    uint32_t i = 0;
    while (i < n && (stays(&ops[i]) || ops[i].length)) {
        leg.calls |= ops[i].length != 0;
        i += ops[i].length ? ops[i].length : 1;
    }
    leg.n_ops = (uint8_t)i;
    leg.more = i < n;
    return leg;
}

static bool make_room(struct hp_exact_thread *t, uint32_t n)
{
    struct hp_exact_loop_thread *l = t->loops;
    return t->n_ops + n <= HP_WATCH_MAX && l->n_legs + n + 1 <= HP_WATCH_MAX &&
           hp_grow(&t->ops, &t->cap_ops, t->n_ops + n, sizeof *t->ops) == HP_OK &&
           hp_grow(&l->events, &l->cap_events, l->n_events + EVENTS((size_t)n) + n,
                   sizeof *l->events) == HP_OK &&
           hp_grow(&l->legs, &l->cap_legs, l->n_legs + n + 1, sizeof *l->legs) == HP_OK;
}

void hp_legs_keep(struct hp_exact_thread *t, uint32_t unit, struct hp_exact_op *ops, uint32_t n,
                  uint32_t last)
{
    struct hp_exact_loop_thread *l = t->loops;
    struct hp_exact_cell *cell = &t->cells[unit];
    uint32_t n_blocks, first = 0, head = cell->watch & HP_WATCH_HEAD;
    cell->watch |= last;
    hp_code_unit(t->exact->code, unit, &n_blocks);
    hp_excursions_find(ops, n);
    if (!make_room(t, n))
        return;
    cell->watch = head | last | (n ? HP_WATCH_INNER | (uint32_t)l->n_legs << 2 : 0);
    for (uint32_t i = 0; n;) {
        struct hp_leg leg = find_leg(ops + i, n - i);
        leg.unit = unit;
        leg.op = (uint32_t)t->n_ops + i;
        leg.event = (uint32_t)l->n_events;
        l->n_events += EVENTS((size_t)leg.n_ops);
        leg.first = (uint8_t)first;
        i += leg.n_ops;
        leg.end = leg.more ? (uint8_t)(ops[i].at + 1) : (uint8_t)n_blocks;
        first = leg.end;
        i += leg.more;
        l->legs[l->n_legs++] = leg;
        if (!leg.more)
            break;
    }
    for (uint32_t i = 0; i < n; i++)
        t->ops[t->n_ops++] = ops[i];
}

/* --- What they mean for loops ----------------------------------------------------------------- */

/* Whether what an operation enters is known well enough: it was entered before, and is of another
 * function of the graph if a jump enters it. */
static bool is_known(const struct hp_exact_thread *t, const struct hp_exact_op *op)
{
    const struct hp_loop_node *nodes = t->loops->all->graph.nodes;
    if (op->does == HP_DOES_RETURN)
        return true;
    if (op->does != HP_DOES_CALL && op->does != HP_DOES_TAIL)
        return false;
    return t->loops->arrivals[op->to].root != 0 && op->entered != HP_NO_ID &&
           op->left != HP_NO_ID &&
           (op->does == HP_DOES_CALL ||
            nodes[nodes[op->from].last].function != nodes[op->to].function);
}

static void work_out_op(const struct hp_exact_thread *t, struct hp_exact_op *op)
{
    op->left = (uint32_t)(t->loops->exits[op->from] >> 32);
    op->entered = (uint32_t)(t->loops->exits[op->to] >> 32);
    op->matters = hp_exact_loops_matter(t->loops, op->to);
    op->known = is_known(t, op);
}

struct work {
    const struct hp_exact_thread *t;
    struct hp_leg *leg;
    struct hp_leg_event events[EVENTS(HP_RUN_MAX)];
    uint32_t frame_of[EVENTS(HP_RUN_MAX)];  /* by event */
    uint32_t entered[HP_RUN_MAX];           /* functions of the graph */
    uint32_t sites[HP_RUN_MAX], depth;      /* of the frames above the leg's */
    uint32_t ids[HP_RUN_MAX + 1], n_frames; /* by depth: unique; 0: the leg's own */
    bool tails[HP_RUN_MAX];
    uint32_t n_events, n_entered;
    bool good;
};

/* The block runs in the frame at the top, as a header of `loop`. */
static void meet(struct work *w, uint32_t loop, bool back)
{
    uint32_t frame = w->ids[w->depth], i = w->n_events;
    while (i > 0 && w->events[i - 1].loop != loop)
        i--;
    if (i > 0 && w->frame_of[i - 1] != frame && (frame == 0 || w->frame_of[i - 1] == 0))
        w->good = false; /* recursion */
    if (i > 0 && w->frame_of[i - 1] == frame && back) {
        w->events[i - 1].n++;
        return;
    }
    if (frame && back)
        return; /* belongs to no execution */
    if (w->n_events + w->n_entered == EVENTS(w->leg->n_ops)) {
        w->good = false;
        return;
    }
    w->frame_of[w->n_events] = frame;
    w->events[w->n_events++] = (struct hp_leg_event){.loop = loop,
                                                     .kind = frame  ? HP_LEG_GONE
                                                             : back ? HP_LEG_GOES_ON
                                                                    : HP_LEG_STARTS,
                                                     .n = 1};
}

/* As hp_exact_loops_arrive(). */
static void arrive(struct work *w, uint64_t from, uint32_t to)
{
    const struct hp_loop_graph *g = &w->t->loops->all->graph;
    const struct hp_loop_arrival *a = &g->arrivals[to];
    if (a->loop == HP_LOOP_UNSEEN) {
        w->good = false;
        return;
    }
    if (a->loop)
        meet(w, a->loop - 1, hp_loop_spans(&g->loops[a->loop - 1], from));
    while (a->more && w->good) {
        uint32_t via = a->via;
        a = &g->arrivals[a->more - 1];
        meet(w, a->loop - 1, hp_loop_has(g, &g->loops[a->loop - 1], via));
    }
}

static uint32_t function_of(const struct work *w, uint32_t block)
{
    return (uint32_t)(w->t->loops->exits[block] >> 32);
}

static void stay(struct work *w, const struct hp_exact_op *op)
{
    w->good &=
        !w->t->exact->spots[op->from].odd && function_of(w, op->from) == function_of(w, op->to);
    if (op->does == HP_DOES_STAY && w->depth == 0) {
        w->good &= w->leg->function == HP_NO_ID || w->leg->function == op->function;
        w->leg->function = op->function;
    }
}

static void enter(struct work *w, const struct hp_exact_op *op)
{
    uint32_t i = 0;
    w->good &= op->known;
    while (i < w->n_entered && w->entered[i] != op->entered)
        i++;
    if (i == w->n_entered)
        w->entered[w->n_entered++] = op->entered;
    w->good &= w->n_events + w->n_entered <= EVENTS(w->leg->n_ops);
    w->tails[w->depth] = op->does == HP_DOES_TAIL;
    w->sites[w->depth++] = op->from;
    for (i = 0; i < w->depth; i++)
        w->good &= function_of(w, w->sites[i]) != op->entered; /* recursion */
    w->ids[w->depth] = ++w->n_frames;
}

/* Returns the block from which the frame was left that goes on now. */
static uint32_t go_back(struct work *w, const struct hp_exact_op *op)
{
    while (w->tails[w->depth - 1])
        w->depth--;
    uint32_t site = w->sites[--w->depth];
    w->good &= w->t->loops->sites[site].to == op->to;
    return site;
}

static void follow(struct work *w, const struct hp_exact_op *op)
{
    const uint64_t *exits = w->t->loops->exits;
    switch (op->does) {
    case HP_DOES_CALL:
    case HP_DOES_TAIL:
        enter(w, op);
        arrive(w, HP_LOOP_NOWHERE, op->to);
        break;
    case HP_DOES_RETURN: arrive(w, exits[go_back(w, op)], op->to); break;
    case HP_DOES_NOTHING:
    case HP_DOES_STAY: stay(w, op); /* fall through */
    default: arrive(w, exits[op->from], op->to);
    }
}

/* Stores what was worked out. */
static void keep(const struct work *w)
{
    struct hp_leg *leg = w->leg;
    struct hp_leg_event *to = w->t->loops->events + leg->event;
    for (uint32_t i = 0; i < w->n_entered; i++)
        *to++ = (struct hp_leg_event){.loop = w->entered[i], .kind = HP_LEG_ENTERS};
    for (uint32_t i = 0; i < w->n_events; i++)
        *to++ = w->events[i];
    if (w->n_events)
        leg->one = w->events[0];
    leg->n_entered = (uint8_t)w->n_entered;
    leg->n_events = (uint8_t)w->n_events;
}

void hp_legs_work_out(struct hp_exact_thread *t, struct hp_leg *leg)
{
    struct work w;
    w.t = t;
    w.leg = leg;
    w.depth = w.n_frames = w.n_events = w.n_entered = w.ids[0] = 0;
    w.good = true;
    leg->version = t->loops->version;
    leg->function = HP_NO_ID;
    for (uint32_t i = 0; i < leg->n_ops && w.good; i++) {
        work_out_op(t, &t->ops[leg->op + i]);
        follow(&w, &t->ops[leg->op + i]);
    }
    if (leg->more)
        work_out_op(t, &t->ops[leg->op + leg->n_ops]);
    leg->shown = !w.good;
    leg->plain = w.good && !leg->calls && leg->function == HP_NO_ID;
    if (w.good)
        keep(&w);
}

/* --- Counting them ---------------------------------------------------------------------------- */

bool hp_leg_key(uint32_t leg, uint32_t context, uint32_t cover, uint64_t *key)
{
    *key = (uint64_t)leg << 37 | (uint64_t)cover << 20 | context;
    return leg <= HP_WATCH_MAX && cover <= HP_COVERS_MAX && context <= HP_LEG_ANYWHERE;
}

struct settling {
    struct hp_exact_thread *t;
    uint64_t count;
    uint32_t cover;
    struct {
        uint32_t site, insns;
        bool is_tail;
    } frames[HP_RUN_MAX];
    uint32_t depth;
};

static void add(struct hp_exact_thread *t, struct hp_counters *counters, uint64_t key, uint64_t n)
{
    if (hp_counters_add(counters, key, n) != HP_OK)
        t->exact->out_of_memory = true;
}

static void settle_return(struct settling *s, uint32_t insns)
{
    struct hp_exact_loop_thread *l = s->t->loops;
    bool is_tail = true;
    while (is_tail) {
        is_tail = s->frames[--s->depth].is_tail;
        uint32_t site = s->frames[s->depth].site;
        uint64_t spent = s->count * (insns - s->frames[s->depth].insns);
        l->sites[site].inclusive += spent;
        if (!is_tail)
            l->sites[site].count += s->count;
        if (s->depth == 0 && s->cover)
            add(s->t, &l->covered_calls, (uint64_t)s->cover << 32 | site, spent);
    }
}

/* The leg's own frame ran these blocks of the run. */
static void settle_blocks(struct settling *s, uint32_t unit, uint32_t first, uint32_t end)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(s->t->exact->code, unit, &n);
    for (uint32_t i = first; i < end && s->depth == 0 && s->cover; i++)
        add(s->t, &s->t->loops->covered,
            (uint64_t)s->cover << 32 | s->t->exact->spots[blocks[i]].unit, s->count);
}

static void settle_leg(struct hp_exact_thread *t, const struct hp_leg *leg, uint32_t cover,
                       uint64_t count)
{
    struct settling s = {.t = t, .count = count, .cover = cover, .depth = 0};
    uint32_t first = leg->first;
    for (uint32_t i = 0; i < leg->n_ops; i++) {
        const struct hp_exact_op *op = &t->ops[leg->op + i];
        settle_blocks(&s, leg->unit, first, op->at + 1u);
        first = op->at + 1u;
        if (op->does == HP_DOES_CALL || op->does == HP_DOES_TAIL) {
            s.frames[s.depth].site = op->from;
            s.frames[s.depth].insns = op->insns;
            s.frames[s.depth++].is_tail = op->does == HP_DOES_TAIL;
        } else if (op->does == HP_DOES_RETURN) {
            settle_return(&s, op->insns);
        }
    }
    settle_blocks(&s, leg->unit, first, leg->end);
}

void hp_legs_add(struct hp_exact_thread *t, uint64_t key)
{
    settle_leg(t, &t->loops->legs[key >> 37], (uint32_t)(key >> 20 & 0x1ffff), 1);
}

void hp_legs_remember(struct hp_exact_thread *t, uint64_t key, uint32_t counter)
{
    struct hp_leg *leg = &t->loops->legs[key >> 37];
    leg->context = (uint32_t)(key & HP_LEG_ANYWHERE);
    leg->cover = (uint32_t)(key >> 20 & 0x1ffff);
    leg->counter = counter;
}

void hp_legs_settle(struct hp_exact_thread *t)
{
    const struct hp_excursions *e = &t->excursions;
    for (size_t i = 0; e->of.slots && i <= e->of.mask; i++) {
        uint64_t key = e->of.slots[i].key;
        uint32_t index = e->of.slots[i].value;
        if (index >= HP_EXCURSION_SHOWN || e->counts[index] == 0)
            continue;
        settle_leg(t, &t->loops->legs[key >> 37], (uint32_t)(key >> 20 & 0x1ffff),
                   e->counts[index]);
    }
}
