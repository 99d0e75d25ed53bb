// SPDX-License-Identifier: MIT
/*
 * The pipe: that nothing depends on how it is fed, that what retires is what was fed, and each
 * mechanism once, on a small machine. Exact cycles of kernels on the shipped machines are in
 * test_pipe_kernels.c.
 */
#include "pipe_fixture.h"

/* --- Random programs -------------------------------------------------------------------------- */

#define RANDOM_BLOCKS 24
#define RANDOM_BASE   0x400000

static const char *const bodies[] = {
    "48 01 d8",    /* add rax, rbx */
    "48 01 c3",    /* add rbx, rax */
    "48 0f af c3", /* imul rax, rbx */
    "48 f7 f1",    /* div rcx */
    "48 8b 03",    /* mov rax, [rbx] */
    "48 8b 4f 08", /* mov rcx, [rdi + 8] */
    "48 89 07",    /* mov [rdi], rax */
    "48 01 07",    /* add [rdi], rax */
    "8b 1f",       /* mov ebx, [rdi] */
    "88 07",       /* mov [rdi], al */
    "50",          /* push rax */
    "58",          /* pop rax */
    "90",          /* nop */
    "f2 0f 58 c1", /* addsd xmm0, xmm1 */
    "f2 0f 5e c8", /* divsd xmm1, xmm0 */
    "f2 0f 10 07", /* movsd xmm0, [rdi] */
    "66 0f fe c1", /* paddd xmm0, xmm1 */
    "0f 18 0f",    /* prefetcht0 [rdi] */
    "f0 48 01 07", /* lock add [rdi], rax */
};

struct random_block {
    uint64_t start;
    char hex[512];
    unsigned size, target;
};

static void append(struct random_block *b, const char *hex)
{
    unsigned byte;
    int used;
    strcat(strcat(b->hex, hex), " ");
    for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
        b->size++;
}

/* Blocks one behind the other; each ends with a conditional jump to another. */
static void make_code(struct piped *p, uint64_t *seed, struct random_block *blocks)
{
    uint64_t at = RANDOM_BASE;
    for (unsigned i = 0; i < RANDOM_BLOCKS; i++) {
        struct random_block *b = &blocks[i];
        *b = (struct random_block){.start = at, .target = random_below(seed, RANDOM_BLOCKS)};
        for (unsigned n = random_below(seed, 8); n; n--)
            append(b, bodies[random_below(seed, sizeof bodies / sizeof *bodies)]);
        at += b->size + 6;
    }
    for (unsigned i = 0; i < RANDOM_BLOCKS; i++) {
        struct random_block *b = &blocks[i];
        uint32_t offset = (uint32_t)(blocks[b->target].start - (b->start + b->size + 6));
        char jump[32];
        snprintf(jump, sizeof jump, "0f 85 %02x %02x %02x %02x", offset & 0xff, offset >> 8 & 0xff,
                 offset >> 16 & 0xff, offset >> 24);
        strcat(b->hex, jump);
        add_segment(&p->s, i + 1, b->start, b->hex);
    }
}

/* Few places, so that loads and stores meet. */
static void make_run(struct piped *p, uint64_t *seed, const struct random_block *blocks, unsigned n)
{
    unsigned at = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct hp_insn *insns;
        uint64_t addresses[64];
        size_t mems = 0;
        uint32_t id = piped_block(p, blocks[at].start);
        assert_int_equal(hp_code_insns(p->s.code, id, &insns), HP_OK);
        for (uint32_t k = 0; k < hp_code_block(p->s.code, id)->insns; k++)
            for (unsigned m = 0; m < insns[k].n_mems; m++)
                addresses[mems++] = random_below(seed, 16) == 0
                                        ? 0x10000 + random_below(seed, 1 << 20)
                                        : 0x8000 + random_below(seed, 64);
        piped_add(p, blocks[at].start, (uint16_t)random_below(seed, 4), addresses, mems);
        bool taken = at + 1 == RANDOM_BLOCKS || random_below(seed, 3) == 0;
        at = taken ? blocks[at].target : at + 1;
    }
}

