// SPDX-License-Identifier: MIT
/*
 * Regions of hot spots, and the time line.
 *
 * A region is computed when its hot spot is detected, from what the process has executed by then; a
 * block that appears later and ends with a candidate branch joins it. Each block's executions at
 * that time are recorded, so what was executed since is a difference of counts.
 */
#include "profiler/hotspot/profiler_impl.h"

#include "base/grow.h"
#include "profiler/path/plan.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FOUND                                                                                 \
    4096 /* kept: without a monitor table the same ones are detected again and again */

static uint32_t insns_of(const struct hp_spots *spots, uint32_t block)
{
    return hp_code_block(spots->code, block)->insns;
}

static uint32_t first_of(const struct hp_map64 *map, uint64_t address)
{
    uint32_t block = hp_map64_get(map, address);
    return block == HP_MAP64_NONE ? 0 : block + 1;
}

/* --- Blocks by address ------------------------------------------------------------------------ */

/* Registers the block under an address: the latest one comes first. */
static enum hp_err link_block(struct hp_map64 *first, uint32_t *next, uint64_t address,
                              uint32_t block)
{
    uint32_t before = hp_map64_get(first, address);
    next[block] = before == HP_MAP64_NONE ? 0 : before + 1;
    return hp_map64_put(first, address, block);
}

/* Registers new blocks: before regions are computed. */
static enum hp_err link_blocks(struct hp_spots *spots)
{
    size_t n = spots->n_plan;
    HP_TRY(hp_grow(&spots->next_by_start, &spots->cap_by_start, n, sizeof *spots->next_by_start));
    HP_TRY(hp_grow(&spots->next_by_last, &spots->cap_by_last, n, sizeof *spots->next_by_last));
    for (; spots->n_linked < n; spots->n_linked++) {
        uint32_t id = (uint32_t)spots->n_linked;
        HP_TRY(link_block(&spots->first_by_start, spots->next_by_start, spots->plan[id].start, id));
        HP_TRY(link_block(&spots->first_by_last, spots->next_by_last, spots->plan[id].last, id));
    }
    return HP_OK;
}

/* --- Members ---------------------------------------------------------------------------------- */

/* Adds the block to the region; `before`: its executions at the detection. */
static enum hp_err add_member(struct hp_spots_process *p, struct hp_spots_found *f, uint32_t block,
                              uint64_t before)
{
    if (hp_map64_get(&f->member_of, block) != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&f->members, &f->cap_members, f->n_members + 1, sizeof *f->members));
    HP_TRY(hp_grow(&p->hot, &p->cap_hot, p->n_counts, sizeof *p->hot));
    HP_TRY(hp_map64_put(&f->member_of, block, (uint32_t)f->n_members));
    const uint32_t insns = insns_of(p->spots, block);
    f->members[f->n_members++] =
        (struct hp_spots_member){.block = block, .insns = insns, .before = before};
    f->seen += before * insns;
    if (!p->hot[block])
        p->hot[block] = before + 1;
    if (p->spots->tell)
        p->spots->tell(p->spots->tell_context, f->number, p->spots->plan[block].start);
    return HP_OK;
}

/* Blocks that end with a candidate. */
static enum hp_err add_candidates(struct hp_spots_process *p, struct hp_spots_found *f)
{
    const struct hp_spots *spots = p->spots;
    for (size_t i = 0; i < f->n_candidates; i++) {
        uint32_t at = first_of(&spots->first_by_last, f->candidates[i].address);
        for (; at; at = spots->next_by_last[at - 1])
            HP_TRY(add_member(p, f, at - 1, p->counts[at - 1]));
    }
    return HP_OK;
}

/* --- Tight regions ---------------------------------------------------------------------------- */

/* The shortest executed block that ends there; its number + 1. */
static uint32_t shortest(const struct hp_spots_process *p, uint64_t last)
{
    const struct hp_spots *spots = p->spots;
    uint32_t found = 0;
    for (uint32_t at = first_of(&spots->first_by_last, last); at; at = spots->next_by_last[at - 1])
        if (p->counts[at - 1] &&
            (!found || spots->plan[at - 1].start > spots->plan[found - 1].start))
            found = at;
    return found;
}

