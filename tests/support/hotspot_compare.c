// SPDX-License-Identifier: MIT
/*
 * Compares the profiler of hot spots with the slow reference, on a recorded trace:
 *   hotspot_compare TRACE DETECTOR...
 * By units, and by blocks, it must find the same hot spots at the same time with the same counters,
 * regions, counts and time line. Prints a line for each detector with some numbers and "equal", or
 * what is different. Exit status 0 equal, 1 different, 2 trouble.
 *
 * The reference reads the trace twice. First it detects, and computes regions when everything is
 * known; then it counts what is executed in them.
 */
#include "hotspot_reference.h"

#include "base/map64.h"
#include "engine/trace/replay.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/pipeline.h"
#include "profiler/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "hotspot_compare: %s: %s\n", what, hp_error_text());
    exit(2);
}

static void *grown(void *array, size_t n, size_t size)
{
    void *new = realloc(array, (n ? n : 1) * size);
    if (!new) {
        fprintf(stderr, "hotspot_compare: out of memory\n");
        exit(2);
    }
    return new;
}

/* --- The reference, as a profiler ------------------------------------------------------------- */

struct process {
    int32_t pid;
    uint32_t live;
    uint64_t *first; /* by block: the clock when it was first retired, its instructions included */
    size_t n_first;
};

/* A target of a computed branch, and when it was first taken. */
struct pair {
    uint32_t process;
    uint64_t branch, target, time;
    uint32_t before; /* with the same hash */
};

struct spot {
    const struct reference_spot *found;
    uint64_t time;            /* instructions */
    struct hp_map64 branches; /* addresses of candidates */
    uint8_t *members;         /* by block */
    uint64_t total, after;
    uint64_t *slices;
};

struct thread {
    struct slow *slow;
    uint32_t process;
};

struct slow {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_hotspot_config config;
    struct hotspot_reference *reference;
    bool counting; /* the second time */
    struct process *processes;
    size_t n_processes;
    struct thread **threads;
    size_t n_threads;
    struct pair *pairs;
    size_t n_pairs;
    struct hp_map64 pair_of; /* a hash of a pair -> the latest with it */
    struct spot *spots;
    size_t n_spots;
    uint8_t *is_hot; /* by block: in any of them */
    uint64_t clock, width;
    struct hp_hotspot_summary summary;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct slow *s = (struct slow *)profiler;
    uint32_t i = 0;
    while (i < s->n_processes && (s->processes[i].pid != info->pid || !s->processes[i].live))
        i++;
    if (i == s->n_processes) {
        s->processes = grown(s->processes, s->n_processes + 1, sizeof *s->processes);
        s->processes[s->n_processes++] = (struct process){.pid = info->pid};
    }
    s->processes[i].live++;
    struct thread *t = grown(NULL, 1, sizeof *t);
    *t = (struct thread){.slow = s, .process = i};
    s->threads = grown(s->threads, s->n_threads + 1, sizeof *s->threads);
    s->threads[s->n_threads++] = t;
    *state = t;
    return HP_OK;
}

static void note_pair(struct slow *s, uint32_t process, const struct hp_branch *branch)
{
    uint64_t key = hp_hash64(hp_hash64(branch->address) ^ branch->target) ^ process;
    uint32_t latest = hp_map64_get(&s->pair_of, key), at = latest;
    for (; at != HP_MAP64_NONE; at = s->pairs[at].before)
        if (s->pairs[at].process == process && s->pairs[at].branch == branch->address &&
            s->pairs[at].target == branch->target)
            return;
    s->pairs = grown(s->pairs, s->n_pairs + 1, sizeof *s->pairs);
    s->pairs[s->n_pairs] =
        (struct pair){process, branch->address, branch->target, s->clock, latest};
    if (hp_map64_put(&s->pair_of, key, (uint32_t)s->n_pairs++) != HP_OK)
        fail("pairs");
}

static void detected(struct slow *s)
{
    s->spots = grown(s->spots, s->n_spots + 1, sizeof *s->spots);
    s->spots[s->n_spots++] = (struct spot){.time = s->clock};
}

