// SPDX-License-Identifier: MIT
/*
 * The model "ranges", run by run; ranges_steps.c takes whole units. docs/better.md explains the
 * design.
 */
#include "profiler/loop/ranges.h"

#include "profiler/loop/model.h"

#include <stdlib.h>
#include <string.h>

#define TRUST_MAX     15
#define SURE          2   /* iterations that distinguish a loop from a way back into one */
#define SECOND_CHANCE 64  /* one in this many shunned branches is accepted as a loop after all */
#define ITERATION     128 /* bytes: more are not executed in an iteration, mostly */
#define RANDOM_START  0x9e3779b9u

/* --- Numbers ---------------------------------------------------------------------------------- */

static uint32_t draw(struct hp_loop_ranges *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 17;
    r->random ^= r->random << 5;
    return r->random;
}

static uint64_t value_of(const struct hp_ranges_float *number)
{
    return (uint64_t)number->mantissa << number->exponent;
}

/* Rounds up or down at random, so that it is right on average. */
static void add(struct hp_loop_ranges *r, struct hp_ranges_float *number, uint64_t n, uint32_t bits)
{
    const uint8_t most = (1u << HP_RANGES_EXPONENT) - 1;
    uint64_t mask = (UINT64_C(1) << number->exponent) - 1;
    uint64_t mantissa = number->mantissa + (n >> number->exponent);
    if (n & mask)
        mantissa += (draw(r) & mask) < (n & mask);
    for (; mantissa >> bits; number->exponent++) {
        if (number->exponent == most) {
            mantissa = (UINT64_C(1) << bits) - 1;
            r->stats->saturations++;
            break;
        }
        mantissa = (mantissa >> 1) + (mantissa & 1 && draw(r) & 1);
    }
    number->mantissa = (uint32_t)mantissa;
}

/* --- Loops that are on ------------------------------------------------------------------------ */

static uint64_t bit(uint32_t slot)
{
    return UINT64_C(1) << slot;
}

/* How often an instruction counts: not before the execution is one, and twice in its first
 * iteration after that, for the one that went before. */
static uint32_t weight_of(const struct hp_ranges_live *live)
{
    return !live || !live->counted ? 0 : live->current == 1 && !live->many ? 2 : 1;
}

/* The loops that are on in this activation: the last ones without calls. */
static void find_frame(struct hp_loop_ranges *r)
{
    size_t i = r->n_live;
    r->frame = r->frame_low = r->steady = 0;
    while (i && !r->live[i - 1].calls) {
        const struct hp_ranges_slot *slot = &r->slots[r->live[--i].slot];
        r->frame |= bit(r->live[i].slot);
        if (weight_of(&r->live[i]) == 1)
            r->steady |= bit(r->live[i].slot);
        r->frame_low = slot->low > r->frame_low ? slot->low : r->frame_low;
    }
    r->frame_first = i;
}

/* What is known about code in its range need not be true any more. */
static void note_change(struct hp_loop_ranges *r, const struct hp_ranges_slot *slot)
{
    r->generation++;
    r->changes[r->generation % HP_RANGES_CHANGES] =
        (struct hp_ranges_change){.low = slot->low, .high = slot->high};
}

static void flush_iterations(struct hp_loop_ranges *r, struct hp_ranges_live *live)
{
    add(r, &r->slots[live->slot].iterations, live->current, r->config.iteration_bits);
    live->current = 0;
}

/* From now on instructions go to another slot. */
static void charge(struct hp_loop_ranges *r, uint32_t slot)
{
    if (slot == r->charged)
        return;
    const uint64_t most = (UINT64_C(1) << HP_RANGES_INSNS) - 1;
    if (r->charged != HP_NO_ID && r->insns)
        add(r, &r->slots[r->charged].instructions, r->insns < most ? r->insns : most,
            r->config.instruction_bits);
    r->insns = 0;
    r->charged = slot;
}

static uint32_t add_calls(const struct hp_loop_ranges *r, uint32_t calls, uint32_t more)
{
    uint32_t most = (1u << r->config.depth_bits) - 1;
    return calls + more < most ? calls + more : most;
}

