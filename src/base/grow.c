// SPDX-License-Identifier: MIT
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum hp_err hp_grow(void *array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return HP_OK;
    size_t want = *capacity + *capacity / 2;
    if (want < need)
        want = need;
    if (want < 16)
        want = 16;
    if (want > SIZE_MAX / size)
        return hp_fail_nomem();
    void *old;
    memcpy(&old, array, sizeof old);
    char *grown = realloc(old, want * size);
    if (!grown)
        return hp_fail_nomem();
    memset(grown + *capacity * size, 0, (want - *capacity) * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = want;
    return HP_OK;
}
