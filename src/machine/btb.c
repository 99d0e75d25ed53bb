// SPDX-License-Identifier: MIT
#include "machine/btb.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_btb_init(struct hp_btb *btb, uint64_t entries, uint64_t ways)
{
    *btb = (struct hp_btb){.entries = calloc(entries, sizeof *btb->entries),
                           .set_mask = entries / ways - 1,
                           .ways = (uint32_t)ways};
    return btb->entries ? HP_OK : hp_fail_nomem();
}

void hp_btb_fini(struct hp_btb *btb)
{
    free(btb->entries);
    *btb = (struct hp_btb){0};
}

uint64_t hp_btb_use(struct hp_btb *btb, uint64_t pc, uint64_t target)
{
    struct hp_btb_entry *set = btb->entries + (pc & btb->set_mask) * btb->ways;
    uint64_t known = 0;
    uint32_t way = 0;
    for (; way < btb->ways; way++) {
        if (set[way].target && set[way].pc == pc) {
            known = set[way].target;
            break;
        }
    }
    if (way == btb->ways)
        way--;
    memmove(set + 1, set, way * sizeof *set);
    set[0] = (struct hp_btb_entry){.pc = pc, .target = target};
    return known;
}

enum hp_err hp_ras_init(struct hp_ras *ras, uint64_t size)
{
    *ras = (struct hp_ras){.size = (uint32_t)size};
    if (size == 0)
        return HP_OK;
    ras->ring = calloc(size, sizeof *ras->ring);
    return ras->ring ? HP_OK : hp_fail_nomem();
}

void hp_ras_fini(struct hp_ras *ras)
{
    free(ras->ring);
    *ras = (struct hp_ras){0};
}
