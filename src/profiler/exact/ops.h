// SPDX-License-Identifier: MIT
/*
 * What the inner transfers of a run do to the shadow stack. Both blocks of such a transfer are
 * known, so most of them do the same every time, or need one look at the top frame.
 *
 * Of code without symbols it matters what is not known yet: to which function a block belongs, and
 * whether calls return there. A run relies on that; when it becomes known, the run is walked again.
 */
#ifndef HP_PROFILER_EXACT_OPS_H
#define HP_PROFILER_EXACT_OPS_H

#include "profiler/exact/exact_impl.h"

/* Sets what the transfer from block `from` to block `to`, in this unit, does. It was shown to the
 * stack just now. `inside`: the transfer to `from` stays in its frame, so `from` is no stub. */
void hp_ops_resolve(struct hp_exact_thread *thread, uint32_t unit, uint32_t from, uint32_t to,
                    bool inside, struct hp_exact_op *op);

/* Something has become known about the block: runs that relied on the contrary are new again. */
void hp_ops_learned(struct hp_exact *exact, uint32_t block);

#endif
