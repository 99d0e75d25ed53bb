// SPDX-License-Identifier: MIT
/*
 * Time by the processor's own clock (x86: the time stamp counter), which takes a tenth of the time
 * that the kernel takes to tell. hotpath measures how fast it goes. It is used only where it goes
 * at one rate, always: else the kernel is asked.
 */
#ifndef HP_ENGINE_TICKS_H
#define HP_ENGINE_TICKS_H

#include <stdatomic.h>
#include <stdint.h>

struct hp_ticks {
    uint64_t ticks, ns;    /* once, the clock and the monotonic clock had these values */
    _Atomic uint64_t rate; /* nanoseconds in 2^32 ticks; 0: ask the kernel */
};

/* The monotonic clock at this value of the clock. */
static inline uint64_t hp_ticks_to_ns(const struct hp_ticks *known, uint64_t rate, uint64_t ticks)
{
    if (ticks < known->ticks) /* processors need not agree to the last tick */
        return known->ns;
    return known->ns + (uint64_t)((unsigned __int128)(ticks - known->ticks) * rate >> 32);
}

#endif
