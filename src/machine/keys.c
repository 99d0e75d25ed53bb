// SPDX-License-Identifier: MIT
#include "machine/keys.h"

#include "machine/history.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- The tables ------------------------------------------------------------------------------- */

static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const replacements[] = {"lru", "plru", "random", NULL};
static const char *const write_policies[] = {"back", "through", NULL};
static const char *const predictors[] = {"static",   "bimodal",    "gshare", "local",
                                         "combined", "alpha21264", "tage",   NULL};
static const char *const indirects[] = {"btb", "ittage", NULL};

#define MANY      (1u << 24) /* entries of a table */
#define BYTES_MAX ((uint64_t)1 << 32)
#define NONE      HP_KEY_REQUIRED

#define AT_CORE(field) offsetof(struct hp_core_config, field)
static const struct hp_key core_keys[] = {
    {"width", HP_KEY_NUMBER, AT_CORE(width), 1, 64, NONE, NULL},
    {"issue", HP_KEY_NUMBER, AT_CORE(issue), 1, 64, NONE, NULL},
    {"retire", HP_KEY_NUMBER, AT_CORE(retire), 1, 64, NONE, NULL},
    {"in_order", HP_KEY_CHOICE, AT_CORE(in_order), 0, 0, 0, no_yes},
    {"fetch_queue", HP_KEY_NUMBER, AT_CORE(fetch_queue), 1, 4096, 16, NULL},
    {"reorder", HP_KEY_NUMBER, AT_CORE(reorder), 1, 65536, NONE, NULL},
    {"memory_queue", HP_KEY_NUMBER, AT_CORE(memory_queue), 1, 65536, NONE, NULL},
    {"int_queue", HP_KEY_NUMBER, AT_CORE(int_queue), 1, 65536, 64, NULL},
    {"fp_queue", HP_KEY_NUMBER, AT_CORE(fp_queue), 0, 65536, 0, NULL},
    {"int_registers", HP_KEY_NUMBER, AT_CORE(int_registers), 33, 65536, 256, NULL},
    {"fp_registers", HP_KEY_NUMBER, AT_CORE(fp_registers), 33, 65536, 256, NULL},
    {"front_stages", HP_KEY_NUMBER, AT_CORE(front_stages), 2, 64, 3, NULL},
    {"mispredict", HP_KEY_NUMBER, AT_CORE(mispredict), 0, 1000, 3, NULL},
    {"misses", HP_KEY_NUMBER, AT_CORE(misses), 1, 1024, 64, NULL},
};

#define AT_UNIT(field) offsetof(struct hp_unit_config, field)
static const struct hp_key unit_keys[] = {
    {"alu", HP_KEY_NUMBER, AT_UNIT(alu), 1, 64, NONE, NULL},
    {"mul", HP_KEY_NUMBER, AT_UNIT(mul), 1, 64, NONE, NULL},
    {"fp", HP_KEY_NUMBER, AT_UNIT(fp), 1, 64, NONE, NULL},
    {"fp_mul", HP_KEY_NUMBER, AT_UNIT(fp_mul), 1, 64, NONE, NULL},
    {"vector", HP_KEY_NUMBER, AT_UNIT(vector), 1, 64, 1, NULL},
    {"load", HP_KEY_NUMBER, AT_UNIT(load), 1, 64, NONE, NULL},
    {"store", HP_KEY_NUMBER, AT_UNIT(store), 1, 64, NONE, NULL},
    {"branch", HP_KEY_NUMBER, AT_UNIT(branch), 1, 64, 1, NULL},
};

