// SPDX-License-Identifier: MIT
#include "export/samples/tracing.h"

#include "base/base.h"

#define PIECE 65536 /* bytes of a buffer that are written at once */

/* What a thread or a processor traces. */
struct hp_tracing_buffer {
    struct hp_packets *packets;
    uint32_t index;
    int32_t tid, cpu;               /* -1: it is of the other */
    struct hp_tracing_thread *runs; /* on the processor; NULL: none */
    uint64_t written;
};

/* A thread. */
struct hp_tracing_thread {
    struct hp_thread info;
    struct hp_perf_process *process;
    struct hp_tracing_buffer *buffer; /* NULL: it is on no processor */
    uint64_t began, next;             /* when; where it goes on, 0: nobody knows */
    uint64_t ran;                     /* instructions, since it came to its processor */
    uint32_t times;                   /* that it came to one */
    uint64_t *interrupted;            /* where, by signals whose handlers run */
    size_t n_interrupted, cap_interrupted;
    bool gap; /* something is missing before what comes next */
};

static uint64_t ticks(const struct hp_tracing *s)
{
    return (s->clock + 1) * HP_PERF_TICKS;
}

static enum hp_err new_buffer(struct hp_tracing *s, int32_t tid, int32_t cpu,
                              struct hp_tracing_buffer **buffer)
{
    struct hp_tracing_buffer *b;
    HP_TRY(hp_grow(&s->buffers, &s->cap_buffers, s->n_buffers + 1, sizeof *s->buffers));
    HP_TRY(hp_new(&b, 1, sizeof *b));
    b->index = (uint32_t)s->n_buffers;
    b->tid = tid;
    b->cpu = cpu;
    s->buffers[s->n_buffers++] = b;
    *buffer = b;
    return s->kind->open(&s->settings, cpu < 0 ? 0 : (uint32_t)cpu, ticks(s), &b->packets);
}

enum hp_err hp_tracing_open(void *state, const struct hp_tracing_kind *kind)
{
    struct hp_tracing *s = state;
    struct hp_tracing_buffer *buffer;
    s->kind = kind;
    s->processes = (struct hp_perf_processes){.file = &s->file, .setup = &s->setup};
    HP_TRY(kind->parse(s->setup.settings, &s->settings));
    if (hp_code_arch(s->setup.code) != kind->arch)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: this program is not", kind->refusal);
    HP_TRY(kind->begin(&s->file, s->setup.out, &s->settings));
    for (uint32_t i = 0; i < s->settings.cpus; i++)
        HP_TRY(new_buffer(s, -1, (int32_t)i, &buffer));
    return HP_OK;
}

static struct hp_perf_who who(const struct hp_tracing *s, const struct hp_tracing_thread *t)
{
    return (struct hp_perf_who){t->info.pid, t->info.tid, s->clock + 1};
}

/* --- Buffers ---------------------------------------------------------------------------------- */

/* Writes what a buffer holds. */
static void put_piece(struct hp_tracing *s, const struct hp_tracing_thread *t,
                      struct hp_tracing_buffer *b)
{
    struct hp_perf_who w = who(s, t);
    struct hp_packets *packets = b->packets;
    if (packets->n && s->kind->finish)
        s->kind->finish(packets);
    size_t n = packets->n;
    if (!n)
        return;
    const struct hp_perf_auxtrace piece = {.size = n,
                                           .offset = b->written,
                                           .reference = ticks(s),
                                           .index = b->index,
                                           .tid = b->tid,
                                           .cpu = b->cpu};
    s->file.cpu = (uint32_t)b->cpu; /* of a thread's buffer perf wants to hear that there is none */
    if (b->tid >= 0)
        w.tid = b->tid;
    hp_perf_put_trace(&s->file, &w, &piece, packets->bytes);
    b->written += n;
    packets->n = 0;
}

/* As much as is written at once; where what follows cannot go on with it, not before user code is
 * left. */
static void put_full(struct hp_tracing *s, const struct hp_tracing_thread *t,
                     struct hp_tracing_buffer *b)
{
    struct hp_packets *packets = b->packets;
    bool restarts = s->kind->finish;
    if (packets->n < PIECE)
        return;
    if (restarts && packets->enabled && t->next)
        packets->ops->interrupt(packets, t->next);
    if (!restarts || !packets->enabled)
        put_piece(s, t, b);
}

/* The buffer of a thread, which has that of the thread before it with that number. */
static enum hp_err own_buffer(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    struct hp_perf_who w = who(s, t);
    for (size_t i = 0; i < s->n_buffers; i++)
        if (s->buffers[i]->tid == t->info.tid)
            t->buffer = s->buffers[i];
    if (!t->buffer)
        HP_TRY(new_buffer(s, t->info.tid, -1, &t->buffer));
    hp_perf_put_trace_start(&s->file, &w);
    return HP_OK;
}

