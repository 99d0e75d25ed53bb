// SPDX-License-Identifier: MIT
/*
 * What blocks cause in a pipe: nothing is lost, nothing depends on how it is fed, and power in real
 * cycles by hand.
 */
#include "machine/core_impl.h"
#include "pipe_fixture.h"

/* --- What is handed out ----------------------------------------------------------------------- */

struct powered {
    struct piped piped; /* first: its timings come to the same context */
    uint32_t *ids;
    struct hp_events *events;
    size_t n_events, cap_ids, cap_events;
};

static void take_blocks(void *context, const uint32_t *blocks, const struct hp_events *events,
                        size_t n)
{
    struct powered *w = context;
    assert_true(n > 0);
    assert_int_equal(hp_grow(&w->ids, &w->cap_ids, w->n_events + n, sizeof *w->ids), HP_OK);
    assert_int_equal(hp_grow(&w->events, &w->cap_events, w->n_events + n, sizeof *events), HP_OK);
    memcpy(w->ids + w->n_events, blocks, n * sizeof *blocks);
    memcpy(w->events + w->n_events, events, n * sizeof *events);
    w->n_events += n;
}

static void powered_init(struct powered *w)
{
    *w = (struct powered){0};
    piped_init(&w->piped);
}

static void powered_fini(struct powered *w)
{
    free(w->ids);
    free(w->events);
    piped_fini(&w->piped);
}

/* A new pipe that says what blocks caused. */
static void powered_start(struct powered *w, struct hp_machine *machine)
{
    struct piped *p = &w->piped;
    struct hp_pipe_config config = {
        .timings = piped_take, .context = w, .queue = -1, .blocks = take_blocks};
    piped_start_machine(p, machine, -1);
    hp_pipe_free(p->pipe);
    assert_int_equal(hp_pipe_new(p->program, p->core, &config, &p->pipe), HP_OK);
    w->n_events = 0;
}

static uint32_t of(const struct powered *w, size_t i, enum hp_metric metric)
{
    assert_true(i < w->n_events);
    return w->events[i].count[metric];
}

/* Blocks and what was aborted are all there is. */
static void check_sums(const struct powered *w)
{
    const struct hp_pipe_caused *caused = hp_pipe_caused(w->piped.pipe);
    assert_non_null(caused);
    for (int k = HP_METRIC_INSTRUCTIONS; k < HP_METRICS; k++) {
        uint64_t sum = caused->aborted[k];
        for (size_t i = 0; i < w->n_events; i++)
            sum += w->events[i].count[k];
        if (sum != caused->all[k])
            print_error("%s\n", hp_metric_name((enum hp_metric)k));
        assert_int_equal(sum, caused->all[k]);
    }
}

/* --- Random programs -------------------------------------------------------------------------- */

#define RANDOM_BLOCKS 12
#define RANDOM_BASE   0x400000
#define RUN           400

static const char *const bodies[] = {
    "48 01 d8",    /* add rax, rbx */
    "48 8b 03",    /* mov rax, [rbx] */
    "48 89 07",    /* mov [rdi], rax */
    "48 01 07",    /* add [rdi], rax */
    "8b 1f",       /* mov ebx, [rdi] */
    "50",          /* push rax */
    "58",          /* pop rax */
    "90",          /* nop */
    "0f 18 0f",    /* prefetcht0 [rdi] */
    "f0 48 01 07", /* lock add [rdi], rax */
    "48 f7 f1",    /* div rcx */
};

/* Blocks of 64 bytes, each with a conditional jump to the next or to one of them. */
static void make_code(struct piped *p, uint64_t *seed, unsigned *targets)
{
    for (unsigned i = 0; i < RANDOM_BLOCKS; i++) {
        char hex[512] = "";
        unsigned size = 6, byte;
        int used;
        for (unsigned n = random_below(seed, 8); n; n--) {
            const char *body = bodies[random_below(seed, sizeof bodies / sizeof *bodies)];
            strcat(strcat(hex, body), " ");
            for (; sscanf(body, " %2x%n", &byte, &used) == 1; body += used)
                size++;
        }
        for (; size < 64; size++)
            strcat(hex, "90 ");
        targets[i] = random_below(seed, RANDOM_BLOCKS);
        uint32_t offset = (uint32_t)((targets[i] - i - 1) * 64);
        snprintf(hex + strlen(hex), 32, "0f 85 %02x %02x %02x %02x", offset & 0xff,
                 offset >> 8 & 0xff, offset >> 16 & 0xff, offset >> 24);
        add_segment(&p->s, i + 1, RANDOM_BASE + 64 * i, hex);
    }
}

