// SPDX-License-Identifier: MIT
/*
 * A trace as Intel PT would deliver it, in perf.data: docs/export-samples.md. All packets are those
 * of user code. Buffers are those of threads, or of processors: then the threads that run are told
 * by records of context switches.
 */
#include "base/base.h"
#include "export/export.h"
#include "export/samples/perf_file.h"
#include "export/samples/processes.h"
#include "export/samples/pt_packets.h"
#include "export/samples/settings.h"
#include "isa/x86_far.h"

#define PIECE 65536 /* bytes of a buffer that are written at once */

/* What a thread or a processor traces. */
struct buffer {
    struct hp_pt_writer packets;
    uint32_t index;
    int32_t tid, cpu;    /* -1: it is of the other */
    struct thread *runs; /* on the processor; NULL: none */
    uint64_t written;
};

/* A thread. */
struct thread {
    struct hp_thread info;
    struct hp_perf_process *process;
    struct buffer *buffer; /* NULL: it is on no processor */
    uint64_t began, next;  /* when; where it goes on, 0: nobody knows */
    uint64_t ran;          /* instructions, since it came to its processor */
    uint32_t times;        /* that it came to one */
    uint64_t *interrupted; /* where, by signals whose handlers run */
    size_t n_interrupted, cap_interrupted;
    bool gap; /* something is missing before what comes next */
};

struct tracing {
    struct hp_stream_setup setup; /* first */
    struct hp_pt_settings settings;
    struct hp_perf_file file;
    struct hp_perf_processes processes;
    struct thread **threads; /* by id; NULL: none */
    size_t n_threads;
    struct buffer **buffers;
    size_t n_buffers, cap_buffers;
    uint64_t clock; /* instructions, and what else has to be in order */
};

static uint64_t ticks(const struct tracing *s)
{
    return (s->clock + 1) * HP_PERF_TICKS;
}

static enum hp_err new_buffer(struct tracing *s, int32_t tid, int32_t cpu, struct buffer **buffer)
{
    struct buffer *b;
    HP_TRY(hp_grow(&s->buffers, &s->cap_buffers, s->n_buffers + 1, sizeof *s->buffers));
    HP_TRY(hp_new(&b, 1, sizeof *b));
    b->index = (uint32_t)s->n_buffers;
    b->tid = tid;
    b->cpu = cpu;
    s->buffers[s->n_buffers++] = b;
    *buffer = b;
    HP_TRY(hp_pt_writer_init(&b->packets, s->settings.long_packets ? 47 : 6, s->settings.returns));
    hp_pt_put_sync(&b->packets, 0, ticks(s));
    return HP_OK;
}

static enum hp_err open_pt(void *state)
{
    struct tracing *s = state;
    struct buffer *buffer;
    s->processes = (struct hp_perf_processes){.file = &s->file, .setup = &s->setup};
    HP_TRY(hp_pt_parse(s->setup.settings, &s->settings));
    if (hp_code_arch(s->setup.code) != HP_ARCH_X86_64)
        return hp_fail(HP_ERR_UNSUPPORTED, "Intel PT is of x86-64: this program is not");
    HP_TRY(
        hp_perf_file_begin_pt(&s->file, s->setup.out, s->settings.cpus > 0, s->settings.returns));
    for (uint32_t i = 0; i < s->settings.cpus; i++)
        HP_TRY(new_buffer(s, -1, (int32_t)i, &buffer));
    return HP_OK;
}

static struct hp_perf_who who(const struct tracing *s, const struct thread *t)
{
    return (struct hp_perf_who){t->info.pid, t->info.tid, s->clock + 1};
}

/* --- Buffers ---------------------------------------------------------------------------------- */

/* Writes what a buffer holds. */
static void put_piece(struct tracing *s, const struct thread *t, struct buffer *b)
{
    struct hp_perf_who w = who(s, t);
    size_t n = b->packets.n;
    if (!n)
        return;
    const struct hp_perf_auxtrace piece = {.size = n,
                                           .offset = b->written,
                                           .reference = ticks(s),
                                           .index = b->index,
                                           .tid = b->tid,
                                           .cpu = b->cpu};
    s->file.cpu = b->cpu < 0 ? 0 : (uint32_t)b->cpu;
    hp_perf_put_trace(&s->file, &w, &piece, b->packets.bytes);
    b->written += n;
    b->packets.n = 0;
}

