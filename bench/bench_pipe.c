// SPDX-License-Identifier: MIT
/*
 * bench-pipe TRACE PASSES WORDS MACHINE...: times the machine in cycles on the words of TRACE (at
 * most WORDS of them, 0: all), with a ProfileMe sampler (pairs, one in 1000 instructions), and
 * prints one JSON object: retired instructions, and for each machine its cycles and times, one
 * number per pass, processor time in nanoseconds.
 *
 * Where the trace has no addresses they are made up, the same in each run: most operands stay in
 * place, as on a stack, some walk through 32 KB, few are anywhere in 4 MB.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "hotpath/sample.h"
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PASSES 100

/* The blocks of a run without a break, of one thread. */
struct part {
    size_t first, n; /* blocks; one more id follows them */
    bool tail;
};

struct bench {
    struct hp_sink sink; /* first */
    struct recording recording;
    struct part *parts;
    uint32_t *blocks, *address_at, *counters;
    uint8_t *taken;
    uint64_t *addresses;
    size_t n_parts, n_blocks, n_addresses;
    size_t cap_parts, cap_blocks, cap_at, cap_taken, cap_addresses, cap_counters;
    uint64_t instructions, operands;
    enum hp_err err;
    struct hp_sampler *sampler;
    uint64_t samples, latency; /* that it delivered */
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- What is fed ------------------------------------------------------------------------------ */

static uint64_t make_up(const struct hp_insn *insn, unsigned operand, uint32_t count)
{
    uint64_t hash = hp_hash64(insn->address * 2 + operand);
    if (hash % 16 == 0)
        return 0x50000000 + (hp_hash64(hash + count) & 0x3ffff8);
    if (hash % 16 < 5)
        return 0x40000000 + ((hash >> 20 & 0x7ff8) + count * 8ull) % 0x8000;
    return 0x7fff0000 + (hash >> 20 & 0xff8);
}

static enum hp_err add_block(struct bench *b, const struct hp_batch *batch, size_t i)
{
    const struct hp_insn *insns;
    uint32_t block = batch->blocks[i];
    uint32_t n = hp_code_block(b->recording.code, block)->insns;
    HP_TRY(hp_code_insns(b->recording.code, block, &insns));
    HP_TRY(hp_grow(&b->counters, &b->cap_counters, block + (size_t)1, sizeof *b->counters));
    HP_TRY(hp_grow(&b->blocks, &b->cap_blocks, b->n_blocks + 2, sizeof *b->blocks));
    HP_TRY(hp_grow(&b->taken, &b->cap_taken, b->n_blocks + 2, 1));
    HP_TRY(hp_grow(&b->address_at, &b->cap_at, b->n_blocks + 2, sizeof *b->address_at));
    HP_TRY(hp_grow(&b->addresses, &b->cap_addresses, b->n_addresses + 2 * (size_t)n,
                   sizeof *b->addresses));
    uint32_t count = b->counters[block]++;
    const uint64_t *given = batch->addresses ? batch->addresses + batch->address_at[i] : NULL;
    for (uint32_t j = 0; j < n; j++)
        for (unsigned k = 0; k < insns[j].n_mems; k++)
            b->addresses[b->n_addresses++] = given ? *given++ : make_up(&insns[j], k, count);
    b->blocks[b->n_blocks] = block;
    b->taken[b->n_blocks++] = batch->taken[i];
    b->address_at[b->n_blocks] = (uint32_t)b->n_addresses;
    b->instructions += n;
    return HP_OK;
}

static enum hp_err keep_batch(struct bench *b, const struct hp_batch *batch)
{
    HP_TRY(hp_grow(&b->parts, &b->cap_parts, b->n_parts + 1, sizeof *b->parts));
    b->parts[b->n_parts++] = (struct part){.first = b->n_blocks, .n = batch->n};
    for (size_t i = 0; i < batch->n; i++)
        HP_TRY(add_block(b, batch, i));
    /* The id that follows them takes the place of the next batch's first block. */
    b->blocks[b->n_blocks] = batch->blocks[batch->n];
    return HP_OK;
}

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct bench *b = (struct bench *)sink;
    if (b->err == HP_OK)
        b->err = keep_batch(b, batch);
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct bench *b = (struct bench *)sink;
    if (event->kind == HP_EVENT_TAIL && b->n_parts)
        b->parts[b->n_parts - 1].tail = true;
}

/* The words of the first thread. */
static enum hp_err load(struct bench *b)
{
    struct hp_cursor *cursor;
    const struct recording *r = &b->recording;
    b->sink = (struct hp_sink){.batch = on_batch, .event = on_event};
    HP_TRY(hp_cursor_new(r->code, NULL, &b->sink, &cursor));
    enum hp_err err = r->addresses ? hp_cursor_expect_addresses(cursor) : HP_OK;
    for (size_t i = 0; i < r->n_parts && err == HP_OK; i++) {
        const struct recording_part *part = &r->parts[i];
        if (part->thread != r->threads[0].id)
            continue;
        err = hp_cursor_feed(cursor, r->words + part->first, part->n);
        if (err == HP_OK && r->addresses)
            err = hp_cursor_feed_addresses(cursor, r->addresses + part->first_address,
                                           part->n_addresses);
    }
    hp_cursor_free(cursor);
    return err == HP_OK ? b->err : err;
}

