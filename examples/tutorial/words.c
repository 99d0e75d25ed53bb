// SPDX-License-Identifier: MIT
/*
 * Counts the words of a text and prints the ten most frequent ones. It is slower than it should be:
 * docs/tutorial.md finds out why.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct word {
    struct word *next; /* in the same bucket */
    char *text;
    unsigned long count;
};

static struct word *buckets[BUCKETS];
static unsigned long n_words;

static unsigned hash(const char *text)
{
    unsigned sum = 0;
    for (; *text; text++)
        sum += (unsigned char)*text;
    return sum % BUCKETS;
}

static struct word *find(const char *text)
{
    struct word **bucket = &buckets[hash(text)];
    for (struct word *word = *bucket; word; word = word->next)
        if (strcmp(word->text, text) == 0)
            return word;
    struct word *word = malloc(sizeof *word);
    *word = (struct word){.next = *bucket, .text = strdup(text)};
    *bucket = word;
    n_words++;
    return word;
}

static void lower(char *line)
{
    for (size_t i = 0; i < strlen(line); i++)
        line[i] = (char)tolower((unsigned char)line[i]);
}

static void count_line(char *line)
{
    lower(line);
    for (char *text = strtok(line, " \n"); text; text = strtok(NULL, " \n"))
        find(text)->count++;
}

static int by_count(const void *a, const void *b)
{
    const struct word *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count)
        return (*x)->count < (*y)->count ? 1 : -1;
    return strcmp((*x)->text, (*y)->text);
}

static void print_top(size_t top)
{
    struct word **all = malloc(n_words * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct word *word = buckets[i]; word; word = word->next)
            all[n++] = word;
    qsort(all, n, sizeof *all, by_count);
    for (size_t i = 0; i < n && i < top; i++)
        printf("%8lu %s\n", all[i]->count, all[i]->text);
    free(all);
}

int main(void)
{
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin))
        count_line(line);
    print_top(10);
    return 0;
}
