// SPDX-License-Identifier: MIT
/* More than fifty million instructions: text, sorting, sums, calls through pointers. */
#include "rt.h"

#define WORDS 4096

static u8 text[WORDS * 8];
static u32 counts[256];
static u32 heap[WORDS];

static void write_text(u32 *state)
{
    for (u32 i = 0; i < sizeof text; i++) {
        u32 r = rt_random(state);
        text[i] = r % 6 ? (u8)('a' + r / 8 % 26) : ' ';
    }
}

static u32 count_words(void)
{
    u32 words = 0, inside = 0;
    for (u32 i = 0; i < sizeof text; i++) {
        counts[text[i]]++;
        if (text[i] == ' ') {
            inside = 0;
        } else if (!inside) {
            inside = 1;
            words++;
        }
    }
    return words;
}

static void sift(u32 root, u32 n)
{
    for (;;) {
        u32 child = 2 * root + 1;
        if (child >= n)
            return;
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[root] >= heap[child])
            return;
        u32 swap = heap[root];
        heap[root] = heap[child];
        heap[child] = swap;
        root = child;
    }
}

static void heap_sort(u32 n)
{
    for (u32 i = n / 2; i-- > 0;)
        sift(i, n);
    for (u32 i = n; i-- > 1;) {
        u32 swap = heap[0];
        heap[0] = heap[i];
        heap[i] = swap;
        sift(0, i);
    }
}

static u32 adler(void)
{
    u32 a = 1, b = 0;
    for (u32 i = 0; i < sizeof text; i++) {
        a = (a + text[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static u32 distance(const u8 *s, const u8 *t, u32 n)
{
    u32 row[33];
    for (u32 j = 0; j <= n; j++)
        row[j] = j;
    for (u32 i = 1; i <= n; i++) {
        u32 diagonal = row[0];
        row[0] = i;
        for (u32 j = 1; j <= n; j++) {
            u32 best = diagonal + (s[i - 1] != t[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

static u32 compare_texts(void)
{
    u32 sum = 0;
    for (u32 i = 0; i + 64 < sizeof text; i += 256)
        sum += distance(text + i, text + i + 32, 32);
    return sum;
}

static u32 (*const tasks[])(void) = {count_words, adler, compare_texts};

int main(void)
{
    u32 state = 2463534242u, sum = 0;
    for (int round = 0; round < 14; round++) {
        write_text(&state);
        for (u32 i = 0; i < WORDS; i++)
            heap[i] = rt_random(&state);
        heap_sort(WORDS);
        for (u32 i = 1; i < WORDS; i++)
            if (heap[i - 1] > heap[i])
                return 1;
        for (u32 i = 0; i < 3; i++)
            sum = sum * 31 + tasks[i]();
    }
    rt_print(sum);
    return 0;
}
