// SPDX-License-Identifier: MIT
#include "profiler/cycles/ipc.h"

#include <math.h>
#include <stdlib.h>

#define HISTOGRAM_MAX (1u << 26)

enum hp_err hp_windowed_ipc_init(struct hp_windowed_ipc *ipc, uint32_t window, uint32_t most)
{
    uint64_t size = (uint64_t)window * most + 1;
    *ipc = (struct hp_windowed_ipc){.window = window, .begins = true};
    if (!window || !most || size > HISTOGRAM_MAX)
        return hp_fail(HP_ERR_INVALID, "no windows of %u cycles, of up to %u instructions each",
                       window, most);
    ipc->histogram = calloc(size, sizeof *ipc->histogram);
    if (!ipc->histogram)
        return hp_fail_nomem();
    ipc->n_histogram = size;
    return HP_OK;
}

void hp_windowed_ipc_fini(struct hp_windowed_ipc *ipc)
{
    free(ipc->histogram);
    *ipc = (struct hp_windowed_ipc){0};
}

static void close_window(struct hp_windowed_ipc *ipc)
{
    ipc->histogram[ipc->count < ipc->n_histogram ? ipc->count : ipc->n_histogram - 1]++;
    ipc->start += ipc->window;
    ipc->count = 0;
}

/* Incomplete windows do not count; one that ends with the last measured cycle is complete. */
static void stop(struct hp_windowed_ipc *ipc)
{
    if (ipc->open && ipc->next == ipc->start + ipc->window)
        close_window(ipc);
    ipc->open = false;
    ipc->begins = true;
    ipc->count = 0;
}

static void retire(struct hp_windowed_ipc *ipc, const struct hp_timing *t)
{
    uint64_t cycle = t->fetched + t->left;
    if (ipc->begins) {
        stop(ipc);
        ipc->start = t->fetched > ipc->next ? t->fetched : ipc->next;
        ipc->open = true;
        ipc->begins = false;
    }
    ipc->next = cycle + 1;
    if (cycle < ipc->start) /* in the same cycle as something that was not measured */
        return;
    while (cycle >= ipc->start + ipc->window)
        close_window(ipc);
    ipc->count++;
}

void hp_windowed_ipc_timings(struct hp_windowed_ipc *ipc, const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hp_timing *t = &timings[i];
        if (t->events & HP_TIMING_WINDOW)
            ipc->begins = true;
        if (!(t->events & HP_TIMING_RETIRED))
            continue;
        if (t->events & HP_TIMING_MEASURED) {
            retire(ipc, t);
        } else {
            stop(ipc);
            ipc->next = t->fetched + t->left + 1;
        }
    }
}

void hp_windowed_ipc_end(struct hp_windowed_ipc *ipc)
{
    stop(ipc);
}

struct hp_ipc_summary hp_windowed_ipc_summary(const struct hp_windowed_ipc *ipc)
{
    struct hp_ipc_summary summary = {.empty = ipc->histogram[0]};
    double retired = 0, squares = 0, cubes = 0, window = (double)ipc->window;
    for (size_t i = 0; i < ipc->n_histogram; i++) {
        double n = (double)ipc->histogram[i], k = (double)i;
        if (!ipc->histogram[i])
            continue;
        summary.windows += ipc->histogram[i];
        summary.most = k / window;
        if (i && summary.least == 0)
            summary.least = k / window;
        retired += n * k;
        squares += n * k * k;
        cubes += n * k * k * k;
    }
    if (retired == 0)
        return summary;
    /* Weights each window by k, the instructions retired in it. */
    double mean = squares / retired, variance = cubes / retired - mean * mean;
    summary.mean = retired / (double)summary.windows / window;
    summary.weighed_mean = mean / window;
    summary.deviation = variance > 0 ? sqrt(variance) / window : 0;
    return summary;
}
