// SPDX-License-Identifier: MIT
/*
 * What the structures of the papers, and ours, would take as hardware: bits, gates, and the longest
 * stage. An estimate from their parts (circuit.h); no program is run.
 */
#include "hotpath/hotspot.h"
#include "hotpath/path.h"
#include "hotpath/sample.h"
#include "lab/experiments.h"
#include "lab/hardware/circuit.h"
#include "profiler/loop/model.h"
#include "profiler/loop/ranges.h"

#define ARM9_GATES (59036 / 0.11) /* by the third paper's two figures */
#define LEVEL_NS   0.0449         /* at 0.18 um: DAProf with 8 ways is then as fast as theirs */
#define FEW_BITS   4096           /* a table of more is a memory */
#define ADDRESS    48             /* bits, of x86-64 */
#define QUEUE      4              /* branches that wait for the path profiler */
#define MONITOR    "merten,monitor-entries=1024,monitor-ways=4"
#define LATENCY    14 /* bits of a latency register */
#define IN_FLIGHT  128
#define EVENTS     16
#define THREAD     16
#define DELAYS     6 /* latencies of ProfileMe, table 1 */

struct unit {
    const char *name;
    const char *text; /* for the parser of its kind */
    enum hp_err (*make)(const char *text, struct hp_circuit *circuit);
};

