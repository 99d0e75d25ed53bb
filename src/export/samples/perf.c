// SPDX-License-Identifier: MIT
/*
 * Samples as a processor with branch records would deliver them: docs/export-samples.md. A sample
 * is taken just before a taken branch, and its stack has the branches before that one. So the last
 * run of instructions, from the target of the newest branch to the instruction pointer, is known
 * too.
 */
#include "base/base.h"
#include "export/export.h"
#include "export/samples/perf_file.h"
#include "export/samples/processes.h"
#include "export/samples/settings.h"

#define MAX_FRAMES  65536
#define SEARCHED    1024                /* frames in which a return looks for its own */
#define INTERRUPTED (UINT64_C(1) << 63) /* a frame that a signal's handler returns to */

/* The branches that a thread has taken. */
struct history {
    struct perf_branch_entry *ring; /* of `depth` branches */
    uint32_t n, newest;             /* there are; where the newest is */
    bool shared;                    /* the oldest was in the stack before, too */
    uint64_t next;                  /* where it goes on; 0: nobody knows */
};

/* A thread. */
struct thread {
    struct hp_thread info;
    struct hp_perf_process *process;
    struct history now;
    struct history *interrupted; /* by signals whose handlers run, the outermost first */
    size_t n_interrupted, cap_interrupted;
    uint64_t since;                       /* events since the last sample */
    uint64_t began;                       /* when */
    uint64_t *frames;                     /* return addresses, the outermost first */
    size_t n_frames, cap_frames, n_above; /* frames for which there was no room */
};

struct samples {
    struct hp_stream_setup setup; /* first */
    struct hp_samples_settings settings;
    struct hp_perf_file file;
    struct thread **threads; /* by id; NULL: none */
    size_t n_threads;
    struct hp_perf_processes processes;
    struct perf_branch_entry stack[HP_PERF_MAX_BRANCHES];
    uint64_t chain[PERF_MAX_STACK_DEPTH];
    uint64_t clock; /* instructions */
    uint64_t n_samples, n_branches;
};

static enum hp_err open_samples(void *state)
{
    struct samples *s = state;
    struct hp_samples_settings *settings = &s->settings;
    s->processes = (struct hp_perf_processes){.file = &s->file, .setup = &s->setup};
    HP_TRY(hp_samples_parse(s->setup.settings, settings));
    bool taken = settings->of == HP_SAMPLES_OF_BRANCHES;
    const struct hp_perf_event event = {
        .name = taken ? "taken-branches:u" : "instructions:u",
        .type = taken ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE,
        .config = taken ? HP_PERF_TAKEN_BRANCHES : PERF_COUNT_HW_INSTRUCTIONS,
        .period = settings->consecutive ? settings->depth - settings->overlap : settings->period,
        .samples = PERF_SAMPLE_BRANCH_STACK | (settings->chains ? PERF_SAMPLE_CALLCHAIN : 0)};
    return hp_perf_file_begin(&s->file, s->setup.out, &event);
}

static struct hp_perf_who who(const struct samples *s, const struct thread *t)
{
    return (struct hp_perf_who){t->info.pid, t->info.tid, s->clock + 1};
}

/* --- Threads ---------------------------------------------------------------------------------- */

static enum hp_err begin_thread(void *state, const struct hp_thread *info)
{
    struct samples *s = state;
    struct thread *t;
    HP_TRY(hp_grow(&s->threads, &s->n_threads, (size_t)info->id + 1, sizeof *s->threads));
    if (s->threads[info->id])
        return HP_OK;
    HP_TRY(hp_new(&t, 1, sizeof *t));
    s->threads[info->id] = t;
    *t = (struct thread){.info = *info};
    HP_TRY(hp_new(&t->now.ring, s->settings.depth, sizeof *t->now.ring));
    struct hp_perf_who w = who(s, t);
    t->began = w.time;
    return hp_perf_begin_thread(&s->processes, &w, info, &t->process);
}

/* --- Call chains ------------------------------------------------------------------------------ */

static enum hp_err push_frame(struct thread *t, uint64_t address)
{
    if (t->n_frames == MAX_FRAMES) {
        t->n_above++;
        return HP_OK;
    }
    HP_TRY(hp_grow(&t->frames, &t->cap_frames, t->n_frames + 1, sizeof *t->frames));
    t->frames[t->n_frames++] = address;
    return HP_OK;
}

/* A return goes to the nearest frame that waits for it; where none does, it is no return. */
static void pop_frame(struct thread *t, uint64_t address)
{
    size_t least = t->n_frames > SEARCHED ? t->n_frames - SEARCHED : 0;
    if (t->n_above) {
        t->n_above--;
        return;
    }
    for (size_t i = t->n_frames; i > least && !(t->frames[i - 1] & INTERRUPTED); i--) {
        if (t->frames[i - 1] != address)
            continue;
        t->n_frames = i - 1;
        return;
    }
}