/* A retired block, in the first pass. */
static void detect_block(struct slow *s, uint32_t process, uint32_t block,
                         const struct hp_branch *branch)
{
    struct process *p = &s->processes[process];
    if (block >= p->n_first) {
        size_t n = (size_t)block * 2 + 1;
        p->first = grown(p->first, n, sizeof *p->first);
        for (; p->n_first < n; p->n_first++)
            p->first[p->n_first] = NEVER;
    }
    s->clock += hp_code_block(s->code, block)->insns;
    if (p->first[block] == NEVER)
        p->first[block] = s->clock;
    if (!branch || !hotspot_reference_profiles(&s->config, branch->flow))
        return;
    bool computed = branch->flow == HP_FLOW_JUMP_IND || branch->flow == HP_FLOW_CALL_IND ||
                    branch->flow == HP_FLOW_RETURN;
    if (computed && hotspot_reference_owns(s->reference, process))
        note_pair(s, process, branch);
    if (hotspot_reference_branch(s->reference, process, branch))
        detected(s);
}

/* The second pass. */
static void count_block(struct slow *s, uint32_t process, uint32_t block)
{
    uint64_t insns = hp_code_block(s->code, block)->insns, slice = s->clock / s->width;
    bool any = false, after = false;
    for (size_t i = 0; i < s->n_spots && s->is_hot[block]; i++) {
        struct spot *spot = &s->spots[i];
        if (spot->found->process != process || !spot->members[block])
            continue;
        any = true;
        spot->total += insns;
        if (s->clock < spot->time)
            continue;
        after = true;
        spot->after += insns;
        spot->slices[slice] += insns;
    }
    s->summary.total += any ? insns : 0;
    s->summary.after += after ? insns : 0;
    s->clock += insns;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct thread *t = state;
    for (size_t i = 0; i < batch->n; i++) {
        struct hp_branch branch;
        bool is_branch = hp_batch_branch(batch, i, &branch);
        if (t->slow->counting)
            count_block(t->slow, t->process, batch->blocks[i]);
        else
            detect_block(t->slow, t->process, batch->blocks[i], is_branch ? &branch : NULL);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct thread *t = state;
    if (event->kind == HP_EVENT_TAIL && t->slow->counting)
        count_block(t->slow, t->process, event->block);
    else if (event->kind == HP_EVENT_TAIL)
        detect_block(t->slow, t->process, event->block, NULL);
    if (event->kind == HP_EVENT_END && --t->slow->processes[t->process].live == 0 &&
        !t->slow->counting)
        hotspot_reference_end(t->slow->reference, t->process);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler, (void)result;
    return HP_OK;
}

static void free_slow(struct hp_profiler *profiler)
{
    (void)profiler;
}

static const struct hp_profiler_ops slow_ops = {
    .name = "reference",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_slow,
};

/* --- Regions ---------------------------------------------------------------------------------- */

/* All blocks by start address. */
struct index {
    struct slow *s;
    uint32_t *blocks;
    size_t n;
};

static const struct hp_block *sorted_table;

static int by_start(const void *a, const void *b)
{
    uint64_t x = sorted_table[*(const uint32_t *)a].start;
    uint64_t y = sorted_table[*(const uint32_t *)b].start;
    return x < y ? -1 : x > y;
}

static struct index make_index(struct slow *s)
{
    struct index index = {.s = s, .n = hp_code_n_blocks(s->code)};
    sorted_table = hp_code_blocks(s->code);
    index.blocks = grown(NULL, index.n, sizeof *index.blocks);
    for (size_t i = 0; i < index.n; i++)
        index.blocks[i] = (uint32_t)i;
    qsort(index.blocks, index.n, sizeof *index.blocks, by_start);
    return index;
}

static uint64_t first_run(const struct slow *s, uint32_t process, uint32_t block)
{
    const struct process *p = &s->processes[process];
    return block < p->n_first ? p->first[block] : NEVER;
}

/* The index of the first block that starts there, or later. */
static size_t place_of(const struct index *index, uint64_t address)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted_table[index->blocks[middle]].start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_candidate(const struct spot *spot, uint64_t address)
{
    return hp_map64_get(&spot->branches, address) != HP_MAP64_NONE;
}

/* Marks in `ways` the blocks that start there, were run, and end without a profiled branch. Returns
 * whether there is a new one. */
static bool go_to(const struct index *index, const struct spot *spot, uint64_t address,
                  uint8_t *ways)
{
    bool is_new = false;
    for (size_t i = place_of(index, address);
         i < index->n && sorted_table[index->blocks[i]].start == address; i++) {
        uint32_t block = index->blocks[i];
        if (hotspot_reference_profiles(&index->s->config, sorted_table[block].flow) ||
            ways[block] || first_run(index->s, spot->found->process, block) > spot->time)
            continue;
        ways[block] = 1;
        is_new = true;
    }
    return is_new;
}

/* Where a block without a profiled branch continues. */
static unsigned successors(const struct hp_block *b, uint64_t to[2])
{
    unsigned n = 0;
    bool direct = b->flow == HP_FLOW_JUMP || b->flow == HP_FLOW_CALL;
    if (direct)
        to[n++] = b->target;
    if (direct ? (b->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0
               : b->flow == HP_FLOW_NONE || b->flow == HP_FLOW_SYSCALL)
        to[n++] = b->end;
    return n;
}

/* Whether a block that starts there, and was run, ends with a candidate or is marked as leading to
 * one. */
static bool arrives(const struct index *index, const struct spot *spot, uint64_t address,
                    const uint8_t *ways)
{
    for (size_t i = place_of(index, address);
         i < index->n && sorted_table[index->blocks[i]].start == address; i++) {
        uint32_t block = index->blocks[i];
        if (first_run(index->s, spot->found->process, block) > spot->time)
            continue;
        if (hotspot_reference_profiles(&index->s->config, sorted_table[block].flow)
                ? is_candidate(spot, sorted_table[block].last)
                : ways[block] == 2)
            return true;
    }
    return false;
}

/* From a block that ends with a candidate. */
static void leave_block(const struct index *index, const struct spot *spot,
                        const struct hp_block *b, uint8_t *ways)
{
    for (size_t i = 0; i < spot->found->n_candidates; i++) {
        const struct hp_hotspot_branch *c = &spot->found->candidates[i];
        if (c->address != b->last)
            continue;
        if (c->taken && b->target)
            go_to(index, spot, b->target, ways);
        if (c->executed > c->taken)
            go_to(index, spot, b->end, ways);
    }
}

/* Whether a candidate with that address was taken. */
static bool was_taken(const struct spot *spot, uint64_t address)
{
    bool taken = false;
    for (size_t i = 0; i < spot->found->n_candidates; i++)
        taken = taken ||
                (spot->found->candidates[i].address == address && spot->found->candidates[i].taken);
    return taken;
}

static void leave_candidates(const struct index *index, const struct spot *spot, uint8_t *ways)
{
    const struct slow *s = index->s;
    uint32_t process = spot->found->process;
    if (s->config.index == HP_INDEX_TARGET) {
        for (size_t i = 0; i < spot->found->n_candidates; i++)
            go_to(index, spot, spot->found->candidates[i].target, ways);
        return;
    }
    for (uint32_t b = 0; b < index->n; b++)
        if (is_candidate(spot, sorted_table[b].last) && first_run(s, process, b) <= spot->time)
            leave_block(index, spot, &sorted_table[b], ways);
    for (size_t k = 0; k < s->n_pairs; k++) {
        const struct pair *pair = &s->pairs[k];
        if (pair->process == process && pair->time <= spot->time &&
            is_candidate(spot, pair->branch) && was_taken(spot, pair->branch))
            go_to(index, spot, pair->target, ways);
    }
}

/* --- Tight ones ------------------------------------------------------------------------------- */

/* Whether the candidate leads to that address. */
static bool leads_to(const struct index *index, const struct spot *spot,
                     const struct hp_hotspot_branch *c, uint64_t address)
{
    for (uint32_t b = 0; b < index->n; b++) {
        const struct hp_block *block = &sorted_table[b];
        if (block->last != c->address || first_run(index->s, spot->found->process, b) > spot->time)
            continue;
        bool call = block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND;
        if (c->taken && address == (c->target ? c->target : block->target))
            return true;
        return (c->executed > c->taken || call) && address == block->end;
    }
    return false;
}

/* Whether instructions from the start of the block, which ends with a candidate, belong to the
 * region. */
static bool is_entry(const struct index *index, const struct spot *spot, uint32_t block)
{
    const struct slow *s = index->s;
    bool own = is_candidate(spot, sorted_table[block].last), known = own, shortest = own;
    for (const struct spot *e = s->spots; e < spot; e++)
        known = known || (e->found->process == spot->found->process &&
                          is_candidate(e, sorted_table[block].last));
    if (!known)
        return false;
    for (uint32_t b = 0; b < index->n && shortest; b++)
        shortest = sorted_table[b].last != sorted_table[block].last ||
                   sorted_table[b].start <= sorted_table[block].start ||
                   first_run(s, spot->found->process, b) > spot->time;
    if (shortest)
        return true;
    for (const struct spot *e = own ? s->spots : spot; e <= spot; e++)
        for (size_t i = 0; i < e->found->n_candidates; i++)
            if (e->found->process == spot->found->process &&
                leads_to(index, spot, &e->found->candidates[i], sorted_table[block].start))
                return true;
    return false;
}

static void tighten(const struct index *index, struct spot *spot)
{
    const struct slow *s = index->s;
    for (uint32_t b = 0; b < index->n; b++)
        if (hotspot_reference_profiles(&s->config, sorted_table[b].flow))
            spot->members[b] = 0;
    for (uint32_t b = 0; b < index->n; b++) {
        if (!hotspot_reference_profiles(&s->config, sorted_table[b].flow) ||
            first_run(s, spot->found->process, b) > spot->time || !is_entry(index, spot, b))
            continue;
        for (uint32_t k = 0; k < index->n; k++)
            if (sorted_table[k].last == sorted_table[b].last &&
                sorted_table[k].start >= sorted_table[b].start &&
                first_run(s, spot->found->process, k) != NEVER)
                spot->members[k] = 1;
    }
}

static void find_region(const struct index *index, struct spot *spot)
{
    uint8_t *ways = calloc(index->n + 1, 1);
    spot->members = calloc(index->n + 1, 1);
    uint64_t to[2];
    for (size_t i = 0; i < spot->found->n_candidates; i++)
        if (hp_map64_put(&spot->branches, spot->found->candidates[i].address, 1) != HP_OK)
            fail("candidates");
    leave_candidates(index, spot, ways);
    for (int round = 0; round < 2; round++) /* first forward, then back from candidates */
        for (bool more = true; more;) {
            more = false;
            for (uint32_t b = 0; b < index->n; b++) {
                if (ways[b] != 1)
                    continue;
                unsigned n = successors(&sorted_table[b], to);
                for (unsigned k = 0; k < n; k++) {
                    if (round == 0) {
                        more = go_to(index, spot, to[k], ways) || more;
                    } else if (ways[b] == 1 && arrives(index, spot, to[k], ways)) {
                        ways[b] = 2;
                        more = true;
                    }
                }
            }
        }
    for (uint32_t b = 0; b < index->n; b++) {
        bool profiled = hotspot_reference_profiles(&index->s->config, sorted_table[b].flow);
        spot->members[b] = profiled ? is_candidate(spot, sorted_table[b].last) &&
                                          first_run(index->s, spot->found->process, b) != NEVER
                                    : ways[b] == 2;
    }
    if (index->s->config.tight)
        tighten(index, spot);
    free(ways);
}

/* --- Playing ---------------------------------------------------------------------------------- */

struct input {
    const char *path;
    struct hp_trace_reader *reader;
    struct hp_code *code;
    struct hp_functions *functions;
};

static void open_input(struct input *in, const char *path)
{
    *in = (struct input){.path = path};
    if (hp_trace_reader_open(path, &in->reader) != HP_OK ||
        hp_code_new(hp_trace_reader_info(in->reader)->run.arch, &in->code) != HP_OK ||
        hp_functions_new(in->code, &in->functions) != HP_OK)
        fail(path);
    hp_functions_want_lines(in->functions, HP_LINES_NONE);
}

static void close_input(struct input *in)
{
    hp_trace_reader_close(in->reader);
    hp_functions_free(in->functions);
    hp_code_free(in->code);
}

static void play(struct input *in, struct hp_profiler *one, struct hp_profiler *other)
{
    const struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    uint64_t damaged;
    if (hp_pipeline_new(in->code, NULL, NULL, &everything, &pipeline) != HP_OK ||
        hp_pipeline_add(pipeline, one) != HP_OK ||
        (other && hp_pipeline_add(pipeline, other) != HP_OK) ||
        hp_replay(in->reader, in->code, hp_pipeline_consumer(pipeline), false, &damaged) != HP_OK)
        fail(in->path);
    hp_pipeline_free(pipeline);
}

/* The profiler's results. */
struct fast {
    struct hp_profile *profile;
    struct hp_hotspot_summary summary;
    struct hp_hotspot_stats stats;
};

static void finish_fast(struct input *in, struct hp_profiler *profiler, struct fast *fast)
{
    struct hp_result *result = NULL;
    if (hp_profile_new(&fast->profile) != HP_OK ||
        hp_result_new(in->code, in->functions, fast->profile, &result) != HP_OK ||
        profiler->ops->finish(profiler, result) != HP_OK ||
        hp_hotspot_summary(profiler, &fast->summary) != HP_OK)
        fail("profiler");
    fast->stats = *hp_hotspot_profiler_stats(profiler);
    hp_result_free(result);
    profiler->ops->free(profiler);
}

/* --- Comparing -------------------------------------------------------------------------------- */

static bool good;

static void expect(const char *what, size_t spot, uint64_t found, uint64_t expected)
{
    if (found == expected)
        return;
    if (good)
        printf("DIFFERENT: hot spot %zu: %s is %" PRIu64 ", by the reference %" PRIu64 "\n", spot,
               what, found, expected);
    good = false;
}

static void compare_branches(const struct slow *s, const struct hp_profile *profile)
{
    size_t at = 0;
    for (size_t i = 0; i < s->n_spots && good; i++)
        for (size_t k = 0; k < s->spots[i].found->n_candidates; k++, at++) {
            const struct hp_hotspot_branch *c = &s->spots[i].found->candidates[k];
            if (at == profile->n_hotspot_branches) {
                expect("the number of candidates", i, at, at + 1);
                return;
            }
            const struct hp_photspot_branch *b = &profile->hotspot_branches[at];
            uint64_t base = hp_code_module(s->code, b->branch.module)->base;
            expect("the owner of a candidate", i, b->hotspot, i);
            expect("a candidate", i, b->branch.offset + base, c->address);
            expect("executed", i, b->executed, c->executed);
            expect("taken", i, b->taken, c->taken);
            expect("a flow", i, b->flow, c->flow);
        }
    expect("the number of candidates", s->n_spots, profile->n_hotspot_branches, at);
}

static void compare_blocks(const struct slow *s, const struct hp_profile *profile)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_spots; i++)
        for (uint32_t b = 0; b < hp_code_n_blocks(s->code); b++)
            n += s->spots[i].members[b];
    expect("the number of blocks", s->n_spots, profile->n_hotspot_blocks, n);
    for (size_t i = 0; i < profile->n_hotspot_blocks && good; i++) {
        const struct hp_photspot_block *b = &profile->hotspot_blocks[i];
        expect("a block", b->hotspot, s->spots[b->hotspot].members[b->block], 1);
    }
}

