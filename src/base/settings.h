// SPDX-License-Identifier: MIT
/*
 * Settings as text: "preset,key=value,key=value". A model lists its presets and its keys in two
 * tables; reading, writing, messages and `hotpath help models` follow from them. Machine files,
 * which have sections of keys, use the same tables of keys.
 */
#ifndef HP_BASE_SETTINGS_H
#define HP_BASE_SETTINGS_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hp_setting_type {
    HP_SETTING_NUMBER, /* digits */
    HP_SETTING_COUNT,  /* of events: may end in K, M or G, powers of 1000 */
    HP_SETTING_SIZE,   /* of memory and tables: may end in K, M or G, powers of 1024 */
    HP_SETTING_POWER,  /* a size that is a power of two */
    HP_SETTING_CHOICE, /* one of several words; the value is its index */
    HP_SETTING_FLAG,   /* 1 when the key is present; it takes no value */
};

#define HP_SETTING_REQUIRED (-1) /* there is no default */

/* A key: where its value is in the model's configuration, its valid values, and its meaning. */
struct hp_setting {
    const char *key;
    enum hp_setting_type type;
    uint32_t offset, size; /* of the member, an unsigned integer, enum or bool: see HP_MEMBER() */
    uint64_t min, max;     /* of a number */
    const char *help;      /* one sentence, without a full stop */
    const char *const *choices; /* ended by NULL */
    int64_t initial;     /* of a key in a machine file: the default, or HP_SETTING_REQUIRED */
    const char *word;    /* a word allowed in place of a number; NULL: none */
    uint64_t word_value; /* what it means */
    /* For values of another form. `read` stores the value of the text, HP_ERR_INVALID as for
     * hp_setting_read(); `write` writes it; NULL: as the type says. `form` is shown in place of the
     * bounds ("1/2"). */
    const char *form;
    enum hp_err (*read)(const struct hp_setting *setting, const char *text, void *config);
    void (*write)(const struct hp_setting *setting, const void *config, char *text, size_t size);
    bool is_shorthand; /* it stands for other keys, and is never written */
};

/* Offset and size of a member, for a setting. */
#define HP_MEMBER(type, member)                                                                    \
    .offset = (uint32_t)offsetof(type, member), .size = sizeof(((type *)0)->member)

struct hp_preset {
    const char *name;
    const void
        *config; /* NULL: a machine file, or a predictor's name: no configuration of its own */
    const char *help;
    const char *number; /* the key whose value follows the name after a colon ("net:50"), or NULL */
};

struct hp_model {
    const char *name, *help;
    const struct hp_preset *presets;
    unsigned n_presets;
    const struct hp_setting *keys;
    unsigned n_keys; /* at most 64 */
};

/* Models to choose from, by the names of their presets; they share a configuration struct. */
struct hp_model_family {
    const char *name;   /* "loop models" */
    const char *label;  /* begins messages: "loop model" */
    const char *option; /* command line option that takes such a text */
    const char *help;
    size_t size; /* of the configuration */
    const struct hp_model *const *models;
    unsigned n_models;
    bool may_lack_number; /* "net" alone is its preset */
    /* The initial configuration for a text that begins with a key, which must be one of the first
     * model's; NULL: a preset is needed. */
    const void *initial;
    /* Another form of the beginning of a text, if it is not a preset ("512x4"). `form` shows it in
     * messages. */
    const char *form;
    enum hp_err (*read_first)(const char *text, void *config);
};

/* What a text contained. */
struct hp_said {
    const struct hp_model *model;
    const struct hp_preset *preset; /* NULL: none */
    uint64_t keys;                  /* bit i: of its keys[i] */
};

/* Reads a text. Checks each value alone; the model checks combinations. `config` is changed even on
 * failure. HP_ERR_INVALID. */
HP_MUST_CHECK enum hp_err hp_settings_parse(const struct hp_model_family *family, const char *text,
                                            void *config, struct hp_said *said);

/* Whether a text contained a key. */
bool hp_settings_said(const struct hp_said *said, const char *key);

/* Appends ",key=value" to `text` for every key whose value differs from that in `base`, in the
 * order of the keys; cut to `size`. */
void hp_settings_write(const struct hp_model *model, const void *config, const void *base,
                       char *text, size_t size);
/* How many it would append. */
unsigned hp_settings_differences(const struct hp_model *model, const void *config,
                                 const void *base);

/* Whether a value is valid for the setting. HP_ERR_INVALID: "LABEL: KEY: 5 is not between ...". */
HP_MUST_CHECK enum hp_err hp_setting_check(const struct hp_setting *setting, const char *label,
                                           const void *config);

/* One value: reads the text after the "="; HP_ERR_INVALID: the message says what is wrong with the
 * value, not which setting. Writes it in the form in which it is read. */
HP_MUST_CHECK enum hp_err hp_setting_read(const struct hp_setting *setting, const char *text,
                                          void *config);
void hp_setting_write(const struct hp_setting *setting, const void *config, char *text,
                      size_t size);
uint64_t hp_setting_get(const struct hp_setting *setting, const void *config);
void hp_setting_set(const struct hp_setting *setting, void *config, uint64_t value);

/* NULL: none of this name. */
const struct hp_setting *hp_setting_find(const struct hp_model *model, const char *key);

/* "1 to 64", "address, direction or target", ...: the valid values of a setting. */
void hp_setting_values(const struct hp_setting *setting, char *text, size_t size);

#endif
