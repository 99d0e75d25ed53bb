// SPDX-License-Identifier: MIT
/* Adds hot spots to the profile. */
#include "profiler/hotspot/profiler_impl.h"

#include "profiler/result.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Distinct instructions -------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct hp_block *x = *(const struct hp_block *const *)a;
    const struct hp_block *y = *(const struct hp_block *const *)b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Instructions of `n` overlapping blocks: each address once. */
static enum hp_err count_overlapping(struct hp_code *code, const struct hp_block *const *blocks,
                                     size_t n, uint64_t *instructions)
{
    struct hp_map64 seen = {0};
    enum hp_err err = HP_OK;
    const struct hp_block *table = hp_code_blocks(code);
    for (size_t i = 0; i < n && err == HP_OK; i++) {
        const struct hp_insn *insns;
        err = hp_code_insns(code, (uint32_t)(blocks[i] - table), &insns);
        for (uint32_t k = 0; err == HP_OK && k < blocks[i]->insns; k++) {
            if (hp_map64_get(&seen, insns[k].address) != HP_MAP64_NONE)
                continue;
            err = hp_map64_put(&seen, insns[k].address, 1);
            ++*instructions;
        }
    }
    hp_map64_fini(&seen);
    return err;
}

/* Sorted blocks: only overlapping ones are examined instruction by instruction. */
static enum hp_err count_sorted(struct hp_code *code, const struct hp_block *const *blocks,
                                size_t n, uint64_t *instructions)
{
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t end = blocks[i]->end;
        for (next = i + 1;
             next < n && blocks[next]->module == blocks[i]->module && blocks[next]->start < end;
             next++)
            end = blocks[next]->end > end ? blocks[next]->end : end;
        if (next == i + 1)
            *instructions += blocks[i]->insns;
        else
            HP_TRY(count_overlapping(code, blocks + i, next - i, instructions));
    }
    return HP_OK;
}

enum hp_err hp_spots_distinct(struct hp_code *code, const uint32_t *ids, size_t n,
                              uint64_t *instructions)
{
    const struct hp_block **blocks = calloc(n + 1, sizeof *blocks);
    *instructions = 0;
    if (!blocks)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        blocks[i] = hp_code_block(code, ids[i]);
    qsort(blocks, n, sizeof *blocks, by_place);
    enum hp_err err = count_sorted(code, blocks, n, instructions);
    free(blocks);
    return err;
}

/* Those of all blocks with a flag. */
static enum hp_err count_flagged(struct hp_code *code, const uint8_t *flags, size_t n,
                                 uint64_t *instructions)
{
    uint32_t *ids = calloc(n + 1, sizeof *ids);
    size_t count = 0;
    if (!ids)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        if (flags[i])
            ids[count++] = (uint32_t)i;
    enum hp_err err = hp_spots_distinct(code, ids, count, instructions);
    free(ids);
    return err;
}

/* --- The summary ------------------------------------------------------------------------------ */

static enum hp_err summarize(struct hp_spots *spots)
{
    struct hp_hotspot_summary *s = &spots->summary;
    if (spots->summarized)
        return HP_OK;
    hp_spots_end_all(spots);
    if (spots->out_of_memory || (spots->detector && hp_hotspots_check(spots->detector) != HP_OK))
        return hp_fail(HP_ERR_NOMEM,
                       "out of memory while looking for hot spots; the profile would be wrong");
    size_t n = hp_code_n_blocks(spots->code);
    HP_TRY(count_flagged(spots->code, spots->ran, spots->cap_ran < n ? spots->cap_ran : n,
                         &s->executed));
    HP_TRY(
        count_flagged(spots->code, spots->hot, spots->cap_hot < n ? spots->cap_hot : n, &s->insns));
    const struct hp_hotspot_stats *stats = hp_hotspot_profiler_stats(&spots->base);
    s->hotspots = stats->detections;
    s->branches = stats->branches;
    s->first_branches = spots->n_found ? spots->found[0]->at_branches : 0;
    spots->summarized = true;
    return HP_OK;
}

enum hp_err hp_hotspot_summary(struct hp_profiler *profiler, struct hp_hotspot_summary *summary)
{
    struct hp_spots *spots = (struct hp_spots *)profiler;
    HP_TRY(summarize(spots));
    *summary = spots->summary;
    return HP_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* The state of finish(). */
struct rows {
    struct hp_spots *spots;
    struct hp_result *result;
    struct hp_profile *profile;
    const char *detector;
};

static enum hp_err add_branches(struct rows *r, uint32_t index, const struct hp_spots_found *f)
{
    for (size_t i = 0; i < f->n_candidates; i++) {
        struct hp_photspot_branch *row;
        const struct hp_hotspot_branch *c = &f->candidates[i];
        if (f->modules[i] == HP_NO_ID)
            continue;
        HP_TRY(hp_profile_add_hotspot_branch(r->profile, &row));
        row->hotspot = index;
        row->branch = hp_result_place(r->result, f->modules[i], c->address);
        row->flow = c->flow;
        row->executed = c->executed;
        row->taken = c->taken;
    }
    return HP_OK;
}

static enum hp_err add_blocks(struct rows *r, uint32_t index, const struct hp_spots_found *f,
                              uint32_t *insns)
{
    uint32_t *ids = calloc(f->n_members + 1, sizeof *ids);
    uint64_t distinct;
    enum hp_err err = ids ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; i < f->n_members && err == HP_OK; i++) {
        struct hp_photspot_block *row;
        ids[i] = f->members[i].block;
        err = hp_profile_add_hotspot_block(r->profile, &row);
        if (err == HP_OK)
            *row = (struct hp_photspot_block){.hotspot = index, .block = ids[i]};
    }
    if (err == HP_OK)
        err = hp_spots_distinct(r->spots->code, ids, f->n_members, &distinct);
    if (err == HP_OK)
        *insns = (uint32_t)distinct;
    free(ids);
    return err;
}

