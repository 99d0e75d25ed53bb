// SPDX-License-Identifier: MIT
/*
 * DAProf's profiler controller: figure 2 of the paper, and docs/loops.md. Line numbers are those of
 * the figure.
 *
 * Two things are represented differently from the figure, with the same result. The in-loop flags
 * are a list (`live`) of the current executions, as these are few. Freshness is the time since it
 * was at its maximum, because otherwise each new execution would decrement it in every entry.
 *
 * With `calls` each branch comes with the call depth, and the lowest depth since the branch before,
 * which shows which activations are over. The list is then a stack: what is pushed is at least as
 * deep as anything in it.
 */
#include "profiler/loop/model.h"

#include <stdio.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* --- The cache -------------------------------------------------------------------------------- */

static bool is_fresh(const struct hp_loop_model *m, const struct hp_loop_slot *slot)
{
    return m->begun - slot->stamp < m->config.freshness;
}

static uint64_t total_iterations(const struct hp_loop_model *m, const struct hp_loop_slot *slot)
{
    return m->config.exact_average ? slot->average : slot->average * slot->executions;
}

/* The slot to replace: an empty one; else, of those that are not fresh, the first with the fewest
 * iterations. At least half are not fresh: executions begin one at a time, so at most `freshness`
 * slots of the whole cache are fresh. */
static uint32_t find_replacement(const struct hp_loop_model *m, uint64_t address)
{
    uint32_t first = hp_loop_set(m, address), best = HP_NO_ID;
    uint64_t fewest = UINT64_MAX;
    for (uint32_t i = first; i < first + m->config.ways; i++) {
        const struct hp_loop_slot *slot = &m->slots[i];
        if (!slot->used)
            return i;
        uint64_t total = total_iterations(m, slot);
        if ((total < fewest || best == HP_NO_ID) && !is_fresh(m, slot)) {
            fewest = total;
            best = i;
        }
    }
    return best;
}

/* Lines 10 and 11. */
static __attribute__((noinline)) void halve(struct hp_loop_model *m)
{
    for (uint32_t i = 0; i < m->config.entries; i++)
        m->slots[i].executions >>= 1;
    m->stats.halvings++;
}

/* --- Executions ------------------------------------------------------------------------------- */

/* Line 26. */
ALWAYS_INLINE void add_to_average(struct hp_loop_model *m, const struct hp_loop_live *live)
{
    uint64_t *average = &m->slots[live->slot].average;
    if (m->config.exact_average)
        *average += live->current;
    else if (m->config.first_average && !*average)
        *average = live->current << m->config.fraction_bits;
    else
        *average += live->current - (*average >> m->config.fraction_bits);
}

static void remove_live(struct hp_loop_task *task, size_t i)
{
    memmove(&task->live[i], &task->live[i + 1], (task->n_live - i - 1) * sizeof *task->live);
    task->n_live--;
}

/* Ends an execution; if recursion saved another one of its loop, that one continues. */
static void leave(struct hp_loop_model *m, struct hp_loop_task *task, size_t i)
{
    uint32_t slot = task->live[i].slot;
    add_to_average(m, &task->live[i]);
    for (size_t k = 0; task->aside && k < i; k++)
        if (task->live[k].slot == slot) {
            task->aside--;
            break;
        }
    remove_live(task, i);
}

/* Drops the executions of a slot. */
static void drop_slot(struct hp_loop_task *task, uint32_t slot)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < task->n_live; i++) {
        if (task->live[i].slot == slot)
            n++;
        else
            task->live[kept++] = task->live[i];
    }
    task->n_live = kept;
    task->aside -= n > 1 ? n - 1 : 0;
}

/* Whether the branch is outside the loop: lines 23 and 24. */
ALWAYS_INLINE bool is_outside(const struct hp_loop_live *live, uint64_t address)
{
    return address > live->address || address < live->target;
}

ALWAYS_INLINE void push(struct hp_loop_model *m, struct hp_loop_task *task, uint32_t slot,
                        int32_t depth)
{
    struct hp_loop_slot *s = &m->slots[slot];
    m->begun++;
    s->stamp = m->begun; /* lines 5 and 9, 14 and 21 */
    task->live[task->n_live++] = (struct hp_loop_live){
        .address = s->address, .target = s->target, .current = 1, .slot = slot, .depth = depth};
}

/* Lines 14 to 21. */
static __attribute__((noinline)) void replace(struct hp_loop_model *m, struct hp_loop_task *task,
                                              const struct hp_sbb *sbb, uint32_t index,
                                              int32_t depth)
{
    uint32_t slot = find_replacement(m, sbb->address);
    if (m->slots[slot].used)
        drop_slot(task, slot);
    hp_loop_model_take(m, slot, sbb, index);
    m->slots[slot].executions = 1;
    m->slots[slot].average = 0;
    push(m, task, slot, depth);
}

