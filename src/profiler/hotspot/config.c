// SPDX-License-Identifier: MIT
/* The parameters of a hot spot detector as text, and its size. */
#include "hotpath/hotspot.h"

#include "base/settings.h"
#include "profiler/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT 1000 /* the parts that percentages are counted in */

/* --- What there is ---------------------------------------------------------------------------- */

/* The slides' "example configuration", with which they measured. */
static const struct hp_hotspot_config merten = {.entries = 2048,
                                                .ways = 2,
                                                .counter_bits = 9,
                                                .candidate = 16,
                                                .refresh = 4096,
                                                .reset = 65535,
                                                .detect_bits = 13,
                                                .down = 1,
                                                .up = 2,
                                                .monitor_bits = 12,
                                                .monitor_down = 1,
                                                .monitor_up = 1,
                                                .monitor_ways = 2,
                                                .range_gap = 64,
                                                .address_bits = 32,
                                                .shift = HP_HOTSPOT_SHIFT_ARCH,
                                                .monitor = true,
                                                .density = 50,
                                                .patience = 200,
                                                .gain = 16,
                                                .map_bits = 12,
                                                .map_share = 4};

/* docs/better.md, "Hot spots". */
static const struct hp_hotspot_config dense = {.entries = 512,
                                               .ways = 16,
                                               .counter_bits = 16,
                                               .candidate = 16,
                                               .refresh = 4096,
                                               .reset = 65536,
                                               .detect_bits = 13,
                                               .down = 1,
                                               .up = 2,
                                               .monitor_bits = 12,
                                               .monitor_down = 1,
                                               .monitor_up = 31,
                                               .monitor_ways = 2,
                                               .range_gap = 64,
                                               .address_bits = 32,
                                               .shift = HP_HOTSPOT_SHIFT_ARCH,
                                               .monitor = true,
                                               .tight = true,
                                               .rule = HP_RULE_DENSITY,
                                               .density = 50,
                                               .patience = 200,
                                               .gain = 16,
                                               .map_bits = 12,
                                               .map_share = 4};

static const struct hp_preset presets[] = {
    {"merten", &merten, "the detector of the paper, as it was measured there", NULL},
    {"dense", &dense, "a smaller buffer that looks for dense branches", NULL},
};
#define N_PRESETS (sizeof presets / sizeof *presets)

static const char *const indexes[] = {"address", "direction", "target", NULL};
static const char *const kinds[] = {"all", "conditional-indirect", NULL};
static const char *const off_on[] = {"off", "on", NULL};
static const char *const shares[] = {"run", "thread", NULL};
static const char *const regions[] = {"whole", "tight", NULL};
static const char *const rules[] = {"counter", "density", NULL};

static enum hp_err read_threshold(const struct hp_setting *setting, const char *text, void *config);

