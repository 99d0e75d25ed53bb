// SPDX-License-Identifier: MIT
/* The slow pipe's front end: rules 4, 5, 10 and 13. */
#include "pipe_reference_impl.h"

/* --- Lines of code ---------------------------------------------------------------------------- */

/* What was read in this cycle. */
struct reading {
    uint64_t reads;
    bool any;
    uint64_t last; /* line */
};

/* Reads a line for the current instruction; returns the cycles until it is there. */
static uint64_t read_line(struct pipe_reference *r, uint64_t line)
{
    struct hp_memory *memory = &r->core->memory;
    const struct hp_machine *m = r->machine;
    uint64_t wait = 0;
    if (line == memory->last_fetched)
        return 0;
    memory->cycle = r->cycle;
    hp_memory_fetch(memory, line, false);
    if (memory->fetch_level > r->lines.from)
        r->lines.from = memory->fetch_level;
    if (memory->fetch_level != HP_FROM_L1) {
        r->lines.events |= HP_TIMING_L1I;
        wait += level_latency(m, memory->fetch_level);
    }
    if (memory->fetch_page_missed) {
        r->lines.events |= HP_TIMING_ITLB;
        wait += m->itlb.latency;
        if (memory->fetch_page2_missed) {
            r->lines.events |= HP_TIMING_TLB2;
            wait += m->tlb2.latency;
        }
    }
    return wait;
}

/* Reads the lines that an instruction still needs. False: fetch stops for this cycle. */
static bool read_lines(struct pipe_reference *r, struct reading *reading,
                       const struct hp_static *insn)
{
    unsigned bits = r->core->memory.l1i.line_bits;
    if (!r->lines.begun)
        r->lines = (struct lines){.begun = true, .next = insn->address >> bits};
    while (r->lines.next <= (insn->end - 1) >> bits) {
        uint64_t line = r->lines.next;
        if (reading->any && reading->last == line) {
            r->lines.next++;
            continue;
        }
        if (reading->reads == r->machine->l1i.ports)
            return false;
        reading->reads++;
        reading->any = true;
        reading->last = line;
        r->lines.next++;
        uint64_t wait = read_line(r, line);
        if (wait) {
            r->lines.waiting = true;
            r->lines.arrives = r->cycle + wait;
            return false;
        }
    }
    return true;
}

/* --- The right path --------------------------------------------------------------------------- */

static uint64_t predictor_pc(const struct pipe_reference *r, uint64_t address)
{
    switch (hp_code_arch(hp_program_code(r->program))) {
    case HP_ARCH_AARCH64:
    case HP_ARCH_ALPHA: return address >> 2;
    case HP_ARCH_ARM:
    case HP_ARCH_RISCV64: return address >> 1;
    default: return address;
    }
}

static bool is_indirect(const struct hp_static *insn)
{
    return insn->flow == HP_FLOW_JUMP_IND || insn->flow == HP_FLOW_CALL_IND ||
           insn->flow == HP_FLOW_RETURN;
}

static void ask(struct pipe_reference *r, struct right *right, const struct hp_static *insn)
{
    struct hp_transfer transfer = {.pc = predictor_pc(r, insn->address),
                                   .target = right->next,
                                   .end = insn->end,
                                   .direct = insn->target,
                                   .flow = insn->flow,
                                   .conditional = insn->flags & HP_STATIC_CONDITIONAL,
                                   .backward = insn->flags & HP_STATIC_BACKWARD,
                                   .taken = right->taken};
    if (right->asked)
        return;
    right->asked = true;
    right->forecast = hp_branches_predict(&r->core->branches, &transfer);
}

static void start_wrong_path(struct pipe_reference *r, const struct right *right)
{
    r->on_wrong_path = true;
    r->wrong.piece = HP_NO_ID;
    r->wrong.address = r->no_wrong_path ? 0 : right->forecast.next;
    r->wrong.measured = right->measured;
    r->wrong.n_calls = 0;
    r->wrong.returns = 0;
}

