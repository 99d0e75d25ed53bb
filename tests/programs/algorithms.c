// SPDX-License-Identifier: MIT
/*
 * Small well-known algorithms, each named by the first argument; without one their names are
 * printed. Deterministic, without the heap and without printing floating point, so that the
 * executed code does not depend on the machine or on where things are in memory.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state = 12345;

static uint32_t random_(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static char text[4000];

static void make_text(void)
{
    static const char *const words[] = {"hot ", "path ", "block ", "edge ", "a ", "the\n", "loop "};
    size_t n = 0;
    while (n < sizeof text - 10) {
        const char *word = words[random_() % 7];
        strcpy(text + n, word);
        n += strlen(word);
    }
}

/* --- Bits and hashes -------------------------------------------------------------------------- */

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t md5(void)
{
    static const uint8_t shift[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    uint32_t h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    make_text();
    for (size_t at = 0; at + 64 <= sizeof text; at += 64) {
        uint32_t a = h[0], b = h[1], c = h[2], d = h[3], word;
        for (int i = 0; i < 64; i++) {
            uint32_t f = i < 16   ? (b & c) | (~b & d)
                         : i < 32 ? (d & b) | (~d & c)
                         : i < 48 ? b ^ c ^ d
                                  : c ^ (b | ~d);
            int g = i < 16 ? i : i < 32 ? (5 * i + 1) % 16 : i < 48 ? (3 * i + 5) % 16 : 7 * i % 16;
            memcpy(&word, text + at + 4 * g, 4);
            f += a + word + (uint32_t)i * 0x9e3779b9u;
            a = d;
            d = c;
            c = b;
            b += rotate(f, shift[i / 16 * 4 + i % 4]);
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
    }
    return h[0] ^ h[1] ^ h[2] ^ h[3];
}

static uint32_t bits(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t x = random_();
        while (x) {
            sum += x & 1 ? i : 1;
            x = x & 2 ? x & (x - 1) : x >> 1;
        }
    }
    return sum;
}

/* --- Searching and sorting -------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t library_sort(void)
{
    static uint32_t list[2000];
    uint32_t found = 0;
    for (int i = 0; i < 2000; i++)
        list[i] = random_() % 10000;
    qsort(list, 2000, sizeof *list, compare);
    for (uint32_t i = 0; i < 10000; i += 7)
        found += bsearch(&i, list, 2000, sizeof *list, compare) != NULL;
    return found + list[1000];
}

static uint32_t heap_sort(void)
{
    static uint32_t heap[1500];
    uint32_t n = 0, sum = 0;
    for (; n < 1500; n++) {
        uint32_t i = n, value = random_();
        for (; i > 0 && heap[(i - 1) / 2] < value; i = (i - 1) / 2)
            heap[i] = heap[(i - 1) / 2];
        heap[i] = value;
    }
    while (n > 0) {
        uint32_t last = heap[--n], i = 0, child;
        sum = sum * 31 + heap[0];
        while ((child = 2 * i + 1) < n) {
            child += child + 1 < n && heap[child + 1] > heap[child];
            if (heap[child] <= last)
                break;
            heap[i] = heap[child];
            i = child;
        }
        heap[i] = last;
    }
    return sum;
}

struct node {
    uint32_t key;
    struct node *left, *right;
};

static uint32_t depth_of(const struct node *n)
{
    uint32_t l, r;
    if (!n)
        return 0;
    l = depth_of(n->left);
    r = depth_of(n->right);
    return 1 + (l > r ? l : r);
}

static uint32_t tree(void)
{
    static struct node nodes[1000];
    struct node *root = NULL, **at;
    for (int i = 0; i < 1000; i++) {
        nodes[i].key = random_();
        for (at = &root; *at; at = nodes[i].key < (*at)->key ? &(*at)->left : &(*at)->right)
            ;
        *at = &nodes[i];
    }
    return depth_of(root);
}

/* --- Graphs and dynamic programming ----------------------------------------------------------- */

static uint32_t shortest(void)
{
    enum { N = 60 };
    static uint32_t cost[N][N], distance[N];
    static uint8_t done[N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            cost[i][k] = random_() % 5 == 0 ? random_() % 100 + 1 : 100000;
    for (int i = 1; i < N; i++)
        distance[i] = 1000000;
    for (int round_ = 0; round_ < N; round_++) {
        int best = -1;
        for (int i = 0; i < N; i++)
            if (!done[i] && (best < 0 || distance[i] < distance[best]))
                best = i;
        done[best] = 1;
        for (int i = 0; i < N; i++)
            if (distance[best] + cost[best][i] < distance[i])
                distance[i] = distance[best] + cost[best][i];
    }
    return distance[N - 1] + distance[N / 2];
}

static uint32_t knapsack(void)
{
    static uint32_t best[1000];
    for (int item = 0; item < 40; item++) {
        uint32_t weight = random_() % 90 + 10, value = random_() % 100;
        for (uint32_t room = 999; room >= weight; room--)
            if (best[room - weight] + value > best[room])
                best[room] = best[room - weight] + value;
    }
    return best[999];
}

static uint32_t edit_distance(void)
{
    static uint32_t row[201];
    make_text();
    for (uint32_t i = 0; i <= 200; i++)
        row[i] = i;
    for (uint32_t i = 1; i <= 200; i++) {
        uint32_t before = row[0];
        row[0] = i;
        for (uint32_t k = 1; k <= 200; k++) {
            uint32_t least = before + (text[i] != text[1000 + k]);
            before = row[k];
            if (row[k] + 1 < least)
                least = row[k] + 1;
            if (row[k - 1] + 1 < least)
                least = row[k - 1] + 1;
            row[k] = least;
        }
    }
    return row[200];
}

/* --- Text ------------------------------------------------------------------------------------- */

static int match(const char *pattern, const char *s)
{
    if (!*pattern)
        return 1;
    if (pattern[1] == '*') {
        do
            if (match(pattern + 2, s))
                return 1;
        while (*s && (*s++ == *pattern || *pattern == '.'));
        return 0;
    }
    return *s && (*pattern == '.' || *pattern == *s) && match(pattern + 1, s + 1);
}

static uint32_t regex(void)
{
    uint32_t found = 0;
    make_text();
    for (size_t i = 0; i < 2000; i++)
        found += (uint32_t)match("h.t *.*edge", text + i) + (uint32_t)match("lo*p", text + i);
    return found;
}

static uint32_t words(void)
{
    char line[64];
    uint32_t count = 0, upper = 0;
    make_text();
    for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n")) {
        count += (uint32_t)snprintf(line, sizeof line, "%-6s|%5u|%x", word, count, count);
        for (char *c = line; *c; c++)
            upper += isalpha((unsigned char)*c) ? (uint32_t)toupper((unsigned char)*c) : 1;
        upper += strstr(line, "ed") != NULL ? (uint32_t)strtol("123", NULL, 10) : 0;
    }
    return upper;
}

static uint32_t compress_(void)
{
    static int last[65536];
    uint32_t coded = 0;
    make_text();
    memset(last, -1, sizeof last);
    for (int i = 0; i < 3900;) {
        int hash = (text[i] * 33 + text[i + 1]) * 33 + text[i + 2], at = last[hash & 0xffff], n = 0;
        if (at >= 0)
            while (n < 60 && i + n < 3900 && text[at + n] == text[i + n])
                n++;
        last[hash & 0xffff] = i;
        coded += n >= 4 ? 3 : 1;
        i += n >= 4 ? n : 1;
    }
    return coded;
}

static const char *cursor;

static uint32_t parse_sum(void);

static uint32_t parse_factor(void)
{
    uint32_t value = 0;
    if (*cursor == '(') {
        cursor++;
        value = parse_sum();
        cursor++;
        return value;
    }
    while (isdigit((unsigned char)*cursor))
        value = value * 10 + (uint32_t)(*cursor++ - '0');
    return value;
}

static uint32_t parse_sum(void)
{
    uint32_t value = parse_factor();
    while (*cursor && strchr("+-*", *cursor)) {
        char op = *cursor++;
        uint32_t next = parse_factor();
        value = op == '+' ? value + next : op == '-' ? value - next : value * next;
    }
    return value;
}

static uint32_t expressions(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "(%d+%d*(7-%d))*((%d))-%d", i, i * 3, i % 11, i % 5, i);
        cursor = text;
        sum = sum * 17 + parse_sum();
    }
    return sum;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static uint32_t spigot(void)
{
    enum { N = 400 };
    static uint32_t a[N];
    uint32_t sum = 0, held = 0;
    for (int i = 0; i < N; i++)
        a[i] = 2;
    for (int digit = 0; digit < 100; digit++) {
        uint32_t carry = 0;
        for (int i = N - 1; i >= 0; i--) {
            uint32_t x = a[i] * 10 + carry;
            a[i] = x % (uint32_t)(2 * i + 1);
            carry = x / (uint32_t)(2 * i + 1) * (uint32_t)i;
            if (i == 0)
                held = x / 10;
        }
        sum = sum * 3 + held;
    }
    return sum;
}