static void compare_slices(const struct slow *s, const struct hp_profile *profile)
{
    uint64_t sum = 0, after = 0;
    for (size_t i = 0; i < profile->n_hotspot_slices && good; i++) {
        const struct hp_photspot_slice *slice = &profile->hotspot_slices[i];
        expect("the width", slice->hotspot, slice->width, s->width);
        expect("a slice's number", slice->hotspot, slice->slice < HP_HOTSPOT_SLICES, true);
        expect("a slice", slice->hotspot, slice->instructions,
               s->spots[slice->hotspot].slices[slice->slice]);
        sum += slice->instructions;
    }
    for (size_t i = 0; i < s->n_spots; i++)
        after += s->spots[i].after;
    expect("the sum of slices", s->n_spots, sum, after);
}

/* Distinct instructions of blocks: each module and address once. */
static uint64_t distinct(struct hp_code *code, const uint8_t *flags)
{
    struct hp_map64 seen = {0};
    uint64_t n = 0;
    for (uint32_t b = 0; b < hp_code_n_blocks(code); b++) {
        const struct hp_insn *insns;
        if (!flags[b])
            continue;
        if (hp_code_insns(code, b, &insns) != HP_OK)
            fail("instructions");
        for (uint32_t i = 0; i < hp_code_block(code, b)->insns; i++) {
            uint64_t key = insns[i].address ^ (uint64_t)hp_code_block(code, b)->module << 48;
            if (hp_map64_get(&seen, key) != HP_MAP64_NONE)
                continue;
            n++;
            if (hp_map64_put(&seen, key, 1) != HP_OK)
                fail("instructions");
        }
    }
    hp_map64_fini(&seen);
    return n;
}

