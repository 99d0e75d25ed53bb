// SPDX-License-Identifier: MIT
/* Taking stacks: branch by branch, oldest first. */
#include "base/base.h"
#include "import/stacks_impl.h"

/* --- Hops ------------------------------------------------------------------------------------- */

static enum hp_err hops_of(struct hp_import_thread *t, uint32_t view, struct hp_import_hops **hops)
{
    if (t->now >= t->n_views || t->views[t->now] != view)
        t->now = hp_map64_get(&t->hops_of, view);
    if (t->now == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&t->hops, &t->cap_hops, t->n_views + 1, sizeof *t->hops));
        HP_TRY(hp_grow(&t->views, &t->cap_views, t->n_views + 1, sizeof *t->views));
        HP_TRY(hp_map64_put(&t->hops_of, view, (uint32_t)t->n_views));
        t->now = (uint32_t)t->n_views++;
        t->hops[t->now] = (struct hp_import_hops){0};
        t->views[t->now] = view;
    }
    *hops = &t->hops[t->now];
    return HP_OK;
}

/* What is being taken. */
struct taking {
    struct hp_import_stacks *stacks;
    struct hp_import_thread *thread;
    struct hp_import_hops *hops;
    uint32_t view;
    bool oldest;
    uint64_t before; /* the target of the last branch, or HP_HOP_FROM_NOWHERE */
    uint32_t first;  /* hop of the open stretch; HP_NO_ID: none is open */
};

/* What a hop that is seen first is. What is counted of it is told its key, so that the order does
 * not depend on what is counted when. */
static enum hp_err look_at(struct taking *k, uint64_t before, uint64_t from, uint64_t to,
                           struct hp_import_hop *hop)
{
    struct hp_import_stacks *s = k->stacks;
    uint32_t start;
    *hop = (struct hp_import_hop){
        .run = HP_NO_ID, .from = HP_NO_ID, .end = HP_NO_ID, .thread = k->thread->info.id};
    HP_TRY(hp_stacks_spot(s, k->view, to, &hop->to));
    if (!from)
        return HP_OK;
    HP_TRY(hp_stacks_spot(s, k->view, from, &hop->from));
    if (before == HP_HOP_FROM_NOWHERE)
        return HP_OK;
    HP_TRY(hp_stacks_spot(s, k->view, before, &start));
    HP_TRY(hp_stacks_run(s, start, hop->from, true, &hop->run));
    if (s->runs[hop->run].n)
        return hp_stacks_count(&k->thread->edges, hop->run, hop->to, 0);
    return hp_stacks_count(&k->thread->orphans, hop->from, hop->to, 0);
}

static enum hp_err add_hop(struct taking *k, uint64_t before, uint64_t from, uint64_t to,
                           struct hp_import_hop_slot **slot)
{
    struct hp_import_stacks *s = k->stacks;
    struct hp_import_hop hop;
    if (s->n_hops >= HP_HOP_ID)
        return hp_fail(HP_ERR_FORMAT, "more different branches than there can be");
    HP_TRY(look_at(k, before, from, to, &hop));
    HP_TRY(hp_hops_room(k->hops));
    HP_TRY(hp_grow(&s->hops, &s->cap_hops, s->n_hops + 1, sizeof *s->hops));
    bool begins = hop.run == HP_NO_ID || !s->runs[hop.run].n;
    *slot = hp_hops_slot(k->hops, before, from, to);
    **slot = (struct hp_import_hop_slot){.before = before,
                                         .from = from,
                                         .to = to,
                                         .hop = (uint32_t)s->n_hops | (begins ? HP_HOP_BEGINS : 0)};
    k->hops->used++;
    s->hops[s->n_hops++] = hop;
    return HP_OK;
}

static inline enum hp_err find_hop(struct taking *k, uint64_t before, uint64_t from, uint64_t to,
                                   struct hp_import_hop_slot **slot)
{
    *slot = hp_hops_slot(k->hops, before, from, to);
    return (*slot)->hop == UINT32_MAX ? add_hop(k, before, from, to, slot) : HP_OK;
}

static inline struct hp_import_hop *count_hop(struct hp_import_stacks *s,
                                              struct hp_import_hop_slot *slot)
{
    struct hp_import_hop *hop = &s->hops[slot->hop & HP_HOP_ID];
    if (__builtin_expect(++slot->count == 0, 0))
        hop->count++;
    return hop;
}

/* --- Stretches -------------------------------------------------------------------------------- */

static uint32_t last_hop(const struct taking *k)
{
    return k->stacks->steps.at[-1] & HP_HOP_ID;
}

