// SPDX-License-Identifier: MIT
#include "report/hotspots/hotspots.h"

#include "base/base.h"
#include "text/number.h"

#include <math.h>

/* --- Functions -------------------------------------------------------------------------------- */

static int by_function(const void *a, const void *b)
{
    const struct hp_hotspot_function *x = a, *y = b;
    return HP_COMPARE(x->function, y->function);
}

static int by_weight(const void *a, const void *b)
{
    const struct hp_hotspot_function *x = a, *y = b;
    return HP_COMPARE(y->instructions, x->instructions)
               ?: HP_COMPARE(y->insns, x->insns) ?: by_function(a, b);
}

enum hp_err hp_hotspot_functions(const struct hp_tables *tables, uint32_t hotspot,
                                 struct hp_hotspot_function **functions, size_t *n)
{
    const struct hp_profile *p = tables->profile;
    size_t n_blocks, kept = 0;
    const struct hp_photspot_block *blocks = hp_items(p, HP_ROW_HOTSPOT_BLOCK, hotspot, &n_blocks);
    struct hp_hotspot_function *list = calloc(n_blocks + 1, sizeof *list);
    if (!list)
        return hp_fail_nomem();
    for (size_t i = 0; i < n_blocks; i++) {
        const struct hp_pblock *block = &p->blocks[blocks[i].block];
        list[i] = (struct hp_hotspot_function){
            block->function, hp_saturating_mul(tables->block_counts[blocks[i].block], block->insns),
            block->insns};
    }
    qsort(list, n_blocks, sizeof *list, by_function);
    for (size_t i = 0; i < n_blocks; i++) {
        if (kept == 0 || list[kept - 1].function != list[i].function) {
            list[kept++] = list[i];
            continue;
        }
        hp_add_up(&list[kept - 1].instructions, list[i].instructions);
        hp_add_up(&list[kept - 1].insns, list[i].insns);
    }
    qsort(list, kept, sizeof *list, by_weight);
    *functions = list;
    *n = kept;
    return HP_OK;
}

/* --- All of a detector ------------------------------------------------------------------------ */

/* The order of a stat and what a detector's profiler counted under a name. */
static int compare_stat(const struct hp_pstat *stat, const char *detector, const char *name)
{
    static const char start[] = "hotspots ";
    const char *part = hp_text(stat->part);
    return strncmp(part, start, strlen(start))
               ?: strcmp(part + strlen(start), detector) ?: strcmp(hp_text(stat->name), name);
}

static bool find_stat(const struct hp_profile *p, const char *detector, const char *name,
                      uint64_t *value)
{
    size_t low = HP_BISECT(i, 0, p->n_stats, compare_stat(&p->stats[i], detector, name) < 0);
    if (low == p->n_stats || compare_stat(&p->stats[low], detector, name) != 0)
        return false;
    *value = p->stats[low].value;
    return true;
}

static void use_stats(const struct hp_profile *p, const char *detector, struct hp_hotspot_sum *sum)
{
    struct hp_hotspot_sum known = {.first = sum->first};
    if (find_stat(p, detector, "static_instructions", &known.insns) &&
        find_stat(p, detector, "static_executed", &known.executed) &&
        find_stat(p, detector, "instructions_in_hotspots", &known.instructions) &&
        find_stat(p, detector, "instructions_after_detection", &known.after)) {
        known.after_known = true;
        *sum = known;
    }
}

enum hp_err hp_hotspot_sum(const struct hp_tables *tables, uint32_t first, size_t n,
                           struct hp_hotspot_sum *sum)
{
    const struct hp_profile *p = tables->profile;
    bool *seen HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&seen, p->n_blocks + 1, sizeof *seen));
    *sum = (struct hp_hotspot_sum){.first = UINT64_MAX, .executed = tables->executed};
    for (uint32_t h = first; h < first + n; h++) {
        size_t n_blocks;
        const struct hp_photspot_block *blocks = hp_items(p, HP_ROW_HOTSPOT_BLOCK, h, &n_blocks);
        if (p->hotspots[h].at_branches < sum->first)
            sum->first = p->hotspots[h].at_branches;
        for (size_t i = 0; i < n_blocks; i++) {
            uint32_t block = blocks[i].block;
            uint64_t insns = seen[block] ? 0 : p->blocks[block].insns;
            sum->insns += insns;
            hp_add_up(&sum->instructions, hp_saturating_mul(tables->block_counts[block], insns));
            seen[block] = true;
        }
    }
    if (p->run.runs <= 1)
        use_stats(p, hp_text(p->hotspots[first].detector), sum);
    return HP_OK;
}

/* --- The time line ---------------------------------------------------------------------------- */

void hp_timeline_fit(const struct hp_tables *tables, uint32_t first, size_t n, size_t most,
                     struct hp_timeline *line)
{
    const struct hp_profile *p = tables->profile;
    double end = 0, width = 0;
    *line = (struct hp_timeline){0};
    for (uint32_t h = first; h < first + n; h++) {
        size_t n_slices;
        const struct hp_photspot_slice *slices = hp_items(p, HP_ROW_HOTSPOT_SLICE, h, &n_slices);
        for (size_t i = 0; i < n_slices; i++) {
            double slice = (double)slices[i].width, stop = ((double)slices[i].slice + 1) * slice;
            width = slice > width ? slice : width;
            end = stop > end ? stop : end;
        }
    }
    if (width <= 0 || most == 0)
        return;
    /* The last slice may be shorter; of merged runs it is not known how long each was. */
    double all = (double)tables->summary.instructions;
    if (p->run.runs <= 1 && all > end - width) {
        line->end = all;
        end = all;
    }
    double slices = ceil(end / width), joined = ceil(slices / (double)most);
    line->column = joined * width;
    line->columns = (size_t)ceil(slices / joined);
    if (line->columns > most)
        line->columns = most;
}

void hp_timeline_fill(const struct hp_profile *p, const struct hp_timeline *line, uint32_t hotspot,
                      double *density)
{
    size_t n;
    const struct hp_photspot_slice *slices = hp_items(p, HP_ROW_HOTSPOT_SLICE, hotspot, &n);
    for (size_t i = 0; i < line->columns; i++)
        density[i] = 0;
    for (size_t i = 0; i < n; i++) {
        double at = (double)slices[i].slice * (double)slices[i].width / line->column;
        size_t column = at < (double)line->columns ? (size_t)at : line->columns - 1;
        density[column] += (double)slices[i].instructions;
    }
    for (size_t i = 0; i < line->columns; i++) {
        double length = line->column, start = (double)i * line->column;
        if (line->end > 0 && start + length > line->end)
            length = line->end - start;
        density[i] = length > 0 ? density[i] / length : 0;
    }
}