static void compare_summary(struct slow *s, const struct hp_hotspot_summary *m)
{
    uint32_t n = hp_code_n_blocks(s->code);
    uint8_t *ran = calloc(n + 1, 1), *hot = calloc(n + 1, 1);
    for (uint32_t b = 0; b < n; b++) {
        for (size_t i = 0; i < s->n_processes; i++)
            ran[b] |= first_run(s, (uint32_t)i, b) != NEVER;
        for (size_t i = 0; i < s->n_spots; i++)
            hot[b] |= s->spots[i].members[b];
    }
    expect("the number of hot spots", s->n_spots, m->hotspots, s->n_spots);
    expect("static instructions", s->n_spots, m->insns, distinct(s->code, hot));
    expect("static instructions executed", s->n_spots, m->executed, distinct(s->code, ran));
    expect("instructions", s->n_spots, m->instructions, s->clock);
    expect("instructions in hot spots", s->n_spots, m->total, s->summary.total);
    expect("instructions after detection", s->n_spots, m->after, s->summary.after);
    expect("the first detection", s->n_spots, m->first_branches,
           s->n_spots ? s->spots[0].found->branches : 0);
    free(ran);
    free(hot);
}

static void compare(struct slow *s, const struct fast *fast)
{
    const struct hp_profile *profile = fast->profile;
    expect("the number of hot spots", s->n_spots, profile->n_hotspots, s->n_spots);
    for (size_t i = 0; i < s->n_spots && good; i++) {
        const struct hp_photspot *h = &profile->hotspots[i];
        const struct spot *spot = &s->spots[i];
        expect("its number", i, h->number, i);
        expect("its process", i, (uint64_t)h->pid,
               (uint64_t)s->processes[spot->found->process].pid);
        expect("branches at detection", i, h->at_branches, spot->found->branches);
        expect("instructions at detection", i, h->at_instructions, spot->time);
        expect("static instructions", i, h->insns, distinct(s->code, spot->members));
        expect("instructions in it", i, h->total, spot->total);
        expect("instructions after detection", i, h->after, spot->after);
    }
    if (!good)
        return;
    compare_branches(s, profile);
    compare_blocks(s, profile);
    compare_slices(s, profile);
    compare_summary(s, &fast->summary);
    const uint64_t *found = (const uint64_t *)&fast->stats;
    const uint64_t *expected = (const uint64_t *)hotspot_reference_stats(s->reference);
    for (size_t i = 0; i < sizeof fast->stats / sizeof *found; i++)
        expect("a statistic", i, found[i], expected[i]);
}