/* A transfer with a known outcome. Returns whether fetch stops after it for this cycle. */
static bool right_transfer(struct pipe_reference *r, struct entry *e, struct right *right,
                           const struct hp_static *insn)
{
    ask(r, right, insn);
    bool predicted = right->forecast.taken;
    if (right->taken)
        e->timing.events |= HP_TIMING_TAKEN;
    if (right->forecast.btb_missed)
        e->timing.events |= HP_TIMING_BTB;
    if (is_indirect(insn) && !insn->n_mems && right->taken)
        e->timing.address = right->next;
    if (insn->flags & HP_STATIC_CONDITIONAL)
        r->history = r->history << 1 | predicted;
    if (right->forecast.wrong) {
        e->timing.events |= HP_TIMING_MISPREDICTED;
        e->mispredicted = true;
        start_wrong_path(r, right);
    }
    if (predicted)
        r->fetch_from = r->cycle + 1 + (right->forecast.btb_missed && !right->forecast.wrong);
    return predicted;
}

static bool enter_right(struct pipe_reference *r, struct entry *e)
{
    struct right *right = &r->rights[r->next_right];
    const struct hp_static *insn = insn_of(r, e);
    struct known *known = known_of(r, right->insn);
    e->right = (uint32_t)r->next_right++;
    if (right->piece != HP_NO_ID)
        hp_program_reach(r->program, right->piece);
    for (unsigned i = 0; i < right->n_addresses; i++) {
        known->address[i] = e->address[i] = r->addresses[right->addresses + i];
        known->has_address[i] = e->has_address[i] = true;
    }
    e->timing.address = e->has_address[0] ? e->address[0] : 0;
    e->timing.events |= right->measured ? HP_TIMING_MEASURED : 0;
    if (right->known)
        return right_transfer(r, e, right, insn);
    if (insn->flags & HP_STATIC_CONDITIONAL)
        r->history <<= 1;
    return false;
}

/* --- Wrong paths ------------------------------------------------------------------------------ */

/* The target of a return on a wrong path. */
static uint64_t wrong_return(struct pipe_reference *r)
{
    if (r->wrong.n_calls)
        return r->wrong.calls[--r->wrong.n_calls];
    return hp_ras_peek(&r->core->branches.ras, r->wrong.returns++);
}

/* The target of a taken transfer; 0: unknown. */
static uint64_t wrong_target(struct pipe_reference *r, const struct hp_static *insn)
{
    switch ((enum hp_flow)insn->flow) {
    case HP_FLOW_CALL:
        grow(&r->wrong.calls, &r->wrong.cap_calls, r->wrong.n_calls + 1, sizeof *r->wrong.calls);
        r->wrong.calls[r->wrong.n_calls++] = insn->end;
        return insn->target;
    case HP_FLOW_JUMP:
    case HP_FLOW_COND: return insn->target;
    case HP_FLOW_RETURN: return wrong_return(r);
    default: return 0;
    }
}

static void go_wrong(struct pipe_reference *r, uint64_t address)
{
    r->wrong.piece = HP_NO_ID;
    r->wrong.address = address;
}

static bool wrong_transfer(struct pipe_reference *r, struct entry *e, const struct hp_static *insn)
{
    bool taken = true;
    if (insn->flags & HP_STATIC_CONDITIONAL) {
        taken = hp_branches_guess(&r->core->branches, predictor_pc(r, insn->address),
                                  insn->flags & HP_STATIC_BACKWARD);
        r->history = r->history << 1 | taken;
    }
    if (!taken)
        return false;
    e->timing.events |= HP_TIMING_TAKEN;
    uint64_t target = wrong_target(r, insn);
    if (is_indirect(insn) && !insn->n_mems)
        e->timing.address = target;
    go_wrong(r, target);
    r->fetch_from = r->cycle + 1;
    return true;
}

