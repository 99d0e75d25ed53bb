// SPDX-License-Identifier: MIT
/*
 * The fetch phase (rules 4, 5 and 13).
 */
#include "machine/pipe/pipe_impl.h"
#include "machine/pipe/power.h"

/* --- The right path --------------------------------------------------------------------------- */

static bool is_empty(const struct hp_pipe *p)
{
    return p->head == p->tail;
}

/* Whether fetch is at a break and the code before it has not retired. */
static bool at_break(struct hp_pipe *p)
{
    return p->fed_index == 0 && fed_at(p, p->fed_at)->flags & FED_BREAK && !is_empty(p);
}

/* Whether the right path is known as far as this cycle can fetch it (rule 2). */
static bool is_known(struct hp_pipe *p)
{
    if (p->fed_at == p->fed_tail)
        return p->break_next && !is_empty(p);
    if (p->fed_insns - fed_at(p, p->fed_at)->before - p->fed_index >= p->width)
        return true;
    if (p->break_next || at_break(p))
        return true;
    for (uint64_t at = p->fed_at + 1; at != p->fed_tail; at++)
        if (fed_at(p, at)->flags & FED_BREAK)
            return true;
    return false;
}

/* Whether a handler runs now, in front of the next block: fetch goes on when it is done. */
static bool starts_handler(struct hp_pipe *p)
{
    struct pipe_fed *fed = fed_at(p, p->fed_at);
    if (p->fed_index || !fed->delay)
        return false;
    p->fetch.from = p->now + fed->delay;
    fed->delay = 0;
    p->moved = true;
    return true;
}