/* --- All -------------------------------------------------------------------------------------- */

static void play_fast(const char *path, const struct hp_hotspot_config *config, struct fast *fast)
{
    struct input in;
    struct hp_profiler *profiler;
    open_input(&in, path);
    if (hp_hotspot_profiler_new(in.code, in.functions, config, &profiler) != HP_OK)
        fail("detector");
    play(&in, profiler, NULL);
    finish_fast(&in, profiler, fast);
    close_input(&in);
}

/* Runs the reference, and beside it the profiler, by blocks. */
static void play_slow(struct input *in, struct slow *s, struct fast *fast)
{
    struct hp_profiler *profiler;
    if (hp_hotspot_profiler_new(in->code, in->functions, &s->config, &profiler) != HP_OK)
        fail("detector");
    struct hp_hotspot_config config = s->config;
    if (config.shift == HP_HOTSPOT_SHIFT_ARCH) {
        enum hp_arch arch = hp_code_arch(in->code);
        config.shift = arch == HP_ARCH_X86_64                             ? 0
                       : arch == HP_ARCH_AARCH64 || arch == HP_ARCH_ALPHA ? 2
                                                                          : 1;
    }
    s->code = in->code;
    s->reference = hotspot_reference_new(&config);
    play(in, &s->base, profiler);
    finish_fast(in, profiler, fast);
}

