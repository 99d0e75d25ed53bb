// SPDX-License-Identifier: MIT
/* The table of models: complete, and true. */
#include "profiler/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is_sentence(const char *text)
{
    assert_non_null(text);
    assert_true(strlen(text) > 3 && strlen(text) <= 90);
    assert_int_not_equal(text[strlen(text) - 1], '.');
}

static void check_key(const struct hp_model *model, const struct hp_setting *key)
{
    char values[200];
    is_sentence(key->help);
    assert_ptr_equal(hp_setting_find(model, key->key), key);
    assert_true(key->size == 1 || key->size == 4 || key->size == 8);
    assert_true(key->type != HP_SETTING_CHOICE || key->choices);
    hp_setting_values(key, values, sizeof values);
    assert_true(key->type == HP_SETTING_FLAG || *values);
}

/* Each value of a preset is one that its key can have. */
static void check_preset(const struct hp_model_family *family, const struct hp_model *model,
                         const struct hp_preset *preset)
{
    is_sentence(preset->help);
    if (!preset->config)
        return;
    assert_true(!preset->number || hp_setting_find(model, preset->number));
    for (unsigned i = 0; i < model->n_keys; i++)
        if (strcmp(family->name, "windows") != 0 &&
            hp_setting_check(&model->keys[i], model->name, preset->config) != HP_OK)
            fail_msg("%s", hp_error_text());
}

static void every_model_is_described(void **state)
{
    (void)state;
    assert_true(hp_n_model_families >= 7);
    for (unsigned f = 0; f < hp_n_model_families; f++) {
        const struct hp_model_family *family = hp_model_families[f];
        is_sentence(family->help);
        assert_true(family->n_models > 0);
        for (unsigned m = 0; m < family->n_models; m++) {
            const struct hp_model *model = family->models[m];
            is_sentence(model->help);
            assert_true(model->n_keys <= 64);
            for (unsigned i = 0; i < model->n_keys; i++)
                check_key(model, &model->keys[i]);
            for (unsigned i = 0; i < model->n_presets; i++)
                check_preset(family, model, &model->presets[i]);
        }
    }
}

/* Texts of any kind are read or refused; nothing is written outside of the configuration. */
static void any_text_is_survived(void **state)
{
    (void)state;
    static const char letters[] = ",,==::+x0123456789KMG%/abc";
    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        const struct hp_model_family *family = hp_model_families[round % hp_n_model_families];
        if (!family->size)
            continue;
        const struct hp_model *model = family->models[(unsigned)rand() % family->n_models];
        char text[300] = "";
        for (int part = rand() % 4; part >= 0; part--) {
            if (model->n_presets && rand() % 3 == 0)
                strcat(text, model->presets[(unsigned)rand() % model->n_presets].name);
            if (model->n_keys && rand() % 2)
                strcat(text, model->keys[(unsigned)rand() % model->n_keys].key);
            for (size_t n = strlen(text), end = n + (size_t)rand() % 8; n < end; n++)
                text[n] = letters[(size_t)rand() % (sizeof letters - 1)];
        }
        char *config = malloc(family->size);
        struct hp_said said;
        assert_non_null(config);
        enum hp_err err = hp_settings_parse(family, text, config, &said);
        assert_true(err == HP_OK || err == HP_ERR_INVALID);
        free(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_described),
        cmocka_unit_test(any_text_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
