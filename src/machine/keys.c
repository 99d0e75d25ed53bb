// SPDX-License-Identifier: MIT
#include "machine/keys.h"

#include "machine/history.h"
#include "machine/predictor.h"

#include <string.h>

/* --- The tables ------------------------------------------------------------------------------- */

static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const replacements[] = {"lru", "plru", "random", NULL};
static const char *const write_policies[] = {"back", "through", NULL};
static const char *const indirects[] = {"btb", "ittage", NULL};

#define MANY      HP_TABLE_MAX
#define BYTES_MAX ((uint64_t)1 << 32)
#define NONE      HP_SETTING_REQUIRED

#define AT_CORE(field) HP_MEMBER(struct hp_core_config, field)
static const struct hp_setting core_keys[] = {
    {"width", HP_SETTING_SIZE, AT_CORE(width), 1, 64,
     "instructions fetched, and mapped, in a cycle", .initial = NONE},
    {"issue", HP_SETTING_SIZE, AT_CORE(issue), 1, 64, "instructions issued in a cycle",
     .initial = NONE},
    {"retire", HP_SETTING_SIZE, AT_CORE(retire), 1, 64, "instructions retired in a cycle",
     .initial = NONE},
    {"in_order", HP_SETTING_CHOICE, AT_CORE(in_order), 0, 0,
     "whether instructions are issued in the order of the program", no_yes, .initial = 0},
    {"fetch_queue", HP_SETTING_SIZE, AT_CORE(fetch_queue), 1, 4096,
     "instructions between fetch and map", .initial = 16},
    {"reorder", HP_SETTING_SIZE, AT_CORE(reorder), 1, 65536, "instructions in flight",
     .initial = NONE},
    {"memory_queue", HP_SETTING_SIZE, AT_CORE(memory_queue), 1, 65536, "loads and stores in flight",
     .initial = NONE},
    {"int_queue", HP_SETTING_SIZE, AT_CORE(int_queue), 1, 65536, "slots of the integer issue queue",
     .initial = 64},
    {"fp_queue", HP_SETTING_SIZE, AT_CORE(fp_queue), 0, 65536,
     "slots of the floating point issue queue; 0: one queue for all", .initial = 0},
    {"int_registers", HP_SETTING_SIZE, AT_CORE(int_registers), 33, 65536,
     "physical integer registers", .initial = 256},
    {"fp_registers", HP_SETTING_SIZE, AT_CORE(fp_registers), 33, 65536,
     "physical floating point registers", .initial = 256},
    {"front_stages", HP_SETTING_SIZE, AT_CORE(front_stages), 2, 64,
     "cycles from fetch to issue, at least", .initial = 3},
    {"mispredict", HP_SETTING_SIZE, AT_CORE(mispredict), 0, 1000,
     "cycles that fetch waits when a misprediction is known", .initial = 3},
    {"misses", HP_SETTING_SIZE, AT_CORE(misses), 1, 1024, "lines on their way to the L1D at once",
     .initial = 64},
};

#define AT_UNIT(field) HP_MEMBER(struct hp_unit_config, field)
static const struct hp_setting unit_keys[] = {
    {"alu", HP_SETTING_SIZE, AT_UNIT(alu), 1, 64, "integer units", .initial = NONE},
    {"mul", HP_SETTING_SIZE, AT_UNIT(mul), 1, 64, "units that multiply and divide integers",
     .initial = NONE},
    {"fp", HP_SETTING_SIZE, AT_UNIT(fp), 1, 64, "floating point units", .initial = NONE},
    {"fp_mul", HP_SETTING_SIZE, AT_UNIT(fp_mul), 1, 64,
     "units that multiply and divide floating point numbers", .initial = NONE},
    {"vector", HP_SETTING_SIZE, AT_UNIT(vector), 1, 64, "vector units", .initial = 1},
    {"load", HP_SETTING_SIZE, AT_UNIT(load), 1, 64, "loads in a cycle", .initial = NONE},
    {"store", HP_SETTING_SIZE, AT_UNIT(store), 1, 64, "stores in a cycle", .initial = NONE},
    {"branch", HP_SETTING_SIZE, AT_UNIT(branch), 1, 64, "branches in a cycle", .initial = 1},
};

#define AT_LATENCY(field) HP_MEMBER(struct hp_latency_config, field)
static const struct hp_setting latency_keys[] = {
    {"alu", HP_SETTING_SIZE, AT_LATENCY(alu), 1, 1000, "cycles of an integer operation",
     .initial = 1},
    {"mul", HP_SETTING_SIZE, AT_LATENCY(mul), 1, 1000, "cycles of an integer multiplication",
     .initial = 3},
    {"div", HP_SETTING_SIZE, AT_LATENCY(div), 1, 1000, "cycles of an integer division",
     .initial = 20},
    {"fp", HP_SETTING_SIZE, AT_LATENCY(fp), 1, 1000, "cycles of a floating point operation",
     .initial = 2},
    {"fp_mul", HP_SETTING_SIZE, AT_LATENCY(fp_mul), 1, 1000,
     "cycles of a floating point multiplication", .initial = 4},
    {"fp_div", HP_SETTING_SIZE, AT_LATENCY(fp_div), 1, 1000, "cycles of a floating point division",
     .initial = 12},
    {"vector", HP_SETTING_SIZE, AT_LATENCY(vector), 1, 1000, "cycles of a vector operation",
     .initial = 1},
    {"branch", HP_SETTING_SIZE, AT_LATENCY(branch), 1, 1000, "cycles of a branch", .initial = 1},
};