/* What retired is what was fed, instruction by instruction; nothing is in the wrong order. */
static void check_timings(const struct piped *p)
{
    const struct hp_pipe_stats *stats = hp_pipe_stats(p->pipe);
    size_t block = 0, index = 0, retired = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct hp_timing *t = &p->timings[i];
        const struct hp_static *s = &hp_program_insns(p->program)[t->insn];
        bool done = t->events & HP_TIMING_RETIRED;
        assert_true(i == 0 || t[-1].fetched <= t->fetched);
        assert_int_equal(
            done + !!(t->events & HP_TIMING_WRONG_PATH) + !!(t->events & HP_TIMING_TRAPPED), 1);
        assert_true(t->left != HP_NEVER);
        if (!done)
            continue;
        retired++;
        assert_int_equal(s->block, p->blocks[block]);
        assert_true(t->mapped < t->done && t->done <= t->left);
        if (s->n_uops)
            assert_true(t->mapped < t->ready && t->ready <= t->issued && t->issued < t->done);
        if (++index == hp_code_block(p->s.code, s->block)->insns)
            block++, index = 0;
    }
    assert_int_equal(block, p->n_blocks - 1);
    assert_int_equal(index, 0);
    assert_int_equal(stats->retired, retired);
    assert_int_equal(stats->fetched, p->n);
    assert_int_equal(stats->aborted, p->n - retired);
    assert_int_equal(stats->aborted, stats->wrong_path + stats->trapped);
    assert_int_equal(piped_stat(p, "instructions"), retired);
    assert_int_equal(piped_stat(p, "blocks"), p->n_blocks - 1);
}

static const char *const machine_names[] = {"vaswani", "alpha21264", "arm9", "modern"};

/* The same blocks in batches of other sizes. */
static void check_cuts(struct piped *p, uint64_t *seed, const char *machine)
{
    struct hp_machine *m;
    struct hp_timing *whole = p->timings;
    size_t n = p->n, at = 0, last = p->n_blocks - 1;
    p->timings = NULL;
    p->cap = 0;
    assert_int_equal(hp_machine_load(machine, &m), HP_OK);
    piped_start_machine(p, m, 2);
    uint32_t largest = 1 + random_below(seed, 30);
    while (at < last) {
        size_t end = at + 1 + random_below(seed, largest);
        piped_feed(p, at, end < last ? end : last);
        at = end;
    }
    assert_int_equal(hp_pipe_drain(p->pipe), HP_OK);
    assert_int_equal(p->n, n);
    assert_memory_equal(p->timings, whole, n * sizeof *whole);
    free(whole);
}

/* Predictors know nothing of cycles: the functional form says the same. */
static void check_branches(struct piped *p)
{
    struct hp_core *core;
    struct hp_events *events = calloc(p->n_blocks, sizeof *events);
    struct hp_batch batch = {.code = p->s.code,
                             .table = hp_code_blocks(p->s.code),
                             .blocks = p->blocks,
                             .taken = p->taken,
                             .n = p->n_blocks - 1,
                             .addresses = p->addresses,
                             .address_at = p->address_at};
    static const char *const same[] = {"blocks",     "instructions", "l1d.reads",
                                       "l1d.writes", "branches",     "mispredictions",
                                       "btb.misses", "l1d.updates",  "branches.taken"};
    assert_non_null(events);
    assert_int_equal(hp_core_new(p->machine, &core), HP_OK);
    assert_int_equal(hp_core_batch(core, p->s.code, &batch, events), HP_OK);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        uint64_t here = piped_stat(p, same[i]);
        struct hp_core *mine = p->core;
        p->core = core;
        assert_int_equal(piped_stat(p, same[i]), here);
        p->core = mine;
    }
    hp_core_free(core);
    free(events);
}

static void test_random_programs(void **state)
{
    (void)state;
    uint64_t traps = 0, forwards = 0;
    for (uint64_t round = 0; round < 24; round++) {
        struct piped p;
        struct random_block blocks[RANDOM_BLOCKS];
        uint64_t seed = round;
        piped_init(&p);
        make_code(&p, &seed, blocks);
        make_run(&p, &seed, blocks, 1 + 50 * random_below(&seed, 20));
        for (unsigned i = 0; i < sizeof machine_names / sizeof *machine_names; i++) {
            struct hp_machine *machine;
            assert_int_equal(hp_machine_load(machine_names[i], &machine), HP_OK);
            piped_start_machine(&p, machine, 2);
            piped_run(&p);
            check_timings(&p);
            check_branches(&p);
            traps += hp_pipe_stats(p.pipe)->traps;
            forwards += hp_pipe_stats(p.pipe)->forwards;
            check_cuts(&p, &seed, machine_names[i]);
        }
        piped_fini(&p);
    }
    assert_true(traps > 10);
    assert_true(forwards > 10);
}

