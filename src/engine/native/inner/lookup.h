// SPDX-License-Identifier: MIT
/*
 * The table by which indirect transfers find their landing: 65536 addresses, by the low 16 bits of
 * the target. At an address below 2 GiB, so that a jump can name it.
 */
#ifndef HP_NATIVE_LOOKUP_H
#define HP_NATIVE_LOOKUP_H

#include <stdint.h>

#define HP_LOOKUP_BITS 16
#define HP_LOOKUP_SIZE ((uint64_t)8 << HP_LOOKUP_BITS)

/* Where it is; fixed when the cache is started. */
extern uint32_t hp_lookup_at;
#define HP_LOOKUP_TABLE hp_lookup_at

#endif
