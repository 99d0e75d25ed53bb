// SPDX-License-Identifier: MIT
/*
 * When traces are dropped, and when they are given up: what Dynamo does. Knows nothing of the
 * engine.
 *
 * A new phase: after a quiet time, a quarter of the time since the last phase began or more, so
 * many traces are made in less than that time. The ones before are probably not needed any more.
 *
 * Traces do not pay when most of those that were made, or tried, a while ago have not been executed
 * often since; and those before neither.
 */
#ifndef HP_NATIVE_TRACES_POLICY_H
#define HP_NATIVE_TRACES_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct hp_traces_policy {
    uint32_t phase; /* traces in a burst that are a new phase; 0: none is */
    uint32_t bail;  /* traces between two looks at what they take; 0: there are none */

    uint64_t begun, last; /* this phase; when a trace was made. Nanoseconds of processor time */
    uint32_t made;        /* traces, in this phase */
    uint32_t burst;       /* of these, since the last quiet time; 0: there was none */
    uint64_t burst_begun;
    uint64_t quiet; /* how long it was */

    uint32_t tried, abandoned; /* traces since the last look: all; that were not made */
    uint32_t looks, bad;       /* how many; how many in a row that found too few that pay */
};

/* A trace was made. Whether a new phase began, with the traces of the burst; this is one of them.
 */
bool hp_policy_made(struct hp_traces_policy *policy, uint64_t now);

/* Whether it is time for a look. Then: of the traces that were made between the last two looks,
 * so many are known to have been executed often, or not often. Whether traces are given up. */
bool hp_policy_looks(const struct hp_traces_policy *policy);
bool hp_policy_gives_up(struct hp_traces_policy *policy, uint32_t often, uint32_t not_often);

#endif