static uint32_t mandelbrot(void)
{
    uint32_t inside = 0;
    for (int y = -20; y < 20; y++)
        for (int x = -40; x < 20; x++) {
            double r = 0, i = 0, cr = x / 20.0, ci = y / 20.0;
            int n = 0;
            for (; n < 100 && r * r + i * i < 4; n++) {
                double t = r * r - i * i + cr;
                i = 2 * r * i + ci;
                r = t;
            }
            inside += (uint32_t)n;
        }
    return inside;
}

static uint32_t life(void)
{
    static uint8_t grid[2][34][34];
    uint32_t alive = 0;
    for (int i = 0; i < 400; i++)
        grid[0][random_() % 32 + 1][random_() % 32 + 1] = 1;
    for (int n = 0; n < 20; n++)
        for (int y = 1; y < 33; y++)
            for (int x = 1; x < 33; x++) {
                int near_ = -grid[n % 2][y][x];
                for (int k = 0; k < 9; k++)
                    near_ += grid[n % 2][y - 1 + k / 3][x - 1 + k % 3];
                grid[(n + 1) % 2][y][x] = near_ == 3 || (near_ == 2 && grid[n % 2][y][x]);
                alive += grid[(n + 1) % 2][y][x];
            }
    return alive;
}

static jmp_buf found;

