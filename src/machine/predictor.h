// SPDX-License-Identifier: MIT
/*
 * Direction predictors: one interface, one module each (predict_*.c).
 *
 * For every conditional branch, in order: predict(), then update() with what happened. `pc` is the
 * branch's address without the low bits that are always 0 on its architecture. note() tells of a
 * transfer that was no conditional branch; only predictors whose history has them take it.
 *
 * Counters are unsigned and saturate; one of n bits says "taken" from 2^(n-1) on, and starts just below
 * (weakly not taken). Histories start as not taken. The model is updated at once: nothing is in
 * flight between a prediction and its outcome.
 */
#ifndef HP_MACHINE_PREDICTOR_H
#define HP_MACHINE_PREDICTOR_H

#include "machine/machine.h"

struct hp_predictor {
    bool (*predict)(struct hp_predictor *predictor, uint64_t pc, bool backward);
    void (*update)(struct hp_predictor *predictor, uint64_t pc, bool taken);
    void (*note)(struct hp_predictor *predictor, uint64_t pc, uint64_t target); /* or NULL */
    void (*free)(struct hp_predictor *predictor);
};

/* The predictor of a machine. HP_ERR_NOMEM. */
enum hp_err hp_predictor_new(const struct hp_branch_config *config,
                             struct hp_predictor **predictor);
void hp_predictor_free(struct hp_predictor *predictor);

/* Backward branches are taken, forward ones are not. */
enum hp_err hp_static_new(struct hp_predictor **predictor);

/* `entries` 2-bit counters, by address. */
enum hp_err hp_bimodal_new(uint64_t entries, struct hp_predictor **predictor);

/* `entries` 2-bit counters, by address xor the last `history` outcomes (McFarling). */
enum hp_err hp_gshare_new(uint64_t entries, uint64_t history, struct hp_predictor **predictor);

/* `histories` registers of the branch's own last `history` outcomes, by address; `entries` 2-bit
 * counters by that and, above it, as many bits of the address as fit (Yeh and Patt). With one
 * register the history is everybody's. */
enum hp_err hp_local_new(uint64_t histories, uint64_t history, uint64_t entries,
                         struct hp_predictor **predictor);

/* Two predictors, which become its own even when this fails, and `entries` 2-bit counters by address that
 * choose: "taken" means the second. They learn where the two disagree. */
enum hp_err hp_combined_new(struct hp_predictor *first, struct hp_predictor *second,
                            uint64_t entries, struct hp_predictor **predictor);

/* The 21264's: `histories` registers of `local` bits that choose one of 2^local 3-bit counters; 2^global
 * 2-bit counters by the last `global` outcomes; and as many that choose ("taken" means global). */
enum hp_err hp_alpha_new(uint64_t histories, uint64_t local, uint64_t global,
                         struct hp_predictor **predictor);

/* TAGE: predict_tage.c. */
enum hp_err hp_tage_new(const struct hp_tage_config *config, struct hp_predictor **predictor);

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