#define AT_LATENCY(field) offsetof(struct hp_latency_config, field)
static const struct hp_key latency_keys[] = {
    {"alu", HP_KEY_NUMBER, AT_LATENCY(alu), 1, 1000, 1, NULL},
    {"mul", HP_KEY_NUMBER, AT_LATENCY(mul), 1, 1000, 3, NULL},
    {"div", HP_KEY_NUMBER, AT_LATENCY(div), 1, 1000, 20, NULL},
    {"fp", HP_KEY_NUMBER, AT_LATENCY(fp), 1, 1000, 2, NULL},
    {"fp_mul", HP_KEY_NUMBER, AT_LATENCY(fp_mul), 1, 1000, 4, NULL},
    {"fp_div", HP_KEY_NUMBER, AT_LATENCY(fp_div), 1, 1000, 12, NULL},
    {"vector", HP_KEY_NUMBER, AT_LATENCY(vector), 1, 1000, 1, NULL},
    {"branch", HP_KEY_NUMBER, AT_LATENCY(branch), 1, 1000, 1, NULL},
};

/* The last two are not for an instruction cache. */
#define AT_CACHE(field) offsetof(struct hp_cache_config, field)
#define N_WRITE_KEYS    2
static const struct hp_key cache_keys[] = {
    {"size", HP_KEY_NUMBER, AT_CACHE(size), 64, BYTES_MAX, NONE, NULL},
    {"line", HP_KEY_POWER, AT_CACHE(line), 16, 4096, NONE, NULL},
    {"ways", HP_KEY_WAYS, AT_CACHE(ways), 1, MANY, NONE, NULL},
    {"replacement", HP_KEY_CHOICE, AT_CACHE(replacement), 0, 0, HP_LRU, replacements},
    {"ports", HP_KEY_NUMBER, AT_CACHE(ports), 1, 64, 1, NULL},
    {"latency", HP_KEY_NUMBER, AT_CACHE(latency), 1, 10000, NONE, NULL},
    {"write", HP_KEY_CHOICE, AT_CACHE(through), 0, 0, 0, write_policies},
    {"allocate", HP_KEY_CHOICE, AT_CACHE(no_allocate), 0, 0, 0, yes_no},
};

#define AT_TLB(field) offsetof(struct hp_tlb_config, field)
static const struct hp_key tlb_keys[] = {
    {"entries", HP_KEY_NUMBER, AT_TLB(entries), 1, MANY, NONE, NULL},
    {"ways", HP_KEY_WAYS, AT_TLB(ways), 1, MANY, NONE, NULL},
    {"page", HP_KEY_POWER, AT_TLB(page), 4096, 1u << 30, 4096, NULL},
    {"replacement", HP_KEY_CHOICE, AT_TLB(replacement), 0, 0, HP_LRU, replacements},
    {"latency", HP_KEY_NUMBER, AT_TLB(latency), 1, 10000, 30, NULL},
};

static const struct hp_key memory_keys[] = {
    {"latency", HP_KEY_NUMBER, offsetof(struct hp_memory_config, latency), 1, 100000, NONE, NULL},
    {"power", HP_KEY_NUMBER, offsetof(struct hp_memory_config, power), 1, 4096, 100, NULL},
};