/* The thread leaves its processor. */
static void leave_cpu(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    struct hp_tracing_buffer *b = t->buffer;
    if (b->packets->enabled)
        b->packets->ops->interrupt(b->packets, t->next);
    s->clock++;
    struct hp_perf_who w = who(s, t);
    s->file.cpu = (uint32_t)b->cpu;
    hp_perf_put_switch(&s->file, &w, true);
    b->runs = NULL;
    t->buffer = NULL;
}

/* It comes to a processor: each time to another one. */
static void take_cpu(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    struct hp_tracing_buffer *b = s->buffers[(t->info.id + t->times++) % s->settings.cpus];
    if (b->runs)
        leave_cpu(s, b->runs);
    s->clock++;
    struct hp_perf_who w = who(s, t);
    s->file.cpu = (uint32_t)b->cpu;
    hp_perf_put_switch(&s->file, &w, false);
    s->clock++;
    b->runs = t;
    t->buffer = b;
    t->ran = 0;
}

/* The thread runs: where buffers are those of processors, on one. */
static void schedule(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    if (!s->settings.cpus)
        return;
    if (t->buffer && t->ran >= s->settings.slice)
        leave_cpu(s, t);
    if (!t->buffer)
        take_cpu(s, t);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* Whether a thread has a number already: then it is the same one, of another program. */
static bool is_known(const struct hp_tracing *s, const struct hp_thread *info)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i] && s->threads[i]->info.tid == info->tid)
            return true;
    return false;
}

static enum hp_err tell_thread(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    s->clock++;
    struct hp_perf_who w = who(s, t);
    t->began = w.time;
    s->file.cpu = 0;
    HP_TRY(hp_perf_begin_thread(&s->processes, &w, &t->info, &t->process));
    s->clock++;
    return s->settings.cpus ? HP_OK : own_buffer(s, t);
}

/* In a trace the threads of another program may begin before the program before has ended: those
 * are told when they run. */
enum hp_err hp_tracing_thread(void *state, const struct hp_thread *info)
{
    struct hp_tracing *s = state;
    struct hp_tracing_thread *t;
    HP_TRY(hp_grow(&s->threads, &s->n_threads, (size_t)info->id + 1, sizeof *s->threads));
    if (s->threads[info->id])
        return HP_OK;
    bool later = is_known(s, info);
    HP_TRY(hp_new(&t, 1, sizeof *t));
    s->threads[info->id] = t;
    *t = (struct hp_tracing_thread){.info = *info};
    return later ? HP_OK : tell_thread(s, t);
}

/* Modules are there from the beginning of the program on, if nothing was there before. */
static enum hp_err map_module(struct hp_tracing *s, struct hp_tracing_thread *t, uint32_t module)
{
    struct hp_packets *packets = t->buffer->packets;
    struct hp_perf_who w = who(s, t);
    if (!hp_perf_replaces(&s->processes, t->process, module)) {
        w.time = t->process->since;
    } else if (packets->enabled) { /* the time of what was before and after has to differ */
        packets->ops->interrupt(packets, t->next);
        s->clock++;
    }
    return hp_perf_map_module(&s->processes, &w, t->process, module);
}

/* How a thread comes to a block. */
static void put_arrival(struct hp_tracing *s, struct hp_tracing_thread *t,
                        const struct hp_block *code)
{
    struct hp_packets *packets = t->buffer->packets;
    const struct hp_packets_ops *ops = packets->ops;
    const struct hp_arrival arrival = {code->start, ticks(s), t->info.tid};
    if (packets->enabled && t->next && t->next != code->start && !t->gap)
        ops->interrupt(packets, t->next);
    if (t->gap || (packets->enabled && !t->next))
        ops->overflow(packets, &arrival);
    t->gap = false;
    if (!packets->enabled)
        ops->enter(packets, &arrival);
    if (packets->all - packets->synced >= s->settings.sync)
        ops->sync(packets, &arrival);
}

/* It is not known where the thread went from the block: it is interrupted before what it did not
 * execute, or before the last instruction. */
static enum hp_err put_tail(struct hp_tracing *s, struct hp_tracing_thread *t,
                            const struct hp_stream_block *block)
{
    struct hp_packets *packets = t->buffer->packets;
    const struct hp_block *code = block->code;
    const struct hp_departure departure = {code, hp_code_bytes(s->setup.code, code),
                                           code->end - code->start, false, code->end};
    const struct hp_insn *insns;
    if (code->flow == HP_FLOW_SYSCALL && block->insns == code->insns) {
        packets->ops->depart(packets, &departure);
        return HP_OK;
    }
    HP_TRY(hp_code_insns(s->setup.code, block->id, &insns));
    uint32_t n = block->insns < code->insns ? block->insns : code->insns - 1;
    if (packets->ops->pass)
        packets->ops->pass(packets, departure.bytes, insns[n].address - code->start);
    packets->ops->interrupt(packets, insns[n].address);
    return HP_OK;
}

