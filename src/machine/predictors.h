// SPDX-License-Identifier: MIT
/*
 * All direction predictors. To add one, define hp_predict_NAME in a file predict_NAME.c (see
 * predictor.h), and add a line here.
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

#define HP_PREDICTOR_SETTINGS 8 /* most values that the keys of a predictor have */

#endif