static void make_run(struct piped *p, uint64_t *seed, const unsigned *targets)
{
    unsigned at = 0;
    for (unsigned i = 0; i <= RUN; i++) {
        const struct hp_insn *insns;
        uint64_t addresses[128], start = RANDOM_BASE + 64 * at;
        size_t mems = 0;
        uint32_t id = piped_block(p, start);
        assert_int_equal(hp_code_insns(p->s.code, id, &insns), HP_OK);
        for (uint32_t k = 0; k < hp_code_block(p->s.code, id)->insns; k++)
            for (unsigned m = 0; m < insns[k].n_mems; m++)
                addresses[mems++] = random_below(seed, 8) == 0
                                        ? 0x10000 + random_below(seed, 1 << 20)
                                        : 0x8000 + random_below(seed, 64);
        piped_add(p, start, 0, addresses, mems);
        bool taken = at + 1 == RANDOM_BLOCKS || random_below(seed, 3) == 0;
        at = taken ? targets[at] : at + 1;
    }
}

static struct hp_machine *load(const char *name)
{
    struct hp_machine *machine;
    assert_int_equal(hp_machine_load(name, &machine), HP_OK);
    return machine;
}

/* The functional form: what does not depend on time is the same for each block. */
static void check_functional(struct powered *w)
{
    struct piped *p = &w->piped;
    struct hp_core *core;
    static struct hp_events events[RUN];
    struct hp_batch batch = {.code = p->s.code,
                             .table = hp_code_blocks(p->s.code),
                             .blocks = p->blocks,
                             .taken = p->taken,
                             .n = RUN,
                             .addresses = p->addresses,
                             .address_at = p->address_at};
    assert_int_equal(hp_core_new(p->machine, &core), HP_OK);
    assert_int_equal(hp_core_batch(core, p->s.code, &batch, events), HP_OK);
    for (size_t i = 0; i < RUN; i++) {
        assert_int_equal(w->ids[i], p->blocks[i]);
        assert_int_equal(of(w, i, HP_METRIC_INSTRUCTIONS), events[i].count[HP_METRIC_INSTRUCTIONS]);
        assert_int_equal(of(w, i, HP_METRIC_MISPREDICTIONS),
                         events[i].count[HP_METRIC_MISPREDICTIONS]);
    }
    hp_core_free(core);
}

/* The same in batches of other sizes. */
static void check_cuts(struct powered *w, const char *machine, uint64_t *seed)
{
    struct hp_events whole[RUN];
    memcpy(whole, w->events, sizeof whole);
    powered_start(w, load(machine));
    for (size_t at = 0; at < RUN;) {
        size_t end = at + 1 + random_below(seed, 20);
        piped_feed(&w->piped, at, end < RUN ? end : RUN);
        at = end;
    }
    assert_int_equal(hp_pipe_drain(w->piped.pipe), HP_OK);
    assert_int_equal(w->n_events, RUN);
    assert_memory_equal(w->events, whole, sizeof whole);
}

static void random_programs_lose_nothing(void **state)
{
    (void)state;
    static const char *const machines[] = {"vaswani", "alpha21264", "arm9", "modern"};
    uint64_t aborted = 0;
    for (uint64_t round = 1; round <= 8; round++) {
        struct powered w;
        uint64_t seed = round;
        unsigned targets[RANDOM_BLOCKS];
        powered_init(&w);
        make_code(&w.piped, &seed, targets);
        make_run(&w.piped, &seed, targets);
        for (unsigned i = 0; i < 4; i++) {
            powered_start(&w, load(machines[i]));
            piped_run(&w.piped);
            assert_int_equal(w.n_events, RUN);
            check_sums(&w);
            check_functional(&w);
            aborted += hp_pipe_caused(w.piped.pipe)->aborted[HP_METRIC_POWER_CYCLE];
            check_cuts(&w, machines[i], &seed);
        }
        powered_fini(&w);
    }
    assert_true(aborted > 0);
}