/* Tables of `entries` are a memory if they are large; the rest are registers. */
static void store(struct hp_circuit *c, uint64_t bits, uint64_t table)
{
    c->memory = table >= FEW_BITS ? table : 0;
    c->registers = bits - c->memory;
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* Figure 2: look-up, bounds of all entries, averages of all that are left, the entry to replace. */
static void make_daprof(const struct hp_loop_config *config, struct hp_circuit *c)
{
    uint32_t tag = config->address_bits - hp_circuit_width(config->insn_bytes);
    uint32_t average = config->iteration_bits + config->fraction_bits;
    uint32_t total = average + config->execution_bits;
    uint32_t fresh = hp_circuit_width(config->freshness + 1);
    uint64_t entries = config->entries, ways = config->ways, sets = entries / ways;
    uint32_t offset = hp_circuit_width(config->max_offset / config->insn_bytes);
    c->registers = hp_loop_config_bits(config);
    hp_circuit_equal(c, ways, tag);
    hp_circuit_choose(c, ways, tag + offset + total + config->iteration_bits + 1 + fresh, sets);
    hp_circuit_add(c, entries, tag); /* where the loop begins */
    hp_circuit_compare(c, 2 * entries, tag);
    hp_circuit_add(c, 2 * entries, average);
    hp_circuit_count(c, 1, config->iteration_bits + config->execution_bits);
    hp_circuit_choose(c, entries, config->execution_bits, 2); /* half of it */
    hp_circuit_count(c, ways, fresh);
    hp_circuit_multiply(c, ways, average, config->execution_bits);
    hp_circuit_least(c, total, ways);
    hp_circuit_stage(c, hp_levels_choose(sets) + hp_levels_equal(tag) + hp_levels_choose(ways));
    hp_circuit_stage(c, hp_levels_add(tag) + hp_levels_compare(tag) + 2 * hp_levels_add(average));
    hp_circuit_stage(c, hp_levels_multiply(average, config->execution_bits) +
                            hp_levels_least(total, ways));
}

static void make_frequent(const struct hp_loop_config *config, struct hp_circuit *c)
{
    uint32_t tag = config->address_bits - hp_circuit_width(config->insn_bytes);
    c->registers = hp_loop_config_bits(config);
    hp_circuit_equal(c, config->ways, tag);
    hp_circuit_count(c, 1, config->execution_bits);
    hp_circuit_choose(c, config->entries, config->execution_bits, 2);
    hp_circuit_least(c, config->execution_bits, config->ways);
    hp_circuit_stage(c, hp_levels_equal(tag) + hp_levels_choose(config->ways) +
                            hp_levels_add(config->execution_bits));
    hp_circuit_stage(c, hp_levels_least(config->execution_bits, config->ways));
}

/* Adds to a floating number: shifts, adds, rounds at random. */
static void add_float(struct hp_circuit *c, uint32_t mantissa)
{
    hp_circuit_choose(c, 2, mantissa, UINT64_C(1) << HP_RANGES_EXPONENT);
    hp_circuit_add(c, 1, mantissa);
    hp_circuit_compare(c, 1, mantissa);
    hp_circuit_count(c, 1, HP_RANGES_EXPONENT);
}

static void make_ranges(const struct hp_loop_config *config, struct hp_circuit *c)
{
    uint32_t address = config->address_bits - hp_circuit_width(config->insn_bytes);
    uint32_t offset = hp_circuit_width(config->max_offset / config->insn_bytes);
    uint32_t widest = config->instruction_bits;
    c->registers = hp_loop_config_bits(config);
    hp_circuit_equal(c, config->entries, address); /* heads */
    hp_circuit_add(c, UINT64_C(2) * config->entries, address);
    hp_circuit_compare(c, UINT64_C(2) * config->entries, address);
    hp_circuit_least(c, offset + 1, config->entries); /* the smallest that contains it */
    hp_circuit_count(c, config->contexts, config->depth_bits + hp_circuit_width(1024));
    hp_circuit_equal(c, config->contexts, hp_circuit_width(config->entries));
    add_float(c, config->execution_bits);
    add_float(c, config->iteration_bits);
    add_float(c, config->instruction_bits);
    hp_circuit_add(c, 1, HP_RANGES_INSNS);
    hp_circuit_least(c, config->iteration_bits + HP_RANGES_EXPONENT, config->entries);
    hp_circuit_stage(c, hp_levels_add(address) + hp_levels_compare(address) +
                            hp_levels_least(offset + 1, config->entries));
    hp_circuit_stage(c, hp_levels_choose(UINT64_C(1) << HP_RANGES_EXPONENT) +
                            hp_levels_add(widest) + hp_levels_compare(widest));
}

static enum hp_err make_loops(const char *text, struct hp_circuit *c)
{
    struct hp_loop_config config;
    HP_TRY(hp_loop_config_parse(text, &config));
    hp_loop_config_widths(&config, HP_ARCH_ARM); /* the paper's */
    switch (config.kind) {
    case HP_LOOP_DAPROF: make_daprof(&config, c); break;
    case HP_LOOP_FREQUENT: make_frequent(&config, c); break;
    case HP_LOOP_RANGES: make_ranges(&config, c); break;
    }
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* The path stack with its control register, behind a queue of branches. */
static enum hp_err make_stack(const char *text, struct hp_circuit *c)
{
    struct hp_ppcr ppcr;
    HP_TRY(hp_ppcr_parse(text, &ppcr));
    uint32_t length = hp_circuit_width(ppcr.max_length + 1), extension = 8;
    uint64_t entry = ADDRESS + ppcr.max_length + length + ppcr.counter_bits + extension;
    uint64_t stack = ppcr.stack_entries * entry;
    uint64_t control = HP_CLASSES * UINT64_C(5) + extension + 2;
    uint64_t branch = UINT64_C(2) * ADDRESS + 3 + 1 + ppcr.counter_bits;
    c->registers = stack + control + QUEUE * branch + hp_circuit_width(ppcr.stack_entries);
    hp_circuit_choose(c, 1, (uint32_t)entry, ppcr.stack_entries);
    hp_circuit_compare(c, 1, ADDRESS); /* forward or backward */
    hp_circuit_add(c, 1, ppcr.counter_bits);
    hp_circuit_count(c, 1, length + extension);
    hp_circuit_choose(c, 1, ppcr.max_length, 2);
    hp_circuit_choose(c, 1, HP_CLASSES * 5, 2);
    hp_circuit_stage(c, hp_levels_compare(ADDRESS) + hp_levels_choose(HP_CLASSES));
    hp_circuit_stage(c, hp_levels_choose(ppcr.stack_entries) + hp_levels_add(ppcr.counter_bits) +
                            hp_levels_choose(2));
    return HP_OK;
}

static enum hp_err make_table(const char *text, struct hp_circuit *c)
{
    struct hp_hpt_config config;
    HP_TRY(hp_hpt_parse(text, &config));
    uint64_t bits = 8 * hp_hpt_bytes(&config), sets = config.entries / config.ways;
    uint32_t rest = (uint32_t)(bits / config.entries) - config.accumulator_bits;
    bool random = config.policy == HP_HPT_RANDOM_ADMISSION;
    store(c, bits, bits - (random ? 64 : 0));
    hp_circuit_xor(c, UINT64_C(2) * hp_circuit_width(sets), rest / (hp_circuit_width(sets) + 1));
    hp_circuit_equal(c, config.ways, rest);
    hp_circuit_choose(c, 1, config.accumulator_bits, config.ways);
    hp_circuit_add(c, 1, config.accumulator_bits);
    hp_circuit_least(c, config.accumulator_bits, config.ways);
    if (random)
        hp_circuit_compare(c, 2, config.accumulator_bits);
    if (config.exponent_bits)
        hp_circuit_choose(c, 2, config.accumulator_bits, UINT64_C(1) << config.exponent_bits);
    hp_circuit_stage(c, hp_levels_memory(sets) + hp_levels_equal(rest));
    hp_circuit_stage(c, hp_levels_choose(config.ways) + hp_levels_add(config.accumulator_bits));
    hp_circuit_stage(c, hp_levels_least(config.accumulator_bits, config.ways));
    return HP_OK;
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static void make_candidates(const struct hp_hotspot_config *config, struct hp_circuit *c)
{
    uint64_t sets = config->entries / config->ways;
    uint32_t tag = config->address_bits - hp_circuit_width(sets);
    hp_circuit_equal(c, config->ways, tag);
    hp_circuit_choose(c, 1, 2 * config->counter_bits + 1, config->ways);
    hp_circuit_count(c, 2, config->counter_bits);
    hp_circuit_compare(c, 1, config->counter_bits);
    hp_circuit_least(c, config->counter_bits, config->ways);
    hp_circuit_count(c, 1, hp_circuit_width(config->refresh) + hp_circuit_width(config->reset));
    hp_circuit_add(c, 1, config->monitor_bits);
    hp_circuit_stage(c, hp_levels_memory(sets) + hp_levels_equal(tag));
    hp_circuit_stage(c, hp_levels_choose(config->ways) + hp_levels_add(config->counter_bits) +
                            hp_levels_compare(config->counter_bits));
    hp_circuit_stage(c, hp_levels_least(config->counter_bits, config->ways));
}

static enum hp_err make_hotspots(const char *text, struct hp_circuit *c)
{
    struct hp_hotspot_config config;
    HP_TRY(hp_hotspot_config_parse(text, &config));
    uint64_t bits = hp_hotspot_config_bits(&config, 0, NULL);
    store(c, bits, bits - bits % config.entries); /* beside the entries there are few bits */
    make_candidates(&config, c);
    if (config.rule == HP_RULE_COUNTER) {
        hp_circuit_add(c, 1, config.detect_bits);
        return HP_OK;
    }
    hp_circuit_xor(c, 1, config.address_bits); /* the place in the map */
    hp_circuit_compare(c, 1, config.counter_bits);
    hp_circuit_count(c, 1, 2 * 32 + config.map_bits);
    return HP_OK;
}

static enum hp_err make_monitor(const char *text, struct hp_circuit *c)
{
    struct hp_hotspot_config config;
    uint64_t bits;
    HP_TRY(hp_hotspot_config_parse(text, &config));
    hp_hotspot_config_bits(&config, config.monitor_entries, &bits);
    uint64_t sets = config.monitor_entries / config.monitor_ways;
    uint32_t tag = config.address_bits - hp_circuit_width(sets);
    store(c, bits, bits);
    hp_circuit_equal(c, config.monitor_ways, tag);
    hp_circuit_stage(c, hp_levels_memory(sets) + hp_levels_equal(tag));
    return HP_OK;
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* The profile registers of one tagged instruction, or two; the selection counters; a tag for each
 * instruction in flight. */
static enum hp_err make_profileme(const char *text, struct hp_circuit *c)
{
    struct hp_sample_config config;
    HP_TRY(hp_sample_config_parse(text, &config));
    bool pairs = config.window != 0;
    uint64_t tagged = pairs ? 2 : 1;
    uint64_t sample = UINT64_C(2) * ADDRESS + EVENTS + THREAD + DELAYS * LATENCY + config.history;
    uint32_t counters = hp_circuit_width(config.interval * 3 / 2);
    if (pairs)
        counters += hp_circuit_width(config.window == UINT64_MAX ? 1024 : config.window + 1);
    c->registers = tagged * sample * config.buffer + (pairs ? LATENCY : 0) + counters + LATENCY +
                   tagged * IN_FLIGHT;
    hp_circuit_count(c, 1, counters + LATENCY);
    hp_circuit_add(c, tagged * DELAYS, LATENCY);  /* from one stage to the next */
    hp_circuit_choose(c, tagged, 2 * ADDRESS, 4); /* of the instructions of a cycle */
    hp_circuit_stage(c, hp_levels_add(counters) + hp_levels_choose(4));
    hp_circuit_stage(c, hp_levels_add(LATENCY));
    return HP_OK;
}

/* --- The experiment --------------------------------------------------------------------------- */

static const struct unit units[] = {
    {"path stack, queue of 4", "bl", make_stack},
    {"hot path table 512x4", "vaswani", make_table},
    {"random-admission 608x19", "random-admission", make_table},
    {"branch behavior buffer (merten)", "merten", make_hotspots},
    {"dense", "dense", make_hotspots},
    {"monitor table, 1024 branches", MONITOR, make_monitor},
    {"daprof, 8 ways", "daprof", make_loops},
    {"daprof, 16 ways", "daprof-16way", make_loops},
    {"daprof, fully associative", "daprof-full", make_loops},
    {"frequent", "frequent", make_loops},
    {"ranges", "ranges", make_loops},
    {"profileme", "profileme", make_profileme},
    {"profileme, pairs", "profileme,pairs", make_profileme},
};
#define N_UNITS (sizeof units / sizeof *units)

static const struct published {
    const char *name;
    double gates, mhz;
} published[] = {
    {"paper: daprof, 8 ways", 59036, 495},
    {"paper: daprof, 16 ways", 74744, 438},
    {"paper: daprof, fully associative", 107477, 415},
};
#define N_PUBLISHED (sizeof published / sizeof *published)

static enum hp_err add_unit(struct hp_lab_results *results, const struct unit *unit)
{
    struct hp_circuit circuit = {0};
    struct hp_lab_results_row *row;
    HP_TRY(unit->make(unit->text, &circuit));
    HP_TRY(hp_lab_results_row(results, unit->name, &row));
    double gates = hp_circuit_gates(&circuit);
    row->values[0] = (double)(circuit.memory + circuit.registers);
    row->values[1] = (double)circuit.memory;
    row->values[2] = (double)circuit.registers;
    row->values[3] = circuit.logic;
    row->values[4] = gates;
    row->values[5] = 100 * gates / ARM9_GATES;
    row->values[6] = circuit.levels;
    row->values[7] = 1000 / (circuit.levels * LEVEL_NS);
    return HP_OK;
}

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *results =
        hp_lab_add_results(lab, "units", "Bits, gates, and the longest stage", "unit");
    if (!results)
        return HP_ERR_NOMEM;
    hp_lab_results_column(results, "bits", NULL, 0);
    hp_lab_results_column(results, "memory", "in memory", 0);
    hp_lab_results_column(results, "registers", "in registers", 0);
    hp_lab_results_column(results, "logic", "logic, gates", 0);
    hp_lab_results_column(results, "gates", "all, gates", 0);
    hp_lab_results_column(results, "arm9", "% of ARM9", 1);
    hp_lab_results_column(results, "levels", NULL, 0);
    hp_lab_results_column(results, "mhz", "MHz, 0.18 um", 0);
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        hp_lab_results_paper(results, published[i].name, "gates", published[i].gates);
        hp_lab_results_paper(results, published[i].name, "arm9",
                             100 * published[i].gates / ARM9_GATES);
        hp_lab_results_paper(results, published[i].name, "mhz", published[i].mhz);
    }
    for (size_t i = 0; i < N_UNITS; i++)
        HP_TRY(add_unit(results, &units[i]));
    return HP_OK;
}

const struct hp_experiment hp_hardware_size = {
    .name = "hardware-size",
    .summary = "what the structures would take as hardware: bits, gates, longest stage",
    .paper =
        "  Nair, Lysecky: Non-Intrusive Dynamic Application Profiler. CASES 2008, section 4.1: "
        "DAProf\n"
        "  in Verilog, 0.18 um. With 8 ways 59,036 gates, 0.96 mm2, 11 % of an ARM9, 495 MHz; with "
        "16\n"
        "  74,744 and 438; fully associative 107,477 and 415. The other papers give no sizes.\n",
    .begin = begin,
};
