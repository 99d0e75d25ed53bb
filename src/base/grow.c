// SPDX-License-Identifier: MIT
#include "base/grow.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAP  (1u << 20) /* bytes: smaller arrays do not matter */
#define LARGE (8u << 20) /* bytes: moving pages is cheap, and unused room expensive */

/* An array that grows by leaps (to an index chosen elsewhere) moves to memory that the system
 * zeroes when touched; skipped elements then cost nothing. */
static char *leap(char *old, size_t old_size, size_t new_size)
{
    char *grown = calloc(1, new_size);
    if (grown && old_size)
        memcpy(grown, old, old_size);
    if (grown)
        free(old);
    return grown;
}

enum hp_err hp_new(void *array, size_t n, size_t size)
{
    char *made = n <= SIZE_MAX / size ? calloc(n ? n : 1, size) : NULL;
    memcpy(array, &made, sizeof made);
    return made ? HP_OK : hp_fail_nomem();
}

enum hp_err hp_grow(void *array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return HP_OK;
    size_t want = *capacity + *capacity / (*capacity < LARGE / size ? 2 : 8);
    if (want < need)
        want = need;
    if (want < 16)
        want = 16;
    if (want > SIZE_MAX / size)
        return hp_fail_nomem();
    char *old;
    memcpy(&old, array, sizeof old);
    size_t old_size = *capacity * size, new_size = want * size;
    bool leaps = new_size >= LEAP && new_size / 4 >= old_size;
    char *grown = leaps ? leap(old, old_size, new_size) : realloc(old, new_size);
    if (!grown)
        return hp_fail_nomem();
    if (!leaps)
        memset(grown + old_size, 0, new_size - old_size);
    memcpy(array, &grown, sizeof grown);
    *capacity = want;
    return HP_OK;
}