/* Again, with everything known. */
static void play_counting(const char *path, struct slow *s)
{
    struct input in;
    struct index index = make_index(s);
    size_t n;
    const struct reference_spot *found = hotspot_reference_spots(s->reference, &n);
    s->width = 1 << 18;
    while (s->clock / s->width >= HP_HOTSPOT_SLICES)
        s->width *= 2;
    s->is_hot = calloc(index.n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        s->spots[i].found = &found[i];
    }
    for (size_t i = 0; i < n; i++) {
        s->spots[i].slices = calloc(HP_HOTSPOT_SLICES + 1, sizeof *s->spots[i].slices);
        find_region(&index, &s->spots[i]);
        for (size_t b = 0; b < index.n; b++)
            s->is_hot[b] |= s->spots[i].members[b];
    }
    s->counting = true;
    s->clock = 0;
    size_t n_processes = s->n_processes;
    s->n_processes = 0; /* they come again, in the same order and with the same numbers */
    struct process *keep = s->processes;
    s->processes = NULL;
    open_input(&in, path);
    play(&in, &s->base, NULL);
    close_input(&in);
    free(s->processes);
    s->processes = keep;
    s->n_processes = n_processes;
    free(index.blocks);
}

static void free_all(struct slow *s)
{
    for (size_t i = 0; i < s->n_spots; i++) {
        free(s->spots[i].members);
        hp_map64_fini(&s->spots[i].branches);
        free(s->spots[i].slices);
    }
    for (size_t i = 0; i < s->n_processes; i++)
        free(s->processes[i].first);
    for (size_t i = 0; i < s->n_threads; i++)
        free(s->threads[i]);
    free(s->is_hot);
    free(s->spots);
    free(s->processes);
    free(s->threads);
    free(s->pairs);
    hp_map64_fini(&s->pair_of);
    hotspot_reference_free(s->reference);
}

