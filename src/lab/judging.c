// SPDX-License-Identifier: MIT
#include "lab/judging.h"

#include "profiler/predict/predictions.h"

const struct hp_lab_scheme hp_lab_schemes[] = {
    {"path-profile", "pp", "path-profile", ""},
    {"net", "net", "net", ""},
    {"net-keep", "keep", "net", ",after=keep"},
    {"boa", "boa", "boa", ""},
};
const size_t hp_lab_n_schemes = sizeof hp_lab_schemes / sizeof *hp_lab_schemes;

const unsigned hp_lab_delays[] = {0,    10,    50,    100,    300,    1000,
                                  3000, 10000, 30000, 100000, 300000, 1000000};
const size_t hp_lab_n_delays = sizeof hp_lab_delays / sizeof *hp_lab_delays;

struct probe {
    struct hp_profiler *profiler;
    struct hp_prediction *results;
};

static enum hp_err attach(void *context, struct hp_observation *observation)
{
    struct probe *probe = context;
    struct hp_judge_config config = {0};
    for (size_t s = 0; s < hp_lab_n_schemes; s++)
        for (size_t d = 0; d < hp_lab_n_delays && config.n_schemes < HP_JUDGE_SCHEMES; d++) {
            char text[64];
            snprintf(text, sizeof text, "%s:%u%s", hp_lab_schemes[s].name, hp_lab_delays[d],
                     hp_lab_schemes[s].options);
            HP_TRY(hp_scheme_parse(text, &config.schemes[config.n_schemes++]));
        }
    HP_TRY(hp_predictions_new(observation->code, &config, &probe->profiler));
    return hp_observation_add(observation, probe->profiler);
}

static enum hp_err collect(void *context, struct hp_observation *observation)
{
    struct probe *probe = context;
    const struct hp_judge *judge = hp_predictions_judge(probe->profiler);
    (void)observation;
    HP_TRY(hp_judge_check(judge));
    for (size_t i = 0; i < hp_lab_n_schemes * hp_lab_n_delays; i++)
        hp_judge_result(judge, i, &probe->results[i]);
    return HP_OK;
}

enum hp_err hp_lab_judge(struct hp_lab *lab, const struct hp_lab_command *command,
                         struct hp_prediction results[HP_JUDGE_SCHEMES])
{
    struct probe probe = {.results = results};
    return hp_lab_observe(lab, command, false, &(struct hp_lab_probe){attach, collect, &probe});
}
