// SPDX-License-Identifier: MIT
/* The path profiler's control register as text. */
#include "hotpath/path.h"

#include "base/settings.h"
#include "profiler/models.h"

#include <stdio.h>
#include <string.h>

#define MAX_STACK     (1u << 20)
#define MAX_EXTENSION 65535u

#define UPDATE HP_PATH_UPDATE
#define COUNT  HP_PATH_UPDATE_COUNT
#define POP    HP_PATH_POP
#define PUSH   HP_PATH_PUSH

static const struct operation {
    const char *name;
    uint8_t bit;
} operations[] = {
    {"update", UPDATE},
    {"update_count", COUNT},
    {"pop", POP},
    {"push", PUSH},
};
#define N_OPERATIONS (sizeof operations / sizeof *operations)

#define DEFAULTS .max_length = 32, .stack_entries = 32, .counter_bits = 8
#define BALL_LARUS                                                                                 \
    {                                                                                              \
        COUNT | PUSH, COUNT | POP, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH                \
    }
#define CONFIG const struct hp_ppcr

/* Tables 1 and 2 of the paper, and the paths of the prediction paper. */
static const struct hp_preset presets[] = {
    {"bl", &(CONFIG){BALL_LARUS, DEFAULTS},
     "Ball-Larus paths: they end at calls, returns and backward branches", NULL},
    {"wpp",
     &(CONFIG){
         {COUNT | POP | PUSH, COUNT | POP | PUSH, UPDATE, UPDATE | POP | PUSH, UPDATE | POP | PUSH},
         DEFAULTS},
     "those of whole program paths: a call ends the path of the caller too", NULL},
    {"extended-loop", &(CONFIG){BALL_LARUS, .extension = HP_EXTEND_LOOP, DEFAULTS},
     "bl, going on over up to N backward branches", "extend"},
    {"extended-call", &(CONFIG){BALL_LARUS, .extension = HP_EXTEND_CALL, DEFAULTS},
     "bl, going on over up to N calls and returns", "extend"},
    {"forward", &(CONFIG){{0, 0, UPDATE, UPDATE | POP | PUSH, 0}, .by_address = true, DEFAULTS},
     "interprocedural forward paths: they end at branches to lower addresses", NULL},
};
#define N_PRESETS (sizeof presets / sizeof *presets)

/* For a text without a preset: it must set all classes. */
#define UNSAID 0xff
static const struct hp_ppcr unsaid = {{UNSAID, UNSAID, UNSAID, UNSAID, UNSAID}, DEFAULTS};

/* --- Values of other forms -------------------------------------------------------------------- */

/* "update_count+push" */
static enum hp_err read_class(const struct hp_setting *setting, const char *text, void *config)
{
    unsigned ops = 0;
    if (hp_setting_get(setting, config) != UNSAID)
        return hp_fail(HP_ERR_INVALID, "it is given twice, or by the preset");
    for (const char *at = *text && strcmp(text, "none") != 0 ? text : NULL; at;) {
        size_t n = strcspn(at, "+"), i = 0;
        while (i < N_OPERATIONS &&
               (strlen(operations[i].name) != n || memcmp(at, operations[i].name, n) != 0))
            i++;
        if (i == N_OPERATIONS)
            return hp_fail(HP_ERR_INVALID, "there is no operation '%.*s'; there are %s",
                           n > 40 ? 40 : (int)n, at, "update, update_count, pop, push");
        if (ops & operations[i].bit)
            return hp_fail(HP_ERR_INVALID, "'%s' is given twice", operations[i].name);
        ops |= operations[i].bit;
        at = at[n] ? at + n + 1 : NULL;
    }
    hp_setting_set(setting, config, ops);
    return HP_OK;
}

static void write_class(const struct hp_setting *setting, const void *config, char *text,
                        size_t size)
{
    uint64_t ops = hp_setting_get(setting, config);
    size_t at = 0;
    snprintf(text, size, "%s", ops == UNSAID ? "" : "none");
    for (size_t i = 0; i < N_OPERATIONS && ops != UNSAID; i++)
        if (ops & operations[i].bit)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? "+" : "", operations[i].name);
}

