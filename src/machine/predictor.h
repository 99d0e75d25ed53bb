// SPDX-License-Identifier: MIT
/*
 * Direction predictors: one interface, and a file for each (predict_*.c).
 *
 * For every conditional branch, in order: predict(), then update() with what happened. `pc` is the
 * branch's address without the low bits that are always 0 on its architecture. note() reports any
 * other transfer; only predictors whose history includes those have it.
 *
 * Counters are unsigned and saturate; one of n bits predicts "taken" from 2^(n-1) on, and starts
 * just below (weakly not taken). Histories start as not taken. The model is updated immediately:
 * nothing is in flight between a prediction and its outcome.
 */
#ifndef HP_MACHINE_PREDICTOR_H
#define HP_MACHINE_PREDICTOR_H

#include "base/settings.h"
#include "machine/check.h"
#include "machine/machine.h"

struct hp_predictor {
    bool (*predict)(struct hp_predictor *predictor, uint64_t pc, bool backward);
    void (*update)(struct hp_predictor *predictor, uint64_t pc, bool taken);
    void (*note)(struct hp_predictor *predictor, uint64_t pc, uint64_t target); /* or NULL */
    void (*free)(struct hp_predictor *predictor);
};

/* A predictor that a machine file can choose. */
struct hp_predictor_kind {
    /* Its name, and the keys of the section of that name, whose values are `settings`. */
    struct hp_model model;
    bool can_be_combined; /* [combined] can use it as a component */
    /* Checks several keys together; NULL: nothing to check. False: `*fault` says what is wrong. */
    bool (*check)(const void *settings, struct hp_machine_fault *fault);
    /* HP_ERR_NOMEM. */
    enum hp_err (*make)(const void *settings, const struct hp_branch_config *config,
                        struct hp_predictor **predictor);
};

#define EACH(name) extern const struct hp_predictor_kind hp_predict_##name;
HP_PREDICTORS(EACH)
#undef EACH
extern const struct hp_predictor_kind *const hp_predictor_kinds[HP_N_PREDICTORS];

/* The predictor of a machine; any predictor, with the machine's settings for it. HP_ERR_NOMEM. */
enum hp_err hp_predictor_new(const struct hp_branch_config *config,
                             struct hp_predictor **predictor);
enum hp_err hp_predictor_make(const struct hp_branch_config *config, uint64_t id,
                              struct hp_predictor **predictor);
void hp_predictor_free(struct hp_predictor *predictor);

/* For keys whose value is the name of a predictor: see struct hp_setting. */
enum hp_err hp_predictor_read(const struct hp_setting *setting, const char *text, void *config);
void hp_predictor_write(const struct hp_setting *setting, const void *config, char *text,
                        size_t size);

#define HP_TABLE_MAX (1u << 24) /* entries of a predictor's table */

/* --- Counters --------------------------------------------------------------------------------- */

static inline bool hp_counter_taken(uint8_t counter, unsigned bits)
{
    return counter >> (bits - 1);
}

static inline uint8_t hp_counter_next(uint8_t counter, unsigned bits, bool up)
{
    if (up)
        return (uint8_t)(counter + (counter < (1u << bits) - 1));
    return (uint8_t)(counter - (counter > 0));
}

/* `n` counters, just below "taken"; NULL when memory ran out. */
uint8_t *hp_counters_new(uint64_t n, unsigned bits);

#endif
