// SPDX-License-Identifier: MIT
#include "report_fixture.h"

#include "text/number.h"
#include "text/strbuf.h"
#include "text/utf8.h"

#include <math.h>

static void expect_human(uint64_t value, const char *expected)
{
    char text[HP_NUMBER_SIZE];
    assert_int_equal(hp_number_human(text, value), strlen(expected));
    assert_string_equal(text, expected);
}

static void human_numbers_have_three_digits(void **state)
{
    (void)state;
    expect_human(0, "0");
    expect_human(999, "999");
    expect_human(1000, "1,000");
    expect_human(99999, "99,999");
    expect_human(100000, "100 k");
    expect_human(999499, "999 k");
    expect_human(999500, "1.00 M"); /* a carry picks the next unit */
    expect_human(1234567, "1.23 M");
    expect_human(1235000, "1.24 M"); /* half up */
    expect_human(9994999, "9.99 M");
    expect_human(9995000, "10.0 M");
    expect_human(99950000, "100 M");
    expect_human(999500000, "1.00 G");
    expect_human(UINT64_C(2560000000), "2.56 G");
    expect_human(UINT64_C(1) << 63, "9.22 E");
    expect_human(UINT64_MAX, "18.4 E");
}

/* Against floating point: within half of the last digit shown. */
static void human_numbers_are_nearest(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t value = seed >> (seed >> 58) % 48;
        if (value < 100000)
            continue;
        char text[HP_NUMBER_SIZE], unit;
        double shown;
        hp_number_human(text, value);
        assert_int_equal(sscanf(text, "%lf %c", &shown, &unit), 2);
        const char *units = "kMGTPE";
        double scale = pow(1000, (double)(strchr(units, unit) - units + 1));
        double exact = (double)value / scale;
        double step = exact < 9.995 ? 0.01 : exact < 99.95 ? 0.1 : 1;
        assert_true(fabs(shown - exact) <= step / 2 * 1.0000001);
        assert_true(shown < 1000);
    }
}

static void expect_percent(double fraction, const char *expected)
{
    char text[HP_NUMBER_SIZE];
    hp_number_percent(text, fraction);
    assert_string_equal(text, expected);
}

static void a_few_and_many(void **state)
{
    (void)state;
    assert_string_equal(HP_SHORT(0), "0");
    assert_string_equal(HP_SHORT(0.5), "0.5");
    assert_string_equal(HP_SHORT(0.96), "1");
    assert_string_equal(HP_SHORT(4.5), "4.5");
    assert_string_equal(HP_SHORT(9.94), "9.9");
    assert_string_equal(HP_SHORT(9.95), "10");
    assert_string_equal(HP_SHORT(41.4), "41");
    assert_string_equal(HP_AMOUNT(-1), "0");
    assert_string_equal(HP_AMOUNT(0), "0");
    assert_string_equal(HP_AMOUNT(2.25), "2.3");
    assert_string_equal(HP_AMOUNT(7), "7");
    assert_string_equal(HP_AMOUNT(100.5), "101");
    assert_string_equal(HP_AMOUNT(1234567.8), "1.23 M");
    assert_string_equal(HP_AMOUNT(1e30), "18.4 E");
}

static void percentages(void **state)
{
    (void)state;
    expect_percent(0, "0.0%");
    expect_percent(0.0000001, "<0.1%");
    expect_percent(0.0005, "0.1%");
    expect_percent(0.61249, "61.2%");
    expect_percent(0.9996, "100.0%");
    expect_percent(1, "100.0%");
    expect_percent(NAN, "0.0%");
}

static void exact_numbers(void **state)
{
    (void)state;
    char text[HP_NUMBER_SIZE];
    hp_number_grouped(text, UINT64_MAX);
    assert_string_equal(text, "18,446,744,073,709,551,615");
    hp_number_grouped(text, 1000);
    assert_string_equal(text, "1,000");
    hp_number_uint(text, UINT64_MAX);
    assert_string_equal(text, "18446744073709551615");
    hp_number_hex(text, UINT64_MAX);
    assert_string_equal(text, "0xffffffffffffffff");
    hp_number_hex(text, 0);
    assert_string_equal(text, "0x0");
    hp_number_fixed(text, -1.25, 1);
    assert_string_equal(text, "-1.3");
    hp_number_fixed(text, 0.05, 3);
    assert_string_equal(text, "0.050");
}

