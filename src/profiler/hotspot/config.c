// SPDX-License-Identifier: MIT
/* The parameters of a hot spot detector as text, and its size. */
#include "hotpath/hotspot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 512
#define PERCENT  1000 /* a percentage is counted in parts of that many */

/* --- What there is ---------------------------------------------------------------------------- */

static const struct preset {
    const char *name;
    struct hp_hotspot_config config;
} presets[] = {
    /* The slides' "example configuration", with which they measured. */
    {"merten",
     {.entries = 2048,
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
      .map_share = 4}},
    /* docs/better.md, "Hot spots". */
    {"dense",
     {.entries = 512,
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
      .map_share = 4}},
};
#define N_PRESETS (sizeof presets / sizeof *presets)

/* A number: its name, where it is, and what is possible. */
#define AT(member) offsetof(struct hp_hotspot_config, member)
static const struct number {
    const char *name;
    size_t at;
    uint32_t low, high;
} numbers[] = {
    {"entries", AT(entries), 1, 1u << 20},
    {"ways", AT(ways), 1, 64},
    {"counter", AT(counter_bits), 1, 31},
    {"candidate", AT(candidate), 1, INT32_MAX},
    {"refresh", AT(refresh), 0, UINT32_MAX},
    {"reset", AT(reset), 0, UINT32_MAX},
    {"detect", AT(detect_bits), 1, 30},
    {"down", AT(down), 1, 65535},
    {"up", AT(up), 1, 65535},
    {"monitor-counter", AT(monitor_bits), 1, 30},
    {"monitor-down", AT(monitor_down), 1, 255},
    {"monitor-up", AT(monitor_up), 1, 255},
    {"monitor-entries", AT(monitor_entries), 0, 1u << 20},
    {"monitor-ways", AT(monitor_ways), 1, 64},
    {"ranges", AT(ranges), 0, 65536},
    {"gap", AT(range_gap), 0, 1u << 20},
    {"address", AT(address_bits), 16, 64},
    {"density", AT(density), 1, 100000},
    {"patience", AT(patience), 0, 1000000},
    {"gain", AT(gain), 0, 1024},
    {"map", AT(map_bits), 4, 24},
    {"map-share", AT(map_share), 0, 16},
};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

/* A word out of a list, the first is 0. */
static const struct choice {
    const char *name;
    const char *words[3];
} choices[] = {
    {"index", {"address", "direction", "target"}},
    {"only", {"all", "conditional-indirect", NULL}},
    {"monitor", {"off", "on", NULL}},
    {"share", {"run", "thread", NULL}},
    {"region", {"whole", "tight", NULL}},
    {"rule", {"counter", "density", NULL}},
};
#define N_CHOICES (sizeof choices / sizeof *choices)

static uint32_t get_number(const struct hp_hotspot_config *config, const struct number *number)
{
    uint32_t value;
    memcpy(&value, (const char *)config + number->at, sizeof value);
    return value;
}

static unsigned get_choice(const struct hp_hotspot_config *config, size_t i)
{
    const unsigned values[N_CHOICES] = {(unsigned)config->index, config->conditional_indirect,
                                        config->monitor,         config->per_thread,
                                        config->tight,           (unsigned)config->rule};
    return values[i];
}

