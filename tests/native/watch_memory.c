// SPDX-License-Identifier: MIT
/*
 * Runs a program in the native engine's memory mode and checks the addresses that come with its
 * blocks (docs/stream.md):
 *
 *     watch_memory [-l] PROGRAM ARGUMENTS...
 *
 * Every thread must have as many addresses as operands, and an operand that is relative to the
 * instruction's own address must be where the code says: so a pair that is off by one is seen at
 * once. Prints what it counted to stderr, and with -l every operand to standard output. Exit status
 * 0: all is as it should be.
 */
#include "base/grow.h"
#include "engine/live.h"
#include "engine/native/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watch;

struct thread {
    struct hp_sink sink; /* first */
    struct watch *watch;
    struct hp_cursor *cursor;
    uint64_t fed, paired; /* addresses */
    bool lost;            /* something is missing: nothing can be said any more */
    bool executes;        /* another program, now */
};

struct watch {
    struct hp_consumer consumer; /* first */
    struct hp_code *code;
    struct hp_segment_source *source;
    struct thread **threads;
    size_t n_threads, cap_threads;
    bool list;
    uint64_t pairs, fixed, wrong, lost, killed;
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "watch_memory: %s: %s\n", what, hp_error_text());
    exit(2);
}

static void must(enum hp_err err, const char *what)
{
    if (err != HP_OK)
        give_up(what);
}

/* --- Blocks / --------------------------------------------------------------------------------- */

static void check_pair(struct watch *w, const struct hp_insn *insn, const struct hp_mem *mem,
                       uint64_t address)
{
    bool is_fixed = mem->base == HP_MEM_PC;
    uint64_t fixed = insn->address + insn->length + (uint64_t)mem->disp;
    w->pairs++;
    w->fixed += is_fixed;
    if (w->list)
        printf("%llx %s%s %u %llx\n", (unsigned long long)insn->address, mem->read ? "r" : "",
               mem->write ? "w" : "", mem->size, (unsigned long long)address);
    if (is_fixed && fixed != address && w->wrong++ < 10)
        fprintf(stderr, "instruction at %llx: address %llx, not %llx\n",
                (unsigned long long)insn->address, (unsigned long long)address,
                (unsigned long long)fixed);
}

static void check_block(struct thread *t, uint32_t block, const uint64_t *addresses, size_t n)
{
    const struct hp_insn *insns;
    uint32_t n_insns = hp_code_block(t->watch->code, block)->insns;
    size_t k = 0;
    must(hp_code_insns(t->watch->code, block, &insns), "a block");
    for (uint32_t i = 0; i < n_insns; i++)
        for (unsigned j = 0; j < insns[i].n_mems; j++, k++)
            if (k < n)
                check_pair(t->watch, &insns[i], &insns[i].mems[j], addresses[k]);
    t->watch->wrong += k != n;
    t->paired += n;
}

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    for (size_t i = 0; batch->addresses && i < batch->n; i++)
        check_block((struct thread *)sink, batch->blocks[i],
                    batch->addresses + batch->address_at[i],
                    batch->address_at[i + 1] - batch->address_at[i]);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct thread *t = (struct thread *)sink;
    if (event->kind == HP_EVENT_TAIL && event->addresses)
        check_block(t, event->block, event->addresses, event->n_addresses);
    t->executes |= event->kind == HP_EVENT_EXEC;
    t->executes &= event->kind != HP_EVENT_EXEC_FAILED;
    t->lost |= event->kind == HP_EVENT_LOST && event->value != HP_LOST_UNKNOWN;
}

/* --- The consumer / --------------------------------------------------------------------------- */

static enum hp_err on_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct watch *w = (struct watch *)consumer;
    struct thread *t = calloc(1, sizeof *t);
    HP_TRY(hp_grow(&w->threads, &w->cap_threads, thread->id + 1u, sizeof(void *)));
    w->threads[thread->id] = t;
    if (thread->id >= w->n_threads)
        w->n_threads = thread->id + 1u;
    *t = (struct thread){.sink = {.batch = on_batch, .event = on_event}, .watch = w};
    HP_TRY(hp_cursor_new(w->code, w->source, &t->sink, &t->cursor));
    return hp_cursor_expect_addresses(t->cursor);
}

static enum hp_err on_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                            size_t n)
{
    return hp_cursor_feed(((struct watch *)consumer)->threads[thread]->cursor, words, n);
}

static enum hp_err on_addresses(struct hp_consumer *consumer, uint32_t thread,
                                const uint64_t *addresses, size_t n)
{
    struct thread *t = ((struct watch *)consumer)->threads[thread];
    t->fed += n;
    return hp_cursor_feed_addresses(t->cursor, addresses, n);
}

static enum hp_err on_end(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason)
{
    struct watch *w = (struct watch *)consumer;
    struct thread *t = w->threads[thread];
    HP_TRY(hp_cursor_end(t->cursor, reason));
    bool surplus_allowed = reason == HP_END_KILLED || (reason == HP_END_EXEC && !t->executes);
    if (t->lost) {
        w->lost++;
    } else if (t->fed != t->paired && !surplus_allowed) {
        w->wrong++;
        fprintf(stderr, "thread %u, end %d: %llu addresses of %llu belong to no operand\n", thread,
                reason, (unsigned long long)(t->fed - t->paired), (unsigned long long)t->fed);
    }
    w->killed += surplus_allowed;
    hp_cursor_free(t->cursor);
    free(t);
    w->threads[thread] = NULL;
    return HP_OK;
}

int main(int argc, char **argv)
{
    struct watch w = {
        .consumer = {
            .thread = on_thread, .words = on_words, .addresses = on_addresses, .end = on_end}};
    struct hp_live_options options = {
        .follow = true, .mode = HP_RECORD_MEMORY, .cache_size = 128u << 20};
    struct hp_executable program;
    struct hp_live_stats stats;
    struct hp_live *live;
    pid_t pid;
    argv++;
    if (argc > 1 && strcmp(*argv, "-l") == 0) {
        w.list = true;
        argv++;
    }
    if (!*argv) {
        fprintf(stderr, "usage: watch_memory [-l] PROGRAM ARGUMENTS...\n");
        return 2;
    }
    must(hp_executable_find(argv, &program), "the program");
    must(hp_code_new(HP_ARCH_X86_64, &w.code), "the code map");
    must(hp_live_new(&options, &live), "the arena");
    w.source = hp_live_source(live, w.code);
    must(hp_native_start(&program, hp_live_fd(live), false, &pid), "the engine");
    must(hp_live_run(live, pid, &w.consumer, &stats), "the run");
    fprintf(stderr, "%llu addresses, %llu known, %llu wrong, %llu threads lost, %llu killed\n",
            (unsigned long long)w.pairs, (unsigned long long)w.fixed, (unsigned long long)w.wrong,
            (unsigned long long)w.lost, (unsigned long long)w.killed);
    free(w.threads);
    hp_live_free(live);
    hp_code_free(w.code);
    hp_executable_fini(&program);
    return w.wrong || w.pairs == 0 || !stats.attached;
}