static bool enter_wrong(struct pipe_reference *r, struct entry *e)
{
    const struct hp_static *insn = insn_of(r, e);
    const struct known *known = known_of(r, e->timing.insn);
    for (unsigned i = 0; i < HP_INSN_MAX_MEMS; i++) {
        e->address[i] = known->address[i];
        e->has_address[i] = known->has_address[i];
    }
    e->timing.address = e->has_address[0] ? e->address[0] : 0;
    e->timing.events |= r->wrong.measured ? HP_TIMING_MEASURED : 0;
    r->wrong.at++;
    if (insn->flow == HP_FLOW_SYSCALL || insn->flow == HP_FLOW_TRAP) {
        go_wrong(r, 0);
        return true;
    }
    return insn->flags & HP_STATIC_TRANSFER && wrong_transfer(r, e, insn);
}

/* --- Both ------------------------------------------------------------------------------------- */

static bool anything_in_flight(const struct pipe_reference *r)
{
    return r->oldest < r->n_entries;
}

/* The static instruction to be fetched; HP_NO_ID: unknown, or not known yet. */
static uint32_t next_insn(struct pipe_reference *r)
{
    struct wrong *w = &r->wrong;
    if (!r->on_wrong_path) {
        struct right *right = &r->rights[r->next_right];
        if (r->next_right == r->n_rights || (right->behind_break && anything_in_flight(r)))
            return HP_NO_ID;
        if (right->delay) {
            r->fetch_from = r->cycle + right->delay;
            right->delay = 0;
            return HP_NO_ID;
        }
        return right->insn;
    }
    const struct hp_piece *piece =
        w->piece == HP_NO_ID ? NULL : hp_program_piece(r->program, w->piece);
    if (piece && w->at == piece->n) {
        w->address = hp_program_insns(r->program)[piece->first + piece->n - 1].end;
        w->piece = HP_NO_ID;
    }
    if (w->piece == HP_NO_ID) {
        if (w->address == 0)
            return HP_NO_ID;
        w->piece = hp_program_at(r->program, w->address);
        w->at = 0;
        if (w->piece == HP_NO_ID) {
            w->address = 0;
            return HP_NO_ID;
        }
    }
    return hp_program_piece(r->program, w->piece)->first + w->at;
}

static uint64_t queue_length(const struct pipe_reference *r)
{
    uint64_t n = 0;
    for (size_t i = r->oldest; i < r->n_entries; i++)
        n += r->entries[i].state == FETCHED;
    return n;
}

static bool enter(struct pipe_reference *r, uint32_t insn, uint8_t slot)
{
    grow(&r->entries, &r->cap_entries, r->n_entries + 1, sizeof *r->entries);
    struct entry *e = &r->entries[r->n_entries++];
    *e = (struct entry){.state = FETCHED, .right = HP_NO_ID};
    e->timing.fetched = r->cycle;
    e->timing.insn = insn;
    e->timing.history = r->history;
    e->timing.slot = slot;
    e->timing.code_from = (uint8_t)r->lines.from;
    e->timing.events = r->lines.events;
    r->lines = (struct lines){0};
    r->stats.fetched++;
    bool stop = r->on_wrong_path ? enter_wrong(r, e) : enter_right(r, e);
    if (e > r->entries && !((e - 1)->timing.events & HP_TIMING_MEASURED) &&
        e->timing.events & HP_TIMING_MEASURED)
        e->timing.events |= HP_TIMING_WINDOW;
    return stop;
}

void fetch_phase(struct pipe_reference *r)
{
    struct reading reading = {0};
    if (r->cycle < r->fetch_from)
        return;
    if (r->lines.waiting) {
        if (r->cycle < r->lines.arrives)
            return;
        r->lines.waiting = false;
        reading = (struct reading){.reads = 1, .any = true, .last = r->lines.next - 1};
    }
    for (uint8_t slot = 0; slot < r->machine->core.width; slot++) {
        if (queue_length(r) >= r->machine->core.fetch_queue)
            return;
        uint32_t insn = next_insn(r);
        if (insn == HP_NO_ID || !read_lines(r, &reading, &hp_program_insns(r->program)[insn]) ||
            enter(r, insn, slot))
            return;
    }
}