static void saturation(void **state)
{
    (void)state;
    assert_true(hp_saturating_add(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(hp_saturating_add(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(hp_saturating_mul(UINT64_C(1) << 63, 2) == UINT64_MAX);
    assert_true(hp_saturating_mul(UINT64_C(1) << 62, 2) == UINT64_C(1) << 63);
}

static void expect_cut(const char *text, size_t columns, enum hp_cut where, const char *expected)
{
    struct hp_strbuf buffer = {0};
    hp_strbuf_cut(&buffer, text, columns, where);
    assert_string_equal(hp_strbuf_text(&buffer), expected);
    assert_true(hp_utf8_width(expected) <= columns);
    hp_strbuf_fini(&buffer);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    expect_cut("abcdef", 6, HP_CUT_MIDDLE, "abcdef");
    expect_cut("abcdefg", 6, HP_CUT_MIDDLE, "abc…fg");
    expect_cut("abcdefg", 5, HP_CUT_MIDDLE, "ab…fg");
    expect_cut("abcdefg", 5, HP_CUT_END, "abcd…");
    expect_cut("abcdefg", 1, HP_CUT_MIDDLE, "…");
    expect_cut("ééééééé", 5, HP_CUT_MIDDLE, "éé…éé");
    expect_cut("漢字漢字漢字", 6, HP_CUT_MIDDLE, "漢…字"); /* two columns each */
    expect_cut("", 1, HP_CUT_END, "");
    expect_cut("/usr/include/c++/12/bits/stl_tree.h:19", 38, HP_CUT_PATH,
               "/usr/include/c++/12/bits/stl_tree.h:19");
    expect_cut("/usr/include/c++/12/bits/stl_tree.h:19", 37, HP_CUT_PATH,
               "…/include/c++/12/bits/stl_tree.h:19");
    expect_cut("/usr/include/c++/12/bits/stl_tree.h:19", 15, HP_CUT_PATH, "…/stl_tree.h:19");
    expect_cut("/usr/include/c++/12/bits/stl_tree.h:19", 14, HP_CUT_PATH, "stl_tree.h:19");
    expect_cut("/usr/include/c++/12/bits/stl_tree.h:19", 9, HP_CUT_PATH, "stl_…h:19");
    expect_cut("src/report/text.c", 12, HP_CUT_PATH, "…/text.c");
    expect_cut("[anon 2] and more", 9, HP_CUT_PATH, "[ano…more");
    expect_cut("/", 1, HP_CUT_PATH, "/");
}

static void texts_are_formatted(void **state)
{
    (void)state;
    struct hp_strbuf buffer = {0};
    hp_strbuf_format(&buffer, "%s of %s", HP_GROUPED(1234567), HP_HUMAN(2000000));
    hp_strbuf_format(&buffer, ": %s, %s, %s%c", HP_PERCENT(0.5), HP_FIXED(1.25, 1), HP_HEX(255),
                     '.');
    assert_string_equal(hp_strbuf_text(&buffer), "1,234,567 of 2.00 M: 50.0%, 1.3, 0xff.");
    for (int n = 254; n < 258; n++) { /* around the size that needs no memory */
        hp_strbuf_clear(&buffer);
        hp_strbuf_format(&buffer, "%*s", n, "|");
        assert_int_equal(buffer.length, n);
        assert_int_equal(buffer.data[n - 1], '|');
    }
    assert_false(buffer.failed);
    hp_strbuf_fini(&buffer);
}

static void names_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct hp_strbuf buffer = {0};
    hp_strbuf_clean(&buffer, "a\033[2Jb\n\x7f\xc2\x9b\xe2\x80\xae\xff é");
    assert_string_equal(hp_strbuf_text(&buffer), "a?[2Jb????\xef\xbf\xbd é");
    hp_strbuf_fini(&buffer);
}

/* Every code point survives encoding and decoding; every two bytes are decoded to something. */
static void utf8_round_trip(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        char bytes[5] = {0};
        size_t n = hp_utf8_encode(code, bytes);
        const char *at = bytes;
        assert_int_equal(hp_utf8_next(&at), code);
        assert_ptr_equal(at, bytes + n);
    }
    for (unsigned i = 1; i < 65536; i++) {
        char bytes[3] = {(char)(i & 0xff), (char)(i >> 8), 0};
        const char *at = bytes;
        while (*at) {
            const char *before = at;
            hp_utf8_next(&at);
            assert_true(at > before && at <= bytes + 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(human_numbers_have_three_digits),
        cmocka_unit_test(human_numbers_are_nearest),
        cmocka_unit_test(a_few_and_many),
        cmocka_unit_test(percentages),
        cmocka_unit_test(exact_numbers),
        cmocka_unit_test(saturation),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(texts_are_formatted),
        cmocka_unit_test(names_cannot_steer_the_terminal),
        cmocka_unit_test(utf8_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
