// SPDX-License-Identifier: MIT
/*
 * An event counter that interrupts (ProfileMe, section 2.2 and figure 2): what a program counter
 * tells about the instruction that caused an event.
 *
 * Modelled: a counter of D-cache references. A load makes one when it is issued, on the right or
 * wrong path. An instruction that only stores makes one when it accesses the cache: when it
 * retires, on an in-order core when it is issued. Each instruction makes at most one. They are
 * counted in order of cycles. Every `every`-th reference makes the counter overflow and raises an
 * interrupt, which is taken `delay` cycles later. It sees the program counter of the instruction
 * that retires then, or first after that (all before it are done, it and those after it are run
 * again). On the in-order Alpha 21164 of the paper the delay was six cycles.
 *
 * Not modelled: that the interrupt disturbs the program; blind spots in code that cannot be
 * interrupted.
 *
 * What ProfileMe would have reported for the same event is `cause`: the instruction itself.
 */
#ifndef HP_PROFILER_CYCLES_SKID_H
#define HP_PROFILER_CYCLES_SKID_H

#include "hotpath/pipe.h"

struct hp_skid_config {
    uint64_t every; /* references, at least 1 */
    uint32_t delay; /* cycles */
    bool in_order;  /* of the machine */
};

struct hp_skid_hit {
    uint32_t cause; /* static id of the instruction that made the reference */
    uint32_t seen;  /* the one that the interrupt saw */
    /* How many instructions after the cause `seen` retires: 0: the cause itself, below 0: before
     * it. If the cause did not retire: after the last one fetched before it that did. */
    int64_t distance;
    bool aborted; /* the cause was */
};

typedef void (*hp_skid_interrupt)(void *context, const struct hp_skid_hit *hit);

struct hp_skid;

/* HP_ERR_INVALID: it never overflows. HP_ERR_NOMEM. */
enum hp_err hp_skid_new(const struct hp_skid_config *config, hp_skid_interrupt interrupt,
                        void *context, struct hp_skid **skid);
void hp_skid_free(struct hp_skid *skid);

/* All timings of a thread, in order of fetch; references of measured ones count. Interrupts are
 * reported in order of time, once everything they depend on is known. HP_ERR_NOMEM. */
enum hp_err hp_skid_timings(struct hp_skid *skid, const struct hp_timing *timings, size_t n);
/* After the last timing. Interrupts after the last instruction that retires are never taken.
 * HP_ERR_NOMEM. */
enum hp_err hp_skid_end(struct hp_skid *skid);

#endif
