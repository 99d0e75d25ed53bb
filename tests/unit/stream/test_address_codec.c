// SPDX-License-Identifier: MIT
#include "stream/address_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t random32(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) ^ (uint32_t)(seed >> 11);
}

static uint32_t below(uint32_t n)
{
    return random32() % n;
}

/* --- A slow reader of the format, straight from its description / ----------------------------- */

struct place_state {
    uint64_t last, stride, step, distance;
    unsigned slot, rule;
};

struct reference {
    struct place_state places[65536];
    uint64_t after[1 << 17], next[1 << 17];
};

static uint32_t reference_hash(uint32_t place, uint64_t address)
{
    return (uint32_t)(((address ^ (uint64_t)place << 48) * 0x9e3779b97f4a7c15u) >> 47);
}

/* The address `back` places before position `at`; 0 before the start. */
static uint64_t before(const uint64_t *addresses, size_t at, unsigned back)
{
    return at > back ? addresses[at - 1 - back] : 0;
}

static uint64_t absolute(uint64_t difference)
{
    return (int64_t)difference < 0 ? 0 - difference : difference;
}

static uint64_t reference_rule(struct reference *r, unsigned rule, uint32_t place,
                               const uint64_t *addresses, size_t at)
{
    struct place_state *p = &r->places[place];
    const uint64_t answers[] = {
        p->last,
        p->last + p->stride,
        before(addresses, at, p->slot) + p->distance,
        r->after[reference_hash(place, before(addresses, at, 0))],
        r->next[reference_hash(place, p->last)],
    };
    return answers[rule];
}

static void reference_learn(struct reference *r, unsigned rule, uint32_t place,
                            const uint64_t *addresses, size_t at)
{
    struct place_state *p = &r->places[place];
    uint64_t address = addresses[at];
    if (rule >= 3) {
        r->after[reference_hash(place, before(addresses, at, 0))] = address;
        r->next[reference_hash(place, p->last)] = address;
        if (before(addresses, at, p->slot) + p->distance != address) {
            unsigned best = 0;
            for (unsigned i = 1; i < 16; i++)
                if (absolute(address - before(addresses, at, i)) <
                    absolute(address - before(addresses, at, best)))
                    best = i;
            p->slot = best;
            p->distance = address - before(addresses, at, best);
        }
    }
    if (address - p->last == p->step)
        p->stride = p->step;
    p->step = address - p->last;
    p->last = address;
    p->rule = rule < 5 ? rule : p->rule;
}

/* Decodes the first `n` addresses. */
static void reference_decode(const uint8_t *bytes, const uint16_t *places, uint64_t *addresses,
                             size_t n)
{
    struct reference *r = calloc(1, sizeof *r);
    const uint8_t *plane[8], *at = bytes + 32 + n;
    for (unsigned i = 0; i < 8; i++) {
        plane[i] = at;
        at += bytes[4 * i] + 256u * bytes[4 * i + 1] + 65536u * bytes[4 * i + 2];
    }
    for (size_t i = 0; i < n; i++) {
        unsigned code = bytes[32 + i], rule = code ? code - 1 : r->places[places[i]].rule;
        if (code < 6) {
            addresses[i] = reference_rule(r, rule, places[i], addresses, i);
        } else {
            unsigned base = (code - 6) / 9, size = (code - 6) % 9;
            uint64_t zigzag = 0;
            for (unsigned b = 0; b < size; b++)
                zigzag += (uint64_t)*plane[b]++ << 8 * b;
            uint64_t from = base == 16 ? r->places[places[i]].last : before(addresses, i, base);
            addresses[i] = zigzag & 1 ? from - zigzag / 2 - 1 : from + zigzag / 2;
            rule = 5;
        }
        reference_learn(r, rule, places[i], addresses, i);
    }
    free(r);
}

/* --- Sequences -------------------------------------------------------------------------------- */

enum { N = 20000 };
static uint16_t places[N];
static uint64_t made[N], read_back[N];

