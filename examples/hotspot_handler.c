// SPDX-License-Identifier: MIT
/*
 * An interpreter that embeds the hot spot detector. It passes its branches to the detector, whose
 * handler "compiles" what was found: from then on each branch of the hot spot, with the code up to
 * it, costs less. It shows what a runtime optimizer needs:
 *
 *   [1] a detector and a handler
 *   [2] a call for every branch
 *   [3] the branches of a hot spot, with their counters, when it is detected
 *
 *   hotspot_handler [DETECTOR]
 *
 * The program runs three phases, twice. The detector finds each of them once.
 */
#include <hotpath/hotspot.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- The machine ------------------------------------------------------------------------------ */

enum op { ADD, MUL, XOR, SHIFT, LESS, NOT_ZERO, JUMP, STOP }; /* the last but STOP are branches */

struct insn {
    enum op op;
    uint32_t a, b, to; /* registers; where a branch leads */
};

/* r0 is 0, r1 is 1. Each phase counts r2 up to r3. All phases run r5 times, counted in r4. */
static const struct insn program[] = {
    /* phase A: two branches */
    {XOR, 2, 2, 0},  /* 0: r2 = 0 */
    {MUL, 6, 3, 0},  /* 1 */
    {ADD, 6, 2, 0},  /* 2 */
    {ADD, 2, 1, 0},  /* 3 */
    {LESS, 2, 3, 1}, /* 4: while r2 < r3 */
    /* phase B: a condition inside */
    {XOR, 2, 2, 0},       /* 5 */
    {SHIFT, 7, 6, 0},     /* 6: r7 = r6 >> 1 & 1 */
    {NOT_ZERO, 7, 0, 10}, /* 7 */
    {ADD, 6, 3, 0},       /* 8 */
    {JUMP, 0, 0, 11},     /* 9 */
    {XOR, 6, 2, 0},       /* 10 */
    {ADD, 2, 1, 0},       /* 11 */
    {LESS, 2, 3, 6},      /* 12 */
    /* phase C: a loop in a loop */
    {XOR, 2, 2, 0},   /* 13 */
    {XOR, 8, 8, 0},   /* 14 */
    {ADD, 6, 8, 0},   /* 15 */
    {ADD, 8, 1, 0},   /* 16 */
    {LESS, 8, 9, 15}, /* 17: r9 times */
    {ADD, 2, 1, 0},   /* 18 */
    {LESS, 2, 3, 14}, /* 19 */
    {ADD, 4, 1, 0},   /* 20 */
    {LESS, 4, 5, 0},  /* 21 */
    {STOP, 0, 0, 0},
};
#define N_CODE (sizeof program / sizeof *program)

struct machine {
    uint64_t r[10];
    uint64_t executed, cost; /* a compiled instruction costs 1, any other 10 */
    bool compiled[N_CODE];
    uint32_t n_compiled;
};

static bool is_branch(enum op op)
{
    return op == LESS || op == NOT_ZERO || op == JUMP;
}

/* --- The handler ------------------------------------------------------------------------------ */

/* [3] A block ends with a branch. It begins after the previous branch, or where a branch leads. */
static void compile(struct machine *m, uint32_t branch)
{
    for (uint32_t pc = branch;; pc--) {
        m->n_compiled += !m->compiled[pc];
        m->compiled[pc] = true;
        bool entered = false;
        for (uint32_t i = 0; i < N_CODE; i++)
            entered = entered || (is_branch(program[i].op) && program[i].to == pc);
        if (entered || pc == 0 || is_branch(program[pc - 1].op))
            return;
    }
}

static void on_hotspot(void *context, const struct hp_hotspot *hotspot)
{
    struct machine *m = context;
    printf("hot spot %" PRIu32 " after %" PRIu64 " branches:", hotspot->number, hotspot->branches);
    for (size_t i = 0; i < hotspot->n_candidates; i++) {
        const struct hp_hotspot_branch *c = &hotspot->candidates[i];
        printf(" %" PRIu64 " (%.0f %% taken)", c->address, 100.0 * c->taken / c->executed);
        compile(m, (uint32_t)c->address);
    }
    printf("\n");
}

/* --- The interpreter -------------------------------------------------------------------------- */

static bool goes(const struct machine *m, const struct insn *in)
{
    return in->op == JUMP || (in->op == LESS ? m->r[in->a] < m->r[in->b] : m->r[in->a] != 0);
}

static void compute(struct machine *m, const struct insn *in)
{
    uint64_t *a = &m->r[in->a], b = m->r[in->b];
    switch (in->op) {
    case ADD: *a += b; break;
    case MUL: *a *= b; break;
    case XOR: *a ^= b; break;
    default: *a = b >> 1 & 1; break;
    }
}

static void interpret(struct machine *m, struct hp_hotspots *detector)
{
    for (uint32_t pc = 0; program[pc].op != STOP;) {
        const struct insn *in = &program[pc];
        m->executed++;
        m->cost += m->compiled[pc] ? 1 : 10;
        if (!is_branch(in->op)) {
            compute(m, in);
            pc++;
            continue;
        }
        bool taken = goes(m, in);
        uint32_t next = taken ? in->to : pc + 1;
        struct hp_branch branch = {.address = pc,
                                   .target = next,
                                   .flow = in->op == JUMP ? HP_FLOW_JUMP : HP_FLOW_COND,
                                   .taken = taken};
        hp_hotspots_branch(detector, 0, &branch); /* [2] */
        pc = next;
    }
}

int main(int argc, char **argv)
{
    struct machine m = {.r = {[1] = 1, [3] = 50000, [5] = 2, [9] = 5}};
    struct hp_hotspot_config config;
    struct hp_hotspots *detector;
    /* [1] Loops have few branches: a smaller detector than a processor's is enough. */
    const char *text = argc > 1 ? argv[1] : "merten,entries=64,detect=11,monitor-counter=9";
    if (hp_hotspot_config_parse(text, &config) != HP_OK ||
        hp_hotspots_new(&config, on_hotspot, &m, &detector) != HP_OK) {
        fprintf(stderr, "hotspot_handler: %s\n", hp_error_text());
        return 1;
    }
    interpret(&m, detector);
    const struct hp_hotspot_stats *stats = hp_hotspots_stats(detector);
    printf("%" PRIu64 " branches, %" PRIu64 " of them seen by the buffer; %" PRIu64
           " hot spots, %" PRIu32 " of %zu instructions compiled\n",
           stats->branches, stats->profiled, stats->detections, m.n_compiled, N_CODE);
    printf("cost %.1f an instruction instead of 10; result %" PRIu64 "\n",
           (double)m.cost / (double)m.executed, m.r[6]);
    hp_hotspots_free(detector);
    return 0;
}
