// SPDX-License-Identifier: MIT
/* CRC-32 of a buffer, bit by bit and by table. */
#include "rt.h"

static u8 buffer[2000];
static u32 table[256];

static u32 step(u32 crc)
{
    return crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
}

static u32 by_bits(const u8 *data, u32 size)
{
    u32 crc = ~0u;
    for (u32 i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = step(crc);
    }
    return ~crc;
}

static void make_table(void)
{
    for (u32 i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = step(table[i]);
    }
}

static u32 by_table(const u8 *data, u32 size)
{
    u32 crc = ~0u;
    while (size--)
        crc = table[(crc ^ *data++) & 255] ^ crc >> 8;
    return ~crc;
}

int main(void)
{
    u32 state = 7;
    for (u32 i = 0; i < sizeof buffer; i++)
        buffer[i] = (u8)rt_random(&state);
    make_table();
    u32 slow = by_bits(buffer, sizeof buffer);
    rt_print(slow);
    return slow == by_table(buffer, sizeof buffer) ? 0 : 1;
}
