// SPDX-License-Identifier: MIT
/*
 * A Kanata log goes cycle by cycle, and what comes here goes instruction by instruction. So what
 * happens to an instruction after its fetch waits in a heap, by cycle, until an instruction is
 * fetched later than that: nothing earlier can come any more.
 */

#include "base/grow.h"
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>

enum what {
    STAGE,      /* a stage begins in lane 0 */
    STALL,      /* in lane 1 */
    STAGE_END,  /* the stage ends in lane 0 */
    STALL_END,  /* in lane 1 */
    DEPENDENCY, /* on the instruction `other` */
    RETIRE,
    FLUSH,
};

struct happening {
    uint64_t cycle;
    uint64_t order; /* of those in one cycle: as they were put */
    uint64_t id;
    uint64_t other;
    const char *stage;
    enum what what;
};

struct kanata {
    FILE *file;
    struct happening *heap; /* a binary heap: none is before its parent */
    size_t n, cap;
    uint64_t order;
    uint64_t cycle; /* where the log is */
    uint64_t retired;
    bool begun;
};

static enum hp_err open_log(FILE *file, void **state)
{
    struct kanata *k = calloc(1, sizeof *k);
    if (!k)
        return hp_fail_nomem();
    k->file = file;
    *state = k;
    fprintf(file, "Kanata\t0004\n");
    return HP_OK;
}

static void free_log(void *state)
{
    struct kanata *k = state;
    if (k)
        free(k->heap);
    free(k);
}

/* --- The heap --------------------------------------------------------------------------------- */

static bool is_before(const struct happening *a, const struct happening *b)
{
    return a->cycle != b->cycle ? a->cycle < b->cycle : a->order < b->order;
}