/* --- By hand ---------------------------------------------------------------------------------- */

#define BASE 0x1000

/* Code at BASE that ends in a jump back to it. */
static void straight(struct piped *p, const char *hex, const char *machine)
{
    piped_init(p);
    add_segment(&p->s, 1, BASE, hex);
    piped_start(p, machine, -1);
}

static void test_nothing_fed(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "eb fe", PIPE_SMALL);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(hp_pipe_break(p.pipe), HP_OK);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(p.n, 0);
    assert_int_equal(hp_pipe_stats(p.pipe)->cycles, 0);
    piped_fini(&p);
}

/* What is behind a break, or a drain, is fetched in the cycle in which the last before it retires.
 */
static void test_break_and_drain(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "48 01 d8  48 01 d8  eb f8", PIPE_SMALL); /* add rax, rbx twice; jmp */
    for (int i = 0; i < 5; i++)
        piped_add(&p, BASE, 0, AT());
    piped_feed(&p, 0, 2);
    assert_int_equal(hp_pipe_break(p.pipe), HP_OK);
    piped_feed(&p, 2, 4);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(p.n, 12);
    uint64_t last = p.timings[5].fetched + p.timings[5].left;
    assert_int_equal(p.timings[6].fetched, last);
    assert_true(p.timings[3].fetched < p.timings[2].fetched + p.timings[2].left);
    struct hp_timing *whole = p.timings;
    p.timings = NULL;
    p.cap = 0;
    piped_start(&p, PIPE_SMALL, -1);
    piped_feed(&p, 0, 2);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(p.n, 6);
    piped_feed(&p, 2, 4);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_memory_equal(p.timings, whole, 12 * sizeof *whole);
    free(whole);
    piped_fini(&p);
}

/* The n-th of those that retired. */
static const struct hp_timing *retired_timing(const struct piped *p, uint64_t address, size_t n)
{
    for (size_t i = 0;; i++) {
        const struct hp_timing *t = piped_timing(p, address, i);
        if (t->events & HP_TIMING_RETIRED && n-- == 0)
            return t;
    }
}

/* mov [rdi], rax behind a division; mov rbx, [rsi] at the same place. */
#define EARLY "48 f7 f1  48 89 07  48 8b 1e  48 01 db  eb f2"

static void test_a_load_that_is_too_early_traps(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, EARLY, PIPE_SMALL);
    for (int i = 0; i < 3; i++)
        piped_add(&p, BASE, 0, AT(0x8000, 0x8000));
    piped_run(&p);
    const struct hp_timing *store = piped_timing(&p, BASE + 3, 0);
    const struct hp_timing *first = piped_timing(&p, BASE + 6, 0);
    const struct hp_timing *again = retired_timing(&p, BASE + 6, 0);
    const struct hp_timing *next = retired_timing(&p, BASE + 6, 1);
    uint64_t found = store->fetched + store->issued;
    assert_int_equal(hp_pipe_stats(p.pipe)->traps, 1);
    assert_true(store->events & HP_TIMING_RETIRED);
    assert_true(first->events & HP_TIMING_TRAPPED);
    assert_int_equal(first->fetched + first->left, found + 1);
    assert_int_equal(again->fetched, found + 1 + 3);
    assert_false(again->events & HP_TIMING_BLOCKED);
    /* The next time it waits for the store, and has its value from it. */
    assert_true(next->events & HP_TIMING_BLOCKED);
    assert_true(next->events & HP_TIMING_FORWARDED);
    piped_fini(&p);
}

static void test_another_place_does_not_trap(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, EARLY, PIPE_SMALL);
    for (int i = 0; i < 3; i++)
        piped_add(&p, BASE, 0, AT(0x8000, 0x8008));
    piped_run(&p);
    assert_int_equal(hp_pipe_stats(p.pipe)->traps, 0);
    assert_int_equal(hp_pipe_stats(p.pipe)->aborted, 0);
    piped_fini(&p);
}

