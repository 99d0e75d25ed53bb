// SPDX-License-Identifier: MIT
#include "cli/cli.h"
#include "engine/trace/replay.h"
#include "hotpath/trace.h"
#include "profiler/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_decoder *decoder;
    uint64_t skip, count; /* blocks; count 0: all */
    uint64_t seen;
    uint64_t thread; /* UINT64_MAX: all */
    bool with_code;
    bool with_addresses;
    bool words;
    struct dump_thread *threads;
};

struct dump_thread {
    struct dump_thread *next;
    struct dump *dump;
    uint32_t id;
    uint64_t instructions;
};

/* --- Blocks ----------------------------------------------------------------------------------- */

static void print_place(const struct hp_code *code, uint32_t module, uint64_t address)
{
    const struct hp_module *m = hp_code_module(code, module);
    const char *slash = strrchr(m->path, '/');
    printf("%s+0x%" PRIx64, slash ? slash + 1 : m->path, address - m->base);
}

/* The addresses of memory operands; none when `addresses` is NULL. */
static void print_addresses(const uint64_t *addresses, size_t n)
{
    for (size_t i = 0; addresses && i < n; i++)
        printf("  [0x%" PRIx64 "]", addresses[i]);
}

/* With the instructions' addresses, unless they are NULL. */
static void print_code(const struct dump *d, uint32_t id, const uint64_t *addresses)
{
    const struct hp_block *b = hp_code_block(d->code, id);
    const uint8_t *bytes = hp_code_bytes(d->code, b);
    enum hp_isa_mode mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT;
    const struct hp_insn *insns;
    if (hp_code_insns(d->code, id, &insns) != HP_OK)
        return;
    for (uint32_t i = 0; i < b->insns; i++) {
        char text[128];
        uint64_t at = insns[i].address;
        hp_disassemble(d->decoder, mode, at, bytes + (at - b->start), (size_t)(b->end - at), text,
                       sizeof text);
        printf("        0x%" PRIx64 "  %s", at, text);
        print_addresses(addresses, insns[i].n_mems);
        addresses = addresses ? addresses + insns[i].n_mems : NULL;
        putchar('\n');
    }
}

/* What is asked for beside the line of a block, which has `n` addresses (NULL: they are not known).
 */
static void print_more(const struct dump *d, uint32_t id, const uint64_t *addresses, size_t n)
{
    if (d->with_code) {
        print_code(d, id, addresses);
    } else if (addresses && n) {
        printf("       ");
        print_addresses(addresses, n);
        putchar('\n');
    }
}

/* Whether this block is among those asked for; counts it. */
static bool wanted(struct dump_thread *t)
{
    struct dump *d = t->dump;
    if (d->thread != UINT64_MAX && d->thread != t->id)
        return false;
    uint64_t number = d->seen++;
    return number >= d->skip && (d->count == 0 || number - d->skip < d->count);
}

static void print_block(struct dump_thread *t, const struct hp_block *b)
{
    printf("%u %12" PRIu64 "  ", t->id, t->instructions);
    print_place(t->dump->code, b->module, b->start);
    printf("  %u insns, %s", b->insns, hp_flow_name(b->flow));
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct dump_thread *t = state;
    for (size_t i = 0; i < batch->n; i++) {
        const struct hp_block *b = &batch->table[batch->blocks[i]];
        const struct hp_block *next = &batch->table[batch->blocks[i + 1]];
        if (wanted(t)) {
            print_block(t, b);
            printf(batch->taken[i] ? " -> " : " falls to ");
            print_place(batch->code, next->module, next->start);
            putchar('\n');
            const uint32_t *at = batch->addresses ? batch->address_at + i : NULL;
            print_more(t->dump, batch->blocks[i], at ? batch->addresses + at[0] : NULL,
                       at ? at[1] - at[0] : 0);
        }
        t->instructions += b->insns;
    }
}

static void on_event(void *state, const struct hp_event *event)
{
    struct dump_thread *t = state;
    if (event->kind == HP_EVENT_TAIL) {
        const struct hp_block *b = hp_code_block(t->dump->code, event->block);
        if (wanted(t)) {
            print_block(t, b);
            printf("%s\n", event->exact ? "" : " (perhaps not to its end)");
            print_more(t->dump, event->block, event->addresses, event->n_addresses);
        }
        t->instructions += event->insns;
    } else if (t->dump->thread == UINT64_MAX || t->dump->thread == t->id) {
        if (t->dump->seen >= t->dump->skip &&
            (t->dump->count == 0 || t->dump->seen - t->dump->skip <= t->dump->count))
            printf("%u %12" PRIu64 "  [%s %" PRIu64 "%s]\n", t->id, t->instructions,
                   hp_event_name(event->kind), event->value,
                   event->kind != HP_EVENT_MODULE ? ""
                   : event->exact                 ? " loaded"
                                                  : " unloaded");
    }
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct dump *d = (struct dump *)profiler;
    struct dump_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    *thread = (struct dump_thread){.next = d->threads, .dump = d, .id = info->id};
    d->threads = thread;
    *state = thread;
    return HP_OK;
}

