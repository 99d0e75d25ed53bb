// SPDX-License-Identifier: MIT
/*
 * For tests of the pipe with cycles counted by hand: AArch64 code put together word by word, and run on both pipes, which have to agree.
 *
 * A kernel is one straight block, fed as a tail (so its end is not predicted). The code is in the L1I and the ITLB from the start; data are as
 * the kernel says. So the first instruction is fetched in cycle 0.
 */
#ifndef HP_TEST_PIPE_KERNEL_H
#define HP_TEST_PIPE_KERNEL_H

#include "machine/machine.h"
#include "pipe_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What x0, x1, ... are is said where it matters. */
enum word {
    ADD_CHAIN = 0x8b010000u,    /* add x0, x0, x1 */
    ADD_OF_LOAD = 0x8b000001u,  /* add x1, x0, x0 */
    ADD = 0x8b050083u,          /* add x3, x4, x5 */
    MUL_CHAIN = 0x9b017c00u,    /* mul x0, x0, x1 */
    MUL = 0x9b057c80u,          /* mul x0, x4, x5 */
    MUL_DATA = 0x9b057c81u,     /* mul x1, x4, x5: what STORE stores */
    DIV = 0x9ac50c80u,          /* sdiv x0, x4, x5 */
    FDIV = 0x1e621820u,         /* fdiv d0, d1, d2 */
    FADD_OF_LOAD = 0x1e602801u, /* fadd d1, d0, d0 */
    FADD = 0x1e632841u,         /* fadd d1, d2, d3 */
    LOAD_CHAIN = 0xf9400000u,   /* ldr x0, [x0] */
    LOAD = 0xf9400040u,         /* ldr x0, [x2] */
    LOAD_FP = 0xfd400040u,      /* ldr d0, [x2] */
    LOAD_23 = 0xf9400043u,      /* ldr x3, [x2] */
    LOAD_32 = 0xf9400062u,      /* ldr x2, [x3] */
    STORE = 0xf9000041u,        /* str x1, [x2] */
    STORE_3 = 0xf9000061u,      /* str x1, [x3] */
    STORE_HALF = 0xb9000041u,   /* str w1, [x2] */
    STORE_STEP = 0xf8008c43u,   /* str x3, [x2, #8]! */
    LOAD_STEP = 0xf8408443u,    /* ldr x3, [x2], #8 */
    FENCE = 0xd5033bbfu,        /* dmb ish */
    NOP = 0xd503201fu,
    JUMP = 0xd61f0120u, /* br x9 */
    RETURN = 0xd65f03c0u,
};

#define KERNEL_MAX 1000
#define CODE       0x10000u
#define DATA       0x800000u

struct kernel {
    struct hp_machine *m;
    struct hp_code *code;
    uint32_t module, segments;
    uint32_t words[KERNEL_MAX];
    uint64_t addresses[KERNEL_MAX];
    size_t n, n_addresses;
    struct pipe_feed feed, warm;
    struct pipe_run run;
    int queue; /* of a profiler for branches */
};

static inline void kernel_init(struct kernel *k, const char *machine)
{
    struct hp_module module = {.path = "[anon]", .build_id = "", .high = UINT64_MAX};
    *k = (struct kernel){.queue = -1};
    assert_int_equal(hp_machine_load(machine, &k->m), HP_OK);
    assert_int_equal(hp_code_new(HP_ARCH_AARCH64, &k->code), HP_OK);
    assert_int_equal(hp_code_add_module(k->code, &module, &k->module), HP_OK);
    pipe_feed_init(&k->feed, k->code);
    pipe_feed_init(&k->warm, k->code);
}

static inline void kernel_fini(struct kernel *k)
{
    pipe_run_fini(&k->run);
    pipe_feed_fini(&k->feed);
    pipe_feed_fini(&k->warm);
    hp_code_free(k->code);
    hp_machine_free(k->m);
}

/* Adds a block of words, the last of which is a transfer; returns its id. */
static inline uint32_t kernel_block(struct kernel *k, uint64_t start, const uint32_t *words,
                                    size_t n)
{
    uint8_t bytes[4 * KERNEL_MAX + 4];
    for (size_t i = 0; i < 4 * n; i++)
        bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    struct hp_segment segment = {
        .start = start, .module = k->module, .bytes = bytes, .size = (uint32_t)(4 * n)};
    assert_int_equal(hp_code_add_segment(k->code, ++k->segments, &segment), HP_OK);
    return hp_code_n_blocks(k->code) - 1;
}

