// SPDX-License-Identifier: MIT
#include "pipe_random.h"

#include <stdarg.h>

/* The text so far. */
struct text {
    char *text;
    size_t used, size;
    uint64_t *seed;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    t->used += (size_t)vsnprintf(t->text + t->used, t->size - t->used, format, arguments);
    va_end(arguments);
}

static bool chance(struct text *t, uint32_t of)
{
    return pipe_random(t->seed, of) == 0;
}

/* From 1 to n; small numbers are likelier. */
static uint32_t small(struct text *t, uint32_t n)
{
    uint32_t limit = 1 + pipe_random(t->seed, n);
    return 1 + pipe_random(t->seed, limit);
}

static void add_core(struct text *t)
{
    uint32_t reorder = chance(t, 3) ? small(t, 120) : small(t, 20);
    add(t, "[core]\nwidth = %u\nissue = %u\nretire = %u\nin_order = %s\n", small(t, 8), small(t, 8),
        small(t, 8), chance(t, 4) ? "yes" : "no");
    add(t, "fetch_queue = %u\nreorder = %u\nmemory_queue = %u\n", small(t, 24), reorder,
        small(t, reorder));
    add(t, "int_queue = %u\nfp_queue = %u\nint_registers = %u\nfp_registers = %u\n", small(t, 40),
        chance(t, 2) ? 0 : small(t, 20), 32 + small(t, 60), 32 + small(t, 60));
    add(t, "front_stages = %u\nmispredict = %u\nmisses = %u\n", 1 + small(t, 10), small(t, 12) - 1,
        small(t, 10));
}

static void add_units(struct text *t)
{
    static const char *const units[] = {"alu",    "mul",  "fp",    "fp_mul",
                                        "vector", "load", "store", "branch"};
    static const char *const latencies[] = {"alu",    "mul",    "div",    "fp",
                                            "fp_mul", "fp_div", "vector", "branch"};
    add(t, "[units]\n");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        add(t, "%s = %u\n", units[i], small(t, 4));
    add(t, "[latency]\n");
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
        add(t, "%s = %u\n", latencies[i], chance(t, 12) ? small(t, 1000) : small(t, 12));
}

static const char *replacement(struct text *t)
{
    static const char *const names[] = {"lru", "plru", "random"};
    return names[pipe_random(t->seed, 3)];
}

/* 2^sets sets of 2^ways ways; returns the line's bits. */
static unsigned add_cache(struct text *t, const char *name, unsigned line_bits, unsigned sets,
                          uint32_t latency)
{
    unsigned ways = pipe_random(t->seed, 3);
    line_bits += pipe_random(t->seed, 3);
    add(t, "[%s]\nsize = %u\nline = %u\nways = %u\nreplacement = %s\nlatency = %u\nports = %u\n",
        name, 64u << (line_bits > 6 ? line_bits - 6 : 0) << pipe_random(t->seed, sets + 1) << ways,
        1u << line_bits, 1u << ways, replacement(t), latency, small(t, 3));
    if (name[2] != 'i') /* not the l1i */
        add(t, "write = %s\nallocate = %s\n", chance(t, 3) ? "through" : "back",
            chance(t, 3) ? "no" : "yes");
    return line_bits;
}

static void add_tlb(struct text *t, const char *name)
{
    unsigned ways = pipe_random(t->seed, 3);
    add(t, "[%s]\nentries = %u\nways = %u\nreplacement = %s\nlatency = %u\n", name,
        1u << pipe_random(t->seed, 3) << ways, 1u << ways, replacement(t), small(t, 30));
}

static void add_memory(struct text *t)
{
    bool slow = chance(t, 10);
    uint32_t latency = small(t, 5); /* no less than in the previous level */
    unsigned code = add_cache(t, "l1i", 4, 4, 1), data = add_cache(t, "l1d", 4, 4, latency);
    unsigned line = code > data ? code : data;
    if (!chance(t, 3)) {
        line = add_cache(t, "l2", line, 5, latency += small(t, 20));
        if (chance(t, 2))
            add_cache(t, "l3", line, 6, latency += small(t, 60));
    }
    bool itlb = !chance(t, 3), dtlb = !chance(t, 3);
    if (itlb)
        add_tlb(t, "itlb");
    if (dtlb)
        add_tlb(t, "dtlb");
    if ((itlb || dtlb) && chance(t, 2))
        add_tlb(t, "tlb2");
    add(t, "[memory]\nlatency = %u\n", latency + (slow ? small(t, 5000) : small(t, 150)));
}

static void add_branches(struct text *t)
{
    static const char *const predictors[] = {"static",   "bimodal",    "gshare", "local",
                                             "combined", "alpha21264", "tage"};
    add(t, "[branch]\npredictor = %s\nindirect = %s\n", predictors[pipe_random(t->seed, 7)],
        chance(t, 2) ? "btb" : "ittage");
    add(t, "[bimodal]\nentries = 64\n[gshare]\nentries = 64\nhistory = 5\n[tage]\nbase = "
           "16\ntables = 3\nentries = 16\n"
           "[ittage]\nbase = 16\ntables = 2\nentries = 16\n[alpha21264]\nhistories = 16\nlocal = "
           "4\nglobal = 5\n");
    add(t, "[btb]\nentries = %u\nways = 1\n[ras]\nentries = %u\n", 1u << pipe_random(t->seed, 6),
        small(t, 6) - 1);
}

void pipe_random_machine(uint64_t *seed, char *text, size_t size)
{
    struct text t = {.text = text, .size = size, .seed = seed};
    add_core(&t);
    add_units(&t);
    add_memory(&t);
    add_branches(&t);
}
