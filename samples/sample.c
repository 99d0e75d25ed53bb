// SPDX-License-Identifier: MIT
/*
 * The program that `make run` profiles: a sieve, a word count and a sort, so that the report has
 * something to show.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned sieve(unsigned limit)
{
    unsigned count = 0;
    unsigned char *composite = calloc(limit + 1, 1);
    for (unsigned i = 2; i <= limit; i++) {
        if (composite[i])
            continue;
        count++;
        for (unsigned long j = (unsigned long)i * i; j <= limit; j += i)
            composite[j] = 1;
    }
    free(composite);
    return count;
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

struct word {
    char text[8];
    unsigned count;
};

static struct word *find_word(struct word *table, unsigned size, const char *text)
{
    unsigned hash = 5381;
    for (const char *c = text; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    struct word *word = &table[hash % size];
    while (word->count && strcmp(word->text, text) != 0)
        word = word + 1 == table + size ? table : word + 1;
    return word;
}

static unsigned count_words(struct word *table, unsigned size, unsigned words)
{
    unsigned state = 1, distinct = 0;
    for (unsigned i = 0; i < words; i++) {
        char text[8] = "";
        unsigned length = 1 + next_random(&state) % 3;
        for (unsigned k = 0; k < length; k++)
            text[k] = (char)('a' + next_random(&state) % 26);
        struct word *word = find_word(table, size, text);
        if (word->count++ == 0) {
            strcpy(word->text, text);
            distinct++;
        }
    }
    return distinct;
}

static int by_count(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->text, y->text);
}

int main(void)
{
    enum { SIZE = 32768 };
    struct word *table = calloc(SIZE, sizeof *table);
    unsigned primes = sieve(4000000);
    unsigned distinct = count_words(table, SIZE, 400000);
    qsort(table, SIZE, sizeof *table, by_count);
    printf("%u primes, %u words, most frequent '%s' (%u)\n", primes, distinct, table[0].text,
           table[0].count);
    free(table);
    return 0;
}
