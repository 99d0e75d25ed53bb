// SPDX-License-Identifier: MIT
#include "machine/check.h"

#include "machine/predictor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hp_fault_at(struct hp_machine_fault *fault, const char *section, const char *key,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->section = section;
    fault->key = key;
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_power(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* Entries in sets, of a cache (in lines), a TLB or a BTB. */
static bool check_sets(const char *section, uint64_t entries, const char *what, uint64_t *ways,
                       uint64_t replacement, struct hp_machine_fault *fault)
{
    if (*ways == 0)
        *ways = entries;
    if (*ways > entries)
        return hp_fault_at(fault, section, "ways",
                           "%" PRIu64 " ways are more than its %" PRIu64 " %s", *ways, entries,
                           what);
    if (entries % *ways || !is_power(entries / *ways))
        return hp_fault_at(fault, section, "ways",
                           "%" PRIu64 " %s in %" PRIu64
                           " ways do not make a number of sets that is a power of two",
                           entries, what, *ways);
    if (replacement == HP_PLRU && (!is_power(*ways) || *ways > 64))
        return hp_fault_at(
            fault, section, "ways",
            "replacement = plru needs a power of two of at most 64 ways, not %" PRIu64, *ways);
    return true;
}

/* --- Caches and TLBs -------------------------------------------------------------------------- */

static bool check_cache(const char *section, struct hp_cache_config *cache,
                        struct hp_machine_fault *fault)
{
    if (!cache->present)
        return true;
    if (cache->line > cache->size)
        return hp_fault_at(fault, section, "line",
                           "a line of %" PRIu64 " bytes does not fit in a cache of %" PRIu64,
                           cache->line, cache->size);
    if (cache->size % cache->line)
        return hp_fault_at(fault, section, "size",
                           "%" PRIu64 " bytes are not a number of lines of %" PRIu64, cache->size,
                           cache->line);
    return check_sets(section, cache->size / cache->line, "lines", &cache->ways, cache->replacement,
                      fault);
}

/* A line of a level is a part of a line of the next. */
static bool check_order(const char *upper_name, const struct hp_cache_config *upper,
                        const char *lower_name, const struct hp_cache_config *lower,
                        struct hp_machine_fault *fault)
{
    if (upper->present && lower->present && upper->line > lower->line)
        return hp_fault_at(fault, lower_name, "line",
                           "a line of %" PRIu64 " bytes is smaller than one of [%s], %" PRIu64,
                           lower->line, upper_name, upper->line);
    return true;
}

static bool check_caches(struct hp_machine *m, struct hp_machine_fault *fault)
{
    if (m->l3.present && !m->l2.present)
        return hp_fault_at(fault, "l3", NULL, "there is an [l3] but no [l2]");
    return check_cache("l1i", &m->l1i, fault) && check_cache("l1d", &m->l1d, fault) &&
           check_cache("l2", &m->l2, fault) && check_cache("l3", &m->l3, fault) &&
           check_order("l1i", &m->l1i, "l2", &m->l2, fault) &&
           check_order("l1d", &m->l1d, "l2", &m->l2, fault) &&
           check_order("l2", &m->l2, "l3", &m->l3, fault);
}

static bool check_tlb(const char *section, struct hp_tlb_config *tlb,
                      const struct hp_tlb_config *second, struct hp_machine_fault *fault)
{
    if (!tlb->present)
        return true;
    if (second->present && tlb->page != second->page)
        return hp_fault_at(fault, section, "page",
                           "pages of %" PRIu64 " bytes, but [tlb2] has them of %" PRIu64, tlb->page,
                           second->page);
    return check_sets(section, tlb->entries, "entries", &tlb->ways, tlb->replacement, fault);
}

static bool check_tlbs(struct hp_machine *m, struct hp_machine_fault *fault)
{
    if (m->tlb2.present && !m->itlb.present && !m->dtlb.present)
        return hp_fault_at(fault, "tlb2", NULL, "there is a [tlb2] but no [itlb] or [dtlb]");
    return check_tlb("itlb", &m->itlb, &m->tlb2, fault) &&
           check_tlb("dtlb", &m->dtlb, &m->tlb2, fault) &&
           check_tlb("tlb2", &m->tlb2, &m->tlb2, fault);
}

/* --- Branches --------------------------------------------------------------------------------- */

bool hp_check_tage(const char *section, const struct hp_tage_config *tage,
                   struct hp_machine_fault *fault)
{
    if (tage->shortest > tage->longest)
        return hp_fault_at(fault, section, "shortest",
                           "the shortest history, %" PRIu64
                           ", is longer than the longest, %" PRIu64,
                           tage->shortest, tage->longest);
    return true;
}

bool hp_check_history(const char *section, uint64_t history, uint64_t entries,
                      struct hp_machine_fault *fault)
{
    if ((uint64_t)1 << history > entries)
        return hp_fault_at(fault, section, "history",
                           "a history of %" PRIu64 " bits needs more than %" PRIu64 " entries",
                           history, entries);
    return true;
}

static bool check_branches(struct hp_machine *m, struct hp_machine_fault *fault)
{
    struct hp_branch_config *b = &m->branch;
    for (unsigned i = 0; i < HP_N_PREDICTORS; i++)
        if (hp_predictor_kinds[i]->check && !hp_predictor_kinds[i]->check(b->settings[i], fault))
            return false;
    return hp_check_tage("ittage", &b->ittage, fault) &&
           check_sets("btb", b->btb_entries, "entries", &b->btb_ways, HP_LRU, fault);
}

/* --- The core --------------------------------------------------------------------------------- */

static bool check_core(const struct hp_machine *m, struct hp_machine_fault *fault)
{
    if (m->core.memory_queue > m->core.reorder)
        return hp_fault_at(fault, "core", "memory_queue",
                           "%" PRIu64 " loads and stores are more than the %" PRIu64
                           " instructions in flight (reorder)",
                           m->core.memory_queue, m->core.reorder);
    return true;
}

bool hp_machine_check(struct hp_machine *machine, struct hp_machine_fault *fault)
{
    return check_core(machine, fault) && check_caches(machine, fault) &&
           check_tlbs(machine, fault) && check_branches(machine, fault);
}