static void place(int row, uint32_t columns, uint32_t up, uint32_t down)
{
    if (row == 9)
        longjmp(found, 1);
    for (int c = 8; c >= 0; c--) {
        uint32_t bit = 1u << c;
        if (!((columns | up | down) & bit))
            place(row + 1, columns | bit, (up | bit) << 1, (down | bit) >> 1);
        state++;
    }
}

static uint32_t queens(void)
{
    state = 0;
    if (setjmp(found) == 0)
        place(0, 0, 0, 0);
    return state;
}

static const struct {
    const char *name;
    uint32_t (*run)(void);
} parts[] = {
    {"md5", md5},
    {"bits", bits},
    {"qsort", library_sort},
    {"heap", heap_sort},
    {"tree", tree},
    {"shortest", shortest},
    {"knapsack", knapsack},
    {"edit", edit_distance},
    {"regex", regex},
    {"words", words},
    {"compress", compress_},
    {"expressions", expressions},
    {"spigot", spigot},
    {"mandelbrot", mandelbrot},
    {"life", life},
    {"queens", queens},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc < 2)
            puts(parts[i].name);
        else if (strcmp(argv[1], parts[i].name) == 0)
            printf("%s %u\n", parts[i].name, parts[i].run()); /* argv[1] may be aligned anyhow */
    return 0;
}