static void test_part_of_a_value_waits_until_the_store_retires(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "88 07  48 8b 1e  eb f9", PIPE_SMALL); /* mov [rdi], al; mov rbx, [rsi] */
    piped_add(&p, BASE, 0, AT(0x8003, 0x8000));
    piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    const struct hp_timing *store = piped_timing(&p, BASE, 0);
    const struct hp_timing *load = piped_timing(&p, BASE + 2, 0);
    assert_true(load->events & HP_TIMING_BLOCKED);
    assert_false(load->events & HP_TIMING_FORWARDED);
    assert_int_equal(load->fetched + load->issued, store->fetched + store->left);
    assert_int_equal(load->ready, load->mapped + 1);
    piped_fini(&p);
}

static void test_a_whole_value_is_forwarded(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "48 89 07  8b 1e  eb f9", PIPE_SMALL); /* mov [rdi], rax; mov ebx, [rsi] */
    piped_add(&p, BASE, 0, AT(0x8000, 0x8004));
    piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    const struct hp_timing *load = piped_timing(&p, BASE + 3, 0);
    assert_true(load->events & HP_TIMING_FORWARDED);
    assert_true(load->events & HP_TIMING_L1D); /* the cache is accessed all the same */
    assert_int_equal(load->data_from, HP_FROM_MEMORY);
    assert_int_equal(load->done, load->issued + 2);
    assert_int_equal(load->loaded, load->done);
    piped_fini(&p);
}

/* A branch predicted not taken that is: behind it the wrong path, until it is known. */
static void test_a_wrong_path_is_aborted(void **state)
{
    struct piped p;
    (void)state;
    piped_init(&p);
    add_segment(&p.s, 1, BASE, "48 f7 f1  75 10"); /* div rcx; jne BASE + 0x15 */
    add_segment(&p.s, 2, BASE + 5, "48 01 d8  48 01 d8  48 01 d8  eb 05"); /* jmp BASE + 0x15 */
    add_segment(&p.s, 3, BASE + 0x15, "48 01 d8  eb e6");                  /* jmp BASE */
    piped_start(&p, PIPE_SMALL, -1);
    piped_add(&p, BASE, 0, AT());
    piped_add(&p, BASE + 5, 0, AT()); /* so that it is known */
    for (int i = 0; i < 2; i++) {
        piped_add(&p, BASE + 0x15, 0, AT());
        piped_add(&p, BASE, 0, AT());
    }
    piped_add(&p, BASE + 0x15, 0, AT());
    piped_run(&p);
    const struct hp_timing *branch = piped_timing(&p, BASE + 3, 1);
    assert_true(branch->events & HP_TIMING_MISPREDICTED);
    assert_true(branch->events & HP_TIMING_TAKEN);
    const struct hp_timing *wrong = piped_timing(&p, BASE + 5, 1);
    assert_true(wrong->events & HP_TIMING_WRONG_PATH);
    assert_int_equal(wrong->history & 1, 0);
    assert_int_equal(wrong->fetched + wrong->left, branch->fetched + branch->done);
    const struct hp_timing *right = wrong;
    while (!(right->events & HP_TIMING_RETIRED))
        right++;
    assert_int_equal(right->fetched, branch->fetched + branch->done + 3);
    assert_int_equal(right->history & 1, 1);
    assert_true(hp_pipe_stats(p.pipe)->wrong_path >= 4);
    piped_fini(&p);
}

static uint32_t events_with(struct piped *p, const char *hex, const char *machine, unsigned mems)
{
    const uint64_t addresses[8] = {0x8000, 0x8100, 0x8200, 0x8300, 0x8400, 0x8500, 0x8600, 0x8700};
    uint32_t events = 0;
    straight(p, hex, machine);
    for (int i = 0; i < 6; i++)
        piped_add(p, BASE, 0, addresses, mems);
    piped_run(p);
    for (size_t i = 0; i < p->n; i++)
        events |= p->timings[i].events;
    piped_fini(p);
    return events & (HP_TIMING_NO_REORDER | HP_TIMING_NO_QUEUE | HP_TIMING_NO_MEMORY_QUEUE |
                     HP_TIMING_NO_REGISTER | HP_TIMING_SERIAL);
}

