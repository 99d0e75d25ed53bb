// SPDX-License-Identifier: MIT
/*
 * Seven lines an instruction, all together: an instruction is written when it comes, and the order
 * of the file is that of fetch. Tick 0 means that it never got there, so the first cycle is tick
 * 1000.
 */
#include "base/base.h"
#include "export/pipeline/log.h"

#define TICKS 1000 /* a cycle */

/* The tick of a cycle after fetch; 0 when the instruction had left by then, or never got so far. */
static uint64_t tick(const struct hp_timing *timing, uint32_t after)
{
    bool retired = timing->events & HP_TIMING_RETIRED;
    if (after == HP_NEVER || (!retired && after >= timing->left))
        return 0;
    return (timing->fetched + after + 1) * TICKS;
}

static enum hp_err put_insn(void *state, const struct hp_timing *t)
{
    struct hp_log *log = state;
    struct hp_log_insn insn;
    HP_TRY(hp_log_next(log, t, &insn));
    bool retired = t->events & HP_TIMING_RETIRED, mapped = t->mapped != HP_NEVER;
    /* What has no micro-operations is never issued; it is complete all the same. */
    uint32_t issued = t->issued == HP_NEVER ? t->done : t->issued;
    uint64_t left = retired ? tick(t, t->left) : 0;
    /* An instruction that was aborted in the cycle in which it was fetched was fetched. */
    fprintf(log->setup.out,
            "O3PipeView:fetch:%" PRIu64 ":0x%08" PRIx64 ":0:%" PRIu64 ":  %s\n"
            "O3PipeView:decode:%" PRIu64 "\nO3PipeView:rename:%" PRIu64 "\n"
            "O3PipeView:dispatch:%" PRIu64 "\nO3PipeView:issue:%" PRIu64 "\n"
            "O3PipeView:complete:%" PRIu64 "\nO3PipeView:retire:%" PRIu64 ":store:%" PRIu64 "\n",
            (t->fetched + 1) * TICKS, insn.code->address, insn.id + 1, insn.text,
            tick(t, mapped && t->mapped == 0 ? 0 : 1), tick(t, t->mapped),
            mapped ? tick(t, t->mapped + 1) : 0, tick(t, issued), tick(t, t->done), left,
            insn.code->n_stores ? left : 0);
    return HP_OK;
}

const struct hp_export_format hp_format_o3 = {
    .name = "o3",
    .summary = "a pipeline log as gem5's O3PipeView, for o3-pipeview.py and Konata",
    .timing = put_insn,
    .state_size = sizeof(struct hp_log),
    .fini = hp_log_fini,
};