/* --- By hand ---------------------------------------------------------------------------------- */

/* Two instructions a cycle in every stage; L1I and L1D cost 16 an access; all latencies 1. */
#define HAND(ports, more)                                                                          \
    "[core]\nwidth = 2\nissue = 4\nretire = 2\nfront_stages = 2\nmispredict = 3\nreorder = 32\n"   \
    "memory_queue = 16\n" more "\n"                                                                \
    "[units]\nalu = 2\nmul = 1\nfp = 1\nfp_mul = 1\nload = 2\nstore = 2\nbranch = 1\n"             \
    "[l1i]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\n"                                         \
    "[l1d]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\nports = " ports "\n"                      \
    "[l2]\nsize = 64K\nline = 64\nways = 4\nlatency = 10\n"                                        \
    "[memory]\nlatency = 50\npower = 100\n"                                                        \
    "[branch]\npredictor = bimodal\n[btb]\nentries = 64\nways = 2\n"
#define LATER 20 /* rounds after which everything is warm and in step */

static void start_hand(struct powered *w, const char *machine)
{
    powered_start(w, piped_parse(machine));
    assert_int_equal(w->piped.core->memory.l1d.cost, 16);
}

/* mov rax, [rdi]; mov rbx, [rsi]; jmp back: fetched in two cycles, the loads are issued in one. */
static void two_loads_in_a_cycle(void **state)
{
    (void)state;
    struct powered w;
    powered_init(&w);
    add_segment(&w.piped.s, 1, 0x1000, "48 8b 07 48 8b 1e eb f8");
    for (int i = 0; i <= LATER + 1; i++)
        piped_add(&w.piped, 0x1000, 0, AT(0x8000, 0x8008));
    start_hand(&w, HAND("2", ""));
    piped_run(&w.piped);
    check_sums(&w);
    assert_int_equal(of(&w, LATER, HP_METRIC_POWER_CYCLE), 16 + 16 + 16);
    assert_int_equal(of(&w, LATER, HP_METRIC_POWER), 3 * 16 + 2 * 16);
    start_hand(&w, HAND("1", "")); /* one port: as much as two accesses */
    piped_run(&w.piped);
    check_sums(&w);
    assert_int_equal(of(&w, LATER, HP_METRIC_POWER_CYCLE), 16 + 16 + 2 * 16);
    powered_fini(&w);
}

/* jne (never taken) | nop; jmp back: the jne and the nop of the next block are fetched in one
 * cycle, and share it. */
static void blocks_share_a_cycle(void **state)
{
    (void)state;
    struct powered w;
    powered_init(&w);
    add_segment(&w.piped.s, 1, 0x1000, "75 10");
    add_segment(&w.piped.s, 2, 0x1002, "90 eb fb");
    for (int i = 0; i <= LATER + 1; i++) {
        piped_add(&w.piped, 0x1000, 0, AT());
        piped_add(&w.piped, 0x1002, 0, AT());
    }
    start_hand(&w, HAND("2", ""));
    piped_run(&w.piped);
    check_sums(&w);
    assert_int_equal(of(&w, 2 * LATER, HP_METRIC_POWER_CYCLE), 8);
    assert_int_equal(of(&w, 2 * LATER + 1, HP_METRIC_POWER_CYCLE), 8 + 16);
    assert_int_equal(of(&w, 2 * LATER, HP_METRIC_POWER), 16);
    assert_int_equal(of(&w, 2 * LATER + 1, HP_METRIC_POWER), 32);
    powered_fini(&w);
}