static bool compare_detector(const char *path, const char *text)
{
    struct slow s = {.base.ops = &slow_ops};
    struct fast by_units, by_blocks;
    struct input in;
    if (hp_hotspot_config_parse(text, &s.config) != HP_OK)
        fail("detector");
    good = true;
    play_fast(path, &s.config, &by_units);
    open_input(&in, path);
    play_slow(&in, &s, &by_blocks);
    play_counting(path, &s);
    compare(&s, &by_units);
    if (!good)
        printf("(by units)\n");
    bool equal = good;
    compare(&s, &by_blocks);
    printf("%s: branches %" PRIu64 " profiled %" PRIu64 " spots %zu static %" PRIu64
           " executed %" PRIu64 " total %" PRIu64 " after %" PRIu64 ": %s\n",
           text, hotspot_reference_stats(s.reference)->branches,
           hotspot_reference_stats(s.reference)->profiled, s.n_spots, by_units.summary.insns,
           by_units.summary.executed, by_units.summary.total, by_units.summary.after,
           equal && good ? "equal" : "different");
    free_all(&s);
    close_input(&in);
    hp_profile_free(by_units.profile);
    hp_profile_free(by_blocks.profile);
    return equal && good;
}

int main(int argc, char **argv)
{
    bool equal = true;
    if (argc < 3) {
        fprintf(stderr, "usage: hotspot_compare TRACE DETECTOR...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        equal = compare_detector(argv[1], argv[i]) && equal;
    return equal ? 0 : 1;
}