static enum hp_err end_stretch(struct taking *k)
{
    struct hp_import_stacks *s = k->stacks;
    if (k->first == HP_NO_ID)
        return HP_OK;
    struct hp_import_hop *first = &s->hops[k->first], *last = &s->hops[last_hop(k)];
    if (!first->first || !last->last) {
        HP_TRY(hp_grow(&s->ends, &s->cap_ends, s->n_ends + 1, sizeof *s->ends));
        s->ends[s->n_ends++] = (struct hp_import_ends){k->first, last_hop(k)};
        first->first = last->last = true;
    }
    k->first = HP_NO_ID;
    return HP_OK;
}

static enum hp_err step(struct taking *k, uint32_t hop)
{
    if (hop & HP_HOP_BEGINS) {
        HP_TRY(end_stretch(k));
        k->first = hop & HP_HOP_ID;
    }
    *k->stacks->steps.at++ = hop;
    return HP_OK;
}

/* --- Tails ------------------------------------------------------------------------------------ */

/* Whether a stack that begins with this branch goes on where one ended: then that tail is on top.
 */
static enum hp_err join(struct hp_import_stacks *s, struct hp_import_thread *t, uint64_t from,
                        bool *joined)
{
    uint32_t i = t->n_tails;
    while (i > 0 && s->spots[t->tails[i - 1].to].address != from)
        i--;
    *joined = i > 0;
    while (*joined && t->n_tails > i)
        HP_TRY(hp_stacks_end_tail(s, t));
    return HP_OK;
}

/* A thread, or a handler, begins: what it interrupts may go on later. */
static enum hp_err begin(struct hp_import_stacks *s, struct hp_import_thread *t, bool first)
{
    if (first)
        t->whole = true;
    if (t->n_tails < HP_IMPORT_TAILS)
        return HP_OK;
    struct hp_import_tail oldest = t->tails[0];
    memmove(t->tails, t->tails + 1, (HP_IMPORT_TAILS - 1) * sizeof *t->tails);
    t->n_tails--;
    return t->whole ? hp_stacks_count_run(s, t, oldest.from, oldest.to, false, HP_NO_ID) : HP_OK;
}

/* --- Stacks ----------------------------------------------------------------------------------- */

/* The cycles of a branch are those since the branch before it: of the run that it ends. */
static inline void add_cycles(struct hp_import_cycles *c, uint16_t cycles)
{
    c->min = c->timed && c->min < cycles ? c->min : cycles;
    c->max = c->max > cycles ? c->max : cycles;
    c->timed++;
    c->cycles += cycles;
    c->squares += (uint64_t)cycles * cycles;
}

static enum hp_err make_cycles(struct hp_import_stacks *s)
{
    HP_TRY(hp_grow(&s->cycles, &s->cap_cycles, s->n_hops, sizeof *s->cycles));
    memset(s->cycles + s->n_cycles, 0, (s->n_hops - s->n_cycles) * sizeof *s->cycles);
    s->n_cycles = s->n_hops;
    return HP_OK;
}

/* A branch that goes on where a stack ended: what ran between both is counted, but no part of a
 * stack. */
static enum hp_err count_joined(struct taking *k, uint64_t from, uint64_t to)
{
    struct hp_import_stacks *s = k->stacks;
    const struct hp_import_tail tail = k->thread->tails[--k->thread->n_tails];
    struct hp_import_hop_slot *slot;
    s->counts.joined++;
    if (tail.view == k->view) {
        HP_TRY(find_hop(k, s->spots[tail.from].address, from, to, &slot));
        count_hop(s, slot)->joined++;
        return HP_OK;
    }
    uint32_t end, next;
    HP_TRY(hp_stacks_spot(s, k->view, to, &next));
    HP_TRY(hp_stacks_spot(s, k->view, from, &end));
    return hp_stacks_count_run(s, k->thread, tail.from, end, true, next);
}

/* The oldest branch of a stack, or the first behind the kernel: it begins a stretch. */
static enum hp_err take_first(struct taking *k, uint64_t from, uint64_t to)
{
    struct hp_import_stacks *s = k->stacks;
    struct hp_import_hop_slot *slot;
    bool joined = false;
    if (k->oldest) {
        HP_TRY(join(s, k->thread, from, &joined));
        k->thread->whole &= joined;
    }
    if (joined)
        HP_TRY(count_joined(k, from, to));
    else if (k->oldest)
        k->thread->n_tails = 0;
    HP_TRY(find_hop(k, HP_HOP_FROM_NOWHERE, from, to, &slot));
    if (!joined) {
        const struct hp_import_hop *hop = count_hop(s, slot);
        if (slot->count == 1)
            HP_TRY(hp_stacks_count(&k->thread->orphans, hop->from, hop->to, 0));
    }
    return step(k, slot->hop);
}

