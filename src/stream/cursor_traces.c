// SPDX-License-Identifier: MIT
/* Executions of traces: a word is one if its segment is in a trace. */
#include "stream/cursor_impl.h"

void hp_cursor_add_traced(struct hp_cursor *c, uint64_t traced, uint64_t whole)
{
    traced -= whole * HP_TRACED_WHOLE;
    c->stats.trace_entries += traced / HP_TRACED_ENTRY;
    c->stats.trace_completions += whole;
    c->stats.trace_insns += traced % HP_TRACED_ENTRY;
}

void hp_cursor_count_traced(struct hp_cursor *c, uint32_t id)
{
    uint32_t traced = c->code->chains[id].traced;
    c->last_word = id;
    if (!traced)
        return;
    c->stats.trace_entries++;
    c->stats.trace_completions += traced / HP_TRACED_WHOLE;
    c->stats.trace_insns += hp_code_all_insns(c->code, id);
}

void hp_cursor_cut_traced(struct hp_cursor *c, uint32_t insns)
{
    uint32_t id = c->last_word, traced = id ? c->code->chains[id].traced : 0;
    if (!traced)
        return;
    uint32_t last = hp_code_last_insns(c->code, id);
    c->last_word = 0;
    if (insns >= last)
        return;
    c->stats.trace_completions -= traced / HP_TRACED_WHOLE;
    c->stats.trace_insns -= last - insns;
}
