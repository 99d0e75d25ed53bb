// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "report/tables.h"
#include "session/session_impl.h"
#include "symbols/syscalls.h"

struct request {
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
    struct request *dump;
    uint32_t id;
    uint64_t instructions;
    struct hp_syscall call; /* of the block that comes next */
    bool in_call;           /* there is one */
};

static void print_place(const struct hp_code *code, uint32_t module, uint64_t address)
{
    const struct hp_module *m = hp_code_module(code, module);
    printf("%s+0x%" PRIx64, hp_base_name(m->path), address - m->base);
}

/* The addresses of memory operands; none when `addresses` is NULL. */
static void print_addresses(const uint64_t *addresses, size_t n)
{
    for (size_t i = 0; addresses && i < n; i++)
        printf("  [0x%" PRIx64 "]", addresses[i]);
}

/* With the instructions' addresses, unless they are NULL. */
static void print_code(const struct request *d, uint32_t id, const uint64_t *addresses)
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

/* What is asked for beside the line of a block: code, `n` addresses (NULL: they are not known). */
static void print_more(const struct request *d, uint32_t id, const uint64_t *addresses, size_t n)
{
    if (d->with_code) {
        print_code(d, id, addresses);
    } else if (addresses && n) {
        printf("       ");
        print_addresses(addresses, n);
        putchar('\n');
    }
}

static bool is_of_thread(const struct request *d, uint32_t thread)
{
    return d->thread == HP_NOT_SAID || d->thread == thread;
}

/* Whether what happens here is. */
static bool is_shown(const struct dump_thread *t)
{
    const struct request *d = t->dump;
    return is_of_thread(d, t->id) && d->seen >= d->skip &&
           (d->count == 0 || d->seen - d->skip <= d->count);
}

/* Whether this block is among those asked for; counts it. */
static bool is_wanted(struct dump_thread *t)
{
    struct request *d = t->dump;
    if (!is_of_thread(d, t->id))
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

/* The call of the block that was printed. */
static void print_syscall(struct dump_thread *t)
{
    const struct hp_syscall *call = &t->call;
    const struct request *d = t->dump;
    const char *name = hp_syscall_name(hp_code_arch(d->code), call->number);
    if (!t->in_call || !is_shown(t))
        return;
    t->in_call = false;
    printf("%u %12" PRIu64 "  [syscall %s", t->id, t->instructions, name ? name : "");
    if (!name)
        printf("%" PRIu32, call->number);
    if (call->timed)
        printf(", %" PRIu64 " ns", call->ns);
    if (call->error)
        printf(", error %" PRIu32, call->error);
    puts(!call->returned ? ", not returned]" : call->counts ? "]" : ", to be made again]");
}

static void on_syscall(void *state, size_t at, const struct hp_syscall *call)
{
    struct dump_thread *t = state;
    (void)at; /* of blocks, it is always the next one */
    print_syscall(t);
    t->call = *call;
    t->in_call = true;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct dump_thread *t = state;
    for (size_t i = 0; i < batch->n; i++) {
        const struct hp_block *b = &batch->table[batch->blocks[i]];
        const struct hp_block *next = &batch->table[batch->blocks[i + 1]];
        if (is_wanted(t)) {
            print_block(t, b);
            printf(batch->taken[i] ? " -> " : " falls to ");
            print_place(batch->code, next->module, next->start);
            putchar('\n');
            const uint32_t *at = batch->addresses ? batch->address_at + i : NULL;
            print_more(t->dump, batch->blocks[i], at ? batch->addresses + at[0] : NULL,
                       at ? at[1] - at[0] : 0);
        }
        t->instructions += b->insns;
        if (t->in_call)
            print_syscall(t);
    }
}

static void on_event(void *state, const struct hp_event *event)
{
    struct dump_thread *t = state;
    const struct request *d = t->dump;
    if (event->kind == HP_EVENT_TAIL) {
        if (is_wanted(t)) {
            print_block(t, hp_code_block(d->code, event->block));
            printf("%s\n", event->exact ? "" : " (perhaps not to its end)");
            print_more(d, event->block, event->addresses, event->n_addresses);
        }
        t->instructions += event->insns;
        print_syscall(t);
        return;
    }
    print_syscall(t);
    if (is_shown(t)) {
        const char *how = event->exact ? " loaded" : " unloaded";
        printf("%u %12" PRIu64 "  [%s %" PRIu64 "%s]\n", t->id, t->instructions,
               hp_event_name(event->kind), event->value, event->kind == HP_EVENT_MODULE ? how : "");
    }
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct request *d = (struct request *)profiler;
    struct dump_thread *thread;
    HP_TRY(hp_new(&thread, 1, sizeof *thread));
    *thread = (struct dump_thread){.next = d->threads, .dump = d, .id = info->id};
    d->threads = thread;
    *state = thread;
    return HP_OK;
}

static void free_dump(struct hp_profiler *profiler)
{
    struct request *d = (struct request *)profiler;
    hp_decoder_free(d->decoder);
    for (struct dump_thread *next, *t = d->threads; t; t = next) {
        next = t->next;
        free(t);
    }
}

static const struct hp_profiler_ops ops = {.name = "dump",
                                           .start_thread = start_thread,
                                           .batch = on_batch,
                                           .event = on_event,
                                           .syscall = on_syscall,
                                           .free = free_dump};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct request *d = context;
    d->base.ops = &ops;
    d->code = session->code;
    session->plan.selection.addresses = d->with_addresses; /* where the trace has them */
    HP_TRY(hp_decoder_new(hp_code_arch(d->code), &d->decoder));
    return hp_session_add(session, &d->base);
}