/* mov rax, [rdi]; jmp back, with another line each time: it misses everywhere. */
static void a_miss(void **state)
{
    (void)state;
    struct powered w;
    powered_init(&w);
    add_segment(&w.piped.s, 1, 0x1000, "48 8b 07 eb fb");
    for (uint64_t i = 0; i <= LATER + 1; i++)
        piped_add(&w.piped, 0x1000, 0, AT(0x100000 + 4096 * i + 64 * i));
    start_hand(&w, HAND("2", ""));
    piped_run(&w.piped);
    check_sums(&w);
    uint32_t l2 = w.piped.core->memory.lower[0].cost;
    uint32_t beyond = l2 + 100 * 16 + l2 + 16; /* L2, memory, and both are filled */
    assert_int_equal(of(&w, LATER, HP_METRIC_L1D_MISSES), 1);
    assert_int_equal(of(&w, LATER, HP_METRIC_L2_MISSES), 1);
    assert_int_equal(of(&w, LATER, HP_METRIC_POWER_CYCLE), 16 + 16 + beyond);
    assert_int_equal(of(&w, LATER, HP_METRIC_POWER), 2 * 16 + 16 + beyond);
    powered_fini(&w);
}

/* add [rdi], rax; jmp back. Out of order: a load and, later, a store. In order: one access that
 * counts for two. */
static void an_update(void **state)
{
    (void)state;
    struct powered w;
    powered_init(&w);
    add_segment(&w.piped.s, 1, 0x1000, "48 01 07 eb fb");
    for (uint64_t i = 0; i <= LATER + 1; i++)
        piped_add(&w.piped, 0x1000, 0, AT(0x8000 + 8 * i));
    static const struct {
        const char *machine;
        uint32_t data;
    } cases[] = {
        {HAND("1", ""), 32}, {HAND("1", "in_order = yes"), 32}, {HAND("2", "in_order = yes"), 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_hand(&w, cases[i].machine);
        piped_run(&w.piped);
        check_sums(&w);
        assert_int_equal(of(&w, LATER - 10, HP_METRIC_POWER), 2 * 16 + 2 * 16);
        assert_int_equal(of(&w, LATER - 10, HP_METRIC_POWER_CYCLE), 16 + cases[i].data);
    }
    powered_fini(&w);
}

/* A tail is a block like others, as far as it was run. */
static void tails(void **state)
{
    (void)state;
    struct powered w;
    powered_init(&w);
    add_segment(&w.piped.s, 1, 0x1000, "48 8b 07 48 8b 1e eb f8");
    piped_add(&w.piped, 0x1000, 0, AT(0x8000, 0x8008));
    piped_add(&w.piped, 0x1000, 0, AT(0x8000, 0x8008));
    start_hand(&w, HAND("2", ""));
    piped_feed(&w.piped, 0, 1);
    uint64_t address = 0x8000;
    struct hp_event tail = {.kind = HP_EVENT_TAIL,
                            .block = w.piped.blocks[1],
                            .insns = 1,
                            .exact = true,
                            .addresses = &address,
                            .n_addresses = 1};
    assert_int_equal(hp_pipe_tail(w.piped.pipe, &tail), HP_OK);
    assert_int_equal(hp_pipe_drain(w.piped.pipe), HP_OK);
    check_sums(&w);
    assert_int_equal(w.n_events, 2);
    assert_int_equal(of(&w, 1, HP_METRIC_INSTRUCTIONS), 1);
    assert_int_equal(of(&w, 1, HP_METRIC_POWER), 16 + 16);
    assert_int_equal(of(&w, 1, HP_METRIC_MISPREDICTIONS), 0);
    powered_fini(&w);
}

static void nobody_asks(void **state)
{
    (void)state;
    struct piped p;
    piped_init(&p);
    piped_start(&p, PIPE_SMALL, -1);
    assert_null(hp_pipe_caused(p.pipe));
    piped_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_lose_nothing),
        cmocka_unit_test(two_loads_in_a_cycle),
        cmocka_unit_test(blocks_share_a_cycle),
        cmocka_unit_test(a_miss),
        cmocka_unit_test(an_update),
        cmocka_unit_test(tails),
        cmocka_unit_test(nobody_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
