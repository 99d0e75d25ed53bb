// SPDX-License-Identifier: MIT
/*
 * How indirect transfers find their segment without entering the engine. Some low bits of the
 * target select an entry in a table of addresses. The entry leads to the first of a chain of
 * *landings*. A landing belongs to a segment, compares the rest of the target with the segment's
 * start, and goes there or to the next landing. So an entry that changes while threads run is never
 * wrong, only slower.
 */
#ifndef HP_NATIVE_LANDINGS_H
#define HP_NATIVE_LANDINGS_H

#include "engine/native/inner/cache.h"

/* The table's address: below 2 GiB, so that it fits an instruction's operand. */
extern uint32_t hp_landings_at;

/* Memory below 2 GiB; a kernel's error if there is none. */
long hp_pages_low(long size);

/* Whether the processor extracts bits in one instruction (PEXT): then the table is larger. */
extern bool hp_landings_have_pext;

/* The maximum size of a landing in bytes. */
#define HP_LANDING_SIZE 112

bool hp_landings_start(bool has_pext);
void hp_landings_flush(void);
uint64_t hp_landings_size(void);
/* The low bits of a target that select its entry. */
uint32_t hp_landings_mask(void);

/* Writes a landing for the segment, 8-byte aligned, with a jump to its code, unless that is NULL
 * because it follows. Returns its end. */
uint8_t *hp_landing_write(uint8_t *place, uint32_t segment, const uint8_t *code);

/* The landing of the segment counts arrivals from now on, or does not any more. */
void hp_landing_recount(uint32_t segment);

/* Makes indirect transfers find the segment: through the landing already written, or a new one. */
void hp_land(uint32_t segment, uint8_t *landing);
void hp_landings_remove(uint32_t segment);

#endif
