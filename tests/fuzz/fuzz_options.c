// SPDX-License-Identifier: MIT
/* What is written on a command line or in a file with a name, an equals sign and a number: every
 * parser of such texts, and what prints them again. */
#include "cli/options.h"
#include "hotpath/hotspot.h"
#include "hotpath/loop.h"
#include "hotpath/metric.h"
#include "hotpath/path.h"
#include "hotpath/predict.h"
#include "hotpath/sample.h"
#include "session/selection.h"
#include "support.h"

#include <string.h>

/* What is printed of a configuration is read as that configuration. */
#define AGAIN(type, parse, format)                                                                 \
    static void again_##parse(const char *text)                                                    \
    {                                                                                              \
        type config, other;                                                                        \
        char first[512], second[512];                                                              \
        memset(&config, 0, sizeof config);                                                         \
        memset(&other, 0, sizeof other);                                                           \
        if (parse(text, &config) != HP_OK)                                                         \
            return;                                                                                \
        format(&config, first, sizeof first);                                                      \
        if (parse(first, &other) != HP_OK)                                                         \
            fuzz_wrong("'%s' is printed as '%s', which cannot be read", text, first);              \
        format(&other, second, sizeof second);                                                     \
        if (strcmp(first, second) != 0)                                                            \
            fuzz_wrong("'%s' is printed as '%s', that as '%s'", text, first, second);              \
    }

AGAIN(struct hp_ppcr, hp_ppcr_parse, hp_ppcr_format)
AGAIN(struct hp_scheme_config, hp_scheme_parse, hp_scheme_format)
AGAIN(struct hp_loop_config, hp_loop_config_parse, hp_loop_config_format)
AGAIN(struct hp_hotspot_config, hp_hotspot_config_parse, hp_hotspot_config_format)
AGAIN(struct hp_traces_choice, hp_traces_parse, hp_traces_format)

static void parse_settings(struct fuzz_in *in)
{
    char texts[9][80];
    for (size_t i = 0; i < 9; i++)
        fuzz_text(in, texts[i], sizeof texts[i]);
    struct hp_session_settings settings = {
        .profile = *texts[0] ? texts[0] : NULL,
        .paths = *texts[1] ? texts[1] : NULL,
        .metric = *texts[2] ? texts[2] : NULL,
        .tables = {{texts[3]}, *texts[3] != 0},
        .schemes = {{texts[4]}, *texts[4] != 0},
        .loop_models = {{texts[5]}, *texts[5] != 0},
        .hotspots = *texts[6] ? texts[6] : NULL,
        .samplers = {{texts[7]}, *texts[7] != 0},
        .windows = *texts[8] ? texts[8] : NULL,
        .machine = fuzz_uint(in, 1) & 1 ? "arm9" : NULL,
    };
    struct hp_selection selection;
    hp_selection_parse(&settings, &selection);
}

/* Whether a text is refused does not matter, only that nothing bad happens. */
static void ignore(enum hp_err err)
{
    (void)err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, data + size};
    uint8_t kind = (uint8_t)fuzz_uint(&in, 1);
    char text[400];
    struct hp_hpt_config hpt;
    struct hp_sample_config sample;
    struct hp_windows windows;
    enum hp_metric metric;
    uint64_t number;
    double percent;
    if (kind % 10 == 9) {
        parse_settings(&in);
        return 0;
    }
    size_t n =
        (size_t)(in.end - in.at) < sizeof text - 1 ? (size_t)(in.end - in.at) : sizeof text - 1;
    memcpy(text, in.at, n);
    text[n] = '\0';
    switch (kind % 10) {
    case 0: again_hp_ppcr_parse(text); break;
    case 1: again_hp_scheme_parse(text); break;
    case 2: again_hp_loop_config_parse(text); break;
    case 3: again_hp_hotspot_config_parse(text); break;
    case 4: ignore(hp_hpt_parse(text, &hpt)); break;
    case 5: ignore(hp_sample_config_parse(text, &sample)); break;
    case 6: ignore(hp_windows_parse(text, &windows)); break;
    case 7: ignore(hp_metric_parse(text, &metric)); break;
    default:
        again_hp_traces_parse(text);
        hp_parse_count(text, &number);
        hp_parse_size(text, &number);
        hp_parse_percent(text, &percent);
    }
    return 0;
}