/* "loop:2"; just "2" after a preset that has an extension. */
static enum hp_err read_extension(const struct hp_setting *setting, const char *text, void *config)
{
    static const struct hp_setting number = {
        "extend", HP_SETTING_NUMBER, HP_MEMBER(struct hp_ppcr, max_extension), 1, MAX_EXTENSION};
    struct hp_ppcr *ppcr = config;
    bool loop = strncmp(text, "loop:", 5) == 0;
    if (loop || strncmp(text, "call:", 5) == 0) {
        ppcr->extension = loop ? HP_EXTEND_LOOP : HP_EXTEND_CALL;
        text += 5;
    }
    if (!ppcr->extension)
        return hp_fail(HP_ERR_INVALID, "'%.40s' is none of %s", text, setting->form);
    return hp_setting_read(&number, text, config);
}

static void write_extension(const struct hp_setting *setting, const void *config, char *text,
                            size_t size)
{
    const struct hp_ppcr *ppcr = config;
    (void)setting;
    snprintf(text, size, "%s:%u", ppcr->extension == HP_EXTEND_LOOP ? "loop" : "call",
             ppcr->max_extension);
    if (!ppcr->extension)
        snprintf(text, size, "none");
}

static enum hp_err read_metric(const struct hp_setting *setting, const char *text, void *config)
{
    (void)setting;
    return hp_metric_parse(text, &((struct hp_ppcr *)config)->metric);
}

static void write_metric(const struct hp_setting *setting, const void *config, char *text,
                         size_t size)
{
    (void)setting;
    snprintf(text, size, "%s", hp_metric_name(((const struct hp_ppcr *)config)->metric));
}

/* --- Settings --------------------------------------------------------------------------------- */

static const char *const directions[] = {"dynamic", "static", NULL};
static const char *const overflows[] = {"spill", "drop-oldest", NULL};
static const char *const ways_to_tell[] = {"class", "address", NULL};

#define AT(member) HP_MEMBER(struct hp_ppcr, member)
#define CLASS(name, class, sentence)                                                               \
    {                                                                                              \
        name, HP_SETTING_NUMBER, AT(ops[class]), 0, 0, sentence,                                   \
            .form = "update or update_count, pop, push, joined by +; none", .read = read_class,    \
            .write = write_class                                                                   \
    }
static const struct hp_setting keys[] = {
    CLASS("call", HP_CLASS_CALL, "what a call does to paths"),
    CLASS("return", HP_CLASS_RETURN, "what a return does"),
    CLASS("forward", HP_CLASS_FORWARD, "what a forward branch does"),
    CLASS("backward", HP_CLASS_BACKWARD, "what a backward branch does"),
    CLASS("indirect", HP_CLASS_INDIRECT, "what an indirect jump does"),
    {"extend", HP_SETTING_NUMBER, AT(max_extension), 0, 0, "what paths go on over, and how often",
     .form = "loop:N, call:N", .read = read_extension, .write = write_extension},
    {"by", HP_SETTING_CHOICE, AT(by_address), 0, 0,
     "whether calls, returns and indirect jumps have classes of their own", ways_to_tell},
    {"direction", HP_SETTING_CHOICE, AT(direction), 0, 0,
     "what makes a branch forward: where it went, or where its target is", directions},
    {"length", HP_SETTING_NUMBER, AT(max_length), 1, HP_PATH_MAX_LENGTH, "most branches of a path"},
    {"stack", HP_SETTING_NUMBER, AT(stack_entries), 1, MAX_STACK, "entries of the path stack"},
    {"overflow", HP_SETTING_CHOICE, AT(overflow), 0, 0, "what happens when the stack is full",
     overflows},
    {"metric", HP_SETTING_NUMBER, AT(metric), 0, 0, "the events of a path that are counted",
     .form = "a metric", .read = read_metric, .write = write_metric},
    {"counter", HP_SETTING_NUMBER, AT(counter_bits), 1, 32,
     "bits of the event counter of a stack entry"},
};
#undef AT
#undef CLASS