HP_CLEANUP_POINTER(close_reader, struct hp_trace_reader, hp_trace_reader_close)
HP_CLEANUP_POINTER(free_code, struct hp_code, hp_code_free)

static enum hp_err dump_words(struct request *d, const char *path)
{
    struct hp_trace_reader *reader HP_CLEANUP(close_reader) = NULL;
    struct hp_code *code HP_CLEANUP(free_code) = NULL;
    HP_TRY(hp_trace_reader_open(path, &reader));
    HP_TRY(hp_code_new(hp_trace_reader_info(reader)->run.arch, &code));
    for (;;) {
        struct hp_trace_item item;
        HP_TRY(hp_trace_reader_next(reader, code, &item));
        if (item.kind == HP_TRACE_END)
            return HP_OK;
        if (item.kind != HP_TRACE_WORDS || !is_of_thread(d, item.thread.id))
            continue;
        for (size_t i = 0; i < item.n_words; i++) {
            uint64_t number = d->seen++;
            if (d->count && number >= d->skip + d->count)
                return HP_OK;
            if (number >= d->skip)
                printf("%u %" PRIu64 " 0x%08" PRIx32 "\n", item.thread.id, number, item.words[i]);
        }
    }
}

static const struct hp_option rows[] = {
    {"thread", 't', HP_COUNT(thread), "N", "only thread N"},
    {"skip", 0, HP_COUNT(skip), "N", "leave out the first N blocks (or words)"},
    {"count", 'n', HP_COUNT(count), "N", "print N of them (default: all)"},
    {"code", 'c', HP_FLAG(with_code), NULL, "with disassembly"},
    {"addresses", 'a', HP_FLAG(with_addresses), NULL,
     "with the addresses of data: of each block, or with --code of each instruction"},
    {"words", 'w', HP_FLAG(words), NULL, "the raw words instead of blocks"},
    {0},
};

static enum hp_err run(struct hp_invocation *call)
{
    struct request *d = call->values;
    struct hp_session_settings settings = {.context = d, .attach = attach, .lines = HP_LINES_NONE};
    return d->words ? dump_words(d, call->words[0])
                    : hp_session_replay(&settings, call->words[0], NULL);
}

const struct hp_command hp_command_trace_dump = {
    .name = "trace dump",
    .summary = "print the blocks and events of a trace",
    .synopsis = "[OPTIONS] FILE",
    .help = "Prints what was executed, a line a block: thread, instructions executed by the thread "
            "before it, place, instructions in it, how it ended and where to. Events are lines of "
            "their own. With --addresses, the addresses of data that it used, where the trace has "
            "them. With --words, prints the raw words.\n",
    .examples = "  hotpath trace dump gzip.hptrace --count 50\n"
                "  hotpath trace dump gzip.hptrace --thread 1 --skip 1M --count 100 --code\n",
    .options = {rows},
    .values = {HP_VALUES(.thread = HP_NOT_SAID)},
    .run = run,
};
