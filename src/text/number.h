// SPDX-License-Identifier: MIT
/*
 * Numbers as text, independent of the locale. Each function writes a terminated text of less than
 * HP_NUMBER_SIZE bytes into `text` and returns its length.
 */
#ifndef HP_TEXT_NUMBER_H
#define HP_TEXT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define HP_NUMBER_SIZE 48

/* "1234567" */
size_t hp_number_uint(char text[HP_NUMBER_SIZE], uint64_t value);

/* "0x12d687" */
size_t hp_number_hex(char text[HP_NUMBER_SIZE], uint64_t value);

/* "1,234,567" */
size_t hp_number_grouped(char text[HP_NUMBER_SIZE], uint64_t value);

/* For people: exact and grouped below 100,000, else three digits and a unit: "1.23 M". */
size_t hp_number_human(char text[HP_NUMBER_SIZE], uint64_t value);

/* A fraction as a percentage of one decimal: "61.2%"; "<0.1%" for what is small but not nothing. */
size_t hp_number_percent(char text[HP_NUMBER_SIZE], double fraction);

/* `decimals` (at most 9) digits after the point, rounded to nearest. What is not a number reads as
 * 0, what is beyond 9e15 as that. */
size_t hp_number_fixed(char text[HP_NUMBER_SIZE], double value, unsigned decimals);

/* A few of something: a whole number from 10 on, or when it nearly is; else one decimal. */
size_t hp_number_short(char text[HP_NUMBER_SIZE], double value);

/* Many of something, which need not be whole: as hp_number_human(), below 100 with one decimal
 * unless it is; "0" below that. */
size_t hp_number_amount(char text[HP_NUMBER_SIZE], double value);

/*
 * The same as arguments of printf() and its like; the text lives as long as the block around it:
 *
 *     fprintf(out, "%s rows, %s of all\n", HP_GROUPED(n), HP_PERCENT(share));
 */
#define HP_HEX(value)     hp_number_text_uint(hp_number_hex, (char[HP_NUMBER_SIZE]){0}, value)
#define HP_GROUPED(value) hp_number_text_uint(hp_number_grouped, (char[HP_NUMBER_SIZE]){0}, value)
#define HP_HUMAN(value)   hp_number_text_uint(hp_number_human, (char[HP_NUMBER_SIZE]){0}, value)
#define HP_PERCENT(fraction)                                                                       \
    hp_number_text_double(hp_number_percent, (char[HP_NUMBER_SIZE]){0}, fraction)
#define HP_SHORT(value)           hp_number_text_double(hp_number_short, (char[HP_NUMBER_SIZE]){0}, value)
#define HP_AMOUNT(value)          hp_number_text_double(hp_number_amount, (char[HP_NUMBER_SIZE]){0}, value)
#define HP_FIXED(value, decimals) hp_number_text_fixed((char[HP_NUMBER_SIZE]){0}, value, decimals)

static inline const char *hp_number_text_uint(size_t (*write)(char *text, uint64_t value),
                                              char *text, uint64_t value)
{
    write(text, value);
    return text;
}

static inline const char *hp_number_text_double(size_t (*write)(char *text, double value),
                                                char *text, double value)
{
    write(text, value);
    return text;
}

static inline const char *hp_number_text_fixed(char *text, double value, unsigned decimals)
{
    hp_number_fixed(text, value, decimals);
    return text;
}

/* `part` of `whole` as a fraction; 0 of nothing. */
double hp_number_share(uint64_t part, uint64_t whole);

/* Sums and products that stay at the largest value instead of wrapping around. */
static inline uint64_t hp_saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t hp_saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Adds to a sum likewise. */
static inline void hp_add_up(uint64_t *sum, uint64_t value)
{
    *sum = hp_saturating_add(*sum, value);
}

/* `part` of `whole`, which is not 0, of an amount, rounded down. */
static inline uint64_t hp_part_of(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

#endif