/* Adds the blocks that end like this one and start where it does or later. */
static enum hp_err add_from(struct hp_spots_process *p, struct hp_spots_found *f, uint32_t block)
{
    const struct hp_spots *spots = p->spots;
    const struct hp_spots_block *b = &spots->plan[block];
    uint32_t longest = hp_map64_get(&f->longest, b->last);
    if (longest != HP_MAP64_NONE && spots->plan[longest].start <= b->start)
        return HP_OK;
    HP_TRY(hp_map64_put(&f->longest, b->last, block));
    uint32_t at = first_of(&spots->first_by_last, b->last);
    for (; at; at = spots->next_by_last[at - 1])
        if (spots->plan[at - 1].start >= b->start)
            HP_TRY(add_member(p, f, at - 1, p->counts[at - 1]));
    return HP_OK;
}

static bool is_own(const struct hp_spots_found *f, uint64_t address)
{
    return hp_map64_get(&f->branches, address) != HP_MAP64_NONE;
}

/* A candidate went to `start`: a block that starts there and ends with a candidate belongs to the
 * region, if one of the two candidates is the region's own. */
static enum hp_err enter(struct hp_spots_process *p, struct hp_spots_found *f, bool own,
                         uint64_t start)
{
    const struct hp_spots *spots = p->spots;
    uint32_t at = first_of(&spots->first_by_start, start);
    for (; at; at = spots->next_by_start[at - 1]) {
        const struct hp_spots_block *block = &spots->plan[at - 1];
        if (p->counts[at - 1] && block->profiled &&
            (is_own(f, block->last) ||
             (own && hp_map64_get(&p->candidates, block->last) != HP_MAP64_NONE)))
            HP_TRY(add_from(p, f, at - 1));
    }
    return HP_OK;
}

static enum hp_err enter_from(struct hp_spots_process *p, struct hp_spots_found *f, bool own,
                              const struct hp_hotspot_branch *c)
{
    uint32_t at = shortest(p, c->address); /* all of them end alike */
    if (!at)
        return HP_OK;
    const struct hp_block *block = hp_code_block(p->spots->code, at - 1);
    bool comes_back = block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND;
    uint64_t target = c->target ? c->target : block->target;
    if (c->taken && target)
        HP_TRY(enter(p, f, own, target));
    return c->executed > c->taken || comes_back ? enter(p, f, own, block->end) : HP_OK;
}

/* Docs: "Tight". */
static enum hp_err add_tight(struct hp_spots_process *p, struct hp_spots_found *f)
{
    const struct hp_spots *spots = p->spots;
    for (size_t i = 0; i < f->n_candidates; i++) {
        uint64_t last = f->candidates[i].address;
        uint32_t at = shortest(p, last);
        HP_TRY(hp_map64_put(&p->candidates, last, 1));
        if (at)
            HP_TRY(add_from(p, f, at - 1));
    }
    for (uint32_t at = p->found; at; at = spots->found[at - 1]->next) {
        const struct hp_spots_found *g = spots->found[at - 1];
        for (size_t i = 0; i < g->n_candidates; i++)
            HP_TRY(enter_from(p, f, g == f, &g->candidates[i]));
    }
    return HP_OK;
}

/* Whether a new block of the code map belongs to the region. */
static bool joins(const struct hp_spots *spots, const struct hp_spots_found *f, uint32_t block)
{
    const struct hp_spots_block *b = &spots->plan[block];
    if (!b->profiled)
        return false;
    if (!spots->config.tight)
        return is_own(f, b->last);
    uint32_t longest = hp_map64_get(&f->longest, b->last);
    return longest != HP_MAP64_NONE && spots->plan[longest].start <= b->start;
}

/* --- Ways between candidates ------------------------------------------------------------------ */

/* Blocks without a profiled branch that candidates lead to. */
struct ways {
    const struct hp_spots_process *process;
    const struct hp_spots_found *found;
    uint32_t *blocks;
    size_t n, cap;
    struct hp_map64 known; /* block -> 1 */
};

/* Adds those of them that start there; their successors are found when they are processed. */
static enum hp_err lead_to(struct ways *w, uint64_t address)
{
    const struct hp_spots *spots = w->process->spots;
    uint32_t at = first_of(&spots->first_by_start, address);
    for (; at; at = spots->next_by_start[at - 1]) {
        uint32_t block = at - 1;
        if (spots->plan[block].profiled || !w->process->counts[block] ||
            hp_map64_get(&w->known, block) != HP_MAP64_NONE)
            continue;
        HP_TRY(hp_grow(&w->blocks, &w->cap, w->n + 1, sizeof *w->blocks));
        HP_TRY(hp_map64_put(&w->known, block, 1));
        w->blocks[w->n++] = block;
    }
    return HP_OK;
}