/* A handler is left, with all it has called. */
static void pop_handler(struct thread *t)
{
    size_t i = t->n_frames;
    while (i > 0 && !(t->frames[i - 1] & INTERRUPTED))
        i--;
    if (i > 0)
        t->n_frames = i - 1;
}

static enum hp_err follow_calls(struct thread *t, const struct hp_stream_block *block)
{
    uint8_t flow = block->code->flow;
    if (flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND)
        return push_frame(t, block->code->end);
    if (flow == HP_FLOW_RETURN)
        pop_frame(t, block->next);
    return HP_OK;
}

static size_t make_chain(struct samples *s, const struct thread *t)
{
    size_t n = 0;
    for (size_t i = t->n_frames; i > 0 && n < PERF_MAX_STACK_DEPTH - 1; i--)
        s->chain[n++] = t->frames[i - 1] & ~INTERRUPTED;
    return n;
}

/* --- Samples ---------------------------------------------------------------------------------- */

static const uint8_t types[HP_FLOW_COUNT_] = {
    [HP_FLOW_JUMP] = PERF_BR_UNCOND,  [HP_FLOW_COND] = PERF_BR_COND,
    [HP_FLOW_JUMP_IND] = PERF_BR_IND, [HP_FLOW_CALL] = PERF_BR_CALL,
    [HP_FLOW_RETURN] = PERF_BR_RET,   [HP_FLOW_CALL_IND] = PERF_BR_IND_CALL,
};

/* Whether it was predicted is not known: neither bit is set. */
static void push_branch(const struct samples *s, struct history *h, uint64_t from, uint64_t to,
                        uint8_t type)
{
    uint32_t depth = s->settings.depth;
    h->newest = (h->newest + 1) % depth;
    h->n += h->n < depth;
    h->ring[h->newest] = (struct perf_branch_entry){.from = from, .to = to, .type = type & 0xfu};
}

/* Copies it, newest first; returns how many of these are branches of the program. */
static uint64_t make_stack(struct samples *s, const struct history *h)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        s->stack[i] = h->ring[(h->newest + s->settings.depth - i) % s->settings.depth];
        n += s->stack[i].from != 0;
    }
    return n;
}

/* A sample of the thread as it is before the instruction at `ip`. Of consecutive stacks each has
 * its own branches as its period, but for one that was in the stack before. */
static void put_sample(struct samples *s, struct thread *t, struct history *h, uint64_t ip)
{
    struct hp_perf_sample sample = {.who = who(s, t),
                                    .ip = ip,
                                    .period = s->settings.period,
                                    .chain = s->chain,
                                    .branches = s->stack,
                                    .n_branches = h->n};
    uint64_t branches = make_stack(s, h);
    if (s->settings.consecutive)
        sample.period = branches - h->shared;
    if (s->settings.chains)
        sample.n_chain = make_chain(s, t);
    hp_perf_put_sample(&s->file, &sample);
    s->n_samples++;
    s->n_branches += sample.n_branches;
    t->since = 0;
    if (s->settings.consecutive) {
        h->shared = s->settings.overlap && s->stack[0].from;
        h->n = h->shared;
    }
}

/* A branch is about to be taken: is it time? */
static bool is_due(const struct samples *s, const struct thread *t)
{
    if (s->settings.of != HP_SAMPLES_OF_BRANCHES)
        return false;
    return s->settings.consecutive ? t->now.n == s->settings.depth : t->since == s->settings.period;
}

/* The instructions of a block, of which samples may be taken. */
static enum hp_err sample_insns(struct samples *s, struct thread *t,
                                const struct hp_stream_block *block)
{
    uint64_t period = s->settings.period, left = block->insns;
    if (t->since + left < period) {
        t->since += left;
        return HP_OK;
    }
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(s->setup.code, block->id, &insns));
    for (uint64_t i = 0, step; i < left; i += step) {
        step = period - t->since;
        if (step > left - i) {
            t->since += left - i;
            break;
        }
        put_sample(s, t, &t->now, insns[i + step - 1].address);
    }
    return HP_OK;
}

/* It is not known how the thread goes on from there: what it did so far ends here. */
static void end_history(struct samples *s, struct thread *t, struct history *h, uint64_t ip)
{
    if (s->settings.consecutive && h->n)
        put_sample(s, t, h, ip);
    h->n = 0;
    h->shared = false;
    h->next = 0;
}

/* The address of the last instruction of a block that was executed. */
static enum hp_err find_last_ip(struct samples *s, const struct hp_stream_block *block,
                                uint64_t *ip)
{
    const struct hp_insn *insns;
    *ip = block->code->last;
    if (!block->insns || block->insns == block->code->insns)
        return HP_OK;
    HP_TRY(hp_code_insns(s->setup.code, block->id, &insns));
    *ip = insns[block->insns - 1].address;
    return HP_OK;
}

/* The history that a block belongs to: the present one, but for the last block of one that was
 * interrupted and never went on. */
