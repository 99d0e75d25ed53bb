// SPDX-License-Identifier: MIT
#include "machine/tlb.h"

enum hp_err hp_tlb_init(struct hp_tlb *tlb, const struct hp_tlb_config *config)
{
    *tlb =
        (struct hp_tlb){.page_bits = (unsigned)__builtin_ctzll(config->page), .last = UINT64_MAX};
    return hp_cache_init(&tlb->pages, config->entries / config->ways, (uint32_t)config->ways,
                         (enum hp_replacement)config->replacement);
}

void hp_tlb_fini(struct hp_tlb *tlb)
{
    hp_cache_fini(&tlb->pages);
}

bool hp_tlb_lookup(struct hp_tlb *tlb, uint64_t page)
{
    tlb->last = page;
    tlb->lookups++;
    if (hp_cache_touch(&tlb->pages, page, false))
        return true;
    tlb->misses++;
    if (tlb->next)
        hp_tlb_lookup(tlb->next, page);
    hp_cache_insert(&tlb->pages, page, false);
    return false;
}