static const struct hp_profiler_ops ops = {
    .name = "dump", .start_thread = start_thread, .batch = on_batch, .event = on_event};

static enum hp_err dump_blocks(struct dump *d, struct hp_trace_reader *reader)
{
    const struct hp_region everything = {0};
    struct hp_pipeline *pipeline;
    uint64_t damaged;
    d->base.ops = &ops;
    HP_TRY(hp_decoder_new(hp_code_arch(d->code), &d->decoder));
    HP_TRY(hp_pipeline_new(d->code, NULL, NULL, &everything, &pipeline));
    enum hp_err err = hp_pipeline_add(pipeline, &d->base);
    if (d->with_addresses && hp_trace_reader_info(reader)->run.addresses) {
        hp_trace_reader_want_addresses(reader);
        hp_pipeline_expect_addresses(pipeline);
    }
    if (err == HP_OK)
        err = hp_replay(reader, d->code, hp_pipeline_consumer(pipeline), false, &damaged);
    hp_pipeline_free(pipeline);
    while (d->threads) {
        struct dump_thread *next = d->threads->next;
        free(d->threads);
        d->threads = next;
    }
    return err;
}

/* --- Words ------------------------------------------------------------------------------------ */

static enum hp_err dump_words(struct dump *d, struct hp_trace_reader *reader)
{
    for (;;) {
        struct hp_trace_item item;
        HP_TRY(hp_trace_reader_next(reader, d->code, &item));
        if (item.kind == HP_TRACE_END)
            return HP_OK;
        if (d->thread != UINT64_MAX && d->thread != item.thread.id)
            continue;
        for (size_t i = 0; item.kind == HP_TRACE_WORDS && i < item.n_words; i++) {
            uint64_t number = d->seen++;
            if (d->count && number >= d->skip + d->count)
                return HP_OK;
            if (number >= d->skip)
                printf("%u %" PRIu64 " 0x%08" PRIx32 "\n", item.thread.id, number, item.words[i]);
        }
    }
}

/* --- The command ------------------------------------------------------------------------------ */

static const struct dump defaults = {.thread = UINT64_MAX};

static const struct hp_option rows[] = {
    {"thread", 't', HP_OPT_COUNT, offsetof(struct dump, thread), "N", "only thread N", 0},
    {"skip", 0, HP_OPT_COUNT, offsetof(struct dump, skip), "N",
     "leave out the first N blocks (or words)", 0},
    {"count", 'n', HP_OPT_COUNT, offsetof(struct dump, count), "N",
     "print N of them (default: all)", 0},
    {"code", 'c', HP_OPT_FLAG, offsetof(struct dump, with_code), NULL, "with disassembly", 0},
    {"addresses", 'a', HP_OPT_FLAG, offsetof(struct dump, with_addresses), NULL,
     "with the addresses of data: of each block, or with\n--code of each instruction", 0},
    {"words", 'w', HP_OPT_FLAG, offsetof(struct dump, words), NULL,
     "the raw words instead of blocks", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct dump *d = values;
    struct hp_trace_reader *reader;
    (void)n, (void)status;
    HP_TRY(hp_trace_reader_open(words[0], &reader));
    enum hp_err err = hp_code_new(hp_trace_reader_info(reader)->run.arch, &d->code);
    if (err == HP_OK)
        err = d->words ? dump_words(d, reader) : dump_blocks(d, reader);
    hp_decoder_free(d->decoder);
    hp_code_free(d->code);
    hp_trace_reader_close(reader);
    return err;
}

const struct hp_command hp_command_trace_dump = {
    .name = "dump",
    .group = "trace",
    .summary = "print the blocks and events of a trace",
    .synopsis = "[OPTIONS] FILE",
    .help =
        "Prints what was executed, a line a block: thread, instructions executed by the thread "
        "before\n"
        "it, place, instructions in it, how it ended and where to. Events are lines of their own.\n"
        "With --addresses, the addresses of data that it used, where the trace has them. With "
        "--words,\n"
        "prints the raw words.\n",
    .examples = "  hotpath trace dump gzip.hptrace --count 50\n"
                "  hotpath trace dump gzip.hptrace --thread 1 --skip 1M --count 100 --code\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "dump takes one trace",
    .instead = "hotpath trace dump FILE",
    .defaults = &defaults,
    .size = sizeof(struct dump),
    .run = run_command,
};