/* What programs do, all mixed: the same, strides, a stack, lists gone through again, anything. */
static void make(unsigned kind)
{
    static const uint64_t extremes[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 2 + 1};
    uint64_t stack = 0x7fffffffe000, list[64];
    for (unsigned i = 0; i < 64; i++)
        list[i] = 0x55550000 + 16ull * below(100000);
    for (size_t i = 0; i < N; i++) {
        unsigned what = kind < 6 ? kind : below(6);
        places[i] = (uint16_t)(what * 1000 + below(kind < 6 ? 3 : 200));
        switch (what) {
        case 0: made[i] = 0x600000 + 8u * places[i]; break;
        case 1: made[i] = 0x700000 + 24 * i; break;
        case 2:
            stack += below(2) ? 8 : UINT64_C(0) - 8;
            made[i] = stack;
            break;
        case 3: made[i] = list[i % 64]; break;
        case 4: made[i] = extremes[below(5)]; break;
        default: made[i] = (uint64_t)random32() << 32 | random32();
        }
    }
}

static void what_is_coded_comes_back(void **state)
{
    (void)state;
    struct hp_address_codec *codec;
    assert_int_equal(hp_address_codec_new(&codec), HP_OK);
    for (unsigned kind = 0; kind < 8; kind++) {
        for (size_t n = 0; n <= N; n = n ? n * 7 + 1 : 1) {
            const uint8_t *bytes;
            size_t size;
            make(kind);
            assert_int_equal(hp_address_encode(codec, places, made, n, &bytes, &size), HP_OK);
            assert_true(size <= hp_address_code_bound(n));
            uint8_t *copy = malloc(size);
            memcpy(copy, bytes, size);
            memset(read_back, 0xaa, sizeof read_back);
            assert_int_equal(hp_address_decode(codec, copy, size, places, read_back, n), HP_OK);
            assert_memory_equal(read_back, made, n * 8);
            memset(read_back, 0xaa, sizeof read_back);
            reference_decode(copy, places, read_back, n);
            assert_memory_equal(read_back, made, n * 8);
            free(copy);
        }
    }
    hp_address_codec_free(codec);
}

static void what_can_be_foretold_is_a_zero(void **state)
{
    (void)state;
    struct hp_address_codec *codec;
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(hp_address_codec_new(&codec), HP_OK);
    /* Of three operands: one stays, one goes on, one is a field of what the second points to. */
    for (size_t i = 0; i < N; i++) {
        const uint64_t addresses[] = {0x1000, 0x2000 + 8 * (i / 3), 0x2004 + 8 * (i / 3)};
        places[i] = (uint16_t)(i % 3);
        made[i] = addresses[i % 3];
    }
    assert_int_equal(hp_address_encode(codec, places, made, N, &bytes, &size), HP_OK);
    assert_true(size < 32 + N + 16);
    unsigned others = 0;
    for (size_t i = 0; i < N; i++)
        others += bytes[32 + i] != 0;
    assert_true(others <= 10);
    hp_address_codec_free(codec);
}

static void any_bytes_are_safe(void **state)
{
    (void)state;
    enum { FEW = 300 };
    struct hp_address_codec *codec;
    const uint8_t *bytes;
    size_t size;
    int bad = 0;
    assert_int_equal(hp_address_codec_new(&codec), HP_OK);
    for (unsigned i = 0; i < 400; i++) {
        make(i % 8);
        assert_int_equal(hp_address_encode(codec, places, made, FEW, &bytes, &size), HP_OK);
        size_t length = i % 3 == 0 ? below((uint32_t)size) : size;
        uint8_t *copy = malloc(length + 1);
        memcpy(copy, bytes, length);
        for (unsigned hits = 1 + below(5); hits && length; hits--)
            copy[below((uint32_t)length)] = (uint8_t)random32();
        uint64_t *to = malloc(FEW * sizeof *to);
        enum hp_err err = hp_address_decode(codec, copy, length, places, to, FEW);
        assert_true(err == HP_OK || err == HP_ERR_FORMAT);
        bad += err == HP_ERR_FORMAT;
        free(to);
        free(copy);
    }
    assert_true(bad > 100);
    hp_address_codec_free(codec);
}

static void too_many_are_refused(void **state)
{
    (void)state;
    struct hp_address_codec *codec;
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(hp_address_codec_new(&codec), HP_OK);
    assert_int_equal(
        hp_address_encode(codec, places, made, HP_ADDRESS_CODEC_MAX + 1, &bytes, &size),
        HP_ERR_INVALID);
    assert_int_equal(hp_address_decode(codec, NULL, 0, places, read_back, HP_ADDRESS_CODEC_MAX + 1),
                     HP_ERR_INVALID);
    hp_address_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_coded_comes_back),
        cmocka_unit_test(what_can_be_foretold_is_a_zero),
        cmocka_unit_test(any_bytes_are_safe),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
