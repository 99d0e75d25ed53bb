// SPDX-License-Identifier: MIT
/*
 * A pipe on code made by hand: blocks are given as bytes, then run in any order with any addresses; every timing is kept.
 */
#ifndef HP_TEST_PIPE_FIXTURE_H
#define HP_TEST_PIPE_FIXTURE_H

#include "hotpath/pipe.h"
#include "machine/machine.h"
#include "stream_fixture.h"

/* A machine; what a test wants otherwise comes in `more`, behind it: keys of [core]. */
#define PIPE_CORE(width, more)                                                                     \
    "[core]\nwidth = " width "\nissue = " width "\nretire = " width "\nmispredict = 3\n"           \
    "front_stages = 2\n" more "\n"
#define PIPE_UNITS                                                                                 \
    "[units]\nalu = 2\nmul = 1\nfp = 1\nfp_mul = 1\nload = 1\nstore = 1\nbranch = 1\n"             \
    "[latency]\ndiv = 20\n"
#define PIPE_MEMORY                                                                                \
    "[l1i]\nsize = 4K\nline = 64\nways = 1\nlatency = 1\n"                                         \
    "[l1d]\nsize = 4K\nline = 64\nways = 1\nlatency = 2\n"                                         \
    "[l2]\nsize = 64K\nline = 64\nways = 4\nlatency = 10\n"                                        \
    "[memory]\nlatency = 50\n[branch]\npredictor = bimodal\n[btb]\nentries = 64\nways = 2\n"
#define PIPE_SMALL PIPE_CORE("2", "reorder = 32\nmemory_queue = 16\n") PIPE_UNITS PIPE_MEMORY

struct piped {
    struct stream s;
    struct hp_machine *machine;
    struct hp_program *program;
    struct hp_core *core;
    struct hp_pipe *pipe;
    struct hp_timing *timings;
    size_t n, cap;
    /* What is to be fed next. */
    uint32_t *blocks, *address_at;
    uint8_t *taken;
    uint16_t *costs;
    uint64_t *addresses;
    size_t n_blocks, n_addresses;
    size_t cap_blocks, cap_at, cap_taken, cap_costs, cap_addresses;
};

static inline void piped_take(void *context, const struct hp_timing *timings, size_t n)
{
    struct piped *p = context;
    assert_int_equal(hp_grow(&p->timings, &p->cap, p->n + n, sizeof *timings), HP_OK);
    memcpy(p->timings + p->n, timings, n * sizeof *timings);
    p->n += n;
}

static inline void piped_init(struct piped *p)
{
    *p = (struct piped){0};
    stream_init(&p->s);
}

static inline struct hp_machine *piped_parse(const char *text)
{
    struct hp_machine *machine = NULL;
    if (hp_machine_parse(text, strlen(text), "test.ini", "test", &machine) != HP_OK)
        print_error("%s\n", hp_error_text());
    assert_non_null(machine);
    return machine;
}

/* A new pipe on new caches, for the same code; the machine is the fixture's from now on. */
static inline void piped_start_machine(struct piped *p, struct hp_machine *machine, int queue)
{
    struct hp_pipe_config config = {.timings = piped_take, .context = p, .queue = queue};
    hp_pipe_free(p->pipe);
    hp_core_free(p->core);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
    p->machine = machine;
    p->n = 0;
    assert_int_equal(hp_program_new(machine, p->s.code, &p->program), HP_OK);
    assert_int_equal(hp_core_new(machine, &p->core), HP_OK);
    assert_int_equal(hp_pipe_new(p->program, p->core, &config, &p->pipe), HP_OK);
}

static inline void piped_start(struct piped *p, const char *machine, int queue)
{
    piped_start_machine(p, piped_parse(machine), queue);
}

static inline void piped_fini(struct piped *p)
{
    hp_pipe_free(p->pipe);
    hp_core_free(p->core);
    hp_program_free(p->program);
    hp_machine_free(p->machine);
    stream_fini(&p->s);
    free(p->timings);
    free(p->blocks);
    free(p->address_at);
    free(p->taken);
    free(p->costs);
    free(p->addresses);
}

static inline uint32_t piped_block(const struct piped *p, uint64_t start)
{
    for (uint32_t i = 0; i < hp_code_n_blocks(p->s.code); i++)
        if (hp_code_block(p->s.code, i)->start == start)
            return i;
    fail();
    return 0;
}

/* One more block, the next one in the order of retirement; whether it is taken follows from that. */
static inline void piped_add(struct piped *p, uint64_t start, uint16_t cost,
                             const uint64_t *addresses, size_t n)
{
    size_t i = p->n_blocks;
    assert_int_equal(hp_grow(&p->blocks, &p->cap_blocks, i + 1, sizeof *p->blocks), HP_OK);
    assert_int_equal(hp_grow(&p->taken, &p->cap_taken, i + 1, 1), HP_OK);
    assert_int_equal(hp_grow(&p->costs, &p->cap_costs, i + 1, sizeof *p->costs), HP_OK);
    assert_int_equal(hp_grow(&p->address_at, &p->cap_at, i + 2, sizeof *p->address_at), HP_OK);
    assert_int_equal(
        hp_grow(&p->addresses, &p->cap_addresses, p->n_addresses + n + 1, sizeof *addresses),
        HP_OK);
    if (n)
        memcpy(p->addresses + p->n_addresses, addresses, n * sizeof *addresses);
    p->n_addresses += n;
    p->blocks[i] = piped_block(p, start);
    p->costs[i] = cost;
    p->address_at[i + 1] = (uint32_t)p->n_addresses;
    if (i)
        p->taken[i - 1] = hp_code_block(p->s.code, p->blocks[i - 1])->end != start;
    p->n_blocks++;
}

#define AT(...)                                                                                    \
    (const uint64_t[]){0, ##__VA_ARGS__} + 1, sizeof((const uint64_t[]){0, ##__VA_ARGS__}) / 8 - 1

/* Feeds blocks first ... end - 1 of those that were added; the one behind them is what came next. */
static inline void piped_feed(struct piped *p, size_t first, size_t end)
{
    struct hp_batch batch = {.code = p->s.code,
                             .table = hp_code_blocks(p->s.code),
                             .blocks = p->blocks + first,
                             .taken = p->taken + first,
                             .n = end - first,
                             .addresses = p->addresses,
                             .address_at = p->address_at + first};
    assert_true(end < p->n_blocks);
    assert_int_equal(hp_pipe_batch(p->pipe, &batch, p->costs + first), HP_OK);
}

/* Feeds all but the last, and drains. */
static inline void piped_run(struct piped *p)
{
    piped_feed(p, 0, p->n_blocks - 1);
    assert_int_equal(hp_pipe_drain(p->pipe), HP_OK);
}

static inline void piped_forget(struct piped *p)
{
    p->n_blocks = p->n_addresses = 0;
}

/* The n-th timing of the instruction at an address. */
static inline const struct hp_timing *piped_timing(const struct piped *p, uint64_t address,
                                                   size_t n)
{
    for (size_t i = 0; i < p->n; i++)
        if (hp_program_insns(p->program)[p->timings[i].insn].address == address && n-- == 0)
            return &p->timings[i];
    print_error("no timing of %llx\n", (unsigned long long)address);
    fail();
    return NULL;
}

static inline uint64_t piped_stat(const struct piped *p, const char *name)
{
    for (const struct hp_core_stat *stat = hp_core_stats(p->core); stat->name; stat++)
        if (strcmp(stat->name, name) == 0)
            return stat->value;
    fail();
    return 0;
}

#endif
