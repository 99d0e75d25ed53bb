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

/* Whether fetch is at a break and what is before it has not retired. */
static bool at_break(struct hp_pipe *p)
{
    return p->fed_index == 0 && fed_at(p, p->fed_at)->flags & FED_BREAK && !is_empty(p);
}

/* Whether the right path is known as far as it can be fetched in this cycle (rule 2). */
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

static uint32_t right_insn(struct hp_pipe *p)
{
    if (p->fed_at == p->fed_tail || at_break(p))
        return HP_NO_ID;
    return fed_at(p, p->fed_at)->first + p->fed_index;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Looks a line up; false: it is missing, and fetch waits for it. */
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

/* Reads what the instruction needs and has not yet; false: fetch ends for this cycle. */
static bool read_lines(struct hp_pipe *p, const struct hp_static *s, uint32_t *ports)
{
    struct pipe_fetch *f = &p->fetch;
    uint64_t last = (s->end > s->address ? s->end - 1 : s->address) >> p->code_bits;
    if (!f->begun) {
        f->begun = true;
        f->line = s->address >> p->code_bits;
        f->looked = false;
        f->events = 0;
        f->code_from = HP_FROM_NOWHERE;
        if (p->power)
            hp_pipe_power_begin(p);
    }
    while (f->line <= last) {
        uint64_t line = f->line;
        if (f->last_cycle != p->now || f->last_line != line) {
            if (*ports == p->code_ports)
                return false;
            ++*ports;
            if (p->power)
                hp_pipe_power_read(p);
            f->last_cycle = p->now;
            f->last_line = line;
            p->moved = true;
            f->line++;
            if (line != p->core->memory.last_fetched && !look_up(p, line))
                return false;
        } else {
            f->line++;
        }
    }
    return true;
}

/* --- One instruction -------------------------------------------------------------------------- */

static void set_right(struct hp_pipe *p, struct pipe_insn *insn, const struct hp_static *s)
{
    struct pipe_fed *fed = fed_at(p, p->fed_at);
    struct pipe_note *note = &p->notes[insn->insn];
    insn->fed = p->fed_at;
    insn->index = p->fed_index;
    insn->flags |= INSN_RIGHT;
    for (unsigned i = 0; i < s->n_mems && s->first_mem + i < fed->n_addresses; i++) {
        uint64_t at = fed->addresses + s->first_mem + i;
        insn->address[i] = note->address[i] = p->addresses[at & (p->cap_addresses - 1)];
        note->known |= (uint8_t)(1u << i);
        insn->known |= (uint8_t)(1u << i);
    }
    if (p->fed_index == 0)
        hp_program_reach(p->program, fed->piece);
    if (p->fed_index + 1 == fed->n) {
        insn->flags |= INSN_LAST;
        if (s->flags & HP_STATIC_TRANSFER && p->config.queue >= 0)
            insn->cost = fed->cost;
    }
    p->fetch_measured = fed->flags & FED_MEASURED;
}

static void set_wrong(struct hp_pipe *p, struct pipe_insn *insn)
{
    const struct pipe_note *note = &p->notes[insn->insn];
    insn->known = note->known;
    insn->address[0] = note->address[0];
    insn->address[1] = note->address[1];
}

static bool has_branch_uop(const struct hp_pipe *p, const struct hp_static *s)
{
    return s->flags & HP_STATIC_TRANSFER && s->n_uops > s->n_loads &&
           p->uops[s->uops + s->n_loads].unit == HP_UNIT_BRANCH;
}

static void set_flight(struct hp_pipe *p, struct pipe_insn *insn, uint32_t id,
                       const struct hp_static *s)
{
    uint32_t places = (uint32_t)s->n_loads + s->n_stores;
    *insn = (struct pipe_insn){
        .done = PIPE_NEVER,
        .insn = id,
        .uops = s->uops,
        .timing = (uint32_t)p->timings_tail - 1,
        .n_uops = s->n_uops,
        .unissued = s->n_uops,
        .n_loads = s->n_loads,
        .n_stores = s->n_stores,
        .unloaded = s->n_loads,
        .places = (uint16_t)(places < p->memory_queue ? places : p->memory_queue),
        .ints = (uint16_t)(s->int_writes < p->int_registers ? s->int_writes : p->int_registers),
        .vecs = (uint16_t)(s->vec_writes < p->vec_registers ? s->vec_writes : p->vec_registers),
    };
    if (s->flags & HP_STATIC_FP && p->fp_queue)
        insn->flags |= INSN_FP;
    if (s->flags & HP_STATIC_SERIAL)
        insn->flags |= INSN_SERIAL;
    if (has_branch_uop(p, s))
        insn->flags |= INSN_BRANCH;
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

/* False: fetch ends for this cycle. */
static bool go_on_right(struct hp_pipe *p, const struct hp_static *s, struct hp_timing *t)
{
    struct pipe_fed *fed = fed_at(p, p->fed_at);
    if (++p->fed_index < fed->n)
        return true;
    p->fed_index = 0;
    p->fed_at++;
    if (!(s->flags & HP_STATIC_TRANSFER))
        return true;
    if (!(fed->flags & FED_TAIL))
        return follow(p, fed, s, t);
    if (s->flags & HP_STATIC_CONDITIONAL)
        p->history <<= 1;
    return true;
}

static bool is_indirect(const struct hp_static *s)
{
    return s->flow == HP_FLOW_JUMP_IND || s->flow == HP_FLOW_CALL_IND || s->flow == HP_FLOW_RETURN;
}

static bool go_on(struct hp_pipe *p, const struct hp_static *s, struct hp_timing *t)
{
    bool indirect = !s->n_mems && is_indirect(s);
    if (!p->wrong.on) {
        const struct pipe_fed *fed = fed_at(p, p->fed_at);
        bool known = fed->flags & FED_TAKEN && !(fed->flags & FED_TAIL);
        if (indirect && known && p->fed_index + 1 == fed->n)
            t->address = fed->next;
        return go_on_right(p, s, t);
    }
    bool taken = hp_pipe_wrong_next(p, s);
    if (taken)
        t->events |= HP_TIMING_TAKEN;
    if (taken && indirect)
        t->address = p->wrong.at;
    return !taken;
}

/* --- The phase -------------------------------------------------------------------------------- */

/* Fetches an instruction whose lines are there; false: fetch ends for this cycle. */
static bool fetch_one(struct hp_pipe *p, uint32_t id, const struct hp_static *s, uint32_t slot)
{
    struct hp_timing *t = hp_pipe_timing(p);
    if (!t)
        return false;
    struct pipe_insn *insn = insn_at(p, p->tail);
    set_flight(p, insn, id, s);
    if (p->wrong.on)
        set_wrong(p, insn);
    else
        set_right(p, insn, s);
    t->insn = id;
    t->slot = (uint8_t)slot;
    t->history = p->history;
    t->events = p->fetch.events;
    t->code_from = p->fetch.code_from;
    if (s->n_mems)
        t->address = insn->address[0];
    if (p->fetch_measured) {
        t->events |= HP_TIMING_MEASURED;
        if (!p->last_measured && p->stats.fetched)
            t->events |= HP_TIMING_WINDOW;
    }
    p->last_measured = p->fetch_measured;
    p->fetch.begun = false;
    if (p->power)
        hp_pipe_power_fetched(p);
    p->tail++;
    p->stats.fetched++;
    p->moved = true;
    return go_on(p, s, t);
}

/* How many lines have been read in this cycle: one that was waited for arrives. */
static uint32_t lines_read(struct hp_pipe *p)
{
    struct pipe_fetch *f = &p->fetch;
    bool arrives = f->arrived != PIPE_NEVER && p->now == f->from;
    if (arrives) {
        f->last_line = f->arrived;
        f->last_cycle = p->now;
        p->moved = true; /* there may be a port for its next line in the next cycle */
    }
    f->arrived = PIPE_NEVER;
    return arrives;
}

bool hp_pipe_fetch(struct hp_pipe *p)
{
    if (!p->wrong.on && !is_known(p))
        return false;
    if (p->now < p->fetch.from)
        return true;
    uint32_t ports = lines_read(p);
    for (uint32_t slot = 0; slot < p->width && n_queued(p) < p->fetch_queue; slot++) {
        uint32_t id = p->wrong.on ? hp_pipe_wrong_insn(p) : right_insn(p);
        if (id == HP_NO_ID)
            break;
        const struct hp_static *s = &p->insns[id];
        if (!read_lines(p, s, &ports) || !fetch_one(p, id, s, slot))
            break;
    }
    return true;
}