static enum hp_err push(struct kanata *k, struct happening happening)
{
    HP_TRY(hp_grow(&k->heap, &k->cap, k->n + 1, sizeof *k->heap));
    happening.order = k->order++;
    size_t at = k->n++;
    while (at && is_before(&happening, &k->heap[(at - 1) / 2])) {
        k->heap[at] = k->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    k->heap[at] = happening;
    return HP_OK;
}

static struct happening pop(struct kanata *k)
{
    struct happening first = k->heap[0], last = k->heap[--k->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < k->n; at = child) {
        if (child + 1 < k->n && is_before(&k->heap[child + 1], &k->heap[child]))
            child++;
        if (!is_before(&k->heap[child], &last))
            break;
        k->heap[at] = k->heap[child];
    }
    k->heap[at] = last;
    return first;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void advance(struct kanata *k, uint64_t cycle)
{
    if (!k->begun)
        fprintf(k->file, "C=\t%" PRIu64 "\n", cycle);
    else if (cycle > k->cycle)
        fprintf(k->file, "C\t%" PRIu64 "\n", cycle - k->cycle);
    k->begun = true;
    k->cycle = cycle;
}

static void put(struct kanata *k, const struct happening *h)
{
    switch (h->what) {
    case STAGE: fprintf(k->file, "S\t%" PRIu64 "\t0\t%s\n", h->id, h->stage); break;
    case STALL: fprintf(k->file, "S\t%" PRIu64 "\t1\t%s\n", h->id, h->stage); break;
    case STAGE_END: fprintf(k->file, "E\t%" PRIu64 "\t0\t%s\n", h->id, h->stage); break;
    case STALL_END: fprintf(k->file, "E\t%" PRIu64 "\t1\t%s\n", h->id, h->stage); break;
    case DEPENDENCY: fprintf(k->file, "W\t%" PRIu64 "\t%" PRIu64 "\t0\n", h->id, h->other); break;
    case RETIRE: fprintf(k->file, "R\t%" PRIu64 "\t%" PRIu64 "\t0\n", h->id, k->retired++); break;
    case FLUSH: fprintf(k->file, "R\t%" PRIu64 "\t%" PRIu64 "\t1\n", h->id, k->retired); break;
    }
}

/* Writes all that happened before a cycle. */
static void write_before(struct kanata *k, uint64_t cycle)
{
    while (k->n && k->heap[0].cycle < cycle) {
        struct happening h = pop(k);
        advance(k, h.cycle);
        put(k, &h);
    }
}

/* A line cannot hold tabs and newlines. */
static void put_text(FILE *file, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
}

static void put_label(struct kanata *k, uint64_t id, int type, const char *text)
{
    fprintf(k->file, "L\t%" PRIu64 "\t%d\t", id, type);
    put_text(k->file, text);
    fputc('\n', k->file);
}

/* The instruction and its fetch, which is now. */
static void put_start(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    char text[256];
    fprintf(k->file, "I\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\n", insn->id, insn->id,
            insn->thread);
    snprintf(text, sizeof text, "%" PRIx64 ": %s", insn->code->address, insn->text);
    put_label(k, insn->id, 0, text);
    if (*insn->where) {
        snprintf(text, sizeof text, "%s\\n", insn->where);
        put_label(k, insn->id, 1, text);
    }
    hp_log_describe(t, text, sizeof text);
    if (*text)
        put_label(k, insn->id, 1, text);
    if (t->address && insn->code->n_mems) {
        snprintf(text, sizeof text, "\\ndata at 0x%" PRIx64, t->address);
        put_label(k, insn->id, 1, text);
    }
    fprintf(k->file, "S\t%" PRIu64 "\t0\tF\n", insn->id);
}

/* --- What happens to an instruction ----------------------------------------------------------- */

/* Why it could not be mapped, as the name of a stall; NULL: it was not held up. */
static const char *map_stall(uint32_t events)
{
    static const struct {
        uint32_t event;
        const char *stage;
    } stalls[] = {{HP_TIMING_NO_REORDER, "rob"},
                  {HP_TIMING_NO_QUEUE, "iq"},
                  {HP_TIMING_NO_MEMORY_QUEUE, "mq"},
                  {HP_TIMING_NO_REGISTER, "reg"},
                  {HP_TIMING_SERIAL, "ser"}};
    for (size_t i = 0; i < sizeof stalls / sizeof *stalls; i++)
        if (events & stalls[i].event)
            return stalls[i].stage;
    return NULL;
}

/* Puts a happening `after` cycles after the fetch, unless the instruction had left by then. */
static enum hp_err put_at(struct kanata *k, const struct hp_timing *t, uint32_t after,
                          struct happening happening)
{
    if (after == HP_NEVER || after >= t->left)
        return HP_OK;
    happening.cycle = t->fetched + after;
    return push(k, happening);
}

/* The stages behind fetch. Those that take no time are left out. */
static enum hp_err put_stages(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    const uint64_t id = insn->id;
    bool issued = t->issued != HP_NEVER;
    if (t->mapped == HP_NEVER)
        return HP_OK;
    HP_TRY(put_at(k, t, t->mapped, (struct happening){.what = STAGE, .id = id, .stage = "M"}));
    uint32_t next = t->mapped + 1; /* where the stage before ends */
    uint32_t ready = t->ready != HP_NEVER ? t->ready : t->left;
    uint32_t start = issued ? t->issued : t->left;
    bool waits =
        t->done == HP_NEVER || issued; /* what has no micro-operations is done when it is mapped */
    if (waits && ready > next)
        HP_TRY(put_at(k, t, next, (struct happening){.what = STAGE, .id = id, .stage = "Q"}));
    if (waits && t->ready != HP_NEVER && start > ready)
        HP_TRY(put_at(k, t, ready, (struct happening){.what = STAGE, .id = id, .stage = "R"}));
    if (issued)
        HP_TRY(put_at(k, t, t->issued, (struct happening){.what = STAGE, .id = id, .stage = "X"}));
    if (issued && insn->producer != HP_LOG_NONE)
        HP_TRY(put_at(k, t, t->issued,
                      (struct happening){.what = DEPENDENCY, .id = id, .other = insn->producer}));
    HP_TRY(put_at(k, t, t->done, (struct happening){.what = STAGE, .id = id, .stage = "D"}));
    if (issued && t->done == t->left) /* nothing else ends it */
        HP_TRY(
            push(k, (struct happening){
                        .cycle = t->fetched + t->left, .what = STAGE_END, .id = id, .stage = "X"}));
    return HP_OK;
}

/* Lane 1: what it waited for in front of the map. Only the last cycles of that are known to be so:
 * it could have been mapped as soon as the one before it. */
static enum hp_err put_stall(struct kanata *k, const struct hp_log_insn *insn)
{
    const struct hp_timing *t = insn->timing;
    const char *stall = map_stall(t->events);
    uint32_t end = t->mapped < t->left ? t->mapped : t->left;
    if (!stall || end == 0)
        return HP_OK;
    HP_TRY(
        put_at(k, t, end - 1, (struct happening){.what = STALL, .id = insn->id, .stage = stall}));
    return push(k,
                (struct happening){
                    .cycle = t->fetched + end, .what = STALL_END, .id = insn->id, .stage = stall});
}

static enum hp_err put_insn(void *state, const struct hp_log_insn *insn)
{
    struct kanata *k = state;
    const struct hp_timing *t = insn->timing;
    write_before(k, t->fetched);
    advance(k, t->fetched);
    put_start(k, insn);
    HP_TRY(put_stall(k, insn));
    HP_TRY(put_stages(k, insn));
    return push(k, (struct happening){.cycle = t->fetched + t->left,
                                      .what = t->events & HP_TIMING_RETIRED ? RETIRE : FLUSH,
                                      .id = insn->id});
}

static enum hp_err close_log(void *state)
{
    write_before(state, UINT64_MAX);
    return HP_OK;
}

static const struct hp_log_format log_format = {
    .open = open_log, .insn = put_insn, .close = close_log, .free = free_log};

const struct hp_export_format hp_format_kanata = {
    .name = "kanata",
    .summary = "a pipeline log for Konata",
    .source = HP_EXPORT_TIMINGS,
    .log = &log_format,
};