static void set_choice(struct hp_hotspot_config *config, size_t i, unsigned value)
{
    switch (i) {
    case 0: config->index = (enum hp_hotspot_index)value; break;
    case 1: config->conditional_indirect = value; break;
    case 2: config->monitor = value; break;
    case 3: config->per_thread = value; break;
    case 4: config->tight = value; break;
    default: config->rule = (enum hp_hotspot_rule)value; break;
    }
}

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_number(const struct number *number, uint64_t value)
{
    if (value < number->low || value > number->high)
        return hp_fail(HP_ERR_INVALID, "hot spots: %s is %llu: %u to %u are possible", number->name,
                       (unsigned long long)value, number->low, number->high);
    return HP_OK;
}

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
    for (size_t i = 0; i < N_NUMBERS; i++)
        HP_TRY(check_number(&numbers[i], get_number(config, &numbers[i])));
    if (config->shift != HP_HOTSPOT_SHIFT_ARCH && config->shift > 8)
        return hp_fail(HP_ERR_INVALID, "hot spots: shift is %u: 0 to 8 are possible",
                       config->shift);
    if ((unsigned)config->index > HP_INDEX_TARGET)
        return hp_fail(HP_ERR_INVALID, "hot spots: no index has the number %d", config->index);
    HP_TRY(check_table("entries", config->entries, config->ways));
    HP_TRY(check_table("entries of the monitor table", config->monitor_entries,
                       config->monitor_entries ? config->monitor_ways : 1));
    uint32_t most = (1u << config->counter_bits) - 1;
    if (config->rule == HP_RULE_COUNTER && config->candidate > most)
        return hp_fail(HP_ERR_INVALID,
                       "hot spots: candidate is %u, and a counter of %u bits goes up to %u",
                       config->candidate, config->counter_bits, most);
    if ((unsigned)config->rule > HP_RULE_DENSITY)
        return hp_fail(HP_ERR_INVALID, "hot spots: no rule has the number %d", config->rule);
    if (config->rule == HP_RULE_DENSITY && !config->monitor)
        return hp_fail(
            HP_ERR_INVALID,
            "hot spots: rule=density needs a monitor table, which monitor=off takes away");
    if (config->ranges && !config->monitor)
        return hp_fail(HP_ERR_INVALID, "hot spots: ranges of no monitor table");
    return HP_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static enum hp_err parse_digits(const char *name, const char *value, uint64_t *number)
{
    char *end;
    if (*value < '0' || *value > '9' || strlen(value) > 12)
        return hp_fail(HP_ERR_INVALID, "hot spots: %s is '%s', which is not a number", name, value);
    *number = strtoull(value, &end, 10);
    if (*end)
        return hp_fail(HP_ERR_INVALID, "hot spots: %s is '%s', which is not a number", name, value);
    return HP_OK;
}

/* Whether up / (up + down) of the first is nearer to `wanted` than that of the second. */
static bool is_nearer(int64_t wanted, int64_t up, int64_t down, int64_t other_up,
                      int64_t other_down)
{
    int64_t whole = 100 * PERCENT;
    int64_t error = llabs(up * whole - wanted * (up + down));
    int64_t other = llabs(other_up * whole - wanted * (other_up + other_down));
    return error * (other_up + other_down) < other * (up + down);
}