#define AT(member) HP_MEMBER(struct hp_hotspot_config, member)
#define THRESHOLD  .form = "a share such as 66.7%", .read = read_threshold, .is_shorthand = true
static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_NUMBER, AT(entries), 1, 1u << 20,
     "entries of the branch behavior buffer"},
    {"ways", HP_SETTING_NUMBER, AT(ways), 1, 64, "entries of a set of the buffer"},
    {"counter", HP_SETTING_NUMBER, AT(counter_bits), 1, 31,
     "bits of an execution or taken counter"},
    {"candidate", HP_SETTING_NUMBER, AT(candidate), 1, INT32_MAX,
     "executions that make a branch a candidate"},
    {"refresh", HP_SETTING_NUMBER, AT(refresh), 0, UINT32_MAX,
     "branches between two refreshes; 0: none"},
    {"reset", HP_SETTING_NUMBER, AT(reset), 0, UINT32_MAX, "branches between two resets; 0: none"},
    {"detect", HP_SETTING_NUMBER, AT(detect_bits), 1, 30, "bits of the detection counter"},
    {"down", HP_SETTING_NUMBER, AT(down), 1, 65535,
     "what a candidate takes from the detection counter"},
    {"up", HP_SETTING_NUMBER, AT(up), 1, 65535, "what another branch adds to it"},
    {"monitor-counter", HP_SETTING_NUMBER, AT(monitor_bits), 1, 30, "bits of the monitor counter"},
    {"monitor-down", HP_SETTING_NUMBER, AT(monitor_down), 1, 255,
     "what a monitored branch takes from it"},
    {"monitor-up", HP_SETTING_NUMBER, AT(monitor_up), 1, 255, "what another branch adds to it"},
    {"monitor-entries", HP_SETTING_NUMBER, AT(monitor_entries), 0, 1u << 20,
     "entries of the monitor table; 0: as many as needed"},
    {"monitor-ways", HP_SETTING_NUMBER, AT(monitor_ways), 1, 64,
     "entries of a set of the monitor table"},
    {"ranges", HP_SETTING_NUMBER, AT(ranges), 0, 65536,
     "address ranges in front of the monitor table"},
    {"gap", HP_SETTING_NUMBER, AT(range_gap), 0, 1u << 20,
     "most bytes between neighbours in a range"},
    {"address", HP_SETTING_NUMBER, AT(address_bits), 16, 64,
     "bits of a code address, for the size"},
    {"density", HP_SETTING_NUMBER, AT(density), 1, 100000,
     "density of a candidate, in tenths of the mean of all code that was executed"},
    {"patience", HP_SETTING_NUMBER, AT(patience), 0, 1000000,
     "millions of instructions that a hot spot has to stay dense"},
    {"gain", HP_SETTING_NUMBER, AT(gain), 0, 1024,
     "least share of all candidates together, in 1/1024"},
    {"map", HP_SETTING_NUMBER, AT(map_bits), 4, 24, "log2 of the bits of the map of addresses"},
    {"map-share", HP_SETTING_NUMBER, AT(map_share), 0, 16,
     "log2 of how many addresses one is marked in the map"},
    {"index", HP_SETTING_CHOICE, AT(index), 0, 0, "what an entry stands for", indexes},
    {"only", HP_SETTING_CHOICE, AT(conditional_indirect), 0, 0, "branches that are profiled",
     kinds},
    {"monitor", HP_SETTING_CHOICE, AT(monitor), 0, 0,
     "whether hot spots that were found are watched for", off_on},
    {"share", HP_SETTING_CHOICE, AT(per_thread), 0, 0, "whose detector it is", shares},
    {"region", HP_SETTING_CHOICE, AT(tight), 0, 0, "how much code belongs to a hot spot", regions},
    {"rule", HP_SETTING_CHOICE, AT(rule), 0, 0,
     "what makes a hot spot: the counter is down, or branches are dense", rules},
    {"shift", HP_SETTING_NUMBER, AT(shift), 0, 8,
     "address bits that do not choose a set; auto: by architecture", .word = "auto",
     .word_value = HP_HOTSPOT_SHIFT_ARCH},
    {"threshold", HP_SETTING_NUMBER, AT(down), 0, 0,
     "share of candidates that makes a hot spot; sets down and up", NULL, THRESHOLD},
    {"monitor-threshold", HP_SETTING_NUMBER, AT(monitor_down), 0, 0,
     "the same for monitor-down and monitor-up", NULL, THRESHOLD},
};
#undef AT
#undef THRESHOLD

static const struct hp_model model = {
    .name = "the detector",
    .help = "branch behavior buffer, detection counter and monitor table",
    .presets = presets,
    .n_presets = N_PRESETS,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
const struct hp_model_family hp_hotspot_family = {
    .name = "hot spot detectors",
    .label = "hot spots",
    .option = "--hotspots",
    .help = "find the phases of a run by their branches (docs/hotspots.md)",
    .size = sizeof(struct hp_hotspot_config),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
    .initial = &merten,
};

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_table(const char *what, uint32_t entries, uint32_t ways)
{
    uint32_t sets = entries / ways;
    if (entries % ways)
        return hp_fail(HP_ERR_INVALID,
                       "hot spots: %u %s cannot be divided into sets of %u: there are ways left",
                       entries, what, ways);
    if (sets & (sets - 1))
        return hp_fail(
            HP_ERR_INVALID,
            "hot spots: %u %s in sets of %u are %u sets: only a power of two is possible", entries,
            what, ways, sets);
    return HP_OK;
}

enum hp_err hp_hotspot_config_check(const struct hp_hotspot_config *config)
{
    for (unsigned i = 0; i < model.n_keys; i++)
        HP_TRY(hp_setting_check(&keys[i], "hot spots", config));
    HP_TRY(check_table("entries", config->entries, config->ways));
    HP_TRY(check_table("entries of the monitor table", config->monitor_entries,
                       config->monitor_entries ? config->monitor_ways : 1));
    uint32_t most = (1u << config->counter_bits) - 1;
    if (config->rule == HP_RULE_COUNTER && config->candidate > most)
        return hp_fail(HP_ERR_INVALID,
                       "hot spots: candidate is %u, and a counter of %u bits goes up to %u",
                       config->candidate, config->counter_bits, most);
    if (config->rule == HP_RULE_DENSITY && !config->monitor)
        return hp_fail(
            HP_ERR_INVALID,
            "hot spots: rule=density needs a monitor table, which monitor=off takes away");
    if (config->ranges && !config->monitor)
        return hp_fail(HP_ERR_INVALID, "hot spots: ranges of no monitor table");
    return HP_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Whether up / (up + down) of the first is nearer to `wanted` than that of the second. */
static bool is_nearer(int64_t wanted, int64_t up, int64_t down, int64_t other_up,
                      int64_t other_down)
{
    int64_t whole = 100 * PERCENT;
    int64_t error = llabs(up * whole - wanted * (up + down));
    int64_t other = llabs(other_up * whole - wanted * (other_up + other_down));
    return error * (other_up + other_down) < other * (up + down);
}

/* "66.7%": the nearest pair of steps; of equals the one with the smallest sum, then the smaller
 * `up`. */
static enum hp_err read_threshold(const struct hp_setting *setting, const char *text, void *config)
{
    char *end;
    double share = strtod(text, &end);
    if (*text < '0' || *text > '9' || strcmp(end, "%") != 0 || !(share > 0 && share < 100))
        return hp_fail(HP_ERR_INVALID, "'%.40s' is not a share between 0%% and 100%%", text);
    uint32_t *down = (uint32_t *)(void *)((char *)config + setting->offset), *up = down + 1;
    int64_t wanted = (int64_t)(share * PERCENT + 0.5);
    *down = *up = 1;
    for (uint32_t sum = 3; sum <= 32; sum++)
        for (uint32_t u = sum > 17 ? sum - 16 : 1; u <= 16 && u < sum; u++)
            if (is_nearer(wanted, u, sum - u, *up, *down)) {
                *up = u;
                *down = sum - u;
            }
    return HP_OK;
}

enum hp_err hp_hotspot_config_parse(const char *text, struct hp_hotspot_config *config)
{
    struct hp_hotspot_config new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_hotspot_family, text, &new, &said));
    HP_TRY(hp_hotspot_config_check(&new));
    *config = new;
    return HP_OK;
}

