// SPDX-License-Identifier: MIT
#include "lab/hotspots/hindsight.h"

#include <math.h>
#include <stdlib.h>

/* By module and end, the longest first. */
static int by_end(const void *left, const void *right)
{
    const struct hp_lab_executed *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_count(const void *left, const void *right)
{
    const struct hp_lab_executed *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return by_end(left, right);
}

static bool ends_alike(const struct hp_lab_executed *a, const struct hp_lab_executed *b)
{
    return a->module == b->module && a->end == b->end;
}

enum hp_err hp_lab_hindsight_init(struct hp_lab_hindsight *hindsight,
                                  struct hp_lab_executed *blocks, size_t n)
{
    *hindsight = (struct hp_lab_hindsight){.parts = calloc(n + 1, sizeof *blocks)};
    if (!hindsight->parts)
        return hp_fail_nomem();
    if (n)
        qsort(blocks, n, sizeof *blocks, by_end);
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        struct hp_lab_executed *part = &hindsight->parts[hindsight->n];
        count = blocks[i].count + (i && ends_alike(&blocks[i - 1], &blocks[i]) ? count : 0);
        *part = blocks[i];
        part->count = count;
        if (i + 1 < n && ends_alike(&blocks[i], &blocks[i + 1]))
            part->insns -= blocks[i + 1].insns; /* the rest is in the shorter one */
        hindsight->insns += part->insns;
        hindsight->executed += part->insns * count;
        hindsight->n++;
    }
    if (n)
        qsort(hindsight->parts, n, sizeof *blocks, by_count);
    return HP_OK;
}

void hp_lab_hindsight_fini(struct hp_lab_hindsight *hindsight)
{
    free(hindsight->parts);
    *hindsight = (struct hp_lab_hindsight){0};
}

double hp_lab_hindsight_best(const struct hp_lab_hindsight *hindsight, double insns)
{
    double covered = 0;
    for (size_t i = 0; i < hindsight->n && insns > 0; i++) {
        const struct hp_lab_executed *part = &hindsight->parts[i];
        covered += fmin(part->insns, insns) * (double)part->count;
        insns -= part->insns;
    }
    return hindsight->executed ? 100 * covered / (double)hindsight->executed : (double)NAN;
}
