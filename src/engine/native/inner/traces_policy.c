// SPDX-License-Identifier: MIT
#include "engine/native/inner/traces_policy.h"

#define QUIET 4 /* a quarter of the time without a trace is a quiet time */
#define KNOWN 4 /* of a quarter of the traces something must be known */
#define BAD   2 /* so many looks in a row that found too few are enough */

static void begin_phase(struct hp_traces_policy *p, uint64_t now)
{
    p->begun = now;
    p->made = p->burst;
    p->burst = 0;
}

bool hp_policy_made(struct hp_traces_policy *p, uint64_t now)
{
    uint64_t gap = now - p->last;
    p->last = now;
    bool enough = p->phase && p->made >= p->phase; /* there is something to drop */
    p->made++;
    if (enough && gap >= (now - p->begun) / QUIET && gap) {
        p->burst = 1;
        p->burst_begun = now;
        p->quiet = gap;
    } else if (p->burst) {
        p->burst = now - p->burst_begun < p->quiet ? p->burst + 1 : 0;
    }
    if (!p->burst || p->burst < p->phase)
        return false;
    begin_phase(p, now);
    return true;
}

bool hp_policy_looks(const struct hp_traces_policy *p)
{
    return p->bail && p->tried >= p->bail;
}

bool hp_policy_gives_up(struct hp_traces_policy *p, uint32_t often, uint32_t not_often)
{
    bool known = p->looks++ > 0 && often + not_often >= p->tried / KNOWN;
    bool bad = (known && often < not_often) || p->abandoned > p->tried / 2;
    p->tried = p->abandoned = 0;
    p->bad = bad ? p->bad + 1 : 0;
    return p->bad == BAD;
}
