// SPDX-License-Identifier: MIT
/*
 * How indirect transfers find their segment, without the engine. There is a table of addresses;
 * some low bits of the target choose the entry. It leads to the first of a chain of *landings*. A
 * landing belongs to a segment, compares the rest of the target with where that starts, and goes
 * there or to the next. So an entry that is changed while threads run is never wrong, only slower.
 */
#ifndef HP_NATIVE_LANDINGS_H
#define HP_NATIVE_LANDINGS_H

#include "engine/native/inner/cache.h"

/* Where the table is: below 2 GiB, so that an instruction can name it. */
extern uint32_t hp_landings_at;

/* Whether the processor takes out bits in one instruction (PEXT): then the table is larger. */
extern bool hp_landings_have_pext;

/* At most so many bytes are needed for a landing. */
#define HP_LANDING_SIZE 80

bool hp_landings_start(bool has_pext);
void hp_landings_flush(void);
uint64_t hp_landings_size(void);
/* The low bits of a target that choose its entry. */
uint32_t hp_landings_mask(void);

/* Writes a landing for the segment at `pc` at a place that is a multiple of 8, leaving out the jump
 * to the segment when it follows. Returns where it ends. */
uint8_t *hp_landing_write(uint8_t *place, uint64_t pc, uint32_t id, const uint8_t *segment);

/* Makes indirect transfers find the segment: by a landing that was written before, or makes one. */
void hp_land(uint32_t segment, uint8_t *landing);
void hp_landings_remove(uint32_t segment);

#endif