/* The buffer of a thread, which has that of the thread before it with that number. */
static enum hp_err own_buffer(struct tracing *s, struct thread *t)
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
static void leave_cpu(struct tracing *s, struct thread *t)
{
    struct buffer *b = t->buffer;
    if (b->packets.enabled)
        hp_pt_put_interrupt(&b->packets, t->next);
    s->clock++;
    struct hp_perf_who w = who(s, t);
    s->file.cpu = (uint32_t)b->cpu;
    hp_perf_put_switch(&s->file, &w, true);
    b->runs = NULL;
    t->buffer = NULL;
}

/* It comes to a processor: each time to another one. */
static void take_cpu(struct tracing *s, struct thread *t)
{
    struct buffer *b = s->buffers[(t->info.id + t->times++) % s->settings.cpus];
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
static void schedule(struct tracing *s, struct thread *t)
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
static bool is_known(const struct tracing *s, const struct hp_thread *info)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i] && s->threads[i]->info.tid == info->tid)
            return true;
    return false;
}

static enum hp_err tell_thread(struct tracing *s, struct thread *t)
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
static enum hp_err begin_thread(void *state, const struct hp_thread *info)
{
    struct tracing *s = state;
    struct thread *t;
    HP_TRY(hp_grow(&s->threads, &s->n_threads, (size_t)info->id + 1, sizeof *s->threads));
    if (s->threads[info->id])
        return HP_OK;
    bool later = is_known(s, info);
    HP_TRY(hp_new(&t, 1, sizeof *t));
    s->threads[info->id] = t;
    *t = (struct thread){.info = *info};
    return later ? HP_OK : tell_thread(s, t);
}

/* Modules are there from the beginning of the program on, if nothing was there before. */
static enum hp_err map_module(struct tracing *s, struct thread *t, uint32_t module)
{
    struct hp_pt_writer *packets = &t->buffer->packets;
    struct hp_perf_who w = who(s, t);
    if (!hp_perf_replaces(&s->processes, t->process, module)) {
        w.time = t->process->since;
    } else if (packets->enabled) { /* the time of what was before and after has to differ */
        hp_pt_put_interrupt(packets, t->next);
        s->clock++;
    }
    return hp_perf_map_module(&s->processes, &w, t->process, module);
}

/* How a thread comes to a block. */
static void put_arrival(struct tracing *s, struct thread *t, const struct hp_block *code)
{
    struct hp_pt_writer *packets = &t->buffer->packets;
    if (packets->enabled && t->next && t->next != code->start && !t->gap)
        hp_pt_put_interrupt(packets, t->next);
    if (t->gap || (packets->enabled && !t->next))
        hp_pt_put_overflow(packets, code->start);
    t->gap = false;
    if (!packets->enabled)
        hp_pt_put_enter(packets, code->start, ticks(s));
    if (packets->all - packets->synced >= s->settings.psb)
        hp_pt_put_sync(packets, code->start, ticks(s));
}

/* How it leaves it, if it runs to its end. */
static void put_departure(const struct tracing *s, struct hp_pt_writer *packets,
                          const struct hp_stream_block *block)
{
    const struct hp_block *code = block->code;
    const uint8_t *insn = hp_code_bytes(s->setup.code, code) + (code->last - code->start);
    bool far = hp_x86_is_far(insn, code->end - code->last);
    switch ((enum hp_flow)code->flow) {
    case HP_FLOW_COND: hp_pt_put_branch(packets, block->taken); break;
    case HP_FLOW_CALL:
        if (code->target != code->end) /* a processor does not take that for a call */
            hp_pt_put_call(packets, code->end);
        break;
    case HP_FLOW_CALL_IND:
        hp_pt_put_jump(packets, block->next);
        if (!far)
            hp_pt_put_call(packets, code->end);
        break;
    case HP_FLOW_JUMP_IND: hp_pt_put_jump(packets, block->next); break;
    case HP_FLOW_RETURN:
        if (far)
            hp_pt_put_jump(packets, block->next);
        else
            hp_pt_put_return(packets, block->next);
        break;
    case HP_FLOW_SYSCALL: hp_pt_put_leave(packets); break;
    case HP_FLOW_TRAP: hp_pt_put_interrupt(packets, code->last); break;
    case HP_FLOW_NONE:
    case HP_FLOW_JUMP:
    case HP_FLOW_COUNT_: break;
    }
}