#define AT_BRANCH(field) offsetof(struct hp_branch_config, field)
static const struct hp_key branch_keys[] = {
    {"predictor", HP_KEY_CHOICE, AT_BRANCH(predictor), 0, 0, NONE, predictors},
    {"indirect", HP_KEY_CHOICE, AT_BRANCH(indirect), 0, 0, HP_INDIRECT_BTB, indirects},
};
static const struct hp_key bimodal_keys[] = {
    {"entries", HP_KEY_POWER, AT_BRANCH(bimodal_entries), 1, MANY, 2048, NULL},
};
static const struct hp_key gshare_keys[] = {
    {"entries", HP_KEY_POWER, AT_BRANCH(gshare_entries), 1, MANY, 4096, NULL},
    {"history", HP_KEY_NUMBER, AT_BRANCH(gshare_history), 0, 24, 12, NULL},
};
static const struct hp_key local_keys[] = {
    {"histories", HP_KEY_POWER, AT_BRANCH(local_histories), 1, MANY, 1024, NULL},
    {"history", HP_KEY_NUMBER, AT_BRANCH(local_history), 1, 24, 10, NULL},
    {"entries", HP_KEY_POWER, AT_BRANCH(local_entries), 1, MANY, 1024, NULL},
};
static const struct hp_key combined_keys[] = {
    {"first", HP_KEY_CHOICE, AT_BRANCH(first), 0, 0, HP_PREDICT_BIMODAL, predictors},
    {"second", HP_KEY_CHOICE, AT_BRANCH(second), 0, 0, HP_PREDICT_GSHARE, predictors},
    {"meta", HP_KEY_POWER, AT_BRANCH(meta_entries), 1, MANY, 1024, NULL},
};
static const struct hp_key alpha_keys[] = {
    {"histories", HP_KEY_POWER, AT_BRANCH(alpha_histories), 1, MANY, 1024, NULL},
    {"local", HP_KEY_NUMBER, AT_BRANCH(alpha_local), 1, 16, 10, NULL},
    {"global", HP_KEY_NUMBER, AT_BRANCH(alpha_global), 1, 24, 12, NULL},
};
static const struct hp_key btb_keys[] = {
    {"entries", HP_KEY_NUMBER, AT_BRANCH(btb_entries), 1, MANY, NONE, NULL},
    {"ways", HP_KEY_WAYS, AT_BRANCH(btb_ways), 1, MANY, NONE, NULL},
};
static const struct hp_key ras_keys[] = {
    {"entries", HP_KEY_NUMBER, AT_BRANCH(ras_entries), 0, 4096, 16, NULL},
};

#define AT_TAGE(field) offsetof(struct hp_tage_config, field)
static const struct hp_key tage_keys[] = {
    {"base", HP_KEY_POWER, AT_TAGE(base), 16, MANY, 4096, NULL},
    {"tables", HP_KEY_NUMBER, AT_TAGE(tables), 1, HP_TAGE_TABLES, 7, NULL},
    {"entries", HP_KEY_POWER, AT_TAGE(entries), 16, MANY, 1024, NULL},
    {"tag", HP_KEY_NUMBER, AT_TAGE(tag), 4, 15, 11, NULL},
    {"shortest", HP_KEY_NUMBER, AT_TAGE(shortest), 1, HP_HISTORY_MAX, 5, NULL},
    {"longest", HP_KEY_NUMBER, AT_TAGE(longest), 1, HP_HISTORY_MAX, 130, NULL},
    {"reset", HP_KEY_NUMBER, AT_TAGE(reset), 1, 1u << 30, 1 << 18, NULL},
};