/* The last two are not for an instruction cache. */
#define AT_CACHE(field) HP_MEMBER(struct hp_cache_config, field)
#define N_WRITE_KEYS    2
static const struct hp_setting cache_keys[] = {
    {"size", HP_SETTING_SIZE, AT_CACHE(size), 64, BYTES_MAX, "bytes", .initial = NONE},
    {"line", HP_SETTING_POWER, AT_CACHE(line), 16, 4096, "bytes of a line", .initial = NONE},
    {"ways", HP_SETTING_SIZE, AT_CACHE(ways), 1, MANY, "lines of a set", .initial = NONE,
     .word = "full"},
    {"replacement", HP_SETTING_CHOICE, AT_CACHE(replacement), 0, 0,
     "which line of a full set leaves", replacements, .initial = HP_LRU},
    {"ports", HP_SETTING_SIZE, AT_CACHE(ports), 1, 64, "accesses in a cycle", .initial = 1},
    {"latency", HP_SETTING_SIZE, AT_CACHE(latency), 1, 10000, "cycles of an access",
     .initial = NONE},
    {"write", HP_SETTING_CHOICE, AT_CACHE(through), 0, 0,
     "whether writes are passed on when a line leaves, or at once", write_policies, .initial = 0},
    {"allocate", HP_SETTING_CHOICE, AT_CACHE(no_allocate), 0, 0,
     "whether a write that misses brings its line in", yes_no, .initial = 0},
};

#define AT_TLB(field) HP_MEMBER(struct hp_tlb_config, field)
static const struct hp_setting tlb_keys[] = {
    {"entries", HP_SETTING_SIZE, AT_TLB(entries), 1, MANY, "pages that it knows", .initial = NONE},
    {"ways", HP_SETTING_SIZE, AT_TLB(ways), 1, MANY, "entries of a set", .initial = NONE,
     .word = "full"},
    {"page", HP_SETTING_POWER, AT_TLB(page), 4096, 1u << 30, "bytes of a page", .initial = 4096},
    {"replacement", HP_SETTING_CHOICE, AT_TLB(replacement), 0, 0,
     "which entry of a full set leaves", replacements, .initial = HP_LRU},
    {"latency", HP_SETTING_SIZE, AT_TLB(latency), 1, 10000,
     "cycles of a miss: to ask the second level, or to walk the tables", .initial = 30},
};

static const struct hp_setting memory_keys[] = {
    {"latency", HP_SETTING_SIZE, HP_MEMBER(struct hp_memory_config, latency), 1, 100000,
     "cycles of an access", .initial = NONE},
    {"power", HP_SETTING_SIZE, HP_MEMBER(struct hp_memory_config, power), 1, 4096,
     "of an access, in accesses of the L1I", .initial = 100},
};

#define AT_BRANCH(field) HP_MEMBER(struct hp_branch_config, field)
static const struct hp_setting branch_keys[] = {
    {"predictor", HP_SETTING_NUMBER, AT_BRANCH(predictor), 0, 0, "which way branches go", NULL,
     NONE, .form = "a predictor", .read = hp_predictor_read, .write = hp_predictor_write},
    {"indirect", HP_SETTING_CHOICE, AT_BRANCH(indirect), 0, 0, "where indirect jumps go", indirects,
     .initial = HP_INDIRECT_BTB},
};
static const struct hp_setting btb_keys[] = {
    {"entries", HP_SETTING_SIZE, AT_BRANCH(btb_entries), 1, MANY, "branches that it knows",
     .initial = NONE},
    {"ways", HP_SETTING_SIZE, AT_BRANCH(btb_ways), 1, MANY, "entries of a set", .initial = NONE,
     .word = "full"},
};
static const struct hp_setting ras_keys[] = {
    {"entries", HP_SETTING_SIZE, AT_BRANCH(ras_entries), 0, 4096,
     "return addresses; 0: returns are predicted as indirect jumps", .initial = 16},
};

/* --- Sections --------------------------------------------------------------------------------- */