/* Ends a loop; the caller updates the frame. */
static void end(struct hp_loop_ranges *r, size_t i)
{
    struct hp_ranges_live *live = &r->live[i];
    flush_iterations(r, live);
    if (i)
        live[-1].calls = add_calls(r, live[-1].calls, live->calls);
    memmove(live, live + 1, (r->n_live - i - 1) * sizeof *live);
    r->n_live--;
}

/* Makes room: ends the first loop of this activation whose range does not contain the address; else
 * the first that has not iterated, which loses nothing by it; else the first of all. */
static void make_room(struct hp_loop_ranges *r, uint64_t address)
{
    size_t victim = 0;
    for (size_t i = r->n_live; i-- > 0;)
        if (!r->live[i].counted)
            victim = i;
    for (size_t i = r->n_live; i-- > r->frame_first;) {
        const struct hp_ranges_slot *slot = &r->slots[r->live[i].slot];
        if (address < slot->low || address > slot->high)
            victim = i;
    }
    r->stats->context_overflows++;
    end(r, victim);
}

static void begin(struct hp_loop_ranges *r, uint32_t index, uint64_t place, uint64_t address)
{
    struct hp_ranges_slot *slot = &r->slots[index];
    if (r->n_live == r->config.contexts)
        make_room(r, address);
    r->live[r->n_live++] = (struct hp_ranges_live){.slot = index};
    find_frame(r);
    if (place == slot->head) {
        slot->trust = (uint8_t)(slot->trust + (slot->trust < TRUST_MAX));
    } else if (slot->trust) {
        slot->trust--;
    } else {
        slot->head = place;
        note_change(r, slot);
    }
}

static void iterate(struct hp_loop_ranges *r, struct hp_ranges_live *live)
{
    struct hp_ranges_slot *slot = &r->slots[live->slot];
    if (!live->counted) {
        if (!hp_loop_ranges_is_loop(slot))
            note_change(r, slot);
        add(r, &slot->executions, 1, r->config.execution_bits);
    }
    live->counted = true;
    if (++live->current == HP_RANGES_CURRENT) {
        live->many = true;
        flush_iterations(r, live);
    }
    if (weight_of(live) == 1)
        r->steady |= bit(live->slot);
}

/* The loop of this activation in this slot; NULL: not on. */
static struct hp_ranges_live *find_live(struct hp_loop_ranges *r, uint32_t slot)
{
    for (size_t i = r->n_live; i-- > r->frame_first;)
        if (r->live[i].slot == slot)
            return &r->live[i];
    return NULL;
}

/* --- Runs ------------------------------------------------------------------------------------- */

uint64_t hp_loop_ranges_find(const struct hp_loop_ranges *r, uint64_t address)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (address - r->slots[i].low <= r->slots[i].high - r->slots[i].low)
            found |= bit(i);
    for (uint64_t rest = found; rest; rest &= rest - 1) {
        const struct hp_ranges_slot *slot = &r->slots[__builtin_ctzll(rest)];
        if (!slot->used || slot->shunned)
            found &= ~(rest & -rest);
    }
    return found;
}

static uint64_t size_of(const struct hp_ranges_slot *slot)
{
    return slot->high - slot->low;
}

void hp_loop_ranges_charge(struct hp_loop_ranges *r, uint32_t slot, uint32_t insns)
{
    const uint32_t most = (1u << HP_RANGES_ASIDE) - 1;
    if (slot != HP_RANGES_MAX) {
        charge(r, slot);
        r->insns += (uint64_t)weight_of(find_live(r, slot)) * (insns + r->aside);
        r->aside = 0;
    } else if (r->frame) {
        r->aside = insns < most - r->aside ? r->aside + insns : most;
    }
}

void hp_loop_ranges_run(struct hp_loop_ranges *r, uint64_t slots, uint64_t start, uint64_t address,
                        uint32_t insns)
{
    uint32_t smallest = HP_NO_ID;
    bool entered = false;
    for (uint64_t rest = slots; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        const struct hp_ranges_slot *slot = &r->slots[i];
        bool head = start <= slot->head && slot->head <= address, is_new = !(r->frame & bit(i));
        if (is_new)
            begin(r, i, head ? slot->head : start < slot->low ? slot->low : start, address);
        else if (head)
            iterate(r, find_live(r, i));
        if (hp_loop_ranges_is_loop(slot) &&
            (smallest == HP_NO_ID || size_of(slot) < size_of(&r->slots[smallest]))) {
            smallest = i;
            entered = is_new;
        }
    }
    if (entered)
        r->aside = 0;
    hp_loop_ranges_charge(r, smallest == HP_NO_ID ? HP_RANGES_MAX : smallest, insns);
}