/* "66.7%": the pair of steps that comes nearest; of equals the one with the smallest sum, then the smaller `up`. */
static enum hp_err parse_threshold(const char *name, const char *value, uint32_t *down,
                                   uint32_t *up)
{
    char *end;
    double share = strtod(value, &end);
    if (*value < '0' || *value > '9' || strcmp(end, "%") != 0 || !(share > 0 && share < 100))
        return hp_fail(HP_ERR_INVALID,
                       "hot spots: %s is '%s': a share between 0%% and 100%% is possible", name,
                       value);
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

static enum hp_err parse_choice(size_t i, const char *value, struct hp_hotspot_config *config)
{
    const struct choice *choice = &choices[i];
    for (unsigned k = 0; k < 3 && choice->words[k]; k++)
        if (strcmp(value, choice->words[k]) == 0) {
            set_choice(config, i, k);
            return HP_OK;
        }
    return hp_fail(HP_ERR_INVALID, "hot spots: %s is '%s': there are %s, %s%s%s", choice->name,
                   value, choice->words[0], choice->words[1], choice->words[2] ? ", " : "",
                   choice->words[2] ? choice->words[2] : "");
}

static enum hp_err parse_shift(const char *value, struct hp_hotspot_config *config)
{
    uint64_t shift;
    HP_TRY(parse_digits("shift", value, &shift));
    config->shift = shift < 64 ? (uint32_t)shift : 64;
    return HP_OK;
}

static enum hp_err parse_change(const char *name, const char *value,
                                struct hp_hotspot_config *config)
{
    uint64_t number;
    for (size_t i = 0; i < N_NUMBERS; i++) {
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        HP_TRY(parse_digits(name, value, &number));
        HP_TRY(check_number(&numbers[i], number));
        memcpy((char *)config + numbers[i].at, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        return HP_OK;
    }
    for (size_t i = 0; i < N_CHOICES; i++)
        if (strcmp(name, choices[i].name) == 0)
            return parse_choice(i, value, config);
    if (strcmp(name, "threshold") == 0)
        return parse_threshold(name, value, &config->down, &config->up);
    if (strcmp(name, "monitor-threshold") == 0)
        return parse_threshold(name, value, &config->monitor_down, &config->monitor_up);
    if (strcmp(name, "shift") == 0)
        return parse_shift(value, config);
    return hp_fail(HP_ERR_INVALID, "hot spots: there is no parameter '%s'", name);
}

static const struct preset *find_preset(const char *name)
{
    for (size_t i = 0; i < N_PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

/* All presets, as text. */
static const char *preset_names(char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < N_PRESETS && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", presets[i].name);
    return text;
}

/* One part between commas; it is cut at its "=". */
static enum hp_err parse_part(char *part, bool first, struct hp_hotspot_config *config)
{
    char names[256];
    char *equals = strchr(part, '=');
    if (equals) {
        *equals = 0;
        return parse_change(part, equals + 1, config);
    }
    const struct preset *preset = find_preset(part);
    if (!preset)
        return hp_fail(HP_ERR_INVALID,
                       "hot spots: '%s' is neither a preset (%s) nor PARAMETER=VALUE", part,
                       preset_names(names, sizeof names));
    if (!first)
        return hp_fail(HP_ERR_INVALID, "hot spots: the preset '%s' has to come first", part);
    *config = preset->config;
    return HP_OK;
}

enum hp_err hp_hotspot_config_parse(const char *text, struct hp_hotspot_config *config)
{
    char copy[MAX_TEXT];
    struct hp_hotspot_config new = presets[0].config;
    if (strlen(text) >= sizeof copy)
        return hp_fail(HP_ERR_INVALID, "hot spots: a description of more than %d letters",
                       MAX_TEXT - 1);
    strcpy(copy, text);
    char *rest = copy, *part;
    for (bool first = true; (part = strsep(&rest, ",")); first = false)
        HP_TRY(parse_part(part, first, &new));
    HP_TRY(hp_hotspot_config_check(&new));
    *config = new;
    return HP_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* How many parameters differ. */
static unsigned differences(const struct hp_hotspot_config *a, const struct hp_hotspot_config *b)
{
    unsigned n = a->shift != b->shift;
    for (size_t i = 0; i < N_NUMBERS; i++)
        n += get_number(a, &numbers[i]) != get_number(b, &numbers[i]);
    for (size_t i = 0; i < N_CHOICES; i++)
        n += get_choice(a, i) != get_choice(b, i);
    return n;
}

static void write_config(const struct hp_hotspot_config *config, FILE *out)
{
    const struct preset *nearest = &presets[0];
    for (size_t i = 1; i < N_PRESETS; i++)
        if (differences(config, &presets[i].config) < differences(config, &nearest->config))
            nearest = &presets[i];
    const struct hp_hotspot_config *preset = &nearest->config;
    fprintf(out, "%s", nearest->name);
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (get_number(config, &numbers[i]) != get_number(preset, &numbers[i]))
            fprintf(out, ",%s=%u", numbers[i].name, get_number(config, &numbers[i]));
    for (size_t i = 0; i < N_CHOICES; i++)
        if (get_choice(config, i) != get_choice(preset, i))
            fprintf(out, ",%s=%s", choices[i].name, choices[i].words[get_choice(config, i)]);
    if (config->shift != preset->shift)
        fprintf(out, ",shift=%u", config->shift);
}

void hp_hotspot_config_format(const struct hp_hotspot_config *config, char *text, size_t size)
{
    char whole[MAX_TEXT] = "";
    FILE *out = fmemopen(whole, sizeof whole, "w");
    if (out) {
        write_config(config, out);
        fclose(out);
    }
    snprintf(text, size, "%s", whole);
}

/* --- The size --------------------------------------------------------------------------------- */

/* Bits that a number below `n` takes. */
static uint64_t bits_below(uint64_t n)
{
    uint64_t bits = 0;
    while (n > (uint64_t)1 << bits)
        bits++;
    return bits;
}

/* The map and how much of it is set; the random number; the branches until the next sample, and the period; samples and
 * their instructions; the threshold, which the software works out. */
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