static struct history *history_of(struct thread *t, const struct hp_stream_block *block)
{
    uint64_t start = block->code->start;
    for (size_t i = t->n_interrupted; !block->next && start != t->now.next && i > 0; i--)
        if (t->interrupted[i - 1].next == start)
            return &t->interrupted[i - 1];
    return &t->now;
}

static enum hp_err put_block(void *state, const struct hp_stream_block *block)
{
    struct samples *s = state;
    struct thread *t = s->threads[block->thread->id];
    struct history *h = history_of(t, block);
    const struct hp_block *code = block->code;
    uint64_t last_ip;
    if (!hp_perf_is_mapped(t->process, code)) {
        struct hp_perf_who w = who(s, t);
        HP_TRY(hp_perf_map_module(&s->processes, &w, t->process, code->module));
    }
    if (!h->n)
        push_branch(s, h, 0, code->start, PERF_BR_UNKNOWN);
    if (s->settings.of == HP_SAMPLES_OF_INSTRUCTIONS)
        HP_TRY(sample_insns(s, t, block));
    s->clock += block->insns;
    h->next = block->next;
    if (types[code->flow] && block->next && block->taken) {
        if (is_due(s, t))
            put_sample(s, t, h, code->last);
        push_branch(s, h, code->last, block->next, types[code->flow]);
        t->since += s->settings.of == HP_SAMPLES_OF_BRANCHES;
        return s->settings.chains ? follow_calls(t, block) : HP_OK;
    }
    if (block->next == code->end)
        return HP_OK;
    HP_TRY(find_last_ip(s, block, &last_ip));
    end_history(s, t, h, last_ip);
    return HP_OK;
}

/* --- Events ----------------------------------------------------------------------------------- */

/* A handler starts with a history of its own. */
static enum hp_err begin_handler(struct samples *s, struct thread *t)
{
    HP_TRY(hp_grow(&t->interrupted, &t->cap_interrupted, t->n_interrupted + 1,
                   sizeof *t->interrupted));
    t->interrupted[t->n_interrupted++] = t->now;
    uint64_t next = t->now.next;
    t->now = (struct history){0};
    HP_TRY(hp_new(&t->now.ring, s->settings.depth, sizeof *t->now.ring));
    return s->settings.chains ? push_frame(t, next | INTERRUPTED) : HP_OK;
}

/* The interrupted code continues. */
static void end_handler(struct samples *s, struct thread *t)
{
    if (!t->n_interrupted)
        return;
    free(t->now.ring);
    t->now = t->interrupted[--t->n_interrupted];
    if (s->settings.chains)
        pop_handler(t);
}

static enum hp_err take_event(void *state, const struct hp_thread *thread,
                              const struct hp_event *event)
{
    struct samples *s = state;
    struct thread *t = s->threads[thread->id];
    struct hp_perf_who w = who(s, t);
    switch (event->kind) {
    case HP_EVENT_SIGNAL: return begin_handler(s, t);
    case HP_EVENT_SIGRETURN: end_handler(s, t); break;
    default: hp_perf_process_event(&s->processes, &w, t->process, event); break;
    }
    return HP_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Names of threads are known only now. They were these from the beginning on. */
static void rename_threads(struct samples *s)
{
    for (size_t i = 0; i < s->n_threads; i++) {
        const struct thread *t = s->threads[i];
        if (t)
            hp_perf_rename_thread(&s->processes, &t->info, t->began);
    }
}

static enum hp_err close_samples(void *state)
{
    struct samples *s = state;
    struct hp_export_written *written = s->setup.written;
    rename_threads(s);
    snprintf(written->detail, sizeof written->detail,
             "%" PRIu64 " samples, with %" PRIu64 " branches", s->n_samples, s->n_branches);
    return hp_perf_file_end(&s->file, &(struct hp_perf_about){.arch = hp_code_arch(s->setup.code),
                                                              .version = "hotpath " HP_VERSION,
                                                              .command = s->setup.names.command,
                                                              .code = s->setup.code});
}

static void fini_samples(void *state)
{
    struct samples *s = state;
    for (size_t i = 0; i < s->n_threads; i++) {
        if (!s->threads[i])
            continue;
        free(s->threads[i]->now.ring);
        for (size_t k = 0; k < s->threads[i]->n_interrupted; k++)
            free(s->threads[i]->interrupted[k].ring);
        free(s->threads[i]->interrupted);
        free(s->threads[i]->frames);
        free(s->threads[i]);
    }
    free(s->threads);
    hp_perf_processes_fini(&s->processes);
}

const struct hp_export_format hp_format_perf = {
    .name = "perf",
    .summary = "samples with branch stacks, as perf.data: for perf and what reads its files",
    .settings = &hp_samples_family,
    .block = put_block,
    .thread = begin_thread,
    .event = take_event,
    .state_size = sizeof(struct samples),
    .open = open_samples,
    .close = close_samples,
    .fini = fini_samples,
    .all = true,
    .all_usual = true,
};
