// SPDX-License-Identifier: MIT
#include "lab/prediction/schemes.h"

#include "profiler/predict/predictions.h"

const struct hp_lab_scheme hp_lab_schemes[] = {
    {"path-profile", "pp", "path-profile", ""}, {"net", "net", "net", ""},
    {"net-keep", "keep", "net", ",after=keep"}, {"boa", "boa", "boa", ""},
    {"net-rate", "net-rate", "net-rate", ""},   {"rate-table", "table", "rate-table", ""},
};
const size_t hp_lab_n_schemes = sizeof hp_lab_schemes / sizeof *hp_lab_schemes;

struct probe {
    const unsigned *delays;
    size_t n;
    struct hp_profiler *profiler;
    struct hp_prediction *results;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_judge_config config = {0};
    if (hp_lab_n_schemes * probe->n > HP_JUDGE_SCHEMES)
        return hp_fail(HP_ERR_INVALID, "more than %d schemes at once", HP_JUDGE_SCHEMES);
    for (size_t s = 0; s < hp_lab_n_schemes; s++)
        for (size_t d = 0; d < probe->n; d++) {
            char text[64];
            snprintf(text, sizeof text, "%s:%u%s", hp_lab_schemes[s].name, probe->delays[d],
                     hp_lab_schemes[s].options);
            HP_TRY(hp_scheme_parse(text, &config.schemes[config.n_schemes++]));
        }
    HP_TRY(hp_predictions_new(hp_session_code(session), &config, &probe->profiler));
    return hp_session_add(session, probe->profiler);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    const struct hp_judge *judge = hp_predictions_judge(probe->profiler);
    (void)session;
    HP_TRY(hp_judge_check(judge));
    for (size_t i = 0; i < hp_lab_n_schemes * probe->n; i++)
        hp_judge_result(judge, i, &probe->results[i]);
    return HP_OK;
}

enum hp_err hp_lab_judge(struct hp_lab *lab, const struct hp_lab_command *command,
                         const unsigned *delays, size_t n,
                         struct hp_prediction results[HP_JUDGE_SCHEMES])
{
    struct probe probe = {.delays = delays, .n = n, .results = results};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}