static enum hp_err add_slices(struct rows *r, uint32_t index, const struct hp_spots_found *f)
{
    for (size_t i = 0; i < f->n_slices; i++) {
        struct hp_photspot_slice *row;
        HP_TRY(hp_profile_add_hotspot_slice(r->profile, &row));
        *row = (struct hp_photspot_slice){.hotspot = index,
                                          .slice = f->slices[i].slice,
                                          .width = r->spots->width,
                                          .instructions = f->slices[i].instructions};
    }
    return HP_OK;
}

static enum hp_err add_hotspot(struct rows *r, uint32_t number, const struct hp_spots_found *f)
{
    struct hp_photspot *row;
    uint32_t index = (uint32_t)r->profile->n_hotspots, insns;
    HP_TRY(add_branches(r, index, f));
    HP_TRY(add_blocks(r, index, f, &insns));
    HP_TRY(add_slices(r, index, f));
    HP_TRY(hp_profile_add_hotspot(r->profile, &row));
    *row = (struct hp_photspot){.detector = r->detector,
                                .number = number,
                                .pid = f->pid,
                                .at_branches = f->at_branches,
                                .at_instructions = f->at_instructions,
                                .insns = insns,
                                .total = f->total,
                                .after = f->after};
    return HP_OK;
}

static enum hp_err add_threads(struct rows *r)
{
    for (size_t i = 0; i < r->spots->n_threads; i++) {
        const struct hp_spots_thread *t = r->spots->threads[i];
        uint32_t index;
        HP_TRY(hp_result_thread(r->result, &t->info, &index));
        hp_result_thread_counts(r->result, index, t->instructions, t->blocks, t->branches);
    }
    return HP_OK;
}

/* --- Stats ------------------------------------------------------------------------------------ */

static enum hp_err add_stats(struct rows *r)
{
    const struct hp_hotspot_stats *s = hp_hotspot_profiler_stats(&r->spots->base);
    const struct hp_hotspot_summary *m = &r->spots->summary;
    uint64_t monitor, bits = hp_hotspot_config_bits(&r->spots->config, s->monitored, &monitor);
    char part[600];
    const struct {
        const char *name;
        uint64_t value;
        enum hp_stat_unit unit;
    } stats[] = {
        {"branches", s->branches, HP_STAT_COUNT},
        {"profiled", s->profiled, HP_STAT_COUNT},
        {"hits", s->hits, HP_STAT_COUNT},
        {"misses", s->misses, HP_STAT_COUNT},
        {"rejected", s->rejected, HP_STAT_COUNT},
        {"refreshes", s->refreshes, HP_STAT_COUNT},
        {"resets", s->resets, HP_STAT_COUNT},
        {"detections", s->detections, HP_STAT_COUNT},
        {"monitored", s->monitored, HP_STAT_SIZE},
        {"monitored_ranges", s->monitored_ranges, HP_STAT_SIZE},
        {"monitor_full", s->monitor_full, HP_STAT_COUNT},
        {"monitor_hits", s->monitor_hits[0], HP_STAT_COUNT},
        {"monitor_range_hits", s->monitor_hits[1], HP_STAT_COUNT},
        {"switched_on", s->switched_on, HP_STAT_COUNT},
        {"switched_off", s->switched_off, HP_STAT_COUNT},
        {"passed_on", s->passed_on, HP_STAT_COUNT},
        {"bits", bits, HP_STAT_SIZE},
        {"monitor_bits", monitor, HP_STAT_SIZE},
        {"static_instructions", m->insns, HP_STAT_SIZE},
        {"static_executed", m->executed, HP_STAT_SIZE},
        {"instructions", m->instructions, HP_STAT_COUNT},
        {"instructions_in_hotspots", m->total, HP_STAT_COUNT},
        {"instructions_after_detection", m->after, HP_STAT_COUNT},
        {"first_detection", m->first_branches, HP_STAT_SIZE},
    };
    snprintf(part, sizeof part, "hotspots %s", r->detector);
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        HP_TRY(hp_profile_add_stat(r->profile, part, stats[i].name, stats[i].unit, stats[i].value));
    return HP_OK;
}

enum hp_err hp_spots_finish(struct hp_profiler *profiler, struct hp_result *result)
{
    char text[512];
    struct hp_spots *spots = (struct hp_spots *)profiler;
    struct rows r = {.spots = spots, .result = result, .profile = result->profile};
    HP_TRY(summarize(spots));
    HP_TRY(hp_result_code(result));
    hp_hotspot_config_format(&spots->asked, text, sizeof text);
    r.detector = hp_profile_string(r.profile, text);
    if (!r.detector)
        return hp_fail_nomem();
    HP_TRY(add_threads(&r));
    for (size_t i = 0; i < spots->n_found; i++)
        HP_TRY(add_hotspot(&r, (uint32_t)i, spots->found[i]));
    if (spots->not_kept)
        HP_TRY(hp_profile_note(r.profile, spots->not_kept, "hotspots",
                               "hot spots beyond the first %zu were found and not kept",
                               spots->n_found));
    return add_stats(&r);
}