/* It is not known where the thread went from the block: it is interrupted before what it did not
 * execute, or before the last instruction. */
static enum hp_err put_tail(struct tracing *s, struct thread *t,
                            const struct hp_stream_block *block)
{
    struct hp_pt_writer *packets = &t->buffer->packets;
    const struct hp_block *code = block->code;
    const struct hp_insn *insns;
    if (code->flow == HP_FLOW_SYSCALL && block->insns == code->insns) {
        hp_pt_put_leave(packets);
        return HP_OK;
    }
    HP_TRY(hp_code_insns(s->setup.code, block->id, &insns));
    uint32_t n = block->insns < code->insns ? block->insns : code->insns - 1;
    hp_pt_put_interrupt(packets, insns[n].address);
    return HP_OK;
}

/* The last block before a signal whose handler never returned comes when that is known. */
static bool is_late(const struct thread *t, const struct hp_stream_block *block)
{
    for (size_t i = 0; !block->next && block->code->start != t->next && i < t->n_interrupted; i++)
        if (t->interrupted[i] == block->code->start)
            return true;
    return false;
}

static enum hp_err put_block(void *state, const struct hp_stream_block *block)
{
    struct tracing *s = state;
    struct thread *t = s->threads[block->thread->id];
    if (is_late(t, block))
        return HP_OK;
    if (!t->process)
        HP_TRY(tell_thread(s, t));
    schedule(s, t);
    struct buffer *b = t->buffer;
    if (!hp_perf_is_mapped(t->process, block->code))
        HP_TRY(map_module(s, t, block->code->module));
    put_arrival(s, t, block->code);
    s->clock += block->insns;
    t->ran += block->insns;
    t->next = block->next;
    if (block->next)
        put_departure(s, &b->packets, block);
    else
        HP_TRY(put_tail(s, t, block));
    if (b->packets.n >= PIECE)
        put_piece(s, t, b);
    return b->packets.failure;
}

/* --- Events ----------------------------------------------------------------------------------- */

static enum hp_err begin_handler(struct thread *t)
{
    HP_TRY(hp_grow(&t->interrupted, &t->cap_interrupted, t->n_interrupted + 1,
                   sizeof *t->interrupted));
    t->interrupted[t->n_interrupted++] = t->next;
    if (t->buffer && t->buffer->packets.enabled && t->next)
        hp_pt_put_interrupt(&t->buffer->packets, t->next);
    t->next = 0;
    return HP_OK;
}

/* It came to where it would have gone on, and not further. */
static void end_thread(struct tracing *s, struct thread *t)
{
    struct buffer *b = t->buffer;
    if (b && b->packets.enabled && t->next)
        hp_pt_put_interrupt(&b->packets, t->next);
    if (b && b->runs == t)
        leave_cpu(s, t);
}

static enum hp_err take_event(void *state, const struct hp_thread *thread,
                              const struct hp_event *event)
{
    struct tracing *s = state;
    struct thread *t = s->threads[thread->id];
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

static enum hp_err close_pt(void *state)
{
    struct tracing *s = state;
    uint64_t bytes = 0;
    struct thread none = {.info = {.pid = -1, .tid = -1}};
    for (size_t i = 0; i < s->n_buffers; i++) {
        struct buffer *b = s->buffers[i];
        hp_pt_put_outcomes(&b->packets);
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

static void fini_pt(void *state)
{
    struct tracing *s = state;
    for (size_t i = 0; i < s->n_threads; i++) {
        if (s->threads[i])
            free(s->threads[i]->interrupted);
        free(s->threads[i]);
    }
    for (size_t i = 0; i < s->n_buffers; i++) {
        hp_pt_writer_fini(&s->buffers[i]->packets);
        free(s->buffers[i]);
    }
    free(s->threads);
    free(s->buffers);
    hp_perf_processes_fini(&s->processes);
}

const struct hp_export_format hp_format_perf_pt = {
    .name = "perf-pt",
    .summary = "all that was executed, as packets of Intel PT in perf.data: for perf",
    .settings = &hp_pt_family,
    .block = put_block,
    .thread = begin_thread,
    .event = take_event,
    .state_size = sizeof(struct tracing),
    .open = open_pt,
    .close = close_pt,
    .fini = fini_pt,
    .all = true,
    .all_usual = true,
};
