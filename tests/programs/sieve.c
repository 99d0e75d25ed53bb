// SPDX-License-Identifier: MIT
/* The primes below 20000. */
#include "rt.h"

#define LIMIT 20000

static u8 composite[LIMIT];

static void strike(int prime)
{
    for (int i = prime * prime; i < LIMIT; i += prime)
        composite[i] = 1;
}

int main(void)
{
    u64 count = 0;
    for (int i = 2; i < LIMIT; i++) {
        if (composite[i])
            continue;
        count++;
        if (i * i < LIMIT)
            strike(i);
    }
    rt_print(count);
    return count == 2262 ? 0 : 1;
}
