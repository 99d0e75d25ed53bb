// SPDX-License-Identifier: MIT
/*
 * State, the same in coder and decoder after each address; all zero at the start:
 *
 *   operands[place]  the history of the operand: its last address, its stride, its distance from a
 *                    recent address, and which rule held the last time
 *   recent[]         the last addresses of all operands, a ring
 *   after[], next[]  by place and the previous address (of any operand, of this one): the address
 *                    that followed
 *
 * The two tables are for addresses that nothing simpler predicts, and only those are entered.
 *
 * The code has one byte for each address. For those that were not predicted the differences follow,
 * in byte planes.
 */
#include "stream/address_codec.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BITS 17
#define RECENT     16
#define PLANES     8
#define HEADER     (4 * PLANES) /* bytes: the sizes of the planes */

enum rule {
    RULE_LAST,     /* where it was */
    RULE_STRIDE,   /* one stride on */
    RULE_RELATIVE, /* at the same distance from a recent address as the last time */
    RULE_AFTER,    /* where it was the last time after the same address */
    RULE_NEXT,     /* where it was the last time after its own last address */
    RULES
};

/* The byte of an address: 0 for the rule that held the last time, then the rules, then the bases of
 * a difference, each with a number of bytes (0 to 8). */
#define CODE_RULE  1
#define CODE_BASE  (CODE_RULE + RULES)
#define BASES      (RECENT + 1) /* the recent ones, and the operand's own last */
#define BASE_CODES (PLANES + 1)
#define CODES      (CODE_BASE + BASES * BASE_CODES)

struct operand {
    uint64_t last;
    uint64_t stride; /* the last two differences, if equal; else an older one */
    uint64_t step;   /* the last difference */
    uint64_t distance;
    uint8_t slot; /* `distance` is from recent[slot], 0: the latest */
    uint8_t rule;
};

struct hp_address_codec {
    struct operand operands[HP_ADDRESS_PLACES];
    uint64_t after[1 << TABLE_BITS], next[1 << TABLE_BITS];
    uint64_t recent[RECENT];
    unsigned at; /* of the latest in `recent` */
    /* Encoder only. */
    size_t room;
    uint8_t *codes;
    uint8_t *planes[PLANES];
    size_t n_planes[PLANES];
    uint8_t *code;
    size_t cap_code;
};

enum hp_err hp_address_codec_new(struct hp_address_codec **codec)
{
    *codec = calloc(1, sizeof **codec);
    return *codec ? HP_OK : hp_fail_nomem();
}

static void free_streams(struct hp_address_codec *codec)
{
    free(codec->codes);
    codec->codes = NULL;
    for (unsigned i = 0; i < PLANES; i++) {
        free(codec->planes[i]);
        codec->planes[i] = NULL;
    }
    codec->room = 0;
}

void hp_address_codec_free(struct hp_address_codec *codec)
{
    if (!codec)
        return;
    free_streams(codec);
    free(codec->code);
    free(codec);
}

size_t hp_address_code_bound(size_t n)
{
    return HEADER + n * (1 + PLANES);
}

/* --- The model -------------------------------------------------------------------------------- */

static void reset(struct hp_address_codec *codec)
{
    memset(codec->operands, 0, sizeof codec->operands);
    memset(codec->after, 0, sizeof codec->after);
    memset(codec->next, 0, sizeof codec->next);
    memset(codec->recent, 0, sizeof codec->recent);
    codec->at = 0;
}

static inline uint64_t recent(const struct hp_address_codec *codec, unsigned slot)
{
    return codec->recent[(codec->at - slot) % RECENT];
}

static inline uint32_t hash(uint32_t place, uint64_t address)
{
    uint64_t h = (address ^ (uint64_t)place << 48) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> (64 - TABLE_BITS));
}

static inline uint64_t *after_entry(struct hp_address_codec *codec, uint32_t place)
{
    return &codec->after[hash(place, recent(codec, 0))];
}

static inline uint64_t *next_entry(struct hp_address_codec *codec, uint32_t place,
                                   const struct operand *operand)
{
    return &codec->next[hash(place, operand->last)];
}