/* It ran to its end. */
static void put_departure(const struct hp_tracing *s, struct hp_packets *packets,
                          const struct hp_stream_block *block)
{
    const struct hp_block *code = block->code;
    const struct hp_departure departure = {code, hp_code_bytes(s->setup.code, code),
                                           code->end - code->start, block->taken, block->next};
    packets->ops->depart(packets, &departure);
}

/* The last block before a signal whose handler never returned comes when that is known. */
static bool is_late(const struct hp_tracing_thread *t, const struct hp_stream_block *block)
{
    for (size_t i = 0; !block->next && block->code->start != t->next && i < t->n_interrupted; i++)
        if (t->interrupted[i] == block->code->start)
            return true;
    return false;
}

enum hp_err hp_tracing_block(void *state, const struct hp_stream_block *block)
{
    struct hp_tracing *s = state;
    struct hp_tracing_thread *t = s->threads[block->thread->id];
    if (is_late(t, block))
        return HP_OK;
    if (!t->process)
        HP_TRY(tell_thread(s, t));
    schedule(s, t);
    struct hp_tracing_buffer *b = t->buffer;
    if (!hp_perf_is_mapped(t->process, block->code))
        HP_TRY(map_module(s, t, block->code->module));
    put_arrival(s, t, block->code);
    s->clock += block->insns;
    t->ran += block->insns;
    t->next = block->next;
    if (block->next)
        put_departure(s, b->packets, block);
    else
        HP_TRY(put_tail(s, t, block));
    put_full(s, t, b);
    return b->packets->failure;
}

/* --- Events ----------------------------------------------------------------------------------- */

static enum hp_err begin_handler(struct hp_tracing_thread *t)
{
    HP_TRY(hp_grow(&t->interrupted, &t->cap_interrupted, t->n_interrupted + 1,
                   sizeof *t->interrupted));
    t->interrupted[t->n_interrupted++] = t->next;
    if (t->buffer && t->buffer->packets->enabled && t->next)
        t->buffer->packets->ops->interrupt(t->buffer->packets, t->next);
    t->next = 0;
    return HP_OK;
}

/* It came to where it would have gone on, and not further. */
static void end_thread(struct hp_tracing *s, struct hp_tracing_thread *t)
{
    struct hp_tracing_buffer *b = t->buffer;
    if (b && b->packets->enabled && t->next)
        b->packets->ops->interrupt(b->packets, t->next);
    if (b && b->runs == t)
        leave_cpu(s, t);
}

enum hp_err hp_tracing_event(void *state, const struct hp_thread *thread,
                             const struct hp_event *event)
{
    struct hp_tracing *s = state;
    struct hp_tracing_thread *t = s->threads[thread->id];
    s->clock++;
    struct hp_perf_who w = who(s, t);
    if (!t->process)
        HP_TRY(tell_thread(s, t));
    switch (event->kind) {
    case HP_EVENT_SIGNAL: return begin_handler(t);
    case HP_EVENT_SIGRETURN:
        t->next = t->n_interrupted ? t->interrupted[--t->n_interrupted] : 0;
        break;
    case HP_EVENT_LOST: t->gap = true; break;
    default: hp_perf_process_event(&s->processes, &w, t->process, event); break;
    }
    if (event->kind == HP_EVENT_END)
        end_thread(s, t);
    return HP_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */

enum hp_err hp_tracing_close(void *state)
{
    struct hp_tracing *s = state;
    uint64_t bytes = 0;
    struct hp_tracing_thread none = {.info = {.pid = -1, .tid = -1}};
    for (size_t i = 0; i < s->n_buffers; i++) {
        struct hp_tracing_buffer *b = s->buffers[i];
        b->packets->ops->flush(b->packets);
        put_piece(s, &none, b);
        bytes += b->written;
    }
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i] && s->threads[i]->process)
            hp_perf_rename_thread(&s->processes, &s->threads[i]->info, s->threads[i]->began);
    snprintf(s->setup.written->detail, sizeof s->setup.written->detail,
             "%" PRIu64 " bytes of packets", bytes);
    return hp_perf_file_end(&s->file, &(struct hp_perf_about){.arch = hp_code_arch(s->setup.code),
                                                              .version = "hotpath " HP_VERSION,
                                                              .command = s->setup.names.command,
                                                              .code = s->setup.code});
}

void hp_tracing_fini(void *state)
{
    struct hp_tracing *s = state;
    for (size_t i = 0; i < s->n_threads; i++) {
        if (s->threads[i])
            free(s->threads[i]->interrupted);
        free(s->threads[i]);
    }
    for (size_t i = 0; i < s->n_buffers; i++) {
        if (s->buffers[i]->packets)
            s->kind->close(s->buffers[i]->packets);
        free(s->buffers[i]);
    }
    free(s->threads);
    free(s->buffers);
    hp_perf_file_fini(&s->file);
    hp_perf_processes_fini(&s->processes);
}
