// SPDX-License-Identifier: MIT
#include "profiler/loop/sbb.h"

#include "base/grow.h"
#include "profiler/path/plan.h"

#include <stdlib.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOWHERE       UINT64_MAX
#define AHEAD         8          /* units that are prefetched */
#define ONE_BRANCH    (1u << 20) /* blocks and branches are counted in one number */

_Static_assert((HP_STEPS_MAX + 1) * HP_RUN_MAX < ONE_BRANCH, "blocks of some steps fit");

/* --- Planning units --------------------------------------------------------------------------- */

/* The branch that ends a block; HP_NO_ID: it cannot be a short backward one. */
static enum hp_err find_sbb(struct hp_sbb_finder *f, const struct hp_block *block, uint32_t id,
                            uint32_t *sbb)
{
    *sbb = HP_NO_ID;
    if (!hp_sbb_is(block->flow, block->last, block->target, f->max_offset))
        return HP_OK;
    uint32_t first = hp_map64_get(&f->by_address, block->last);
    first = first == HP_MAP64_NONE ? HP_NO_ID : first;
    for (uint32_t i = first; i != HP_NO_ID; i = f->sbbs[i].next)
        if (f->sbbs[i].target == block->target) {
            *sbb = i;
            return HP_OK;
        }
    HP_TRY(hp_grow(&f->sbbs, &f->cap_sbbs, f->n_sbbs + 1, sizeof *f->sbbs));
    *sbb = (uint32_t)f->n_sbbs;
    if (first == HP_NO_ID)
        HP_TRY(hp_map64_put(&f->by_address, block->last, *sbb));
    f->sbbs[f->n_sbbs++] = (struct hp_sbb){.address = block->last,
                                           .target = block->target,
                                           .tag = first == HP_NO_ID ? *sbb : first,
                                           .offset = (uint32_t)(block->last - block->target),
                                           .block = id,
                                           .next = HP_NO_ID};
    if (first != HP_NO_ID) {
        f->sbbs[*sbb].next = f->sbbs[first].next;
        f->sbbs[first].next = *sbb;
    }
    return HP_OK;
}

static uint32_t count_of(const struct hp_block *block)
{
    bool is_branch = block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
                     block->flow != HP_FLOW_TRAP;
    return 1 + is_branch * ONE_BRANCH;
}

/* The transfer between two blocks of a unit. */
static enum hp_err add_inside(struct hp_sbb_finder *f, const struct hp_code *code, uint32_t id,
                              uint64_t target, struct hp_sbb_unit *unit)
{
    const struct hp_block *block = hp_code_block(code, id);
    bool taken = target != block->end || !hp_path_falls(code, block);
    uint32_t sbb = HP_NO_ID;
    unit->insns += block->insns;
    unit->counts += count_of(block);
    if (taken && target == block->target)
        HP_TRY(find_sbb(f, block, id, &sbb));
    if (sbb != HP_NO_ID) {
        HP_TRY(hp_grow(&f->inner, &f->cap_inner, f->n_inner + 1, sizeof *f->inner));
        f->inner[f->n_inner++] = (struct hp_sbb_inner){
            .sbb = sbb, .insns = unit->insns, .depth = unit->depth, .low = unit->low};
        unit->n_inner++;
        unit->insns = 0;
        unit->low = unit->depth;
    } else if (taken) {
        unit->depth = (int8_t)(unit->depth + hp_sbb_depth(block->flow, target, block->end));
        unit->low = unit->depth < unit->low ? unit->depth : unit->low;
    }
    return HP_OK;
}

static enum hp_err plan_unit(struct hp_sbb_finder *f, const struct hp_code *code, uint32_t id)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(code, id, &n);
    const struct hp_block *table = hp_code_blocks(code), *last = &table[blocks[n - 1]];
    struct hp_sbb_unit unit = {.start = table[blocks[0]].start,
                               .back = NOWHERE,
                               .fall = hp_path_falls(code, last) ? last->end : NOWHERE,
                               .inner = (uint32_t)f->n_inner};
    for (uint32_t i = 0; i + 1 < n; i++)
        HP_TRY(add_inside(f, code, blocks[i], table[blocks[i + 1]].start, &unit));
    unit.insns += last->insns;
    unit.last_insns = last->insns;
    unit.last_counts = count_of(last);
    unit.counts += unit.last_counts;
    HP_TRY(find_sbb(f, last, blocks[n - 1], &unit.sbb));
    if (unit.sbb != HP_NO_ID)
        unit.back = last->target;
    if (hp_sbb_depth(last->flow, NOWHERE, last->end)) {
        unit.last = last->flow == HP_FLOW_RETURN ? -1 : 1;
        if (last->flow != HP_FLOW_RETURN)
            unit.fall = last->end; /* a call to the next instruction is not a call */
    }
    f->units[f->n_units++] = unit;
    return HP_OK;
}

enum hp_err hp_sbb_finder_grow(struct hp_sbb_finder *finder, const struct hp_code *code)
{
    uint32_t n = hp_code_n_units(code);
    HP_TRY(hp_grow(&finder->units, &finder->cap_units, n, sizeof *finder->units));
    while (finder->n_units < n)
        HP_TRY(plan_unit(finder, code, (uint32_t)finder->n_units));
    return HP_OK;
}

void hp_sbb_finder_init(struct hp_sbb_finder *finder, uint32_t max_offset, uint32_t apart,
                        bool calls)
{
    *finder = (struct hp_sbb_finder){.max_offset = max_offset, .apart = apart, .calls = calls};
}

