// SPDX-License-Identifier: MIT
/*
 * Runs a program in the native engine's memory mode and pairs the addresses with the operands of
 * what was run, as docs/stream.md says:
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

/* An operand of a segment's own code. */
struct operand {
    uint64_t insn;
    uint64_t fixed; /* its address when it is known, else 0 */
    uint32_t nth;   /* instruction of the code, from 0 */
    uint16_t size;
    uint8_t reads, writes;
};

struct segment {
    struct operand *operands;
    size_t n, cap;
    uint32_t parent;
    bool loaded;
};

/* A thread: addresses that have no operand yet, and operands that have no address yet. */
struct thread {
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
    struct operand *operands;
    size_t n_operands, cap_operands;
    uint32_t last;    /* segment whose extent the next word may cut; 0: none */
    unsigned payload; /* words of an event that are still to come */
    bool lost;        /* something is missing: nothing can be said any more */
    bool executes;    /* another program, now */
};

struct watch {
    struct hp_consumer consumer; /* first */
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_decoder *decoder;
    struct segment *segments;
    size_t n_segments, cap_segments;
    struct thread *threads;
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

/* --- Operands of segments ----------------------------------------------------------------------- */

static void add_operands(struct segment *s, const struct hp_insn *insn, uint32_t nth)
{
    for (unsigned i = 0; i < insn->n_mems; i++) {
        const struct hp_mem *mem = &insn->mems[i];
        must(hp_grow(&s->operands, &s->cap, s->n + 1, sizeof *s->operands), "operands");
        s->operands[s->n++] = (struct operand){
            .insn = insn->address,
            .nth = nth,
            .fixed =
                mem->base == HP_MEM_PC ? insn->address + insn->length + (uint64_t)mem->disp : 0,
            .size = mem->size,
            .reads = mem->read,
            .writes = mem->write,
        };
    }
}

static struct segment *get_segment(struct watch *w, uint32_t id)
{
    if (id >= w->n_segments) {
        must(hp_grow(&w->segments, &w->cap_segments, id + 1u, sizeof *w->segments), "segments");
        memset(w->segments + w->n_segments, 0, (id + 1 - w->n_segments) * sizeof *w->segments);
        w->n_segments = id + 1u;
    }
    struct segment *s = &w->segments[id];
    if (s->loaded)
        return s;
    struct hp_segment code;
    if (hp_code_segment(w->code, id, &code) != HP_OK) {
        must(w->source->load(w->source, id), "a segment");
        must(hp_code_segment(w->code, id, &code), "a segment");
    }
    s->loaded = true;
    s->parent = code.parent;
    struct hp_insn insn;
    for (uint32_t at = 0, nth = 0; at < code.size; at += insn.length, nth++) {
        hp_decode(w->decoder, HP_MODE_DEFAULT, code.start + at, code.bytes + at, code.size - at,
                  false, &insn);
        add_operands(s, &insn, nth);
    }
    return s;
}

/* --- Pairs -------------------------------------------------------------------------------------- */

static void check_pair(struct watch *w, const struct operand *operand, uint64_t address)
{
    w->pairs++;
    w->fixed += operand->fixed != 0;
    if (w->list)
        printf("%llx %s%s %u %llx\n", (unsigned long long)operand->insn, operand->reads ? "r" : "",
               operand->writes ? "w" : "", operand->size, (unsigned long long)address);
    if (operand->fixed && operand->fixed != address && w->wrong++ < 10)
        fprintf(stderr, "instruction at %llx: address %llx, not %llx\n",
                (unsigned long long)operand->insn, (unsigned long long)address,
                (unsigned long long)operand->fixed);
}

static void pair(struct watch *w, struct thread *t)
{
    size_t n = t->n_addresses < t->n_operands ? t->n_addresses : t->n_operands;
    for (size_t i = 0; i < n; i++)
        check_pair(w, &t->operands[i], t->addresses[i]);
    t->n_addresses -= n;
    t->n_operands -= n;
    if (n && t->n_addresses)
        memmove(t->addresses, t->addresses + n, t->n_addresses * sizeof *t->addresses);
    if (n && t->n_operands)
        memmove(t->operands, t->operands + n, t->n_operands * sizeof *t->operands);
}

/* Of the segment's own code `insns` instructions were run, before it all of its parents. */
static void ran(struct watch *w, struct thread *t, uint32_t id, uint32_t insns)
{
    const struct segment *s = get_segment(w, id);
    uint32_t parent = s->parent;
    if (parent)
        ran(w, t, parent, UINT32_MAX);
    s = &w->segments[id];
    must(hp_grow(&t->operands, &t->cap_operands, t->n_operands + s->n, sizeof *t->operands),
         "operands");
    for (size_t i = 0; i < s->n && s->operands[i].nth < insns; i++)
        t->operands[t->n_operands++] = s->operands[i];
}

static void take_word(struct watch *w, struct thread *t, uint32_t word)
{
    if (t->payload) {
        t->payload--;
        return;
    }
    bool is_cut = word & HP_WORD_EVENT && hp_word_kind(word) == HP_WORD_CUT;
    bool is_pad = word & HP_WORD_EVENT && hp_word_kind(word) == HP_WORD_PAD;
    if (t->last && !is_pad) {
        ran(w, t, t->last, is_cut ? hp_word_arg(word) : UINT32_MAX);
        t->last = 0;
    }
    if (!(word & HP_WORD_EVENT)) {
        t->last = word;
    } else {
        t->payload = (unsigned)hp_word_payload(word);
        t->executes = hp_word_kind(word) == HP_WORD_EXEC;
        t->lost |= hp_word_kind(word) == HP_WORD_LOST && hp_word_arg(word) != HP_LOST_UNKNOWN;
    }
}

/* --- The consumer ------------------------------------------------------------------------------- */

static enum hp_err on_thread(struct hp_consumer *consumer, const struct hp_thread *thread)
{
    struct watch *w = (struct watch *)consumer;
    if (thread->id >= w->n_threads) {
        HP_TRY(hp_grow(&w->threads, &w->cap_threads, thread->id + 1u, sizeof *w->threads));
        memset(w->threads + w->n_threads, 0, (thread->id + 1 - w->n_threads) * sizeof *w->threads);
        w->n_threads = thread->id + 1u;
    }
    return HP_OK;
}

static enum hp_err on_words(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                            size_t n)
{
    struct watch *w = (struct watch *)consumer;
    struct thread *t = &w->threads[thread];
    for (size_t i = 0; i < n; i++)
        take_word(w, t, words[i]);
    pair(w, t);
    return HP_OK;
}

static enum hp_err on_addresses(struct hp_consumer *consumer, uint32_t thread,
                                const uint64_t *addresses, size_t n)
{
    struct watch *w = (struct watch *)consumer;
    struct thread *t = &w->threads[thread];
    HP_TRY(hp_grow(&t->addresses, &t->cap_addresses, t->n_addresses + n, sizeof *t->addresses));
    memcpy(t->addresses + t->n_addresses, addresses, n * sizeof *addresses);
    t->n_addresses += n;
    pair(w, t);
    return HP_OK;
}

static enum hp_err on_end(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason)
{
    struct watch *w = (struct watch *)consumer;
    struct thread *t = &w->threads[thread];
    if (t->last)
        ran(w, t, t->last, UINT32_MAX);
    pair(w, t);
    bool surplus_allowed = reason == HP_END_KILLED || (reason == HP_END_EXEC && !t->executes);
    if (t->lost) {
        w->lost++;
    } else if (t->n_operands || (t->n_addresses && !surplus_allowed)) {
        w->wrong++;
        fprintf(stderr,
                "thread %u, end %d: %zu operands have no address, %zu addresses no operand\n",
                thread, reason, t->n_operands, t->n_addresses);
    }
    w->killed += surplus_allowed;
    free(t->addresses);
    free(t->operands);
    *t = (struct thread){0};
    return HP_OK;
}

int main(int argc, char **argv)
{
    struct watch w = {
        .consumer = {
            .thread = on_thread, .words = on_words, .addresses = on_addresses, .end = on_end}};
    struct hp_live_options options = {
        .follow = true, .mode = HP_RECORD_MEMORY, .cache_size = 128u << 20};
    struct hp_program program;
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
    must(hp_program_find(argv, &program), "the program");
    must(hp_code_new(HP_ARCH_X86_64, &w.code), "the code map");
    must(hp_decoder_new(HP_ARCH_X86_64, &w.decoder), "the decoder");
    must(hp_live_new(&options, &live), "the arena");
    w.source = hp_live_source(live, w.code);
    must(hp_native_start(&program, hp_live_fd(live), false, &pid), "the engine");
    must(hp_live_run(live, pid, &w.consumer, &stats), "the run");
    fprintf(stderr, "%llu addresses, %llu known, %llu wrong, %llu threads lost, %llu killed\n",
            (unsigned long long)w.pairs, (unsigned long long)w.fixed, (unsigned long long)w.wrong,
            (unsigned long long)w.lost, (unsigned long long)w.killed);
    for (size_t i = 0; i < w.n_segments; i++)
        free(w.segments[i].operands);
    free(w.segments);
    free(w.threads);
    hp_live_free(live);
    hp_decoder_free(w.decoder);
    hp_code_free(w.code);
    hp_program_fini(&program);
    return w.wrong || w.pairs == 0 || !stats.attached;
}