static const struct hp_model model = {
    .name = "a path type",
    .help = "what each class of branches does to the path that is going on",
    .presets = presets,
    .n_presets = N_PRESETS,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
const struct hp_model_family hp_path_family = {
    .name = "path types",
    .label = "paths",
    .option = "--paths",
    .help = "where a path starts and ends (docs/paths.md)",
    .size = sizeof(struct hp_ppcr),
    .models = (const struct hp_model *const[]){&model},
    .n_models = 1,
    .initial = &unsaid,
};

/* --- Checking --------------------------------------------------------------------------------- */

static enum hp_err check_class(const struct hp_ppcr *ppcr, const struct hp_setting *class)
{
    uint64_t ops = hp_setting_get(class, ppcr);
    if (ops == UNSAID)
        return hp_fail(HP_ERR_INVALID, "paths: nothing is said of '%s'", class->key);
    if (ops & ~(uint64_t)(UPDATE | COUNT | POP | PUSH))
        return hp_fail(HP_ERR_INVALID, "paths: %s: there is no such operation", class->key);
    if ((ops & UPDATE) && (ops & COUNT))
        return hp_fail(HP_ERR_INVALID, "paths: %s has both update and update_count", class->key);
    return HP_OK;
}

static enum hp_err check_extension(const struct hp_ppcr *ppcr)
{
    if ((unsigned)ppcr->extension > HP_EXTEND_CALL)
        return hp_fail(HP_ERR_INVALID, "paths: no extension has the number %d", ppcr->extension);
    if (ppcr->extension == HP_EXTEND_NONE && ppcr->max_extension)
        return hp_fail(HP_ERR_INVALID, "paths: %u extensions of no kind", ppcr->max_extension);
    if (ppcr->extension && (!ppcr->max_extension || ppcr->max_extension > MAX_EXTENSION))
        return hp_fail(HP_ERR_INVALID, "paths: extend: %u is not between 1 and %u",
                       ppcr->max_extension, MAX_EXTENSION);
    return HP_OK;
}

enum hp_err hp_ppcr_check(const struct hp_ppcr *ppcr)
{
    for (int i = 0; i < HP_CLASSES; i++)
        HP_TRY(check_class(ppcr, &keys[i]));
    HP_TRY(check_extension(ppcr));
    if ((unsigned)ppcr->metric >= HP_METRICS)
        return hp_fail(HP_ERR_INVALID, "paths: no metric has the number %d", ppcr->metric);
    for (unsigned i = HP_CLASSES; i < model.n_keys; i++)
        HP_TRY(hp_setting_check(&keys[i], "paths", ppcr));
    return HP_OK;
}

/* --- Reading and writing ---------------------------------------------------------------------- */

enum hp_err hp_ppcr_parse(const char *text, struct hp_ppcr *ppcr)
{
    struct hp_ppcr new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_path_family, text, &new, &said));
    HP_TRY(hp_ppcr_check(&new));
    *ppcr = new;
    return HP_OK;
}

static const struct hp_preset *preset_of(const struct hp_ppcr *ppcr)
{
    for (int extended = 1; extended >= 0; extended--)
        for (size_t i = 0; i < N_PRESETS; i++) {
            const struct hp_ppcr *preset = presets[i].config;
            if (memcmp(preset->ops, ppcr->ops, sizeof ppcr->ops) == 0 &&
                preset->by_address == ppcr->by_address &&
                preset->extension == (extended ? ppcr->extension : HP_EXTEND_NONE))
                return &presets[i];
        }
    return NULL;
}

void hp_ppcr_format(const struct hp_ppcr *ppcr, char *text, size_t size)
{
    char whole[1024] = "";
    const struct hp_preset *preset = preset_of(ppcr);
    struct hp_ppcr base = preset ? *(const struct hp_ppcr *)preset->config : unsaid;
    if (preset && preset->number) {
        base.max_extension = ppcr->max_extension;
        snprintf(whole, sizeof whole, "%s:%u", preset->name, ppcr->max_extension);
    } else if (preset) {
        snprintf(whole, sizeof whole, "%s", preset->name);
    }
    hp_settings_write(&model, ppcr, &base, whole, sizeof whole);
    snprintf(text, size, "%s", preset ? whole : whole + 1); /* without the first comma */
}