/* The successors of a block without a profiled branch: at most two addresses. */
static unsigned successors(const struct hp_spots *spots, uint32_t id, uint64_t to[2])
{
    const struct hp_block *block = hp_code_block(spots->code, id);
    unsigned n = 0;
    if (block->flow == HP_FLOW_JUMP || block->flow == HP_FLOW_CALL)
        to[n++] = block->target;
    if (block->flow != HP_FLOW_TRAP && hp_path_falls(spots->code, block))
        to[n++] = block->end;
    return n;
}

/* Whether a block that starts there ends with a candidate, or leads to one (value 2). */
static bool leads_in(const struct ways *w, uint64_t address)
{
    const struct hp_spots *spots = w->process->spots;
    uint32_t at = first_of(&spots->first_by_start, address);
    for (; at; at = spots->next_by_start[at - 1]) {
        uint32_t block = at - 1;
        if (!w->process->counts[block])
            continue;
        if (spots->plan[block].profiled
                ? hp_map64_get(&w->found->branches, spots->plan[block].last) != HP_MAP64_NONE
                : hp_map64_get(&w->known, block) == 2)
            return true;
    }
    return false;
}

/* Computed branches: the targets seen while they were profiled. */
static enum hp_err lead_computed(struct ways *w, uint64_t address)
{
    const struct hp_spot_pairs *pairs = &w->process->pairs;
    uint32_t at = first_of(&pairs->latest, address);
    for (; at; at = pairs->pairs[at - 1].before)
        HP_TRY(lead_to(w, pairs->pairs[at - 1].target));
    return HP_OK;
}

static bool is_computed(uint8_t flow)
{
    return flow == HP_FLOW_JUMP_IND || flow == HP_FLOW_CALL_IND || flow == HP_FLOW_RETURN;
}

/* Adds where a candidate went. */
static enum hp_err lead_from(struct ways *w, const struct hp_hotspot_branch *c)
{
    const struct hp_spots *spots = w->process->spots;
    if (spots->config.index == HP_INDEX_TARGET)
        return lead_to(w, c->target);
    uint32_t at = first_of(&spots->first_by_last, c->address);
    for (; at; at = spots->next_by_last[at - 1]) {
        const struct hp_block *block = hp_code_block(spots->code, at - 1);
        if (!w->process->counts[at - 1])
            continue;
        if (c->taken && !is_computed(block->flow))
            HP_TRY(lead_to(w, block->target));
        if (c->executed > c->taken)
            HP_TRY(lead_to(w, block->end));
    }
    return c->taken && is_computed(c->flow) ? lead_computed(w, c->address) : HP_OK;
}

/* Marks those that lead to a candidate, directly or through others, until no more are found. */
static enum hp_err mark_leading(struct ways *w)
{
    uint64_t to[2];
    for (bool more = true; more;) {
        more = false;
        for (size_t i = w->n; i-- > 0;) {
            if (hp_map64_get(&w->known, w->blocks[i]) == 2)
                continue;
            unsigned n = successors(w->process->spots, w->blocks[i], to);
            for (unsigned k = 0; k < n; k++) {
                if (!leads_in(w, to[k]))
                    continue;
                HP_TRY(hp_map64_put(&w->known, w->blocks[i], 2));
                more = true;
                break;
            }
        }
    }
    return HP_OK;
}

static enum hp_err find_ways(struct ways *w)
{
    uint64_t to[2];
    for (size_t i = 0; i < w->found->n_candidates; i++)
        HP_TRY(lead_from(w, &w->found->candidates[i]));
    for (size_t i = 0; i < w->n; i++) {
        unsigned n = successors(w->process->spots, w->blocks[i], to);
        for (unsigned k = 0; k < n; k++)
            HP_TRY(lead_to(w, to[k]));
    }
    return mark_leading(w);
}

static enum hp_err add_ways(struct hp_spots_process *p, struct hp_spots_found *f)
{
    struct ways w = {.process = p, .found = f};
    enum hp_err err = find_ways(&w);
    for (size_t i = 0; i < w.n && err == HP_OK; i++)
        if (hp_map64_get(&w.known, w.blocks[i]) == 2)
            err = add_member(p, f, w.blocks[i], p->counts[w.blocks[i]]);
    free(w.blocks);
    hp_map64_fini(&w.known);
    return err;
}