#define LIMITED(more) PIPE_CORE("2", more) PIPE_UNITS PIPE_MEMORY

static void test_each_limit_has_its_event(void **state)
{
    struct piped p;
    static const char adds[] = "48 f7 f1  48 01 d8  48 01 d8  48 01 d8  eb f2";
    static const char nops[] = "48 f7 f1  90 90 90 90 90 90 90 90 eb f3";
    static const char loads[] = "48 8b 07  48 8b 1e  48 8b 0f  48 8b 16  eb f2";
    (void)state;
    assert_int_equal(events_with(&p, adds, LIMITED("reorder = 32\nmemory_queue = 8\n"), 0), 0);
    assert_int_equal(events_with(&p, nops, LIMITED("reorder = 3\nmemory_queue = 3\n"), 0),
                     HP_TIMING_NO_REORDER);
    assert_int_equal(
        events_with(&p, adds, LIMITED("reorder = 32\nint_queue = 2\nmemory_queue = 8\n"), 0),
        HP_TIMING_NO_QUEUE);
    assert_int_equal(events_with(&p, loads, LIMITED("reorder = 32\nmemory_queue = 2\n"), 4),
                     HP_TIMING_NO_MEMORY_QUEUE);
    assert_int_equal(
        events_with(&p, adds, LIMITED("reorder = 32\nint_registers = 34\nmemory_queue = 8\n"), 0),
        HP_TIMING_NO_REGISTER);
    /* More than there are: it gets what there is, and goes on. */
    assert_int_equal(events_with(&p, "48 a5 eb fc",
                                 LIMITED("reorder = 32\nint_registers = 33\nmemory_queue = 1\n"),
                                 2) &
                         (HP_TIMING_NO_REORDER | HP_TIMING_NO_QUEUE),
                     0);
    assert_int_equal(
        events_with(&p, "f0 48 01 07 eb fa", LIMITED("reorder = 32\nmemory_queue = 8\n"), 1),
        HP_TIMING_SERIAL);
}

/* Each jump takes the profiler 10 cycles; two may wait. */
static void test_the_branch_queue_holds_retirement_up(void **state)
{
    struct piped p;
    (void)state;
    piped_init(&p);
    add_segment(&p.s, 1, BASE, "48 01 d8 eb fb");
    piped_start(&p, PIPE_SMALL, 2);
    for (int i = 0; i < 20; i++)
        piped_add(&p, BASE, 10, AT());
    piped_run(&p);
    uint64_t times[19];
    for (size_t i = 0; i < 19; i++) {
        const struct hp_timing *t = piped_timing(&p, BASE + 3, i);
        times[i] = t->fetched + t->left;
        assert_int_equal(!!(t->events & HP_TIMING_QUEUE_STALL), i >= 3);
    }
    for (size_t i = 3; i < 19; i++)
        assert_int_equal(times[i], times[0] + 10 * (i - 2));
    assert_true(hp_pipe_stats(p.pipe)->queue_stalls > 100);
    piped_fini(&p);
}

static void test_a_tail_is_run_in_part(void **state)
{
    struct piped p;
    const uint64_t address = 0x8000;
    (void)state;
    straight(&p, "48 8b 03  48 8b 0b  48 01 d8  75 f5", PIPE_SMALL);
    struct hp_event tail = {.kind = HP_EVENT_TAIL,
                            .block = piped_block(&p, BASE),
                            .insns = 2,
                            .addresses = &address,
                            .n_addresses = 1};
    assert_int_equal(hp_pipe_tail(p.pipe, &tail), HP_OK);
    tail.insns = 0;
    assert_int_equal(hp_pipe_tail(p.pipe, &tail), HP_OK);
    tail.insns = 100;
    assert_int_equal(hp_pipe_tail(p.pipe, &tail), HP_OK);
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(p.n, 6);
    assert_int_equal(p.timings[0].data_from, HP_FROM_MEMORY);
    assert_int_equal(p.timings[0].address, address);
    assert_int_equal(p.timings[1].data_from, HP_FROM_NOWHERE); /* no address was given */
    assert_int_equal(p.timings[1].done, p.timings[1].issued + 2);
    assert_false(p.timings[5].events & (HP_TIMING_TAKEN | HP_TIMING_MISPREDICTED));
    assert_int_equal(piped_stat(&p, "branches"), 0);
    assert_int_equal(piped_stat(&p, "instructions"), 6);
    assert_int_equal(piped_stat(&p, "blocks"), 2);
    piped_fini(&p);
}

