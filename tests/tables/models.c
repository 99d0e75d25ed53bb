// SPDX-License-Identifier: MIT
/* The presets and keys of a family of models, as lists of a document. */
#include "tables.h"

#include "profiler/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell: what the preset says for the key. */
static void print_value(const struct hp_setting *key, const struct hp_preset *preset)
{
    char value[64] = "";
    if (key->type == HP_SETTING_FLAG && !key->is_shorthand)
        strcpy(value, hp_setting_get(key, preset->config) ? "on" : "off");
    else if (!key->is_shorthand)
        hp_setting_write(key, preset->config, value, sizeof value);
    printf(" %s |", value);
}

/* Presets with their help, and a table of keys with what each preset says. */
static void print_configured(struct hp_strbuf *text, const struct hp_model *model)
{
    char values[256];
    for (unsigned i = 0; i < model->n_presets; i++) {
        add(text, "- `", model->presets[i].name, "`: ");
        hp_strbuf_add(text, model->presets[i].help);
        print_buffer(text);
    }
    printf("\n| key |");
    for (unsigned i = 0; i < model->n_presets; i++)
        printf(" %s |", model->presets[i].name);
    printf(" can be | meaning |\n|---|");
    for (unsigned i = 0; i < model->n_presets + 2; i++)
        printf("---|");
    putchar('\n');
    for (unsigned k = 0; k < model->n_keys; k++) {
        const struct hp_setting *key = &model->keys[k];
        printf("| `%s` |", key->key);
        for (unsigned i = 0; i < model->n_presets; i++)
            print_value(key, &model->presets[i]);
        hp_setting_values(key, values, sizeof values);
        printf(" %s | %s |\n", values, key->help);
    }
}

/* The default of a key of a file, as it would be written there; "": there is none. */
static void format_default(const struct hp_setting *key, char *text, size_t size)
{
    bool in_kilo = key->initial >= 1024 && key->initial % 1024 == 0;
    text[0] = '\0';
    if (key->initial == HP_SETTING_REQUIRED)
        return;
    if (key->type == HP_SETTING_CHOICE)
        snprintf(text, size, "%s", key->choices[key->initial]);
    else if (!key->form)
        snprintf(text, size, "%lld%s", (long long)key->initial / (in_kilo ? 1024 : 1),
                 in_kilo ? "K" : "");
}

/* The names of the models from `first` on that share their keys, up to `end`. */
static void add_names(struct hp_strbuf *text, const struct hp_model *const *first,
                      const struct hp_model *const *end)
{
    for (const struct hp_model *const *m = first; m < end; m++) {
        add(text, m > first ? ". `" : "`", (*m)->name, "`: ");
        hp_strbuf_add(text, (*m)->help);
    }
}

/* Sections of a file, with the defaults of their keys; those that have the same keys together. */
static void print_sections(struct hp_strbuf *text, const struct hp_model_family *family)
{
    const struct hp_model *const *m = family->models, *const *end = m + family->n_models;
    printf("| section | key | default | can be | meaning |\n|---|---|---|---|---|\n");
    while (m < end) {
        const struct hp_model *const *first = m++;
        const struct hp_setting *keys = (*first)->keys;
        while (m < end && keys && (*m)->keys == keys && (*m)->n_keys == (*first)->n_keys)
            m++;
        if ((*first)->n_presets)
            continue;
        add_names(text, first, m);
        printf("| %s |", hp_strbuf_text(text));
        hp_strbuf_clear(text);
        for (unsigned k = 0; k < (*first)->n_keys; k++) {
            char values[256], initial[64];
            hp_setting_values(&keys[k], values, sizeof values);
            format_default(&keys[k], initial, sizeof initial);
            printf("%s `%s` | %s | %s | %s |\n", k ? "| |" : "", keys[k].key, initial, values,
                   keys[k].help);
        }
        if (!(*first)->n_keys)
            printf(" | | | |\n");
    }
}

static void print_family(struct hp_strbuf *text, const struct hp_model_family *family)
{
    bool configured = family->models[0]->n_presets && family->models[0]->presets[0].config;
    if (!configured) {
        print_sections(text, family);
        return;
    }
    for (unsigned i = 0; i < family->n_models; i++) {
        if (family->n_models > 1) {
            printf("%s", i ? "\n" : "");
            add(text, "**`", family->models[i]->name, "`**: ");
            add(text, "", family->models[i]->help, ".");
            print_buffer(text);
            putchar('\n');
        }
        print_configured(text, family->models[i]);
    }
}

/* NULL: there is none of that name. */
static const struct hp_model_family *find_family(const char *name)
{
    for (unsigned i = 0; i < hp_n_model_families; i++) {
        char *with = strdup(hp_model_families[i]->name);
        for (char *c = with; c && *c; c++)
            *c = *c == ' ' ? '_' : *c;
        bool found = with && strcmp(with, name) == 0;
        free(with);
        if (found)
            return hp_model_families[i];
    }
    return NULL;
}

bool print_models(struct hp_strbuf *text, const char *name)
{
    const struct hp_model_family *family = find_family(name);
    if (family)
        print_family(text, family);
    return family;
}