/* Whether nothing more of the right path can be fetched now. */
static bool at_end(struct hp_pipe *p)
{
    return p->fed_at == p->fed_tail || at_break(p) || starts_handler(p);
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Looks up a line; false: it is missing, and fetch waits for it. */
static bool look_up(struct hp_pipe *p, uint64_t line)
{
    struct hp_memory *memory = &p->core->memory;
    struct pipe_fetch *f = &p->fetch;
    uint32_t wait = 0;
    memory->cycle = p->now;
    if (p->power)
        hp_pipe_power_start(p);
    hp_memory_fetch(memory, line, f->looked);
    if (p->power)
        hp_pipe_power_end_fetch(p);
    f->looked = true;
    if (memory->fetch_level > f->code_from)
        f->code_from = memory->fetch_level;
    if (memory->fetch_missed) {
        f->events |= HP_TIMING_L1I;
        wait = p->level_latency[memory->fetch_level];
    }
    if (memory->fetch_page_missed) {
        f->events |= HP_TIMING_ITLB;
        wait += p->itlb_latency;
    }
    if (memory->fetch_page2_missed) {
        f->events |= HP_TIMING_TLB2;
        wait += p->tlb2_latency;
    }
    if (!wait)
        return true;
    f->from = p->now + wait;
    f->arrived = line;
    return false;
}

/* Reads the lines that the instruction still needs; false: fetch ends for this cycle. */
static bool read_lines(struct hp_pipe *p, const struct pipe_static *s, uint32_t *ports)
{
    struct pipe_fetch *f = &p->fetch;
    if (!f->begun) {
        f->begun = true;
        f->line = s->line;
        f->looked = false;
        f->events = 0;
        f->code_from = HP_FROM_NOWHERE;
        if (p->power)
            hp_pipe_power_begin(p);
    }
    while (f->line <= s->line + s->crosses) {
        uint64_t line = f->line;
        if (f->last_cycle == p->now && f->last_line == line) {
            f->line++;
            continue;
        }
        if (*ports == p->code_ports)
            return false;
        ++*ports;
        if (p->power)
            hp_pipe_power_read(p);
        f->last_cycle = p->now;
        f->last_line = line;
        f->line++;
        p->moved = true;
        if (line != p->core->memory.last_fetched && !look_up(p, line))
            return false;
    }
    return true;
}

/* Whether the instruction needs no further line: the common case. */
static inline bool is_read(const struct hp_pipe *p, const struct pipe_static *s)
{
    const struct pipe_fetch *f = &p->fetch;
    return f->last_line == s->line && f->last_cycle == p->now && !f->begun && !s->crosses;
}

/* --- One instruction -------------------------------------------------------------------------- */

static inline void set_right(struct hp_pipe *p, struct pipe_insn *insn, const struct pipe_fed *fed)
{
    const struct pipe_shape *shape = &insn->shape;
    insn->fed = p->fed_at;
    insn->index = p->fed_index;
    insn->shape.flags |= INSN_RIGHT;
    if (shape->n_mems) {
        struct pipe_note *note = &p->notes[insn->insn];
        for (unsigned i = 0; i < shape->n_mems && shape->first_mem + i < fed->n_addresses; i++) {
            uint64_t at = fed->addresses + shape->first_mem + i;
            insn->address[i] = note->address[i] = p->addresses[at & (p->cap_addresses - 1)];
            note->known |= (uint8_t)(1u << i);
            insn->known |= (uint8_t)(1u << i);
        }
    }
    p->fetch_measured = fed->flags & FED_MEASURED;
    if (p->fed_index == 0)
        hp_program_reach(p->program, fed->piece);
    if (p->fed_index + 1 < fed->n)
        return;
    insn->shape.flags |= INSN_LAST;
    if (shape->static_flags & HP_STATIC_TRANSFER && p->config.queue >= 0)
        insn->cost = fed->cost;
}

static void set_wrong(struct hp_pipe *p, struct pipe_insn *insn)
{
    if (!insn->shape.n_mems)
        return;
    const struct pipe_note *note = &p->notes[insn->insn];
    insn->known = note->known;
    insn->address[0] = note->address[0];
    insn->address[1] = note->address[1];
}

static inline void set_timing(struct hp_pipe *p, struct hp_timing *t, uint32_t id, uint32_t slot)
{
    *t = (struct hp_timing){
        .fetched = p->now,
        .mapped = HP_NEVER,
        .ready = HP_NEVER,
        .issued = HP_NEVER,
        .done = HP_NEVER,
        .left = HP_NEVER,
        .loaded = HP_NEVER,
        .waited = HP_NEVER,
        .insn = id,
        .producer = HP_NO_ID,
        .history = p->history,
        .slot = (uint8_t)slot,
        .unit = HP_UNITS,
    };
}

static inline void set_flight(struct pipe_insn *insn, struct hp_timing *t, uint32_t id,
                              const struct pipe_shape *shape)
{
    insn->timing = t;
    insn->shape = *shape;
    insn->done = PIPE_NEVER;
    insn->complete = insn->loaded = 0;
    insn->address[0] = insn->address[1] = 0;
    insn->unissued = shape->n_uops;
    insn->unloaded = shape->n_loads;
    insn->last = insn->known = 0;
    insn->insn = id;
    insn->cost = 0;
}

/* --- Transfers -------------------------------------------------------------------------------- */

static void ask(struct hp_pipe *p, struct pipe_fed *fed, const struct hp_static *s)
{
    struct hp_transfer transfer = {.pc = s->address >> p->pc_bits,
                                   .target = fed->next,
                                   .end = s->end,
                                   .direct = s->target,
                                   .flow = s->flow,
                                   .conditional = s->flags & HP_STATIC_CONDITIONAL,
                                   .backward = s->flags & HP_STATIC_BACKWARD,
                                   .taken = fed->flags & FED_TAKEN};
    fed->forecast = hp_branches_predict(&p->core->branches, &transfer);
    fed->flags |= FED_ASKED;
    p->events.count[HP_METRIC_MISPREDICTIONS] += fed->forecast.wrong;
}

/* Of the right path, whose outcome is known; false: fetch ends for this cycle. */
static bool follow(struct hp_pipe *p, struct pipe_fed *fed, const struct hp_static *s,
                   struct hp_timing *t)
{
    bool taken = fed->flags & FED_TAKEN;
    if (!(fed->flags & FED_ASKED))
        ask(p, fed, s);
    const struct hp_forecast *said = &fed->forecast;
    if (taken)
        t->events |= HP_TIMING_TAKEN;
    if (said->btb_missed)
        t->events |= HP_TIMING_BTB;
    if (s->flags & HP_STATIC_CONDITIONAL)
        p->history = p->history << 1 | said->taken;
    if (said->wrong) {
        t->events |= HP_TIMING_MISPREDICTED;
        p->unresolved = p->tail - 1;
        p->resolved_in = PIPE_NEVER;
        hp_pipe_wrong_start(p, said->next);
    } else if (said->taken && said->btb_missed) {
        p->fetch.from = p->now + 2;
    }
    return !said->taken;
}

static bool is_indirect(const struct pipe_shape *shape)
{
    return shape->flow == HP_FLOW_JUMP_IND || shape->flow == HP_FLOW_CALL_IND ||
           shape->flow == HP_FLOW_RETURN;
}

/* After the last instruction of a block; false: fetch ends for this cycle. */
static bool end_block(struct hp_pipe *p, struct pipe_fed *fed, const struct pipe_insn *insn)
{
    const struct pipe_shape *shape = &insn->shape;
    struct hp_timing *t = insn->timing;
    p->fed_index = 0;
    p->fed_at++;
    if (!(shape->static_flags & HP_STATIC_TRANSFER))
        return true;
    if (!(fed->flags & FED_TAIL)) {
        if (fed->flags & FED_TAKEN && !shape->n_mems && is_indirect(shape))
            t->address = fed->next;
        return follow(p, fed, &p->insns[insn->insn], t);
    }
    if (shape->static_flags & HP_STATIC_CONDITIONAL)
        p->history <<= 1;
    return true;
}

static bool go_on_wrong(struct hp_pipe *p, const struct pipe_insn *insn)
{
    bool taken = hp_pipe_wrong_next(p, &p->insns[insn->insn]);
    if (!taken)
        return true;
    insn->timing->events |= HP_TIMING_TAKEN;
    if (!insn->shape.n_mems && is_indirect(&insn->shape))
        insn->timing->address = p->wrong.at;
    return false;
}

/* --- The phase -------------------------------------------------------------------------------- */

/* Events of fetch itself. */
static inline void note_fetch(struct hp_pipe *p, struct hp_timing *t, bool read)
{
    if (read) {
        t->events = p->fetch.events;
        t->code_from = p->fetch.code_from;
        p->fetch.begun = false;
    }
    if (p->fetch_measured) {
        t->events |= HP_TIMING_MEASURED;
        if (!p->last_measured && p->timings_tail > 1)
            t->events |= HP_TIMING_WINDOW;
    }
    p->last_measured = p->fetch_measured;
}

/* The instruction's place in flight, and its timing. */
static inline struct pipe_insn *enter(struct hp_pipe *p, uint32_t id, const struct pipe_static *s,
                                      uint32_t slot)
{
    if (p->power)
        hp_pipe_power_fetched(p);
    struct hp_timing *t = &p->timings[p->timings_tail++ & (p->cap_timings - 1)];
    struct pipe_insn *insn = insn_at(p, p->tail++);
    set_timing(p, t, id, slot);
    set_flight(insn, t, id, &s->shape);
    return insn;
}

static inline bool lines_are_there(struct hp_pipe *p, const struct pipe_static *s, uint32_t *ports,
                                   bool *read)
{
    *read = !is_read(p, s);
    if (*read)
        return read_lines(p, s, ports);
    if (p->power)
        hp_pipe_power_begin(p);
    return true;
}

/* Fetches the rest of the current block, from slot `*slot` to `end`; false: fetch ends for this
 * cycle. */
static bool fetch_block(struct hp_pipe *p, uint32_t *slot, uint32_t end, uint32_t *ports)
{
    struct pipe_fed *fed = fed_at(p, p->fed_at);
    while (*slot < end) {
        uint32_t id = fed->first + p->fed_index;
        const struct pipe_static *s = &p->statics[id];
        bool read;
        if (!lines_are_there(p, s, ports, &read))
            return false;
        struct pipe_insn *insn = enter(p, id, s, (*slot)++);
        set_right(p, insn, fed);
        insn->timing->address = insn->address[0];
        note_fetch(p, insn->timing, read);
        if (++p->fed_index == fed->n)
            return end_block(p, fed, insn);
    }
    return true;
}

/* The same of a wrong path, one instruction. */
static bool fetch_wrong(struct hp_pipe *p, uint32_t *slot, uint32_t *ports)
{
    uint32_t id = hp_pipe_wrong_insn(p);
    if (id == HP_NO_ID)
        return false;
    const struct pipe_static *s = &p->statics[id];
    bool read;
    if (!lines_are_there(p, s, ports, &read))
        return false;
    struct pipe_insn *insn = enter(p, id, s, (*slot)++);
    set_wrong(p, insn);
    insn->timing->address = insn->address[0];
    note_fetch(p, insn->timing, read);
    return go_on_wrong(p, insn);
}

/* The number of lines read in this cycle: one that was waited for arrives. */
static uint32_t lines_read(struct hp_pipe *p)
{
    struct pipe_fetch *f = &p->fetch;
    if (f->arrived == PIPE_NEVER || p->now != f->from)
        return 0;
    f->last_line = f->arrived;
    f->last_cycle = p->now;
    f->arrived = PIPE_NEVER;
    p->moved = true; /* a port may be free for its next line in the next cycle */
    return 1;
}

bool hp_pipe_fetch(struct hp_pipe *p)
{
    if (!p->wrong.on && !is_known(p))
        return false;
    if (p->now < p->fetch.from || !hp_pipe_timing_room(p))
        return true;
    uint64_t before = p->tail;
    uint32_t ports = lines_read(p), slot = 0, end = p->fetch_queue - n_queued(p);
    if (end > p->width)
        end = p->width;
    while (slot < end)
        if (p->wrong.on ? !fetch_wrong(p, &slot, &ports)
                        : at_end(p) || !fetch_block(p, &slot, end, &ports))
            break;
    p->stats.fetched += p->tail - before;
    p->moved |= p->tail != before;
    return true;
}
