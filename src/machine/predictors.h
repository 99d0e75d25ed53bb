// SPDX-License-Identifier: MIT
/*
 * The direction predictors there are. To add one: a file predict_NAME.c that defines
 * hp_predict_NAME (see predictor.h), and a line here.
 */
#ifndef HP_MACHINE_PREDICTORS_H
#define HP_MACHINE_PREDICTORS_H

#define HP_PREDICTORS(EACH)                                                                        \
    EACH(static)                                                                                   \
    EACH(bimodal)                                                                                  \
    EACH(gshare)                                                                                   \
    EACH(local)                                                                                    \
    EACH(combined)                                                                                 \
    EACH(alpha)                                                                                    \
    EACH(tage)

enum hp_predictor_id {
#define EACH(name) HP_PREDICT_##name,
    HP_PREDICTORS(EACH)
#undef EACH
        HP_N_PREDICTORS
};

#define HP_PREDICTOR_SETTINGS 8 /* values that the keys of a predictor have, at most */

#endif
