// SPDX-License-Identifier: MIT
/* Settings as text: each type of value, presets, what is written, what is refused. */
#include "base/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct config {
    uint32_t number, ways;
    uint64_t count, size, power;
    bool flag;
    uint8_t choice;
};

static const char *const words[] = {"red", "green", NULL};

#define AT(member) HP_MEMBER(struct config, member)
static const struct hp_setting keys[] = {
    {"number", HP_SETTING_NUMBER, AT(number), 1, 100, "a number"},
    {"ways", HP_SETTING_NUMBER, AT(ways), 1, 8, "a number or full", .word = "full"},
    {"count", HP_SETTING_COUNT, AT(count), 0, UINT64_MAX, "in thousands"},
    {"size", HP_SETTING_SIZE, AT(size), 0, UINT64_MAX, "in 1024"},
    {"power", HP_SETTING_POWER, AT(power), 1, 1 << 20, "a power of two"},
    {"choice", HP_SETTING_CHOICE, AT(choice), 0, 0, "a word", words},
    {"flag", HP_SETTING_FLAG, AT(flag), 0, 0, "it is there"},
};
static const struct config small = {.number = 1, .power = 1}, large = {.number = 50, .power = 64};
static const struct hp_preset presets[] = {
    {"small", &small, "of one", NULL},
    {"large", &large, "of many", NULL},
    {"sized", &large, "of so many", "number"},
};
static const struct hp_model model = {"a thing", "one", presets, 3, keys, 7};
static const struct hp_model *const models[] = {&model};
static const struct hp_model_family family = {.name = "things",
                                              .label = "thing",
                                              .size = sizeof(struct config),
                                              .models = models,
                                              .n_models = 1,
                                              .initial = &small};

static struct config read_as(const char *text)
{
    struct config config;
    struct hp_said said;
    if (hp_settings_parse(&family, text, &config, &said) != HP_OK)
        fail_msg("%s: %s", text, hp_error_text());
    return config;
}

static void values_of_every_type_are_read(void **state)
{
    (void)state;
    assert_int_equal(read_as("small").number, 1);
    assert_int_equal(read_as("large").number, 50);
    assert_int_equal(read_as("sized:7").number, 7);
    assert_int_equal(read_as("sized:7,number=9").number, 9);
    assert_int_equal(read_as("number=9").number, 9);
    assert_int_equal(read_as("number=9").power, 1);
    assert_int_equal(read_as("small,ways=8").ways, 8);
    assert_int_equal(read_as("small,ways=8,ways=full").ways, 0);
    assert_int_equal(read_as("small,count=3K").count, 3000);
    assert_int_equal(read_as("small,count=3G").count, 3000000000u);
    assert_int_equal(read_as("small,size=3K").size, 3072);
    assert_int_equal(read_as("small,size=18446744073709551615").size, UINT64_MAX);
    assert_int_equal(read_as("small,power=1M").power, 1 << 20);
    assert_int_equal(read_as("small,choice=green").choice, 1);
    assert_true(read_as("small,flag").flag);
    assert_false(read_as("small").flag);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "thing: there is no ''; there are small, large, sized:N"},
        {"tiny", "thing: there is no 'tiny'; there are small, large, sized:N"},
        {"small:1", "thing: small takes no number"},
        {"sized", "thing: sized needs a number: sized:N"},
        {"sized:", "thing: number: '' is not a number"},
        {"sized:101", "thing: number: 101 is not between 1 and 100"},
        {"small,large", "thing: 'large' has to come first"},
        {"small,", "thing: a thing has no setting ''; there are number, ways, count, size, power, "
                   "choice, flag"},
        {"small,number", "thing: 'number' needs a value"},
        {"small,flag=1", "thing: 'flag' takes no value"},
        {"small,number=1K", "thing: number: '1K' is not a number"},
        {"small,number=+1", "thing: number: '+1' is not a number"},
        {"small,count=1KK", "thing: count: '1KK' is not a number"},
        {"small,count=1k", "thing: count: '1k' is not a number"},
        {"small,count=99999999999999999999",
         "thing: count: 99999999999999999999 is not between 0 and 18446744073709551615"},
        {"small,size=18014398509481984K",
         "thing: size: 18014398509481984K is not between 0 and 18446744073709551615"},
        {"small,power=3", "thing: power: 3 is not a power of two"},
        {"small,ways=0", "thing: ways: 0 is not between 1 and 8"},
        {"small,ways=Full", "thing: ways: 'Full' is not a number"},
        {"small,choice=", "thing: choice: '' is none of red, green"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct config config;
        struct hp_said said;
        assert_int_equal(hp_settings_parse(&family, wrong[i][0], &config, &said), HP_ERR_INVALID);
        assert_string_equal(hp_error_text(), wrong[i][1]);
    }
}

static void what_was_said_is_known(void **state)
{
    (void)state;
    struct config config;
    struct hp_said said;
    assert_int_equal(hp_settings_parse(&family, "sized:3,flag", &config, &said), HP_OK);
    assert_ptr_equal(said.preset, &presets[2]);
    assert_true(hp_settings_said(&said, "number"));
    assert_true(hp_settings_said(&said, "flag"));
    assert_false(hp_settings_said(&said, "ways"));
    assert_false(hp_settings_said(&said, "no such"));
    assert_int_equal(hp_settings_parse(&family, "count=1", &config, &said), HP_OK);
    assert_null(said.preset);
}

static void only_what_differs_is_written(void **state)
{
    (void)state;
    char text[200] = "x", cut[8] = "x";
    struct config config = {
        .number = 1, .ways = 0, .count = 3000, .power = 8, .choice = 1, .flag = true};
    struct config base = small;
    base.ways = 4;
    hp_settings_write(&model, &config, &base, text, sizeof text);
    assert_string_equal(text, "x,ways=full,count=3000,power=8,choice=green,flag");
    assert_int_equal(hp_settings_differences(&model, &config, &base), 5);
    assert_int_equal(hp_settings_differences(&model, &config, &config), 0);
    hp_settings_write(&model, &config, &base, cut, sizeof cut);
    assert_string_equal(cut, "x,ways=");
}

static void values_made_by_hand_are_checked(void **state)
{
    (void)state;
    struct config config = small;
    for (unsigned i = 0; i < model.n_keys; i++)
        assert_int_equal(hp_setting_check(&keys[i], "thing", &config), HP_OK);
    config = (struct config){.number = 0, .ways = 9, .power = 6, .choice = 2};
    static const char *const errors[] = {"thing: number: 0 is not between 1 and 100",
                                         "thing: ways: 9 is not between 1 and 8",
                                         NULL,
                                         NULL,
                                         "thing: power: 6 is not a power of two",
                                         "thing: no choice has the number 2",
                                         NULL};
    for (unsigned i = 0; i < model.n_keys; i++) {
        assert_int_equal(hp_setting_check(&keys[i], "thing", &config),
                         errors[i] ? HP_ERR_INVALID : HP_OK);
        if (errors[i])
            assert_string_equal(hp_error_text(), errors[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_read),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(what_was_said_is_known),
        cmocka_unit_test(only_what_differs_is_written),
        cmocka_unit_test(values_made_by_hand_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