/* --- What is timed ---------------------------------------------------------------------------- */

static void on_samples(void *context, const struct hp_sample_pair *samples, size_t n)
{
    struct bench *b = context;
    for (size_t i = 0; i < n; i++)
        b->latency += samples[i].first.timing.left;
    b->samples += n;
}

static void on_timings(void *context, const struct hp_timing *timings, size_t n)
{
    hp_sampler_timings(((struct bench *)context)->sampler, timings, n);
}

static enum hp_err play(struct bench *b, struct hp_pipe *pipe)
{
    struct hp_batch batch = {.code = b->recording.code, .table = hp_code_blocks(b->recording.code)};
    for (size_t i = 0; i < b->n_parts; i++) {
        batch.blocks = b->blocks + b->parts[i].first;
        batch.taken = b->taken + b->parts[i].first;
        batch.addresses = b->addresses;
        batch.address_at = b->address_at + b->parts[i].first;
        batch.n = b->parts[i].n;
        HP_TRY(hp_pipe_batch(pipe, &batch, NULL));
        if (b->parts[i].tail)
            HP_TRY(hp_pipe_break(pipe));
    }
    return hp_pipe_drain(pipe);
}

static enum hp_err pass(struct bench *b, const struct hp_machine *machine, uint64_t *ns,
                        struct hp_pipe_stats *stats)
{
    struct hp_program *program = NULL;
    struct hp_core *core = NULL;
    struct hp_pipe *pipe = NULL;
    struct hp_pipe_config config = {.timings = on_timings, .context = b, .queue = -1};
    struct hp_sample_config sampling;
    enum hp_err err = hp_program_new(machine, b->recording.code, &program);
    if (err == HP_OK)
        err = hp_core_new(machine, &core);
    if (err == HP_OK)
        err = hp_sample_config_parse("profileme,pairs,interval=1000", &sampling);
    if (err == HP_OK)
        err = hp_sampler_new(&sampling, program, &b->recording.threads[0], on_samples, b,
                             &b->sampler);
    if (err == HP_OK)
        err = hp_pipe_new(program, core, &config, &pipe);
    uint64_t start = now();
    if (err == HP_OK)
        err = play(b, pipe);
    *ns = now() - start;
    if (err == HP_OK)
        *stats = *hp_pipe_stats(pipe);
    hp_pipe_free(pipe);
    hp_sampler_free(b->sampler);
    b->sampler = NULL;
    hp_core_free(core);
    hp_program_free(program);
    return err;
}

static enum hp_err measure(struct bench *b, int passes, const char *name)
{
    struct hp_machine *machine;
    struct hp_pipe_stats stats = {0};
    HP_TRY(hp_machine_load(name, &machine));
    enum hp_err err = HP_OK;
    uint64_t best = UINT64_MAX;
    printf(", \"%s\": {\"times\": [", name);
    for (int i = 0; i < passes && err == HP_OK; i++) {
        uint64_t ns = 0;
        err = pass(b, machine, &ns, &stats);
        best = ns < best ? ns : best;
        printf("%s%llu", i ? ", " : "", (unsigned long long)ns);
    }
    printf("], \"cycles\": %llu, \"fetched\": %llu, \"traps\": %llu, \"mips\": %.2f}",
           (unsigned long long)stats.cycles, (unsigned long long)stats.fetched,
           (unsigned long long)stats.traps, (double)b->instructions * 1e3 / (double)best);
    hp_machine_free(machine);
    return err;
}

int main(int argc, char **argv)
{
    int passes = argc > 4 ? atoi(argv[2]) : 0;
    if (passes < 1 || passes > MAX_PASSES) {
        fprintf(stderr, "usage: bench-pipe TRACE PASSES WORDS MACHINE...; 1 to %d passes\n",
                MAX_PASSES);
        return 2;
    }
    struct bench b = {0};
    enum hp_err err = recording_load(&b.recording, argv[1], strtoull(argv[3], NULL, 10));
    if (err == HP_OK)
        err = load(&b);
    if (err == HP_OK)
        printf("{\"instructions\": %llu", (unsigned long long)b.instructions);
    for (int i = 4; i < argc && err == HP_OK; i++)
        err = measure(&b, passes, argv[i]);
    if (err == HP_OK)
        printf("}\n");
    else
        fprintf(stderr, "bench-pipe: %s: %s\n", argv[1], hp_error_text());
    free(b.parts);
    free(b.blocks);
    free(b.address_at);
    free(b.counters);
    free(b.taken);
    free(b.addresses);
    recording_fini(&b.recording);
    return err == HP_OK ? 0 : 1;
}