static inline uint64_t predict(struct hp_address_codec *codec, uint32_t place, unsigned rule)
{
    const struct operand *operand = &codec->operands[place];
    switch (rule) {
    case RULE_LAST: return operand->last;
    case RULE_STRIDE: return operand->last + operand->stride;
    case RULE_RELATIVE: return recent(codec, operand->slot) + operand->distance;
    case RULE_AFTER: return *after_entry(codec, place);
    default: return *next_entry(codec, place, operand);
    }
}

static inline uint64_t magnitude(uint64_t difference)
{
    return difference >> 63 ? 0 - difference : difference;
}

/* The nearest recent address. */
static unsigned nearest(const struct hp_address_codec *codec, uint64_t address)
{
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < RECENT; i++) {
        uint64_t far = magnitude(address - recent(codec, i));
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

/* Updates the state with an address for which `rule` held (RULES: none did). */
static inline void learn(struct hp_address_codec *codec, uint32_t place, uint64_t address,
                         unsigned rule)
{
    struct operand *operand = &codec->operands[place];
    if (rule >= RULE_AFTER) {
        *after_entry(codec, place) = address;
        *next_entry(codec, place, operand) = address;
    }
    if (rule >= RULE_AFTER && recent(codec, operand->slot) + operand->distance != address) {
        operand->slot = (uint8_t)nearest(codec, address);
        operand->distance = address - recent(codec, operand->slot);
    }
    uint64_t step = address - operand->last;
    if (step == operand->step)
        operand->stride = step;
    operand->step = step;
    operand->last = address;
    if (rule < RULES)
        operand->rule = (uint8_t)rule;
    codec->at++;
    codec->recent[codec->at % RECENT] = address;
}

/* --- Encoding --------------------------------------------------------------------------------- */

static enum hp_err make_room(struct hp_address_codec *codec, size_t n)
{
    if (n <= codec->room)
        return HP_OK;
    free_streams(codec);
    bool all = (codec->codes = malloc(n)) != NULL;
    for (unsigned i = 0; i < PLANES; i++)
        all = (codec->planes[i] = malloc(n)) != NULL && all;
    if (!all) {
        free_streams(codec);
        return hp_fail_nomem();
    }
    codec->room = n;
    return HP_OK;
}

/* The rule that predicts the address; RULES: none. */
static inline unsigned find_rule(struct hp_address_codec *codec, uint32_t place, uint64_t address)
{
    unsigned rule = 0;
    while (rule < RULES && predict(codec, place, rule) != address)
        rule++;
    return rule;
}

/* Writes the difference to the nearest known address; returns its code. */
static uint8_t put_difference(struct hp_address_codec *codec, uint32_t place, uint64_t address)
{
    unsigned base = nearest(codec, address);
    uint64_t difference = address - recent(codec, base);
    uint64_t own = address - codec->operands[place].last;
    if (magnitude(own) <= magnitude(difference)) {
        base = RECENT;
        difference = own;
    }
    uint64_t zigzag = difference << 1 ^ (0 - (difference >> 63));
    unsigned n = 0;
    for (; zigzag; zigzag >>= 8, n++)
        codec->planes[n][codec->n_planes[n]++] = (uint8_t)zigzag;
    return (uint8_t)(CODE_BASE + base * BASE_CODES + n);
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static enum hp_err assemble(struct hp_address_codec *codec, size_t n, const uint8_t **bytes,
                            size_t *size)
{
    size_t total = HEADER + n;
    for (unsigned i = 0; i < PLANES; i++)
        total += codec->n_planes[i];
    HP_TRY(hp_grow(&codec->code, &codec->cap_code, total, 1));
    uint8_t *to = codec->code + HEADER;
    if (n)
        memcpy(to, codec->codes, n);
    to += n;
    for (unsigned i = 0; i < PLANES; i++) {
        put32(codec->code + 4 * i, (uint32_t)codec->n_planes[i]);
        if (codec->n_planes[i])
            memcpy(to, codec->planes[i], codec->n_planes[i]);
        to += codec->n_planes[i];
    }
    *bytes = codec->code;
    *size = total;
    return HP_OK;
}

enum hp_err hp_address_encode(struct hp_address_codec *codec, const uint16_t *places,
                              const uint64_t *addresses, size_t n, const uint8_t **bytes,
                              size_t *size)
{
    if (n > HP_ADDRESS_CODEC_MAX)
        return hp_fail(HP_ERR_INVALID, "%zu addresses are too many to code at once", n);
    HP_TRY(make_room(codec, n));
    reset(codec);
    memset(codec->n_planes, 0, sizeof codec->n_planes);
    for (size_t i = 0; i < n; i++) {
        uint32_t place = places[i];
        unsigned rule = codec->operands[place].rule;
        if (predict(codec, place, rule) == addresses[i]) {
            codec->codes[i] = 0;
        } else {
            rule = find_rule(codec, place, addresses[i]);
            codec->codes[i] = rule < RULES ? (uint8_t)(CODE_RULE + rule)
                                           : put_difference(codec, place, addresses[i]);
        }
        learn(codec, place, addresses[i], rule);
    }
    return assemble(codec, n, bytes, size);
}

/* --- Decoding --------------------------------------------------------------------------------- */

static uint32_t get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

struct streams {
    const uint8_t *codes;
    const uint8_t *plane[PLANES], *plane_end[PLANES];
};

static enum hp_err split(const uint8_t *bytes, size_t size, size_t n, struct streams *in)
{
    uint64_t total = HEADER + (uint64_t)n;
    if (size < total)
        return hp_fail(HP_ERR_FORMAT, "coded addresses: %zu bytes are too few", size);
    in->codes = bytes + HEADER;
    for (unsigned i = 0; i < PLANES; i++) {
        uint32_t length = get32(bytes + 4 * i);
        if (length > size - total)
            return hp_fail(HP_ERR_FORMAT, "coded addresses: more than %zu bytes", size);
        in->plane[i] = bytes + total;
        total += length;
        in->plane_end[i] = bytes + total;
    }
    if (total != size)
        return hp_fail(HP_ERR_FORMAT, "coded addresses: less than %zu bytes", size);
    return HP_OK;
}

/* The address with a difference's code; false when the planes are too short. */
static bool get_difference(const struct hp_address_codec *codec, struct streams *in, uint32_t place,
                           unsigned code, uint64_t *address)
{
    unsigned base = (code - CODE_BASE) / BASE_CODES, n = (code - CODE_BASE) % BASE_CODES;
    uint64_t zigzag = 0;
    for (unsigned i = 0; i < n; i++) {
        if (in->plane[i] == in->plane_end[i])
            return false;
        zigzag |= (uint64_t)*in->plane[i]++ << (8 * i);
    }
    uint64_t from = base == RECENT ? codec->operands[place].last : recent(codec, base);
    *address = from + (zigzag >> 1 ^ (0 - (zigzag & 1)));
    return true;
}

enum hp_err hp_address_decode(struct hp_address_codec *codec, const uint8_t *bytes, size_t size,
                              const uint16_t *places, uint64_t *addresses, size_t n)
{
    if (n > HP_ADDRESS_CODEC_MAX)
        return hp_fail(HP_ERR_INVALID, "%zu addresses are too many to decode at once", n);
    struct streams in = {0};
    HP_TRY(split(bytes, size, n, &in));
    reset(codec);
    for (size_t i = 0; i < n; i++) {
        uint32_t place = places[i];
        unsigned code = in.codes[i];
        unsigned rule = code ? code - CODE_RULE : codec->operands[place].rule;
        if (code < CODE_BASE) {
            addresses[i] = predict(codec, place, rule);
        } else {
            rule = RULES;
            if (code >= CODES || !get_difference(codec, &in, place, code, &addresses[i]))
                return hp_fail(HP_ERR_FORMAT, "coded addresses: a bad one at %zu of %zu", i, n);
        }
        learn(codec, place, addresses[i], rule);
    }
    for (unsigned i = 0; i < PLANES; i++)
        if (in.plane[i] != in.plane_end[i])
            return hp_fail(HP_ERR_FORMAT, "coded addresses: more than %zu", n);
    return HP_OK;
}