#define AT(field) offsetof(struct hp_machine, field)
#define N(keys)   (sizeof(keys) / sizeof *(keys))
const struct hp_section hp_sections[] = {
    {"core", HP_SECTION_REQUIRED, AT(core), core_keys, N(core_keys)},
    {"units", HP_SECTION_REQUIRED, AT(units), unit_keys, N(unit_keys)},
    {"latency", HP_SECTION_DEFAULTS, AT(latency), latency_keys, N(latency_keys)},
    {"l1i", HP_SECTION_REQUIRED, AT(l1i), cache_keys, N(cache_keys) - N_WRITE_KEYS},
    {"l1d", HP_SECTION_REQUIRED, AT(l1d), cache_keys, N(cache_keys)},
    {"l2", HP_SECTION_OPTIONAL, AT(l2), cache_keys, N(cache_keys)},
    {"l3", HP_SECTION_OPTIONAL, AT(l3), cache_keys, N(cache_keys)},
    {"itlb", HP_SECTION_OPTIONAL, AT(itlb), tlb_keys, N(tlb_keys)},
    {"dtlb", HP_SECTION_OPTIONAL, AT(dtlb), tlb_keys, N(tlb_keys)},
    {"tlb2", HP_SECTION_OPTIONAL, AT(tlb2), tlb_keys, N(tlb_keys)},
    {"memory", HP_SECTION_REQUIRED, AT(memory), memory_keys, N(memory_keys)},
    {"branch", HP_SECTION_REQUIRED, AT(branch), branch_keys, N(branch_keys)},
    {"bimodal", HP_SECTION_DEFAULTS, AT(branch), bimodal_keys, N(bimodal_keys)},
    {"gshare", HP_SECTION_DEFAULTS, AT(branch), gshare_keys, N(gshare_keys)},
    {"local", HP_SECTION_DEFAULTS, AT(branch), local_keys, N(local_keys)},
    {"combined", HP_SECTION_DEFAULTS, AT(branch), combined_keys, N(combined_keys)},
    {"alpha21264", HP_SECTION_DEFAULTS, AT(branch), alpha_keys, N(alpha_keys)},
    {"tage", HP_SECTION_DEFAULTS, AT(branch.tage), tage_keys, N(tage_keys)},
    {"ittage", HP_SECTION_DEFAULTS, AT(branch.ittage), tage_keys, N(tage_keys)},
    {"btb", HP_SECTION_REQUIRED, AT(branch), btb_keys, N(btb_keys)},
    {"ras", HP_SECTION_DEFAULTS, AT(branch), ras_keys, N(ras_keys)},
};
const unsigned hp_n_sections = N(hp_sections);

_Static_assert(N(hp_sections) <= HP_SECTIONS_MAX, "HP_SECTIONS_MAX");
_Static_assert(N(core_keys) <= HP_KEYS_MAX, "HP_KEYS_MAX");

/* --- Finding ---------------------------------------------------------------------------------- */

int hp_section_find(const char *name, size_t length)
{
    for (unsigned i = 0; i < hp_n_sections; i++)
        if (strncmp(hp_sections[i].name, name, length) == 0 && hp_sections[i].name[length] == 0)
            return (int)i;
    return -1;
}

int hp_key_find(const struct hp_section *section, const char *name)
{
    for (unsigned i = 0; i < section->n_keys; i++)
        if (strcmp(section->keys[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* --- Values ----------------------------------------------------------------------------------- */

static enum hp_err read_choice(const struct hp_key *key, const char *text, uint64_t *value)
{
    char list[128] = "";
    for (uint64_t i = 0; key->choices[i]; i++) {
        if (strcmp(key->choices[i], text) == 0) {
            *value = i;
            return HP_OK;
        }
        if (i)
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, key->choices[i], sizeof list - strlen(list) - 1);
    }
    return hp_fail(HP_ERR_INVALID, "'%s' is none of %s", text, list);
}

static unsigned suffix_bits(char suffix)
{
    switch (suffix) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
    default: return 0;
    }
}

/* Digits, and a suffix. */
static enum hp_err read_number(const struct hp_key *key, const char *text, uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    unsigned shift = 0;
    if (end && *end) {
        shift = suffix_bits(*end);
        end += shift != 0;
    }
    if (!end || *end)
        return hp_fail(HP_ERR_INVALID, "'%s' is not a number", text);
    if (errno || number > UINT64_MAX >> shift || number << shift < key->low ||
        number << shift > key->high)
        return hp_fail(HP_ERR_INVALID, "%s is not between %" PRIu64 " and %" PRIu64, text, key->low,
                       key->high);
    *value = number << shift;
    if (key->kind == HP_KEY_POWER && (*value & (*value - 1)) != 0)
        return hp_fail(HP_ERR_INVALID, "%s is not a power of two", text);
    return HP_OK;
}

enum hp_err hp_key_read(const struct hp_key *key, const char *text, uint64_t *value)
{
    if (key->kind == HP_KEY_CHOICE)
        return read_choice(key, text, value);
    if (key->kind == HP_KEY_WAYS && strcmp(text, "full") == 0) {
        *value = 0;
        return HP_OK;
    }
    return read_number(key, text, value);
}