/* --- Detection -------------------------------------------------------------------------------- */

void hp_spots_found_free(struct hp_spots_found *f)
{
    free(f->candidates);
    free(f->modules);
    hp_map64_fini(&f->branches);
    hp_map64_fini(&f->longest);
    hp_map64_fini(&f->member_of);
    free(f->members);
    free(f->slices);
    free(f);
}

static enum hp_err copy_candidates(struct hp_spots_found *f, const struct hp_hotspot *hotspot)
{
    f->n_candidates = hotspot->n_candidates;
    f->candidates = malloc((f->n_candidates + 1) * sizeof *f->candidates);
    if (!f->candidates)
        return hp_fail_nomem();
    if (f->n_candidates)
        memcpy(f->candidates, hotspot->candidates, f->n_candidates * sizeof *f->candidates);
    for (size_t i = 0; i < f->n_candidates; i++)
        HP_TRY(hp_map64_put(&f->branches, f->candidates[i].address, 1));
    return HP_OK;
}

static enum hp_err add_found(struct hp_spots_process *p, const struct hp_hotspot *hotspot)
{
    struct hp_spots *spots = p->spots;
    HP_TRY(hp_grow(&spots->found, &spots->cap_found, spots->n_found + 1, sizeof *spots->found));
    struct hp_spots_found *f = calloc(1, sizeof *f);
    if (!f)
        return hp_fail_nomem();
    f->number = (uint32_t)spots->n_found;
    spots->found[spots->n_found++] = f;
    f->pid = p->pid;
    f->at_branches = hotspot->branches;
    f->at_instructions = spots->clock;
    f->next = p->found;
    p->found = (uint32_t)spots->n_found;
    HP_TRY(copy_candidates(f, hotspot));
    HP_TRY(spots->config.tight ? add_tight(p, f) : add_candidates(p, f));
    return add_ways(p, f);
}

/* Branches retired by all detectors. */
static uint64_t branches_of_run(const struct hp_spots *spots)
{
    uint64_t branches = spots->stats.branches;
    if (spots->detector)
        return branches + spots->detector->stats.branches;
    for (size_t i = 0; i < spots->n_processes; i++)
        branches += spots->processes[i]->detector->stats.branches;
    return branches;
}

void hp_spots_on_detection(void *context, const struct hp_hotspot *hotspot)
{
    struct hp_spots *spots = context;
    struct hp_hotspot found = *hotspot;
    struct hp_spots_process *p = NULL;
    for (size_t i = 0; i < spots->n_processes && !p; i++)
        if (spots->processes[i]->number == hotspot->process)
            p = spots->processes[i];
    if (spots->config.monitor)
        hp_spots_forget(p, found.candidates, found.n_candidates);
    else
        hp_spots_flush(p);
    found.branches = branches_of_run(spots);
    if (spots->n_found >= MOST_FOUND) {
        spots->not_kept++;
        return;
    }
    if (link_blocks(spots) != HP_OK || add_found(p, &found) != HP_OK)
        spots->out_of_memory = true;
}

/* --- The time line ---------------------------------------------------------------------------- */

/* Adds new blocks of the code map that end with a candidate of a known hot spot. */
static enum hp_err complete_regions(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    size_t n = p->n_counts < spots->n_plan ? p->n_counts : spots->n_plan;
    if (p->found)
        HP_TRY(link_blocks(spots));
    for (size_t block = p->known_blocks; block < n && p->found; block++)
        for (uint32_t at = p->found; at; at = spots->found[at - 1]->next) {
            struct hp_spots_found *f = spots->found[at - 1];
            if (joins(spots, f, (uint32_t)block))
                HP_TRY(add_member(p, f, (uint32_t)block, 0));
        }
    p->known_blocks = n;
    return HP_OK;
}

uint64_t hp_spots_executed(const struct hp_spots_process *p, const struct hp_spots_found *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->n_members; i++)
        sum += p->counts[f->members[i].block] * f->members[i].insns;
    return sum;
}