void hp_sbb_finder_fini(struct hp_sbb_finder *finder)
{
    free(finder->sbbs);
    free(finder->units);
    free(finder->inner);
    hp_map64_fini(&finder->by_address);
}

/* --- Finding ---------------------------------------------------------------------------------- */

/* The state of the main loop: a variable whose address is never taken. */
struct state {
    struct hp_sbb_event *next; /* where the next event goes */
    uint32_t sbb;              /* of the last event; HP_NO_ID: none */
    uint32_t insns;            /* since then */
    uint32_t gap;              /* between the branches of the last event; 0: there is one */
    int32_t depth, low;        /* now, and the lowest since then */
};

/* A branch was taken. */
ALWAYS_INLINE void add(struct state *s, uint32_t sbb, uint32_t apart, const bool calls)
{
    if (sbb == s->sbb) {
        struct hp_sbb_event *e = s->next - 1;
        bool level = !calls || (s->depth == e->depth && s->low == e->depth);
        bool alike = !s->gap || s->gap == s->insns || (s->gap >= apart && s->insns >= apart);
        if (level && alike) {
            e->times++;
            e->rest += s->insns;
            s->gap = s->insns;
            s->insns = 0;
            return;
        }
    }
    *s->next++ = (struct hp_sbb_event){
        .sbb = sbb, .times = 1, .first = s->insns, .depth = s->depth, .low = s->low};
    s->sbb = sbb;
    s->gap = 0;
    s->insns = 0;
    s->low = s->depth;
}

/* The branches inside a unit; resets the depth to that at its start. */
ALWAYS_INLINE void add_inner(const struct hp_sbb_finder *f, struct state *s,
                             const struct hp_sbb_unit *unit, const bool calls)
{
    int32_t depth = s->depth;
    for (uint32_t i = unit->inner; i < unit->inner + unit->n_inner; i++) {
        const struct hp_sbb_inner *inner = &f->inner[i];
        int32_t low = depth + inner->low;
        s->insns += inner->insns;
        s->depth = depth + inner->depth;
        s->low = low < s->low ? low : s->low;
        add(s, inner->sbb, f->apart, calls);
    }
    s->depth = depth;
}

static struct hp_sbb_event *hand_over(struct hp_sbb_finder *f, const struct state *s,
                                      hp_sbb_take *take, void *context)
{
    struct hp_sbb_chunk chunk = {.sbbs = f->sbbs,
                                 .events = f->events,
                                 .n = (size_t)(s->next - f->events),
                                 .insns = s->insns,
                                 .depth = s->depth,
                                 .low = s->low};
    take(context, &chunk);
    return f->events;
}

ALWAYS_INLINE uint64_t find(struct hp_sbb_finder *f, const struct hp_step *step, size_t n,
                            hp_sbb_take *take, void *context, const bool calls)
{
    const struct hp_step *const end = step + n;
    const struct hp_sbb_event *const full = f->events + HP_SBB_EVENTS - HP_RUN_MAX;
    const struct hp_sbb_unit *units = f->units, *following = &units[step->unit];
    const uint32_t apart = f->apart;
    struct state s = {.next = f->events, .sbb = HP_NO_ID};
    uint64_t counts = 0;
    for (; step < end; step++) {
        const struct hp_sbb_unit *unit = following;
        following = &units[step[1].unit];
        __builtin_prefetch(&units[(end - step > AHEAD ? step + AHEAD : end)->unit]);
        if (__builtin_expect(unit->n_inner, 0))
            add_inner(f, &s, unit, calls);
        counts += unit->counts;
        s.insns += unit->insns;
        if (calls) {
            int32_t low = s.depth + unit->low;
            s.low = low < s.low ? low : s.low;
            s.depth += unit->depth + (following->start != unit->fall ? unit->last : 0);
            s.low = s.depth < s.low ? s.depth : s.low;
        }
        if (following->start == unit->back)
            add(&s, unit->sbb, apart, calls);
        if (__builtin_expect(s.next > full, 0)) {
            struct state seen = s;
            s = (struct state){.next = hand_over(f, &seen, take, context), .sbb = HP_NO_ID};
        }
    }
    /* For the last unit only the inner transfers are known. */
    if (following->n_inner)
        add_inner(f, &s, following, calls);
    int32_t low = s.depth + following->low;
    s.low = low < s.low ? low : s.low;
    s.depth += following->depth;
    s.insns += following->insns - following->last_insns;
    struct state seen = s;
    hand_over(f, &seen, take, context);
    return counts + following->counts - following->last_counts;
}

static __attribute__((noinline)) uint64_t find_calls(struct hp_sbb_finder *f,
                                                     const struct hp_step *steps, size_t n,
                                                     hp_sbb_take *take, void *context)
{
    return find(f, steps, n, take, context, true);
}

static __attribute__((noinline)) uint64_t find_plain(struct hp_sbb_finder *f,
                                                     const struct hp_step *steps, size_t n,
                                                     hp_sbb_take *take, void *context)
{
    return find(f, steps, n, take, context, false);
}

struct hp_sbb_counts hp_sbb_finder_steps(struct hp_sbb_finder *finder, const struct hp_step *steps,
                                         size_t n, hp_sbb_take *take, void *context)
{
    uint64_t counts = finder->calls ? find_calls(finder, steps, n, take, context)
                                    : find_plain(finder, steps, n, take, context);
    return (struct hp_sbb_counts){.blocks = counts % ONE_BRANCH, .branches = counts / ONE_BRANCH};
}