void hp_hotspot_config_format(const struct hp_hotspot_config *config, char *text, size_t size)
{
    const struct hp_preset *nearest = &presets[0];
    for (size_t i = 1; i < N_PRESETS; i++)
        if (hp_settings_differences(&model, config, presets[i].config) <
            hp_settings_differences(&model, config, nearest->config))
            nearest = &presets[i];
    snprintf(text, size, "%s", nearest->name);
    hp_settings_write(&model, config, nearest->config, text, size);
}

/* --- The size --------------------------------------------------------------------------------- */

/* The bits of a number below `n`. */
static uint64_t bits_below(uint64_t n)
{
    uint64_t bits = 0;
    while (n > (uint64_t)1 << bits)
        bits++;
    return bits;
}

/* The map and its number of set bits; the random number; the branches until the next sample, and
 * the period; samples and their instructions; the threshold, which software computes. */
static uint64_t density_bits(const struct hp_hotspot_config *config)
{
    return ((uint64_t)1 << config->map_bits) + config->map_bits + 64 + 25 + 5 + 32 + 32 +
           config->counter_bits;
}

/* Docs: "Size". */
uint64_t hp_hotspot_config_bits(const struct hp_hotspot_config *config, uint64_t monitored,
                                uint64_t *monitor)
{
    uint64_t shift = config->shift == HP_HOTSPOT_SHIFT_ARCH ? 0 : config->shift;
    uint64_t address = config->address_bits - shift;
    uint64_t tag = address;
    if (config->index == HP_INDEX_DIRECTION)
        tag++;
    if (config->index == HP_INDEX_TARGET)
        tag += address;
    uint64_t set = bits_below(config->entries / config->ways);
    tag = tag > set ? tag - set : 0;
    uint64_t counters = config->counter_bits * (config->index == HP_INDEX_ADDRESS ? 2u : 1u);
    uint64_t bits = bits_below(config->refresh) + bits_below(config->reset);
    if (config->rule == HP_RULE_DENSITY)
        bits += config->entries * (tag + counters) + density_bits(config);
    else
        bits += config->entries * (tag + counters + 1) + config->detect_bits;
    if (config->monitor)
        bits += config->monitor_bits;
    if (monitor && !config->monitor) {
        *monitor = 0;
    } else if (monitor) {
        uint64_t entries = config->monitor_entries ? config->monitor_entries : monitored;
        uint64_t sets = config->monitor_entries ? entries / config->monitor_ways : 1;
        uint64_t bits_of_set = bits_below(sets);
        *monitor = entries * ((address > bits_of_set ? address - bits_of_set : 0) + 1) +
                   config->ranges * (2 * address + 1);
    }
    return bits;
}