/* --- Finding loops ---------------------------------------------------------------------------- */

static uint32_t slot_at(const struct hp_loop_ranges *r, uint64_t low)
{
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (r->slots[i].used && r->slots[i].low == low)
            return i;
    return HP_NO_ID;
}

static void widen(struct hp_loop_ranges *r, struct hp_ranges_slot *slot, uint64_t address)
{
    if (address <= slot->high)
        return;
    slot->high = address;
    note_change(r, slot);
}

/* It is not a loop, but keeps its slot so that it is recognized. */
static void shun(struct hp_loop_ranges *r, uint32_t slot)
{
    charge(r, r->charged == slot ? HP_NO_ID : r->charged);
    for (size_t i = r->n_live; i-- > 0;)
        if (r->live[i].slot == slot)
            end(r, i);
    find_frame(r);
    r->slots[slot].shunned = true;
    note_change(r, &r->slots[slot]);
}

/* The slot for a new loop, after a random contest with the one with the fewest instructions;
 * HP_NO_ID: that one stays. */
static uint32_t choose_slot(struct hp_loop_ranges *r, uint64_t size)
{
    uint64_t on = 0, fewest = UINT64_MAX;
    uint32_t victim = HP_NO_ID;
    for (size_t i = 0; i < r->n_live; i++)
        on |= bit(r->live[i].slot);
    for (uint32_t i = 0; i < r->config.entries; i++) {
        uint64_t value = value_of(&r->slots[i].instructions);
        if (!r->slots[i].used)
            return i;
        if (!(on & bit(i)) && value < fewest) {
            fewest = value;
            victim = i;
        }
    }
    if (victim == HP_NO_ID || fewest <= size)
        return victim;
    uint64_t chance = (uint64_t)draw(r) << 32;
    chance |= draw(r);
    return chance % fewest < size ? victim : HP_NO_ID;
}

static void add_loop(struct hp_loop_ranges *r, uint64_t low, uint64_t address)
{
    uint64_t size = address - low + 1;
    uint32_t i = choose_slot(r, size < ITERATION ? size : ITERATION);
    if (i == HP_NO_ID)
        return;
    struct hp_ranges_slot *slot = &r->slots[i];
    charge(r, r->charged == i ? HP_NO_ID : r->charged);
    r->stats->replacements += slot->used;
    note_change(r, slot); /* as it was */
    /* It inherits the instructions; otherwise the next loop would take the slot at once. */
    *slot = (struct hp_ranges_slot){
        .low = low, .high = address, .head = low, .instructions = slot->instructions, .used = true};
    if (r->jump_from < low && r->jump_to > low && r->jump_to <= address)
        slot->head = r->jump_to;
    note_change(r, slot);
    begin(r, i, slot->head, address);
}

static uint32_t strength(const struct hp_ranges_live *live)
{
    return !live ? 0 : live->many ? HP_RANGES_CURRENT : live->current;
}

/* Whether the branch goes back into a loop that is on, from blocks after it. If there is a loop at
 * its target that iterates less often, that is not a loop. */
static bool is_way_back(struct hp_loop_ranges *r, uint64_t address, uint64_t target, uint32_t there)
{
    for (size_t i = r->n_live; i-- > r->frame_first;) {
        const struct hp_ranges_live *live = &r->live[i];
        const struct hp_ranges_slot *slot = &r->slots[live->slot];
        if (target <= slot->low || target > slot->high || address <= slot->high)
            continue;
        if (there != HP_NO_ID && r->slots[there].shunned)
            return true;
        if (strength(live) < SURE)
            continue;
        if (there == HP_NO_ID)
            return true;
        if (strength(live) > strength(find_live(r, there))) {
            shun(r, there);
            return true;
        }
    }
    return false;
}

/* Whether the branch iterates a loop that is on. */
static bool is_known(struct hp_loop_ranges *r, uint64_t address, uint64_t target)
{
    for (size_t i = r->n_live; i-- > r->frame_first;) {
        struct hp_ranges_slot *slot = &r->slots[r->live[i].slot];
        if (target == slot->low)
            widen(r, slot, address);
        if (target >= slot->low && target <= slot->head && slot->head <= address)
            return true;
    }
    return false;
}