static void test_windows(void **state)
{
    struct piped p;
    static const bool expected[6] = {true, true, false, false, true, true};
    (void)state;
    straight(&p, "48 01 d8 eb fb", PIPE_SMALL);
    for (int i = 0; i < 7; i++)
        piped_add(&p, BASE, 0, AT());
    for (size_t i = 0; i < 6; i++) {
        hp_pipe_measure(p.pipe, expected[i]);
        piped_feed(&p, i, i + 1);
    }
    assert_int_equal(hp_pipe_drain(p.pipe), HP_OK);
    assert_int_equal(p.n, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(!!(p.timings[i].events & HP_TIMING_MEASURED), expected[i / 2]);
        assert_int_equal(!!(p.timings[i].events & HP_TIMING_WINDOW), i == 8);
    }
    piped_fini(&p);
}

/* The functional form runs on the same caches in between. */
static void test_the_core_is_shared(void **state)
{
    struct piped p;
    struct hp_events events;
    uint8_t taken = 1;
    (void)state;
    straight(&p, "48 8b 03  eb fb", PIPE_SMALL);
    uint32_t blocks[2] = {piped_block(&p, BASE), piped_block(&p, BASE)}, at[2] = {0, 1};
    uint64_t address = 0x9000;
    struct hp_batch batch = {.code = p.s.code,
                             .table = hp_code_blocks(p.s.code),
                             .blocks = blocks,
                             .taken = &taken,
                             .n = 1,
                             .addresses = &address,
                             .address_at = at};
    piped_add(&p, BASE, 0, AT(0x8000));
    piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    assert_int_equal(hp_core_batch(p.core, p.s.code, &batch, &events), HP_OK);
    assert_int_equal(events.count[HP_METRIC_L1I_MISSES], 0);
    assert_int_equal(events.count[HP_METRIC_L1D_MISSES], 1);
    piped_forget(&p);
    piped_add(&p, BASE, 0, AT(0x9000));
    piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    assert_int_equal(p.n, 4);
    assert_int_equal(p.timings[0].data_from, HP_FROM_MEMORY);
    assert_int_equal(p.timings[2].data_from, HP_FROM_L1);
    assert_int_equal(piped_stat(&p, "instructions"), 6);
    assert_int_equal(piped_stat(&p, "l1d.misses"), 2);
    piped_fini(&p);
}

/* Lines on their way: a second load of one, and a third miss when two can be. */
static void test_lines_on_their_way(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "48 8b 07  48 8b 5f 08  48 8b 0e  48 8b 16  eb f1",
             LIMITED("reorder = 32\nmemory_queue = 8\nmisses = 2\n"));
    piped_add(&p, BASE, 0, AT(0x8000, 0x8008, 0x9000, 0xa000));
    piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    const struct hp_timing *first = piped_timing(&p, BASE, 0);
    const struct hp_timing *merged = piped_timing(&p, BASE + 3, 0);
    const struct hp_timing *second = piped_timing(&p, BASE + 7, 0);
    const struct hp_timing *third = piped_timing(&p, BASE + 10, 0);
    assert_int_equal(first->done, first->issued + 50);
    assert_true(merged->events & HP_TIMING_MERGED);
    assert_false(merged->events & HP_TIMING_L1D);
    assert_int_equal(merged->data_from, HP_FROM_MEMORY);
    assert_int_equal(merged->fetched + merged->done, first->fetched + first->done);
    assert_int_equal(second->done, second->issued + 50);
    assert_int_equal(third->fetched + third->done, first->fetched + first->done + 50);
    piped_fini(&p);
}

