// SPDX-License-Identifier: MIT
#include "text/utf8.h"

/* For a multi-byte sequence: how many bytes follow `lead`, and the range of the first of them (this
 * excludes overlong forms, surrogates and values above U+10FFFF). 0: not a lead byte. */
static unsigned sequence(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 1;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (lead == 0xe0)
            *low = 0xa0;
        else if (lead == 0xed)
            *high = 0x9f;
        return 2;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (lead == 0xf0)
            *low = 0x90;
        else if (lead == 0xf4)
            *high = 0x8f;
        return 3;
    }
    return 0;
}

uint32_t hp_utf8_next(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    unsigned char lead = *at++;
    *text = (const char *)at;
    if (lead < 0x80)
        return lead;
    unsigned char low, high;
    unsigned follow = sequence(lead, &low, &high);
    if (follow == 0)
        return HP_UTF8_REPLACEMENT;
    uint32_t code = lead & (0x3fu >> follow);
    for (unsigned i = 0; i < follow; i++) {
        if (*at < low || *at > high) {
            *text = (const char *)at;
            return HP_UTF8_REPLACEMENT;
        }
        code = code << 6 | (*at++ & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    *text = (const char *)at;
    return code;
}

size_t hp_utf8_encode(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    bytes[0] = (char)(0xf0 | (code >> 18 & 7));
    bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

struct range {
    uint32_t low, high;
};

/* wcwidth() would depend on the locale; identifiers and paths need no more than these ranges. */
static const struct range combining[] = {
    {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
static const struct range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

static int in_ranges(uint32_t code, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].low && code <= ranges[i].high)
            return 1;
    return 0;
}

size_t hp_utf8_columns(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (in_ranges(code, combining, sizeof combining / sizeof *combining))
        return 0;
    return in_ranges(code, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

size_t hp_utf8_width(const char *text)
{
    size_t width = hp_utf8_plain(text);
    text += width;
    while (*text)
        width += hp_utf8_columns(hp_utf8_next(&text));
    return width;
}
