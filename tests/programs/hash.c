// SPDX-License-Identifier: MIT
/* A hash table with open addressing: insertions, look-ups, some missing. */
#include "rt.h"

#define SLOTS 4096

static u32 keys[SLOTS], values[SLOTS];

static u32 hash(u32 key)
{
    key ^= key >> 16;
    key *= 0x7feb352du;
    key ^= key >> 15;
    key *= 0x846ca68bu;
    return key ^ key >> 16;
}

static u32 *find(u32 key)
{
    u32 slot = hash(key) % SLOTS;
    while (keys[slot] && keys[slot] != key)
        slot = (slot + 1) % SLOTS;
    keys[slot] = keys[slot] ? keys[slot] : 0;
    return keys[slot] ? &values[slot] : 0;
}

static void insert(u32 key, u32 value)
{
    u32 slot = hash(key) % SLOTS;
    while (keys[slot] && keys[slot] != key)
        slot = (slot + 1) % SLOTS;
    keys[slot] = key;
    values[slot] += value;
}

int main(void)
{
    u32 state = 12345;
    u64 found = 0, missing = 0;
    for (int i = 0; i < 3000; i++)
        insert(1 + rt_random(&state) % 5000, 1);
    for (u32 key = 1; key <= 5000; key++) {
        const u32 *value = find(key);
        if (value)
            found += *value;
        else
            missing++;
    }
    rt_print(missing);
    return found == 3000 ? 0 : 1;
}