/* What was executed in the regions since the last call belongs to the present slice. */
static enum hp_err add_up(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    hp_spots_flush(p);
    HP_TRY(complete_regions(p));
    for (uint32_t at = p->found; at; at = spots->found[at - 1]->next) {
        struct hp_spots_found *f = spots->found[at - 1];
        uint64_t now = hp_spots_executed(p, f);
        if (now == f->seen)
            continue;
        if (!f->n_slices || f->slices[f->n_slices - 1].slice != spots->slice) {
            HP_TRY(hp_grow(&f->slices, &f->cap_slices, f->n_slices + 1, sizeof *f->slices));
            f->slices[f->n_slices++] = (struct hp_spots_slice){.slice = spots->slice};
        }
        f->slices[f->n_slices - 1].instructions += now - f->seen;
        f->after += now - f->seen;
        f->seen = now;
    }
    return HP_OK;
}

/* Doubles the width of the slices. */
static void join_slices(struct hp_spots *spots)
{
    for (size_t i = 0; i < spots->n_found; i++) {
        struct hp_spots_found *f = spots->found[i];
        size_t n = 0;
        for (size_t k = 0; k < f->n_slices; k++) {
            uint32_t slice = f->slices[k].slice / 2;
            if (n && f->slices[n - 1].slice == slice)
                f->slices[n - 1].instructions += f->slices[k].instructions;
            else
                f->slices[n++] = (struct hp_spots_slice){slice, f->slices[k].instructions};
        }
        f->n_slices = n;
    }
    spots->slice /= 2;
    spots->width *= 2;
}

void hp_spots_end_slice(struct hp_spots *spots)
{
    for (size_t i = 0; i < spots->n_processes; i++)
        if (spots->processes[i]->found && add_up(spots->processes[i]) != HP_OK)
            spots->out_of_memory = true;
    while (spots->clock >= spots->slice_end) { /* a block can be longer than a slice */
        spots->slice++;
        if (spots->slice == HP_HOTSPOT_SLICES)
            join_slices(spots);
        spots->slice_end = (uint64_t)(spots->slice + 1) * spots->width;
    }
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Keeps what is needed of a hot spot once its process's counts are gone: only executed blocks
 * stay. */
static enum hp_err seal_found(struct hp_spots_process *p, struct hp_spots_found *f)
{
    const struct hp_spots *spots = p->spots;
    size_t n = 0;
    f->total = hp_spots_executed(p, f);
    f->modules = calloc(f->n_candidates + 1, sizeof *f->modules);
    if (!f->modules)
        return hp_fail_nomem();
    for (size_t i = 0; i < f->n_members; i++)
        if (p->counts[f->members[i].block])
            f->members[n++] = f->members[i];
    f->n_members = n;
    for (size_t i = 0; i < f->n_candidates; i++) {
        f->modules[i] = HP_NO_ID;
        uint32_t at = first_of(&spots->first_by_last, f->candidates[i].address);
        for (; at && f->modules[i] == HP_NO_ID; at = spots->next_by_last[at - 1])
            if (p->counts[at - 1])
                f->modules[i] = hp_code_block(spots->code, at - 1)->module;
    }
    hp_map64_fini(&f->branches);
    hp_map64_fini(&f->longest);
    hp_map64_fini(&f->member_of);
    return HP_OK;
}

static enum hp_err sum_up(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    HP_TRY(hp_grow(&spots->ran, &spots->cap_ran, p->n_counts, sizeof *spots->ran));
    HP_TRY(hp_grow(&spots->hot, &spots->cap_hot, p->n_counts, sizeof *spots->hot));
    for (size_t i = 0; i < p->n_counts; i++) {
        if (!p->counts[i])
            continue;
        uint64_t insns = insns_of(spots, (uint32_t)i);
        spots->ran[i] = 1;
        spots->summary.instructions += p->counts[i] * insns;
        if (i >= p->cap_hot || !p->hot[i])
            continue;
        spots->hot[i] = 1;
        spots->summary.total += p->counts[i] * insns;
        spots->summary.after += (p->counts[i] - (p->hot[i] - 1)) * insns;
    }
    return HP_OK;
}

void hp_spots_seal(struct hp_spots_process *p)
{
    enum hp_err err = add_up(p);
    for (uint32_t at = p->found; at && err == HP_OK; at = p->spots->found[at - 1]->next)
        err = seal_found(p, p->spots->found[at - 1]);
    if (err == HP_OK)
        err = sum_up(p);
    if (err != HP_OK)
        p->spots->out_of_memory = true;
}
