// SPDX-License-Identifier: MIT
/*
 * Numbers as text, independent of the locale. Each function writes a terminated text of less than
 * HP_NUMBER_SIZE bytes into `text` and returns its length.
 */
#ifndef HP_TEXT_NUMBER_H
#define HP_TEXT_NUMBER_H

#include "base/sums.h"

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

/* A fraction as a percentage with one decimal: "61.2%"; "<0.1%" for small but not zero. */
size_t hp_number_percent(char text[HP_NUMBER_SIZE], double fraction);

/* `decimals` (at most 9) digits after the point, rounded to nearest. NaN is written as 0, values
 * beyond 9e15 as that. */
size_t hp_number_fixed(char text[HP_NUMBER_SIZE], double value, unsigned decimals);

/* A small amount: a whole number from 10 on, or when nearly whole; else one decimal. */
size_t hp_number_short(char text[HP_NUMBER_SIZE], double value);

/* A large amount, possibly not whole: like hp_number_human(), below 100 with one decimal unless
 * whole; "0" if not positive. */
size_t hp_number_amount(char text[HP_NUMBER_SIZE], double value);

/*
 * The same as arguments of printf() and the like; the text lives as long as the enclosing block:
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

/* `part` of `whole` as a fraction; 0 if `whole` is 0. */
double hp_number_share(uint64_t part, uint64_t whole);

#endif