static bool is_kernel(uint64_t address)
{
    return address >> 63;
}

/* A branch from outside (0: as the export writes it), or one of the kernel. */
static enum hp_err take_outside(struct taking *k, uint64_t from, uint64_t to)
{
    struct hp_import_thread *t = k->thread;
    struct hp_import_hop_slot *slot;
    k->before = HP_HOP_FROM_NOWHERE;
    if (is_kernel(from | to)) {
        k->stacks->counts.kernel++;
        if (is_kernel(to))
            return HP_OK;
    } else {
        HP_TRY(begin(k->stacks, t, k->oldest && !t->n_tails && !t->edges.used && !t->orphans.used));
    }
    k->before = to;
    HP_TRY(find_hop(k, HP_HOP_FROM_NOWHERE, 0, to, &slot));
    return step(k, slot->hop);
}

/* A branch of user code, behind another one. */
static enum hp_err take_inner(struct taking *k, uint64_t from, uint64_t to, uint64_t flags)
{
    struct hp_import_stacks *s = k->stacks;
    struct hp_import_hop_slot *slot;
    HP_TRY(find_hop(k, k->before, from, to, &slot));
    count_hop(s, slot);
    uint32_t hop = slot->hop & HP_HOP_ID;
    uint16_t cycles = (uint16_t)(flags >> HP_PERF_CYCLES_SHIFT);
    if (cycles && hop >= s->n_cycles)
        HP_TRY(make_cycles(s));
    if (cycles)
        add_cycles(&s->cycles[hop], cycles);
    return step(k, slot->hop);
}

static void load(const uint8_t *entries, uint64_t n, uint64_t entry[3])
{
    memcpy(entry, entries + (n - 1) * 3 * sizeof *entry, 3 * sizeof *entry);
}

/* Takes branches behind another one as long as they are known and at home: nearly all. Only user
 * code is ever known. Returns how many are left. */
static uint64_t take_known(struct taking *k, const uint8_t *entries, uint64_t n)
{
    struct hp_import_stacks *s = k->stacks;
    struct hp_import_cycles *cycles = s->cycles;
    const struct hp_import_hops hops = *k->hops;
    const uint64_t first = n;
    uint64_t before = k->before, mispredicted = 0, predicted = 0, entry[3];
    uint32_t *at = s->steps.at;
    for (; n > 0; n--) {
        load(entries, n, entry);
        struct hp_import_hop_slot *slot = hp_hops_home(&hops, before, entry[0], entry[1]);
        if (!hp_hops_is(slot, before, entry[0], entry[1]) || slot->hop & HP_HOP_BEGINS ||
            slot->count == UINT32_MAX || (entry[2] & HP_PERF_SPECULATED) == HP_PERF_WRONG_PATH)
            break;
        uint16_t timed = (uint16_t)(entry[2] >> HP_PERF_CYCLES_SHIFT);
        if (timed) {
            if (slot->hop >= s->n_cycles)
                break;
            add_cycles(&cycles[slot->hop], timed);
        }
        slot->count++;
        mispredicted += entry[2] & HP_PERF_MISPREDICTED;
        predicted += (entry[2] & HP_PERF_PREDICTED) != 0;
        *at++ = slot->hop;
        before = entry[1];
    }
    k->before = before;
    s->steps.at = at;
    s->counts.branches += first - n;
    s->counts.mispredicted += mispredicted;
    s->counts.predicted += predicted;
    return n;
}

static enum hp_err take_branch(struct taking *k, const uint64_t entry[3])
{
    struct hp_import_stack_counts *counts = &k->stacks->counts;
    uint64_t from = entry[0], to = entry[1], flags = entry[2];
    if ((flags & HP_PERF_SPECULATED) == HP_PERF_WRONG_PATH) {
        counts->wrong_path++;
        return HP_OK;
    }
    counts->stacks += k->oldest;
    if (is_kernel(from | to) || !from) {
        HP_TRY(take_outside(k, from, to));
    } else {
        counts->branches++;
        counts->mispredicted += flags & HP_PERF_MISPREDICTED;
        counts->predicted += (flags & HP_PERF_PREDICTED) != 0;
        HP_TRY(k->before == HP_HOP_FROM_NOWHERE ? take_first(k, from, to)
                                                : take_inner(k, from, to, flags));
        k->before = to;
    }
    k->oldest = false;
    return HP_OK;
}