/* `n` instructions without memory operands. */
static inline void put(struct kernel *k, size_t n, enum word word)
{
    assert_true(k->n + n < KERNEL_MAX);
    while (n--)
        k->words[k->n++] = word;
}

/* A load or store. */
static inline void put_access(struct kernel *k, enum word word, uint64_t address)
{
    put(k, 1, word);
    k->addresses[k->n_addresses++] = address;
}

/* Brings a line, and its page, to where an access leaves them. */
static inline void touch(struct kernel *k, uint64_t address)
{
    static const uint32_t load[] = {LOAD, RETURN};
    uint32_t block = 0;
    uint64_t start = CODE + 0x8000;
    while (block < hp_code_n_blocks(k->code) && hp_code_block(k->code, block)->start != start)
        block++;
    if (block == hp_code_n_blocks(k->code))
        block = kernel_block(k, start, load, 2);
    struct hp_event tail = {
        .block = block, .insns = 1, .exact = true, .addresses = &address, .n_addresses = 1};
    pipe_feed_tail(&k->warm, &tail);
}

/* Runs what was fed on both pipes; the result is the fast one's. */
static inline void run_both(struct kernel *k, bool no_wrong_path)
{
    struct pipe_setup setup = {
        .machine = k->m, .warm = &k->warm, .queue = k->queue, .no_wrong_path = no_wrong_path};
    struct pipe_run slow;
    pipe_run_slow(&slow, &k->feed, &setup);
    pipe_run_fast(&k->run, &k->feed, &setup);
    bool equal = pipe_runs_equal(&slow, &k->run, stderr);
    pipe_run_fini(&slow);
    assert_true(equal);
}

/* The kernel as it was put together. `rounds`: so often the functional model has run it, with its data, before. */
static inline void run_kernel_warm(struct kernel *k, unsigned rounds)
{
    k->words[k->n] = RETURN;
    uint32_t block = kernel_block(k, CODE, k->words, k->n + 1);
    struct hp_event tail = {.block = block, .insns = (uint32_t)k->n, .exact = true};
    pipe_feed_tail(&k->warm, &tail);
    tail.addresses = k->addresses;
    tail.n_addresses = k->n_addresses;
    while (rounds--)
        pipe_feed_tail(&k->warm, &tail);
    pipe_feed_tail(&k->feed, &tail);
    run_both(k, false);
}

static inline void run_kernel(struct kernel *k)
{
    run_kernel_warm(k, 0);
}

static inline const struct hp_timing *timing(const struct kernel *k, size_t i)
{
    assert_true(i < k->run.n);
    return &k->run.timings[i];
}

static inline uint64_t mapped(const struct kernel *k, size_t i)
{
    return timing(k, i)->fetched + timing(k, i)->mapped;
}

static inline uint64_t issued(const struct kernel *k, size_t i)
{
    return timing(k, i)->fetched + timing(k, i)->issued;
}

static inline uint64_t done(const struct kernel *k, size_t i)
{
    return timing(k, i)->fetched + timing(k, i)->done;
}

static inline uint64_t left(const struct kernel *k, size_t i)
{
    return timing(k, i)->fetched + timing(k, i)->left;
}

static inline size_t with_event(const struct kernel *k, uint32_t event)
{
    size_t n = 0;
    for (size_t i = 0; i < k->run.n; i++)
        n += (k->run.timings[i].events & event) != 0;
    return n;
}

/* Where a count is wrong, the whole run is worth seeing. */
static inline void expect_cycles(const struct kernel *k, const char *what, uint64_t expected)
{
    if (k->run.stats.cycles == expected)
        return;
    print_error("%s on %s: %llu cycles, by hand %llu\n", what, hp_machine_name(k->m),
                (unsigned long long)k->run.stats.cycles, (unsigned long long)expected);
    for (size_t i = 0; i < k->run.n; i++)
        pipe_print_timing(&k->run, i, stderr);
    fail();
}

static const char *const machines[] = {"vaswani", "alpha21264", "arm9", "modern"};

/* Runs a kernel on each machine. */
static inline void on_each(void (*test)(struct kernel *k))
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct kernel *k = malloc(sizeof *k);
        assert_non_null(k);
        kernel_init(k, machines[i]);
        test(k);
        kernel_fini(k);
        free(k);
    }
}

static inline uint64_t front(const struct kernel *k)
{
    return k->m->core.front_stages;
}

/* Latency of a line that is nowhere, whose page is known. */
static inline uint64_t memory(const struct kernel *k)
{
    return k->m->memory.latency;
}

#endif