#define N(keys) (sizeof(keys) / sizeof *(keys))
#define SECTION(name, sentence, keys)                                                              \
    static const struct hp_model name = {#name, sentence, NULL, 0, keys, N(keys)};
SECTION(core, "the pipeline", core_keys)
SECTION(units, "functional units", unit_keys)
SECTION(latency, "what operations take; may be left out", latency_keys)
static const struct hp_model l1i = {"l1i",      "the first level instruction cache", NULL, 0,
                                    cache_keys, N(cache_keys) - N_WRITE_KEYS};
SECTION(l1d, "the first level data cache", cache_keys)
SECTION(l2, "the second level cache; without it there is none", cache_keys)
SECTION(l3, "the third level cache; without it there is none", cache_keys)
SECTION(itlb, "the TLB of instructions; without it there is none", tlb_keys)
SECTION(dtlb, "the TLB of data; without it there is none", tlb_keys)
SECTION(tlb2, "the second level TLB; without it there is none", tlb_keys)
SECTION(memory, "what is behind the caches", memory_keys)
SECTION(branch, "branch prediction", branch_keys)
SECTION(ittage, "the indirect predictor ITTAGE; may be left out", hp_tage_keys)
SECTION(btb, "the branch target buffer", btb_keys)
SECTION(ras, "the return address stack; may be left out", ras_keys)
#undef SECTION

#define AT(field) offsetof(struct hp_machine, field)
const struct hp_machine_section hp_sections[] = {{&core, HP_SECTION_REQUIRED, AT(core)},
                                                 {&units, HP_SECTION_REQUIRED, AT(units)},
                                                 {&latency, HP_SECTION_DEFAULTS, AT(latency)},
                                                 {&l1i, HP_SECTION_REQUIRED, AT(l1i)},
                                                 {&l1d, HP_SECTION_REQUIRED, AT(l1d)},
                                                 {&l2, HP_SECTION_OPTIONAL, AT(l2)},
                                                 {&l3, HP_SECTION_OPTIONAL, AT(l3)},
                                                 {&itlb, HP_SECTION_OPTIONAL, AT(itlb)},
                                                 {&dtlb, HP_SECTION_OPTIONAL, AT(dtlb)},
                                                 {&tlb2, HP_SECTION_OPTIONAL, AT(tlb2)},
                                                 {&memory, HP_SECTION_REQUIRED, AT(memory)},
                                                 {&branch, HP_SECTION_REQUIRED, AT(branch)},
                                                 {&ittage, HP_SECTION_DEFAULTS, AT(branch.ittage)},
                                                 {&btb, HP_SECTION_REQUIRED, AT(branch)},
                                                 {&ras, HP_SECTION_DEFAULTS, AT(branch)},
#define EACH(name)                                                                                 \
    {&hp_predict_##name.model, HP_SECTION_DEFAULTS, AT(branch.settings[HP_PREDICT_##name])},
                                                 HP_PREDICTORS(EACH)
#undef EACH
};
const unsigned hp_n_sections = N(hp_sections);

_Static_assert(N(hp_sections) <= HP_SECTIONS_MAX, "HP_SECTIONS_MAX");
_Static_assert(N(core_keys) <= HP_KEYS_MAX && HP_PREDICTOR_SETTINGS <= HP_KEYS_MAX, "HP_KEYS_MAX");

/* The machines shipped with hotpath: machines/NAME.ini. */
static const struct hp_preset machines[] = {
    {"vaswani", NULL, "the processor of the path profiler's paper", NULL},
    {"alpha21264", NULL, "the Alpha 21264, of ProfileMe", NULL},
    {"arm9", NULL, "a small core in order, of the loops paper", NULL},
    {"modern", NULL, "a recent desktop core: TAGE, three levels of caches", NULL},
};
static const struct hp_model shipped = {.name = "machine files",
                                        .help = "a name of these, or a file that ends in .ini",
                                        .presets = machines,
                                        .n_presets = N(machines)};
static const struct hp_model *const models[] = {&shipped, &core, &units, &latency, &l1i,  &l1d,
                                                &l2,      &l3,   &itlb,  &dtlb,    &tlb2, &memory,
                                                &branch,  &btb,  &ras,   &ittage};
const struct hp_model_family hp_machine_family = {
    .name = "machines",
    .label = "machine",
    .option = "--machine",
    .help = "machine files and their sections (docs/machine.md)",
    .models = models,
    .n_models = N(models),
};

/* --- Finding ---------------------------------------------------------------------------------- */

int hp_section_find(const char *name, size_t length)
{
    for (unsigned i = 0; i < hp_n_sections; i++) {
        const struct hp_model *model = hp_sections[i].model;
        if (model->n_keys && strlen(model->name) == length &&
            memcmp(model->name, name, length) == 0)
            return (int)i;
    }
    return -1;
}

int hp_key_find(const struct hp_machine_section *section, const char *name)
{
    const struct hp_setting *key = hp_setting_find(section->model, name);
    return key ? (int)(key - section->model->keys) : -1;
}

uint64_t *hp_machine_value(struct hp_machine *machine, const char *section, const char *key)
{
    int s = hp_section_find(section, strlen(section));
    int k = s < 0 ? -1 : hp_key_find(&hp_sections[s], key);
    if (k < 0)
        return NULL;
    char *values = hp_section_of(&hp_sections[s], machine);
    return (uint64_t *)(void *)(values + hp_sections[s].model->keys[k].offset);
}