/* Oldest first. */
static enum hp_err take_branches(struct taking *k, const uint8_t *entries, uint64_t n)
{
    uint64_t entry[3];
    while (n > 0) {
        load(entries, n--, entry);
        HP_TRY(take_branch(k, entry));
        if (k->before != HP_HOP_FROM_NOWHERE)
            n = take_known(k, entries, n);
    }
    return HP_OK;
}

/* Where the stack ended. */
static enum hp_err add_tail(struct taking *k, uint64_t ip)
{
    struct hp_import_thread *t = k->thread;
    struct hp_import_tail tail = {.view = k->view, .from = k->stacks->hops[last_hop(k)].to};
    HP_TRY(hp_stacks_spot(k->stacks, k->view, ip, &tail.to));
    t->tails[t->n_tails < HP_IMPORT_TAILS ? t->n_tails++ : HP_IMPORT_TAILS - 1] = tail;
    return HP_OK;
}

/* Of a process of which nothing is known. */
static void count_wrong_paths(struct hp_import_stacks *s, const uint8_t *entries, uint64_t n)
{
    for (uint64_t entry[3]; n > 0; n--) {
        load(entries, n, entry);
        s->counts.wrong_path += (entry[2] & HP_PERF_SPECULATED) == HP_PERF_WRONG_PATH;
    }
}

enum hp_err hp_stacks_add(struct hp_import_stacks *s, struct hp_import_thread *t,
                          const struct hp_perf_sampled *sample)
{
    uint64_t room[3 * HP_PERF_MAX_STACK];
    struct taking k = {.stacks = s,
                       .thread = t,
                       .view = hp_spaces_view(s->spaces, sample->pid, sample->time),
                       .oldest = true,
                       .before = HP_HOP_FROM_NOWHERE,
                       .first = HP_NO_ID};
    const uint8_t *branches = hp_perf_branches(sample, room);
    if (k.view == HP_NO_VIEW) {
        count_wrong_paths(s, branches, sample->n_branches);
        return HP_OK;
    }
    HP_TRY(hops_of(t, k.view, &k.hops));
    HP_TRY(hp_hops_room(k.hops));
    HP_TRY(hp_steps_room(&s->steps, sample->n_branches));
    uint32_t *first = s->steps.at;
    HP_TRY(take_branches(&k, branches, sample->n_branches));
    HP_TRY(end_stretch(&k));
    if (k.before != HP_HOP_FROM_NOWHERE && !is_kernel(sample->ip))
        HP_TRY(add_tail(&k, sample->ip));
    if (s->steps.at != first)
        *first |= HP_HOP_FIRST;
    if (!s->steps.keep)
        s->steps.at = first;
    return HP_OK;
}

enum hp_err hp_stacks_order(struct hp_import_stacks *s, struct hp_import_thread *t,
                            const struct hp_perf_sampled *sample)
{
    uint64_t room[3 * HP_PERF_MAX_STACK], before = HP_HOP_FROM_NOWHERE, entry[3];
    uint32_t view = hp_spaces_view(s->spaces, sample->pid, sample->time);
    const uint8_t *branches = hp_perf_branches(sample, room);
    struct hp_import_hops *hops;
    if (view == HP_NO_VIEW)
        return HP_OK;
    HP_TRY(hops_of(t, view, &hops));
    HP_TRY(hp_hops_room(hops));
    HP_TRY(hp_steps_room(&s->steps, sample->n_branches));
    uint32_t *first = s->steps.at;
    for (uint64_t n = sample->n_branches; n > 0; n--) {
        load(branches, n, entry);
        if ((entry[2] & HP_PERF_SPECULATED) == HP_PERF_WRONG_PATH)
            continue;
        bool outside = is_kernel(entry[0] | entry[1]) || !entry[0];
        if (outside)
            before = HP_HOP_FROM_NOWHERE;
        if (is_kernel(entry[1]))
            continue;
        const struct hp_import_hop_slot *slot =
            hp_hops_slot(hops, before, outside ? 0 : entry[0], entry[1]);
        if (slot->hop == UINT32_MAX) /* the file is another one now */
            return hp_fail(HP_ERR_IO, "the file has changed while it was read");
        *s->steps.at++ = slot->hop;
        before = entry[1];
    }
    if (s->steps.at != first)
        *first |= HP_HOP_FIRST;
    return HP_OK;
}
