// SPDX-License-Identifier: MIT
#include "text/number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Digits are written from the end of a buffer towards its front, then moved: printf() is several
 * times slower, and a report of all blocks prints tens of millions of numbers. */
static size_t digits(char text[HP_NUMBER_SIZE], uint64_t value, unsigned base, unsigned group)
{
    char buffer[HP_NUMBER_SIZE];
    char *at = buffer + sizeof buffer;
    unsigned n = 0;
    do {
        if (group != 0 && n != 0 && n % group == 0)
            *--at = ',';
        *--at = "0123456789abcdef"[value % base];
        value /= base;
        n++;
    } while (value != 0);
    size_t length = (size_t)(buffer + sizeof buffer - at);
    memcpy(text, at, length);
    text[length] = 0;
    return length;
}

size_t hp_number_uint(char text[HP_NUMBER_SIZE], uint64_t value)
{
    return digits(text, value, 10, 0);
}

size_t hp_number_hex(char text[HP_NUMBER_SIZE], uint64_t value)
{
    char buffer[HP_NUMBER_SIZE];
    size_t length = digits(buffer, value, 16, 0);
    memcpy(text, "0x", 2);
    memcpy(text + 2, buffer, length + 1);
    return length + 2;
}

size_t hp_number_grouped(char text[HP_NUMBER_SIZE], uint64_t value)
{
    return digits(text, value, 10, 3);
}

/* `whole` and, if there are any, `decimals` digits of `fraction`. */
static size_t decimal(char text[HP_NUMBER_SIZE], uint64_t whole, uint64_t fraction,
                      unsigned decimals)
{
    size_t length = digits(text, whole, 10, 0);
    if (decimals == 0)
        return length;
    text[length++] = '.';
    for (unsigned i = decimals; i-- > 0; fraction /= 10)
        text[length + i] = (char)('0' + fraction % 10);
    length += decimals;
    text[length] = 0;
    return length;
}

size_t hp_number_human(char text[HP_NUMBER_SIZE], uint64_t value)
{
    if (value < 100000)
        return hp_number_grouped(text, value);
    static const char units[] = "kMGTPE";
    /* Rounding may carry into the next digit (9,995,000 is 10.0 M) or unit (999,500 is 1.00 M). */
    uint64_t unit = 1000;
    for (size_t i = 0; units[i]; i++, unit *= 1000) {
        unsigned decimals = value / unit < 10 ? 2u : value / unit < 100 ? 1u : 0u;
        uint64_t scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
        uint64_t step = unit / scale;
        uint64_t rounded = value / step + (value % step >= step - step / 2);
        if (rounded >= 1000 && decimals > 0) {
            decimals--;
            scale /= 10;
            rounded = (rounded + 5) / 10;
        }
        if (rounded / scale >= 1000 && units[i + 1])
            continue;
        size_t length = decimal(text, rounded / scale, rounded % scale, decimals);
        text[length++] = ' ';
        text[length++] = units[i];
        text[length] = 0;
        return length;
    }
    return hp_number_grouped(text, value);
}

size_t hp_number_percent(char text[HP_NUMBER_SIZE], double fraction)
{
    size_t length;
    if (fraction > 0 && fraction < 0.0005) {
        memcpy(text, "<0.1", 5);
        length = 4;
    } else {
        length = hp_number_fixed(text, fraction * 100, 1);
    }
    text[length++] = '%';
    text[length] = 0;
    return length;
}

size_t hp_number_fixed(char text[HP_NUMBER_SIZE], double value, unsigned decimals)
{
    if (value != value)
        value = 0;
    size_t sign = 0;
    if (value < 0) {
        value = -value;
        text[sign++] = '-';
    }
    if (value > 9e15)
        value = 9e15;
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    uint64_t whole = (uint64_t)value;
    uint64_t fraction = (uint64_t)((value - (double)whole) * (double)scale + 0.5);
    if (fraction >= scale) {
        fraction -= scale;
        whole++;
    }
    if (whole == 0 && fraction == 0)
        sign = 0; /* no "-0.0" */
    return sign + decimal(text + sign, whole, fraction, decimals);
}

size_t hp_number_short(char text[HP_NUMBER_SIZE], double value)
{
    bool whole = value >= 9.95 || fabs(value - floor(value + 0.5)) < 0.05;
    return hp_number_fixed(text, value, whole ? 0 : 1);
}

size_t hp_number_amount(char text[HP_NUMBER_SIZE], double value)
{
    if (value > 0 && value < 100 && value != floor(value))
        return hp_number_fixed(text, value, 1);
    return hp_number_human(text, !(value > 0)     ? 0
                                 : value < 1.8e19 ? (uint64_t)(value + 0.5)
                                                  : UINT64_MAX);
}

double hp_number_share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}
