// SPDX-License-Identifier: MIT
/*
 * A simulator that embeds ProfileMe, and evaluates its own predicate on pairs of samples: how many
 * other loads are in flight when a load is issued? That is memory-level parallelism by instruction,
 * which no counter measures. Argument: a sampler, as in `hotpath run --sample` (default:
 * "profileme,pairs,interval=200").
 *
 * The program: a loop that follows a list (each load needs the one before), then one that reads an
 * array (no load needs another). Both loads have the same latency; only the first loop is slow.
 */
#include <hotpath/sample.h>

#include <stdio.h>
#include <stdlib.h>

#define TURNS 100000 /* of each loop */

/* --- The machine / ---------------------------------------------------------------------------- */

#define WIDTH   4  /* fetched per cycle; any number can be issued and retired */
#define REORDER 32 /* in flight */

struct instruction {
    const char *text;
    uint32_t latency;
    uint32_t needs; /* distance to the earlier instruction whose result it needs; 0: none */
};

static const struct instruction program[] = {
    {"list:  load r1, [r1]", 20, 3}, {"       add  r2, r1", 1, 1}, {"       loop list", 1, 0},
    {"array: load r3, [r4]", 20, 3}, {"       add  r4, 8", 1, 4},  {"       add  r5, r3", 1, 2},
    {"       loop array", 1, 0},
};
#define FIRST_LOOP 3 /* instructions of it */
#define BOTH_LOOPS (sizeof program / sizeof *program)
#define EXECUTED   ((size_t)TURNS * BOTH_LOOPS)

static int is_load(uint32_t insn)
{
    return program[insn].latency == 20;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The n-th executed instruction. */
static uint32_t executed(size_t n)
{
    size_t list = (size_t)TURNS * FIRST_LOOP;
    return (uint32_t)(n < list ? n % FIRST_LOOP
                               : FIRST_LOOP + (n - list) % (BOTH_LOOPS - FIRST_LOOP));
}

/* When its result is available. */
static uint64_t done(const struct hp_timing *timing)
{
    return timing->fetched + timing->done;
}

static uint64_t left(const struct hp_timing *timing)
{
    return timing->fetched + timing->left;
}

/* Runs the n-th instruction: fetched in order when there is room, issued when its operand is
 * available, retired in order. */
static void run(struct hp_timing *timings, size_t n)
{
    struct hp_timing *t = &timings[n];
    uint32_t insn = executed(n);
    const struct instruction *in = &program[insn];
    uint64_t fetched = n >= WIDTH ? timings[n - WIDTH].fetched + 1 : 0;
    fetched = max(fetched, n ? timings[n - 1].fetched : 0);
    fetched = max(fetched, n >= REORDER ? left(&timings[n - REORDER]) : 0);
    uint64_t ready = fetched + 2;
    if (in->needs && n >= in->needs)
        ready = max(ready, done(&timings[n - in->needs]));
    uint64_t end = ready + in->latency;
    bool same_cycle = n && timings[n - 1].fetched == fetched;
    *t = (struct hp_timing){
        .fetched = fetched,
        .mapped = 1,
        .ready = (uint32_t)(ready - fetched),
        .issued = (uint32_t)(ready - fetched),
        .done = (uint32_t)(end - fetched),
        .left = (uint32_t)(max(end, n ? left(&timings[n - 1]) : 0) - fetched),
        .loaded = is_load(insn) ? (uint32_t)(end - fetched) : HP_NEVER,
        .insn = insn,
        .producer = HP_NO_ID,
        .events = HP_TIMING_RETIRED | HP_TIMING_MEASURED,
        .slot = (uint8_t)(same_cycle ? timings[n - 1].slot + 1 : 0),
        .unit = is_load(insn) ? HP_UNIT_LOAD : HP_UNIT_ALU,
    };
}

/* --- The question / --------------------------------------------------------------------------- */

/* Of a pair: whether the other is a load in flight when this load is issued. `later`: by how many
 * cycles the other was fetched later. */
static double is_under_way(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                           void *context)
{
    (void)context;
    if (it->empty || other->empty || !is_load(it->timing.insn) || !is_load(other->timing.insn))
        return 0;
    int64_t now = it->timing.issued;
    return later + other->timing.issued <= now && now < later + other->timing.done;
}

/* The same without sampling: every load, with every other one near enough. */
static double count_under_way(const struct hp_timing *timings, uint32_t insn)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < EXECUTED; i++) {
        uint64_t now = timings[i].fetched + timings[i].issued;
        if (timings[i].insn != insn)
            continue;
        for (size_t j = i > REORDER ? i - REORDER : 0; j <= i + REORDER && j < EXECUTED; j++)
            sum += j != i && is_load(timings[j].insn) &&
                   timings[j].fetched + timings[j].issued <= now && now < done(&timings[j]);
    }
    return (double)sum;
}

/* --- Both ------------------------------------------------------------------------------------- */

static int print(const struct hp_sampler *sampler, const struct hp_overlap_tally *tally,
                 const struct hp_timing *timings)
{
    const struct hp_sample_config *config = hp_sampler_config(sampler);
    double distance = hp_sample_distance(config->interval, config->window);
    printf("%-22s  %27s  %27s  %s\n", "", "executed", "loads under way", "counted");
    for (uint32_t i = 0; i < BOTH_LOOPS; i++) {
        struct hp_overlap_sum sum;
        if (hp_overlap_tally_get(tally, i, &sum) != HP_OK)
            return 1;
        struct hp_estimate runs = hp_estimate_count(sum.pairs, distance, 1);
        printf("%-22s  %7.0f (%7.0f - %7.0f)", program[i].text, runs.value, runs.low, runs.high);
        if (is_load(i)) {
            struct hp_estimate loads = hp_estimate_total(
                sum.sum, sum.squares, (double)config->window * (double)config->interval, 1);
            printf("  %7.3f (%7.3f - %7.3f)  %7.3f", loads.value / TURNS, loads.low / TURNS,
                   loads.high / TURNS, count_under_way(timings, i) / TURNS);
        }
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct hp_sample_machine machine = {
        .width = WIDTH, .in_flight = REORDER, .window = REORDER};
    const struct hp_thread thread = {.id = 0};
    struct hp_sample_config config;
    struct hp_overlap_tally *tally = NULL;
    struct hp_sampler *sampler = NULL;
    struct hp_timing *timings = calloc(EXECUTED, sizeof *timings);
    if (!timings)
        return 1;
    int status = 1;
    if (hp_sample_config_parse(argc > 1 ? argv[1] : "profileme,pairs,interval=200", &config) !=
            HP_OK ||
        hp_overlap_tally_new(is_under_way, NULL, &tally) != HP_OK ||
        hp_sampler_new_on(&config, &machine, &thread, hp_overlap_tally_pairs, tally, &sampler) !=
            HP_OK) {
        fprintf(stderr, "profileme_overlap: %s\n", hp_error_text());
    } else {
        for (size_t i = 0; i < EXECUTED; i++)
            run(timings, i);
        hp_sampler_timings(sampler, timings, EXECUTED);
        hp_sampler_end(sampler);
        const struct hp_sampler_stats *stats = hp_sampler_stats(sampler);
        printf("%zu instructions in %llu cycles; %llu samples, %llu lost, would cost %llu cycles\n",
               EXECUTED, (unsigned long long)left(&timings[EXECUTED - 1]),
               (unsigned long long)stats->samples, (unsigned long long)stats->lost,
               (unsigned long long)stats->cost);
        status = print(sampler, tally, timings);
    }
    hp_sampler_free(sampler);
    hp_overlap_tally_free(tally);
    free(timings);
    return status;
}
