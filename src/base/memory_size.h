// SPDX-License-Identifier: MIT
/* How much memory a process of ours may use. */
#ifndef HP_BASE_MEMORY_SIZE_H
#define HP_BASE_MEMORY_SIZE_H

#include <stdint.h>

/* Bytes: of the machine, of the control groups that we are in, or of our address space, whichever
 * is least. It does not depend on what others use at the moment. */
uint64_t hp_memory_size(void);

#endif