/* Lines 5 to 11: a new execution of a loop that is in the cache. */
ALWAYS_INLINE void begin(struct hp_loop_model *m, struct hp_loop_task *task, uint32_t slot,
                         int32_t depth)
{
    push(m, task, slot, depth);
    if (++m->slots[slot].executions >= m->execution_max)
        halve(m);
}

/* The same loop in another activation of its function: saves the current execution. */
static __attribute__((noinline)) void recurse(struct hp_loop_model *m, struct hp_loop_task *task,
                                              size_t outer, int32_t depth)
{
    uint32_t slot = task->live[outer].slot;
    if (task->aside < m->config.contexts) {
        task->aside++;
    } else {
        m->stats.context_overflows++;
        add_to_average(m, &task->live[outer]);
        remove_live(task, outer);
    }
    begin(m, task, slot, depth);
}

ALWAYS_INLINE void count(struct hp_loop_model *m, struct hp_loop_live *live, uint64_t n)
{
    uint64_t room = m->iteration_max - live->current;
    if (__builtin_expect(n > room, 0)) {
        m->stats.saturations += n - room;
        n = room;
    }
    live->current += n;
}

/* --- Branches --------------------------------------------------------------------------------- */

/* A branch that went through the FIFO, at a depth; `low` is the lowest since the branch before. */
ALWAYS_INLINE void branch(struct hp_loop_model *m, struct hp_loop_task *task,
                          const struct hp_sbb *sbb, uint32_t index, uint64_t times, int32_t depth,
                          int32_t low, const bool calls)
{
    if (calls)
        while (task->n_live && task->live[task->n_live - 1].depth > low)
            leave(m, task, task->n_live - 1);
    uint32_t slot = hp_loop_find(m, sbb);
    if (slot == HP_NO_ID) {
        replace(m, task, sbb, index, depth);
    } else {
        size_t i = task->n_live;
        while (i && task->live[i - 1].slot != slot)
            i--;
        if (!i)
            begin(m, task, slot, depth);
        else if (calls && task->live[i - 1].depth != depth)
            recurse(m, task, i - 1, depth);
        else
            count(m, &task->live[i - 1], 1);
    }
    for (size_t i = task->n_live; i-- && (!calls || task->live[i].depth == depth);)
        if (is_outside(&task->live[i], sbb->address))
            leave(m, task, i);
    if (times > 1) {
        size_t i = task->n_live;
        while (task->live[i - 1].address != sbb->address)
            i--;
        count(m, &task->live[i - 1], times - 1);
    }
}

/* The depth, limited to what an entry can hold. */
ALWAYS_INLINE int32_t held(const struct hp_loop_model *m, int64_t depth)
{
    return (int32_t)(depth < m->depth_max ? depth : m->depth_max);
}

ALWAYS_INLINE void consume(struct hp_loop_model *m, struct hp_loop_task *task,
                           const struct hp_sbb_chunk *chunk, const bool calls)
{
    for (size_t k = 0; k < chunk->n; k++) {
        const struct hp_sbb_event *e = &chunk->events[k];
        const struct hp_sbb *sbb = &chunk->sbbs[e->sbb];
        if (calls && task->depth + e->low < task->low)
            task->low = task->depth + e->low;
        if (sbb->offset >= m->config.max_offset) {
            hp_loop_pass(m, (uint64_t)e->first + e->rest);
            continue;
        }
        m->stats.branches += e->times;
        uint64_t times = m->config.fifo ? hp_loop_fifo(m, e) : e->times;
        if (!times)
            continue;
        if (!calls) {
            branch(m, task, sbb, e->sbb, times, 0, 0, false);
            continue;
        }
        int64_t depth = task->depth + e->depth;
        if (task->low < task->floor)
            task->floor = task->low;
        branch(m, task, sbb, e->sbb, times, held(m, depth - task->floor),
               held(m, task->low - task->floor), true);
        task->low = depth;
    }
    hp_loop_pass(m, chunk->insns);
    if (calls) {
        if (task->depth + chunk->low < task->low)
            task->low = task->depth + chunk->low;
        task->depth += chunk->depth;
    }
}

static __attribute__((noinline)) void
consume_calls(struct hp_loop_model *m, struct hp_loop_task *task, const struct hp_sbb_chunk *chunk)
{
    consume(m, task, chunk, true);
}

static __attribute__((noinline)) void
consume_plain(struct hp_loop_model *m, struct hp_loop_task *task, const struct hp_sbb_chunk *chunk)
{
    consume(m, task, chunk, false);
}

