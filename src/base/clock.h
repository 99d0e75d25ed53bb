// SPDX-License-Identifier: MIT
#ifndef HP_BASE_CLOCK_H
#define HP_BASE_CLOCK_H

#include <time.h>

/* Seconds of the monotonic clock. */
static inline double hp_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