static void branch_back(struct hp_loop_ranges *r, uint64_t address, uint64_t target, bool direct)
{
    if (target < r->frame_low) {
        for (size_t i = r->n_live; i-- > r->frame_first;)
            if (r->slots[r->live[i].slot].low > target)
                end(r, i);
        find_frame(r);
    }
    if (!direct || address - target >= r->config.max_offset)
        return;
    r->stats->branches++;
    uint32_t there = slot_at(r, target);
    if (is_way_back(r, address, target, there) || is_known(r, address, target))
        return;
    if (there == HP_NO_ID) {
        add_loop(r, target, address);
        return;
    }
    if (r->slots[there].shunned) {
        if (draw(r) & (SECOND_CHANCE - 1))
            return;
        r->slots[there].shunned = false;
        note_change(r, &r->slots[there]);
    }
    widen(r, &r->slots[there], address);
}

/* --- Transfers -------------------------------------------------------------------------------- */

void hp_loop_ranges_call(struct hp_loop_ranges *r)
{
    if (!r->n_live)
        return;
    struct hp_ranges_live *top = &r->live[r->n_live - 1];
    top->calls = add_calls(r, top->calls, 1);
    r->frame = r->frame_low = r->steady = 0;
    r->frame_first = r->n_live;
}

static void come_back(struct hp_loop_ranges *r)
{
    r->aside = 0;
    while (r->n_live && !r->live[r->n_live - 1].calls)
        end(r, r->n_live - 1);
    if (!r->n_live || --r->live[r->n_live - 1].calls == 0) {
        find_frame(r);
        return;
    }
    r->frame = r->frame_low = r->steady = 0;
    r->frame_first = r->n_live;
}

void hp_loop_ranges_transfer(struct hp_loop_ranges *r, uint64_t address, uint64_t target,
                             uint8_t flow, int depth)
{
    if (depth > 0) {
        hp_loop_ranges_call(r);
    } else if (depth < 0) {
        come_back(r);
    } else if (flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_JUMP_IND) {
        if (target <= address) {
            branch_back(r, address, target, flow != HP_FLOW_JUMP_IND);
        } else {
            r->jump_from = address;
            r->jump_to = target;
        }
    }
}

void hp_loop_ranges_branch(struct hp_loop_ranges *r, const struct hp_branch *branch)
{
    uint64_t start = branch->start ? branch->start : r->next;
    start = start && start <= branch->address ? start : branch->address;
    hp_loop_ranges_run(r, hp_loop_ranges_find(r, branch->address), start, branch->address,
                       branch->insns);
    r->next = branch->target;
    if (branch->taken)
        hp_loop_ranges_transfer(r, branch->address, branch->target, branch->flow,
                                hp_sbb_depth(branch->flow, branch->target, branch->end));
}

/* --- Creating and reading --------------------------------------------------------------------- */

enum hp_err hp_loop_ranges_new(const struct hp_loop_config *config, struct hp_loop_stats *stats,
                               struct hp_loop_ranges **ranges)
{
    struct hp_loop_ranges *r = calloc(1, sizeof *r);
    if (!r || !(r->live = calloc(config->contexts, sizeof *r->live))) {
        free(r);
        return hp_fail_nomem();
    }
    r->config = *config;
    r->stats = stats;
    r->charged = HP_NO_ID;
    r->random = RANDOM_START;
    r->generation = HP_RANGES_CHANGES + 1;
    *ranges = r;
    return HP_OK;
}

void hp_loop_ranges_free(struct hp_loop_ranges *r)
{
    if (!r)
        return;
    free(r->live);
    free(r->plans);
    free(r->blocks);
    free(r);
}

static struct hp_loop_entry entry_of(const struct hp_loop_ranges *r, uint32_t index)
{
    const struct hp_ranges_slot *slot = &r->slots[index];
    struct hp_loop_entry entry = {
        .address = slot->high,
        .target = slot->head,
        .executions = (double)value_of(&slot->executions),
        .iterations = (double)value_of(&slot->iterations),
        .instructions = (double)value_of(&slot->instructions),
    };
    for (size_t i = 0; i < r->n_live; i++)
        if (r->live[i].slot == index)
            entry.iterations += r->live[i].current;
    if (r->charged == index)
        entry.instructions += (double)r->insns;
    return entry;
}

