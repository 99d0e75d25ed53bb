// SPDX-License-Identifier: MIT
/*
 * The lengths and flows that src/isa/x86_fast.c knows against those of Zydis: every opcode with
 * every ModRM byte, with the prefixes that it knows.
 */
#include "hotpath/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESS 0x400000
#define LENGTH  15

static struct hp_decoder *decoder;
static uint64_t n_valid;

static void compare(const uint8_t *code, size_t size)
{
    struct hp_insn fast, full;
    enum hp_err err = hp_decode(decoder, HP_MODE_DEFAULT, ADDRESS, code, size, true, &fast);
    enum hp_err expected = hp_decode(decoder, HP_MODE_DEFAULT, ADDRESS, code, size, false, &full);
    if (err != expected || fast.length != full.length || fast.flow != full.flow ||
        fast.flags != full.flags || fast.target != full.target)
        fail_msg("%02x %02x %02x %02x %02x, %zu bytes: %d %d %d %#llx, not %d %d %d %#llx", code[0],
                 code[1], code[2], code[3], code[4], size, err, fast.length, fast.flow,
                 (unsigned long long)fast.target, expected, full.length, full.flow,
                 (unsigned long long)full.target);
    n_valid += err == HP_OK;
    if (err == HP_OK && size == LENGTH)
        compare(code, full.length - 1u);
}

/* All bytes that can follow `at` bytes of prefixes. */
static void compare_opcodes(uint8_t *code, size_t at)
{
    for (unsigned i = 0; i < 1 << 17; i++) {
        size_t end = at;
        if (i >> 16)
            code[end++] = 0x0f;
        code[end++] = (uint8_t)(i >> 8);
        code[end++] = (uint8_t)i;
        memset(code + end, 0x85, LENGTH - end); /* of a SIB: no base */
        compare(code, LENGTH);
    }
}

static void compare_all(void)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3};
    static const uint8_t rexes[] = {0, 0x40, 0x41, 0x44, 0x48, 0x4f};
    uint8_t code[LENGTH + 1] = {0};
    assert_int_equal(hp_decoder_new(HP_ARCH_X86_64, &decoder), HP_OK);
    n_valid = 0;
    for (unsigned p = 0; p < sizeof prefixes; p++)
        for (unsigned r = 0; r < sizeof rexes; r++) {
            size_t at = 0;
            if (prefixes[p])
                code[at++] = prefixes[p];
            if (rexes[r])
                code[at++] = rexes[r];
            compare_opcodes(code, at);
        }
    assert_true(n_valid > 1000000);
    hp_decoder_free(decoder);
}

static void every_opcode_is_as_zydis_has_it(void **state)
{
    (void)state;
    compare_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_is_as_zydis_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