static void daprof_consume(struct hp_loop_model *m, struct hp_loop_task *task,
                           const struct hp_sbb_chunk *chunk)
{
    if (m->config.calls)
        consume_calls(m, task, chunk);
    else
        consume_plain(m, task, chunk);
}

const struct hp_loop_ops hp_loop_daprof = {.consume = daprof_consume};

/* --- Settings --------------------------------------------------------------------------------- */

#define DAPROF                                                                                     \
    .kind = HP_LOOP_DAPROF, .entries = 32, .max_offset = 1024, .fifo = 4, .fifo_service = 3,       \
    .execution_bits = 16, .iteration_bits = 10, .fraction_bits = 3, .depth_bits = 8, .contexts = 8
static const struct hp_preset presets[] = {
    {"daprof", &(const struct hp_loop_config){DAPROF, .ways = 8}, "32 entries in sets of 8", NULL},
    {"daprof-16way", &(const struct hp_loop_config){DAPROF, .ways = 16}, "in sets of 16", NULL},
    {"daprof-full", &(const struct hp_loop_config){DAPROF, .ways = HP_LOOP_FULL},
     "fully associative", NULL},
};
#undef DAPROF

/* "15/16": the number of bits. */
static enum hp_err read_ratio(const struct hp_setting *setting, const char *text, void *config)
{
    for (uint64_t bits = setting->min; bits <= setting->max; bits++) {
        char ratio[32];
        snprintf(ratio, sizeof ratio, "%u/%u", (1u << bits) - 1, 1u << bits);
        if (strcmp(ratio, text) == 0) {
            hp_setting_set(setting, config, bits);
            return HP_OK;
        }
    }
    return hp_fail(HP_ERR_INVALID, "'%.40s' is none of %s", text, setting->form);
}

static void write_ratio(const struct hp_setting *setting, const void *config, char *text,
                        size_t size)
{
    uint32_t all = 1u << (hp_setting_get(setting, config) & 31);
    snprintf(text, size, "%u/%u", all - 1, all);
}

#define AT(member) HP_MEMBER(struct hp_loop_config, member)
static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_NUMBER, AT(entries), 1, 1 << 16, "loops that it remembers"},
    {"ways", HP_SETTING_NUMBER, AT(ways), 1, 1 << 16, "entries of a set", .word = "full",
     .word_value = HP_LOOP_FULL},
    {"max-offset", HP_SETTING_NUMBER, AT(max_offset), 1, 1u << 31,
     "bytes: a branch is short when its target is fewer before it"},
    {"fifo", HP_SETTING_NUMBER, AT(fifo), 0, 4096, "branches that can wait; 0: none is ever lost"},
    {"fifo-service", HP_SETTING_NUMBER, AT(fifo_service), 1, 4096,
     "instructions that pass while it takes a branch"},
    {"execution-bits", HP_SETTING_NUMBER, AT(execution_bits), 2, 32,
     "bits of a counter of executions"},
    {"iteration-bits", HP_SETTING_NUMBER, AT(iteration_bits), 1, 22,
     "bits of the current iterations, and of the average in front of the point"},
    {"freshness", HP_SETTING_NUMBER, AT(freshness), 0, 1 << 15,
     "its maximum; if not said half of the ways, at most 7"},
    {"address-bits", HP_SETTING_NUMBER, AT(address_bits), 16, 64,
     "bits of a code address, for the size; auto: by architecture", .word = "auto"},
    {"insn-bytes", HP_SETTING_NUMBER, AT(insn_bytes), 1, 16,
     "unit of an offset, for the size; auto: by architecture", .word = "auto"},
    {"depth-bits", HP_SETTING_NUMBER, AT(depth_bits), 1, 16, "with calls: bits of the call depth"},
    {"contexts", HP_SETTING_NUMBER, AT(contexts), 0, 1024,
     "with calls: executions that recursion can put aside"},
    {"ratio", HP_SETTING_NUMBER, AT(fraction_bits), 1, 8, "weight of the past in the average",
     .form = "1/2, 3/4, 7/8, 15/16, ... 255/256", .read = read_ratio, .write = write_ratio},
    {"calls", HP_SETTING_FLAG, AT(calls), 0, 0, "calls and returns are watched"},
    {"first-average", HP_SETTING_FLAG, AT(first_average), 0, 0,
     "the first execution is the average"},
    {"exact-average", HP_SETTING_FLAG, AT(exact_average), 0, 0,
     "no fixed point, nothing saturates: to compare with, not to build"},
    {"tasks", HP_SETTING_FLAG, AT(tasks), 0, 0, "each thread has what is going on to itself"},
};
#undef AT

const struct hp_model hp_loop_daprof_model = {
    .name = "daprof",
    .help = "DAProf: executions and average iterations of loops",
    .presets = presets,
    .n_presets = sizeof presets / sizeof *presets,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