size_t hp_loop_ranges_entries(const struct hp_loop_ranges *r, struct hp_loop_entry *entries)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->config.entries; i++) {
        if (!r->slots[i].used || r->slots[i].shunned)
            continue;
        struct hp_loop_entry entry = entry_of(r, i);
        size_t k = 0;
        while (k < n && entries[k].target != entry.target)
            k++;
        if (k == n) {
            entries[n++] = entry;
            continue;
        }
        entry.instructions += entries[k].instructions;
        if (entries[k].iterations > entry.iterations) {
            entries[k].instructions = entry.instructions;
            continue;
        }
        entries[k] = entry;
    }
    for (size_t k = 0; k < n; k++)
        entries[k].average =
            entries[k].executions > 0 ? entries[k].iterations / entries[k].executions : 0;
    return n;
}

static uint32_t bits_for(uint64_t max)
{
    uint32_t bits = 0;
    for (; max; max >>= 1)
        bits++;
    return bits;
}

uint64_t hp_loop_ranges_bits(const struct hp_loop_config *c)
{
    uint32_t address = c->address_bits - bits_for(c->insn_bytes - 1);
    uint32_t offset = bits_for((c->max_offset - 1) / c->insn_bytes);
    uint64_t numbers = c->execution_bits + c->iteration_bits + c->instruction_bits +
                       UINT64_C(3) * HP_RANGES_EXPONENT;
    uint64_t entry = address + 2 * offset + numbers + bits_for(TRUST_MAX) + 1; /* shunned */
    uint64_t on = bits_for(c->entries - 1) + bits_for(HP_RANGES_CURRENT) + c->depth_bits + 2;
    /* The charged slot and its instructions, those kept aside, the last forward branch (its target
     * and length), where the run began, random bits. */
    uint64_t rest =
        HP_RANGES_INSNS + bits_for(c->entries) + HP_RANGES_ASIDE + address + offset + address + 32;
    return c->entries * entry + c->contexts * on + bits_for(c->contexts) + rest;
}

/* --- Settings --------------------------------------------------------------------------------- */

static const struct hp_preset presets[] = {
    {"ranges",
     &(const struct hp_loop_config){.kind = HP_LOOP_RANGES,
                                    .entries = 20,
                                    .ways = HP_LOOP_FULL,
                                    .max_offset = 32768,
                                    .execution_bits = 14,
                                    .iteration_bits = 14,
                                    .instruction_bits = 12,
                                    .depth_bits = 6,
                                    .contexts = 11},
     "20 entries, as many bits as daprof", NULL},
};

#define AT(member) HP_MEMBER(struct hp_loop_config, member)
static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_NUMBER, AT(entries), 1, HP_RANGES_MAX, "loops that it remembers"},
    {"max-offset", HP_SETTING_NUMBER, AT(max_offset), 1, 1u << 31,
     "bytes: a branch makes a loop when its target is fewer before it"},
    {"execution-bits", HP_SETTING_NUMBER, AT(execution_bits), 2, 32,
     "bits of the mantissa of executions"},
    {"iteration-bits", HP_SETTING_NUMBER, AT(iteration_bits), 1, 22,
     "bits of the mantissa of iterations"},
    {"address-bits", HP_SETTING_NUMBER, AT(address_bits), 16, 64,
     "bits of a code address, for the size; auto: by architecture", .word = "auto"},
    {"insn-bytes", HP_SETTING_NUMBER, AT(insn_bytes), 1, 16,
     "unit of an offset, for the size; auto: by architecture", .word = "auto"},
    {"depth-bits", HP_SETTING_NUMBER, AT(depth_bits), 1, 16, "bits of the call depth"},
    {"contexts", HP_SETTING_NUMBER, AT(contexts), 1, 1024, "loops that can be on at once"},
    {"instruction-bits", HP_SETTING_NUMBER, AT(instruction_bits), 2, 32,
     "bits of the mantissa of instructions"},
};
#undef AT

const struct hp_model hp_loop_ranges_model = {
    .name = "ranges",
    .help = "loops as ranges of addresses, with what is executed in them (docs/better.md)",
    .presets = presets,
    .n_presets = sizeof presets / sizeof *presets,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
