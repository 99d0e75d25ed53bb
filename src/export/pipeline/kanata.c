// SPDX-License-Identifier: MIT
/*
 * A Kanata log goes cycle by cycle, and what comes here goes instruction by instruction. So what
 * happens to an instruction after its fetch waits in a heap, by cycle, until an instruction is
 * fetched later than that: nothing earlier can come any more.
 */
#include "base/base.h"
#include "base/heap.h"
#include "export/pipeline/log.h"

#include <stdarg.h>

/* A line of the log, of the instruction `id`. */
struct happening {
    uint64_t cycle;
    uint64_t order; /* of those in one cycle: as they were put */
    uint64_t id;
    char letter;
    uint64_t number;   /* S, E: the lane; R: whether it was flushed; W: the one it waited for */
    const char *stage; /* S, E; W: which kind of wait */
};

struct kanata {
    struct hp_log log;      /* first */
    struct happening *heap; /* a binary heap: none is before its parent */
    size_t n, cap;
    uint64_t order;
    uint64_t cycle; /* where the log is */
    uint64_t retired;
    bool begun;
};

static enum hp_err open_log(void *state)
{
    struct kanata *k = state;
    fputs("Kanata\t0004\n", k->log.setup.out);
    return HP_OK;
}

static void fini_log(void *state)
{
    struct kanata *k = state;
    free(k->heap);
    hp_log_fini(&k->log);
}

/* --- The heap --------------------------------------------------------------------------------- */

static bool is_before(const void *x, const void *y)
{
    const struct happening *a = x, *b = y;
    return (HP_COMPARE(a->cycle, b->cycle) ?: HP_COMPARE(a->order, b->order)) < 0;
}

/* Puts a happening `after` cycles after the fetch. */
static enum hp_err push(struct kanata *k, const struct hp_log_insn *insn, uint32_t after,
                        char letter, uint64_t number, const char *stage)
{
    HP_TRY(hp_grow(&k->heap, &k->cap, k->n + 1, sizeof *k->heap));
    const struct happening happening = {
        insn->timing->fetched + after, k->order++, insn->id, letter, number, stage};
    hp_heap_put(k->heap, k->n++, sizeof happening, &happening, is_before);
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void advance(struct kanata *k, uint64_t cycle)
{
    FILE *out = k->log.setup.out;
    if (!k->begun)
        fprintf(out, "C=\t%" PRIu64 "\n", cycle);
    else if (cycle > k->cycle)
        fprintf(out, "C\t%" PRIu64 "\n", cycle - k->cycle);
    k->begun = true;
    k->cycle = cycle;
}

/* Writes all that happened before a cycle. */
static void write_before(struct kanata *k, uint64_t cycle)
{
    FILE *out = k->log.setup.out;
    while (k->n && k->heap[0].cycle < cycle) {
        struct happening h;
        hp_heap_take(k->heap, k->n--, sizeof h, &h, is_before);
        advance(k, h.cycle);
        fprintf(out, "%c\t%" PRIu64 "\t", h.letter, h.id);
        if (h.letter == 'R')
            fprintf(out, "%" PRIu64 "\t%" PRIu64 "\n", k->retired, h.number);
        else
            fprintf(out, "%" PRIu64 "\t%s\n", h.number, h.stage);
        k->retired += h.letter == 'R' && !h.number;
    }
}

/* A label. A line cannot hold tabs and newlines. */
__attribute__((format(printf, 4, 5))) static void put_label(FILE *out, uint64_t id, int type,
                                                            const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(out, "L\t%" PRIu64 "\t%d\t", id, type);
    for (const char *c = text; *c; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    fputc('\n', out);
}

/* The instruction and its fetch, which is now. */
static void put_start(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    FILE *out = k->log.setup.out;
    char events[256];
    hp_log_describe(t, events, sizeof events);
    fprintf(out, "I\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\n", insn->id, insn->id,
            k->log.setup.thread);
    put_label(out, insn->id, 0, "%" PRIx64 ": %s", insn->code->address, insn->text);
    if (*insn->where)
        put_label(out, insn->id, 1, "%s\\n", insn->where);
    if (*events)
        put_label(out, insn->id, 1, "%s", events);
    if (t->address && insn->code->n_mems)
        put_label(out, insn->id, 1, "\\ndata at 0x%" PRIx64, t->address);
    fprintf(out, "S\t%" PRIu64 "\t0\tF\n", insn->id);
}

/* --- What happens to an instruction ----------------------------------------------------------- */

/* A stage begins in lane 0, unless the instruction had left by then. */
static enum hp_err put_stage(struct kanata *k, const struct hp_log_insn *insn, uint32_t after,
                             const char *stage)
{
    if (after == HP_NEVER || after >= insn->timing->left)
        return HP_OK;
    return push(k, insn, after, 'S', 0, stage);
}

/* The stages behind fetch. Those that take no time are left out. */
static enum hp_err put_stages(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    bool issued = t->issued != HP_NEVER;
    if (t->mapped == HP_NEVER)
        return HP_OK;
    HP_TRY(put_stage(k, insn, t->mapped, "M"));
    uint32_t next = t->mapped + 1; /* where the stage before ends */
    uint32_t ready = t->ready != HP_NEVER ? t->ready : t->left;
    uint32_t start = issued ? t->issued : t->left;
    bool waits = t->done == HP_NEVER || issued; /* what has no micro-operations is done at once */
    if (waits && ready > next)
        HP_TRY(put_stage(k, insn, next, "Q"));
    if (waits && t->ready != HP_NEVER && start > ready)
        HP_TRY(put_stage(k, insn, ready, "R"));
    HP_TRY(put_stage(k, insn, t->issued, "X"));
    if (issued && t->issued < t->left && insn->producer != HP_LOG_NONE)
        HP_TRY(push(k, insn, t->issued, 'W', insn->producer, "0"));
    HP_TRY(put_stage(k, insn, t->done, "D"));
    if (issued && t->done == t->left) /* nothing else ends it */
        HP_TRY(push(k, insn, t->left, 'E', 0, "X"));
    return HP_OK;
}

/* Lane 1: what it waited for in front of the map. Only the last cycles of that are known to be so:
 * it could have been mapped as soon as the one before it. */
static enum hp_err put_stall(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    const char *stall = hp_log_stall(t);
    uint32_t end = t->mapped < t->left ? t->mapped : t->left;
    if (!stall || end == 0)
        return HP_OK;
    HP_TRY(push(k, insn, end - 1, 'S', 1, stall));
    return push(k, insn, end, 'E', 1, stall);
}

static enum hp_err put_insn(void *state, const struct hp_timing *timing)
{
    struct kanata *k = state;
    struct hp_log_insn insn;
    HP_TRY(hp_log_next(&k->log, timing, &insn));
    write_before(k, timing->fetched);
    advance(k, timing->fetched);
    put_start(k, &insn);
    HP_TRY(put_stall(k, &insn));
    HP_TRY(put_stages(k, &insn));
    return push(k, &insn, timing->left, 'R', !(timing->events & HP_TIMING_RETIRED), NULL);
}

static enum hp_err close_log(void *state)
{
    write_before(state, UINT64_MAX);
    return HP_OK;
}

const struct hp_export_format hp_format_kanata = {
    .name = "kanata",
    .summary = "a pipeline log for Konata",
    .timing = put_insn,
    .state_size = sizeof(struct kanata),
    .open = open_log,
    .close = close_log,
    .fini = fini_log,
};