/* Far beyond the wheel. */
static void test_very_long_latencies(void **state)
{
    struct piped p;
    (void)state;
    straight(&p, "48 8b 07  48 01 d8  eb f8",
             PIPE_CORE("2", "reorder = 32\nmemory_queue = 8\nmisses = 1\n") PIPE_UNITS
             "[l1i]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\n"
             "[l1d]\nsize = 4K\nline = 64\nways = 1\nlatency = 2\n"
             "[memory]\nlatency = 100000\n[branch]\npredictor = bimodal\n"
             "[btb]\nentries = 64\nways = 2\n");
    for (uint64_t i = 0; i < 30; i++)
        piped_add(&p, BASE, 0, AT(0x8000 + i * 0x1000));
    piped_run(&p);
    assert_int_equal(hp_pipe_stats(p.pipe)->retired, 29 * 3);
    assert_in_range(hp_pipe_stats(p.pipe)->cycles, 2900000, 3100000);
    const struct hp_timing *last = piped_timing(&p, BASE + 3, 28);
    assert_int_equal(last->ready, last->issued);
    assert_int_equal(last->producer, piped_timing(&p, BASE, 28)->insn);
    piped_fini(&p);
}

/* Behind a load that takes long, one misprediction after the other: nothing can be handed out, and
 * the ring has to grow. */
static void test_many_timings_wait(void **state)
{
    struct piped p;
    size_t before = 0;
    (void)state;
    piped_init(&p);
    add_segment(&p.s, 1, BASE, "48 8b 33  eb 00");         /* mov rsi, [rbx]; jmp to the next */
    add_segment(&p.s, 2, BASE + 5, "48 f7 f1  75 fb");     /* div rcx; jne to itself */
    add_segment(&p.s, 3, BASE + 10, "90 90 90 90  eb f5"); /* jmp BASE + 5 */
    piped_start(&p,
                PIPE_CORE("8", "reorder = 400\nint_queue = 400\nint_registers = 4096\nmemory_queue "
                               "= 64\nfetch_queue = 64\n") PIPE_UNITS
                "[l1i]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\n"
                "[l1d]\nsize = 4K\nline = 64\nways = 1\nlatency = 2\n"
                "[memory]\nlatency = 100000\n[branch]\npredictor = static\n"
                "[btb]\nentries = 64\nways = 2\n",
                -1);
    piped_add(&p, BASE, 0, AT(0x8000));
    for (int i = 0; i < 60; i++) {
        piped_add(&p, BASE + 5, 0, AT());
        piped_add(&p, BASE + 10, 0, AT());
    }
    piped_run(&p);
    const struct hp_timing *load = piped_timing(&p, BASE, 0);
    assert_int_equal(load->done, load->issued + 100000);
    for (size_t i = 0; i < p.n; i++)
        before += p.timings[i].fetched < load->fetched + load->left;
    assert_in_range(before, 1025, 100000);
    check_timings(&p);
    piped_fini(&p);
}

static void test_no_wrong_path(void **state)
{
    struct piped p;
    struct hp_pipe_config config = {
        .timings = piped_take, .context = &p, .queue = -1, .no_wrong_path = true};
    (void)state;
    straight(&p, "48 f7 f1  75 fb", PIPE_SMALL);
    hp_pipe_free(p.pipe);
    assert_int_equal(hp_pipe_new(p.program, p.core, &config, &p.pipe), HP_OK);
    for (int i = 0; i < 8; i++)
        piped_add(&p, BASE, 0, AT());
    piped_run(&p);
    assert_int_equal(hp_pipe_stats(p.pipe)->aborted, 0);
    const struct hp_timing *branch = piped_timing(&p, BASE + 3, 0);
    assert_true(branch->events & HP_TIMING_MISPREDICTED);
    assert_int_equal(branch[1].fetched, branch->fetched + branch->done + 3);
    piped_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_nothing_fed),
        cmocka_unit_test(test_break_and_drain),
        cmocka_unit_test(test_a_load_that_is_too_early_traps),
        cmocka_unit_test(test_another_place_does_not_trap),
        cmocka_unit_test(test_part_of_a_value_waits_until_the_store_retires),
        cmocka_unit_test(test_a_whole_value_is_forwarded),
        cmocka_unit_test(test_a_wrong_path_is_aborted),
        cmocka_unit_test(test_each_limit_has_its_event),
        cmocka_unit_test(test_the_branch_queue_holds_retirement_up),
        cmocka_unit_test(test_a_tail_is_run_in_part),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_the_core_is_shared),
        cmocka_unit_test(test_lines_on_their_way),
        cmocka_unit_test(test_very_long_latencies),
        cmocka_unit_test(test_many_timings_wait),
        cmocka_unit_test(test_no_wrong_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
