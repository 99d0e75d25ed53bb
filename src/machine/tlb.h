// SPDX-License-Identifier: MIT
/*
 * TLBs: caches of page numbers. A second level, if any, is shared by the two of the first.
 */
#ifndef HP_MACHINE_TLB_H
#define HP_MACHINE_TLB_H

#include "machine/machine.h"

struct hp_tlb {
    struct hp_cache pages;
    unsigned page_bits;
    uint64_t last;       /* page looked up last: it is there, and another lookup changes nothing */
    struct hp_tlb *next; /* the second level, or NULL */
    uint64_t lookups, misses; /* lookups only: of pages other than the last */
};

/* HP_ERR_NOMEM. The owner sets `next`. */
enum hp_err hp_tlb_init(struct hp_tlb *tlb, const struct hp_tlb_config *config);
void hp_tlb_fini(struct hp_tlb *tlb);

/* For hp_tlb_use(). */
bool hp_tlb_lookup(struct hp_tlb *tlb, uint64_t page);

/* True: a hit. After a miss the page is present, in the second level too. */
static inline bool hp_tlb_use(struct hp_tlb *tlb, uint64_t page)
{
    return page == tlb->last || hp_tlb_lookup(tlb, page);
}

#endif
